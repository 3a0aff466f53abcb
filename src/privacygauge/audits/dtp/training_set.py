"""The audit that `privacygauge dtp` asks for: its records and its classifier, by their names."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privacygauge.audits.dtp.asks import COMMAND, DtpRequest
from privacygauge.audits.dtp.found import DtpAudit
from privacygauge.audits.dtp.play import audit_dtp
from privacygauge.audits.training import loaded
from privacygauge.audits.work import Work
from privacygauge.classifier.cost import measure, span
from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.dtp.named import (
    learner_on_categories,
    learner_on_numbers,
    many_categories,
)
from privacygauge.classifier.dtp.names import ON_NUMBERS
from privacygauge.classifier.dtp.removal import Order
from privacygauge.classifier.dtp.training import LearnerTrainer
from privacygauge.classifier.forms import NUMBERS, on_numbers, standardised
from privacygauge.classifier.named import NETWORKS
from privacygauge.classifier.recorded import trainer_named
from privacygauge.classifier.tables import CategoricalTable, Records, load_categories
from privacygauge.classifier.trainer import Trainer
from privacygauge.core import seeds
from privacygauge.core.checks import Ints
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.runs.provenance import file_hashes
from privacygauge.runs.store import plan_in


def audit_training_set(asked: DtpRequest, work: Work) -> DtpAudit:
    """Return the audit that was asked for, training what the run does not hold yet."""
    # Before any code of the user's is imported: the run may have been made with other code.
    invocation = work.invocation(COMMAND.name, asked) if asked.keeps else None
    given = _trained(asked, work) if asked.keeps else _exact(asked)
    showing = work.bar("Training models") if asked.keeps else nullcontext(None)
    with work.resumable(asked), showing as progress:
        return audit_dtp(
            given.model,
            given.x,
            given.records.y,
            rows=_chosen(asked, given.records),
            bin_width=asked.bin_width,
            queries=asked.queries,
            training_sets=asked.training_sets,
            remove=asked.remove,
            order=cast(Order, asked.order),
            vary=asked.vary,
            ids=given.records.ids,
            unit=given.records.unit,
            class_names=given.records.names,
            warnings=given.warnings,
            run=work.run if asked.keeps else None,
            n_jobs=work.jobs if asked.keeps else 1,
            progress=progress,
            seed=asked.seed,
            level=asked.level,
            command=COMMAND.name,
            provenance=file_hashes(asked.files()),
            invocation=invocation,
        )


@dataclass(frozen=True)
class _Given:
    """A training set, and the model that is trained on it."""

    records: Records | CategoricalTable
    """As they stand in the file."""
    x: NDArray[Any]
    """(n, d) What the model is trained on."""
    model: Learner | Trainer
    """A learner leaves records out without training."""
    warnings: tuple[str, ...] = ()
    """About the columns."""


def _exact(asked: DtpRequest) -> _Given:
    if asked.model in ON_NUMBERS:
        records = loaded(asked, NUMBERS, unit=asked.unit)
        return _Given(
            records,
            standardised(records.x),
            learner_on_numbers(asked.model, asked.l2, asked.neighbours),
        )
    table = load_categories(
        asked.data,
        asked.label,
        continuous=asked.continuous,
        ids=asked.ids,
        unit=asked.unit,
        drop=asked.drop,
        separator=asked.separator,
    )
    learner = learner_on_categories(asked.model, table, asked.alpha, asked.seed)
    return _Given(table, table.x, learner, many_categories(table))


def _trained(asked: DtpRequest, work: Work) -> _Given:
    trainer = on_numbers(trainer_named(asked.model, work.read))
    records = loaded(asked, NUMBERS, unit=asked.unit)
    if isinstance(trainer, LearnerTrainer):  # it leaves records out without training
        return _Given(records, records.x, trainer.learner)
    x = standardised(records.x) if asked.model in NETWORKS else records.x
    if not work.quiet:
        _tell_cost(asked, work, trainer, x, records)
    return _Given(records, x, trainer)


def _chosen(asked: DtpRequest, records: Records | CategoricalTable) -> Ints | None:
    """Return a record of each person that is drawn; None for all."""
    owner = owners(records.unit, records.ids, len(records))
    first = np.arange(len(records)) if owner is None else np.unique(owner, return_index=True)[1]
    n, what = len(first), "records" if owner is None else "people"
    if asked.measure is None or asked.measure == n:
        return None
    if not 1 <= asked.measure <= n:
        raise InputError(
            f"--measure must be in 1..{n:,}, the number of {what} in {asked.data}, got "
            f"{asked.measure:,}"
        )
    rng = seeds.stream(asked.seed, "dtp", "measured")
    return first[np.sort(rng.choice(n, asked.measure, replace=False))]


def _tell_cost(
    asked: DtpRequest, work: Work, trainer: Trainer, x: NDArray[Any], records: Records
) -> None:
    """Say what training once more for each record will cost."""
    if work.run is not None and plan_in(work.run) is not None:
        return
    n_models = asked.measure or len(records)
    cost = measure(trainer, x, records.y, n_models=n_models, n_jobs=work.jobs, seed=asked.seed)
    # The trial trains on half of the records.
    seconds = 2 * cost.seconds(n_models) * (1 + asked.training_sets / 2)
    work.say(
        f"Training {trainer.name} without each of {n_models:,} records, {cost.n_jobs} at a time: "
        f"about {span(seconds)}. --measure N takes fewer records."
    )
