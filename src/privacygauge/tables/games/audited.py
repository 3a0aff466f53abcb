"""The privacy game against a generator, from its options to the results of the attacks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import TIED, tied
from privacygauge.errors import InputError
from privacygauge.evaluate import rates
from privacygauge.evaluate.by_target import (
    AttackEvaluation,
    TargetEvaluation,
    TargetScores,
    evaluate_targets,
)
from privacygauge.evaluate.claim import bonferroni_level
from privacygauge.evaluate.detectable import enough_guesses, smallest_accuracy
from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.evaluate.epsilon import epsilon_of_values
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.rates import rank_correlation
from privacygauge.runs.execute import Progress
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.options import keyword
from privacygauge.tables.attacks.attack import TableAttack
from privacygauge.tables.attacks.suite import suite_for_few, suite_for_many
from privacygauge.tables.games.attribute import (
    Attribute,
    ValuesGuessed,
    attribute_game,
    guessed_values,
    middles_of_fifths,
    strongest,
    value_names,
)
from privacygauge.tables.games.games import (
    HALF_WIDTH,
    RECORDS,
    SHARE,
    Game,
    Setting,
    Sizes,
    enough_tests,
    game_named,
)
from privacygauge.tables.games.releases import Making, make_releases, open_releases, utility_of
from privacygauge.tables.games.scores import (
    GameScores,
    OnWorlds,
    ScoredTarget,
    score_releases,
    scores_in,
    split_attacks,
)
from privacygauge.tables.generators.generator import Generator
from privacygauge.tables.options import GameDesign
from privacygauge.tables.selection import (
    Selection,
    TargetsAsked,
    select_targets,
    vulnerability_of_records,
)
from privacygauge.tables.table import Table
from privacygauge.tables.utility import Utility

# Results of attacks on a generator: by target, by selection, and of the strongest attack.


@dataclass(frozen=True, eq=False)
class Targets:
    """Attacked records."""

    rows: Ints
    """(r,) Rows in the user's table."""
    ids: NDArray[Any]
    """(r,) Ids as given by the user, or row numbers."""
    scores: Floats
    """(r,) Vulnerability: mean distance to the nearest other records of the whole table."""
    ranks: Ints
    """(r,) Rank in the whole table; 1 is the most vulnerable record."""
    contents: Mapping[str, NDArray[Any]]
    """Columns of the user's data; empty unless the user asked for them."""

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class TargetGroup:
    """Targets selected by one rule, and the results of the attacks on them."""

    method: str
    """Rule that selected them."""
    positions: Ints
    """(g,) Positions among the targets."""
    means: tuple[Estimate, ...]
    """Mean AUC of each attack; the interval generalises to records selected by this rule."""
    deviations: tuple[float, ...]
    """Standard deviation of each attack's AUC over the records; 0 for a single record."""


@dataclass(frozen=True, eq=False)
class Headline:
    """Result that the verdict names.

    Attack and record are chosen on the adversary's own tables. The numbers come from the tables in
    question, so the choice needs no correction.
    """

    attack: int
    """Position of the attack."""
    target: int
    """Position of the record that the attack identifies best."""
    auc: Estimate
    """Mean AUC over the targets."""
    worst: TargetEvaluation
    """Result of the attack on that record."""


def evaluate_attacks(
    scores: GameScores, level: float, on_worlds: Sequence[OnWorlds] = ()
) -> tuple[tuple[AttackEvaluation, ...], tuple[Skipped, ...]]:
    """Evaluate the attacks; also return the reasons why some were skipped.

    The signals of the attacks on worlds, `on_worlds`, are among the scores of the attacks on
    tables.

    Raises
    ------
    InputError
        If no attack could be evaluated.
    """
    played: list[AttackEvaluation] = []
    skipped: dict[Skipped, None] = {}
    attacks: tuple[TableAttack | OnWorlds, ...] = (*scores.attacks, *on_worlds)
    for place, attack in enumerate(attacks):
        found: Sequence[ScoredTarget | Skipped]
        if isinstance(attack, OnWorlds):
            of_worlds = attack.of(scores)
            found = [of_worlds] if isinstance(of_worlds, Skipped) else of_worlds
        else:
            found = list(scores.of(place))
        reasons = [x for x in found if isinstance(x, Skipped)]
        if reasons:
            skipped.update(dict.fromkeys(reasons))
            continue
        scored = [x for x in found if isinstance(x, ScoredTarget)]
        notes = tuple(dict.fromkeys(note for x in scored for note in x.notes))
        rows = list(_scores(scored))
        # A constant score cannot rank anything: its AUC of 1/2 would only look like safety.
        if all(tied(row.score) for row in rows):
            skipped[Skipped(title(attack.name, attack.variant, ""), TIED)] = None
            continue
        played.append(
            evaluate_targets(
                attack.name,
                rows,
                level,
                variant=attack.variant,
                notes=notes,
                n_attacks=len(attacks),
            )
        )
    if not played:
        first = next(iter(skipped))
        raise InputError(f"no attack could be played: {first.name} {first.reason}")
    return tuple(played), tuple(skipped)


def _scores(scored: Sequence[ScoredTarget]) -> Iterator[TargetScores]:
    for found in scored:
        blocks = found.blocks
        lengths = [len(block.secret) for block in blocks]
        # Numbers of the tables in question, which are the independent units.
        release = np.concatenate(
            [np.arange(block.released.start, block.released.stop) for block in blocks]
        )
        yield TargetScores(
            own=np.stack([answer.own for answer in found.answers]),
            inside=np.stack([block.inside for block in blocks]),
            score=found.released,
            secret=found.secret,
            release=release,
            block=np.repeat(np.arange(len(blocks)), lengths),
        )


MANY = 50
"""Number of targets above which the shared pool and cheaper attacks are the default."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GeneratorOptions(GameDesign):
    """Options of a game; see `audit_synthetic`."""

    targets: TargetsAsked = keyword(
        "The records to attack: a number per selection, ``all`` records, rows, or named groups of "
        "rows.",
        default=10,
    )
    attacks: Sequence[TableAttack | OnWorlds] | None = keyword(
        "Attacks; default: the full suite for up to 50 targets, a cheap one for more. `OnWorlds` "
        "plays LiRA, RMIA or another attack on worlds with a record's signals in the tables.",
        default=None,
    )
    half_width: float = keyword(
        "Wanted half-width of the interval of an AUC near 1/2; of guesses about an attribute, half "
        "of the way from guessing to certainty that their number would mostly show.",
        default=HALF_WIDTH,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayedTables:
    """Synthetic tables of a game that was played, and its targets."""

    generator: str
    """Name of the generator."""
    settings: Mapping[str, Any]
    """Settings of the generator, as it describes itself."""
    sizes: Sizes
    """Numbers of tables and of their records."""
    n_records: int
    """Number of records of the user's table."""
    n_tables: int
    """Number of synthetic tables made."""
    targets: Targets
    """Attacked records."""
    utility: Utility | Skipped
    """Utility of one synthetic table."""

    @property
    def promised(self) -> float | None:
        """Epsilon that the generator was set to; None if there is none, or a delta as well."""
        found = self.settings.get("epsilon")
        if not isinstance(found, Real) or isinstance(found, bool) or self.settings.get("delta"):
            return None
        return float(found)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayedGame(PlayedTables):
    """Results of attacks on a generator."""

    groups: tuple[TargetGroup, ...]
    """Targets by the rule that selected them."""
    attacks: tuple[AttackEvaluation, ...]
    """Evaluations of the attacks, in the order of the suite."""
    headline: Headline
    """Headline of the verdict."""
    foreseen: Estimate | Skipped
    """Rank correlation of vulnerability score and AUC over the targets."""
    seen_from: float | None
    """Smallest AUC of a record that this many tables would mostly show; None if they are too
    few."""

    best: AttackEvaluation = field(init=False)
    """Attack that the verdict names."""
    n_told: int = field(init=False)
    """Number of records that this attack identifies beyond chance."""
    order: Ints = field(init=False)
    """(r,) Positions of the targets, the most exposed first, by this attack."""
    inverted: tuple[InvertedAttack, ...] = field(init=False)
    """Inverted attacks: they mistake releases with a record for releases without it."""
    broken_promise: bool = field(init=False)
    """True where the lower bound exceeds the epsilon that the generator was set to."""

    def __post_init__(self) -> None:
        best = self.attacks[self.headline.attack]
        promised = self.promised
        derived = {
            "best": best,
            "n_told": int(np.count_nonzero(best.told)),
            "order": np.argsort(-best.aucs, kind="stable"),
            "inverted": tuple(found for attack in self.attacks for found in attack.inverted),
            "broken_promise": promised is not None and self.headline.worst.epsilon.low > promised,
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayedGuesses(PlayedTables):
    """Results of guesses about a value of each target, by each attack on a generator."""

    column: str
    """Column whose value is guessed."""
    values: tuple[str, ...]
    """(v,) Possible values, as texts."""
    frequencies: Ints
    """(v,) Number of records of the user's table that have each value."""
    middles: bool
    """True if the values are the middles of the fifths of a column of numbers."""
    knowledge: str
    """The adversary's knowledge of the other records: auxiliary or exact."""
    attacks: tuple[ValuesGuessed, ...]
    """Guesses of the attacks, in the order of the suite."""
    selections: tuple[Selection, ...]
    """Targets by the rule that selected them."""

    best: ValuesGuessed = field(init=False)
    """Attack that the verdict names: the most accurate one on the adversary's own tables."""
    order: Ints = field(init=False)
    """(r,) Positions of the targets, the one guessed best first."""
    worst: int = field(init=False)
    """Position of the target whose value this attack guesses best on those tables."""
    worst_value: int = field(init=False)
    """Position of the value that this attack recognises best on those tables."""
    each: float = field(init=False)
    """Level of each interval of the headline; see `headline_level`."""
    accuracy: Estimate = field(init=False)
    """Accuracy of the guesses, over all targets and tables."""
    below_chance: bool = field(init=False)
    """True where these guesses are significantly worse than chance."""
    accuracy_of_worst: Estimate = field(init=False)
    """Accuracy of the guesses about the worst target."""
    guessed_best: Estimate = field(init=False)
    """Accuracy about the target with the highest lower limit, at a level corrected for all; it is
    above chance if and only if some target is told."""
    told: Bools = field(init=False)
    """(r,) True for targets whose value the best attack tells; see `ValuesGuessed.told`."""
    recognition: Estimate = field(init=False)
    """Rate at which the worst value is guessed where it is true, less that where it is not."""
    epsilon: Estimate = field(init=False)
    """Lower bound on epsilon (`low`) for replacing the worst target's record."""
    broken_promise: bool = field(init=False)
    """True where this bound exceeds the epsilon that the generator was set to."""
    seen_from: float | None = field(init=False)
    """Smallest accuracy about a record that this many tables would mostly show."""

    def __post_init__(self) -> None:
        best = strongest(self.attacks)
        n_targets = len(self.targets)
        n_values = len(self.values)
        # Attack, target and value are chosen on the adversary's own tables, so that the numbers,
        # which come from the tables in question, need no correction for the choice.
        worst = int(np.argmax(best.own_accuracy))
        # Rate of each value's guess where it is true, less that elsewhere.
        sides = ((best.own_guess == a, best.own_secret == a) for a in range(n_values))
        worst_value = int(
            np.argmax([guess[true].mean() - guess[~true].mean() for guess, true in sides])
        )
        each = headline_level(best.level, n_targets, n_values)
        accuracy = rates.proportion(best.right.ravel(), level=each)
        accuracy_of_worst = rates.proportion(best.right[worst], level=each)
        corrected = bonferroni_level(each, n_targets)
        every = [rates.proportion(right, level=corrected) for right in best.right]
        epsilon = epsilon_of_values(accuracy_of_worst, n_values)
        promised = self.promised
        derived = {
            "best": best,
            "order": np.argsort(-best.right.mean(axis=1), kind="stable"),
            "worst": worst,
            "worst_value": worst_value,
            "each": each,
            "accuracy": accuracy,
            "below_chance": accuracy.high < best.chance,
            "accuracy_of_worst": accuracy_of_worst,
            "guessed_best": max(every, key=lambda accuracy: accuracy.low),
            "told": best.told(each),
            "recognition": rates.less(*best.of_value(worst_value, each)),
            "epsilon": epsilon,
            "broken_promise": promised is not None and epsilon.low > promised,
            "seen_from": smallest_accuracy(self.sizes.tests, each, chance=best.chance),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True, eq=False)
class ArrangedGame:
    """A game that is checked and has not begun."""

    making: Making
    """Making of its tables."""
    selections: tuple[Selection, ...]
    """Targets by the rule that selected them."""
    targets: Targets
    """Records to attack."""
    players: tuple[TableAttack, ...]
    """Attacks on tables, including the signals of the attacks on worlds."""
    on_worlds: tuple[OnWorlds, ...]
    """Attacks on worlds, which use the scores of attacks on tables."""
    level: float
    """Level of each interval, in (0, 1)."""

    def played(
        self, scores: GameScores, tables: Mapping[str, Any]
    ) -> tuple[PlayedGame, tuple[Skipped, ...]]:
        """Return the results of a game about membership, and the parts that were skipped.

        `tables` holds the fields of `PlayedTables`.
        """
        level = self.level
        setting = self.making.setting
        attacks, skipped = evaluate_attacks(scores, level, self.on_worlds)
        # Attack and record are chosen on the adversary's own tables alone; the numbers shown come
        # from the others.
        best = int(np.argmax([attack.own_auc.mean() for attack in attacks]))
        worst = int(np.argmax(attacks[best].own_auc))
        headline = Headline(best, worst, attacks[best].auc, attacks[best].targets[worst])
        groups = []
        for selection in self.selections:
            positions = np.searchsorted(setting.targets, selection.rows)
            owner = None if setting.unit is None else setting.unit[selection.rows]
            means = []
            deviations = []
            for attack in attacks:
                values = attack.aucs[positions]
                if len(values) > 1:
                    means.append(
                        rates.mean(values, level, unit="records", owner=owner, least=0.0, most=1.0)
                    )
                    deviations.append(float(np.std(values, ddof=1)))
                else:
                    # A single record has no spread over records: its own interval, over tables, is
                    # all there is.
                    means.append(attack.targets[int(positions[0])].auc)
                    deviations.append(0.0)
            groups.append(TargetGroup(selection.method, positions, tuple(means), tuple(deviations)))
        # Rank correlation between the vulnerability scores and the AUCs of the best attack.
        correlation = rank_correlation(self.targets.scores, attacks[best].aucs, level)
        if isinstance(correlation, Skipped):
            correlation = Skipped("vulnerability against AUC", correlation.reason)
        game = PlayedGame(
            **tables,
            groups=tuple(groups),
            attacks=attacks,
            headline=headline,
            foreseen=correlation,
            seen_from=setting.sizes.smallest_auc(level),
        )
        return game, skipped

    def guessed(
        self, game: Attribute, scores: GameScores, tables: Mapping[str, Any]
    ) -> tuple[PlayedGuesses, tuple[Skipped, ...]]:
        """Return the results of a game about an attribute, and the parts that were skipped.

        `tables` holds the fields of `PlayedTables`.
        """
        table = self.making.setting.table
        attacks, skipped = guessed_values(scores, self.level)
        own = table.values[:, table.schema.names.index(game.column)]
        middles = game.values == middles_of_fifths(table, game.column)
        played = PlayedGuesses(
            **tables,
            column=game.column,
            # A middle is the number of some record: rounded, so that reports do not show it.
            values=value_names(table, game.column, game.values, digits=3 if middles else 10),
            frequencies=np.array([np.count_nonzero(own == value) for value in game.values]),
            middles=middles,
            knowledge=game.knowledge,
            attacks=attacks,
            selections=self.selections,
        )
        return played, skipped

    def played_in(
        self,
        run: str | Path | None,
        label: str | None,
        *,
        invocation: Mapping[str, Any] | None = None,
        n_jobs: int | None = None,
        progress: Progress | None = None,
        scoring: Progress | None = None,
    ) -> tuple[PlayedGame | PlayedGuesses, tuple[Skipped, ...], tuple[int, int]]:
        """Play the game; return its results, the parts skipped and `Releases.clipped_numbers`.

        Parameters
        ----------
        run : str or Path, optional
            Folder of the run; None for a temporary one.
        label : str, optional
            Column to predict when the utility is measured.
        invocation, n_jobs, progress
            As in `make_releases`.
        scoring : callable, optional
            As in `score_releases`.
        """
        making = self.making
        with kept_or_scratch(run) as folder:
            # Opened first, so that a folder of another run is rejected before any work.
            open_releases(making, folder, invocation)
            use = utility_of(making, label, f"{folder}/utility")
            releases = make_releases(
                making, folder, invocation=invocation, n_jobs=n_jobs, progress=progress
            )
            place = scores_in(folder, self.players)
            scores = score_releases(
                making, releases, self.players, place, n_jobs=n_jobs, progress=scoring
            )
            clipped = releases.clipped_numbers
            tables = {
                "generator": making.generator.name,
                "settings": making.generator.describe(),
                "sizes": making.setting.sizes,
                "n_records": len(making.setting.table),
                "n_tables": making.game.n_tables(making.setting),
                "targets": self.targets,
                "utility": use,
            }
            found: PlayedGame | PlayedGuesses
            if isinstance(making.game, Attribute):
                found, skipped = self.guessed(making.game, scores, tables)
            else:
                found, skipped = self.played(scores, tables)
        return found, (*skipped, *([use] if isinstance(use, Skipped) else [])), clipped


def headline_level(level: float, n_targets: int, n_values: int) -> float:
    """Return the level of each interval in the headline of guesses about an attribute.

    The intervals are those of the mean, of the worst target and of the one guessed best if there
    are several, and of the worst value if there are more than two. Without a leak any of them is
    above chance in at most ``1 - level`` of audits: one side of each errs with its share.

    Examples
    --------
    >>> headline_level(0.95, 1, 2), headline_level(0.95, 10, 5)
    (0.95, 0.975)
    """
    looks = 1 + 2 * (n_targets > 1) + (n_values > 2)
    error = (1 - checks.level(level)) * 2 / max(2, looks)
    # Two digits, rounded down, so that reports can print the level.
    digits = 1 - math.floor(math.log10(error))
    return float(1 - math.floor(error * 10**digits + 1e-9) / 10**digits)


def arrange_game(
    generator: Generator,
    table: Table,
    asked: GeneratorOptions,
    *,
    owner: Ints | None,
    ids: ArrayLike | None,
    show: Sequence[str],
    seed: int,
    level: float,
) -> ArrangedGame:
    """Return the checked game for the options; `owner` (N,) is the person behind each record.

    Raises
    ------
    InputError
        If the game cannot be played.
    """
    # Computed once: needed for the results, and to select the most vulnerable records.
    known = cache(partial(vulnerability_of_records, table, unit=owner))
    selections = select_targets(table, asked.targets, select=asked.select, seed=seed, known=known)
    # Selections may share records; each is attacked once.
    rows = np.unique(np.concatenate([s.rows for s in selections]))
    few = len(rows) <= MANY
    game: Game
    if asked.attribute is not None:
        game = attribute_game(
            table, asked.attribute, asked.values, game=asked.game, knowledge=asked.knowledge
        )
    elif asked.values:
        raise InputError("values are those of an attribute: name its column (--attribute)")
    else:
        game = game_named(asked.game or ("average" if few else "shared"), asked.knowledge)
    tests = asked.tests
    if tests is None:
        tests = enough_tests(asked.half_width, level)
        if isinstance(game, Attribute):
            n_values = len(game.values)
            each = headline_level(level, len(rows), n_values)
            # Of two values: right guesses in a half and the half-width of cases.
            least = 2 * asked.half_width
            guesses = enough_guesses(least, each, chance=1 / n_values)
            tests = max(tests, math.ceil(guesses / len(rows)))
    records = asked.size
    if records is None:
        records = min(RECORDS, max(len(table) // SHARE, 2))
        if game.name == "shared":
            # Room for the targets whose coins say "in", up to five standard deviations above half
            # of them.
            records = max(records, math.ceil(len(rows) / 2 + 2.5 * math.sqrt(len(rows))))
    sizes = Sizes(asked.shadows, tests, records, asked.made)
    setting = Setting.of(table, rows, sizes=sizes, seed=seed, unit=owner)
    game.check(setting)
    named = np.arange(len(table)) if ids is None else checks.vector(ids, "ids", length=len(table))
    missing = [name for name in show if name not in table.schema.names]
    if missing:
        raise InputError(
            f"no column {missing[0]!r} to show; the columns are "
            f"{checks.short_list(table.schema.names)}"
        )
    frame = table[setting.targets].to_frame()
    targets = Targets(
        rows=setting.targets,
        ids=named[setting.targets],
        scores=known().scores[setting.targets],
        ranks=known().ranks[setting.targets],
        contents={name: np.asarray(frame[name]) for name in show},
    )
    about_value = asked.attribute is not None
    # Each attack is made once per value of an attribute.
    default = suite_for_few() if few and not about_value else suite_for_many()
    attacks = asked.attacks or default
    if about_value and any(isinstance(attack, OnWorlds) for attack in attacks):
        raise InputError("attacks on worlds guess membership: leave them out with an attribute")
    making = Making(game, setting, generator)
    return ArrangedGame(making, selections, targets, *split_attacks(attacks), level)
