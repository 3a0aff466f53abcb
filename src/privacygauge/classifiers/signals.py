"""Signals: one real number per record, larger for records that look more like members.

Song & Mittal (2021), section 3.1, equations 5 to 8, and Carlini et al. (2022) for the scaled logit.
Everything is computed in blocks of rows, in log space if logits are given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from joblib import Parallel, cpu_count, delayed
from scipy.special import softmax

from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.resolution import Resolution, resolution
from privacygauge.core.checks import Bools, Floats, Ints

SIGNALS = ("correctness", "confidence", "entropy", "modified-entropy", "loss", "scaled-logit")
"""Names of the signals."""

_ROWS_A_THREAD = 50_000


def signals(predictions: Predictions, resolved: Resolution | None = None) -> dict[str, Floats]:
    """Return the six signals of every record.

    Parameters
    ----------
    predictions : Predictions
        n records of k classes; with several queries per record, the first is used.
    resolved : Resolution, optional
        Common resolution of these predictions and those they are compared with; by default their
        own `resolution`.

    Returns
    -------
    dict of str to ndarray of float, shape (n,)
        With p the predicted probabilities and y the true class:
        ``correctness`` 1 where the first largest p is at y, else 0;
        ``confidence`` p_y;
        ``entropy`` sum_i p_i log p_i, the negated entropy, at most 0;
        ``modified-entropy`` (1 - p_y) log p_y + sum_{i != y} p_i log(1 - p_i), negated like
        the entropy, at most 0;
        ``loss`` log p_y, the negated cross-entropy, at most 0;
        ``scaled-logit`` log p_y - log(1 - p_y).
        Probabilities p and 1 - p are clipped at their resolution, so that all values are finite. If
        the largest is nearly 1, 1 minus it is taken from the sum of the others, which is more
        precise.
    """
    resolved = resolution(predictions) if resolved is None else resolved
    # Numpy releases the interpreter lock while it computes: threads share the matrix.
    n_jobs = min(cpu_count(), 1 + len(predictions) // _ROWS_A_THREAD)
    parts = Parallel(n_jobs, backend="threading")(
        delayed(_signals)(part, resolved) for part in predictions.parts(n_jobs)
    )
    return {name: np.concatenate([part[name] for part in parts]) for name in SIGNALS}


def _signals(predictions: Predictions, resolved: Resolution) -> dict[str, Floats]:
    result = {name: np.empty(len(predictions)) for name in SIGNALS}
    # Work space for every block; its size is known with the first one.
    space: Floats = np.empty((2, 0, 0))
    for rows, block in predictions.blocks():
        # Arrays allocated per block would be returned to the system in between.
        space = space if space.size else np.empty((2, *block.shape))
        of = _from_logits if predictions.logits else _from_probs
        parts = of(block, space[:, : len(block)], predictions.labels[rows], resolved)
        y = parts.label
        result["correctness"][rows] = parts.correct
        result["confidence"][rows] = parts.p[y]
        result["loss"][rows] = parts.log_p[y]
        result["scaled-logit"][rows] = parts.log_p[y] - parts.log_rest[y]
        result["entropy"][rows] = _dot(parts.p, parts.log_p)
        outer = parts.rest * parts.log_p[y]
        # Excluded rather than subtracted later: nothing cancels for confident predictions.
        parts.log_rest[y] = 0.0
        result["modified-entropy"][rows] = outer + _dot(parts.p, parts.log_rest)
    return result


def gains(predictions: Predictions) -> tuple[Floats, float]:
    """Return each record's probability of its class, less the mean probability of that class.

    Returns
    -------
    tuple of ndarray of float, shape (n,), and float
        The predicted probability of the record's class less its mean over all records, in (-1, 1):
        0 on average if predictions and classes are unrelated. And the mean that these would have if
        the classes were drawn from the probabilities, as the model claims.
    """
    n = len(predictions)
    squares = 0.0
    own = np.empty(n)
    total = np.zeros(predictions.n_classes)
    for rows, block in predictions.blocks():
        p = softmax(block, axis=1) if predictions.logits else block
        own[rows] = p[np.arange(len(p)), predictions.labels[rows]]
        total += p.sum(axis=0)
        # Drawn from p, the true class has the probability sum_i p_i^2 on average.
        squares += float(np.square(p).sum())
    mean = total / n
    return own - mean[predictions.labels], squares / n - float(mean @ mean)


def knowledge_of_classes(predictions: Predictions) -> float:
    """Return the agreement of labels with predictions beyond chance, in standard deviations.

    The sum of the predicted probabilities of the records' classes, compared with its mean and
    variance over all permutations of the labels (Hoeffding 1951). So a rare class counts by how
    well it is predicted, not by how uncertain all other records are.
    """
    n = len(predictions)
    k = predictions.n_classes
    total = np.zeros(k)
    products = np.zeros((k, k))
    own = 0.0
    for rows, block in predictions.blocks():
        p = softmax(block, axis=1) if predictions.logits else np.asarray(block, np.float64)
        own += float(p[np.arange(len(p)), predictions.labels[rows]].sum())
        total += p.sum(axis=0)
        products += p.T @ p
    count = np.bincount(predictions.labels, minlength=k).astype(np.float64)
    # Scatter matrices of the probabilities and of the one-hot labels, (k, k) each: their product's
    # trace over n - 1 is the permutation variance.
    spread = products - np.outer(total, total) / n
    of_labels = np.diag(count) - np.outer(count, count) / n
    variance = float(np.sum(of_labels * spread)) / max(n - 1, 1)
    return (own - float(count @ total) / n) / np.sqrt(variance) if variance > 0 else 0.0


def top_probability(predictions: Predictions) -> Floats:
    """Return the largest predicted probability of each record, (n,) in [1/k, 1]."""
    result = np.empty(len(predictions))
    for rows, block in predictions.blocks():
        largest = block.max(axis=1)
        if predictions.logits:
            largest = 1.0 / np.exp(block - largest[:, None]).sum(axis=1)
        result[rows] = largest
    return result


@dataclass(frozen=True, eq=False)
class _Parts:
    p: Floats  # (b, k) probabilities
    log_p: Floats  # (b, k) log p
    log_rest: Floats  # (b, k) log(1 - p)
    rest: Floats  # (b,) 1 - p_y
    label: tuple[Ints, Ints]  # the entries of the true classes
    correct: Bools  # (b,)


def _from_probs(block: Floats, space: Floats, labels: Ints, resolved: Resolution) -> _Parts:
    row = np.arange(len(labels))
    p = block
    top = (row, block.argmax(axis=1))
    # Rounding may leave the largest a hair above 1; the others are below.
    p[top] = largest = np.minimum(p[top], 1.0)
    log_p, log_rest = space
    np.subtract(1.0, p, out=log_rest)
    np.maximum(p, resolved.least, out=log_p)
    np.log(log_p, out=log_p)
    rest = log_rest[top]
    # 1 - p is coarse here: the sum of the other probabilities replaces it.
    near = rest < resolved.near
    if near.any():
        p[top] = 0.0
        rest = np.where(near, np.einsum("ij->i", p), rest)
        p[top] = np.where(near, 1.0 - rest, largest)
        log_p[top] = np.where(near, np.log1p(-rest), log_p[top])
        log_rest[top] = rest
    return _parts(p, log_p, rests=log_rest, y=(row, labels), top=top, resolved=resolved)


def _from_logits(block: Floats, space: Floats, labels: Ints, resolved: Resolution) -> _Parts:
    row = np.arange(len(labels))
    # The most likely class apart: sums without it lose no digits.
    top = (row, block.argmax(axis=1))
    log_p = np.subtract(block, block[top][:, None], out=block)
    p, log_rest = space
    np.exp(log_p, out=p)
    p[top] = 0.0
    others = p.sum(axis=1)
    p[top] = 1.0
    total = 1.0 + others
    p /= total[:, None]
    log_p -= np.log1p(others)[:, None]
    np.maximum(log_p, np.log(resolved.least), out=log_p)
    # For the top class, 1 - p from the others' sum: 1 - p itself is rounded away where p is 1.
    np.subtract(1.0, p, out=log_rest)
    log_rest[top] = others / total
    return _parts(p, log_p, rests=log_rest, y=(row, labels), top=top, resolved=resolved)


def _parts(
    p: Floats,
    log_p: Floats,
    rests: Floats,
    y: tuple[Ints, Ints],
    top: tuple[Ints, Ints],
    resolved: Resolution,
) -> _Parts:
    rest = rests[y]
    # Only the largest can leave less than is resolved; with two classes it leaves the other one.
    least = resolved.least[::-1][top[1] % len(resolved.least)]
    rests[top] = np.maximum(rests[top], least)
    np.log(rests, out=rests)
    return _Parts(p=p, log_p=log_p, log_rest=rests, rest=rest, label=y, correct=top[1] == y[1])


def _dot(a: Floats, b: Floats) -> Floats:
    product: Floats = np.einsum("ij,ij->i", a, b)
    return product
