"""Options of `privacygauge language`, for energies or for models, and its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.dropped import DroppedFile, Recognised
from privacygauge.kinds.request import HelpGroup, Request, amounts, shares, with_low
from privacygauge.language.model_options import (
    ANSWERS,
    base_option,
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
from privacygauge.runs.options import Role, asks

if TYPE_CHECKING:
    from privacygauge.kinds.session import Work
    from privacygauge.language.audit.audit import LanguageAudit
    from privacygauge.language.endpoints import AnyModel, EndpointModel
    from privacygauge.language.energies import MaskPlan, Pattern
    from privacygauge.language.loading import Asked
    from privacygauge.language.splitting import Coins
    from privacygauge.language.text_energies import Form
    from privacygauge.language.text_files import Columns
    from privacygauge.runs.store import Run

NAME = "language"
"""The command."""

METRICS = (
    *with_low(*shares("accuracy", "auc", "advantage", "tpr@0.1", "tpr@0.01", "tpr@0.001")),
    *with_low(*amounts("epsilon"), *shares("patient-auc", "patient-accuracy")),
    *with_low(*shares("worst-group")),
    *amounts("patient-epsilon", "worst-records"),
    *shares("detectable"),
)
"""Metrics that a release can be held to."""

ENERGIES = "energies.parquet"
"""File in the report's folder, for `privacygauge language --scores`."""

_MODELS = "From models"
_ASKING = "How models are asked"
_model_option = partial(asks, panel=_MODELS)
_asking_option = partial(asks, panel=_ASKING)

_EITHER = (
    "give either --scores, energies that were computed already, or --target, a model, with "
    "--members and --nonmembers"
)

_FOLDERS = ("target", "reference", "base", "answers")
# Other texts, models and folders make another run by their digests; the choice of thresholds is
# made when the energies are there.
_DECIDES = (
    *("kind", "masks", "pattern", "form", "text", "ids", "group"),
    *(
        "trained",
        "template",
        "recall",
        "device",
        "precision",
        "context",
        "stride",
        "literal",
        "seed",
    ),
)

_HELP = """Audit a language model, from the model itself or from energies of texts.

Example: privacygauge language --target model --reference other --members in.jsonl
--nonmembers out.jsonl

Example: privacygauge language --scores energies.jsonl --threshold population --fpr 0.1
"""


@dataclass(frozen=True, kw_only=True)
class LanguageRequest(Request):
    """Options of an audit of a language model."""

    scores: str | None = asks(
        "FILE",
        "Energies of samples: .jsonl, .jsonl.gz, .csv or .parquet with the columns sample, "
        "energy_target and member (0 or 1), and as far as known group (the patient), "
        "energy_reference, population (0 or 1), length (tokens), text and signal_NAME of further "
        "signals. The values of other columns, such as a language, are groups of samples.",
    )
    threshold: tuple[str, ...] = asks(
        "NAME",
        "Where thresholds come from: population, oracle (the judged non-members themselves) or "
        "mean-train (the members' mean); several as a,b. Default: population, or oracle without "
        "one; the loss also with mean-train.",
        offers=("population", "oracle", "mean-train"),
    )
    fpr: tuple[str, ...] = asks(
        "RATE",
        "False-positive rate that thresholds are chosen for; several as a,b. Default: 0.1,0.01.",
    )
    show: tuple[str, ...] = asks(
        "COLUMN",
        "Column to print beside the samples most at risk: text or length. Default: ids only.",
        offers=("text", "length"),
    )
    target: str | None = _model_option(
        "DIR|URL",
        "Model to audit: a folder or s3:// URL with safetensors and tokenizer, or with a PEFT "
        "adapter; or a server with /completions below that address.",
        role=Role.MODEL,
    )
    reference: str | None = _model_option(
        "DIR|URL",
        "Model of the same kind that saw none of the texts. Default: the base of a PEFT adapter; "
        "without either only weak attacks are played.",
        role=Role.MODEL,
    )
    model_name: str | None = _model_option("NAME", "What its server calls the target.")
    reference_name: str | None = _model_option(
        "NAME", "What its server calls the reference. Default: as the target."
    )
    base: str | None = base_option(_MODELS)
    members: str | None = members_option(_MODELS, default=None)
    nonmembers: str | None = nonmembers_option(_MODELS, default=None)
    population: str | None = _model_option(
        "FILE",
        "Further texts of the same kind, which are not judged: thresholds are chosen on them.",
    )
    coins: str | None = asks(
        "FILE",
        "Coins that dealt the texts before the training, from language split. Default: coins.json "
        "beside --members, where there is one.",
    )
    text: str = text_option(_MODELS)
    ids: str | None = ids_option(_MODELS)
    group: str | None = group_option(_MODELS)
    trained: str = trained_option(_MODELS)
    template: str | None = template_option(_MODELS)
    answers: str | None = _model_option(
        "DIR",
        "Folder for the models' answers, which several audits may share: a reference is asked "
        "once. Default: inside of --out.",
        role=Role.FILE,
    )
    kind: str | None = _asking_option(
        "NAME",
        "masked or causal. Default: as the target's config.json says.",
        offers=("masked", "causal"),
    )
    masks: int | None = _asking_option("K", "Number of masks per text. Default: 10.")
    pattern: str | None = _asking_option(
        "NAME",
        "How masks are drawn: balanced (every token equally often), random (as published), single "
        "(every token once, alone) or exhaustive. Default: balanced.",
        offers=("balanced", "random", "single", "exhaustive"),
    )
    form: str = _asking_option(
        "NAME",
        "Form of an energy: mean or sum over a mask's tokens.",
        default="mean",
        offers=("mean", "sum"),
    )
    recall: int | None = _asking_option(
        "N",
        "Play ReCaLL too, for one pass more: a causal target reads each text after N texts of "
        "--population, or as many as fit. Their people are left out of the population then.",
    )
    device: str = _asking_option("NAME", "Where models run: cpu, cuda, or auto.", default="cpu")
    precision: str = _asking_option(
        "NAME",
        "Precision of models: float32, bfloat16, own (what they were saved in), and on a GPU "
        "float16, int8 or int4.",
        default="float32",
        offers=("float32", "bfloat16", "float16", "own", "int8", "int4"),
    )
    context: int | None = _asking_option(
        "N", "Most tokens that a model reads at once. Default: as many as it can."
    )
    stride: int | None = _asking_option(
        "N",
        "Tokens by which each window of a longer text begins after the one before; 0 reads the "
        "beginning alone. Default: half a window.",
    )
    literal: bool = _asking_option(
        "",
        "Read special tokens that are written in texts, such as <|im_end|>, as letters: for texts "
        "of people who are not trusted.",
    )

    def check(self, jobs: int) -> None:
        """Raise unless the options are those of energies or those of models."""
        if self.scores is not None and self.target is not None:
            raise InputError(_EITHER)
        if self.scores is None:
            *_, population = self.models_and_texts
            if self.recall is not None and population is None:
                raise InputError("--recall needs --population: it puts texts of it before others")
        else:
            for name in (
                *tuple(
                    asked.flag
                    for f, asked in self.asked()
                    if asked.panel in (_MODELS, _ASKING) and getattr(self, f.name) != f.default
                ),
                *(("--jobs",) if jobs != 1 else ()),
            ):
                raise InputError(f"{name} goes with --target, a model; --scores holds energies")
        for f, asked in self.asked():
            value = getattr(self, f.name)
            if f.name in ("kind", "precision") and value not in (None, *asked.offers):
                known = ", ".join(asked.offers)
                raise InputError(f"{asked.flag} must be one of {known}, got {value!r}")
        _ = self.rates

    @property
    def models_and_texts(self) -> tuple[str, str | None, str, str, str | None]:
        """The models and the files of texts, if models are audited."""
        if self.target is None:
            raise InputError(_EITHER)
        if self.members is None or self.nonmembers is None:
            missing = "members" if self.members is None else "nonmembers"
            raise InputError(f"--target needs --{missing}, a file of texts")
        return self.target, self.reference, self.members, self.nonmembers, self.population

    @property
    def models(self) -> tuple[str | EndpointModel, str | EndpointModel | None]:
        """The target and the reference: folders, or models behind servers."""
        from privacygauge.language.endpoints import EndpointModel

        target, reference, *_ = self.models_and_texts
        if "://" not in target:
            if self.model_name or self.reference_name:
                raise InputError("--model-name goes with --target URL, a server")
            return target, reference
        if self.model_name is None:
            raise InputError("--target URL needs --model-name, what the server calls the model")
        if reference is None:
            return EndpointModel(target, self.model_name), None
        if "://" not in reference:
            raise InputError("--reference must be the URL of a server too, or left out")
        name = self.reference_name or self.model_name
        return EndpointModel(target, self.model_name), EndpointModel(reference, name)

    @property
    def keeps(self) -> bool:
        """Whether models are queried, whose answers are worth keeping."""
        return self.target is not None

    @property
    def rates(self) -> tuple[float, ...]:
        """The false-positive rates; by default those of the paper."""
        from privacygauge.language.attacks import FPRS

        rates = []
        for text in self.fpr:
            try:
                rates.append(float(text))
            except ValueError as error:
                raise InputError(
                    f"--fpr must be rates such as 0.1 or 0.1,0.01, got {text!r}"
                ) from error
        return tuple(rates) or FPRS

    @property
    def plan(self) -> MaskPlan:
        """Plan of the masks over the texts."""
        from privacygauge.language.energies import MaskPlan

        default = MaskPlan()
        pattern = default.pattern if self.pattern is None else cast("Pattern", self.pattern)
        n_masks = default.n_masks if self.masks is None else self.masks
        return MaskPlan(pattern, n_masks, seed=self.seed)

    def settled(self) -> dict[str, Any]:
        """Return the request as JSON values; a default and the same value by name are equal.

        The kind of both models is checked against the files in their folders.
        """
        from privacygauge.language.loading import known_kind, model_kind

        found = {**super().settled(), "fpr": self.rates}
        if self.target is None:
            return found
        if "://" in self.target:
            _ = self.models
            return found | {"kind": "causal"}
        kind = self.kind or model_kind(self.target, self.base)
        given = (("target", self.target, self.base), ("reference", self.reference, None))
        for role, path, base in given:
            named = None if path is None else known_kind(path, base)[0]
            # A folder need not say its kind.
            if named not in (None, kind):
                raise InputError(
                    f"--{role} must be a {kind} language model, got a {named} one in {path}: "
                    f"{'compare models of one kind' if self.kind is None else 'leave --kind out'}"
                )
        if kind == "causal":
            for name, value in (("masks", self.masks), ("pattern", self.pattern)):
                if value is not None:
                    raise InputError(
                        f"--{name} goes with masked models: a causal one is asked once a text"
                    )
        elif self.recall is not None:
            raise InputError("--recall goes with causal models: it reads a text after others")
        found["kind"] = kind
        if kind == "masked":
            found |= {"masks": self.plan.n_masks, "pattern": self.plan.pattern}
        return found


def play(asked: LanguageRequest, work: Work) -> LanguageAudit:
    """Run the requested audit, of energies or of models."""
    from privacygauge.language.audit.audit import audit_language

    # The files of texts or energies.
    files = {name: path for name, path in asked.files().items() if name not in _FOLDERS}
    if asked.scores is None:
        # Audit a model, computing the energies that the run does not hold yet.
        from privacygauge.language.audit.audit import audit_causal, audit_masked
        from privacygauge.language.windows import Windows
        from privacygauge.runs.results import check_writable

        target, reference, *_ = asked.models_and_texts
        texts = asked.models_and_texts[2:]
        settled = asked.settled()
        told = asked.told(NAME, files)
        run = work.run
        columns = columns_of(
            asked.text, asked.ids, asked.group, trained=asked.trained, template=asked.template
        )
        coins, warnings = _coins(asked, columns)
        opened: list[Run] = []
        if asked.answers is not None:
            # Before the models are loaded, which may take minutes.
            check_writable(Path(asked.answers))

        def open_it(models: Sequence[AnyModel]) -> None:
            weights = [model.source.weights for model in models]
            settings = {**{name: settled[name] for name in _DECIDES}, "models": weights}
            opened.extend(run_opened(NAME, asked, work, {**settings, "files": told["provenance"]}))

        try:
            with work.resumable(asked), work.bar("Scoring texts") as progress:
                shared: dict[str, Any] = {
                    "form": cast("Form", asked.form),
                    "columns": columns,
                    "threshold": asked.threshold or None,
                    "fpr": asked.rates,
                    "show": asked.show,
                    "coins": coins,
                    "warnings": warnings,
                    "device": asked.device,
                    "precision": cast("Asked", asked.precision),
                    "windows": Windows(asked.context, asked.stride, asked.literal),
                    "base": asked.base,
                    "energies": None if run is None else run.parent / ENERGIES,
                    "run": asked.answers or (None if run is None else str(run / ANSWERS)),
                    # One process for a GPU: each further one would load the models again.
                    "n_jobs": work.jobs if asked.device == "cpu" else 1,
                    "progress": progress,
                    "before": open_it,
                    **told,
                }
                if settled["kind"] == "causal":
                    model, other = asked.models
                    found = audit_causal(model, other, *texts, recall=asked.recall, **shared)
                else:
                    found = audit_masked(target, reference, *texts, plan=asked.plan, **shared)
        except KeyboardInterrupt:
            # How to resume is said even if only the answers are kept.
            if run is None and asked.answers is not None:
                work.tell("\nprivacygauge: resume with the same command")
            raise
        run_closed(opened, len(found.records.member))
        return found
    return audit_language(
        asked.scores,
        threshold=asked.threshold or None,
        fpr=asked.rates,
        show=asked.show,
        coins=asked.coins,
        **asked.told(NAME, files),
    )


def _coins(asked: LanguageRequest, columns: Columns) -> tuple[Coins | None, tuple[str, ...]]:
    """Return the coins that were named, or those next to the members, and why they do not count."""
    from privacygauge.language.splitting import FILE, read_coins
    from privacygauge.language.text_files import SIDES, load_texts

    if asked.coins is not None:
        return read_coins(asked.coins), ()
    _, _, *texts = asked.models_and_texts
    beside = Path(texts[0] or "").parent / FILE
    if not beside.is_file():
        return None, ()
    given = zip(SIDES, texts, strict=True)
    try:
        found = read_coins(beside)
        found.require({side: load_texts(path, columns) for side, path in given if path})
    except InputError as error:
        return None, (f"The coins beside the members do not count: {error}.",)
    return found, ()


def recognise(files: Sequence[DroppedFile]) -> list[Recognised]:
    """Recognise the energies of texts."""
    (file, *others) = files
    if others or not {"energy_target", "member"} <= {*file.columns}:
        return []
    return [
        Recognised(
            "Energies of a language model's texts", lambda _: [f"--scores={file.name}"], fit=5
        )
    ]


COMMAND = Command(
    NAME,
    group=HelpGroup.LANGUAGE,
    request=LanguageRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC is above VALUE, or if a control says that the test is not "
        "honest: accuracy, auc, advantage, tpr@0.1, tpr@0.01, tpr@0.001 (the highest of all "
        "attacks, sample by sample), epsilon, patient-auc, patient-accuracy, patient-epsilon "
        "(with coins), worst-records (people that stand out), worst-group (right guesses in the "
        "worst group of a further column) or detectable (the least accuracy "
        "that would mostly have been found); add .low for the lower end of the interval."
    ),
    trains=True,
    jobs=1,
    keeps=True,
    tables=("records.parquet", "roc.csv", ENERGIES),
    recognise=recognise,
)
