"""The audit of a mechanism given as a function, with a search for its worst neighbours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.claims.claim_audit.audit import ClaimAudit, audit_privacy_claim
from privacygauge.classifiers.answers import code_of_users
from privacygauge.classifiers.estimators import function_name, n_required
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.transcript import tied
from privacygauge.errors import InputError
from privacygauge.evaluate.claim_designs import ManyRuns
from privacygauge.evaluate.two_rates import epsilon_cut
from privacygauge.kinds.one_line import by_position

Mechanism = Callable[..., Any]
"""Takes data and a generator, or data alone, and returns numbers, text, or a category."""

Neighbours = Sequence[tuple[Any, Any]] | Callable[[np.random.Generator], tuple[Any, Any]]
"""Pairs of neighbouring data sets, or a function that draws such a pair."""

_DRAWN = 20
"""Pairs to draw if neighbours are given as a function."""

_COLUMNS = 16
"""First numbers of an output that are each tried as a score."""


@by_position()
def audit_mechanism(
    mechanism: Mechanism,
    neighbours: Neighbours,
    epsilon: float,
    delta: float = 0.0,
    *,
    runs: int = 10_000,
    search: int = 1_000,
    control: Mechanism | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> ClaimAudit:
    """Compare a claimed (epsilon, delta) with guesses by a mechanism's outputs.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(data, rng)``, or ``mechanism(data)`` with random draws of its own. Returns a
        number, an array, a text or any other value, which is then a category.
    neighbours : sequence of pairs, or callable
        Pairs of data sets that the claim calls neighbours; or ``neighbours(rng)``, which draws
        such a pair, 20 times. `query_neighbours` makes pairs for answers to counting queries.
    epsilon : float
        Claimed epsilon, at least 0.
    delta : float
        Claimed delta, in [0, 1).
    runs : int
        Judged runs on the worst pair, at least 100.
    search : int
        Runs on each pair to choose the pair and to fit the attack, at least 100.
    control : callable, optional
        The same mechanism with its noise switched off: a positive control. Without one, an audit
        that refutes nothing could not have told.
    seed : int
        Seed of all draws.
    level : float
        Level of all bounds jointly, in (0, 1).

    Returns
    -------
    ClaimAudit
        Its bounds are those of many runs.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    For each pair, half of the search's runs fit attacks: single numbers of the output, and a
    logistic regression and boosted trees that tell both data sets apart (as DP-Sniper does, Bichsel
    et al. 2021). The other half chooses the pair and the attack with the largest epsilon. Both are
    fixed before the judged runs, so no correction is needed.

    Examples
    --------
    >>> def noisy_count(data, rng):
    ...     return sum(data) + rng.laplace(0, 0.2)
    >>> audit_mechanism(noisy_count, [([1, 0], [0])], epsilon=1.0, runs=1_000)
    <ClaimAudit: The claim is refuted: epsilon is at least ...>
    """
    checks.at_least(100, runs=runs, search=search)
    seed = seeds.drawn_seed(seed)
    rng = seeds.stream(seed, "neighbours")
    pairs = [neighbours(rng) for _ in range(_DRAWN)] if callable(neighbours) else list(neighbours)
    for pair in pairs:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise InputError(
                "neighbours must be pairs of data sets, or a function of a generator that draws "
                f"one, got {type(pair).__name__}"
            )
    if not pairs:
        raise InputError("neighbours must hold at least one pair of data sets")
    tried = [
        _search(_play(mechanism, pair, search, seeds.stream(seed, "search", i)), delta)
        for i, pair in enumerate(pairs)
    ]
    # Chosen on the search's runs only: the judged runs below need no correction.
    worst = int(np.argmax([found.bound for found in tried]))
    attack = tried[worst]
    told = f"pair {worst + 1} of {len(pairs)}"
    played = _play(mechanism, pairs[worst], runs, seeds.stream(seed, "judged"))
    rows = _rows(played, attack)
    if tied(np.asarray(rows["score"])):
        raise InputError(
            f"mechanism: no attack tells any two of {runs:,} outputs apart: either they never "
            "differ, or each is unlike all others; return numbers, arrays, or some of few texts"
        )
    known = None
    if control is not None:
        without = _play(control, pairs[worst], search, seeds.stream(seed, "search of the control"))
        judged = _play(control, pairs[worst], runs, seeds.stream(seed, "control"))
        known = _rows(judged, _search(without, delta))
    return audit_privacy_claim(
        rows,
        epsilon,
        delta,
        design=ManyRuns(),
        control=known,
        seed=seed,
        level=level,
        command="audit_mechanism",
        provenance={"neighbours": told, "attack": attack.name},
    )


def query_neighbours(n: int) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return pairs of answers to n counting queries, of data sets that differ by one record.

    Notes
    -----
    The patterns of Ding et al. (2018, "Detecting violations of differential privacy"): one answer
    is higher or lower; one differs one way and all others the other way; half are higher and half
    lower, as blocks or in turn; all are higher or lower.

    Examples
    --------
    >>> query_neighbours(2)[0]
    (array([1., 1.]), array([2., 1.]))
    """
    checks.at_least(1, n=n)
    base = np.ones(n)
    first = np.zeros(n)
    first[0] = 1.0
    half = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    crossed = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    moves = [first, -first, 2 * first - 1, 1 - 2 * first, half, base, -base, crossed]
    return [(base, base + move) for move in moves]


_Scorer: TypeAlias = Callable[[Floats], Floats]
"""Maps outputs as numbers, (r, d), to scores, (r,)."""


@dataclass(frozen=True, eq=False)
class _Runs:
    """Outputs on two neighbouring data sets."""

    outputs: Sequence[Any]
    """(r,) Outputs."""
    second: Bools
    """(r,) True for runs on the second data set."""


@dataclass(frozen=True, eq=False)
class _Attack:
    """An attack on outputs, and the bound that it shows in the search."""

    name: str
    """Name for the report."""
    columns: Callable[[Sequence[Any]], Floats]
    """Returns outputs as numbers, (r, d)."""
    score: _Scorer
    """Returns scores of these numbers, (r,), higher for the second data set."""
    bound: float
    """Cautious epsilon of its best threshold in the search; -1 if it ranks nothing."""


def _play(mechanism: Mechanism, pair: Sequence[Any], n: int, rng: np.random.Generator) -> _Runs:
    second = rng.random(n) < 0.5
    draws = n_required(mechanism) > 1
    with code_of_users(function_name(mechanism), "on one of the neighbouring data sets"):
        outputs = [
            mechanism(pair[int(side)], rng) if draws else mechanism(pair[int(side)])
            for side in second
        ]
    return _Runs(outputs, second)


def _rows(played: _Runs, attack: _Attack) -> dict[str, ArrayLike]:
    score = attack.score(attack.columns(played.outputs))
    # Equal outputs of different runs are no copies of each other: each run has a name.
    return {"score": score, "member": played.second, "id": np.arange(len(score))}


def _search(played: _Runs, delta: float) -> _Attack:
    """Return the attack that shows the largest epsilon on one pair."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    # The first half fits the attacks, the second half chooses among them.
    half = len(played.outputs) // 2
    columns = _columns_of(played.outputs[:half])
    features = columns(played.outputs)
    second = played.second
    candidates: list[tuple[str, _Scorer]] = []
    for j in range(min(_COLUMNS, features.shape[1])):
        candidates.append((f"number {j + 1} of the output", itemgetter((slice(None), j))))
    models = {
        "a logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosted trees": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    }
    if features.shape[1] and 0 < second[:half].sum() < half:
        for name, model in models.items():
            candidates.append((name, model.fit(features[:half], second[:half]).decision_function))
    found = []
    for name, score in candidates:
        scored = np.asarray(score(features[half:]), np.float64)
        bound = -1.0
        judged = second[half:]
        if not tied(scored) and 0 < judged.sum() < len(judged):
            # Cautious, but no bound, since it is chosen on its own rows: only an order is needed.
            bound = math.log(epsilon_cut(scored, judged, delta).line.slope)
        found.append(_Attack(name, columns, score, bound))
    return max(found, key=lambda one: one.bound)


def _columns_of(outputs: Sequence[Any]) -> Callable[[Sequence[Any]], Floats]:
    """Return a function from outputs to (r, d): their numbers, then a column per category."""
    parts = [_parts(one) for one in outputs]
    width = max(len(numbers) for numbers, _ in parts)
    common = Counter(name for _, words in parts for name in _categories(words))
    place = {name: width + 1 + i for i, (name, _) in enumerate(common.most_common(_CATEGORIES))}

    def columns(some: Sequence[Any]) -> Floats:
        """Return the first numbers of each output, padded with zeros, their number, and words."""
        found = np.zeros((len(some), width + 1 + len(place)))
        for row, one in zip(found, some, strict=True):
            numbers, words = _parts(one)
            row[: min(width, len(numbers))] = numbers[:width]
            row[width] = len(numbers)
            row[[place[name] for name in _categories(words) if name in place]] = 1.0
        # Infinite outputs stay orderable, and their squares finite in the fits.
        return np.clip(np.nan_to_num(found), -1e150, 1e150)

    return columns


_CATEGORIES = 64
"""Number of the most frequent categories of outputs, which get a column each."""


Word = tuple[int, str]
"""Part of an output that is not a number: its position among all parts, and its printed form."""


def _parts(output: Any) -> tuple[Floats, tuple[Word, ...]]:
    """Return the numbers of an output, (d,), 0 in place of each other part, and these parts.

    The names of a mapping, or of a table's rows and columns, are such parts too: which there are
    may be what an output gives away.
    """
    if hasattr(output, "index") and hasattr(output, "to_dict"):  # of pandas
        output = output.to_dict()
    if isinstance(output, Mapping):
        # In the order of their names, so that each keeps its column where all have the same.
        names = sorted(output, key=repr)
        output = [repr(names), *(output[name] for name in names)]
    if isinstance(output, list | tuple):
        numbers = [np.zeros(0)]
        words: list[Word] = []
        for part in output:
            before = sum(map(len, numbers))
            theirs, others = _parts(part)
            numbers.append(theirs)
            words += [(before + place, text) for place, text in others]
        return np.concatenate(numbers), tuple(words)
    if not isinstance(output, str | bytes) and output is not None:
        with suppress(TypeError, ValueError):
            return np.asarray(output, np.float64).ravel(), ()
    return np.zeros(1), ((0, repr(output)),)


def _categories(words: tuple[Word, ...]) -> tuple[Hashable, ...]:
    """Return the words of an output, and all of them together."""
    return (*words, words) if len(words) > 1 else words
