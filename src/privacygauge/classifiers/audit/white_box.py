"""The audit of a network against an adversary who holds its weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.classifiers.attacked import missing_classes, require_other_rows
from privacygauge.classifiers.audit.predictions import (
    DealtGame,
    PredictionAuditOptions,
    assemble,
    game_description,
)
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.known import comparison_of
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.units_of_rows import settle_units
from privacygauge.classifiers.white_box import (
    ShadowModule,
    WhiteBoxGame,
    white_box_attacks,
    white_box_side,
)
from privacygauge.core import checks, seeds
from privacygauge.core.attacks.posterior import Estimator
from privacygauge.core.game import Attack
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.runs.options import Options, keyword

if TYPE_CHECKING:
    import torch


_BLACK_BOX = "Sees the model's full prediction and the true class of a record (black box)"
_WHITE_BOX = (
    "Holds the model's weights and sees the gradient of a record's loss (white box), its full "
    "prediction and its true class"
)


@dataclass(frozen=True, kw_only=True)
class WhiteBoxOptions(Options):
    """An audit of a torch network against an adversary who holds its weights."""

    attacks: Sequence[Attack] | None = keyword(
        "Attacks; default: the suite of `white_box_attacks`.", default=None
    )
    estimator: Estimator | None = keyword(
        "Estimator of the privacy risk score; default: isotonic regression.", default=None
    )
    allow_missing_classes: bool = keyword(
        "Whether classes without shadow records may use the global threshold.", default=False
    )
    shadow: ShadowModule | None = keyword(
        "Shadow model that the adversary learns from. Default: it knows the membership of two "
        "fifths of the records, learns on these, and is judged on another fifth, in turn.",
        default=None,
    )
    drawn: bool = keyword("Whether fair, independent coins chose the members.", default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.kinds(self.attacks, "attacks", "score", "pg.attacks.Threshold(...)")
        checks.kind(self.estimator, "estimator", "learn", "pg.attacks.Isotonic()")
        checks.kind(
            self.shadow, "shadow", ShadowModule, "pg.attacks.ShadowModule(model, x, y, member)"
        )

    def run(
        self,
        model: torch.nn.Module,
        x: ArrayLike,
        y: ArrayLike,
        member: ArrayLike,
        *,
        slices: Mapping[str, ArrayLike] | None = None,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        session: Session = Session("white-box"),
    ) -> Audit:
        """Audit a torch network against an adversary who holds its weights.

        Attacks with access to gradients and attacks on predictions play on the same records, so
        that the difference is what the weights add.

        Parameters
        ----------
        model : torch.nn.Module
            Takes (n, d) features and returns (n, k) logits. It is copied, not changed.
        x : array_like, shape (n, d)
        y : array_like of int, shape (n,)
            Classes in 0..k-1.
        member : array_like of bool, shape (n,)
            True where the record was in the training set; both kinds must occur.
        slices, ids, unit
            As in `audit_model`; parts keep the records of a person together, too.
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
        Nasr, Shokri & Houmansadr (2019), section III; compared with attacks on predictions as in
        Song & Mittal (2021), section 3.3.4 and Table 5.
        """
        shadow = self.shadow
        target = white_box_side(model, x, y, member)
        own = (
            None
            if shadow is None
            else white_box_side(shadow.model, shadow.x, shadow.y, shadow.member)
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
        owned = settle_units(seen, drawn=self.drawn, features=np.asarray(x))
        seen = owned.target
        # The units that were settled on the predictions hold for the gradients, too.
        game = WhiteBoxGame(replace(target, unit=seen.unit), own)
        known = None if own is None else own.predictions
        require_other_rows(seen, known)
        engine = {"model": type(model).__name__, "gradients": signals.engine}
        outside = game_description(seen, known, self.drawn)
        game_in_words = replace(
            outside,
            name="membership inference with the weights",
            adversary=outside.adversary.replace(_BLACK_BOX, _WHITE_BOX),
        )
        rounds = game.deal(1, seeds.stream(session.seed, "deal"))
        comparison, unused = comparison_of(
            rounds, owned, session.seed, session.level, features=np.asarray(x), drawn=self.drawn
        )
        attacks = white_box_attacks() if self.attacks is None else self.attacks
        return assemble(
            DealtGame(
                rounds,
                seen,
                description=game_in_words,
                comparison=comparison,
                has_shadow=own is not None,
                features=np.asarray(x),
            ),
            PredictionAuditOptions(attacks, self.estimator, slices),
            replace(session, provenance={**engine, **(session.provenance or {})}),
            warnings=[
                *missing_classes(seen, known, self.allow_missing_classes),
                *owned.warnings,
                *unused,
            ],
        )


audit_white_box = one_line(WhiteBoxOptions, WhiteBoxOptions.run, "audit_white_box", without=KEEPING)
