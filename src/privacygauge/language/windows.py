"""Windows: overlapping pieces of texts that are longer than a model's context."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Ints, frozen
from privacygauge.errors import InputError
from privacygauge.language.forward_pass import ScoredPositions
from privacygauge.language.tokens import Tokens

Floats32 = NDArray[np.float32]


@dataclass(frozen=True)
class Windows:
    """How a model reads long texts: by default whole, in windows of its full context."""

    context: int | None = None
    """Most tokens per window, at least 2, including the frame; by default the model's context."""
    stride: int | None = None
    """Tokens from the start of a window to the start of the next; by default half a window. 0: only
    the beginning of a longer text is read."""
    literal: bool = False
    """True to read special tokens written in a text, such as ``<|im_end|>``, as letters, for texts
    of people who are not trusted; False to read them as the tokenizer does."""

    def __post_init__(self) -> None:
        for name, least in (("context", 2), ("stride", 0)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or value < least):
                raise InputError(f"{name} must be at least {least} tokens, got {value}")

    @property
    def cut(self) -> bool:
        """True if texts are truncated."""
        return self.stride == 0


WHOLE = Windows()
"""Windows that read texts whole."""


@dataclass(frozen=True, eq=False)
class WindowedTexts:
    """Texts as the windows in which a model reads them; a text that fits is one window."""

    tokens: Tokens
    """Windows, sorted by length, each with the key and the units of its whole text."""
    text: Ints
    """(w,) Text of each window."""
    begin: Ints
    """(w,) Number of tokens of the text before each window, without the frame."""
    own: Bools
    """(m,) True for the tokens that a window scores: each token of a text is scored in exactly one
    window."""

    def __post_init__(self) -> None:
        for name in ("text", "begin", "own"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name))))


def cut_into_windows(
    tokens: Tokens, limit: int, stride: int | None, shared: float
) -> WindowedTexts:
    """Cut texts into windows of at most `limit` tokens, each with the text's frame around it.

    Parameters
    ----------
    tokens : Tokens
        Whole texts, sorted by length.
    limit : int
        Most tokens per window, including the frame.
    stride : int, optional
        Tokens from the start of a window to the start of the next; by default half a window.
    shared : float
        Share of the overlap of two windows that the earlier one scores: 1 for causal models, so
        that every token has as much context to its left as possible; 0.5 for masked models, which
        use both sides.

    Raises
    ------
    InputError
        If the stride is not between 1 and one less than the tokens of a text in a window.
    """
    n = len(tokens)
    if int(tokens.lengths.max()) <= limit:
        return WindowedTexts(tokens, np.arange(n), np.zeros(n, int), np.ones(len(tokens.ids), bool))
    front, behind = tokens.frame
    room = limit - front - behind
    if room < 2:
        raise InputError(
            f"context must leave room for two tokens of a text beside its frame, got {limit}"
        )
    if stride is None:
        stride = room // 2
    elif not 1 <= stride < room:
        raise InputError(
            f"stride must be from 1 to {room - 1:,} tokens where windows hold {room:,} tokens of a "
            f"text, got {stride:,}: so every window sees a part of the one before"
        )
    # The overlap of two windows is room - stride tokens; the earlier one scores this many of them.
    handed_over = int(shared * (room - stride))
    parts: list[tuple[int, int, Ints, Bools]] = []
    for text in range(n):
        size = int(tokens.lengths[text]) - front - behind
        n_more = max(0, -(-(size - room) // stride))
        for number in range(n_more + 1):
            begin = number * stride
            stop = min(begin + room, size)
            # The window scores the positions from `first` up to `last` of the text.
            first = begin + handed_over if number else 0
            last = begin + stride + handed_over if number < n_more else size
            # The frame before, the tokens of the window, the frame behind.
            here = np.r_[:front, front + begin : front + stop, front + size : front + size + behind]
            own = (here >= front + first) & (here < front + last)
            parts.append((text, begin, here + tokens.starts[text], own))
    # By length: a pass then needs little padding.
    parts.sort(key=lambda part: len(part[2]))
    texts, begins, places, owned = zip(*parts, strict=True)
    of = np.array(texts)
    where = np.concatenate(places)
    cut = Tokens(
        keys=tuple(tokens.keys[i] for i in texts),
        ids=tokens.ids[where],
        units=tokens.units[where],
        starts=np.cumsum([0, *map(len, places)]),
        n_units=tokens.n_units[of],
        n_truncated=tokens.n_truncated[of],
        n_unknown=tokens.n_unknown[of],
        frame=tokens.frame,
    )
    return WindowedTexts(cut, of, np.array(begins), np.concatenate(owned))


def whole(
    answers: Mapping[str, Floats32], windows: WindowedTexts, scored: ScoredPositions
) -> tuple[dict[str, Floats32], ScoredPositions]:
    """Merge answers for windows into answers for texts; each token is taken from one window.

    Parameters
    ----------
    scored : ScoredPositions
        Positions scored in the windows.

    Returns
    -------
    dict of arrays, ScoredPositions
        Text by text, copy by copy, from left to right; positions are those in the whole text.
    """
    window = np.repeat(np.arange(len(windows.tokens)), np.diff(scored.starts))
    # A window also scores masked tokens that another window owns: these are dropped.
    own = windows.own[windows.tokens.starts[window] + scored.position]
    text = windows.text[window]
    position = scored.position + windows.begin[window]
    order = np.lexsort((position, scored.copy, text))
    order = order[own[order]]
    starts = np.searchsorted(text[order], np.arange(int(windows.text.max()) + 2))
    copy = scored.copy[order]
    n_copies = [len(np.unique(copy[a:b])) for a, b in itertools.pairwise(starts)]
    joined = ScoredPositions(
        starts=starts,
        copy=copy,
        position=position[order],
        unit=scored.unit[order],
        n_copies=np.array(n_copies),
    )
    return {name: values[order] for name, values in answers.items()}, joined
