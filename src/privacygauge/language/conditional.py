"""How likely texts are after other texts: what a prefix of non-members changes (ReCaLL)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.batches import causal_scored
from privacygauge.language.energies import Energies
from privacygauge.language.likelihoods import first_unit, read_texts
from privacygauge.language.masks import MaskPlan
from privacygauge.language.model import CausalModel, Model
from privacygauge.language.store import answers_of, distinct, energies_from
from privacygauge.language.tokens import Tokens
from privacygauge.language.windows import windowed
from privacygauge.runs.execute import Progress

RECALL = "recall"
"""The log-likelihood after non-members over that without them (Xie et al. 2024)."""


def conditional_log_probabilities(
    model: CausalModel,
    texts: Sequence[str],
    prefix: Sequence[str],
    *,
    reference: CausalModel | None = None,
    plan: MaskPlan | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> Energies:
    """Return the log-probability of the same tokens of texts, each text after the same prefix.

    Parameters
    ----------
    model : CausalModel
    texts : sequence of str
    prefix : sequence of str
        What every text is put after, in this order: known non-members.
    reference : CausalModel, optional
        Where texts were scored by a pair of models, the other one: units are those of the pair.
    plan, run, n_jobs, progress, invocation
        As in `token_log_probabilities`; of the plan the unit counts only.

    Returns
    -------
    Energies
        With the rows that `token_log_probabilities` of the same texts has.

    Raises
    ------
    InputError
        If the longest text, or prefix and longest text, are more than the model reads at once.
    """
    models: list[Model] = [model] if reference is None else [model, reference]
    tokens, unit = read_texts(models, texts, (plan or MaskPlan()).unit)
    rows, which = distinct(tokens[0])
    alone = tokens[0].rows(rows)
    after = _after(model, alone, prefix)
    first = first_unit(models, tokens)
    windows = windowed(after, model.limit, None, 1.0)  # every text fits, and is one window
    scored = causal_scored(windows.tokens, first, windows.own)
    settings = {"kind": "causal", "unit": unit, "first unit": first}
    answers = answers_of(
        model,
        windows.tokens,
        scored,
        settings,
        run=run,
        n_jobs=n_jobs,
        progress=progress,
        invocation=invocation,
    )
    return energies_from(answers, windows, after, scored, which, unit)


def prefix_of(model: CausalModel, texts: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return which other texts, in their order, leave room for the longest of the texts."""
    room = model.limit - max(len(one.ids) for one in model.tokenizer.encoded(texts))
    taken = []
    for other in others:
        size = len(_content(model, other))
        if size <= room:
            taken.append(other)
            room -= size
    return tuple(taken)


def recall_signal(target: Energies, conditional: Energies) -> Floats:
    """Return the log-likelihood of every text after the prefix over that without it, (n,).

    Parameters
    ----------
    target, conditional : Energies
        Of the same tokens, from `token_log_probabilities` and `conditional_log_probabilities`.

    Returns
    -------
    ndarray of float, shape (n,)
        At least 0. A text that the model is certain of has 1.

    Notes
    -----
    Xie et al. (2024), ReCaLL: ``LL(x | P) / LL(x)`` with P known non-members. Both are negative.
    A prefix of non-members makes members less likely, so that their ratio is higher.
    """
    if not (
        np.array_equal(target.text, conditional.text)
        and np.array_equal(target.unit, conditional.unit)
    ):
        raise InputError("recall needs both log-likelihoods of the same tokens of the same texts")
    alone, after = target.mean(), conditional.mean()
    return np.divide(after, alone, out=np.ones_like(alone), where=alone > 0)


def _after(model: CausalModel, tokens: Tokens, prefix: Sequence[str]) -> Tokens:
    """Return the texts with a prefix between the frame's beginning and the text."""
    parts = [_content(model, text) for text in prefix]
    put: Ints = np.concatenate(parts) if parts else np.empty(0, np.int64)
    longest = int(tokens.lengths.max())
    if longest > model.limit:
        raise InputError(
            f"texts must have at most {model.limit:,} tokens, got {longest:,}: "
            "leave out longer texts"
        )
    most = longest + len(put)
    if most > model.limit:
        raise InputError(
            f"prefix and text must have at most {model.limit:,} tokens together, got {most:,}: "
            "give a shorter prefix"
        )
    n_frame = int(np.argmin(model.tokenizer.encoded([prefix[0]])[0].framing)) if prefix else 0
    at = np.repeat(tokens.starts[:-1] + n_frame, len(put))
    return replace(
        tokens,
        ids=np.insert(tokens.ids, at, np.tile(put, len(tokens))),
        units=np.insert(tokens.units, at, -1),
        starts=tokens.starts + len(put) * np.arange(len(tokens) + 1),
    )


def _content(model: CausalModel, text: str) -> Ints:
    encoded = model.tokenizer.encoded([text])[0]
    content: Ints = encoded.ids[~encoded.framing]
    return content
