"""The texts of members, non-members and population, checked beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.scores import TextScores, text_scores
from privacygauge.language.text_files import Columns, TextRecords, TextRecordsLike, as_texts
from privacygauge.language.texts import Texts, plain_texts

SIDES = ("member", "nonmember", "population")
"""What a side is called in ids and in messages."""


@dataclass(frozen=True, eq=False)
class Side:
    """The texts of one side."""

    name: str
    """``member``, ``nonmember`` or ``population``."""
    records: TextRecords
    """Its texts."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def sample(self) -> Texts:
        """(n,) Ids: those given, or the side and the row."""
        given = self.records.sample
        return given or tuple(f"{self.name}-{row}" for row in range(len(self)))

    def rows(self, rows: Ints) -> Side:
        """Return some of the texts, known as before."""
        return Side(self.name, replace(self.records, sample=self.sample).rows(rows))


def scores_of(sides: Sequence[Side], energy_target: Floats, **more: Any) -> TextScores:
    """Return energies of all sides together, by name also those that are not of the texts."""
    groups = [side.records.group for side in sides if side.records.group is not None]
    kind = np.repeat([side.name for side in sides], [len(side) for side in sides])
    return text_scores(
        [name for side in sides for name in side.sample],
        energy_target,
        kind == SIDES[0],
        group=[name for group in groups for name in group] if groups else None,
        population=kind == SIDES[2],
        text=[text for side in sides for text in side.records.text],
        **more,
    )


def sides_of(
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None = None,
    *,
    columns: Columns | None = None,
) -> list[Side]:
    """Return the texts of every side that there is, read and checked beside each other.

    Raises
    ------
    InputError
        If texts cannot be read, only some of the sides have groups, an id is of two texts, or a
        side has nothing of its own.
    """
    given = (members, nonmembers, population)
    names = ("members", "nonmembers", "population")
    sides = [
        Side(side, as_texts(texts, columns, name))
        for side, name, texts in zip(SIDES, names, given, strict=True)
        if texts is not None
    ]
    _check_groups(sides)
    _check_ids(sides)
    _check_own(sides[0], sides[1])
    return sides


def _check_groups(sides: Sequence[Side]) -> None:
    grouped = [side.records.group is not None for side in sides]
    if any(grouped) and not all(grouped):
        raise InputError(
            f"groups must be given for all texts or for none, got none for the "
            f"{sides[grouped.index(False)].name} texts: name their column"
        )


def _check_ids(sides: Sequence[Side]) -> None:
    """Raise where one id is of two texts: it would pass for one sample on both sides."""
    seen: dict[str, tuple[str, str]] = {}
    for side in sides:
        for name, text in zip(side.sample, side.records.text, strict=True):
            first, earlier = seen.setdefault(name, (side.name, text))
            if earlier != text:
                raise InputError(
                    f"an id must be of one text, got {name!r} for two: a {first} text and a "
                    f"{side.name} text; number all sides through, or leave ids out"
                )


def _check_own(members: Side, nonmembers: Side) -> None:
    """Raise where every text of a side is on the other too: nothing would be left to judge."""
    inside, outside = (set(plain_texts(side.records.text)) for side in (members, nonmembers))
    for name, own in (("member", inside - outside), ("non-member", outside - inside)):
        if not own:
            raise InputError(
                f"every {name} text is on both sides: members and nonmembers must be different "
                "texts, check the files"
            )
