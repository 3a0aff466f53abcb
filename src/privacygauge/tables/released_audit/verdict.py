"""The verdict on a released table, in words for somebody who has to decide about it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from privacygauge.core import checks
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.detectable import fewest_nonmembers
from privacygauge.report import direction
from privacygauge.report.attacks.verdict import DETECTABLE, grade_attacks, grade_of_few
from privacygauge.report.grades import (
    GRADES,
    LARGE,
    MODERATE,
    NONE,
    UNTOLD,
    advantage_of,
    gauge,
    grade_of,
    gravest,
    untold_verdict,
)
from privacygauge.report.numbers import (
    count,
    decimal,
    decimal_estimate,
    percent,
    plain,
    rate,
    several,
)
from privacygauge.report.values import Gauge, Grade, Verdict
from privacygauge.tables.released.copies import SYNTHETIC_ROWS
from privacygauge.tables.released.hits import ReleaseRisk, furthest_beyond
from privacygauge.tables.released.near_copies import LIMIT
from privacygauge.tables.released.outlying import VARIANT
from privacygauge.tables.released.suite import CROWDED, JOINED, ORDERED, SHARED
from privacygauge.tables.released.unlikely import NEGLIGIBLE
from privacygauge.tables.released_audit.result import ReleasedResult, no_control, risk_name

_RULE = (
    "The grade follows from the lower end of the interval: small above 0%, moderate from 10% and "
    "large from 30% of what a control, or chance, leaves open; of membership, percentage points "
    "between the true-positive and the false-positive rate. A hundredth of the real records that "
    "stand out for certain are moderate too. These limits are a convention of "
    "PrivacyGauge: set your own with --fail-above or --policy."
)
_FORMS_LOOKED_FOR = (
    "That holds for copies in the forms that are looked for: equal or near records, those with "
    "some values changed, recoded or rotated, and pairs of near numbers side by side. Not looked "
    "for are series moved by three steps or more without their ends joined, columns that changed "
    "places whose names do not say so, numbers reflected about their own middle, and single "
    "numbers that were moved a little in records that are otherwise made up."
)
ABSENT = "Advantage of taking absence from the table for membership"
"""Label of what a filter gives away."""
NAMED = 5
"""Number of copied records that the verdict names."""
ROUNDED = 0.001
"""Shares of the real records below this are given as a number of records."""

MATTERS = (
    "It matters to the people behind the real records: whoever knows something about somebody may "
    "learn from the table that they were among them, or what else is true of them."
)
_AGAIN = (
    "Repeat the audit whenever the data, the generator or its settings change, and keep this "
    "report with the table."
)
_GENERATOR = (
    "Audit the generator too (privacygauge synthetic): an attacker who can run it sees more than "
    "this audit."
)
_NEITHER = (
    "This report supports no decision about a publication: it says neither yes nor no.",
    "Keep a random part of the records back from the generator (a third, say), generate again, and "
    "audit with that part as the holdout.",
    _GENERATOR,
)
_UNSAFE = (
    "This is not a verdict of safety. Few copies, low rates, and long distances to the closest "
    "record are no evidence of it."
)
_VOID = "Success of the other attacks is no evidence of a leak, nor is their failure one of safety."


def verdict(f: ReleasedResult) -> Verdict:
    """Return the verdict on a released table.

    The gravest of four: of the membership attacks, as in an audit of attacks; of the risk
    with the highest lower end beyond its control; of the copies beyond those of the holdout;
    of the matches that a filter took from the real records.
    Each by its corrected lower end: none at 0, small below .1, moderate below .3, large from
    there on. It cannot be told without a holdout, where nothing is found and so few records would
    not have shown the beginning of a moderate leak, nor where the holdout overlaps with the real
    table, nor where none finds a leak but one gives away more about the holdout. Copies of records
    that occur once need no holdout, so neither a small one nor one that overlaps hides them.

    Where the holdout is of another source, what goes beyond an attack that never sees the table is
    a leak of at least that grade; where nothing does, it cannot be told.
    """
    if not f.n_holdout:
        return _verdict_without_control(f)
    found = grades(f)
    grade = gravest((*found.values(), *((UNTOLD,) if f.corrected.inverted else ())))
    if grade in (NONE, UNTOLD) and not f.control:
        headline = "Cannot be told: real records and holdout are not from the same source"
        return untold_verdict(headline, tuple(_void_text(f)), unsaid=_VOID, advice=_NEITHER)
    if grade in (NONE, UNTOLD) and f.drifted:
        headline = (
            f"Cannot be told: the holdout has other values than the real table in {_of_drift(f)}"
        )
        return untold_verdict(headline, tuple(_void_text(f)), unsaid=_VOID, advice=_NEITHER)
    if grade == UNTOLD:
        # Nothing was found, which is not evidence that nothing leaks.
        attacks = f.membership
        assert attacks is not None  # there is a control
        inverted = attacks.headline.inverted
        if f.corrected.inverted or inverted:
            why = direction.sentences(inverted) if inverted else (direction.LIKELY,)
            if f.corrected.inverted:
                named = ", ".join(map(plain, f.corrected.inverted))
                more = (
                    "The table gives away more about the holdout than about the real records, by "
                    f"{named} {_confidence_text(f)}."
                )
                why = (more, *why)
            return direction.verdict(tuple(why))
        of_attacks = grade_attacks(attacks)
        if of_attacks.grade == UNTOLD:
            sentences = (*of_attacks.sentences, _observations_text(f))
            return untold_verdict(of_attacks.headline, sentences, unsaid=_UNSAFE, advice=_larger(f))
        # Real records and holdout differ a little, and no attack goes beyond that.
        headline = "Cannot be told: the attacks do no better than one that never sees the table"
        return untold_verdict(headline, tuple(_void_text(f)), unsaid=_VOID, advice=_NEITHER)
    membership: tuple[str, ...] = ()
    if f.differs:
        membership = tuple(_membership_beyond(f))
    elif f.membership is not None and f.filtered is not None and f.membership.headline.inverted:
        membership = (
            "Attacks that take records near to a synthetic row for members are wrong more often "
            "than guessing, for the same reason.",
        )
    elif f.membership is not None:
        of_attacks = grade_attacks(f.membership)
        if of_attacks.grade == UNTOLD:  # something else than these attacks found a leak
            of_attacks = grade_attacks(replace(f.membership, questions=None))
        could_find = any("could have found" in sentence for sentence in of_attacks.sentences)
        membership = (*of_attacks.sentences, *((_FORMS_LOOKED_FOR,) if could_find else ()))
    told = {
        "copies": _copies_text(f),
        "order": _order(f),
        "shared": _shared_values_text(f),
        "crowds": _crowds_text(f),
        "filtered": _filtered_text(f),
        "membership": membership,
        "risks": _risks(f),
    }
    # What the headline speaks of comes first, then what is as grave; the order of the others stays.
    leading = "" if grade == NONE else _leading(f, grade)
    order = sorted(told, key=lambda part: (part != leading, grade == NONE or found[part] != grade))
    said = [sentence for part in order for sentence in told[part]]
    said += [] if grade == NONE else [MATTERS]
    if f.is_partial:
        said += [
            f"This is the least of it: how much more leaks cannot be told. {next(_void_text(f))}"
        ]
    # The next steps, the most urgent first.
    todo = [] if grade == NONE else list(_remedies(f, grade))
    if f.n_holdout < min(f.n_real, 2000):
        todo.append(
            "Use a larger holdout, if there is one: with so few records a small leak goes "
            "unnoticed."
        )
    todo += [_GENERATOR, _AGAIN]
    unsaid = _limits_text(grade)
    return Verdict(
        grade=grade,
        scale=GRADES,
        headline=_headline(f, grade),
        sentences=tuple(said),
        unsaid=unsaid,
        advice=tuple(todo),
        gauge=_gauge(f),
    )


def _verdict_without_control(f: ReleasedResult) -> Verdict:
    """Return the verdict without records to compare with: copies, or an inconclusive one."""
    known = f.corrected.needs_no_control.values()
    grade = gravest((NONE, *map(beyond_grade, known)))
    if grade != NONE:
        told = _share_copied(f)
        by_order = grades(f)["order"] == grade
        copied = f.corrected.copied
        # The headline speaks of the gravest.
        if copied is None or not _is_above_chance(copied):
            if by_order:
                told = _what_links(f)
            elif grades(f)["crowds"] == grade:
                told = _largest_crowd(f)
            else:
                told = _most_shared(f)
        elif by_order and beyond_grade(copied) != grade:
            told = _what_links(f)
        # Attacks beside a holdout that was left out may have found far more.
        left_out = no_control(f)
        least = "" if left_out is None else " at least"
        headline = f"{grade.word.capitalize()} leak{least}: {told}"
        reason = "There was no holdout to compare the attacks with."
        if left_out is not None:
            reason = _as_sentence(left_out)
        why = f"Whether the table gives away more cannot be told. {reason}"
        if f.partly or f.nearly:
            why = (
                "The number of changed copies is a lower limit: beside other people all of them "
                "count, and alone only those that chance would hardly ever bring about. "
                f"{why}"
            )
        todo = (*_remedies(f, grade), *_NEITHER[1:])
        said = (
            *_copied_alone(f),
            *_order(f),
            *_shared_values_text(f),
            *_crowds_text(f),
            MATTERS,
            why,
        )
        return Verdict(
            grade=grade,
            scale=GRADES,
            headline=headline,
            sentences=said,
            unsaid=_limits_text(grade),
            advice=todo,
            gauge=_gauge(f),
        )
    if f.learnt is not None:
        held = "nearly holds" if f.learnt.nearly else "holds"
        why = f": the synthetic table {held} holdout records, so they are no control"
    elif f.people is not None and f.people.few:
        why = ": too few people stand behind the records for a control"
    elif f.people is not None or f.returning is not None:
        why = ": the holdout's people are in the real table, so they are no control"
    elif f.overlap is not None:
        why = ": the holdout stands in the real table, so it is no control"
    elif f.copies[0].estimate.value >= 0.1:
        why = f" without a holdout, but {_share_copied(f)}"
    else:
        why = " without a holdout whether the table gives its people away"
    left_out = no_control(f)
    sentences = (
        *(() if left_out is None else (_as_sentence(left_out),)),
        _observations_text(f),
        "What cannot be told is whether that is a leak: an attack also succeeds where the table "
        "describes people in general well, which it is made for, and records that many people "
        "share occur on both sides by chance. Membership attacks were not played: there is "
        "nobody whom they could confuse with the people in the real table.",
        "A holdout answers both: records of the same source that the generator did not learn "
        "from, as many as there are real ones, or a thousand at least. What an attack "
        "achieves on them is what it achieves without a leak.",
    )
    return untold_verdict(f"Cannot be told{why}", sentences, unsaid=_UNSAFE, advice=_NEITHER)


def _larger(f: ReleasedResult) -> tuple[str, ...]:
    """Return the next steps after an audit of too few records."""
    assert f.questions is not None  # there is a control
    assert f.headline is not None
    n = f.questions.detectable.n_in
    wanted = fewest_nonmembers(n, f.headline.each, DETECTABLE)
    if wanted is None:
        each = f.headline.each
        # As many of both: the fewest that a holdout of the same size suffices for.
        enough = next(
            both
            for both in itertools.count(-(-n // 10) * 10, 10)
            if (fewest_nonmembers(both, each, DETECTABLE) or math.inf) <= both
        )
        larger = (
            f"No holdout is large enough beside {n:,} independent real records (rows of one person "
            f"count once): about {enough:,} of them, and as many others, would be. Or audit the "
            "generator, which can make as many tables as it takes."
        )
    else:
        step = 10 ** max(0, len(str(wanted)) - 2)
        wanted = -(-wanted // step) * step
        larger = (
            f"Audit again with a larger holdout: beside {n:,} independent real records about "
            f"{wanted:,} of the same source are enough."
        )
    return _NEITHER[0], larger, _GENERATOR


def _as_sentence(said: str) -> str:
    return f"{said[0].upper()}{said[1:]}."


def _share_copied(f: ReleasedResult) -> str:
    """Return the larger share of the copies: of the real records, or of the synthetic rows."""
    people = f.copies[0].estimate.value
    n = len(f.partly) + len(f.nearly)
    if n > round(people * f.n_real):
        who = several(n, "real record")
        stands = "stands" if n == 1 else "stand"
        if not f.partly:
            return f"{who} {'has' if n == 1 else 'have'} a near copy in the synthetic table"
        nearly = ", or nearly as they are" if f.nearly else ""
        return f"{who} {stands} in the synthetic table but for one value or the dates{nearly}"
    rows = next((x.estimate for x in f.copies if x.label == SYNTHETIC_ROWS), None)
    if rows is not None and rows.value > people:
        n = round(rows.value * f.n_synthetic)
        are = "rows is a real record as it is" if n == 1 else "rows are real records as they are"
        return f"{count(n)} of {count(f.n_synthetic)} synthetic {are}"
    if f.corrected.unlikely is not None and people < ROUNDED:
        n = round(people * f.n_real)
        whole = "in the synthetic table as"
        stand = f"record stands {whole} it is" if n == 1 else f"records stand {whole} they are"
        return f"{count(n)} real {stand}"
    return f"{percent(people)} of the real records stand in the synthetic table as they are"


def _gauge(f: ReleasedResult) -> Gauge | None:
    """Return the largest excess over a control, on the scale of grades."""
    told: list[tuple[str, Estimate]] = []
    if not f.n_holdout:
        told.extend(f.corrected.needs_no_control.items())
    else:
        beyond = {
            "Records copied, beyond chance": f.trusted.copied,
            **f.corrected.linked,
            **{SHARED.format(one.column): one.people for one in f.corrected.shared},
            **({CROWDED: f.corrected.crowds[0].rows} if f.corrected.crowds else {}),
        }
        told.extend((name, one) for name, one in beyond.items() if one is not None)
    if f.membership is not None:
        reached = f.membership.headline.reached
        by = ", at least, by its ranking" if reached.by_ranking else ""
        if f.advantage_beyond is not None:
            told.append((f"Advantage of the strongest attack{by}", f.advantage_beyond))
    if f.filtered is not None:
        told.append((ABSENT, advantage_of(f.filtered.auc)))
    if f.worst is not None:
        told.append((f"{risk_name(f.worst.risk)}, beyond its control", f.worst.beyond))
    if not told:
        return None
    label, found = max(told, key=lambda pair: furthest_beyond(pair[1]))
    return gauge(label, found, (-0.3, 0.0, 0.1, 0.3, 1.0), ("0%", "10%", "30%"), rule=_RULE)


def grades(f: ReleasedResult) -> dict[str, Grade]:
    """Return the grade of each question: copies, membership attacks, the three risks and more."""
    attacks = f.membership
    found = f.worst
    few = None if f.questions is None else f.questions.tail
    membership = NONE if attacks is None else grade_attacks(attacks).grade
    beyond = f.advantage_beyond
    if attacks is not None and beyond is not None and membership != NONE:
        # Only what goes beyond attacks that never see the table; the rest is inconclusive.
        is_explained = attacks.headline.reached.accuracy.low > 0.5 and beyond.low <= 0
        if f.differs or is_explained:
            membership = gravest((UNTOLD, beyond_grade(beyond)))
    if f.n_compared is not None:
        # All rows show something, and nothing is known of what the others would explain.
        membership = gravest((UNTOLD, membership))
    seen = f.placebo
    if few is not None and seen is not None and (seen.shown or 2 * seen.exposed >= few.exposed):
        few = None  # people of another source stand out without the table
    if not f.control:
        few = None
    copied = f.trusted.copied
    risks = NONE if found is None else beyond_grade(found.beyond)
    if risks == NONE and f.control and any(map(_is_above_chance, f.corrected.risks)):
        risks = UNTOLD  # it succeeds without the table as well
    return {
        "copies": NONE if copied is None else beyond_grade(copied),
        "order": gravest((NONE, *map(beyond_grade, f.corrected.linked.values()))),
        "shared": gravest((NONE, *(beyond_grade(one.people) for one in f.corrected.shared))),
        "crowds": gravest((NONE, *(beyond_grade(one.rows) for one in f.corrected.crowds))),
        "filtered": NONE if f.filtered is None else grade_of(f.filtered.auc.low),
        "membership": membership,
        "risks": risks,
        "few": NONE if few is None else grade_of_few(few),
    }


def _membership_beyond(f: ReleasedResult) -> Iterator[str]:
    """Yield the lead of the strongest attack over one that never sees the synthetic table."""
    beyond = f.advantage_beyond
    if f.headline is None or f.blind is None or beyond is None:
        return
    attack = f.headline.attack
    told = (
        f"{plain(attack.title)} tells real records and holdout apart with AUC "
        f"{decimal_estimate(attack.auc)}; an attack that never sees the synthetic table, with "
        f"{decimal_estimate(f.blind.auc)} ({rate(f.level)} intervals)"
    )
    if f.placebo is not None and f.placebo.shown:
        told += (
            "; attacks with other real records in its place have an advantage of up to "
            f"{percent(f.placebo.shown)}"
        )
    if beyond.low <= 0:
        yield f"{told}: how much of the first is a leak cannot be told."
        return
    yield (
        f"{told}. Of what the others leave open, the table gives away at least "
        f"{percent(beyond.low)} (with {rate(f.level)} confidence; this allows for the upper end "
        "without the table)."
    )


def _of_drift(f: ReleasedResult) -> str:
    return checks.short_list((f"'{plain(name)}'" for name in f.drifted), 3)


def beyond_grade(beyond: Estimate) -> Grade:
    """Return the grade of an excess over a control, by its lower end."""
    # An advantage a is a balanced accuracy of (1 + a) / 2, the scale of all grades.
    return grade_of(0.5 + beyond.low / 2)


def _headline(f: ReleasedResult, grade: Grade) -> str:
    if grade == NONE:
        return "No leak found: nothing shows more about the real records than about other people"
    leading = _leading(f, grade)
    if leading == "copies":
        told = _share_copied(f)
    elif leading == "order":
        told = _what_links(f)
    elif leading == "shared":
        told = _most_shared(f)
    elif leading == "crowds":
        told = _largest_crowd(f)
    elif leading == "filtered":
        told = "synthetic rows were filtered by the real records, whose absence gives them away"
    elif leading == "membership":
        assert f.membership is not None
        told = grade_attacks(f.membership).headline.partition(": ")[2]
    elif leading == "few":
        verb = "stands" if f.n_exposed == 1 else "stand"
        told = f"at least {several(f.n_exposed, 'real record')} {verb} out among all records"
    else:
        found = f.worst
        assert found is not None
        told = (
            f"{risk_name(found.risk)} succeeds for {percent(found.risk.attack.value)} of the "
            "attempts "
            f"on real records, {_control(found.risk)} on others"
        )
    at_least = " at least" if f.is_partial else ""
    return f"{grade.word.capitalize()} leak{at_least}: {told}"


def _leading(f: ReleasedResult, grade: Grade) -> str:
    """Return the part of the verdict that the headline speaks of: one of this grade.

    People who stand out in a ranking are named as copies where these explain them.
    """
    found = grades(f)
    leading = next(name for name, one in found.items() if one == grade)
    if leading == "membership" and f.membership is not None:
        question = grade_attacks(f.membership).question
        leading = "few" if question == "records" else leading
    if leading == "few" and f.n_copied >= f.n_exposed:
        leading = "copies" if f.n_proven >= f.n_exposed else "shared"
    return leading


def _copies_text(f: ReleasedResult) -> Iterator[str]:
    beyond = f.trusted.copies
    if beyond is not None and beyond.low > 0:
        real = f.copies[0].estimate
        others = f.copies[1].estimate
        yield (
            f"{percent(real.value)} of the real records occur in the synthetic table, equal in "
            f"every column, and {percent(others.value)} of the holdout: more than chance explains. "
            "Of the real records that chance would have spared, at least "
            f"{percent(beyond.low)} are copied {_confidence_text(f)}."
        )
    yield from _copied_alone(f, told=beyond is not None and beyond.low > 0)


def _filtered_text(f: ReleasedResult) -> Iterator[str]:
    """Yield the matches that the real records lack, and how much that gives away."""
    found = f.filtered
    if found is None:
        return
    n = round(found.real * f.n_real)
    who = "no real record" if n == 0 else f"only {percent(found.real)} of the real records"
    does = "equals" if n == 0 else "equal"
    a_match = f"{does} a synthetic row"
    also = "do"
    among = "equal one"
    if not found.equal:
        a_match = f"{'lies' if n == 0 else 'lie'} near a synthetic row"
        also = "lie as near"
        among = "lie as near to one"
    yield (
        f"Matches with real records are missing: {who} {a_match}, but {percent(found.holdout)} of "
        f"the holdout {also}, and {percent(found.by_chance)} of it {among} of as many real "
        "records. Neither chance nor swapped files explain that: synthetic rows that came too near "
        "to a real record were dropped, as privacy filters do. Whoever knows that takes people "
        f"without a match for members: AUC {decimal_estimate(found.auc)}; guessing gives 0.5 "
        f"{_confidence_text(f)}."
    )


def _is_above_chance(beyond: Estimate | None) -> bool:
    return beyond is not None and beyond.low > 0


def _order(f: ReleasedResult) -> Iterator[str]:
    """Yield the share of rows that the order of the table links to a person."""
    found = f.corrected.order
    if found is not None and found.low > 0:
        yield (
            "The synthetic rows stand in the order of the real records: of the rows that chance "
            f"would not join to the real record at the same place, {percent(found.value)} have "
            f"more in common with it than with the records around it, at least "
            f"{percent(found.low)} {_confidence_text(f)}. Whoever has a list in that order knows "
            "whose "
            "row each is."
        )
    for column, joins in f.corrected.joined:
        if joins is not None and joins.low > 0:
            yield (
                f"Column {plain(repr(column))} joins synthetic rows to people: of the rows that "
                f"chance would not join, {percent(joins.value)} have more in common with the real "
                "record of the same name or number than with those around it, at least "
                f"{percent(joins.low)} {_confidence_text(f)}. Whoever has a list of these names or "
                "numbers knows whose row each is."
            )


def _what_links(f: ReleasedResult) -> str:
    """Return the order of the rows, or the column, that joins most rows to people, in words."""
    linked = f.corrected.linked
    most = max(linked, key=lambda name: linked[name].low)
    if most == ORDERED:
        return "the synthetic rows stand in the order of the real records"
    column = next(column for column, _ in f.corrected.joined if JOINED.format(repr(column)) == most)
    return f"the names or numbers in column {plain(repr(column))} join synthetic rows to people"


def _most_shared(f: ReleasedResult) -> str:
    found = f.corrected.shared[0]
    return f"{several(len(found.rows), 'real record')} {plain(found.what)}"


def _shared_values_text(f: ReleasedResult) -> Iterator[str]:
    """Yield the real records that share something with the table beyond chance."""
    for found in f.corrected.shared:
        yield (
            f"{several(len(found.rows), 'real record')} {plain(found.what)}, which chance does not "
            f"explain: {found.why}. {_rows(found.rows.tolist()).capitalize()} of the real table."
        )


def _largest_crowd(f: ReleasedResult) -> str:
    share = f.corrected.crowds[0].rows.value
    return f"{percent(share)} of the synthetic rows crowd around one real record"


def _crowds_text(f: ReleasedResult) -> Iterator[str]:
    """Yield the real records that synthetic rows crowd around."""
    for found in f.corrected.crowds:
        yield (
            f"{percent(found.rows.value)} of the synthetic rows crowd around row {found.row} of "
            "the real table: their middle, which these rows alone decide, is nearer to it than to "
            f"anybody else by {decimal(found.margin, 2)} columns' worth of values, and no person "
            f"is nearer to another by more than {decimal(found.usual, 2)}. Chance does not explain "
            "that: the generator repeats this record."
        )


def _rows(rows: Sequence[int]) -> str:
    """Return some rows in words, such as "rows 3, 5 and 4 more"."""
    n = len(rows)
    some = ", ".join(map(str, rows[:NAMED]))
    more = f" and {count(n - NAMED)} more" if n > NAMED else ""
    return f"{'row' if n == 1 else 'rows'} {some}{more}"


def _copied_alone(f: ReleasedResult, *, told: bool = False) -> Iterator[str]:
    """Yield the findings on copies without a holdout; `told` if their share was said."""
    alone = f.corrected.alone
    rows = f.corrected.rows
    n = len(f.proven)
    if alone is not None and alone.low > 0 and not told:
        yield (
            f"Of the real records that equal no other one, at least {percent(alone.low)} are "
            f"copied beyond what chance explains {_confidence_text(f)}."
        )
    if rows is not None and rows.low > 0:
        yield (
            f"Of the synthetic rows, at least {percent(rows.low)} are real records as they are, "
            f"beyond what chance explains {_confidence_text(f)}."
        )
    if n:
        which = _rows([one.row for one in f.proven])
        each = "1 of these copies is proof" if n == 1 else f"{count(n)} of these are proof each"
        yield (
            f"{each}: nobody else would share all values of such a record by chance (fewer than "
            f"{NEGLIGIBLE:g} copies are expected of all real records together): {which} of the "
            "real table; ids stand below, under Copies."
        )
    if f.partly:
        n = len(f.partly)
        them = "record is" if n == 1 else "records are"
        yield (
            f"{count(n)} {'further ' if f.proven else ''}real {them} copied but for one value, or "
            f"with other dates ({_rows([one.row for one in f.partly])} of the real table): nobody "
            f"else would share all the rest by chance (fewer than {NEGLIGIBLE:g} such copies are "
            "expected of all real records together)."
        )
    if f.nearly:
        n = len(f.nearly)
        yield (
            f"{several(n, 'real record')} {'has' if n == 1 else 'have'} a near copy "
            f"({_rows([one.row for one in f.nearly])} of the real table): a synthetic row lies far "
            f"nearer to {'it' if n == 1 else 'each'} than to anybody else, and nearer than people, "
            "or rows with their columns shuffled, come to each other by chance (in one table of "
            f"{round(1 / LIMIT)} at "
            "most)."
        )
    if f.together is not None:
        found = f.together
        yield (
            f"{count(len(found.rows))} copies are proof together: at most "
            f"{decimal(found.expected, 3)} real records as rare as these would be copied by chance "
            f"(ten times what their values let expect), so at least {count(found.least)} of them "
            f"are no chance: {_rows(found.rows.tolist())} of the real table, the rarest first."
        )


def _risks(f: ReleasedResult) -> Iterator[str]:
    found = f.worst
    n = len(f.risks)
    if found is None:
        return
    forms = f"{count(n)} forms" if n > 1 else "the one form"
    title = risk_name(found.risk)
    rates = (
        f"succeeds for {percent(found.risk.attack.value)} of the attempts on real records and for "
        f"{_control(found.risk)} on the holdout"
    )
    if found.beyond.low <= 0:
        # Percentage points that are ruled out, on random records and on outlying ones.
        pairs = list(zip(f.risks, f.corrected.points, strict=True))
        most, of_outlying = (
            f"{100 * max(ends):.1f}" if ends else ""
            for ends in (
                [x.high for risk, x in pairs if x is not None and risk.outlying == kind]
                for kind in (False, True)
            )
        )
        alone = f" On the {VARIANT} alone, more than {of_outlying} are ruled out."
        beside = alone if of_outlying else ""
        yield (
            f"None of {forms} of the three risks that regulators name (singling out, linkability, "
            "inference) succeeds clearly more often on the real records than on other people. "
            f"{title[:1].upper()}{title[1:]} comes closest: it {rates}. On random records, less "
            f"than {100 * f.tried.reached:.1f} percentage points above the control may have gone "
            f"unnoticed in any of them, and more than {most} are ruled out "
            f"{_confidence_text(f)}.{beside}"
        )
        return
    more = sum(x is not None and x.low > 0 for x in f.risks_beyond)
    others = f" In all, {count(more)} of {forms} go beyond it for certain." if more > 1 else ""
    left_open = "the control and an attack without the table" if f.differs else "the control"
    least = f"at least {percent(found.beyond.low)}"
    if found.beyond.low < ROUNDED:
        least = "more than nothing, though perhaps very little"
    yield (
        f"Of the three risks that regulators name, {title} goes furthest: it {rates}. Of what "
        f"{left_open} left open, the table gives away {least} {_confidence_text(f)}.{others}"
    )


def _confidence_text(f: ReleasedResult) -> str:
    n = f.corrected.looks
    allows = f"; this allows for having looked at {count(n)} numbers" if n > 1 else ""
    return f"(with {rate(f.level)} confidence{allows})"


def _control(risk: ReleaseRisk) -> str:
    return "none" if risk.control is None else percent(risk.control.value)


def _limits_text(grade: Grade) -> str:
    stronger = (
        "an attacker who knows the generator can make tables of its own and see more: audit the "
        "generator (privacygauge synthetic) for that"
    )
    if grade == NONE:
        return (
            "It does not say that nothing leaks: these attacks see one table, and single records "
            f"may be exposed where the average is not. Besides, {stronger}. Only differential "
            "privacy promises more."
        )
    return f"It speaks of the average; single records may be more or less exposed. And {stronger}."


def _observations_text(f: ReleasedResult) -> str:
    copied = percent(f.copies[0].estimate.value)
    told = f"{copied} of the real records occur in the synthetic table, equal in every column"
    risk = f.furthest_from_baseline
    if risk is None:
        return f"What was seen: {told}."
    return (
        f"What was seen: {told}; and {risk_name(risk)} succeeds for {percent(risk.attack.value)} "
        "of "
        f"the attempts on real records, against {percent(risk.baseline.value)} of its baseline "
        f"({rate(f.level)} intervals below)."
    )


def _void_text(f: ReleasedResult) -> Iterator[str]:
    assert f.blind is not None
    if f.drifted and not f.differs:
        yield (
            f"The holdout has other values than the real table in {_of_drift(f)}, beyond chance: "
            "it is of another time or place. An attack on these values tells both apart, "
            "whatever the synthetic table says, so they were left out of every comparison with the "
            "holdout, and what they give away is not known (AUC without them and without the table "
            f"{decimal_estimate(f.blind.auc)}, {rate(f.level)} interval)."
        )
        yield _observations_text(f)
        yield (
            "Draw the holdout at random from the very records that the generator is given, or "
            "leave these columns out (--drop), and audit again."
        )
        return
    if f.placebo is not None and f.placebo.shown:
        columns = checks.short_list((f"'{plain(name)}'" for name in f.placebo.columns), 3)
        where = f", in the first place by the values of {columns}" if columns else ""
        yield (
            "With other real records in place of the synthetic table, which know nothing of those "
            f"that are asked about, real records and holdout are told apart as well{where}: the "
            f"advantage is up to {percent(f.placebo.shown)}. So the holdout may be of another time "
            "or place, and an attack, or one of the three risks, counts only as far as it goes "
            "beyond that."
        )
    elif not f.differs:
        yield (
            "An attack succeeds more often on the real records than on the holdout, but it does so "
            "with other real records in place of the synthetic table, too. So the holdout may be "
            "of another time or place, and an attack counts only as far as it goes beyond that."
        )
    else:
        are = "are" if not f.same_source else "may be"
        yield (
            "An attack that never saw the synthetic table tells real records and holdout apart "
            f"(AUC {decimal_estimate(f.blind.auc)}, {rate(f.level)} interval; guessing gives 0.5). "
            f"So they {are} different people: an attack, or one of the three risks, counts only as "
            "far as it goes beyond that."
        )
    if f.n_compared is not None:
        yield (
            f"The attacks saw {count(f.n_compared)} of the {count(f.n_synthetic)} synthetic rows, "
            "as many as the table of other real records has: the more rows, the more of them look "
            "like somebody of the same time."
        )
    yield _observations_text(f)
    yield (
        "Draw the holdout at random from the very records that the generator is given, before it "
        "learns, and audit again."
    )


def _remedies(f: ReleasedResult, grade: Grade) -> Iterator[str]:
    if grade in (MODERATE, LARGE):
        yield "Hold the table back, or limit who gets it: what was released cannot be recalled."
    if f.filtered is not None:
        yield (
            "Do not filter the synthetic rows by the real records: which rows are left out is "
            "itself an answer about these people, and the stricter the filter, the more it says. "
            "Release the rows as they were generated, and if copies are among them, use a "
            "generator that does not copy."
        )
    if f.corrected.shared:
        columns = checks.short_list((f"'{plain(one.column)}'" for one in f.corrected.shared), 3)
        yield (
            f"Leave {columns} out of the table, or make the values up: they are those of people."
        )
    if _is_above_chance(f.corrected.order):
        yield "Shuffle the rows before the table is released: their order names people."
    for column, joins in f.corrected.joined:
        if _is_above_chance(joins):
            yield (
                f"Leave {plain(repr(column))} out of the table, or number the rows again after "
                "they are shuffled: it names people."
            )
    if _is_above_chance(f.trusted.copied):
        yield (
            "Do not merely delete the copied rows: that they are missing tells as much, and near "
            "copies stay. Change the generator so that it learns less by heart."
        )
    yield (
        "Give single records less influence: coarsen rare values and exact numbers, leave out "
        "columns that nobody needs, smooth the generator, learn from more records."
    )
    yield (
        "Generate with differential privacy where the table has to be public: nothing else comes "
        "with a guarantee."
    )
