"""What `privacygauge synthetic --generator` was asked, and doing it."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.audits.asking import absolute
from privacygauge.audits.generator.found import SyntheticAudit
from privacygauge.audits.generator.play import audit_synthetic
from privacygauge.audits.named_models import imported
from privacygauge.audits.provenance import file_hashes
from privacygauge.audits.user_code import COMMAND, compared_code, names_code
from privacygauge.classifier.cost import span
from privacygauge.cli.progress import bar
from privacygauge.cli.released import unit_of
from privacygauge.cli.training import invocation_of, told_how_to_go_on
from privacygauge.core.checks import Ints
from privacygauge.errors import InputError
from privacygauge.runs.store import plan_in
from privacygauge.synthetic.frames import read_frame, read_schema
from privacygauge.synthetic.games.releases import Making
from privacygauge.synthetic.generators.command import Command
from privacygauge.synthetic.generators.generator import Generator
from privacygauge.synthetic.generators.named import GENERATORS, as_generator, is_named
from privacygauge.synthetic.generators.recorded import recorded_generator
from privacygauge.synthetic.table import require_columns


@dataclass(frozen=True)
class SyntheticRequest:
    """What `privacygauge synthetic --generator` was asked: kept with the run, to go on with it."""

    generator: str
    """A built-in name with options, FILE.py:NAME, MODULE:NAME, or ``command:`` and a program."""
    data: str
    """File of the table."""
    targets: str = "10"
    """How many, ``all``, or rows."""
    select: tuple[str, ...] = ("distance",)
    """How targets are chosen."""
    game: str | None = None
    """Which game."""
    knowledge: str | None = None
    """What the adversary knows."""
    shadows: int = 1000
    """Tables of the adversary's own."""
    tests: int | None = None
    """Tables that it is asked about."""
    half_width: float = 0.05
    """Of the interval of an AUC, where `tests` is not given."""
    size: int | None = None
    """Records that a generator learns from."""
    made: int | None = None
    """Records of a synthetic table."""
    label: str | None = None
    """Column to predict where utility is measured."""
    schema: str | None = None
    """File of the schema."""
    continuous: tuple[str, ...] = ()
    """Columns of numbers."""
    categorical: tuple[str, ...] = ()
    """Columns of categories."""
    drop: tuple[str, ...] = ()
    """Columns to leave out."""
    ids: str | None = None
    """Column of the records' names."""
    show: tuple[str, ...] = ()
    """Columns to print beside the targets."""
    seed: int = 0
    """All random draws derive from it."""
    level: float = 0.95
    """Of every interval."""
    unit: str | None = None
    """Column of the people behind the records."""

    def settled(self) -> Mapping[str, Any]:
        """Return the request as JSON values, with whole paths."""
        own = self.generator.startswith(COMMAND) or is_named(self.generator)
        return {
            **asdict(self),
            "data": str(Path(self.data).absolute()),
            "schema": None if self.schema is None else str(Path(self.schema).absolute()),
            "generator": self.generator if own else absolute(self.generator),
        }


def synthetic_request_in(options: Mapping[str, Any]) -> SyntheticRequest:
    """Return the request that a run was started with."""
    lists = ("select", "continuous", "categorical", "drop", "show")
    return SyntheticRequest(**{**options, **{name: tuple(options[name]) for name in lists}})


def synthetic_of_request(
    request: SyntheticRequest, run: Path | None, *, jobs: int, quiet: bool, recorded: bool = False
) -> SyntheticAudit:
    """Return the audit that was asked for, making what `run` does not hold yet.

    Where it is `recorded`, the run is finished, and what stands there is read in place of code.
    """
    code = {} if recorded else compared_code(asdict(request), run)
    generator = _generator(request.generator, run if recorded else None)
    frame = read_frame(request.data)
    unit = None if request.unit is None else unit_of(frame, request.unit)
    ids = None
    if request.ids is not None:
        require_columns((request.ids,), list(frame.columns), "--id")
        ids = frame[request.ids].to_numpy()
    begun = run is not None and plan_in(run) is not None
    with (
        told_how_to_go_on(run, asdict(request)),
        bar("Making tables", quiet) as progress,
        bar("Attacking", quiet) as scoring,
    ):
        return audit_synthetic(
            generator,
            frame,
            targets=targets_in(request.targets),
            select=request.select,
            game=request.game,
            knowledge=request.knowledge,
            shadows=request.shadows,
            tests=request.tests,
            half_width=request.half_width,
            size=request.size,
            made=request.made,
            schema=None if request.schema is None else read_schema(request.schema),
            continuous=request.continuous,
            categorical=request.categorical,
            drop=(*request.drop, *dict.fromkeys(x for x in (request.ids, request.unit) if x)),
            label=request.label,
            ids=ids,
            unit=unit,
            show=request.show,
            before=None if quiet or begun else lambda making: _tell_cost(making, jobs),
            run=run,
            n_jobs=jobs,
            progress=progress,
            scoring=scoring,
            seed=request.seed,
            level=request.level,
            command="synthetic",
            provenance=file_hashes(
                {
                    "data": Path(request.data),
                    "schema": None if request.schema is None else Path(request.schema),
                }
            ),
            invocation=invocation_of("synthetic", request.settled(), code, recorded),
        )


def _generator(name: str, run: Path | None) -> Generator:
    """Return the generator that a text names, or what stands for it in a finished run."""
    if run is not None and names_code("generator", name):
        return recorded_generator(run)
    return generator_asked(name)


def generator_asked(name: str) -> Generator:
    """Return the generator that a text names, running the user's code where it names that."""
    if name.startswith(COMMAND):
        return Command(name.removeprefix(COMMAND))
    if is_named(name):
        return as_generator(name)
    if ":" not in name:
        raise InputError(
            f"--generator must be one of {', '.join(GENERATORS)}, or FILE.py:NAME or MODULE:NAME "
            f"of your own, or '{COMMAND} PROGRAM ...', got {name!r}"
        )
    return as_generator(imported(name))


def targets_in(text: str) -> int | str | Ints:
    """Return the targets in a text: ``10`` of them, ``all``, or the rows ``17,4`` (or ``17,``)."""
    if text == "all":
        return text
    try:
        numbers = [int(part) for part in text.split(",") if part]
    except ValueError:
        numbers = []
    if not numbers:
        raise InputError(
            f"--targets must be a number, all, or rows such as 17,4 (one row: 17,), got {text!r}"
        )
    return np.array(numbers) if "," in text else numbers[0]


def _tell_cost(making: Making, jobs: int) -> None:
    """Say what making the tables will cost."""
    from joblib import cpu_count

    n_tables = making.game.n_tables(making.setting)
    seconds = min(_timed(making, number) for number in (0, 1))
    at_a_time = max(1, cpu_count() + 1 + jobs) if jobs < 0 else jobs
    print(
        f"Making {n_tables:,} synthetic tables, {1000 * seconds:.2g} ms each, {at_a_time} at a "
        f"time: about {span(seconds * n_tables / at_a_time)}; then attacking "
        f"{len(making.setting.targets):,} record(s).",
        file=sys.stderr,
    )


def _timed(making: Making, number: int) -> float:
    start = time.perf_counter()
    making.table(number)
    return time.perf_counter() - start
