"""A risk register as one HTML file that needs nothing else: no network, no script."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from privacygauge.core.estimate import Skipped
from privacygauge.register.findings import Register
from privacygauge.register.tables import noted, sure
from privacygauge.register.verdict import RULE, SCALE, together, verdict
from privacygauge.report.html import environment
from privacygauge.report.numbers import Shown, count
from privacygauge.report.views import Card


@dataclass(frozen=True)
class _Page:
    """What the frame of every page asks for."""

    level: float
    """Unused by this page; the frame reads it."""
    version: str
    warnings: tuple[str, ...]
    command: str
    seed: str
    skipped: tuple[Skipped, ...]
    provenance: Mapping[str, str]


def render_html(r: Register) -> str:
    """Return the register as one self-contained HTML page.

    Parameters
    ----------
    r : Register

    Returns
    -------
    str
        Everything that came from reports and names of files is escaped; characters that steer a
        page are replaced. The page asks for nothing from outside and runs no script.
    """
    found = verdict(r)
    page = _Page(
        r.together.asked, r.version, noted(r), "register", "drawn by nobody here: see each line",
        r.skipped, r.provenance,
    )  # fmt: skip
    return environment().get_template("register.html.j2").render(
        f=page,
        r=r,
        verdict=found,
        grades=SCALE,
        severity=SCALE.index(found.grade) if found.grade in SCALE else 2,
        unknown=found.grade not in SCALE,
        cards=_cards(r),
        sure=sure,
        rule=RULE,
        together=together(r),
    )  # fmt: skip


def _cards(r: Register) -> tuple[Card, ...]:
    return tuple(
        Card(severity.capitalize(), Shown(count(n)), f"Of {count(len(r.lines))} audits.")
        for severity, n in r.counts.items()
    )
