"""Figures of Feldman, Frostig and Hardt (2019): their judgements, and the settings of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.papers.feldman2019 import (
    BIASES,
    CLASSES,
    MORE_CLASSES,
    PAPER,
    QUERIES,
    SIZES,
    TRIALS,
    point,
)
from privacygauge.papers.feldman2019 import CLASSES_4 as SLOPE_CLASSES
from privacygauge.papers.feldman2019 import POINTS as SLOPE_POINTS
from privacygauge.papers.feldman2019_logits import (
    DATA_SETS,
    LEAST_CONFIDENT,
    MODEL,
    OWN,
    PAPERS_SCAN,
    POINTS,
    RELATIVE,
    TOPS,
    TWO_CLASSES,
    WITHOUT_PRIOR,
)
from privacygauge.papers.feldman2019_logits import QUERIES as LOGIT_QUERIES
from privacygauge.papers.table import Entry, Status, Table, items
from privacygauge.papers.verdict import (
    Claim,
    Judgement,
    above,
    every,
    falls,
    grows,
    larger,
    of_rows,
    stated_in,
)

_IMAGENET = (
    "logits of ResNet-50v2 on ImageNet are not available; those of ResNet-20 on CIFAR-100 and "
    "CIFAR-10 stand in"
)

ITEMS = items(
    PAPER,
    "feldman",
    ("fig1", "attackers with a model", Status.STAND_IN, _IMAGENET),
    ("fig2", "beside a linear scan", Status.STAND_IN, _IMAGENET),
    ("fig3", "bias by queries", Status.DONE),
    ("fig4", "queries for a bias", Status.DONE),
    ("fig5", "beside the majority", Status.DONE),
)
"""All figures of the paper."""


def _row(n: int, m: int, k: int) -> str:
    return f"n {n:,}, m {m:,}, k {k:,}"


_SIMULATED = "simulation"


_ATTACKED = ("all points", "2,000 least confident")


def _fewer_labels(data: str, attacked: str, queries: int | None = None) -> Claim:
    """Return the claim that the gain grows as the labels tried are restricted to the top R.

    With as many queries, or with each number of queries that the table has.
    """
    what = f"{data}, {attacked}: the gain grows as R falls"
    labels = ("all labels", *(f"R = {top}" for top in sorted(TOPS, reverse=True)))
    rows = [f"{data}, {attacked}, {one}" for one in labels]

    def effect(table: Table) -> Estimate | Skipped:
        cells = next((row.cells for row in table.rows if row.label == rows[0]), {})
        columns = cells if queries is None else (f"k {queries:,}",)
        gains = [grows(what, [(row, column) for row in rows]) for column in columns]
        return every(what, gains).effect(table)

    return Claim(what, effect)


def _of_priors(data: str, least_confident: str, column: str | None = None) -> tuple[Claim, ...]:
    """Return the claims of section 1.1 on attacks with and without a prior.

    At one number of queries, or at every one that the table has.
    """
    alone = f"{data}, {WITHOUT_PRIOR}"
    binary = f"{data}, {TWO_CLASSES}"
    rows = {
        "the logits as prior": f"{data}, all points, all labels",
        "the least confident points": f"{data}, {least_confident}, all labels",
    }

    def at_each(what: str, pairs: Sequence[tuple[str, str]]) -> Claim:
        def effect(table: Table) -> Estimate | Skipped:
            cells = next((row.cells for row in table.rows if row.label == alone), {})
            columns = cells if column is None else (column,)
            claims = [
                larger(what, (more, at), (less, at)) for more, less in pairs for at in columns
            ]
            return every(what, claims).effect(table)

        return Claim(what, effect)

    return stated_in(
        "1.1",
        (
            *(
                at_each(f"{data}: {what} gain more than an attack without a prior", [(row, alone)])
                for what, row in rows.items()
            ),
            at_each(
                f"{data}: with a prior less is gained than on two classes without a prior",
                [(binary, row) for row in rows.values()],
            ),
        ),
    )


def _further_slope(bias: float) -> Claim:
    """Return the claim that theory's queries grow faster than the classes from 100 to 1,000."""
    few = (f"bias {bias}, m 2", "theory")
    some_ = (f"bias {bias}, m 100", "theory")
    whole = (f"bias {bias}, slope", f"m 2 to {MORE_CLASSES:,}, theory")

    def effect(table: Table) -> Estimate | Skipped:
        found = [cell.ours for at in (few, some_, whole) if (cell := table.cell(*at)) is not None]
        known = [one.value for one in found if isinstance(one, Estimate)]
        if len(known) < 3:
            return Skipped(str(bias), "not in this form")
        first, middle, slope = known
        # The queries at the last end, by the slope of the whole curve.
        last = math.log(first) + slope * math.log(MORE_CLASSES / 2)
        return point(
            (last - math.log(middle)) / math.log(MORE_CLASSES / 100) - 1, "theory of both ends"
        )

    return Claim(str(bias), effect)


def _on_own(figure: int) -> Callable[[Judgement], Judgement]:
    """Return the change of judgement for the reader's own logits, of any number of points.

    Their rows have other labels, so that the claims replace those of the stand-ins.
    """
    if figure == 1:
        claims = (
            *stated_in("5", (of_rows(
                "the least confident points alone gain more, at every number of queries",
                f"{OWN}, a fifth least confident, all labels: more than without it",
            ),)),
            *stated_in("Figure 1", (
                _fewer_labels(OWN, attacked)
                for attacked in ("all points", "a fifth least confident")
            )),
            *_of_priors(OWN, "a fifth least confident"),
        )  # fmt: skip
    else:
        claims = (
            of_rows("both restrictions: NB gains more than a scan, at every number of queries",
                    f"{OWN}, a fifth least confident, R = 2*", PAPERS_SCAN),
        )  # fmt: skip
    return lambda judgement: replace(judgement, claims=claims)


JUDGEMENTS: Mapping[str, Judgement] = {
    "feldman-fig1": Judgement(
        quick=True,
        on={OWN: _on_own(1)},
        # As many queries a point as in the paper: of five times as many it says nothing.
        claims=(
            *stated_in(
                "5",
                (
                    above(
                        f"{data}, {RELATIVE:,} queries: the least confident points alone gain more",
                        (
                            f"{data}, 2,000 least confident, all labels: more than without it",
                            f"k {RELATIVE:,}",
                        ),
                    )
                    for data in DATA_SETS.values()
                ),
            ),
            *stated_in(
                "Figure 1",
                (
                    _fewer_labels(data, attacked, RELATIVE)
                    for data in DATA_SETS.values()
                    for attacked in _ATTACKED
                ),
            ),
            *(
                claim
                for data in DATA_SETS.values()
                for claim in _of_priors(data, _ATTACKED[1], f"k {RELATIVE:,}")
            ),
        ),
    ),
    "feldman-fig2": Judgement(
        quick=True,
        on={OWN: _on_own(2)},
        # The paper draws the scan beside the attack, and says nothing of which gains more.
        claims=tuple(
            above(
                f"{data}, both restrictions: NB gains more than a scan with {RELATIVE:,} queries",
                (f"{data}, 2,000 least confident, R = 2, k {RELATIVE:,}", PAPERS_SCAN),
            )
            for data in DATA_SETS.values()
        ),
    ),
    "feldman-fig3": Judgement(
        quick=True,
        claims=(
            *stated_in(
                "1",
                (
                    falls(
                        f"n {n:,}, k {k:,}: the bias falls with the classes",
                        [(_row(n, m, k), _SIMULATED) for m in CLASSES],
                    )
                    for n in SIZES
                    for k in QUERIES
                ),
            ),
            # Of queries and points the text says nothing about the figure.
            *(
                grows(
                    f"n {n:,}, m {m:,}: the bias grows with the queries",
                    [(_row(n, m, k), _SIMULATED) for k in QUERIES],
                )
                for n in SIZES
                for m in CLASSES
            ),
            # Not measured in the quick form, which has no row of 50,000 points and 1,000 queries.
            *(
                falls(
                    f"m {m:,}, k 1,000: the bias falls with the points",
                    [(_row(n, m, 1_000), _SIMULATED) for n in SIZES],
                )
                for m in CLASSES
            ),
        ),
    ),
    "feldman-fig4": Judgement(
        # The printed slopes are of curves whose classes the text does not name: not compared.
        quick=True,
        claims=(
            *stated_in(
                "5",
                (
                    above(
                        f"bias {bias}: from 2 to 100 classes queries grow faster than the classes",
                        # A slope above 1 on logarithmic axes is growth faster than linear.
                        (f"bias {bias}, slope", "m 2 to 100, simulation"),
                        1,
                    )
                    for bias in BIASES
                ),
            ),
            # "Must indeed grow superlinearly" is said of any number of classes.
            *stated_in(
                "5, Figure 4",
                (
                    every(
                        "from 100 to 1,000 they grow faster too, at every bias, by theory",
                        [_further_slope(bias) for bias in BIASES],
                    ),
                ),
            ),
        ),
    ),
    "feldman-fig5": Judgement(
        quick=True,
        claims=stated_in(
            "1",
            (
                above(
                    f"n {n:,}, k {k:,}: NB beats the majority",
                    (f"n {n:,}, k {k:,}", "NB less majority"),
                )
                for n in SIZES
                for k in QUERIES
            ),
        ),
    ),
}
"""Name of a reproduction to its judgement."""


_REAL = "feldman-fig1 feldman-fig2"
_NO_LOGITS = "logits on ImageNet's test set are not available"
_NO_NUMBER = "the text does not name the figure's"

ENTRIES = (
    Entry(_REAL, "5", "test set", paper="ImageNet", ours=tuple(DATA_SETS.values()), why=_NO_LOGITS),
    Entry(_REAL, "5", "model", paper="ResNet-50v2", ours=MODEL, why=_NO_LOGITS),
    Entry(_REAL, "5", "points", paper=50_000, ours=POINTS, why=_NO_LOGITS),
    Entry(_REAL, "5", "classes", paper=1_000, ours=tuple(DATA_SETS), why=_NO_LOGITS),
    Entry(
        _REAL,
        "5",
        "least confident points",
        paper=10_000,
        ours=LEAST_CONFIDENT,
        why="a fifth of the points, as in the paper",
    ),
    Entry(_REAL, "5", "top labels R", paper=None, ours=TOPS, why="the text names 2, 4 and 10"),
    Entry(_REAL, "5", "queries", paper=5_200, ours=LOGIT_QUERIES[-1]),
    Entry(
        _REAL,
        "5",
        "queries a point that the published gains stand beside",
        paper=0.104,
        ours=RELATIVE / POINTS,
    ),
    Entry(_REAL, "5", "prior", paper="the model's softmax", ours="the model's softmax"),
    Entry(
        _REAL,
        "5",
        "what the points outside of the attack contribute",
        paper=None,
        ours="the mean of the answers",
        why="the attacker is not told it",
    ),
    Entry(
        "feldman-fig2",
        "5",
        "linear scan, first query",
        paper="random",
        ours="random at the attacked points, the model's labels elsewhere",
        why="the points outside of the attack are answered as NB answers them",
    ),
    Entry(
        "feldman-fig2",
        "5",
        "linear scan, labels that it draws and tries",
        paper=None,
        ours="those that NB is restricted to",
        why="so that both are given the same; beside it a scan that begins with the model's labels",
    ),
    Entry(
        "feldman-fig1 feldman-fig2 feldman-fig3 feldman-fig5", "5", "trials", paper=10, ours=TRIALS
    ),
    Entry("feldman-fig3 feldman-fig5", "5", "points", paper=(10_000, 50_000), ours=SIZES),
    Entry("feldman-fig3", "5", "classes", paper=None, ours=CLASSES, why=_NO_NUMBER),
    Entry("feldman-fig3 feldman-fig5", "5", "queries", paper=None, ours=QUERIES, why=_NO_NUMBER),
    Entry("feldman-fig4", "5", "points", paper=100_000, ours=SLOPE_POINTS),
    Entry(
        "feldman-fig4",
        "5",
        "biases",
        paper=None,
        ours=BIASES,
        why=(
            "the text names the smallest one only, and none of the classes at the ends of a curve, "
            "so that its slopes of 1.2 and 1.3 are not compared"
        ),
    ),
    Entry("feldman-fig4", "5", "classes", paper=None, ours=SLOPE_CLASSES, why=_NO_NUMBER),
    Entry(
        "feldman-fig4",
        "5",
        "queries for a bias",
        paper="counted",
        ours="by theory, checked by attacks",
        why="attacks with the number that theory gives tell how many more or fewer it takes",
    ),
    Entry(
        "feldman-fig5",
        "5",
        "attack of Blum and Hardt",
        paper="plus and minus one",
        ours="plus and minus one, and dropping",
        why="the original leaves out queries that are worse than a guess; both are made",
    ),
)
"""All settings that the paper states of its experiments, and the choices it leaves open."""
