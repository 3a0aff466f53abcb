"""Utility of a synthetic table, as rows of a table on the page."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.core.estimate import Skipped
from privacygauge.report.numbers import DASH, count, decimal, percent, several, shorten
from privacygauge.report.values import Cell, Content
from privacygauge.synthetic.utility import Utility


def use_rows(found: Utility, made: str, real: str) -> list[dict[str, Content]]:
    """Return the measures of utility, each for the synthetic table and for real records.

    `made` and `real` are the headings of the two columns of numbers.
    """
    return [
        {"Measure": Cell(name, (below,)), made: ours, real: theirs}
        for name, below, ours, theirs in (
            *_marginals(found),
            *_correlations(found),
            *_learning_rows(found),
        )
    ]


def _marginals(found: Utility) -> Iterator[tuple[str, str, str, str]]:
    wide = found.holdout_marginals
    for i, one in enumerate(found.marginals):
        n = len(one.sets)
        sets = several(n, "column") if one.k == 1 else f"{several(n, 'set')} of {one.k} columns"
        name = "Shares of single values" if one.k == 1 else f"Shares of combinations of {one.k}"
        theirs = decimal(wide[i].mean, 3) if wide else DASH
        yield name, f"distance, mean over {sets}", decimal(one.mean, 3), theirs


def _correlations(found: Utility) -> Iterator[tuple[str, str, str, str]]:
    if len(found.names) < 2:
        return
    name = "Associations of two columns"
    mean = decimal(found.correlation_mean, 3)
    reference = found.holdout_correlation_mean
    theirs = DASH if reference is None else decimal(reference, 3)
    yield name, "difference, mean over all pairs", mean, theirs
    yield name, "difference, largest of all pairs", decimal(found.correlation_largest, 3), DASH


def _learning_rows(found: Utility) -> Iterator[tuple[str, str, str, str]]:
    for one in () if isinstance(found.learnt, Skipped) else found.learnt:
        told = f"{shorten(one.label)}, {count(one.classes)} classes, guessing gives"
        accuracies = percent(one.synthetic_accuracy), percent(one.real_accuracy)
        guessing = f"{told} {percent(1 / one.classes)}"
        yield "Predictions: balanced accuracy", guessing, *accuracies
        areas = decimal(one.synthetic_auc, 3), decimal(one.real_auc, 3)
        yield "Predictions: AUC", f"{told} 0.5", *areas
