"""Settings of a running audit, and the origin in its report, for all kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, today, versions
from privacygauge.report.values import Origin
from privacygauge.runs.store import unchecked_code


@dataclass(frozen=True)
class Running:
    """Settings of a run that the calls of all kinds of audit share."""

    command: str
    """Name of the command, as the report prints it."""
    seed: int = 0
    """Seed of all random draws."""
    level: float = 0.95
    """Level of every interval, in (0, 1)."""
    provenance: Mapping[str, str] | None = None
    """Further lines for the report, by heading."""
    run: str | Path | None = None
    """Folder that keeps the results; None to keep nothing."""
    invocation: Mapping[str, Any] | None = None
    """Settings from which the run can be started again, kept in its folder."""
    n_jobs: int | None = None
    """Number of processes; default: one, or the setting of ``joblib.parallel_config``."""
    progress: Callable[[int, int], None] | None = None
    """Called with the number of steps done and the total."""

    def __post_init__(self) -> None:
        checks.level(self.level)
        seeds.non_negative(self.seed)

    def origin(
        self,
        *packages: str | None,
        skipped: Iterable[Skipped] = (),
        warnings: Iterable[str] = (),
        about: Mapping[str, str] | None = None,
    ) -> Origin:
        """Return the origin of a report.

        Parameters
        ----------
        *packages : str or None
            Packages whose versions are added to those of the numerical packages.
        skipped : iterable of Skipped
            Parts that were not done, with reasons.
        warnings : iterable of str
            Warnings; one is added if the run's code could not be compared.
        about : mapping of str to str, optional
            Lines that come before `provenance`.
        """
        known = {**versions(*packages), **(about or {}), **(self.provenance or {})}
        told = (*warnings, *unchecked_code(self.run))
        left_out = tuple(skipped)
        return Origin(
            command=self.command,
            version=own_version(),
            seed=self.seed,
            level=self.level,
            made=today(),
            skipped=left_out,
            warnings=told,
            provenance=known,
        )
