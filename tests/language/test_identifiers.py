"""Identifiers by their form: what is planted is found, what is none is not."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.language.filling import KINDS, identifiers

PLANTED = [
    ("date", "3 May 2021"),
    ("date", "May 3, 2021"),
    ("date", "2021-05-03"),
    ("date", "03/05/2021"),
    ("date", "3.5.21"),
    ("e-mail", "anna.berg+x@clinic.example.org"),
    ("phone", "030 123 4567"),
    ("phone", "+49 30 1234567"),
    ("phone", "(030) 1234567"),
    ("phone", "555-123-4567"),
    ("number", "4711"),
    ("number", "1,200.5"),
    ("name", "Anna Berg"),
    ("name", "Maria Lopez-Garcia"),
    ("name", "Élodie O'Brien"),
]


def found(text):
    return [(span.kind, text[span.start : span.stop]) for span in identifiers(text)]


@pytest.mark.parametrize(("kind", "words"), PLANTED)
def test_what_is_planted_is_found_within_a_sentence(kind, words):
    assert found(f"The patient was asked about {words}, and went home.") == [(kind, words)]


def test_words_that_are_no_identifiers():
    assert found("Seen today with pain in the left knee; aspirin. Home. An ECG was normal.") == []
    assert found("Seen by Dr. Jones. Prof. Maria Lopez agreed.") == [
        ("name", "Jones"),
        ("name", "Maria Lopez"),
    ]


@given(st.text(alphabet="aBc19 .-/@+()\nÉ", max_size=60))
def test_spans_are_in_order_and_apart(text):
    spans = identifiers(text)
    for span, after in pairwise(spans):
        assert span.stop <= after.start
    for span in spans:
        assert span.kind in KINDS
        assert text[span.start : span.stop].strip()
