"""Leave-one-out of naive Bayes by its counts, against refits with scikit-learn.

Refits all cost the same, so a few are made and their time is multiplied by how many it takes:
those lines say "scaled". Both sides run on one thread and in turns.
"""

from __future__ import annotations

import multiprocessing
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _duel import Duel, Side
from _measure import Timed, ratio_row, show, timed
from scipy.special import log_softmax
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from threadpoolctl import threadpool_limits

from privacygauge.claims.dtp.counts import dtp_over_cells
from privacygauge.claims.dtp.measure import categorical_records
from privacygauge.claims.dtp.naive_bayes import naive_bayes_of
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.datasets.public import CATEGORICAL, CONTINUOUS, adult

REFITS = 20
WHOLE_REFITS = 3
SURVEY = 1_600_000
SIZES = (100, 5, 9, 2)
ALPHA = 1.0


@dataclass(frozen=True, eq=False)
class Records:
    """Numbers first, then categories, and classes."""

    x: np.ndarray
    y: np.ndarray
    numbers: int
    """How many of the columns are numbers."""


def people() -> Records:
    """Return the complete records of Adult with all 14 attributes."""
    frame = adult()
    frame = frame[~(frame == "?").any(axis=1)]
    codes = [np.unique(frame[name].astype(str), return_inverse=True)[1] for name in CATEGORICAL]
    x = np.column_stack([frame[list(CONTINUOUS)].to_numpy(float), *codes])
    return Records(x, frame["income"].to_numpy(np.int64), len(CONTINUOUS))


def survey() -> tuple[np.ndarray, np.ndarray]:
    """Return made-up people: age 0 to 99, 5 marital statuses, 9 races, 2 sexes, 2 incomes."""
    rng = np.random.default_rng(0)
    parts = [rng.choice(v, size=SURVEY, p=rng.dirichlet(np.full(v, 2.0))) for v in SIZES]
    return np.column_stack(parts), (rng.random(SURVEY) < 0.3).astype(np.int64)


def by_counts(data: Records) -> np.ndarray:
    """Return the PDTP of every record."""
    learner = naive_bayes_of(data.x, range(data.numbers), ALPHA)
    fitted = learner.fit(data.x, data.y, n_classes=2)
    return log_ratio(fitted.log_p(data.x), fitted.log_p_without(np.arange(len(data.y))))


def refitted(data: Records, inside: np.ndarray, row: int) -> np.ndarray:
    """Return the log probabilities that scikit-learn's two models together give one record."""
    cut, codes = data.numbers, data.x[:, data.numbers :].astype(np.int64)
    sizes = list(codes.max(axis=0) + 1)
    named = CategoricalNB(alpha=ALPHA, min_categories=sizes).fit(codes[inside], data.y[inside])
    normal = GaussianNB().fit(data.x[inside, :cut], data.y[inside])
    joint = named.predict_joint_log_proba(codes[[row]])
    joint += normal.predict_joint_log_proba(data.x[[row], :cut]) - named.class_log_prior_
    return log_softmax(joint[0])


def by_refits(data: Records, rows: np.ndarray) -> np.ndarray:
    """Return the PDTP of some records."""
    everyone = np.ones(len(data.y), bool)
    found = []
    for row in rows:
        others = everyone.copy()
        others[row] = False
        with_it, without = (refitted(data, inside, row) for inside in (everyone, others))
        found.append(log_ratio(with_it, without))
    return np.array(found)


def refit_on_all(x: np.ndarray, y: np.ndarray, row: int, queries: np.ndarray) -> np.ndarray:
    """Return the log probabilities of every query without one of all records."""
    others = np.arange(len(y)) != row
    model = CategoricalNB(alpha=ALPHA, min_categories=list(SIZES)).fit(x[others], y[others])
    return log_softmax(model.predict_joint_log_proba(queries), axis=1)


def refit_on_groups(
    x: np.ndarray, y: np.ndarray, n: np.ndarray, row: int, queries: np.ndarray
) -> np.ndarray:
    """Return the same from distinct records with weights, which is what a careful user fits."""
    weight = n.astype(float)
    weight[row] -= 1
    model = CategoricalNB(alpha=ALPHA, min_categories=list(SIZES))
    model.fit(x, y, sample_weight=weight)
    return log_softmax(model.predict_joint_log_proba(queries), axis=1)


def scaled(found: Timed, number: int, of: int) -> Timed:
    """Return the time of `of` calls, from that of `number`."""
    return Timed(found.value, found.seconds * of / number)


def adult_rows() -> list[str]:
    """Return the lines about Adult."""
    data = people()
    rows = np.random.default_rng(0).choice(len(data.y), REFITS, replace=False)
    ours = timed(lambda: by_counts(data), 5)
    theirs = timed(lambda: by_refits(data, rows), 2)
    off = np.abs(ours.value[rows] - theirs.value).max()
    # Half of these fits are the same for all records.
    theirs = scaled(theirs, 2 * REFITS, len(data.y) + 1)
    name = f"PDTP of {len(data.y):,} records, refits (scaled from {2 * REFITS}) / ours"
    return [
        "Adult, 14 attributes",
        "  " + ratio_row(name, theirs, ours, "no goal"),
        f"    largest difference of {REFITS} records: {off:.1e}",
    ]


def survey_rows() -> list[str]:
    """Return the lines about the made-up survey."""
    x, y = survey()
    grouping = timed(lambda: categorical_records(x, y, SIZES, 2, ALPHA), 3)
    left = grouping.value
    ours = timed(left.values, 5)
    step = timed(lambda: left.less(0).values(), 5)
    queries = np.indices(SIZES).reshape(len(SIZES), -1).T
    g, some = len(left.y), np.random.default_rng(1).choice(len(left.y), REFITS, replace=False)
    rows = left.order[left.ends[some] - 1]
    whole = timed(lambda: [refit_on_all(x, y, r, queries) for r in rows[:WHOLE_REFITS]], 2)
    grouped = timed(
        lambda: [refit_on_groups(left.codes, left.y, left.left, r, queries) for r in some], 3
    )
    # One more of the first, which is then left out: all records.
    weights = left.left.astype(float)
    weights[0] += 1
    everyone = refit_on_groups(left.codes, left.y, weights, 0, queries)
    theirs = [np.abs(everyone - without).max() for without in grouped.value]
    off = np.abs(ours.value[some] - theirs).max()
    both = Timed(ours.value, ours.seconds[:3] + grouping.seconds)
    lines = (
        ("a fit on all for each", scaled(whole, WHOLE_REFITS, g), both, WHOLE_REFITS),
        ("a weighted fit for each", scaled(grouped, REFITS, g), ours, REFITS),
        ("the same", scaled(grouped, REFITS, g), step, REFITS),
    )
    ours_named = ("ours with grouping", "ours without grouping", "one removal, all DTP anew")
    return [
        f"{SURVEY:,} made-up records, {g:,} distinct, {len(queries):,} queries",
        *(
            "  " + ratio_row(f"DTP, {name} (scaled from {m}) / {mine}", above, below, "no goal")
            for (name, above, below, m), mine in zip(lines, ours_named, strict=True)
        ),
        f"    largest difference of {REFITS} records: {off:.1e}",
    ]


def resident(field: str) -> float:
    """Return a line of the process's memory in MiB: Linux only."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{field}:\s+(\d+)", status)[1]) / 1024


def held(part: str) -> tuple[float, float]:
    """Return the memory in MiB with the records in it, and the peak of the measurement."""
    if part == "Adult":
        data = people()
        before = _reset()
        by_counts(data)
    else:
        x, y = survey()
        before = _reset()
        left = categorical_records(x, y, SIZES, 2, ALPHA)
        dtp_over_cells(left.counts, left.codes, left.y)
    return before, resident("VmHWM")


def _reset() -> float:
    # Making up the records takes more than the measurement does: the peak starts anew.
    Path("/proc/self/clear_refs").write_text("5")
    return resident("VmRSS")


def memory_rows() -> list[str]:
    """Return the peak memory of both, each in a process of its own."""
    rows = ["Resident memory with the records, and at the peak of the measurement"]
    for part in ("Adult", "survey"):
        with multiprocessing.get_context("spawn").Pool(1) as workers:
            before, peak = workers.apply(held, (part,))
        rows.append(f"  {part}: {before:.0f} MiB, {peak:.0f} MiB")
    return rows


def work(n: int, by: str) -> Callable[[], list[float]]:
    """Return a call that gives the PDTP of the first few of n records of Adult."""
    data = people()
    rows = np.random.default_rng(0).permutation(len(data.y))[:n]
    data = Records(data.x[rows], data.y[rows], data.numbers)
    if by == "ours":
        return lambda: by_counts(data)[:REFITS].tolist()
    return lambda: by_refits(data, np.arange(REFITS)).tolist()


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n in (1_000, 10_000) if quick else (1_000, 10_000, 45_222):
        yield Duel(
            "PDTP, naive Bayes",
            n,
            "records of Adult",
            Side("by counts", __file__, "work", {"n": n, "by": "ours"}),
            Side(
                "scikit-learn's refits (scaled)",
                __file__,
                "work",
                {"n": n, "by": "refits"},
                share=2 * REFITS / (n + 1),
            ),
            tolerance=1e-8,
        )


def main() -> None:
    """Print the table."""
    with threadpool_limits(limits=1):
        show([*adult_rows(), *survey_rows(), *memory_rows()])


if __name__ == "__main__":
    main()
