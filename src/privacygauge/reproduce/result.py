"""A reproduction that was run, as it is kept: the table, how it was made, and the verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.reproduce.table import Cell, Row, Table
from privacygauge.reproduce.verdict import JudgedClaim, Judgement

QUICK = "quick"
"""The small form of a reproduction."""

FULL = "full"
"""The form of a reproduction in the paper's size, or in the largest that its docstring names."""


@dataclass(frozen=True)
class ReproductionResult:
    """A table that was made, and how."""

    table: Table
    """What came out."""
    form: str
    """`full`, `quick`, or which part of the full form."""
    seed: int
    """All random draws derive from it."""
    seconds: float
    """How long it took, less what was kept from an earlier run."""
    version: str
    """PrivacyGauge's."""
    data: Mapping[str, str] = field(default_factory=dict)
    """The paper's own data that a reader gave, by name: size and checksum."""

    def to_json(self, judgement: Judgement) -> str:
        """Return it as JSON text, with what the judgement says of every number and claim."""
        verdict = judgement.of(self.table)
        plain = {
            "name": self.table.name,
            "title": self.table.title,
            "form": self.form,
            "seed": self.seed,
            "seconds": round(self.seconds, 1),
            "version": self.version,
            "verdict": verdict.word,
            "counts": verdict.counts,
            "notes": list(self.table.notes),
            **({"data": dict(self.data)} if self.data else {}),
            "claims": self.claims(judgement),
            "cells": judged_lines(self.table, judgement),
        }
        return json.dumps(plain, indent=1, allow_nan=False) + "\n"

    def claims(self, judgement: Judgement) -> list[dict[str, Any]]:
        """Return one mapping for every claim: its effect and what is said of it."""
        return [_plain_claim(one) for one in judgement.of(self.table).claims]


def judged_lines(table: Table, judgement: Judgement) -> list[dict[str, Any]]:
    """Return one mapping for every cell, with what is said of it where the paper has a number."""
    words = [
        judgement.of_cell(row.label, column, cell)
        for row in table.rows
        for column, cell in row.cells.items()
    ]
    lines = table.lines()
    return [
        line if word is None else {**line, "verdict": word}
        for line, word in zip(lines, words, strict=True)
    ]


def read_result(path: Path) -> ReproductionResult:
    """Return a kept result; the verdict is not read but judged again.

    Raises
    ------
    InputError
        If the file is none.
    """
    try:
        plain = json.loads(path.read_text(encoding="utf-8"))
        rows: dict[str, dict[str, Cell]] = {}
        for line in plain["cells"]:
            rows.setdefault(line["row"], {})[line["column"]] = _cell(line)
        table = Table(
            plain["name"],
            plain["title"],
            tuple(Row(label, cells) for label, cells in rows.items()),
            tuple(plain["notes"]),
        )
        return ReproductionResult(
            table=table,
            form=plain["form"],
            seed=plain["seed"],
            seconds=plain["seconds"],
            version=plain["version"],
            data=plain.get("data", {}),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} is not a result of `privacygauge reproduce`, or of an older version: make it "
            "again, or remove it"
        ) from error


def _cell(line: Mapping[str, Any]) -> Cell:
    if line["ours"] is None:
        return Cell(line["published"], Skipped(line["column"], line["skipped"]))
    numbers = (line[key] for key in ("ours", "low", "high", "level", "n", "method"))
    return Cell(line["published"], Estimate(*numbers))


def _plain_claim(one: JudgedClaim) -> dict[str, Any]:
    plain: dict[str, Any] = {"claim": one.claim, "verdict": one.word}
    if isinstance(one.effect, Skipped):
        return {**plain, "skipped": one.effect.reason}
    effect = one.effect
    return {**plain, "effect": effect.value, "low": effect.low, "high": effect.high}


def claim_row(line: Mapping[str, Any]) -> dict[str, object]:
    """Return a claim as people read it."""
    if "effect" not in line:
        return {"claim": line["claim"], "effect": "-", "verdict": line["verdict"]}
    return {
        "claim": line["claim"],
        "effect": f"{line['effect']:.3f} ({line['low']:.3f} to {line['high']:.3f})",
        "verdict": line["verdict"],
    }


def cell_row(line: Mapping[str, Any]) -> dict[str, object]:
    """Return a cell as people read it."""
    start = {"": line["row"], " ": line["column"], "paper": line["published"]}
    if line["ours"] is None:
        return {**start, "ours": "-", "from": line["skipped"]}
    return {
        **start,
        "ours": f"{line['ours']:.3f}",
        f"{100 * line['level']:g}% interval": f"{line['low']:.3f} to {line['high']:.3f}",
        "verdict": line.get("verdict"),
        "from": f"n = {line['n']}, {line['method']}",
    }
