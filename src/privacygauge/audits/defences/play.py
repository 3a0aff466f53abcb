"""The audit of defences: attacks without a defence, and with it by who knows it and who not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.classifier.doubts import of_classes
from privacygauge.audits.defences.found import DefenceAudit
from privacygauge.audits.running import Running
from privacygauge.classifier import caveats
from privacygauge.classifier.defences import judging
from privacygauge.classifier.defences.defence import Defence
from privacygauge.classifier.defences.defended import require_different
from privacygauge.classifier.defences.games import DefenceGames, defence_attacks, defence_games
from privacygauge.classifier.files import PredictionsLike, as_predictions
from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.whose import settled, with_unit
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack
from privacygauge.errors import InputError
from privacygauge.evaluate.best_attack import BestAttack
from privacygauge.evaluate.compared_defences import ComparedDefence, compared
from privacygauge.evaluate.defences import JudgedDefence
from privacygauge.report import direction

_CROSSFITTED = (
    "on all members and, in turn, on either half of the non-members, to answer the other half"
)
_OWNED = "on records of the owner that are not judged"
_AT_HAND = "by the owner: the defended answers were given"


@dataclass(frozen=True, eq=False)
class Setting:
    """What stands in the report beside the numbers."""

    target: Predictions
    """The judged model's."""
    fitted: str
    """As in `DefenceAudit`."""
    warnings: Sequence[str]
    """As in `Origin`."""
    running: Running
    """What the report says of where it comes from."""
    failed: Sequence[Skipped] = ()
    """Defences whose training failed."""
    about: Mapping[str, str] | None = None
    """As in `Running.origin`."""
    package: str | None = None
    """What models were trained with, whose version is named."""


def audit_defences(
    target: PredictionsLike,
    shadow: PredictionsLike,
    defences: Sequence[Defence],
    *,
    target_owner: PredictionsLike | None = None,
    shadow_owner: PredictionsLike | None = None,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    unit: ArrayLike | str | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_defences",
    provenance: Mapping[str, str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> DefenceAudit:
    """Return what attacks achieve against each defence, and what the defence costs.

    Parameters
    ----------
    target : Predictions, path, mapping of arrays, or data frame
        Undefended predictions of the audited model on known members and known non-members.
    shadow : Predictions, path, mapping of arrays, or data frame
        Undefended predictions of a model that the adversary trained, on records of its own.
    defences : sequence of Defence
        At least one, such as ``MemGuard(budget=1.0)``.
    target_owner, shadow_owner : optional
        Predictions of either model on the records that its defence is fitted on: its members,
        and non-members that are not judged. Without them the judged records are cross-fitted.
    attacks : sequence of Attack, optional
        By default, the suite of `prediction_attacks` and two neural networks.
    estimator : Estimator, optional
        Of the privacy risk score; default: isotonic regression.
    unit : array_like (n,) or str, optional
        The person behind each row of the target, or the name of the column that says so; as in
        `audit_classifier`.
    progress : callable, optional
        Called with the games that were played and their number after each of them.
    seed, level, command, provenance
        As in `audit_model`.

    Returns
    -------
    DefenceAudit
        For each defence every attack three times: on the undefended model, by an adversary who
        does not know of the defence, and by one who does. Only the last tells what the defence
        is worth.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Song & Mittal (2021), section 3.2.
    """
    running = Running(command, seed, level, provenance)
    target, of_units = settled(with_unit(as_predictions(target, "target"), unit))
    shadow = as_predictions(shadow, "shadow")
    require_different(defences)
    asked = _asked(target, shadow, attacks, estimator, seed, level)
    warnings = [*of_units, *_warnings(target, shadow, level)]
    owners = [
        None if given is None else as_predictions(given, name)
        for given, name in ((target_owner, "target_owner"), (shadow_owner, "shadow_owner"))
    ]
    told = progress or (lambda done, total: None)
    undefended = asked.of(PredictionGame(target, shadow))
    told(1, len(defences) + 1)
    results = []
    for done, defence in enumerate(defences, start=2):
        rng = seeds.stream(seed, "defence", defence.name, defence.variant)
        games = defence_games(
            defence, target, shadow, rng, target_owner=owners[0], shadow_owner=owners[1]
        )
        results.append(judging.judged(defence.name, defence.variant, games, undefended, asked))
        told(done, len(defences) + 1)
    fitted = _CROSSFITTED if target_owner is None else _OWNED
    setting = Setting(target, fitted, warnings, running)
    return audit_of(
        undefended, results, [judging.can_be_undone(x) for x in defences], asked, setting
    )


def audit_defended(
    target: PredictionsLike,
    shadow: PredictionsLike,
    defended_target: PredictionsLike,
    defended_shadow: PredictionsLike,
    *,
    name: str = "defended",
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    unit: ArrayLike | str | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_defended",
    provenance: Mapping[str, str] | None = None,
) -> DefenceAudit:
    """Return the same as `audit_defences` for one defence whose answers are available.

    Parameters
    ----------
    target, shadow : Predictions, path, mapping of arrays, or data frame
        Undefended predictions of either model.
    defended_target, defended_shadow : Predictions, path, mapping of arrays, or data frame
        What the defended models answer on the same records, in the same order.
    name : str
        Of the defence, for the reader.
    attacks, estimator, unit, seed, level, command, provenance
        As in `audit_defences`.

    Raises
    ------
    InputError
        If the defended answers are on other records.
    """
    running = Running(command, seed, level, provenance)
    target, of_units = settled(with_unit(as_predictions(target, "target"), unit))
    shadow = as_predictions(shadow, "shadow")
    answers = as_predictions(defended_target, "defended_target")
    own = as_predictions(defended_shadow, "defended_shadow")
    _require_same_records(target, answers, "defended_target", "target")
    _require_same_records(shadow, own, "defended_shadow", "shadow")
    answers = replace(answers, unit=target.unit)
    asked = _asked(target, shadow, attacks, estimator, seed, level)
    warnings = [*of_units, *_warnings(target, shadow, level)]
    games = DefenceGames(
        PredictionGame(target, shadow),
        PredictionGame(answers, shadow),
        PredictionGame(answers, own),
    )
    undefended = asked.of(games.undefended)
    result = judging.judged(name, "", games, undefended, asked)
    setting = Setting(target, _AT_HAND, warnings, running)
    return audit_of(undefended, [result], [False], asked, setting)


def _asked(
    target: Predictions,
    shadow: Predictions,
    attacks: Sequence[Attack] | None,
    estimator: Estimator | None,
    seed: int,
    level: float,
) -> judging.Asked:
    """Return what every game is asked, all of it checked."""
    caveats.require_other_rows(target, shadow)
    caveats.require_different(target)
    suite = defence_attacks(logits=target.logits) if attacks is None else attacks
    return judging.Asked(tuple(suite), estimator, seed, level)


def _warnings(target: Predictions, shadow: Predictions, level: float) -> list[str]:
    missing = caveats.missing_classes(target, shadow, True)
    ours, theirs = (
        (x.values.argmax(axis=1) == x.labels, x.member, x.units) for x in (target, shadow)
    )
    return [*missing, *caveats.accuracies(ours, theirs, level)[1]]


def audit_of(
    undefended: judging.Found,
    results: Sequence[JudgedDefence],
    undone: Sequence[bool],
    asked: judging.Asked,
    setting: Setting,
    *,
    beside: int = 0,
) -> DefenceAudit:
    """Return the audit of defences that were judged already.

    `undone` is for each whether it can be undone; `beside` is as in `compared`.
    """
    none, others = compared(
        judging.evaluations(undefended.results), results, undone, asked.level, beside=beside
    )
    member = setting.target.member
    skipped = (result for result in undefended.results if isinstance(result, Skipped))
    doubts = tuple(of_classes(setting.target, asked.level))
    origin = setting.running.origin(
        setting.package,
        skipped=(*setting.failed, *skipped),
        warnings=(*setting.warnings, *doubts, *_warnings_of(none, others)),
        about=setting.about,
    )
    headline, risk, fitted = asked.headline(undefended), undefended.risk, setting.fitted
    n_in, n_out = (int(np.count_nonzero(side)) for side in (member, ~member))
    return DefenceAudit(origin, headline, risk, none, others, n_in, n_out, fitted, doubts=doubts)


def _require_same_records(before: Predictions, after: Predictions, name: str, of: str) -> None:
    if not all(
        np.array_equal(getattr(before, field), getattr(after, field))
        for field in ("labels", "member")
    ):
        raise InputError(
            f"{name} must be about the records of {of}, in its order: their labels or their "
            "membership differ"
        )


def _warnings_of(none: BestAttack, compared: Sequence[ComparedDefence]) -> tuple[str, ...]:
    """Return warnings that name the attacks that take members for non-members."""
    behind = (direction.warnings(c.left.inverted, c.title) for c in compared)
    return (*direction.warnings(none.inverted, "Without a defence"), *chain(*behind))
