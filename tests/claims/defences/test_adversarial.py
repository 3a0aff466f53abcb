import json
from dataclasses import replace

import numpy as np
import pytest

from privacygauge.claims.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    AttackNetworkSizes,
    HeldBack,
    ReferenceRows,
)
from privacygauge.claims.defences.early_stopping import EarlyStopping, trajectories
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.classifiers.trainer import Trainer
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from tests.classifiers.networks import made

pytestmark = pytest.mark.torch

NETS = Networks(MLP((6,), "tanh"), epochs=3, batch_size=8, learning_rate=0.05, dtype="float64")
SIZES = AttackNetworkSizes((7, 5), (4,), (6,))


def cohort_and_reference():
    """Two models on the first 30 records, whose last 10 are for reference."""
    cohort = made.cohort(m=2)
    inside = cohort.inside.copy()
    inside[:, :2], inside[:, 30:] = True, False
    return replace(cohort, inside=inside), ReferenceRows(tuple(range(30, 40)))


def as_it_reads(defence, cohort, references, model):
    """The algorithm by torch.optim.Adam and modules, for one model in float64."""
    torch = pytest.importorskip("torch")
    seed = cohort.seeds[model]
    k = cohort.n_classes
    x = torch.tensor(cohort.x)
    y = torch.tensor(cohort.y)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        f = defence.networks.make(x.shape[1], k).double()
        torch.manual_seed(int(stream(seed, "attack-network").integers(2**31)))
        parts = [MLP((7,), "relu")(k, 5), MLP((), "relu")(k, 4), MLP((6,), "relu")(9, 1)]
        answers, classes, joint = (part.double() for part in parts)

    def h(p, labels):
        hot = torch.nn.functional.one_hot(labels, k).double()
        both = torch.cat([answers(p).relu(), classes(hot).relu()], 1)
        return joint(both).sigmoid()[:, 0]

    attack = torch.optim.Adam([w for part in parts for w in part.parameters()], lr=1e-3)
    descent = torch.optim.Adam(f.parameters(), lr=defence.networks.learning_rate)
    own = np.flatnonzero(cohort.inside[model])
    size = defence.networks.batch_size
    for epoch in range(defence.networks.epochs):
        order = stream(seed, "order", epoch).permutation(len(y))
        order = [i for i in order if cohort.inside[model, i]]
        rng = stream(seed, "attack-rows", epoch)
        for start in range(0, len(order), size):
            for _ in range(defence.attack_steps):
                a, b = rng.choice(own, size), rng.choice(references, size)
                inside, outside = (h(f(x[i]).softmax(1).detach(), y[i]) for i in (a, b))
                attack.zero_grad()
                (-(inside.log().mean() + (1 - outside).log().mean()) / 2).backward()
                attack.step()
            batch = order[start : start + size]
            z = f(x[batch])
            gain = h(z.softmax(1), y[batch]).log().mean()
            descent.zero_grad()
            loss = torch.nn.functional.cross_entropy(z, y[batch]) + defence.weight * gain
            loss.backward()
            descent.step()
    with torch.no_grad():
        return f(x[cohort.asked]).numpy()


@pytest.mark.parametrize("attack_steps", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_it_is_the_algorithm_as_it_reads(attack_steps):
    pytest.importorskip("torch")
    cohort, reference = cohort_and_reference()
    defence = AdversarialRegularisation(NETS, 2.0, reference, SIZES, attack_steps)
    found = defence.train(cohort)
    for model in range(2):
        expected = as_it_reads(defence, cohort, list(reference.index), model)
        np.testing.assert_allclose(found[model], expected, rtol=1e-7, atol=1e-9)


def test_with_weight_0_it_is_ordinary_training():
    pytest.importorskip("torch")
    cohort, reference = cohort_and_reference()
    plain = trajectories(EarlyStopping(NETS), cohort)
    found = trajectories(AdversarialRegularisation(NETS, 0.0, reference, SIZES), cohort)
    np.testing.assert_array_equal(found.logits, plain.logits)


def test_records_held_back_are_not_trained_on():
    """With weight 0 it is ordinary training on what is left."""
    pytest.importorskip("torch")
    cohort, _ = cohort_and_reference()
    held = HeldBack(0.4)
    left = np.array(
        [held.rows(own, s)[1] for own, s in zip(cohort.inside, cohort.seeds, strict=True)]
    )
    found = AdversarialRegularisation(NETS, 0.0, held, SIZES).train(cohort)
    expected = EarlyStopping(NETS).train(replace(cohort, inside=left))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_held_back_and_trained_on_are_the_own_records(share):
    own = made.cohort().inside[0]
    rows, trained = HeldBack(share).rows(own, 5)
    assert 1 <= len(rows) < own.sum()
    assert not trained[rows].any()
    trained[rows] = True
    np.testing.assert_array_equal(trained, own)


def test_it_is_a_trainer():
    defence = AdversarialRegularisation(NETS, 1.0, ReferenceRows((1, 2)))
    assert isinstance(defence, Trainer)
    described = json.loads(json.dumps(defence.describe()))
    assert described["reference"] == {"ReferenceRows": [[1, 2]]}
    assert described["weight"] == 1.0
    assert "weight 1" in defence.name


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdversarialRegularisation(NETS, -1.0), "weight must be finite and at least 0"),
        (lambda: AdversarialRegularisation(NETS, attack_steps=0), "attack_steps must be at least"),
        (lambda: AdversarialRegularisation(NETS, attack_rate=0.0), "attack_rate must be finite"),
        (lambda: AttackNetworkSizes(()), "answers and classes must have at least one layer"),
        (lambda: HeldBack(1.0), r"share must be in \(0, 1\), got 1.0"),
        (lambda: ReferenceRows(()), "index must name rows from 0 on, got none"),
        (lambda: ReferenceRows((9,)).rows(np.ones(5, bool), 0), r"index must be in 0\.\.4, got 9"),
        (lambda: ReferenceRows((3,)).rows(np.ones(5, bool), 0), "row 3 in both: leave it out"),
        (lambda: HeldBack().rows(np.eye(5, dtype=bool)[0], 0), "at least 2 records to hold one"),
    ],
)
def test_errors_say_the_rule_and_the_value(make, message):
    with pytest.raises(InputError, match=message):
        make()
