"""Energies under two masked language models, beside a loop over texts.

The loop passes all masks of a text at once, takes the logits at all positions, and keeps the
masked ones. Both sides mask the same positions, run on one thread and start with loaded models.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
import transformers
from _duel import Duel, Side
from _measure import Timed, ratio_row, show, timed

from privacygauge.language.likelihoods import pair_log_probabilities, token_log_probabilities
from privacygauge.language.masks import MaskPlan
from privacygauge.language.model import load_masked
from privacygauge.language.precision import supports_bfloat16

SIZES = {
    "bert-base": {},
    "4 layers of 256": {
        "hidden_size": 256,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "intermediate_size": 1024,
    },
}
GOALS = {
    ("bert-base", "float32"): "goal 1.8",
    ("bert-base", "bfloat16"): "goal 8",
    ("4 layers of 256", "float32"): "goal 3.5",
    ("4 layers of 256", "bfloat16"): "goal 9",
}
N_TOKENS = 48


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=list(SIZES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in [options.only] if options.only else SIZES:
        with tempfile.TemporaryDirectory() as folder:
            show(rows_of(name, Path(folder), options.texts, options.repeat))


def rows_of(name: str, folder: Path, n_texts: int, repeat: int) -> list[str]:
    words = save_models(name, folder)
    texts = made_texts(words, n_texts)
    plan = MaskPlan()
    models = [load_masked(folder / which) for which in "ab"]
    loop = timed(lambda: [looped(model, texts, plan) for model in models], repeat)
    ours = {"float32": timed(lambda: pair_log_probabilities(*models, texts, plan), repeat)}
    if supports_bfloat16("cpu"):
        half = [load_masked(folder / which, precision="bfloat16") for which in "ab"]
        ours["bfloat16"] = timed(lambda: pair_log_probabilities(*half, texts, plan), repeat)
    return [row for precision in ours for row in both_rows(name, precision, loop, ours[precision])]


def both_rows(name: str, precision: str, loop: Timed, ours: Timed) -> list[str]:
    return [
        ratio_row(f"{name}, {precision}", loop, ours, GOALS[name, precision]),
        f"    largest difference of an energy: {off(loop, ours):.2g} nats",
    ]


def off(loop: Timed, ours: Timed) -> float:
    both = (ours.value.target.mean(), ours.value.reference.mean())
    return float(max(np.abs(a - b).max() for a, b in zip(loop.value, both, strict=True)))


def looped(model, texts: list[str], plan: MaskPlan) -> np.ndarray:
    """Return the energies by the obvious loop; masks are drawn by PrivacyGauge, to compare."""
    energies = []
    for text in texts:
        ids = torch.as_tensor(model.tokenizer.encoded([text])[0].ids)
        masks = [torch.as_tensor(mask + 1) for mask in plan.masks(key_of(text), N_TOKENS)]
        shown = ids.repeat(len(masks), 1)
        for row, mask in zip(shown, masks, strict=True):
            row[mask] = model.mask_id
        with torch.no_grad():
            logs = model.module(input_ids=shown).logits.log_softmax(-1)
        losses = [
            -log[mask].gather(1, ids[mask, None]).mean().item()
            for log, mask in zip(logs, masks, strict=True)
        ]
        energies.append(np.mean(losses))
    return np.array(energies)


def key_of(text: str) -> str:
    from privacygauge.language.tokens import checked_keys

    return checked_keys([text])[0]


def made_texts(words: list[str], n: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(words, N_TOKENS)) for _ in range(n)]


def save_models(name: str, folder: Path) -> list[str]:
    """Save two models with random weights, and return the words that are one token each."""
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    settings = transformers.BertConfig(**SIZES[name])
    words = [f"word{number}" for number in range(settings.vocab_size - 5)]
    vocab = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    for seed, which in enumerate("ab"):
        torch.manual_seed(seed)
        (folder / which).mkdir()
        (folder / which / "vocab.txt").write_text("\n".join(vocab))
        transformers.BertForMaskedLM(settings).save_pretrained(folder / which)
        tokenizer = transformers.BertTokenizer(str(folder / which / "vocab.txt"))
        tokenizer.save_pretrained(folder / which)
    return words


def work(model: str, texts: str, pattern: str, by: str) -> Callable[[], list[float]]:
    """Return a call that gives the mean log-probability of each text's masked tokens."""
    torch.set_num_threads(1)
    asked, loaded = json.loads(Path(texts).read_text()), load_masked(model)
    plan = MaskPlan(pattern)
    if by == "ours":
        return lambda: (-token_log_probabilities(loaded, asked, plan).mean()).tolist()
    return lambda: (-looped(loaded, asked, plan)).tolist()


def save(models: Path, texts: Path, n: int) -> None:
    """Write the models and n texts, once for all that read them."""
    if not texts.exists():
        texts.write_text(json.dumps(made_texts(saved(models), n)))


@cache
def saved(models: Path) -> list[str]:
    """Save the common table's models, once, and return their words."""
    models.mkdir()
    return save_models("4 layers of 256", models)


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table: a model of 4 layers of 256, random weights."""
    model = str(folder / "masked" / "a")
    for n in (2, 8) if quick else (4, 16, 64):
        file = folder / f"texts-{n}.json"
        given = {"model": model, "texts": str(file)}
        ready = partial(save, folder / "masked", file, n)
        unit = f"texts of {N_TOKENS} tokens"
        both = [
            Side(name, __file__, "work", {**given, "pattern": "balanced", "by": by})
            for name, by in (("energies", "ours"), ("loop over texts", "loop"))
        ]
        yield Duel(
            "masked energies, 10 masks", n, unit, *both, goal=3.5, tolerance=1e-4, prepare=ready
        )
        yield Duel(
            "masked energies, each token",
            n,
            unit,
            Side("energies", __file__, "work", {**given, "pattern": "single", "by": "ours"}),
            Side(
                "minicons, batches of 8",
                "peers/minicons.py",
                "scores",
                {**given, "batch": 8},
                "minicons",
            ),
            tolerance=1e-4,
            prepare=ready,
        )


if __name__ == "__main__":
    main()
