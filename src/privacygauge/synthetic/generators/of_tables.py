"""Generators of two tables, such as people and their visits, used as generators of people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacygauge.errors import InputError
from privacygauge.synthetic.games.releases import digest_of_units, table_digest
from privacygauge.synthetic.generators.adapters import Call, FitSample, GeneratorInput
from privacygauge.synthetic.generators.foreign import table_from
from privacygauge.synthetic.generators.generator import Generator
from privacygauge.synthetic.generators.named import as_generator
from privacygauge.synthetic.related import Related
from privacygauge.synthetic.table import Table


@dataclass(frozen=True)
class OfTables:
    """Generator of two tables: learns from all rows of people, returns one record per person.

    All rows of a person, in either table, are thus in or out together.
    """

    made_by: Call | FitSample
    """Generator from a dict of two frames to another."""
    related: Related
    """Both tables of all people."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return self.made_by.name

    def describe(self) -> Mapping[str, Any]:
        """Return the origin of the generator, and digests of the rows and their owners."""
        related = {
            "rows": table_digest(self.related.rows),
            "owners": digest_of_units(self.related.owner),
        }
        return {**self.made_by.describe(), "related": related}

    def reached(self) -> tuple[object, ...]:
        """Return further code that is run."""
        return (self.made_by,)

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n people that the generator made from the table's people and their rows."""
        if table.people is None:
            raise InputError(
                "a generator of several tables learns from real people alone: choose other "
                "--knowledge than synthetic"
            )
        frames = self.related.frames(table.people)
        given = GeneratorInput(frames, self.related.schemas, self.related.key)
        made = self.made_by.asked(given, n, rng)
        return table_from(self.related.joined(made, self.name), table.schema, n, self.name)


def takes_tables(generator: object) -> bool:
    """Return whether a generator learns from several tables."""
    return bool(getattr(generator, "takes_tables", False))


def over(generator: object, related: Related) -> Generator:
    """Return a generator of people: of both tables, or of one record per person if it takes one.

    Parameters
    ----------
    generator : Generator, str, class, object, or callable
        As in `as_generator`, or one that takes and returns a dict of frames: a function with a
        first argument called ``tables``, an object with a ``fit`` that has it, or an SDV
        synthesizer of several tables.
    related : Related
        Both tables.

    Raises
    ------
    InputError
        As in `as_generator`.
    """
    made_by = as_generator(generator)
    if not takes_tables(made_by):
        return made_by
    assert isinstance(made_by, Call | FitSample)
    return OfTables(made_by, related)
