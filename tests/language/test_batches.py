"""What a model sees at once: everything once, nothing left over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.forward_pass import batch_of, causal_scored, masked_scored, pass_groups
from privacygauge.language.tokens import Tokens

PAD = 0
MASK = 1
FRAME = 2


def tokens_with(lengths):
    """Return texts of some lengths between two frame tokens; every token has its own id."""
    ids = []
    units = []
    for length in lengths:
        first = 10 + sum(map(len, ids))
        ids.append(np.array([FRAME, *range(first, first + length), FRAME]))
        units.append(np.array([-1, *range(length), -1]))
    n = len(lengths)
    return Tokens(
        tuple(map(str, range(n))),
        np.concatenate(ids),
        np.concatenate(units),
        np.cumsum([0, *map(len, ids)]),
        np.array(lengths),
        np.zeros(n, int),
        np.zeros(n, int),
    )


some_lengths = st.lists(st.integers(1, 30), min_size=1, max_size=12).map(sorted)
plans = st.builds(
    MaskPlan,
    pattern=st.sampled_from(["balanced", "random", "single"]),
    n_masks=st.integers(1, 12),
    fraction=st.sampled_from([0.15, 0.6]),
)


@given(some_lengths, plans, st.integers(1, 400))
def test_every_copy_is_in_one_group_and_none_is_lost(lengths, plan, budget):
    tokens = tokens_with(lengths)
    scored = masked_scored(tokens, plan)
    found = [*pass_groups(tokens, scored, range(len(lengths)), budget)]
    copies = [(part.text, i) for group in found for part in group for i in range(*_ends(part))]
    assert copies == [(text, i) for text, k in enumerate(scored.n_copies) for i in range(k)]
    for group in found:
        n_rows = sum(part.stop - part.start for part in group)
        width = max(int(tokens.lengths[part.text]) for part in group)
        assert n_rows == 1 or n_rows * width <= budget


@given(some_lengths, plans)
def test_copies_of_a_text_that_fit_are_together(lengths, plan):
    tokens = tokens_with(lengths)
    scored = masked_scored(tokens, plan)
    most = int((tokens.lengths * scored.n_copies).max())
    for group in pass_groups(tokens, scored, range(len(lengths)), most):
        assert all(part.stop - part.start == scored.n_copies[part.text] for part in group)


@given(some_lengths, plans, st.integers(1, 400))
def test_batches_hide_what_is_scored_and_nothing_else(lengths, plan, budget):
    tokens = tokens_with(lengths)
    scored = masked_scored(tokens, plan)
    hidden = []
    for group in pass_groups(tokens, scored, range(len(lengths)), budget):
        batch = batch_of(tokens, scored, group, pad_id=PAD, mask_id=MASK)
        whole = batch.ids.copy()
        assert np.array_equal(
            np.argwhere(whole == MASK), np.stack([batch.row, batch.position], axis=1)
        )
        whole[batch.row, batch.position] = batch.token
        expected = [tokens.of(part.text)[0] for part in group for _ in range(*_ends(part))]
        for row, ids, length in zip(whole, expected, batch.lengths, strict=True):
            assert row[:length].tolist() == ids.tolist()
            assert (row[length:] == PAD).all()
        hidden.extend(batch.token)
    # In the order that `scored` counts in: a row of answers is found again by its place.
    ids = [
        tokens.of(text)[0][position]
        for text in range(len(lengths))
        for position in scored.position[scored.of(text)]
    ]
    assert hidden == ids


@given(some_lengths, plans)
def test_scored_rows_are_the_masks(lengths, plan):
    tokens = tokens_with(lengths)
    scored = masked_scored(tokens, plan)
    for text, length in enumerate(lengths):
        rows = scored.of(text)
        masks = plan.masks(str(text), length)
        assert scored.unit[rows].tolist() == masks.ravel().tolist()
        assert scored.copy[rows].tolist() == np.repeat(range(len(masks)), masks.shape[1]).tolist()
        assert (scored.position[rows] == scored.unit[rows] + 1).all()


def test_a_causal_model_scores_each_token_once():
    tokens = tokens_with([2, 5])
    scored = causal_scored(tokens, 0)
    assert scored.position.tolist() == [1, 2, 1, 2, 3, 4, 5]
    assert causal_scored(tokens, 1).position.tolist() == [2, 2, 3, 4, 5]
    with pytest.raises(InputError, match="every text must have at least two units"):
        causal_scored(tokens_with([1]), 1)


def _ends(part):
    return part.start, part.stop
