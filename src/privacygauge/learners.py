"""Learners that leave records out exactly, networks, and how models are trained."""

from __future__ import annotations

from privacygauge.classifier.dtp.discriminant import LinearDiscriminant, QuadraticDiscriminant
from privacygauge.classifier.dtp.least_squares import KernelRidge, LeastSquares
from privacygauge.classifier.dtp.logistic import Logistic
from privacygauge.classifier.dtp.naive_bayes import (
    BayesInference,
    MultinomialNaiveBayes,
    NaiveBayes,
)
from privacygauge.classifier.dtp.nearest import NearestNeighbours
from privacygauge.classifier.dtp.random_trees import RandomDecisionTrees
from privacygauge.classifier.estimators import Training
from privacygauge.classifier.networks.augment import ImageAugment, views
from privacygauge.classifier.networks.layers import MLP
from privacygauge.classifier.shadows import train_predictions
from privacygauge.classifier.trainer import Cohort
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
