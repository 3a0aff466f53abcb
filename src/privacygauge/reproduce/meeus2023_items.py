"""The tables and figures of Meeus et al. (2023), what became of them, and how they are judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privacygauge.reproduce.item import Status, items
from privacygauge.reproduce.verdict import (
    Claim,
    Judgement,
    above,
    claim_of_equality,
    larger,
    near,
    paired_claim,
)

PAPER = "Meeus et al. (2023)"

_CENSUS = (
    "Adult is the paper's data; of the census file only the first 50,000 rows are available, "
    "people of six of ten regions"
)
_TWENTIETH = "on the paper's data, kept with a twentieth of the adversary's tables"
_RECORDS = "its means and deviations, without the single records"

ITEMS = items(
    PAPER, "meeus",
    ("table1", "sizes of the attack", Status.NO_RESULT, "settings"),
    ("table2", "which records", Status.PARTLY, _CENSUS),
    ("table3", "target attention", Status.PARTLY, _CENSUS),
    ("fig1", "the records of Table 2 one by one", Status.PARTLY,
     f"{_RECORDS}; {_CENSUS}", "meeus-table2"),
    ("fig2", "the records of Table 3 one by one", Status.PARTLY,
     f"{_RECORDS}; {_CENSUS}", "meeus-table3"),
    ("fig3a", "numbers of neighbours", Status.PARTLY, _TWENTIETH),
    ("fig3b", "distances", Status.PARTLY, _TWENTIETH),
    ("fig4", "PrivBayes by epsilon", Status.PARTLY, _CENSUS),
    ("fig5", "architecture of target attention", Status.NO_RESULT, "a drawing of the method"),
)  # fmt: skip
"""All that the paper prints."""

_OTHERS = ("random", "rare value", "log-likelihood")
_MEAN = "mean AUC"
_ALIKE = 0.05
"""Mean AUCs that differ by less are as good as equal."""


def _distance_wins() -> Judgement:
    """Return that records by distance are most at risk, for both data sets and generators."""
    parts = [f"{data}, {by}" for data in ("UK census", "Adult") for by in ("SynthPop", "BayNet")]
    return Judgement(
        same_data=("Adult*",),
        margin=0.05,
        on={"census": lambda judgement: replace(judgement, same_data=("*",))},
        claims=tuple(
            larger(
                f"{part}: records by distance are more at risk than {other}",
                (f"{part}: distance", _MEAN),
                (f"{part}: {other}", _MEAN),
            )
            for part in parts
            for other in _OTHERS
        ),
    )


def _as_the_default(ways: tuple[str, ...], default: str) -> tuple[Claim, ...]:
    return tuple(
        paired_claim(
            (f"Adult, SynthPop: {way}", f"less {default}"),
            claim_of_equality(
                f"{way} finds records as much at risk as {default}, within {_ALIKE:g}",
                (f"Adult, SynthPop: {way}", _MEAN),
                (f"Adult, SynthPop: {default}", _MEAN),
                _ALIKE,
            ),
            lambda what, at: near(what, at, _ALIKE),
        )
        for way in ways
    )


JUDGEMENTS: Mapping[str, Judgement] = {
    "meeus-table2": _distance_wins(),
    "meeus-table3": _distance_wins(),
    "meeus-fig3a": Judgement(
        same_data=("*",),
        claims=_as_the_default(("k = 1", "k = 10", "k = 20", "k = 50"), "k = 5"),
    ),
    "meeus-fig3b": Judgement(
        same_data=("*",),
        claims=(
            *_as_the_default(("Minkowski p = 1", "Minkowski p = 2"), "cosine"),
            larger(
                "p = 4 finds records that are less at risk than by the cosine",
                ("Adult, SynthPop: cosine", _MEAN),
                ("Adult, SynthPop: Minkowski p = 4", _MEAN),
            ),
        ),
    ),
    "meeus-fig4": Judgement(
        same_data=("Adult*",),
        claims=tuple(
            claim
            for data in ("UK census", "Adult")
            for claim in (
                above(
                    f"{data}: at epsilon 100 records by distance are at risk",
                    (f"{data}, epsilon 100: distance", _MEAN),
                    0.5,
                ),
                above(
                    f"{data}: at epsilon 10 they still are",
                    (f"{data}, epsilon 10: distance", _MEAN),
                    0.5,
                ),
                larger(
                    f"{data}: at epsilon 100 they are more at risk than random ones",
                    (f"{data}, epsilon 100: distance", _MEAN),
                    (f"{data}, epsilon 100: random", _MEAN),
                ),
            )
        ),
    ),
}
"""Reproduction to how it is judged."""
