"""What a masked model fills in where an identifier of a text is hidden."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.language.extraction import Suffixes
from privacygauge.language.identifiers import identifiers
from privacygauge.language.model import MaskedModel
from privacygauge.language.scores import TextScores
from privacygauge.language.texts import picked
from privacygauge.language.tokenizer import Encoded
from privacygauge.language.tokens import Tokens


def by_identifier(
    scores: TextScores, models: Sequence[MaskedModel]
) -> tuple[TextScores, dict[str, tuple[int, int]]]:
    """Return a row for each identifier of every text, and where it stands in the text.

    Parameters
    ----------
    scores : TextScores
        With texts.
    models : sequence of MaskedModel
        Whose tokenizers say which identifiers they can be asked about.

    Returns
    -------
    TextScores
        Known by the text's id and the identifier's place. The group is that of the text, or the
        text itself. What occurs in a text twice is left out: whoever hides one shows the other.
    dict of str to (int, int)
        Id of the row to where the identifier begins and ends, in characters.

    Raises
    ------
    InputError
        If a side has no identifier.
    """
    assert scores.text is not None
    found = [
        (row, span.start, span.stop)
        for row, text in enumerate(scores.text)
        for span in identifiers(text)
        if text.count(text[span.start : span.stop]) == 1
    ]
    row, start, stop = np.array(found, np.int64).reshape(-1, 3).T
    fits = _fits(picked(scores.text, row), np.stack([start, stop], axis=1), models)
    row, start, stop = row[fits], start[fits], stop[fits]
    for side, name in ((scores.member, "member"), (scores.nonmember, "non-member")):
        if not side[row].any():
            raise InputError(
                "texts must hold identifiers that a masked model can fill in, such as names, "
                f"dates and numbers, got none in any {name} text: give other texts"
            )
    places = list(zip(start.tolist(), stop.tolist(), strict=True))
    names = tuple(
        f"{name} [{first}:{last}]"
        for name, (first, last) in zip(picked(scores.sample, row), places, strict=True)
    )
    n_without = len(scores) - len(np.unique(row))
    told = f"{n_without:,} text(s) without an identifier of their own were left out."
    rows = TextScores(
        names,
        scores.energy_target[row],
        scores.member[row],
        scores.population[row],
        group=picked(scores.group or scores.sample, row),
        text=picked(scores.text, row),
        notes=(*scores.notes, *((told,) if n_without else ())),
    )
    return rows, dict(zip(names, places, strict=True))


def hidden(texts: Sequence[str], spans: Ints, models: Sequence[MaskedModel]) -> list[Suffixes]:
    """Return texts in each of which a span is hidden, once for each model.

    Parameters
    ----------
    texts : sequence of str, length n
    spans : ndarray of int, shape (n, 2)
        What is hidden, in characters.
    models : sequence of MaskedModel
        Of a text that is longer than a model reads, it sees what is around the span. Each model
        is asked in its own tokens, and knows how many are hidden.
    """
    keys = tuple(
        hashlib.sha256(f"{start} {stop} {text}".encode()).hexdigest()
        for text, (start, stop) in zip(texts, spans.tolist(), strict=True)
    )
    found = []
    for model in models:
        rows = [
            _around(encoded, span, model.limit)
            for encoded, span in zip(model.tokenizer.encoded(texts), spans, strict=True)
        ]
        ids = [row for row, _, _ in rows]
        size = np.array([len(row) for row in ids])
        start, stop = (np.array(cut) for cut in list(zip(*rows, strict=True))[1:])
        units, none = np.concatenate([np.arange(n) for n in size]), np.zeros_like(size)
        starts = np.append(0, np.cumsum(size))
        tokens = Tokens(keys, np.concatenate(ids), units, starts, size, none, none)
        found.append(Suffixes(tokens, start, stop, size - (stop - start), stop - start))
    return found


def _fits(texts: Sequence[str], spans: Ints, models: Sequence[MaskedModel]) -> list[bool]:
    """Return which spans have tokens, and no more than every model reads."""
    return [
        all(
            0 < len(_touched(one, span)) <= model.limit - np.count_nonzero(one.framing)
            for one, model in zip(each, models, strict=True)
        )
        for *each, span in zip(
            *(model.tokenizer.encoded(texts) for model in models), spans, strict=True
        )
    ]


def _touched(encoded: Encoded, span: Ints) -> Ints:
    """Return the places of the tokens that a span lies in."""
    begins, ends = encoded.spans.T
    places: Ints = np.flatnonzero(~encoded.framing & (begins < span[1]) & (ends > span[0]))
    return places


def _around(encoded: Encoded, span: Ints, limit: int) -> tuple[Ints, int, int]:
    """Return the tokens of a text around a span, as many as fit, and where the span is."""
    places = _touched(encoded, span)
    first, stop = int(places[0]), int(places[-1]) + 1
    content = np.flatnonzero(~encoded.framing)
    room = limit - (len(encoded.ids) - len(content))
    begin = max(0, min((first + stop - room) // 2 - int(content[0]), len(content) - room))
    kept = encoded.framing.copy()
    kept[content[begin : begin + room]] = True
    start = int(np.count_nonzero(kept[:first]))
    return encoded.ids[kept], start, start + stop - first
