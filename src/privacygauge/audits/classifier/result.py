"""Findings of audits of a classifier, and their report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.audits.classifier import risk
from privacygauge.audits.classifier.verdict import UnknownSide, verdict
from privacygauge.classifier.attacked import AttackFindings
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.over_targets import Foretold, SeveralTargets
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.evaluate.vulnerability import FALSE_DISCOVERIES, Vulnerability
from privacygauge.report import fairness
from privacygauge.report.attacks import measures, plots, records, tables
from privacygauge.report.attacks.records import Riskiest
from privacygauge.report.attacks.tables import MEANINGS, interval, terms
from privacygauge.report.document import pick_values, values_of
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal,
    decimal_estimate,
    key,
    percent,
    percent_estimate,
    rate,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Axes,
    Block,
    Json,
    Origin,
    Pairs,
    Report,
    Rows,
    Section,
    note,
    table,
    text,
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Audit(AttackFindings, Reported):
    """Findings of an audit, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game."""
    records: Records
    """One row per target."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the predictions: with any of them, the report does not claim that nothing
    leaks."""
    unknown_side: UnknownSide | None = None
    """Side with labels that may belong to other records: the report claims no leak unless that side
    itself shows one."""

    @property
    def attacks(self) -> Attacks:
        """Attacks, with the groups to report."""
        groups = self.slices.announced
        return Attacks(
            game=self.game,
            evaluations=self.evaluations,
            headline=self.headline,
            level=self.level,
            groups=groups,
            questions=self.questions,
        )

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Plot the ROC curve of every attack, by default on linear axes."""
        return plots.plot_roc(self.evaluations, ax, log=log)

    def report(self) -> Report:
        """Return the report, as plain values."""
        a = self.attacks
        found = riskiest(self)
        ranked = self.records.vulnerability is not None and bool(
            self.records.vulnerability.stands_out.any()
        )
        facts = Pairs(tuple((fact.label, either(fact.estimate)) for fact in self.facts))
        compared = fairness.section(self.comparison)
        questions = measures.questions_section(self.questions)
        several_targets: tuple[Section, ...] = ()
        if self.targets is not None:
            title = f"Over {count(self.targets.n_targets)} targets"
            blocks = tuple(_targets(self.targets))
            several_targets = (Section("targets", title, blocks, "Several targets"),)
        more_models: tuple[Section, ...] = ()
        if self.more_models:
            title = "What more shadow models would buy"
            blocks = tuple(_more(self.more_models))
            more_models = (Section("more-models", title, blocks, "More shadow models"),)
        return Report(
            "classifier",
            "Audit of a classifier",
            about=About(
                "A model, by what it answers about single records",
                f"Somebody who holds a record guesses: {self.game.question}",
                self.game.adversary,
                "membership-inference",
            ),
            intro=measures.intro(a),
            origin=self.origin,
            verdict=verdict(
                a,
                self.doubts,
                self.comparison,
                ranked=ranked,
                unmatched=self.unmatched,
                unmatched_few=self.unmatched_few,
                unknown_side=self.unknown_side,
            ),
            measures=(*measures.highest(a), *measures.cards(a), risk.mean_risk_measure(self.risk)),
            sections=(
                Section("game", "What was played", (tables.game(self.game),), "The game"),
                *(() if compared is None else (compared,)),
                tables.section(a),
                *several_targets,
                *more_models,
                *(() if questions is None else (questions,)),
                plots.roc_section(a.evaluations, a.best),
                risk.section(self.risk),
                measures.groups_section(self.slices),
                Section(
                    "records", "The riskiest records", tuple(_riskiest(found)), "Riskiest records"
                ),
                Section("facts", "About the release", (facts,), "The release"),
            ),
            terms={
                **terms("Member", "Attack", "Shadow model"),
                "Interval": interval(self.level),
                **MEANINGS,
                **risk.TERMS,
            },
            worst=found.worst,
            data={
                **measures.attacks_data(a),
                **_models_data(self.targets, self.more_models),
                "risk": risk.as_data(self.risk),
                "slices": measures.groups_data(self.slices),
                "facts": values_of(self.facts),
                "comparison": fairness.as_data(self.comparison),
                **measures.questions_data(self.questions),
            },
            frames={
                "records.parquet": lambda: records.records_frame(self.records),
                "roc.csv": lambda: records.roc_frame(self.evaluations),
            },
            nothing_left_out="Nothing: every part of the suite was played.",
            overview=(tables.overview(a),),
        )


def riskiest(f: Audit) -> Riskiest:
    """Return the most vulnerable members, or the records of the highest privacy risk score."""
    shown = f.records.vulnerability
    if shown is not None:
        return records.riskiest_records(f.records, shown.attack, shown.value, members=True)
    assert f.records.risk is not None  # every record has one
    return records.riskiest_records(f.records, "privacy risk score", f.records.risk)


def _riskiest(found: Riskiest) -> Iterator[Block]:
    hidden = "" if found.records.contents else "; their contents are not in this file"
    shown = found.records.vulnerability
    if shown is None:
        yield text(
            f"Ordered by {found.by}, that is, by how confident the model is of them. This is not a "
            "ranking of vulnerability, and shows of no single person that they are at risk: no "
            "attack of this audit compares models trained with a record and without it. Shadow "
            "models trained on these very records would. Records are named by id"
            f"{hidden}. A non-member in this list is a false alarm."
        )
        title = "Records by falling risk score"
        yield records.table(found, title, heads=("Id", "Risk"), member=True)
    else:
        yield text(
            f"Members ranked by their vulnerability: the probability that {shown.attack} gives to "
            "the truth at even odds, on average over models trained with the record and without "
            f"it; {count(shown.n_models)} models were compared, the target among them. At 0.5 "
            "nothing is told. Beside it stands the probability that the target's answer alone "
            f"gives to membership. Records are named by id{hidden}."
        )
        yield text(_false_ones(shown, found))
        rows = found.rows.tolist()
        further = {
            "From this model": [decimal(float(shown.posterior[i]), 3) for i in rows],
            "Stands out": ["yes" if shown.stands_out[i] else "no" for i in rows],
        }
        title = "Members by falling vulnerability"
        yield records.table(found, title, heads=("Id", "Vulnerability"), further=further)
    n = f"{count(len(found.rows))} of {count(found.n)}"
    yield note(f"{n} records are shown; all are in records.parquet.")


def _false_ones(shown: Vulnerability, found: Riskiest) -> str:
    """Return a text on members that stand out, with the false discoveries expected among them."""
    unit = found.records.unit
    # People are counted, not rows.
    person = np.arange(len(shown.value)) if unit is None else unit
    n = len(np.unique(person[shown.stands_out]))
    everyone = len(np.unique(person[found.records.member]))
    if n == 0:
        told = (
            f"None of the {count(everyone)} stands out at a false discovery rate of "
            f"{rate(FALSE_DISCOVERIES)}: their order may be chance."
        )
    else:
        n_false = count(int(np.ceil(FALSE_DISCOVERIES * n)))
        told = (
            f"{count(n)} of the {count(everyone)} stand out; at most about {n_false} of these "
            f"are expected to be false (false discovery rate of {rate(FALSE_DISCOVERIES)} among "
            "shadow models, Benjamini-Hochberg). The order of the others may be chance."
        )
    if shown.on_target <= 0.5:
        told += (
            " On the target itself that attack was not shown to tell members from others: the "
            "list speaks of models trained like it."
        )
    return told


def either(estimate: Estimate) -> Shown:
    """Return a number about the release as text: shares as percentages, others as decimals."""
    is_share = estimate.low >= 0 and estimate.high <= 1
    return percent_estimate(estimate) if is_share else decimal_estimate(estimate, 2)


def _models_data(
    targets: SeveralTargets | None, more_models: Sequence[Foretold]
) -> dict[str, Json]:
    """Return the entries of report.json on several targets and on more shadow models, if any."""
    found: dict[str, Json] = {}
    if targets is not None:
        named = {"half_width_asked": "asked", "half_width": "half_width"}
        found["targets"] = {
            **pick_values(targets, "n_targets", "n_shadows", **named),
            "attacks": [
                {
                    **pick_values(x, attack="title", auc="auc"),
                    "tpr_at_fpr": values_of({key(fpr): tpr for fpr, tpr in x.tpr_at_fpr.items()}),
                }
                for x in targets.attacks
            ],
        }
    if more_models:
        named = {"attack": "title", "n_models": "n_models", "auc_now": "now"}
        named |= {"auc_with_half": "half", "auc": "auc"}
        found["more_models"] = [pick_values(x, **named) for x in more_models]
    return found


def _targets(found: SeveralTargets) -> Iterator[Block]:
    n = count(found.n_targets)
    yield text(
        f"Each of {n} models, trained alike on records that fair coins of its own put in, was "
        f"attacked with the same {count(found.n_shadows)} shadow models; the rest of this report "
        "is about the first of them. The numbers are means over targets, and the intervals allow "
        "for other records and for other targets. Targets were added until no interval was wider "
        f"than {decimal(found.asked, 3)} on either side; only widths were looked at."
    )
    rows: Rows = [
        {
            "Attack": x.title,
            "AUC": decimal_estimate(x.auc),
            **{f"TPR at {rate(fpr)} FPR": percent(y) for fpr, y in x.tpr_at_fpr.items()},
        }
        for x in found.attacks
    ]
    yield table("targets", f"Means over {n} targets", rows, prose=("Attack",))
    if not found.reached:
        yield note(
            f"The widest interval still reaches {decimal(found.half_width, 3)} to either side: "
            "there "
            f"are no more than {n} targets. More records narrow it further."
        )


def _more(found: Sequence[Foretold]) -> Iterator[Block]:
    k = found[0].auc.n
    n = count(found[0].n_models)
    yield text(
        "More shadow models make attacks stronger; they make no interval narrower. The table "
        f"has the AUC with the {count(k)} shadow models, and what {n} would give on the same "
        f"target and the same records, foretold from random halves of the {count(k)}."
    )
    rows: Rows = [
        {
            "Attack": x.title,
            f"With {count(k // 2)}": decimal(x.half, 3),
            f"With {count(k)}": decimal(x.now, 3),
            f"With {n}, foretold": decimal_estimate(x.auc),
        }
        for x in found
    ]
    yield table("more-models", f"AUC with {n} shadow models", rows, prose=("Attack",))
