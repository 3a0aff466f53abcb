"""Audits of what is trained and asked by functions: every family on one door, and labels."""

from __future__ import annotations

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.scores.share import share_of_losses
from tests.scores.families import FAMILIES
from tests.thorough import quarter

QUIET = (NONE.word, UNTOLD.word)


def grade(audit: pg.ScoreAudit) -> str:
    return audit.report().verdict.grade.word


def audit_of(family, **given):
    return pg.audit_training(
        family.train, family.loss, family.n, **{"n_shadows": 6, **family.options, **given}
    )


def nearest(n: int = 120) -> tuple:
    x = np.random.default_rng(0).normal(size=(n, 4))
    return (
        lambda rows, seed: x[rows],
        lambda known, rows: np.abs(x[rows, None] - known[None]).sum(axis=2).min(axis=1),
    )


@pytest.mark.slow
def test_one_door_finds_a_leak_and_none_where_models_ignore_their_records():
    train, loss = nearest()
    found = pg.audit_training(train, loss, 120, n_shadows=4)
    assert grade(found) == "large"
    x = np.random.default_rng(1).normal(size=120)
    safe = pg.audit_training(lambda rows, seed: 0, lambda model, rows: x[rows], 120, n_shadows=4)
    assert grade(safe) in QUIET


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_leaks_of_every_family_are_found_and_null_games_are_quiet(name):
    games = quarter(40)
    found, leaks = (
        sum(grade(audit_of(FAMILIES[name](seed, leaks), seed=seed)) not in QUIET
            for seed in range(games))
        for leaks in (True, False)
    )  # fmt: skip
    # The overfitted Cox model leaks least.
    assert found >= (0.2 if name == "survivors" else 0.9) * games
    assert leaks <= 0.05 * games + 2 * np.sqrt(0.0475 * games)


def test_a_fitted_model_is_asked_and_people_share_their_coins():
    train, loss = nearest()
    owner = np.repeat(np.arange(40), 3)
    member = (owner % 2).astype(bool)
    fitted = pg.Fitted(train(np.flatnonzero(member), 0), member)
    alone = pg.audit_training(None, loss, 120, fitted=fitted, unit=owner, attacks=("loss",))
    assert (alone.records.member == member).all()
    assert grade(alone) == "large"
    taught = []

    def watched(rows, seed):
        taught.append(rows)
        return train(rows, seed)

    pg.audit_training(watched, loss, 120, unit=owner, n_shadows=3, attacks=("loss",))
    assert len(taught) == 4
    for rows in taught:
        assert (np.bincount(owner[rows], minlength=40) % 3 == 0).all()


def test_columns_are_groups_and_features():
    train, loss = nearest()
    columns = {"ward": np.arange(120) % 3, "age": np.random.default_rng(2).normal(size=120)}
    found = pg.audit_training(
        train, loss, 120, columns=columns, group="ward", features=("age",), n_shadows=2,
        attacks=("loss", "quantile-regression of loss"),
    )  # fmt: skip
    titles = [one.title for one in found.evaluations]
    assert titles[0] == "loss (per-class)"
    assert any(title.startswith("quantile-regression") for title in titles)


def test_an_interrupted_run_goes_on(tmp_path):
    train, loss = nearest()
    options = {"n_shadows": 2, "attacks": ("loss",)}
    first = pg.audit_training(train, loss, 120, run=tmp_path / "run", **options)

    def broken(rows, seed):
        raise AssertionError("trained again")

    again = pg.audit_training(train, loss, 120, run=tmp_path / "run", **options)
    assert again.evaluations[0].auc == first.evaluations[0].auc
    with pytest.raises(pg.InputError):
        pg.audit_training(broken, loss, 120, run=tmp_path / "run", **options)


X = np.arange(20.0)
WRONG = {
    "no train": ({"train": None}, "give a function that trains"),
    "train": ({"train": 3}, "train must be a function, got int"),
    "loss": ({"loss": 3}, "loss must be a function, got int"),
    "shape": ({"loss": lambda m, r: X[:3]}, "a number for each of 20 records as 'loss'"),
    "names": ({"lower": ("a",), "loss": lambda m, r: {"b": X}}, "returned no 'a'; it returned: b"),
    "mapping": ({"lower": ("a", "b")}, "must return a mapping of a, b"),
    "nan": ({"loss": lambda m, r: X / 0}, "finite numbers"),
    "fails": ({"loss": lambda m, r: m[99]}, "failed on 20 records"),
    "columns": ({"columns": {"loss": X}}, "columns must not hold 'loss'"),
    "few": ({"n": 2}, "n must be at least 4"),
}


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_input_ends_in_one_line(fault):
    change, told = WRONG[fault]
    given = {"train": lambda r, s: X, "loss": lambda m, r: X, "n": 20, "n_shadows": 2, **change}
    train, loss, n = (given.pop(key) for key in ("train", "loss", "n"))
    with pytest.raises(pg.InputError, match=told) as caught:
        pg.audit_training(train, loss, n, **given)
    assert "\n" not in str(caught.value)


def randomised(epsilon: float):
    """Return training that publishes labels after randomised response, and the 0/1 loss."""
    kept = np.exp(epsilon) / (1 + np.exp(epsilon))

    def train(labels, seed):
        rng = np.random.default_rng([seed, 5])
        return np.where(rng.random(len(labels)) < kept, labels, 1 - labels)

    return train, lambda said, labels: (said != labels).astype(float)


def label_bound(epsilon: float, seed: int, n: int = 600) -> float:
    y = np.random.default_rng(seed).integers(2, size=n)
    found = pg.audit_labels(
        *randomised(epsilon), y, n_shadows=0, share=1.0, seed=seed,
        attacks=("margin of the true label",),
    )  # fmt: skip
    return found.headline.epsilon.low


def test_the_bound_on_label_privacy_is_near_the_truth_and_not_above():
    assert 2.0 < label_bound(3.0, seed=0) <= 3.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 3.0])
def test_the_bound_on_label_privacy_is_seldom_above_the_truth(epsilon):
    games = quarter(80)
    above = sum(label_bound(epsilon, seed) > epsilon for seed in range(games))
    assert above <= 0.05 * games + 2 * np.sqrt(0.0475 * games)


def test_labels_of_a_model_that_knows_them_are_found_and_others_are_not_judged():
    rng = np.random.default_rng(3)
    y = rng.normal(size=200)  # numbers are labels, too
    false = y.copy()
    false[:150] = rng.permutation(y[:150])
    found = pg.audit_labels(
        lambda labels, seed: labels, lambda known, labels: np.abs(known - labels), y, false=false,
        n_shadows=2,
    )  # fmt: skip
    assert grade(found) == "large"
    assert found.headline.epsilon.low > 2
    assert len(found.records.member) == np.count_nonzero(false != y)
    assert found.report().title == "Audit of labels"
    with pytest.raises(pg.InputError, match="at least 2 different labels"):
        pg.audit_labels(len, len, np.zeros(9))
    with pytest.raises(pg.InputError, match="share must be in"):
        pg.audit_labels(len, len, y, share=0.0)


def losses(seed: int, share: float, drift: float = 0.0, k: int = 16):
    """Return losses of a target and shadow models that differ in level and in how they leak."""
    rng = np.random.default_rng(seed)
    n = 240
    placebo = np.arange(n) >= 180
    hard = rng.normal(size=n) + drift * placebo
    inside = (rng.random((k, n)) < rng.permutation((np.arange(k) + 0.5) / k)[:, None]) & ~placebo
    used = np.zeros(n, np.bool_)
    used[rng.permutation(180)[: round(180 * share)]] = True
    made = []
    for one in (used, *inside):
        level = 0.3 * rng.normal()
        leak = 1.0 + 0.1 * rng.normal()
        # Records that drift are answered differently by each model.
        seen = hard + drift * rng.normal() * placebo + rng.normal(size=n)
        made.append(level + seen - leak * one)
    return made[0], np.array(made[1:]), inside, placebo


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_intervals_cover_the_share_that_was_used(share):
    games = 200
    covered = 0
    for seed in range(games):
        found = share_of_losses(*losses(seed, share), seed=seed).share
        covered += found.low - 1e-9 <= share <= found.high + 1e-9
    assert covered >= 0.95 * games - 2 * np.sqrt(0.0475 * games)


def losses_of_trees(seed: int, share: float, k: int = 24):
    """Return losses of trees that know their records, and err at others as hard as these are."""
    rng = np.random.default_rng([seed, round(10 * share)])
    placebo = np.arange(400) >= 300
    shares = rng.permutation((np.arange(k) + 0.5) / k)[:, None]
    inside = (rng.random((k, 400)) < shares) & ~placebo
    used = np.isin(np.arange(400), rng.permutation(300)[: round(300 * share)])
    every = np.array([used, *inside])
    wrong = (rng.random(every.shape) < rng.beta(0.3, 1.2, 400)) & ~every
    return 13.8 * wrong[0], 13.8 * wrong[1:], inside, placebo


@pytest.mark.slow
@pytest.mark.parametrize(("share", "most"), [(0.0, 0.045), (0.5, 0.08), (1.0, 0.025)])
def test_records_that_all_models_answer_alike_add_no_error(share, most):
    games = 60
    found = [share_of_losses(*losses_of_trees(s, share), seed=s).share for s in range(games)]
    assert np.mean([abs(one.value - share) for one in found]) < most
    covered = sum(one.low - 1e-9 <= share <= one.high + 1e-9 for one in found)
    assert covered >= 0.95 * games - 2 * np.sqrt(0.0475 * games)


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.0, 1.0])
def test_a_p_value_survives_a_placebo_that_is_unlike_the_records(drift):
    p = np.array([share_of_losses(*losses(s, 0.0, drift)).p_value for s in range(100)])
    assert np.mean(p < 0.05) <= 0.05 + 2 * np.sqrt(0.0475 / 100)
    used = np.array([share_of_losses(*losses(s, 0.8, 0.0)).p_value for s in range(40)])
    assert np.mean(used < 0.05) > 0.9


def test_a_target_beyond_all_shares_is_as_uncertain_as_any():
    target, shadows, inside, placebo = losses(0, 1.0)
    beyond = share_of_losses(target - 5 * ~placebo, shadows, inside, placebo).share
    assert beyond.value == beyond.high == 1.0
    usual = share_of_losses(target, shadows, inside, placebo).share
    assert beyond.low <= usual.low + 0.1


def test_models_that_show_nothing_tell_no_share():
    target, shadows, inside, placebo = losses(0, 0.5)
    rng = np.random.default_rng(0)
    blind = share_of_losses(target * 0, rng.normal(size=shadows.shape), inside, placebo)
    low, high = (0.0, 1.0) if isinstance(blind.share, pg.Skipped) else (
        blind.share.low, blind.share.high)  # fmt: skip
    assert (low, high) == (0.0, 1.0)
    without = share_of_losses(target, shadows, inside, np.zeros_like(placebo))
    assert isinstance(without.p_value, pg.Skipped)
    assert "No p-value: needs a placebo" in without.summary()
    constant = share_of_losses(target, np.tile(target, (len(shadows), 1)), inside, placebo)
    assert "No p-value: losses do not depend on the records" in constant.summary()
    assert "nan" not in constant.summary()
    with pytest.raises(pg.InputError, match="n_shadows must be at least 8"):
        pg.signals.training_share(len, len, 10, None, n_shadows=2)
