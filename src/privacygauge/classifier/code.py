"""The user's code behind trained models, with the weights of its networks."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.classifier.networks import Networks
from privacygauge.classifier.networks.extra import seeded_torch, the_torch
from privacygauge.classifier.networks.task import Make
from privacygauge.classifier.stacking import Wrapping
from privacygauge.classifier.trainer import Cohort, Trainer
from privacygauge.runs.code import Code, RecordedCode
from privacygauge.runs.reach import code_of
from privacygauge.runs.source import digest


def code_behind(cohort: Cohort, *trainers: Trainer) -> Code:
    """Return the user's code that trains the models of a cohort, in one way or in several.

    For networks the names and shapes of their weights count too, for the cohort's numbers of
    features and of classes, and the classes of their layers.
    """
    makes = [make for trainer in trainers for make in _makes(trainer)]
    modules = []
    weights = {}
    for make in makes:
        # Without the user's code nothing can change, so torch need not be loaded.
        if isinstance(make, RecordedCode) or not code_of(make).digests:
            continue
        torch = the_torch()
        with seeded_torch(0, torch.device("cpu")):
            made = make(cohort.x.shape[1], cohort.n_classes)
        if isinstance(made, torch.nn.Module):
            shapes = {key: f"{v.dtype} {tuple(v.shape)}" for key, v in made.state_dict().items()}
            weights["the shapes of the weights that make returns"] = digest(str(shapes))
            modules += [type(module) for module in made.modules()]
    found = code_of(*trainers, *modules)
    return Code({**found.digests, **weights}, found.unchecked)


def _makes(trainer: Trainer) -> Iterator[Make]:
    """Yield the network factories of a trainer, or of the trainer that it wraps."""
    if isinstance(trainer, Wrapping):
        yield from _makes(trainer.inner)
    networks = getattr(trainer, "networks", trainer)
    if isinstance(networks, Networks):
        yield networks.make
