"""Workers share the GPUs of a machine evenly, one process each."""

from __future__ import annotations

import multiprocessing
import os
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib import Parallel, delayed

from privacygauge.runs.threads import device_of, number_of_worker


@given(st.integers(0, 100), st.integers(2, 16), st.integers(1, 40))
def test_workers_that_start_together_are_spread_evenly(first, n_devices, n_workers) -> None:
    found = [device_of(worker, n_devices) for worker in range(first, first + n_workers)]
    counts = np.bincount(found, minlength=n_devices)
    assert len(counts) == n_devices
    assert counts.max() - counts.min() <= 1


@given(st.one_of(st.none(), st.integers(0, 100)), st.integers(0, 1))
def test_there_is_nothing_to_choose_from_one_device(worker, n_devices) -> None:
    assert device_of(worker, n_devices) is None
    assert device_of(None, n_devices + 2) is None


def seen() -> tuple[int, int | None]:
    time.sleep(0.1)
    return os.getpid(), number_of_worker()


@pytest.mark.slow
def test_every_worker_of_joblib_has_a_number_of_its_own() -> None:
    assert number_of_worker() is None
    found = dict(Parallel(n_jobs=2, backend="loky")(delayed(seen)() for _ in range(8)))
    assert len(found) == len(set(found.values())) == 2
    assert None not in found.values()
    assert {device_of(number, 2) for number in found.values()} == {0, 1}


@pytest.mark.slow
def test_every_worker_of_dask_has_a_number_of_its_own() -> None:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as two,
        distributed.Client(two) as client,
    ):
        tasks = [
            client.submit(number_of_worker, workers=[x], pure=False) for x in client.nthreads()
        ]
        assert sorted(client.gather(tasks)) == [0, 1]


@pytest.mark.torch
@pytest.mark.parametrize(("worker", "expected"), [("LokyProcess-4", 1), ("MainProcess", 0)])
def test_networks_are_trained_on_the_workers_own_gpu(worker, expected, monkeypatch) -> None:
    torch = pytest.importorskip("torch")
    from privacygauge.classifiers.networks.task import checked_device

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(multiprocessing.current_process(), "_name", worker)
    assert checked_device("cuda") == torch.device("cuda", expected)
    assert checked_device("cuda:0") == torch.device("cuda", 0)
    assert checked_device("cpu") == torch.device("cpu")
