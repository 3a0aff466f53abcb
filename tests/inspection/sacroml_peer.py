"""Structural answers of SACRO-ML about twelve models, kept in sacroml.json for the tests.

`python -m tests.inspection.sacroml_peer` writes the file, in an environment with sacroml (2.0.1 for
the file as it is) and without PrivacyGauge.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

FILE = Path(__file__).parent / "sacroml.json"
THRESHOLD = 10
"""Fewest people of SACRO-ML's default risk appetite, and fewest degrees of freedom."""


def data() -> list[np.ndarray]:
    """Return six columns of a data set of scikit-learn: features and labels, of two parts."""
    x, y = load_breast_cancer(return_X_y=True)
    return train_test_split(x[:, :6], y, test_size=0.3, random_state=0)


def models() -> dict[str, Any]:
    """Return twelve models, from those that memorise to those that cannot."""
    from xgboost import XGBClassifier

    forest = {"max_depth": 3, "min_samples_leaf": 25, "max_features": None}
    return {
        "a tree": DecisionTreeClassifier(random_state=0),
        "a tree of depth 3": DecisionTreeClassifier(max_depth=3, random_state=0),
        "a tree with large leaves": DecisionTreeClassifier(min_samples_leaf=20, random_state=0),
        "a random tree": DecisionTreeClassifier(
            splitter="random", max_depth=8, min_samples_leaf=9, random_state=0
        ),
        "a forest": RandomForestClassifier(random_state=0),
        "a small forest": RandomForestClassifier(10, random_state=0, **forest),
        "boosted stumps": AdaBoostClassifier(n_estimators=3, random_state=0),
        "xgboost": XGBClassifier(n_estimators=5, max_depth=3, random_state=0, n_jobs=1),
        "a network": MLPClassifier((4,), max_iter=300, random_state=0),
        "logistic regression": LogisticRegression(max_iter=5000),
        "naive Bayes": GaussianNB(),
        "neighbours": KNeighborsClassifier(n_neighbors=15),
    }


def main() -> None:
    """Ask SACRO-ML about all models, and write its answers."""
    from sacroml.attacks.structural_attack import StructuralAttack, get_model_param_count
    from sacroml.attacks.target import Target

    warnings.simplefilter("ignore")
    x, others, y, their_y = data()
    answers = {}
    for name, model in models().items():
        model.fit(x, y)
        target = Target(
            model=model, dataset_name="d", X_train=x, y_train=y, X_test=others, y_test=their_y
        )
        for i in range(x.shape[1]):
            target.add_feature(f"column {i}", [i], "float")
        attack = StructuralAttack(write_report=False, report_individual=True)
        attack.attack(target)
        found = attack.results
        of_records = attack.record_level_results
        answers[name] = {
            "few degrees of freedom": bool(found.dof_risk),
            "small groups": bool(found.k_anonymity_risk),
            "rules out a class": bool(found.class_disclosure_risk),
            "small counts": bool(found.smallgroup_risk),
            "memorises": bool(found.unnecessary_risk),
            "parameters": int(get_model_param_count(model)),
            "sizes": [int(k) for k in of_records.k_anonymity],
            "records whose class is ruled out": int(sum(of_records.class_disclosure)),
            "records of small counts": int(sum(of_records.smallgroup_risk)),
        }
    kept = {"scikit-learn": sklearn.__version__, "answers": answers}
    FILE.write_text(json.dumps(kept, indent=1).replace(",\n    ", ", ") + "\n", "utf-8")


if __name__ == "__main__":
    main()
