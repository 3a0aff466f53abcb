"""DP-SGD: private training by clipping and noise, here or by Opacus, and its privacy accounting."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.special import logsumexp

from privacygauge.claims.defences.early_stopping import ByEpoch, trainable
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.networks.engines import layers_of
from privacygauge.classifiers.networks.task import Optimiser, Task
from privacygauge.classifiers.trainer import Cohort
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats
from privacygauge.errors import InputError
from privacygauge.evaluate.sampled_steps import gaussian_epsilon

if TYPE_CHECKING:
    import torch

EXACT = "exact (Gaussian mechanism)"
"""Name of the accountant if every record takes part in every step."""

RDP = "RDP (PrivacyGauge)"
"""Name of the accountant without the extra `accounting`: Renyi differential privacy."""

# The range in which a noise multiplier is searched.
_LEAST_NOISE = 1e-2
_MOST_NOISE = 1e5

_ORDERS = math.log(0.01), math.log(1023.0)
"""Range of the Renyi orders that are tried, as logarithms of order - 1."""

_FINE = 1e-2
"""Approximate rounding of the privacy losses of all steps together, as a share of epsilon."""

_MOST_LOSSES = 4_000_000
"""Largest number of privacy losses on one step's grid; a coarser grid is as sound."""

_LEAST_DELTA = 1e-12
"""Smallest delta at which rounding of sums of probabilities is negligible."""


@dataclass(frozen=True)
class SubsampledGaussian:
    """Steps that each sample every record by a coin, and add normal noise to a clipped sum.

    Neighbouring data sets differ by one record added or removed.

    Examples
    --------
    >>> spent = SubsampledGaussian(noise_multiplier=2.0, sampling_rate=1.0, steps=4)
    >>> round(spent.epsilon(1e-5), 2), spent.accountant(1e-5)
    (4.38, 'exact (Gaussian mechanism)')
    """

    noise_multiplier: float
    """Standard deviation of the noise over the clipping norm, at least 0."""
    sampling_rate: float
    """Probability that a record takes part in a step, in (0, 1]; independent of all others."""
    steps: int
    """Number of steps, at least 1."""

    def __post_init__(self) -> None:
        if not 0 <= self.noise_multiplier < math.inf:
            raise InputError(
                f"noise_multiplier must be finite and at least 0, got {self.noise_multiplier}"
            )
        if not 0 < self.sampling_rate <= 1:
            raise InputError(f"sampling_rate must be in (0, 1], got {self.sampling_rate}")
        checks.at_least(1, steps=self.steps)

    def epsilon(self, delta: float) -> float:
        """Return an upper bound on epsilon at this delta, by the best available accountant.

        At least 0, and infinite without noise; delta is in (0, 1).

        Notes
        -----
        Without sampling it is exact (`gaussian_epsilon`). Otherwise the distribution of the
        privacy loss of one step is rounded so that epsilon can only grow (Doroshenko et al. 2022)
        and convolved with itself, by dp-accounting, where the extra ``accounting`` is installed
        and delta is at least 1e-12. The result is at most about half a percent above the truth.
        Otherwise it is `renyi_epsilon`, which was larger by 7% to 23% in all measured settings.
        """
        return _account(self, checks.level(delta, "delta"), pld_accountant())[0]

    def accountant(self, delta: float) -> str:
        """Return the accountant's name at this delta, such as ``PLD (dp-accounting 0.6.0)``."""
        return _account(self, checks.level(delta, "delta"), pld_accountant())[1]

    def renyi_epsilon(self, delta: float) -> float:
        """Return the smallest epsilon, at least 0, by Renyi divergences; infinite without noise.

        Notes
        -----
        ``renyi(a) + log(1 - 1 / a) - (log delta + log a) / (a - 1)`` (Canonne, Kamath & Steinke
        2020, proposition 12), minimised over orders a from 1.01 to 1024. Multiplied by a - 1 it is
        convex, so it falls and then rises, and a single search finds the minimum.
        """
        checks.level(delta, "delta")
        if self.noise_multiplier == 0:
            return math.inf

        def proven(log_above: float) -> float:
            above = math.exp(log_above)
            a = 1 + above
            spent = self.steps * self._log_moment(a) - math.log(delta) - math.log(a)
            return spent / above + math.log1p(-1 / a)

        found = minimize_scalar(proven, bounds=_ORDERS, method="bounded", options={"xatol": 1e-4})
        return max(0.0, float(found.fun))

    def renyi(self, orders: ArrayLike) -> Floats:
        """Return the Renyi divergence of all steps together, (a,), for orders (a,) above 1.

        At least 0; infinite without noise.

        Notes
        -----
        ``steps / (a - 1) * log E[(1 - q + q e^((2 x - 1) / (2 s^2)))^a]`` for x normal around 0
        with standard deviation s, which bounds either direction (Mironov, Talwar & Zhang 2019,
        section 3.3 and theorem 5): an integral by the trapezoidal rule, whose error decays
        exponentially. Near 1, the 1 is subtracted inside the integral, so that nothing cancels.
        """
        asked = checks.floats(orders, "orders")
        if not len(asked) or asked.min() <= 1:
            raise InputError(f"orders must be above 1, got {checks.short_list(asked.tolist())}")
        if self.noise_multiplier == 0:
            return np.full(len(asked), np.inf)
        return np.array([self.steps * self._log_moment(a) / (a - 1) for a in asked.tolist()])

    def _log_moment(self, order: float) -> float:
        q = self.sampling_rate
        s = self.noise_multiplier
        if q == 1:
            # Two normals one apart have divergence a / (2 s^2), times a - 1 here.
            return order * (order - 1) / (2 * s**2)
        # The ratio has its nearest zeros pi s^2 away from the real line.
        step = min(s / 4, s * s / 2)
        # The integrand peaks between 0 and the order; 12 deviations beyond, it is negligible.
        x = np.arange(-12 * s, order + 12 * s, step)
        mass = np.log(step / (s * math.sqrt(2 * math.pi))) - x * x / (2 * s * s)
        z = (2 * x - 1) / (2 * s * s)
        # log(1 - q + q e^z): one form does not overflow, the other does not cancel.
        ratio = np.where(
            z > 1,
            np.logaddexp(np.log1p(-q), np.log(q) + z),
            np.log1p(q * np.expm1(np.minimum(z, 1.0))),
        )
        whole = float(logsumexp(mass + order * ratio))
        if whole > 0.1:
            return whole
        # The ratio is 1 + u with mean u = 0, so that order * u can be subtracted too.
        u = np.expm1(np.minimum(ratio, 1.0))
        # (1 + u)^order - 1 - order u as a Taylor series up to u^5, in nested form.
        series = u * u * order * (order - 1) / 2
        series *= 1 + (order - 2) * u / 3 * (1 + (order - 3) * u / 4 * (1 + (order - 4) * u / 5))
        small = np.where(
            order * np.abs(u) < 1e-3, series, np.expm1(order * np.log1p(u)) - order * u
        )
        # The same expression where the ratio may overflow: each term with its mass, from logs.
        large = np.exp(mass + order * ratio) - order * np.exp(mass + ratio)
        large += (order - 1) * np.exp(mass)
        return math.log1p(float(np.where(ratio < 1, np.exp(mass) * small, large).sum()))


def pld_accountant() -> str:
    """Return the name of the accountant by privacy loss distributions; empty if not installed."""
    try:
        return f"PLD (dp-accounting {version('dp-accounting')})"
    except PackageNotFoundError:
        return ""


def noise_for(epsilon: float, delta: float, sampling_rate: float, steps: int) -> float:
    """Return the noise multiplier that spends this epsilon, rounded up by about 1e-4 of it.

    Parameters
    ----------
    epsilon : float
        Privacy budget, above 0; never exceeded, by the accountant of `SubsampledGaussian`.
    delta : float
        Delta of the guarantee, in (0, 1).
    sampling_rate : float
        Probability that a record takes part in a step, in (0, 1].
    steps : int
        Number of steps, at least 1.

    Raises
    ------
    InputError
        If no noise multiplier up to 100,000 is enough.

    Examples
    --------
    >>> round(noise_for(4.38, 1e-5, sampling_rate=1.0, steps=4), 2)
    2.0
    """
    checks.positive(epsilon=epsilon)
    checks.level(delta, "delta")

    def excess(log_noise: float, account: Callable[[SubsampledGaussian, float], float]) -> float:
        spent = account(SubsampledGaussian(math.exp(log_noise), sampling_rate, steps), delta)
        # Logs make the search even over scales; the clip keeps 0 and infinity finite.
        return math.log(min(max(spent, 1e-9), 1e9) / epsilon)

    renyi = partial(excess, account=SubsampledGaussian.renyi_epsilon)
    exact = partial(excess, account=SubsampledGaussian.epsilon)
    low = math.log(_LEAST_NOISE)
    high = math.log(_MOST_NOISE)
    # epsilon falls with the noise: if the most noise is not enough, no noise is.
    if renyi(high) > 0:
        raise InputError(
            f"epsilon must be one that noise can reach in {steps} steps, got {epsilon}: take a "
            "larger epsilon or delta, or fewer steps"
        )
    # The quick accountant needs slightly more noise than the exact one, in most cases.
    high = brentq(renyi, low, high, xtol=2e-5) + 4e-5 if renyi(low) > 0 else low
    # Widen the bracket downwards until it holds too little noise.
    while exact(low := max(high - 0.1, math.log(_LEAST_NOISE))) <= 0:
        if high == low:
            return _LEAST_NOISE
        high = low
    found = brentq(exact, low, high, xtol=2e-5) + 4e-5 if exact(high) < 0 else high
    # Losses are rounded, so epsilon falls in tiny jumps.
    while exact(found) > 0:
        found += 4e-5
    return math.exp(found)


@lru_cache(maxsize=256)
def _account(spent: SubsampledGaussian, delta: float, pld: str) -> tuple[float, str]:
    """Return epsilon and its accountant; `pld` names that of `pld_accountant`, empty if missing."""
    noise = spent.noise_multiplier
    # A record that is sampled less often has no more influence: exact at rate 1, else a bound.
    mu = math.sqrt(spent.steps) / noise if noise else math.inf
    whole = math.inf if math.isinf(mu) else gaussian_epsilon(mu, delta)
    if spent.sampling_rate == 1:
        return whole, EXACT
    renyi = min(spent.renyi_epsilon(delta), whole)
    if not pld or delta < _LEAST_DELTA or not 0 < renyi < math.inf:
        return renyi, RDP
    # By privacy loss distributions, rounded up.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism

        # x stays within 10 s of 0 or 1, so losses (2 x - 1) / (2 s^2) span this range.
        range_of_losses = (1 + 20 * noise) / noise**2
        found = renyi
        while True:
            above = found
            width = max(_FINE * above / math.sqrt(spent.steps), range_of_losses / _MOST_LOSSES)
            one = from_gaussian_mechanism(
                noise, value_discretization_interval=width, sampling_prob=spent.sampling_rate
            )
            found = float(one.self_compose(spent.steps).get_epsilon_for_delta(delta))
            # If the upper bound was loose the grid was coarse: repeat with the better bound.
            if found > above / 2 or found < 1e-3:
                return min(found, renyi), pld


@dataclass(frozen=True)
class PrivateTraining(ByEpoch):
    """The settings of DP-SGD, and the privacy that it spends.

    In each step every record takes part with probability `sampling_rate`. Its own gradient is
    scaled down to the norm `clip` if it is longer. The sum of these gradients gets normal noise of
    standard deviation ``noise_multiplier * clip`` in every weight, and is divided by the
    `batch_size` of `networks`: the expected batch, which must not depend on who is in the training
    set. An epoch has ``round(1 / sampling_rate)`` steps.

    Neighbouring training sets differ by one record added or removed. Noise comes from torch's
    ordinary generator under the model's seed, in floating point: good enough to measure the effect
    of the defence, but not to release a model if its seed may become known.

    Notes
    -----
    Abadi et al. (2016), algorithm 1.
    """

    networks: Networks
    """The settings of the training; its `batch_size` is the expected batch."""
    noise_multiplier: float
    """Noise per clipping norm, at least 0; 0 clips only and gives no privacy."""
    sampling_rate: float
    """Probability that a record takes part in a step, in (0, 1]."""
    clip: float = 1.0
    """Clipping norm of a record's gradient, above 0."""

    defence = "DP-SGD"
    detail = " (noise {noise_multiplier:g})"

    def __post_init__(self) -> None:
        checks.positive(clip=self.clip)
        # Its validation is that of these two fields.
        SubsampledGaussian(self.noise_multiplier, self.sampling_rate, 1)

    @property
    def steps_an_epoch(self) -> int:
        """Steps per epoch, in which a record takes part once on average."""
        return round(1 / self.sampling_rate)

    @property
    def spent(self) -> SubsampledGaussian:
        """Privacy spent by the whole training."""
        steps = self.networks.epochs * self.steps_an_epoch
        return SubsampledGaussian(self.noise_multiplier, self.sampling_rate, steps)

    def epsilon(self, delta: float) -> float:
        """Return the epsilon of the whole training at this delta, in (0, 1), by the accountant."""
        return self.spent.epsilon(delta)

    def accountant(self, delta: float) -> str:
        """Return the accountant's name at this delta, such as ``PLD (dp-accounting 0.6.0)``."""
        return self.spent.accountant(delta)

    def sampled(self, task: Task, model: int, epoch: int) -> Iterator[torch.Tensor]:
        """Yield the rows that take part in each step of an epoch; there may be none."""
        import torch

        rng = seeds.stream(task.seeds[model], "sampled", epoch)
        own = task.inside[model]
        for _ in range(self.steps_an_epoch):
            # Coins are tossed for records outside too: leaving one out changes no other coin.
            rows = torch.from_numpy(np.flatnonzero(own & self._coins(rng, len(own))))
            yield rows.to(task.x.device)

    def _coins(self, rng: np.random.Generator, n: int) -> NDArray[np.bool_]:
        return rng.random(n) < self.sampling_rate


def noise_of(task: Task, model: int) -> torch.Generator:
    """Return the generator of a model's noise, on the task's device."""
    import torch

    noise = torch.Generator(task.x.device)
    noise.manual_seed(int(seeds.stream(task.seeds[model], "noise").integers(2**63)))
    return noise


@dataclass(frozen=True)
class DpSgd(PrivateTraining):
    """Trains dense networks on sums of clipped gradients with normal noise: `PrivateTraining`.

    `make` of `networks` must give a Sequential of Linear layers and activations. `OpacusDpSgd`
    trains other modules.

    Notes
    -----
    Abadi et al. (2016), algorithm 1. In dense layers, norms do not need the gradients themselves: a
    record's gradient by a matrix is the outer product of the layer's inputs and the gradient by its
    outputs, and its norm is the product of their norms (Goodfellow 2015).
    """

    def task(self, cohort: Cohort) -> Task:
        """Return the checked task of training these models."""
        task = super().task(cohort)
        if layers_of(task.module(0)) is None:
            raise InputError(
                "make must return a Sequential of Linear layers and activations for DP-SGD: "
                "train other modules with OpacusDpSgd (dp-sgd-opacus on the command line)"
            )
        return task

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        import torch

        module = task.module(model)
        noise = noise_of(task, model)
        weights = [p.detach() for p in module.parameters()]
        optimiser = Optimiser(task.rule, weights)
        for epoch in range(task.epochs):
            for batch in self.sampled(task, model, epoch):
                with torch.no_grad():
                    means = []
                    for total in clipped_sum(module, task.x[batch], task.y[batch], self.clip):
                        noisy = total
                        if self.noise_multiplier:
                            drawn = torch.randn(
                                total.shape, generator=noise, dtype=total.dtype, device=total.device
                            )
                            noisy = total + drawn * (self.noise_multiplier * self.clip)
                        # The expected batch: the real one would give memberships away.
                        means.append(noisy / task.batch_size)
                    optimiser.step(means)
            yield module


def clipped_sum(
    module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, clip: float
) -> list[torch.Tensor]:
    """Return the sum over records of their clipped gradients of the cross-entropy.

    One tensor per parameter of the module, a Sequential of Linear layers and activations. There may
    be no records (r, d); `clip` is the largest norm of a record's gradient, above 0.
    """
    import torch

    layers = layers_of(module)
    assert layers is not None  # checked before training
    state = dict(module.named_parameters())
    matrices = {layer.name: state[f"{layer.name}.weight"] for layer in layers}
    # The inputs of every layer, and the logits last.
    values = [x]
    for layer in layers:
        value = module.get_submodule(layer.name)(values[-1])
        if layer.activation is not None:
            layer.activation.forward(value)
        values.append(value)
    # The gradient of each record's own loss by every layer's outputs, before activation. By the
    # logits the gradient of the cross-entropy is p - e_y.
    slope = torch.softmax(values[-1], 1)
    slope[torch.arange(len(y), device=y.device), y] -= 1
    slopes: list[torch.Tensor] = []
    # Each layer with its own outputs, from the logits back; the records themselves remain.
    for layer, outputs in zip(reversed(layers), reversed(values), strict=False):
        if layer.activation is not None:
            layer.activation.backward(slope, outputs)
        slopes.insert(0, slope)
        slope = slope @ matrices[layer.name]
    squared = x.new_zeros(len(x))
    for layer, value, slope in zip(layers, values, slopes, strict=False):
        # A bias is a weight on an input of 1, which adds 1 to the squared norm of the inputs.
        squared += (value.square().sum(1) + float(layer.bias)) * slope.square().sum(1)
    # min(1, clip / norm), also for a norm of 0.
    scale = (clip / squared.sqrt().clamp_min(clip))[:, None]
    found: list[torch.Tensor] = []
    for layer, value, slope in zip(layers, values, slopes, strict=False):
        scaled = slope * scale
        # The sum of outer products over records is one product of matrices.
        found.append(scaled.T @ value)
        found += [scaled.sum(0)] if layer.bias else []
    return found


@dataclass(frozen=True)
class OpacusDpSgd(PrivateTraining):
    """Trains modules by Opacus on sums of clipped gradients with normal noise.

    The algorithm is that of `PrivateTraining`. Opacus takes the gradients record by record, clips
    them and adds the noise; the coins that sample batches are PrivacyGauge's, as in `DpSgd`. Layers
    that mix records, such as batch normalisation, are refused.

    Notes
    -----
    Yousefpour et al. (2021), "Opacus: user-friendly differential privacy library in PyTorch".
    Opacus's secure mode, with noise from the operating system that floating point cannot betray,
    needs the package torchcsprng and is not used: as in `DpSgd`, the noise is good enough to
    measure the effect of the defence.
    """

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        the_opacus()
        return {**super().describe(), "opacus": version("opacus")}

    def task(self, cohort: Cohort) -> Task:
        """Return the checked task of training these models."""
        validators = the_opacus("validators")
        task = super().task(cohort)
        errors = validators.ModuleValidator.validate(task.module(0).train(), strict=False)
        if errors:
            why = str(errors[0]).splitlines()[0]
            raise InputError(
                f"make must return a module that Opacus can train ({why}): "
                "opacus.validators.ModuleValidator.fix replaces such layers"
            )
        return task

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        import torch
        from torch.nn.functional import cross_entropy

        module = task.module(model)
        weights = trainable(module)
        hooked = the_opacus("grad_sample").GradSampleModule(module, loss_reduction="sum")
        rule = task.rule
        inner: Any = None
        if rule.name == "adam":
            inner = torch.optim.Adam(weights, rule.learning_rate, weight_decay=rule.weight_decay)
        else:
            inner = torch.optim.SGD(
                weights, rule.learning_rate, momentum=rule.momentum, weight_decay=rule.weight_decay
            )
        optimiser = the_opacus("optimizers").DPOptimizer(
            inner,
            noise_multiplier=self.noise_multiplier,
            max_grad_norm=self.clip,
            expected_batch_size=task.batch_size,
            generator=noise_of(task, model),
        )
        for epoch in range(task.epochs):
            hooked.train()
            for batch in self.sampled(task, model, epoch):
                optimiser.zero_grad()
                if len(batch):
                    with warnings.catch_warnings():
                        # Opacus hooks every layer, the first one too, whose inputs are data.
                        warnings.filterwarnings(
                            "ignore", "Full backward hook is firing", UserWarning
                        )
                        loss = cross_entropy(hooked(task.x[batch]), task.y[batch], reduction="sum")
                        loss.backward()
                else:
                    # Some layers refuse to run on an empty batch, which leaves no gradients.
                    for weight in weights:
                        empty = weight.new_zeros((0, *weight.shape))
                        weight.grad_sample = empty  # type: ignore[attr-defined]
                optimiser.step()
            yield module


def the_opacus(part: str = "") -> ModuleType:
    """Return the module opacus, or one of its parts.

    Raises
    ------
    InputError
        If it is not installed.
    """
    try:
        return import_module(f"opacus.{part}" if part else "opacus")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "opacus":
            raise
        raise InputError(
            "this DP-SGD needs Opacus, which is not installed: pip install 'privacygauge[opacus]', "
            "or take dp-sgd for dense networks"
        ) from error
