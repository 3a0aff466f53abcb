"""minicons: pseudo-log-likelihoods of texts under a masked language model."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path


def scores(model: str, texts: str, batch: int) -> Callable:
    """Return a call that gives the mean log-probability of each text's tokens, masked singly."""
    import torch
    from minicons.scorer import MaskedLMScorer

    torch.set_num_threads(1)
    asked = json.loads(Path(texts).read_text())
    scorer = MaskedLMScorer(model, "cpu")

    def measure() -> list[float]:
        found = []
        for start in range(0, len(asked), batch):
            part = asked[start : start + batch]
            found += scorer.sequence_score(
                part, reduction=lambda x: x.mean(0).item(), PLL_metric="original"
            )
        return found

    return measure


def named_scores(model: str, texts: str, batch: int) -> Callable:
    """Return a call that gives version and the same."""
    measure = scores(model, texts, batch)
    return lambda: {"version": version("minicons"), "mean": measure()}


def next_token_scores(model: str, texts: str) -> Callable:
    """Return a call that gives the mean log-probability of each text's tokens but the first."""
    import torch
    from minicons.scorer import IncrementalLMScorer

    torch.set_num_threads(1)
    asked = json.loads(Path(texts).read_text())
    scorer = IncrementalLMScorer(model, "cpu")
    return lambda: {
        "version": version("minicons"),
        "mean": scorer.sequence_score(asked, reduction=lambda x: x.mean(0).item()),
    }
