"""Bounds on the gain from submissions to a test set: attacks, honest selection, guarantees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from privacygauge.audits.holdout_bound.says import HoldoutBoundsResult, plot_curves, report
from privacygauge.audits.running import Running
from privacygauge.holdout.gained import ReuseQuestion, bound_reuse, caveats, total_of
from privacygauge.holdout.guards import guard_named
from privacygauge.holdout.mechanism import Guard
from privacygauge.report.values import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class HoldoutBounds(HoldoutBoundsResult):
    """Bounds on the gain from submissions to a test set, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_curves(self, ax: Axes | None = None) -> Axes:
        """Plot bias against submissions, both axes logarithmic."""
        return plot_curves(self, ax)


def holdout_bounds(
    n: int,
    classes: int,
    queries: int,
    *,
    accounts: int = 1,
    guard: Guard | str = "exact",
    accuracy: float = 0.8,
    correlation: float = 0.0,
    bias: float = 0.005,
    probability: float = 0.95,
    simulate: int = 0,
    seed: int = 0,
    command: str = "holdout_bounds",
    provenance: Mapping[str, str] | None = None,
) -> HoldoutBounds:
    """Bound the gain from submissions to a test set: by attack, by honest selection, at most.

    Parameters
    ----------
    n, classes : int
        Numbers of points (at least 1) and of classes (at least 2) of the test set.
    queries : int
        Submissions of each account, at least 1.
    accounts : int, default 1
        Accounts, at least 1; a guard with a memory has one per account.
    guard : Guard or str, default "exact"
        Guard between accuracy and analyst, such as ``"round:2"``; see `guard_named`.
    accuracy, correlation : float
        True accuracy of honest submissions, in (0, 1), and the correlation of their errors, in
        [0, 1].
    bias : float, default 0.005
        Largest bias that the owner accepts, in (0, 1 - 1/classes): half a point.
    probability : float, default 0.95
        Probability of guarantees and level of intervals, in (0, 1).
    simulate : int, default 0
        Plays of naive Bayes against the guard on uniform labels, 0 or at least 2: for guards that
        no formula covers, and as a check of the others. Each takes n times `queries` steps.
    seed : int
        Seed of the simulation.
    command, provenance
        Name of the command or call, as the report prints it.

    Returns
    -------
    HoldoutBounds
        Biases above 1/m, in 0..1 - 1/m; a bound may be larger, and then says nothing.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Feldman, Frostig and Hardt (2019); see `privacygauge.holdout.bounds` for the formulas.

    Examples
    --------
    >>> from privacygauge.audits.holdout_bound.play import holdout_bounds
    >>> found = holdout_bounds(10_000, 2, 2_000)
    >>> round(found.bias("nb").value, 3)
    0.173
    """
    protected = guard_named(guard) if isinstance(guard, str) else guard
    asked = ReuseQuestion(
        n=n,
        m=classes,
        k=total_of(queries, accounts),
        guard=protected,
        accuracy=accuracy,
        correlation=correlation,
        probability=probability,
        bias=bias,
        accounts=accounts if accounts > 1 else None,
    )
    running = Running(command, seed, probability, provenance)
    found = bound_reuse(asked, simulate, seed)
    return HoldoutBounds(**vars(found), origin=running.origin(warnings=caveats(asked)))
