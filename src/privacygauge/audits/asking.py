"""Options of a command: fields of a request, each with its flag and its help, as plain data.

A `Request` holds the options of an audit; a `Command` says how to run it. The command line makes
its options from the fields, a run keeps the request as JSON, and resuming a run means reading it
again. Nothing here imports a command line or a slow library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, Field, asdict, dataclass, field, fields, replace
from enum import Enum, StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from privacygauge.errors import InputError
from privacygauge.runs.folder import url_of
from privacygauge.runs.source import PROGRAM, absolute

if TYPE_CHECKING:
    from privacygauge.synthetic.table import Schema


class Role(Enum):
    """Meaning of a field's text."""

    PLAIN = "plain"
    FILE = "file"
    """A file or folder of the user: kept as an absolute path."""
    MODEL = "model"
    """A folder with a model of the user: kept as an absolute path."""
    CODE = "code"
    """A name, or the user's FILE.py:NAME: the file is kept as an absolute path."""


_READ = (Role.FILE, Role.MODEL)


@dataclass(frozen=True)
class OptionSpec:
    """Option of a command line that fills a field."""

    help: str
    """Description of the option, in a sentence or two."""
    metavar: str
    """Placeholder of its value, such as ``FILE``; empty for a switch."""
    flag: str = ""
    """Flag, such as ``--label``; empty for a positional argument, and ``--`` for the name of its
    field.
    """
    panel: str = ""
    """Heading of the option in ``--help``."""
    offers: tuple[str, ...] = ()
    """Values offered by shell completion."""
    role: Role = Role.PLAIN
    """Meaning of its text."""
    split: bool = True
    """Whether several values may be given as ``a,b``."""


_KEY = "asked"
"""Key of an `OptionSpec` in a field's metadata."""
_OWN = "--"
"""Flag that stands for the name of its field."""
_NOTHING = {"| None": None, "...]": (), "bool": False}
"""Default of a field without one, by the end of its type."""


def option(
    flag: str,
    metavar: str,
    text: str,
    *,
    default: Any = MISSING,
    panel: str = "",
    offers: tuple[str, ...] = (),
    role: Role | None = None,
    split: bool = True,
) -> Any:
    """Return a field of a `Request` that an option fills.

    Parameters
    ----------
    flag : str
        Flag, such as ``--label``.
    metavar : str
        Placeholder of its value; empty for a switch.
    text : str
        Description, with ranges and those defaults that are not a plain value.
    default : object
        Default value. Without one an option is required, unless its type has an empty value: None
        if optional, an empty tuple, or a switch that is off.
    panel, offers, role, split
        As in `OptionSpec`; by default, the metavar ``FILE`` means the role of a file.
    """
    role = role or (Role.FILE if metavar == "FILE" else Role.PLAIN)
    asked = OptionSpec(
        help=text, metavar=metavar, flag=flag, panel=panel, offers=offers, role=role, split=split
    )
    return field(default=default, metadata={_KEY: asked})


asks = partial(option, _OWN)
"""`option` with a flag named after its field: ``--half-width`` for ``half_width``."""


def argument(metavar: str, text: str, *, default: Any = MISSING, role: Role = Role.FILE) -> Any:
    """Return a field of a `Request` that a positional argument fills; see `option`."""
    return field(default=default, metadata={_KEY: OptionSpec(text, metavar, role=role)})


@dataclass(frozen=True, kw_only=True)
class Request:
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

    def __init_subclass__(cls) -> None:
        # Before the dataclass is made: options whose type has an empty value default to it.
        for name, kind in cls.__annotations__.items():
            found = cls.__dict__.get(name)
            if isinstance(found, Field) and found.default is MISSING:
                known = (x for end, x in _NOTHING.items() if str(kind).endswith(end))
                found.default = next(known, MISSING)

    @classmethod
    def asked(cls) -> tuple[tuple[Field[Any], OptionSpec], ...]:
        """Return the fields with their options, the common ones last."""
        known: list[tuple[Field[Any], OptionSpec]] = []
        for f in fields(cls):
            asked = f.metadata.get(_KEY)
            if asked is not None and asked.flag == _OWN:
                asked = replace(asked, flag=_OWN + f.name.replace("_", "-"))
            if asked is not None:
                known.append((f, asked))
        own = [pair for pair in known if pair[0].name not in cls.COMMON]
        used = set(cls.COMMON) - set(cls.UNUSED)
        common = [pair for pair in known if pair[0].name in used]
        return (*own, *common)

    @classmethod
    def kept(cls, options: Mapping[str, Any]) -> Self:
        """Return the request that started a run, from the options it kept.

        Raises
        ------
        InputError
            If the run keeps an option that this version does not have.
        """
        # JSON knows lists only; a request holds tuples.
        given: dict[str, Any] = {
            name: tuple(x) if isinstance(x, list) else x for name, x in options.items()
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
        urls = dict(found.pop("urls"))
        for name, asked in self._asked_by_name().items():
            value = found[name]
            if not isinstance(value, str):
                continue
            # A URL means the same in every folder.
            if asked.role in _READ and "://" not in value:
                found[name] = str(Path(value).absolute())
            elif asked.role is Role.CODE and not value.startswith(PROGRAM):
                found[name] = absolute(value)
        return {**found, **urls}

    @classmethod
    def file_names(cls) -> tuple[str, ...]:
        """Return the names of the fields that are files or models, the data first."""
        names = [f.name for f, asked in cls.asked() if asked.role in _READ]
        return tuple(sorted(names, key=lambda name: name != "data"))

    def files(self) -> dict[str, Path]:
        """Return the files that were named, by field."""
        named = self._asked_by_name()
        paths = {name: getattr(self, name) for name in named if named[name].role in _READ}
        return {name: Path(path) for name, path in paths.items() if path and "://" not in path}

    def told(self, command: str, files: Mapping[str, Path] | None = None) -> dict[str, Any]:
        """Return the arguments that the calls of all audits share, and the hashes of the files.

        `files` replaces the files that were named.
        """
        from privacygauge.runs.results import file_hashes

        hashes = file_hashes(self.files() if files is None else files)
        how = {"seed": self.seed, "level": self.level}
        return {**how, "command": command, "provenance": hashes}

    def code(self) -> dict[str, str]:
        """Return the values that may name the user's code, by field."""
        named = self._asked_by_name()
        values = {name: getattr(self, name) for name in named if named[name].role is Role.CODE}
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def _asked_by_name(cls) -> dict[str, OptionSpec]:
        return {f.name: asked for f, asked in cls.asked()}


_TEXTS = (".csv", ".tsv", ".jsonl", ".ndjson")
COPIED = (".parquet", ".npz", ".npy", *_TEXTS, *(f"{ending}.gz" for ending in _TEXTS))
"""Endings of files that are read once from beginning to end, and so are downloaded."""


def is_copied(text: str, role: Role) -> bool:
    """Return whether a text is the URL of a file or of a model's folder to download."""
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

    @property
    def is_share(self) -> bool:
        """Whether its range is [0, 1], so that a limit may be written in percent."""
        return self.most == 1.0


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


COLUMNS = "Columns"
"""Heading of options about the kinds of columns."""

_column_option = partial(asks, panel=COLUMNS)


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


@dataclass(frozen=True, kw_only=True)
class TableRequest(Request):
    """Options about a table."""

    data: str = argument("DATA", "The table: .csv or .parquet with a header.")
    continuous: tuple[str, ...] = _column_option(
        "A,B",
        "Columns to take as numbers. Default: every column that holds numbers only.",
    )
    categorical: tuple[str, ...] = _column_option(
        "A,B",
        "Columns to take as categories, such as codes and classes. Default: every column that "
        "does not hold numbers only.",
    )
    schema: str | None = _column_option(
        "FILE",
        "Schema of the columns: JSON as privacygauge vulnerable --write-schema writes it, edited "
        "or not.",
    )
    drop: tuple[str, ...] = _column_option(
        "COLUMN",
        "Column to leave out, such as names. May be given several times.",
        split=False,
    )
    separator: str | None = separator_option(panel=COLUMNS)
    missing: tuple[str, ...] = missing_option(panel=COLUMNS)

    @property
    def given_schema(self) -> Schema | None:
        """Schema in the given file; None without one."""
        from privacygauge.synthetic.frames import read_schema

        return None if self.schema is None else read_schema(self.schema)
