"""Coins that were tossed before a training: what an audit says of them, and when it refuses."""

import json

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.language.audited import bound_by_person
from privacygauge.language.scores import as_text_scores
from privacygauge.language.splitting import Coins
from privacygauge.report import render
from tests.thorough import quarter

pytestmark = pytest.mark.usefixtures("undrawn")


def played(n=100, leak=0.0, seed=0, texts=3, joined=0):
    """Return energies of people whom coins dealt, and the coins; the first `joined` share one."""
    rng = np.random.default_rng(seed)
    coin = np.arange(n)
    coin[:joined] = 0
    inside = (rng.random(n) < 0.5)[coin]
    person = np.repeat(np.arange(n), texts)
    reference = rng.normal(9.0, 0.5, len(person))
    target = reference + rng.normal(0, 0.3, len(person)) + rng.normal(0, 0.3, n)[person]
    scores = {
        "sample": [f"s{i}" for i in range(len(person))],
        "group": [f"p{i}" for i in person],
        "member": inside[person].astype(int),
        "energy_target": target - leak * inside[person],
        "energy_reference": reference,
    }
    side = ["member" if x else "nonmember" for x in inside]
    people = {f"p{i}": (side[i], int(coin[i])) for i in range(n)}
    return scores, Coins(seed, "", {"member": "", "nonmember": ""}, people)


def test_a_leak_gives_a_bound_for_each_person_and_the_report_says_why_it_is_honest():
    scores, coins = played(200, leak=1.0)
    audit = pg.audit_language(scores, coins=coins)
    assert audit.one_run.name == "one-run"
    assert 1.0 < audit.one_run.estimate.low < audit.one_run.largest
    report = audit.report()
    assert report.numbers["patient-epsilon"] == audit.one_run.estimate.low
    assert "honest by construction" in render.page(report)
    assert "fair coin for every person" in audit.game.secret
    kept = json.loads(audit.to_json())
    assert kept["measures"]["patient-epsilon"] == audit.one_run.estimate.low


def test_without_coins_there_is_no_such_bound():
    audit = pg.audit_language(played(40)[0])
    assert audit.one_run is None
    assert audit.report().numbers["patient-epsilon"] is None
    assert "honest by construction" not in audit.summary()
    assert "came with the data" in audit.game.secret


@pytest.mark.slow
def test_bounds_exceed_nothing_where_nothing_leaks():
    n = quarter(300)
    above = 0
    for seed in range(n):
        scores, coins = played(60, seed=seed, texts=2, joined=5)
        bound = bound_by_person(as_text_scores(scores), coins, seed, 0.9)
        above += bound.estimate.low > 0
        assert bound.estimate.n <= 56
    assert above <= 0.1 * n + 3 * np.sqrt(0.09 * n)


def test_the_bound_does_not_exceed_a_known_epsilon():
    """Randomised response on every person: scores are right with probability e^eps/(1+e^eps)."""
    epsilon = 1.0
    n = 100
    above = 0
    right = 1 / (1 + np.exp(-epsilon))
    for seed in range(n):
        scores, coins = played(100, seed=seed, texts=1)
        rng = np.random.default_rng(seed)
        member = np.array(scores["member"]) == 1
        said = np.where(rng.random(100) < right, member, ~member)
        scores["energy_target"] = np.asarray(scores["energy_reference"]) - 0.5 * said
        bound = bound_by_person(as_text_scores(scores), coins, seed, 0.9).estimate.low
        above += bound > epsilon
    assert above <= 0.1 * n + 3 * np.sqrt(0.09 * n)


def test_somebody_on_the_other_side_is_refused():
    scores, coins = played(40)
    scores["member"] = 1 - np.array(scores["member"])
    with pytest.raises(InputError, match=r"'p\d+' must be a (non-)?member by the coins"):
        pg.audit_language(scores, coins=coins)
    scores["group"] = [f"q{name}" for name in scores["group"]]
    with pytest.raises(InputError, match="got nobody"):
        pg.audit_language(scores, coins=coins)


def test_people_who_share_a_coin_count_once():
    scores, coins = played(40, joined=10)
    assert pg.audit_language(scores, coins=coins).one_run.estimate.n == 31


def test_a_control_that_fires_is_weighed_against_the_coins():
    scores, coins = played(200)
    scores["energy_reference"] = np.asarray(scores["energy_reference"]) + scores["member"]
    scores["energy_target"] = np.asarray(scores["energy_target"]) + scores["member"]
    audit = pg.audit_language(scores, coins=coins)
    assert "reference" in audit.controls.void
    assert "was not trained on the members as they were dealt" in audit.summary()
