"""Learners that leave records out exactly, networks, and how models are trained."""

from __future__ import annotations

from privacygauge.claims.dtp.discriminant import LinearDiscriminant, QuadraticDiscriminant
from privacygauge.claims.dtp.least_squares import KernelRidge, LeastSquares
from privacygauge.claims.dtp.logistic import Logistic
from privacygauge.claims.dtp.naive_bayes import (
    BayesInference,
    MultinomialNaiveBayes,
    NaiveBayes,
)
from privacygauge.claims.dtp.nearest import NearestNeighbours
from privacygauge.claims.dtp.random_trees import RandomDecisionTrees
from privacygauge.classifiers.estimators import Training
from privacygauge.classifiers.networks.engines import MLP
from privacygauge.classifiers.networks.task import ImageAugment, views
from privacygauge.classifiers.shadows import train_predictions
from privacygauge.classifiers.trainer import Cohort
from privacygauge.errors import suggest_names
from privacygauge.language.training import train_further, train_reference

__all__ = [
    "MLP",
    "BayesInference",
    "Cohort",
    "ImageAugment",
    "KernelRidge",
    "LeastSquares",
    "LinearDiscriminant",
    "Logistic",
    "MultinomialNaiveBayes",
    "NaiveBayes",
    "NearestNeighbours",
    "QuadraticDiscriminant",
    "RandomDecisionTrees",
    "Training",
    "train_further",
    "train_predictions",
    "train_reference",
    "views",
]

suggest_names(__name__)
