"""`privacygauge classifier --model --data`, and going on with such a run."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.audits.asking import absolute
from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.classifier.models import Fitted, audit_model
from privacygauge.audits.named_models import NETWORKS, imported, named
from privacygauge.audits.provenance import file_hashes
from privacygauge.audits.user_code import code_in, compared_code, names_code
from privacygauge.classifier.cost import DESIGNS, Cost, measure, seconds_of, span
from privacygauge.classifier.estimators import as_trainer, n_required
from privacygauge.classifier.recorded import recorded_target, recorded_trainer
from privacygauge.classifier.tables import Records, load_records
from privacygauge.classifier.trainer import Trainer
from privacygauge.cli.progress import bar
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import ESTIMATORS
from privacygauge.errors import InputError
from privacygauge.runs.store import plan_in

DEFAULT_SHADOWS = 16
"""Shadow models where neither a number nor a budget is given."""


@dataclass(frozen=True)
class TrainingRequest:
    """What `privacygauge classifier --model --data` was asked, kept with the run."""

    model: str
    """A built-in name, FILE.py:NAME or MODULE:NAME."""
    data: str
    """File of the records."""
    label: str = "label"
    """Column of the classes."""
    member: str | None = None
    """Column that tells which records `fitted` was trained on."""
    fitted: str | None = None
    """FILE.py:NAME or MODULE:NAME of the model that exists."""
    ids: str | None = None
    """Column of the records' names."""
    drop: tuple[str, ...] = ()
    """Columns that are no features."""
    records: int | None = None
    """How many records to use, drawn at random."""
    shadows: int | None = None
    """How many shadow models."""
    budget: str | None = None
    """The time that training may take."""
    seed: int = 0
    """All random draws derive from it."""
    level: float = 0.95
    """Of every interval."""
    risk: str = "isotonic"
    """Estimator of the privacy risk score."""
    unit: str | None = None
    """Column of the people behind the records."""

    def settled(self, shadows: int) -> Mapping[str, Any]:
        """Return the request as JSON values, with the number of shadow models that was chosen."""
        places = {
            "data": str(Path(self.data).absolute()),
            "model": absolute(self.model),
            "fitted": None if self.fitted is None else absolute(self.fitted),
        }
        return {**asdict(self), **places, "shadows": shadows, "budget": None}


def request_in(invocation: Mapping[str, Any]) -> TrainingRequest:
    """Return the request that a run was started with."""
    return TrainingRequest(**{**invocation, "drop": tuple(invocation.get("drop", ()))})


def audit_request(
    request: TrainingRequest,
    run: Path | None,
    *,
    jobs: int,
    quiet: bool,
    recorded: bool = False,
) -> Audit:
    """Return the audit that was asked for, training what `run` does not hold yet.

    Where it is `recorded`, the run is finished, and what stands there is read in place of code.
    """
    if request.member is not None and request.fitted is None:
        raise InputError(
            "--member says what a model that exists was trained on: give that model with --fitted "
            "FILE.py:NAME, or --drop the column to have a target trained"
        )
    code = {} if recorded else compared_code(asdict(request), run)
    records = _records(request)
    trainer = trainer_named(request.model, run if recorded else None)
    x = standardised(records.x) if request.model in NETWORKS else records.x
    fitted = _fitted(request, records, run if recorded else None)
    shadows = _shadows(request, trainer, x, records, run, jobs, quiet)
    with told_how_to_go_on(run, asdict(request)), bar("Training models", quiet) as progress:
        return audit_model(
            trainer,
            x,
            records.y,
            fitted=fitted,
            n_shadows=shadows,
            estimator=ESTIMATORS[request.risk],
            slices=records.columns,
            ids=records.ids,
            unit=records.unit,
            run=run,
            n_jobs=jobs,
            progress=progress,
            seed=request.seed,
            level=request.level,
            command="classifier",
            provenance=_provenance(request, records),
            invocation=invocation_of("classifier", request.settled(shadows), code, recorded),
        )


def invocation_of(
    command: str, options: Mapping[str, Any], code: Mapping[str, Any], recorded: bool
) -> Mapping[str, Any] | None:
    """Return how to start a run again, with digests of the code that it names; None to keep it."""
    return None if recorded else {"command": command, "options": options, "code": code}


def trainer_named(name: str, run: Path | None) -> Trainer:
    """Return what trains the model that a name means, or what stands for it in a run.

    Parameters
    ----------
    name : str
        A built-in name, FILE.py:NAME or MODULE:NAME.
    run : Path or None
        A finished run, in which code of the user's is not run again.
    """
    if run is not None and names_code("model", name):
        return recorded_trainer(run)
    return as_trainer(named(name))


def standardised(x: np.ndarray) -> np.ndarray:
    """Return the features with mean 0 and deviation 1, as networks need them."""
    spread = x.std(axis=0)
    result: np.ndarray = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return result


def _records(request: TrainingRequest) -> Records:
    records = load_records(
        request.data,
        request.label,
        member=request.member,
        ids=request.ids,
        unit=request.unit,
        drop=request.drop,
    )
    return drawn(records, request.records, request.data, request.seed)


def drawn(records: Records, number: int | None, data: str, seed: int) -> Records:
    """Return so many of the records of the file `data`, drawn at random; all for None."""
    if number is None:
        return records
    if not 4 <= number <= len(records):
        raise InputError(
            f"--records must be in 4..{len(records):,}, the number of records in {data}, "
            f"got {number:,}"
        )
    rng = seeds.stream(seed, "records")
    return records[np.sort(rng.choice(len(records), number, replace=False))]


def _fitted(request: TrainingRequest, records: Records, run: Path | None) -> Fitted | None:
    if request.fitted is None:
        return None
    if records.member is None:
        raise InputError("--fitted needs --member COLUMN: which records was it trained on?")
    if run is not None:
        return Fitted(recorded_target(run, records.member, records.y), records.member)
    found = imported(request.fitted)
    made = callable(found) and not hasattr(found, "predict_proba") and n_required(found) == 0
    model = found() if made else found
    if not hasattr(model, "predict_proba") and not callable(model):
        raise InputError(
            f"--fitted must name a model with predict_proba, or a function that returns one; "
            f"{request.fitted} gives {type(model).__name__}"
        )
    return Fitted(model, records.member)


def _shadows(
    request: TrainingRequest,
    trainer: Trainer,
    x: np.ndarray,
    records: Records,
    run: Path | None,
    jobs: int,
    quiet: bool,
) -> int:
    """Return the number of shadow models, and say what training them will cost."""
    known = None if run is None else plan_in(run)
    begun = None if known is None else known.n_units - int(request.fitted is None)
    if begun is not None and request.shadows in (None, begun):
        return begun
    wanted = DEFAULT_SHADOWS if request.shadows is None else request.shadows
    if wanted < 1:
        raise InputError(f"--shadows must be at least 1, got {wanted}")
    most = max(DESIGNS) if request.budget is not None else wanted
    budget = None if request.budget is None else seconds_of(request.budget)
    cost = measure(trainer, x, records.y, n_models=most + 1, n_jobs=jobs, seed=request.seed)
    shadows = wanted if budget is None else _affordable(cost, budget, request.shadows)
    if not quiet:
        n_targets = int(request.fitted is None)
        print(_bill(cost, shadows, n_targets, request.shadows, budget), file=sys.stderr)
    return shadows


def _affordable(cost: Cost, budget: float, wanted: int | None) -> int:
    if wanted is not None and cost.seconds(wanted + 1) <= budget:
        return wanted
    most = cost.largest(budget)
    return most if wanted is None else min(most, wanted)


def _bill(
    cost: Cost, shadows: int, n_targets: int, wanted: int | None, budget: float | None
) -> str:
    n_models = shadows + n_targets
    target = "1 target, " if n_targets else ""
    text = (
        f"Training {n_models} models ({target}{shadows} shadow models), "
        f"{cost.seconds_a_model:.2g} s each, {cost.n_jobs} at a time: about "
        f"{span(cost.seconds(n_models))}."
    )
    if budget is None:
        return text
    more = wanted or next((n for n in DESIGNS if n > shadows), None)
    if more is None or more <= shadows:
        return text
    lost = "per-record variances (from 64 on) and " if shadows < 64 <= more else ""
    return (
        f"{text} The budget of {span(budget)} does not pay for {more} shadow models (about "
        f"{span(cost.seconds(more + n_targets))}): given up are {lost}some of the strength of "
        "attacks on single records."
    )


def _provenance(request: TrainingRequest, records: Records) -> dict[str, str]:
    named_classes = ", ".join(f"{i} = {name}" for i, name in enumerate(records.names[:20]))
    return {
        **file_hashes({"data": Path(request.data)}),
        "records": f"{len(records):,}",
        "classes": named_classes + (", ..." if len(records.names) > 20 else ""),
    }


@contextmanager
def told_how_to_go_on(run: Path | None, options: Mapping[str, object]) -> Iterator[None]:
    """Say how to go on when the run is interrupted; code that options name is named again."""
    try:
        yield
    except KeyboardInterrupt:
        if run is not None:
            again = [
                f"--{name} {shlex.quote(str(text))}" for name, text in code_in(options).items()
            ]
            told = " ".join(["privacygauge resume", str(run.parent), *again])
            print(f"\nprivacygauge: go on with: {told}", file=sys.stderr)
        raise
