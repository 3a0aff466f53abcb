"""Findings as tables and as plain text."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Findings
from privacygauge.report.curves import roc_curves
from privacygauge.report.numbers import (
    plain,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def records_frame(findings: Findings) -> pd.DataFrame:
    """Return one row for every target.

    Parameters
    ----------
    findings : Findings

    Returns
    -------
    pandas.DataFrame
        Columns: ``id``, ``member``, ``score:TITLE`` and ``guess:TITLE`` of every attack, and
        ``risk``, which is missing throughout where no risk score was estimated.
    """
    import pandas as pd

    records = findings.records
    columns: dict[str, NDArray[Any]] = {"id": names_of(records.ids), "member": records.member}
    columns |= {f"score:{title}": score for title, score in records.scores.items()}
    columns |= {f"guess:{title}": guess for title, guess in records.guesses.items()}
    missing = np.full(len(records.member), np.nan)
    columns["risk"] = missing if records.risk is None else records.risk
    return pd.DataFrame(columns)


def parquet(frame: pd.DataFrame) -> bytes:
    """Return a frame as a Parquet file."""
    file = io.BytesIO()
    frame.to_parquet(file, engine="pyarrow", index=False)
    return file.getvalue()


def roc_frame(findings: Findings) -> pd.DataFrame:
    """Return the ROC curves, thinned to at most 500 points each.

    Returns
    -------
    pandas.DataFrame
        Columns: ``attack`` (with its variant, if it has one), ``thresholds``, ``threshold``
        ("member" if the score is at least this), ``true_positives``, ``false_positives``,
        ``tpr``, ``fpr``. Among the points of an attack, the largest TPR with an FPR of at most
        10%, 1%, 0.1% or 0.01% is that of the full curve.
    """
    import pandas as pd

    parts = [
        pd.DataFrame(
            {
                "attack": _named(curve.attack),
                "thresholds": curve.attack.thresholds,
                "threshold": curve.thresholds,
                "true_positives": curve.true_positives,
                "false_positives": curve.false_positives,
                "tpr": curve.tpr,
                "fpr": curve.fpr,
            }
        )
        for curve in roc_curves(findings.evaluations)
    ]
    return pd.concat(parts, ignore_index=True)


class Said(Protocol):
    """A verdict of any kind."""

    @property
    def headline(self) -> str:
        """Its first line."""

    @property
    def sentences(self) -> Sequence[str]:
        """What follows, the most important first."""


def as_summary(
    found: Said,
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


def _named(e: Evaluation) -> str:
    return f"{e.name} ({e.variant})" if e.variant else e.name


def names_of(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids as a column: numbers as they are, anything else as text in UTF-8."""
    if ids.dtype.kind in "biuf":
        return ids
    # Surrogates from undecodable file names and the like have no place in UTF-8.
    text = [str(x).encode("utf-8", "replace").decode() for x in ids.tolist()]
    return np.array(text, dtype=object)
