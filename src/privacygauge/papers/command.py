"""Command `privacygauge reproduce`."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacygauge.cli import options
from privacygauge.errors import InputError
from privacygauge.kinds.command import Program
from privacygauge.kinds.request import HelpGroup
from privacygauge.runs.folder import kept_or_scratch, require_local
from privacygauge.runs.results import check_writable, require_free

if TYPE_CHECKING:
    from privacygauge.papers.table import Effort
    from privacygauge.papers.verdict import ReproductionResult

ALL = "all"
"""Argument in place of a name, for every reproduction one after the other."""
_NAME = "Which table or figure; all for one after the other."
_LIST = "List every table and figure of the papers, and what it is."
_QUICK = "A small form of it, with wide intervals."
_SHARE = (
    "The part of the full form's repetitions that are made, where the whole takes hours: "
    "long-table1, long-table2, long-fig2, song-fig3, -4, -5, -9, -12 and meeus-*."
)
_OUT = (
    "Folder for NAME.json, NAME.svg and for what was trained: after an interruption the same "
    "command goes on there."
)
_DATA = (
    "Folder with the paper's own data, where you have them: Purchase100, Texas100, purchases, "
    "logits or the census; which files is on the page Reproduction."
)
_PAGE = "Write the tables of the results in DIR as a page of Markdown; nothing is made again."


def reproductions(incomplete: str) -> list[str]:
    """Complete a name of the catalogue of reproductions, or ``all``."""
    catalogue = Path(__file__).parent / "catalogue.py"
    try:
        text = catalogue.read_text(encoding="utf-8")
    except OSError:
        return []
    # Read as text: importing the catalogue imports every domain, too slow for a completion.
    known = re.findall(r'^ {8}\(\s*"([\w-]+)",', text, re.MULTILINE)
    return [name for name in (*known, ALL) if name.startswith(incomplete)]


@dataclass(frozen=True, kw_only=True)
class _ReproduceOptions:
    """Options of `privacygauge reproduce`."""

    name: Annotated[str | None, options.positional_argument("[NAME|all]", _NAME, reproductions)] = (
        None
    )
    listed: Annotated[bool, options.switch("--list", _LIST)] = False
    quick: Annotated[bool, options.switch("--quick", _QUICK)] = False
    share: Annotated[float, typer.Option("--share", metavar="P", help=_SHARE)] = 1.0
    jobs: options.Jobs = -1
    backend: options.Backend = "loky"
    out: Annotated[Path | None, options.text_option("--out", "DIR", _OUT)] = None
    data: Annotated[Path | None, options.text_option("--data", "FOLDER", _DATA)] = None
    page: Annotated[Path | None, options.text_option("--page", "FILE", _PAGE)] = None
    seed: options.Seed = 0
    json: options.Json = None
    quiet: options.Quiet = False


@options.from_fields(_ReproduceOptions)
def reproduce(asked: _ReproduceOptions) -> None:
    """Make a published table again and print it beside the paper's numbers.

    Example: privacygauge reproduce long-table2 --quick
    """
    from privacygauge.cli.output import bar, check_json, emit_rows, emit_text
    from privacygauge.papers import ITEMS, Effort, make, reproduction
    from privacygauge.papers.catalogue import judgement
    from privacygauge.papers.page import page as written
    from privacygauge.runs import execute

    for place in (asked.out, asked.page, asked.data):
        require_local(place or "", "reproductions are kept in folders")
    if asked.data is not None and asked.name in (None, ALL):
        raise InputError("--data needs NAME, the table or figure that is made on the folder's data")
    if asked.page is not None:
        if asked.out is None:
            raise InputError("--page needs --out DIR, the folder of the results that it shows")
        check_json(str(asked.page), flag="--page")
        emit_text(written(asked.out), asked.page, "--page")
        return
    if asked.listed or asked.name is None:
        items = ((x.name, x.status.value, x.title, x.told) for x in ITEMS)
        heads = ("name", "status", "what", "why")
        emit_rows([dict(zip(heads, item, strict=True)) for item in items], asked.json)
        return
    effort = Effort(asked.quick, asked.seed, None, asked.jobs, share=asked.share, data=asked.data)
    chosen = None if asked.name == ALL else reproduction(asked.name)
    if asked.out is not None:
        # Only files that PrivacyGauge wrote may be replaced.
        made = [x.name for x in ITEMS] if chosen is None else [chosen.name]
        require_free(asked.out, [f"{x}.{form}" for x in made for form in ("json", "svg")])
        check_writable(asked.out)
    # All destinations are checked by now: a full form may take hours.
    check_json(asked.json)
    with execute.backend(asked.backend):
        if chosen is None:
            _all(effort, asked.out, asked.json, asked.quiet)
            return
        run = None if asked.out is None else make.run_folder(asked.out, chosen, effort)
        with bar("Training models", asked.quiet) as progress:
            result = make.make_result(chosen, replace(effort, run=run, progress=progress))
    if asked.out is not None:
        make.keep(chosen, result, asked.out)
    if asked.json is not None:
        emit_text(result.to_json(judgement(chosen.name, result.form, result.data)), asked.json)
    if not asked.quiet and asked.json != "-":
        _print(result)


def _all(effort: Effort, out: Path | None, json: str | None, quiet: bool) -> None:
    """Make every reproduction and print a line for each; one with missing inputs is skipped."""
    from privacygauge.cli.output import emit_rows
    from privacygauge.papers import REPRODUCTIONS
    from privacygauge.papers.make import make_all

    # Each outcome is printed as it comes: all of them together take long.
    outcomes = []
    with kept_or_scratch(out) as kept:
        folder = Path(kept)
        folder.mkdir(parents=True, exist_ok=True)
        for outcome in make_all(REPRODUCTIONS, effort, folder):
            outcomes.append(outcome)
            if not quiet and json != "-":
                print(outcome.line, flush=True)
    if json is not None:
        emit_rows([outcome.plain for outcome in outcomes], json)
    if not quiet and json != "-":
        done = [outcome for outcome in outcomes if outcome.result is not None]
        seconds = sum(outcome.seconds for outcome in outcomes)
        print(f"{len(done)} of {len(outcomes)} made, {seconds:.0f} s")


def _print(result: ReproductionResult) -> None:
    from privacygauge.cli.output import emit_rows
    from privacygauge.papers.catalogue import deviations_of, judgement
    from privacygauge.papers.verdict import cell_row, claim_row, judged_lines

    table = result.table
    judged = judgement(result.table.name, result.form, result.data)
    print(table.title)
    for name, size in result.data.items():
        print(f"Data: {name}, {size}")
    emit_rows([cell_row(line) for line in judged_lines(table, judged)], None)
    verdict = judged.of(table)
    if verdict.claims:
        emit_rows([claim_row(one) for one in result.claims(judged)], None)
    print(f"Verdict: {verdict}")
    for note in table.notes:
        print(f"Note: {note}")
    for deviation in deviations_of(table.name):
        print(f"Differs: {deviation}")


COMMAND = Program("reproduce", HelpGroup.PAPERS, reproduce)
