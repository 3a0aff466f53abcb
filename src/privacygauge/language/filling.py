"""Identifiers in texts (names, dates, numbers), and how a masked model fills them in."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.language.extraction import Suffixes
from privacygauge.language.model import MaskedModel
from privacygauge.language.scores import TextScores
from privacygauge.language.texts import texts_of_rows
from privacygauge.language.tokens import EncodedText, Tokens

KINDS = ("own", "e-mail", "iban", "date", "phone", "code", "number", "name")
"""Kinds of identifiers, in the order of the search: a stretch found as one kind is not searched
again for later kinds."""

# Names of months, also abbreviated, in several European languages.
_MONTHS = (
    r"(?:jan(?:uary?|vier|ner|eiro)?|feb(?:ruary?)?|février|fevereiro|febrero|febbraio|"
    r"mar(?:ch|s|zo|ço)?|märz|apr(?:il)?|avril|abril|aprile|may|mai|mayo|maio|maggio|"
    r"june?|juni|juin|junio|junho|giugno|july?|juli|juillet|julio|julho|luglio|"
    r"aug(?:ust)?|août|agosto|sep(?:t(?:ember|embre)?)?|septiembre|setembro|settembre|"
    r"o[ck]t(?:ober)?|octobre|octubre|outubro|ottobre|nov(?:ember|embre|iembre)?|novembro|"
    r"de[cz](?:ember)?|décembre|diciembre|dezembro|dicembre|enero|gennaio)"
)
_FORMS = {
    "e-mail": r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    # Letters and digits of a bank account, in blocks or not; the checksum is not verified.
    "iban": r"(?<!\w)[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)",
    "date": rf"(?<![0-9A-Za-z])(?:\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}|"
    rf"\d{{4}}年\d{{1,2}}月\d{{1,2}}日|\d{{1,2}}([/.-])\d{{1,2}}\2\d{{2,4}}|"
    rf"(?i:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?|"
    rf"\d{{1,2}}(?:st|nd|rd|th|\.)? (?:de )?(?i:{_MONTHS})\b\.?(?:,?(?: de)? \d{{4}})?)"
    r"(?![0-9A-Za-z])",
    # Next to letters written without blanks, as in Chinese, a number still begins.
    "phone": r"(?<![0-9A-Za-z])\+?(?:\(\d{2,5}\)[ -]?\d{2,8}(?:[ -]\d{2,8}){0,3}|"
    r"\d{2,8}(?:[ -]\d{2,8}){1,4})(?![0-9A-Za-z])|"
    r"(?<![0-9A-Za-z])\+\d{7,15}(?![0-9A-Za-z])|"
    # An American number with its extension.
    r"(?<![0-9A-Za-z])(?:\+?\d{1,3}[ .-])?\(?\d{3}\)?[ .-]?\d{3}[ .-]?\d{4} ?x\d{1,6}"
    r"(?![0-9A-Za-z])",
    # Numbers of records and insurances with letters, British and Dutch postcodes, and what British
    # and Italian insurances and taxes call a person.
    "code": r"(?<![\w.])(?:[A-Z]{1,2}\d[A-Z0-9]? ?\d[A-Z]{2}|[A-Z]{1,3}-?\d{5,12}[A-Z]?|"
    r"\d{4} ?[A-Z]{2}|[A-Z]{2}(?: ?\d{2}){3} ?[A-DT]|[A-Z]{6}\d{2}[A-Z]\d{2}[A-Z]\d{3}[A-Z])(?!\w)",
    "number": r"(?<![0-9A-Za-z.])\d+(?:[.,]\d+)*(?![0-9A-Za-z])",
}
_PATTERNS = {kind: re.compile(form) for kind, form in _FORMS.items()}
_FEWEST_DIGITS = 7
"""Fewest digits of a phone number."""
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)*")
_UPPER = "[A-ZÀ-ÖØ-Þ]"
_LISTED_NAME = re.compile(
    rf"(?<!\w){_UPPER}{{2,}}(?:['\u2019 -]{_UPPER}+)*, ?{_UPPER}{{2,}}(?:[ -]{_UPPER}+)*(?!\w)"
)
"""Family name, comma and given names, all in capitals."""
_NEXT_NAME = re.compile(rf"[ -]{_UPPER}[^\W\d_]*[a-zß-ÿ]")
_STARTERS = frozenset([
    "A", "An", "And", "As", "At", "But", "By", "For", "From", "He", "Her", "His", "If", "In",
    "It", "Its", "My", "No", "Not", "On", "Our", "She", "So", "That", "The", "Their", "Then",
    "There", "These", "They", "This", "To", "Today", "We", "When", "With", "You", "Your"
])  # fmt: skip
"""Words that begin a sentence but not a name."""
_BEGINS = re.compile(r"(?:^|[.!?:]\s+|\n\s*)[\"'(]*$")
"""End of the text before the first word of a sentence."""
_WITHIN_NAME = re.compile(
    r"-|(?: (?:van|von|vom|zu|zum|der|den|de|del|della|di|da|das|do|dos|du|la|le|ten|ter|bin|al|"
    r"auch|'[st]))* "
)
"""Text between two parts of a name: a hyphen, or a blank with particles before it."""
_TITLES = ("Dr", "Mr", "Mrs", "Ms", "Prof")
"""Titles, which precede a name and are not part of it."""


@dataclass(frozen=True)
class Span:
    """A stretch of a text, with the kind of identifier that it resembles."""

    kind: str
    """One of `KINDS`."""
    start: int
    """First character."""
    stop: int
    """Position after the last character."""


def identifiers(text: str, own: re.Pattern[str] | None = None) -> tuple[Span, ...]:
    """Find stretches that resemble identifiers, from left to right, without overlap.

    Parameters
    ----------
    text : str
    own : re.Pattern, optional
        Pattern of further identifiers of kind ``own``, such as from `own_pattern`; searched first.

    Returns
    -------
    tuple of Span
        Identifiers found by form alone, with false positives and misses: a number may be a dose.
        Capitalised words count as a name, unless a single one begins a sentence; so do words in
        capitals with a comma between them, such as SMITH, JOHN.

    Examples
    --------
    >>> text = "Seen on 3 May 2021: call Anna Berg at 030 123 4567, aspirin 100 mg."
    >>> [(span.kind, text[span.start : span.stop]) for span in identifiers(text)]
    [('date', '3 May 2021'), ('name', 'Anna Berg'), ('phone', '030 123 4567'), ('number', '100')]
    """
    # One byte per character: 1 if it belongs to an identifier of an earlier kind.
    taken = bytearray(len(text))
    found = []
    for kind in KINDS:
        if kind == "own":
            spans = [] if own is None else [match.span() for match in own.finditer(text)]
        elif kind == "name":
            spans = list(_names(text))
        else:
            spans = [
                match.span()
                for match in _PATTERNS[kind].finditer(text)
                if kind != "phone"
                or sum(letter.isdigit() for letter in match.group()) >= _FEWEST_DIGITS
            ]
        for start, stop in spans:
            if start < stop and not any(taken[start:stop]):
                taken[start:stop] = b"\1" * (stop - start)
                found.append(Span(kind, start, stop))
    return tuple(sorted(found, key=lambda span: span.start))


def own_pattern(entries: Sequence[str], pattern: str | None = None) -> re.Pattern[str] | None:
    """Return the pattern of the user's own identifiers; None if there are none.

    Parameters
    ----------
    entries : sequence of str
        Identifiers as they occur in texts, regardless of case.
    pattern : str, optional
        Regular expression for further identifiers.

    Raises
    ------
    InputError
        If the pattern is not valid, or matches the empty text.
    """
    # Longest first, or a shorter entry would match within a longer one.
    listed = sorted((entry.strip() for entry in entries), key=len, reverse=True)
    words = "|".join(re.escape(entry) for entry in listed if entry)
    parts = ([rf"(?i:(?<!\w)(?:{words})(?!\w))"] if words else []) + ([pattern] if pattern else [])
    if not parts:
        return None
    try:
        found = re.compile("|".join(parts))
    except re.error as error:
        raise InputError(
            f"pattern must be a regular expression, got {pattern!r}: {error}"
        ) from error
    # An empty match would be an identifier in every place.
    if found.search("") is not None:
        raise InputError(f"pattern must not match the empty text, got {pattern!r}")
    return found


def _names(text: str) -> Iterator[tuple[int, int]]:
    """Yield names: listed names in capitals, and capitalised words; adjacent words are one name."""
    for match in _LISTED_NAME.finditer(text):
        yield match.span()
    span = None
    for match in _WORD.finditer(text):
        word = match.group()
        # Enough to see the end of the sentence before, or a title.
        before = text[max(0, match.start() - 8) : match.start()]
        begins = _BEGINS.search(before) and not before.rstrip(". ").endswith(_TITLES)
        capital = word[0].isupper() and any(letter.islower() for letter in word)
        # Two capitalised words at the beginning of a sentence are a name, a single one is not.
        begins = begins and not (_NEXT_NAME.match(text, match.end()) and word not in _STARTERS)
        if not capital or word in _TITLES or begins:
            continue
        if span is not None and _WITHIN_NAME.fullmatch(text, span[1], match.start()):
            span = span[0], match.end()
            continue
        if span is not None:
            yield span
        span = match.span()
    if span is not None:
        yield span


def by_identifier(
    scores: TextScores, models: Sequence[MaskedModel], own: re.Pattern[str] | None = None
) -> tuple[TextScores, dict[str, tuple[int, int]]]:
    """Return one row per identifier of every text, and its span in the text.

    Parameters
    ----------
    scores : TextScores
        Scores with texts.
    models : sequence of MaskedModel
        Models, whose tokenizers decide which identifiers can be masked.
    own : re.Pattern, optional
        As in `identifiers`.

    Returns
    -------
    TextScores
        Rows named by the text's id and the identifier's position. Their group is that of the text,
        or the text itself. A string that occurs twice in a text is left out, since the other
        occurrence would reveal it.
    dict of str to (int, int)
        Start and stop of each identifier, in characters, by the row's id.

    Raises
    ------
    InputError
        If a side has no identifier.
    """
    assert scores.text is not None
    found = [
        (row, span.start, span.stop)
        for row, text in enumerate(scores.text)
        for span in identifiers(text, own)
        # Elsewhere in its text the identifier would give itself away.
        if text.count(text[span.start : span.stop]) == 1
    ]
    row, start, stop = np.array(found, np.int64).reshape(-1, 3).T
    # An identifier needs tokens of its own, at most as many as every model reads.
    fits = np.ones(len(row), np.bool_)
    for model in models:
        encoded = model.tokenizer.encoded(texts_of_rows(scores.text, row))
        for i, one in enumerate(encoded):
            n_tokens = len(_tokens_in_span(one, np.array([start[i], stop[i]])))
            room = model.limit - int(np.count_nonzero(one.framing))
            fits[i] &= 0 < n_tokens <= room
    row = row[fits]
    start = start[fits]
    stop = stop[fits]
    for side, name in ((scores.member, "member"), (scores.nonmember, "non-member")):
        if not side[row].any():
            raise InputError(
                "texts must hold identifiers that a masked model can fill in, such as names, "
                f"dates and numbers, got none in any {name} text: give other texts"
            )
    places = list(zip(start.tolist(), stop.tolist(), strict=True))
    names = tuple(
        f"{name} [{first}:{last}]"
        for name, (first, last) in zip(texts_of_rows(scores.sample, row), places, strict=True)
    )
    n_without = len(scores) - len(np.unique(row))
    told = f"{n_without:,} text(s) without an identifier of their own were left out."
    rows = TextScores(
        names,
        scores.energy_target[row],
        scores.member[row],
        scores.population[row],
        group=texts_of_rows(scores.group or scores.sample, row),
        text=texts_of_rows(scores.text, row),
        notes=(*scores.notes, *((told,) if n_without else ())),
    )
    return rows, dict(zip(names, places, strict=True))


def hidden(texts: Sequence[str], spans: Ints, models: Sequence[MaskedModel]) -> list[Suffixes]:
    """Return texts with one span masked in each, once per model.

    Parameters
    ----------
    texts : sequence of str, length n
    spans : ndarray of int, shape (n, 2)
        Start and stop of the hidden span, in characters.
    models : sequence of MaskedModel
        Models; of a text longer than its context, a model sees the part around the span. Each model
        uses its own tokens, and is shown how many are masked.
    """
    # The key holds the span: one text may be asked about at several.
    keys = tuple(
        hashlib.sha256(f"{start} {stop} {text}".encode()).hexdigest()
        for text, (start, stop) in zip(texts, spans.tolist(), strict=True)
    )
    found = []
    for model in models:
        # As many tokens around each span as fit, and the span's start and stop among them.
        ids = []
        cuts = []
        for encoded, span in zip(model.tokenizer.encoded(texts), spans, strict=True):
            places = _tokens_in_span(encoded, span)
            first = int(places[0])
            n_hidden = int(places[-1]) + 1 - first
            content = np.flatnonzero(~encoded.framing)
            room = model.limit - (len(encoded.ids) - len(content))
            # The window is centred on the span, and moved inwards at the ends of the text.
            centred = (2 * first + n_hidden - room) // 2 - int(content[0])
            begin = max(0, min(centred, len(content) - room))
            kept = encoded.framing.copy()
            kept[content[begin : begin + room]] = True
            ids.append(encoded.ids[kept])
            before = int(np.count_nonzero(kept[:first]))
            cuts.append((before, before + n_hidden))
        size = np.array([len(row) for row in ids])
        start, stop = (np.array(cut) for cut in zip(*cuts, strict=True))
        units = np.concatenate([np.arange(n) for n in size])
        none = np.zeros_like(size)
        starts = np.append(0, np.cumsum(size))
        tokens = Tokens(
            keys=keys,
            ids=np.concatenate(ids),
            units=units,
            starts=starts,
            n_units=size,
            n_truncated=none,
            n_unknown=none,
        )
        found.append(
            Suffixes(
                tokens=tokens,
                start=start,
                stop=stop,
                n_prefix=size - (stop - start),
                n_suffix=stop - start,
            )
        )
    return found


def _tokens_in_span(encoded: EncodedText, span: Ints) -> Ints:
    """Return the positions of the tokens that overlap a span."""
    begins, ends = encoded.spans.T
    places: Ints = np.flatnonzero(~encoded.framing & (begins < span[1]) & (ends > span[0]))
    return places
