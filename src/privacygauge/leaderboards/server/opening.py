"""Opening a board: the database must agree with the owner's labels, limits and guard."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import zlib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sqlalchemy import Connection, Engine, RowMapping, insert, select, update

from privacygauge.core.checks import Bools
from privacygauge.errors import InputError
from privacygauge.leaderboards.guards import guard_for, guard_named
from privacygauge.leaderboards.honest import default_guard_of
from privacygauge.leaderboards.mechanism import content
from privacygauge.leaderboards.metrics import Metric, Values, chosen_metric, metric_named
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.own_metric import OwnMetric
from privacygauge.leaderboards.server.board import SCOPES, Board
from privacygauge.leaderboards.server.database import (
    BOARD,
    NAMES,
    begun_board,
    board_row,
    connect,
    database_name,
    refuse_unfinished,
    wait_for_makers,
    writing,
)

if TYPE_CHECKING:
    from privacygauge.leaderboards.server.request_parsing import HiddenLabels


def open_or_begin(
    database: str | Path,
    hidden: HiddenLabels,
    wanted: BoardOptions,
    budget: Budget,
) -> Board:
    """Return the board of a database, creating it if needed; see `server.open_board`."""
    if wanted.metric_name is not None:
        wanted.metric.truth(hidden.values, wanted.n_classes)
    # Checked before there is a database, so that a failure leaves none behind. If there may be a
    # board already, its own metric counts.
    may_exist = "://" in str(database) or Path(database).exists()
    first = None if may_exist else first_row(hidden.values, wanted)
    engine = connect(database)
    try:
        with writing(engine) as connection:
            wait_for_makers(connection)
            row = board_row(connection)
            if row is None:
                refuse_unfinished(connection)
                connection.execute(insert(BOARD).values(first or first_row(hidden.values, wanted)))
                row = begun_board(connection)
            if wanted.metric_name is None:
                metric = require_code(metric_named(row["metric"]))
            elif (metric := wanted.metric).name != row["metric"]:
                raise InputError(
                    f"{database_name(engine)} belongs to the metric {row['metric']}, got "
                    f"{metric.name}: begin another database"
                )
            name = database_name(engine)
            truth = checked_truth(connection, hidden, metric)
            if wanted.n_classes not in (None, row["n_classes"]):
                raise InputError(
                    f"{name} belongs to {row['n_classes']} classes, got {wanted.n_classes}: leave "
                    "the number out, or name another database"
                )
            mask = public_of(row)
            if wanted.guard is not None:
                seen = truth if mask is None else truth[mask]
                guard = guard_for(guard_named(wanted.guard), metric, seen)
                if guard.name != row["guard"]:
                    raise InputError(
                        f"{name} belongs to the guard {row['guard']}, got {guard.name}: what was "
                        "shown cannot be taken back, so begin another database for another guard"
                    )
            if wanted.scope not in (None, row["scope"]):
                raise InputError(
                    f"{name} belongs to a guard for each {row['scope']}, got {wanted.scope}: begin "
                    "another database"
                )
            if wanted.keep not in (None, row["keep"]):
                raise InputError(
                    f"{name} was begun {'with' if row['keep'] else 'without'} keeping submissions: "
                    "begin another database"
                )
            if wanted.public is not None:
                if mask is None:
                    raise InputError(
                        f"{name} was begun without a private part: begin another database"
                    )
                # Drawn class by class, a part holds its share of the points within one of each.
                drawn = int(np.count_nonzero(mask))
                if abs(drawn - wanted.public * len(mask)) > 1:
                    raise InputError(
                        f"{name} belongs to a public part of {drawn:,} of {len(mask):,} points, "
                        f"got the share {wanted.public:g}: leave the share out, or begin another "
                        "database"
                    )
            ids = _kept_names(connection, "points", hidden.ids)
            classes = _kept_names(connection, "classes", hidden.classes)
            limits = {field.name: getattr(budget, field.name) for field in fields(budget)}
            given = {name: value for name, value in limits.items() if value is not None}
            if given:
                # Limits of the budget that are None stay as they are in the database.
                connection.execute(update(BOARD).values(given))
    except InputError:
        engine.dispose()
        raise
    return replace(board_of(row, truth, engine, metric), ids=ids, classes=classes)


def board_of(row: RowMapping, truth: Values, engine: Engine, metric: Metric) -> Board:
    """Return the board of a row of `BOARD`."""
    mask = public_of(row)
    seen = truth if mask is None else truth[mask]
    return Board(
        holdout=Holdout(seen, row["n_classes"], metric),
        guard=guard_named(row["guard"]),
        scope=row["scope"],
        engine=engine,
        private=None if mask is None else Holdout(truth[~mask], row["n_classes"], metric),
        public=mask,
    )


def names_of_board(
    connection: Connection,
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Return the names of a board's points, (n,), and of its classes; None where it has none."""
    packed = [_packed_names(connection, of) for of in ("points", "classes")]
    points, classes = (
        tuple(json.loads(zlib.decompress(bytes(names)))) if names else None for names in packed
    )
    return points, classes


def in_board_order(connection: Connection, hidden: HiddenLabels) -> NDArray[np.generic]:
    """Return hidden values, (n,), in the order and with the class numbers of a board.

    A file of labels may have its rows in another order, or, once corrected, lack a class.

    Raises
    ------
    InputError
        If it has other points, or classes that the board does not have.
    """
    values = np.asarray(hidden.values)
    if all(
        _packed_names(connection, of) == _pack(names)
        for of, names in (("points", hidden.ids), ("classes", hidden.classes))
    ):
        # The usual case, without a second copy of a million names.
        return values
    points, classes = names_of_board(connection)
    if hidden.classes is not None:
        if classes is None:
            raise InputError(
                "labels must be numbers, as those that the board was begun with, got texts such as "
                f"{hidden.classes[0]!r}"
            )
        number = {name: i for i, name in enumerate(classes)}
        unknown = [name for name in hidden.classes if name not in number]
        if unknown:
            raise InputError(
                f"labels must be of the board's classes {', '.join(classes)}, got {unknown[0]!r}"
            )
        values = np.array([number[name] for name in hidden.classes])[values]
    if hidden.ids is None or points is None or hidden.ids == points:
        return values
    row = {name: i for i, name in enumerate(hidden.ids)}
    missing = [name for name in points if name not in row]
    if missing or len(row) != len(points):
        example = f"{missing[0]!r} is missing" if missing else f"{len(row):,} are named"
        raise InputError(
            f"labels must name the {len(points):,} points that the board was begun with: {example}"
        )
    return values[[row[name] for name in points]]


def checked_truth(connection: Connection, hidden: HiddenLabels, metric: Metric) -> Values:
    """Return the hidden values of the board, (n,), in its order, from the owner's file.

    Raises
    ------
    InputError
        If they are not the board's own.
    """
    row = begun_board(connection)
    named = hidden.ids is not None and _packed_names(connection, "points") is not None
    if hidden.classes is not None and _packed_names(connection, "classes") is None:
        # Texts in place of the numbers that the board was begun with, in alphabetical order.
        hidden = replace(hidden, classes=None)
    truth = metric.truth(in_board_order(connection, hidden), None)[0]
    if not hmac.compare_digest(_digest(truth, bytes(row["label_key"])), bytes(row["label_digest"])):
        if len(truth) != row["n"]:
            has = f"this one has {len(truth):,} labels for its {row['n']:,} points"
        elif named:
            has = "this one has other labels for the ids that it was begun with"
        else:
            has = "this one has other labels, or these in another order"
        raise InputError(
            f"{database_name(connection.engine)} belongs to another label file, {has}: name that "
            "file, or another database; corrected labels are for rescore, into a new one"
        )
    return truth


def _pack(names: tuple[str, ...] | None) -> bytes | None:
    return None if names is None else zlib.compress(json.dumps(names).encode(), 1)


def _packed_names(connection: Connection, of: str) -> bytes | None:
    query = select(NAMES.c.names).where(NAMES.c.of == of)
    packed: bytes | None = connection.execute(query).scalar_one_or_none()
    return packed


def _kept_names(
    connection: Connection, of: str, given: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Return the board's names of points or classes; those that are given are kept at first."""
    found = _packed_names(connection, of)
    packed = _pack(given)
    if found is None and packed is not None:
        connection.execute(insert(NAMES).values(of=of, names=packed))
    if found is None or found == packed:
        return given
    return tuple(json.loads(zlib.decompress(bytes(found))))


@dataclass(frozen=True)
class BoardOptions:
    """Options of a board: set on a new one, required of an existing one; None for any."""

    n_classes: int | None = None
    """Number of classes."""
    guard: str | None = None
    """Name of the guard."""
    scope: str | None = None
    """One of `board.SCOPES`."""
    keep: bool | None = None
    """Whether submissions are kept."""
    metric_name: str | Metric | None = None
    """Name of the metric."""
    public: float | None = None
    """Share of the points that the guard answers about."""
    mask: Bools | None = field(default=None, repr=False)
    """(n,) Mask of the points that the guard answers about, if they are known."""
    classes: tuple[str, ...] | None = field(default=None, repr=False)
    """Names of the classes from 0."""

    def __post_init__(self) -> None:
        if self.scope not in (None, *SCOPES):
            raise InputError(f"scope must be one of {', '.join(SCOPES)}, got {self.scope!r}")
        if self.public is not None and not 0.0 < self.public < 1.0:
            raise InputError(f"public must be a share in (0, 1), got {self.public}")
        if self.guard is not None:
            guard = guard_named(self.guard)
            # Names hold 6 digits: a guard must be the same when its name is read again.
            if guard_named(guard.name) != guard:
                raise InputError(
                    f"guard must have a number of at most 6 digits, got {self.guard!r}"
                )

    @property
    def metric(self) -> Metric:
        """The metric; accuracy by default."""
        return chosen_metric(self.metric_name or "accuracy")


def first_row(labels: ArrayLike, wanted: BoardOptions) -> dict[str, object]:
    """Return the row of a new board."""
    metric = wanted.metric
    if wanted.classes is not None:
        metric.refuse_texts(wanted.classes)
    truth, n_classes = metric.truth(labels, wanted.n_classes)
    mask = wanted.mask
    if (share := wanted.public) is not None:
        # Public points from every class if possible. The generator cannot be reproduced: an
        # attacker who knew the points would tune on the others.
        rng = np.random.default_rng(secrets.randbits(128))
        order = rng.permutation(len(truth))
        groups = truth[order] if truth.dtype.kind == "i" else np.zeros(len(truth))
        order = order[np.argsort(groups, kind="stable")]
        # Evenly along the sorted order, so that each class gives its share. Systematic sampling
        # with a random start.
        steps = np.floor(np.arange(len(truth) + 1) * share + rng.random())
        mask = np.zeros(len(truth), np.bool_)
        mask[order] = np.diff(steps) > 0
        for part in (mask, ~mask):
            if not part.any():
                raise InputError(f"public leaves a part of {len(truth)} points empty, got {share}")
            # Raise if a part lacks what the metric needs.
            metric.truth(truth[part], None)
    seen = truth if mask is None else truth[mask]
    if wanted.guard is None:
        guard = default_guard_of(Holdout(seen, n_classes, metric))
    else:
        guard = guard_for(guard_named(wanted.guard), metric, seen)
    # A keyed digest: without the key nobody can check guessed labels against it.
    key = secrets.token_bytes(32)
    return {
        "id": 1,
        "n": len(truth),
        "n_classes": n_classes,
        "label_key": key,
        "label_digest": _digest(truth, key),
        "metric": metric.name,
        "public": None if mask is None else np.packbits(mask).tobytes(),
        "points": metric.points(seen),
        "private_points": None if mask is None else metric.points(truth[~mask]),
        "guard": guard.name,
        "scope": wanted.scope or SCOPES[0],
        "keep": bool(wanted.keep),
        "used": 0,
        "asking": 0,
        # Not derived from a seed: anyone who knows the key can remove the noise.
        "state_key": secrets.token_bytes(16),
    }


def public_of(row: RowMapping) -> Bools | None:
    """Return the mask, (n,), of the points that the guard sees; None for all."""
    if row["public"] is None:
        return None
    bits = np.frombuffer(row["public"], np.uint8)
    return np.unpackbits(bits, count=row["n"]).astype(np.bool_)


def require_code(metric: Metric) -> Metric:
    """Return a metric that can score.

    Raises
    ------
    InputError
        If it is one of the user's own code, of which only the name is recorded.
    """
    if isinstance(metric, OwnMetric) and metric.function is None:
        raise InputError(
            f"metric {metric.name} is code of your own: name it again with --metric, for a "
            "database alone has no code run"
        )
    return metric


def _digest(truth: Values, key: bytes) -> bytes:
    return hashlib.blake2b(content(truth), key=key).digest()
