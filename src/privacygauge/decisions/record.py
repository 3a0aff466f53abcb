"""A release as a folder: its content by hash, and the log of decisions that are bound to it.

The log is a file of JSON lines. Each entry holds the hashes of everything that was decided about
and of the entry before; the last line is a seal over all entries. So a change of any byte, line or
entry shows. Who can write to the folder can write a log of their own: only signatures with a key,
checked against a list of keys that is kept elsewhere, rule that out.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import re
import stat
import subprocess
import tempfile
from base64 import b64decode
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any
from unicodedata import normalize

from privacygauge.errors import InputError, failure_sentence
from privacygauge.releases.line import RegisterLine
from privacygauge.report.numbers import count, plain
from privacygauge.report.values import Severity
from privacygauge.runs.folder import Folder
from privacygauge.runs.results import write_all

ARTEFACT = "artefact"
"""Name of the released file or folder, a file's with any ending."""
REPORTS = "reports"
"""Folder of the audits: `NAME/report.json` in it, as `--out` writes it, or `NAME.json`."""
POLICY = "policy.toml"
"""File of the policy; a release may have none."""
LOG = "decisions.jsonl"
"""File of the log of decisions."""

OWN = ("check", "evidence")
"""Folders beside these that hold what was written about the release."""

DECISIONS = ("release", "conditions", "hold")
"""Decisions that can be signed."""

NAMESPACE = "privacygauge-release"
"""Purpose of the signatures, so that those made for something else do not count."""

LARGEST = 1 << 26
"""Largest size in bytes of a file that is read whole: a report, the policy, the log."""

_FIRST = "0" * 64
_REPORT = "report.json"
_PAGE = "report.html"


@dataclass(frozen=True)
class Artefact:
    """The bytes that are released."""

    name: str
    """Name in the folder of the release."""
    sha256: str
    """Hash of the file, or of the list of a folder's files with their hashes."""
    size: int
    """Bytes of all files."""
    n_files: int
    """Number of files, at least 1."""
    files: Mapping[str, str]
    """Hash of each file, by its path inside."""
    listed: str = ""
    """Hash of the folder as audits write it into their reports; empty for a file."""

    def named_by(self, digests: Collection[str]) -> frozenset[str]:
        """Return the paths of the files whose hashes, or that of the folder, are among some."""
        if self.listed and self.listed in digests:
            return frozenset(self.files)
        return frozenset(name for name, digest in self.files.items() if digest in digests)


@dataclass(frozen=True)
class ReleaseFolder:
    """Content of a release folder, read once."""

    path: Path
    """The folder."""
    artefact: Artefact | None
    """The released bytes; None if there are none."""
    reports: Mapping[str, bytes]
    """Content of each `report.json`, by the name of its audit."""
    pages: Mapping[str, bytes]
    """Content of each `report.html`, by the name of its audit."""
    hashes: Mapping[str, str]
    """Hash of each file in `reports`, by path."""
    unfinished: tuple[str, ...]
    """Names of the folders in `reports` without a report."""
    policy: bytes | None
    """Content of the policy; None without one."""
    others: tuple[str, ...] = ()
    """Names of what else is in the folder, which no decision is bound to."""

    @property
    def bound(self) -> dict[str, str]:
        """Hash of everything that a decision is bound to, by path."""
        found = dict(self.hashes)
        if self.artefact is not None:
            # By its full name: an ending says how a file is opened.
            found[self.artefact.name] = self.artefact.sha256
        if self.policy is not None:
            found[POLICY] = sha256(self.policy)
        return dict(sorted(found.items()))


def sha256(content: bytes) -> str:
    """Return the hash of bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def read_folder(path: str | Path) -> ReleaseFolder:
    """Return the content of a release folder; its artefact is hashed, never opened as a model.

    Raises
    ------
    InputError
        One line: a folder that is missing, a link or another special file in it, a file that is
        too large to be a report, or two artefacts.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise InputError(
            f"{folder} is not a folder: a release is a folder with {ARTEFACT}, {REPORTS}/NAME and "
            f"perhaps {POLICY}"
        )
    named = [x for x in _entries(folder) if x.name.partition(".")[0] == ARTEFACT]
    if len(named) > 1:
        both = " and ".join(sorted(plain(x.name) for x in named))
        raise InputError(f"{folder} has {both}: put what is released together into one folder")
    reports: dict[str, bytes] = {}
    pages: dict[str, bytes] = {}
    hashes: dict[str, str] = {}
    unfinished: list[str] = []
    place = folder / REPORTS
    if os.path.lexists(place):
        _require_regular(place, folders=True)
    for entry in _entries(place) if place.is_dir() else ():
        _require_regular(Path(entry.path), folders=True)
        if entry.is_dir():
            name = entry.name
            report = Path(entry.path, _REPORT)
            if os.path.lexists(page := Path(entry.path, _PAGE)):
                pages[name] = _whole(page)
        else:
            name = entry.name.removesuffix(".json")
            report = Path(entry.path)
        if not entry.is_dir() and (entry.name.startswith(".") or report.suffix != ".json"):
            pass  # a note beside the audits, which is bound as all files are
        elif not os.path.lexists(report):
            unfinished.append(name)
        elif name in reports:
            raise InputError(f"{place} has two audits called {plain(name)!r}: rename one")
        else:
            reports[name] = _whole(report)
        for file, (digest, _) in _files(Path(entry.path)).items():
            hashes["/".join((REPORTS, entry.name, *([] if file == "." else [file])))] = digest
    policy = folder / POLICY
    return ReleaseFolder(
        folder,
        artefact=_artefact(Path(named[0].path)) if named else None,
        reports=dict(sorted(reports.items())),
        pages=pages,
        hashes=hashes,
        unfinished=tuple(sorted(unfinished)),
        policy=_whole(policy) if os.path.lexists(policy) else None,
        others=tuple(
            x.name
            for x in _entries(folder)
            if x.name not in (REPORTS, POLICY, LOG, *OWN) and x.name.partition(".")[0] != ARTEFACT
        ),
    )


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda x: x.name)
    except OSError as error:
        raise InputError(failure_sentence(f"{folder} cannot be read", error)) from error


def _require_regular(path: Path, *, folders: bool = False) -> os.stat_result:
    """Return the state of a file; refuse links, which may lead anywhere, and special files."""
    try:
        found = os.lstat(path)
    except OSError as error:
        raise InputError(failure_sentence(f"{plain(path)} cannot be read", error)) from error
    if stat.S_ISLNK(found.st_mode):
        raise InputError(f"{plain(path)} is a link: put the file itself there")
    if not (stat.S_ISREG(found.st_mode) or (folders and stat.S_ISDIR(found.st_mode))):
        raise InputError(f"{plain(path)} is not a plain file: take it out of the release")
    return found


def _whole(path: Path) -> bytes:
    """Return the bytes of a file that is read whole."""
    if _require_regular(path).st_size > LARGEST:
        raise InputError(
            f"{plain(path)} is larger than {LARGEST >> 20} MiB, which no report, policy or log is: "
            "take it out of the release"
        )
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(failure_sentence(f"{plain(path)} cannot be read", error)) from error


def _files(path: Path) -> dict[str, tuple[str, int]]:
    """Return hash and size of each file in a folder by its path; of a file alone, by a dot."""
    files: dict[str, tuple[str, int]] = {}
    waiting = [path]
    while waiting:
        at = waiting.pop()
        found = _require_regular(at, folders=True)
        if stat.S_ISDIR(found.st_mode):
            waiting += [Path(x.path) for x in _entries(at)]
            continue
        try:
            with at.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise InputError(failure_sentence(f"{plain(at)} cannot be read", error)) from error
        files[at.relative_to(path).as_posix()] = (digest, found.st_size)
    return files


def _artefact(path: Path) -> Artefact:
    files = _files(path)
    if not files:
        raise InputError(f"{path} is empty: put what is released there")
    size = sum(size for _, size in files.values())
    if not path.is_dir():
        ((digest, _),) = files.values()
        return Artefact(path.name, digest, size, n_files=1, files={path.name: digest})
    digests = {name: digest for name, (digest, _) in sorted(files.items())}
    # As JSON, in which no name of a file can look like a further line.
    listed = json.dumps(digests)
    # As `file_hashes` writes a model's folder into a report.
    ordered = sorted(files.items(), key=lambda x: Path(x[0]))
    lines = "".join(f"{name} {digest}\n" for name, (digest, _) in ordered)
    return Artefact(
        path.name,
        sha256(listed.encode()),
        size,
        n_files=len(files),
        files=digests,
        listed=sha256(lines.encode("utf-8", "surrogateescape")),
    )


@dataclass(frozen=True)
class Decision:
    """An entry of the log."""

    n: int
    """Its number, from 1."""
    on: str
    """Day on which it was signed, in UTC, such as ``2026-01-31``."""
    decision: str
    """One of `DECISIONS`."""
    by: str
    """Who signed."""
    role: str
    """In which role."""
    until: str
    """Last day on which it holds."""
    because: str
    """Reason, or the conditions."""
    bound: Mapping[str, str]
    """Hash of everything that was decided about, by path; see `ReleaseFolder.bound`."""
    unmet: tuple[str, ...]
    """Requirements that were not met when it was signed."""
    version: str
    """Version of PrivacyGauge."""
    before: str
    """Hash of the entry before; zeros in the first."""
    signature: str = ""
    """SSH signature of all other fields; empty without a key."""

    def __post_init__(self) -> None:
        if self.decision not in DECISIONS:
            known = ", ".join(DECISIONS)
            raise InputError(f"--decision must be one of {known}, got {self.decision!r}")
        for name in ("by", "role", "because"):
            text = getattr(self, name)
            if not text.strip() or plain(text) != text:
                raise InputError(f"--{name} must be a text on one line, got {text!r}")
        for name in ("on", "until"):
            day(getattr(self, name), f"--{name}")

    @property
    def line(self) -> str:
        """The entry as a line of the log."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @property
    def unsigned_line(self) -> str:
        """The line that a signature is made over."""
        return replace(self, signature="").line

    @property
    def address(self) -> str:
        """The address in angle brackets of who signed; empty without one."""
        return self.by.partition("<")[2].partition(">")[0]

    @property
    def marks(self) -> frozenset[str]:
        """Marks of who signed: name, address, and the hash of the key."""
        named = {self.by, self.by.partition("<")[0], self.address}
        marks = {" ".join(normalize("NFKC", x).casefold().split()) for x in named}
        lines = [x for x in self.signature.splitlines() if not x.startswith("-----")]
        try:
            # A magic word of 6 bytes, the version in 4, the length of the public key in 4, the key.
            blob = b64decode("".join(lines), validate=True)
        except ValueError:
            blob = b""
        size = int.from_bytes(blob[10:14], "big")
        key = sha256(blob[14 : 14 + size]) if size else ""
        return frozenset(filter(None, {*marks, key}))

    @property
    def who(self) -> str:
        """Who signed, in which role."""
        return f"{plain(self.by)} ({plain(self.role)})"


def day(text: str, name: str) -> date:
    """Return a day from its text.

    Raises
    ------
    InputError
        If it is not a day such as ``2026-01-31``; the message begins with `name`.
    """
    try:
        found = date.fromisoformat(text)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be a day such as 2027-01-31, got {text!r}") from error
    # Python reads 20270131 and 2027-W05-7 too, which people do not.
    if found.isoformat() != text:
        raise InputError(f"{name} must be a day such as 2027-01-31, got {text!r}")
    return found


@dataclass(frozen=True)
class Log:
    """A log of decisions, and signs of changes by hand."""

    decisions: tuple[Decision, ...] = ()
    """Entries that can be read, in order."""
    faults: tuple[str, ...] = ()
    """Signs of a change by hand, one line each."""

    @property
    def standing(self) -> tuple[Decision, ...]:
        """The last decision of each person in each role."""
        last = {(x.by, x.role): x for x in self.decisions}
        return tuple(sorted(last.values(), key=lambda x: x.n))


def people(decisions: Sequence[Decision]) -> tuple[tuple[Decision, ...], ...]:
    """Return decisions by person: those who share a name, an address or a key are one."""
    found: list[tuple[set[str], list[Decision]]] = []
    for decision in decisions:
        marks = set(decision.marks)
        own = [decision]
        for other in [x for x in found if not marks.isdisjoint(x[0])]:
            found.remove(other)
            marks |= other[0]
            own += other[1]
        found.append((marks, own))
    return tuple(tuple(own) for _, own in found)


def without_a_person(roles: Sequence[str], decisions: Sequence[Decision]) -> tuple[str, ...]:
    """Return the roles that are left where each needs a person of its own, at best."""
    signers = [{x.role for x in own} for own in people(decisions)]
    taken: dict[int, str] = {}

    def place(role: str, tried: set[int]) -> bool:
        """Give a role a person, who may hand on another role."""
        for i, of in enumerate(signers):
            if role in of and i not in tried:
                tried.add(i)
                if i not in taken or place(taken[i], tried):
                    taken[i] = role
                    return True
        return False

    return tuple(role for role in dict.fromkeys(roles) if not place(role, set()))


def read_log(folder: Path) -> Log:
    """Return the log of a release folder; an empty one if nothing was signed."""
    place = folder / LOG
    if not os.path.lexists(place):
        return Log()
    *lines, last = _whole(place).split(b"\n")
    seal = lines.pop() if lines else b""
    faults: list[str] = []
    decisions: list[Decision] = []
    before = _FIRST
    for n, line in enumerate(lines, 1):
        found = _decision(line)
        if found is None:
            faults.append(f"{LOG}: entry {n} was changed: it is not as it was written")
        else:
            if found.n != n:
                faults.append(f"{LOG}: entry {n} says that it is entry {found.n}: one was removed")
            elif found.before != before:
                faults.append(f"{LOG}: the entry before entry {n} was changed or removed")
            decisions.append(found)
        before = sha256(line)
    # Without the line after it, the chain says nothing about the last entry: the seal does.
    if last or seal != _seal(lines):
        faults.append(
            f"{LOG}: its seal, the last line, does not fit the {count(len(lines))} above it: an "
            "entry was changed, added or removed"
        )
    return Log(tuple(decisions), tuple(faults))


def _seal(lines: Sequence[bytes]) -> bytes:
    sealed = sha256(b"".join(line + b"\n" for line in lines))
    return json.dumps({"entries": len(lines), "seal": sealed}, separators=(",", ":")).encode()


def _decision(line: bytes) -> Decision | None:
    """Return the entry of a line; None unless it would be written in exactly these bytes."""
    try:
        read: Any = json.loads(line)
        if not isinstance(read, dict) or set(read) != {f.name for f in fields(Decision)}:
            return None
        bound = read["bound"]
        texts = [read[f.name] for f in fields(Decision) if f.type == "str"]
        texts += [*bound, *bound.values(), *read["unmet"]]
        if type(read["n"]) is not int or not all(isinstance(x, str) for x in texts):
            return None
        found = Decision(**{**read, "unmet": tuple(read["unmet"])})
        return found if found.line.encode() == line else None
    except (ValueError, TypeError, AttributeError, RecursionError):  # an `InputError` is the first
        return None


@contextmanager
def exclusive_log(path: str | Path) -> Iterator[Log]:
    """Yield the log of a folder while no other process can sign there.

    Raises
    ------
    InputError
        If the log was changed by hand.
    OutputError
        If another process signs there for seconds.
    """
    folder = Path(path)
    with Folder(os.path.abspath(folder)).held():
        log = read_log(folder)
        if log.faults:
            raise InputError(
                f"{log.faults[0]}: nothing is signed on top of it; take {LOG} from a copy, or move "
                "it away and begin again"
            )
        yield log


def append(folder: Path, log: Log, found: Decision, key: str | Path | None = None) -> Decision:
    """Return a decision as it was appended to the log; see `exclusive_log`.

    Parameters
    ----------
    folder : Path
    log : Log
        The log as it stands.
    found : Decision
        The decision; its number and its place in the chain are filled in.
    key : str or Path, optional
        SSH key, private or public with its private one in an agent, to sign it with.
    """
    lines = [x.line.encode() for x in log.decisions]
    before = sha256(lines[-1]) if lines else _FIRST
    found = replace(found, n=len(lines) + 1, before=before)
    if key is not None:
        found = replace(found, signature=ssh_signature(found.unsigned_line, key))
    lines.append(found.line.encode())
    # The file is replaced as a whole, so that an interruption leaves the old log or the new one.
    write_all(folder, {LOG: b"".join(line + b"\n" for line in (*lines, _seal(lines)))})
    return found


def ssh_signature(message: str, key: str | Path) -> str:
    """Return the SSH signature of a text.

    Raises
    ------
    InputError
        One line: ``ssh-keygen`` is missing, or cannot use the key.
    """
    if not Path(key).is_file():
        raise InputError(f"{key} does not exist: --key must be a file with an SSH key")
    with tempfile.TemporaryDirectory() as place:
        text = Path(place, "message")
        text.write_text(message, encoding="utf-8")
        # It may ask for a passphrase, so the terminal stays connected.
        asked = ["-q", "-Y", "sign", "-f", str(key), "-n", NAMESPACE, str(text)]
        done = _ssh_keygen(asked, stdin=None)
        made = Path(f"{text}.sig")
        if done.returncode or not made.is_file():
            why = plain(done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:] or "")
            raise InputError(f"{key} cannot sign: {why or 'ssh-keygen gives no reason'}")
        return made.read_text(encoding="ascii")


def signature_fault(found: Decision, signers: str | Path | None) -> str:
    """Return the fault of the signature of a decision; empty if it is good.

    Parameters
    ----------
    found : Decision
    signers : str or Path, optional
        File of allowed signers, as ``ssh-keygen`` reads it. It names each by what they sign as: the
        whole of `by`, or the address in its angle brackets.
    """
    if not found.signature:
        return "is not signed with a key"
    if signers is None:
        return "has a signature, which only --signers FILE can check"
    if not Path(signers).is_file():
        raise InputError(f"{signers} does not exist: --signers must be a file of allowed signers")
    with tempfile.TemporaryDirectory() as place:
        made = Path(place, "message.sig")
        made.write_text(found.signature, encoding="utf-8")
        for name in filter(None, (found.by, found.address)):
            if name.startswith("-"):
                continue
            asked = ["-q", "-Y", "verify", "-f", str(signers), "-I", name, "-n", NAMESPACE]
            done = _ssh_keygen([*asked, "-s", str(made)], stdin=found.unsigned_line.encode())
            if done.returncode == 0:
                return ""
    return f"has a signature that is not that of {plain(found.by)} in {signers}"


def _ssh_keygen(asked: list[str], *, stdin: bytes | None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", *asked], input=stdin, capture_output=True, check=False)
    except FileNotFoundError as error:
        raise InputError(
            "ssh-keygen is not there, which signs and checks signatures: install OpenSSH"
        ) from error


# Who edits a report before it is signed can edit all of it. What is compared here are statements
# that stand in several places: a number among the measures, in its entry, in its interval and as it
# is shown; the grade, its severity and the headline; and what the page shows of them.

_GRADES_OF = {
    Severity.UNJUDGED: ("ranking only",),
    Severity.NOTHING: (
        "below the limit for certain",
        "better",
        "no difference",
        "no gain found",
        "no leak found",
        "not refuted",
        "not worse",
        "nothing extracted",
        "nothing stands out",
        "safe against any attack",
    ),
    Severity.SMALL: (
        "below the limit as far as seen",
        "no more than from others",
        "refuted on an assumption",
        "safe against known attacks",
        "slightly worse",
        "worth a look",
    ),
    Severity.MODERATE: ("open to attack", "something stands out", "worse"),
    Severity.UNTOLD: ("could not have told", "to be measured"),
    Severity.GRAVE: (
        "above the limit",
        "clearly worse",
        "extracted",
        "large",
        "leak",
        "refuted",
        "too many submissions",
    ),
}

SEVERITY_OF = {
    **{severity.value: severity for severity in Severity},
    **{word: severity for severity, words in _GRADES_OF.items() for word in words},
}
"""Severity of each grade of our audits, by its word."""


_HEADLINES = {
    "large leak": Severity.GRAVE,
    "small leak": Severity.SMALL,
    "moderate leak": Severity.MODERATE,
    "no leak found": Severity.NOTHING,
    "cannot be told": Severity.UNTOLD,
}
"""Severity of the grade that a headline begins with."""

_SHOWN = re.compile(r"(-?)([\d,]+(?:\.(\d+))?)(%|\u00a0?%| points)?")
"""A number as a report shows it, with its decimals and its unit."""


def disagreements(line: RegisterLine, page: bytes | None, content: bytes) -> Iterator[str]:
    """Yield contradictions in the content of a report, and with its page; None without a page."""
    severity = SEVERITY_OF.get(line.grade, line.severity)
    if severity is not line.severity:
        yield f"its severity is {line.severity}, but its grade, {plain(line.grade)}, is {severity}"
    begins = line.headline.lower()
    for words, of_headline in _HEADLINES.items():
        if begins.startswith(words) and of_headline is not line.severity:
            yield f"its headline begins with {words}, but its severity is {line.severity}"
    document: Any = json.loads(content)
    numbers = [x for x in document["numbers"] if isinstance(x, dict)]
    for number in numbers:
        yield from _of_number(number, document["measures"])
    if page is not None:
        shown = html.unescape(page.decode("utf-8", "replace"))
        # Characters that UTF-8 does not have were replaced when the page was written.
        headline = plain(line.headline).encode("utf-8", "replace").decode()
        if headline not in shown:
            yield f"its report.html does not say what its report.json does: {headline}"
        for found in (line.number, *line.further):
            for text in filter(None, (found.shown.value, found.shown.low, found.shown.high)):
                if plain(text).encode("utf-8", "replace").decode() not in shown:
                    yield f"its report.html does not show {plain(found.name)} as {found.shown}"
                    break


def _of_number(number: Mapping[str, Any], measures: Mapping[str, Any]) -> Iterator[str]:
    """Yield contradictions between the entry of a number and the measures of its report."""
    name = str(number["name"])
    value = number.get("value")
    estimate = number.get("estimate") or {}
    limits = estimate.get("low"), estimate.get("high")
    label = plain(name)

    def differ(one: object, other: object) -> bool:
        both = one, other
        if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in both):
            return False
        return abs(float(one) - float(other)) > 1e-9 * (1 + abs(float(one)))  # type: ignore[arg-type]

    if differ(measures.get(name), value):
        yield f"{label} is {measures[name]:.4g} among its measures, and {value:.4g} in its numbers"
    if differ(measures.get(f"{name}.low"), limits[0]):
        low = measures[f"{name}.low"]
        yield f"{label}.low is {low:.4g} among its measures, and {limits[0]:.4g} in its numbers"
    if differ(estimate.get("value"), value):
        yield f"{label} is {value:.4g}, but its interval is that of {estimate['value']:.4g}"
    shown = number["shown"]
    unit = ""
    texts = [shown["value"], *shown["interval"].split(" to ")]
    for text, stated in zip(texts, (value, *limits), strict=False):
        # Whoever reads it without its sign, such as that of a limit, reads the number itself.
        match = _SHOWN.fullmatch(text.lstrip("\u2265\u2264<>\u2248~ ").strip())
        if match is None or not isinstance(stated, int | float) or isinstance(stated, bool):
            continue
        unit = match[4] or unit
        if not unit and str(name).startswith("difference"):
            stated *= (
                100 if abs(stated) < 1 < abs(float(match[2].replace(",", ""))) else 1
            )  # points
        read = float(match[1] + match[2].replace(",", "")) / (100 if unit else 1)
        # Rounded to the nearest, up or down: by less than one of its last digit.
        rounding = 10.0 ** -len(match[3] or "") / (100 if unit else 1)
        beyond = text[:1] in "<>\u2265\u2264" and text[:1] != ""
        if abs(read - stated) > rounding * (1 + 1e-6) and not (
            beyond and ((text[0] in "<\u2264") == (stated <= read))
        ):
            yield f"{label} is {stated:.4g}, but shown as {plain(text)}"


def open_points(line: RegisterLine, page: bytes | None) -> Iterator[str]:
    """Yield the statements that could not be compared."""
    if line.grade not in SEVERITY_OF:
        yield f"whether the grade {plain(line.grade)} is {line.severity}"
    if page is None:
        yield "whether its page says the same, as it has none"
