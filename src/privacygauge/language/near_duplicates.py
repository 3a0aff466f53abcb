"""Texts that are nearly the same, found by MinHash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import DisjointSet

from privacygauge.core.checks import Ints
from privacygauge.core.seeds import stream
from privacygauge.language.overlap import plain_texts
from privacygauge.language.texts import numbered

SIMILAR = 0.5
"""Share of common shingles from which texts are nearly the same."""

_WORDS = 3
"""Consecutive words of a shingle."""

_BANDS, _ROWS = 40, 3
"""Texts that share half of their shingles are compared with a probability of 0.995."""

_MOST = 32
"""In a larger bucket every text is compared with the first alone."""


def near_duplicates(texts: Sequence[str], similarity: float = SIMILAR) -> Ints:
    """Return the group of every text: the same number for texts that are nearly the same.

    Parameters
    ----------
    texts : sequence of str, length n
        Compared but for case and white space.
    similarity : float
        In (0, 1]: the Jaccard similarity of the sets of three consecutive words from which two
        texts are one group; texts of fewer words must be equal.

    Returns
    -------
    ndarray of int, shape (n,)
        Counted from 0 in the order of first appearance. Groups are closed: two texts with a
        common near-duplicate are in one. Numbers depend on nothing but the texts.

    Notes
    -----
    Broder (1997), "On the resemblance and containment of documents"; candidates by banding as in
    Leskovec, Rajaraman & Ullman, "Mining of Massive Datasets", section 3.4. Every candidate is
    compared exactly, so that no text is grouped that is not similar.

    Examples
    --------
    >>> near_duplicates(["no fever today at all", "No  fever today at all", "cough"]).tolist()
    [0, 0, 1]
    """
    plain = plain_texts(texts)
    same = numbered(plain)
    once = [plain[row] for row in np.unique(same, return_index=True)[1].tolist()]
    shingles = [_shingles(text) for text in once]
    found = DisjointSet(range(len(once)))
    for a, b in _candidates(shingles):
        if found[a] == found[b]:
            continue
        common = len(shingles[a] & shingles[b])
        if common >= similarity * (len(shingles[a]) + len(shingles[b]) - common):
            found.merge(a, b)
    root = np.array([found[i] for i in range(len(once))], np.int64)
    return numbered([str(number) for number in root[same].tolist()])


def _shingles(text: str) -> frozenset[int]:
    words = text.split()
    several = (" ".join(words[i : i + _WORDS]) for i in range(max(1, len(words) - _WORDS + 1)))
    return frozenset(crc32(part.encode()) for part in several)


def _candidates(shingles: Sequence[frozenset[int]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of texts whose smallest hashes agree in some band."""
    flat = np.array([hashed for one in shingles for hashed in one], np.uint64)
    starts = np.cumsum([0, *(len(one) for one in shingles[:-1])])
    drawn = stream(0, "near duplicates").integers(2**63, size=(_BANDS, _ROWS, 2), dtype=np.uint64)
    for band in drawn:
        smallest = [
            np.minimum.reduceat((flat * (a * 2 + 1) + b) >> np.uint64(32), starts) for a, b in band
        ]
        yield from _pairs(np.stack(smallest, axis=1))


def _pairs(keys: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    _, bucket = np.unique(keys, axis=0, return_inverse=True)
    order = np.argsort(bucket.reshape(-1), kind="stable")
    ends = np.flatnonzero(np.diff(bucket.reshape(-1)[order])) + 1
    for rows in np.split(order, ends):
        if len(rows) <= _MOST:
            yield from combinations(rows.tolist(), 2)
        else:
            yield from ((int(rows[0]), row) for row in rows[1:].tolist())
