"""Language models that have learnt nothing yet: their shape, tokenizer and first weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.language.kinds import Kind
from privacygauge.language.tokenizer_training import trained_byte_pairs, trained_word_pieces

_TOKENS_A_HEAD = 64
# The frame and two tokens of a text.
_SHORTEST = 4


@dataclass(frozen=True)
class Shape:
    """What a model that is trained from scratch is like."""

    kind: Kind
    """A BERT with word pieces in lower case, or a GPT-2 with pieces of bytes."""
    layers: int
    """The number of layers, at least 1."""
    hidden: int
    """Its width, at least 1; 64 numbers a head of attention, one head for less."""
    vocabulary: int
    """The most tokens."""
    context: int
    """The most tokens that it reads at once, its frame included."""

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
        """The number of heads of attention."""
        return max(1, self.hidden // _TOKENS_A_HEAD)

    def tokenizer(self, texts: Sequence[str]) -> Any:
        """Return the tokenizer of transformers whose vocabulary comes from `texts` alone."""
        trained = trained_word_pieces if self.kind == "masked" else trained_byte_pairs
        return trained(texts, self.vocabulary, self.context)

    def module(self, tokenizer: Any, seed: int) -> Any:
        """Return the torch module, whose weights follow from the seed alone."""
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
