"""The white-box game: gradients of a torch module, an attack on them, and the audit with both.

After Nasr, Shokri & Houmansadr (2019).
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from privacygauge.classifiers.attacked import missing_classes, require_other_rows
from privacygauge.classifiers.audit.predictions import (
    DealtGame,
    PredictionAuditOptions,
    assemble,
    game_description,
)
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.estimators import require_records
from privacygauge.classifiers.game import PredictionGame, PredictionObservation, rarer
from privacygauge.classifiers.known import comparison_of
from privacygauge.classifiers.networks.engines import layers_of
from privacygauge.classifiers.networks.task import VMAP_ERRORS, the_torch
from privacygauge.classifiers.neural import Inputs, Network, NeuralNasr, one_hot, standardise_both
from privacygauge.classifiers.predictions import Predictions, predictions
from privacygauge.classifiers.suite import prediction_attacks
from privacygauge.classifiers.units_of_rows import settle_units
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Round, Scores, Shadow
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.runs.options import Options, keyword

if TYPE_CHECKING:
    import torch

    Tensors = dict[str, torch.Tensor]

_NUMBERS = 1 << 24
"""Largest number of values in the gradients of one block of records: 128 MiB as float64."""

_RECORDS = 4096
"""Largest number of records with activations in memory at once."""


def white_box_signals(
    model: torch.nn.Module, x: ArrayLike, y: ArrayLike, *, engine: str | None = None
) -> WhiteBoxSignals:
    """Return the norm of every record's loss gradient, layer by layer, and the model's outputs.

    The model is copied, in float64 and in evaluation mode; it is not changed. No gradient is kept:
    for a linear layer with inputs a and output gradient d, the gradient by the weights is the outer
    product of d and a, and its norm is the product of their norms.

    Parameters
    ----------
    model : torch.nn.Module
        Takes (n, d) features and returns (n, k) logits.
    x : array_like, shape (n, d)
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    engine : str, optional
        dense (a Sequential of linear layers and activations), vmap (torch.func, any module that it
        can run) or loop (record by record). Default: dense if possible, else vmap if it agrees with
        loop on two records, else loop.

    Returns
    -------
    WhiteBoxSignals
        Norms are at least 0; they are small if the model is certain of a record.

    Raises
    ------
    InputError
        If the model is not a module with weights, its answers are not finite (n, k) logits, a class
        is missing from them, or the engine cannot run it.

    Notes
    -----
    Nasr, Shokri & Houmansadr (2019), "Comprehensive privacy analysis of deep learning", IEEE S&P,
    section III: the gradient of the loss by the parameters, layer by layer, of one record.
    """
    torch = the_torch()
    if not isinstance(model, torch.nn.Module):
        raise InputError(
            f"model must be a torch.nn.Module, got {type(model).__name__}: audit models that are "
            "seen from outside only with audit_model"
        )
    features, labels = require_records(x, y)
    own = copy.deepcopy(model).double().eval().requires_grad_(True)
    first = next(own.parameters(), None)
    if first is None:
        raise InputError(f"model must have weights, and {type(model).__name__} has none")
    asked = torch.as_tensor(features).to(first)
    classes = torch.as_tensor(np.array(labels)).to(first.device)
    seen = [_answers(own, some) for some in asked.split(_RECORDS)]
    logits, hidden = (np.concatenate(part) for part in zip(*seen, strict=True))
    if int(labels.max()) >= logits.shape[1]:
        raise InputError(
            f"y must be in 0..{logits.shape[1] - 1} for {logits.shape[1]} logits, got "
            f"{int(labels.max())}: are classes counted from 1?"
        )
    # The answers were checked first, so that engines meet only modules that return (n, k) logits.
    name = engine
    if name is None and layers_of(own) is not None:
        name = "dense"
    elif name is None:
        # The loop is right for any module but slow: vmap must reproduce it on two records.
        expected = _norms_by_loop(own, asked[:2], classes[:2])
        name = "loop"
        try:
            found = _norms_by_vmap(own, asked[:2], classes[:2])
        except VMAP_ERRORS:
            pass
        else:
            if np.allclose(found, expected, rtol=1e-9, atol=1e-12):
                name = "vmap"
    if name not in _ENGINES:
        raise InputError(f"engine must be one of {', '.join(_ENGINES)}, got {name!r}")
    if name == "dense" and layers_of(own) is None:
        raise InputError(
            "engine dense needs a Sequential of linear layers and activations: use vmap or loop"
        )
    # The dense engine never holds a gradient; the others hold one per record.
    n_weights = sum(p.numel() for p in own.parameters())
    block = _RECORDS if name == "dense" else max(1, _NUMBERS // n_weights)
    parts = [
        _ENGINES[name](own, some, true)
        for some, true in zip(asked.split(block), classes.split(block), strict=True)
    ]
    return WhiteBoxSignals(
        # A dict keeps the order of the parameters, a set does not.
        layers=tuple(
            dict.fromkeys(name.rpartition(".")[0] or name for name, _ in own.named_parameters())
        ),
        norms=np.concatenate(parts),
        logits=logits,
        labels=np.array(labels),
        hidden=hidden,
        engine=name,
    )


def _answers(own: torch.nn.Module, asked: torch.Tensor) -> tuple[Floats, Floats]:
    """Return the logits, and the inputs of the linear layer that gives them."""
    import torch

    # Input and output of the linear layer that ran last.
    last: list[tuple[torch.Tensor, torch.Tensor]] = []

    def remember(_: object, given: tuple[torch.Tensor, ...], answer: torch.Tensor) -> None:
        last[:] = [(given[0], answer)]

    linear = [part for part in own.modules() if type(part) is torch.nn.Linear]
    handles = [part.register_forward_hook(remember) for part in linear]
    try:
        with torch.no_grad():
            logits = own(asked)
    finally:
        for handle in handles:
            handle.remove()
    if not isinstance(logits, torch.Tensor) or logits.ndim != 2 or len(logits) != len(asked):
        shape = tuple(getattr(logits, "shape", ()))
        raise InputError(f"model must return logits of the shape (n, k), got {shape}")
    # Only if the last linear layer gives the logits themselves; otherwise no columns.
    hidden = last[0][0] if last and last[0][1] is logits else logits[:, :0]
    return logits.cpu().numpy(), hidden.flatten(1).cpu().numpy()


def _dense(own: torch.nn.Module, asked: torch.Tensor, classes: torch.Tensor) -> Floats:
    import torch

    inputs = []
    outputs = []
    biases = []
    values = asked
    for child in own.children():
        if isinstance(child, torch.nn.Linear):
            inputs.append(values)
            values = child(values)
            outputs.append(values)
            biases.append(0.0 if child.bias is None else 1.0)
        else:
            # A copy: an activation that works in place would change the layer's output.
            values = child(values.clone())
    loss = torch.nn.functional.cross_entropy(values, classes, reduction="sum")
    # The sum of losses: each record's output gradient is that of its own loss. The squared norm of
    # the outer product with the inputs, and 1 for the bias, is the product of the squared norms.
    slopes = torch.autograd.grad(loss, outputs)
    squares = [
        slope.square().sum(1) * (given.square().sum(1) + bias)
        for slope, given, bias in zip(slopes, inputs, biases, strict=True)
    ]
    norms: Floats = torch.stack(squares, 1).detach().sqrt().cpu().numpy()
    return norms


def _norms_by_vmap(own: torch.nn.Module, asked: torch.Tensor, classes: torch.Tensor) -> Floats:
    import torch
    from torch.func import functional_call, grad, vmap

    weights = {name: value.detach() for name, value in own.named_parameters()}
    fixed = dict(own.named_buffers())

    def loss(learnt: Tensors, record: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        # Modules expect a batch: here of one record.
        logits = functional_call(own, {**learnt, **fixed}, (record[None],))
        return torch.nn.functional.cross_entropy(logits, label[None])

    slopes = vmap(grad(loss), in_dims=(None, 0, 0))(weights, asked, classes)
    names = list(slopes)
    return _by_layer(names, [slopes[name].flatten(1).square().sum(1) for name in names])


def _norms_by_loop(own: torch.nn.Module, asked: torch.Tensor, classes: torch.Tensor) -> Floats:
    import torch

    names, weights = zip(*own.named_parameters(), strict=True)
    rows = []
    for record, label in zip(asked, classes, strict=True):
        loss = torch.nn.functional.cross_entropy(own(record[None]), label[None])
        slopes = torch.autograd.grad(loss, weights, allow_unused=True)
        zero = loss.detach().new_zeros(())
        # Weights that a record does not use have no gradient.
        rows.append(torch.stack([zero if g is None else g.square().sum() for g in slopes]))
    return _by_layer(list(names), list(torch.stack(rows).unbind(1)))


def _by_layer(names: Sequence[str], squares: Sequence[torch.Tensor]) -> Floats:
    """Return the norms of layers, (n, l), from the squared norms of their parameters."""
    total: dict[str, Any] = {}
    for name, square in zip(names, squares, strict=True):
        layer = name.rpartition(".")[0] or name
        total[layer] = total.get(layer, 0.0) + square
    norms = the_torch().stack(list(total.values()), 1).sqrt()
    return np.asarray(norms.detach().cpu().numpy(), np.float64)


_ENGINES: dict[str, Callable[[torch.nn.Module, torch.Tensor, torch.Tensor], Floats]] = {
    "dense": _dense,
    "vmap": _norms_by_vmap,
    "loop": _norms_by_loop,
}


@dataclass(frozen=True, eq=False)
class ShadowModule:
    """A network that the adversary trained, and records with known membership in it."""

    model: torch.nn.Module
    """Module with the same layers as the audited one."""
    x: ArrayLike
    """(m, d) Features of the records."""
    y: ArrayLike
    """(m,) Classes of the records, in 0..k-1."""
    member: ArrayLike
    """(m,) True where the record was in its training set; both kinds must occur."""


@dataclass(frozen=True, eq=False)
class WhiteBoxSignals:
    """Signals of n records with known classes, visible to a holder of the model's weights."""

    layers: tuple[str, ...]
    """Names of the l layers with weights, in the module's order."""
    norms: Floats
    """(n, l) L2 norm of the gradient of each record's loss by all weights of each layer."""
    logits: Floats
    """(n, k) Outputs of the model."""
    labels: Ints
    """(n,) True classes in 0..k-1."""
    hidden: Floats
    """(n, h) Inputs of the linear layer that gives the logits; h is 0 if there is none."""
    engine: str
    """Engine that computed the gradients: ``dense``, ``vmap`` or ``loop``."""

    def __post_init__(self) -> None:
        for name in ("norms", "logits", "hidden"):
            value = np.asarray(getattr(self, name), np.float64)
            if value.ndim != 2 or len(value) != len(self.labels):
                raise InputError(
                    f"{name} must have {len(self.labels)} rows, got the shape {value.shape}"
                )
            if not np.isfinite(value).all():
                raise InputError(f"{name} must be finite: the model may have diverged in training")
            object.__setattr__(self, name, checks.frozen(value))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows: Ints) -> WhiteBoxSignals:
        """Return the signals of some records."""
        return WhiteBoxSignals(
            layers=self.layers,
            norms=self.norms[rows],
            logits=self.logits[rows],
            labels=self.labels[rows],
            hidden=self.hidden[rows],
            engine=self.engine,
        )

    @property
    def norm(self) -> Floats:
        """The L2 norm of the gradient by all weights, (n,)."""
        return np.asarray(np.sqrt(np.square(self.norms).sum(axis=1)), np.float64)

    @property
    def slope(self) -> Floats:
        """The gradient of the loss by the logits, (n, k): probabilities minus the one-hot class.

        Its outer product with `hidden` is the gradient by the last layer's weights.
        """
        # Softmax without overflow: the largest logit becomes 0.
        shifted = np.exp(self.logits - self.logits.max(axis=1, keepdims=True))
        rows = np.arange(len(self))
        others = shifted.copy()
        others[rows, self.labels] = 0.0
        slope: Floats = shifted / shifted.sum(axis=1, keepdims=True)
        # -(1 - p_y) as the sum of the others: p_y itself rounds to 1 if the model is certain.
        slope[rows, self.labels] = -others.sum(axis=1) / shifted.sum(axis=1)
        return slope

    @property
    def loss(self) -> Floats:
        """The cross-entropy, (n,), at least 0."""
        rows = np.arange(len(self))
        # log(1 + sum_{j != y} exp(z_j - z_y)): accurate near 0, where the log of p_y would round.
        gaps = self.logits - self.logits[rows, self.labels][:, None]
        gaps[rows, self.labels] = -np.inf
        return np.asarray(np.logaddexp(0.0, logsumexp(gaps, axis=1)), np.float64)


GRADIENT_NORM = "gradient-norm"
"""Name of the white-box signal: the negated gradient norm; higher = more likely a member."""

PARTS = ("gradients", "slopes", "loss", "label", "activations")
"""Possible inputs of the attack network."""

SMALL_STEPS = Network(epochs=30, learning_rate=0.003, penalty=1e-2)
"""Network of the attack; its settings and inputs were chosen on a shadow model of Location30."""

# Rounding of float64: a smaller loss or norm says nothing that a logarithm should magnify.
_FLOOR = 1e-16


@dataclass(frozen=True, eq=False)
class WhiteBoxObservation(PredictionObservation):
    """Predictions, and the gradients of the model that made them."""

    white_box: WhiteBoxSignals | None = None
    """(n,) White-box signals of the targets."""
    shadow_white_box: WhiteBoxSignals | None = None
    """(s,) White-box signals of the shadow records, from their own model."""


@dataclass(frozen=True, eq=False)
class WhiteBoxSide:
    """White-box signals of a model on records with known membership."""

    signals: WhiteBoxSignals
    """Signals of m records."""
    member: Bools
    """(m,) True where the record was in the model's training set."""
    unit: Ints | None = None
    """(m,) The person behind each record, as in `Predictions`."""

    @property
    def predictions(self) -> Predictions:
        """Predictions for the same records, as seen without the weights."""
        seen = self.signals
        return predictions(
            logits=seen.logits, labels=seen.labels, member=self.member, unit=self.unit
        )


@dataclass(frozen=True, eq=False)
class WhiteBoxGame:
    """The membership game with access to the model's weights.

    With a shadow model, the adversary learns on that model's records. Without, it learns on some
    parts of the targets and is judged on another part, in turn (`crossfit_parts`): the supervised
    adversary of Nasr et al. (2019), section III-B.
    """

    target: WhiteBoxSide
    """The audited model."""
    shadow: WhiteBoxSide | None = None
    """The adversary's own model with the same layers, on its own records."""
    together: Ints | None = None
    """(n,) Numbers of which equal ones are in one part, as in `PredictionGame`."""

    def __post_init__(self) -> None:
        if self.shadow is None:
            return
        ours = self.target.signals
        theirs = self.shadow.signals
        sizes = [(len(s.layers), s.logits.shape[1], s.hidden.shape[1]) for s in (ours, theirs)]
        if sizes[0] != sizes[1]:
            raise InputError(
                "the shadow model must have as many layers, classes and last inputs as the "
                f"target, {sizes[0]}, got {sizes[1]}: train it with the same architecture"
            )

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return one round with a shadow model, or one per part without.

        The bits came with the data and are not drawn again, so `rounds` must be 1.
        """
        shadow = None if self.shadow is None else self.shadow.predictions
        dealt = []
        outer = PredictionGame(self.target.predictions, shadow, together=self.together)
        for seen in outer.deal(rounds, rng):
            # The round as seen from outside, with the white-box signals added.
            outside = seen.observation
            assert isinstance(outside, PredictionObservation)  # it comes from a game on predictions
            assert outside.rows is not None
            assert outside.shadow_rows is not None
            assert outside.shadow is not None
            own = self.target.signals[outside.rows.index]
            theirs = (self.shadow or self.target).signals[outside.shadow_rows.index]
            known = outside.shadow
            observation = WhiteBoxObservation(
                {**outside.signals, GRADIENT_NORM: -own.norm},
                outside.stratum,
                Shadow(
                    {**known.signals, GRADIENT_NORM: -theirs.norm},
                    known.member,
                    known.stratum,
                    known.unit,
                ),
                rows=outside.rows,
                shadow_rows=outside.shadow_rows,
                white_box=own,
                shadow_white_box=theirs,
            )
            dealt.append(Round(observation, seen.secret, seen.target, seen.unit))
        return dealt


@dataclass(frozen=True)
class WhiteBox:
    """A network on a record's gradients, activations, loss and true class.

    Notes
    -----
    Nasr, Shokri & Houmansadr (2019), "Comprehensive privacy analysis of deep learning", IEEE S&P,
    section III. As there, the inputs are the gradient of the loss by the parameters, the loss and
    the one-hot class, and the network learns from records with known membership. Unlike there, each
    layer's gradient enters as its norm, and the last layer's also as the two vectors that have it
    as their outer product (`slopes` and `activations`), in place of convolutions over the matrix.
    One hidden layer takes all inputs, in place of an encoder with a component per input, and there
    is no unsupervised form. Activations are excluded by default: as in that paper, they are
    uninformative on their own, and a few hundred records are memorised from them. Learnt on a
    shadow model's records they mislead, because the hidden units of two networks have no common
    order.
    """

    parts: tuple[str, ...] = PARTS[:-1]
    """Inputs of the network, some of `PARTS`: the log of the gradient's norm in each layer, the
    gradient by the logits, the log of the loss, the one-hot class, and the last layer's inputs.
    Default: all but the last."""
    network: Network = SMALL_STEPS
    """The network."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        wrong = [part for part in self.parts if part not in PARTS]
        if wrong or not self.parts or len(set(self.parts)) < len(self.parts):
            raise InputError(
                f"parts must be some of {', '.join(PARTS)}, each once, got {self.parts}"
            )

    name = "white-box"

    @property
    def variant(self) -> str:
        """Inputs of the network, if they differ from the default."""
        return "" if self.parts == WhiteBox.parts else " + ".join(self.parts)

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        if not isinstance(observation, WhiteBoxObservation):
            return Skipped(self.name, "needs the model's gradients: audit it with audit_white_box")
        own = observation.white_box
        known = observation.shadow_white_box
        shadow = observation.shadow
        if own is None or known is None or shadow is None:
            return Skipped(self.name, "needs gradients of shadow records with known membership")
        if not rarer(shadow.member):
            return Skipped(self.name, "too few shadow records: it needs members and non-members")
        inputs = standardise_both(self._inputs(known), self._inputs(own))
        value = self.network.log_odds(inputs[0], shadow.member, inputs[1], rng)
        return Scores(value, Cut(0.0, "of even odds"))

    def _inputs(self, seen: WhiteBoxSignals) -> Inputs:
        kinds: dict[str, NDArray[Any]] = {
            "gradients": np.log(np.maximum(seen.norms, _FLOOR)),
            "slopes": seen.slope,
            "activations": seen.hidden,
            "loss": np.log(np.maximum(seen.loss[:, None], _FLOOR)),
            "label": one_hot(seen.labels, seen.logits.shape[1]),
        }
        return np.hstack([kinds[part] for part in self.parts]).astype(np.float32)


def white_box_attacks() -> tuple[Attack, ...]:
    """Return the suite of a white-box audit: black-box attacks, and those that use the weights."""
    return (
        *prediction_attacks(logits=True),
        NeuralNasr(),
        Threshold(GRADIENT_NORM, per_class=True),
        Threshold(GRADIENT_NORM, per_class=False),
        WhiteBox(),
    )


_BLACK_BOX = "Sees the model's full prediction and the true class of a record (black box)"
_WHITE_BOX = (
    "Holds the model's weights and sees the gradient of a record's loss (white box), its full "
    "prediction and its true class"
)


@dataclass(frozen=True, kw_only=True)
class WhiteBoxOptions(Options):
    """An audit of a torch network against an adversary who holds its weights."""

    attacks: Sequence[Attack] | None = keyword(
        "Attacks; default: the suite of `white_box_attacks`.", default=None
    )
    estimator: Estimator | None = keyword(
        "Estimator of the privacy risk score; default: isotonic regression.", default=None
    )
    allow_missing_classes: bool = keyword(
        "Whether classes without shadow records may use the global threshold.", default=False
    )
    shadow: ShadowModule | None = keyword(
        "Shadow model that the adversary learns from. Default: it knows the membership of two "
        "fifths of the records, learns on these, and is judged on another fifth, in turn.",
        default=None,
    )
    drawn: bool = keyword("Whether fair, independent coins chose the members.", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.kinds(self.attacks, "attacks", "score", "pg.attacks.Threshold(...)")
        checks.kind(self.estimator, "estimator", "learn", "pg.attacks.Isotonic()")
        checks.kind(
            self.shadow, "shadow", ShadowModule, "pg.attacks.ShadowModule(model, x, y, member)"
        )

    def run(
        self,
        model: torch.nn.Module,
        x: ArrayLike,
        y: ArrayLike,
        member: ArrayLike,
        *,
        slices: Mapping[str, ArrayLike] | None = None,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        session: Session = Session("white-box"),
    ) -> Audit:
        """Audit a torch network against an adversary who holds its weights.

        Attacks with access to gradients and attacks on predictions play on the same records, so
        that the difference is what the weights add.

        Parameters
        ----------
        model : torch.nn.Module
            Takes (n, d) features and returns (n, k) logits. It is copied, not changed.
        x : array_like, shape (n, d)
        y : array_like of int, shape (n,)
            Classes in 0..k-1.
        member : array_like of bool, shape (n,)
            True where the record was in the training set; both kinds must occur.
        slices, ids, unit
            As in `audit_model`; parts keep the records of a person together, too.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        Audit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        Nasr, Shokri & Houmansadr (2019), section III; compared with attacks on predictions as in
        Song & Mittal (2021), section 3.3.4 and Table 5.
        """
        shadow = self.shadow
        signals = white_box_signals(model, x, y)
        target = WhiteBoxSide(signals, checks.bools(member, "member", length=len(signals)))
        own = None
        if shadow is not None:
            theirs = white_box_signals(shadow.model, shadow.x, shadow.y)
            own = WhiteBoxSide(theirs, checks.bools(shadow.member, "member", length=len(theirs)))
        seen = predictions(
            logits=signals.logits,
            labels=signals.labels,
            member=target.member,
            ids=ids,
            columns=slices,
            unit=unit,
            name="target model",
        )
        owned = settle_units(seen, drawn=self.drawn, features=np.asarray(x))
        seen = owned.target
        # The units that were settled on the predictions hold for the gradients, too.
        game = WhiteBoxGame(replace(target, unit=seen.unit), own, owned.together)
        known = None if own is None else own.predictions
        require_other_rows(seen, known)
        engine = {"model": type(model).__name__, "gradients": signals.engine}
        outside = game_description(seen, known, self.drawn)
        game_in_words = replace(
            outside,
            name="membership inference with the weights",
            adversary=outside.adversary.replace(_BLACK_BOX, _WHITE_BOX),
        )
        rounds = game.deal(1, seeds.stream(session.seed, "deal"))
        comparison, unused = comparison_of(
            rounds, owned, session.seed, session.level, features=np.asarray(x), drawn=self.drawn
        )
        attacks = white_box_attacks() if self.attacks is None else self.attacks
        return assemble(
            DealtGame(
                rounds,
                seen,
                description=game_in_words,
                comparison=comparison,
                has_shadow=own is not None,
                features=np.asarray(x),
            ),
            PredictionAuditOptions(attacks, self.estimator, slices),
            replace(session, provenance={**engine, **(session.provenance or {})}),
            warnings=[
                *missing_classes(seen, known, self.allow_missing_classes),
                *owned.warnings,
                *unused,
            ],
        )


audit_white_box = one_line(WhiteBoxOptions, WhiteBoxOptions.run, "audit_white_box", without=KEEPING)
