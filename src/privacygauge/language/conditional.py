"""Conditional log-probabilities of texts after a prefix of non-members (ReCaLL)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.energies import Energies, MaskPlan
from privacygauge.language.forward_pass import causal_scored
from privacygauge.language.likelihoods import first_unit, read_texts
from privacygauge.language.model import CausalModel, Model
from privacygauge.language.store import AnswerStore, distinct_texts, energies_from, stored_answers
from privacygauge.language.text_files import Side
from privacygauge.language.texts import plain_texts
from privacygauge.language.tokens import Tokens
from privacygauge.language.windows import cut_into_windows
from privacygauge.runs.execute import Progress

RECALL = "recall"
"""Log-likelihood after non-members over that without them (Xie et al. 2024)."""

# Fewest texts left in the population: a threshold from fewer shows nothing.
_FEWEST = 2


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
    """Return the log-probability of the tokens of texts, each text after the same prefix.

    Parameters
    ----------
    model : CausalModel
    texts : sequence of str
    prefix : sequence of str
        Texts to put before every text, in this order: known non-members.
    reference : CausalModel, optional
        Other model, if texts were scored by a pair: units are those of the pair.
    plan, run, n_jobs, progress, invocation
        As in `token_log_probabilities`; only the unit of the plan is used.

    Returns
    -------
    Energies
        Energies with the same rows as those that `token_log_probabilities` returns for the texts.

    Raises
    ------
    InputError
        If the longest text, alone or after the prefix, does not fit into the model's context.
    """
    models: list[Model] = [model] if reference is None else [model, reference]
    tokens, unit = read_texts(models, texts, (plan or MaskPlan()).unit)
    rows, which = distinct_texts(tokens[0])
    alone = tokens[0].rows(rows)
    after = _prepend_prefix(model, alone, prefix)
    first = first_unit(models, tokens)
    windows = cut_into_windows(after, model.limit, None, 1.0)  # every text fits, and is one window
    scored = causal_scored(windows.tokens, first, windows.own)
    settings = {"kind": "causal", "unit": unit, "first unit": first}
    kept = AnswerStore(run, n_jobs, progress, invocation)
    answers = stored_answers(model, windows.tokens, scored=scored, settings=settings, kept=kept)
    return energies_from(answers, windows, tokens=after, scored=scored, which=which, unit=unit)


def prefix_of(model: CausalModel, texts: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return those of `others`, in their order, that fit before the longest of `texts`."""
    # The longest text must fit with the prefix, so that every text is read whole.
    room = model.limit - max(len(one.ids) for one in model.tokenizer.encoded(texts))
    taken = []
    for other in others:
        size = len(_content(model, other))
        if size <= room:
            taken.append(other)
            room -= size
    return tuple(taken)


def prefix_apart(
    model: CausalModel, sides: Sequence[Side], n: int, rng: np.random.Generator
) -> tuple[Side, tuple[str, ...]]:
    """Return the population without the people behind a prefix, and the texts of the prefix.

    Parameters
    ----------
    model : CausalModel
        The target.
    sides : sequence of Side
        Members, non-members and population.
    n : int
        Most texts in the prefix, at least 1; fewer if they would leave too little room for the
        longest text of all.
    rng : numpy.random.Generator
        Draws the texts, among those of people who are not judged.

    Returns
    -------
    population : Side
        Population without the people who have a text in the prefix, which would be compared with
        itself.
    prefix : tuple of str
        Texts none of which is a judged text, up to case and white space.

    Raises
    ------
    InputError
        If there is no population, no text fits, or too little of the population is left.
    """
    if n < 1:
        raise InputError(f"recall must be at least 1 text, got {n}")
    if len(sides) < 3:
        raise InputError(
            "recall needs a population, whose texts stand before the judged ones: give texts that "
            "are not judged"
        )
    population = sides[2]
    judged = sides[:2]
    texts, people = _plain_and_people(population)
    # Texts, then people, of both judged sides.
    known = [
        set[str]().union(*parts) for parts in zip(*map(_plain_and_people, judged), strict=True)
    ]
    order = rng.permutation(len(population)).tolist()
    free = [row for row in order if texts[row] not in known[0] and people[row] not in known[1]]
    every = [text for side in sides for text in side.records.text]
    prefix = prefix_of(model, every, [population.records.text[row] for row in free])[:n]
    if not prefix:
        raise InputError(
            f"recall needs room for a text of the population before each text, and the model reads "
            f"{model.limit:,} tokens: leave out longer texts, or give shorter ones of the "
            "population, of people who are not judged"
        )
    taken = set(plain_texts(prefix))
    theirs = {name for name, text in zip(people, texts, strict=True) if text in taken}
    left = [row for row, name in enumerate(people) if name not in theirs]
    if len(left) < _FEWEST:
        raise InputError(
            f"the population must have at least {_FEWEST} texts beside those of people in the "
            f"prefix of recall, got {len(left)}: give more of them"
        )
    return population.rows(np.array(left)), prefix


def _plain_and_people(side: Side) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the normalised texts of a side, and their people."""
    return plain_texts(side.records.text), side.records.group or side.sample


def recall_signal(target: Energies, conditional: Energies) -> Floats:
    """Return the log-likelihood of each text after the prefix over that without it, (n,).

    Parameters
    ----------
    target, conditional : Energies
        Energies of the same tokens, from `token_log_probabilities` and
        `conditional_log_probabilities`.

    Returns
    -------
    ndarray of float, shape (n,)
        At least 0; 1 for a text of which the model is certain.

    Notes
    -----
    Xie et al. (2024), ReCaLL: ``LL(x | P) / LL(x)`` with P known non-members. Both are negative. A
    prefix of non-members makes members less likely, so members have a higher ratio.
    """
    if not (
        np.array_equal(target.text, conditional.text)
        and np.array_equal(target.unit, conditional.unit)
    ):
        raise InputError("recall needs both log-likelihoods of the same tokens of the same texts")
    alone = target.mean()
    after = conditional.mean()
    # Log-likelihoods of 0 both before and after the prefix give a ratio of 1.
    return np.divide(after, alone, out=np.ones_like(alone), where=alone > 0)


def _prepend_prefix(model: CausalModel, tokens: Tokens, prefix: Sequence[str]) -> Tokens:
    """Insert a prefix between the front of the frame and each text."""
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
    # `framing` is True in front: its first False is the position of the text.
    n_frame = int(np.argmin(model.tokenizer.encoded([prefix[0]])[0].framing)) if prefix else 0
    at = np.repeat(tokens.starts[:-1] + n_frame, len(put))
    return replace(
        tokens,
        ids=np.insert(tokens.ids, at, np.tile(put, len(tokens))),
        # Unit -1: the prefix is read, but not scored.
        units=np.insert(tokens.units, at, -1),
        starts=tokens.starts + len(put) * np.arange(len(tokens) + 1),
    )


def _content(model: CausalModel, text: str) -> Ints:
    encoded = model.tokenizer.encoded([text])[0]
    content: Ints = encoded.ids[~encoded.framing]
    return content
