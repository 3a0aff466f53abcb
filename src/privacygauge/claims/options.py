"""Options of the audits of claims: defended trainings, terms of a claim, and DTP measurements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.classifiers.training_options import (
    REMOVAL_ORDERS,
    TrainingRequest,
    model_option,
    training_option,
)
from privacygauge.errors import InputError
from privacygauge.runs.options import Options, asks, keyword, option

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
    from privacygauge.classifiers.probe_training import measure_ways, span

    def tell(trainings: Trainings, cohort: Cohort) -> None:
        cost = measure_ways(trainings.trainers, cohort, n_jobs=work.jobs)
        n = len(cohort)
        ways = len(trainings.trainers)
        each = "" if ways == 1 else f", each in {ways} ways"
        work.say(
            f"Training {n} models{each}, {cost.seconds_a_model:.2g} s each, {cost.n_jobs} at "
            f"a time: about {span(cost.seconds(n))}."
        )

    return None if work.quiet else tell


@dataclass(frozen=True, kw_only=True)
class ClaimTerms(Options):
    """Unit and neighbours of a claim, and the replacement of a canary that is left out."""

    claim_of: str = asks(
        "record|person|K",
        "Whose privacy is claimed: of a record, of a person, or of K records together. Of a "
        "record: a person with k canaries is promised k times the epsilon, by group privacy, and "
        "that is compared.",
        default="record",
        offers=("record", "person"),
    )
    adjacency: str = asks(
        "add-remove|replace",
        "Neighbours that the claim speaks of: data sets with a unit more or less, or with another "
        "one in its place.",
        default="add-remove",
        offers=("add-remove", "replace"),
    )
    left_out: str = asks(
        "removed|replaced",
        "What is in the place of a canary that is left out: nothing, or another record. Replaced "
        "canaries are promised twice the epsilon of adding or removing; a claim about replacing "
        "promises nothing of removed ones.",
        default="removed",
        offers=("removed", "replaced"),
    )

    assume: str = asks(
        "gaussian|nothing",
        "Whether a second bound takes a Gaussian mechanism (or DP-SGD, with --steps) for granted, "
        "where the scores may be those of one. Alone it never lifts a grade above small.",
        default="gaussian",
        offers=("gaussian", "nothing"),
    )


FURTHER = "Further measurements"
"""Heading of the options that ask for several values per record."""

_further_option = partial(asks, panel=FURTHER)


@dataclass(frozen=True, kw_only=True)
class DtpDesign(Options):
    """Bins, queries, and further measurements of the riskiest records."""

    bin_width: float = option(
        "--bin", "W", "Width of the bins of published probabilities; 0 for none.", default=0.01
    )
    queries: int = asks(
        "N",
        "Number of records to ask about beside the one left out, in search of a larger change, "
        "where the largest is not known.",
        default=500,
    )
    training_sets: int = _further_option(
        "N",
        "Measure again in both halves of the data, split this many times; 10 in the paper.",
        default=0,
    )
    remove: int = _further_option(
        "N", "Number of the riskiest records to remove, one at a time.", default=0
    )
    order: str = _further_option(
        "NAME",
        "Order of removal: recomputed (the riskiest of those left) or initial.",
        default="recomputed",
        offers=REMOVAL_ORDERS,
    )
    vary: int = _further_option(
        "N",
        "Number of models to train with other initial weights, and on other records, to see "
        "whether the two riskiest records are exceptional.",
        default=0,
    )

    def __post_init__(self) -> None:
        # Before any work: some numbers are needed only after hours of training.
        super().__post_init__()
        if self.bin_width:
            from privacygauge.classifiers.signals import n_bins  # with numpy

            n_bins(self.bin_width)
        for name in ("queries", "training_sets", "remove"):
            if (number := getattr(self, name)) < 0:
                raise InputError(f"{name} must be at least 0, got {number}")
        if self.vary != 0 and self.vary < 2:
            raise InputError(
                f"vary must be 0 or at least 2, got {self.vary}: one model does not vary"
            )
        check_order(self.order)


def check_order(order: str) -> None:
    """Raise unless the order is one of `REMOVAL_ORDERS`."""
    if order not in REMOVAL_ORDERS:
        known = " or ".join(map(repr, REMOVAL_ORDERS))
        raise InputError(f"order must be {known}, got {order!r}")
