"""The page on a language model: one HTML file, no network, no script."""

from __future__ import annotations

from privacygauge.core.estimate import Skipped
from privacygauge.report import views as attack_views
from privacygauge.report.html import environment
from privacygauge.report.language import plots, views
from privacygauge.report.language.findings import LanguageFindings, UnitFindings
from privacygauge.report.language.units import attacks_of, signals_of
from privacygauge.report.language.verdict import measured_on, verdict
from privacygauge.report.numbers import decimal_estimate, plain
from privacygauge.report.svg import Picture, picture
from privacygauge.report.verdict import scale_of


def render_html(f: LanguageFindings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : LanguageFindings

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script. No text of a sample is in it
        unless it was asked for.
    """
    found, attacks = verdict(f), attacks_of(f, f.samples)
    scale = scale_of(found.grade)
    patients = None if isinstance(f.patients, Skipped) else f.patients
    template = environment().get_template("language.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=scale,
        severity=scale.index(found.grade),
        unknown=bool(f.controls.fired),
        measured_on=measured_on(f),
        cards=views.cards(f),
        controls=views.controls(f),
        methods=attack_views.methods(attacks),
        unresolved=attack_views.unresolved(attacks),
        thresholds=views.thresholds(f.samples),
        patients=patients,
        patient_thresholds=() if patients is None else views.thresholds(patients),
        no_patients=f.patients if patients is None else None,
        worst=views.worst(f),
        riskiest=views.riskiest(f),
        signals=[e.name for e in signals_of(f.samples)],
        pictures=pictures(f),
    )


def pictures(f: LanguageFindings) -> dict[str, Picture]:
    """Return every plot of the page by its name."""
    log = (
        "How many members an attack finds (up) for how many false alarms (right), enlarged at few "
        "false alarms: a curve far above the dotted diagonal on the left gives some members away "
        "almost for certain."
    )
    found = [
        picture(
            "roc-log",
            "ROC curves, both axes logarithmic",
            log,
            _areas(f.samples),
            lambda: plots.plot_roc(f),
        ),
        picture(
            "roc",
            "ROC curves",
            "The same on plain axes. The dotted diagonal is guessing.",
            _areas(f.samples),
            lambda: plots.plot_roc(f, log=False),
        ),
        picture(
            "scores",
            f"Scores of {plain(f.headline.attack.name)}",
            "The less the two overlap, the better the attack tells them apart.",
            f"The scores of {plain(f.headline.attack.name)} for members and non-members. "
            f"{_areas(f.samples)}",
            lambda: plots.plot_scores(f),
        ),
    ]
    if not isinstance(f.patients, Skipped):
        unit = f.patients
        found.append(
            picture(
                "roc-patients",
                "ROC curves, patient by patient",
                log,
                _areas(unit),
                lambda: plots.plot_roc(f, unit=unit),
            )
        )
    return {x.name: x for x in found}


def _areas(unit: UnitFindings) -> str:
    return "Area under the curve: " + "; ".join(
        f"{plain(e.title)} {decimal_estimate(e.auc)}" for e in signals_of(unit)
    )
