"""What the candidate-set game says: its numbers, sections and words, as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privacygauge.audits.classifier.found import CandidateAudit
from privacygauge.audits.classifier.verdict import REPEAT, mending, unsaid
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.per_target import Correlation
from privacygauge.report import direction
from privacygauge.report.attacks import data, plots, tables
from privacygauge.report.attacks.measures import GUESSING
from privacygauge.report.attacks.records import RECORDS, roc_frame
from privacygauge.report.attacks.terms import interval, terms
from privacygauge.report.document import estimate_dict
from privacygauge.report.grades import (
    BY_ONE_NUMBER,
    NONE,
    accuracy_gauge,
    grade_of,
    ranked_pairs,
    right_of,
    scale_of,
)
from privacygauge.report.numbers import (
    DASH,
    count,
    decimal_estimate,
    fixed,
    p_value,
    percent,
    percent_estimate,
    plain,
    rate,
)
from privacygauge.report.values import (
    About,
    Block,
    Column,
    Folded,
    Grade,
    Json,
    Measure,
    Pairs,
    Report,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Verdict,
    Worst,
)

if TYPE_CHECKING:
    import pandas as pd

_NAMED = 10
"""Number of records that are named in a register, and shown before a fold."""


def report(f: CandidateAudit) -> Report:
    """Return everything that the audit says, as plain values."""
    order = _worst_first(f)
    allows = f", which allows for the choice among {len(f.evaluations)} attacks"
    return Report(
        "candidates",
        "Audit of single records: the candidate-set game",
        about=About(
            "A way to train a model, record by record",
            f"Somebody who knows all candidates guesses: {f.game.question}",
            f.game.adversary,
            "membership-inference",
        ),
        intro=f"Of the strongest attack, {f.best.title}, over all guesses about "
        f"{_records(f)}. Small figures are {rate(f.level)} intervals"
        f"{allows if len(f.evaluations) > 1 else ''}.",
        origin=f.origin,
        verdict=verdict(f),
        measures=_measures(f),
        sections=(
            Section("game", "What was played", (_game(f),), "The game"),
            Section("attacks", "Attacks", _attacks(f)),
            Section("records", "Record by record", _record_by_record(f, order)),
            Section(
                "curves",
                "Curves",
                (plots.roc(f.evaluations), plots.roc_log(f.evaluations), plots.scores(f.best)),
            ),
        ),
        terms=dict(_terms(f)),
        worst=Worst("candidates, by row", tuple(str(f.targets[i]) for i in order[:_NAMED])),
        data=_data(f),
        frames={
            "records.parquet": lambda: targets_frame(f),
            "roc.csv": lambda: roc_frame(f.evaluations),
        },
        nothing_left_out="Nothing: every part of the suite was played.",
        overview=(_overview(f),),
        sources="The game: Long, Bindschaedler and Gunter, Towards Measuring Membership Privacy "
        "(2017), section 5.4.",
    )


def _game(f: CandidateAudit) -> Pairs:
    n = f"{count(f.game.n_in)} about members, {count(f.game.n_out)} about non-members"
    return tables.game(f.game, targets=("Guesses", n))


def verdict(f: CandidateAudit) -> Verdict:
    """Return the verdict on the guesses about all attacked records together.

    The grade follows from the lower end of the balanced accuracy, of the guesses or by the
    ranking, whichever is graver, as in an audit of a classifier. It cannot be told where no leak
    was found but an attack takes members for non-members.
    """
    grade = grade_of(f.reached.accuracy.low)
    if grade == NONE and f.inverted:
        return direction.verdict(direction.sentences(f.inverted))
    right = percent(f.accuracy.value)
    ranked = ranked_pairs(f.auc)
    n = len(f.evaluations)
    allowing = f" (this allows for having tried {n} attacks)" if n > 1 else ""
    if grade == NONE:
        headline = "No leak found: no attack guesses clearly better than chance"
    elif f.reached.by_ranking:
        headline = f"{grade.word.capitalize()} leak: {ranked}, which guesses hide"
    else:
        headline = f"{grade.word.capitalize()} leak: guesses about single records are right {right}"
        headline += " of the time"
    sentences = (
        *(
            (
                f"{ranked}, and a ranking this good has a threshold that is right at least "
                f"{percent(f.reached.accuracy.value)} of the time: the grade follows from it.",
            )
            if f.reached.by_ranking
            else ()
        ),
        f"{plain(f.best.title)} told models with a record from models without it correctly {right} "
        "of the time; guessing gives 50%.",
        f"With {rate(f.level)} confidence the share of right guesses lies between "
        f"{percent(f.accuracy.low)} and {percent(f.accuracy.high)}{allowing}. It was measured on "
        f"{_records(f)}, each guessed about in {count(_guesses(f))} models.",
        f"The models predict {percent(f.train_accuracy.value)} of the records rightly that they "
        f"were trained on, and {percent(f.test_accuracy.value)} of the others.",
    )
    scale = scale_of(grade)
    gauge = accuracy_gauge("the strongest attack", f.reached, BY_ONE_NUMBER)
    return Verdict(grade, scale, headline, sentences, unsaid(grade), _advice(grade), gauge)


def _advice(grade: Grade) -> tuple[str, ...]:
    return (
        *(() if grade == NONE else mending(grade)),
        "Play more iterations, or attack more records: intervals get narrower.",
        REPEAT,
    )


def _records(f: CandidateAudit) -> str:
    n = len(f.targets)
    return f"{count(n)} record{'' if n == 1 else 's'}"


def _guesses(f: CandidateAudit) -> int:
    """Return how often each record was guessed about."""
    return int(f.per_target[f.best.title].n[0])


def _measures(f: CandidateAudit) -> tuple[Measure, ...]:
    found = [
        Measure(
            "accuracy",
            right_of(f.reached),
            f.reached.accuracy,
            percent_estimate(f.reached.accuracy),
            text="Models with the record and models without it equally often. Guessing gives 50%. "
            "Balanced accuracy.",
            guessing=GUESSING,
        ),
        Measure(
            "auc",
            "Pairs put in the right order",
            f.best.auc,
            decimal_estimate(f.best.auc),
            text="Guessing gives 0.5. Area under the ROC (AUC).",
            guessing="0.5",
        ),
        *_of_models(f),
    ]
    pdtp = f.mean_pdtp
    if pdtp is not None:
        found.append(
            Measure(
                "mean-pdtp",
                "Mean PDTP",
                pdtp,
                decimal_estimate(pdtp),
                text="How far a model's word on a record moves when it is left out. 0: not at all.",
                guessing="0",
                gate=False,
            )
        )
    return tuple(found)


def _of_models(f: CandidateAudit) -> tuple[Measure, ...]:
    halves = {
        "train-accuracy": ("Accuracy of the models on their records", f.train_accuracy),
        "test-accuracy": ("Accuracy of the models on other records", f.test_accuracy),
    }
    return tuple(
        Measure(name, label, found, percent_estimate(found), gate=False)
        for name, (label, found) in halves.items()
    )


def _main(f: CandidateAudit) -> Table:
    note = f"Small figures: {rate(f.level)} intervals."
    return tables.main(f.evaluations, f.best.title, note=note, epsilon=False)


def _overview(f: CandidateAudit) -> Table:
    return Table(
        "overview",
        "How well each attack did",
        (Column("Attack"), Column("Right guesses"), Column("AUC")),
        tuple(
            Row(
                (e.title, percent_estimate(e.accuracy, 1), decimal_estimate(e.auc)),
                Tone.BEST if e.title == f.best.title else Tone.PLAIN,
            )
            for e in f.evaluations
        ),
    )


def _attacks(f: CandidateAudit) -> tuple[Block, ...]:
    return (
        Text(
            (
                "Each attack guesses for every record and every model whether the model was "
                "trained on the record. " + tables.LINE,
            )
        ),
        _main(f),
        *tables.notes(f.evaluations),
        Folded("Every number about the guesses", (tables.guesses(f.evaluations),)),
        Folded("Every number about the scores", (tables.rates(f.evaluations),)),
        Folded("How the intervals were made", (tables.methods(f.evaluations),)),
    )


def _worst_first(f: CandidateAudit) -> Ints:
    """Return the places of the targets, those first that the best attack is most often right on."""
    accuracy = f.per_target[f.best.title].accuracy
    return np.argsort(-accuracy, kind="stable").astype(np.int64)


def _record_by_record(f: CandidateAudit, order: Ints) -> tuple[Block, ...]:
    shown, pdtp = order[:RECORDS].tolist(), f.pdtp
    estimates = f.per_target[f.best.title].estimates(f.level)
    return (
        Text(
            (
                f"How often {f.best.title} is right about each record, over the models with and "
                "without it. Each interval holds individually: among many records some look "
                "exposed by luck. Records are named by their row.",
            )
        ),
        Table(
            "records",
            "Records by falling share of right guesses",
            (
                Column("Row"),
                Column("Right guesses"),
                *((Column("PDTP"),) if pdtp is not None else ()),
            ),
            tuple(
                (
                    str(f.targets[i]),
                    percent_estimate(estimates[i], 1),
                    *((fixed(float(pdtp[i]), 3),) if pdtp is not None else ()),
                )
                for i in shown
            ),
            at_once=_NAMED,
        ),
        Text(
            (f"{count(len(shown))} of {_records(f)} are shown; all are in records.parquet.",),
            Tone.NOTE,
        ),
        *((_correlations(f),) if f.correlations else ()),
    )


def _correlations(f: CandidateAudit) -> Table:
    def row(title: str, found: Correlation | Skipped) -> tuple[str, ...]:
        if isinstance(found, Skipped):
            return title, DASH, found.reason
        return title, str(decimal_estimate(found.estimate, 2)), p_value(found.p_value)

    return Table(
        "correlations",
        "Does PDTP tell which records attacks are right about?",
        (Column("Attack"), Column("Correlation with PDTP"), Column("p", prose=True)),
        tuple(row(title, found) for title, found in f.correlations.items()),
        "Pearson's correlation over records.",
    )


def _terms(f: CandidateAudit) -> tuple[tuple[str, str], ...]:
    pdtp = (
        "PDTP",
        "Pointwise differential training privacy: the largest log ratio over all classes between "
        "the model with and without a record, asked about that record.",
    )
    return (
        (
            "Candidate set",
            "The records that the adversary knows. Half of them, at random, are the training set.",
        ),
        *terms("Attack", "Shadow model").items(),
        ("Interval", interval(f.level)),
        *terms("Balanced accuracy", "TPR, recall", "FPR", "TPR at FPR").items(),
        *terms("\N{DAGGER} dagger", "ROC, AUC").items(),
        *((pdtp,) if f.measured is not None else ()),
    )


def targets_frame(f: CandidateAudit) -> pd.DataFrame:
    """Return one row for every target.

    Returns
    -------
    pandas.DataFrame
        Columns: ``row``, ``pdtp`` where it was measured, and each attack's accuracy with the ends
        of its interval: ``TITLE``, ``TITLE low``, ``TITLE high``.
    """
    import pandas as pd

    columns: dict[str, object] = {"row": f.targets}
    if f.pdtp is not None:
        columns["pdtp"] = f.pdtp
    for title, found in f.per_target.items():
        estimates = found.estimates(f.level)
        columns[title] = found.accuracy
        columns[f"{title} low"] = [e.low for e in estimates]
        columns[f"{title} high"] = [e.high for e in estimates]
    return pd.DataFrame(columns)


def _data(f: CandidateAudit) -> dict[str, Json]:
    def correlation(found: Correlation | Skipped) -> Json:
        if isinstance(found, Skipped):
            return {"skipped": found.reason}
        return {"estimate": estimate_dict(found.estimate), "p_value": float(found.p_value)}

    numbers: dict[str, Estimate] = {
        "accuracy": f.accuracy,
        "train_accuracy": f.train_accuracy,
        "test_accuracy": f.test_accuracy,
    }
    return {
        "game": data.game(f.game),
        "attacks": [data.attack(e) for e in f.evaluations],
        "best": f.best.title,
        **{name: estimate_dict(found) for name, found in numbers.items()},
        "targets": f.targets.tolist(),
        "correlations": {title: correlation(found) for title, found in f.correlations.items()},
    }
