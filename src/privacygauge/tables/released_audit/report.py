"""The report of an audit of a released table: its numbers, words and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.report.attacks.measures import (
    attacks_data,
    of_questions,
    questions_data,
    questions_section,
)
from privacygauge.report.attacks.plots import roc, roc_log
from privacygauge.report.attacks.records import Riskiest, records_frame, riskiest_records, roc_frame
from privacygauge.report.attacks.tables import interval, overview, terms
from privacygauge.report.attacks.tables import section as attacks
from privacygauge.report.grades import UNTOLD, advantage_of, right_of
from privacygauge.report.numbers import Shown, count, lower_bound_text, percent_estimate, rate
from privacygauge.report.numbers import decimal_estimate as decimal
from privacygauge.report.values import (
    About,
    Json,
    Measure,
    Report,
    Section,
    Worst,
    pick_values,
    text,
    values_of,
)
from privacygauge.tables.released.copies import NO_EVIDENCE
from privacygauge.tables.released.hits import furthest_beyond
from privacygauge.tables.released_audit import sections
from privacygauge.tables.released_audit.result import ReleasedResult, no_control, risk_name
from privacygauge.tables.released_audit.verdict import ABSENT, verdict

if TYPE_CHECKING:
    import pandas as pd

_UNKNOWN = "not known: without a holdout there is nothing to compare with"

_COMPARED = ("accuracy", "auc", "epsilon", "worst-records", "furthest", "beyond")
"""Measures that rest on the holdout."""
_COMPARISONS = ("attacks", "curves", "questions", "risks")
"""Sections of the page that rest on the holdout."""
_RISK = ("name", "variant", "meaning", "attack", "control", "baseline", "risk", "outlying", "notes")


def report(f: ReleasedResult) -> Report:
    """Return the report, as plain values."""
    # The real records that the headline's attack is surest of.
    shown = None
    if f.records is not None and f.headline is not None:
        title = f.headline.attack.title
        shown = riskiest_records(f.records, title, f.records.scores[title], members=True)
    told = verdict(f)
    measures = tuple(_measures(f))
    parts = tuple(_sections(f, shown))
    if told.grade == UNTOLD and f.membership is not None:
        # The holdout may be no control: numbers that need one are marked as conditional.
        condition = "if the sides differ in membership alone"
        measures = tuple(
            replace(one, label=f"{one.label}, {condition}") if one.name in _COMPARED else one
            for one in measures
        )
        doubt = text(
            "These numbers hold only if real records and holdout differ in membership alone and "
            "are enough to tell. The verdict says why that is not known here."
        )
        parts = tuple(
            replace(part, blocks=(doubt, *part.blocks)) if part.name in _COMPARISONS else part
            for part in parts
        )
    records = f.records
    frames: dict[str, Callable[[], pd.DataFrame]] = {}
    if records is not None:
        frames["records.parquet"] = lambda: records_frame(records)
        frames["roc.csv"] = lambda: roc_frame(f.evaluations)
    holdout = "; no holdout" if no_control(f) is None else "; the holdout was left out"
    if f.n_holdout:
        holdout = (
            f", beside {count(f.n_holdout)} of the holdout, which the generator did not learn from"
        )
    return Report(
        "released-table",
        "Audit of a released synthetic table",
        about=About(
            f"A released table of {count(f.n_synthetic)} synthetic records",
            "Somebody who has the released table tries to tell who was among the real records, to "
            "single people out, to link what is known about them, and to infer the rest.",
            "sees the released table" if isinstance(f.game, Skipped) else f.game.adversary,
            "membership-inference",
        ),
        intro=f"{count(f.n_synthetic)} synthetic rows, made from {count(f.n_real)} real records"
        f"{holdout}. Small figures are {rate(f.level)} "
        "intervals.",
        origin=f.origin,
        verdict=told,
        measures=measures,
        sections=parts,
        terms=_terms(f),
        worst=Worst(reason=_why_none(f)) if shown is None else shown.worst,
        data=_data(f),
        frames=frames,
        nothing_left_out="Nothing: every part of the suite was played.",
        overview=(
            *(() if f.membership is None else (overview(f.membership),)),
            *((sections.overview(f),) if f.risks else ()),
        ),
        sources="The three risks: Article 29 Working Party, opinion 05/2014 on anonymisation "
        "techniques.",
    )


def _sections(f: ReleasedResult, shown: Riskiest | None) -> Iterator[Section]:
    yield Section("game", "Who was in the data", tuple(sections.game(f)))
    if f.membership is not None:
        yield attacks(f.membership)
        curves = roc(f.evaluations, title="ROC curves of the membership attacks")
        yield Section("curves", "Curves", (curves, roc_log(f.evaluations)))
    asked = f.questions
    if asked is not None and asked.tail is not None:
        # The page counts these people once, however they were found.
        asked = replace(asked, tail=replace(asked.tail, exposed=f.n_exposed))
    questions = questions_section(asked)
    yield from () if questions is None else (questions,)
    yield Section("risks", "The three risks", tuple(sections.risks(f)))
    yield Section("copies", "Copies", tuple(sections.copies(f)))
    near = tuple(sections.closest(f))
    yield Section("closest", "Distances to the closest record", near, "Distances")
    yield Section("use", "What the table is good for", tuple(sections.utility_section(f)), "Use")
    if f.changes:
        tried = tuple(sections.changes_section(f))
        yield Section("changes", "What changes would do", tried, "Changes")
    if shown is not None:
        risky = tuple(sections.records(shown))
        yield Section("records", "The riskiest records", risky, "Riskiest records")
    yield Section("measured", "How it was measured", tuple(sections.method_section(f)))


def _measures(f: ReleasedResult) -> Iterator[Measure]:
    if not f.n_holdout:
        # Copies stand for the audit, since nothing is known to go beyond chance.
        yield _copies(f)
    yield _beyond(f)
    yield from _of_attacks(f)
    # The number of exposed records, and the detectable number; groups are not searched.
    copied = f.n_copied
    by_copies = Measure(
        "worst-records",
        "Members that stand out, at least",
        float(copied),
        Shown(count(copied)),
        text="Real records that are copied, whole or in what next to nobody shares with them.",
        guessing="0",
        card=True,
    )
    if f.membership is None:
        no = _why_none(f)
        yield by_copies if copied else _none("worst-records", by_copies.label, no)
        yield _none("detectable", "Least right guesses that would have been found", no)
    else:
        for one in of_questions(f.membership):
            more = f.questions is not None and copied > f.questions.exposed
            if one.name == "worst-records" and more:
                yield by_copies
            elif one.name == "worst-records" and not f.control:
                yield replace(one, text=f"{one.text}{_void_note(f)}")
            elif one.name != "worst-group":
                yield one
    found = f.worst
    risk = f.furthest_from_baseline
    if found is not None:
        yield Measure(
            name="furthest",
            label="Furthest beyond its control",
            found=found.beyond,
            shown=percent_estimate(found.beyond),
            note=risk_name(found.risk),
            text=(
                "Share of what the control left open. 0% is no leak. The interval allows for "
                f"{f.corrected.looks} looks."
                f"{' What an attack without the table knows is left out.' if f.differs else ''}"
            ),
            guessing="0%",
            gate=False,
        )
    elif risk is not None:
        yield Measure(
            name="furthest",
            label=f"{sections.KINDS[risk.name]}, on real records",
            found=risk.attack,
            shown=percent_estimate(risk.attack),
            note=risk_name(risk),
            text=(
                f"The baseline achieves {percent_estimate(risk.baseline)}. How much of it is a "
                "leak cannot be told."
            ),
            guessing=_UNKNOWN,
            gate=False,
        )
    if f.n_holdout:
        yield _copies(f)
    # The highest value and lower end of all forms of each risk, beyond their controls. The most
    # outlying records are too few for the value: their lower end counts in `beyond`.
    for name, title in sections.KINDS.items():
        forms = [
            one.risk
            for one in f.risks
            if one.name == name and not one.outlying and one.risk is not None
        ]
        label = f"{title}, beyond its control"
        if not forms:
            yield _none(name, label, "there was nothing to compare")
            continue
        best = max(forms, key=lambda x: x.value)
        best = replace(best, low=max(x.low for x in forms), high=max(x.high for x in forms))
        yield Measure(name, label, best, percent_estimate(best), guessing="0%", card=False)


def _beyond(f: ReleasedResult) -> Measure:
    """Return the largest excess over chance: all on the scale of an advantage."""
    label = "Beyond the holdout's"
    if no_control(f) is not None and not f.n_holdout:
        # What needs no holdout may be far less than what one would have shown.
        return _none("beyond", label, _why_none(f))
    found: dict[str, Estimate] = {}
    found |= f.corrected.needs_no_control
    if f.trusted.copies is not None:
        found["Real records copied, beyond the holdout's"] = f.trusted.copies
    if f.headline is not None:
        reached = f.headline.reached
        by = ", at least, by its ranking" if reached.by_ranking else ""
        if f.advantage_beyond is not None:
            found[f"Advantage of the strongest membership attack{by}"] = f.advantage_beyond
    if f.filtered is not None:
        found[ABSENT] = advantage_of(f.filtered.auc)
    if f.worst is not None:
        found[f"Success at {risk_name(f.worst.risk)}, beyond the holdout's"] = f.worst.beyond
    if not found:
        return _none("beyond", label, _why_none(f))
    label, beyond = max(found.items(), key=lambda pair: furthest_beyond(pair[1]))
    return Measure(
        "beyond",
        label,
        beyond,
        percent_estimate(beyond),
        guessing="0%: nothing is true of the real records more often than of other people",
        # The attacks on membership, and all the others together, stand at the audit's level each.
        looks=1 if f.headline is None else 2,
        card=False,
    )


def _why_none(f: ReleasedResult) -> str:
    """Return why nothing was compared with a holdout."""
    return "there was no holdout" if no_control(f) is None else "the holdout was left out"


def _none(name: str, label: str, reason: str) -> Measure:
    skipped = Skipped(label, reason)
    return Measure(name, label, skipped, percent_estimate(skipped), card=False)


def _of_attacks(f: ReleasedResult) -> Iterator[Measure]:
    order = "Pairs put in the right order"
    bound = "Epsilon is at least"
    no = _why_none(f)
    if f.headline is None:
        yield _none("accuracy", "Right guesses about membership", no)
        yield _none("auc", order, no)
        yield _none("epsilon", bound, no)
        return
    best = f.headline.attack
    epsilon = f.headline.epsilon
    reached = f.headline.reached
    yield Measure(
        name="accuracy",
        label=f"{right_of(reached)} about membership",
        found=reached.accuracy,
        shown=percent_estimate(reached.accuracy),
        note=f"by {best.title}",
        text=(
            "Members and non-members equally often, by the strongest attack. Guessing gives 50%. "
            f"The interval allows for {len(f.evaluations)} attacks.{_void_note(f)}"
        ),
        guessing="50%",
    )
    told = f"A member scored above a non-member. Guessing gives 0.5 (AUC).{_void_note(f)}"
    yield Measure("auc", order, best.auc, decimal(best.auc), text=told, guessing="0.5")
    if f.blind is not None:
        yield Measure(
            "blind",
            "Right order without the table",
            f.blind.auc,
            decimal(f.blind.auc),
            text="The same by an attack that never sees the synthetic table. Above 0.5, real "
            "records and holdout may be different people.",
            guessing="0.5",
            gate=False,
        )
    told = (
        f"With {rate(epsilon.level)} confidence: a smaller epsilon of differential privacy cannot "
        f"be claimed. 0 says nothing.{_void_note(f)}"
    )
    yield Measure(
        "epsilon", bound, epsilon, Shown(lower_bound_text(epsilon)), text=told, guessing="0"
    )


def _void_note(f: ReleasedResult) -> str:
    if not f.differs:
        return ""
    return (
        " Holdout and real records differ: a leak is what goes beyond an attack without the table."
    )


def _copies(f: ReleasedResult) -> Measure:
    real = f.copies[0].estimate
    others = percent_estimate(f.copies[1].estimate) if f.n_holdout else None
    return Measure(
        name="copies",
        label="Real records that were copied",
        found=real,
        shown=percent_estimate(real),
        note="" if others is None else f"of the holdout, by chance alone: {others}",
        text="Equal to a synthetic row in every column.",
        guessing=_UNKNOWN if others is None else f"{others}, as of the holdout",
    )


def _terms(f: ReleasedResult) -> dict[str, str]:
    return {
        "Real record, member": "A record that the generator learnt from.",
        "Synthetic table": "Made-up records that resemble the real ones, made by a generator. What "
        "was released.",
        "Holdout, non-member": "Records of the same source that the generator never saw. They show "
        "what an attack achieves without a leak.",
        "Attack, control, baseline": "How often an attempt succeeds on real records, on the "
        "holdout, and without the attack.",
        "Beyond the control": "What the attack achieves on real records more than on the holdout, "
        "as a share of what was left to achieve. 0% is no leak.",
        "Singling out": "A description made from the synthetic table fits exactly one real person.",
        "Linkability": "With the synthetic table, what two sources know is joined to one person.",
        "Inference": "From what is known about a person, the synthetic table tells a further "
        "value.",
        "Interval": interval(f.level),
        **terms("Balanced accuracy"),
        "TPR, FPR": "The share of the members that are found, and the share of the non-members "
        "that are taken for members.",
        **terms("† dagger", "ROC, AUC", "Epsilon"),
        "Bonferroni": "Who looks often finds something by luck. Intervals are widened so that all "
        "of them hold together.",
        "Distance of shares": "Half of the sum of the differences between shares (total "
        "variation): the share of records that would have to change for two tables to agree.",
    }


def _data(f: ReleasedResult) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has.

    ``risk`` is a list of the forms of the three risks, ``changes`` of the changes that were tried.
    Without a holdout there are no attacks, and what needs one is None. Scores and contents of
    single records are not in it.
    """
    pairs = zip(f.risks, f.corrected.risks, f.corrected.points, strict=True)
    used = f.utility if isinstance(f.utility, Skipped) else f.utility.to_dict()
    none = {"game": values_of(f.game), "headline": None, "attacks": []}
    return {
        **pick_values(f, "n_real", "n_synthetic", "n_compared", "n_holdout"),
        **pick_values(f, "overlap", "learnt", "people"),
        "returning": values_of(f.returning),
        **(none if f.membership is None else attacks_data(f.membership)),
        **questions_data(f.questions),
        "blind": None if f.blind is None else pick_values(f.blind, "name", "variant", "auc"),
        "placebo": values_of(f.placebo),
        "drifted": list(f.drifted),
        "risk": [
            {**pick_values(x, *_RISK), "corrected": values_of(beyond), "points": values_of(points)}
            for x, beyond, points in pairs
        ],
        "attempts": {
            **pick_values(f.tried.attempts, "real", "holdout"),
            **pick_values(f.tried, "reached", half_width="asked"),
        },
        "furthest": None
        if f.worst is None
        else {"risk": risk_name(f.worst.risk), **pick_values(f.worst, "beyond")},
        "copies": {
            "facts": values_of(f.copies),
            **pick_values(f.corrected, "alone", "unlikely", beyond="copies", of_rows="rows"),
            "rows": [one.row for one in f.proven],
            "partly": [{"row": one.row, "but for": one.other} for one in f.partly],
            "nearly": [one.row for one in f.nearly],
            "together": None
            if f.together is None
            else {**pick_values(f.together, "expected", "least"), "rows": f.together.rows.tolist()},
        },
        "shared": [
            {"column": one.column, "what": one.what, "rows": one.rows.tolist()}
            for one in f.corrected.shared
        ],
        "crowds": values_of(f.corrected.crowds),
        "order": values_of(f.corrected.order),
        "joined": {column: values_of(one) for column, one in f.corrected.joined},
        "filtered": values_of(f.filtered),
        "closest": {"warning": NO_EVIDENCE, "facts": values_of(f.closest)},
        "utility": values_of(used),
        "changes": values_of(f.changes),
    }
