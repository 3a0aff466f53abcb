"""The error for a missing extra of the scoring server."""

from __future__ import annotations

from importlib.util import find_spec

from privacygauge.errors import InputError

_SERVE = ("fastapi", "uvicorn", "sqlalchemy")


def require_extra(packages: tuple[str, ...] = _SERVE, extra: str = "serve") -> None:
    """Raise if a package of an extra cannot be imported.

    Raises
    ------
    InputError
        One line that names the packages and how to install them.
    """
    absent = [name for name in packages if find_spec(name) is None]
    if absent:
        raise InputError(
            f"the scoring server needs {', '.join(absent)}: pip install 'privacygauge[{extra}]'"
        )
