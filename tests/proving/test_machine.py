"""The machine itself, on a toy whose verdicts are known: what it draws, finds and shrinks."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.proving import games, judge
from tests.proving.__main__ import main
from tests.proving.played import CRASHED, HUNG, Oracle, Played, Truth, call
from tests.proving.rates import Rate, table
from tests.proving.search import drawn, search
from tests.proving.shrink import shrink
from tests.proving.world import Factor, Grammar, Relation, parse

SAID = {"nothing found": "No leak found", "small": "A small leak", "cannot be told": "Open"}


def said(severity="nothing found", code=0, **more):
    """Return what a command says that ends well."""
    headline = SAID[severity]
    verdict = {"severity": severity, "grade": severity, "headline": headline, "sentences": []}
    report = {"verdict": verdict, "measures": {}, "warnings": [], **more}
    return Played(code, report, headline, "", headline, 0.0)


class Toy(Grammar):
    """Audits that are wrong where `a` is two and `b` is on: a false alarm, whatever else is so."""

    name = "toy"
    factors = (
        Factor("release", ("none", "leak"), "none", chance=0.5),
        Factor("a", ("one", "two", "three"), "one", chance=0.5),
        Factor("b", ("off", "on"), "off", chance=0.5),
        *(Factor(f"noise{i}", ("off", "on"), "off", chance=0.3) for i in range(6)),
    )

    def truth(self, world):
        leak = self.chosen(world)["release"] == "leak"
        return Truth(leak, fair=True, oracle=lambda folder: Oracle(0.6, 0.8, 0.7))

    def play(self, world, folder):
        chosen = self.chosen(world)
        wrong = chosen["a"] == "two" and chosen["b"] == "on"
        return said("small" if wrong or chosen["release"] == "leak" else "nothing found")


@pytest.fixture
def toy(monkeypatch):
    grammar = Toy()
    monkeypatch.setattr(games, "domain", lambda name: grammar)
    return grammar


@given(st.integers(0, 2**31))
def test_the_text_of_a_world_parses_back(seed):
    world = Toy().draw(np.random.default_rng(seed))
    again = parse(str(world))
    assert again == world
    assert str(again) == str(world)
    assert again.rng("labels").random() == world.but(b="on").rng("labels").random()
    assert again.rng("labels").random() != again.rng("rows").random()


@pytest.mark.parametrize("text", ["toy", "toy:x:a=two", "toy:3", ":3:a=two"])
def test_text_that_is_no_world_is_refused(text):
    with pytest.raises(ValueError, match="DOMAIN:SEED"):
        parse(text)


@pytest.mark.parametrize("choices", [{"a": "four"}, {"c": "on"}])
def test_choices_that_the_grammar_does_not_have_are_refused(choices):
    with pytest.raises(ValueError, match="toy has no"):
        Toy().world(0, choices)


def test_plain_choices_are_not_in_the_text():
    assert str(Toy().world(7, {"a": "one", "b": "on"})) == "toy:7:b=on"


def test_factors_are_drawn_as_often_as_they_say():
    worlds = [Toy().draw(np.random.default_rng(i)) for i in range(400)]
    assert 0.4 < np.mean([world.choices.get("b") == "on" for world in worlds]) < 0.6
    weighted = Factor("n", ("1", "2", "3"), "1", chance=1.0, weights=(3, 1))
    values = [weighted.draw(np.random.default_rng(i)) for i in range(400)]
    assert 0.68 < np.mean(np.array(values) == "2") < 0.82


def test_the_search_finds_a_wrong_verdict_and_its_smallest_form(toy):
    ticks = count()
    found = search(toy, seed=1, minutes=2, arena=games.Arena(), clock=lambda: float(next(ticks)))
    assert any(suspect.is_guilty for suspect in found.suspects)
    (smallest,) = found.smallest
    assert dict(smallest.world.choices) == {"a": "two", "b": "on"}
    assert smallest.kind == judge.FALSE_ALARM
    assert parse(smallest.command().split("'")[1]) == smallest.world
    assert found.first(smallest) > 0
    assert any("| a | two |" in line for line in table(found.outcomes, judge.KINDS, toy))


def test_worlds_of_a_seed_are_the_same_every_time():
    first, again = (
        [str(world) for world, _ in zip(drawn(Toy(), 3), range(20), strict=False)] for _ in range(2)
    )
    assert first == again


def test_what_fails_by_chance_alone_is_not_shrunk(toy):
    world = toy.world(5, {"a": "two", "b": "on"})

    def rarely(form):
        outcome = games.game(form)
        return outcome if form.seed % 8 == 5 else games.Outcome(form, False, True, None, 0, (), 0.0)

    assert shrink(world, judge.FALSE_ALARM, play=rarely).by_chance


def leaking(low):
    return Truth(True, fair=True, oracle=lambda folder: Oracle(low, 0.99, 0.98))


NULL = Truth(False, fair=True)
UNFAIR = Truth(False, fair=False)


@pytest.mark.parametrize(
    ("played", "truth", "kinds"),
    [
        (said(), NULL, []),
        (said("small"), NULL, [judge.FALSE_ALARM]),
        (said("small"), UNFAIR, [judge.FALSE_ALARM]),
        (said("cannot be told"), NULL, [judge.UNTOLD]),
        (said("cannot be told"), UNFAIR, []),
        (said(), leaking(0.56), [judge.MISSED]),
        (said(), leaking(0.54), []),
        (said(detectable={"average": 0.6}), leaking(0.58), []),
        (said(detectable={"average": {"value": 0.6}}), leaking(0.62), [judge.MISSED]),
        (said("small"), leaking(0.9), []),
        (said("small"), Truth(True, fair=True, least="moderate"), [judge.MILD]),
        (said("cannot be told"), Truth(True, fair=False, least="moderate"), []),
        (said(code=2), NULL, [judge.CONTRADICTION]),
        (said(measures={"auc": 0.5, "auc.low": 0.6}), NULL, [judge.CONTRADICTION]),
        (Played(2, None, "", "privacygauge: error: no such file", "", 0.0), NULL, [judge.REFUSED]),
        (Played(2, None, "", "one\ntwo", "", 0.0), UNFAIR, [judge.CONTRADICTION, judge.REFUSED]),
        (Played(CRASHED, None, "", "Traceback (most", "", 0.0), NULL, [judge.TRACEBACK]),
        (Played(HUNG, None, "", "", "", 60.0), NULL, [judge.HANG]),
    ],
)
def test_what_is_said_is_judged_by_the_truth(played, truth, kinds, tmp_path):
    assert [finding.kind for finding in judge.judged(played, truth, tmp_path)] == kinds


@pytest.mark.parametrize(
    ("keeps", "before", "after", "wrong"),
    [
        ("everything", "nothing found", "small", True),
        ("everything", "small", "small", False),
        ("grade", "nothing found", "small", False),
        ("leak", "small", "nothing found", False),
    ],
)
def test_relations_keep_what_they_say(keeps, before, after, wrong):
    relation = Relation("shuffled", {}, keeps)
    assert bool([*judge.kept(relation, said(before), said(after))]) == wrong


def test_a_play_that_does_not_end_is_stopped(tmp_path):
    def forever():
        while True:
            pass

    assert call(forever, tmp_path, cpu=0.02).exit_code == HUNG


def test_an_exception_is_a_traceback(tmp_path):
    played = call(lambda: 1 // 0, tmp_path)
    assert played.exit_code == CRASHED
    assert "ZeroDivisionError" in played.stderr


def test_rates_have_exact_intervals():
    low, high = Rate(0, 60).interval()
    assert low == 0
    assert high == pytest.approx(1 - 0.025 ** (1 / 60))
    assert Rate(3, 10).beyond(0.05) == pytest.approx(0.0115, abs=1e-4)


def test_one_command_replays_a_world(toy, capsys):
    assert main(["--world", "toy:3:a=two,b=on"]) == 1
    printed = capsys.readouterr().out
    assert "truth: nothing leaks, the comparison is fair" in printed
    assert "verdict: small" in printed
    assert "WRONG false alarm" in printed
    assert main(["--world", "toy:3:release=leak"]) == 0
    assert "oracle: 0.7 (0.6 to 0.8)" in capsys.readouterr().out


def test_a_relation_that_a_world_does_not_keep_is_found(toy):
    toy.relations = (Relation("b put on", {"b": "on"}, "everything", {"a": ("two",)}),)
    found = games.game(toy.world(1, {"a": "two"})).findings
    assert [finding.kind for finding in found] == [judge.RELATION]
    assert not games.game(toy.world(1, {"a": "three"})).findings


def test_games_of_one_world_are_counted(toy, capsys):
    assert main(["--world", "toy:3:a=two,b=on", "--games", "5"]) == 0
    first, *others = capsys.readouterr().out.splitlines()
    assert first.startswith("| `a=two,b=on` | 5 of 5: 100.0% (47.8% to 100.0%) | 0 of 5")
    assert others == [f"toy:{seed}:a=two,b=on: small, false alarm" for seed in range(3, 8)]
    main(["--world", "toy:3:release=leak", "--games", "4"])
    assert "4 of 4: 100.0% (39.8% to 100.0%) |" in capsys.readouterr().out.splitlines()[0]
