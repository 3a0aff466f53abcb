"""The page on defences: one HTML file, no network, no script."""

from __future__ import annotations

from privacygauge.report.defences import plots, views
from privacygauge.report.defences.early import at_training
from privacygauge.report.defences.findings import ComparedDefences
from privacygauge.report.defences.verdict import verdict
from privacygauge.report.html import environment
from privacygauge.report.svg import Picture, picture
from privacygauge.report.verdict import scale_of

_CURVE = (
    " The line is the undefended training, epoch by epoch: a point above it leaves more than "
    "stopping early at the same accuracy."
)


def render_html(f: ComparedDefences) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : ComparedDefences

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script.
    """
    found = verdict(f)
    template = environment().get_template("defences.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=scale_of(found.grade),
        severity=scale_of(found.grade).index(found.grade),
        cards=views.cards(f),
        lines=views.lines(f),
        shares=[q.share for q in f.compared[0].judged.quantiles],
        full=views.in_full(f),
        methods=views.methods(f),
        pictures=pictures(f),
    )


def pictures(f: ComparedDefences) -> dict[str, Picture]:
    """Return the plots by name: of the change of answers, of the accuracy where it changes."""
    found = {"risk-cdf": _risk(f)}
    # Another model's answers differ anyway: only on the same model is a change a cost.
    if not at_training(f):
        found["trade-off"] = _trade_off(f)
    if at_training(f) or any(c.before.value != c.after.value for c in f.compared):
        found["accuracy"] = _accuracy(f)
    return found


def _trade_off(f: ComparedDefences) -> Picture:
    undone = " \N{DAGGER} can be undone." if any(c.undone for c in f.compared) else ""
    return picture(
        "trade-off",
        "Privacy against what it costs",
        "Down is private, left is cheap. Filled points: the attacker knows the defence, with "
        "intervals that hold together. Hollow points: it does not. The dotted line is guessing; "
        f"an advantage of 100 points is always being right.{undone}",
        views.told(f),
        lambda: plots.plot_trade_off(f),
    )


def _accuracy(f: ComparedDefences) -> Picture:
    return picture(
        "accuracy",
        "Privacy against the model's accuracy",
        "Down is private, right is accurate: the best attack over the model's accuracy on records "
        "that it was not trained on. Filled points: the attacker knows the defence. Hollow points: "
        "it does not." + (_CURVE if f.curve else ""),
        views.told_of_accuracy(f),
        lambda: plots.plot_accuracy(f),
    )


def _risk(f: ComparedDefences) -> Picture:
    return picture(
        "risk-cdf",
        "How the members' risk is distributed",
        "The further left a curve rises, the fewer members are at risk. The dotted line, 0.5, is "
        "no risk. By attackers who know the defence.",
        views.told_of_risk(f),
        lambda: plots.plot_risk(f),
    )
