"""The rows of the tables on differential training privacy, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.classifier.dtp.removal import LIMIT
from privacygauge.classifier.dtp.variation import Variation
from privacygauge.core.checks import Floats, Ints
from privacygauge.report.dtp.words import between, factor, nats
from privacygauge.report.numbers import Shown, count, decimal_estimate, fixed, plain
from privacygauge.report.views import RECORDS, shortened

CLASSES = 20
"""So many classes are shown, those with the most records above 1 first."""

GROUPS = 10
"""So many groups of records that shield each other are shown, and so many records of each."""


@dataclass(frozen=True)
class Row:
    """One of the riskiest records."""

    id: str
    """The user's id; the middle of a very long one is left out."""
    row: str
    """Its row in the data; empty where the id is the same."""
    label: str
    """The name of its class."""
    pdtp: str
    """Its PDTP."""
    factor: str
    """By what factor it changes a probability at its own query."""
    dtp: str
    """Between which numbers its DTP lies."""
    indirect: bool
    """Whether other queries show more than 1 and its own does not."""
    average: Shown | None
    """Its mean PDTP over training sets, where there are several."""


@dataclass(frozen=True)
class ClassRow:
    """The records of one class."""

    name: str
    """The user's name for it."""
    n: int
    """Measured records."""
    n_above: int
    """Of those with a PDTP above 1."""
    largest: str
    """Their largest PDTP."""


@dataclass(frozen=True)
class Step:
    """One removal."""

    number: int
    """Counted from 1."""
    record: str
    """Its id where it was measured, else its row."""
    value: str
    """Its value when it was removed."""
    largest: str
    """The largest value of those that are left."""
    best: bool
    """Whether to stop after it."""


@dataclass(frozen=True)
class Varied:
    """What else moves the prediction of a record."""

    record: str
    """Its id."""
    label: str
    """The name of its class."""
    with_it: str
    """The probability of its class, given by the classifier."""
    without: str
    """The same without the record."""
    own: str
    """How far the record moves it."""
    initialisation: str
    """From where to where random start weights move it."""
    sampling: str
    """From where to where the choice of the other records moves it."""
    n: str
    """Models for each of the two."""
    stands_out: str
    """The record's own effect in standard deviations of the larger of both."""


def riskiest(f: DtpFindings) -> tuple[Row, ...]:
    """Return the records of the largest PDTP."""
    return tuple(_row(f, int(i)) for i in f.order[:RECORDS])


def indirect(f: DtpFindings) -> tuple[Row, ...]:
    """Return records that only other queries give away, by what those show."""
    places = np.flatnonzero(f.indirect)
    order = places[np.argsort(-f.dtp.low[places], kind="stable")]
    return tuple(_row(f, int(i)) for i in order[:RECORDS])


def by_average(f: DtpFindings) -> tuple[Row, ...]:
    """Return the records of the largest mean PDTP over training sets."""
    values = np.array([x.value for x in f.averages])
    return tuple(_row(f, int(i)) for i in np.argsort(-values, kind="stable")[:RECORDS])


def classes(f: DtpFindings) -> tuple[ClassRow, ...]:
    """Return the classes with measured records, those with the most above 1 first."""
    found = []
    for label in np.unique(f.labels).tolist():
        values = f.pdtp[f.labels == label]
        above = int(np.count_nonzero(values > LIMIT))
        found.append((above, float(values.max()), len(values), label))
    ordered = sorted(found, key=lambda x: (-x[0], -x[1], x[3]))[:CLASSES]
    return tuple(ClassRow(_class(f, i), n, above, nats(top)) for above, top, n, i in ordered)


def steps(f: DtpFindings) -> tuple[Step, ...]:
    """Return the first removals."""
    path = f.removal
    if path is None:
        return ()
    return tuple(
        Step(
            i + 1,
            _record(f, int(path.removed[i])),
            nats(float(path.value[i])),
            nats(float(path.highest[i + 1])),
            i + 1 == path.best,
        )
        for i in range(min(RECORDS, len(path.removed)))
    )


def groups(f: DtpFindings) -> tuple[str, ...]:
    """Return the records that shield each other, a group a text."""
    if f.removal is None:
        return ()
    return tuple(_group(f, rows) for rows in f.removal.groups[:GROUPS])


def varied(f: DtpFindings) -> tuple[Varied, ...]:
    """Return what else moves the predictions of some records."""
    return tuple(_varied(f, v) for v in f.variation)


def _row(f: DtpFindings, i: int) -> Row:
    name, row = shortened(str(f.ids[i])), str(int(f.rows[i]))
    return Row(
        name,
        "" if name == row else row,
        _class(f, int(f.labels[i])),
        nats(float(f.pdtp[i])),
        factor(float(f.pdtp[i])),
        between(float(f.dtp.low[i]), float(f.dtp.high[i])),
        bool(f.indirect[i]),
        decimal_estimate(f.averages[i]) if f.averages else None,
    )


def _class(f: DtpFindings, label: int) -> str:
    return shortened(f.class_names[label])


def _record(f: DtpFindings, row: int) -> str:
    place = int(np.searchsorted(f.rows, row))
    if place == len(f.rows) or f.rows[place] != row:
        return f"row {row}"
    return shortened(str(f.ids[place]))


def _group(f: DtpFindings, rows: Ints) -> str:
    names = [_record(f, int(row)) for row in rows[:GROUPS]]
    more = f" and {count(len(rows) - GROUPS)} more" if len(rows) > GROUPS else ""
    return plain(", ".join(names)) + more


def _varied(f: DtpFindings, v: Variation) -> Varied:
    return Varied(
        _record(f, v.row),
        _class(f, v.label),
        fixed(v.with_it, 3),
        fixed(v.without, 3),
        fixed(v.own, 3),
        _range(v.initialisation),
        _range(v.sampling),
        count(len(v.sampling)),
        fixed(v.stands_out, 1),
    )


def _range(values: Floats) -> str:
    return f"{fixed(float(values.min()), 3)} to {fixed(float(values.max()), 3)}"
