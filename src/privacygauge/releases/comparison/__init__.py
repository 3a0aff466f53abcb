"""Reports of one kind side by side: differences with intervals, and other changes."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.runs.options import Options, asks


# Here, so that the command is read without the audit's imports.
@dataclass(frozen=True, kw_only=True)
class Margin(Options):
    """The option of a comparison."""

    margin: float = asks(
        "M",
        "Largest rise of a share, such as an accuracy or an AUC, that does not matter, in (0, 1): "
        "a version is not worse if a larger one is ruled out.",
        default=0.05,
    )
