"""The audit of a model, or of a way to train one, with shadow models that it trains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifiers.answers import said_of_times
from privacygauge.classifiers.attacked import named_columns
from privacygauge.classifiers.audit.options import (
    NAME,
    ClassifierRequest,
    ReleaseOptions,
    ShadowOptions,
)
from privacygauge.classifiers.audit.predictions import (
    ClassifierOptions,
    DealtGame,
    PredictionAuditOptions,
    assemble,
    pool_description,
)
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.estimators import AVERAGED, ByRows
from privacygauge.classifiers.files import PoolLike, PredictionsLike, as_pool, as_predictions
from privacygauge.classifiers.fitted import (
    Fitted,
    Further,
    with_labels,
)
from privacygauge.classifiers.game import PoolGame, with_equal_counts
from privacygauge.classifiers.held import Held, numeric
from privacygauge.classifiers.known import HELD_BY, comparison_of
from privacygauge.classifiers.label_only import LabelOnlyQueries
from privacygauge.classifiers.named import fitted_model, recorded_target
from privacygauge.classifiers.predictions import ARRAYS, LogitPool, Pool, predictions, probabilities
from privacygauge.classifiers.probe_training import DEFAULT_SHADOWS, paid_for, prepare_records
from privacygauge.classifiers.shadowed import require_logits, train_missing_shadows
from privacygauge.classifiers.shadows import Execution, failed_shadows_warning
from privacygauge.classifiers.suite import FORETOLD, chosen_attacks, pool_attacks
from privacygauge.classifiers.training_options import materials, on_records
from privacygauge.classifiers.units_of_rows import settle_units, twice
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import ESTIMATORS
from privacygauge.core.estimate import Skipped
from privacygauge.core.release import counts_of
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.evaluate.over_targets import Foretold, what_more_buy
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session, Work
from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.runs.options import keyword
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import plan_in, unchecked_code


@dataclass(frozen=True, kw_only=True)
class PoolOptions(ReleaseOptions):
    """An audit of a classifier with predictions of shadow models on the same records."""

    def run(
        self,
        target: PredictionsLike,
        pool: PoolLike | LogitPool,
        *,
        further: Further | None = None,
        features: Held | None = None,
        slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
        unit: ArrayLike | str | None = None,
        session: Session = Session("classifier"),
    ) -> Audit:
        """Audit a classifier from its predictions and those of shadow models on the same records.

        Parameters
        ----------
        target : Predictions, path, mapping of arrays, or data frame
            As in `audit_classifier`.
        pool : Pool, LogitPool, path, or mapping of arrays
            Predictions of shadow models for the target's records, in the same order; see `as_pool`.
            Independent coins must choose each model's training set: exact halves would reveal the
            target's bit.
        further : Further, optional
            Signals of label-only queries.
        features : ndarray, shape (n, d), optional
            The records themselves, for attacks that use them.
        slices, unit
            As in `audit_classifier`.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        Audit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.
        """
        checks.kind(further, "further", Further, "Further(target, pool)")
        played, unplayed = chosen_attacks(
            self.attacks, pool_attacks(logits=True) if further is None else further.attacks
        )
        asked = named_columns(slices, self.show_columns)
        target = as_predictions(target, "target", unit=unit, columns=asked)
        pool = (
            pool
            if isinstance(pool, LogitPool)
            else as_pool(pool, "pool", target_classes=target.classes)
        )
        if isinstance(pool, Pool):
            # One side was saved as probabilities: logits cannot be recovered from these.
            if pool.logits != target.logits:
                with_logits = pool if pool.logits else target
                answers = probabilities(with_logits.answers, logits=True)
                if pool.logits:
                    pool = replace(pool, answers=answers, logits=False)
                else:
                    target = replace(target, answers=answers, logits=False)
            other_models = range(1, len(pool))
            # Stop at the first difference.
            if (
                other_models
                and all(np.array_equal(pool.answers[0], pool.answers[i]) for i in other_models)
                and any((pool.inside[0] != pool.inside[i]).any() for i in other_models)
            ):
                raise InputError(
                    f"all {len(pool)} shadow models give the same predictions, though they were "
                    "trained on different records: attacks would find nothing, whatever leaks. "
                    "Train each from scratch on its own records, and ask the model that was "
                    "trained"
                )
            # Coins need no evening; `further` holds signals of all models.
            if not self.drawn and further is None:
                rng = seeds.stream(session.seed, "equal counts")
                evened = with_equal_counts(pool, target.member, rng)
                if evened is not None:
                    pool = evened
                    session = replace(session, warnings=(*session.warnings, _EVENED))
        known = None if features is None else numeric(features)
        game = PoolGame(target, pool, known)  # refuses a pool of other records
        others = (pool if isinstance(pool, Pool) else pool.first).of_few_models()
        owned = settle_units(target, drawn=self.drawn, features=features, others=others)
        target = owned.target
        about = {"shadow models": str(len(pool)), **(session.provenance or {})}
        session = replace(session, provenance=about)
        # The target now has its units; its predictions are those that the game has checked.
        [dealt] = replace(game, target=target).deal(1, seeds.stream(session.seed, "deal"))
        comparison, unused = comparison_of(
            [dealt],
            owned,
            session.seed,
            session.level,
            features=features,
            pool=pool,
            drawn=self.drawn,
        )
        # The numbers of models that hold each record give the target's bits away.
        holds_the_answer = any(x.column == HELD_BY for x in comparison.differences)
        if self.attacks is None and further is None and not comparison.told and holds_the_answer:
            alone = self.shared(ClassifierOptions).run(
                target,
                features=None if features is None else numeric(features),
                slices=slices,
                session=session,
            )
            # An audit without the pool sees less: what it finds counts, what it does not find says
            # nothing about attacks that compare models.
            if alone.report().verdict.grade not in (NONE, UNTOLD):
                reason = (
                    f"the {HELD_BY} tells members and non-members apart, as where each record is "
                    "in exactly half of all models: choose each model's training set by "
                    "independent coins"
                )
                left_out = Skipped("attacks with the pool of shadow models", reason)
                said = f"The pool of shadow models was left out: {reason}"
                origin = alone.origin
                return replace(
                    alone,
                    origin=replace(
                        origin,
                        skipped=(left_out, *origin.skipped),
                        warnings=(said, *origin.warnings),
                    ),
                )
        suite = pool_attacks(logits=target.logits)
        if further is not None:
            dealt = further.onto(dealt)
            suite = further.attacks
        count = counts_of(pool.inside)
        # Attacks on single records know only one side of records in all shadow models, or in none.
        n_lone = int(np.count_nonzero((count == 0) | (count == len(pool))))
        notes = []
        if n_lone:
            notes += [
                f"{n_lone:,} of {pool.n_targets:,} records are in all of the {len(pool)} shadow "
                "models or in none: attacks on single records know only one side of them; train "
                "more shadow models"
            ]
        if not isinstance(pool, Pool):
            notes += [
                "the run holds one logit for each shadow model and record, and whole vectors of "
                f"{len(pool.first)} shadow model(s): thresholds, risk scores and networks learn "
                "on these"
            ]
        audit = assemble(
            DealtGame(
                [dealt],
                target,
                description=pool_description(
                    target, pool, drawn=self.drawn, labels=further is not None
                ),
                comparison=comparison,
                has_shadow=True,
                features=features,
            ),
            PredictionAuditOptions(
                suite if self.attacks is None else played,
                self.estimator,
                slices,
                self.show_columns,
            ),
            session,
            skipped=unplayed,
            warnings=[
                *owned.warnings,
                *unused,
                *notes,
            ],
        )
        # Prediction from halves of the pool needs no further training.
        more = what_more_buy(
            FORETOLD, dealt, seeds.stream(session.seed, "more models"), session.level
        )
        return replace(audit, more_models=tuple(x for x in more if isinstance(x, Foretold)))


audit_pool = one_line(PoolOptions, PoolOptions.run, "audit_pool", without=KEEPING, arrays=ARRAYS)


@dataclass(frozen=True, kw_only=True)
class ModelOptions(ShadowOptions):
    """An audit of a training procedure for a classifier, with shadow models that it trains."""

    label_only: LabelOnlyQueries | bool | None = keyword(
        "The adversary sees classes only, and makes these queries about each record, the default "
        "ones if True. Records may be numbers, images of any shape, texts or tables, with or "
        "without missing values; a `Training` is queried about the records that it looks up. "
        "Models need no probabilities: ``predict``, or a function that returns classes by number "
        "or name, is enough.",
        default=None,
    )
    n_shadows: int = keyword(
        "Number of shadow models, at least 1. More models make attacks on single records stronger: "
        "4 are enough for these attacks to work, and 64 for a variance per record.",
        default=16,
    )
    weights: str | Path | None = keyword(
        "Folder for the weights of networks, as safetensors; without one they are dropped.",
        default=None,
    )

    def run(
        self,
        model: object,
        x: object = None,
        y: ArrayLike | None = None,
        *,
        fitted: Fitted | None = None,
        slices: Mapping[str, ArrayLike] | None = None,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        session: Session = Session("classifier"),
    ) -> Audit:
        """Audit a training procedure for a classifier, or a classifier that it produced.

        Shadow models are trained on records that fair, independent coins choose; so is a target,
        unless one is given. Every attack then plays against the target with the help of the shadow
        models.

        Parameters
        ----------
        model : estimator, callable, Training or Trainer
            Training procedure: a scikit-learn, XGBoost or LightGBM estimator; a callable that takes
            a random state and returns an untrained estimator; a function of records, classes and a
            random state that returns a trained model; `Training` with functions of record numbers;
            or `Networks` for PyTorch modules.
        x : array_like or data frame of n records
            Candidate records: those that the target may have been trained on, and others like them.
            Models get data frames of pandas and polars, texts and images unchanged. A `Training`
            looks its records up itself.
        y : array_like of int or str, shape (n,)
            Classes in 0..k-1, or their names.
        fitted : Fitted, optional
            The model to audit, if it exists already; default: a target is trained.
        slices : mapping of str to array_like (n,), optional
            Groups to evaluate in addition to the classes and the deciles of confidence.
        ids : array_like, shape (n,), optional
            Names of the records in the report.
        unit : array_like, shape (n,), optional
            The person behind each record; default: equal ids. One coin puts all records of a person
            in or leaves all out, and intervals resample people.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        Audit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        Song & Mittal (2021); Long et al. (2017), section 5; Carlini et al. (2022).
        """
        if isinstance(self.label_only, bool):
            queries = LabelOnlyQueries() if self.label_only else None
        else:
            checks.kind(
                self.label_only,
                "label_only",
                LabelOnlyQueries,
                "True, or pg.attacks.LabelOnlyQueries()",
            )
            queries = self.label_only
        checks.kind(fitted, "fitted", Fitted, "pg.Fitted(model, member)")
        checks.kind(slices, "slices", Mapping, "a mapping of names to columns")
        checks.kind(session.run, "run", (str, Path), "the path of a folder")
        played, _ = chosen_attacks(self.attacks, pool_attacks(logits=True))
        about = prepare_records(model if queries is None else with_labels(model, y), x, y)
        queries = None if queries is None else queries.fitting(about.x)
        owner = owners(unit, ids, len(about.y))
        options = {
            "unit": owner,
            "seed": session.seed,
            "execution": Execution.of(session, weights=self.weights),
        }
        made = train_missing_shadows(
            about,
            options,
            fitted=fitted,
            label_only=queries,
            n_shadows=self.n_shadows,
            half_width=self.half_width,
            one_logit=self.one_logit,
            attacks=None if self.attacks is None else played,
            level=session.level,
        )
        end_of_sharing()
        # Only coins of this audit can separate equal records.
        of_units = twice(about.x, about.y) if owner is None and fitted is None else []
        seen = {}
        if queries is not None:
            seen = {"queries per record": str(queries.n_queries), "seen": "classes only"}
        # A given model's members came with it; those of a trained target were drawn here.
        judged = self.shared(PoolOptions, drawn=fitted is None)
        if ids is None and not slices and owner is None:
            named = made.target
        else:
            given: dict[str, Any] = {
                "logits" if made.target.logits else "probs": made.target.answers
            }
            named = predictions(
                labels=made.target.labels,
                member=made.target.member,
                ids=made.target.ids if ids is None else ids,
                columns=slices,
                unit=owner,
                classes=made.target.classes,
                name="target model",
                **given,
            ).with_notes(made.target.notes)
        audit = judged.run(
            named,
            made.pool,
            further=made.further,
            features=about.x,
            session=Session(
                session.command,
                session.seed,
                session.level,
                {"model": about.trainer.name, **seen, **(session.provenance or {})},
                warnings=(
                    *session.warnings,
                    *failed_shadows_warning(made.failed, self.n_shadows),
                    *unchecked_code(session.run),
                    *of_units,
                    *said_of_times(int(about.trainer.describe().get(AVERAGED, 1))),
                ),
            ),
        )
        return replace(audit, targets=made.several)


audit_model = one_line(ModelOptions, ModelOptions.run, "audit_model")


_EVENED = (
    "each record is in equally many models, so that the number of shadow models that hold it tells "
    "whether the target does: one shadow model's answer to each record was left out, after which "
    "the numbers are equal for all; independent coins for each model leave all answers in"
)


def audit_trained(asked: ClassifierRequest, work: Work) -> Audit:
    """Run the requested audit, training the models that the run does not hold yet."""
    # Before any of the user's code is imported: the run may have been made with other code.
    running = work.running(NAME, asked)
    held = materials(asked, work, member=asked.member)
    if asked.one_logit:
        require_logits(held.trainer.name, held.trainer.logits)
    records = held.records
    if asked.fitted is None or records.member is None:
        fitted = None
    elif work.read is not None:
        # A recorded label-only target holds all records once per kind of query.
        kinds = len(LabelOnlyQueries().names) if asked.label_only else 1
        member = np.tile(records.member, kinds)
        y = np.tile(records.y, kinds)
        fitted = Fitted(recorded_target(work.read, member, y), records.member)
    else:
        model = fitted_model(
            asked.fitted, labels=asked.label_only, anything=isinstance(held.trainer, ByRows)
        )
        takes = getattr(model, "n_features_in_", None)
        # A fitted pipeline may encode the columns in another way than the shadow models' features.
        if takes is not None and isinstance(held.x, np.ndarray) and held.x[0].size != takes:
            raise InputError(
                f"--fitted {asked.fitted} takes {takes} features, and --model {asked.model} the "
                f"{held.x[0].size} numbers that the columns become: give --model FILE.py:NAME "
                "with the same pipeline as the fitted one, for the shadow models"
            )
        fitted = Fitted(model, records.member, records.names)
    n_targets = int(asked.fitted is None)
    known = None if work.run is None else plan_in(work.run)
    begun = None if known is None else known.n_units - n_targets
    if asked.half_width is not None:
        # The number of targets is open, and so is the cost: nothing is announced.
        shadows = asked.shadows or DEFAULT_SHADOWS
    elif begun is not None and asked.shadows in (None, begun):
        # A run keeps its number of models: a new estimate of the cost could change it.
        shadows = begun
    else:
        shadows, told = paid_for(
            held.trainer,
            held.x,
            y=records.y,
            wanted=asked.shadows,
            budget=asked.budget,
            n_targets=n_targets,
            n_jobs=work.jobs,
            seed=asked.seed,
        )
        work.say(told)
    # Options as they were settled: resuming needs no estimate of the cost.
    if running.invocation is not None:
        settled = replace(asked, shadows=shadows, budget=None).settled()
        running = replace(running, invocation={**running.invocation, "options": settled})
    names = held.records.names
    classes = ", ".join(f"{i} = {name}" for i, name in enumerate(names[:20]))
    classes += ", ..." if len(names) > 20 else ""
    running = on_records(running, held.records, classes=classes)
    with work.resumable(asked), work.bar("Training models") as progress:
        options = asked.shared(
            ModelOptions,
            attacks=asked.attacks or None,
            estimator=ESTIMATORS[asked.risk],
            n_shadows=shadows,
        )
        return options.run(
            held.trainer,
            held.x,
            held.records.y,
            fitted=fitted,
            slices=held.records.columns,
            ids=held.records.ids,
            unit=held.records.unit,
            session=replace(running, progress=progress),
        )
