"""The audit of a network against an adversary who holds its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.classifier.predictions import (
    PredictionAuditOptions,
    assemble,
    game_description,
)
from privacygauge.audits.classifier.result import Audit
from privacygauge.audits.work import Running
from privacygauge.classifier.attacked import missing_classes, require_other_rows
from privacygauge.classifier.known import comparison_of
from privacygauge.classifier.predictions import predictions
from privacygauge.classifier.units_of_rows import settle_units
from privacygauge.classifier.white_box import (
    ShadowModule,
    WhiteBoxGame,
    white_box_attacks,
    white_box_side,
)
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.game import Attack

if TYPE_CHECKING:
    import torch


_BLACK_BOX = "Sees the model's full prediction and the true class of a record (black box)"
_WHITE_BOX = (
    "Holds the model's weights and sees the gradient of a record's loss (white box), its full "
    "prediction and its true class"
)


def audit_white_box(
    model: torch.nn.Module,
    x: ArrayLike,
    y: ArrayLike,
    member: ArrayLike,
    *,
    shadow: ShadowModule | None = None,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    slices: Mapping[str, ArrayLike] | None = None,
    ids: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    allow_missing_classes: bool = False,
    drawn: bool = False,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_white_box",
    provenance: Mapping[str, str] | None = None,
) -> Audit:
    """Audit a torch network against an adversary who holds its weights.

    Attacks with access to gradients and attacks on predictions play on the same records, so that
    the difference is what the weights add.

    Parameters
    ----------
    model : torch.nn.Module
        Takes (n, d) features and returns (n, k) logits. It is copied, not changed.
    x : array_like, shape (n, d)
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    member : array_like of bool, shape (n,)
        True where the record was in the training set; both kinds must occur.
    shadow : ShadowModule, optional
        Shadow model that the adversary learns from. Default: it knows the membership of two fifths
        of the records, learns on these, and is judged on another fifth, in turn.
    attacks : sequence of Attack, optional
        Default: the suite of `white_box_attacks`.
    estimator, slices, ids, unit
        As in `audit_model`; parts keep the records of a person together, too.
    allow_missing_classes : bool
        Whether classes without shadow records may use the global threshold.
    drawn : bool
        Whether fair, independent coins chose the members.
    seed, level, command, provenance
        As in `audit_model`.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Nasr, Shokri & Houmansadr (2019), section III; compared with attacks on predictions as in
    Song & Mittal (2021), section 3.3.4 and Table 5.
    """
    running = Running(command, seed, level)
    checks.kind(shadow, "shadow", ShadowModule, "pg.attacks.ShadowModule(model, x, y, member)")
    checks.kinds(attacks, "attacks", "score", "pg.attacks.Threshold(...)")
    checks.kind(estimator, "estimator", "learn", "pg.attacks.Isotonic()")
    target = white_box_side(model, x, y, member)
    own = (
        None if shadow is None else white_box_side(shadow.model, shadow.x, shadow.y, shadow.member)
    )
    signals = target.signals
    seen = predictions(
        logits=signals.logits,
        labels=signals.labels,
        member=target.member,
        ids=ids,
        columns=slices,
        unit=unit,
        name="target model",
    )
    owned = settle_units(seen, drawn=drawn, features=np.asarray(x))
    seen = owned.target
    # The units that were settled on the predictions hold for the gradients, too.
    game = WhiteBoxGame(replace(target, unit=seen.unit), own)
    known = None if own is None else own.predictions
    require_other_rows(seen, known)
    engine = {"model": type(model).__name__, "gradients": signals.engine}
    outside = game_description(seen, known, drawn)
    game_in_words = replace(
        outside,
        name="membership inference with the weights",
        adversary=outside.adversary.replace(_BLACK_BOX, _WHITE_BOX),
    )
    rounds = game.deal(1, seeds.stream(seed, "deal"))
    comparison, unused = comparison_of(
        rounds, owned, seed, level, features=np.asarray(x), drawn=drawn
    )
    return assemble(
        rounds,
        white_box_attacks() if attacks is None else attacks,
        target=seen,
        game=game_in_words,
        asked=PredictionAuditOptions(estimator, slices),
        running=replace(running, provenance={**engine, **(provenance or {})}),
        comparison=comparison,
        has_shadow=own is not None,
        features=np.asarray(x),
        warnings=[
            *missing_classes(seen, known, allow_missing_classes),
            *owned.warnings,
            *unused,
        ],
    )
