"""Texts of which a training took the loss on some tokens only, such as the answers in a chat."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privacygauge.core.checks import Bools, Ints

Stretches = tuple[tuple[int, int], ...]
"""Starts and stops in a text, in characters, ascending."""


@dataclass(frozen=True)
class TrainedText:
    """A text as a training read it, and the stretches of it that the loss was taken on."""

    text: str
    """The text, the marks of a chat template included."""
    trained: Stretches
    """Stretches that were trained; all other tokens are read and not scored."""
    framed: bool = True
    """False where the tokenizer adds no tokens of its own, since a chat template wrote them."""
    ids: tuple[int, ...] | None = None
    """Token ids as they were trained, where these are known; the text is then theirs, decoded."""
    of_loss: tuple[bool, ...] | None = None
    """Whether each of `ids` was trained."""

    @property
    def key(self) -> str:
        """SHA-256 of the text and of its trained part."""
        trained = (self.trained, self.framed, self.ids, self.of_loss)
        return hashlib.sha256(f"{trained}\n{self.text}".encode()).hexdigest()

    @property
    def begins(self) -> bool:
        """Whether its first token was trained, which nothing stands before."""
        if self.of_loss is not None:
            return any(self.of_loss[:1])
        return any(start == 0 for start, _ in self.trained)

    @property
    def own(self) -> str:
        """The trained stretches alone, joined."""
        if not self.trained:
            return self.text
        return "".join(self.text[start:stop] for start, stop in self.trained)

    def touches(self, spans: Ints) -> Bools:
        """Return a mask (t,) of spans (t, 2), in characters, with a part that was trained."""
        found = np.zeros(len(spans), np.bool_)
        for start, stop in self.trained:
            found |= (spans[:, 0] < stop) & (spans[:, 1] > start)
        return found


NO_LOSS = -100
"""Label of a token that no loss is taken on, as in transformers."""


def tokens_of_training(row: Mapping[str, Any], text: str) -> TrainedText:
    """Return the tokens of a record that a Trainer read, and those that it took the loss on.

    Parameters
    ----------
    row : mapping
        ``input_ids``, and where there are any ``attention_mask``, 0 for padding, and ``labels``,
        `NO_LOSS` for tokens that were read and not trained. Several texts may be packed into one.
    text : str
        The same in letters.
    """
    ids = np.asarray(row["input_ids"]).reshape(-1)
    inside = np.asarray(row.get("attention_mask", np.ones_like(ids))).reshape(-1) != 0
    labels = row.get("labels")
    scored = inside if labels is None else np.asarray(labels).reshape(-1) != NO_LOSS
    kept = tuple(ids[inside].tolist())
    return TrainedText(text, (), framed=False, ids=kept, of_loss=tuple(scored[inside].tolist()))


ScoredText = str | TrainedText
"""Types of a text that a model is asked about; of a str all tokens are scored."""


def plain(texts: Sequence[ScoredText]) -> list[str]:
    """Return the texts as strings."""
    return [text if isinstance(text, str) else text.text for text in texts]
