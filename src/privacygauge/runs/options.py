"""Options of an audit: one value for its keywords in Python, its flags and its run's settings.

Each field of a class of `Options` says what it means and has a default; most have a flag. From the
fields come the signature and the documentation of the call in Python, the options of the command,
and the JSON of a run. Nothing here imports a command line or a slow library.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from enum import Enum
from functools import partial
from typing import Any, ClassVar, TypeVar

from privacygauge.errors import InputError


class Role(Enum):
    """Meaning of a field's text."""

    PLAIN = "plain"
    FILE = "file"
    """A file or folder of the user: kept as an absolute path."""
    MODEL = "model"
    """A folder with a model of the user: kept as an absolute path."""
    CODE = "code"
    """A name, or the user's FILE.py:NAME: the file is kept as an absolute path."""


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


DOC = "doc"
"""Key in a field's metadata of the description of a field that only a call in Python can give."""


def keyword(text: str, *, default: Any = MISSING) -> Any:
    """Return a field of `Options` that only a call in Python can give, such as an object.

    Parameters
    ----------
    text : str
        Description, with ranges and those defaults that are not a plain value.
    default : object
        Default value; without one it is required.
    """
    return field(default=default, metadata={DOC: text})


O = TypeVar("O", bound="Options")  # noqa: E741


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of an audit or of a part of it."""

    COMMON: ClassVar[tuple[str, ...]] = ()
    """Fields that a command lists last."""
    UNUSED: ClassVar[tuple[str, ...]] = ()
    """Fields among `COMMON` that have no option."""

    def __post_init__(self) -> None:
        for f, asked in self.asked():
            if str(f.type) == "tuple[float, ...]":
                # A command line and the JSON of a run give texts and lists.
                given = getattr(self, f.name)
                try:
                    numbers = tuple(map(float, given))
                except (TypeError, ValueError) as error:
                    raise InputError(
                        f"{asked.flag} must be numbers, such as 0.1,0.01, got "
                        f"{','.join(map(str, given))!r}"
                    ) from error
                object.__setattr__(self, f.name, numbers)

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
    def described(cls) -> Iterator[tuple[Field[Any], str]]:
        """Yield the fields that a call in Python can give, each with its description."""
        for f in fields(cls):
            asked = f.metadata.get(_KEY)
            yield f, f.metadata[DOC] if asked is None else asked.help

    def part(self, kind: type[O]) -> O:
        """Return the fields that another class of options has, as that class."""
        return kind(**{f.name: getattr(self, f.name) for f in fields(kind)})

    def shared(self, kind: type[O], **given: Any) -> O:
        """Return options of an audit within this one: fields of both classes, and `given` ones."""
        own = {f.name for f in fields(self)}
        both = {f.name: getattr(self, f.name) for f in fields(kind) if f.name in own}
        return kind(**{**both, **given})
