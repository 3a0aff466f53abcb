"""The audit of a classifier from its predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leakscope.audit import caveats
from leakscope.audit.attacks import audit, headline
from leakscope.audit.result import Audit
from leakscope.classifier.files import PredictionsLike, as_predictions
from leakscope.classifier.game import PredictionGame
from leakscope.classifier.predictions import Predictions
from leakscope.classifier.signals import top_probability
from leakscope.classifier.suite import prediction_attacks
from leakscope.core import checks, seeds
from leakscope.core.attacks.posterior import Estimator, RiskScore
from leakscope.core.attacks.threshold import Threshold
from leakscope.core.checks import Bools, Floats
from leakscope.core.estimate import Skipped
from leakscope.core.game import Attack, Play, Round, play
from leakscope.core.versions import own_version, versions
from leakscope.errors import InputError
from leakscope.evaluate.evaluation import Evaluation
from leakscope.evaluate.findings import Records
from leakscope.evaluate.risk import Risk, assess_risk
from leakscope.evaluate.slices import SliceTable, deciles, find_slices

MOST_GROUPS = 200
"""A column with more distinct values is cut into deciles (numbers) or not sliced by (texts)."""


def audit_classifier(
    target: PredictionsLike,
    shadow: PredictionsLike | None = None,
    *,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    allow_missing_classes: bool = False,
    show_columns: Sequence[str] = (),
    drawn: bool = False,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_classifier",
    provenance: Mapping[str, str] | None = None,
) -> Audit:
    """Audit a classifier from its predictions alone.

    Parameters
    ----------
    target : Predictions, path, mapping of arrays, or data frame
        Predictions of the audited model on known members and known non-members; see
        `as_predictions`.
    shadow : Predictions, path, mapping of arrays, or data frame, optional
        Predictions of a model that the adversary trained itself, on records of its own. Without
        it thresholds are cross-fitted: learnt on one half of the targets, used on the other.
    attacks : sequence of Attack, optional
        The suite of `prediction_attacks` where nothing is given.
    estimator : Estimator, optional
        Of the privacy risk score; isotonic regression where nothing is given.
    slices : mapping of str to array_like (n,), or sequence of str, optional
        Groups to look at beside the classes and the deciles of confidence: columns, or names of
        columns of the file; all columns of the file where nothing is given.
    allow_missing_classes : bool
        Whether classes without any shadow record may fall back to the global threshold.
    show_columns : sequence of str
        Columns of the target whose contents the report may show beside the riskiest records.
    drawn : bool
        Whether fair, independent coins made the target's members, as `train_predictions` does.
        The report says so: where the bits came with the data, other differences between members
        and non-members look like leakage too.
    seed : int
        All random draws derive from it.
    level : float
        Of every interval, in (0, 1).
    command : str
        What the report names as its origin.
    provenance : mapping of str to str, optional
        Further lines for the report, such as hashes of the inputs.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Song & Mittal (2021), sections 3 and 4.
    """
    checks.level(level)
    seeds.non_negative(seed)
    target = as_predictions(target, "target")
    shadow = None if shadow is None else as_predictions(shadow, "shadow")
    caveats.require_other_rows(target, shadow)
    columns, unsliced = _columns(target, slices)
    contents = _contents(target, show_columns)
    game = PredictionGame(target, shadow)
    warnings = caveats.missing_classes(target, shadow, allow_missing_classes)
    rounds = game.deal(1, seeds.stream(seed, "deal"))
    suite = prediction_attacks(logits=target.logits) if attacks is None else attacks
    results = audit(rounds, suite, seed=seed, level=level)
    played = [result for result in results if not isinstance(result, Skipped)]
    if not played:
        raise InputError("no attack could be played: give at least one that fits predictions")
    skipped = [result for result in results if isinstance(result, Skipped)]
    if attacks is None and not target.logits:
        skipped.append(
            Skipped("scaled-logit", "orders records as confidence does unless logits are given")
        )
    risk, risk_scores = _risk(rounds, estimator, target, seed, level)
    table = _slices(rounds, target, columns, seed, level)
    skipped += [*table.skipped, *unsliced]
    facts, differ = caveats.accuracies(*_right_predictions(rounds, shadow is not None), level)
    warnings += [*caveats.too_small(target, played[0][1]), *differ, *caveats.uncalibrated(risk)]
    return Audit(
        command,
        own_version(),
        seed,
        level,
        caveats.game_description(target, shadow, drawn),
        tuple(evaluation for _, evaluation in played),
        headline(played, seed=seed, level=level),
        risk,
        table,
        _records(target, played, risk_scores, contents),
        facts,
        tuple(skipped),
        tuple(dict.fromkeys([*warnings, *(n for p, _ in played for n in p.notes)])),
        {**versions(), **(provenance or {})},
    )


def _right_predictions(
    rounds: Sequence[Round], has_shadow: bool
) -> tuple[caveats.SidesOfAModel, caveats.SidesOfAModel | None]:
    """Return what target and shadow model predict rightly, from the signals of the rounds."""
    right = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
    secret = np.concatenate([r.secret for r in rounds])
    # Without a shadow file the shadow records are the target's own other half.
    shadow = rounds[0].observation.shadow if has_shadow else None
    if shadow is None:
        return (right[secret], right[~secret]), None
    known = shadow.signals["correctness"] == 1.0
    return (right[secret], right[~secret]), (known[shadow.member], known[~shadow.member])


def _risk(
    rounds: Sequence[Round],
    estimator: Estimator | None,
    target: Predictions,
    seed: int,
    level: float,
) -> tuple[Risk, Floats]:
    attack = RiskScore(estimator=estimator)
    rngs = [seeds.stream(seed, "risk", number) for number in range(len(rounds))]
    played = play(attack, rounds, rngs)
    assert isinstance(played, Play)  # predictions always have the signal and a shadow
    order = played.transcript.target
    correct = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
    risk = assess_risk(
        played.transcript,
        attack.variant,
        target.labels[order],
        correct,
        seeds.stream(seed, "risk", "bootstrap"),
        level,
    )
    return risk, _in_file_order(played.transcript.score, order)


def _slices(
    rounds: Sequence[Round],
    target: Predictions,
    columns: Mapping[str, NDArray[Any]],
    seed: int,
    level: float,
) -> SliceTable:
    # The attack is named here, before anything was measured.
    attack = Threshold("modified-entropy", per_class=True)
    rngs = [seeds.stream(seed, "slices", number) for number in range(len(rounds))]
    played = play(attack, rounds, rngs)
    assert isinstance(played, Play)
    order = played.transcript.target
    groups = {
        "class": target.labels,
        "confidence": deciles(top_probability(target)),
        **columns,
    }
    in_order = {name: values[order] for name, values in groups.items()}
    return find_slices(played.decisions, in_order, "modified-entropy (per-class)", level)


def _columns(
    target: Predictions, slices: Mapping[str, ArrayLike] | Sequence[str] | None
) -> tuple[dict[str, NDArray[Any]], list[Skipped]]:
    """Return the groups of every column to slice by, and the columns that have too many."""
    if isinstance(slices, Mapping):
        chosen = {
            name: checks.vector(values, f"slice {name!r}", length=len(target))
            for name, values in slices.items()
        }
    else:
        names = target.columns if slices is None else slices
        missing = [name for name in names if name not in target.columns]
        if missing:
            have = ", ".join(target.columns) or "none"
            raise InputError(f"no column {missing[0]!r} to slice by; the columns are: {have}")
        chosen = {name: target.columns[name] for name in names}
    groups = {name: _groups(values) for name, values in chosen.items()}
    reason = f"more than {MOST_GROUPS} different texts: merge some"
    too_many = [Skipped(f"slices by {name}", reason) for name in groups if groups[name] is None]
    if too_many and slices is not None:
        raise InputError(f"{too_many[0].name}: {reason}")
    return {name: values for name, values in groups.items() if values is not None}, too_many


def _groups(values: NDArray[Any]) -> NDArray[Any] | None:
    if len(np.unique(values)) <= MOST_GROUPS and values.dtype.kind != "f":
        return values
    if values.dtype.kind in "iuf":
        return deciles(values.astype(np.float64))
    return None


def _contents(target: Predictions, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    missing = [name for name in names if name not in target.columns]
    if missing:
        have = ", ".join(target.columns) or "none"
        raise InputError(f"no column {missing[0]!r} to show; the columns are: {have}")
    return {name: target.columns[name] for name in names}


def _records(
    target: Predictions,
    played: Sequence[tuple[Play, Evaluation]],
    risk: Floats,
    contents: Mapping[str, NDArray[Any]],
) -> Records:
    scores: dict[str, Floats] = {}
    guesses: dict[str, Bools] = {}
    for result, evaluation in played:
        order = result.transcript.target
        scores[evaluation.title] = _in_file_order(result.transcript.score, order)
        guesses[evaluation.title] = _in_file_order(result.decisions.guess, order)
    return Records(target.ids, target.member, scores, guesses, risk, contents)


def _in_file_order(values: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    result = np.empty_like(values)
    result[order] = values
    return checks.frozen(result)
