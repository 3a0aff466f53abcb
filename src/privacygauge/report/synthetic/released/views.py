"""What the page on a released table shows: cards, rows, methods, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.units import foremost
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.findings import Fact, Headline, Records
from privacygauge.report.numbers import (
    DASH,
    Shown,
    at_least,
    count,
    decimal_estimate,
    fixed,
    percent_estimate,
    plain,
    rate,
)
from privacygauge.report.synthetic.released.verdict import (
    furthest_from_baseline,
    named,
    same_source,
    worst,
)
from privacygauge.report.synthetic.released_findings import ReleasedFindings, ReleaseRisk
from privacygauge.report.views import RECORDS, Card, Method, Record, Riskiest, shortened
from privacygauge.synthetic.utility import Utility

KINDS = {
    "singling-out": "Singling out",
    "linkability": "Linkability",
    "inference": "Inference",
}
"""The three risks, as headings."""


@dataclass(frozen=True)
class Use:
    """One measure of what the table is good for."""

    measure: str
    """What was measured."""
    label: str
    """The column that is told; empty where there is none."""
    synthetic: str
    """Of the synthetic table."""
    reference: str
    """What real records come to."""


@dataclass(frozen=True)
class Pair:
    """A number under its name."""

    label: str
    """What it is."""
    shown: Shown
    """The number."""
    n: str
    """The units behind it."""


def cards(f: ReleasedFindings) -> tuple[Card, ...]:
    """Return the headline numbers."""
    attacks = () if f.headline is None else _of_attacks(f, f.headline)
    return (*attacks, *_of_risks(f), _of_copies(f))


def risks_by_kind(f: ReleasedFindings) -> tuple[tuple[str, tuple[ReleaseRisk, ...]], ...]:
    """Return the forms of each of the three risks, the one furthest beyond its control first."""
    return tuple(
        (title, tuple(sorted((r for r in f.risks if r.name == name), key=_by_lower_end)))
        for name, title in KINDS.items()
        if any(r.name == name for r in f.risks)
    )


def riskiest(f: ReleasedFindings) -> Riskiest | None:
    """Return the real records that the headline's attack is surest of; None without one."""
    records = f.records
    if records is None or f.headline is None:
        return None
    title = f.headline.attack.title
    by = records.scores[title]
    members = np.flatnonzero(records.member)
    unit = None if records.unit is None else records.unit[members]
    rows = members[foremost(by[members], unit, RECORDS)]
    found = tuple(_record(records, int(i), float(by[i])) for i in rows)
    columns = tuple(records.contents)
    return Riskiest(title, False, found, len(members), len(records.guesses), columns)


def use(f: ReleasedFindings) -> tuple[Use, ...]:
    """Return what the table is good for, measure by measure."""
    if not isinstance(f.utility, Utility):
        return ()
    frame = f.utility.to_frame()
    texts = zip(frame["measure"].tolist(), frame["label"].tolist(), strict=True)
    values = frame[["synthetic", "reference"]].to_numpy(float)
    return tuple(
        Use(
            str(measure),
            plain(label) if isinstance(label, str) else "",
            fixed(float(made), 3),
            DASH if np.isnan(reference) else fixed(float(reference), 3),
        )
        for (measure, label), (made, reference) in zip(texts, values, strict=True)
    )


def share_facts(facts: tuple[Fact, ...]) -> tuple[Pair, ...]:
    """Return shares as percentages."""
    return tuple(Pair(x.label, percent_estimate(x.estimate), count(x.estimate.n)) for x in facts)


def distance_facts(facts: tuple[Fact, ...]) -> tuple[Pair, ...]:
    """Return distances as they are, and shares of rows as percentages."""
    return tuple(
        Pair(
            x.label,
            percent_estimate(x.estimate)
            if x.label.startswith("Rows")
            else decimal_estimate(x.estimate, 4),
            count(x.estimate.n),
        )
        for x in facts
    )


def methods(f: ReleasedFindings) -> tuple[Method, ...]:
    """Return how the intervals of risks, copies and distances were made."""
    columns: dict[str, list[Estimate | None]] = {
        "Attack, control, baseline": [
            x for r in f.risks for x in (r.attack, r.control, r.baseline)
        ],
        "Beyond the control": [r.risk for r in f.risks],
        "Beyond the control, in the verdict": list(f.corrected.risks),
        "Copies": [fact.estimate for fact in f.copies],
        "Copies beyond the holdout, in the verdict": [f.corrected.copies],
        "Distances": [fact.estimate for fact in f.closest],
    }
    found = {name: [x for x in values if x is not None] for name, values in columns.items()}
    return tuple(_method(name, values) for name, values in found.items() if values)


def blind_says(f: ReleasedFindings) -> str:
    """Return what the attack that never sees the synthetic table tells, in a sentence."""
    if f.blind is None:
        return ""
    auc = f"AUC {decimal_estimate(f.blind.auc)}, {rate(f.level)} interval"
    if same_source(f):
        return (
            f"An attack that never sees the synthetic table stays at guessing ({auc}): no sign "
            "that real records and holdout are different people."
        )
    return (
        f"An attack that never sees the synthetic table succeeds ({auc}): real records and "
        "holdout are different people, and the numbers below are void."
    )


def _of_attacks(f: ReleasedFindings, headline: Headline) -> tuple[Card, ...]:
    n, void = len(f.evaluations), _void(f)
    return (
        Card(
            "Right guesses about membership",
            percent_estimate(headline.accuracy),
            "Members and non-members equally often, by the attack that came furthest. Guessing "
            f"gives 50%. The interval allows for {n} attacks.{void}",
        ),
        Card(
            "Pairs put in the right order",
            decimal_estimate(headline.attack.auc),
            f"A member scored above a non-member. Guessing gives 0.5 (AUC).{void}",
        ),
        *(() if f.blind is None else (_blind_card(f.blind),)),
        Card(
            "Epsilon is at least",
            Shown(at_least(headline.epsilon)),
            f"With {rate(headline.epsilon.level)} confidence: a smaller epsilon of differential "
            f"privacy cannot be claimed. 0 says nothing.{void}",
        ),
    )


def _void(f: ReleasedFindings) -> str:
    return "" if same_source(f) else " Void: holdout and real records are different people."


def _blind_card(blind: Evaluation) -> Card:
    return Card(
        "Right order without the table",
        decimal_estimate(blind.auc),
        "The same by an attack that never sees the synthetic table. Above 0.5 for certain, real "
        "records and holdout are different people.",
    )


def _of_risks(f: ReleasedFindings) -> tuple[Card, ...]:
    found, risk = worst(f), furthest_from_baseline(f)
    if found is not None:
        return (
            Card(
                "Furthest beyond its control",
                percent_estimate(found.beyond),
                f"{named(found.risk)}: share of what the control left open. 0% is no leak. The "
                f"interval allows for {f.corrected.looks} looks.{_void(f)}",
            ),
        )
    if risk is None:
        return ()
    baseline = percent_estimate(risk.baseline)
    return (
        Card(
            f"{KINDS[risk.name]}, on real records",
            percent_estimate(risk.attack),
            f"{named(risk)}. The baseline achieves {baseline}. How much of it is a leak cannot be "
            "told.",
        ),
    )


def _of_copies(f: ReleasedFindings) -> Card:
    real, text = f.copies[0].estimate, "Equal to a synthetic row in every column."
    if f.n_holdout:
        others = percent_estimate(f.copies[1].estimate)
        text += f" Of the holdout, by chance alone: {others}."
    return Card("Real records that were copied", percent_estimate(real), text)


def _by_lower_end(risk: ReleaseRisk) -> tuple[float, str]:
    if risk.risk is None:
        return risk.baseline.value - risk.attack.value, risk.variant
    return -risk.risk.low, risk.variant


def _record(records: Records, i: int, score: float) -> Record:
    return Record(
        shortened(str(records.ids[i])),
        bool(records.member[i]),
        fixed(score, 3),
        sum(bool(guess[i]) for guess in records.guesses.values()),
        tuple(shortened(_value(column[i])) for column in records.contents.values()),
    )


def _value(value: object) -> str:
    missing = value is None or value != value  # NaN alone differs from itself
    return "missing" if missing else str(value)


def _method(name: str, found: list[Estimate]) -> Method:
    sizes = sorted({x.n for x in found})
    n = count(sizes[0]) if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1])}"
    levels = ", ".join(rate(x) for x in sorted({x.level for x in found}))
    return Method(name, f"{'; '.join(sorted({x.method for x in found}))}, {levels}", n)


def game_of(f: ReleasedFindings) -> Skipped | None:
    """Return why no membership attack was played; None where one was."""
    return f.game if isinstance(f.game, Skipped) else None
