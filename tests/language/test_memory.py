"""Memory of a pass: the numbers of tokens and of the vocabulary do not multiply."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = [pytest.mark.torch, pytest.mark.slow]

# Memory is that of a process: what a test before it freed would be used again.
SCRIPT = """
import re, sys
import torch, transformers
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.model import model_of
from tests.language.tiny_models import byte_pairs

def mebibytes(field):
    return int(re.search(rf"{field}:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024

n = int(sys.argv[1])
torch.set_num_threads(1)
config = transformers.GPT2Config(
    vocab_size=100_000, n_embd=32, n_layer=1, n_head=2, n_positions=8192, bos_token_id=2,
    eos_token_id=2,
)
tokenizer = byte_pairs(framed=False)
model = model_of(transformers.GPT2LMHeadModel(config).eval(), tokenizer)
words = "the patient was seen today with pain "
text = tokenizer.decode(tokenizer(words * n)["input_ids"][:n])
token_log_probabilities(model, [words])
with open("/proc/self/clear_refs", "w") as reset:
    reset.write("5")
held = mebibytes("VmRSS")
found = token_log_probabilities(model, [text])
print(int(found.lengths[0]), mebibytes("VmHWM") - held)
"""


def beyond(n: int) -> float:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(n)], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    tokens, found = done.stdout.split()
    assert abs(int(tokens) - n) < 3
    return float(found)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux's /proc")
def test_the_peak_is_flat_in_the_tokens():
    """Logits of 3,000 tokens and 100,000 entries take 1,144 MiB, and their logarithms as much."""
    # Small arrays between large ones left gaps in one of three processes.
    found = [beyond(3000) for _ in range(5)]
    assert max(found) < 300, found
