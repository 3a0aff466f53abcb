"""Near copies: texts that are equal but for a few words, such as notes copied forward."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from privacygauge.core.checks import Ints

ALIKE = 0.7
"""Jaccard similarity of words and neighbouring pairs of words from which two texts are near copies.
A text of ten words with one of them replaced has 0.73."""
_HASHES = 72
"""Min-hashes per text."""
_LEAST = 32 / 72
"""Share of equal min-hashes below which texts are not compared; it misses 1 in 600,000 pairs that
are just alike."""
# Products of two numbers below it fit into 64 bits.
_PRIME = (1 << 31) - 1

_WORD = re.compile(r"\w+")


def components(texts: Sequence[str]) -> Ints:
    """Return the component of each text: near copies connect texts.

    Parameters
    ----------
    texts : sequence of str, length n

    Returns
    -------
    ndarray of int, shape (n,)
        The place of the component's first text.

    Notes
    -----
    The Jaccard similarity of the sets of words and of neighbouring pairs of words, in lower case,
    is compared with `ALIKE`. Texts that are alike share one of the rarest of their words and pairs,
    a share ``1 - ALIKE`` of them and one more (Chaudhuri, Ganti & Kaushik 2006): only those are
    compared, so that a template with its slots filled is not compared with all others. Most pairs
    of these are ruled out by min-hashes (Broder 1997). A text is compared with the first of each
    kind that shares what is rare.

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
    # Equal texts are compared once.
    first = np.array([places.setdefault(text, row) for row, text in enumerate(texts)], np.int64)
    different = np.unique(first)
    shingles = [_shingles(texts[row]) for row in different.tolist()]
    signs = _min_hashes(shingles)
    parent = np.arange(len(different))
    for some in _sharing_rare(shingles):
        kinds = np.empty(len(some), np.int64)
        n_kinds = 0
        for i in some:
            similar = (signs[kinds[:n_kinds]] == signs[i]).mean(axis=1) > _LEAST
            for kind in kinds[:n_kinds][similar].tolist():
                a = _root(parent, i)
                b = _root(parent, kind)
                # Texts that are connected already need no comparison.
                if a == b or _are_near_copies(shingles[i], shingles[kind]):
                    parent[max(a, b)] = min(a, b)
                    break
            else:
                kinds[n_kinds] = i
                n_kinds += 1
    roots = np.array([_root(parent, i) for i in range(len(different))], np.int64)
    found: Ints = different[roots][np.searchsorted(different, first)]
    return found


def connected_rows(*keys: Sequence[object] | Ints) -> Ints:
    """Return the component of each row, (n,): rows that share a key are connected.

    Parameters
    ----------
    *keys : sequences of length n
        Such as the person of each text, and the component of its near copies.

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
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    found: Ints = order[inverse]
    return found


def _shingles(text: str) -> frozenset[int]:
    """Return the hashes of a text's words and pairs of neighbouring words."""
    words = _WORD.findall(text.casefold()) or [text]
    pairs = (f"{a} {b}" for a, b in pairwise(words))
    return frozenset(zlib.crc32(x.encode("utf-8", "replace")) for x in (*words, *pairs))


def _sharing_rare(shingles: Sequence[frozenset[int]]) -> Iterator[list[int]]:
    """Yield groups of two or more texts that share one of their rarest shingles."""
    number = Counter(x for found in shingles for x in found)
    places: dict[int, list[int]] = defaultdict(list)
    for i, found in enumerate(shingles):
        few = len(found) - math.ceil(ALIKE * len(found)) + 1
        for x in sorted(found, key=lambda x: (number[x], x))[:few]:
            if number[x] > 1:
                places[x].append(i)
    yield from (some for some in places.values() if len(some) > 1)


def _min_hashes(shingles: Sequence[frozenset[int]]) -> Ints:
    """Return min-hashes of texts, (n, 72); the share of equal ones estimates the Jaccard index."""
    # Always the same hashes: copies must not depend on a seed.
    draw = np.random.default_rng(0)
    factor = draw.integers(1, _PRIME, _HASHES, dtype=np.int64)
    shift = draw.integers(0, _PRIME, _HASHES, dtype=np.int64)
    least = np.empty((len(shingles), _HASHES), np.int64)
    for i, found in enumerate(shingles):
        values = np.fromiter(found, np.int64, len(found)) % _PRIME
        least[i] = ((values[:, None] * factor + shift) % _PRIME).min(axis=0)
    return least


def _are_near_copies(first: frozenset[int], second: frozenset[int]) -> bool:
    shared = len(first & second)
    return shared >= ALIKE * (len(first) + len(second) - shared)


def _root(parent: Ints, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = int(parent[i])
    return i
