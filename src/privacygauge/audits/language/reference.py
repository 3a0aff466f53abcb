"""What `privacygauge language train-reference` asks, and doing it: no audit, but made for one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from privacygauge.audits.asking import Request, argument, option
from privacygauge.audits.language_models import text_option

if TYPE_CHECKING:
    from privacygauge.audits.work import Work
    from privacygauge.language.precision import Precision

NAME = "train-reference"
"""The command, below ``language``."""

HELP = """Train a small reference model on texts that are not judged, tokenizer included.

Example: privacygauge language train-reference others.jsonl --out reference
"""
"""What it does, with an example."""


@dataclass(frozen=True, kw_only=True)
class ReferenceRequest(Request):
    """What was asked."""

    UNUSED: ClassVar[tuple[str, ...]] = ("level", "title", "note")

    texts: str = argument(
        "TEXTS",
        "Texts of the same kind as those to be judged, none of them among these: .jsonl, .csv or "
        ".parquet with a column of texts, or .txt with one text per line.",
    )
    out: str = option(
        "--out", "DIR", "Folder for the model: new, or of the same training that was interrupted."
    )
    text: str = text_option()
    layers: int = option("--layers", "N", "Number of layers of the model.", default=2)
    hidden: int = option("--hidden", "N", "Width of the model.", default=128)
    vocabulary: int = option("--vocabulary", "N", "Largest number of tokens.", default=4096)
    epochs: int = option("--epochs", "N", "Number of passes over the texts.", default=40)
    device: str = option(
        "--device", "NAME", "Where the model is trained, such as cuda.", default="cpu"
    )
    precision: str = option(
        "--precision",
        "NAME",
        "Precision of the model: float32 or bfloat16.",
        default="float32",
        offers=("float32", "bfloat16"),
    )


def play(asked: ReferenceRequest, work: Work) -> str:
    """Train the model, resuming an interrupted training, and return what is said of it."""
    from privacygauge.language.text_files import Columns, load_texts
    from privacygauge.language.training import train_reference
    from privacygauge.runs.folder import require_local

    require_local(asked.out, "models are trained in folders")
    texts = load_texts(asked.texts, Columns(asked.text)).text
    try:
        with work.bar("Training") as progress:
            trained = train_reference(
                texts,
                asked.out,
                layers=asked.layers,
                hidden=asked.hidden,
                vocabulary=asked.vocabulary,
                epochs=asked.epochs,
                device=asked.device,
                precision=cast("Precision", asked.precision),
                seed=asked.seed,
                progress=progress,
            )
    except KeyboardInterrupt:
        work.tell("\nprivacygauge: resume with the same command")
        raise
    return trained.summary()
