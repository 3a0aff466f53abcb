"""Medical transcriptions (mtsamples.com), cut by note into four parts and into sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.datasets.local_copies import read_own
from privacygauge.errors import InputError

LICENCE = "sharing with credit and notice (mtsamples.com): for tests and reproductions only"

PARTS = ("member", "nonmember", "reference", "population")
"""No note, and no near-duplicate of one, is in two of them."""

_SHA256 = {
    "member": "3ef1099963336ea4d6a8d7abc41c65a42a2b4fc661628b281b714b5e3f3e3dd3",
    "nonmember": "922fcfdfba0c32c870ee5c24fc412de88977187dcaace1d74e1c37943bdda133",
    "reference": "2c4dd5f199e916ea3b7d64af0759b4a04f179dbbad904e8575f0a881a35a4b92",
    "population": "e4988820f547b8dccaa0e1e614373177538316dbf6cca6bbb74c78abbccf0226",
}


@dataclass(frozen=True, eq=False)
class Sentences:
    """The sentences of some notes, of 10 to 60 tokens each, note by note."""

    text: tuple[str, ...] = field(repr=False)
    """(n,) The sentences; none occurs twice in a part."""
    note: Ints
    """(n,) The number of the note of each: no number is in two parts."""
    place: Ints
    """(n,) The place of each in its note, from 0; some are left out."""

    def __len__(self) -> int:
        return len(self.text)

    def of_notes(self, notes: Ints) -> Sentences:
        """Return the sentences of some notes, in the order in which they are here."""
        rows = np.flatnonzero(np.isin(self.note, notes))
        return Sentences(tuple(self.text[row] for row in rows), self.note[rows], self.place[rows])


def mtsamples(part: str) -> Sentences:
    """Return the sentences of one part of the notes.

    Parameters
    ----------
    part : str
        Of `PARTS`: 14,501 sentences of 601 notes for ``member``, 14,939 of 608 for ``nonmember``,
        10,750 of 441 for ``reference``, 5,656 of 254 for ``population``.

    Raises
    ------
    InputError
        If the file is not in the folder that PRIVACYGAUGE_DATA names, or is another one.
    """
    if part not in PARTS:
        raise InputError(f"part must be one of {checks.short_list(PARTS)}, got {part!r}")
    name = f"mtsamples_{part}.jsonl"
    absent = "the notes may be shared with credit only, so they are not fetched for you"
    content = read_own(name, _SHA256[part], absent)
    rows = [json.loads(line) for line in content.decode("utf-8").split("\n") if line]
    return Sentences(
        tuple(row["text"] for row in rows),
        checks.integers([row["note_id"] for row in rows], "note_id"),
        checks.integers([row["sentence"] for row in rows], "sentence"),
    )
