"""The candidate-set game of Long et al. (2017) as one call, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifiers.audit.verdict import REPEAT, mending, unsaid
from privacygauge.classifiers.candidates import (
    CandidateGame,
    JudgedCandidates,
    PerTargetDesign,
    SharedDesign,
)
from privacygauge.classifiers.probe_training import prepare_records
from privacygauge.classifiers.suite import candidate_attacks
from privacygauge.classifiers.units_of_rows import twice
from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.evaluate.by_target import per_target
from privacygauge.evaluate.direction import inverted_attacks
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.played import GameDescription
from privacygauge.evaluate.playing import (
    audit,
    furthest_attack,
    played_of,
    simultaneous_level,
    telling,
)
from privacygauge.evaluate.rates import mean
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction, grades
from privacygauge.report.attacks import measures, plots, tables
from privacygauge.report.attacks.measures import GUESSING
from privacygauge.report.attacks.records import RECORDS, roc_frame
from privacygauge.report.attacks.tables import interval, terms
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal,
    decimal_estimate,
    p_value,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Measure,
    Origin,
    Report,
    Rows,
    Section,
    Verdict,
    Worst,
    frame,
    note,
    pick_values,
    table,
    text,
    values_of,
)
from privacygauge.runs.options import Options, keyword


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CandidateAudit(JudgedCandidates, plots.RankedRecords, Reported):
    """Findings of the candidate-set game, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game; its numbers of members and non-members count guesses."""

    @property
    def ranking_attacks(self) -> tuple[Evaluation, ...]:
        """Attacks that have a ROC curve: all of them."""
        return self.evaluations

    def report(self) -> Report:
        """Return the report, as plain values."""
        accuracy = self.per_target[self.best.title].accuracy
        records = several(len(self.targets), "record")
        # Records on which the best attack is most often right come first.
        order = np.argsort(-accuracy, kind="stable").astype(np.int64)
        n_in = count(self.game.n_in)
        n_out = count(self.game.n_out)
        guesses = ("Guesses", f"{n_in} about members, {n_out} about non-members")
        best = [e.title == self.best.title for e in self.evaluations]
        attacks: Rows = [
            {
                "Attack": e.title,
                "Right guesses": percent_estimate(e.accuracy, 1),
                "AUC": decimal_estimate(e.auc),
            }
            for e in self.evaluations
        ]
        allows = f", which allows for the choice among {len(self.evaluations)} attacks"
        pdtp = {
            "PDTP": "Pointwise differential training privacy: the largest log ratio over all "
            "classes between the model with and without a record, asked about that record."
        }
        return Report(
            "candidates",
            "Audit of single records: the candidate-set game",
            about=About(
                "A way to train a model, record by record",
                f"Somebody who knows all candidates guesses: {self.game.question}",
                self.game.adversary,
                "membership-inference",
            ),
            intro=f"Of the strongest attack, {self.best.title}, over all guesses about {records}. "
            f"Small figures are {rate(self.level)} "
            f"intervals{allows if len(self.evaluations) > 1 else ''}.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section(
                    "game",
                    "What was played",
                    (tables.game(self.game, targets=guesses),),
                    "The game",
                ),
                Section(
                    "attacks",
                    "Attacks",
                    tables.blocks(
                        self.evaluations, self.best.title, self.level, _GUESSED, epsilon=False
                    ),
                ),
                Section("records", "Record by record", tuple(_record_by_record(self, order))),
                plots.roc_section(self.evaluations, self.best),
            ),
            terms={
                "Candidate set": "The records that the adversary knows. Half of them, at random, "
                "are the training set.",
                **terms("Attack", "Shadow model"),
                "Interval": interval(self.level),
                **terms("Balanced accuracy", "TPR, recall", "FPR", "TPR at FPR"),
                **terms("\N{DAGGER} dagger", "ROC, AUC"),
                **({} if self.measured is None else pdtp),
            },
            worst=Worst("candidates, by row", tuple(str(self.targets[i]) for i in order[:_NAMED])),
            data={
                "game": values_of(self.game),
                "attacks": [measures.attack_data(e) for e in self.evaluations],
                "best": self.best.title,
                **pick_values(
                    self, "accuracy", "train_accuracy", "test_accuracy", "targets", "correlations"
                ),
            },
            frames={
                "records.parquet": lambda: frame(_columns(self)),
                "roc.csv": lambda: roc_frame(self.evaluations),
            },
            nothing_left_out="Nothing: every part of the suite was played.",
            overview=(table("overview", "How well each attack did", attacks, best=best),),
            sources="The game: Long, Bindschaedler and Gunter, Towards Measuring Membership "
            "Privacy (2017), section 5.4.",
        )


@dataclass(frozen=True, kw_only=True)
class CandidateOptions(Options):
    """The candidate-set game: which single records are at risk."""

    iterations: int = keyword(
        "Number of splits of the candidates, at least 1; each trains two target models.",
        default=100,
    )
    n_targets: int = keyword(
        "Number of records that are attacked, drawn at random, at least 1.", default=100
    )
    design: PerTargetDesign | SharedDesign | None = keyword(
        "Default: one shared pool of 64 shadow models.", default=None
    )
    measurements: int = keyword(
        "Number of iterations in which the targets' PDTP is measured, at most `iterations`: "
        "exactly for a learner, by retraining for any other model.",
        default=0,
    )
    attacks: Sequence[Attack] | None = keyword(
        "Attacks; default: the suite of `candidate_attacks`.", default=None
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.kinds(self.attacks, "attacks", "score", "pg.attacks.Threshold(...)")

    def run(
        self,
        model: object,
        x: object = None,
        y: ArrayLike | None = None,
        *,
        unit: ArrayLike | None = None,
        session: Session = Session("candidates"),
    ) -> CandidateAudit:
        """Play the candidate-set game: estimate which single records are at risk, with intervals.

        Parameters
        ----------
        model : estimator, callable, Training or Trainer
            As in `audit_model`.
        x : array_like or data frame of n records
            As in `audit_model`. The candidate set: half of it is the training set of each target
            model.
        y : array_like of int, shape (n,)
        unit : array_like, shape (n,), optional
            The person behind each candidate: all rows of a person are in the same half, and
            intervals resample people.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        CandidateAudit

        Notes
        -----
        Long et al. (2017), section 5.4; 100 iterations and 100 targets there.
        """
        about = prepare_records(model, x, y)
        features = about.x
        labels = about.y
        chosen = SharedDesign() if self.design is None else self.design
        owner = owners(unit, None, len(labels))
        game = CandidateGame(
            about.trainer,
            features,
            y=labels,
            iterations=self.iterations,
            n_targets=self.n_targets,
            design=chosen,
            seed=session.seed,
            unit=owner,
        )
        # Equal records without units may be in both halves, in one of them as a copy.
        warnings = twice(features, labels) if owner is None else []
        dealt = game.train(
            measurements=self.measurements,
            run=session.run,
            n_jobs=session.n_jobs,
            progress=session.progress,
        )
        suite = candidate_attacks(chosen.name) if self.attacks is None else self.attacks
        results = telling(audit([dealt.round], suite, seed=session.seed, level=session.level))
        played = played_of(results, "give at least one that fits the candidate-set game")
        accuracies = {evaluation.title: per_target(p.decisions) for p, evaluation in played}
        pdtp = dealt.pdtp
        correlations = (
            {}
            if pdtp is None
            else {
                title: accuracy.correlation_with(pdtp, session.level)
                for title, accuracy in accuracies.items()
            }
        )
        each = simultaneous_level([(p, e.roc) for p, e in played], session.level)
        best, accuracy, area = furthest_attack(played, session.level, each)
        judged = JudgedCandidates(
            tuple(evaluation for _, evaluation in played),
            best=best,
            accuracy=accuracy,
            auc=area,
            per_target=MappingProxyType(accuracies),
            targets=game.targets,
            measured=None if dealt.measured is None else checks.frozen(dealt.measured),
            correlations=MappingProxyType(correlations),
            train_accuracy=mean(dealt.train_accuracy, session.level, unit="target models"),
            test_accuracy=mean(dealt.test_accuracy, session.level, unit="target models"),
            inverted=inverted_attacks([(e.title, p.transcript) for p, e in played], session.level),
        )
        skipped = [result for result in results if isinstance(result, Skipped)]
        told = (*warnings, *direction.warnings(judged.inverted))
        origin = session.origin(skipped=skipped, warnings=told)
        n_in = int(dealt.round.secret.sum())
        own = f"{game.design.n_models(game.n_targets):,} models of its own, " + (
            "shared by all targets" if game.design.name == "shared" else "some for each target"
        )
        return CandidateAudit(
            **vars(judged),
            origin=origin,
            game=GameDescription(
                "candidate-set membership",
                question=(
                    "Which half of the candidate set was the model trained on: the one with this "
                    "record, or the other?"
                ),
                adversary=(
                    "Sees the model's full prediction and the true class of a record (black "
                    f"box), knows the candidate set and how the model is trained, and has {own}"
                ),
                secret=(
                    f"drawn: in each of {game.iterations:,} iterations the candidates are cut in "
                    "two halves at random, and a model is trained on each"
                ),
                thresholds="on the adversary's own models only",
                n_in=n_in,
                n_out=len(dealt.round.secret) - n_in,
            ),
        )


audit_candidates = one_line(
    CandidateOptions, CandidateOptions.run, "audit_candidates", without=("invocation",)
)


_GUESSED = (
    "Each attack guesses for every record and every model whether the model was trained on the "
    "record."
)
_NAMED = 10
"""Number of records that the report names, and shows before a fold."""


def verdict(f: CandidateAudit) -> Verdict:
    """Return the verdict on the guesses about all attacked records together.

    The grade follows from the lower end of the balanced accuracy, by the guesses or by the ranking,
    whichever is graver, as in an audit of a classifier. There is no grade if no leak was found but
    an attack takes members for non-members.
    """
    grade = grades.grade_of(f.reached.accuracy.low)
    # An inverted attack separates the sides: "no leak" would be wrong, and its cause is unknown.
    if grade == grades.NONE and f.inverted:
        return direction.verdict(direction.sentences(f.inverted))
    if grade == grades.NONE:
        headline = "No leak found: no attack guesses clearly better than chance"
    elif f.reached.by_ranking:
        headline = (
            f"{grade.word.capitalize()} leak: {grades.ranked_pairs(f.auc)}, which guesses hide"
        )
    else:
        right = f"are right {percent(f.accuracy.value)} of the time"
        headline = f"{grade.word.capitalize()} leak: guesses about single records {right}"
    advice = (
        *(() if grade == grades.NONE else mending(grade)),
        "Play more iterations, or attack more records: intervals get narrower.",
        REPEAT,
    )
    scale = grades.scale_of(grade)
    sentences: list[str] = []
    n = len(f.evaluations)
    if f.reached.by_ranking:
        sentences.append(
            f"{grades.ranked_pairs(f.auc)}, and a ranking this good has a threshold that is right "
            f"at least {percent(f.reached.accuracy.value)} of the time: the grade follows from it."
        )
    sentences.append(
        f"{plain(f.best.title)} told models with a record from models without it correctly "
        f"{percent(f.accuracy.value)} of the time; guessing gives 50%."
    )
    allowing = f" (this allows for having tried {n} attacks)" if n > 1 else ""
    # Every record is guessed about in as many models.
    guesses = int(f.per_target[f.best.title].n[0])
    sentences.append(
        f"With {rate(f.level)} confidence the share of right guesses lies between "
        f"{percent(f.accuracy.low)} and {percent(f.accuracy.high)}{allowing}. It was measured on "
        f"{several(len(f.targets), 'record')}, each guessed about in {count(guesses)} models."
    )
    sentences.append(
        f"The models predict {percent(f.train_accuracy.value)} of the records rightly that they "
        f"were trained on, and {percent(f.test_accuracy.value)} of the others."
    )
    said = tuple(sentences)
    gauge = grades.accuracy_gauge("of the strongest attack", f.reached, grades.BY_ONE_NUMBER)
    return Verdict(
        grade=grade,
        scale=scale,
        headline=headline,
        sentences=said,
        unsaid=unsaid(grade),
        advice=advice,
        gauge=gauge,
    )


def _measures(f: CandidateAudit) -> Iterator[Measure]:
    right = f.reached.accuracy
    auc = f.best.auc
    told = "Models with the record and models without it equally often. Guessing gives 50%. "
    told = f"{told}Balanced accuracy."
    shown = percent_estimate(right)
    yield Measure(
        name="accuracy",
        label=grades.right_of(f.reached),
        found=right,
        shown=shown,
        note="",
        text=told,
        guessing=GUESSING,
    )
    label = "Pairs put in the right order"
    told = "Guessing gives 0.5. Area under the ROC (AUC)."
    yield Measure(
        name="auc",
        label=label,
        found=auc,
        shown=decimal_estimate(auc),
        note="",
        text=told,
        guessing="0.5",
    )
    sides = {"train": ("their", f.train_accuracy), "test": ("other", f.test_accuracy)}
    for name, (which, found) in sides.items():
        label = f"Accuracy of the models on {which} records"
        yield Measure(f"{name}-accuracy", label, found, percent_estimate(found), gate=False)
    if (pdtp := f.mean_pdtp) is not None:
        told = "How far a model's word on a record moves when it is left out. 0: not at all."
        shown = decimal_estimate(pdtp)
        yield Measure(
            name="mean-pdtp",
            label="Mean PDTP",
            found=pdtp,
            shown=shown,
            note="",
            text=told,
            guessing="0",
            gate=False,
        )


def _record_by_record(f: CandidateAudit, order: Ints) -> Iterator[Block]:
    shown = order[:RECORDS].tolist()
    pdtp = f.pdtp
    estimates = f.per_target[f.best.title].estimates(f.level)
    yield text(
        f"How often {f.best.title} is right about each record, over the models with and without "
        "it. Each interval holds individually: among many records some look exposed by luck. "
        "Records are named by their row."
    )
    rows: Rows = [
        {
            "Row": str(f.targets[i]),
            "Right guesses": percent_estimate(estimates[i], 1),
            **({} if pdtp is None else {"PDTP": decimal(float(pdtp[i]), 3)}),
        }
        for i in shown
    ]
    title = "Records by falling share of right guesses"
    yield table("records", title, rows, at_once=_NAMED)
    n = several(len(f.targets), "record")
    yield note(f"{count(len(shown))} of {n} are shown; all are in records.parquet.")
    if f.correlations:
        heads = ("Attack", "Correlation with PDTP", "p")
        correlated = []
        for title, found in f.correlations.items():
            told = (
                (DASH, found.reason)
                if isinstance(found, Skipped)
                else (
                    str(decimal_estimate(found.estimate, 2)),
                    p_value(found.p_value),
                )
            )
            correlated.append(dict(zip(heads, (title, *told), strict=True)))
        heading = "Does PDTP tell which records attacks are right about?"
        below = "Pearson's correlation over records."
        yield table("correlations", heading, correlated, below, prose=heads[2:])


def _columns(f: CandidateAudit) -> dict[str, object]:
    """Return the columns of ``records.parquet``, which has one row per target.

    ``row``, ``pdtp`` if it was measured, and each attack's accuracy with the ends of its interval:
    ``TITLE``, ``TITLE low``, ``TITLE high``.
    """
    columns: dict[str, object] = {"row": f.targets}
    if f.pdtp is not None:
        columns["pdtp"] = f.pdtp
    for title, found in f.per_target.items():
        estimates = found.estimates(f.level)
        columns[title] = found.accuracy
        columns[f"{title} low"] = [e.low for e in estimates]
        columns[f"{title} high"] = [e.high for e in estimates]
    return columns
