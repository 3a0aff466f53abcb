"""The line of an audit of a privacy claim in a risk register."""

from __future__ import annotations

from dataclasses import replace

from privacygauge.errors import InputError
from privacygauge.report.claim.verdict import IF_GAUSSIAN, REFUTED, REVERSED, STANDS, UNKNOWN
from privacygauge.report.claim.words import exact
from privacygauge.report.numbers import Shown, at_least, count
from privacygauge.report.register.line import (
    GRAVE,
    MODERATE,
    NOTHING,
    UNTOLD,
    Kind,
    Number,
    Told,
    Worst,
    judged,
    of_estimate,
)
from privacygauge.report.register.reading import Columns, Part

SEVERITIES = {
    REFUTED: GRAVE,
    IF_GAUSSIAN: MODERATE,
    UNKNOWN: UNTOLD,
    REVERSED: UNTOLD,
    STANDS: NOTHING,
}
"""Of the grades."""

_UNSAID = (
    "A claim that is not refuted is not proven: a stronger attack, or worse canaries, may refute "
    "it still."
)


def tell(report: Part, columns: Columns) -> Told:
    """Return what the report on a privacy claim says."""
    n = report.whole("n_in") + report.whole("n_out")
    one = report.text("design") == "one-run"
    canaries = f"{count(n)} made-up records were put in or left out by coins"
    return Told(
        "A claim of differential privacy",
        f"{canaries}; an attacker guesses which. Too many right guesses refute the claim."
        if one
        else f"In {count(n)} trainings a made-up record was put in or left out by coins; an "
        "attacker guesses which. Too many right guesses refute the claim.",
        "the scores of the canaries, as the owner measured them",
        _number(report),
        judged(report, SEVERITIES, _UNSAID),
        Worst("records", (), "canaries are made up: nobody stands behind them"),
    )


def _number(report: Part) -> Number:
    free = [bound for bound in report.parts("bounds") if not bound.text("assumption")]
    if not free:
        raise InputError(f"{report.where}: no bound that assumes nothing: write that report again")
    found = free[0].estimate("epsilon")
    epsilon, delta = report.number("claim", "epsilon"), report.number("claim", "delta")
    number = of_estimate(
        "epsilon",
        "Lower bound on epsilon",
        found,
        Shown(at_least(found)),
        f"0; claimed are epsilon {exact(epsilon)} at delta {exact(delta)}",
        level=report.level(),
    )
    # A bound has one honest number: its lower end.
    return replace(number, value=found.low)


KIND = Kind(
    "privacy claim",
    "privacygauge.report.claim",
    frozenset({"claim", "bounds"}),
    "differential-privacy-audit",
    tell,
)
"""Audits of a privacy claim."""
