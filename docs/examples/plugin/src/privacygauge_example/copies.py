"""A kind of audit with its command: the real records that stand in a synthetic table."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from privacygauge.errors import InputError
from privacygauge.evaluate.rates import share
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, Request, shares, with_low
from privacygauge.kinds.session import Session, Work
from privacygauge.report.numbers import percent_estimate
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Gauge,
    Grade,
    Measure,
    Origin,
    Report,
    Section,
    Severity,
    Verdict,
    Worst,
    table,
)
from privacygauge.runs.options import Options, argument, asks

NOTHING = Grade("no copies", Severity.NOTHING)
SOME = Grade("copies", Severity.GRAVE)


@dataclass(frozen=True, eq=False, repr=False)
class Copies(Reported):
    """Records of a table that stand in a synthetic one."""

    origin: Origin
    copied: tuple[str, ...]
    n: int

    def report(self) -> Report:
        """Return the page's values."""
        found = share(len(self.copied), self.n, self.level)
        shown = percent_estimate(found)
        ids = table("copied", "Ids", [{"Id": name} for name in self.copied])
        return Report(
            kind="copies",
            title="Audit of copies",
            about=About("A synthetic table", "Every record is looked up.", "the table", "copies"),
            intro=f"{self.n} real records were looked up in the table.",
            origin=self.origin,
            verdict=Verdict(
                grade=SOME if self.copied else NOTHING,
                scale=(NOTHING, SOME),
                headline=f"{shown.value} of the records are copies",
                sentences=("Each was looked up.",),
                unsaid="That nobody is copied does not say that nothing leaks.",
                advice=("Leave them out.",),
                gauge=Gauge(
                    "Records copied", shown, low=found.low, value=found.value, high=found.high,
                    limits=(-1.0, 0.0, 1.0), ticks=("0%",), rule="Every copy counts.",
                ),
            ),
            measures=(Measure("copies", "Records copied", found, shown, guessing="none"),),
            sections=(Section("copied", "Who is copied", (ids,)),),
            terms={"Copy": "A record that stands in the table as it is."},
            worst=Worst("records", self.copied, "" if self.copied else "nobody is copied"),
            data={},
            frames={"records.parquet": lambda: pd.DataFrame({"id": self.copied})},
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class CopiesOptions(Options):
    """Options of the audit."""

    ignore: tuple[str, ...] = asks("COLUMNS", "Columns that are not compared. Default: none.")

    def run(self, real, synthetic, *, session: Session = Session("copies")) -> Copies:
        """Return which real records stand in a synthetic table as they are.

        Parameters
        ----------
        real, synthetic : pandas.DataFrame
            Tables with the same columns.
        session : Session, optional
            Level of the interval.
        """
        if list(real.columns) != list(synthetic.columns):
            raise InputError("both tables must have the same columns")
        tables = (frame.drop(columns=list(self.ignore)) for frame in (real, synthetic))
        rows, made = (list(frame.itertuples(index=False, name=None)) for frame in tables)
        known = set(made)
        copied = tuple(str(i) for i, row in enumerate(rows) if row in known)
        return Copies(session.origin("pandas"), copied, len(rows))


HELP = """Count the real records that stand in a synthetic table.

Example: privacygauge copies real.csv synthetic.csv
"""


@dataclass(frozen=True, kw_only=True)
class CopiesRequest(CopiesOptions, Request):
    """Options of the command."""

    real: str = argument("REAL", "Real records: a CSV file.")
    synthetic: str = argument("SYNTHETIC", "The synthetic table: a CSV file.")


def play(asked: CopiesRequest, work: Work) -> Copies:
    """Run the requested audit."""
    tables = (pd.read_csv(path) for path in (asked.real, asked.synthetic))
    return asked.part(CopiesOptions).run(*tables, session=Session(**asked.told("copies")))


COMMAND = Command(
    "copies",
    group=HelpGroup.TABLE,
    request=CopiesRequest,
    play=play,
    help=HELP,
    metrics=with_low(*shares("copies")),
    limits="Exit with code 3 if the share of copies is above VALUE: copies.",
)
