"""The settings that Meeus et al. (2023) state, beside ours."""

from __future__ import annotations

from privacygauge.datasets.adult import CATEGORICAL, CONTINUOUS
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
from privacygauge.reproduce.protocol import Entry
from privacygauge.synthetic.attacks.attention import TargetAttention
from privacygauge.synthetic.attacks.attention_network import ATTENTION, EMBEDDING, HIDDEN, LAST
from privacygauge.synthetic.attacks.meta import Forest
from privacygauge.synthetic.attacks.query_based import QueryBased
from privacygauge.synthetic.games.setting import Sizes
from privacygauge.synthetic.selection import LogLikelihood, RareValue, Vulnerable

_ALL = "meeus-*"
_QUERIES = "meeus-table2 meeus-fig3a meeus-fig3b meeus-fig4"
_CENSUS = "meeus-table2 meeus-table3 meeus-fig4"
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
    Entry(_ALL, "5.4", "Adult, records", 48_842, COMPLETE,
          "those in which no value is missing, as in the authors' code"),
    Entry(_ALL, "5.4", "Adult, categorical columns, income among them", 9, len(CATEGORICAL) + 1),
    Entry(_ALL, "5.4", "Adult, continuous columns", 6, len(CONTINUOUS)),
    Entry(_CENSUS, "5.4", "census, records", 569_741, CENSUS_ROWS, _PART),
    Entry(_CENSUS, "5.4", "census, categorical columns", 17, CENSUS_COLUMNS),
    Entry(_ALL, "5.2", "records of each selection", 10, TARGETS),
    Entry(_ALL, "5.5", "neighbours", 5, Vulnerable().k),
    Entry(_ALL, "5.2", "rare value, numbers above the quantile", 0.95, 1 - RareValue().tail),
    Entry(_ALL, "5.2", "rare value, share of records with a rare category", None, RareValue().tail,
          f"{_LEFT_OPEN}: as many as have a large number"),
    Entry(_ALL, "5.2", "log-likelihood, intervals of a number", 100, LogLikelihood().n_bins),
    Entry(_ALL, "Table 1", "Adult, records that the adversary knows", 10_000, Sizes().auxiliary),
    Entry(_ALL, "Table 1", "Adult, records behind the tables in question", 5_000, Sizes().held),
    Entry(_CENSUS, "Table 1", "census, records that the adversary knows", 50_000,
          Sizes().auxiliary, _POOL),
    Entry(_CENSUS, "Table 1", "census, records behind the tables in question", 25_000,
          Sizes().held, _POOL),
    Entry(_ALL, "Table 1", "the adversary's tables a record, full form", 4_000, SHADOWS),
    Entry(_ALL, "Table 1", "tables in question a record", 200, TESTS),
    Entry(_ALL, "5.5", "records of a data set and of a table", 1_000, RECORDS),
    Entry(_QUERIES, "5.1", "comparison of numbers", "at most", QueryBased().variant),
    Entry(_QUERIES, "5.5", "queries on Adult", 100_000, min(_ADULT_QUERIES, _ROOM),
          "all there are; the paper's number cannot be drawn of so few without repetition"),
    Entry(_CENSUS, "5.5", "queries on the census, at most", 100_000,
          min(_CENSUS_QUERIES, _ROOM),
          f"of {_CENSUS_QUERIES:,}, by memory; QueryBased(queries=..., cells=...) takes more"),
    Entry(_CENSUS, "5.5", "queries on the census, drawn", "from all alike",
          "equal numbers of each size",
          "rows hardly meet the high orders, of which nearly all are"),
    Entry(_QUERIES, "5.5", "random forest, trees", 100, Forest().trees),
    Entry(_QUERIES, "5.5", "random forest, depth", 10, Forest().depth),
    Entry(_ALL, "5.3", "generators", "reprosyn's", "PrivacyGauge's", _GENERATOR),
    Entry("meeus-table3", "A", "embedding", 20, EMBEDDING),
    Entry("meeus-table3", "A", "hidden units of the embedding", 20, HIDDEN),
    Entry("meeus-table3", "A", "attention", 15, ATTENTION),
    Entry("meeus-table3", "A", "hidden units after the attention", 10, LAST),
    Entry("meeus-table3", "A", "nearest unique rows", 100, TargetAttention().top),
    Entry("meeus-table3", "A", "dropout", 0.15, TargetAttention().training.dropout),
    Entry("meeus-table3", "A", "continuous attributes", "untouched", "scaled to the unit interval",
          "incomes beside one-hot categories drown everything else"),
    Entry("meeus-table3", "A", "distance and multiplicity", "as they are", "logarithms",
          "otherwise a copy of the target hardly differs from its neighbours"),
    Entry("meeus-table3", "algorithm 1, line 11", "query times", "values", "keys",
          "the keys are never used otherwise (see Errata)"),
    Entry("meeus-table3", "A", "optimiser", None, "AdamW", _NETWORK),
    Entry("meeus-table3", "A", "learning rate", None, TargetAttention().training.learning_rate,
          _NETWORK),
    Entry("meeus-table3", "A", "passes, at most", None, TargetAttention().training.epochs,
          _NETWORK),
    Entry("meeus-table3", "A", "networks, averaged", None, TargetAttention().folds,
          "each stops early on tables that it did not learn from"),
    Entry("meeus-fig3a", "6.3", "numbers of neighbours", None, NEIGHBOURS,
          "the text says from 1 to 50"),
    Entry("meeus-fig3b", "6.4", "orders of Minkowski's distance", (1, 2, 3, 4), ORDERS),
    Entry("meeus-fig4", "6.5", "epsilons", None, EPSILONS,
          "the text names 10 and 100 of the figure's"),
)  # fmt: skip
"""All that the paper states of its experiments."""
