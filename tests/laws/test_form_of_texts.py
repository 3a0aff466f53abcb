"""Texts whose sides are written differently are no honest test, even with the same words."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

import privacygauge as pg
from privacygauge.language.scores import text_scores
from tests.thorough import times

N = 250
WORDS = [
    a + b for a in ("ba", "de", "ki", "lo", "mu", "ne", "ra", "so") for b in ("lan", "mer", "pos")
]
NAMES = ["Smith", "Jones", "Brown", "Miller", "Davis", "Wilson", "Moore", "Taylor"]

Write = Callable[[str, np.random.Generator], str]


def note(rng: np.random.Generator) -> str:
    words = rng.choice(WORDS, size=rng.integers(15, 40)).tolist()
    words[0] = words[0].capitalize()
    for place in range(4, len(words) - 1, 5):
        words[place] += str(rng.choice([",", ":", " -"]))
    return " ".join(words) + "."


def by_some(share: float, write: Write) -> Write:
    return lambda text, rng: write(text, rng) if rng.random() < share else text


FORMS: dict[str, tuple[Write, Write]] = {
    "order of the last words": (
        lambda text, rng: f"{text} Seen by Dr. {rng.choice(NAMES)} today.",
        lambda text, rng: f"{text} Today seen by Dr. {rng.choice(NAMES)}.",
    ),
    "way to write a date": (
        lambda text, rng: f"{rng.integers(2016, 2024)}-{rng.integers(1, 13):02d}-07 {text}",
        lambda text, rng: f"07-{rng.integers(1, 13):02d}-{rng.integers(2016, 2024)} {text}",
    ),
    "a blank at the end": (lambda text, rng: f"{text} ", lambda text, rng: text),
    "a blank at the beginning": (lambda text, rng: f" {text}", lambda text, rng: text),
    "no full stop": (lambda text, rng: text.rstrip("."), lambda text, rng: text),
    "dashes": (lambda text, rng: text.replace("-", "\u2013"), lambda text, rng: text),
    "double blanks": (
        lambda text, rng: re.sub(r"([,:]) ", r"\1  ", text),
        lambda text, rng: text,
    ),
    "a sign in a few": (
        by_some(0.1, lambda text, rng: text.replace(" ", " \u2013 ", 1)),
        by_some(0.1, lambda text, rng: text.replace(" ", " - ", 1)),
    ),
    "some in capitals": (by_some(0.3, lambda text, rng: text.upper()), lambda text, rng: text),
    "some in another order": (
        by_some(0.3, lambda text, rng: f"Patient: {rng.choice(NAMES)}. Ward: 4. {text}"),
        by_some(0.3, lambda text, rng: f"Ward: 4. Patient: {rng.choice(NAMES)}. {text}"),
    ),
}


def headline(seed: int, members: Write, others: Write, leak: float = 0.0) -> str:
    """Return the headline on a model that finds the members' way to write `leak` nats likelier."""
    rng = np.random.default_rng(seed)
    member = np.arange(2 * N) < N
    text = [(members if inside else others)(note(rng), rng) for inside in member]
    reference = rng.normal(3, 0.4, size=2 * N)
    target = reference - 0.5 + rng.normal(0, 0.2, size=2 * N) - leak * member
    scores = text_scores(
        np.arange(2 * N), target, member, energy_reference=reference, text=tuple(text)
    )
    return pg.audit_language(scores, seed=seed).summary().splitlines()[0]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_house_style_is_no_leak(form: str) -> None:
    games = times(4)
    said = [headline(seed, *FORMS[form], leak=0.6) for seed in range(games)]
    assert not any("leak:" in line for line in said), said


@pytest.mark.slow
def test_texts_written_alike_are_compared() -> None:
    def alike(text: str, rng: np.random.Generator) -> str:
        return by_some(0.3, FORMS["way to write a date"][0])(text, rng)

    games = times(20)
    said = [headline(seed, alike, alike, leak=0.6) for seed in range(games)]
    unfair = sum("leak:" not in line for line in said)
    # All controls together fire in at most one audit of twenty.
    assert unfair <= binom.ppf(0.999, games, 0.05)
