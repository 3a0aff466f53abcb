"""Texts in tokens: the tokenizer, and the units of a text that are masked and scored as a whole.

Two models with equal tokens share their masks token by token. If their tokenizers differ, the units
are words: the smallest stretches of text that are whole numbers of tokens to both.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from privacygauge.core.checks import Bools, Ints, frozen, short_list
from privacygauge.errors import InputError
from privacygauge.language.energies import Unit
from privacygauge.language.loading import first_line, quiet_transformers
from privacygauge.language.texts import ScoredText, TrainedText, strings_of

# A tokenizer as an immutable value: no call changes its state.

_MIXED_CASE = "The Patient Was Seen TODAY"
# Set by the last caller of the tokenizer, and not part of its identity.
_STATE = ("truncation", "padding")
# Lower-case vocabularies may hold a few letters without a lower-case form.
_SHARE_OF_CASED = 0.02


_NEVER = -1e4
"""Log-probability of a piece that a tokenizer of unigrams then uses in no text."""


@dataclass(frozen=True, eq=False)
class EncodedText:
    """One text in tokens."""

    ids: Ints
    """(t,) Token ids, including those of the frame ([CLS], [SEP])."""
    framing: Bools
    """(t,) True for tokens that the tokenizer adds around the text."""
    spans: Ints
    """(t, 2) Start and stop of each token in the text, in characters."""
    trained: Bools | None = None
    """(t,) True for tokens on which a training took the loss; None for all of the text."""


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A fast tokenizer and the ids that scoring needs."""

    state: str
    """Tokenizer as JSON, in the format of `tokenizer.json`."""
    mask_id: int | None
    """Id of the mask token; None if there is none."""
    pad_id: int
    """Id of the padding token."""
    unknown_id: int | None
    """Id of the unknown token; None if the vocabulary covers every text."""
    limit: int
    """Most tokens of a text that the tokenizer allows, including the frame."""
    literal: bool = False
    """True to read special tokens written in a text as letters."""
    chat: str | None = None
    """Chat template, if there is one, and named special tokens, as JSON; None if unknown."""

    @cached_property
    def _backend(self) -> Any:
        from tokenizers import Tokenizer as Backend
        from tokenizers.models import Unigram

        backend = Backend.from_str(self.state)
        if self.literal and isinstance(backend.model, Unigram):
            # Special tokens are pieces of its vocabulary: as letters, they would be found again.
            state = json.loads(self.state)
            special = {one["content"] for one in state["added_tokens"] if one["special"]}
            state["model"]["vocab"] = [
                (piece, _NEVER if piece in special else score)
                for piece, score in state["model"]["vocab"]
            ]
            backend = Backend.from_str(json.dumps(state, ensure_ascii=False))
        # As letters, "[MASK]" or "[SEP]" written in a text has no effect; but a model trained on
        # chats read "<|im_start|>" as one token.
        backend.encode_special_tokens = self.literal
        return backend

    def __reduce__(self) -> tuple[Any, ...]:
        # The backend does not pickle as it is: a copy builds its own from `state`.
        return Tokenizer, tuple(getattr(self, part.name) for part in fields(self))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all settings that affect tokenization, in hexadecimal."""
        ids = f"{self.mask_id} {self.pad_id} {self.unknown_id}{' literal' * self.literal}\n"
        return hashlib.sha256((ids + self.state).encode()).hexdigest()

    @cached_property
    def is_cased(self) -> bool:
        """True if it distinguishes upper and lower case."""
        given, lowered = self.encoded([_MIXED_CASE, _MIXED_CASE.lower()])
        return not np.array_equal(given.ids, lowered.ids)

    @cached_property
    def loses_case(self) -> bool:
        """True if it lower-cases texts although its vocabulary is cased."""
        words = [token for token in self._backend.get_vocab() if token.isalpha()]
        upper = sum(token != token.lower() for token in words)
        return not self.is_cased and upper > _SHARE_OF_CASED * max(len(words), 1)

    @cached_property
    def n_tokens(self) -> int:
        """Largest token id plus one."""
        return int(max(self._backend.get_vocab().values())) + 1

    def encoded(self, texts: Sequence[ScoredText]) -> list[EncodedText]:
        """Return every text in tokens, untruncated."""
        framed = [isinstance(text, str) or text.framed for text in texts]
        # Framed and unframed texts need separate calls; rows are put back in order.
        found: list[Any] = [None] * len(texts)
        for frame in (True, False):
            rows = [row for row, it in enumerate(framed) if it is frame]
            some = strings_of([texts[row] for row in rows])
            batch = self._backend.encode_batch(some, add_special_tokens=frame) if rows else ()
            for row, one in zip(rows, batch, strict=True):
                found[row] = one
        encoded = []
        for text, one in zip(texts, found, strict=True):
            if isinstance(text, TrainedText) and text.ids is not None:
                # Tokens of a training have no known place in the text.
                ids = np.array(text.ids, np.int64)
                unframed = np.zeros(len(ids), np.bool_)
                nowhere = np.zeros((len(ids), 2), np.int64)
                encoded.append(EncodedText(ids, unframed, nowhere, np.array(text.of_loss)))
                continue
            spans = np.array(one.offsets, np.int64).reshape(-1, 2)
            trained = None
            if not isinstance(text, str):
                # Tokens that overlap a trained stretch.
                trained = np.zeros(len(spans), np.bool_)
                for start, stop in text.trained:
                    trained |= (spans[:, 0] < stop) & (spans[:, 1] > start)
            encoded.append(
                EncodedText(
                    np.array(one.ids, np.int64),
                    np.array(one.special_tokens_mask, np.bool_),
                    spans,
                    trained,
                )
            )
        return encoded


def read_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer in a folder.

    Raises
    ------
    InputError
        If there is none, or none that gives the positions of its tokens in the text.
    """
    from transformers import AutoTokenizer

    try:
        with quiet_transformers():
            found = AutoTokenizer.from_pretrained(
                path, local_files_only=True, trust_remote_code=False
            )
    except (OSError, ValueError, ImportError, KeyError, TypeError) as error:
        raise InputError(
            f"{path} must hold a tokenizer, but it cannot be read ({first_line(error)}): save it "
            "there with tokenizer.save_pretrained"
        ) from error
    # Without a vocabulary, a tokenizer with a few special tokens is returned, for which every word
    # is unknown.
    files = ("tokenizer.json", *found.vocab_files_names.values())
    if not any((path / name).is_file() for name in files):
        raise InputError(
            f"{path} must hold a tokenizer, but has none of {short_list(sorted(set(files)))}: "
            "save it "
            "there with tokenizer.save_pretrained"
        )
    return tokenizer_of(found, f"the tokenizer in {path}")


def tokenizer_of(found: Any, name: str) -> Tokenizer:
    """Return a transformers tokenizer as a value.

    Raises
    ------
    InputError
        If it cannot give the positions of its tokens; `name` is its name in the message.
    """
    backend = getattr(found, "backend_tokenizer", None)
    if backend is None:
        raise InputError(
            f"{name} must be a fast one (tokenizer.json), got {type(found).__name__}: convert it "
            "and save it again"
        )
    state = {**json.loads(backend.to_str()), **dict.fromkeys(_STATE)}
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":"))
    template = getattr(found, "chat_template", None)
    if isinstance(template, dict):
        template = template.get("default")
    named = found.special_tokens_map.items()
    special = {name: str(token) for name, token in named if name.endswith("_token")}
    # Padding is masked: any token will do.
    pad = found.pad_token_id if found.pad_token_id is not None else 0
    return Tokenizer(
        state=text,
        mask_id=found.mask_token_id,
        pad_id=int(pad),
        unknown_id=found.unk_token_id,
        limit=int(found.model_max_length),
        chat=json.dumps({"template": template, "special": special}, sort_keys=True),
    )


_WORD = re.compile(r"\w+|[^\w\s]")
_NONE = -1


class Tokenizes(Protocol):
    """Protocol of a tokenizer, such as `Tokenizer`."""

    @property
    def unknown_id(self) -> int | None:
        """Id of the unknown token; None if there is none."""

    def encoded(self, texts: Sequence[ScoredText]) -> list[EncodedText]:
        """Return every text in tokens, untruncated."""


@dataclass(frozen=True, eq=False)
class Tokens:
    """Texts in the tokens of one model, one text after another."""

    keys: tuple[str, ...]
    """SHA-256 of each text, in hexadecimal."""
    ids: Ints
    """(m,) Token ids of all texts, including their frames."""
    units: Ints
    """(m,) Unit of its text to which a token belongs, from 0; -1 for none, such as for [SEP]."""
    starts: Ints
    """(n + 1,) First token of each text, and the end of the last one."""
    n_units: Ints
    """(n,) T, the number of units of each text, at least 1."""
    n_truncated: Ints
    """(n,) Number of tokens cut off because they do not fit into a model's context."""
    n_unknown: Ints
    """(n,) Number of unknown tokens among the remaining ones."""
    frame: tuple[int, int] = (0, 0)
    """Number of frame tokens before and after each text."""

    def __post_init__(self) -> None:
        for name in ("ids", "units", "starts", "n_units", "n_truncated", "n_unknown"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), np.int64)))

    def __len__(self) -> int:
        return len(self.keys)

    def of(self, text: int) -> tuple[Ints, Ints]:
        """Return the ids and the units of one text."""
        here = self.where(text)
        return self.ids[here], self.units[here]

    def where(self, text: int) -> slice:
        """Return the slice of the tokens of one text."""
        return slice(int(self.starts[text]), int(self.starts[text + 1]))

    @property
    def lengths(self) -> Ints:
        """(n,) Number of tokens of each text, including the frame."""
        return np.diff(self.starts)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of texts and tokens, in hexadecimal."""
        digest = hashlib.sha256("\n".join(self.keys).encode())
        # "<i8" on every platform, so that the digest does not depend on the machine.
        for part in (self.ids, self.units, self.starts):
            digest.update(np.ascontiguousarray(part, "<i8").data)
        return digest.hexdigest()

    def rows(self, texts: Ints) -> Tokens:
        """Return some of the texts, in the order requested."""
        found = [self.of(int(text)) for text in texts]
        return Tokens(
            keys=tuple(self.keys[text] for text in texts),
            ids=np.concatenate([ids for ids, _ in found]),
            units=np.concatenate([units for _, units in found]),
            starts=np.cumsum([0, *(len(ids) for ids, _ in found)]),
            n_units=self.n_units[texts],
            n_truncated=self.n_truncated[texts],
            n_unknown=self.n_unknown[texts],
            frame=self.frame,
        )


def tokens_of(
    texts: Sequence[ScoredText], tokenizers: Sequence[Tokenizes], limit: Sequence[int], unit: Unit
) -> tuple[list[Tokens], Unit]:
    """Return the texts in the tokens of every tokenizer, with units shared by all of them.

    Parameters
    ----------
    limit : sequence of int
        Most tokens, including the frame, that each model reads.
    unit : "token" or "word"
        Unit wanted. Words are used if the tokens differ in any text.

    Returns
    -------
    list of Tokens, "token" or "word"
        One `Tokens` per tokenizer, with equal texts, units and truncation; and the unit.

    Raises
    ------
    InputError
        If there is no text, one is not a str, or nothing of it is left to score.
    """
    keys = checked_keys(texts)
    found = [tokenizer.encoded(texts) for tokenizer in tokenizers]
    rows, unit = _rows(texts, found, limit, unit)
    empty = [i for i, row in enumerate(rows) if row.n_units == 0]
    if empty:
        raise InputError(
            f"every text must have at least one {unit} to score, got none in text {empty[0]}: "
            "leave it out"
        )
    gathered = []
    for at, tokenizer in enumerate(tokenizers):
        framing = found[at][0].framing
        content = np.flatnonzero(~framing)
        # Tokens of the frame before the text, and after it.
        frame = (int(content[0]), int(len(framing) - 1 - content[-1]))
        ids = [row.ids[at] for row in rows]
        unknown = tokenizer.unknown_id
        n_unknown = [0 if unknown is None else np.count_nonzero(its == unknown) for its in ids]
        gathered.append(
            Tokens(
                keys=keys,
                ids=np.concatenate(ids),
                units=np.concatenate([row.units[at] for row in rows]),
                starts=np.cumsum([0, *map(len, ids)]),
                n_units=np.array([row.n_units for row in rows]),
                n_truncated=np.array([row.n_truncated[at] for row in rows]),
                n_unknown=np.array(n_unknown),
                frame=frame,
            )
        )
    return gathered, unit


def n_units_of(
    texts: Sequence[ScoredText], tokenizers: Sequence[Tokenizes], limit: Sequence[int], unit: Unit
) -> Ints:
    """Return the number of units (n,) that `tokens_of` would find in each text, 0 included."""
    found = [tokenizer.encoded(texts) for tokenizer in tokenizers]
    return np.array([row.n_units for row in _rows(texts, found, limit, unit)[0]], np.int64)


def checked_keys(texts: Sequence[ScoredText]) -> tuple[str, ...]:
    """Return the key of each text: its SHA-256, with that of its trained part if it has one."""
    if isinstance(texts, str | bytes) or len(texts) == 0:
        raise InputError(f"texts must be a sequence of at least one text, got {type(texts)}")
    keys = []
    for i, text in enumerate(list[object](texts)):
        if isinstance(text, TrainedText):
            keys.append(text.key)
            continue
        if not isinstance(text, str):
            raise InputError(f"text {i} must be a str, got {type(text).__name__}: decode it first")
        try:
            keys.append(hashlib.sha256(text.encode()).hexdigest())
        except UnicodeEncodeError as error:
            raise InputError(
                f"text {i} must be valid Unicode, got a lone surrogate at character {error.start}: "
                "read the file with its own encoding"
            ) from error
    return tuple(keys)


@dataclass(frozen=True)
class _Row:
    """One text in the tokens of every tokenizer, cut off at the same place."""

    ids: list[Ints]
    units: list[Ints]
    n_units: int
    n_truncated: list[int]


def _rows(
    texts: Sequence[ScoredText],
    found: Sequence[Sequence[EncodedText]],
    limit: Sequence[int],
    unit: Unit,
) -> tuple[list[_Row], Unit]:
    # Tokens can be compared one by one only where all tokenizers give the same ones.
    alike = all(
        np.array_equal(a.ids[~a.framing], b.ids[~b.framing])
        and np.array_equal(a.spans[~a.framing], b.spans[~b.framing])
        for other in found[1:]
        for a, b in zip(found[0], other, strict=True)
    )
    if not alike:
        unit = "word"
    rows = []
    for text, parts in zip(texts, zip(*found, strict=True), strict=True):
        if unit == "token":
            scored = [~one.framing & (one.trained is None or one.trained) for one in parts]
            units = [np.where(one, np.cumsum(one) - 1, _NONE) for one in scored]
        else:
            units = word_units(text, parts)
        fitting = []
        for one, its, most in zip(parts, units, limit, strict=True):
            room = most - int(np.count_nonzero(one.framing))
            # The first unit that does not fit completely is left out, with all units after it.
            beyond = its[~one.framing][max(room, 0) :]
            n_all = int(its.max(initial=_NONE)) + 1
            fitting.append(int(min(beyond[beyond >= 0], default=n_all)))
        # The smallest number that fits into every model: all of them score the same units.
        n_units = min(fitting)
        row = _Row([], [], n_units, [])
        for one, its in zip(parts, units, strict=True):
            # All from the first unit that does not fit, blanks between words included.
            kept = one.framing | ~(np.cumsum(its >= n_units) > 0)
            row.ids.append(one.ids[kept])
            row.units.append(its[kept])
            row.n_truncated.append(int(np.count_nonzero(~kept)))
        rows.append(row)
    return rows, unit


def word_units(text: ScoredText, found: Sequence[EncodedText]) -> list[Ints]:
    """Return the word of each token, as far as the tokenizers agree on it.

    Parameters
    ----------
    found : sequence of EncodedText
        The text as each tokenizer splits it.

    Returns
    -------
    list of (t,) arrays
        The number of the word, from 0, per tokenizer; -1 for the frame, for blanks, for words that
        were not trained, and for words for which another tokenizer has no token. Words that share a
        token count as one.
    """
    letters, whole = (text, ()) if isinstance(text, str) else (text.text, text.trained)
    word_at = np.full(len(letters), _NONE)
    n_words = 0
    for word in _WORD.finditer(letters):
        start, stop = word.span()
        if isinstance(text, str) or any(a < stop and start < b for a, b in whole):
            word_at[start:stop] = n_words
            n_words += 1
    # (t, 2) per tokenizer: the first and last word that each token overlaps; -1 and -1 for none.
    ranges = []
    for one in found:
        overlapped = np.full((len(one.ids), 2), _NONE)
        for i, (first, last) in enumerate(one.spans):
            words = word_at[first:last]
            words = words[words >= 0]
            if len(words) and not one.framing[i]:
                overlapped[i] = words[0], words[-1]
        ranges.append(overlapped)
    # joined[w]: word w shares a token with word w - 1 in some tokenizer.
    joined = np.zeros(n_words, np.bool_)
    for first, last in (pair for one in ranges for pair in one):
        joined[first + 1 : last + 1] = True
    unit_of = np.append(np.cumsum(~joined) - 1, _NONE)
    units = [unit_of[one[:, 0]] for one in ranges]
    shared = set.intersection(*(set(its[its >= 0].tolist()) for its in units))
    number = np.full(n_words + 1, _NONE)
    number[sorted(shared)] = np.arange(len(shared))
    return [number[its] for its in units]
