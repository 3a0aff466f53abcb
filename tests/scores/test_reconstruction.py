"""Records read out of the update that they gave to a network."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neural_network import MLPClassifier

import privacygauge as pg
from privacygauge.scores.reconstruction import _whole_counts
from privacygauge.signals import DenseNetwork, invert_update, reconstruction_share
from tests.thorough import quarter


def network(rng, *sizes: int, activation: str = "relu", last: float = 1.0) -> DenseNetwork:
    weights = [rng.normal(size=pair) / np.sqrt(pair[0]) for pair in zip(sizes, sizes[1:])]  # noqa: B905, RUF007
    weights[-1] = weights[-1] * last
    return DenseNetwork(tuple(weights), tuple(rng.normal(size=n) for n in sizes[1:]), activation)


def drawn(seed: int, b: int, *sizes: int, **options):
    """Return a network, a batch and its gradient."""
    rng = np.random.default_rng(seed)
    net = network(rng, *sizes, **options)
    x = rng.normal(size=(b, sizes[0]))
    y = rng.integers(net.n_classes, size=b)
    return net, x, y, net.gradient(x, y)


def is_among(rows, records, error: float = 1e-5):
    """Return a mask of the rows that are records."""
    return (np.abs(rows[:, None] - records).max(axis=2) < error).any(axis=1)


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    d=st.integers(1, 12),
    hidden=st.lists(st.integers(6, 20), max_size=2),
    k=st.integers(1, 5),
    activation=st.sampled_from(["relu", "tanh", "logistic", "identity"]),
    clip=st.sampled_from([None, 0.1, 100.0]),
)
def test_one_record_is_exact_whatever_the_network(seed, d, hidden, k, activation, clip):
    rng = np.random.default_rng(seed)
    net = network(rng, d, *hidden, k, activation=activation)
    x = rng.normal(size=(1, d))
    y = rng.integers(net.n_classes, size=1)
    found = invert_update(net, net.gradient(x, y, clip=clip), 1, clip=clip)
    assert found.label_counts.tolist() == np.bincount(y, minlength=net.n_classes).tolist()
    if len(found.records):  # else no neuron of a layer was active, and no input is in the update
        assert found.exact.all()
        assert found.labels.tolist() == y.tolist()
        assert found.rank == 1
        np.testing.assert_allclose(found.records, x, rtol=1e-6, atol=1e-8)
    else:
        assert activation == "relu"
        assert not np.any(net.gradient(x, y)[1][0])


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("clip", [None, 0.5])
def test_the_gradient_is_that_of_differences_of_the_loss(activation, k, clip):
    net, x, y, _ = drawn(0, 3, 4, 6, 5, k, activation=activation)

    def loss(arrays, rows):
        answers = DenseNetwork(tuple(arrays[:3]), tuple(arrays[3:]), activation).predict_proba(x)
        return -np.log(answers[rows, y[rows]])

    arrays = [*net.weights, *net.biases]
    of_records = []
    for row in range(3):
        parts = []
        for place, array in enumerate(arrays):
            slope = np.empty(array.shape)
            for index in np.ndindex(array.shape):
                ends = []
                for step in (1e-6, -1e-6):
                    moved = [one.copy() for one in arrays]
                    moved[place][index] += step
                    ends.append(loss(moved, row))
                slope[index] = (ends[0] - ends[1]) / 2e-6
            parts.append(slope)
        norm = np.sqrt(sum(np.sum(part**2) for part in parts))
        of_records.append([part * min(1.0, (clip or np.inf) / norm) for part in parts])
    naive = [np.mean(parts, axis=0) for parts in zip(*of_records, strict=True)]
    weights, biases = net.gradient(x, y, clip=clip)
    for one, other in zip((*weights, *biases), naive, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def peeled(net: DenseNetwork, x) -> set[int]:
    """Return the records that one who sees who is active where reads out, neuron by neuron."""
    active = x @ net.weights[0] + net.biases[0] > 0
    found: set[int] = set()
    while True:
        left = [i for i in range(len(x)) if i not in found]
        alone = active[left][:, active[left].sum(axis=0) == 1].any(axis=1)
        new = {left[i] for i in np.flatnonzero(alone)}
        if not new:
            return found
        found |= new


@pytest.mark.parametrize("b", [2, 4, 6, 9])
@pytest.mark.parametrize("k", [1, 4])
def test_exact_rows_are_those_that_taking_out_record_by_record_reaches(b, k):
    """A naive reference that sees the activations, over batches of which some are stuck."""
    reached = []
    for seed in range(30):
        net, x, y, gradient = drawn(seed, b, 10, 30, k)
        found = invert_update(net, gradient, b)
        assert is_among(found.records[found.exact], x).all()
        gaps = np.abs(found.records[found.exact][:, None] - x).max(axis=2)
        names = {int(i) for i in gaps.argmin(axis=1)}
        assert len(names) == found.exact.sum()
        assert names == peeled(net, x)
        assert (found.labels[found.exact] == y[gaps.argmin(axis=1)]).all()
        assert found.label_counts.sum() == b
        reached.append(len(names))
    assert max(reached) > 0


def test_a_record_of_its_own_in_every_neuron_is_recovered_from_any_batch():
    """Planted: the first layer has one neuron for each of 16 records."""
    rng = np.random.default_rng(0)
    x = np.eye(16) + 0.1 * rng.random((16, 16))
    y = rng.integers(3, size=16)
    net = DenseNetwork((np.eye(16), rng.normal(size=(16, 3))), (np.full(16, -0.5), np.zeros(3)))
    found = invert_update(net, net.gradient(x, y), 16)
    assert found.exact.all()
    assert is_among(found.records, x).all()
    assert found.label_counts.tolist() == np.bincount(y, minlength=3).tolist()
    played = reconstruction_share(net, x, y, batch_sizes=(8,), n_games=20)
    for name in ("values", "records", "exact", "labels"):
        assert played.estimate(name, 8).value == 1.0


@pytest.mark.parametrize("b", [1, 4, 16])
@pytest.mark.parametrize("k", [1, 4])
def test_an_update_without_these_records_holds_none_of_them(b, k):
    games = 120
    rng = np.random.default_rng(b)
    x = rng.normal(size=(400, 8))
    net = network(rng, 8, 60, k)
    y = rng.integers(net.n_classes, size=400)
    found = reconstruction_share(net, x, y, batch_sizes=(b,), n_games=games)
    assert found.hits["records of a placebo"][0].shape == (games, b)
    assert not found.hits["records of a placebo"][0].any()
    assert found.wrong == 0
    others = found.estimate("values of others", b)
    constant = found.estimate("values by guessing", b)
    assert found.estimate("values of a placebo", b).value <= max(others.high, constant.high)
    assert found.estimate("values", b).value > others.value


def test_noise_in_the_place_of_an_update_holds_nothing():
    rng = np.random.default_rng(0)
    for _ in range(100):
        net, x, _, gradient = drawn(int(rng.integers(10**6)), 4, 6, 30, 3)
        noise = tuple(tuple(rng.normal(size=one.shape) for one in part) for part in gradient)
        found = invert_update(net, noise, 4)
        assert not found.exact.any()
        assert not is_among(found.records, x, 0.05).any()


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("b", [2, 3, 4])
def test_mixtures_of_a_linear_model_are_never_called_exact(k, b):
    """Not with weights of 0 either, where mixtures of the right size have the slope of a record."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        net = DenseNetwork((np.zeros((5, k)),), (np.zeros(k),))
        if seed % 2:
            net = network(rng, 5, k)
        y = rng.integers(net.n_classes, size=b)
        found = invert_update(net, net.gradient(rng.normal(size=(b, 5)), y), b)
        assert not found.exact.any()
        assert found.rank <= min(b, max(1, k - 1))


def test_the_span_of_a_softmax_holds_the_records():
    """With more classes than records they lie in the affine space that the rank speaks of."""
    net, x, _, gradient = drawn(0, 3, 6, 8)
    assert invert_update(net, gradient, 3).rank == 3
    rows = np.vstack([gradient[0][0], gradient[1][0]])
    basis = np.linalg.svd(rows)[0][:, :3]
    augmented = np.hstack([x, np.ones((3, 1))])
    np.testing.assert_allclose(augmented @ basis @ basis.T, augmented, atol=1e-9)


def test_one_number_of_records_too_few_is_not_exact():
    net, _, _, gradient = drawn(0, 2, 6, 30, 3)
    assert not invert_update(net, gradient, 1).exact.any()


def test_noise_lowers_the_share_that_is_recovered_and_clipping_alone_does_not():
    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    net = network(np.random.default_rng(0), 30, 60, 1)
    games = quarter(160)
    shares = [
        [
            reconstruction_share(
                net, x, y, batch_sizes=(1, 4), n_games=games, clip=1.0, noise_multiplier=noise
            ).estimate("values", size).value
            for noise in (0.0, 1e-3, 1e-2, 1e-1, 1.0)
        ]
        for size in (1, 4)
    ]  # fmt: skip
    for found in shares:
        assert found[0] > 0.99
        assert (np.diff(found) < 0.02).all()
        assert found[-1] < 0.1


def test_numbers_of_labels_are_better_than_guesses_where_no_row_is_exact():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 8))
    net = network(rng, 8, 20, 5, activation="tanh")
    y = rng.choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1], size=500)
    found = reconstruction_share(net, x, y, batch_sizes=(8,), n_games=60)
    assert found.estimate("exact", 8).value == 0
    assert found.estimate("labels", 8).low > found.estimate("labels by guessing", 8).high


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_step_of_a_network_of_scikit_learn_gives_its_batch_away(n_classes):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6))
    y = rng.integers(n_classes, size=200)
    model = MLPClassifier(
        (80,), solver="sgd", momentum=0, alpha=0, learning_rate_init=0.1, random_state=0
    )
    model.partial_fit(x, y, classes=range(n_classes))
    before = DenseNetwork.of(model)
    np.testing.assert_allclose(before.predict_proba(x), model.predict_proba(x), atol=1e-12)
    model.partial_fit(x[:3], y[:3])
    found = invert_update(before, before.gradient_towards(DenseNetwork.of(model), 0.1), 3)
    assert found.exact.all()
    frame = found.to_frame(columns=list("abcdef"))
    assert is_among(frame[list("abcdef")].to_numpy(), x[:3]).all()
    assert sorted(frame["label"]) == sorted(y[:3])
    assert found.summary().startswith("3 of 3 records are in the update exactly")


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_logistic_regression_gives_one_record_away(n_classes):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 6))
    y = rng.integers(n_classes, size=200)
    model = LogisticRegression().fit(x, y)
    net = DenseNetwork.of(model)
    np.testing.assert_allclose(net.predict_proba(x), model.predict_proba(x), atol=1e-12)
    found = reconstruction_share(net, x, y, batch_sizes=(1, 4), n_games=50)
    assert found.estimate("exact", 1).value == found.estimate("values", 1).value == 1.0
    assert found.estimate("exact", 4).value == 0.0


def test_single_precision_with_its_own_error():
    net, x, _, (weights, biases) = drawn(0, 4, 10, 60, 3)
    single = [[one.astype(np.float32) for one in part] for part in (weights, biases)]
    found = invert_update(net, single, 4, precision=1e-5)
    assert found.exact.all()
    assert is_among(found.records, x, 1e-3).all()


def test_more_sizes_of_batches_change_no_other_and_intervals_count_games():
    net, x, y, _ = drawn(0, 60, 5, 40, 3)
    one = reconstruction_share(net, x, y, batch_sizes=(4,), n_games=20, seed=3)
    two = reconstruction_share(net, x, y, batch_sizes=(2, 4), n_games=20, seed=3)
    for name, masks in one.hits.items():
        assert (masks[0] == two.hits[name][1]).all()
        estimate = one.estimate(name, 4)
        assert estimate.n == 20
        assert 0 <= estimate.low <= estimate.value == masks[0].mean() <= estimate.high <= 1
    frame = two.to_frame()
    assert len(frame) == 2 * len(two.hits)
    assert frame["batch_size"].tolist() == [2] * len(two.hits) + [4] * len(two.hits)
    assert [line[:13] for line in two.summary().split("\n")] == ["Batches of 2:", "Batches of 4:"]


@given(st.lists(st.floats(-5, 50), min_size=2, max_size=8), st.integers(1, 40))
def test_whole_counts_have_their_sum(expected, total):
    counts = _whole_counts(np.array(expected), total)
    assert counts.sum() == total
    assert counts.min() >= 0


def test_what_cannot_be_is_refused_in_one_line():
    net, x, y, gradient = drawn(0, 8, 5, 9, 3)
    two = (np.ones((5, 4)), np.ones((3, 2)))
    for call, message in (
        (lambda: DenseNetwork(two, (np.ones(4), np.ones(2))), "4 outputs and the next one 3"),
        (lambda: DenseNetwork(two, (np.ones(4),)), "each layer has weights and biases"),
        (lambda: DenseNetwork((np.ones(3),), (np.ones(3),)), "layer 1 must have weights"),
        (lambda: DenseNetwork((np.full((2, 1), np.nan),), (np.ones(1),)), "must be finite"),
        (lambda: DenseNetwork(two, (np.ones(4), np.ones(2)), "gelu"), "activation must be one of"),
        (lambda: DenseNetwork.of(Ridge().fit(x, y)), "MLPClassifier or LogisticRegression"),
        (lambda: net.gradient(x, y + 2), "y must hold classes in 0..2"),
        (lambda: net.gradient(x[:, :2], y), "x must hold finite numbers of the shape"),
        (lambda: net.gradient_towards(net, 0.0), "learning_rate must be finite and above 0"),
        (lambda: invert_update(net, (gradient[0][:1], gradient[1][:1]), 8), "shaped as the net"),
        (lambda: invert_update(net, gradient, 0), "n_records must be at least 1"),
        (lambda: invert_update(net, gradient, 2, clip=-1.0), "clip must be finite and above 0"),
        (lambda: invert_update(net, gradient, 2).to_frame(["a"]), "columns must name 5"),
        (lambda: reconstruction_share(net, x, y, batch_sizes=(5,)), "half of the records"),
        (lambda: reconstruction_share(net, x, y, batch_sizes=(1,), noise_multiplier=1.0), "clip"),
        (lambda: reconstruction_share(net, x, y, batch_sizes=(1,), tolerance=0.0), "tolerance"),
    ):
        with pytest.raises(pg.InputError, match=message):
            call()
