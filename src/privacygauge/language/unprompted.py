"""Texts that a causal model writes without a prompt, and the training texts that stand in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import ArrayLike

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError
from privacygauge.language.extraction_options import Writing
from privacygauge.language.model import CausalModel
from privacygauge.language.store import AnswerStore, compute_arrays, model_settings
from privacygauge.language.texts import ScoredText
from privacygauge.runs.plan import ArraySpec, Plan, Task

_AT_ONCE = 64
"""Texts that are written together, and kept together."""


def written_unprompted(
    model: CausalModel,
    texts: Sequence[ScoredText],
    how: Writing,
    n: int,
    *,
    seed: int = 0,
    kept: AnswerStore | None = None,
) -> Bools:
    """Return the texts of which a model writes a stretch by itself, (m,).

    Parameters
    ----------
    model : CausalModel
        Begins with its token for the beginning of a text, or for the end of the one before.
    texts : sequence of str or TrainedText
        Texts to look for, m of them.
    how : Writing
        Sampling settings; each written text has as many tokens as prefix and suffix together, and
        a stretch has as many as the suffix, or as a shorter text.
    n : int
        Number of texts to write, at least 1.
    seed : int
        Seed of the sampling.
    kept : AnswerStore, optional
        Folder of the written texts; by default they are not kept.

    Raises
    ------
    InputError
        If the tokenizer has no token to begin with.

    Notes
    -----
    Carlini et al. (2021), section 4: texts are sampled from the beginning token alone. They look
    for what the model finds likely, and ask the training set; here the training texts are known,
    and are looked for directly.
    """
    wrote = _sampled_ids(model, how, n, seed=seed, kept=kept or AnswerStore())
    encoded = [one.ids[~one.framing] for one in model.tokenizer.encoded(texts)]
    needed = np.array([min(how.suffix, len(ids)) for ids in encoded])
    found = np.zeros(len(encoded), np.bool_)
    for size in np.unique(needed).tolist():
        windows = sliding_window_view(wrote, size, axis=1).reshape(-1, size)
        known = {window.tobytes() for window in windows}
        for row in np.flatnonzero(needed == size).tolist():
            own = sliding_window_view(encoded[row].astype(np.int32), size)
            found[row] = any(window.tobytes() in known for window in own)
    return found


@dataclass(frozen=True, eq=False)
class Sampling:
    """Task of a run: texts that a model writes without a prompt."""

    model: CausalModel
    """Model to run."""
    how: Writing
    """Sampling settings."""
    first: int
    """Token to begin with."""
    seed: int
    """Seed of the sampling."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the token ids of the task's texts, (texts, tokens)."""
        import torch

        drawn = seeds.stream(self.seed, "unprompted", task.start)
        generator = torch.Generator().manual_seed(int(drawn.integers(2**62)))
        given = torch.full((task.n_units, 1), self.first, device=self.model.module.device)
        chosen = []
        past = None
        with torch.inference_mode():
            for _ in range(_n_tokens(self.model, self.how)):
                out = self.model.module(input_ids=given, past_key_values=past, use_cache=True)
                past = out.past_key_values
                logits = out.logits[:, -1].float().cpu() / self.how.temperature
                if 0 < self.how.top_k < logits.shape[1]:
                    last = logits.topk(self.how.top_k).values[:, -1:]
                    logits = logits.masked_fill(logits < last, -torch.inf)
                drawn_tokens = torch.multinomial(logits.softmax(1), 1, generator=generator)
                given = drawn_tokens.to(given.device)
                chosen.append(drawn_tokens)
        return {"ids": torch.cat(chosen, 1).numpy().astype(np.int32)}


def _n_tokens(model: CausalModel, how: Writing) -> int:
    return min(how.prefix + how.suffix, model.limit - 1)


def _sampled_ids(model: CausalModel, how: Writing, n: int, *, seed: int, kept: AnswerStore) -> Ints:
    """Return the token ids of n written texts, (n, tokens)."""
    frame = model.tokenizer.encoded(["a"])[0]
    config = model.module.config
    # The frame of the tokenizer where it writes one, as in the training.
    own = frame.ids[:1].tolist() if frame.framing[0] else []
    known = [x for x in (*own, config.bos_token_id, config.eos_token_id) if isinstance(x, int)]
    first = known[0] if known else None
    if first is None:
        raise InputError(
            f"{model.source.path} has no token to begin a text with (bos_token_id, eos_token_id): "
            "leave unprompted out"
        )
    width = _n_tokens(model, how)
    plan = Plan(
        name="language",
        seed=seed,
        unit="text",
        n_units=n,
        units_a_task=min(_AT_ONCE, n),
        arrays={"ids": ArraySpec(("text", "token"), (n, width), "int32")},
        settings={
            "kind": "unprompted",
            "temperature": how.temperature,
            "top k": how.top_k,
            **model_settings(model),
        },
    )
    found: Ints = compute_arrays(plan, Sampling(model, how, first, seed), kept)["ids"]
    return found
