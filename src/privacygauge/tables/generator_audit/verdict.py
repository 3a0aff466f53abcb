"""Result of an audit of a generator, as values, and its verdict."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.detectable import POWER, detectable_with
from privacygauge.evaluate.played import GameDescription
from privacygauge.report import direction
from privacygauge.report.grades import (
    GRADES,
    LARGE,
    NONE,
    SMALL,
    gauge,
    grade_of,
    untold_verdict,
)
from privacygauge.report.numbers import (
    count,
    decimal,
    decimal_estimate,
    percent,
    plain,
    rate,
    rounded_down,
    several,
    shorten,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import Grade, Origin, Verdict
from privacygauge.tables.games.audited import PlayedGame, PlayedTables


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class SyntheticResult(Reported, PlayedGame):
    """Values that a `SyntheticAudit` reports."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    game: GameDescription
    """Description of the game."""


def detectable_auc_text(smallest: float | None) -> str:
    """Return a clause on the smallest AUC of a record that an audit would usually detect."""
    if smallest is None:
        return "no AUC, however high, would be seen with so few test tables (--tests)"
    least = math.ceil(100 * smallest) / 100
    return f"a record's AUC of {least:.2f} or more would be seen in {rate(POWER)} of such audits"


CUTS = (0.6, 0.7)
"""Smallest AUC of a moderate and of a large leak. They are near .57 and .71, the AUC of Gaussian
scores at balanced accuracies of 55% and 65%, the limits of the other verdicts.
"""

_RULE = (
    "The grade follows from the lower end of the interval. Where scores are Gaussian, these limits "
    "are near those of the other audits, 55% and 65% of right guesses: a convention of "
    "PrivacyGauge. Set limits of your own with --fail-above or --policy."
)

_MATTERS = (
    "It matters to the people behind the records: whoever holds somebody's record can check "
    "whether it was in the data, which alone may say that they were a patient, a customer or "
    "a suspect. That no synthetic record is a copy of theirs does not protect them."
)


def verdict(f: SyntheticResult) -> Verdict:
    """Return the verdict on an audit of a generator.

    The grade is the graver of two: by the lower end of the mean AUC over the targets, and by the
    lower end of the AUC of the most exposed record. Without a leak, each of the two is above 1/2 in
    about ``(1 - level) / 2`` of audits. If neither is, but that record's bound on epsilon is above
    0, the grade is small. There is no grade if no leak is found, but an attack takes tables with a
    record for those without, or an audit of this size would not have shown a moderate leak.

    Notes
    -----
    The attack and that record are chosen on the adversary's own tables, so neither number needs
    a correction for the choice.
    """
    grade = grade_of(max(f.headline.auc.low, f.headline.worst.auc.low), CUTS)
    # An epsilon above 0 rules out that nothing leaks, though the AUC shows none.
    only_bounded = grade is NONE and f.headline.worst.epsilon.low > 0
    if only_bounded:
        grade = SMALL
    # So few tables that they show nothing cannot show that an attack is inverted either.
    least = detectable_with(f.headline.auc, 0.5)
    if grade is NONE and least > CUTS[0]:
        shown = (
            f"a mean AUC of {decimal(math.ceil(100 * least) / 100, 2)} or more would be seen in "
            f"{rate(POWER)} of such audits"
            if least < 1
            else "not even a generator that copies the record would be seen for certain"
        )
        return untold_verdict(
            headline="Cannot be told: too few synthetic tables to see a moderate leak",
            sentences=(
                "No leak was found, but an audit of this size could hardly have found one: with "
                f"{several(f.headline.auc.n, 'synthetic table')} {shown}, and a moderate leak "
                f"begins at {CUTS[0]:g}.",
                *_sentences(f, NONE, only_bounded=False),
            ),
            advice=(
                "Audit with more synthetic tables (--tests), or more records (--targets).",
                "Where a fit takes too long, audit many canaries in a few fits (--fits).",
            ),
        )
    if grade is NONE and f.inverted:
        return direction.verdict(direction.sentences(f.inverted))
    n = len(f.targets)
    leak = f"{grade.word.capitalize()} leak"
    if grade is NONE:
        which = "the strongest attack" if len(f.attacks) > 1 else "the attack"
        headline = f"No leak found: {which} was not clearly better than guessing"
    elif only_bounded:
        headline = f"{leak}: some tables give a record away, though most do not"
    elif f.n_told and n == 1:
        headline = f"{leak}: it can be told whether the attacked record was in the data"
    elif f.n_told:
        whom = f"for {_share_text(f.n_told, n)} attacked records"
        headline = f"{leak}: {whom} it can be told whether they were in the data"
    elif f.headline.worst.auc.low > 0.5:
        share = percent(f.headline.worst.auc.value)
        headline = f"{leak}: tables with and without one record are told apart in {share} of cases"
    else:
        headline = f"{leak}: on average over {several(n, 'record')} attacks beat guessing"
    rest = f.n_records - n
    others = f"It says little about the {several(rest, 'record')} that were not attacked. "
    stronger = "that a stronger attack, or somebody who knows more, would do no better"
    first = "that nothing leaks" if grade is NONE else "what else of a record could be learnt"
    unsaid = (
        f"{others if rest > 0 else ''}It does not say {first}, nor {stronger}. It speaks of the "
        f"generator, set as it was here, for data sets of {several(f.sizes.records, 'record')}."
    )
    advice = []
    if grade is LARGE:
        advice.append(
            "Hold the synthetic table back, or release it only to people who are bound by contract."
        )
    if grade is not NONE:
        advice += remedies(f.promised, f.broken_promise)
    advice.append(
        "Do not rely on distances to the closest record: a table can keep them large and still "
        "give people away."
    )
    ranked = "the one" if n == 1 else f"the {count(n)}"
    if not (f.targets.ranks == 1).any():
        advice.append(
            "Attack the most vulnerable records too: the one of the highest score was not among "
            f"{ranked} attacked."
        )
    elif n < f.n_records:
        advice.append(
            "Audit more records, or all of them in one shared game: what holds for "
            f"{ranked} attacked need not hold for the others."
        )
    advice.append(
        "Repeat the audit whenever the data, the generator or its settings change, and keep this "
        "report with the release."
    )
    # The mean decides unless the worst record, chosen on other tables, is graver.
    mean = f.headline.auc
    worst = f.headline.worst.auc
    label = "Mean AUC"
    found = mean
    if n > 1 and worst.low > mean.low:
        label = "AUC of the record that is exposed most"
        found = worst
    ticks = ("0.5", f"{CUTS[0]:g}", f"{CUTS[1]:g}")
    limits = (0.3, 0.5, *CUTS, 1.0)
    return Verdict(
        grade=grade,
        scale=GRADES,
        headline=headline,
        sentences=tuple(_sentences(f, grade, only_bounded=only_bounded)),
        unsaid=unsaid,
        advice=tuple(advice),
        gauge=gauge(label, found, limits, ticks, shown=decimal_estimate(found), rule=_RULE),
    )


def _share_text(counted: int, n: int) -> str:
    return f"all {count(n)}" if counted == n else f"{count(counted)} of {count(n)}"


def _sentences(f: SyntheticResult, grade: Grade, *, only_bounded: bool) -> Iterator[str]:
    n = len(f.targets)
    auc = f.headline.auc
    worst = f.headline.worst.auc
    title = plain(f.best.title)
    if f.n_told:
        many = f"{_share_text(f.n_told, n)} attacked records"
        whom = many if n > 1 else "the one record that was attacked"
        yield (
            f"Somebody who sees the synthetic table can tell for {whom}, better than by guessing, "
            f"whether {'it was' if n == 1 else 'they were'} in the data that the table was made "
            f"from. The strongest attack was {title}."
        )
    else:
        hardly = (
            "Somebody who sees the synthetic table, and has a person's record, can hardly tell "
            "better than by guessing whether it was in the data that the table was made from."
        )
        if worst.low > 0.5:
            hardly = (
                "Somebody who sees the synthetic table can tell for "
                f"{target_name(f, f.headline.target)}, better than by guessing, whether it was in "
                "the data that the table was made from; for most others hardly."
            )
        did = "did not clearly beat" if n == 1 else "clearly beat"
        of = "it" if n == 1 else f"none of {count(n)} attacked records"
        yield f"{hardly} The strongest attack, {title}, {did} guessing for {of}."
    over = f" on average over the {count(n)} records" if n > 1 else ""
    yield (
        "Shown one table that was made with a record and one that was made without it, the attack "
        f"tells which is which in {percent(auc.value)} of cases{over} (AUC; guessing gives 50%). "
        f"With {rate(auc.level)} confidence it is between {percent(auc.low)} and "
        f"{percent(auc.high)}, judged on {several(auc.n, 'synthetic table')} that it did not learn "
        "from."
    )
    if n > 1:
        yield (
            f"Worst off, by the adversary's own tables, is {target_name(f, f.headline.target)}: "
            f"{percent(worst.value)} of such cases, with the same confidence between "
            f"{percent(worst.low)} and {percent(worst.high)}. Since it was picked there and judged "
            "on other tables, it does not look worse by luck."
        )
    shown = f.headline.worst.epsilon
    yield from broken_promise_text(f.promised, shown)
    if only_bounded:
        yield (
            f"With {rate(shown.level)} confidence epsilon is at least "
            f"{rounded_down(shown.low, beyond=0)} "
            "for one record, which rules out that nothing leaks. The grade is one step higher for "
            "it."
        )
    corrected = f", corrected for looking at {count(n)} records" if n > 1 else ""
    yield (
        f"A record counts as told if a test of its tables rules out luck{corrected}: with "
        f"{rate(f.level)} confidence no record is counted that is not given away."
    )
    if grade is NONE:
        many = f" on average, and {percent(worst.high)} for the worst record" if n > 1 else ""
        yield (
            f"What this audit could have missed: a leak of up to {percent(auc.high)} of "
            f"cases{many}. More synthetic tables would narrow that down."
        )
    else:
        yield _MATTERS


def broken_promise_text(promise: float | None, shown: Estimate) -> Iterator[str]:
    """Yield a sentence if a lower bound on epsilon exceeds the generator's setting."""
    if promise is not None and shown.low > promise:
        # Replacing a record is taking one out and putting another one in.
        may = " If that promise is for adding or taking out a record, twice as much is allowed."
        yield (
            f"The generator breaks its promise: it was set to epsilon = {promise:.10g}, and at "
            f"least {rounded_down(shown.low, beyond=promise)} was shown, with "
            f"{rate(shown.level)} confidence, for "
            f"replacing one record.{'' if shown.low > 2 * promise else may}"
        )


def target_id_and_row(f: PlayedTables, i: int) -> tuple[str, str]:
    """Return a target's id, and its row; the row is empty if it equals the id."""
    name = shorten(plain(f.targets.ids[i]))
    row = str(int(f.targets.rows[i]))
    return name, "" if name == row else row


def target_name(f: PlayedTables, i: int) -> str:
    """Return the name of a target for use in a sentence."""
    name, row = target_id_and_row(f, i)
    return f"record {name} (row {row})" if row else f"row {name}"


def setting_text(text: object) -> str:
    """Return a setting of the generator on one line; a very long one loses its middle."""
    return shorten(plain(text))


def settings_text(settings: Mapping[str, Any]) -> str:
    """Return the settings of a generator on one line."""
    return (
        "; ".join(f"{setting_text(k)} = {setting_text(v)}" for k, v in settings.items()) or "none"
    )


def remedies(promised: float | None, broken: bool) -> Iterator[str]:
    """Yield advice about a leak, by the generator's epsilon and whether it was exceeded."""
    if broken:
        yield (
            "Have the generator repaired: it leaks more than its epsilon allows. Look first at "
            "ranges and categories that are read from the data."
        )
    yield (
        "Remove or generalise the riskiest records, listed below, before the generator learns. "
        "Then audit again: others may take their place."
    )
    yield (
        "Coarsen the data: round numbers or put them in ranges, merge rare categories, drop "
        "columns that nobody needs."
    )
    if promised is not None:
        yield "Set a smaller epsilon, with ranges and categories that are public."
    else:
        yield (
            "Use a generator under differential privacy, such as PrivBayes, with ranges and "
            "categories that are public: nothing else comes with a guarantee."
        )
