"""Energies under a masked language model, beside loops that one writes with transformers.

One loop passes a masked copy at a time, the other a batch of 32 of them; both take the logits at
all positions, and keep the masked ones. All sides mask the same positions, run on one thread and
start with loaded models. All texts have one length, so that the batches of the loop hold no
filling.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
import transformers
from _duel import Duel, Side, table_alone

from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.loading import supports_bfloat16
from privacygauge.language.model import load_masked

SIZES = {
    "BERT-base": {},
    "4 layers of 256": {
        "hidden_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
    },
}
N_TOKENS, BATCH = 48, 32
NOTES = {
    "float32": "a fifth of the products make logits, so leaving most of them out gives 1.23",
    "bfloat16": "theirs in float32; a processor with AVX512-BF16 and without AMX is slower so",
}
"""What bounds the ratio for a model of BERT-base's shape."""


def looped(model, texts: list[str], plan: MaskPlan, rows: int) -> np.ndarray:
    """Return the energies by so many masked copies a pass; masks are drawn by PrivacyGauge."""
    copies = [
        (row, torch.as_tensor(model.tokenizer.encoded([text])[0].ids), torch.as_tensor(mask + 1))
        for row, text in enumerate(texts)
        for mask in plan.masks(key_of(text), N_TOKENS)
    ]
    losses: list[list[float]] = [[] for _ in texts]
    for start in range(0, len(copies), rows):
        some = copies[start : start + rows]
        shown = torch.stack([ids for _, ids, _ in some])
        for line, (_, _, mask) in zip(shown, some, strict=True):
            line[mask] = model.mask_id
        with torch.no_grad():
            logs = model.module(input_ids=shown).logits.log_softmax(-1)
        for log, (row, ids, mask) in zip(logs, some, strict=True):
            losses[row].append(-log[mask].gather(1, ids[mask, None]).mean().item())
    return np.array([np.mean(each) for each in losses])


def key_of(text: str) -> str:
    from privacygauge.language.tokens import checked_keys

    return checked_keys([text])[0]


def made_texts(words: list[str], n: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(words, N_TOKENS)) for _ in range(n)]


def save_model(name: str, folder: Path) -> None:
    """Save a model with random weights; its words are one token each."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    settings = transformers.BertConfig(**SIZES[name])
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words(settings.vocab_size)]
    torch.manual_seed(0)
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(vocab))
    transformers.BertForMaskedLM(settings).save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)


def words(n_tokens: int) -> list[str]:
    """Return the words of a vocabulary of so many tokens."""
    return [f"word{number}" for number in range(n_tokens - 5)]


def work(
    model: str, texts: str, pattern: str, by: str, precision: str = "float32"
) -> Callable[[], list[float]]:
    """Return a call that gives the mean log-probability of each text's masked tokens."""
    torch.set_num_threads(1)
    asked, loaded = json.loads(Path(texts).read_text()), load_masked(model, precision=precision)
    plan = MaskPlan(pattern)
    if by == "ours":
        return lambda: (-token_log_probabilities(loaded, asked, plan).mean()).tolist()
    rows = {"loop": 1, "batches": BATCH}[by]
    return lambda: (-looped(loaded, asked, plan, rows)).tolist()


def save(name: str, model: Path, texts: Path, n: int, precision: str = "float32") -> None:
    """Write the model and n texts, once for all that read them."""
    if precision == "bfloat16" and not supports_bfloat16("cpu"):
        raise InputError("the processor has no instructions for bfloat16")
    saved(name, model)
    if not texts.exists():
        texts.write_text(json.dumps(made_texts(words(transformers.BertConfig().vocab_size), n)))


saved = cache(save_model)


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table: models with random weights."""
    for n in (2, 8) if quick else (4, 16, 64):
        yield from lines("4 layers of 256", folder, n, "masked energies, 10 masks", (3.5, None))
        yield each_token(folder, n)
    path = "masked energies, BERT-base's shape"
    yield from lines("BERT-base", folder, 2 if quick else 4, path, (None, 1.8))
    yield from lines(
        "BERT-base", folder, 2 if quick else 4, f"{path}, bfloat16", (None, 8), "bfloat16"
    )


def lines(
    name: str,
    folder: Path,
    n: int,
    path: str,
    goals: tuple[float | None, ...],
    precision: str = "float32",
) -> Iterator[Duel]:
    """Return the lines of n texts beside a loop over copies, and beside one over batches."""
    model, file = folder / name.replace(" ", "-"), folder / f"texts-{n}.json"
    given = {"model": str(model), "texts": str(file), "pattern": "balanced"}
    ours = Side("energies", __file__, "work", {**given, "by": "ours", "precision": precision})
    loops = (
        ("", "loop over texts and masks", "loop"),
        (", beside batches", f"loop, batches of {BATCH} copies", "batches"),
    )
    for (beside, rival, by), goal in zip(loops, goals, strict=True):
        yield Duel(
            f"{path}{beside}",
            n,
            f"texts of {N_TOKENS} tokens",
            ours,
            Side(rival, __file__, "work", {**given, "by": by}),
            goal=goal,
            tolerance=1e-4 if precision == "float32" else 1e-2,
            note=NOTES[precision] if name == "BERT-base" else "",
            prepare=partial(save, name, model, file, n, precision),
        )


def each_token(folder: Path, n: int) -> Duel:
    """Return the line of n texts, each token hidden alone, beside minicons."""
    name = "4 layers of 256"
    model, file = folder / name.replace(" ", "-"), folder / f"texts-{n}.json"
    given = {"model": str(model), "texts": str(file)}
    return Duel(
        "masked energies, each token",
        n,
        f"texts of {N_TOKENS} tokens",
        Side("energies", __file__, "work", {**given, "pattern": "single", "by": "ours"}),
        Side(
            "minicons, batches of 8",
            "peers/minicons.py",
            "scores",
            {**given, "batch": 8},
            "minicons",
        ),
        tolerance=1e-4,
        prepare=partial(save, name, model, file, n),
    )


if __name__ == "__main__":
    table_alone(__doc__.splitlines()[0], duels)
