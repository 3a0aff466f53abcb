"""The command `privacygauge compare`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.kinds.command import Command
from privacygauge.kinds.dropped import Answers, DroppedFile, Recognised, answer, file_questions
from privacygauge.kinds.request import HelpGroup, Request, amounts, with_low
from privacygauge.releases.comparison import Margin
from privacygauge.runs.options import argument, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privacygauge.kinds.session import Work
    from privacygauge.releases.comparison.audit import Comparison

METRICS = (*with_low(*amounts("difference")), *amounts("worse"))
"""Metrics that a newer version can be held to."""

_HELP = """Compare finished audits of one kind: what got worse for certain, and what else changed.

Each version is compared with the first; the verdict is about the last. Where records.parquet lies
beside both reports, people in both are compared with themselves.

Example: privacygauge compare audits/v1 audits/v2 --fail-above worse=0

Example: privacygauge compare audits/v1 audits/v2 audits/v3 --out comparison
"""


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest(Margin, Request):
    """Options of ``privacygauge compare``."""

    old: str = argument("OLD", "Folder of the older audit, or its report.json.")
    new: str = argument("NEW", "Folder of the newer audit, or its report.json.")
    more: tuple[str, ...] = option("", "[MORE]...", "Later versions, the newest last.", split=False)

    @property
    def reports(self) -> tuple[str, ...]:
        """The reports from the oldest to the newest, as they were given."""
        return (self.old, self.new, *self.more)

    def files(self) -> dict[str, Path]:
        """Return the reports, also where their folders were named."""
        from privacygauge.releases.comparison.versions import report_file

        return {f"report {i}": report_file(path) for i, path in enumerate(self.reports)}


def play(asked: ComparisonRequest, work: Work) -> Comparison:
    """Compare the requested reports."""
    from privacygauge.kinds.session import Session
    from privacygauge.releases.comparison.audit import ComparisonOptions

    session = Session("compare", asked.seed, asked.level)
    return asked.part(ComparisonOptions).run(asked.reports, session=session)


_NEW = "new|newer|after|later|current|candidate"
"""Words in the name of the newer report, as a pattern."""


def recognise(files: Sequence[DroppedFile]) -> list[Recognised]:
    """Recognise the reports of two audits of one kind."""
    if len(files) != 2 or len({file.report for file in files}) > 1 or not files[0].report:
        return []

    def arguments(answers: Answers) -> list[str]:
        names = [file.name for file in files]
        old = answer(answers, "old") or names[0]
        return [old, next(name for name in names if name != old)]

    return [
        Recognised(
            "Reports of two versions",
            arguments,
            questions=file_questions(
                {"old": "Which report is the older one?"},
                files,
                {"old": "old|older|before|earlier|previous|baseline", "new": _NEW},
            ),
            fit=4,
        )
    ]


COMMAND = Command(
    "compare",
    group=HelpGroup.REPORTS,
    request=ComparisonRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC of the last version is above VALUE: worse (number of measures "
        "that are worse), difference (of the measure behind the verdict), or "
        "difference.low."
    ),
    folder="privacygauge-comparison",
    tables=("differences.csv",),
    recognise=recognise,
)
