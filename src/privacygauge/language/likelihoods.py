"""Log-likelihoods of texts under language models, also after a prefix of other texts."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.endpoints import AnyModel, EndpointModel, endpoint_energies
from privacygauge.language.energies import Energies, MaskPlan, Unit
from privacygauge.language.forward_pass import causal_scored, masked_scored
from privacygauge.language.model import CausalModel, MaskedModel, Model
from privacygauge.language.store import AnswerStore, distinct_texts, energies_from, stored_answers
from privacygauge.language.text_files import Side
from privacygauge.language.texts import ScoredText, plain_texts, strings_of
from privacygauge.language.tokens import Tokens, tokens_of
from privacygauge.language.windows import cut_into_windows
from privacygauge.runs.execute import Progress

WORDS = (
    "The tokenizers differ on these texts: words are masked instead of tokens, and energies are in "
    "nats a word."
)
"""Note for models whose tokenizers differ."""


@dataclass(frozen=True)
class Pair:
    """Energies of the same texts with the same masks, under a target and a reference."""

    target: Energies
    """Energies under the audited model."""
    reference: Energies
    """Energies under a model that never saw the members."""
    notes: tuple[str, ...]
    """Notes for the reader of the numbers, one sentence each."""


def token_log_probabilities(
    model: AnyModel,
    texts: Sequence[ScoredText],
    plan: MaskPlan | None = None,
    *,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> Energies:
    """Return the log-probability of every scored token of every text under one model.

    Parameters
    ----------
    model : MaskedModel, CausalModel or EndpointModel
        Model from `load_masked` or `load_causal`, or behind a server.
    texts : sequence of str or TrainedText
        Texts of at least one token; of a `TrainedText` only the trained tokens are scored. A
        repeated text is computed once. Texts longer than the model's context are read as its
        `Windows` say.
    plan : MaskPlan, optional
        Rule for masking texts; by default 10 balanced masks of 15%. A causal model uses only its
        unit.
    run : str or pathlib.Path, optional
        Folder that stores the results, of this and of other models and texts. By default nothing is
        stored.
    n_jobs : int, optional
        Number of workers, each with one thread and its own copy of the model; by default this
        process.
    progress : callable, optional
        Called with the number of texts done and their total; every window counts as one.
    invocation : mapping, optional
        Arguments of a command, stored with the run.

    Returns
    -------
    Energies
        One row per token and copy. The same texts give the same bytes on the same machine, however
        often a run is interrupted; together with other texts, float32 numbers may differ by about
        1e-5.

    Raises
    ------
    InputError
        If a text is empty or not a text, or the mask pattern does not fit.
    """
    return _ask_models([model], texts, plan, AnswerStore(run, n_jobs, progress, invocation))[0]


def pair_log_probabilities(
    target: AnyModel,
    reference: AnyModel,
    texts: Sequence[ScoredText],
    plan: MaskPlan | None = None,
    *,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> Pair:
    """Return the log-probabilities of the same units of the same texts under two models.

    Parameters
    ----------
    target, reference : MaskedModel or CausalModel
        Two models of one kind. If their tokenizers differ on any text, the units are words that
        both split into whole tokens, whatever `plan` says.
    texts, plan, run, n_jobs, progress, invocation
        As in `token_log_probabilities`. In the same `run`, a second target reuses the answers of
        its reference.

    Returns
    -------
    Pair
        Energies with the same masks and truncation for both.

    Raises
    ------
    InputError
        As in `token_log_probabilities`, or if one model is masked and the other causal.
    """
    # Energies of different kinds of models are on different scales.
    if type(target) is not type(reference):
        raise InputError(
            "target and reference must both be masked, both causal or both behind servers, got "
            f"{type(target).__name__} and {type(reference).__name__}"
        )
    kept = AnswerStore(run, n_jobs, progress, invocation)
    ours, theirs = _ask_models([target, reference], texts, plan, kept)
    notes: list[str] = []
    if ours.units != (plan or MaskPlan()).unit:
        notes.append(WORDS)
    # The rest is about tokenizers, which servers do not show.
    if not isinstance(target, EndpointModel) and not isinstance(reference, EndpointModel):
        if target.tokenizer.is_cased != reference.tokenizer.is_cased:
            cased = "target" if target.tokenizer.is_cased else "reference"
            notes.append(f"Only the {cased} tells upper case from lower case.")
        for name, model in (("target", target), ("reference", reference)):
            if model.tokenizer.loses_case:
                notes.append(
                    f"The {name}'s tokenizer turns texts to lower case, though its vocabulary "
                    "tells cases apart: its settings may be missing (do_lower_case)."
                )
        notes += ours.long_texts()
        for name, energies in (("target", ours), ("reference", theirs)):
            n_unknown = int(energies.n_unknown.sum())
            if n_unknown:
                notes.append(
                    f"The {name}'s vocabulary does not hold {n_unknown:,} tokens of these texts, "
                    "which it reads as unknown."
                )
    return Pair(
        ours,
        theirs,
        tuple(notes),
    )


def _ask_models(
    models: Sequence[AnyModel],
    texts: Sequence[ScoredText],
    plan: MaskPlan | None,
    kept: AnswerStore,
) -> list[Energies]:
    plan = plan or MaskPlan()
    behind = [model for model in models if isinstance(model, EndpointModel)]
    # A server cannot be masked or shown tokens: it gets plain texts.
    if behind:
        return endpoint_energies(behind, strings_of(texts), plan.unit, kept)
    here = [model for model in models if not isinstance(model, EndpointModel)]
    tokens, unit = read_texts(here, texts, plan.unit)
    cut = here[0].source.windows.cut
    # One window size for all models, or their scores would have different contexts.
    limit = sys.maxsize if cut else min(model.limit for model in here)
    stride = None if cut else here[0].source.windows.stride
    # A masked model reads both sides of a token: neighbouring windows halve their overlap.
    shared = 0.5 if isinstance(here[0], MaskedModel) else 1.0
    first = first_unit(here, tokens)
    made = []
    for number, (model, its) in enumerate(zip(here, tokens, strict=True)):
        # Each distinct text is computed once, whatever masks it gets: masks depend on the text
        # alone.
        rows, which = distinct_texts(its)
        once = its.rows(rows)
        windows = cut_into_windows(once, limit, stride, shared)
        settings: dict[str, Any]
        if isinstance(model, MaskedModel):
            scored = masked_scored(windows.tokens, plan, windows.own)
            settings = {"kind": "masked", **plan.describe(), "unit": unit}
        else:
            scored = causal_scored(windows.tokens, first, windows.own)
            settings = {"kind": "causal", "unit": unit, "first unit": first}
        # Where every text fits, the settings stay those of a run without windows, and so do its
        # results.
        if len(windows.tokens) > len(once):
            settings |= {"context": limit, "stride": stride}
        part = kept.part(number, len(here))
        answers = stored_answers(
            model, windows.tokens, scored=scored, settings=settings, kept=part, seed=plan.seed
        )
        made.append(
            energies_from(answers, windows, tokens=once, scored=scored, which=which, unit=unit)
        )
    return made


def read_texts(
    models: Sequence[Model], texts: Sequence[ScoredText], unit: Unit
) -> tuple[list[Tokens], Unit]:
    """Return texts in the tokens of every model, and the unit shared by all models.

    Texts are whole, unless the windows of the first model cut them off.
    """
    limits = [model.limit if models[0].source.windows.cut else sys.maxsize for model in models]
    return tokens_of(texts, [model.tokenizer for model in models], limits, unit)


def first_unit(models: Sequence[Model], tokens: Sequence[Tokens]) -> int:
    """Return the first unit that causal models can score: 1 if any needs a token before it."""
    return int(
        any(
            not getattr(model, "empty_source", ()) and (its.units[its.starts[:-1]] >= 0).any()
            for model, its in zip(models, tokens, strict=True)
        )
    )


# Log-probabilities of texts after a prefix of non-members (ReCaLL).

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
    # Insert a prefix between the front of the frame and each text.
    parts = [_content(model, text) for text in prefix]
    put: Ints = np.concatenate(parts) if parts else np.empty(0, np.int64)
    longest = int(alone.lengths.max())
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
    at = np.repeat(alone.starts[:-1] + n_frame, len(put))
    after = replace(
        alone,
        ids=np.insert(alone.ids, at, np.tile(put, len(alone))),
        # Unit -1: the prefix is read, but not scored.
        units=np.insert(alone.units, at, -1),
        starts=alone.starts + len(put) * np.arange(len(alone) + 1),
    )
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
    texts = plain_texts(population.records.text)
    people = population.records.group or population.sample
    known_texts = {text for side in judged for text in plain_texts(side.records.text)}
    known_people = {name for side in judged for name in side.records.group or side.sample}
    order = rng.permutation(len(population)).tolist()
    # Texts or people of the judged sides would show what is asked about.
    free = [
        row for row in order if texts[row] not in known_texts and people[row] not in known_people
    ]
    every = [text for side in sides for text in side.records.text]
    prefix = prefix_of(model, every, [population.records.text[row] for row in free])[:n]
    if not prefix:
        raise InputError(
            f"recall needs room for a text of the population before each text, and the model reads "
            f"{model.limit:,} tokens: leave out longer texts, or give shorter ones of the "
            "population, of people who are not judged"
        )
    # A prefix says something about the other texts of its people: these leave the population.
    taken = set(plain_texts(prefix))
    theirs = {name for name, text in zip(people, texts, strict=True) if text in taken}
    left = [row for row, name in enumerate(people) if name not in theirs]
    if len(left) < _FEWEST:
        raise InputError(
            f"the population must have at least {_FEWEST} texts beside those of people in the "
            f"prefix of recall, got {len(left)}: give more of them"
        )
    return population.rows(np.array(left)), prefix


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


def _content(model: CausalModel, text: str) -> Ints:
    encoded = model.tokenizer.encoded([text])[0]
    content: Ints = encoded.ids[~encoded.framing]
    return content
