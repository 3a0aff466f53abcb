"""What in a text may say who somebody is: dates, numbers, addresses and names, found by form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = ("e-mail", "date", "phone", "number", "name")
"""In this order: what is found as one kind is not looked for as a later one."""

_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_FORMS = {
    "e-mail": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "date": rf"\b(?:\d{{4}}-\d{{1,2}}-\d{{1,2}}|\d{{1,2}}([/.-])\d{{1,2}}\1\d{{2,4}}|"
    rf"(?i:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|"
    rf"\d{{1,2}}(?:st|nd|rd|th)? (?i:{_MONTHS})\b(?:,? \d{{4}})?)(?!\w)",
    "phone": r"(?<!\w)\+?(?:\(\d{2,5}\)[ -]?\d{2,8}(?:[ -]\d{2,8}){0,3}|"
    r"\d{2,8}(?:[ -]\d{2,8}){1,4})(?!\w)|(?<!\w)\+\d{7,15}(?!\w)",
    "number": r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)",
}
_PATTERNS = {kind: re.compile(form) for kind, form in _FORMS.items()}
_FEWEST_DIGITS = 7
"""Of a phone number."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_BEGINS = re.compile(r"(?:^|[.!?:]\s+|\n\s*)[\"'(]*$")
"""What stands before the first word of a sentence."""
_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof")
"""What stands before a name, and is none."""


@dataclass(frozen=True)
class Span:
    """A stretch of a text, and what it looks like."""

    kind: str
    """One of `KINDS`."""
    start: int
    """Where it begins, in characters."""
    stop: int
    """Where it ends."""


def identifiers(text: str) -> tuple[Span, ...]:
    """Return what looks like an identifier, from left to right, no two overlapping.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple of Span
        By form alone, so some are none and some are missed: a number may be a dose. A word with
        a capital letter counts as a name, unless it begins a sentence or has no small letters.

    Examples
    --------
    >>> text = "Seen on 3 May 2021: call Anna Berg at 030 123 4567, aspirin 100 mg."
    >>> [(span.kind, text[span.start : span.stop]) for span in identifiers(text)]
    [('date', '3 May 2021'), ('name', 'Anna Berg'), ('phone', '030 123 4567'), ('number', '100')]
    """
    taken = bytearray(len(text))
    found = []
    for kind in KINDS:
        for start, stop in _names(text) if kind == "name" else _of_form(kind, text):
            if not any(taken[start:stop]):
                taken[start:stop] = b"\1" * (stop - start)
                found.append(Span(kind, start, stop))
    return tuple(sorted(found, key=lambda span: span.start))


def _of_form(kind: str, text: str) -> Iterator[tuple[int, int]]:
    for match in _PATTERNS[kind].finditer(text):
        n_digits = sum(letter.isdigit() for letter in match.group())
        if kind != "phone" or n_digits >= _FEWEST_DIGITS:
            yield match.span()


def _names(text: str) -> Iterator[tuple[int, int]]:
    """Yield capitalised words; those that follow each other directly are one name."""
    span = None
    for match in _WORD.finditer(text):
        word, before = match.group(), text[max(0, match.start() - 8) : match.start()]
        begins = _BEGINS.search(before) and not before.rstrip(". ").endswith(_TITLES)
        capital = word[0].isupper() and any(letter.islower() for letter in word)
        if not capital or word in _TITLES or begins:
            continue
        if span is not None and text[span[1] : match.start()] in (" ", "-"):
            span = span[0], match.end()
            continue
        if span is not None:
            yield span
        span = match.span()
    if span is not None:
        yield span
