"""Figures 3, 4 and 5 of Feldman, Frostig and Hardt (2019): bias, and the queries for a bias."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import seeds
from privacygauge.core.checks import short_list
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.versions import own_version, versions
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import less, proportion
from privacygauge.leaderboards.analysts import Analyst, Trials, play, uniform_holdout
from privacygauge.leaderboards.bounds import (
    FEWEST_CLASSES,
    blum_hardt_bias,
    is_normal_enough,
    majority_bias,
    nb_bias,
    poisson_bias,
)
from privacygauge.leaderboards.naive_bayes import BlumHardt, Majority, NaiveBayes, simulate_point
from privacygauge.leaderboards.oracle import Holdout, most_submissions
from privacygauge.papers.table import Cell, Effort, Row, Table, exact
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import open_run

LEVEL = 0.95
"""Level of every interval."""

TRIALS = 10
"""Attacks per series, as in the paper."""

# Tasks of a run, at about this number: an interrupted run loses at most the tasks in progress.
_PARTS = 40


@dataclass(frozen=True)
class Uniform:
    """A test set of uniformly random labels, a new one in every trial."""

    n: int
    """Points, at least 1."""
    m: int
    """Classes, at least 2."""

    def __call__(self, rng: np.random.Generator) -> Holdout:
        """Return a new test set drawn from `rng`."""
        return uniform_holdout(self.n, self.m, rng)


@dataclass(frozen=True, eq=False)
class GivenTestSet:
    """A fixed test set: trials differ only in the attacker's draws."""

    holdout: Holdout
    """The labels."""

    def __call__(self, rng: np.random.Generator) -> Holdout:
        """Return the test set; nothing is drawn."""
        return self.holdout


@dataclass(frozen=True, eq=False)
class Series:
    """Repeated plays of one attack with a fixed number of queries."""

    label: str
    """Everything that the result depends on, in words; the random draws derive from it."""
    analyst: Analyst
    """The attack."""
    deal: Callable[[np.random.Generator], Holdout]
    """Maker of the test set; `Uniform` or `GivenTestSet`."""
    k: int
    """Queries per play, at least 1."""
    trials: int
    """Plays, at least 1."""


@dataclass(frozen=True, eq=False)
class Plays:
    """The work of a run: every play of every series. Picklable."""

    series: tuple[Series, ...]
    """Series with distinct labels."""
    seed: int
    """Root of all random draws, which derive from it by label and trial."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the accuracies and baselines of a task's plays, (units,) each."""
        # A unit is one play, counted across the series; owner[unit] is its series and
        # first[unit] the unit at which that series starts.
        owner = np.repeat(np.arange(len(self.series)), [s.trials for s in self.series])
        first = np.searchsorted(owner, owner)
        found = []
        for unit in range(task.start, task.stop):
            series = self.series[owner[unit]]
            trial = int(unit - first[unit])
            # By label and trial, so that adding a series changes no other number.
            rng = seeds.stream(self.seed, "feldman2019", series.label, trial)
            found.append(play(series.analyst, series.deal(rng), series.k, rng))
        return {
            "accuracy": [played.accuracy for played in found],
            "baseline": [played.baseline for played in found],
        }

    def plan(self) -> Plan:
        """Return the plan of the run: one unit per play."""
        n = sum(series.trials for series in self.series)
        return Plan(
            name="test_set_reuse",
            seed=self.seed,
            n_units=n,
            unit="play",
            units_a_task=max(1, n // _PARTS),
            arrays={
                name: ArraySpec(("play",), (n,), "float64") for name in ("accuracy", "baseline")
            },
            settings={
                "series": [f"{s.label}: {s.trials} of {s.k}" for s in self.series],
                "versions": {"privacygauge": own_version(), **versions()},
            },
        )


def plays(series: Sequence[Series], effort: Effort) -> Mapping[str, Trials]:
    """Play every series and return its trials by label.

    Parameters
    ----------
    series : sequence of Series
        Labels must differ.
    effort : Effort
        Seed, folder, number of processes and progress.
    """
    labels = [one.label for one in series]
    if len(set(labels)) < len(labels):
        raise InputError(f"labels of series must differ, got {short_list(labels)}: leave one out")
    work = Plays(tuple(series), effort.seed)
    with kept_or_scratch(effort.run) as place:
        opened = open_run(place, work.plan())
        complete(opened, work, n_jobs=effort.n_jobs, progress=effort.progress)
        accuracy, baseline = (opened.array(name)[:] for name in ("accuracy", "baseline"))
    # The arrays hold the plays of all series, one series after the other.
    found = {}
    start = 0
    for one in series:
        rows = slice(start, start + one.trials)
        used = np.full(one.trials, one.k, np.int64)
        found[one.label] = Trials(accuracy[rows], baseline[rows], used)
        start += one.trials
    return found


def n_trials(effort: Effort) -> int:
    """Return the number of trials per series: the paper's 10, or 3 in the quick form."""
    return 3 if effort.quick else TRIALS


def point(value: float, method: str) -> Estimate:
    """Return a number without sampling error, from a formula or a game without chance."""
    return exact(value, 1, method)


PAPER = "Feldman, Frostig & Hardt (2019)"

SIZES = (10_000, 50_000)
"""Points of the test sets, as in the paper: the sizes of CIFAR-10's and ImageNet's."""
CLASSES = (2, 10, 100, 1_000)
"""Classes in Figure 3."""
QUERIES = (200, 1_000, 5_000)
"""Queries in Figures 3 and 5: our choice, as the text does not name the paper's."""

_NO_NUMBERS = "The paper prints no number of this figure: what can be compared is the shape."
_QUICK = "Quick form: 3 trials, fewer sizes; the paper has 10 trials."

_NOTES_3 = (
    _NO_NUMBERS + " More classes and more points give less bias, more queries more.",
    "Theory is the closed form where a label is drawn 20 times or more at a point and in a "
    "query, and where there are two classes; otherwise Poisson label counts.",
    "One point is simulated exactly, without a test set (Lemma 4.1).",
    "Of 95% intervals about 95% should agree; rows are independent of each other.",
)
_NOTES_5 = (
    _NO_NUMBERS + " NB is above the majority.",
    "Majority: weights of 1 and -1, as the paper describes it. Dropping: the original of Blum "
    "and Hardt (2015), which leaves out queries that are worse than a guess.",
    "By the closed form NB gains sqrt(pi/2) = 1.25 times the majority's bias while it is small.",
)


def theory(n: int, m: int, k: int) -> tuple[float, str]:
    """Return the expected bias of NB without knowledge, and the name of its formula.

    The closed form if label counts are about normal or there are fewer than 10 classes, else
    Poisson label counts.
    """
    if m < FEWEST_CLASSES or is_normal_enough(n, m, k):
        return nb_bias(n, m, k), "closed form"
    return poisson_bias(n, m, k), "Poisson label counts"


def feldman_fig3(effort: Effort) -> Table:
    """Return Figure 3: the bias of NB on uniform labels, by classes, points and queries.

    Each row has the simulation, the theory and an exact simulation of one point; the last row
    gives the shares of rows in which they agree.
    """
    asked = _experiments(effort, CLASSES)
    series = [
        Series(
            label=_label("nb", n, m, k),
            analyst=NaiveBayes(),
            deal=Uniform(n, m),
            k=k,
            trials=n_trials(effort),
        )
        for n, m, k in asked
    ]
    found = plays(series, effort)
    rows = []
    for n, m, k in asked:
        bias = found[_label("nb", n, m, k)].bias(LEVEL)
        # A play of one point draws k answers, so points times k, the cost, is the same for every
        # row; below 200 queries the number of points is capped.
        draws = 1_000_000 if effort.quick else 20_000_000
        points = min(draws // k, draws // 200)
        rng = seeds.stream(effort.seed, "feldman2019", "one point", n, m, k)
        alone = simulate_point(n, m, k=k, points=points, rng=rng, level=LEVEL)
        cells = {
            "simulation": Cell(None, bias),
            "theory": Cell(None, point(*theory(n, m, k))),
            "closed form": Cell(None, point(nb_bias(n, m, k), "closed form")),
            "one point": Cell(None, alone),
            "simulation less one point": Cell(None, less(bias, alone)),
        }
        rows.append(Row(f"n {n:,}, m {m:,}, k {k:,}", cells))
    rows.append(_agreement(rows))
    return Table("feldman-fig3", f"{PAPER}, Figure 3", tuple(rows), effort.noted(_NOTES_3, _QUICK))


def _agreement(rows: list[Row]) -> Row:
    """Return the shares of rows in which the intervals contain the expected value."""

    # Share of rows whose interval in `column` contains the value in column `value`, or 0.
    def held(column: str, value: str | None) -> Cell:
        hits = []
        for row in rows:
            ours = row.cells[column].ours
            goal = 0.0
            if value is not None:
                expected = row.cells[value].ours
                assert isinstance(expected, Estimate)
                goal = expected.value
            assert isinstance(ours, Estimate)
            hits.append(not ours.excludes(goal))
        return Cell(None, proportion(np.array(hits), level=LEVEL))

    return Row(
        "share of 95% intervals that agree",
        {
            "simulation holds theory": held("simulation", "theory"),
            "one point holds theory": held("one point", "theory"),
            "simulation and one point agree": held("simulation less one point", None),
        },
    )


def feldman_fig5(effort: Effort) -> Table:
    """Return Figure 5: NB against the majority attack, on labels of two classes."""
    attacks: tuple[Analyst, ...] = (NaiveBayes(), Majority(), BlumHardt())
    asked = [(n, k) for n, _, k in _experiments(effort, (2,))]
    series = [
        Series(
            label=_label(a.name, n, 2, k),
            analyst=a,
            deal=Uniform(n, 2),
            k=k,
            trials=n_trials(effort),
        )
        for (n, k), a in itertools.product(asked, attacks)
    ]
    found = plays(series, effort)
    rows = []
    for n, k in asked:
        nb, majority, dropping = (
            found[_label(attack.name, n, 2, k)].bias(LEVEL) for attack in attacks
        )
        formulas = nb_bias(n, 2, k), majority_bias(n, 2, k), blum_hardt_bias(n, 2, k)
        expected = [point(value, "closed form") for value in formulas]
        apart = point(formulas[0] - formulas[1], "closed form")
        cells = {
            "NB": Cell(None, nb),
            "NB, closed form": Cell(None, expected[0]),
            "majority": Cell(None, majority),
            "majority, closed form": Cell(None, expected[1]),
            "dropping": Cell(None, dropping),
            "dropping, closed form": Cell(None, expected[2]),
            "NB less majority": Cell(None, less(nb, majority)),
            "NB less majority, closed form": Cell(None, apart),
        }
        rows.append(Row(f"n {n:,}, k {k:,}", cells))
    return Table("feldman-fig5", f"{PAPER}, Figure 5", tuple(rows), effort.noted(_NOTES_5, _QUICK))


def _experiments(effort: Effort, classes: tuple[int, ...]) -> list[tuple[int, int, int]]:
    every = itertools.product(SIZES, classes, QUERIES)
    # The quick form leaves out 50,000 points with 1,000 queries or more, and 10,000 with 5,000.
    return [(n, m, k) for n, m, k in every if not effort.quick or n * k <= 10_000_000]


def _label(attack: str, n: int, m: int, k: int) -> str:
    return f"{attack}, n {n}, m {m}, k {k}"


POINTS = 100_000
"""Points of the test sets in Figure 4, as in the paper."""
BIASES = (0.002, 0.005, 0.01)
"""Biases of the curves in Figure 4; the text names only the first."""
CLASSES_4 = (2, 10, 30, 100)
"""Classes of the simulations: our choice, as the text does not name the figure's."""
MORE_CLASSES = 1_000
"""Classes at the end of the longer curve, from theory only."""

_NOTES_4 = (
    "The text gives slopes between the ends of the curves, roughly 1.2 for a bias of 0.002 and 1.3 "
    "for the others, and neither the other biases nor the range of classes: 0.005 and 0.01 "
    "and 2 to 100 classes are our choice. The slope depends on both, so that no slope is compared.",
    "The closed form says that a label is drawn often: for two classes and three queries it "
    "is off, and the simulation counts.",
)
_QUICK_4 = "Quick form: one bias, a slope from 2 to 30 classes."


def feldman_fig4(effort: Effort) -> Table:
    """Return Figure 4: the queries after which NB first attains a fixed bias, by classes.

    Test sets are attacked with the number of queries that theory gives, and the measured bias
    corrects that number. Slopes are between the ends of a curve, as in the paper.
    """
    biases, classes = ((0.01,), CLASSES_4[:3]) if effort.quick else (BIASES, CLASSES_4)
    asked = list(itertools.product(biases, classes))
    needed = {(b, m): first_attained(b, POINTS, m) for b, m in asked}
    series = [
        Series(
            label=_label_4(b, m),
            analyst=NaiveBayes(),
            deal=Uniform(POINTS, m),
            k=k,
            trials=_trials(k, effort),
        )
        for (b, m), k in needed.items()
    ]
    found = plays(series, effort)
    # Simulated bias at the number of queries from theory, turned into a number of queries.
    played = {
        (b, m): queries_from(b, m, k, found[_label_4(b, m)].bias(LEVEL))
        for (b, m), k in needed.items()
    }
    rows = [
        Row(
            f"bias {b}, m {m}",
            {
                "theory": Cell(
                    None,
                    point(
                        needed[b, m],
                        "closed form" if m < FEWEST_CLASSES else "Poisson label counts",
                    ),
                ),
                "simulation": Cell(None, played[b, m]),
                "bias in the simulation": Cell(None, found[_label_4(b, m)].bias(LEVEL)),
            },
        )
        for b, m in asked
    ]
    rows += [_slopes(b, classes, needed, played) for b in biases]
    return Table(
        "feldman-fig4", f"{PAPER}, Figure 4", tuple(rows), effort.noted(_NOTES_4, _QUICK_4)
    )


def first_attained(bias: float, n: int, m: int) -> int:
    """Return the smallest number of queries for which theory gives NB a mean bias of `bias`."""
    # `most_submissions` returns the last k at or below its limit; the next float below `bias`
    # makes "at least `bias`" out of "above".
    return most_submissions(lambda k: theoretical_bias(n, m, k), math.nextafter(bias, 0.0)) + 1


def theoretical_bias(n: int, m: int, k: int) -> float:
    """Return the expected bias of NB: the closed form, or Poisson label counts from 10 classes on.

    Unlike `theory`, it uses one formula for all k, so that it grows with k.
    """
    return nb_bias(n, m, k) if m < FEWEST_CLASSES else poisson_bias(n, m, k)


def queries_from(bias: float, m: int, k: int, found: Estimate) -> Estimate | Skipped:
    """Return the number of queries that attains `bias`, given the bias `found` after k queries.

    Near k the bias grows as a power of the queries; theory gives the exponent. Skipped if the
    interval of `found` reaches 0.
    """
    if found.low <= 0:
        return Skipped("queries", f"the bias after {k} queries is not above 0 for certain")
    # The exponent between k and 2k queries.
    power = math.log(theoretical_bias(POINTS, m, 2 * k) / theoretical_bias(POINTS, m, k), 2)
    # A larger bias after k queries means fewer queries are needed: the ends swap.
    value, high, low = (
        k * (bias / end) ** (1 / power) for end in (found.value, found.low, found.high)
    )
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=found.level,
        n=found.n,
        method=f"{found.method}, as a power of k",
    )


def slope(few: Estimate, many: Estimate, ratio: float) -> Estimate:
    """Return the slope on logarithmic axes between two independent numbers of queries.

    Parameters
    ----------
    few, many : Estimate
        Queries at the first and at the last end of the curve.
    ratio : float
        Classes at the last end over classes at the first, above 1.
    """
    # The logs of the ends are independent: their half-widths add in squares, each side by itself.
    value = math.log(many.value / few.value)
    low = value - math.hypot(math.log(many.value / many.low), math.log(few.high / few.value))
    high = value + math.hypot(math.log(many.high / many.value), math.log(few.value / few.low))
    scale = math.log(ratio)
    n = min(few.n, many.n)
    return Estimate(
        value=value / scale,
        low=low / scale,
        high=high / scale,
        level=few.level,
        n=n,
        method="both ends' intervals combined",
    )


def _slopes(
    bias: float,
    classes: tuple[int, ...],
    needed: dict[tuple[float, int], int],
    played: dict[tuple[float, int], Estimate | Skipped],
) -> Row:
    first = classes[0]
    last = classes[-1]
    ends = [played[bias, m] for m in (first, last)]
    skipped = Skipped("slope", "an end of the curve was not measured")
    measured = (
        slope(ends[0], ends[1], last / first)
        if isinstance(ends[0], Estimate) and isinstance(ends[1], Estimate)
        else skipped
    )
    theory = math.log(needed[bias, last] / needed[bias, first]) / math.log(last / first)
    most = first_attained(bias, POINTS, MORE_CLASSES)
    further = math.log(most / needed[bias, first]) / math.log(MORE_CLASSES / first)
    return Row(
        f"bias {bias}, slope",
        {
            f"m {first} to {last}, theory": Cell(None, point(theory, "theory")),
            f"m {first} to {last}, simulation": Cell(None, measured),
            f"m {first} to {MORE_CLASSES:,}, theory": Cell(None, point(further, "theory")),
        },
    )


def _label_4(bias: float, m: int) -> str:
    return f"nb, bias {bias}, m {m}"


def _trials(k: int, effort: Effort) -> int:
    """Return the number of trials: more of them where k is small.

    Plays with few queries are cheap, and their bias is as small beside the same noise.
    """
    return min(max(1_000 // k, 5), 50) if effort.quick else min(max(4_000 // k, 10), 200)
