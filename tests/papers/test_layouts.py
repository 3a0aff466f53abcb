"""The papers' own data, where a reader has them: found, checked, and named in the result."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from privacygauge.cli.main import app
from privacygauge.core.estimate import Skipped
from privacygauge.datasets.local_copies import data_in, own_file, own_logits, purchases
from privacygauge.datasets.public import own_notes
from privacygauge.errors import InputError
from privacygauge.papers import REPRODUCTIONS, Effort, long2017, make, reproduction
from privacygauge.papers.catalogue import judgement
from privacygauge.papers.make import LAYOUTS, data_in_folder
from privacygauge.papers.verdict import read_result
from tests.test_docs import ROOT

MADE = {known.name for known in REPRODUCTIONS}


def logits_in(folder, n=200, m=12, **arrays):
    """Write a test set whose labels are mostly the model's first or second guess."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(n, m)) * 2
    labels = np.where(rng.random(n) < 0.6, logits.argmax(axis=1), logits.argsort(axis=1)[:, -2])
    np.savez(folder / "logits.npz", **{"logits": logits, "labels": labels, **arrays})
    return folder


def purchases_in(folder, n=2_300, d=40, m=4):
    rng = np.random.default_rng(0)
    y = rng.integers(m, size=n)
    x = rng.random((n, d)) < rng.random((m, d))[y]
    np.savez(folder / "purchases.npz", x=x.astype(np.uint8), y=y)
    return folder


def notes_in(folder, **parts):
    """Write 24 notes of three sentences a side, each of 30 words from a short list."""
    rng = np.random.default_rng(0)
    words = [f"{a}{b}" for a in "bdfgklmnprst" for b in ("a", "e", "i", "o", "u", "an", "er")]
    for start, part in enumerate(("member", "nonmember", "population")):
        lines = [
            {
                "text": " ".join(rng.choice(words, 14 if place == 0 else 30)),
                "note_id": 100 * start + note,
                "sentence": place,
            }
            for note in range(24)
            for place in range(3)
        ]
        text = parts.get(part) or "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"notes_{part}.jsonl").write_text(text)
    return folder


def test_every_layout_serves_what_is_made_and_stands_in_the_documentation():
    page = (ROOT / "docs" / "reproduction" / "index.md").read_text(encoding="utf-8")
    for layout in LAYOUTS:
        assert set(layout.serves.split()) <= MADE
        for file in layout.files:
            assert f"`{file}`" in page, file


def test_a_named_folder_goes_before_the_usual_one(tmp_path, monkeypatch):
    usual = tmp_path / "usual"
    named = tmp_path / "named"
    for folder in (usual, named):
        folder.mkdir()
        (folder / "a").write_text("x")
    (usual / "b").write_text("x")
    monkeypatch.setenv("PRIVACYGAUGE_DATA", str(usual))
    with data_in(named):
        assert own_file("a") == named / "a"
        assert own_file("b") == usual / "b"
        assert own_file("c") is None
    assert own_file("a") == usual / "a"


def test_what_is_not_there_is_said_with_the_files_that_are_wanted(tmp_path):
    with pytest.raises(InputError, match=r"data must be a folder with logits\.npz \(arrays logits"):
        data_in_folder("feldman-fig1", tmp_path)
    with pytest.raises(InputError, match="data cannot be given for long-table3: it can for"):
        data_in_folder("long-table3", tmp_path)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": np.full(200, 12)}, r"labels of logits\.npz must be in 0\.\.11, got 12"),
        ({"labels": np.zeros(3, int)}, r"labels of logits\.npz must be \(200,\) whole numbers"),
        ({"labels": np.zeros(200)}, "must be .200,. whole numbers from 0, got .200,. of float64"),
        ({"logits": np.zeros(200)}, r"logits of logits\.npz must be \(n, m\) with n >= 10"),
        ({"logits": np.full((200, 12), np.nan)}, "must be finite"),
    ],
)
def test_logits_of_another_form_are_refused(tmp_path, arrays, message):
    with pytest.raises(InputError, match=message):
        data_in_folder("feldman-fig1", logits_in(tmp_path, **arrays))


def test_arrays_that_lack_are_named(tmp_path):
    np.savez(tmp_path / "purchases.npz", x=np.zeros((3, 2), int))
    with pytest.raises(InputError, match="must hold the arrays x and y, and lacks y"):
        purchases(tmp_path / "purchases.npz")
    np.savez(tmp_path / "purchases.npz", x=np.full((3, 2), 2), y=np.zeros(3, int))
    with pytest.raises(InputError, match=r"must be \(n, d\) zeros and ones"):
        purchases(tmp_path / "purchases.npz")


def test_copies_of_purchase100_and_texas100_are_checked(tmp_path):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(1, 101, 50), rng.integers(2, size=(50, 600))])
    np.savetxt(tmp_path / "dataset_purchase", rows, "%d", ",")
    np.savetxt(tmp_path / "feats", rows[:, 1:40], "%d", ",")
    assert set(data_in_folder("song-fig12", tmp_path)) == {"Purchase100"}
    np.savetxt(tmp_path / "labels", rows[:, :1], "%d", ",")
    found = data_in_folder("song-fig12", tmp_path)
    assert list(found) == ["Purchase100", "Texas100"]
    assert found["Texas100"].startswith("50 records, 39 columns, ")
    np.savetxt(tmp_path / "dataset_purchase", rows[:, :20], "%d", ",")
    with pytest.raises(InputError, match="dataset_purchase must have 601 columns"):
        data_in_folder("song-fig3", tmp_path)


@pytest.mark.slow
def test_the_whole_census_is_taken_where_it_is(tmp_path):
    """A made-up file of its size: 569,741 people, 17 columns and a number for each."""
    line = ",".join(["1"] * 18)
    names = ",".join(["Person ID", *(f"column {i}" for i in range(17))])
    (tmp_path / "uk_census_2011.csv").write_text(names + f"\n{line}" * 569_741 + "\n")
    assert data_in_folder("meeus-table2", tmp_path)["census"].startswith(
        "569,741 records, 17 columns, "
    )
    (tmp_path / "uk_census_2011.csv").write_text(names + f"\n{line}" * 10 + "\n")
    with pytest.raises(InputError, match="is not the census teaching file"):
        data_in_folder("meeus-table2", tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["feldman-fig1", "feldman-fig2"])
def test_figures_of_feldman_are_made_on_any_logits(tmp_path, name):
    effort = Effort(quick=True, n_jobs=1, data=logits_in(tmp_path))
    result = make.make_result(reproduction(name), effort)
    assert result.data["logits"].startswith("200 records, 12 columns, 12 classes, SHA-256 ")
    assert all(row.label.startswith("logits, ") for row in result.table.rows)
    assert "200 points, 12 classes" in result.table.notes[0]
    # As many queries a point as the paper's.
    assert any("k 21" in (*row.cells, row.label.split(", ")[-1]) for row in result.table.rows)
    judged = judgement(name, result.form, result.data).of(result.table)
    assert judged.claims
    # The quick form restricts labels at the least confident points alone.
    missing = [one.claim for one in judged.claims if isinstance(one.effect, Skipped)]
    assert missing == ["logits, all points: the gain grows as R falls"] * (name == "feldman-fig1")
    assert not any(cell.published for row in result.table.rows for cell in row.cells.values())


@pytest.mark.slow
def test_purchases_of_the_readers_own_take_the_stand_ins_place(tmp_path):
    folder = purchases_in(tmp_path)
    with data_in(folder):
        _, x, y = long2017.model_and_candidates("NN-Purchase", 0)
    assert x.shape == (long2017.CANDIDATES, 40)
    assert set(y.tolist()) == set(range(4))
    # On the paper's data its numbers are compared.
    assert judgement("long-table2").same_data == ("*-Adult",)
    assert judgement("long-table2", data=("purchases",)).same_data == ("*",)


@pytest.mark.slow
def test_the_command_names_the_data_and_the_result_keeps_them(tmp_path):
    folder = logits_in(tmp_path)
    out = tmp_path / "out"
    words = ["reproduce", "feldman-fig2", "--quick", "--jobs", "1", "--data", str(folder)]
    ran = CliRunner().invoke(app, [*words, "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    assert "Data: logits, 200 records" in " ".join(ran.output.split())
    kept = read_result(out / "feldman-fig2.json")
    assert kept.data == json.loads((out / "feldman-fig2.json").read_text())["data"]
    # Another test set in the same folder is another result.
    effort = Effort(quick=True, n_jobs=1, data=folder)
    assert make.load_kept_result(reproduction("feldman-fig2"), effort, out) is not None
    logits_in(tmp_path, n=300)
    assert make.load_kept_result(reproduction("feldman-fig2"), effort, out) is None
    assert len(own_logits(folder / "logits.npz")[1]) == 300


def test_data_need_a_name(tmp_path):
    for words in (["all"], []):
        ran = CliRunner().invoke(app, ["reproduce", *words, "--data", str(tmp_path)])
        assert isinstance(ran.exception, InputError)
        assert str(ran.exception).startswith("--data needs NAME")


@pytest.mark.slow
@pytest.mark.torch
def test_notes_and_models_of_the_readers_own_are_audited_as_they_are(tmp_path):
    """A made-up target that learnt the members for long, and the reference that it began with."""
    pytest.importorskip("transformers")
    from privacygauge.language.training import train_further, train_reference

    folder = notes_in(tmp_path)
    with pytest.raises(InputError, match=r"data must be a folder with notes_member\.jsonl and "):
        data_in_folder("mireshghallah-table2", folder)
    with data_in(folder):
        notes = own_notes()
    tiny = {"layers": 1, "hidden": 64, "vocabulary": 300}
    train_reference(notes["population"].text, folder / "reference", epochs=2, **tiny)
    members = notes["member"].text
    train_further(folder / "reference", members, folder / "target", epochs=100, rate=3e-3)
    effort = Effort(quick=True, n_jobs=1, data=folder)
    result = make.make_result(reproduction("mireshghallah-table2"), effort)
    assert "member: 72 sentences of 24 notes" in result.data["notes and models"]
    rows = {row.label: row.cells for row in result.table.rows}
    found = rows["sample level"]["AUC, LR"].ours
    assert found.low > 0.5
    assert found.n == 48
    assert "the reader's own" in result.table.notes[0]
    # On the paper's own data its numbers are compared.
    assert judgement("mireshghallah-table2", data=result.data).same_data == ("*",)
    # Without Table 7, which needs found and missed members among hundreds of notes.
    for name in ("table3", "table11", "fig3", "fig4", "fig5"):
        made = make.make_result(reproduction(f"mireshghallah-{name}"), effort)
        assert made.table.measured, name
    with pytest.raises(InputError, match="data cannot be given for mireshghallah-table4"):
        data_in_folder("mireshghallah-table4", folder)


def test_notes_of_another_form_are_refused(tmp_path):
    with data_in(notes_in(tmp_path)):
        assert {part: len(one) for part, one in own_notes().items()} == {
            "member": 72,
            "nonmember": 72,
            "population": 72,
        }
    for given, message in (
        ("nonsense\n", "must hold a JSON object with text, note_id, sentence in each line"),
        ('{"text": "a"}\n', "must hold a JSON object with text, note_id, sentence in each line"),
        ('{"text": " ", "note_id": 1, "sentence": 0}\n', "must be a text that is not empty"),
        ('{"text": "a", "note_id": 5, "sentence": 0}\n', "a note_id must be in one file, and 5"),
    ):
        with (
            data_in(notes_in(tmp_path, nonmember=given)),
            pytest.raises(InputError, match=message),
        ):
            own_notes()
