"""The settings that Feldman, Frostig and Hardt (2019) state, beside ours."""

from __future__ import annotations

from privacygauge.reproduce.feldman2019 import CLASSES, QUERIES, SIZES
from privacygauge.reproduce.feldman2019_logits import (
    DATA_SETS,
    LEAST_CONFIDENT,
    MODEL,
    POINTS,
    RELATIVE,
    TOPS,
)
from privacygauge.reproduce.feldman2019_logits import QUERIES as LOGIT_QUERIES
from privacygauge.reproduce.feldman2019_plays import TRIALS
from privacygauge.reproduce.feldman2019_queries import CLASSES as SLOPE_CLASSES
from privacygauge.reproduce.feldman2019_queries import POINTS as SLOPE_POINTS
from privacygauge.reproduce.feldman2019_queries import SLOPES
from privacygauge.reproduce.protocol import Entry

_REAL = "feldman-fig1 feldman-fig2"
_IMAGENET = "logits on ImageNet's test set are not available"
_NO_NUMBER = "the text does not name the figure's"

ENTRIES = (
    Entry(_REAL, "5", "test set", paper="ImageNet", ours=tuple(DATA_SETS.values()), why=_IMAGENET),
    Entry(_REAL, "5", "model", paper="ResNet-50v2", ours=MODEL, why=_IMAGENET),
    Entry(_REAL, "5", "points", paper=50_000, ours=POINTS, why=_IMAGENET),
    Entry(_REAL, "5", "classes", paper=1_000, ours=tuple(DATA_SETS), why=_IMAGENET),
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
        ours="the model's labels",
        why="an attacker with a model has these; the scan is the harder to beat",
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
        ours=tuple(SLOPES),
        why="the text names the smallest one only",
    ),
    Entry("feldman-fig4", "5", "classes", paper=None, ours=SLOPE_CLASSES, why=_NO_NUMBER),
    Entry(
        "feldman-fig4",
        "5",
        "queries for a bias",
        paper="counted",
        ours=("by theory, checked by attacks"),
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
"""All that the paper states of its experiments."""
