"""The page on attacks on a test set: one HTML file, no network, no script."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.report.holdout.attack import plots
from privacygauge.report.holdout.attack.verdict import FIXED, GRADES, verdict
from privacygauge.report.holdout.findings import AttackFindings, Result
from privacygauge.report.holdout.words import (
    SCORES,
    attack_title,
    guard_title,
    points,
    points_estimate,
    share,
)
from privacygauge.report.html import environment
from privacygauge.report.numbers import DASH, Shown, count, percent, plain
from privacygauge.report.svg import Picture, picture
from privacygauge.report.views import Card


@dataclass(frozen=True)
class Line:
    """One attack behind one guard, as the page shows it."""

    attack: str
    """The attack's name."""
    guard: str
    """The guard's."""
    notes: str
    """What it needs."""
    best: bool
    """Whether it is the result that the verdict speaks of."""
    accuracy: Shown
    """Of the final answer."""
    baseline: str
    """Before."""
    bias: Shown
    """In points."""
    expected: str
    """What theory expects, in points."""
    used: str
    """Submissions."""


def render_html(f: AttackFindings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : AttackFindings

    Returns
    -------
    str
        The page asks for nothing from outside, runs no script, and holds no label.
    """
    found = verdict(f)
    template = environment().get_template("holdout_attack.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=GRADES,
        severity=GRADES.index(found.grade),
        cards=_cards(f),
        grid=[(a, [points_estimate(f.of(a, g.guard).bias) for g in f.guards]) for a in f.attacks],
        lines=[_line(f, r) for r in f.results],
        guards=[(g.guard, _most(f, g.kl), points(g.error)) for g in f.guards],
        fixed=FIXED,
        scores=SCORES,
        pictures={"biases": _picture(f)},
    )


def _most(f: AttackFindings, kl: float) -> str:
    return "no limit" if kl >= 1 - 1 / f.classes - 1e-12 else points(kl)


def _line(f: AttackFindings, r: Result) -> Line:
    notes = ["starts from what it knows" if r.informed else "starts from a guess"]
    if r.needs_points:
        notes.append("must tell examples apart")
    return Line(
        r.attack,
        r.guard,
        "; ".join(notes),
        len(f.results) > 1 and r is f.worst,
        share(r.accuracy),
        percent(r.baseline),
        points_estimate(r.bias),
        DASH if r.expected is None else points(r.expected),
        count(round(r.queries_used)),
    )


def _cards(f: AttackFindings) -> tuple[Card, ...]:
    worst, several = f.worst, len(f.results) > 1
    line = _line(f, worst)
    allowing = f" The interval allows for {len(f.results)} pairs." if several else ""
    return (
        Card(
            "Gain, in points",
            points_estimate(worst.corrected),
            f"By {attack_title(worst.attack)}, {guard_title(worst.guard)}.{allowing}",
        ),
        Card("Labels right", line.accuracy, "Of the attack's final answer."),
        Card(
            "Right before",
            Shown(line.baseline),
            "What it knew without a submission." if worst.informed else "What a guess has.",
        ),
        Card(
            "Honest selection, in points",
            Shown(points(f.honest)),
            f"The best of as many submissions that are {percent(f.honest_accuracy)} right, at "
            "most, behind exact scores.",
        ),
    )


def _picture(f: AttackFindings) -> Picture:
    behind = (f.worst_behind(g.guard) for g in f.guards)
    told = "; ".join(
        f"{plain(r.guard)}: {points_estimate(r.bias)} ({attack_title(r.attack)})" for r in behind
    )
    return picture(
        "biases",
        "Bias by attack and guard",
        "How many points of accuracy each attack gained; bars are intervals over trials. The "
        "dotted line is no gain.",
        f"The furthest behind each guard, in points: {told}.",
        lambda: plots.plot_biases(f),
    )
