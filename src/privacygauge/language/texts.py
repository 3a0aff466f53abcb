"""Ids and texts of samples as given: trained parts, near copies, and samples on both sides."""

from __future__ import annotations

import hashlib
import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Ints
from privacygauge.errors import InputError

# Texts on which a training took the loss for some tokens only, such as the answers in a chat.

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


def strings_of(texts: Sequence[ScoredText]) -> list[str]:
    """Return the texts as strings."""
    return [text if isinstance(text, str) else text.text for text in texts]


# Near copies: texts that are equal up to a few words, such as notes copied forward.

ALIKE = 0.7
"""Jaccard similarity of words and pairs of neighbouring words from which two texts are near copies.
A text of ten words with one of them replaced has 0.73."""
_HASHES = 72
"""Min-hashes per text."""
_LEAST = 32 / 72
"""Share of equal min-hashes below which texts are not compared; this misses 1 in 600,000 pairs at
exactly the similarity `ALIKE`."""
# A prime: products of two smaller numbers fit into 64 bits.
_PRIME = (1 << 31) - 1

_WORD = re.compile(r"\w+")


def components(texts: Sequence[str]) -> Ints:
    """Return the component of each text; near copies are connected.

    Parameters
    ----------
    texts : sequence of str, length n

    Returns
    -------
    ndarray of int, shape (n,)
        Row of the component's first text.

    Notes
    -----
    The Jaccard similarity of the sets of words and of pairs of neighbouring words, in lower case,
    is compared with `ALIKE`. Near copies share one of the rarest of their words and pairs, a share
    ``1 - ALIKE`` of them and one more (Chaudhuri, Ganti & Kaushik 2006): only texts that do are
    compared, so a template with its slots filled is not compared with all others. Min-hashes
    (Broder 1997) rule out most of these pairs. A text is compared with the first text of each kind
    among those that share the rare element.

    Examples
    --------
    >>> components(
    ...     [
    ...         "the patient was seen in the ward on monday and sent home",
    ...         "nothing like it",
    ...         "The patient was seen in the ward on Tuesday and sent home",
    ...     ]
    ... )
    array([0, 1, 0])
    """
    places: dict[str, int] = {}
    # Equal texts are compared only once.
    first = np.array([places.setdefault(text, row) for row, text in enumerate(texts)], np.int64)
    different = np.unique(first)
    # Hashes of a text's words and of its pairs of neighbouring words.
    shingles = []
    for row in different.tolist():
        words = _WORD.findall(texts[row].casefold()) or [texts[row]]
        pairs = (f"{a} {b}" for a, b in pairwise(words))
        hashes = (zlib.crc32(x.encode("utf-8", "replace")) for x in (*words, *pairs))
        shingles.append(frozenset(hashes))
    # Min-hashes (n, 72); the share of equal ones estimates the Jaccard index.
    # Fixed hashes: copies must not depend on a seed.
    draw = np.random.default_rng(0)
    factor = draw.integers(1, _PRIME, _HASHES, dtype=np.int64)
    shift = draw.integers(0, _PRIME, _HASHES, dtype=np.int64)
    signs = np.empty((len(shingles), _HASHES), np.int64)
    for i, own in enumerate(shingles):
        values = np.fromiter(own, np.int64, len(own)) % _PRIME
        signs[i] = ((values[:, None] * factor + shift) % _PRIME).min(axis=0)
    # Groups of texts that share one of their rarest shingles.
    number = Counter(x for found in shingles for x in found)
    sharing: dict[int, list[int]] = defaultdict(list)
    for i, found in enumerate(shingles):
        # Prefix filter: texts at least ALIKE similar share a shingle among this many rarest ones.
        few = len(found) - math.ceil(ALIKE * len(found)) + 1
        for x in sorted(found, key=lambda x: (number[x], x))[:few]:
            if number[x] > 1:
                sharing[x].append(i)
    parent = np.arange(len(different))
    for some in sharing.values():
        if len(some) < 2:
            continue
        kinds = np.empty(len(some), np.int64)
        n_kinds = 0
        for i in some:
            similar = (signs[kinds[:n_kinds]] == signs[i]).mean(axis=1) > _LEAST
            for kind in kinds[:n_kinds][similar].tolist():
                a = _root(parent, i)
                b = _root(parent, kind)
                shared = len(shingles[i] & shingles[kind])
                union = len(shingles[i]) + len(shingles[kind]) - shared
                # The min-hashes only estimate the Jaccard index; this one is exact.
                if a == b or shared >= ALIKE * union:
                    # The smaller position is the root: components are named by their first text.
                    parent[max(a, b)] = min(a, b)
                    break
            else:
                kinds[n_kinds] = i
                n_kinds += 1
    roots = np.array([_root(parent, i) for i in range(len(different))], np.int64)
    component: Ints = different[roots][np.searchsorted(different, first)]
    return component


def connected_rows(*keys: Sequence[object] | Ints) -> Ints:
    """Return the component of each row, (n,): rows that share a key are connected.

    Parameters
    ----------
    *keys : sequences of length n
        Keys, such as the person of each text and the component of its near copies.

    Examples
    --------
    >>> connected_rows(["a", "a", "b", "c"], [1, 2, 2, 3])
    array([0, 0, 0, 1])
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(keys[0])
    rows = [np.arange(0)]
    columns = [np.arange(0)]
    # A bipartite graph: rows are nodes 0..n-1, and the values of each key follow.
    start = n
    for key in keys:
        numbers: dict[object, int] = {}
        column = np.array([numbers.setdefault(x, len(numbers)) for x in list(key)], np.int64)
        rows.append(np.arange(n))
        columns.append(start + column)
        start += len(numbers)
    row = np.concatenate(rows)
    column = np.concatenate(columns)
    graph = coo_matrix((np.ones(len(row)), (row, column)), shape=(start, start))
    label = connected_components(graph, directed=False)[1][:n]
    # Components are renumbered in the order of their first rows.
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    found: Ints = order[inverse]
    return found


def _root(parent: Ints, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = int(parent[i])
    return i


Texts = tuple[str, ...]
"""Ids or texts, one per sample. Not a numpy array, which would drop a trailing NUL, making two
different ids equal, and would give every id the width of the longest."""

_WAY_OUT = "fill it in, or leave the row out"


def texts_of(
    values: Sequence[object] | NDArray[np.generic], name: str, n: int, *, empty: bool = False
) -> Texts:
    """Return `n` texts or numbers as texts.

    Parameters
    ----------
    values : sequence of str or number, length n
    name : str
        Name of the values in error messages.
    empty : bool
        True if a text may be empty; an id may not.

    Raises
    ------
    InputError
        If a value is invalid: the problem, the row and the way out, in one line.
    """
    if isinstance(values, str) or (isinstance(values, np.ndarray) and values.ndim != 1):
        raise InputError(f"{name} must have the shape (n,), got {np.shape(values) or 'one text'}")
    if len(values) != n:
        raise InputError(f"{name} must have {n} rows, got {len(values)}")
    return tuple(
        # Most are plain, and most audits convert all of them several times.
        value
        if type(value) is str and value and value.isascii()
        else _text(value, name, row, empty)
        for row, value in enumerate(values)
    )


def texts_of_rows(texts: Texts, rows: NDArray[np.intp]) -> Texts:
    """Return the texts of some rows."""
    return tuple(texts[row] for row in rows.tolist())


def number_names(names: Sequence[str]) -> Ints:
    """Return the number of each name, in the order of first occurrence, (n,)."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)


def objects_of(values: Sequence[object]) -> NDArray[np.object_]:
    """Return the values as an object array (n,); lists among them stay single elements."""
    found = np.empty(len(values), np.object_)
    found[:] = values
    return found


def _text(value: object, name: str, row: int, empty: bool) -> str:
    # pandas' NA and NaT are recognised by name, since pandas may not be installed.
    absent = value is None or type(value).__name__ in ("NAType", "NaTType")
    if absent or (isinstance(value, float | np.floating) and bool(np.isnan(value))):
        raise InputError(f"{name} has no value in row {row}: {_WAY_OUT}")
    if not isinstance(value, str | int | float | np.generic):
        kind = type(value).__name__
        raise InputError(f"{name} must be texts or numbers, got {kind} in row {row}")
    text = str(value)
    if not text and not empty:
        raise InputError(f"{name} has no value in row {row}: {_WAY_OUT}")
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InputError(f"{name} is not valid Unicode in row {row}: save the file as UTF-8")
    return text


_MEMBER = 0
_NONMEMBER = 1
_POPULATION = 2
_NAMES = ("members", "non-members", "population")


@dataclass(frozen=True, eq=False)
class Overlap:
    """Samples that stay, with a note on each kind that does not."""

    kept: Bools
    """(n,) True for the samples to keep."""
    notes: tuple[str, ...]
    """Notes with the numbers of samples left out, and the reasons."""
    copies: Ints | None = None
    """(n,) Component of near copies of each text; None without texts."""


def find_overlap(
    sample: Sequence[str],
    member: Bools,
    population: Bools,
    text: Sequence[str] | None = None,
) -> Overlap:
    """Find samples that are on one side only, by id and by text.

    Parameters
    ----------
    sample : sequence of str, length n
        Ids of the samples.
    member, population : ndarray of bool, shape (n,)
        True for members, and for the population; no sample is both.
    text : sequence of str, length n, optional
        Texts, compared without case, white space and a few words (`components`).

    Returns
    -------
    Overlap
        A sample that is both a member's and a non-member's, or nearly, stays on neither side; a
        judged sample does not stay in the population.

    Raises
    ------
    InputError
        If an id occurs twice on one side.
    """
    part = np.where(population, _POPULATION, np.where(member, _MEMBER, _NONMEMBER))
    seen: set[tuple[str, int]] = set()
    for row, (name, which) in enumerate(zip(sample, part.tolist(), strict=True)):
        if (name, which) in seen:
            raise InputError(
                f"sample must hold different ids, got {name[:60]!r} twice ({_NAMES[which]}), again "
                f"in row {row}: number the samples of a note, such as note-7/3"
            )
        seen.add((name, which))
    kept = np.ones(len(part), np.bool_)
    notes = _leave_out(kept, sample, part, "the same id")
    copies: Ints | None = None
    if text is not None:
        plain = plain_texts(text)
        copies = components(plain)
        notes += _leave_out(kept, plain, part, "the same text")
        near = "a text that is the same but for a few words"
        notes += _leave_out(kept, copies.tolist(), part, near)
    return Overlap(checks.frozen(kept), tuple(notes), copies)


def plain_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return texts normalised for comparison: lower case, single spaces."""
    return tuple(" ".join(text.split()).casefold() for text in texts)


def _leave_out(kept: Bools, keys: Sequence[object], part: Ints, kind: str) -> list[str]:
    places: dict[object, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        places[key].append(row)
    both = [0, 0]
    again = 0
    for rows in places.values():
        if len(rows) == 1:
            continue
        # Samples left out for an earlier reason are not counted again.
        alive = [row for row in rows if kept[row]]
        parts = {int(part[row]) for row in alive}
        if {_MEMBER, _NONMEMBER} <= parts:
            judged = [row for row in alive if part[row] != _POPULATION]
            kept[judged] = False
            for row in judged:
                both[part[row]] += 1
        if _POPULATION in parts and len(parts) > 1:
            apart = [row for row in alive if part[row] == _POPULATION]
            kept[apart] = False
            again += len(apart)
    notes = []
    if both[0]:
        notes.append(
            f"{both[_MEMBER]} member(s) and {both[_NONMEMBER]} non-member(s) with {kind} "
            "were left out: what was trained on is no non-member."
        )
    if again:
        notes.append(
            f"{again} population sample(s) with {kind} as a judged sample were left out: the "
            "threshold must not see what is judged."
        )
    return notes
