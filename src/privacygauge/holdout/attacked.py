"""Attacks on a test set with known labels, behind one guard or several: the findings as a value."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.errors import InputError
from privacygauge.holdout.analysts import Trials
from privacygauge.holdout.attacks import ATTACKS, attacks_named
from privacygauge.holdout.contest import (
    AttackResult,
    Contest,
    GuardProperties,
    answer_deviation,
    guarantee_behind,
    guards_of,
    n_classes_of,
    result_of,
)
from privacygauge.holdout.mechanism import Guard
from privacygauge.holdout.metrics import ACCURACY, metric_named
from privacygauge.holdout.oracle import Holdout
from privacygauge.holdout.priors import FREQUENCIES, Having, knowledge_text, known_before
from privacygauge.holdout.selection import honest_best_of_k

if TYPE_CHECKING:
    import pandas as pd


from typing import Any

from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.datasets.arrays import Content
from privacygauge.datasets.reading import read_array, read_content
from privacygauge.holdout.metrics import Metric, Values
from privacygauge.runs.folder import require_local


def read_labels(given: ArrayLike | str | Path, metric: Metric = ACCURACY) -> Values:
    """Return hidden labels, (n,): integers of at least 0, or numbers for a metric of numbers.

    Parameters
    ----------
    given : array_like of shape (n,), str or pathlib.Path
        A file with one number per line, with or without a header, or an array file.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    check = checks.floats if metric.numbers else checks.classes
    if not isinstance(given, str | Path):
        return check(given, "labels")
    require_local(given, "labels are read from a file")
    return check(_array(Path(given), "labels"), f"labels in {given}")


def read_logits(given: ArrayLike | str | Path) -> NDArray[Any]:
    """Return a base model's logits, (n, m), unscaled.

    Parameters
    ----------
    given : array_like of shape (n, m), str or pathlib.Path
        An ``.npy`` file, or an ``.npz`` file with one array or one called ``logits``.
    """
    if isinstance(given, str | Path):
        return _array(Path(given), "logits")
    return np.asarray(given)


def _array(path: Path, name: str) -> NDArray[Any]:
    if path.suffix.lower() == ".npy":
        return read_array(path, name)
    content = read_content(path, name)
    if isinstance(content, Mapping):
        return _only(content, name, path)
    if content.shape[1] != 1:
        raise InputError(f"{path} must have one column, the {name}, got {content.shape[1]}")
    title = str(content.columns[0])
    column = content.iloc[:, 0].to_numpy()
    # The file has no header, and its first label was read as one.
    return np.concatenate([[int(title)], column]) if title.isdecimal() else column


def _only(content: Content, name: str, path: Path) -> NDArray[Any]:
    if name in content:
        return content[name]
    if len(content) != 1:
        raise InputError(
            f"{path} must hold one array, or one called {name}, got {checks.short_list(content)}"
        )
    return next(iter(content.values()))


HONEST = 0.8
"""True accuracy of honest submissions if no base model gives one."""


@dataclass(frozen=True, eq=False, repr=False)
class ContestFindings:
    """Findings of attacks on a test set with known labels."""

    n: int
    """Points of the test set."""
    metric: str
    """Metric of submissions, such as ``accuracy``."""
    most: float
    """Largest possible gain, from chance to a score of 1."""
    classes: int
    """Classes, m; 0 where hidden values are numbers."""
    queries: int
    """Submissions that each attack may make, k."""
    trials: int
    """Independent plays of each attack against each guard."""
    knowledge: str
    """The attacker's prior knowledge, in words."""
    largest_class: float
    """Share of the most frequent hidden value."""
    model_accuracy: float | None
    """Accuracy of the base model; None without one."""
    results: tuple[AttackResult, ...]
    """One result per attack and guard, attacks in the order of the table."""
    guards: tuple[GuardProperties, ...]
    """One a guard."""
    honest: float
    """Expected bias of the best of k honest submissions, at most."""
    honest_accuracy: float
    """Their true accuracy, or score."""
    blind: tuple[str, ...]
    """Attacks that cannot use the attacker's prior knowledge: their baseline is a guess."""

    @property
    def scored(self) -> str:
        """The number that submissions are shown, as a word in a sentence: accuracy, or score."""
        return "accuracy" if self.metric == "accuracy" else "score"

    @property
    def worst(self) -> AttackResult:
        """The strongest attack, and the guard it was played against."""
        return max(self.results, key=_reach)

    @property
    def attacks(self) -> tuple[str, ...]:
        """The attacks that were played, in their order."""
        return tuple(dict.fromkeys(r.attack for r in self.results))

    def of(self, attack: str, guard: str) -> AttackResult:
        """Return the result of an attack behind a guard."""
        return next(r for r in self.results if (r.attack, r.guard) == (attack, guard))

    def worst_behind(self, guard: str) -> AttackResult:
        """Return the result of the strongest attack behind a guard."""
        return max((r for r in self.results if r.guard == guard), key=_reach)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every attack and guard.

        Columns: ``attack``, ``guard``; of ``accuracy``, ``bias`` and ``bias_corrected`` the value,
        ``_low`` and ``_high``; ``baseline``, ``bias_expected``, ``queries_used``.
        """
        import pandas as pd

        rows: list[dict[str, object]] = []
        for r in self.results:
            row: dict[str, object] = {"attack": r.attack, "guard": r.guard, "baseline": r.baseline}
            found = {"accuracy": r.accuracy, "bias": r.bias, "bias_corrected": r.corrected}
            for name, e in found.items():
                row |= {name: e.value, f"{name}_low": e.low, f"{name}_high": e.high}
            rows.append(row | {"bias_expected": r.expected, "queries_used": r.queries_used})
        return pd.DataFrame(rows)

    def caveats(self) -> Iterator[str]:
        """Yield warnings about easily misread results."""
        if self.trials == 1:
            yield "After one trial there are no intervals: ask for more (--trials 10)."
        if self.blind:
            names = ", ".join(self.blind)
            yield f"{names} cannot use what the attacker knows before: counted from a guess."


def contest_of(
    labels: ArrayLike | str | Path,
    queries: int,
    attacks: Sequence[str],
    guards: Sequence[Guard | str],
    having: Having,
    *,
    trials: int,
    classes: int | None,
    metric: str,
    seed: int,
) -> Contest:
    """Check and return the attacks on labels to play; see `attack_holdout`."""
    for name, value, least in (("trials", trials, 1), ("queries", queries, 0)):
        if value < least:
            raise InputError(f"{name} must be at least {least}, got {value}")
    chosen = attacks_named(attacks)
    protected = guards_of(guards)
    measure = metric_named(metric)
    if measure != ACCURACY and (tuple(attacks) != ("nb",) or having.logits is not None):
        raise InputError(f"metric {metric} is attacked by nb alone, without logits: leave them out")
    truth = read_labels(labels, measure)
    scores = None if having.logits is None else read_logits(having.logits)
    holdout = Holdout(truth, n_classes_of(truth, scores, classes, measure), measure)
    knowledge = known_before(holdout, scores, having) if measure == ACCURACY else None
    for guard in protected:
        answer_deviation(guard, holdout)  # checks that it goes with the metric
    names = tuple(attack.name for attack in chosen)
    return Contest(
        holdout=holdout,
        knowledge=knowledge,
        attacks=names,
        guards=protected,
        queries=queries,
        trials=trials,
        seed=seed,
    )


def summarise_contest(
    contest: Contest, having: Having, found: Mapping[tuple[str, str], Trials], level: float
) -> ContestFindings:
    """Summarise the trials of a contest: every attack behind every guard, with intervals."""
    holdout = contest.holdout
    knowledge = contest.knowledge
    k = contest.queries
    truth = holdout.labels
    m = holdout.n_classes
    measure = holdout.metric
    base = None if having.logits is None or knowledge is None else holdout.score(knowledge.base)
    honest = HONEST if base is None or not 0 < base < 1 else base
    if not measure.like_share:  # At most, whatever they score.
        honest = 0.5
    together = 1 - (1 - level) / len(found)
    points = max(1, math.floor(measure.points(truth)))
    return ContestFindings(
        len(holdout),
        measure.name,
        1 - (1 / m if measure == ACCURACY else measure.chance(truth)),
        classes=m,
        queries=k,
        trials=contest.trials,
        knowledge=knowledge_text(knowledge, having) if measure == ACCURACY else FREQUENCIES,
        largest_class=float(np.unique(truth, return_counts=True)[1].max() / len(truth)),
        model_accuracy=base,
        results=tuple(
            result_of(
                contest,
                attack,
                guard=guard,
                found=found[attack, guard.name],
                level=level,
                together=together,
            )
            for attack, guard in contest.pairs
        ),
        guards=tuple(
            GuardProperties(
                g.name, guarantee_behind(g, holdout, k, 1 - level), answer_deviation(g, holdout)
            )
            for g in contest.guards
        ),
        honest=honest_best_of_k(points, max(1, k), accuracy=honest),
        honest_accuracy=honest,
        blind=()
        if knowledge is None
        else tuple(name for name in contest.attacks if not ATTACKS[name].informed),
    )


def _reach(r: AttackResult) -> tuple[float, float]:
    # By the accuracy at the end, not by the bias: an attack that throws a good model away and
    # starts from a guess gains more and has less.
    return r.baseline + r.corrected.low, r.accuracy.value
