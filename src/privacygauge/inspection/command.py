"""Options of `privacygauge inspect`, and its run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privacygauge.errors import InputError
from privacygauge.inspection import InspectDesign
from privacygauge.kinds.command import Command
from privacygauge.kinds.request import (
    HelpGroup,
    Request,
    amounts,
    missing_option,
    separator_option,
    shares,
)  # fmt: skip
from privacygauge.runs.options import Role, argument, asks, option

if TYPE_CHECKING:
    from privacygauge.inspection.audit import Inspection
    from privacygauge.kinds.session import Work

METRICS = (*amounts("stored-rows", "stored-values"), *shares("small-groups", "disclosed"))
"""Metrics that a release can be held to."""

_HELP = """Count the rows, values and names of people that a fitted model carries.

No attack is needed where they stand in the file. Nothing is unpickled.

Example: privacygauge inspect model.skops --data people.csv --label income

Example: privacygauge inspect model.py:model --data people.csv --label income --refit
"""

_LIMITS = (
    "Exit with code 3 if METRIC is above VALUE: stored-rows or stored-values (counts), "
    "small-groups (share of the records whose answer stands on too few people) or disclosed (share "
    "whose answer rules out a class)."
)

TABLE = "Training table"
"""Heading of the options about the training table."""

_table_option = partial(asks, panel=TABLE)


@dataclass(frozen=True, kw_only=True)
class InspectRequest(InspectDesign, Request):
    """Options of an inspection."""

    model: str = argument(
        "MODEL",
        "The model: FILE.py:NAME (a model, or a function that returns it), or a file of skops, "
        "ONNX, safetensors, XGBoost, LightGBM, CatBoost, Keras, PyTorch (weights) or NumPy.",
        role=Role.CODE,
    )
    data: str | None = _table_option(
        "FILE",
        "Records that it was fitted on: .csv or .parquet with a header, or .npz with x and y.",
    )
    label: str | None = _table_option("COLUMN", "Column of the labels. Default: none.")
    unit: str | None = _table_option(
        "COLUMN", "Column of the people behind the rows. Default: each row is a person."
    )
    ids: str | None = option(
        "--id", "COLUMN", "Column of the records' names, which is not a feature.", panel=TABLE
    )
    drop: tuple[str, ...] = _table_option(
        "COLUMN",
        "Column that the model does not take. May be given several times.",
        split=False,
    )
    separator: str | None = separator_option(panel=TABLE)
    missing: tuple[str, ...] = missing_option(panel=TABLE)

    def check(self, jobs: int) -> None:
        """Refuse a file of a model that does not exist, and columns without a table."""
        from privacygauge.runs.named import names_code  # with numpy

        if not names_code(self.model) and not Path(self.model).exists():
            raise InputError(f"{self.model} does not exist")
        for name in ("label", "unit", "ids", "drop"):
            if getattr(self, name) and self.data is None:
                flag = "id" if name == "ids" else name
                raise InputError(f"--{flag} goes with --data: give the training table too")
        if self.refit and (self.data is None or self.label is None):
            raise InputError("--refit goes with --data and --label")

    def files(self) -> dict[str, Path]:
        """Return the files that were named, by field."""
        from privacygauge.runs.named import names_code  # with numpy

        model = {} if names_code(self.model) else {"model": Path(self.model)}
        return {**model, **super().files()}


def play(asked: InspectRequest, work: Work) -> Inspection:
    """Run the requested inspection."""
    from privacygauge.inspection.audit import inspect_model

    data: Any = None
    further: dict[str, Any] = {"label": asked.label, "unit": asked.unit, "ids": asked.ids}
    if asked.data is not None:
        from privacygauge.datasets.reading import read_content

        data = read_content(
            Path(asked.data),
            "table",
            separator=asked.separator,
            names=(asked.ids, asked.unit),
            missing=asked.missing,
        )
        if isinstance(data, dict):
            if "x" not in data:
                raise InputError(f"{asked.data} must hold an array x of rows and columns")
            arrays = data
            data = arrays["x"]
            further = {
                name: None if key is None or key not in arrays else arrays[key]
                for name, key in (
                    ("label", asked.label or "y"),
                    ("unit", asked.unit),
                    ("ids", asked.ids),
                )
            }
    return inspect_model(
        asked.model,
        data,
        drop=asked.drop,
        minimum=asked.minimum,
        refit=asked.refit,
        show_texts=asked.show_texts,
        **further,
        **asked.told("inspect"),
    )


COMMAND = Command(
    "inspect",
    group=HelpGroup.CLASSIFIER,
    request=InspectRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=_LIMITS,
    tables=("records.parquet",),
)
