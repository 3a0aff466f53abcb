"""Figures 1 and 2 of Feldman, Frostig and Hardt (2019): attackers with a good model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from privacygauge.core.estimate import Estimate
from privacygauge.datasets.local_copies import LOGITS, cifar_logits, own_file, own_logits
from privacygauge.evaluate.rates import less
from privacygauge.leaderboards.analysts import Analyst, play
from privacygauge.leaderboards.decoding import MessagePassing
from privacygauge.leaderboards.naive_bayes import NaiveBayes
from privacygauge.leaderboards.oracle import Holdout
from privacygauge.leaderboards.priors import Knowledge, from_logits
from privacygauge.leaderboards.sequential import LinearScan
from privacygauge.papers.feldman2019 import (
    LEVEL,
    PAPER,
    GivenTestSet,
    Series,
    Uniform,
    n_trials,
    plays,
    point,
)
from privacygauge.papers.table import Cell, Effort, Row, Table

DATA_SETS = {100: "CIFAR-100", 10: "CIFAR-10"}
"""Number of classes to the name of the data; the first is closer to ImageNet."""
OWN = "logits"
"""Name of the reader's own logits, of any size."""
IMAGENET = (50_000, 1_000)
"""Points and classes of the paper's test set."""
POINTS = 10_000
"""Test points of either data set."""
MODEL = "ResNet-20"
"""The attacker's model."""
TOPS = (10, 4, 2)
"""Values of R: the attack tries only the model's R most likely labels."""
LEAST_CONFIDENT = 2_000
"""Attacked points: a fifth of all, like the paper's 10,000 of 50,000."""
RELATIVE = 1_040
"""Queries, 0.104 per point, like the paper's 5,200 for 50,000 points."""
QUERIES = (130, 260, 520, RELATIVE, 5_200)
"""Numbers of queries; the last is the paper's, here more than one for every other point."""
PUBLISHED = {(None, None): 0.0042, (LEAST_CONFIDENT, None): 0.0144, (LEAST_CONFIDENT, 2): 0.03}
"""Restriction (points, labels; None for all) to the gain on ImageNet after 5,200 queries."""

_STAND_IN = (
    "A ResNet-20 on CIFAR-100 (68.8% right; 80.9, 89.0 and 95.7% within its top 2, 4 and 10 "
    "labels) and CIFAR-10 (92.6%) stands in for ResNet-50v2 on ImageNet (75.1%; 85.3, 91.0 and "
    "95.3%). The published gains are ImageNet's."
)

_NOTES_1 = (
    _STAND_IN,
    "Gains over the model's accuracy. 1,040 queries for 10,000 points are as many a point as "
    "the paper's 5,200 for 50,000; 5,200 are five times as many a point.",
    "The oracle shows the accuracy on all points. The attacker is not told what the points "
    "outside of the attack contribute: it takes the mean of the answers for it.",
    "The test set and the model are fixed: trials differ in the attacker's queries only.",
    "Without a prior: the gain over a guess of an attacker who has no model, on the same test set, "
    "and on as many points of two classes whose labels are drawn evenly.",
)
_QUICK = "Quick form: CIFAR-100, three restrictions, one number of queries, 3 trials."
_NOTES_2 = (
    _STAND_IN,
    "The paper prints no number of this figure, nor which labels its scan tries. It calls the "
    "scan's performance expected, and begins with a random query: of the labels that NB is "
    "restricted to, at the attacked points; elsewhere the model's labels are kept.",
    "A scan that begins with the model's labels, and one that takes the least confident points "
    "first, are not in the paper: they are what an attacker with a model would do.",
)


WITHOUT_PRIOR = "without a prior"
"""Row of Figure 1 with the gain over a guess of an attacker without a model."""
TWO_CLASSES = "two classes without a prior"
"""Row of Figure 1 with the same on as many points of two classes, with labels drawn evenly."""
PAPERS_SCAN = "NB less the scan from a random query"
"""Column of Figure 2 with NB's lead over the paper's own scan."""


@dataclass(frozen=True)
class Restriction:
    """The points and labels of a data set that are attacked."""

    data: str
    """Name of the data set."""
    points: int | None
    """Number of least confident points, a fifth of them; None for all."""
    top: int | None
    """Number of the model's most likely labels; None for all."""

    @property
    def label(self) -> str:
        """Data set, points and labels in words."""
        points = "all points" if self.points is None else f"{self.points:,} least confident"
        if self.data == OWN and self.points is not None:
            points = "a fifth least confident"
        return f"{self.data}, {points}, {'all labels' if self.top is None else self.words}"

    @property
    def kind(self) -> tuple[int | None, int | None]:
        """Key in `PUBLISHED`: a fifth of any number of points counts as `LEAST_CONFIDENT`."""
        return (None if self.points is None else LEAST_CONFIDENT, self.top)

    @property
    def words(self) -> str:
        """Labels in words."""
        return f"R = {self.top}"


@dataclass(frozen=True, eq=False)
class AttackedTestSet:
    """A restriction with its test set and the attacker's knowledge."""

    restriction: Restriction
    """Attacked points and labels."""
    holdout: Holdout
    """True labels, visible to the oracle alone."""
    knowledge: Knowledge
    """The attacker's prior, points and candidate labels."""

    @property
    def label(self) -> str:
        """Label of the restriction."""
        return self.restriction.label


def attack_restrictions(effort: Effort) -> list[AttackedTestSet]:
    """Return all restrictions of both data sets; in the quick form the paper's three of the first.

    The reader's own logits, if there are any, take the place of both data sets.
    """
    path = own_file(LOGITS)
    # The quick form has CIFAR-100 alone.
    some = list(DATA_SETS.items())[: 1 if effort.quick else 2]
    test_sets = (
        [(name, *cifar_logits(m)) for m, name in some]
        if path is None
        else [(OWN, *own_logits(path))]
    )
    found = []
    # logits is (n, m), labels (n,).
    for data, logits, labels in test_sets:
        n, m = logits.shape
        holdout = Holdout(labels, m)
        for points in (None, n // 5 if data == OWN else LEAST_CONFIDENT):
            for top in (None, *TOPS):
                known = Restriction(data, points, top)
                # The top 10 labels of CIFAR-10 are all its labels: a row of its own would repeat.
                left_out = (top or 0) >= m or (effort.quick and known.kind not in PUBLISHED)
                if not left_out:
                    knowledge = from_logits(logits, top=top, least_confident=points)
                    found.append(AttackedTestSet(known, holdout, knowledge))
    return found


def _queries(attacked: list[AttackedTestSet], some: tuple[int, ...]) -> tuple[int, ...]:
    """Return `some` numbers of queries, scaled to as many per point for the reader's own logits."""
    if attacked[0].restriction.data != OWN:
        return some
    return tuple(max(1, round(k * len(attacked[0].holdout) / POINTS)) for k in some)


def feldman_fig1(effort: Effort) -> Table:
    """Return Figure 1: the attacker's gain in accuracy over a good model, by restriction."""
    attacked = attack_restrictions(effort)
    queries = _queries(attacked, (RELATIVE,) if effort.quick else QUERIES)
    asked: list[tuple[AttackedTestSet, Analyst]] = [
        (one, NaiveBayes(one.knowledge)) for one in attacked
    ]
    # Decoding the points together is not in the paper: only beside its strongest attack.
    joint: list[tuple[AttackedTestSet, Analyst]] = [
        (one, MessagePassing(one.knowledge))
        for one in attacked
        if one.restriction.kind == (LEAST_CONFIDENT, 2)
    ]
    found = _gains(asked + joint, queries, effort)
    rows = [
        Row(
            _attack_label(one, analyst),
            {
                _column(k): Cell(
                    PUBLISHED.get(one.restriction.kind)
                    if analyst.name == NaiveBayes.name
                    and _comparable(one.restriction.data, one.holdout, k)
                    else None,
                    found[_attack_label(one, analyst), k],
                )
                for k in queries
            },
        )
        for one, analyst in asked + joint
    ]
    names = dict.fromkeys(one.restriction.data for one in attacked)
    rows += [
        row
        for data in names
        for row in _rows_without_prior(
            data,
            next(one.holdout for one in attacked if one.restriction.data == data),
            queries,
            effort,
        )
    ]
    orders = [row for data in names for row in _gain_rows(data, attacked, found, queries)]
    notes = effort.noted(_notes_for(_NOTES_1, attacked), _QUICK)
    return Table("feldman-fig1", f"{PAPER}, Figure 1", (*rows, *orders), notes)


def _rows_without_prior(
    data: str, holdout: Holdout, queries: tuple[int, ...], effort: Effort
) -> list[Row]:
    """Return the gains over a guess of attackers who know nothing, and of them on two classes."""
    deals: Mapping[str, Callable[[np.random.Generator], Holdout]] = {
        WITHOUT_PRIOR: GivenTestSet(holdout),
        TWO_CLASSES: Uniform(len(holdout), 2),
    }
    series = [
        Series(
            label=f"{data}, {name}, {_column(k)}",
            analyst=NaiveBayes(),
            deal=deal,
            k=k,
            trials=n_trials(effort),
        )
        for name, deal in deals.items()
        for k in queries
    ]
    # A run of its own beside that of the attackers with a model.
    run = effort.shared(f"feldman-without-a-prior-{data}")
    found = plays(series, replace(effort, run=run))
    return [
        Row(
            f"{data}, {name}",
            {
                _column(k): Cell(None, found[f"{data}, {name}, {_column(k)}"].bias(LEVEL))
                for k in queries
            },
        )
        for name in deals
    ]


def _notes_for(notes: tuple[str, ...], attacked: list[AttackedTestSet]) -> tuple[str, ...]:
    """Return the notes of a figure; those on the stand-ins are replaced for the reader's logits."""
    if attacked[0].restriction.data != OWN:
        return notes
    holdout = attacked[0].holdout
    own = (
        f"Logits of the reader's own: {len(holdout):,} points, {holdout.n_classes:,} classes. The "
        "published gains, of ResNet-50v2 on ImageNet, stand beside those of as many points and "
        "classes; queries are as many a point as the paper's."
    )
    return (own, *notes[1:])


def _gain_rows(
    data: str,
    attacked: list[AttackedTestSet],
    found: dict[tuple[str, int], Estimate],
    queries: tuple[int, ...],
) -> list[Row]:
    """Return the gain that each of the paper's restrictions adds to the one before it."""
    # `PUBLISHED` is in that order: all points, the least confident, their top two labels.
    by_kind = {one.restriction.kind: one.label for one in attacked if one.restriction.data == data}
    test_set = next(one.holdout for one in attacked if one.restriction.data == data)
    rows = []
    for before, after in zip(list(PUBLISHED)[:-1], list(PUBLISHED)[1:], strict=True):
        if after in by_kind:
            gained = PUBLISHED[after] - PUBLISHED[before]
            cells = {
                _column(k): Cell(
                    gained if _comparable(data, test_set, k) else None,
                    less(found[by_kind[after], k], found[by_kind[before], k]),
                )
                for k in queries
            }
            rows.append(Row(f"{by_kind[after]}: more than without it", cells))
    return rows


def feldman_fig2(effort: Effort) -> Table:
    """Return Figure 2: NB's gain beside that of a linear scan with the same number of queries.

    The scan tries the same labels at the same points. It starts from a random query (in
    expectation, as in the paper); from the model's labels, in expectation over orders of the
    points; and from these with the least confident points first.
    """
    attacked = attack_restrictions(effort)
    queries = _queries(attacked, (RELATIVE,) if effort.quick else (260, RELATIVE, 5_200))
    found = _gains([(one, NaiveBayes(one.knowledge)) for one in attacked], queries, effort)
    rows = []
    for one in attacked:
        for k in queries:
            gain = found[one.label, k]
            paper = point(
                random_scan_gain(one.holdout, one.knowledge, k),
                "expected over random queries and orders of points",
            )
            expected = scan_gain(one.holdout, one.knowledge, k)
            from_model = point(expected, "expected over orders of points")
            # With knowledge the scan draws nothing; the generator is for the oracle's key alone.
            rng = np.random.default_rng(0)
            directed = play(LinearScan(one.knowledge), one.holdout, k, rng).bias
            cells = {
                "NB": Cell(None, gain),
                "scan from a random query": Cell(None, paper),
                PAPERS_SCAN: Cell(None, less(gain, paper)),
                "scan from the model's labels": Cell(None, from_model),
                "NB less the scan from the model's labels": Cell(None, less(gain, from_model)),
                "scan, least confident first": Cell(None, point(directed, "draws nothing")),
            }
            rows.append(Row(f"{one.label}, {_column(k)}", cells))
    notes = effort.noted(_notes_for(_NOTES_2, attacked), _QUICK)
    return Table("feldman-fig2", f"{PAPER}, Figure 2", tuple(rows), notes)


def scan_gain(holdout: Holdout, knowledge: Knowledge, k: int) -> float:
    """Return the expected gain of a linear scan over the base model, points in random order.

    The first query is the base model's labels. A point costs one query if its label is the first
    or the second candidate, otherwise one for each candidate tried after the first; the last of
    all classes is inferred. While only part of the points are done, (k - 1) times the mean gain
    over the mean cost is exact except for the last point.

    Parameters
    ----------
    holdout : Holdout
        Test set with its labels: only the owner can compute this.
    knowledge : Knowledge
        The base model, the attacked points and their candidates.
    k : int
        Queries, at least 1.

    Returns
    -------
    float
        Gain in accuracy on the whole test set, in [0, 1].
    """
    # right is (points, r); place is the label's index among the candidates, r if it is none.
    right = knowledge.candidates == holdout.labels[knowledge.points, None]
    r = knowledge.n_candidates
    place = np.where(right.any(axis=1), right.argmax(axis=1), r)
    # Most queries at a point: r - 1 changes, one fewer if r is all m > 2 classes.
    last = r - 1 - (r == knowledge.n_classes and r > 2)
    cost = np.clip(place, 1, last)
    # At place 0 the base model is right already: the query is spent and nothing gained.
    gained = (place > 0) & (place < r)
    done = min(len(place), (k - 1) / float(cost.mean()))
    return done * float(gained.mean()) / len(holdout)


def random_scan_gain(holdout: Holdout, knowledge: Knowledge, k: int) -> float:
    """Return the expected gain over the base model of a scan that begins with a random query.

    The first query has a uniformly random candidate at every attacked point, and the base model's
    label at the others. Points come in random order, and the candidates of a point too: one query
    tells whether the first or the second is right, each further one costs another; the last of all
    classes is inferred. Exact but for the last point.

    Parameters
    ----------
    holdout : Holdout
        Test set with its labels: only the owner can compute this.
    knowledge : Knowledge
        The base model, the attacked points and their candidates.
    k : int
        Queries, at least 1.

    Returns
    -------
    float
        Gain in accuracy on the whole test set, in [-1, 1]: below 0 while the scan has found less
        than the base model knows.
    """
    labels = holdout.labels[knowledge.points]
    r = knowledge.n_candidates
    n_points = len(labels)
    # Share of the points whose label is among the candidates, at a place that is uniformly random.
    there = float((knowledge.candidates == labels[:, None]).any(axis=1).mean())
    last = r - 1 - (r == knowledge.n_classes and r > 2)
    cost = there * float(np.clip(np.arange(r), 1, last).mean()) + (1 - there) * last
    done = min(n_points, (k - 1) / cost)
    # Right at first: one in r; at a point that is done: all.
    right = there * (n_points / r + done * (r - 1) / r)
    known = float((knowledge.base[knowledge.points] == labels).sum())
    return (right - known) / len(holdout)


def _gains(
    asked: list[tuple[AttackedTestSet, Analyst]], queries: tuple[int, ...], effort: Effort
) -> dict[tuple[str, int], Estimate]:
    series = [
        Series(
            label=f"{_attack_label(one, analyst)}, {_column(k)}",
            analyst=analyst,
            deal=GivenTestSet(one.holdout),
            k=k,
            trials=n_trials(effort),
        )
        for one, analyst in asked
        for k in queries
    ]
    found = plays(series, effort)
    return {
        (_attack_label(one, analyst), k): found[
            f"{_attack_label(one, analyst)}, {_column(k)}"
        ].bias(LEVEL)
        for one, analyst in asked
        for k in queries
    }


def _attack_label(one: AttackedTestSet, analyst: Analyst) -> str:
    return one.label if analyst.name == NaiveBayes.name else f"{one.label}, {analyst.name}"


def _column(k: int) -> str:
    return f"k {k:,}"


def _comparable(data: str, holdout: Holdout, k: int) -> bool:
    """Return whether the published gains are comparable with those of k queries."""
    if data == OWN:
        return (len(holdout), holdout.n_classes) == IMAGENET and k == QUERIES[-1]
    return k == RELATIVE
