"""What `privacygauge language` was asked of models and texts, and doing it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from privacygauge.audits.language.found import LanguageAudit
from privacygauge.audits.language.models import audit_causal, audit_masked
from privacygauge.audits.provenance import file_hashes
from privacygauge.cli.progress import bar
from privacygauge.core.checks import listed
from privacygauge.core.versions import own_version
from privacygauge.errors import InputError
from privacygauge.language.kinds import Kind, known_kind, model_kind
from privacygauge.language.masks import MaskPlan, Pattern
from privacygauge.language.model import Model
from privacygauge.language.precision import Precision
from privacygauge.language.text_energies import Form
from privacygauge.language.text_files import Columns
from privacygauge.language.thresholds import FPRS
from privacygauge.runs.atomic import check_writable
from privacygauge.runs.plan import ArraySpec, Plan
from privacygauge.runs.store import Run, open_run

ANSWERS = "answers"
"""Folder inside of a run that keeps what the models answered."""
ENERGIES = "energies.parquet"
"""File beside a run, for `privacygauge language --scores`."""

_PLACES = ("target", "reference", "members", "nonmembers", "population", "answers")
# What is chosen when the energies are there: it may be another with the same run.
_AFTERWARDS = ("threshold", "fpr", "show", "level")


@dataclass(frozen=True)
class LanguageModelRequest:
    """What `privacygauge language --target` was asked: kept with the run, to go on with it."""

    target: str
    """Folder of the audited model."""
    members: str
    """File of texts that it was trained on."""
    nonmembers: str
    """File of texts like them that it was not trained on."""
    reference: str | None = None
    """Folder of the reference model."""
    population: str | None = None
    """File of texts that thresholds are taken from."""
    kind: str | None = None
    """``masked`` or ``causal``; by default what the target's config says."""
    masks: int | None = None
    """Masks a text, of a masked model; 10 by default."""
    pattern: str | None = None
    """How masks are drawn, ``balanced`` by default; see `MaskPlan`."""
    form: str = "mean"
    """``mean`` or ``sum``, the form of an energy."""
    text: str = "text"
    """Column of the texts."""
    ids: str | None = None
    """Column of their ids."""
    group: str | None = None
    """Column of whom they belong to."""
    threshold: tuple[str, ...] = ()
    """Where thresholds come from; by default as `audit_language` chooses."""
    fpr: tuple[float, ...] = FPRS
    """False-positive rates that thresholds are chosen for."""
    show: tuple[str, ...] = ()
    """What to print beside the samples most at risk."""
    answers: str | None = None
    """Folder for what the models answer, shared by several audits; by default inside the run."""
    device: str = "cpu"
    """Where the models run."""
    precision: str = "float32"
    """What they compute in."""
    seed: int = 0
    """All random draws derive from it."""
    level: float = 0.95
    """Of every interval."""

    def __post_init__(self) -> None:
        for name, known in (("kind", get_args(Kind)), ("precision", get_args(Precision))):
            value = getattr(self, name)
            if value not in (None, *known):
                raise InputError(f"--{name} must be one of {listed(known)}, got {value!r}")

    def settled(self) -> Mapping[str, Any]:
        """Return the request as JSON values, with whole paths."""
        given = asdict(self)
        places = {name: _absolute(given[name]) for name in _PLACES}
        kind = self._kind()
        # As numbers, so that a default and the same value by name are the same run.
        masks = {"masks": self.plan.n_masks, "pattern": self.plan.pattern}
        return {**given, **places, "kind": kind, **(masks if kind == "masked" else {})}

    @property
    def plan(self) -> MaskPlan:
        """How texts are masked."""
        default = MaskPlan()
        pattern = default.pattern if self.pattern is None else cast(Pattern, self.pattern)
        n_masks = default.n_masks if self.masks is None else self.masks
        return MaskPlan(pattern, n_masks, seed=self.seed)

    def _kind(self) -> str:
        """Return the kind of both models, checked against what their folders say."""
        kind = self.kind or model_kind(self.target)
        for role, path in (("target", self.target), ("reference", self.reference)):
            found = None if path is None else known_kind(path)
            if found not in (None, kind):
                raise InputError(
                    f"--{role} must be a {kind} language model, got a {found} one in {path}: "
                    f"{'compare models of one kind' if self.kind is None else 'leave --kind out'}"
                )
        if kind == "causal":
            for name, value in (("masks", self.masks), ("pattern", self.pattern)):
                if value is not None:
                    raise InputError(
                        f"--{name} goes with masked models: a causal one is asked once a text"
                    )
        return kind

    @property
    def columns(self) -> Columns:
        """Which columns of the files are read."""
        return Columns(self.text, self.ids, self.group)


def language_model_request(
    target: str,
    given: Mapping[str, Any],
    threshold: tuple[str, ...],
    fpr: tuple[float, ...],
    show: tuple[str, ...],
    seed: int,
    level: float,
) -> LanguageModelRequest:
    """Return what was asked for by options of which some are given, by their names."""
    for name in ("members", "nonmembers"):
        if name not in given:
            raise InputError(f"--target needs --{name}, a file of texts")
    fields = {"ids" if name == "id" else name: value for name, value in given.items()}
    return LanguageModelRequest(
        target, **fields, threshold=threshold, fpr=fpr, show=show, seed=seed, level=level
    )


def language_model_request_in(options: Mapping[str, Any]) -> LanguageModelRequest:
    """Return the request that a run was started with."""
    lists = ("threshold", "fpr", "show")
    return LanguageModelRequest(**{**options, **{name: tuple(options[name]) for name in lists}})


def language_models_of_request(
    request: LanguageModelRequest, run: Path | None, *, jobs: int, quiet: bool
) -> LanguageAudit:
    """Return the audit that was asked for, asking the models what `run` does not hold yet."""
    options = request.settled()
    files = file_hashes(_files(request))
    opened: list[Run] = []
    if request.answers is not None:
        check_writable(Path(request.answers))

    def open_it(models: Sequence[Model]) -> None:
        if run is not None:
            opened.append(_opened(run, options, files, models))

    with _told_how_to_go_on(opened, request.answers), bar("Scoring texts", quiet) as progress:
        shared: dict[str, Any] = {
            "form": cast(Form, request.form),
            "columns": request.columns,
            "threshold": request.threshold or None,
            "fpr": request.fpr,
            "show": request.show,
            "device": request.device,
            "precision": cast(Precision, request.precision),
            "energies": None if run is None else run.parent / ENERGIES,
            "run": request.answers or (None if run is None else str(run / ANSWERS)),
            # One process for a GPU: every further one would hold the models once more.
            "n_jobs": jobs if request.device == "cpu" else 1,
            "progress": progress,
            "seed": request.seed,
            "level": request.level,
            "command": "language",
            "provenance": files,
            "before": open_it,
        }
        texts = (request.target, request.reference, request.members, request.nonmembers)
        if options["kind"] == "causal":
            found = audit_causal(*texts, request.population, **shared)
        else:
            found = audit_masked(*texts, request.population, plan=request.plan, **shared)
    for one in opened:
        _close(one, found)
    return found


@contextmanager
def _told_how_to_go_on(opened: Sequence[Run], answers: str | None) -> Iterator[None]:
    """Say how to go on when it is interrupted, if anything of it is kept."""
    try:
        yield
    except KeyboardInterrupt:
        if opened:
            place = Path(opened[0].path).parent
            print(f"\nprivacygauge: go on with: privacygauge resume {place}", file=sys.stderr)
        elif answers is not None:
            print("\nprivacygauge: go on with the same command", file=sys.stderr)
        raise


def _files(request: LanguageModelRequest) -> dict[str, Path | None]:
    given = {name: getattr(request, name) for name in ("members", "nonmembers", "population")}
    return {name: None if path is None else Path(path) for name, path in given.items()}


def _opened(
    run: Path, options: Mapping[str, Any], files: Mapping[str, str], models: Sequence[Model]
) -> Run:
    """Return the run: what was asked, and that it ended; the answers lie in folders of their own.

    With it, `privacygauge resume`, `report` and `runs` treat the audit as they treat any other.
    """
    asked = {name: value for name, value in options.items() if name not in (*_PLACES, *_AFTERWARDS)}
    plan = Plan(
        name="language",
        seed=options["seed"],
        n_units=1,
        unit="audit",
        units_a_task=1,
        arrays={"samples": ArraySpec(("audit",), (1,), "int64")},
        settings={
            **asked,
            "files": dict(files),
            "models": [model.source.weights for model in models],
            "privacygauge": own_version(),
        },
    )
    return open_run(run, plan, invocation={"command": "language", "options": dict(options)})


def _close(opened: Run, found: LanguageAudit) -> None:
    n_samples = np.array([len(found.records.member)])
    opened.write(opened.plan.tasks[0], {"samples": n_samples})


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).absolute())
