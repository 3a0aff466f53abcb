"""Options about a language model and its reference, and about how extraction is tried."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any, cast

from privacygauge.errors import InputError
from privacygauge.kinds.request import Request
from privacygauge.runs.options import Options, Role, asks, option

if TYPE_CHECKING:
    from privacygauge.kinds.session import Work
    from privacygauge.language.text_files import Columns, Trained
    from privacygauge.runs.store import Run


ANSWERS = "answers"
"""Folder inside a run that keeps the models' answers."""


def members_option(panel: str = "", *, default: Any = MISSING) -> Any:
    """Return the option of the member texts; required unless there is a default."""
    return asks(
        "FILE",
        "Texts that the target was trained on: .jsonl, .json, .csv, .tsv or .parquet, or a dataset "
        "saved in a folder, with a column of texts, or messages, prompt and completion, or "
        "instruction, input and output; or .txt with one text per line.",
        default=default,
        panel=panel,
    )


def nonmembers_option(panel: str = "", *, default: Any = MISSING) -> Any:
    """Return the option of the non-member texts; required unless there is a default."""
    return asks(
        "FILE",
        "Texts of the same kind that the target was not trained on.",
        default=default,
        panel=panel,
    )


def text_option(panel: str = "") -> Any:
    """Return the option of the column of texts."""
    return asks("COLUMN", "Column of the texts.", default="text", panel=panel)


def ids_option(panel: str = "") -> Any:
    """Return the option of the column of the texts' ids."""
    return option(
        "--id",
        "COLUMN",
        "Column of the texts' ids. Default: sample or id, or the rows.",
        default=None,
        panel=panel,
    )


def group_option(panel: str = "") -> Any:
    """Return the option of the column of the people whom the texts are about."""
    return asks(
        "COLUMN",
        "Column of the people whom the texts are about. Default: group, patient, patient_id, "
        "person, person_id, subject_id, user_id, note or note_id, in letters of either case.",
        default=None,
        panel=panel,
    )


def trained_option(panel: str = "") -> Any:
    """Return the option of the tokens that were trained."""
    return asks(
        "NAME",
        "Tokens of conversations, prompts and instructions that were trained: answers or all.",
        default="answers",
        offers=("answers", "all"),
        panel=panel,
    )


def template_option(panel: str = "") -> Any:
    """Return the option of a chat template."""
    return asks(
        "FILE",
        "Jinja template that wrote conversations and instructions in the training. Default: that "
        "of the target's tokenizer, and Alpaca's text for instructions.",
        default=None,
        panel=panel,
    )


def columns_of(
    text: str, ids: str | None, group: str | None, *, trained: str, template: str | None
) -> Columns:
    """Return the columns of the text files, from the request's options."""
    from privacygauge.language.text_files import ChatForm, Columns, TrainingForm

    training = TrainingForm(ChatForm(template=template), cast("Trained", trained))
    return Columns(text, ids, group, training)


def base_option(panel: str = "") -> Any:
    """Return the option of the base of the target's adapter."""
    return asks(
        "DIR",
        "Base of the target's PEFT adapter. Default: the folder that the adapter names.",
        default=None,
        role=Role.MODEL,
        panel=panel,
    )


@dataclass(frozen=True, kw_only=True)
class ModelsRequest(Request):
    """Options about the models, and how they are run."""

    target: str = asks(
        "DIR",
        "Model to audit: a folder or s3:// URL with safetensors and tokenizer, or with a PEFT "
        "adapter.",
        role=Role.MODEL,
    )
    reference: str | None = asks(
        "DIR",
        "Model of the same kind that saw none of the texts, such as the one that the training "
        "started from. Default: the base of a PEFT adapter, else none.",
        role=Role.MODEL,
    )
    base: str | None = base_option()
    device: str = asks("NAME", "Where models run, such as cuda.", default="cpu")
    precision: str = asks(
        "NAME",
        "Precision of models: float32 or bfloat16.",
        default="float32",
        offers=("float32", "bfloat16"),
    )


def run_opened(
    command: str, asked: Request, work: Work, settings: Mapping[str, Any]
) -> Iterator[Run]:
    """Yield the run of a request, if one is kept; answers are kept in folders of their own.

    With a run, `privacygauge resume`, `report` and `runs` treat the audit like any other.
    """
    from privacygauge.core.versions import own_version
    from privacygauge.runs.plan import ArraySpec, Plan
    from privacygauge.runs.store import open_run

    if work.run is None:
        return
    plan = Plan(
        name=command.replace(" ", "_"),
        seed=asked.seed,
        n_units=1,
        unit="audit",
        units_a_task=1,
        # Answers are kept elsewhere, so the run's only array marks whether the audit has ended.
        arrays={"samples": ArraySpec(("audit",), (1,), "int64")},
        settings={**settings, "privacygauge": own_version()},
    )
    yield open_run(work.run, plan, invocation=work.invocation(command, asked))


def run_closed(opened: Iterable[Run], n_samples: int) -> None:
    """Mark in the opened runs that the audit of `n_samples` samples has ended."""
    import numpy as np

    for run in opened:
        run.write(run.plan.tasks[0], {"samples": np.array([n_samples])})


def _require_whole(**numbers: tuple[int, int]) -> None:
    """Raise unless every number is whole and at least its smallest value."""
    for name, (value, least) in numbers.items():
        if isinstance(value, bool) or value != int(value) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {value}")


@dataclass(frozen=True, kw_only=True)
class Writing(Options):
    """Settings for cutting texts for a causal model, and for sampling tokens."""

    prefix: int = asks(
        "TOKENS",
        "Tokens that are given to a causal model; of a short text at most half. A masked one is "
        "given the whole text, with one identifier hidden.",
        default=50,
    )
    suffix: int = asks("TOKENS", "Tokens that a causal model is to write after them.", default=50)
    temperature: float = asks("T", "Temperature at which tokens are sampled.", default=1.0)
    top_k: int = asks("K", "Tokens are sampled from the K likeliest; 0: from all.", default=40)

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_whole(prefix=(self.prefix, 1), suffix=(self.suffix, 1), top_k=(self.top_k, 0))
        if not 0.0 < self.temperature < math.inf:
            raise InputError(f"temperature must be above 0 and finite, got {self.temperature}")

    def describe(self) -> str:
        """Return the sampling settings in words."""
        among = f"the {self.top_k} likeliest tokens" if self.top_k else "the whole vocabulary"
        return f"temperature {self.temperature:g}, {among}"


@dataclass(frozen=True, kw_only=True)
class Tries(Options):
    """Criterion for a text to count as extracted."""

    tries: int = asks("N", "n: how often the model is made to write each text.", default=1000)
    chance: float = asks(
        "P", "p: the probability that the text is among them, in (0, 1).", default=0.5
    )
    edits: int = asks(
        "D",
        "Count what the likeliest tokens give within so many token edits as near verbatim. Causal "
        "models are made to write then, which takes far longer. 0: do not.",
        default=0,
    )
    unprompted: int = asks(
        "N",
        "Let a causal model write N texts without a prompt, and look for stretches of the texts "
        "in them. 0: do not.",
        default=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_whole(
            tries=(self.tries, 1), edits=(self.edits, 0), unprompted=(self.unprompted, 0)
        )
        if not 0.0 < self.chance < 1.0:
            raise InputError(f"chance must be in (0, 1), got {self.chance}")
