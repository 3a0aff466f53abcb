"""Headline, scale, tile and measure of a group that decided show one number."""

from __future__ import annotations

import numpy as np
import pandas as pd

import privacygauge as pg


def test_the_scale_shows_the_group_that_decided():
    rng = np.random.default_rng(700)
    n = 2000
    member = np.arange(n) % 2 == 0
    label = rng.integers(0, 2, n)
    ward = np.where(rng.random(n) < 0.06, 1.0, 0.0)
    logits = rng.normal(size=(n, 2))
    logits[np.arange(n), label] += 1.5 + 3.0 * ward * member
    columns = {"z_0": logits[:, 0], "z_1": logits[:, 1], "label": label, "member": member}
    report = pg.audit_classifier(pd.DataFrame({**columns, "icu": ward})).report()
    verdict = report.verdict
    assert "among records with icu = 1" in verdict.headline
    assert verdict.gauge is not None
    assert verdict.gauge.label.endswith("among records with icu = 1")
    (worst,) = (one for one in report.measures if one.name == "worst-group")
    assert (verdict.gauge.low, verdict.gauge.value, verdict.gauge.high) == (
        worst.found.low,
        worst.found.value,
        worst.found.high,
    )
    assert verdict.gauge.rule.startswith("A group decided")
    assert "guesses decided" not in verdict.gauge.rule
