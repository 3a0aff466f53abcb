"""Texts that a language model was made to forget: how likely each model finds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import WORDS, token_log_probabilities
from privacygauge.language.model import Model
from privacygauge.language.scores import TextScores
from privacygauge.language.store import AnswerStore
from privacygauge.language.text_energies import check_one_kind, too_short
from privacygauge.language.text_files import Side, scores_of
from privacygauge.runs.execute import Progress

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
        energies[1],
        energy_reference=energies[2] if retrained is not None else None,
        length=answers[1].lengths,
        further={BEFORE: -energies[0]},
    )
    n_short = sum(map(len, short))
    left_out = f"{n_short:,} texts were left out: too short to score anything in them."
    notes = (*(() if same else (WORDS,)), *((left_out,) if n_short else ()))
    return replace(found, notes=(*found.notes, *notes, *answers[1].long_texts()))
