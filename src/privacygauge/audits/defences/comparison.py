"""Defences beside each other: the best attack on each, allowing for all that is compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from privacygauge.audits.defences.found import BestAttack, ComparedDefence
from privacygauge.classifier.defences.perturbations import Temperature
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.defences import JudgedDefence
from privacygauge.evaluate.direction import inverted
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.roc import auc
from privacygauge.report import direction


def can_be_undone(defence: object) -> bool:
    """Return whether who knows a defence can compute the true answers from the defended ones."""
    return isinstance(defence, Temperature)


def compared(
    undefended: Sequence[Evaluation],
    defences: Sequence[JudgedDefence],
    undone: Sequence[bool],
    level: float,
    *,
    beside: int = 0,
) -> tuple[BestAttack, tuple[ComparedDefence, ...]]:
    """Return the best attack without a defence, and with each of them.

    Parameters
    ----------
    undefended : sequence of Evaluation
        All attacks on the model as it is.
    defences : sequence of JudgedDefence
    undone : sequence of bool
        For each whether it can be undone: whoever does so attacks the model as it is.
    level : float
        In (0, 1).
    beside : int
        Games more whose best attacks have to hold together with these.

    Notes
    -----
    Bonferroni over all attacks on the undefended model, and behind each defence by both kinds of
    adversaries: all intervals hold together. Who knows a defence is free to ignore it, so what is
    left is never less than what the non-adaptive adversary reaches.
    """
    n = n_together(len(undefended), len(defences), beside)
    none = best_attack(undefended, n, level)
    found = []
    for judged, invertible in zip(defences, undone, strict=True):
        adaptive = best_attack([a.adaptive for a in judged.attacks], n, level)
        surprised = best_attack([a.non_adaptive for a in judged.attacks], n, level)
        left = _left(adaptive, surprised, none if invertible else None)
        found.append(ComparedDefence(judged, adaptive, surprised, invertible, left))
    return none, tuple(found)


def warnings_of(none: BestAttack, compared: Sequence[ComparedDefence]) -> tuple[str, ...]:
    """Return warnings that name the attacks that take members for non-members."""
    behind = (direction.warnings(c.left.inverted, c.title) for c in compared)
    return (*direction.warnings(none.inverted, "Without a defence"), *chain(*behind))


def n_together(attacks: int, defences: int, beside: int = 0) -> int:
    """Return how many results of each kind a comparison holds together."""
    return attacks * (2 * defences + 1 + beside)


def _left(adaptive: BestAttack, surprised: BestAttack, undone: BestAttack | None) -> BestAttack:
    """Return what counts: the adaptive attack unless another one clearly goes further."""
    accuracy = _further(adaptive, surprised, lambda b: b.accuracy)
    ranked = _further(adaptive, surprised, lambda b: b.auc)
    if undone is not None:
        accuracy = max(accuracy, undone, key=lambda b: b.accuracy.low)
        ranked = max(ranked, undone, key=lambda b: b.auc.low)
    # Who knows that an attack takes the sides for each other reverses it.
    games = (adaptive, surprised, *(() if undone is None else (undone,)))
    turned = tuple(attack for game in games for attack in game.inverted)
    return BestAttack(accuracy.attack, accuracy.accuracy, ranked.auc_attack, ranked.auc, turned)


def _further(
    adaptive: BestAttack, surprised: BestAttack, reached: Callable[[BestAttack], Estimate]
) -> BestAttack:
    # A higher lower end alone may only come from a narrower interval.
    a, b = reached(adaptive), reached(surprised)
    return surprised if b.low > a.low and b.value > a.value else adaptive


def best_attack(evaluations: Sequence[Evaluation], n_compared: int, level: float) -> BestAttack:
    """Return the attacks with the highest lower ends of accuracy and of AUC.

    Parameters
    ----------
    evaluations : sequence of Evaluation
        At least one; one row for every target.
    n_compared : int
        So many numbers of each kind have to hold together.
    level : float
        In (0, 1).
    """
    attack, accuracy = _best(evaluations, _accuracy, n_compared, level)
    auc_attack, area = _best(evaluations, _auc, n_compared, level)
    below = [(e.title, _transcript(e)) for e in evaluations if e.auc.high < 0.5]
    turned = inverted(below, level, looks=n_compared)
    return BestAttack(attack, accuracy, auc_attack, area, turned)


def _best(
    evaluations: Sequence[Evaluation],
    measured: Callable[[Evaluation, float], Estimate],
    n_compared: int,
    level: float,
) -> tuple[str, Estimate]:
    each = 1 - (1 - level) / n_compared
    together = [measured(e, each) for e in evaluations]
    place = int(np.argmax([estimate.low for estimate in together]))
    method = f"{together[place].method}, Bonferroni over {n_compared} results"
    return evaluations[place].title, replace(together[place], level=level, method=method)


def _accuracy(e: Evaluation, level: float) -> Estimate:
    hits, alarms = e.true_positives, e.false_positives
    counts = (hits, e.n_in - hits, alarms, e.n_out - alarms)
    guess, secret = (
        np.repeat(np.array(pattern, np.bool_), counts) for pattern in ((1, 0, 1, 0), (1, 1, 0, 0))
    )
    return balanced_accuracy(Decisions(guess, secret, rule=e.rule), level)


def _auc(e: Evaluation, level: float) -> Estimate:
    return auc(_transcript(e), level, curve=e.roc)


def _transcript(e: Evaluation) -> Transcript:
    score = np.concatenate([e.roc.members, e.roc.nonmembers])
    return Transcript(score, np.arange(len(score)) < e.roc.n_in)
