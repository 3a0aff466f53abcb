"""Options of `privacygauge language` that concern models and texts."""

from __future__ import annotations

from typing import Annotated

import typer

MODELS = "From models"
"""The heading of options that name models and texts."""

ASKING = "How models are asked"
"""The heading of options that say what models are asked."""

Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="DIR",
        help="The model to audit: a folder of this machine with safetensors and tokenizer.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="DIR",
        help="A model of the same kind that saw none of the texts. Without it only weak "
        "attacks are played.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
Members = Annotated[
    str | None,
    typer.Option(
        "--members",
        metavar="FILE",
        help="Texts that the target was trained on: .jsonl, .csv or .parquet with a column of "
        "texts, or .txt with one a line.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
NonMembers = Annotated[
    str | None,
    typer.Option(
        "--nonmembers",
        metavar="FILE",
        help="Texts like them that it was not trained on.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
Population = Annotated[
    str | None,
    typer.Option(
        "--population",
        metavar="FILE",
        help="Further texts like them, not judged: thresholds are taken there.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
TextColumn = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="Column of the texts. Default: text.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
IdColumn = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column of their ids. Default: sample or id, or the rows.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Column of whom they are about. Default: group, patient, patient_id, note or note_id.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
Answers = Annotated[
    str | None,
    typer.Option(
        "--answers",
        metavar="DIR",
        help="Folder for what models answer, which several audits may share: a reference is "
        "asked once. Default: inside of --out.",
        show_default=False,
        rich_help_panel=MODELS,
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="NAME",
        help="masked or causal. Default: as the target's config.json says.",
        show_default=False,
        rich_help_panel=ASKING,
    ),
]
Masks = Annotated[
    int | None,
    typer.Option(
        "--masks",
        metavar="K",
        help="Masks a text. Default: 10.",
        show_default=False,
        rich_help_panel=ASKING,
    ),
]
Pattern = Annotated[
    str | None,
    typer.Option(
        "--pattern",
        metavar="NAME",
        help="How masks are drawn: balanced (every token equally often), random (as "
        "published), single (every token once, alone) or exhaustive. Default: balanced.",
        show_default=False,
        rich_help_panel=ASKING,
    ),
]
Form = Annotated[
    str | None,
    typer.Option(
        "--form",
        metavar="NAME",
        help="Of an energy: mean or sum over a mask's tokens. Default: mean.",
        show_default=False,
        rich_help_panel=ASKING,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Where models run, such as cuda. Default: cpu.",
        show_default=False,
        rich_help_panel=ASKING,
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--precision",
        metavar="NAME",
        help="What they compute in: float32 or bfloat16. Default: float32.",
        show_default=False,
        rich_help_panel=ASKING,
    ),
]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        help="Processes that ask at the same time, each with the model in its memory; -1 for "
        "one a core. Default: 1.",
        show_default=False,
        rich_help_panel=ASKING,
    ),
]
