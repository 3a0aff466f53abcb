import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.classifiers.networks.task import (
    equal_batch_runs,
    fill_order,
    own_order,
    steps_of_epoch,
)


@given(st.integers(1, 30), st.integers(0, 29), st.integers(0, 5), st.integers(0, 5))
def test_leaving_a_record_out_leaves_the_order_of_the_others(n, out, seed, epoch):
    everyone = own_order(np.ones(n, bool), seed, epoch)
    assert sorted(everyone) == list(range(n))
    own = np.arange(n) != out % n
    assert own_order(own, seed, epoch).tolist() == [i for i in everyone if own[i]]


def test_epochs_and_seeds_have_orders_of_their_own():
    own = np.ones(50, bool)
    orders = {tuple(own_order(own, seed, epoch)) for seed in range(3) for epoch in range(3)}
    assert len(orders) == 9


@given(st.lists(st.integers(1, 25), min_size=1, max_size=6), st.integers(1, 9))
def test_batches_of_a_stack_are_those_of_each_model(sizes, batch_size):
    sizes = np.array(sorted(sizes, reverse=True))
    inside = np.arange(25) < sizes[:, None]
    found = steps_of_epoch(sizes, batch_size)
    order = np.full((len(found), len(sizes), batch_size), -1)
    fill_order(order, inside, range(len(sizes)), 0)
    for model, own in enumerate(inside):
        mine = own_order(own, model, 0)
        for step in found:
            batch = mine[step.number * batch_size :][:batch_size]
            assert (model < step.active) == (len(batch) > 0)
            if len(batch):
                assert step.sizes[model] == len(batch) <= step.rows
                assert order[step.number, model, : len(batch)].tolist() == batch.tolist()
                np.testing.assert_allclose(step.shares[model].sum(), 1)
        # What fills a batch up is a record of the model's own.
        assert own[order[:, model]].all()
    runs = equal_batch_runs(sizes, batch_size)
    assert [i for run in runs for i in range(run.start, run.stop)] == list(range(len(sizes)))
    for step in found:
        assert runs[step.groups - 1].stop == step.active
