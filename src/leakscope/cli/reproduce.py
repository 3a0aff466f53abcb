"""`leakscope reproduce`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from leakscope.cli import options


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Which table.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List what there is.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A small form of it, with wide intervals.")
    ] = False,
    jobs: options.Jobs = -1,
    backend: options.Backend = "loky",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for NAME.json and for what was trained: after an interruption the same "
            "command goes on there.",
            show_default=False,
        ),
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> None:
    """Make a published table again and print it beside the paper's numbers.

    Example: leakscope reproduce long-table2 --quick
    """
    from leakscope.cli import backends
    from leakscope.cli.output import check_json, emit_rows, emit_text
    from leakscope.cli.progress import bar
    from leakscope.reproduce import REPRODUCTIONS, Effort, reproduction
    from leakscope.runs.atomic import check_writable

    if listed or name is None:
        emit_rows([{"name": r.name, "what": r.title} for r in REPRODUCTIONS], json)
        return
    chosen = reproduction(name)
    run = None if out is None else out / "runs" / name
    if out is not None:
        check_writable(out)
    check_json(json)
    with backends.backend(backend), bar("Training models", quiet) as progress:
        table = chosen.make(Effort(quick, seed, run, jobs, progress))
    if out is not None:
        emit_text(table.to_json(), out / f"{name}.json")
    if json is not None:
        emit_text(table.to_json(), json)
    if not quiet and json != "-":
        print(table.title)
        emit_rows([_shown(line) for line in table.lines()], None)
        for note in table.notes:
            print(f"Note: {note}")


def _shown(line: Mapping[str, Any]) -> dict[str, object]:
    """Return a cell as people read it."""
    start = {"": line["row"], " ": line["column"], "paper": line["published"]}
    if line["ours"] is None:
        return {**start, "ours": "-", "from": line["skipped"]}
    return {
        **start,
        "ours": f"{line['ours']:.3f}",
        f"{100 * line['level']:g}% interval": f"{line['low']:.3f} to {line['high']:.3f}",
        "from": f"n = {line['n']}, {line['method']}",
    }
