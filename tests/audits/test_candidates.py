import numpy as np
import pytest
from scipy.special import expit
from sklearn.tree import DecisionTreeClassifier

from privacygauge.classifiers.audit.candidates import audit_candidates
from privacygauge.classifiers.candidates import PerTargetDesign, SharedDesign
from privacygauge.classifiers.estimators import Function
from privacygauge.classifiers.suite import candidate_attacks
from privacygauge.classifiers.targeted import Distance
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.report.values import query_names
from tests.classifiers.trainers import Counted, records

X, Y = records(n=24, k=2)
ATTACKS = (Distance(), LiraOnline(), Threshold("confidence", per_class=False))


def played(model, **options):
    given = {"iterations": 4, "n_targets": 6, "design": SharedDesign(12), "attacks": ATTACKS}
    return audit_candidates(model, X, Y, **{**given, **options})


def coin(x, y, random_state):
    """Train nothing."""
    return lambda x: np.full((len(x), 2), 0.5)


def fixed(x, y, random_state):
    """Train nothing, and answer by the features alone."""
    return lambda x: np.column_stack([expit(x[:, 0]), expit(-x[:, 0])])


def noise(x, y, random_state):
    """Train nothing, and answer at random."""
    rng = np.random.default_rng(random_state)
    return lambda x: rng.dirichlet((1.0, 1.0), len(x))


# Not tried, since training that ignores its records is refused.
fixed, noise = (Function(train, tried=True) for train in (fixed, noise))


@pytest.mark.slow
@pytest.mark.parametrize("design", [SharedDesign(12), PerTargetDesign(3, 6)], ids=lambda d: d.name)
def test_records_that_a_model_knows_by_heart_are_found(design):
    found = played(Counted(), design=design)
    names = [e.name for e in found.evaluations]
    assert names == ["distance", "lira-online", "confidence"]
    for evaluation in found.evaluations:
        assert evaluation.accuracy.value > 0.95
        per = found.per_target[evaluation.title]
        assert np.array_equal(per.target, found.targets)
        # Each target is attacked in both models of each iteration, and once a member.
        assert per.n.tolist() == [8] * 6
    assert found.pdtp is None
    assert found.mean_pdtp is None
    assert dict(found.correlations) == {}
    assert found.train_accuracy.value == 1.0
    assert found.train_accuracy.n == 8


@pytest.mark.slow
def test_a_model_that_learns_nothing_gives_one_half_or_no_ranking():
    with pytest.raises(InputError, match="every record the same score"):
        played(coin)
    found = played(fixed)
    assert "distance (shared)" in {s.name for s in found.skipped}
    for evaluation in found.evaluations:
        # A target is a member in half of its models, and guessed alike in all of them.
        assert evaluation.accuracy.value == 0.5
        assert (found.per_target[evaluation.title].accuracy == 0.5).all()


@pytest.mark.slow
def test_pdtp_is_measured_and_compared_with_the_accuracies():
    found = played(DecisionTreeClassifier(max_depth=2), measurements=2)
    assert found.measured.shape == (2, 6)
    assert np.array_equal(found.pdtp, found.measured.mean(axis=0))
    assert found.mean_pdtp.value == pytest.approx(found.pdtp.mean())
    assert set(found.correlations) == {e.title for e in found.evaluations}
    frame = found.to_frame()
    assert frame["row"].tolist() == found.targets.tolist()
    assert np.array_equal(frame["pdtp"], found.pdtp)
    for title in found.per_target:
        accuracy, low, high = query_names([title, f"{title} low", f"{title} high"])
        assert (frame[low] <= frame[accuracy]).all()
        assert (frame[accuracy] <= frame[high]).all()
    nothing = played(fixed, measurements=1)
    assert (nothing.pdtp == 0).all()
    assert all(isinstance(c, Skipped) for c in nothing.correlations.values())


@pytest.mark.slow
def test_equal_seeds_give_equal_results_and_a_further_attack_changes_no_others(tmp_path):
    model = DecisionTreeClassifier(max_depth=2)
    first = played(model, run=tmp_path, measurements=1)
    again = played(model, run=tmp_path, measurements=1, attacks=ATTACKS[::-1])
    other = played(model, seed=1)
    by_title = {e.title: e for e in again.evaluations}
    for evaluation in first.evaluations:
        assert by_title[evaluation.title].auc == evaluation.auc
        assert by_title[evaluation.title].accuracy == evaluation.accuracy
    assert np.array_equal(first.pdtp, again.pdtp)
    assert not np.array_equal(first.targets, other.targets)


@pytest.mark.slow
def test_the_suite_is_played_where_nothing_is_given():
    found = played(Counted(), attacks=None)
    assert {"untargeted", "distance", "frequency", "lira-online", "bavaria"} <= {
        e.name for e in found.evaluations
    }
    assert found.skipped == ()


def test_an_attack_that_needs_more_than_there_is_is_named():
    found = audit_candidates(
        noise, X.astype(str), Y, iterations=2, n_targets=8, design=SharedDesign(4)
    )
    assert [s.name for s in found.skipped] == ["untargeted"]
    assert len(found.evaluations) == len(candidate_attacks("shared")) - 1


def test_bad_input_is_named():
    with pytest.raises(InputError, match="level must be in"):
        played(coin, level=0.0)
    with pytest.raises(InputError, match=r"n_targets must be in 1\.\.24"):
        played(coin, n_targets=99)
    with pytest.raises(InputError, match="seed must be"):
        played(coin, seed=-1)
    with pytest.raises(InputError, match="no attack could be played"):
        audit_candidates(
            coin, X.astype(str), Y, iterations=1, n_targets=2, design=SharedDesign(2), attacks=()
        )
