from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from privacygauge.core.transcript import Decisions, Transcript
from privacygauge.errors import InputError
from tests.laws.draws import decisions


def test_rows_are_targets_of_their_own_in_one_round_unless_told() -> None:
    transcript = Transcript([3.0, 1.0, 2.0], [1, 0, 1])
    assert transcript.target.tolist() == [0, 1, 2]
    assert transcript.round.tolist() == [0, 0, 0]
    assert not transcript.repeated
    assert Transcript([3.0, 1.0, 2.0], [1, 0, 1], [4, 9, 4]).repeated


def test_nothing_in_a_transcript_can_be_changed() -> None:
    score = np.array([3.0, 1.0])
    secret = np.array([True, False])
    target = np.array([5, 6])
    transcript = Transcript(score, secret, target)
    score[0], secret[0], target[0] = 0, False, 0
    assert transcript.score[0] == 3
    assert transcript.secret[0]
    assert transcript.target[0] == 5
    with pytest.raises(ValueError, match="read-only"):
        transcript.score[0] = 1.0


@given(decisions())
def test_counts_are_those_of_a_loop(guesses: Decisions) -> None:
    pairs = list(zip(guesses.guess.tolist(), guesses.secret.tolist(), strict=True))
    assert guesses.n_in == sum(secret for _, secret in pairs)
    assert guesses.n_out == sum(not secret for _, secret in pairs)
    assert guesses.true_positives == pairs.count((True, True))
    assert guesses.false_positives == pairs.count((True, False))
    assert len(guesses) == len(pairs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, np.nan], [1, 0]), "score must be finite, got nan in row 1"),
        (([1.0, 2.0], [1, 0, 1]), "secret must have 2 rows, got 3"),
        (([1.0, 2.0], [1, 2]), "secret must be true or false"),
        (([1.0, 2.0], [1, 0], [7]), "target must have 2 rows, got 1"),
        (([1.0, 2.0], [1, 0], [7, 8], [0]), "round must have 2 rows, got 1"),
        (([1.0, 2.0], [1, 1]), "both members and non-members are needed, got no non-members"),
        (([1.0, 2.0], [0, 0]), "both members and non-members are needed, got no members"),
        (([], []), "both members and non-members are needed, got no members"),
    ],
)
def test_a_bad_transcript_is_refused_with_the_reason(arguments, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Transcript(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 3], [1, 0]), "guess must be true or false"),
        (([1, 0], [1]), "secret must have 2 rows, got 1"),
        (([1, 0], [1, 0], [1, 2, 3]), "target must have 2 rows, got 3"),
        (([1, 0], [0, 0]), "both members and non-members are needed, got no members"),
    ],
)
def test_bad_decisions_are_refused_with_the_reason(arguments, message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        Decisions(*arguments)
