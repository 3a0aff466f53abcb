"""The user's own generators: objects with fit and sample, and functions of a frame.

SDV, synthcity and others come in this way; PrivacyGauge itself needs none of them. The output of
such code is checked by `returned.table_from`; `command.Command` runs any other program. `foreign`
fixes their randomness, and says where it cannot.
"""

from __future__ import annotations

import copy
import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.errors import InputError
from privacygauge.synthetic.generators.foreign import (
    SEEDS,
    code_origin,
    drawn_seed,
    parameters_of,
    seed_by_name,
    short_name,
    takes,
    theirs,
)
from privacygauge.synthetic.generators.returned import one_line, table_from
from privacygauge.synthetic.schema import Column, Schema
from privacygauge.synthetic.table import Table

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES = "discrete_columns"
"""Argument of `fit` that takes the names of the categorical columns, as CTGAN's."""
COUNTS = ("num_rows", "count", "n", "n_samples", "n_rows")
"""Names of the arguments of `sample` and `generate` that take the number of records."""
MAIN = "main_table_name"
"""Argument of `sample` that takes the name of the main table, as SDV's."""
TABLES = "tables"
"""First argument of functions and of `fit` that take a dict of frames instead of a frame."""


@dataclass(frozen=True)
class GeneratorInput:
    """Training data of a generator: a frame, or several by name with a key that joins them."""

    data: object
    """Frame, or dict of frames."""
    schemas: Mapping[str, Schema]
    """Schema of each frame, without the key."""
    key: str = ""
    """Column that joins the frames; the first one has each key once."""

    @classmethod
    def of(cls, table: Table) -> GeneratorInput:
        """Return a single table as input."""
        return cls(table.to_frame(), {"table": table.schema})

    @property
    def categories(self) -> list[str]:
        """Names of the categorical columns."""
        columns = (column for schema in self.schemas.values() for column in schema.columns)
        return [column.name for column in columns if not column.is_number]


_ANY = GeneratorInput(None, {"table": Schema((Column("x", "continuous", 0.0, 1.0),))})


@dataclass(frozen=True)
class FitSample:
    """Generator with fit(frame) and sample(n); each table gets a new object.

    Instead of ``sample``, or with other names of its argument: ``sample(num_rows=n)`` as in SDV 2,
    ``generate(count=n)`` as in synthcity. What comes back is a frame, or has ``dataframe()``.

    Raises
    ------
    InputError
        If it cannot be made, has no fit, or neither sample nor generate, or if it is the same
        object at every call, which would remember earlier tables.
    """

    make: Any
    """A class or function, without arguments or with one for a seed or random_state, that returns
    an unfitted object; or such an object, which is copied (by scikit-learn's clone where it is an
    estimator). A synthesizer of SDV, and a function of metadata, gets the schema as SDV's
    metadata."""
    label: str = ""
    """Name, as reports print it; by default that of the class or function."""

    def __post_init__(self) -> None:
        with theirs(self.name, 0):
            made, again = (_make_instance(self.make, 0, _ANY) for _ in range(2))
        require_fit_and_sample(made, self.name)
        if made is again:
            raise InputError(
                f"generator {self.name!r} must be a new object for every table, or it remembers "
                "earlier ones: make it inside the function"
            )

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return self.label or short_name(self.make)

    def describe(self) -> Mapping[str, Any]:
        """Return the origin of the object and of the code that makes it: names and versions."""
        with theirs(self.name, 0):
            made = _make_instance(self.make, 0, _ANY)
        return {
            "fit and sample": dict(code_origin(type(made))),
            "made by": dict(code_origin(self.make)),
        }

    def reached(self) -> tuple[object, ...]:
        """Return further code that is run: the object that `make` returns."""
        with theirs(self.name, 0):
            return (_make_instance(self.make, 0, _ANY),)

    @property
    def takes_tables(self) -> bool:
        """True where it learns from several tables: `fit` takes `TABLES` first, or SDV made it."""
        if code_origin(self.make)["name"].startswith("sdv.multi_table."):
            return True
        with theirs(self.name, 0):
            return _takes_tables(_make_instance(self.make, 0, _ANY).fit)

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records of an object fitted to the table's frame."""
        return table_from(self.asked(GeneratorInput.of(table), n, rng), table.schema, n, self.name)

    def asked(self, given: GeneratorInput, n: int, rng: np.random.Generator) -> object:
        """Fit an object to a frame, or to several, and return its sample."""
        seed = drawn_seed(rng)
        with theirs(self.name, seed):
            return _sample(
                _fit(_make_instance(self.make, seed, given), given, seed), given, n, seed
            )


@dataclass(frozen=True)
class Call:
    """Calls a function of the user's for every table.

    Raises
    ------
    InputError
        If the function takes other arguments.
    """

    function: Callable[..., pd.DataFrame]
    """Function of a frame, a number of records and a seed, or of the first two; returns a frame.
    The seed is passed by name where it is called seed or random_state."""
    label: str = ""
    """Name, as reports print it; by default that of the function."""

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise InputError(f"a generator must be callable, got {type(self.function).__name__}")
        if not takes(self.function, 2 + _seed_by_place(self.function)):
            raise InputError(
                f"generator {self.name!r} must take a frame, a number of records and a seed (or "
                f"the first two), got {_signature(self.function)}: bind what else it needs with "
                "functools.partial"
            )

    @property
    def name(self) -> str:
        """Name, as reports print it."""
        return self.label or short_name(self.function)

    def describe(self) -> Mapping[str, Any]:
        """Return the origin of the function: its name and version."""
        return {"function": dict(code_origin(self.function))}

    @property
    def takes_tables(self) -> bool:
        """True where it learns from several tables: its first argument is called `TABLES`."""
        return _takes_tables(self.function)

    def generate(self, table: Table, n: int, rng: np.random.Generator) -> Table:
        """Return n records that the function makes from the table's frame."""
        return table_from(self.asked(GeneratorInput.of(table), n, rng), table.schema, n, self.name)

    def asked(self, given: GeneratorInput, n: int, rng: np.random.Generator) -> object:
        """Return the function's result for a frame, or for several."""
        seed = drawn_seed(rng)
        by_place = (seed,) if _seed_by_place(self.function) else ()
        with theirs(self.name, seed):
            return self.function(given.data, n, *by_place, **seed_by_name(self.function, seed))


def require_fit_and_sample(made: object, name: str) -> None:
    """Refuse an object without fit, or with neither sample nor generate."""
    lacks = "fit" if not callable(getattr(made, "fit", None)) else "sample or generate"
    if lacks == "fit" or _sampler(made) is None:
        raise InputError(
            f"generator {name!r} must have fit(frame) and sample(n), but {type(made).__name__} "
            f"has no {lacks}: give a function (frame, n, seed) that returns a frame"
        )


def _takes_tables(function: Callable[..., Any]) -> bool:
    return next(iter(parameters_of(function)), "") == TABLES


def _make_instance(make: Any, seed: int, given: GeneratorInput) -> Any:
    if isinstance(make, type) or not hasattr(make, "fit"):
        known = {"metadata": _metadata(given)} if asks_for_metadata(make) else {}
        return make(**known, **seed_by_name(make, seed))
    if not hasattr(make, "get_params"):
        return copy.deepcopy(make)
    from sklearn.base import clone

    copied = clone(make)
    names = [key for key in copied.get_params() if key.split("__")[-1] in SEEDS]
    return copied.set_params(**dict.fromkeys(names, seed)) if names else copied


def asks_for_metadata(make: Any) -> bool:
    """Return whether an SDV class, or a function that makes an object, takes metadata.

    A function takes metadata if its first argument is called metadata, and no other than a seed is
    required.
    """
    known = list(parameters_of(make))
    if code_origin(make)["name"].startswith("sdv."):
        return "metadata" in known
    return not isinstance(make, type) and known[:1] == ["metadata"] and takes(make, 1)


def _metadata(given: GeneratorInput) -> Any:
    """Return SDV's metadata of the columns and the key."""
    made = importlib.import_module("sdv.metadata").Metadata
    known: dict[str, Any] = {
        name: {"columns": {column.name: {"sdtype": _sdtype(column)} for column in schema.columns}}
        for name, schema in given.schemas.items()
    }
    if not given.key:
        return made.load_from_dict({"tables": known})
    for table in known.values():
        table["columns"][given.key] = {"sdtype": "id"}
    parent, *children = known
    known[parent]["primary_key"] = given.key
    joins = [
        {
            "parent_table_name": parent,
            "parent_primary_key": given.key,
            "child_table_name": child,
            "child_foreign_key": given.key,
        }
        for child in children
    ]
    return made.load_from_dict({"tables": known, "relationships": joins})


def _sdtype(column: Column) -> str:
    if not column.is_number:
        return "categorical"
    return "datetime" if column.date else "numerical"


def _fit(made: Any, given: GeneratorInput, seed: int) -> Any:
    asks = CATEGORIES in parameters_of(made.fit) or _is_ctgan(made)
    named = {CATEGORIES: given.categories} if asks else {}
    fitted = made.fit(given.data, **named, **seed_by_name(made.fit, seed))
    return made if _sampler(fitted) is None else fitted


def _is_ctgan(made: object) -> bool:
    """Return whether an object is from the package ctgan, which hides the arguments of its fit."""
    return any(kind.__module__.partition(".")[0] == "ctgan" for kind in type(made).__mro__)


def _sample(fitted: Any, given: GeneratorInput, n: int, seed: int) -> object:
    sampler = _sampler(fitted)
    assert sampler is not None
    known = parameters_of(sampler)
    count = next((name for name in COUNTS if name in known), None)
    by_name: dict[str, Any] = seed_by_name(sampler, seed)
    if MAIN in known:
        by_name[MAIN] = next(iter(given.schemas))
    made = sampler(n, **by_name) if count is None else sampler(**{count: n}, **by_name)
    return made.dataframe() if callable(getattr(made, "dataframe", None)) else made


def _sampler(made: object) -> Callable[..., Any] | None:
    found = (getattr(made, name, None) for name in ("sample", "generate"))
    return next((method for method in found if callable(method)), None)


def _seed_by_place(function: Callable[..., Any]) -> bool:
    """Return whether the third argument is a seed by another name: it is if it is required."""
    return not seed_by_name(function, 0) and not takes(function, 2)


def _signature(function: Callable[..., Any]) -> str:
    try:
        return one_line(str(inspect.signature(function)), 80)
    except (TypeError, ValueError):
        return "a callable that does not say what it takes"
