"""Who is defended in which game, and what a defence may be fitted on."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from privacygauge.claims.defences.defence import LabelOnly, defend_predictions
from privacygauge.claims.defences.judging import defence_attacks, defence_games
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import title
from tests.classifiers.made import made_up


@dataclass
class Watched:
    """Answers with what it was given, and remembers what it was fitted on and asked."""

    fits: list = field(default_factory=list)
    asked: list = field(default_factory=list)
    name = "watched"
    variant = ""

    def fit(self, p, member, rng):
        self.fits.append((p, member))
        return self

    def answer(self, p, rng):
        self.asked.append(p)
        return p


def rows_of(p):
    return {row.tobytes() for row in p}


def test_no_nonmember_is_answered_by_a_defence_that_was_fitted_on_it():
    before = made_up(n=101)
    watched = Watched()
    after = defend_predictions(watched, before, np.random.default_rng(0))
    assert np.array_equal(before.values, after.values)
    members, others = (rows_of(before.values[x]) for x in (before.member, ~before.member))
    answered = set()
    for (known, member), asked in zip(watched.fits, watched.asked, strict=True):
        assert rows_of(known[member]) == members
        seen = rows_of(known[~member])
        assert seen < others
        assert len(seen) >= len(others) // 2 - 3
        assert not seen & rows_of(asked)
        answered |= rows_of(asked)
    assert answered == members | others


def test_owners_records_are_all_that_the_defence_is_fitted_on():
    before = made_up(n=50)
    owner = made_up(n=80, seed=1)
    watched = Watched()
    defend_predictions(watched, before, np.random.default_rng(0), owner=owner)
    [(known, member)] = watched.fits
    assert np.array_equal(known, owner.values)
    assert np.array_equal(member, owner.member)
    [asked] = watched.asked
    assert np.array_equal(asked, before.values)


def test_who_is_defended_in_which_game():
    target = made_up()
    shadow = made_up(seed=1)
    games = defence_games(LabelOnly(), target, shadow, np.random.default_rng(0))
    assert games.undefended.target is target
    assert games.undefended.shadow is shadow
    assert games.non_adaptive.shadow is shadow
    assert games.adaptive.target is games.non_adaptive.target
    for defended_model in (games.adaptive.target, games.adaptive.shadow):
        assert set(np.unique(defended_model.values)) == {0.0, 1.0}


def test_the_suite_has_the_attacks_that_defences_are_known_to_forget():
    names = [title(x.name, x.variant, x.thresholds) for x in defence_attacks()]
    assert len(set(names)) == len(names)
    assert {"learned (gradient-boosting)", "neural-nasr", "neural-jia (sorted)"} < set(names)
    assert "scaled-logit (global)" in [
        title(x.name, x.variant, x.thresholds) for x in defence_attacks(logits=True)
    ]


def test_an_owner_of_another_model_is_refused():
    with pytest.raises(InputError, match="have 4 classes, the target's 5"):
        defend_predictions(LabelOnly(), made_up(), np.random.default_rng(0), owner=made_up(k=4))
