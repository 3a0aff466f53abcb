import numpy as np
import pandas as pd
import pytest

from privacygauge.classifiers.attacked import without_own_rows
from privacygauge.classifiers.files import as_predictions
from privacygauge.classifiers.predictions import Predictions, blocks_of, predictions
from privacygauge.errors import InputError
from privacygauge.scores.table import Roles, as_scores
from tests.classifiers.made import logits_labels_member, softmax

GOOD = {"probs": [[0.5, 0.5], [0.9, 0.1]], "labels": [0, 1], "member": [1, 0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probs": None}, "either probs or logits, got neither"),
        ({"logits": [[1.0, 2.0], [1.0, 2.0]]}, "either probs or logits, got both"),
        ({"probs": [0.5, 0.5]}, r"probs must have the shape \(n, k\)"),
        ({"probs": [[1.0], [1.0]]}, "k >= 2 classes"),
        ({"probs": np.zeros((0, 2))}, "holds no rows"),
        ({"probs": [["a", "b"], ["c", "d"]]}, "must hold numbers"),
        ({"labels": [0]}, "labels must have 2 rows, got 1"),
        ({"labels": [0, 2]}, r"labels must be in 0..1 for 2 classes, got 2 in row 1"),
        ({"labels": [-1, 0]}, "got -1 in row 0"),
        ({"labels": [0.5, 1]}, "labels must be integers, got 0.5 in row 0"),
        ({"labels": [np.nan, 1]}, "labels must be integers, got nan"),
        ({"labels": ["a", "b"]}, "labels must be integers"),
        ({"member": [0, 0]}, "no members"),
        ({"member": [1, 1]}, "no non-members"),
        ({"member": [0, 2]}, "member must be true or false"),
        ({"probs": [[np.nan, 0.5], [0.9, 0.1]]}, "probs must be finite, got nan in row 0, class 0"),
        ({"probs": [[0.5, 0.5], [np.inf, 0.1]]}, "probs must be finite, got inf in row 1"),
        ({"probs": [[0.5, 0.4], [0.9, 0.1]]}, "sums to 0.9; they do not look like logits"),
        ({"probs": [[0.5, 0.5], [3.1, -0.2]]}, "these look like logits"),
        ({"ids": [1]}, "ids must have 2 rows"),
        ({"columns": {"ward": ["a"]}}, "column 'ward' must have 2 rows"),
    ],
)
def test_bad_input_is_named(change, message):
    with pytest.raises(InputError, match=message) as caught:
        predictions(**{**GOOD, **change})
    assert "\n" not in str(caught.value)


WRONG_ROWS = {
    "finite": ({"probs": [np.nan, 0.5]}, "probs must be finite, got nan in row {}, class 0"),
    "sums": ({"probs": [0.5, 0.4]}, "probs must sum to 1, row {} sums to 0.9;"),
    "outside": ({"probs": [3.1, -0.2]}, "probs must be in [0, 1], row {} runs from -0.2 to 3.1;"),
    "labels": ({"labels": 2}, "labels must be in 0..1 for 2 classes, got 2 in row {}"),
    "fractions": ({"labels": 0.5}, "labels must be integers, got 0.5 in row {}"),
    "member": ({"member": 2}, "member must be true or false (or 1 and 0), got 2 in row {}"),
}


@pytest.mark.parametrize(("change", "message"), WRONG_ROWS.values(), ids=WRONG_ROWS)
@pytest.mark.parametrize("row", [3, 40_000, 99_999])
def test_the_row_that_is_wrong_is_named_wherever_it_stands(change, message, row):
    n = 100_000
    rng = np.random.default_rng(0)
    given = {
        "probs": np.tile([0.4137, 0.5863], (n, 1)),
        "labels": rng.integers(0, 2, n).astype(float),
    }
    given["member"] = np.arange(n) % 2
    for name, value in change.items():
        given[name][row] = value
    with pytest.raises(InputError) as caught:
        predictions(**given)
    assert message.format(row) in str(caught.value)


def test_labels_and_members_of_any_number_type_are_taken():
    found = predictions(
        probs=GOOD["probs"], labels=[0.0, 1.0], member=np.array([[1], [0]], np.int8)
    )
    assert found.labels.dtype == np.int64
    assert found.member.tolist() == [True, False]
    assert found.ids.tolist() == [0, 1]


def test_nothing_given_can_be_changed_through_predictions():
    given = np.array(GOOD["probs"])
    found = predictions(probs=given, labels=[0, 1], member=[1, 0])
    assert given.flags.writeable
    for array in (found.values, found.labels, found.member, found.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_half_precision_may_be_a_little_off():
    logits, labels, member = logits_labels_member(k=100)
    predictions(probs=softmax(logits).astype(np.float16), labels=labels, member=member)


def test_blocks_cover_every_row_once_and_are_copies():
    values = np.arange(24.0).reshape(12, 2)
    for rows, block in blocks_of(values):
        assert np.array_equal(block, values[rows])
        block[:] = -1
    assert values.min() == 0


def numbered(seed: int, people: int | None = None, n: int = 600) -> Predictions:
    """Return answers about rows that are numbered 001, 002 and so on, the members first."""
    rng = np.random.default_rng(seed)
    of_people = rng if people is None else np.random.default_rng(people)
    labels = of_people.integers(3, size=n)
    hard = of_people.normal(size=n)
    member = np.arange(n) < n // 2
    logits = rng.normal(size=(n, 3))
    logits[np.arange(n), labels] += 1.5 + 1.5 * hard + member
    ids = [f"{i:04d}" for i in range(n)]
    return predictions(logits=logits, labels=labels, member=member, ids=ids)


def test_ids_that_number_the_rows_of_two_files_do_not_name_the_same_records():
    shadow, said = without_own_rows(numbered(0), numbered(1))
    assert len(shadow) == 600
    assert not said


def test_rows_of_one_number_are_the_same_records_where_answers_agree():
    target = numbered(0, people=7)
    shadow = numbered(1, people=7)
    with pytest.raises(InputError, match="600 of 600 shadow rows are about the target's own"):
        without_own_rows(target, shadow[np.random.default_rng(0).permutation(600)])


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("form", ["bytes", "floats", "table", "shares"])
def test_probabilities_of_a_quantised_model_are_read(k, form, tmp_path):
    """A model that answers with unsigned bytes: 255 is certainty."""
    rng = np.random.default_rng(k)
    p = rng.dirichlet(np.full(k, 0.5), 300)
    bytes_ = np.rint(255 * p).astype(np.uint8)
    labels = rng.integers(0, k, 300)
    member = np.arange(300) % 2 == 0
    columns = {f"p_{i}": bytes_[:, i] for i in range(k)}
    if form == "table":
        found = as_predictions(pd.DataFrame({**columns, "label": labels, "member": member}))
    else:
        values = {"bytes": bytes_, "floats": bytes_.astype(float), "shares": bytes_ / 255}[form]
        found = predictions(probs=values, labels=labels, member=member)
    np.testing.assert_allclose(found.values, bytes_ / 255, atol=1e-12)
    assert not found.logits
    assert any("bytes" in note for note in found.notes) == (form != "shares")


def test_columns_whose_indexes_are_in_another_order_are_refused():
    names = [f"p{i}" for i in range(6)]
    probs = pd.DataFrame(np.tile([0.25, 0.75], (6, 1)), index=names)
    member = np.arange(6) < 3
    labels = pd.Series([0, 1, 0, 1, 0, 1], index=names)
    found = predictions(probs=probs, labels=labels, member=member)
    assert found.labels.tolist() == labels.tolist()
    turned = labels[::-1]
    for given in (
        {"labels": turned, "member": member},
        {"labels": labels, "member": pd.Series(member, names[::-1])},
        {"labels": labels, "member": member, "unit": pd.Series(range(6), names[::-1])},
        {"labels": labels, "member": member, "columns": {"age": turned}},
    ):
        with pytest.raises(InputError, match="the same labels in another order: bring") as error:
            predictions(probs=probs, **given)
        assert "\n" not in str(error.value)
    # Of other labels, and as arrays, they go together by position.
    others = pd.Series(turned.to_numpy(), index=range(6))
    for by_position in (others, turned.to_numpy(), list(turned)):
        found = predictions(probs=probs, labels=by_position, member=member)
        assert found.labels.tolist() == turned.tolist()
    with pytest.raises(InputError, match="the indexes of score and member"):
        as_scores({"score": labels, "member": turned.astype(bool)}, "target", Roles())
