"""The audit of a generator whose tables may give away a value of a record, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate import rates
from privacygauge.evaluate.claim import bonferroni_level
from privacygauge.evaluate.detectable import POWER, detectable_with
from privacygauge.evaluate.epsilon import epsilon_of_values
from privacygauge.report import direction, grades
from privacygauge.report.attacks.records import RECORDS
from privacygauge.report.attacks.tables import interval, methods_of
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal,
    percent,
    percent_estimate,
    plain,
    rate,
    rounded_down,
    rounded_up,
    several,
    shorten,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    Column,
    Content,
    FoldedBlocks,
    Grade,
    Json,
    Measure,
    Origin,
    Pairs,
    Report,
    Row,
    Section,
    Table,
    Tone,
    Verdict,
    Whisker,
    Worst,
    estimate_dict,
    finite,
    frame,
    names_of,
    note,
    pairs,
    pick_values,
    table,
    text,
    values_of,
)
from privacygauge.tables.games.audited import PlayedGuesses
from privacygauge.tables.generator_audit import sections
from privacygauge.tables.generator_audit.verdict import (
    broken_promise_text,
    remedies,
    setting_text,
    settings_text,
    target_id_and_row,
    target_name,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AttributeOfGenerator(Reported, PlayedGuesses):
    """Findings on a column that a generator's tables give away, with their report and tables."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        column = plain(self.column)
        privacy = {
            f"Privacy: right guesses of {column} ({rate(self.best.chance)} give nothing away)": (
                percent_estimate(self.accuracy)
            ),
            "Privacy: worst record": percent_estimate(self.accuracy_of_worst),
        }
        use = sections.utility_section(self.utility, privacy)
        attacks = _attacks_table(self)
        first = tuple(target_id_and_row(self, i)[0] for i in self.order[:10].tolist())
        return Report(
            "generator-attribute",
            "Audit of attribute inference from synthetic tables",
            about=About(
                f"A generator of synthetic tables: {self.generator}",
                f"Somebody who knows a person's record but for one column guesses {self.column}.",
                _adversary(self),
                "attribute-inference",
            ),
            intro=f"Synthetic tables by {setting_text(self.generator)}, made with the attacked "
            f"records, in which {column} was drawn again for each table. The numbers are those of "
            f"the strongest attack, {plain(self.best.attack)}, on "
            f"{several(len(self.targets), 'record')}. It was chosen on the adversary's own tables; "
            "the numbers come from others.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section("game", "What was played", (text(_GAME), _game(self)), "The game"),
                Section("attacks", "Attacks", tuple(_attacks(self)), "Attacks"),
                Section("records", "Whose value is guessed", tuple(_records(self)), "Records"),
                Section("values", "Which values are guessed", tuple(_values(self)), "Values"),
                Section("use", "Privacy beside use", tuple(use), "Use"),
            ),
            terms={**_TERMS, "Interval": interval(self.level, "tables")},
            worst=Worst("records", first),
            data=_data(self),
            frames={"records.parquet": lambda: _records_frame(self)},
            nothing_left_out="Nothing: everything that was asked for was done.",
            overview=(attacks, _records_table(self, 5, contents=False)),
            sources="The game: Houssiau et al., TAPAS: a Toolbox for Adversarial Privacy Auditing "
            "of Synthetic Data (2022), section 3.",
        )


def detectable_accuracy_text(smallest: float | None, n_values: int) -> str:
    """Return a clause on the smallest share of right guesses that an audit usually detects."""
    if smallest is None:
        return "no share of right guesses would be seen with so few test tables (--tests)"
    return (
        f"right guesses about a record of {rounded_up(100 * smallest, 0)}% or more (guessing gives "
        f"{rate(1 / n_values)}) would be seen in {rate(POWER)} of such audits"
    )


def inverted_warnings(f: PlayedGuesses) -> tuple[str, ...]:
    """Return a warning if guesses are right less often than by chance."""
    if not f.below_chance:
        return ()
    return (
        f"the guesses of {f.best.attack} are right less often than by chance "
        f"({percent_estimate(f.accuracy)}; guessing gives {rate(f.best.chance)}): whoever avoids "
        "them does better than guessing, so this is no evidence of safety",
    )


def advantage(accuracy: Estimate, chance: float) -> Estimate:
    """Return how far guesses get from chance (0) to certainty (1): (a - c) / (1 - c)."""
    ends = (accuracy.value, accuracy.low, accuracy.high)
    value, low, high = ((x - chance) / (1 - chance) for x in ends)
    return replace(accuracy, value=value, low=low, high=high)


def _looks(f: PlayedGuesses) -> Mapping[str, Estimate]:
    """Return the advantages that decide the grade, by the label of each."""
    found = {"on average": advantage(f.accuracy, f.best.chance)}
    if len(f.targets) > 1:
        found["for the worst record"] = advantage(f.accuracy_of_worst, f.best.chance)
        found["for the record guessed best"] = advantage(f.guessed_best, f.best.chance)
    if len(f.values) > 2:
        found["for the value recognised best"] = f.recognition
    return found


def grade(f: PlayedGuesses) -> Grade:
    """Return the gravest of the grades of the mean, of single records and of the worst value.

    Each is graded by the lower end of its advantage, the share of the way from chance to certainty;
    for two values its limits, 10% and 30%, are accuracies of 55% and 65%. An audit that finds
    nothing is inconclusive if it would have missed a moderate leak, or if guesses are worse than
    chance.
    """
    # An advantage of a is a balanced accuracy of (1 + a) / 2, the scale of all grades.
    found = grades.gravest(grades.grade_of((1 + x.low) / 2) for x in _looks(f).values())
    unsure = _least(f) > _MODERATE or f.below_chance
    return grades.UNTOLD if found is grades.NONE and unsure else found


_MODERATE = 0.1
"""Least advantage of a moderate leak."""


def _least(f: PlayedGuesses) -> float:
    """Return the least mean advantage that an audit of this precision would mostly have shown."""
    return detectable_with(advantage(f.accuracy, f.best.chance), 0.0)


def _detectable_text(f: PlayedGuesses) -> str:
    """Return a clause on the least mean accuracy that this audit would mostly have shown."""
    chance = f.best.chance
    least = chance + (1 - chance) * _least(f)
    shown = (
        "not even guesses that are all right would be told from luck"
        if least >= 1
        else f"right guesses in {rounded_up(100 * least, 0)}% of cases or more would be seen in "
        f"{rate(POWER)} of such audits"
    )
    return f"with {several(f.accuracy.n, 'synthetic table')} {shown}"


_MORE = "Audit again with more synthetic tables (--tests), or more records (--targets)."


def verdict(f: AttributeOfGenerator) -> Verdict:
    """Return the verdict on a column that a generator may give away."""
    found = grade(f)
    column = plain(f.column)
    if found is grades.UNTOLD and f.below_chance:
        return grades.untold_verdict(
            headline=f"Cannot be told: guesses of {column} are worse than chance",
            sentences=inverted_warnings(f),
            unsaid=direction.OPEN,
            advice=(_MORE,),
        )
    if found is grades.UNTOLD:
        moderate = f.best.chance + (1 - f.best.chance) * _MODERATE
        return grades.untold_verdict(
            headline="Cannot be told: too few synthetic tables to see a moderate leak",
            sentences=(
                "No leak was found, but an audit of this size could hardly have found one: "
                f"{_detectable_text(f)}, and a moderate leak begins at {percent(moderate)}.",
                *_sentences(f, grades.NONE),
            ),
            advice=(_MORE,),
        )
    label, shown = max(_looks(f).items(), key=lambda look: look[1].low)
    n_told = int(np.count_nonzero(f.told))
    if found is grades.NONE:
        headline = f"No leak found: {column} is not guessed from the tables better than by chance"
    elif n_told:
        whom = f"{count(n_told)} of {count(len(f.targets))} attacked records"
        whom = "the attacked record" if len(f.targets) == 1 else whom
        headline = f"{found.word.capitalize()} leak: the tables give {column} away for {whom}"
    else:
        headline = (
            f"{found.word.capitalize()} leak: {column} is guessed from the tables more often than "
            "by chance"
        )
    advice = []
    if found is grades.LARGE:
        advice.append(
            "Hold the synthetic table back, or release it only to people who are bound by contract."
        )
    if found is not grades.NONE:
        advice += remedies(f.promised, f.broken_promise)
    advice += [
        "Audit the other sensitive columns too, each by itself (--attribute).",
        "Play the game about membership as well: a table that gives no value away may still tell "
        "who was in the data.",
    ]
    return Verdict(
        grade=found,
        scale=grades.GRADES,
        headline=headline,
        sentences=tuple(_sentences(f, found)),
        unsaid=f"It does not say how well {column} can be guessed from the other columns of a "
        "record: values were drawn at random, so that they tell nothing. Nor does it say that a "
        "stronger attack would do no better. It speaks of the generator, set as it was here, for "
        f"data sets of {several(f.sizes.records, 'record')}, and of the records attacked.",
        advice=tuple(advice),
        gauge=grades.gauge(
            f"Way from guessing to certainty, {label}",
            shown,
            (-0.2, 0.0, 0.1, 0.3, 1.0),
            ("0%", "10%", "30%"),
            rule="The grade follows from the lower end of the interval, of whichever is graver: "
            "the average, the worst record by the adversary's own tables, the record guessed best, "
            "corrected for their number, or the value recognised best. Of two values, 10% and 30% "
            "of the way are 55% and 65% of right guesses. These limits are a convention of "
            "PrivacyGauge: set your own with --fail-above or --policy.",
        ),
    )


def _sentences(f: AttributeOfGenerator, found: Grade) -> Iterator[str]:
    n = len(f.targets)
    accuracy = f.accuracy
    worst = f.accuracy_of_worst
    column = plain(f.column)
    over = f" on average over {count(n)} records" if n > 1 else ""
    yield (
        f"Somebody who sees a synthetic table, and knows a record in it but for {column}, guesses "
        f"that value right in {percent(accuracy.value)} of cases{over}; without the table it is "
        f"right in {rate(f.best.chance)}, one in {count(len(f.values))}. With {rate(f.level)} "
        f"confidence it is between {percent(accuracy.low)} and {percent(accuracy.high)}, judged on "
        f"{several(accuracy.n, 'synthetic table')} that the attack did not learn from."
    )
    if n > 1:
        yield (
            f"Worst off, by the adversary's own tables, is {target_name(f, f.worst)}: "
            f"{percent(worst.value)} right, between {percent(worst.low)} and "
            f"{percent(worst.high)}."
        )
    if len(f.values) > 2:
        recognised, mistaken = f.best.of_value(f.worst_value, f.each)
        yield (
            f"Recognised best, by the adversary's own tables, is "
            f"{_value(f, f.worst_value)}: guessed in {percent(recognised.value)} of the tables "
            f"made with it, and in {percent(mistaken.value)} of the others."
        )
    yield from broken_promise_text(f.promised, f.epsilon)
    if found is grades.NONE:
        most = f", and {percent(worst.high)} for the worst record" if n > 1 else ""
        yield (
            f"What this audit could have missed: right guesses in up to {percent(accuracy.high)} "
            f"of cases{most}. More synthetic tables would narrow that down."
        )
        yield f"What it could have found: {_detectable_text(f)}."
    else:
        yield (
            "It matters to the people behind the records: whoever knows most of somebody's record "
            f"learns the rest. The lower ends in this verdict hold together at {rate(f.level)}."
        )


def _measures(f: AttributeOfGenerator) -> Iterator[Measure]:
    n = len(f.targets)
    chance = rate(f.best.chance)
    whose = f"for {target_name(f, f.worst)}"
    yield Measure(
        "accuracy",
        "Right guesses",
        f.accuracy,
        percent_estimate(f.accuracy),
        note=f"mean over {several(n, 'record')}" if n > 1 else "for 1 record",
        text=f"How often {plain(f.column)} is guessed from a synthetic table.",
        guessing=chance,
    )
    yield Measure(
        "worst",
        "For the worst record",
        f.accuracy_of_worst,
        percent_estimate(f.accuracy_of_worst),
        note=whose,
        text="Right guesses.",
        guessing=chance,
        card=n > 1,
    )
    gain = advantage(f.accuracy, f.best.chance)
    yield Measure(
        "advantage",
        "Way from guessing to certainty",
        gain,
        percent_estimate(gain),
        text="0% is guessing, 100% is knowing, whatever the number of values.",
        guessing="0%",
        card=False,
    )
    yield Measure(
        "recognition",
        "Value recognised best",
        f.recognition,
        percent_estimate(f.recognition),
        note=f"for {_value(f, f.worst_value)}",
        text="How much more often it is guessed where it is the true one than where it is not.",
        guessing="0%",
        card=len(f.values) > 2,
    )
    yield Measure(
        "told",
        "Records told better than by guessing",
        float(np.count_nonzero(f.told)),
        Shown(f"{count(int(np.count_nonzero(f.told)))} of {count(n)}"),
        text="By an exact test, corrected by Holm for the number of records: with "
        f"{rate(f.level)} confidence none is counted by luck.",
        gate=False,
    )
    bound = f.epsilon
    said = "No epsilon above 0 was shown: no contradiction to any privacy guarantee."
    if bound.low > 0:
        said = (
            f"With {rate(f.level)} confidence: a smaller epsilon of differential privacy "
            "cannot be claimed."
        )
    perfect = rates.share(f.sizes.tests, f.sizes.tests, bound.level)
    most = epsilon_of_values(perfect, len(f.values)).low
    yield Measure(
        "epsilon",
        "Epsilon is at least",
        bound,
        Shown(rounded_down(bound.low)),
        note=whose,
        text=f"{said} With this many tables, no audit could show more than {decimal(most, 2)}.",
        guessing="0",
    )


_GAME = (
    "A record, the target, is among those that the generator learns from, and the adversary knows "
    "that. It knows the record too, all but one column. The value in that column is drawn again "
    "for each table, all possible values alike, so that the other columns tell nothing about it. "
    "The generator makes a synthetic table, and the adversary guesses the value. An adversary who "
    "is right more often than one in as many as there are values learns about people from the "
    "table."
)


def _adversary(f: PlayedGuesses) -> str:
    knows = {
        "auxiliary": "other records of the same source",
        "exact": "all other records of the data set",
    }
    return (
        f"Sees the synthetic table and the record but for {f.column}, knows how the generator "
        f"works, has {knows[f.knowledge]}, and makes {f.sizes.shadows:,} synthetic tables itself"
    )


def _game(f: AttributeOfGenerator) -> Pairs:
    fresh = "a fresh data set for every table"
    sizes = f.sizes
    return pairs(
        {
            "Generator": f.generator,
            "Its settings": settings_text(f.settings),
            "The adversary guesses": f"{plain(f.column)}, one of {count(len(f.values))} values",
            "The adversary": plain(_adversary(f)),
            "Where the truth comes from": "Drawn: the value, with equal probabilities; "
            f"{fresh if f.knowledge == 'auxiliary' else 'one data set for each record'}",
            "Records": f"{several(len(f.targets), 'target')} of {count(f.n_records)} in the table",
            "A synthetic table": f"{several(sizes.n_made, 'record')}, made from "
            f"{count(sizes.records)}",
            "The adversary's own": f"{several(sizes.shadows, 'synthetic table')} for each target",
            "Those in question": f"{several(sizes.tests, 'synthetic table')} for each target",
            "Made in all": several(f.n_tables, "synthetic table"),
            "What would be seen": detectable_accuracy_text(f.seen_from, len(f.values)),
        }
    )


def _whisker(found: Estimate, chance: float) -> Whisker:
    ends = (found.low, found.value, found.high, chance)
    return Whisker(*(round(100 * x, 2) for x in ends))


_LINE = "0 to 100%"


def _attacks(f: AttributeOfGenerator) -> Iterator[Block]:
    yield text(
        "Each attack learns, for each value, to tell the adversary's own tables with that value "
        "from those with another, and guesses the value that a table in question speaks for most. "
        "Where there is room, a line shows the share of right guesses; the thin mark is guessing."
    )
    yield _attacks_table(f)
    marked = "The marked attack did best on the adversary's own tables." if f.attacks[1:] else ""
    notes = (f"{plain(e.attack)}: {'; '.join(e.notes)}" for e in f.attacks if e.notes)
    told = tuple(x for x in (marked, *notes) if x)
    if told:
        yield note(*told)
    made = methods_of(
        {
            "Right guesses of an attack": [e.accuracy for e in f.attacks],
            "Right guesses about a record": list(f.best.targets),
            "Numbers of the verdict": [f.accuracy, f.accuracy_of_worst, f.recognition],
        },
        "n counts synthetic tables.",
    )
    yield FoldedBlocks("How the intervals were made", (made,))


def _attacks_table(f: AttributeOfGenerator) -> Table:
    rows: list[dict[str, Content]] = [
        {
            "Attack": Cell(e.name, (e.variant,) if e.variant else ()),
            "Right guesses": percent_estimate(e.accuracy),
            _LINE: _whisker(e.accuracy, e.chance),
            "Records told": f"{e.told(f.each).sum():,} of {count(len(e.targets))}",
        }
        for e in f.attacks
    ]
    return table(
        "main",
        "How well each attack did",
        rows,
        f"Small figures: {rate(f.level)} intervals. Guessing gives {rate(f.best.chance)}.",
        spare=("Records told",),
        best=[e is f.best for e in f.attacks],
    )


def _records(f: AttributeOfGenerator) -> Iterator[Block]:
    n = min(RECORDS, len(f.targets))
    contents = "" if f.targets.contents else "; their contents are not in this file"
    luck = (
        " The first of many looks worse than it is by luck. The one that the verdict speaks of is "
        "marked: it was chosen on other tables."
    )
    yield text(
        f"Ranked by the right guesses of {plain(f.best.attack)}. Records are named by id{contents}."
        f"{luck if n > 1 else ''}"
    )
    yield _records_table(f, n)
    of_records = f"{count(n)} of {several(len(f.targets), 'attacked record')}"
    yield note(f"{of_records} shown; all are in records.parquet.")
    if len(f.selections) > 1:
        rows: list[dict[str, Content]] = []
        for selection in f.selections:
            right = f.best.right[np.isin(f.targets.rows, selection.rows)]
            found = rates.proportion(right.ravel(), level=f.level)
            rows.append(
                {
                    "Chosen by": selection.method,
                    "Right guesses": percent_estimate(found),
                    "Records": count(len(right)),
                }
            )
        yield table("groups", "Right guesses by the way of choosing", rows)


def _records_table(f: AttributeOfGenerator, most: int, *, contents: bool = True) -> Table:
    columns = f.targets.contents if contents else {}
    rows = []
    for i in f.order[:most].tolist():
        name, row = target_id_and_row(f, i)
        cells: tuple[Content, ...] = (
            Cell(name, (f"row {row}",) if row else (), ("verdict",) if i == f.worst else ()),
            percent_estimate(f.best.targets[i]),
            _whisker(f.best.targets[i], f.best.chance),
            "yes" if f.told[i] else "no",
            Cell(
                decimal(float(f.targets.scores[i]), 3),
                (f"rank {count(int(f.targets.ranks[i]))} of {count(f.n_records)}",),
            ),
            *(shorten(str(x[i])) for x in columns.values()),
        )
        rows.append(Row(cells, Tone.BEST if i == f.worst else Tone.PLAIN))
    heads = (
        Column("Id"),
        Column("Right guesses"),
        Column(_LINE),
        Column("Told"),
        Column("Vulnerability score", needed=False),
        *(Column(plain(name), prose=True) for name in columns),
    )
    return Table("records", "Records by right guesses", columns=heads, rows=tuple(rows), at_once=10)


FEW = 5
"""Fewest records of a value whose number is printed: smaller numbers are about single people."""


def _value(f: PlayedGuesses, value: int) -> str:
    return f"{plain(f.column)} = {shorten(plain(f.values[value]))}"


def _values(f: AttributeOfGenerator) -> Iterator[Block]:
    yield text(
        "Every value was drawn equally often, however rare it is in the table. A rare value that "
        "is recognised in most tables made with it, and seldom guessed in others, gives away those "
        "few who have it, though the average may hide that."
    )
    if f.middles:
        yield text(
            f"The values stand for the fifths of {plain(f.column)}: each is the number in the "
            "middle of one, here rounded, so that guessing it right is to know the number to about "
            "a fifth of the records. Numbers that are frequent may be the middle of several."
        )
    each = bonferroni_level(f.level, len(f.values))
    # Middles of fifths stay in their order: how many records have just this number says nothing.
    order = np.arange(len(f.values)) if f.middles else np.argsort(f.frequencies, kind="stable")
    few = f"fewer than {FEW}"
    rows: list[dict[str, Content]] = []
    for a in order.tolist():
        recognised, mistaken = f.best.of_value(a, each)
        n = int(f.frequencies[a])
        rows.append(
            {
                "Value": Cell(
                    shorten(plain(f.values[a])), (), ("verdict",) if a == f.worst_value else ()
                ),
                **({} if f.middles else {"Records with it": few if n < FEW else count(n)}),
                "Guessed where it is true": percent_estimate(recognised),
                "Guessed where it is not": percent_estimate(mistaken),
            }
        )
    many = f"Intervals hold for all values together, at {rate(f.level)}."
    best = [a == f.worst_value for a in order.tolist()]
    title = "Guesses by value" if f.middles else "Guesses by value, the rarest first"
    yield table("values", title, rows, many, best=best, at_once=10)


_TERMS = {
    "Generator, synthetic table": "A program that learns from records and makes new ones like "
    "them, and the table of those.",
    "Target": "A record that is attacked: it is in the data, and one of its values is guessed.",
    "Right guesses": "The share of synthetic tables for which the target's value is guessed. "
    "Without the table it is one in as many as there are values.",
    "Way from guessing to certainty": "Right guesses beyond chance, as a share of what chance "
    "leaves: 0% is guessing, 100% is always right.",
    "The adversary's own tables": "Synthetic tables that the adversary makes with each value, to "
    "learn how they differ (also called shadow tables). Attacks are judged on other tables.",
    "Told": "An exact test of the right guesses about a record rules out luck. It is corrected for "
    "the number of records (Holm).",
    "Epsilon": "The parameter of differential privacy. Of v values, replacing a record by one with "
    "another value allows at most exp(epsilon) / (exp(epsilon) + v - 1) right guesses.",
    "Vulnerability score": "The mean distance of a record to the other records nearest to it. Rank "
    "1 is the record farthest from all others.",
}


def _data(f: AttributeOfGenerator) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has."""
    each = bonferroni_level(f.level, len(f.values))
    values: list[Json] = []
    for a, name in enumerate(f.values):
        recognised, mistaken = f.best.of_value(a, each)
        n = int(f.frequencies[a])
        values.append(
            {
                "value": name,
                "records": n if n >= FEW and not f.middles else None,
                "recognised": estimate_dict(recognised),
                "mistaken": estimate_dict(mistaken),
            }
        )
    i = f.worst
    ids = names_of(f.targets.ids).tolist()
    return {
        "game": {"name": "attribute game", "adversary": _adversary(f), "knowledge": f.knowledge},
        "generator": {"name": f.generator, "settings": values_of(f.settings)},
        "sizes": {
            **{name: getattr(f.sizes, name) for name in ("shadows", "tests", "records")},
            "made": int(f.sizes.n_made),
        },
        **pick_values(f, "n_records", "n_tables", "seen_from"),
        "attribute": {"column": f.column, "chance": f.best.chance, "values": values},
        "headline": {
            "attack": f.best.attack,
            "accuracy": estimate_dict(f.accuracy),
            "told": int(np.count_nonzero(f.told)),
            "n_targets": len(f.targets),
            "target": {
                "row": int(f.targets.rows[i]),
                "id": ids[i],
                "accuracy": estimate_dict(f.accuracy_of_worst),
            },
            "value": {
                "value": f.values[f.worst_value],
                "recognition": estimate_dict(f.recognition),
            },
            "epsilon": estimate_dict(f.epsilon),
        },
        "attacks": [
            {
                **pick_values(e, "name", "variant", "accuracy", "notes"),
                "told": int(np.count_nonzero(e.told(f.each))),
                "own_accuracy": float(e.own_accuracy.mean()),
            }
            for e in f.attacks
        ],
        "targets": [
            {
                "row": int(row),
                "id": ids[i],
                "vulnerability": finite(f.targets.scores[i]),
                "rank": int(f.targets.ranks[i]),
                "chosen": [x.method for x in f.selections if row in x.rows],
                "attacks": {
                    e.attack: {
                        "accuracy": estimate_dict(e.targets[i]),
                        "told": bool(e.told(f.each)[i]),
                    }
                    for e in f.attacks
                },
            }
            for i, row in enumerate(f.targets.rows.tolist())
        ],
        "utility": values_of(f.utility if isinstance(f.utility, Skipped) else f.utility.to_dict()),
    }


def _records_frame(f: AttributeOfGenerator) -> pd.DataFrame:
    """Return one row per target.

    Columns: ``row`` of the data, ``id``, ``vulnerability``, ``rank``; and for each attack
    ``accuracy:TITLE``, ``accuracy_low:TITLE``, ``accuracy_high:TITLE``, ``told:TITLE``,
    ``own_accuracy:TITLE``.
    """
    columns: dict[str, object] = {
        "row": f.targets.rows,
        "id": names_of(f.targets.ids),
        "vulnerability": f.targets.scores,
        "rank": f.targets.ranks,
    }
    for e in f.attacks:
        columns |= {
            f"accuracy:{e.attack}": [x.value for x in e.targets],
            f"accuracy_low:{e.attack}": [x.low for x in e.targets],
            f"accuracy_high:{e.attack}": [x.high for x in e.targets],
            f"told:{e.attack}": e.told(f.each),
            f"own_accuracy:{e.attack}": e.own_accuracy,
        }
    return frame(columns)
