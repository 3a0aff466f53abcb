"""Data, modules and the plain reference that the engines are held against."""

from dataclasses import dataclass

import numpy as np

from privacygauge.classifiers.trainer import Cohort
from privacygauge.core.seeds import stream


def data(n=40, d=5, k=3, m=4, least=1, seed=0):
    """Records, and models on subsets of very different sizes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = rng.integers(k, size=n)
    inside = np.zeros((m, n), bool)
    for row in inside:
        row[rng.permutation(n)[: rng.integers(least, n + 1)]] = True
    return x, y, inside


def cohort(k=3, m=4, **options):
    """These models, with the random states 0, 1, ..., asked about all records."""
    x, y, inside = data(k=k, m=m, **options)
    return Cohort(x, y, inside, range(m), k, np.arange(len(y)))


def reference(networks, cohort):
    """Logits by torch.optim, one model after the other, as the definition reads."""
    import torch

    dtype = getattr(torch, networks.dtype)
    found = []
    x = torch.tensor(cohort.x, dtype=dtype)
    y = torch.tensor(cohort.y)
    for own, seed in zip(cohort.inside, cohort.seeds, strict=True):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            module = networks.make(x.shape[1], cohort.n_classes).to(dtype)
        shared = {"lr": networks.learning_rate, "weight_decay": networks.weight_decay}
        shared |= {"foreach": False, "fused": False}
        if networks.optimiser == "adam":
            optimiser = torch.optim.Adam(module.parameters(), **shared)
        else:
            optimiser = torch.optim.SGD(module.parameters(), momentum=networks.momentum, **shared)
        module.train()
        for epoch in range(networks.epochs):
            order = [i for i in stream(seed, "order", epoch).permutation(len(own)) if own[i]]
            for start in range(0, len(order), networks.batch_size):
                batch = order[start : start + networks.batch_size]
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(module(x[batch]), y[batch]).backward()
                optimiser.step()
        module.eval()
        with torch.no_grad():
            found.append(module(x[cohort.asked]).numpy())
    return np.stack(found)


@dataclass(frozen=True)
class Sequence:
    """Makes a Sequential with one named layer in the middle."""

    middle: str

    def __call__(self, n_features, n_classes):
        from torch import nn

        middle = {
            "dropout": lambda: nn.Dropout(0.5),
            "batch norm": lambda: nn.BatchNorm1d(6),
            "layer norm": lambda: nn.LayerNorm(6),
            "leaky": lambda: nn.LeakyReLU(0.2),
            "sigmoid": nn.Sigmoid,
            "tanh": nn.Tanh,
            "identity": nn.Identity,
            "gelu": nn.GELU,
        }[self.middle]()
        return nn.Sequential(nn.Linear(n_features, 6), middle, nn.Linear(6, n_classes))


def _linear_with(forward):
    def make(n_features, n_classes):
        import torch

        class Module(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = torch.nn.Linear(n_features, n_classes)
                self.drawn = torch.rand(n_features)

        Module.forward = forward
        return Module()

    return make


branching = _linear_with(lambda self, x: self.linear(x) * (2.0 if x.sum() > 0 else 1.0))
whole_batch = _linear_with(lambda self, x: self.linear(x - x.mean(0)))
by_columns = _linear_with(lambda self, x: x @ self.linear.weight.T.contiguous())
attribute = _linear_with(lambda self, x: self.linear(x * self.drawn.to(x)))


def no_bias(n_features, n_classes):
    from torch import nn

    return nn.Sequential(
        nn.Linear(n_features, 4, bias=False), nn.ReLU(), nn.Linear(4, n_classes, bias=False)
    )


def tied(n_features, n_classes):
    from torch import nn

    twice = nn.Linear(n_features, n_features)
    return nn.Sequential(twice, nn.Tanh(), twice, nn.Linear(n_features, n_classes))


def frozen_first(n_features, n_classes):
    module = no_bias(n_features, n_classes)
    module[0].requires_grad_(False)
    return module


def stored_by_columns(n_features, n_classes):
    import torch

    module = by_columns(n_features, n_classes)
    module.linear.weight = torch.nn.Parameter(module.linear.weight.detach().T.contiguous().T)
    return module
