"""Figures 3, 7 and 8 of Long et al. (2017): how many measurements, and what else moves a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import chdtri

from privacygauge.audits.classifier.candidates import audit_candidates
from privacygauge.classifier.candidates import PerTargetDesign
from privacygauge.classifier.dtp.variation import Variation, variation
from privacygauge.classifier.targeted import Distance
from privacygauge.core import seeds
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.adult import adult, adult_binary
from privacygauge.reproduce.long2017 import NUMBERS, TABLE_2, model_and_candidates, network
from privacygauge.reproduce.table import Cell, Effort, Row, Table, exact

LEVEL = 0.95
"""Of every interval."""

MEASUREMENTS = (1, 2, 5, 10, 20, 50, 100)
"""Over so many training sets PDTP is averaged."""

STEPS = 5_000
"""Of gradient descent for a network on Adult, as many as for its row of Table 2."""

PEOPLE = 10_000
"""Records that a network of Figures 7 and 8 is trained on."""

NETWORKS = 100
"""Networks in each of these figures."""

CLASSES = ("low salary", "high salary")
"""The classes of Adult; Figures 7 and 8 show one individual of each."""

_NOTES_3 = (
    "Location30 stands in for the purchase data. The published number is that of Table 2 for "
    "ten measurements; of the figure the paper says that the correlation is stable from about "
    "ten on.",
    "All rows are about the same records and the same attack, so that they differ by less "
    "than their intervals suggest.",
)
_QUICK_3 = "Quick form: 5 iterations, 20 targets, at most 5 measurements; the paper has 100 each."
_NOTES_7 = (
    "The paper shows histograms and prints no number.",
    "All training sets hold both individuals, so that their own effect is not counted as that "
    "of the others; in the paper they are drawn from everyone.",
    f"Networks are trained for {STEPS:,} steps in batches of 20, as many as in Table 2; the "
    "paper gives neither batches nor steps.",
)
_QUICK_7 = "Quick form: 10 networks on 1,000 records; the paper has 100 on 10,000."


def long_fig3(effort: Effort) -> Table:
    """Return Figure 3: whether more measurements of PDTP tell more about the attack."""
    learner, x, y = model_and_candidates("NB-Purchase", effort.seed)
    found = audit_candidates(
        learner,
        x,
        y,
        iterations=5 if effort.quick else 100,
        n_targets=20 if effort.quick else 100,
        measurements=5 if effort.quick else 100,
        design=PerTargetDesign(),
        attacks=(Distance(design="per-target"),),
        run=None if effort.run is None else effort.run / "NB-Purchase",
        n_jobs=effort.n_jobs,
        progress=effort.progress,
        seed=effort.seed,
        level=LEVEL,
    )
    ((_, accuracy),) = found.per_target.items()
    assert found.measured is not None
    rows = []
    for number in MEASUREMENTS[: np.searchsorted(MEASUREMENTS, len(found.measured), "right")]:
        correlation = accuracy.correlation_with(found.measured[:number].mean(axis=0), LEVEL)
        # The text gives no number for the figure; Table 2 has the one for ten measurements.
        published = TABLE_2["NB-Purchase"].correlation if number == 10 else None
        ours = correlation if isinstance(correlation, Skipped) else correlation.estimate
        rows.append(Row(f"mean of {number}", {"correlation": Cell(published, ours)}))
    return Table(
        "long-fig3", "Long et al. (2017), Figure 3", tuple(rows), effort.noted(_NOTES_3, _QUICK_3)
    )


def long_fig7(effort: Effort) -> Table:
    """Return Figure 7: how far initial weights move a prediction."""
    return _variation_table("long-fig7", "Figure 7", lambda one: one.initialisation, effort)


def long_fig8(effort: Effort) -> Table:
    """Return Figure 8: how far the other records move a prediction."""
    return _variation_table("long-fig8", "Figure 8", lambda one: one.sampling, effort)


def _variation_table(
    name: str, figure: str, chosen: Callable[[Variation], Floats], effort: Effort
) -> Table:
    rows = tuple(
        Row(CLASSES[one.label], variation_cells(one, chosen(one)))
        for one in _varied_networks(effort)
    )
    return Table(name, f"Long et al. (2017), {figure}", rows, effort.noted(_NOTES_7, _QUICK_7))


def variation_cells(one: Variation, others: Floats) -> dict[str, Cell]:
    """Return a record's own effect beside how far something else moves its prediction.

    Parameters
    ----------
    one : Variation
    others : ndarray of float, shape (m,)
        Predictions by models that differ in something else.
    """
    spread = deviation(others)
    pair = "one pair of trainings with the same random draws"
    return {
        "prediction": Cell(None, exact(one.with_it, 1, "one training")),
        "deviation": Cell(None, spread),
        "own effect": Cell(None, exact(one.own, 1, pair)),
        "own effect in deviations": Cell(None, _in_deviations(one.own, spread)),
    }


def _varied_networks(effort: Effort) -> tuple[Variation, ...]:
    from privacygauge.classifier.networks import Networks

    size, n_models = (1_000, 10) if effort.quick else (PEOPLE, NETWORKS)
    x, y = adult_binary(adult(), NUMBERS)
    rng = seeds.stream(effort.seed, "reproduce", "individuals")
    people = np.array([rng.choice(np.flatnonzero(y == label)) for label in (0, 1)])
    trainer = network("Adult")
    assert isinstance(trainer, Networks)
    batches = -(-size // trainer.batch_size)
    return variation(
        replace(trainer, epochs=max(1, STEPS // batches)),
        x,
        y,
        people,
        size=size,
        n_models=n_models,
        seed=effort.seed,
        # Figures 7 and 8 are about the same networks.
        run=effort.shared(f"long-networks-{n_models}-seed-{effort.seed}"),
        n_jobs=effort.n_jobs,
        progress=effort.progress,
    )


def deviation(values: Floats, level: float = LEVEL) -> Estimate:
    """Return the standard deviation of independent values, with the interval for normal ones.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        At least two.
    level : float
        In (0, 1).
    """
    n = len(values)
    value = float(np.std(values, ddof=1))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    low, high = value * np.sqrt((n - 1) / chdtri(n - 1, tails))
    return Estimate(
        value=value,
        low=low,
        high=high,
        level=level,
        n=n,
        method="chi-square of normal values, over models",
    )


def _in_deviations(own: float, spread: Estimate) -> Estimate:
    ends = own / spread.high, own / spread.low
    return Estimate(own / spread.value, *ends, spread.level, spread.n, spread.method)
