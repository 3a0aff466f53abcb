"""A value of a record in place of membership: the verdict, its forms, and games of known truth."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.cli.output import Limit, exceeded_limits
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.detectable import detectable_with
from privacygauge.report.grades import GRADES, LARGE, NONE, UNTOLD
from privacygauge.tables.attacks.density import ClosestDistance, MarginalRatio
from privacygauge.tables.command import OF_ATTRIBUTE
from privacygauge.tables.games.attribute import ValuesGuessed
from privacygauge.tables.games.audited import headline_level
from privacygauge.tables.generator_audit.attribute import (
    advantage,
    detectable_accuracy_text,
    grade,
    verdict,
)
from privacygauge.tables.generator_audit.audit import audit_synthetic
from tests.audits.example_generator_attribute import example
from tests.report.test_document import strict
from tests.report.test_html import Page
from tests.thorough import quarter

FAST = (MarginalRatio(), ClosestDistance())
SMALL = {"shadows": 24, "tests": 40, "size": 40, "attacks": FAST}


def people(seed=0, n=300):
    """Return people of whom the town tells the illness: that is no leak about anyone."""
    rng = np.random.default_rng(seed)
    town = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": np.array(list("ABC"))[town],
            "illness": np.array(["none", "one", "two"])[town],
            "income": rng.gamma(2.0, 100.0, n),
        }
    )


def test_grades_rise_with_the_leak():
    found = [example(leak=leak, tests=400) for leak in (0.0, 0.08, 0.25, 0.6)]
    assert [GRADES.index(grade(f)) for f in found] == [0, 1, 2, 3]
    for f in found:
        said = verdict(f)
        assert said.headline.lower().startswith(said.grade.word)
        assert "one in 3" in said.sentences[0]


def test_a_rare_value_that_is_recognised_is_in_the_grade():
    values = tuple(f"v{i}" for i in range(10))
    hidden = example(leak=0.0, rare=1.0, values=values, tests=300)
    assert hidden.worst_value == 9
    assert hidden.recognition.low > 0.7
    assert hidden.accuracy.value < 0.25
    assert grade(hidden) is LARGE
    (gauge,) = [verdict(hidden).gauge]
    assert gauge.low == hidden.recognition.low
    assert "fewer than 5" in " ".join(Page(hidden.to_html()).text)


def test_one_record_that_is_told_is_in_the_grade():
    """Also one that the adversary's own tables do not point to."""
    f = example(30, leak=0.0, tests=200)
    guess = f.best.guess.copy()
    other = (f.worst + 1) % 30
    guess[other] = f.best.secret[other]
    found = replace(f, attacks=(replace(f.best, guess=guess),))
    assert found.worst != other
    assert found.told.nonzero()[0].tolist() == [other]
    assert grade(found) is LARGE
    for seed in range(40):
        quiet = example(4, leak=0.02, tests=100, seed=seed)
        assert quiet.told.any() == (quiet.guessed_best.low > quiet.best.chance)
        assert not (quiet.told.any() and grade(quiet) is NONE)


def test_too_few_tables_or_guesses_worse_than_chance_say_nothing():
    few = example(2, leak=0.0, tests=4, values=("a", "b"))
    assert few.seen_from is None
    assert grade(few) is UNTOLD
    assert "too few synthetic tables" in verdict(few).headline
    assert "no share of right guesses" in detectable_accuracy_text(None, 2)
    reversed_ = example(leak=-0.6)
    assert grade(reversed_) is UNTOLD
    assert "worse than chance" in verdict(reversed_).headline


def test_the_levels_of_the_verdict_share_its_error():
    """One side of each interval errs with its share of the error."""
    for level in (0.9, 0.95, 0.99, 0.9999):
        for n_targets, n_values, looks in ((1, 2, 1), (3, 2, 3), (1, 5, 2), (3, 5, 4)):
            each = headline_level(level, n_targets, n_values)
            assert looks * (1 - each) / 2 <= (1 - level) * (1 + 1e-9)
            assert each >= level


def test_what_would_be_seen_is_seen():
    f = example(1, values=("a", "b", "c", "d"), tests=200)
    n, chance = f.sizes.tests, f.best.chance
    rights = np.arange(n + 1)
    lows = [replace_right(f, k).accuracy.low for k in rights]
    seen = np.array(lows) > chance
    power = binom.pmf(rights, n, f.seen_from)[seen].sum()
    assert 0.72 < power < 0.88


@pytest.mark.parametrize("values", [("a", "b"), ("a", "b", "c", "d", "e")])
def test_what_could_have_been_found_is_found(values):
    """Leaks as large as the page says are found in four of five games, by the average alone."""
    quiet = example(1, leak=0.0, values=values, tests=800)
    (said,) = [x for x in verdict(quiet).sentences if "could have found" in x]
    chance = quiet.best.chance
    accuracy = int(re.search(r"in (\d+)% of cases or more", said)[1]) / 100
    leak = (accuracy - chance) / (1 - chance)
    games = quarter(200)
    played = [example(1, leak=leak, values=values, tests=800, seed=i) for i in range(games)]
    found = sum(f.accuracy.low > chance for f in played)
    assert found >= binom.ppf(1e-3, games, 0.8)


@pytest.mark.parametrize(("n_targets", "column"), [(1, "sex"), (1, "illness"), (5, "sex")])
def test_by_default_there_are_tables_enough_to_see_a_moderate_leak(n_targets, column):
    frame = people().assign(sex=np.where(people()["age"] % 2, "f", "m"))
    found = []

    def stop(making):
        found.append(making)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        audit_synthetic("silence", frame, targets=n_targets, attribute=column, before=stop)
    (making,) = found
    tests = making.setting.sizes.tests
    values = making.game.values
    each = headline_level(0.95, n_targets, len(values))
    n = tests * n_targets
    # As many right guesses as chance gives.
    accuracy = rates.share(round(n / len(values)), n, each)
    assert detectable_with(advantage(accuracy, 1 / len(values)), 0.0) < 0.102


def replace_right(f, k):
    """Return findings whose best attack guesses k of the tables right."""
    secret = f.best.secret
    guess = np.where(np.arange(secret.shape[1]) < k, secret, (secret + 1) % len(f.values))
    return replace(f, attacks=(replace(f.best, guess=guess),))


def test_the_attack_and_the_worst_are_chosen_on_the_adversarys_own_tables():
    rng = np.random.default_rng(0)
    own, asked = rng.integers(2, size=(2, 30)), rng.integers(2, size=(2, 20))
    wrong_now = ValuesGuessed("a", "", 2, asked, 1 - asked, own, own)
    right_now = ValuesGuessed("b", "", 2, asked, asked, own, 1 - own)
    found = replace(example(2, values=("x", "y")), attacks=(right_now, wrong_now))
    assert found.best is wrong_now
    assert found.accuracy.value == 0.0
    assert right_now.told(0.95).all()
    assert not wrong_now.told(0.95).any()


def test_json_gate_and_table_of_records():
    f = example()
    found = strict(f.to_json())
    assert found["kind"] == "generator-attribute"
    assert found["attribute"]["chance"] == pytest.approx(1 / 3)
    assert [v["records"] for v in found["attribute"]["values"]] == [900, 99, None]
    gated = {measure.name for measure in f.report().measures if measure.gate}
    assert gated | {f"{name}.low" for name in gated} == set(OF_ATTRIBUTE)
    assert exceeded_limits(f.report(), [Limit("accuracy", 0.2)])
    assert not exceeded_limits(f.report(), [Limit("accuracy", 0.9)])
    frame = f.to_frame()
    assert list(frame["row"]) == f.targets.rows.tolist()
    assert {"accuracy_density_ratio", "told_query_based_equal"} <= set(frame.columns)
    broken = verdict(example(leak=0.9, epsilon=0.1, tests=300))
    assert any("breaks its promise" in text for text in broken.sentences)


@pytest.mark.slow
@pytest.mark.parametrize(("column", "game"), [("income", "average"), ("illness", "specific")])
def test_copies_are_found(column, game):
    found = audit_synthetic("identity", people(), attribute=column, targets=2, game=game, **SMALL)
    assert found.report().verdict.grade is LARGE
    assert found.accuracy.value > 0.9
    assert found.middles == (column == "income")
    if found.middles:
        assert not set(found.values) & {f"{x:.10g}" for x in people()["income"]}
        assert "Records with it" not in found.to_html()
    assert len(found.values) == (5 if column == "income" else 3)
    assert found.epsilon.low > 1


@pytest.mark.slow
@pytest.mark.parametrize("column", ["illness", "income"])
def test_of_games_without_a_leak_few_show_one(column):
    """At 95% at most 5% of games do, and nothing that columns tell of each other is a leak."""
    games = quarter(200)
    leaks = 0
    for seed in range(games):
        options = {"attribute": column, "targets": 3, "seed": seed, **SMALL}
        # So few records that the utility, which takes longest, is not measured.
        found = audit_synthetic("silence", people(seed, 240), **options)
        leaks += grade(found) not in (NONE, UNTOLD)
    assert leaks <= binom.ppf(0.999, games, 0.05)


@pytest.mark.slow
def test_a_run_is_taken_up_again(tmp_path):
    options = {"attribute": "town", "targets": [7, 9], **SMALL, "run": tmp_path / "run"}
    first = audit_synthetic("baynet", people(), **options)
    done: list[tuple[int, int]] = []
    again = audit_synthetic(
        "baynet", people(), **options, progress=lambda d, n: done.append((d, n)), n_jobs=2
    )
    assert done[0] == (128, 128)
    assert again.to_json() == first.to_json()
    with pytest.raises(InputError, match="another run"):
        audit_synthetic("baynet", people(), **{**options, "attribute": "illness"})


@pytest.mark.slow
def test_households_and_further_columns(tmp_path):
    twins = pd.concat([people(), people().assign(age=lambda x: x["age"] + 1)], ignore_index=True)
    unit = np.tile(np.arange(300), 2)
    ids = np.array([f"person {i}" for i in range(600)])
    found = audit_synthetic(
        "identity",
        twins,
        attribute="illness",
        targets=[7],
        unit=unit,
        ids=ids,
        show=["town"],
        **SMALL,
    )
    assert found.report().verdict.grade is LARGE
    assert found.targets.ids.tolist() == ["person 7"]
    assert re.search("person 7", found.to_html())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attribute": "sex"}, "attribute names 'sex', which is not a column"),
        ({"attribute": "same"}, "column 'same' has no value but x in all records"),
        ({"attribute": "number"}, "column 'number' has another value in every record"),
        ({"attribute": "name"}, "column 'name' has another value in every record"),
        ({"attribute": "ward"}, "column 'ward' has 30 values to guess, and at most 20"),
        ({"attribute": "gain"}, "column 'gain' has no value but 0 in the middle of all fifths"),
        ({"attribute": "ward", "values": ["w0", "w99"]}, "values names 'w99'"),
        ({"attribute": "ward", "values": ["w0", "w0"]}, "two values, all different, got w0, w0"),
        ({"attribute": "age", "values": ["old", 3]}, "must be numbers, got old, 3"),
        ({"attribute": "age", "values": [20, 300]}, "values names 300, beyond the range"),
        ({"attribute": "day", "values": ["2024-01-02", "x"]}, "must be dates, such as"),
        ({"values": ["w0", "w1"]}, "values are those of an attribute"),
        ({"attribute": "town", "game": "shared"}, "must be average.*got shared"),
        ({"attribute": "town", "knowledge": "synthetic"}, "must be average.*got synthetic"),
        ({"attribute": "town", "shadows": 8}, "3 values need at least 12 tables.*--shadows"),
    ],
)
def test_bad_input_is_one_line(options, message):
    n = 300
    gains = np.where(np.arange(n) < 20, np.arange(n), 0)
    frame = people().assign(
        same="x",
        number=np.arange(n),
        name=[f"p{i}" for i in range(n)],
        ward=[f"w{i % 30}" for i in range(n)],
        gain=gains,
        day=pd.date_range("2024-01-01", periods=n // 2).repeat(2).strftime("%Y-%m-%d"),
    )
    with pytest.raises(InputError, match=message) as caught:
        audit_synthetic("baynet", frame, targets=[7], **{**SMALL, **options})
    assert "\n" not in str(caught.value)
