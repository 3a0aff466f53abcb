"""Options of `privacygauge language split`, and the split that it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from privacygauge.audits.asking import Request, argument, asks
from privacygauge.audits.language_models import group_option, ids_option, text_option

if TYPE_CHECKING:
    from privacygauge.audits.work import Work

NAME = "split"
"""The command, below ``language``."""

HELP = """Deal people into members, non-members, population and reference, before a training.

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


def play(asked: SplitRequest, work: Work) -> str:
    """Deal the texts, write the sides and the coins, and return a summary."""
    from pathlib import Path

    from privacygauge.errors import OutputError
    from privacygauge.language.splitting import redealt, split_texts, write_sides
    from privacygauge.language.text_files import Columns, load_texts
    from privacygauge.runs.folder import Folder, absolute_place, place_text

    folder = Path(asked.out)
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
