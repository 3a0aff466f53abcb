"""What a synthetic table is good for, as rows of a table on the page."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.core.estimate import Skipped
from privacygauge.report.numbers import DASH, count, fixed, percent, several, shortened
from privacygauge.report.values import Cell, Content
from privacygauge.synthetic.utility import Utility


def use_rows(found: Utility) -> tuple[tuple[Content, ...], ...]:
    """Return each measure, what the synthetic table comes to, and what real records come to."""
    return (*_marginals(found), *_correlations(found), *_learnt(found))


def _marginals(found: Utility) -> Iterator[tuple[Content, ...]]:
    wide = found.holdout_marginals
    for i, one in enumerate(found.marginals):
        n = len(one.sets)
        sets = several(n, "column") if one.k == 1 else f"{several(n, 'set')} of {one.k} columns"
        name = "Shares of single values" if one.k == 1 else f"Shares of combinations of {one.k}"
        yield (
            Cell(name, (f"distance, mean over {sets}",)),
            fixed(one.mean, 3),
            fixed(wide[i].mean, 3) if wide else DASH,
        )


def _correlations(found: Utility) -> Iterator[tuple[Content, ...]]:
    if len(found.names) < 2:
        return
    name, reference = "Associations of two columns", found.holdout_correlation_mean
    real = DASH if reference is None else fixed(reference, 3)
    yield (Cell(name, ("difference, mean over all pairs",)), fixed(found.correlation_mean, 3), real)
    yield (
        Cell(name, ("difference, largest of all pairs",)),
        fixed(found.correlation_largest, 3),
        DASH,
    )


def _learnt(found: Utility) -> Iterator[tuple[Content, ...]]:
    for one in () if isinstance(found.learnt, Skipped) else found.learnt:
        told = f"{shortened(one.label)}, {count(one.classes)} classes"
        yield (
            Cell(
                "Predictions: balanced accuracy",
                (f"{told}, guessing gives {percent(1 / one.classes)}",),
            ),
            percent(one.synthetic_accuracy),
            percent(one.real_accuracy),
        )
        yield (
            Cell("Predictions: AUC", (f"{told}, guessing gives 0.5",)),
            fixed(one.synthetic_auc, 3),
            fixed(one.real_auc, 3),
        )
