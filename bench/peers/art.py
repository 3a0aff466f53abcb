"""The Adversarial Robustness Toolbox: PDTP, TPR at FPR, and the rule of correct predictions."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

import numpy as np

VERSION = "adversarial-robustness-toolbox"


def pdtp_of_naive_bayes(file: str) -> Callable:
    """Return a call that gives version and the PDTP of all rows, by refits of naive Bayes."""
    from art.estimators.classification import SklearnClassifier
    from art.metrics import PDTP
    from sklearn.naive_bayes import CategoricalNB

    with np.load(file) as archive:
        x, y, sizes = archive["x"], archive["y"], archive["sizes"].tolist()

    def measure() -> dict:
        models = [
            SklearnClassifier(model=CategoricalNB(alpha=1.0, min_categories=sizes))
            for _ in range(2)
        ]
        models[0].fit(x, np.eye(int(y.max()) + 1)[y])
        found, _, _ = PDTP(*models, x, y, num_iter=1)
        return {"version": version(VERSION), "pdtp": found.tolist()}

    return measure


def tprs(file: str, fprs: list[float]) -> Callable:
    """Return a call that gives version and the TPR at each FPR of each attack in a file."""
    from art.metrics.privacy.worst_case_mia_score import get_roc_for_multi_fprs

    with np.load(file) as archive:
        cases = {name: archive[name] for name in archive.files}

    def measure() -> dict:
        told: dict = {"version": version(VERSION)}
        for name, (score, member) in cases.items():
            at, found, _ = get_roc_for_multi_fprs(score, member.astype(int), np.array(fprs))
            told[name] = {"fpr": [float(x) for x in at], "tpr": [float(x) for x in found]}
        return told

    return measure


def gap(file: str) -> Callable:
    """Return a call that gives version and the AUC of the rule's labels and probabilities."""
    from art.attacks.inference.membership_inference import MembershipInferenceBlackBoxRuleBased
    from art.estimators.classification import BlackBoxClassifier
    from sklearn.metrics import roc_auc_score

    with np.load(file) as archive:
        probs, labels, member = archive["probs"], archive["labels"], archive["member"]
    rows = np.arange(len(labels), dtype=np.float32)[:, None]

    def measure() -> dict:
        model = BlackBoxClassifier(
            lambda asked: probs[asked[:, 0].astype(int)], input_shape=(1,), nb_classes=2
        )
        attack = MembershipInferenceBlackBoxRuleBased(model)
        asked = attack.infer(rows, labels)
        soft = attack.infer(rows, labels, probabilities=True)
        return {
            "version": version(VERSION),
            "labels": float(roc_auc_score(member, asked)),
            "probabilities": float(roc_auc_score(member, soft[:, 1])),
            "distinct rows": len(np.unique(soft, axis=0)),
        }

    return measure
