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
    Entry(_REAL, "5", "test set", "ImageNet", tuple(DATA_SETS.values()), _IMAGENET),
    Entry(_REAL, "5", "model", "ResNet-50v2", MODEL, _IMAGENET),
    Entry(_REAL, "5", "points", 50_000, POINTS, _IMAGENET),
    Entry(_REAL, "5", "classes", 1_000, tuple(DATA_SETS), _IMAGENET),
    Entry(_REAL, "5", "least confident points", 10_000, LEAST_CONFIDENT,
          "a fifth of the points, as in the paper"),
    Entry(_REAL, "5", "top labels R", None, TOPS, "the text names 2, 4 and 10"),
    Entry(_REAL, "5", "queries", 5_200, LOGIT_QUERIES[-1]),
    Entry(_REAL, "5", "queries a point that the published gains stand beside", 0.104,
          RELATIVE / POINTS),
    Entry(_REAL, "5", "prior", "the model's softmax", "the model's softmax"),
    Entry(_REAL, "5", "what the points outside of the attack contribute", None,
          "the mean of the answers", "the attacker is not told it"),
    Entry("feldman-fig2", "5", "linear scan, first query", "random", "the model's labels",
          "an attacker with a model has these; the scan is the harder to beat"),
    Entry("feldman-fig1 feldman-fig2 feldman-fig3 feldman-fig5", "5", "trials", 10, TRIALS),
    Entry("feldman-fig3 feldman-fig5", "5", "points", (10_000, 50_000), SIZES),
    Entry("feldman-fig3", "5", "classes", None, CLASSES, _NO_NUMBER),
    Entry("feldman-fig3 feldman-fig5", "5", "queries", None, QUERIES, _NO_NUMBER),
    Entry("feldman-fig4", "5", "points", 100_000, SLOPE_POINTS),
    Entry("feldman-fig4", "5", "biases", None, tuple(SLOPES),
          "the text names the smallest one only"),
    Entry("feldman-fig4", "5", "classes", None, SLOPE_CLASSES, _NO_NUMBER),
    Entry("feldman-fig4", "5", "queries for a bias", "counted", "by theory, checked by attacks",
          "attacks with the number that theory gives tell how many more or fewer it takes"),
    Entry("feldman-fig5", "5", "attack of Blum and Hardt", "plus and minus one",
          "plus and minus one, and dropping",
          "the original leaves out queries that are worse than a guess; both are made"),
)  # fmt: skip
"""All that the paper states of its experiments."""
