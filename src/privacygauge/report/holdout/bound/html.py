"""The page on what submissions can buy: one HTML file, no network, no script."""

from __future__ import annotations

from privacygauge.report.holdout.bound import plots
from privacygauge.report.holdout.bound.tables import allowed_rows, closed_form, gain
from privacygauge.report.holdout.bound.verdict import GRADES, UNKNOWN, verdict
from privacygauge.report.holdout.findings import KINDS, RATE, BoundFindings
from privacygauge.report.holdout.words import SCORES, points, points_estimate
from privacygauge.report.html import environment
from privacygauge.report.numbers import Shown, fixed, percent, rate
from privacygauge.report.svg import Picture, picture
from privacygauge.report.views import Card

_HEADS = {
    "attack": "Known attacks",
    "honest selection": "Honest selection",
    "guarantee": "Guarantees",
    "rate": "Rates",
}


def render_html(f: BoundFindings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : BoundFindings

    Returns
    -------
    str
        The page asks for nothing from outside and runs no script.
    """
    found = verdict(f)
    scale = (UNKNOWN,) if found.grade == UNKNOWN else GRADES
    template = environment().get_template("holdout_bound.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=scale,
        severity=scale.index(found.grade),
        unknown=found.grade == UNKNOWN,
        cards=_cards(f),
        groups=tuple((_HEADS[kind], _rows(f, kind)) for kind in KINDS if kind != RATE),
        rates=_rates(f),
        simulated=None if f.simulated is None else points_estimate(f.simulated),
        allowed=allowed_rows(f),
        most=points(f.allowed_bias),
        closed_form=closed_form(f),
        per_label=fixed(f.per_label, 1),
        bits=fixed(f.nats, 0),
        scores=SCORES,
        pictures={"curves": _picture(f)},
    )


def _rows(f: BoundFindings, kind: str) -> tuple[tuple[str, str, str, bool], ...]:
    return tuple((b.title, gain(f, b), b.assumption, b.applies) for b in f.biases if b.kind == kind)


def _rates(f: BoundFindings) -> tuple[tuple[str, str, str], ...]:
    return tuple((b.title, f"{b.value:.3g}", b.assumption) for b in f.biases if b.kind == RATE)


def _cards(f: BoundFindings) -> tuple[Card, ...]:
    strongest, honest, kl = f.strongest, f.bias("honest_best_of_k"), f.bias("kl")
    best = "-" if strongest is None else points(strongest.value)
    by = "No formula covers the guard." if strongest is None else f"By {strongest.title}."
    most = gain(f, kl)
    return (
        Card(
            "Honest selection, points",
            Shown(points(honest.value)),
            f"Expected gain of the best of all submissions that are {percent(f.accuracy)} right.",
        ),
        Card(
            "Strongest known attack, points",
            Shown(best),
            f"{by} Without a model; above {percent(f.chance)}, which a guess has.",
        ),
        Card(
            "Any attack at most, points",
            Shown(most),
            "No guarantee: so many answers can tell every label."
            if most == "no limit"
            else f"With probability {rate(f.level)}, on uniform labels.",
        ),
    )


def _picture(f: BoundFindings) -> Picture:
    told = "; ".join(f"{b.title} {gain(f, b)}" for b in f.biases if b.kind != RATE and b.applies)
    return picture(
        "curves",
        "Bias against submissions",
        "Both axes are logarithmic. The upright line is what was asked about, the dotted line what "
        "is allowed. Between an attack and the guarantee nothing is known; honest selection counts "
        "from another accuracy, and the guarantee does not cover it.",
        f"At {f.queries:,} submissions, in points: {told}.",
        lambda: plots.plot_curves(f),
    )
