"""What stands in a `report.json`, looked up with one clear line where it is not there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError

_LARGEST = 1e15


@dataclass(frozen=True)
class Part:
    """An object of a JSON document."""

    where: str
    """What messages call it: the file, and the keys on the way."""
    value: Mapping[str, Any]
    """Its content."""

    def __contains__(self, key: str) -> bool:
        return self.value.get(key) is not None

    def text(self, *path: str) -> str:
        """Return the text at a path of keys."""
        found = self._at(path)
        return found if isinstance(found, str) else self._refuse(path, "a text", found)

    def texts(self, *path: str) -> tuple[str, ...]:
        """Return the texts in the list at a path of keys."""
        found = self._at(path)
        if not isinstance(found, list) or not all(isinstance(x, str) for x in found):
            self._refuse(path, "a list of texts", found)
        return tuple(found)

    def number(self, *path: str) -> float:
        """Return the number at a path of keys."""
        found = self._at(path)
        if isinstance(found, bool) or not isinstance(found, int | float):
            self._refuse(path, "a number", found)
        # So large a number is in no report, and cannot be rounded for people.
        return float(found) if abs(found) < _LARGEST else self._refuse(path, "a number", found)

    def whole(self, *path: str) -> int:
        """Return the whole number at a path of keys."""
        found = self._at(path)
        if isinstance(found, bool) or not isinstance(found, int):
            self._refuse(path, "a whole number", found)
        return int(found)

    def or_infinite(self, *path: str) -> float:
        """Return the number at a path of keys; reports write infinity as null."""
        return math.inf if self._at(path) is None else self.number(*path)

    def flag(self, *path: str) -> bool:
        """Return whether the value at a path of keys is true."""
        found = self._at(path)
        return found if isinstance(found, bool) else self._refuse(path, "true or false", found)

    def part(self, *path: str) -> Part:
        """Return the object at a path of keys."""
        found = self._at(path)
        if not isinstance(found, dict):
            self._refuse(path, "an object", found)
        return Part(self._named(path), found)

    def parts(self, *path: str) -> tuple[Part, ...]:
        """Return the objects in the list at a path of keys."""
        found = self._at(path)
        if not isinstance(found, list) or not all(isinstance(x, dict) for x in found):
            self._refuse(path, "a list of objects", found)
        return tuple(Part(self._named(path), x) for x in found)

    def estimate(self, *path: str) -> Estimate:
        """Return the estimate at a path of keys; null ends of it are infinite."""
        part = self.part(*path)
        low = part.value.get("low")
        try:
            return Estimate(
                part.or_infinite("value"),
                -math.inf if low is None else part.number("low"),
                part.or_infinite("high"),
                part.number("level"),
                part.whole("n"),
                part.text("method"),
            )
        except InputError as error:
            raise InputError(f"{part.where} is not an estimate: {error}") from error

    def _at(self, path: tuple[str, ...]) -> Any:
        found: Any = self.value
        for key in path:
            if not isinstance(found, dict) or key not in found:
                raise InputError(f"{self._named(path)} is missing: write that report again")
            found = found[key]
        return found

    def _named(self, path: tuple[str, ...]) -> str:
        return f"{self.where}: {'.'.join(path)}"

    def _refuse(self, path: tuple[str, ...], what: str, found: Any) -> NoReturn:
        raise InputError(
            f"{self._named(path)} must be {what}, got {_shown(found)}: write that report again"
        )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
