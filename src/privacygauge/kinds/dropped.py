"""Files dropped on a page, as audits recognise them, and the questions that they leave open.

A `Command` may have a function `recognise`. It gets the files of one drop and returns the audits
that they are enough for, each with the questions that the files leave open. The page knows no kind
of audit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from privacygauge.errors import InputError

Answers = Mapping[str, tuple[str, ...]]
"""Answers by the name of the question; a question without an answer is missing."""


@dataclass(frozen=True)
class DroppedFile:
    """Name, columns and first values of a file."""

    name: str
    """Name of the file, which is also its path for the command."""
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Names of the columns of a table, each with its first values."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Names of the arrays of an .npz file, each with its shape; a single array is called ""."""
    report: str = ""
    """Kind of audit of a ``report.json``; empty for another file."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns or arrays."""
        return (*self.columns, *self.shapes)

    def numbers(self) -> list[str]:
        """Return the columns whose first values are numbers."""
        return [name for name, values in self.columns.items() if values and all_numbers(values)]

    def fractions(self) -> list[str]:
        """Return the columns of numbers that are not all whole."""
        return [
            name
            for name in self.numbers()
            if any(
                value is not None and str(value).strip() and not float(value).is_integer()
                for value in self.columns[name]
            )
        ]

    def halves(self) -> list[str]:
        """Return the columns that may say who is a member, by their first values.

        These are one or two, or words for the parts of a split such as train, val and test.
        """
        found = []
        for name, values in self.columns.items():
            different = {str(value).strip().lower() for value in values}
            words = (says(text, IN_TRAINING) or says(text, HELD_OUT) for text in different)
            if different and (len(different) <= 2 or all(words)):
                found.append(name)
        return found


def all_numbers(values: Sequence[Any]) -> bool:
    """Return whether values are numbers, or texts of numbers, but for gaps."""
    given = [value for value in values if value is not None and str(value).strip()]
    try:
        for value in given:
            float(value)
    except (TypeError, ValueError):
        return False
    return bool(given)


@dataclass(frozen=True)
class Question:
    """A question that only the owner of the files can answer."""

    name: str
    """Name of the answer."""
    text: str
    """The question, in a sentence."""
    choices: tuple[str, ...] = ()
    """Possible answers; empty if any text is."""
    usual: tuple[str, ...] = ()
    """Answers that are chosen at first."""
    needed: bool = True
    """Whether an answer is needed."""
    several: bool = False
    """Whether several of the choices may be answers."""

    def checked(self, given: Sequence[str]) -> tuple[str, ...]:
        """Return the answers among texts that somebody gave.

        Raises
        ------
        InputError
            If an answer is missing, is not among the choices, or is longer than a line.
        """
        answers = tuple(dict.fromkeys(text.strip() for text in given if text.strip()))
        if self.needed and not answers:
            raise InputError(f"An answer is missing: {self.text}")
        for text in answers:
            if self.choices and text not in {choice.strip() for choice in self.choices}:
                raise InputError(f"This is not a possible answer to: {self.text}")
            if len(text) > 500 or not (self.choices or text.isprintable()):
                raise InputError("An answer must be one line of at most 500 characters")
        return answers if self.several else answers[:1]


@dataclass(frozen=True)
class Sides:
    """Files of members and files of others that are one table together."""

    name: str
    """Name of the joined file."""
    members: Mapping[str, bool]
    """Names of the files, each with whether the model was trained on its records."""
    column: str | None
    """Column that the joined file gets to say who is a member; None if the files say it."""


@dataclass(frozen=True)
class Recognised:
    """An audit that some files are enough for, once its questions are answered."""

    what: str
    """The files, in a sentence."""
    arguments: Callable[[Answers], Sequence[str]]
    """Return the command's arguments from the answers."""
    questions: tuple[Question, ...] = ()
    """Questions that the files leave open."""
    renamed: Callable[[Answers], Mapping[str, str]] = lambda answers: {}
    """Return columns that the command knows by another name: the given name to that name."""
    residuals: Callable[[Answers], Mapping[str, tuple[str, str]]] = lambda answers: {}
    """Return columns that the page adds to its copies: each the size of the difference of two, the
    truth and the model's answer, in whose place it stands."""
    joined: Sides | None = None
    """Files that the page joins into one; None for files that stay as they are."""
    lacks: str = ""
    """What keeps the audit from being run on these files, in a sentence; empty if nothing does."""
    fit: int = 1
    """How well the files fit: what has the largest is offered first."""


def answer(answers: Answers, name: str) -> str:
    """Return the only answer to a question; empty without one."""
    return next(iter(answers.get(name, ())), "")


def options(answers: Answers, **flags: str) -> list[str]:
    """Return options such as ``--unit=patient`` for the questions that have answers.

    `flags` are the flags by the name of the question, without hyphens in front.
    """
    return [f"--{flag}={x}" for name, flag in flags.items() for x in answers.get(name, ()) if x]


def file_questions(
    texts: Mapping[str, str], files: Sequence[DroppedFile], words: Mapping[str, str]
) -> tuple[Question, ...]:
    """Return questions answered by files, chosen at first only where names say it plainly.

    Parameters
    ----------
    texts : mapping
        Name of each role that one file has, to the question.
    files : sequence of DroppedFile
        At least as many as there are roles in `texts`. All that are left have the last role of
        `words`.
    words : mapping
        Name of each role to a pattern of the words that say it in a file's name. A file whose name
        says no role may have any. A role's file is chosen at first if all ways to give out the
        roles that agree with the names give it to this file.
    """
    names = tuple(file.name for file in files)
    possible = {}
    for name in names:
        said = {role for role, pattern in words.items() if says(name, pattern)}
        possible[name] = said or {*words}
    *_, others = words
    ways = [
        way
        for way in permutations(names, len(texts))
        if all(role in possible[name] for role, name in zip(texts, way, strict=True))
        and all(others in possible[name] for name in names if name not in way)
    ]
    questions = []
    for place, (role, text) in enumerate(texts.items()):
        found = {way[place] for way in ways}
        usual = tuple(found) if len(found) == 1 else ()
        questions.append(Question(role, text, choices=names, usual=usual))
    return tuple(questions)


def says(name: str, pattern: str) -> bool:
    """Return whether a word of a name matches a pattern as a whole, whatever its case."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()
    return any(re.fullmatch(pattern, word) for word in re.split(r"[\W\d_]+", apart))


def model_question(text: str, files: Sequence[DroppedFile]) -> tuple[Question, ...]:
    """Return the question which file is that of the audited model, and not of a shadow model."""
    words = {
        "target": "targets?|victims?|released|models?|audited",
        "shadow": "shadows?|references?|ref|surrogates?|prox(y|ies)",
    }
    return file_questions({"target": text}, files, words)


def member_question(columns: Sequence[str]) -> Question:
    """Return the question which column says who is a member."""
    text = (
        "Which column says whether the model was trained on the record (1, yes or train)? One "
        "called test, validation or holdout is read the other way round."
    )
    return Question("member", text, choices=tuple(columns))


def member_column(answers: Answers) -> dict[str, str]:
    """Return the column that was chosen to say who is a member, and the command's name for it."""
    column = answer(answers, "member")
    is_part = says(column, HELD_OUT) or (says(column, "out") and says(column, "sample"))
    outside = is_part or says(column, "nonmembers?|non|not|out")
    inside = says(column, IN_TRAINING)
    if says(column, "out") and not is_part:
        inside = True  # in_out, or out_of_training
    if says(column, "non|not") and is_part:
        inside = True  # not_test
    # A split must say in words who is a member.
    ours = "split" if outside and inside else "non_member" if outside else "member"
    return {column: ours} if column else {}


NO_MEMBERS = (
    "Nothing here says who is a member: add a column member, 1 for records that the model was "
    "trained on and 0 for others, or drop two files with train and test in their names"
)
"""What files lack that could not say who is a member."""
IN_TRAINING = "train(ing)?(set|data)?"
"""Pattern of words in names that stand for the training data."""
HELD_OUT = (
    "(tests?|testing|vals?|valid|validation|evals?|evaluation|dev)(set|data)?|oos"
    "|hold|holdouts?|held|heldout|unseen|controls?"
)
"""Pattern of words in names that stand for records that the model was not trained on."""


def person_question(columns: Sequence[str]) -> tuple[Question, ...]:
    """Return the question about the people behind rows, if a column can name them."""
    if not columns:
        return ()
    usual = tuple(x for x in columns if x.strip().lower() in _PERSON)[:1]
    text = "Which column names the person behind a row? Rows of one person belong together."
    return (Question("unit", text, choices=tuple(columns), usual=usual, needed=False),)


_PERSON = ("unit", "person", "person_id", "patient", "patient_id", "subject", "subject_id", "user")
