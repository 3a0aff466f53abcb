"""What the page on a language model shows: cards and chosen rows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.language.matching import MatchedAttack
from privacygauge.report import views
from privacygauge.report.language.findings import ControlFinding, LanguageFindings, UnitFindings
from privacygauge.report.language.units import attacks_of
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal_estimate,
    fixed,
    percent_estimate,
    rate,
)
from privacygauge.report.views import RECORDS, Card, Record, Riskiest, shortened


@dataclass(frozen=True)
class ControlRow:
    """One of the controls."""

    name: str
    """What it is, in plain words."""
    shown: Shown
    """Its number; the interval holds together with those of the other controls."""
    text: str
    """What the number is, and what it would be if the test is honest."""
    fires: bool
    """Whether it says that the test is not honest."""
    played: bool
    """Whether it could be played."""


@dataclass(frozen=True)
class ThresholdRow:
    """One threshold."""

    attack: str
    """The signal."""
    kind: str
    """Where the threshold comes from."""
    asked: str
    """The false-positive rate asked for."""
    realised: Shown
    """The one on the judged non-members."""
    kept: bool
    """Whether both agree."""
    recall: Shown
    """Share of the members that are found."""
    precision: Shown
    """Share of members among those called members."""
    n: str
    """Units that the threshold was taken from."""


@dataclass(frozen=True)
class Worst:
    """One of the patients most at risk."""

    id: str
    """The user's id; the middle of a very long one is left out."""
    samples: str
    """How many of the patient's samples were judged."""
    score: str
    """Their mean score."""


def cards(f: LanguageFindings) -> tuple[Card, ...]:
    """Return the headline numbers; the control comes first where one fires."""
    first, *others = views.cards(attacks_of(f, f.samples))
    patients: tuple[Card, ...] = ()
    if not isinstance(f.patients, Skipped):
        patients = (
            Card(
                "Right guesses, patient by patient",
                percent_estimate(f.patients.headline.accuracy),
                "By the mean over a patient's samples. Guessing gives 50%. Balanced accuracy.",
            ),
        )
    samples = Card("Right guesses, sample by sample", first.shown, first.text)
    of_attacks = (samples, *patients, *others)
    control = _reference(f)
    return (*control, *of_attacks) if f.controls.void else (*of_attacks, *control)


def controls(f: LanguageFindings) -> tuple[ControlRow, ...]:
    """Return the controls."""
    return (
        _area(
            "Reference model alone",
            f.controls.reference,
            "AUC of the energies under a model that saw none of the samples; 0.5 in an honest test",
        ),
        _area(
            "Words alone",
            f.controls.blind,
            "AUC of a classifier that sees the words and no model, on people that it did not learn "
            "from; at most 0.5 in an honest test, but for chance",
        ),
        _matched(f.controls.matched, f.energies.signal),
        _area(
            "Number of texts alone",
            f.controls.sizes,
            "AUC of how many texts a patient has; 0.5 where both sides were drawn alike. The "
            "numbers stand even if it fires: patients are compared on equally many texts",
        ),
    )


def thresholds(unit: UnitFindings) -> tuple[ThresholdRow, ...]:
    """Return every threshold, with what it does."""
    return tuple(
        ThresholdRow(
            e.name,
            t.kind,
            DASH if t.asked is None else rate(t.asked),
            percent_estimate(t.realised, 1),
            t.kept,
            percent_estimate(e.recall, 1),
            percent_estimate(e.precision, 1),
            count(t.n),
        )
        for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
    )


def worst(f: LanguageFindings) -> tuple[Worst, ...]:
    """Return the patients most at risk."""
    rows = f.rows
    if rows is None:
        return ()
    return tuple(
        Worst(shortened(rows.names[i]), count(int(rows.samples[i])), fixed(float(rows.score[i]), 3))
        for i in rows.order[:RECORDS].tolist()
    )


def riskiest(f: LanguageFindings) -> Riskiest:
    """Return the members' samples of the highest score."""
    members = np.flatnonzero(f.records.member)
    score = f.energies.score
    rows = members[np.argsort(-score[members], kind="stable")][:RECORDS]
    contents = f.records.contents
    found = tuple(
        Record(
            shortened(str(f.records.ids[i])),
            True,
            fixed(float(score[i]), 3),
            sum(bool(guess[i]) for guess in f.records.guesses.values()),
            tuple(str(column[i]) for column in contents.values()),
        )
        for i in rows.tolist()
    )
    n_attacks = len(f.records.guesses)
    return Riskiest(f.energies.signal, False, found, len(members), n_attacks, tuple(contents))


def _reference(f: LanguageFindings) -> tuple[Card, ...]:
    found = f.controls.reference
    if isinstance(found, Skipped):
        return ()
    told = "It fires: the test is not honest." if found.fires else "It is quiet."
    return (
        Card(
            "Control: reference model alone",
            decimal_estimate(found.auc),
            f"AUC of a model that saw no member; 0.5 if the test is honest. {told}",
        ),
    )


def _area(name: str, found: ControlFinding | Skipped, text: str) -> ControlRow:
    if isinstance(found, Skipped):
        return ControlRow(name, Shown(DASH), f"Not played: {found.reason}", False, False)
    return ControlRow(name, decimal_estimate(found.auc), text, found.fires, True)


def _matched(found: MatchedAttack | Skipped, attack: str) -> ControlRow:
    name = "Attack after matching"
    if isinstance(found, Skipped):
        return ControlRow(name, Shown(DASH), f"Not played: {found.reason}", False, False)
    text = (
        f"Fall of the AUC of {attack}, from {fixed(found.before, 3)} to "
        f"{decimal_estimate(found.after)} among samples that the reference model finds equally "
        "hard; 0 in an honest test"
    )
    return ControlRow(name, decimal_estimate(found.fall), text, found.fires, True)
