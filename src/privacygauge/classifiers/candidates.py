"""The candidate-set game of Long et al. (2017), section 5.4, and its results per record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.game import GeneralShadow, PoolGame
from privacygauge.classifiers.held import Held, numeric
from privacygauge.classifiers.learner import Learner, LearnerTrainer, logs
from privacygauge.classifiers.predictions import Pool, Predictions, probabilities
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.classifiers.shadows import Progress, cohort_of, train_all
from privacygauge.classifiers.signals import BIN, resolution
from privacygauge.classifiers.trainer import Trainer, first_query
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Round
from privacygauge.core.release import coin_flips
from privacygauge.core.units import number_units
from privacygauge.errors import InputError
from privacygauge.evaluate.by_target import Correlation, PerTarget
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import AttackReach, best_supported
from privacygauge.evaluate.rates import mean
from privacygauge.runs.folder import kept_or_scratch


@dataclass(frozen=True)
class PerTargetDesign:
    """Pairs of shadow models for each target, with it and without it, as in the paper."""

    pairs: int = 5
    """Pairs of models per target, M in the paper."""
    general: int = 20
    """Number of further shadow models, for attacks that do not aim at a single record."""

    name: ClassVar[Literal["per-target"]] = "per-target"

    def n_models(self, n_targets: int) -> int:
        """Return the number of shadow models to train."""
        return 2 * self.pairs * n_targets + self.general


@dataclass(frozen=True)
class SharedDesign:
    """One pool of shadow models for all targets; fair coins choose each training set."""

    models: int = 64
    """Number of shadow models."""

    name: ClassVar[Literal["shared"]] = "shared"

    def n_models(self, n_targets: int) -> int:
        """Return the number of shadow models to train."""
        return self.models


@dataclass(frozen=True, eq=False)
class CandidateGame:
    """Targets trained on both halves of a candidate set, and the adversary's own models."""

    trainer: Trainer
    """Trainer of every model."""
    x: Held
    """The candidates, mostly (n, d)."""
    y: Ints
    """(n,) Classes of the candidates, in 0..k-1."""
    iterations: int = 100
    """Number of splits of the candidates into halves; each gives two target models."""
    n_targets: int = 100
    """Number of records that the adversary attacks, drawn at random from the candidates."""
    design: PerTargetDesign | SharedDesign = SharedDesign()
    """Design of the shadow models."""
    seed: int = 0
    """Seed from which all draws are derived."""
    unit: Ints | None = None
    """(n,) Unit of each candidate: all rows of a unit are in one half. Default: each row is its own
    unit."""

    def __post_init__(self) -> None:
        if self.iterations < 1:
            raise InputError(f"iterations must be at least 1, got {self.iterations}")
        if not 1 <= self.n_targets <= len(self.y):
            raise InputError(
                f"n_targets must be in 1..{len(self.y)}, the number of candidates, got "
                f"{self.n_targets}"
            )

    @property
    def targets(self) -> Ints:
        """(t,) Rows of the attacked records, ascending."""
        rng = seeds.stream(self.seed, "candidates", "targets")
        return np.sort(rng.choice(len(self.y), self.n_targets, replace=False))

    @property
    def units(self) -> Ints:
        """(n,) Unit of each candidate, numbered from 0."""
        return np.arange(len(self.y)) if self.unit is None else number_units(self.unit)

    def halves(self) -> Bools:
        """Return a mask of each target model's training set, (2 * iterations, n).

        Rows 2 i and 2 i + 1 are a half and its complement. Units are split: all rows of a unit are
        in the same half.
        """
        units = self.units
        n = int(units.max()) + 1
        inside = np.zeros((self.iterations, 2, n), np.bool_)
        for i, both in enumerate(inside):
            order = seeds.stream(self.seed, "candidates", "halves", i).permutation(n)
            both[0, order[: n // 2]] = True
            both[1] = ~both[0]
        return inside.reshape(-1, n)[:, units]

    def n_models(self, measurements: int = 0) -> int:
        """Return the total number of models that the game trains."""
        shadows = self.design.n_models(self.n_targets)
        # A learner takes records out of models that are already fitted.
        again = 0 if isinstance(self.trainer, LearnerTrainer) else measurements * self.n_targets
        return 2 * self.iterations + shadows + again

    def train(
        self,
        *,
        measurements: int = 0,
        run: str | Path | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
    ) -> CandidateRound:
        """Return the predictions of all the game's models for the targets.

        PDTP of each target is measured in the first `measurements` iterations, by training once
        more without it or, for a learner, by leaving it out without training. The other parameters
        are those of `train_shadows`.
        """
        if not 0 <= measurements <= self.iterations:
            raise InputError(f"measurements must be in 0..{self.iterations}, got {measurements}")
        with kept_or_scratch(run) as folder:
            training = _Training(
                game=self,
                folder=folder,
                n_jobs=n_jobs,
                progress=progress,
                total=self.n_models(measurements),
            )
            models = training.part("targets", self.halves(), 0, states=training.states())
            pool, general = training.shadows()
            measured = training.pdtp(models, measurements) if measurements else None
        t = self.targets
        logits = self.trainer.logits
        inside = self.halves()
        n_models = len(models)
        target = Predictions(
            answers=models[:, t].reshape(n_models * len(t), *models.shape[2:]),
            logits=logits,
            labels=np.tile(self.y[t], n_models),
            member=inside[:, t].ravel(),
            ids=np.tile(t, n_models),
            unit=np.tile(self.units[t], n_models),
        )
        # Rows are model by model: each model repeats all targets.
        repeated = np.tile(np.arange(len(t)), n_models)
        rows = Pool(pool.answers[:, repeated], logits, pool.inside[:, repeated], target.labels)
        features = numeric(self.x)
        resolved = resolution(target, pool, general)
        # Ids name the record, so that a target's rows over all models belong together.
        dealt = PoolGame(
            target,
            rows,
            None if features is None else features[target.ids],
            target_ids=target.ids,
            general=GeneralShadow.of(general, features, resolved),
        ).round()
        right = first_query(models).argmax(axis=2) == self.y
        train = (right & inside).sum(axis=1) / inside.sum(axis=1)
        test = (right & ~inside).sum(axis=1) / (~inside).sum(axis=1)
        return CandidateRound(
            round=dealt,
            target=target,
            pool=rows,
            train_accuracy=train,
            test_accuracy=test,
            measured=measured,
        )


@dataclass(frozen=True, eq=False)
class CandidateRound:
    """One round with the prediction of every target model for every target."""

    round: Round
    """The round, of 2 * iterations * n_targets rows, model by model."""
    target: Predictions
    """The target models' predictions on these rows."""
    pool: Pool
    """The shadow models' predictions on these rows."""
    train_accuracy: Floats
    """(2 * iterations,) Accuracy of each target model on its training half."""
    test_accuracy: Floats
    """(2 * iterations,) Accuracy of each target model on the other half."""
    measured: Floats | None
    """(measurements, n_targets) PDTP of each target in each of the first iterations."""

    @property
    def pdtp(self) -> Floats | None:
        """(n_targets,) Mean PDTP of each target, if it was measured."""
        return None if self.measured is None else np.asarray(self.measured.mean(axis=0))


@dataclass(frozen=True, eq=False)
class _Training:
    """Trains the models of a game, part by part, each as its own run."""

    game: CandidateGame
    folder: str
    n_jobs: int | None
    progress: Progress | None
    total: int

    def part(
        self,
        name: str,
        inside: Bools,
        done: int,
        *,
        asked: Ints | None = None,
        states: tuple[int, ...] | None = None,
    ) -> NDArray[Any]:
        def told(models: int, _: int) -> None:
            # Parts of the game share one progress bar: models trained before count as done.
            if self.progress is not None:
                self.progress(done + models, self.total)

        game = self.game
        seed = int(seeds.stream(game.seed, "candidates", name).integers(2**31))
        values = train_all(
            game.trainer,
            cohort_of(game.x, game.y, inside, seed, asked=asked, states=states),
            seed=seed,
            run=f"{self.folder}/{name}",
            n_jobs=self.n_jobs,
            progress=told,
        )
        return _all_trained(values, name)

    def states(self) -> tuple[int, ...]:
        streams = (
            seeds.stream(self.game.seed, "candidates", "model", i)
            for i in range(2 * self.game.iterations)
        )
        return tuple(int(stream.integers(2**31)) for stream in streams)

    def shadows(self) -> tuple[Pool, Pool]:
        game = self.game
        done = 2 * self.game.iterations
        y = game.y
        t = game.targets
        rng = seeds.stream(game.seed, "candidates", "shadows")
        if isinstance(game.design, SharedDesign):
            inside = coin_flips(game.design.models, len(y), rng, game.unit)
            values = self.part("shared", inside, done)
            everything = Pool(values, game.trainer.logits, inside, y)
            pool = Pool(values[:, t], game.trainer.logits, inside[:, t], y[t])
            return pool, everything
        n_units = int(game.units.max()) + 1
        # Each general model holds exactly half of the units, as a target model does.
        halves = np.zeros((game.design.general, n_units), np.bool_)
        for row in halves:
            row[rng.choice(n_units, n_units // 2, replace=False)] = True
        general = halves[:, game.units]
        values = self.part("general", general, done)
        everything = Pool(values, game.trainer.logits, general, y)
        inside = _pairs(game.design.pairs, game.units[t], n_units, rng)[:, :, game.units]
        # Every pair's models predict all targets; only the entries of their own target are kept.
        own = self.part("pairs", inside.reshape(-1, len(y)), done + len(general), asked=t)
        by_target = own.reshape(2 * game.design.pairs, len(t), *own.shape[1:])
        aimed = by_target[:, np.arange(len(t)), np.arange(len(t))]
        held = inside[:, np.arange(len(t)), t]
        return Pool(aimed, game.trainer.logits, held, y[t]), everything

    def pdtp(self, models: NDArray[Any], measurements: int) -> Floats:
        """Return each target's PDTP in each of the first iterations, (measurements, n_targets).

        Long et al. (2017), definition 4.3: the largest log ratio, over the classes, of the
        probabilities with and without the record in training, both binned.
        """
        game = self.game
        t = self.game.targets
        halves = game.halves()[: 2 * measurements].reshape(measurements, 2, -1)
        # `halves` is (measurements, half, n); models 2 i and 2 i + 1 are trained on the halves of
        # i.
        side = np.argmax(halves[:, :, t], axis=1)  # (measurements, t): the half that holds it
        number = 2 * np.arange(measurements)[:, None] + side
        with_it = probabilities(first_query(models)[number, t], logits=game.trainer.logits)
        if isinstance(game.trainer, LearnerTrainer):
            without = self.left_out(game.trainer.learner, number)
        else:
            inside = game.halves()[number]
            # (measurements, t, n): the training set of the model that holds each target, without
            # it.
            inside[:, np.arange(len(t)), t] = False
            states = np.array(self.states())[number].ravel().tolist()
            values = self.part(
                "without",
                inside.reshape(-1, len(game.y)),
                self.total - number.size,
                asked=t,
                states=tuple(states),
            )
            rows = np.arange(len(t))
            # Each retrained model predicts all targets; only its own left-out one counts.
            own = first_query(values).reshape(*number.shape, len(t), -1)[:, rows, rows]
            without = probabilities(own, logits=game.trainer.logits)
        return log_ratio(logs(with_it), logs(without), BIN)

    def left_out(self, learner: Learner, number: Ints) -> Floats:
        """Return each target's probabilities without it, from leave-one-out predictions.

        Shape (measurements, t, k), as the models that are trained once more give them.
        """
        game = self.game
        t = self.game.targets
        halves = game.halves()
        k = int(game.y.max()) + 1
        result = np.empty((*number.shape, k))
        for target_model in np.unique(number):
            inside = halves[target_model]
            fitted = learner.fit(game.x[inside], game.y[inside], n_classes=k)
            asked = number == target_model
            place = np.cumsum(inside) - 1  # a record's row in the training set
            # `asked` is (measurements, t): its second index is the target.
            result[asked] = np.exp(fitted.log_p_without(place[t[np.nonzero(asked)[1]]]))
        return _all_trained(result, "without")


def _all_trained(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the predictions (m, a, k), or raise if some model failed."""
    bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
    if len(bad):
        raise InputError(
            f"training failed for {len(bad)} of the {len(values)} models ({name}): the game "
            "needs all of them; take more candidates or another learning rate"
        )
    return values


def _pairs(pairs: int, targets: Ints, n: int, rng: np.random.Generator) -> Bools:
    """Return the training sets of the pairs, (2 * pairs, t, n): the first `pairs` with the target.

    Apart from the target, both sets of a pair are the same n/2 - 1 units, drawn from the others.
    `targets` holds unit numbers and `n` is the number of units; a target brings all rows of its
    unit.
    """
    inside = np.zeros((2, pairs, len(targets), n), np.bool_)
    for j in range(pairs):
        for i, target in enumerate(targets):
            others = rng.choice(n - 1, n // 2 - 1, replace=False)
            # Numbers 0..n-2 skip the target.
            inside[:, j, i, others + (others >= target)] = True
            inside[0, j, i, target] = True
    return inside.reshape(2 * pairs, len(targets), n)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedCandidates:
    """Accuracy of attacks, over all guesses and per record."""

    evaluations: tuple[Evaluation, ...]
    """One per attack, over all guesses; intervals allow for the repeated targets."""
    best: Evaluation
    """The strongest attack."""
    accuracy: Estimate
    """Balanced accuracy of `best`; the interval allows for the choice among all attacks."""
    auc: Estimate
    """Area under the ROC curve of `best`; the interval allows for the choice among all attacks."""
    per_target: Mapping[str, PerTarget]
    """Attack title to the right guesses on each target."""
    targets: Ints
    """(t,) Rows of the attacked records."""
    measured: Floats | None
    """(measurements, t) PDTP of each target in each of the first iterations, where measured."""
    correlations: Mapping[str, Correlation | Skipped]
    """Attack title to the correlation of per-target accuracy with PDTP; empty without PDTP."""
    train_accuracy: Estimate
    """Mean accuracy of the target models on their training halves."""
    test_accuracy: Estimate
    """Mean accuracy of the target models on the other halves."""
    inverted: tuple[InvertedAttack, ...] = ()
    """Attacks that separate the sides in the wrong direction, corrected for their number."""

    @property
    def reached(self) -> AttackReach:
        """Reach of the attack, by the better of its guesses and its ranking."""
        return best_supported(self.accuracy, self.auc)

    @property
    def pdtp(self) -> Floats | None:
        """(t,) Mean PDTP of each target, if it was measured."""
        return None if self.measured is None else np.asarray(self.measured.mean(axis=0))

    @property
    def mean_pdtp(self) -> Estimate | None:
        """Mean PDTP over the targets, if it was measured."""
        pdtp = self.pdtp
        return None if pdtp is None else mean(pdtp, self.accuracy.level, unit="targets")
