"""Reconstruction of training records from the update that they gave to a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, softmax

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import proportion

if TYPE_CHECKING:
    import pandas as pd

Gradient = tuple[Sequence[ArrayLike], Sequence[ArrayLike]]
"""Gradient of the mean loss of a batch: of the weights and of the biases, layer by layer."""

_ACTIVATIONS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "identity": (lambda z: z, np.ones_like),
    "logistic": (expit, lambda a: a * (1 - a)),
    "relu": (lambda z: np.maximum(z, 0.0), lambda a: (a > 0).astype(np.float64)),
    "tanh": (np.tanh, lambda a: 1 - a**2),
}
"""Name to the function of a hidden layer and its slope, given what the function returned."""

_SILENT = 1e-9
"""Gradient of a bias, as a part of the largest, below which a neuron says nothing."""

_SAME = 1e-6
"""Relative difference below which two rows are one."""

_MIXTURE = 0.5
"""Share of values beyond the range of their columns from which on a row is nobody's."""

_POOL = 1_000
"""Most records from which columns are guessed, and the network's mean answer."""


@dataclass(frozen=True, eq=False)
class DenseNetwork:
    """A classifier of fully connected layers with biases, trained on the cross-entropy.

    Without a hidden layer it is a logistic regression. The last layer is a softmax over k columns,
    or one column for the second of two classes.
    """

    weights: tuple[Floats, ...]
    """Weights of each layer, (inputs, outputs): the transpose of PyTorch's."""
    biases: tuple[Floats, ...]
    """Biases of each layer, (outputs,)."""
    activation: str = "relu"
    """Function of the hidden layers: relu, tanh, logistic or identity."""

    def __post_init__(self) -> None:
        if self.activation not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            raise InputError(f"activation must be one of {known}, got {self.activation!r}")
        weights, biases = _layers((self.weights, self.biases))
        for number, (one, following) in enumerate(pairwise(weights), 1):
            if one.shape[1] != len(following):
                raise InputError(
                    f"layer {number} has {one.shape[1]} outputs and the next one "
                    f"{len(following)} inputs: weights have the shape (inputs, outputs)"
                )
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "biases", biases)

    @classmethod
    def of(cls, model: Any) -> DenseNetwork:
        """Return the network in a fitted MLPClassifier or LogisticRegression, as it is now.

        Parameters
        ----------
        model : object
            A classifier of scikit-learn with ``coefs_`` and ``intercepts_``, or with ``coef_``,
            ``intercept_`` and a softmax over its classes.

        Returns
        -------
        DenseNetwork
            A copy: further training of the model does not change it.

        Raises
        ------
        InputError
            If the model is neither, or not fitted.
        """
        if hasattr(model, "coefs_") and hasattr(model, "predict_proba"):
            if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
                raise InputError("the model answers with several labels: one class is needed")
            return cls(tuple(model.coefs_), tuple(model.intercepts_), model.activation)
        if hasattr(model, "coef_") and hasattr(model, "predict_proba"):
            outputs = len(model.coef_)
            return cls((model.coef_.T,), (np.broadcast_to(model.intercept_, outputs),))
        raise InputError(
            "the model must be a fitted MLPClassifier or LogisticRegression, got "
            f"{type(model).__name__}: give weights and biases of other networks as arrays"
        )

    @property
    def n_classes(self) -> int:
        """Number of classes, at least 2."""
        return max(2, len(self.biases[-1]))

    def predict_proba(self, x: ArrayLike) -> Floats:
        """Return the probability of each class, (n, k), for inputs (n, d)."""
        logits = self._outputs(np.asarray(x, np.float64))[-1]
        if logits.shape[1] == 1:
            return np.hstack([expit(-logits), expit(logits)])
        return np.asarray(softmax(logits, axis=1))

    def gradient(
        self, x: ArrayLike, y: ArrayLike, *, clip: float | None = None
    ) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """Return the gradient of the mean cross-entropy of a batch, of weights and of biases.

        Parameters
        ----------
        x : array_like, shape (b, d)
            Inputs of the batch.
        y : array_like of int, shape (b,)
            Classes in 0..k-1.
        clip : float, optional
            Largest Euclidean norm of one record's gradient over all layers, above 0: longer ones
            are scaled down to it (DP-SGD, Abadi et al. 2016).
        """
        inputs, y = _checked_records(self, x, y)
        outputs, deltas = self._backward(inputs, y, clip)
        layers = tuple(zip(outputs, deltas, strict=True))
        return (
            tuple(output.T @ delta / len(y) for output, delta in layers),
            tuple(delta.mean(axis=0) for delta in deltas),
        )

    def gradient_towards(
        self, after: DenseNetwork, learning_rate: float
    ) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
        """Return the gradient of one step of gradient descent that led to another network.

        Parameters
        ----------
        after : DenseNetwork
            The network after the step, without momentum and without a penalty of the weights.
        learning_rate : float
            Length of the step, above 0.
        """
        checks.positive(learning_rate=learning_rate)
        _layers((after.weights, after.biases), like=self)
        return (
            tuple(
                (a - b) / learning_rate for a, b in zip(self.weights, after.weights, strict=True)
            ),
            tuple((a - b) / learning_rate for a, b in zip(self.biases, after.biases, strict=True)),
        )

    def _outputs(self, x: Floats) -> list[Floats]:
        """Return the inputs of every layer and the logits."""
        outputs = [x]
        for weights, biases in zip(self.weights[:-1], self.biases[:-1], strict=True):
            outputs.append(_ACTIVATIONS[self.activation][0](outputs[-1] @ weights + biases))
        return [*outputs, outputs[-1] @ self.weights[-1] + self.biases[-1]]

    def _backward(
        self, x: Floats, y: Ints, clip: float | None = None
    ) -> tuple[list[Floats], list[Floats]]:
        """Return the inputs of every layer, and the slopes of each record's loss in its sums.

        A record's gradient is the outer product of both, and the slopes themselves for the biases.
        """
        *inputs, logits = self._outputs(x)
        rows = np.arange(len(y))
        if logits.shape[1] == 1:
            sign = 1.0 - 2.0 * y[:, None]
            slopes = [sign * expit(sign * logits)]
        else:
            slope = softmax(logits, axis=1)
            # 1 - p would lose all digits of a record that the network is sure of.
            slope[rows, y] = 0.0
            slope[rows, y] = -slope.sum(axis=1)
            slopes = [slope]
        for layer in range(len(self.weights) - 1, 0, -1):
            through = _ACTIVATIONS[self.activation][1](inputs[layer])
            slopes.insert(0, slopes[0] @ self.weights[layer].T * through)
        if clip is not None:
            squares = sum(
                (1 + np.sum(one**2, axis=1)) * np.sum(slope**2, axis=1)
                for one, slope in zip(inputs, slopes, strict=True)
            )
            # Nothing to scale in a gradient of 0.
            kept = np.minimum(1.0, clip / np.sqrt(np.maximum(squares, 1e-300)))
            slopes = [slope * kept[:, None] for slope in slopes]
        return inputs, slopes


@dataclass(frozen=True, eq=False)
class ReconstructedBatch:
    """Records and labels read out of one update."""

    records: Floats
    """(r, d) Reconstructed inputs, at most as many as the batch has; the surest first."""
    labels: Ints
    """(r,) Class of each reconstructed record, in 0..k-1."""
    exact: Bools
    """(r,) True where the network's own gradient of record and label is what a neuron reports: then
    both are right but for rounding. The others are guesses, mostly mixtures of several records."""
    label_counts: Ints
    """(k,) Number of records of each class in the batch; their sum is that of the batch."""
    rank: int
    """Independent directions in the first layer's gradient. What is not exact is known up to an
    affine space of dimension `rank` - 1, in which the records lie if they are at most `rank`."""

    def summary(self) -> str:
        """Return one or two lines."""
        n = int(self.label_counts.sum())
        counts = ", ".join(f"{m} of class {c}" for c, m in enumerate(self.label_counts) if m)
        return (
            f"{int(self.exact.sum())} of {n} records are in the update exactly, with their labels."
            f"\nLabels of the batch: {counts}."
        )

    def to_frame(self, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """Return a row per reconstructed record: its values, `label` and `exact`."""
        import pandas as pd

        width = self.records.shape[1]
        names = [f"x{j}" for j in range(width)] if columns is None else list(columns)
        if len(names) != width:
            raise InputError(f"columns must name {width} columns, got {len(names)}")
        return pd.DataFrame(self.records, columns=names).assign(label=self.labels, exact=self.exact)


def invert_update(
    network: DenseNetwork,
    gradient: Gradient,
    n_records: int,
    *,
    clip: float | None = None,
    expected: ArrayLike | None = None,
    precision: float = 1e-8,
) -> ReconstructedBatch:
    """Return the records and labels that can be read out of a shared gradient.

    Whoever collects the updates of a training on many machines (federated learning) knows the
    network before the step, the gradient, and how many records it is the mean of.

    Parameters
    ----------
    network : DenseNetwork
        The network before the step.
    gradient : pair of sequences of array_like
        Gradients of weights and of biases, shaped as the network's, of the mean loss of the batch.
        From weights after a step by `DenseNetwork.gradient_towards`.
    n_records : int
        Number of records in the batch, at least 1. With a wrong number nothing holds.
    clip : float, optional
        Norm to which each record's gradient was clipped, if it was.
    expected : array_like, shape (k,), optional
        Mean answer of the network, as probabilities, to records like those of the batch, for the
        numbers of labels. Default, and where one record is left: that to the rows that are not
        exact.
    precision : float
        Largest relative error, in (0, 1), with which a row counts as exact. 1e-5 suits updates in
        single precision, where now and then a mixture passes by chance.

    Returns
    -------
    ReconstructedBatch

    Raises
    ------
    InputError
        If shapes do not go together, or an option is out of its range.

    Notes
    -----
    With inputs x_i and slopes d_ij of their losses in what neuron j of the first layer receives,
    the gradients are ``sum_i d_ij x_i / b`` of the weights of j and ``sum_i d_ij / b`` of its bias.
    Their ratio is a record wherever d_ij is 0 for all others: for b = 1 always (Phong et al. 2017;
    Geiping et al. 2020), for more records where a ReLU is active for one alone (Boenisch et al.
    2021), and else a mixture. The network tells one from the other: the slope of a record x with
    its label y in neuron j can be computed, and must be b times the gradient of the bias. Then the
    whole gradient of x is known and is subtracted, so that a neuron at which two records were
    active has one left. This is repeated as long as a row is exact. Then the ratio that fits best
    is guessed, and its gradient subtracted likewise. The last record is the first singular vector
    of the rest, which is the ratio where there is no noise.

    The last bias's gradient is ``sum_i p_ic - n_c`` over b, from which the numbers of labels n_c
    follow for those that were not exact: for b = 1 surely (Zhao et al. 2020), else with `expected`
    in the place of the records' own p, rounded.

    With one output and one hidden layer all neurons at which the same records are active report one
    mixture: that ratios agree shows nothing. A linear model has no neuron that is silent, so that
    only b = 1 is exact; of two classes it reports one mixture.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> layers = (rng.normal(size=(5, 40)), rng.normal(size=(40, 3)))
    >>> network = DenseNetwork(layers, (rng.normal(size=40), np.zeros(3)))
    >>> x = rng.normal(size=(3, 5))
    >>> found = invert_update(network, network.gradient(x, [0, 2, 2]), 3)
    >>> print(found.summary())
    3 of 3 records are in the update exactly, with their labels.
    Labels of the batch: 1 of class 0, 2 of class 2.
    """
    checks.at_least(1, n_records=n_records)
    checks.level(precision, "precision")
    if clip is not None:
        checks.positive(clip=clip)
    of_weights, of_biases = _layers(gradient, like=network)
    # Sums over the records, one row per input and the bias last.
    left = n_records * np.vstack([of_weights[0], of_biases[0]])
    spectrum = np.linalg.svd(left, compute_uv=False)
    rank = int(np.count_nonzero(spectrum > _SILENT * spectrum[0])) if spectrum[0] > 0 else 0
    silent = _SILENT * float(np.abs(left[-1]).max())
    rows: list[Floats] = []
    labels: list[int] = []
    exact: list[bool] = []
    # Only a ReLU is silent for a record. Without it no neuron reports one alone, and a network that
    # answers all records alike, such as one of zeros, would pass mixtures off as records.
    relu = len(network.weights) > 1 and network.activation == "relu"
    while len(rows) < n_records:
        neurons = np.flatnonzero(np.abs(left[-1]) > silent)
        if not len(neurons):
            break
        last = len(rows) == n_records - 1
        if last:
            axis = np.linalg.svd(left, full_matrices=False)[0][:, :1]
            if axis[-1, 0] == 0.0:
                break
            ratios = (axis[:-1] / axis[-1]).T
        else:
            ratios = (left[:-1, neurons] / left[-1, neurons]).T
        misfit = np.empty((len(ratios), network.n_classes))
        # Ratios of mixtures may be large: what overflows fits nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            for label in range(network.n_classes):
                slope = network._backward(ratios, np.full(len(ratios), label), clip)[1][0]
                if last:
                    alone = np.append(ratios[0], 1.0)[:, None] * slope
                    gap = np.array([np.linalg.norm(alone - left) / np.linalg.norm(left)])
                else:
                    own = left[-1, neurons]
                    gap = np.abs(slope[np.arange(len(neurons)), neurons] / own - 1)
                misfit[:, label] = np.where(np.isfinite(gap), gap, np.inf)
        # What a wrong guess leaves proves nothing.
        provable = all(exact) and (last or relu)
        order = np.argsort(misfit, axis=None)
        fits = max(1, int(np.count_nonzero(misfit <= precision))) if provable else 1
        before = len(rows)
        for row, label in zip(*np.unravel_index(order[:fits], misfit.shape), strict=True):
            twice = any(
                label == other and np.allclose(ratios[row], one, rtol=_SAME, atol=_SAME**2)
                for one, other in zip(rows[before:], labels[before:], strict=True)
            )
            if twice or len(rows) == n_records:
                continue
            one = ratios[row]
            slope = network._backward(one[None], np.array([label]), clip)[1][0]
            left = left - np.append(one, 1.0)[:, None] * slope
            rows.append(one)
            labels.append(int(label))
            exact.append(provable and bool(misfit[row, label] <= precision))
    sure = np.array(exact, np.bool_)
    found = np.array(rows).reshape(-1, len(left) - 1)
    classes = np.array(labels, np.int64)
    of_sure = np.bincount(classes[sure], minlength=network.n_classes)
    n_left = n_records - int(sure.sum())
    counts = of_sure
    if n_left:
        guessed = found[~sure]
        slopes = n_records * of_biases[-1]
        if len(guessed) < len(found):
            slopes = slopes - network._backward(found[sure], classes[sure], clip)[1][-1].sum(axis=0)
        if len(slopes) == 1:
            slopes = np.append(-slopes, slopes)
        answer = np.full(network.n_classes, 1 / network.n_classes)
        kept = 1.0
        if expected is not None and (n_left > 1 or not len(guessed)):
            answer = checks.floats(expected, "expected", length=network.n_classes)
        elif len(guessed):
            answer = network.predict_proba(guessed).mean(axis=0)
        if clip is not None and len(guessed):
            # How far the guessed rows were clipped stands for all that are left.
            whole, cut = (
                network._backward(guessed, classes[~sure], norm)[1][-1] for norm in (None, clip)
            )
            kept = float(np.abs(cut).sum() / max(np.abs(whole).sum(), 1e-300)) or 1.0
        counts = of_sure + _whole_counts(n_left * answer - slopes / kept, n_left)
    return ReconstructedBatch(
        records=found, labels=classes, exact=sure, label_counts=counts, rank=rank
    )


@dataclass(frozen=True, eq=False)
class ReconstructionShare:
    """How much of the records of a batch can be read out of its update, by size of the batch."""

    batch_sizes: tuple[int, ...]
    """Records per batch."""
    n_games: int
    """Batches drawn of each size."""
    hits: dict[str, tuple[Bools, ...]]
    """Name to a mask of right guesses per size of the batch, one row a game: of values
    (games, b, d) for ``values``, ``values by guessing``, ``values of others`` and ``values of a
    placebo``; of records (games, b) for ``records``, ``records of a placebo``, ``exact``,
    ``labels`` and ``labels by guessing``."""
    wrong: int
    """Rows called exact that were no record of their batch."""

    def estimate(self, name: str, batch_size: int, level: float = 0.95) -> Estimate:
        """Return a share of `hits`, in [0, 1], with its interval; games are independent."""
        if batch_size not in self.batch_sizes:
            raise InputError(f"batch_size must be one of {self.batch_sizes}, got {batch_size}")
        if name not in self.hits:
            raise InputError(f"name must be one of {', '.join(self.hits)}, got {name!r}")
        hit = self.hits[name][self.batch_sizes.index(batch_size)]
        each = hit[0].size
        return proportion(hit.ravel(), np.repeat(np.arange(self.n_games), each), level)

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """Return a row per size of the batch and share, with the ends of its interval."""
        import pandas as pd

        rows = []
        for size in self.batch_sizes:
            for name in self.hits:
                found = self.estimate(name, size, level)
                rows.append(
                    {
                        "batch_size": size,
                        "share": name,
                        "value": found.value,
                        "low": found.low,
                        "high": found.high,
                        "n": found.n,
                        "method": found.method,
                    }
                )
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Return a line per size of the batch."""
        lines = []
        for size in self.batch_sizes:
            values, guessed, others, placebo, exact, labels = (
                self.estimate(name, size)
                for name in (
                    "values",
                    "values by guessing",
                    "values of others",
                    "records of a placebo",
                    "exact",
                    "labels",
                )
            )
            lines.append(
                f"Batches of {size}: {values.value:.0%} of the values recovered (95% interval: "
                f"{values.low:.0%} to {values.high:.0%}, {values.n} batches), by guessing "
                f"{max(guessed.value, others.value):.0%}; {exact.value:.0%} of the records exact, "
                f"of a placebo {placebo.value:.0%} found; {labels.value:.0%} of the labels."
            )
        return "\n".join(lines)


def reconstruction_share(
    network: DenseNetwork,
    x: ArrayLike,
    y: ArrayLike,
    *,
    batch_sizes: Sequence[int] = (1, 4, 16),
    n_games: int = 100,
    tolerance: float = 0.05,
    clip: float | None = None,
    noise_multiplier: float = 0.0,
    seed: int = 0,
) -> ReconstructionShare:
    """Return how much of a batch can be read out of the gradient that its owner would share.

    Parameters
    ----------
    network : DenseNetwork
        The network before the step.
    x : array_like, shape (n, d)
        Records like those of a batch, numbers as the network takes them; batches are drawn of them.
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    batch_sizes : sequence of int
        Records per batch, each in [1, n / 2].
    n_games : int
        Batches drawn of each size, at least 2.
    tolerance : float
        Largest error of a value that is recovered, in standard deviations of its column, above 0.
    clip : float, optional
        Norm to which each record's gradient is clipped. The attacker knows it.
    noise_multiplier : float
        Standard deviation of the noise on the sum of clipped gradients, in multiples of `clip`, at
        least 0 (DP-SGD, Abadi et al. 2016).
    seed : int
        Seed of all draws, at least 0.

    Returns
    -------
    ReconstructionShare

    Raises
    ------
    InputError
        If shapes do not go together, or an option is out of its range.

    Notes
    -----
    Each game draws b records for the batch and b others. `invert_update` sees the network, the
    gradient, and the network's mean answer to records outside of the batch. In rows that are not
    exact, values beyond the range of their column outside of the batch are replaced by the constant
    that is guessed for it, and all values where that holds for most. The rows are assigned to the
    records of the batch, one each, so that as many values as possible are right.

    Beside it stand, with the same count: the constant of each column that is right most often among
    records outside of the batch (``values by guessing``: the most frequent value, or the middle of
    the densest range); the b other records in the place of the rows (``values of others``); and the
    rows beside the b other records, which the update does not hold (``values of a placebo``).
    Labels are right as far as their numbers agree; by guessing, classes are as frequent as outside
    of the batch.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> x, y = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> layers = (rng.normal(size=(4, 50)), rng.normal(size=(50, 3)))
    >>> network = DenseNetwork(layers, (rng.normal(size=50), np.zeros(3)))
    >>> found = reconstruction_share(network, x, y, batch_sizes=(1,), n_games=50)
    >>> found.estimate("values", 1).value, found.estimate("exact", 1).value
    (1.0, 1.0)
    """
    x, y = _checked_records(network, x, y)
    sizes = tuple(int(size) for size in batch_sizes)
    if not sizes or min(sizes) < 1 or 2 * max(sizes) > len(y) or len(set(sizes)) < len(sizes):
        raise InputError(
            f"batch_sizes must be different numbers in [1, {len(y) // 2}], half of the records, "
            f"got {sizes}"
        )
    checks.at_least(2, n_games=n_games)
    checks.at_least(0, noise_multiplier=noise_multiplier)
    checks.positive(tolerance=tolerance)
    seeds.non_negative(seed)
    if clip is not None:
        checks.positive(clip=clip)
    elif noise_multiplier > 0:
        raise InputError("noise_multiplier is in multiples of clip: give clip, too")
    spread = x.std(axis=0)
    near = tolerance * np.where(spread > 0, spread, 1.0)
    hits: dict[str, list[Bools]] = {}
    wrong = 0
    for size in sizes:
        rng = seeds.stream(seed, "reconstruction", "batches", size)
        noise = seeds.stream(seed, "reconstruction", "noise", size)
        games: dict[str, list[Bools]] = {}
        for _ in range(n_games):
            order = rng.permutation(len(y))
            batch = order[:size]
            others = order[size : 2 * size]
            outside = order[size:]
            gradient = network.gradient(x[batch], y[batch], clip=clip)
            if clip is not None:
                # One part for the weights, one for the biases; drawn without noise too, so that
                # games of two multipliers have the same draws.
                scale = noise_multiplier * clip / size
                of_weights, of_biases = (
                    tuple(one + scale * noise.normal(size=one.shape) for one in part)
                    for part in gradient
                )
                gradient = of_weights, of_biases
            pool = x[outside[:_POOL]]
            found = invert_update(
                network,
                gradient,
                size,
                clip=clip,
                expected=network.predict_proba(pool).mean(axis=0),
            )
            exact = found.records[found.exact]
            apart = np.abs(exact[:, None] - x[batch]) <= _SAME * (1 + np.abs(x[batch]))
            truly = np.asarray(apart.all(axis=2), np.bool_)
            wrong += int(np.count_nonzero(~truly.any(axis=1)))
            constant = _densest(pool, near)
            beyond = (found.records < pool.min(axis=0) - near) | (
                found.records > pool.max(axis=0) + near
            )
            beyond |= beyond.mean(axis=1, keepdims=True) > _MIXTURE
            rows = np.tile(constant, (size, 1))
            rows[: len(found.records)] = np.where(
                beyond & ~found.exact[:, None], constant, found.records
            )
            values = _right_values(rows, x[batch], near)
            of_placebo = _right_values(rows, x[others], near)
            rates = np.bincount(y[outside], minlength=network.n_classes) / len(outside)
            counts = np.bincount(y[batch], minlength=network.n_classes)
            guesses = _whole_counts(size * rates, size)
            played = {
                "values": values,
                "values by guessing": np.abs(x[batch] - constant) <= near,
                "values of others": _right_values(x[others], x[batch], near),
                "values of a placebo": of_placebo,
                "records": values.all(axis=1),
                "records of a placebo": of_placebo.all(axis=1),
                "exact": truly.any(axis=0),
                "labels": np.arange(size) < np.minimum(found.label_counts, counts).sum(),
                "labels by guessing": np.arange(size) < np.minimum(guesses, counts).sum(),
            }
            for name, hit in played.items():
                games.setdefault(name, []).append(hit)
        for name, found_in in games.items():
            hits.setdefault(name, []).append(np.stack(found_in))
    return ReconstructionShare(
        batch_sizes=sizes,
        n_games=n_games,
        hits={name: tuple(masks) for name, masks in hits.items()},
        wrong=wrong,
    )


def _layers(
    pair: Gradient, like: DenseNetwork | None = None
) -> tuple[tuple[Floats, ...], tuple[Floats, ...]]:
    """Return weights and biases, or their gradients, as read-only arrays of finite floats."""
    weights, biases = (
        tuple(checks.frozen(np.array(one, np.float64)) for one in part) for part in pair
    )
    if not weights or len(weights) != len(biases):
        raise InputError(
            f"each layer has weights and biases, got {len(weights)} and {len(biases)} of them"
        )
    for number, (weight, bias) in enumerate(zip(weights, biases, strict=True), 1):
        if weight.ndim != 2 or bias.shape != weight.shape[1:]:
            raise InputError(
                f"layer {number} must have weights of the shape (inputs, outputs) and biases "
                f"(outputs,), got {weight.shape} and {bias.shape}"
            )
        if not np.isfinite(weight).all() or not np.isfinite(bias).all():
            raise InputError(f"weights and biases must be finite, those of layer {number} are not")
    if like is not None and [w.shape for w in weights] != [w.shape for w in like.weights]:
        raise InputError(
            f"the layers must be shaped as the network's {[w.shape for w in like.weights]}, got "
            f"{[w.shape for w in weights]}"
        )
    return weights, biases


def _checked_records(network: DenseNetwork, x: ArrayLike, y: ArrayLike) -> tuple[Floats, Ints]:
    """Return inputs and classes of a network, checked."""
    y = checks.classes(y, "y")
    if len(y) == 0 or y.max() >= network.n_classes:
        raise InputError(f"y must hold classes in 0..{network.n_classes - 1}")
    x = np.asarray(x, np.float64)
    shape = (len(y), network.weights[0].shape[0])
    if x.shape != shape or not np.isfinite(x).all():
        raise InputError(f"x must hold finite numbers of the shape {shape}, got {x.shape}")
    return x, y


def _whole_counts(expected: Floats, total: int) -> Ints:
    """Return whole numbers of a given sum, at least 0, near expected ones (largest remainders)."""
    expected = np.maximum(expected, 0.0)
    # Nothing expected of any class: all alike.
    expected = expected if expected.any() else np.ones(len(expected))
    expected = expected * (total / expected.sum())
    counts = np.floor(expected).astype(np.int64)
    short = total - int(counts.sum())
    counts[np.argsort(counts - expected, kind="stable")[:short]] += 1
    return counts


def _right_values(rows: Floats, records: Floats, near: Floats) -> Bools:
    """Return which values of records are near those of the rows assigned to them, (b, d)."""
    apart = np.abs(rows[:, None] - records) / near
    right = apart <= 1
    # Whole numbers of right values count first, then how far the others are.
    cost = np.sum(~right, axis=2) + 1e-6 * np.mean(np.minimum(apart, 1e3) / 1e3, axis=2)
    row, record = linear_sum_assignment(cost)
    hit = np.zeros(records.shape, np.bool_)
    hit[record] = right[row, record]
    return hit


def _densest(pool: Floats, near: Floats) -> Floats:
    """Return for each column the value with most of the pool within `near` of it, (d,)."""
    ordered = np.sort(pool, axis=0)
    best = np.empty(pool.shape[1])
    for j, column in enumerate(ordered.T):
        # A margin for rounding: the value must be near both ends of its window.
        window = 2 * near[j] * (1 - 1e-9)
        inside = np.searchsorted(column, column + window, side="right") - np.arange(len(column))
        first = int(inside.argmax())
        best[j] = (column[first] + column[first + int(inside[first]) - 1]) / 2
    return best
