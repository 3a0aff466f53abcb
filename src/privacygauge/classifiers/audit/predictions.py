"""The audit of a classifier from its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifiers.attacked import (
    ID_BEGINNING,
    are_columns,
    attack_predictions,
    contents_of,
    missing_classes,
    named_columns,
    records_of,
    require_other_rows,
    without_own_rows,
)
from privacygauge.classifiers.audit.options import PredictionOptions
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.audit.verdict import doubts, knows_nobody, of_one_side
from privacygauge.classifiers.files import PredictionsLike, as_predictions
from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.held import Held
from privacygauge.classifiers.known import comparison_of
from privacygauge.classifiers.predictions import ARRAYS, LogitPool, Pool, Predictions
from privacygauge.classifiers.suite import chosen_attacks, prediction_attacks
from privacygauge.classifiers.units_of_rows import settle_units
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Round
from privacygauge.errors import InputError
from privacygauge.evaluate.fairness import Comparison
from privacygauge.evaluate.played import GameDescription, Records
from privacygauge.evaluate.slices import column_groups, id_groups
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction, fairness


@dataclass(frozen=True, eq=False)
class DealtGame:
    """A game that is dealt, with the predictions that it is about."""

    rounds: Sequence[Round]
    """Rounds whose targets are the rows of `target`."""
    target: Predictions
    """Predictions of the audited model."""
    description: GameDescription
    """The game in words."""
    comparison: Comparison
    """Records on which members and non-members are compared."""
    has_shadow: bool
    """Whether shadow records come from other models, not from the target's other half."""
    features: Held | None = None
    """The records themselves; None if only their predictions are known."""


@dataclass(frozen=True, eq=False)
class PredictionAuditOptions:
    """Options of the caller that do not concern the game."""

    attacks: Sequence[Attack]
    """Attacks to play."""
    estimator: Estimator | None
    """Estimator of the privacy risk score; None for the default."""
    slices: Mapping[str, ArrayLike] | Sequence[str] | None
    """Columns of groups to evaluate; None for all."""
    shown: Sequence[str] = ()
    """Columns to print next to the riskiest records."""


def assemble(
    dealt: DealtGame,
    asked: PredictionAuditOptions,
    running: Session,
    *,
    skipped: Sequence[Skipped] = (),
    warnings: Sequence[str] = (),
) -> Audit:
    """Return the audit of a dealt game; `skipped` and `warnings` are added to those found here."""
    level = running.level
    rounds = dealt.rounds
    target = dealt.target
    game = dealt.description
    comparison = dealt.comparison
    has_shadow = dealt.has_shadow
    contents = contents_of(target, asked.shown)
    if isinstance(asked.slices, Mapping):
        chosen = {
            name: checks.vector(values, f"slice {name!r}", length=len(target))
            for name, values in asked.slices.items()
        }
    else:
        chosen = contents_of(
            target, target.columns if asked.slices is None else asked.slices, " to slice by"
        )
    columns, unsliced = column_groups(chosen)
    if unsliced and asked.slices is not None:
        raise InputError(f"{unsliced[0].name}: {unsliced[0].reason}")
    beginnings = None if asked.slices is not None else id_groups(target.ids)
    if beginnings is not None:
        columns.setdefault(ID_BEGINNING, beginnings)
    done = attack_predictions(
        rounds,
        asked.attacks,
        target=target,
        estimator=asked.estimator,
        columns=columns,
        comparison=comparison,
        seed=running.seed,
        level=level,
        has_shadow=has_shadow,
    )
    # Checks of the predictions themselves, which the verdict weighs against its findings.
    turned = direction.warnings(done.found.headline.inverted)
    doubtful = tuple(doubts(rounds, target, level, has_shadow=has_shadow))
    nobody = tuple(knows_nobody(rounds, level, has_shadow=has_shadow))
    odd = of_one_side(rounds, target, level, has_shadow=has_shadow, features=dealt.features)
    matched = fairness.warnings(comparison)
    if not comparison.compared.all():
        n_in = int(np.count_nonzero(comparison.compared & target.member))
        n_out = int(np.count_nonzero(comparison.compared)) - n_in
        game = replace(game, n_in=n_in, n_out=n_out)
    # In this order, and each once: files and attacks may say the same.
    told = dict.fromkeys(
        (
            *target.notes,
            *warnings,
            *matched,
            *done.warnings,
            *turned,
            *doubtful,
            *nobody,
            *(() if odd is None else (odd.words,)),
        )
    )
    return Audit(
        **vars(done.found),
        origin=running.origin(
            skipped=(*done.skipped, *skipped, *unsliced, *done.found.slices.skipped), warnings=told
        ),
        game=game,
        records=Records(
            ids=target.ids,
            member=target.member,
            scores=done.scores,
            guesses=done.guesses,
            risk=done.risk,
            contents=contents,
            unit=target.unit,
            people=target.people,
            vulnerability=done.vulnerability,
            compared=None if comparison.compared.all() else comparison.compared,
        ),
        doubts=doubtful,
        unknown_side=odd,
    )


_DRAWN = "drawn by a fair coin for every record: members and non-members differ in nothing else"


_GIVEN = (
    "came with the data: no coins were drawn, so members and non-members may also differ in "
    "other ways than membership; where classes, columns or features show it, records are compared "
    "that are alike in it, and what they do not show cannot be told from a leak"
)


def origin_of_truth(drawn: bool) -> str:
    """Return where the members come from, as reports say it."""
    return _DRAWN if drawn else _GIVEN


def game_description(
    target: Predictions, shadow: Predictions | None, drawn: bool
) -> GameDescription:
    """Describe the game on predictions."""
    if shadow is None:
        has = "and knows the membership of some of the records, to learn thresholds on"
        learnt = "on two other fifths of the target's own records, in turn (cross-fitting)"
    else:
        has = f"and has shadow predictions of its own, on {shadow.n_in:,} members and "
        has += f"{shadow.n_out:,} non-members"
        learnt = "on the shadow model's records only"
    return GameDescription(
        "membership inference from predictions",
        question="Was this record in the model's training set?",
        adversary=(
            "Sees the model's full prediction and the true class of a record (black box), " + has
        ),
        secret=origin_of_truth(drawn),
        thresholds=learnt,
        n_in=target.n_in,
        n_out=target.n_out,
    )


def pool_description(
    target: Predictions, pool: Pool | LogitPool, *, drawn: bool, labels: bool = False
) -> GameDescription:
    """Describe the game against a pool of shadow models; by classes only if `labels`."""
    seen = "the class that the model predicts" if labels else "the model's full prediction"
    return GameDescription(
        "membership inference with shadow models",
        question="Was this record in the model's training set?",
        adversary=(
            f"Sees {seen} and the true class of a record (black box), knows the "
            "candidate records and how the model is trained, and has trained "
            f"{len(pool)} models of its own on candidates that fair coins put in them"
        ),
        secret=origin_of_truth(drawn),
        thresholds="on the shadow models' records only",
        n_in=target.n_in,
        n_out=target.n_out,
    )


@dataclass(frozen=True, kw_only=True)
class ClassifierOptions(PredictionOptions):
    """An audit of a classifier from its predictions alone, or with those of one shadow model."""

    def run(
        self,
        target: PredictionsLike,
        shadow: PredictionsLike | None = None,
        *,
        features: ArrayLike | Sequence[str] | None = None,
        shadow_features: ArrayLike | None = None,
        slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
        unit: ArrayLike | str | None = None,
        session: Session = Session("classifier"),
    ) -> Audit:
        """Audit a classifier from its predictions alone.

        Parameters
        ----------
        target : Predictions, path, mapping of arrays, or data frame
            Predictions of the audited model on known members and known non-members; see
            `as_predictions`.
        shadow : Predictions, path, mapping of arrays, or data frame, optional
            Predictions of a model that the adversary trained on other records. Default: thresholds
            are cross-fitted, learnt on two fifths of the targets and used on another fifth, in
            turn.
        features : array_like, shape (n, d), or sequence of str, optional
            The target's records as numbers, for example an embedding, or the columns of both files
            that hold them. They add quantile regression to the suite, which predicts how confident
            a model would be that was not trained on such a record.
        shadow_features : array_like, shape (s, d), optional
            The shadow's records, if `features` is an array.
        slices : mapping of str to array_like (n,), or sequence of str, optional
            Groups to evaluate in addition to the classes and the deciles of confidence: columns, or
            names of columns of the file; default: all columns of the file.
        unit : array_like (n,) or str, optional
            The person behind each row, or the name of the target's column with the person; default:
            the target's `unit`, or equal ids. Intervals, halves and slices treat a unit as a whole.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        Audit

        Raises
        ------
        InputError
            One line: what is wrong, and the way out.

        Notes
        -----
        Song & Mittal (2021), sections 3 and 4; Bertran et al. (2023) with features.
        """
        suite = prediction_attacks(logits=True, features=True)
        played, unplayed = chosen_attacks(self.attacks, suite)
        checks.kind(
            slices, "slices", "__iter__", "names of columns, or a mapping of names to columns"
        )
        asked = named_columns(slices, self.show_columns, features, shadow_features)
        target = as_predictions(target, "target", unit=unit, columns=asked)
        shadow = None if shadow is None else as_predictions(shadow, "shadow", columns=asked)
        # The same file given twice would let attacks learn on the rows that they are judged on.
        require_other_rows(target, shadow)
        own_rows: tuple[str, ...] = ()
        if shadow is not None and shadow_features is None:
            shadow, own_rows = without_own_rows(target, shadow)
        if shadow is None and shadow_features is not None:
            raise InputError("shadow_features are given without a shadow: give both, or neither")
        x = records_of(target, features, "features")
        own = features if shadow_features is None and are_columns(features) else shadow_features
        known = None if shadow is None else records_of(shadow, own, "shadow_features")
        # Before the game is dealt, since its parts keep the rows of a person together.
        owned = settle_units(target, drawn=self.drawn, features=x)
        target = owned.target
        game = PredictionGame(target, shadow, x, known, together=owned.together)
        rounds = game.deal(1, seeds.stream(session.seed, "deal"))
        comparison, unused = comparison_of(
            rounds, owned, session.seed, session.level, features=x, drawn=self.drawn
        )
        # Attacks must also not learn from records that the comparison leaves out: deal again.
        if shadow is None and not comparison.compared.all():
            game = replace(game, compared=comparison.compared)
            rounds = game.deal(1, seeds.stream(session.seed, "deal"))
        warnings = missing_classes(target, shadow, self.allow_missing_classes)
        # log p - log(1 - p) rises with p: without logits it would only repeat the confidence.
        reason = "orders records as confidence does unless logits are given"
        same = (
            [Skipped("scaled-logit", reason)] if self.attacks is None and not target.logits else []
        )
        if self.attacks is None:
            played = prediction_attacks(logits=target.logits, features=x is not None)
        return assemble(
            DealtGame(
                rounds,
                target,
                description=game_description(target, shadow, self.drawn),
                comparison=comparison,
                has_shadow=shadow is not None,
                features=x,
            ),
            PredictionAuditOptions(played, self.estimator, slices, self.show_columns),
            session,
            skipped=(*same, *unplayed),
            warnings=[
                *(() if shadow is None else shadow.notes),
                *warnings,
                *own_rows,
                *owned.warnings,
                *unused,
            ],
        )


audit_classifier = one_line(
    ClassifierOptions, ClassifierOptions.run, "audit_classifier", without=KEEPING, arrays=ARRAYS
)
