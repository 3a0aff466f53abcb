"""What an audit of attribute inference says, as a report."""

from __future__ import annotations

from collections.abc import Iterator

from privacygauge.audits.attribute.play import AttributeAudit
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.both_sides import BothSides
from privacygauge.report import direction, grades
from privacygauge.report.blocks import note, table, text
from privacygauge.report.document import frame, names_of, values_of
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    fixed,
    percent,
    percent_estimate,
    plain,
    rate,
    shortened,
)
from privacygauge.report.values import (
    About,
    Block,
    Column,
    Content,
    Grade,
    Measure,
    Report,
    Row,
    Section,
    Table,
    Tone,
    Verdict,
    Worst,
)

_LISTED = 50
"""Number of people that are listed."""
_AT_ONCE = 10
"""People shown before a fold, and named in a register."""
_UNSAID = (
    "Another attack may find more, and what this one finds holds for this model alone. What the "
    "imputation guesses is known of anybody of the population, in the training set or not."
)
_DIFFER = (
    "Draw members and people outside of the training set at random from the same records, and "
    "audit again."
)


def report(f: AttributeAudit) -> Report:
    """Return everything that the audit says, as plain values."""
    attacks, n_in = _rates(f), int(f.member.sum())
    names = ", ".join(plain(name) for name in f.guesses.secret.names)
    told_apart = note(f"The values that were told apart: {names}.")
    first = tuple(plain(shortened(str(f.ids[i]))) for i in f.exposed[:_AT_ONCE])
    return Report(
        kind="attribute",
        title="Audit of attribute inference",
        about=About(
            "A trained model",
            "Whoever knows all other columns of a person asks the model about each value of a "
            "sensitive column, and guesses.",
            "a person's other columns, and the model's probabilities",
            "attribute-inference",
        ),
        intro=f"The value of {plain(f.column)} was guessed for {count(n_in)} records of the "
        f"training set and {count(len(f.member) - n_in)} others, among "
        f"{len(f.guesses.secret)} values.",
        origin=f.origin,
        verdict=verdict(f),
        measures=tuple(_measures(f)),
        sections=(
            Section("attacks", "How often a guess is right", (attacks, told_apart), "Attacks"),
            Section("controls", "Whether both sides are alike", (_controls(f),), "Controls"),
            Section(
                "people", "Whose value is guessed with the model only", tuple(_people(f)), "People"
            ),
        ),
        terms=_TERMS,
        worst=Worst(
            "records", first, "" if first else "nobody's value is guessed with the model only"
        ),
        data={
            "column": f.column,
            "values": list(f.guesses.secret.names),
            "attacks": values_of(f.attacks),
            "beyond_imputation": values_of(f.beyond),
            "controls": values_of(f.controls),
            "n_members": n_in,
            "n_others": len(f.member) - n_in,
        },
        frames={"records.parquet": lambda: frame(_columns(f))},
        overview=(attacks,),
        sources="Fredrikson et al. (2014, 2015); Yeom et al. (2018); Mehnaz et al. (2022); "
        "Jayaraman and Evans (2022).",
    )


def grade(f: AttributeAudit) -> Grade:
    """Return the grade: by the lower end of the strongest attack's difference.

    Nothing can be told where a control differs between the sides, and no leak is excluded where
    the control could not be computed or an attack succeeds more often on non-members.
    """
    found = grades.grade_of((1 + f.best.difference.low) / 2)
    unsure = bool(f.inverted) or isinstance(f.imputation, Skipped)
    if f.fired or (found is grades.NONE and unsure):
        return grades.UNTOLD
    return found


def verdict(f: AttributeAudit) -> Verdict:
    """Return the verdict on what a model gives away about a column."""
    found, best = grade(f), f.best
    if found is grades.UNTOLD:
        return _untold(f)
    d, column, leak = best.difference, plain(f.column), found is not grades.NONE
    headline = (
        f"The model gives {column} away: guesses are right at least {_points(d.low)} more often "
        "for members than for others"
        if leak
        else f"No leak of {column} found: members' values are guessed no more often than others'"
    )
    sentences = (
        f"The guesses of {_name(best)} are right for {percent(best.members.value)} of the members "
        f"and for {percent(best.others.value)} of the people outside of the training set, a "
        f"difference of {_points(d.value)} ({100 * d.low:.1f} to {100 * d.high:.1f}, the "
        f"{rate(f.level)} interval for all attacks together).",
        _beside(f),
    )
    advice = (
        ("Regularise the model, or train it without the column.", "Audit the other columns too.")
        if leak
        else ("Audit the other sensitive columns too, each by itself.",)
    )
    label, limits = "Right guesses beyond those for others", (-0.2, 0.0, 0.1, 0.3, 1.0)
    gauge = grades.gauge(label, d, limits, ("0%", "10%", "30%"), rule=_RULE)
    return Verdict(found, grades.GRADES, headline, sentences, _UNSAID, advice, gauge)


def _untold(f: AttributeAudit) -> Verdict:
    headline, sentences, advice = direction.HEADLINE, f.origin.warnings[-1:], _DIFFER
    if f.fired:
        first = f.fired[0]
        headline = (
            "Cannot be told: members and people outside of the training set differ in their data"
        )
        sentences = (
            f"Without the model, the {plain(first.name)} is {percent(first.members.value)} among "
            f"members and {percent(first.others.value)} among others, a difference of "
            f"{percent_estimate(first.difference)}: what attacks find beyond may come from it.",
        )
    elif not f.inverted:
        assert isinstance(f.imputation, Skipped)
        headline = "Cannot be told: the control of attribute inference could not be computed"
        sentences = (f"The imputation without the model {f.imputation.reason}.",)
        advice = "Give more records of people outside of the training set."
    untold = grades.UNTOLD
    return Verdict(untold, (untold,), headline, sentences, direction.OPEN, (advice,))


def _name(attack: BothSides) -> str:
    return attack.name.replace("-and-", " and ")


def _points(value: float) -> str:
    return f"{fixed(100 * value, 1)} points"


def _beside(f: AttributeAudit) -> str:
    found = f.imputation
    if isinstance(found, Skipped):
        return f"What imputation guesses without the model is not known: it {found.reason}."
    name, gain = max(f.beyond.items(), key=lambda known: known[1].low)
    better = f"For members, {name} is right more often than imputation, by {percent_estimate(gain)}"
    if gain.low <= 0:
        better = "No attack is significantly better for members than imputation: the best of them, "
        better += f"{name}, gains {percent_estimate(gain)}"
    return (
        f"Without the model, imputation from the other columns is right for "
        f"{percent(found.members.value)} of the members and {percent(found.others.value)} of the "
        f"others. {better}."
    )


def _measures(f: AttributeAudit) -> Iterator[Measure]:
    best, imputed = f.best, f.imputation
    told = "What the model gives away about the people that it was trained on."
    label, shown = "Right guesses beyond those for others", percent_estimate(best.difference)
    name, n = "attribute-advantage", len(f.attacks)
    note, guessing = f"{_name(best)}, best of {n}", "no leak: 0%"
    yield Measure(name, label, best.difference, shown, note, told, guessing, looks=n)
    told = "With the model and all other columns."
    label, shown = "Right guesses for members", percent_estimate(best.members)
    yield Measure("attribute-rate", label, best.members, shown, _name(best), told)
    known = imputed if isinstance(imputed, Skipped) else imputed.members
    label, shown = "Right guesses by imputation", percent_estimate(known)
    told = "What can be guessed about anyone in the population."
    yield Measure("imputed-rate", label, known, shown, "imputation", told, gate=False)


_HEADS = tuple(Column(head) for head in ("", "Members", "Others", "Difference"))


def _row(name: str, found: BothSides | Skipped) -> tuple[Content, ...]:
    if isinstance(found, Skipped):
        return (name, *(Shown(DASH),) * 3)
    return (name, *map(percent_estimate, (found.members, found.others, found.difference)))


def _rates(f: AttributeAudit) -> Table:
    dash = Shown(DASH)
    gains = {name: percent_estimate(gain) for name, gain in f.beyond.items()}
    rows = (
        Row((*_row(_name(a), a), gains.get(a.name, dash)), Tone.BEST if a is f.best else Tone.PLAIN)
        for a in f.attacks
    )
    without = Row((*_row("imputation", f.imputation), dash), Tone.FAINT)
    heads = (*_HEADS, Column("Members, beyond imputation"))
    note = "Differences of all attacks hold together; the imputation does not see the model."
    title = "Right guesses, with the model and without it"
    return Table("rates", title, heads, (*rows, without), note)


def _controls(f: AttributeAudit) -> Table:
    rows = tuple(_row(plain(control.name), control) for control in f.controls)
    note = "All differences must hold 0, together: else the sides are not of one population."
    title = "What the model has no part in"
    return Table("controls", title, _HEADS, rows, note, at_once=_AT_ONCE)


def _people(f: AttributeAudit) -> Iterator[Block]:
    newly = f.guesses.newly()
    if isinstance(f.imputation, Skipped):
        yield text(f"Not known: the imputation {f.imputation.reason}.")
        return
    inside, outside = (percent(float(newly[side].mean())) for side in (f.member, ~f.member))
    yield text(
        "With the model (attack: weighted) and not without it, the value is guessed for "
        f"{inside} of the members' records, and, by chance, for {outside} of the others'."
    )
    rows = [
        {
            "Id": plain(shortened(str(f.ids[i]))),
            "Probability with the model": percent(float(f.guesses.with_model[i])),
            "Without it": percent(float(f.guesses.without[i])),
        }
        for i in f.exposed[:_LISTED].tolist()
    ]
    title = "The most exposed members, one record each"
    told = "Probabilities of the true value that an adversary would state, by how much they rise."
    if rows:
        yield table("people", title, rows, told, at_once=_AT_ONCE)


def _columns(f: AttributeAudit) -> dict[str, object]:
    imputed = f.guesses.imputed
    right = dict(f.guesses.right) | ({} if isinstance(imputed, Skipped) else {"imputed": imputed})
    return {
        "id": names_of(f.ids),
        "member": f.member,
        **{f"right_{name.replace('-', '_')}": hit for name, hit in right.items()},
        "with_model": f.guesses.with_model,
        "without": f.guesses.without,
    }


_RULE = (
    "The grade follows from the lower end of the interval. Its limits, 10 and 30 points, are a "
    "convention of PrivacyGauge: set your own with --fail-above or --policy."
)

_TERMS = {
    "Imputation": "The guess of a column from all others, learnt on people outside.",
    "Member": "A record that the model was trained on.",
    "Attribute advantage": "How much more often a guess is right for members than for others: "
    "what the model gives away beyond what columns tell about each other.",
}
