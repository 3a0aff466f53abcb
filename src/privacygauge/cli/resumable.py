"""The commands whose runs can be resumed: how each is taken up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from privacygauge.audits.asking import Command
from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.classifier.says import METRICS as OF_CLASSIFIER
from privacygauge.audits.defences.found import DefenceAudit
from privacygauge.audits.defences.says import METRICS as OF_DEFENCES
from privacygauge.audits.dtp.found import DtpAudit
from privacygauge.audits.dtp.says import METRICS as OF_DTP
from privacygauge.audits.generator.found import SyntheticAudit
from privacygauge.audits.generator.says import METRICS as OF_GENERATOR
from privacygauge.audits.language.found import LanguageAudit
from privacygauge.audits.language.says import METRICS as OF_LANGUAGE
from privacygauge.audits.work import Work
from privacygauge.audits.worst_case.found import WorstCaseComparison
from privacygauge.audits.worst_case.says import METRICS as OF_WORST_CASE
from privacygauge.cli.commands import COMMANDS
from privacygauge.cli.defend_request import defend_of_request, defend_request_in
from privacygauge.cli.dtp_request import dtp_of_request, dtp_request_in
from privacygauge.cli.language_models import language_model_request_in, language_models_of_request
from privacygauge.cli.output import told
from privacygauge.cli.progress import bar
from privacygauge.cli.synthetic_request import synthetic_of_request, synthetic_request_in
from privacygauge.cli.training import audit_request, request_in
from privacygauge.cli.worst_case_request import worst_case_of_request, worst_case_request_in
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


def _read(read: Callable[[Mapping[str, Any]], Request], asked: Mapping[str, Any]) -> Request:
    try:
        return read(asked)
    except (TypeError, KeyError) as error:
        raise InputError(
            "the run keeps options that no command has: start it again in another folder"
        ) from error


def _classifier(
    asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool
) -> Audit:
    return audit_request(_read(request_in, asked), run, jobs=jobs, quiet=quiet, recorded=recorded)


def _defend(
    asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool
) -> DefenceAudit:
    return defend_of_request(
        _read(defend_request_in, asked), run, jobs=jobs, quiet=quiet, recorded=recorded
    )


def _worst_case(
    asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool
) -> WorstCaseComparison:
    return worst_case_of_request(
        _read(worst_case_request_in, asked), run, jobs=jobs, quiet=quiet, recorded=recorded
    )


def _dtp(asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool) -> DtpAudit:
    return dtp_of_request(
        _read(dtp_request_in, asked), run, jobs=jobs, quiet=quiet, recorded=recorded
    )


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
        return command.play(command.request.kept(asked), work)

    return Resumable(command.metrics, audited)


RESUMABLE: Mapping[str, Resumable] = {
    **{command.name: _of(command) for command in COMMANDS if command.keeps},
    "classifier": Resumable(OF_CLASSIFIER, _classifier),
    "defend": Resumable(OF_DEFENCES, _defend),
    "dtp": Resumable(OF_DTP, _dtp),
    "language": Resumable(OF_LANGUAGE, _language),
    "synthetic": Resumable(OF_GENERATOR, _synthetic),
    "worst-case": Resumable(OF_WORST_CASE, _worst_case),
}
"""By the name of the command."""
