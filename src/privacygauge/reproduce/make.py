"""Makes reproductions, keeps what came out, and goes on where it was."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from privacygauge.core.versions import own_version
from privacygauge.datasets.local_copies import data_in
from privacygauge.errors import InputError
from privacygauge.reproduce.catalogue import judgement
from privacygauge.reproduce.drawing import figure_svg
from privacygauge.reproduce.layouts import data_in_folder
from privacygauge.reproduce.result import ReproductionResult, read_result
from privacygauge.reproduce.table import Effort, Reproduction
from privacygauge.runs.results import write_results


@dataclass(frozen=True)
class Outcome:
    """What became of one of several reproductions."""

    name: str
    """The reproduction."""
    result: ReproductionResult | None
    """What came out; None where something that it needs is missing."""
    said: str
    """The verdict, or what is missing."""
    kept: bool = False
    """Whether the result was there already."""

    @property
    def seconds(self) -> float:
        """What it took now: nothing where it was there, or left out."""
        return 0.0 if self.result is None or self.kept else self.result.seconds

    @property
    def plain(self) -> dict[str, object]:
        """The outcome for JSON."""
        state = "left out" if self.result is None else "kept" if self.kept else "made"
        return {"name": self.name, "state": state, "seconds": self.seconds, "verdict": self.said}

    @property
    def line(self) -> str:
        """The outcome in a line: name, seconds, verdict."""
        if self.result is None:
            return f"{self.name}: left out: {self.said}"
        took = "kept" if self.kept else f"{self.result.seconds:.0f} s"
        return f"{self.name}: {took}: {self.said}"


IN_PARTS = frozenset(
    {
        "long-table1",
        "long-fig1",
        "long-fig2",
        "long-fig4",
        "long-fig5",
        "long-table2",
        "meeus-table2",
        "meeus-table3",
        "meeus-fig3a",
        "meeus-fig3b",
        "meeus-fig4",
        "song-fig3",
        "song-fig4",
        "song-fig5",
        "song-fig9",
        "song-fig12",
    }
)
"""Those of which a share can be made; the others are made in full."""


def effort_for(known: Reproduction, effort: Effort) -> Effort:
    """Return the effort that a reproduction honours: a share only where it can be made."""
    return effort if known.name in IN_PARTS else replace(effort, share=1.0)


def make_result(known: Reproduction, effort: Effort) -> ReproductionResult:
    """Return a reproduction's result, with the seconds that it took."""
    effort = effort_for(known, effort)
    data = {} if effort.data is None else data_in_folder(known.name, effort.data)
    start = time.monotonic()
    with data_in(effort.data):
        table = known.make(effort)
    seconds = time.monotonic() - start
    return ReproductionResult(
        table=table,
        form=effort.form,
        seed=effort.seed,
        seconds=seconds,
        version=own_version(),
        data=data,
    )


def keep(known: Reproduction, result: ReproductionResult, out: Path) -> None:
    """Write a result as ``NAME.json`` and its figure as ``NAME.svg``, whole or not at all."""
    files = {
        f"{known.name}.json": result.to_json(
            judgement(known.name, result.form, result.data)
        ).encode()
    }
    if result.table.measured:
        files[f"{known.name}.svg"] = figure_svg(known, result.table).encode()
    write_results(out, files)


def load_kept_result(known: Reproduction, effort: Effort, out: Path) -> ReproductionResult | None:
    """Return the result that a folder holds, if it was made in this form, seed and version."""
    path = out / f"{known.name}.json"
    if not path.is_file():
        return None
    try:
        found = read_result(path)
    except InputError:  # of an older version: it is made again
        return None
    data = {} if effort.data is None else data_in_folder(known.name, effort.data)
    asked = (effort_for(known, effort).form, effort.seed, own_version(), data)
    return found if (found.form, found.seed, found.version, found.data) == asked else None


def run_folder(out: Path, known: Reproduction, effort: Effort) -> Path:
    """Return the folder of what a reproduction trains; each form and each data has its own."""
    form = effort_for(known, effort).form.replace(" ", "-")
    if effort.data is not None:
        given = "".join(data_in_folder(known.name, effort.data).values())
        form += f"-{hashlib.sha256(given.encode()).hexdigest()[:12]}"
    return out / "runs" / form / known.name


def make_all(
    asked: Sequence[Reproduction],
    effort: Effort,
    out: Path,
) -> Iterator[Outcome]:
    """Yield what becomes of each reproduction, one after the other.

    Parameters
    ----------
    asked : sequence of Reproduction
    effort : Effort
        How much of each is done; its folder is ignored.
    out : Path
        Results that it holds in the same form, seed and version are not made again.

    Yields
    ------
    Outcome
        Where data or a package is missing, with the line that says which.
    """
    for known in asked:
        found = load_kept_result(known, effort, out)
        if found is not None:
            yield Outcome(known.name, found, _verdict_text(found), True)
            continue
        try:
            result = make_result(known, replace(effort, run=run_folder(out, known, effort)))
        except (InputError, ModuleNotFoundError) as error:
            yield Outcome(known.name, None, " ".join(str(error).split()))
            continue
        keep(known, result, out)
        yield Outcome(known.name, result, _verdict_text(result))


def _verdict_text(result: ReproductionResult) -> str:
    name = result.table.name
    return str(judgement(name, result.form, result.data).of(result.table))
