"""The audit of a generator by canaries in a few fits, for generators that are slow to fit.

Every canary is in or out by an independent fair coin in each fit, and only the tables in question
are made. Attacks do not train: they compare the released table with the records that are not
canaries.

It is in no kind's folder, because it is the audit of a privacy claim, with an accuracy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.claims.claim_audit.audit import ClaimAudit, ClaimOptions
from privacygauge.claims.claim_audit.report import open_without_claim
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.release import coin_flips
from privacygauge.core.transcript import tied
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.evaluate.canaries import GuessedInFits, guessed_in_fits
from privacygauge.evaluate.detectable import POWER, smallest_accuracy
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.report.grades import untold_verdict
from privacygauge.report.numbers import (
    count,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    rounded_down,
    several,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Grade,
    Measure,
    Origin,
    Report,
    Section,
    Severity,
    Verdict,
    Worst,
    text,
)
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.options import keyword
from privacygauge.tables.attacks.attack import Tables
from privacygauge.tables.games.games import Block, Game, Make, Setting, Sizes
from privacygauge.tables.games.releases import Making, Storage, make_releases
from privacygauge.tables.generator_audit.audit import clipped_numbers
from privacygauge.tables.generators.named import as_generator
from privacygauge.tables.options import LearntColumns, TargetDesign
from privacygauge.tables.released.membership import (
    DensityRatio,
    DistanceRatio,
    JudgedRecords,
    Signals,
    ValueRatio,
)
from privacygauge.tables.released.neighbours import usual_distance
from privacygauge.tables.selection import TargetsAsked, select_targets
from privacygauge.tables.table import Table, column_advice

CANARIES = 200
"""Default number of canaries; at most a quarter of the table."""

FEWEST = 20
"""Fewest canaries; with fewer, chance puts all or none in too often."""


@dataclass(frozen=True)
class Fits(Sizes):
    """Numbers of fits and of their records; the adversary has no tables of its own."""

    shadows: int = 0
    tests: int = 1
    """Number of fits, at least 1."""

    LEAST: ClassVar[Mapping[str, int]] = {**Sizes.LEAST, "shadows": 0, "tests": 1}
    """Smallest value of each field."""


class Untaught(Protocol):
    """An attack on a released table that needs no other synthetic table."""

    @property
    def name(self) -> str:
        """Name, as reports print it."""

    def signals(self, seen: JudgedRecords) -> Signals:
        """Return a signal of each record; higher means more likely a member."""


@dataclass(frozen=True)
class FewFits(Game):
    """Game with a fair coin per target and fit; other records fill up the fits.

    Places are filled in one order, the same in all fits: flipping one coin replaces the records of
    one person and changes nothing else. So the bound of one run is on the epsilon of replacing a
    record. Fits have independent coins, so their canaries add up.
    """

    name = "few fits"
    knowledge = "exact"

    def check(self, setting: Setting) -> None:
        """Raise on a setting with too few records or canaries."""
        if len(setting.targets) < FEWEST:
            raise InputError(
                f"at least {FEWEST} canaries are needed, different ones of different people, got "
                f"{len(setting.targets)}"
            )
        if not np.array_equal(setting.first, np.arange(len(setting.targets))):
            raise InputError("canaries must be different records of different people")
        setting.require(self.others(setting), setting.sizes.records, "beside the canaries")
        most = int(setting.records_of_each.sum())
        records = setting.sizes.records
        if most > records:
            raise InputError(
                f"canaries of {most:,} records do not fit into {records:,}: learn from more "
                "(--size), or take fewer canaries"
            )

    def n_tables(self, setting: Setting) -> int:
        """Return the number of fits."""
        return setting.sizes.tests

    def roles(self, setting: Setting, number: int) -> tuple[str | int, ...]:
        """Return the labels from which a fit's random generator is derived."""
        return ("few fits", number)

    def coins(self, setting: Setting) -> Bools:
        """Return the coins (t, r): True where the canary is in the fit."""
        rng = seeds.stream(setting.seed, "few fits", "coins")
        return coin_flips(setting.sizes.tests, len(setting.targets), rng)

    def others(self, setting: Setting) -> Ints:
        """Return the rows of neither canaries nor their copies, in the order of filling."""
        rows = setting.without(np.arange(len(setting.table)), setting.targets)
        return seeds.stream(setting.seed, "few fits", "others").permutation(rows)

    def training_set(self, setting: Setting, number: int, make: Make) -> Table:
        """Return the canaries whose coins put them in, filled up with others."""
        chosen = setting.of_people(setting.targets[self.coins(setting)[number]])
        others = self.others(setting)[: setting.sizes.records - len(chosen)]
        return setting.table[np.sort(np.concatenate([chosen, others]))]

    def blocks(self, setting: Setting, target: int) -> Iterator[Block]:
        """Yield the one block of a target, without tables of the adversary's own."""
        secret = self.coins(setting)[:, target]
        yield Block(slice(0), np.zeros(0, np.bool_), slice(0, len(secret)), secret)

    def known(self, setting: Setting, target: int) -> Table:
        """Return the records that fill up a fit without canaries."""
        return setting.table[np.sort(self.others(setting)[: setting.sizes.records])]


def canary_scores(
    setting: Setting, tables: Tables, attacks: Sequence[Untaught] | None = None
) -> dict[str, Floats]:
    """Return each attack's scores of all canaries in all fits, by the attack's name.

    Parameters
    ----------
    setting : Setting
        Setting with the canaries as targets.
    tables : ndarray, shape (t, n, F)
        The synthetic table of each fit of `FewFits`.
    attacks : sequence of Untaught, optional
        Attacks with distinct names; by default the ratios of distances, densities and values.

    Returns
    -------
    dict of str to ndarray, shape (t, r)
        Scores; higher means more likely in. No attack sees a coin.
    """
    if attacks is None:
        distance = usual_distance(setting.table.schema)
        attacks = (DistanceRatio(distance), DensityRatio(), ValueRatio())
    names = [attack.name for attack in attacks]
    if not names or len(set(names)) < len(names):
        raise InputError(f"attacks must be at least one, of different names, got {names}")

    def kept(values: Floats) -> Table:
        # Rounded as the run stores values, so that copies stay equal; clipped, as rounding may
        # leave the range.
        low, high, _, _ = setting.table.schema.limits
        rounded = Storage(setting.table.schema).rounded(values)
        return Table(setting.table.schema, np.clip(rounded, low, high))

    canaries = kept(setting.table.values[setting.targets])
    # All canaries pose as members and nobody as non-member: the scores need no labels.
    nobody = canaries[np.arange(0)]
    known = kept(FewFits().known(setting, 0).values)
    seen = [
        JudgedRecords(
            real=canaries,
            nonmembers=nobody,
            reference=known,
            synthetic=kept(values),
            nonmember_rows=np.arange(0),
        )
        for values in tables
    ]
    return {
        attack.name: np.stack([attack.signals(one).members for one in seen]) for attack in attacks
    }


LARGE_AT = 0.65
"""Right guesses from which on a leak is large; an audit that finds nothing must be able to detect
that."""

_PLAYED = (
    "In each fit a fair coin of its own decides for every canary whether it is among the records "
    "that the generator learns from; other records fill the places that are left. From the "
    "released table and the records that are no canaries each canary gets a score. Differential "
    "privacy limits how many guesses by these scores can be right, however they depend on each "
    "other, and the bound on epsilon inverts that limit: it is about replacing one record, and "
    "counts the coins of all fits (Steinke, Nasr and Jagielski 2023). The interval of right "
    "guesses is about these fits, not about fits to come."
)


@dataclass(frozen=True, eq=False, repr=False)
class FitsAudit(Reported):
    """Leak of canaries from a few fits of a generator, with its report."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    claim: ClaimAudit
    """The bound on epsilon, and the claimed epsilon."""
    guessed: GuessedInFits
    """Guesses about the canaries."""
    generator: str
    """Name of the generator."""
    sizes: Sizes
    """Number of fits, and of records in each."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        claim = self.claim.report()
        g = self.guessed
        n_guesses = len(g.canary)
        made = several(self.sizes.tests, "fit")
        table = "a synthetic table" if self.sizes.tests == 1 else "each of the synthetic tables"
        said = (
            f"{count(n_guesses)} records, the canaries, were each in or out by a fair coin, in "
            f"{made} of {plain(self.generator)}, made from "
            f"{several(self.sizes.records, 'record')}. From {table} {g.attack} says which were in. "
            f"{detectable_share_text(n_guesses, self.sizes.tests, self.level)}"
        )
        each = g.accuracy_of_each
        ends = percent(each.min(), 1), percent(each.max(), 1)
        singly = f", {ends[0]} to {ends[1]} in single fits" if len(each) > 1 else ""
        measures = (
            Measure(
                name="accuracy",
                label="Right guesses",
                found=g.accuracy,
                shown=percent_estimate(g.accuracy, 1),
                note=f"{count(n_guesses)} canaries in {made}{singly}",
                text='Half of the canaries are called "in". Guessing gives 50%.',
                guessing="50%",
            ),
            Measure(
                "auc",
                "Pairs of canaries told apart",
                g.auc,
                decimal_estimate(g.auc),
                text="Of a canary that was in and one that was out, how often the right one is "
                "picked. AUC.",
                guessing="0.5",
            ),
        )
        first, *others = claim.measures
        claimed = self.claim.claim.epsilon > 0
        return replace(
            claim,
            title="Audit of a generator by canaries in a few fits",
            about=About(
                f"A generator of synthetic tables: {self.generator}",
                "Somebody who holds a record guesses whether the synthetic table was made from it.",
                "the synthetic table, and all records that are no canaries",
                "membership-inference",
            ),
            intro=said,
            verdict=claim.verdict if claimed else _verdict_without_claim(self, claim.verdict),
            # The first measure of a claim's audit is the claimed epsilon.
            measures=(*measures, *([first] if claimed else []), *others),
            sections=(
                # The last section describes another game: this one's takes its place.
                *claim.sections[:-1],
                Section("played", "How it was played", (text(_PLAYED),)),
            ),
            terms={**claim.terms, "Canary": "A record that coins put into fits or leave out."},
            worst=Worst(reason="coins decide about each record, not one record is judged alone"),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class FewFitsOptions(TargetDesign, LearntColumns):
    """An audit of a generator by many canaries in a few fits."""

    canaries: TargetsAsked | None = keyword(
        "Number of canaries, or their rows; of copies, and of one person's records, only the first "
        "is taken. Default: 200, or a quarter of a small table.",
        default=None,
    )
    fits: int = keyword(
        "Number of fits, at least 1. Every further one narrows the intervals, and several show how "
        "much fits differ.",
        default=1,
    )
    epsilon: float = keyword(
        "Claimed epsilon of replacing one record, at least 0; 0 claims that nothing is given away.",
        default=0.0,
    )
    attacks: Sequence[Untaught] | None = keyword(
        "Attacks that score the canaries without any other synthetic table. With several, a fifth "
        "of the canaries chooses the attack, and the others are judged.",
        default=None,
    )

    def run(
        self,
        generator: object,
        data: object,
        *,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        before: Callable[[Making], object] | None = None,
        session: Session = Session("synthetic"),
    ) -> FitsAudit:
        """Audit a generator by many canaries in a few fits, or in a single one.

        It suits generators that take an hour per fit: only the judged tables are made. Every canary
        is a record that a fair coin of its own puts into a fit or leaves out, again in each fit.

        Parameters
        ----------
        generator, data
            As in `audit_synthetic`.
        ids, unit : array_like, shape (N,), optional
            Names of the records, and the person behind each: one coin decides for all records of a
            canary's person.
        before : callable, optional
            Called once all arguments are checked, before any fit.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        FitsAudit

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        The bound on epsilon is that of one run (Steinke, Nasr & Jagielski 2023) with all coins of
        all fits; the interval of right guesses is about these fits (`guessed_in_fits`).
        """
        fits = self.fits
        checks.at_least(1, fits=fits)
        made_by = as_generator(generator)
        table = self.read(data)
        owner = owners(unit, ids, len(table))
        game = FewFits()
        asked = min(CANARIES, len(table) // 4) if self.canaries is None else self.canaries
        selections = select_targets(table, asked, self.select, session.seed)
        rows = np.unique(np.concatenate([s.rows for s in selections]))
        # First with all rows, to find copies and people: one canary of each is kept.
        every = Setting.of(table, rows, sizes=Fits(tests=fits), seed=session.seed, unit=owner)
        rows = rows[every.first == np.arange(len(rows))]
        # Without a size a fit takes all records that are not canaries.
        records = max(2, len(game.others(every))) if self.size is None else self.size
        sizes = Fits(tests=fits, records=records, made=self.made)
        setting = Setting.of(table, rows, sizes=sizes, seed=session.seed, unit=owner)
        game.check(setting)
        making = Making(game, setting, made_by)
        if before is not None:
            before(making)
        with kept_or_scratch(session.run) as folder:
            releases = make_releases(
                making,
                folder,
                invocation=session.invocation,
                n_jobs=session.n_jobs,
                progress=session.progress,
            )
            scores = canary_scores(setting, releases.tables(slice(0, fits)), self.attacks)
            clipped = releases.clipped_numbers
        telling = {name: score for name, score in scores.items() if not tied(score)}
        if not telling:
            raise InputError("every attack gives all canaries the same score: give other attacks")
        guessed = guessed_in_fits(telling, game.coins(setting), setting.seed, session.level)
        names = (
            np.arange(len(table)) if ids is None else checks.vector(ids, "ids", length=len(table))
        )
        # (canaries,) names in the order of a row of scores, (fits, canaries).
        shown = names[making.setting.targets[guessed.canary]]
        claim = ClaimOptions().run(
            {
                "score": guessed.score.ravel(),
                "member": guessed.secret.ravel(),
                # A canary in two fits is two coins, so it needs two ids.
                "id": [f"fit {k + 1}: {name}" for k in range(fits) for name in shown],
            },
            self.epsilon,
            # The run keeps no code that the claim could be compared with.
            session=replace(session, run=None),
        )
        told = (*column_advice(table), *claim.origin.warnings, *clipped_numbers(*clipped))
        origin = replace(claim.origin, warnings=told)
        claim = replace(claim, origin=origin)
        return FitsAudit(
            origin=origin,
            claim=claim,
            guessed=guessed,
            generator=made_by.name,
            sizes=making.setting.sizes,
        )


audit_few_fits = one_line(FewFitsOptions, FewFitsOptions.run, "audit_few_fits")


def detectable_share_text(n_guesses: int, fits: int, level: float) -> str:
    """Return a sentence on the share of right guesses that such an audit would usually detect."""
    smallest = smallest_accuracy(fits * n_guesses, level)
    if smallest is None:
        return "So few canaries could show nothing: take more."
    return (
        f"A share of right guesses of {rate(np.ceil(100 * smallest) / 100)} or more would be seen "
        f"in {rate(POWER)} of such audits."
    )


def _verdict_without_claim(a: FitsAudit, found: Verdict) -> Verdict:
    """Return the verdict without a claim; an inconclusive verdict stays as it is."""
    if open_without_claim(a.claim, found) or found.gauge is None:
        return found
    scale = Grade("no leak found", Severity.NOTHING), Grade("leak", Severity.GRAVE)
    low = a.claim.free.estimate.low
    level = rate(a.level)
    g = a.guessed
    told_apart = max(g.accuracy.low, g.auc.low) > 0.5
    zones = ("No epsilon shown", "Leak") if told_apart and low <= 0 else ()
    gauge = replace(found.gauge, zones=zones)
    unsaid = "A stronger attack, or more canaries, may show more."
    none = f"The guesses about the coins show no epsilon above 0 at {level}."
    more = "Audit with more canaries or fits, or play the privacy game if fits are quick."
    if low > 0:
        grade = scale[1]
        bound = rounded_down(low, beyond=0)
        headline = f"The synthetic tables give canaries away: epsilon is at least {bound}"
        said = (
            f"With {level} confidence no smaller epsilon of replacing one record can be claimed. "
            "This holds whatever the generator does, since the coins were fair."
        )
    elif told_apart:
        grade = scale[1]
        headline = "The synthetic tables give canaries away"
        said = f"They are told apart more often than by guessing. {none} {more}"
    elif (least := smallest_accuracy(g.secret.size, a.level)) is None or least > LARGE_AT:
        return untold_verdict(
            headline="Cannot be told: too few canaries to see even a large leak",
            sentences=(detectable_share_text(len(g.canary), len(g.secret), a.level),),
            advice=(more,),
        )
    else:
        grade = scale[0]
        headline = "No leak found: canaries are not told apart"
        said = none
    advice = "Keep these tables back, or generate them with differential privacy."
    advised = more if grade is scale[0] else advice
    return Verdict(
        grade=grade,
        scale=scale,
        headline=headline,
        sentences=(said,),
        unsaid=unsaid,
        advice=(advised,),
        gauge=gauge,
    )
