"""The utility of a synthetic table: its marginals, its correlations, and models trained on it."""

from __future__ import annotations

import math
import warnings
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import rankdata

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints, frozen
from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.roc import placements, roc
from privacygauge.tables.generators.binning import QuantileBins
from privacygauge.tables.generators.network import combine_codes
from privacygauge.tables.released.tables import ReleasedTables, draw_rows, fill_missing
from privacygauge.tables.table import Table, require_columns

if TYPE_CHECKING:
    import pandas as pd


MOST_LABELS = 4
"""Most columns that serve as labels where none is named."""
MOST_CATEGORIES = 20
"""Most categories of a label that is not named."""
FEWEST_OF_A_CLASS = 10
"""Fewest real records in the second most frequent category of a label."""
MOST_TAUGHT = 3_000
"""Most training records per forest."""
MOST_TESTED = 5_000
"""Most test records per forest."""
SHARE_TESTED = 0.3
"""Share of the real records that are tested, and not learnt from, without a holdout."""
TREES = 25
"""Trees per forest."""


@dataclass(frozen=True)
class LearningComparison:
    """Quality of forests on the same real records, trained on real and on synthetic records.

    All classes of the test records count: a class that the synthetic table lacks is never
    predicted.
    """

    label: str
    """Column that is predicted from all others."""
    classes: int
    """Number of its categories among the test records."""
    n_taught: int
    """Number of training records per forest."""
    n_tested: int
    """Number of real records that both forests are tested on."""
    real_accuracy: float
    """Balanced accuracy of the forest trained on real records, in [0, 1]: mean recall over the
    classes; chance is 1 / classes."""
    synthetic_accuracy: float
    """Balanced accuracy of the forest trained on synthetic records, in [0, 1]."""
    real_auc: float
    """Mean over the classes of the AUC of one class against all others, in [0, 1], for the forest
    trained on real records; chance is 1/2."""
    synthetic_auc: float
    """The same AUC of the forest trained on synthetic records."""


def possible_labels(table: Table) -> tuple[str, ...]:
    """Return up to four categorical columns that can be labels, fewest categories first."""
    found: list[tuple[int, str]] = []
    for j, codes, size in zip(table.schema.categorical, table.codes.T, table.sizes, strict=True):
        # minlength 2: a column of one category has a second one with no records.
        counts = np.sort(np.bincount(codes, minlength=2))
        if size <= MOST_CATEGORIES and counts[-2] >= FEWEST_OF_A_CLASS:
            found.append((size, table.schema.names[j]))
    found.sort(key=lambda entry: entry[0])
    return tuple(name for _, name in found[:MOST_LABELS])


def compare_learning(
    taught: Table, synthetic: Table, tested: Table, label: str, rng: np.random.Generator
) -> LearningComparison:
    """Compare forests trained on real and on synthetic records in predicting a label.

    Parameters
    ----------
    taught : Table
        Real records to train on.
    synthetic : Table
        Synthetic records to train on. Equally many of both are used, at most 3,000.
    tested : Table
        Real records, none of which is in `taught`; at most 5,000 of them are used.
    label : str
        Name of a categorical column.
    rng : numpy.random.Generator

    Raises
    ------
    InputError
        If the label is not a categorical column, or all test records are of one class.
    """
    from sklearn.ensemble import RandomForestClassifier

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
    classes = np.unique(truth)
    accuracy = []
    auc = []
    for table in (taught, synthetic):
        some = table[draw_rows(len(table), n, rng)]
        values = fill_missing(some)
        forest = RandomForestClassifier(
            TREES,
            min_samples_leaf=5,
            class_weight="balanced",
            random_state=int(rng.integers(2**31)),
        )
        with warnings.catch_warnings():
            # Among few records nearly each may have its own class, which is still a label.
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            forest.fit(np.delete(values, j, axis=1), values[:, j].astype(np.int64))
        # 0 for a class without training records.
        probabilities = np.zeros((len(shown), size))
        probabilities[:, forest.classes_] = forest.predict_proba(shown)
        guess = probabilities.argmax(axis=1)
        recalls = []
        aucs = []
        for one in classes:
            of_class: Bools = truth == one
            recalls.append(float(np.mean(guess[of_class] == one)))
            # The AUC is the mean over the members of the class of the share of others below, ties
            # as halves.
            inside, _ = placements(roc(Transcript(probabilities[:, one], of_class)))
            aucs.append(float(inside.mean()))
        accuracy.append(float(np.mean(recalls)))
        auc.append(float(np.mean(aucs)))
    return LearningComparison(
        label,
        len(classes),
        n_taught=n,
        n_tested=len(tested),
        real_accuracy=accuracy[0],
        synthetic_accuracy=accuracy[1],
        real_auc=auc[0],
        synthetic_auc=auc[1],
    )


# The utility of a synthetic table: its marginals, its correlations, and models trained on it.


@dataclass(frozen=True, eq=False)
class Marginals:
    """Total variation distances between two tables, for sets of k columns."""

    k: int
    """Number of columns per set."""
    sets: tuple[tuple[int, ...], ...]
    """Positions of the columns of each set."""
    distances: Floats
    """(number of sets,) In [0, 1]; 0 if all combinations of values have equal shares."""
    mean: float = field(init=False)
    """Mean distance over the sets."""

    def __post_init__(self) -> None:
        found = checks.floats(self.distances, "distances", length=len(self.sets))
        object.__setattr__(self, "distances", found)
        object.__setattr__(self, "mean", float(found.mean()))


def column_sets(
    width: int, k: int, most: int, rng: np.random.Generator
) -> tuple[tuple[int, ...], ...]:
    """Return all sets of k of `width` columns, or `most` distinct random ones if there are more."""
    if math.comb(width, k) <= most:
        return tuple(combinations(range(width), k))
    drawn: dict[tuple[int, ...], None] = {}
    while len(drawn) < most:
        columns = np.sort(rng.choice(width, k, replace=False))
        drawn[tuple(columns.tolist())] = None
    return tuple(drawn)


def marginal_distances(
    one: Ints, other: Ints, sizes: tuple[int, ...], sets: tuple[tuple[int, ...], ...]
) -> Marginals:
    """Return the total variation distance for each set of columns.

    Parameters
    ----------
    one, other : ndarray of int, shape (n, F) and (m, F)
        Codes of two tables.
    sizes : tuple of int, length F
        Number of codes of each column.
    sets : tuple of tuple of int
        Sets of equally many columns, at least one.

    Notes
    -----
    TV = 1/2 sum over combinations of values of |share in one - share in the other|. Two samples of
    one population also differ, the more, the smaller they are and the larger k is.
    """
    found = []
    for columns in sets:
        keys = [combine_codes(codes, columns, sizes) for codes in (one, other)]
        # Only values that occur are counted: the product of the sizes may be large.
        values, places = np.unique(np.concatenate(keys), return_inverse=True)
        sides = np.split(places, [len(one)])
        shares = [np.bincount(side, minlength=len(values)) / len(side) for side in sides]
        found.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return Marginals(len(sets[0]), sets, np.array(found))


def associations(table: Table) -> Floats:
    """Return the association of every pair of columns, (F, F), symmetric, 1 on the diagonal.

    For two numeric columns it is the correlation of the ranks, in [-1, 1] (Spearman; a missing
    number ranks below all others); for two categorical columns Cramér's V, in [0, 1], without bias
    correction; for one of each the correlation ratio of the ranks, in [0, 1]: the root of the share
    of their variance that lies between the categories. The association with a constant column is 0.
    """
    values = fill_missing(table)
    is_number = np.array([column.is_number for column in table.schema.columns], np.bool_)
    numbers = np.flatnonzero(is_number)
    categories = np.flatnonzero(~is_number)
    found = np.eye(values.shape[1])
    # Ranks of mean 0 and variance 1; all 0 for a constant column.
    ranks = np.zeros((len(numbers), len(values)))
    for place, j in enumerate(numbers):
        rank = rankdata(values[:, j])
        if (spread := rank.std()) != 0:
            ranks[place] = (rank - rank.mean()) / spread
    # Each column with the ones before it: half of the symmetric matrix.
    for place, i in enumerate(numbers):
        others = numbers[:place]
        found[i, others] = found[others, i] = (ranks[:place] * ranks[place]).mean(axis=1)
    codes = np.array(
        [np.unique(values[:, j], return_inverse=True)[1] for j in categories], np.int64
    ).reshape(-1, len(values))
    for place, i in enumerate(categories):
        others = categories[:place]
        found[i, others] = found[others, i] = _cramers_v(codes[:place], codes[place])
        # Correlation ratios. Ranks have variance 1: the sum of squared class means, weighted, is
        # the share between classes.
        counts = np.bincount(codes[place])
        begins = np.cumsum([0, *counts[:-1]])
        in_order = ranks[:, np.argsort(codes[place], kind="stable")]
        sums = np.add.reduceat(in_order, begins, axis=1)
        shares = (sums**2 / counts).sum(axis=1) / len(values)
        found[i, numbers] = found[numbers, i] = np.sqrt(np.minimum(1.0, shares))
    return found


def _cramers_v(others: Ints, one: Ints) -> Floats:
    """Return (k,) Cramér's V of each row of codes (k, n) with one column's codes."""
    k, n = others.shape
    size = int(one.max()) + 1
    levels = others.max(axis=1, initial=0) + 1
    # Only pairs that occur: two columns of names have more possible pairs than fit into memory.
    pairs = np.sort(others * size + one, axis=1)
    last = np.ones(pairs.shape, np.bool_)
    last[:, :-1] = pairs[:, 1:] != pairs[:, :-1]
    ends = np.flatnonzero(last)
    row = ends // n
    pair = pairs[last]
    counts = np.diff(ends, prepend=-1)
    # chi^2 / n without expected counts: the sum of n_ij^2 / (n_i n_j), minus one. Marginal counts
    # of all rows in one array; `begins` is where each row's levels start.
    begins = np.cumsum([0, *levels])[:-1]
    of_others = np.bincount((others + begins[:, None]).ravel())
    sides = of_others[begins[row] + pair // size] * np.bincount(one)[pair % size]
    square = np.bincount(row, counts / sides * counts, k) - 1.0
    least = np.minimum(levels, size)
    found = np.sqrt(np.minimum(1.0, np.maximum(0.0, square) / np.maximum(least - 1, 1)))
    return np.where(least < 2, 0.0, found)


@dataclass(frozen=True, eq=False)
class Utility:
    """Similarity of a synthetic table to the real one, with the holdout as the scale."""

    names: tuple[str, ...]
    """(F,) Names of the columns."""
    marginals: tuple[Marginals, ...]
    """Distances of the synthetic table from the real one, for sets of 1, 2 and 3 columns."""
    holdout_marginals: tuple[Marginals, ...]
    """Distances of the holdout from the real table, for the same sets: the effect of sampling other
    people. Empty without a holdout."""
    real_associations: Floats
    """(F, F) Associations in the real table, as `associations` returns them."""
    synthetic_associations: Floats
    """(F, F) Associations in the synthetic table."""
    holdout_associations: Floats | None
    """(F, F) Associations in the holdout; None without one."""
    correlation_mean: float
    """Mean absolute difference of associations in the synthetic and the real table, in [0, 2]; 0
    for a perfect table."""
    correlation_largest: float
    """Largest absolute difference between two columns' associations, in [0, 2]."""
    holdout_correlation_mean: float | None
    """Mean absolute difference of associations in the holdout and the real table; None without a
    holdout."""
    learnt: tuple[LearningComparison, ...] | Skipped
    """Comparisons of forests, one per label; skipped if there is no label."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the result, one sentence each."""

    def __post_init__(self) -> None:
        for name in ("real_associations", "synthetic_associations", "holdout_associations"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per measure, with columns measure, label, synthetic and reference.

        The reference is the value for real records: the holdout's distances, or the quality of a
        forest trained on real records; missing if there is none.
        """
        import pandas as pd

        rows: list[tuple[str, str | None, float, float | None]] = []
        for i, found in enumerate(self.marginals):
            reference = self.holdout_marginals[i].mean if self.holdout_marginals else None
            rows.append((f"{found.k}-way total variation", None, found.mean, reference))
        reference = self.holdout_correlation_mean
        rows.append(("mean correlation difference", None, self.correlation_mean, reference))
        rows.append(("largest correlation difference", None, self.correlation_largest, None))
        for one in () if isinstance(self.learnt, Skipped) else self.learnt:
            balanced = (one.synthetic_accuracy, one.real_accuracy)
            rows.append(("balanced accuracy", one.label, *balanced))
            rows.append(("AUC", one.label, one.synthetic_auc, one.real_auc))
        return pd.DataFrame(rows, columns=["measure", "label", "synthetic", "reference"])

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON values."""
        references = [found.mean for found in self.holdout_marginals]
        return {
            "marginals": {
                str(found.k): {
                    "mean": found.mean,
                    "sets": len(found.sets),
                    "holdout": references[i] if references else None,
                }
                for i, found in enumerate(self.marginals)
            },
            "correlations": {
                "mean": self.correlation_mean,
                "largest": self.correlation_largest,
                "holdout_mean": self.holdout_correlation_mean,
            },
            "learnt": [] if isinstance(self.learnt, Skipped) else [asdict(x) for x in self.learnt],
            "skipped": [asdict(self.learnt)] if isinstance(self.learnt, Skipped) else [],
            "notes": list(self.notes),
        }


def utility(
    real: Table,
    synthetic: Table,
    holdout: Table | None = None,
    *,
    rng: np.random.Generator,
    label: str | None = None,
    n_bins: int = 10,
    most_sets: int = 200,
) -> Utility:
    """Measure the similarity of a synthetic table to the real one.

    Parameters
    ----------
    real, synthetic : Table
        Tables of one schema, as `read_together` returns them.
    holdout : Table, optional
        Further records of the same source. They show how far two samples of people are apart, and
        the forests are tested on them; without a holdout, on three tenths of the real records.
    rng : numpy.random.Generator
    label : str, optional
        Categorical column to predict; by default up to four, each in turn.
    n_bins : int, default 10
        Bins per number, at the quantiles of the real numbers.
    most_sets : int, default 200
        Most sets of k columns; drawn at random if there are more.

    Raises
    ------
    InputError
        If the schemas differ, a table is too small, or the label is not usable.
    """
    released = ReleasedTables(real, synthetic, holdout)
    bins = QuantileBins.of(real, n_bins)
    codes = [bins.codes(table) for table in released.tables().values()]
    # One draw of sets for both comparisons, or their means could not be compared.
    width = codes[0].shape[1]
    sets = [column_sets(width, k, most_sets, rng) for k in range(1, min(3, width) + 1)]
    near = [
        tuple(marginal_distances(codes[0], other, bins.sizes, some) for some in sets)
        for other in codes[1:]
    ]
    pairs = [associations(table) for table in released.tables().values()]
    # Absolute differences from the real associations, above the diagonal; 0 for a single column.
    above = np.triu_indices(width, 1)
    apart = [np.abs(pairs[0] - other)[above] if width > 1 else np.zeros(1) for other in pairs[1:]]
    taught = released.real
    tested = released.holdout
    notes: tuple[str, ...] = ()
    if tested is None:
        order = rng.permutation(len(taught))
        n_tested = max(1, round(SHARE_TESTED * len(taught)))
        tested = taught[np.sort(order[:n_tested])]
        taught = taught[np.sort(order[n_tested:])]
        notes = (
            "without a holdout the records tested are among those the synthetic table was made "
            "from, which flatters what is learnt from it",
        )
    labels = [] if label is None else [label]
    if label is None and len(taught.schema.columns) > 1:
        place = taught.schema.names.index
        # A label needs two classes among the test records too.
        labels = [
            name
            for name in possible_labels(taught)
            if len(np.unique(tested.values[:, place(name)])) > 1
        ]
    learnt: tuple[LearningComparison, ...] | Skipped = tuple(
        compare_learning(taught, synthetic, tested=tested, label=one, rng=rng) for one in labels
    )
    if not labels:
        reason = "no categorical column has two classes of ten records or more, and another column"
        learnt = Skipped("learning", reason)
        notes = ()
    return Utility(
        released.schema.names,
        near[0],
        holdout_marginals=near[1] if holdout is not None else (),
        real_associations=pairs[0],
        synthetic_associations=pairs[1],
        holdout_associations=pairs[2] if holdout is not None else None,
        correlation_mean=float(apart[0].mean()),
        correlation_largest=float(apart[0].max()),
        holdout_correlation_mean=float(apart[1].mean()) if holdout is not None else None,
        learnt=learnt,
        notes=notes,
    )
