"""Make reproductions, keep their results, and skip the ones that are already there."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Ints
from privacygauge.core.versions import own_version
from privacygauge.datasets.archives import read_npz
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
from privacygauge.datasets.public import NOTES, own_notes
from privacygauge.errors import InputError
from privacygauge.papers.catalogue import judgement
from privacygauge.papers.page import figure_svg
from privacygauge.papers.table import Effort, Reproduction
from privacygauge.papers.verdict import ReproductionResult, read_result
from privacygauge.runs.results import write_results

# The papers' own data that a reader may have: files, format, and the tables that use them.

# Bytes read at a time for a checksum.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Layout:
    """Files of one data set of a paper in a folder."""

    name: str
    """Name of the data set, as in results."""
    files: tuple[str, ...]
    """Names of its files, all of them required."""
    form: str
    """Content of the files, in words."""
    serves: str
    """Reproductions that use it, as shell patterns separated by blanks."""
    size: Callable[..., str]
    """Reader of the files: refuses another format and returns their size in words."""
    stand_in: bool = False
    """Whether it is read only if the folder holds no other data for a reproduction."""

    def about(self, name: str) -> bool:
        """Return whether a reproduction uses these data."""
        return any(fnmatchcase(name, pattern) for pattern in self.serves.split())


def _records(x: NDArray[Any], y: Ints) -> str:
    classes = int(y.max(initial=-1)) + 1
    return f"{len(x):,} records, {x.shape[1]:,} columns, {classes:,} classes"


_MODEL = ("config.json", "model.safetensors")
"""Files of a model's folder that a checksum is of; the tokenizer lies beside them."""

PREDICTIONS = (
    "location_labels_membership.npz",
    "location_target_predictions.npz",
    "location_shadow_predictions.npz",
)
"""Files with the authors' predictions on Location30."""

ONE_AT_A_TIME = ("song-table2", "song-table5")
"""Reproductions on one of several data sets, of which the folder may hold only one."""

LAYOUTS = (
    Layout(
        "Purchase100",
        files=("dataset_purchase",),
        form="a line a customer: the class (1 to 100), then 600 zeros and ones, parted by commas",
        serves=(
            "song-table2 song-table5 song-table6 song-fig2 song-fig3 song-fig4 song-fig5 "
            "song-fig10 song-fig12"
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
        "notes and models",
        files=(
            *NOTES.values(),
            *(f"{kind}/{file}" for kind in ("target", "reference") for file in _MODEL),
        ),
        form=(
            "a JSON object a line with text, note_id (no note in two files) and sentence, its "
            "place in the note; target and reference: folders of masked Hugging Face models with "
            "tokenizers"
        ),
        serves=(
            "mireshghallah-table2 mireshghallah-table3 mireshghallah-table7 mireshghallah-table11 "
            "mireshghallah-fig3 mireshghallah-fig4 mireshghallah-fig5"
        ),
        size=lambda *_: "; ".join(
            f"{part}: {len(one):,} sentences of {len(np.unique(one.note)):,} notes"
            for part, one in (own_notes() or {}).items()
        ),
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
        size=lambda _: "{:,} records, {} columns".format(*census()[0].shape),
    ),
)
"""Every data set that can be read from a folder."""


def data_in_folder(name: str, folder: Path) -> Mapping[str, str]:
    """Check the data that a folder holds for a reproduction; return size and checksum by name.

    Parameters
    ----------
    name : str
        Name of the reproduction.
    folder : Path
        Folder with the files of one or more `LAYOUTS`.

    Raises
    ------
    InputError
        If the reproduction takes no data, the folder holds none of its data sets, or one has
        another format.
    """
    known = [layout for layout in LAYOUTS if layout.about(name)]
    if not known:
        raise InputError(
            f"data cannot be given for {name}: it can for "
            f"{', '.join(sorted(set(' '.join(one.serves for one in LAYOUTS).split())))}"
        )
    found = {}
    # A data set counts only if all of its files are there.
    there = {one.name: [file_in(folder, file) for file in one.files] for one in known}
    whole = [one for one in known if None not in there[one.name]]
    real = [one.name for one in whole if not one.stand_in]
    if name in ONE_AT_A_TIME and len(real) > 1:
        raise InputError(
            f"{name} is made on one data set at a time, and {folder} holds {' and '.join(real)}: "
            "give a folder for each"
        )
    # Readers look for files in this folder first.
    with data_in(folder):
        for layout in whole:
            # Stand-ins would not be read where the real data are.
            if layout.stand_in and real:
                continue
            paths = [path for path in there[layout.name] if path is not None]
            # Of the files' joined contents.
            sha = hashlib.sha256()
            for path in paths:
                with path.open("rb") as file:
                    while block := file.read(_BLOCK):
                        sha.update(block)
            size = layout.size(*paths)
            found[layout.name] = f"{size}, SHA-256 {sha.hexdigest()[:16]}"
    if not found:
        wanted = "; or ".join(f"{' and '.join(one.files)} ({one.form})" for one in known)
        raise InputError(f"data must be a folder with {wanted}; got {folder}, which has none")
    return found


@dataclass(frozen=True)
class Outcome:
    """Outcome of one of several reproductions: made, kept or left out."""

    name: str
    """Name of the reproduction."""
    result: ReproductionResult | None
    """Result; None if data or a package is missing."""
    said: str
    """Verdict, or the message about what is missing."""
    kept: bool = False
    """Whether the result was kept from an earlier run."""

    @property
    def seconds(self) -> float:
        """Seconds spent on it now; 0 if it was kept or left out."""
        return 0.0 if self.result is None or self.kept else self.result.seconds

    @property
    def plain(self) -> dict[str, object]:
        """Outcome as a mapping for JSON."""
        state = "left out" if self.result is None else "kept" if self.kept else "made"
        return {"name": self.name, "state": state, "seconds": self.seconds, "verdict": self.said}

    @property
    def line(self) -> str:
        """Outcome in a line: name, seconds or `kept`, verdict."""
        if self.result is None:
            return f"{self.name}: left out: {self.said}"
        took = "kept" if self.kept else f"{self.result.seconds:.0f} s"
        return f"{self.name}: {took}: {self.said}"


IN_PARTS = frozenset(
    {
        "long-table1",
        "long-fig1",
        "long-fig2",
        "long-fig4",
        "long-fig5",
        "long-table2",
        "meeus-table2",
        "meeus-table3",
        "meeus-fig3a",
        "meeus-fig3b",
        "meeus-fig4",
        "song-fig3",
        "song-fig4",
        "song-fig5",
        "song-fig9",
        "song-fig12",
    }
)
"""Reproductions that honour a share of the full form; the others are always made in full."""


def effort_for(known: Reproduction, effort: Effort) -> Effort:
    """Return the effort without its share if the reproduction is always made in full."""
    return effort if known.name in IN_PARTS else replace(effort, share=1.0)


def make_result(known: Reproduction, effort: Effort) -> ReproductionResult:
    """Make a reproduction and return its result, with the seconds that it took."""
    effort = effort_for(known, effort)
    data = {} if effort.data is None else data_in_folder(known.name, effort.data)
    # The check above reads the files a first time and is not part of the seconds.
    start = time.monotonic()
    with data_in(effort.data):
        table = known.make(effort)
    seconds = time.monotonic() - start
    return ReproductionResult(
        table=table,
        form=effort.form,
        seed=effort.seed,
        seconds=seconds,
        version=own_version(),
        data=data,
    )


def keep(known: Reproduction, result: ReproductionResult, out: Path) -> None:
    """Write a result as ``NAME.json`` and its figure as ``NAME.svg``, both or neither."""
    files = {
        f"{known.name}.json": result.to_json(
            judgement(known.name, result.form, result.data)
        ).encode()
    }
    # Nothing measured: nothing to draw.
    if result.table.measured:
        files[f"{known.name}.svg"] = figure_svg(known, result.table).encode()
    write_results(out, files)


def load_kept_result(known: Reproduction, effort: Effort, out: Path) -> ReproductionResult | None:
    """Return the kept result of the same form, seed, version and data; None if there is none."""
    path = out / f"{known.name}.json"
    if not path.is_file():
        return None
    try:
        found = read_result(path)
    except InputError:  # from an older version: make it again
        return None
    data = {} if effort.data is None else data_in_folder(known.name, effort.data)
    asked = (effort_for(known, effort).form, effort.seed, own_version(), data)
    return found if (found.form, found.seed, found.version, found.data) == asked else None


def run_folder(out: Path, known: Reproduction, effort: Effort) -> Path:
    """Return the folder for the models of a reproduction, one for each form and data."""
    # The digest of sizes and checksums: models on other data must not be taken up again.
    form = effort_for(known, effort).form.replace(" ", "-")
    if effort.data is not None:
        given = "".join(data_in_folder(known.name, effort.data).values())
        form += f"-{hashlib.sha256(given.encode()).hexdigest()[:12]}"
    return out / "runs" / form / known.name


def make_all(
    asked: Sequence[Reproduction],
    effort: Effort,
    out: Path,
) -> Iterator[Outcome]:
    """Make reproductions one after the other and yield the outcome of each.

    Parameters
    ----------
    asked : sequence of Reproduction
    effort : Effort
        Size of each reproduction; its folder is ignored.
    out : Path
        Folder of results; those in the same form, seed, version and data are not made again.

    Yields
    ------
    Outcome
        If data or a package is missing, without a result but with the message.
    """
    for known in asked:
        found = load_kept_result(known, effort, out)
        if found is not None:
            yield Outcome(known.name, found, _verdict_text(found), True)
            continue
        try:
            result = make_result(known, replace(effort, run=run_folder(out, known, effort)))
        # One without its data or packages must not stop the others.
        except (InputError, ModuleNotFoundError) as error:
            yield Outcome(known.name, None, " ".join(str(error).split()))
            continue
        keep(known, result, out)
        yield Outcome(known.name, result, _verdict_text(result))


def _verdict_text(result: ReproductionResult) -> str:
    name = result.table.name
    return str(judgement(name, result.form, result.data).of(result.table))
