"""A target and its reference: loaded together, checked, and turned into energies of texts."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Floats, Ints
from privacygauge.errors import InputError
from privacygauge.language.endpoints import AnyModel, EndpointModel
from privacygauge.language.energies import Energies, MaskPlan
from privacygauge.language.likelihoods import (
    RECALL,
    WORDS,
    conditional_log_probabilities,
    pair_log_probabilities,
    prefix_apart,
    read_texts,
    recall_signal,
    token_log_probabilities,
)
from privacygauge.language.loading import Asked as AskedPrecision
from privacygauge.language.loading import known_kind, parts_of
from privacygauge.language.model import (
    CausalModel,
    MaskedModel,
    Model,
    load_causal,
    load_masked,
    tokenizer_for,
)
from privacygauge.language.scores import TextScores
from privacygauge.language.store import AnswerStore
from privacygauge.language.text_files import (
    Columns,
    Side,
    TextRecordsLike,
    different_parts,
    scores_of,
    sides_of,
)
from privacygauge.language.texts import components, connected_rows, plain_texts
from privacygauge.language.token_signals import SideTokens, token_signals
from privacygauge.language.tokens import n_units_of
from privacygauge.runs.execute import Progress

# A target and its reference: loaded together, checked before use, and named in a report.

_M = TypeVar("_M", bound=AnyModel)


def compared_models(
    target: str | Path | _M,
    reference: str | Path | _M | None,
    load: Callable[..., _M],
    base: str | Path | None = None,
) -> list[_M]:
    """Return the target and, if given, the reference; folders are loaded.

    Parameters
    ----------
    target, reference : path or model
        Paths or models. Without a reference (None), that of a PEFT adapter is its base.
    load : callable
        Function that returns the model in a folder; takes ``base=``.
    base : str or pathlib.Path, optional
        Folder of the target's base, if the target is a PEFT adapter; by default the one that the
        adapter names.

    Raises
    ------
    InputError
        If a folder holds no model, the target is not an adapter of the base, or both models are the
        same.
    """
    # Both are checked before the first is loaded, which may take minutes.
    if isinstance(target, str | Path):
        folder, adapter = parts_of(target, base)
        if reference is None and adapter is not None:
            reference = folder
    elif base is not None:
        raise InputError(f"a base goes with the folder of a PEFT adapter, got the model and {base}")
    folders = [
        Path(model).resolve() for model in (target, reference) if isinstance(model, str | Path)
    ]
    _require_different(folders)
    if isinstance(reference, str | Path):
        parts_of(reference)
    models = [load(target, base=base) if isinstance(target, str | Path) else target]
    if reference is not None:
        models.append(load(reference) if isinstance(reference, str | Path) else reference)
    # One model in two folders has equal weights.
    _require_different([model.source.weights for model in models])
    return models


def load_either(
    path: str | Path,
    *,
    device: str = "cpu",
    precision: AskedPrecision = "float32",
    base: str | Path | None = None,
) -> Model:
    """Return the masked language model in a folder, or the causal one.

    Raises
    ------
    InputError
        As in `load_masked` and `load_causal`.
    """
    load = load_masked if known_kind(path, base)[0] == "masked" else load_causal
    return load(path, device=device, precision=precision, base=base)


def with_chat(
    columns: Columns | None, target: str | Path | AnyModel, base: str | Path | None
) -> Columns:
    """Return columns with conversations formatted by the target's chat template."""
    columns = columns or Columns()
    if isinstance(target, EndpointModel):
        return columns
    training = columns.training
    chat = replace(training.chat, read=functools.partial(tokenizer_for, target, base))
    return replace(columns, training=replace(training, chat=chat))


def check_one_kind(models: Sequence[CausalModel | MaskedModel]) -> None:
    """Raise if one model is masked and the other causal."""
    if len({isinstance(model, MaskedModel) for model in models}) > 1:
        raise InputError(
            "target and reference must both be causal or both be masked, got one of each kind"
        )


def _require_different(found: Sequence[object]) -> None:
    """Raise if a reference has the target's own folder or weights."""
    if len(found) > 1 and found[0] == found[1]:
        raise InputError(
            "target and reference are the same model: give a reference that was not trained on "
            "the members, or none"
        )


# Fewest texts per side: an audit of fewer shows nothing.
_FEWEST = 2

Form = Literal["mean", "sum"]
"""Form of an energy: nats per scored token, or nats per mask."""

NO_REFERENCE = (
    "No reference model was given: only the loss attack was played, and three of the controls "
    "(reference energy, its spread, matched attack) need one, such as train_reference makes."
)


@dataclass(frozen=True, eq=False)
class _Answer:
    """Log-probabilities of the texts of one side under the models."""

    target: Energies
    reference: Energies | None
    notes: tuple[str, ...]
    after: Energies | None = None


def text_energies(
    target: AnyModel,
    reference: AnyModel | None,
    sides: Sequence[TextRecordsLike],
    *,
    plan: MaskPlan | None = None,
    form: Form = "mean",
    recall: int | None = None,
    kept: AnswerStore | None = None,
    before: Callable[[], None] | None = None,
) -> TextScores:
    """Return the energies of members, non-members and population under target and reference.

    Parameters
    ----------
    target, reference : MaskedModel, CausalModel or EndpointModel
        Two models of one kind; the reference may be None.
    sides : sequence of texts
        Members, non-members and optionally the population. Each side is computed separately, so
        that in the same run an audit with other members reuses the non-members' energies.
    plan, form
        As in `audit_masked`. A causal model uses the plan's unit, and its seed for the learned
        attack.
    recall : int, optional
        Most texts of the population that a causal target reads before each text in a second pass,
        for the signal ``recall``; see `prefix_apart`.
    kept : AnswerStore, optional
        Place of the answers, workers and progress; by default nothing is stored.
    before : callable, optional
        Called once texts and tokens are checked, before any model runs.

    Returns
    -------
    TextScores
        Ids are those given, or side and row, such as ``member-0``. Lengths are in tokens, or in
        words if the tokenizers differ. For a causal model, with the signals of `token_signals`.
    """
    if form not in ("mean", "sum"):
        raise InputError(f"form must be mean or sum, got {form!r}")
    kept = kept or AnswerStore()
    parts = sides_of(*sides)
    models = [target] if reference is None else [target, reference]
    plan = plan or MaskPlan()
    short = [too_short(models, part, plan) for part in parts]
    parts = [
        part.rows(np.delete(np.arange(len(part)), rows))
        for part, rows in zip(parts, short, strict=True)
    ]
    prefix: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    if recall is not None:
        if any(part.records.trained is not None for part in parts):
            raise InputError(
                "recall needs plain texts, got training data in parts: leave recall out"
            )
        if not isinstance(target, CausalModel):
            raise InputError(
                "recall needs a causal model of this machine: it reads texts once more"
            )
        drawn = seeds.stream(plan.seed, "language", "recall")
        left, prefix = prefix_apart(target, parts, recall, drawn)
        apart = (
            f"For recall the target read each text once more, after {len(prefix)} of the "
            f"population; {len(parts[2]) - len(left)} text(s) of these people were left out there.",
        )
        # The people of the prefix leave the population.
        parts = [*parts[:2], left]
    if isinstance(target, EndpointModel) and reference is not None:
        # Tokens behind servers are known only from the answers, and may agree on one side only.
        plan = replace(plan, unit="word")
    if any(isinstance(model, EndpointModel) for model in models) and any(
        part.records.trained is not None for part in parts
    ):
        raise InputError(
            "models behind servers are asked about plain texts, got training data in parts: write "
            "each as one text, or name a folder"
        )
    literal = any(not isinstance(x, EndpointModel) and x.source.windows.literal for x in models)
    if literal and any(part.records.trained is not None for part in parts):
        raise InputError(
            "literal goes with plain texts: a chat template writes special tokens, which would be "
            "read as letters"
        )
    # All sides share a unit: computed alone, a side might use tokens while another needs words.
    units = {_unit_of(models, part, plan) for part in parts}
    asked = replace(plan, unit="word") if "word" in units else plan
    if before is not None:
        before()
    if not isinstance(target, MaskedModel):
        # A causal model's answers do not depend on a seed: stored ones are found whatever it is.
        asked = replace(asked, seed=0)
    # A prefix is a further pass of the target.
    passes = len(models) + bool(prefix)
    n_all = passes * sum(map(len, parts))
    done = 0
    answers = []
    for part in parts:
        share = kept.progress and functools.partial(
            _tell_share, kept.progress, before=done, n_here=passes * len(part), total=n_all
        )
        answers.append(
            _ask_side(models, part, prefix=prefix, plan=asked, kept=replace(kept, progress=share))
        )
        done += passes * len(part)
    further, notes = _causal_signals(target, parts, answers, plan.seed)
    in_form = Energies.mean if form == "mean" else Energies.sum
    references = [in_form(x.reference) for x in answers if x.reference is not None]
    found = scores_of(
        parts,
        np.concatenate([in_form(answer.target) for answer in answers]),
        energy_reference=np.concatenate(references) if references else None,
        length=np.concatenate([answer.target.lengths for answer in answers]),
        further=further,
    )
    changed = (WORDS,) if asked.unit != plan.unit else ()
    left_out = [
        f"{len(rows):,} {part.name} texts were left out: too short to score anything in them."
        for part, rows in zip(parts, short, strict=True)
        if len(rows)
    ]
    alone = (NO_REFERENCE,) if reference is None else ()
    partly = []
    if any(part.records.trained is not None for part in parts):
        # A training takes no loss on prompts: their tokens are read and not scored.
        scored = sum(int(answer.target.lengths.sum()) for answer in answers)
        read = sum(int(x.target.n_read.sum()) for x in answers if x.target.n_read is not None)
        partly.append(
            f"Only the tokens that were trained are scored, {scored / max(read, 1):.0%} of those "
            "that were read (--trained)."
        )
    # The notes on all sides, each once if it applies to all of them.
    everywhere = set.intersection(*(set(answer.notes) for answer in answers))
    own = (
        f"Of the {part.name} texts: {note[0].lower()}{note[1:]}"
        for part, answer in zip(parts, answers, strict=True)
        for note in answer.notes
        if note not in everywhere
    )
    return replace(
        found,
        notes=(
            *alone,
            *partly,
            *found.notes,
            *left_out,
            *apart,
            *changed,
            *notes,
            *[*(note for note in answers[0].notes if note in everywhere), *own],
        ),
    )


def too_short(models: Sequence[AnyModel], part: Side, plan: MaskPlan) -> Ints:
    """Return the rows of texts with nothing to score; () if too few would be left.

    Parameters
    ----------
    models : sequence of models
        Models that are asked about the same units; a server's tokens are not known.
    part : Side
        Texts of a side.
    plan : MaskPlan
        Rule, whose unit is scored.
    """
    texts = part.records.scored
    known = [model for model in models if not isinstance(model, EndpointModel)]
    if not known:
        return np.zeros(0, np.int64)
    tokenizers = [model.tokenizer for model in known]
    n_units = n_units_of(texts, tokenizers, [sys.maxsize] * len(known), plan.unit)
    # A first token without a frame or an encoder has no context, and no probability.
    alone = any(
        isinstance(model, CausalModel)
        and not model.empty_source
        and not model.tokenizer.encoded(["a"])[0].framing[0]
        for model in known
    ) and any(isinstance(text, str) or text.begins for text in texts)
    rows = np.flatnonzero(n_units < (2 if alone else 1))
    return rows if len(texts) - len(rows) >= _FEWEST else rows[:0]


def _unit_of(models: Sequence[AnyModel], part: Side, plan: MaskPlan) -> str:
    known = [model for model in models if not isinstance(model, EndpointModel)]
    if not known:
        return plan.unit
    try:
        tokens, unit = read_texts(known, part.records.scored, plan.unit)
        if isinstance(models[0], MaskedModel):
            # The longest text has the most masks: too many are an error before any model runs.
            plan.masks("", int(tokens[0].n_units.max()))
        return unit
    except InputError as error:
        raise InputError(f"{part.name} texts: {error}") from error


def _ask_side(
    models: Sequence[AnyModel],
    part: Side,
    prefix: tuple[str, ...],
    plan: MaskPlan,
    kept: AnswerStore,
) -> _Answer:
    texts = part.records.scored
    if prefix:
        # Two passes share one progress: the texts alone, then the texts after the prefix.
        n = len(models)
        first = second = kept
        if (tell := kept.progress) is not None:
            first = replace(kept, progress=lambda n_done, n_all: tell(n_done, n_all + n_all // n))
            second = replace(
                kept, progress=lambda n_done, n_all: tell(n * n_all + n_done, (n + 1) * n_all)
            )
        found = _ask_side(models, part, prefix=(), plan=plan, kept=first)
        target, *reference = (model for model in models if isinstance(model, CausalModel))
        other = reference[0] if reference else None
        after = conditional_log_probabilities(
            target, part.records.text, prefix, reference=other, plan=plan, **vars(second)
        )
        return replace(found, after=after)
    if len(models) == 1:
        alone = token_log_probabilities(models[0], texts, plan, **vars(kept))
        return _Answer(alone, None, alone.long_texts())
    pair = pair_log_probabilities(models[0], models[1], texts, plan, **vars(kept))
    return _Answer(pair.target, pair.reference, pair.notes)


def _causal_signals(
    target: AnyModel, parts: Sequence[Side], answers: Sequence[_Answer], seed: int
) -> tuple[Mapping[str, Floats], tuple[str, ...]]:
    """Return the signals of a causal model other than loss and likelihood ratio, with notes."""
    if isinstance(target, MaskedModel):
        return {}, ()
    sides = [
        SideTokens(
            [text if isinstance(text, str) else text.own for text in part.records.scored],
            answer.target,
            answer.reference,
        )
        for part, answer in zip(parts, answers, strict=True)
    ]
    groups = [name for part in parts for name in part.records.group or ()]
    # Copies of a text are scored by one model, as all texts of a person are.
    copies = components(plain_texts(different_parts(parts)))
    found, skipped = token_signals(
        sides,
        connected_rows(groups or np.arange(len(copies)), copies),
        0 if isinstance(target, EndpointModel) else target.tokenizer.n_tokens,
        seeds.stream(seed, "language", "learned attack"),
    )
    after = [
        recall_signal(answer.target, answer.after) for answer in answers if answer.after is not None
    ]
    if after:
        found = {**found, RECALL: np.concatenate(after)}
    return found, tuple(f"The attack {x.name} was not played: it {x.reason}." for x in skipped)


def _tell_share(
    progress: Progress, n_done: int, n_asked: int, *, before: int, n_here: int, total: int
) -> None:
    """Report progress on one side's texts, counting the texts of all sides."""
    # Repeated texts are computed once, so fewer may be asked for than there are here.
    progress(before + n_here * n_done // n_asked, total)


# Texts that a model was made to forget: how likely each model finds them.

BEFORE = "before"
"""Name of the signal of the model before it was made to forget."""


def energies_of_forgotten(
    before: Model,
    after: Model,
    retrained: Model | None,
    sides: Sequence[Side],
    *,
    run: str | Path | None = None,
    progress: Progress | None = None,
) -> TextScores:
    """Return the energies of forgotten and fresh texts under the models of an unlearning.

    Parameters
    ----------
    before, after : MaskedModel or CausalModel
        Models before and after forgetting.
    retrained : MaskedModel or CausalModel, optional
        Model that saw neither kind of texts.
    sides : sequence of Side
        Forgotten texts as members, then fresh ones as non-members.
    run : str or pathlib.Path, optional
        Folder that keeps the models' answers; by default none are kept.
    progress : callable, optional
        Called with the texts done and their total, over all models.

    Returns
    -------
    TextScores
        Energies under `after`, and as the reference those under `retrained`; the signal `BEFORE` is
        the mean log-probability under `before`. Near copies across the sides are left out, since
        forgetting one means forgetting the other; copies and texts of one person are one unit.

    Raises
    ------
    InputError
        If the models are of different kinds, or the retrained one is one of the others.
    """
    models = [before, after, *(() if retrained is None else (retrained,))]
    check_one_kind(models)
    for name, model in (("before", before), ("after", after)):
        if retrained is not None and model.source.weights == retrained.source.weights:
            raise InputError(
                f"{name} and retrained are the same model: give another that was trained without "
                "the forgotten texts, or none"
            )
    # If the tokenizers differ, words are compared, which all of them share.
    same = len({model.tokenizer.sha256 for model in models}) == 1
    plan = MaskPlan(unit="token" if same else "word")
    short = [too_short(models, side, plan) for side in sides]
    parts = [
        side.rows(np.delete(np.arange(len(side)), rows))
        for side, rows in zip(sides, short, strict=True)
    ]
    texts = [text for part in parts for text in part.records.scored]
    kept = AnswerStore(run, progress=progress)
    answers = [
        token_log_probabilities(model, texts, plan, **vars(kept.part(k, len(models))))
        for k, model in enumerate(models)
    ]
    energies = [answer.mean() for answer in answers]
    found = scores_of(
        parts,
        # The model that forgot is the one audited, and the retrained one its reference.
        energies[1],
        energy_reference=energies[2] if retrained is not None else None,
        length=answers[1].lengths,
        further={BEFORE: -energies[0]},
    )
    n_short = sum(map(len, short))
    left_out = f"{n_short:,} texts were left out: too short to score anything in them."
    notes = (*(() if same else (WORDS,)), *((left_out,) if n_short else ()))
    return replace(found, notes=(*found.notes, *notes, *answers[1].long_texts()))
