"""What a run says about itself: its plan, what it was given, and the command that made it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from privacygauge.errors import InputError
from privacygauge.runs.plan import Plan, canonical

_FORMAT = 1


@dataclass(frozen=True)
class Record:
    """Stored twice in every run, with a checksum, so that either copy can be lost or damaged."""

    plan: Plan
    """What is computed."""
    static: Mapping[str, str]
    """The sha256 of every array that was given, by name."""
    invocation: Mapping[str, Any] | None
    """The arguments of the command that started the run, if a command did."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "static", MappingProxyType(dict(sorted(self.static.items()))))

    def to_mapping(self) -> dict[str, Any]:
        """Return the record as JSON values, its checksum among them."""
        content = {
            "format": _FORMAT,
            "plan": json.loads(self.plan.to_json()),
            "static": self.static,
            "invocation": self.invocation,
        }
        plain: dict[str, Any] = json.loads(canonical(content))
        return {**plain, "fingerprint": self.plan.fingerprint, "sha256": _checksum(plain)}

    def to_bytes(self) -> bytes:
        """Return the record as a text file, for people and programs."""
        return (json.dumps(self.to_mapping(), indent=2) + "\n").encode()


def record_in(content: bytes | None, *, inside: tuple[str, ...] = ()) -> Record | None:
    """Return the record in a JSON file; None where there is none or it is damaged.

    Parameters
    ----------
    content : bytes or None
        The file.
    inside : tuple of str
        The keys that lead to the record in it; by default it is the whole file.

    Raises
    ------
    InputError
        If a later version of PrivacyGauge wrote it.
    """
    try:
        stored = json.loads(content or b"")
        for key in inside:
            stored = stored[key]
        named = ("format", "plan", "static", "invocation")
        plain = {name: stored[name] for name in named}
        sound = stored["sha256"] == _checksum(plain)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not sound:
        return None
    if plain["format"] != _FORMAT:
        raise InputError(
            f"the run has format {plain['format']}, this version of PrivacyGauge reads {_FORMAT}: "
            "use the version that wrote it"
        )
    plan = Plan.from_json(json.dumps(plain["plan"]))
    return Record(plan, plain["static"], plain["invocation"])


def _checksum(plain: Mapping[str, Any]) -> str:
    return hashlib.sha256(canonical(plain).encode()).hexdigest()
