"""What the attacker of a test set knows before it asks, made from what it has."""

from __future__ import annotations

from typing import Literal

import numpy as np

from privacygauge.errors import InputError
from privacygauge.holdout.oracle import Holdout
from privacygauge.holdout.priors import Knowledge, from_logits

Prior = Literal["uniform", "classes"]
"""Without a model: nothing, or how frequent each class is."""


def known_before(
    holdout: Holdout,
    logits: np.ndarray | None,
    *,
    top: int | None,
    least_confident: int | None,
    temperature: float,
    prior: Prior,
) -> Knowledge | None:
    """Return what the attacker knows; None for nothing.

    Parameters
    ----------
    holdout : Holdout
        Its labels are used for the frequencies of classes alone, where `prior` says so.
    logits : numpy.ndarray of shape (n, m), optional
        Of a base model.
    top, least_confident, temperature
        As in `from_logits`.
    prior : {"uniform", "classes"}
        Without logits.
    """
    if prior not in ("uniform", "classes"):
        raise InputError(f"prior must be uniform or classes, got {prior!r}")
    if logits is not None:
        if prior != "uniform":
            raise InputError(f"prior {prior} goes without logits: they say more")
        return from_logits(
            logits, top=top, least_confident=least_confident, temperature=temperature
        )
    given = {"top": top, "least_confident": least_confident}
    asked = [name for name, value in given.items() if value is not None]
    if asked or temperature != 1.0:
        raise InputError(f"{(*asked, 'temperature')[0]} needs logits of a base model: give them")
    return _by_frequency(holdout) if prior == "classes" else None


def in_words(knowledge: Knowledge | None, model: bool, prior: Prior, temperature: float) -> str:
    """Return what the attacker knows, for a reader."""
    if knowledge is None:
        return "nothing: no model, all classes equally likely"
    if not model:
        return "how frequent each class is, no model"
    n, m, r = len(knowledge.base), knowledge.n_classes, knowledge.n_candidates
    points = (
        f"the {len(knowledge.points):,} least confident" if len(knowledge.points) < n else "all"
    )
    labels = f"its {r} likeliest labels" if r < m else f"all {m} labels"
    softened = "" if temperature == 1 else f", temperature {temperature:g}"
    return f"a base model's logits{softened}; attacked are {points} examples, {labels} each"


def _by_frequency(holdout: Holdout) -> Knowledge:
    # Half a point more each, so that a class without points is unlikely and not impossible.
    frequency = np.bincount(holdout.labels, minlength=holdout.n_classes) + 0.5
    one = np.log(frequency / frequency.sum())
    return from_logits(np.broadcast_to(one, (len(holdout), holdout.n_classes)))
