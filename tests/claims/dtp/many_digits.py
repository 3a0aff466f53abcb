"""Learners written down with sixty digits: each returns what a query is told, in logarithms."""

from functools import cache

import mpmath as mp
import numpy as np

from privacygauge.claims.dtp.logistic import Logistic

DIGITS = 60
NEVER = mp.mpf("-inf")


def numbers(values):
    """Return floats as exact numbers."""
    return [mp.mpf(float(v)) for v in values]


def log(value):
    """Return the logarithm, -inf of 0."""
    return mp.log(value) if value else NEVER


def normalised(joint):
    """Return log probabilities from logarithms up to a constant; None where none is possible."""
    top = max(joint)
    if top == NEVER:
        return None
    total = top + mp.log(mp.fsum(mp.exp(v - top) for v in joint))
    return [v - total for v in joint]


def by_class(x, y, k):
    """Return the records of every class."""
    return [[numbers(r) for r, label in zip(x, y, strict=True) if label == c] for c in range(k)]


def moments(values):
    """Return the mean and the variance."""
    mean = mp.fsum(values) / len(values)
    return mean, mp.fsum((v - mean) ** 2 for v in values) / len(values)


def gaussian(x, y, k):
    """Gaussian naive Bayes."""
    floor = mp.mpf(1e-9) * max(moments(numbers(column))[1] for column in x.T) or mp.mpf(1)
    parts = [(len(r), [moments(c) for c in zip(*r, strict=True)]) for r in by_class(x, y, k)]

    def density(value, mean, variance):
        return -(mp.log(variance + floor) + (value - mean) ** 2 / (variance + floor)) / 2

    def ask(query):
        q = numbers(query)
        return normalised([
            log(n) + mp.fsum(density(v, *m) for v, m in zip(q, ms, strict=True)) if n else NEVER
            for n, ms in parts
        ])  # fmt: skip

    return ask


def categorical(x, y, k, sizes, alpha):
    """Naive Bayes on categories."""
    parts = [x[y == c] for c in range(k)]

    @cache
    def share(same, n, size):
        return log((same + mp.mpf(alpha)) / (n + size * mp.mpf(alpha)))

    def joint(rows, query):
        if not len(rows):
            return NEVER
        same = zip((rows == query).sum(axis=0).tolist(), sizes, strict=True)
        return log(len(rows)) + mp.fsum(share(count, len(rows), size) for count, size in same)

    return lambda query: normalised([joint(rows, query) for rows in parts])


def multinomial(x, y, k, alpha):
    """Multinomial naive Bayes."""
    parts = []
    for rows in by_class(x, y, k):
        sums = [mp.fsum(c) + mp.mpf(alpha) for c in zip(*rows, strict=True)]
        parts.append((len(rows), [v / mp.fsum(sums) for v in sums]))

    def ask(query):
        q = numbers(query)
        return normalised([
            log(n) + mp.fsum(v * log(p) for v, p in zip(q, ps, strict=True) if v) for n, ps in parts
        ])  # fmt: skip

    return ask


def discriminant(x, y, k, *, pooled, divisor, reg=0.0):
    """Linear or quadratic discriminant analysis, where every class has records."""
    rows = by_class(x, y, k)
    d = x.shape[1]
    means = [[moments(c)[0] for c in zip(*r, strict=True)] for r in rows]
    scatters = []
    for r, m in zip(rows, means, strict=True):
        away = mp.matrix([[v - c for v, c in zip(q, m, strict=True)] for q in r])
        scatters.append(away.T * away)
    counts = [len(r) for r in rows]
    if pooled:
        scatters = [sum(scatters, mp.zeros(d))] * k
        less = [len(y) - (k if divisor == "degrees of freedom" else 0)] * k
    else:
        less = [n - (1 if divisor == "degrees of freedom" else 0) for n in counts]
    shrunk = [
        (1 - mp.mpf(reg)) * s / n + mp.mpf(reg) * mp.eye(d)
        for s, n in zip(scatters, less, strict=True)
    ]
    inverses = [s**-1 for s in shrunk]
    sizes = [mp.log(mp.det(s)) for s in shrunk]

    def ask(query):
        away = [mp.matrix(numbers(query)) - mp.matrix(m) for m in means]
        return normalised([
            log(n) - ((v.T * inverse * v)[0] + size) / 2
            for n, v, inverse, size in zip(counts, away, inverses, sizes, strict=True)
        ])  # fmt: skip

    return ask


def logistic(x, y, k, l2):
    """Logistic regression: Newton steps with all digits, from the optimum to be checked.

    The loss is convex: where its gradient is 0, whatever the start, is the minimum. A penalty on
    the sum of the intercepts, which moves no probability, makes it the only one.
    """
    d = x.shape[1] + 1
    records = np.array([[*numbers(r), mp.mpf(1)] for r in x])
    named = np.eye(k, dtype=int)[y]
    weights, intercepts = Logistic(l2).fit(x, y, n_classes=k).coefficients()
    at = np.array([numbers(row) for row in np.vstack([weights, intercepts]).T])
    penalty = mp.mpf(l2) * (2 if k == 2 else 1)  # of two classes their difference is penalised
    last = np.eye(d, dtype=int)[-1]
    curvature = np.kron(np.eye(k, dtype=int), np.diag(penalty * (1 - last)))
    curvature = curvature + np.kron(np.ones((k, k), int), np.diag(last))

    def told(r):
        return normalised(list(at @ r))

    step = mp.inf
    while step > mp.mpf(10) ** (-DIGITS // 2):
        p = np.array([[mp.exp(v) for v in told(r)] for r in records])
        gradient = ((p - named).T @ records).ravel() + curvature @ at.ravel()
        moved = p[:, :, None] * (np.eye(k, dtype=int) - p[:, None])
        outer = records[:, :, None] * records[:, None]
        hessian = np.einsum("nce,nji->cjei", moved, outer, optimize=False).reshape(k * d, k * d)
        change = mp.lu_solve(
            mp.matrix((hessian + curvature).tolist()), mp.matrix(gradient.tolist())
        )
        at, step = at - np.array(list(change)).reshape(k, d), mp.norm(change, mp.inf)
    return lambda query: told(np.array([*numbers(query), mp.mpf(1)]))


def _clipped(scores):
    kept = [min(max(v, mp.mpf(0)), mp.mpf(1)) for v in scores]
    return [log(v / mp.fsum(kept)) for v in kept]


def least_squares(x, y, k, l2):
    """The classes regressed on the attributes."""
    means = [moments(numbers(c))[0] for c in x.T]
    away = mp.matrix([[v - m for v, m in zip(numbers(r), means, strict=True)] for r in x])
    named = mp.matrix(np.eye(k)[y].tolist())
    weights = (away.T * away + mp.mpf(l2) * mp.eye(x.shape[1])) ** -1 * (away.T * named)
    base = [mp.fsum(named[:, c]) / len(y) for c in range(k)]

    def ask(query):
        q = mp.matrix([[v - m for v, m in zip(numbers(query), means, strict=True)]]) * weights
        return _clipped([base[c] + q[c] for c in range(k)])

    return ask


def kernel_ridge(x, y, k, l2, gamma):
    """Kernel ridge regression with a Gaussian kernel."""
    records = [numbers(r) for r in x]
    n = len(x)

    def alike(a, b):
        return mp.exp(-mp.mpf(gamma) * mp.fsum((v - w) ** 2 for v, w in zip(a, b, strict=True)))

    system = mp.ones(n + 1)
    system[n, n] = 0
    for i in range(n):
        system[i, i] = 1 + mp.mpf(l2)
        for j in range(i):
            system[i, j] = system[j, i] = alike(records[i], records[j])
    solved = system**-1 * mp.matrix([*np.eye(k)[y].tolist(), [0] * k])

    def ask(query):
        features = mp.matrix([[*(alike(numbers(query), r) for r in records), mp.mpf(1)]])
        return _clipped((features * solved)[:])

    return ask


def neighbours(x, y, k, nearest):
    """Nearest neighbours; of those at the same distance the first."""

    def ask(query):
        q = mp.matrix(numbers(query))
        far = [mp.fsum(v**2 for v in mp.matrix(numbers(r)) - q) for r in x]
        near = sorted(range(len(x)), key=lambda i: (far[i], i))[:nearest]
        return [log(mp.mpf(int((y[near] == c).sum())) / len(near)) for c in range(k)]

    return ask


def inference(x, y, k, alpha):
    """Bayes inference."""

    def ask(query):
        own = y[(x == query).all(axis=1)]
        total = len(own) + k * mp.mpf(alpha)
        if not total:
            return None
        return [log((int((own == c).sum()) + mp.mpf(alpha)) / total) for c in range(k)]

    return ask


def trees(x, y, k, learner):
    """Random decision trees, with the learner's own leaves."""
    leaves = learner.leaves(x)

    def ask(query):
        sums = [mp.mpf(0)] * k
        for tree, leaf in zip(leaves, learner.leaves(query[None])[:, 0], strict=True):
            own = y[tree == leaf]
            total = len(own) + k * mp.mpf(learner.alpha)
            for c in range(k):
                count = int((own == c).sum()) + mp.mpf(learner.alpha)
                sums[c] += log(count / total) if total else -mp.log(k)
        means = [v / learner.n_trees for v in sums]
        return normalised(means) if learner.answers == "normalised" else means

    return ask


def ratio(told, without):
    """Return the largest log ratio of two answers as a float."""
    if told is None or without is None:
        return 0.0 if told is without else float("inf")
    pairs = [(a, b) for a, b in zip(told, without, strict=True) if not a == b == NEVER]
    return float(max((abs(a - b) for a, b in pairs), default=0))
