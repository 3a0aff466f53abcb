"""Options of audits that train models without a defence and with each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.classifiers.training_options import (
    TrainingRequest,
    model_option,
    training_option,
)
from privacygauge.runs.options import Options, keyword, option

if TYPE_CHECKING:
    from privacygauge.claims.defences.trainings import Before, Trainings
    from privacygauge.classifiers.trainer import Cohort
    from privacygauge.core.game import Attack
    from privacygauge.kinds.session import Work

_canary_option = partial(option, panel="Canaries")


@dataclass(frozen=True, kw_only=True)
class DefendedTraining(TrainingRequest):
    """Options of an audit that trains every model without a defence and with each."""

    model: str = model_option(
        "The model to train: network (64 tanh), network-large (1024-512-256-128 ReLU) or Networks "
        "of your own; without a defence at training, or with removal, any model that privacygauge "
        "classifier takes.",
        default="network",
    )
    delta: float | None = training_option(
        "D", "Delta of DP-SGD. Default: one over the number of records."
    )


@dataclass(frozen=True, kw_only=True)
class WorstCaseDesign(Options):
    """Numbers of targets and models, and attacks, of a worst-case audit."""

    n_models: int = option(
        "--models",
        "N",
        "Number of models to train, at least 4, each in every way; each is the target once.",
        default=32,
        panel="Training",
    )
    n_canaries: int = _canary_option(
        "--canaries",
        "N",
        "Number of records that get a wrong label. More of them resolve lower false-positive "
        "rates; more than a few percent of all spoil the models.",
        default=100,
    )
    n_ordinary: int | None = _canary_option(
        "--ordinary",
        "N",
        "Number of records with their own label that are targets too; the rest is in every "
        "training set. Default: all others.",
    )
    attacks: Sequence[Attack] | None = keyword(
        "Attacks on signals and worlds. Default: `LiraOnline`, `LiraOffline`, `CalibratedOnline`, "
        "`RmiaOnline`, `Bavaria` and every metric.",
        default=None,
    )
    fprs: tuple[float, ...] = option(
        "--fpr",
        "RATE",
        "False-positive rates in (0, 1); several as 0.1,0.01. Default: 0.1,0.01,0.001.",
        default=(0.1, 0.01, 0.001),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.attacks is not None:
            from privacygauge.core import checks  # with numpy, which a command loads late

            checks.kinds(self.attacks, "attacks", "score", "pg.attacks.Threshold(...)")


def cost_teller(work: Work) -> Before | None:
    """Return a callback that measures and announces the cost of all models; None if quiet."""
    from privacygauge.classifiers.probe_training import bill_of_ways

    def tell(trainings: Trainings, cohort: Cohort) -> None:
        work.say(bill_of_ways(trainings.trainers, cohort, n_jobs=work.jobs))

    return None if work.quiet else tell
