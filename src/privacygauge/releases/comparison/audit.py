"""Comparisons of finished audits: each measure's difference, with a verdict on the last version."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import bonferroni_level
from privacygauge.evaluate.detectable import POWER
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.releases.comparison import Margin
from privacygauge.releases.comparison.differences import Difference, Judged, difference, pair_of
from privacygauge.releases.comparison.versions import (
    KIND,
    Version,
    changes,
    own_names,
    read_version,
)
from privacygauge.releases.line import report_names
from privacygauge.report.axes import DASHES, MARKERS, SERIES, axes, legend_above, plot_label
from privacygauge.report.numbers import DASH, Shown, count, decimal, percent, plain, rate
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Axes,
    Block,
    Cell,
    Content,
    DataFrame,
    FoldedBlocks,
    Gauge,
    Grade,
    Heading,
    Json,
    Measure,
    Origin,
    Plot,
    Report,
    Rows,
    Section,
    Severity,
    Table,
    Verdict,
    Whisker,
    Worst,
    ends,
    finite,
    frame,
    note,
    pick_values,
    table,
    text,
    values_of,
)

SAME = Grade("no difference", Severity.NOTHING)
BETTER = Grade("better", Severity.NOTHING)
NOT_WORSE = Grade("not worse", Severity.NOTHING)
SLIGHTLY = Grade("slightly worse", Severity.SMALL)
WORSE = Grade("worse", Severity.MODERATE)
CLEARLY = Grade("clearly worse", Severity.GRAVE)
UNTOLD = Grade("cannot be told", Severity.UNTOLD)
SCALE = (SAME, BETTER, NOT_WORSE, SLIGHTLY, WORSE, CLEARLY)

POWERS = ("detectable", "detectable-epsilon")
"""Measures of an audit's power, which say nothing about the release."""

_LINES = 4
"""Most measures in the chart over versions."""
_WORDS = 3
"""Most measures that a sentence names."""


class Direction(StrEnum):
    """Verdict of a difference on the newer version; limits apply to more, so more is worse."""

    WORSE = "worse for certain"
    MORE = "more, as computed"
    BETTER = "better for certain"
    LESS = "less, as computed"
    SAME = "no difference"
    UNTOLD = "cannot be told"
    UNJUDGED = "not judged"


@dataclass(frozen=True)
class Compared:
    """A measure in two audits."""

    old: Measure
    """The measure of the older audit."""
    new: Measure
    """The measure of the newer audit."""
    found: Difference | Skipped
    """The difference, new minus old."""
    margin: float | None
    """Largest rise that does not matter; None for a number that is not a share."""
    trusted: bool
    """Whether both audits could tell by themselves; else their numbers are no findings."""

    @property
    def name(self) -> str:
        """Name of the measure."""
        return self.old.name

    @property
    def judged(self) -> bool:
        """Whether more of it is worse: limits apply to it, and it is about the release."""
        return self.old.gate and self.new.gate and self.name not in POWERS

    @property
    def direction(self) -> Direction:
        """Whether the newer version is worse, by the interval that holds with all others."""
        if not self.judged:
            return Direction.UNJUDGED
        if isinstance(self.found, Skipped):
            return Direction.UNTOLD
        decided = self.found.decided
        if decided.low == decided.high == 0:
            return Direction.SAME
        if not self.trusted or decided.low <= 0 <= decided.high:
            return Direction.UNTOLD
        if decided.low > 0:
            return Direction.MORE if self.found.exact else Direction.WORSE
        return Direction.LESS if self.found.exact else Direction.BETTER

    @property
    def worse(self) -> bool:
        """Whether the newer version is worse."""
        return self.direction in (Direction.WORSE, Direction.MORE)

    @property
    def grade(self) -> Grade:
        """Grade of the newer version by this measure alone."""
        if isinstance(self.found, Skipped):
            return UNTOLD
        decided = self.found.decided
        within = self.margin is not None and decided.high <= self.margin
        match self.direction:
            case Direction.SAME:
                return SAME
            case Direction.BETTER | Direction.LESS:
                return BETTER
            case Direction.WORSE | Direction.MORE if within:
                return SLIGHTLY
            case Direction.WORSE | Direction.MORE:
                beyond = self.margin is not None and decided.low > self.margin
                return CLEARLY if beyond else WORSE
        return NOT_WORSE if within and self.trusted else UNTOLD

    @property
    def in_points(self) -> bool:
        """Whether the report prints the measure as a percentage."""
        return any(x.shown.value.endswith(("%", "points")) for x in (self.old, self.new))


@dataclass(frozen=True, eq=False)
class Step:
    """A newer version against the first."""

    old: Version
    """The first version."""
    new: Version
    """The newer version."""
    measures: tuple[Compared, ...]
    """The measures of both, in the order of the first."""
    each: float
    """Level of each decision, so that all of them hold together."""

    @property
    def equal(self) -> bool:
        """Whether both say the same, whenever and under whatever name they were made."""
        return self.old.content == self.new.content

    @property
    def judged(self) -> tuple[Compared, ...]:
        """The measures of which more is worse."""
        return tuple(x for x in self.measures if x.judged)

    @property
    def main(self) -> Compared | None:
        """The measure behind the verdict of the reports; None if they share none."""
        return next(iter(self.judged), None)

    @property
    def only(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of the measures that only the first, and only the newer version has."""
        known = {x.name for x in self.measures}
        first, second = (
            tuple(n for n in x.numbers if n not in known) for x in (self.old, self.new)
        )
        return first, second

    def named(self, *directions: Direction) -> list[str]:
        """Return the names of the judged measures with one of some directions."""
        return [x.name for x in self.judged if x.direction in directions]

    @property
    def decisive(self) -> Compared | None:
        """The measure that is worse for certain by the worst grade; without one, the main one."""
        worse = [x for x in self.judged if x.worse]
        return max(worse, key=lambda x: SCALE.index(x.grade), default=self.main)

    @property
    def grade(self) -> Grade:
        """Grade of the newer version, by the decisive measure."""
        if self.equal:
            return SAME
        return UNTOLD if self.decisive is None else self.decisive.grade


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Reported):
    """Finished audits of one kind side by side, with their forms."""

    origin: Origin
    """Origin of the comparison."""
    margin: float
    """Largest rise of a share that does not matter."""
    versions: tuple[Version, ...]
    """The versions, the oldest first."""
    steps: tuple[Step, ...]
    """Each later version against the first."""

    @property
    def last(self) -> Step:
        """The last version against the first, which the verdict is about."""
        return self.steps[-1]

    @property
    def grade(self) -> Grade:
        """Grade of the last version."""
        return self.last.grade

    def report(self) -> Report:
        """Return the full report as plain values."""
        last = self.last
        names = [plain(x.name) for x in self.versions]
        kind = self.versions[0].line.kind
        grade = self.grade
        advice = (*_advice(last), "Keep this page with both reports.")
        sections = [
            Section(
                "measures",
                f"{names[-1]} against {names[0]}",
                _measures(last),
                open=len(self.versions) == 2,
            )
        ]
        if len(self.versions) > 2:
            sections.insert(0, Section("versions", "All versions", tuple(_over_versions(self))))
        sections.append(Section("changes", "What else changed", tuple(_changes(self))))
        return Report(
            kind=KIND,
            title="Comparison of audits",
            about=About(
                audited=f"{', '.join(names)}: audits of the kind {kind}",
                game="The same measures of finished audits are compared, and nothing is played.",
                knowledge="as the reports say",
                task="comparison",
            ),
            intro=(
                f"Differences are those of {names[-1]} minus {names[0]}: above 0 is more given "
                "away, as a limit on the measure would say."
            ),
            origin=self.origin,
            verdict=Verdict(
                grade=grade,
                scale=SCALE if grade in SCALE else (grade,),
                headline=_headline(last),
                sentences=tuple(_sentences(self)),
                unsaid=(
                    "It compares what two audits found, with the attacks that they played. That a "
                    "version is not worse does not say that it is safe: each report says that."
                ),
                advice=advice,
                gauge=None if grade is UNTOLD else _gauge(last.decisive),
            ),
            measures=tuple(self._numbers()),
            sections=tuple(sections),
            terms=_TERMS,
            worst=Worst("records", (), "a comparison names no records: each report does"),
            data=_data(self),
            frames={"differences.csv": self.to_frame},
            overview=(_table(last, "overview"),),
        )

    def _numbers(self) -> Iterator[Measure]:
        main = self.last.main
        if main is None:
            none = Skipped("difference", "the reports share no measure to which limits apply")
            yield Measure("difference", "Difference", none, Shown(DASH))
        else:
            found = main.found
            number: Estimate | float | Skipped
            if isinstance(found, Skipped):
                number = found
            else:
                number = found.found.value if found.exact else found.found
            yield Measure(
                "difference",
                f"Difference: {plain(main.old.label)}",
                number,
                _difference_shown(main),
                text=f"{plain(main.new.shown.value)} after {plain(main.old.shown.value)}.",
                guessing="0",
            )
        worse = self.last.named(Direction.WORSE, Direction.MORE)
        yield Measure(
            "worse",
            "Measures that are worse",
            float(len(worse)),
            Shown(f"{count(len(worse))} of {count(len(self.last.judged))}"),
            text=", ".join(worse) or "None.",
            guessing="0",
            level=self.level,
        )
        for x in self.last.measures:
            if isinstance(x.found, Skipped):
                continue
            label = f"Difference: {plain(x.old.label)}"
            name = f"difference-{x.name}"
            number = x.found.found.value if x.found.exact else x.found.found
            yield Measure(name, label, number, _difference_shown(x), gate=False, card=False)

    def to_frame(self) -> DataFrame:
        """Return one row per later version and measure.

        Columns: ``version``, ``measure``, ``old``, ``new``, ``difference`` with ``_low`` and
        ``_high`` at the level of the comparison, ``decided_low`` and ``decided_high`` at the level
        at which all decisions hold together, ``direction``, ``paired``, ``detectable``.
        """
        rows = []
        for step in self.steps:
            for x in step.measures:
                found = None if isinstance(x.found, Skipped) else x.found
                rows.append(
                    {
                        "version": _no_formula(step.new.name),
                        "measure": _no_formula(x.name),
                        "old": _value(x.old),
                        "new": _value(x.new),
                        **ends("difference", None if found is None else found.found),
                        "decided_low": None if found is None else found.decided.low,
                        "decided_high": None if found is None else found.decided.high,
                        "direction": x.direction.value,
                        "paired": found is not None and found.paired,
                        "detectable": None if found is None else found.detectable,
                    }
                )
        return frame(rows)


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions(Margin):
    """Options of a comparison."""

    def run(
        self,
        reports: Sequence[str | Path] | Mapping[str, str | Path],
        *,
        session: Session = Session("compare_reports"),
    ) -> Comparison:
        """Compare finished audits of one kind, each with the first.

        Parameters
        ----------
        reports : sequence of paths, or mapping of names to paths
            At least two folders of finished audits, or their ``report.json``, the oldest first.
            Where ``records.parquet`` lies beside both reports, people in both are paired.
        session : Session, optional
            Seed and level.

        Returns
        -------
        Comparison
            Differences with their intervals, at the level of each and jointly (Bonferroni).

        Raises
        ------
        InputError
            One line: fewer than two reports, of different kinds, damaged or foreign ones.

        Notes
        -----
        Both intervals are combined by MOVER (Zou and Donner 2008), where records are paired with
        the correlation that the influences of shared people on both numbers show (for an AUC:
        DeLong et al. 1988), brought towards 0 by two more discordant records (Bonett and Price
        2012). A number that is the largest of several attacks' gets the critical value of all
        differences between them at once.
        """
        if not 0.0 < self.margin < 1.0:
            raise InputError(f"margin must be in (0, 1), got {self.margin:g}")
        if isinstance(reports, str | Path):
            raise InputError(f"reports must be a list of reports, got the single path {reports}")
        if len(reports) < 2:
            raise InputError(f"a comparison needs at least two reports, got {len(reports)}")
        if isinstance(reports, Mapping):
            pairs = list(reports.items())
        else:
            pairs = list(report_names(zip(own_names(reports), reports, strict=True)).items())
        versions = tuple(read_version(path, name) for name, path in pairs)
        first = versions[0]
        for x in versions[1:]:
            if x.line.kind != first.line.kind:
                raise InputError(
                    f"{x.name} is a report of the kind {plain(x.line.kind)}, and {first.name} of "
                    f"the kind {plain(first.line.kind)}: compare reports of one kind"
                )
        steps = tuple(self._step(first, x, session) for x in versions[1:])
        warnings = [w for step in steps for w in _warnings(step)]
        provenance = {x.name: f"report.json sha256:{x.line.sha256}" for x in versions}
        origin = session.origin(warnings=dict.fromkeys(warnings), about=provenance)
        return Comparison(origin, self.margin, versions, steps)

    def _step(self, old: Version, new: Version, session: Session) -> Step:
        pairs = [(x, new.numbers[name]) for name, x in old.numbers.items() if name in new.numbers]
        pairs = [
            (a, b)
            for a, b in pairs
            if not isinstance(a.found, Skipped) and not isinstance(b.found, Skipped)
        ]
        judged = [a for a, b in pairs if a.gate and b.gate and a.name not in POWERS]
        # Computed numbers cost nothing of the joint level.
        looks = sum(isinstance(a.found, Estimate) for a in judged)
        each = bonferroni_level(session.level, max(1, looks))
        found = tuple(
            self._compared(old, new, (a, b), session=session, each=each) for a, b in pairs
        )
        return Step(old, new, found, each)

    def _compared(
        self,
        old: Version,
        new: Version,
        both: tuple[Measure, Measure],
        *,
        session: Session,
        each: float,
    ) -> Compared:
        first, second = both
        a = first.found
        b = second.found
        assert not isinstance(a, Skipped)
        assert not isinstance(b, Skipped)
        found: Difference | Skipped
        if old.content == new.content:
            nothing = Estimate(
                0.0, 0.0, 0.0, level=session.level, n=1, method="exact: equal reports"
            )
            found = Difference(nothing, nothing, paired=False, shared=0, exact=True)
        elif _is_bound(first) or _is_bound(second):
            found = Skipped(first.name, "a bound on one side alone: bounds cannot be subtracted")
        else:
            pair = None
            estimated = isinstance(a, Estimate) and isinstance(b, Estimate)
            if estimated and isinstance(old.records, Judged) and isinstance(new.records, Judged):
                rng = stream(session.seed, "compare", first.name)
                values = (_value(first), _value(second))
                pair = pair_of(first.name, values, (old.records, new.records), rng)
            found = difference(a, b, level=session.level, each=each, pair=pair)
        trusted = Severity.UNTOLD not in (old.line.severity, new.line.severity)
        compared = Compared(first, second, found, None, trusted=trusted)
        # A margin is for shares: a count, an epsilon or a distance has none.
        parts = [x for y in (a, b) for x in ((y.low, y.high) if isinstance(y, Estimate) else (y,))]
        is_share = all(-1.0 <= x <= 1.0 for x in parts) and (len(parts) == 4 or compared.in_points)
        return replace(compared, margin=self.margin) if is_share else compared


compare_reports = one_line(
    ComparisonOptions,
    ComparisonOptions.run,
    "compare_reports",
    without=KEEPING,
)


def _is_bound(x: Measure) -> bool:
    """Return whether a computed number is a bound, whose difference says nothing."""
    stated = isinstance(x.found, float) and (x.level is not None or math.isinf(x.found))
    return stated or x.shown.value[:1] in (
        "\N{GREATER-THAN OR EQUAL TO}",
        "\N{LESS-THAN OR EQUAL TO}",
    )


def _value(x: Measure) -> float:
    """Return the number of a measure that was not skipped."""
    assert not isinstance(x.found, Skipped)
    return x.found.value if isinstance(x.found, Estimate) else x.found


def _with_sign(value: float, points: bool) -> str:
    shown = percent(value, 1 if abs(value) >= 0.01 else 2).removesuffix("%")
    if not points:
        shown = decimal(value, 3)
    return shown if shown.startswith("-") or value <= 0 else f"+{shown}"


def _difference_shown(x: Compared, *, decided: bool = False) -> Shown:
    if isinstance(x.found, Skipped):
        return Shown(DASH)
    found = x.found.decided if decided else x.found.found
    points = x.in_points
    value = _with_sign(found.value, points) + (" points" if points else "")
    if found.low == found.high:
        return Shown(value)
    return Shown(value, _with_sign(found.low, points), _with_sign(found.high, points))


def _warnings(step: Step) -> Iterator[str]:
    """Yield warnings for the reader of the differences."""
    for x in (step.old, step.new):
        if x.line.severity is Severity.UNTOLD:
            yield (
                f"{x.name} could not tell by itself, so that its numbers are no findings: "
                f"{plain(x.line.headline)}"
            )
    made = {x.line.version for x in (step.old, step.new)}
    if len(made) > 1:
        yield (
            f"{step.old.name} and {step.new.name} were made by different versions of PrivacyGauge "
            f"({', '.join(sorted(map(plain, made)))}): a difference may be that of the attacks"
        )


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_WORDS])
    more = len(names) - _WORDS
    return f"{shown} and {count(more)} more" if more > 0 else shown


def _headline(step: Step) -> str:
    old = plain(step.old.name)
    new = plain(step.new.name)
    main = step.main
    if step.equal:
        return f"No difference: {old} and {new} say the same"
    worse = step.named(Direction.WORSE, Direction.MORE)
    if worse:
        how = step.grade.word.capitalize()
        return f"{how}: {new} gives away more than {old} by {_names(worse)}"
    if main is None:
        return f"Not settled: {old} and {new} share no measure to which limits apply"
    if step.grade is BETTER:
        return f"Better: {new} gives away less than {old} by {main.name}"
    if step.grade is SAME:
        return f"No difference of {main.name} between {old} and {new}"
    if step.grade is NOT_WORSE:
        return f"Not worse: {new} is not above {old} by {_margin(main)} of {main.name} or more"
    return f"Not settled: it cannot be told whether {new} gives away more than {old}"


def _margin(x: Compared) -> str:
    assert x.margin is not None
    return f"{100 * x.margin:g} points" if x.in_points else f"{x.margin:g}"


def _sentences(found: Comparison) -> Iterator[str]:
    step = found.last
    old = plain(step.old.name)
    new = plain(step.new.name)
    main = step.main
    if main is not None:
        level = "" if isinstance(main.found, Skipped) or main.found.exact else (
            f" ({rate(found.level)} interval {_difference_shown(main).interval})"
        )  # fmt: skip
        told = (
            f"which cannot be subtracted: {main.found.reason}"
            if isinstance(main.found, Skipped)
            else f"a difference of {_difference_shown(main).value}{level}"
        )
        yield (
            f"{plain(main.old.label)}: {plain(main.old.shown.value)} in {old}, "
            f"{plain(main.new.shown.value)} in {new}, {told}."
        )
    parts = [
        f"{direction.capitalize()}: {', '.join(names)}."
        for direction in Direction
        if (names := step.named(direction))
    ]
    if parts and not step.equal:
        yield " ".join(parts)
    estimated = [x for x in step.judged if not isinstance(x.found, Skipped) and not x.found.exact]
    if estimated:
        n_paired = sum(not isinstance(x.found, Skipped) and x.found.paired for x in estimated)
        yield (
            f"What is certain holds for {count(len(estimated))} measures at once with "
            f"{rate(found.level)} confidence: each is decided at {rate(step.each)} (Bonferroni). "
            f"{count(n_paired)} of them are compared person by person, the others as if the "
            "audits had nothing in common."
        )
    if main is not None and not isinstance(main.found, Skipped) and not main.found.exact:
        least = _with_sign(main.found.detectable, main.in_points).lstrip("+")
        unit = " points" if main.in_points else ""
        yield (
            f"A rise of {main.name} by {least}{unit} would have been seen in {rate(POWER)} of "
            "such comparisons."
        )
    for name, only in ((old, step.only[0]), (new, step.only[1])):
        if only:
            yield f"Only {name} has {', '.join(map(plain, only))}."
    others = dict.fromkeys(x.group for x in changes(step.old, step.new))
    if others and not step.equal:
        yield f"Beside the numbers, these changed: {', '.join(others)}."


def _advice(step: Step) -> Iterator[str]:
    match step.grade:
        case grade if grade in (WORSE, CLEARLY):
            yield "Find out what made it worse, below, before you release the newer version."
        case grade if grade is SLIGHTLY:
            yield "Decide whether so small a rise matters: it is certain, and within the margin."
        case grade if grade is UNTOLD:
            yield (
                "Compare again with more records, or with the same records on both sides: people "
                "in both audits make the interval much narrower."
            )
        case _:
            yield "Read the report of the newer version too: not worse is not the same as safe."


def _gauge(x: Compared | None) -> Gauge | None:
    """Return the difference on the scale that its margin parts, or 0 where it has none."""
    if x is None or isinstance(x.found, Skipped):
        return None
    found = x.found.decided
    limit = x.margin or 0.0
    reach = 1.25 * max(abs(found.low), abs(found.high), 2 * limit, 1e-9)
    exact = "computed" if x.found.exact else f"{rate(found.level)} interval"
    return Gauge(
        f"Difference of {x.name}, {exact}",
        _difference_shown(x, decided=True),
        low=found.low,
        value=found.value,
        high=found.high,
        limits=(-reach, limit, reach),
        ticks=(_margin(x) if limit else "0",),
        zones=("less, or within the margin", "more") if limit else ("less", "more"),
        rule=(
            "Worse if the interval lies above 0; not worse if it ends below the margin; else it "
            "cannot be told. The margin is a convention: set your own with --margin."
        ),
    )


def _table(step: Step, name: str, *, judged: bool = True) -> Table:
    old = plain(step.old.name)
    new = plain(step.new.name)
    shown = step.judged if judged else tuple(x for x in step.measures if not x.judged)
    # A terminal has no room for labels and methods.
    full = name != "overview"
    decided = [x.found.decided for x in shown if not isinstance(x.found, Skipped) and x.in_points]
    reach = max((abs(end) for x in decided for end in (x.low, x.high)), default=0.0)
    rows: Rows = []
    for x in shown:
        drawn: Content = ""
        tag = ""
        reason: tuple[str, ...] = ()
        least = DASH
        if isinstance(x.found, Skipped):
            reason = (x.found.reason,)
        else:
            tag = "computed" if x.found.exact else "paired" if x.found.paired else "not paired"
            if not x.found.exact:
                least = _with_sign(x.found.detectable, x.in_points).lstrip("+")
            if x.in_points and reach:
                three = (x.found.decided.low, x.found.decided.value, x.found.decided.high)
                low, value, high = (50 + 50 * end / reach for end in three)
                drawn = Whisker(low, value, high, 50.0)
        row: dict[str, Content] = {
            "Measure": Cell(plain(x.name), (plain(x.old.label),) if full else ()),
            "Old": x.old.shown,
            "New": x.new.shown,
            "Difference": Cell(_difference_shown(x), (tag,) if tag and full else ()),
        }
        if judged:
            verdict = Cell(x.direction.value, reason)
            row |= {"Interval": drawn} if reach else {}
            row |= {"Verdict": verdict, "Would be seen": least}
        rows.append(row)
    title = f"{new} (new) against {old} (old)" if judged else "Numbers without a direction"
    told = (
        f"The drawn interval and the verdict hold for all rows at once ({rate(step.each)} each); "
        "the printed one holds by itself. The last column is the smallest rise that "
        f"{rate(POWER)} of such comparisons show."
        if judged
        else "No limit applies to these numbers, so neither more nor less is called worse."
    )
    prose = ("Verdict",)
    spare = ("Would be seen", "Old", "New") if judged else ()
    return table(name, title, rows, told, prose=prose, spare=spare)


def _measures(step: Step) -> tuple[Block, ...]:
    blocks: list[Block] = [_table(step, "measures")]
    if len(step.judged) < len(step.measures):
        folded = _table(step, "further", judged=False)
        blocks.append(FoldedBlocks("Numbers without a direction", (folded,)))
    for name, only in zip((step.old.name, step.new.name), step.only, strict=True):
        if only:
            blocks.append(note(f"Only in {plain(name)}: {', '.join(map(plain, only))}."))
    for x in (step.old, step.new):
        if isinstance(x.records, Skipped):
            told = f"The records of {plain(x.name)} are not paired: {x.records.reason}."
            blocks.append(note(told))
    return tuple(blocks)


def _over_versions(found: Comparison) -> Iterator[Block]:
    """Yield the chart over all versions and the verdict on each."""
    rows: Rows = []
    for step in found.steps:
        main = step.main
        rows.append(
            {
                "Version": Cell(plain(step.new.name), (plain(step.new.line.made),)),
                "Grade": step.grade.word,
                "Number": DASH if main is None else main.new.shown,
                "Against the first": DASH if main is None else _difference_shown(main),
                "Worse": ", ".join(step.named(Direction.WORSE, Direction.MORE)) or "none",
                "Better": ", ".join(step.named(Direction.BETTER, Direction.LESS)) or "none",
            }
        )
    lines = _lines(found)
    if lines:
        told = "; ".join(
            f"{name}: {', '.join(str(x.shown) for x in measures)}" for name, measures in lines
        )
        yield Plot(
            "history",
            "Over the versions",
            caption="Each number with the interval of its own report, from the first version on.",
            words=told,
            draw=lambda: plot_versions(found),
        )
    prose = ("Grade", "Worse", "Better")
    told = (
        "Each version is compared with the first by itself: the more versions, the likelier it is "
        "that one of them is judged wrongly."
    )
    yield table("history", "Each version against the first", rows, told, prose=prose)


def _lines(found: Comparison) -> list[tuple[str, list[Measure]]]:
    """Return the shares that every version has, the main measure first, for the chart."""
    shares = [x.name for x in found.last.judged if x.margin is not None]
    named = {name: [x.numbers.get(name) for x in found.versions] for name in shares}
    lines = []
    for name, measures in named.items():
        kept = [x for x in measures if x is not None and not isinstance(x.found, Skipped)]
        if len(kept) == len(found.versions):
            lines.append((name, kept))
    return lines[:_LINES]


def plot_versions(found: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the main measures of every version with the intervals of their reports."""
    ax = axes(ax)
    lines = _lines(found)
    n = len(found.versions)
    for i, (name, measures) in enumerate(lines):
        # Beside each other, so that no interval hides another.
        x = [place + 0.12 * (i - (len(lines) - 1) / 2) for place in range(n)]
        y = [_value(m) for m in measures]
        low = [m.found.low if isinstance(m.found, Estimate) else _value(m) for m in measures]
        high = [m.found.high if isinstance(m.found, Estimate) else _value(m) for m in measures]
        colour = SERIES[i]
        ax.plot(x, y, color=colour, lw=1.2, ls=DASHES[i], marker=MARKERS[i], ms=4, label=name)
        ax.vlines(x, low, high, color=colour, lw=1.0)
    ax.set_xticks(range(n), [plot_label(x.name) for x in found.versions])
    if n > 4:
        ax.tick_params(axis="x", rotation=45)
    ax.set_xlim(-0.5, n - 0.5)
    legend_above(ax, len(lines), 2.6)
    return ax


def _changes(found: Comparison) -> Iterator[Block]:
    before = found.versions[0]
    for step in found.steps:
        if len(found.steps) > 1:
            yield Heading(f"From {plain(before.name)} to {plain(step.new.name)}")
        changed = changes(before, step.new)
        rows: Rows = [
            {
                "What": Cell(x.what, (x.group,)),
                "Before": x.old or DASH,
                "After": x.new or DASH,
            }
            for x in changed
        ]
        if rows:
            prose = ("Before", "After")
            name = f"changes-{found.steps.index(step)}"
            yield table(name, "Data, software, settings and attacks", rows, prose=prose)
        else:
            yield text("Nothing that the reports state beside their numbers.")
        if isinstance(before.records, Judged) and isinstance(step.new.records, Judged):
            first = set(before.records.people)
            second = set(step.new.records.people)
            yield text(
                f"People or records by their ids: {count(len(first & second))} in both, "
                f"{count(len(first - second))} only before, "
                f"{count(len(second - first))} only after."
            )
        before = step.new


def _data(found: Comparison) -> dict[str, Json]:
    """Return the keys of a comparison in ``report.json``."""
    differences: list[Json] = []
    for step in found.steps:
        for x in step.measures:
            found_of: dict[str, Json] = {"difference": values_of(x.found)}
            if not isinstance(x.found, Skipped):
                found_of = {
                    **pick_values(x.found, "decided", "paired", "shared"),
                    **pick_values(x.found, "exact", "detectable"),
                    "difference": values_of(x.found.found),
                }
            differences.append(
                {
                    "version": step.new.name,
                    "measure": x.name,
                    "old": finite(_value(x.old)),
                    "new": finite(_value(x.new)),
                    **found_of,
                    "direction": x.direction.value,
                }
            )
    before = (found.versions[0], *(step.new for step in found.steps[:-1]))
    return {
        "compared_kind": found.versions[0].document["kind"],
        "margin": found.margin,
        "together": {"level": found.level, "each": found.last.each, "method": "Bonferroni"},
        "versions": [
            {
                "name": x.name,
                **pick_values(x.line, "made", "version", "seed"),
                **pick_values(x.line, "severity", "headline", "sha256"),
                "records": x.records.reason if isinstance(x.records, Skipped) else "kept",
            }
            for x in found.versions
        ],
        "grades": [step.grade.word for step in found.steps],
        "differences": differences,
        "only": [
            {"version": step.new.name, "first": list(step.only[0]), "newer": list(step.only[1])}
            for step in found.steps
        ],
        "changes": [
            {
                "version": step.new.name,
                **pick_values(x, "group", "what"),
                **pick_values(x, "old", "new"),
            }
            for earlier, step in zip(before, found.steps, strict=True)
            for x in changes(earlier, step.new)
        ],
    }


def _no_formula(cell: str) -> str:
    """Return a text, quoted if a spreadsheet would run it as a formula."""
    return f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell


_TERMS = {
    "Difference": "The number of the newer version minus that of the older one.",
    "Worse for certain": "The interval of the difference lies above 0, at a level at which all "
    "measures are decided together.",
    "As computed": "Both numbers were computed without an interval, such as a bound by a formula.",
    "Cannot be told": "The interval holds 0, so that the difference may be chance, or an audit "
    "could not tell by itself. It is no acquittal.",
    "Paired": "People in both audits are compared with themselves, which takes out of the "
    "difference what they have in common.",
    "Margin": "The largest rise of a share that does not matter.",
    "Interval": "Differences that would be found on other people of the same kind, as often as "
    "its level says.",
}
