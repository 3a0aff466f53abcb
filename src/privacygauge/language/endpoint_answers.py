"""Answers of models behind servers: stored on disk, and turned into energies."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.versions import own_version
from privacygauge.language.batches import causal_scored
from privacygauge.language.endpoints import Answer, EndpointModel, most_tokens_of_text
from privacygauge.language.energies import Energies, Unit
from privacygauge.language.store import AnswerStore, compute_arrays
from privacygauge.language.tokenizer import EncodedText
from privacygauge.language.tokens import checked_keys, tokens_of
from privacygauge.language.trained import ScoredText
from privacygauge.runs.plan import ArraySpec, Plan, Task

# Few texts per task: each is a request, and a killed run loses the task at work.
_TEXTS_A_TASK = 8
# Stored per token: id, start, stop and log-probability.
_PARTS = 4


@dataclass(frozen=True, eq=False)
class ServerWork:
    """Work of a run: asks a server about the texts of a task."""

    model: EndpointModel
    """Model behind the server."""
    texts: Sequence[str]
    """Texts, without repeats."""
    width: int
    """Most tokens of any text."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the server's answers, one row per token, padded with NaN."""
        found = np.full((task.n_units, self.width, _PARTS), np.nan)
        for row, text in zip(found, self.texts[task.start : task.stop], strict=True):
            answer = self.model.answer(text)
            encoded = answer.encoded
            row[: len(encoded.ids)] = np.column_stack(
                [encoded.ids, encoded.spans, answer.log_probability]
            )
        return {"answer": found}


@dataclass(frozen=True, eq=False)
class _Answered:
    """Answers of a server, in the role of a tokenizer."""

    answers: Mapping[str, Answer]
    unknown_id: int | None = None

    def encoded(self, texts: Sequence[ScoredText]) -> list[EncodedText]:
        # A server is asked for plain texts only.
        return [self.answers[str(text)].encoded for text in texts]


def server_answers(
    model: EndpointModel, texts: Sequence[str], kept: AnswerStore
) -> dict[str, Answer]:
    """Return the server's log-probabilities for every text; only texts not stored yet are sent.

    Answers are stored by the server's address, the model's name and the texts.

    Raises
    ------
    InputError
        As in `EndpointModel.answer`.
    """
    # In an order that depends on the texts alone.
    once = dict(sorted(zip(checked_keys(texts), texts, strict=True)))
    asked = tuple(once.values())
    width = max(map(most_tokens_of_text, asked))
    plan = Plan(
        name="language",
        seed=0,
        unit="text",
        n_units=len(asked),
        units_a_task=min(_TEXTS_A_TASK, len(asked)),
        arrays={
            "answer": ArraySpec(("text", "token", "part"), (len(asked), width, _PARTS), "float64")
        },
        settings={
            "kind": "server",
            "address": model.url.rstrip("/"),
            "model": model.name,
            "texts": hashlib.sha256("\n".join(once).encode()).hexdigest(),
            "versions": {"privacygauge": own_version()},
        },
    )
    rows = compute_arrays(plan, ServerWork(model, asked, width), kept)
    answers = {}
    for text, row in zip(asked, rows["answer"], strict=True):
        known = row[~np.isnan(row[:, 0])]
        ids = known[:, 0].astype(np.int64)
        spans = known[:, 1:3].astype(np.int64)
        # Tokens before the text have an empty span at 0; those of the text end behind 0.
        answers[text] = Answer(EncodedText(ids, spans[:, 1] == 0, spans), known[:, 3])
    return answers


def endpoint_energies(
    models: Sequence[EndpointModel], texts: Sequence[str], unit: Unit, kept: AnswerStore
) -> list[Energies]:
    """Return the energies of texts under one or two models behind servers.

    Parameters
    ----------
    unit : "token" or "word"
        Words are taken where the models' tokens differ.

    Raises
    ------
    InputError
        As in `EndpointModel.answer` and `tokens_of`.
    """
    told = [
        server_answers(model, texts, kept.part(number, len(models)))
        for number, model in enumerate(models)
    ]
    tokens, unit = tokens_of(
        texts, [_Answered(answers) for answers in told], [sys.maxsize] * len(models), unit
    )
    logs = [np.concatenate([answers[text].log_probability for text in texts]) for answers in told]
    # A text's first token has no log-probability where no other token precedes it.
    first = int(any(np.isnan(x[its.units >= 0]).any() for x, its in zip(logs, tokens, strict=True)))
    found = []
    for its, said in zip(tokens, logs, strict=True):
        scored = causal_scored(its, first)
        row = np.repeat(np.arange(len(its)), np.diff(scored.starts))
        found.append(
            Energies(
                log_probability=said[its.starts[row] + scored.position],
                text=row,
                copy=scored.copy,
                unit=scored.unit,
                position=scored.position,
                lengths=its.n_units,
                n_truncated=its.n_truncated,
                n_unknown=its.n_unknown,
                units=unit,
            )
        )
    return found
