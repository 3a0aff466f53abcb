"""What property tests draw: few distinct values, so that ties are everywhere."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from privacygauge.core.game import Shadow
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.core.transcript import Decisions, Transcript

SEEDS = st.integers(0, 2**32 - 1)
SIZES = st.integers(2, 40)


def both_kinds(n: int, rng: np.random.Generator, share: float = 0.5) -> np.ndarray:
    """Return random bits of which one at least is true and one at least is false."""
    bits = rng.random(n) < share
    bits[rng.permutation(n)[:2]] = [True, False]
    return bits


def few_values(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return values with no, some or many ties, or nothing but ties."""
    return rng.integers(rng.choice([1, 2, 5, 1000]), size=n) / 7.0 - 1.0


@st.composite
def transcripts(draw: st.DrawFn, *, repeated: bool = False) -> Transcript:
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(SIZES)
    target = rng.integers(max(n // 3, 1), size=n) if repeated else rng.permutation(n)
    return Transcript(few_values(n, rng), both_kinds(n, rng, rng.random()), target)


@st.composite
def decisions(draw: st.DrawFn) -> Decisions:
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(SIZES)
    return Decisions(rng.random(n) < rng.random(), both_kinds(n, rng, rng.random()))


@st.composite
def shadows(draw: st.DrawFn, n_classes: int = 4, smallest: int = 2) -> Shadow:
    """Draw shadow records with a signal "s" below 0; classes may lack either kind, or all."""
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(smallest, 60))
    signal = few_values(n, rng) - 1000 / 7
    return Shadow({"s": signal}, both_kinds(n, rng, rng.random()), rng.integers(n_classes, size=n))


@st.composite
def worlds(draw: st.DrawFn, smallest: int = 1) -> Worlds:
    """Draw worlds of a few records: with and without ties, noise, queries, and empty groups."""
    rng = np.random.default_rng(draw(SEEDS))
    k = draw(st.integers(smallest, 7))
    n = draw(st.integers(1, 12))
    shape = draw(st.sampled_from([(n,), (n, 1), (n, 3)]))
    size = (k + 1) * int(np.prod(shape))
    values = few_values(size, rng) if draw(st.booleans()) else rng.normal(size=size)
    signals = values.reshape(k + 1, *shape) + draw(st.sampled_from([0.0, 100.0]))
    return Worlds(signals[0], signals[1:], coin_flips(k, n, rng))
