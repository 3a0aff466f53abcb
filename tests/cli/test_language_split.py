"""`privacygauge language split`: dealt before a training, found again by the audit after it."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from privacygauge.cli import main
from privacygauge.language.text_files import load_texts
from tests.cli.test_main import one_line, run_inside
from tests.language.notes import NotesDesign, made_up_notes
from tests.language.tiny_models import read_once, saved, word_pieces

NOTES = made_up_notes(NotesDesign((24, 0, 0, 0), (1, 2), (1, 2)), np.random.default_rng(0))
SPLIT = ("language", "split")


@pytest.fixture(scope="module")
def dealt(tmp_path_factory):
    """Return the folder of a split."""
    place = tmp_path_factory.mktemp("dealt")
    rows = zip(NOTES.text, NOTES.group, strict=True)
    lines = (json.dumps({"note": text, "who": who}) + "\n" for text, who in rows)
    (place / "notes.jsonl").write_text("".join(lines))
    asked = (str(place / "notes.jsonl"), "--out", str(place / "dealt"))
    named = ("--text", "note", "--group", "who", "--reference", "0")
    done = CliRunner().invoke(main.app, [*SPLIT, *asked, *named])
    assert done.exit_code == 0, done.stderr
    assert "member: " in done.stdout
    assert "Train on " in done.stdout
    return place / "dealt"


@pytest.fixture(scope="module", autouse=True)
def _models_are_read_once():
    with read_once():
        yield


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("models")
    tokenizer = word_pieces()
    pair = [saved(place / name, seed=i, tokenizer=tokenizer) for i, name in enumerate("ab")]
    return ("--target", str(pair[0]), "--reference", str(pair[1]), "--masks", "1")


def audited(models, folder, out, capsys, *more):
    sides = ("--members", f"{folder}/members.jsonl", "--nonmembers", f"{folder}/nonmembers.jsonl")
    return run_inside(["language", *models, *sides, "--out", out, *more], capsys)


@pytest.mark.slow
def test_the_coins_beside_the_members_are_found(dealt, models, tmp_path, capsys):
    done = audited(models, dealt, tmp_path, capsys, "--population", str(dealt / "population.jsonl"))
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "report.json").read_text())
    assert "fair coin for every person" in kept["game"]["secret"]
    assert kept["measures"]["patient-epsilon"] == 0.0  # random weights


@pytest.mark.slow
def test_texts_that_coins_did_not_deal_are_refused_or_warned_of(dealt, models, tmp_path, capsys):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("nonmembers.jsonl", "coins.json"):
        (other / name).write_text((dealt / name).read_text())
    lines = (dealt / "members.jsonl").read_text().splitlines()[1:]
    (other / "members.jsonl").write_text("\n".join(lines))
    done = audited(models, other, tmp_path / "out", capsys)
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "out" / "report.json").read_text())
    assert any("coins beside the members do not count" in line for line in kept["warnings"])
    assert kept["measures"]["patient-epsilon"] is None
    named = audited(models, other, tmp_path / "out2", capsys, "--coins", str(dealt / "coins.json"))
    one_line(named, "the member texts must be those that the coins dealt")


def test_coins_are_tossed_once(dealt, capsys):
    done = run_inside([*SPLIT, dealt / "members.jsonl", "--out", dealt], capsys)
    one_line(done, "is not empty: coins are tossed once")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--population", "1"), "population must be in"),
        (("--group", "nobody"), "there is no column 'nobody'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(dealt, tmp_path, capsys, more, told):
    asked = [*SPLIT, dealt / "members.jsonl", "--out", tmp_path / "x", *more]
    one_line(run_inside(asked, capsys), told)
    assert not (tmp_path / "x").exists()


def test_people_are_dealt_again_for_further_models(dealt, tmp_path, capsys):
    asked = (str(dealt.parent / "notes.jsonl"), "--out", str(tmp_path / "again"), "--models", "3")
    named = ("--text", "note", "--group", "who", "--reference", "0")
    done = CliRunner().invoke(main.app, [*SPLIT, *asked, *named])
    assert done.exit_code == 0, done.stderr
    assert "Train 3 further models on members-0.jsonl and so on, one each." in done.stdout
    folder = tmp_path / "again"
    for name in ("members.jsonl", "nonmembers.jsonl", "population.jsonl"):
        assert (folder / name).read_bytes() == (dealt / name).read_bytes()
    judged = [load_texts(folder / f"{side}.jsonl") for side in ("members", "nonmembers")]
    names = {name for records in judged for name in records.sample}
    targets = [set(load_texts(folder / f"members-{k}.jsonl").sample) for k in range(3)]
    assert all(target < names for target in targets)
    assert len({frozenset(target) for target in targets}) == 3
    assert not (folder / "members-3.jsonl").exists()
    alone = (*SPLIT, *asked[:2], str(tmp_path / "one"), *named, "--models", "1")
    one_line(run_inside([*alone], capsys), "n_models must be at least 2, got 1: one is dealt")
