"""The games of all defences, played and set side by side: on answers, or at training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifier import caveats
from privacygauge.classifier.defences import judging
from privacygauge.classifier.defences.defence import Defence
from privacygauge.classifier.defences.defended import (
    DefendedModels,
    models_behind,
    require_different_defences,
    trainings_by_defence,
    undefended_of,
)
from privacygauge.classifier.defences.early_stopping import first_epoch
from privacygauge.classifier.defences.games import (
    DefenceGames,
    defence_attacks,
    defence_games,
    training_games,
)
from privacygauge.classifier.defences.trained import TrainedAlike, TrainedWithout
from privacygauge.classifier.defences.training import StopAfter, TrainingDefence
from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.pool_game import PoolGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.shadows import failed_shadows_warning
from privacygauge.classifier.trial import TrainingSetup
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack
from privacygauge.errors import InputError
from privacygauge.evaluate.best_attack import best_attack
from privacygauge.evaluate.compared_defences import (
    AfterEpoch,
    ComparedDefence,
    ComparedDefences,
    compare_defences,
    n_together,
)
from privacygauge.evaluate.defences import JudgedDefence


def beside_stopping(
    c: ComparedDefence, one: DefendedModels, without: TrainedWithout, curve: Sequence[AfterEpoch]
) -> ComparedDefence:
    """Return a defence with its comparison: early stopping at the same accuracy, and its claim."""
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


def curve_by_epoch(
    without: TrainedWithout,
    undefended: judging.GameFindings,
    asked: judging.DefenceOptions,
    together: int,
) -> tuple[AfterEpoch, ...]:
    """Return the best attack after every epoch; all intervals hold simultaneously."""
    found = []
    for epoch, models in zip(without.epochs.tolist(), without.models, strict=True):
        if isinstance(models, Skipped):
            continue
        last = models is without.last
        target = models.target
        here = undefended.results if last else asked.results(PoolGame(target, models.pool))
        best = best_attack(judging.evaluations(here), together, asked.level)
        found.append(AfterEpoch(epoch, *judging.model_accuracies(target, asked.level), best))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class PlayedDefences:
    """Results for all defences, with everything a report says beside them."""

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


def asked_of(
    target: Predictions,
    shadow: Predictions,
    attacks: Sequence[Attack] | None,
    estimator: Estimator | None,
    seed: int,
    level: float,
) -> judging.DefenceOptions:
    """Return the options of every game on answers, all of them checked."""
    caveats.require_other_rows(target, shadow)
    caveats.require_varied_answers(target)
    suite = defence_attacks(logits=target.logits) if attacks is None else attacks
    return judging.DefenceOptions(tuple(suite), estimator, seed, level)


def on_answers(
    defences: Sequence[Defence],
    target: Predictions,
    shadow: Predictions,
    owners: tuple[Predictions | None, Predictions | None],
    asked: judging.DefenceOptions,
    told: Callable[[int, int], None],
) -> PlayedDefences:
    """Return the risk that remains behind each defence of a model's answers.

    `owners` are predictions of target and shadow for the records that their defences are fitted on;
    `told` is called with the number of games that were played, and their total.
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


Train = Callable[..., tuple[TrainedWithout, tuple[TrainedAlike | Skipped, ...]]]
"""`train_each_way` with its execution options."""


def at_training(
    records: TrainingSetup,
    defences: Sequence[TrainingDefence | Defence],
    n_shadows: int,
    train: Train,
    asked: judging.DefenceOptions,
    ids: ArrayLike | None,
    owner: Ints | None,
) -> PlayedDefences:
    """Return the risk that remains with each defence when models are trained with it.

    `ids` (n,) and `owner` (n,) are the records' names and people.
    """
    trainer = records.trainer
    seed = asked.seed
    require_different_defences(defences)
    of, rows = undefended_of(trainer, len(records.y), defences, seed)
    trainings, places = trainings_by_defence(of, defences)
    without, ways = train(
        trainings,
        records.x,
        records.y,
        rows,
        n_shadows=n_shadows,
        ids=None if ids is None else np.asarray(ids)[rows],
        unit=None if owner is None else owner[rows],
        seed=seed,
    )
    defended, failed = models_behind(
        defences, places, trainings=trainings, of=of, without=without, ways=ways, seed=seed
    )
    last = without.last
    undefended = asked.of(PoolGame(last.target, last.pool))
    results = [
        judging.judge_defence(
            one.defence.name, one.defence.variant, games=games, undefended=undefended, asked=asked
        )
        for one in defended
        for games in [training_games(last, one.models)]
    ]
    # The curve by epoch is tested as well, so every interval allows for its points.
    beside = len(without.epochs) - 1
    together = n_together(len(judging.evaluations(undefended.results)), len(results), beside)
    curve = curve_by_epoch(without, undefended, asked, together)
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
    recorded = curve if len(curve) > 1 else ()
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

    `undone` says for each whether an adversary can undo it; `beside` is as in `compare_defences`.
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
