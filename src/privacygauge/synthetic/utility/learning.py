"""Machine-learning utility: classifiers trained on the synthetic and on the real table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import placements, roc
from privacygauge.synthetic.released.tables import draw_rows, fill_missing
from privacygauge.synthetic.table import Table, require_columns

MOST_LABELS = 4
"""Most columns that are labels in turn where none is named."""
MOST_CATEGORIES = 20
"""Most categories of a label that was not named."""
FEWEST_OF_A_CLASS = 10
"""Fewest real records in the second most frequent category of a label."""
MOST_TAUGHT = 3_000
"""Most training records of a forest."""
MOST_TESTED = 5_000
"""Most test records of a forest."""
TREES = 25
"""Trees in a forest."""


@dataclass(frozen=True)
class LearningComparison:
    """Quality of forests on the same real records, trained on real and on synthetic ones.

    No class of the test records is left out: one that the synthetic table lacks counts as never
    predicted.
    """

    label: str
    """Column that is predicted from all others."""
    classes: int
    """Number of its categories among the test records."""
    n_taught: int
    """Training records of each forest."""
    n_tested: int
    """Real records that both are tested on."""
    real_accuracy: float
    """Balanced accuracy of the forest trained on real records, in [0, 1]: the mean of the classes'
    recalls; chance is 1 / classes."""
    synthetic_accuracy: float
    """Balanced accuracy of the forest trained on synthetic records."""
    real_auc: float
    """Mean over the classes of the AUC of each against all others, for the forest trained on real
    records; chance is 1/2."""
    synthetic_auc: float
    """The same AUC of the forest trained on synthetic records."""


def possible_labels(table: Table) -> tuple[str, ...]:
    """Return up to four categorical columns that can be labels, fewest categories first."""
    found: list[tuple[int, str]] = []
    for j, codes, size in zip(table.schema.categorical, table.codes.T, table.sizes, strict=True):
        counts = np.sort(np.bincount(codes, minlength=2))
        if size <= MOST_CATEGORIES and counts[-2] >= FEWEST_OF_A_CLASS:
            found.append((size, table.schema.names[j]))
    found.sort(key=lambda entry: entry[0])
    return tuple(name for _, name in found[:MOST_LABELS])


def compare_learning(
    taught: Table, synthetic: Table, tested: Table, label: str, rng: np.random.Generator
) -> LearningComparison:
    """Return how well forests trained on each of two tables predict a label.

    Parameters
    ----------
    taught : Table
        Real records to learn from.
    synthetic : Table
        Synthetic records to learn from. Equally many of both are used, at most 3,000.
    tested : Table
        Real records, none of which is in `taught`; 5,000 of them at most are used.
    label : str
        A categorical column.
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        If the label is not a categorical column, or all test records are of one class.
    """
    names = taught.schema.names
    require_columns([label], names, "label")
    j = names.index(label)
    if taught.schema.columns[j].is_number:
        raise InputError(f"label must be a categorical column, got {label!r}: name it categorical")
    tested = tested[draw_rows(len(tested), MOST_TESTED, rng)]
    truth = tested.values[:, j].astype(np.int64)
    if len(np.unique(truth)) < 2:
        raise InputError(f"label {label!r} must have two classes among the records tested, got one")
    if len(names) < 2:
        raise InputError("a label needs at least one other column, got none")
    n = min(len(taught), len(synthetic), MOST_TAUGHT)
    size = taught.schema.columns[j].n_codes
    shown = np.delete(fill_missing(tested), j, axis=1)
    scores = []
    for table in (taught, synthetic):
        some = table[draw_rows(len(table), n, rng)]
        scores.append(_probabilities(some, j, size=size, shown=shown, rng=rng))
    (real, real_auc), (made, made_auc) = (_quality(found, truth) for found in scores)
    classes = len(np.unique(truth))
    return LearningComparison(
        label,
        classes,
        n_taught=n,
        n_tested=len(tested),
        real_accuracy=real,
        synthetic_accuracy=made,
        real_auc=real_auc,
        synthetic_auc=made_auc,
    )


def _probabilities(
    table: Table, j: int, size: int, shown: Floats, rng: np.random.Generator
) -> Floats:
    """Return a forest's probabilities (n, size), 0 for a class without training records."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        TREES,
        min_samples_leaf=5,
        class_weight="balanced",
        random_state=int(rng.integers(2**31)),
    )
    values = fill_missing(table)
    with warnings.catch_warnings():
        # Of a few records nearly each may have a class of its own: a label all the same.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        forest.fit(np.delete(values, j, axis=1), values[:, j].astype(np.int64))
    found = np.zeros((len(shown), size))
    found[:, forest.classes_] = forest.predict_proba(shown)
    return found


def _quality(probabilities: Floats, truth: Ints) -> tuple[float, float]:
    """Return balanced accuracy and the mean AUC."""
    guess = probabilities.argmax(axis=1)
    recalls = []
    aucs = []
    for one in np.unique(truth):
        of_class: Bools = truth == one
        recalls.append(float(np.mean(guess[of_class] == one)))
        inside, _ = placements(roc(Transcript(probabilities[:, one], of_class)))
        aucs.append(float(inside.mean()))
    return float(np.mean(recalls)), float(np.mean(aucs))


def split_for_learning(
    real: Table, holdout: Table | None, rng: np.random.Generator, share: float = 0.3
) -> tuple[Table, Table, Sequence[str]]:
    """Return real records to train on, real records to test on, and notes for the reader."""
    if holdout is not None:
        return real, holdout, ()
    order = rng.permutation(len(real))
    n_tested = max(1, round(share * len(real)))
    note = (
        "without a holdout the records tested are among those the synthetic table was made from, "
        "which flatters what is learnt from it"
    )
    return real[np.sort(order[n_tested:])], real[np.sort(order[:n_tested])], (note,)
