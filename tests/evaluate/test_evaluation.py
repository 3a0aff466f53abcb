from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privacygauge.core.rules import Cut
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import decision, epsilon, rate_at_fpr, roc
from privacygauge.evaluate.evaluation import Evaluation, best_accuracy, evaluate
from tests.laws.draws import transcripts
from tests.laws.numbers import numbers


@given(transcripts(), st.sampled_from([0.5, 0.95]))
def test_every_number_is_that_of_its_own_function(transcript: Transcript, level: float) -> None:
    guesses = Cut(0.0, "given").decide(transcript)
    found = evaluate("loss", transcript, guesses, level, notes=("n",))
    curve = roc.roc(transcript)
    expected = Evaluation(
        "loss", "", "none", "threshold given",
        guesses.n_in, guesses.n_out, guesses.true_positives, guesses.false_positives,
        decision.balanced_accuracy(guesses, level),
        decision.advantage(guesses, level),
        decision.precision(guesses, level),
        decision.recall(guesses, level),
        decision.false_positive_rate(guesses, level),
        decision.predictive_values(guesses, level=level),
        epsilon.epsilon_lower_bound(guesses, level=level),
        roc.auc(transcript, level),
        rate_at_fpr.tprs_at_fprs(curve, level=level),
        best_accuracy(curve, level),
        curve,
        ("n",),
    )  # fmt: skip
    assert numbers(found) == numbers(expected)
    assert (found.name, found.rule, found.notes) == ("loss", "threshold given", ("n",))


@given(transcripts(), st.sampled_from([0.5, 0.95]))
def test_the_best_accuracy_is_the_best_of_all_thresholds(
    transcript: Transcript, level: float
) -> None:
    inside = transcript.score[transcript.secret]
    outside = transcript.score[~transcript.secret]
    cuts = [np.inf, *transcript.score]
    best = max((np.mean(inside >= c) + np.mean(outside < c)) / 2 for c in cuts)
    found = best_accuracy(roc.roc(transcript), level)
    assert found.value == pytest.approx(best)
    # Each side's distribution function is within this distance of its truth.
    error = (1 - level) / 2
    half = sum(np.sqrt(np.log(2 / error) / (2 * len(side))) for side in (inside, outside)) / 2
    assert found.low == pytest.approx(max(0.5, best - half))
    assert found.high == pytest.approx(min(1.0, best + half))


def test_in_hindsight_noise_looks_better_than_chance_and_the_interval_knows() -> None:
    rng = np.random.default_rng(0)
    secret = np.arange(200) < 100
    found = [best_accuracy(roc.roc(Transcript(rng.normal(size=200), secret))) for _ in range(200)]
    assert np.mean([f.value for f in found]) > 0.53
    held = sum(not f.excludes(0.5) for f in found)
    assert held >= stats.binom.ppf(1e-4, 200, 0.95)


def test_a_title_names_variant_and_thresholds() -> None:
    transcript = Transcript([1.0, 0.0], [1, 0])
    guesses = Cut(0.5).decide(transcript)

    def title(**options: str) -> str:
        return evaluate("loss", transcript, guesses, **options).title

    assert title() == "loss"
    assert title(thresholds="per-class") == "loss (per-class)"
    assert title(variant="online", thresholds="none") == "loss (online)"
    assert title(variant="online", thresholds="global") == "loss (online, global)"
