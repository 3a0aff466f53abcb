"""`privacygauge language train-reference`."""

from __future__ import annotations

from typing import Annotated

import typer

from privacygauge.cli import options


def train_reference(
    texts: Annotated[
        str,
        typer.Argument(
            metavar="TEXTS",
            help="Texts of the same kind as those to be judged, none of them among these: .jsonl, "
            ".csv or .parquet with a column of texts, or .txt with one a line.",
            show_default=False,
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for the model, new or of the same training that was stopped.",
            show_default=False,
        ),
    ],
    text: Annotated[
        str, typer.Option("--text", metavar="COLUMN", help="Column of the texts.")
    ] = "text",
    layers: Annotated[int, typer.Option("--layers", metavar="N", help="Layers of the model.")] = 2,
    hidden: Annotated[int, typer.Option("--hidden", metavar="N", help="Width of the model.")] = 128,
    vocabulary: Annotated[
        int, typer.Option("--vocabulary", metavar="N", help="The most tokens.")
    ] = 4096,
    epochs: Annotated[
        int, typer.Option("--epochs", metavar="N", help="How often every text is seen.")
    ] = 40,
    device: Annotated[
        str, typer.Option("--device", metavar="NAME", help="Where it is trained, such as cuda.")
    ] = "cpu",
    precision: Annotated[
        str, typer.Option("--precision", metavar="NAME", help="float32 or bfloat16.")
    ] = "float32",
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Train a small reference model on texts that are not judged, tokenizer included.

    Example: privacygauge language train-reference others.jsonl --out reference
    """
    from privacygauge.cli.reference_request import ReferenceRequest, reference_of_request

    request = ReferenceRequest(
        texts, out, text, layers, hidden, vocabulary, epochs, device, precision, seed
    )
    trained = reference_of_request(request, quiet=quiet)
    if not quiet:
        print(trained.summary())
