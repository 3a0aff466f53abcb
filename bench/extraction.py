"""How likely a causal model writes a suffix, from one pass, beside writing it again and again.

Whoever samples needs about as many tries as the number that is asked about; here the other side
writes 100 continuations of each prefix with transformers' own `generate`, a batch a prefix, which
keeps what it has computed. Both run on one thread and start with loaded models.
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

from privacygauge.language.extraction import suffix_likelihoods, suffixes_of
from privacygauge.language.model import load_causal
from privacygauge.language.model_options import Writing

N_TOKENS, TRIES = 64, 100


def save(folder: Path, n: int, seed: int = 0) -> None:
    """Write a GPT-2 of 4 layers of 256 with random weights, and n texts of known words."""
    if not folder.exists():
        transformers.utils.logging.disable_progress_bar()
        transformers.utils.logging.set_verbosity_error()
        words = [f"word{number}" for number in range(2000)]
        vocab = {word: number for number, word in enumerate(["<unk>", *words])}
        made = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer(vocab))
        torch.manual_seed(seed)
        settings = transformers.GPT2Config(
            vocab_size=len(vocab), n_embd=256, n_layer=4, n_head=4, n_positions=128
        )
        transformers.GPT2LMHeadModel(settings).save_pretrained(folder)
        made.save_pretrained(folder)
    rng = np.random.default_rng(0)
    texts = [" ".join(f"word{i}" for i in rng.integers(0, 2000, N_TOKENS)) for _ in range(n)]
    folder.with_name(f"extraction-{n}.json").write_text(json.dumps(texts))


def tokenizer(vocab: dict[str, int]):
    """Return a tokenizer of whole words."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    made = Tokenizer(WordLevel(vocab, "<unk>"))
    made.pre_tokenizer = Whitespace()
    return made


def work(model: str, texts: str, by: str) -> Callable[[], list[float]]:
    """Return a call that says of each text whether its suffix comes, or how likely."""
    torch.set_num_threads(1)
    loaded, asked = load_causal(model), json.loads(Path(texts).read_text())
    how = Writing(prefix=N_TOKENS // 2, suffix=N_TOKENS // 2)
    if by == "ours":
        return lambda: shares(loaded, asked, how)
    return lambda: sampled(loaded, asked, how)


def shares(model, texts: list[str], how: Writing) -> list[float]:
    """Return the expected share of the tries that give each suffix."""
    [suffixes], _ = suffixes_of(texts, [model], how)
    return np.exp(suffix_likelihoods(model, suffixes, how).log_probability).tolist()


def sampled(model, texts: list[str], how: Writing) -> list[float]:
    """Return the share of the tries that gave each suffix."""
    [suffixes], _ = suffixes_of(texts, [model], how)
    found = []
    torch.manual_seed(0)
    for row in range(len(suffixes)):
        before, after = suffixes.of(row)
        out = model.module.generate(
            torch.tensor(before)[None].repeat(TRIES, 1),
            attention_mask=torch.ones(TRIES, len(before), dtype=torch.long),
            do_sample=True,
            top_k=how.top_k,
            max_new_tokens=len(after),
            pad_token_id=0,
            eos_token_id=None,
        )
        hit = (out[:, len(before) :].numpy() == after).all(axis=1)
        found.append(float(hit.mean()))
    return found


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table: a model of 4 layers of 256, random weights."""
    model = folder / "extraction"
    for n in (2,) if quick else (2, 4):
        given = {"model": str(model), "texts": str(folder / f"extraction-{n}.json")}
        both = [
            Side(name, __file__, "work", {**given, "by": by})
            for name, by in (("probabilities", "ours"), (f"{TRIES} samples a text", "loop"))
        ]
        yield Duel(
            f"extraction within {TRIES} tries",
            n,
            f"texts of {N_TOKENS} tokens",
            *both,
            goal=20,
            prepare=partial(save, model, n),
        )


if __name__ == "__main__":
    table_alone(__doc__.splitlines()[0], duels)
