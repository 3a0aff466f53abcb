"""Guesses of a sensitive column, against guesses made one by one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import OneHotEncoder

from privacygauge.classifiers.attributes import (
    FOLDS,
    answers_to,
    attribute_guesses,
    conditional_logit,
    imputation,
    parts,
    secret_of,
)
from privacygauge.classifiers.attributes_judged import _gain
from privacygauge.errors import InputError
from tests.audits.example_attribute import SENSITIVE, population


def overfitted(x, y):
    return RandomForestClassifier(20, random_state=0).fit(x, y)


@pytest.fixture(scope="module")
def game():
    rng = np.random.default_rng(0)
    x, y, unit = population(200, rng, rows=2)
    member = (rng.random(200) < 0.5)[unit]
    return overfitted(x[member], y[member]), x, y, member, unit


def played(game, **given):
    return attribute_guesses(*game, [SENSITIVE], np.random.default_rng(0), **given)


@pytest.mark.slow
def test_the_confidence_attack_is_that_of_asking_value_by_value(game):
    model, x, y, _, _ = game
    hit = played(game).right["confidence"]
    rows = np.arange(len(x))
    sure = []
    for value in (0.0, 1.0):
        asked = np.column_stack([x[:, :SENSITIVE], np.full(len(x), value)])
        sure.append(np.maximum(model.predict_proba(asked)[rows, y], 1e-4))
    differ = sure[0] != sure[1]
    guessed = np.argmax(sure, axis=0)
    assert differ.any()
    assert np.array_equal(hit[differ], (guessed == x[:, SENSITIVE])[differ])


@pytest.mark.slow
def test_ties_are_as_good_as_coins():
    rng = np.random.default_rng(0)
    n = 1000
    x, y, unit = population(n, rng, tied=0.0)
    same = lambda asked: np.full((len(asked), 2), 0.5)  # noqa: E731
    found = attribute_guesses(same, x, y, np.arange(n) % 2 == 0, unit, [SENSITIVE], rng)
    assert abs(found.right["confidence"].mean() - 0.5) < 5 * 0.5 / np.sqrt(n)


def test_people_are_in_one_part_and_both_sides_in_every_part(game):
    *_, member, unit = game
    fold = parts(unit, member, np.random.default_rng(0))
    for person in np.unique(unit):
        assert len(np.unique(fold[unit == person])) == 1
    for side in (member, ~member):
        size = np.bincount(fold[side], minlength=FOLDS)
        assert np.ptp(size) <= 2 * 2  # rows of at most two people


@pytest.mark.slow
def test_imputation_never_learns_from_members_or_from_its_own_part(game):
    _, x, _, member, unit = game
    secret = secret_of(x, [SENSITIVE])
    fold = parts(unit, member, np.random.default_rng(0))
    known = x[:, :SENSITIVE]
    found = imputation(known, secret, member, fold, unit, 0)
    turned = secret.code.copy()
    turned[member | (fold == 0)] ^= 1
    other = imputation(
        known, type(secret)(secret.names, turned, secret.asked), member, fold, unit, 0
    )
    for ours, theirs in zip(found, other, strict=True):
        assert np.array_equal(ours[fold == 0], theirs[fold == 0])
        assert not np.array_equal(ours, theirs)
        assert np.allclose(np.exp(ours).sum(axis=1), 1)


def test_weights_are_those_of_logistic_regression_and_calibrated():
    rng = np.random.default_rng(0)
    n = 3000
    told = rng.normal(size=(n, 2))
    chance = 1 / (1 + np.exp(-2 * (told[:, 1] - told[:, 0])))
    code = (rng.random(n) < chance).astype(np.int64)
    fold = np.arange(n) % FOLDS
    member = np.ones(n, bool)
    log_odds = conditional_logit((told,), code, member, fold)
    gap = told[:, 1] - told[:, 0]
    for part in range(FOLDS):
        learn = fold != part
        # The ridge pulls towards 1: the same as a regression on what is beyond it, offset apart.
        naive = LogisticRegression(C=1e6, fit_intercept=False).fit(gap[learn, None], code[learn])
        ours = np.diff(log_odds[~learn])[:, 0] / gap[~learn]
        assert np.allclose(ours, naive.coef_[0, 0], rtol=0.02)
    p = 1 / (1 + np.exp(-np.diff(log_odds)[:, 0]))
    for low in (0.0, 0.25, 0.5, 0.75):
        among = (p >= low) & (p < low + 0.25)
        assert abs(p[among].mean() - code[among].mean()) < 0.05


@pytest.mark.slow
def test_a_frame_an_array_and_one_column_a_value_give_the_same_guesses(game):
    _, x, y, member, unit = game
    texts = np.array(["a", "b"])[x[:, SENSITIVE].astype(int)]
    frame = pd.DataFrame(x[:, :SENSITIVE]).add_prefix("c").assign(secret=texts)
    encoded = np.column_stack(
        [x[:, :SENSITIVE], OneHotEncoder().fit_transform(texts[:, None]).toarray()]
    )
    model = overfitted(encoded[member], y[member])

    def of_frame(asked: pd.DataFrame) -> np.ndarray:
        hot = np.column_stack([asked["secret"] == "a", asked["secret"] == "b"])
        return model.predict_proba(np.column_stack([asked.drop(columns="secret"), hot]))

    one = attribute_guesses(of_frame, frame, y, member, unit, "secret", np.random.default_rng(0))
    places = [SENSITIVE, SENSITIVE + 1]
    two = attribute_guesses(model, encoded, y, member, unit, places, np.random.default_rng(0))
    # "b" before "a": the values of columns are in the order of their rows.
    assert one.secret.names == ("a", "b")
    assert [int(name) for name in two.secret.names] == [1, 0]
    for name in ("confidence-and-data", "label-only", "weighted"):
        assert np.mean(one.right[name] == two.right[name]) > 0.95
    assert np.allclose(one.with_model, two.with_model)
    assert np.allclose(one.without, two.without)


def test_numbers_are_cut_into_equal_bins_that_name_nobody():
    x = np.random.default_rng(0).normal(size=(500, 2))
    found = secret_of(x, [1])
    assert np.bincount(found.code).tolist() == [100] * 5
    shown = " ".join(found.names)
    assert f"{x[:, 1].min():g}" not in shown
    assert f"{x[:, 1].max():g}" not in shown
    for j, asked in enumerate(found.asked):
        inside = x[found.code == j, 1]
        assert inside.min() <= asked.min() <= asked.max() <= inside.max()


@pytest.mark.parametrize("framed", [False, True])
def test_numbers_beside_another_column_are_cut_and_guessed_with_it(framed):
    """Values are those of both columns; what is asked about each are records that have them."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=600)
    sex = rng.integers(2, size=600)
    x = np.column_stack([numbers, rng.normal(size=600), sex])
    names = [f"{edge:g}" for edge in np.quantile(numbers, [0.2, 0.4, 0.6, 0.8])]
    found = secret_of(x, [0, 2])
    if framed:
        frame = pd.DataFrame({"age": numbers, "other": x[:, 1], "sex": np.array(["f", "m"])[sex]})
        framed = secret_of(frame, ["age", "sex"])
        assert np.array_equal(framed.code, found.code)
        found = framed
    alone = secret_of(x, [0])
    assert len(found) == 10
    assert np.array_equal(found.code, 2 * alone.code + sex)
    assert found.names[0] == f"to {names[0]}, " + ("f" if framed else "0.0")
    assert found.names[-1] == f"above {names[-1]}, " + ("m" if framed else "1.0")
    for j, asked in enumerate(found.asked):
        inside = numbers[found.code == j]
        assert np.isin(asked[:, 0].astype(float), inside).all()
        assert len(asked) == 3
        assert len({*asked[:, 1].tolist()}) == 1


def test_two_numbers_are_25_values_and_three_are_too_many():
    x = np.random.default_rng(0).normal(size=(2000, 4))
    one, two = (secret_of(x, [place]).code for place in (0, 1))
    both = secret_of(x, [0, 1])
    assert np.array_equal(both.code, 5 * one + two)
    assert len(both) == 25
    with pytest.raises(InputError, match="125 combinations of values"):
        secret_of(x, [0, 1, 2])


def test_answers_about_a_bin_are_means_over_its_values():
    x = np.random.default_rng(0).normal(size=(60, 2))
    secret = secret_of(x, [1])
    sure = lambda asked: np.column_stack([p := 1 / (1 + np.exp(-asked.sum(axis=1))), 1 - p])  # noqa: E731
    found = answers_to(sure, x, secret, 2)
    for j, asked in enumerate(secret.asked):
        naive = [sure(np.column_stack([x[:, 0], np.full(60, v)])) for v in asked[:, 0]]
        assert np.allclose(found[:, j], np.mean(naive, axis=0))


@pytest.mark.parametrize(
    ("x", "columns", "message"),
    [
        (np.full((9, 2), np.nan), [0], "finite"),
        (np.array([[f"{i}"] for i in range(60)], dtype=object), [0], "got 60"),
        (pd.DataFrame({"a": ["x", None]}), "a", "missing"),
        (pd.DataFrame({"a": ["x", "y"]}), "b", "no column 'b'"),
        (
            np.arange(120.0).reshape(60, 2) + np.where(np.eye(60, 2) > 0, np.inf, 0),
            [0, 1],
            "finite",
        ),
    ],
)
def test_a_column_that_is_no_secret(x, columns, message):
    with pytest.raises(InputError, match=message):
        secret_of(x, columns)


@pytest.mark.parametrize("n_won", [0, 3])
@pytest.mark.parametrize("n_lost", [0, 1, 20])
def test_what_an_attack_gains_imputation_loses(n_won, n_lost):
    """In the interval too, whose ends are exact where few records were won or lost."""
    unit = np.arange(60)
    hit = unit < 30 + n_won
    imputed = (unit < 30) | (unit >= 60 - n_lost)
    gain = _gain(hit, imputed, unit, 0.95)
    loss = _gain(imputed, hit, unit, 0.95)
    assert gain.value == pytest.approx(-loss.value)
    assert (gain.low, gain.high) == pytest.approx((-loss.high, -loss.low))
    assert -1 <= gain.low < gain.value < gain.high <= 1
