"""`privacygauge worst-case`: what was asked, kept with the run, and the comparison of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privacygauge.audits.asking import absolute
from privacygauge.audits.named_models import NETWORKS
from privacygauge.audits.provenance import file_hashes
from privacygauge.audits.user_code import compared_code
from privacygauge.audits.worst_case.found import WorstCaseComparison
from privacygauge.audits.worst_case.judging import FPRS
from privacygauge.audits.worst_case.play import compare_worst_cases
from privacygauge.classifier.mislabelled import LeastLikelyLabel, UniformLabel, WrongLabel
from privacygauge.classifier.tables import load_records
from privacygauge.classifier.trainer import Trainer
from privacygauge.cli.progress import bar
from privacygauge.cli.training import (
    drawn,
    invocation_of,
    standardised,
    told_how_to_go_on,
    trainer_named,
)
from privacygauge.cli.ways_cost import cost_teller
from privacygauge.errors import InputError

WRONG_LABELS: Mapping[str, Callable[[Trainer], WrongLabel]] = {
    "uniform": lambda trainer: UniformLabel(),
    "least-likely": LeastLikelyLabel,
}
"""By the name on the command line."""


@dataclass(frozen=True)
class WorstCaseRequest:
    """What `privacygauge worst-case` was asked: kept with the run, to go on with it."""

    data: str
    """File of the records."""
    defences: tuple[str, ...] = ()
    """Names of defences at training, such as ``dp-sgd:8``."""
    model: str = "network"
    """A built-in name, FILE.py:NAME or MODULE:NAME."""
    label: str = "label"
    """Column of the classes."""
    ids: str | None = None
    """Column of the records' names, which is no feature."""
    drop: tuple[str, ...] = ()
    """Columns that are no features."""
    records: int | None = None
    """How many records to use, drawn at random."""
    canaries: int = 100
    """How many get a wrong label."""
    ordinary: int | None = None
    """How many others are asked about; all where nothing is given."""
    models: int = 32
    """How many models of each kind."""
    wrong_label: str = "uniform"
    """One of `WRONG_LABELS`."""
    fprs: tuple[float, ...] = FPRS
    """False-positive rates."""
    delta: float | None = None
    """Of DP-SGD."""
    seed: int = 0
    """All random draws derive from it."""
    level: float = 0.95
    """Of every interval."""
    unit: str | None = None
    """Column of the people behind the records."""

    def __post_init__(self) -> None:
        if self.wrong_label not in WRONG_LABELS:
            raise InputError(
                f"--wrong-label must be one of {', '.join(WRONG_LABELS)}, got {self.wrong_label!r}"
            )

    def settled(self) -> Mapping[str, Any]:
        """Return the request as JSON values that hold in every folder."""
        data = str(Path(self.data).absolute())
        return {**asdict(self), "data": data, "model": absolute(self.model)}


def worst_case_request_in(invocation: Mapping[str, Any]) -> WorstCaseRequest:
    """Return the request that a run was started with."""
    lists = {name: tuple(invocation.get(name, ())) for name in ("defences", "drop", "fprs")}
    return WorstCaseRequest(**{**invocation, **lists})


def fprs_in(texts: tuple[str, ...]) -> tuple[float, ...]:
    """Return false-positive rates; the usual ones where none are given."""
    try:
        return tuple(map(float, texts)) or FPRS
    except ValueError as error:
        raise InputError(
            f"--fpr must be numbers in (0, 1), such as 0.1,0.01, got {','.join(texts)!r}"
        ) from error


def worst_case_of_request(
    request: WorstCaseRequest, run: Path | None, *, jobs: int, quiet: bool, recorded: bool = False
) -> WorstCaseComparison:
    """Return the comparison that was asked for, training what `run` does not hold yet.

    Where it is `recorded`, the run is finished, and what stands there is read in place of code.
    """
    code = {} if recorded else compared_code(asdict(request), run)
    found = load_records(
        request.data, request.label, ids=request.ids, unit=request.unit, drop=request.drop
    )
    records = drawn(found, request.records, request.data, request.seed)
    trainer = trainer_named(request.model, run if recorded else None)
    x = standardised(records.x) if request.model in NETWORKS else records.x
    with (
        told_how_to_go_on(run, asdict(request)),
        bar("Training models, each in every way", quiet) as progress,
    ):
        return compare_worst_cases(
            trainer,
            x,
            records.y,
            request.defences,
            n_canaries=request.canaries,
            n_ordinary=request.ordinary,
            label=WRONG_LABELS[request.wrong_label](trainer),
            n_models=request.models,
            fprs=request.fprs,
            unit=records.unit,
            delta=request.delta,
            run=run,
            n_jobs=jobs,
            progress=progress,
            before=cost_teller(jobs, quiet),
            seed=request.seed,
            level=request.level,
            command="worst-case",
            provenance={
                **file_hashes({"data": Path(request.data)}),
                "records": f"{len(records):,}",
            },
            invocation=invocation_of("worst-case", request.settled(), code, recorded),
        )
