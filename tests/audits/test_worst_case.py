"""Canaries beside ordinary records, on learners whose leak is known."""

import json
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from privacygauge.claims.worst_case_audit.audit import audit_worst_case, compare_worst_cases
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.errors import InputError
from tests.classifiers.trainers import Counted, records

pytestmark = pytest.mark.usefixtures("undrawn")

ATTACKS = (LiraOnline(), Threshold("confidence", per_class=False))
FEW = {"n_canaries": 40, "n_ordinary": 80, "n_models": 8, "fprs": (0.1,), "attacks": ATTACKS}


def rule(x):
    """The class that the features of `records` name, of two."""
    return (x.sum(axis=1) > 1.5).astype(int)


def clear_records(n=160):
    """Return records whose features name their class without exception."""
    x, _ = records(n=n)
    return x, rule(x)


@dataclass(frozen=True)
class Known:
    """A learner of two classes; `sureness` says how sure of the label it is, in log-odds."""

    kind: str
    mu: float = 0.0
    logits: bool = False

    @property
    def name(self):
        return self.kind

    def describe(self):
        return {"kind": self.kind, "mu": self.mu}

    def train(self, cohort):
        named = rule(cohort.x)[cohort.asked]
        y = cohort.y[cohort.asked]
        answers = np.empty(cohort.shape)
        for p, rows, seed in zip(answers, cohort.inside, cohort.seeds, strict=True):
            noise = np.random.default_rng(seed).normal(size=len(y))
            own = expit(self.sureness(y == named, rows[cohort.asked], noise))
            p[np.arange(len(y)), y], p[np.arange(len(y)), 1 - y] = own, 1 - own
        return answers

    def sureness(self, right, inside, noise):
        if self.kind == "ignores labels":
            return np.where(right, 2.0, -2.0) + 0.3 * noise
        if self.kind == "knows all by heart":
            return np.where(inside, 5.0, np.where(right, 2.0, -2.0)) + 0.3 * noise
        if self.kind == "knows exceptions by heart":
            return np.where(right | inside, 3.0, -3.0) + 0.3 * noise
        return self.mu * inside + noise


@cache
def found_of(kind, mu=0.0, **more):
    return audit_worst_case(Known(kind, mu), *clear_records(), **{**FEW, **more})


def test_of_a_learner_that_ignores_labels_canaries_tell_nothing():
    found = found_of("ignores labels")
    for group in (found.canaries, found.ordinary):
        low = group.highest(0.1)[1].estimate.low
        high = group.highest(0.1)[1].estimate.high
        assert low < 0.1 < high
        assert not any(attacked.auc.excludes(0.5) for attacked in group.attacks)


def test_of_one_that_knows_all_by_heart_every_target_is_found():
    found = found_of("knows all by heart")
    for group in (found.canaries, found.ordinary):
        best = group.highest(0.1)[1].estimate
        assert best.value > 0.99
        assert best.low > 0.8


def test_exceptions_known_by_heart_are_seen_in_canaries_alone():
    # The average record looks safe: only the worst case tells.
    found = found_of("knows exceptions by heart")
    worst, usual = (g.highest(0.1)[1].estimate for g in (found.canaries, found.ordinary))
    assert worst.low > 0.8
    assert usual.low < 0.1 < usual.high < 0.4


@pytest.mark.parametrize("mu", [0.5, 2.0])
def test_no_attack_goes_beyond_what_gaussian_privacy_allows(mu):
    # The worst case of a training that hides each record behind normal noise, mu apart.
    found = found_of("private", mu, n_models=16)
    allowed = norm.sf(norm.isf(0.1) - mu)
    for group in (found.canaries, found.ordinary):
        best = group.highest(0.1)[1].estimate
        assert best.low < allowed
        assert best.value > 0.6 * allowed


@pytest.mark.slow
def test_one_seed_gives_one_choice_of_canaries_whatever_is_trained():
    first = found_of("ignores labels")
    second = found_of("private", 1.0)
    assert (first.targets.y == second.targets.y).all()
    assert (first.targets.canaries == second.targets.canaries).all()
    assert (found_of("private", seed=1).targets.canaries != first.targets.canaries).any()


def test_an_attack_more_changes_no_other_s_numbers():
    alone = found_of("private", 1.0, attacks=(LiraOnline(),))
    many = found_of("private", 1.0)
    assert alone.canaries.attacks[0].rates == many.canaries.attacks[0].rates
    assert alone.canaries.attacks[0].auc == many.canaries.attacks[0].auc


def test_a_run_is_not_trained_again(tmp_path):
    trainer = Counted()
    x, y = clear_records()
    few = FEW | {"n_models": 4, "run": tmp_path / "run"}
    first, again = (audit_worst_case(trainer, x, y, **few) for _ in range(2))
    assert len(trainer.trained) == 4
    assert first.to_json() == again.to_json()


@pytest.mark.slow
def test_models_that_fail_are_left_out_and_named():
    x, y = clear_records()
    n_inside = [int(rows.sum()) for rows in audited_rows(x, y)]
    unlucky = n_inside[3]
    found = audit_worst_case(Counted(bad=(unlucky,)), x, y, **FEW)
    assert found.canaries.n_models == FEW["n_models"] - n_inside.count(unlucky)
    assert any("failed" in text for text in found.warnings)
    with pytest.raises(InputError, match="training failed for 8 of 8 models"):
        audit_worst_case(Counted(bad=tuple(n_inside)), x, y, **FEW)


def audited_rows(x, y):
    """Return the training sets that an audit of seed 0 makes."""
    seen = []

    class Spy(Counted):
        def train(self, cohort):
            seen.extend(cohort.inside)
            return super().train(cohort)

    audit_worst_case(Spy(), x, y, **FEW)
    return seen


def test_what_is_told_holds_every_group_attack_and_rate():
    found = found_of("private", 1.0, fprs=(0.1, 0.01))
    told = json.loads(found.to_json())
    (training,) = told["trainings"]
    assert [group["name"] for group in training["targets"]] == ["canaries", "ordinary"]
    worst = found.canaries.highest(0.01)
    assert training["targets"][0]["highest"]["0.01"]["attack"] == worst[0]
    assert training["targets"][0]["highest"]["0.01"]["value"] == worst[1].estimate.value
    frame = found.to_frame()
    assert len(frame) == 2 * 2 * len(found.canaries.attacks)
    text = found.summary()
    assert "Canaries found at 10% false alarms" in text
    # Two attacks on two groups, at two rates and by the area.
    assert f"allows for the choice among {2 * 2 * 3} numbers" in " ".join(
        told["verdict"]["sentences"]
    )
    assert repr(found).startswith("<WorstCaseAudit: Moderate worst-case leak: ")


def test_alone_a_training_is_compared_with_no_other():
    found = found_of("private", 1.0)
    compared = compare_worst_cases(Known("private", 1.0), *clear_records(), **FEW)
    for ours, its in zip(found.groups, compared.none.found.groups, strict=True):
        for a, b in zip(ours.attacks, its.attacks, strict=True):
            assert (a.corrected, a.corrected_auc) == (b.corrected, b.corrected_auc)
    assert found.none.title == found.model == "private"
    shown = found.to_html()
    assert "models that were trained with private" in shown
    assert "without a defence" not in shown


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"n_models": 3}, "n_models must be at least 4, got 3"),
        ({"n_canaries": 0}, "n_canaries and n_ordinary must be at least 1"),
        ({"fprs": (1.5,)}, r"fpr must be in \(0, 1\), got 1.5"),
        ({"attacks": ()}, "attacks and fprs must have at least one entry each"),
        ({"level": 1.0}, r"level must be in \(0, 1\), got 1.0"),
    ],
)
def test_what_cannot_be_is_refused(more, message):
    with pytest.raises(InputError, match=message):
        found_of("private", **more)


def test_another_rate_than_those_asked_for_is_refused():
    with pytest.raises(InputError, match=r"one of those asked for \(\[0.1\]\), got 0.2"):
        found_of("private").canaries.highest(0.2)


@pytest.mark.slow
@pytest.mark.torch
def test_the_bound_of_dp_sgd_holds_for_canaries_and_bites():
    pytest.importorskip("torch")
    from privacygauge.claims.defences.dp_sgd import DpSgd
    from privacygauge.classifiers.networks import MLP, Networks

    x, y = records(n=200, k=3, d=6)
    nets = Networks(MLP((16,)), epochs=10, batch_size=40, learning_rate=0.01)
    private = DpSgd(nets, 2.0, 0.2)
    plain = DpSgd(nets, 0.0, 0.2, clip=1e6)
    more = {"n_canaries": 30, "n_ordinary": 60, "n_models": 16, "fprs": (0.1,)}
    worst = audit_worst_case(private, x, y, **more).canaries.highest(0.1)[1].estimate
    bound = np.exp(private.epsilon(1e-3)) * 0.1 + 1e-3
    assert worst.low <= min(1.0, bound)
    without = audit_worst_case(plain, x, y, **more).canaries.highest(0.1)[1].estimate
    assert without.value > worst.value
