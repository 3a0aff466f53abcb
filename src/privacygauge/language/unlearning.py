"""Unlearning of texts: whether a language model that was made to forget them still knows them."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from privacygauge.evaluate.unlearning import Unlearning, measure_unlearning
from privacygauge.language.likelihoods import pair_log_probabilities, token_log_probabilities
from privacygauge.language.model import Model
from privacygauge.language.text_energies import check_one_kind, load_either, with_chat
from privacygauge.language.text_files import (
    Columns,
    TextRecordsLike,
    different_parts,
    sides_of,
)
from privacygauge.language.texts import components, connected_rows, plain_texts


def audit_unlearning(
    before: str | Path | Model,
    after: str | Path | Model,
    forgotten: TextRecordsLike,
    fresh: TextRecordsLike,
    *,
    retrained: str | Path | Model | None = None,
    columns: Columns | None = None,
    device: str = "cpu",
    level: float = 0.95,
) -> Unlearning:
    """Audit whether a language model still distinguishes texts that it was made to forget.

    Parameters
    ----------
    before, after : path, MaskedModel or CausalModel
        Models before and after forgetting.
    forgotten, fresh : path, sequence of str, mapping of lists, or data frame
        Texts that it was made to forget, and similar texts that it never saw; see `load_texts`.
    retrained : path, MaskedModel or CausalModel, optional
        Model that saw neither, ideally one trained like the first without the forgotten texts; its
        own difference is the placebo.
    columns : Columns, optional
        Columns of files and frames, if they have other names.
    device : str
        As in `load_causal`.
    level : float
        Level of each interval, in (0, 1).

    Returns
    -------
    Unlearning
        Texts of one person, and near copies, are one unit. Near copies across the sides are left
        out, since forgetting one means forgetting the other.

    Notes
    -----
    See `measure_unlearning`, which accepts scores of any model, such as a classifier's
    log-probabilities.
    """
    load = functools.partial(load_either, device=device)
    given = [before, after, *(() if retrained is None else (retrained,))]
    sides = sides_of(forgotten, fresh, columns=with_chat(columns, before, None))
    models = [load(x) if isinstance(x, str | Path) else x for x in given]
    check_one_kind(models)
    texts = [text for side in sides for text in side.records.scored]
    forgets = np.repeat([True, False], [len(side) for side in sides])
    copies = components(plain_texts(different_parts(sides)))
    both = np.intersect1d(copies[forgets], copies[~forgets])
    kept = ~np.isin(copies, both)
    # Without names of people, each text counts as a person of its own.
    people = [name for side in sides for name in side.records.group or side.sample]
    owner = connected_rows(people, copies)
    asked = [text for text, stays in zip(texts, kept, strict=True) if stays]
    # If the tokenizers differ, only words that all of them share are scored.
    pairs = (pair_log_probabilities(model, models[-1], asked).target for model in models[:-1])
    same = len({model.tokenizer.sha256 for model in models}) == 1
    found = (
        [token_log_probabilities(model, asked) for model in models]
        if same
        else [*pairs, pair_log_probabilities(models[-1], models[0], asked).target]
    )
    scores = [-one.mean() for one in found]
    return measure_unlearning(
        scores[0],
        scores[1],
        forgets[kept],
        retrained=scores[2] if retrained is not None else None,
        unit=owner[kept],
        level=level,
    )
