"""A model behind vLLM, as its users start it, beside the same weights in this process."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.audit.audit import audit_causal
from privacygauge.language.endpoints import EndpointModel
from privacygauge.language.likelihoods import token_log_probabilities
from tests.language.tiny_models import byte_pairs, made_texts, saved

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.slow]
NAME = "tuned"
WINDOW = 64
STARTS = 300
"""Seconds that the server may take to start."""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Return the folder of a GPT-2 of a shape that vLLM takes."""
    tokenizer = byte_pairs(framed=False)
    return saved(tmp_path_factory.mktemp("served"), "gpt2", tokenizer=tokenizer, n_embd=64)


@pytest.fixture(scope="module")
def served(model, tmp_path_factory):
    """Return the address of vLLM with the model."""
    program = shutil.which("vllm") or str(Path(sys.base_prefix, "bin", "vllm"))
    if not Path(program).exists():
        pytest.skip("needs vllm on the PATH, from an environment of its own")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = [
        program, "serve", str(model), "--served-model-name", NAME, "--host", "127.0.0.1",
        "--port", str(port), "--max-model-len", str(WINDOW), "--dtype", "float32",
        "--enforce-eager",
    ]  # fmt: skip
    settings = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path_factory.mktemp("home")),
        "HF_HUB_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    }
    log = tmp_path_factory.mktemp("log") / "vllm.txt"
    with log.open("w") as told:
        server = subprocess.Popen(
            asked, env=settings, stdout=told, stderr=told, start_new_session=True
        )
    try:
        _wait_for(server, f"http://127.0.0.1:{port}/health", log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        # Its workers too.
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def _wait_for(server, address, log):
    until = time.monotonic() + STARTS
    while True:
        try:
            urllib.request.urlopen(address, timeout=10).close()
        except OSError:
            assert server.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(1)
        else:
            return


@pytest.fixture(scope="module")
def here(model):
    from privacygauge.language.model import load_causal

    return load_causal(model)


def test_its_log_probabilities_are_those_of_the_weights(served, here):
    texts = [*made_texts(60, 5, 2), "a café for 2 days", "the \U0001f9b4 knee", "naïve — “quoted”"]
    there = token_log_probabilities(EndpointModel(served, NAME), texts)
    expected = token_log_probabilities(here, texts)
    for name in ("text", "unit", "position", "lengths"):
        assert getattr(there, name).tolist() == getattr(expected, name).tolist()
    assert np.abs(there.log_probability - expected.log_probability).max() < 1e-4


def test_an_audit_of_it_is_that_of_the_weights(served, here):
    sides = made_texts(10, 3, 3), made_texts(10, 4, 3)
    found = audit_causal(EndpointModel(served, NAME), None, *sides)
    expected = audit_causal(here, None, *sides)
    assert found.energies.target == pytest.approx(expected.energies.target, abs=1e-4)
    areas = {x.name: x.auc.value for x in expected.evaluations}
    areas.pop("min-k++")
    assert {x.name: x.auc.value for x in found.evaluations} == pytest.approx(areas, abs=1e-9)


def test_a_text_longer_than_it_reads_and_another_name_are_refused(served):
    with pytest.raises(InputError, match=r"refuses with status 400 \(.*maximum context length"):
        EndpointModel(served, NAME).answer(" ".join(made_texts(20)))
    with pytest.raises(InputError, match="refuses with status 404"):
        EndpointModel(served, "other").answer("a text")
