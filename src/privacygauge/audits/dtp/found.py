"""What an audit of differential training privacy found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.dtp.checked import Checked
from privacygauge.classifier.dtp.learner import DtpRange
from privacygauge.classifier.dtp.removal import LIMIT, RemovalPath
from privacygauge.classifier.dtp.variation import Variation
from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.report.axes import Axes
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report

Decision = Literal["publish", "do not publish"]


@dataclass(frozen=True, eq=False, repr=False)
class DtpAudit(Reported):
    """How far each record of a training set moves the classifier, with ways to look at it."""

    origin: Origin
    """Where it comes from."""
    model: str
    """The kind of classifier."""
    method: str
    """How the classifier without a record was had."""
    width: float
    """Of the bins in which probabilities are published; 0 for none."""
    n_train: int
    """Records in the training set."""
    class_names: tuple[str, ...]
    """(k,) Names of the classes."""
    rows: Ints
    """(r,) The records that were measured: rows of the data, ascending."""
    ids: NDArray[Any]
    """(r,) Their names."""
    labels: Ints
    """(r,) Their classes."""
    pdtp: Floats
    """(r,) Largest log ratio at the record itself, in nats; infinite where a class is emptied."""
    dtp: DtpRange
    """Between which numbers the largest log ratio over all queries lies."""
    mean: Estimate
    """Mean PDTP of the records; an interval where they are a sample of the training set."""
    share_above: Estimate
    """Share of the records with a PDTP above 1."""
    repeated: Floats | None
    """(m, r) PDTP in further training sets, random halves of the data; None without them."""
    averages: tuple[Estimate, ...]
    """(r,) Mean of the repeated values of each record; empty without them."""
    removal: RemovalPath | None
    """What removing the riskiest records does; None where it was not asked for."""
    variation: tuple[Variation, ...]
    """For the riskiest records: what else moves their predictions; empty where not asked for."""
    checked: Checked | None = None
    """How many refits agree with a shortcut that spared the others; None where none was tried."""

    def __post_init__(self) -> None:
        for name in ("rows", "ids", "labels", "pdtp"):
            object.__setattr__(self, name, checks.frozen(np.asarray(getattr(self, name))))

    @property
    def complete(self) -> bool:
        """Whether every record of the training set was measured."""
        return len(self.rows) == self.n_train

    @property
    def highest(self) -> float:
        """The largest PDTP: the classifier's value."""
        return float(self.pdtp.max())

    @property
    def n_above(self) -> int:
        """Records with a PDTP above 1."""
        return int(np.count_nonzero(self.pdtp > LIMIT))

    @property
    def n_infinite(self) -> int:
        """Records whose removal makes some probability 0, or leaves no answer."""
        return int(np.count_nonzero(np.isinf(self.pdtp)))

    @property
    def n_above_on_average(self) -> int:
        """Records with a mean above 1 over several training sets."""
        return sum(x.value > LIMIT for x in self.averages)

    @property
    def n_surely_above(self) -> int:
        """Records whose mean has its whole interval above 1."""
        return sum(x.low > LIMIT for x in self.averages)

    @property
    def order(self) -> Ints:
        """(r,) Places of the records, the riskiest first: by PDTP, then by what queries show."""
        return np.lexsort((self.rows, -self.dtp.low, -self.pdtp))

    @property
    def n_indirect(self) -> int:
        """Records that other queries alone give away."""
        return int(np.count_nonzero(self.indirect))

    @property
    def indirect(self) -> Bools:
        """(r,) Where other queries show more than 1 and the record's own does not."""
        return np.asarray((self.dtp.low > LIMIT) & (self.pdtp <= LIMIT), np.bool_)

    @property
    def decision(self) -> Decision:
        """The DTP-1 rule: do not publish where some query shows more than 1."""
        return "do not publish" if self.dtp.low.max() > LIMIT else "publish"

    @property
    def certified(self) -> bool:
        """Whether no query of the domain shows more than 1, for any record of the training set."""
        return self.complete and bool(self.dtp.high.max() <= LIMIT)

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.dtp.says import report

        return report(self)

    def plot_pdtp(self, ax: Axes | None = None) -> Axes:
        """Return axes with the records' PDTP, largest first."""
        from privacygauge.audits.dtp.plots import plot_pdtp

        return plot_pdtp(self, ax)
