"""sacroml: its metrics of an attack, its worst-case attack and LiRA."""

from __future__ import annotations

import logging
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np


def metrics(file: str, percents: list[float]) -> Callable:
    """Return a call that gives version and the metrics of each attack in a file."""
    from sacroml.metrics import _tpr_at_fpr, get_metrics

    with np.load(file) as archive:
        cases = {name: archive[name] for name in archive.files}

    def measure() -> dict:
        told: dict = {"version": version("sacroml")}
        for name, (score, member) in cases.items():
            both = np.column_stack([1 - score, score])
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                found = get_metrics(both, member.astype(int))
                at = [float(_tpr_at_fpr(member, score, percent)) for percent in percents]
            told[name] = {
                "auc": found["AUC"],
                "advantage": found["Advantage"],
                "tpr": [None if np.isnan(value) else value for value in at],
            }
        return told

    return measure


def lira(file: str, models: int) -> Callable:
    """Return a call that attacks logistic regression by LiRA, from training to metrics."""
    from sacroml.attacks.likelihood_attack import LIRAAttack
    from sacroml.attacks.target import Target
    from sklearn.linear_model import LogisticRegression

    logging.disable(logging.INFO)
    with np.load(file) as archive:
        x, y, member = archive["x"], archive["y"], archive["member"]

    def measure() -> list[float]:
        model = LogisticRegression(max_iter=1000).fit(x[member], y[member])
        parts = {"X_train": x[member], "y_train": y[member]}
        parts |= {"X_test": x[~member], "y_test": y[~member]}
        raw = {f"{name}_orig": value for name, value in parts.items()}
        target = Target(model=model, dataset_name="made up", **parts, **raw)
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            attack = LIRAAttack(
                output_dir=folder,
                write_report=False,
                n_shadow_models=models,
                mode="online-carlini",
            )
            attack.attack(target)
        return [float(attack.attack_metrics[0]["AUC"])]

    return measure


def lira_scores(file: str) -> Callable:
    """Return a call that gives version and LiRA's scores for given logits of shadow models."""
    from sacroml.attacks.likelihood_attack import LIRAAttack

    logging.disable(logging.INFO)
    with np.load(file) as archive:
        logits, inside, target = archive["logits"], archive["inside"], archive["target"]
    n = len(target)
    sides = [{i: logits[side[:, i], i].tolist() for i in range(n)} for side in (~inside, inside)]
    probs = 1 / (1 + np.exp(-target))
    predictions, labels = np.column_stack([1 - probs, probs]), np.ones(n, int)

    def measure() -> dict:
        told: dict = {"version": version("sacroml")}
        with tempfile.TemporaryDirectory() as folder:
            for mode in ("online-carlini", "offline-carlini", "offline"):
                attack = LIRAAttack(output_dir=folder, write_report=False, mode=mode)
                scores, _ = attack._compute_scores(labels, predictions, *sides)
                told[mode] = [float(score[1]) for score in scores]
        return told

    return measure


def audit_of_records(file: str, models: int, model: str) -> Callable:
    """Return a call that trains a model and plays LiRA and the worst case, with their reports."""
    logging.disable(logging.INFO)

    def measure() -> list[float]:
        import pandas as pd
        from sacroml.attacks.target import Target
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression

        frame = pd.read_csv(file)
        x, y = frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()
        member = np.zeros(len(y), bool)
        member[np.random.default_rng(0).permutation(len(y))[: len(y) // 2]] = True
        made = {
            "logistic": LogisticRegression(max_iter=1000),
            "random-forest": RandomForestClassifier(n_jobs=1),
        }[model]
        made.fit(x[member], y[member])
        parts = {"X_train": x[member], "y_train": y[member]}
        parts |= {"X_test": x[~member], "y_test": y[~member]}
        raw = {f"{name}_orig": value for name, value in parts.items()}
        target = Target(model=made, dataset_name="records", **parts, **raw)
        return [
            reported("likelihood_attack", target, n_shadow_models=models, mode="online-carlini"),
            reported("worst_case_attack", target),
        ]

    return measure


def audit_of_predictions(file: str) -> Callable:
    """Return a call that plays the worst-case attack on predictions, with its report."""
    logging.disable(logging.INFO)

    def measure() -> list[float]:
        from sacroml.attacks.target import Target

        with np.load(file) as archive:
            probs, member = archive["probs"], archive["member"]
        target = Target(proba_train=probs[member], proba_test=probs[~member])
        return [reported("worst_case_attack", target)]

    return measure


def reported(name: str, target, **options) -> float:
    """Return the mean AUC of one of its attacks, once its report is written."""
    from importlib import import_module

    kind = {"likelihood_attack": "LIRAAttack", "worst_case_attack": "WorstCaseAttack"}[name]
    attack = getattr(import_module(f"sacroml.attacks.{name}"), kind)(output_dir=name, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attack.attack(target)
    if not Path(name, "report.pdf").exists():
        raise FileNotFoundError(f"{name} wrote no report")
    return float(np.mean([found["AUC"] for found in attack.attack_metrics]))


def worst_case(file: str) -> Callable:
    """Return a call that plays the worst-case attack, with and without a leak."""
    from sacroml.attacks.worst_case_attack import WorstCaseAttack

    logging.disable(logging.INFO)
    with np.load(file) as archive:
        probs, member = archive["probs"].astype(float), archive["member"]

    def measure() -> list[float]:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            attack = WorstCaseAttack(output_dir=folder, write_report=False, n_dummy_reps=0)
            attack.attack_from_preds(probs[member], probs[~member])
        return [float(np.mean([found["AUC"] for found in attack.attack_metrics]))]

    return measure
