"""Leave-one-out the slow way: the record is taken away, and the learner trained again."""

from functools import cache

import numpy as np
import pytest

from privacygauge.datasets.public import CATEGORICAL, CONTINUOUS, adult, adult_binary
from privacygauge.errors import InputError


def honest_without(learner, x, y, rows, n_classes):
    """Return the log probabilities that a refit on the other records gives each record, (r, k)."""
    own = [honest_without_at(learner, x, y, [row], x[[row]], n_classes)[0, 0] for row in rows]
    return np.array(own).reshape(len(rows), n_classes)


def honest_without_at(learner, x, y, rows, queries, n_classes):
    """Return the same for every query, (r, q, k)."""
    found = np.full((len(rows), len(queries), n_classes), np.nan)
    for number, row in enumerate(rows):
        others = np.arange(len(x)) != row
        if others.any():
            fitted = learner.fit(x[others], y[others], n_classes=n_classes)
            found[number] = fitted.log_p(queries)
    return found


def assert_honest(learner, x, y, n_classes, *, rows=None, queries=None, atol=1e-9, logs=True):
    """Compare everything that leaves a record out with refits, one a record.

    Probabilities within `atol`; so are their logs, or within 1e-9 of their size, unless the
    learner has none: those of a difference near 0 are not better known than the difference.
    """
    rows = np.arange(len(x)) if rows is None else rows
    queries = x if queries is None else queries
    fitted = learner.fit(x, y, n_classes=n_classes)
    own = fitted.log_p_without(rows)
    others = fitted.log_p_without_at(rows, queries)
    assert own.shape == (len(rows), n_classes)
    assert others.shape == (len(rows), len(queries), n_classes)
    for number, row in enumerate(rows):
        asked = np.vstack([x[[row]], queries])
        again = honest_without_at(learner, x, y, [row], asked, n_classes)[0]
        found = np.vstack([own[[number]], others[number]])
        np.testing.assert_allclose(np.exp(found), np.exp(again), rtol=0, atol=atol)
        if logs:
            np.testing.assert_allclose(found, again, rtol=1e-9, atol=atol)


@cache
def _adult():
    try:
        return adult()
    except InputError as error:  # neither in the folder of data nor on the network
        pytest.skip(str(error))


def adult_numbers(n):
    """Return the six numbers of the first people, each of deviation 1, and their income."""
    x, y = adult_binary(_adult()[:n])
    return x[:, : len(CONTINUOUS)], y


def adult_all(n):
    """Return numbers and categories (as binary attributes) of the first people."""
    return adult_binary(_adult()[:n])


def adult_codes(n):
    """Return the eight categories of the first people as codes 0, 1, ..."""
    frame = _adult()[:n]
    codes = [np.unique(frame[name], return_inverse=True)[1] for name in CATEGORICAL]
    return np.column_stack(codes), frame["income"].to_numpy(np.int64)
