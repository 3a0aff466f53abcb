"""Which share of a data set a model was trained on: for its owner, who can ask the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from privacygauge.classifiers.held import RecordNumbers
from privacygauge.classifiers.shadows import random_states, train_all
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.scores.training import LOSS, UserTraining, numbers_of

_FEWEST = 8
"""Fewest shadow models: the interval rests on their errors."""

_LEAST_GAP = 0.02
"""Smallest difference of the rates of guesses inside and outside that shows a share at all."""

_LEAST_SPREAD = 0.1
"""Smallest variance of guesses at a share, as a part of that of fair coins."""

_LEAST_SCALE = 1.0
"""Smallest variance of guesses as a part of that of draws: models that happen to vary less among
each other do not show that the target does."""

_TINY = 1e-12

_PERMUTATIONS = 1_999


@dataclass(frozen=True, eq=False)
class TrainingShare:
    """The share of a data set that a model was trained on, and whether any of it was."""

    share: Estimate | Skipped
    """Share of the owner's records, without the placebo, in the model's training set; in [0, 1]."""
    p_value: float | Skipped
    """P-value of "none of these records was used", against records that surely were not."""
    rates: tuple[float, float]
    """Shares of weighted guesses "used", outside and inside a training set."""
    n_shadows: int
    """Shadow models behind the interval."""

    def summary(self) -> str:
        """Return one or two lines."""
        if isinstance(self.share, Skipped):
            told = f"No share can be told: {self.share.reason}."
        else:
            told = (
                f"{self.share.value:.0%} of the records were used "
                f"({self.share.level:.0%} interval: {self.share.low:.0%} to {self.share.high:.0%}, "
                f"{self.share.n:,} records, {self.n_shadows} shadow models)."
            )
        if isinstance(self.p_value, Skipped):
            return f"{told}\nNo p-value: {self.p_value.reason}."
        return f'{told}\nP-value of "none was used": {self.p_value:.2g}.'


def training_share(
    train: Callable[[Ints, int], Any],
    loss: Callable[[Any, Ints], Any],
    n: int,
    target: Any,
    *,
    placebo: ArrayLike | None = None,
    n_shadows: int = 24,
    level: float = 0.95,
    seed: int = 0,
) -> TrainingShare:
    """Return which share of a data set a model was trained on, with an interval.

    Parameters
    ----------
    train : callable
        Takes numbers of the owner's records, perhaps none, and a random state; returns a model
        trained on these and on data like the rest of the target's.
    loss : callable
        Takes a model and numbers of records; returns a loss for each, lower for what the model was
        trained on.
    n : int
        Number of the owner's records, the placebo's among them.
    target : object
        The model in question, as `loss` takes it.
    placebo : array_like of bool, shape (n,), optional
        True for records that surely were not used, though they are like the others: written after
        the model, or never given away. No p-value without them.
    n_shadows : int
        Number of shadow models, at least 8. Their shares are spread evenly over [0, 1].
    level : float
        Level of the interval, in (0, 1).
    seed : int
        Seed of all draws, at least 0.

    Returns
    -------
    TrainingShare

    Notes
    -----
    A record is guessed "used" if its loss is below the middle between the mean losses of shadow
    models with it and without it; the target's losses are shifted first so that those of the
    placebo agree with the shadow models'. Guesses are weighted by the difference of these means:
    records that all models answer alike say nothing. The share of guesses, less the rate of false
    ones and divided by the difference of both rates, estimates the share of use (DUCI, Tong et al.
    2025, without weights).
    Each shadow model is played as the target of the others, its share being known: their guesses
    give the slope and the bias. For the interval all of it is repeated without each of them, and
    how far each is from the line of the others is the error of one more model. So it holds for the
    whole model, not for records taken as independent; that errors are larger at some shares than at
    others is taken from the rates of guesses.

    The p-value compares the losses of the owner's records, less those of models without them, with
    the placebo's: by a permutation of records, and by the same difference in the shadow models,
    which shows what a model does that was not trained on them. The larger of both counts, so that
    a placebo which is unlike the records shows nothing.

    Examples
    --------
    >>> data = np.random.default_rng(0).normal(size=(300, 4))
    >>> def train(rows, seed):
    ...     others = np.random.default_rng(seed).normal(size=(300, 4))
    ...     return np.concatenate([others, data[rows]])
    >>> def loss(model, rows):
    ...     return np.sqrt(np.abs(data[rows, None] - model[None]).sum(axis=2).min(axis=1))
    >>> placebo = np.arange(300) >= 200
    >>> found = training_share(train, loss, 300, train(np.arange(50), 99), placebo=placebo)
    >>> found.share.low <= 0.25 <= found.share.high, found.p_value < 0.05
    (True, True)
    """
    checks.at_least(_FEWEST, n_shadows=n_shadows)
    checks.at_least(4, n=n)
    checks.level(level)
    seeds.non_negative(seed)
    spare = np.zeros(n, np.bool_) if placebo is None else checks.bools(placebo, "placebo", length=n)
    mine = np.flatnonzero(~spare)
    if len(mine) < 2:
        raise InputError(f"at least 2 records beside the placebo are needed, got {len(mine)}")
    trainer = UserTraining(train, loss, (LOSS,))
    rng = seeds.stream(seed, "share", "coins")
    # Shares are spread evenly, in a random order that goes with no model's random state.
    shares = rng.permutation((np.arange(n_shadows) + 0.5) / n_shadows)
    inside = (rng.random((n_shadows, n)) < shares[:, None]) & ~spare
    cohort = Cohort(
        x=RecordNumbers(np.arange(n)),
        y=np.arange(n),
        inside=inside,
        seeds=random_states(seed, n_shadows),
        n_classes=1,
        asked=np.arange(n),
    )
    with kept_or_scratch(None) as folder:
        losses = train_all(trainer, cohort, seed=seed, run=folder)[..., 0]
    said = numbers_of(loss(target, np.arange(n)), (LOSS,), n, "loss")[:, 0]
    return share_of_losses(said, losses, inside, spare, level=level, seed=seed)


def share_of_losses(
    target: Floats,
    shadows: Floats,
    inside: Bools,
    placebo: Bools,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> TrainingShare:
    """Return the share from losses: of the target, (n,), and of shadow models, (k, n)."""
    if not np.isfinite(target).all() or not np.isfinite(shadows).all():
        raise InputError("losses must be finite")
    k = len(shadows)
    mine = ~placebo
    held = inside[:, mine]
    guesses = np.empty(held.shape, np.bool_)
    weights = np.empty(held.shape)
    beyond = np.empty(shadows.shape)
    # What each model says where another is the target, and on the diagonal as the target itself.
    said = np.empty((k, k))
    for j in range(k):
        others = np.arange(k) != j
        guesses[j], weights[j], beyond[j] = _guesses(
            shadows[j], shadows[others], inside[others], placebo
        )
        said[j, j] = weights[j] @ guesses[j]
        for i in np.flatnonzero(others[:j]):
            rest = others & (np.arange(k) != i)
            for played, target_of in ((i, j), (j, i)):
                guess, weight, _ = _guesses(shadows[played], shadows[rest], inside[rest], placebo)
                said[target_of, played] = weight @ guess
    own, own_weights, excess = _guesses(target, shadows, inside, placebo)
    outside, within = (
        float((weights * guesses)[side].sum() / max(weights[side].sum(), _TINY))
        for side in (~held, held)
    )
    rates = (outside, within)
    share: Estimate | Skipped
    if within - outside < _LEAST_GAP:
        share = Skipped("share", "shadow models answer alike whether or not a record was used")
    else:
        share = _inverse_prediction(
            float(own_weights @ own),
            said=said,
            true=held.mean(axis=1),
            rates=rates,
            squares=float(np.mean(np.sum(weights**2, axis=1))),
            n=len(own),
            level=level,
        )
    p_value: float | Skipped = Skipped("p-value", "needs a placebo of at least 2 records")
    if placebo.sum() >= 2:
        gaps = np.array([
            row[placebo].mean() - row[mine & ~used].mean()
            for row, used in zip(beyond, inside, strict=True)
            if (mine & ~used).any()
        ])  # fmt: skip
        found = float(excess[placebo].mean() - excess[mine].mean())
        spread = float(gaps.std(ddof=1)) * np.sqrt(1 + 1 / len(gaps))
        if spread > _TINY * float(np.abs(shadows).max()):
            among_models = float(student.sf((found - gaps.mean()) / spread, len(gaps) - 1))
            rng = seeds.stream(seed, "share", "permutations")
            drawn = rng.permuted(np.tile(excess, (_PERMUTATIONS, 1)), axis=1)
            null = drawn[:, placebo].mean(axis=1) - drawn[:, mine].mean(axis=1)
            among_records = (1 + int(np.count_nonzero(null >= found))) / (1 + _PERMUTATIONS)
            p_value = max(among_models, among_records)
        else:
            p_value = Skipped("p-value", "losses do not depend on the records that a model had")
    return TrainingShare(share, p_value, rates, k)


def _guesses(
    losses: Floats, shadows: Floats, inside: Bools, placebo: Bools
) -> tuple[Bools, Floats, Floats]:
    """Return guesses about the owner's records, their weights, and all losses beyond the usual.

    Weights have the sum 1 and go by how far apart the mean losses with and without a record are.
    The usual loss is the mean of models without the record.
    """
    n_in = inside.sum(axis=0)
    n_out = len(shadows) - n_in
    mean_in, mean_out = (
        np.sum(shadows, axis=0, where=side) / np.maximum(count, 1)
        for side, count in ((inside, n_in), (~inside, n_out))
    )
    both = (n_in > 0) & (n_out > 0)
    # Records that all models have, or none, differ as others do.
    usual = float(np.median((mean_out - mean_in)[both])) if both.any() else 0.0
    mean_out = np.where(n_out > 0, mean_out, mean_in + usual)
    mean_in = np.where(n_in > 0, mean_in, mean_out - usual)
    shift = float(np.median((losses - mean_out)[placebo])) if placebo.any() else 0.0
    guess = losses - shift < (mean_in + mean_out) / 2
    weight = np.maximum(mean_out - mean_in, 0)[~placebo]
    weight = weight / weight.sum() if weight.any() else np.full(len(weight), 1 / len(weight))
    return guess[~placebo], weight, losses - mean_out


def _inverse_prediction(
    found: float,
    *,
    said: Floats,
    true: Floats,
    rates: tuple[float, float],
    squares: float,
    n: int,
    level: float,
) -> Estimate:
    """Return the share by inverse prediction from the shadow models' shares of guesses.

    The regression of guesses on shares is inverted: the interval holds all shares whose prediction
    interval contains the target's guesses.
    """
    k = len(true)

    def spread(share: Floats) -> Floats:
        """Return the variance of guesses at a share if each were drawn with its rate."""
        outside, inside = (rate * (1 - rate) for rate in rates)
        # Weights of the records that are used differ from their number.
        uneven = max(squares - 1 / n, 0) * share * (1 - share) * (rates[1] - rates[0]) ** 2
        drawn = squares * ((1 - share) * outside + share * inside) + uneven
        return np.asarray(np.maximum(drawn, _LEAST_SPREAD * squares / 4))

    def line(guesses: Floats, shares: Floats) -> tuple[Floats, Floats]:
        """Return the coefficients of a weighted regression and their covariance per unit."""
        design = np.column_stack([np.ones(len(shares)), shares])
        per_unit = np.linalg.inv((design.T / spread(shares)) @ design)
        return per_unit @ (design.T / spread(shares)) @ guesses, np.asarray(per_unit, np.float64)

    def predicted(fitted: tuple[Floats, Floats], shares: Floats) -> tuple[Floats, Floats]:
        """Return the guesses that a line predicts at shares, and their variance per unit."""
        design = np.column_stack([np.ones(len(shares)), shares])
        return design @ fitted[0], spread(shares) + np.sum((design @ fitted[1]) * design, axis=1)

    # Errors of lines that do not know the model, nor does what the others of a line are held to:
    # those of the models on the line are too small.
    errors = []
    for j in range(k):
        others = np.arange(k) != j
        expected, variance = predicted(line(said[j, others], true[others]), true[[j]])
        errors.append(float((said[j, j] - expected[0]) ** 2 / variance[0]))
    # A few shadow models may agree by chance.
    scale = max(float(np.mean(errors)), _LEAST_SCALE)
    fitted = line(np.diag(said), true)
    grid = np.linspace(0, 1, 1_001)
    expected, variance = predicted(fitted, grid)
    leeway = float(student.ppf((1 + level) / 2, k - 2)) * np.sqrt(scale * variance)
    held = grid[np.abs(found - expected) <= leeway]
    intercept, slope = (float(x) for x in fitted[0])
    value = float(np.clip((found - intercept) / slope, 0, 1)) if slope > 0 else float(true.mean())
    if not len(held):
        # A target beyond all shares: those as far from the nearest end as one model's error goes.
        reach = leeway[round(1_000 * value)] / abs(slope) if slope else 1.0
        held = grid[np.abs(grid - value) <= reach]
    return Estimate(
        value=value,
        low=min(float(held[0]), value),
        high=max(float(held[-1]), value),
        level=level,
        n=n,
        method=f"inverse prediction from {k} shadow models",
    )
