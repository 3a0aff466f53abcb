"""What masked models fill in, against masking and asking step by step."""

import math

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.extraction import kept_written, suffix_likelihoods
from privacygauge.language.filling import by_identifier, hidden
from privacygauge.language.model_options import Writing
from privacygauge.language.scores import text_scores
from privacygauge.language.store import AnswerStore
from tests.language.tiny_models import made_texts

pytestmark = pytest.mark.torch
TEXTS = [text for text in made_texts(60, 6, least=5) if "3" in text][:12]
WAYS = [Writing(top_k=0), Writing(temperature=0.7, top_k=60), Writing(top_k=30)]


def spans_of(texts, first=2, words=3):
    """Return where some words of every text stand, (n, 2)."""
    found = []
    for text in texts:
        before = text.split()[:first]
        start = len(" ".join(before)) + bool(before)
        found.append((start, start + len(" ".join(text.split()[first : first + words]))))
    return np.array(found)


def step_by_step(model, before, after, behind, how):
    """Return the log-probability of `after`, of which one token is shown after another."""
    import torch

    total = 0.0
    leads = True
    for step, token in enumerate(after):
        ids = [*before, *after[:step], *[model.mask_id] * (len(after) - step), *behind]
        with torch.inference_mode():
            logits = model.module(input_ids=torch.tensor([ids])).logits[0, len(before) + step]
        logits = logits.double().numpy()
        kept = np.argsort(-logits)[: how.top_k or len(logits)]
        weights = np.exp((logits[kept] - logits[kept].max()) / how.temperature)
        place = np.flatnonzero(kept == token)
        total += math.log(weights[place[0]] / weights.sum()) if len(place) else -math.inf
        leads &= token == kept[0]
    return total, leads


@pytest.fixture(
    params=["bert", *(pytest.param(x, marks=pytest.mark.slow) for x in ("roberta", "electra"))]
)
def model(request, folders):
    from privacygauge.language.model import load_masked

    return load_masked(folders(request.param))


@pytest.mark.parametrize("how", WAYS)
def test_all_steps_at_once_are_those_one_by_one(model, how):
    spans = spans_of(TEXTS, words=1 if how.top_k else 3)
    [suffixes] = hidden(TEXTS, spans, [model])
    found = suffix_likelihoods(model, suffixes, how)
    for row, encoded in enumerate(model.tokenizer.encoded(TEXTS)):
        ids = encoded.ids.tolist()
        start = suffixes.start[row]
        stop = suffixes.stop[row]
        begins = encoded.spans[start][0]
        ends = encoded.spans[stop - 1][1]
        assert TEXTS[row][begins:ends].strip() == TEXTS[row][slice(*spans[row])]
        expected, leads = step_by_step(model, ids[:start], ids[start:stop], ids[stop:], how)
        assert found.log_probability[row] == pytest.approx(expected, abs=1e-3)
        assert found.verbatim[row] == leads
    assert np.isfinite(found.log_probability).any()
    assert np.isneginf(found.log_probability).any() == (how.top_k > 0)


@pytest.mark.slow
def test_a_long_text_is_read_around_what_is_hidden(bert):
    words = [f"{word}" for text in made_texts(20, 2, least=8) for word in text.split()]
    text = " ".join(words)
    starts = np.cumsum([0, *(len(word) + 1 for word in words)])[:-1]
    spans = np.array(
        [(start, start + len(word)) for start, word in zip(starts, words, strict=True)]
    )
    [suffixes] = hidden([text] * len(words), spans, [bert])
    [whole] = bert.tokenizer.encoded([text])
    assert (suffixes.tokens.lengths == bert.limit).all()
    content = whole.ids[~whole.framing].tolist()
    for row in range(len(words)):
        ids, _ = suffixes.tokens.of(row)
        assert [ids[0], ids[-1]] == whole.ids[whole.framing].tolist()
        before, after = suffixes.of(row)
        inside = (whole.spans[:, 0] < spans[row][1]) & (whole.spans[:, 1] > spans[row][0])
        expected = whole.ids[inside]
        assert after.tolist() == expected.tolist()
        inner = ids[1:-1].tolist()
        assert any(content[i : i + len(inner)] == inner for i in range(len(content)))
        if 40 < spans[row][0] < len(text) - 400:
            assert min(len(before), len(ids) - len(before) - len(after)) > 0


def test_a_span_is_answered_alone_as_among_others(bert, tmp_path):
    """Two spans of one text are two questions, kept apart."""
    texts = [*TEXTS, *TEXTS]
    spans = np.concatenate([spans_of(TEXTS), spans_of(TEXTS, 0, 1)])
    [suffixes] = hidden(texts, spans, [bert])
    together = kept_written(bert, suffixes, Writing(top_k=0), AnswerStore(tmp_path))
    for row in (0, 5, len(TEXTS), len(TEXTS) + 5):
        [alone] = hidden([texts[row]], spans[[row]], [bert])
        [found] = suffix_likelihoods(bert, alone, Writing(top_k=0)).log_probability
        assert found == pytest.approx(together.log_probability[row], abs=1e-4)
    again = kept_written(
        bert, suffixes.rows(np.arange(len(texts))[::-1]), Writing(top_k=0), AnswerStore(tmp_path)
    )
    assert again.log_probability.tolist() == together.log_probability[::-1].tolist()


def test_what_the_vocabulary_lacks_is_never_filled_in(bert):
    texts = ["the patient was given 月 today", "the patient was given aspirin today"]
    spans = np.array([(22, 23), (22, 29)])
    [suffixes] = hidden(texts, spans, [bert])
    ids = [suffixes.of(row)[1].tolist() for row in range(2)]
    assert ids[0] == [bert.tokenizer.unknown_id]
    found = suffix_likelihoods(bert, suffixes, Writing(top_k=0))
    assert np.isneginf(found.log_probability).tolist() == [True, False]
    assert not found.verbatim[0]


def test_each_identifier_of_its_own_is_a_row(bert):
    texts = ["Seen on 3 May 2021 by Anna Berg.", "Anna saw Anna 4 times.", "No more.", "Told 17."]
    scores = text_scores(list("abcd"), np.zeros(4), [1, 1, 0, 0], text=texts)
    rows, places = by_identifier(scores, [bert])
    found = {name: texts["abcd".index(name[0])][slice(*place)] for name, place in places.items()}
    assert list(found.values()) == ["3 May 2021", "Anna Berg", "4", "17"]
    assert rows.sample == tuple(found)
    assert rows.group == ("a", "a", "b", "d")
    assert rows.member.tolist() == [True, True, True, False]
    assert any("1 text(s) without an identifier" in note for note in rows.notes)
    none = text_scores(list("ab"), np.zeros(2), [1, 0], text=[texts[0], "No more."])
    with pytest.raises(InputError, match="got none in any non-member text"):
        by_identifier(none, [bert])
