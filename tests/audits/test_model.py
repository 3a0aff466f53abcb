import json

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from privacygauge.classifiers.audit.models import audit_model
from privacygauge.classifiers.fitted import Fitted
from privacygauge.classifiers.suite import METRICS, pool_attacks, single_record_attacks
from privacygauge.core.attacks.threshold import Coin, Threshold
from privacygauge.errors import InputError
from privacygauge.runs.store import read_run
from tests.classifiers.test_shadows import SEED, failing
from tests.classifiers.trainers import Counted, records

X, Y = records(n=60, k=3)
QUICK = (*(Threshold(name) for name in METRICS), *single_record_attacks("shared"))


def tree(random_state):
    return DecisionTreeClassifier(random_state=random_state)


def played(model, x=X, y=Y, **options):
    return audit_model(model, x, y, **{"n_shadows": 6, "attacks": QUICK, **options})


def constant(x):
    return np.full((len(x), 3), 1 / 3)


def ignorant(x, y, random_state):
    """Learn the means alone, and say the same of all."""
    known = np.exp(x.mean(axis=0))
    return lambda x: np.tile(known / known.sum(), (len(x), 1))


@pytest.mark.slow
def test_the_whole_suite_finds_a_model_that_knows_its_members_by_heart():
    x, y = records(n=200, k=2)
    audit = audit_model(Counted(), x, y, n_shadows=6)
    # Such a model is right about everybody, so that correctness ranks nobody.
    assert {e.name for e in audit.evaluations} == {a.name for a in pool_attacks()} - {"correctness"}
    assert audit.headline.accuracy.low > 0.8
    for name in ("confidence", "lira-online", "rmia", "distance", "neural-nasr"):
        assert max(e.auc.value for e in audit.evaluations if e.name == name) > 0.95
    names = [s.name for s in audit.skipped if not s.name.startswith("slices")]
    assert names == ["correctness (per-class)", "correctness (global)"]
    assert "6 models of its own" in audit.game.adversary
    assert "fair coin" in audit.game.secret
    assert audit.origin.provenance["shadow models"] == "6"


def test_a_model_that_answers_the_same_to_everybody_is_not_judged():
    with pytest.raises(InputError, match="predictions are the same for every record"):
        played(ignorant)


@pytest.mark.slow
def test_equal_seeds_give_equal_bytes_with_and_without_a_folder(tmp_path):
    first, again = (played(tree, seed=3, run=run).to_json() for run in (None, tmp_path))
    assert first == again
    assert played(tree, seed=3, run=tmp_path, n_jobs=2).to_json() == first
    other = played(tree, seed=4)
    assert other.to_json() != first
    assert json.loads(first)["seed"] == 3


@pytest.mark.slow
def test_further_shadow_models_change_no_coin_and_no_model_of_the_earlier_ones(tmp_path):
    few = played(tree, n_shadows=4, run=tmp_path / "4")
    many = played(tree, n_shadows=9, run=tmp_path / "9")
    assert np.array_equal(few.records.member, many.records.member)
    for name in ("member", "prediction"):
        runs = [read_run(tmp_path / n).array(name)[:] for n in ("4", "9")]
        assert np.array_equal(runs[0], runs[1][:5])


@pytest.mark.slow
def test_a_further_attack_changes_no_others_numbers():
    alone = played(tree)
    more = played(tree, attacks=(Coin(), *QUICK[::-1]))
    found = {e.title: e for e in more.evaluations}
    assert len(found) == len(alone.evaluations) + 1
    for e in alone.evaluations:
        assert (found[e.title].accuracy, found[e.title].auc) == (e.accuracy, e.auc)
    assert np.array_equal(alone.records.risk, more.records.risk)


@pytest.mark.slow
def test_a_run_is_gone_on_with(tmp_path):
    expected = played(Counted()).to_json()
    cut = Counted(stop_after=3)
    rest = Counted()
    with pytest.raises(KeyboardInterrupt):
        played(cut, run=tmp_path)
    assert played(rest, run=tmp_path).to_json() == expected
    assert (len(cut.trained), len(rest.trained)) == (3, 4)


@pytest.mark.slow
def test_a_model_that_exists_is_audited_on_the_members_it_has(tmp_path):
    member = np.arange(60) % 5 < 2
    model = DecisionTreeClassifier(random_state=0).fit(X[member], Y[member])
    told = []
    audit = played(
        tree, fitted=Fitted(model, member), run=tmp_path, progress=lambda *n: told.append(n)
    )
    assert told[-1] == (6, 6)  # no target is trained
    assert np.array_equal(audit.records.member, member)
    assert "no coins were drawn" in audit.game.secret
    assert audit.headline.accuracy.low > 0.5
    # A tree knows its members by heart.
    assert audit.facts[0].estimate.value == 1.0
    by_function = played(tree, fitted=Fitted(model.predict_proba, member))
    assert by_function.records.scores.keys() == audit.records.scores.keys()


class Logits(Counted):
    """The same as logits."""

    dtype = "float64"

    def train(self, cohort):
        return np.log(super().train(cohort))


@pytest.mark.slow
def test_networks_beside_a_model_that_gives_probabilities_are_compared_as_probabilities():
    member = np.arange(60) % 2 == 0
    model = GaussianNB().fit(X[member], Y[member])
    logits = played(Logits(logits=True), fitted=Fitted(model, member))
    probs = played(Counted(), fitted=Fitted(model, member))
    for a, b in zip(logits.evaluations, probs.evaluations, strict=True):
        assert a.auc.value == pytest.approx(b.auc.value, abs=1e-9), a.title
    assert "scaled-logit" not in {e.name for e in played(Counted(), attacks=None).evaluations}
    assert "scaled-logit" in {e.name for e in played(Logits(logits=True), attacks=None).evaluations}


@pytest.mark.slow
@pytest.mark.parametrize("trainer", [Counted(), Logits(logits=True)], ids=["probs", "logits"])
def test_a_fitted_function_may_give_logits(trainer):
    member = np.arange(60) % 2 == 0
    model = GaussianNB().fit(X[member], Y[member])
    probs = played(trainer, fitted=Fitted(model, member))
    logits = played(trainer, fitted=Fitted(model.predict_log_proba, member))
    for a, b in zip(logits.evaluations, probs.evaluations, strict=True):
        assert a.auc.value == pytest.approx(b.auc.value, abs=1e-9), a.title


def test_shadow_models_that_failed_are_named_in_the_report():
    x, y = records()
    audit = played(failing([2, 4], SEED), x, y, seed=SEED, n_shadows=5)
    assert any(line.startswith("2 of 5 shadow models failed") for line in audit.warnings)
    assert audit.origin.provenance["shadow models"] == "3"
    assert "3 models of its own" in audit.game.adversary


def test_records_that_only_one_side_holds_are_counted_in_a_warning():
    audit = played(tree, n_shadows=2)
    (line,) = [line for line in audit.warnings if "train more shadow models" in line]
    number = int(line.split(" of ")[0])
    # Two coins agree half of the time.
    assert 15 <= number <= 45
    assert "of 60 records are in all of the 2 shadow models or in none" in line


@pytest.mark.slow
def test_features_with_holes_skip_the_attack_that_looks_at_them():
    x = X.copy()
    x[3, 1] = np.nan
    audit = audit_model(Counted(), x, Y, n_shadows=4)
    (left_out,) = [s for s in audit.skipped if s.name == "untargeted"]
    assert "needs the features" in left_out.reason


@pytest.mark.slow
def test_records_keep_the_users_names_and_groups():
    ids = np.array([f"r{i}" for i in range(60)])
    audit = played(tree, ids=ids, slices={"ward": np.arange(60) % 2})
    frame = audit.to_frame()
    assert frame["id"].tolist() == ids.tolist()
    assert any(part.column == "ward" for part in audit.slices.slices)
    assert np.array_equal(audit.records.member, played(tree).records.member)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, r"level must be in \(0, 1\), got 1.0"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"n_shadows": 0}, "n_shadows must be at least 1, got 0"),
        ({"n_jobs": 0}, "n_jobs must be at least 1"),
        ({"model": LinearSVC()}, "LinearSVC has no predict_proba"),
        ({"x": X[:5]}, r"x must have the shape \(n, d\) with n = 60"),
        ({"x": X[:0], "y": Y[:0]}, "hold no records"),
        ({"y": [None] * 60}, "y must have a value in every row"),
        ({"y": np.zeros(60, int)}, "training failed|a single class"),
        ({"fitted": Fitted(constant, [1, 0])}, "member must have 60 rows, got 2"),
        ({"fitted": Fitted(constant, np.ones(60))}, "no non-members"),
        ({"fitted": Fitted(lambda x: x[:, :2], np.arange(60) % 2)}, r"must predict probabilities"),
        ({"fitted": Fitted(3, np.arange(60) % 2)}, "int has no predict_proba"),
        ({"ids": [1]}, "ids must have 60 rows, got 1"),
        ({"slices": {"ward": [1]}}, "column 'ward' must have 60 rows"),
    ],
)
def test_bad_input_is_named(options, message):
    given = {"model": tree, "x": X, "y": Y, "n_shadows": 2, "attacks": QUICK[:1], **options}
    with pytest.raises(InputError, match=message):
        audit_model(given.pop("model"), given.pop("x"), given.pop("y"), **given)
