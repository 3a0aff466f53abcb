"""Figures 3, 4 and 5 of Feldman, Frostig and Hardt (2019): bias, and the queries that it takes."""

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
from privacygauge.holdout.analysts import Analyst, Trials, play, uniform_holdout
from privacygauge.holdout.bounds import (
    FEWEST_CLASSES,
    blum_hardt_bias,
    is_normal_enough,
    majority_bias,
    nb_bias,
    poisson_bias,
)
from privacygauge.holdout.naive_bayes import BlumHardt, Majority, NaiveBayes, simulate_point
from privacygauge.holdout.oracle import Holdout, most_submissions
from privacygauge.reproduce.table import Cell, Effort, Row, Table, exact
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import open_run

LEVEL = 0.95
"""Of every interval."""

TRIALS = 10
"""Attacks in each series, as in the paper."""

# What is done is kept after each of about so many parts of a run.
_PARTS = 40


@dataclass(frozen=True)
class Uniform:
    """A test set of uniformly random labels, a new one in every trial."""

    n: int
    """Points."""
    m: int
    """Classes."""

    def __call__(self, rng: np.random.Generator) -> Holdout:
        """Return a test set."""
        return uniform_holdout(self.n, self.m, rng)


@dataclass(frozen=True, eq=False)
class GivenTestSet:
    """A test set that is given: trials differ in what the attacker draws."""

    holdout: Holdout
    """The labels."""

    def __call__(self, rng: np.random.Generator) -> Holdout:
        """Return the test set."""
        return self.holdout


@dataclass(frozen=True, eq=False)
class Series:
    """One attack played many times with one number of queries."""

    label: str
    """All that its result depends on, in words: its random draws derive from it."""
    analyst: Analyst
    """The attack."""
    deal: Callable[[np.random.Generator], Holdout]
    """Returns the test set; `Uniform` or `GivenTestSet`."""
    k: int
    """Queries."""
    trials: int
    """Plays, at least 1."""


@dataclass(frozen=True, eq=False)
class Plays:
    """The work of a run: all plays of all series. Picklable."""

    series: tuple[Series, ...]
    """Each with a label of its own."""
    seed: int
    """All draws derive from it, by label and trial."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the plays of a task."""
        owner = np.repeat(np.arange(len(self.series)), [s.trials for s in self.series])
        first = np.searchsorted(owner, owner)
        found = [
            self._play(self.series[owner[unit]], int(unit - first[unit]))
            for unit in range(task.start, task.stop)
        ]
        return {"accuracy": [f[0] for f in found], "baseline": [f[1] for f in found]}

    def _play(self, series: Series, trial: int) -> tuple[float, float]:
        rng = seeds.stream(self.seed, "feldman2019", series.label, trial)
        played = play(series.analyst, series.deal(rng), series.k, rng)
        return played.accuracy, played.baseline

    def plan(self) -> Plan:
        """Return what the run computes."""
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
    """Return the trials of every series by its label.

    Parameters
    ----------
    series : sequence of Series
    effort : Effort
        Its seed, folder, processes and progress.
    """
    labels = [one.label for one in series]
    if len(set(labels)) < len(labels):
        raise InputError(f"labels of series must differ, got {short_list(labels)}: leave one out")
    work = Plays(tuple(series), effort.seed)
    with kept_or_scratch(effort.run) as place:
        opened = open_run(place, work.plan())
        complete(opened, work, n_jobs=effort.n_jobs, progress=effort.progress)
        accuracy, baseline = (opened.array(name)[:] for name in ("accuracy", "baseline"))
    found = {}
    start = 0
    for one in series:
        rows = slice(start, start + one.trials)
        used = np.full(one.trials, one.k, np.int64)
        found[one.label] = Trials(accuracy[rows], baseline[rows], used)
        start += one.trials
    return found


def n_trials(effort: Effort) -> int:
    """Return how many trials a series has: as many as in the paper, or 3 in the quick form."""
    return 3 if effort.quick else TRIALS


def point(value: float, method: str) -> Estimate:
    """Return a number that follows from a formula, or from a game without chance."""
    return exact(value, 1, method)


PAPER = "Feldman, Frostig & Hardt (2019)"

SIZES = (10_000, 50_000)
"""Points, as in the paper: CIFAR-10 and ImageNet."""
CLASSES = (2, 10, 100, 1_000)
"""Of Figure 3."""
QUERIES = (200, 1_000, 5_000)
"""The text does not say which numbers the figures have."""

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
    """Return the expected bias of NB without knowledge, and by which formula.

    The closed form where label counts are about normal or classes are few, otherwise Poisson
    label counts.
    """
    if m < FEWEST_CLASSES or is_normal_enough(n, m, k):
        return nb_bias(n, m, k), "closed form"
    return poisson_bias(n, m, k), "Poisson label counts"


def feldman_fig3(effort: Effort) -> Table:
    """Return Figure 3: the bias of NB on uniform labels, by classes, points and queries.

    Beside each simulation stand the formula and one point's exact simulation; the last row counts
    how often they agree.
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
        rows.append(
            Row(
                f"n {n:,}, m {m:,}, k {k:,}",
                _cells_beside_theory(n, m, k=k, bias=bias, effort=effort),
            )
        )
    rows.append(_agreement(rows))
    return Table("feldman-fig3", f"{PAPER}, Figure 3", tuple(rows), effort.noted(_NOTES_3, _QUICK))


def _cells_beside_theory(n: int, m: int, k: int, bias: Estimate, effort: Effort) -> dict[str, Cell]:
    # As many draws for each row, so that each costs the same.
    draws = 1_000_000 if effort.quick else 20_000_000
    rng = seeds.stream(effort.seed, "feldman2019", "one point", n, m, k)
    alone = simulate_point(n, m, k=k, points=min(draws // k, draws // 200), rng=rng, level=LEVEL)
    return {
        "simulation": Cell(None, bias),
        "theory": Cell(None, point(*theory(n, m, k))),
        "closed form": Cell(None, point(nb_bias(n, m, k), "closed form")),
        "one point": Cell(None, alone),
        "simulation less one point": Cell(None, less(bias, alone)),
    }


def _agreement(rows: list[Row]) -> Row:
    """Return the shares of rows whose intervals hold what they should."""

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
        biases = [found[_label(a.name, n, 2, k)].bias(LEVEL) for a in attacks]
        rows.append(Row(f"n {n:,}, k {k:,}", _attacks(n, k, *biases)))
    return Table("feldman-fig5", f"{PAPER}, Figure 5", tuple(rows), effort.noted(_NOTES_5, _QUICK))


def _attacks(
    n: int, k: int, nb: Estimate, majority: Estimate, dropping: Estimate
) -> dict[str, Cell]:
    formulas = nb_bias(n, 2, k), majority_bias(n, 2, k), blum_hardt_bias(n, 2, k)
    expected = [point(value, "closed form") for value in formulas]
    return {
        "NB": Cell(None, nb),
        "NB, closed form": Cell(None, expected[0]),
        "majority": Cell(None, majority),
        "majority, closed form": Cell(None, expected[1]),
        "dropping": Cell(None, dropping),
        "dropping, closed form": Cell(None, expected[2]),
        "NB less majority": Cell(None, less(nb, majority)),
        "NB less majority, closed form": Cell(
            None, point(formulas[0] - formulas[1], "closed form")
        ),
    }


def _experiments(effort: Effort, classes: tuple[int, ...]) -> list[tuple[int, int, int]]:
    every = itertools.product(SIZES, classes, QUERIES)
    # Whole test sets of 50,000 points take five times as long.
    return [(n, m, k) for n, m, k in every if not effort.quick or n * k <= 10_000_000]


def _label(attack: str, n: int, m: int, k: int) -> str:
    return f"{attack}, n {n}, m {m}, k {k}"


POINTS = 100_000
"""As in the paper."""
SLOPES = {0.002: 1.2, 0.005: 1.3, 0.01: 1.3}
"""Bias to the slope that the text gives between the ends of its curve; of the biases it names the
first one only."""
CLASSES_4 = (2, 10, 30, 100)
"""Played. The text does not say which classes the figure has."""
MORE_CLASSES = 1_000
"""From theory only."""

_NOTES_4 = (
    "The text gives slopes between the ends of the curves, 1.2 for a bias of 0.002 and 1.3 "
    "for the others, and neither the other biases nor the range of classes: 0.005 and 0.01 "
    "and 2 to 100 classes are our choice. The slope depends on both.",
    "The closed form says that a label is drawn often: for two classes and three queries it "
    "is off, and the simulation counts.",
)
_QUICK_4 = "Quick form: one bias, a slope from 2 to 30 classes."


def feldman_fig4(effort: Effort) -> Table:
    """Return Figure 4: the queries after which NB first has a fixed bias, by classes.

    Theory gives a number of queries; test sets are attacked with that many, and the bias that is
    found tells how many more or fewer it takes. Slopes are between the ends of a curve, as in the
    paper.
    """
    biases, classes = ((0.01,), CLASSES_4[:3]) if effort.quick else (tuple(SLOPES), CLASSES_4)
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
    played = {
        (b, m): queries_from(b, m, k, found[_label_4(b, m)].bias(LEVEL))
        for (b, m), k in needed.items()
    }
    rows = [
        Row(
            f"bias {b}, m {m}",
            {
                "theory": Cell(None, point(needed[b, m], _formula(m))),
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
    """Return the fewest queries for which theory gives NB at least `bias` on average."""
    return most_submissions(lambda k: theoretical_bias(n, m, k), math.nextafter(bias, 0.0)) + 1


def theoretical_bias(n: int, m: int, k: int) -> float:
    """Return NB's bias by theory: by Poisson label counts from 10 classes on.

    By one formula for all k, so that it grows with k.
    """
    return nb_bias(n, m, k) if m < FEWEST_CLASSES else poisson_bias(n, m, k)


def queries_from(bias: float, m: int, k: int, found: Estimate) -> Estimate | Skipped:
    """Return after how many queries `bias` is attained, from the bias `found` after k of them.

    Near k the bias grows as a power of the queries, whose exponent theory gives.
    """
    if found.low <= 0:
        return Skipped("queries", f"the bias after {k} queries is not above 0 for certain")
    power = math.log(theoretical_bias(POINTS, m, 2 * k) / theoretical_bias(POINTS, m, k), 2)
    value, high, low = (
        k * (bias / end) ** (1 / power) for end in (found.value, found.low, found.high)
    )
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=found.level,
        n=found.n,
        method=(f"{found.method}, as a power of k"),
    )


def slope(few: Estimate, many: Estimate, ratio: float) -> Estimate:
    """Return the slope on logarithmic axes between two independent numbers of queries.

    Parameters
    ----------
    few, many : Estimate
        Queries at the first end and at the last.
    ratio : float
        How many times as many classes the last end has, above 1.
    """
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
        method=("both ends' intervals combined"),
    )


def _slopes(
    bias: float,
    classes: tuple[int, ...],
    needed: dict[tuple[float, int], int],
    played: dict[tuple[float, int], Estimate | Skipped],
) -> Row:
    first = classes[0]
    last = classes[-1]
    published = SLOPES[bias] if last == CLASSES_4[-1] else None
    ends = [played[bias, m] for m in (first, last)]
    skipped = Skipped("slope", "an end of the curve was not measured")
    measured = (
        slope(ends[0], ends[1], last / first)
        if isinstance(ends[0], Estimate) and isinstance(ends[1], Estimate)
        else skipped
    )
    theory = _power_between(needed[bias, first], needed[bias, last], last / first)
    most = first_attained(bias, POINTS, MORE_CLASSES)
    further = _power_between(needed[bias, first], most, MORE_CLASSES / first)
    return Row(
        f"bias {bias}, slope",
        {
            f"m {first} to {last}, theory": Cell(None, point(theory, "theory")),
            f"m {first} to {last}, simulation": Cell(published, measured),
            f"m {first} to {MORE_CLASSES:,}, theory": Cell(None, point(further, "theory")),
        },
    )


def _power_between(few: int, many: int, ratio: float) -> float:
    return math.log(many / few) / math.log(ratio)


def _formula(m: int) -> str:
    return "closed form" if m < FEWEST_CLASSES else "Poisson label counts"


def _label_4(bias: float, m: int) -> str:
    return f"nb, bias {bias}, m {m}"


def _trials(k: int, effort: Effort) -> int:
    """Return more trials where they are short: their biases are as small, and noise as large."""
    return min(max(1_000 // k, 5), 50) if effort.quick else min(max(4_000 // k, 10), 200)
