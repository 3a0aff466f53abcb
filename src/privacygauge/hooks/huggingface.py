"""An audit that begins before a Hugging Face Trainer trains, and ends after it."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from privacygauge.errors import InputError
from privacygauge.hooks.canaries import Canaries

if TYPE_CHECKING:
    from transformers import Trainer

    from privacygauge.hooks.trainer_callback import TrainerAudit


def audit_trainer(
    trainer: Trainer,
    out: str | Path,
    *,
    unit: str | ArrayLike | None = None,
    text: str = "text",
    canaries: Canaries | None = None,
    reference: str | Path | None = None,
    tested: float = 0.5,
    seed: int = 0,
    level: float = 0.95,
) -> TrainerAudit:
    """Toss the coins of a training that is about to begin, and audit it when it ends.

    The training set of the trainer is replaced by what the coins put in, and a callback is added.
    Call it after the trainer is made and before ``trainer.train()``.

    Parameters
    ----------
    trainer : transformers.Trainer
        Of a causal or masked language model, or of a classifier.
    out : str or pathlib.Path
        Folder for the coins, which are written at once, and for the report, which is written at
        the end; beside a language model's report lie the model, its start, and the texts of both
        sides, for `privacygauge language`.
    unit : str or array_like (n,), optional
        The person behind each record, or the column of the training set that says so: one coin
        decides about all records of a person. Every record has its own by default.
    text : str
        Column of a language model's texts. Where there is none, tokens are turned into text.
    canaries : Canaries, optional
        To be put into the training set beside the records. None by default.
    reference : str or pathlib.Path, optional
        Folder of a language model that saw none of the texts; by default the model that the
        training starts from, which costs nothing.
    tested : float
        The share of the persons that coins decide about, in (0, 1]; all others are trained on.
    seed : int
        All random draws derive from it.
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    TrainerAudit
        The callback, whose `audit` and `canaries` are there when the training has ended.

    Raises
    ------
    InputError
        If packages are missing, the training set or the model is of another kind, or `out` holds
        the coins of another training.

    Notes
    -----
    A training that was stopped is resumed by the same calls: the coins in `out` are those that the
    arguments give, or there is an error.
    """
    absent = [name for name in ("torch", "transformers", "accelerate") if find_spec(name) is None]
    if absent:
        raise InputError(
            f"auditing a Trainer needs {', '.join(absent)}, which is not installed: "
            "pip install 'privacygauge[huggingface]'"
        )
    from privacygauge.hooks.trainer_callback import TrainerAuditOptions, callback_for

    asked = TrainerAuditOptions(
        unit=unit,
        text=text,
        canaries=canaries,
        reference=reference,
        tested=tested,
        seed=seed,
        level=level,
    )
    found = callback_for(trainer, Path(out), asked)
    trainer.train_dataset = found.training_set
    trainer.add_callback(found)
    return found
