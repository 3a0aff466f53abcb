"""Token log-probabilities on disk: a later audit reuses those that an earlier one computed.

In the folder of a run, every model has a folder of its own, named by everything that affects its
answers: weights, tokenizer, masks and texts. So several targets with one reference run the
reference once, and an interrupted run resumes where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core.checks import Ints
from privacygauge.core.versions import own_version, versions
from privacygauge.language.energies import Energies, Unit
from privacygauge.language.forward_pass import ScoredPositions, batch_of, pass_groups
from privacygauge.language.model import Floats32, Model
from privacygauge.language.tokens import Tokens
from privacygauge.language.windows import WindowedTexts, whole
from privacygauge.runs.execute import Progress, Work, complete
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import open_run

# Tokens in one pass, including padding: on a CPU, the activations of a model of common size then
# stay in its caches.
_BUDGET = {
    ("cpu", "float32"): 1024,
    ("cpu", "bfloat16"): 2048,
    ("cuda", "float32"): 65536,
}
_BUDGET_OF_FEWER_BITS = 131072
# Most values in the logits of one pass.
_MOST_LOGITS = 1 << 26
# An interrupted run loses at most the current task, so tasks are short.
_TEXTS_A_TASK = {"cpu": 32, "cuda": 512}
# Hexadecimal digits of a fingerprint in a folder's name.
_NAME_LENGTH = 24


@dataclass(frozen=True)
class AnswerStore:
    """Place and settings of stored answers."""

    run: str | Path | None = None
    """Folder of the answers; by default they are not kept."""
    n_jobs: int | None = None
    """As in `complete`."""
    progress: Progress | None = None
    """As in `complete`."""
    invocation: Mapping[str, Any] | None = None
    """As in `open_run`."""

    def part(self, number: int, n: int) -> AnswerStore:
        """Return a store for one of n equal parts of the work; its progress counts all parts."""
        progress = self.progress
        if progress is None:
            return self

        return replace(
            self, progress=lambda n_done, n_all: progress(number * n_all + n_done, n * n_all)
        )


@dataclass(frozen=True, eq=False)
class ModelWork:
    """Task of a run: scores of texts under a model."""

    model: Model
    """Model to run; another process loads it from its folder."""
    tokens: Tokens
    """Texts without repeats, sorted by length."""
    scored: ScoredPositions
    """Positions to score in the texts."""

    def __call__(self, task: Task) -> Mapping[str, ArrayLike]:
        """Return the model's values, one row per text, padded with NaN."""
        texts = range(task.start, task.stop)
        found = [
            self.model.ask(
                batch_of(
                    self.tokens,
                    self.scored,
                    group,
                    pad_id=self.model.tokenizer.pad_id,
                    mask_id=self.model.mask_id,
                )
            )
            for group in pass_groups(self.tokens, self.scored, texts, token_budget(self.model))
        ]
        sizes = np.diff(self.scored.starts[task.start : task.stop + 1])
        filled = np.arange(self.scored.width) < sizes[:, None]
        answers = {}
        for name in self.model.answers:
            # Windows without masked tokens have no copies: the list may be empty.
            values = np.concatenate([np.zeros(0, np.float32), *(one[name] for one in found)])
            answers[name] = np.full((task.n_units, self.scored.width), np.nan, np.float32)
            # Values come text by text and copy by copy, in the order of `scored`.
            answers[name][filled] = values
        return answers


def token_budget(model: Model) -> int:
    """Return the most tokens in one pass."""
    budget = _BUDGET.get((_kind(model), model.source.precision), _BUDGET_OF_FEWER_BITS)
    # With a head only the logits of scored positions are computed, not those of the whole pass.
    if getattr(model, "head", None) is not None:
        return budget
    config = model.module.config.get_text_config(decoder=True)
    return min(budget, _MOST_LOGITS // int(config.vocab_size))


def texts_a_task(model: Model, n: int) -> int:
    """Return the number of texts, out of n, that are scored and written together."""
    return min(_TEXTS_A_TASK[_kind(model)], n)


def model_settings(model: Model) -> dict[str, Any]:
    """Return all settings besides the texts that affect a model's values, as JSON values."""
    return {
        "weights": model.source.weights,
        "tokenizer": model.tokenizer.sha256,
        "precision": model.source.precision,
        "device": _kind(model),
        "versions": {"privacygauge": own_version(), **versions("torch", "transformers")},
    }


def stored_answers(
    model: Model,
    tokens: Tokens,
    scored: ScoredPositions,
    settings: Mapping[str, Any],
    kept: AnswerStore,
    *,
    seed: int = 0,
) -> dict[str, Floats32]:
    """Return the values of `model` for every scored token (m,); compute only those not stored.

    Parameters
    ----------
    tokens : Tokens
        Texts, or windows of texts, sorted by length.
    settings : mapping
        All settings besides the tokens that affect `scored`, as JSON values.
    kept : AnswerStore
        Place of the answers; every worker holds its own copy of the model.
    seed : int
        Seed of the masks.

    Raises
    ------
    InputError, OutputError
        As in `complete` and `open_run`.
    """
    plan = Plan(
        name="language",
        seed=seed,
        unit="text",
        n_units=len(tokens),
        units_a_task=texts_a_task(model, len(tokens)),
        arrays={
            name: ArraySpec(("text", "scored"), (len(tokens), scored.width), "float32")
            for name in model.answers
        },
        settings={
            **settings,
            **model_settings(model),
            "texts": tokens.sha256,
        },
    )
    rows = compute_arrays(plan, ModelWork(model, tokens, scored), kept)
    # Rows are padded to the text with the most scored tokens.
    filled = np.arange(scored.width) < np.diff(scored.starts)[:, None]
    return {name: values[filled] for name, values in rows.items()}


def compute_arrays(plan: Plan, work: Work, kept: AnswerStore) -> dict[str, NDArray[Any]]:
    """Return the arrays of a plan, stored in a folder within the run's."""
    with kept_or_scratch(kept.run) as folder:
        place = f"{folder.rstrip('/')}/{plan.fingerprint[:_NAME_LENGTH]}"
        opened = open_run(place, plan, invocation=kept.invocation)
        complete(opened, work, n_jobs=kept.n_jobs, progress=kept.progress)
        return {name: opened.array(name)[:] for name in plan.arrays}


def distinct_texts(tokens: Tokens) -> tuple[Ints, Ints]:
    """Return the rows of the distinct texts, by length, and each text's position among them.

    The order depends only on the texts, so the same texts in another order are the same run.
    """
    keys, first, which = np.unique(np.array(tokens.keys), return_index=True, return_inverse=True)
    order = np.argsort(tokens.lengths[first], kind="stable")
    place = np.empty(len(keys), np.int64)
    place[order] = np.arange(len(keys))
    return first[order], place[which.reshape(-1)]


def energies_from(
    answers: Mapping[str, Floats32],
    windows: WindowedTexts,
    tokens: Tokens,
    scored: ScoredPositions,
    which: Ints,
    unit: Unit,
) -> Energies:
    """Return the energies of texts from the answers for the distinct ones.

    Parameters
    ----------
    windows : WindowedTexts
        Windows that were scored.
    tokens : Tokens
        Distinct texts.
    scored : ScoredPositions
        Positions scored in the windows.
    which : array of shape (n,)
        Position of each text among the distinct ones.
    """
    answers, scored = whole(answers, windows, scored)
    sizes = np.diff(scored.starts)[which]
    # Repeated texts share their answers.
    rows = np.concatenate([np.arange(*scored.starts[one : one + 2]) for one in which])
    place = np.repeat(tokens.starts[which], sizes) + scored.position[rows]
    return Energies(
        log_probability=answers["log_probability"][rows],
        text=np.repeat(np.arange(len(which)), sizes),
        copy=scored.copy[rows],
        unit=scored.unit[rows],
        position=scored.position[rows],
        lengths=tokens.n_units[which],
        n_truncated=tokens.n_truncated[which],
        n_unknown=tokens.n_unknown[which],
        units=unit,
        n_read=(tokens.lengths - sum(tokens.frame))[which],
        n_windows=np.bincount(windows.text)[which],
        further={name: part[rows] for name, part in answers.items() if name != "log_probability"},
        token=tokens.ids[place],
    )


def _kind(model: Model) -> str:
    return "cpu" if model.module.device.type == "cpu" else "cuda"
