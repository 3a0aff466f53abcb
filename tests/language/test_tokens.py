"""Units that several tokenizers agree on, with made-up ways to cut a text."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.tokens import EncodedText, tokens_of, word_units


class Cut:
    """A tokenizer that cuts at some places of every text, between two frame tokens or none."""

    unknown_id = 3

    def __init__(self, *places, framed=True):
        self.places = places
        self.framed = framed

    def encoded(self, texts):
        return [self._one(text) for text in texts]

    def _one(self, text):
        ends = sorted({0, len(text), *(place for place in self.places if place < len(text))})
        spans = list(itertools.pairwise(ends))
        # Blanks alone are no token to most tokenizers.
        spans = [span for span in spans if text[slice(*span)].strip()]
        ids = [int(hashlib.sha256(text[a:b].encode()).hexdigest()[:6], 16) + 9 for a, b in spans]
        framing = [False] * len(spans)
        if self.framed:
            spans = [(0, 0), *spans, (0, 0)]
            ids = [1, *ids, 2]
            framing = [True, *framing, True]
        return EncodedText(np.array(ids), np.array(framing, bool), np.array(spans).reshape(-1, 2))


texts = st.text("ab ,.", min_size=1, max_size=20).filter(str.strip)
places = st.lists(st.integers(1, 19), max_size=12)


@given(texts, places, places)
def test_units_are_whole_tokens_to_both(text, first, second):
    found = [Cut(*where)._one(text) for where in (first, second)]
    units = word_units(text, found)
    assert units[0].max() == units[1].max()
    for encoded, its in zip(found, units, strict=True):
        assert set(its[its >= 0].tolist()) == set(range(its.max() + 1))
        assert (np.diff(its[its >= 0]) >= 0).all()
        assert (its[encoded.framing] == -1).all()
    # Nothing but blanks lies between where a unit begins, or ends, to one and to the other.
    for unit in range(units[0].max() + 1):
        parts = [
            "".join(text[a:b] for a, b in encoded.spans[its == unit]).strip()
            for encoded, its in zip(found, units, strict=True)
        ]
        assert "".join(parts[0].split()) == "".join(parts[1].split())


def test_words_of_an_example():
    text = "the knee's pain"
    # One cuts "kn|ee", the other takes "'s" as one token: three marks become one unit less.
    a = Cut(3, 4, 6, 8, 9, 10, 11)
    b = Cut(3, 8, 10)
    units = word_units(text, [tokenizer._one(text) for tokenizer in (a, b)])
    assert units[0].tolist() == [-1, 0, 1, 1, 2, 2, 3, -1]
    assert units[1].tolist() == [-1, 0, 1, 2, 3, -1]


def test_what_one_cannot_see_is_scored_by_neither():
    class Deaf(Cut):
        def _one(self, text):
            whole = super()._one(text)
            kept = np.array([text[a:b].strip() != "zz" for a, b in whole.spans])
            return EncodedText(whole.ids[kept], whole.framing[kept], whole.spans[kept])

    text = "a zz b"
    units = word_units(text, [Cut(1, 2, 4)._one(text), Deaf(1, 2, 4)._one(text)])
    assert units[0].tolist() == [-1, 0, -1, 1, -1]
    assert units[1].tolist() == [-1, 0, 1, -1]


@given(texts, places, st.integers(3, 20), st.integers(3, 20))
def test_equal_tokens_are_cut_off_at_the_smaller_limit(text, where, first, second):
    tokenizers = [Cut(*where), Cut(*where)]
    (a, b), unit = tokens_of([text], tokenizers, [first, second], "token")
    n = len(tokenizers[0]._one(text).ids) - 2
    assert unit == "token"
    assert a.n_units[0] == b.n_units[0] == min(n, first - 2, second - 2)
    assert a.n_truncated[0] == n - a.n_units[0]
    assert a.ids.tolist() == b.ids.tolist()
    assert a.ids[[0, -1]].tolist() == [1, 2]


@given(texts, places, places, st.integers(4, 12))
def test_words_are_cut_off_at_the_same_word(text, first, second, limit):
    try:
        (a, b), _ = tokens_of([text], [Cut(*first), Cut(*second)], [limit, 64], "word")
    except InputError:
        # The first word alone, or no word at all, is more than fits.
        return
    assert a.n_units[0] == b.n_units[0] == a.units.max() + 1 == b.units.max() + 1
    assert len(a.ids) <= limit
    whole = word_units(text, [Cut(*where)._one(text) for where in (first, second)])
    for its, tokens in zip(whole, (a, b), strict=True):
        for unit in range(int(a.n_units[0])):
            assert np.count_nonzero(its == unit) == np.count_nonzero(tokens.units == unit)


def test_tokens_that_differ_in_one_text_are_words_in_all():
    tokens, unit = tokens_of(["ab a", "abab"], [Cut(2), Cut(2, 3)], [64, 64], "token")
    assert unit == "word"
    assert [its.n_units.tolist() for its in tokens] == [[2, 1], [2, 1]]
    _, unit = tokens_of(["ab a"], [Cut(2), Cut(2)], [64, 64], "token")
    assert unit == "token"


def test_a_frame_of_another_kind_is_no_difference():
    tokens, unit = tokens_of(["ab a"], [Cut(2), Cut(2, framed=False)], [64, 64], "token")
    assert unit == "token"
    assert [len(its.ids) for its in tokens] == [4, 2]


def test_keys_are_those_of_the_texts():
    (tokens,), _ = tokens_of(["ab a", "é"], [Cut(2)], [64], "token")
    assert tokens.keys[1] == hashlib.sha256("é".encode()).hexdigest()
    assert tokens.rows(np.array([1, 0])).keys == tokens.keys[::-1]
    assert tokens.rows(np.array([1, 0])).sha256 != tokens.sha256
    with pytest.raises(InputError, match="every text must have at least one word to score, got no"):
        tokens_of([" "], [Cut()], [64], "word")
