"""Made-up energies: patients with several samples, a leak and a shift to be found or not."""

from __future__ import annotations

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from privacygauge.language.scores import TextScores, text_scores


def made_scores(
    rng: np.random.Generator,
    *,
    patients: tuple[int, int, int] = (60, 60, 0),
    sizes: tuple[int, int] = (1, 12),
    leak: float = 0.5,
    shift: float = 0.0,
) -> TextScores:
    """Return energies of members, non-members and population, with about as much noise as BERT's.

    `leak` lowers the members' energy under the audited model only, `shift` under both.
    """
    parts = []
    for kind, n in enumerate(patients):
        size = rng.integers(sizes[0], sizes[1] + 1, n)
        group = np.repeat(np.arange(n), size)
        base = rng.normal(9.0 - shift * (kind == 0), 0.3, n)[group]
        reference = base + rng.normal(0, 0.6, len(group))
        own = rng.normal(0, 0.1, n)[group] + rng.normal(0, 0.5, len(group))
        target = 0.8 * reference + own - leak * (kind == 0)
        parts.append((np.full(len(group), kind), group, target, reference))
    kind, group, target, reference = (np.concatenate(part) for part in zip(*parts, strict=True))
    return text_scores(
        [f"s{row}" for row in range(len(kind))],
        target,
        kind == 0,
        energy_reference=reference,
        group=[f"p{a}-{b}" for a, b in zip(kind, group, strict=True)],
        length=rng.integers(10, 61, len(kind)),
        population=kind == 2,
    )


Sizes = int | tuple[int, ...]
"""Texts of every patient, or several numbers one of which each patient has."""


def sized_scores(
    rng: np.random.Generator,
    sizes: tuple[Sizes, Sizes, Sizes],
    *,
    patients: tuple[int, int, int] = (100, 100, 0),
    correlation: float = 0.0,
    leak: float = 0.0,
) -> TextScores:
    """Return energies of members, non-members and population with given numbers of texts.

    `correlation` is that of two texts of a patient, both in the likelihood ratio and in the
    reference energy; `leak` lowers the members' energy by so many standard deviations of the
    likelihood ratio of a text.
    """
    parts = []
    for kind, (n, size) in enumerate(zip(patients, sizes, strict=True)):
        group = np.repeat(np.arange(n), rng.choice(np.atleast_1d(size), n))
        reference, own = (
            np.sqrt(correlation) * rng.normal(size=n)[group]
            + np.sqrt(1 - correlation) * rng.normal(size=len(group))
            for _ in range(2)
        )
        reference += 12.0  # energies are not negative
        target = reference + own - leak * (kind == 0)
        parts.append((np.full(len(group), kind), group, target, reference))
    kind, group, target, reference = (np.concatenate(part) for part in zip(*parts, strict=True))
    return text_scores(
        [f"s{row}" for row in range(len(kind))],
        target,
        kind == 0,
        energy_reference=reference,
        group=[f"p{a}-{b}" for a, b in zip(kind, group, strict=True)],
        population=kind == 2,
    )


@st.composite
def few_scores(draw: st.DrawFn) -> TextScores:
    """Return a few samples with many ties, groups of unequal size and a population."""
    n = draw(st.integers(3, 40))
    value = st.integers(0, 6).map(float)
    energies = [draw(st.lists(value, min_size=n, max_size=n)) for _ in range(2)]
    assume(energies[0] != energies[1])
    kind = [0, 1, 2, *draw(st.lists(st.integers(0, 2), min_size=n - 3, max_size=n - 3))]
    group = [f"{k}-{draw(st.integers(0, 3))}" for k in kind]
    return text_scores(
        list(range(n)),
        energies[0],
        np.equal(kind, 0),
        energy_reference=energies[1],
        group=group,
        length=draw(st.lists(st.integers(1, 70), min_size=n, max_size=n)),
        population=np.equal(kind, 2),
    )
