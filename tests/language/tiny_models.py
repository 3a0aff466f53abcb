"""Tiny models with random weights and their tokenizers, made from scratch and saved to a folder."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from privacygauge.language.training import SPECIAL

TEXT = (
    "the patient was seen today with pain in left knee after fall and given aspirin for two days "
    "he denies fever chills or chest discomfort blood pressure is stable on lisinopril daily"
)
WORDS = TEXT.split()


def made_texts(n: int, seed: int = 0, least: int = 1, most: int = 14) -> list[str]:
    """Return `n` different texts of `least` to `most` words."""
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < n:
        words = rng.choice(WORDS, rng.integers(least, most + 1))
        found[" ".join(words) + rng.choice([".", "", " 3 days ago."])] = None
    return list(found)


@functools.cache
def word_pieces(lowercase: bool = True, size: int = 120):
    """Return a WordPiece tokenizer like BERT's, whose vocabulary splits many words."""
    from tokenizers import BertWordPieceTokenizer
    from transformers import PreTrainedTokenizerFast

    texts = [*made_texts(80, 1), *(text.title() for text in made_texts(80, 2))]
    # Training numbers letters differently in each process, unless they are given.
    letters = sorted(set("".join(texts).lower() if lowercase else "".join(texts)) - {" "})
    given = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    trained = BertWordPieceTokenizer(lowercase=lowercase)
    trained.train_from_iterator(
        texts, size, min_frequency=1, special_tokens=given, show_progress=False
    )
    trained = BertWordPieceTokenizer(trained.get_vocab(), lowercase=lowercase)
    ids = {name: trained.token_to_id(name) for name in ("[CLS]", "[SEP]")}
    trained._tokenizer.post_processor = _template("[CLS] $A [SEP]", ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )


@functools.cache
def byte_pairs(framed: bool = True):
    """Return a byte-level BPE tokenizer, like RoBERTa's, or like GPT-2's where it has no frame."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    trained = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trained.train_from_iterator(
        made_texts(80, 1), vocab_size=360, special_tokens=special, show_progress=False
    )
    if not framed:
        return PreTrainedTokenizerFast(tokenizer_object=trained._tokenizer, eos_token="</s>")
    ids = {name: trained.token_to_id(name) for name in ("<s>", "</s>")}
    trained._tokenizer.post_processor = _template("<s> $A </s>", ids)
    return PreTrainedTokenizerFast(
        tokenizer_object=trained._tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        mask_token="<mask>",
    )


def _template(single: str, ids: dict[str, int]):
    from tokenizers.processors import TemplateProcessing

    return TemplateProcessing(single=single, special_tokens=list(ids.items()))


def module(kind: str = "bert", seed: int = 0, vocab: int | None = None, **options):
    """Return a model of some kind with random weights, large enough to matter."""
    import torch
    import transformers

    made = {
        "bert": ("Bert", "ForMaskedLM", {}),
        "roberta": ("Roberta", "ForMaskedLM", {"pad_token_id": 1, "max_position_embeddings": 66}),
        "distilbert": ("DistilBert", "ForMaskedLM", {"dim": 32, "hidden_dim": 64, "n_layers": 2}),
        "electra": ("Electra", "ForMaskedLM", {"embedding_size": 16}),
        "deberta": ("Deberta", "ForMaskedLM", {"legacy": True}),
        "deberta-v2": ("DebertaV2", "ForMaskedLM", {"legacy": True}),
        "deberta-new": ("DebertaV2", "ForMaskedLM", {"legacy": False}),
        "modernbert": ("ModernBert", "ForMaskedLM", {"pad_token_id": 0, "bos_token_id": 2}),
        "albert": ("Albert", "ForMaskedLM", {"embedding_size": 16}),
        "mpnet": ("MPNet", "ForMaskedLM", {"pad_token_id": 1, "max_position_embeddings": 66}),
        "gpt2": ("GPT2", "LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 2}),
    }[kind]
    sizes = {
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 64,
        "max_position_embeddings": 64,
    }
    if kind == "distilbert":
        sizes = {"n_heads": 2, "max_position_embeddings": 64}
    if kind == "gpt2":
        sizes = {"n_positions": 64, "bos_token_id": 2, "eos_token_id": 2}
    if kind == "modernbert":
        options = {"eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3, **options}
    vocab = vocab or len(byte_pairs() if kind in ("roberta", "mpnet", "gpt2") else word_pieces())
    config = getattr(transformers, f"{made[0]}Config")(
        **{"vocab_size": vocab, **sizes, **made[2], **options}
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        built = getattr(transformers, made[0] + made[1])(config)
        for weights in built.parameters():
            if weights.ndim > 1:
                torch.nn.init.normal_(weights, std=0.3)
    return built.eval()


def saved(folder: Path, kind: str = "bert", seed: int = 0, tokenizer=None, **options) -> Path:
    """Save a model with its tokenizer to `folder`, which is returned."""
    if tokenizer is None:
        pairs = kind in ("roberta", "mpnet", "gpt2")
        tokenizer = byte_pairs(kind != "gpt2") if pairs else word_pieces()
    quiet()
    module(kind, seed, len(tokenizer), **options).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@contextmanager
def read_once() -> Iterator[None]:
    """Read what is in a folder once, however often it is asked for: transformers takes 20 ms."""
    from privacygauge.language import model

    read: Any = model.read_module
    known: dict[object, Any] = {}

    def once(call: Any, folder: Path, *given: str, **options: Any) -> Any:
        files = sorted((x.name, x.stat().st_mtime_ns, x.stat().st_size) for x in folder.iterdir())
        key = (str(folder), *given, repr(options), *files)
        if key not in known:
            known[key] = call(folder, *given, **options)
        return known[key]

    def module(folder: Path, auto_class: str, **options: Any) -> Any:
        if "device_map" in options:
            return read(folder, auto_class, **options)
        return copy.deepcopy(once(read, folder, auto_class, **options))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model, "read_module", module)
        patch.setattr(model, "read_tokenizer", functools.partial(once, model.read_tokenizer))
        yield


def quiet() -> None:
    """Keep transformers from drawing bars and from reporting what tests provoke."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    logging.set_verbosity_error()


def taught(folder: Path, texts: list[str], epochs: int = 30, rate: float = 3e-3, **options) -> Path:
    """Save a GPT-2 that was trained on `texts`, each as often as it is given, to `folder`."""
    import torch

    tokenizer = byte_pairs(framed=False)
    rows = tokenizer(texts)["input_ids"]
    width = max(map(len, rows))
    end = tokenizer.eos_token_id
    ids = torch.tensor([[*row, *[end] * (width - len(row))] for row in rows])
    labels = ids.clone()
    for label, row in zip(labels, rows, strict=True):
        label[len(row) :] = -100
    made = module("gpt2", vocab=len(tokenizer), n_positions=128, **options)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = type(made)(made.config).train()  # first weights as they are for a training
        learn = torch.optim.AdamW(model.parameters(), rate)
        for _ in range(epochs):
            for some in torch.randperm(len(ids)).split(32):
                learn.zero_grad()
                model(input_ids=ids[some], labels=labels[some]).loss.backward()
                learn.step()
    quiet()
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
