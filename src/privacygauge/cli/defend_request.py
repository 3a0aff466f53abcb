"""`privacygauge defend --data`: what was asked, kept with the run, and the audit of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privacygauge.audits.asking import absolute
from privacygauge.audits.defences.found import DefenceAudit
from privacygauge.audits.defences.training import audit_training_defences
from privacygauge.audits.named_models import NETWORKS
from privacygauge.audits.provenance import file_hashes
from privacygauge.audits.user_code import compared_code
from privacygauge.classifier.tables import Records, load_records
from privacygauge.cli.progress import bar
from privacygauge.cli.training import (
    drawn,
    invocation_of,
    standardised,
    told_how_to_go_on,
    trainer_named,
)
from privacygauge.cli.ways_cost import cost_teller


@dataclass(frozen=True)
class DefendRequest:
    """What `privacygauge defend --data` was asked: kept with the run, to go on with it."""

    data: str
    """File of the records."""
    defences: tuple[str, ...]
    """Names of the defences, such as ``dp-sgd:8``."""
    model: str = "network"
    """A built-in name, FILE.py:NAME or MODULE:NAME."""
    label: str = "label"
    """Column of the classes."""
    ids: str | None = None
    """Column of the records' names."""
    drop: tuple[str, ...] = ()
    """Columns that are no features."""
    records: int | None = None
    """How many records to use, drawn at random."""
    shadows: int = 8
    """How many shadow models of each kind."""
    delta: float | None = None
    """Of DP-SGD."""
    seed: int = 0
    """All random draws derive from it."""
    level: float = 0.95
    """Of every interval."""
    unit: str | None = None
    """Column of the people behind the records."""

    def settled(self) -> Mapping[str, Any]:
        """Return the request as JSON values that hold in every folder."""
        data = str(Path(self.data).absolute())
        return {**asdict(self), "data": data, "model": absolute(self.model)}


def defend_request_in(invocation: Mapping[str, Any]) -> DefendRequest:
    """Return the request that a run was started with."""
    lists = {name: tuple(invocation.get(name, ())) for name in ("defences", "drop")}
    return DefendRequest(**{**invocation, **lists})


def defend_of_request(
    request: DefendRequest, run: Path | None, *, jobs: int, quiet: bool, recorded: bool = False
) -> DefenceAudit:
    """Return the audit that was asked for, training what `run` does not hold yet.

    Where it is `recorded`, the run is finished, and what stands there is read in place of code.
    """
    code = {} if recorded else compared_code(asdict(request), run)
    records = _records(request)
    trainer = trainer_named(request.model, run if recorded else None)
    x = standardised(records.x) if request.model in NETWORKS else records.x
    with (
        told_how_to_go_on(run, asdict(request)),
        bar("Training models, each in every way", quiet) as progress,
    ):
        return audit_training_defences(
            trainer,
            x,
            records.y,
            request.defences,
            n_shadows=request.shadows,
            ids=records.ids,
            unit=records.unit,
            delta=request.delta,
            run=run,
            n_jobs=jobs,
            progress=progress,
            seed=request.seed,
            level=request.level,
            command="defend",
            provenance={
                **file_hashes({"data": Path(request.data)}),
                "records": f"{len(records):,}",
            },
            invocation=invocation_of("defend", request.settled(), code, recorded),
            before=cost_teller(jobs, quiet),
        )


def _records(request: DefendRequest) -> Records:
    found = load_records(
        request.data, request.label, ids=request.ids, unit=request.unit, drop=request.drop
    )
    return drawn(found, request.records, request.data, request.seed)
