"""A tokenizer as an immutable value: no call changes its state."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core.checks import Bools, Ints, short_list
from privacygauge.errors import InputError
from privacygauge.language.loading import first_line, quiet_transformers
from privacygauge.language.trained import ScoredText, TrainedText, plain

_MIXED_CASE = "The Patient Was Seen TODAY"
# Set by whoever called the tokenizer last, and no part of what it is.
_STATE = ("truncation", "padding")
# Some vocabularies of lower case hold a few letters that have no other.
_SHARE_OF_CASED = 0.02


@dataclass(frozen=True, eq=False)
class EncodedText:
    """One text in tokens."""

    ids: Ints
    """(t,) Token ids, those of the frame ([CLS], [SEP]) included."""
    framing: Bools
    """(t,) True for tokens that the tokenizer puts around the text."""
    spans: Ints
    """(t, 2) Start and stop of every token in the text, in characters."""
    trained: Bools | None = None
    """(t,) True for the tokens that a training took the loss on; None for all of the text."""


@dataclass(frozen=True, eq=False)
class Tokenizer:
    """A fast tokenizer and the ids that scoring needs."""

    state: str
    """Tokenizer as JSON, in the format of `tokenizer.json`."""
    mask_id: int | None
    """Id of the mask token; None without one."""
    pad_id: int
    """Id of the padding token."""
    unknown_id: int | None
    """Id of the unknown token; None where the vocabulary covers every text."""
    limit: int
    """Most tokens of a text that the tokenizer allows, frame included."""
    literal: bool = False
    """True where special tokens written in a text are read as letters."""
    chat: str | None = None
    """Chat template, if there is one, and named special tokens, as JSON; None where not known."""

    @cached_property
    def _backend(self) -> Any:
        from tokenizers import Tokenizer as Backend

        backend = Backend.from_str(self.state)
        # As letters, "[MASK]" or "[SEP]" written in a text steers nothing; but whoever trained on
        # chats read "<|im_start|>" as one token.
        backend.encode_special_tokens = self.literal
        return backend

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokenizer, tuple(getattr(self, part.name) for part in fields(self))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all settings that affect tokenization."""
        ids = f"{self.mask_id} {self.pad_id} {self.unknown_id}{' literal' * self.literal}\n"
        return hashlib.sha256((ids + self.state).encode()).hexdigest()

    @cached_property
    def is_cased(self) -> bool:
        """True where it distinguishes upper and lower case."""
        given, lowered = self.encoded([_MIXED_CASE, _MIXED_CASE.lower()])
        return not np.array_equal(given.ids, lowered.ids)

    @cached_property
    def loses_case(self) -> bool:
        """True where it lower-cases texts although its vocabulary is cased."""
        words = [token for token in self._backend.get_vocab() if token.isalpha()]
        upper = sum(token != token.lower() for token in words)
        return not self.is_cased and upper > _SHARE_OF_CASED * max(len(words), 1)

    @cached_property
    def n_tokens(self) -> int:
        """Largest token id plus one."""
        return int(max(self._backend.get_vocab().values())) + 1

    def without_added(self, size: int) -> Tokenizer:
        """Return it without the added tokens whose ids are `size` or more."""
        state = json.loads(self.state)
        state["added_tokens"] = [x for x in state.get("added_tokens", ()) if x["id"] < size]
        pad = self.pad_id if self.pad_id < size else 0
        return replace(self, state=json.dumps(state, ensure_ascii=False), pad_id=pad)

    def as_in_transformers(self, special: Mapping[str, str]) -> Any:
        """Return a tokenizer of transformers with these special tokens, by their names."""
        from tokenizers import Tokenizer as Backend
        from transformers import PreTrainedTokenizerFast

        # Of the caller's own: transformers sets state on what it is given.
        made: Any = PreTrainedTokenizerFast  # untyped in some versions
        return made(tokenizer_object=Backend.from_str(self.state), **special)

    def encoded(self, texts: Sequence[ScoredText]) -> list[EncodedText]:
        """Return every text in tokens, untruncated."""
        framed = [isinstance(text, str) or text.framed for text in texts]
        found: list[Any] = [None] * len(texts)
        for frame in (True, False):
            rows = [row for row, it in enumerate(framed) if it is frame]
            some = plain([texts[row] for row in rows])
            batch = self._backend.encode_batch(some, add_special_tokens=frame) if rows else ()
            for row, one in zip(rows, batch, strict=True):
                found[row] = one
        return [_in_tokens(text, one) for text, one in zip(texts, found, strict=True)]


def _in_tokens(text: ScoredText, found: Any) -> EncodedText:
    if isinstance(text, TrainedText) and text.ids is not None:
        ids = np.array(text.ids, np.int64)
        nowhere = np.zeros((len(ids), 2), np.int64)
        return EncodedText(ids, np.zeros(len(ids), np.bool_), nowhere, np.array(text.of_loss))
    spans = np.array(found.offsets, np.int64).reshape(-1, 2)
    return EncodedText(
        np.array(found.ids, np.int64),
        np.array(found.special_tokens_mask, np.bool_),
        spans,
        None if isinstance(text, str) else text.touches(spans),
    )


def read_tokenizer(path: Path) -> Tokenizer:
    """Return the tokenizer in a folder.

    Raises
    ------
    InputError
        If there is none, or none that says where in the text its tokens lie.
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
    # Without a vocabulary, one of a few special tokens comes back, and every word is unknown.
    files = ("tokenizer.json", *found.vocab_files_names.values())
    if not any((path / name).is_file() for name in files):
        raise InputError(
            f"{path} must hold a tokenizer, but has none of {short_list(sorted(set(files)))}: "
            "save it "
            "there with tokenizer.save_pretrained"
        )
    return tokenizer_of(found, f"the tokenizer in {path}")


def tokenizer_of(found: Any, name: str) -> Tokenizer:
    """Return a tokenizer of transformers as a value.

    Raises
    ------
    InputError
        If it cannot give its tokens' places in the text; `name` is its name in the message.
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
    pad = found.pad_token_id if found.pad_token_id is not None else 0
    return Tokenizer(
        state=text,
        mask_id=found.mask_token_id,
        pad_id=int(pad),
        unknown_id=found.unk_token_id,
        limit=int(found.model_max_length),
        chat=json.dumps({"template": template, "special": special}, sort_keys=True),
    )
