"""Options of a command: a request, and the options that several commands share.

A `Request` holds the options of an audit; a `Command` says how to run it. The command line makes
its options from the fields, a run keeps the request as JSON, and resuming a run means reading it
again. Nothing here imports a command line or a slow library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from privacygauge.errors import InputError
from privacygauge.runs.folder import url_of
from privacygauge.runs.options import DOC, Options, OptionSpec, Role, asks
from privacygauge.runs.source import PROGRAM, absolute

_READ = (Role.FILE, Role.MODEL)


@dataclass(frozen=True, kw_only=True)
class Request(Options):
    """Options of an audit: the same on the command line, in a run, and when it resumes."""

    COMMON: ClassVar[tuple[str, ...]] = ("seed", "level", "title", "note")
    """Fields that every request has; a command lists them last."""
    UNUSED: ClassVar[tuple[str, ...]] = ()
    """Common fields that this request does not have."""

    seed: int = asks("N", "Seed of all random draws.", default=0)
    level: float = asks("P", "Level of every interval.", default=0.95)
    title: str = asks("TEXT", "Name of what is audited, shown first in the report.", default="")
    note: str = asks("TEXT", "A remark of yours, shown in the report.", default="")

    urls: tuple[tuple[str, str], ...] = ()
    """Fields whose files are copies of downloads, and their URLs; see `with_copies`."""

    @classmethod
    def asked(cls) -> tuple[tuple[Field[Any], OptionSpec], ...]:
        """Return the fields with their options: of commands, of shared designs, the common ones."""
        shared = {
            name
            for kind in cls.__mro__
            if issubclass(kind, Options) and not issubclass(kind, Request)
            for name in kind.__annotations__
        }
        # The name of the records, and what is done with them, come before details of the game.
        return tuple(
            sorted(
                super().asked(),
                key=lambda pair: (pair[0].name in cls.COMMON, pair[0].name in shared),
            )
        )

    @classmethod
    def kept(cls, options: Mapping[str, Any]) -> Self:
        """Return the request that started a run, from the options it kept.

        Raises
        ------
        InputError
            If the run keeps an option that this version does not have.
        """
        # Older runs name some options by their flags.
        by_flag = {spec.flag[2:].replace("-", "_"): f.name for f, spec in cls.asked()}
        known = {f.name for f in fields(cls)}
        # JSON knows lists only; a request holds tuples.
        given: dict[str, Any] = {
            name if name in known else by_flag.get(name, name): tuple(x)
            if isinstance(x, list)
            else x
            for name, x in options.items()
        }
        try:
            return cls(**given)
        except TypeError as error:
            raise InputError(
                "the run was started by another version of PrivacyGauge, with options that this "
                "one does not have: start it again in another folder"
            ) from error

    @property
    def keeps(self) -> bool:
        """Whether its results are worth keeping in a run."""
        return True

    def check(self, jobs: int) -> None:
        """Raise an `InputError` if options contradict each other, before any work.

        Parameters
        ----------
        jobs : int
            Number of parallel workers.
        """

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that a release can be held to, if fewer than those of its command."""
        return ()

    def settled(self) -> dict[str, Any]:
        """Return the request as JSON values that are independent of the working folder."""
        found = asdict(self)
        for f in fields(self):
            if DOC in f.metadata:
                del found[f.name]
        urls = dict(found.pop("urls"))
        for f, asked in self.asked():
            value = found[f.name]
            if not isinstance(value, str):
                continue
            # A URL means the same in every folder.
            if asked.role in _READ and "://" not in value:
                found[f.name] = str(Path(value).absolute())
            elif asked.role is Role.CODE and not value.startswith(PROGRAM):
                found[f.name] = absolute(value)
        return {**found, **urls}

    @classmethod
    def file_names(cls) -> tuple[str, ...]:
        """Return the names of the fields that are files or models, the data first."""
        names = [f.name for f, asked in cls.asked() if asked.role in _READ]
        return tuple(sorted(names, key=lambda name: name != "data"))

    def files(self) -> dict[str, Path]:
        """Return the files that were named, by field."""
        paths = {f.name: getattr(self, f.name) for f, asked in self.asked() if asked.role in _READ}
        return {name: Path(path) for name, path in paths.items() if path and "://" not in path}

    def told(self, command: str, files: Mapping[str, Path] | None = None) -> dict[str, Any]:
        """Return the arguments that the calls of all audits share, and the hashes of the files.

        `files` replaces the files that were named.
        """
        # Imported late, so that a command line that only prints its help starts without it.
        from privacygauge.runs.results import file_hashes

        hashes = file_hashes(self.files() if files is None else files)
        how = {"seed": self.seed, "level": self.level}
        return {**how, "command": command, "provenance": hashes}

    def code(self) -> dict[str, str]:
        """Return the values that may name the user's code, by field."""
        named = [f.name for f, asked in self.asked() if asked.role is Role.CODE]
        values = {name: getattr(self, name) for name in named}
        return {name: value for name, value in values.items() if value is not None}


_TEXTS = (".csv", ".tsv", ".jsonl", ".ndjson")
COPIED = (".parquet", ".npz", ".npy", *_TEXTS, *(f"{ending}.gz" for ending in _TEXTS))
"""Endings of files that are read once from beginning to end, and so are downloaded."""


def is_copied(text: str, role: Role) -> bool:
    """Return whether a text is the URL of a file or of a model's folder to download."""
    # A model at a web address is a server to be asked, not a file to be downloaded.
    if url_of(text) is None or text.startswith(("http:", "https:")):
        return False
    return role is Role.MODEL or (role is Role.FILE and text.lower().endswith(COPIED))


class Metric(str):
    """Name of a metric that a release can be held to, with the range of its limits."""

    __slots__ = ("most",)

    most: float
    """Largest value of the metric, so that no larger limit makes sense; the smallest is 0, no leak.
    Infinite if there is no largest value."""

    def __new__(cls, name: str, most: float = math.inf) -> Self:
        """Return a name with the range from 0 to `most`."""
        found = super().__new__(cls, name)
        found.most = most
        return found


def shares(*names: str) -> tuple[Metric, ...]:
    """Return metrics in [0, 1]: accuracies, rates, areas, and their differences."""
    return tuple(Metric(name, 1.0) for name in names)


def amounts(*names: str) -> tuple[Metric, ...]:
    """Return metrics in [0, infinity): epsilons, distances, counts."""
    return tuple(Metric(name) for name in names)


def with_low(*metrics: Metric) -> tuple[Metric, ...]:
    """Return metrics, each followed by the name of the lower end of its interval."""
    ends = ((metric, Metric(f"{metric}.low", metric.most)) for metric in metrics)
    return tuple(name for pair in ends for name in pair)


class HelpGroup(StrEnum):
    """Headings of ``privacygauge --help``."""

    START = "Start here"
    CLASSIFIER = "Classifiers"
    TABLE = "Tables"
    LANGUAGE = "Language models"
    TEST_SET = "Test sets and leaderboards"
    CLAIM = "Claims of privacy"
    REPORTS = "Runs, reports and registers"
    PAPERS = "Published results"


R = TypeVar("R", bound=Request)


separator_option = partial(
    asks,
    "CHARACTER",
    "What separates the fields of CSV files, such as ; or tab. Default: the one of , ; tab and | "
    "that their lines show.",
)
"""Returns the option for the field separator of CSV files, by its panel."""


missing_option = partial(
    asks,
    "A,B",
    "Words for a missing value in every column but ids, such as ? or -9, beside empty fields and, "
    "in columns of numbers, dates and amounts, NA, N/A, null, None, NaN and the like.",
)
"""Returns the option for words for a missing value, by its panel."""
