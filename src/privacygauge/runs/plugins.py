"""Attacks, signals, generators, guards, defences and models that other packages add by name.

A package names them among its entry points, such as ``privacygauge.generators``. Nothing of it is
imported before somebody names it, and no audit plays it unasked: installing it changes no number.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from privacygauge.errors import InputError

KINDS = ("attacks", "signals", "generators", "guards", "defences", "models")
"""Last words of the groups; kinds of audit are in ``privacygauge.audits``."""


def plugin_code(kind: str, name: str) -> str | None:
    """Return the code behind a name, as MODULE:NAME; None if no package adds it.

    Raises
    ------
    InputError
        If two packages add it.
    """
    found = {entry.value for entry in entry_points(group=f"privacygauge.{kind}", name=name)}
    if len(found) > 1:
        raise InputError(
            f"two packages add {name} to the {kind} ({', '.join(sorted(found))}): uninstall one, "
            "or name the code"
        )
    return next(iter(found), None)


def names_with_plugins(kind: str, names: str) -> str:
    """Return a list of names for a message, with those that other packages add at its end."""
    added = sorted({entry.name for entry in entry_points(group=f"privacygauge.{kind}")})
    return ", ".join((names, *added))


def plugin(kind: str, name: str) -> Any | None:
    """Return the object behind a name, which imports its package; None if no package adds it."""
    from privacygauge.runs.named import import_object  # with numpy, which a command loads late

    code = plugin_code(kind, name)
    return None if code is None else import_object(code)
