"""Attacks played against guards as a run that can be resumed, and their findings as a value."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate
from privacygauge.core.seeds import stream
from privacygauge.core.versions import own_version, versions
from privacygauge.datasets.reading import read_array, read_content
from privacygauge.errors import InputError
from privacygauge.leaderboards.analysts import ATTACKS, Analyst, Trials, play
from privacygauge.leaderboards.bounds import (
    FEWEST_CLASSES,
    bias_for_labels,
    honest_best_of_k,
    is_normal_enough,
    nb_bias,
    poisson_bias,
    transcript_nats,
)
from privacygauge.leaderboards.guards import DIRECT, Exact, guard_for, guard_named
from privacygauge.leaderboards.mechanism import Guard
from privacygauge.leaderboards.metric_forms import class_numbers
from privacygauge.leaderboards.metrics import ACCURACY, Metric, Values, chosen_metric, metric_bias
from privacygauge.leaderboards.naive_bayes import LinearBayes
from privacygauge.leaderboards.names import ID_COLUMNS
from privacygauge.leaderboards.oracle import Holdout
from privacygauge.leaderboards.priors import (
    FREQUENCIES,
    Having,
    Knowledge,
    known_before,
)
from privacygauge.leaderboards.sequential import Bisection
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.runs.execute import complete
from privacygauge.runs.folder import kept_or_scratch, require_local
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.sharing import end_of_sharing
from privacygauge.runs.store import open_run

if TYPE_CHECKING:
    import pandas as pd


Progress = Callable[[int, int], None]

_DRAWN = 100_000
"""Number of examples drawn to estimate a metric's expected score."""


@dataclass(frozen=True)
class AttackResult:
    """Result of one attack behind one guard."""

    attack: str
    """Name of the attack on the command line."""
    guard: str
    """Name of the guard on the command line."""
    needs_points: bool
    """True if the attack must see the test points, or at least distinguish them."""
    informed: bool
    """True if it started from a base model or from the class frequencies."""
    accuracy: Estimate
    """Accuracy of the final answer over trials, or its score under another metric."""
    baseline: float
    """Accuracy or score of the prior knowledge alone: of the base model, or 1/m."""
    bias: Estimate
    """Gain above the baseline, over trials."""
    corrected: Estimate
    """Gain above the baseline; the intervals of all results hold jointly (Bonferroni)."""
    queries_used: float
    """Number of submissions answered, on average."""
    expected: float | None
    """Bias expected by theory on uniform labels; None if there is no formula."""


@dataclass(frozen=True)
class GuardProperties:
    """Properties of a guard that hold without playing an attack."""

    guard: str
    """Name of the guard on the command line."""
    kl: float
    """Gain that no attack exceeds, except with probability 1 - level.

    On uniform labels; with other metrics, for an attacker who knows the frequency of every hidden
    value.
    """
    error: float
    """Standard deviation of an answer around the accuracy."""


@dataclass(frozen=True, eq=False)
class Contest:
    """Every attack against every guard, `trials` times each. Picklable: the work of a run."""

    holdout: Holdout
    """The test set."""
    knowledge: Knowledge | None
    """The attacker's prior knowledge; None for none."""
    attacks: tuple[str, ...]
    """Names of the attacks."""
    guards: tuple[Guard, ...]
    """Guards in front of the test set."""
    queries: int
    """Number of submissions per play."""
    trials: int
    """Number of plays of each attack against each guard."""
    seed: int
    """Seed from which all draws derive, by the names of attack and guard."""

    @property
    def pairs(self) -> tuple[tuple[str, Guard], ...]:
        """All pairs of attack and guard, in the order of the units."""
        return tuple((attack, guard) for attack in self.attacks for guard in self.guards)

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the results of a task's plays."""
        plays = []
        for unit in range(task.start, task.stop):
            # Units are numbered pair by pair, and within a pair by trial.
            pair, trial = divmod(unit, self.trials)
            attack, guard = self.pairs[pair]
            # By role: adding attacks or guards changes no other play.
            rng = stream(self.seed, "holdout", attack, guard.name, trial)
            plays.append(play(self.analyst(attack), self.holdout, self.queries, rng, guard=guard))
        return {
            "accuracy": np.array([p.accuracy for p in plays]),
            "baseline": np.array([p.baseline for p in plays]),
            "used": np.array([p.queries_used for p in plays], np.int64),
        }

    def analyst(self, attack: str) -> Analyst:
        """Return the attack of this name; for metrics other than accuracy there are two."""
        if attack == Bisection.name:
            return Bisection.told(self.holdout)
        if self.holdout.metric != ACCURACY:
            return LinearBayes.told(self.holdout)
        return ATTACKS[attack].make(self.knowledge)

    def plan(self) -> Plan:
        """Return the plan of the run: its arrays and their types."""
        n = len(self.pairs) * self.trials
        types = {"accuracy": "float64", "baseline": "float64", "used": "int64"}
        knowledge = None
        if self.knowledge is not None:
            known = self.knowledge
            knowledge = _digest(known.base, known.points, known.candidates, known.log_prior)
        return Plan(
            name="holdout",
            seed=self.seed,
            n_units=n,
            unit="play",
            units_a_task=1,
            arrays={name: ArraySpec(("play",), (n,), dtype) for name, dtype in types.items()},
            settings={
                "attacks": self.attacks,
                "guards": [guard.name for guard in self.guards],
                "queries": self.queries,
                "trials": self.trials,
                "classes": self.holdout.n_classes,
                "metric": self.holdout.metric.name,
                "labels": _digest(self.holdout.labels),
                "knowledge": knowledge,
                "versions": {"privacygauge": own_version(), **versions()},
            },
            code=code_of(
                *self.guards,
                *(type(self.analyst(name)) for name in self.attacks),
                getattr(self.holdout.metric, "function", None),
            ),
        )


def play_contest(
    contest: Contest,
    run: str | Path | None = None,
    *,
    invocation: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
) -> Mapping[tuple[str, str], Trials]:
    """Return the trials of every attack against every guard, playing those missing from the run.

    `run` is the folder that stores the plays, or None for a temporary one; `invocation` records how
    to start it again, and `progress` is called with the number of plays done and the total.
    """
    with kept_or_scratch(run) as place:
        opened = open_run(place, contest.plan(), invocation=invocation)
        complete(opened, contest, n_jobs=n_jobs, progress=progress)
        end_of_sharing()
        found = {name: opened.array(name)[:] for name in contest.plan().arrays}
    parts = {}
    for place_of, (attack, guard) in enumerate(contest.pairs):
        rows = slice(place_of * contest.trials, (place_of + 1) * contest.trials)
        parts[attack, guard.name] = Trials(
            found["accuracy"][rows], found["baseline"][rows], found["used"][rows]
        )
    return parts


def _digest(*arrays: np.ndarray) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        # Type and shape too: the same bytes may be other values.
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def bias_by_theory(contest: Contest, attack: str, guard: Guard) -> float | None:
    """Return the expected bias of an attack without knowledge; None if there is no formula."""
    if attack == Bisection.name:
        return None
    named = ATTACKS[attack]
    k = contest.queries
    metric = contest.holdout.metric
    if metric != ACCURACY:
        if not isinstance(guard, DIRECT):
            return None
        # Expected gain above the prior knowledge, averaged over about 100,000 examples.
        told = LinearBayes.told(contest.holdout)
        truth = contest.holdout.labels
        rng = stream(contest.seed, "holdout", "expected", guard.name)
        error = answer_deviation(guard, contest.holdout)
        draws = max(1, _DRAWN // len(truth))
        # Several draws of the whole test set, more of them if it is small.
        ends = [told.expected(truth, k, error, rng) for _ in range(draws)]
        return float(np.mean(ends)) - metric.chance(truth)
    n = len(contest.holdout)
    m = contest.holdout.n_classes
    uninformed = contest.knowledge is None or not named.informed
    if not uninformed or named.expected is None or k < 1 or not isinstance(guard, DIRECT):
        return None
    # Poisson counts also hold for few draws per label, but only for exact answers.
    if attack == "nb" and isinstance(guard, Exact) and m >= FEWEST_CLASSES:
        return poisson_bias(n, m, k)
    # The closed forms of the others need enough draws per label.
    if attack not in ("scan", "designed") and not is_normal_enough(n, m, k):
        return None
    if attack == "nb":
        return nb_bias(n, m, k, error=guard.error(n))
    return named.expected(n, m, k) if isinstance(guard, Exact) else None


def answer_deviation(guard: Guard, holdout: Holdout) -> float:
    """Return the standard deviation of an answer around the score."""
    return guard_for(guard, holdout.metric, holdout.labels).error(len(holdout))


def read_labels(
    given: ArrayLike | str | Path, metric: Metric = ACCURACY, *, columns: int | None = None
) -> Values:
    """Return hidden labels, (n,): integers from 0, or numbers for a metric of numbers.

    Parameters
    ----------
    given : array_like of shape (n,), str or pathlib.Path
        Labels; a file with one label per line, with or without a header, perhaps beside a column
        ``id``, or an array file. Rows stay in the order of the file. Texts become class numbers in
        alphabetical order.
    metric : Metric, default accuracy
        The metric of submissions.
    columns : int, optional
        Columns of a base model's logits: text labels must be of as many classes.

    Raises
    ------
    InputError
        If the labels are invalid: the problem and the way out, in one line.
    """
    name = "labels"
    if isinstance(given, str | Path):
        require_local(given, "labels are read from a file")
        name = f"labels in {given}"
        given = _array(Path(given), "labels")
    if metric.numbers:
        return checks.floats(given, name)
    numbers, classes = class_numbers(checks.vector(given, name))
    if classes is None:
        return checks.classes(numbers, name)
    metric.refuse_texts(classes)
    if columns is not None and len(classes) != columns:
        raise InputError(
            f"{name} are texts of {len(classes)} classes, and logits have {columns} columns: give "
            "labels as integers, which say the column of each class"
        )
    return checks.classes(numbers, name)


def read_logits(given: ArrayLike | str | Path) -> NDArray[Any]:
    """Return a base model's logits, (n, m), unscaled.

    Parameters
    ----------
    given : array_like of shape (n, m), str or pathlib.Path
        Logits; an ``.npy`` file, or an ``.npz`` file with one array or one named ``logits``.
    """
    if isinstance(given, str | Path):
        return _array(Path(given), "logits")
    return np.asarray(given)


def _array(path: Path, name: str) -> NDArray[Any]:
    if path.suffix.lower() == ".npy":
        return read_array(path, name)
    content = read_content(path, name, names=ID_COLUMNS)
    if isinstance(content, Mapping):
        if name not in content and len(content) != 1:
            raise InputError(
                f"{path} must hold one array, or one called {name}, got "
                f"{checks.short_list(content)}"
            )
        return content[name] if name in content else next(iter(content.values()))
    columns = [column for column in content.columns if column not in ID_COLUMNS]
    if len(columns) != 1 or content.shape[1] > 2:
        raise InputError(
            f"{path} must have one column of {name}, perhaps beside id, got "
            f"{checks.short_list(content.columns)}"
        )
    title = str(columns[0])
    column = content[columns[0]].to_numpy()
    # The file has no header: its first label was read as one.
    if title.isdecimal():
        return np.concatenate([[int(title)], column])
    if column.dtype.kind == "O" and title in set(column.tolist()):
        return np.concatenate([np.array([title], object), column])
    return column


HONEST = 0.8
"""True accuracy of honest submissions if no base model provides one."""


@dataclass(frozen=True, eq=False, repr=False)
class ContestFindings:
    """Findings of attacks on a test set with known labels."""

    n: int
    """Number of points of the test set."""
    metric: str
    """Metric of submissions, such as ``accuracy``."""
    most: float
    """Largest possible gain, from chance to a score of 1."""
    classes: int
    """Number of classes, m; 0 if hidden values are numbers."""
    queries: int
    """Number of submissions per attack, k."""
    trials: int
    """Number of independent plays of each attack against each guard."""
    knowledge: str
    """The attacker's prior knowledge, in words."""
    largest_class: float
    """Share of the most frequent hidden value."""
    model_accuracy: float | None
    """Accuracy of the base model; None without one."""
    results: tuple[AttackResult, ...]
    """One result per attack and guard, attacks in the order of the table."""
    guards: tuple[GuardProperties, ...]
    """Properties of the guards, one entry per guard."""
    honest: float
    """Upper bound on the expected bias of the best of k honest submissions."""
    honest_accuracy: float
    """True accuracy, or score, of honest submissions."""
    blind: tuple[str, ...]
    """Attacks that cannot use the attacker's prior knowledge: their baseline is a guess."""

    @property
    def scored(self) -> str:
        """Word for the number that submissions are shown: accuracy, or score."""
        return "accuracy" if self.metric == "accuracy" else "score"

    @property
    def worst(self) -> AttackResult:
        """Result of the strongest attack, over all guards."""
        return max(self.results, key=_reach)

    @property
    def attacks(self) -> tuple[str, ...]:
        """Names of the attacks played, in order."""
        return tuple(dict.fromkeys(r.attack for r in self.results))

    def of(self, attack: str, guard: str) -> AttackResult:
        """Return the result of an attack behind a guard."""
        return next(r for r in self.results if (r.attack, r.guard) == (attack, guard))

    def worst_behind(self, guard: str) -> AttackResult:
        """Return the result of the strongest attack behind a guard."""
        return max((r for r in self.results if r.guard == guard), key=_reach)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per attack and guard.

        Columns: ``attack``, ``guard``; for ``accuracy``, ``bias`` and ``bias_corrected`` the value,
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
    metric: str | Metric,
    seed: int,
) -> Contest:
    """Return the checked contest of attacks on labels; see `attack_holdout`."""
    for name, value, least in (("trials", trials, 1), ("queries", queries, 0)):
        if value < least:
            raise InputError(f"{name} must be at least {least}, got {value}")
    for name in attacks:
        if name == Bisection.name:
            raise InputError("bisection is played by itself where it applies: leave attacks out")
        if name not in ATTACKS:
            raise InputError(f"attack must be one of {', '.join(ATTACKS)}, got {name!r}")
    protected = tuple(guard_named(g) if isinstance(g, str) else g for g in guards)
    for kind, names in (("attacks", list(attacks)), ("guards", [g.name for g in protected])):
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"{kind} must be at least one, each named once, got {checks.short_list(names)}"
            )
    measure = chosen_metric(metric)
    if measure != ACCURACY and (tuple(attacks) != ("nb",) or having.logits is not None):
        raise InputError(
            f"metric {measure.name} is attacked by nb, and by bisection where it applies, without "
            "logits: leave attacks and logits out"
        )
    scores = None if having.logits is None else read_logits(having.logits)
    columns = None if scores is None or scores.ndim != 2 else scores.shape[1]
    truth = read_labels(labels, measure, columns=columns)
    if len(truth) == 0:
        raise InputError("labels must be at least one, got none")
    if (truth == truth[0]).all():
        raise InputError(
            f"labels must be of at least two classes, got {len(truth)} of the same: with one class "
            "there is nothing to guess"
        )
    # The number of classes is that of the logits, or as given, or follows from the largest label.
    m = classes or 0
    if scores is not None and not measure.numbers:
        if scores.ndim != 2 or len(scores) != len(truth):
            raise InputError(
                f"logits must have the shape (n, m) with a row for each of {len(truth)} labels, "
                f"got {scores.shape}"
            )
        if classes not in (None, scores.shape[1]):
            raise InputError(f"classes must be {scores.shape[1]}, as logits have, got {classes}")
        m = int(scores.shape[1])
    elif classes is None and not measure.numbers:
        m = max(2, int(truth.max()) + 1)
    holdout = Holdout(truth, m, measure)
    knowledge = known_before(holdout, scores, having, queries) if measure == ACCURACY else None
    for guard in protected:
        answer_deviation(guard, holdout)  # checks that it goes with the metric
    played = tuple(attacks)
    if measure != ACCURACY and Bisection.applies(holdout):
        # Where a class is rare, random submissions learn nothing of what halving groups finds.
        played += (Bisection.name,)
    return Contest(
        holdout=holdout,
        knowledge=knowledge,
        attacks=played,
        guards=protected,
        queries=queries,
        trials=trials,
        seed=seed,
    )


def summarise_contest(
    contest: Contest, having: Having, found: Mapping[tuple[str, str], Trials], level: float
) -> ContestFindings:
    """Return the findings of a contest: every attack behind every guard, with intervals."""
    holdout = contest.holdout
    knowledge = contest.knowledge
    k = contest.queries
    truth = holdout.labels
    m = holdout.n_classes
    measure = holdout.metric
    base = None if having.logits is None or knowledge is None else holdout.score(knowledge.base)
    honest = HONEST if base is None or not 0 < base < 1 else base
    if not measure.like_share:  # an upper bound, whatever the submissions score
        honest = 0.5
    # Bonferroni over all pairs of attack and guard.
    together = 1 - (1 - level) / len(found)
    points = max(1, math.floor(measure.points(truth)))
    # The attacker's knowledge in words.
    if measure != ACCURACY:
        told = FREQUENCIES
    elif knowledge is None:
        told = "nothing: no model, all classes equally likely"
    elif having.logits is None:
        told = FREQUENCIES
    else:
        n_attacked = len(knowledge.points)
        r = knowledge.n_candidates
        attacked = f"the {n_attacked:,} least confident" if n_attacked < len(holdout) else "all"
        tried = f"its {r} likeliest labels" if r < m else f"all {m} labels"
        softened = "" if having.temperature == 1 else f", temperature {having.temperature:g}"
        told = f"a base model's logits{softened}; attacked are {attacked} examples, {tried} each"
    results = []
    for attack, guard in contest.pairs:
        analyst = contest.analyst(attack)
        trials = found[attack, guard.name]
        results.append(
            AttackResult(
                attack,
                guard.name,
                needs_points=analyst.needs_points,
                informed=analyst.unaided() is not None,
                accuracy=trials.accuracy(level),
                # The test set is fixed, and so is the prior knowledge: all baselines are equal.
                baseline=float(trials.baselines[0]),
                bias=trials.bias(level),
                corrected=trials.bias(together),
                queries_used=float(trials.queries_used.mean()),
                expected=bias_by_theory(contest, attack, guard),
            )
        )
    # Labels need not be uniform: the bound starts from the most frequent class.
    largest = float(np.unique(truth, return_counts=True)[1].max() / len(truth))
    guards = []
    for guard in contest.guards:
        n = len(holdout)
        if measure == ACCURACY:
            share = max(largest, 1 / m)
            kl = bias_for_labels(guard, n, m=m, k=k, largest=share, delta=1 - level)
        else:
            fit = guard_for(guard, measure, truth)
            nats = transcript_nats(fit, k, n, max(2, m))
            kl = metric_bias(measure, truth, nats, delta=1 - level)
        guards.append(GuardProperties(guard.name, kl, answer_deviation(guard, holdout)))
    return ContestFindings(
        len(holdout),
        measure.name,
        1 - (1 / m if measure == ACCURACY else measure.chance(truth)),
        classes=m,
        queries=k,
        trials=contest.trials,
        knowledge=told,
        largest_class=largest,
        model_accuracy=base,
        results=tuple(results),
        guards=tuple(guards),
        honest=honest_best_of_k(points, max(1, k), accuracy=honest),
        honest_accuracy=honest,
        blind=()
        if knowledge is None
        else tuple(name for name in contest.attacks if not ATTACKS[name].informed),
    )


def _reach(r: AttackResult) -> tuple[float, float]:
    # By the final accuracy, not by the bias: an attack that discards a good model and starts from a
    # guess gains more but ends lower. What is certain counts first; where nothing is, the mean: an
    # attack that gained nothing at all has the narrowest interval, and is not the strongest.
    return r.baseline + max(r.corrected.low, 0.0), r.accuracy.value
