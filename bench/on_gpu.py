"""Energies and shadow training on a GPU beside the loops that one writes: `bench/on_gpu.py`.

Energies are those of a model of BERT-base's shape with random weights. Printed are the largest
differences from a processor's float32 and the ratios of times, theirs over ours, in one run.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers
from masked_energies import BATCH, looped, made_texts, save_model, words
from stacked_training import in_turns
from stacked_training import on_gpu as stacked

from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.model import load_masked

PRECISIONS = ("float32", "bfloat16", "float16")


def energies(n_texts: int, repeat: int) -> list[str]:
    """Return rows of differences from the processor and of ratios, one per precision."""
    rows = ["precision  largest difference, nats  loop / ours  batches of 32 / ours  ms per text"]
    plan = MaskPlan("balanced")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "bert"
        save_model("BERT-base", folder)
        texts = made_texts(words(transformers.BertConfig().vocab_size), n_texts)
        processor = load_masked(folder)
        known = token_log_probabilities(processor, texts[:4], plan).mean()
        theirs = Beside(load_masked(folder, device="cuda"), plan)
        for precision in PRECISIONS:
            model = load_masked(folder, device="cuda", precision=precision)
            found = token_log_probabilities(model, texts[:4], plan).mean()
            calls: dict[str, tuple[Callable[[], object], int]] = {
                "loop": (lambda: theirs.looped(texts[:4], 1), 4),
                "batches": (lambda: theirs.looped(texts, BATCH), n_texts),
                "ours": (lambda model=model: token_log_probabilities(model, texts, plan), n_texts),
            }
            times = {name: np.median(x.seconds) for name, x in in_turns(repeat, calls).items()}
            rows.append(
                f"{precision:9}  {np.abs(found - known).max():24.1e}  "
                f"{times['loop'] / times['ours']:11.1f}  {times['batches'] / times['ours']:20.2f}  "
                f"{1e3 * times['ours']:11.2f}"
            )
    return rows


class Beside:
    """The loops over masked copies in float32, on a GPU."""

    def __init__(self, model, plan: MaskPlan) -> None:
        self.model, self.plan = model, plan

    def looped(self, texts: list[str], rows: int) -> np.ndarray:
        """Return the energies by so many masked copies per pass."""
        with torch.device("cuda"):
            return looped(self.model, texts, self.plan, rows)


def main() -> None:
    """Print what was measured, with the name of the device."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--texts", type=int, default=256)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("no GPU here: nothing to measure")
    print(torch.cuda.get_device_name(), "torch", torch.__version__)
    for row in (*energies(options.texts, options.repeat), *stacked(options)):
        print(row)


if __name__ == "__main__":
    main()
