"""Sums of weights by label, for many points at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats
from privacygauge.holdout.queries import Codes

# Sums of so many points stay in a core's fast memory while all queries are added to them.
ROWS = 64


class LabelSums:
    """Adds the weights of queries up by the label they give, in memory of its own."""

    def __init__(self, weights: Floats, m: int) -> None:
        k = len(weights)
        self._added = np.tile(weights, ROWS)
        self._labels, self._sums = np.empty((ROWS, k), np.int32), np.empty((ROWS, m))

    def __call__(self, labels: Codes) -> Floats:
        """Return the sums, (p, m), for labels (p, k); p is `ROWS` at most.

        They stand until the next call.
        """
        p = len(labels)
        np.copyto(self._labels[:p], labels)
        return _added_up(self._labels[:p], self._added[: self._labels[:p].size], self._sums[:p])


def label_sums(labels: Codes, weights: Floats, m: int) -> Floats:
    """Return for each row of `labels`, (p, k), the sums of `weights`, (p, k), by label, (p, m)."""
    return _added_up(labels.astype(np.int32), weights.reshape(-1), np.empty((len(labels), m)))


def _added_up(labels: NDArray[np.int32], weights: Floats, out: Floats) -> Floats:
    from scipy.sparse import csr_array

    # A sparse matrix with repeated entries adds them up when it is made dense: several times
    # faster than numpy's own scatter-additions.
    k = labels.shape[1]
    places = k * np.arange(len(labels) + 1, dtype=np.int32)
    entries = (weights, labels.reshape(-1), places)
    sums: Floats = csr_array(entries, shape=out.shape).toarray(out=out)
    return sums
