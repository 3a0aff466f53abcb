"""Trainings compared by their worst-case records, with the same canaries and coins for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.typing import ArrayLike

from privacygauge.claims.canaries import UniformLabel, WrongLabel
from privacygauge.claims.defences.played import as_defence, require_different_defences
from privacygauge.claims.defences.training import Private, TrainingDefence
from privacygauge.claims.defences.trainings import Before
from privacygauge.claims.options import WorstCaseDesign
from privacygauge.claims.worst_case import (
    ATTACKS,
    TargetOptions,
    deal_targets,
    trained_and_judged,
)
from privacygauge.claims.worst_case_audit.report import report
from privacygauge.claims.worst_case_audit.verdict import WorstCaseResult
from privacygauge.classifiers.estimators import as_trainer, require_records
from privacygauge.classifiers.shadows import Execution
from privacygauge.classifiers.trainer import Trainer
from privacygauge.classifiers.units_of_rows import twice
from privacygauge.core import checks
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.evaluate.worst_case import is_resolved
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction
from privacygauge.report.numbers import rate
from privacygauge.report.values import Report
from privacygauge.runs.options import keyword


class WorstCaseComparison(WorstCaseResult):
    """Trainings with the same canaries and the same coins, side by side.

    ``to_frame`` has one line for every training, group of targets, attack and false-positive rate.
    """

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)


class WorstCaseAudit(WorstCaseComparison):
    """Findings on canaries and ordinary records of a single training.

    It is a comparison with a single training, so it has the same report.
    """


_MANY = 0.1
"""Largest share of canaries among all records that does not spoil the models."""


@dataclass(frozen=True, kw_only=True)
class WorstCaseOptions(WorstCaseDesign):
    """Attacks on mislabelled canaries and on ordinary records, for one or several trainings.

    Equal seeds give equal canaries and coins, whatever the training, so that trainings can be
    compared.
    """

    label: WrongLabel | None = keyword(
        "Rule of the wrong label: `UniformLabel` (default) or `LeastLikelyLabel`.", default=None
    )
    delta: float | None = keyword(
        "Delta of defences that need one and name none; default: one over the number of records.",
        default=None,
    )

    def run(
        self,
        model: object,
        x: ArrayLike,
        y: ArrayLike,
        *,
        unit: ArrayLike | None = None,
        session: Session = Session("worst-case"),
    ) -> WorstCaseAudit:
        """Measure attacks on mislabelled canaries, and on ordinary records.

        Independent fair coins put canaries and ordinary targets into every model. Every model is
        the target once, with all others as reference models, so that a defended trainer is attacked
        by models that are defended in the same way.

        Parameters
        ----------
        model : estimator, callable or Trainer
            The training, with or without a defence; see `audit_model`.
        x : array_like, shape (n, d)
        y : array_like of int, shape (n,)
            True classes in 0..k-1, k at least 2.
        unit : array_like, shape (n,), optional
            The person behind each record: one coin decides for all records of a person, and
            intervals count people.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        WorstCaseAudit
            The result of `compare_worst_cases` for a single training.

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Aerni, Zhang & Tramèr (2024), "Evaluations of machine learning privacy defenses are
        misleading". Scores of all models and targets of a group are pooled under one threshold;
        intervals allow for targets that recur (`tprs_of_repeated`), but not for another sample of
        the table.
        """
        found = self.compare(model, x, y, unit=unit, session=session)
        # The training may well be one with a defence: its name says which.
        training = replace(found.none, title=found.none.found.model)
        return WorstCaseAudit(**{**vars(found), "trainings": (training,)})

    def compare(
        self,
        model: object,
        x: ArrayLike,
        y: ArrayLike,
        defences: Sequence[TrainingDefence | Trainer | str] = (),
        *,
        unit: ArrayLike | None = None,
        before: Before | None = None,
        session: Session = Session("worst-case"),
    ) -> WorstCaseComparison:
        """Measure attacks on canaries and ordinary records, by each way to train.

        Models are trained without a defence and with each defence, on the same records with the
        same canaries. This shows whether the defence that looks best on average also protects the
        most vulnerable records. Adding a defence changes only the corrected intervals of the
        others.

        Parameters
        ----------
        model : Networks, or what `audit_model` takes
            Training without a defence. Most defences need `Networks`.
        x : array_like, shape (n, d)
        y : array_like of int, shape (n,)
            True classes in 0..k-1, k at least 2.
        defences : sequence of TrainingDefence, Trainer or str
            ``Private(8.0)``, ``"dp-sgd:8"``, or a trainer of your own; none at all is allowed. With
            adversarial regularisation a fifth of each model's records is held back as its
            reference; they count as members, since their owners gave them.
        unit : array_like, shape (n,), optional
            The person behind each record: one coin decides for all records of a person, and
            intervals count people.
        before : callable, optional
            Called with the trainings and their cohort before the first model is trained.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        WorstCaseComparison
            Corrected intervals hold for all attacks, trainings, both groups and all rates together.

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Aerni, Zhang & Tramèr (2024), "Evaluations of machine learning privacy defenses are
        misleading", sections 3 and 4. The intervals allow for targets that recur in many models,
        but not for another sample of the table.
        """
        checks.kind(self.label, "label", "wrong", "a rule of wrong labels, such as UniformLabel()")
        features, labels = require_records(x, y)
        trainer = as_trainer(model)
        owner = owners(unit, None, len(labels))
        # DP-SGD that names no delta gets one over the number of records.
        delta = 1 / max(len(labels), 2) if self.delta is None else self.delta
        asked_for: list[TrainingDefence] = []
        for one in defences:
            defence = as_defence(one, delta)
            if not isinstance(defence, TrainingDefence):
                raise InputError(
                    f"{defence.name} changes a model's answers and not its training, so it cannot "
                    "be compared by canaries: give a defence at training, or privacygauge defend"
                )
            if isinstance(defence, Private) and defence.delta is None:
                defence = replace(defence, delta=delta)
            asked_for.append(defence)
        if asked_for:
            require_different_defences(asked_for)
        wrong = UniformLabel() if self.label is None else self.label
        chosen, inside = deal_targets(
            self, features, labels, wrong, seed=session.seed, unit=owner, run=session.run
        )
        attacks = ATTACKS if self.attacks is None else tuple(self.attacks)
        # Two groups of targets; per attack and training, each rate and the area under the curve.
        n = len(attacks) * (1 + len(asked_for)) * 2 * (len(self.fprs) + 1)
        found, failed = trained_and_judged(
            trainer,
            features,
            chosen,
            inside,
            defences=asked_for,
            wrong=wrong.name,
            asked=TargetOptions(
                attacks=attacks,
                fprs=self.fprs,
                seed=session.seed,
                level=session.level,
                n_together=max(n, 1),
            ),
            execution=Execution.of(session),
            before=before,
        )
        of_units = twice(features, labels) if owner is None else ()
        of_findings: list[str] = []
        n_records = len(found.targets.y)
        n_canaries = len(found.targets.canaries)
        if n_canaries > _MANY * n_records:
            of_findings.append(
                f"{n_canaries:,} of {n_records:,} records are canaries with a wrong label: more "
                "than a tenth of them spoils the models, and all numbers are those of worse "
                "models than yours"
            )
        if unresolved := [rate(fpr) for fpr in found.fprs if not is_resolved(found.trainings, fpr)]:
            of_findings.append(
                f"too few records to tell at a false-positive rate of {', '.join(unresolved)}: "
                "fewer than 10 false positives are expected; more models or more canaries tell"
            )
        for trained in found.trainings:
            groups = trained.found.groups
            turned = (x for group in groups for x in direction.warnings(group.inverted, group.name))
            where = f"{trained.title}: " if len(found.trainings) > 1 else ""
            of_findings += (f"{where}{line}" for line in (*trained.found.warnings, *turned))
        origin = session.origin(
            "torch" if trainer.logits else None,
            skipped=(*failed, *found.none.found.skipped),
            warnings=(*of_units, *of_findings),
            about={"model": trainer.name, "wrong label": found.none.found.label},
        )
        return WorstCaseComparison(**vars(found), origin=origin)


audit_worst_case = one_line(WorstCaseOptions, WorstCaseOptions.run, "audit_worst_case")
compare_worst_cases = one_line(WorstCaseOptions, WorstCaseOptions.compare, "compare_worst_cases")
