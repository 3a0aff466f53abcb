"""Twelve families of tokenizers: a model is asked about the ids that it was trained on."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
import pytest

from privacygauge.language.tokens import tokenizer_of
from tests.language.tiny_models import made_texts

tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

SPECIAL = ("<unk>", "<s>", "</s>", "<pad>", "<mask>", "[CLS]", "[SEP]", "<|im_start|>")
TEXTS = (
    "the patient was seen today with pain",
    "Fever since 12.03.2021, 38.5 degrees; no cough",
    "  two spaces  before, a\ttab and a\nline ",
    "Größe 1,80 m, naïve café, 模型, \U0001f600",
    "don't re-admit: Mr. O'Neill (b. 1950) isn't well",
    "<|im_start|>user\nwhat is it?</s> no fever",
    "PAIN Pain pain 123456",
)
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"


def trained(model, trainer, **parts):
    """Return a tokenizer of the given parts, trained on made-up texts."""
    own = tokenizers.Tokenizer(model)
    for name, part in parts.items():
        if name != "post_processor":
            setattr(own, name, part)
    texts = [*made_texts(80, 1), *(text.title() for text in made_texts(40, 2)), *TEXTS]
    own.train_from_iterator(texts, trainer)
    if "post_processor" in parts:
        own.post_processor = parts["post_processor"](own)
    return own


def frame(single, *names):
    """Return a maker of the tokens around a text, whose ids are known once it is trained."""
    return lambda own: tokenizers.processors.TemplateProcessing(
        single=single, special_tokens=[(name, own.token_to_id(name)) for name in names]
    )


@functools.cache
def family(name):
    models = tokenizers.models
    norms = tokenizers.normalizers
    pre = tokenizers.pre_tokenizers
    decode = tokenizers.decoders
    trainers = tokenizers.trainers
    special = {"special_tokens": list(SPECIAL), "show_progress": False}
    letters = pre.ByteLevel.alphabet()
    pairs = functools.partial(trainers.BpeTrainer, vocab_size=600, **special)
    byte_level = {
        "pre_tokenizer": pre.ByteLevel(add_prefix_space=False),
        "decoder": decode.ByteLevel(),
    }
    pieces = {
        "model": models.WordPiece(unk_token="<unk>"),
        "trainer": trainers.WordPieceTrainer(vocab_size=400, **special),
        "pre_tokenizer": pre.BertPreTokenizer(),
        "decoder": decode.WordPiece(),
        "post_processor": frame("[CLS] $A [SEP]", "[CLS]", "[SEP]"),
    }
    likely = {
        "model": models.Unigram(),
        "trainer": trainers.UnigramTrainer(vocab_size=400, unk_token="<unk>", **special),
        "pre_tokenizer": pre.Metaspace(),
        "decoder": decode.Metaspace(),
    }
    parts = {
        "BERT, uncased": {**pieces, "normalizer": norms.BertNormalizer(lowercase=True)},
        "BERT, cased": {**pieces, "normalizer": norms.BertNormalizer(lowercase=False)},
        "GPT-2": {
            "model": models.BPE(),
            "trainer": pairs(initial_alphabet=letters),
            **byte_level,
        },
        "RoBERTa": {
            "model": models.BPE(),
            "trainer": pairs(initial_alphabet=letters),
            **byte_level,
            "post_processor": frame("<s> $A </s>", "<s>", "</s>"),
        },
        "BART, with a space before": {
            "model": models.BPE(),
            "trainer": pairs(initial_alphabet=letters),
            "pre_tokenizer": pre.ByteLevel(add_prefix_space=True),
            "decoder": decode.ByteLevel(),
            "post_processor": frame("<s> $A </s>", "<s>", "</s>"),
        },
        "Llama 3, split by an expression": {
            "model": models.BPE(),
            "trainer": pairs(initial_alphabet=letters),
            "pre_tokenizer": pre.Sequence(
                [
                    pre.Split(tokenizers.Regex(LLAMA3), "isolated"),
                    pre.ByteLevel(add_prefix_space=False, use_regex=False),
                ]
            ),
            "decoder": decode.ByteLevel(),
            "post_processor": frame("<s> $A", "<s>"),
        },
        "Qwen, normalised": {
            "model": models.BPE(),
            "trainer": pairs(initial_alphabet=letters),
            "normalizer": norms.NFC(),
            "pre_tokenizer": pre.Sequence(
                [
                    pre.Split(tokenizers.Regex(LLAMA3.replace("{1,3}", "")), "isolated"),
                    pre.ByteLevel(add_prefix_space=False, use_regex=False),
                ]
            ),
            "decoder": decode.ByteLevel(),
        },
        "Llama 2, bytes for unknown letters": {
            "model": models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True),
            "trainer": trainers.BpeTrainer(
                vocab_size=700,
                show_progress=False,
                limit_alphabet=40,
                special_tokens=[*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256))],
            ),
            "normalizer": norms.Sequence([norms.Prepend("\u2581"), norms.Replace(" ", "\u2581")]),
            "decoder": decode.Sequence(
                [decode.Replace("\u2581", " "), decode.ByteFallback(), decode.Fuse()]
            ),
            "post_processor": frame("<s> $A", "<s>"),
        },
        "T5, unigrams": {**likely, "post_processor": frame("$A </s>", "</s>")},
        "XLM-R, unigrams in a frame": {
            **likely,
            "normalizer": norms.NFKC(),
            "post_processor": frame("<s> $A </s>", "<s>", "</s>"),
        },
        "OpenAI GPT, pairs of letters": {
            "model": models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
            "trainer": pairs(end_of_word_suffix="</w>"),
            "normalizer": norms.BertNormalizer(lowercase=True),
            "pre_tokenizer": pre.BertPreTokenizer(),
            "decoder": decode.BPEDecoder(suffix="</w>"),
        },
        "whole words": {
            "model": models.WordLevel(unk_token="<unk>"),
            "trainer": trainers.WordLevelTrainer(vocab_size=200, **special),
            "pre_tokenizer": pre.Whitespace(),
        },
    }[name]
    given = dict(parts)
    own = trained(given.pop("model"), given.pop("trainer"), **given)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=own,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        mask_token="<mask>",
        additional_special_tokens=["<|im_start|>"],
    )


FAMILIES = (
    "BERT, uncased",
    "BERT, cased",
    "GPT-2",
    "RoBERTa",
    "BART, with a space before",
    "Llama 3, split by an expression",
    "Qwen, normalised",
    "Llama 2, bytes for unknown letters",
    "T5, unigrams",
    "XLM-R, unigrams in a frame",
    "OpenAI GPT, pairs of letters",
    "whole words",
)


@pytest.mark.parametrize("name", FAMILIES)
def test_ids_are_those_of_the_tokenizer(name):
    own = family(name)
    ours = tokenizer_of(own, "own")
    for text, found in zip(TEXTS, ours.encoded(list(TEXTS)), strict=True):
        whole = own(text)["input_ids"]
        assert found.ids.tolist() == whole
        inside = own(text, add_special_tokens=False)["input_ids"]
        assert found.ids[~found.framing].tolist() == inside
        assert np.count_nonzero(found.framing) == len(whole) - len(inside)


@pytest.mark.parametrize("name", FAMILIES)
def test_written_special_tokens_are_letters_where_asked(name):
    own = family(name)
    literal = dataclasses.replace(tokenizer_of(own, "own"), literal=True)
    [found] = literal.encoded([TEXTS[5]])
    named = {own.convert_tokens_to_ids("<|im_start|>"), own.eos_token_id}
    assert not named & set(found.ids[~found.framing].tolist())
