"""The best of all attacks: each number is that of its own transcript."""

from dataclasses import replace

import numpy as np
from hypothesis import given

from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.evaluation import evaluate
from privacygauge.evaluate.headline import best_attack, left_of
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


def test_an_attack_that_guesses_the_same_of_all_records_hides_none_that_does_not() -> None:
    """Its interval around one half is narrow: a high lower limit, and a low upper one."""
    member = np.arange(400) < 200
    # Right about 54% of each side, and the same guess about every record but one.
    weak = np.where(np.arange(400) % 200 < 108, member, ~member)
    constant = np.arange(400) == 0
    games = {"constant": constant, "weak": weak}
    evaluations = [
        evaluate(name, t, Cut(0.5, "given").decide(t))
        for name, t in ((k, Transcript(score * 1.0, member)) for k, score in games.items())
    ]
    found = best_attack(evaluations, 6, 0.95)
    alone = [best_attack([one], 6, 0.95) for one in evaluations]
    assert alone[0].accuracy.low > alone[1].accuracy.low
    assert (found.attack, found.auc_attack) == ("weak", "weak")
    assert found.at_most == max(one.at_most for one in alone) > alone[0].at_most
    for narrow, wide in (alone, alone[::-1]):
        assert left_of(narrow, wide, None).at_most == found.at_most
