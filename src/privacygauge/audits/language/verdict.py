"""The verdict on a language model, in words for somebody who has to decide about it."""

from __future__ import annotations

from privacygauge.audits.language.found import ControlFinding, LanguageAudit, UnitFindings
from privacygauge.core.estimate import Skipped
from privacygauge.report import direction
from privacygauge.report.attacks.verdict import Judged, judged
from privacygauge.report.grades import LARGE, NONE, SMALL, UNTOLD, accuracy_gauge, gravest, scale_of
from privacygauge.report.numbers import count, decimal_estimate, fixed, percent, plain, rate
from privacygauge.report.values import Grade, Verdict

_HONEST = (
    "Draw the non-members again: at random from the notes that the model is to learn from, before "
    "it is trained, all notes of a patient on one side; or deal by fair coins. Then audit again.",
    "This audit supports no decision about a release: it shows neither a leak nor its absence.",
)
_REPEAT = (
    "Repeat the audit whenever the data, the training or the release changes, and keep this "
    "report with the release."
)


def verdict(f: LanguageAudit) -> Verdict:
    """Return the verdict on a language model.

    Parameters
    ----------
    f : LanguageAudit

    Returns
    -------
    Verdict
        It cannot be told where a control fires. Otherwise the graver of two: of the attacks on
        samples and of those on patients, each graded as in an audit of attacks. Either errs to
        one side with at most half of what the level allows. It cannot be told either where
        neither finds a leak, but one of them takes members for non-members.
    """
    if f.controls.void:
        return Verdict(
            UNTOLD, scale_of(UNTOLD), _dishonest(f), _void(f), _honest(f), advice(f, UNTOLD)
        )
    unit, found = leading(f)
    grade = found.grade
    if grade == UNTOLD:
        return direction.verdict(found.sentences)
    own, headline, several = found.sentences, found.headline, len(f.units) > 1
    sentences = (
        *((_by(unit.unit, own[0]), *own[1:]) if several else own),
        *(_beside(other) for other in f.units if other is not unit),
        _checked(f),
        *_drawn(f),
        *_to_whom(grade),
    )
    if several and grade != NONE:
        headline += f", {unit.unit} by {unit.unit}"
    gauge = accuracy_gauge(
        f"the strongest attack, {unit.unit} by {unit.unit}", f.attacks(unit).headline.reached
    )
    return Verdict(
        grade, scale_of(grade), headline, sentences, _unsaid(grade), advice(f, grade), gauge
    )


def leading(f: LanguageAudit) -> tuple[UnitFindings, Judged]:
    """Return what the verdict speaks of, samples or patients, and what the attacks showed there."""
    found = [(unit, judged(f.attacks(unit))) for unit in f.units]
    grade = gravest(x.grade for _, x in found)
    return next((unit, x) for unit, x in found if x.grade == grade)


def _dishonest(f: LanguageAudit) -> str:
    return (
        f"The test is not honest (fired: {', '.join(f.controls.void)}): members and non-members "
        "differ in more than membership"
    )


def _by(unit: str, sentence: str) -> str:
    return f"{unit.capitalize()} by {unit}, {sentence[:1].lower()}{sentence[1:]}"


def _beside(unit: UnitFindings) -> str:
    best = unit.headline
    return (
        f"{unit.unit.capitalize()} by {unit.unit}, the strongest attack is right "
        f"{percent(best.accuracy.value)} of the time ({percent(best.accuracy.low)} to "
        f"{percent(best.accuracy.high)}; {plain(best.attack.title)})."
    )


def _checked(f: LanguageAudit) -> str:
    """Return what the controls say where none fires."""
    names = [name for name, _ in f.controls.played]
    if not names:
        return (
            "Whether members and non-members differ in more than membership was not checked: what "
            "looks like a leak may be such a difference."
        )
    told = f"The {'control' if len(names) == 1 else 'controls'} ({', '.join(names)}) found no "
    told += "difference between members and non-members beside membership"
    told += " and their numbers of texts" if "sizes" in f.controls.fired else ""
    reference = f.controls.reference
    if not isinstance(reference, Skipped):
        told += (
            f": a model that saw none of them puts {percent(reference.auc.value)} of the pairs in "
            f"the right order ({percent(reference.auc.low)} to {percent(reference.auc.high)}; "
            "guessing gives 50%)"
        )
    return f"{told}. A small difference may go unnoticed."


def _drawn(f: LanguageAudit) -> tuple[str, ...]:
    """Return what coins say where no control fires."""
    if f.one_run is None:
        return ()
    found = f.one_run.estimate
    shown = f"is at least {fixed(found.low, 2)}" if found.low > 0 else "was not shown to exceed 0"
    return (
        "Fair coins dealt members and non-members before the model was trained, so that the test "
        f"is honest by construction. Epsilon of one person {shown}, with {rate(found.level)} "
        f"confidence; so few people could show {fixed(f.one_run.largest, 2)} at most.",
    )


def _against_coins(f: LanguageAudit) -> tuple[str, ...]:
    if f.one_run is None:
        return ()
    return (
        f"Fair coins dealt the sides, so that this comes by chance in at most {rate(1 - f.level)} "
        "of all tests; or the model was not trained on the members as they were dealt.",
    )


def _void(f: LanguageAudit) -> tuple[str, ...]:
    return (
        " ".join((*_reference(f), *_blind(f), *_matched(f), *_against_coins(f)))
        + " So success of the attacks is no evidence of a leak, nor is their failure one of "
        "safety: the numbers below are void as a measure of what was memorised.",
        *_further(f),
    )


def _honest(f: LanguageAudit) -> str:
    return (
        "An honest test takes non-members that were drawn at random from the very notes that the "
        "members come from, before the model was trained, with all notes of a patient on one side. "
        f"The intervals of all controls hold together, with {rate(f.level)} confidence."
    )


def _reference(f: LanguageAudit) -> tuple[str, ...]:
    found = f.controls.reference
    if isinstance(found, Skipped) or not found.fires:
        return ()
    return (
        "The reference model, which saw none of the samples, tells members and non-members apart "
        f"(AUC {_area(found)}; guessing gives 0.5).",
    )


def _area(found: ControlFinding) -> str:
    return f"{fixed(found.auc.value, 3)}, {decimal_estimate(found.auc).interval}"


def _blind(f: LanguageAudit) -> tuple[str, ...]:
    found = f.controls.blind
    if isinstance(found, Skipped) or not found.fires:
        return ()
    return (
        "A classifier that sees the words and no model tells members and non-members apart (AUC "
        f"{_area(found)}; guessing gives 0.5).",
    )


def _matched(f: LanguageAudit) -> tuple[str, ...]:
    found = f.controls.matched
    if isinstance(found, Skipped) or not found.fires:
        return ()
    return (
        f"Among samples that the reference model finds equally hard, the AUC of the "
        f"{f.energies.signal} attack goes from {fixed(found.before, 3)} to "
        f"{fixed(found.after.value, 3)}: that difference comes from the samples, not from what "
        "the model memorised.",
    )


def _further(f: LanguageAudit) -> tuple[str, ...]:
    """Return what is left of the attack after matching."""
    found = f.controls.matched
    if isinstance(found, Skipped) or found.after.low <= 0.5:
        return ()
    after = f"{fixed(found.after.value, 3)}, {decimal_estimate(found.after).interval}"
    return (
        f"After matching, the {f.energies.signal} attack still tells them apart (AUC {after}). "
        "That is no proof, since matching removes only what the reference model sees, but treat "
        "the model as leaking until an honest test shows otherwise.",
    )


def _to_whom(grade: Grade) -> tuple[str, ...]:
    if grade == NONE:
        return ()
    return (
        "It matters to the people behind the texts: whoever holds a note about somebody can check "
        "whether the model was trained on it, which alone may say where they were treated, and "
        "for what.",
    )


def _unsaid(grade: Grade) -> str:
    if grade == NONE:
        return (
            "It does not say that nothing leaks, nor that a stronger attack, or an attacker with a "
            "better reference model, would do no better."
        )
    return (
        "It does not say that texts can be read out of the model, nor that a stronger attack would "
        "do no better. It speaks of the average; single people may be more or less exposed."
    )


def measured_on(f: LanguageAudit) -> str:
    """Return how many samples and patients were judged, in words."""
    told = f"{count(f.samples.n_in)} members, {count(f.samples.n_out)} non-members"
    if isinstance(f.patients, Skipped):
        return f"{told} (samples)"
    return f"{told} (samples) of {count(f.patients.n_in)} and {count(f.patients.n_out)} patients"


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
