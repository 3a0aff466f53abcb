"""The attack network is scikit-learn's, trained without what that does around every epoch."""

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier

from privacygauge.classifiers.neural import Network, even_rows


def by_sklearn(network, known, member, asked, rng):
    rows = even_rows(member, rng)
    model = MLPClassifier(
        (network.hidden,),
        alpha=network.penalty,
        batch_size=min(network.batch, len(rows)),
        learning_rate_init=network.learning_rate,
        shuffle=False,
        random_state=int(rng.integers(2**31)),
    )
    for _ in range(network.epochs):
        order = rng.permutation(rows)
        model.partial_fit(known[order], member[order].astype(int), classes=[0, 1])
    first, last = model.coefs_
    bias, shift = model.intercepts_
    return (np.maximum(asked @ first + bias, 0) @ last + shift)[:, 0]


@pytest.mark.parametrize(
    "network", [Network(epochs=8), Network(hidden=3, batch=7, penalty=0.1, epochs=5)]
)
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_the_log_odds_are_those_of_scikit_learn(network, share):
    rng = np.random.default_rng(0)
    member = rng.random(450) < share
    known = (rng.normal(size=(450, 6)) + member[:, None]).astype(np.float32)
    asked = rng.normal(size=(40, 6)).astype(np.float32)
    ours = network.log_odds(known, member, asked, np.random.default_rng(1))
    theirs = by_sklearn(network, known, member, asked, np.random.default_rng(1))
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
