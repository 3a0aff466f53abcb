"""The figures of Feldman, Frostig and Hardt (2019), what became of them, how they are judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from privacygauge.reproduce.feldman2019 import CLASSES, PAPER, QUERIES, SIZES
from privacygauge.reproduce.feldman2019_logits import DATA_SETS, OWN, RELATIVE
from privacygauge.reproduce.feldman2019_queries import SLOPES
from privacygauge.reproduce.item import Status, items
from privacygauge.reproduce.verdict import Judgement, above, falls, grows, of_rows

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
"""All that the paper prints."""

_RESTRICTED = (
    ("the least confident points alone gain more", "2,000 least confident, all labels"),
    ("the top two labels alone gain more still", "2,000 least confident, R = 2"),
)


def _row(n: int, m: int, k: int) -> str:
    return f"n {n:,}, m {m:,}, k {k:,}"


_SIMULATED = "simulation"


def _on_own(figure: int) -> Callable[[Judgement], Judgement]:
    """Return how a figure is judged on logits of the reader's own, of any number of points."""
    if figure == 1:
        claims = tuple(
            of_rows(f"{what}, at every number of queries", f"{OWN}, a fifth least confident, "
                    f"{labels}: more than without it")
            for what, labels in (("the least confident points alone gain more", "all labels"),
                                 ("the top two labels alone gain more still", "R = 2"))
        )  # fmt: skip
    else:
        claims = (
            of_rows("both restrictions: NB gains more than a scan, at every number of queries",
                    f"{OWN}, a fifth least confident, R = 2*", "NB less that scan"),
        )  # fmt: skip
    return lambda judgement: replace(judgement, claims=claims)


JUDGEMENTS: Mapping[str, Judgement] = {
    "feldman-fig1": Judgement(
        quick=True,
        on={OWN: _on_own(1)},
        claims=tuple(
            above(
                f"{data}, {k:,} queries: {what}",
                (f"{data}, {which}: more than without it", f"k {k:,}"),
            )
            for data in DATA_SETS.values()
            for k in (RELATIVE, 5_200)
            for what, which in _RESTRICTED
        ),
    ),
    "feldman-fig2": Judgement(
        quick=True,
        on={OWN: _on_own(2)},
        claims=tuple(
            above(
                f"{data}, both restrictions: NB gains more than a scan with {RELATIVE:,} queries",
                (f"{data}, 2,000 least confident, R = 2, k {RELATIVE:,}", "NB less that scan"),
            )
            for data in DATA_SETS.values()
        ),
    ),
    "feldman-fig3": Judgement(
        quick=True,
        claims=(
            *(
                grows(
                    f"n {n:,}, m {m:,}: the bias grows with the queries",
                    [(_row(n, m, k), _SIMULATED) for k in QUERIES],
                )
                for n in SIZES
                for m in CLASSES
            ),
            *(
                falls(
                    f"n {n:,}, k {k:,}: the bias falls with the classes",
                    [(_row(n, m, k), _SIMULATED) for m in CLASSES],
                )
                for n in SIZES
                for k in QUERIES
            ),
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
        # The text prints slopes with one decimal.
        same_data=("*",),
        quick=True,
        printed=0.05,
        margin=0.1,
        claims=tuple(
            above(
                f"bias {bias}: queries grow faster than the classes",
                (f"bias {bias}, slope", "m 2 to 100, simulation"),
                1,
            )
            for bias in SLOPES
        ),
    ),
    "feldman-fig5": Judgement(
        quick=True,
        claims=tuple(
            above(
                f"n {n:,}, k {k:,}: NB beats the majority",
                (f"n {n:,}, k {k:,}", "NB less majority"),
            )
            for n in SIZES
            for k in QUERIES
        ),
    ),
}
"""Reproduction to how it is judged."""
