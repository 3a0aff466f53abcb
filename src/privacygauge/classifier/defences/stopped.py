"""Stopping the undefended training early: the best attack after every epoch, beside defences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from privacygauge.classifier.defences import judging
from privacygauge.classifier.defences.defended import Defended
from privacygauge.classifier.defences.early_stopping import first_epoch
from privacygauge.classifier.defences.trained import TrainedAlike, TrainedWithout
from privacygauge.classifier.defences.training import StopAfter, TrainingDefence
from privacygauge.classifier.pool_game import PoolGame
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.best_attack import best_attack
from privacygauge.evaluate.compared_defences import AfterEpoch, ComparedDefence


def beside_stopping(
    c: ComparedDefence, one: Defended, without: TrainedWithout, curve: Sequence[AfterEpoch]
) -> ComparedDefence:
    """Return a defence with what it has to be compared with."""
    if not isinstance(one.defence, TrainingDefence):
        return c
    stops = isinstance(one.defence, StopAfter) or len(curve) < 2
    stopped = None if stops else _stopped(one.models, without, curve)
    return replace(c, at_training=True, stopped=stopped, claim=one.claim)


def curve_by_epoch(
    without: TrainedWithout, undefended: judging.Found, asked: judging.Asked, together: int
) -> tuple[AfterEpoch, ...]:
    """Return the best attack after every epoch; every interval holds together with all others."""
    found = []
    for epoch, models in zip(without.epochs.tolist(), without.models, strict=True):
        if isinstance(models, Skipped):
            continue
        last, target = models is without.last, models.target
        here = undefended.results if last else asked.results(PoolGame(target, models.pool))
        best = best_attack(judging.evaluations(here), together, asked.level)
        found.append(AfterEpoch(epoch, *judging.accuracies(target, asked.level), best))
    return tuple(found)


def _stopped(
    models: TrainedAlike, without: TrainedWithout, curve: Sequence[AfterEpoch]
) -> AfterEpoch | Skipped:
    """Return the undefended model after the first epoch that is as accurate, by shadow models."""
    trained = [without.after(point.epoch) for point in curve]
    reached = [x.shadow_accuracy for x in trained if not isinstance(x, Skipped)]
    epoch = first_epoch([point.epoch for point in curve], reached, models.shadow_accuracy)
    if isinstance(epoch, Skipped):
        return epoch
    return next(point for point in curve if point.epoch == epoch)
