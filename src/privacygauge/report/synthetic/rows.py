"""The rows of the tables on a generator, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.by_target import AttackEvaluation
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.report.numbers import (
    DASH,
    Shown,
    at_least,
    count,
    fixed,
    percent,
    percent_estimate,
)
from privacygauge.report.synthetic.findings import Group, SyntheticFindings
from privacygauge.report.synthetic.words import name_of, several
from privacygauge.report.views import RECORDS, shortened
from privacygauge.synthetic.utility.marginals import Marginals
from privacygauge.synthetic.utility.summary import Utility


@dataclass(frozen=True)
class Row:
    """One of the records that are given away most, by the headline's attack."""

    id: str
    """The user's id; the middle of a very long one is left out."""
    row: str
    """Its row in the data; empty where the id is the same."""
    score: str
    """Its vulnerability score."""
    rank: str
    """The rank of that among all records of the table."""
    auc: Estimate
    """Area under the ROC curve."""
    rates: tuple[RateAtFpr, ...]
    """True-positive rates at false-positive rates."""
    epsilon: str
    """The lower bound on epsilon."""
    limit: str
    """The largest bound that so many tables could show."""
    headline: bool
    """Whether it is the record that the verdict speaks of."""
    others: tuple[str, ...]
    """The AUC of every attack, in the order of the suite."""
    contents: tuple[str, ...]
    """Its values, where the user asked for them."""


@dataclass(frozen=True)
class AttackRow:
    """One attack, over all targets."""

    name: str
    """The attack."""
    variant: str
    """Which of its forms."""
    best: bool
    """Whether the verdict speaks of it."""
    auc: Estimate
    """Mean AUC."""
    accuracy: Shown
    """Mean balanced accuracy."""
    rates: tuple[str, ...]
    """Mean true-positive rates."""
    told: str
    """Of how many records the whole interval lies above guessing."""
    hits: str
    """Right guesses that a record was in."""
    n_in: str
    """Of how many."""
    false: str
    """Wrong ones."""
    n_out: str
    """Of how many."""


@dataclass(frozen=True)
class GroupRow:
    """Records that were chosen in one way, under one attack."""

    method: str
    """How they were chosen."""
    attack: str
    """The attack."""
    n: int
    """How many records."""
    mean: Estimate
    """Mean AUC."""
    deviation: str
    """Standard deviation over the records."""


@dataclass(frozen=True)
class UseRow:
    """One measure of what the synthetic table is good for."""

    measure: str
    """What is measured."""
    detail: str
    """On what."""
    synthetic: str
    """What the synthetic table comes to."""
    reference: str
    """What real records come to."""


def riskiest(f: SyntheticFindings) -> tuple[Row, ...]:
    """Return the records that the headline's attack does best on."""
    return tuple(_row(f, int(i)) for i in f.order[:RECORDS])


def attacks(f: SyntheticFindings) -> tuple[AttackRow, ...]:
    """Return the attacks in the order of the suite."""
    return tuple(_attack(attack, attack is f.best) for attack in f.attacks)


def groups(f: SyntheticFindings) -> tuple[GroupRow, ...]:
    """Return the groups of records, by the headline's attack."""
    return tuple(_group(f, group, f.headline.attack) for group in f.groups)


def all_groups(f: SyntheticFindings) -> tuple[GroupRow, ...]:
    """Return the groups of records, by every attack."""
    places = range(len(f.attacks))
    return tuple(_group(f, group, place) for group in f.groups for place in places)


def use(found: Utility | Skipped) -> tuple[UseRow, ...]:
    """Return the measures of use, the simplest first."""
    if isinstance(found, Skipped):
        return ()
    return (*_marginals(found), *_correlations(found), *_learnt(found))


def _row(f: SyntheticFindings, i: int) -> Row:
    target, name = f.best.targets[i], name_of(f, i)
    return Row(
        *name,
        fixed(float(f.targets.scores[i]), 3),
        f"{count(int(f.targets.ranks[i]))} of {count(f.n_records)}",
        target.auc,
        target.tpr_at_fpr,
        at_least(target.epsilon),
        fixed(target.epsilon_limit, 2),
        i == f.headline.target,
        tuple(fixed(attack.targets[i].auc.value, 3) for attack in f.attacks),
        tuple(shortened(str(column[i])) for column in f.targets.contents.values()),
    )


def _attack(attack: AttackEvaluation, best: bool) -> AttackRow:
    told = int(np.count_nonzero(attack.told))
    return AttackRow(
        attack.name,
        attack.variant,
        best,
        attack.auc,
        percent_estimate(attack.accuracy, 1),
        tuple(percent(value) for _, value in attack.tpr_at_fpr),
        f"{count(told)} of {count(len(attack.targets))}",
        count(attack.true_positives),
        count(attack.n_in),
        count(attack.false_positives),
        count(attack.n_out),
    )


def _group(f: SyntheticFindings, group: Group, attack: int) -> GroupRow:
    n = len(group.positions)
    deviation = fixed(group.deviations[attack], 3) if n > 1 else DASH
    return GroupRow(group.method, f.attacks[attack].title, n, group.means[attack], deviation)


def _marginals(found: Utility) -> tuple[UseRow, ...]:
    wide = found.holdout_marginals
    return tuple(
        UseRow(
            "Shares of single values" if one.k == 1 else f"Shares of combinations of {one.k}",
            f"distance, mean over {_sets(one)}",
            fixed(one.mean, 3),
            fixed(wide[i].mean, 3) if wide else DASH,
        )
        for i, one in enumerate(found.marginals)
    )


def _sets(one: Marginals) -> str:
    n = len(one.sets)
    if one.k == 1:
        return several(n, "column")
    return f"{several(n, 'set')} of {one.k} columns"


def _correlations(found: Utility) -> tuple[UseRow, ...]:
    if len(found.names) < 2:
        return ()
    name, reference = "Associations of two columns", found.holdout_correlation_mean
    real = DASH if reference is None else fixed(reference, 3)
    mean, largest = fixed(found.correlation_mean, 3), fixed(found.correlation_largest, 3)
    return (
        UseRow(name, "difference, mean over all pairs", mean, real),
        UseRow(name, "difference, largest of all pairs", largest, DASH),
    )


def _learnt(found: Utility) -> tuple[UseRow, ...]:
    if isinstance(found.learnt, Skipped):
        return ()
    rows = []
    for one in found.learnt:
        told = f"{shortened(one.label)}, {count(one.classes)} classes"
        chance = f"{told}, guessing gives {percent(1 / one.classes)}"
        pair = (percent(one.synthetic_accuracy), percent(one.real_accuracy))
        rows.append(UseRow("Predictions: balanced accuracy", chance, *pair))
        pair = (fixed(one.synthetic_auc, 3), fixed(one.real_auc, 3))
        rows.append(UseRow("Predictions: AUC", f"{told}, guessing gives 0.5", *pair))
    return tuple(rows)
