"""The numbers of a row of Mireshghallah et al. (2022), measured in every draw and put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate import decision, rates
from privacygauge.evaluate.roc import auc
from privacygauge.language.attacks import (
    MeanTrainThreshold,
    OracleThreshold,
    PopulationThreshold,
    Threshold,
    energy_transcript,
)
from privacygauge.language.scores import LIKELIHOOD_RATIO, LOSS, REFERENCE, TextScores
from privacygauge.reproduce.mireshghallah2022_setting import ModelPairOptions
from privacygauge.reproduce.table import Cell, Row

LEVEL = 0.95
"""Of every interval."""

Measured = Mapping[str, Estimate | Skipped]
"""Column to number, of one draw."""

COLUMNS = (
    "AUC, loss",
    "AUC, LR",
    "precision, loss, mean-train",
    "precision, loss, population",
    "precision, LR, population",
    "recall, loss, mean-train",
    "recall, loss, population",
    "recall, LR, population",
)
"""The rows of the paper's tables; LR is the likelihood ratio, (B) in the paper."""

_SHORT = {LOSS: "loss", LIKELIHOOD_RATIO: "LR"}


@dataclass(frozen=True)
class Line:
    """A row to make: what is asked, of which units, and what the paper prints."""

    label: str
    """Its name."""
    asked: ModelPairOptions
    """Of which models."""
    view: Callable[[TextScores], TextScores]
    """From samples to the units that are judged."""
    published: tuple[float, ...] = ()
    """Numbers of `COLUMNS`; empty where the paper has no such row."""


def row_of(line: Line, scores: Sequence[TextScores], fpr: float) -> Row:
    """Return a row of a table.

    Parameters
    ----------
    line : Line
    scores : sequence of TextScores
        One a draw.
    fpr : float
        The false-positive rate that thresholds are chosen for, in (0, 1).
    """
    known = dict(zip(COLUMNS, line.published, strict=True)) if line.published else {}
    found = over_draws([measure_draw(line.view(draw), fpr) for draw in scores])
    return Row(line.label, {name: Cell(known.get(name), ours) for name, ours in found.items()})


def measure_draw(scores: TextScores, fpr: float) -> dict[str, Estimate | Skipped]:
    """Return the numbers of one draw: areas, and precision, recall and FPR at every threshold.

    Notes
    -----
    Precision is that of a balanced pool, whatever the numbers of members and non-members: the
    paper's pools are balanced (section A.2.2).
    """
    areas = {
        f"AUC, {_SHORT.get(name, 'reference alone')}": auc(energy_transcript(scores, name), LEVEL)
        for name in (LOSS, LIKELIHOOD_RATIO, REFERENCE)
    }
    both: tuple[Threshold, ...] = (PopulationThreshold(fpr), OracleThreshold(fpr))
    guessed = [(LOSS, MeanTrainThreshold()), *((name, how) for how in both for name in _SHORT)]
    found: dict[str, dict[str, Estimate | Skipped]] = {"precision": {}, "recall": {}, "FPR": {}}
    for name, how in guessed:
        decisions = how.cut(scores, name).decide(energy_transcript(scores, name))
        column = f"{_SHORT[name]}, {how.name}"
        found["precision"][column] = decision.positive_predictive_value(decisions, 0.5, LEVEL)
        found["recall"][column] = decision.recall(decisions, LEVEL)
        if how.name == "population":
            found["FPR"][column] = decision.false_positive_rate(decisions, LEVEL)
    named = {f"{kind}, {at}": x for kind, columns in found.items() for at, x in columns.items()}
    return {**areas, **named}


def over_draws(draws: Sequence[Measured]) -> dict[str, Estimate | Skipped]:
    """Return the mean of every number over draws, with its interval; see `mean_over_draws`."""
    return {name: mean_over_draws(name, [draw[name] for draw in draws]) for name in draws[0]}


def mean_over_draws(name: str, values: Sequence[Estimate | Skipped]) -> Estimate | Skipped:
    """Return the mean of a rate over draws: Student's interval, cut at 0 and 1.

    Draws share no note and have targets of their own, so that their spread holds both the notes'
    and the training's. The interval of a single draw is its own, by note; where several do not
    differ at all, it is the widest of theirs. Skipped where any draw has no value.
    """
    skipped = next((x for x in values if isinstance(x, Skipped)), None)
    if skipped is not None:
        return Skipped(name, skipped.reason)
    known = [x for x in values if isinstance(x, Estimate)]
    if len(known) == 1:
        return known[0]
    points = np.array([x.value for x in known])
    if np.ptp(points) == 0:
        low = min(x.low for x in known)
        high = max(x.high for x in known)
        n = sum(x.n for x in known)
        return Estimate(
            value=points[0],
            low=low,
            high=high,
            level=LEVEL,
            n=n,
            method="by note, the same in every draw",
        )
    return rates.mean(points, LEVEL, unit="draws", least=0.0, most=1.0)


def mean_difference(
    name: str, first: Sequence[Estimate | Skipped], second: Sequence[Estimate | Skipped]
) -> Estimate | Skipped:
    """Return the mean over draws of one number minus another of the same draw.

    Student's interval. Skipped where a number is missing, with a single draw, or where all draws
    have the same difference, which says nothing of its doubt.
    """
    skipped = next((x for x in (*first, *second) if isinstance(x, Skipped)), None)
    if skipped is not None:
        return Skipped(name, skipped.reason)
    values = np.array([_value(a) - _value(b) for a, b in zip(first, second, strict=True)])
    if np.ptp(values) == 0:
        drawn = "one draw" if len(values) == 1 else f"each of {len(values)} draws"
        return Skipped(name, f"{values[0]:+.3f} in {drawn}, whose spread is not known")
    return rates.mean(values, LEVEL, unit="draws")


def _value(found: Estimate | Skipped) -> float:
    assert isinstance(found, Estimate)
    return found.value
