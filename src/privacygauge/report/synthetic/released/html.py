"""The page on a released table: one HTML file, no network, no script."""

from __future__ import annotations

from privacygauge.evaluate.findings import Findings
from privacygauge.report import views as attack_views
from privacygauge.report.html import environment
from privacygauge.report.numbers import percent, plain
from privacygauge.report.svg import Picture, picture
from privacygauge.report.synthetic.released import plots, views
from privacygauge.report.synthetic.released.membership import attacks_of
from privacygauge.report.synthetic.released.verdict import named, verdict
from privacygauge.report.synthetic.released_findings import ReleasedFindings
from privacygauge.report.verdict import UNKNOWN, scale_of
from privacygauge.synthetic.released.copies import NO_EVIDENCE
from privacygauge.synthetic.utility import Utility


def render_html(f: ReleasedFindings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : ReleasedFindings

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script.
    """
    found, attacks = verdict(f), attacks_of(f)
    scale = scale_of(found.grade)
    template = environment().get_template("released.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=scale,
        severity=scale.index(found.grade),
        unknown=found.grade == UNKNOWN,
        cards=views.cards(f),
        attacks=attacks,
        methods=() if attacks is None else attack_views.methods(attacks),
        unresolved=attacks is not None and attack_views.unresolved(attacks),
        blind_says=views.blind_says(f),
        game_skipped=views.game_of(f),
        risks=views.risks_by_kind(f),
        risk_methods=views.methods(f),
        copies=views.share_facts(f.copies),
        closest=views.distance_facts(f.closest),
        no_evidence=NO_EVIDENCE,
        use=views.use(f),
        use_notes=f.utility.notes if isinstance(f.utility, Utility) else (),
        riskiest=views.riskiest(f),
        pictures=pictures(f, attacks),
    )


def pictures(f: ReleasedFindings, attacks: Findings | None) -> dict[str, Picture]:
    """Return every plot of the page by its name."""
    found = []
    if attacks is not None:
        areas = "; ".join(f"{plain(e.title)} {e.auc.value:.3f}" for e in f.evaluations)
        found += [
            picture(
                "roc",
                "ROC curves of the membership attacks",
                "How many members an attack finds (up) for how many false alarms (right). The "
                "dotted diagonal is guessing.",
                f"Area under the curve: {areas}.",
                lambda: plots.plot_roc(f),
            ),
            picture(
                "roc-log",
                "ROC curves, both axes logarithmic",
                "The same, enlarged at few false alarms: a curve far above the diagonal on the "
                "left gives some members away almost for certain.",
                f"Area under the curve: {areas}.",
                lambda: plots.plot_roc(f, log=True),
            ),
        ]
    if f.risks:
        found.append(
            picture(
                "risk-forms",
                "The three risks, form by form",
                "Circles: attempts on real records. Squares: the same on the holdout. Crosses: "
                "the baseline, without the attack. A leak is a circle to the right of its "
                "square; bars are intervals.",
                "; ".join(_in_words(f)) + ".",
                lambda: plots.plot_risks(f),
            )
        )
    return {x.name: x for x in found}


def _in_words(f: ReleasedFindings) -> list[str]:
    told = []
    for risk in f.risks:
        control = "" if risk.control is None else f", holdout {percent(risk.control.value)}"
        told.append(f"{named(risk)}: real {percent(risk.attack.value)}{control}")
    return told
