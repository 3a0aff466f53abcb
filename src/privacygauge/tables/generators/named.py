"""Generators from a user's argument or a command line: a name with options, or code."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from privacygauge.core import checks
from privacygauge.errors import InputError
from privacygauge.runs.named import import_object, names_code
from privacygauge.runs.plugins import names_with_plugins, plugin
from privacygauge.runs.source import PROGRAM, Code, RecordedCode
from privacygauge.runs.store import read_run
from privacygauge.tables.generators.adapters import Call, Command, FitSample, asks_for_metadata
from privacygauge.tables.generators.foreign import takes
from privacygauge.tables.generators.generator import (
    BayNet,
    Generator,
    Identity,
    Marginals,
    PrivBayes,
    Silence,
    SynthPop,
)
from privacygauge.tables.table import Table

GENERATORS: Mapping[str, type[Any]] = {
    "baynet": BayNet,
    "privbayes": PrivBayes,
    "synthpop": SynthPop,
    "independent": Marginals,
    "identity": Identity,
    "silence": Silence,
}
"""Built-in generators; the last three are controls."""


def generator_named(
    text: str,
    *,
    epsilon: float | None = None,
    degree: int | None = None,
    bins: int | None = None,
    least: int | None = None,
    order: Sequence[str] | None = None,
) -> Generator:
    """Return a built-in generator, such as ``baynet`` or ``privbayes:epsilon=1,degree=2``.

    Parameters
    ----------
    text : str
        Name from `GENERATORS`, with options after a colon if needed; the columns of ``order`` are
        separated by ``+``.
    epsilon : float, optional
        Privacy budget of privbayes, for which it is required.
    degree, bins : int, optional
        Options of baynet and privbayes.
    least : int, optional
        Option of synthpop.
    order : sequence of str, optional
        Option of synthpop.

    Raises
    ------
    InputError
        If there is no such generator, or an option is unknown, missing or given twice.

    Examples
    --------
    >>> generator_named("privbayes:epsilon=1", degree=2)
    PrivBayes(epsilon=1.0, degree=2, bins=10)
    """
    name, colon, written = text.partition(":")
    if name not in GENERATORS:
        listed = names_with_plugins("generators", ", ".join(GENERATORS))
        raise InputError(f"generator must be one of {listed}, got {name!r}")
    options = {"epsilon": epsilon, "degree": degree, "bins": bins, "least": least, "order": order}
    given: dict[str, Any] = {key: value for key, value in options.items() if value is not None}
    kind = GENERATORS[name]
    known = [field.name for field in fields(kind)]
    hints = get_type_hints(kind)
    pairs: dict[str, str] = {}
    for entry in written.split(",") if colon else ():
        key, sign, value = (part.strip() for part in entry.partition("="))
        if not (key and sign and value):
            raise InputError(
                f"options must be written like baynet:degree=2,bins=5, got {entry!r} in {text!r}"
            )
        if key in pairs:
            raise InputError(f"{key} is given twice in {text!r}: leave one out")
        pairs[key] = value
    for key, value in pairs.items():
        if key in given:
            raise InputError(f"{key} of {name} is given twice, got {given[key]} and {value!r}")
    for key in (*pairs, *given):
        if key not in known:
            has = f"has {checks.short_list(known)}" if known else "has none"
            raise InputError(f"{name} has no option {key!r}; it {has}: leave it out")
    for key, value in pairs.items():
        hint = hints[key]
        if hint not in (int, float):
            given[key] = tuple(value.split("+"))
            continue
        try:
            given[key] = hint(value)
        except ValueError as error:
            wanted = "a whole number" if hint is int else "a number"
            raise InputError(f"{key} of {name} must be {wanted}, got {value!r}") from error
    for key, value in given.items():
        number = isinstance(value, int | float)
        if number and not math.isfinite(value):
            raise InputError(f"{key} of {name} must be a finite number, got {value}")
        if number and hints[key] is int and value < 1:
            raise InputError(f"{key} of {name} must be at least 1, got {value}")
    if name == "privbayes" and "epsilon" not in given:
        raise InputError(
            "privbayes needs the epsilon of its differential privacy: privbayes:epsilon=1"
        )
    columns = {"order": tuple(given["order"])} if "order" in given else {}
    made: Generator = kind(**{**given, **columns})
    return made


def is_named(text: str) -> bool:
    """Return whether a text names a built-in generator; these win over modules of the same name."""
    return text.partition(":")[0] in GENERATORS


def as_generator(thing: object, name: str = "") -> Generator:
    """Return a generator from a name, an object or a function.

    Parameters
    ----------
    thing : Generator, str, class, object, or callable
        A generator; the text of a built-in one (`generator_named`); an object with fit(frame) and
        sample(n), its class, or a function without arguments (or of a seed) that returns such an
        object (`adapters.FitSample`); or a function of a frame, a number of records and optionally
        a seed that returns a frame (`adapters.Call`). For programs pass an `adapters.Command`.
    name : str
        Name, as reports print it; by default its own. Generators keep their names.

    Raises
    ------
    InputError
        If it is none of these: what it lacks and the way out, in one line.
    """
    if isinstance(thing, str):
        added = None if is_named(thing) else plugin("generators", thing)
        return generator_named(thing) if added is None else as_generator(added, name or thing)
    is_generator = all(hasattr(thing, part) for part in ("name", "describe", "generate"))
    if isinstance(thing, type):
        if is_generator:
            raise InputError(f"give an instance, {thing.__name__}(...), not the class itself")
        # The class goes first: it has the methods of its instances.
        return FitSample(thing, name)
    if is_generator:
        generator: Generator = thing  # type: ignore[assignment]  # as its methods say
        return generator
    if hasattr(thing, "fit"):
        return FitSample(thing, name)
    if not callable(thing):
        raise InputError(
            "a generator must be one of PrivacyGauge's, an object with fit and sample, a function "
            f"(frame, n, seed) that returns a frame, or a Command, got {type(thing).__name__}"
        )
    # A callable that needs no more than a seed has no data to learn from: it makes an object that
    # has.
    makes = takes(thing, 0) or asks_for_metadata(thing)
    return FitSample(thing, name) if makes else Call(thing, name)


# Generators as written on a command line, or as recorded in a finished run.


def written_generator(text: str, run: Path | None = None) -> Generator:
    """Return the generator that a text names, or its record in a finished run.

    Parameters
    ----------
    text : str
        Built-in generator, ``FILE.py:NAME``, ``MODULE:NAME``, or ``command: PROGRAM ...``.
    run : Path, optional
        Folder of a finished run; given one, the user's code is not imported.

    Raises
    ------
    InputError
        If the text names none, or the folder holds no run, or one that made no tables.
    """
    if run is not None and names_code(text):
        plan = read_run(run).plan
        settings: dict[str, Any] = json.loads(plan.to_json())["settings"]
        if "generator" not in settings:
            raise InputError(f"{run} holds no synthetic tables")
        said = {k.removeprefix(_SAID): v for k, v in settings.items() if k.startswith(_SAID)}
        return RecordedGenerator(str(settings["generator"]), said, plan.code)
    if text.startswith(PROGRAM):
        return Command(text.removeprefix(PROGRAM))
    if is_named(text):
        return as_generator(text)
    if ":" not in text:
        listed = names_with_plugins("generators", ", ".join(GENERATORS))
        raise InputError(
            f"--generator must be one of {listed}, or FILE.py:NAME or MODULE:NAME "
            f"of your own, or '{PROGRAM} PROGRAM ...', got {text!r}"
        )
    return as_generator(import_object(text))


_SAID = "generator "


@dataclass(frozen=True)
class RecordedGenerator(RecordedCode):
    """Record of the generator behind the tables of a run; it cannot make tables."""

    name: str
    """Name, as reports print it."""
    description: Mapping[str, Any]
    """Description that the generator gave of itself."""
    code: Code
    """The user's code that made the tables."""

    def describe(self) -> Mapping[str, Any]:
        """Return the generator's own description."""
        return self.description

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Raise: a record cannot make tables."""
        raise InputError(
            f"the run does not hold all that its report needs of {self.name}: privacygauge resume "
            "goes on, given the generator"
        )
