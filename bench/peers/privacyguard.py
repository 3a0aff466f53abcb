"""PrivacyGuard: LiRA from the logits of shadow models that its user trains, and its analysis; its
bounds on epsilon."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path


def audit_of_records(file: str, models: int, model: str) -> Callable:
    """Return a call that trains a model and shadow models, plays LiRA and writes the analysis.

    Training is a loop over scikit-learn's models and all else vectorised; attack and analysis are
    those of its guide to LiRA, online.
    """

    def measure() -> list[float]:
        import numpy as np
        import pandas as pd
        from privacy_guard.analysis.mia.aggregate_analysis_input import AggregationType
        from privacy_guard.analysis.mia.analysis_node import AnalysisNode
        from privacy_guard.attacks.lira_attack import LiraAttack
        from sklearn.ensemble import RandomForestClassifier
        from sklearn.linear_model import LogisticRegression

        frame = pd.read_csv(file)
        x, y = frame.drop(columns="label").to_numpy(), frame["label"].to_numpy()
        rng, n = np.random.default_rng(0), len(y)
        inside = np.zeros((models + 1, n), bool)
        logits = np.empty(inside.shape)
        for row, logit in zip(inside, logits, strict=True):
            row[rng.permutation(n)[: n // 2]] = True
            made = {
                "logistic": LogisticRegression(max_iter=1000),
                "random-forest": RandomForestClassifier(n_jobs=1),
            }[model]
            probs = made.fit(x[row], y[row]).predict_proba(x)[np.arange(n), y]
            clipped = np.clip(probs, 1e-8, 1 - 1e-8)
            logit[:] = np.log(clipped) - np.log1p(-clipped)
        member, columns = inside[0], {"user_id": np.arange(n), "score_orig": logits[0]}
        for name, side in (("in", inside[1:]), ("out", ~inside[1:])):
            worlds = np.where(side, logits[1:], np.nan)
            columns[f"score_mean_{name}"] = np.nan_to_num(np.nanmean(worlds, axis=0))
            columns[f"score_std_{name}"] = np.nan_to_num(np.nanstd(worlds, axis=0)) + 1e-8
        made = pd.DataFrame(columns)
        attack = LiraAttack(
            made[member].copy(),
            made[~member].copy(),
            row_aggregation=AggregationType.NONE,
            use_fixed_variance=True,
            std_dev_type="mix",
            online_attack=True,
        )
        found = AnalysisNode(attack.run_attack(), delta=1e-6, n_users_for_eval=n).run_analysis()
        Path("report.json").write_text(json.dumps(asdict(found), default=float))
        return [float(found.auc)]

    return measure


def bounds(counts: list[tuple[int, int, int]], delta: float, file: str) -> Callable:
    """Return a call that bounds epsilon by right guesses in one run, and by scores of noise."""
    from importlib.metadata import version

    import numpy as np
    import torch
    from privacy_guard.analysis.mia.fdp_analysis_node import FDPAnalysisNode
    from privacy_guard.analysis.mia.mia_results import MIAResults

    def call() -> dict[str, object]:
        told = [
            FDPAnalysisNode(m=m, c=right, c_cap=guesses, threshold=0.05, delta=delta).run_analysis()
            for m, guesses, right in counts
        ]
        with np.load(file) as archive:
            games = zip(archive["scores"], archive["members"], strict=True)
            sides = [(torch.tensor(x[inside]), torch.tensor(x[~inside])) for x, inside in games]
        noise = [MIAResults(*side).compute_acc_auc_ci_epsilon(delta)[2] for side in sides]
        return {
            "version": version("privacyguard-platform"),
            "gaussian": [float(one.eps) for one in told],
            "noise": [float(one) for one in noise],
        }

    return call
