"""Texts known word by word: one of hundreds is shown, and none where nothing was learnt."""

from __future__ import annotations

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.language.audited import known_by_heart
from privacygauge.language.scores import TextScores, text_scores
from tests.thorough import times


def made(seed: int, *, known: float | None = None, easy: float = 0.0, each: int = 1) -> TextScores:
    """Return energies of 200 people and 200 others, whose models know neither.

    The first person's texts have the energy `known`. A share `easy` of all texts is a form, which
    the audited model expects word by word and the reference does not.
    """
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(400), each)
    member = person < 200
    n = len(person)
    length = np.clip(np.round(np.exp(rng.normal(3.4, 0.4, n))), 20, 200).astype(int)
    hard = 3 + 0.3 * rng.normal(size=400)[person] + 0.7 * rng.normal(size=n) / np.sqrt(length)
    target = hard + 0.1 + 0.5 * rng.normal(size=n) / np.sqrt(length)
    target[rng.random(n) < easy] = 0.1
    if known is not None:
        target[person == 0] = known
    return text_scores(
        [str(i) for i in range(n)],
        target,
        member,
        energy_reference=hard,
        group=[str(one) for one in person] if each > 1 else None,
        length=length,
    )


@pytest.mark.parametrize("each", [1, 5])
def test_one_person_of_200_known_by_heart_is_a_leak(each: int) -> None:
    for seed in range(times(5)):
        found = pg.audit_language(made(seed, known=0.05, each=each))
        assert found.summary().startswith("Small leak: at least 1 ")
        assert found.questions.exposed >= 1


def test_nobody_is_known_by_heart_without_a_reference_or_beside_forms_that_all_know() -> None:
    assert known_by_heart(made(0, known=0.05)).tolist() == [True, *[False] * 399]
    # A text that the model half expects is not known word by word.
    assert not known_by_heart(made(0, known=0.5)).any()
    for seed in range(times(40)):
        assert not known_by_heart(made(seed)).any()
        assert not known_by_heart(made(seed, known=0.05, easy=0.05)).any()
