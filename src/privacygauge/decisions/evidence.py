"""Evidence of a release as a document: findings, the reports behind them, and gaps.

Every number is that of a report and stands beside an id: the first digits of the report's sha256,
a colon, and the name of the measure. The documents say what was shown and by whom it was decided;
they do not say what data protection law makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from privacygauge.decisions.check import Audit, ReleaseCheck, State, numbers_for
from privacygauge.decisions.record import ARTEFACT, LOG
from privacygauge.errors import InputError
from privacygauge.releases.audit import (
    SCALE,
    card_metadata,
    card_section,
    escape_markdown,
    sure,
    yaml_block,
)
from privacygauge.releases.line import Number
from privacygauge.report.numbers import count, plain, several
from privacygauge.report.render import flat
from privacygauge.report.values import (
    Block,
    Cell,
    Heading,
    Items,
    Pairs,
    Rows,
    Section,
    Severity,
    Table,
    Text,
    Tone,
    caution,
    note,
    pairs,
    table,
    text,
)
from privacygauge.runs.results import check_writable, folder_path, require_free, write_results

_ID = 12
"""Digits of a report's hash in an id."""


@dataclass(frozen=True)
class Evidence:
    """A document about a release."""

    form: str
    """Name of its form."""
    title: str
    """Title."""
    made: str
    """Day on which it was written."""
    version: str
    """Version of PrivacyGauge."""
    sections: tuple[Section, ...]
    """Sections from top to bottom."""
    front: str = ""
    """Metadata before the Markdown, with their fences; empty without any."""
    back: str = ""
    """Markdown after the last section; empty without any."""

    def to_html(self) -> str:
        """Return the document as one self-contained page; everything is escaped."""
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

        loaders = [PackageLoader("privacygauge.decisions"), PackageLoader("privacygauge.report")]
        pages = Environment(
            loader=ChoiceLoader(loaders),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=lambda x: plain(x) if isinstance(x, str) and not hasattr(x, "__html__") else x,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        # Filters that blocks of other pages use.
        pages.filters.update(count=count, drawn=str)
        return pages.get_template("evidence.html.j2").render(d=self)

    def to_markdown(self) -> str:
        """Return the document as Markdown; nothing from the user's data is read as markup."""
        lines = [f"# {escape_markdown(self.title)}", ""]
        for section in self.sections:
            lines += [f"## {escape_markdown(section.title)}", ""]
            for block in section.blocks:
                lines += [*_markdown(block), ""]
        return self.front + "\n".join(lines) + self.back

    def to_docx(self) -> bytes:
        """Return the document as a DOCX file.

        Raises
        ------
        InputError
            If python-docx is not installed.
        """
        try:
            from docx import Document
        except ModuleNotFoundError as error:
            raise _missing("python-docx") from error
        found = Document()
        found.add_heading(_docx_text(self.title), level=0)
        for section in self.sections:
            found.add_heading(_docx_text(section.title), level=1)
            for block in section.blocks:
                _add_block(found, block)
        file = BytesIO()
        found.save(file)
        return file.getvalue()

    def to_pdf(self) -> bytes:
        """Return the document as a PDF file.

        Raises
        ------
        InputError
            If WeasyPrint is not installed, or does not find its libraries.
        """
        try:
            from weasyprint import HTML
        except (ModuleNotFoundError, OSError) as error:
            raise _missing("WeasyPrint") from error

        def nothing(url: str) -> Any:
            # The page loads nothing; a document must never fetch what a report names.
            raise ValueError(f"not loaded: {url}")

        content: bytes = HTML(string=self.to_html(), url_fetcher=nothing).write_pdf()
        return content

    def write(self, folder: str | Path, formats: Sequence[str] = ("html", "md")) -> list[Path]:
        """Write the document in some of the formats html, md, docx and pdf; return the paths."""
        place = folder_path(folder)
        makers: Mapping[str, Callable[[], bytes]] = {
            "html": lambda: self.to_html().encode("utf-8", "replace"),
            "md": lambda: self.to_markdown().encode("utf-8", "replace"),
            "docx": self.to_docx,
            "pdf": self.to_pdf,
        }
        for name in formats:
            known = [x for x in makers if x == "md" or not self.back]
            if name not in known:
                of = f"of {self.form} must be one of {', '.join(known)}"
                raise InputError(f"--format {of}, got {name!r}")
        require_free(place, [f"{self.form}.{name}" for name in formats])
        # All are made before the first is written.
        files = {f"{self.form}.{name}": makers[name]() for name in dict.fromkeys(formats)}
        check_writable(place)
        return write_results(place, files)


def _missing(package: str) -> InputError:
    return InputError(
        f"this format needs {package}, which is not installed: pip install 'privacygauge[evidence]'"
    )


def evidence(found: ReleaseCheck, form: str = "opinion") -> Evidence:
    """Return the evidence of a checked release.

    Parameters
    ----------
    found : ReleaseCheck
        The check of the release.
    form : str
        ``opinion``, in the order of the EDPB's Opinion 28/2024; ``checker``, for those who let
        outputs leave a research environment; or ``model-card``, for a model hub.

    Raises
    ------
    InputError
        If there is no such form.
    """
    forms = {"opinion": _opinion, "checker": _checker, "model-card": _card}
    if form not in forms:
        raise InputError(f"--form must be one of {', '.join(forms)}, got {form!r}")
    titles = {
        "opinion": f"{found.title}: evidence for an assessment under Opinion 28/2024",
        "checker": f"{found.title}: record for output checking",
        "model-card": f"{found.title}: privacy",
    }
    front = back = ""
    if form == "model-card":
        results: list[Any] = []
        for x in found.audits:
            told: Any = card_metadata(x.line, ", ".join(x.line.files) or "not stated")
            results += told["model-index"][0]["results"]
            back += f"\n{card_section(x.line)}"
        index = {"model-index": [{"name": found.title, "results": results}]}
        front = f"---\n{yaml_block(index)}---\n\n" if results else ""
        back = back or "\n"
    return Evidence(
        form,
        titles[form],
        made=found.origin.made,
        version=found.origin.version,
        sections=tuple(forms[form](found)),
        front=front,
        back=back,
    )


# Blocks in other formats than a page.


def _flat(cell: Any) -> str:
    """Return a cell as text on one line."""
    shown = (
        flat(cell) if not isinstance(cell, Cell) else flat(Cell(cell.shown, doubtful=cell.doubtful))
    )
    below = "; ".join(cell.below) if isinstance(cell, Cell) else ""
    return plain(" ".join(filter(None, (shown, f"({below})" if shown and below else below))))


def _markdown(block: Block) -> Iterator[str]:
    """Yield the lines of a block, with everything in it escaped."""
    if isinstance(block, Heading):
        yield f"### {escape_markdown(block.title)}"
    elif isinstance(block, Text):
        for i, paragraph in enumerate(block.paragraphs):
            yield from ("",) if i else ()
            marked = escape_markdown(paragraph)
            yield f"**{marked}**" if block.tone is Tone.CAUTION else marked
    elif isinstance(block, Items):
        yield from (f"- {escape_markdown(line)}" for line in block.lines)
    elif isinstance(block, Pairs):
        yield from ("| | |", "|---|---|")
        for name, cell in block.rows:
            yield f"| {escape_markdown(name)} | {escape_markdown(_flat(cell))} |"
    elif isinstance(block, Table):
        yield from (f"{escape_markdown(block.title)}:", "")
        for cells in ([x.title for x in block.columns], ["---"] * len(block.columns)):
            yield "|" + "|".join(f" {x} " if x != "---" else x for x in cells) + "|"
        for row in block.full:
            yield "|" + "|".join(f" {escape_markdown(_flat(cell))} " for cell in row.cells) + "|"
        if block.note:
            yield from ("", escape_markdown(block.note))


def _docx_text(line: str) -> str:
    """Return a text that XML can hold."""
    return plain(line).encode("utf-8", "replace").decode()


def _add_block(found: Any, block: Block) -> None:
    """Add a block to a document of python-docx."""
    if isinstance(block, Heading):
        found.add_heading(_docx_text(block.title), level=2)
    elif isinstance(block, Text):
        for paragraph in block.paragraphs:
            run = found.add_paragraph().add_run(_docx_text(paragraph))
            run.bold = block.tone is Tone.CAUTION
            run.italic = block.tone is Tone.NOTE
    elif isinstance(block, Items):
        for line in block.lines:
            found.add_paragraph(_docx_text(line), style="List Bullet")
    elif isinstance(block, Pairs | Table):
        heads = [x.title for x in block.columns] if isinstance(block, Table) else []
        rows = [x.cells for x in block.full] if isinstance(block, Table) else block.rows
        lines = [*([heads] if heads else []), *(map(_flat, row) for row in rows)]
        if isinstance(block, Table):
            found.add_paragraph().add_run(_docx_text(block.title)).bold = True
        if not lines:
            return
        made = found.add_table(rows=0, cols=len(heads) or 2, style="Table Grid")
        for cells in lines:
            for place, cell in zip(made.add_row().cells, cells, strict=True):
                place.text = _docx_text(cell)
        if isinstance(block, Table) and block.note:
            found.add_paragraph().add_run(_docx_text(block.note)).italic = True


# What every form says.


def id_of(audit: Audit, number: Number) -> str:
    """Return the id of a number: the begin of its report's hash, and the name of the measure."""
    return f"{audit.line.sha256[:_ID]}:{number.name}"


def _number_row(audit: Audit, number: Number) -> dict[str, Any]:
    return {
        "What": Cell(plain(number.label), (plain(audit.name),)),
        "Found": Cell(number.shown, doubtful=number.doubtful),
        "How sure": sure(number),
        "Guessing gives": plain(number.guessing) or "-",
        # The verdict follows from one number, which a report has first.
        "Verdict": audit.severity.value if number == audit.line.number else "-",
        "Id": id_of(audit, number),
    }


def _numbers(name: str, title: str, found: Sequence[tuple[Audit, Number]]) -> Table:
    rows: Rows = [_number_row(audit, number) for audit, number in found]
    return table(name, title, rows, prose=("How sure", "Guessing gives", "Verdict", "Id"))


def _power(found: Sequence[tuple[Audit, Number]]) -> Iterator[Block]:
    """Yield the least leaks that audits could have found, and the audits that could not tell."""
    lines = []
    for x in dict.fromkeys(audit for audit, _ in found):
        numbers = [number for audit, number in found if audit is x]
        lines.append(f"{plain(x.name)}: {x.could_have_found(numbers)}.")
        if x.severity is Severity.UNTOLD:
            lines.append(
                f"{plain(x.name)} could not tell: {plain(x.line.headline)}. It is no pass."
            )
    yield text("What the audits could have found:")
    yield Items(tuple(lines))


def _games(c: ReleaseCheck) -> Iterator[Block]:
    """Yield the game of each audit, the parts that it left out, and the limits of its verdict."""
    for x in c.audits:
        yield Heading(plain(x.name))
        yield pairs(
            {
                "The game": plain(x.line.game),
                "The attacker": plain(x.line.knowledge),
                "It does not say": plain(x.line.unsaid),
                "Left out": "; ".join(f"{plain(y)}: {plain(z)}" for y, z in x.skipped) or "nothing",
                "Warnings": "; ".join(map(plain, x.line.warnings)) or "none",
            }
        )


def _requirements(c: ReleaseCheck) -> Iterator[str]:
    """Yield the requirements of the policy, one line each."""
    policy = c.policy
    yield f"no verdict graver than {SCALE[int(policy.severity)]}"
    for of, limits in policy.limits.items():
        for limit in limits:
            yield f"[{plain(of)}] {plain(limit.metric)} at most {limit.value:g}"
    yield f"audits of at most {several(policy.days, 'day')}"
    if policy.kinds:
        yield f"audits of the kinds {', '.join(map(plain, policy.kinds))}"
    if policy.roles:
        yield f"signatures as {', '.join(map(plain, policy.roles))}"
    if policy.signed:
        yield "decisions signed with a key"
    if policy.linked:
        yield f"audits that name {ARTEFACT} by hash"
    if policy.reasons:
        yield f"no test of {', '.join(map(plain, policy.reasons))}, as not applicable"


def _decisions(c: ReleaseCheck) -> Iterator[Block]:
    artefact = c.release.artefact
    asked = [*_requirements(c)]
    yield pairs(
        {
            "Release": c.title,
            "Artefact": "gone" if artefact is None else plain(artefact.name),
            "sha256": "-" if artefact is None else artefact.sha256,
            "Policy": "met" if not c.unmet else "not met",
            "It asks for": Cell(asked[0], tuple(asked[1:])),
        }
    )
    signed: Rows = [
        {
            "Decision": x.decision,
            "By": Cell(plain(x.by), (plain(x.role),)),
            "Signed": x.on,
            "Until": x.until,
            "Because": plain(x.because),
            "Signature": c.signature(x),
        }
        for x in c.log.standing
    ]
    if signed:
        yield table("signed", "Who decided", signed, prose=("By", "Because", "Signature"))
    else:
        yield caution("Nobody has signed a decision.")
    if c.unmet:
        yield text("Not met:")
        yield Items(tuple(x.what for x in c.unmet))


def _statements(c: ReleaseCheck, *topics: str) -> Block:
    """Return the statements of the owner on some topics, which nothing here measures."""
    said = [c.policy.statements[x] for x in topics if x in c.policy.statements]
    if not said:
        return note(f"The owner states nothing about {' and '.join(topics)}: {_WHERE}")
    return text(*(f"Stated by the owner, not measured: {plain(x)}" for x in said))


_WHERE = "the table release-check.statements of policy.toml holds such statements."


def _reports(c: ReleaseCheck) -> Iterator[Block]:
    """Yield the reports by the ids that stand beside the numbers."""
    found = {
        f"{x.line.sha256[:_ID]}: {plain(x.name)}": Cell(
            x.line.sha256,
            (
                f"{x.kind}, made {x.line.made} by version {plain(x.line.version)}, seed "
                f"{x.line.seed}; audited {', '.join(x.inputs) or 'files that it does not name'}; "
                f"about the artefact: {x.about(c.release.artefact)}",
            ),
        )
        for x in c.audits
    }
    if not found:
        yield caution("There is no audit.")
        return
    yield text("Reports, by the ids that stand beside the numbers, with their sha256:")
    yield pairs(found)
    yield note(
        "sha256sum reports/*/report.json prints the same hashes; a measure has its name there."
    )


# The first form, in the order of the EDPB's Opinion 28/2024.


@dataclass(frozen=True)
class Resistance:
    """An attack that the Opinion names, and the measures that bear on it."""

    title: str
    """The attack."""
    paragraph: str
    """Where the Opinion names it."""
    untested: str
    """Attack of that kind that no measure here tests."""
    tasks: tuple[str, ...] = ()
    """Tasks of audits whose main number bears on it."""
    measures: tuple[str, ...] = ()
    """Measures that bear on it, whatever the audit."""

    def numbers(self, audit: Audit) -> tuple[Number, ...]:
        """Return the numbers of an audit that bear on it."""
        return numbers_for(audit, self.tasks, self.measures)


RESISTANCE = (
    Resistance(
        "Membership inference",
        "para. 55(i)",
        untested="attackers who know more than the reports say, or who put this release beside "
        "others.",
        tasks=("membership-inference",),
    ),
    Resistance(
        "Attribute inference",
        "para. 55(i)",
        untested="values of columns that no report names.",
        tasks=("attribute-inference",),
        measures=("inference", "disclosed"),
    ),
    Resistance(
        "Exfiltration",
        "para. 55(ii)",
        untested="theft of the training data from where they are kept, and of the model's weights.",
        measures=("extracted-beyond", "stored-rows", "stored-values"),
    ),
    Resistance(
        "Regurgitation of training data",
        "para. 55(iii)",
        untested="prompts of other kinds, and answers after further training.",
        tasks=("training-data-extraction",),
        measures=("verbatim", "unprompted", "exposure", "copies"),
    ),
    Resistance(
        "Model inversion",
        "para. 55(iv)",
        untested="rebuilding a record of which nothing is known; audits of attributes attack the "
        "case that all but one or a few values of a person are known.",
        measures=("attribute-advantage",),
    ),
    Resistance(
        "Reconstruction",
        "para. 55(v)",
        untested="rebuilding of the table from many answers or from gradients.",
        measures=("copies", "extracted", "stored-rows"),
    ),
)
"""The attacks of paragraph 55, in its order."""


def _opinion(c: ReleaseCheck) -> Iterator[Section]:
    by_question = {x.question.name: x for x in c.answers}

    def tested(question: str) -> Iterator[Block]:
        """Yield the numbers of a question, or that it is untested."""
        found = by_question[question]
        rows = [(x, number) for x in found.audits for number in found.question.numbers(x)]
        if rows:
            yield _numbers(question, found.question.title, rows)
            yield from _power(rows)
        elif found.state is State.STATED:
            yield text(f"Not applicable, says the owner: {plain(found.reason)}")
        else:
            yield caution("Not tested.")

    yield Section(
        "reading",
        "How to read this",
        (
            text(
                "This document repeats what audits measured, with their intervals, and says what "
                "was not tested. Each number stands beside an id: the first digits of the sha256 "
                "of its report.json, a colon, and the name of the measure in it.",
                "It is evidence for the assessment that Opinion 28/2024 of the European Data "
                "Protection Board describes (para. 43: extraction, and answers to queries), for "
                "Articles 5(2), 24 and 35 GDPR; its paragraphs, or headings of it, stand in "
                "brackets. This document draws no conclusion of its own: whether what remains "
                "relates to identifiable people (Article 4(1) GDPR) is for the controller "
                "and the supervisory authority.",
                "An attack that found nothing shows that the attacks that were played, with as "
                "many records, found nothing: it is evidence of resistance to those attacks alone "
                "(para. 55). Read beside each what it could have found.",
            ),
        ),
    )
    yield Section("decision", "What is released, and who decided", tuple(_decisions(c)))
    files = {plain(x.name): ", ".join(x.inputs) or "its report names no files" for x in c.audits}
    yield Section(
        "sources",
        "Sources and minimisation (AI model design)",
        (
            _statements(c, "sources", "minimisation"),
            text("Files that the audits name, by audit:"),
            pairs(files) if files else caution("There is no audit."),
            text(
                "Not tested: where the data come from, whether they were needed, and whether they "
                "may be used. No audit of the model can show it."
            ),
        ),
    )
    yield Section(
        "methods",
        "Methodological choices, and claims that were tested (AI model design)",
        (_statements(c, "methods"), *tested("claims")),
    )
    defended = [
        (x, number)
        for x in c.audits
        if x.kind in ("defences", "holdout-attack", "holdout-bound")
        for number in (x.line.number,)
    ]
    yield Section(
        "outputs",
        "Measures on outputs (AI model design)",
        (
            _statements(c, "outputs", "access"),
            _numbers("defended", "With a measure on outputs", defended)
            if defended
            else caution("Not tested: no audit compares answers with and without a measure."),
        ),
    )
    yield Section("contents", "Analysis of the file (AI model analysis)", tuple(tested("contents")))
    blocks: list[Block] = []
    for i, attack in enumerate(RESISTANCE):
        rows = [(x, number) for x in c.audits for number in attack.numbers(x)]
        blocks.append(Heading(f"{attack.title} ({attack.paragraph})"))
        if rows:
            blocks.append(_numbers(f"attack-{i}", attack.title, rows))
            blocks += _power(rows)
            blocks.append(text(f"Not tested: {attack.untested}"))
        else:
            blocks.append(caution("Not tested."))
    yield Section("resistance", "Resistance to attacks (para. 55)", tuple(blocks))
    left_out = {
        x.question.title: f"not applicable: {plain(x.reason)}" if x.reason else "untested"
        for x in c.answers
        if not x.audits
    }
    yield Section(
        "documentation",
        "Documentation (para. 58)",
        (
            *_reports(c),
            *([text("Questions without a test:"), pairs(left_out)] if left_out else ()),
            text(
                f"The decisions are in {LOG}, each bound to the hashes of {ARTEFACT}, reports, "
                "policy and the decision before; privacygauge release check FOLDER compares them "
                "with what is there."
            ),
        ),
    )
    yield Section("audits", "The audits, and what they do not say", tuple(_games(c)))
    every = tuple(
        _numbers(f"all-{i}", plain(x.name), [(x, y) for y in (x.line.number, *x.line.further)])
        for i, x in enumerate(c.audits)
    )
    yield Section("numbers", "All numbers that a release can be held to", every)


# The second form, for output checkers of a research environment.

_STRUCTURE = ("smallest-group", "small-groups", "disclosed", "stored-rows", "stored-values")


def _checker(c: ReleaseCheck) -> Iterator[Section]:
    artefact = c.release.artefact
    size = (
        {}
        if artefact is None
        else {
            "Files": count(artefact.n_files),
            "Bytes": count(artefact.size),
        }
    )
    yield Section("output", "The output, and the decision", (*_decisions(c), pairs(size)))
    every = [(x, y) for x in c.audits for y in (x.line.number, *x.line.further)]
    people = [(x, y) for x, y in every if y.name in _STRUCTURE]
    yield Section(
        "people",
        "People per answer, and what the file holds",
        (_numbers("people", "Structure", people), *_power(people))
        if people
        else (
            caution(
                "Not tested: no report says how many people are behind an answer, or whether rows "
                "stand in the file."
            ),
        ),
    )
    attacked = [(x, x.line.number) for x in c.audits if x.line.number.name not in _STRUCTURE]
    blocks: list[Block] = [caution("Not tested: no attack was played.")]
    if attacked:
        blocks = [_numbers("attacks", "Attacks", attacked), *_power(attacked)]
    yield Section("attacks", "What attacks reached", tuple(blocks))
    questions: Rows = [
        {
            "Question": Cell(x.question.title, (x.question.asks,)),
            "State": x.state.value,
            "Why": plain(x.reason) or "-",
        }
        for x in c.answers
    ]
    asked = table("asked", "Questions", questions, prose=("State", "Why"))
    yield Section("questions", "What was asked", (asked,))
    yield Section("reports", "Reports", (*_reports(c), *_games(c)))


# The third form, for a model hub.


def _card(c: ReleaseCheck) -> Iterator[Section]:
    yield Section("decision", "Release", tuple(_decisions(c)))
    rows: Rows = []
    for x in c.answers:
        numbers = [(y, z) for y in x.audits for z in x.question.numbers(y)]
        told = [f"{plain(z.label)} {z.shown} [{id_of(y, z)}]" for y, z in numbers]
        rows.append(
            {
                "Question": x.question.title,
                "State": x.state.value,
                "Found": Cell(told[0], tuple(told[1:])) if told else plain(x.reason) or "-",
            }
        )
    asked = table("asked", "Privacy: what was asked", rows, prose=("State", "Found"))
    yield Section("questions", "What was tested", (asked,))
    if c.audits:
        yield Section(
            "power",
            "What could have been found",
            (*_power([(x, x.line.number) for x in c.audits]), *_reports(c)),
        )
