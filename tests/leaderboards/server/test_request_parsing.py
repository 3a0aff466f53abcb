"""What arrives is read with a limit, and turned into labels or one line."""

from __future__ import annotations

import asyncio
import json
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.leaderboards.metrics import ACCURACY
from privacygauge.leaderboards.server import request_parsing
from privacygauge.leaderboards.server.request_parsing import (
    CSV,
    JSON,
    NPY,
    PLAIN,
    BodyError,
    Form,
    check_head,
    labels_in,
    largest_body,
    read_body,
    receive_body,
)
from tests.leaderboards.server.serving import npy

N = 4
M = 3


@given(st.lists(st.integers(0, M - 1), min_size=N, max_size=N))
def test_every_form_holds_the_same_labels(labels):
    forms = [(json.dumps(labels).encode(), JSON), (json.dumps(labels, indent=8).encode(), JSON)]
    forms += [(npy(np.array(labels, kind)), NPY) for kind in ("<i8", ">i4", "u1", "f8")]
    for body, kind in forms:
        assert ACCURACY.submission(labels_in(body, kind), N, M).tolist() == labels
        assert len(body) <= largest_body(N, M)


@pytest.mark.parametrize("n_classes", [2, 10, 1_000, 10**9])
def test_the_limit_holds_every_honest_form(n_classes):
    labels = np.full(10_000, n_classes - 1)
    assert len(npy(labels)) <= largest_body(10_000, n_classes)
    assert len(json.dumps(labels.tolist(), indent=4)) <= largest_body(10_000, n_classes)


@pytest.mark.parametrize("classes", [["caf\u00e9", "\u732b"], ["a", "b"], ['"quoted"', "\n"]])
def test_the_limit_holds_names_of_classes_that_json_escapes(classes):
    labels = [classes[i % 2] for i in range(2_000)]
    most = largest_body(2_000, 2, classes=classes)
    assert len(json.dumps(labels, indent=4)) <= most
    assert len(json.dumps(labels, indent=4, ensure_ascii=False).encode()) <= most
    rows = [{"id": f"\u00e9{i}", "label": label} for i, label in enumerate(labels)]
    text = "id,label\n" + "\n".join(f"{row['id']},{row['label']}" for row in rows)
    assert len(text.encode()) <= largest_body(
        2_000, 2, classes=classes, ids=[row["id"] for row in rows]
    )


def told(body, kind) -> str:
    """Return what is said of a body: nothing else than labels and an InputError may come out."""
    try:
        labels = ACCURACY.submission(labels_in(body, kind), N, M)
    except InputError as error:
        return str(error)
    return str(labels.tolist())


JUNK = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=2), inner),
)


@pytest.mark.slow
@given(JUNK.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=200))
def test_junk_is_told_in_one_line(body):
    for kind in (JSON, NPY):
        assert told(body, kind).count("\n") == 0


@given(st.data())
def test_damaged_npy_files_are_told_in_one_line(data):
    body = bytearray(npy(np.zeros(N, np.int64)))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, 127))] = data.draw(st.integers(0, 255))
    assert told(bytes(body), NPY).count("\n") == 0


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        (b"", JSON, "the body must be JSON: a list of integers"),
        (b"[" * 100_000, JSON, "the body must be JSON"),
        (b"[1" + b"0" * 5_000 + b"]", JSON, "the body must be JSON"),
        (b'{"labels": [0]}', JSON, "a JSON list of integers, got an object"),
        (b"[0, NaN, 1, 1]", JSON, "labels must be integers, got nan in row 1"),
        (b"[0, -Infinity, 1, 1]", JSON, "labels must be integers, got -inf in row 1"),
        (b"[0, 1e999, 1, 1]", JSON, "labels must be integers, got inf in row 1"),
        (b"[0, null, 1, 1]", JSON, "labels must be integers, got null in row 1"),
        (b"[0, true, 1, 1]", JSON, "labels must be integers, got true or false in row 1"),
        (b'[0, "1", 1, 1]', JSON, "labels must be integers, got a text in row 1"),
        (b"", NPY, "an array as numpy.save writes it"),
        (npy(np.array([0, 1], object)), NPY, "an array of integers of shape"),
        (npy(np.zeros((2, 2), int)), NPY, r"shape \(n,\), got shape \(2, 2\)"),
        (npy(np.zeros(N, complex)), NPY, "an array of integers"),
        (npy(np.zeros(N, int)) + b"0", NPY, "must hold the 4 labels that its head promises"),
        (npy(np.zeros(9, int)).replace(b"(9,)", b"(10**9,)"), NPY, "numpy.save"),
        (npy(np.zeros(9, int)).replace(b"(9,), }   ", b"(9999999,), }"), NPY, "9999999 labels"),
    ],
)
def test_what_is_told(body, kind, said):
    with pytest.raises(InputError, match=said):
        ACCURACY.submission(labels_in(body, kind), N, M)


async def parts_of(*parts, pause=0.0):
    for part in parts:
        await asyncio.sleep(pause)
        yield part


def test_bodies_are_counted_while_they_arrive():
    assert asyncio.run(read_body(parts_of(b"12", b"3"), 3, 1)) == b"123"
    with pytest.raises(BodyError, match="at most 3 bytes") as caught:
        asyncio.run(read_body(parts_of(b"12", b"34"), 3, 1))
    assert caught.value.status == 413
    with pytest.raises(BodyError, match=r"within 0\.05 seconds") as caught:
        asyncio.run(read_body(parts_of(b"1", b"2", pause=0.04), 3, 0.05))
    assert caught.value.status == 408


def test_a_long_body_waits_on_the_disk_and_a_full_disk_is_told(monkeypatch):
    long = b"0" * (request_parsing._IN_MEMORY + 1)
    with asyncio.run(receive_body(parts_of(long), len(long), 9)) as file:
        assert file._rolled
        assert file.read() == long

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.SpooledTemporaryFile.rollover", full)
    with pytest.raises(BodyError, match="has no room for the body") as caught:
        asyncio.run(receive_body(parts_of(long), len(long), 9))
    assert caught.value.status == 503


@pytest.mark.parametrize(
    ("kind", "length", "status"),
    [(None, None, 415), ("text/plain", "1", 415), (JSON, "11", 413), (NPY, "9" * 5_000, 413)],
)
def test_heads_that_are_refused(kind, length, status):
    with pytest.raises(BodyError) as caught:
        check_head(kind, length, 10)
    assert caught.value.status == status


def test_heads_that_are_taken():
    assert check_head("Application/JSON; charset=utf-8", None, 10) == JSON
    assert check_head(NPY, "10", 10) == NPY
    assert check_head(NPY, "ten", 10) == NPY


CELLS = st.sampled_from(["0", "1", "2", " 1", "1.0", "1e0", "+1", '"2"', "", "x", "nan", "inf"])
IDS = st.sampled_from(["0", "1", "2", "3", " 3", "03", "4", "-1", "1.0", "a", '"b"', "", "\u00e9"])


@given(
    st.lists(st.tuples(IDS, CELLS), max_size=5),
    st.sampled_from(["\n", "\r\n", "\n\n"]),
    st.sampled_from(["", "\n", ",1\n", "\ufeff"]),
    st.sampled_from([None, ("a", "b", "3"), ("0", "1", "2", "3")]),
    st.sampled_from([None, ("0", "1", "x")]),
    st.sampled_from(",;\t"),
)
def test_what_is_read_quickly_is_what_is_read_slowly(rows, between, end, ids, classes, sign):
    body = between.join([f"id{sign}label", *map(sign.join, rows)]) + end
    form = Form(ids=ids, classes=classes)
    found = []
    for quickly in (request_parsing._read_quickly, lambda *_, **__: None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(request_parsing, "_read_quickly", quickly)
            try:
                found.append(labels_in(body.encode(), CSV, form).tolist())
            except InputError as error:
                found.append(str(error))
    assert found[0] == found[1]


@pytest.mark.parametrize("ids", [None, tuple(f"img_{i}" for i in range(1_000))])
def test_a_plain_table_is_read_quickly(ids, monkeypatch):
    order = np.random.default_rng(0).permutation(1_000)
    names = range(1_000) if ids is None else ids
    lines = "\n".join(f"{names[i]},{i % 7}" for i in order)
    monkeypatch.setattr(request_parsing, "_places", None)
    found = labels_in(f"id,label\n{lines}\n".encode(), CSV, Form(ids=ids))
    assert found.tolist() == [i % 7 for i in range(1_000)]


@pytest.mark.parametrize("sign", [",", ";", "\t"])
@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_table_of_a_spreadsheet_program_is_read(sign, coding):
    """With semicolons numbers have decimal commas."""
    rows = [("b", 0.25), ("a", 1.5)]
    numbers = [f"{x}".replace(".", "." if sign == "," else ",") for _, x in rows]
    text = f"id{sign}label\r\n" + "".join(
        f"{name}{sign}{number}\r\n" for (name, _), number in zip(rows, numbers, strict=True)
    )
    form = Form(ids=("a", "b"))
    assert np.ravel(labels_in(text.encode(coding), CSV, form)).tolist() == [1.5, 0.25]
    # Read slowly, in the same way.
    quoted = text.replace("a", '"a"', 1) + "\n"
    assert np.ravel(labels_in(quoted.encode(coding), CSV, form)).tolist() == [1.5, 0.25]


@pytest.mark.parametrize("sign", [";", "\t"])
def test_texts_of_classes_are_read_with_other_separators(sign):
    form = Form(ids=("a", "b"), classes=("cat", "dog"))
    body = f"id{sign}label\nb{sign}cat\na{sign}dog\n".encode()
    assert np.ravel(labels_in(body, CSV, form)).tolist() == [1, 0]
    shares = Form(columns=2, ids=("a", "b"), classes=("cat", "dog"), by_class=True)
    body = f"id{sign}dog{sign}cat\nb{sign}0,25{sign}0,75\na{sign}1{sign}0\n".encode()
    assert labels_in(body, CSV, shares).tolist() == [[0.0, 1.0], [0.75, 0.25]]


@pytest.mark.parametrize("head", ["label,id", ",id,label", "filename,class", "id,label,sure", "id"])
def test_another_head_is_quoted(head):
    with pytest.raises(InputError) as caught:
        labels_in(f"{head}\n0,1\n".encode(), CSV, Form(ids=("0",)))
    assert str(caught.value) == f"the body must begin with the line id,label, got {head!r}"


@pytest.mark.parametrize("board", ["NFC", "NFD"])
@pytest.mark.parametrize("sent", ["NFC", "NFD"])
def test_letters_with_accents_are_matched_in_both_spellings(board, sent):
    """A Mac writes file names in letters and accents apart."""
    ids = tuple(normalize(board, name) for name in ("b\u00e4r", "c\u00f4t\u00e9", "dog"))
    classes = tuple(normalize(board, name) for name in ("n\u00e3o", "sim"))
    labels = (*classes, classes[0])
    rows = "".join(f"{name},{value}\n" for name, value in zip(ids, labels, strict=True))
    body = normalize(sent, f"id,label\n{rows}").encode()
    assert labels_in(body, CSV, Form(1, ids, classes)).tolist() == [0, 1, 0]
    wrong = normalize(sent, f"id,label\n{rows}").replace("sim", "sem").encode()
    with pytest.raises(InputError, match="line 3 must have a class"):
        labels_in(wrong, CSV, Form(1, ids, classes))


def test_lines_that_end_in_a_carriage_return_alone_are_read():
    assert labels_in(b"id,label\r0,2\r1,0\r2,1\r", CSV, PLAIN).tolist() == [2, 0, 1]
