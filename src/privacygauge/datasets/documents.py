"""What stands in a JSON document, looked up with one clear line where it is not there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, NoReturn

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError

_LARGEST = 1e15


@dataclass(frozen=True)
class Part:
    """An object of a JSON document; what it holds is had by its key."""

    where: str
    """What messages call it: the file, and the keys on the way."""
    value: Mapping[str, Any]
    """Its content."""
    mend: str
    """What messages say is to be done about a document that is not sound."""

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, key: str) -> str:
        """Return a text."""
        return str(self._found(key, str, "a text"))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts in a list."""
        return tuple(self._all(key, str, "a list of texts"))

    def number(self, key: str) -> float:
        """Return a number."""
        found = float(self._found(key, int | float, "a number"))
        # So large a number is in no document of ours, and cannot be rounded for people.
        return found if abs(found) < _LARGEST else self._refuse(key, "a number")

    def whole(self, key: str) -> int:
        """Return a whole number."""
        return int(self._found(key, int, "a whole number"))

    def or_infinite(self, key: str) -> float:
        """Return a number; documents have null for infinity."""
        return math.inf if self._at(key) is None else self.number(key)

    def flag(self, key: str) -> bool:
        """Return whether something is true."""
        return bool(self._found(key, bool, "true or false"))

    def part(self, key: str) -> Part:
        """Return an object."""
        return self._below(key, self._found(key, dict, "an object"))

    def parts(self, key: str) -> tuple[Part, ...]:
        """Return the objects in a list."""
        return tuple(self._below(key, x) for x in self._all(key, dict, "a list of objects"))

    def estimate(self, key: str) -> Estimate:
        """Return an estimate; null ends of it are infinite."""
        part = self.part(key)
        low = -math.inf if part.value.get("low") is None else part.number("low")
        try:
            value, high = part.or_infinite("value"), part.or_infinite("high")
            level, n, method = part.number("level"), part.whole("n"), part.text("method")
            return Estimate(value, low, high, level, n, method)
        except InputError as error:
            raise InputError(f"{part.where} is not an estimate: {error}") from error

    def _at(self, key: str) -> Any:
        if key not in self.value:
            raise InputError(f"{self._named(key)} is missing: {self.mend}")
        return self.value[key]

    def _found(self, key: str, kind: type | UnionType, what: str) -> Any:
        found = self._at(key)
        # To Python, true and false are numbers.
        if isinstance(found, kind) and (kind is bool or not isinstance(found, bool)):
            return found
        return self._refuse(key, what)

    def _all(self, key: str, kind: type, what: str) -> list[Any]:
        found: list[Any] = self._found(key, list, what)
        return found if all(isinstance(x, kind) for x in found) else self._refuse(key, what)

    def _below(self, key: str, value: Mapping[str, Any]) -> Part:
        return Part(self._named(key), value, self.mend)

    def _named(self, key: str) -> str:
        return f"{self.where}: {key}"

    def _refuse(self, key: str, what: str) -> NoReturn:
        text = repr(self.value[key])
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        raise InputError(f"{self._named(key)} must be {what}, got {shown}: {self.mend}")
