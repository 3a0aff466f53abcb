"""The model of the demo."""

from __future__ import annotations

from leakscope.classifier.training import ProbabilisticClassifier


def forest(random_state: int) -> ProbabilisticClassifier:
    """Return an untrained random forest with scikit-learn's defaults."""
    from sklearn.ensemble import RandomForestClassifier

    model: ProbabilisticClassifier = RandomForestClassifier(random_state=random_state, n_jobs=1)
    return model
