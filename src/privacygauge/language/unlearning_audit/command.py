"""Options of `privacygauge unlearning`, and its run."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from privacygauge.errors import InputError
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import HelpGroup, Request, shares, with_low
from privacygauge.language.model_options import (
    ANSWERS,
    columns_of,
    group_option,
    ids_option,
    run_closed,
    run_opened,
    template_option,
    text_option,
    trained_option,
)
from privacygauge.runs.options import Role, asks

if TYPE_CHECKING:
    from privacygauge.kinds.session import Work
    from privacygauge.language.loading import Precision
    from privacygauge.language.unlearning_audit.audit import UnlearningAudit
    from privacygauge.runs.store import Run

METRICS = with_low(*shares("forgotten-auc", "forgotten-exposed"))
"""Metrics that a release can be held to."""

_NAME = "unlearning"
_TEXTS = "Texts of language models"
# The options that a language model's answers depend on.
_DECIDES = ("text", "ids", "group", "trained", "template", "device", "precision")

_HELP = """Audit whether a model that was made to forget records still gives them away.

Compares what it was made to forget with fresh records, before and after, and best with a model that
was retrained without them. Language models are folders; of a classifier give prediction files, in
which the column member says what was to be forgotten.

Example: privacygauge unlearning --before model --after unlearned --retrained retrained --forgotten
gone.jsonl --fresh fresh.jsonl

Example: privacygauge unlearning --before before.csv --after after.csv --retrained retrained.csv
"""


@dataclass(frozen=True, kw_only=True)
class UnlearningRequest(Request):
    """Options of an audit of unlearning."""

    before: str = asks(
        "MODEL",
        "Model before it was made to forget: a folder with safetensors and tokenizer, or a "
        "classifier's predictions, as the command classifier reads them.",
        role=Role.MODEL,
    )
    after: str = asks("MODEL", "The same model after it was made to forget.", role=Role.MODEL)
    retrained: str | None = asks(
        "MODEL",
        "Model that saw neither, best one that was trained like the first on all other records. "
        "Default: none, and far less is found.",
        role=Role.MODEL,
    )
    forgotten: str | None = asks(
        "FILE",
        "Texts that a language model was made to forget: .jsonl, .json, .csv, .tsv, .parquet, or "
        ".txt with one text per line, or a dataset saved in a folder.",
        panel=_TEXTS,
    )
    fresh: str | None = asks(
        "FILE", "Texts of the same kind that none of the models was trained on.", panel=_TEXTS
    )
    unit: str | None = asks(
        "COLUMN",
        "Column of prediction files with the people behind the records. Default: equal ids.",
    )
    text: str = text_option(_TEXTS)
    ids: str | None = ids_option(_TEXTS)
    group: str | None = group_option(_TEXTS)
    trained: str = trained_option(_TEXTS)
    template: str | None = template_option(_TEXTS)
    device: str = asks("NAME", "Where models run, such as cuda.", default="cpu", panel=_TEXTS)
    precision: str = asks(
        "NAME",
        "Precision of models: float32 or bfloat16.",
        default="float32",
        offers=("float32", "bfloat16"),
        panel=_TEXTS,
    )

    @property
    def keeps(self) -> bool:
        """Whether language models answer, which takes long."""
        return self.forgotten is not None

    def check(self, jobs: int) -> None:
        """Raise if texts are given in part, or beside a column of predictions."""
        if (self.forgotten is None) != (self.fresh is None):
            raise InputError(
                "give both --forgotten and --fresh, or neither for predictions of a classifier"
            )
        if self.forgotten is not None and self.unit is not None:
            raise InputError("--unit goes with prediction files: for texts give --group")


def play(asked: UnlearningRequest, work: Work) -> UnlearningAudit:
    """Run the requested audit."""
    from privacygauge.kinds.session import Session
    from privacygauge.language.unlearning_audit.audit import (
        audit_of,
        records_of_predictions,
        records_of_texts,
    )

    models = {"before": asked.before, "after": asked.after, "retrained": asked.retrained}
    told = asked.told(_NAME)
    if asked.forgotten is None or asked.fresh is None:
        return audit_of(records_of_predictions(models, asked.unit), Session(**told))
    from privacygauge.language.text_energies import load_either

    settled = asked.settled()
    settings = {**{name: settled[name] for name in _DECIDES}, "files": told["provenance"]}
    opened: list[Run] = []
    precision = cast("Precision", asked.precision)
    with work.resumable(asked), work.bar("Reading texts") as progress:
        answers = None if work.run is None else work.run / ANSWERS
        running = Session(**told, run=answers, progress=progress)
        records = records_of_texts(
            models,
            asked.forgotten,
            asked.fresh,
            columns_of(
                asked.text, asked.ids, asked.group, trained=asked.trained, template=asked.template
            ),
            load=functools.partial(load_either, device=asked.device, precision=precision),
            running=running,
            started=lambda: opened.extend(run_opened(_NAME, asked, work, settings)),
        )
        # The code of the run is none of the user's: only the answers are kept there.
        found = audit_of(records, replace(running, run=None))
    run_closed(opened, len(records.sample))
    return found


COMMAND = Command(
    _NAME,
    group=HelpGroup.LANGUAGE,
    request=UnlearningRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC is above VALUE: forgotten-auc (how well the model tells "
        "forgotten from fresh records, in either direction) or forgotten-exposed (the share of the "
        "forgotten that stand out, at least). Add .low for the lower end of the interval."
    ),
    keeps=True,
    tables=("records.parquet",),
)
