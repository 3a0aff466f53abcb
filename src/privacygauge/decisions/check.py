"""The check of a release: tests and gaps by question, its policy, and its decisions."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import date, timedelta
from difflib import get_close_matches
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, today
from privacygauge.datasets.reading import read_toml
from privacygauge.decisions.record import (
    ARTEFACT,
    LOG,
    POLICY,
    REPORTS,
    Artefact,
    Decision,
    Log,
    ReleaseFolder,
    append,
    day,
    disagreements,
    exclusive_log,
    open_points,
    read_folder,
    read_log,
    signature_fault,
    without_a_person,
)
from privacygauge.errors import InputError
from privacygauge.releases.audit import SCALE, line_dict
from privacygauge.releases.line import SEVERITIES, Number, Part, RegisterLine, line_of
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal,
    first_names,
    plain,
    rate,
    several,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Cell,
    Gauge,
    Grade,
    Items,
    Measure,
    Origin,
    Report,
    Rows,
    Section,
    Severity,
    Table,
    Verdict,
    Worst,
    note,
    pairs,
    pick_values,
    table,
    text,
    values_of,
)
from privacygauge.runs.results import file_hashes, write_all

if TYPE_CHECKING:
    from privacygauge.cli.output import Limit

STEM = "report"
"""Stem of the names of the files that a check writes."""


@dataclass(frozen=True)
class Question:
    """A question that a release has to answer."""

    name: str
    """Name in a policy and in the JSON."""
    title: str
    """Name for people."""
    asks: str
    """The question."""
    tasks: tuple[str, ...] = ()
    """Tasks of the audits that answer it, as their reports name them."""
    measures: tuple[str, ...] = ()
    """Measures by which an audit of another task answers it too."""

    def numbers(self, found: Audit) -> tuple[Number, ...]:
        """Return the numbers by which an audit answers the question; none if it does not."""
        return numbers_for(found, self.tasks, self.measures)


_BESIDE = {"membership-inference": ("accuracy", "patient-accuracy", "auc", "tpr@0.01")}
"""Measures that are shown beside the main number, by task: a verdict may follow from another."""


def numbers_for(
    found: Audit, tasks: Collection[str], measures: Collection[str]
) -> tuple[Number, ...]:
    """Return the numbers of an audit that has one of some tasks or measures; none without.

    The main number and those beside it answer for the task, the measures for themselves.
    """
    line = found.line
    beside = _BESIDE.get(line.task, ()) if line.task in tasks else ()
    every = (line.number, *line.further)
    main = every[:1] if line.task in tasks and line.number.name not in measures else ()
    return (*main, *(x for x in every if x.name in {*measures, *beside} and x not in main))


QUESTIONS = (
    Question(
        "membership",
        title="Membership",
        asks="Can it be told whose records it was made from?",
        tasks=("membership-inference",),
    ),
    Question(
        "attributes",
        title="Attributes",
        asks="Can values of a person be inferred that nobody was to know?",
        tasks=("attribute-inference",),
        measures=("inference",),
    ),
    Question(
        "extraction",
        title="Extraction and copies",
        asks="Can records or texts be got out of it, or do copies of them stand in it?",
        tasks=("training-data-extraction",),
        measures=("copies",),
    ),
    Question(
        "contents",
        title="Contents of the file",
        asks="What does the file carry that no attack is needed for?",
        tasks=("model-inspection",),
        measures=("stored-rows", "stored-values", "smallest-group", "small-groups", "disclosed"),
    ),
    Question(
        "claims",
        title="Claims of privacy",
        asks="Does the training keep what is claimed: differential privacy, or unlearning?",
        tasks=("differential-privacy-audit", "differential-training-privacy", "unlearning"),
    ),
)
"""The questions, in the order of the page."""

_TITLES = {x.name: x.title for x in QUESTIONS}

COMMAND_OF = {
    "released-table": "synthetic",
    "generator": "synthetic",
    "generator-attribute": "synthetic",
    "extraction": "language-extract",
    "privacy-claim": "dp-audit",
    "defences": "defend",
    "leaderboard": "holdout-log",
    "inspection": "inspect",
    "comparison": "compare",
}
"""Commands of the kinds of reports that are called otherwise; both name a table of a policy."""


@dataclass(frozen=True, eq=False)
class Audit:
    """An audit of a release, read from its report."""

    line: RegisterLine
    """Its line, as in a risk register."""
    file: str
    """Name of its report in the folder, which may have characters that are not shown."""
    kind: str
    """Kind of the report."""
    names: frozenset[str]
    """Names that a policy may use for it: its kind and its commands, with hyphens."""
    listed: frozenset[str]
    """Names of its numbers, also of those that were not computed."""
    power: str
    """The leak that it could have found, in words; empty if the report does not say."""
    attacks: frozenset[str]
    """Names of the attacks that it played or skipped."""
    skipped: tuple[tuple[str, str], ...]
    """Parts that it left out, with the reasons."""
    inputs: Mapping[str, str]
    """Hash of each audited file by its name."""
    covers: frozenset[str]
    """Files of the artefact that its report names, by hash, as what it audited."""
    linked: bool
    """Whether these are all files of the artefact."""

    @property
    def name(self) -> str:
        """Name of the audit."""
        return self.line.name

    def could_have_found(self, numbers: Collection[Number]) -> str:
        """Return the least leak that would have been found, in words, with respect to numbers.

        A report states it of its main number, so that other numbers alone have none.
        """
        if not self.power:
            return "its report does not say"
        if self.line.number not in numbers:
            return "its report does not say it of this number"
        return self.power

    @property
    def severity(self) -> Severity:
        """Severity of its verdict."""
        return self.line.severity

    def about(self, artefact: Artefact | None) -> str:
        """Return which files of the artefact it audited, in words."""
        if artefact is None or not self.covers:
            return "not shown"
        if self.linked:
            return f"all of {ARTEFACT}, by hash"
        names = ", ".join(sorted(map(plain, self.covers)))
        return f"a part of {ARTEFACT}, by hash: {names}"


def made_on(audit: Audit) -> tuple[date | None, str]:
    """Return the day on which an audit was made, None if it is none; and its fault."""
    try:
        made = day(audit.line.made, "the day on which it was made")
    except InputError as error:
        return None, plain(error)
    late = f"made on {made}, which is in the future: nothing says how old it is"
    return made, late if made.isoformat() > today() else ""


def read_audit(name: str, content: bytes, artefact: Artefact | None, where: str) -> Audit:
    """Return an audit from the content of its report.

    Raises
    ------
    InputError
        One line: the fault of the report, and the way out.
    """
    try:
        written = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{where} is damaged: it is not UTF-8 ({error.reason})") from error
    line = line_of(written, name, where=where)
    document = Part(where, json.loads(written), "write that report again")
    kind = document.text("kind")
    if kind == _KIND:
        raise InputError(f"{where} is itself the check of a release: take it out of {REPORTS}")
    command = document.text("command").replace(" ", "-")
    given = document.value.get("attacks")
    played = (
        [x.get("name") for x in given if isinstance(x, dict)] if isinstance(given, list) else []
    )
    skipped = tuple((x.text("name"), x.text("reason")) for x in document.parts("skipped"))
    named = (str(x).rpartition(" sha256:") for x in document.part("provenance").value.values())
    inputs = {plain(file): digest for file, mark, digest in named if mark}
    covers = frozenset[str]()
    if artefact is not None:
        # A digest of the data says nothing about what is released.
        audited = [str(document.part("provenance").value.get(x)) for x in RELEASED]
        covers = artefact.named_by([x.rpartition(" sha256:")[2] for x in audited])
    # The measure of the kinds that have one, then the sentences of the verdict.
    every = (line.number, *line.further)
    detail = document.value.get(_POWER)
    power = detail.get("power") if isinstance(detail, dict) else None
    often = f", {rate(power)} of the time" if isinstance(power, float) else ""
    words = [f"{x.label}: {x.shown}{often}" for x in every if x.name == _POWER]
    sentences = document.part("verdict").texts("sentences")
    words += [
        x.rstrip(".") for x in sentences if x.startswith(("What it could", "What this audit"))
    ]
    seen = document.value.get("seen_from")
    if isinstance(seen, float) and not words:
        words.append(f"{line.number.label}, from {decimal(seen, 2)} on")
    return Audit(
        line,
        name,
        kind,
        frozenset({kind, command, COMMAND_OF.get(kind, kind)}),
        listed=frozenset(x.text("name") for x in document.parts("numbers")),
        power=". ".join(plain(x) for x in words),
        attacks=frozenset(
            x for x in (*played, *(name for name, _ in skipped)) if isinstance(x, str)
        ),
        skipped=skipped,
        inputs=inputs,
        covers=covers,
        linked=artefact is not None and len(covers) == artefact.n_files,
    )


RELEASED = ("model", "target", "synthetic", "after")
"""Names in a report's provenance of what an audit attacked, beside its data."""
_KIND = "release"
"""Kind of the reports of checks."""
_POWER = "detectable"
"""Measure of the smallest leak that an audit would have found."""


@dataclass(frozen=True)
class Policy:
    """Requirements on a release, from a `policy.toml`.

    The tables of the commands hold limits, as ``--policy`` of those commands reads them; the table
    ``[release-check]`` holds the rest.
    """

    title: str = ""
    """Name of the release; default: that of its folder."""
    severity: float = 1.0
    """Gravest verdict that passes: 0 nothing found, 1 small, 2 moderate, 3 grave."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why questions are not applicable, by their names."""
    kinds: tuple[str, ...] = ()
    """Kinds of audits, or their commands, that have to be there."""
    roles: tuple[str, ...] = ()
    """Roles that have to sign, each another person; default: any one."""
    signed: bool = False
    """Whether decisions need a signature with a key."""
    linked: bool = False
    """Whether the audits of each question and kind have to name all files of the artefact."""
    days: int = 365
    """Days after which an audit is due again."""
    years: int = 5
    """Most years that a decision should hold; a longer one is warned of."""
    statements: Mapping[str, str] = field(default_factory=dict)
    """Statements of the owner that nothing here measures, by topic; see `TOPICS`."""
    limits: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)
    """Limits of measures, by the name of their table."""


TOPICS = ("sources", "minimisation", "methods", "outputs", "access")
"""Topics of an owner's statements."""

_TABLE = "release-check"
_SHORTEST = 10
"""Characters of the shortest reason; half of them are letters."""


def _are_texts(found: object, least: int = 1) -> bool:
    """Return whether all have so many characters, half of them letters; no program weighs them."""
    return isinstance(found, dict) and all(
        isinstance(x, str) and len(x.strip()) >= least and sum(map(str.isalpha, x)) >= least // 2
        for x in found.values()
    )


def _are_names(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(x, str) and x for x in found)


_SETTINGS: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "title": (lambda x: isinstance(x, str), "a text"),
    "severity": (
        lambda x: type(x) in (int, float) and 0 <= x < len(SCALE),  # type: ignore[operator]
        "a number from 0 (nothing found) to 3 (grave)",
    ),
    "kinds": (_are_names, "a list of names"),
    "roles": (_are_names, "a list of names"),
    "signed": (lambda x: isinstance(x, bool), "true or false"),
    "linked": (lambda x: isinstance(x, bool), "true or false"),
    "days": (lambda x: type(x) is int and 0 < x < 10**5, "a number of days, at least 1"),
    "years": (lambda x: type(x) is int and 0 < x < 1000, "a number of years, at least 1"),
    "not-applicable": (
        lambda x: _are_texts(x, _SHORTEST),
        f"a table that says why, in words (at least {_SHORTEST} characters each)",
    ),
    "statements": (_are_texts, "a table of texts"),
}
"""Settings of a policy beside its limits: the rule for the value, and the rule in words."""


def read_policy(path: Path, audits: Sequence[Audit]) -> Policy:
    """Return the policy of a file, with limits on the measures that the audits may have.

    Raises
    ------
    InputError
        One line: the file, the fault, and the way out.
    """
    from privacygauge.cli.commands import COMMANDS
    from privacygauge.cli.output import policy_limits

    def require_known(name: str, known: Collection[str], where: str) -> None:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(known))}"
            raise InputError(f"{path}: {where} has no {name!r}: {hint}")

    content = read_toml(path, "policy")
    own = content.pop(_TABLE, {})
    metrics: dict[str, list[str]] = {x.name.replace(" ", "-"): [*x.metrics] for x in COMMANDS}
    for audit in audits:
        for name in audit.names:
            own_metrics = metrics.setdefault(name, [])
            own_metrics += [x for x in audit.line.measures if x not in own_metrics]
    kinds = {*metrics, *COMMAND_OF, "inspect"}
    limits: dict[str, tuple[Limit, ...]] = {}
    for name, value in content.items():
        require_known(name, {*kinds, _TABLE}, "a policy")
        if not isinstance(value, dict):
            raise InputError(f"{path}: {name} must be a table [{name}] of limits, got {value!r}")
        # Without an audit of that kind from another package there is nothing to hold to a limit.
        if name in metrics:
            limits[name] = policy_limits(path, name, metrics[name])
    if not isinstance(own, dict):
        raise InputError(f"{path}: {_TABLE} must be a table [{_TABLE}], got {own!r}")
    for name, value in own.items():
        require_known(name, _SETTINGS, f"[{_TABLE}]")
        rule, words = _SETTINGS[name]
        if not rule(value):
            raise InputError(f"{path}: {_TABLE}.{name} must be {words}, got {value!r}")
    for name, known in {"not-applicable": _TITLES, "statements": TOPICS, "kinds": kinds}.items():
        for one in own.get(name, ()):
            require_known(one, known, f"{_TABLE}.{name}")
    reasons = own.pop("not-applicable", {})
    for name in ("kinds", "roles"):
        own[name] = tuple(own.get(name, ()))
    return Policy(**own, reasons=reasons, limits=limits)


def start_policy(folder: Path, named: str) -> None:
    """Copy a policy into a release folder: a file, or one that is shipped, by its name.

    Raises
    ------
    InputError
        If there is no such policy, or the folder has another one.
    """
    policies = files("privacygauge.decisions").joinpath("policies").iterdir()
    shipped = {x.name.removesuffix(".toml"): x for x in policies}
    if named in shipped:
        content = shipped[named].read_bytes()
    elif Path(named).is_file():
        content = Path(named).read_bytes()
    else:
        known = ", ".join(sorted(shipped))
        raise InputError(f"--policy must be a file or one of {known}, got {named!r}")
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: make it, with {ARTEFACT} and {REPORTS} in it")
    if (folder / POLICY).exists():
        if (folder / POLICY).read_bytes() != content:
            raise InputError(f"{folder / POLICY} is there already: edit it, or leave --policy out")
        return
    write_all(folder, {POLICY: content})


class State(StrEnum):
    """How far a question is answered."""

    TESTED = "tested"
    UNTOLD = "tested, but could not have told"
    UNTESTED = "untested"
    STATED = "not applicable"


@dataclass(frozen=True)
class Answer:
    """How far the audits of a release answer a question."""

    question: Question
    """The question."""
    state: State
    """How far it is answered."""
    audits: tuple[Audit, ...]
    """Audits that answer it, the gravest first."""
    reason: str
    """Why it is not applicable, in the owner's words; empty if it is."""

    @property
    def severity(self) -> Severity | None:
        """Gravest verdict of the audits; None without any."""
        return self.audits[0].severity if self.audits else None


def answer(question: Question, audits: Sequence[Audit], policy: Policy) -> Answer:
    """Return how far the audits of a release answer a question."""
    # A ranking attacked nothing, so it is no test.
    own = [x for x in audits if question.numbers(x) and x.severity is not Severity.UNJUDGED]
    own.sort(key=lambda x: SEVERITIES.index(x.severity))
    reason = policy.reasons.get(question.name, "")
    # One audit that could not tell is not outweighed by another that found nothing.
    if any(x.severity is Severity.UNTOLD for x in own):
        state = State.UNTOLD
    elif own:
        state = State.TESTED
    else:
        state = State.STATED if reason else State.UNTESTED
    return Answer(question, state, tuple(own), reason)


NOBODY = "Nobody has signed a decision"
"""Requirement that is not met before the first decision."""


@dataclass(frozen=True)
class Unmet:
    """A requirement that a release does not meet."""

    what: str
    """The requirement, and the state of the release."""
    mend: str
    """The way out."""


def _of_log(log: Log, release: ReleaseFolder, policy: Policy, on: str) -> Iterator[Unmet]:
    """Yield faults of the log, and changes since a decision."""
    restore = f"Take {LOG} from a copy; ask who changed it."
    yield from (Unmet(plain(fault), restore) for fault in log.faults)
    again = "Look at what changed, test again, and sign again."
    artefact = release.artefact
    for found in log.standing:
        now = release.bound
        if artefact is not None and ARTEFACT in found.bound and artefact.name != ARTEFACT:
            # Before 0.1, a file was bound without its ending.
            now[ARTEFACT] = now.pop(artefact.name)
        for name in sorted({*now, *found.bound}):
            if found.bound.get(name) == now.get(name):
                continue
            how = "was added" if name not in found.bound else "has changed"
            gone = "is gone" if name not in now else how
            yield Unmet(f"{plain(name)} {gone} since {found.who} signed on {found.on}", again)
        if found.on > max(on, today()):
            yield Unmet(
                f"The decision of {found.who} says that it was signed on {found.on}, which is in "
                "the future",
                "Ask who wrote it; sign again.",
            )
        if found.until < on:
            yield Unmet(
                f"The decision of {found.who} expired on {found.until}", "Test again, and sign."
            )
        if found.decision == "hold":
            yield Unmet(
                f"{found.who} holds it back: {plain(found.because)}",
                "Mend the reason; then the same person signs again in the same role.",
            )
    if not log.decisions and not log.faults:
        yield Unmet(NOBODY, "Let those who decide sign: privacygauge release sign --help")
    for role in without_a_person(policy.roles, log.standing) if log.decisions else ():
        names = sorted({plain(x.by) for x in log.standing if x.role == role})
        but = f" but {' and '.join(names)}, who signed in another role too," if names else ""
        yield Unmet(
            f"Nobody{but} has signed as {plain(role)}",
            f'Let another person sign with --role "{plain(role)}".'
            if names
            else f'Sign with --role "{plain(role)}".',
        )


def _age(age: timedelta, days: int) -> str:
    return f"{several(age.days, 'day')} old, above {count(days)}"


def _of_audits(
    audits: Sequence[Audit],
    answers: Sequence[Answer],
    policy: Policy,
    release: ReleaseFolder,
    *,
    by: date,
) -> Iterator[Unmet]:
    """Yield questions that the audits leave open, and limits that they exceed by a day."""
    artefact = release.artefact
    for name in release.unfinished:
        yield Unmet(
            f"{REPORTS}/{plain(name)} has no report.json: the audit is not finished",
            "Resume it, or take the folder away.",
        )
    for found in answers:
        if found.state is State.UNTESTED:
            yield Unmet(
                f"{found.question.title}: untested",
                f"Audit what is untested into {REPORTS}/NAME, or say in {POLICY}, in the table "
                f"[{_TABLE}.not-applicable], why the question makes no sense here.",
            )
        for audit in found.audits if found.state is State.UNTOLD else ():
            if audit.severity is Severity.UNTOLD:
                yield Unmet(
                    f"{found.question.title}: {plain(audit.name)} could not have told: "
                    f"{plain(audit.line.headline)}",
                    plain(audit.line.advice[0]) if audit.line.advice else "Audit it again.",
                )
    answering = {x for found in answers for x in found.audits}
    for audit in audits:
        if audit.severity is Severity.UNTOLD and audit not in answering:
            yield Unmet(
                f"{plain(audit.name)} could not have told: {plain(audit.line.headline)}",
                plain(audit.line.advice[0]) if audit.line.advice else "Audit it again.",
            )
    # A comparison reads audits, and a ranking attacks nothing.
    if all(x.kind == "comparison" or x.severity is Severity.UNJUDGED for x in audits):
        yield Unmet("No audit is there: nothing was attacked", f"Audit it into {REPORTS}/NAME.")
    for kind in policy.kinds:
        if not any(kind in x.names for x in audits):
            yield Unmet(f"No audit of the kind {plain(kind)} is there", "The policy requires it.")
    for audit in audits:
        name = plain(audit.name)
        advice = plain(audit.line.advice[0]) if audit.line.advice else "Read its report."
        page = release.pages.get(audit.file)
        for fault in disagreements(audit.line, page, release.reports[audit.file]):
            yield Unmet(f"{name}: {fault}", "Take the report from a copy, or audit it again.")
        made, fault = made_on(audit)
        if fault:
            yield Unmet(f"{name}: {fault}", "Audit it again; a report states the day itself.")
        elif made is not None and (by - made).days > policy.days:
            yield Unmet(f"{name}: {_age(by - made, policy.days)}", "Audit it again.")
        if audit.severity in SCALE and SCALE.index(audit.severity) > policy.severity:
            above = f"{audit.severity}, above the policy's {SCALE[int(policy.severity)]}"
            yield Unmet(f"{name}: {above}: {plain(audit.line.headline)}", advice)
        if policy.linked and not audit.covers:
            yield Unmet(
                f"{name} does not show that it is about {ARTEFACT}",
                "Audit the file itself, so that its hash stands in the report.",
            )
    if policy.linked and artefact is not None:
        needed = {x.question.title: x.audits for x in answers if x.audits}
        needed |= {x: tuple(y for y in audits if x in y.names) for x in policy.kinds}
        for of, found_audits in needed.items():
            covered = frozenset[str]().union(*(x.covers for x in found_audits))
            for file in sorted(artefact.files.keys() - covered) if covered else ():
                yield Unmet(
                    f"{plain(of)}: no audit names {plain(file)} of {ARTEFACT} as what it audited",
                    "Audit that file too, or the whole folder; or take it out of the release.",
                )
    for of, limits in policy.limits.items():
        held = [x for x in audits if of in x.names]
        for limit in limits if held else ():
            metric = str(limit.metric)
            # A table may be that of several kinds, which do not have all measures.
            own = [x for x in held if metric.removesuffix(".low") in x.listed]
            if not own:
                yield Unmet(
                    f"{metric} was not computed by any audit that [{of}] holds to a limit",
                    f"Audit it so that it is, or take the limit out of {POLICY}.",
                )
            for audit in own:
                value = audit.line.measures.get(metric)
                if value is None:
                    how = "was not computed, so its limit cannot be checked"
                elif value > limit.value:
                    how = f"is {value:.4g}, above the limit of {limit.value:g}"
                else:
                    continue
                yield Unmet(f"{plain(audit.name)}: {metric} {how}", f"See [{of}] of {POLICY}.")


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseCheck(Reported):
    """Whether a release meets its policy, with everything that it was tested for."""

    origin: Origin
    """Origin of the check; nothing is drawn at random."""
    title: str
    """Name of the release."""
    release: ReleaseFolder
    """Content of its folder."""
    policy: Policy
    """Its policy; the default without a file."""
    audits: tuple[Audit, ...]
    """Its audits, the gravest first."""
    answers: tuple[Answer, ...]
    """Answers to all questions."""
    log: Log
    """Its decisions."""
    signatures: Mapping[int, str]
    """Fault of the signature of each decision that was checked, by number; empty if good."""
    unmet: tuple[Unmet, ...]
    """Requirements that are not met, the log first."""

    @property
    def failures(self) -> tuple[str, ...]:
        """The requirements that are not met, one line each."""
        return tuple(x.what for x in self.unmet)

    def signature(self, found: Decision) -> str:
        """Return the state of a decision's signature, in words."""
        fault = self.signatures.get(found.n)
        if fault is None:
            return "no key"
        # Beside an address that a key is listed for, the name is what was typed.
        return fault or f"signature checked: {plain(found.address or found.by)}"

    def report(self) -> Report:
        """Return the full report of the check as plain values."""
        n = len(self.unmet)
        holds = min((x.until for x in self.log.standing), default="")
        conditions = [x for x in self.log.standing if x.decision == "conditions"]
        # What passes is at best as mild as its gravest audit.
        gravest = self.audits[0].severity if self.audits else Severity.UNTOLD
        met = Grade("policy met", gravest)
        unmet = Grade("policy not met", Severity.GRAVE)
        if n:
            headline = f"Not cleared: {several(n, 'requirement')} not met"
        elif conditions:
            headline = f"Cleared on conditions until {holds}: the policy is met"
        else:
            headline = f"Cleared until {holds}: the policy is met and the decision signed"
        tested = [x for x in self.answers if x.state is State.TESTED]
        parts = ", ".join(
            f"{count(k)} {state}"
            for state in State
            if (k := sum(x.state is state for x in self.answers))
        )
        sentences = [f"Of {count(len(self.answers))} questions: {parts}."]
        sentences += [f"{x.what}." for x in self.unmet]
        sentences += [f"Condition of {x.who}: {plain(x.because)}" for x in conditions]
        advice = list(dict.fromkeys(x.mend for x in self.unmet))
        if not n:
            advice = [f"Check it again in every pipeline, and test it again before {holds}."]
            if conditions:
                advice.insert(0, "See that the conditions are kept: nothing here can.")
        measures = (
            Measure(
                "unmet",
                "Requirements not met",
                float(n),
                Shown(count(n)),
                text="Of the policy, the decisions and the integrity of the folder.",
            ),
            Measure(
                "tested",
                "Questions tested",
                float(len(tested)),
                Shown(count(len(tested))),
                text="A test that could not have told does not count.",
                gate=False,
            ),
        )
        questions = _questions(self)
        open_ = [
            f"Of {plain(x.name)} it does not say {' or '.join(told)}."
            for x in self.audits
            if (told := [*open_points(x.line, self.release.pages.get(x.file))])
        ]
        return Report(
            _KIND,
            "Release",
            about=About(
                f"{self.title}, by sha256",
                "Each audit has a game of its own; this compares them with a policy.",
                "as each report says",
                "release-decision",
            ),
            intro="What the release was tested for, and who decided. No number is computed again.",
            origin=self.origin,
            verdict=Verdict(
                grade=unmet if n else met,
                scale=(met, unmet),
                headline=headline,
                sentences=tuple(sentences),
                unsaid=" ".join((UNSAID, *open_)),
                advice=tuple(advice),
                gauge=Gauge(
                    "Requirements not met",
                    Shown(count(n)),
                    low=float(n),
                    value=float(n),
                    high=float(n),
                    limits=(0.0, 1.0, n + 1.0 if n else 2.0),
                    ticks=("1",),
                    rule="The policy is met if nothing that it asks for is missing or fails.",
                ),
            ),
            measures=measures,
            sections=tuple(_sections(self, questions)),
            terms=_TERMS,
            worst=Worst(reason="each report names its own"),
            data=_data(self),
            frames={},
            nothing_left_out="Nothing: every question has an answer.",
            overview=(questions,),
            name=self.title,
        )


UNSAID = (
    "It says what was tested, how sharply, and whether that meets a policy that people wrote. It "
    "does not say that nothing leaks: an audit that finds nothing may miss what is smaller than "
    "what it could have found. Nor does it say what data protection law makes of it. That nobody "
    "edited a report before it was signed it cannot say either: statements that stand twice in it "
    "or on its page are compared with each other, and who edits all of them is not seen."
)
"""The limits of a check."""


def _questions(c: ReleaseCheck) -> Table:
    rows: Rows = []
    for found in c.answers:
        result: list[str] = []
        power: list[str] = []
        for audit in found.audits:
            numbers = found.question.numbers(audit)
            for number in numbers:
                shown = f"{number.label} {number.shown}"
                guess = f"; guessing gives {number.guessing}" if number.guessing else ""
                result.append(f"{plain(audit.name)}: {plain(shown)}{plain(guess)}")
            power.append(f"{plain(audit.name)}: {audit.could_have_found(numbers)}")
        verdict = "" if found.severity is None else found.severity.value
        rows.append(
            {
                "Question": Cell(found.question.title, (found.question.asks,)),
                "State": found.state.value,
                "Gravest verdict": verdict or found.reason or "-",
                "Numbers": Cell(result[0], tuple(result[1:])) if result else "-",
                "It could have found": Cell(power[0], tuple(power[1:])) if power else "-",
            }
        )
    return table(
        "questions",
        "What was asked",
        rows,
        "Untested is not safe, and nothing found is not nothing there: read the last column.",
        prose=("State", "Gravest verdict", "Numbers", "It could have found"),
        spare=("Numbers", "It could have found"),
    )


def _sections(c: ReleaseCheck, questions: Table) -> Iterator[Section]:
    yield Section(
        "questions", "What was asked, and what came of it", (questions,), "Questions", open=True
    )
    if c.unmet:
        lines = tuple(f"{x.what}. {x.mend}" for x in c.unmet)
        yield Section("unmet", "What is not met", (Items(lines),), "Not met", open=True)
    signed: Rows = [
        {
            "Decision": Cell(found.decision, (f"entry {found.n}",)),
            "By": Cell(plain(found.by), (plain(found.role),)),
            "Signed": found.on,
            "Until": found.until,
            "Because": plain(found.because),
            "Signature": c.signature(found),
        }
        for found in c.log.decisions
    ]
    blocks = (
        table("decisions", "The log", signed, prose=("By", "Because", "Signature"))
        if signed
        else text("Nobody has signed."),
        note(
            "Each entry holds the hashes of the artefact, the reports, the policy and the entry "
            "before. The last decision of each person in each role counts. Without a key a name is "
            "what somebody typed."
        ),
    )
    yield Section("decisions", "Who decided", blocks, "Decisions")
    artefact = c.release.artefact
    bound = dict(c.release.bound)
    if artefact is not None:
        size = f"{several(artefact.n_files, 'file')}, {count(artefact.size)} bytes"
        bound = {plain(artefact.name): f"{bound.pop(artefact.name)} ({size})", **bound}
    yield Section(
        "bound",
        "What is released, by sha256",
        (pairs({plain(name): digest for name, digest in bound.items()}),),
        "By hash",
    )
    audits: Rows = [
        {
            "Audit": Cell(plain(x.name), (x.kind,)),
            "Severity": x.severity.value,
            "Verdict": plain(x.line.headline),
            "Made": Cell(x.line.made, (f"version {plain(x.line.version)}",)),
            "About these bytes": x.about(artefact),
        }
        for x in c.audits
    ]
    if audits:
        listed = table(
            "audits",
            "Audits",
            audits,
            "All by hash: the report names every file of the artefact as what it audited; a part: "
            "only those that are listed. Not shown: it audited predictions or data, and that they "
            "are of this artefact is for you to know.",
            prose=("Severity", "Verdict", "About these bytes"),
        )
        yield Section("audits", "The audits", (listed,))


_TERMS = {
    "Tested": "An audit attacked it, and its report says what came of it.",
    "Tested, but could not have told": "The audit says itself that it could not tell. It is no "
    "pass.",
    "Untested": "No audit attacked it.",
    "Not applicable": "The owner states in the policy why the question makes no sense here.",
    "It could have found": "The least leak that an audit of this size shows four times out of "
    "five. A smaller one may be there.",
    "Severity": "What the grade of an audit's own report comes to on one scale for all kinds.",
    "Entry": "A line of the log of decisions, bound to the bytes that were decided about.",
}


def _data(c: ReleaseCheck) -> dict[str, Any]:
    artefact = c.release.artefact
    return {
        "artefact": None
        if artefact is None
        else pick_values(artefact, "name", "sha256", "size", files="n_files"),
        "bound": c.release.bound,
        "questions": [
            {
                **pick_values(x.question, "name", "title"),
                **pick_values(x, "state", "severity", "reason"),
                "audits": [
                    {
                        "name": audit.name,
                        "power": audit.could_have_found(x.question.numbers(audit)),
                        "numbers": [
                            {**pick_values(y, "name", "value", "estimate"), "shown": str(y.shown)}
                            for y in x.question.numbers(audit)
                        ],
                    }
                    for audit in x.audits
                ],
            }
            for x in c.answers
        ],
        "unmet": [pick_values(x, "what", "mend") for x in c.unmet],
        "decisions": [
            {**asdict(x), "unmet": list(x.unmet), "signature": c.signature(x)}
            for x in c.log.decisions
        ],
        "audits": [
            {
                **line_dict(x.line),
                **pick_values(x, "kind", "power", "linked"),
                "covers": sorted(x.covers),
            }
            for x in c.audits
        ],
        "policy": values_of(c.policy),
    }


def check_release(
    folder: str | Path, *, signers: str | Path | None = None, on: str = ""
) -> ReleaseCheck:
    """Return whether a release meets its policy, and everything that it was tested for.

    Parameters
    ----------
    folder : str or Path
        The release: ``artefact`` (a file or a folder), ``reports/NAME`` of its audits,
        ``policy.toml`` (optional) and the log of its decisions.
    signers : str or Path, optional
        File of allowed signers, as ``ssh-keygen`` reads it, to check signatures with.
    on : str
        Day on which decisions have to hold; default: today, in UTC.

    Returns
    -------
    ReleaseCheck
        `failures` names what is not met.

    Raises
    ------
    InputError
        One line: a folder that is no release, or one that cannot be read. Of a release that was
        signed, reports and a policy that cannot be read are failures instead.
    """
    release = read_folder(folder)
    return _judgement(release, read_log(release.path), signers, on or today())


def _judgement(
    release: ReleaseFolder, log: Log, signers: str | Path | None, on: str
) -> ReleaseCheck:
    day(on, "on")
    signed = bool(log.decisions or log.faults)
    if release.artefact is None and not signed:
        raise InputError(
            f"{release.path} has no {ARTEFACT}: put there what is released, a file {ARTEFACT}.* or "
            f"a folder {ARTEFACT}"
        )
    damaged: list[Unmet] = []
    audits: list[Audit] = []
    for name, content in release.reports.items():
        where = plain(release.path / REPORTS / name)
        try:
            audits.append(read_audit(name, content, release.artefact, where))
        except InputError as error:
            if not signed:
                raise
            damaged.append(Unmet(plain(error), "Take the report from a copy, or audit it again."))
    audits.sort(key=lambda x: SEVERITIES.index(x.severity))
    policy = Policy()
    if release.policy is not None:
        try:
            policy = read_policy(release.path / POLICY, audits)
        except InputError as error:
            if not signed:
                raise
            damaged.append(Unmet(plain(error), "Take the policy from a copy."))
    keyed = policy.signed or signers is not None
    asked = [x for x in log.decisions if x.signature or keyed]
    faults = {x.n: signature_fault(x, signers) for x in asked}
    answers = tuple(answer(x, audits, policy) for x in QUESTIONS)
    unsigned = [
        Unmet(
            f"The decision of {x.who} of {x.on} {faults[x.n]}",
            "Sign with --key, and check with --signers FILE.",
        )
        for x in log.standing
        if keyed and faults[x.n]
    ]
    unmet = (
        *_of_log(log, release, policy, on),
        *unsigned,
        *damaged,
        *_of_audits(audits, answers, policy, release, by=day(on, "on")),
    )
    title = plain(policy.title or release.path.resolve().name)
    left_out = [
        Skipped(x.question.title, x.reason or "untested")
        for x in answers
        if x.state in (State.STATED, State.UNTESTED)
    ]
    warnings = [f"{plain(x.name)}: {plain(y)}" for x in audits for y in x.line.warnings]
    long = [
        x
        for x in log.standing
        if (day(x.until, "until") - day(x.on, "on")).days > 366 * policy.years
    ]
    warnings += [
        f"the decision of {x.who} holds until {x.until}, more than "
        f"{several(policy.years, 'year')} after it was signed"
        for x in long
    ]
    if release.others:
        names = first_names([plain(x) for x in release.others], 10)
        warnings.append(f"no decision covers what else is in the folder: {names}")
    if release.policy is None:
        warnings.insert(0, f"there is no {POLICY}: all questions are asked, and small leaks pass")
    origin = Origin(
        command="release check",
        version=own_version(),
        seed=0,
        level=0.95,
        made=on,
        skipped=tuple(left_out),
        warnings=tuple(warnings),
        provenance={x.name: f"report.json sha256:{x.line.sha256}" for x in audits},
    )
    return ReleaseCheck(
        origin=origin,
        title=title,
        release=release,
        policy=policy,
        audits=tuple(audits),
        answers=answers,
        log=log,
        signatures=faults,
        unmet=unmet,
    )


def sign_release(
    folder: str | Path,
    *,
    decision: str,
    by: str,
    role: str,
    until: str,
    because: str,
    key: str | Path | None = None,
) -> Decision:
    """Return a decision that was appended to the log of a release.

    Parameters
    ----------
    folder : str or Path
        The release.
    decision : str
        ``release``, ``conditions`` or ``hold``. A release is refused while its policy is not met.
    by, role, because : str
        Who decides, in which role, for which reason or on which conditions.
    until : str
        Last day on which it holds, such as ``2027-01-31``.
    key : str or Path, optional
        SSH key to sign it with.

    Raises
    ------
    InputError
        One line: bad arguments, a policy that is not met, or a log that was changed by hand.
    OutputError
        If it cannot be written, or another process signs there.
    """
    path = Path(folder)
    with exclusive_log(path) as log:
        # Read under the lock: the signed bytes are those that are there.
        release = read_folder(path)
        found = _judgement(release, Log(), None, today())
        # Nobody has signed yet, which is no reason not to.
        open_points = tuple(x for x in found.failures if x != NOBODY)
        entry = Decision(
            0,
            on=today(),
            decision=decision,
            by=by,
            role=role,
            until=until,
            because=because,
            bound=release.bound,
            unmet=open_points,
            version=own_version(),
            before="",
        )
        if until < today():
            raise InputError(f"--until must not be in the past, got {until}")
        if found.policy.signed and key is None:
            raise InputError(f"{POLICY} asks for a signature: give --key FILE")
        if decision == "release" and open_points:
            more = f" and {count(len(open_points) - 1)} more" if len(open_points) > 1 else ""
            raise InputError(
                f"the policy is not met ({open_points[0]}{more}), so it cannot be signed as "
                "release: mend it, or sign hold or conditions"
            )
        return append(path, log, entry, key)


@dataclass(frozen=True)
class Due:
    """A part of a release that has to be tested or signed again."""

    release: str
    """Name of the release."""
    what: str
    """The audit, or the decision."""
    why: str
    """The reason."""


def due(folder: str | Path, *, on: str = "", data: Sequence[str | Path] = ()) -> tuple[Due, ...]:
    """Return the tests and decisions of a release that are due again.

    Parameters
    ----------
    folder : str or Path
        The release.
    on : str
        Day by which; default: today, in UTC.
    data : sequence of str or Path
        Files as they are now: a report that audited a file of that name with other content is due.

    Raises
    ------
    InputError
        As `check_release`; or a file of the data does not exist.
    """
    by = day(on or today(), "--on")
    found = check_release(folder, on=by.isoformat())
    release = found.title
    here = {}
    for file in map(Path, data):
        if not file.is_file():
            raise InputError(f"{file} does not exist: --data must be a file that was audited")
        here[plain(file.name)] = file_hashes({"": file})[""].rpartition(":")[2]
    # What somebody holds back is not out, so that nothing about it is due.
    held = [x for x in found.log.standing if x.decision == "hold"]
    signed = replace(found.log, decisions=tuple(x for x in found.log.decisions if x not in held))
    lines = _of_log(signed, found.release, found.policy, by.isoformat())
    todo = [Due(release, "decision", x.what) for x in lines if not held or x.what != NOBODY]
    for audit in found.audits:
        name = plain(audit.name)
        made, fault = made_on(audit)
        if fault:
            todo.append(Due(release, name, fault))
        elif made is not None and (by - made).days > found.policy.days:
            todo.append(Due(release, name, _age(by - made, found.policy.days)))
        for named, digest in audit.inputs.items():
            if here.get(named, digest) != digest:
                todo.append(Due(release, name, f"{named} has changed since it was audited"))
        if audit.line.version != own_version():
            new = sorted(played_now(audit) - audit.attacks)
            attacks = f", which plays {', '.join(new)} too" if new else ""
            why = f"made by {plain(audit.line.version)}; this is {own_version()}{attacks}"
            todo.append(Due(release, name, why))
    return tuple(todo)


def played_now(audit: Audit) -> frozenset[str]:
    """Return the names of the attacks that this version plays in audits of that kind.

    Empty for kinds whose attacks have no names that a user can choose.
    """
    import privacygauge
    from privacygauge.cli.commands import COMMANDS

    offered = {
        name
        for command in COMMANDS
        if command.name.replace(" ", "-") in audit.names
        for f, asked in command.request.asked()
        if f.name == "attacks"
        for name in asked.offers
    }
    if audit.kind == "classifier":
        # By their public names, so that nothing here depends on the wing of classifiers.
        suites = [getattr(privacygauge, x, tuple) for x in ("prediction_attacks", "pool_attacks")]
        names, of_pools = ({x.name for x in suite()} for suite in suites)
        beyond = of_pools - names
        offered |= names | (beyond if audit.attacks & beyond else set())
    return frozenset(offered)
