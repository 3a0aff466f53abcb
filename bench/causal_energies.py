"""Log-likelihoods of whole notes under a model of GPT-2 small's shape, beside a batched loop.

The model has 124 million random weights; the notes are made of MTSamples' sentences, up to 400
words each. The loop is what one writes with transformers: 4 notes a batch in the order in which
they come, logits at all positions, their logarithms, the notes' own tokens. Ours says more about
each token: the mean and the deviation over the vocabulary, for min-k++. The bare passes are what no
audit can do without: the same batches as ours, logits at all positions, and nothing made of them.
All sides read a part of the notes and are scaled, run on one thread and start with a loaded model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import torch
import transformers
from _duel import Duel, Side, table_alone

from privacygauge.datasets.public import mtsamples
from privacygauge.language.forward_pass import batch_of, causal_scored, pass_groups
from privacygauge.language.likelihoods import read_texts, token_log_probabilities
from privacygauge.language.model import load_causal
from privacygauge.language.store import distinct_texts, token_budget
from privacygauge.language.training import Shape

N, PART, BATCH, WORDS = 1000, 4, 4, 400


def save(folder: Path, n: int) -> None:
    """Write a GPT-2 small with random weights, and n notes."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    part = mtsamples("member")
    Shape("causal", 1, 64, 8192, 1024).tokenizer(part.text).save_pretrained(folder)
    torch.manual_seed(0)
    transformers.GPT2LMHeadModel(transformers.GPT2Config()).save_pretrained(folder)
    notes = [
        " ".join(
            " ".join(part.text[row] for row in np.flatnonzero(part.note == note)).split()[:WORDS]
        )
        for note in np.unique(part.note)[:n]
    ]
    (folder / "notes.json").write_text(json.dumps(notes))


def work(model: str, by: str) -> Callable[[], list[float]]:
    """Return a call that gives the mean log-likelihood of a token of each note."""
    torch.set_num_threads(1)
    loaded, notes = load_causal(model), json.loads((Path(model) / "notes.json").read_text())
    if by == "bare":
        return lambda: passed(loaded, notes)
    if by == "ours":
        return lambda: (-token_log_probabilities(loaded, notes).mean()).tolist()
    return lambda: looped(loaded, notes)


def looped(model, notes: list[str]) -> list[float]:
    """Return the same by the batched loop."""
    found = []
    encoded = model.tokenizer.encoded(notes)
    for start in range(0, len(encoded), BATCH):
        some = encoded[start : start + BATCH]
        ids, inside, content = (
            torch.nn.utils.rnn.pad_sequence([torch.as_tensor(x) for x in part], batch_first=True)
            for part in zip(*((x.ids, np.ones_like(x.ids), ~x.framing) for x in some), strict=True)
        )
        with torch.no_grad():
            logits = model.module(input_ids=ids, attention_mask=inside).logits
            logs = logits[:, :-1].log_softmax(-1).gather(2, ids[:, 1:, None])[:, :, 0]
        scored = content[:, 1:]
        found += ((logs * scored).sum(1) / scored.sum(1)).tolist()
    return found


def passed(model, notes: list[str]) -> list[float]:
    """Run the forward passes that ours run, and make nothing of their logits."""
    (tokens,), _ = read_texts([model], notes, "token")
    tokens = tokens.rows(distinct_texts(tokens)[0])
    scored = causal_scored(tokens, 1)
    for group in pass_groups(tokens, scored, range(len(tokens)), token_budget(model)):
        batch = batch_of(tokens, scored, group, pad_id=0, mask_id=None)
        ids = torch.as_tensor(batch.ids)
        inside = torch.arange(ids.shape[1])[None] < torch.as_tensor(batch.lengths)[:, None]
        with torch.inference_mode():
            model.module(input_ids=ids, attention_mask=inside.long(), use_cache=False)
    return []


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the line of the common table."""
    model, part = folder / "gpt2-small", 2 if quick else PART
    line = partial(
        Duel,
        size=N,
        unit=f"notes of up to {WORDS} words",
        turns=1 if quick else 2,
        note="both sides scaled",
        prepare=partial(save, model, part),
    )

    def side(name: str, by: str) -> Side:
        return Side(name, __file__, "work", {"model": str(model), "by": by}, share=part / N)

    ours = side("log-likelihoods", "ours")
    loop = side(f"loop, batches of {BATCH}", "loop")
    bare = side("bare forward passes", "bare")
    yield line("causal log-likelihoods, 124M weights", ours=ours, theirs=loop, tolerance=1e-4)
    yield line("causal log-likelihoods beside bare passes, 124M weights", ours=ours, theirs=bare)


if __name__ == "__main__":
    table_alone(__doc__.splitlines()[0], duels)
