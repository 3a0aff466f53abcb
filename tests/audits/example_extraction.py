"""Audits of extraction from made-up probabilities: what leaks is known, and no model is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from privacygauge.core.checks import Bools, Floats
from privacygauge.kinds.session import Session
from privacygauge.language.extracted import Extracted, JudgedTexts
from privacygauge.language.extraction import Nearness, SuffixLikelihoods
from privacygauge.language.extraction_audit.audit import ExtractionAudit, audit_of
from privacygauge.language.model_options import Tries, Writing

PREFIX = "The patient was seen by us and asked about "
SUFFIX = "pain on 3 May 2021, when Anna Berg called 030 123 4567."


def scores(rng: np.random.Generator, n: int, ease: float = 30.0) -> Floats:
    """Return log-probabilities of texts that nobody has seen: most never come, some at once."""
    drawn: Floats = -rng.exponential(ease, n)
    return drawn


def example(
    seed: int = 0,
    n: int = 120,
    *,
    leak: float = 0.5,
    swapped: bool = False,
    reference: bool = True,
    rows: int = 1,
    member: Bools | None = None,
    level: float = 0.95,
    show_texts: bool = False,
    masked: bool = False,
    every: bool = False,
    **asked: Any,
) -> ExtractionAudit:
    """Return an audit of `n` people with `rows` texts each; a share `leak` of members leaks.

    With `every`, what leaks is also written without a prompt and stood in the training ten times.
    """
    rng = np.random.default_rng(seed)
    inside = rng.random(n) < 0.5 if member is None else member
    unit = np.repeat(np.arange(n), rows)
    common = scores(rng, len(unit))
    target, other = common + 2 * rng.normal(size=(2, len(unit)))
    known = (inside ^ swapped)[unit] & (rng.random(len(unit)) < leak)
    target[known], other[known] = -1.0, -200.0
    models = [SuffixLikelihoods(np.minimum(x, 0.0), x > -1.5) for x in (target, other)]
    names = tuple(f"text-{row}" for row in range(len(unit)))
    spans = np.tile([len(PREFIX), len(PREFIX + SUFFIX)], (len(unit), 1))
    judged = JudgedTexts(
        names,
        (PREFIX + SUFFIX,) * len(unit),
        inside[unit],
        tuple(f"person-{one}" for one in unit),
        unit,
        np.ones(len(unit), np.bool_),
        identifier=spans if masked else None,
    )
    near = {}
    if every:
        judged = replace(judged, copies=np.where(known, 10, 1))
        size = np.full(len(unit), 15)
        wrote = (
            Nearness(np.where(known & own, 0, 12), np.where(known & own, 15, 2), size)
            for own in (True, False)
        )
        near = dict(zip(("target_near", "reference_near"), wrote, strict=True))
        near["unprompted"] = known
        asked = {"edits": 2, "unprompted": 500, **asked}
    found = Extracted(
        judged,
        Writing(),
        Tries(**asked),
        "token",
        np.full(len(unit), 15),
        spans,
        models[0],
        models[1] if reference else None,
        **near,
    )
    running = Session("audit_extraction", seed, level)
    return audit_of(found, running, {}, show_texts=show_texts)
