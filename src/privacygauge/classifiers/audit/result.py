"""Findings of audits of a classifier, and their report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from privacygauge.classifiers.audit.verdict import UnknownSide, verdict
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.attacked import AttackFindings
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.evaluate.played import Attacks, GameDescription, Records
from privacygauge.evaluate.risk import Risk, risk_cdf, spaced_classes
from privacygauge.evaluate.vulnerability import FALSE_DISCOVERIES
from privacygauge.report import fairness
from privacygauge.report.attacks import measures, plots, records, tables
from privacygauge.report.attacks.records import Riskiest
from privacygauge.report.attacks.tables import MEANINGS, interval, terms
from privacygauge.report.axes import INK, OTHER, SERIES, axes, legend
from privacygauge.report.numbers import (
    count,
    decimal,
    decimal_estimate,
    key,
    percent,
    percent_estimate,
    plain,
    rate,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Axes,
    Block,
    FoldedBlocks,
    Json,
    Measure,
    Origin,
    Pairs,
    Plot,
    Report,
    Rows,
    Section,
    estimate_dict,
    note,
    pick_values,
    table,
    text,
    values_of,
)

RISK_TERMS = {
    "Privacy risk score": "The probability that a record is a member, given what the adversary "
    "sees, at even odds beforehand.",
    "Calibration error": "How far risk scores are from the share of members that they stand for. "
    "Compare it with the error that chance alone makes.",
    "Generalisation error": "How much better a model does on its members than on new records.",
}
"""Explanations of the terms that concern the risk score."""

_BY_RISK = "privacy risk score"
"""Name of the score that ranks the riskiest records, as a rule."""

_CLASSES = 60
"""Largest number of classes shown, those of the highest risk."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AttackAudit(AttackFindings, plots.RankedRecords, Reported):
    """Findings of attacks on single records, whatever the kind of model."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game."""
    records: Records
    """One row per target."""

    @property
    def attacks(self) -> Attacks:
        """Attacks, with the groups to report."""
        return Attacks(
            game=self.game,
            evaluations=self.evaluations,
            headline=self.headline,
            level=self.level,
            groups=self.slices.announced,
            questions=self.questions,
        )

    @property
    def riskiest(self) -> Riskiest:
        """The most vulnerable members; by the risk score where no models rank the records."""
        ranking = self.records.vulnerability
        if ranking is not None:
            # Models with and without each record rank them.
            return records.riskiest_records(
                self.records, ranking.attack, ranking.value, members=True
            )
        assert self.records.risk is not None  # every record has one
        return records.riskiest_records(self.records, _BY_RISK, self.records.risk)

    @property
    def stands_out(self) -> bool:
        """Whether some member stands out among models with and without it."""
        ranking = self.records.vulnerability
        return ranking is not None and bool(ranking.stands_out.any())

    @property
    def ranking_attacks(self) -> tuple[Evaluation, ...]:
        """Attacks that have a ROC curve: all of them."""
        return self.evaluations


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Audit(AttackAudit):
    """Findings of an audit, with its report, tables and plots."""

    doubts: tuple[str, ...] = ()
    """Reasons to doubt the predictions: with any of them, the report does not claim that nothing
    leaks."""
    unknown_side: UnknownSide | None = None
    """Side with labels that may belong to other records: the report claims no leak unless that side
    itself shows one."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        a = self.attacks
        found = self.riskiest
        facts = []
        for fact in self.facts:
            is_share = fact.estimate.low >= 0 and fact.estimate.high <= 1
            shown = (
                percent_estimate(fact.estimate) if is_share else decimal_estimate(fact.estimate, 2)
            )
            facts.append((fact.label, shown))
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
            more: list[Block] = []
            k = self.more_models[0].auc.n
            n = count(self.more_models[0].n_models)
            more.append(
                text(
                    "More shadow models make attacks stronger; they make no interval narrower. "
                    f"The table has the AUC with the {count(k)} shadow models, and what {n} would "
                    "give on the same target and the same records, foretold from random halves "
                    f"of the {count(k)}."
                )
            )
            rows: Rows = [
                {
                    "Attack": x.title,
                    f"With {count(k // 2)}": decimal(x.half, 3),
                    f"With {count(k)}": decimal(x.now, 3),
                    f"With {n}, foretold": decimal_estimate(x.auc),
                }
                for x in self.more_models
            ]
            more.append(
                table("more-models", f"AUC with {n} shadow models", rows, prose=("Attack",))
            )
            blocks = tuple(more)
            more_models = (Section("more-models", title, blocks, "More shadow models"),)
        label = "Privacy risk of a member"
        error = percent(self.risk.reliability.rmse.value)
        noise = percent(self.risk.reliability.noise)
        told = (
            "The mean probability of being a member, at even odds beforehand. Guessing gives 50%."
        )
        note = f"calibration error {error}, by chance alone {noise}"
        shown = percent_estimate(self.risk.mean)
        risk_title = "Privacy risk of single records"
        of_models: dict[str, Json] = {}
        if self.targets is not None:
            entries = {"half_width_asked": "asked", "half_width": "half_width"}
            of_models["targets"] = {
                **pick_values(self.targets, "n_targets", "n_shadows", **entries),
                "attacks": [
                    {
                        **pick_values(x, attack="title", auc="auc"),
                        "tpr_at_fpr": values_of(
                            {key(fpr): tpr for fpr, tpr in x.tpr_at_fpr.items()}
                        ),
                    }
                    for x in self.targets.attacks
                ],
            }
        if self.more_models:
            entries = {"attack": "title", "n_models": "n_models", "auc_now": "now"}
            entries |= {"auc_with_half": "half", "auc": "auc"}
            of_models["more_models"] = [pick_values(x, **entries) for x in self.more_models]
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
                ranked=self.stands_out,
                unmatched=self.unmatched,
                alike=self.alike,
                unmatched_few=self.unmatched_few or self.alone_auc,
                unknown_side=self.unknown_side,
            ),
            measures=(
                *measures.highest(a),
                *measures.cards(a),
                Measure(
                    name="risk",
                    label=label,
                    found=self.risk.mean,
                    shown=shown,
                    note=note,
                    text=told,
                    guessing="50%",
                ),
            ),
            sections=(
                Section("game", "What was played", (tables.game(self.game),), "The game"),
                *(() if compared is None else (compared,)),
                tables.section(a),
                *several_targets,
                *more_models,
                *(() if questions is None else (questions,)),
                plots.roc_section(a.evaluations, a.best),
                Section("risk", risk_title, tuple(risk_blocks(self.risk)), "Privacy risk"),
                measures.groups_section(self.slices),
                Section(
                    "records",
                    "The riskiest records",
                    tuple(riskiest_blocks(found)),
                    "Riskiest records",
                ),
                Section("facts", "About the release", (Pairs(tuple(facts)),), "The release"),
            ),
            terms={
                **terms("Member", "Attack", "Shadow model"),
                "Interval": interval(self.level),
                **MEANINGS,
                **RISK_TERMS,
            },
            worst=found.worst,
            data={
                **measures.attacks_data(a),
                **of_models,
                "risk": risk_data(self.risk, "classes", "correlation", "notes"),
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


def risk_data(risk: Risk, *further: str) -> dict[str, Json]:
    """Return a risk score as keys of the report's JSON, with `further` attributes at the end."""
    return {
        **pick_values(risk, "estimator", "mean"),
        **pick_values(risk.reliability, "rmse", "rmse_of_bins", "noise", "bins"),
        "cuts": values_of(risk.cuts),
        "excess": {key(prior): estimate_dict(x) for prior, x in risk.excess},
        **pick_values(risk, *further),
    }


def riskiest_blocks(found: Riskiest) -> Iterator[Block]:
    """Yield the table of the riskiest records, and the meaning of its order."""
    hidden = "" if found.records.contents else "; their contents are not in this file"
    shown = found.records.vulnerability
    if shown is None and found.by != _BY_RISK:
        yield text(
            f"Ordered by the scores of {plain(found.by)}, which found the members that stand out; "
            "the privacy risk score ranks others first. Records are named by id"
            f"{hidden}. A non-member in this list is a false alarm."
        )
        yield records.table(found, "Records by falling score", member=True)
    elif shown is None:
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
        unit = found.records.unit
        # People are counted, not rows.
        person = np.arange(len(shown.value)) if unit is None else unit
        n_shown = len(np.unique(person[shown.stands_out]))
        everyone = len(np.unique(person[found.records.member]))
        if n_shown == 0:
            words = (
                f"None of the {count(everyone)} stands out at a false discovery rate of "
                f"{rate(FALSE_DISCOVERIES)}: their order may be chance."
            )
        else:
            n_false = count(int(np.ceil(FALSE_DISCOVERIES * n_shown)))
            words = (
                f"{count(n_shown)} of the {count(everyone)} stand out; at most about {n_false} of "
                "these are expected to be false (false discovery rate of "
                f"{rate(FALSE_DISCOVERIES)} among shadow models, Benjamini-Hochberg). The order of "
                "the others may be chance."
            )
        if shown.on_target <= 0.5:
            words += (
                " On the target itself that attack was not shown to tell members from others: the "
                "list speaks of models trained like it."
            )
        yield text(words)
        rows = found.rows.tolist()
        further = {
            "From this model": [decimal(float(shown.posterior[i]), 3) for i in rows],
            "Stands out": ["yes" if shown.stands_out[i] else "no" for i in rows],
        }
        title = "Members by falling vulnerability"
        yield records.table(found, title, heads=("Id", "Vulnerability"), further=further)
    n = f"{count(len(found.rows))} of {count(found.n)}"
    yield note(f"{n} records are shown; all are in records.parquet.")


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


def risk_blocks(risk: Risk) -> Iterator[Block]:
    """Yield texts, plots and tables about the privacy risk score."""
    reliability = risk.reliability
    yield text(
        "The privacy risk score is the probability that a record is a member, given what the "
        f"adversary sees and even odds beforehand. Estimator: {risk.estimator}. Members score "
        f"{percent_estimate(risk.mean)} on average; records that give nothing away score 50%.",
        f"Root-mean-square calibration error: {percent_estimate(reliability.rmse)}, each bin "
        f"weighted by its records, or {percent(reliability.rmse_of_bins)} with equal weights. A "
        f"perfectly calibrated score would show {percent(reliability.noise)} on so many records, "
        "by chance alone.",
    )
    if risk.notes:
        yield note(*risk.notes)
    scores = risk.member_scores
    # Scores are ascending: deciles of the members by place.
    low, middle, high = (decimal(scores[int(q * (len(scores) - 1))], 2) for q in (0.1, 0.5, 0.9))
    caption = "A curve that hugs the right edge means that most members are at high risk."
    told = (
        f"A tenth of the members has a risk of at most {low}, half of at most {middle}, nine "
        f"tenths of at most {high}."
    )
    draw = partial(plot_risk_cdf, risk)
    yield Plot(
        "risk-cdf", "Risk of the members", caption=caption, words=told, draw=draw, wide=False
    )
    bins = "; ".join(
        f"score {decimal(b.mean_score, 2)}: {percent_estimate(b.fraction)} members"
        for b in risk.reliability.bins
    )
    told = f"{bins}. Root-mean-square error {percent(risk.reliability.rmse.value)}."
    caption = (
        "Of the records with a risk near 0.8, about 80% should be members. Bars are intervals."
    )
    plot_title = "Is the risk score right?"
    draw = partial(plot_reliability, risk)
    yield Plot("reliability", plot_title, caption=caption, words=told, draw=draw, wide=False)
    if risk.classes:
        told = (
            f"{len(risk.classes)} classes; Pearson's correlation of mean risk and generalisation "
            f"error is {decimal_estimate(risk.correlation, 2)}."
        )
        caption = "A point is a class. Right: the model does worse on new records of the class."
        plot_title = "Risk and overfitting, class by class"
        yield Plot(
            "classes", plot_title, caption=caption, words=told, draw=lambda: plot_classes(risk)
        )
    cuts: Rows = [
        {
            "Risk at least": decimal(row.cut, 1),
            "Precision": percent_estimate(row.precision, 1),
            "Recall": percent_estimate(row.recall, 1),
        }
        for row in risk.cuts
    ]
    yield table("cuts", "Calling every record from a risk on a member", cuts)
    added: Rows = [
        {"Belief before": rate(prior), "Added by the release": percent_estimate(excess, 1)}
        for prior, excess in risk.excess
    ]
    title = "What the release adds to a prior belief"
    yield table("excess", title, added, "Mean over members.")
    if risk.classes:
        rows = [
            {
                "Class": str(row.label),
                "Members": count(row.n_in),
                "Non-members": count(row.n_out),
                "Mean risk of members": percent(row.mean_risk),
                "Generalisation error": percent(row.generalisation_error),
            }
            for row in sorted(risk.classes, key=lambda row: -row.mean_risk)[:_CLASSES]
        ]
        some = f"{count(len(rows))} of {count(len(risk.classes))} classes."
        yield FoldedBlocks(
            "Class by class", (table("classes", "Classes by falling risk", rows, some),)
        )


def plot_risk_cdf(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw the distribution of the members' risk; numbers: `risk_cdf`.

    Song & Mittal (2021), Figure 5.
    """
    ax = axes(ax)
    cdf = risk_cdf(risk)
    # The curve runs from 0 to 1, though no member may have such a score.
    x = np.concatenate([[0.0], cdf.risk, [1.0]])
    y = np.concatenate([[0.0], cdf.share, [1.0]]) * 100
    ax.plot(x, y, color=SERIES[0], lw=1.8, drawstyle="steps-post")
    ax.axvline(0.5, color=OTHER, lw=0.9, ls=(0, (1, 2)))
    ax.annotate("guessing", (0.5, 97), (-4, 0), textcoords="offset points", ha="right", va="top",
                color=INK, fontsize=8)  # fmt: skip
    ax.set(xlabel="Privacy risk score", ylabel="Members with at most this risk, %")
    ax.set(xlim=(0, 1), ylim=(0, 101))
    return ax


def plot_reliability(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw the realised share of members against the score; numbers: ``risk.reliability.bins``.

    Song & Mittal (2021), Figure 3. Bars are intervals of the share; the numbers count the records
    in each bin.
    """
    ax = axes(ax)
    bins = risk.reliability.bins
    ax.plot([0, 1], [0, 1], color=OTHER, lw=0.9, ls=(0, (1, 2)), zorder=1, label="calibrated")
    x = [b.mean_score for b in bins]
    ax.vlines(x, [b.fraction.low for b in bins], [b.fraction.high for b in bins],
              color=SERIES[0], lw=1.6)  # fmt: skip
    ax.plot(x, [b.fraction.value for b in bins], color=SERIES[0], lw=1.0, marker="o", ms=4,
            label="realised, with records in the bin")  # fmt: skip
    for b in bins:
        # On the side of the bar that the diagonal leaves free.
        left = b.mean_score < 0.5
        end, beside = (b.fraction.high, (-2, 1)) if left else (b.fraction.low, (3, -1))
        across, up = ("right", "bottom") if left else ("left", "top")
        ax.annotate(count(b.n), (b.mean_score, end), beside, textcoords="offset points",
                    ha=across, va=up, fontsize=7.5, color=INK)  # fmt: skip
    ax.set(xlabel="Privacy risk score", ylabel="Realised share of members")
    ax.set(xlim=(-0.04, 1.06), ylim=(-0.02, 1.04))
    legend(ax, loc="upper left")
    return ax


def plot_classes(risk: Risk, ax: Axes | None = None) -> Axes:
    """Draw each class's mean risk against its generalisation error; numbers: ``risk.classes``.

    Song & Mittal (2021), Figure 8. Up to three classes of the highest risk are labelled. At least
    one class must have both members and non-members.
    """
    if not risk.classes:
        raise InputError("no class has both members and non-members: nothing to draw")
    ax = axes(ax)
    x = [row.generalisation_error for row in risk.classes]
    y = [row.mean_risk for row in risk.classes]
    ax.scatter(x, y, s=22, color=SERIES[0], alpha=0.75, lw=0)
    for row in spaced_classes(risk.classes)[:3]:
        ax.annotate(str(row.label), (row.generalisation_error, row.mean_risk), (-5, 2),
                    textcoords="offset points", ha="right", fontsize=8, color=INK)  # fmt: skip
    ax.set(xlabel="Generalisation error of the class", ylabel="Mean risk of its members")
    ax.margins(0.1)
    if not isinstance(risk.correlation, Skipped):
        told = f"Pearson {decimal_estimate(risk.correlation, 2)}"
        ax.set_title(told, fontsize=8.5, loc="left", color=INK)
    return ax
