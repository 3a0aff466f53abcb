from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Round, Scores, Shadow, play
from privacygauge.core.rules import best_threshold
from tests.laws.draws import SEEDS, shadows

ANY = np.random.default_rng(0)


def observed(shadow: Shadow, seed: int) -> Observation:
    """Return targets with values of the shadow records and values between them."""
    rng = np.random.default_rng(seed)
    signal = rng.choice(shadow.signals["s"], 30) + rng.choice([0.0, 0.05, -0.05], 30)
    return Observation({"s": signal}, rng.integers(6, size=30), shadow)


@given(shadows(), SEEDS)
def test_per_class_it_guesses_member_where_the_signal_reaches_its_class_threshold(
    shadow: Shadow, seed: int
) -> None:
    seen = observed(shadow, seed)
    dealt = Round(seen, np.arange(30) < 15, np.arange(30))
    guess = play(Threshold("s"), [dealt], [ANY]).decisions.guess
    signal = shadow.signals["s"]
    member = shadow.member
    for row in range(30):
        own = shadow.stratum == seen.stratum[row]
        rows = own if (member[own].any() and not member[own].all()) else np.ones_like(member)
        cut = best_threshold(signal[rows & member], signal[rows & ~member])
        assert guess[row] == (seen.signals["s"][row] >= cut)


@given(shadows(), SEEDS)
def test_globally_the_score_is_the_signal_and_the_guess_its_threshold(
    shadow: Shadow, seed: int
) -> None:
    seen = observed(shadow, seed)
    result = Threshold("s", per_class=False).score(seen, ANY)
    assert isinstance(result, Scores)
    assert result.value.tolist() == seen.signals["s"].tolist()
    signal = shadow.signals["s"]
    member = shadow.member
    assert result.rule.threshold == best_threshold(signal[member], signal[~member])
    assert result.notes == ()


def test_classes_that_fall_back_are_named_if_a_target_is_of_them() -> None:
    shadow = Shadow({"s": np.arange(4.0)}, np.array([0, 1, 1, 0]), np.array([0, 0, 1, 2]))
    seen = Observation({"s": np.zeros(3)}, np.array([0, 2, 5]), shadow)
    result = Threshold("s").score(seen, ANY)
    assert result.notes == (
        "2 class(es) lack shadow members or shadow non-members and fall back to the global "
        "threshold: 2, 5",
    )
    many = Observation({"s": np.zeros(30)}, np.arange(30), shadow)
    (note,) = Threshold("s").score(many, ANY).notes
    assert note.endswith("global threshold: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...")


def test_it_is_named_by_its_signal_and_kind() -> None:
    attack = Threshold("entropy", per_class=False)
    assert (attack.name, attack.variant, attack.thresholds) == ("entropy", "", "global")
    assert Threshold("entropy").thresholds == "per-class"


@pytest.mark.parametrize("per_class", [True, False])
def test_it_is_skipped_without_shadow_records_or_without_the_signal(per_class: bool) -> None:
    shadow = Shadow({"s": np.zeros(2)}, np.array([True, False]), np.zeros(2))
    attack = Threshold("s", per_class)
    values = {"s": np.zeros(2)}
    other = {"t": np.zeros(2)}
    bare = attack.score(Observation(values, np.zeros(2)), ANY)
    assert bare == Skipped("s", "needs shadow records with known membership")
    unseen = Skipped("s", "the observation has no signal 's'")
    assert attack.score(Observation(other, np.zeros(2), shadow), ANY) == unseen
    blind = Shadow(other, shadow.member, shadow.stratum)
    assert attack.score(Observation(values, np.zeros(2), blind), ANY) == unseen
