"""Figures 3 and 5 of Feldman, Frostig and Hardt (2019): bias against the number of queries."""

from __future__ import annotations

import itertools

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.rates import less, proportion
from privacygauge.holdout.analysts import Analyst
from privacygauge.holdout.closed_form import (
    FEWEST_CLASSES,
    blum_hardt_bias,
    is_normal_enough,
    majority_bias,
    nb_bias,
    poisson_bias,
)
from privacygauge.holdout.majority import BlumHardt, Majority
from privacygauge.holdout.naive_bayes import NaiveBayes
from privacygauge.holdout.point import simulate_point
from privacygauge.reproduce.feldman2019_plays import (
    LEVEL,
    Series,
    Uniform,
    n_trials,
    plays,
    point,
)
from privacygauge.reproduce.table import Cell, Effort, Row, Table

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
