"""Options of `privacygauge language extract`, and its run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, shares, with_low
from privacygauge.language.model_options import (
    ANSWERS,
    ModelsRequest,
    Tries,
    Writing,
    columns_of,
    group_option,
    ids_option,
    members_option,
    nonmembers_option,
    run_closed,
    run_opened,
    template_option,
    text_option,
    trained_option,
)
from privacygauge.runs.options import asks

if TYPE_CHECKING:
    from privacygauge.kinds.session import Work
    from privacygauge.language.extraction_audit.audit import ExtractionAudit
    from privacygauge.runs.store import Run

METRICS = with_low(*shares("extracted-beyond", "extracted", "verbatim", "unprompted"))
"""Metrics that a release can be held to."""

# The options that the answers depend on; what counts as extracted is decided on the answers.
_DECIDES = (
    *("prefix", "suffix", "temperature", "top_k", "edits", "unprompted", "text", "ids", "group"),
    *("trained", "template", "identifiers", "identifier_pattern"),
    *("device", "precision"),
)

_HELP = """Audit what a language model can be made to write, or to fill in, of its training texts.

Example: privacygauge language extract --target model --reference other --members in.jsonl
--nonmembers out.jsonl
"""


@dataclass(frozen=True, kw_only=True)
class ExtractionRequest(Writing, Tries, ModelsRequest):
    """Options of an audit of extraction."""

    members: str = members_option()
    nonmembers: str = nonmembers_option()
    identifiers: str | None = asks(
        "FILE", "Identifiers of your own to look for, one per line, in letters of either case."
    )
    identifier_pattern: str | None = asks(
        "REGEX", "Regular expression of further identifiers to look for.", split=False
    )
    show_texts: bool = asks("", "Show what was extracted on the page. Default: ids only.")
    text: str = text_option()
    ids: str | None = ids_option()
    group: str | None = group_option()
    trained: str = trained_option()
    template: str | None = template_option()


def play(asked: ExtractionRequest, work: Work) -> ExtractionAudit:
    """Run the requested audit."""
    from privacygauge.datasets.reading import read_text
    from privacygauge.kinds.session import Session
    from privacygauge.language.extraction_audit.audit import ExtractionOptions
    from privacygauge.language.filling import own_pattern

    listed = "" if asked.identifiers is None else read_text(Path(asked.identifiers), "text")
    own = own_pattern(listed.splitlines(), asked.identifier_pattern)
    settled = asked.settled()
    told = asked.told(COMMAND.name)
    settings = {**{name: settled[name] for name in _DECIDES}, "files": told["provenance"]}
    opened: list[Run] = []
    with work.resumable(asked), work.bar("Reading texts") as progress:
        options = ExtractionOptions(
            **vars(asked.part(Writing)),
            **vars(asked.part(Tries)),
            show_texts=asked.show_texts,
            own=own,
            columns=columns_of(
                asked.text, asked.ids, asked.group, trained=asked.trained, template=asked.template
            ),
            device=asked.device,
            precision=asked.precision,
            base=asked.base,
        )
        found = options.run(
            asked.target,
            asked.reference,
            asked.members,
            asked.nonmembers,
            before=lambda: opened.extend(run_opened(COMMAND.name, asked, work, settings)),
            session=Session(
                **told, run=None if work.run is None else work.run / ANSWERS, progress=progress
            ),
        )
    run_closed(opened, len(found.found.judged.text))
    return found


COMMAND = Command(
    "language extract",
    group=HelpGroup.LANGUAGE,
    request=ExtractionRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC is above VALUE: extracted (share of the people with a text "
        "that can be extracted and the reference does not give), extracted-beyond (less that of "
        "people who were not trained on), verbatim or unprompted. Add .low for the lower end of "
        "the interval."
    ),
    keeps=True,
    tables=("records.parquet",),
)
