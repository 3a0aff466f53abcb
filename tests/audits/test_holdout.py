"""Test-set reuse: what bounds and attacks come to, beside the formulas and loops they stand for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacygauge as pg
from privacygauge.core import seeds
from privacygauge.errors import InputError
from privacygauge.leaderboards import bounds
from privacygauge.leaderboards.analysts import ATTACKS, play, trials, uniform_holdout
from privacygauge.leaderboards.bound_audit.audit import OPEN, SAFE, SOUND, UNKNOWN, WORN, grade
from privacygauge.leaderboards.bounds import honest_best_of_k, majority_bias, nb_bias, scan_bias
from privacygauge.leaderboards.contest import read_labels, read_logits
from privacygauge.leaderboards.designed import (
    DesignedQueries,
    designed_bias,
    designed_points,
    designed_submissions,
    n_labels_found,
)
from privacygauge.leaderboards.guards import guard_named
from privacygauge.leaderboards.metrics import metric_named
from privacygauge.leaderboards.oracle import Holdout
from privacygauge.leaderboards.words import OF_METRIC, SCORES
from tests.thorough import times

pytestmark = pytest.mark.usefixtures("undrawn")

RNG = np.random.default_rng
LABELS = RNG(0).integers(0, 3, 120)
MANY = RNG(0).integers(0, 3, 600)
"""Labels of which few draws meet an expectation."""


def attacked(*attacks, guards=("exact",), labels=LABELS, queries=40, n_trials=2, **more):
    return pg.attack_holdout(
        labels, queries, attacks=attacks, guards=guards, trials=n_trials, **more
    )


# -- bounds


def test_the_rows_are_those_of_the_formulas():
    found = pg.holdout_bounds(10_000, 10, 50, accounts=20, guard="round:2", accuracy=0.7)
    n = 10_000
    m = 10
    k = 1_000
    guard = guard_named("round:2")
    assert found.queries == k
    for key, value in {
        "nb": nb_bias(n, m, k, error=guard.error(n)),
        "majority": majority_bias(n, m, k),
        "linear_scan": scan_bias(n, m, k),
        "honest_best_of_k": honest_best_of_k(n, k, accuracy=0.7),
        "theorem_3_1": bounds.theorem_3_1(n, m, k),
        "kl": bounds.guarantee(guard, n, m, k),
        "one_bit": bounds.bits_bias(k, n, m),
    }.items():
        assert found.bias(key).value == pytest.approx(value, rel=1e-12)
    assert found.nats == bounds.transcript_nats(guard, k, n, 2)


@pytest.mark.slow
def test_curves_pass_through_the_rows():
    found = pg.holdout_bounds(5_000, 10, 1_000)
    for curve in found.curves:
        at = np.flatnonzero(curve.queries == 1_000)
        if len(at):
            key = "nb_poisson" if curve.key == "nb" and not found.trusted else curve.key
            assert curve.bias[at[0]] == pytest.approx(found.bias(key).value, rel=1e-9)
        assert (np.diff(curve.bias) >= -1e-9).all()
    assert {c.key for c in found.curves} >= {"nb", "designed", "kl", "honest_best_of_k"}


@pytest.mark.slow
def test_only_attacks_that_apply_to_the_guard_are_called_the_strongest():
    assert pg.holdout_bounds(1_000, 2, 300).strongest.key == "designed"
    assert pg.holdout_bounds(1_000, 2, 300, guard="noise:0.01").strongest.key == "nb"
    assert pg.holdout_bounds(1_000, 2, 300, guard="ladder").strongest is None
    # Three draws a label: the closed form is off, and Poisson counts are preferred.
    seldom = pg.holdout_bounds(1_000, 100, 300)
    assert seldom.strongest.key == "nb_poisson"
    assert not seldom.bias("nb").applies


@pytest.mark.slow
def test_a_simulation_agrees_with_the_closed_form_and_serves_the_ladder():
    found = pg.holdout_bounds(1_000, 2, 400, guard="noise:0.01", simulate=8)
    error = (found.simulated.high - found.simulated.low) / 2
    assert abs(found.simulated.value - found.bias("nb").value) < 2 * error
    behind = pg.holdout_bounds(1_000, 2, 400, guard="ladder", simulate=4)
    assert behind.strongest.key == "nb_simulated"
    assert behind.simulated.low < 0.02


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"n": 10_000, "classes": 2, "queries": 2_000}, WORN),
        ({"n": 10**6, "classes": 2, "queries": 2_000}, OPEN),
        ({"n": 10**9, "classes": 2, "queries": 1}, SAFE),
        ({"n": 10**7, "classes": 2, "queries": 1_000, "guard": "noise:0.01"}, SOUND),
        ({"n": 10**5, "classes": 2, "queries": 50, "guard": "ladder"}, UNKNOWN),
    ],
)
def test_the_grade_compares_with_what_is_allowed(asked, expected):
    found = pg.holdout_bounds(**asked)
    assert grade(found) == expected


@pytest.mark.slow
@given(st.integers(50, 10**6), st.integers(2, 30), st.integers(2, 2_000), st.floats(1e-4, 0.3))
def test_the_inverse_is_one(n, m, k, bias):
    most = designed_submissions(bias, n, m)
    assert designed_bias(n, m, most) <= bias < designed_bias(n, m, most + 1)
    enough = designed_points(bias, m, k)
    assert designed_bias(max(enough, n_labels_found(m, k)), m, k) <= bias * (1 + 1e-12)
    if enough > max(n_labels_found(m, k), 1):
        assert designed_bias(enough - 1, m, k) > bias


def test_points_for_naive_bayes_are_the_fewest():
    allowed = {a.key: a for a in pg.holdout_bounds(10_000, 5, 100, bias=0.02).allowed}
    n = allowed["nb"].points
    assert nb_bias(n, 5, 100) <= 0.02 < nb_bias(n - 1, 5, 100)
    k = allowed["nb"].submissions
    assert nb_bias(10_000, 5, k) <= 0.02 < nb_bias(10_000, 5, k + 1)
    assert pg.holdout_bounds(10_000, 5, 100, guard="ladder").allowed[1].submissions is None


@pytest.mark.parametrize(("n", "m", "k"), [(500, 2, 60), (500, 6, 100)])
def test_designed_queries_gain_what_is_expected(n, m, k):
    rngs = [seeds.stream(0, m, i) for i in range(times(40))]
    found = trials(DesignedQueries(), lambda rng: uniform_holdout(n, m, rng), k, rngs).bias()
    spread = (found.high - found.low) / 4
    # Exact for two classes, within some 10% for more; four standard errors on top.
    slack = 0.0 if m == 2 else 0.1 * designed_bias(n, m, k)
    assert abs(found.value - designed_bias(n, m, k)) < 4 * spread + slack


@pytest.mark.slow
def test_designed_queries_gain_what_is_expected_at_size():
    for n, m, k in [(10_000, 4, 1_000), (10_000, 10, 2_000), (2_000, 20, 1_000)]:
        rngs = [seeds.stream(0, n, m, i) for i in range(times(8))]
        found = trials(DesignedQueries(), lambda rng: uniform_holdout(n, m, rng), k, rngs).bias()  # noqa: B023
        assert designed_bias(n, m, k) == pytest.approx(found.value, rel=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be in 1..10^9, got 0"),
        ({"classes": 1}, "classes must be at least 2, got 1"),
        ({"queries": 0}, "queries must be at least 1, got 0"),
        ({"accounts": 0}, "accounts must be at least 1, got 0"),
        ({"queries": 10**10}, "queries times accounts must be at most 10^9"),
        ({"bias": 0.5}, "bias must be in (0, 0.5), got 0.5"),
        ({"probability": 1.0}, "probability must be in (0, 1), got 1.0"),
        ({"accuracy": 0.0}, "accuracy must be in (0, 1), got 0.0"),
        ({"correlation": 2.0}, "correlation must be in [0, 1], got 2.0"),
        ({"simulate": 1}, "simulate must be 0 or at least 2, got 1"),
        ({"guard": "wall"}, "guard must be one of exact, "),
        ({"seed": -1}, "seed must be an integer of at least 0"),
    ],
)
def test_a_bad_question_gets_one_line(change, message):
    with pytest.raises(InputError) as caught:
        pg.holdout_bounds(**{"n": 100, "classes": 2, "queries": 10, **change})
    assert str(caught.value).startswith(message)


# -- attacks


def test_plays_are_those_of_a_plain_loop():
    guards = ("exact", "round:2")
    found = attacked("nb", "scan", guards=guards, queries=20)
    holdout = Holdout(LABELS, 3)
    for attack in ("nb", "scan"):
        for name in guards:
            rngs = [seeds.stream(0, "holdout", attack, name, i) for i in range(2)]
            made = ATTACKS[attack].make(None)
            plays = [play(made, holdout, 20, rng, guard=guard_named(name)) for rng in rngs]
            result = found.of(attack, name)
            assert result.accuracy.value == pytest.approx(np.mean([p.accuracy for p in plays]))
            assert result.queries_used == np.mean([p.queries_used for p in plays])
            assert result.baseline == 1 / 3


def test_a_further_attack_or_guard_changes_no_other_number():
    alone = attacked("nb")
    more = attacked("majority", "nb", guards=("ladder", "exact"))
    assert more.of("nb", "exact").bias == alone.of("nb", "exact").bias
    # What allows for the choice does change.
    assert alone.worst.corrected == alone.worst.bias
    wide = more.of("nb", "exact")
    assert wide.corrected.low < wide.bias.low < wide.bias.high < wide.corrected.high
    assert wide.corrected.level == pytest.approx(1 - 0.05 / 4)


def test_a_run_goes_on_where_it_was_and_knows_its_own(tmp_path):
    whole = attacked("nb", run=tmp_path / "whole")
    done = []
    again = attacked("nb", run=tmp_path / "whole", progress=lambda *n: done.append(n))
    assert done == [(2, 2)]
    assert again.to_json() == whole.to_json() == attacked("nb").to_json()
    with pytest.raises(InputError, match="holds another run: queries is 40 there and 41 here"):
        attacked("nb", queries=41, run=tmp_path / "whole")
    with pytest.raises(InputError, match="holds another run: labels is"):
        attacked("nb", labels=LABELS[::-1], run=tmp_path / "whole")


def test_an_interrupted_run_comes_to_the_same(tmp_path):
    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attacked("nb", run=tmp_path, progress=stop)
    seen = []
    again = attacked("nb", run=tmp_path, progress=lambda *n: seen.append(n))
    assert seen == [(1, 2), (2, 2)]
    assert again.results == attacked("nb").results


def test_a_model_is_the_baseline_and_an_attack_without_it_is_not_the_worst():
    logits = RNG(1).normal(size=(len(LABELS), 3))
    logits[np.arange(len(LABELS)), LABELS] += 3.0
    found = attacked("nb", "majority", logits=logits, top=2, least_confident=30)
    right = np.mean(logits.argmax(axis=1) == LABELS)
    assert found.model_accuracy == found.of("nb", "exact").baseline == right
    assert found.honest_accuracy == right
    # Starting from a guess it gains something too, and ends far below.
    assert found.of("majority", "exact").bias.value > 0
    assert found.worst.attack == "nb"
    assert found.of("nb", "exact").informed
    assert not found.of("majority", "exact").informed
    assert "30 least confident examples, its 2 likeliest labels" in found.knowledge
    assert found.warnings == (
        "majority cannot use what the attacker knows before: counted from a guess.",
    )
    # Points that are not attacked keep the model's label.
    assert found.worst.accuracy.high <= right + 30 / len(LABELS)


def test_unequal_classes():
    labels = RNG(0).choice(4, 300, p=[0.7, 0.2, 0.08, 0.02])
    blind = attacked("nb", labels=labels, queries=60, prior="uniform")
    # Random labels have 1/m right whatever the classes' shares.
    assert blind.worst.baseline == 0.25
    knowing = attacked("nb", labels=labels, queries=60, prior="classes")
    assert knowing.worst.baseline == knowing.largest_class == np.mean(labels == 0)
    assert knowing.worst.accuracy.value > blind.worst.accuracy.value


@pytest.mark.slow
def test_expected_biases_are_met_on_average():
    labels = RNG(3).integers(0, 2, 400)
    found = attacked("nb", "majority", "majority-blum-hardt", "scan", "designed", labels=labels,
                     queries=80, n_trials=times(12))  # fmt: skip
    for result in found.results:
        error = (result.bias.high - result.bias.low) / 4
        # Four standard errors, and half a point for the closed forms' own.
        assert abs(result.bias.value - result.expected) < 4 * error + 0.005, result.attack
    assert attacked("nb", guards=("ladder",)).worst.expected is None


def test_one_trial_has_no_interval_and_says_so():
    found = attacked("nb", n_trials=1)
    assert found.worst.bias.low == -np.inf
    assert "ask for more" in found.warnings[0]
    for text in (found.summary(), found.to_html(), found.to_json()):
        assert "∞" not in text
        assert "Infinity" not in text


def test_no_submission_gains_nothing_but_chance():
    found = attacked("nb", "designed", queries=0)
    assert {r.queries_used for r in found.results} == {0.0}
    assert abs(found.of("nb", "exact").bias.value) < 0.15


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attacks": ["magic"]}, "attack must be one of nb, majority, "),
        ({"attacks": ["nb", "nb"]}, "attacks must be at least one, each named once, got nb, nb"),
        ({"attacks": []}, "attacks must be at least one"),
        ({"guards": ["exact", "exact"]}, "guards must be at least one, each named once"),
        ({"guards": ["wall"]}, "guard must be one of exact, "),
        ({"queries": -1}, "queries must be at least 0, got -1"),
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"labels": [0, -1]}, "labels must be at least 0, got -1 in row 1"),
        ({"labels": [0.5, 1]}, "labels must be integers, got 0.5 in row 0"),
        ({"labels": [0, np.nan]}, "labels must be integers, got nan in row 1"),
        ({"labels": []}, "labels must be at least one, got none"),
        ({"labels": [[0, 1], [1, 0]]}, "labels must have the shape (n,), got (2, 2)"),
        ({"classes": 2}, "labels must be one or more integers in 0..1"),
        ({"top": 2}, "top needs logits of a base model: give them"),
        ({"temperature": 2.0}, "temperature needs logits"),
        ({"prior": "guess"}, "prior must be uniform or classes, got 'guess'"),
        ({"logits": np.zeros((5, 3))}, "logits must have the shape (n, m) with a row for each"),
        ({"logits": np.full((120, 3), np.nan)}, "logits must be finite"),
        ({"logits": np.zeros((120, 3)), "top": 4}, "top must be in 2..3, got 4"),
        ({"logits": np.zeros((120, 3)), "classes": 4}, "classes must be 3, as logits have, got 4"),
        ({"logits": np.zeros((120, 2))}, "labels must be one or more integers in 0..1"),
        ({"logits": np.zeros((120, 3)), "prior": "classes"}, "prior classes goes without logits"),
        ({"level": 1.0}, "level must be in (0, 1), got 1.0"),
    ],
)  # fmt: skip
def test_a_bad_call_gets_one_line(change, message):
    with pytest.raises(InputError) as caught:
        pg.attack_holdout(**{"labels": LABELS, "queries": 10, **change})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


# -- files


def test_labels_are_read_from_every_kind_of_file(tmp_path):
    np.save(tmp_path / "a.npy", LABELS.astype(np.uint8))
    np.savez(tmp_path / "b.npz", LABELS)
    np.savez(tmp_path / "c.npz", labels=LABELS, other=LABELS[::-1])
    pd.DataFrame({"truth": LABELS}).to_csv(tmp_path / "d.csv", index=False)
    pd.DataFrame({"truth": LABELS}).to_csv(tmp_path / "e.csv", index=False, header=False)
    pd.DataFrame({"truth": LABELS}).to_parquet(tmp_path / "f.parquet")
    for path in sorted(tmp_path.iterdir()):
        assert (read_labels(path) == LABELS).all(), path.name
    ids = [f"p{i:04}" for i in range(len(LABELS))]
    pd.DataFrame({"Id": ids, "truth": LABELS}).to_csv(tmp_path / "g.csv", index=False)
    pd.DataFrame({"truth": LABELS, "id": ids}).to_parquet(tmp_path / "h.parquet")
    for name in ("g.csv", "h.parquet"):
        assert (read_labels(tmp_path / name) == LABELS).all()
    np.save(tmp_path / "z.npy", np.zeros((2, 3)))
    assert read_logits(str(tmp_path / "z.npy")).shape == (2, 3)


def test_labels_may_be_texts(tmp_path, capsys):
    """As the scoring server takes them, and with the same result as their numbers."""
    words = np.array(["ant", "bee", "cat"])[LABELS]
    ids = [f"p{i:04}" for i in range(len(LABELS))]
    pd.DataFrame({"id": ids, "label": words}).to_csv(tmp_path / "a.csv", index=False)
    pd.DataFrame({"label": words}).to_csv(tmp_path / "b.csv", index=False, header=False)
    pd.DataFrame({"label": words}).to_parquet(tmp_path / "c.parquet")
    for named in (*sorted(tmp_path.iterdir()), words, words.tolist(), pd.Series(words)):
        assert (read_labels(named) == LABELS).all(), named
    texts = pg.attack_holdout(tmp_path / "a.csv", 20, trials=2)
    numbers = pg.attack_holdout(LABELS, 20, trials=2)
    assert texts.worst == numbers.worst
    for change, message in (
        ({"metric": "qwk"}, "metric qwk needs the order of the classes"),
        ({"metric": "rmse:0:2"}, "labels in"),
        ({"logits": np.zeros((120, 4))}, "are texts of 3 classes, and logits have 4 columns"),
    ):
        with pytest.raises(InputError, match=message):
            pg.attack_holdout(tmp_path / "a.csv", 20, **change)


def test_files_that_cannot_be_read_get_one_line(tmp_path):
    (tmp_path / "empty.npy").touch()
    np.save(tmp_path / "object.npy", LABELS.astype(object), allow_pickle=True)
    np.savez(tmp_path / "two.npz", a=LABELS, b=LABELS)
    pd.DataFrame({"a": [0], "b": [1]}).to_csv(tmp_path / "wide.csv", index=False)
    pd.DataFrame({"a": ["cat", None]}).to_parquet(tmp_path / "names.parquet")
    expected = {
        "labels.npy": "does not exist",
        "empty.npy": "is damaged or no npy file of numbers",
        "object.npy": "is damaged or no npy file of numbers",
        "two.npz": "must hold one array, or one called labels, got a, b",
        "wide.csv": "must have one column of labels, perhaps beside id, got a, b",
        "names.parquet": "must be integers",
        "notes.txt": "does not exist",
    }
    for name, message in expected.items():
        with pytest.raises(InputError) as caught:
            read_labels(tmp_path / name)
        assert message in str(caught.value)
        assert str(caught.value).count(name) == 1


# -- metrics other than accuracy


OTHERS = ("balanced-accuracy", "top:2", "brier", "logloss:6", "f1", "auc", "mae:0:2", "rmse:0:2")


@pytest.mark.slow
@pytest.mark.parametrize("metric", OTHERS)
def test_a_metric_is_attacked_and_its_gain_is_between_chance_and_the_bound(metric):
    # By F1 so many queries gain next to nothing of so many examples.
    labels = LABELS if metric == "f1" else MANY
    hidden = (labels > 0).astype(int) if metric in ("f1", "auc") else labels
    guards = ("exact", *(["calibrated"] if metric in ("brier", "auc") else []), "ladder:0.1")
    found = attacked("nb", guards=guards, labels=hidden, queries=60, n_trials=4, metric=metric)
    measure = metric_named(metric)
    chance = measure.chance(hidden.astype(float) if measure.numbers else hidden)
    assert (found.metric, found.most) == (metric, pytest.approx(1 - chance))
    for result in found.results:
        assert result.baseline == pytest.approx(chance, abs=1e-3)
        assert result.bias.value == pytest.approx(result.accuracy.value - result.baseline)
        assert result.bias.value <= next(g.kl for g in found.guards if g.guard == result.guard)
        # Theory has a formula for nb behind an exact answer, none for a bisection.
        known = result.attack == "nb" and result.guard != "ladder:0.1"
        assert (result.expected is not None) == known
    exact = found.of("nb", "exact")
    assert exact.bias.value > 0
    assert abs(exact.bias.value - exact.expected) < 2 * (exact.bias.high - exact.bias.low) + 0.02
    said = found.report().verdict
    assert "a score of" in said.sentences[0]
    assert OF_METRIC in said.sentences
    assert SCORES not in said.sentences


def test_an_attack_on_a_metric_knows_the_frequencies_anyway():
    asked = {"metric": "mae:0:2", "labels": MANY}
    found = [attacked("nb", prior=prior, **asked) for prior in ("uniform", "classes")]
    assert found[0].knowledge == found[1].knowledge == "how frequent each hidden value is, no model"
    assert found[0].results == found[1].results


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metric": "wall"}, "metric must be one of accuracy, "),
        ({"metric": "auc"}, "labels must be 0 and 1, and both must occur: the metric is of two"),
        (
            {"metric": "brier", "attacks": ["scan"]},
            "metric brier is attacked by nb, and by bisection",
        ),
        (
            {"metric": "brier", "logits": np.zeros((120, 3))},
            "metric brier is attacked by nb, and by bisection",
        ),
        ({"metric": "brier", "guards": ["ladder"]}, "guard ladder counts right answers, brier has"),
        ({"metric": "mae:0:1"}, "labels must be in [0, 1], got 2 in row"),
        ({"metric": "mae:0:2", "classes": 3}, "mae:0:2 has no classes: leave their number out"),
    ],
)
def test_a_metric_that_does_not_fit_gets_one_line(change, message, monkeypatch):
    # Before any work.
    monkeypatch.setattr("privacygauge.leaderboards.attack_audit.audit.play_contest", None)
    with pytest.raises(InputError) as caught:
        pg.attack_holdout(**{"labels": LABELS, "queries": 10, **change})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_the_attacker_knows_class_frequencies_by_default_where_they_differ():
    rng = np.random.default_rng(3)
    rare = (rng.random(1_000) < 0.01).astype(int)
    skewed = attacked("nb", labels=rare, queries=30)
    assert skewed.knowledge == "how frequent each hidden value is, no model"
    assert skewed.worst.baseline == pytest.approx(1 - rare.mean())
    blind = attacked("nb", labels=rare, queries=30, prior="uniform")
    assert blind.worst.baseline == 0.5
    even = attacked("nb", labels=rng.permutation(1_000) % 2, queries=30)
    assert even.knowledge == "nothing: no model, all classes equally likely"
