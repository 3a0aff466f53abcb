"""From two models and the texts of each side to the energies that are judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from leakscope.core.checks import Floats, Ints
from leakscope.errors import InputError
from leakscope.language.energies import Energies
from leakscope.language.likelihoods import pair_log_probabilities, token_log_probabilities
from leakscope.language.masks import MaskPlan
from leakscope.language.model import Model
from leakscope.language.scores import TextScores, text_scores
from leakscope.language.text_files import Columns, TextRecords, TextRecordsLike, as_texts
from leakscope.language.texts import Texts
from leakscope.language.tokens import tokens_of
from leakscope.runs.execute import Progress

Form = Literal["mean", "sum"]
"""The form of an energy: nats a scored token, or nats a mask."""

NO_REFERENCE = (
    "No reference model was given: only the loss attack was played, and two of the three controls "
    "(reference energy, matched attack) need one, such as train_reference makes."
)
_WORDS = (
    "The tokenizers differ on these texts: words are masked instead of tokens, and energies are in "
    "nats a word."
)
_SIDES = ("member", "nonmember", "population")


@dataclass(frozen=True, eq=False)
class _Part:
    """The texts of one side."""

    name: str
    """``member``, ``nonmember`` or ``population``."""
    records: TextRecords
    """Its texts."""

    def __len__(self) -> int:
        return len(self.records)

    @property
    def sample(self) -> Texts:
        """(n,) Ids: those given, or the side and the row."""
        given = self.records.sample
        return given or tuple(f"{self.name}-{row}" for row in range(len(self)))


@dataclass(frozen=True, eq=False)
class _Answer:
    """What the models said about one side."""

    target: Floats
    reference: Floats | None
    length: Ints
    notes: tuple[str, ...]


def text_energies(
    target: Model,
    reference: Model | None,
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None = None,
    *,
    plan: MaskPlan | None = None,
    form: Form = "mean",
    columns: Columns | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    invocation: Mapping[str, Any] | None = None,
) -> TextScores:
    """Return the energies of members, non-members and population under target and reference.

    Parameters
    ----------
    target, reference : MaskedModel or CausalModel
        Two of a kind; the reference may be None.
    members, nonmembers, population, plan, form, columns, run, n_jobs, progress, invocation
        As in `audit_masked`. Each side is asked for apart, so that in the same `run` an audit
        with other members finds the non-members' energies.

    Returns
    -------
    TextScores
        Ids are those given, or the side and the row, such as ``member-0``. Lengths are in tokens,
        or in words where the tokenizers differ.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    if form not in ("mean", "sum"):
        raise InputError(f"form must be mean or sum, got {form!r}")
    parts = _parts(members, nonmembers, population, columns=columns)
    models = [target] if reference is None else [target, reference]
    plan = plan or MaskPlan()
    asked = _shared_plan(models, parts, plan)
    answers = [
        _asked(models, part, asked, form, run, n_jobs, told, invocation)
        for part, told in zip(parts, _shares(progress, parts, len(models)), strict=True)
    ]
    found = _joined(parts, answers)
    changed = (_WORDS,) if asked.unit != plan.unit else ()
    alone = (NO_REFERENCE,) if reference is None else ()
    return replace(found, notes=(*alone, *found.notes, *changed, *_notes(parts, answers)))


def _parts(*given: TextRecordsLike | None, columns: Columns | None) -> list[_Part]:
    names = ("members", "nonmembers", "population")
    parts = [
        _Part(side, as_texts(texts, columns, name))
        for side, name, texts in zip(_SIDES, names, given, strict=True)
        if texts is not None
    ]
    grouped = [part.records.group is not None for part in parts]
    if any(grouped) and not all(grouped):
        raise InputError(
            f"groups must be given for all texts or for none, got none for the "
            f"{parts[grouped.index(False)].name} texts: name their column"
        )
    _check_ids(parts)
    return parts


def _check_ids(parts: Sequence[_Part]) -> None:
    """Raise where one id is of two texts: it would pass for one sample on both sides."""
    seen: dict[str, tuple[str, str]] = {}
    for part in parts:
        for name, text in zip(part.sample, part.records.text, strict=True):
            side, earlier = seen.setdefault(name, (part.name, text))
            if earlier != text:
                raise InputError(
                    f"an id must be of one text, got {name!r} for two: a {side} text and a "
                    f"{part.name} text; number all sides through, or leave ids out"
                )


def _shared_plan(models: Sequence[Model], parts: Sequence[_Part], plan: MaskPlan) -> MaskPlan:
    """Return the plan with the unit that all sides share: a side alone might take tokens."""
    units = {_unit_of(models, part, plan) for part in parts}
    return replace(plan, unit="word") if "word" in units else plan


def _unit_of(models: Sequence[Model], part: _Part, plan: MaskPlan) -> str:
    tokenizers, limits = zip(*((model.tokenizer, model.limit) for model in models), strict=True)
    try:
        return tokens_of(part.records.text, tokenizers, limits, plan.unit)[1]
    except InputError as error:
        raise InputError(f"{part.name} texts: {error}") from error


def _asked(
    models: Sequence[Model],
    part: _Part,
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
        return _Answer(_in_form(alone, form), None, alone.lengths, _cut(alone))
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
    return _Answer(target, reference, pair.target.lengths, pair.notes)


def _in_form(energies: Energies, form: Form) -> Floats:
    return energies.mean() if form == "mean" else energies.sum()


def _cut(energies: Energies) -> tuple[str, ...]:
    n_cut = int(np.count_nonzero(energies.n_truncated))
    if not n_cut:
        return ()
    return (
        f"{n_cut:,} of {len(energies):,} texts are longer than the model reads: it sees their "
        "beginning.",
    )


def _joined(parts: Sequence[_Part], answers: Sequence[_Answer]) -> TextScores:
    side = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    names = np.array([part.name for part in parts])[side]
    references = [answer.reference for answer in answers if answer.reference is not None]
    groups = [part.records.group for part in parts if part.records.group is not None]
    return text_scores(
        [name for part in parts for name in part.sample],
        np.concatenate([answer.target for answer in answers]),
        names == _SIDES[0],
        energy_reference=np.concatenate(references) if references else None,
        group=[name for group in groups for name in group] if groups else None,
        length=np.concatenate([answer.length for answer in answers]),
        population=names == _SIDES[2],
        text=[text for part in parts for text in part.records.text],
    )


def _notes(parts: Sequence[_Part], answers: Sequence[_Answer]) -> list[str]:
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
    progress: Progress | None, parts: Sequence[_Part], n_models: int
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
