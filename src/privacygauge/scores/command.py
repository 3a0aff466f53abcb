"""The command `privacygauge scores`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.classifiers.audit.options import METRICS, RISKS
from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.dropped import (
    NO_MEMBERS,
    Answers,
    DroppedFile,
    Question,
    Recognised,
    answer,
    member_column,
    member_question,
    model_question,
    options,
    person_question,
    says,
)
from privacygauge.kinds.request import HelpGroup, Request, missing_option
from privacygauge.runs.options import Role, argument, asks, option
from privacygauge.scores import NAME, ScoreDesign

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privacygauge.kinds.session import Work
    from privacygauge.scores.audit import ScoreAudit

_LIMITS = (
    "Exit with code 3 if METRIC of any attack is above VALUE: accuracy, auc, advantage, tpr@0.1, "
    "tpr@0.01, tpr@0.001, epsilon, risk, worst-group (right guesses in the worst group that is "
    "shown), worst-records (members that stand out) or detectable (the least accuracy that would "
    "have been found). Add .low for the lower end of the interval (accuracy.low=0.6)."
)

_HELP = """Audit any model that gives a number per record: a loss, a distance, a residual.

Example: privacygauge scores target.parquet --score loss --lower loss --unit patient

Example: privacygauge scores target.parquet --shadow shadows/ --out report
"""


@dataclass(frozen=True, kw_only=True)
class ScoreRequest(ScoreDesign, Request):
    """Options of ``privacygauge scores``."""

    target: str = argument(
        "TARGET",
        "A row per record: its scores, member (1 if the model was trained on it, else 0) and "
        "perhaps id, unit, group and further columns; .parquet, .csv, .tsv, .jsonl or .npz.",
    )
    shadow: tuple[str, ...] = asks(
        "SHADOW",
        "The same records' scores under shadow models, matched by id, each with its own member; "
        "without members it is a reference model, which was trained on none of them. A folder "
        "stands for all its files, a column model for several models in one. Or scores of other "
        "records, to learn thresholds on. May be given several times.",
        split=False,
    )
    pool: str | None = asks(
        "POOL", "Scores of known non-members that are not judged.", role=Role.FILE
    )
    unit: str | None = asks(
        "COLUMN", "Column of the people behind the rows. Default: unit, or equal ids."
    )
    slices: tuple[str, ...] = option(
        "--slice",
        "COLUMN",
        "Column of TARGET whose groups are compared. Default: all. May be given several times.",
        split=False,
    )
    attacks: tuple[str, ...] = asks(
        "A,B",
        "Attacks to play, such as lira; choose them before you look at results. Default: all.",
    )
    risk: str = asks(
        "NAME",
        "Estimator of the risk score, of a single score: isotonic or histogram.",
        default="isotonic",
        offers=RISKS,
    )
    missing: tuple[str, ...] = missing_option()

    def check(self, jobs: int) -> None:
        """Refuse an estimator that does not exist."""
        if self.risk not in RISKS:
            raise InputError(f"--risk must be {' or '.join(RISKS)}, got {self.risk!r}")

    def files(self) -> dict[str, Path]:
        """Return the files that were named, those of folders too."""
        from privacygauge.scores.table import shadow_files  # with numpy

        shadows = shadow_files(self.shadow)
        return {**super().files(), **{f"shadow {i}": path for i, path in enumerate(shadows)}}


def play(asked: ScoreRequest, work: Work) -> ScoreAudit:
    """Run the requested audit."""
    from privacygauge.core.attacks.posterior import ESTIMATORS
    from privacygauge.scores.audit import audit_scores

    return audit_scores(
        asked.target,
        shadows=list(asked.shadow) or None,
        population=asked.pool,
        unit=asked.unit,
        slices=asked.slices or None,
        missing=asked.missing,
        attacks=asked.attacks or None,
        estimator=None if asked.risk == RISKS[0] else ESTIMATORS[asked.risk],
        scores=asked.scores,
        lower=asked.lower,
        higher=asked.higher,
        group=asked.group,
        features=asked.features,
        show_columns=asked.show_columns,
        **asked.told(NAME),
    )


_SCORES = "loss|losses|scores?|nll|perplexity|likelihood|residuals?|distances?"
"""Pattern of words in the names of columns that are scores."""
_RESIDUAL = "absolute_residual"
"""Column that a page adds for the size of a model's error."""


def recognise(files: Sequence[DroppedFile]) -> list[Recognised]:
    """Recognise tables of numbers per record, those of shadow models among them."""
    from privacygauge.classifiers.exports import PREDICTED, roles_in
    from privacygauge.scores.table import named_roles

    member, named = named_roles(files[0].names)
    _, truth, _ = roles_in(files[0].names)
    numbers = [x for x in files[0].numbers() if x != member]
    fractions = {*files[0].fractions()}
    answered = next((x for x in numbers if x.strip().lower() in PREDICTED), None)
    # Two numbers per record of which one answers the other; two classes are no such numbers.
    pair = (truth or "", answered or "")
    many = len({*map(str, files[0].columns.get(pair[0], ()))}) > 2
    is_regression = {*pair} <= {*numbers} and many and bool(fractions & {*pair})
    residual = f"|{truth} - {answered}|"
    if is_regression:
        numbers = [residual, *(x for x in numbers if x not in pair)]
    first = named or (pair if is_regression else numbers[:1])
    if not all(file.columns and {*first} <= {*file.names} for file in files):
        return []
    if not numbers or (member is None and not named and not is_regression):
        return []
    halves = [x for x in files[0].halves() if x not in (*named, *pair)]
    questions: list[Question] = []
    if member is None:
        questions.append(member_question(halves))
    if len(files) > 1:
        text = "Which file holds the scores of the audited model? The others are shadow models."
        questions += model_question(text, files)
    alone = [x for x in numbers if x in fractions]
    # An id is a number, too, and tells much about membership where members come first.
    usual = tuple(named or [x for x in numbers if says(x, _SCORES)])
    if is_regression and not usual:
        usual = (residual,)
    usual = usual or (tuple(alone) if len(alone) == 1 else ())
    text = "Which columns are scores, one number per record that tells something about membership?"
    questions.append(Question("score", text, tuple(numbers), usual=usual, several=True))
    text = "Are the scores lower for members, as a loss is, or higher, as a likelihood is?"
    sides = ("learn it from the data", "lower", "higher")
    questions.append(Question("side", text, sides, usual=sides[:1]))
    people = person_question([x for x in files[0].names if x not in (member, *usual, *pair)])

    def arguments(answers: Answers) -> list[str]:
        target = answer(answers, "target") or files[0].name
        side = answer(answers, "side")
        scores = [_RESIDUAL if x == residual else x for x in answers.get("score", ())]
        chosen = scores if side in sides[1:] else []
        return [
            target,
            *(f"--shadow={file.name}" for file in files if file.name != target),
            *(f"--score={name}" for name in scores),
            *options(answers, unit="unit"),
            *(f"--{side}={name}" for name in chosen),
        ]

    return [
        Recognised(
            "A number per record, such as a loss or a distance",
            arguments,
            questions=(*questions, *people),
            renamed=member_column,
            residuals=lambda answers: (
                {_RESIDUAL: pair} if residual in answers.get("score", ()) else {}
            ),
            lacks="" if member or halves else NO_MEMBERS,
            # Without members, a column called loss or distance may be any table's own.
            fit=3 if member and (named or is_regression) else 2 if member or len(files) == 1 else 1,
        )
    ]


COMMAND = Command(
    NAME,
    group=HelpGroup.CLASSIFIER,
    request=ScoreRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=_LIMITS,
    tables=("records.parquet", "roc.csv"),
    recognise=recognise,
)
