"""Findings on a released table as tables and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.report import tables
from privacygauge.report.numbers import decimal_estimate, percent_estimate, plain
from privacygauge.report.synthetic.released.membership import attacks_of
from privacygauge.report.synthetic.released.verdict import named, verdict, worst
from privacygauge.report.synthetic.released_findings import ReleasedFindings
from privacygauge.synthetic.released.tables import NO_CONTROL

if TYPE_CHECKING:
    import pandas as pd


def records_frame(f: ReleasedFindings) -> pd.DataFrame:
    """Return one row for every judged record.

    Parameters
    ----------
    f : ReleasedFindings
        With a holdout.

    Returns
    -------
    pandas.DataFrame
        As for an audit of attacks: ``id``, ``member``, ``score:TITLE`` and ``guess:TITLE`` of
        every attack, and ``risk``, which is missing throughout. Members are all real records,
        non-members the judged half of the holdout; without ids, an id is the row in its table.

    Raises
    ------
    InputError
        Without a holdout: no record was judged.
    """
    attacks = attacks_of(f)
    if attacks is None:
        raise InputError(f"a holdout is needed to judge records, got none: {NO_CONTROL}")
    return tables.records_frame(attacks)


def risks_frame(f: ReleasedFindings) -> pd.DataFrame:
    """Return one row for every form of a risk.

    Parameters
    ----------
    f : ReleasedFindings

    Returns
    -------
    pandas.DataFrame
        Columns: ``risk``, ``variant``, and of ``attack``, ``control``, ``baseline`` and
        ``beyond`` the value, ``_low`` and ``_high``; those of control and beyond are missing
        without a holdout.
    """
    import pandas as pd

    rows = []
    for risk in f.risks:
        found = {
            "attack": risk.attack,
            "control": risk.control,
            "baseline": risk.baseline,
            "beyond": risk.risk,
        }
        row: dict[str, object] = {"risk": risk.name, "variant": risk.variant}
        for name, estimate in found.items():
            row |= _cells(name, estimate)
        rows.append(row)
    return pd.DataFrame(rows)


def summary(f: ReleasedFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    return tables.as_summary(verdict(f), lines(f), f.warnings, f.skipped)


def lines(f: ReleasedFindings) -> tuple[tuple[str, str], ...]:
    """Return the main numbers, each with its name."""
    sizes = f"{f.n_real:,} real, {f.n_synthetic:,} synthetic, {f.n_holdout:,} holdout"
    found, attacks, blind = worst(f), f.headline, f.blind
    rows = [("Records", sizes)]
    if attacks is not None:
        told = f"{percent_estimate(attacks.accuracy)}, by {plain(attacks.attack.name)}"
        rows.append(("Right guesses", told))
        rows.append(("AUC", str(decimal_estimate(attacks.attack.auc))))
    if blind is not None:
        rows.append(("AUC, table unseen", str(decimal_estimate(blind.auc))))
    if found is not None:
        told = f"{percent_estimate(found.beyond)} ({named(found.risk)})"
        rows.append(("Beyond control", told))
    rows.append(("Real records copied", str(percent_estimate(f.copies[0].estimate))))
    if f.n_holdout:
        rows.append(("Holdout copied", str(percent_estimate(f.copies[1].estimate))))
    return tuple(rows)


def _cells(name: str, found: Estimate | Skipped | None) -> dict[str, float | None]:
    if not isinstance(found, Estimate):
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
