"""The commands whose runs can be gone on with: how each is taken up, and written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from privacygauge.audits.classifier.found import Audit
from privacygauge.audits.classifier.says import METRICS
from privacygauge.audits.defences.play import DefenceAudit
from privacygauge.audits.dtp.play import DtpAudit
from privacygauge.audits.generator.play import SyntheticAudit
from privacygauge.audits.holdout_attack.play import HoldoutAudit
from privacygauge.audits.language.play import LanguageAudit
from privacygauge.audits.worst_case.play import WorstCaseComparison
from privacygauge.cli.defend_request import defend_of_request, defend_request_in
from privacygauge.cli.dtp_request import dtp_of_request, dtp_request_in
from privacygauge.cli.gate import (
    METRICS_OF_ATTACK,
    METRICS_OF_DEFENCES,
    METRICS_OF_DTP,
    METRICS_OF_LANGUAGE,
    METRICS_OF_SYNTHETIC,
    METRICS_OF_WORST_CASE,
    exceeded_by_attack,
    exceeded_by_defences,
    exceeded_by_dtp,
    exceeded_by_language,
    exceeded_by_synthetic,
    exceeded_by_worst_case,
)
from privacygauge.cli.holdout.attack_request import attack_of_request, attack_request_in
from privacygauge.cli.language_models import language_model_request_in, language_models_of_request
from privacygauge.cli.synthetic_request import synthetic_of_request, synthetic_request_in
from privacygauge.cli.training import audit_request, request_in
from privacygauge.cli.worst_case_request import worst_case_of_request, worst_case_request_in
from privacygauge.errors import InputError
from privacygauge.report.limits import Limit, exceeded

Request = TypeVar("Request")


@dataclass(frozen=True)
class Resumable:
    """A command that keeps a run."""

    metrics: Collection[str]
    """What its audit may be held to."""
    audit: Callable[[Mapping[str, Any], Path, int, bool, bool], Any]
    """From the options that the run keeps, its folder, the number of jobs, whether to be quiet, and
    whether the run is finished and no code of its own is run, to the audit."""
    exceeded: Callable[[Any, tuple[Limit, ...]], list[str]]
    """Returns a line for every limit that the audit exceeds."""


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


def _holdout(
    asked: Mapping[str, Any], run: Path, jobs: int, quiet: bool, recorded: bool
) -> HoldoutAudit:
    return attack_of_request(_read(attack_request_in, asked), run, jobs=jobs, quiet=quiet)


RESUMABLE: Mapping[str, Resumable] = {
    "classifier": Resumable(METRICS, _classifier, lambda f, limits: exceeded(f.report(), limits)),
    "defend": Resumable(METRICS_OF_DEFENCES, _defend, exceeded_by_defences),
    "dtp": Resumable(METRICS_OF_DTP, _dtp, exceeded_by_dtp),
    "language": Resumable(METRICS_OF_LANGUAGE, _language, exceeded_by_language),
    "holdout attack": Resumable(METRICS_OF_ATTACK, _holdout, exceeded_by_attack),
    "synthetic": Resumable(METRICS_OF_SYNTHETIC, _synthetic, exceeded_by_synthetic),
    "worst-case": Resumable(METRICS_OF_WORST_CASE, _worst_case, exceeded_by_worst_case),
}
"""By the name of the command."""
