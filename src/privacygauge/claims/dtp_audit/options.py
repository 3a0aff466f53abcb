"""Options of `privacygauge dtp`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from privacygauge.claims.options import DtpDesign
from privacygauge.classifiers.training_options import (
    DTP_MODELS,
    MODEL_SETTINGS,
    ON_CATEGORIES,
    ON_NUMBERS,
    TRAINING,
    LabelledRecords,
    data_option,
    model_option,
)
from privacygauge.errors import InputError
from privacygauge.kinds.request import amounts, shares
from privacygauge.runs.options import asks

METRICS = (*amounts("pdtp", "mean", "dtp", "dtp-upper"), *shares("share"))
"""Metrics that a release can be held to."""


SETTINGS = "Settings of the model"
"""Heading of the options that only some models have."""


_setting_option = partial(asks, panel=SETTINGS)


NAME = "dtp"
"""Name of the command."""


@dataclass(frozen=True, kw_only=True)
class DtpRequest(DtpDesign, LabelledRecords):
    """Options of an audit of differential training privacy."""

    data: str = data_option()
    model: str = model_option(
        "The model to train: naive-bayes, bayes-inference, random-trees (on categories), logistic, "
        "lda, qda, least-squares, nearest (exact from one training); random-forest, "
        "gradient-boosting, network, network-large or a callable of your own (trained again "
        "without each record).",
        default="naive-bayes",
        offers=DTP_MODELS,
    )
    continuous: tuple[str, ...] = asks(
        "A,B",
        "Columns to take as numbers, for models on categories. Default: none.",
        panel=TRAINING,
    )
    alpha: float = _setting_option(
        "A",
        "Laplace smoothing of models on categories; 0 for none.",
        default=MODEL_SETTINGS["alpha"][0],
    )
    l2: float = _setting_option(
        "L",
        "Weight of the squared coefficients of logistic and least-squares.",
        default=MODEL_SETTINGS["l2"][0],
    )
    neighbours: int = _setting_option(
        "K", "Number of neighbours of nearest.", default=int(MODEL_SETTINGS["neighbours"][0])
    )
    measure: int | None = asks(
        "N", "Number of records to measure, sampled at random. Default: all."
    )
    unit: str | None = asks(
        "COLUMN",
        "Column of the people behind the rows, whose rows are left out together. Default: equal "
        "ids.",
    )

    @property
    def keeps(self) -> bool:
        """Whether models are trained."""
        return self.model not in (*ON_CATEGORIES, *ON_NUMBERS)

    def check(self, jobs: int) -> None:
        """Refuse names that are not models, and settings that the model does not have."""
        if self.model not in DTP_MODELS and ":" not in self.model:
            raise InputError(
                f"--model must be one of {', '.join(DTP_MODELS)}, or FILE.py:NAME or MODULE:NAME "
                f"of your own, got {self.model!r}"
            )
        for name, (default, models) in MODEL_SETTINGS.items():
            if self.model not in models and getattr(self, name) != default:
                raise InputError(
                    f"--{name} goes with {', '.join(models)}; {self.model} does not have it"
                )
        if self.continuous and self.model not in ON_CATEGORIES:
            raise InputError(
                f"--continuous goes with {', '.join(ON_CATEGORIES)}; for {self.model} numbers are "
                "numbers, and texts are categories"
            )
