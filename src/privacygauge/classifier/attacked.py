"""Results of the attacks on a classifier, with the caveats a reader needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.classifier import caveats
from privacygauge.classifier.pool_game import matrix_of
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.signals import top_probability
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Play, Round, play
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate.detectable import AVERAGE_SHARE, SHARE
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.fairness import Comparison
from privacygauge.evaluate.group_ranks import ranked_groups
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.more_models import Foretold
from privacygauge.evaluate.over_targets import SeveralTargets
from privacygauge.evaluate.playing import (
    audit,
    headline,
    in_file_order,
    played_of,
    risk_of,
    telling,
)
from privacygauge.evaluate.questions import Questions, answer_questions
from privacygauge.evaluate.risk import Risk
from privacygauge.evaluate.slices import SliceTable, deciles, find_slices
from privacygauge.evaluate.vulnerability import Vulnerability, vulnerability

MOST_GROUPS = 200
"""A column with more distinct values is cut into deciles (numbers) or not sliced by (texts)."""


HANDICAP = 8.0
"""Factor on the p-values, for few records and for groups, of attacks that learn class by class or
learn more than a threshold: chance effects in their training hide a few exposed records."""

_TAUGHT = ("learned", "whole-answer")
"""Attacks that learn more than a threshold from known membership."""


def slice_table(
    rounds: Sequence[Round],
    target: Predictions,
    columns: Mapping[str, NDArray[Any]],
    compared: Bools,
    transcripts: Sequence[tuple[str, Transcript]],
    seed: int,
    level: float,
    handicaps: Mapping[str, float] | None = None,
) -> SliceTable:
    """Return how exposed each class, each decile of confidence and each group of columns is.

    `transcripts` are the titles and scores of all attacks on the compared records, `handicaps`
    those of `ranked_groups`.
    """
    # The attack is chosen here, before anything is measured.
    attack = Threshold("modified-entropy", per_class=True)
    rngs = [seeds.stream(seed, "slices", number) for number in range(len(rounds))]
    whole = play(attack, rounds, rngs)
    assert isinstance(whole, Play)
    played = whole.on(compared)
    groups = {
        "class": np.array(target.classes)[target.labels] if target.classes else target.labels,
        "confidence": deciles(top_probability(target)),
        **columns,
    }
    judged, ranked = (
        {name: values[order] for name, values in groups.items()}
        for order in (played.transcript.target, transcripts[0][1].target)
    )
    rng = seeds.stream(seed, "group ranks")
    # Groups get a quarter of the verdict's error rate.
    rankings = ranked_groups(transcripts, ranked, rng, 1 - SHARE * (1 - level), handicaps=handicaps)
    title = "modified-entropy (per-class)"
    return find_slices(played.decisions, judged, attack=title, level=level, ranked=rankings)


def groups_of(
    target: Predictions, slices: Mapping[str, ArrayLike] | Sequence[str] | None
) -> tuple[dict[str, NDArray[Any]], list[Skipped]]:
    """Return the groups of every column to slice by, and the columns with too many values."""
    if isinstance(slices, Mapping):
        chosen = {
            name: checks.vector(values, f"slice {name!r}", length=len(target))
            for name, values in slices.items()
        }
    else:
        chosen = contents_of(target, target.columns if slices is None else slices, " to slice by")
    groups: dict[str, NDArray[Any]] = {}
    reason = f"more than {MOST_GROUPS} different texts: merge some"
    for name, values in chosen.items():
        if len(np.unique(values)) <= MOST_GROUPS and values.dtype.kind != "f":
            groups[name] = values
        elif values.dtype.kind in "iuf":
            groups[name] = deciles(values.astype(np.float64))
    too_many = [Skipped(f"slices by {name}", reason) for name in chosen if name not in groups]
    if too_many and slices is not None:
        raise InputError(f"{too_many[0].name}: {reason}")
    return groups, too_many


def contents_of(
    target: Predictions, names: Iterable[str], use: str = ""
) -> dict[str, NDArray[Any]]:
    """Return the named columns of the user's table; `use` is their purpose, for error messages."""
    chosen = list(names)
    missing = [name for name in chosen if name not in target.columns]
    if missing:
        have = ", ".join(target.columns) or "none"
        raise InputError(f"no column {missing[0]!r}{use}; the columns are: {have}")
    return {name: target.columns[name] for name in chosen}


def are_columns(features: ArrayLike | Sequence[str] | None) -> bool:
    """Return whether features are names of columns."""
    return isinstance(features, Sequence) and all(isinstance(name, str) for name in features)


def records_of(
    side: Predictions, features: ArrayLike | Sequence[str] | None, name: str
) -> NDArray[Any] | None:
    """Return the records of one side as a matrix of numbers; None where none are given."""
    if features is None or (are_columns(features) and not features):
        return None
    if are_columns(features):
        features = np.column_stack(list(contents_of(side, cast(Sequence[str], features)).values()))
    return matrix_of(features, len(side), name)


@dataclass(frozen=True, eq=False, repr=False)
class AttackFindings:
    """Results of all attacks on one classifier."""

    evaluations: tuple[Evaluation, ...]
    """One per attack, in the order of the suite."""
    headline: Headline
    """The result that the verdict is about."""
    risk: Risk
    """The privacy risk score."""
    slices: SliceTable
    """Exposure of groups of records."""
    facts: tuple[Fact, ...]
    """Facts about the release."""
    targets: SeveralTargets | None = None
    """The same attacks on further targets, if a half-width was asked for."""
    more_models: tuple[Foretold, ...] = ()
    """Predicted results of attacks with more shadow models, where the present ones allow it."""
    comparison: Comparison | None = None
    """The records on which members and non-members were compared; None without a comparison."""
    questions: Questions | None = None
    """The answers about few records and about groups, with the power to detect them; None where
    only the average was asked for."""
    unmatched: Headline | None = None
    """Results on all records, where some were left out for a column that may have been made from
    the answers."""


@dataclass(frozen=True, eq=False)
class PlayedAttacks:
    """Results over all records, and scores record by record."""

    found: AttackFindings
    """Results over all records."""
    scores: Mapping[str, Floats]
    """Attack title to (n,) scores, in the order of the file; higher = more likely a member."""
    guesses: Mapping[str, Bools]
    """Attack title to (n,) guesses, in the order of the file."""
    risk: Floats
    """(n,) Privacy risk scores, in [0, 1]."""
    vulnerability: Vulnerability | None
    """Comparison of models with and without each record; None where there were none."""
    skipped: tuple[Skipped, ...]
    """Attacks that were skipped, with reasons."""
    warnings: tuple[str, ...]
    """Caveats for the reader."""


def attack_rounds(
    rounds: Sequence[Round],
    attacks: Sequence[Attack],
    target: Predictions,
    estimator: Estimator | None,
    columns: Mapping[str, NDArray[Any]],
    comparison: Comparison,
    seed: int,
    level: float,
    *,
    has_shadow: bool,
) -> PlayedAttacks:
    """Return the results of a suite of attacks on rounds that are already dealt.

    Targets are the rows of `target`, `columns` their groups; `comparison` says on which of them
    members and non-members are compared, though all have their scores; `has_shadow` is whether the
    shadow records come from other models, and not from the target's other half.
    """
    caveats.require_varied_answers(target)
    compared = comparison.compared
    results = telling(audit(rounds, attacks, compared=compared, seed=seed, level=level))
    played = played_of(results)
    risk, risks = risk_of(
        rounds, estimator, labels=target.labels, seed=seed, level=level, compared=compared
    )
    facts, differ = caveats.compare_accuracies(*_right_predictions(rounds, has_shadow), level)
    best = headline(played, seed=seed, level=level, share=AVERAGE_SHARE)
    unmatched = None
    if comparison.doubtful:
        unmatched = headline(
            played_of(telling(audit(rounds, attacks, seed=seed, level=level))),
            seed=seed,
            level=level,
            share=AVERAGE_SHARE,
        )
    transcripts = [(evaluation.title, result.transcript) for result, evaluation in played]
    handicaps = {
        one.title: HANDICAP
        for _, one in played
        if one.thresholds == "per-class" or one.name in _TAUGHT
    }
    table = slice_table(
        rounds,
        target,
        columns=columns,
        compared=compared,
        transcripts=transcripts,
        seed=seed,
        level=level,
        handicaps=handicaps,
    )
    questions = answer_questions(
        transcripts,
        table,
        rng=seeds.stream(seed, "few records"),
        each=best.each,
        level=level,
        handicaps=handicaps,
    )
    scores = {}
    guesses = {}
    for result, evaluation in played:
        everything = result.everything
        order = everything.transcript.target
        scores[evaluation.title] = in_file_order(everything.transcript.score, order)
        guesses[evaluation.title] = in_file_order(everything.decisions.guess, order)
    left_out = (result for result in results if isinstance(result, Skipped))
    return PlayedAttacks(
        found=AttackFindings(
            evaluations=tuple(evaluation for _, evaluation in played),
            headline=best,
            risk=risk,
            slices=table,
            facts=facts,
            comparison=comparison,
            questions=questions,
            unmatched=unmatched,
        ),
        scores=scores,
        guesses=guesses,
        risk=risks,
        vulnerability=vulnerability(rounds, attacks, seeds.stream(seed, "vulnerability"), level),
        skipped=tuple(left_out),
        warnings=(
            *caveats.rounding_warning(rounds, has_shadow),
            *caveats.too_small(played[0][1]),
            *differ,
            *caveats.calibration_warning(risk),
        ),
    )


def _right_predictions(
    rounds: Sequence[Round], has_shadow: bool
) -> tuple[caveats.Rows, caveats.Rows | None]:
    """Return which predictions of target and shadow model are right, from the rounds' signals."""
    right = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
    secret = np.concatenate([r.secret for r in rounds])
    ours = right, secret, np.concatenate([r.unit for r in rounds])
    # Without a shadow file the shadow records are the target's own other half.
    shadow = rounds[0].observation.shadow if has_shadow else None
    if shadow is None:
        return ours, None
    return ours, (shadow.signals["correctness"] == 1.0, shadow.member, shadow.unit)
