"""The audit of attribute inference against a trained model, and its report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifiers.attributes_judged import (
    GainOverImputation,
    JudgedGuesses,
    Names,
    judged_guesses,
    named_columns,
)
from privacygauge.core import checks
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.detectable import POWER, detectable_with
from privacygauge.evaluate.rates import BothSides
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction, grades
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    decimal,
    percent,
    percent_estimate,
    plain,
    rate,
    shorten,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Column,
    Content,
    Grade,
    Measure,
    Origin,
    Report,
    Row,
    Section,
    Table,
    Tone,
    Verdict,
    Worst,
    frame,
    names_of,
    note,
    table,
    text,
    values_of,
)
from privacygauge.runs.options import Options, keyword

if TYPE_CHECKING:
    import pandas as pd

_MODERATE = 0.1
"""Share of the guesses about members from which on a leak is moderate: an advantage of 0.1 is a
balanced accuracy of 55%."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class AttributeAudit(Reported, JudgedGuesses):
    """Findings on a sensitive column that a model gives away, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    column: str
    """Name of the sensitive column."""
    ids: NDArray[Any]
    """(n,) The user's ids, or row numbers."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        controls = Table(
            "controls",
            "What the model has no part in",
            columns=_HEADS,
            rows=tuple(_row(plain(control.name), control) for control in self.controls),
            note="All differences must hold 0, together: else the sides are not of one population.",
            at_once=_AT_ONCE,
        )
        dash = Shown(DASH)
        added = {one.name: one for one in self.added}
        rows = []
        for attack in self.attacks:
            found = added.get(attack.name)
            gains = (dash, dash)
            if found is not None:
                gains = percent_estimate(found.members), percent_estimate(found.advantage)
            tone = Tone.BEST if found is not None and found is self.best else Tone.PLAIN
            rows.append(Row((*_row(_name(attack), attack), *gains), tone))
        without = Row((*_row("imputation", self.imputation), dash, dash), Tone.FAINT)
        heads = (
            *_HEADS,
            Column("Members, beyond imputation"),
            Column("The same, beyond others"),
        )
        below = "Intervals of all attacks hold together; the imputation does not see the model."
        heading = "Right guesses, with the model and without it"
        attacks = Table("rates", heading, columns=heads, rows=(*rows, without), note=below)
        n_in = int(self.member.sum())
        names = ", ".join(plain(name) for name in self.guesses.secret.names)
        told_apart = note(f"The values that were told apart: {names}.")
        first = tuple(plain(shorten(str(self.ids[i]))) for i in self.exposed[:_AT_ONCE])
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
            intro=f"The value of {plain(self.column)} was guessed for {count(n_in)} records of the "
            f"training set and {count(len(self.member) - n_in)} others, among "
            f"{len(self.guesses.secret)} values.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section("attacks", "How often a guess is right", (attacks, told_apart), "Attacks"),
                Section("controls", "Whether both sides are alike", (controls,), "Controls"),
                Section(
                    "people",
                    "Whose value is guessed with the model only",
                    tuple(_people(self)),
                    "People",
                ),
            ),
            terms=_TERMS,
            worst=Worst(
                "records", first, "" if first else "nobody's value is guessed with the model only"
            ),
            data={
                "column": self.column,
                "values": list(self.guesses.secret.names),
                "attacks": values_of(self.attacks),
                "beyond_imputation": values_of(self.added),
                "surest": values_of(self.surest),
                "controls": values_of(self.controls),
                "n_members": n_in,
                "n_others": len(self.member) - n_in,
            },
            frames={"records.parquet": lambda: frame(_columns(self))},
            overview=(attacks,),
            sources="Fredrikson et al. (2014, 2015); Yeom et al. (2018); Mehnaz et al. (2022); "
            "Jayaraman and Evans (2022).",
        )


@dataclass(frozen=True, kw_only=True)
class AttributeOptions(Options):
    """An audit of whether a trained model gives away a sensitive column of its training people."""

    knows_label: bool = keyword(
        "Whether the adversary knows the class of each record.", default=True
    )
    name: str | None = keyword("Name of the column in the report.", default=None)
    values: Sequence[str] = keyword(
        "Names of the values if `sensitive` is several columns.", default=()
    )
    classes: Sequence[str] = keyword("Names of the model's classes 0..k-1.", default=())

    def run(
        self,
        model: object,
        x: ArrayLike | pd.DataFrame,
        y: ArrayLike,
        *,
        sensitive: str | int | Sequence[str] | Sequence[int],
        member: ArrayLike,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        session: Session = Session("attribute"),
    ) -> AttributeAudit:
        """Audit whether a trained model gives away a sensitive column of its training people.

        The adversary knows all other columns, queries the model at every value, and guesses. The
        leak is the gain over imputation from the other columns, which does not use the model: what
        columns tell about each other is no leak. From the members' gain that of people of the same
        population outside the training set is subtracted: what the model knows of everybody is no
        leak either. Besides the average, the audit counts members with values that the surest
        guesses give away.

        Parameters
        ----------
        model : object
            An object with ``predict_proba``, a PyTorch module, or a function from features to
            probabilities.
        x : array_like, shape (n, d), or data frame
            Inputs of the model.
        y : array_like of int or str, shape (n,)
            Classes in 0..k-1, or their names.
        sensitive : str, int or sequence of either
            The sensitive column of a frame or of an array. Several columns are guessed as one:
            one-hot columns of its values, its other notations, such as a code, or columns that are
            unknown together. Numbers with more than 12 distinct values are cut into 5 bins, among
            several columns if there are more than 50 combinations of values.
        member : array_like of bool, shape (n,)
            True where the model was trained on the record; both must occur.
        ids, unit : array_like, shape (n,), optional
            Names of the records, and the person behind each; intervals and splits count people.
            Default: equal rows of one class and side are one person.
        session : Session, optional
            Seed, and level in (0, 1); the intervals of all attacks hold jointly.

        Returns
        -------
        AttributeAudit

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Yeom et al. (2018), definition 5, with people outside the training set as the control;
        Jayaraman & Evans (2022) for the imputation. The attacks are in `guesses`, their gain in
        `GainOverImputation`, and the surest guesses in `surest`.
        """
        found = judged_guesses(
            model,
            x,
            y=y,
            member=member,
            sensitive=sensitive,
            names=Names(self.classes, self.values, unit=unit, ids=ids),
            knows_label=self.knows_label,
            seed=session.seed,
            level=session.level,
        )
        inverted = (
            f"The success of {plain(attack.name)} is higher for non-members than for members "
            f"(difference {percent_estimate(attack.difference)}): were the sides swapped?"
            for attack in found.inverted
        )
        origin = session.origin(
            skipped=found.guesses.skipped,
            warnings=(*found.said, *inverted),
            about={"class": "known" if self.knows_label else "unknown"},
        )
        name = self.name
        if name is None:
            secret = found.guesses.secret
            own = secret.columns
            name = ", ".join(map(str, own)) if isinstance(own[0], str) else f"column {[*own]}"
        n = len(found.member)
        rows = np.arange(n) if ids is None else checks.vector(ids, "ids", length=n)
        return AttributeAudit(**vars(found), origin=origin, column=name, ids=rows)


audit_attribute = one_line(
    AttributeOptions, AttributeOptions.run, "audit_attribute", without=KEEPING
)


_LISTED = 50
"""Number of people listed."""
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


def grade(f: AttributeAudit) -> Grade:
    """Return the graver of two grades: by the model's average gain, and by the surest guesses.

    The average counts by the lower end of its interval, the surest guesses by the share of members
    that they surely give away. The audit is inconclusive if a control differs between the sides or
    could not be computed. It excludes no leak if an attack succeeds more often on non-members, if
    another column follows from the sensitive one, or if an audit of this size would have missed a
    moderate leak.
    """
    # Without an imputation, or with sides that differ, no gain can be read as a leak.
    if f.fired or f.best is None or f.surest is None:
        return grades.UNTOLD
    # An advantage of a is a balanced accuracy of (1 + a) / 2, the scale of all grades.
    average = grades.grade_of((1 + f.best.advantage.low) / 2)
    surest = grades.grade_of((1 + f.surest.share) / 2)
    found = grades.gravest((average, surest))
    unsure = bool(f.inverted or f.guesses.secret.follow) or _least(f) > _MODERATE
    return grades.UNTOLD if found is grades.NONE and unsure else found


def _least(f: AttributeAudit) -> float:
    """Return the smallest advantage over guessing that this audit would mostly have detected."""
    # Without a guess from other columns it could have detected none, however large.
    return detectable_with(f.best.advantage, 0.0) if f.best is not None else 1.0


def verdict(f: AttributeAudit) -> Verdict:
    """Return the verdict on a column that a model may give away."""
    found = grade(f)
    best = f.best
    surest = f.surest
    if found is grades.UNTOLD or best is None or surest is None:
        return _verdict_untold(f)
    added = best.advantage
    column = plain(f.column)
    leak = found is not grades.NONE
    # The headline takes whichever of the two shows more.
    by_surest = surest.share > max(added.low, 0.0)
    if not leak:
        headline = (
            f"No leak of {column} found: about members the model adds no more to what other "
            "columns tell than about others"
        )
    elif by_surest:
        headline = (
            f"The model gives {column} away of at least {count(surest.exposed)} of "
            f"{count(surest.n_in)} members, whose values other columns do not tell"
        )
    else:
        headline = (
            f"The model gives {column} away: guesses about members are right at least "
            f"{decimal(100 * added.low, 1)} points more often than other columns alone allow"
        )
    could = (
        f"What it could have found: with a probability of {rate(POWER)} it shows a model that gets "
        f"{percent(_least(f))} of the guesses about members right beyond what other columns and "
        "people allow."
    )
    imputed = f.imputation
    gain = best.advantage
    assert not isinstance(imputed, Skipped)  # then nothing can be told
    rates = next(attack for attack in f.attacks if attack.name == best.name)
    if not surest.exposed:
        stand_out = (
            "Among the surest guesses that imputation does not make, or not surely, members are no "
            f"more frequent "
            f"than by chance (p = {decimal(surest.p_value, 2)})."
        )
    else:
        stand_out = (
            f"Of the {count(surest.top)} surest guesses that are right where imputation is wrong "
            f"or unsure, {count(surest.members)} are about members: at least "
            f"{count(surest.exposed)} of {count(surest.n_in)} members are given away by their own "
            f"records ({rate(surest.level)} bound)."
        )
    sentences = (
        (
            "Without the model, imputation from the other columns is right for "
            f"{percent(imputed.members.value)} of the members and {percent(imputed.others.value)} "
            f"of the people outside of the training set; with it, the guesses of {_name(best)} "
            f"are right for {percent(rates.members.value)} and {percent(rates.others.value)}. "
            "What the model adds about members, beyond what it adds about others, is "
            f"{decimal(100 * gain.value, 1)} points ({100 * gain.low:.1f} to "
            f"{100 * gain.high:.1f}, the {rate(gain.level)} interval for all attacks together)."
        ),
        stand_out,
        *(() if leak else (could,)),
    )
    advice = (
        ("Regularise the model, or train it without the column.", "Audit the other columns too.")
        if leak
        else ("Audit the other sensitive columns too, each by itself.",)
    )
    label = "Right guesses of members that the model adds"
    shown = added
    if by_surest:
        n = surest.n_in
        level = surest.level
        label = _EXPOSED
        # A lower bound: the true share may be anything up to 1.
        shown = Estimate(
            value=surest.share, low=surest.share, high=1.0, level=level, n=n, method="exact"
        )
    # The scale begins below 0, where an attack does worse on members than on others.
    limits = (-0.2, 0.0, 0.1, 0.3, 1.0)
    gauge = grades.gauge(label, shown, limits, ("0%", "10%", "30%"), rule=_RULE)
    return Verdict(
        grade=found,
        scale=grades.GRADES,
        headline=headline,
        sentences=sentences,
        unsaid=_UNSAID,
        advice=advice,
        gauge=gauge,
    )


def _verdict_untold(f: AttributeAudit) -> Verdict:
    headline = direction.HEADLINE
    # Unless a case below applies, an attack is inverted, and the last warning says so.
    sentences = f.origin.warnings[-1:]
    advice = _DIFFER
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
    elif f.guesses.secret.follow:
        follow = plain(named_columns(f.guesses.secret.follow))
        headline = f"Cannot be told: {follow} say what {plain(f.column)} is, without the model"
        sentences = (
            "They follow from the sensitive column in every record: whoever knows them needs no "
            "model, and of an adversary who does not know them this audit tells nothing.",
        )
        advice = "Leave these columns out, or name them with the sensitive one, and audit again."
    elif not f.inverted and not isinstance(f.imputation, Skipped):
        headline = f"Cannot be told: too few records to see that {plain(f.column)} is given away"
        shown = f"{percent(_least(f))} of the guesses" if _least(f) < 1 else "all guesses"
        sentences = (
            "No leak was found, but an audit of this size could hardly have found one: it mostly "
            f"shows a model that gets {shown} about members right beyond what other columns and "
            f"people allow. A moderate leak begins at {percent(_MODERATE)}.",
        )
        advice = "Audit with more members and more people outside of the training set."
    elif isinstance(f.imputation, Skipped):
        headline = "Cannot be told: the control of attribute inference could not be computed"
        sentences = (f"The imputation without the model {f.imputation.reason}.",)
        advice = "Give more records of people outside of the training set."
    return grades.untold_verdict(
        headline=headline,
        sentences=sentences,
        unsaid=direction.OPEN,
        advice=(advice,),
    )


def _name(attack: BothSides | GainOverImputation) -> str:
    return attack.name.replace("-and-", " and ")


def _measures(f: AttributeAudit) -> Iterator[Measure]:
    best = f.best
    imputed = f.imputation
    n = len(f.attacks)
    label = "Right guesses of members that the model adds"
    name = "attribute-advantage"
    told = "What the model gives away about the people that it was trained on."
    if best is None or f.surest is None:
        assert isinstance(imputed, Skipped)
        shown = percent_estimate(imputed)
        yield Measure(
            name=name,
            label=label,
            found=imputed,
            shown=shown,
            note="",
            text=told,
            guessing="no leak: 0%",
        )
        yield Measure(
            name="attribute-exposed",
            label=_EXPOSED,
            found=imputed,
            shown=shown,
            note="",
            text=told,
            guessing="no leak: 0%",
        )
        return
    added = best.advantage
    shown = percent_estimate(added)
    note = f"{_name(best)}, best of {n}"
    yield Measure(
        name=name,
        label=label,
        found=added,
        shown=shown,
        note=note,
        text=told,
        guessing="no leak: 0%",
        looks=n,
    )
    told = "Beyond what columns tell and what the model adds about anybody."
    share = f.surest.share
    note = f"{count(f.surest.exposed)} of {count(f.surest.n_in)}"
    yield Measure(
        name="attribute-exposed",
        label=_EXPOSED,
        found=share,
        shown=Shown(percent(share)),
        note=note,
        text=told,
        guessing="no leak: 0%",
        level=f.surest.level,
    )
    rates = next(attack for attack in f.attacks if attack.name == best.name)
    told = "With the model and all other columns."
    label = "Right guesses for members"
    shown = percent_estimate(rates.members)
    yield Measure(
        name="attribute-rate",
        label=label,
        found=rates.members,
        shown=shown,
        note=_name(best),
        text=told,
    )
    assert not isinstance(imputed, Skipped)  # the attacks could be compared with it
    known = imputed.members
    label = "Right guesses by imputation"
    shown = percent_estimate(known)
    told = "What can be guessed about anyone in the population."
    yield Measure(
        name="imputed-rate",
        label=label,
        found=known,
        shown=shown,
        note="imputation",
        text=told,
        gate=False,
    )


_HEADS = tuple(Column(head) for head in ("", "Members", "Others", "Difference"))


def _row(name: str, found: BothSides | Skipped) -> tuple[Content, ...]:
    if isinstance(found, Skipped):
        return (name, *(Shown(DASH),) * 3)
    return (name, *map(percent_estimate, (found.members, found.others, found.difference)))


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
            "Id": plain(shorten(str(f.ids[i]))),
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


_EXPOSED = "Members surely given away, at least"

_RULE = (
    "The grade follows from the lower end of the interval, or from the share of the members whom "
    "the surest guesses give away where that is more. Its limits, 10 and 30 points, are a "
    "convention of PrivacyGauge: set your own with --fail-above or --policy."
)

_TERMS = {
    "Imputation": "The guess of a column from all others, learnt on people outside.",
    "Member": "A record that the model was trained on.",
    "Attribute advantage": "How much more often a guess about a member is right than imputation "
    "is, less the same for people outside: what the model gives away beyond what columns tell "
    "about each other and what it tells about anybody.",
    "Surest guesses": "Right guesses where imputation is wrong or unsure, by how much the model "
    "speaks for them: where members are too many among the first of them, their records are given "
    "away.",
}
