"""Figures 3 to 5 and Table 7 of Mireshghallah et al. (2022): curves, and who is found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import decision
from privacygauge.evaluate.defences import quantile
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
from privacygauge.evaluate.rates import mean
from privacygauge.evaluate.roc import auc, roc
from privacygauge.language.attacks import PopulationThreshold, energy_transcript
from privacygauge.language.features import (
    FeatureFit,
    exposure_features,
    feature_study,
    token_frequency,
)
from privacygauge.language.scores import LIKELIHOOD_RATIO, LOSS, TextScores
from privacygauge.language.tokenizer import read_tokenizer
from privacygauge.reproduce.mireshghallah2022 import BASE, LOW_FPR, notes_on
from privacygauge.reproduce.mireshghallah2022_cells import LEVEL, mean_over_draws, over_draws
from privacygauge.reproduce.mireshghallah2022_setting import ModelSetting, model_setting
from privacygauge.reproduce.table import Cell, Effort, Row, Table

LINEAR = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""False-positive rates of Figure 4."""
LOGARITHMIC = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""False-positive rates of Figure 5, the same curve on a logarithmic axis."""

PUBLISHED = {0.1: (0.156, 0.792), 0.01: (0.011, 0.604)}
"""Points of the paper's curve that Tables 2 and 10 print: loss and likelihood ratio."""

TABLE_7 = {
    ("digits",): (0.0, 0.0, 0.0, 0.0),
    ("length",): (0.0, 0.0, 0.0, 0.0),
    ("non-alphanumeric",): (0.712, 0.466, 0.692, 0.475),
    ("rarest tokens",): (0.689, 0.405, 0.638, 0.392),
    ("non-alphanumeric", "rarest tokens"): (0.739, 0.588, 0.711, 0.578),
    ("length", "non-alphanumeric", "rarest tokens"): (0.743, 0.613, 0.721, 0.613),
    ("digits", "length", "non-alphanumeric", "rarest tokens"): (0.743, 0.613, 0.721, 0.613),
}
"""Features to precision and recall on the rows learnt from, and on the others."""

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""The points of the distributions of Figure 3."""

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
    """Return Figure 3: the distribution of the likelihood ratio and of the loss, by quantiles."""
    with model_setting(effort) as setting:
        drawn = setting.scores(BASE)
    rows = []
    for share in QUANTILES:
        cells = {}
        for name, signal in (("LR", LIKELIHOOD_RATIO), ("loss", LOSS)):
            for side, member in (("members", True), ("non-members", False)):
                values = [_quantile(energy_transcript(x, signal), member, share) for x in drawn]
                cells[f"{name}, {side}"] = Cell(None, _mean_quantile(values))
        rows.append(Row(f"quantile {share:g}", cells))
    effort.told(1, 1)
    title = "Mireshghallah et al. (2022), Figure 3"
    return Table("mireshghallah-fig3", title, tuple(rows), (*notes_on(effort), _HISTOGRAM))


def _quantile(transcript: Transcript, member: bool, share: float) -> Estimate:
    return quantile(transcript.score[transcript.secret == member], share, LEVEL)


def _mean_quantile(draws: Sequence[Estimate]) -> Estimate:
    """Return the mean over draws with Student's interval; that of a single draw is its own."""
    if len(draws) == 1:
        return draws[0]
    return mean(np.array([one.value for one in draws]), LEVEL, unit="draws")


def mireshghallah_fig4(effort: Effort) -> Table:
    """Return Figure 4: true-positive rates over false-positive rates."""
    return _figure("mireshghallah-fig4", "Figure 4", LINEAR, effort)


def mireshghallah_fig5(effort: Effort) -> Table:
    """Return Figure 5: the curve of Figure 4 at low false-positive rates."""
    return _figure("mireshghallah-fig5", "Figure 5", LOGARITHMIC, effort)


def mireshghallah_table7(effort: Effort) -> Table:
    """Return Table 7: what the members have in common that the likelihood ratio finds."""
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
    """Return for every row of Table 7 the numbers of one draw."""
    rows = np.flatnonzero(scores.member)
    transcript = energy_transcript(scores, LIKELIHOOD_RATIO)
    decisions = PopulationThreshold(LOW_FPR).cut(scores, LIKELIHOOD_RATIO).decide(transcript)
    fits = feature_study(
        _columns(setting, draw, scores),
        decisions.guess[transcript.secret],
        scores.unit[rows],
        seeds.stream(setting.seed, "reproduce", "features", draw),
    )
    found: dict[tuple[str, ...], dict[str, Estimate | Skipped]] = {}
    for fit in fits:
        found.setdefault(fit.features, {}).update(_numbers(fit))
    return found


def _columns(setting: ModelSetting, draw: int, scores: TextScores) -> Floats:
    assert scores.text is not None
    text = [scores.text[row] for row in np.flatnonzero(scores.member).tolist()]
    tokenizer = read_tokenizer(setting.target(BASE.target, draw))

    def tokens(texts: Sequence[str]) -> list[list[str]]:
        found = tokenizer.encoded(texts)
        return [[str(token) for token in x.ids[~x.framing]] for x in found]

    return exposure_features(
        text, tokens(text), token_frequency(tokens(setting.members(draw).text))
    )


def _numbers(fit: FeatureFit) -> dict[str, Estimate | Skipped]:
    suffix = "" if fit.weights == "none" else ", balanced"
    found: dict[str, Estimate | Skipped] = {}
    for name, part in (("train", fit.train), ("test", fit.test)):
        guesses = fit.decisions(part)
        found[f"precision, {name}{suffix}"] = decision.sample_precision(guesses, LEVEL)
        found[f"recall, {name}{suffix}"] = decision.recall(guesses, LEVEL)
    return {**found, f"AUC, test{suffix}": auc(fit.test, LEVEL)}


def _figure(name: str, number: str, fprs: Sequence[float], effort: Effort) -> Table:
    with model_setting(effort) as setting:
        drawn = setting.scores(BASE)
    rows = []
    for fpr in fprs:
        published = PUBLISHED.get(fpr, (None, None))
        cells = {
            label: Cell(paper, mean_over_draws(label, [_tpr(draw, signal, fpr) for draw in drawn]))
            for label, signal, paper in zip(
                ("TPR, loss", "TPR, LR"), (LOSS, LIKELIHOOD_RATIO), published, strict=True
            )
        }
        rows.append(Row(f"FPR {fpr:g}", cells))
    effort.told(1, 1)
    return Table(name, f"Mireshghallah et al. (2022), {number}", tuple(rows), notes_on(effort))


def _tpr(scores: TextScores, signal: str, fpr: float) -> Estimate:
    transcript = energy_transcript(scores, signal)
    independent = transcript.independent
    return tpr_at_fpr(roc(transcript), fpr, LEVEL, independent=independent).estimate
