"""Logistic regression without each of 1,000 records of Adult, against a refit for each.

Refits are scikit-learn's: of three solvers and four tolerances, the fastest that comes within
1e-6 of the exact probabilities. A few records are refitted and the time is scaled: each refit
costs the same. Both take turns on one thread. The influence step is one Newton step with the
Hessian of n - 1 records, taken at the optimum of n: the usual approximation.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from _duel import Duel, Side
from _measure import Timed, ratio_row, show, timed
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from privacygauge.claims.dtp.logistic import FittedLogistic, Logistic
from privacygauge.classifiers.learner import box_of
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.datasets.public import adult, adult_binary

SOLVERS = ("newton-cholesky", "newton-cg", "lbfgs")
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)
EXACT = 1e-6
LEFT_OUT, REFITS = 1_000, 10
"""Records of the common table, and how many are refitted for it."""


def records(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return up to n random complete records."""
    frame = adult()
    frame = frame[~(frame == "?").any(axis=1)].reset_index(drop=True)
    x, y = adult_binary(frame)
    rows = np.random.default_rng(0).permutation(len(x))[:n]
    return x[rows], y[rows]


def refits(x: np.ndarray, y: np.ndarray, rows: np.ndarray, solver: str, tol: float) -> np.ndarray:
    """Return what scikit-learn tells each record without it, (r, k)."""
    model = LogisticRegression(C=1.0, solver=solver, tol=tol, max_iter=10_000)
    found = np.empty((len(rows), 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for i, row in enumerate(rows):
            others = np.arange(len(y)) != row
            found[i] = model.fit(x[others], y[others]).predict_proba(x[[row]])[0]
    return found


def fastest(
    x: np.ndarray, y: np.ndarray, exact: np.ndarray, n_rows: int
) -> tuple[str, float, float, float]:
    """Return seconds, tolerance and error of the fastest solver that is exact enough."""
    best = ("none", np.inf, np.nan, np.nan)
    for solver in SOLVERS:
        for tol in TOLERANCES:
            found = timed(lambda s=solver, t=tol: refits(x, y, np.arange(n_rows), s, t), 1)
            error = np.abs(found.value - exact[:n_rows]).max()
            seconds = found.seconds[0] / n_rows
            if error < EXACT and seconds < best[1]:
                best = (solver, seconds, tol, error)
            if error < EXACT:
                break  # a smaller tolerance takes longer
    return best


def influence(model: FittedLogistic, rows: np.ndarray) -> np.ndarray:
    """Return what one Newton step tells each record without it, (r, k); two classes only."""
    w, b = model.coefficients()
    x = np.hstack([model.x, np.ones((len(model.x), 1))])
    u = np.append(w[:, 1] - w[:, 0], b[1] - b[0])
    p = expit(x @ u)
    hessian = x.T @ (x * (p * (1 - p))[:, None])
    hessian[np.diag_indices(len(w))] += model.learner.l2
    own = x[rows]
    leverage = (own * np.linalg.solve(hessian, own.T).T).sum(axis=1)
    spread = p[rows] * (1 - p[rows])
    scores = own @ u + (p[rows] - model.y[rows]) * leverage / (1 - spread * leverage)
    return expit(np.column_stack([-scores, scores]))


def errors_of_one_step(model: FittedLogistic, exact: np.ndarray) -> list[str]:
    """Return lines about the influence step's error, as a share of each record's PDTP."""
    told = model.log_p(model.x[: len(exact)])
    guessed = np.log(influence(model, np.arange(len(exact))))
    pdtp, guess = log_ratio(told, np.log(exact)), log_ratio(told, guessed)
    # A PDTP as small as rounding has no share.
    pdtp, guess = pdtp[pdtp > 1e-9], guess[pdtp > 1e-9]
    rows = np.arange(len(pdtp))
    share = np.abs(guess - pdtp) / pdtp
    riskiest = np.argsort(pdtp)[-max(1, len(rows) // 100) :]
    lines = []
    for name, some in (("all records", rows), ("the riskiest 1%", riskiest)):
        low, middle, high = np.quantile(share[some], [0.05, 0.5, 0.95])
        lines.append(
            f"  error of one influence step, {name} (n = {len(some)}), share of PDTP: "
            f"{middle:.2%} (5% to 95%: {low:.2%} to {high:.2%}; most {share[some].max():.2%}); "
            f"median PDTP {np.median(pdtp[some]):.3g}"
        )
    return lines


def tightness(model: FittedLogistic, rows: np.ndarray) -> str:
    """Return a line about the DTP over the box of all records."""
    found = model.dtp(rows, 0.0, box_of(model.x))
    ratio = found.high / found.low
    return (
        f"  DTP over the box, upper / lower bound: mean {ratio.mean():.4f}, "
        f"most {ratio.max():.4f}; medians {np.median(found.low):.3g} to {np.median(found.high):.3g}"
    )


def part(n: int, options: argparse.Namespace) -> list[str]:
    """Return the lines for a training set of n records."""
    x, y = records(n)
    rows = np.arange(options.rows)
    model = Logistic().fit(x, y, n_classes=2)
    exact = np.exp(model.log_p_without(rows))  # and all is warm
    solver, _, tol, error = fastest(x, y, exact, 3)
    few = rows[: options.refits]
    ours, fit, theirs = [], [], []
    for _ in range(options.repeat):
        fit.append(timed(lambda: Logistic().fit(x, y, n_classes=2), 1).seconds[0])
        ours.append(timed(partial(model.log_p_without, rows), 1).seconds[0])
        taken = timed(lambda: refits(x, y, few, solver, tol), 1)
        theirs.append(taken.seconds[0] * len(rows) / len(few))
        error = np.abs(taken.value - exact[few]).max()
    slow, fast = Timed(None, np.array(theirs)), Timed(None, np.array(ours))
    whole = Timed(None, np.array(ours) + np.array(fit))
    return [
        f"{len(x):,} records, {x.shape[1]} features, {len(rows):,} left out; "
        f"refits by {solver}, tol {tol:g} (largest difference from ours {error:.1g})",
        "  " + ratio_row("refits / ours", slow, fast, "goal >= 50"),
        "  " + ratio_row("refits / ours with the first fit", slow, whole, "no goal"),
        *errors_of_one_step(model, exact),
        tightness(model, rows),
    ]


def work(n: int, rows: int, by: str) -> Callable[[], list[float]]:
    """Return a call that gives what the first records are told without them."""
    x, y = records(n)
    few = np.arange(rows)
    if by == "ours":
        fit = partial(Logistic().fit, x, y, n_classes=2)
        return lambda: np.exp(fit().log_p_without(few)[:REFITS, 1]).tolist()
    # The fastest of `fastest` on both sizes that are measured.
    return lambda: refits(x, y, few, "newton-cholesky", 1e-6)[:, 1].tolist()


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    path, unit = "leave-one-out, logistic regression", f"records of Adult, {LEFT_OUT:,} left out"
    named = "Logistic, with its first fit"
    for n in (1_000, 5_000) if quick else (1_000, 5_000, 20_000):
        mine, theirs = ({"n": n, "rows": rows} for rows in (LEFT_OUT, REFITS))
        yield Duel(
            path,
            n,
            unit,
            Side(named, __file__, "work", {**mine, "by": "ours"}),
            Side(
                "scikit-learn's refits (scaled)",
                __file__,
                "work",
                {**theirs, "by": "refits"},
                share=REFITS / LEFT_OUT,
            ),
            goal=50,
            tolerance=1e-6,
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--refits", type=int, default=20)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    with threadpool_limits(1):
        for n in (1000, 50_000):
            show(part(n, options))


if __name__ == "__main__":
    main()
