from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.evaluate.slices import holm
from privacygauge.leaderboards.history.made import attacked_history, honest_history
from privacygauge.leaderboards.history.record import in_time
from privacygauge.leaderboards.history_audit.audit import GUARDS, audit_leaderboard


def history(attack="nb", accounts=1):
    rng = np.random.default_rng(0)
    sizes = {"n": 400, "m": 2, "teams": 3, "submissions": 8}
    return attacked_history(rng, attack, queries=60, accounts=accounts, **sizes)


@pytest.fixture(scope="module")
def audit():
    return audit_leaderboard(history())


@pytest.fixture(scope="module")
def silent():
    rng = np.random.default_rng(1)
    return audit_leaderboard(honest_history(rng, n=400, teams=3, submissions=8))


def test_findings_are_the_tests_that_stay_small_after_holm(audit):
    raw = np.array([test.p_value for test in audit.tests])
    assert np.all(np.diff(raw) >= 0)
    assert np.allclose(holm(raw), [test.adjusted for test in audit.tests], rtol=1e-12)
    assert [t.stands_out for t in audit.tests] == [t.adjusted <= 0.05 for t in audit.tests]
    assert audit.suspects == ("attacker-0",)


def test_every_flag_is_in_a_finding_and_the_other_way_round(audit):
    frame = audit.to_frame()
    for name in {test.detector.name for test in audit.findings}:
        rows = np.unique(
            np.concatenate([t.rows for t in audit.findings if t.detector.name == name])
        )
        flagged = frame.index[[name in flags.split(",") for flags in frame["flags"]]]
        assert flagged.tolist() == rows.tolist()
    assert set(frame.loc[frame["flags"] != "", "account"]) == {"attacker-0"}


def test_the_level_decides_what_is_a_finding(silent):
    assert silent.findings == ()
    assert audit_leaderboard(history(), level=1 - 1e-12).findings != ()
    smallest = silent.tests[0].adjusted
    assert smallest > 0.05


def test_the_same_seed_gives_the_same_text():
    first, second = (audit_leaderboard(history(), seed=3).to_json() for _ in range(2))
    assert first == second


def test_a_further_guard_changes_no_other_number():
    few, more = (
        json.loads(audit_leaderboard(history(), guards=guards).to_json())
        for guards in (("noise:0.01",), ("round:2", "noise:0.01"))
    )
    assert few["guards"][0] == more["guards"][1]
    assert few["tests"] == more["tests"]


def test_scores_alone(audit):
    bare = audit_leaderboard(replace(history(), answers=None, labels=None))
    # Sixty files may be those of a model that has learnt nothing.
    assert bare.suspects == ()
    assert [(hint.detector.name, hint.accounts) for hint in bare.hints] == [
        ("at-chance", ("attacker-0",))
    ]
    sentences = " ".join(str(said) for said in bare.report().verdict.sentences)
    assert "look whether these files are random" in sentences
    assert bare.copies is None
    names = {replay.guard for replay in bare.replays}
    assert names == set(GUARDS) - {"ladder"}
    assert all(replay.approximate for replay in bare.replays)


def test_copies_of_others_are_counted_and_not_tested():
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 2, (3, 400))
    near = rows[0].copy()
    near[:4] = 1 - near[:4]
    answers = np.stack([rows[0], rows[1], rows[0], near, rows[2], rows[0]])
    accounts = ("a", "b", "b", "c", "a", "a")
    made = in_time(None, accounts, [0.6] * 6, n=400, n_classes=2, answers=answers)
    found = audit_leaderboard(made)
    assert (found.copies, found.shared_copies, found.near_copies) == (2, 1, 1)
    assert found.findings == ()


def test_what_may_mislead_is_said():
    whole = history()
    bare = replace(whole, answers=None, labels=None, n_classes=None)
    rounded = audit_leaderboard(replace(bare, scores=np.minimum(whole.scores + 0.0011, 1)))
    assert any("rounded or noisy" in w for w in rounded.warnings)
    assert any("number of classes" in w for w in rounded.warnings)
    assert rounded.submissions.ladder is None
    off = whole.scores.copy()
    off[3] = 0.1
    assert any("1 of" in w for w in audit_leaderboard(replace(whole, scores=off)).warnings)


def test_error_rates_given_for_accuracies_are_warned_of(silent):
    honest = honest_history(np.random.default_rng(1), n=400, teams=3, submissions=8)
    bare = replace(honest, answers=None, labels=None)
    for scores, told in ((bare.scores, False), (1 - bare.scores, True)):
        found = audit_leaderboard(replace(bare, scores=scores))
        assert told == any("of errors nothing can be told" in text for text in found.warnings)
    assert not any("error rates" in text for text in silent.warnings)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"guards": "ladder"}, "^guards must be a list of names, got the text 'ladder'"),
        ({"guards": ["off"]}, "^guard must be one of exact"),
        ({"level": 1.0}, r"^level must be in \(0, 1\), got 1.0"),
        ({"seed": -1}, "^seed must be an integer"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        audit_leaderboard(history(), **options)
