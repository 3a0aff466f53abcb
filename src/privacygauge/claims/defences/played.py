"""The games of all defences: models trained for each, games played, results side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.claims.defences import judging
from privacygauge.claims.defences.defence import Defence, defend_predictions
from privacygauge.claims.defences.dp_sgd import PrivateTraining
from privacygauge.claims.defences.early_stopping import first_epoch
from privacygauge.claims.defences.judging import (
    DefenceGames,
    defence_games,
)
from privacygauge.claims.defences.named import any_defence_named
from privacygauge.claims.defences.soft_labels import Distillation
from privacygauge.claims.defences.training import (
    AgainstAttacker,
    NoisyLogistic,
    OtherTraining,
    Private,
    StopAfter,
    TrainingDefence,
    UndefendedTraining,
)
from privacygauge.claims.defences.trainings import (
    Before,
    TrainedAlike,
    TrainedWithout,
    Trainings,
    judged_cohort,
    recorded_epochs,
    train_each_way,
)
from privacygauge.classifiers.game import PoolGame, PredictionGame
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.predictions import Pool, Predictions
from privacygauge.classifiers.probe_training import TrainingSetup
from privacygauge.classifiers.shadows import Execution, failed_shadows_warning
from privacygauge.classifiers.trainer import Trainer
from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.defences import (
    AfterEpoch,
    ComparedDefence,
    ComparedDefences,
    JudgedDefence,
    compare_defences,
    n_together,
)
from privacygauge.evaluate.headline import best_attack

_SHARE = 5
"""One in this many records is a reference record, if a defence needs them."""


@dataclass(frozen=True, eq=False)
class DefendedModels:
    """A defence, and the models behind it."""

    defence: Defence | TrainingDefence
    """The defence."""
    models: TrainedAlike
    """Target and shadow models with the defence."""
    claim: PrivacyClaim | None = None
    """The accountant's claim; None for a defence without one."""


def as_defence(
    given: TrainingDefence | Defence | Trainer | str, delta: float | None
) -> TrainingDefence | Defence:
    """Return the defence of this name, or one for a trainer of the user's own."""
    if isinstance(given, str):
        return any_defence_named(given, delta)
    if isinstance(given, Trainer):
        return OtherTraining(given, given.name)
    return given


def models_behind(
    defences: Sequence[TrainingDefence | Defence],
    places: Mapping[int, int],
    trainings: Trainings,
    of: UndefendedTraining,
    without: TrainedWithout,
    ways: Sequence[TrainedAlike | Skipped],
    seed: int,
) -> tuple[list[DefendedModels], list[Skipped]]:
    """Return the models behind each defence, and the defences that could not be trained."""
    found = []
    failed = []
    for number, defence in enumerate(defences):
        claim = None
        models = without.last
        if isinstance(defence, StopAfter):
            # Early stopping needs no training: the undefended one recorded this epoch.
            stopped = without.after(defence.epoch)
        elif isinstance(defence, TrainingDefence):
            stopped = ways[places[number]]
            claim = claim_of(defence, trainings.defended[places[number]], of)
        else:
            pool = models.pool
            # A generator for each model, so that a further shadow model changes no other's answers.
            generators = seeds.stream(seed, "defence", defence.name, defence.variant).spawn(
                len(models.pool) + 1
            )
            target = defend_predictions(defence, models.target, generators[0])
            shadows = [
                replace(models.target, answers=values, logits=pool.logits, member=inside)
                for values, inside in zip(pool.values, pool.inside, strict=True)
            ]
            answers = np.stack(
                [
                    defend_predictions(defence, shadow, own).values
                    for shadow, own in zip(shadows, generators[1:], strict=True)
                ]
            )
            stopped = TrainedAlike(
                target, Pool(answers, False, pool.inside, pool.labels), models.failed
            )
        if isinstance(stopped, Skipped):
            failed.append(Skipped(f"{defence.name} ({defence.variant})", stopped.reason))
        else:
            found.append(DefendedModels(defence, stopped, claim))
    if not found:
        raise InputError(f"no defence could be judged: {failed[0].name}: {failed[0].reason}")
    return found, failed


def claim_of(
    defence: TrainingDefence, trainer: Trainer, of: UndefendedTraining
) -> PrivacyClaim | None:
    """Return the accountant's privacy claim for a training; None where it has no accountant."""
    if isinstance(trainer, NoisyLogistic):
        return PrivacyClaim(trainer.epsilon, trainer.delta, "the Gaussian mechanism")
    if not isinstance(defence, Private) or not isinstance(trainer, PrivateTraining):
        return None
    delta = defence.at_delta(of)
    return PrivacyClaim(trainer.epsilon(delta), delta, trainer.accountant(delta))


def require_different_defences(defences: Sequence[TrainingDefence | Defence]) -> None:
    """Raise if there are no defences, or two have the same name and variant."""
    titles = [f"{defence.name} ({defence.variant})" for defence in defences]
    if not titles:
        raise InputError("at least one defence is needed, got none")
    twice = next((title for title in titles if titles.count(title) > 1), None)
    if twice is not None:
        raise InputError(f"two defences are called {twice!r}: leave one of them out")


def beside_stopping(
    c: ComparedDefence, one: DefendedModels, without: TrainedWithout, curve: Sequence[AfterEpoch]
) -> ComparedDefence:
    """Return a compared defence with its claim, and with early stopping at the same accuracy."""
    if not isinstance(one.defence, TrainingDefence):
        return c
    stopped: AfterEpoch | Skipped | None = None
    if len(curve) >= 2 and not isinstance(one.defence, StopAfter):
        # The undefended model after the first epoch that is as accurate, judged by shadow models:
        # stopping early costs nothing, so a defence has to beat it.
        trained = [without.after(point.epoch) for point in curve]
        reached = [x.shadow_accuracy for x in trained if not isinstance(x, Skipped)]
        epochs = [point.epoch for point in curve]
        epoch = first_epoch(epochs, reached, one.models.shadow_accuracy)
        if isinstance(epoch, Skipped):
            stopped = epoch
        else:
            stopped = next(point for point in curve if point.epoch == epoch)
    return replace(c, at_training=True, stopped=stopped, claim=one.claim)


@dataclass(frozen=True, eq=False)
class PlayedDefences:
    """Results for all defences, with the parts that were skipped and the caveats."""

    found: ComparedDefences
    """Comparison of all defences."""
    target: Predictions
    """Predictions of the judged model."""
    skipped: tuple[Skipped, ...]
    """Defences whose training failed, and attacks that could not be played."""
    warnings: tuple[str, ...] = ()
    """Caveats for the reader."""
    about: Mapping[str, str] | None = None
    """Description of the trained model."""
    package: str | None = None
    """Package that trained the models, if known."""


def on_answers(
    defences: Sequence[Defence],
    target: Predictions,
    shadow: Predictions,
    owners: tuple[Predictions | None, Predictions | None],
    asked: judging.DefenceOptions,
    told: Callable[[int, int], None],
) -> PlayedDefences:
    """Return the risk that remains behind each defence of a model's answers.

    `owners` are the target's and the shadow's predictions on the records that fit their defences;
    `told` is called with the number of games played, and their total.
    """
    undefended = asked.of(PredictionGame(target, shadow))
    total = len(defences) + 1
    told(1, total)
    results = []
    for done, defence in enumerate(defences, start=2):
        rng = seeds.stream(asked.seed, "defence", defence.name, defence.variant)
        games = defence_games(
            defence, target, shadow, rng, target_owner=owners[0], shadow_owner=owners[1]
        )
        results.append(
            judging.judge_defence(
                defence.name, defence.variant, games=games, undefended=undefended, asked=asked
            )
        )
        told(done, total)
    undone = [judging.can_be_undone(defence) for defence in defences]
    return _side_by_side(undefended, results, undone=undone, asked=asked, target=target)


def behind_one(
    name: str,
    target: Predictions,
    shadow: Predictions,
    answers: Predictions,
    own: Predictions,
    asked: judging.DefenceOptions,
) -> PlayedDefences:
    """Return the risk that remains behind one defence, given both models' defended answers."""
    games = DefenceGames(
        PredictionGame(target, shadow),
        PredictionGame(answers, shadow),
        PredictionGame(answers, own),
    )
    undefended = asked.of(games.undefended)
    result = judging.judge_defence(name, "", games=games, undefended=undefended, asked=asked)
    return _side_by_side(undefended, [result], undone=[False], asked=asked, target=target)


def at_training(
    records: TrainingSetup,
    defences: Sequence[TrainingDefence | Defence],
    n_shadows: int,
    asked: judging.DefenceOptions,
    ids: ArrayLike | None,
    owner: Ints | None,
    execution: Execution,
    before: Before | None,
) -> PlayedDefences:
    """Return the risk that remains with each defence when models are trained with it.

    `ids` (n,) and `owner` (n,) are the records' names and people.
    """
    trainer = records.trainer
    seed = asked.seed
    require_different_defences(defences)
    n = len(records.y)
    if n < 2 * _SHARE:
        raise InputError(f"x must have at least {2 * _SHARE} records, got {n}")
    # Reference records are set apart at random, for the defences that need some: no model is
    # trained on them, and no attack is judged on them.
    order = seeds.stream(seed, "reference").permutation(n)
    needed = any(isinstance(defence, AgainstAttacker | Distillation) for defence in defences)
    kept = n // _SHARE if needed else 0
    rows = np.sort(order[kept:])
    of = UndefendedTraining(trainer, len(rows), tuple(np.sort(order[:kept]).tolist()))
    at_training = {i: x for i, x in enumerate(defences) if isinstance(x, TrainingDefence)}
    trainers = {i: defence.trainer(of) for i, defence in at_training.items()}
    # Epochs of the undefended training are recorded anyway.
    stops = {i: x.epoch for i, x in at_training.items() if isinstance(x, StopAfter)}
    # The others need trainings of their own.
    alone = {i: trainer for i, trainer in trainers.items() if i not in stops}
    networks = of.trainer
    epochs = (
        recorded_epochs(networks.epochs, tuple(stops.values()))
        if isinstance(networks, Networks)
        else (1,)
    )
    places = {number: place for place, number in enumerate(alone)}
    trainings = Trainings(of.trainer, epochs, tuple(alone.values()))
    unit = None if owner is None else owner[rows]
    without, ways = train_each_way(
        trainings,
        judged_cohort(records.x, records.y, rows, n_shadows=n_shadows, unit=unit, seed=seed),
        execution,
        ids=None if ids is None else np.asarray(ids)[rows],
        unit=unit,
        seed=seed,
        before=before,
    )
    defended, failed = models_behind(
        defences, places, trainings=trainings, of=of, without=without, ways=ways, seed=seed
    )
    last = without.last
    undefended = asked.of(PoolGame(last.target, last.pool))
    results = [
        judging.judge_defence(
            one.defence.name,
            one.defence.variant,
            games=DefenceGames(
                PoolGame(last.target, last.pool),
                # Non-adaptive: shadow models without the defence.
                PoolGame(one.models.target, last.pool),
                # Adaptive: shadow models behind the same defence.
                PoolGame(one.models.target, one.models.pool),
            ),
            undefended=undefended,
            asked=asked,
        )
        for one in defended
    ]
    # The curve by epoch is tested as well, so every interval allows for its points; the last one
    # is the undefended model, which is counted already.
    beside = len(without.epochs) - 1
    together = n_together(len(judging.evaluations(undefended.results)), len(results), beside)
    curve = []
    for epoch, models in zip(without.epochs.tolist(), without.models, strict=True):
        if isinstance(models, Skipped):
            continue
        # After the last epoch the game is the undefended one, which has been played.
        game = PoolGame(models.target, models.pool)
        here = undefended.results if models is last else asked.results(game)
        best = best_attack(judging.evaluations(here), together, asked.level)
        accuracies = judging.model_accuracies(models.target, asked.level)
        curve.append(AfterEpoch(epoch, *accuracies, best))
    about = {"model": trainer.name, "shadow models": str(n_shadows)}
    if of.references:
        about["reference records"] = f"{len(of.references):,}"
    told = (
        f"{one.defence.name} ({one.defence.variant}): {line}"
        for one in defended
        if isinstance(one.defence, TrainingDefence)
        for line in failed_shadows_warning(one.models.failed, n_shadows)
    )
    undone = [judging.can_be_undone(one.defence) for one in defended]
    played = _side_by_side(
        undefended, results, undone=undone, asked=asked, target=last.target, beside=beside
    )
    full = tuple(
        beside_stopping(*pair, without, curve)
        for pair in zip(played.found.compared, defended, strict=True)
    )
    recorded = tuple(curve) if len(curve) > 1 else ()
    return replace(
        played,
        found=replace(played.found, compared=full, n_shadows=n_shadows, curve=recorded),
        skipped=(*failed, *played.skipped),
        warnings=(*failed_shadows_warning(last.failed, n_shadows), *told),
        about=about,
        package="torch" if last.pool.logits else None,
    )


def _side_by_side(
    undefended: judging.GameFindings,
    results: Sequence[JudgedDefence],
    undone: Sequence[bool],
    asked: judging.DefenceOptions,
    target: Predictions,
    *,
    beside: int = 0,
) -> PlayedDefences:
    """Return the comparison of defences that are already judged.

    `undone` is True for each defence that an adversary can undo; `beside` is as in
    `compare_defences`.
    """
    none, others = compare_defences(
        judging.evaluations(undefended.results), results, undone, asked.level, beside=beside
    )
    n_in = target.n_in
    n_out = target.n_out
    found = ComparedDefences(
        undefended=asked.headline(undefended),
        risk=undefended.risk,
        none=none,
        compared=others,
        n_in=n_in,
        n_out=n_out,
    )
    skipped = (result for result in undefended.results if isinstance(result, Skipped))
    return PlayedDefences(found, target, tuple(skipped))


def require_same_records(before: Predictions, after: Predictions, name: str, of: str) -> None:
    """Raise if answers are not about the same records in the same order."""
    if not all(
        np.array_equal(getattr(before, field), getattr(after, field))
        for field in ("labels", "member")
    ):
        raise InputError(
            f"{name} must be about the records of {of}, in its order: their labels or their "
            "membership differ"
        )
