"""Settings of an audit: of its call, and of the command that runs it, with folders and workers."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, today, versions
from privacygauge.errors import InputError
from privacygauge.kinds.request import R, Request, is_copied
from privacygauge.report.values import Origin, Report
from privacygauge.runs.folder import copied_folder, copy_object, place_text, scratch
from privacygauge.runs.named import FILES, again_text, compared_code, names_code
from privacygauge.runs.options import Role
from privacygauge.runs.results import file_hashes
from privacygauge.runs.store import plan_in, read_run, unchecked_code


@dataclass(frozen=True)
class Session:
    """Settings that all kinds of audit share: seed, level, run folder, workers."""

    command: str = "privacygauge"
    """Name of the command or call, as the report prints it."""
    seed: int = 0
    """Seed of all random draws; a generator of numpy draws one."""
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
    warnings: tuple[str, ...] = ()
    """Further warnings for the reader of the report."""

    def __post_init__(self) -> None:
        checks.level(self.level)
        # Any call may give a generator where it takes a seed; the report names the seed it drew.
        object.__setattr__(self, "seed", seeds.drawn_seed(self.seed))

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
            Warnings, which come after those of the session; one is added if the run's code could
            not be compared.
        about : mapping of str to str, optional
            Lines that come before `provenance`.
        """
        known = {**versions(*packages), **(about or {}), **(self.provenance or {})}
        # Each once: an audit within an audit may have the same ones.
        told = tuple(dict.fromkeys((*self.warnings, *warnings, *unchecked_code(self.run))))
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


Progress: TypeAlias = Callable[[int, int], None]
"""Callback for the number of steps done and the total."""


@dataclass(frozen=True)
class Work:
    """Folders, workers and output of an audit run by a command."""

    run: Path | None = None
    """Folder that keeps the trained models; None to keep nothing."""
    folder: Path | None = None
    """Folder of the report, for further files; None without one."""
    jobs: int = 1
    """Number of parallel workers; -1 for one per core."""
    quiet: bool = True
    """Whether messages are suppressed."""
    recorded: bool = False
    """Whether the run is finished, so that none of the user's code is executed."""
    bar: Callable[[str], AbstractContextManager[Progress]] = lambda title: nullcontext(
        lambda done, total: None
    )
    """Makes a progress callback from a title."""
    tell: Callable[[str], None] = lambda line: None
    """Prints a line for the user."""

    @property
    def read(self) -> Path | None:
        """The finished run that replaces the code; None if the code is executed."""
        return self.run if self.recorded else None

    def say(self, line: str) -> None:
        """Print a message, unless quiet."""
        if not self.quiet:
            self.tell(line)

    def invocation(self, command: str, request: Request) -> Mapping[str, Any] | None:
        """Return the command that starts the run again, with digests of its code and files.

        None if the run is only read.

        Raises
        ------
        InputError
            If the run was made with other code.
        """
        if self.recorded:
            return None
        # Raises for other code before any of it is imported.
        code = compared_code(request.code(), self.run)
        return {
            "command": command,
            "options": request.settled(),
            "code": code,
            FILES: file_hashes(request.files()),
            # The date of the first call stays when the run is resumed.
            "made": self.made or today(),
        }

    def running(self, command: str, request: Request, progress: Progress | None = None) -> Session:
        """Return the settings of the run of an audit of the requested files.

        Raises
        ------
        InputError
            If the run was made with other code.
        """
        told = request.told(command)
        again = self.invocation(command, request)
        return Session(**told, run=self.run, invocation=again, n_jobs=self.jobs, progress=progress)

    @property
    def made(self) -> str:
        """Date on which the run was begun, for its report; empty if none is kept."""
        if self.run is None or plan_in(self.run) is None:
            return ""
        kept = (read_run(self.run).invocation or {}).get("made")
        return kept if isinstance(kept, str) else ""

    def dated(self, report: Report, request: Request) -> Report:
        """Return a report with its owner's title and note, and the date and versions of its run."""
        origin = replace(report.origin, made=self.made or report.origin.made)
        # Versions behind the run that differ from the present ones.
        known = None if self.run is None else plan_in(self.run)
        there = {} if known is None else known.settings.get("versions", {})
        # Python is no package.
        here = versions(*(name for name in there if name != "python"))
        others = ", ".join(f"{name} {x}" for name, x in there.items() if here.get(name) != x)
        if others:
            origin = replace(origin, provenance={**origin.provenance, "run made with": others})
        return replace(report, origin=origin, name=request.title, note=request.note)

    @contextmanager
    def resumable(self, request: Request) -> Iterator[None]:
        """Print how to resume if the run is interrupted; the user's code must be named again."""
        try:
            yield
        except KeyboardInterrupt:
            if self.run is not None and plan_in(self.run) is not None:
                again = [
                    again_text(name, text)
                    for name, text in request.code().items()
                    if names_code(text)
                ]
                told = " ".join(
                    ["privacygauge resume", shlex.quote(place_text(self.run.parent)), *again]
                )
                self.tell(f"\nprivacygauge: resume with: {told}")
            raise


@contextmanager
def with_copies(request: R) -> Iterator[R]:
    """Download files at URLs; yield the request with the copies, which are removed afterwards.

    Messages name the URLs. A run keeps the URLs too, and reads them again when it is resumed.

    Raises
    ------
    InputError
        If a file cannot be read.
    """
    named = {f.name: (getattr(request, f.name), asked.role) for f, asked in request.asked()}
    read = {name: x for name, x in named.items() if isinstance(x[0], str) and is_copied(*x)}
    urls = {name: url for name, (url, _) in read.items()}
    if not urls:
        yield request
        return
    with scratch() as folder:
        here = {
            name: (copied_folder if role is Role.MODEL else copy_object)(
                url, Path(folder, name, url.rstrip("/").rpartition("/")[2])
            )
            for name, (url, role) in read.items()
        }
        texts: dict[str, Any] = {name: str(path) for name, path in here.items()}
        try:
            yield replace(request, **texts, urls=tuple(urls.items()))
        except InputError as error:
            told = str(error)
            # Errors name the URLs that the user gave, not the temporary copies.
            for name, text in texts.items():
                told = told.replace(text, urls[name])
            raise InputError(told) from error
