"""Files of models: each format that is read, and hostile ones, which end in one line."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.report.values import Severity
from tests.inspection import holders

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return pd.read_csv(FILES / "people.csv")


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("neighbours.skops", 60),
        ("vectors.skops", 49),
        ("logistic.skops", 0),
        ("tree.skops", 0),
        ("neighbours.onnx", 60),
        ("vectors.onnx", 44),
        ("logistic.onnx", 0),
        ("boosted.json", 0),
        ("boosted.ubj", 0),
        ("boosted.txt", 0),
    ],
)
def test_rows_are_counted_in_files_of_each_format(name, rows, table):
    found = pg.inspect_model(FILES / name, table, "sick")
    assert found.n_rows == rows
    assert not [x for x in found.skipped if x.name != "groups behind an answer"]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("neighbours.skops", 60),
        ("vectors.skops", 49),
        ("vectors.onnx", 44),
        ("logistic.onnx", None),
    ],
)
def test_rows_are_known_by_their_form(name, rows):
    assert pg.inspect_model(FILES / name).n_rows == rows


def test_the_two_forms_of_xgboost_hold_the_same(table):
    one, other = (pg.inspect_model(FILES / f"boosted.{x}", table, "sick") for x in ("json", "ubj"))
    assert [(x.column, x.count) for x in one.values] == [(x.column, x.count) for x in other.values]
    assert one.n_numbers == other.n_numbers


def test_names_of_categories_and_smallest_leaves_are_found(table):
    found = pg.inspect_model(FILES / "boosted.txt", table, "sick")
    (town,) = (x for x in found.values if x.column == "town")
    assert (town.kind, town.count) == ("texts", 2)
    assert set(town.values) == {"Nether Poppleton", "Upper Slaughter"}
    assert found.smallest_leaf[1] == 2
    assert pg.inspect_model(FILES / "tree.skops").smallest_leaf == ("tree_.nodes", 1)


def test_notes_are_counted_and_shown_only_if_asked(table):
    found = pg.inspect_model(FILES / "logistic.onnx", table, "sick")
    assert {x[0] for x in found.traces} == {"note", "path", "host"}
    assert found.report().verdict.grade.severity is Severity.SMALL
    assert "jane" not in found.to_html() + found.to_json() + found.summary()
    shown = pg.inspect_model(FILES / "logistic.onnx", table, "sick", show_texts=True)
    assert "/home/jane/cohort.csv" in shown.to_html()


def test_a_file_without_its_table_is_not_called_safe():
    found = pg.inspect_model(FILES / "logistic.skops")
    assert found.report().verdict.grade.severity is Severity.UNTOLD


# Formats that libraries of the tests write.


def rows_of(path: Path, frame: pd.DataFrame) -> int | None:
    return pg.inspect_model(path, frame).n_rows


def test_tensors_of_safetensors(tmp_path):
    from safetensors.numpy import save_file

    frame = holders.people()[holders.NUMBERS]
    x = frame.to_numpy(np.float32)
    path = tmp_path / "a.safetensors"
    save_file(
        {"memory": x, "weight": np.ones((3, 4))}, path, {"log": "epoch 1 of C:\\Users\\jane\\run"}
    )
    found = pg.inspect_model(path, frame)
    assert found.n_rows == holders.N
    assert {x[0] for x in found.traces} == {"note", "path"}


def test_arrays_of_numpy(tmp_path):
    frame = holders.people()[holders.NUMBERS]
    np.savez(tmp_path / "a.npz", rows=frame.to_numpy())
    np.save(tmp_path / "a.npy", frame.to_numpy()[:50])
    assert rows_of(tmp_path / "a.npz", frame) == holders.N
    assert rows_of(tmp_path / "a.npy", frame) == 50


def test_logs_in_an_archive_are_notes(tmp_path):
    path = tmp_path / "a.skops"
    path.write_bytes((FILES / "logistic.skops").read_bytes())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("train.log", "epoch 1\nread /home/jane/cohort.csv on n1.hospital.lan\n")
        archive.comment = b"by jane@hospital.example"
    found = pg.inspect_model(path)
    assert {x[0] for x in found.traces} == {"note", "path", "host", "e-mail address"}
    assert "jane" not in found.to_html() + found.to_json()


def test_numbers_anywhere_in_the_bytes_of_catboost(tmp_path):
    frame = holders.people()[holders.NUMBERS]
    content = b"CBM1\x07\0\0" + frame.to_numpy(np.float32).tobytes() + b"\xff/home/jane/pool.tsv\0"
    (tmp_path / "a.cbm").write_bytes(content)
    found = pg.inspect_model(tmp_path / "a.cbm", frame)
    assert found.n_rows == holders.N
    assert "path" in {x[0] for x in found.traces}


@pytest.mark.slow
@pytest.mark.torch
def test_the_state_of_an_optimiser_is_named(tmp_path):
    torch = pytest.importorskip("torch")
    net = torch.nn.Linear(4, 2)
    adam = torch.optim.Adam(net.parameters())
    net(torch.ones(3, 4)).sum().backward()
    adam.step()
    state = {"model": net.state_dict(), "optimizer": adam.state_dict()}
    torch.save(state, tmp_path / "a.pt")
    assert "optimiser state" in {x[0] for x in pg.inspect_model(tmp_path / "a.pt").traces}


@pytest.mark.slow
@pytest.mark.torch
def test_weights_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    frame = holders.people()[holders.NUMBERS]
    net = torch.nn.Linear(4, 2)
    net.register_buffer("memory", torch.tensor(frame.to_numpy(np.float32)))
    torch.save(net.state_dict(), tmp_path / "a.pt")
    assert rows_of(tmp_path / "a.pt", frame) == holders.N
    assert pg.inspect_model(net, frame).n_rows == holders.N
    torch.save(net, tmp_path / "whole.pt")
    with pytest.raises(pg.InputError, match="more than weights"):
        pg.inspect_model(tmp_path / "whole.pt")


@pytest.mark.slow
@pytest.mark.torch
def test_layers_of_keras(tmp_path, monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    frame = holders.people()[holders.NUMBERS]
    x = frame.to_numpy(np.float32)
    net = keras.Sequential([keras.layers.Input((1,)), keras.layers.Embedding(holders.N, 4)])
    net.layers[0].set_weights([x])
    net.save(tmp_path / "a.keras")
    assert rows_of(tmp_path / "a.keras", frame) == holders.N
    assert pg.inspect_model(net, frame).n_rows == holders.N


# Hostile files.


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in members.items():
            made.writestr(name, content)
    return path


class Boom:
    """Runs code when it is loaded."""

    def __reduce__(self) -> tuple:
        return (Path.touch, (Path("owned"),))


def bomb(folder: Path) -> Path:
    path = archive(folder / "a.skops", **{"schema.json": b"{}", "x.npy": b"\0" * 1000})
    content = bytearray(path.read_bytes())
    # The unpacked size in the last entry of the index: half a gigabyte.
    at = content.rindex(b"PK\x01\x02") + 24
    content[at : at + 4] = struct.pack("<I", 2**29)
    path.write_bytes(content)
    return path


def traversal(folder: Path) -> Path:
    return archive(folder / "a.skops", **{"../../etc/cron.d/x": b"x", "schema.json": b"{}"})


def a_pickle(folder: Path) -> Path:
    (folder / "a.skops").write_bytes(pickle.dumps(Boom()))
    return folder / "a.skops"


def a_named_pickle(folder: Path) -> Path:
    joblib.dump(Boom(), folder / "a.joblib", compress=3)
    return folder / "a.joblib"


def objects(folder: Path) -> Path:
    np.savez(folder / "a.npz", x=np.array([Boom()], object))
    return folder / "a.npz"


def a_huge_tensor(folder: Path) -> Path:
    head = {"x": {"dtype": "F64", "shape": [2**27, 1], "data_offsets": [0, 2**30]}}
    text = json.dumps(head).encode()
    (folder / "a.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"\0" * 64)
    return folder / "a.safetensors"


def a_huge_head(folder: Path) -> Path:
    (folder / "a.safetensors").write_bytes(struct.pack("<Q", 2**40) + b"{}")
    return folder / "a.safetensors"


def a_huge_array(folder: Path) -> Path:
    stream = io.BytesIO()
    np.save(stream, np.zeros(3))
    forged = stream.getvalue().replace(b"(3,), }", b"(134217728,), }"[:15])
    return archive(folder / "a.skops", **{
        "schema.json": b'{"__loader__": "NdArrayNode", "file": "x.npy"}', "x.npy": forged
    })  # fmt: skip


def a_huge_ubj(folder: Path) -> Path:
    (folder / "a.ubj").write_bytes(
        b"{L" + struct.pack(">q", 1) + b"x[$d#L" + struct.pack(">q", 2**40)
    )
    return folder / "a.ubj"


def a_deep_ubj(folder: Path) -> Path:
    (folder / "a.ubj").write_bytes(b"[" * 100_000)
    return folder / "a.ubj"


def a_deep_json(folder: Path) -> Path:
    (folder / "a.json").write_bytes(b"[" * 1_000_000)
    return folder / "a.json"


def a_huge_onnx(folder: Path) -> Path:
    # A graph with a tensor of 2**27 numbers that are not there.
    tensor = b"\x08\x80\x80\x80\x40\x10\x01\x4a\x04\0\0\0\0"
    graph = b"\x2a" + bytes([len(tensor)]) + tensor
    (folder / "a.onnx").write_bytes(b"\x3a" + bytes([len(graph)]) + graph)
    return folder / "a.onnx"


def an_endless_onnx(folder: Path) -> Path:
    (folder / "a.onnx").write_bytes(b"\x3a\xff\xff\xff\xff\x0f")
    return folder / "a.onnx"


def nothing(folder: Path) -> Path:
    (folder / "a.onnx").write_bytes(b"")
    return folder / "a.onnx"


def another_thing(folder: Path) -> Path:
    (folder / "a.docx").write_text("Dear Sir,")
    return folder / "a.docx"


def another_archive(folder: Path) -> Path:
    return archive(folder / "a.zip", **{"letter.txt": b"Dear Sir,"})


HOSTILE = {
    bomb: "unpacks to 512",
    traversal: "points outside of it",
    a_pickle: "is a pickle, which runs code",
    a_named_pickle: "is a pickle, which runs code",
    objects: "object array",
    a_huge_tensor: "does not fit the bytes",
    a_huge_head: "head promises",
    a_huge_array: "damaged",
    a_huge_ubj: "promises",
    a_deep_ubj: "nested too deeply",
    a_deep_json: "damaged",
    a_huge_onnx: "promises",
    an_endless_onnx: "promises",
    nothing: "is empty",
    another_thing: "not in a format",
    another_archive: "of no format",
}


@pytest.mark.parametrize("make", HOSTILE, ids=lambda make: make.__name__)
def test_a_hostile_file_ends_in_one_line(make, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path)
    with pytest.raises(pg.InputError, match=HOSTILE[make]) as caught:
        pg.inspect_model(path)
    assert "\n" not in str(caught.value)
    assert not Path("owned").exists()


def refused_or_read(path: Path) -> None:
    """Inspect a file that may be read by luck; what refuses it does so in one line."""
    told = ""
    try:
        pg.inspect_model(path)
    except pg.InputError as error:
        told = str(error)
    assert "\n" not in told


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [x.name for x in sorted(FILES.iterdir()) if x.suffix not in (".csv", ".txt")]
)
def test_a_damaged_file_ends_in_one_line_or_is_read(name, tmp_path):
    """Cut anywhere, or with bytes changed, a file is read or refused: nothing else happens."""
    whole = (FILES / name).read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / name
    for i in range(60):
        damaged = bytearray(whole)
        if i % 2:
            damaged = damaged[: rng.integers(1, len(whole))]
        else:
            for at in rng.integers(0, len(whole), 20):
                damaged[at] = rng.integers(0, 256)
        path.write_bytes(damaged)
        refused_or_read(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending",
    [".skops", ".onnx", ".safetensors", ".ubj", ".json", ".txt", ".cbm", ".npz", ".pt", ".h5"],
)
def test_random_bytes_end_in_one_line_or_are_read(ending, tmp_path):
    rng = np.random.default_rng(0)
    heads = {".txt": b"tree\n", ".cbm": b"CBM1", ".npz": b"PK\x03\x04", ".pt": b"PK\x03\x04",
             ".h5": b"\x89HDF\r\n\x1a\n", ".skops": b"PK\x03\x04"}  # fmt: skip
    for n in (1, 10, 1_000, 20_000):
        path = tmp_path / f"a{ending}"
        path.write_bytes(heads.get(ending, b"") + rng.bytes(n))
        refused_or_read(path)


def test_a_loader_of_the_user_may_unpickle(tmp_path):
    frame = holders.people()[holders.NUMBERS]
    model = KNeighborsClassifier().fit(frame.to_numpy(), frame["age"] > 50)
    joblib.dump(model, tmp_path / "a.joblib")
    (tmp_path / "my_loader.py").write_text(
        "import joblib\nfrom pathlib import Path\n"
        "def load():\n    return joblib.load(Path(__file__).parent / 'a.joblib')\n"
    )
    found = pg.inspect_model(f"{tmp_path / 'my_loader.py'}:load", frame)
    assert found.n_rows == holders.N
    assert isinstance(found, pg.Inspection)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def load(x): return x", "takes an argument"),
        ("def load(): raise ValueError('Ann Smith')", "ended in a ValueError"),
        ("load = 5", "must be a fitted model or a file, got int"),
    ],
)
def test_a_loader_that_gives_no_model_ends_in_one_line(code, told, tmp_path):
    name = f"loader_{abs(hash(code)) % 10**8}"
    path = tmp_path / f"{name}.py"
    path.write_text(code)
    with pytest.raises(InputError, match=told) as caught:
        pg.inspect_model(f"{path}:load")
    assert "Ann" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_number_without_end_is_no_value(tmp_path):
    path = tmp_path / "model.json"
    trees = [{"split_conditions": [1e999, 1e999]}]
    model = {"learner": {"gradient_booster": {"model": {"trees": trees}}}}
    path.write_text(json.dumps(model).replace("Infinity", "1e999"))
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=50)})
    with pytest.raises(InputError, match="holds no numbers"):
        pg.inspect_model(path, frame)
    assert pg.inspect_model({"w": np.full((3, 2), np.inf)}, frame).n_values == 0


def foreign_skops(path):
    with zipfile.ZipFile(path, "w") as archive:
        node = {"__class__": "X", "__module__": "os", "__loader__": "Y", "content": {"__id__": 1}}
        archive.writestr("schema.json", json.dumps(node))


NO_MODELS = {
    "other.json": lambda path: path.write_text('{"hello": "world"}'),
    "number.json": lambda path: path.write_text("5"),
    "numbers.json": lambda path: path.write_text('{"pages": [1, 2, 3]}'),
    "learner.json": lambda path: path.write_text('{"learner": 5}'),
    "foreign.skops": foreign_skops,
    "bytes.cbm": lambda path: path.write_bytes(b"CBM1" + b"\xff" * 100),
    "head.txt": lambda path: path.write_text(
        "tree\nversion=v4\nTree=0\nnum_leaves=99999999999\nleaf_count=a b c\n"
    ),
    "empty.txt": lambda path: path.write_text("tree\nversion=v4\nmax_feature_idx=5\n"),
    "cut.txt": lambda path: path.write_text(
        "tree\nversion=v4\nTree=0\nnum_leaves=3\nleaf_value=0.5 0.25\n"
    ),
    "lines.npz": lambda path: np.savez(path, a=np.array(["x", "y"])),
}


@pytest.mark.parametrize("name", NO_MODELS)
def test_a_file_without_an_array_or_a_tree_is_refused(name, tmp_path, table):
    path = tmp_path / name
    NO_MODELS[name](path)
    with pytest.raises(InputError) as caught:
        pg.inspect_model(path, table)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_object_without_an_array_cannot_be_told(table):
    found = pg.inspect_model({"hello": "world"}, table)
    assert found.report().verdict.grade.severity is Severity.UNTOLD
    assert "no array" in found.report().verdict.headline
