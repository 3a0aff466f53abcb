"""What `privacygauge language` was asked, and doing it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from privacygauge.audits.language.found import LanguageAudit
from privacygauge.audits.language.play import audit_language
from privacygauge.audits.provenance import file_hashes
from privacygauge.errors import InputError
from privacygauge.language.thresholds import FPRS


@dataclass(frozen=True)
class LanguageRequest:
    """What `privacygauge language --scores` was asked."""

    scores: Path
    """File of energies."""
    thresholds: tuple[str, ...]
    """Where thresholds come from; nothing for the default."""
    fprs: tuple[float, ...]
    """The false-positive rates that they are chosen for."""
    show: tuple[str, ...]
    """Columns to print beside the samples most at risk."""
    seed: int
    """All random draws derive from it."""
    level: float
    """Of every interval."""


def language_of_request(request: LanguageRequest) -> LanguageAudit:
    """Return the audit that was asked for."""
    return audit_language(
        request.scores,
        threshold=request.thresholds or None,
        fpr=request.fprs,
        show=request.show,
        seed=request.seed,
        level=request.level,
        command="language",
        provenance=file_hashes({"scores": request.scores}),
    )


def rates_in(texts: tuple[str, ...]) -> tuple[float, ...]:
    """Return the false-positive rates in texts such as ``0.1``; those of the paper in none.

    Examples
    --------
    >>> rates_in(("0.05",)), rates_in(())
    ((0.05,), (0.1, 0.01))
    """
    return tuple(_rate(text) for text in texts) or FPRS


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InputError(f"--fpr must be rates such as 0.1 or 0.1,0.01, got {text!r}") from error
