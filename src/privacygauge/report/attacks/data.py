"""Attacks as plain values: keys of ``report.json`` shared by all reports on attacks."""

from __future__ import annotations

from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import AttackReach, Headline
from privacygauge.evaluate.played import Attacks, GameDescription
from privacygauge.report.document import estimate_dict, pick_values, values_of
from privacygauge.report.numbers import key
from privacygauge.report.values import Json


def of_attacks(a: Attacks) -> dict[str, Json]:
    """Return the keys ``game``, ``headline`` and ``attacks``."""
    return {
        "game": game(a.game),
        "headline": headline(a.headline),
        "attacks": [attack(e) for e in a.evaluations],
    }


def game(found: GameDescription) -> dict[str, Json]:
    """Return the game as plain values."""
    return {name: values_of(value) for name, value in vars(found).items()}


def headline(found: Headline) -> dict[str, Json]:
    """Return the numbers of the headline as plain values."""
    return {
        "attack": found.attack.title,
        **pick_values(found, "accuracy", "auc", "epsilon", "epsilon_attack", "epsilon_limit"),
        "reached": estimate_dict(found.reached.accuracy),
        "decided": grade_basis(found.reached),
    }


def grade_basis(found: AttackReach) -> str:
    """Return the basis of the grade: ``guesses`` or ``ranking``."""
    return "ranking" if found.by_ranking else "guesses"


def attack(e: Evaluation) -> dict[str, Json]:
    """Return the numbers of an attack as plain values."""
    return {
        **pick_values(e, "name", "variant", "thresholds", "rule"),
        **pick_values(e, "accuracy", "advantage", "auc"),
        **pick_values(e, "best_accuracy", "precision", "recall", "false_positive_rate", "epsilon"),
        **pick_values(e, "true_positives", "false_positives", "n_in", "n_out", "notes"),
        "tpr_at_fpr": {
            key(r.fpr): {
                **estimate_dict(r.estimate),
                **pick_values(r, "resolved", "at_threshold", "realised_fpr"),
            }
            for r in e.tpr_at_fpr
        },
        "ppv": {key(prior): estimate_dict(x) for prior, x in e.predictive_values},
    }
