"""The audit of a generator of synthetic tables, its leak about single records; and its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, cast, overload

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.estimate import Skipped
from privacygauge.core.units import owners
from privacygauge.evaluate.by_target import RULE, TargetEvaluation
from privacygauge.evaluate.played import GameDescription
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction
from privacygauge.report.attacks.tables import MEANINGS, interval
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
from privacygauge.report.values import (
    About,
    Json,
    Measure,
    Pairs,
    Report,
    Section,
    Worst,
    estimate_dict,
    finite,
    names_of,
    pairs,
    pick_values,
    text,
    values_of,
)
from privacygauge.runs.execute import Progress
from privacygauge.tables.games.attribute import Attribute
from privacygauge.tables.games.audited import GeneratorOptions, PlayedGuesses, arrange_game
from privacygauge.tables.games.games import enough_tests
from privacygauge.tables.games.releases import Making
from privacygauge.tables.generator_audit import attribute as about_value
from privacygauge.tables.generator_audit import sections
from privacygauge.tables.generator_audit.sections import plot_auc
from privacygauge.tables.generator_audit.verdict import (
    SyntheticResult,
    detectable_auc_text,
    setting_text,
    settings_text,
    target_id_and_row,
    target_name,
    verdict,
)
from privacygauge.tables.generators.foreign import require_sendable
from privacygauge.tables.generators.generator import PrivBayes
from privacygauge.tables.generators.named import as_generator
from privacygauge.tables.options import LearntColumns, ReportedColumns
from privacygauge.tables.selection import SELECTORS, TargetsAsked, select_targets
from privacygauge.tables.table import column_advice

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import NDArray


__all__ = ["SELECTORS", "TargetsAsked", "audit_synthetic", "select_targets"]

COST = "cost, as foreseen"
"""Key of the cost estimate, in a report and in a run."""


class SyntheticAudit(SyntheticResult):
    """Findings of an audit of a generator, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        chosen = " and the worst record were" if len(self.targets) > 1 else " was"
        risky = tuple(sections.records(self))
        privacy = {
            "Privacy: mean AUC (0.5 gives nothing away)": decimal_estimate(self.headline.auc),
            "Privacy: worst record": decimal_estimate(self.headline.worst.auc),
        }
        use = sections.utility_section(self.utility, privacy)
        return Report(
            "generator",
            "Audit of a generator of synthetic tables",
            about=About(
                f"A generator of synthetic tables: {self.generator}",
                f"Somebody who holds a record guesses: {self.game.question}",
                self.game.adversary,
                "membership-inference",
            ),
            intro=f"Synthetic tables by {setting_text(self.generator)}, {self.game.name}. The "
            "numbers are those of "
            f"the strongest attack, {self.best.title}, on {several(len(self.targets), 'record')}. "
            f"Small figures are {rate(self.level)} intervals. The attack{chosen} chosen on the "
            "adversary's own tables, the numbers come from others.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section("game", "What was played", (text(_GAME), _game(self)), "The game"),
                Section("attacks", "Attacks", tuple(sections.attacks(self))),
                Section("records", "The riskiest records", risky, "Riskiest records"),
                Section(
                    "groups", "How the records were chosen", tuple(sections.groups(self)), "Groups"
                ),
                Section("use", "Privacy beside use", tuple(use), "Use"),
            ),
            terms={**_TERMS, "Interval": interval(self.level, "tables")},
            worst=Worst(
                "records", tuple(target_id_and_row(self, i)[0] for i in self.order[:10].tolist())
            ),
            data=data(self),
            frames={"records.parquet": lambda: records_frame(self)},
            nothing_left_out="Nothing: everything that was asked for was done.",
            overview=sections.overview(self),
            sources=_SOURCES,
        )

    def plot_auc(self, ax: Axes | None = None) -> Axes:
        """Plot the AUC of every target, by the attack of the verdict."""
        return plot_auc(self, ax)


@dataclass(frozen=True, eq=False, kw_only=True)
class SyntheticOptions(GeneratorOptions, ReportedColumns, LearntColumns):
    """An audit of a generator by the privacy game."""

    def run(
        self,
        generator: object,
        data: object,
        *,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        before: Callable[[Making], str] | None = None,
        scoring: Progress | None = None,
        session: Session = Session("synthetic"),
    ) -> SyntheticAudit | about_value.AttributeOfGenerator:
        """Play the privacy game against a generator, record by record.

        Synthetic tables are made from data sets with and without a record. An adversary that
        trained on such tables of its own tells them apart as well as it can. With an `attribute`
        the record is in all of them, and the adversary guesses its value in that column.

        Parameters
        ----------
        generator : Generator, str, object or callable
            The generator to audit: a name (``baynet``, ``privbayes:epsilon=1``, ``synthpop``, ...),
            an object with ``fit(frame)`` and ``sample(n)``, a function ``(frame, n, seed) ->
            frame``, or a `Command`.
        data : Table, pandas or polars frame, str or Path
            Records like those that the generator will learn from; a file is CSV or Parquet.
        ids : array_like, shape (N,), optional
            Names of the records in the report.
        unit : array_like, shape (N,), optional
            The person, or the household, behind each record; default: equal ids. A data set has all
            records of a target's person, or none.
        before : callable, optional
            Called once all arguments are checked, before any table is made; the returned text on
            the cost is kept in the run and in the report.
        scoring : callable, optional
            Called with the number of targets scored and their total.
        session : Session, optional
            Seed, level, run folder (which keeps the tables: after an interruption, the same call
            resumes there) and workers.

        Returns
        -------
        SyntheticAudit or AttributeOfGenerator
            The latter with an `attribute`.

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Meeus et al. (2023), sections 2.3, 4 and 5.
        """
        made_by = as_generator(generator)
        table = self.read(data)
        arrangement = arrange_game(
            made_by,
            table,
            self,
            owner=owners(unit, ids, len(table)),
            ids=ids,
            show=self.show,
            seed=session.seed,
            level=session.level,
        )
        making = arrangement.making
        # Before hours of work: worker processes would fail on a generator that cannot be sent.
        if session.n_jobs not in (None, 1):
            require_sendable(made_by, made_by.name)
        # Kept in the run, so that a resumed run reports the same cost.
        cost = {} if before is None or not (said := before(making)) else {COST: said}
        known = session.invocation
        execution: dict[str, Any] = {
            "invocation": None if known is None else {**known, **cost},
            "n_jobs": session.n_jobs,
            "progress": session.progress,
            "scoring": scoring,
        }
        # Warnings about results that are easily misread.
        told = [*column_advice(table)]
        sizes = making.setting.sizes
        if sizes.tests < enough_tests(0.1, session.level):
            about_attribute = isinstance(making.game, Attribute)
            measured = "a share of right guesses" if about_attribute else "an AUC"
            told.append(
                f"{sizes.tests} test tables a record give {measured} an interval wider than 0.1 on "
                "either side: ask for more (--tests)"
            )
        pool = min(len(pool) for pool in making.setting.pools)
        if making.game.knowledge != "exact" and pool < 2 * sizes.records:
            told.append(
                f"data sets of {sizes.records:,} records are drawn from pools of {pool:,}: they "
                "are much alike, so the numbers hold for data sets like these; give a larger table "
                "or learn from fewer records (--size)"
            )
        if isinstance(made_by, PrivBayes) and self.schema is None:
            told.append(
                "the schema (ranges and categories) was read from the data: PrivBayes's epsilon "
                "holds for a schema that is public; give one (--schema)"
            )
        found, skipped, clipped = arrangement.played_in(session.run, self.label, **execution)
        inverted = (
            about_value.inverted_warnings(found)
            if isinstance(found, PlayedGuesses)
            else direction.warnings(found.inverted)
        )
        told += (*clipped_numbers(*clipped), *inverted)
        origin = session.origin("pandas", skipped=skipped, warnings=told, about=cost)
        # All but the fields that follow from the others.
        played = {f.name: getattr(found, f.name) for f in fields(found) if f.init}
        if isinstance(found, PlayedGuesses):
            return about_value.AttributeOfGenerator(**played, origin=origin)
        return SyntheticAudit(**played, origin=origin, game=_description(making))


class _AuditSynthetic(Protocol):
    """Type of `audit_synthetic`, whose result follows from whether it is given an attribute."""

    @overload
    def __call__(
        self, generator: object, data: object, *, attribute: str, **options: Any
    ) -> about_value.AttributeOfGenerator: ...

    @overload
    def __call__(
        self, generator: object, data: object, *, attribute: str | None, **options: Any
    ) -> SyntheticAudit | about_value.AttributeOfGenerator: ...

    @overload
    def __call__(self, generator: object, data: object, **options: Any) -> SyntheticAudit: ...


audit_synthetic = cast(
    _AuditSynthetic, one_line(SyntheticOptions, SyntheticOptions.run, "audit_synthetic")
)


def _description(making: Making) -> GameDescription:
    """Return a description of the game, in words."""
    game = making.game
    sizes = making.setting.sizes
    data = {
        "average": "a fresh data set for every table, with the record or another in its place",
        "specific": "one data set for each record, with it or with another in its place",
        "shared": "data sets that each record is in or out of by a coin of its own",
    }
    knows = {
        "auxiliary": "other records of the same source",
        "exact": "all other records of the data set",
        "synthetic": "nothing but the released table",
    }
    n_in = sizes.tests // 2
    return GameDescription(
        f"{game.name} game",
        question="Was this record among those that the synthetic table was made from?",
        adversary=(
            f"Sees the synthetic table and the record, knows how the generator works, has "
            f"{knows[game.knowledge]}, and makes {sizes.shadows:,} synthetic tables itself"
        ),
        secret=f"Drawn: {data[game.name]}",
        thresholds="On the adversary's own synthetic tables",
        n_in=n_in,
        n_out=sizes.tests - n_in,
    )


def clipped_numbers(n: int, total: int) -> tuple[str, ...]:
    """Return a warning if the generator drew numbers beyond the schema's ranges."""
    if not n:
        return ()
    return (
        f"the generator drew {n:,} of {total:,} numbers ({n / total:.2g}) beyond the range of "
        "their columns: each was replaced by the nearer end of the range; if such numbers may "
        "occur, widen the range in the schema (--schema)",
    )


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
    for r in worst.tpr_at_fpr:
        if r.fpr == FPR:
            few = "" if r.resolved else " Under 10 false alarms are expected."
            yield Measure(
                name=f"tpr@{r.fpr:g}",
                label=f"Found at {rate(r.fpr)} false alarms",
                found=r.estimate,
                shown=percent_estimate(r.estimate, 1),
                note=whose,
                text=(
                    "Share of the tables made with it that are recognised; guessing finds "
                    f"{rate(r.fpr)}. TPR at {rate(r.fpr)} FPR.{few}"
                ),
                guessing=rate(r.fpr),
                gate=False,
                doubtful=not r.resolved,
            )
    bound = worst.epsilon
    said = "No epsilon above 0 was shown: no contradiction to any privacy guarantee."
    if bound.low > 0:
        said = (
            f"With {rate(bound.level)} confidence: a smaller epsilon of differential privacy "
            "cannot be claimed."
        )
    limit = decimal(worst.epsilon_limit, 2)
    yield Measure(
        name="epsilon",
        label="Epsilon is at least",
        found=bound,
        shown=Shown(rounded_down(bound.low)),
        note=whose,
        text=f"{said} With this many tables, no audit could show more than {limit}.",
        guessing="0",
    )
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
            "Its settings": settings_text(f.settings),
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
    i = f.headline.target
    ids = names_of(f.targets.ids).tolist()
    chosen = [set(group.positions.tolist()) for group in f.groups]
    attacks: list[Json] = [
        {
            **pick_values(
                attack, "name", "variant", "accuracy", "auc", "true_positives", "false_positives"
            ),
            **pick_values(attack, "n_in", "n_out", "notes"),
            "thresholds": "none",
            "rule": RULE,
            "tpr_at_fpr": {
                key(fpr): {
                    "value": float(value),
                    "n": len(attack.targets),
                    "method": "mean over targets, no interval",
                }
                for fpr, value in attack.tpr_at_fpr
            },
            "told": int(np.count_nonzero(attack.told)),
            "own_auc": float(attack.own_auc.mean()),
        }
        for attack in f.attacks
    ]
    targets: list[Json] = [
        {
            "row": int(f.targets.rows[k]),
            "id": ids[k],
            "vulnerability": finite(f.targets.scores[k]),
            "rank": int(f.targets.ranks[k]),
            "chosen": [g.method for g, those in zip(f.groups, chosen, strict=True) if k in those],
            "attacks": {attack.title: _target_json(attack.targets[k]) for attack in f.attacks},
        }
        for k in range(len(f.targets))
    ]
    groups: dict[str, Json] = {}
    for group in f.groups:
        n = len(group.positions)
        numbers = zip(f.attacks, group.means, group.deviations, strict=True)
        groups[group.method] = {
            attack.title: {
                "mean": estimate_dict(mean),
                "sd": finite(deviation) if n > 1 else None,
                "n": n,
            }
            for attack, mean, deviation in numbers
        }
    return {
        "game": asdict(f.game),
        "generator": {"name": f.generator, "settings": values_of(f.settings)},
        "sizes": {**asdict(f.sizes), "made": int(f.sizes.n_made)},
        **pick_values(f, "n_records", "n_tables", "foreseen", "seen_from"),
        "headline": {
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
        },
        "attacks": attacks,
        "targets": targets,
        "groups": groups,
        "utility": values_of(f.utility if isinstance(f.utility, Skipped) else f.utility.to_dict()),
    }


def _target_json(target: TargetEvaluation) -> dict[str, Json]:
    return {
        **pick_values(target, "auc", "accuracy"),
        "tpr_at_fpr": {
            key(r.fpr): {**estimate_dict(r.estimate), **pick_values(r, "resolved")}
            for r in target.tpr_at_fpr
        },
        "epsilon": {"low": finite(target.epsilon.low), "limit": finite(target.epsilon_limit)},
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
        targets = attack.targets
        rates = np.array([[r.estimate.value for r in target.tpr_at_fpr] for target in targets])
        found = {
            "auc": attack.aucs,
            "auc_low": np.array([target.auc.low for target in targets]),
            "auc_high": np.array([target.auc.high for target in targets]),
            "accuracy": np.array([target.accuracy.value for target in targets]),
            **{
                f"tpr_at_{key(fpr)}": rates[:, place]
                for place, (fpr, _) in enumerate(attack.tpr_at_fpr)
            },
            "epsilon_low": np.array([target.epsilon.low for target in targets]),
            "epsilon_limit": np.array([target.epsilon_limit for target in targets]),
        }
        columns |= {f"{name}:{attack.title}": x for name, x in found.items()}
    return pd.DataFrame(columns)
