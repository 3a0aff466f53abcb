"""Figures 1 and 3 to 8 of Long et al. (2017): attacks by PDTP, sources of change, and removal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from privacygauge.claims.dtp.counts import n_cells
from privacygauge.claims.dtp.measure import (
    RISE,
    Order,
    RemovalPath,
    categorical_records,
    remove_riskiest,
)
from privacygauge.claims.dtp.retrained import Variation, variation
from privacygauge.classifiers.audit.candidates import CandidateAudit, audit_candidates
from privacygauge.classifiers.candidates import PerTargetDesign
from privacygauge.classifiers.shadows import Execution
from privacygauge.classifiers.targeted import Distance
from privacygauge.core import seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.public import adult, adult_binary
from privacygauge.evaluate.by_target import PerTarget
from privacygauge.evaluate.rates import correlation, mean, proportion
from privacygauge.papers.long2017 import (
    LEVEL,
    NUMBERS,
    QUICK_1,
    QUICK_2,
    TABLE_1,
    TABLE_2,
    model_and_candidates,
    network,
    notes_of,
    play_distance_attack,
    play_three_attacks,
)
from privacygauge.papers.song2021_calibration import panels, title_panel
from privacygauge.papers.table import Cell, Effort, Row, Table, exact, part_of
from privacygauge.report.axes import INK, SERIES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


EDGES = (0.0, 0.5, 1.0, 2.0, 4.0, math.inf)
"""Ends of the bands of PDTP; the paper's claims are about PDTP below 0.5, above 1 and above 4."""

RARELY = 0.665
"""Highest share of right guesses on records with a DTP below 0.5, according to the abstract."""

NEARLY_ALWAYS = 0.9
"""Lowest share of right guesses on records with a DTP above 4, according to the abstract."""

ALMOST = 0.9
"""Share of the records above 4 that is read as "almost always", our reading of the abstract."""

MOST = 0.7
"""Highest share of right guesses about a record of NB-Adult and LR-Adult, according to section
5.5."""

RIGHT = "share right"
PDTP = "PDTP"
FOUND = "share with more than 90% right"

_NOTES = (
    "A record's PDTP is its mean over the measurements, as in the paper, and the share right is "
    "that of all guesses about it. The figures print no number but the correlations, which are "
    "those of the tables.",
    "The abstract says what it says of the DTP; what is measured, here and in the paper's figures, "
    "is the PDTP, which is a lower bound. A band of PDTP with fewer than two records is left out.",
)


def band_title(low: float, high: float) -> str:
    """Return the name of a band of PDTP.

    Examples
    --------
    >>> band_title(0.0, 0.5), band_title(0.5, 1.0), band_title(4.0, math.inf)
    ('PDTP below 0.5', 'PDTP 0.5 to 1', 'PDTP above 4')
    """
    if low == 0:
        return f"PDTP below {high:g}"
    return f"PDTP above {low:g}" if math.isinf(high) else f"PDTP {low:g} to {high:g}"


LOWEST = band_title(*EDGES[:2])
HIGHEST = band_title(*EDGES[-2:])


def long_fig1(effort: Effort) -> Table:
    """Return Figure 1: three attacks on a network, record by record, against PDTP."""
    found = play_three_attacks(effort)
    series = {
        evaluation.name: _Points.of(found, evaluation.title) for evaluation in found.evaluations
    }
    known = {name: TABLE_1[name][3] for name in series}
    notes = notes_of(effort, QUICK_1)
    return _points_table("long-fig1", "Figure 1", series, correlations=known, notes=notes)


def draw_points(table: Table) -> Figure:
    """Return the figure: one panel per series, one point per record."""
    # The cells of a record's row are named "SERIES: PDTP" and "SERIES: share right".
    records = [row for row in table.rows if row.label.startswith("record ")]
    ending = f": {RIGHT}"
    names = [name.removesuffix(ending) for name in records[0].cells if name.endswith(ending)]
    figure, axes = panels(1, len(names))
    for number, (ax, name) in enumerate(zip(axes, names, strict=True)):
        pdtp = [row.cells[f"{name}: {PDTP}"].ours for row in records]
        right = [row.cells[name + ending].ours for row in records]
        points = [
            (x.value, y.value)
            for x, y in zip(pdtp, right, strict=True)
            if isinstance(x, Estimate) and isinstance(y, Estimate)
        ]
        across, up = np.array(points).T
        ax.scatter(across, up, s=16, color=SERIES[number], alpha=0.75, lw=0)
        # Guessing is right half of the time.
        ax.axhline(0.5, color=INK, lw=0.6, ls=":")
        ax.set(ylim=(0, 1.03))
        title_panel(ax, name, "Mean PDTP", "Share of right guesses")
    return figure


@dataclass(frozen=True, eq=False)
class _Points:
    """PDTP and guesses of an attack on each of t records."""

    records: Sequence[int]
    """Rows of the t records among the candidates."""
    measured: Floats
    """(measurements, t) PDTP of each record in each measurement."""
    attacked: PerTarget
    """Guesses about each record."""

    @classmethod
    def of(cls, found: CandidateAudit, title: str) -> _Points:
        """Return the points of an attack."""
        assert found.measured is not None
        return cls(found.targets.tolist(), found.measured, found.per_target[title])

    @property
    def pdtp(self) -> Floats:
        """(t,) Mean PDTP over the measurements."""
        return np.asarray(self.measured.mean(axis=0))

    def in_band(self, low: float, high: float) -> dict[str, Cell]:
        """Return the cells of a band of PDTP, [low, high): number of records and shares right."""
        inside = (self.pdtp >= low) & (self.pdtp < high)
        n = int(np.count_nonzero(inside))
        cells = {"records": Cell(None, exact(n, len(inside), "counted"))}
        if n < 2:
            few = Skipped(RIGHT, "fewer than two records are in this band")
            return {**cells, RIGHT: Cell(None, few), FOUND: Cell(None, few)}
        right = self.attacked.accuracy[inside]
        cells[RIGHT] = Cell(None, mean(right, LEVEL, unit="records", least=0.0, most=1.0))
        cells[FOUND] = Cell(None, proportion(right > NEARLY_ALWAYS, level=LEVEL))
        return cells


def models_figure(name: str, number: str, data: str, effort: Effort) -> Table:
    """Return a figure of the distance-based attack on models of some data, record by record."""
    labels = [label for label in TABLE_2 if label.endswith(data)]
    series = {}
    for place, label in enumerate(labels):
        found = play_distance_attack(label, effort, part_of(effort, place, len(labels)))
        series[label] = _Points.of(found, found.evaluations[0].title)
    known = {label: TABLE_2[label].correlation for label in labels}
    notes = notes_of(effort, QUICK_2, data)
    return _points_table(name, number, series, correlations=known, notes=notes)


def _points_table(
    name: str,
    number: str,
    series: Mapping[str, _Points],
    correlations: Mapping[str, float],
    notes: Sequence[str],
) -> Table:
    rows = []
    for label, points in series.items():
        # Accuracy, (t,), against PDTP, (t,): one pair per record.
        found = correlation(points.attacked.accuracy, points.pdtp, LEVEL)
        rows.append(Row(label, {"correlation": Cell(correlations[label], found)}))
        over = proportion(points.pdtp > 1, level=LEVEL)
        rows.append(Row(f"{label}, PDTP above 1", {"share of the records": Cell(None, over)}))
        rows += [
            Row(f"{label}, {band_title(low, high)}", points.in_band(low, high))
            for low, high in pairwise(EDGES)
        ]
    records = next(iter(series.values())).records
    for place, record in enumerate(records):
        cells = {}
        for label, points in series.items():
            values = points.measured[:, place]
            pdtp = (
                mean(values, LEVEL, unit="measurements", least=0.0)
                if len(values) > 1
                else exact(float(values[0]), 1, "one measurement")
            )
            cells[f"{label}: {PDTP}"] = Cell(None, pdtp)
            cells[f"{label}: {RIGHT}"] = Cell(None, points.attacked.estimates(LEVEL)[place])
        rows.append(Row(f"record {record}", cells))
    return Table(name, f"Long et al. (2017), {number}", tuple(rows), (*notes, *_NOTES))


MEASUREMENTS = (1, 2, 5, 10, 20, 50, 100)
"""Numbers of training sets over which PDTP is averaged."""

STEPS = 5_000
"""Steps of gradient descent for a network on Adult, the number in its row of Table 2: 100 epochs of
50 batches."""

PEOPLE = 10_000
"""Training records of a network of Figures 7 and 8."""

NETWORKS = 100
"""Networks in each of these figures."""

CLASSES = ("low salary", "high salary")
"""The classes of Adult; Figures 7 and 8 show one individual of each."""

_NOTES_3 = (
    "Location30 stands in for the purchase data. The published number is that of Table 2 for "
    "ten measurements; of the figure the paper says that the correlation is stable from about "
    "ten on.",
    "All rows are about the same records and the same attack, so that they differ by less "
    "than their intervals suggest.",
)
_QUICK_3 = "Quick form: 5 iterations, 20 targets, at most 5 measurements; the paper has 100 each."
_NOTES_7 = (
    "The paper shows histograms and prints no number.",
    "All training sets hold both individuals, so that their own effect is not counted as that "
    "of the others; in the paper they are drawn from everyone.",
    f"Networks are trained for {STEPS:,} steps in batches of 20, as many as in Table 2; the "
    "paper gives neither batches nor steps.",
)
_QUICK_7 = "Quick form: 10 networks on 1,000 records; the paper has 100 on 10,000."


def long_fig3(effort: Effort) -> Table:
    """Return Figure 3: correlation of PDTP and the attack, by the number of measurements."""
    learner, x, y = model_and_candidates("NB-Purchase", effort.seed)
    found = audit_candidates(
        learner,
        x,
        y,
        iterations=5 if effort.quick else 100,
        n_targets=20 if effort.quick else 100,
        measurements=5 if effort.quick else 100,
        design=PerTargetDesign(),
        attacks=(Distance(design="per-target"),),
        run=None if effort.run is None else effort.run / "NB-Purchase",
        n_jobs=effort.n_jobs,
        progress=effort.progress,
        seed=effort.seed,
        level=LEVEL,
    )
    ((_, accuracy),) = found.per_target.items()
    assert found.measured is not None
    rows = []
    # The first of the same measurements each time; the quick form stops at the five it has.
    for number in MEASUREMENTS[: np.searchsorted(MEASUREMENTS, len(found.measured), "right")]:
        correlation = accuracy.correlation_with(found.measured[:number].mean(axis=0), LEVEL)
        # The text gives no number for the figure; Table 2 has the one for ten measurements.
        published = TABLE_2["NB-Purchase"].correlation if number == 10 else None
        ours = correlation if isinstance(correlation, Skipped) else correlation.estimate
        rows.append(Row(f"mean of {number}", {"correlation": Cell(published, ours)}))
    return Table(
        "long-fig3", "Long et al. (2017), Figure 3", tuple(rows), effort.noted(_NOTES_3, _QUICK_3)
    )


def long_fig7(effort: Effort) -> Table:
    """Return Figure 7: the deviation of a prediction due to initial weights."""
    return _variation_table("long-fig7", "Figure 7", lambda one: one.initialisation, effort)


def long_fig8(effort: Effort) -> Table:
    """Return Figure 8: the deviation of a prediction due to the other training records."""
    return _variation_table("long-fig8", "Figure 8", lambda one: one.sampling, effort)


def _variation_table(
    name: str, figure: str, chosen: Callable[[Variation], Floats], effort: Effort
) -> Table:
    from privacygauge.classifiers.networks import Networks

    size, n_models = (1_000, 10) if effort.quick else (PEOPLE, NETWORKS)
    x, y = adult_binary(adult(), NUMBERS)
    rng = seeds.stream(effort.seed, "reproduce", "individuals")
    # One random individual of each class.
    people = np.array([rng.choice(np.flatnonzero(y == label)) for label in (0, 1)])
    trainer = network("Adult")
    assert isinstance(trainer, Networks)
    # Batches per epoch, rounded up: the epochs follow from the number of steps.
    batches = -(-size // trainer.batch_size)
    rows = tuple(
        Row(CLASSES[one.label], variation_cells(one, chosen(one)))
        for one in variation(
            replace(trainer, epochs=max(1, STEPS // batches)),
            x,
            y,
            people,
            size=size,
            n_models=n_models,
            seed=effort.seed,
            # Figures 7 and 8 are about the same networks.
            execution=Execution(
                run=effort.shared(f"long-networks-{n_models}-seed-{effort.seed}"),
                n_jobs=effort.n_jobs,
                progress=effort.progress,
            ),
        )
    )
    return Table(name, f"Long et al. (2017), {figure}", rows, effort.noted(_NOTES_7, _QUICK_7))


def variation_cells(one: Variation, others: Floats) -> dict[str, Cell]:
    """Return a record's own effect beside the deviation of its prediction due to another cause.

    Parameters
    ----------
    one : Variation
    others : ndarray of float, shape (m,)
        Predictions by models that differ in that cause alone.
    """
    spread = deviation(others)
    pair = "one pair of trainings with the same random draws"
    # The wider the spread, the fewer deviations: its ends swap.
    in_deviations = Estimate(
        value=one.own / spread.value,
        low=one.own / spread.high,
        high=one.own / spread.low,
        level=spread.level,
        n=spread.n,
        method=spread.method,
    )
    return {
        "prediction": Cell(None, exact(one.with_it, 1, "one training")),
        "deviation": Cell(None, spread),
        "own effect": Cell(None, exact(one.own, 1, pair)),
        "own effect in deviations": Cell(None, in_deviations),
    }


def deviation(values: Floats, level: float = LEVEL) -> Estimate:
    """Return the standard deviation of independent values, with the interval for normal values.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        At least two values.
    level : float
        In (0, 1).

    Notes
    -----
    (n - 1) s^2 / sigma^2 is chi-square with n - 1 degrees of freedom.
    """
    n = len(values)
    value = float(np.std(values, ddof=1))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    # `chdtri` inverts the upper tail, so that the smaller tail gives the lower end.
    low, high = value * np.sqrt((n - 1) / chdtri(n - 1, tails))
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=n,
        method="chi-square of normal values, over models",
    )


COMPLETE = 45_222
"""Records of Adult without a missing value."""

MADE_UP = 1_600_000
"""Records of the made-up table, the number of the paper's survey."""

ALPHA = 0.05
"""Smoothing for which a value held by a single record of its class contributes ln 21 = 3.04, near
the paper's DTP of 3.09.

The smoothing of 1 that the paper describes allows no more than 4 ln 2 = 2.77 for four categorical
attributes whose probabilities are not binned.
"""

ATTRIBUTES = ("age", "marital status", "race", "sex")
"""Attributes of the people, the ones to which the paper restricts its survey."""

PAPER = {
    "DTP": 3.09,
    "after one removal": 0.65,
    "at the best stopping point": 0.65,
    "removals until then": 1.0,
}
"""Numbers that the text gives for Figure 6; it adds that the next removal brings the DTP back to
about 3."""

_MARITAL = {
    "Married-civ-spouse": 0,
    "Married-AF-spouse": 0,
    "Married-spouse-absent": 0,
    "Widowed": 1,
    "Divorced": 2,
    "Separated": 3,
    "Never-married": 4,
}


@dataclass(frozen=True, eq=False)
class People:
    """People with age, marital status, race, sex and income class, for naive Bayes."""

    codes: Ints
    """(n, 4) Categories of age, marital status, race and sex, from 0."""
    income: Ints
    """(n,) 1 for more than 50,000 dollars a year, else 0."""
    sizes: tuple[int, ...]
    """(4,) Number of categories of each attribute."""


def complete_adult() -> People:
    """Return the 45,222 records of Adult without a missing value."""
    frame = _complete()
    age = frame["age"].to_numpy(np.int64)
    named = [_category_codes(frame[name]) for name in ("marital-status", "race", "sex")]
    codes = np.column_stack([age - age.min(), *named])
    sizes = tuple(int(v) + 1 for v in codes.max(axis=0))
    return People(codes, frame["income"].to_numpy(np.int64), sizes)


def made_up(n: int, rng: np.random.Generator) -> People:
    """Return people drawn from Adult with replacement, and 45 people with rare ages.

    Parameters
    ----------
    n : int
        Number of drawn records. For large n none of their values is rare in its class.
    rng : numpy.random.Generator

    Returns
    -------
    People
        People in the domain of the survey: ages 0 to 99, 5 marital statuses, 9 races, 2 sexes.
        The added ones are one person of age 91, two of 92, ..., nine of 99, all with a high income
        and other attributes drawn from Adult.
    """
    frame = _complete()
    marital = frame["marital-status"].map(_MARITAL).to_numpy(np.int64)
    others = [marital, *(_category_codes(frame[name]) for name in ("race", "sex"))]
    known = np.column_stack([frame["age"].to_numpy(np.int64), *others])
    income = frame["income"].to_numpy(np.int64)
    drawn = rng.integers(len(known), size=n)
    rare = known[rng.choice(np.flatnonzero(income == 1), 45)]
    # 1 + 2 + ... + 9 = 45: the ages that make the saw of the figure.
    rare[:, 0] = 90 + np.repeat(np.arange(1, 10), np.arange(1, 10))
    codes = np.vstack([known[drawn], rare])
    return People(codes, np.append(income[drawn], np.ones(45, np.int64)), (100, 5, 9, 2))


def long_fig6(effort: Effort) -> Table:
    """Return Figure 6: the largest DTP of naive Bayes as the riskiest records are removed."""
    steps = 12 if effort.quick else 60
    real = complete_adult()
    large = made_up(MADE_UP, seeds.stream(effort.seed, "reproduce", "made up"))
    orders: tuple[Order, ...] = ("initial", "recomputed")
    plan = [
        (f"{label}, alpha {alpha:g}, {order} order", people, alpha, order)
        for label, people, alphas in (("Adult", real, (ALPHA, 1.0)), ("made up", large, (ALPHA,)))
        for alpha in alphas
        for order in orders
    ]
    rows = []
    for done, (label, people, alpha, order) in enumerate(plan, 1):
        left = categorical_records(
            people.codes, people.income, sizes=people.sizes, n_classes=2, alpha=alpha
        )
        path = remove_riskiest(left, steps, order)
        n = len(people.income)
        cells = n_cells(people.sizes)
        method = f"exact over {cells:,} queries, {len(path.removed)} removals"
        # The paper removes records in the order of their first values, without ranking them again.
        paper = PAPER if order == "initial" else {}
        rows.append(
            Row(
                label,
                {
                    name: Cell(paper.get(name), exact(value, n, method))
                    for name, value in removal_numbers(path).items()
                },
            )
        )
        effort.told(done, len(plan))
    rows.append(_row_without_smoothing(real))
    return Table(
        "long-fig6",
        "Long et al. (2017), Figure 6",
        tuple(rows),
        (
            "The survey of 2013 (1.6 million people) is not available: Adult's 45,222 complete "
            f"records, and {MADE_UP:,} drawn from them with replacement, to which 45 people with "
            "rare ages are added: one of 91, two of 92, ..., nine of 99. Those make the saw of "
            "the made-up table.",
            "alpha is the smoothing. With the 1 that the paper describes, four categories allow "
            f"no DTP above 4 ln 2 = 2.77, so not its 3.09; with {ALPHA:g} a lone value counts for "
            "ln 21 = 3.04. Nothing else was chosen.",
            f"{steps} removals; every DTP is exact over the domain, so that intervals have no "
            "width.",
        ),
    )


def removal_numbers(path: RemovalPath) -> Mapping[str, float]:
    """Return the numbers of Figure 6 for one sequence of removals.

    Returns
    -------
    mapping of str to float
        The DTP before any removal, after one, and at the best stopping point (the first DTP of at
        most 1, else the lowest); the number of removals until then; the highest DTP afterwards;
        the number of rises by more than 0.1 (the teeth of the saw); the number of groups of
        records that shield each other, and of records in them.
    """
    best = path.best
    return {
        "DTP": float(path.highest[0]),
        "after one removal": float(path.highest[1]),
        "at the best stopping point": float(path.highest[best]),
        "removals until then": float(best),
        "highest afterwards": float(path.highest[best:].max()),
        "rises": float(np.count_nonzero(np.diff(path.highest) > RISE)),
        "groups that shield each other": float(len(path.groups)),
        "records in them": float(sum(len(group) for group in path.groups)),
    }


def _row_without_smoothing(people: People) -> Row:
    """Return the number of records with an infinite DTP without smoothing; no path is drawn."""
    left = categorical_records(
        people.codes, people.income, sizes=people.sizes, n_classes=2, alpha=0.0
    )
    # Infinite: the last record of its class with one of its values, whose probability falls to 0.
    number = float(np.count_nonzero(np.isinf(left.values())))
    n = len(people.income)
    cells = n_cells(people.sizes)
    why = f"infinite: {number:.0f} records are the last of their class with one of their values"
    counted = exact(number, n, f"exact over {cells:,} queries")
    return Row(
        "Adult, alpha 0",
        {"DTP": Cell(None, Skipped("DTP", why)), "records of infinite DTP": Cell(None, counted)},
    )


def _complete() -> pd.DataFrame:
    frame = adult()
    return frame[~(frame == "?").any(axis=1)]


def _category_codes(values: ArrayLike) -> Ints:
    return np.unique(np.asarray(values, str), return_inverse=True)[1].astype(np.int64)
