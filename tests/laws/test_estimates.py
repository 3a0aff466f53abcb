"""Every estimate keeps the level that was asked for, and counts what it was estimated from."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Decisions
from privacygauge.evaluate import by_target, decision, defences, rates
from privacygauge.evaluate.by_target import per_target
from privacygauge.evaluate.epsilon import epsilon_lower_bound
from privacygauge.evaluate.rate_at_fpr import tpr_at_fpr
from privacygauge.evaluate.roc import auc, roc
from privacygauge.evaluate.sampled_steps import mu_lower_bound
from tests.laws.draws import SEEDS, both_kinds, decisions, few_values, transcripts
from tests.thorough import times

FEW = settings(max_examples=times(24))
LEVELS = st.sampled_from([0.5, 0.9, 0.99])


def distinct(target) -> int:
    return len(set(target.tolist()))


# What is estimated, beside the rows that it is estimated from: n is the number of their targets.
OF_GUESSES = {
    "balanced accuracy": (decision.balanced_accuracy, lambda d: d.secret | True),
    "advantage": (decision.advantage, lambda d: d.secret | True),
    "recall": (decision.recall, lambda d: d.secret),
    "false-positive rate": (decision.false_positive_rate, lambda d: ~d.secret),
    "precision": (decision.precision, lambda d: d.guess),
    "epsilon": (lambda d, level: epsilon_lower_bound(d, 1e-3, level), lambda d: d.secret | True),
    "mu": (mu_lower_bound, lambda d: d.secret | True),
}


@st.composite
def repeated(draw: st.DrawFn) -> Decisions:
    rng = np.random.default_rng(draw(SEEDS))
    n = draw(st.integers(2, 40))
    return Decisions(
        rng.random(n) < rng.random(), both_kinds(n, rng), rng.integers(max(n // 3, 1), size=n)
    )


@pytest.mark.parametrize("name", OF_GUESSES)
@FEW
@given(st.one_of(decisions(), repeated()), LEVELS)
def test_an_estimate_of_guesses_counts_its_targets(name, guesses, level):
    estimate, rows = OF_GUESSES[name]
    found = estimate(guesses, level)
    if isinstance(found, Skipped):
        assert not rows(guesses).any()
        return
    assert (found.n, found.level) == (distinct(guesses.target[rows(guesses)]), level)


@FEW
@given(decisions(), LEVELS, st.sampled_from([0.01, 0.5, 0.9]))
def test_a_predictive_value_counts_both_sides(guesses, level, prior):
    found = decision.positive_predictive_value(guesses, prior, level)
    if isinstance(found, Estimate):
        assert (found.n, found.level) == (len(guesses), level)
    else:
        assert not guesses.guess.any()


@FEW
@given(st.one_of(transcripts(), transcripts(repeated=True)), LEVELS)
def test_an_area_counts_its_targets(transcript, level):
    found = auc(transcript, level)
    assert (found.n, found.level) == (distinct(transcript.target), level)


@FEW
@given(transcripts(), LEVELS, st.sampled_from([0.01, 0.1, 0.5]))
def test_a_rate_at_a_rate_counts_the_rows_of_each(transcript, level, fpr):
    found = tpr_at_fpr(roc(transcript), fpr, level)
    n_in = transcript.n_in
    n_out = transcript.n_out
    assert (found.estimate.n, found.estimate.level) == (n_in + n_out, level)
    others = (found.at_threshold, found.realised_fpr)
    assert [(x.n, x.level) for x in others] == [(n_in, level), (n_out, level)]


OF_ROWS = {
    "mean": (partial(rates.mean, unit="rows"), 1),
    "quantile": (lambda x, level: defences.quantile(x, 0.3, level), 1),
    "correlation": (lambda x, level: rates.correlation(x, x**2, level), 1),
    "rank correlation": (lambda x, level: rates.rank_correlation(x, x**2, level), 1),
    "difference": (lambda x, level: rates.difference(x > 0, x > 1, level), 2),
    "proportion": (lambda x, level: rates.proportion(x > 0, None, level), 1),
}


@pytest.mark.parametrize("name", OF_ROWS)
@FEW
@given(SEEDS, st.integers(1, 30), LEVELS)
def test_an_estimate_of_values_counts_them(name, seed, n, level):
    estimate, columns = OF_ROWS[name]
    found = estimate(few_values(n, np.random.default_rng(seed)), level)
    if isinstance(found, Estimate):
        assert (found.n, found.level) == (columns * n, level)


@FEW
@given(decisions(), SEEDS, LEVELS)
def test_a_paired_difference_counts_pairs(before, seed, level):
    rng = np.random.default_rng(seed)
    after = Decisions(rng.random(len(before)) < 0.5, before.secret)
    found = defences.accuracy_lost(before, after, level)
    assert (found.n, found.level) == (len(before), level)


@FEW
@given(repeated(), LEVELS)
def test_an_estimate_of_one_record_counts_its_guesses(guesses, level):
    each = per_target(guesses)
    found = each.estimates(level)
    assert [x.n for x in found] == [int((guesses.target == t).sum()) for t in each.target]
    assert {x.level for x in found} == {level}


@FEW
@given(SEEDS, st.integers(1, 3), LEVELS)
def test_a_mean_over_records_counts_releases(seed, n_records, level):
    rng = np.random.default_rng(seed)
    own = np.array([[0.0, 1.0]])
    secret = np.arange(12) < 5
    scores = [
        by_target.TargetScores(own, own > 0, few_values(12, rng), secret, rng.integers(9, size=12))
        for _ in range(n_records)
    ]
    found = by_target.mean_auc_of_records(scores, level)
    releases = set(np.concatenate([s.release for s in scores]).tolist())
    assert (found.n, found.level) == (len(releases), level)
