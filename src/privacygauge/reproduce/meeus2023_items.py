"""The tables and figures of Meeus et al. (2023) and how they are judged; its settings and ours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from privacygauge.datasets.adult import CATEGORICAL, CONTINUOUS
from privacygauge.reproduce.item import Entry, Status, items
from privacygauge.reproduce.meeus2023 import (
    CENSUS_COLUMNS,
    CENSUS_ROWS,
    COMPLETE,
    EPSILONS,
    NEIGHBOURS,
    ORDERS,
    RECORDS,
    SHADOWS,
    TARGETS,
    TESTS,
)
from privacygauge.reproduce.verdict import (
    Claim,
    Judgement,
    above,
    claim_of_equality,
    larger,
    near,
    paired_claim,
)
from privacygauge.synthetic.attacks.attention import (
    ATTENTION,
    EMBEDDING,
    HIDDEN,
    LAST,
    TargetAttention,
)
from privacygauge.synthetic.attacks.meta import Forest
from privacygauge.synthetic.attacks.query_based import QueryBased
from privacygauge.synthetic.games.setting import Sizes
from privacygauge.synthetic.generators.generator import BayNet, SynthPop
from privacygauge.synthetic.selection import LogLikelihood, RareValue, Vulnerable

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


_ALL = "meeus-*"
_QUERIES = "meeus-table2 meeus-fig3a meeus-fig3b meeus-fig4"
_ON_CENSUS = "meeus-table2 meeus-table3 meeus-fig4"
_ADULT_QUERIES = 2 ** (len(CATEGORICAL) + 1 + len(CONTINUOUS)) - 1
_CENSUS_QUERIES = 2**CENSUS_COLUMNS - 1
_ROOM = QueryBased().most_queries(SHADOWS)
_PART = (
    "of the census file only the first rows are available; it is sorted, so that they are people "
    "of six of ten regions; the whole file, where it lies in the folder of the data, is taken"
)
_POOL = "the pools of Adult: of the rows that are available no larger ones can be cut"
_GENERATOR = (
    "written for this library, so that no further package is needed; how their tables differ from "
    "reprosyn's was not measured"
)
_LEFT_OPEN = "the paper leaves it open"
_NETWORK = (
    "the authors' code has Adamax at 0.001 and keeps the best of 500 passes on tables left out; "
    "how its AUC compares with ours was not measured"
)

ENTRIES = (
    Entry(
        _ALL,
        "5.4",
        "Adult, records",
        paper=48_842,
        ours=COMPLETE,
        why="those in which no value is missing, as in the authors' code",
    ),
    Entry(
        _ALL,
        "5.4",
        "Adult, categorical columns, income among them",
        paper=9,
        ours=len(CATEGORICAL) + 1,
    ),
    Entry(_ALL, "5.4", "Adult, continuous columns", paper=6, ours=len(CONTINUOUS)),
    Entry(_ON_CENSUS, "5.4", "census, records", paper=569_741, ours=CENSUS_ROWS, why=_PART),
    Entry(_ON_CENSUS, "5.4", "census, categorical columns", paper=17, ours=CENSUS_COLUMNS),
    Entry(_ALL, "5.2", "records of each selection", paper=10, ours=TARGETS),
    Entry(_ALL, "5.5", "neighbours", paper=5, ours=Vulnerable().k),
    Entry(
        _ALL, "5.2", "rare value, numbers above the quantile", paper=0.95, ours=1 - RareValue().tail
    ),
    Entry(
        _ALL,
        "5.2",
        "rare value, share of records with a rare category",
        paper=None,
        ours=RareValue().tail,
        why=f"{_LEFT_OPEN}: as many as have a large number",
    ),
    Entry(
        _ALL, "5.2", "log-likelihood, intervals of a number", paper=100, ours=LogLikelihood().n_bins
    ),
    Entry(
        _ALL,
        "Table 1",
        "Adult, records that the adversary knows",
        paper=10_000,
        ours=Sizes().auxiliary,
    ),
    Entry(
        _ALL,
        "Table 1",
        "Adult, records behind the tables in question",
        paper=5_000,
        ours=Sizes().held,
    ),
    Entry(
        _ON_CENSUS,
        "Table 1",
        "census, records that the adversary knows",
        paper=50_000,
        ours=Sizes().auxiliary,
        why=_POOL,
    ),
    Entry(
        _ON_CENSUS,
        "Table 1",
        "census, records behind the tables in question",
        paper=25_000,
        ours=Sizes().held,
        why=_POOL,
    ),
    Entry(_ALL, "Table 1", "the adversary's tables a record, full form", paper=4_000, ours=SHADOWS),
    Entry(_ALL, "Table 1", "tables in question a record", paper=200, ours=TESTS),
    Entry(_ALL, "5.5", "records of a data set and of a table", paper=1_000, ours=RECORDS),
    Entry(_QUERIES, "5.1", "comparison of numbers", paper="at most", ours=QueryBased().variant),
    Entry(
        _QUERIES,
        "5.5",
        "queries on Adult",
        paper=100_000,
        ours=min(_ADULT_QUERIES, _ROOM),
        why="all there are; the paper's number cannot be drawn of so few without repetition",
    ),
    Entry(
        _ON_CENSUS,
        "5.5",
        "queries on the census, at most",
        paper=100_000,
        ours=min(_CENSUS_QUERIES, _ROOM),
        why=f"of {_CENSUS_QUERIES:,}, by memory; QueryBased(queries=..., cells=...) takes more",
    ),
    Entry(
        _ON_CENSUS,
        "5.5",
        "queries on the census, drawn",
        paper="from all alike",
        ours="equal numbers of each size",
        why="rows hardly meet the high orders, of which nearly all are",
    ),
    Entry(_QUERIES, "5.5", "random forest, trees", paper=100, ours=Forest().trees),
    Entry(_QUERIES, "5.5", "random forest, depth", paper=10, ours=Forest().depth),
    Entry(_ALL, "5.3", "generators", paper="reprosyn's", ours="PrivacyGauge's", why=_GENERATOR),
    Entry(
        "meeus-table2 meeus-table3 meeus-fig4",
        "5.3",
        "BayNet and PrivBayes, parents of a column, at most",
        paper=None,
        ours=BayNet().degree,
        why=_LEFT_OPEN,
    ),
    Entry(
        "meeus-table2 meeus-table3 meeus-fig4",
        "5.3",
        "BayNet and PrivBayes, intervals of a number",
        paper=None,
        ours=BayNet().bins,
        why=_LEFT_OPEN,
    ),
    Entry(
        "meeus-table2 meeus-table3 meeus-fig3a meeus-fig3b",
        "5.3",
        "SynthPop, records of a leaf, at least",
        paper=None,
        ours=SynthPop().least,
        why=_LEFT_OPEN,
    ),
    Entry(
        "meeus-fig4",
        "5.3",
        "PrivBayes, epsilon of the network and of the counts",
        paper=None,
        ours="half of it each",
        why="the paper says that it is cut in two, and not how",
    ),
    Entry("meeus-table3", "A", "embedding", paper=20, ours=EMBEDDING),
    Entry("meeus-table3", "A", "hidden units of the embedding", paper=20, ours=HIDDEN),
    Entry("meeus-table3", "A", "attention", paper=15, ours=ATTENTION),
    Entry("meeus-table3", "A", "hidden units after the attention", paper=10, ours=LAST),
    Entry("meeus-table3", "A", "nearest unique rows", paper=100, ours=TargetAttention().top),
    Entry("meeus-table3", "A", "dropout", paper=0.15, ours=TargetAttention().training.dropout),
    Entry(
        "meeus-table3",
        "A",
        "continuous attributes",
        paper="untouched",
        ours=("scaled to the unit interval"),
        why="incomes beside one-hot categories drown everything else",
    ),
    Entry(
        "meeus-table3",
        "A",
        "distance and multiplicity",
        paper="as they are",
        ours="logarithms",
        why="otherwise a copy of the target hardly differs from its neighbours",
    ),
    Entry(
        "meeus-table3",
        "algorithm 1, line 11",
        "query times",
        paper="values",
        ours="keys",
        why="the keys are never used otherwise (see Errata)",
    ),
    Entry("meeus-table3", "A", "optimiser", paper=None, ours="AdamW", why=_NETWORK),
    Entry(
        "meeus-table3",
        "A",
        "learning rate",
        paper=None,
        ours=TargetAttention().training.learning_rate,
        why=_NETWORK,
    ),
    Entry(
        "meeus-table3",
        "A",
        "passes, at most",
        paper=None,
        ours=TargetAttention().training.epochs,
        why=_NETWORK,
    ),
    Entry(
        "meeus-table3",
        "A",
        "networks, averaged",
        paper=None,
        ours=TargetAttention().folds,
        why="each stops early on tables that it did not learn from",
    ),
    Entry(
        "meeus-fig3a",
        "6.3",
        "numbers of neighbours",
        paper=None,
        ours=NEIGHBOURS,
        why="the text says from 1 to 50",
    ),
    Entry("meeus-fig3b", "6.4", "orders of Minkowski's distance", paper=(1, 2, 3, 4), ours=ORDERS),
    Entry(
        "meeus-fig4",
        "6.5",
        "epsilons",
        paper=None,
        ours=EPSILONS,
        why="the text names 10 and 100 of the figure's",
    ),
)
"""All that the paper states of its experiments."""
