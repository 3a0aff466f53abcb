"""Predictions and models as people have them: handled, or refused with a way out that works."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.classifiers.files import as_pool, as_predictions, load_predictions
from privacygauge.classifiers.known import _forms
from privacygauge.classifiers.predictions import predictions, rounding_of
from privacygauge.errors import InputError

N = 300


def confident(k=3, n=N, seed=0, accuracy=2.0):
    """Return probabilities (n, k) of a model that knows its classes, true classes and members."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    z = rng.normal(size=(n, k)) + accuracy * np.eye(k)[y]
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    return p, y, rng.random(n) < 0.5


def table(values, labels, member, stem="p", names=None):
    names = range(values.shape[1]) if names is None else names
    columns = {f"{stem}_{c}": values[:, i] for i, c in enumerate(names)}
    return pd.DataFrame({**columns, "label": labels, "member": member})


# Rounded.


@given(st.integers(3, 60), st.integers(2, 4), st.booleans())
def test_rounded_probabilities_are_taken_as_they_are(k, digits, percent):
    p, y, member = confident(k, n=100)
    rounded = np.round(p, digits)
    found = as_predictions(table(np.round(100 * rounded, 6) if percent else rounded, y, member))
    np.testing.assert_allclose(found.values, rounded, atol=1e-9)


def test_rows_of_three_rounded_classes_may_sum_to_1_01():
    p = np.array([[0.335, 0.335, 0.33], [0.2, 0.3, 0.5], [0.125, 0.125, 0.75]] * 20)
    p = np.floor(p * 100 + 0.5) / 100
    assert p.sum(axis=1).max() == pytest.approx(1.01)
    member = np.arange(60) % 2 == 0
    for dtype in (np.float64, np.float32):
        found = predictions(probs=p.astype(dtype), labels=np.arange(60) % 3, member=member)
        assert len(found) == 60
    whole = as_predictions(table(np.round(p * 100).astype(int), np.arange(60) % 3, member))
    np.testing.assert_allclose(whole.values, p, atol=1e-12)


@given(st.integers(2, 40), st.integers(0, 1000))
def test_what_several_labels_have_is_no_rounding(k, seed):
    rng = np.random.default_rng(seed)
    assert rounding_of(np.round(rng.random((100, k)), 2)) == 0.0
    assert rounding_of((rng.random((100, k)) < 0.3).astype(float)) == 0.0


def test_two_classes_that_do_not_sum_to_1_are_refused():
    rng = np.random.default_rng(0)
    p = np.round(rng.random((50, 2)), 2)
    with pytest.raises(InputError, match="sum to 1"):
        predictions(probs=p, labels=np.arange(50) % 2, member=np.arange(50) % 3 == 0)


# The largest only.


def of_top(p, number):
    order = np.argsort(-p, axis=1)[:, :number]
    return order, np.take_along_axis(p, order, axis=1)


def filled(p, number):
    """Return what lists of the largest are read as."""
    order, top = of_top(p, number)
    rest = (1 - top.sum(axis=1, keepdims=True)) / (p.shape[1] - number)
    found = np.repeat(rest, p.shape[1], axis=1)
    np.put_along_axis(found, order, top, axis=1)
    return found


NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])


@pytest.mark.parametrize("texts", [False, True])
@pytest.mark.parametrize(
    "form", ["columns", "lists", "arrays", "pairs", "objects", "gaps", "zeros"]
)
def test_lists_of_the_largest_probabilities(form, texts, tmp_path):
    p, y, member = confident(6, accuracy=3.0)
    number = 3
    order, top = of_top(p, number)
    known = NAMES if texts else np.arange(6)
    label = known[y]
    beside = {"label": label, "member": member}
    if form == "columns":
        columns = {f"top_{j + 1}_class": known[order[:, j]] for j in range(number)}
        columns |= {f"top_{j + 1}_prob": top[:, j] for j in range(number)}
        given_as = pd.DataFrame({**columns, **beside})
        given_as.to_csv(tmp_path / "top.csv", index=False)
        found = load_predictions(tmp_path / "top.csv")
    elif form == "arrays":
        found = as_predictions(
            {"probs": top, "classes": known[order], "labels": label, "member": member}
        )
    elif form in ("gaps", "zeros"):
        holes = np.full_like(p, np.nan if form == "gaps" else 0.0)
        np.put_along_axis(holes, order, top, axis=1)
        found = as_predictions(table(holes, label, member, names=known))
    else:
        rows = []
        for i in range(N):
            own = known[order[i]].tolist()
            row = {"label": label[i].item() if not texts else str(label[i]),
                   "member": bool(member[i])}  # fmt: skip
            if form == "lists":
                row |= {"classes": own, "probs": top[i].tolist()}
            elif form == "objects":
                row["probs"] = {str(c): q for c, q in zip(own, top[i].tolist(), strict=True)}
            else:
                row["predictions"] = [
                    {"label": c, "score": q} for c, q in zip(own, top[i].tolist(), strict=True)
                ]
            rows.append(json.dumps(row))
        (tmp_path / "top.jsonl").write_text("\n".join(rows))
        found = load_predictions(tmp_path / "top.jsonl")
    np.testing.assert_array_equal(found.labels, y)
    own = filled(p, number)
    # Where an equal share were above what is listed, the rest is a class of its own.
    plain = own.max(axis=1) <= top.max(axis=1) + 1e-12
    assert (found.values[:, :6].argmax(axis=1) == p.argmax(axis=1)).all()
    same = (1 - top.sum(axis=1)) / 3 <= top[:, -1]
    np.testing.assert_allclose(found.values[same & plain][:, :6], own[same & plain], atol=1e-9)
    assert any("at most 3 of " in note for note in found.notes)


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("hole", [0.0, np.nan])
@pytest.mark.parametrize("whole", [1.0, 100.0])
def test_arrays_of_the_largest_probabilities_are_read_as_tables_are(number, hole, whole, tmp_path):
    p, y, member = confident(6, accuracy=3.0)
    order, top = of_top(p, number)
    holes = np.full_like(p, hole)
    np.put_along_axis(holes, order, whole * top, axis=1)
    beside = {"labels": y, "member": member}
    np.savez(tmp_path / "top.npz", probs=holes, **beside)
    of_table = as_predictions(table(holes, y, member))
    views = np.stack([holes, holes], axis=1)
    read = [
        predictions(probs=holes, **beside),
        predictions(probs=holes.astype(np.float32), **beside),
        predictions(probs=views, **beside),
        as_predictions({"probs": holes, **beside}),
        as_predictions({"predictions": holes, **beside}),
        as_predictions({"probs": views, **beside}),
        as_predictions(pd.DataFrame({"probs": holes.tolist(), "label": y, "member": member})),
        load_predictions(tmp_path / "top.npz"),
    ]
    for found in read:
        np.testing.assert_allclose(found.values, of_table.values, atol=1e-6)
        np.testing.assert_allclose(found.values, filled(p, number), atol=1e-6)
        (note,) = [note for note in found.notes if "missing to 1 equally" in note]
        assert f"at most {number} of 6 classes" in note
    np.testing.assert_allclose(read[5].answers[:, 1], of_table.values)
    pool = as_pool({"probs": np.stack([holes] * 2), "labels": y, "member": [member, ~member]})
    np.testing.assert_allclose(pool.values[1], of_table.values)


@pytest.mark.parametrize("places", [1, 2, 3])
def test_votes_that_share_the_last_place_of_a_list_are_listed_all(places):
    """A forest of 20 trees: a service lists every class that has as many votes as the last."""
    rng = np.random.default_rng(places)
    p = rng.multinomial(20, [0.4, 0.25, 0.15, 0.1, 0.06, 0.04], size=N) / 20
    listed = p >= np.maximum(np.sort(p, axis=1)[:, [-places]], 0.05)
    assert (listed.sum(axis=1) > places).mean() > 0.05
    y, member = rng.integers(0, 6, N), np.arange(N) % 2 == 0
    found = predictions(probs=np.where(listed, p, 0), labels=y, member=member)
    rest = 1 - np.where(listed, p, 0).sum(axis=1)
    assert any("missing to 1 equally" in note for note in found.notes)
    np.testing.assert_allclose(found.values[listed], p[listed], atol=1e-12)
    # No class that is not listed has more than the last one that is.
    assert (found.values <= np.sort(p, axis=1)[:, [-places]] + 1e-12)[~listed].all()
    assert rest.max() > 0.1


def test_probabilities_below_a_threshold_are_not_to_be_divided_by_a_sum():
    p, y, member = confident(6)
    with pytest.raises(InputError, match="holds zeros: if small probabilities were left out, save"):
        predictions(probs=np.where(p < 0.1, 0, p), labels=y, member=member)
    with pytest.raises(InputError, match=r"runs from .* sums to 100: divide percentages by 100"):
        predictions(probs=100 * p, labels=y, member=member)


def test_lists_that_cannot_be_right_are_refused():
    base = {"label": [0, 1] * 20, "member": [True, True, False, False] * 10}
    columns = {"top_1_class": [0, 1] * 20, "top_1_prob": [0.9] * 40}
    with pytest.raises(InputError, match="needs its probability"):
        as_predictions(pd.DataFrame({**base, **columns, "top_2_class": [1, 0] * 20}))
    both = {"top_2_class": [0, 1] * 20, "top_2_prob": [0.1] * 40}
    with pytest.raises(InputError, match="row 0 lists a class twice"):
        as_predictions(pd.DataFrame({**base, **columns, **both}))
    both = {"top_2_class": [1, 0] * 20, "top_2_prob": [0.3] * 40}
    with pytest.raises(InputError, match=r"sum to at most 1, got 1\.2 in row 0"):
        as_predictions(pd.DataFrame({**base, **columns, **both}))


# The order of classes.

LEVELS = np.array(["low", "mid", "high"])


@pytest.mark.parametrize("kind", ["p", "z"])
def test_text_labels_are_numbered_as_the_predictions_show(kind):
    p, y, member = confident()
    given_as = table(p if kind == "p" else np.log(p), LEVELS[y], member, stem=kind)
    found = as_predictions(given_as)
    np.testing.assert_array_equal(found.labels, y)
    assert found.classes == ("low", "mid", "high")
    assert any("not in alphabetical order, but as the predictions show" in x for x in found.notes)
    # A rare class, and one that is never predicted.
    rare = np.flatnonzero((y != 2) | (np.arange(N) % 6 == 0))
    assert as_predictions(given_as.iloc[rare]).classes == ("low", "mid", "high")


@pytest.mark.parametrize("seed", range(10))
def test_where_the_predictions_do_not_show_it_the_user_is_asked(seed, tmp_path):
    p, y, member = confident(seed=seed, accuracy=0.0)
    given_as = table(p, LEVELS[y], member)
    with pytest.raises(InputError, match="--classes high,low,mid in the order of the columns"):
        as_predictions(given_as, "t")
    given_as.to_csv(tmp_path / "t.csv", index=False)
    found = load_predictions(tmp_path / "t.csv", classes=["low", "mid", "high"])
    np.testing.assert_array_equal(found.labels, y)
    renamed = given_as.rename(columns={f"p_{i}": f"p_{c}" for i, c in enumerate(LEVELS)})
    found = as_predictions(renamed)
    np.testing.assert_array_equal(np.array(found.classes)[found.labels], LEVELS[y])
    with pytest.raises(InputError, match="--classes must name the 3 classes"):
        load_predictions(tmp_path / "t.csv", classes=["low", "high"])


def test_an_order_that_the_predictions_contradict_is_said(tmp_path):
    p, y, member = confident()
    given_as = table(p, LEVELS[y], member)
    wrong = as_predictions(given_as, classes=["mid", "low", "high"])
    assert any("but the predictions show low, mid, high" in note for note in wrong.notes)
    right = as_predictions(given_as, classes=["low", "mid", "high"])
    assert right.notes == ()
    assert as_predictions(given_as, classes=["3"]).classes == ("low", "mid", "high")
    with pytest.raises(InputError, match="of 3 classes, not of 4"):
        as_predictions(given_as, classes=["4"])


def test_one_column_of_two_text_classes():
    p, y, member = confident(2)
    for names in (["well", "ill"], ["ill", "well"]):
        given_as = pd.DataFrame({"p": p[:, 1], "label": np.array(names)[y], "member": member})
        found = as_predictions(given_as)
        np.testing.assert_array_equal(found.labels, y)
        np.testing.assert_allclose(found.values, p)
    asked = as_predictions(given_as, classes=["ill", "well"])
    np.testing.assert_array_equal(asked.labels, y)


def test_a_pool_is_numbered_as_it_shows():
    p, y, _ = confident()
    member = np.random.default_rng(1).random((2, N)) < 0.5
    pool = {"probs": np.stack([p, p]), "labels": LEVELS[y], "member": member}
    np.testing.assert_array_equal(as_pool(pool).labels, y)
    given_as = {**pool, "probs": pool["probs"][..., [2, 0, 1]]}
    names = ["high", "low", "mid"]
    np.testing.assert_array_equal(as_pool(given_as, classes=names).labels, (y + 1) % 3)


# Probabilities as logits, and the other way round.


def test_logits_that_are_probabilities_are_read_as_such_and_a_note_says_so():
    p, y, member = confident()
    found = predictions(logits=p, labels=y, member=member)
    assert not found.logits
    assert "the logits are probabilities" in found.notes[0]
    found = as_predictions(table(p, y, member, stem="z"), "t")
    assert not found.logits
    assert any("the logits are probabilities" in note for note in found.notes)
    with pytest.raises(InputError, match="save them under the key probs"):
        as_pool({"logits": p[None], "labels": y, "member": member[None]})
    p, y, member = confident(2)
    one = as_predictions(pd.DataFrame({"z": p[:, 1], "label": y, "member": member}))
    assert not one.logits
    np.testing.assert_allclose(one.values, p)
    assert any("not as its log-odds: all are in [0, 1]" in note for note in one.notes)


@given(st.integers(2, 20), st.integers(0, 100))
def test_logits_are_never_taken_for_probabilities(k, seed):
    z = np.random.default_rng(seed).normal(size=(30, k))
    y = np.arange(30) % k
    assert predictions(logits=z, labels=y, member=np.arange(30) % 2 == 0).logits
    with pytest.raises(InputError, match="look like logits"):
        predictions(probs=z, labels=y, member=np.arange(30) % 2 == 0)


# Columns that occur twice.


def test_a_column_that_occurs_twice_is_refused(tmp_path):
    p, y, member = confident(2)
    frame = table(p, y, member)
    twice = pd.concat([frame, frame[["p_0"]]], axis=1)
    with pytest.raises(InputError, match="column 'p_0' occurs twice"):
        as_predictions(twice)
    twice.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=r"t\.csv: column 'p_0' occurs twice"):
        load_predictions(tmp_path / "t.csv")
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = [pyarrow.array(twice.iloc[:, i]) for i in range(twice.shape[1])]
    both = pyarrow.Table.from_arrays(columns, names=list(twice.columns))
    parquet.write_table(both, tmp_path / "t.parquet")
    with pytest.raises(InputError, match="occurs twice"):
        load_predictions(tmp_path / "t.parquet")
    (tmp_path / "t.jsonl").write_text('{"p": 0.5, "label": 1, "member": 1, "label": 0}\n')
    with pytest.raises(InputError, match=r"line 1 has the key 'label' twice"):
        load_predictions(tmp_path / "t.jsonl")


def test_digits_of_the_smallest_numbers_are_told_without_a_warning():
    """Naive Bayes says 5e-324, which is no number times a power of ten that a float holds."""
    smallest = np.array([5e-324, 1e-310, 1e-300, 0.25])
    assert len(_forms(smallest)) == len(_forms(smallest[:2])) == len(_forms(smallest[2:]))


@pytest.mark.parametrize("digits", [2, 3])
def test_many_classes_that_are_rounded_to_0_leave_a_row_below_1(digits):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 50))
    y = rng.integers(50, size=300)
    z[np.arange(300), y] += 8
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    rounded = np.round(p, digits)
    assert np.abs(rounded.sum(axis=1) - 1).max() > 0.005
    found = predictions(probs=rounded, labels=y, member=np.arange(300) % 2 == 0)
    assert (found.values.argmax(axis=1) == p.argmax(axis=1)).all()
