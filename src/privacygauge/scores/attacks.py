"""The game on numbers per record, and its attacks beside those of `core`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit, ndtri
from scipy.stats import rankdata

from privacygauge.classifiers.game import crossfit_parts, draw_at_most
from privacygauge.classifiers.learned import boosted_log_odds
from privacygauge.classifiers.suite import FOLDS, Law
from privacygauge.core import checks
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOffline, CalibratedOnline
from privacygauge.core.attacks.lira import (
    LiraOffline,
    LiraOnline,
    OneSided,
    PerRecordVariance,
    PooledVariance,
)
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Round, Scores, Shadow
from privacygauge.core.release import Worlds
from privacygauge.core.rules import Cut, best_threshold
from privacygauge.core.units import join_units
from privacygauge.runs.threads import limited_to
from privacygauge.scores.table import ScoreTable, ShadowScores

MOST_ROWS = 500_000
"""Most rows of shadow models from which thresholds are learnt, those of the first models."""

CALIBRATED = "{} less references"
"""Name of a score less its median over reference models."""

_NORMAL = "normal score of {}"
"""Name of the signal that quantile regression predicts."""


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Numbers and features of some records, all in one order."""

    scores: Floats
    """(n, c) Scores, as given."""
    normal: Floats
    """(n, c) Their normal scores."""
    labels: Ints
    """(n,) Group of each record."""
    features: Floats | None = None
    """(n, d) Features of the records; None where they are not known."""

    def __getitem__(self, rows: Ints) -> KnownRows:
        features = None if self.features is None else self.features[rows]
        return KnownRows(self.scores[rows], self.normal[rows], self.labels[rows], features)

    @property
    def described(self) -> Floats:
        """(n, 1 + d) Group and features."""
        further = () if self.features is None else (self.features,)
        return np.column_stack([self.labels, *further])


@dataclass(frozen=True, eq=False)
class ScoreObservation(Observation):
    """Signals by name, and the numbers behind them."""

    rows: KnownRows | None = None
    """The targets."""
    shadow_rows: KnownRows | None = None
    """The shadow records."""
    population: KnownRows | None = None
    """Known non-members that are not judged; None without any."""
    signs: tuple[int, ...] = ()
    """(c,) 1 for a score that is higher for members, -1 for one that is lower."""


def normal_scores(*parts: Floats) -> list[Floats]:
    """Return the normal scores of numbers, each among all numbers of all parts.

    ``Phi^-1(rank / (N + 1))`` with mean ranks for ties: a strictly increasing map of the numbers
    changes nothing, and no membership takes part.
    """
    flat = np.concatenate([part.reshape(-1) for part in parts])
    made = ndtri(rankdata(flat) / (len(flat) + 1))
    ends = np.cumsum([part.size for part in parts])[:-1]
    return [x.reshape(part.shape) for x, part in zip(np.split(made, ends), parts, strict=True)]


def direction(value: Floats, member: Bools) -> int:
    """Return 1 if members have the higher values, by the AUC, and -1 if they have the lower."""
    if not member.any() or member.all():
        return 1
    rank = rankdata(value)
    return 1 if rank[member].mean() >= rank[~member].mean() else -1


def with_references(target: ScoreTable, references: ShadowScores) -> ScoreTable:
    """Return the target with each score also less its median over reference models.

    Both as normal scores, among all numbers of the target and the references.

    Notes
    -----
    Watson et al. (2022), with the median instead of the mean.
    """
    made = []
    for column in range(len(target.names)):
        own, models = normal_scores(target.values[:, column], references.values[..., column])
        made.append(own - np.median(models, axis=0))
    return replace(
        target,
        values=checks.frozen(np.column_stack([target.values, *made])),
        names=(*target.names, *(CALIBRATED.format(name) for name in target.names)),
    )


@dataclass(frozen=True, eq=False)
class ScoreGame:
    """The membership game on numbers per record that were made already.

    With shadow models on the target's records, or shadow records, the adversary learns on those.
    Otherwise the targets are split into parts, and the attacks on each part learn on other parts,
    as in `PredictionGame`.
    """

    target: ScoreTable
    """The targets."""
    shadows: ShadowScores | None = None
    """Shadow or reference models on the same records."""
    others: ScoreTable | None = None
    """Other records with known membership in shadow models."""
    population: ScoreTable | None = None
    """Known non-members that are not judged."""
    stated: Mapping[str, int] | None = None
    """Direction of scores by name, for those whose direction is known beforehand."""
    compared: Bools | None = None
    """(n,) True for targets that attacks on other parts may learn from; default: all."""
    together: Ints | None = None
    """(n,) Numbers of which equal ones are in one part, as in `PredictionGame`."""

    def deal(self, rounds: int, rng: np.random.Generator) -> Sequence[Round]:
        """Return one round, or one per part without shadow models; `rounds` must be 1."""
        target = self.target
        shadows = self.shadows
        tables = [x for x in (target, self.others, self.population) if x is not None]
        normal: list[list[Floats]] = [[] for _ in tables]
        worlds = []
        for column in range(len(target.names)):
            # Scores that were made with reference models are the target's alone.
            having = [i for i, x in enumerate(tables) if column < x.values.shape[1]]
            parts = [tables[i].values[:, column] for i in having]
            modelled = shadows is not None and column < shadows.values.shape[2]
            if shadows is not None and modelled:
                parts.append(shadows.values[..., column])
            made = normal_scores(*parts)
            for i, found in zip(having, made, strict=False):
                normal[i].append(found)
            worlds += made[-1:] if modelled else []
        known = [
            KnownRows(table.values, np.column_stack(columns), table.labels, table.described)
            for table, columns in zip(tables, normal, strict=True)
        ]
        rows = known[0]
        population = known[-1] if self.population is not None else None
        in_models = None if shadows is None else np.stack(worlds, axis=-1)
        plays: list[tuple[Ints, KnownRows, Bools, Ints]] = []
        everyone = np.arange(len(target))
        if shadows is not None and shadows.both_sides:
            used = max(1, min(len(shadows), MOST_ROWS // len(target)))
            n_columns = len(target.names)
            assert in_models is not None
            stacked = KnownRows(
                shadows.values[:used].reshape(-1, n_columns),
                in_models[:used].reshape(-1, n_columns),
                np.tile(target.labels, used),
                None if rows.features is None else np.tile(rows.features, (used, 1)),
            )
            # Rows of one record are of one unit, so that no fold learns from another's.
            inside = shadows.inside[:used].reshape(-1)
            plays.append((everyone, stacked, inside, np.tile(target.units, used)))
        elif self.others is not None:
            plays.append((everyone, known[1], self.others.member, self.others.units))
        else:
            usable = np.ones(len(target), np.bool_) if self.compared is None else self.compared
            units = join_units(target.units, self.together)
            for judged, rest in crossfit_parts(target.labels, target.member, rng, units):
                learnt = rest[usable[rest]]
                plays.append((judged, rows[learnt], target.member[learnt], target.units[learnt]))
        return [
            self._round(
                rows, population, in_models, judged=judged, learnt=learnt, member=member, unit=unit
            )
            for judged, learnt, member, unit in plays
        ]

    def _round(
        self,
        rows: KnownRows,
        population: KnownRows | None,
        in_models: Floats | None,
        judged: Ints,
        learnt: KnownRows,
        member: Bools,
        unit: Ints,
    ) -> Round:
        target = self.target
        shadows = self.shadows
        seen = rows[judged]
        signals: dict[str, Floats] = {}
        known: dict[str, Floats] = {}
        signs = []
        for column, name in enumerate(target.names):
            sign = (self.stated or {}).get(name) or direction(learnt.scores[:, column], member)
            signs.append(sign)
            # One centre for all parts, whichever direction each has found.
            centre = float(np.median(rows.scores[:, column]))
            signals[name] = sign * (seen.scores[:, column] - centre)
            known[name] = sign * (learnt.scores[:, column] - centre)
            signals[_NORMAL.format(name)] = sign * seen.normal[:, column]
            known[_NORMAL.format(name)] = sign * learnt.normal[:, column]
        models = None
        if shadows is not None and in_models is not None:
            c = shadows.compared or in_models.shape[2]
            oriented = in_models[:, judged, :c] * np.array(signs[:c])
            own = seen.normal[:, :c] * np.array(signs[:c])
            single = c == 1
            models = Worlds(
                own[:, 0] if single else own,
                oriented[..., 0] if single else oriented,
                shadows.inside[:, judged],
            )
        return Round(
            ScoreObservation(
                signals,
                seen.labels,
                Shadow(known, member, learnt.labels, unit),
                models,
                rows=seen,
                shadow_rows=learnt,
                population=population,
                signs=tuple(signs),
            ),
            target.member[judged],
            judged,
            target.units[judged],
        )


@dataclass(frozen=True)
class LearnedScores:
    """Boosting on all scores of a record and its group: any direction, both ends, combinations."""

    most: int = 100_000
    """Largest number of shadow records to learn from, drawn at random."""

    name = "learned"

    variant = "gradient-boosting"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        found = _rows_of(self.name, observation)
        if isinstance(found, Skipped):
            return found
        rows, learnt, shadow = found
        used = draw_at_most(self.most, len(shadow.member), rng)
        known, asked = (np.column_stack([x.normal, x.labels]) for x in (learnt[used], rows))
        member = shadow.member[used].astype(np.int64)
        value = boosted_log_odds(known, member, asked, int(rng.integers(2**31)))
        return Scores(value, Cut(0.0, "of even odds"))


@dataclass(frozen=True)
class LinearScores:
    """A logistic regression on the normal scores of all columns, and on their squares."""

    name = "linear"

    variant = "logistic"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return every target's log-odds of membership at even prior odds, (n,)."""
        from sklearn.linear_model import LogisticRegression

        found = _rows_of(self.name, observation)
        if isinstance(found, Skipped):
            return found
        rows, learnt, shadow = found
        known, asked = (np.column_stack([x.normal, x.normal**2]) for x in (learnt, rows))
        with limited_to(1):
            model = LogisticRegression(class_weight="balanced", max_iter=1_000)
            value = model.fit(known, shadow.member).decision_function(asked)
        return Scores(np.asarray(value, np.float64), Cut(0.0, "of even odds"))


@dataclass(frozen=True)
class LinearRisk:
    """The probability of membership that `LinearScores` gives to a record, at even odds."""

    name = "privacy-risk-score"

    variant = "logistic, of all scores"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return P(member | scores) at even odds for every target."""
        found = LinearScores().score(observation, rng)
        if isinstance(found, Skipped):
            return found
        return Scores(expit(found.value), Cut(0.5, "of even odds"))


def _rows_of(name: str, observation: Observation) -> tuple[KnownRows, KnownRows, Shadow] | Skipped:
    """Return the targets, and the shadow records with their membership."""
    shadow = observation.shadow
    if not isinstance(observation, ScoreObservation) or shadow is None:
        return Skipped(name, "needs numbers of records with known membership")
    assert observation.rows is not None
    assert observation.shadow_rows is not None
    return observation.rows, observation.shadow_rows, shadow


@dataclass(frozen=True)
class QuantileOfScore:
    """How far a score lies above that of non-members with like features.

    The law of `QuantileRegression`: normal, with mean and variance given group and features, learnt
    on non-members alone, of the population if there is one. The score is ``(s - mu(x)) / sigma(x)``
    with s the normal score.

    Notes
    -----
    Bertran et al. (2023), with a normal law in place of single quantiles.
    """

    column: str
    """Name of the score."""
    trees: int = 25
    """Largest number of trees per regression."""
    most: int = 20_000
    """Largest number of records to learn from, drawn at random."""

    @property
    def name(self) -> str:
        """``quantile-regression``, with the name of the score."""
        return f"quantile-regression of {self.column}"

    variant = "normal"

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return each target's standardised deviation above similar non-members, (n,)."""
        signal = _NORMAL.format(self.column)
        shadow = observation.shadow_with(signal, self.name)
        if isinstance(shadow, Skipped):
            return shadow
        assert isinstance(observation, ScoreObservation)
        rows = observation.rows
        learnt = observation.shadow_rows
        if rows is None or learnt is None or rows.features is None or learnt.features is None:
            return Skipped(self.name, "needs features of the targets and of the shadow records")
        used = draw_at_most(self.most, len(shadow.member), rng)
        known = learnt[used].described
        member = shadow.member[used]
        value = shadow.signals[signal][used]
        seed = int(rng.integers(2**31))
        among = observation.population
        unit = shadow.unit[used]
        with limited_to(1):
            if among is not None and among.features is not None:
                some = draw_at_most(self.most, len(among.labels), rng)
                column = list(observation.signals).index(signal) // 2
                own = observation.signs[column] * among.normal[some, column]
                law = Law.of(
                    among[some].described,
                    own,
                    unit=some,
                    trees=self.trees,
                    categories=True,
                    seed=seed,
                )
                outside = law.deviations(known[~member], value[~member])
            else:
                out = ~member
                if checks.n_distinct(unit[out]) < FOLDS:
                    return Skipped(self.name, "too few shadow records")
                law = Law.of(
                    known[out],
                    value[out],
                    unit=unit[out],
                    trees=self.trees,
                    categories=True,
                    seed=seed,
                )
                # Out-of-fold deviations: comparable with those of members, who were not in the fit.
                outside = law.held_out
            cut = best_threshold(law.deviations(known[member], value[member]), outside)
            found = law.deviations(rows.described, observation.signals[signal])
        return Scores(found, Cut(cut, "learnt on records with known membership"))


AT_POPULATION = 0.9
"""Share of the population below the threshold of `AmongPopulation`."""


@dataclass(frozen=True)
class AmongPopulation:
    """The share of known non-members of a record's group whose score is lower."""

    column: str
    """Name of the score."""

    @property
    def name(self) -> str:
        """``population``, with the name of the score."""
        return f"population of {self.column}"

    variant = ""

    thresholds = "none"

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return each target's rank among the population of its group, in [0, 1]; ties half."""
        signal = _NORMAL.format(self.column)
        if not isinstance(observation, ScoreObservation) or observation.population is None:
            return Skipped(self.name, "needs a population of known non-members")
        column = list(observation.signals).index(signal) // 2
        among = observation.population
        own = observation.signs[column] * among.normal[:, column]
        seen = observation.signals[signal]
        found = np.empty(len(seen))
        for group in np.unique(observation.stratum):
            rows = observation.stratum == group
            known = np.sort(own[among.labels == group])
            # A group without known non-members is compared with all of them.
            known = known if len(known) else np.sort(own)
            below, upto = (np.searchsorted(known, seen[rows], x) for x in ("left", "right"))
            found[rows] = (below + upto) / (2 * len(known))
        told = f"above {100 * AT_POPULATION:g}% of the population's non-members"
        return Scores(found, Cut(AT_POPULATION, told))


@dataclass(frozen=True)
class OfColumn:
    """An attack on single records, on one of several scores."""

    attack: Attack
    """The attack."""
    column: int
    """Place of the score among the columns."""
    title: str
    """Name of the score."""

    @property
    def name(self) -> str:
        """Name of the attack, with that of the score."""
        return f"{self.attack.name} of {self.title}"

    @property
    def variant(self) -> str:
        """Variant of the attack."""
        return self.attack.variant

    @property
    def thresholds(self) -> str:
        """Thresholds of the attack."""
        return self.attack.thresholds

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        """Return the attack's scores on the one column."""
        worlds = observation.worlds
        # Whoever compares shadow models by the rule of an attack gives them without numbers.
        if not isinstance(observation, ScoreObservation) or worlds is None:
            return Skipped(self.name, "needs shadow models")
        one = Worlds(
            worlds.signal[:, self.column],
            np.asarray(worlds.worlds)[..., self.column],
            worlds.inside,
        )
        return self.attack.score(replace(observation, worlds=one), rng)


def model_attacks(*, both_sides: bool) -> tuple[Attack, ...]:
    """Return the attacks that compare models record by record.

    Parameters
    ----------
    both_sides : bool
        Whether some models were trained on some records; otherwise only offline attacks fit.
    """
    variances = (PooledVariance(), PerRecordVariance())
    offline: tuple[Attack, ...] = (
        *(LiraOffline(OneSided(), variance) for variance in variances),
        CalibratedOffline(),
        RmiaOffline(a=None),
    )
    if not both_sides:
        return offline
    online: tuple[Attack, ...] = (
        *(LiraOnline(variance) for variance in variances),
        CalibratedOnline(),
        RmiaOnline(),
    )
    return (*online, *offline, Bavaria())


def score_attacks(
    names: Sequence[str],
    *,
    groups: bool = False,
    features: bool = False,
    population: bool = False,
    models: bool = False,
    both_sides: bool = True,
    compared: int | None = None,
) -> tuple[Attack, ...]:
    """Return the suite for numbers per record.

    Parameters
    ----------
    names : sequence of str
        Names of the scores.
    groups : bool
        Whether records have groups, which get thresholds of their own.
    features : bool
        Whether features are known, for quantile regression.
    population : bool
        Whether there are known non-members that are not judged.
    models : bool
        Whether there are shadow or reference models on the same records.
    both_sides : bool
        Whether some of these models were trained on some of the records.
    compared : int, optional
        Number of leading scores by which models are compared record by record; default: all.
    """
    singles = names[:compared]
    kinds = (True, False) if groups else (False,)
    found: list[Attack] = [Threshold(name, per_class=kind) for kind in kinds for name in names]
    found += [LearnedScores(), LinearScores()]
    found += [QuantileOfScore(name) for name in singles if features]
    found += [AmongPopulation(name) for name in names if population]
    if models:
        found += model_attacks(both_sides=both_sides)
        if len(singles) > 1:
            found += [
                OfColumn(attack, column, name)
                for column, name in enumerate(singles)
                for attack in model_attacks(both_sides=both_sides)
            ]
    return tuple(found)
