from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import SIGNAL, GaussianGame
from privacygauge.core.game import Observation, Play, Round, Scores, Shadow, play
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError


@dataclass(frozen=True)
class Reads:
    """Returns the signal, plus noise of its own; skips rounds with fewer than `least` targets."""

    least: int = 0
    name: str = "reads"
    variant: str = ""
    thresholds: str = "global"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        if len(observation) < self.least:
            return Skipped(self.name, "too few targets")
        value = observation.signals[SIGNAL] + 1e-9 * rng.random(len(observation))
        notes = ("seen", f"a round of {len(observation)}")
        return Scores(value, Cut(float(len(observation))), notes)


def generators(n: int) -> list[np.random.Generator]:
    return [np.random.default_rng(i) for i in range(n)]


def small_round(n: int, first: int = 0) -> Round:
    seen = Observation({SIGNAL: np.arange(n) * 1.5}, np.zeros(n, np.int64))
    return Round(seen, np.arange(n) % 2 == 0, first + np.arange(n))


def test_a_play_joins_its_rounds_row_by_row() -> None:
    played = play(Reads(), [small_round(4), small_round(6, first=10)], generators(2))
    assert isinstance(played, Play)
    t = played.transcript
    d = played.decisions
    assert t.round.tolist() == [0] * 4 + [1] * 6
    assert t.target.tolist() == d.target.tolist() == [*range(4), *range(10, 16)]
    assert t.secret.tolist() == d.secret.tolist() == [True, False] * 5
    assert np.round(t.score, 6).tolist() == [0, 1.5, 3, 4.5, 0, 1.5, 3, 4.5, 6, 7.5]
    # Every round by the rule that came with its own scores: 4 in the first, 6 in the second.
    assert d.guess.tolist() == [False] * 3 + [True] + [False] * 4 + [True] * 2
    assert played.notes == ("seen", "a round of 4", "a round of 6")


def test_every_round_has_a_generator_of_its_own() -> None:
    both = play(Reads(), [small_round(4), small_round(6)], generators(2))
    second = play(Reads(), [small_round(6)], generators(2)[1:])
    assert isinstance(both, Play)
    assert isinstance(second, Play)
    assert both.transcript.score[4:].tolist() == second.transcript.score.tolist()
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        play(Reads(), [small_round(4), small_round(6)], generators(1))


def test_an_attack_that_skips_a_round_is_skipped_with_its_reason() -> None:
    skipped = play(Reads(least=5), [small_round(6), small_round(4)], generators(2))
    assert skipped == Skipped("reads", "too few targets")


def test_an_attack_never_sees_the_secret() -> None:
    seen = GaussianGame(10, 1.0, n_shadow=10, n_worlds=2).deal(1, np.random.default_rng(0))[0]
    assert not hasattr(seen.observation, "secret")
    assert set(vars(seen.observation)) == {"signals", "stratum", "shadow", "worlds"}


def test_classes_are_counted_among_targets_and_shadow_records() -> None:
    signals = {"a": np.zeros(2)}
    member = np.array([True, False])
    assert Observation(signals, np.array([0, 2])).n_classes == 3
    for largest in (1, 2, 5):
        shadow = Shadow(signals, member, np.array([0, largest]))
        assert Observation(signals, np.array([2, 0]), shadow).n_classes == max(3, largest + 1)
    assert Observation({"a": np.zeros(0)}, np.zeros(0)).n_classes == 1


def test_what_is_seen_cannot_be_changed() -> None:
    signal = np.zeros(2)
    stratum = np.zeros(2, np.int64)
    seen = Observation({"a": signal}, stratum)
    signal[0], stratum[0] = 1, 1
    assert seen.signals["a"].tolist() == [0, 0]
    assert seen.stratum.tolist() == [0, 0]
    with pytest.raises(TypeError, match="does not support item assignment"):
        seen.signals["b"] = signal  # type: ignore[index]


def test_rows_must_fit_together() -> None:
    with pytest.raises(InputError, match="signal 'a' must have 2 rows, got 3"):
        Observation({"a": np.zeros(3)}, np.zeros(2))
    with pytest.raises(InputError, match="signal 'a' must be finite, got nan in row 0"):
        Observation({"a": np.full(2, np.nan)}, np.zeros(2))
    with pytest.raises(InputError, match="stratum must have 2 rows, got 1"):
        Shadow({"a": np.zeros(2)}, np.array([True, False]), np.zeros(1))
    with pytest.raises(InputError, match="shadow records must hold both members and non-members"):
        Shadow({"a": np.zeros(2)}, np.array([True, True]), np.zeros(2))
    seen = Observation({"a": np.zeros(2)}, np.zeros(2))
    with pytest.raises(InputError, match="secret must have 2 rows, got 3"):
        Round(seen, np.array([True, False, True]), np.arange(2))
    with pytest.raises(InputError, match="target must have 2 rows, got 3"):
        Round(seen, np.array([True, False]), np.arange(3))
    with pytest.raises(InputError, match="scores must be finite, got inf in row 0"):
        Scores(np.array([np.inf]), Cut(0.0))
