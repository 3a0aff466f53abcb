"""What to do next about a language model, in a few short lines."""

from __future__ import annotations

from privacygauge.audits.language.found import LanguageAudit
from privacygauge.core.estimate import Skipped
from privacygauge.report.grades import LARGE, NONE, SMALL, UNTOLD
from privacygauge.report.values import Grade

_HONEST = (
    "Draw the non-members again: at random from the notes that the model is to learn from, before "
    "it is trained, all notes of a patient on one side; or deal by fair coins. Then audit again.",
    "This audit supports no decision about a release: it shows neither a leak nor its absence.",
)
_REPEAT = (
    "Repeat the audit whenever the data, the training or the release changes, and keep this "
    "report with the release."
)


def advice(f: LanguageAudit, grade: Grade) -> tuple[str, ...]:
    """Return what to do next, the most urgent first; where it cannot be told, a control fired."""
    if grade == UNTOLD:
        return (*_HONEST, *_inputs(f), _REPEAT)
    return (*(() if grade == NONE else _mend(grade)), *_inputs(f), _REPEAT)


def _mend(grade: Grade) -> tuple[str, ...]:
    hold = "Hold the model back, or release it only to people who are bound by contract."
    private = (
        "Train with differential privacy (DP-SGD) where the release has to be public, counting "
        "all notes of a patient as one record: no other defence comes with a guarantee."
    )
    return (
        *((hold,) if grade == LARGE else ()),
        "Memorise less: remove duplicates from the training notes, stop the training earlier, or "
        "train on notes of more people.",
        *(() if grade == SMALL else (private,)),
    )


def _inputs(f: LanguageAudit) -> tuple[str, ...]:
    """Return what would make the next audit tell more."""
    lines = []
    if f.energies.reference is None:
        lines.append(
            "Add energies of a reference model (a column energy_reference): the loss alone is a "
            "weak attack, and two of the four controls need it."
        )
    if f.energies.group is None:
        lines.append(
            "Add the patient of every sample (a column group): samples of one patient are alike, "
            "so these intervals are too narrow, and leaks are larger patient by patient."
        )
    if isinstance(f.controls.blind, Skipped) and "column text" in f.controls.blind.reason:
        lines.append(
            "Add the texts (a column text) for the control that sees words and no model; they are "
            "not shown."
        )
    if all(threshold.kind != "population" for threshold in f.samples.thresholds):
        lines.append(
            "Add samples of a population that is not judged (1 in a column population): an "
            "attacker has to take thresholds from such samples."
        )
    return tuple(lines)
