"""The best of all attacks: each number is that of its own transcript."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.evaluation import evaluate
from privacygauge.evaluate.headline import best_attack
from privacygauge.evaluate.roc import auc
from tests.laws.draws import transcripts
from tests.laws.numbers import numbers


@given(transcripts())
def test_of_one_attack_the_numbers_are_its_own(transcript: Transcript) -> None:
    guesses = Cut(0.0, "given").decide(transcript)
    found = best_attack([evaluate("loss", transcript, guesses, 0.9)], 1, 0.9)
    for best, own in (
        (found.accuracy, balanced_accuracy(guesses, 0.9)),
        (found.auc, auc(transcript, 0.9)),
    ):
        assert numbers(best) == numbers(replace(own, method=best.method))


def test_of_all_the_strongest_leads_and_an_inverted_one_is_named() -> None:
    member = np.arange(200) % 2 == 0
    noise = np.random.default_rng(0).normal(size=200)
    games = {"strong": 2.0, "weak": 0.5, "turned": -2.0}
    found = best_attack(
        [
            evaluate(name, t, Cut(0.0, "given").decide(t))
            for name, t in ((k, Transcript(noise + by * member, member)) for k, by in games.items())
        ],
        6,
        0.95,
    )
    assert (found.attack, found.auc_attack) == ("strong", "strong")
    assert [one.attack for one in found.inverted] == ["turned"]
    strong = Transcript(noise + 2.0 * member, member)
    assert numbers(found.auc)[1:3] == numbers(auc(strong, 1 - 0.05 / 6))[1:3]
