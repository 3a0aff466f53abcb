"""Certified bounds for networks trained with and without each record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import expit

from privacygauge.classifiers.learner import Box, class_log_p
from privacygauge.classifiers.networks.engines import MLP
from privacygauge.classifiers.networks.task import own_scales
from privacygauge.classifiers.ratios import log_answers
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError

Layer = tuple[Floats, Floats]
"""Weights (out, in) and intercepts (out,): a layer returns ``activation(W h + b)``."""

Interval = tuple[Floats, Floats]
"""Smallest and largest values, (n,) each."""

_SOURCE = "Long et al. 2017, theorem 6.9"


@dataclass(frozen=True)
class Bound:
    """An upper bound, with its scope and source."""

    value: float
    """The bound, at least 0; infinite if none is known."""
    what: str
    """The bounded quantity, and the queries and parameters that the bound covers."""
    source: str
    """Reference of the proof."""

    def __post_init__(self) -> None:
        if not self.value >= 0:
            raise InputError(f"value must be at least 0, got {self.value}")


@dataclass(frozen=True)
class Activation:
    """Properties of an elementwise activation function that bounds rely on."""

    name: str
    """Name of the function."""
    function: Callable[[Floats], Floats]
    """The function itself; nondecreasing."""
    slope: float
    """Lipschitz constant of the function, above 0."""
    largest: float
    """Largest absolute value; infinite if there is none."""


# Name, function, Lipschitz constant, largest absolute value.
TANH = Activation("tanh", np.tanh, 1.0, 1.0)
RELU = Activation("relu", partial(np.maximum, 0.0), 1.0, np.inf)  # not a lambda: it is pickled
SIGMOID = Activation("sigmoid", expit, 0.25, 1.0)


def logistic_constant(box: Box) -> Bound:
    """Return the Lipschitz constant of logistic regression's log probabilities: 2 (1 + |x|_1).

    Parameters
    ----------
    box : Box
        The domain; the constant is that of its query with the largest ``|x|_1``.

    Notes
    -----
    For ``p = softmax(x W + b)`` and all parameters u = (W, b), of which no two need be equal. The
    gradient of log p_y over the scores is ``e_y - p``, whose absolute values sum to 2 (1 - p_y),
    and no score moves by more than ``(1 + |x|_1) |u - u'|_inf``. No smaller constant holds for
    all parameters: it is reached as p_y goes to 0 and the scores of y and of the likeliest class
    move in opposite directions.

    Examples
    --------
    >>> logistic_constant(Box([0.0, -3.0], [1.0, 2.0])).value
    10.0
    """
    return Bound(
        2 * (1 + float(_largest_magnitudes(box).sum())),
        "change of any log probability over the box, per largest change of a parameter",
        f"{_SOURCE}, with the l1 norm of the softmax gradient, 2 (1 - p_y)",
    )


def logistic_odds_constant(box: Box) -> Bound:
    """Return that constant for two classes with one vector of parameters: 1 + |x|_1.

    This is scikit-learn's form: ``log(p_1 / p_0) = x w + b``.
    """
    return Bound(
        1 + float(_largest_magnitudes(box).sum()),
        "change of any log probability of two classes, p_1 = sigmoid(x w + b), over the box, "
        "per largest change of a parameter",
        f"{_SOURCE}, with the gradient of the log sigmoid, below 1",
    )


def dtp_bound(constant: Bound, parameters: Floats, without: Floats) -> Floats:
    """Return an upper bound on each record's DTP: L times the largest change of a parameter.

    Parameters
    ----------
    constant : Bound
        A Lipschitz constant L that holds for all these parameters.
    parameters : ndarray of float, shape (...)
        Parameters of the classifier.
    without : ndarray of float, shape (r, ...)
        Parameters of the classifiers without each record, in the same order.

    Returns
    -------
    ndarray of float, shape (r,)
        Its maximum is the bound of theorem 6.9, for the whole classifier.
    """
    if np.shape(without)[1:] != np.shape(parameters):
        raise InputError(
            f"without must have the shape (r, ...) for the parameters {np.shape(parameters)}, "
            f"got {np.shape(without)}"
        )
    # In the largest norm, for which the constant holds.
    moved = np.abs(without - parameters).reshape(len(without), -1).max(axis=1, initial=0.0)
    return np.asarray(constant.value * moved, np.float64)


def network_constant(
    networks: Sequence[Sequence[Layer]], activation: Activation, box: Box
) -> Bound:
    """Return a Lipschitz constant of the log probabilities of feed-forward networks.

    Parameters
    ----------
    networks : sequence of sequences of Layer
        Trained networks of one shape. The constant holds between any two of them, and for all
        networks whose layers have no larger norms.
    activation : Activation
        Activation after all layers but the last, which a softmax follows.
    box : Box
        The domain.

    Notes
    -----
    With N_l the largest ``|W_l|_inf`` (row sum) and beta_l the largest ``|b_l|_inf`` over the
    networks, s the slope of the activation f and H_l a bound on the absolute values of layer l,

    - H_l = min(largest, |f(0)| + s (N_l H_{l-1} + beta_l)), H_0 = max |x|_inf;
    - D_l = s (1 + n_{l-1} H_{l-1} + N_l D_{l-1}), D_0 = 0, with |x|_1 for n_0 H_0;

    no value of layer l changes by more than D_l times the largest change of a parameter; and no
    log probability by more than twice the last score (see `logistic_constant`).
    """
    if not networks:
        raise InputError("networks must hold at least one, got none")
    for other in networks[1:]:
        _check_alike(networks[0], other)
    far = _largest_magnitudes(box)
    _check_chain(networks[0], box)
    # `reach` is H, the largest value of a layer, and `total` the largest sum of its values.
    reach = float(far.max(initial=0))
    total = float(far.sum())
    change = 0.0
    for depth, layers in enumerate(zip(*networks, strict=True)):
        # Over all networks: the constant must hold between any two.
        norm = max(float(np.abs(w).sum(axis=1).max()) for w, _ in layers)
        shift = max(float(np.abs(b).max()) for _, b in layers)
        change = 1 + total + norm * change
        # No activation follows the last layer, and its values are not needed.
        if depth + 1 < len(networks[0]):
            change *= activation.slope
            at_zero = float(np.abs(activation.function(np.zeros(1)))[0])
            grown = at_zero + activation.slope * (norm * reach + shift)
            reach = min(activation.largest, grown)
            total = len(layers[0][1]) * reach
    return Bound(
        2 * change,
        f"change of any log probability of {activation.name} networks over the box, per largest "
        "change of a parameter, between networks whose layers have no larger norms",
        f"{_SOURCE}, with operator norms layer by layer",
    )


def network_bound(
    layers: Sequence[Layer], without: Sequence[Layer], activation: Activation, box: Box
) -> Bound:
    """Return an upper bound on the DTP of one record, from the networks with and without it.

    Parameters
    ----------
    layers, without : sequence of Layer
        The two networks, of one shape.
    activation : Activation
        Activation after all layers but the last, which a softmax follows.
    box : Box
        The domain.

    Notes
    -----
    For every value h_i of a layer, with dW = W - W',
    ``|dh| <= s min(|dW h + db| + |W'| |dh'|, |dW h' + db| + |W| |dh'|)`` elementwise, where dh'
    is the change of the layer before, h and h' lie in intervals that are carried along, and dh
    is never more than the intervals allow. At the end ``|log p_y - log p'_y|``
    is at most the largest change of the difference of two scores, for which the same holds with
    differences of rows. The bound adds products of absolute weights over the layers: it is near
    the truth for small changes of shallow networks, and loose for deep ones.
    """
    _check_alike(layers, without)
    _check_chain(layers, box)
    # The intervals of both networks start from the same box, without any change.
    one = other = (box.low, box.high)
    change = np.zeros(len(box.low))
    for (w, b), (w_without, b_without) in zip(layers[:-1], without[:-1], strict=True):
        moved = activation.slope * _largest_change(
            (w, b), (w_without, b_without), one=one, other=other, change=change
        )
        # The activation is nondecreasing: it maps the ends of an interval to those of its image.
        low, high = _interval(w, b, one)
        one = (activation.function(low), activation.function(high))
        low, high = _interval(w_without, b_without, other)
        other = (activation.function(low), activation.function(high))
        # No value changes by more than the distance between the far ends of its two intervals.
        change = np.minimum(moved, np.maximum(one[1] - other[0], other[1] - one[0]))
    # Layers that output all pairwise differences of the last layer's outputs.
    first, second = np.triu_indices(len(layers[-1][1]), 1)
    last, last_without = (
        (w[first] - w[second], b[first] - b[second]) for w, b in (layers[-1], without[-1])
    )
    moved = _largest_change(last, last_without, one=one, other=other, change=change)
    return Bound(
        float(moved.max(initial=0.0)),
        f"DTP of one record for a {activation.name} network, over the box",
        "intervals of the values and of their changes, layer by layer",
    )


def _largest_magnitudes(box: Box) -> Floats:
    """Return the largest absolute value of each attribute, (d,)."""
    return np.maximum(np.abs(box.low), np.abs(box.high))


def _largest_change(
    layer: Layer,
    without: Layer,
    one: Interval,
    other: Interval,
    change: Floats,
) -> Floats:
    """Return the largest change of a layer's sums, (out,), if its inputs change by `change`."""
    dw = layer[0] - without[0]
    db = layer[1] - without[1]
    # Either network may carry the change of the weights; the smaller of both bounds holds.
    ways = []
    for inputs, weights in ((one, without[0]), (other, layer[0])):
        low, high = _interval(dw, db, inputs)
        ways.append(np.maximum(np.abs(low), np.abs(high)) + np.abs(weights) @ change)
    return np.minimum(*ways)


def _interval(w: Floats, b: Floats, of: Interval) -> Interval:
    """Return the smallest and largest values of W h + b, (out,), for h in an interval."""
    # Positive weights take an end of the interval as it is, negative ones the opposite end.
    up = np.maximum(w, 0.0)
    down = np.minimum(w, 0.0)
    low, high = of
    return up @ low + down @ high + b, up @ high + down @ low + b


def _check_alike(layers: Sequence[Layer], others: Sequence[Layer]) -> None:
    one, other = (
        [np.shape(part) for layer in network for part in layer] for network in (layers, others)
    )
    if one != other:
        raise InputError(f"both networks must have one shape, got {one} and {other}")


def _check_chain(layers: Sequence[Layer], box: Box) -> None:
    """Raise if the width of a layer's input differs from the output of the layer before."""
    if not layers:
        raise InputError("a network must have at least one layer, got none")
    width = len(box.low)
    for depth, (w, b) in enumerate(layers):
        if np.shape(w) != (len(b), width):
            raise InputError(
                f"layer {depth} must have weights of the shape ({len(b)}, {width}), "
                f"(out, in), got {np.shape(w)}"
            )
        width = len(b)


ACTIVATIONS: Mapping[str, Activation] = {"tanh": TANH, "relu": RELU, "sigmoid": SIGMOID}
"""Activations of `MLP` by name."""


def with_bounds(trainer: Trainer, cohort: Cohort, box: Box) -> tuple[Floats, Floats]:
    """Return log probabilities of networks, and a bound on the DTP of each record left out.

    The cohort has 1 + r models: on all of T first, then without one record each. Shapes are (1 + r,
    a, k) and (r,); bounds are infinite if the trainer does not make networks of kind `MLP`.
    """
    make = getattr(trainer, "make", None)
    if not isinstance(make, MLP):
        made = log_answers(trainer, cohort)
        return made, np.full(len(made) - 1, np.inf)
    trained = trainer.train_with_weights(cohort)  # type: ignore[attr-defined]
    networks: list[list[Layer]] = []
    for state in trained.weights:
        names = [name.removesuffix(".weight") for name in state if name.endswith(".weight")]
        pairs = [(state[f"{name}.weight"], state[f"{name}.bias"]) for name in names]
        networks.append([(w.astype(np.float64), b.astype(np.float64)) for w, b in pairs])
    if getattr(trainer, "own_scale", False):
        # The scaling of the features is folded into the first layer's weights.
        means, spreads = own_scales(cohort.x, cohort.inside)
        for layers, mean, spread in zip(networks, means, spreads, strict=True):
            weights, intercepts = layers[0]
            scaled = weights / spread
            layers[0] = (scaled, intercepts - scaled @ mean)
    whole, *others = networks
    activation = ACTIVATIONS[make.activation]
    bounds = [network_bound(whole, other, activation, box).value for other in others]
    log_p = class_log_p(np.asarray(trained.logits, np.float64))
    # A network whose weights diverged has no bound.
    return log_p, np.where(np.isfinite(bounds), bounds, np.inf)
