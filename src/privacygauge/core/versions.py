"""The versions that a result depends on."""

from __future__ import annotations

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """Return PrivacyGauge's version."""
    try:
        return version("privacygauge")
    except PackageNotFoundError:
        return "unknown (not installed)"


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
        **{name: _installed(name) for name in packages},
        **{name: _version_of(name) for name in further if name is not None},
        "platform": f"{platform.system()} {platform.machine()}",
    }


@cache
def _installed(package: str) -> str:
    # The folders of packages are searched at every question: a third of a second in an audit.
    return version(package)


def _version_of(package: str) -> str:
    try:
        return _installed(package)
    except PackageNotFoundError:
        return "not installed"
