"""The commands whose runs can be resumed: how each is taken up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from privacygauge.audits.asking import Command
from privacygauge.audits.generator.found import SyntheticAudit
from privacygauge.audits.generator.says import METRICS as OF_GENERATOR
from privacygauge.audits.language.found import LanguageAudit
from privacygauge.audits.language.says import METRICS as OF_LANGUAGE
from privacygauge.audits.work import Work
from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.language_models import language_model_request_in, language_models_of_request
from privacygauge.cli.output import told
from privacygauge.cli.progress import bar
from privacygauge.cli.synthetic_request import synthetic_of_request, synthetic_request_in
from privacygauge.errors import InputError
from privacygauge.report.reported import Reported

Request = TypeVar("Request")


@dataclass(frozen=True)
class Resumable:
    """A command that keeps a run."""

    metrics: Collection[str]
    """What its audit may be held to."""
    audit: Callable[[Mapping[str, Any], Path, int, bool, bool], Reported]
    """From the options that the run keeps, its folder, the number of jobs, whether to be quiet, and
    whether the run is finished and no code of its own is run, to the audit."""
    narrowed: Callable[[Mapping[str, Any]], Collection[str]] | None = None
    """From the options that the run keeps to what its own audit may be held to, if that is less."""

    def metrics_of(self, asked: Mapping[str, Any]) -> Collection[str]:
        """Return what the audit of these options may be held to."""
        return (self.narrowed and self.narrowed(asked)) or self.metrics


def _read(read: Callable[[Mapping[str, Any]], Request], asked: Mapping[str, Any]) -> Request:
    try:
        return read(asked)
    except (TypeError, KeyError) as error:
        raise InputError(
            "the run keeps options that no command has: start it again in another folder"
        ) from error


def _synthetic(
    asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool
) -> SyntheticAudit:
    return synthetic_of_request(
        _read(synthetic_request_in, asked), run, jobs=jobs, quiet=quiet, recorded=recorded
    )


def _language(
    asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool
) -> LanguageAudit:
    return language_models_of_request(
        _read(language_model_request_in, asked), run, jobs=jobs, quiet=quiet
    )


def _of(command: Command[Any]) -> Resumable:
    """Return how a command is taken up that says itself what it asks."""

    def audited(
        asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool
    ) -> Reported:
        work = Work(run, run.parent, jobs, quiet, recorded, partial(bar, quiet=quiet), told)
        request = command.request.kept(asked)
        request.check(jobs)
        return command.play(request, work)

    return Resumable(command.metrics, audited, lambda x: command.request.kept(x).metrics)


RESUMABLE: Mapping[str, Resumable] = {
    **{command.name: _of(command) for command in COMMANDS if command.keeps},
    "language": Resumable(OF_LANGUAGE, _language),
    "synthetic": Resumable(OF_GENERATOR, _synthetic),
}
"""By the name of the command."""
