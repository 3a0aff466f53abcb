"""The exceptions that a caller may want to catch."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable

_REASONS = {
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than is allowed",
    errno.EIO: "the disk reports an error",
    errno.ENOTDIR: "a part of the path is a file",
    errno.EEXIST: "it exists and is not a directory",
    errno.EISDIR: "it is a directory",
    errno.ENAMETOOLONG: "the name is too long",
}


def failure_sentence(what: str, error: OSError, way_out: str = "choose another folder") -> str:
    """Return one line for the user: the failure, its reason in plain words, and the way out."""
    reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
    return f"{what} ({' '.join(reason.split())}): {way_out}"


class PrivacyGaugeError(Exception):
    """Base of everything that PrivacyGauge raises on purpose."""


class InputError(PrivacyGaugeError, ValueError):
    """An argument or a file breaks a rule; the message says which, and the way out."""


class BudgetError(PrivacyGaugeError):
    """A submission to a test set that no budget is left for."""


class OutputError(PrivacyGaugeError, OSError):
    """A result cannot be written where it was asked for."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'level'?" with the nearest of some names, or nothing."""
    from difflib import get_close_matches  # loaded once somebody is mistaken

    close = get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def suggest_names(module: str, names: Iterable[str] = ()) -> None:
    """Let a module answer to a misspelt name with the nearest of its public ones.

    Parameters
    ----------
    module : str
        Name of a module that defines ``__all__``.
    names : iterable of str
        Further names that it has.
    """
    own = vars(sys.modules[module])
    known = {*own["__all__"], *names}
    lazy = own.get("__getattr__")

    # Set here, where type checkers do not see it: to them every name would exist.
    def attribute(name: str) -> object:
        if lazy is not None and (name in known or name.startswith("__")):
            return lazy(name)
        raise AttributeError(f"{module} has no {name!r}{nearest(name, known)}", name=name)

    own["__getattr__"] = attribute
