"""Learners by their names on the command line."""

from __future__ import annotations

from collections.abc import Callable

from privacygauge.classifier.dtp.bayes_inference import BayesInference
from privacygauge.classifier.dtp.discriminant import LinearDiscriminant
from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.dtp.least_squares import LeastSquares
from privacygauge.classifier.dtp.logistic import Logistic
from privacygauge.classifier.dtp.naive_bayes import NaiveBayes
from privacygauge.classifier.dtp.nearest import NearestNeighbours
from privacygauge.classifier.dtp.quadratic import QuadraticDiscriminant
from privacygauge.classifier.dtp.random_trees import RandomDecisionTrees
from privacygauge.classifier.dtp.standardised import Standardised
from privacygauge.classifier.tables import CategoricalTable
from privacygauge.core import checks
from privacygauge.errors import InputError

QDA_SHRINKAGE = 0.01
"""Shrinkage of covariances towards the identity: one-hot columns have no inverse without it."""


MANY = 50
"""Attributes with more categories than this, and than a quarter of the records, are named."""


def many_categories(table: CategoricalTable) -> tuple[str, ...]:
    """Return a warning that names attributes with a category for nearly every record."""
    many = [
        f"{name!r} ({size:,} categories)"
        for name, size in zip(table.columns, table.categories, strict=True)
        if size is not None and size > max(MANY, len(table) // 4)
    ]
    told = (
        f"{checks.short_list(many)}: nearly every one of the {len(table):,} records has a "
        "category of "
        "its own, which gives it away; if these are numbers, name them with --continuous, if they "
        "are names, --drop them"
    )
    return (told,) if many else ()


def learner_on_categories(name: str, table: CategoricalTable, alpha: float, seed: int) -> Learner:
    """Return the learner of this name for categories, with Laplace smoothing `alpha`.

    Raises
    ------
    InputError
        If the table has numbers and the learner takes categories only.
    """
    if name == "naive-bayes":
        return NaiveBayes(table.categories, alpha)
    numbers = [n for n, size in zip(table.columns, table.categories, strict=True) if size is None]
    if numbers:
        raise InputError(f"--model {name} takes categories only, not the numbers of {numbers[0]!r}")
    if name == "bayes-inference":
        return BayesInference(alpha)
    return RandomDecisionTrees(table.categories, seed=seed, alpha=alpha)


def learner_on_numbers(name: str, l2: float, neighbours: int) -> Learner:
    """Return the learner of this name for numbers, which it scales by the training set."""
    known: dict[str, Callable[[], Learner]] = {
        "logistic": lambda: Logistic(l2, standardised=True),
        "lda": lambda: Standardised(LinearDiscriminant(), is_invariant=True),
        "qda": lambda: Standardised(QuadraticDiscriminant(QDA_SHRINKAGE)),
        "least-squares": lambda: Standardised(LeastSquares(l2)),
        "nearest": lambda: Standardised(NearestNeighbours(neighbours)),
    }
    return known[name]()
