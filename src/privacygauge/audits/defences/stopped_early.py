"""The undefended training epoch by epoch, and what of it stands beside a defence."""

from __future__ import annotations

from collections.abc import Sequence

from privacygauge.audits.attacks import Result
from privacygauge.audits.defences.comparison import best_attack
from privacygauge.audits.defences.found import AfterEpoch, BestAttack
from privacygauge.audits.defences.judging import Asked, Found
from privacygauge.classifier.defences.early_stopping import first_epoch
from privacygauge.classifier.defences.trained import TrainedAlike, TrainedWithout
from privacygauge.classifier.pool_game import PoolGame
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.rates import proportion


def played(results: Sequence[Result]) -> list[Evaluation]:
    """Return the attacks that could be played."""
    return [result[1] for result in results if not isinstance(result, Skipped)]


def curve_of(
    without: TrainedWithout, undefended: Found, asked: Asked, together: int
) -> tuple[AfterEpoch, ...]:
    """Return the best attack after every epoch; every interval holds together with all others."""
    found = []
    for epoch, models in zip(without.epochs.tolist(), without.models, strict=True):
        if isinstance(models, Skipped):
            continue
        last = models is without.last
        game = PoolGame(models.target, models.pool)
        found_here = undefended.results if last else asked.results(game)
        best = best_attack(played(found_here), together, asked.level)
        found.append(_point(epoch, models, best, asked.level))
    return tuple(found)


def _point(epoch: int, models: TrainedAlike, best: BestAttack, level: float) -> AfterEpoch:
    target = models.target
    right = target.values.argmax(axis=1) == target.labels
    return AfterEpoch(
        epoch,
        proportion(right[target.member], target.units[target.member], level),
        proportion(right[~target.member], target.units[~target.member], level),
        best,
    )


def stopped_early(
    models: TrainedAlike, without: TrainedWithout, curve: Sequence[AfterEpoch]
) -> AfterEpoch | Skipped:
    """Return the undefended model after the first epoch that is as accurate, by shadow models."""
    trained = [without.after(point.epoch) for point in curve]
    reached = [x.shadow_accuracy for x in trained if not isinstance(x, Skipped)]
    epoch = first_epoch([point.epoch for point in curve], reached, models.shadow_accuracy)
    if isinstance(epoch, Skipped):
        return epoch
    return next(point for point in curve if point.epoch == epoch)
