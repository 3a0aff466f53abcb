import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from privacygauge.claims.claim_audit.audit import audit_dp_sgd
from privacygauge.claims.claim_audit.report import REFUTED, UNKNOWN, verdict
from privacygauge.claims.defences.dp_sgd import DpSgd, clipped_sum, noise_for
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.trainer import Trainer
from privacygauge.core.rules import Split
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from tests.classifiers.networks import made
from tests.thorough import THOROUGH, times

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

NETS = Networks(
    MLP((6,), "tanh"), epochs=2, batch_size=8, optimiser="sgd", learning_rate=0.3, dtype="float64"
)


def module_of(hidden=(5, 4), activation="relu", seed=0, d=3, k=4):
    torch.manual_seed(seed)
    return MLP(hidden, activation)(d, k).double()


def records(r, seed=0, d=3, k=4):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.normal(size=(r, d))), torch.tensor(rng.integers(k, size=r))


def norm_of(parts):
    return float(torch.cat([part.flatten() for part in parts]).norm())


def one_by_one(module, x, y, clip):
    """The definition: the gradient of each record alone, scaled down, added up."""
    total = [torch.zeros_like(p) for p in module.parameters()]
    for i in range(len(x)):
        loss = torch.nn.functional.cross_entropy(module(x[i : i + 1]), y[i : i + 1])
        gradient = torch.autograd.grad(loss, list(module.parameters()))
        scale = min(1.0, clip / norm_of(gradient))
        total = [a + scale * b for a, b in zip(total, gradient, strict=True)]
    return total


@settings(max_examples=times(12))
@given(
    hidden=st.sampled_from([(), (5,), (5, 4)]),
    activation=st.sampled_from(["tanh", "relu", "sigmoid"]),
    clip=st.sampled_from([1e-3, 0.5, 100.0]),
    r=st.integers(0, 7),
)
def test_the_sum_is_that_of_records_one_by_one(hidden, activation, clip, r):
    module = module_of(hidden, activation, r)
    x, y = records(r, r)
    with torch.no_grad():
        found = clipped_sum(module, x, y, clip)
    for a, b in zip(found, one_by_one(module, x, y, clip), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_layers_without_biases_too():
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 5, bias=False), torch.nn.ReLU(), torch.nn.Linear(5, 4, bias=False)
    ).double()
    x, y = records(6)
    with torch.no_grad():
        found = clipped_sum(module, x, y, 0.3)
    for a, b in zip(found, one_by_one(module, x, y, 0.3), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-12)


def test_no_record_moves_the_sum_further_than_the_clip():
    """What the accountant takes for granted."""
    module = module_of()
    x, y = records(8)
    for clip in (0.01, 0.7):
        for out in range(8):
            keep = torch.arange(8) != out
            with torch.no_grad():
                both = [clipped_sum(module, a, b, clip) for a, b in ((x, y), (x[keep], y[keep]))]
            moved = norm_of([a - b for a, b in zip(*both, strict=True)])
            assert moved <= clip * (1 + 1e-9)


def test_without_noise_clip_and_sampling_it_is_gradient_descent():
    cohort = made.cohort(m=2)
    full = replace(cohort, inside=np.ones_like(cohort.inside))
    nets = replace(NETS, batch_size=len(cohort.x), epochs=4)
    found = DpSgd(nets, 0.0, 1.0, clip=1e9).train(full)
    np.testing.assert_allclose(found, nets.train(full), rtol=1e-9, atol=1e-12)


def test_noise_has_the_claimed_spread():
    """One step from the same weights: their difference is the noise, scaled by known numbers."""
    cohort = made.cohort(m=1)
    nets = replace(NETS, make=MLP((60,), "tanh"), epochs=1)
    noise = 3.0
    clip = 0.5

    def weights(noise_multiplier):
        defence = DpSgd(nets, noise_multiplier, 1.0, clip)
        module = next(iter(defence.modules(defence.task(cohort), 0)))
        return torch.cat([p.detach().flatten() for p in module.parameters()]).numpy()

    drawn = (weights(noise) - weights(0.0)) * nets.batch_size / nets.learning_rate
    n = len(drawn)
    assert n > 400
    # Four standard errors of the mean and of the standard deviation of normals.
    assert abs(drawn.mean()) < 4 * noise * clip / np.sqrt(n)
    assert abs(drawn.std() / (noise * clip) - 1) < 4 / np.sqrt(2 * n)


def test_records_take_part_by_coins_of_their_own():
    defence = DpSgd(replace(NETS, epochs=400), 1.0, 0.25)
    assert defence.spent.steps == 1600
    drawn = np.array([defence._coins(np.random.default_rng(i), 20) for i in range(400)])
    # Binomial(8000, 1/4): four standard deviations.
    assert abs(drawn.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / drawn.size)
    assert drawn.any(axis=0).all()
    assert not drawn.all(axis=0).any()


def test_it_is_a_trainer_whose_models_depend_on_their_seeds_alone():
    cohort = made.cohort(m=3)
    defence = DpSgd(NETS, 1.0, 0.2)
    assert isinstance(defence, Trainer)
    json.dumps(defence.describe())
    found = defence.train(cohort)
    assert found.shape == cohort.shape
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(defence.train(cohort[1:2])[0], found[1])
    assert defence.epsilon(1e-5) == defence.spent.epsilon(1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clip": 0.0}, "clip must be finite and above 0, got 0"),
        ({"noise_multiplier": -1.0}, "noise_multiplier must be finite and at least 0"),
        ({"sampling_rate": 1.5}, r"sampling_rate must be in \(0, 1\], got 1.5"),
    ],
)
def test_errors_say_the_rule_and_the_value(change, message):
    with pytest.raises(InputError, match=message):
        DpSgd(**{"networks": NETS, "noise_multiplier": 1.0, "sampling_rate": 0.2, **change})


def test_other_modules_are_refused():
    nets = replace(
        NETS, make=lambda d, k: torch.nn.Sequential(torch.nn.Linear(d, k), torch.nn.Softplus())
    )
    with pytest.raises(InputError, match="Sequential of Linear layers and activations"):
        DpSgd(nets, 1.0, 0.2).train(made.cohort(m=1))


def test_a_training_without_noise_claims_nothing():
    x, y = known_by_heart(20)
    with pytest.raises(InputError, match="claimed must be given where there is no noise, got inf"):
        audit_dp_sgd(DpSgd(NETS, 0.0, 0.2), x, y)


def known_by_heart(n):
    """Records that can only be known by heart: labels are coins."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, n)) / np.sqrt(n) * 5, rng.integers(2, size=n)


def defence_of(epsilon, n):
    """At an infinite epsilon, everything but the noise is that of epsilon = 1."""
    nets = Networks(
        MLP((32,), "tanh"), epochs=20, batch_size=n // 20, optimiser="sgd", learning_rate=2.0
    )
    noise = noise_for(epsilon, 1e-5, 0.1, 200) if np.isfinite(epsilon) else 0.0
    return DpSgd(nets, noise, 0.1)


def of_its_own(d, k):
    return torch.nn.Sequential(torch.nn.Linear(d, k, bias=False))


def weights_of_their_own(n, noise_multiplier, steps):
    """Canaries that each move weights of their own, by the clip in every step: the most to see.

    Each one's loss then is a normal variable, with and without it `sqrt(steps) / noise` standard
    deviations apart. Rates are such that no gradient becomes shorter than the clip.
    """
    nets = Networks(
        of_its_own, epochs=steps, batch_size=n // 2, optimiser="sgd", learning_rate=n * 0.03
    )
    y = np.random.default_rng(0).integers(2, size=n)
    return DpSgd(nets, noise_multiplier, 1.0), np.eye(n) * 5, y


TRAININGS = 20 if THOROUGH else 6


def lower(found):
    """The bound that assumes nothing."""
    return next(bound.estimate.low for bound in found.bounds if not bound.assumption)


def gaussian(found):
    """The bound that takes the mechanism for a Gaussian one, which it is without sampling."""
    return next(bound.estimate.low for bound in found.bounds if bound.assumption)


@pytest.mark.slow
def test_the_attack_is_as_good_as_theory_says():
    """AUC = Phi(mu / sqrt 2): noise that is too small or too large by a tenth would show."""
    mu = 1.5
    defence, x, y = weights_of_their_own(1000, np.sqrt(4) / mu, 4)
    found = audit_dp_sgd(defence, x, y).canaries
    score = found.score
    member = found.member
    value = (score[member][:, None] > score[~member]).mean()
    # Hanley & McNeil's standard error, 500 members and 500 others: 0.012; three of them.
    assert value == pytest.approx(norm.cdf(mu / np.sqrt(2)), abs=0.036)


@pytest.mark.slow
def test_a_tenth_of_the_noise_is_caught():
    defence, x, y = weights_of_their_own(500, noise_for(2.0, 1e-5, 1.0, 4), 4)
    assert gaussian(audit_dp_sgd(defence, x, y)) < 2.0
    weak = replace(defence, noise_multiplier=defence.noise_multiplier / 10)
    assert lower(audit_dp_sgd(weak, x, y, claimed=2.0)) > 2.0


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_the_bound_of_one_run_never_exceeds_what_the_accountant_says(epsilon):
    """At 95% a sound bound fails more often than that with a probability below 0.003."""
    x, y = known_by_heart(400)
    defence = defence_of(epsilon, 400)
    assert defence.epsilon(1e-5) == pytest.approx(epsilon, rel=1e-3)
    bounds = [lower(audit_dp_sgd(defence, x, y, seed=seed)) for seed in range(TRAININGS)]
    assert sum(bound > epsilon for bound in bounds) <= binom.isf(0.003, TRAININGS, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_neither_bound_exceeds_it_for_the_most_telling_canaries(epsilon):
    """As many trainings, as above."""
    defence, x, y = weights_of_their_own(1000, noise_for(epsilon, 1e-5, 1.0, 5), 5)
    found = [audit_dp_sgd(defence, x, y, seed=seed) for seed in range(TRAININGS)]
    # Where the scores of a training do not look normal, nothing is computed as if they were.
    normal = [one for one in found if any(bound.assumption for bound in one.bounds)]
    assert len(normal) >= TRAININGS / 2
    for bound, some in ((lower, found), (gaussian, normal)):
        missed = sum(bound(one) > epsilon for one in some)
        assert missed <= binom.isf(0.003, TRAININGS, 0.05)
    if epsilon == 8.0:
        assert np.mean([gaussian(one) for one in normal]) > 2.0


@pytest.mark.slow
def test_at_a_small_epsilon_attacks_stay_at_chance():
    """Intervals at 95% miss chance more often than that with a probability below 0.003."""
    x, y = known_by_heart(400)
    missed = 0
    for seed in range(TRAININGS):
        found = audit_dp_sgd(defence_of(0.1, 400), x, y, seed=seed).canaries
        guesses = Split().decide(Transcript(found.score, found.member))
        missed += balanced_accuracy(guesses).excludes(0.5)
    assert missed <= binom.isf(0.003, TRAININGS, 0.05)


@pytest.mark.slow
def test_a_training_whose_noise_is_off_is_caught():
    x, y = known_by_heart(400)
    bounds = [
        lower(audit_dp_sgd(defence_of(np.inf, 400), x, y, claimed=1.0, seed=seed))
        for seed in range(5 if THOROUGH else 2)
    ]
    assert min(bounds) > 1.0


def nearest(x, y, random_state):
    """A training that says it is private, and remembers every record."""
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1).fit(x, y)


def test_any_training_can_be_audited():
    x, y = known_by_heart(300)
    found = audit_dp_sgd(nearest, x, y, epsilon=1.0)
    assert verdict(found).grade == REFUTED

    def ignorant(x, y, random_state):
        return lambda asked: np.tile([0.5, 0.5], (len(asked), 1)) + 1e-3 * asked[:, :1] * [1, -1]

    told = audit_dp_sgd(ignorant, x, y, epsilon=0.3)
    assert verdict(told).grade == UNKNOWN
    known = audit_dp_sgd(ignorant, x, y, epsilon=0.3, control=nearest)
    # A training without noise would have been caught, but not one with half of it.
    assert known.power.would_refute(known.claim)
    assert verdict(known).grade == UNKNOWN
    assert known.controls[0].simulated
    with pytest.raises(InputError, match="epsilon must be given: what is claimed"):
        audit_dp_sgd(ignorant, x, y)


@pytest.mark.slow
def test_the_same_training_is_played_with_half_of_its_noise_and_without_clipping():
    defence, x, y = weights_of_their_own(400, noise_for(2.0, 1e-5, 1.0, 4), 4)
    found = audit_dp_sgd(defence, x, y)
    assert [power.control for power in found.controls] == [
        "half of the noise",
        "no clipping",
        "half of the claimed noise",
    ]
    half, unclipped = (power.detectable for power in found.controls[:2])
    assert half < found.power.detectable
    assert unclipped > half
    # The attack of one run does not see a noise of half the size: it clears no claim.
    assert verdict(found).grade == UNKNOWN
    assert "half of the noise" in verdict(found).headline
    assert "broken on purpose" in found.to_html()
