"""The audit of any model that gives a number per record, its result and its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.audit.predictions import origin_of_truth
from privacygauge.classifiers.audit.result import (
    RISK_TERMS,
    AttackAudit,
    risk_blocks,
    risk_data,
    riskiest_blocks,
)
from privacygauge.classifiers.audit.verdict import REPEAT, verdict
from privacygauge.classifiers.exports import PREDICTED
from privacygauge.classifiers.known import (
    HELD_BY,
    Answers,
    CountedRows,
    KnownColumns,
    comparison_on,
    digits_differ,
    repeats_a_signal,
    unused_column_text,
    usable_columns,
)
from privacygauge.classifiers.neighbours import clustered_points
from privacygauge.classifiers.suite import chosen_attacks
from privacygauge.classifiers.units_of_rows import units_in_order
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import RiskScore
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.game import Round
from privacygauge.core.release import Worlds
from privacygauge.core.repeats import interpolated_rows, is_clustered, near_repeats
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import (
    WAY_OUT,
    Equal,
    equal_rows,
    fingerprints,
    join_units,
    number_units,
    repeated_rows,
    said_of_units,
)
from privacygauge.datasets.canary_scores import ARRAYS
from privacygauge.errors import InputError
from privacygauge.evaluate.attacked import Suite, attack_rounds
from privacygauge.evaluate.detectable import AVERAGE_SHARE, SHARE
from privacygauge.evaluate.fairness import Comparison
from privacygauge.evaluate.played import GameDescription, Records
from privacygauge.evaluate.slices import column_groups
from privacygauge.evaluate.tail import tail
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction, fairness
from privacygauge.report.attacks import measures, plots, records, tables
from privacygauge.report.attacks.tables import MEANINGS, interval, terms
from privacygauge.report.grades import NONE, scale_of
from privacygauge.report.numbers import count, percent, percent_estimate, plain, several
from privacygauge.report.values import (
    About,
    Measure,
    Report,
    Section,
    Verdict,
)
from privacygauge.scores import NAME, ScoreDesign
from privacygauge.scores.attacks import (
    LinearRisk,
    LinearScores,
    ScoreGame,
    ScoreObservation,
    normal_scores,
    score_attacks,
    with_references,
)
from privacygauge.scores.table import (
    Roles,
    ScoresLike,
    ScoreTable,
    ShadowScores,
    ShadowsLike,
    as_scores,
    as_shadows,
    settled_shadows,
)

GROUP = "group"
"""Name of the groups among the known columns and the slices."""

MORE_RECORDS = (
    "Audit on more records: of members and of non-members, at least as many as the sentence above "
    "would need to show a moderate leak.",
    "Where there are no more records, give the same records' numbers under shadow models "
    "(--shadow): attacks on single records show more with as many records.",
)
"""Next steps after an audit of too few records."""

_FEWEST_UNMOVED = 4
"""Fewest shadow models with the target's numbers that show these not to depend on the records."""

_SAME = "the target and all {} shadow models give every record the same number"

_MODELS_OF_ROWS = 8
"""Most models in whose numbers rows of one person are searched."""

_TAUGHT = ("learned", "linear")
"""Names of the attacks that learn more than a threshold from known membership."""

_LEARNT_SHARE = AVERAGE_SHARE / 2
"""Share of the verdict's error spent on the average if directions are learnt on other parts of the
judged records: where all parts happen to agree on a direction, their sum is the larger of both
directions, so that the upper tail of null results has up to twice its nominal weight."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ScoreAudit(AttackAudit):
    """Findings of an audit of numbers per record, with its report, tables and plots."""

    about: str = "A model, by a number that it gives to each record"
    """What was audited, as the report says it."""
    title: str = "Audit of numbers per record"
    """Title of the report."""
    unmoved: int = 0
    """Number of shadow models if the target and all of them give each record the same number,
    whatever records they were trained on; else 0."""

    @property
    def riskiest(self) -> records.Riskiest:
        """The most vulnerable members; by the risk score where no models rank the records.

        By the attack that found the few members that stand out where the risk score ranks others
        first, as with a direction that was given the wrong way round.
        """
        found = super().riskiest
        few = None if self.questions is None else self.questions.tail
        if self.records.vulnerability is None and few is not None and few.shown:
            by_attack = records.riskiest_records(
                self.records, few.attack, self.records.scores[few.attack]
            )
            first, others = (x.rows[: few.top] for x in (by_attack, found))
            if 2 * np.count_nonzero(np.isin(first, others)) < len(first):
                return by_attack
        return found

    def report(self) -> Report:
        """Return the report, as plain values."""
        a = self.attacks
        found = self.riskiest
        compared = fairness.section(self.comparison)
        has_groups = bool(self.slices.slices or self.slices.skipped)
        questions = measures.questions_section(self.questions)
        risk = Measure(
            name="risk",
            label="Privacy risk of a member",
            found=self.risk.mean,
            shown=percent_estimate(self.risk.mean),
            text="The mean probability of being a member, at even odds beforehand. Guessing gives "
            "50%.",
            guessing="50%",
        )
        return Report(
            NAME,
            self.title,
            about=About(
                self.about,
                f"Somebody who holds a record guesses: {self.game.question}",
                self.game.adversary,
                "membership-inference",
            ),
            intro=measures.intro(a),
            origin=self.origin,
            verdict=_unmoved_verdict(self.unmoved)
            if self.unmoved
            else verdict(
                a,
                comparison=self.comparison,
                ranked=self.stands_out,
                unmatched=self.unmatched,
                alike=self.alike,
                unmatched_few=self.unmatched_few or self.alone_auc,
                more_records=MORE_RECORDS,
            ),
            measures=(*measures.highest(a), *measures.cards(a), risk),
            sections=(
                Section("game", "What was played", (tables.game(self.game),), "The game"),
                *(() if compared is None else (compared,)),
                tables.section(a),
                *(() if questions is None else (questions,)),
                plots.roc_section(a.evaluations, a.best),
                Section(
                    "risk",
                    "Privacy risk of single records",
                    tuple(risk_blocks(self.risk)),
                    "Privacy risk",
                ),
                *((measures.groups_section(self.slices),) if has_groups else ()),
                Section(
                    "records",
                    "The riskiest records",
                    tuple(riskiest_blocks(found)),
                    "Riskiest records",
                ),
            ),
            terms={
                **terms("Member", "Attack", "Shadow model"),
                "Interval": interval(self.level),
                **MEANINGS,
                **RISK_TERMS,
            },
            worst=found.worst,
            data={
                **measures.attacks_data(a),
                "risk": risk_data(self.risk, "notes"),
                "slices": measures.groups_data(self.slices),
                "comparison": fairness.as_data(self.comparison),
                **measures.questions_data(self.questions),
            },
            frames={
                "records.parquet": lambda: records.records_frame(self.records),
                "roc.csv": lambda: records.roc_frame(self.evaluations),
            },
            nothing_left_out="Nothing: every part of the suite was played.",
            overview=(tables.overview(a),),
        )


def _unmoved_verdict(n_models: int) -> Verdict:
    """Return the verdict if models trained on other records give the very same numbers."""
    return Verdict(
        grade=NONE,
        scale=scale_of(NONE),
        headline="No leak found: the predictions do not depend on the training data",
        sentences=(
            f"The target and {count(n_models)} shadow models were trained on different records, "
            "and all of them give every record the same number. Such a number says nothing about "
            "who was in the data.",
        ),
        unsaid="It speaks of the answers about these records alone: a model that is read, or asked "
        "about others, may give more away.",
        advice=(
            "Check that the model learnt at all: one that answers alike whatever it was trained on "
            "is of little use.",
            REPEAT,
        ),
    )


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(ScoreDesign):
    """An audit of any model from one or several numbers per record."""

    def run(
        self,
        target: ScoresLike,
        shadows: ShadowsLike | None = None,
        population: ScoresLike | None = None,
        *,
        slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
        unit: ArrayLike | str | None = None,
        missing: Sequence[str] = (),
        session: Session = Session(NAME),
    ) -> ScoreAudit:
        """Audit any model that gives a number per record, such as a loss, a distance or a residual.

        Parameters
        ----------
        target : path, mapping of arrays, or data frame
            A row per record, with columns of scores, ``member`` (1 if the model was trained on the
            record, else 0) and optionally ``id``, ``unit``, ``group`` and further ones, by which
            groups are formed and members told from non-members without the scores.
        shadows : path, table, or sequence of these, optional
            The same records' scores under shadow models, matched by ``id`` or by order, each with
            its own ``member``; a table without members is a reference model, trained on none of
            them. Tables about other records teach thresholds. A path may be a folder. Default:
            attacks are cross-fitted on the target.
        population : path, mapping of arrays, or data frame, optional
            Scores of known non-members that are not judged.
        slices : mapping of str to array_like (n,), or sequence of str, optional
            Groups to evaluate: columns, or names of columns; default: all further columns.
        unit : array_like (n,) or str, optional
            The person behind each row, or the name of the column with the person; default:
            ``unit``, or equal ids. Intervals, folds and permutations treat a unit as a whole.
        missing : sequence of str, optional
            Further words for a missing value in files.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        ScoreAudit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        Attacks that compare models (LiRA, RMIA, BaVarIA, difficulty calibration) see normal scores,
        so that a strictly increasing map of a column changes nothing. Without a stated direction,
        that of each score is learnt on other records than those it is judged on.
        """
        roles = Roles(
            scores=self.scores,
            group=self.group,
            unit=unit if isinstance(unit, str) else None,
            features=self.features,
        )
        table = as_scores(target, "target", roles, missing=missing)
        if unit is not None and not isinstance(unit, str):
            number = number_units(unit, length=len(table))
            table = replace(table, unit=checks.frozen(number))
        table.require_sides("target")
        for name in (*self.lower, *self.higher):
            if name not in table.names:
                raise InputError(
                    f"lower and higher must name scores, got {name!r}; the scores are: "
                    f"{checks.short_list(table.names)}"
                )
        models, others = (
            (None, None) if shadows is None else as_shadows(shadows, table, roles, missing)
        )
        known = None
        if population is not None:
            known = as_scores(population, "pool", roles, like=table, members=False, missing=missing)
            if known.member.any():
                raise InputError(
                    f"the pool must hold known non-members only, got {int(known.member.sum()):,} "
                    "members: leave them out"
                )
        return self.judged(table, models, others, known, slices=slices, session=session)

    def judged(
        self,
        target: ScoreTable,
        models: ShadowScores | None = None,
        others: ScoreTable | None = None,
        population: ScoreTable | None = None,
        *,
        slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
        session: Session = Session(NAME),
    ) -> ScoreAudit:
        """Audit numbers that were read and checked; see `run`."""
        if all((column == column[0]).all() for column in target.values.T):
            raise InputError(
                "every record has the same number, so no attack can tell records apart: give the "
                "model's own numbers, one per record"
            )
        if others is not None:
            others.require_sides("shadow")
            if len(others) == len(target) and np.array_equal(others.values, target.values):
                raise InputError(
                    "target and shadow hold the same numbers, so thresholds would be learnt on the "
                    "rows they are judged on: give another model's, or none to cross-fit"
                )
        notes: list[str] = [*target.notes]
        unmoved = 0
        if models is not None and models.trained and (models.values == target.values).all():
            # Comparing models would compare a number with itself.
            unmoved = len(models) if len(models) >= _FEWEST_UNMOVED else 0
            notes.append(_SAME.format(count(len(models))))
            models = None
        if models is not None:
            models, told = settled_shadows(
                target, models, seeds.stream(session.seed, "equal counts"), drawn=self.drawn
            )
            notes += told
            notes += _unlike_shadows(target, models)
        contents = target.further(self.show_columns)
        if isinstance(slices, Mapping):
            chosen = {
                name: checks.vector(values, f"slice {name!r}", length=len(target))
                for name, values in slices.items()
            }
        else:
            chosen = target.further(target.columns if slices is None else slices)
        groups, unsliced = column_groups(chosen)
        if unsliced and slices is not None:
            raise InputError(f"{unsliced[0].name}: {unsliced[0].reason}")
        target, rows, together, said = self._settled(target, models)
        notes += said
        names = target.names
        stated = dict.fromkeys(self.lower, -1) | dict.fromkeys(self.higher, 1)
        references = models is not None and not models.both_sides
        if models is not None and references:
            stated |= {f"{name} less references": sign for name, sign in stated.items()}
            target = with_references(target, models)
        suite = score_attacks(
            names,
            groups=bool(target.groups),
            features=target.described is not None,
            compared=None if models is None else models.compared,
            population=population is not None,
            models=models is not None,
            both_sides=not references,
        )
        suite = (*(Threshold(x, per_class=False) for x in target.names[len(names) :]), *suite)
        played, unplayed = chosen_attacks(self.attacks, suite)
        game = ScoreGame(target, models, others, population, stated=stated, together=together)
        dealt = game.deal(1, seeds.stream(session.seed, "deal"))
        worlds = dealt[0].observation.worlds if models is not None and not references else None
        comparison, unused = self._comparison(target, models, worlds, rows, session=session)
        crossfit = others is None and (models is None or references)
        # Attacks must also not learn from records that the comparison leaves out: deal again.
        if crossfit and not comparison.compared.all():
            game = replace(game, compared=comparison.compared)
            dealt = game.deal(1, seeds.stream(session.seed, "deal"))
        single = len(target.names) == 1
        # A direction that was learnt on judged records is more than a threshold.
        learnt = [name for name in target.names if crossfit and name not in stated]
        lead = Threshold(names[0], per_class=bool(target.groups))
        n_in = int(np.count_nonzero(comparison.compared & target.member))
        n_out = int(np.count_nonzero(comparison.compared)) - n_in
        done = attack_rounds(
            dealt,
            Suite(
                played,
                sliced=lead if single else LinearScores(),
                risk=RiskScore(names[0], self.estimator) if single else LinearRisk(),
                taught=(*_TAUGHT, *learnt),
                share=_LEARNT_SHARE if crossfit else AVERAGE_SHARE,
                way_out="give at least one that fits numbers per record",
            ),
            groups={
                **({GROUP: np.array(target.groups)[target.labels]} if target.groups else {}),
                **groups,
            },
            strata=target.labels,
            comparison=comparison,
            seed=session.seed,
            level=session.level,
        )
        warnings = dict.fromkeys(
            (
                *notes,
                *session.warnings,
                *unused,
                *fairness.warnings(comparison),
                *done.warnings,
                # No direction contradicts numbers that do not depend on the records.
                *(() if unmoved else direction.warnings(done.found.headline.inverted)),
                *(() if unmoved else _contradictions(target, stated, comparison.compared, session)),
            )
        )
        about = {} if models is None else {"shadow models": str(len(models))}
        session = replace(session, provenance={**about, **(session.provenance or {})})
        found = done.found
        if unmoved and found.questions is not None:
            # Nobody is given away by a number that does not depend on the records.
            nobody = replace(found.questions, tail=None, groups=(), below=0, group_below=None)
            found = replace(found, questions=nobody)
        return ScoreAudit(
            **vars(found),
            origin=session.origin(
                skipped=(*done.skipped, *unplayed, *unsliced, *done.found.slices.skipped),
                warnings=warnings,
            ),
            game=_description(
                target,
                models,
                others,
                n_in=n_in,
                n_out=n_out,
                drawn=self.drawn,
                directions=_directions(dealt, target.names, stated),
            ),
            records=Records(
                ids=target.ids,
                member=target.member,
                scores=done.scores,
                guesses=done.guesses,
                risk=done.risk,
                contents=contents,
                unit=target.unit,
                vulnerability=done.vulnerability,
                compared=None if comparison.compared.all() else comparison.compared,
            ),
            unmoved=unmoved,
        )

    def _settled(
        self, target: ScoreTable, models: ShadowScores | None
    ) -> tuple[ScoreTable, CountedRows, Ints | None, list[str]]:
        """Return the table with settled units, rows to count otherwise, copies, and notes."""
        if target.unit is not None:
            return target, CountedRows(), None, said_of_units(target.unit, target.member)
        if self.drawn:
            return target, CountedRows(), None, []
        notes: list[str] = []
        invented = None
        unit = None
        labels = target.labels
        x = target.described
        if x is not None:
            invented = interpolated_rows(x, 2 * labels + target.member)
            unit, notes = equal_rows(fingerprints(x), labels, target.member, "features")
        # Rows are copies if all models give them the same numbers, to six significant digits.
        numbers = [target.values, *(() if models is None else models.values[:_MODELS_OF_ROWS])]
        parts = [part for values in numbers for part in np.frexp(values)]
        equal = Equal(
            number_units(fingerprints(np.column_stack([*parts, *(() if x is None else (x,))]))),
            labels,
        )
        on_both = equal.on_both_sides(
            "numbers and group" if target.groups else "numbers", target.member
        )
        across = together = None
        # Numbers that are equal on one side as often as on both are common answers.
        if on_both and equal.copied(target.member):
            notes += on_both
            across = equal.across(target.member)
            together = equal.with_copies(across)
        columns = np.column_stack([normal_scores(column)[0] for column in target.values.T])
        places = _places_of_rows(target, columns, models)
        for what, points in places.items():
            near = near_repeats(points, labels, target.member)
            if near is not None:
                unit = join_units(near[0], unit)
                linked = int(np.count_nonzero(repeated_rows(unit)))
                notes.append(
                    f"{linked:,} of {len(target):,} rows are nearly equal to others of their group "
                    f"and side in their {what}: such rows count as one, so that "
                    f"{checks.n_distinct(unit):,} units are left; {WAY_OUT}"
                )
        unit, said = units_in_order(columns, labels, target.member, unit)
        notes += said
        one_each = np.arange(len(target))
        if unit is not None:
            target = replace(target, unit=checks.frozen(unit))
            one_each = np.unique(unit, return_index=True)[1]
        # Distant rows of a person may not all be joined, so what is left is tested.
        side = target.member[one_each]
        clustered = any(
            is_clustered(column[one_each], labels[one_each], side) for column in columns.T
        )
        seen = np.column_stack([columns, columns.mean(axis=1), columns.std(axis=1)])[one_each]
        for points in places.values():
            if not clustered and points.shape[1] > 1:
                clustered = clustered_points(points[one_each], labels[one_each], side, seen)
        return target, CountedRows(across, invented, clustered=clustered), together, notes

    def _comparison(
        self,
        target: ScoreTable,
        models: ShadowScores | None,
        worlds: Worlds | None,
        rows: CountedRows,
        session: Session,
    ) -> tuple[Comparison, tuple[str, ...]]:
        """Return the records on which members and non-members are compared, and notes."""
        everyone = np.ones(len(target), np.bool_)
        if self.drawn:
            return Comparison("fair", everyone, None), ()
        for column, name in enumerate(target.names):
            digits = digits_differ(target.values[:, column], target.member)
            if digits is not None:
                digits = replace(digits, column=f"digits of {name}")
                return Comparison("different", everyone, None, left=None, differences=(digits,)), ()
        signals = dict(zip(target.names, target.values.T, strict=True))
        if target.groups:
            of_groups = np.array(target.groups)[target.labels]
            target = replace(target, columns={**target.columns, GROUP: of_groups})
        answers = answers_among(target.columns, list(signals.values()))
        others = {x: values for x, values in target.columns.items() if x not in answers}
        known = usable_columns(
            replace(target, columns=others),
            lambda values: repeats_a_signal(np.asarray(values), list(signals.values())),
            features=target.features,
        )
        columns = dict(known.columns)
        if models is not None and models.both_sides:
            columns[HELD_BY] = models.inside.sum(axis=0)
        return comparison_on(
            KnownColumns(
                columns,
                (*known.notes, *(unused_column_text(x, _ANSWER) for x in answers)),
                features=(*target.features, GROUP),
            ),
            target,
            # Without the groups, which are a known column themselves.
            Answers(target.values, signals),
            seed=session.seed,
            level=session.level,
            worlds=worlds,
            rows=rows,
        )


_ANSWER = "its difference from another column is the score, so it is what the model answered"


def answers_among(
    columns: Mapping[str, NDArray[Any]], signals: Sequence[Floats]
) -> tuple[str, ...]:
    """Return the columns called predictions whose difference from another column is a score.

    Nobody knows them without asking the model; beside the truth they say as much as the score.
    """
    numbers = {
        name: np.asarray(values, np.float64)
        for name, values in columns.items()
        if np.asarray(values).dtype.kind in "iuf"
    }
    return tuple(
        name
        for name in numbers
        if name.lower() in PREDICTED
        and any(
            repeats_a_signal(np.abs(values - numbers[name]), signals)
            for other, values in numbers.items()
            if other != name
        )
    )


audit_scores = one_line(
    ScoreOptions, ScoreOptions.run, "audit_scores", without=KEEPING, arrays=ARRAYS
)


def _contradictions(
    target: ScoreTable, stated: Mapping[str, int], rows: Bools, session: Session
) -> Iterator[str]:
    """Yield a warning for each score whose few members that stand out contradict its direction."""
    level = 1 - SHARE * (1 - session.level)
    for column, name in enumerate(target.names):
        if name not in stated:
            continue
        score = stated[name] * target.values[rows, column]
        straight, turned = (
            tail(
                [(name, Transcript(x, target.member[rows], unit=target.units[rows]))],
                seeds.stream(session.seed, "stated direction", name),
                level,
            )
            for x in (score, -score)
        )
        if straight is None or turned is None or straight.shown or not turned.shown:
            continue
        end, other = ("higher", "lowest") if stated[name] > 0 else ("lower", "highest")
        yield (
            f"{name} is taken to be {end} for members, but at least "
            f"{several(turned.exposed, 'member')} of {count(turned.n_in)} stand out by the {other} "
            "numbers of all: check the direction, and that these members' values are those that "
            "the model was trained with"
        )


_FEWEST_ALIKE = 4
"""Fewest shadow models whose own spread shows what is usual."""
_USUAL = 0.15
"""Largest distance from 1/2 of the share of lower numbers that is not worth a warning."""
_UNUSUAL = 4.0
"""Standard deviations of shadow models beyond which a target is unlike them."""


def _unlike_shadows(target: ScoreTable, models: ShadowScores) -> list[str]:
    """Return a warning for each score in which the target is unlike its shadow models.

    Records are compared that neither was trained on, so that no leak takes part.
    """
    if len(models) < _FEWEST_ALIKE:
        return []
    everyone = np.ones(len(models), np.bool_)
    found = []
    for column, name in enumerate(target.names[: models.values.shape[2]]):
        values = models.values[..., column]

        def lower(own: Floats, inside: Bools, others: Bools, values: Floats = values) -> float:
            """Return how often other models without a record give it a lower number."""
            without = ~models.inside[others] & ~inside
            signs = np.sign(own - values[others])
            return float((1 + np.mean(signs[without])) / 2) if without.any() else 0.5

        own = lower(target.values[:, column], target.member, everyone)
        usual = []
        for j in range(len(models)):
            others = everyone.copy()
            others[j] = False
            usual.append(lower(values[j], models.inside[j], others))
        if abs(own - 0.5) > _USUAL and abs(own - np.mean(usual)) > _UNUSUAL * np.std(usual):
            found.append(
                f"{name}: for records that neither was trained on, {percent(1 - own)} of the "
                "shadow models' numbers are higher than the target's, where half would be: the "
                "shadow models are unlike the target, so that guesses that are learnt on them may "
                "miss a leak; train them as the target was, on like records"
            )
    return found


def _places_of_rows(
    target: ScoreTable, columns: Floats, models: ShadowScores | None
) -> dict[str, Floats]:
    """Return rows as points, (n, d) each, in which those of one person lie near each other.

    By what is known of a row, its columns of numbers most of whose values differ, where there are
    several; and by its scores, those of the target and the first score in some shadow models, each
    less the median of its side: what a model gives its own members differs, whoever they are.
    """
    known = []
    for column in target.columns.values():
        values = np.asarray(column)
        numbers = values.dtype.kind == "f" and bool(np.isfinite(values).all())
        if numbers and len(np.unique(values)) > len(values) / 2:
            known.append(normal_scores(values)[0])
    seen = [columns]
    for j in range(0 if models is None else min(len(models), _MODELS_OF_ROWS)):
        assert models is not None
        values = models.values[j, :, 0].copy()
        for side in (models.inside[j], ~models.inside[j]):
            if side.any():
                values[side] -= np.median(values[side])
        seen.append(normal_scores(values)[0][:, None])
    found = {"columns": np.column_stack(known)} if len(known) > 1 else {}
    return {**found, "numbers": np.column_stack(seen)}


def _directions(dealt: Sequence[Round], names: Sequence[str], stated: Mapping[str, int]) -> str:
    """Return which end of each score means a member, given or learnt, as a sentence."""
    ends = []
    for column, name in enumerate(names):
        signs = {
            x.observation.signs[column]
            for x in dealt
            if isinstance(x.observation, ScoreObservation)
        }
        # Parts of the records may disagree where a score says next to nothing.
        end = "higher or lower" if len(signs) > 1 else {1: "higher", -1: "lower"}[signs.pop()]
        origin = "given" if name in stated else "learnt"
        ends.append(f"{end} {plain(name)} ({origin})")
    return f"Towards a member: {checks.short_list(ends)}"


def _description(
    target: ScoreTable,
    models: ShadowScores | None,
    others: ScoreTable | None,
    n_in: int,
    n_out: int,
    *,
    drawn: bool,
    directions: str,
) -> GameDescription:
    """Describe the game on numbers per record."""
    if models is not None and models.both_sides:
        has = f"and has the same numbers from {len(models)} models trained on some of the records"
        learnt = "on the shadow models' records only"
    elif others is not None:
        has = f"and has the numbers of {len(others):,} other records in models of its own"
        learnt = "on the shadow models' records only"
    else:
        has = "and knows the membership of some of the records, to learn thresholds on"
        if models is not None:
            has += f", and has the same numbers from {len(models)} reference models"
        learnt = "on two other fifths of the target's own records, in turn (cross-fitting)"
    numbers = "one number" if len(target.names) == 1 else "several numbers"
    return GameDescription(
        "membership inference from numbers per record",
        question="Was this record in the model's training set?",
        adversary=f"Sees {numbers} that the model gives to a record, {has}",
        secret=origin_of_truth(drawn),
        thresholds=f"{learnt}. {directions}",
        n_in=n_in,
        n_out=n_out,
    )
