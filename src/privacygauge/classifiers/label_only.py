"""Label-only attacks: membership leaked by a model that returns nothing but a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifiers.held import Held, RecordNumbers, is_frame
from privacygauge.classifiers.learned import boosted_log_odds
from privacygauge.classifiers.trainer import Cohort, Trainer
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Observation, Scores
from privacygauge.core.rules import Cut
from privacygauge.errors import InputError

MOST_WORDS = 64
"""Largest number of words of a text that are changed one by one; the rest counts as one more."""

_CHANNELS = (1, 3, 4)
"""Numbers of channels by which the axis of channels of an image is recognised."""


@dataclass(frozen=True, eq=False)
class Changeable:
    """Records as numbers, and the way back to their own form."""

    numbers: Floats
    """(n, d) Finite numbers, NaN for missing values, and codes of categories."""
    coded: Bools
    """(d,) True for columns that hold codes of categories."""
    back: Callable[[Floats], Held]
    """Turns (m, d) numbers into records of the given form."""
    image: tuple[int, int, int] | None = None
    """(c, h, w) Shape of the image that a record's numbers form; None otherwise."""


def changeable(x: Held) -> Changeable:
    """Return records as numbers that noise can be added to.

    Parameters
    ----------
    x : ndarray (n, ...), array of n texts, or data frame
        Missing values stay missing. Texts are cut into words, each a category.

    Raises
    ------
    InputError
        If only the user's functions can look records up, or they hold other objects.
    """
    if is_frame(x):
        return _of_frame(x)
    if not isinstance(x, np.ndarray):
        raise InputError(
            "label_only changes records, and a Training looks them up itself: give x and a "
            "function of records, classes and a random state"
        )
    if x.dtype.kind in "biuf":
        shape = x.shape[1:]
        image = None
        last = False
        if len(shape) == 2:
            image = (1, *shape)
        elif len(shape) == 3:
            # Channels first if both ends could be channels, as PyTorch has them.
            last = shape[0] not in _CHANNELS and shape[2] in _CHANNELS
            image = (shape[2], *shape[:2]) if last else shape
        ordered = np.moveaxis(x, -1, 1) if last else x
        numbers = ordered.reshape(len(x), -1).astype(np.float64)
        if np.isinf(numbers).any():
            raise InputError("label-only attacks need records of finite numbers, or missing ones")

        def back(points: Floats) -> Held:
            # Noise leaves whole numbers and truth values, which only the record's type can hold.
            whole = np.rint(points) if x.dtype.kind in "biu" else points
            found = whole.reshape(len(points), *ordered.shape[1:]).astype(x.dtype, copy=False)
            return np.moveaxis(found, 1, -1) if last else found

        return Changeable(numbers, np.zeros(numbers.shape[1], np.bool_), back, image)
    if x.ndim == 1 and all(isinstance(text, str) for text in x.tolist()):
        return _of_texts(x)
    if x.ndim == 2:
        # Columns of mixed types, as arrays of objects hold, are those of a frame.
        import pandas as pd

        of_frame = _of_frame(pd.DataFrame(x).infer_objects())
        return Changeable(
            of_frame.numbers, of_frame.coded, lambda points: of_frame.back(points).to_numpy(object)
        )
    raise InputError("label-only attacks need records of numbers, texts, images or a data frame")


def _of_frame(x: Any) -> Changeable:
    table = x if hasattr(x, "iloc") else x.to_pandas()
    columns: list[Floats] = []
    known: list[Any] = []
    for place in range(table.shape[1]):
        column = table.iloc[:, place]
        if column.dtype.kind in "iuf":
            columns.append(column.to_numpy(np.float64, na_value=np.nan))
            known.append(None)
        else:
            # A missing value is one more category.
            codes, values = column.factorize(use_na_sentinel=True)
            columns.append(np.where(codes < 0, len(values), codes).astype(np.float64))
            known.append(values)
    coded = np.array([values is not None for values in known], np.bool_)

    def back(points: Floats) -> Held:
        import pandas as pd

        made = []
        for place, values in enumerate(known):
            kind = table.dtypes.iloc[place]
            numbers = points[:, place]
            if values is None:
                # Noise is added to whole numbers too: the model expects them rounded.
                whole = np.rint(numbers) if kind.kind in "iu" else numbers
                made.append(pd.Series(whole).astype(kind))
                continue
            codes = numbers.astype(np.int64)
            if not len(values):  # a column without any value
                made.append(pd.Series([None] * len(codes), dtype=kind))
                continue
            given = values.take(np.minimum(codes, max(len(values) - 1, 0)))
            series = pd.Series(given, dtype=kind if (codes < len(values)).all() else None)
            missing = codes >= len(values)
            made.append(series.mask(missing) if missing.any() else series)
        found = pd.concat(made, axis=1)
        found.columns = table.columns
        if x is table:
            return found
        columns = {name: found[name].tolist() for name in x.columns}
        return type(x)(columns, schema=x.schema)

    return Changeable(np.column_stack(columns), coded, back)


def _of_texts(x: NDArray[Any]) -> Changeable:
    words = [text.split(" ", MOST_WORDS) for text in x.tolist()]
    width = max(map(len, words))
    # The empty text fills the places after the end of a text; `back` leaves it out.
    padded = np.array([own + [""] * (width - len(own)) for own in words], dtype=object)
    known, codes = np.unique(padded.astype(np.str_), return_inverse=True)
    numbers: Ints = codes.reshape(padded.shape)

    def back(points: Floats) -> Held:
        rows = known[points.astype(np.int64)].tolist()
        return np.array([" ".join(word for word in row if word) for row in rows], dtype=object)

    return Changeable(numbers.astype(np.float64), np.ones(width, np.bool_), back)


BLOCK = 100_000
"""Queries per call to a model."""


@dataclass(frozen=True)
class PointQueries:
    """Queries of one kind for every record."""

    points: Floats
    """(n, q, d) Points to query, q per record."""
    distance: Floats | None = None
    """(n, s, t) Distance of each point from its record, in standard deviations of the columns, at t
    steps on each of s paths; None for points around the record."""

    @property
    def n(self) -> int:
        """Queries per record, q."""
        return int(self.points.shape[1])

    def read(self, labels: Ints, y: Ints, n_classes: int) -> Floats:
        """Return the answers as scores that sum to 1 over the classes, (n, k).

        For points around a record, each class's share of the answers. For paths, d / (d + D) for
        the true class, where d is the shortest distance at which the answer changes and D the
        median length of paths; the other classes share the rest equally.
        """
        rows = np.arange(len(y))
        if self.distance is None:
            votes = np.zeros((len(y), n_classes))
            np.add.at(votes, (rows[:, None], labels), 1.0 / labels.shape[1])
            return votes
        # (n, s, t): True up to the first step that is not answered with the record's class.
        kept = np.logical_and.accumulate(
            (labels == y[:, None]).reshape(self.distance.shape), axis=2
        )
        # Where no answer changes, the boundary is at least as far as the last point.
        first = np.minimum(kept.sum(axis=2), kept.shape[2] - 1)
        nearest = np.take_along_axis(self.distance, first[:, :, None], axis=2).min(axis=(1, 2))
        kept_share = nearest / (nearest + np.median(self.distance[:, :, -1]) + 1e-12)
        found = np.repeat(((1 - kept_share) / (n_classes - 1))[:, None], n_classes, axis=1)
        found[rows, y] = kept_share
        return found


@dataclass(frozen=True)
class LabelOnlyQueries:
    """Queries that a label-only adversary makes about each record.

    Choquette-Choo, Tramèr, Carlini & Papernot (2021), sections 3.3 to 3.5; Li & Zhang (2021).
    """

    levels: tuple[float, ...] = (0.1, 0.2, 0.4, 0.8)
    """Noise levels, above 0, in standard deviations of each column. Categories are taken from
    another record, with a probability of a quarter of the level, at most 1/2."""
    copies: int = 10
    """Queries per noise level."""
    neighbours: int = 3
    """Paths to the nearest records of other classes; 0 for none."""
    steps: int = 10
    """Queries per path."""
    image: tuple[int, int, int] | None = None
    """(c, h, w) if records are flattened images. Images, flattened or not, are also shifted by a
    pixel and rotated by 5 degrees."""
    views: bool = False
    """Whether the user's functions look records up: then the queries are the record itself and any
    views that these functions make."""

    def __post_init__(self) -> None:
        if self.copies < 1 or self.neighbours < 0 or self.steps < 1:
            raise InputError("copies and steps must be at least 1, neighbours at least 0")
        if not all(level > 0 for level in self.levels):
            raise InputError(f"levels must be above 0, got {self.levels}")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the signals."""
        if self.views:
            return ("views",)
        augmented = ("augmentation",) if self.image else ()
        ways = ("boundary-distance",) if self.neighbours else ()
        return (*(f"noise-{level:g}" for level in self.levels), *augmented, *ways)

    @property
    def n_queries(self) -> int:
        """Queries per record, the record itself included."""
        if self.views:
            return 1
        augmented = len(_MOVES) if self.image else 0
        return 1 + len(self.levels) * self.copies + augmented + self.neighbours * self.steps

    def fitting(self, x: Held) -> LabelOnlyQueries:
        """Return the queries adapted to records: moves for images, views for `RecordNumbers`."""
        if isinstance(x, RecordNumbers):
            return replace(self, image=None, views=True)
        return replace(self, image=self._changeable(x).image)

    def asked(self, x: Held, y: Ints, seed: int) -> dict[str, PointQueries]:
        """Return the queries of each kind, made in the same way for members and non-members.

        Parameters
        ----------
        x : ndarray (n, ...), array of n texts, or data frame
        y : ndarray of int, shape (n,)
        seed : int
        """
        return self._asked(self._changeable(x), y, seed)

    def points(self, x: Held, y: Ints, seed: int) -> tuple[Held, tuple[PointQueries, ...]]:
        """Return all n * n_queries points to query: the records, then the points kind by kind."""
        given = self._changeable(x)
        kinds = tuple(self._asked(given, y, seed).values())
        d = given.numbers.shape[1]
        every = np.concatenate([given.numbers, *(a.points.reshape(-1, d) for a in kinds)])
        return given.back(every), kinds

    def _changeable(self, x: Held) -> Changeable:
        given = changeable(x)
        d = given.numbers.shape[1]
        image = given.image or self.image
        if image is not None and int(np.prod(image)) != d:
            raise InputError(f"an image {image} has {int(np.prod(image))} numbers, not {d}")
        return replace(given, image=image)

    def _asked(self, given: Changeable, y: Ints, seed: int) -> dict[str, PointQueries]:
        x = given.numbers
        known = np.where(np.isnan(given.numbers), 0.0, 1.0)
        n = np.maximum(known.sum(axis=0), 1)
        filled = np.nan_to_num(given.numbers)
        if known.all():
            spread: Floats = given.numbers.std(axis=0)
        else:
            centred = (filled - filled.sum(axis=0) / n) * known
            spread = np.sqrt(np.square(centred).sum(axis=0) / n)
        groups = [np.array([j]) for j in np.flatnonzero(given.coded)]
        numbers = np.flatnonzero(~given.coded)
        # Numeric one-hot columns are categories, too; their groups index the numeric columns.
        groups += [numbers[group] for group in category_groups(x[:, numbers])]
        found = {
            f"noise-{level:g}": PointQueries(
                _noisy(x, spread, groups=groups, level=level, copies=self.copies, seed=seed)
            )
            for level in self.levels
        }
        if given.image is not None:
            found["augmentation"] = PointQueries(_shift_and_rotate(x, given.image))
        if self.neighbours:
            found["boundary-distance"] = _ways(
                given,
                y,
                spread=spread,
                groups=groups,
                sizes=(self.neighbours, self.steps),
                seed=seed,
            )
        return found


def label_scores(labels: Ints, kinds: tuple[PointQueries, ...], y: Ints, n_classes: int) -> Floats:
    """Return the label-only scores of each record by each kind of query, (f, n, k).

    `labels` are the answers to `LabelOnlyQueries.points`. Scores of a record sum to 1 and are
    largest at the class predicted for the record itself: every misclassified record scores below
    every correctly classified one, as if its distance to the boundary were 0.
    """
    n = len(y)
    own = np.eye(n_classes)[labels[:n]]
    ends = n * (1 + np.cumsum([a.n for a in kinds]))
    parts = np.split(labels, [n, *ends[:-1]])[1:]
    read = (a.read(part.reshape(n, -1), y, n_classes) for a, part in zip(kinds, parts, strict=True))
    # 1.01 outweighs the votes, which are at most 1: the record's own answer decides the largest.
    return np.stack([(1.01 * own + votes) / 2.01 for votes in read])


def told_of_views(answers: Floats, n_classes: int) -> Floats:
    """Return the label-only scores of records that are looked up, (n, k), as `label_scores` does.

    `answers` holds probabilities or logits, (n, k), or (n, q, k) for q queries, the record itself
    first.
    """
    labels = answers.reshape(len(answers), -1, n_classes).argmax(axis=2)
    said = np.eye(n_classes)[labels]
    found: Floats = (1.01 * said[:, 0] + said.mean(axis=1)) / 2.01
    return found


@dataclass(frozen=True)
class LabelOnlyTrainer:
    """Trains like another trainer, and queries each model for classes only."""

    inner: Trainer
    """The wrapped trainer."""
    only: LabelOnlyQueries
    """Queries to each model."""
    seed: int
    """Seed of the queries, which are the same for every model."""

    logits = False

    @property
    def name(self) -> str:
        """Name of the kind of model, as reports print it."""
        return self.inner.name

    @property
    def kinds(self) -> int:
        """Number of kinds of queries."""
        return len(self.only.names)

    def around(self, inner: Trainer) -> Trainer:
        """Return the same wrapping of another trainer."""
        return replace(self, inner=inner)

    def describe(self) -> Mapping[str, Any]:
        """Return the inner trainer's description, and the queries."""
        return {**self.inner.describe(), "label-only": f"{self.only}, seed {self.seed}"}

    def train(self, cohort: Cohort) -> NDArray[Any]:
        """Return the `label_scores` of each model, kind by kind, (m, f * n, k).

        The cohort must ask about all n records, once for each of the f kinds of queries.
        """
        n = len(cohort.x)
        if self.only.views:
            seen = self.inner.train(cohort)
            return np.stack([told_of_views(said, cohort.n_classes) for said in seen])
        points, kinds = self.only.points(cohort.x, cohort.y, self.seed)
        outside = np.zeros((len(cohort), len(points)), np.bool_)
        # The points become further records that no model is trained on; their labels are unused.
        if hasattr(cohort.x, "iloc"):
            import pandas as pd

            joined: Held = pd.concat([cohort.x, points], ignore_index=True)
        elif is_frame(cohort.x):
            joined = cohort.x.vstack(points)
        else:
            joined = np.concatenate([cohort.x, points.astype(cohort.x.dtype, copy=False)])
        extended = replace(
            cohort,
            x=joined,
            y=np.concatenate([cohort.y, np.zeros(len(points), cohort.y.dtype)]),
            inside=np.concatenate([cohort.inside, outside], axis=1),
            asked=np.arange(n, n + len(points)),
        )
        found = np.full(cohort.shape, np.nan)
        for i in range(len(cohort)):
            # One by one: the answers to all queries of many models would not fit.
            said = self.inner.train(extended[i : i + 1])[0]
            if np.isfinite(said).all():
                of_model = label_scores(said.argmax(axis=1), kinds, cohort.y, cohort.n_classes)
                found[i] = of_model.reshape(-1, cohort.n_classes)
        return found


@dataclass(frozen=True)
class LearnedRobustness:
    """Gradient boosting on all label-only signals together."""

    signals: tuple[str, ...]
    """Names of the observation's signals to use."""

    name = "learned"
    variant = "label-only"
    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        shadow = observation.shadow_with(self.signals[0], self.name)
        if isinstance(shadow, Skipped):
            return shadow
        sides = (shadow.signals, shadow.stratum), (observation.signals, observation.stratum)
        known, asked = (
            np.column_stack([*(values[name] for name in self.signals), stratum])
            for values, stratum in sides
        )
        member = shadow.member.astype(np.int64)
        return Scores(
            boosted_log_odds(known, member, asked, int(rng.integers(2**31))),
            Cut(0.0, "of even odds"),
        )


def category_groups(x: NDArray[Any]) -> list[Ints]:
    """Return groups of columns that encode one category: adjacent one-hot columns, or a single one.

    Examples
    --------
    >>> x = np.array([[0.3, 1, 0, 0], [1.2, 0, 1, 1]])
    >>> [group.tolist() for group in category_groups(x)]
    [[1, 2], [3]]
    """
    binary = [j for j in range(x.shape[1]) if np.isin(x[:, j], (0, 1)).all()]
    found: list[Ints] = []
    # From the first binary column left: the shortest run of adjacent ones that sum to 1 in every
    # row is one category, else the column alone.
    while binary:
        run = [j for i, j in enumerate(binary) if j == binary[0] + i]
        sums = np.cumsum(x[:, run], axis=1)
        whole = np.flatnonzero((sums == 1).all(axis=0))
        size = int(whole[0]) + 1 if len(whole) else 1
        found.append(np.array(run[:size]))
        binary = binary[size:]
    return found


def _noisy(
    x: Floats, spread: Floats, groups: list[Ints], level: float, copies: int, seed: int
) -> Floats:
    rng = seeds.stream(seed, "label-only", f"noise {level:g}")
    n = len(x)
    found = np.repeat(x[:, None], copies, axis=1)
    coded = np.isin(np.arange(x.shape[1]), np.concatenate([*groups, np.empty(0, np.int64)]))
    found[:, :, ~coded] += rng.normal(size=(n, copies, int((~coded).sum()))) * (
        level * spread[~coded]
    )
    for group in groups:
        # A category changes at random: noise on its code would mean nothing.
        swapped = rng.random((n, copies)) < min(0.5, level / 4)
        other = rng.integers(n, size=(n, copies))
        found[:, :, group] = np.where(swapped[:, :, None], x[:, group][other], found[:, :, group])
    return found


_MOVES = ((0, -1, 0), (0, 1, 0), (-1, 0, 0), (1, 0, 0), (0, 0, -5), (0, 0, 5))
"""Moves of an image: rows and columns to shift by, and degrees to rotate by."""


def _shift_and_rotate(x: Floats, image: tuple[int, int, int]) -> Floats:
    """Return each image shifted by a pixel in four directions, and rotated both ways."""
    from scipy import ndimage

    images = x.reshape(len(x), *image)
    found = []
    for rows, columns, degrees in _MOVES:
        if degrees:
            # Images are (n, c, h, w).
            given = {"axes": (2, 3), "reshape": False, "order": 1, "mode": "nearest"}
            moved = ndimage.rotate(images, degrees, **given)
        else:
            moved = ndimage.shift(images, (0, 0, rows, columns), order=0, mode="nearest")
        found.append(moved.reshape(len(x), -1))
    return np.stack(found, axis=1)


def _ways(
    given: Changeable,
    y: Ints,
    spread: Floats,
    groups: list[Ints],
    sizes: tuple[int, int],
    seed: int,
) -> PointQueries:
    """Return points on the paths from each record to the nearest records of other classes.

    `sizes` are the number of paths and the number of steps on each.
    """
    from sklearn.neighbors import NearestNeighbors

    n_ways = min(sizes[0], int(len(y) - np.bincount(y).max()))
    if n_ways < 1:
        raise InputError("a way to another class needs records of two classes")
    x = given.numbers
    scale = np.where(spread > 0, spread, 1.0)
    numbers = given.numbers[:, ~given.coded] / scale[~given.coded]
    if np.isnan(numbers).any():
        known = ~np.isnan(numbers)
        middle = np.nan_to_num(numbers).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        numbers = np.where(known, numbers, middle)
    if not given.coded.any():
        z = numbers
    else:
        # Categories share buckets, so that many words or names do not need a column each.
        codes = given.numbers[:, given.coded].astype(np.int64)
        # Two primes mix code and column. A category that differs changes two counts, so the root
        # of 1/2 gives it a distance of 1.
        bucket = (codes * 7919 + np.arange(codes.shape[1]) * 104_729) % _BUCKETS
        counts = np.zeros((len(codes), _BUCKETS))
        np.add.at(counts, (np.arange(len(codes))[:, None], bucket), np.sqrt(0.5))
        z = np.hstack([numbers, counts])
    # Rows at the ends of each record's paths.
    ends = np.empty((len(x), n_ways), np.int64)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        other = np.flatnonzero(y != label)
        near = NearestNeighbors(n_neighbors=n_ways).fit(z[other])
        ends[own] = other[near.kneighbors(z[own], return_distance=False)]
    # Points and distances are (n, paths, steps, ...); the last step is the other record itself.
    share = np.arange(1, sizes[1] + 1) / sizes[1]
    # A value that is missing at either end stays as it is.
    way = np.nan_to_num(x[ends] - x[:, None])[:, :, None]
    points = x[:, None, None] + share[:, None] * way
    rng = seeds.stream(seed, "label-only", "ways")
    for group in groups:
        # A category has no values in between: each changes at its own step.
        changed = share >= rng.random((len(x), n_ways, 1))
        points[..., group] = np.where(
            changed[..., None], x[ends][:, :, None, group], x[:, None, None, group]
        )
    apart = np.nan_to_num((points - x[:, None, None]) / scale)
    # A changed category counts as one standard deviation, whatever its code.
    apart[..., given.coded] = apart[..., given.coded] != 0
    distance = np.linalg.norm(apart, axis=3)
    return PointQueries(points.reshape(len(x), -1, x.shape[1]), distance)


_BUCKETS = 128
"""Number of columns that all categories together share when distances are measured."""
