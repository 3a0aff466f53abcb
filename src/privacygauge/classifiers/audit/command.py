"""The commands `privacygauge classifier` and `privacygauge demo`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

from privacygauge.classifiers.audit.options import METRICS, NAME, ClassifierRequest
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
from privacygauge.kinds.request import (
    HelpGroup,
    Request,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privacygauge.classifiers.audit.result import Audit
    from privacygauge.kinds.session import Work


LIMITS = (
    "Exit with code 3 if METRIC of any attack is above VALUE: accuracy, auc, advantage, tpr@0.1, "
    "tpr@0.01, tpr@0.001, epsilon, risk, worst-group (right guesses in the worst group that is "
    "shown), worst-records (members that stand out) or detectable (the least accuracy that would "
    "have been found). Add .low for the lower end of the interval (accuracy.low=0.6)."
)
"""Help text of ``--fail-above``, on `METRICS`."""

TABLES = ("records.parquet", "roc.csv")
"""Names of the files written next to the report."""


_HELP = """Audit a classifier: from its predictions alone, or by training shadow models.

Example: privacygauge classifier target.npz --shadow shadow.npz --out report

Example: privacygauge classifier --model random-forest --data people.csv --label income
"""


def play(asked: ClassifierRequest, work: Work) -> Audit:
    """Run the requested audit."""
    if asked.target is not None:
        from privacygauge.classifiers.audit.models import audit_pool
        from privacygauge.classifiers.audit.predictions import audit_classifier
        from privacygauge.classifiers.files import as_pool, load_predictions
        from privacygauge.core.attacks.posterior import ESTIMATORS

        names = () if asked.unit is None else (asked.unit,)
        read = partial(
            load_predictions,
            classes=asked.classes,
            names=names,
            columns=(*asked.slices, *asked.show_columns, *asked.features),
            missing=asked.missing,
        )
        released = read(asked.target)
        if asked.pool is not None:
            pool = as_pool(asked.pool, classes=asked.classes, target_classes=released.classes)
            audit = partial(audit_pool, released, pool)
        else:
            audit = partial(
                audit_classifier,
                released,
                None if asked.shadow is None else read(asked.shadow),
                features=asked.features,
                allow_missing_classes=asked.allow_missing_classes,
            )
        return audit(
            attacks=asked.attacks or None,
            estimator=ESTIMATORS[asked.risk],
            slices=asked.slices or None,
            show_columns=asked.show_columns,
            unit=asked.unit,
            **asked.told(NAME),
        )
    from privacygauge.classifiers.audit.models import audit_trained

    return audit_trained(asked, work)


def recognise(files: Sequence[DroppedFile]) -> list[Recognised]:
    """Recognise predictions, alone or beside those of shadow models, and a table to train on."""
    from privacygauge.classifiers.exports import roles_in
    from privacygauge.core.checks import short_list

    pools = [file for file in files if len(file.shapes.get("member", ())) == 2]
    released = [file for file in files if file not in pools]
    if not 1 <= len(released) <= 2 or len(pools) + len(released) > 2 or len(pools) > 1:
        return []
    alone = [_trained_on(files[0])] if len(files) == 1 and files[0].columns else []
    scores, label, member = roles_in(released[0].names)
    of_classes = {} if scores else _class_columns(released[0], apart=(label, member))
    if any(not roles_in(file.names)[0] and not {*of_classes} & {*file.names} for file in released):
        return alone
    scores = scores or [*of_classes]
    questions: list[Question] = []
    left = [x for x in released[0].names if x not in (*scores, label, member)]
    if label is None:
        questions.append(Question("label", "Which column holds the true class?", tuple(left)))
    called = [name.removeprefix("p_") for name in of_classes.values()]
    is_one = [*of_classes.values()] == ["p"]
    whole = {*released[0].numbers()}.difference(released[0].fractions())
    if (label is None or label in whole) and not (is_one or all(map(str.isdecimal, called))):
        # Only their owner knows which number is which class.
        order = (f"yes: {short_list(called)}",)
        text = (
            "If the true classes are numbers: do these count the classes in the order of the "
            "columns? If not, call the columns p_0, p_1, ... first."
        )
        questions.append(Question("order", text, order, needed=label is not None))
    halves: list[str] = []
    if member is None:
        # Arrays were not looked into: any may say who is a member.
        halves = [x for x in released[0].halves() if x in left] if released[0].columns else left
        questions.append(member_question(halves))
    if len(released) == 2:
        text = "Which file holds the predictions of the audited model? The other is a shadow model."
        questions += model_question(text, released)
    people = person_question([x for x in released[0].columns if x in left])

    def arguments(answers: Answers) -> list[str]:
        target = answer(answers, "target") or released[0].name
        others = [file.name for file in released if file.name != target]
        return [
            target,
            *(f"--shadow={name}" for name in others),
            *(f"--pool={file.name}" for file in pools),
            *options(answers, unit="unit"),
        ]

    def renamed(answers: Answers) -> dict[str, str]:
        truth = answer(answers, "label")
        membership = member_column(answers)
        if truth in membership:
            raise InputError("the true class and the membership must be two columns")
        classes = {truth: "labels" if released[0].shapes else "label"} if truth else {}
        columns = of_classes
        if answer(answers, "order") and (truth or label) in whole:
            columns = {name: f"p_{place}" for place, name in enumerate(of_classes)}
        return {**columns, **classes, **membership}

    lacks = "" if member or halves else NO_MEMBERS
    if label is None and len(left) < (1 if member else 2):
        missing = "the true class" if member else "the true class, and who is a member"
        lacks = (
            f"Nothing here says {missing}: add {'labels' if released[0].shapes else 'label'}"
            f"{'' if member else ', and member, 1 for records that the model was trained on'}"
        )
    # Shares of anything may sum to 1; those of classes stand beside members, or labels.
    are_labels = ({*map(str, values)} <= {*called} for values in released[0].columns.values())
    sure = not of_classes or member or any(are_labels)
    beside = " beside those of a shadow model" if len(released) == 2 else ""
    return [
        Recognised(
            f"Predictions of a classifier{' beside a pool of shadow models' if pools else beside}",
            arguments,
            questions=(*questions, *people),
            renamed=renamed,
            fit=4 if label and member else 3 if sure else 0,
            lacks=lacks,
        ),
        *(alone if of_classes else []),
    ]


def _class_columns(file: DroppedFile, apart: Sequence[str | None]) -> dict[str, str]:
    """Return neighbouring columns that sum to 1, or to 100, in the first rows, to their names.

    These are what readers call the probabilities of classes; ``confidence_cat`` becomes ``p_cat``.
    Without any, the only column of fractions beside two true classes, the first of `apart`, is the
    probability of the second one, ``p``. That of the predicted class is never in the lower half.
    """
    shares = {
        name: [float(value) for value in file.columns[name]]
        for name in file.numbers()
        if name not in apart
        and all(value is not None and str(value).strip() for value in file.columns[name])
    }
    shares = {name: x for name, x in shares.items() if min(x) >= 0 and max(x) <= _MOST}
    names = [*shares]
    # Columns of 0 and 1 that sum to 1 are one column of words, written apart.
    with_fractions = {*file.fractions()}
    # Sums of the first columns, row by row: the difference of two is that of all between.
    sums = [[*accumulate(row, initial=0.0)] for row in zip(*shares.values(), strict=True)]
    for first in range(len(names)):
        for last in range(first + 2, len(names) + 1):
            if sums[0][last] - sums[0][first] > _MOST:
                break
            found = names[first:last]
            alike = (
                all(abs((row[last] - row[first]) / whole - 1) <= _OFF for row in sums)
                for whole in (1, 100)
            )
            if any(alike) and with_fractions & {*found}:
                heads = {name[: len(name) - len(re.split(r"[_ .:-]", name)[-1])] for name in found}
                head = heads.pop() if len(heads) == 1 else ""
                return {name: f"p_{name.removeprefix(head)}" for name in found}
    two = len({str(value).strip() for value in file.columns.get(apart[0] or "", ())}) == 2
    for column in file.fractions() if two and len(with_fractions) == 1 else ():
        p = shares.get(column, [0.0])
        if 0 <= min(p) < 0.5 < max(p) <= 1 and not says(column, _ERRORS):
            return {column: "p"}
    return {}


_ERRORS = (
    "loss|losses|nll|perplexity|likelihood|residuals?|distances?|errors?|entropy|margin|energy|mse"
    "|mae|rmse|brier|uncertainty|variance|std|confidence|weights?"
)
"""Pattern of words in the names of numbers that are no probability of a class."""
_OFF = 0.02
"""Largest deviation of the sum of a row's probabilities from 1, from rounding."""
_MOST = 100 * (1 + _OFF)


def _trained_on(file: DroppedFile) -> Recognised:
    """Return the audit of a model that is trained here on the records of a table."""
    columns = tuple(file.columns)
    models = ("random-forest", "gradient-boosting", "logistic", "naive-bayes", "nearest")
    return Recognised(
        "A table of records, for a model that is trained here on half of them",
        lambda answers: [
            f"--data={file.name}",
            *options(answers, label="label", model="model", unit="unit"),
        ],
        questions=(
            Question("label", "Which column does the model predict?", columns),
            Question("model", "Which model?", models, usual=models[:1]),
            *person_question(columns),
        ),
        fit=0,
    )


COMMAND = Command(
    NAME,
    group=HelpGroup.CLASSIFIER,
    request=ClassifierRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=LIMITS,
    trains=True,
    keeps=True,
    tables=TABLES,
    recognise=recognise,
)

_DEMO = """Audit a real model on real data that needs no download.

Trains a random forest on half of 1,797 handwritten digits, and shadow models on other halves;
plays the suite; writes the report and both prediction files, so that "privacygauge classifier" can
be tried on them.

Example: privacygauge demo --out privacygauge-demo
"""


@dataclass(frozen=True, kw_only=True)
class DemoRequest(Request):
    """Options of the demonstration."""


def play_demo(asked: DemoRequest, work: Work) -> Audit:
    """Return the audit, and write its predictions next to the report."""
    from privacygauge.classifiers.audit.predictions import audit_classifier
    from privacygauge.classifiers.files import save_predictions
    from privacygauge.classifiers.named import forest
    from privacygauge.classifiers.shadows import train_predictions
    from privacygauge.datasets.public import digits

    with work.bar("Training models") as progress:
        target, shadow = train_predictions(forest, *digits(), seed=asked.seed, progress=progress)
    if work.folder is not None:
        for name, made in zip(_PREDICTIONS, (target, shadow), strict=True):
            save_predictions(made, work.folder / name)
    return audit_classifier(
        target,
        shadow,
        drawn=True,
        seed=asked.seed,
        level=asked.level,
        command="demo",
        provenance={"data": "digits (scikit-learn)", "model": "random forest, 8 shadow models"},
    )


_FOLDER = "privacygauge-demo"
_PREDICTIONS = ("target.npz", "shadow.npz")
DEMO = Command(
    "demo",
    group=HelpGroup.START,
    request=DemoRequest,
    play=play_demo,
    help=_DEMO,
    metrics=METRICS,
    limits=LIMITS,
    folder=_FOLDER,
    tables=(*TABLES, *_PREDICTIONS),
)
