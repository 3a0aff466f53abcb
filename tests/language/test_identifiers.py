"""Identifiers by their form: what is planted is found, what is none is not."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.filling import KINDS, identifiers, own_pattern

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
    ("name", "SMITH, JOHN"),
    ("date", "3. Mai 2021"),
    ("date", "2021/05/03"),
    ("date", "3 de mayo de 2021"),
    ("iban", "DE89 3704 0044 0532 0130 00"),
    ("iban", "GB29NWBK60161331926819"),
    ("code", "A1234567"),
    ("code", "SW1A 2AA"),
    ("code", "NHS-4857773456"),
    ("code", "ZZ 03 18 20 T"),
    ("code", "CSDVTI67S49A440Q"),
    ("code", "7032 BG"),
    ("phone", "+1-548-855-9097x76582"),
    ("phone", "855.317.1760x4522"),
    ("name", "Jacob van der Berg"),
    ("name", "Francisco da Mata"),
    ("name", "Ben 's Gravensande"),
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


def test_a_name_at_the_beginning_of_a_sentence_and_a_number_beside_other_letters():
    assert found("John Smith was seen. The patient left. Maria slept.") == [("name", "John Smith")]
    assert found("电话13812345678。") == [("number", "13812345678")]
    assert found("电话138 1234 5678请") == [("phone", "138 1234 5678")]
    assert found("于2021年5月3日入院") == [("date", "2021年5月3日")]


def test_identifiers_of_ones_own_come_first():
    own = own_pattern(["ward seven", "Anna Berg"], r"#[a-z]{3}\b")
    text = "In Ward Seven, Anna Berg had #abc."
    spans = [(x.kind, text[x.start : x.stop]) for x in identifiers(text, own)]
    assert spans == [("own", "Ward Seven"), ("own", "Anna Berg"), ("own", "#abc")]
    assert own_pattern([" "]) is None
    for pattern, message in (("(", "must be a regular expression"), ("x*", "the empty text")):
        with pytest.raises(InputError, match=message):
            own_pattern([], pattern)


@given(st.text(alphabet="aBc19 .-/@+()\nÉ", max_size=60))
def test_spans_are_in_order_and_apart(text):
    spans = identifiers(text)
    for span, after in pairwise(spans):
        assert span.stop <= after.start
    for span in spans:
        assert span.kind in KINDS
        assert text[span.start : span.stop].strip()
