"""Known columns: those made from a score hide no leak, those behind it accuse nobody."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import privacygauge as pg
from privacygauge.classifiers.known import repeats_a_signal
from privacygauge.core import seeds
from privacygauge.evaluate.fairness import compare
from privacygauge.report.grades import LARGE, NONE, UNTOLD
from tests.thorough import times

QUIET = (NONE.word, UNTOLD.word)

MADE = {
    "twentieths": lambda loss: pd.qcut(loss, 20, labels=False),
    "deciles": lambda loss: pd.qcut(loss, 10, labels=False),
    "bands": lambda loss: np.where(loss < 0.3, "good", np.where(loss < 1, "fair", "poor")),
    "right": lambda loss: np.where(loss < 0.69, "right", "wrong"),
}


def leaky(seed: int, n: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    member = rng.random(n) < 0.5
    return pd.DataFrame({"loss": rng.gamma(1, 1, n) * np.where(member, 0.3, 1), "member": member})


@pytest.mark.parametrize("made", MADE)
def test_a_column_made_from_the_score_hides_no_leak(made):
    for seed in range(times(1)):
        table = leaky(seed)
        column = MADE[made](table.loss)
        for name in ("group", "ward"):
            found = pg.audit_scores(table.assign(**{name: column}), scores=("loss",))
            assert found.report().verdict.grade == LARGE
            assert any(f"the column '{name}' is not used" in x for x in found.origin.warnings)


@pytest.mark.parametrize("name", ["group", "ward", "feature"])
def test_a_noisy_column_of_the_score_never_ends_in_no_leak(name):
    for seed in range(times(1)):
        table = leaky(seed)
        noise = 0.5 * np.random.default_rng(seed).normal(size=len(table))
        table[name] = pd.qcut(np.log(table.loss) + noise, 10, labels=False)
        features = ("feature",) if name == "feature" else ()
        found = pg.audit_scores(table, scores=("loss",), features=features)
        assert found.report().verdict.grade != NONE
        assert found.headline.auc.low > 0.6


@pytest.mark.parametrize(("features", "noise"), [((), 0.5), (("age",), 0.5), (("age",), 0.0)])
def test_a_score_that_follows_from_a_column_is_no_leak_where_the_sides_differ_in_it(
    features, noise
):
    for seed in range(times(1)):
        rng = np.random.default_rng(seed)
        member = rng.random(1_000) < 0.5
        age = rng.normal(size=1_000) + 0.7 * member
        loss = np.exp(age + noise * rng.normal(size=1_000))
        table = {"loss": loss, "age": age, "height": rng.normal(size=1_000), "member": member}
        found = pg.audit_scores(table, scores=("loss",), features=features)
        verdict = found.report().verdict
        assert verdict.grade.word in QUIET
        assert "'age'" in verdict.headline or "different" in found.comparison.state


def test_a_blind_attacker_is_as_good_as_a_threshold_on_the_column_that_is_shifted():
    """Phi(0.5 / sqrt 2) = 0.638 of the pairs are in order by the column alone."""
    areas = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        member = rng.random(600) < 0.5
        x = rng.normal(size=(600, 3))
        x[:, 0] += 0.5 * member
        columns = {f"x{j}": column for j, column in enumerate(x.T)}
        found = compare(columns, member, np.arange(600), seeds.stream(seed, "blind"))
        assert found.state == "matched"
        assert found.differences[0].column == "x0"
        areas.append(found.blind.value)
    assert np.mean(areas) == pytest.approx(0.638, abs=0.03)


def test_a_column_that_is_constant_once_records_are_matched_is_no_fault():
    rng = np.random.default_rng(0)
    member = rng.random(1_000) < 0.5
    site = np.where(member & (rng.random(1_000) < 0.6), "b", "a")
    columns = {"site": site, "x": rng.normal(size=1_000)}
    found = compare(columns, member, np.arange(1_000), seeds.stream(0, "blind"))
    assert found.state in ("matched", "different")


@pytest.mark.slow
def test_equal_sides_are_seldom_matched():
    matched = 0
    games = times(200)
    for seed in range(games):
        rng = np.random.default_rng(seed)
        columns = {f"x{j}": rng.normal(size=400) for j in range(6)}
        member = rng.random(400) < 0.5
        state = compare(columns, member, np.arange(400), seeds.stream(seed, "blind")).state
        matched += state != "fair"
    assert matched <= 0.05 * games + 2 * np.sqrt(0.0475 * games)


@given(st.integers(0, 1_000), st.integers(2, 20), st.sampled_from(["int", "text", "float"]))
def test_bins_of_a_signal_are_seen_whatever_they_are_called(seed, n_bins, kind):
    rng = np.random.default_rng(seed)
    signal = rng.lognormal(size=300)
    bins = np.asarray(pd.qcut(signal, n_bins, labels=False))
    names = rng.permutation(n_bins)[bins] if kind == "text" else bins
    column = {"int": names, "text": np.char.add("g", names.astype(str)), "float": names / 3}[kind]
    assert repeats_a_signal(column, [rng.normal(size=300), signal])
    assert not repeats_a_signal(rng.permutation(column), [signal])


@given(st.integers(0, 1_000))
def test_groups_whose_signals_lie_apart_are_no_bins(seed):
    rng = np.random.default_rng(seed)
    ward = rng.integers(0, 3, 300)
    assert not repeats_a_signal(
        np.char.add("ward ", ward.astype(str)), [9 * ward + rng.random(300)]
    )


@pytest.mark.parametrize("name", ["y_pred", "Predicted"])
def test_what_the_model_answered_is_not_known_beside_the_truth(name):
    """The two tell the residual, so that records alike in both show no leak."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3000, 3))
    y = x[:, 0] + rng.normal(size=3000)
    member = rng.random(3000) < 0.5
    model = KNeighborsRegressor(3).fit(x[member], y[member])
    answers = model.predict(x)
    told = {"residual": np.abs(y - answers), "member": member}
    options = {"scores": "residual", "lower": ("residual",)}
    alone = pg.audit_scores(told, **options)
    beside = pg.audit_scores({**told, "y_true": y, name: answers}, **options)
    found, wanted = (x.headline.reached.accuracy.value for x in (beside, alone))
    assert found > wanted - 0.02


def drifted(
    seed: int,
    n: int = 2_000,
    *,
    noise: int,
    causes: int = 1,
    leak: float = 0.0,
    wards: bool = False,
) -> dict[str, np.ndarray]:
    """Return losses that follow columns in which members lie apart, beside others of noise."""
    rng = np.random.default_rng(seed)
    member = rng.random(n) < 0.5
    table = {"member": member}
    log_loss = 0.3 * rng.normal(size=n) - leak * member
    for number in range(causes):
        drift = rng.normal(size=n) - 0.5 * member
        if wards:
            drift = np.digitize(drift, np.linspace(-1.5, 1.5, 7)).astype(np.float64) / 2
        log_loss += drift
        names = np.array([f"ward {name}" for name in "abcdefgh"])
        table[f"cause {number}"] = names[(2 * drift).astype(int)] if wards else drift
    for number in range(noise):
        table[f"noise {number}"] = rng.normal(size=n)
    return {**table, "loss": np.exp(log_loss)}


def grades_of(games: int, features: tuple[str, ...] = (), **told) -> list[str]:
    audits = (
        pg.audit_scores(
            drifted(seed, **told), scores=("loss",), lower=("loss",), features=features, seed=seed
        )
        for seed in range(3_000, 3_000 + games)
    )
    return [audit.report().verdict.grade.word for audit in audits]


def gap_left(values: np.ndarray, member: np.ndarray, kept: np.ndarray) -> float:
    """Return the gap of the ranks of two sides of kept rows, in standard errors of chance."""
    rank = rankdata(values[kept]) / np.count_nonzero(kept)
    inside = member[kept]
    error = np.sqrt((1 / inside.sum() + 1 / (~inside).sum()) / 12)
    return float((rank[inside].mean() - rank[~inside].mean()) / error)


@pytest.mark.parametrize(("causes", "wards"), [(1, False), (2, False), (1, True)])
def test_what_differs_is_matched_however_many_columns_say_nothing(causes, wards):
    for seed in range(times(4)):
        table = drifted(seed, noise=8, causes=causes, wards=wards)
        member = table.pop("member")
        loss = table.pop("loss")
        found = compare(table, member, np.arange(len(member)), seeds.stream(seed, "blind"))
        assert found.state == "matched"
        # By what the answers follow, of which each cause has a share.
        assert abs(gap_left(loss, member, found.compared)) < 2


@pytest.mark.slow
@pytest.mark.parametrize("noise", [2, 5, 8])
@pytest.mark.parametrize(("causes", "wards"), [(1, False), (2, False), (1, True)])
def test_drift_is_no_leak_beside_columns_that_say_nothing(noise, causes, wards):
    grades = grades_of(times(8), noise=noise, causes=causes, wards=wards)
    assert set(grades) <= set(QUIET)


@pytest.mark.slow
@pytest.mark.parametrize(("noise", "n"), [(5, 2_000), (5, 8_000)])
def test_drift_of_a_column_that_is_said_to_describe_records_is_no_leak(noise, n):
    assert set(grades_of(times(4), ("cause 0",), noise=noise, n=n)) <= set(QUIET)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0, 2, 5, 8])
def test_a_leak_beside_drift_is_found_however_many_columns_say_nothing(noise):
    grades = grades_of(times(8), noise=noise, leak=0.4)
    assert not set(grades) & set(QUIET)


@pytest.mark.parametrize("signal", [np.abs, np.square, np.positive])
@pytest.mark.parametrize("fit", ["Gaussian process", "least squares"])
def test_a_model_that_fits_its_members_exactly_is_a_large_leak(fit, signal):
    """Members' residuals are last bits of numbers: they tell by their size, not their digits."""
    rng = np.random.default_rng(0)
    columns, model = {
        "Gaussian process": (3, GaussianProcessRegressor(optimizer=None)),
        "least squares": (400, LinearRegression()),
    }[fit]
    x = rng.normal(size=(300, columns))
    y = np.round(np.exp(rng.normal(3, 1, 300)), 2)
    member = rng.random(300) < 0.5
    model.fit(x[member], y[member])
    given = pg.audit_regressor(None, x, y, fitted=pg.Fitted(model, member))
    told = {"residual": signal(model.predict(x) - y), "member": member}
    lower = () if signal is np.positive else ("residual",)
    for found in (given, pg.audit_scores(told, lower=lower)):
        assert found.report().verdict.grade == LARGE


EXACT = {
    "loss of 0": (0.0, lambda loss: loss),
    "loss of rounding errors": (1e-15, lambda loss: loss),
    "likelihood of 1": (0.0, lambda loss: np.exp(-loss)),
    "likelihood near 1": (1e-15, lambda loss: np.exp(-loss)),
    "log-likelihood of 0": (0.0, lambda loss: -loss),
    "one number": (0.0, lambda loss: 0.5 * np.exp(-loss)),
}


@pytest.mark.parametrize("answer", EXACT)
def test_exact_answers_about_members_are_a_large_leak(answer):
    rng = np.random.default_rng(0)
    size, of_loss = EXACT[answer]
    member = rng.random(600) < 0.5
    told = {"score": of_loss(rng.exponential(size=600) * np.where(member, size, 1))}
    found = pg.audit_scores({**told, "member": member}, scores=("score",))
    assert found.report().verdict.grade == LARGE


@pytest.mark.parametrize("error", [0.0, 1e-16, 1e-13, 1e-9])
def test_a_classifier_that_is_certain_of_its_members_is_a_large_leak(error):
    rng = np.random.default_rng(0)
    member = rng.random(600) < 0.5
    label = rng.integers(0, 3, 600)
    probs = rng.dirichlet(np.ones(3), 600)
    others = error * rng.random((600, 3))
    others[np.arange(600), label] = 0.0
    certain = others.copy()
    certain[np.arange(600), label] = 1 - others.sum(axis=1)
    probs[member] = certain[member]
    found = pg.audit_classifier({"probs": probs, "labels": label, "member": member})
    assert found.report().verdict.grade == LARGE
