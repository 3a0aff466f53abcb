"""Options about records and models that all training commands share: names, inputs, and help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.kinds.request import Request, missing_option, separator_option
from privacygauge.runs.options import Role, asks, option

if TYPE_CHECKING:
    from privacygauge.classifiers.held import Held
    from privacygauge.classifiers.tables import Records
    from privacygauge.classifiers.trainer import Trainer
    from privacygauge.kinds.session import Session, Work


MODELS = (
    "random-forest",
    "gradient-boosting",
    "logistic",
    "naive-bayes",
    "nearest",
    "network",
    "network-large",
)
"""Names of ``--model``."""


TRAINING_DEFENCES = (
    "early-stopping:10",
    "l2:0.01",
    "dropout:0.5",
    "adversarial-regularisation:1",
    "dp-sgd:8",
    "dp-sgd-opacus:8",
    "output-perturbation:8",
    "removal:0.05",
    "label-smoothing:0.1",
    "mixup:1",
    "relaxloss:0.5",
    "hamp:0.9",
    "distillation:1",
    "selena:25",
)
"""Defences at training, each with its default number."""


TRAINING_DEFENCES_HELP = (
    "early-stopping:EPOCH, l2:DECAY, dropout:RATE, adversarial-regularisation:LAMBDA, "
    "dp-sgd:EPSILON, dp-sgd-opacus:EPSILON, output-perturbation:EPSILON, removal:RECORDS, "
    "label-smoothing:SHARE, mixup:ALPHA, relaxloss:LOSS, hamp:ENTROPY, distillation:TEMPERATURE "
    "or selena:MODELS"
)
"""Help text: the defences at training, with the meaning of their numbers."""


DEFENCES = (
    "memguard:1",
    "binning:0.01",
    "rounding:2",
    "top-k:3",
    "temperature:5",
    "label-only",
    *TRAINING_DEFENCES,
)
"""Names of ``--defence``, each with its default number."""


WRONG_LABELS = ("uniform", "least-likely")
"""Names of ``--wrong-label``."""


ON_CATEGORIES = ("naive-bayes", "bayes-inference", "random-trees")
"""Models of categorical attributes, some of which may be numbers."""


ON_NUMBERS = ("logistic", "lda", "qda", "least-squares", "nearest")
"""Models of numbers that leave records out without retraining; texts are one-hot encoded."""


RETRAINED = ("random-forest", "gradient-boosting", "network", "network-large")
"""Models that are retrained without each record."""


DTP_MODELS = (*ON_CATEGORIES, *ON_NUMBERS, *RETRAINED)
"""Names of ``--model``."""


MODEL_SETTINGS: Mapping[str, tuple[float, tuple[str, ...]]] = {
    "alpha": (1.0, ON_CATEGORIES),
    "l2": (1.0, ("logistic", "least-squares")),
    "neighbours": (5, ("nearest",)),
}
"""Setting to its default and the models that have it."""


REMOVAL_ORDERS = ("recomputed", "initial")
"""Names of ``--order``."""


TRAINING = "Training"
"""Heading of the options about records and models to train."""

training_option = partial(asks, panel=TRAINING)
"""Returns the field of an option under the heading `TRAINING`."""


data_option = partial(
    training_option,
    "FILE",
    "Records to train on: .csv or .parquet with a header, .npz with x and y, or a folder with "
    "images in a folder for each class.",
)
"""Returns the field of the file of records to train on."""

model_option = partial(training_option, "NAME|FILE.py:NAME", offers=MODELS, role=Role.CODE)
"""Returns the field of a model: a built-in name, or the user's code."""


@dataclass(frozen=True, kw_only=True)
class LabelledRecords(Request):
    """Options about a file of labelled records."""

    data: str | None = data_option()
    model: str | None = model_option("The model to train.")
    label: str = training_option("COLUMN", "Column of the classes.", default="label")
    ids: str | None = option(
        "--id",
        "COLUMN",
        "Column of the records' names, which is not a feature.",
        panel=TRAINING,
    )
    drop: tuple[str, ...] = training_option(
        "COLUMN",
        "Column to leave out, such as names. May be given several times.",
        split=False,
    )
    separator: str | None = separator_option(panel=TRAINING)
    missing: tuple[str, ...] = missing_option(panel=TRAINING)


@dataclass(frozen=True, kw_only=True)
class TrainingRequest(LabelledRecords):
    """Options of an audit that trains models on records."""

    records: int | None = training_option("N", "Number of records to sample. Default: all.")
    unit: str | None = asks(
        "COLUMN",
        "Column of the people behind the rows, which are then not taken for independent. Default: "
        "unit where predictions have it, or equal ids.",
    )


@dataclass(frozen=True)
class Materials:
    """Training inputs of the models, and their trainer."""

    records: Records
    """The sampled records; all of them by default."""
    x: Held
    """Features, standardised for built-in networks, or another input that the trainer takes."""
    trainer: Trainer
    """Trains the models, or replaces the trainer of a finished run."""


def materials(asked: TrainingRequest, work: Work, *, member: str | None = None) -> Materials:
    """Return the requested records, and their trainer.

    A finished run is read instead of importing code. `member` is the column that marks the records
    an existing model was trained on.
    """
    from privacygauge.classifiers.held import (
        IMAGES,
        NUMBERS,
        described_form,
        standardise_columns,
    )
    from privacygauge.classifiers.named import NETWORKS, trainer_named
    from privacygauge.classifiers.probe_training import try_trainer, with_class_names

    name = str(asked.model)
    trainer = trainer_named(name, work.read)
    about = trainer.describe()
    form = described_form(about)
    if form == NUMBERS and "trained by" in about:  # a function
        form = IMAGES
    records = load_labelled_records(asked, form, member=member, unit=asked.unit)
    if asked.records is not None:
        records = records.sampled(asked.records, asked.seed, str(asked.data))
    # Networks of the user's own take features as they are.
    x = standardise_columns(records.x) if name in NETWORKS else records.x
    return Materials(
        records, x, try_trainer(with_class_names(trainer, records.names), x, records.y)
    )


def load_labelled_records(
    asked: LabelledRecords, form: str, *, member: str | None = None, unit: str | None = None
) -> Records:
    """Return the records of the requested file, in the form that a model takes."""
    from privacygauge.classifiers.tables import load_records

    return load_records(
        str(asked.data),
        asked.label,
        member=member,
        ids=asked.ids,
        unit=unit,
        drop=asked.drop,
        form=form,
        separator=asked.separator,
        missing=asked.missing,
    )


def on_records(running: Session, records: Records, **further: str) -> Session:
    """Return `running` with the number of records and further notes in its provenance."""
    notes = {"membership": "; ".join(records.notes)} if records.notes else {}
    known = {**(running.provenance or {}), "records": f"{len(records):,}", **further, **notes}
    return replace(running, provenance=known)
