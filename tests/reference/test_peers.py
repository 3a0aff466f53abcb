"""What other libraries answered to the same inputs, beside ours and the truth by brute force.

Their answers are in ``peers.json``, written by ``bench/correctness.py`` with their versions; no
other library is needed here. A test of one that errs holds PrivacyGauge to the truth, and shows
that what was recorded is not. `docs/correctness.md` tells the same in words.
"""

from __future__ import annotations

import json
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, norm

from privacygauge.claims.claim_audit.audit import audit_privacy_claim
from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.ratios import log_ratio
from privacygauge.classifiers.signals import signals
from privacygauge.core.attacks.lira import LiraOnline, PerRecordVariance, PooledVariance
from privacygauge.core.game import Observation, Scores
from privacygauge.core.release import Worlds
from privacygauge.core.rules import Split
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import decision, rates
from privacygauge.evaluate.epsilon import audit_epsilon, epsilon_lower_bound
from privacygauge.evaluate.one_run import one_run_epsilon, one_run_mu
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
from privacygauge.evaluate.rates import excess
from privacygauge.evaluate.roc import auc, roc
from privacygauge.evaluate.sampled_steps import gaussian_epsilon
from privacygauge.scores.share import share_of_losses
from privacygauge.scores.signals import over_range, series
from tests.reference import made_inputs
from tests.thorough import times

EXACT = 1e-9
"""Ten digits are recorded."""
Z = norm.ppf(0.975)


@cache
def recorded() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("peers.json").read_text(encoding="utf-8"))


def rankings() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    published = made_inputs.location30()
    return made_inputs.rankings() | ({} if published is None else {"location30": published})


def area(score: np.ndarray, member: np.ndarray) -> float:
    """Return the area under the ROC curve by all pairs."""
    a = score[member][:, None]
    b = score[~member][None]
    return float(np.mean((a > b) + (a == b) / 2))


def points(score: np.ndarray, member: np.ndarray) -> list[tuple[float, float]]:
    """Return (FPR, TPR) of every threshold, the one above all scores included."""
    cuts = [np.inf, *np.unique(score)]
    return [((score[~member] >= t).mean(), (score[member] >= t).mean()) for t in cuts]


def best_rate(score: np.ndarray, member: np.ndarray, fpr: float) -> float:
    """Return the largest TPR of a threshold whose FPR is at most that."""
    return max(tpr for false, tpr in points(score, member) if false <= fpr + 1e-12)


every_ranking = pytest.mark.parametrize("name", rankings())


@every_ranking
def test_all_agree_on_the_area_with_ties(name):
    score, member = rankings()[name]
    truth = area(score, member)
    assert auc(Transcript(score, member)).value == pytest.approx(truth, abs=1e-12)
    for peer in ("tensorflow-privacy", "sacroml"):
        assert recorded()[f"rankings by {peer}"][name]["auc"] == pytest.approx(truth, abs=1e-8)


@every_ranking
def test_our_rate_at_a_rate_is_that_of_the_best_threshold(name):
    score, member = rankings()[name]
    curve = roc(Transcript(score, member))
    for fpr in made_inputs.FPRS:
        found = tpr_at_fpr(curve, fpr).estimate.value
        assert found == pytest.approx(best_rate(score, member, fpr), abs=1e-12)


def test_a_curve_without_its_collinear_points_loses_rates():
    """ART looks the rate up on scikit-learn's curve, which leaves points on a line out."""
    score, member = made_inputs.rankings()["pairs"]
    found = recorded()["rankings by art"]["pairs"]["tpr"]
    truth = [best_rate(score, member, fpr) for fpr in made_inputs.FPRS]
    assert truth == pytest.approx([0, 4 / 99, 9 / 99, 24 / 99])
    assert found == pytest.approx([0, 1 / 99, 1 / 99, 1 / 99], abs=EXACT)
    for other in rankings().keys() - {"pairs", "constant"}:  # no three points lie on a line there
        score, member = rankings()[other]
        truth = [best_rate(score, member, fpr) for fpr in made_inputs.FPRS]
        assert recorded()["rankings by art"][other]["tpr"] == pytest.approx(truth, abs=EXACT)


def test_an_interpolated_rate_is_no_thresholds():
    """sacroml draws lines between thresholds: whoever breaks ties by coins gets there, on average.

    Below the first threshold its line goes to infinity, and it gives 0 where coins give 4%.
    """
    score, member = made_inputs.rankings()["rounded"]
    found = recorded()["rankings by sacroml"]["rounded"]["tpr"]
    lines = np.interp(made_inputs.FPRS, *np.transpose(sorted(points(score, member))))
    assert found[1:] == pytest.approx(lines[1:], abs=EXACT)
    assert lines[0] == pytest.approx(0.04)
    assert found[0] == 0.0
    truth = [best_rate(score, member, fpr) for fpr in made_inputs.FPRS]
    assert truth == pytest.approx([0, 0.06, 0.32, 0.32])
    curve = roc(Transcript(score, member))
    for fpr, line in zip(made_inputs.FPRS, lines, strict=True):
        ours = tpr_at_fpr(curve, fpr).estimate
        assert ours.low <= line <= ours.high


def test_the_largest_advantage_in_hindsight_is_never_nothing():
    """tensorflow-privacy takes the best threshold, in either direction, of the judged rows."""
    scores, members = made_inputs.noise()
    found = np.array(recorded()["noise by tensorflow-privacy"]["advantage"])
    for score, member, value in zip(scores[:20], members[:20], found[:20], strict=True):
        largest = max(abs(tpr - fpr) for fpr, tpr in points(score, member))
        assert value == pytest.approx(largest, abs=EXACT)
    assert found.min() > 0.04
    assert 0.07 < found.mean() < 0.10
    games = list(zip(scores, members, strict=True))[: times(len(scores))]
    ours = [decision.advantage(Split().decide(Transcript(*game))).value for game in games]
    error = np.std(ours) / np.sqrt(len(ours))
    assert abs(np.mean(ours)) < 3 * error < 0.02


def test_epsilon_of_noise_is_zero():
    """The truth is 0: a bound at 95% may exceed it in one game of twenty.

    tensorflow-privacy's is the largest over all thresholds of the judged rows: above 0 in 175 of
    200 games. Ours may be in as many as a rate of 5% exceeds with a probability of 1%.
    """
    theirs = np.array(recorded()["noise by tensorflow-privacy"]["epsilon"]["bailey"])
    assert len(theirs) == made_inputs.GAMES
    assert (theirs > 0).sum() == 175
    assert theirs.max() > 1.4
    n = times(made_inputs.GAMES)
    allowed = binom.isf(0.01, n, 0.05)
    games = [Transcript(*game) for game in zip(*made_inputs.noise(), strict=True)][:n]
    assert sum(audit_epsilon([game])[0].low > 0 for game in games) <= allowed
    assert sum(epsilon_lower_bound(Split().decide(game)).low > 0 for game in games) <= allowed


@pytest.mark.slow
@pytest.mark.parametrize("name", made_inputs.canaries())
def test_bounds_of_one_run_are_higher_than_those_of_jax_privacy(name):
    """Both are for one training with fair coins, at 95%, on the same canaries."""
    theirs = recorded()["one run by jax-privacy"][name]
    scores, members, delta, truth = made_inputs.canaries()[name]
    n = len(scores)
    ours: dict[str, list[float]] = {"free": [], "gaussian": []}
    for score, member in zip(scores, members, strict=True):
        found = audit_privacy_claim({"score": score, "member": member}, 1.0, delta)
        free, *gaussian = (bound.estimate.low for bound in found.bounds)
        ours["free"].append(free)
        ours["gaussian"] += gaussian  # none where the scores contradict the assumption
    # Randomised response is not Gaussian: bounds that take it for that are above the truth.
    of_all = [kind for kind, bounds in ours.items() if len(bounds) == n]
    assert "free" in of_all
    for kind in ("free",) if name.startswith("randomised") else of_all:
        best = max(np.mean(theirs[f"{kind}, {rule}"]) for rule in ("bonferroni", "split"))
        assert np.mean(ours[kind]) > best
        assert np.sum(np.array(ours[kind]) > truth) <= binom.isf(0.001, n, 0.05)


def test_bounds_of_right_guesses_are_those_of_other_libraries():
    """One number of guesses, fixed in advance: jax-privacy's bounds to 1e-5, PrivacyGuard's to its
    grid of noises, 0.01."""
    delta = made_inputs.GUESSES_DELTA
    jax = recorded()["right guesses by jax-privacy"]
    meta = recorded()["right guesses by PrivacyGuard"]
    for place, (m, r, v) in enumerate(made_inputs.GUESSES):
        mu = one_run_mu(m, r, v)
        assert gaussian_epsilon(mu, delta) == pytest.approx(jax["gaussian"][place], abs=1e-3)
        # It says the noise above the last one that is refuted: never more than ours.
        least = gaussian_epsilon(1 / (1 / mu + 0.01), delta)
        assert least - 0.002 <= meta["gaussian"][place] <= gaussian_epsilon(mu, delta) + 0.002
        # Ours takes the better of two inequalities, theirs is Steinke's.
        ours = float(one_run_epsilon(m, r, n_right=v, delta=delta))
        assert jax["free"][place] - 1e-5 <= ours <= jax["free"][place] + 0.03
    # Chosen in hindsight, but two-sided limits of each rate: within the level on pure noise.
    noise = np.array(meta["noise"])
    assert np.count_nonzero(noise > 0) <= binom.isf(0.001, len(noise), 0.05)


def modified_entropy(p: np.ndarray, label: int) -> float:
    """Return equation 8 of Song & Mittal (2021) for one record, negated."""
    others = [q * np.log(1 - q) for i, q in enumerate(p) if i != label]
    return float((1 - p[label]) * np.log(p[label]) + sum(others))


def test_modified_entropy_of_logits_that_sum_to_one():
    """tensorflow-privacy takes logits whose rows sum to 1 for probabilities; nothing warns."""
    probs, labels = made_inputs.predictions()
    member = np.arange(60) < 30
    truth = np.array([modified_entropy(p, label) for p, label in zip(probs, labels, strict=True)])
    logits = made_inputs.shifted(probs)
    for given in ({"probs": probs}, {"logits": np.log(probs)}, {"logits": logits}):
        found = signals(predictions(**given, labels=labels, member=member))["modified-entropy"]
        assert found == pytest.approx(truth, abs=1e-12)
    theirs = recorded()["entropy by tensorflow-privacy"]
    assert theirs["logits"] == pytest.approx(truth, abs=EXACT)
    wrong = np.array(theirs["shifted"])
    assert np.abs(wrong - truth).max() > 100
    assert area(truth, member) == pytest.approx(0.8922, abs=1e-4)
    assert area(wrong, member) == pytest.approx(0.4233, abs=1e-4)
    assert isinstance(theirs["probs"], str)  # it fails on probabilities


def test_the_rule_of_correct_predictions():
    """ART's probabilities of this rule are the same for every record, its labels are right."""
    probs, labels, member = made_inputs.two_classes()
    truth = area((probs.argmax(axis=1) == labels).astype(float), member)
    correct = signals(predictions(probs=probs, labels=labels, member=member))["correctness"]
    assert auc(Transcript(correct, member)).value == pytest.approx(truth, abs=1e-12)
    theirs = recorded()["gap by art"]
    assert theirs["labels"] == pytest.approx(truth, abs=EXACT)
    assert theirs["distinct rows"] == 1
    assert theirs["probabilities"] == 0.5
    assert truth > 0.6


def test_pointwise_privacy_is_asked_at_the_record_itself():
    """Long et al. (2017), definition 4.3: PDTP of a record is the change at that record.

    ART takes the largest change over all records, of probabilities in bins of 1%: DTP over the
    training set. It names another record as the riskiest one.
    """
    from sklearn.naive_bayes import CategoricalNB

    x, y = made_inputs.records()
    rows = np.arange(len(y))
    told = np.empty((len(y) + 1, len(y), 2))
    for left in (*rows, -1):
        model = CategoricalNB(alpha=1.0, min_categories=list(made_inputs.SIZES))
        told[left] = model.fit(x[rows != left], y[rows != left]).predict_proba(x)
    change = np.abs(np.log(told[:-1]) - np.log(told[-1])).max(axis=2)  # (left out, asked)
    fitted = NaiveBayes(made_inputs.SIZES, alpha=1.0).fit(x, y, n_classes=2)
    ours = log_ratio(fitted.log_p(x), fitted.log_p_without(rows))
    assert ours == pytest.approx(change[rows, rows], abs=1e-10)
    binned = np.log(np.floor(told * 100) + 0.5)
    largest = np.abs(binned[:-1] - binned[-1]).max(axis=(1, 2))
    theirs = np.log(recorded()["PDTP by art"]["pdtp"])
    assert theirs == pytest.approx(largest, abs=1e-8)
    assert theirs.argmax() != ours.argmax()
    assert (theirs / ours).max() > 1.5


def test_likelihood_ratios_from_unbiased_variances():
    """sacroml divides sums of squares by n; ours by n - 1, as the variance of a normal sample."""
    logits, inside, target = made_inputs.worlds()

    def ratios(ddof: int) -> list[float]:
        found = []
        for i, value in enumerate(target):
            sides = logits[inside[:, i], i], logits[~inside[:, i], i]
            near, far = (norm.logpdf(value, s.mean(), s.std(ddof=ddof)) for s in sides)
            found.append(near - far)
        return found

    observation = Observation({}, np.zeros(30, np.int64), None, Worlds(target, logits, inside))
    ours = LiraOnline(PerRecordVariance()).score(observation, np.random.default_rng(0))
    assert isinstance(ours, Scores)
    assert ours.value == pytest.approx(ratios(1), abs=1e-10)
    theirs = recorded()["LiRA by sacroml"]["online-carlini"]
    assert theirs == pytest.approx(ratios(0), abs=1e-8)
    member = np.arange(30) < 15
    assert area(np.array(theirs), member) == area(ours.value, member)


def test_a_risk_of_a_copied_table():
    """Of 100 attempts 100 succeed, and 1 of the control: the shares are 1 and 0.01.

    Anonymeter gives the middle of Wilson's interval in place of the share: 0.98 for 100 of 100
    and 0.02 for 0 of 100. Both intervals hold the share.
    """
    tables = made_inputs.tables()
    hits = (
        joined(tables["real"], tables["synthetic"]),
        joined(tables["holdout"], tables["synthetic"]),
    )
    assert [hit.sum() for hit in hits] == [100, 1]
    theirs = recorded()["released by anonymeter"]["linkability"]
    middles = [(hit.sum() + Z**2 / 2) / (100 + Z**2) for hit in hits]
    assert [theirs["attack"][0], theirs["control"][0]] == pytest.approx(middles, abs=1e-8)
    attack, control = middles
    assert theirs["risk"][0] == pytest.approx((attack - control) / (1 - control), abs=1e-8)
    assert rates.proportion(hits[0]).value == 1.0
    ours = excess(*hits)
    assert ours.value == 1.0
    assert ours.low <= theirs["risk"][0] <= ours.high
    assert theirs["risk"][1] <= ours.value <= theirs["risk"][2] + EXACT


def joined(people: np.ndarray, synthetic: np.ndarray) -> np.ndarray:
    """Return whose two halves are nearest to the same synthetic record."""
    width = np.ptp(synthetic, axis=0)
    nearest = []
    for columns in ([0, 2, 4], [1, 3, 5]):
        apart = np.abs(people[:, None, columns] - synthetic[None][:, :, columns]) / width[columns]
        nearest.append(apart.sum(axis=2).argmin(axis=1))
    return nearest[0] == nearest[1]


def test_shares_of_use():
    """Privacy Meter gives a number; here it has an interval, which holds the share."""
    made = made_inputs.usage()
    theirs = np.array(recorded()["use by Privacy Meter"]["shares"])
    truth = np.repeat(made_inputs.SHARES, made_inputs.USAGE_GAMES)
    found = []
    for game in range(len(truth)):
        # The model with which Privacy Meter tunes is left out.
        losses = -np.log(np.delete(made["signals"][game], 1, axis=0))
        others = -np.log(np.delete(made["population"][game], 1, axis=0))
        inside = made["members"][game][2:]
        found.append(
            share_of_losses(
                np.r_[losses[0], others[0]],
                np.c_[losses[1:], others[1:]],
                np.c_[inside, np.zeros(others[1:].shape, np.bool_)],
                np.arange(360) >= 180,
            ).share
        )
    held = [one.low <= share <= one.high for one, share in zip(found, truth, strict=True)]
    assert sum(held) >= 17
    ours = np.array([one.value for one in found])
    errors = [np.abs(x - truth).mean() for x in (ours, np.clip(theirs, 0, 1))]
    assert max(errors) < 0.2
    assert np.corrcoef(ours, theirs)[0, 1] > 0.7


def test_a_trimmed_mean_of_scores_in_a_range():
    """Privacy Meter cuts (1 - 0.9) * 10 down to 0 scores, whose mean is not a number."""
    scores = made_inputs.usage()["scores"]
    theirs = recorded()["use by Privacy Meter"]["trimmed"]
    assert np.isnan(theirs[-1]).all()
    for trim, expected in zip(made_inputs.TRIMS, theirs, strict=True):
        columns = iter(-scores.T)
        asked = over_range(lambda model, drawn: drawn, lambda rng, c=columns: next(c),
                           samples=10, trim=trim)  # fmt: skip
        ours = -np.asarray(asked(None, None))
        kept = max(1, round(10 * (1 - trim)))
        assert ours == pytest.approx(np.sort(scores)[:, -kept:].mean(axis=1), abs=EXACT)
        if trim == 0.75:
            # Of 2.5 scores Privacy Meter keeps 2, and so does rounding to even.
            assert kept == 2
        if trim < 0.9:
            assert ours == pytest.approx(expected, abs=EXACT)


def test_signals_of_forecasts():
    """LeakPro's seasonality is the mean squared error by another name: Parseval's theorem."""
    made = made_inputs.forecasts()
    true, said, members = made["true"], made["said"], made["members"]
    ours = series(true, said[0])
    theirs = {name: np.array(x) for name, x in recorded()["series by LeakPro"].items()}
    assert theirs["MSE"] == pytest.approx(ours["mse"], abs=EXACT)
    assert theirs["MAE"] == pytest.approx(ours["mae"], abs=EXACT)
    assert 2 * theirs["SMAPE"] == pytest.approx(ours["smape"], abs=EXACT)
    size = true.shape[1] * true.shape[2]
    assert theirs["Seasonality"] == pytest.approx(size * np.sqrt(ours["mse"]), abs=1e-8)
    mse = np.mean((said - true) ** 2, axis=(2, 3)).T
    ratio = np.zeros(len(true))
    for sign, side in ((1, members[:, 1:]), (-1, ~members[:, 1:])):
        # One spread of all records, hard and easy.
        spread = mse[:, 1:][side].std()
        for row, models in enumerate(side):
            ratio[row] += sign * norm.logpdf(mse[row, 0], mse[row, 1:][models].mean(), spread)
    assert theirs["LiRA"] == pytest.approx(ratio, abs=1e-8)
    worlds = Worlds(-mse[:, 0], -mse[:, 1:].T, members[:, 1:].T)
    observation = Observation({}, np.zeros(len(true), np.int64), None, worlds)
    found = LiraOnline(PooledVariance()).score(observation, np.random.default_rng(0))
    assert isinstance(found, Scores)
    areas = [area(x, members[:, 0]) for x in (found.value, theirs["LiRA"])]
    assert areas == pytest.approx([0.9363, 0.9375], abs=1e-4)


@pytest.mark.slow
@pytest.mark.torch
def test_pseudo_log_likelihoods(tmp_path):
    """minicons and PrivacyGauge mask the same tokens: to 1e-5, float32 in other batches."""
    pytest.importorskip("transformers")
    from privacygauge.language.energies import MaskPlan
    from privacygauge.language.likelihoods import token_log_probabilities
    from privacygauge.language.model import load_masked

    made_inputs.save_model(tmp_path)
    found = token_log_probabilities(load_masked(tmp_path), made_inputs.texts(), MaskPlan("single"))
    theirs = recorded()["energies by minicons"]["mean"]
    assert -found.mean() == pytest.approx(theirs, abs=1e-5)


@pytest.mark.slow
@pytest.mark.torch
def test_signals_of_causal_models(tmp_path):
    """minicons, mimir and PrivacyGauge ask the same model: to 1e-5 of each, float32."""
    pytest.importorskip("transformers")
    from privacygauge.language.likelihoods import conditional_log_probabilities, recall_signal

    models, pair, found = causal_signals(tmp_path)
    texts = made_inputs.long_texts()
    after = conditional_log_probabilities(models[0], texts, made_inputs.prefix())
    assert found["loss"] == pytest.approx(recorded()["next tokens by minicons"]["mean"], rel=1e-5)
    theirs = dict(recorded()["signals by mimir"])
    # mimir takes in the first token of a text after the prefix, and not without one; here the
    # same tokens count in both.
    first = first_after(models[0], made_inputs.prefix(), texts)
    size = np.bincount(after.text)
    with_first = (after.mean() * size - first) / (size + 1) / pair.target.mean()
    assert -with_first == pytest.approx(theirs.pop("recall"), rel=2e-5)
    assert recall_signal(pair.target, after) != pytest.approx(with_first, rel=1e-3)
    assert set(theirs) == {"loss", "zlib", "min-k", "min-k++", "likelihood-ratio"}
    for name, scores in theirs.items():
        assert -found[name] == pytest.approx(scores, rel=2e-5, abs=2e-6), name


def causal_signals(place):
    """Return two causal models, what they say of the long texts, and the signals of it."""
    from privacygauge.language.likelihoods import pair_log_probabilities
    from privacygauge.language.model import load_causal
    from privacygauge.language.token_signals import SideTokens, ratio_signal, signals_alone

    models = []
    for seed, name in enumerate(("target", "other")):
        (place / name).mkdir()
        made_inputs.save_causal(place / name, seed)
        models.append(load_causal(place / name))
    texts = made_inputs.long_texts()
    pair = pair_log_probabilities(*models, texts)
    side = SideTokens(texts, pair.target, pair.reference)
    ratio = ratio_signal(pair.target, pair.reference)
    alone = {"loss": -pair.target.mean(), "likelihood-ratio": ratio}
    return models, pair, {**alone, **signals_alone(side)}


@pytest.mark.slow
@pytest.mark.torch
def test_signals_of_repositories_that_are_no_packages(tmp_path):
    """OpenUnlearning and LLM-PBE ask the same model: where the formula is one, to 2e-5 of each."""
    pytest.importorskip("transformers")
    from privacygauge.language.token_signals import min_k_signal

    _, pair, found = causal_signals(tmp_path)
    texts = made_inputs.long_texts()
    theirs = dict(recorded()["signals by OpenUnlearning"])
    # It compresses the text that its labels hold, which begins with the second token.
    less = [len(zlib.compress(text.partition(" ")[2].encode())) for text in texts]
    assert theirs.pop("zlib") == pytest.approx(-found["loss"] / less, rel=2e-5)
    assert set(theirs) == {"loss", "min-k", "min-k++", "likelihood-ratio"}
    for name, scores in theirs.items():
        assert -found[name] == pytest.approx(scores, rel=2e-5, abs=2e-6), name
    theirs = dict(recorded()["signals by LLM-PBE"])
    # The perplexity, not its logarithm, over the compressed length in bits.
    bits = [8 * len(zlib.compress(text.encode())) for text in texts]
    assert theirs.pop("zlib") == pytest.approx(np.exp(-found["loss"]) / bits, rel=2e-4)
    # A tenth of the tokens, which is none of fewer than ten.
    few = pair.target.lengths - 1 < 10
    least = np.array(theirs.pop("min-k"), float)
    assert np.isnan(least).tolist() == few.tolist()
    assert -min_k_signal(pair.target, 0.1)[~few] == pytest.approx(least[~few], rel=2e-5)
    assert set(theirs) == {"loss", "likelihood-ratio"}
    for name, scores in theirs.items():
        assert -found[name] == pytest.approx(scores, rel=2e-5, abs=2e-6), name


@pytest.mark.slow
@pytest.mark.torch
def test_extraction_by_probabilities(tmp_path):
    """PrivacyGuard asks how likely the same words are written: to 2e-4 of each, float32."""
    pytest.importorskip("transformers")
    from privacygauge.language.extraction import suffix_likelihoods, suffixes_of, tries_needed
    from privacygauge.language.model import load_causal
    from privacygauge.language.model_options import Writing

    made_inputs.save_causal(tmp_path, 0)
    model = load_causal(tmp_path)
    asked = made_inputs.WRITING
    how = Writing(**{name: asked[name] for name in ("prefix", "suffix", "temperature", "top_k")})
    [suffixes], _ = suffixes_of(made_inputs.long_texts(), [model], how)
    assert (suffixes.n_prefix == asked["prefix"]).all()
    found = suffix_likelihoods(model, suffixes, how)
    theirs = recorded()["extraction by PrivacyGuard"]
    assert np.exp(found.log_probability) == pytest.approx(theirs["probability"], rel=2e-4)
    assert np.isneginf(found.log_probability).any()
    assert found.log_probability.max() > -15
    for n in asked["tries"]:
        within = np.array(theirs[f"within {n}"])
        exact = -np.expm1(n * np.log1p(-np.exp(found.log_probability)))
        assert exact == pytest.approx(within, rel=2e-4, abs=1e-10)
        for row in np.flatnonzero(within > 1e-6):
            needed = tries_needed(found.log_probability[[row]], float(exact[row]) * (1 - 1e-9))
            assert needed == n


def first_after(model, prefix, texts):
    """Return the log-probability of the first token of every text after the prefix, (n,)."""
    import torch

    before = [x for one in model.tokenizer.encoded(prefix) for x in one.ids.tolist()]
    with torch.no_grad():
        logs = model.module(input_ids=torch.tensor([before])).logits[0, -1].log_softmax(-1)
    return np.array([logs[one.ids[0]].item() for one in model.tokenizer.encoded(texts)])


def test_every_peer_answered():
    failed = {name: found["error"] for name, found in recorded().items() if "error" in found}
    assert failed == {}
