"""Output heads at selected positions: logits of all others are not computed.

A head is the part of a model between its last hidden state and its logits. It is found by the
names of its modules, tried on one batch against the model as a whole, and used only where both
agree; every other model gives its logits at all positions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from privacygauge.errors import InputError

# In this order: the first one whose modules a model has. BERT; RoBERTa, MPNet and ESM; DistilBERT;
# ELECTRA and ConvBERT; ModernBERT; ALBERT.
_HEADS = (
    ("cls",),
    ("lm_head",),
    ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    ("generator_predictions", "generator_lm_head"),
    ("head", "decoder"),
    ("predictions",),
)
# Between two orders of the same float32 sums; a missing layer or scale is off by far more.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Head:
    """Modules that turn hidden states into logits, one after another."""

    modules: tuple[Any, ...]
    """Torch modules or functions; () where hidden states are logits already."""

    def __call__(self, hidden: Any) -> Any:
        """Return the logits (m, v) of hidden states (m, d)."""
        for module in self.modules:
            hidden = module(hidden)
        return hidden


def head_of(model: Any) -> Head | None:
    """Return the output head of a masked language model; None where it cannot be separated.

    Raises
    ------
    InputError
        If the model gives every token of its vocabulary the same probability.
    """
    import torch

    ids, lengths = _trial(model.config)
    inside = torch.arange(ids.shape[1])[None] < torch.as_tensor(lengths)[:, None]
    with torch.inference_mode():
        inside = inside.to(model.device)
        inputs = {
            "input_ids": torch.as_tensor(ids, device=model.device),
            "attention_mask": inside.long(),
        }
        expected = model(**inputs).logits[inside]
        _check_varied(expected)
        for names in _HEADS:
            modules = tuple(getattr(model, name, None) for name in names)
            if all(callable(module) for module in modules):
                head = Head(modules)
                return (
                    head
                    if _agrees(model, head, inputs=inputs, inside=inside, expected=expected)
                    else None
                )
    return None


def _agrees(model: Any, head: Head, inputs: dict[str, Any], inside: Any, expected: Any) -> bool:
    import torch

    try:
        found = head(model.base_model(**inputs).last_hidden_state[inside])
    except (TypeError, AttributeError, RuntimeError):
        # Modules of these names that take other inputs are not a head of this kind.
        return False
    if found.shape != expected.shape:
        return False
    off = torch.log_softmax(found, -1) - torch.log_softmax(expected, -1)
    return bool(off.abs().max() < _TOLERANCE)


def causal_head(model: Any) -> Head | None:
    """Return the output head of a model that reads from left to right; None where it has another.

    Raises
    ------
    InputError
        If the model gives every token of its vocabulary the same probability, or its answers depend
        on later tokens.
    """
    import torch

    config = model.config
    text = config.get_text_config(decoder=True)
    ids = torch.as_tensor(_trial(text)[0][:1], device=model.device)
    encoder = bool(getattr(config, "is_encoder_decoder", False))
    both = {"decoder_input_ids": ids} if encoder else {}
    other = ids.clone()
    other[:, -1] = (other[:, -1] + 1) % text.vocab_size
    changed = {"decoder_input_ids": other} if encoder else {}
    with torch.inference_mode():
        expected = model(input_ids=ids, **both).logits[0]
        _check_varied(expected)
        source = ids if encoder else other
        later = model(input_ids=source, **changed).logits[0]
        off = (expected.log_softmax(-1) - later.log_softmax(-1))[:-1].abs().max()
        if not float(off) < _TOLERANCE:
            raise InputError(
                "the model must read from left to right, but what it says of a token changes with "
                f"later ones ({type(model).__name__}): audit a masked model as such, and no model "
                "that reads both ways as a causal one"
            )
        embedding = model.get_output_embeddings()
        if encoder or embedding is None:
            return None
        inputs = {"input_ids": ids}
        inside = torch.ones_like(ids, dtype=torch.bool)
        heads = [Head((embedding, *further)) for further in _last_steps(text)]
        agree = partial(_agrees, model, inputs=inputs, inside=inside, expected=expected)
        return next((head for head in heads if agree(head)), None)


def _last_steps(config: Any) -> Iterator[tuple[Any, ...]]:
    """Yield functions on logits that a model may end with: none, a scale, a soft bound."""
    yield ()
    # Of Cohere, of Granite, of Gemma 2.
    scale = getattr(config, "logit_scale", None)
    divisor = getattr(config, "logits_scaling", None)
    bound = getattr(config, "final_logit_softcapping", None)
    if scale is not None:
        yield (lambda logits: logits * scale,)
    if divisor is not None:
        yield (lambda logits: logits / divisor,)
    if bound is not None:
        yield (lambda logits: (logits / bound).tanh() * bound,)


def _check_varied(logits: Any) -> None:
    spread = (logits.amax(-1) - logits.amin(-1)).max()
    if not float(spread) > 1e-6:
        raise InputError(
            "the model must tell words apart, but gives each the same probability (or none): save "
            "it with the head it was trained with"
        )


def _trial(config: Any) -> tuple[Any, Any]:
    """Return token ids of two made-up rows, one shorter than the other, and their lengths."""
    pad = getattr(config, "pad_token_id", None) or 0
    rng = np.random.default_rng(0)
    ids = rng.integers(0, config.vocab_size, (2, 8))
    # Some models tell filling by its id; nothing else may have it.
    ids[ids == pad] = (pad + 1) % config.vocab_size
    ids[1, 5:] = pad
    return ids, np.array([8, 5])
