"""What `leakscope language` was asked of models and texts, and doing it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from leakscope.audit.language import LanguageAudit
from leakscope.audit.language_models import Kind, audit_causal, audit_masked, model_kind
from leakscope.cli.progress import bar
from leakscope.cli.provenance import file_hashes
from leakscope.cli.training import told_how_to_go_on
from leakscope.core.checks import listed
from leakscope.core.versions import own_version
from leakscope.errors import InputError
from leakscope.language.masks import MaskPlan, Pattern
from leakscope.language.precision import Precision
from leakscope.language.text_energies import Form
from leakscope.language.text_files import Columns, load_texts
from leakscope.language.thresholds import FPRS
from leakscope.language.training import TrainedModel, train_reference
from leakscope.runs.plan import ArraySpec, Plan
from leakscope.runs.store import Run, open_run

ANSWERS = "answers"
"""Folder inside of a run that keeps what the models answered."""
ENERGIES = "energies.parquet"
"""File beside a run, for `leakscope language --scores`."""

_PLACES = ("target", "reference", "members", "nonmembers", "population", "answers")
# What is chosen when the energies are there: it may be another with the same run.
_AFTERWARDS = ("threshold", "fpr", "show", "level")


@dataclass(frozen=True)
class LanguageModelRequest:
    """What `leakscope language --target` was asked: kept with the run, to go on with it."""

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
    masks: int = 10
    """Masks a text."""
    pattern: str = "balanced"
    """How masks are drawn; see `MaskPlan`."""
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
        return {**given, **places, "kind": self.kind or model_kind(self.target)}

    @property
    def plan(self) -> MaskPlan:
        """How texts are masked."""
        return MaskPlan(cast(Pattern, self.pattern), self.masks, seed=self.seed)

    @property
    def columns(self) -> Columns:
        """Which columns of the files are read."""
        return Columns(self.text, self.ids, self.group)


@dataclass(frozen=True)
class ReferenceRequest:
    """What `leakscope language train-reference` was asked."""

    texts: str
    """File of texts; none of them judged later, nor of the population."""
    out: str
    """Folder for the model."""
    text: str = "text"
    """Column of the texts."""
    layers: int = 2
    """Layers of the model."""
    hidden: int = 128
    """Numbers that stand for a token inside of it."""
    vocabulary: int = 4096
    """The most tokens."""
    epochs: int = 40
    """How often every text is seen."""
    device: str = "cpu"
    """Where it is trained."""
    precision: str = "float32"
    """What it computes in."""
    seed: int = 0
    """All random draws derive from it."""


def language_model_request_in(options: Mapping[str, Any]) -> LanguageModelRequest:
    """Return the request that a run was started with."""
    lists = ("threshold", "fpr", "show")
    return LanguageModelRequest(**{**options, **{name: tuple(options[name]) for name in lists}})


def language_models_of_request(
    request: LanguageModelRequest, run: Path | None, *, jobs: int, quiet: bool
) -> LanguageAudit:
    """Return the audit that was asked for, asking the models what `run` does not hold yet."""
    options = request.settled()
    files = _files(request)
    opened = None if run is None else _opened(run, options, file_hashes(files))
    answers = request.answers or (None if run is None else str(run / ANSWERS))
    with told_how_to_go_on(run), bar("Scoring texts", quiet) as progress:
        shared: dict[str, Any] = {
            "form": cast(Form, request.form),
            "columns": request.columns,
            "threshold": request.threshold or None,
            "fpr": request.fpr,
            "show": request.show,
            "device": request.device,
            "precision": cast(Precision, request.precision),
            "energies": None if run is None else run.parent / ENERGIES,
            "run": answers,
            # One process for a GPU: every further one would hold the models once more.
            "n_jobs": jobs if request.device == "cpu" else 1,
            "progress": progress,
            "seed": request.seed,
            "level": request.level,
            "command": "language",
            "provenance": file_hashes(files),
        }
        texts = (request.target, request.reference, request.members, request.nonmembers)
        if options["kind"] == "causal":
            found = audit_causal(*texts, request.population, **shared)
        else:
            found = audit_masked(*texts, request.population, plan=request.plan, **shared)
    _close(opened, found)
    return found


def reference_of_request(request: ReferenceRequest, *, quiet: bool) -> TrainedModel:
    """Return the reference model that was asked for, going on where it was stopped."""
    texts = load_texts(request.texts, Columns(request.text)).text
    try:
        with bar("Training", quiet) as progress:
            return train_reference(
                texts,
                request.out,
                layers=request.layers,
                hidden=request.hidden,
                vocabulary=request.vocabulary,
                epochs=request.epochs,
                device=request.device,
                precision=cast(Precision, request.precision),
                seed=request.seed,
                progress=progress,
            )
    except KeyboardInterrupt:
        print("\nleakscope: go on with the same command", file=sys.stderr)
        raise


def _files(request: LanguageModelRequest) -> dict[str, Path | None]:
    given = {name: getattr(request, name) for name in ("members", "nonmembers", "population")}
    return {name: None if path is None else Path(path) for name, path in given.items()}


def _opened(run: Path, options: Mapping[str, Any], files: Mapping[str, str]) -> Run:
    """Return the run: what was asked, and that it ended; the answers lie in folders of their own.

    With it, `leakscope resume`, `report` and `runs` treat the audit as they treat any other.
    """
    asked = {name: value for name, value in options.items() if name not in (*_PLACES, *_AFTERWARDS)}
    plan = Plan(
        name="language",
        seed=options["seed"],
        n_units=1,
        unit="audit",
        units_a_task=1,
        arrays={"samples": ArraySpec(("audit",), (1,), "int64")},
        settings={**asked, "files": dict(files), "leakscope": own_version()},
    )
    return open_run(run, plan, invocation={"command": "language", "options": dict(options)})


def _close(opened: Run | None, found: LanguageAudit) -> None:
    if opened is not None:
        n_samples = np.array([len(found.records.member)])
        opened.write(opened.plan.tasks[0], {"samples": n_samples})


def _absolute(path: str | None) -> str | None:
    return None if path is None else str(Path(path).absolute())
