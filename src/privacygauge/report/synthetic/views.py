"""What the page on a generator says in short: cards, who knows what, methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal_estimate,
    fixed,
    percent_estimate,
    rate,
    rounded_down,
)
from privacygauge.report.synthetic.findings import SyntheticFindings
from privacygauge.report.synthetic.words import called, kept, several
from privacygauge.report.views import Card, Method

FPR = 0.1
"""The false-positive rate of the card on true positives."""


@dataclass(frozen=True)
class Fact:
    """One line on what was played."""

    label: str
    """What it is about."""
    text: str
    """What there is to say."""


def cards(f: SyntheticFindings) -> tuple[Card, ...]:
    """Return the headline numbers."""
    n, worst = len(f.targets), f.headline.worst
    told = int(np.count_nonzero(f.best.told))
    mean = Card(
        "Pairs of tables told apart",
        decimal_estimate(f.headline.auc),
        f"{'Mean over ' if n > 1 else 'For '}{several(n, 'record')}. Of a table made with the "
        "record and one made without it, how often the right one is picked. Guessing gives 0.5. "
        "AUC.",
    )
    whose = f"For {called(f, f.headline.target)}."
    top = Card("For the worst record", decimal_estimate(worst.auc), f"{whose} AUC.")
    return (
        mean,
        *((top,) if n > 1 else ()),
        Card(
            "Records told better than by guessing",
            Shown(f"{count(told)} of {count(n)}"),
            "By a rank test, corrected by Holm for the number of records: with "
            f"{rate(f.level)} confidence none is counted by luck.",
        ),
        *(_found(r, whose) for r in worst.tpr_at_fpr if r.fpr == FPR),
        _epsilon(f, whose),
        *_foreseen(f.foreseen),
    )


def _found(r: RateAtFpr, whose: str) -> Card:
    doubt = "" if r.resolved else " Too few tables to tell: under 10 false alarms are expected."
    return Card(
        f"Found at {rate(r.fpr)} false alarms",
        percent_estimate(r.estimate, 1),
        f"{whose} Share of the tables made with it that are recognised; guessing finds "
        f"{rate(r.fpr)}. TPR at {rate(r.fpr)} FPR.{doubt}",
    )


def _epsilon(f: SyntheticFindings, whose: str) -> Card:
    found = f.headline.worst
    limit = f"So many tables can show {fixed(found.epsilon_limit, 2)} at most."
    if found.epsilon.low <= 0:
        text = f"{whose} No epsilon above 0 was shown: no contradiction to any privacy guarantee."
        return Card("Epsilon is at least", Shown("0"), f"{text} {limit}")
    text = (
        f"{whose} With {rate(found.epsilon.level)} confidence: a smaller epsilon of differential "
        "privacy cannot be claimed."
    )
    bound = Shown(rounded_down(found.epsilon.low))
    return Card("Epsilon is at least", bound, f"{text} {limit}")


def _foreseen(found: Estimate | Skipped) -> tuple[Card, ...]:
    if isinstance(found, Skipped):
        return ()
    text = (
        "Rank correlation of the vulnerability score, which needs no attack, and the AUC: 1 if "
        "the score puts the records in the right order, 0 if it says nothing."
    )
    return (Card("Risk foreseen by the score", decimal_estimate(found, 2), text),)


def game(f: SyntheticFindings) -> tuple[Fact, ...]:
    """Return what was played, line by line."""
    sizes = f.sizes
    return (
        Fact("Game", f.game.name),
        Fact("Generator", f.generator),
        Fact("Its settings", settings(f)),
        Fact("The adversary guesses", f.game.question),
        Fact("The adversary", f.game.adversary),
        Fact("Where the truth comes from", f.game.secret),
        Fact("Thresholds were learnt", f.game.thresholds),
        Fact(
            "Records", f"{several(len(f.targets), 'target')} of {count(f.n_records)} in the table"
        ),
        Fact(
            "A synthetic table",
            f"{several(sizes.n_made, 'record')}, made from {count(sizes.records)}",
        ),
        Fact("The adversary's own", _own(f)),
        Fact("Those in question", _asked(f)),
        Fact("Made in all", several(f.n_tables, "synthetic table")),
    )


def settings(f: SyntheticFindings) -> str:
    """Return the generator's settings on one line."""
    return "; ".join(f"{kept(k)} = {kept(v)}" for k, v in f.settings.items()) or "none"


def methods(f: SyntheticFindings) -> tuple[Method, ...]:
    """Return how the intervals of every number were made."""
    targets = [target for attack in f.attacks for target in attack.targets]
    columns: dict[str, list[Estimate]] = {
        "Mean AUC of an attack": [attack.auc for attack in f.attacks],
        "Mean balanced accuracy": [attack.accuracy for attack in f.attacks],
        "Mean AUC of a group": [mean for group in f.groups for mean in group.means],
        "AUC of a record": [target.auc for target in targets],
        "TPR at FPR of a record": [r.estimate for target in targets for r in target.tpr_at_fpr],
        "Epsilon of a record": [target.epsilon for target in targets],
        "Rank correlation": [] if isinstance(f.foreseen, Skipped) else [f.foreseen],
    }
    return tuple(_method(name, found) for name, found in columns.items() if found)


def unresolved(f: SyntheticFindings) -> bool:
    """Return whether some TPR is shown that so many tables cannot resolve."""
    return any(not r.resolved for target in f.best.targets for r in target.tpr_at_fpr)


def _own(f: SyntheticFindings) -> str:
    own = several(f.sizes.shadows, "synthetic table")
    if _shared(f):
        return f"{own} for all targets"
    if f.n_tables == len(f.targets) * (f.sizes.shadows + f.sizes.tests):
        return f"{own} for each target"
    return f"{own} for each table in question"


def _asked(f: SyntheticFindings) -> str:
    asked = several(f.sizes.tests, "synthetic table")
    if _shared(f):
        return f"{asked} for all targets, each target in about half of them"
    return f"{asked} for each target, about half of them made with it"


def _shared(f: SyntheticFindings) -> bool:
    """Return whether all targets share one pool of tables."""
    return len(f.targets) > 1 and f.n_tables == f.sizes.shadows + f.sizes.tests


def _method(name: str, found: list[Estimate]) -> Method:
    sizes = sorted({x.n for x in found})
    n = count(sizes[0]) if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1])}"
    levels = ", ".join(rate(x) for x in sorted({x.level for x in found}))
    return Method(name, f"{'; '.join(sorted({x.method for x in found}))}, {levels}", n)
