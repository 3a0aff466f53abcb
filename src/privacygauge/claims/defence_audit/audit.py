"""The audit of defences by attacks that know of them and that do not, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from numpy.typing import ArrayLike

from privacygauge.claims.defence_audit.sections import (
    claim,
    early_stopping_result,
    mark_undone,
    plot_trade_off,
    right,
    sections,
)
from privacygauge.claims.defence_audit.verdict import DefenceResult, adversary, verdict
from privacygauge.claims.defences import judging
from privacygauge.claims.defences.defence import Defence
from privacygauge.claims.defences.judging import defence_attacks, training_attacks
from privacygauge.claims.defences.played import (
    PlayedDefences,
    as_defence,
    at_training,
    behind_one,
    on_answers,
    require_different_defences,
    require_same_records,
)
from privacygauge.claims.defences.training import TrainingDefence
from privacygauge.claims.defences.trainings import Before
from privacygauge.classifiers.attacked import (
    compare_accuracies,
    missing_classes,
    require_other_rows,
    require_varied_answers,
)
from privacygauge.classifiers.audit.verdict import of_classes
from privacygauge.classifiers.files import PredictionsLike, as_predictions
from privacygauge.classifiers.predictions import ARRAYS, Predictions
from privacygauge.classifiers.probe_training import prepare_records
from privacygauge.classifiers.shadows import Execution
from privacygauge.classifiers.trainer import Trainer
from privacygauge.classifiers.units_of_rows import settle_units, twice
from privacygauge.core import checks
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack
from privacygauge.core.units import owners
from privacygauge.evaluate.defences import AfterEpoch
from privacygauge.evaluate.headline import BestAttack
from privacygauge.kinds.one_line import KEEPING, NO_RUN, one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction
from privacygauge.report.attacks.measures import GUESSING, grade_basis, highest_of
from privacygauge.report.defended import AUC, MEMBER, claim_columns, claim_dict
from privacygauge.report.grades import right_of
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    key,
    percent,
    plain,
    rate,
    shorten,
)
from privacygauge.report.values import (
    About,
    Axes,
    Cell,
    Content,
    DataFrame,
    Json,
    Measure,
    Report,
    Rows,
    Worst,
    ends,
    estimate_dict,
    frame,
    pick_values,
    table,
)
from privacygauge.runs.options import Options, keyword


class DefenceAudit(DefenceResult):
    """Findings of an audit of defences, with its report, tables and plots.

    ``to_frame`` has one row per defence, attack and adversary.
    """

    def report(self) -> Report:
        """Return the report, as plain values."""
        epochs = {"epochs.csv": lambda: epochs_frame(self)} if self.curve else {}
        n = len(self.compared)
        defence = (
            "Another way to train the model, or a change of its answers before anybody sees them."
            if self.n_shadows
            else "A change of the model's answers before anybody sees them. The model stays as it "
            "is."
        )
        heading = "Right guesses of the best attack; guessing gives 50%"
        notes = {
            f"{heading}.": True,
            "\N{DAGGER} can be undone by who knows it: counts as no defence.": any(
                c.undone for c in self.compared
            ),
            "Stopped early: the undefended training, stopped at the same accuracy.": bool(
                self.curve
            ),
        }
        beside = "Stopped early" if self.curve else "Moved"
        first: dict[str, Content] = {
            "Defence": "none",
            "Adaptive": right(self.none.accuracy),
            "Non-adaptive": DASH,
            beside: DASH if self.curve else "0",
            "Model right": right(self.compared[0].before).value,
        }
        rows: Rows = [first]
        for c in self.compared:
            number: Content = decimal_estimate(c.judged.distance, 2).value
            if self.curve:
                epoch = (f"epoch {c.stopped.epoch}",) if isinstance(c.stopped, AfterEpoch) else ()
                number = Cell(early_stopping_result(c).value, epoch)
            rows.append(
                {
                    "Defence": Cell(mark_undone(c), claim(c)),
                    "Adaptive": right(c.adaptive.accuracy),
                    "Non-adaptive": right(c.non_adaptive.accuracy).value,
                    beside: number,
                    "Model right": right(c.after).value,
                }
            )
        note = " ".join(note for note, holds in notes.items() if holds)
        return Report(
            "defences",
            "Defences of a classifier, compared",
            about=About(
                f"A model behind a defence: {plain(self.best.title)}",
                "Somebody who holds a record and knows the defence guesses: was it in the model's "
                "training data?",
                "the defended answers, a model of its own behind the same defence, and the choice "
                "to undo or to ignore it",
                "membership-inference",
            ),
            intro=f"{count(self.n_in)} members and {count(self.n_out)} non-members; "
            f"{count(self.n_attacks)} attacks on the undefended model and behind "
            f"{'the defence' if n == 1 else f'{count(n)} defences'}. Small figures are "
            f"{rate(self.level)} intervals, wide enough to hold together.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=sections(self),
            terms={"Defence": defence, **_TERMS},
            worst=Worst(ids=tuple(plain(shorten(record.id)) for record in self.best.judged.worst)),
            data=data(self),
            frames={
                "defences.csv": lambda: defences_frame(self),
                "attacks.csv": lambda: frame(self.lines()),
                **epochs,
            },
            nothing_left_out="Nothing: every attack was played against every defence.",
            overview=(table("overview", heading, rows, note, spare=(beside, "Model right")),),
            sources="Song and Mittal, Systematic Evaluation of Privacy Risks of Machine Learning "
            "Models (2021); Jia and others, MemGuard (2019).",
        )

    def plot_trade_off(self, ax: Axes | None = None) -> Axes:
        """Plot the accuracy of attacks over the change of answers."""
        return plot_trade_off(self, ax)


_CROSSFITTED = (
    "on all members and, in turn, on either half of the non-members, to answer the other half"
)
_OWNED = "on records of the owner that are not judged"
_AT_HAND = "by the owner: the defended answers were given"
_TRAINED = (
    "at training, on the records of each model; those on answers as each model's owner can: on "
    "all members and, in turn, on either half of the non-members, to answer the other half"
)


@dataclass(frozen=True, kw_only=True)
class DefenceOptions(Options):
    """An audit of defences that change a model's answers."""

    attacks: Sequence[Attack] | None = keyword(
        "Attacks that are played against every defence; by default, the suite of "
        "`prediction_attacks` and two neural networks.",
        default=None,
    )
    estimator: Estimator | None = keyword(
        "Estimator of the privacy risk score; default: isotonic regression.", default=None
    )

    def run(
        self,
        target: PredictionsLike,
        shadow: PredictionsLike,
        defences: Sequence[Defence],
        *,
        target_owner: PredictionsLike | None = None,
        shadow_owner: PredictionsLike | None = None,
        unit: ArrayLike | str | None = None,
        session: Session = Session("defend"),
    ) -> DefenceAudit:
        """Measure attacks against each defence, and the cost of the defence.

        Parameters
        ----------
        target : Predictions, path, mapping of arrays, or data frame
            Undefended predictions of the audited model on known members and known non-members.
        shadow : Predictions, path, mapping of arrays, or data frame
            Undefended predictions of a model that the adversary trained, on records of its own.
        defences : sequence of Defence
            At least one, such as ``MemGuard(budget=1.0)``.
        target_owner, shadow_owner : optional
            Predictions of either model on the records that its defence is fitted on: its members,
            and non-members that are not judged. Without them the judged records are cross-fitted.
        unit : array_like (n,) or str, optional
            The person behind each row of the target, or the name of the column of people; as in
            `audit_classifier`.
        session : Session, optional
            Seed and level; its callback for progress is called after each game.

        Returns
        -------
        DefenceAudit
            For each defence, every attack three times: on the undefended model, by an adversary who
            does not know the defence, and by one who does. Only the last shows the defence's worth.

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Song & Mittal (2021), section 3.2.
        """
        checks.kinds(defences, "defences", "name", "pg.defences.Rounding(2)")
        target, shadow, asked, warnings = self._undefended(target, shadow, unit, session)
        require_different_defences(defences)
        owners_of_both = (
            None if target_owner is None else as_predictions(target_owner, "target_owner"),
            None if shadow_owner is None else as_predictions(shadow_owner, "shadow_owner"),
        )
        played = on_answers(
            defences,
            target,
            shadow=shadow,
            owners=owners_of_both,
            asked=asked,
            told=session.progress or (lambda done, total: None),
        )
        return _audit(played, _CROSSFITTED if target_owner is None else _OWNED, warnings, session)

    def run_on_answers(
        self,
        target: PredictionsLike,
        shadow: PredictionsLike,
        defended_target: PredictionsLike,
        defended_shadow: PredictionsLike,
        *,
        name: str = "defended",
        unit: ArrayLike | str | None = None,
        session: Session = Session("defend"),
    ) -> DefenceAudit:
        """Return the audit of one defence from its answers, as `audit_defences` does.

        Parameters
        ----------
        target, shadow : Predictions, path, mapping of arrays, or data frame
            Undefended predictions of either model.
        defended_target, defended_shadow : Predictions, path, mapping of arrays, or data frame
            Answers of the defended models on the same records, in the same order.
        name : str
            Name of the defence, for the reader.
        unit : array_like (n,) or str, optional
            The person behind each row of the target, or the name of the column of people.
        session : Session, optional
            Seed and level.

        Returns
        -------
        DefenceAudit

        Raises
        ------
        InputError
            If the defended answers are on other records.
        """
        target, shadow, asked, warnings = self._undefended(target, shadow, unit, session)
        answers = as_predictions(defended_target, "defended_target")
        own = as_predictions(defended_shadow, "defended_shadow")
        require_same_records(target, answers, "defended_target", "target")
        require_same_records(shadow, own, "defended_shadow", "shadow")
        # The defended rows are the same, and so are the people behind them.
        answers = replace(answers, unit=target.unit)
        played = behind_one(name, target, shadow=shadow, answers=answers, own=own, asked=asked)
        return _audit(played, _AT_HAND, warnings, session)

    def _undefended(
        self,
        target: PredictionsLike,
        shadow: PredictionsLike,
        unit: ArrayLike | str | None,
        session: Session,
    ) -> tuple[Predictions, Predictions, judging.DefenceOptions, list[str]]:
        """Return both models' checked predictions, the options of every game, and warnings."""
        checks.kinds(self.attacks, "attacks", "score", "pg.attacks.Threshold(...)")
        checks.kind(self.estimator, "estimator", "learn", "pg.attacks.Isotonic()")
        # People are settled before any game: halves, parts and intervals keep their rows together.
        owned = settle_units(as_predictions(target, "target", unit=unit))
        own = as_predictions(shadow, "shadow")
        require_other_rows(owned.target, own)
        require_varied_answers(owned.target)
        suite = (
            defence_attacks(logits=owned.target.logits) if self.attacks is None else self.attacks
        )
        asked = judging.DefenceOptions(tuple(suite), self.estimator, session.seed, session.level)
        # Classes may lack shadow records, and target and shadow may differ.
        lacking = missing_classes(owned.target, own, True)
        ours, theirs = (
            (x.values.argmax(axis=1) == x.labels, x.member, x.units) for x in (owned.target, own)
        )
        warnings = [
            *owned.warnings,
            *[*lacking, *compare_accuracies(ours, theirs, session.level)[1]],
        ]
        return owned.target, own, asked, warnings


audit_defences = one_line(
    DefenceOptions,
    DefenceOptions.run,
    "audit_defences",
    without=NO_RUN,
    arrays=ARRAYS,
)
audit_defended = one_line(
    DefenceOptions, DefenceOptions.run_on_answers, "audit_defended", without=KEEPING, arrays=ARRAYS
)


@dataclass(frozen=True, kw_only=True)
class TrainingDefenceOptions(Options):
    """An audit of defences of a training."""

    n_shadows: int = keyword("Number of shadow models of each kind, at least 1.", default=8)
    attacks: Sequence[Attack] | None = keyword(
        "Attacks that are played against every defence; default: the suite of `training_attacks`.",
        default=None,
    )
    estimator: Estimator | None = keyword(
        "Estimator of the privacy risk score; default: isotonic regression.", default=None
    )
    delta: float | None = keyword(
        "Delta of DP-SGD or output perturbation given by name; see `Private`.", default=None
    )

    def run(
        self,
        model: object,
        x: object,
        y: ArrayLike | None,
        defences: Sequence[TrainingDefence | Defence | Trainer | str],
        *,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        before: Before | None = None,
        session: Session = Session("defend"),
    ) -> DefenceAudit:
        """Measure attacks against each defence at training, and the cost of the defence.

        A target and shadow models are trained without a defence and with each defence, on records
        chosen by fair, independent coins. For networks, the undefended training is recorded epoch
        by epoch, so that every defence at training is compared with early stopping at the same
        accuracy.

        Parameters
        ----------
        model : Networks, or what `audit_model` takes
            Training without a defence. Most defences at training need `Networks`.
        x : array_like or data frame of n records
            Candidate records, as in `audit_model`; None for a `Training`.
        y : array_like of int, shape (n,)
            Classes in 0..k-1.
        defences : sequence of TrainingDefence, Defence, Trainer or str
            At least one: ``Private(8.0)``, ``"dp-sgd:8"``, ``LabelOnly()`` on the undefended model,
            or a trainer of your own. Adversarial regularisation and distillation set a fifth of the
            records apart as references: no model is trained on them and no attack is judged on
            them.
        ids : array_like, shape (n,), optional
            Names of the records in the report.
        unit : array_like, shape (n,), optional
            The person behind each record; default: equal ids. One coin decides for all records of a
            person, and intervals count people.
        before : callable, optional
            Called with the trainings and their cohort before the first model is trained.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        DefenceAudit
            For each defence, every attack three times, as in `audit_defences`; in `curve`, the best
            attack after every recorded epoch of the undefended training.

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Song & Mittal (2021), section 3.2. Epochs are chosen by the accuracy of shadow models, so
        the choice favours no attack on the target.
        """
        records = prepare_records(model, x, y)
        suite = self.attacks
        if suite is None:
            suite = training_attacks(logits=records.trainer.logits)
        owner = owners(unit, ids, len(records.y))
        played = at_training(
            records,
            [as_defence(one, self.delta) for one in defences],
            n_shadows=self.n_shadows,
            asked=judging.DefenceOptions(tuple(suite), self.estimator, session.seed, session.level),
            ids=ids,
            owner=owner,
            execution=Execution.of(session),
            before=before,
        )
        # With named people one coin decides for all of their records, equal ones too.
        of_units = twice(records.x, records.y) if owner is None else []
        return _audit(played, _TRAINED, of_units, session)


audit_training_defences = one_line(
    TrainingDefenceOptions, TrainingDefenceOptions.run, "audit_training_defences"
)


def _audit(
    played: PlayedDefences, fitted: str, warnings: Sequence[str], running: Session
) -> DefenceAudit:
    """Return the audit of the attacks and defences that were run, with warnings."""
    found = played.found
    doubts = tuple(of_classes(played.target, running.level))
    behind = (direction.warnings(c.left.inverted, c.title) for c in found.compared)
    # Attacks that take members for non-members hide a leak, with a defence or without.
    turned = (*direction.warnings(found.none.inverted, "Without a defence"), *chain(*behind))
    origin = running.origin(
        played.package,
        skipped=played.skipped,
        warnings=(*played.warnings, *warnings, *doubts, *turned),
        about=played.about,
    )
    return DefenceAudit(**vars(found), origin=origin, fitted=fitted, doubts=doubts)


def _measures(f: DefenceResult) -> Iterator[Measure]:
    best = f.best
    name = plain(f.best.title)
    found = best.left.reached
    reached = [c.left.reached for c in f.compared]
    label = "Right guesses without a defence"
    note = f"by {plain(f.none.attack)}"
    yield _card(
        "accuracy-without", label, found=f.none.accuracy, note=note, text="Guessing gives 50%."
    )
    note = f"with {name}, by {plain(best.left.leading)}, {adversary(best)}"
    label = f"{right_of(found)} that are left"
    yield _card("accuracy-left", label, found.accuracy, note, gate=True)
    label = "Right guesses if it is a surprise"
    surprised = best.non_adaptive.accuracy
    note = f"by an attacker who does not expect {name}"
    text = "Non-adaptive: do not count on it."
    yield _card("accuracy-non-adaptive", label, found=surprised, note=note, text=text)
    note = f"on records that it was not trained on; {percent(best.before.value)} without {name}"
    label = "The model's own accuracy with it"
    after = best.after
    yield Measure(
        name="model-accuracy", label=label, found=after, shown=right(after), note=note, gate=False
    )
    early = best.stopped
    if early is None:
        what = "undefended" if best.at_training else "true"
        moved = best.judged.distance
        text = f"L1 distance between the {what} and the released probabilities: 0 to 2."
        label = "Mean change of an answer"
        shown = decimal_estimate(moved, 2)
        yield Measure(
            name="mean-change",
            label=label,
            found=moved,
            shown=shown,
            note="",
            text=text,
            gate=False,
        )
    else:
        label = "Right guesses after stopping early"
        stopped: Estimate | Skipped = (
            early if isinstance(early, Skipped) else early.best.reached.accuracy
        )
        told = "no epoch is as accurate"
        if not isinstance(early, Skipped):
            told = f"after epoch {early.epoch}, model right {percent(early.accuracy.value)}"
        beside = f"the undefended training, as accurate: {told}"
        yield Measure(
            name="accuracy-stopped-early",
            label=label,
            found=stopped,
            shown=early_stopping_result(best),
            note=beside,
            guessing=GUESSING,
            gate=False,
        )
    tenth = next(q for q in best.judged.quantiles if q.share == 0.9)
    # An undone defence leaves every record's risk as it was.
    risk = tenth.undefended if best.undone else tenth.defended
    note = f"privacy risk score; {percent(tenth.undefended.value)} without a defence"
    label = "Risk of one member in ten, at least"
    text = "Guessing gives 50%."
    yield Measure(
        name="risk-of-tenth",
        label=label,
        found=risk,
        shown=right(risk),
        note=note,
        text=text,
        gate=False,
    )
    # Guesses rest on a threshold; the AUC also shows a leak that a bad threshold hides.
    area = best.left.auc
    label = "AUC that is left with the best defence"
    shown = decimal_estimate(area)
    yield Measure("auc-left", label, area, shown, guessing="0.5", card=False)
    turned = [c.title for c in f.compared if c.left.untold]
    which = "with the least private defence"
    gravest = max(reached, key=lambda x: x.accuracy.value)
    highest = [x.accuracy for x in reached]
    areas = [c.left.auc for c in f.compared]
    yield highest_of(
        "accuracy",
        f"{right_of(gravest)} {which}",
        found=highest,
        show=right,
        guessing=GUESSING,
        reversed_by=turned,
    )
    yield highest_of(
        "auc",
        f"AUC {which}",
        found=areas,
        show=decimal_estimate,
        guessing="0.5",
        reversed_by=turned,
    )


def _card(
    name: str, label: str, found: Estimate, note: str, text: str = "", *, gate: bool = False
) -> Measure:
    return Measure(
        name=name,
        label=label,
        found=found,
        shown=right(found),
        note=note,
        text=text,
        guessing=GUESSING,
        gate=gate,
    )


_TERMS = {
    "Member": MEMBER,
    "Attack": "A way to guess from an answer whether a record is a member.",
    "Shadow model": "A model that the attacker trains on data of its own, to learn how members and "
    "non-members look.",
    "Adaptive": "The attacker knows the defence and uses it on the shadow model before learning. "
    "What counts.",
    "Non-adaptive": "The attacker learnt on undefended answers. Flatters the defence.",
    "Right guesses": "Balanced accuracy: members and non-members count the same. Guessing gives "
    "50%.",
    "Advantage": "True-positive rate minus false-positive rate: 0 for guessing, 100 points for "
    "always being right.",
    "AUC": AUC,
    "Mean change": "How far released answers are from the true ones: the sum of the absolute "
    "differences of all probabilities, between 0 and 2.",
    "Can be undone": "The true answers follow from the released ones for whoever knows the "
    "parameter, such as a temperature.",
    "Privacy risk score": "The probability that a record is a member, given what the attacker "
    "sees, at even odds beforehand.",
    "Bonferroni": "Who looks often finds something by luck. The error is shared among all looks, "
    "so that all of them hold together.",
}


def defences_frame(f: DefenceResult) -> DataFrame:
    """Return one row per defence: its cost, and the result of the best attack.

    Columns: ``defence``, ``can_be_undone``, ``attack`` and ``attack_non_adaptive``; for
    ``model_accuracy_before`` and ``_after`` (on non-members), ``distance``, ``accuracy`` and
    ``auc`` (adaptive), ``accuracy_non_adaptive``, ``auc_non_adaptive``, and for each quantile of
    the members' risk score ``risk_0.5_before`` and ``_after``: the value, ``_low`` and ``_high``.
    If models were trained also ``at_training``, ``epsilon``, ``delta`` and the ``accountant``, and
    for early stopping at the same accuracy ``stopped_epoch``, ``stopped_model_accuracy`` and
    ``stopped_accuracy`` (of the best attack).
    """
    rows = []
    for c in f.compared:
        row: dict[str, object] = {
            "defence": c.title,
            "can_be_undone": c.undone,
            "attack": c.adaptive.attack,
            "attack_non_adaptive": c.non_adaptive.attack,
            **ends("model_accuracy_before", c.before),
            **ends("model_accuracy_after", c.after),
            **ends("distance", c.judged.distance),
            **ends("accuracy", c.adaptive.accuracy),
            **ends("auc", c.adaptive.auc),
            **ends("accuracy_non_adaptive", c.non_adaptive.accuracy),
            **ends("auc_non_adaptive", c.non_adaptive.auc),
        }
        for q in c.judged.quantiles:
            row |= ends(f"risk_{q.share:g}_before", q.undefended)
            row |= ends(f"risk_{q.share:g}_after", q.defended)
        if f.n_shadows:
            early = c.stopped if isinstance(c.stopped, AfterEpoch) else None
            row |= {
                "at_training": c.at_training,
                **claim_columns(c.claim),
                "against_early_stopping": c.worth or None,
                "stopped_epoch": early.epoch if early else None,
                **ends("stopped_model_accuracy", early.accuracy if early else None),
                **ends("stopped_accuracy", early.best.accuracy if early else None),
            }
        rows.append(row)
    return frame(rows)


def epochs_frame(f: DefenceResult) -> DataFrame:
    """Return one row for every recorded epoch of the undefended training."""
    rows = [
        {
            "epoch": point.epoch,
            "attack": point.best.attack,
            **ends("train_accuracy", point.train_accuracy),
            **ends("model_accuracy", point.accuracy),
            **ends("accuracy", point.best.accuracy),
            **ends("auc", point.best.auc),
        }
        for point in f.curve
    ]
    return frame(rows)


def data(f: DefenceResult) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has.

    Intervals of ``undefended``, and of ``adaptive``, ``non_adaptive`` and ``left`` of all
    ``defences``, hold together at ``level``; those of ``attacks`` hold individually. ``left``
    counts: the strongest adversary, who may undo the defence if it ``can_be_undone``. If models
    were trained: ``n_shadows``, the ``curve`` of the undefended training by epoch, and for each
    defence whether it is ``at_training``, ``early_stopping`` at the same accuracy (null if there is
    none) and the ``claim`` of an accountant. The records at the highest risk are given by id, with
    membership and risk.
    """
    at_training = bool(f.n_shadows)
    curve: list[Json] = [_epoch(point) for point in f.curve]
    defences: list[Json] = []
    for c in f.compared:
        known: dict[str, Json] = {}
        if at_training:
            known["at_training"] = bool(c.at_training)
            known["early_stopping"] = None
            if isinstance(c.stopped, AfterEpoch):
                known["early_stopping"] = _epoch(c.stopped)
            if isinstance(c.stopped, Skipped):
                known["no_early_stopping"] = c.stopped.reason
            known["claim"] = claim_dict(c.claim)
        judged = c.judged
        defences.append(
            {
                **known,
                **pick_values(judged, "name", "variant", "distance", "costs", "worst"),
                "can_be_undone": c.undone,
                "adaptive": {
                    **_best_attack_json(c.adaptive),
                    "epsilon": estimate_dict(judged.headline.epsilon),
                },
                "non_adaptive": _best_attack_json(c.non_adaptive),
                "left": _best_attack_json(c.left),
                "mean_risk": estimate_dict(judged.risk.mean),
                "risk_quantiles": {
                    key(q.share): pick_values(q, "undefended", "defended") for q in judged.quantiles
                },
                "attacks": [
                    {
                        **pick_values(a, "lost", name="title"),
                        **{
                            adversary.replace("-", "_"): pick_values(e, "accuracy", "auc")
                            for adversary, e in a.by_adversary.items()
                        },
                    }
                    for a in judged.attacks
                ],
            }
        )
    return {
        **pick_values(f, "n_in", "n_out", "fitted"),
        "best": f.best.title,
        "undefended": {
            **_best_attack_json(f.none),
            "epsilon": estimate_dict(f.undefended.epsilon),
            "mean_risk": estimate_dict(f.risk.mean),
        },
        **({"n_shadows": f.n_shadows, "curve": curve} if at_training else {}),
        "defences": defences,
    }


def _epoch(point: AfterEpoch) -> dict[str, Json]:
    return {
        **pick_values(point, "epoch", "train_accuracy", model_accuracy="accuracy"),
        **_best_attack_json(point.best),
    }


def _best_attack_json(b: BestAttack) -> dict[str, Json]:
    return {
        **pick_values(b, "attack", "accuracy", "auc_attack", "auc"),
        "reached": estimate_dict(b.reached.accuracy),
        "at_most": b.at_most,
        "decided": grade_basis(b.reached),
    }
