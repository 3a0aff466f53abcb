"""Defences beside each other: the best attack on each, allowing for all that is compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from privacygauge.audits.defences.found import ComparedDefence
from privacygauge.classifier.defences.perturbations import Temperature
from privacygauge.evaluate.best_attack import BestAttack, best_attack, left_of
from privacygauge.evaluate.defences import JudgedDefence
from privacygauge.evaluate.evaluation import Evaluation
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
        left = left_of(adaptive, surprised, none if invertible else None)
        found.append(ComparedDefence(judged, adaptive, surprised, invertible, left))
    return none, tuple(found)


def warnings_of(none: BestAttack, compared: Sequence[ComparedDefence]) -> tuple[str, ...]:
    """Return warnings that name the attacks that take members for non-members."""
    behind = (direction.warnings(c.left.inverted, c.title) for c in compared)
    return (*direction.warnings(none.inverted, "Without a defence"), *chain(*behind))


def n_together(attacks: int, defences: int, beside: int = 0) -> int:
    """Return how many results of each kind a comparison holds together."""
    return attacks * (2 * defences + 1 + beside)
