"""Training data of conversations, prompts and instructions, as the texts that were trained."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from privacygauge.errors import InputError
from privacygauge.language.texts import TrainedText
from privacygauge.language.tokens import Tokenizer

Trained = Literal["answers", "all"]
"""Tokens on which a training took the loss: those of the answers, or all."""
TRAINED: tuple[Trained, ...] = ("answers", "all")

CONVERSATIONS = ("messages", "conversations")
"""Columns of lists of messages."""
_COMPLETIONS = ("completion", "response")
FIELDS = (*CONVERSATIONS, "prompt", *_COMPLETIONS, "instruction", "input", "output")
"""All columns that may hold a training text in parts."""

# Names of speakers in ShareGPT, and in chat templates.
_SPEAKERS = {"human": "user", "gpt": "assistant"}

_ALPACA = "Below is an instruction that describes a task{paired}. Write a response that "
_ALPACA += "appropriately completes the request.\n\n### Instruction:\n{instruction}\n\n{more}"
_ALPACA += "### Response:\n"

Message = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ChatForm:
    """How a list of messages is written as one text."""

    read: Callable[[], Tokenizer] | None = None
    """Function that reads the tokenizer with chat template and special tokens; None if unknown."""
    template: str | Path | None = None
    """File with a Jinja template that replaces the tokenizer's own."""

    def written(self, messages: Sequence[Message], answers: Sequence[int]) -> TrainedText:
        """Return messages as a text, with the messages numbered in `answers` as its trained parts.

        An answer is what the template writes after its prompt for an answer, including the end of
        the turn; if a template changes earlier turns, only the text of the answer.
        """
        whole = self._text(messages)
        trained = []
        place = 0
        for number in answers:
            # The text up to the prompt for this answer, and the text up to its end.
            before = self._text(messages[:number], ask=True) if number else ""
            upto = self._text(messages[: number + 1])
            fits = len(upto) > len(before) and whole.startswith(before) and whole.startswith(upto)
            if number and fits:
                start = len(before)
                place = len(upto)
            else:
                # The template changes earlier turns: the answer is looked for from the end of the
                # one before.
                said = str(messages[number].get("content") or "").strip()
                start = whole.find(said, place)
                if not said or start < 0:
                    raise InputError(
                        "the chat template must write every answer, got none for message "
                        f"{number}: give the template of the training (--template)"
                    )
                place = start + len(said)
            trained.append((start, place))
        return TrainedText(whole, tuple(trained), framed=False)

    def _text(self, messages: Sequence[Message], *, ask: bool = False) -> str:
        from jinja2 import TemplateError

        module, template = self._filled
        try:
            found = module.apply_chat_template(
                [dict(message) for message in messages],
                chat_template=template,
                tokenize=False,
                add_generation_prompt=ask,
            )
        except (TemplateError, ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"the chat template cannot write these messages: {str(error).strip()[:200]}"
            ) from error
        return str(found)

    @cached_property
    def _filled(self) -> tuple[Any, str]:
        """The tokenizer as transformers has it, and the template."""
        from importlib.util import find_spec

        if self.read is None:
            raise InputError(
                "messages need the tokenizer of a target in a folder, whose chat template writes "
                "them: give plain texts"
            )
        if find_spec("jinja2") is None:
            raise InputError("messages need jinja2, which is not installed: pip install jinja2")
        from tokenizers import Tokenizer as Backend
        from transformers import PreTrainedTokenizerFast

        tokenizer = self.read()
        chat = json.loads(tokenizer.chat or "{}")
        template = chat.get("template")
        if self.template is not None:
            try:
                template = Path(self.template).read_text(encoding="utf-8")
            except (OSError, ValueError) as error:
                raise InputError(f"{self.template} must be a chat template in UTF-8") from error
        if not template:
            raise InputError(
                "the target's tokenizer has no chat template to write messages with: give that of "
                "the training (--template FILE)"
            )
        # A copy: transformers sets state on the tokenizer that it is given.
        fast: Any = PreTrainedTokenizerFast  # untyped in some versions
        backend = Backend.from_str(tokenizer.state)
        return fast(tokenizer_object=backend, **chat.get("special", {})), template


@dataclass(frozen=True)
class TrainingForm:
    """How rows of training data become texts, and which tokens were trained."""

    chat: ChatForm = ChatForm()
    """How messages are written as text."""
    trained: Trained = "answers"
    """Tokens on which the loss was taken."""

    def __post_init__(self) -> None:
        if self.trained not in TRAINED:
            raise InputError(f"trained must be answers or all, got {self.trained!r}")

    def texts(self, found: Mapping[str, Sequence[Any]]) -> list[TrainedText] | None:
        """Return the training text of each row (n,); None if no columns hold any."""
        # Data sets spell the names of these columns in either case.
        names = {name.casefold(): name for name in found}
        completion = next((names[x] for x in _COMPLETIONS if x in names), None)
        for name in CONVERSATIONS:
            if name in names:
                given = found[names[name]]
                return [self._written(_messages(x, row), 0, row) for row, x in enumerate(given)]
        if "prompt" in names and completion is not None:
            completed = []
            pairs = zip(found[names["prompt"]], found[completion], strict=True)
            for row, (prompt, answer) in enumerate(pairs):
                if isinstance(prompt, str) or isinstance(answer, str):
                    question = _string(prompt, "prompt", row)
                    completed.append(self._completed(question, _string(answer, "completion", row)))
                else:
                    # Both are lists of messages; only those of the completion are answers.
                    before = _messages(prompt, row)
                    both = [*before, *_messages(answer, row)]
                    completed.append(self._written(both, len(before), row))
            return completed
        if {"instruction", "output"} <= set(names):
            n = len(found[names["instruction"]])
            contexts = found[names["input"]] if "input" in names else [""] * n
            columns = (found[names["instruction"]], contexts, found[names["output"]])
            instructed = []
            for row, (instruction, given, output) in enumerate(zip(*columns, strict=True)):
                task = _string(instruction, "instruction", row)
                # A missing input is None, or NaN, which differs from itself.
                more = "" if given is None or given != given else _string(given, "input", row)
                answer = _string(output, "output", row)
                # With a template of the training, instructions are conversations of two turns.
                if self.chat.template is not None:
                    asked = {"role": "user", "content": f"{task}\n{more}" if more else task}
                    turns: list[Message] = [asked, {"role": "assistant", "content": answer}]
                    instructed.append(self._written(turns, 0, row))
                    continue
                paired = ", paired with an input that provides further context" if more else ""
                inputs = f"### Input:\n{more}\n\n" if more else ""
                question = _ALPACA.format(paired=paired, instruction=task, more=inputs)
                instructed.append(self._completed(question, answer))
            return instructed
        return None

    def _written(self, messages: list[Message], first: int, row: int) -> TrainedText:
        spoken = enumerate(messages)
        answers = [i for i, x in spoken if i >= first and x.get("role") == "assistant"]
        if not answers:
            raise InputError(
                f"messages must hold an answer (role assistant), got none in row {row}: leave the "
                "row out"
            )
        found = self.chat.written(messages, answers if self.trained == "answers" else ())
        if self.trained == "all":
            return replace(found, trained=((0, len(found.text)),))
        return found

    def _completed(self, prompt: str, completion: str) -> TrainedText:
        text = prompt + completion
        start = 0 if self.trained == "all" else len(prompt)
        return TrainedText(text, ((start, len(text)),))


AS_TRAINED = TrainingForm()
"""Answers only, with the target's own chat template."""


def _string(value: Any, name: str, row: int) -> str:
    if not isinstance(value, str):
        kind = type(value).__name__
        raise InputError(f"{name} must be a text in every row, got {kind} in row {row}")
    if name in ("completion", "output") and not value.strip():
        raise InputError(f"{name} must not be empty, got an empty one in row {row}: leave it out")
    return value


def _messages(given: Any, row: int) -> list[Message]:
    """Return a list of messages with the keys role and content."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError as error:
            raise InputError(f"messages must be a list, got a text in row {row}") from error
    listed = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(listed, Sequence) or not listed:
        raise InputError(f"messages must be a list of messages in every row, not in row {row}")
    messages: list[Message] = []
    for message in listed:
        if isinstance(message, Mapping) and "role" in message:
            messages.append(message)
        elif isinstance(message, Mapping) and {"from", "value"} <= message.keys():
            speaker = str(message["from"])
            messages.append({"role": _SPEAKERS.get(speaker, speaker), "content": message["value"]})
        else:
            raise InputError(
                f"every message must have the keys role and content, got another one in row {row}"
            )
    return messages
