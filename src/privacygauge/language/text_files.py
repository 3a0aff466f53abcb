"""Texts of members, non-members and population: read from files, checked against each other.

Conversations, prompts with completions, and instructions become the texts that were trained.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.reading import (
    LINES,
    TABLE_ENDINGS,
    FrameLike,
    csv_texts,
    is_csv,
    read_content,
    read_json,
    read_json_lines,
    read_text,
)
from privacygauge.errors import InputError
from privacygauge.language.scores import TextScores, text_scores
from privacygauge.language.texts import (
    ScoredText,
    Texts,
    TrainedText,
    plain_texts,
    texts_of,
    texts_of_rows,
)
from privacygauge.language.tokens import Tokenizer

# Training data in parts, as the texts that were trained.

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


# Files of texts, and the sides of an audit.

SAMPLES = ("sample", "id")
"""Columns that may hold the ids of the texts; the first one present is used."""
GROUPS = (
    *("group", "patient", "patient_id", "person", "person_id", "subject_id", "user_id"),
    *("note", "note_id"),
)
"""Columns that may hold the person of each text, in any case; the first one present is used."""

_PLAIN = (".txt", ".txt.gz")
_JSON = (".json", ".json.gz")
# Files in a folder written by the library datasets, and in a folder of several such folders.
_ON_DISK = "state.json"
_SPLITS = "dataset_dict.json"


@dataclass(frozen=True, eq=False)
class TextRecords:
    """Texts, with their ids and people."""

    text: Texts = field(repr=False)
    """(n,) Texts, none of them empty."""
    sample: Texts | None = field(default=None, repr=False)
    """(n,) Ids, all different; None if not given."""
    group: Texts | None = field(default=None, repr=False)
    """(n,) Patient or note of each text; None if not given."""
    trained: tuple[TrainedText, ...] | None = field(default=None, repr=False)
    """(n,) Texts with the parts that were trained; None if all of each text was."""

    def __post_init__(self) -> None:
        if isinstance(self.text, str) or len(self.text) == 0:
            raise InputError(f"texts must be at least one text, got {self.text!r}")
        n = len(self.text)
        for row, value in enumerate(self.text):
            # NaN, a missing value, is left to `texts_of`, which names it.
            if isinstance(value, int | np.number) or (isinstance(value, float) and value == value):
                raise InputError(
                    f"text must hold texts, got {value!r} in row {row}: name their column"
                )
        object.__setattr__(self, "text", texts_of(self.text, "text", n, empty=True))
        for row, value in enumerate(self.text):
            if not value.strip():
                raise InputError(
                    f"text must not be empty, got an empty one in row {row}: leave it out"
                )
        for name in ("sample", "group"):
            values = getattr(self, name)
            if values is not None:
                object.__setattr__(self, name, texts_of(values, name, n))
        if self.sample is not None:
            first: dict[str, int] = {}
            for row, name in enumerate(self.sample):
                if (earlier := first.setdefault(name, row)) != row:
                    raise InputError(
                        f"ids must all be different, got {name!r} in rows {earlier} and {row}: "
                        "leave one out, or name another column"
                    )

    def __len__(self) -> int:
        return len(self.text)

    @property
    def scored(self) -> Sequence[ScoredText]:
        """(n,) Texts for a model, with their trained parts where known."""
        return self.text if self.trained is None else self.trained

    def rows(self, rows: Ints) -> TextRecords:
        """Return some of the texts, in the order requested."""
        return TextRecords(
            texts_of_rows(self.text, rows),
            sample=None if self.sample is None else texts_of_rows(self.sample, rows),
            group=None if self.group is None else texts_of_rows(self.group, rows),
            trained=self.trained and tuple(self.trained[row] for row in rows.tolist()),
        )


TextRecordsLike = TextRecords | str | Path | Sequence[str] | Mapping[str, Sequence[Any]] | FrameLike
"""Types that `as_texts` accepts."""


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a file; by default the usual ones."""

    text: str = "text"
    """Column of the texts."""
    sample: str | None = None
    """Column of the ids; by default ``sample`` or ``id``."""
    group: str | None = None
    """Column of the person; by default the first of `GROUPS` that exists."""
    training: TrainingForm = AS_TRAINED
    """Form of conversations, prompts with completions, and instructions, which have columns of
    their own (`messages`; `prompt` and `completion`; `instruction`, `input` and `output`)."""

    def __post_init__(self) -> None:
        checks.kind(self.training, "training", TrainingForm, "TrainingForm()")


def as_texts(
    given: TextRecordsLike, columns: Columns | None = None, name: str = "texts"
) -> TextRecords:
    """Return texts from a file, a sequence, a mapping or a frame.

    Parameters
    ----------
    given : TextRecords, path, sequence or array of str, mapping of lists, or data frame
        Texts; a str is a path, read as by `load_texts`.
    columns : Columns, optional
        Columns of a file, a mapping or a frame.
    name : str
        Name of the input in error messages.

    Examples
    --------
    >>> from privacygauge.language.text_files import as_texts
    >>> as_texts({"text": ["no fever", "mild cough"], "patient": [7, 7]}).group
    ('7', '7')
    """
    columns = columns or Columns()
    if isinstance(given, TextRecords):
        return given
    if isinstance(given, str | Path):
        return load_texts(given, columns)
    if isinstance(given, Mapping):
        return _texts_in({str(key): values for key, values in given.items()}, columns, name)
    # A frame of polars; one of pandas has no such method.
    frame: Any = given.to_pandas() if hasattr(given, "to_pandas") else given
    if hasattr(frame, "columns"):
        return _texts_in({str(key): list(frame[key]) for key in frame.columns}, columns, name)
    if hasattr(frame, "tolist"):
        return _check_texts(name, tuple(frame.tolist()), None, None)
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise InputError(
            f"{name} must be a path, a sequence of texts, a mapping of lists or a data frame, got "
            f"{type(given).__name__}"
        )
    return _check_texts(name, tuple(given), None, None)


def load_texts(path: str | Path, columns: Columns | None = None) -> TextRecords:
    """Return the texts in a file.

    Parameters
    ----------
    path : str or pathlib.Path
        ``.jsonl`` (also ``.jsonl.gz``; one object per line), ``.json`` (a list of objects),
        ``.csv``, ``.tsv`` or ``.parquet`` with a column of texts, or with the columns of training
        texts in parts (see `Columns`), and optionally columns of ids and of groups; ``.txt`` (also
        ``.txt.gz``; one text per line, without blank lines); or a folder written by the
        ``save_to_disk`` of Hugging Face datasets. UTF-8. Ids and groups are texts: ``007`` is not
        ``7``.
    columns : Columns, optional
        Names of the columns, if they are not the usual ones.

    Raises
    ------
    InputError
        If the file is invalid: the file, what is wrong, and the way out, in one line.
    """
    path = Path(path)
    columns = columns or Columns()
    name = path.name.lower()
    if path.is_dir():
        # The columns of a dataset in a folder, in the Arrow format of `save_to_disk`.
        import pyarrow as pa

        if (path / _SPLITS).is_file():
            parts = sorted(x.name for x in path.iterdir() if (x / _ON_DISK).is_file())
            raise InputError(
                f"{path} holds several datasets ({checks.short_list(parts)}): name the folder of "
                "one"
            )
        try:
            state = json.loads((path / _ON_DISK).read_text(encoding="utf-8"))
            # Only the name: a path in the file must not lead out of the folder.
            files = [path / Path(str(one["filename"])).name for one in state["_data_files"]]
            tables = [pa.ipc.open_stream(pa.memory_map(str(file))).read_all() for file in files]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path} is a directory, not a text file, nor a dataset as save_to_disk writes it "
                "(state.json and the files *.arrow that it names)"
            ) from error
        table = pa.concat_tables(tables)
        return _texts_in(
            {str(name): table.column(name).to_pylist() for name in table.column_names},
            columns,
            path,
        )
    if name.endswith(_PLAIN):
        lines = (line.strip() for line in read_text(path, "text").splitlines())
        return _check_texts(path, tuple(line for line in lines if line), None, None)
    if name.endswith((*LINES, *_JSON)):
        # Rows come with their numbers in the file.
        if name.endswith(LINES):
            rows = read_json_lines(path, "text")
        else:
            objects = read_json(path, "text")
            if not isinstance(objects, list) or not all(isinstance(row, dict) for row in objects):
                raise InputError(f"{path} must hold a list of objects, one for each text")
            rows = list(enumerate(objects, 1))
        if not rows:
            raise InputError(f"{path}: there are no texts in it")
        keys = rows[0][1].keys()
        for number, row in rows:
            if row.keys() != keys:
                raise InputError(
                    f"{path}: line {number} has the keys {checks.short_list(row)}, the first line "
                    f"has {checks.short_list(keys)}: every line must have the same"
                )
        return _texts_in({key: [row[key] for _, row in rows] for key in keys}, columns, path)
    if not (is_csv(path) or path.suffix.lower() == ".parquet"):
        raise InputError(f"{path} must end in .json, {TABLE_ENDINGS}, or .txt or .txt.gz")
    frame: Any = read_content(path, "text")
    names = [str(name) for name in frame.columns]
    if is_csv(path):
        # Read again as texts: pandas would turn the id 007 into the number 7.
        frame = csv_texts(path)
    wanted = {columns.text, columns.sample, columns.group, *SAMPLES, *GROUPS, *FIELDS}
    # Other columns are only named in messages: their values are not needed.
    found = {
        name: list(frame[key]) if {name, name.casefold()} & wanted else []
        for name, key in zip(names, frame.columns, strict=True)
    }
    return _texts_in(found, columns, path)


def _texts_in(
    found: Mapping[str, Sequence[Any]], columns: Columns, name: str | Path
) -> TextRecords:
    trained = None if columns.text in found else columns.training.texts(found)
    if columns.text not in found and trained is None:
        raise InputError(
            f"{name}: there is no column {columns.text!r} of texts; it has "
            f"{checks.short_list(found, most=12) or 'nothing'}: name the column that holds them"
        )
    for asked in (columns.sample, columns.group):
        if asked is not None and asked not in found:
            raise InputError(
                f"{name}: there is no column {asked!r}; it has {checks.short_list(found)}"
            )
    sample = columns.sample or next((key for key in SAMPLES if key in found), None)
    group = columns.group or next(
        (key for known in GROUPS for key in found if key.casefold() == known), None
    )
    return _check_texts(
        name,
        tuple(found[columns.text]) if trained is None else tuple(one.text for one in trained),
        None if sample is None else tuple(found[sample]),
        None if group is None else tuple(found[group]),
        trained=None if trained is None else tuple(trained),
    )


def _check_texts(
    name: str | Path,
    text: tuple[Any, ...],
    sample: tuple[Any, ...] | None,
    group: tuple[Any, ...] | None,
    trained: tuple[TrainedText, ...] | None = None,
) -> TextRecords:
    if not text:
        raise InputError(f"{name}: there are no texts in it")
    try:
        return TextRecords(text, sample, group, trained)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


SIDES = ("member", "nonmember", "population")
"""Names of the sides in ids and in messages."""


@dataclass(frozen=True, eq=False)
class Side:
    """The texts of one side."""

    name: str
    """``member``, ``nonmember`` or ``population``."""
    records: TextRecords
    """Texts of the side."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def sample(self) -> Texts:
        """(n,) Ids: those given, or side and row."""
        given = self.records.sample
        return given or tuple(f"{self.name}-{row}" for row in range(len(self)))

    def rows(self, rows: Ints) -> Side:
        """Return some of the texts, with their ids."""
        # Ids by row are given before rows are left out: an id keeps naming the same text.
        return Side(self.name, replace(self.records, sample=self.sample).rows(rows))


def scores_of(
    sides: Sequence[Side],
    energy_target: Floats,
    *,
    energy_reference: Floats | None = None,
    length: Ints | None = None,
    further: Mapping[str, Floats] | None = None,
) -> TextScores:
    """Return the energies of all sides, with the columns of `text_scores` by the same names."""
    groups = [side.records.group for side in sides if side.records.group is not None]
    kind = np.repeat([side.name for side in sides], [len(side) for side in sides])
    return text_scores(
        [name for side in sides for name in side.sample],
        energy_target,
        kind == SIDES[0],
        group=[name for group in groups for name in group] if groups else None,
        population=kind == SIDES[2],
        text=different_parts(sides),
        energy_reference=energy_reference,
        length=length,
        further=further,
    )


def different_parts(sides: Sequence[Side]) -> list[str]:
    """Return the texts of all sides, without their common beginning if a template wrote it.

    A prompt that precedes every answer makes all texts similar, and says nothing about them.
    """
    texts = [text for side in sides for text in side.records.text]
    if any(side.records.trained is None for side in sides):
        return texts
    # What the first and the last text in sorted order share, all texts share.
    pairs = enumerate(zip(min(texts), max(texts), strict=False))
    shared = next((place for place, (a, b) in pairs if a != b), len(min(texts)))
    # Where nothing else is in a text, its beginning is its own.
    own = [text[shared:] for text in texts]
    return own if all(text.strip() for text in own) else texts


def sides_of(
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None = None,
    *,
    columns: Columns | None = None,
) -> list[Side]:
    """Return the texts of every side, read and checked against each other.

    Raises
    ------
    InputError
        If texts cannot be read, only some sides have groups, an id belongs to two texts, or a side
        has no text of its own.
    """
    given = (members, nonmembers, population)
    names = ("members", "nonmembers", "population")
    sides = [
        Side(side, as_texts(texts, columns, name))
        for side, name, texts in zip(SIDES, names, given, strict=True)
        if texts is not None
    ]
    grouped = [side.records.group is not None for side in sides]
    if any(grouped) and not all(grouped):
        raise InputError(
            f"groups must be given for all texts or for none, got none for the "
            f"{sides[grouped.index(False)].name} texts: name their column"
        )
    if len({side.records.trained is None for side in sides}) > 1:
        raise InputError(
            "all sides must be plain texts, or all training data in parts such as messages"
        )
    # Two texts with one id would count as one sample on both sides.
    seen: dict[str, tuple[str, str]] = {}
    for side in sides:
        for name, text in zip(side.sample, side.records.text, strict=True):
            first, earlier = seen.setdefault(name, (side.name, text))
            if earlier != text:
                raise InputError(
                    f"an id must be of one text, got {name!r} for two: a {first} text and a "
                    f"{side.name} text; number all sides through, or leave ids out"
                )
    # Texts on both sides are left out later; something must remain to judge.
    inside, outside = (set(plain_texts(side.records.text)) for side in sides[:2])
    for name, own in (("member", inside - outside), ("non-member", outside - inside)):
        if not own:
            raise InputError(
                f"every {name} text is on both sides: members and nonmembers must be different "
                "texts, check the files"
            )
    return sides
