"""Commands of `privacygauge release`: check, sign, due and evidence."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from privacygauge.cli import options
from privacygauge.kinds.command import Group, Program
from privacygauge.kinds.request import HelpGroup
from privacygauge.runs.folder import require_local

POLICIES = ("egress", "internal-api", "open-model", "research-table")
"""Names of the policies that are shipped."""

FORMS = ("opinion", "checker", "model-card")
"""Names of the forms of the evidence."""

FORMATS = ("html", "md", "docx", "pdf")
"""Formats of the evidence."""

_FOLDER = (
    "Folder of the release: artefact (what is released, a file or a folder), reports/NAME (each "
    "written by an audit with --out) and perhaps policy.toml."
)
_POLICY = (
    "Policy to begin with, where the folder has none: a file, or egress, internal-api, open-model "
    "or research-table. It is copied to policy.toml, to be edited."
)
_SIGNERS = "Check signatures with this file of allowed signers, as ssh-keygen reads it."
_UNTIL = "Last day on which the decision holds, such as 2027-01-31."
_KEY = "SSH key to sign with; its passphrase is asked for by ssh-keygen."
_DATA = "A file of data as it is now: audits of a file of that name with other content are due."
_FORM = (
    "opinion (in the order of the EDPB's Opinion 28/2024), checker (for outputs of a research "
    "environment) or model-card (Markdown for a model hub)."
)
_FORMAT = (
    "Format, may be given several times: html, md, docx or pdf (both need the extra evidence). "
    "Default: html and md."
)
_ON = "What is due by this day, such as 2027-01-31. Default: today."

Release = Annotated[Path, options.positional_argument("FOLDER", _FOLDER)]
Signers = Annotated[Path | None, options.text_option("--signers", "FILE", _SIGNERS)]


# Functions of plain parameters, whose returned code is the exit code.


def check(
    folder: Release,
    policy: Annotated[
        str | None,
        options.text_option("--policy", "FILE", _POLICY, offers=options.names(*POLICIES)),
    ] = None,
    signers: Signers = None,
    out: Annotated[Path | None, options.out("FOLDER/check", "report.html and report.json")] = None,
    json: options.Json = None,
    quiet: options.Quiet = False,
) -> int:
    """Check a release: its tests by question, its policy, and its decisions.

    Exits with code 3 where something required is missing, fails, was changed since it was signed,
    or has expired; each is named.

    Example: privacygauge release check triage --policy open-model

    Example: privacygauge release check triage --signers board.keys --json -
    """
    require_local(folder, "a release is read from a folder")
    require_local(signers or "", "signers are read from a file")
    require_local(policy or "", "a policy is read from a file")
    from privacygauge.cli.output import check_json, destination, emit_report
    from privacygauge.decisions.check import STEM, check_release, start_policy
    from privacygauge.runs.results import check_writable

    check_json(json)
    if out is not None:
        check_writable(out)
    if policy is not None:
        start_policy(folder, policy)
    found = check_release(folder, signers=signers)
    files = (f"{STEM}.html", f"{STEM}.json")
    read = [folder / name for name in found.release.bound]
    place = destination(out, json, default=str(folder / "check"), files=files, inputs=read)
    failures = found.failures
    return emit_report(found.report(), place, json=json, quiet=quiet, failures=failures, stem=STEM)


@dataclass(frozen=True, kw_only=True)
class _SignOptions:
    """Options of `privacygauge release sign`."""

    folder: Release
    decision: Annotated[
        str,
        options.text_option(
            "--decision",
            "release|conditions|hold",
            "The decision. A release is refused while the policy is not met.",
            offers=options.names("release", "conditions", "hold"),
        ),
    ]
    by: Annotated[
        str, options.text_option("--by", "NAME", "Who decides, such as 'A. Berg <a@clinic.org>'.")
    ]
    role: Annotated[str, options.text_option("--role", "ROLE", "In which role.")]
    until: Annotated[str, options.text_option("--until", "DATE", _UNTIL)]
    because: Annotated[
        str, options.text_option("--because", "TEXT", "The reason, or the conditions.")
    ]
    key: Annotated[Path | None, options.text_option("--key", "FILE", _KEY)] = None
    quiet: options.Quiet = False


@options.from_fields(_SignOptions)
def sign(asked: _SignOptions) -> None:
    """Add a decision to the log of a release, bound to the bytes that were decided about.

    Example: privacygauge release sign triage --decision hold --by "A. Berg" --role "head of data"
    --until 2027-01-31 --because "members can be told"
    """
    require_local(asked.folder, "a release is signed in a folder")
    require_local(asked.key or "", "a key is a file")
    from privacygauge.cli.output import emit_text
    from privacygauge.decisions.check import sign_release

    found = sign_release(
        asked.folder,
        decision=asked.decision,
        by=asked.by,
        role=asked.role,
        until=asked.until,
        because=asked.because,
        key=asked.key,
    )
    if not asked.quiet:
        key = "with a signature" if found.signature else "without a key"
        emit_text(
            f"Entry {found.n}: {found.decision}, by {found.who}, until {found.until}, {key}; bound "
            f"to {len(found.bound)} files by hash\n",
            "-",
        )


def due(
    folders: Annotated[list[Path], options.positional_argument("FOLDER", _FOLDER)],
    on: Annotated[str, options.text_option("--on", "DATE", _ON)] = "",
    data: Annotated[list[Path] | None, options.text_option("--data", "FILE", _DATA)] = None,
    json: options.Json = None,
) -> int:
    """List the tests and decisions that are due again: by time, changes, or a newer version.

    Exits with code 3 if anything is due, and with 2 if a folder cannot be read, after the others.

    Example: privacygauge release due releases/triage releases/twin --on 2027-06-01
    """
    from dataclasses import asdict

    from privacygauge.cli.output import check_json, emit_rows
    from privacygauge.decisions.check import Due
    from privacygauge.decisions.check import due as due_in
    from privacygauge.errors import InputError

    for place in (*folders, *(data or ())):
        require_local(place, "releases and data are read from files")
    check_json(json)
    found: list[Due] = []
    refused: dict[str, None] = {}
    for folder in folders:
        try:
            found += due_in(folder, on=on, data=data or ())
        except InputError as error:
            refused[str(error)] = None
    # One folder that cannot be read hides nothing of the others.
    if found or not refused:
        emit_rows([asdict(x) for x in found], json)
    if refused:
        raise InputError("; ".join(refused))
    return 3 if found else 0


@dataclass(frozen=True, kw_only=True)
class _EvidenceOptions:
    """Options of `privacygauge release evidence`."""

    folder: Release
    form: Annotated[
        str,
        options.text_option("--form", "|".join(FORMS), _FORM, offers=options.names(*FORMS)),
    ] = "opinion"
    formats: Annotated[
        list[str] | None,
        options.text_option("--format", "|".join(FORMATS), _FORMAT, offers=options.names(*FORMATS)),
    ] = None
    signers: Signers = None
    out: Annotated[Path | None, options.out("FOLDER/evidence", "the documents")] = None
    quiet: options.Quiet = False


@options.from_fields(_EvidenceOptions)
def evidence(asked: _EvidenceOptions) -> None:
    """Write the evidence about a release as a document, each number with the id of its report.

    Example: privacygauge release evidence triage

    Example: privacygauge release evidence triage --form checker --format pdf --format docx
    """
    require_local(asked.folder, "a release is read from a folder")
    require_local(asked.signers or "", "signers are read from a file")
    from privacygauge.cli.output import emit_text
    from privacygauge.decisions.check import check_release
    from privacygauge.decisions.evidence import evidence as evidence_of
    from privacygauge.runs.results import check_writable

    if asked.out is not None:
        check_writable(asked.out)
    usual = ("md",) if asked.form == "model-card" else ("html", "md")
    found = evidence_of(check_release(asked.folder, signers=asked.signers), asked.form)
    made = found.write(asked.out or asked.folder / "evidence", asked.formats or usual)
    if not asked.quiet:
        emit_text("".join(f"Evidence: {path}\n" for path in made), "-")


COMMANDS = (
    Group("release", "Decide about a release: one folder, one policy, one log.", HelpGroup.REPORTS),
    Program("release check", HelpGroup.REPORTS, check),
    Program("release sign", HelpGroup.REPORTS, sign),
    Program("release due", HelpGroup.REPORTS, due),
    Program("release evidence", HelpGroup.REPORTS, evidence),
)
"""The commands of `privacygauge release`."""
