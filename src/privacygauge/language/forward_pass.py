"""Forward passes: batches of masked texts go in, logits at selected positions come out.

A head is the part of a model between its last hidden state and its logits. It is found by the names
of its modules, compared with the whole model on one batch, and used only if both agree; for every
other model the logits of all positions are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from privacygauge.core.checks import Bools, Ints, frozen
from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.tokens import Tokens

# The first entry whose modules a model has is used: BERT; RoBERTa, MPNet and ESM; DistilBERT;
# ELECTRA and ConvBERT; ModernBERT; ALBERT.
_HEADS = (
    ("cls",),
    ("lm_head",),
    ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector"),
    ("generator_predictions", "generator_lm_head"),
    ("head", "decoder"),
    ("predictions",),
)
# Difference between two orders of the same float32 sums; a missing layer or scale is off by far
# more.
_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class Head:
    """Modules that turn hidden states into logits, one after another."""

    modules: tuple[Any, ...]
    """Torch modules or functions; () if hidden states are logits already."""

    def __call__(self, hidden: Any) -> Any:
        """Return the logits (m, v) of hidden states (m, d)."""
        for module in self.modules:
            hidden = module(hidden)
        return hidden


def head_of(model: Any) -> Head | None:
    """Return the output head of a masked language model; None if it cannot be separated.

    Raises
    ------
    InputError
        If the model gives every token of its vocabulary the same probability.
    """
    import torch

    ids, lengths = _trial(model.config)
    # Padding is masked out: only positions within a text are compared.
    inside = torch.arange(ids.shape[1])[None] < torch.as_tensor(lengths)[:, None]
    with torch.inference_mode():
        inside = inside.to(model.device)
        inputs = {
            "input_ids": torch.as_tensor(ids, device=model.device),
            "attention_mask": inside.long(),
        }
        expected = model(**inputs).logits[inside]
        _check_varied(expected)
        # The parts of a head have other names in other families of models.
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
        # Modules with these names that take other inputs are not a head of this kind.
        return False
    if found.shape != expected.shape:
        return False
    off = torch.log_softmax(found, -1) - torch.log_softmax(expected, -1)
    return bool(off.abs().max() < _TOLERANCE)


def causal_head(model: Any) -> Head | None:
    """Return the output head of a left-to-right model; None if it cannot be separated.

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
    # The last token is changed: answers at earlier positions must not change with it.
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
        # Functions on logits that a model may end with: none, a scale (Cohere), a divisor (Granite)
        # or a soft bound (Gemma 2).
        scale = getattr(text, "logit_scale", None)
        divisor = getattr(text, "logits_scaling", None)
        bound = getattr(text, "final_logit_softcapping", None)
        heads = [Head((embedding,))]
        if scale is not None:
            heads.append(Head((embedding, lambda logits: logits * scale)))
        if divisor is not None:
            heads.append(Head((embedding, lambda logits: logits / divisor)))
        if bound is not None:
            heads.append(Head((embedding, lambda logits: (logits / bound).tanh() * bound)))
        agree = partial(_agrees, model, inputs=inputs, inside=inside, expected=expected)
        return next((head for head in heads if agree(head)), None)


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
    # Some models recognise padding by its id: no other position may have it.
    ids[ids == pad] = (pad + 1) % config.vocab_size
    ids[1, 5:] = pad
    return ids, np.array([8, 5])


# Batches for a forward pass: the masked copies of texts to read, and the positions to score.


@dataclass(frozen=True, eq=False)
class ScoredPositions:
    """Positions to score, text by text, copy by copy, from left to right."""

    starts: Ints
    """(n + 1,) First row of each text, and the end of the last one."""
    copy: Ints
    """(m,) Masked copy of the text to which a row belongs, from 0, ascending."""
    position: Ints
    """(m,) Position of the token in its text, from 0, including the frame."""
    unit: Ints
    """(m,) Unit of the text that the token belongs to, from 0."""
    n_copies: Ints
    """(n,) Number of copies of each text that a model reads: K, minus those without rows."""

    def __post_init__(self) -> None:
        for name in ("starts", "copy", "position", "unit", "n_copies"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), np.int64)))

    @property
    def width(self) -> int:
        """Most rows of any text."""
        return int(np.diff(self.starts).max(initial=1))

    def of(self, text: int) -> slice:
        """Return the rows of a text."""
        return slice(int(self.starts[text]), int(self.starts[text + 1]))


def masked_scored(tokens: Tokens, plan: MaskPlan, own: Bools | None = None) -> ScoredPositions:
    """Return the scored positions under `plan`: every masked token of every copy.

    Parameters
    ----------
    tokens : Tokens
        Texts, or windows of texts with the key and the units of the whole text.
    own : array of bool, shape (m,), optional
        True for the tokens that a window scores; by default all. Other masked tokens are hidden
        too, and copies without a masked token to score are left out.
    """
    copies = []
    positions = []
    units = []
    n_copies = []
    for text, key in enumerate(tokens.keys):
        _, its = tokens.of(text)
        masks = plan.masks(key, int(tokens.n_units[text]))
        # A window holds some of the units only: positions are relative to its first one.
        known = its[its >= 0]
        begin, end = (int(known.min()), int(known.max())) if len(known) else (0, 0)
        copy, place = np.nonzero((masks >= begin) & (masks <= end))
        # The last column stays False: index -1, a token without a unit, refers to it.
        inside = np.zeros((len(masks), end - begin + 2), np.bool_)
        inside[copy, masks[copy, place] - begin] = True
        hidden = inside[:, np.where(its >= 0, its - begin, -1)]
        if own is None:
            shown = np.arange(len(hidden))
        else:
            shown = np.flatnonzero(hidden[:, own[tokens.where(text)]].any(axis=1))
        row, position = np.nonzero(hidden[shown])
        copies.append(shown[row])
        positions.append(position)
        units.append(its[position])
        n_copies.append(len(shown))
    return _join_batches(copies, positions, units, n_copies)


def causal_scored(tokens: Tokens, first_unit: int, own: Bools | None = None) -> ScoredPositions:
    """Return the positions that a causal model scores: all but those of the first units.

    Parameters
    ----------
    first_unit : int
        1 if a text may begin with a token that has nothing to its left, else 0.
    own : array of bool, shape (m,), optional
        True for the tokens that a window scores; by default all.

    Raises
    ------
    InputError
        If nothing of a text is left to score.
    """
    if (tokens.n_units <= first_unit).any():
        raise InputError(
            "every text must have at least two units where a causal model is given no token to "
            "begin with, got one: leave short texts out"
        )
    positions = []
    units = []
    for text in range(len(tokens)):
        _, its = tokens.of(text)
        wanted = its >= first_unit
        if own is not None:
            wanted &= own[tokens.where(text)]
        positions.append(np.flatnonzero(wanted))
        units.append(its[positions[-1]])
    copies = [np.zeros_like(position) for position in positions]
    return _join_batches(copies, positions, units, [1] * len(tokens))


def _join_batches(
    copies: list[Ints], positions: list[Ints], units: list[Ints], n_copies: list[int]
) -> ScoredPositions:
    starts = np.cumsum([0, *map(len, copies)])
    copy, position, unit = map(np.concatenate, (copies, positions, units))
    return ScoredPositions(
        starts=starts, copy=copy, position=position, unit=unit, n_copies=np.array(n_copies)
    )


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of tokens for one pass, and the positions scored in them."""

    ids: Ints
    """(rows, width) Token ids, padded on the right."""
    lengths: Ints
    """(rows,) Length of each row without padding."""
    row: Ints
    """(m,) Row of every scored token."""
    position: Ints
    """(m,) Position in the row."""
    token: Ints
    """(m,) Token id at the position, which may be masked in `ids`."""


@dataclass(frozen=True)
class Copies:
    """Copies ``start:stop`` of a text."""

    text: int
    """Number of the text."""
    start: int
    """First copy."""
    stop: int
    """One more than the last copy."""


def pass_groups(
    tokens: Tokens, scored: ScoredPositions, texts: range, budget: int
) -> Iterator[list[Copies]]:
    """Yield groups of copies that fit into one pass each.

    Parameters
    ----------
    tokens : Tokens
        Texts sorted by length, so that a group needs little padding.
    texts : range
        Texts to cover, in order.
    budget : int
        Most tokens in one pass, including padding; a single copy always makes a pass.

    Yields
    ------
    list of Copies
        All copies of a text together if they fit.
    """
    group: list[Copies] = []
    n_rows = width = 0
    for text in texts:
        length = int(tokens.lengths[text])
        n_copies = int(scored.n_copies[text])
        # At least one copy per pass, even if it alone exceeds the budget.
        at_once = max(1, budget // length)
        for start in range(0, n_copies, at_once):
            part = Copies(text, start, min(start + at_once, n_copies))
            n_new = part.stop - part.start
            # A group costs its rows times its longest row, as shorter ones are padded.
            if group and (n_rows + n_new) * max(width, length) > budget:
                yield group
                group = []
                n_rows = 0
                width = 0
            group.append(part)
            n_rows = n_rows + n_new
            width = max(width, length)
    if group:
        yield group


def batch_of(
    tokens: Tokens,
    scored: ScoredPositions,
    group: list[Copies],
    *,
    pad_id: int,
    mask_id: int | None,
) -> Batch:
    """Return a group as the rows of one pass; with a mask token, scored tokens are hidden."""
    widths = [int(tokens.lengths[part.text]) for part in group]
    n_rows = [part.stop - part.start for part in group]
    ids = np.full((sum(n_rows), max(widths)), pad_id, np.int64)
    rows = []
    positions = []
    first = 0
    for part, width, n in zip(group, widths, n_rows, strict=True):
        # Every copy reads the whole text; hidden tokens are masked below.
        ids[first : first + n, :width] = tokens.of(part.text)[0]
        here = scored.of(part.text)
        # Copies without rows were left out: those that remain are numbered from 0.
        copy = np.cumsum(np.diff(scored.copy[here], prepend=scored.copy[here][:1]) != 0)
        mine = slice(*np.searchsorted(copy, [part.start, part.stop]))
        rows.append(copy[mine] - part.start + first)
        positions.append(scored.position[here][mine])
        first += n
    row = np.concatenate(rows)
    position = np.concatenate(positions)
    token = ids[row, position]
    if mask_id is not None:
        ids[row, position] = mask_id
    return Batch(
        ids=ids, lengths=np.repeat(widths, n_rows), row=row, position=position, token=token
    )
