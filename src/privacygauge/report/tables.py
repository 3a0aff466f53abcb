"""Frames as files, ids as columns, and a verdict with its numbers as plain text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.report.numbers import plain
from privacygauge.report.values import Verdict

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def parquet(frame: pd.DataFrame) -> bytes:
    """Return a frame as a Parquet file."""
    file = io.BytesIO()
    frame.to_parquet(file, engine="pyarrow", index=False)
    return file.getvalue()


def as_summary(
    found: Verdict,
    rows: Sequence[tuple[str, str]],
    warnings: Sequence[str],
    skipped: Sequence[Skipped],
) -> str:
    """Return a verdict, the main numbers by name, and what to know beside, as plain text."""
    width = max(len(name) for name, _ in rows)
    text = [found.headline, "", found.sentences[0], ""]
    text += [f"Warning: {plain(warning)}" for warning in warnings]
    text += [f"{name:{width}}  {value}" for name, value in rows]
    text += not_done(skipped)
    return "\n".join(text) + "\n"


def not_done(skipped: Sequence[Skipped]) -> list[str]:
    """Return a line for each thing that was left out, and why."""
    return [f"Not done: {plain(s.name)}: {plain(s.reason)}" for s in skipped]


def names_of(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids as a column: numbers as they are, anything else as text in UTF-8."""
    if ids.dtype.kind in "biuf":
        return ids
    # Surrogates from undecodable file names and the like have no place in UTF-8.
    text = [str(x).encode("utf-8", "replace").decode() for x in ids.tolist()]
    return np.array(text, dtype=object)
