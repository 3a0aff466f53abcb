"""Files of texts: the same texts from every format, and one line for what is wrong."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.errors import InputError
from privacygauge.language.text_files import Columns, TextRecords, as_texts, load_texts
from tests.thorough import times

TEXTS = ("No fever.", "Grüße, „NA“", "007")
IDS = ("007", "NA", "c")
GROUPS = ("1", "01", "1")
ROWS = [
    {"text": text, "id": name, "patient": group, "further": 1.5}
    for text, name, group in zip(TEXTS, IDS, GROUPS, strict=True)
]


def write(path, rows=ROWS):
    name = path.name
    lines = "\n".join(json.dumps(row) for row in rows) + "\n"
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(lines.encode()))
    elif name.endswith(".jsonl"):
        path.write_text(lines, encoding="utf-8")
    elif name.endswith(".csv"):
        pd.DataFrame(rows).to_csv(path, index=False)
    else:
        pd.DataFrame(rows).to_parquet(path)
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.csv", "a.parquet"])
def test_the_same_texts_from_every_format(tmp_path, name):
    found = load_texts(write(tmp_path / name))
    assert (found.text, found.sample, found.group) == (TEXTS, IDS, GROUPS)
    assert len(found) == 3


def test_plain_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("\ufeffNo fever.\r\n\r\n  Grüße  \r\n".encode())
    found = load_texts(path)
    assert (found.text, found.sample, found.group) == (("No fever.", "Grüße"), None, None)


def test_values_in_memory():
    for several in (["a", "b"], np.array(["a", "b"]), pd.Series(["a", "b"])):
        assert as_texts(several).text == ("a", "b")
    frame = pd.DataFrame(ROWS)
    for given_as in (frame, {name: list(frame[name]) for name in frame}):
        found = as_texts(given_as)
        assert (found.text, found.sample, found.group) == (TEXTS, IDS, GROUPS)
    assert as_texts(found) is found


def test_a_form_of_training_that_is_none_is_named():
    with pytest.raises(InputError, match="training must be TrainingForm"):
        Columns(training="all")


def test_columns_by_name():
    found = as_texts(pd.DataFrame(ROWS), Columns("id", sample="text", group="further"))
    assert (found.text, found.sample, found.group) == (IDS, TEXTS, ("1.5",) * 3)


@settings(max_examples=times(40), deadline=None)
@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip), min_size=1
    )
)
def test_any_text_comes_back_from_json_lines(tmp_path_factory, texts):
    path = tmp_path_factory.mktemp("any") / "a.jsonl"
    assert load_texts(write(path, [{"text": text} for text in texts])).text == tuple(texts)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", b'{"text": "\xff"}', "is not UTF-8 (invalid start byte): save it as UTF-8"),
        ("a.txt", "Gr\u00fc\u00dfe".encode("latin-1"), "is not UTF-8"),
        ("a.txt", b"\n \n", "there are no texts in it"),
        ("a.jsonl", b"", "there are no texts in it"),
        ("a.jsonl", b"[1]", "line 1 is not a JSON object, got list"),
        ("a.jsonl", b'{"text": "x"}\n{"text"', "line 2 is not a JSON object (Expecting ':'"),
        ("a.jsonl", b'{"text": "x"}\n{"note": "y"}', "line 2 has the keys note, the first line"),
        ("a.jsonl", b'{"note": "x"}', "there is no column 'text' of texts; it has note"),
        ("a.jsonl", b'{"text": " "}', "text must not be empty, got an empty one in row 0"),
        ("a.jsonl", b'{"text": 7}', "text must hold texts, got 7 in row 0: name their column"),
        ("a.jsonl", b'{"text": null}', "text has no value in row 0"),
        ("a.jsonl", b'{"text": "\\ud800"}', "line 1 holds \\ud800 alone, which is half of a"),
        (
            "a.jsonl",
            b'{"text": "x", "id": 1}\n{"text": "y", "id": 1}',
            "ids must all be different, got '1' in rows 0 and 1",
        ),
        ("a.jsonl.gz", b"text", "is damaged"),
        ("a.csv", b"a,b\n1,2\n", "there is no column 'text' of texts; it has a, b"),
        ("a.csv", b"", "is empty"),
        ("a.csv", b"text\nx\n\xff\n", "is not UTF-8"),
        ("a.parquet", b"x", "is damaged or no parquet file"),
        (
            "a.docx",
            b"x",
            ".csv.gz, .tsv.gz, .jsonl or .jsonl.gz, or .txt or .txt.gz",
        ),
    ],
)
def test_one_line_for_what_is_wrong(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        load_texts(path)
    assert told in str(error.value)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_what_is_no_file_and_what_is_no_text(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_texts(tmp_path / "a.jsonl")
    folder = tmp_path / "b.txt"
    folder.mkdir()
    with pytest.raises(InputError, match="is a directory, not a text file"):
        load_texts(folder)
    with pytest.raises(InputError, match="there is no column 'who'; it has text"):
        as_texts({"text": ["x"]}, Columns(group="who"))
    with pytest.raises(InputError, match="members must be a path, a sequence of texts"):
        as_texts(7, name="members")
    with pytest.raises(InputError, match=r"^members: there are no texts in it$"):
        as_texts([], name="members")
    with pytest.raises(InputError, match=r"^texts: text must be texts or numbers, got bytes"):
        as_texts([b"x"])
    with pytest.raises(InputError, match="texts must be at least one text"):
        TextRecords("one text")
