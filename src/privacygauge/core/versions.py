"""Versions of the software that a result depends on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from functools import cache


def own_version() -> str:
    """Return the version of PrivacyGauge."""
    from importlib.metadata import PackageNotFoundError

    try:
        return _installed_version("privacygauge")
    except PackageNotFoundError:
        return "unknown (not installed)"


def today() -> str:
    """Return the date of a report in UTC, such as ``2026-01-31``.

    The environment variable ``SOURCE_DATE_EPOCH``, in seconds since 1970, overrides it for files
    that must be reproducible.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()


def versions(*further: str | None) -> dict[str, str]:
    """Return the versions of Python and the numerical packages, and the platform.

    Parameters
    ----------
    *further : str or None
        Other packages to include; None is ignored.
    """
    from importlib.metadata import PackageNotFoundError

    found = {"python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn"):
        found[name] = _installed_version(name)
    # The packages above are required, so only these may be missing.
    for package in further:
        if package is not None:
            try:
                found[package] = _installed_version(package)
            except PackageNotFoundError:
                found[package] = "not installed"
    found["platform"] = f"{platform.system()} {platform.machine()}"
    return found


@cache
def _installed_version(package: str) -> str:
    # Imported here, so that a command line that prints no version starts without it.
    from importlib.metadata import version

    # Cached: each call searches the package folders, a third of a second per audit in total.
    return version(package)
