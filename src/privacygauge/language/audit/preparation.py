"""Options of `privacygauge language split` and `train-reference`: what comes before an audit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

from privacygauge.errors import InputError
from privacygauge.kinds.command import Tool
from privacygauge.kinds.request import Request
from privacygauge.language.model_options import group_option, ids_option, text_option
from privacygauge.runs.options import Role, argument, asks, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from privacygauge.kinds.session import Work
    from privacygauge.language.loading import Precision
    from privacygauge.language.training import TrainedModel


SPLIT = "split"
"""The command, below ``language``."""

SPLIT_HELP = """Deal people into members, non-members, population and reference, before a training.

Example: privacygauge language split notes.jsonl --out dealt
"""
"""Help of the command, with an example."""


@dataclass(frozen=True, kw_only=True)
class SplitRequest(Request):
    """Options for dealing texts by coins."""

    UNUSED: ClassVar[tuple[str, ...]] = ("level", "title", "note")

    texts: str = argument(
        "TEXTS",
        "All texts that a model may be trained on: .jsonl, .csv or .parquet with a column of texts "
        "and one of the people whom they are about, or .txt with one text per line.",
    )
    out: str = asks("DIR", "Folder for the dealt texts and coins.json: new, or empty.")
    population: float = asks("SHARE", "Share of the people for thresholds, in [0, 1).", default=0.2)
    reference: float = asks(
        "SHARE", "Share of the people for a reference model, in [0, 1).", default=0.3
    )
    models: int = asks(
        "N",
        "Number of further models to train, at least 2, each by coins of its own over the judged "
        "people: members-0.jsonl, members-1.jsonl and so on are written for them. Default: none.",
        default=0,
    )
    text: str = text_option()
    ids: str | None = ids_option()
    group: str | None = group_option()


def play_split(asked: SplitRequest, work: Work) -> str:
    """Deal the texts, write the sides and the coins, and return a summary."""
    from pathlib import Path

    from privacygauge.errors import OutputError
    from privacygauge.language.splitting import redealt, split_texts, write_sides
    from privacygauge.language.text_files import Columns, load_texts
    from privacygauge.runs.folder import Folder, absolute_place, place_text

    folder = Path(asked.out)
    # Refused, not overwritten: coins tossed again would void what was trained on the first ones.
    if Folder(absolute_place(folder)).names():
        raise OutputError(
            f"{place_text(folder)} is not empty: coins are tossed once; choose another folder"
        )
    found = split_texts(
        load_texts(asked.texts, Columns(asked.text, asked.ids, asked.group)),
        population=asked.population,
        reference=asked.reference,
        seed=asked.seed,
    )
    files = {}
    if asked.models:
        further = redealt(found, asked.models, asked.seed)
        for k, inside in enumerate(further.inside):
            files[f"members-{k}.jsonl"] = further.texts.rows(inside.nonzero()[0])
    write_sides(folder, found.sides, found.coins, files)
    members = place_text(folder / "members.jsonl")
    told = f"Train on {members} alone: everything else is needed for the audit."
    if files:
        told += f"\nTrain {len(files)} further models on members-0.jsonl and so on, one each."
    return f"{found.summary()}\n{told}"


# Options of `privacygauge language train-reference`, and the training that it starts.

TRAIN_REFERENCE = "train-reference"
"""The command, below ``language``."""

_SCRATCH = ("kind", "layers", "hidden", "vocabulary")

TRAINING_HELP = """\
Train a reference on texts that are not judged, from scratch or from a model of yours.

Example: privacygauge language train-reference others.jsonl --out reference

Example: privacygauge language train-reference others.jsonl --further start --out reference
"""
"""Help of the command, with an example."""


@dataclass(frozen=True, kw_only=True)
class ReferenceRequest(Request):
    """Options for training a reference model."""

    UNUSED: ClassVar[tuple[str, ...]] = ("level", "title", "note")

    texts: str = argument(
        "TEXTS",
        "Texts of the same kind as those to be judged, none of them among these: .jsonl, .csv or "
        ".parquet with a column of texts, or .txt with one text per line.",
    )
    out: str = asks(
        "DIR", "Folder for the model: new, or of the same training that was interrupted."
    )
    text: str = text_option()
    further: str | None = asks(
        "DIR",
        "Model to start from, with its tokenizer: a folder or s3:// URL with a masked or a "
        "causal model, such as the one that the target was trained further from. Default: a new "
        "one, from scratch.",
        role=Role.MODEL,
    )
    kind: str | None = asks(
        "NAME",
        "masked or causal. Default: masked, or that of --further.",
        offers=("masked", "causal"),
    )
    context: int | None = asks(
        "N",
        "Most tokens that the model reads at once; longer texts are cut off. Default: 128, or as "
        "many as that of --further can.",
    )
    layers: int | None = asks("N", "Number of layers of a new model. Default: 2.")
    hidden: int | None = asks("N", "Width of a new model. Default: 128.")
    vocabulary: int | None = asks("N", "Largest number of tokens of a new model. Default: 4096.")
    epochs: int | None = asks(
        "N", "Number of passes over the texts. Default: 40, or 3 with --further."
    )
    rate: float | None = option(
        "--learning-rate",
        "RATE",
        "Largest learning rate. Default: 0.001, or 0.00005 with --further, where a small model "
        "needs a larger one.",
    )
    device: str = asks("NAME", "Where the model is trained, such as cuda.", default="cpu")
    precision: str = asks(
        "NAME",
        "Precision of the model: float32 or bfloat16.",
        default="float32",
        offers=("float32", "bfloat16"),
    )

    def check(self, jobs: int) -> None:
        """Raise if both a model to start from and the shape of a new one are given."""
        named = [name for name in _SCRATCH if getattr(self, name) is not None]
        if self.further is not None and named:
            raise InputError(f"--{named[0]} goes with a new model, not with --further")


def play_reference(asked: ReferenceRequest, work: Work) -> str:
    """Train the model, resuming an interrupted training, and return a summary."""
    from privacygauge.language.text_files import Columns, load_texts
    from privacygauge.language.training import train_further, train_reference
    from privacygauge.runs.folder import require_local

    require_local(asked.out, "models are trained in folders")
    texts = load_texts(asked.texts, Columns(asked.text)).text
    further = asked.further
    # Only what was given: a new model and one trained further differ in defaults.
    names = (*_SCRATCH, "context", "epochs", "rate")
    options: dict[str, Any] = {name: getattr(asked, name) for name in names}
    given = {name: value for name, value in options.items() if value is not None}
    train: Callable[..., TrainedModel] = (
        train_reference if further is None else partial(train_further, further)
    )
    try:
        with work.bar("Training") as progress:
            trained = train(
                texts,
                asked.out,
                **given,
                device=asked.device,
                precision=cast("Precision", asked.precision),
                seed=asked.seed,
                progress=progress,
            )
    except KeyboardInterrupt:
        work.tell("\nprivacygauge: resume with the same command")
        raise
    return trained.summary()


COMMANDS = (
    Tool(f"language {TRAIN_REFERENCE}", ReferenceRequest, play_reference, TRAINING_HELP),
    Tool(f"language {SPLIT}", SplitRequest, play_split, SPLIT_HELP),
)
