"""Work runs on one thread, and the caller gets back what it had."""

from __future__ import annotations

import os
import sys
import types

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from privacygauge.runs.threads import keep_one_thread, limited_to, one_thread


def n_threads() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info()}


def test_restores_threads_and_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with threadpool_limits(2):
        before = n_threads()
        with one_thread():
            keep_one_thread()
            assert n_threads() == {1}
            assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
        assert n_threads() == before
    assert os.environ["OMP_NUM_THREADS"] == "2"
    assert "MKL_NUM_THREADS" not in os.environ


def test_a_limit_holds_within_and_reaches_what_was_loaded_since(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = []
    find = ThreadpoolController.__init__
    monkeypatch.setattr(
        ThreadpoolController, "__init__", lambda self: (looked.append(1), find(self))[1]
    )
    with threadpool_limits(2):
        looked.clear()
        with limited_to(1):
            assert n_threads() == {1}
        assert n_threads() == {2}
        looked.clear()
        with limited_to(1), limited_to(None):
            assert n_threads() == {1}
        assert len(looked) == 1  # that of `n_threads` itself
        monkeypatch.setitem(sys.modules, "loaded_since", types.ModuleType("loaded_since"))
        with limited_to(1):
            pass
    assert len(looked) == 2


@pytest.mark.torch
def test_restores_the_threads_of_torch() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with one_thread():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    torch.set_num_threads(before)
