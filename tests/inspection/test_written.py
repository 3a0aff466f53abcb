"""Rows that stand in a model as text, as records or as keys, and blobs that cannot be read."""

from __future__ import annotations

import base64
import bz2
import functools
import gzip
import io
import json
import lzma
import pickle
import zlib
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from typer.testing import CliRunner

import privacygauge as pg
from privacygauge.cli.main import app
from privacygauge.inspection import contents, findings
from privacygauge.inspection.contents import contents_of
from privacygauge.report.values import Severity


def people(n: int = 120, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.gamma(2.0, 15_000, n).round(2),
            "bmi": rng.normal(27, 4, n).round(1),
            "town": rng.choice(["Leeds", "York", "Hull"], n),
            "crp": rng.lognormal(1, 1, n).round(2),
        }
    )


def npy(x: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, x)
    return stream.getvalue()


def text_rows(x: pd.DataFrame) -> list[str]:
    return [",".join(map(str, row)) for row in x.itertuples(index=False)]


WRITTEN = {
    "CSV": lambda x: x.to_csv(),
    "CSV with semicolons": lambda x: x.to_csv(index=False, sep=";"),
    "CSV in lines": lambda x: x.to_csv().splitlines(),
    "CSV of columns in another order": lambda x: x[[*x.columns[::-1]]].to_csv(),
    "CSV of fewer digits": lambda x: x.round(1).to_csv(),
    "a table as it is printed": lambda x: x.to_string(),
    "JSON of records": lambda x: x.to_json(orient="records"),
    "JSON of columns": lambda x: x.to_json(),
    "JSON, a record per line": lambda x: x.to_json(orient="records", lines=True),
    "JSON in other order": lambda x: json.dumps(
        [dict(reversed(r.items())) for r in x.to_dict("records")]
    ),
    "a log": lambda x: "\n".join(f"seen: {tuple(r)}" for r in x.itertuples(index=False)),
    "a list as it is printed": lambda x: repr(x.to_numpy().tolist()),
    "rows of texts": lambda x: [[str(v) for v in row] for row in x.to_numpy()],
    "an array of texts": lambda x: x.astype(str).to_numpy().astype(str),
    "an array of lines": lambda x: np.array(text_rows(x)),
    "bytes of a CSV": lambda x: x.to_csv().encode(),
    "UTF-16": lambda x: x.to_csv().encode("utf-16"),
    "gzip": lambda x: gzip.compress(x.to_csv().encode()),
    "zlib": lambda x: zlib.compress(x.to_csv().encode()),
    "bz2": lambda x: bz2.compress(x.to_csv().encode()),
    "xz": lambda x: lzma.compress(x.to_csv().encode()),
    "base64": lambda x: base64.b64encode(x.to_csv().encode()).decode(),
    "base64 in lines": lambda x: base64.encodebytes(x.to_csv().encode()).decode(),
    "hexadecimal": lambda x: x.to_csv().encode().hex(),
    "packed bytes in an array": lambda x: np.frombuffer(
        gzip.compress(x.to_csv().encode()), np.uint8
    ),
    "records": lambda x: x.to_dict("records"),
    "lists by column": lambda x: x.to_dict("list"),
    "dictionaries by column": lambda x: x.to_dict(),
    "a dictionary of records": lambda x: x.to_dict("index"),
    "a record array": lambda x: x.to_records(index=False),
    "numbers of a record array": lambda x: x.drop(columns="town").to_records(),
    "the bytes of an array": lambda x: npy(x.drop(columns="town").to_numpy()),
    "a memo of answers": lambda x: {tuple(r): 0.5 for r in x.itertuples(index=False)},
    "a memo with texts as keys": lambda x: dict.fromkeys(text_rows(x), 0.5),
    "a memo of a class of its own": lambda x: Memo(x),
    "a function with a memory": lambda x: remembering(x),
}


class Memo(dict):
    """A dictionary with attributes."""

    def __init__(self, x: pd.DataFrame) -> None:
        super().__init__()
        self.seen = [tuple(r) for r in x.itertuples(index=False)]


def remembering(x):
    def answer(row):
        return row

    answer.seen = [tuple(r) for r in x.itertuples(index=False)]
    return answer


@pytest.mark.parametrize("name", WRITTEN)
def test_rows_are_found_however_they_are_written(name):
    frame = people()
    held = frame.copy()
    if name == "CSV of fewer digits":
        frame = frame.assign(income=frame["income"] + 0.0123, crp=frame["crp"] + 0.0012)
    found = pg.inspect_model(SimpleNamespace(note=WRITTEN[name](held), w=np.ones(9)), frame)
    least = 0.5 if name == "CSV of fewer digits" else 0.98
    assert found.n_rows >= least * len(frame), found.summary()
    assert found.report().verdict.grade.severity is Severity.GRAVE


@pytest.mark.parametrize("name", WRITTEN)
def test_rows_of_other_people_are_not_claimed(name):
    other = WRITTEN[name](people(seed=7))
    found = pg.inspect_model(SimpleNamespace(note=other, w=np.ones(9)), people())
    assert found.n_recognised == 0


@pytest.mark.parametrize("how", ["CSV", "JSON of records", "a log", "records", "a memo of answers"])
@pytest.mark.parametrize("n", [3, 10])
def test_a_few_rows_are_enough(how, n):
    frame = people()
    found = pg.inspect_model(SimpleNamespace(note=WRITTEN[how](frame.head(n))), frame)
    assert found.n_recognised == n
    assert found.stored[:n].all()


@settings(max_examples=25, deadline=None)
@given(
    order=st.permutations(range(5)),
    separator=st.sampled_from([",", ";", "\t", "|", ", "]),
    quoted=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_a_table_is_found_in_any_order_of_rows_and_with_any_separator(
    order, separator, quoted, seed
):
    frame = people(60, seed=seed)
    rows = frame.sample(frac=1, random_state=seed)[[frame.columns[k] for k in order]]
    lines = [
        separator.join(f'"{v}"' if quoted else str(v) for v in row)
        for row in rows.itertuples(index=False)
    ]
    found = pg.inspect_model(SimpleNamespace(note="\n".join(lines)), frame)
    assert found.n_recognised >= 0.95 * len(frame)


UNREADABLE = {
    "a pickle": lambda x: pickle.dumps(x.rank().to_numpy(np.float16)),
    "a pickle as text": lambda x: base64.b64encode(pickle.dumps(x.to_numpy())).decode(),
    "as if drawn at random": lambda x: np.random.default_rng(0).bytes(2000),
    "base 85": lambda x: base64.b85encode(np.random.default_rng(0).bytes(2000)).decode(),
    "a cut archive": lambda x: gzip.compress(np.random.default_rng(0).bytes(2000))[:1500],
    "a cache of a function": lambda x: cached(x),
    "a zip archive": lambda x: zipped(x),
}


def cached(x):
    @functools.lru_cache
    def answer(*row):
        return 0.5

    for row in x.head(20).itertuples(index=False):
        answer(*row)
    return answer


def zipped(x) -> bytes:
    stream = io.BytesIO()
    np.savez_compressed(stream, x=x.to_numpy())
    return stream.getvalue()


@pytest.mark.parametrize("name", UNREADABLE)
def test_of_what_cannot_be_read_nothing_is_said(name, tmp_path, monkeypatch):
    frame = people()[["age", "income", "bmi", "crp"]]
    model = SimpleNamespace(note=UNREADABLE[name](frame), w=np.ones(9))
    found = pg.inspect_model(model, frame)
    report = found.report()
    if not found.values:
        assert report.verdict.grade.severity is Severity.UNTOLD
    # A limit cannot be met by a number that nobody knows.
    assert "stored-rows" not in report.numbers or report.numbers["stored-rows"] is None


def test_a_limit_on_rows_is_not_met_where_rows_cannot_be_seen(tmp_path):
    from safetensors.numpy import save_file

    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    noise = np.frombuffer(np.random.default_rng(0).bytes(3000), np.uint8)
    save_file({"w": np.ones(9), "blob": noise}, tmp_path / "blob.safetensors")
    save_file({"w": np.ones(9)}, tmp_path / "clean.safetensors")
    save_file({"w": np.ones(9)}, tmp_path / "card.safetensors", {"card": frame.to_csv()})
    codes = {}
    for name in ("blob", "clean", "card"):
        asked = [
            "inspect", str(tmp_path / f"{name}.safetensors"), "--data",
            str(tmp_path / "people.csv"), "--fail-above", "stored-rows=0",
        ]  # fmt: skip
        codes[name] = CliRunner().invoke(app, asked).exit_code
    assert codes == {"blob": 3, "clean": 0, "card": 3}


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_a_bomb_is_not_unpacked(pack, monkeypatch):
    monkeypatch.setattr(contents, "MOST_UNPACKED", 100_000)
    bomb = pack(bytes(3_000_000))
    found = contents_of(SimpleNamespace(a=pack(bomb), b=[bomb] * 50))
    assert any("packed" in x.reason or "unknown" in x.reason for x in found.skipped)
    assert sum(x.values.nbytes for x in found.numbers) < 200 * 100_000


def test_texts_beyond_a_limit_are_named_rather_than_searched(monkeypatch):
    monkeypatch.setattr(findings, "MOST_WRITTEN", 1000)
    frame = people()
    report = pg.inspect_model(SimpleNamespace(note=frame.to_csv(), w=np.ones(9)), frame).report()
    assert report.verdict.grade.severity is Severity.UNTOLD


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 50_000,
        '"' * 100_000,
        "(" * 100_000,
        "1" * 100_000,
        "9" * 400 + ",2,3",
        "1e999,2\n" * 1000,
        "\x00" * 1000,
        "A" * 100_000,
        ",".join(["é"] * 50_000),
    ],
)
def test_hostile_texts_end(text):
    found = pg.inspect_model(SimpleNamespace(note=text, w=np.ones(9)), people())
    assert found.n_recognised == 0


def test_a_plain_note_is_no_blob():
    note = "Trained on 120 people of Leeds, York and Hull; see the paper. " * 20
    found = pg.inspect_model(SimpleNamespace(note=note, w=np.ones(9)), people())
    assert found.report().verdict.grade.word == "no leak found"


# Vocabularies.


def notes(seed: int = 0, n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    words = [f"w{i}" for i in range(25)]
    texts = [" ".join(rng.choice(words, 8)) for _ in range(n)]
    texts[4] += " anna zellweger"
    texts[9] += " brugada of kowalczyk"
    return pd.DataFrame({"note": texts, "y": rng.integers(0, 2, n)})


VOCABULARIES = {
    "words": CountVectorizer(),
    "words and pairs": CountVectorizer(ngram_range=(1, 2)),
    "pairs": TfidfVectorizer(ngram_range=(2, 2)),
    "up to three": TfidfVectorizer(ngram_range=(1, 3)),
    "without stop words": CountVectorizer(ngram_range=(1, 2), stop_words=["w2", "w1"]),
    "letters in words": TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 6)),
    "letters": CountVectorizer(analyzer="char", ngram_range=(5, 5)),
    "as written": CountVectorizer(lowercase=False, token_pattern=r"\S+", ngram_range=(1, 2)),
}


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize("seed", [0, 1])
def test_phrases_of_one_person_are_counted_as_the_vocabulary_has_them(name, seed):
    table = notes(seed)
    vocabulary = VOCABULARIES[name]
    known = CountVectorizer().get_params()
    chosen = {key: x for key, x in vocabulary.get_params().items() if key in known}
    counts = CountVectorizer(**chosen).fit_transform(table["note"])
    alone = int(((counts > 0).sum(axis=0) == 1).sum())
    model = make_pipeline(ColumnTransformer([("t", vocabulary, "note")]), LogisticRegression())
    found = pg.inspect_model(model.fit(table[["note"]], table["y"]), table, "y")
    assert sum(x.count for x in found.values) == alone > 0
    # Of texts in other words it says nothing.
    other = table.assign(note=table["note"].str.replace("w", "v"))
    assert not pg.inspect_model(model, other, "y").values


def test_words_of_several_rows_of_one_person_are_that_persons():
    table = notes()
    table["who"] = np.arange(len(table)) // 2
    table.loc[5, "note"] += " anna zellweger"
    model = make_pipeline(
        ColumnTransformer([("t", CountVectorizer(ngram_range=(2, 2)), "note")]),
        LogisticRegression(),
    ).fit(table[["note"]], table["y"])
    found = pg.inspect_model(model, table, "y", unit="who")
    assert any("anna zellweger" in x.values for x in found.values)


@pytest.mark.parametrize(
    "vocabulary", [TfidfVectorizer(min_df=5), HashingVectorizer(n_features=64)], ids=str
)
def test_a_linear_model_of_notes_is_not_accused_of_small_groups(vocabulary):
    table = notes()
    model = make_pipeline(ColumnTransformer([("t", vocabulary, "note")]), LogisticRegression())
    found = pg.inspect_model(model.fit(table[["note"]], table["y"]), table, "y")
    assert found.small_groups is None
    assert found.report().verdict.grade.severity is not Severity.SMALL


def test_nor_is_one_of_categories_but_a_forest_of_them_is():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{k}": rng.choice(list("abcdefgh"), 300) for k in range(4)})
    y = rng.integers(0, 2, 300)
    for last, accused in (
        (LogisticRegression(), False),
        (RandomForestClassifier(10, random_state=0), True),
    ):
        model = make_pipeline(OneHotEncoder(), last).fit(table, y)
        found = pg.inspect_model(model, table, y)
        assert (found.report().verdict.grade.severity is Severity.SMALL) is accused
