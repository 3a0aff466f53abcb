"""Public data sets: UCI Adult, medical transcriptions, and the digits of scikit-learn."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.local_copies import content_of, own_file, read_checked, read_own
from privacygauge.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


RECORDS = 48_842
"""Number of records of Adult, both files together."""

WEIGHT = "fnlwgt"
"""Column with the number of people in the census that a record represents: not an attribute of the
person."""

CONTINUOUS = (
    "age",
    "fnlwgt",
    "education-num",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
)
CATEGORICAL = (
    "workclass",
    "education",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "native-country",
)

_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation"),
    *("relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week"),
    *("native-country", "income"),
)
_SOURCE = "https://archive.ics.uci.edu/ml/machine-learning-databases/adult/"
_FILES = {
    "adult.data": "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    "adult.test": "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
}


def adult() -> pd.DataFrame:
    """Return the 48,842 records of UCI Adult in the order of the files, training file first.

    Licence: CC BY 4.0 (B. Becker, R. Kohavi; UCI Machine Learning Repository).

    Returns
    -------
    pandas.DataFrame
        14 attributes and ``income`` (1 for more than 50,000 dollars, else 0); "?" for a missing
        value. Read from the folder that PRIVACYGAUGE_DATA names, or from UCI.
    """
    import pandas as pd

    parts = []
    for name, sha256 in _FILES.items():
        text = read_checked(name, _SOURCE + name, sha256).decode("ascii")
        parts.append(
            pd.read_csv(
                io.StringIO(text),
                names=_COLUMNS,
                skipinitialspace=True,
                # The test file begins with a line of comment, and its incomes end in a point.
                skiprows=int(text.startswith("|")),
                keep_default_na=False,
            )
        )
    frame = pd.concat(parts, ignore_index=True)
    frame["income"] = frame["income"].str.startswith(">50K").astype(np.int64)
    return frame


def adult_binary(
    frame: pd.DataFrame, continuous: Sequence[str] = CONTINUOUS
) -> tuple[Floats, Ints]:
    """Return features for networks: categories as binary columns, numbers standardised.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows of `adult`.
    continuous : sequence of str
        Continuous columns to keep; Long et al. (2017) leave out `WEIGHT`.

    Returns
    -------
    tuple of ndarray, shapes (n, d) and (n,)
        Features, with continuous columns of mean 0 and standard deviation 1 (Long et al. 2017,
        section 5.1); income, 0 or 1.
    """
    import pandas as pd

    numbers = frame[list(continuous)].to_numpy(np.float64)
    # A constant column becomes 0, not NaN.
    spread = numbers.std(axis=0)
    numbers = (numbers - numbers.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    binary = pd.get_dummies(frame[list(CATEGORICAL)]).to_numpy(np.float64)
    return np.hstack([numbers, binary]), frame["income"].to_numpy(np.int64)


# Medical transcriptions (mtsamples.com), cut by note into four parts and into sentences.
# They may be shared with credit and notice, and are for tests and reproductions only.

PARTS = ("member", "nonmember", "reference", "population")
"""Parts of the notes; no note, and no near-duplicate of one, is in two of them."""

_SHA256 = {
    "member": "3ef1099963336ea4d6a8d7abc41c65a42a2b4fc661628b281b714b5e3f3e3dd3",
    "nonmember": "922fcfdfba0c32c870ee5c24fc412de88977187dcaace1d74e1c37943bdda133",
    "reference": "2c4dd5f199e916ea3b7d64af0759b4a04f179dbbad904e8575f0a881a35a4b92",
    "population": "e4988820f547b8dccaa0e1e614373177538316dbf6cca6bbb74c78abbccf0226",
}


@dataclass(frozen=True, eq=False)
class Sentences:
    """Sentences of 10 to 60 tokens, note by note."""

    text: tuple[str, ...] = field(repr=False)
    """(n,) Sentences; none occurs twice in a part."""
    note: Ints
    """(n,) Number of each sentence's note; no number is in two parts."""
    place: Ints
    """(n,) Index of each sentence in its note, from 0, with gaps for sentences left out."""

    def __len__(self) -> int:
        return len(self.text)

    def of_notes(self, notes: Ints) -> Sentences:
        """Return the sentences of the given note numbers, in the present order."""
        rows = np.flatnonzero(np.isin(self.note, notes))
        return Sentences(tuple(self.text[row] for row in rows), self.note[rows], self.place[rows])


def mtsamples(part: str) -> Sentences:
    """Return the sentences of one part of the medical transcriptions.

    Parameters
    ----------
    part : str
        One of `PARTS`: 14,501 sentences of 601 notes for ``member``, 14,939 of 608 for
        ``nonmember``, 10,750 of 441 for ``reference``, 5,656 of 254 for ``population``.

    Raises
    ------
    InputError
        If the file is not in the folder that PRIVACYGAUGE_DATA names, or has another checksum.
    """
    if part not in PARTS:
        raise InputError(f"part must be one of {checks.short_list(PARTS)}, got {part!r}")
    name = f"mtsamples_{part}.jsonl"
    absent = "the notes may be shared with credit only, so they are not fetched for you"
    return _sentences(read_own(name, _SHA256[part], absent), name)


def _sentences(content: bytes, name: str) -> Sentences:
    """Return the sentences of a JSON Lines file: text, note_id and sentence in each line."""
    keys = ("text", "note_id", "sentence")
    try:
        # Not `splitlines`: texts may hold other line separators.
        rows = [json.loads(line) for line in content.decode("utf-8").split("\n") if line.strip()]
        text, note, place = ([row[key] for row in rows] for key in keys)
    except (UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{name} must hold a JSON object with {', '.join(keys)} in each line, and does not: "
            f"{error}"
        ) from error
    if not text or not all(isinstance(one, str) and one.strip() for one in text):
        raise InputError(f"every text of {name} must be a text that is not empty")
    return Sentences(
        tuple(text), checks.integers(note, "note_id"), checks.integers(place, "sentence")
    )


NOTES = {part: f"notes_{part}.jsonl" for part in ("member", "nonmember", "population")}
"""Part to the file of the user's own notes."""


def own_notes() -> dict[str, Sentences] | None:
    """Return the user's own notes by part; None unless all files of `NOTES` are there.

    Raises
    ------
    InputError
        If a file has another format, or a note is in two parts.
    """
    paths = {part: own_file(name) for part, name in NOTES.items()}
    found = {
        part: _sentences(content_of(path), path.name)
        for part, path in paths.items()
        if path is not None
    }
    if len(found) < len(NOTES):
        return None
    known: dict[int, str] = {}
    for part, sentences in found.items():
        for note in np.unique(sentences.note).tolist():
            if known.setdefault(note, part) != part:
                raise InputError(
                    f"a note_id must be in one file, and {note} is in {NOTES[known[note]]} and "
                    f"{NOTES[part]}: number the notes of all files together"
                )
    return found


# Handwritten digits, which come with scikit-learn.


def digits() -> tuple[Floats, Ints]:
    """Return 1,797 images of 8 x 8 handwritten digits, and their digits.

    Licence: CC BY 4.0 (E. Alpaydin, C. Kaynak; UCI Machine Learning Repository).

    Returns
    -------
    tuple of ndarray, shapes (1797, 64) and (1797,)
        Grey values in [0, 1]; digits in 0..9.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return np.asarray(x, np.float64) / 16.0, np.asarray(y, np.int64)
