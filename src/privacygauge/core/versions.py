"""The versions that a result depends on."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from functools import cache


def own_version() -> str:
    """Return PrivacyGauge's version."""
    from importlib.metadata import PackageNotFoundError

    try:
        return _installed_version("privacygauge")
    except PackageNotFoundError:
        return "unknown (not installed)"


def today() -> str:
    """Return the date that a report is made on, in UTC, as ``2026-01-31``.

    The environment variable ``SOURCE_DATE_EPOCH``, seconds since 1970, sets it where files have to
    be equal from one day to the next.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(seconds), UTC) if seconds.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()


def versions(*further: str | None) -> dict[str, str]:
    """Return the versions of Python, of the numerical packages and of the platform.

    Parameters
    ----------
    *further : str or None
        Other packages to name where they are installed.
    """
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "python": platform.python_version(),
        **{name: _installed_version(name) for name in packages},
        **{name: _version_of(name) for name in further if name is not None},
        "platform": f"{platform.system()} {platform.machine()}",
    }


@cache
def _installed_version(package: str) -> str:
    # Here, because a command line that prints no version starts without it.
    from importlib.metadata import version

    # The folders of packages are searched at every question: a third of a second in an audit.
    return version(package)


def _version_of(package: str) -> str:
    from importlib.metadata import PackageNotFoundError

    try:
        return _installed_version(package)
    except PackageNotFoundError:
        return "not installed"
