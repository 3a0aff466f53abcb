"""Models behind a server that speaks OpenAI's completions format, and their stored answers.

Such a server, for example vLLM, receives every text as a prompt with ``echo`` and ``logprobs``, and
returns the log-probability of each token of the text. It does not show its weights, so answers are
stored by its address and the model's name there.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.checks import Floats
from privacygauge.core.versions import own_version
from privacygauge.errors import InputError
from privacygauge.language.energies import ROUNDING, Energies, Unit
from privacygauge.language.forward_pass import causal_scored
from privacygauge.language.model import Model, Source
from privacygauge.language.store import AnswerStore, compute_arrays
from privacygauge.language.texts import ScoredText
from privacygauge.language.tokens import EncodedText, checked_keys, tokens_of
from privacygauge.runs.plan import ArraySpec, Plan, Task

API_KEY = "PRIVACYGAUGE_API_KEY"
"""Environment variable that holds the API key."""

# Most bytes read of an answer.
_LARGEST_ANSWER = 1 << 26
# Seconds before the second try, doubled before each further one.
_WAIT = 0.5


@dataclass(frozen=True)
class EndpointModel:
    """A causal model behind a server, identified by the server's address and its name there."""

    url: str
    """Base URL of ``/completions``, such as ``http://127.0.0.1:8000/v1``."""
    name: str
    """Name of the model on the server."""
    timeout: float = 60.0
    """Seconds to wait for an answer, above 0."""
    tries: int = 3
    """Most attempts per text, at least 1, if the server does not answer or is busy."""

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            usable = parts.scheme in ("http", "https") and bool(parts.hostname)
            # An impossible port raises only when it is read.
            _ = parts.port
        except ValueError:
            usable = False
        if not usable or parts.username or parts.query or parts.fragment:
            # This part of the address may be a key.
            got = "" if set(self.url) & set("@?#") else f", got {self.url!r}"
            raise InputError(
                "the address of a server must be like http://127.0.0.1:8000/v1, a key in the "
                f"environment variable {API_KEY}{got}"
            )
        if not self.name:
            raise InputError("a model behind a server needs the name that it has there")
        if not self.timeout > 0 or self.tries < 1:
            raise InputError("timeout must be above 0 seconds, and tries at least 1")

    @cached_property
    def source(self) -> Source:
        """Source of the model, with address and name in place of the weights, which are hidden."""
        place = f"{self.url.rstrip('/')}/{self.name}"
        return Source(place, "its server", "float32", hashlib.sha256(place.encode()).hexdigest())

    def answer(self, text: str) -> Answer:
        """Return the server's log-probabilities for one text.

        Raises
        ------
        InputError
            If it does not answer, rejects the request, or returns no log-probabilities; one line.
        """
        asked = {
            **{"model": self.name, "prompt": text, "echo": True, "logprobs": 1},
            # Not every server accepts 0; the generated token is dropped below.
            **{"max_tokens": 1, "temperature": 0},
        }
        said = self._asked(json.dumps(asked).encode())
        try:
            # The tokens of `text` and their log-probabilities from a completion with echo.
            choices = said["choices"]
            if not isinstance(choices, list):
                raise TypeError("choices must be a list")
            found = choices[0]["logprobs"]
            names: list[str] = found["tokens"]
            if len(found["token_logprobs"]) != len(names):
                raise ValueError("every token must have a log-probability")
            n = _n_of_prompt(said, names, text)
            names = names[:n]
            n = len(names)
            logs = np.array(
                [np.nan if x is None else float(x) for x in found["token_logprobs"][:n]]
            )
            # A first token without anything before it has none (NaN); every other one must be at
            # most 0.
            if (
                not n
                or not (logs[int(np.isnan(logs[0])) :] <= ROUNDING).all()
                or np.isinf(logs).any()
            ):
                raise ValueError("the tokens of the prompt have no log-probabilities")
            # One per byte, and one before the text.
            if n > 1 + len(text.encode()):
                raise ValueError("there are more tokens than bytes")
            # A token before the text, such as <s>, is the frame.
            front = 0
            spans = _spelt(names, text)
            if spans is None:
                front = 1
                spans = _spelt(names[1:], text)
            if not spans:
                raise ValueError("the tokens do not spell the text")
            # Servers return texts of tokens, not ids: equal texts get equal numbers.
            ids = np.array(
                [zlib.crc32(name.encode("utf-8", "replace")) for name in names], np.int64
            )
            where = np.array([(0, 0)] * front + spans, np.int64)
            return Answer(EncodedText(ids, np.arange(n) < front, where), logs)
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise InputError(
                f"the server at {self.url} gives no log-probabilities of a prompt's tokens: it "
                "must take echo and logprobs for /completions, as vLLM does"
            ) from error

    def _asked(self, body: bytes) -> Mapping[str, object]:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        headers = {"Content-Type": "application/json"}
        # Read only when it is sent, so that it is neither stored nor shown.
        key = os.environ.get(API_KEY, "").strip()
        if not (key.isascii() and key.isprintable()) or " " in key:
            raise InputError(f"{API_KEY} must be one word of printable ASCII characters")
        if key:
            host = str(parts.hostname)
            try:
                is_local = ip_address(host).is_loopback
            except ValueError:  # a name
                is_local = host == "localhost"
            if parts.scheme != "https" and not is_local:
                raise InputError(
                    f"the key in {API_KEY} is sent over https, or to this machine, got the "
                    f"address of {parts.hostname} with http: use https, or unset the variable"
                )
            headers["Authorization"] = f"Bearer {key}"
        told = ""
        for attempt in range(self.tries):
            if attempt:
                # Twice as long before each further try.
                time.sleep(_WAIT * 2 ** (attempt - 1))
            try:
                # Redirections and proxies are not used.
                with closing(
                    kind(str(parts.hostname), parts.port, timeout=self.timeout)
                ) as connection:
                    connection.request(
                        "POST", f"{parts.path.rstrip('/')}/completions", body, headers
                    )
                    answer = connection.getresponse()
                    status = answer.status
                    content = answer.read(_LARGEST_ANSWER)
            except (OSError, HTTPException) as error:
                told = f"does not answer ({error or type(error).__name__})"
                continue
            try:
                found = json.loads(content)
            except (ValueError, RecursionError):
                found = None
            said: Mapping[str, object] = found if isinstance(found, dict) else {}
            if status == 200:
                return said
            # The first line of the server's message, without the key, which some of them repeat.
            inner = said.get("error", said)
            message = inner.get("message") if isinstance(inner, dict) else inner
            reason = str(message or "").strip()
            if key:
                reason = reason.replace(key, "***")
            first = (reason.splitlines() or ["it does not say why"])[0][:200]
            told = f"refuses with status {status} ({first})"
            # Other statuses mean that the request is wrong: trying again does not help.
            if status != 429 and status < 500:
                break
        raise InputError(f"the server at {self.url} {told}: check its address and the model's name")


AnyModel = Model | EndpointModel
"""Types of model that audits accept."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Token log-probabilities of one text, as returned by a server."""

    encoded: EncodedText
    """Tokens of the text by the server's tokenizer."""
    log_probability: Floats
    """(t,) Log-probability of each token in nats; NaN if no token precedes it."""


def _n_of_prompt(said: Mapping[str, object], names: Sequence[str], text: str) -> int:
    """Return the number of the prompt's tokens; the model may have generated one more."""
    usage = said.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens"), int):
        return int(usage["prompt_tokens"])
    for front in (0, 1):
        ends = np.cumsum([len(name) for name in names[front:]])
        n = int(np.searchsorted(ends, len(text))) + 1
        if "".join(names[front : front + n]) == text:
            return front + n
    return len(names) - 1


def _spelt(names: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Return start and stop of each token in a text; None if the tokens do not spell it.

    Tokens that are parts of a character are returned as a replacement mark, as their bytes, or as
    an empty text until the last of them, which is returned as the whole character.
    """
    spans: list[tuple[int, int]] = []
    at = 0
    skipped = 0
    for name in names:
        # Part of a character, or nothing, cannot be found in the text.
        if not name or "\ufffd" in name or name.startswith("bytes:"):
            skipped += len(name)
            spans.append((at, min(at + 1, len(text))))
            continue
        # Skipped tokens may cover characters in front of this one, at most as many as they show.
        begin = text.find(name, at, at + len(name) + skipped)
        if begin < 0:
            return None
        at = begin + len(name)
        skipped = 0
        spans.append((begin, at))
    return spans if len(text) - at <= skipped else None


# Answers of models behind servers, stored on disk and turned into energies.

# Few texts per task: each is a request, and an interrupted run loses the current task.
_TEXTS_A_TASK = 8
# Stored per token: id, start, stop and log-probability.
_PARTS = 4


@dataclass(frozen=True, eq=False)
class ServerWork:
    """Task of a run: answers of a server about some texts."""

    model: EndpointModel
    """Model behind the server."""
    texts: Sequence[str]
    """Texts without repeats."""
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
        # A server only receives plain texts.
        return [self.answers[str(text)].encoded for text in texts]


def server_answers(
    model: EndpointModel, texts: Sequence[str], kept: AnswerStore
) -> dict[str, Answer]:
    """Return the server's log-probabilities for every text; send only texts not stored yet.

    Answers are stored by the server's address, the model's name and the texts.

    Raises
    ------
    InputError
        As in `EndpointModel.answer`.
    """
    # In an order that depends only on the texts.
    once = dict(sorted(zip(checked_keys(texts), texts, strict=True)))
    asked = tuple(once.values())
    width = max(1 + len(text.encode()) for text in asked)
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
        # Rows are padded with NaN to the longest text.
        known = row[~np.isnan(row[:, 0])]
        ids = known[:, 0].astype(np.int64)
        spans = known[:, 1:3].astype(np.int64)
        # Tokens before the text have an empty span at 0; those of the text end after 0.
        answers[text] = Answer(EncodedText(ids, spans[:, 1] == 0, spans), known[:, 3])
    return answers


def endpoint_energies(
    models: Sequence[EndpointModel], texts: Sequence[str], unit: Unit, kept: AnswerStore
) -> list[Energies]:
    """Return the energies of texts under one or two models behind servers.

    Parameters
    ----------
    unit : "token" or "word"
        Unit wanted; words are used if the models' tokens differ.

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
    # A text's first token has no log-probability if no token precedes it.
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
