"""Log-likelihoods of texts under language models: the entry point of this package."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privacygauge.errors import InputError
from privacygauge.language.endpoints import AnyModel, EndpointModel, endpoint_energies
from privacygauge.language.energies import Energies, MaskPlan, Unit
from privacygauge.language.forward_pass import ScoredPositions, causal_scored, masked_scored
from privacygauge.language.model import MaskedModel, Model
from privacygauge.language.store import AnswerStore, distinct_texts, energies_from, stored_answers
from privacygauge.language.tokens import Tokens, tokens_of
from privacygauge.language.trained import ScoredText, plain
from privacygauge.language.windows import WindowedTexts, cut_into_windows
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
    if type(target) is not type(reference):
        raise InputError(
            "target and reference must both be masked, both causal or both behind servers, got "
            f"{type(target).__name__} and {type(reference).__name__}"
        )
    kept = AnswerStore(run, n_jobs, progress, invocation)
    ours, theirs = _ask_models([target, reference], texts, plan, kept)
    return Pair(
        ours,
        theirs,
        _notes(target, reference, at_target=ours, at_reference=theirs, plan=plan or MaskPlan()),
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
        return endpoint_energies(behind, plain(texts), plan.unit, kept)
    here = [model for model in models if not isinstance(model, EndpointModel)]
    tokens, unit = read_texts(here, texts, plan.unit)
    made = []
    for number, (model, its) in enumerate(zip(here, tokens, strict=True)):
        # Each distinct text is computed once, whatever masks it gets: masks depend on the text
        # alone.
        rows, which = distinct_texts(its)
        once = its.rows(rows)
        windows, how = _windows(here, once)
        scored, settings = _positions_to_score(
            model, windows, plan=plan, unit=unit, first_unit=first_unit(here, tokens)
        )
        settings |= how
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


def _windows(models: Sequence[Model], tokens: Tokens) -> tuple[WindowedTexts, dict[str, Any]]:
    """Cut texts into windows that fit into the context of every model."""
    if models[0].source.windows.cut:
        return cut_into_windows(tokens, sys.maxsize, None, 0.0), {}
    # One window size for all models, or their scores would have different contexts.
    limit = min(model.limit for model in models)
    stride = models[0].source.windows.stride
    shared = 0.5 if isinstance(models[0], MaskedModel) else 1.0
    found = cut_into_windows(tokens, limit, stride, shared)
    # Every text fits: the settings stay those of a run without windows, and so do its results.
    if len(found.tokens) == len(tokens):
        return found, {}
    return found, {"context": limit, "stride": stride}


def _positions_to_score(
    model: Model, windows: WindowedTexts, plan: MaskPlan, unit: Unit, first_unit: int
) -> tuple[ScoredPositions, dict[str, Any]]:
    tokens = windows.tokens
    own = windows.own
    if isinstance(model, MaskedModel):
        return masked_scored(tokens, plan, own), {"kind": "masked", **plan.describe(), "unit": unit}
    return causal_scored(tokens, first_unit, own), {
        "kind": "causal",
        "unit": unit,
        "first unit": first_unit,
    }


def first_unit(models: Sequence[Model], tokens: Sequence[Tokens]) -> int:
    """Return the first unit that causal models can score: 1 if any needs a token before it."""
    return int(
        any(
            not getattr(model, "scores_first", False) and (its.units[its.starts[:-1]] >= 0).any()
            for model, its in zip(models, tokens, strict=True)
        )
    )


def _notes(
    target: AnyModel,
    reference: AnyModel,
    at_target: Energies,
    at_reference: Energies,
    plan: MaskPlan,
) -> tuple[str, ...]:
    found = []
    if at_target.units != plan.unit:
        found.append(WORDS)
    if isinstance(target, EndpointModel) or isinstance(reference, EndpointModel):
        return tuple(found)
    if target.tokenizer.is_cased != reference.tokenizer.is_cased:
        cased = "target" if target.tokenizer.is_cased else "reference"
        found.append(f"Only the {cased} tells upper case from lower case.")
    for name, model in (("target", target), ("reference", reference)):
        if model.tokenizer.loses_case:
            found.append(
                f"The {name}'s tokenizer turns texts to lower case, though its vocabulary tells "
                "cases apart: its settings may be missing (do_lower_case)."
            )
    found += at_target.long_texts()
    for name, energies in (("target", at_target), ("reference", at_reference)):
        n_unknown = int(energies.n_unknown.sum())
        if n_unknown:
            found.append(
                f"The {name}'s vocabulary does not hold {n_unknown:,} tokens of these texts, which "
                "it reads as unknown."
            )
    return tuple(found)
