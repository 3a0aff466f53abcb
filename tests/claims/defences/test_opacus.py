"""DP-SGD by Opacus: the same as PrivacyGauge's own, for more modules, and what it spends."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.claims.claim_audit.audit import audit_dp_sgd
from privacygauge.claims.defences.dp_sgd import (
    DpSgd,
    OpacusDpSgd,
    SubsampledGaussian,
    noise_for,
)
from privacygauge.claims.defences.training import ByOpacus, Private, UndefendedTraining
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.trainer import Trainer
from privacygauge.core.rules import Split
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from tests.claims.defences.test_dp_sgd import known_by_heart, lower
from tests.classifiers.networks import made
from tests.thorough import THOROUGH, crossed, times

torch = pytest.importorskip("torch")
# Opacus alone takes seconds to import: not where tests are only collected.
pytestmark = [
    pytest.mark.torch,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("opacus") is None, reason="opacus is not installed"),
]

NETS = Networks(
    MLP((6,), "tanh"), epochs=3, batch_size=8, optimiser="sgd", learning_rate=0.3, dtype="float64"
)
TRAININGS, SURE = (12, 3) if THOROUGH else (4, 1)
SPENT = [(1.3, 250 / 60000, 3600, 1e-5), (1.0, 0.1, 200, 1e-3), (5.0, 0.9, 10, 1e-5)]


def convolutional(d, k):
    return torch.nn.Sequential(
        torch.nn.Unflatten(1, (1, d)),
        torch.nn.Conv1d(1, 4, 3, padding=1),
        torch.nn.GroupNorm(2, 4),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(4 * d, k),
    )


def with_batch_norm(d, k):
    return torch.nn.Sequential(
        torch.nn.Linear(d, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU(), torch.nn.Linear(4, k)
    )


@pytest.mark.parametrize(
    ("noise", "activation", "optimiser", "sampling_rate"),
    crossed([0.0, 1.5], ["tanh", "relu"], ["adam", "sgd"], [0.03, 0.4]),
)
def test_it_trains_the_same_models_as_our_own(noise, activation, optimiser, sampling_rate):
    """The same coins, noise and steps; at the small rate batches are empty now and then."""
    nets = replace(NETS, make=MLP((6, 5), activation), optimiser=optimiser, weight_decay=0.01)
    nets = replace(nets, learning_rate=0.01 if optimiser == "adam" else 0.3)
    cohort = made.cohort(m=2)
    found = OpacusDpSgd(nets, noise, sampling_rate, 0.3).train(cohort)
    own = DpSgd(nets, noise, sampling_rate, 0.3).train(cohort)
    # Opacus divides by the norm plus 1e-6: each step may differ by that much of itself.
    np.testing.assert_allclose(found, own, rtol=2e-4, atol=2e-5)
    assert np.isfinite(found).all()


def test_results_are_alike_in_distribution():
    """Not the seeds' doing: over other seeds losses have the same mean and spread."""
    n = times(120)
    cohort = made.cohort(m=n)
    loss = []
    for kind, seeds in ((DpSgd, range(n)), (OpacusDpSgd, range(1000, 1000 + n))):
        inside = np.repeat(cohort.inside[:1], n, axis=0)
        logits = kind(NETS, 1.0, 0.2).train(replace(cohort, inside=inside, seeds=seeds))
        logits -= np.log(np.exp(logits).sum(axis=2, keepdims=True))
        loss.append(-logits[:, np.arange(len(cohort.y)), cohort.y].mean(axis=1))
    error = np.sqrt(sum(x.var(ddof=1) / len(x) for x in loss))
    # Four standard errors of the mean and of the logarithm of the standard deviation.
    assert abs(loss[0].mean() - loss[1].mean()) < 4 * error
    assert abs(np.log(loss[0].std() / loss[1].std())) < 4 * math.sqrt(1 / (n - 1))


def test_other_modules_are_trained():
    nets = replace(NETS, make=convolutional, epochs=30)
    cohort = made.cohort(m=1)
    with pytest.raises(InputError, match="train other modules with OpacusDpSgd"):
        DpSgd(nets, 0.0, 0.2).train(cohort)
    defence = OpacusDpSgd(nets, 0.0, 0.2, clip=10.0)
    assert isinstance(defence, Trainer)
    logits = defence.train(cohort)[0]
    own = cohort.inside[0]
    # A third by chance: it learns its members.
    assert (logits.argmax(axis=1) == cohort.y)[own].mean() > 0.6


def test_layers_that_mix_records_are_refused():
    with pytest.raises(InputError, match="module that Opacus can train") as refused:
        OpacusDpSgd(replace(NETS, make=with_batch_norm), 1.0, 0.2).train(made.cohort(m=1))
    assert "\n" not in str(refused.value)
    assert "BatchNorm" in str(refused.value)


def by_opacus(noise, rate, steps, delta):
    """The epsilon that Opacus's own tighter accountant adds up."""
    from opacus.accountants import create_accountant

    counting = create_accountant("prv")
    counting.history = [(noise, rate, steps)]
    return counting.get_epsilon(delta)


@pytest.mark.parametrize(("noise", "rate", "steps", "delta"), SPENT)
def test_our_accountant_says_what_opacus_says(noise, rate, steps, delta):
    """Opacus adds an error of 0.01 to epsilon."""
    pytest.importorskip("dp_accounting")
    found = SubsampledGaussian(noise, rate, steps).epsilon(delta)
    theirs = by_opacus(noise, rate, steps, delta)
    assert theirs - 0.03 <= found <= theirs + 0.01 * found


@pytest.mark.parametrize("epsilon", [0.5, 32.0])
def test_the_same_epsilon_gets_the_same_noise_whoever_trains(epsilon):
    of = UndefendedTraining(NETS, 160)
    ours, theirs = (Private(epsilon, 1e-4, by).trainer(of) for by in (None, ByOpacus()))
    assert isinstance(theirs, OpacusDpSgd)
    assert theirs.spent == ours.spent
    assert 0.999 * epsilon < theirs.epsilon(1e-4) == ours.epsilon(1e-4) <= epsilon
    assert theirs.accountant(1e-4) == ours.accountant(1e-4)


def test_without_noise_everything_is_spent():
    assert OpacusDpSgd(NETS, 0.0, 0.2).epsilon(1e-5) == math.inf


def defence_of(epsilon, n):
    """At an infinite epsilon, everything but the noise is that of epsilon = 1."""
    nets = Networks(
        MLP((32,), "tanh"), epochs=20, batch_size=n // 20, optimiser="sgd", learning_rate=2.0
    )
    noise = noise_for(epsilon, 1e-5, 0.1, 200) if math.isfinite(epsilon) else 0.0
    return OpacusDpSgd(nets, noise, 0.1)


def test_the_bound_does_not_exceed_what_the_accountant_says():
    """At 95% a sound bound fails more often than that with a probability below 0.003."""
    x, y = known_by_heart(400)
    defence = defence_of(1.0, 400)
    bounds = [lower(audit_dp_sgd(defence, x, y, seed=seed)) for seed in range(TRAININGS)]
    assert sum(bound > 1.0 for bound in bounds) <= binom.isf(0.003, TRAININGS, 0.05)


def test_at_a_small_epsilon_attacks_stay_at_chance():
    """Intervals at 95% miss chance more often than that with a probability below 0.003."""
    x, y = known_by_heart(400)
    defence = defence_of(0.1, 400)
    missed = 0
    for seed in range(TRAININGS):
        found = audit_dp_sgd(defence, x, y, seed=seed).canaries
        guesses = Split().decide(Transcript(found.score, found.member))
        missed += balanced_accuracy(guesses).excludes(0.5)
    assert missed <= binom.isf(0.003, TRAININGS, 0.05)


def test_a_training_whose_noise_is_off_is_caught():
    x, y = known_by_heart(400)
    defence = defence_of(math.inf, 400)
    bounds = [lower(audit_dp_sgd(defence, x, y, claimed=1.0, seed=seed)) for seed in range(SURE)]
    assert min(bounds) > 1.0
