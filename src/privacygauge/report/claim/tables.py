"""Findings on a privacy claim as tables and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.report import tables
from privacygauge.report.claim.findings import ClaimFindings
from privacygauge.report.claim.verdict import verdict
from privacygauge.report.claim.words import NAMES, claimed, sample, shown_bound
from privacygauge.report.numbers import percent_estimate, plain

if TYPE_CHECKING:
    import pandas as pd


def records_frame(f: ClaimFindings) -> pd.DataFrame:
    """Return one row for every canary, or every run: ``id``, ``member`` and ``score``."""
    import pandas as pd

    canaries = f.canaries
    return pd.DataFrame(
        {"id": tables.names_of(canaries.ids), "member": canaries.member, "score": canaries.score}
    )


def curve_frame(f: ClaimFindings) -> pd.DataFrame:
    """Return the bound by the number of guesses.

    Returns
    -------
    pandas.DataFrame
        Columns: ``n_guesses``, ``epsilon`` (the bound, each as if it were the only one: to look
        at, not to choose from) and ``largest`` (that of a perfect attack).
    """
    import pandas as pd

    curve = f.curve
    return pd.DataFrame(
        {"n_guesses": curve.n_guesses, "epsilon": curve.low, "largest": curve.largest}
    )


def curve_csv(f: ClaimFindings) -> str:
    """Return `curve_frame` as text with commas; every number has all of its digits."""
    return curve_frame(f).to_csv(index=False, lineterminator="\n")


def summary(f: ClaimFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    return tables.as_summary(verdict(f), lines(f), f.warnings, f.skipped)


def lines(f: ClaimFindings) -> tuple[tuple[str, str], ...]:
    """Return the main numbers, each with its name."""
    return (
        ("Claim", claimed(f.claim)),
        ("Sample", sample(f)),
        *((f"Epsilon ({NAMES[bound.name]})", shown_bound(bound)) for bound in f.bounds),
        *((plain(fact.label), str(percent_estimate(fact.estimate))) for fact in f.rates),
    )
