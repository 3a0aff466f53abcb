"""Audit of a Hugging Face Trainer: coins before the training, attacks after it."""

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
    """Toss coins for a training that is about to begin, and audit it when it ends.

    The training set of the trainer is replaced by the records that coins put in, and a callback is
    added. Call it after the trainer is made and before ``trainer.train()``.

    Parameters
    ----------
    trainer : transformers.Trainer
        Trainer of a causal or masked language model, or of a classifier.
    out : str or pathlib.Path
        Folder for the coins, written at once, and for the report, written at the end. For a
        language model it also gets the trained model, the model at the start, and the texts of
        both sides, for `privacygauge language`.
    unit : str or array_like (n,), optional
        Person behind each record, or the column of the training set with the persons: one coin
        decides about all records of a person. By default every record is a person.
    text : str
        Column of a language model's texts. Without it, texts are decoded from tokens.
    canaries : Canaries, optional
        Canaries to insert into the training set. None by default.
    reference : str or pathlib.Path, optional
        Folder of a language model that saw none of the texts; by default the model at the start of
        the training, which costs nothing.
    tested : float
        Share of the persons with a coin, in (0, 1]; all others are trained on.
    seed : int
        Seed of all random draws.
    level : float
        Level of every interval, in (0, 1).

    Returns
    -------
    TrainerAudit
        Callback with `audit` and `canaries`, which are set when the training has ended.

    Raises
    ------
    InputError
        If packages are missing, the training set or the model is of another kind, or `out` holds
        the coins of another training.

    Notes
    -----
    The same calls resume an interrupted training: the coins that follow from the arguments must be
    those in `out`.
    """
    # Before the callback is imported, which needs all of them.
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
    # The trainer gets the dealt records: coins are tossed before it begins.
    trainer.train_dataset = found.training_set
    trainer.add_callback(found)
    return found
