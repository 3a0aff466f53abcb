"""What commands that train share: the options about records and models, and what is trained on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.audits.asking import Request, Role, asks, option
from privacygauge.audits.columns import separator_option
from privacygauge.classifier.forms import standardise_columns
from privacygauge.classifier.names import MODELS

if TYPE_CHECKING:
    from privacygauge.audits.running import Running
    from privacygauge.audits.work import Work
    from privacygauge.classifier.defences.trainings import Before, Trainings
    from privacygauge.classifier.held import Held
    from privacygauge.classifier.tables import Records
    from privacygauge.classifier.trainer import Cohort, Trainer

TRAINING = "Training"
"""The heading of options that concern records and models to train."""

training_option = partial(asks, panel=TRAINING)
"""Returns the field of an option below that heading."""


data_option = partial(
    training_option,
    "FILE",
    "Records to train on: .csv or .parquet with a header, .npz with x and y, or a folder with "
    "images in a folder for each class.",
)
"""Returns the field of a file of records to train on."""

model_option = partial(training_option, "NAME|FILE.py:NAME", offers=MODELS, role=Role.CODE)
"""Returns the field of a model: a name that is built in, or code of the user's."""


@dataclass(frozen=True, kw_only=True)
class LabelledRecords(Request):
    """What is asked about a file of labelled records."""

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


@dataclass(frozen=True, kw_only=True)
class TrainingRequest(LabelledRecords):
    """What is asked of an audit that trains models on records."""

    records: int | None = training_option("N", "Number of records to sample. Default: all.")
    unit: str | None = asks(
        "COLUMN",
        "Column of the people behind the rows, which are then not taken for independent. Default: "
        "unit where predictions have it, or equal ids.",
    )


@dataclass(frozen=True, kw_only=True)
class DefendedTraining(TrainingRequest):
    """What is asked of an audit that trains every model without a defence and with each."""

    model: str = model_option(
        "The model to train: network (64 tanh), network-large (1024-512-256-128 ReLU) or Networks "
        "of your own; without a defence at training, or with removal, any model that privacygauge "
        "classifier takes.",
        default="network",
    )
    delta: float | None = training_option(
        "D", "Delta of DP-SGD. Default: one over the number of records."
    )


@dataclass(frozen=True)
class Materials:
    """What models are trained on, and how."""

    records: Records
    """The records that were sampled."""
    x: Held
    """Their features, standardised for networks, or what else the trainer asks for."""
    trainer: Trainer
    """Trains the models, or stands for what trained them in a finished run."""


def materials(asked: TrainingRequest, work: Work, *, member: str | None = None) -> Materials:
    """Return the records that were asked for, and what trains on them.

    Where a run is finished, it is read in place of code. `member` is the column that tells which
    records an existing model was trained on.
    """
    from privacygauge.classifier.forms import IMAGES, NUMBERS, described_form
    from privacygauge.classifier.named import NETWORKS
    from privacygauge.classifier.recorded import trainer_named
    from privacygauge.classifier.trial import try_trainer, with_class_names

    name = str(asked.model)
    trainer = trainer_named(name, work.read)
    about = trainer.describe()
    form = described_form(about)
    if form == NUMBERS and "trained by" in about:  # a function
        form = IMAGES
    records = load_labelled_records(asked, form, member=member, unit=asked.unit)
    if asked.records is not None:
        records = records.sampled(asked.records, asked.seed, str(asked.data))
    x = standardise_columns(records.x) if name in NETWORKS else records.x
    return Materials(
        records, x, try_trainer(with_class_names(trainer, records.names), x, records.y)
    )


def load_labelled_records(
    asked: LabelledRecords, form: str, *, member: str | None = None, unit: str | None = None
) -> Records:
    """Return the records in the file that was asked for, in the form that a model takes."""
    from privacygauge.classifier.tables import load_records

    return load_records(
        str(asked.data),
        asked.label,
        member=member,
        ids=asked.ids,
        unit=unit,
        drop=asked.drop,
        form=form,
        separator=asked.separator,
    )


def on_records(running: Running, records: Records, **further: str) -> Running:
    """Return how an audit is run, saying of how many records, and what else there is to say."""
    notes = {"membership": "; ".join(records.notes)} if records.notes else {}
    known = {**(running.provenance or {}), "records": f"{len(records):,}", **further, **notes}
    return replace(running, provenance=known)


def cost_teller(work: Work) -> Before | None:
    """Return what measures and tells the cost of all models; None where nothing is to be said."""
    from privacygauge.classifier.cost import bill_of_ways

    def tell(trainings: Trainings, cohort: Cohort) -> None:
        work.say(bill_of_ways(trainings.trainers, cohort, n_jobs=work.jobs))

    return None if work.quiet else tell
