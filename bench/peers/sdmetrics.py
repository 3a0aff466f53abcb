"""SDMetrics' scores of a released table about privacy, through its public metrics."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version

import numpy as np
import pandas as pd


def scores(real: str, synthetic: str, holdout: str, secret: str) -> Callable:
    """Return a call that gives the scores, each from 0 to 1, where 1 is the best."""
    from sdmetrics.single_table import (
        DCRBaselineProtection,
        DCROverfittingProtection,
        DisclosureProtection,
        NewRowSynthesis,
    )

    tables = [pd.read_csv(file) for file in (real, synthetic, holdout)]
    numbers = [name for name in tables[0] if pd.api.types.is_numeric_dtype(tables[0][name])]
    columns = {
        name: {"sdtype": "numerical" if name in numbers else "categorical"} for name in tables[0]
    }
    whole = {"tables": {"table": {"columns": columns}}, "relationships": []}
    known = [name for name in tables[0] if name != secret]

    def measure() -> dict:
        np.random.seed(0)  # noqa: NPY002 - it draws from the global generator
        own, made, others = tables
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {
                "version": version("sdmetrics"),
                "NewRowSynthesis": NewRowSynthesis.compute(own, made, {"columns": columns}),
                "DCRBaselineProtection": DCRBaselineProtection.compute(own, made, whole, "table"),
                "DCROverfittingProtection": DCROverfittingProtection.compute(
                    own, made, others, whole, "table"
                ),
                "DisclosureProtection": DisclosureProtection.compute(
                    own, made, known, [secret], continuous_column_names=numbers
                ),
            }

    return measure
