"""How often attacks on a released table are tried, and intervals that hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate
from privacygauge.synthetic.released.attempts import Attempts, enough_attempts, widest
from privacygauge.synthetic.released.copies import Copies, copied_alone, copied_beyond
from privacygauge.synthetic.released.hits import Hits, points_of, risk_of
from privacygauge.synthetic.released.inference import MOST_SECRETS
from privacygauge.synthetic.released.linkability import FEWEST_COLUMNS
from privacygauge.synthetic.released.overlap import LoneCopies
from privacygauge.synthetic.released.suite import FORMS, N_NEARLY, N_OUTLYING
from privacygauge.synthetic.released.tables import Released


@dataclass(frozen=True)
class Corrected:
    """Intervals that hold together: each is at a level of its own, by Bonferroni.

    The membership attacks are corrected apart, in their headline, at half of the error, since both
    their guesses and their ranking may err. So either names a leak where there is none with at most
    half of what the level allows, and both together no more often than that.
    """

    risks: tuple[Estimate | None, ...]
    """One a risk, in their order; None without a holdout."""
    copies: Estimate | None
    """Of the real records: share copied beyond that of the holdout, as for a risk; None without
    a holdout."""
    inverted: tuple[str, ...] = ()
    """The names of what gives away more about the holdout than about the real records; together
    with the membership attacks nothing is named by chance more often than the level allows."""
    alone: Estimate | None = None
    """Of the real records that equal no other real one: share copied beyond what the real table
    itself says that chance copies, which needs no holdout; None where there are too few."""

    points: tuple[Estimate | None, ...] = ()
    """One a risk: attack minus control, as a difference of shares; None without a holdout."""

    @property
    def copied(self) -> Estimate | None:
        """What shows copying most clearly, beside the holdout or by chance; None for neither."""
        found = (x for x in (self.copies, self.alone) if x is not None)
        return max(found, key=lambda x: (x.low, x.value), default=None)

    @property
    def looks(self) -> int:
        """How many intervals hold together."""
        return sum(found is not None for found in (*self.risks, self.copies, self.alone))


@dataclass(frozen=True)
class Tried:
    """How often each attack was tried, which was fixed before any result."""

    attempts: Attempts
    """On real records, and on the holdout."""
    asked: float | None
    """The half-width that was wanted of attack minus control; None where attempts were."""
    reached: float
    """What they give at most, at a level that allows for all looks."""

    @property
    def said(self) -> str:
        """How many, and why, in two sentences."""
        real, holdout = f"{self.attempts.real:,}", f"{self.attempts.holdout:,}"
        sides = real if real == holdout else f"{real} on real records and {holdout} on the holdout"
        width = f"\N{PLUS-MINUS SIGN}{100 * self.reached:.1f} percentage points"
        if self.asked is None:
            why = f"as asked; where a table has as many records, that gives {width} at most"
        elif self.reached <= self.asked:
            why = f"the fewest that give {width} at most, whatever comes out"
        else:
            why = (
                f"all records, which give {width} at most where "
                f"\N{PLUS-MINUS SIGN}{100 * self.asked:g} were wanted: use larger tables"
            )
        return (
            f"Attempts of each attack: {sides} ({why}). The number was fixed before any attempt, "
            "by the width of an interval of attack minus control that allows for all looks."
        )


@dataclass(frozen=True)
class AskedOfTable:
    """What was asked of the attempts."""

    secrets: Sequence[str] | None
    attempts: int | None
    half_width: float
    level: float
    n_parts: int

    def tried(self, tables: Released) -> Tried:
        """Return how often each attack is tried, from the sizes of the tables alone."""
        width = len(tables.schema.columns)
        secrets = min(width, MOST_SECRETS) if self.secrets is None else len(self.secrets)
        # Both ways to look at copies come on top.
        parts = self.n_parts + (N_NEARLY if width >= FEWEST_COLUMNS else 0)
        forms = len(FORMS) + (1 + secrets if width > 1 else 0) + N_OUTLYING + parts
        looks = forms + 2
        level = 1 - (1 - checks.level(self.level)) / looks
        n, m = len(tables.real), len(tables.real if tables.holdout is None else tables.holdout)
        if self.attempts is None:
            most = enough_attempts(self.half_width, level, n, m)
            return Tried(most, self.half_width, widest(most, level))
        given = Attempts(self.attempts, self.attempts)
        reached = Attempts(min(n, self.attempts), min(m, self.attempts))
        return Tried(given, None, widest(reached, level))


def corrected(
    tried: Sequence[Hits], copied: Copies, lone: LoneCopies, level: float, units: tuple[Ints, Ints]
) -> Corrected:
    """Return the risks and the copies at a level that allows for all of them."""
    # Beside the membership attacks: half of the error for each.
    stricter = 1 - (1 - level) / 2
    found, lower = (
        (*(risk_of(hits, each) for hits in tried), copied_beyond(copied, each, units))
        for each in (level, stricter)
    )
    names = (*(f"{x.name} ({x.variant})" if x.variant else x.name for x in tried), "copying")
    inverted = (
        name
        for name, beyond in zip(names, lower, strict=True)
        if beyond is not None and beyond.high < 0
    )
    points = tuple(points_of(hits, level) for hits in tried)
    alone = copied_alone(lone, level)
    return Corrected(found[:-1], found[-1], tuple(inverted), alone, points)
