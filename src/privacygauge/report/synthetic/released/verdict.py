"""The verdict on a released table, in words for somebody who has to decide about it."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Headline
from privacygauge.report import direction
from privacygauge.report.numbers import count, decimal_estimate, percent, plain, rate
from privacygauge.report.synthetic.released.advice import advice
from privacygauge.report.synthetic.released.membership import attacks_of
from privacygauge.report.synthetic.released_findings import ReleasedFindings, ReleaseRisk
from privacygauge.report.verdict import GRADES, NONE, UNKNOWN, Verdict, grade_of, gravest
from privacygauge.report.verdict import verdict as verdict_of_attacks

MATTERS = (
    "It matters to the people behind the real records: whoever knows something about somebody may "
    "learn from the table that they were among them, or what else is true of them."
)


@dataclass(frozen=True)
class Worst:
    """The risk that goes furthest beyond its control."""

    risk: ReleaseRisk
    """Which it is."""
    beyond: Estimate
    """What the attack achieves beyond the control; the interval allows for all looks."""


def verdict(f: ReleasedFindings) -> Verdict:
    """Return the verdict on a released table.

    Parameters
    ----------
    f : ReleasedFindings

    Returns
    -------
    Verdict
        The gravest of three: of the membership attacks, as in an audit of attacks; of the risk
        with the highest lower end beyond its control; of the copies beyond those of the holdout.
        Each by its corrected lower end: none at 0, small below .1, moderate below .3, large from
        there on. It cannot be told without a holdout, nor where the holdout is no sample of the
        same source, nor where none finds a leak but one gives away more about the holdout.
    """
    if f.n_holdout == 0:
        return Verdict(UNKNOWN, _alone(f), _without(f), advice(f, None))
    if not same_source(f):
        headline = "Cannot be told: real records and holdout are not from the same source"
        return Verdict(UNKNOWN, headline, _void(f), advice(f, None))
    found = grades(f)
    grade = gravest((*found.values(), *((UNKNOWN,) if f.corrected.inverted else ())))
    if grade == UNKNOWN:
        return Verdict(UNKNOWN, direction.HEADLINE, _inverted(f), direction.ADVICE)
    told = {"copies": _copied(f), "membership": _membership(f), "risks": _risks(f)}
    # What the headline speaks of comes first; the order of the others stays.
    order = sorted(told, key=lambda part: grade == NONE or found[part] != grade)
    sentences = (
        *(sentence for part in order for sentence in told[part]),
        *(() if grade == NONE else (MATTERS,)),
        _unsaid(grade),
    )
    return Verdict(grade, _headline(f, grade), sentences, advice(f, GRADES.index(grade)))


def grades(f: ReleasedFindings) -> dict[str, str]:
    """Return the grade of the copies, of the membership attacks, and of the three risks."""
    attacks, found = attacks_of(f), worst(f)
    return {
        "copies": NONE if f.corrected.copies is None else beyond_grade(f.corrected.copies),
        "membership": NONE if attacks is None else verdict_of_attacks(attacks).grade,
        "risks": NONE if found is None else beyond_grade(found.beyond),
    }


def beyond_grade(beyond: Estimate) -> str:
    """Return the grade for what goes beyond a control, by its lower end."""
    # An advantage of so much is a balanced accuracy of half of it above one half.
    return grade_of(0.5 + beyond.low / 2)


def worst(f: ReleasedFindings) -> Worst | None:
    """Return the risk with the highest corrected lower end; None where nothing was compared."""
    pairs = zip(f.risks, f.corrected.risks, strict=True)
    found = [Worst(risk, beyond) for risk, beyond in pairs if beyond is not None]
    return max(found, key=lambda w: (w.beyond.low, w.beyond.value), default=None)


def furthest_from_baseline(f: ReleasedFindings) -> ReleaseRisk | None:
    """Return the risk whose attack does best beside its baseline; None where none was tried."""
    return max(f.risks, key=lambda r: r.attack.value - r.baseline.value, default=None)


def same_source(f: ReleasedFindings) -> bool:
    """Return whether the attack that never sees the synthetic table stays at guessing."""
    return f.blind is None or f.blind.auc.low <= 0.5


def named(risk: ReleaseRisk) -> str:
    """Return what a risk is called, such as ``inference (income)``."""
    return plain(f"{risk.name} ({risk.variant})" if risk.variant else risk.name)


def _headline(f: ReleasedFindings, grade: str) -> str:
    if grade == NONE:
        return "No leak found: nothing shows more about the real records than about other people"
    leading = next(name for name, found in grades(f).items() if found == grade)
    if leading == "copies":
        share = percent(f.copies[0].estimate.value)
        told = f"{share} of the real records stand in the synthetic table as they are"
    elif leading == "membership":
        told = _by_attacks(f)
    else:
        found = worst(f)
        assert found is not None
        told = (
            f"{named(found.risk)} succeeds for {percent(found.risk.attack.value)} of the attempts "
            f"on real records, {_control(found.risk)} on others"
        )
    return f"{grade.capitalize()} leak: {told}"


def _by_attacks(f: ReleasedFindings) -> str:
    attacks = attacks_of(f)
    assert attacks is not None
    return verdict_of_attacks(attacks).headline.partition(": ")[2]


def _inverted(f: ReleasedFindings) -> tuple[str, ...]:
    """Return why nothing can be told where more is given away about the holdout."""
    attacks = () if f.headline is None else f.headline.inverted
    why = direction.sentences(attacks) if attacks else (direction.LIKELY, direction.OPEN)
    if not f.corrected.inverted:
        return why
    named = ", ".join(map(plain, f.corrected.inverted))
    return (
        f"The table gives away more about the holdout than about the real records, by {named} "
        f"{_together(f)}.",
        *why,
    )


def _membership(f: ReleasedFindings) -> tuple[str, ...]:
    attacks = attacks_of(f)
    if attacks is None:
        return ()
    found = verdict_of_attacks(attacks)
    # The last ones speak of the whole: to whom it matters, and what is not said.
    return found.sentences[: -2 if found.grade in GRADES[1:] else -1]


def _copied(f: ReleasedFindings) -> tuple[str, ...]:
    beyond = f.corrected.copies
    if beyond is None or beyond.low <= 0:
        return ()
    real, others = f.copies[0].estimate, f.copies[1].estimate
    return (
        f"{percent(real.value)} of the real records occur in the synthetic table, equal in every "
        f"column, and {percent(others.value)} of the holdout: more than chance explains. Of "
        f"the real records that chance would have spared, at least {percent(beyond.low)} are "
        f"copied {_together(f)}.",
    )


def _risks(f: ReleasedFindings) -> tuple[str, ...]:
    found = worst(f)
    if found is None:
        return ()
    n = len(f.risks)
    forms = f"{count(n)} forms" if n > 1 else "the one form"
    rates = (
        f"succeeds for {percent(found.risk.attack.value)} of the attempts on real records and for "
        f"{_control(found.risk)} on the holdout"
    )
    if found.beyond.low <= 0:
        most = max(beyond.high for beyond in f.corrected.risks if beyond is not None)
        return (
            f"None of {forms} of the three risks that regulators name (singling out, linkability, "
            "inference) succeeds clearly more often on the real records than on other people. "
            f"{_capital(named(found.risk))} comes closest: it {rates}. A risk of up to "
            f"{percent(most)} beyond the control may have gone unnoticed "
            f"{_together(f)}.",
        )
    more = sum(x is not None and x.low > 0 for x in f.corrected.risks)
    others = f" In all, {count(more)} of {forms} go beyond it for certain." if more > 1 else ""
    return (
        f"Of the three risks that regulators name, {named(found.risk)} goes furthest: it {rates}. "
        f"Of what the control left open, the table gives away at least "
        f"{percent(found.beyond.low)} {_together(f)}.{others}",
    )


def _together(f: ReleasedFindings) -> str:
    n = f.corrected.looks
    allows = f"; this allows for having looked at {count(n)} numbers" if n > 1 else ""
    return f"(with {rate(f.level)} confidence{allows})"


def _control(risk: ReleaseRisk) -> str:
    return "none" if risk.control is None else percent(risk.control.value)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _unsaid(grade: str) -> str:
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


def _alone(f: ReleasedFindings) -> str:
    copied = f.copies[0].estimate.value
    if copied >= 0.1:
        return (
            f"Cannot be told without a holdout, but {percent(copied)} of the real records stand in "
            "the synthetic table as they are"
        )
    return "Cannot be told without a holdout whether the table gives its people away"


def _seen(f: ReleasedFindings) -> str:
    copied = percent(f.copies[0].estimate.value)
    told = f"{copied} of the real records occur in the synthetic table, equal in every column"
    risk = furthest_from_baseline(f)
    if risk is None:
        return f"What was seen: {told}."
    return (
        f"What was seen: {told}; and {named(risk)} succeeds for {percent(risk.attack.value)} of "
        f"the attempts on real records, against {percent(risk.baseline.value)} of its baseline "
        f"({rate(f.level)} intervals below)."
    )


def _without(f: ReleasedFindings) -> tuple[str, ...]:
    return (
        _seen(f),
        "What cannot be told is whether that is a leak: an attack also succeeds where the table "
        "describes people in general well, which it is made for, and records that many people "
        "share occur on both sides by chance. Membership attacks were not played: there is "
        "nobody whom they could confuse with the people in the real table.",
        "A holdout answers both: records of the same source that the generator did not learn "
        "from, as many as there are real ones, or a thousand at least. What an attack "
        "achieves on them is what it achieves without a leak.",
        "This is no verdict of safety. Few copies, low rates, and long distances to the closest "
        "record are no evidence of it.",
    )


def _void(f: ReleasedFindings) -> tuple[str, ...]:
    assert f.blind is not None
    best = f.headline
    return (
        "An attack that never saw the synthetic table tells real records and holdout apart (AUC "
        f"{decimal_estimate(f.blind.auc)}, {rate(f.level)} interval; guessing gives 0.5). So they "
        "are different people, and success of the other attacks is no evidence of a leak, nor is "
        "their failure one of safety: the results on membership are void, and the controls of "
        "the three risks cannot be relied on.",
        *(() if best is None else _further(best, f.blind)),
        _seen(f),
        "Draw the holdout at random from the very records that the generator is given, before it "
        "learns, and audit again.",
    )


def _further(best: Headline, blind: Evaluation) -> tuple[str, ...]:
    attack = best.attack
    if attack.auc.low <= blind.auc.high:
        return ()
    return (
        f"With the synthetic table, {plain(attack.title)} tells them apart better still (AUC "
        f"{decimal_estimate(attack.auc)}). That is no proof, but treat the table as leaking until "
        "a proper holdout shows otherwise.",
    )
