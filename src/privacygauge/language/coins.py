"""The coins of a test on disk: each person's side, so that a later audit can trust the sides."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from privacygauge.core.checks import Bools, Ints, short_list
from privacygauge.errors import InputError
from privacygauge.language.text_files import TextRecords
from privacygauge.language.texts import Texts
from privacygauge.runs.atomic import check_writable
from privacygauge.runs.results import write_results

FILE = "coins.json"
"""Name of the file, next to the texts of the sides."""

NAMES = {
    "member": "members.jsonl",
    "nonmember": "nonmembers.jsonl",
    "population": "population.jsonl",
    "reference": "reference.jsonl",
}
"""File name of each side."""


@dataclass(frozen=True)
class Coins:
    """Fair coins tossed before a model was trained, and the sides that they assigned."""

    seed: int
    """Seed of the coins."""
    source: str
    """SHA-256 of all texts and people before the split."""
    sides: Mapping[str, str]
    """SHA-256 of each side's texts and people, whatever their order and format."""
    people: Mapping[str, tuple[str, int]] = field(repr=False)
    """Side and number of the coin of each person (or text, where people are unknown); people with
    nearly the same texts share a coin."""

    def numbers(self, names: Sequence[str], member: Bools) -> Ints:
        """Return the number of each judged row's coin, (n,).

        Parameters
        ----------
        names : sequence of str, length n
            Person of each row.
        member : ndarray of bool, shape (n,)

        Raises
        ------
        InputError
            If a person is not on the side that the coins chose.
        """
        for name, inside in zip(names, member.tolist(), strict=True):
            side = self.people.get(name, ("nobody",))[0]
            if side != ("member" if inside else "nonmember"):
                asked = "a member" if inside else "a non-member"
                raise InputError(
                    f"{name[:60]!r} must be {asked} by the coins, got {side}: give what they dealt"
                )
        return np.array([self.people[name][1] for name in names], np.int64)

    def require(self, given: Mapping[str, TextRecords]) -> None:
        """Raise unless the coins assigned these texts to their sides.

        Parameters
        ----------
        given : mapping of str to TextRecords
            The sides of an audit: ``member``, ``nonmember`` and, where there is one,
            ``population``.

        Raises
        ------
        InputError
            One line: the side that the coins did not choose, and the way out.
        """
        for side, records in given.items():
            if digest(records) != self.sides.get(side):
                raise InputError(
                    f"the {side} texts must be those that the coins dealt: give {NAMES[side]} as "
                    "it was written, or audit without coins"
                )


def digest(records: TextRecords) -> str:
    """Return the SHA-256 of texts and their people, independent of their order."""
    rows = zip(records.group or [""] * len(records), records.text, strict=True)
    lines = sorted(json.dumps(row) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def people_of(records: TextRecords) -> Texts:
    """Return the person of each text: its group, or the text itself."""
    return records.group or records.sample or tuple(f"text-{row}" for row in range(len(records)))


def write_sides(
    folder: str | Path,
    sides: Mapping[str, TextRecords],
    coins: Coins,
    targets: Mapping[str, TextRecords] | None = None,
) -> None:
    """Write a file of texts per side, and the coins last: their file marks the folder as complete.

    Parameters
    ----------
    targets : mapping of str to TextRecords, optional
        File name to texts of further models.

    Raises
    ------
    OutputError
        If they cannot be written.
    """
    place = Path(folder)
    check_writable(place)
    named = {NAMES[side]: records for side, records in sides.items()} | dict(targets or {})
    files = {name: _lines(records) for name, records in named.items()}
    write_results(place, {**files, FILE: (json.dumps(asdict(coins), indent=1) + "\n").encode()})


def read_coins(path: str | Path) -> Coins:
    """Return the coins in a file, or in a folder.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    place = Path(path) / FILE if Path(path).is_dir() else Path(path)
    if not place.is_file():
        raise InputError(f"{place} does not exist: `privacygauge language split` writes one")
    try:
        kept = json.loads(place.read_text(encoding="utf-8"))
        people = {
            str(name): (str(side), int(coin)) for name, (side, coin) in kept["people"].items()
        }
        found = Coins(int(kept["seed"]), str(kept["source"]), dict(kept["sides"]), people)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{place} holds no coins, or is damaged: deal the texts again") from error
    unknown = set(found.sides) - set(NAMES)
    if unknown or not {"member", "nonmember"} <= set(found.sides):
        raise InputError(
            f"{place} must hold the sides {short_list(NAMES)}, got {short_list(found.sides)}"
        )
    return found


def _lines(records: TextRecords) -> bytes:
    columns = {"sample": records.sample, "patient": records.group, "text": records.text}
    known = {name: values for name, values in columns.items() if values is not None}
    rows = (dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=True))
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
