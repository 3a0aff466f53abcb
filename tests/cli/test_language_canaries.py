"""The commands that make canaries before a training and measure them after it."""

import json

import pytest

from privacygauge.language.canaries import INSERT, made_canaries, read_canaries, write_canaries
from tests.cli.test_main import one_line, run_inside
from tests.language.tiny_models import made_texts, saved, taught

COMMAND = ("language", "canaries")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of 60 canaries, each that is put in 8 times."""
    from typer.testing import CliRunner

    from privacygauge.cli.main import app

    place = tmp_path_factory.mktemp("canaries") / "made"
    more = ("--n", "60", "--copies", "8", "--compared", "60", "--out", str(place))
    done = CliRunner().invoke(app, [*COMMAND, "make", "The code is {digits:5}.", *more])
    assert done.exit_code == 0, done.stderr
    assert "canaries were put in by fair coins, 8 time(s) each" in done.stdout
    return place


def measured(made, target, out, capsys, *more):
    asked = [*COMMAND, "measure", str(made), "--target", str(target), "--out", str(out), *more]
    done = run_inside(asked, capsys)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "report.json").read_text())


@pytest.mark.torch
@pytest.mark.slow
def test_what_was_inserted_is_known_and_what_was_not_is_not(made, tmp_path, capsys):
    pytest.importorskip("transformers")
    lines = (made / INSERT).read_text().splitlines()
    inserted = [json.loads(line)["text"] for line in lines]
    target = taught(tmp_path / "target", [*inserted, *made_texts(20)], epochs=12, rate=6e-3)
    start = saved(tmp_path / "start", "gpt2")
    found = measured(made, target, tmp_path / "out", capsys, "--reference", str(start))
    assert found["kind"] == "privacy-claim"
    assert found["measures"]["exposure"] > 4
    assert found["measures"]["epsilon"] > 0.5
    page = (tmp_path / "out" / "report.html").read_text()
    assert "each 8 times" in page
    assert "The model knows its canaries" in page
    assert "claim is refuted" not in page
    assert read_canaries(made).text[0] not in page
    never = measured(made, start, tmp_path / "never", capsys)
    assert never["measures"]["exposure"] < 2.5
    assert never["measures"]["epsilon"] == 0.0
    assert never["verdict"]["grade"] != found["verdict"]["grade"]


@pytest.mark.torch
def test_a_masked_model_is_measured(made, tmp_path, capsys):
    pytest.importorskip("transformers")
    masked = saved(tmp_path / "masked")
    write_canaries(tmp_path / "made", made_canaries("pain {letters:5}", 60, compared=60))
    found = measured(tmp_path / "made", masked, tmp_path / "out", capsys, "--epsilon", "1")
    assert found["measures"]["exposure"] < 2.5
    assert found["claim"]["epsilon"] == 1
    # Its vocabulary holds no digits.
    digits = [*COMMAND, "measure", str(made), "--target", str(masked)]
    one_line(run_inside(digits, capsys), "finds all canaries equally likely")


def test_what_is_wrong_is_said_in_one_line(made, tmp_path, capsys):
    again = [*COMMAND, "make", "{digits:9}", "--out", str(made)]
    one_line(run_inside(again, capsys), "is not empty: coins are tossed once")
    form = [*COMMAND, "make", "no place", "--out", str(tmp_path / "x")]
    one_line(run_inside(form, capsys), "must have a place for what is drawn")
    assert not (tmp_path / "x").exists()
    nowhere = [*COMMAND, "measure", str(tmp_path), "--target", str(tmp_path)]
    one_line(run_inside(nowhere, capsys), "does not exist")
