"""Options of `privacygauge holdout log`, and its run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privacygauge.kinds.command import Command
from privacygauge.kinds.dropped import DroppedFile, Question, Recognised, options
from privacygauge.kinds.request import HelpGroup, Request, amounts, shares
from privacygauge.leaderboards import names
from privacygauge.runs.options import Role, argument, asks, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privacygauge.kinds.session import Work
    from privacygauge.leaderboards.history_audit.audit import LeaderboardAudit

METRICS = (*amounts("findings", "suspects", "hints"), *shares("explained"))
"""Metrics that a history can be held to."""

_NAME = "holdout log"

_HELP = """Look for attacks in a leaderboard's history, and replay it under guards.

Example: privacygauge holdout log history.csv --n 10000 --classes 10

Example: privacygauge holdout log history.jsonl --labels labels.npy --fail-above findings=0

Example: privacygauge holdout log history.csv --n 10000 --fail-above findings=0 --fail-above hints=0

Example: privacygauge holdout log Submissions.csv --n 3000 --n-private 7000
"""


@dataclass(frozen=True, kw_only=True)
class LogRequest(Request):
    """Options of an audit of a leaderboard's history."""

    history: str = argument(
        "HISTORY",
        "History: .jsonl, .csv or .parquet with the columns time, account and score (accuracy, or "
        "right answers); in .jsonl and .parquet also predictions, lists of labels. Or the rows of "
        "one contest in Meta Kaggle's Submissions.",
    )
    n: int | None = asks(
        "N",
        "Number of examples in the test set. Default: that of --labels or --predictions.",
    )
    classes: int | None = asks("M", "Number of classes. Default: counted in --labels.")
    metric: str | None = asks(
        "METRIC",
        "What the scores are, such as auc or rmse:0:100. Default: what HISTORY says, or accuracy.",
        offers=names.METRICS,
    )
    n_private: int | None = asks(
        "N",
        "Number of examples behind the private scores of a contest that has ended.",
    )
    random_private: bool = asks(
        "",
        "The private examples were drawn at random from the same records as the public ones, and "
        "are no later or other part. Default: unknown, so that teams are compared with each other.",
    )
    n_smaller: int | None = asks(
        "N",
        "Of an AUC, number of examples of the smaller class among those of --n. Default: counted "
        "in --labels.",
    )
    phase: str | None = asks(
        "NAME",
        "Phase whose submissions are looked at. Default: the only one of HISTORY.",
    )
    better: str | None = asks(
        "WHICH",
        "Of a metric that is an error, which scores of HISTORY are better: lower, if they are "
        "errors, or higher, if they are 1 less the error. Default: what HISTORY shows; asked for "
        "where it does not.",
        offers=("higher", "lower"),
    )
    predictions: str | None = asks(
        "FILE",
        "Submitted labels: .npy of shape (submissions, N) in the order of HISTORY, or .npz with "
        "an array under each name in its column submission, or as holdout serve export --answers "
        "writes it.",
        role=Role.FILE,
    )
    labels: str | None = asks(
        "FILE",
        "Hidden labels: .npy, .npz or a table with one column, perhaps beside id, to replay the "
        "history under every guard. No output contains them.",
        role=Role.FILE,
    )
    guards: tuple[str, ...] = option(
        "--guard",
        "GUARD",
        "Guard that answers submissions: the history is replayed under it, such as round:2 or "
        "ladder:0.01; several as a,b. Default: five of them.",
        offers=names.GUARDS,
    )
    level: float = asks(
        "P",
        "Level of every interval. An honest history has no finding with at least this probability.",
        default=0.95,
    )


def play(asked: LogRequest, work: Work) -> LeaderboardAudit:
    """Run the requested audit."""
    from privacygauge.leaderboards.history.reading import read_history
    from privacygauge.leaderboards.history_audit.audit import GUARDS as REPLAYED
    from privacygauge.leaderboards.history_audit.audit import audit_leaderboard

    files = asked.files()
    history = read_history(
        files["history"],
        n=asked.n,
        n_classes=asked.classes,
        predictions=files.get("predictions"),
        labels=files.get("labels"),
        metric=asked.metric,
        n_private=asked.n_private,
        n_smaller=asked.n_smaller,
        random_private=asked.random_private,
        phase=asked.phase,
        better=asked.better,
    )
    return audit_leaderboard(
        history,
        guards=asked.guards or REPLAYED,
        **asked.told(_NAME),
    )


def recognise(files: Sequence[DroppedFile]) -> list[Recognised]:
    """Recognise a history, perhaps beside the hidden labels or the submitted ones."""
    from privacygauge.leaderboards.history.reading import is_history

    histories = [file for file in files if file.columns and is_history(file.names)]
    if len(histories) != 1:
        return []
    (history,) = histories
    flags = {}
    for file in files:
        if file is not history:
            flag = "labels" if [len(x) for x in file.shapes.values()] == [1] else "predictions"
            if not file.shapes or flag in flags:
                return []
            flags[flag] = file.name
    questions = []
    if not flags:
        questions.append(Question("n", "How many examples does the test set have?"))
        text = "How many classes does it have? Leave it out where the scores are not of classes."
        questions.append(Question("classes", text, needed=False))
    if "metric" not in history.names:
        text = "What are the scores? The accuracy, or a metric such as auc or rmse:0:100."
        questions.append(Question("metric", text, usual=("accuracy",)))
    return [
        Recognised(
            "The history of a leaderboard",
            lambda answers: [
                history.name,
                *(f"--{flag}={name}" for flag, name in flags.items()),
                # Thousands may stand apart: 2 000.
                *(re.sub(r"(?<=\d)[\s,'](?=\d{3}(?!\d))", "", x) for x in options(answers, n="n")),
                *options(answers, classes="classes", metric="metric"),
            ],
            questions=tuple(questions),
            fit=5,
        )
    ]


COMMAND = Command(
    _NAME,
    group=HelpGroup.TEST_SET,
    request=LogRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC is above VALUE: findings (their number), suspects (accounts in "
        "them), hints (what is worth a look and no finding) or explained (share of the lead that "
        "selection alone explains)."
    ),
    tables=("records.parquet",),
    recognise=recognise,
)
