"""Table 4 of Song & Mittal (2021), the rows of Location30: counts, not estimates.

The predictions are the authors' own. Reference: the paper's Table 4, and the integer counts of
true and false positives that its percentages come from.
"""

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.classifiers.suite import METRICS
from privacygauge.core.rules import best_threshold

# (true positives, false positives) of 1,000 members and 1,000 non-members.
COUNTS = {
    "tc_output": {
        "correctness": (1000, 626),
        "confidence": (999, 473),
        "entropy": (999, 768),
        "modified-entropy": (999, 437),
    },
    "defense_output": {
        "correctness": (1000, 626),
        "confidence": (992, 611),
        "entropy": (983, 941),
        "modified-entropy": (989, 613),
    },
}
TABLE_4 = {
    "tc_output": ("68.7", "76.3", "61.6", "78.1"),
    "defense_output": ("68.7", "69.1", "52.1", "68.8"),
}


@pytest.fixture(scope="module", params=["tc_output", "defense_output"])
def case(request, data_folder):
    with np.load(data_folder / "location_labels_membership.npz") as known:
        labels = {side: known[f"y_{side}"] for side in ("target", "shadow")}
        member = {side: known[f"member_{side}"] for side in ("target", "shadow")}
    both = []
    for side in ("target", "shadow"):
        with np.load(data_folder / f"location_{side}_predictions.npz") as file:
            probs = file[request.param]
        both.append(pg.predictions(probs=probs, labels=labels[side], member=member[side]))
    return request.param, *both


@pytest.fixture(scope="module")
def audit(case):
    _, target, shadow = case
    return pg.audit_classifier(target, shadow)


def attack(audit, name, thresholds):
    return next(e for e in audit.evaluations if (e.name, e.thresholds) == (name, thresholds))


@pytest.mark.slow
def test_table_4_to_the_digit(case, audit):
    for (name, counts), percent in zip(COUNTS[case[0]].items(), TABLE_4[case[0]], strict=True):
        found = attack(audit, name, "per-class")
        assert (found.true_positives, found.false_positives) == counts
        share = Decimal(counts[0] + 1000 - counts[1]) / 20
        assert str(share.quantize(Decimal("0.1"), ROUND_HALF_UP)) == percent
        assert found.accuracy.value == (counts[0] + 1000 - counts[1]) / 2000


@pytest.mark.slow
@pytest.mark.parametrize("case", ["tc_output"], indirect=True)
def test_class_dependent_entropy_is_worse_than_one_threshold_when_undefended(audit):
    per_class, overall = (attack(audit, "entropy", x) for x in ("per-class", "global"))
    assert per_class.accuracy.value == 0.6155
    assert overall.accuracy.value == 0.6345


@pytest.mark.slow
@pytest.mark.parametrize("case", ["defense_output"], indirect=True)
def test_the_learned_attack_beats_every_metric_on_memguard(audit):
    learned = next(e for e in audit.evaluations if e.name == "learned")
    metrics = [e for e in audit.evaluations if e.name in METRICS]
    assert len(metrics) == 2 * len(METRICS)
    assert learned.auc.low > max(e.auc.high for e in metrics)


def test_the_smallest_of_equally_good_thresholds_misses_the_table(case):
    """Of equally good thresholds the paper's numbers need the largest, not the smallest."""
    name, target, shadow = case
    signal = "modified-entropy" if name == "tc_output" else "entropy"
    from privacygauge.classifiers.signals import signals

    seen = signals(target)[signal]
    known = signals(shadow)[signal]
    guesses = {"largest": np.zeros(len(target), bool), "smallest": np.zeros(len(target), bool)}
    for c in range(target.n_classes):
        inside = known[shadow.member & (shadow.labels == c)]
        outside = known[~shadow.member & (shadow.labels == c)]
        candidates = np.sort(np.concatenate([inside, outside]))
        gain = [
            int((inside >= t).sum()) * len(outside) + int((outside < t).sum()) * len(inside)
            for t in candidates
        ]
        rows = target.labels == c
        guesses["largest"][rows] = seen[rows] >= best_threshold(inside, outside)
        guesses["smallest"][rows] = seen[rows] >= candidates[int(np.argmax(gain))]
    found = {
        key: (int((guess & target.member).sum()), int((guess & ~target.member).sum()))
        for key, guess in guesses.items()
    }
    assert found["largest"] == COUNTS[name][signal]
    assert found["smallest"] != COUNTS[name][signal]


def test_the_audit_warns_that_the_shadow_is_less_accurate(audit):
    assert any("accuracy on non-members differs" in line for line in audit.warnings)
    assert any("risk score is off" in line for line in audit.warnings)


@pytest.mark.slow
def test_isotonic_scores_predict_members_better_than_histograms(case):
    _, target, shadow = case
    error = {}
    for estimator in (pg.attacks.Isotonic(), pg.attacks.Histogram()):
        found = pg.audit_classifier(target, shadow, estimator=estimator)
        error[estimator.name] = float(np.mean((found.records.risk - target.member) ** 2))
    assert error["isotonic"] < error["histogram"]
