"""Suffix likelihoods of texts, stored on disk: a killed extraction resumes where it stopped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import Ints
from privacygauge.language.extraction import (
    Suffixes,
    SuffixLikelihoods,
    Writing,
    edits,
    suffix_likelihoods,
)
from privacygauge.language.model import CausalModel, Model
from privacygauge.language.store import (
    AnswerStore,
    compute_arrays,
    distinct_texts,
    model_settings,
    texts_a_task,
)
from privacygauge.runs.plan import ArraySpec, Plan, Task


@dataclass(frozen=True, eq=False)
class Reading:
    """Work of a run: likelihoods of the suffixes of a task."""

    model: Model
    """Model that is asked."""
    suffixes: Suffixes
    """Texts, without repeats, sorted by length."""
    how: Writing
    """Sampling settings."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the `suffix_likelihoods` of the task's texts."""
        some = self.suffixes.rows(np.arange(task.start, task.stop))
        found = suffix_likelihoods(self.model, some, self.how)
        return {"log_probability": found.log_probability, "verbatim": found.verbatim}


@dataclass(frozen=True, eq=False)
class Editing:
    """Work of a run: token edits between a model's continuations and the suffixes of a task."""

    model: CausalModel
    """Model that is asked."""
    suffixes: Suffixes
    """Texts, without repeats, sorted by length."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the `edits` of the task's texts."""
        some = self.suffixes.rows(np.arange(task.start, task.stop))
        return {"edits": edits(self.model, some)}


def kept_written(
    model: Model, suffixes: Suffixes, how: Writing, kept: AnswerStore
) -> SuffixLikelihoods:
    """Return `suffix_likelihoods` of all texts; only those not stored are computed.

    The progress counts a text once that occurs twice.
    """
    once, which = _once(suffixes)
    found = _compute_arrays(
        Reading(model, once, how),
        {"log_probability": "float64", "verbatim": "bool"},
        {"temperature": how.temperature, "top k": how.top_k},
        kept,
    )
    return SuffixLikelihoods(found["log_probability"][which], found["verbatim"][which])


def kept_edits(model: CausalModel, suffixes: Suffixes, kept: AnswerStore) -> Ints:
    """Return `edits` of all texts, (n,); only those not stored are computed."""
    once, which = _once(suffixes)
    found = _compute_arrays(Editing(model, once), {"edits": "int64"}, {}, kept)
    return np.asarray(found["edits"][which], np.int64)


def _once(suffixes: Suffixes) -> tuple[Suffixes, Ints]:
    rows, which = distinct_texts(suffixes.tokens)
    return suffixes.rows(rows), which


def _compute_arrays(
    work: Reading | Editing,
    arrays: Mapping[str, str],
    settings: Mapping[str, float],
    kept: AnswerStore,
) -> dict[str, NDArray[Any]]:
    """Return the arrays, one value per text."""
    n = len(work.suffixes)
    plan = Plan(
        name="language",
        seed=0,
        unit="text",
        n_units=n,
        units_a_task=texts_a_task(work.model, n),
        arrays={name: ArraySpec(("text",), (n,), dtype) for name, dtype in arrays.items()},
        settings={
            "kind": "extraction",
            **settings,
            **model_settings(work.model),
            "texts": work.suffixes.sha256,
        },
    )
    return compute_arrays(plan, work, kept)
