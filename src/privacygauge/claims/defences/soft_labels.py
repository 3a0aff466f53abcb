"""Defences that train on other labels or another loss: smoothed, mixed, relaxed or distilled."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax

from privacygauge.claims.defences.defence import FormattedVariant
from privacygauge.claims.defences.early_stopping import (
    ByEpoch,
    OfNetworks,
    batches_of_epoch,
    descend,
    trainable,
)
from privacygauge.claims.defences.training import UndefendedTraining
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.networks.task import Optimiser, Task
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import torch


class ByLoss(FormattedVariant, ABC):
    """A defence that trains the same networks on the same batches with another loss."""

    name: str

    @abstractmethod
    def loss(
        self, module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, epoch: int
    ) -> torch.Tensor:
        """Return the loss of a batch of records (b, d) with classes (b,); torch is seeded."""

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the same training with this loss."""
        return WithLoss(of.networks(self.name), self)


@dataclass(frozen=True)
class LabelSmoothing(ByLoss):
    """Training on labels with a share of the probability spread evenly over all classes.

    Notes
    -----
    Szegedy et al. (2016), section 7. It hides a model's confidence, but may reveal members even
    better than hard labels: only they come close to the smoothed label (Kaya & Dumitras 2021).
    """

    share: float = 0.1
    """Share of the probability that is spread, in (0, 1)."""

    def __post_init__(self) -> None:
        checks.level(self.share, "share")

    name = "label-smoothing"
    variant_form = "share {share:g}"

    def loss(
        self, module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, epoch: int
    ) -> torch.Tensor:
        """Return the cross-entropy with the smoothed labels."""
        from torch.nn.functional import cross_entropy

        return cross_entropy(module(x), y, label_smoothing=self.share)


@dataclass(frozen=True)
class Mixup(ByLoss):
    """Training on blends of two records and of their labels.

    Notes
    -----
    Zhang et al. (2018): the share of the first record follows a Beta(alpha, alpha) distribution,
    one for each batch.
    """

    alpha: float = 1.0
    """Parameter of the Beta distribution, above 0; small values hardly blend."""

    def __post_init__(self) -> None:
        checks.positive(alpha=self.alpha)

    name = "mixup"
    variant_form = "alpha {alpha:g}"

    def loss(
        self, module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, epoch: int
    ) -> torch.Tensor:
        """Return the cross-entropy of blended records with blended labels."""
        import torch
        from torch.nn.functional import cross_entropy

        # One share for the whole batch, as in the authors' algorithm.
        share = torch.distributions.Beta(self.alpha, self.alpha).sample().to(x)
        other = torch.randperm(len(x)).to(x.device)
        logits = module(share * x + (1 - share) * x[other])
        # Cross-entropy is linear in the labels: blending losses is blending labels.
        mixed: torch.Tensor = share * cross_entropy(logits, y) + (1 - share) * cross_entropy(
            logits, y[other]
        )
        return mixed


@dataclass(frozen=True)
class RelaxLoss(ByLoss):
    """Training towards a mean loss above 0, so that members keep a loss like that of non-members.

    Notes
    -----
    Chen, Yu & Fritz (2022), algorithm 1. If a batch's mean loss is above the target, the step goes
    down the loss as usual. Otherwise it goes up the loss in every other epoch, from the first one
    on. In the epochs between, correctly predicted records get soft labels: the model's current
    probability for their class, with the rest spread evenly over the others (posterior flattening).
    """

    target: float = 0.5
    """Mean loss to train towards, above 0, in nats."""

    def __post_init__(self) -> None:
        checks.positive(target=self.target)

    name = "relaxloss"
    variant_form = "loss {target:g}"

    def loss(
        self, module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, epoch: int
    ) -> torch.Tensor:
        """Return the loss; descending it is the algorithm's step."""
        import torch
        from torch.nn.functional import cross_entropy

        logits = module(x)
        mean = cross_entropy(logits, y)
        if mean > self.target:
            return mean
        # Descending minus the loss is ascending the loss.
        if epoch % 2 == 0:
            return -mean
        # Other epochs flatten right predictions: the other classes share the rest equally.
        # Labels are constants: no gradient flows through the current probabilities.
        p = torch.softmax(logits.detach(), 1)
        own = p.gather(1, y[:, None])
        flat = (1 - own).expand_as(p) / (p.shape[1] - 1)
        labels = flat.scatter(1, y[:, None], own)
        hard = torch.zeros_like(p).scatter(1, y[:, None], 1.0)
        right = (p.argmax(1) == y)[:, None]
        return cross_entropy(logits, torch.where(right, labels, hard))


@dataclass(frozen=True)
class Hamp(ByLoss):
    """Training on labels of high entropy, with answers that keep only the order of the classes.

    Notes
    -----
    Chen & Pattabiraman (2024). Soft labels have the requested share of the largest entropy, and the
    loss rewards entropy of the model's answers. The released answer to a record is the sorted
    answer to a random record, in the order of the record's own classes: the predicted class stays.
    """

    entropy: float = 0.9
    """Entropy of the labels as a share of the largest, in (0, 1)."""
    reward: float = 0.01
    """Weight of the entropy of answers in the loss, at least 0."""

    def __post_init__(self) -> None:
        checks.level(self.entropy, "entropy")
        if not 0 <= self.reward < math.inf:
            raise InputError(f"reward must be finite and at least 0, got {self.reward}")

    name = "hamp"
    variant_form = "entropy {entropy:g}"

    def loss(
        self, module: torch.nn.Module, x: torch.Tensor, y: torch.Tensor, epoch: int
    ) -> torch.Tensor:
        """Return the divergence from the soft labels, less the entropy of the answers."""
        import torch
        from torch.nn.functional import cross_entropy

        logits = module(x)
        k = logits.shape[1]
        own = own_share(self.entropy, k)
        log_p = torch.log_softmax(logits, 1)
        # Soft labels are constants; the divergence from them differs from this cross-entropy by
        # their entropy, which has no gradient.
        labels = torch.full_like(logits, (1 - own) / (k - 1)).scatter(1, y[:, None], own)
        entropy = -(log_p.exp() * log_p).sum(1).mean()
        return cross_entropy(logits, labels) - self.reward * entropy

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the same training with this loss, and answers that show only class order."""
        return RankedAnswers(WithLoss(of.networks(self.name), self))


def own_share(entropy: float, k: int) -> float:
    """Return the probability of a label's own class for an entropy, as a share of ``log k``.

    The rest is spread evenly over the other ``k - 1`` classes.

    Examples
    --------
    >>> round(own_share(0.5, 2), 3)
    0.89
    """

    def missing(p: float) -> float:
        rest = 1 - p
        return -p * math.log(p) - rest * math.log(rest / (k - 1)) - entropy * math.log(k)

    # From even labels, with all the entropy, to almost hard ones, with hardly any.
    return float(brentq(missing, 1 / k, 1 - 1e-12))


@dataclass(frozen=True)
class Distillation(FormattedVariant):
    """Training of a student on other records, labelled by a teacher that was trained on members.

    Notes
    -----
    Shejwalkar & Houmansadr (2021), DMP: the student never sees a member. The other records are the
    reference records, on which no attack is judged.
    """

    temperature: float = 1.0
    """Divisor of the teacher's logits, above 0."""

    def __post_init__(self) -> None:
        checks.positive(temperature=self.temperature)

    name = "distillation"
    variant_form = "temperature {temperature:g}"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the training of a teacher, and of a student on the reference records."""
        return DistilledStudent(of.networks(self.name), self.temperature, of.references)


@dataclass(frozen=True)
class Selena(FormattedVariant):
    """Training on each member's mean answer from models that were trained without it.

    Notes
    -----
    Tang et al. (2022). Each member is left out of L of K models. Their mean answer for it
    (Split-AI) is the label on which the released model is trained (self-distillation).
    """

    models: int = 25
    """Models that label the members, K, at least 2."""
    without: int | None = None
    """Models without each member, L, in 1..K - 1; default: two fifths of K, as in the paper."""

    def __post_init__(self) -> None:
        checks.at_least(2, models=self.models)
        if not 1 <= self.left_out < self.models:
            raise InputError(f"without must be in 1..{self.models - 1}, got {self.without}")

    name = "selena"

    @property
    def left_out(self) -> int:
        """Models without each member."""
        return max(1, round(0.4 * self.models)) if self.without is None else self.without

    variant_form = "{models} models"

    def trainer(self, of: UndefendedTraining) -> Trainer:
        """Return the training of all models, and of one on their mean answers."""
        return SplitAnswers(of.networks(self.name), self.models, self.left_out)


@dataclass(frozen=True)
class WithLoss(ByEpoch):
    """Trainer of networks on the batches of `Networks`, with a defence's loss."""

    networks: Networks
    """Settings of the training."""
    by: ByLoss
    """The defence."""

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return f"{self.by.name} of {self.networks.name}"

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {
            "defence": f"{self.by.name}, {self.by.variant}",
            "settings": vars(self.by).copy(),
            "networks": dict(self.networks.describe()),
        }

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        module = task.module(model)
        weights = trainable(module)
        optimiser = Optimiser(task.rule, weights)
        for epoch in range(task.epochs):
            module.train()
            for batch in batches_of_epoch(task, model, epoch):
                loss = self.by.loss(module, task.x[batch], task.y[batch], epoch)
                descend(optimiser, loss, weights)
            yield module


@dataclass(frozen=True)
class RankedAnswers:
    """Trainer with a loss, which answers each record with the sorted answer to a random one."""

    by: WithLoss
    """Trains the models."""

    logits = True

    @property
    def networks(self) -> Networks:
        """Settings of the training."""
        return self.by.networks

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return self.by.name

    def describe(self) -> Mapping[str, Any]:
        """Return all settings that affect the result besides the data, as JSON values."""
        return {**self.by.describe(), "answers": "the order of the classes alone"}

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the released logits, (m, a, k).

        Random records are uniform between the smallest and the largest value of each column, and
        the same for all models.
        """
        x = np.asarray(cohort.x)
        n = len(x)
        a = len(cohort.asked)
        # Drawn without the models' seeds: every model answers the same random records.
        rng = seeds.stream(0, "random records", a)
        drawn = rng.uniform(x.min(axis=0), x.max(axis=0), (a, *x.shape[1:])).astype(x.dtype)
        nobody = np.zeros((len(cohort), a), np.bool_)
        more = replace(
            cohort,
            x=np.concatenate([x, drawn]),
            y=np.concatenate([cohort.y, np.zeros(a, cohort.y.dtype)]),
            inside=np.concatenate([cohort.inside, nobody], axis=1),
            asked=np.concatenate([cohort.asked, n + np.arange(a)]),
        )
        found = self.by.train(more)
        own = found[:, :a]
        # Twice argsort: rank of each class in the record's own answer.
        ranks = own.argsort(axis=2, kind="stable").argsort(axis=2, kind="stable")
        return np.take_along_axis(np.sort(found[:, a:], axis=2), ranks, axis=2)


@dataclass(frozen=True)
class _OnLabels(ByEpoch):
    """Trainer of networks on soft labels, which differ from model to model."""

    networks: Networks
    """Settings of the training."""
    labels: Floats
    """(m, n, k) Labels; those of records outside a model's training set are ignored."""

    def modules(self, task: Task, model: int) -> Iterator[torch.nn.Module]:
        """Yield a model after each epoch: one module, trained further every time."""
        import torch
        from torch.nn.functional import cross_entropy

        module = task.module(model)
        weights = trainable(module)
        optimiser = Optimiser(task.rule, weights)
        labels = torch.from_numpy(self.labels[model]).to(task.x)
        for epoch in range(task.epochs):
            module.train()
            for batch in batches_of_epoch(task, model, epoch):
                descend(optimiser, cross_entropy(module(task.x[batch]), labels[batch]), weights)
            yield module


@dataclass(frozen=True)
class DistilledStudent(OfNetworks):
    """Trainer of teachers on members, and of students on reference records labelled by them."""

    networks: Networks
    """Settings of the training of both."""
    temperature: float
    """Divisor of the teacher's logits."""
    references: tuple[int, ...]
    """Rows of the reference records, in no training set."""

    defence = "distillation"

    def __post_init__(self) -> None:
        if not self.references:
            raise InputError("distillation needs reference records, on which no model is trained")

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the students' logits, (m, a, k)."""
        rows = np.array(self.references)
        # A student that sees a member through the references would no longer be protected.
        if cohort.inside[:, rows].any():
            raise InputError("reference records must be in no training set")
        # The teacher is trained on members and asked about the references only.
        taught = self.networks.train(replace(cohort, asked=rows))
        labels = np.zeros((len(cohort), len(cohort.y), cohort.n_classes))
        labels[:, rows] = softmax(taught / self.temperature, axis=2)
        # The students' training set: the reference records alone.
        inside = np.zeros(cohort.inside.shape, np.bool_)
        inside[:, rows] = True
        return _OnLabels(self.networks, labels).train(replace(cohort, inside=inside))


@dataclass(frozen=True)
class SplitAnswers(OfNetworks):
    """Trainer on each member's mean answer from models that were trained without it."""

    networks: Networks
    """Settings of the training of all models."""
    models: int
    """Labelling models per released model."""
    without: int
    """Labelling models without each member."""

    defence = "SELENA"

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the released models' logits, (m, a, k)."""
        labels = np.zeros((len(cohort), len(cohort.y), cohort.n_classes))
        for i, (inside, seed) in enumerate(zip(cohort.inside, cohort.seeds, strict=True)):
            own: Ints = np.flatnonzero(inside)
            rng = seeds.stream(seed, "split")
            # Each member's models without it: the first of a permutation of its own.
            outside = rng.random((self.models, len(own))).argsort(axis=0) < self.without
            members = np.zeros((self.models, len(inside)), np.bool_)
            members[:, own] = ~outside
            # Seeds of their own: labelling models that start alike would err alike.
            states = rng.integers(2**31, size=self.models).tolist()
            split = replace(cohort, inside=members, seeds=states, asked=own)
            told = softmax(self.networks.train(split), axis=2)
            # Only models without the member may label it.
            labels[i, own] = (told * outside[:, :, None]).sum(axis=0) / self.without
        return _OnLabels(self.networks, labels).train(cohort)
