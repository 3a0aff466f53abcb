"""Features of the texts of detected samples (Table 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.rules import Cut, halves
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError

FEATURES: Mapping[str, tuple[int, ...]] = {
    "digits": (0,),
    "length": (1,),
    "non-alphanumeric": (2,),
    "rarest tokens": (3, 4, 5),
}
"""Columns of `exposure_features` behind each of the paper's features (A) to (D)."""

ROWS = (
    ("digits",),
    ("length",),
    ("non-alphanumeric",),
    ("rarest tokens",),
    ("non-alphanumeric", "rarest tokens"),
    ("length", "non-alphanumeric", "rarest tokens"),
    ("digits", "length", "non-alphanumeric", "rarest tokens"),
)
"""Rows of Table 7."""

Weights = Literal["none", "balanced"]
"""Class weights: ``none`` as published; ``balanced`` weights detected and missed samples alike."""


@dataclass(frozen=True, eq=False)
class FeatureFit:
    """A logistic regression that predicts from some features whether a member is detected."""

    features: tuple[str, ...]
    """Names of `FEATURES`."""
    weights: Weights
    """Class weights of the fit."""
    train: Transcript
    """Log-odds and labels ("detected") of the training rows."""
    test: Transcript
    """Log-odds and labels of other groups' rows."""

    def decisions(self, part: Transcript) -> Decisions:
        """Return guesses at even odds on `train` or `test`, for precision and recall."""
        return Cut(0.0, "even odds of a logistic regression").decide(part)


def feature_study(
    columns: Floats,
    detected: Bools,
    unit: Ints,
    rng: np.random.Generator,
    *,
    rows: Sequence[tuple[str, ...]] = ROWS,
    share: float = 0.5,
) -> tuple[FeatureFit, ...]:
    """Return how well the text's features predict which members an attack detects.

    Parameters
    ----------
    columns : ndarray of float, shape (n, 6)
        Features from `exposure_features`.
    detected : ndarray of bool, shape (n,)
        Whether the attack guessed the member to be one; both kinds must occur.
    unit : ndarray of int, shape (n,)
        The group of each row: no group is both learnt from and tested on.
    rng : numpy.random.Generator
        Splits the groups.
    rows : sequence of tuple of str
        Sets of names of `FEATURES`; those of Table 7 by default.
    share : float
        Share of the groups to learn from, in (0, 1).

    Returns
    -------
    tuple of FeatureFit
        For every set of features, one without weights and one balanced.

    Notes
    -----
    Mireshghallah et al. (2022), section 4.4, Table 7: precision and recall at even odds without
    weights. A feature that moves the odds a little then predicts "missed" for all samples, which
    the paper prints as 0.0 and 0.0: the AUC of the same fit shows whether it is informative.
    Features are standardised on the training rows; the penalty is scikit-learn's default.
    """
    columns = np.asarray(columns, np.float64)
    detected = checks.bools(detected, "detected", length=len(columns))
    learn = halves(unit, detected, share, int(rng.integers(2**32)))
    for part, name in ((learn, "learnt from"), (~learn, "tested on")):
        if detected[part].all() or not detected[part].any():
            raise InputError(
                f"the rows {name} must hold detected and missed members, got one kind only: "
                "choose another threshold, or give more groups"
            )
    kinds: tuple[Weights, ...] = ("none", "balanced")
    return tuple(
        _fit(columns, detected, unit=unit, learn=learn, row=row, kind=kind)
        for row in rows
        for kind in kinds
    )


def exposure_features(
    text: Sequence[str], tokens: Sequence[Sequence[str]], frequency: Mapping[str, int]
) -> Floats:
    """Return six numbers per text: digits, length, other characters, three rarest tokens' counts.

    Parameters
    ----------
    text : sequence of str, length n
    tokens : sequence of sequence of str, length n
        The tokens of each text, at least one each.
    frequency : mapping of str to int
        Count of each token in the training data; 0 where it is absent.

    Returns
    -------
    ndarray of float, shape (n, 6)
        The number of digits; of tokens; of characters other than letters, digits and white space;
        and the frequencies of the three rarest tokens, rarest first. A text of fewer than three
        tokens repeats its most frequent one.

    Examples
    --------
    >>> from privacygauge.language.features import exposure_features, token_frequency
    >>> tokens = [["bp", "120", "/", "80"]]
    >>> exposure_features(["BP 120/80"], tokens, token_frequency(tokens)).tolist()
    [[5.0, 4.0, 1.0, 1.0, 1.0, 1.0]]
    """
    if len(text) != len(tokens):
        raise InputError(f"tokens must have {len(text)} rows, got {len(tokens)}")
    return np.array([_features(*row, frequency) for row in zip(text, tokens, strict=True)], float)


def token_frequency(tokens: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the number of times that each token occurs in all texts."""
    return dict(Counter(token for row in tokens for token in row))


def _features(text: str, tokens: Sequence[str], frequency: Mapping[str, int]) -> list[int]:
    if not tokens:
        raise InputError("tokens must hold at least one token a text, got none")
    digits = sum(letter.isdigit() for letter in text)
    others = sum(not letter.isalnum() and not letter.isspace() for letter in text)
    counts = sorted(frequency.get(token, 0) for token in tokens)
    rarest = [counts[min(place, len(counts) - 1)] for place in range(3)]
    return [digits, len(tokens), others, *rarest]


def _fit(
    columns: Floats, detected: Bools, unit: Ints, learn: Bools, row: tuple[str, ...], kind: Weights
) -> FeatureFit:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    unknown = [name for name in row if name not in FEATURES]
    if unknown:
        raise InputError(f"features must be of {checks.short_list(FEATURES)}, got {unknown[0]!r}")
    chosen = columns[:, [place for name in row for place in FEATURES[name]]]
    weights = None if kind == "none" else kind
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight=weights))
    model.fit(chosen[learn], detected[learn])
    odds = model.decision_function(chosen)
    train, test = (Transcript(odds[p], detected[p], unit[p]) for p in (learn, ~learn))
    return FeatureFit(row, kind, train, test)
