"""Known columns: those made from a score hide no leak, those behind it accuse nobody."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
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
