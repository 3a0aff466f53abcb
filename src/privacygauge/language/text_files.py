"""Texts of members, non-members and population: read from files, checked against each other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.reading import (
    LINES,
    TABLE_ENDINGS,
    FrameLike,
    csv_texts,
    is_csv,
    read_content,
    read_json,
    read_json_lines,
    read_text,
)
from privacygauge.errors import InputError
from privacygauge.language.conversations import AS_TRAINED, FIELDS, TrainingForm
from privacygauge.language.scores import TextScores, text_scores
from privacygauge.language.texts import (
    ScoredText,
    Texts,
    TrainedText,
    plain_texts,
    texts_of,
    texts_of_rows,
)

SAMPLES = ("sample", "id")
"""Columns that may hold the ids of the texts; the first one present is used."""
GROUPS = (
    *("group", "patient", "patient_id", "person", "person_id", "subject_id", "user_id"),
    *("note", "note_id"),
)
"""Columns that may hold the person of each text, in any case; the first one present is used."""

_PLAIN = (".txt", ".txt.gz")
_JSON = (".json", ".json.gz")
# Files in a folder written by the library datasets, and in a folder of several such folders.
_ON_DISK = "state.json"
_SPLITS = "dataset_dict.json"


@dataclass(frozen=True, eq=False)
class TextRecords:
    """Texts, with their ids and people."""

    text: Texts = field(repr=False)
    """(n,) Texts, none of them empty."""
    sample: Texts | None = field(default=None, repr=False)
    """(n,) Ids, all different; None if not given."""
    group: Texts | None = field(default=None, repr=False)
    """(n,) Patient or note of each text; None if not given."""
    trained: tuple[TrainedText, ...] | None = field(default=None, repr=False)
    """(n,) Texts with the parts that were trained; None if all of each text was."""

    def __post_init__(self) -> None:
        if isinstance(self.text, str) or len(self.text) == 0:
            raise InputError(f"texts must be at least one text, got {self.text!r}")
        n = len(self.text)
        for row, value in enumerate(self.text):
            # NaN, a missing value, is left to `texts_of`, which names it.
            if isinstance(value, int | np.number) or (isinstance(value, float) and value == value):
                raise InputError(
                    f"text must hold texts, got {value!r} in row {row}: name their column"
                )
        object.__setattr__(self, "text", texts_of(self.text, "text", n, empty=True))
        for row, value in enumerate(self.text):
            if not value.strip():
                raise InputError(
                    f"text must not be empty, got an empty one in row {row}: leave it out"
                )
        for name in ("sample", "group"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, texts_of(values, name, n))
        if self.sample is not None:
            first: dict[str, int] = {}
            for row, name in enumerate(self.sample):
                if (earlier := first.setdefault(name, row)) != row:
                    raise InputError(
                        f"ids must all be different, got {name!r} in rows {earlier} and {row}: "
                        "leave one out, or name another column"
                    )

    def __len__(self) -> int:
        return len(self.text)

    @property
    def scored(self) -> Sequence[ScoredText]:
        """(n,) Texts for a model, with their trained parts where known."""
        return self.text if self.trained is None else self.trained

    def rows(self, rows: Ints) -> TextRecords:
        """Return some of the texts, in the order requested."""
        return TextRecords(
            texts_of_rows(self.text, rows),
            sample=None if self.sample is None else texts_of_rows(self.sample, rows),
            group=None if self.group is None else texts_of_rows(self.group, rows),
            trained=self.trained and tuple(self.trained[row] for row in rows.tolist()),
        )


TextRecordsLike = TextRecords | str | Path | Sequence[str] | Mapping[str, Sequence[Any]] | FrameLike
"""Types that `as_texts` accepts."""


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a file; by default the usual ones."""

    text: str = "text"
    """Column of the texts."""
    sample: str | None = None
    """Column of the ids; by default ``sample`` or ``id``."""
    group: str | None = None
    """Column of the person; by default the first of `GROUPS` that exists."""
    training: TrainingForm = AS_TRAINED
    """Form of conversations, prompts with completions, and instructions, which have columns of
    their own (`messages`; `prompt` and `completion`; `instruction`, `input` and `output`)."""

    def __post_init__(self) -> None:
        checks.kind(self.training, "training", TrainingForm, "TrainingForm()")


def as_texts(
    given: TextRecordsLike, columns: Columns | None = None, name: str = "texts"
) -> TextRecords:
    """Return texts from a file, a sequence, a mapping or a frame.

    Parameters
    ----------
    given : TextRecords, path, sequence or array of str, mapping of lists, or data frame
        Texts; a str is a path, read as by `load_texts`.
    columns : Columns, optional
        Columns of a file, a mapping or a frame.
    name : str
        Name of the input in error messages.

    Examples
    --------
    >>> from privacygauge.language.text_files import as_texts
    >>> as_texts({"text": ["no fever", "mild cough"], "patient": [7, 7]}).group
    ('7', '7')
    """
    columns = columns or Columns()
    if isinstance(given, TextRecords):
        return given
    if isinstance(given, str | Path):
        return load_texts(given, columns)
    if isinstance(given, Mapping):
        return _texts_in({str(key): values for key, values in given.items()}, columns, name)
    # A frame of polars; one of pandas has no such method.
    frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
    if hasattr(frame, "columns"):
        return _texts_in({str(key): list(frame[key]) for key in frame.columns}, columns, name)
    if hasattr(frame, "tolist"):
        return _check_texts(name, tuple(frame.tolist()), None, None)
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise InputError(
            f"{name} must be a path, a sequence of texts, a mapping of lists or a data frame, got "
            f"{type(given).__name__}"
        )
    return _check_texts(name, tuple(given), None, None)


def load_texts(path: str | Path, columns: Columns | None = None) -> TextRecords:
    """Return the texts in a file.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.jsonl`` (also ``.jsonl.gz``; one object per line), ``.json`` (a list of objects),
        ``.csv``, ``.tsv`` or ``.parquet`` with a column of texts, or with the columns of training
        texts in parts (see `Columns`), and optionally columns of ids and of groups; ``.txt`` (also
        ``.txt.gz``; one text per line, without blank lines); or a folder written by the
        ``save_to_disk`` of Hugging Face datasets. UTF-8. Ids and groups are texts: ``007`` is not
        ``7``.
    columns : Columns, optional
        Names of the columns, if they are not the usual ones.

    Raises
    ------
    InputError
        If the file is invalid: the file, what is wrong, and the way out, in one line.
    """
    path = Path(path)
    columns = columns or Columns()
    name = path.name.lower()
    if path.is_dir():
        # The columns of a dataset in a folder, in the Arrow format of `save_to_disk`.
        import pyarrow as pa

        if (path / _SPLITS).is_file():
            parts = sorted(x.name for x in path.iterdir() if (x / _ON_DISK).is_file())
            raise InputError(
                f"{path} holds several datasets ({checks.short_list(parts)}): name the folder of "
                "one"
            )
        try:
            state = json.loads((path / _ON_DISK).read_text(encoding="utf-8"))
            # Only the name: a path in the file must not lead out of the folder.
            files = [path / Path(str(one["filename"])).name for one in state["_data_files"]]
            tables = [pa.ipc.open_stream(pa.memory_map(str(file))).read_all() for file in files]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path} is a directory, not a text file, nor a dataset as save_to_disk writes it "
                "(state.json and the files *.arrow that it names)"
            ) from error
        table = pa.concat_tables(tables)
        return _texts_in(
            {str(name): table.column(name).to_pylist() for name in table.column_names},
            columns,
            path,
        )
    if name.endswith(_PLAIN):
        lines = (line.strip() for line in read_text(path, "text").splitlines())
        return _check_texts(path, tuple(line for line in lines if line), None, None)
    if name.endswith((*LINES, *_JSON)):
        # Rows come with their numbers in the file.
        if name.endswith(LINES):
            rows = read_json_lines(path, "text")
        else:
            objects = read_json(path, "text")
            if not isinstance(objects, list) or not all(isinstance(row, dict) for row in objects):
                raise InputError(f"{path} must hold a list of objects, one for each text")
            rows = list(enumerate(objects, 1))
        if not rows:
            raise InputError(f"{path}: there are no texts in it")
        keys = rows[0][1].keys()
        for number, row in rows:
            if row.keys() != keys:
                raise InputError(
                    f"{path}: line {number} has the keys {checks.short_list(row)}, the first line "
                    f"has {checks.short_list(keys)}: every line must have the same"
                )
        return _texts_in({key: [row[key] for _, row in rows] for key in keys}, columns, path)
    if not (is_csv(path) or path.suffix.lower() == ".parquet"):
        raise InputError(f"{path} must end in .json, {TABLE_ENDINGS}, or .txt or .txt.gz")
    frame: Any = read_content(path, "text")
    names = [str(name) for name in frame.columns]
    if is_csv(path):
        # Read again as texts: pandas would turn the id 007 into the number 7.
        frame = csv_texts(path)
    wanted = {columns.text, columns.sample, columns.group, *SAMPLES, *GROUPS, *FIELDS}
    # Other columns are only named in messages: their values are not needed.
    found = {
        name: list(frame[key]) if {name, name.casefold()} & wanted else []
        for name, key in zip(names, frame.columns, strict=True)
    }
    return _texts_in(found, columns, path)


def _texts_in(
    found: Mapping[str, Sequence[Any]], columns: Columns, name: str | Path
) -> TextRecords:
    trained = None if columns.text in found else columns.training.texts(found)
    if columns.text not in found and trained is None:
        raise InputError(
            f"{name}: there is no column {columns.text!r} of texts; it has "
            f"{checks.short_list(found, most=12) or 'nothing'}: name the column that holds them"
        )
    for asked in (columns.sample, columns.group):
        if asked is not None and asked not in found:
            raise InputError(
                f"{name}: there is no column {asked!r}; it has {checks.short_list(found)}"
            )
    sample = columns.sample or next((key for key in SAMPLES if key in found), None)
    group = columns.group or next(
        (key for known in GROUPS for key in found if key.casefold() == known), None
    )
    return _check_texts(
        name,
        tuple(found[columns.text]) if trained is None else tuple(one.text for one in trained),
        None if sample is None else tuple(found[sample]),
        None if group is None else tuple(found[group]),
        trained=None if trained is None else tuple(trained),
    )


def _check_texts(
    name: str | Path,
    text: tuple[Any, ...],
    sample: tuple[Any, ...] | None,
    group: tuple[Any, ...] | None,
    trained: tuple[TrainedText, ...] | None = None,
) -> TextRecords:
    if not text:
        raise InputError(f"{name}: there are no texts in it")
    try:
        return TextRecords(text, sample, group, trained)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


SIDES = ("member", "nonmember", "population")
"""Names of the sides in ids and in messages."""


@dataclass(frozen=True, eq=False)
class Side:
    """The texts of one side."""

    name: str
    """``member``, ``nonmember`` or ``population``."""
    records: TextRecords
    """Texts of the side."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def sample(self) -> Texts:
        """(n,) Ids: those given, or side and row."""
        given = self.records.sample
        return given or tuple(f"{self.name}-{row}" for row in range(len(self)))

    def rows(self, rows: Ints) -> Side:
        """Return some of the texts, with their ids."""
        # Ids by row are given before rows are left out: an id keeps naming the same text.
        return Side(self.name, replace(self.records, sample=self.sample).rows(rows))


def scores_of(
    sides: Sequence[Side],
    energy_target: Floats,
    *,
    energy_reference: Floats | None = None,
    length: Ints | None = None,
    further: Mapping[str, Floats] | None = None,
) -> TextScores:
    """Return the energies of all sides, with the columns of `text_scores` by the same names."""
    groups = [side.records.group for side in sides if side.records.group is not None]
    kind = np.repeat([side.name for side in sides], [len(side) for side in sides])
    return text_scores(
        [name for side in sides for name in side.sample],
        energy_target,
        kind == SIDES[0],
        group=[name for group in groups for name in group] if groups else None,
        population=kind == SIDES[2],
        text=different_parts(sides),
        energy_reference=energy_reference,
        length=length,
        further=further,
    )


def different_parts(sides: Sequence[Side]) -> list[str]:
    """Return the texts of all sides, without their common beginning if a template wrote it.

    A prompt that precedes every answer makes all texts similar, and says nothing about them.
    """
    texts = [text for side in sides for text in side.records.text]
    if any(side.records.trained is None for side in sides):
        return texts
    # What the first and the last text in sorted order share, all texts share.
    pairs = enumerate(zip(min(texts), max(texts), strict=False))
    shared = next((place for place, (a, b) in pairs if a != b), len(min(texts)))
    # Where nothing else is in a text, its beginning is its own.
    own = [text[shared:] for text in texts]
    return own if all(text.strip() for text in own) else texts


def sides_of(
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None = None,
    *,
    columns: Columns | None = None,
) -> list[Side]:
    """Return the texts of every side, read and checked against each other.

    Raises
    ------
    InputError
        If texts cannot be read, only some sides have groups, an id belongs to two texts, or a side
        has no text of its own.
    """
    given = (members, nonmembers, population)
    names = ("members", "nonmembers", "population")
    sides = [
        Side(side, as_texts(texts, columns, name))
        for side, name, texts in zip(SIDES, names, given, strict=True)
        if texts is not None
    ]
    grouped = [side.records.group is not None for side in sides]
    if any(grouped) and not all(grouped):
        raise InputError(
            f"groups must be given for all texts or for none, got none for the "
            f"{sides[grouped.index(False)].name} texts: name their column"
        )
    if len({side.records.trained is None for side in sides}) > 1:
        raise InputError(
            "all sides must be plain texts, or all training data in parts such as messages"
        )
    # Two texts with one id would count as one sample on both sides.
    seen: dict[str, tuple[str, str]] = {}
    for side in sides:
        for name, text in zip(side.sample, side.records.text, strict=True):
            first, earlier = seen.setdefault(name, (side.name, text))
            if earlier != text:
                raise InputError(
                    f"an id must be of one text, got {name!r} for two: a {first} text and a "
                    f"{side.name} text; number all sides through, or leave ids out"
                )
    # Texts on both sides are left out later; something must remain to judge.
    inside, outside = (set(plain_texts(side.records.text)) for side in sides[:2])
    for name, own in (("member", inside - outside), ("non-member", outside - inside)):
        if not own:
            raise InputError(
                f"every {name} text is on both sides: members and nonmembers must be different "
                "texts, check the files"
            )
    return sides
