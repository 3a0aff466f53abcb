"""The inspection of a fitted model: rows, values, small groups and notes that it carries."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.runs.options import Options, asks


@dataclass(frozen=True, kw_only=True)
class InspectDesign(Options):
    """How a model is inspected."""

    minimum: int = asks(
        "N", "Fewest people that an answer of the model may stand on, at least 2.", default=10
    )
    refit: bool = asks(
        "",
        "Fit the model again in ways that hold less, and show their effect: an estimator of "
        "scikit-learn or alike, with the training table and its label.",
    )
    show_texts: bool = asks(
        "", "Show notes and values that were found on the page. Default: numbers only."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        from privacygauge.core import checks  # with numpy, which a command loads late

        checks.at_least(2, minimum=self.minimum)
