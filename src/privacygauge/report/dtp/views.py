"""What the page on differential training privacy says in short: cards, methods, notes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.classifier.dtp.ratios import cap
from privacygauge.classifier.dtp.removal import LIMIT, RemovalPath
from privacygauge.core.estimate import Estimate
from privacygauge.report.dtp.verdict import reach
from privacygauge.report.dtp.words import AT_LEAST, between, factor, nats, records
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal_estimate,
    percent,
    percent_estimate,
    rate,
    rounded_up,
)
from privacygauge.report.views import Card


@dataclass(frozen=True)
class Averages:
    """PDTP over several training sets, in short."""

    n_sets: int
    """Training sets that each record was measured in."""
    above: int
    """Records with a mean above 1."""
    surely: int
    """Records whose whole interval lies above 1."""
    method: str
    """How the intervals were made."""
    level: str
    """Of each interval."""


@dataclass(frozen=True)
class Method:
    """How one number was made."""

    number: str
    """Which number."""
    how: str
    """The method, and the level of its interval."""
    n: str
    """The records or training sets behind it."""


def cards(f: DtpFindings) -> tuple[Card, ...]:
    """Return the headline numbers."""
    n = len(f.rows)
    found = [
        Card(
            "Largest PDTP",
            Shown(nats(f.highest)),
            f"The riskiest record changes a probability by a factor of {factor(f.highest)}, at its "
            f"own query. The limit is 1. {_exactly(f)}",
        ),
        Card(
            "Records above 1",
            Shown(f"{count(f.n_above)} of {count(n)}"),
            f"By PDTP. {_share(f)}",
        ),
        Card("Mean PDTP", mean(f), _mean(f)),
        Card(
            "Over all queries (DTP)",
            Shown(between(float(f.dtp.low.max()), float(f.dtp.high.max()))),
            _over_all(f),
        ),
        Card(
            "Given away by other queries alone",
            Shown(count(int(np.count_nonzero(f.indirect)))),
            "Records with a PDTP of at most 1 for which some other query shows more than 1.",
        ),
    ]
    return (*found, *_of_removal(f.removal), *_of_averages(f))


def mean(f: DtpFindings) -> Shown:
    """Return the mean PDTP; with its interval where only some records were measured."""
    return Shown(nats(f.mean.value)) if f.complete else decimal_estimate(f.mean)


def averages(f: DtpFindings) -> Averages | None:
    """Return the means over several training sets in short; None without them."""
    if not f.averages:
        return None
    return Averages(
        f.averages[0].n,
        sum(x.value > LIMIT for x in f.averages),
        sum(x.low > LIMIT for x in f.averages),
        "; ".join(sorted({x.method for x in f.averages})),
        rate(f.averages[0].level),
    )


def methods(f: DtpFindings) -> tuple[Method, ...]:
    """Return how every number was made."""
    n = records(len(f.rows))
    found = [
        Method("PDTP of a record", f.method, n),
        Method("Mean PDTP", _estimated(f.mean, f.complete), records(f.mean.n)),
        Method("Share above 1", _estimated(f.share_above, f.complete), n),
        Method("DTP over all queries", f.dtp.method, n),
    ]
    if f.averages:
        one = f.averages[0]
        sets = f"{count(one.n)} training sets"
        found.append(Method("Mean over training sets", _estimated(one, False), sets))
    if f.removal is not None:
        how = "every value anew after each removal; " + order(f.removal)
        found.append(Method("Removal", how, f"{count(len(f.removal.removed))} removals"))
    if f.variation:
        models = f"{count(len(f.variation[0].sampling))} models each"
        found.append(Method("What else moves a prediction", "trained anew each time", models))
    return tuple(found)


def bins(f: DtpFindings) -> str:
    """Return in which bins probabilities are published, and what follows."""
    if not f.width:
        return "No bins: every digit of a probability is published."
    return (
        f"Width {f.width:g}, the centre is published. So no log ratio exceeds "
        f"{rounded_up(cap(f.width), 3)}, whatever a record does."
    )


def order(path: RemovalPath) -> str:
    """Return which record was removed next."""
    if path.order == "initial":
        return "in the order of the first values"
    return "always the riskiest of those left"


def known(f: DtpFindings) -> str:
    """Return how well DTP is known, in a sentence."""
    found, n = reach(f), len(f.rows)
    if found.exact == n:
        return "Exact for every record: the lower and the upper end are equal."
    if found.unknown == n:
        return (
            f"Unknown above: what stands after {AT_LEAST.strip()} is the largest that was found, "
            "and queries that nobody tried may show more."
        )
    parts = (
        (found.exact, "exact"),
        (found.bounded, "bounded on both sides, with a certified upper end"),
        (found.unknown, "unknown above"),
    )
    told = ", ".join(f"{what} for {count(k)}" for k, what in parts if k)
    return f"{told[0].upper()}{told[1:]} of {records(n)}."


def _exactly(f: DtpFindings) -> str:
    if f.complete:
        return "Computed for every record, not estimated."
    return f"Of {records(len(f.rows))} measured; others may be above it."


def _share(f: DtpFindings) -> str:
    infinite = f" {count(f.n_infinite)} of them are infinite." if f.n_infinite else ""
    if f.complete:
        return f"{percent(f.share_above.value)} of the training set, counted.{infinite}"
    return (
        f"Of the whole training set {percent_estimate(f.share_above)}, if these are a random "
        f"sample.{infinite}"
    )


def _mean(f: DtpFindings) -> str:
    if np.isinf(f.mean.value):
        return "Infinite, because some record's PDTP is."
    if f.complete:
        return "Over every record of the training set, not estimated."
    return f"Estimated for the training set from {records(f.mean.n)}."


def _over_all(f: DtpFindings) -> str:
    found = reach(f)
    if found.unknown:
        return "The largest change that some query shows. No upper bound is known."
    if found.bounded:
        return "Some query shows the first number; none shows more than the second (certified)."
    return "The largest change that any query shows, found exactly."


def _of_removal(path: RemovalPath | None) -> tuple[Card, ...]:
    if path is None:
        return ()
    first, best = float(path.highest[0]), path.best
    if first <= LIMIT:
        text = "At most 1 before any removal: none is needed for it."
        return (Card("Largest value before removals", Shown(nats(first)), text),)
    if not best:
        text = f"No removal out of {count(len(path.removed))} brought it below this."
        return (Card("Largest value, whatever is removed", Shown(nats(first)), text),)
    label = f"Largest value after {count(best)} removal{'' if best == 1 else 's'}"
    text = f"Before: {nats(first)}. The best point to stop within {count(len(path.removed))}."
    return (Card(label, Shown(nats(float(path.highest[best]))), text),)


def _of_averages(f: DtpFindings) -> tuple[Card, ...]:
    found = averages(f)
    if found is None:
        return ()
    text = (
        f"Records whose mean over {count(found.n_sets)} training sets is above 1; for "
        f"{count(found.surely)} the whole {found.level} interval is."
    )
    return (Card("Above 1 on average", Shown(count(found.above)), text),)


def _estimated(estimate: Estimate, exact: bool) -> str:
    return estimate.method if exact else f"{estimate.method}, {rate(estimate.level)}"
