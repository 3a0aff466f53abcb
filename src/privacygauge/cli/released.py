"""What `privacygauge synthetic --synthetic` was asked, and doing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from privacygauge.audit.released import ReleasedAudit, audit_released
from privacygauge.cli.provenance import file_hashes
from privacygauge.synthetic.frames import read_frame, read_schema
from privacygauge.synthetic.table import require_columns


@dataclass(frozen=True)
class ReleasedRequest:
    """What `privacygauge synthetic --synthetic` was asked."""

    data: Path
    """File of the records that the generator learnt from."""
    released: Path
    """File of the synthetic table."""
    holdout: Path | None
    """File of records that it did not learn from."""
    attempts: int
    """Attempts of each attack on the regulator's risks."""
    label: str | None
    """Column to predict where utility is measured."""
    schema: Path | None
    """File of the schema."""
    continuous: tuple[str, ...]
    """Columns of numbers."""
    categorical: tuple[str, ...]
    """Columns of categories."""
    drop: tuple[str, ...]
    """Columns to leave out."""
    ids: str | None
    """Column of the records' names."""
    show: tuple[str, ...]
    """Columns to print beside the riskiest records."""
    seed: int
    """All random draws derive from it."""
    level: float
    """Of every interval."""


def released_of_request(request: ReleasedRequest) -> ReleasedAudit:
    """Return the audit that was asked for."""
    real, made = read_frame(request.data), read_frame(request.released)
    holdout = None if request.holdout is None else read_frame(request.holdout)
    ids = None
    if request.ids is not None:
        require_columns((request.ids,), list(real.columns), "--id")
        ids = real[request.ids].to_numpy()
        # The names of records say nothing about them, and need not be in the other tables.
        real, made = (x.drop(columns=request.ids, errors="ignore") for x in (real, made))
        if holdout is not None:
            holdout = holdout.drop(columns=request.ids, errors="ignore")
    return audit_released(
        real,
        made,
        holdout,
        schema=None if request.schema is None else read_schema(request.schema),
        continuous=request.continuous,
        categorical=request.categorical,
        drop=request.drop,
        label=request.label,
        attempts=request.attempts,
        ids=ids,
        show=request.show,
        seed=request.seed,
        level=request.level,
        command="synthetic",
        provenance=file_hashes(
            {
                "real": request.data,
                "synthetic": request.released,
                "holdout": request.holdout,
                "schema": request.schema,
            }
        ),
    )
