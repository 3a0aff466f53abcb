"""Whatever is in a user's file, it is read, or refused in one line, in bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import resource
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privacygauge.classifiers.files import as_pool, load_predictions
from privacygauge.classifiers.tables import load_categories, load_records
from privacygauge.datasets import archives
from privacygauge.datasets.canary_scores import as_canaries
from privacygauge.errors import InputError
from privacygauge.language.scores import load_text_scores
from privacygauge.language.text_files import load_texts
from privacygauge.leaderboards.contest import read_labels, read_logits
from privacygauge.leaderboards.history.reading import read_history
from privacygauge.leaderboards.server.request_parsing import NPY, labels_in
from privacygauge.releases.line import read_line
from privacygauge.runs.plan import Plan
from privacygauge.runs.store import Run, open_run, read_run
from privacygauge.tables.frames import read_schema, read_table
from tests.runs.sample import plan, static
from tests.thorough import times

N = 12
RNG = np.random.default_rng(0)
LABELS = RNG.integers(3, size=N)
MEMBER = np.arange(N) % 2 == 0
PROBS = RNG.dirichlet(np.ones(3), size=N)
POOL = {"probs": PROBS[None].repeat(4, 0), "labels": LABELS, "member": RNG.random((4, N)) < 0.5}
FRAME = pd.DataFrame({"label": LABELS, "age": RNG.random(N), "ward": ["a", "b"] * 6})
PREDICTED = pd.DataFrame({f"p_{j}": PROBS[:, j] for j in range(3)}).assign(
    label=LABELS, member=MEMBER, id=[f"r{i}" for i in range(N)]
)
SCORES = pd.DataFrame(
    {
        "sample": [f"s{i}" for i in range(N)],
        "text": ["fever", "cough"] * 6,
        "energy_target": RNG.random(N),
        "energy_reference": RNG.random(N),
        "member": MEMBER.astype(int),
    }
)
HISTORY = pd.DataFrame({"time": range(N), "account": ["ann"] * N, "score": RNG.random(N)})

READERS: Mapping[str, Callable[[Path], object]] = {
    "predictions": load_predictions,
    "pool": as_pool,
    "records": load_records,
    "categories": load_categories,
    "labels": read_labels,
    "logits": read_logits,
    "history": lambda path: read_history(path, n=10),
    "submissions": lambda path: read_history(written(path.parent), n=10, predictions=path),
    "scores": load_text_scores,
    "texts": load_texts,
    "canaries": as_canaries,
    "table": read_table,
    "schema": read_schema,
    "report": read_line,
    "upload": lambda path: labels_in(path.read_bytes(), NPY),
}
"""Every reader of a file that a user brings."""


def written(folder: Path) -> Path:
    """Return a history whose predictions are another file."""
    HISTORY.to_csv(folder / "history.csv", index=False)
    return folder / "history.csv"


def npy(array: np.ndarray) -> bytes:
    """Return an array in the npy format."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz(packed: bool = False, **arrays: np.ndarray) -> bytes:
    """Return arrays as an npz file."""
    buffer = io.BytesIO()
    (np.savez_compressed if packed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def head(text: str, version: int = 1) -> bytes:
    """Return an npy file whose head is any text, with a few values."""
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + bytes(64)


def promised(shape: str, descr: str = "'<f8'") -> bytes:
    """Return an npy file that promises a shape and a type."""
    return head(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n")


HEADS = {
    "terabytes": promised("(1000000000000, 1000000)"),
    "beyond integers": promised("(" + "9" * 40 + ",)"),
    "many dimensions": promised("(" + "2, " * 60 + ")"),
    "no columns": promised("(1000000000000, 0)"),
    "negative": promised("(-1,)"),
    "an expression": promised("(10**9,)"),
    "true": promised("(True,)"),
    "deep": head("(" * 9_000),
    "deeper": head("{'descr': " + "[" * 60_000),
    "long": head(" " * 10**6, 3),
    "unary": head("-" * 9_000 + "1"),
    "objects": promised("(2,)", "'|O'"),
    "structured": promised("(2,)", "[('a', '<f8'), ('b', '|O')]"),
    "a huge text": promised("(1,)", "'<U999999999'"),
    "no type": promised("(2,)", "'<Q77'"),
    "twice": head("{'descr': '<f8', 'descr': '<f8', 'shape': (8,), }"),
    "no head": b"\x93NUMPY\x01\x00",
    "another version": b"\x93NUMPY\x09\x00" + bytes(64),
    "no Unicode": head("{'descr': '<U2', 'fortran_order': False, 'shape': (8,), }")[:-64]
    + b"\xff" * 64,
}
"""Heads of arrays that are not what numpy writes for numbers and texts."""


def zipped(members: Mapping[str, bytes] | list[tuple[str, bytes]], packing: int = 8) -> bytes:
    """Return a zip archive, a name twice where it is given twice."""
    pairs = members.items() if isinstance(members, Mapping) else members
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", packing) as archive:
        for name, content in pairs:
            with archive.open(name, "w", force_zip64=True) as stream:
                stream.write(content)
    return buffer.getvalue()


def bombs_in(folder: Path, n_bytes: int) -> Path:
    """Write small files that unpack to at least as many bytes."""
    part = 2**20
    with (
        zipfile.ZipFile(folder / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("labels.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(promised(f"({n_bytes // part * part},)", "'|u1'")[:-64])
        for _ in range(n_bytes // part):
            stream.write(bytes(part))
    with gzip.open(folder / "bomb.jsonl.gz", "wb") as file:
        for _ in range(n_bytes // part):
            file.write(b" " * part)
    with gzip.open(folder / "bomb.csv.gz", "wb") as file:
        file.write(b"label,member,text,account,score\n")
        for _ in range(n_bytes // part):
            file.write(b" " * part)
    column = pa.chunked_array([pa.array(np.zeros(part // 8, np.int64))] * (n_bytes // part))
    pq.write_table(pa.table({"label": column, "member": column}), folder / "bomb.parquet")
    text = pa.array(["x" * (n_bytes // 1_000)])
    long = pa.DictionaryArray.from_arrays(np.zeros(1_001, np.int32), text)
    names = ["label", "text", "account"]
    pq.write_table(
        pa.table(dict.fromkeys(names, long)), folder / "texts.parquet", store_schema=False
    )
    return folder


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> Path:
    """Return a folder of small files that unpack to 8 MiB."""
    return bombs_in(tmp_path_factory.mktemp("bombs"), 2**23)


@pytest.fixture(scope="module")
def large_bombs(tmp_path_factory) -> Path:
    """Return such a folder, of files that unpack to four times what is read at once."""
    return bombs_in(tmp_path_factory.mktemp("bombs"), 4 * archives.SMALL)


@pytest.fixture
def bombs(packed, monkeypatch) -> Path:
    """Return that folder where 1 MiB may be."""
    monkeypatch.setattr(archives, "SMALL", 2**20)
    return packed


def told(read: Callable[[Path], object], path: Path) -> str:
    """Return the one line that is said of a file; nothing else may come out."""
    with pytest.raises(InputError) as caught:
        read(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("reader", ["labels", "logits", "submissions", "upload"])
@pytest.mark.parametrize("kind", HEADS)
def test_a_head_that_lies_is_refused_in_one_line(tmp_path, reader, kind):
    (tmp_path / "a.npy").write_bytes(HEADS[kind])
    assert "save" in told(READERS[reader], tmp_path / "a.npy")


@pytest.mark.parametrize("reader", ["labels", "predictions", "pool", "records", "submissions"])
@pytest.mark.parametrize("kind", HEADS)
def test_a_head_that_lies_is_refused_in_an_archive(tmp_path, reader, kind):
    arrays = npz(**POOL, y=LABELS)
    (tmp_path / "a.npz").write_bytes(arrays)
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as archive:
        archive.writestr("x.npy", HEADS[kind])
    assert told(READERS[reader], tmp_path / "a.npz")


_BOMBS = ("bomb.npz", "bomb.jsonl.gz", "bomb.csv.gz", "bomb.parquet", "texts.parquet")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", _BOMBS)
def test_a_bomb_is_refused_in_one_line(bombs, reader, name):
    line = told(READERS[reader], bombs / name)
    assert len(line) < 400


_TABULAR = ("predictions", "records", "categories", "labels", "history", "scores", "texts", "table")


@pytest.mark.parametrize(
    ("reader", "name"),
    [
        ("predictions", "bomb.npz"),
        ("pool", "bomb.npz"),
        ("labels", "bomb.npz"),
        ("predictions", "bomb.parquet"),
        ("table", "texts.parquet"),
        ("texts", "bomb.jsonl.gz"),
        ("scores", "bomb.jsonl.gz"),
        ("history", "bomb.jsonl.gz"),
        *((reader, "bomb.csv.gz") for reader in _TABULAR),
    ],
)
def test_a_bomb_is_called_by_its_size(bombs, reader, name):
    assert "unpacks to" in told(READERS[reader], bombs / name)


MEMORY = """
import resource, sys
from pathlib import Path
from tests.laws.test_files import READERS
import pandas, pyarrow.parquet
reader, path = sys.argv[1], Path(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    READERS[reader](path)
except Exception as error:
    print(type(error).__name__, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reader", "name"),
    [
        ("labels", "bomb.npz"),
        ("predictions", "bomb.parquet"),
        ("table", "texts.parquet"),
        ("texts", "bomb.jsonl.gz"),
        ("table", "bomb.csv.gz"),
        ("predictions", "bomb.csv.gz"),
    ],
)
def test_a_bomb_takes_less_memory_than_it_unpacks_to(large_bombs, reader, name):
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, reader, str(large_bombs / name)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30)),
    )
    kind, rise = done.stdout.split()
    assert kind == "InputError"
    assert int(rise) * 1024 < 1.5 * archives.SMALL


def test_archives_with_a_name_twice_or_packed_in_other_ways_are_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = zipped([("labels.npy", npy(LABELS)), ("labels.npy", npy(LABELS + 1))])
    for content, message in {
        twice: "holds 'labels' twice",
        zipped({"labels.npy": npy(LABELS)}, zipfile.ZIP_LZMA): "packed unusually",
        zipped({"labels.npy": npz(labels=LABELS)}): "damaged",
        zipped({"labels.npy": npy(LABELS)[:-1]}): "promises 12 of int64, 96 bytes, and 95 bytes",
        zipped({"labels.npy": npy(LABELS) + b"x"}): "promises 12 of int64, 96 bytes, and 97 bytes",
        zipped({"notes.txt": b"hello", "labels.npy": npy(LABELS)}): "",
    }.items():
        (tmp_path / "a.npz").write_bytes(content)
        if message:
            assert message in told(read_labels, tmp_path / "a.npz")
        else:
            assert np.array_equal(read_labels(tmp_path / "a.npz"), LABELS)


@given(st.data())
@settings(max_examples=50)
def test_arrays_are_read_as_numpy_reads_them(data):
    dtype = data.draw(st.sampled_from(["<f8", ">f4", "<f2", "|b1", ">i8", "|u1", "<U3", "|S4",
                                       "<c16", "<M8[ns]", "<m8[s]"]))  # fmt: skip
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    array = np.arange(np.prod(shape, dtype=int)).astype("i8").astype(dtype).reshape(shape)
    array = np.asfortranarray(array) if data.draw(st.booleans()) else array
    from privacygauge.datasets.archives import read_stream_array

    content = npy(array)
    found = read_stream_array(io.BytesIO(content), len(content), "a.npy")
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    assert found.flags.writeable


def _parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def _lines(frame: pd.DataFrame) -> bytes:
    return frame.to_json(orient="records", lines=True).encode()


SCHEMA = read_table(FRAME).schema.to_json().encode()
WHOLE: dict[str, tuple[tuple[str, bytes], ...]] = {
    "predictions": (
        (
            "a.npz",
            npz(probs=PROBS, labels=LABELS, member=MEMBER, ids=PREDICTED["id"].to_numpy(str)),
        ),
        ("b.npz", npz(True, probs=PROBS, labels=LABELS, member=MEMBER)),
        ("a.csv", PREDICTED.to_csv(index=False).encode()),
        ("a.parquet", _parquet(PREDICTED)),
    ),
    "pool": (("a.npz", npz(**POOL)),),
    "records": (
        ("a.npz", npz(x=PROBS, y=LABELS)),
        ("a.csv", FRAME.to_csv(index=False).encode()),
        ("a.parquet", _parquet(FRAME)),
    ),
    "categories": (("a.csv", FRAME.to_csv(index=False).encode()),),
    "labels": (("a.npy", npy(LABELS)), ("a.npz", npz(labels=LABELS)), ("a.csv", b"y\n0\n1\n1\n")),
    "logits": (("a.npy", npy(PROBS)),),
    "history": (
        ("a.csv", HISTORY.to_csv(index=False).encode()),
        ("a.jsonl", _lines(HISTORY)),
        ("a.jsonl.gz", gzip.compress(_lines(HISTORY))),
        ("a.parquet", _parquet(HISTORY)),
    ),
    "submissions": (("a.npy", npy(RNG.integers(2, size=(N, 10)))),),
    "scores": (
        ("a.csv", SCORES.to_csv(index=False).encode()),
        ("a.jsonl", _lines(SCORES)),
        ("a.jsonl.gz", gzip.compress(_lines(SCORES))),
        ("a.parquet", _parquet(SCORES)),
    ),
    "texts": (
        ("a.csv", SCORES.to_csv(index=False).encode()),
        ("a.jsonl", _lines(SCORES)),
        ("a.jsonl.gz", gzip.compress(_lines(SCORES))),
        ("a.txt", b"one\ntwo\n"),
        ("a.parquet", _parquet(SCORES)),
    ),
    "table": (("a.csv", FRAME.to_csv(index=False).encode()), ("a.parquet", _parquet(FRAME))),
    "schema": (("a.json", SCHEMA),),
}
for _reader, _frame in (
    ("predictions", PREDICTED),
    ("records", FRAME),
    ("history", HISTORY),
    ("scores", SCORES),
    ("texts", SCORES),
    ("table", FRAME),
):
    _packed = ("a.csv.gz", gzip.compress(_frame.to_csv(index=False).encode()))
    _tabs = ("a.tsv", _frame.to_csv(index=False, sep="\t").encode())
    WHOLE[_reader] = (*WHOLE[_reader], _packed, _tabs)
FILES = [(reader, *file) for reader, files in WHOLE.items() for file in files]


@pytest.mark.parametrize(("reader", "name", "whole"), FILES, ids=[f"{r} {n}" for r, n, _ in FILES])
def test_a_whole_file_is_read(tmp_path, reader, name, whole):
    (tmp_path / name).write_bytes(whole)
    assert READERS[reader](tmp_path / name) is not None


@st.composite
def damaged(draw: Any, whole: bytes) -> bytes:
    """Return a file with some bytes changed, or a part cut out, doubled, or put in."""
    content = bytearray(whole)
    for _ in range(draw(st.integers(1, 3))):
        at, to = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        way = draw(st.sampled_from(["flip", "cut", "end", "double", "put"]))
        if way == "flip" and at < len(content):
            content[at] = draw(st.integers(0, 255))
        elif way == "cut":
            del content[at : min(to, at + 40)]
        elif way == "end":
            del content[max(at, 1) :]
        elif way == "double":
            content[at:at] = content[at : min(to, at + 40)]
        else:
            content[at:at] = draw(
                st.binary(max_size=8)
                | st.sampled_from([b'"', b",", b"\n", b"[" * 3000, b"9" * 5000, b"\0", b"1e999"])
            )
    return bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize(("reader", "name", "whole"), FILES, ids=[f"{r} {n}" for r, n, _ in FILES])
def test_a_damaged_file_is_read_or_refused_in_one_line(tmp_path, reader, name, whole):
    @given(damaged(whole))
    @settings(max_examples=times(400), deadline=None, suppress_health_check=list(HealthCheck))
    def check(content: bytes) -> None:
        (tmp_path / name).write_bytes(content)
        said = ""
        try:
            READERS[reader](tmp_path / name)
        except InputError as error:
            said = str(error)
        assert "\n" not in said

    check()


def test_a_file_that_is_no_file_is_refused_in_one_line(tmp_path):
    for name in ("device.npy", "device.npz", "device.jsonl", "device.csv"):
        (tmp_path / name).symlink_to("/dev/zero")
    for reader, name in {
        "labels": "device.npy",
        "predictions": "device.npz",
        "texts": "device.jsonl",
        "table": "device.csv",
        "schema": "device.csv",
    }.items():
        assert "is a device or a pipe" in told(READERS[reader], tmp_path / name)


def test_a_run_whose_plan_is_damaged_is_refused_in_one_line(tmp_path):
    for content in (b"[" * 100_000, b'{"format": ' * 50_000, b"\xff" * 100, b"9" * 5_000):
        (tmp_path / "run.json").write_bytes(content)
        assert "holds no run" in told(read_run, tmp_path)


@pytest.mark.parametrize(
    ("n_units", "record", "chunk"), [(10**15, 10, 10), (2, 10**15, 10), (10**5, 10**5, 1)]
)
def test_a_run_that_promises_too_much_is_refused_in_one_line(n_units, record, chunk):
    spec = {"dims": ["m", "r"], "shape": [n_units, record], "dtype": "bool", "chunks": [chunk]}
    parts = {"name": "x", "seed": 0, "n_units": n_units, "unit": "m", "units_a_task": 1}
    text = json.dumps({**parts, "arrays": {"a": spec}})
    with pytest.raises(InputError, match="at most 10,000,000 chunks") as caught:
        Plan.from_json(text)
    assert "\n" not in str(caught.value)


def test_arrays_of_a_run_are_those_of_its_plan_or_refused_in_one_line(tmp_path):
    run = open_run(tmp_path, plan(), static())
    kept = tmp_path / "observations.zarr" / "prediction" / "zarr.json"
    whole = kept.read_text()
    for changed in (
        whole.replace("17,", "1700000000000,"),
        whole.replace("float32", "float64"),
        "[" * 100_000,
        "{}",
    ):
        assert changed != whole
        kept.write_text(changed)
        assert "has no readable array prediction" in told(lambda _: run.array("prediction"), kept)


def test_chunks_that_are_not_arrays_are_refused_in_one_line(tmp_path):
    run = open_run(tmp_path, plan(), static())
    folder = tmp_path / "observations.zarr" / "prediction" / "c" / "0" / "0"
    folder.mkdir(parents=True)
    for content in (b"", b"\x28\xb5\x2f\xfd" + b"\xff" * 40, bytes(10_000)):
        (folder / "0").write_bytes(content)
        assert "no readable array" in told(lambda _: run.array("prediction")[:], folder)


@pytest.mark.slow
def test_a_damaged_array_of_a_run_is_read_or_refused_in_one_line(tmp_path):
    run = open_run(tmp_path, plan(), static())
    files = sorted(x for x in (tmp_path / "observations.zarr").rglob("*") if x.is_file())
    for kept in files:
        whole = kept.read_bytes()
        _damage(run, kept)
        kept.write_bytes(whole)


def _damage(run: Run, kept: Path) -> None:
    @given(damaged(kept.read_bytes()))
    @settings(max_examples=times(40), deadline=None, suppress_health_check=list(HealthCheck))
    def check(content: bytes) -> None:
        kept.write_bytes(content)
        said = ""
        try:
            read_run(run.path)
            for name in (*plan().arrays, *static()):
                run.array(name)[:]
        except InputError as error:
            said = str(error)
        assert "\n" not in said

    check()
