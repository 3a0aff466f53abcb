"""Target attention: networks that read the synthetic rows nearest to the target."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.runs.threads import one_thread
from privacygauge.tables.attacks.attack import Answer, Tables, View
from privacygauge.tables.attacks.meta import stratified_folds
from privacygauge.tables.distance import Cosine
from privacygauge.tables.table import Schema, require_at_least

if TYPE_CHECKING:
    import torch


# Networks of target attention, trained in parallel.

HIDDEN = 20
"""Hidden units of the network that embeds rows."""
EMBEDDING = 20
"""Dimension of a row's embedding."""
ATTENTION = 15
"""Dimension of queries, keys and values."""
LAST = 10
"""Hidden units of the network that scores a table."""

BLOCK = 256
"""Tables scored at once."""


@dataclass(frozen=True)
class AttentionTraining:
    """Training of the networks: AdamW on the cross-entropy, with early stopping."""

    epochs: int = 50
    """Most passes over the tables, at least 1."""
    patience: int = 6
    """Passes without an improvement of any network's validation loss before training stops, at
    least 1."""
    batch: int = 20
    """Tables per step, at least 1."""
    learning_rate: float = 0.002
    """Learning rate, above 0."""
    weight_decay: float = 0.01
    """Weight decay, at least 0; multiplied by the learning rate in each step."""
    dropout: float = 0.15
    """Share of hidden units dropped, in [0, 1)."""

    def __post_init__(self) -> None:
        require_at_least(self, epochs=1, patience=1, batch=1)
        if not self.learning_rate > 0:
            raise InputError(f"learning_rate must be above 0, got {self.learning_rate}")
        if not self.weight_decay >= 0:
            raise InputError(f"weight_decay must be at least 0, got {self.weight_decay}")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout must be in [0, 1), got {self.dropout}")


@dataclass(frozen=True, eq=False)
class Nearest:
    """Unique rows of tables nearest to the target, nearest first."""

    rows: NDArray[np.float32]
    """(k, top, F') Encoded records, then multiplicity and closeness; 0 in padding."""
    there: Bools
    """(k, top) True for a row, False for padding where a table has fewer unique rows."""
    target: NDArray[np.float32]
    """(F',) The target in the same form: multiplicity 1, distance 0."""


@dataclass(frozen=True, eq=False)
class Games:
    """Shadow tables for training, and released tables to score."""

    shadows: Nearest
    """Neighbours in the adversary's own s tables."""
    inside: Bools
    """(s,) True where the table was made with the target."""
    fold: Ints
    """(s,) Fold of each table, from 0; one network per fold."""
    released: Nearest
    """Neighbours in the t released tables."""


Weights = dict[str, "torch.Tensor"]
"""Tensors (m, ...) by name, one row per network."""


WITH_BIAS = ("embed_1", "embed_2", "score_1", "score_2")
"""Matrices of the two perceptrons, which have biases."""


def initial(width: int, m: int, rng: np.random.Generator) -> Weights:
    """Return initial weights of m networks, for encoded rows of this width.

    They are uniform in +-1 / sqrt(fan-in).
    """
    import torch

    shapes = {
        "embed_1": (width, HIDDEN),
        "embed_2": (HIDDEN, EMBEDDING),
        "query": (EMBEDDING, ATTENTION),
        "key": (EMBEDDING, ATTENTION),
        "value": (EMBEDDING, ATTENTION),
        "score_1": (ATTENTION, LAST),
        "score_2": (LAST, 1),
    }
    weights: Weights = {}
    for name, (n_in, n_out) in shapes.items():
        # The bias is drawn as one more row of the matrix.
        rows = n_in + (name in WITH_BIAS)
        drawn = rng.uniform(-1.0, 1.0, (m, rows, n_out)).astype(np.float32) / math.sqrt(n_in)
        weights[name] = torch.from_numpy(drawn[:, :n_in].copy())
        if name in WITH_BIAS:
            weights[f"{name}_bias"] = torch.from_numpy(drawn[:, n_in:].copy())
    return weights


@dataclass(frozen=True, eq=False)
class Masks:
    """Dropout masks: factors of the hidden units, 0 or 1 / (share kept)."""

    target: torch.Tensor | float = 1.0
    """(m, 1, HIDDEN) Mask of the network that embeds the target."""
    rows: torch.Tensor | float = 1.0
    """(b, 1, m, HIDDEN) Mask of the network that embeds rows."""
    last: torch.Tensor | float = 1.0
    """(m, b, LAST) Mask of the scoring network."""


def network_scores(
    weights: Weights, rows: torch.Tensor, there: torch.Tensor, target: torch.Tensor, masks: Masks
) -> torch.Tensor:
    """Return the score (m, b) that each of m networks gives to each of b tables.

    Parameters
    ----------
    weights : dict of Tensor
        Weights of m networks, as returned by `initial`.
    rows : Tensor of shape (b, top, F')
    there : Tensor of bool, shape (b, top)
        False for padding. Every table must have at least one row.
    target : Tensor of shape (F',)
    masks : Masks
        Dropout masks.

    Notes
    -----
    Algorithm 1 of Meeus et al. (2023), before its sigmoid, with keys in line 11. Embeddings, keys
    and values are linear in the hidden units of a row, so the query is carried back to the hidden
    units, and these are summed before they become values: the same result for a fraction of the
    work. Terms common to all rows cancel in the softmax.
    """
    import torch

    b, top, width = rows.shape
    m = len(weights["embed_1"])
    # The first layers of all networks side by side: one product for all of them.
    flat = weights["embed_1"].transpose(0, 1).reshape(width, m * HIDDEN)
    bias = weights["embed_1_bias"].reshape(m * HIDDEN)
    hidden = torch.relu(torch.addmm(bias, rows.reshape(b * top, width), flat))
    hidden = hidden.view(b, top, m, HIDDEN) * masks.rows
    own = torch.relu(target @ weights["embed_1"] + weights["embed_1_bias"][:, 0])[:, None]
    embedded = (own * masks.target) @ weights["embed_2"] + weights["embed_2_bias"]
    query = embedded @ weights["query"]
    # (m, HIDDEN): query . key = hidden . (embed_2 key query^T), up to a constant per table.
    carried = (weights["embed_2"] @ weights["key"] @ query.transpose(1, 2))[:, :, 0]
    attention = (hidden * carried).sum(-1).masked_fill(~there[:, :, None], -math.inf)
    # b tables, t rows, m networks, h hidden units.
    summed = torch.einsum("btm,btmh->mbh", torch.softmax(attention, 1), hidden)
    value = (summed @ weights["embed_2"] + weights["embed_2_bias"]) @ weights["value"]
    last = torch.relu(value @ weights["score_1"] + weights["score_1_bias"]) * masks.last
    return (last @ weights["score_2"] + weights["score_2_bias"])[:, :, 0]


def train(
    games: Games, training: AttentionTraining, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Train the networks; return scores of own tables (m, s) and of released ones (m, t).

    Network i learns from all folds but i and i + 1, and keeps its scores from the pass with the
    lowest cross-entropy on fold i + 1. It never sees fold i.
    """
    import torch

    # A caller's no_grad or inference_mode would leave no gradients.
    with torch.inference_mode(mode=False), torch.enable_grad():
        step = _Step(games, training, rng)
        # Scores are kept, not weights: only the scores of the best pass are needed afterwards.
        m = step.n_networks
        s = len(games.fold)
        least = np.full(m, np.inf)
        own = np.zeros((m, s))
        asked = np.zeros((m, len(games.released.rows)))
        valid = games.fold == (np.arange(m)[:, None] + 1) % m
        waited = 0
        for _ in range(training.epochs):
            order = rng.permutation(s)
            for start in range(0, s, training.batch):
                step.take(order[start : start + training.batch])
            scores = step.scores(games.shadows)
            # The cross-entropy (m,) of each network on its validation fold:
            # -log sigmoid(x) = log(1 + exp(-x)), with the sign of the label.
            entropy = np.logaddexp(0.0, np.where(games.inside, -scores, scores))
            losses = (entropy * valid).sum(axis=1) / valid.sum(axis=1)
            better = losses < least
            # The networks train in one batch, so all go on until none has improved for `patience`
            # passes.
            waited = 0 if better.any() else waited + 1
            if better.any():
                least[better] = losses[better]
                own[better] = scores[better]
                asked[better] = step.scores(games.released)[better]
            if waited == training.patience:
                break
        return own, asked


class _Step:
    """AdamW steps for all networks at once; the weights change in place."""

    def __init__(self, games: Games, training: AttentionTraining, rng: np.random.Generator) -> None:
        import torch

        self.games = games
        self.training = training
        self.n_networks = int(games.fold.max()) + 1
        self._weights = initial(games.shadows.rows.shape[2], self.n_networks, rng)
        self._generator = torch.Generator().manual_seed(int(rng.integers(2**63)))
        self._tensors = [tensor.requires_grad_() for tensor in self._weights.values()]
        self._first = [torch.zeros_like(tensor) for tensor in self._tensors]
        self._second = [torch.zeros_like(tensor) for tensor in self._tensors]
        self._counts = [tensor.new_zeros(()) for tensor in self._first]
        # (m, s) True where network i must not learn from a table: its test and its validation fold.
        networks = np.arange(self.n_networks)[:, None]
        left_out = (games.fold == networks) | (games.fold == (networks + 1) % self.n_networks)
        self._learns = torch.from_numpy((~left_out).astype(np.float32))
        self._inside = torch.from_numpy(games.inside.astype(np.float32))
        self._target = torch.from_numpy(games.shadows.target)

    def take(self, tables: Ints) -> None:
        """Take one step on a batch of tables."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        # The function behind torch.optim.AdamW: importing the class loads the compiler.
        from torch.optim.adamw import adamw

        index = torch.from_numpy(tables)
        near = self.games.shadows
        rows = torch.from_numpy(near.rows[tables])
        there = torch.from_numpy(near.there[tables])
        m = self.n_networks
        b = len(tables)
        masks = Masks(self._mask(m, 1, HIDDEN), self._mask(b, 1, m, HIDDEN), self._mask(m, b, LAST))
        found = network_scores(self._weights, rows, there=there, target=self._target, masks=masks)
        truth = self._inside[index].expand_as(found)
        learns = self._learns[:, index]
        losses = binary_cross_entropy_with_logits(found, truth, reduction="none") * learns
        # A batch may hold no table from which a network learns. Summed over networks: their weights
        # are separate, so each gets its own gradient.
        loss = (losses.sum(1) / learns.sum(1).clamp(min=1.0)).sum()
        slopes = list(torch.autograd.grad(loss, self._tensors))
        with torch.no_grad():
            adamw(
                self._tensors,
                slopes,
                self._first,
                self._second,
                [],
                self._counts,
                foreach=False,
                fused=True,
                amsgrad=False,
                beta1=0.9,
                beta2=0.999,
                lr=self.training.learning_rate,
                weight_decay=self.training.weight_decay,
                eps=1e-8,
                maximize=False,
            )

    def _mask(self, *shape: int) -> torch.Tensor | float:
        kept = 1.0 - self.training.dropout
        if kept == 1.0:
            return 1.0
        mask = self._target.new_empty(shape)
        return mask.bernoulli_(kept, generator=self._generator).div_(kept)

    def scores(self, near: Nearest) -> Floats:
        """Return the scores (m, k) of tables, without dropout."""
        import torch

        result = np.zeros((self.n_networks, len(near.rows)))
        with torch.no_grad():
            for start in range(0, len(near.rows), BLOCK):
                part = slice(start, start + BLOCK)
                rows = torch.from_numpy(near.rows[part])
                there = torch.from_numpy(near.there[part])
                found = network_scores(
                    self._weights, rows, there=there, target=self._target, masks=Masks()
                )
                result[:, part] = found.numpy()
        return result


CELLS = 1 << 22
"""Cells of tables prepared at once."""

DIGITS = 12
"""Decimals to which distances are rounded, so that rounding errors do not break ties."""

CLOSEST = 1e-4
"""Distance below which a row counts as a copy of the target."""


@dataclass(frozen=True)
class TargetAttention:
    """Attention network that learns from whole tables which rows near the target reveal it.

    Notes
    -----
    Meeus et al. (2023), appendix A and algorithm 1. From every table the unique rows nearest to the
    target are read, each with its multiplicity and its distance (equation 5). A small network
    embeds rows and target; the target's query weights the rows' values by a softmax over their
    keys; a second network turns the sum into a score.

    Differences from the paper, and choices that it leaves open:

    - Line 11 of the algorithm multiplies the query by values and never uses the keys: keys are
      meant, and used here.
    - "Continuous attributes remain untouched": here they are scaled to [0, 1] over the schema's
      range, since incomes next to one-hot categories drown everything else.
    - A multiplicity m enters as log2(1 + m), which is 1 for a single row, as for the target.
    - A distance enters by its logarithm, as `closeness`: otherwise a copy of the target hardly
      differs from its neighbours, and tables with and without it are not distinguished.
    - A table with fewer unique rows is padded, and padding has no weight in the softmax.
    - The paper names no optimiser: see `AttentionTraining` for ours. Dropout applies to the hidden
      units of both networks, with one mask per table.

    Several networks are trained, each without two of the equally large folds of the adversary's
    tables: one fold stops its training early, and the network scores the other. Released tables get
    the mean of the networks' scores.
    """

    top: int = 100
    """Unique rows read per table, at least 1."""
    folds: int = 8
    """Folds of the adversary's tables, one network each; at least 3."""
    training: AttentionTraining = field(default_factory=AttentionTraining)
    """Training settings of the networks."""

    name = "target-attention"
    variant = ""

    def __post_init__(self) -> None:
        require_at_least(self, top=1)
        if self.folds < 3:
            raise InputError(
                f"folds must be at least 3, to learn, to stop and to score, got {self.folds}"
            )

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        """Return the log-odds that the target was in, for every table.

        Parameters
        ----------
        view : View
            View with at least `folds` tables made with the target and as many without.
        rng : numpy.random.Generator
            Draws the folds, the initial weights, the order of tables and the dropout.

        Returns
        -------
        Answer or Skipped
            Skipped if torch is not installed or there are too few tables.
        """
        if find_spec("torch") is None:
            return Skipped(self.name, "needs torch: pip install 'privacygauge[torch]'")
        fewest = int(min(view.inside.sum(), (~view.inside).sum()))
        if fewest < self.folds:
            return Skipped(
                self.name,
                f"needs at least {self.folds} tables with and without the target, got {fewest}",
            )
        reader = Reader.of(view.schema, view.target, self.top, rng)
        shadows = reader.nearest(view.shadows)
        released = reader.nearest(view.released)
        fold = stratified_folds(view.inside, self.folds, rng)
        games = Games(shadows, view.inside, fold, released)
        import torch  # noqa: F401  -- what is loaded within one_thread keeps its limit

        with one_thread():
            own, asked = train(games, self.training, rng)
        # An own table is scored by the network that saw its fold neither in training nor in
        # stopping.
        return Answer(own[fold, np.arange(len(fold))], asked.mean(axis=0))


@dataclass(frozen=True, eq=False)
class Encoding:
    """Encoding of records as numbers: one-hot categories, numbers scaled to [0, 1].

    A missing number is 0, with a 1 in an indicator column; every numeric column that may have
    missing values has one.
    """

    schema: Schema
    """Schema of the records."""

    sizes: Ints = field(init=False)
    """(F_cat,) Number of codes of each categorical column."""
    n_numbers: int = field(init=False)
    """Number of columns that encode numbers."""

    def __post_init__(self) -> None:
        columns = self.schema.columns
        sizes = np.array([columns[j].n_codes for j in self.schema.categorical], np.int64)
        n_numbers = sum(1 + columns[j].missing for j in self.schema.numbers)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "n_numbers", n_numbers)

    def scaled(self, rows: Floats) -> Floats:
        """Return scaled numbers of rows (..., F), then indicators of missing ones."""
        columns = [self.schema.columns[j] for j in self.schema.numbers]
        numbers = rows[..., self.schema.numbers]
        # Halves, since high - low overflows for the largest numbers.
        low, high = (end[list(self.schema.numbers)] / 2 for end in self.schema.limits[:2])
        width = high - low
        inside = (numbers / 2 - low) / np.where(width > 0, width, 1.0)
        missing = np.isnan(numbers)
        may_be = np.array([column.missing for column in columns], np.bool_)
        return np.concatenate([np.where(missing, 0.0, inside), missing[..., may_be]], axis=-1)

    def codes(self, rows: Floats) -> Ints:
        """Return the category codes of rows (..., F)."""
        return rows[..., self.schema.categorical].astype(np.int64)

    def one_hot(self, codes: Ints, scaled: Floats) -> NDArray[np.float32]:
        """Return records (n, F') as one-hot categories, then scaled numbers."""
        first = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        result = np.zeros((len(codes), first[-1] + scaled.shape[1]), np.float32)
        np.put_along_axis(result, codes + first[:-1], 1.0, axis=1)
        result[:, first[-1] :] = scaled
        return result


@dataclass(frozen=True, eq=False)
class Reader:
    """Finds the unique rows of tables nearest to a target."""

    encoding: Encoding
    """Encoding of records."""
    target: Floats
    """(F,) Target, coded as `Table.values`."""
    top: int
    """Most rows read per table, at least 1."""
    ties: Floats
    """(L,) Random weights of a record's codes and numbers: they order rows at the same distance, in
    every table alike and independent of a row's place."""

    @classmethod
    def of(cls, schema: Schema, target: Floats, top: int, rng: np.random.Generator) -> Reader:
        """Return the reader for a target."""
        encoding = Encoding(schema)
        ties = rng.normal(size=len(encoding.sizes) + encoding.n_numbers)
        return cls(encoding, np.asarray(target, np.float64), top, ties)

    def nearest(self, tables: Tables) -> Nearest:
        """Return the nearest unique rows of tables (k, n, F), nearest first."""
        # Two more entries per row: multiplicity and closeness.
        width = int(self.encoding.sizes.sum()) + self.encoding.n_numbers + 2
        rows = np.zeros((len(tables), self.top, width), np.float32)
        there = np.zeros((len(tables), self.top), np.bool_)
        step = max(1, CELLS // max(1, tables.shape[1] * tables.shape[2]))
        for start in range(0, len(tables), step):
            part = slice(start, start + step)
            place, found = self._found(np.asarray(tables[part], np.float64))
            rows[part][place] = found
            there[part][place] = True
        target = self.target[None]
        record = self.encoding.one_hot(self.encoding.codes(target), self.encoding.scaled(target))
        own = np.array([1.0, closeness(0.0)], np.float32)
        return Nearest(rows, there, np.append(record[0], own))

    def _found(self, tables: Floats) -> tuple[tuple[Ints, Ints], NDArray[np.float32]]:
        """Return (table, rank) of each row that is kept, and its encoding (r, F')."""
        codes = self.encoding.codes(tables)
        scaled = self.encoding.scaled(tables)
        # The distances (k, n) to the target: equation 5, scaled by the schema.
        n_columns = len(self.encoding.schema.columns)
        differ = np.count_nonzero(codes != self.encoding.codes(self.target), axis=-1)
        distance = np.asarray(differ / n_columns)
        if scaled.shape[-1]:
            target = self.encoding.scaled(self.target[None])
            both = np.vstack([target, scaled.reshape(-1, scaled.shape[-1])])
            points = Cosine().coordinates(both)
            apart = Cosine().of_numbers(points[1:], points[0]).reshape(distance.shape)
            distance = distance + len(self.encoding.schema.numbers) / n_columns * apart
        distance = np.round(distance, DIGITS)
        # A random projection: rows at one distance with one key are equal, almost surely.
        key = np.zeros(tables.shape[:2])
        parts = (*np.moveaxis(codes, -1, 0), *np.moveaxis(scaled, -1, 0))
        for weight, values in zip(self.ties, parts, strict=True):
            key += weight * values
        order = np.lexsort((key, distance)).reshape(distance.shape)
        near = [np.take_along_axis(values, order, 1) for values in (distance, key)]
        # Sorted by distance, then key: a row starts a new group if either differs from the one
        # before.
        fresh = np.ones(order.shape, np.bool_)
        fresh[:, 1:] = np.any([values[:, 1:] != values[:, :-1] for values in near], axis=0)
        first = np.flatnonzero(fresh)
        # Every table starts a group of its own, so no group spans two tables.
        multiplicity = np.diff(np.append(first, fresh.size))
        rank = (np.cumsum(fresh, axis=1) - 1).reshape(-1)[first]
        kept = rank < self.top
        table, column = np.divmod(first[kept], tables.shape[1])
        row = order[table, column]
        records = self.encoding.one_hot(codes[table, row], scaled[table, row])
        counted = np.log2(1.0 + multiplicity[kept])
        further = np.column_stack([counted, closeness(distance[table, row])]).astype(np.float32)
        return (table, rank[kept]), np.hstack([records, further])


def closeness(distance: ArrayLike) -> Floats:
    """Return the closeness of rows: 3 for a copy of the target, -1 at distance 1."""
    return np.asarray(-1.0 - np.log10(np.maximum(np.asarray(distance, np.float64), CLOSEST)))
