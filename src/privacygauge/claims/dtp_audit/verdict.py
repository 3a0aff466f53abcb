"""Result of an audit of differential training privacy, and its verdict by the DTP-1 rule."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.claims.dtp.findings import DtpFindings
from privacygauge.claims.dtp.measure import LIMIT, RemovalPath
from privacygauge.core import checks
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal,
    percent_estimate,
    rate,
    rounded_up,
    several,
    shorten,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    DataFrame,
    Gauge,
    Grade,
    Origin,
    Severity,
    Verdict,
    frame,
    gauge_limits,
    names_of,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, repr=False)
class DtpResult(DtpFindings, Reported):
    """Effect of each training record on the classifier, with its report, tables and plots."""

    origin: Origin = field(kw_only=True)
    """Origin of the findings: command, seed, level and inputs."""


AT_LEAST = "\N{GREATER-THAN OR EQUAL TO}\N{NARROW NO-BREAK SPACE}"
"""Prefix of a number without an upper bound."""

_LARGEST = 1e6
"""Largest factor that is printed; larger ones read "over" this one."""


def nats(value: float) -> str:
    """Return a log ratio with three decimals, or more if it would read as zero or the limit.

    Examples
    --------
    >>> nats(2.5), nats(1.0), nats(1.0002), nats(0.00012)
    ('2.500', '1.000', '1.0002', '0.0001')
    """
    # More decimals until the number no longer reads as a value that it is not.
    places = 3
    while math.isfinite(value) and value not in (0.0, LIMIT) and places < 9:
        if float(decimal(value, places)) not in (0.0, LIMIT):
            break
        places += 1
    return decimal(value, places)


def factor(value: float) -> str:
    """Return the factor by which a probability changes, given the log of the ratio.

    Examples
    --------
    >>> factor(0.03), factor(1.0), factor(5.29), factor(20.0)
    ('1.03', '2.7', '198', 'over 1,000,000')
    """
    if math.isinf(value):
        return decimal(value, 0)
    # exp(50) is far above the largest printed factor, and far from overflow.
    ratio = math.exp(min(value, 50.0))
    if ratio > _LARGEST:
        return f"over {count(int(_LARGEST))}"
    return decimal(ratio, 2 if ratio < 2 else 1) if ratio < 10 else count(int(ratio + 0.5))


def between(low: float, high: float) -> str:
    """Return the range of a DTP: exact, bounded on both sides, or with a lower end only.

    Examples
    --------
    >>> between(0.5, 0.5), between(0.5, 1.25)
    ('0.500', '0.500 to 1.250')
    """
    if low == high:
        return nats(low)
    least = nats(low)
    return f"{AT_LEAST}{least}" if math.isinf(high) else f"{least} to {rounded_up(high, 3)}"


FACTOR = factor(LIMIT)
"""Factor at the limit: e, rounded."""


MOST = 50
"""Number of the riskiest records shown."""


def record_of(f: DtpResult, row: int) -> str:
    """Return the id of the record in a row of the data, or the row if it was not measured."""
    place = int(np.searchsorted(f.rows, row))
    if place == len(f.rows) or f.rows[place] != row:
        return f"row {row}"
    return shorten(str(f.ids[place]))


def records_frame(f: DtpResult) -> DataFrame:
    """Return one row per measured record.

    Columns: ``row`` of the data, ``pdtp``, ``dtp_lower``, ``dtp_upper``, ``id``, ``label``
    (the class's name); with several training sets also the mean over them and its interval:
    ``averaged``, ``averaged_low``, ``averaged_high``. Log ratios are in nats and may be infinite.
    """
    columns: dict[str, NDArray[Any]] = {
        "row": f.rows,
        "pdtp": f.pdtp,
        "dtp_lower": f.dtp.low,
        "dtp_upper": f.dtp.high,
        "id": names_of(f.ids),
        "label": names_of(np.array(f.class_names, dtype=object)[f.labels]),
    }
    ends = {"averaged": "value", "averaged_low": "low", "averaged_high": "high"}
    for name, end in ends.items() if f.averages else ():
        columns[name] = np.array([getattr(x, end) for x in f.averages])
    return frame(columns)


def removal_frame(path: RemovalPath) -> DataFrame:
    """Return one row for the whole training set and one per removal.

    Columns: ``step`` (0 before any removal), ``removed`` (the row; missing at step 0),
    ``value`` of the record when it was removed, ``before`` (its value one removal earlier),
    ``highest`` (the largest value of the records that are left), ``best`` (whether to stop
    here).
    """
    import pandas as pd

    step = np.arange(len(path.highest))
    columns = {
        "step": step,
        "removed": pd.array([None, *path.removed.tolist()], dtype="Int64"),
        "value": np.concatenate([[np.nan], path.value]),
        "before": np.concatenate([[np.nan], path.before]),
        "highest": path.highest,
        "best": step == path.best,
    }
    return frame(columns)


CERTAIN = Grade("below the limit for certain", Severity.NOTHING)
SEEN = Grade("below the limit as far as seen", Severity.SMALL)
ABOVE = Grade("above the limit", Severity.GRAVE)
GRADES = (CERTAIN, SEEN, ABOVE)
"""Grades, from mild to grave."""

FEW = 0.05
"""Largest share of records above the limit for which removing them is worth a try."""


def verdict(f: DtpResult) -> Verdict:
    """Return the verdict on an audit of differential training privacy.

    The grade is above the limit if some query shows more than 1 (the DTP-1 rule). Otherwise it is
    below, for certain if every record was measured and no query of the domain shows more than 1.

    Notes
    -----
    Long et al. (2017): the rule is in section 5, what it does not guarantee in section 9.
    """
    above = f.decision == "do not publish"
    grade = ABOVE if above else CERTAIN if f.certified else SEEN
    sentences = tuple(_sentences(f))
    advice = tuple(_advice(f))
    low = float(f.dtp.low.max())
    high = float(f.dtp.high.max())
    label = f"Largest log ratio of {'any' if f.complete else 'a measured'} record, over all queries"
    rule = (
        "The line runs from what some query shows to what none exceeds. The limit is that of the "
        "DTP-1 rule (Long et al. 2017)."
    )
    shown = Shown(between(low, high))
    limits = gauge_limits(LIMIT, low, high)
    ticks = (f"1, a factor of {FACTOR}",)
    zones = ("Below the limit", "Above it")
    if f.decision == "do not publish":
        n = f.n_above
        how = "change the model's answer about themselves"
        if not n:
            n = f.n_indirect
            how = "change the model's answer to other queries"
        one = how.replace("change ", "changes ").replace("themselves", "itself")
        of = f"{several(len(f.rows), 'record')}{'' if f.complete else ' measured'}"
        does = one if n == 1 else how
        found = f"Above the limit: {count(n)} of {of} {does} by more than a factor of {FACTOR}"
        if not (alone := f.n_by_lone_classes):
            headline = found
        else:
            only = "only" if alone == f.n_above else f"{count(alone)} of them only"
            headline = f"{found}, {only} in the probability of {lone_classes_text(f)}"
    elif f.certified:
        headline = (
            f"Below the limit: no record changes any answer by more than a factor of {FACTOR}"
        )
    else:
        some = "no record" if f.complete else f"none of {several(len(f.rows), 'record')} measured"
        headline = (
            f"Below the limit, as far as was seen: {some} was found to change an answer by more "
            f"than a factor of {FACTOR}"
        )
    if f.decision == "do not publish":
        unsaid = (
            "It does not say that the contents of a record can be read from the model, nor that "
            "records below 1 are safe: the rule comes from experiments, it is no guarantee."
        )
    else:
        unsaid = (
            "It guarantees nothing: the limit of 1 comes from experiments with known attacks. A "
            "record below it can still be told if little else moves the model's answers (no "
            "random start, most other records known), or by several queries taken together. Only "
            "differential privacy promises more."
        )
    return Verdict(
        grade=grade,
        scale=GRADES,
        headline=headline,
        sentences=sentences,
        unsaid=unsaid,
        advice=advice,
        gauge=Gauge(
            label=label,
            shown=shown,
            low=low,
            value=low,
            high=high,
            limits=limits,
            ticks=ticks,
            rule=rule,
            zones=zones,
        ),
    )


def measured_records_text(f: DtpResult) -> str:
    """Return the number of measured records, such as ``200 of 5,000``."""
    return count(f.n_train) if f.complete else f"{count(len(f.rows))} of {count(f.n_train)}"


def lone_classes_text(f: DtpResult) -> str:
    """Return the classes with a single record by name."""
    named = checks.short_list(shorten(f.class_names[label]) for label in f.lone_classes)
    if len(f.lone_classes) == 1:
        return f"a class with a single record ({named})"
    return f"classes with a single record each ({named})"


def _sentences(f: DtpResult) -> Iterator[str]:
    who = f"Of {count(f.n_train)} training records, the riskiest"
    if not f.complete:
        who = f"Of the {count(len(f.rows))} training records that were measured, the riskiest"
    if len(f.rows) == 1:
        who = "The one record that was measured"
    if f.n_infinite:
        yield (
            f"{who} decides alone whether some class has any probability at all, when the model "
            "is asked about the record itself: trained without it, the model would rule out what "
            "it now allows, or have no answer."
        )
    else:
        yield (
            f"{who} changes the probability that the model gives to some class by a factor of "
            f"{factor(f.highest)} against training without it, "
            f"when the model is asked about the record itself. The number behind it is called PDTP "
            f"and is {nats(f.highest)} here."
        )
    if f.n_infinite:
        yield (
            f"For {several(f.n_infinite, 'record')} the factor is infinite (so is PDTP, its "
            "logarithm): one look at the answer tells that the record was in the training data."
        )
    if f.n_by_lone_classes:
        above = f.n_above - f.n_by_lone_classes
        others = (
            "the other class" if len(f.class_names) - len(f.lone_classes) == 1 else "other classes"
        )
        yield (
            f"In the probabilities of {others}, {count(above)} of {several(len(f.rows), 'record')} "
            f"{'is' if above == 1 else 'are'} above the limit. What a model says of "
            f"{lone_classes_text(f)} hangs on that record and on details of the training, and may "
            "be too small a number for anybody to see; the rule counts it all the same, as it "
            "takes the largest ratio over all classes."
        )
    publish = f.decision == "publish"
    yield (
        "PDTP is the natural logarithm of the factor: 0 if the record changes nothing, 1 if a "
        f"probability changes by a factor of {FACTOR}, 2 by {factor(2.0)}. Whoever holds "
        "somebody's record can ask the model about it; the larger the factor, the easier the "
        "answer tells whether the record was in the training data. "
        f"{'The rule allows up to 1' if publish else 'Above 1 the rule says: do not publish'} "
        "(DTP-1, Long et al. 2017)."
    )
    if not f.complete:
        share = f.share_above
        left = f.n_train - len(f.rows)
        yield (
            f"{several(left, 'record')} {'was' if left == 1 else 'were'} not measured. If those "
            f"that were are a random sample, {percent_estimate(share)} of all have a PDTP above 1 "
            f"({rate(share.level)} interval, n = {count(share.n)}, {share.method})."
        )
    if n := f.n_indirect:
        are, their = ("record is", "its") if n == 1 else ("records are", "their")
        yield (
            f"{count(n)} {are} given away by queries other than {their} own: PDTP is at most 1 "
            f"there, while some other query shows up to {nats(float(f.dtp.low[f.indirect].max()))}."
            f" Asking about the {'record itself' if n == 1 else 'records themselves'} would not "
            "have told."
        )
    found = f.reach
    most = float(f.dtp.high.max())
    whose = "any record" if f.complete else "the measured records"
    if found.unknown:
        of_records = (
            "any record" if found.unknown == len(f.rows) else several(found.unknown, "record")
        )
        yield (
            f"How much the worst query shows is not known for {of_records}: queries that nobody "
            "tried may show more than what is reported here."
        )
    elif np.isinf(most):
        of_records = several(int(np.count_nonzero(np.isinf(f.dtp.low))), "record")
        yield f"What the worst query shows was found exactly: it is infinite for {of_records}."
    elif not found.bounded:
        yield (
            f"This covers every query, not only the records' own: the largest value over all of "
            f"them (DTP) was found exactly, and is {nats(most)} at most for {whose}."
        )
    else:
        open_end = f.decision == "publish" and most > LIMIT
        rest = " Whether some query passes 1 is open." if open_end else ""
        yield (
            "This covers every query, not only the records' own: it is certified that none shows "
            f"more than {rounded_up(most, 3)} for {whose} (an upper bound of DTP).{rest}"
        )


def _advice(f: DtpResult) -> Iterator[str]:
    if f.decision == "publish":
        if f.width:
            yield (
                "Release the model as it was measured: probabilities rounded to bins of "
                f"{f.width:g}. With all digits it shows more than this report says."
            )
        if not f.complete:
            yield "Measure all records: those that were left out may be riskier."
        if f.reach.unknown:
            yield (
                "Refuse queries that look like no real record, or count them: no bound is known "
                "for queries that were not tried."
            )
    else:
        yield (
            "Hold the release back, or limit who may query the model, until the value is at most 1."
        )
        # Leaving one record out, or merging its class, helps all that it alone puts above 1.
        left = f.n_above - f.n_by_lone_classes
        if f.n_by_lone_classes:
            these = "the record" if len(f.lone_classes) == 1 else "these records"
            yield (
                f"Merge {lone_classes_text(f)} with another class, or leave {these} out, and "
                "measure again."
            )
        if f.removal is not None:
            first = float(f.removal.highest[0])
            best = f.removal.best
            removals = len(f.removal.removed)
            lowest = float(f.removal.highest[best])
            if first <= LIMIT:
                yield (
                    "Removing records was judged by their own queries, which show at most 1 "
                    "already: it does not tell what other queries would show afterwards."
                )
            elif best == 0:
                yield (
                    "Removing the riskiest records is no way out here: the largest value did not "
                    f"fall below {nats(first)} in {count(removals)} removals."
                )
            else:
                records = f"the {count(best)} records" if best > 1 else "the one record"
                if lowest > LIMIT:
                    yield (
                        f"Removing the riskiest records is not enough: after {count(best)} of "
                        f"{count(removals)} removals the largest value is {nats(lowest)} (before: "
                        f"{nats(first)}), still above 1."
                    )
                else:
                    again = float(f.removal.highest[best:].max()) > LIMIT
                    stop = " Stop there: further removals raise it above 1 again." if again else ""
                    yield (
                        f"Train without {records} listed under \u201cRemoving the riskiest "
                        f"records\u201d: the largest value falls from {nats(first)} to "
                        f"{nats(lowest)}.{stop} Then measure again."
                    )
        elif left > FEW * len(f.rows):
            yield "Too many records are above 1 for removing a few to help."
        elif left:
            yield (
                "Try training without the riskiest records, and measure again: with so few above 1 "
                "it may be enough, but records can shield each other, and others may rise."
            )
        yield (
            "Give single records less influence: regularise or smooth more, merge rare classes and "
            "categories, train on more data."
        )
        if not f.width:
            yield (
                "Publish probabilities in bins (of 0.01, say): digits that do not matter for the "
                "answer give records away."
            )
        yield (
            "Train with differential privacy where the release has to be public: no other defence "
            "comes with a guarantee."
        )
    yield (
        "Measure again whenever the data, the training or the release changes, and keep this "
        "report with the release."
    )
