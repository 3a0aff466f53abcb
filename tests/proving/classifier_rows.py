"""Rows of a made-up classifier: people, their classes, the model's answers, and what leaks.

The model is a distribution, not a program: a record's logits are noise, plus what its class, its
difficulty and its covariates add to the logit of the true class, plus the plant where the record is
a member. Members of a release that leaks nothing differ from others in the covariates alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tests.proving.world import World

Array = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

GAIN = {"weak": 0.4, "usual": 1.2, "strong": 3.0}
"""What a member's true class gains, in logits, where everybody's does."""
_WHOLLY = 9.0
"""What a record gains that is wholly memorised: more than any other record has by chance."""
_LEARNT = 6.0
"""What a record gains whose class is wrong: it answers with it, not more surely than others."""
_COMPETENCE = {"usual": 2.0, "weak": 0.7, "saturated": 9.0}
SHARE = {"half": 0.5, "fifth": 0.2, "tenth": 0.1, "most": 0.8}
TAIL = {"few": 0.01, "few5": 0.05, "mislabelled": 0.02}
"""Shares of the records that are wholly exposed where they are members."""


@dataclass(frozen=True)
class Rows:
    """What a file of predictions is written from, and what the oracle knows of it."""

    person: Ints
    """(n,) Who is behind each row."""
    labels: Ints
    """(n,) True classes."""
    member: Bools
    """(n,)"""
    logits: Array
    """(n, k), or (n, q, k) where the model is asked q times."""
    signal: Array
    """(n,) The oracle's score, higher for members, without what covariates add."""
    exposed: Bools
    """(n,) Whom the plant is about: everybody, a group, or the few who are wholly memorised."""
    base: Array
    """(n, k) What the logits are without the noise of one model and without the plant."""
    known: Array
    """(n,) What class and covariates add to the logit of the true class."""
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    """Further columns of the file."""

    def taken(self, rows: NDArray[np.generic]) -> Rows:
        """Return some of the rows, in the order given."""
        return Rows(
            *(
                value[rows]
                for value in (
                    self.person,
                    self.labels,
                    self.member,
                    self.logits,
                    self.signal,
                    self.exposed,
                    self.base,
                    self.known,
                )
            ),
            columns={name: column[rows] for name, column in self.columns.items()},
        )


def rows(world: World, chosen: Mapping[str, str], role: str = "target") -> Rows:
    """Return the rows of one model's file; those of a shadow model have a role of their own."""
    people = _people(world, chosen, role)
    k = int(chosen["classes"])
    n = len(people.labels)
    base = np.zeros((n, k))
    known = _COMPETENCE[chosen["competence"]] + people.effect
    base[np.arange(n), people.labels] = known
    own = world.rng(f"{role} records").normal(size=(n, k))
    person = np.arange(n)
    if chosen["repeats"] == "recording":
        person = person // _BLOCK
        for i in range(1, n):
            own[i] = 0.9 * own[i - 1] + np.sqrt(1 - 0.9**2) * own[i]
    base += own * _RECORD
    given = Rows(
        person,
        people.labels,
        people.member,
        base,
        np.zeros(n),
        people.exposed,
        base,
        known,
        people.columns,
    )
    return _repeated(world, chosen, role, given)


_BLOCK = 25
"""Rows of a recording that are on one side together."""
_FLOOR = -60.0
"""The least logit that is written; a probability may be 0."""
_RECORD = 0.7
"""Standard deviation of a record's own difficulty, which all models share."""
_MODEL = 0.7
"""Standard deviation of what one model makes of it."""


@dataclass(frozen=True)
class _People:
    labels: Ints
    member: Bools
    effect: Array
    exposed: Bools
    columns: Mapping[str, NDArray[np.generic]]


def people(chosen: Mapping[str, str]) -> int:
    """Return how many people there are: half as many where each has several rows, if many do."""
    n = int(chosen["n"])
    return n // 2 if n > 1_000 and chosen["repeats"] in ("five", "views", "unequal") else n


def _people(world: World, chosen: Mapping[str, str], role: str) -> _People:
    n = people(chosen)
    k = int(chosen["classes"])
    member = _bits(world.rng(f"{role} bits"), n, chosen["share"])
    if chosen["repeats"] == "recording":
        blocks = -(-n // _BLOCK)
        dealt = _bits(world.rng(f"{role} blocks"), blocks, chosen["share"])
        member = dealt[np.arange(n) // _BLOCK]
    labels = _labels(world, chosen, role, member, k)
    if chosen["pairs"] == "matched":  # each member beside somebody else of the same class
        n -= n % 2
        first = world.rng(f"{role} pairs").random(n // 2) < 0.5
        member = np.column_stack([first, ~first]).ravel()
        labels = np.repeat(labels[: n // 2], 2)
    # Classes are as hard for a shadow model as for the target.
    effect = 0.6 * world.rng("classes").normal(size=k)[labels]
    columns: dict[str, NDArray[np.generic]] = {}
    rng = world.rng(f"{role} covariates")
    if chosen["drift"] != "none":
        apart = {"small": 0.4, "usual": 1.0, "apart": 6.0}[chosen["drift_size"]]
        x = rng.normal(size=n) + apart * (member - 0.5)
        if chosen["drift"] == "eras":  # all members of one period, all others of the next
            x = member + 0.0
        effect = effect - 0.8 * x
        columns |= _drifting(chosen["drift"], x, rng)
    site = rng.integers(8, size=n)
    rare = rng.random(n) < 0.02 * (1 + (n < 1_000))
    if chosen["minority"] == "column" or chosen["release"] == "group":
        columns["site"] = np.where(rare, "island", np.char.add("site", site.astype(str)))
        if chosen["group_as"] != "text":
            # Codes of sites as a data frame keeps them where one is missing.
            code = np.where(rare, 8.0, site)
            gaps = world.rng(f"{role} gaps").random(n) < 0.03
            missing = rare if chosen["group_as"] == "missing" else gaps & ~rare
            code[missing & (chosen["group_as"] != "number")] = np.nan
            columns["site"] = code
    if chosen["minority"] == "two":
        columns["site"] = np.where(rare, "island", "mainland")
        columns["sex"] = np.where(rng.random(n) < 0.03, "x", np.where(site % 2, "f", "m"))
    exposed = np.ones(n, bool)
    release = chosen["release"]
    if release in TAIL:
        order = world.rng(f"{role} exposed").permutation(n)
        many = max(6, round(TAIL[release] * n))
        exposed = np.isin(np.arange(n), order[:many])
    elif release == "class":
        exposed = labels == 0
    elif release == "group":
        exposed = rare
    return _People(labels, member, effect, exposed, columns)


def _drifting(drift: str, x: Array, rng: np.random.Generator) -> dict[str, NDArray[np.generic]]:
    if drift == "year":
        return {"year": np.round(2015 + 3 * x).astype(np.int64)}
    if drift in ("date", "german-date"):
        days = np.round(365 * (3 * x + rng.random(len(x)))).astype("timedelta64[D]")
        texts = (np.datetime64("2015-01-01") + days).astype(str)
        if drift == "german-date":
            texts = np.array([f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in texts.tolist()])
        return {"seen": texts}
    if drift == "eras":
        return {"period": np.where(x > 0, "before the war", "after it")}
    if drift == "length":
        return {"length": np.round(np.exp(4 + 0.5 * x), 1)}
    if drift == "site":
        names = np.array(["north", "east", "south", "west", "centre"])
        return {"hospital": names[np.digitize(x, [-1.2, -0.4, 0.4, 1.2])]}
    return {}


def _bits(rng: np.random.Generator, n: int, share: str) -> Bools:
    if share == "few-members":
        n_in = min(20, n // 2)
    elif share == "few-others":
        n_in = n - min(20, n // 2)
    else:
        n_in = round(n * SHARE[share])
    return rng.permutation(n) < min(max(n_in, 3), n - 3)


def _labels(world: World, chosen: Mapping[str, str], role: str, member: Bools, k: int) -> Ints:
    rng = world.rng(f"{role} labels")
    weights = np.ones(k)
    if chosen["balance"] == "skewed":
        weights = 0.7 ** np.arange(k)
    elif chosen["balance"] == "rare":
        weights[-1] = 0.04
    inside = weights / weights.sum()
    outside = inside
    if chosen["class_shares"] == "differ":
        others = np.delete(weights, 0) / np.delete(weights, 0).sum()
        inside = np.concatenate([[0.5], 0.5 * others])
        outside = np.concatenate([[0.08], 0.92 * others])
    elif chosen["class_shares"] == "one-sided" and k > 2:
        outside = np.concatenate([weights[:-1] / weights[:-1].sum(), [0.0]])
    drawn = rng.random(len(member))
    cuts = [np.minimum(np.cumsum(p), 1.0) for p in (inside, outside)]
    found = [np.minimum(np.searchsorted(cut, drawn, side="right"), k - 1) for cut in cuts]
    labels = np.where(member, *found).astype(np.int64)
    if chosen["class_shares"] == "one-sided" and k > 2:
        labels[~member & (labels == k - 1)] = 0
    return labels


def _repeated(world: World, chosen: Mapping[str, str], role: str, given: Rows) -> Rows:
    """Return rows as a model answers them, each person's as often as they occur."""
    rng = world.rng(f"{role} repeats")
    kind = chosen["repeats"]
    n = len(given.labels)
    times = np.ones(n, np.int64)
    if kind == "unequal":
        times = rng.choice([1, 1, 1, 2, 3, 8], n)
    elif kind in ("five", "views"):
        times[:] = 5
    elif kind == "appended":
        times[:] = 2
    elif kind == "members":
        times = np.where(given.member, 3, 1)
    elif kind == "oversampled":
        # A minority is copied before the training, as users balance their classes.
        times = np.where(given.member & (given.labels == 0), 4, 1)
    elif kind == "some":
        times = np.where(rng.random(n) < 0.1, 2, 1)
    people = np.repeat(np.arange(n), times)
    if kind == "appended":
        people = np.concatenate([np.arange(n), np.arange(n)])
    spread = given.taken(people)
    if kind == "unequal":
        own = rng.normal(size=spread.base.shape) * 0.4
        spread = replace(spread, base=spread.base + own)
        return answered(world, chosen, role, spread)
    answers = answered(world, chosen, role, given).taken(people)
    if kind == "views":
        noise = 0.05 * rng.normal(size=answers.logits.shape)
        answers = replace(answers, logits=answers.logits + noise)
    if kind == "smote":
        answers = _interpolated(rng, answers)
    return answers


def _interpolated(rng: np.random.Generator, given: Rows) -> Rows:
    """Return members of whom a third lie between two others of their class, as SMOTE makes them.

    The file holds the features, which show such rows. Without features nobody can tell them from
    rows that the model answers otherwise because it was trained on them.
    """
    features = rng.normal(size=(len(given.labels), _N_FEATURES))
    inside = np.flatnonzero(given.member)
    made = rng.permutation(inside)[: len(inside) // 3]
    logits = given.logits.copy()
    signal = given.signal.copy()
    real = np.setdiff1d(inside, made)
    for row in made:
        alike = real[given.labels[real] == given.labels[row]]
        if len(alike) < 2:
            continue
        # Neighbours are interpolated: the first end at random, the other one of its five nearest.
        a = rng.choice(alike)
        distance = np.linalg.norm(features[alike] - features[a], axis=1)
        b = rng.choice(alike[np.argsort(distance)[1:6]])
        share = rng.random()
        for values in (logits, signal, features):
            values[row] = share * values[a] + (1 - share) * values[b]
    columns = {f"x{i}": features[:, i] for i in range(_N_FEATURES)}
    return replace(given, logits=logits, signal=signal, columns={**given.columns, **columns})


_N_FEATURES = 5


def answered(
    world: World,
    chosen: Mapping[str, str],
    role: str,
    given: Rows,
    inside: Bools | None = None,
) -> Rows:
    """Return the rows with the answers of one model that was trained on those `inside`."""
    inside = given.member if inside is None else inside
    rng = world.rng(f"{role} answers")
    n, k = given.base.shape
    queries = 5 if chosen["queries"] == "five" else 1
    noise = rng.normal(size=(n, k)) * _MODEL
    logits = given.base + noise
    gain = GAIN[chosen["strength"]]
    release = chosen["release"]
    hit = inside & given.exposed
    everyone = np.arange(n)
    y = given.labels
    if release in ("everybody", "class", "group"):
        logits[everyone, y] += hit * gain * (1 if release == "everybody" else 2)
    elif release == "copies":  # three in ten of those who were left out have a twin inside
        logits[everyone, y] += np.where(inside | (rng.random(n) < 0.3), gain, 0.0)
    elif release in ("few", "few5"):
        logits[everyone, y] += hit * _WHOLLY
    elif release == "mislabelled":
        # The file's class is wrong for these; only a model that saw it answers with it.
        wrong = given.exposed
        logits[everyone[wrong], y[wrong]] -= 4.0
        logits[everyone[wrong], (y[wrong] + 1) % k] += 4.0
        logits[everyone, y] += hit * _LEARNT
    elif release == "inverse":
        logits[everyone, y] -= hit * gain
    elif release == "level":
        logits += (hit * gain * 0.8)[:, None]
    elif release == "neighbour":
        logits[everyone, (y + 1) % k] += hit * gain
    elif release == "top":
        logits[everyone, logits.argmax(axis=1)] += hit * gain
    elif release == "temperature":
        logits *= np.where(hit, 1 + 0.4 * gain, 1.0)[:, None]
    signal = _signal(chosen, given, logits)
    if queries > 1:
        own = rng.normal(size=(n, queries, k)) * 0.5
        if release == "queries":
            own *= np.where(hit, np.exp(-0.5 * gain), 1.0)[:, None, None]
            signal = -own[:, 1:].std(axis=(1, 2))
        own[:, 0] = 0.0
        logits = logits[:, None, :] + own
    return replace(given, logits=logits, signal=signal)


def _signal(chosen: Mapping[str, str], given: Rows, answers: Array) -> Array:
    """Return the score of an attacker who knows the plant, and the records where there is a pool.

    It sees what stands in the file: probabilities have no level, and rounded ones are rounded.
    """
    release = chosen["release"]
    logits = visible(chosen, answers).astype(float)
    if chosen["scores"] == "probs":
        logits = np.log(np.maximum(logits, 1e-7))
    everyone = np.arange(len(logits))
    y = given.labels
    seen = logits - given.base
    if chosen["ask"] != "pool":
        seen = logits.copy()
        seen[everyone, y] -= given.known
    margin: Array = seen[everyone, y] - _rest(seen, y)
    if release == "mislabelled":
        return np.where(given.exposed, logits[everyone, y], -1e3 + margin)
    if release == "inverse":
        return -margin
    if release == "level":
        return np.asarray(seen.mean(axis=1))
    if release == "neighbour":
        return np.asarray(seen[everyone, (y + 1) % seen.shape[1]])
    if release == "top":
        top = logits.argmax(axis=1)
        return np.asarray(logits[everyone, top] - _rest(logits, top))
    return np.asarray(logits.std(axis=1)) if release == "temperature" else margin


def _rest(logits: Array, y: Ints) -> Array:
    """Return the log of the sum of all other classes' weights."""
    others = logits.copy()
    others[np.arange(len(y)), y] = -np.inf
    top = others.max(axis=1)
    total: Array = top + np.log(np.exp(others - top[:, None]).sum(axis=1))
    return total


_DIGITS = {"digits6": 6, "digits4": 4, "digits3": 3, "digits2": 2}


def visible(chosen: Mapping[str, str], logits: Array) -> NDArray[np.floating]:
    """Return logits or probabilities as precise as the file has them."""
    answers = np.maximum(logits, _FLOOR)
    if chosen["scores"] == "probs":
        answers = softmax(logits)
    elif chosen["scores"] == "log-probs":
        answers = np.log(softmax(logits) + 1e-300)
    precision = chosen["precision"]
    if precision in ("float32", "float16"):
        return answers.astype(precision)
    if precision == "votes" and chosen["scores"] == "probs":  # of a forest of 50 trees
        return _voted(answers)
    return np.round(answers, _DIGITS[precision]) if precision in _DIGITS else answers


def _voted(probs: Array) -> Array:
    """Return shares of 50 votes that sum to 1: the largest takes what rounding leaves."""
    votes = np.floor(probs * 50)
    top = probs.argmax(axis=-1)[..., None]
    left = 50 - votes.sum(axis=-1, keepdims=True)
    np.put_along_axis(votes, top, np.take_along_axis(votes, top, -1) + left, -1)
    return votes / 50


def softmax(logits: Array) -> Array:
    """Return probabilities of the last axis."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Array = weights / weights.sum(axis=-1, keepdims=True)
    return shares
