"""Inputs that PrivacyGauge and its peers were given alike; `bench/correctness.py` writes them.

What the others answered is recorded in ``peers.json``. Everything derives from fixed seeds.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from scipy.special import expit, log_softmax, softmax

from privacygauge.datasets.local_copies import own_file
from privacygauge.evaluate.sampled_steps import gaussian_epsilon

FPRS = (0.01, 0.05, 0.1, 0.25)
GAMES = 200
SIDE = 200
CANARY_GAMES = 40
GUESSES = (
    (100, 100, 100),
    (1000, 1000, 600),
    (1000, 1000, 700),
    (1000, 1000, 850),
    (1000, 1000, 1000),
    (1000, 100, 95),
    (1000, 100, 100),
    (10_000, 1000, 980),
)
"""Canaries of one training, guesses about them and right guesses."""
GUESSES_DELTA = 1e-5
SHARES = (0.0, 0.1, 0.5, 1.0)
USAGE_GAMES = 5
"""Games of each share of use."""
TRIMS = (0.0, 0.5, 0.75, 0.9)
SIZES = (6, 2, 5)
"""Categories of each attribute of `records`."""
WORDS = tuple(f"word{number}" for number in range(25))
VOCABULARY = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS)


def rankings() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return scores in (0, 1) and who is a member, without ties and with them."""
    rng = np.random.default_rng(0)
    member = np.arange(400) < 200
    score = rng.normal(size=400) + member
    every = np.repeat(np.linspace(0.01, 0.99, 99), 2)
    return {
        "distinct": (expit(score), member),
        "rounded": (expit(score.round()), member),
        "pairs": (every, np.arange(198) % 2 == 0),
        "constant": (np.full(40, 0.5), np.arange(40) < 20),
        "wrong": (1 - expit(score), member),
    }


def location30() -> tuple[np.ndarray, np.ndarray] | None:
    """Return the confidences of a published model for 2,000 people of Location30, and members."""
    paths = [
        own_file(f"location_{name}.npz") for name in ("target_predictions", "labels_membership")
    ]
    if None in paths:
        return None
    with np.load(paths[0]) as told, np.load(paths[1]) as known:
        labels = known["y_target"].astype(np.int64)
        score = told["tc_output"][np.arange(len(labels)), labels]
        return score.astype(np.float64), known["member_target"].astype(bool)


def noise() -> tuple[np.ndarray, np.ndarray]:
    """Return scores that tell nothing and who is a member, (games, rows) each."""
    scores = np.random.default_rng(1).normal(size=(GAMES, 2 * SIDE))
    return scores, np.tile(np.arange(2 * SIDE) < SIDE, (GAMES, 1))


def canaries() -> dict[str, tuple[np.ndarray, np.ndarray, float, float]]:
    """Return games of one training each, whose epsilon is known, by name.

    Scores and members, (games, m) each; delta; and the true epsilon there, as a neighbour is added
    or removed.
    """
    rng = np.random.default_rng(11)

    def gaussian(mu: float, m: int, games: int) -> tuple[np.ndarray, np.ndarray, float, float]:
        member = rng.random((games, m)) < 0.5
        score = rng.normal(size=(games, m)) + mu * member
        return score, member, 1e-5, float(gaussian_epsilon(mu, 1e-5))

    member = rng.random((CANARY_GAMES, 1000)) < 0.5
    told = np.where(rng.random(member.shape) < expit(2.0), member, ~member)
    every = np.tile(np.arange(100) < 50, (1, 1))
    return {
        "perfect attack, m = 100": (every.astype(float), every, 1e-5, np.inf),
        "randomised response, m = 1,000": (told.astype(float), member, 1e-5, 2.0),
        "Gaussian, mu 1, m = 1,000": gaussian(1.0, 1000, CANARY_GAMES),
        "Gaussian, mu 2, m = 1,000": gaussian(2.0, 1000, CANARY_GAMES),
        "Gaussian, mu 4, m = 1,000": gaussian(4.0, 1000, CANARY_GAMES),
    }


def predictions() -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities of four classes (60, 4) and labels; members come first."""
    rng = np.random.default_rng(2)
    labels = rng.integers(4, size=60)
    logits = rng.normal(size=(60, 4))
    logits[np.arange(60), labels] += np.where(np.arange(60) < 30, 4.0, 2.0)
    return softmax(logits, axis=1), labels


def shifted(probs: np.ndarray) -> np.ndarray:
    """Return logits of the same probabilities whose rows sum to 1, as some models' do by chance."""
    logits = log_softmax(np.log(probs), axis=1)
    return logits - logits.mean(axis=1, keepdims=True) + 1 / probs.shape[1]


def two_classes() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return probabilities of two classes, labels, and who is a member, half of them."""
    rng = np.random.default_rng(3)
    labels = np.arange(80) // 2 % 2
    member = np.arange(80) % 2 == 0
    right = rng.random(80) < np.where(member, 0.95, 0.6)
    top = rng.uniform(0.55, 0.99, 80)
    p = np.where(right == (labels == 1), top, 1 - top)
    return np.column_stack([1 - p, p]), labels, member


def records() -> tuple[np.ndarray, np.ndarray]:
    """Return 60 records of three attributes, the second of which nearly tells the class."""
    rng = np.random.default_rng(2)
    y = (rng.random(60) < 0.5).astype(np.int64)
    first = rng.integers(SIZES[0], size=60)
    second = np.where(rng.random(60) < 0.95, y, 1 - y)
    return np.column_stack([first, second, rng.integers(SIZES[2], size=60)]), y


def worlds() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scaled logits of 32 models for 30 records, who was inside, and the target's logits."""
    rng = np.random.default_rng(5)
    inside = rng.random((32, 30)) < 0.5
    hard = rng.normal(size=30)
    logits = hard + rng.normal(size=(32, 30)) * 0.5 + inside
    return logits, inside, hard + rng.normal(size=30) * 0.5 + (np.arange(30) < 15)


def tables() -> dict[str, np.ndarray]:
    """Return 100 records of six numbers, 100 others, and a synthetic table: a copy of the first."""
    rng = np.random.default_rng(6)
    real = rng.normal(size=(100, 6)).round(3)
    return {"real": real, "holdout": rng.normal(size=(100, 6)).round(3), "synthetic": real}


def texts() -> list[str]:
    """Return twelve texts of three to fourteen words."""
    rng = np.random.default_rng(7)
    return [" ".join(rng.choice(WORDS, 3 + number)) for number in range(12)]


def save_model(folder: Path) -> None:
    """Save a masked language model whose weights do not depend on torch's generator."""
    import torch
    import transformers

    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    settings = transformers.BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
    )
    model = transformers.BertForMaskedLM(settings)
    rng = np.random.default_rng(8)
    with torch.no_grad():
        for _, weights in sorted(model.named_parameters()):
            drawn = rng.normal(scale=0.5, size=tuple(weights.shape))
            weights.copy_(torch.from_numpy(drawn))
    model.save_pretrained(folder)
    transformers.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)


def long_texts() -> list[str]:
    """Return twelve texts of seven to eighteen words: a fifth of the tokens is one at least."""
    rng = np.random.default_rng(9)
    return [" ".join(rng.choice(WORDS, 7 + number)) for number in range(12)]


WRITING = {"prefix": 3, "suffix": 3, "temperature": 2.0, "top_k": 20, "tries": [1, 100, 10_000]}
"""How the words of a long text are to be written: after how many, how many, and how often tried."""


def prefix() -> list[str]:
    """Return two texts that others are put after; the second begins with a blank."""
    rng = np.random.default_rng(10)
    return [" ".join(rng.choice(WORDS, 5)), " " + " ".join(rng.choice(WORDS, 4))]


def save_causal(folder: Path, seed: int) -> None:
    """Save a causal language model whose weights do not depend on torch's generator."""
    import torch
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    ids = {word: number for number, word in enumerate(("</s>", *WORDS))}
    words = Tokenizer(models.WordLevel(ids, unk_token="</s>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    settings = transformers.GPT2Config(
        vocab_size=len(ids),
        n_embd=16,
        n_layer=2,
        n_head=2,
        n_positions=64,
        bos_token_id=0,
        eos_token_id=0,
    )
    model = transformers.GPT2LMHeadModel(settings)
    rng = np.random.default_rng(seed)
    with torch.no_grad():
        for _, weights in sorted(model.named_parameters()):
            weights.copy_(torch.from_numpy(rng.normal(scale=0.5, size=tuple(weights.shape))))
    model.save_pretrained(folder)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>")
    tokenizer.save_pretrained(folder)
    settings_file = folder / "tokenizer_config.json"
    # The class has another name in the versions of transformers that peers need.
    told = json.loads(settings_file.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    settings_file.write_text(json.dumps(told))


def usage() -> dict[str, np.ndarray]:
    """Return probabilities of true classes by models with shares of some records, and scores.

    Of each game the first model is the target, with one of `SHARES` of the records, and the others
    have shares spread evenly. No model has the records of ``population``.
    """
    rng = np.random.default_rng(7)
    n, k = 180, 18
    given: dict[str, list[np.ndarray]] = {"signals": [], "members": [], "population": []}
    for share in SHARES:
        for _ in range(USAGE_GAMES):
            shares = [share, 0.5, *rng.permutation((np.arange(k - 2) + 0.5) / (k - 2))]
            inside = rng.random((k, n)) < np.array(shares)[:, None]
            inside[0] = rng.permutation(n) < round(n * share)
            hard = rng.normal(size=2 * n)
            logits = 1 - hard + rng.normal(size=(k, 2 * n)) + 0.3 * rng.normal(size=(k, 1))
            logits[:, :n] += inside
            given["signals"].append(expit(logits[:, :n]))
            given["population"].append(expit(logits[:, n:]))
            given["members"].append(inside)
    scores = rng.normal(size=(30, 10))
    return {name: np.array(each) for name, each in given.items()} | {"scores": scores}


def forecasts() -> dict[str, np.ndarray]:
    """Return what came, (n, t, c), forecasts by models, (k, n, t, c), and who was in, (n, k)."""
    rng = np.random.default_rng(8)
    n, k = 60, 21
    true = 5 + rng.normal(size=(n, 12, 2)).cumsum(axis=1)
    inside = rng.random((n, k)) < 0.5
    hard = rng.gamma(3, 0.3, (n, 1, 1)) * np.where(inside, 0.7, 1).T[..., None, None]
    return {
        "true": true,
        "said": true + hard * rng.normal(size=(k, *true.shape)),
        "members": inside,
    }
