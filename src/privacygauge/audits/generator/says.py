"""The report of an audit of a generator: its numbers, sections and words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.audits.generator import sections
from privacygauge.audits.generator.result import SyntheticResult, detectable_auc_text
from privacygauge.audits.generator.verdict import (
    setting_text,
    target_id_and_row,
    target_name,
    verdict,
)
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import RULE, AttackEvaluation, TargetEvaluation
from privacygauge.evaluate.rate_at_fpr import RateAtFpr
from privacygauge.report.attacks.terms import MEANINGS, interval
from privacygauge.report.blocks import pairs, text
from privacygauge.report.document import estimate_dict, finite, names_of, pick_values, values_of
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal,
    decimal_estimate,
    key,
    percent_estimate,
    rate,
    rounded_down,
    several,
)
from privacygauge.report.values import About, Json, Measure, Pairs, Report, Section, Worst
from privacygauge.synthetic.games.audited import TargetGroup

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

FPR = 0.1
"""False-positive rate of the true-positive rate among the measures."""

_SOURCES = (
    "The game and the vulnerability score: Meeus, Guépin, Crețu and de Montjoye, Achilles' Heels: "
    "Vulnerable Record Identification in Synthetic Data Publishing (2023)."
)

_GAME = (
    "A coin decides whether a record, the target, is among those that the generator learns from. "
    "The generator makes a synthetic table. The adversary sees that table and holds the target's "
    "record, and says how likely it was in. This is done with many tables: an adversary who is "
    "right more often than chance learns about people from the table. The adversary is assumed to "
    "know how the generator works and how it was set, so that nothing depends on keeping that "
    "secret."
)


def report(f: SyntheticResult) -> Report:
    """Return the report, as plain values."""
    chosen = " and the worst record were" if len(f.targets) > 1 else " was"
    risky = tuple(sections.records(f))
    return Report(
        "generator",
        "Audit of a generator of synthetic tables",
        about=About(
            f"A generator of synthetic tables: {f.generator}",
            f"Somebody who holds a record guesses: {f.game.question}",
            f.game.adversary,
            "membership-inference",
        ),
        intro=f"Synthetic tables by {setting_text(f.generator)}, {f.game.name}. The numbers are "
        "those of "
        f"the strongest attack, {f.best.title}, on {several(len(f.targets), 'record')}. Small "
        f"figures are {rate(f.level)} intervals. The attack{chosen} chosen on the adversary's own "
        "tables, the numbers come from others.",
        origin=f.origin,
        verdict=verdict(f),
        measures=tuple(_measures(f)),
        sections=(
            Section("game", "What was played", (text(_GAME), _game(f)), "The game"),
            Section("attacks", "Attacks", tuple(sections.attacks(f))),
            Section("records", "The riskiest records", risky, "Riskiest records"),
            Section("groups", "How the records were chosen", tuple(sections.groups(f)), "Groups"),
            Section("use", "Privacy beside use", tuple(sections.utility_section(f)), "Use"),
        ),
        terms={**_TERMS, "Interval": interval(f.level, "tables")},
        worst=Worst("records", tuple(target_id_and_row(f, i)[0] for i in f.order[:10].tolist())),
        data=data(f),
        frames={"records.parquet": lambda: records_frame(f)},
        nothing_left_out="Nothing: everything that was asked for was done.",
        overview=sections.overview(f),
        sources=_SOURCES,
    )


def _measures(f: SyntheticResult) -> Iterator[Measure]:
    n = len(f.targets)
    worst = f.headline.worst
    whose = f"for {target_name(f, f.headline.target)}"
    yield Measure(
        name="auc",
        label="Pairs of tables told apart",
        found=f.headline.auc,
        shown=decimal_estimate(f.headline.auc),
        note=f"mean over {several(n, 'record')}" if n > 1 else "for 1 record",
        text=(
            "Of a table made with the record and one made without it, how often the right one is "
            "picked. Guessing gives 0.5. AUC."
        ),
        guessing="0.5",
    )
    shown = decimal_estimate(worst.auc)
    label = "For the worst record"
    yield Measure(
        name="worst",
        label=label,
        found=worst.auc,
        shown=shown,
        note=whose,
        text="AUC.",
        guessing="0.5",
        card=n > 1,
    )
    yield Measure(
        "told",
        "Records told better than by guessing",
        float(f.n_told),
        Shown(f"{count(f.n_told)} of {count(n)}"),
        text="By a rank test, corrected by Holm for the number of records: with "
        f"{rate(f.level)} confidence none is counted by luck.",
        gate=False,
    )
    yield from (_tpr_measure(r, whose) for r in worst.tpr_at_fpr if r.fpr == FPR)
    yield _epsilon(f, whose)
    if not isinstance(f.foreseen, Skipped):
        yield Measure(
            "foreseen",
            "Risk foreseen by the score",
            f.foreseen,
            decimal_estimate(f.foreseen, 2),
            text="Rank correlation of the vulnerability score, which needs no attack, and the "
            "AUC: 1 if the score puts the records in the right order, 0 if it says nothing.",
            guessing="0",
            gate=False,
        )


def _tpr_measure(r: RateAtFpr, whose: str) -> Measure:
    return Measure(
        name=f"tpr@{r.fpr:g}",
        label=f"Found at {rate(r.fpr)} false alarms",
        found=r.estimate,
        shown=percent_estimate(r.estimate, 1),
        note=whose,
        text=(
            f"Share of the tables made with it that are recognised; guessing finds {rate(r.fpr)}. "
            f"TPR at {rate(r.fpr)} "
            f"FPR.{'' if r.resolved else ' Under 10 false alarms are expected.'}"
        ),
        guessing=rate(r.fpr),
        gate=False,
        doubtful=not r.resolved,
    )


def _epsilon(f: SyntheticResult, whose: str) -> Measure:
    found = f.headline.worst.epsilon
    text = "No epsilon above 0 was shown: no contradiction to any privacy guarantee."
    if found.low > 0:
        text = (
            f"With {rate(found.level)} confidence: a smaller epsilon of differential privacy "
            "cannot be claimed."
        )
    text += " With this many tables, no audit could show more than "
    text += f"{decimal(f.headline.worst.epsilon_limit, 2)}."
    shown = Shown(rounded_down(found.low))
    return Measure(
        name="epsilon",
        label="Epsilon is at least",
        found=found,
        shown=shown,
        note=whose,
        text=text,
        guessing="0",
    )


def _game(f: SyntheticResult) -> Pairs:
    sizes = f.sizes
    own = several(sizes.shadows, "synthetic table")
    asked = several(sizes.tests, "synthetic table")
    # Otherwise every target, or every table in question, has tables of its own.
    if len(f.targets) > 1 and f.n_tables == sizes.shadows + sizes.tests:
        # All targets share one pool of tables.
        own = f"{own} for all targets"
        asked = f"{asked} for all targets, each target in about half of them"
    else:
        asked = f"{asked} for each target, about half of them made with it"
        by_target = f.n_tables == len(f.targets) * (sizes.shadows + sizes.tests)
        own = f"{own} for each {'target' if by_target else 'table in question'}"
    return pairs(
        {
            "Game": f.game.name,
            "Generator": f.generator,
            "Its settings": settings(f),
            "The adversary guesses": f.game.question,
            "The adversary": f.game.adversary,
            "Where the truth comes from": f.game.secret,
            "Thresholds were learnt": f.game.thresholds,
            "Records": f"{several(len(f.targets), 'target')} of {count(f.n_records)} in the table",
            "A synthetic table": f"{several(sizes.n_made, 'record')}, made from "
            f"{count(sizes.records)}",
            "The adversary's own": own,
            "Those in question": asked,
            "Made in all": several(f.n_tables, "synthetic table"),
            "What would be seen": detectable_auc_text(f.seen_from),
        }
    )


def settings(f: SyntheticResult) -> str:
    """Return the generator's settings on one line."""
    return (
        "; ".join(f"{setting_text(k)} = {setting_text(v)}" for k, v in f.settings.items()) or "none"
    )


_TERMS = {
    "Generator, synthetic table": "A program that learns from records and makes new ones like "
    "them, and the table of those.",
    "Target": "A record that is attacked: the adversary has it, and asks whether the synthetic "
    "table was made with it.",
    "Attack": "A way to tell, from a synthetic table, whether a record was among those it was made "
    "from. It gives a score; above a threshold the guess is “in”.",
    "The adversary's own tables": "Synthetic tables that the adversary makes with and without the "
    "record, to learn how they differ (also called shadow tables). Attacks are judged on other "
    "tables.",
    "AUC": "The probability that a table made with the record scores higher than one made without "
    "it; the area under the ROC curve. Guessing gives 0.5, certainty 1.",
    "Right guesses": "Balanced accuracy: the share of right guesses, where both answers count the "
    "same. Guessing gives 50%.",
    "TPR at FPR": "The share of tables made with the record that are recognised, when so many of "
    "those made without it are mistaken (false-positive rate). A high value at a low rate means "
    "that the guess “in” can be trusted.",
    "† dagger": "Too few tables for this false-positive rate: fewer than 10 false alarms are "
    "expected.",
    "Told": "A rank test (Mann and Whitney) of the tables with the record against those without it "
    "rules out luck. It is corrected for the number of records (Holm): with the report's "
    "confidence none of them is told by luck.",
    "Epsilon": f"{MEANINGS['Epsilon']} With this many tables, no more than the number beside it "
    "can be shown.",
    "Vulnerability score": "The mean distance of a record to the other records nearest to it. Rank "
    "1 is the record farthest from all others.",
    "Rank correlation": "Whether two orders agree: 1 if they are the same, 0 if they have nothing "
    "to do with each other, -1 if they are opposite (Spearman).",
    "Distance of shares": "Half the sum of the differences between the shares of all values, or "
    "combinations of values (total variation): 0 if they are the same, 1 if nothing is shared.",
    "Association": "How strongly two columns depend on each other, 0 if not at all: rank "
    "correlation, Cramér's V, or the correlation ratio.",
    "Distance to the closest record": "How near synthetic records come to real ones. It is no "
    "evidence of safety: tables that keep a distance can give people away all the same.",
}


def data(f: SyntheticResult) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind of report has.

    An attack's numbers are means over the targets. Those of each target are under ``targets``, by
    the attack's title, without the record's contents. The standard deviation of a group of one
    record is null.
    """
    return {
        "game": asdict(f.game),
        "generator": {"name": f.generator, "settings": values_of(f.settings)},
        "sizes": {**asdict(f.sizes), "made": int(f.sizes.n_made)},
        **pick_values(f, "n_records", "n_tables", "foreseen", "seen_from"),
        "headline": _headline(f),
        "attacks": [_attack(attack) for attack in f.attacks],
        "targets": _targets(f),
        "groups": {group.method: _group(f, group) for group in f.groups},
        "utility": values_of(f.utility if isinstance(f.utility, Skipped) else f.utility.to_dict()),
    }


def _headline(f: SyntheticResult) -> dict[str, Json]:
    i = f.headline.target
    return {
        "attack": f.best.title,
        "auc": estimate_dict(f.headline.auc),
        "told": int(np.count_nonzero(f.best.told)),
        "n_targets": len(f.targets),
        "target": {
            "row": int(f.targets.rows[i]),
            "id": names_of(f.targets.ids[i : i + 1]).tolist()[0],
            **_target_json(f.headline.worst),
        },
        "epsilon": estimate_dict(f.headline.worst.epsilon),
        "epsilon_limit": finite(f.headline.worst.epsilon_limit),
    }


def _attack(attack: AttackEvaluation) -> dict[str, Json]:
    n = len(attack.targets)
    return {
        **pick_values(
            attack, "name", "variant", "accuracy", "auc", "true_positives", "false_positives"
        ),
        **pick_values(attack, "n_in", "n_out", "notes"),
        "thresholds": "none",
        "rule": RULE,
        "tpr_at_fpr": {
            key(fpr): {"value": float(value), "n": n, "method": "mean over targets, no interval"}
            for fpr, value in attack.tpr_at_fpr
        },
        "told": int(np.count_nonzero(attack.told)),
        "own_auc": float(attack.own_auc.mean()),
    }


def _targets(f: SyntheticResult) -> list[Json]:
    ids = names_of(f.targets.ids).tolist()
    chosen = [set(group.positions.tolist()) for group in f.groups]
    return [
        {
            "row": int(f.targets.rows[i]),
            "id": ids[i],
            "vulnerability": finite(f.targets.scores[i]),
            "rank": int(f.targets.ranks[i]),
            "chosen": [g.method for g, those in zip(f.groups, chosen, strict=True) if i in those],
            "attacks": {attack.title: _target_json(attack.targets[i]) for attack in f.attacks},
        }
        for i in range(len(f.targets))
    ]


def _target_json(target: TargetEvaluation) -> dict[str, Json]:
    return {
        **pick_values(target, "auc", "accuracy"),
        "tpr_at_fpr": {
            key(r.fpr): {**estimate_dict(r.estimate), **pick_values(r, "resolved")}
            for r in target.tpr_at_fpr
        },
        "epsilon": {"low": finite(target.epsilon.low), "limit": finite(target.epsilon_limit)},
    }


def _group(f: SyntheticResult, group: TargetGroup) -> dict[str, Json]:
    n = len(group.positions)
    rows = zip(f.attacks, group.means, group.deviations, strict=True)
    return {
        attack.title: {
            "mean": estimate_dict(mean),
            "sd": finite(deviation) if n > 1 else None,
            "n": n,
        }
        for attack, mean, deviation in rows
    }


def records_frame(f: SyntheticResult) -> pd.DataFrame:
    """Return one row per target.

    Columns: ``row`` of the data, ``id``, ``vulnerability``, ``rank``; and for each attack
    ``auc:TITLE``, ``auc_low:TITLE``, ``auc_high:TITLE``, ``accuracy:TITLE``,
    ``tpr_at_0.1:TITLE``, ``tpr_at_0.01:TITLE``, ``epsilon_low:TITLE``,
    ``epsilon_limit:TITLE``.
    """
    import pandas as pd

    columns: dict[str, NDArray[Any]] = {
        "row": f.targets.rows,
        "id": names_of(f.targets.ids),
        "vulnerability": f.targets.scores,
        "rank": f.targets.ranks,
    }
    for attack in f.attacks:
        columns |= {f"{name}:{attack.title}": x for name, x in _numbers(attack).items()}
    return pd.DataFrame(columns)


def _numbers(attack: AttackEvaluation) -> dict[str, NDArray[Any]]:
    targets = attack.targets
    fprs = [fpr for fpr, _ in attack.tpr_at_fpr]
    rates = np.array([[r.estimate.value for r in target.tpr_at_fpr] for target in targets])
    return {
        "auc": attack.aucs,
        "auc_low": np.array([target.auc.low for target in targets]),
        "auc_high": np.array([target.auc.high for target in targets]),
        "accuracy": np.array([target.accuracy.value for target in targets]),
        **{f"tpr_at_{key(fpr)}": rates[:, place] for place, fpr in enumerate(fprs)},
        "epsilon_low": np.array([target.epsilon.low for target in targets]),
        "epsilon_limit": np.array([target.epsilon_limit for target in targets]),
    }
