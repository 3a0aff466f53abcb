"""tensorflow-privacy's empirical privacy tests: threshold attacks, and a bound on epsilon."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np


def tests():
    """Return its modules of attacks and of data."""
    from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import (
        data_structures,
        membership_inference_attack,
    )

    return membership_inference_attack, data_structures


def predictions(file: str):
    """Return its form of the predictions in a file."""
    _, data = tests()
    with np.load(file) as archive:
        probs, labels, member = archive["probs"], archive["labels"], archive["member"]
    logits = np.log(probs)  # entropies are made of logits only
    return data.AttackInputData(
        logits_train=logits[member],
        logits_test=logits[~member],
        labels_train=labels[member],
        labels_test=labels[~member],
    )


def both_attacks(given, by_class: bool) -> list:
    """Return its results of the two threshold attacks, on everything or on each class too."""
    attack, data = tests()
    kinds = (data.AttackType.THRESHOLD_ATTACK, data.AttackType.THRESHOLD_ENTROPY_ATTACK)
    slices = data.SlicingSpec(entire_dataset=True, by_class=by_class)
    return attack.run_attacks(given, slices, kinds).single_attack_results


def attacks(file: str) -> Callable:
    """Return a call that plays both threshold attacks on everything and on each class."""
    given = predictions(file)

    def measure() -> list[float]:
        found = both_attacks(given, by_class=True)
        return [float(np.mean([one.get_attacker_advantage() for one in found]))]

    return measure


def audit_of_predictions(file: str) -> Callable:
    """Return a call that plays three attacks on everything and each class, with its report."""

    def measure() -> list[float]:
        attack, data = tests()
        from tensorflow_privacy.privacy.privacy_tests.membership_inference_attack import plotting

        given = predictions(file)
        kinds = (
            data.AttackType.THRESHOLD_ATTACK,
            data.AttackType.THRESHOLD_ENTROPY_ATTACK,
            data.AttackType.LOGISTIC_REGRESSION,
        )
        slices = data.SlicingSpec(entire_dataset=True, by_class=True)
        found = attack.run_attacks(given, slices, kinds)
        Path("report.txt").write_text(found.summary(by_slices=True))
        best = found.get_result_with_max_auc()
        plotting.save_plot(plotting.plot_roc_curve(best.roc_curve), "report.png")
        found.save("report.pickle")
        return [float(best.get_auc())]

    return measure


def metrics(file: str) -> Callable:
    """Return a call that gives version, AUC and advantage of each attack in a file."""
    attack, data = tests()
    with np.load(file) as archive:
        cases = {name: archive[name] for name in archive.files}

    def measure() -> dict:
        told: dict = {"version": version("tensorflow-empirical-privacy")}
        for name, (score, member) in cases.items():
            inside = member.astype(bool)
            given = data.AttackInputData(loss_train=-score[inside], loss_test=-score[~inside])
            (one,) = attack.run_attacks(given).single_attack_results
            told[name] = {"auc": float(one.get_auc()), "advantage": one.get_attacker_advantage()}
        return told

    return measure


def epsilons(file: str) -> Callable:
    """Return a call that gives version, and its bounds of epsilon and advantage in each game."""
    attack, data = tests()
    with np.load(file) as archive:
        scores, members = archive["scores"], archive["members"]

    def measure() -> dict:
        bounds, advantages = [], []
        for score, member in zip(scores, members, strict=True):
            given = data.AttackInputData(loss_train=-score[member], loss_test=-score[~member])
            (one,) = attack.run_attacks(given).single_attack_results
            advantages.append(float(one.get_attacker_advantage()))
            bounds.append({kind.value: float(values[0]) for kind, values in largest(one)})
        return {
            "version": version("tensorflow-empirical-privacy"),
            "epsilon": {kind: [found[kind] for found in bounds] for kind in bounds[0]},
            "advantage": advantages,
        }

    return measure


def largest(one) -> list:
    """Return the bounds of each method, the largest first."""
    return list(one.epsilon_lower_bound_value.bounds.items())


def entropies(file: str) -> Callable:
    """Return a call that gives version and the scores of its entropy attack."""
    _, data = tests()
    with np.load(file) as archive:
        labels, cases = archive["labels"], {n: archive[n] for n in archive.files if n != "labels"}
    half = len(labels) // 2

    def measure() -> dict:
        told: dict = {"version": version("tensorflow-empirical-privacy")}
        for name, values in cases.items():
            kind = "probs" if name == "probs" else "logits"
            given = data.AttackInputData(
                **{f"{kind}_train": values[:half], f"{kind}_test": values[half:]},
                labels_train=labels[:half],
                labels_test=labels[half:],
            )
            try:
                found = both_attacks(given, by_class=False)[1]
            except (AttributeError, TypeError, ValueError) as error:
                told[name] = str(error).splitlines()[0]
                continue
            sides = (found.membership_scores_train, found.membership_scores_test)
            told[name] = np.concatenate(sides).astype(float).tolist()
        return told

    return measure
