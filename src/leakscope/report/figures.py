"""Plots as inline SVG: text stays text, colours follow the page, and words say what is seen."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leakscope.evaluate.findings import Findings
from leakscope.evaluate.risk import Risk
from leakscope.report import plots
from leakscope.report.numbers import decimal_estimate, fixed, percent, percent_estimate, plain

if TYPE_CHECKING:
    from markupsafe import Markup
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Picture:
    """A plot on the page."""

    name: str
    """Prefix of all ids in the SVG."""
    title: str
    """What it shows."""
    caption: str
    """How to read it."""
    description: str
    """What there is to see, for those who cannot."""
    svg: Markup
    """The drawing."""


def pictures(findings: Findings) -> dict[str, Picture]:
    """Return every plot of the report by its name; without a risk score, those of the attacks."""
    best = findings.headline.attack
    found = [
        _picture(
            "roc",
            "ROC curves",
            "How many members an attack finds (up) for how many false alarms (right). The dotted "
            "diagonal is guessing.",
            _roc_words(findings),
            lambda: plots.plot_roc(findings),
        ),
        _picture(
            "roc-log",
            "ROC curves, both axes logarithmic",
            "The same, enlarged at few false alarms: a curve far above the diagonal on the left "
            "gives some members away almost for certain.",
            _roc_words(findings),
            lambda: plots.plot_roc(findings, log=True),
        ),
        _picture(
            "scores",
            f"Scores of {plain(best.title)}",
            "The less the two overlap, the better the attack tells them apart.",
            f"The scores of {plain(best.title)} for members and non-members; a random member "
            f"scores higher than a random non-member with probability "
            f"{decimal_estimate(best.auc)}.",
            lambda: plots.plot_scores(findings),
        ),
    ]
    if isinstance(findings.risk, Risk):
        found += _risk_pictures(findings.risk)
    return {picture.name: picture for picture in found}


def _risk_pictures(risk: Risk) -> list[Picture]:
    calibration = risk.reliability
    low, middle, high = (
        risk.member_scores[int(q * (len(risk.member_scores) - 1))] for q in (0.1, 0.5, 0.9)
    )
    found = [
        _picture(
            "risk-cdf",
            "Risk of the members",
            "A curve that hugs the right edge means that most members are at high risk.",
            f"A tenth of the members has a risk of at most {fixed(low, 2)}, half of at most "
            f"{fixed(middle, 2)}, nine tenths of at most {fixed(high, 2)}.",
            lambda: plots.plot_risk_cdf(risk),
        ),
        _picture(
            "reliability",
            "Is the risk score right?",
            "Of the records with a risk near 0.8, about 80% should be members. Bars are intervals.",
            "; ".join(
                f"score {fixed(b.mean_score, 2)}: {percent_estimate(b.fraction)} members"
                for b in calibration.bins
            )
            + f". Root-mean-square error {percent(calibration.rmse.value)}.",
            lambda: plots.plot_reliability(risk),
        ),
    ]
    if risk.classes:
        found.append(
            _picture(
                "classes",
                "Risk and overfitting, class by class",
                "A point is a class. Right: the model does worse on new records of the class.",
                f"{len(risk.classes)} classes; Pearson's correlation of mean risk and "
                f"generalisation error is {decimal_estimate(risk.correlation, 2)}.",
                lambda: plots.plot_classes(risk),
            )
        )
    return found


def _roc_words(findings: Findings) -> str:
    ordered = sorted(findings.evaluations, key=lambda e: -e.auc.value)[: len(plots.SERIES)]
    return "Area under the curve: " + "; ".join(
        f"{plain(e.title)} {decimal_estimate(e.auc)}" for e in ordered
    )


def _picture(
    name: str, title: str, caption: str, description: str, draw: Callable[[], Axes]
) -> Picture:
    svg = _inline(_saved(draw), name, title, description)
    return Picture(name, title, caption, description, svg)


def _saved(draw: Callable[[], Axes]) -> str:
    import matplotlib as mpl

    file = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "leakscope"}):
        figure = draw().get_figure(root=True)
        assert figure is not None
        nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    return file.getvalue()


def _inline(svg: str, name: str, title: str, description: str) -> Markup:
    """Return the SVG ready to stand in a page beside others."""
    from markupsafe import Markup, escape

    body = svg[svg.index("<svg") :]
    box = re.search(r'viewBox="([^"]*)"', body)
    assert box is not None
    body = body[body.index(">") + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r"<style[^>]*>.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->\n?", "", body, flags=re.DOTALL)
    body = re.sub(r'\bid="', f'id="{name}-', body)
    body = re.sub(r'(?:xlink:)?href="#', f'href="#{name}-', body)
    body = body.replace("url(#", f"url(#{name}-")
    body = re.sub(r"font-family: [^;\"]*;?", "", body)
    body = re.sub(r"(font: [0-9.]+px) [^;\"]*", r"\1 var(--sans)", body)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var(--{variable})")
    head = (
        f'<svg viewBox="{box[1]}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(description)}</desc>'
    )
    return Markup(head + body)


_VARIABLES = {colour: f"series-{i}" for i, colour in enumerate(plots.SERIES)} | {
    plots.INK: "plot-ink",
    plots.FAINT: "plot-grid",
    plots.OTHER: "plot-other",
    plots.PAPER: "card",
}
"""Colours of the plots, and the custom properties that stand for them on the page."""
