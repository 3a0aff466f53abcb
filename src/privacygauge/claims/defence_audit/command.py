"""Options of `privacygauge defend`, and its run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privacygauge.claims.options import DefendedTraining, cost_teller
from privacygauge.classifiers.training_options import (
    DEFENCES,
    TRAINING,
    TRAINING_DEFENCES_HELP,
    materials,
    on_records,
)
from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, shares, with_low
from privacygauge.runs.options import Role, argument, asks, option

if TYPE_CHECKING:
    from privacygauge.claims.defence_audit.audit import DefenceAudit
    from privacygauge.kinds.session import Work

NAME = "defend"
"""Name of the command."""

METRICS = with_low(*shares("accuracy", "auc", "accuracy-left", "auc-left"))
"""Metrics that a release can be held to, of the least private of the defences and, left, the most
private.
"""


_HELP = """Compare defences of a classifier, by attackers who know them.

Example: privacygauge defend target.npz --shadow shadow.npz --defence memguard:1,label-only

Example: privacygauge defend --data people.csv --label income --defence dropout:0.5,dp-sgd:8
"""

_LIMITS = (
    "Exit with code 3 if METRIC of the best attack is above VALUE behind any of the defences: "
    "accuracy or auc; behind the best of them: accuracy-left or auc-left. Add .low for the lower "
    "end of the interval (accuracy.low=0.6)."
)


@dataclass(frozen=True, kw_only=True)
class DefendRequest(DefendedTraining):
    """Options of an audit of defences, from predictions in files or from models to train."""

    target: str | None = argument(
        "TARGET",
        "Undefended predictions of the audited model: .npz with probs (or logits), labels, "
        "member; .csv or .parquet with p_0 ... (or z_0 ...), label, member.",
    )
    shadow: str | None = asks(
        "SHADOW",
        "Undefended predictions of a model of your own, trained in the same way on other records; "
        "it gets the same defence.",
        role=Role.FILE,
    )
    defences: tuple[str, ...] = option(
        "--defence",
        "NAME[:N]",
        "Defences to compare: on answers memguard:BUDGET (L1, up to 2), binning:WIDTH, "
        "rounding:DIGITS, top-k:K, temperature:T or label-only; at training, with --data, "
        f"{TRAINING_DEFENCES_HELP}; several as a,b.",
        offers=DEFENCES,
    )
    classes: tuple[str, ...] = asks(
        "M|A,B,...",
        "Number of classes, or their names in the order of the columns p_0, p_1, ..., for labels "
        "that are texts. Default: as the predictions show.",
    )
    owner_target: str | None = asks(
        "FILE",
        "Predictions of the audited model on the records that its defence is fitted on: its "
        "members, and non-members that are not in TARGET. Default: TARGET is cross-fitted.",
    )
    owner_shadow: str | None = asks(
        "FILE", "The same for the shadow model; requires --owner-target."
    )
    shadows: int = asks(
        "N", "Number of shadow models to train, each in every way.", default=8, panel=TRAINING
    )

    @property
    def keeps(self) -> bool:
        """Whether models are trained."""
        return self.data is not None

    def check(self, jobs: int) -> None:
        """Refuse options that do not go together."""
        if not self.defences:
            raise InputError("at least one defence is needed, got none: --defence label-only")
        files = (self.target, self.shadow, self.owner_target, self.owner_shadow)
        if self.data is not None:
            if any(path is not None for path in files):
                raise InputError("give either files of predictions, or --data, not both")
        elif self.target is None or self.shadow is None:
            raise InputError(
                "give TARGET and --shadow SHADOW, files of predictions, or --data FILE to train "
                "models"
            )
        elif (self.owner_target is None) != (self.owner_shadow is None):
            raise InputError(
                "--owner-target and --owner-shadow go together: both defences must be fitted alike"
            )


def play(asked: DefendRequest, work: Work) -> DefenceAudit:
    """Run the requested audit, training the models that the run does not hold yet."""
    if asked.data is not None:
        from privacygauge.claims.defence_audit.audit import TrainingDefenceOptions

        # Before any of the user's code is imported: the run may have been made with other code.
        running = work.running(NAME, asked)
        given = materials(asked, work)
        with work.resumable(asked), work.bar("Training models, each in every way") as progress:
            return TrainingDefenceOptions(n_shadows=asked.shadows, delta=asked.delta).run(
                given.trainer,
                given.x,
                given.records.y,
                asked.defences,
                ids=given.records.ids,
                unit=given.records.unit,
                before=cost_teller(work),
                session=replace(on_records(running, given.records), progress=progress),
            )
    from privacygauge.claims.defence_audit.audit import DefenceOptions
    from privacygauge.claims.defences import named
    from privacygauge.classifiers.files import load_predictions
    from privacygauge.kinds.session import Session

    # Answers that exist already cannot be those of another training.
    trained = next((name for name in asked.defences if named.is_at_training(name)), None)
    if trained is not None:
        raise InputError(
            f"defence must be one of {named.DEFENCES} for predictions, got {trained!r}: give "
            "--data, and models are trained with it"
        )
    defences = [named.defence_named(name) for name in asked.defences]
    files = {name.replace("_", " "): path for name, path in asked.files().items()}
    with work.bar("Attacking") as progress:
        own = (asked.target, asked.shadow, asked.owner_target, asked.owner_shadow)
        target, shadow, target_owner, shadow_owner = (
            None if path is None else load_predictions(path, classes=asked.classes) for path in own
        )
        assert target is not None
        assert shadow is not None  # see `check`
        return DefenceOptions().run(
            target,
            shadow,
            defences,
            target_owner=target_owner,
            shadow_owner=shadow_owner,
            unit=asked.unit,
            session=Session(**asked.told(NAME, files), progress=progress),
        )


COMMAND = Command(
    NAME,
    group=HelpGroup.CLASSIFIER,
    request=DefendRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=_LIMITS,
    trains=True,
    keeps=True,
    tables=("defences.csv", "attacks.csv", "epochs.csv"),
)
