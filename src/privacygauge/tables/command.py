"""Options of `privacygauge synthetic`, for a generator or for a released table, and its run.

It is in neither kind's folder, because neither knows the other.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.dropped import (
    HELD_OUT,
    Answers,
    DroppedFile,
    Recognised,
    answer,
    file_questions,
    options,
    person_question,
)
from privacygauge.kinds.request import HelpGroup, Metric, amounts, shares, with_low
from privacygauge.runs.options import Role, argument, asks, option
from privacygauge.tables.options import (
    COLUMNS,
    ColumnKinds,
    GameDesign,
    ReleasedDesign,
    ReportedColumns,
    TableRequest,
    TargetDesign,
    game_option,
    released_option,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privacygauge.kinds.session import Work
    from privacygauge.tables.few_fits_audit import FitsAudit
    from privacygauge.tables.games.releases import Making
    from privacygauge.tables.generator_audit.attribute import AttributeOfGenerator
    from privacygauge.tables.generator_audit.audit import SyntheticAudit
    from privacygauge.tables.released_audit.audit import ReleasedAudit

OF_GENERATOR = with_low(*shares("auc", "worst"), *amounts("epsilon"))
"""Metrics that a generator can be held to."""

OF_ATTRIBUTE = with_low(
    *shares("accuracy", "worst", "advantage", "recognition"), *amounts("epsilon")
)
"""Metrics that a generator can be held to if a value of a record is guessed."""

OF_FITS = with_low(*shares("accuracy", "auc"), *amounts("epsilon"))
"""Metrics that a generator can be held to if it is audited by a few fits."""

OF_TABLE = (
    *with_low(
        *shares("beyond", "accuracy", "auc"),
        *amounts("epsilon"),
        *shares("copies", "singling-out", "linkability", "inference"),
    ),
    *amounts("worst-records"),
    *shares("detectable"),
)
"""Metrics that a released table can be held to."""

_RELATED = "related "
"""Prefix of the names of files of further rows."""

_HELP = """Audit a generator of synthetic tables, or a table that was released already.

Example: privacygauge synthetic people.csv --generator baynet --targets 10

Example: privacygauge synthetic people.csv --generator baynet --attribute income --targets 10

Example: privacygauge synthetic people.csv --synthetic released.csv --holdout others.csv
"""


@dataclass(frozen=True, kw_only=True)
class SyntheticRequest(GameDesign, ReleasedDesign, ReportedColumns, TableRequest):
    """Options of an audit of a generator, of a few fits, or of a released table."""

    data: str = argument(
        "REAL", "Real records, which a generator learns from: .csv or .parquet with a header."
    )
    generator: str | None = asks(
        "NAME|FILE.py:NAME",
        "Generator to audit: baynet, privbayes:epsilon=1, synthpop, independent, identity, "
        "silence; your own FILE.py:NAME or MODULE:NAME (fit and sample, or a function of frame, n "
        "and seed); or 'command: PROGRAM ...', which reads CSV and writes CSV.",
        offers=("baynet", "privbayes", "synthpop", "independent", "identity", "silence"),
        role=Role.CODE,
    )
    synthetic: str | None = released_option(
        "FILE", "Synthetic table made from REAL, to be audited as it is."
    )
    holdout: str | None = released_option(
        "FILE",
        "Records of the same source as REAL that the table was not made from: without them "
        "general knowledge and leakage cannot be told apart.",
    )
    related: tuple[str, ...] = asks(
        "REAL[,SYNTHETIC,HOLDOUT]",
        "Further rows of the same people, such as their visits: a table beside each, joined to one "
        "record a person by --key. A generator of several tables learns from both; another one "
        "from the joined records.",
    )
    key: str | None = asks(
        "COLUMN", "Column that names the person, in the tables and in those of --related."
    )
    targets: str = game_option(
        "N|all|ROWS",
        "Records to attack: N of them, all, or the rows 17,4 (one row: 17,).",
        default="10",
    )
    half_width: float | None = asks(
        "H",
        "Half of the width wanted of an interval: of a record's AUC near 1/2 (default: 0.05; with "
        "--attribute also enough tables to show twice that of the way from guessing to certainty), "
        "or, of a released table, of what an attack achieves more on real records than on the "
        "holdout (default: 0.02, two percentage points).",
    )
    fits: int | None = game_option(
        "N",
        "Instead of the privacy game, for generators whose fits take long: put the records of "
        "--targets, 200 or so, into each of N fits by fair coins, and guess them from the tables.",
    )
    ids: str | None = option(
        "--id",
        "COLUMN",
        "Column of the records' names; it is left out of the table.",
        panel=COLUMNS,
    )
    unit: str | None = asks(
        "COLUMN",
        "Column of the people behind the rows, which are then not taken for independent. Default: "
        "that of --id.",
        panel=COLUMNS,
    )

    def check(self, jobs: int) -> None:
        """Raise unless either a generator or a table was named, and a holdout with a table only."""
        # Exactly one of the two decides the kind of audit.
        if (self.generator is None) == (self.synthetic is None):
            raise InputError(
                "give either --generator, to audit what makes tables, or --synthetic, to audit a "
                "table that was made"
            )
        if self.synthetic is None and self.holdout is not None:
            raise InputError("--holdout goes with --synthetic, a table that was made")
        if bool(self.related) != (self.key is not None):
            raise InputError("--related and --key go together: name the tables and their column")
        # REAL, and the synthetic table and the holdout if they are given.
        tables = 1 + (self.synthetic is not None) + (self.holdout is not None)
        if self.related and len(self.related) != tables:
            raise InputError(
                "--related must name a table beside each of REAL, --synthetic and --holdout, in "
                f"this order, got {len(self.related)}"
            )
        if self.related and self.knowledge == "synthetic":
            raise InputError("--related goes with auxiliary or exact --knowledge, not synthetic")
        games = {"--game": self.game, "--knowledge": self.knowledge, "--tests": self.tests}
        given = [flag for flag, value in games.items() if value is not None]
        if self.fits is not None and (given or self.generator is None):
            raise InputError(f"--fits goes without {given[0] if given else '--synthetic'}")
        if self.values and self.attribute is None:
            raise InputError("--values are those of an attribute: name its column (--attribute)")
        if self.attribute is not None:
            if self.generator is None:
                raise InputError(
                    "--attribute goes with --generator: of a table that was made, inference of "
                    "columns is a part of every audit"
                )
            others = {"--fits": self.fits is not None, "--related": bool(self.related)}
            given = [flag for flag, used in others.items() if used]
            if given:
                raise InputError(f"--attribute goes without {given[0]}")
            names = {"--id": self.ids, "--unit": self.unit}
            same = [flag for flag, name in names.items() if name == self.attribute]
            if same or self.attribute in self.drop:
                raise InputError(
                    f"--attribute and {same[0] if same else '--drop'} name the same column "
                    f"{self.attribute!r}: choose a column that stays in the table"
                )

    def files(self) -> dict[str, Path]:
        """Return the files that were named, those of `related` too."""
        return super().files() | {f"{_RELATED}{path}": Path(path) for path in self.related}

    def settled(self) -> dict[str, Any]:
        """Return the request as JSON values that mean the same in every folder."""
        return super().settled() | {"related": [str(Path(x).absolute()) for x in self.related]}

    @property
    def keeps(self) -> bool:
        """Whether tables are made, which are worth keeping."""
        return self.generator is not None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Metrics that the generator or the table can be held to."""
        if self.fits is not None:
            return OF_FITS
        if self.attribute is not None:
            return OF_ATTRIBUTE
        return OF_TABLE if self.generator is None else OF_GENERATOR


def play(
    asked: SyntheticRequest, work: Work
) -> SyntheticAudit | AttributeOfGenerator | FitsAudit | ReleasedAudit:
    """Run the requested audit, of a released table or of a generator.

    Tables that the run of a generator does not hold yet are made.
    """
    if asked.generator is None:
        return _of_table(asked, work)
    from privacygauge.tables.frames import column_named, read_frame
    from privacygauge.tables.games.games import HALF_WIDTH
    from privacygauge.tables.generators.named import written_generator
    from privacygauge.tables.related import Related, over, takes_tables
    from privacygauge.tables.selection import written_targets

    # The session first: a run that was made with other code is refused before any of it runs.
    session = work.running("synthetic", asked)
    generator = written_generator(asked.generator, work.read)
    names = (asked.ids, asked.unit, asked.key)
    frame = read_frame(asked.data, asked.separator, names=names, missing=asked.missing)
    people = {
        "ids": column_named(frame, asked.ids or asked.key, "--id"),
        "unit": column_named(frame, asked.unit, "--unit"),
    }
    # Names and people are no columns of the table; the key stays, since it joins the tables.
    apart = dict.fromkeys(x for x in (asked.ids, asked.unit) if x and x != asked.key)
    columns: dict[str, Any] = {
        "schema": asked.given_schema,
        "continuous": asked.continuous,
        "categorical": asked.categorical,
        "drop": (*asked.drop, *apart),
    }
    data: object = frame
    if asked.key is not None:
        rows = read_frame(asked.related[0], asked.separator, names=names, missing=asked.missing)
        related = Related.of(frame, rows, asked.key, **columns)
        generator = over(generator, related)
        # The joined table has a schema, so that nothing is left to say of its columns.
        data = related.table()
        columns = {}
    elif takes_tables(generator):
        raise InputError(
            f"{asked.generator} learns from several tables: name them by --related and --key"
        )
    targets = written_targets(asked.targets)
    if asked.fits is not None:
        from privacygauge.tables.few_fits_audit import FewFitsOptions, detectable_share_text

        fits = asked.fits

        def tell(making: Making) -> None:
            n = len(making.setting.targets)
            seen = detectable_share_text(n, fits, asked.level)
            work.say(f"{n:,} canaries, fits: {fits:,}. {seen}")

        canaries = FewFitsOptions(
            **vars(asked.part(TargetDesign)), **columns, canaries=targets, fits=fits
        )
        with work.resumable(asked), work.bar("Making tables") as progress:
            session = replace(session, progress=progress)
            return canaries.run(generator, data, **people, before=tell, session=session)
    from privacygauge.tables.generator_audit.audit import SyntheticOptions

    options = SyntheticOptions(
        **vars(asked.part(GameDesign)),
        **vars(asked.part(ReportedColumns)),
        **columns,
        targets=targets,
        half_width=HALF_WIDTH if asked.half_width is None else asked.half_width,
    )
    with (
        work.resumable(asked),
        work.bar("Making tables") as progress,
        work.bar("Attacking") as scoring,
    ):
        return options.run(
            generator,
            data,
            **people,
            before=lambda making: _cost(making, work, asked.level),
            scoring=scoring,
            session=replace(session, progress=progress),
        )


def _cost(making: Making, work: Work, level: float) -> str:
    """Announce and return the cost of a generator's fits, and the detectable leak."""
    from privacygauge.classifiers.probe_training import n_at_once, span
    from privacygauge.evaluate.detectable import smallest_accuracy
    from privacygauge.runs.store import plan_in, read_run
    from privacygauge.tables.games.attribute import Attribute
    from privacygauge.tables.games.audited import headline_level
    from privacygauge.tables.generator_audit.attribute import detectable_accuracy_text
    from privacygauge.tables.generator_audit.audit import COST
    from privacygauge.tables.generator_audit.verdict import detectable_auc_text

    # A resumed run has announced its cost already.
    if work.run is not None and plan_in(work.run) is not None:
        return str((read_run(work.run).invocation or {}).get(COST, ""))
    if work.quiet:
        return ""
    game = making.game
    setting = making.setting
    n = game.n_tables(setting)
    seconds = making.seconds_a_table()
    at_a_time = n_at_once(work.jobs)
    if isinstance(game, Attribute):
        n_values = len(game.values)
        each = headline_level(level, len(setting.targets), n_values)
        smallest = smallest_accuracy(setting.sizes.tests, each, chance=1 / n_values)
        shown = detectable_accuracy_text(smallest, n_values)
    else:
        shown = detectable_auc_text(setting.sizes.smallest_auc(level))
    told = (
        f"{n:,} fits, {seconds:.2g} s each, {at_a_time} at a time: about "
        # Rounds of parallel fits, rounded up.
        f"{span(seconds * -(-n // at_a_time))}; {shown}"
    )
    work.say(f"Making synthetic tables: {told}.")
    return told


def _of_table(asked: SyntheticRequest, work: Work) -> ReleasedAudit:
    """Return the audit of a released table."""
    from privacygauge.kinds.session import Session
    from privacygauge.tables.frames import column_named, read_frame
    from privacygauge.tables.related import join_related_rows
    from privacygauge.tables.released.hits import HALF_WIDTH
    from privacygauge.tables.released_audit.audit import ReleasedOptions

    files = asked.files()
    frames = {
        name: read_frame(
            path,
            asked.separator,
            names=(asked.ids, asked.unit, asked.key),
            missing=asked.missing,
            as_exported=True,
        )
        for name, path in files.items()
        if name != "schema" and not name.startswith(_RELATED)
    }
    # Names of records are no attributes, and need not be in the other tables.
    apart = [x for x in (asked.ids, asked.unit, asked.key) if x]
    left = (*apart, *asked.drop)
    frames, parts = join_related_rows(
        frames,
        asked.related,
        key=asked.key,
        left=left,
        separator=asked.separator,
        missing=asked.missing,
    )
    real = frames["data"]
    holdout = frames.get("holdout")
    tables = {name: x.drop(columns=apart, errors="ignore") for name, x in frames.items()}
    with work.bar("Attacking") as progress:
        options = ReleasedOptions(
            **vars(asked.part(ReleasedDesign)),
            **vars(asked.part(ReportedColumns)),
            **vars(asked.part(ColumnKinds)),
            schema=asked.given_schema,
            parts=parts,
            half_width=HALF_WIDTH if asked.half_width is None else asked.half_width,
        )
        return options.run(
            tables["data"],
            tables["synthetic"],
            tables.get("holdout"),
            ids=column_named(real, asked.ids or asked.key, "--id"),
            unit=column_named(real, asked.unit, "--unit"),
            holdout_unit=None if holdout is None else column_named(holdout, asked.unit, "--unit"),
            session=Session(
                **asked.told("synthetic", {"real" if x == "data" else x: files[x] for x in files}),
                progress=progress,
            ),
        )


_WORDS = {
    "real": "real|realdata|train|training|traindata|trainset|originals?|orig",
    "made": (
        "syn|synth|synthetic[a-z]*|synthe[sz]i[sz]ed|synthpop|made|fakes?|fakedata|faked|twin|"
        "generat(ed|or|ors|ion)|sampled|released|artificial"
    ),
    "holdout": HELD_OUT,
}
"""Words in names of files that say which table it is, as a pattern."""


def recognise(files: Sequence[DroppedFile]) -> list[Recognised]:
    """Recognise a real table beside its synthetic twin, and perhaps a holdout."""
    columns = [name for name in files[0].columns if all(name in x.columns for x in files)]
    most = max(len(file.columns) for file in files)
    if not 2 <= len(files) <= 3 or not columns or 2 * len(columns) < most:
        return []
    texts = {
        "real": "Which table holds the real records?",
        "made": "Which table was made from them?",
        "holdout": "Which table holds real records that it was not made from?",
    }
    asked = dict(itertools.islice(texts.items(), len(files)))
    questions = file_questions(asked, files, _WORDS)

    def arguments(answers: Answers) -> list[str]:
        real, made, *holdout = (answer(answers, role) for role in asked)
        if len({real, made, *holdout}) < len(files):
            several = "must be three files" if holdout else "must be two files"
            raise InputError(f"the tables {several}: one was chosen twice")
        others = [f"--holdout={name}" for name in holdout]
        return [real, f"--synthetic={made}", *others, *options(answers, unit="unit")]

    beside = ", and a holdout that it was not made from" if len(files) == 3 else ""
    return [
        Recognised(
            f"A real table and a table that was made from it{beside}",
            arguments,
            questions=(*questions, *person_question(columns)),
            fit=2,
        )
    ]


COMMAND = Command(
    "synthetic",
    group=HelpGroup.TABLE,
    request=SyntheticRequest,
    play=play,
    help=_HELP,
    metrics=tuple(dict.fromkeys((*OF_GENERATOR, *OF_ATTRIBUTE, *OF_TABLE))),
    limits=(
        "Exit with code 3 if METRIC is above VALUE: auc (mean over the records), worst (AUC of "
        "the record at most risk) or epsilon; add .low for the lower end of the interval. With "
        "--attribute: accuracy (right guesses, mean over the records), worst (for the record at "
        "most risk), advantage (the way from guessing to certainty), recognition (of the value "
        "recognised best, beyond false alarms) or epsilon. Of a "
        "released table: beyond (whatever goes furthest beyond the holdout), accuracy, auc, "
        "epsilon, copies, singling-out, linkability, inference, worst-records (people that stand "
        "out, at least) or detectable (the least accuracy that would have been found)."
    ),
    trains=True,
    keeps=True,
    tables=("records.parquet", "roc.csv"),
    recognise=recognise,
)
