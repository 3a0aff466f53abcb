"""Texts on which a training took the loss for some tokens only, such as the answers in a chat."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacygauge.core.checks import Bools, Ints

Stretches = tuple[tuple[int, int], ...]
"""Starts and stops in a text, in characters, ascending; stops are excluded."""


@dataclass(frozen=True)
class TrainedText:
    """A text as a training read it, with the stretches on which the loss was taken."""

    text: str
    """Text, including the markup of a chat template."""
    trained: Stretches
    """Stretches that were trained; all other tokens are read but not scored."""
    framed: bool = True
    """False if the tokenizer adds no tokens of its own, since a chat template wrote them."""
    ids: tuple[int, ...] | None = None
    """Token ids as trained, if known; the text is then their decoding."""
    of_loss: tuple[bool, ...] | None = None
    """True for each of `ids` that was trained; None without `ids`."""

    @property
    def key(self) -> str:
        """SHA-256 of the text and of its trained part, in hexadecimal."""
        trained = (self.trained, self.framed, self.ids, self.of_loss)
        return hashlib.sha256(f"{trained}\n{self.text}".encode()).hexdigest()

    @property
    def begins(self) -> bool:
        """True if the first token was trained, which has no context."""
        if self.of_loss is not None:
            return any(self.of_loss[:1])
        return any(start == 0 for start, _ in self.trained)

    @property
    def own(self) -> str:
        """The trained stretches, joined; the whole text if there are none."""
        if not self.trained:
            return self.text
        return "".join(self.text[start:stop] for start, stop in self.trained)

    def touches(self, spans: Ints) -> Bools:
        """Return a mask (t,) of spans (t, 2), in characters, that overlap a trained stretch."""
        found = np.zeros(len(spans), np.bool_)
        for start, stop in self.trained:
            found |= (spans[:, 0] < stop) & (spans[:, 1] > start)
        return found


NO_LOSS = -100
"""Label of a token on which no loss is taken, as in transformers."""


def tokens_of_training(row: Mapping[str, Any], text: str) -> TrainedText:
    """Return the tokens of a record that a Trainer read, with those it took the loss on.

    Parameters
    ----------
    row : mapping
        ``input_ids``, and optionally ``attention_mask``, 0 for padding, and ``labels``, `NO_LOSS`
        for tokens that were read but not trained. Several texts may be packed into one record.
    text : str
        The same content as text.
    """
    ids = np.asarray(row["input_ids"]).reshape(-1)
    inside = np.asarray(row.get("attention_mask", np.ones_like(ids))).reshape(-1) != 0
    labels = row.get("labels")
    scored = inside if labels is None else np.asarray(labels).reshape(-1) != NO_LOSS
    kept = tuple(ids[inside].tolist())
    return TrainedText(text, (), framed=False, ids=kept, of_loss=tuple(scored[inside].tolist()))


ScoredText = str | TrainedText
"""Types of a text to score; of a str all tokens are scored."""


def plain(texts: Sequence[ScoredText]) -> list[str]:
    """Return the texts as strings."""
    return [text if isinstance(text, str) else text.text for text in texts]
