"""Figure 4 of Feldman, Frostig and Hardt (2019): queries that a fixed bias takes."""

from __future__ import annotations

import itertools
import math

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.holdout.closed_form import FEWEST_CLASSES, nb_bias, poisson_bias
from privacygauge.holdout.naive_bayes import NaiveBayes
from privacygauge.holdout.oracle import most_submissions
from privacygauge.reproduce.feldman2019 import PAPER
from privacygauge.reproduce.feldman2019_plays import LEVEL, Series, Uniform, plays, point
from privacygauge.reproduce.table import Cell, Effort, Row, Table

POINTS = 100_000
"""As in the paper."""
SLOPES = {0.002: 1.2, 0.005: 1.3, 0.01: 1.3}
"""Bias to the slope that the text gives between the ends of its curve; of the biases it names the
first one only."""
CLASSES = (2, 10, 30, 100)
"""Played. The text does not say which classes the figure has."""
MORE_CLASSES = 1_000
"""From theory only."""

_NOTES = (
    "The text gives slopes between the ends of the curves, 1.2 for a bias of 0.002 and 1.3 "
    "for the others, and neither the other biases nor the range of classes: 0.005 and 0.01 "
    "and 2 to 100 classes are our choice. The slope depends on both.",
    "The closed form says that a label is drawn often: for two classes and three queries it "
    "is off, and the simulation counts.",
)
_QUICK = "Quick form: one bias, a slope from 2 to 30 classes."


def feldman_fig4(effort: Effort) -> Table:
    """Return Figure 4: the queries after which NB first has a fixed bias, by classes.

    Theory gives a number of queries; test sets are attacked with that many, and the bias that is
    found tells how many more or fewer it takes. Slopes are between the ends of a curve, as in the
    paper.
    """
    biases, classes = ((0.01,), CLASSES[:3]) if effort.quick else (tuple(SLOPES), CLASSES)
    asked = list(itertools.product(biases, classes))
    needed = {(b, m): first_attained(b, POINTS, m) for b, m in asked}
    series = [
        Series(
            label=_label(b, m),
            analyst=NaiveBayes(),
            deal=Uniform(POINTS, m),
            k=k,
            trials=_trials(k, effort),
        )
        for (b, m), k in needed.items()
    ]
    found = plays(series, effort)
    played = {
        (b, m): queries_from(b, m, k, found[_label(b, m)].bias(LEVEL))
        for (b, m), k in needed.items()
    }
    rows = [
        Row(
            f"bias {b}, m {m}",
            {
                "theory": Cell(None, point(needed[b, m], _formula(m))),
                "simulation": Cell(None, played[b, m]),
                "bias in the simulation": Cell(None, found[_label(b, m)].bias(LEVEL)),
            },
        )
        for b, m in asked
    ]
    rows += [_slopes(b, classes, needed, played) for b in biases]
    return Table("feldman-fig4", f"{PAPER}, Figure 4", tuple(rows), effort.noted(_NOTES, _QUICK))


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
    published = SLOPES[bias] if last == CLASSES[-1] else None
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


def _label(bias: float, m: int) -> str:
    return f"nb, bias {bias}, m {m}"


def _trials(k: int, effort: Effort) -> int:
    """Return more trials where they are short: their biases are as small, and noise as large."""
    return min(max(1_000 // k, 5), 50) if effort.quick else min(max(4_000 // k, 10), 200)
