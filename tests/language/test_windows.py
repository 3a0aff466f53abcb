"""Long texts in windows: every token once, as a loop over windows finds it."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import pair_log_probabilities, token_log_probabilities
from privacygauge.language.tokens import Tokens, checked_keys
from privacygauge.language.windows import Windows, cut_into_windows
from tests.language.tiny_models import made_texts

LONG = " ".join(made_texts(14, 9))
CLOSE = 2e-5


def with_windows(model, context=None, stride=None):
    """Return a model that reads texts in other windows."""
    return dataclasses.replace(
        model,
        limit=context or model.limit,
        source=dataclasses.replace(model.source, windows=Windows(context, stride)),
    )


def texts_of(sizes, frame=(1, 1)):
    """Return texts of some sizes whose tokens are numbered through, within a frame of -1."""
    ids = []
    units = []
    for n in sorted(sizes):
        ids.append(np.r_[[-1] * frame[0], range(n), [-1] * frame[1]].astype(int))
        units.append(ids[-1])
    n_texts = len(sizes)
    none = np.zeros(n_texts, int)
    return Tokens(
        tuple(map(str, range(n_texts))),
        np.concatenate(ids),
        np.concatenate(units),
        np.cumsum([0, *map(len, ids)]),
        np.sort(sizes),
        none,
        none,
        frame,
    )


sizes = st.lists(st.integers(1, 90), min_size=1, max_size=5)
frames = st.sampled_from([(0, 0), (1, 0), (1, 1), (2, 1)])


@given(sizes, frames, st.integers(2, 40), st.data(), st.sampled_from([0.5, 1.0]))
def test_every_token_is_one_windows_own(sizes, frame, room, data, shared):
    stride = data.draw(st.integers(1, room - 1) | st.none())
    tokens = texts_of(sizes, frame)
    found = cut_into_windows(tokens, room + sum(frame), stride, shared)
    assert (np.diff(found.tokens.lengths) >= 0).all()
    seen = [[] for _ in sizes]
    for window in range(len(found.tokens)):
        text = int(found.text[window])
        ids = found.tokens.of(window)[0]
        front, behind = frame
        content = ids[front : len(ids) - behind]
        own = found.own[found.tokens.where(window)][front : len(ids) - behind]
        assert len(content) <= room
        assert (ids[:front] == -1).all()
        assert (ids[len(ids) - behind :] == -1).all()
        assert content.tolist() == list(range(content[0], content[-1] + 1))
        assert found.begin[window] == content[0]
        assert found.tokens.keys[window] == tokens.keys[text]
        seen[text] += content[own].tolist()
        later = content[own & (content >= room)]
        # To the left of what is new stands all that the window before had in common with this one.
        if len(later):
            least = room - (stride or room // 2)
            assert later[0] - content[0] >= (least if shared == 1.0 else least // 2)
    assert [sorted(tokens) for tokens in seen] == [list(range(n)) for n in np.sort(sizes)]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("context", "stride"),
    [(None, None), (20, 7), (12, 11), pytest.param(9, 1, marks=pytest.mark.slow)],
)
def test_a_causal_model_reads_as_a_loop_over_windows_does(gpt, context, stride):
    import torch

    found = token_log_probabilities(with_windows(gpt, context, stride), [LONG])
    ids = torch.as_tensor(gpt.tokenizer.encoded([LONG])[0].ids)
    room = context or gpt.limit
    step = stride or room // 2
    expected = []
    done = 1
    for begin in range(0, len(ids), step):
        with torch.inference_mode():
            some = ids[begin : begin + room]
            logs = gpt.module(input_ids=some[None]).logits[0].log_softmax(-1)
        expected += [float(logs[i - begin - 1, ids[i]]) for i in range(done, begin + len(some))]
        done = begin + len(some)
        if done == len(ids):
            break
    assert len(ids) > 2 * room
    assert found.log_probability == pytest.approx(expected, abs=CLOSE)
    assert found.position.tolist() == list(range(1, len(ids)))
    assert found.n_truncated.tolist() == [0]


@pytest.mark.torch
@pytest.mark.parametrize("plan", [MaskPlan("single"), MaskPlan(n_masks=3), MaskPlan("random", 1)])
def test_a_masked_model_reads_as_a_loop_over_windows_does(bert, plan):
    import torch

    room = 18
    step = 10
    text = LONG[:300]
    found = token_log_probabilities(with_windows(bert, room + 2, step), [text], plan)
    ids = bert.tokenizer.encoded([text])[0].ids
    n = len(ids) - 2
    key = checked_keys([text])[0]
    rows = []
    for copy, mask in enumerate(plan.masks(key, n)):
        shown = ids.copy()
        shown[mask + 1] = bert.mask_id
        for place in mask:
            # The first window whose middle of the overlap lies beyond the token, or the last one.
            last = -(-(n - room) // step)
            number = min(max(0, (place - (room - step) // 2) // step), last)
            begin = number * step
            window = np.r_[shown[0], shown[1 + begin : 1 + min(begin + room, n)], shown[-1]]
            with torch.inference_mode():
                logits = bert.module(input_ids=torch.as_tensor(window)[None]).logits[0]
            at = place + 1 - begin
            rows.append((copy, place, float(logits[at].log_softmax(-1)[ids[place + 1]])))
    copies, places, logs = zip(*rows, strict=True)
    assert found.copy.tolist() == list(copies)
    assert found.unit.tolist() == list(places)
    assert (found.position - 1).tolist() == list(places)
    assert found.log_probability == pytest.approx(logs, abs=CLOSE)


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["bert", "gpt"])
def test_texts_that_fit_are_scored_as_without_windows(kind, request, texts, tmp_path):
    model = request.getfixturevalue(kind)
    texts = [text for text in texts if " " in text]
    cut = token_log_probabilities(with_windows(model, stride=0), texts, run=tmp_path)
    kept = sorted(path.name for path in tmp_path.iterdir())
    for stride in (None, 1, 9):
        found = token_log_probabilities(with_windows(model, stride=stride), texts, run=tmp_path)
        for field in dataclasses.fields(found):
            ours = getattr(found, field.name)
            theirs = getattr(cut, field.name)
            assert np.array_equal(ours, theirs) if field.name != "further" else True
        assert {name: part.tobytes() for name, part in found.further.items()} == {
            name: part.tobytes() for name, part in cut.further.items()
        }
    # The same answers, found again: nothing about windows makes another run of them.
    assert sorted(path.name for path in tmp_path.iterdir()) == kept
    assert found.long_texts() == cut.long_texts() == ()


@pytest.mark.torch
def test_long_and_short_texts_beside_each_other(gpt, tmp_path):
    some = [LONG, "the patient was seen", LONG[:200], LONG]
    model = with_windows(gpt, 16)
    found = token_log_probabilities(model, some, run=tmp_path)
    for i, text in enumerate(some):
        alone = token_log_probabilities(model, [text])
        assert found.log_probability[found.rows(i)] == pytest.approx(
            alone.log_probability, abs=CLOSE
        )
        assert found.n_windows[i] == alone.n_windows[0]
    again = token_log_probabilities(model, some[::-1], run=tmp_path)
    assert np.array_equal(again.mean(), found.mean()[::-1])
    assert len(list(tmp_path.iterdir())) == 1
    n = int(found.n_windows[[0, 2, 3]].sum())
    assert found.long_texts() == (
        f"3 of 4 texts are longer than the model reads at once: they are read in {n} windows, "
        "100.0% of the tokens of all texts.",
    )


@pytest.mark.torch
def test_models_of_different_tokenizers_score_the_same_words_of_long_texts(folders, bert):
    from privacygauge.language.model import load_masked

    other = load_masked(folders("roberta"), windows=Windows(30))
    assert other.limit == 30
    found = pair_log_probabilities(bert, other, [LONG, "he denies fever"])
    a, b = (set(zip(x.text, x.copy, x.unit, strict=True)) for x in (found.target, found.reference))
    assert a == b
    assert found.target.units == "word"
    assert found.target.n_truncated.tolist() == [0, 0]
    assert (found.target.n_windows == [1, 1]).tolist() == [False, True]


@pytest.mark.torch
def test_windows_that_cannot_be(bert):
    for context, stride, message in (
        (20, 18, "stride must be from 1 to 17 tokens where windows hold 18 tokens of a text, got"),
        (3, 1, "context must leave room for two tokens of a text beside its frame, got 3"),
    ):
        with pytest.raises(InputError, match=message):
            token_log_probabilities(with_windows(bert, context, stride), [LONG])
    for given_, message in (((1, None), "context must be at least 2"), ((9, -1), "stride must")):
        with pytest.raises(InputError, match=message):
            Windows(*given_)
