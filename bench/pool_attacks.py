"""LiRA from training to metrics, against sacroml: logistic regression, as many shadow models.

Made-up records of 20 features and 5 classes, half of them members. Ours plays online LiRA alone,
with every number and interval of an audit; theirs trains as many models on random halves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from _duel import Duel, Side, table_alone
from sklearn.linear_model import LogisticRegression

from privacygauge.classifiers.audit.models import audit_model
from privacygauge.classifiers.fitted import Fitted
from privacygauge.core.attacks.lira import LiraOnline

FEATURES, CLASSES, MODELS = 20, 5, 16


def save(file: Path, n: int) -> None:
    """Write n records, a random half of them members."""
    rng = np.random.default_rng(0)
    y = rng.integers(CLASSES, size=n)
    x = rng.normal(size=(n, FEATURES)) + rng.normal(size=(CLASSES, FEATURES))[y]
    member = np.zeros(n, bool)
    member[rng.permutation(n)[: n // 2]] = True
    np.savez(file, x=x, y=y, member=member)


def work(file: str, models: int) -> Callable[[], list[float]]:
    """Return a call that audits a logistic regression, and gives the AUC."""
    with np.load(file) as archive:
        x, y, member = archive["x"], archive["y"], archive["member"]

    def audit() -> list[float]:
        model = LogisticRegression(max_iter=1000).fit(x[member], y[member])
        found = audit_model(
            LogisticRegression(max_iter=1000),
            x,
            y,
            fitted=Fitted(model, member),
            n_shadows=models,
            attacks=(LiraOnline(),),
        )
        return [found.evaluations[0].auc.value]

    return audit


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n in (1_000, 4_000) if quick else (500, 1_000, 4_000):
        file = folder / f"records-{n}.npz"
        given = {"file": str(file), "models": MODELS}
        yield Duel(
            "LiRA, from training to metrics",
            n,
            f"records, {MODELS} shadow models",
            Side("audit_model with LiRA", __file__, "work", given),
            Side("sacroml LIRAAttack", "peers/sacroml.py", "lira", given, "sacroml"),
            turns=2,
            prepare=partial(save, file, n),
        )


def main() -> None:
    """Print the table."""
    table_alone(__doc__.splitlines()[0], duels)


if __name__ == "__main__":
    main()
