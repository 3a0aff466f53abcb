"""Energies as a table and as a file, to be audited again without a model."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.errors import InputError
from privacygauge.language.score_files import SIGNAL
from privacygauge.language.scores import TextScores
from privacygauge.runs.atomic import check_writable, write_all

if TYPE_CHECKING:
    import pandas as pd

_FORMATS = (".parquet", ".csv")


def energies_frame(scores: TextScores) -> pd.DataFrame:
    """Return the energies as a table that `load_text_scores` reads, without the texts.

    Parameters
    ----------
    scores : TextScores

    Returns
    -------
    pandas.DataFrame
        One row a sample: ``sample``, ``group``, ``energy_target``, ``energy_reference``,
        ``member``, ``population`` and ``length``, as far as they are known, and ``signal_NAME``
        of every further signal.
    """
    import pandas as pd

    columns: dict[str, Any] = {
        "sample": scores.sample,
        "group": scores.group,
        "energy_target": scores.energy_target,
        "energy_reference": scores.energy_reference,
        "member": scores.member.astype(np.int8),
        "population": scores.population.astype(np.int8),
        "length": scores.length,
        **{f"{SIGNAL}{name}": values for name, values in scores.further.items()},
    }
    return pd.DataFrame({name: part for name, part in columns.items() if part is not None})


def write_energies(scores: TextScores, path: str | Path) -> None:
    """Write the energies to a file, whole or not at all.

    Parameters
    ----------
    scores : TextScores
    path : str or pathlib.Path
        ``.parquet`` or ``.csv``. The texts are not written, so that only the blind control is
        missing where the file is audited.

    Raises
    ------
    InputError
        If the name ends otherwise.
    OutputError
        If it cannot be written.
    """
    place = energies_place(path)
    frame, content = energies_frame(scores), io.BytesIO()
    if place.suffix == ".csv":
        frame.to_csv(content, index=False)
    else:
        frame.to_parquet(content, index=False)
    check_writable(place.parent)
    write_all(place.parent, {place.name: content.getvalue()})


def energies_place(path: str | Path) -> Path:
    """Return `path` if energies can be written there."""
    if Path(path).suffix not in _FORMATS:
        raise InputError(f"energies must be a .parquet or .csv file, got {path}")
    return Path(path)
