"""From two models and the texts of each side to the energies that are judged."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.causal import MIN_K, ZLIB, further_of, min_k_signal, zlib_signal
from privacygauge.language.endpoints import AnyModel, EndpointModel
from privacygauge.language.energies import Energies
from privacygauge.language.likelihoods import (
    pair_log_probabilities,
    read_texts,
    token_log_probabilities,
)
from privacygauge.language.masks import MaskPlan
from privacygauge.language.model import CausalModel, MaskedModel
from privacygauge.language.scores import TextScores, text_scores
from privacygauge.language.sides import SIDES, Side, sides_of
from privacygauge.language.text_files import TextRecords, TextRecordsLike
from privacygauge.language.texts import picked
from privacygauge.language.tokens import n_units_of
from privacygauge.runs.execute import Progress

# An audit of fewer texts a side says nothing.
_FEWEST = 2

Form = Literal["mean", "sum"]
"""The form of an energy: nats a scored token, or nats a mask."""

NO_REFERENCE = (
    "No reference model was given: only the loss attack was played, and two of the four controls "
    "(reference energy, matched attack) need one, such as train_reference makes."
)
_WORDS = (
    "The tokenizers differ on these texts: words are masked instead of tokens, and energies are in "
    "nats a word."
)


@dataclass(frozen=True, eq=False)
class _Answer:
    """What the models said about one side."""

    target: Floats
    reference: Floats | None
    length: Ints
    notes: tuple[str, ...]
    further: Mapping[str, Floats]


def text_energies(
    target: AnyModel,
    reference: AnyModel | None,
    sides: Sequence[TextRecordsLike],
    *,
    plan: MaskPlan | None = None,
    form: Form = "mean",
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    invocation: Mapping[str, Any] | None = None,
    before: Callable[[], None] | None = None,
) -> TextScores:
    """Return the energies of members, non-members and population under target and reference.

    Parameters
    ----------
    target, reference : MaskedModel, CausalModel or EndpointModel
        Two of a kind; the reference may be None.
    sides : sequence of texts
        Members, non-members and, where there is one, the population. Each is asked for apart, so
        that in the same `run` an audit with other members finds the non-members' energies.
    plan, form, run, n_jobs, progress, invocation
        As in `audit_masked`.
    before : callable, optional
        Called when texts and tokens are checked, before a model is asked.

    Returns
    -------
    TextScores
        Ids are those given, or the side and the row, such as ``member-0``. Lengths are in tokens,
        or in words where the tokenizers differ. Of a causal model with the further signals
        ``zlib``, ``min-k`` and ``min-k++``.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    if form not in ("mean", "sum"):
        raise InputError(f"form must be mean or sum, got {form!r}")
    parts = sides_of(*sides)
    models = [target] if reference is None else [target, reference]
    plan = plan or MaskPlan()
    short = [_too_short(models, part, plan) for part in parts]
    parts = [_without(part, rows) for part, rows in zip(parts, short, strict=True)]
    if isinstance(target, EndpointModel) and reference is not None:
        # Their tokens are known only when they have answered, and one side's may be alike.
        plan = replace(plan, unit="word")
    asked = _shared_plan(models, parts, plan)
    if before is not None:
        before()
    answers = [
        _asked(
            models,
            part,
            plan=asked,
            form=form,
            run=run,
            n_jobs=n_jobs,
            progress=told,
            invocation=invocation,
        )
        for part, told in zip(parts, _shares(progress, parts, len(models)), strict=True)
    ]
    found = _joined(parts, answers)
    changed = (_WORDS,) if asked.unit != plan.unit else ()
    left_out = [
        f"{len(rows):,} {part.name} texts were left out: too short to score anything in them."
        for part, rows in zip(parts, short, strict=True)
        if len(rows)
    ]
    alone = (NO_REFERENCE,) if reference is None else ()
    return replace(
        found, notes=(*alone, *found.notes, *left_out, *changed, *_notes(parts, answers))
    )


def _too_short(models: Sequence[AnyModel], part: Side, plan: MaskPlan) -> Ints:
    """Return the rows of the texts that hold nothing to score; () where too few would be left."""
    texts = part.records.text
    known = [model for model in models if not isinstance(model, EndpointModel)]
    if not known:
        return np.zeros(0, np.int64)
    tokenizers = [model.tokenizer for model in known]
    n_units = n_units_of(texts, tokenizers, [sys.maxsize] * len(known), plan.unit)
    # A token with nothing to its left has no probability, unless a frame or an encoder gives it.
    alone = any(
        isinstance(model, CausalModel)
        and not model.scores_first
        and not model.tokenizer.encoded(["a"])[0].framing[0]
        for model in known
    )
    rows = np.flatnonzero(n_units < (2 if alone else 1))
    return rows if len(texts) - len(rows) >= _FEWEST else rows[:0]


def _without(part: Side, rows: Ints) -> Side:
    """Return a side without some of its texts, the others known as before."""
    if not len(rows):
        return part
    kept = np.delete(np.arange(len(part)), rows)
    group = part.records.group
    return Side(
        part.name,
        TextRecords(
            picked(part.records.text, kept),
            picked(part.sample, kept),
            None if group is None else picked(group, kept),
        ),
    )


def _shared_plan(models: Sequence[AnyModel], parts: Sequence[Side], plan: MaskPlan) -> MaskPlan:
    """Return the plan with the unit that all sides share: a side alone might take tokens."""
    units = {_unit_of(models, part, plan) for part in parts}
    return replace(plan, unit="word") if "word" in units else plan


def _unit_of(models: Sequence[AnyModel], part: Side, plan: MaskPlan) -> str:
    known = [model for model in models if not isinstance(model, EndpointModel)]
    if not known:
        return plan.unit
    try:
        tokens, unit = read_texts(known, part.records.text, plan.unit)
        if isinstance(models[0], MaskedModel):
            # Of the longest text there are the most masks: too many are told before any is asked.
            plan.masks("", int(tokens[0].n_units.max()))
        return unit
    except InputError as error:
        raise InputError(f"{part.name} texts: {error}") from error


def _asked(
    models: Sequence[AnyModel],
    part: Side,
    plan: MaskPlan,
    form: Form,
    run: str | Path | None,
    n_jobs: int | None,
    progress: Progress | None,
    invocation: Mapping[str, Any] | None,
) -> _Answer:
    texts = part.records.text
    if len(models) == 1:
        alone = token_log_probabilities(
            models[0],
            texts,
            plan,
            run=run,
            n_jobs=n_jobs,
            progress=progress,
            invocation=invocation,
        )
        further = _further(models[0], alone, texts)
        return _Answer(
            _in_form(alone, form),
            None,
            alone.lengths,
            alone.long_texts(),
            further,
        )
    pair = pair_log_probabilities(
        models[0],
        models[1],
        texts,
        plan,
        run=run,
        n_jobs=n_jobs,
        progress=progress,
        invocation=invocation,
    )
    target, reference = (_in_form(energies, form) for energies in (pair.target, pair.reference))
    further = _further(models[0], pair.target, texts)
    return _Answer(target, reference, pair.target.lengths, pair.notes, further)


def _further(model: AnyModel, energies: Energies, texts: Sequence[str]) -> Mapping[str, Floats]:
    if isinstance(model, EndpointModel):
        # What else the model might have said, a server does not tell.
        return {ZLIB: zlib_signal(energies, texts), MIN_K: min_k_signal(energies)}
    return further_of(energies, texts) if isinstance(model, CausalModel) else {}


def _in_form(energies: Energies, form: Form) -> Floats:
    return energies.mean() if form == "mean" else energies.sum()


def _joined(parts: Sequence[Side], answers: Sequence[_Answer]) -> TextScores:
    side = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    names = np.array([part.name for part in parts])[side]
    references = [answer.reference for answer in answers if answer.reference is not None]
    groups = [part.records.group for part in parts if part.records.group is not None]
    return text_scores(
        [name for part in parts for name in part.sample],
        np.concatenate([answer.target for answer in answers]),
        names == SIDES[0],
        energy_reference=np.concatenate(references) if references else None,
        group=[name for group in groups for name in group] if groups else None,
        length=np.concatenate([answer.length for answer in answers]),
        population=names == SIDES[2],
        text=[text for part in parts for text in part.records.text],
        further={
            name: np.concatenate([answer.further[name] for answer in answers])
            for name in answers[0].further
        },
    )


def _notes(parts: Sequence[Side], answers: Sequence[_Answer]) -> list[str]:
    """Return what was noted of every side, once where it holds for all of them."""
    everywhere = set.intersection(*(set(answer.notes) for answer in answers))
    own = (
        f"Of the {part.name} texts: {note[0].lower()}{note[1:]}"
        for part, answer in zip(parts, answers, strict=True)
        for note in answer.notes
        if note not in everywhere
    )
    return [*(note for note in answers[0].notes if note in everywhere), *own]


def _shares(
    progress: Progress | None, parts: Sequence[Side], n_models: int
) -> Iterator[Progress | None]:
    """Yield a callback for every side, that counts the texts of all of them."""
    done, n_all = 0, n_models * sum(map(len, parts))
    for part in parts:
        n_here = n_models * len(part)
        yield None if progress is None else _told(progress, done, n_here, n_all)
        done += n_here


def _told(progress: Progress, before: int, n_here: int, n_all: int) -> Progress:
    def told(n_done: int, n_asked: int) -> None:
        # A text that occurs twice is asked for once, so fewer may be asked for.
        progress(before + n_here * n_done // n_asked, n_all)

    return told
