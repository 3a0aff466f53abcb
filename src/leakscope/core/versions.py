"""The versions that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """Return LeakScope's version."""
    try:
        return version("leakscope")
    except PackageNotFoundError:
        return "unknown (not installed)"


def versions() -> dict[str, str]:
    """Return the versions of Python, of the numerical packages and of the platform."""
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "platform": f"{platform.system()} {platform.machine()}",
    }
