"""Worlds of classifiers are what their choices say."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.proving import judge
from tests.proving.classifier_rows import rows
from tests.proving.classifiers import DOMAIN, _group, balanced
from tests.proving.games import game, replay
from tests.proving.world import Relation

NAMES = {factor.name: factor for factor in DOMAIN.factors}


def made(seed=0, **choices):
    return DOMAIN.world(seed, choices)


def oracle(folder, **choices):
    return DOMAIN.truth(made(3, **choices)).oracle(folder)


def test_there_are_forty_factors():
    assert len(NAMES) == len(DOMAIN.factors) >= 40


def test_all_values_of_all_factors_are_drawn():
    worlds = [DOMAIN.draw(np.random.default_rng(i)) for i in range(40)]
    assert all(DOMAIN.sensible(world) for world in worlds)
    seen = {name for world in worlds for name in world.choices}
    assert len(seen) > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_value_occurs_in_a_sensible_world(name):
    for value in NAMES[name].others:
        world = DOMAIN.draw(np.random.default_rng(1), **{name: value})
        assert world.choices.get(name) in (value, None)


def test_choices_without_effect_are_left_out():
    assert str(made(drift_size="apart", separator="tab", release="none")) == "classifiers:0:"


def test_data_do_not_depend_on_how_they_are_written():
    plain = rows(made(4), DOMAIN.chosen(made(4)))
    other = made(4, format="csv", ids="hashes", rows="shuffled", text="words")
    written = rows(other, DOMAIN.chosen(other))
    assert np.array_equal(plain.logits, written.logits)
    assert np.array_equal(plain.member, written.member)


def test_the_oracle_knows_the_plant_and_nothing_else(tmp_path):
    assert oracle(tmp_path, release="everybody", strength="strong").low > 0.8
    assert oracle(tmp_path, release="level").low > 0.55
    weak = oracle(tmp_path, release="everybody", strength="weak", drift="year")
    assert weak.value < 0.65  # drift is no leak, and does not count as one
    group = oracle(tmp_path, release="class", strength="strong")
    assert group.question == "groups"
    assert group.p < 1e-6


def test_the_oracle_of_a_group_has_the_size_of_what_is_known_in_it():
    world = made(n="2000", release="group", strength="weak")
    target = rows(world, DOMAIN.chosen(world))
    group = target.exposed
    least = min(np.count_nonzero(group & target.member), np.count_nonzero(group & ~target.member))
    wholly = _group(replace(target, signal=target.member.astype(float) + 1e-3 * target.signal))
    nothing = _group(replace(target, signal=np.random.default_rng(0).normal(size=len(group))))
    assert nothing.value < _group(target).value < wholly.value
    assert 2 * least - 2 <= wholly.value <= 2 * least


def test_guesses_at_random_are_right_for_half_of_both_sides():
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.3
    found = [balanced(rng.random(400) < 0.5, member) for _ in range(200)]
    assert np.mean([one.low <= 0.5 <= one.high for one in found]) >= 0.95


def test_fair_comparisons_are_those_where_nothing_went_wrong():
    assert DOMAIN.truth(made()).fair
    assert DOMAIN.truth(made(drift="year")).fair
    unfair = (
        {"mistake": "swapped-sides"},
        {"n": "40"},
        {"share": "few-members"},
        {"drift": "year", "drift_size": "apart"},
        {"ask": "shadow", "shadow_is": "overlap"},
        {"ask": "pool", "pool_is": "members-only"},
        {"repeats": "views", "person_id": "none"},
    )
    assert not any(DOMAIN.truth(made(**choices)).fair for choices in unfair)


@pytest.mark.slow
def test_a_world_is_played_by_the_command_and_the_same_every_time(tmp_path):
    world = made(5, n="100", format="csv", scores="probs")
    found = replay(world, tmp_path)
    assert found.played.exit_code == 0
    assert found.played.report["provenance"]["target"].startswith("target.csv")
    assert found.played.report["verdict"]["headline"] in found.played.html_text
    again = game(world, relations=False)
    assert again.severity == found.outcome.severity
    repeated = DOMAIN.play(world, tmp_path / "world")
    assert not [*judge.kept(Relation("again", {}, "everything"), found.played, repeated)]


@pytest.mark.slow
def test_a_large_leak_is_found_and_none_is_not():
    assert game(made(6, release="everybody", strength="strong")).severity == "grave"
    assert game(made(6, n="1000")).severity == "nothing found"
