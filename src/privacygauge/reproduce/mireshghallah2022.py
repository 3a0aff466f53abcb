"""Tables 2 to 6 and 9 to 11 of Mireshghallah et al. (2022): likelihood ratios of masked models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate import decision, rates
from privacygauge.evaluate.roc import auc
from privacygauge.language.attacks import (
    MeanTrainThreshold,
    OracleThreshold,
    PopulationThreshold,
    Threshold,
    energy_transcript,
)
from privacygauge.language.energies import MaskPlan
from privacygauge.language.patients import by_patient
from privacygauge.language.scores import (
    LIKELIHOOD_RATIO,
    LONG,
    LOSS,
    REFERENCE,
    SHORT,
    TextScores,
    length_bucket,
)
from privacygauge.reproduce.mireshghallah2022_setting import (
    ModelPairOptions,
    ModelSetting,
    Scale,
    Target,
    model_setting,
)
from privacygauge.reproduce.table import Cell, Effort, Row, Table

LEVEL = 0.95
"""Of every interval."""

Measured = Mapping[str, Estimate | Skipped]
"""Column to number, of one draw."""

COLUMNS = (
    "AUC, loss",
    "AUC, LR",
    "precision, loss, mean-train",
    "precision, loss, population",
    "precision, LR, population",
    "recall, loss, mean-train",
    "recall, loss, population",
    "recall, LR, population",
)
"""The rows of the paper's tables; LR is the likelihood ratio, (B) in the paper."""

_SHORT = {LOSS: "loss", LIKELIHOOD_RATIO: "LR"}


@dataclass(frozen=True)
class Line:
    """A row to make: what is asked, of which units, and what the paper prints."""

    label: str
    """Its name."""
    asked: ModelPairOptions
    """Of which models."""
    view: Callable[[TextScores], TextScores]
    """From samples to the units that are judged."""
    published: tuple[float, ...] = ()
    """Numbers of `COLUMNS`; empty where the paper has no such row."""


def row_of(line: Line, scores: Sequence[TextScores], fpr: float) -> Row:
    """Return a row of a table.

    Parameters
    ----------
    line : Line
    scores : sequence of TextScores
        One a draw.
    fpr : float
        The false-positive rate that thresholds are chosen for, in (0, 1).
    """
    known = dict(zip(COLUMNS, line.published, strict=True)) if line.published else {}
    found = over_draws([measure_draw(line.view(draw), fpr) for draw in scores])
    return Row(line.label, {name: Cell(known.get(name), ours) for name, ours in found.items()})


def measure_draw(scores: TextScores, fpr: float) -> dict[str, Estimate | Skipped]:
    """Return the numbers of one draw: areas, and precision, recall and FPR at every threshold.

    Notes
    -----
    Precision is that of a balanced pool, whatever the numbers of members and non-members: the
    paper's pools are balanced (section A.2.2).
    """
    areas = {
        f"AUC, {_SHORT.get(name, 'reference alone')}": auc(energy_transcript(scores, name), LEVEL)
        for name in (LOSS, LIKELIHOOD_RATIO, REFERENCE)
    }
    both: tuple[Threshold, ...] = (PopulationThreshold(fpr), OracleThreshold(fpr))
    guessed = [(LOSS, MeanTrainThreshold()), *((name, how) for how in both for name in _SHORT)]
    found: dict[str, dict[str, Estimate | Skipped]] = {"precision": {}, "recall": {}, "FPR": {}}
    for name, how in guessed:
        decisions = how.cut(scores, name).decide(energy_transcript(scores, name))
        column = f"{_SHORT[name]}, {how.name}"
        found["precision"][column] = decision.positive_predictive_value(decisions, 0.5, LEVEL)
        found["recall"][column] = decision.recall(decisions, LEVEL)
        if how.name == "population":
            found["FPR"][column] = decision.false_positive_rate(decisions, LEVEL)
    named = {f"{kind}, {at}": x for kind, columns in found.items() for at, x in columns.items()}
    return {**areas, **named}


def over_draws(draws: Sequence[Measured]) -> dict[str, Estimate | Skipped]:
    """Return the mean of every number over draws, with its interval; see `mean_over_draws`."""
    return {name: mean_over_draws(name, [draw[name] for draw in draws]) for name in draws[0]}


def mean_over_draws(name: str, values: Sequence[Estimate | Skipped]) -> Estimate | Skipped:
    """Return the mean of a rate over draws: Student's interval, cut at 0 and 1.

    Draws share no note and have targets of their own, so that their spread holds both the notes'
    and the training's. The interval of a single draw is its own, by note; where several do not
    differ at all, it is the widest of theirs. Skipped where any draw has no value.
    """
    skipped = next((x for x in values if isinstance(x, Skipped)), None)
    if skipped is not None:
        return Skipped(name, skipped.reason)
    known = [x for x in values if isinstance(x, Estimate)]
    if len(known) == 1:
        return known[0]
    points = np.array([x.value for x in known])
    if np.ptp(points) == 0:
        low = min(x.low for x in known)
        high = max(x.high for x in known)
        n = sum(x.n for x in known)
        return Estimate(
            value=points[0],
            low=low,
            high=high,
            level=LEVEL,
            n=n,
            method="by note, the same in every draw",
        )
    return rates.mean(points, LEVEL, unit="draws", least=0.0, most=1.0)


def mean_difference(
    name: str, first: Sequence[Estimate | Skipped], second: Sequence[Estimate | Skipped]
) -> Estimate | Skipped:
    """Return the mean over draws of one number minus another of the same draw.

    Student's interval. Skipped where a number is missing, with a single draw, or where all draws
    have the same difference, which says nothing of its doubt.
    """
    skipped = next((x for x in (*first, *second) if isinstance(x, Skipped)), None)
    if skipped is not None:
        return Skipped(name, skipped.reason)
    values = np.array([_value(a) - _value(b) for a, b in zip(first, second, strict=True)])
    if np.ptp(values) == 0:
        drawn = "one draw" if len(values) == 1 else f"each of {len(values)} draws"
        return Skipped(name, f"{values[0]:+.3f} in {drawn}, whose spread is not known")
    return rates.mean(values, LEVEL, unit="draws")


def _value(found: Estimate | Skipped) -> float:
    assert isinstance(found, Estimate)
    return found.value


FPR = 0.1
"""The false-positive rate of all tables but Table 10."""
LOW_FPR = 0.01
"""Of Table 10."""

BASE = ModelPairOptions()
"""The usual target, reference and masks."""
SMALL = ModelPairOptions(Target("small"))
SMALL_LONGER = ModelPairOptions(Target("small", 2))
LONGER = ModelPairOptions(Target(times=2))
NEAR_WORDS = ModelPairOptions(plan=MaskPlan(unit="word"))
FAR_WORDS = ModelPairOptions(plan=MaskPlan(unit="word"), domain="far")
"""The far reference has a tokenizer of its own, so that masks are shared word by word."""
NAMED = ModelPairOptions(Target(named=True), named=("member",))
NAMED_ALIKE = ModelPairOptions(Target(named=True), named=("member", "nonmember", "population"))
NORMALISED = ModelPairOptions(plan=MaskPlan("single"))
"""Every token masked once, alone."""


def samples(scores: TextScores) -> TextScores:
    """Return the samples as they are."""
    return scores


def short(scores: TextScores) -> TextScores:
    """Return the samples of 10 to 20 tokens."""
    return _of_length(scores, *SHORT)


def long(scores: TextScores) -> TextScores:
    """Return the samples of 21 to 60 tokens."""
    return _of_length(scores, *LONG)


_BASE = (0.662, 0.900, 0.615, 0.612, 0.889, 0.557, 0.156, 0.792)
_BASE_NOTES = (0.915, 0.992, 0.875, 0.875, 0.934, 0.495, 0.495, 1.000)
_BASE_SHORT = (0.516, 0.830, 0.509, 0.420, 0.873, 0.553, 0.072, 0.682)

TABLE_2 = (
    Line("sample level", BASE, samples, _BASE),
    Line("note level", BASE, by_patient, _BASE_NOTES),
)
TABLE_3 = (
    Line("short, 10 to 20 tokens", BASE, short, _BASE_SHORT),
    Line("long, 21 to 60 tokens", BASE, long, _BASE),
)
TABLE_4 = (
    Line("small", SMALL, samples, _BASE),
    Line("small, longer", SMALL_LONGER, samples,
         (0.656, 0.894, 0.610, 0.612, 0.888, 0.558, 0.156, 0.785)),
    Line("large", BASE, samples, (0.679, 0.904, 0.624, 0.639, 0.889, 0.564, 0.176, 0.792)),
    Line("large, longer", LONGER, samples,
         (0.700, 0.905, 0.649, 0.691, 0.889, 0.561, 0.222, 0.793)),
)  # fmt: skip
TABLE_5 = (
    Line("near reference, tokens", BASE, samples, _BASE),
    Line("near reference, words", NEAR_WORDS, samples),
    Line("far reference, words", FAR_WORDS, samples,
         (0.662, 0.883, 0.615, 0.612, 0.878, 0.557, 0.156, 0.715)),
)  # fmt: skip
TABLE_6 = (
    Line("sample level, without names", BASE, samples, _BASE),
    Line("sample level, members named", NAMED, samples,
         (0.561, 0.960, 0.530, 0.441, 0.902, 0.540, 0.078, 0.913)),
    Line("sample level, all named", NAMED_ALIKE, samples),
    Line("note level, without names", BASE, by_patient, _BASE_NOTES),
    Line("note level, members named", NAMED, by_patient,
         (0.953, 1.000, 1.000, 0.911, 0.925, 0.485, 0.828, 1.000)),
    Line("note level, all named", NAMED_ALIKE, by_patient),
)  # fmt: skip
TABLE_9 = (
    *(replace(line, label=f"all: {line.label}") for line in TABLE_4),
    replace(TABLE_6[1], label="all: members named"),
    Line("short: small", SMALL, short, _BASE_SHORT),
    Line("short: small, longer", SMALL_LONGER, short,
         (0.513, 0.827, 0.506, 0.406, 0.873, 0.551, 0.068, 0.682)),
    Line("short: large", BASE, short, (0.509, 0.835, 0.507, 0.400, 0.873, 0.562, 0.066, 0.684)),
    Line("short: large, longer", LONGER, short,
         (0.536, 0.843, 0.525, 0.434, 0.873, 0.558, 0.076, 0.684)),
    Line("short: members named", NAMED, short,
         (0.391, 0.912, 0.443, 0.259, 0.893, 0.543, 0.035, 0.827)),
)  # fmt: skip
TABLE_10 = (
    Line("sample level", BASE, samples, (0.662, 0.900, 0.615, 0.537, 0.985, 0.557, 0.011, 0.604)),
    Line("short, 10 to 20 tokens", BASE, short,
         (0.516, 0.830, 0.509, 0.094, 0.979, 0.553, 0.001, 0.430)),
    Line("members named", NAMED, samples,
         (0.561, 0.960, 0.530, 0.351, 0.988, 0.540, 0.005, 0.783)),
)  # fmt: skip
TABLE_11 = (
    Line("sample level", NORMALISED, samples,
         (0.685, 0.916, 0.6302, 0.6438, 0.8907, 0.5811, 0.1790, 0.8066)),
    Line("short, 10 to 20 tokens", NORMALISED, short,
         (0.487, 0.871, 0.4924, 0.3655, 0.8807, 0.5917, 0.0575, 0.7340)),
)  # fmt: skip

_SIZES = (
    "The paper compares models of 12 and 24 layers and longer training: ClinicalBERT-Base, Base++, "
    "Large and Large++, in this order. One reference model, of the larger size, serves all."
)
_REFERENCES = (
    "Near: trained on the reference notes. Far: trained as long on sentences of the reference of "
    "the Python language that ships with Python, with a tokenizer of its own, so that words are "
    "masked in place of tokens and energies are in nats a word. The paper's are PubMed-BERT and "
    "BERT-base."
)
_NAMES = (
    "Names are put together from syllables, one a note. 'Members named' is the paper's way: the "
    "non-members and the population carry no names, which is a shift that the controls would show; "
    "in 'all named' every side carries names, and only members' were trained on."
)
_SWAPPED = "The paper's headers Short and Long are swapped in this table; these are put right."


def table_by(
    number: int, lines: Sequence[Line], *further: str, fpr: float = FPR
) -> Callable[[Effort], Table]:
    """Return what makes a table.

    Parameters
    ----------
    number : int
        The paper's.
    lines : sequence of Line
    *further : str
        Notes beside those that all tables have.
    fpr : float, default 0.1
        The false-positive rate that thresholds are chosen for.
    """

    def make(effort: Effort) -> Table:
        rows = []
        kept = lines
        notes = (*notes_on(effort), *further)
        if number == 9 and effort.quick:
            few = "Quick form: without the last row, as no sample with a name in front is short."
            kept = lines[:-1]
            notes = (*notes, few)
        with model_setting(effort) as setting:
            for done, (line, scores) in enumerate(score_lines(setting, kept), 1):
                rows.append(row_of(line, scores, fpr))
                effort.told(done, len(kept))
        name = f"mireshghallah-table{number}"
        title = f"Mireshghallah et al. (2022), Table {number}"
        return Table(name, title, tuple(rows), notes)

    return make


mireshghallah_table2 = table_by(2, TABLE_2)
"""The likelihood ratio beside the loss, for samples and for whole notes."""
mireshghallah_table3 = table_by(3, TABLE_3)
"""Samples of 10 to 20 and of 21 to 60 tokens."""
mireshghallah_table4 = table_by(4, TABLE_4, _SIZES)
"""Targets of two sizes, trained for two times."""
mireshghallah_table5 = table_by(5, TABLE_5, _REFERENCES)
"""A reference model from the same domain, and one from another."""
mireshghallah_table6 = table_by(6, TABLE_6, _NAMES)
"""A target whose training sentences began with the name of their note."""
mireshghallah_table9 = table_by(9, TABLE_9, _SIZES, _SWAPPED, _NAMES)
"""All samples and short ones, of every target."""
mireshghallah_table10 = table_by(10, TABLE_10, _SWAPPED, _NAMES, fpr=LOW_FPR)
"""Thresholds for 1% of false positives."""
mireshghallah_table11 = table_by(11, TABLE_11, _SWAPPED)
"""The normalised energy, which masks every token once, alone."""


def score_lines(
    setting: ModelSetting, lines: Sequence[Line]
) -> Iterator[tuple[Line, tuple[TextScores, ...]]]:
    """Yield every line with its energies of every draw; lines that ask alike share them."""
    known: dict[ModelPairOptions, tuple[TextScores, ...]] = {}
    for line in lines:
        if line.asked not in known:
            known[line.asked] = setting.scores(line.asked)
        yield line, known[line.asked]


def notes_on(effort: Effort) -> tuple[str, ...]:
    """Return what holds for all tables: where data, models and sizes differ from the paper's."""
    scale = Scale.of(effort)
    (small_layers, small_hidden), (layers, hidden) = scale.sizes
    return (
        "Medical transcriptions stand in for MIMIC-III, notes for patients, and small models for "
        f"BERT: layers x units {layers} x {hidden}, and {small_layers} x {small_hidden} where a "
        f"smaller one is named, trained on the reference notes for {scale.reference_epochs} "
        f"epochs, which is the reference model, then on members for {scale.epochs}: the target.",
        f"Draws: {scale.draws}, each of {scale.notes} notes of members, as many of non-members and "
        "of the population. No two draws share a note; the reference model is the same in all. "
        "Intervals are Student's over the draws; those of a single draw are by note.",
        "Sample level is of 10 to 60 tokens; the paper's Section 4 is of more than 20 but for "
        "Table 3.",
        "The paper's precision and recall turn out to be those of the oracle, whose threshold "
        "comes from the judged non-members; ours of the population are an attacker's.",
        "Energies are means over 10 balanced masks of 15%; the paper's text has 10 random ones, "
        "its code 20.",
    )


def _of_length(scores: TextScores, fewest: int, most: int) -> TextScores:
    found = length_bucket(scores, fewest, most)
    if isinstance(found, Skipped):
        raise InputError(f"{found.name}: {found.reason}; take the full form")
    return found
