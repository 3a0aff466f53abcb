"""Names of records, people, wards and classes are texts in every command that reads a table.

Each command audits the same records twice, once with names that look like numbers or gaps and once
with plain ones in the same order. All numbers of both reports must agree, and what the first names
must be its names: a name that became a number, or two people who became one, would move a number.
"""

from __future__ import annotations

import functools
import json
import re
import uuid
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.test_main import one_line, run_inside

N = 160
ODD = ["007", "07", "1E1", "10E0", "None", "NA", "nan", "null", "true", "+49", "1_000", "1.0", "1"]
IDS = sorted({*ODD, *(f"{i:04d}" for i in range(60)), *(f"{i}E2" for i in range(N))})[:N]
PEOPLE = sorted([*ODD, *(f"{i:03d}" for i in range(20, 47))])
WARDS = sorted(["None", "NA", "01", "1"])
CLASSES = sorted(["NA", "None"])
FORMS = ("csv", "parquet", "jsonl")
assert (len(IDS), len(PEOPLE)) == (N, 40)


def plain(names: list[str], letter: str) -> dict[str, str]:
    """Return plain names, which are in the same order."""
    return {name: f"{letter}{i:03d}" for i, name in enumerate(sorted(names))}


PLAIN = {
    "id": plain(IDS, "r"),
    "who": plain(PEOPLE, "p"),
    "ward": plain(WARDS, "w"),
    "label": plain(CLASSES, "k"),
}


def renamed(frame: pd.DataFrame) -> pd.DataFrame:
    kept = {name: frame[name].map(of) for name, of in PLAIN.items() if name in frame}
    found = frame.assign(**kept)
    return found.rename(columns={f"p_{name}": f"p_{new}" for name, new in PLAIN["label"].items()})


def people(seed: int) -> pd.DataFrame:
    """Return records of 40 people in four rows each."""
    rng = np.random.default_rng(seed)
    label = np.array(CLASSES)[rng.integers(2, size=N)]
    who = np.repeat(rng.permutation(PEOPLE), 4)
    return pd.DataFrame(
        {
            "id": rng.permutation(IDS),
            "who": who,
            "ward": np.array(WARDS)[rng.integers(4, size=N)],
            "age": rng.normal(50, 9, N).round(2) + 5 * (label == CLASSES[0]),
            "weight": rng.normal(70, 9, N).round(2),
            "member": np.repeat(rng.permutation(np.arange(40) % 2), 4),
            "label": label,
        }
    )


def answers(seed: int) -> pd.DataFrame:
    """Return predictions of a model for `people`."""
    frame = people(0)
    rng = np.random.default_rng(seed)
    score = rng.normal(size=N) + 2 * (frame["label"] == CLASSES[1]) - 1 + frame["member"]
    second = (1 / (1 + np.exp(-score))).round(6)
    scores = {f"p_{CLASSES[0]}": (1 - second).round(6), f"p_{CLASSES[1]}": second}
    return frame.drop(columns=["age", "weight"]).assign(**scores)


def canaries() -> pd.DataFrame:
    frame = people(0)[["id", "who", "member"]]
    return frame.assign(score=np.random.default_rng(3).normal(size=N) + frame["member"])


def energies() -> pd.DataFrame:
    frame = people(0)[["id", "who", "ward", "member"]].rename(columns={"id": "sample"})
    energy = np.random.default_rng(4).exponential(size=(2, N))
    given = {
        "energy_target": energy[0] * (1 - 0.5 * frame["member"]),
        "energy_reference": energy[1],
    }
    return frame.rename(columns={"who": "group"}).assign(**given)


def history() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    time = pd.date_range("2026-01-01", periods=N, freq="h").strftime("%Y-%m-%dT%H:%M:%SZ")
    score = np.round(rng.integers(500, 600, N) / 1000, 3)
    return pd.DataFrame({"time": time, "account": people(0)["who"].to_numpy(), "score": score})


TABLES = {
    "people": lambda: people(0),
    "made": lambda: people(1).drop(columns=["id", "who"]),
    "rest": lambda: people(2),
    "answers": lambda: answers(0),
    "after": lambda: answers(1),
    "shadow": lambda: answers(2),
    "canaries": canaries,
    "energies": energies,
    "history": history,
}
PLAIN["sample"] = PLAIN["id"]
PLAIN["group"] = PLAIN["account"] = PLAIN["who"]

RECORDS = ("--data", "people", "--id", "id", "--unit", "who")
FEW = ("--jobs", "1")
MODEL = """
import numpy as np

class Model:
    def predict_proba(self, x):
        second = 1 / (1 + np.exp((x[:, -2].astype(float) - 52) / 9))
        return np.column_stack([1 - second, second])

model = Model()

def nearest():
    from sklearn.neighbors import KNeighborsClassifier
    rows = np.load("rows.npy")
    return KNeighborsClassifier().fit(rows, rows[:, 0] > 50)
"""
COMMANDS = {
    "predictions": ("classifier", "answers", "--unit", "who"),
    "training": (
        *("classifier", "--model", "naive-bayes", *RECORDS, "--drop", "member"),
        *("--shadows", "4", *FEW),
    ),
    "defend": (
        "defend",
        "answers",
        "--shadow",
        "shadow",
        "--unit",
        "who",
        "--defence",
        "label-only",
    ),
    "attribute": (
        *("attribute", "--fitted", "told.py:model", *RECORDS, "--member", "member"),
        *("--sensitive", "ward"),
    ),
    "dtp": ("dtp", *RECORDS, "--drop", "member", "--model", "naive-bayes", *FEW),
    "released": (
        *("synthetic", "people", "--synthetic", "made", "--holdout", "rest"),
        *("--id", "id", "--unit", "who"),
    ),
    "vulnerable": ("vulnerable", "people", "--unit", "who", "--drop", "id"),
    "unlearning": ("unlearning", "--before", "answers", "--after", "after", "--unit", "who"),
    "energies": ("language", "--scores", "energies"),
    "claim": ("dp-audit", "canaries", "--epsilon", "1", "--unit", "who"),
    "inspect": (
        *("inspect", "told.py:nearest", *RECORDS, "--label", "label"),
        *("--drop", "member", "--drop", "ward"),
    ),
    "worst-case": (
        *("worst-case", *RECORDS, "--drop", "member", "--drop", "ward", "--fpr", "0.1"),
        *("--model", "naive-bayes", "--models", "4", *FEW),
    ),
    "history": ("holdout", "log", "history", "--n", "1000"),
}
SLOW = frozenset({"released", "training", "dtp", "history", "defend", "attribute", "worst-case"})


def saved(frame: pd.DataFrame, file: Path) -> None:
    match file.suffix:
        case ".parquet":
            frame.to_parquet(file)
        case ".jsonl":
            frame.to_json(file, orient="records", lines=True)
        case _:
            frame.to_csv(file, index=False)


def asked(command: tuple[str, ...], folder: Path, form: str) -> list[str]:
    return [str(folder / f"{x}.{form}") if x in TABLES else x for x in command]


def with_model(folder: Path) -> None:
    (folder / "told.py").write_text(MODEL)
    np.save(folder / "rows.npy", people(0)[["age", "weight"]].to_numpy())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder for each of both spellings, with all tables in all forms."""
    folder = tmp_path_factory.mktemp("names")
    for kind in ("odd", "plain"):
        (folder / kind).mkdir()
        with_model(folder / kind)
        for name, made in TABLES.items():
            frame = made() if kind == "odd" else renamed(made())
            for form in FORMS:
                saved(frame, folder / kind / f"{name}.{form}")
    return folder


def audited(command, folder: Path, form: str, out: Path, capsys, monkeypatch):
    """Return the document, the table of records and the page of an audit."""
    monkeypatch.chdir(folder)
    done = run_inside([*asked(command, folder, form), "--quiet", "--out", out], capsys)
    assert done.returncode == 0, done.stderr
    records = out / "records.parquet"
    frame = pd.read_parquet(records) if records.exists() else None
    return json.loads((out / "report.json").read_text()), frame, (out / "report.html").read_text()


def numbers(found: object) -> list[object]:
    """Return all numbers of the measures and of the list of the worst, in order."""
    if isinstance(found, dict):
        return [x for name in sorted(found) for x in numbers(found[name])]
    if isinstance(found, list):
        return [x for each in found for x in numbers(each)]
    return [found] if isinstance(found, int | float) else []


CASES = [
    pytest.param(name, form, marks=pytest.mark.slow) if name in SLOW else (name, form)
    for name in COMMANDS
    for form in FORMS
]


@pytest.mark.parametrize(("name", "form"), CASES)
def test_names_that_look_like_numbers_move_no_number(
    place, tmp_path, capsys, monkeypatch, name, form
):
    run = functools.partial(audited, capsys=capsys, monkeypatch=monkeypatch)
    found, frame, page = run(COMMANDS[name], place / "odd", form, tmp_path / "out")
    other, others, other_page = run(COMMANDS[name], place / "plain", form, tmp_path / "plain")
    for part in ("measures", "worst", "verdict"):
        assert numbers(found.get(part)) == pytest.approx(numbers(other.get(part)), rel=1e-12), part
    assert form_of(page) == form_of(other_page)
    if frame is None:
        return
    for column in {"id", "sample"} & {*frame}:
        assert [PLAIN["id"][x] for x in frame[column]] == others[column].tolist()
    if "unit" in frame:  # names of people, or numbers of those whose texts are alike
        assert [PLAIN["who"].get(x, x) for x in frame["unit"]] == others["unit"].tolist()


def form_of(page: str) -> list[str]:
    """Return the tags of a page without what its plots draw, in order."""
    return re.findall(r"<(\w+)", re.sub(r"<svg.*?</svg>", "", page, flags=re.DOTALL))


def with_binary_ids(frame: pd.DataFrame, file: Path) -> None:
    """Write names as identifiers of 16 bytes, as databases export them."""
    columns = {name: pa.array(frame[name]) for name in frame}
    for name in {"id", "who", "sample", "group", "account"} & {*frame}:
        number = {
            x: uuid.UUID(int=i << 64 | 0x80).bytes for i, x in enumerate(sorted({*frame[name]}))
        }
        columns[name] = pa.array(frame[name].map(number), pa.binary(16))
    pq.write_table(pa.table(columns), file)


def with_surrogates(frame: pd.DataFrame, file: Path) -> None:
    """Write names that no encoding holds: half of a pair, as file names of other systems become."""
    rows = frame.to_dict(orient="records")
    for row in rows:
        for name in {"id", "who", "sample", "group", "account"} & {*row}:
            row[name] = "\udc80" + row[name]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def with_a_column_twice(frame: pd.DataFrame, file: Path) -> None:
    """Write the column of names twice, the second time in another order."""
    again = [name for name in ("who", "group", "account") if name in frame][:1]
    twice = pd.concat([frame, frame[again][::-1].reset_index(drop=True)], axis=1)
    twice.to_csv(file, index=False)


HOSTILE = {
    "binary": ("parquet", with_binary_ids),
    "surrogates": ("jsonl", with_surrogates),
    "twice": ("csv", with_a_column_twice),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("name", COMMANDS)
def test_hostile_names_are_names_or_one_line(place, tmp_path, capsys, monkeypatch, name, kind):
    form, write = HOSTILE[kind]
    with_model(tmp_path)
    for table, made in TABLES.items():
        if table in COMMANDS[name]:
            write(made(), tmp_path / f"{table}.{form}")
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    done = run_inside([*asked(COMMANDS[name], tmp_path, form), "--quiet", "--out", out], capsys)
    if done.returncode:
        assert kind != "binary", done.stderr
        one_line(done, "")
        assert not list(out.glob("*"))
        return
    assert kind != "twice", "which of the two columns?"
    run = functools.partial(audited, capsys=capsys, monkeypatch=monkeypatch)
    found = json.loads((out / "report.json").read_text())
    other, others, _ = run(COMMANDS[name], place / "plain", "csv", tmp_path / "plain")
    assert numbers(found["measures"]) == pytest.approx(numbers(other["measures"]), rel=1e-9)
    if others is not None:
        frame = pd.read_parquet(out / "records.parquet")
        for column in {"id", "sample"} & {*frame}:
            assert frame[column].map(type).eq(str).all()
            assert frame[column].nunique() == others[column].nunique()


def test_versions_are_compared_by_names_that_look_like_numbers(tmp_path, capsys, monkeypatch):
    found = {}
    for kind in ("odd", "plain"):
        for seed in (0, 1):
            frame = answers(seed).drop(columns="who")
            saved(frame if kind == "odd" else renamed(frame), tmp_path / f"{kind}{seed}.csv")
            command = ("classifier", str(tmp_path / f"{kind}{seed}.csv"))
            audited(command, tmp_path, "csv", tmp_path / f"of-{kind}{seed}", capsys, monkeypatch)
        out = tmp_path / kind
        both = [tmp_path / f"of-{kind}{seed}" for seed in (0, 1)]
        done = run_inside(["compare", *both, "--quiet", "--out", out], capsys)
        assert done.returncode == 0, done.stderr
        assert "160 in both, 0 only before, 0 only after" in (out / "report.html").read_text()
        found[kind] = numbers(json.loads((out / "report.json").read_text())["differences"])
    assert found["odd"] == found["plain"] != []
