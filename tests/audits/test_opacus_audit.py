"""A training by Opacus, as users write it, is audited in five lines."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.claims.claim_audit.report import REFUTED, STANDS, verdict
from tests.thorough import THOROUGH

pytest.importorskip("opacus")
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]


def train(x, y, random_state, noise=1.0, clip=1.0, sigma=4.5):
    """A logistic regression by Opacus, with Poisson batches."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(random_state)
    model = torch.nn.Linear(x.shape[1], 2)
    torch.nn.init.zeros_(model.weight)
    data = TensorDataset(torch.tensor(x, dtype=torch.float32), torch.tensor(y))
    optimiser = torch.optim.SGD(model.parameters(), lr=5.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimiser, loader = PrivacyEngine().make_private(
            module=model,
            optimizer=optimiser,
            data_loader=DataLoader(data, batch_size=200),
            noise_multiplier=sigma * noise,
            max_grad_norm=clip,
        )
        for _ in range(10):
            for rows, classes in loader:
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(rows), classes).backward()
                optimiser.step()
    return model


def epsilon_of(sigma, rate, steps):
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(sigma, rate, steps)]
    return accountant.get_epsilon(1e-5)


def records():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 500))
    return x, (x[:, 0] > 0).astype(int)


def test_a_sound_training_is_not_refuted_and_one_with_little_noise_is():
    made = pg.designs.make_canaries(*records(), 400, kind="orthogonal")

    def weak(x, y, random_state, noise=1.0, clip=1.0):
        return train(x, y, random_state, noise, clip, sigma=0.1)

    for seed in range(10 if THOROUGH else 1):
        true = epsilon_of(4.5, 200 / 300, 20)
        sound = pg.audit_dp_sgd(train, made.x, made.y, canary=made.canary, epsilon=true, seed=seed)
        assert sound.free.estimate.low < true
        assert [power.control for power in sound.controls][:2] == [
            "half of the noise",
            "no clipping",
        ]
        assert verdict(sound).grade != STANDS
        wrong = pg.audit_dp_sgd(weak, made.x, made.y, canary=made.canary, epsilon=true, seed=seed)
        assert verdict(wrong).grade == REFUTED
