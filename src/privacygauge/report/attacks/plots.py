"""ROC curves and scores of attacks, with their captions and what they show in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.report import plots
from privacygauge.report.axes import SERIES
from privacygauge.report.numbers import decimal_estimate, plain
from privacygauge.report.values import Plot, Section


def curves(evaluations: Sequence[Evaluation], best: Evaluation) -> Section:
    """Return the section with both ROC plots of attacks and the scores of the strongest one."""
    return Section("curves", "Curves", (roc(evaluations), roc_log(evaluations), scores(best)))


def roc(
    evaluations: Sequence[Evaluation],
    *,
    name: str = "roc",
    title: str = "ROC curves",
    caption: str = "How many members an attack finds (up) for how many false alarms (right). The "
    "dotted diagonal is guessing.",
) -> Plot:
    """Return the ROC curves of attacks."""
    told = areas(evaluations)
    return Plot(name, title, caption, told, lambda: plots.plot_roc(evaluations), wide=False)


def roc_log(
    evaluations: Sequence[Evaluation],
    *,
    name: str = "roc-log",
    title: str = "ROC curves, both axes logarithmic",
    caption: str = "The same, enlarged at few false alarms: a curve far above the diagonal on the "
    "left gives some members away almost for certain.",
) -> Plot:
    """Return the ROC curves of attacks, enlarged at few false alarms."""
    draw = partial(plots.plot_roc, evaluations, log=True)
    return Plot(name, title, caption, areas(evaluations), draw, wide=False)


def scores(
    e: Evaluation, *, title: str = "", words: str = "", name: str = "scores", wide: bool = True
) -> Plot:
    """Return how the scores of an attack are spread, members and non-members apart.

    By default the plot has the attack's own title, and its words are about the AUC.
    """
    called = plain(title or e.title)
    told = words or (
        f"The scores of {called} for members and non-members; a random member scores higher than "
        f"a random non-member with probability {decimal_estimate(e.auc)}."
    )
    caption = "The less the two overlap, the better the attack tells them apart."
    return Plot(name, f"Scores of {called}", caption, told, lambda: plots.plot_scores(e), wide)


def areas(evaluations: Sequence[Evaluation]) -> str:
    """Return the areas under the curves that a ROC plot names, in words."""
    ordered = sorted(evaluations, key=lambda e: -e.auc.value)[: len(SERIES)]
    return "Area under the curve: " + "; ".join(
        f"{plain(e.title)} {decimal_estimate(e.auc)}" for e in ordered
    )
