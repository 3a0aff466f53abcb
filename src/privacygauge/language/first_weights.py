"""Untrained language models: shape, tokenizer and initial weights."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.language.loading import Kind
from privacygauge.language.tokens import checked_keys

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Special tokens, in the order of their ids."""
ENDS = ("<s>", "</s>")
"""Special tokens of a causal model: before every text, and after it."""

_UNKNOWN = "[UNK]"
# As many letters as the usual trainers keep: the rest is read as unknown.
_MOST_LETTERS = 1000


def trained_word_pieces(texts: Sequence[str], vocabulary: int, limit: int) -> Any:
    """Return a WordPiece tokenizer in lower case whose vocabulary comes from `texts` alone.

    Parameters
    ----------
    texts : sequence of str
        At least one.
    vocabulary : int
        The most tokens, special ones included. There are fewer where the texts do not hold as
        many different pieces.
    limit : int
        The most tokens of a text it wants to see, frame included.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        The same for the same texts, in any process.

    Raises
    ------
    InputError
        If the letters alone do not fit into the vocabulary.

    Notes
    -----
    Wu et al. (2016), section 4.1, as BERT uses it (Devlin et al. 2019): pieces that go on inside
    of a word begin with ``##``.
    """
    from tokenizers import decoders, models, processors, trainers
    from transformers import PreTrainedTokenizerFast

    fast: Any = PreTrainedTokenizerFast
    checked_keys(texts)
    learning = _empty(models.WordPiece(unk_token=_UNKNOWN))
    # Letters that begin a word, and with ## those inside of one.
    counts: Counter[str] = Counter()
    for text in texts:
        plain = learning.normalizer.normalize_str(text)
        for word, _ in learning.pre_tokenizer.pre_tokenize_str(plain):
            counts.update([word[0], *(f"##{letter}" for letter in word[1:])])
    letters = sorted(counts, key=lambda letter: (-counts[letter], letter))[:_MOST_LETTERS]
    first = [*SPECIAL, *sorted(letters)]
    if len(first) > vocabulary:
        raise InputError(
            f"vocabulary must be at least {len(first)} for the letters of these texts, got "
            f"{vocabulary}"
        )
    # The trainer numbers letters in an order of its own that differs from process to process, and
    # breaks ties by these numbers. What is given as special is numbered as it is given.
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=first, show_progress=False
    )
    learning.train_from_iterator(texts, trainer)
    learnt = learning.get_vocab()
    framed = _empty(models.WordPiece(learnt, unk_token=_UNKNOWN))
    framed.add_special_tokens(list(SPECIAL))
    framed.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, learnt[name]) for name in ("[CLS]", "[SEP]")],
    )
    framed.decoder = decoders.WordPiece()
    return fast(
        tokenizer_object=framed,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token=_UNKNOWN,
        mask_token="[MASK]",
        model_max_length=limit,
    )


def trained_byte_pairs(texts: Sequence[str], vocabulary: int, limit: int) -> Any:
    """Return a byte-pair tokenizer whose vocabulary comes from `texts` alone.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        The same for the same texts, in any process. It holds every byte, so that no text is
        unknown to it, and a text's first token has one to its left.

    Raises
    ------
    InputError
        If the bytes do not fit into the vocabulary.

    Notes
    -----
    Radford et al. (2019), section 2.2: pairs are joined inside of words, which are stretches of
    letters, of digits or of other signs, each with the blank before it.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    fast: Any = PreTrainedTokenizerFast
    checked_keys(texts)
    first = [*ENDS, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    if len(first) > vocabulary:
        raise InputError(
            f"vocabulary must be at least {len(first)} for the bytes that a causal model reads, "
            f"got {vocabulary}"
        )
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(ENDS),
        initial_alphabet=first[len(ENDS) :],
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    front, behind = ENDS
    made.post_processor = processors.TemplateProcessing(
        single=f"{front} $A {behind}", special_tokens=[(name, i) for i, name in enumerate(ENDS)]
    )
    made.decoder = decoders.ByteLevel()
    return fast(tokenizer_object=made, bos_token=front, eos_token=behind, model_max_length=limit)


def _empty(model: Any) -> Any:
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    made = Tokenizer(model)
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


_TOKENS_A_HEAD = 64
# The frame and two tokens of a text.
_SHORTEST = 4


@dataclass(frozen=True)
class Shape:
    """Architecture of a model that is trained from scratch."""

    kind: Kind
    """Kind: a BERT with word pieces in lower case, or a GPT-2 with byte pairs."""
    layers: int
    """Number of layers, at least 1."""
    hidden: int
    """Hidden width, at least 1; one attention head per 64, at least one."""
    vocabulary: int
    """Most tokens of the vocabulary."""
    context: int
    """Most tokens read at once, frame included."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"kind must be masked or causal, got {self.kind!r}")
        for name in ("layers", "hidden"):
            value = getattr(self, name)
            if isinstance(value, bool) or value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        check_context(self.context)
        if self.hidden % self.heads:
            raise InputError(
                f"hidden must be divisible by its {self.heads} attention heads (one for each "
                f"{_TOKENS_A_HEAD}), got {self.hidden}: take a multiple of {_TOKENS_A_HEAD}"
            )

    @property
    def heads(self) -> int:
        """Number of attention heads."""
        return max(1, self.hidden // _TOKENS_A_HEAD)

    def tokenizer(self, texts: Sequence[str]) -> Any:
        """Return a transformers tokenizer whose vocabulary comes from `texts` alone."""
        trained = trained_word_pieces if self.kind == "masked" else trained_byte_pairs
        return trained(texts, self.vocabulary, self.context)

    def module(self, tokenizer: Any, seed: int) -> Any:
        """Return the torch module; its weights depend on the seed alone."""
        import torch

        made = _bert if self.kind == "masked" else _gpt2
        with torch.random.fork_rng(devices=[]):
            first = stream(seed, "language training", "weights")
            torch.default_generator.manual_seed(int(first.integers(2**63)))
            return made(self, tokenizer)


def check_context(context: int) -> None:
    """Raise where a model would read too few tokens at once to learn from them."""
    if isinstance(context, bool) or context < _SHORTEST:
        raise InputError(f"context must be at least {_SHORTEST} tokens, got {context}")


def _bert(shape: Shape, tokenizer: Any) -> Any:
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=4 * shape.hidden,
        max_position_embeddings=shape.context,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=tokenizer.pad_token_id,
    )
    return BertForMaskedLM(config)


def _gpt2(shape: Shape, tokenizer: Any) -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=shape.context,
        n_embd=shape.hidden,
        n_layer=shape.layers,
        n_head=shape.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return GPT2LMHeadModel(config)
