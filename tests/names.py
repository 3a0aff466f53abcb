"""Names that ``import privacygauge as pg`` offers, at the top and by wing."""

from __future__ import annotations

from types import ModuleType

import privacygauge as pg

WINGS = ("classifiers", "tables", "language", "leaderboards", "claims", "releases")
SPACES = sorted(name for name in pg.__all__ if isinstance(getattr(pg, name), ModuleType))


def listed() -> dict[str, object]:
    """Return everything that is listed, by its name behind ``pg.``."""
    found = {name: getattr(pg, name) for name in pg.__all__ if name not in SPACES}
    for space in SPACES:
        module = getattr(pg, space)
        found |= {f"{space}.{name}": getattr(module, name) for name in module.__all__}
    return found


def at_the_top() -> dict[str, object]:
    """Return everything that can be had as ``pg.NAME``, listed there or by a wing alone."""
    of_wings = {name for wing in WINGS for name in getattr(pg, wing).__all__}
    names = sorted({*of_wings, *pg.__all__} - {*SPACES})
    return {name: getattr(pg, name) for name in names}
