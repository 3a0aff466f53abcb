"""Audits of numbers per record: naive references, equivariance, what is found and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

import privacygauge as pg
from privacygauge.report.attacks.tables import main_table
from privacygauge.report.grades import NONE, UNTOLD
from privacygauge.report.numbers import lower_bound_text
from privacygauge.scores.attacks import direction, normal_scores
from tests.scores.made import numbers, persons
from tests.thorough import quarter, times

QUIET = (NONE.word, UNTOLD.word)


def grade(audit: pg.ScoreAudit) -> str:
    return audit.report().verdict.grade.word


def naive_normal(target: np.ndarray, models: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the normal scores of a target and of models, by sorting all numbers together."""
    flat = [*target.tolist(), *models.ravel().tolist()]
    made = norm.ppf(rankdata(flat) / (len(flat) + 1))
    return made[: len(target)], made[len(target) :].reshape(models.shape)


def test_attacks_with_shadow_models_equal_their_formulas():
    target, shadows = numbers(0, n=60, effect=1.0, models=6)
    found = pg.audit_scores(target, shadows, lower=("score",))
    models = np.stack([one["score"] for one in shadows])
    inside = np.stack([one["member"] for one in shadows])
    own, others = naive_normal(np.asarray(target["score"]), models)
    own, others = -own, -others
    # Records with two models on both sides: no empty groups to fill in.
    rows = [i for i in range(60) if 2 <= inside[:, i].sum() <= 4]
    assert len(rows) > 20
    squares = np.zeros(2)
    freedom = np.zeros(2)
    for i in range(60):
        for side in (0, 1):
            values = others[inside[:, i] == bool(side), i]
            if len(values):
                squares[side] += ((values - values.mean()) ** 2).sum()
                freedom[side] += len(values) - 1
    spread = np.sqrt(squares / freedom)
    scores = found.records.scores
    for i in rows:
        one = others[inside[:, i], i]
        without = others[~inside[:, i], i]
        ratio = norm.logpdf(own[i], one.mean(), spread[1])
        ratio -= norm.logpdf(own[i], without.mean(), spread[0])
        assert np.isclose(scores["lira-online (pooled variance, global)"][i], ratio)
        tail = norm.logcdf((own[i] - without.mean()) / spread[0])
        assert np.isclose(scores["lira-offline (one-sided, pooled variance, global)"][i], tail)
        p = 1 / (1 + np.exp(-own[i]))
        means = [(1 / (1 + np.exp(-x))).mean() for x in (one, without)]
        assert np.isclose(scores["rmia (online, global)"][i], np.log(p / np.mean(means)))
        middle = (np.median(one) + np.median(without)) / 2
        assert np.isclose(scores["calibrated (online, global)"][i], own[i] - middle)


def test_a_threshold_with_shadow_records_equals_a_search_over_all_cuts():
    target, shadows = numbers(1, n=80, effect=1.0, models=1)
    other = {**shadows[0], "id": [f"other {i}" for i in range(80)]}
    found = pg.audit_scores(target, [other], lower=("score",))
    known = np.asarray(other["score"])
    inside = np.asarray(other["member"])
    best = max(
        np.append(known, np.inf),
        key=lambda cut: np.mean(known[inside] <= cut) - np.mean(known[~inside] <= cut),
    )
    guess = found.records.guesses["score (global)"]
    # The cut may lie anywhere between two shadow numbers.
    above = np.sort(known[known > best])
    seen = np.asarray(target["score"])
    sure = (seen <= best) | (seen > (above[0] if len(above) else best))
    assert (guess == (seen <= best))[sure].all()
    member = np.asarray(target["member"])
    [evaluation] = [one for one in found.evaluations if one.name == "score"]
    advantage = np.mean(guess[member]) - np.mean(guess[~member])
    assert np.isclose(2 * evaluation.accuracy.value - 1, advantage)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["exp", "cube", "turned"]))
def test_a_map_of_the_numbers_changes_no_result(seed, kind):
    """Increasing maps change nothing; a decreasing one changes nothing but the direction."""
    target, shadows = numbers(seed, n=60, effect=0.8, models=3)
    maps = {"exp": np.exp, "cube": lambda x: x**3 + x, "turned": lambda x: -5 * x}
    few = ("lira", "calibrated", "rmia", "score")
    plain = pg.audit_scores(target, shadows, attacks=few)
    mapped = [{**one, "score": maps[kind](one["score"])} for one in (target, *shadows)]
    again = pg.audit_scores(mapped[0], mapped[1:], attacks=few)
    for one, other in zip(plain.evaluations, again.evaluations, strict=True):
        assert np.isclose(one.auc.value, other.auc.value)


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=30), st.integers(1, 9))
def test_normal_scores_go_by_rank_alone(values, factor):
    given_values = np.array(values, np.float64)
    [plain] = normal_scores(given_values)
    [mapped] = normal_scores(np.exp(given_values * factor / 10))
    assert np.allclose(plain, mapped)
    one, other = normal_scores(given_values[:1], given_values[1:])
    assert np.allclose(np.concatenate([one, other]), plain)


@given(st.lists(st.integers(-4, 4), min_size=4, max_size=20), st.integers(0, 99))
def test_a_direction_is_that_of_the_auc(values, seed):
    value = np.array(values, np.float64)
    member = np.random.default_rng(seed).random(len(value)) < 0.5
    if member.all() or not member.any():
        return
    pairs = np.sign(value[member][:, None] - value[~member][None]).sum()
    assert direction(value, member) == (1 if pairs >= 0 else -1)


@pytest.mark.slow
@pytest.mark.parametrize("models", [0, 8])
def test_planted_leaks_are_found_whatever_their_direction(models):
    for sign in (1, -1):
        target, shadows = numbers(2, n=600, effect=1.2, models=models)
        turned = [{**one, "score": sign * one["score"]} for one in (target, *shadows)]
        found = pg.audit_scores(turned[0], turned[1:] or None)
        assert grade(found) not in QUIET
        assert found.headline.auc.low > 0.6


@pytest.mark.slow
def test_shadow_models_and_references_find_what_a_threshold_misses():
    target, shadows = numbers(3, n=500, effect=1.0, models=16)
    for one in (target, *shadows):
        one["score"] = one["score"] + 6 * np.sin(np.arange(500))  # some records are hard for all
    alone = pg.audit_scores(target)
    with_models = pg.audit_scores(target, shadows)
    without_members = numbers(3, n=500, effect=0.0, models=6, references=True)[1]
    references = [{"id": x["id"], "score": x["score"] + 6 * np.sin(np.arange(500))}
                  for x in without_members]  # fmt: skip
    beside = pg.audit_scores(target, references)
    assert alone.headline.auc.value < 0.62 < with_models.headline.auc.value
    assert with_models.records.vulnerability is not None
    titles = {one.title: one.auc.value for one in beside.evaluations}
    assert titles["score less references (global)"] > 0.62
    assert not any("online" in title for title in titles)


@pytest.mark.slow
def test_a_combination_finds_what_no_single_number_shows():
    rng = np.random.default_rng(4)
    member = rng.random(800) < 0.5
    shared = rng.normal(size=800) * 5
    table = {
        "score_a": shared + rng.normal(size=800),
        "score_b": shared + rng.normal(size=800) + 1.5 * member,
        "member": member,
    }
    found = pg.audit_scores(table)
    areas = {one.title: one.auc.value for one in found.evaluations}
    assert areas["score_a (global)"] < 0.56
    assert areas["linear (logistic)"] > 0.7
    assert grade(found) not in QUIET


@pytest.mark.slow
def test_groups_have_thresholds_of_their_own_and_features_a_law():
    rng = np.random.default_rng(5)
    member = rng.random(900) < 0.5
    group = rng.integers(3, size=900)
    age = rng.normal(size=900)
    table = pd.DataFrame(
        {
            "loss": 4.0 * group + 3 * age**2 - 1.5 * member + rng.normal(size=900),
            "ward": group,
            "age": age,
            "member": member,
        }
    )
    pool = table[~table["member"]].iloc[:200].drop(columns="member")
    rest = table.drop(index=pool.index)
    given_options = {"lower": ("loss",), "group": "ward", "features": ("age",)}
    found = pg.audit_scores(rest, population=pool, **given_options)
    areas = {one.title: one.auc.value for one in found.evaluations}
    assert areas["loss (per-class)"] > areas["loss (global)"]
    assert areas["quantile-regression of loss (normal)"] > 0.7
    assert areas["population of loss"] > areas["loss (global)"]


def test_a_column_that_tells_the_sides_apart_is_no_leak():
    rng = np.random.default_rng(6)
    age = rng.normal(size=800)
    member = rng.random(800) < 1 / (1 + np.exp(-4 * age))
    table = {"score": age + rng.normal(size=800), "age": age, "member": member}
    assert grade(pg.audit_scores(table)) in QUIET


@pytest.mark.slow
def test_rows_of_one_person_are_no_leak_and_are_said():
    for seed in range(6):
        found = pg.audit_scores(persons(seed), unit="patient")
        assert grade(found) in QUIET
        assert any("80 units" in text for text in found.origin.warnings)


def unnamed(seed: int, *, columns: bool = False) -> dict:
    """Return three numbers, or columns, of 80 people with six rows each, in random order."""
    rng = np.random.default_rng(seed)
    owner = rng.permutation(np.repeat(np.arange(80), 6))
    member = (rng.random(80) < 0.5)[owner]
    alike = rng.normal(size=(80, 3))[owner] + 0.2 * rng.normal(size=(480, 3))
    names = ("age", "bmi", "pulse") if columns else ("score_a", "score_b", "score_c")
    table = {"member": member, **dict(zip(names, alike.T, strict=True))}
    return {**table, "score": 5 + alike.sum(axis=1)} if columns else table


@pytest.mark.slow
@pytest.mark.parametrize("columns", [False, True])
def test_rows_of_people_whom_nobody_names_are_no_leak(columns):
    games = times(40)
    leaks = sum(grade(pg.audit_scores(unnamed(s, columns=columns))) not in QUIET
                for s in range(games))  # fmt: skip
    assert leaks <= 0.05 * games + 2 * np.sqrt(0.0475 * games)
    # As many rows of as many people with a leak are found.
    rng = np.random.default_rng(0)
    member = rng.random(480) < 0.5
    seen = rng.normal(size=(480, 3)) + 1.2 * member[:, None]
    table = {"member": member, **{f"score_{j}": seen[:, j] for j in range(3)}}
    assert grade(pg.audit_scores(table)) not in QUIET


def test_shadow_models_unlike_the_target_are_warned_of():
    target, shadows = numbers(11, n=200, effect=1.0, models=6)
    options = {"attacks": ("score",), "lower": ("score",)}
    alike = pg.audit_scores(target, shadows, **options)
    assert not any("unlike the target" in text for text in alike.origin.warnings)
    moved = {**target, "score": target["score"] + 2.0, "year": 2000.0 + np.arange(200)}
    unlike = pg.audit_scores(moved, shadows, **options)
    assert any("unlike the target" in text for text in unlike.origin.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "several", "models", "references", "persons"])
def test_at_most_a_twentieth_of_null_games_is_called_a_leak(kind):
    games = quarter(200)
    leaks = 0
    for seed in range(games):
        shadows = None
        if kind == "persons":
            table = persons(seed)
        else:
            models = {"models": 8, "references": 4}.get(kind, 0)
            table, shadows = numbers(
                seed,
                n=300,
                models=models,
                scores=3 if kind == "several" else 1,
                references=kind == "references",
            )
        options = {"unit": "patient"} if kind == "persons" else {}
        leaks += grade(pg.audit_scores(table, shadows or None, seed=seed, **options)) not in QUIET
    # 5% and two standard errors of as many games.
    assert leaks <= 0.05 * games + 2 * np.sqrt(0.0475 * games)


WRONG = {
    "constant": ({"score": [1.0] * 8}, "the same number"),
    "nan": (
        {"score": [1.0, np.nan, *range(6)]},
        "column 'score' must be finite, got nan in row 1: leave its records out",
    ),
    "infinite": (
        {"score": [np.inf, *range(7)]},
        "must be finite, got inf in row 0: give a number beyond all others",
    ),
    "texts": ({"score": list("abcdefgh")}, "'score' must hold numbers, got 'a' in row 0"),
    "one text": (
        {"score": ["1.5", "2", "3.2 kg", *"34567"]},
        "must hold numbers, got '3.2 kg' in row 2",
    ),
    "a gap": (
        {"score": np.array([1, None, *range(6)], object)},
        "must hold numbers, got None in row 1",
    ),
    "a gap among amounts": (
        {"score": ["1,234", None, *["2,500"] * 6]},
        "must be finite, got nan in row 1",
    ),
    "a text among features": (
        {"features": ("age",), "age": [*"1234567", "old"]},
        "feature 'age' must hold numbers, got 'old' in row 7",
    ),
    "no member": ({"member": [0] * 8}, "at least 2 members and 2 non-members are needed, got 0"),
    "all members": ({"member": [1] * 8}, "2 non-members are needed, got 8 and 0"),
    "strange members": ({"member": [2] * 8}, "must be true or false"),
    "one person a side": ({"unit": [1, 1, 1, 1, 2, 2, 2, 2]}, "of different units are needed"),
    "nothing to attack": ({"score": None, "note": list("abcdefgh")}, "name the columns of numbers"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_tables_end_in_one_line(fault):
    change, told = WRONG[fault]
    columns = {"score": list(range(8)), "member": [1, 1, 1, 1, 0, 0, 0, 0], **change}
    options = {"features": columns.pop("features")} if "features" in columns else {}
    with pytest.raises(pg.InputError, match=told) as caught:
        pg.audit_scores({key: x for key, x in columns.items() if x is not None}, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["{:,.2f}", "{:.2f}%", "${:.2f}", "{:.2f}"])
def test_scores_that_are_written_as_amounts_are_numbers(form):
    table, _ = numbers(0, n=60, effect=1.0)
    value = np.round(1_000 * np.abs(np.asarray(table["score"])), 2)
    texts = np.array([form.format(x) for x in value], object)
    ages = np.array([f"{x},000.5" for x in range(1, 61)], object)
    given = {**table, "score": texts, "age": ages}
    found = pg.audit_scores(given, features=("age",))
    plain = pg.audit_scores({**table, "score": value, "age": 1_000 * np.arange(1, 61) + 0.5},
                            features=("age",))  # fmt: skip
    assert found.headline.auc == plain.headline.auc
    assert any("'age' holds amounts, such as '1,000.5'" in x for x in found.origin.warnings)
    assert any("'score' holds amounts" in x for x in found.origin.warnings) == (form != "{:.2f}")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"scores": ("member",)}, "'member' says who is a member, so that it is no score"),
        ({"scores": ("id",)}, "'id' names the record"),
        ({"scores": ("score", "score")}, "'score' is named twice"),
        ({"features": ("age", "age")}, "'age' is named twice"),
        ({"features": ("score",)}, "'score' is attacked as a score, so that it is no feature"),
        ({"features": ("member",)}, "'member' says who is a member, so that it is no feature"),
        ({"features": ("id",)}, "'id' names the record, so that it is no feature"),
        ({"unit": "member"}, "'member' says who is a member, so that it names no person"),
        ({"unit": "score"}, "'score' names the person behind the record"),
        ({"group": "score"}, "'score' names the record's group"),
        ({"group": "member"}, "'member' says who is a member, so that it is no group"),
        ({"slices": ("score",)}, "'score' is attacked as a score: name a further column"),
        ({"slices": ("member",)}, "'member' says who is a member: name a further column"),
        ({"slices": ("age",), "unit": "age"}, "'age' names the person behind the record: name"),
        ({"show_columns": ("score",)}, "'score' is attacked as a score: name a further column"),
        ({"slices": ("height",)}, "no column 'height'; the columns are: age"),
    ],
)
def test_columns_that_are_no_scores_are_refused(options, told):
    table = numbers(0, n=40)[0] | {"age": np.arange(40) // 2}
    options = {"scores": ("score",), **options}
    with pytest.raises(pg.InputError, match=told) as caught:
        pg.audit_scores(table, **options)
    assert "\n" not in str(caught.value)


def test_names_of_columns_may_be_a_text_or_in_capitals_and_texts_are_no_scores():
    plain, _ = numbers(0, n=60, effect=1.0)
    table = {
        "Loss": plain["score"],
        "Member": plain["member"],
        "ID": plain["id"],
        "Group": np.arange(60) % 2,
        "score_text": ["poor"] * 60,
    }
    found = pg.audit_scores(table, lower="Loss")
    assert found.records.ids.tolist() == plain["id"]
    assert any(e.title == "Loss (per-class)" for e in found.evaluations)
    assert "the column 'score_text' holds texts, so that it is not attacked" in (
        found.origin.warnings
    )
    again = pg.audit_scores(table, scores="Loss", lower=("Loss",))
    assert again.headline.accuracy == found.headline.accuracy


def test_a_page_says_which_end_means_a_member_and_how_many_records_were_judged():
    rng = np.random.default_rng(3)
    member = rng.random(2_000) < 0.5
    group = np.where(rng.random(2_000) < np.where(member, 0.8, 0.3), "a", "b")
    table = {"loss": rng.gamma(1, 1, 2_000) * (1 + 2 * (group == "a")), "group": group}
    found = pg.audit_scores({**table, "member": member}, lower=("loss",))
    assert "Towards a member: lower loss (given)" in found.game.thresholds
    kept = int(found.comparison.compared.sum())
    assert kept < 2_000
    words = " ".join(found.report().verdict.sentences)
    assert f"{kept:,} of 2,000 records were judged: members and non-members differ in" in words
    leaky, _ = numbers(4, n=300, effect=2.0)
    learnt = pg.audit_scores(leaky)
    assert "Towards a member: lower score (learnt)" in learnt.game.thresholds
    card = next(x for x in learnt.report().measures if x.name == "epsilon")
    assert card.found.low > 0
    bounds = main_table(learnt.evaluations, "", headline=learnt.headline)
    cells = [str(getattr(row, "cells", row)[-1]) for row in bounds.rows]
    place = [x.title for x in learnt.evaluations].index(learnt.headline.epsilon_attack)
    assert cells[place] == lower_bound_text(card.found)
    assert cells[place].endswith(str(card.shown))


def test_equal_ids_are_one_unit_and_cannot_be_matched_with_shadow_models():
    target, shadows = numbers(7, n=60, effect=1.0, models=2)
    target["id"] = [f"r{i // 2}" for i in range(60)]
    found = pg.audit_scores(target)
    assert any("60 rows belong to 30 units" in text for text in found.origin.warnings)
    with pytest.raises(pg.InputError, match="ids repeat"):
        pg.audit_scores(target, shadows)


def test_shadow_models_that_give_the_answer_away_are_refused():
    target, shadows = numbers(8, n=80, models=2)
    with pytest.raises(pg.InputError, match="exactly the target's members"):
        pg.audit_scores(target, [{**shadows[0], "member": target["member"]}, shadows[1]])
    with pytest.raises(pg.InputError, match="the target's own numbers"):
        pg.audit_scores(target, [target])
    part = {key: x[:40] for key, x in shadows[0].items()}
    with pytest.raises(pg.InputError, match="holds 40 of the target's 80 records"):
        pg.audit_scores(target, [part])


@pytest.mark.slow
def test_shadow_models_may_be_arrays_a_long_table_or_in_another_order():
    target, shadows = numbers(9, n=60, effect=1.0, models=4)
    plain = pg.audit_scores(target, shadows)
    stacked = {
        "id": target["id"],
        "score": np.stack([x["score"] for x in shadows]),
        "member": np.stack([x["member"] for x in shadows]),
    }
    frames = [pd.DataFrame({**x, "model": j}).iloc[::-1] for j, x in enumerate(shadows)]
    for given_models in (stacked, pd.concat(frames)):
        again = pg.audit_scores(target, given_models)
        assert [x.auc for x in again.evaluations] == [x.auc for x in plain.evaluations]


@pytest.mark.slow
def test_a_page_escapes_names():
    rng = np.random.default_rng(10)
    bad = "</td><script>alert(1)</script>"
    table = {
        f"score_{bad}": rng.normal(size=80),
        "score_b": rng.normal(size=80),
        "member": np.arange(80) % 2,
        "id": [f"{bad}{i}" for i in range(80)],
        "group": np.where(rng.random(80) < 0.5, bad, "b"),
        bad: rng.integers(3, size=80),
    }
    page = pg.audit_scores(table, show_columns=(bad,)).to_html()
    assert "<script>alert" not in page


def _known_by_heart(seed: int, *, beyond: float) -> tuple[dict[str, Any], set[int]]:
    """Return losses of which those of 20 members are lower by `beyond`, and these members."""
    rng = np.random.default_rng(seed)
    member = rng.random(1_000) < 0.5
    loss = rng.normal(size=1_000)
    planted = np.flatnonzero(member)[:20]
    loss[planted] -= beyond
    return {"loss": loss, "member": member}, set(planted.tolist())


def test_a_direction_that_the_data_contradict_is_said():
    for seed in range(times(6)):
        table, planted = _known_by_heart(seed, beyond=8)
        wrong = pg.audit_scores(table, scores=("loss",), higher=("loss",), seed=seed)
        assert any("is taken to be higher for members" in text for text in wrong.origin.warnings)
        named = wrong.riskiest.rows[:20].tolist()
        # Where the verdict counts members, they are the ones that are named.
        if wrong.questions.exposed:
            assert len(planted & set(named)) >= 10
            assert "Ordered by the scores of" in wrong.to_html()
        right = pg.audit_scores(table, scores=("loss",), lower=("loss",), seed=seed)
        assert len(planted & set(right.riskiest.rows[:20].tolist())) >= 15
        for found in (right, pg.audit_scores(table, scores=("loss",), seed=seed)):
            assert not any("is taken to be" in text for text in found.origin.warnings)


def test_on_noise_a_direction_is_seldom_contradicted():
    warned = 0
    for seed in range(times(40)):
        table, _ = _known_by_heart(seed, beyond=0)
        found = pg.audit_scores(table, scores=("loss",), lower=("loss",), seed=seed)
        warned += any("is taken to be" in text for text in found.origin.warnings)
    assert warned <= 2


def test_a_score_forms_no_groups():
    table, _ = numbers(0, n=60, effect=1.0)
    found = pg.audit_scores({**table, "ward": np.arange(60) % 2})
    assert {group.column for group in found.slices.slices} == {"ward"}
    assert not any("slices by" in one.name for one in found.origin.skipped)
    alone = pg.audit_scores(table)
    assert not alone.slices.slices
    assert "Groups of records" not in alone.to_html()


def test_the_page_and_limits_allow_for_the_choice_among_attacks():
    for seed in range(times(8)):
        table, shadows = numbers(seed, models=4, effect=0.2)
        found = pg.audit_scores(table, shadows, lower=("score",), seed=seed)
        measures = {x.name: x.found for x in found.report().measures}
        assert measures["strongest-auc"] == found.headline.auc
        alone = max(one.auc.low for one in found.evaluations)
        # Corrected for the choice, and that of the best ranking.
        assert found.headline.auc.low <= measures["auc"].low < alone
        assert measures["auc"].value == max(one.auc.value for one in found.evaluations)
        right = measures["accuracy"]
        assert measures["advantage"].low == pytest.approx(2 * right.low - 1)
        assert "those of guesses and pairs allow" in found.to_html()
