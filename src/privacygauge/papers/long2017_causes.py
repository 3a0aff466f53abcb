"""Adult in Table 2 of Long et al. (2017), with other choices where the paper states none."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.audit.candidates import CandidateAudit, audit_candidates
from privacygauge.classifiers.candidates import PerTargetDesign
from privacygauge.classifiers.targeted import Distance
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.rates import mean
from privacygauge.papers.long2017 import (
    LEVEL,
    TABLE_2,
    cells_of_table_2,
    model_and_candidates,
    sizes,
)
from privacygauge.papers.table import Cell, Effort, Row, Table, exact, part_of

EPOCHS = 10
"""Epochs of the network that learns from single records: its accuracies are then the paper's."""

DRAWS = 10
"""Draws of the candidates on which naive Bayes is attacked."""

SIZES = (20, 40, 5)
"""Iterations, attacked records and measurements of PDTP: a smaller game than the table's."""

QUICK = (4, 8, 1)
"""The same in the quick form, which has two draws of the candidates."""

STEPS = 200
"""Most steps of boosting."""

PATIENCE = 50
"""Steps without a smaller error after which boosting stops, as in Weka."""

FOLDS = 5
"""Parts of the training set that choose the number of steps, as in Weka."""

_MOST_RESPONSE = 3.0
"""Largest working response of boosting, as in Friedman et al. (2000)."""


@dataclass(frozen=True, eq=False)
class OwnStart:
    """A trainer whose models have initial weights and an order of batches of their own.

    Two models on sets that differ in one record then share nothing that is random, as where nobody
    fixes a seed.
    """

    trainer: Trainer
    """Trainer of the models."""

    @property
    def name(self) -> str:
        """Name of the kind of model."""
        return self.trainer.name

    @property
    def logits(self) -> bool:
        """Whether `train` returns logits."""
        return self.trainer.logits

    def describe(self) -> Mapping[str, Any]:
        """Return the settings of the trainer, and that the start depends on the training set."""
        return {**self.trainer.describe(), "start": "by training set"}

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the predictions of models whose seeds are mixed with their training sets."""
        own = [
            (seed + zlib.crc32(np.packbits(inside).tobytes())) % 2**31
            for seed, inside in zip(cohort.seeds, np.asarray(cohort.inside), strict=True)
        ]
        return self.trainer.train(replace(cohort, seeds=own))


class BoostedLogistic:
    """Logistic regression for two classes, boosted on single attributes.

    In each step the attribute that explains the working response best enters by least squares, so
    that its coefficient grows; cross-validation chooses the number of steps.

    Notes
    -----
    LogitBoost (Friedman, Hastie and Tibshirani 2000, algorithm 3) with the stopping rule of
    logistic model trees (Landwehr, Hall and Frank 2005), which Long et al. take from Weka: a tree
    of these with a single leaf.
    """

    def fit(self, x: Floats, y: Ints) -> BoostedLogistic:
        """Choose the number of steps by cross-validation, then fit to all records."""
        # Always the same folds by position, as in Weka: no further randomness.
        order = np.random.default_rng(1).permutation(len(y))
        wrong = np.zeros(STEPS)
        reached = STEPS
        for fold in range(FOLDS):
            judged = np.zeros(len(y), np.bool_)
            judged[order[fold::FOLDS]] = True
            errors = _boost(x, y, STEPS, judged)[1]
            reached = min(reached, len(errors))
            wrong[: len(errors)] += errors
        self.coefficients_ = _boost(x, y, int(wrong[:reached].argmin()) + 1)[0]
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, x: Floats) -> Floats:
        """Return the probabilities of both classes, (n, 2)."""
        score = self.coefficients_[0] + x @ self.coefficients_[1:]
        one = 1 / (1 + np.exp(-2 * score))
        return np.column_stack([1 - one, one])


def boosted_logistic(random_state: int) -> BoostedLogistic:
    """Return an untrained regression; nothing in it is random."""
    return BoostedLogistic()


def _boost(
    x: Floats, y: Ints, steps: int, judged: Bools | None = None
) -> tuple[Floats, list[float]]:
    """Return intercept and coefficients of the half log-odds, and the errors on judged records.

    Records that are judged are not learnt from.
    """
    learnt = np.ones(len(y), np.bool_) if judged is None else ~judged
    own = x[learnt]
    squares = own * own
    coefficients = np.zeros(x.shape[1] + 1)
    score = np.zeros(len(y))
    errors: list[float] = []
    for _ in range(steps):
        p = 1 / (1 + np.exp(-2 * score[learnt]))
        # 1 / p of a record of class 1 and -1 / (1 - p) of another, cut off; with weights that keep
        # their product, y - p, the end is still that of maximum likelihood.
        response = np.clip(1 / (p - 1 + y[learnt]), -_MOST_RESPONSE, _MOST_RESPONSE)
        weight = (y[learnt] - p) / response
        # Weighted least squares on every attribute by itself.
        total = weight.sum()
        first = weight @ own
        spread = weight @ squares - first * first / total
        shared = (weight * response) @ own - (weight @ response) * first / total
        slope = np.divide(shared, spread, out=np.zeros_like(shared), where=spread > 1e-9)
        best = int((slope * shared).argmax())
        intercept = (weight @ response - slope[best] * first[best]) / total
        # Half a step: the two classes' scores are each other's negatives.
        coefficients[0] += 0.5 * intercept
        coefficients[1 + best] += 0.5 * slope[best]
        score += 0.5 * (intercept + slope[best] * x[:, best])
        if judged is None:
            continue
        errors.append(float(np.mean((score[judged] > 0) != y[judged])))
        if len(errors) - 1 - int(np.argmin(errors)) >= PATIENCE:
            break
    return coefficients, errors


def long_table2_causes(effort: Effort) -> Table:
    """Return the rows of Adult with other choices where the paper states none.

    The quick form attacks eight records in four iterations, has two draws of the candidates, and
    leaves out the networks.
    """
    network, *_ = model_and_candidates("NN-Adult", effort.seed)
    assert isinstance(network, Trainer)
    single = replace(network, epochs=EPOCHS, batch_size=1)  # type: ignore[type-var]
    ways: Mapping[str, tuple[str, object]] = {
        "NN-Adult, single records a step": ("NN-Adult", single),
        "NN-Adult, single records a step, own start": ("NN-Adult", OwnStart(single)),
        "LR-Adult, boosted": ("LR-Adult", boosted_logistic),
    }
    if effort.quick:
        # Steps of single records take minutes even for eight of them.
        ways = {label: way for label, way in ways.items() if label.startswith("LR")}
    parts = len(ways) + 1
    rows = [
        Row(
            label,
            cells_of_table_2(_attack(of, model, effort, number=number, parts=parts), TABLE_2[of]),
        )
        for number, (label, (of, model)) in enumerate(ways.items())
    ]
    draws = 2 if effort.quick else DRAWS
    paper = TABLE_2["NB-Adult"]
    found: dict[str, list[float]] = {}
    printed: dict[str, float | None] = {}
    for draw in range(draws):
        played = _attack(
            "NB-Adult",
            None,
            effort,
            number=parts - 1,
            parts=parts,
            seed=effort.seed + draw,
        )
        for column, cell in cells_of_table_2(played, paper).items():
            printed[column] = cell.published
            if isinstance(cell.ours, Estimate):
                found.setdefault(column, []).append(cell.ours.value)
    # All but PDTP and correlations are rates.
    ends = {"mean PDTP": (0.0, np.inf), "correlation": (-1.0, 1.0)}
    middle = {}
    lowest = {}
    highest = {}
    for column, given in found.items():
        values = np.array(given)
        least, most = ends.get(column, (0.0, 1.0))
        over_draws = mean(values, LEVEL, unit="draws", least=least, most=most)
        middle[column] = Cell(printed[column], over_draws)
        # The extremes stand beside the mean: no number of the paper is meant to be one.
        lowest[column] = Cell(None, exact(values.min(), draws, "lowest draw"))
        highest[column] = Cell(None, exact(values.max(), draws, "highest draw"))
    rows += [
        Row(f"NB-Adult, mean of {draws} draws", middle),
        Row("NB-Adult, lowest draw", lowest),
        Row("NB-Adult, highest draw", highest),
    ]
    iterations, n_targets, measurements = QUICK if effort.quick else SIZES
    full = sizes(replace(effort, quick=False, share=1.0), QUICK)
    return Table(
        "long-table2-causes",
        "Long et al. (2017), Table 2, Adult",
        tuple(rows),
        (
            "Table 2's rows of Adult are made again with what the paper does not state chosen "
            "otherwise; the printed numbers stand beside them.",
            f"{'Quick form: ' if effort.quick else ''}{iterations} iterations, {n_targets} "
            f"targets, PDTP from {measurements} of them; Table 2 has {full[0]}, {full[1]} and "
            f"{full[2]}.",
            f"Single records a step: {EPOCHS} epochs, after which the accuracies are the paper's. "
            "Own start: the model without the record has other initial weights and another order.",
            "Boosted: a logistic model tree with a single leaf, whose number of steps is chosen by "
            f"{FOLDS} folds of the training set.",
            "Draws: other candidates and other attacked records, naive Bayes as in Table 2.",
        ),
    )


def _attack(
    label: str, model: object, effort: Effort, *, number: int, parts: int, seed: int | None = None
) -> CandidateAudit:
    chosen = effort.seed if seed is None else seed
    usual, x, y = model_and_candidates(label, chosen)
    iterations, n_targets, measurements = QUICK if effort.quick else SIZES
    run = effort.shared(f"long-table2-causes-seed-{effort.seed}")
    return audit_candidates(
        usual if model is None else model,
        x,
        y,
        iterations=iterations,
        n_targets=n_targets,
        measurements=measurements,
        design=PerTargetDesign(),
        attacks=(Distance(design="per-target"),),
        run=None if run is None else run / f"{number}-{chosen}",
        n_jobs=effort.n_jobs,
        progress=part_of(effort, min(number, parts - 1), parts),
        seed=chosen,
    )
