"""Attacks as plain values: the keys that reports on them share in ``report.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Fact, Headline, Reached
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.report.attacks.played import Attacks, GameDescription
from privacygauge.report.document import estimate_dict, finite
from privacygauge.report.numbers import key
from privacygauge.report.values import Json


def of_attacks(a: Attacks) -> dict[str, Json]:
    """Return ``game``, ``headline`` and ``attacks``."""
    return {
        "game": game(a.game),
        "headline": headline(a.headline),
        "attacks": [attack(e) for e in a.evaluations],
    }


def game(found: GameDescription) -> dict[str, Json]:
    """Return the game that was played."""
    return asdict(found)


def headline(found: Headline) -> dict[str, Json]:
    """Return what the verdict speaks of."""
    return {
        "attack": found.attack.title,
        "accuracy": estimate_dict(found.accuracy),
        "auc": estimate_dict(found.auc),
        "reached": estimate_dict(found.reached.accuracy),
        "decided": decided(found.reached),
        "epsilon": estimate_dict(found.epsilon),
        "epsilon_attack": found.epsilon_attack,
        "epsilon_limit": finite(found.epsilon_limit),
    }


def decided(found: Reached) -> str:
    """Return what the grade follows from: ``guesses`` or ``ranking``."""
    return "ranking" if found.by_ranking else "guesses"


def attack(e: Evaluation) -> dict[str, Json]:
    """Return every number about an attack."""
    estimates: dict[str, Estimate | Skipped] = {
        "accuracy": e.accuracy,
        "advantage": e.advantage,
        "best_accuracy": e.best_accuracy,
        "auc": e.auc,
        "precision": e.precision,
        "recall": e.recall,
        "false_positive_rate": e.false_positive_rate,
        "epsilon": e.epsilon,
    }
    return {
        "name": e.name,
        "variant": e.variant,
        "thresholds": e.thresholds,
        "rule": e.rule,
        **{name: estimate_dict(found) for name, found in estimates.items()},
        "tpr_at_fpr": {key(r.fpr): _rate(r) for r in e.tpr_at_fpr},
        "ppv": {key(prior): estimate_dict(x) for prior, x in e.predictive_values},
        "true_positives": e.true_positives,
        "false_positives": e.false_positives,
        "n_in": e.n_in,
        "n_out": e.n_out,
        "notes": list(e.notes),
    }


def facts(found: Sequence[Fact]) -> list[Json]:
    """Return numbers about a release, each with its label."""
    return [{"label": x.label, "estimate": estimate_dict(x.estimate)} for x in found]


def _rate(rate: RateAtFpr) -> Json:
    return {
        **estimate_dict(rate.estimate),
        "resolved": bool(rate.resolved),
        "at_threshold": estimate_dict(rate.at_threshold),
        "realised_fpr": estimate_dict(rate.realised_fpr),
    }
