"""The report of an audit of a language model: its numbers, sections and words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.language.audit.verdict import LanguageResult, leading, measured_on, verdict
from privacygauge.language.controls import ControlFinding, MatchedAttack
from privacygauge.language.units import ThresholdFinding, UnitFindings
from privacygauge.report.attacks import measures, plots, records, tables
from privacygauge.report.attacks.records import RECORDS, Riskiest, roc_frame
from privacygauge.report.attacks.tables import MEANINGS, interval, terms
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    rounded_down,
    shorten,
)
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    Content,
    DataFrame,
    Heading,
    Json,
    Measure,
    Plot,
    Report,
    Section,
    Table,
    Worst,
    estimate_dict,
    frame,
    names_of,
    note,
    pick_values,
    table,
    text,
)

# Sections of the page on a language model, and its tables for a terminal.

_RATES = (0.1, 0.01)
"""False-positive rates of the smaller tables of attacks."""

_FIRES = "FIRES"
"""Mark of a control that tells members from non-members."""

_LOG = (
    "How many members an attack finds (up) for how many false alarms (right), enlarged at few "
    "false alarms: a curve far above the dotted diagonal on the left gives some members away "
    "almost for certain."
)


def overview(f: LanguageResult) -> Iterator[Table]:
    """Yield the tables of a terminal below the numbers."""
    area = f"AUC ({rate(f.level)} interval)"
    yield table(
        "areas",
        "Areas under the ROC curves",
        [
            {"Attack": e.title, area: decimal_estimate(e.auc)}
            for unit in f.units
            for e in unit.signals
        ],
        f"Judged: {measured_on(f)}.",
        prose=("Attack",),
    )
    rows = list(_control_rows(f))
    yield table(
        "controls-in-short",
        "Controls",
        [
            {"Control": x["Control"], "AUC, or its fall": x["Value"], "Says": x["Says"]}
            for x in rows
        ],
        prose=("Control", "Says"),
        spare=("AUC, or its fall",),
        best=[x["Says"] == _FIRES for x in rows],
    )
    # Asked and realised rate, precision and recall of every threshold.
    for unit in f.units:
        yield table(
            f"thresholds-by-{unit.unit}",
            f"Thresholds, {unit.unit} by {unit.unit}",
            [
                {
                    f"\nBy {unit.unit}": f"{e.name} ({t.kind})",
                    "FPR\nasked": DASH if t.asked is None else rate(t.asked),
                    "FPR\nrealised": percent_estimate(t.realised, 1),
                    "\nPrecision": DASH
                    if isinstance(e.precision, Skipped)
                    else percent(e.precision.value),
                    "\nRecall": percent(e.recall.value),
                }
                for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
            ],
            prose=(f"\nBy {unit.unit}",),
            spare=("FPR\nrealised",),
        )


def riskiest(f: LanguageResult) -> Riskiest:
    """Return the members' samples with the highest scores."""
    return records.riskiest_records(f.records, f.energies.signal, f.energies.score, members=True)


def _control_rows(f: LanguageResult) -> Iterator[dict[str, Content]]:
    yield _control(
        "Reference model alone",
        f.controls.reference,
        "AUC of the energies under a model that saw none of the samples; 0.5 in an honest test",
    )
    yield _control(
        "Spread under the reference model",
        f.controls.spread,
        "AUC of how far a sample's energy under that model is from the middle; 0.5 in an honest "
        "test",
    )
    yield _control(
        "Words alone",
        f.controls.blind,
        "AUC of a classifier that sees the words and no model, on people that it did not learn "
        "from; at most 0.5 in an honest test, but for chance",
    )
    yield _control(
        "Form alone",
        f.controls.form,
        "AUC of a classifier that sees how the texts are written (case, digits, punctuation, white "
        "space, order of words, beginnings and ends) and no model; at most 0.5 in an honest test, "
        "but for chance",
    )
    matched = f.controls.matched
    fall = ""
    if not isinstance(matched, Skipped):
        fall = (
            f"Fall of the AUC of {f.energies.signal}, from {decimal(matched.before, 3)} to "
            f"{decimal_estimate(matched.after)} among samples that the reference model finds "
            "equally hard; 0 in an honest test"
        )
    yield _control("Attack after matching", matched, fall)
    yield _control(
        "Number of texts alone",
        f.controls.sizes,
        "AUC of how many texts a patient has; 0.5 where both sides were drawn alike. The numbers "
        "stand even if it fires: patients are compared on equally many texts",
    )


def _control(
    name: str, found: ControlFinding | MatchedAttack | Skipped, text: str
) -> dict[str, Content]:
    value: Content = DASH
    if isinstance(found, Skipped):
        says = "not played"
        text = f"Not played: {found.reason}"
    else:
        value = decimal_estimate(found.fall if isinstance(found, MatchedAttack) else found.auc)
        says = _FIRES if found.fires else "quiet"
    return {"Control": name, "Value": value, "Says": says, "What it is": text}


def _thresholds_of(unit: UnitFindings, name: str, title: str) -> Table:
    return table(
        name,
        title,
        [
            {
                "Attack": Cell(e.name, (t.kind,)),
                "False positives asked for": DASH if t.asked is None else rate(t.asked),
                "Realised": Cell(
                    percent_estimate(t.realised, 1), tags=() if t.kept else ("differs",)
                ),
                "Members found (recall)": percent_estimate(e.recall, 1),
                "Right when it says \u201cmember\u201d (precision)": percent_estimate(
                    e.precision, 1
                ),
                "Taken from": count(t.n),
            }
            for t, e in zip(unit.thresholds, unit.evaluations, strict=True)
        ],
    )


def _patients(f: LanguageResult) -> Iterator[Block]:
    unit = f.patients
    if isinstance(unit, Skipped):
        yield text(f"Not played: {unit.reason}.")
        return
    yield text(
        "The score of a patient is the mean over the patient's samples. A claim about privacy is "
        "about people: this is what somebody who holds several notes of a person can tell."
    )
    sizes = f"{count(unit.n_in)} members and {count(unit.n_out)} non-members"
    title = f"How well each attack did on {sizes}"
    best = unit.headline.attack.title
    yield tables.main_table(
        unit.evaluations, best, name="patients", title=title, fprs=_RATES, epsilon=False
    )
    yield _thresholds_of(unit, "patient-thresholds", "Thresholds, patient by patient")
    if unit.notes:
        yield note(*unit.notes)
    yield Heading("Patients most at risk")
    yield text(
        "Members by falling mean score, named by id. A high score alone is no proof: the false "
        "positives above say how often it misleads."
    )
    assert f.rows is not None
    rows = f.rows
    yield table(
        "worst",
        "Patients by falling mean score",
        [
            {
                "Patient": shorten(rows.names[i]),
                "Mean score": decimal(float(rows.score[i]), 3),
                "Samples": count(int(rows.samples[i])),
            }
            for i in rows.order[:RECORDS].tolist()
        ],
        at_once=10,
    )


def _lengths(f: LanguageResult) -> Iterator[Block]:
    if not f.lengths:
        yield text("Not looked at; the reason is below.")
        return
    yield text(
        "The same attacks on samples of some lengths alone, with thresholds taken from samples of "
        "those lengths. Each table holds individually."
    )
    for part in f.lengths:
        which = f"{part.name.capitalize()} samples ({part.fewest} to {part.most} tokens)"
        title = f"{which}, {count(part.n_in)} members and {count(part.n_out)} non-members"
        # Marked in every table is the attack of the verdict, not the best one of the table.
        best = f.headline.attack.title
        yield tables.main_table(
            part.evaluations,
            best,
            name=f"length-{part.name}",
            title=title,
            fprs=_RATES,
            epsilon=False,
        )


def report(f: LanguageResult) -> Report:
    """Return the report, as plain values."""
    # The first sentence of the page, for readers who go no further.
    void = (
        "A control fired: the numbers of the attacks are void as a measure of what the model "
        "memorised. "
    )
    # Texts are named by id unless they were asked for.
    highest = riskiest(f)
    hidden = "" if f.records.contents else "; their texts are not in this file"
    riskiest_samples = (
        text(f"Members by falling score of {highest.by}, named by id{hidden}."),
        records.table(
            highest,
            "Samples by falling score",
            heads=("Sample", "Score"),
            attacks="",
            whole=True,
        ),
        note(
            f"{count(len(highest.rows))} of {count(highest.n)} members' samples are shown; all "
            "judged samples are in records.parquet."
        ),
    )
    # Without patients the register names the texts themselves.
    if f.rows is None:
        worst = replace(highest.worst, what="texts")
    else:
        listed = f.rows.order[:RECORDS].tolist()
        worst = Worst("patients", tuple(f.rows.names[i] for i in listed))
    # The page below the numbers.
    game = tables.game(
        f.game,
        adversary="The adversary",
        thresholds="Thresholds were taken",
        targets=("Judged", measured_on(f)),
    )
    questions = measures.questions_section(f.questions)
    on_thresholds = text(
        "A threshold is chosen for a rate of false positives. What it gives on the judged "
        "non-members may differ, and precision and recall hold for what it gives. An oracle "
        "threshold is taken from those very non-members: no attacker has it, but published tables "
        "are often of that kind."
    )
    thresholds = (on_thresholds, _thresholds_of(f.samples, "thresholds", "Sample by sample"))
    on_controls = text(
        "If members and non-members differ in more than membership, such as topic or style, an "
        "attack tells them apart without any leak. Controls that never saw what the model "
        "memorised look for such differences. Their intervals hold together at "
        f"{rate(f.level)}: in an honest test all of them stay quiet that often. Silence does not "
        "prove that there is no difference."
    )
    rows = list(_control_rows(f))
    fired = [x["Says"] == _FIRES for x in rows]
    controls = table("controls", "Controls", rows, prose=("Says", "What it is"), best=fired)
    # The keys of `report.json` that only this kind of report has; texts are not in it.
    # `attacks` are those on samples; those on patients are under `patients`, and those on
    # short and long samples under `lengths`.
    c = f.controls
    played = (
        ("reference", c.reference),
        ("spread", c.spread),
        ("blind", c.blind),
        ("form", c.form),
        ("sizes", c.sizes),
    )
    found = {
        name: estimate_dict(x)
        if isinstance(x, Skipped)
        else pick_values(x, "auc", "fires", "meaning")
        for name, x in played
    }
    if isinstance(c.matched, Skipped):
        matched = estimate_dict(c.matched)
    else:
        values = pick_values(c.matched, "before", "after", "fall", "kept", "n_bins", "fires")
        matched = {"attack": f.energies.signal, **values}
    names = [e.name for e in f.samples.signals if e.name in _OF_SIGNALS]
    together = " Here it is for all samples of a patient together."
    if isinstance(f.patients, Skipped):
        patients_data = estimate_dict(f.patients)
    else:
        assert f.rows is not None
        patients_data = {
            **pick_values(f.patients, "n_in", "n_out"),
            "headline": measures.headline_data(f.patients.headline),
            "attacks": [measures.attack_data(e) for e in f.patients.evaluations],
            "thresholds": [_threshold(x) for x in f.patients.thresholds],
            "worst": [
                {
                    "group": f.rows.names[i],
                    "samples": int(f.rows.samples[i]),
                    "score": float(f.rows.score[i]),
                }
                for i in f.rows.order[:RECORDS].tolist()
            ],
            "notes": list(f.patients.notes),
        }
    curves: list[Plot] = []
    signals = f.samples.signals
    headline = plain(f.headline.attack.name)
    # Logarithmic axes first: a leak of a few people shows only at few false alarms.
    curves.append(plots.roc_log(signals, caption=_LOG))
    curves.append(
        plots.roc(signals, caption="The same on plain axes. The dotted diagonal is guessing.")
    )
    if not isinstance(f.patients, Skipped):
        title = "ROC curves, patient by patient"
        curves.append(
            plots.roc_log(f.patients.signals, name="roc-patients", title=title, caption=_LOG)
        )
    words = f"The scores of {headline} for members and non-members. {plots.areas(signals)}"
    curves.append(plots.scores(f.headline.attack, title=headline, words=words, wide=False))
    return Report(
        "language",
        "A language model, from energies of texts",
        about=About(
            "A language model",
            f"Somebody who holds a text about a person guesses: {f.game.question}",
            f.game.adversary,
            "membership-inference",
        ),
        intro=f"{void if f.controls.void else ''}Sample by sample, of the strongest attack, "
        f"{f.headline.attack.title}, on {measured_on(f)}. Small figures are {rate(f.level)} "
        "intervals.",
        origin=f.origin,
        verdict=verdict(f),
        measures=(*_highest_measures(f), *_cards(f)),
        sections=(
            Section("controls", "Is the test honest?", (on_controls, controls)),
            Section("game", "What was played", (game,), "The game"),
            tables.section(f.attacks(f.samples)),
            Section("thresholds", "Thresholds", thresholds),
            Section("patients", "Patient by patient", tuple(_patients(f)), "Patients"),
            *(() if questions is None else (questions,)),
            *(() if f.slices is None else (measures.groups_section(f.slices),)),
            Section("lengths", "Short and long samples", tuple(_lengths(f)), "Short and long"),
            Section("curves", "Curves", tuple(curves)),
            Section("records", "The riskiest samples", riskiest_samples, "Riskiest samples"),
        ),
        terms={
            **_OF_TEXTS,
            **dict(_OF_SIGNALS[name] for name in names),
            **_OF_THRESHOLDS,
            "Epsilon": f"{MEANINGS['Epsilon']}{together if f.energies.of_people else ''}",
            "Interval": interval(f.level, "texts" if f.energies.by_text else "patients"),
        },
        worst=worst,
        data={
            "controls": {
                "honest": not c.void if c.played else None,
                "fired": list(c.fired),
                "reference": found["reference"],
                "spread": found["spread"],
                "blind": found["blind"],
                "form": found["form"],
                "matched": matched,
                "sizes": found["sizes"],
            },
            **measures.attacks_data(f.attacks(f.samples)),
            **measures.questions_data(f.questions),
            **({} if f.slices is None else {"slices": measures.groups_data(f.slices)}),
            "thresholds": [_threshold(x) for x in f.samples.thresholds],
            "patients": patients_data,
            "lengths": [
                {
                    **pick_values(x, "name", "fewest", "most", "n_in", "n_out"),
                    "attacks": [measures.attack_data(e) for e in x.evaluations],
                }
                for x in f.lengths
            ],
            "risk": {"skipped": "needs shadow records with known membership"},
        },
        frames={
            "records.parquet": lambda: records_frame(f),
            "roc.csv": lambda: roc_frame(tuple(e for unit in f.units for e in unit.signals)),
        },
        nothing_left_out="Nothing: every attack and every control was played.",
        overview=tuple(overview(f)),
        sources="The attack: Mireshghallah, Goyal, Uniyal, Berg-Kirkpatrick and Shokri, "
        "Quantifying Privacy Risks of Masked Language Models Using Membership Inference Attacks "
        "(2022).",
    )


def _highest_measures(f: LanguageResult) -> Iterator[Measure]:
    """Yield the highest numbers over all attacks; first the one in the verdict.

    The verdict is about the graver of samples and patients: either may err at the audit's level.
    """
    accuracy, *others = measures.highest(f.attacks(f.samples))
    # Questions that were not played keep the labels and the guessing rate of samples.
    unit = f.samples if isinstance(f.patients, Skipped) else f.patients
    by_name = {x.name: x for x in measures.highest(f.attacks(unit))}
    by_patient, area_by_patient = (
        replace(by_name[name], name=f"patient-{name}", label=f"{by_name[name].label}, by patient")
        for name in ("accuracy", "auc")
    )
    if isinstance(f.patients, Skipped):
        missing = percent_estimate(f.patients)
        by_patient = replace(by_patient, found=f.patients, shown=missing)
        area_by_patient = replace(area_by_patient, found=f.patients, shown=missing)
    by_sample = replace(accuracy, looks=len(f.units))
    by_patient = replace(by_patient, looks=len(f.units))
    if not f.controls.void and leading(f)[0] is not f.samples:
        yield from (by_patient, by_sample, *others, area_by_patient)
    else:
        yield from (by_sample, *others, area_by_patient, by_patient)
    # The bound on epsilon that coins allow, person by person.
    name = "patient-epsilon"
    label = "Epsilon of one person is at least"
    if f.one_run is None:
        reason = "needs the coins that dealt the people: `privacygauge language split` writes them"
        none = Skipped("epsilon, person by person", reason)
        yield Measure(name, label, none, decimal_estimate(none), card=False)
        return
    bound = f.one_run.estimate
    most = decimal(f.one_run.largest, 2)
    yield Measure(
        name,
        label,
        bound.low,
        Shown(rounded_down(bound.low)),
        text="From one training: everybody had a fair coin. A smaller epsilon cannot be claimed. "
        f"So many coins could show {most} at most.",
        guessing="0",
        level=bound.level,
    )


def _cards(f: LanguageResult) -> Iterator[Measure]:
    """Yield the headline numbers; a control that fires comes first."""
    # A control that fires stands before the numbers that it voids, a quiet one after them.
    first, *others = measures.cards(f.attacks(f.samples))
    reference = f.controls.reference
    control = []
    if not isinstance(reference, Skipped):
        measure = Measure(
            name="control-reference",
            label="Control: reference model alone",
            found=reference.auc,
            shown=decimal_estimate(reference.auc),
            note="it FIRES: the test is not honest" if reference.fires else "quiet",
            text="AUC of a model that saw no member; 0.5 if the test is honest.",
            guessing="0.5",
            gate=False,
        )
        control.append(measure)
    if f.controls.void:
        yield from control
    label = "Right guesses, sample by sample"
    yield replace(first, label=label, note=f"by {f.headline.attack.title}")
    if not isinstance(f.patients, Skipped):
        best = f.patients.headline
        yield Measure(
            name="strongest-patient-accuracy",
            label="Right guesses, patient by patient",
            found=best.accuracy,
            shown=percent_estimate(best.accuracy),
            note=f"by {best.attack.title}",
            text="By the mean over a patient's samples. Guessing gives 50%. Balanced accuracy.",
            guessing=measures.GUESSING,
            gate=False,
        )
    for card in others:
        # All samples of a patient are in or out together.
        whole = card.name == "epsilon" and f.energies.of_people
        together = "Of all samples of a patient together. " if whole else ""
        yield replace(card, text=f"{together}{card.text}")
    if not f.controls.void:
        yield from control


def records_frame(f: LanguageResult) -> DataFrame:
    """Return one row per judged sample.

    Columns: ``sample``, ``group`` and ``energy_reference`` (missing where not given),
    ``energy_target``, ``score`` (the likelihood ratio, or the loss without a reference; higher
    means more likely a member), ``member``, and ``guess:TITLE`` of every attack.
    """
    import pandas as pd

    energies = f.energies
    n = len(f.records.member)
    group = pd.array([None] * n if energies.group is None else list(energies.group), "string")
    reference = np.full(n, np.nan) if energies.reference is None else energies.reference
    return frame(
        {
            "sample": names_of(f.records.ids),
            "group": group,
            "energy_target": energies.target,
            "energy_reference": reference,
            "score": energies.score,
            "member": f.records.member,
            **{f"guess:{title}": guess for title, guess in f.records.guesses.items()},
        }
    )


def _threshold(found: ThresholdFinding) -> Json:
    return {
        **pick_values(found, "attack", "kind", asked_fpr="asked", realised_fpr="realised"),
        **pick_values(found, "kept", "score", "n"),
    }


_OF_SIGNALS = {
    "zlib": (
        "Zlib",
        "The loss over the length of the compressed text, since repetitive texts are likely to "
        "every model.",
    ),
    "min-k": (
        "Min-k",
        "How likely the model finds the 20% least likely tokens of a text: one that was not learnt "
        "holds a few that surprise.",
    ),
    "min-k++": (
        "Min-k++",
        "The same, where every token is compared with what else the model might have said in its "
        "place.",
    ),
    "ez-mia": (
        "Ez-mia",
        "Of the tokens that the model would not have guessed first: how much likelier some are to "
        "it than to the reference, as a share of all such differences in either direction.",
    ),
    "wbc": (
        "Wbc",
        "The share of windows of 2 to 40 neighbouring tokens that are likelier to the model than "
        "to the reference.",
    ),
    "length-calibrated": (
        "Length-calibrated",
        "The likelihood ratio, or the loss without a reference, beside what texts of such a length "
        "have in the population.",
    ),
    "dc-pdd": (
        "Dc-pdd",
        "How likely the tokens of a text are to the model, where common tokens of the population "
        "count little.",
    ),
    "learned": (
        "Learned",
        "A classifier on the token log-probabilities of a text, which has learnt from other "
        "people's texts.",
    ),
    "recall": (
        "Recall",
        "How much less likely the model finds a text after texts that are not judged: what it has "
        "learnt loses more.",
    ),
}
"""Signals that occur in some audits only."""

_OF_TEXTS = {
    "Sample, patient": "A text that is asked about, and the person whom several of them belong to. "
    "Intervals count patients, since the samples of one patient are alike.",
    "Member": "A sample that the audited model was trained on. Non-members were not.",
    "Energy": "How unlikely a model finds a text. The lower, the more likely.",
    "Reference model": "A model that saw none of the samples. It says how likely a text is in "
    "general.",
    "Likelihood ratio": "Energy under the reference model minus energy under the audited model: "
    "how much more likely the audited model finds a text than it is in general. Higher means more "
    "likely a member.",
    "Loss": "The audited model's energy alone: a weak attack, for comparison.",
}
_OF_THRESHOLDS = {
    "Population": "Samples that the model was not trained on and that are not judged. Thresholds "
    "are taken there, as an attacker has to.",
    "Oracle": "A threshold that is taken from the judged non-members themselves. No attacker has "
    "it.",
    "Mean-train": "The threshold at the mean of the members' own values.",
    "Control": "Something that never saw what the model memorised. If it tells members from "
    "non-members, they differ in more than membership, and the test is not honest.",
    "Right guesses": "Balanced accuracy: the share of right guesses, where members and non-members "
    "count the same. Guessing gives 50%.",
    "TPR, FPR": "The share of the members that are found (recall), and the share of the "
    "non-members that are taken for members.",
    **terms("\N{DAGGER} dagger", "ROC, AUC"),
    "Precision": "The share of members among those called members, if half of those asked about "
    "are members. Where fewer of them are, it is lower.",
}
