"""Systems that answer prompts: an index that is quoted leaks, one that is summarised does not."""

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.answers import audit_answers, in_common
from tests.language.tiny_models import made_texts

TEXTS = made_texts(240, 17, least=12, most=24)
INDEX = TEXTS[:120]
OTHERS = TEXTS[120:]


def quoting(prompt):
    """Answer with the passage of the index that has most words in common, as retrieval does."""
    shown = set(prompt.split("\n", 1)[1].split())
    return max(INDEX, key=lambda text: len(shown & set(text.split())) / len(set(text.split())))


def test_an_index_that_is_quoted_leaks():
    found = audit_answers(quoting, INDEX, OTHERS)
    assert found.leaks
    assert found.verbatim.members.low > 0.7
    assert found.verbatim.others.value < 0.1
    assert "tell texts in the index" in found.summary()
    assert len(found.to_frame()) == len(found.member)


def test_answers_that_do_not_look_at_the_index_are_no_leak():
    rng = np.random.default_rng(0)
    found = audit_answers(lambda _: rng.choice(["Yes.", "No."]), INDEX, OTHERS)
    assert not found.leaks
    assert found.summary().startswith("Nothing found; an AUC of 0.")


def test_false_alarms_of_answers_without_an_index():
    n = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(TEXTS))
        inside = [TEXTS[i] for i in order[:60]]
        outside = [TEXTS[i] for i in order[60:120]]
        answers = iter(rng.permutation(TEXTS).tolist() * 2)
        n += audit_answers(lambda _, given=answers: next(given), inside, outside).leaks
    assert n <= 6  # two are expected at most; more than six come once in two hundred


def test_a_system_that_says_what_it_has_leaks():
    def says(prompt):
        return "Yes, it is." if prompt.split("\n", 1)[1] in INDEX else "I cannot tell."

    found = audit_answers(says, INDEX, OTHERS)
    assert found.leaks
    assert found.membership.value == pytest.approx(1.0)
    assert found.returned.value == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"prompt": "say on"}, r"prompt must hold \{beginning\}"),
        ({"question": "have you?"}, r"question must hold \{text\}"),
        ({"ask": lambda _: None}, "ask must return a text, got NoneType"),
        ({"members": ["too short"]}, "both sides need texts of at least 8 words"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(change, message):
    given = {"ask": quoting, "members": INDEX, "nonmembers": OTHERS, **change}
    with pytest.raises(InputError, match=message):
        audit_answers(**given)


def test_what_two_sequences_have_in_common():
    assert in_common([], []) == (0, 0.0)
    assert in_common(list("abc"), list("abc")) == (3, 1.0)
    assert in_common(list("abc"), list("xyz")) == (0, 0.0)
