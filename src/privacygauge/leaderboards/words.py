"""Words and numbers shared by the bound on a test set's bias and the attacks on the test set.

Biases are shown in points: percentage points of accuracy.
"""

from __future__ import annotations

import math

from privacygauge.core.estimate import Estimate
from privacygauge.report.numbers import Shown, decimal, rate

SCORES = (
    "All of this is about one accuracy per submission. Log-loss, and scores class by class, give "
    "away far more: a single log-loss can hold many labels, so none of these numbers covers them."
)
"""Scope of an audit of accuracies, for owners of contests with another metric."""

OF_METRIC = (
    "All of this is about one score per submission. Scores class by class give away far more, and "
    "an attacker with a model of the data starts with more: none of these numbers covers them."
)
"""Scope of an audit by a metric other than accuracy."""

SOURCES = (
    "Feldman, Frostig and Hardt, The Advantages of Multiple Classes for Reducing Overfitting from "
    "Test Set Reuse (2019); Blum and Hardt, The Ladder (2015)."
)
"""Sources of the formulas."""

LAST = "Rank by a second test set at the end, which no submission was ever scored on."
"""Advice for every finding."""

LIMIT = (
    "Limit the submissions of all accounts together: a limit per account falls to many accounts."
)
"""Advice if attacks gain."""


def points(bias: float) -> str:
    """Return a bias in percentage points, with more digits the smaller it is.

    Examples
    --------
    >>> points(0.1783), points(0.0066), points(0.0002)
    ('17.8', '0.66', '0.020')
    """
    return decimal(100 * bias, places(bias))


def places(bias: float) -> int:
    """Return the number of decimals for a bias in percentage points."""
    size = abs(bias)
    if size >= 0.02 or size < 1e-6:
        return 1
    return 2 if size >= 0.001 else 3


def points_estimate(bias: Estimate) -> Shown:
    """Return an estimated bias in percentage points; without its interval if that is infinite.

    Examples
    --------
    >>> from privacygauge.core.estimate import Estimate
    >>> str(points_estimate(Estimate(0.178, 0.174, 0.182, 0.95, 10, "example")))
    '17.8 (17.4 to 18.2)'
    """
    # An infinite end must not decide the decimals.
    ends = (abs(bias.value), abs(bias.high))
    decimals = places(max(ends, key=lambda end: end if math.isfinite(end) else -1.0))
    value, low, high = (decimal(100 * x, decimals) for x in (bias.value, bias.low, bias.high))
    return Shown(value, low, high) if math.isfinite(bias.low) else Shown(value)


def guarantee_text(bias: float, most: float) -> str:
    """Return the gain that no attack exceeds, in points; "no limit" if it is the whole scale.

    Examples
    --------
    >>> guarantee_text(0.1, 0.5), guarantee_text(0.5, 0.5)
    ('10.0', 'no limit')
    """
    return points(bias) if is_limiting(bias, most) else "no limit"


def is_limiting(bias: float, most: float) -> bool:
    """Return whether a guarantee is below the largest possible gain, `most`."""
    return bias < most - 1e-12


def holdout_terms(level: float) -> dict[str, str]:
    """Return the page's terms with their explanations."""
    return {
        "Test set, example, label": "Examples whose true classes are hidden, one of them, and its "
        "class.",
        "Submission, query": "Labels for all examples, sent in to be scored.",
        "Accuracy": "The share of the examples that a submission has right. A guess has 1/m with m "
        "classes.",
        "Bias": "How much better a submission looks on this test set than it is on new data. An "
        "attack's answer is worth a guess on new data, so all it gains is bias.",
        "Point": "A percentage point of accuracy: from 50% to 51% is one.",
        "Guard": "What stands between the accuracy and whoever submits: rounding, noise, or a "
        "Ladder, which shows a score only when it is clearly better than the best so far.",
        "Naive Bayes (NB)": "Submits random labels, and then takes for every example the label "
        "that the scores make most likely.",
        "Majority": "The same with one vote per query: for its labels where it beat a guess, "
        "against them where not.",
        "Linear scan": "Changes one label at a time and watches the score.",
        "Honest, best of k": "Nobody attacks, but the best of many scores is chosen; luck is "
        "chosen along with it.",
        "Guarantee": "A bias that no attack exceeds, however clever, by somebody who knew nothing "
        "of the labels before, with the probability that is stated. It counts what the answers can "
        "tell at most.",
        "Interval": f"The range that the true number lies in, in {rate(level)} of repetitions.",
    }
