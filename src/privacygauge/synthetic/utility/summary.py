"""The utility of a synthetic table: its marginals, its correlations, and what it teaches."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.core.checks import Floats, frozen
from privacygauge.core.estimate import Skipped
from privacygauge.synthetic.generators.binning import QuantileBins
from privacygauge.synthetic.released.tables import Released
from privacygauge.synthetic.table import Table
from privacygauge.synthetic.utility.learning import (
    Learnt,
    learnt,
    possible_labels,
    split_for_learning,
)
from privacygauge.synthetic.utility.marginals import (
    Marginals,
    associations,
    column_sets,
    marginal_distances,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Utility:
    """How near a synthetic table comes to the real one; the holdout says how near is near."""

    names: tuple[str, ...]
    """(F,) The columns."""
    marginals: tuple[Marginals, ...]
    """Real against synthetic, for sets of 1, 2 and 3 columns."""
    holdout_marginals: tuple[Marginals, ...]
    """Real against holdout, for the same sets: what a sample of other people comes to. Empty
    without a holdout."""
    real_associations: Floats
    """(F, F) As `associations` returns them, of the real records."""
    synthetic_associations: Floats
    """(F, F) Of the synthetic records."""
    holdout_associations: Floats | None
    """(F, F) Of the holdout; None without one."""
    learnt: tuple[Learnt, ...] | Skipped
    """One a label."""
    notes: tuple[str, ...] = ()
    """What the reader of the result should know, one sentence each."""

    def __post_init__(self) -> None:
        for name in ("real_associations", "synthetic_associations", "holdout_associations"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, frozen(getattr(self, name)))

    @property
    def correlation_mean(self) -> float:
        """Mean absolute difference of the associations of two columns; 0 for a perfect table."""
        return float(_differences(self.real_associations, self.synthetic_associations).mean())

    @property
    def correlation_largest(self) -> float:
        """Largest absolute difference of the associations of two columns, in [0, 2]."""
        return float(_differences(self.real_associations, self.synthetic_associations).max())

    @property
    def holdout_correlation_mean(self) -> float | None:
        """Mean absolute difference of real and holdout; None without a holdout."""
        if self.holdout_associations is None:
            return None
        return float(_differences(self.real_associations, self.holdout_associations).mean())

    def to_frame(self) -> pd.DataFrame:
        """Return one row a measure: measure, label, synthetic, reference.

        The reference is what real records come to: the holdout's distances, or what a forest
        learns from real records; missing where there is none.
        """
        import pandas as pd

        return pd.DataFrame(self._rows(), columns=["measure", "label", "synthetic", "reference"])

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

    def _rows(self) -> list[tuple[str, str | None, float, float | None]]:
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
        return rows


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
    """Return how near a synthetic table comes to the real one.

    Parameters
    ----------
    real, synthetic : Table
        Of one schema, as `read_together` makes them.
    holdout : Table, optional
        Further records of the same source. They say how far two samples of people are apart, and
        are what the forests are tested on; without them three tenths of the real records are.
    rng : numpy.random.Generator
    label : str, optional
        The categorical column to learn; by default up to four, each in turn.
    n_bins : int, default 10
        Bins of a number, at the quantiles of the real ones.
    most_sets : int, default 200
        Sets of k columns, drawn at random where there are more.

    Raises
    ------
    InputError
        If the schemas differ, a table is too small, or the label cannot be one.
    """
    released = Released(real, synthetic, holdout)
    bins = QuantileBins.of(real, n_bins)
    codes = [bins.codes(table) for table in released.tables().values()]
    width = codes[0].shape[1]
    sets = [column_sets(width, k, most_sets, rng) for k in range(1, min(3, width) + 1)]
    near = [
        tuple(marginal_distances(codes[0], other, bins.sizes, some) for some in sets)
        for other in codes[1:]
    ]
    pairs = [associations(table) for table in released.tables().values()]
    found, notes = _learnt(released, label, rng)
    return Utility(
        released.schema.names,
        near[0],
        holdout_marginals=near[1] if holdout is not None else (),
        real_associations=pairs[0],
        synthetic_associations=pairs[1],
        holdout_associations=pairs[2] if holdout is not None else None,
        learnt=found,
        notes=notes,
    )


def _learnt(
    released: Released, label: str | None, rng: np.random.Generator
) -> tuple[tuple[Learnt, ...] | Skipped, tuple[str, ...]]:
    taught, tested, notes = split_for_learning(released.real, released.holdout, rng)
    labels = [label] if label is not None else list(_told(taught, tested))
    if not labels:
        reason = "no categorical column has two classes of ten records or more, and another column"
        return Skipped("learning", reason), ()
    made = released.synthetic
    return tuple(learnt(taught, made, tested, one, rng) for one in labels), tuple(notes)


def _told(taught: Table, tested: Table) -> tuple[str, ...]:
    """Return the columns that can be labels, and of which the test has two classes."""
    if len(taught.schema.columns) < 2:
        return ()
    place = taught.schema.names.index
    return tuple(
        name
        for name in possible_labels(taught)
        if len(np.unique(tested.values[:, place(name)])) > 1
    )


def _differences(one: Floats, other: Floats) -> Floats:
    """Return the absolute differences above the diagonal; a single 0 for a single column."""
    if len(one) < 2:
        return np.zeros(1)
    above = np.triu_indices(len(one), 1)
    return np.asarray(np.abs(one - other)[above])
