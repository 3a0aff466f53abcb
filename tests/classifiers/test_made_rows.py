"""Rows that oversampling made between two others are left out, however few people there are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.report.values import Severity


@pytest.mark.parametrize("n", [16, 40, 200])
def test_rows_between_two_others_are_left_out(n: int) -> None:
    rng = np.random.default_rng(n)
    member = np.arange(n) < n // 2
    x = rng.normal(size=(n, 4))
    label = np.arange(n) % 2
    made = np.arange(0, n // 2 - 6, 8)
    share = rng.random((len(made), 1))
    # Oversampling joins neighbours.
    x[made + 6] = x[made + 2] + 0.1 * rng.normal(size=(len(made), 4))
    x[made] = share * x[made + 2] + (1 - share) * x[made + 6]
    answers = rng.dirichlet([1.0, 1.0], n)
    columns = {f"x{i}": x[:, i] for i in range(4)}
    file = pd.DataFrame({**columns, "label": label, "member": member})
    report = pg.audit_classifier(file.assign(p_0=answers[:, 0], p_1=answers[:, 1])).report()
    [left_out] = [text for text in report.origin.warnings if "left out of the comparison" in text]
    assert left_out.startswith(f"{len(made)} record")
    assert report.verdict.grade.severity in (Severity.NOTHING, Severity.UNTOLD)
