"""Figures 3 to 5, Table 7 and the verbal claims of Mireshghallah et al. (2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.rules import Cut, halves
from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import decision
from privacygauge.evaluate.defences import quantile
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
from privacygauge.evaluate.rates import mean
from privacygauge.evaluate.roc import auc, roc
from privacygauge.language.attacks import PopulationThreshold, energy_transcript
from privacygauge.language.patients import by_patient
from privacygauge.language.scores import LIKELIHOOD_RATIO, LOSS, TextScores
from privacygauge.language.tokens import read_tokenizer
from privacygauge.papers.mireshghallah2022 import (
    BASE,
    FAR_WORDS,
    FPR,
    LEVEL,
    LONGER,
    LOW_FPR,
    NAMED,
    NAMED_ALIKE,
    NEAR_WORDS,
    NORMALISED,
    SMALL,
    Line,
    Measured,
    ModelSetting,
    long,
    mean_difference,
    mean_over_draws,
    measure_draw,
    model_setting,
    notes_on,
    over_draws,
    samples,
    score_lines,
    short,
)
from privacygauge.papers.table import Cell, Effort, Row, Table, exact

# Table 7: text features that predict the detected members.

FEATURES: Mapping[str, tuple[int, ...]] = {
    "digits": (0,),
    "length": (1,),
    "non-alphanumeric": (2,),
    "rarest tokens": (3, 4, 5),
}
"""The paper's features (A) to (D) to their columns of `exposure_features`."""

ROWS = (
    ("digits",),
    ("length",),
    ("non-alphanumeric",),
    ("rarest tokens",),
    ("non-alphanumeric", "rarest tokens"),
    ("length", "non-alphanumeric", "rarest tokens"),
    ("digits", "length", "non-alphanumeric", "rarest tokens"),
)
"""Sets of features in the rows of Table 7."""

Weights = Literal["none", "balanced"]
"""Class weights: ``none`` as published, ``balanced`` for equal weight of detected and missed."""


@dataclass(frozen=True, eq=False)
class FeatureFit:
    """A logistic regression of "this member is detected" on some features."""

    features: tuple[str, ...]
    """Names of its features, of `FEATURES`."""
    weights: Weights
    """Class weights of the fit."""
    train: Transcript
    """Log-odds and labels (True for detected) of the training rows."""
    test: Transcript
    """Log-odds and labels of the rows of other groups."""

    def decisions(self, part: Transcript) -> Decisions:
        """Return guesses at even odds (log-odds of 0) on `train` or `test`."""
        return Cut(0.0, "even odds of a logistic regression").decide(part)


def feature_study(
    columns: Floats,
    detected: Bools,
    unit: Ints,
    rng: np.random.Generator,
    *,
    rows: Sequence[tuple[str, ...]] = ROWS,
    share: float = 0.5,
) -> tuple[FeatureFit, ...]:
    """Fit logistic regressions of an attack's detected members on features of their texts.

    Parameters
    ----------
    columns : ndarray of float, shape (n, 6)
        Features from `exposure_features`.
    detected : ndarray of bool, shape (n,)
        Whether the attack guessed "member"; both kinds must occur.
    unit : ndarray of int, shape (n,)
        Group of each row; no group is in both training and test rows.
    rng : numpy.random.Generator
        Splits the groups.
    rows : sequence of tuple of str
        Sets of names of `FEATURES`; by default those of Table 7.
    share : float
        Share of the groups in the training rows, in (0, 1).

    Returns
    -------
    tuple of FeatureFit
        Two fits for each set of features: without weights, then balanced.

    Notes
    -----
    Mireshghallah et al. (2022), section 4.4, Table 7: precision and recall at even odds without
    weights. A feature with a small effect on the odds then predicts "missed" for all samples, which
    the paper prints as 0.0 and 0.0: the AUC of the same fit shows whether it is informative.
    Features are standardised on the training rows; the penalty is scikit-learn's default.
    """
    columns = np.asarray(columns, np.float64)
    detected = checks.bools(detected, "detected", length=len(columns))
    # Split by group, (n,): True for training rows.
    learn = halves(unit, detected, share, int(rng.integers(2**32)))
    for part, name in ((learn, "learnt from"), (~learn, "tested on")):
        if detected[part].all() or not detected[part].any():
            raise InputError(
                f"the rows {name} must hold detected and missed members, got one kind only: "
                "choose another threshold, or give more groups"
            )
    kinds: tuple[Weights, ...] = ("none", "balanced")
    return tuple(
        _fit(columns, detected, unit=unit, learn=learn, row=row, kind=kind)
        for row in rows
        for kind in kinds
    )


def exposure_features(
    text: Sequence[str], tokens: Sequence[Sequence[str]], frequency: Mapping[str, int]
) -> Floats:
    """Return six numbers per text: digits, length, other characters, three rarest tokens' counts.

    Parameters
    ----------
    text : sequence of str, length n
    tokens : sequence of sequence of str, length n
        The tokens of each text, at least one each.
    frequency : mapping of str to int
        Count of each token in the training data; an absent token counts 0.

    Returns
    -------
    ndarray of float, shape (n, 6)
        Number of digits, number of tokens, number of characters other than letters, digits and
        white space, and the counts of the three rarest tokens, rarest first. A text of fewer than
        three tokens repeats its most frequent one.

    Examples
    --------
    >>> from privacygauge.papers.mireshghallah2022_figures import (
    ...     exposure_features,
    ...     token_frequency,
    ... )
    >>> tokens = [["bp", "120", "/", "80"]]
    >>> exposure_features(["BP 120/80"], tokens, token_frequency(tokens)).tolist()
    [[5.0, 4.0, 1.0, 1.0, 1.0, 1.0]]
    """
    if len(text) != len(tokens):
        raise InputError(f"tokens must have {len(text)} rows, got {len(tokens)}")
    rows = []
    for letters, parts in zip(text, tokens, strict=True):
        if not parts:
            raise InputError("tokens must hold at least one token a text, got none")
        digits = sum(letter.isdigit() for letter in letters)
        others = sum(not letter.isalnum() and not letter.isspace() for letter in letters)
        counts = sorted(frequency.get(token, 0) for token in parts)
        # Fewer than three tokens: the last count again.
        rarest = [counts[min(place, len(counts) - 1)] for place in range(3)]
        rows.append([digits, len(parts), others, *rarest])
    return np.array(rows, float)


def token_frequency(tokens: Sequence[Sequence[str]]) -> dict[str, int]:
    """Return the count of each token over all texts."""
    return dict(Counter(token for row in tokens for token in row))


def _fit(
    columns: Floats, detected: Bools, unit: Ints, learn: Bools, row: tuple[str, ...], kind: Weights
) -> FeatureFit:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    unknown = [name for name in row if name not in FEATURES]
    if unknown:
        raise InputError(f"features must be of {checks.short_list(FEATURES)}, got {unknown[0]!r}")
    chosen = columns[:, [place for name in row for place in FEATURES[name]]]
    weights = None if kind == "none" else kind
    # Scaled, so that the penalty weighs all features alike.
    model = make_pipeline(StandardScaler(), LogisticRegression(class_weight=weights))
    model.fit(chosen[learn], detected[learn])
    odds = model.decision_function(chosen)
    train, test = (Transcript(odds[p], detected[p], unit[p]) for p in (learn, ~learn))
    return FeatureFit(row, kind, train, test)


LINEAR = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""False-positive rates of Figure 4."""
LOGARITHMIC = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""False-positive rates of Figure 5, the same curve on a logarithmic axis."""

PUBLISHED = {0.1: (0.156, 0.792), 0.01: (0.011, 0.604)}
"""False-positive rate to the true-positive rates of (loss, likelihood ratio) in Tables 2 and 10."""

TABLE_7 = {
    ("digits",): (0.0, 0.0, 0.0, 0.0),
    ("length",): (0.0, 0.0, 0.0, 0.0),
    ("non-alphanumeric",): (0.712, 0.466, 0.692, 0.475),
    ("rarest tokens",): (0.689, 0.405, 0.638, 0.392),
    ("non-alphanumeric", "rarest tokens"): (0.739, 0.588, 0.711, 0.578),
    ("length", "non-alphanumeric", "rarest tokens"): (0.743, 0.613, 0.721, 0.613),
    ("digits", "length", "non-alphanumeric", "rarest tokens"): (0.743, 0.613, 0.721, 0.613),
}
"""Features to precision and recall on training rows, then precision and recall on test rows."""

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Quantiles that represent the distributions of Figure 3."""

_HISTOGRAM = (
    "The paper shows histograms and prints no number. Higher means more like a member: the "
    "negative of the paper's loss and of its ratio, in nats a token. The interval of a single "
    "draw's quantile takes its samples for independent, which those of one note are not."
)
_PARTS = ("precision, train", "recall, train", "precision, test", "recall, test")
_STUDY = (
    "A logistic regression tells from the text which members the likelihood ratio finds at a "
    "threshold for 1% of the population's false positives: it finds about as large a share as the "
    "paper's 46%, where one for 10% finds nearly all. Half of the notes are learnt from. "
    "Precision and recall are at even odds. Where it calls no sample found, the paper prints 0.0 "
    "and 0.0; the AUC and the balanced weights show whether the features tell anything."
)


def mireshghallah_fig3(effort: Effort) -> Table:
    """Return Figure 3: quantiles of the likelihood ratio and of the loss, by membership."""
    with model_setting(effort) as setting:
        drawn = setting.scores(BASE)
    rows = []
    for share in QUANTILES:
        cells = {}
        for name, signal in (("LR", LIKELIHOOD_RATIO), ("loss", LOSS)):
            played = [energy_transcript(scores, signal) for scores in drawn]
            for side, member in (("members", True), ("non-members", False)):
                values = [quantile(x.score[x.secret == member], share, LEVEL) for x in played]
                # A single draw keeps its own interval; Student's needs two.
                ours = values[0]
                if len(values) > 1:
                    ours = mean(np.array([one.value for one in values]), LEVEL, unit="draws")
                cells[f"{name}, {side}"] = Cell(None, ours)
        rows.append(Row(f"quantile {share:g}", cells))
    effort.told(1, 1)
    title = "Mireshghallah et al. (2022), Figure 3"
    return Table("mireshghallah-fig3", title, tuple(rows), (*notes_on(effort), _HISTOGRAM))


def mireshghallah_table7(effort: Effort) -> Table:
    """Return Table 7: features of the members that the likelihood ratio detects."""
    with model_setting(effort) as setting:
        drawn = [study_features(setting, draw, x) for draw, x in enumerate(setting.scores(BASE))]
    rows = []
    for row, published in TABLE_7.items():
        known = dict(zip(_PARTS, published, strict=True))
        found = over_draws([draw[row] for draw in drawn])
        rows.append(Row(", ".join(row), {n: Cell(known.get(n), x) for n, x in found.items()}))
    effort.told(1, 1)
    notes = (*notes_on(effort), _STUDY)
    return Table("mireshghallah-table7", "Mireshghallah et al. (2022), Table 7", tuple(rows), notes)


def study_features(
    setting: ModelSetting, draw: int, scores: TextScores
) -> dict[tuple[str, ...], dict[str, Estimate | Skipped]]:
    """Return set of features to the numbers of one draw, for every row of Table 7."""
    rows = np.flatnonzero(scores.member)
    # A false-positive rate of 1%: at 10% nearly all members are detected, and the regression would
    # have hardly any missed ones to learn from.
    transcript = energy_transcript(scores, LIKELIHOOD_RATIO)
    decisions = PopulationThreshold(LOW_FPR).cut(scores, LIKELIHOOD_RATIO).decide(transcript)
    # Members only: `guess` at their positions is "detected".
    fits = feature_study(
        _columns(setting, draw, scores),
        decisions.guess[transcript.secret],
        scores.unit[rows],
        seeds.stream(setting.seed, "reproduce", "features", draw),
    )
    found: dict[tuple[str, ...], dict[str, Estimate | Skipped]] = {}
    for fit in fits:
        numbers = found.setdefault(fit.features, {})
        # The plain names are the paper's columns, which have no weights.
        suffix = "" if fit.weights == "none" else ", balanced"
        for name, part in (("train", fit.train), ("test", fit.test)):
            guesses = fit.decisions(part)
            numbers[f"precision, {name}{suffix}"] = decision.sample_precision(guesses, LEVEL)
            numbers[f"recall, {name}{suffix}"] = decision.recall(guesses, LEVEL)
        numbers[f"AUC, test{suffix}"] = auc(fit.test, LEVEL)
    return found


def _columns(setting: ModelSetting, draw: int, scores: TextScores) -> Floats:
    assert scores.text is not None
    text = [scores.text[row] for row in np.flatnonzero(scores.member).tolist()]
    tokenizer = read_tokenizer(setting.target(BASE.target, draw))

    def tokens(texts: Sequence[str]) -> list[list[str]]:
        found = tokenizer.encoded(texts)
        # Framing tokens, such as [CLS], stand at the ends of every text.
        return [[str(token) for token in x.ids[~x.framing]] for x in found]

    return exposure_features(
        text, tokens(text), token_frequency(tokens(setting.members(draw).text))
    )


def roc_figure(name: str, number: str, fprs: Sequence[float], effort: Effort) -> Table:
    """Return a figure of true-positive rates over some false-positive rates."""
    with model_setting(effort) as setting:
        drawn = setting.scores(BASE)
    rows = []
    for fpr in fprs:
        published = PUBLISHED.get(fpr, (None, None))
        cells = {}
        for label, signal, paper in zip(
            ("TPR, loss", "TPR, LR"), (LOSS, LIKELIHOOD_RATIO), published, strict=True
        ):
            played = [energy_transcript(scores, signal) for scores in drawn]
            found = [
                # Notes are independent, not their samples.
                tpr_at_fpr(roc(x), fpr, LEVEL, independent=x.independent).estimate
                for x in played
            ]
            cells[label] = Cell(paper, mean_over_draws(label, found))
        rows.append(Row(f"FPR {fpr:g}", cells))
    effort.told(1, 1)
    return Table(name, f"Mireshghallah et al. (2022), {number}", tuple(rows), notes_on(effort))


NAME = "mireshghallah-claims"
GAIN = "ln of the ratio of recalls, LR to loss"
"""Log ratio of recalls: unlike the ratio itself, it can be averaged over draws."""

LINES = (
    Line("samples", BASE, samples),
    Line("notes", BASE, by_patient),
    Line("short samples", BASE, short),
    Line("long samples", BASE, long),
    Line("small target", SMALL, samples),
    Line("large target, longer", LONGER, samples),
    Line("near reference", NEAR_WORDS, samples),
    Line("far reference", FAR_WORDS, samples),
    Line("members named", NAMED, samples),
    Line("members named, notes", NAMED, by_patient),
    Line("all named", NAMED_ALIKE, samples),
    Line("normalised energy", NORMALISED, samples),
)
AT_LOW_FPR = "samples at 1%"
"""Name of the samples with thresholds for a false-positive rate of 1%."""


@dataclass(frozen=True)
class Claim:
    """A claim that one number is larger than another."""

    what: str
    """Claim, in a few words."""
    larger: tuple[str, str]
    """Line and column of the number that should be larger."""
    smaller: tuple[str, str]
    """Line and column of the other number."""
    published: float | None
    """Difference in the paper; None if it does not print both numbers."""


_LR = "AUC, LR"
_LOSS = "AUC, loss"
_FOUND = "recall, LR, population"

CLAIMS = (
    Claim("LR beats the loss, AUC of samples", ("samples", _LR), ("samples", _LOSS), 0.238),
    Claim("LR beats the loss, AUC of notes", ("notes", _LR), ("notes", _LOSS), 0.077),
    Claim("LR beats the loss, recall at 10%", ("samples", _FOUND),
          ("samples", "recall, loss, population"), 0.636),
    Claim("LR beats the loss, recall at 1%", (AT_LOW_FPR, _FOUND),
          (AT_LOW_FPR, "recall, loss, population"), 0.593),
    # ln(0.604 / 0.011) - ln(0.792 / 0.156) = 2.381, from Tables 10 and 2.
    Claim("the ratio of recalls is larger at 1% than at 10% (its logarithm)", (AT_LOW_FPR, GAIN),
          ("samples", GAIN), 2.381),
    Claim("notes leak more than samples, LR", ("notes", _LR), ("samples", _LR), 0.092),
    Claim("notes leak more than samples, loss", ("notes", _LOSS), ("samples", _LOSS), 0.253),
    Claim("long samples leak more, LR", ("long samples", _LR), ("short samples", _LR), 0.070),
    Claim("long samples leak more, loss", ("long samples", _LOSS), ("short samples", _LOSS), 0.146),
    # Table 4's smallest and largest models; the difference is of the paper's Base.
    Claim("small target: LR beats the loss", ("small target", _LR), ("small target", _LOSS), 0.238),
    Claim("large and longer leaks more, LR", ("large target, longer", _LR), ("small target", _LR),
          0.005),
    Claim("large and longer leaks more, loss", ("large target, longer", _LOSS),
          ("small target", _LOSS), 0.038),
    Claim("a near reference serves better, AUC", ("near reference", _LR), ("far reference", _LR),
          0.017),
    Claim("a near reference serves better, recall", ("near reference", _FOUND),
          ("far reference", _FOUND), 0.077),
    Claim("names make samples leak more, LR", ("members named", _LR), ("samples", _LR), 0.060),
    Claim("names hide samples from the loss", ("samples", _LOSS), ("members named", _LOSS), 0.101),
    Claim("names make notes leak more, LR", ("members named, notes", _LR), ("notes", _LR), 0.008),
    Claim("names make notes leak more, loss", ("members named, notes", _LOSS), ("notes", _LOSS),
          0.038),
    Claim("the same with names on all sides, LR", ("all named", _LR), ("samples", _LR), None),
    Claim("normalised energy serves better, LR", ("normalised energy", _LR), ("samples", _LR),
          0.016),
    Claim("normalised energy serves better, loss", ("normalised energy", _LOSS),
          ("samples", _LOSS), 0.023),
    Claim("punctuation tells more than length", ("non-alphanumeric", "AUC, test"),
          ("length", "AUC, test"), None),
    Claim("punctuation tells more than digits", ("non-alphanumeric", "AUC, test"),
          ("digits", "AUC, test"), None),
    Claim("punctuation tells more than rare tokens", ("non-alphanumeric", "AUC, test"),
          ("rarest tokens", "AUC, test"), None),
    Claim("rare tokens add to punctuation", ("non-alphanumeric, rarest tokens", "AUC, test"),
          ("non-alphanumeric", "AUC, test"), None),
    Claim("length adds to both", ("length, non-alphanumeric, rarest tokens", "AUC, test"),
          ("non-alphanumeric, rarest tokens", "AUC, test"), None),
)  # fmt: skip

CONTROLS = (
    ("reference alone, AUC of samples", ("samples", "AUC, reference alone"), 0.5),
    ("reference alone, AUC of notes", ("notes", "AUC, reference alone"), 0.5),
    ("realised FPR, LR, asked for 10%", ("samples", "FPR, LR, population"), FPR),
    ("realised FPR, loss, asked for 10%", ("samples", "FPR, loss, population"), FPR),
    ("realised FPR, LR, asked for 1%", (AT_LOW_FPR, "FPR, LR, population"), LOW_FPR),
    ("realised FPR, loss, asked for 1%", (AT_LOW_FPR, "FPR, loss, population"), LOW_FPR),
)
"""Numbers with a known value: name, (line, column), and the value that each should have."""

Draws = Mapping[str, Sequence[Measured]]
"""Line to the numbers of each draw."""


def mireshghallah_claims(effort: Effort) -> Table:
    """Return the paper's qualitative claims, each with its measured effect.

    Returns
    -------
    Table
        For every claim the effect, which should be above 0 (a difference of two numbers of the
        same draw, with Student's interval over draws), and the number of draws with a difference
        above 0; then controls beside the values that they should have.
    """
    with model_setting(effort) as setting:
        drawn: dict[str, list[Measured]] = {}
        for done, (line, scores) in enumerate(score_lines(setting, LINES), 1):
            drawn[line.label] = [_with_gain(measure_draw(line.view(draw), FPR)) for draw in scores]
            if line.label == "samples":
                drawn[AT_LOW_FPR] = [_with_gain(measure_draw(draw, LOW_FPR)) for draw in scores]
                # Table 7's rows become lines too, for the claims about features.
                for number, draw in enumerate(scores):
                    for features, numbers in study_features(setting, number, draw).items():
                        drawn.setdefault(", ".join(features), []).append(numbers)
            effort.told(done, len(LINES))
    rows = [_row(claim, drawn) for claim in CLAIMS]
    for label, (name, column), wanted in CONTROLS:
        value = mean_over_draws(label, [draw[column] for draw in drawn[name]])
        known = exact(wanted, 1, "by the design")
        cells = {"value": Cell(None, value), "should be": Cell(None, known)}
        rows.append(Row(f"control: {label}", cells))
    notes = (*notes_on(effort), "Beside each control stands what it should be by the design.")
    title = "Mireshghallah et al. (2022), its claims"
    return Table(NAME, title, tuple(rows), notes)


def _row(claim: Claim, drawn: Draws) -> Row:
    first, second = (
        [draw[column] for draw in drawn[line]] for line, column in (claim.larger, claim.smaller)
    )
    effect = mean_difference(claim.what, first, second)
    told = [
        a.value > b.value
        for a, b in zip(first, second, strict=True)
        if isinstance(a, Estimate) and isinstance(b, Estimate)
    ]
    above: Estimate | Skipped = Skipped(claim.what, "not every draw has both numbers")
    if len(told) == len(first):
        above = exact(float(sum(told)), len(told), "counted")
    cells = {"effect": Cell(claim.published, effect), "draws above 0": Cell(None, above)}
    return Row(claim.what, cells)


def _with_gain(numbers: dict[str, Estimate | Skipped]) -> Measured:
    with_ratio, with_loss = (numbers[f"recall, {name}, population"] for name in ("LR", "loss"))
    assert isinstance(with_ratio, Estimate)
    assert isinstance(with_loss, Estimate)
    # The log of a recall of 0 is infinite.
    if min(with_ratio.value, with_loss.value) <= 0:
        return {**numbers, GAIN: Skipped(GAIN, "no member was found at this threshold")}
    gain = float(np.log(with_ratio.value / with_loss.value))
    return {**numbers, GAIN: exact(gain, with_ratio.n, "of one draw")}
