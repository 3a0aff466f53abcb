"""What `privacygauge synthetic --synthetic` was asked, and doing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.audits.provenance import file_hashes
from privacygauge.audits.released_table.found import ReleasedAudit
from privacygauge.audits.released_table.play import audit_released
from privacygauge.synthetic.frames import read_frame, read_schema
from privacygauge.synthetic.table import require_columns

if TYPE_CHECKING:
    import pandas as pd


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
    unit: str | None = None
    """Column of the people behind the records, in both tables of real ones."""


def unit_of(frame: pd.DataFrame | None, column: str) -> NDArray[Any] | None:
    """Return the people behind the records of a frame."""
    if frame is None:
        return None
    require_columns((column,), list(frame.columns), "--unit")
    return np.asarray(frame[column])


def released_of_request(request: ReleasedRequest) -> ReleasedAudit:
    """Return the audit that was asked for."""
    real, made = read_frame(request.data), read_frame(request.released)
    holdout = None if request.holdout is None else read_frame(request.holdout)
    ids = unit = holdout_unit = None
    if request.unit is not None:
        unit, holdout_unit = (unit_of(frame, request.unit) for frame in (real, holdout))
        real, made = (x.drop(columns=request.unit, errors="ignore") for x in (real, made))
        holdout = None if holdout is None else holdout.drop(columns=request.unit)
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
        unit=unit,
        holdout_unit=holdout_unit,
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
