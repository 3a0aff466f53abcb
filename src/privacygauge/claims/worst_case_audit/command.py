"""Options of `privacygauge worst-case`, and its run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privacygauge.claims.options import DefendedTraining, WorstCaseDesign, cost_teller
from privacygauge.classifiers.training_options import (
    TRAINING_DEFENCES,
    TRAINING_DEFENCES_HELP,
    WRONG_LABELS,
    data_option,
    materials,
    on_records,
)
from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, shares, with_low
from privacygauge.runs.options import asks, option

if TYPE_CHECKING:
    from privacygauge.claims.worst_case_audit.audit import WorstCaseComparison
    from privacygauge.kinds.session import Work

NAME = "worst-case"
"""Name of the command."""

METRICS = with_low(
    *shares("tpr", "tpr@0.1", "tpr@0.01", "tpr@0.001", "auc", "tpr-left", "auc-left")
)
"""Metrics that a release can be held to, of the least private of the defences and, left, the most
private.
"""

_HELP = """Compare ways to train by the records most at risk, for which mislabelled canaries stand.

Example: privacygauge worst-case --data people.csv --label income

Example: privacygauge worst-case --data people.csv --label income --defence dropout:0.5,dp-sgd:8
"""

_LIMITS = (
    "Exit with code 3 if METRIC of the canaries is above VALUE with any of the defences (without "
    "one if none is given): tpr (at the verdict's false-positive rate), tpr@0.1, tpr@0.01, "
    "tpr@0.001 or auc; with the best of them: tpr-left or auc-left. Add .low for the lower end of "
    "the interval (tpr.low=0.05)."
)


@dataclass(frozen=True, kw_only=True)
class WorstCaseRequest(WorstCaseDesign, DefendedTraining):
    """Options of a comparison of trainings by worst-case records."""

    data: str = data_option()
    defences: tuple[str, ...] = option(
        "--defence",
        "NAME[:N]",
        f"Defences to compare: {TRAINING_DEFENCES_HELP}; several as a,b. Training without a "
        "defence is always compared.",
        offers=TRAINING_DEFENCES,
    )
    wrong_label: str = asks(
        "NAME",
        "Label that canaries get: uniform (any other class) or least-likely (the class that a "
        "model trained without the record finds least likely).",
        default="uniform",
        offers=WRONG_LABELS,
        panel="Canaries",
    )

    def check(self, jobs: int) -> None:
        """Refuse labels that do not exist."""
        if self.wrong_label not in WRONG_LABELS:
            raise InputError(
                f"--wrong-label must be one of {', '.join(WRONG_LABELS)}, got {self.wrong_label!r}"
            )


def play(asked: WorstCaseRequest, work: Work) -> WorstCaseComparison:
    """Run the requested comparison, training the models that the run does not hold yet."""
    from privacygauge.claims.canaries import LeastLikelyLabel, UniformLabel
    from privacygauge.claims.worst_case_audit.audit import WorstCaseOptions
    from privacygauge.classifiers.held import NUMBERS, described_form

    # Before any of the user's code is imported: the run may have been made with other code.
    running = work.running(NAME, asked)
    given = materials(asked, work)
    unlikely = asked.wrong_label != "uniform"
    wrong = LeastLikelyLabel(given.trainer) if unlikely else UniformLabel()
    with work.resumable(asked), work.bar("Training models, each in every way") as progress:
        options = WorstCaseOptions(
            **vars(asked.part(WorstCaseDesign)), label=wrong, delta=asked.delta
        )
        # Canaries are made-up records.
        form = described_form(given.trainer.describe())
        if form != NUMBERS:
            raise InputError(
                f"{given.trainer.name} takes records in a form of its own ({form}), and this "
                "audit makes records up: give a model of features that are numbers"
            )
        return options.compare(
            given.trainer,
            given.x,
            given.records.y,
            asked.defences,
            unit=given.records.unit,
            before=cost_teller(work),
            session=replace(on_records(running, given.records), progress=progress),
        )


COMMAND = Command(
    NAME,
    group=HelpGroup.CLASSIFIER,
    request=WorstCaseRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=_LIMITS,
    trains=True,
    keeps=True,
    tables=("trainings.csv", "attacks.csv"),
)
