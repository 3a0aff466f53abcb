"""The papers' own data, where a reader has them: which files, of which form, for which tables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from privacygauge.core.checks import Ints
from privacygauge.datasets.arrays import read_npz
from privacygauge.datasets.local_copies import (
    LOGITS,
    PURCHASES,
    WHOLE,
    census,
    data_in,
    file_in,
    location30,
    own_logits,
    purchase100,
    purchases,
    texas100,
)
from privacygauge.errors import InputError

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Layout:
    """One data set of a paper as it lies in a folder."""

    name: str
    """As in results."""
    files: tuple[str, ...]
    """All of them are needed."""
    form: str
    """What the files hold, in words."""
    serves: str
    """The reproductions that are made on it, as patterns parted by blanks."""
    size: Callable[..., str]
    """Reads the files, refuses what is not of this form, and returns their size in words."""
    stand_in: bool = False
    """Whether it is read only where the folder holds no other data for a reproduction."""

    def about(self, name: str) -> bool:
        """Return whether a reproduction is made on it."""
        return any(fnmatchcase(name, pattern) for pattern in self.serves.split())


def _records(x: NDArray[Any], y: Ints) -> str:
    classes = int(y.max(initial=-1)) + 1
    return f"{len(x):,} records, {x.shape[1]:,} columns, {classes:,} classes"


def _census_size(_: Path) -> str:
    frame = census()[0]
    return f"{len(frame):,} records, {frame.shape[1]} columns"


PREDICTIONS = (
    "location_labels_membership.npz",
    "location_target_predictions.npz",
    "location_shadow_predictions.npz",
)
"""Files of the authors' predictions on Location30."""

ONE_AT_A_TIME = ("song-table2", "song-table5")
"""Reproductions that are made on one of several data sets."""

LAYOUTS = (
    Layout(
        "Purchase100",
        files=("dataset_purchase",),
        form=("a line a customer: the class (1 to 100), then 600 zeros and ones, parted by commas"),
        serves=(
            "song-table2 song-table5 song-fig2 song-fig3 song-fig4 song-fig5 song-fig10 song-fig12"
        ),
        size=lambda path: _records(*purchase100(path)),
    ),
    Layout(
        "Texas100",
        files=("feats", "labels"),
        form=(
            "feats: a line a stay, zeros and ones parted by commas; labels: the class (1 to 100)"
        ),
        serves=(
            "song-table2 song-table3 song-table4 song-table5 song-table6 song-fig4 song-fig6 "
            "song-fig7 song-fig8 song-fig9 song-fig11 song-fig12"
        ),
        size=lambda feats, labels: _records(*texas100(feats, labels)),
    ),
    Layout(
        "Location30",
        files=("location30.npz",),
        form=(
            "arrays x_packed (5,010, 56), the bits of 446 places that a person was at, y (5,010,) "
            "of 30 classes, and shuffle_index (5,010,), the order of the authors of MemGuard"
        ),
        serves=(
            "song-table2 song-table3 song-table4 song-table5 song-table6 song-fig2 song-fig3 "
            "song-fig4 song-fig5 song-fig6 song-fig7 song-fig8 song-fig9 song-fig10 song-fig11 "
            "song-fig12"
        ),
        size=lambda _: _records(*location30()),
        stand_in=True,
    ),
    Layout(
        "predictions on Location30",
        files=PREDICTIONS,
        form=(
            "what comes with the authors' code: arrays tc_output and defense_output of the target "
            "and of the shadow model, and y_ and member_ of either"
        ),
        serves="song-table3 song-table4-defences song-table6 song-fig6 song-fig8 song-fig10 "
        "song-fig11",
        size=lambda _, target, shadow: (
            f"{len(read_npz(target)['tc_output']):,} answers of the target, "
            f"{len(read_npz(shadow)['tc_output']):,} of the shadow model"
        ),
        stand_in=True,
    ),
    Layout(
        "purchases",
        files=(PURCHASES,),
        form=(
            "arrays x (n, d) of zeros and ones and y (n,) of classes from 0, more than 2,000 "
            "records; the paper has 836 columns and 10 classes"
        ),
        serves="long-table1 long-table2 long-fig1 long-fig2 long-fig3 long-fig4",
        size=lambda path: _records(*purchases(path)),
    ),
    Layout(
        "logits",
        files=(LOGITS,),
        form="arrays logits (n, m) and labels (n,) in 0..m-1; the paper has 50,000 and 1,000",
        serves="feldman-fig1 feldman-fig2",
        size=lambda path: _records(*own_logits(path)),
    ),
    Layout(
        "census",
        files=(WHOLE,),
        form=(
            "the 2011 Census Microdata Teaching File as the Office for National Statistics gives "
            "it: 569,741 people, 17 columns and a number for each"
        ),
        serves="meeus-table2 meeus-table3 meeus-fig4",
        size=_census_size,
    ),
)
"""Every data set that is taken from a folder."""


def data_in_folder(name: str, folder: Path) -> Mapping[str, str]:
    """Return the data that a folder holds for a reproduction, checked: size and checksum by name.

    Parameters
    ----------
    name : str
        The reproduction.
    folder : Path

    Raises
    ------
    InputError
        If no data set can be given for this reproduction, none of them lies in the folder, or one
        is not of its form.
    """
    known = [layout for layout in LAYOUTS if layout.about(name)]
    if not known:
        raise InputError(
            f"data cannot be given for {name}: it can for "
            f"{', '.join(sorted(set(' '.join(one.serves for one in LAYOUTS).split())))}"
        )
    found = {}
    there = {one.name: [file_in(folder, file) for file in one.files] for one in known}
    whole = [one for one in known if None not in there[one.name]]
    real = [one.name for one in whole if not one.stand_in]
    if name in ONE_AT_A_TIME and len(real) > 1:
        raise InputError(
            f"{name} is made on one data set at a time, and {folder} holds {' and '.join(real)}: "
            "give a folder for each"
        )
    with data_in(folder):
        for layout in whole:
            if layout.stand_in and real:
                continue
            paths = [path for path in there[layout.name] if path is not None]
            found[layout.name] = f"{layout.size(*paths)}, SHA-256 {_digest(paths)}"
    if not found:
        wanted = "; or ".join(f"{' and '.join(one.files)} ({one.form})" for one in known)
        raise InputError(f"data must be a folder with {wanted}; got {folder}, which has none")
    return found


def _digest(paths: list[Path]) -> str:
    """Return the first digits of the checksum of the files' contents, one after the other."""
    sha = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                sha.update(block)
    return sha.hexdigest()[:16]
