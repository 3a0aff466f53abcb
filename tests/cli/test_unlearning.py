"""The command that audits whether a model forgot."""

import json

import pandas as pd
import pytest

from tests.audits.test_unlearning import classifiers  # noqa: F401
from tests.cli.test_main import one_line, run_inside
from tests.language.tiny_models import made_texts, read_once, saved


@pytest.fixture(scope="module", autouse=True)
def _models_are_read_once():
    with read_once():
        yield


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Return the options of an audit of three GPT-2s with random weights."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("unlearning")
    made = made_texts(80, 4, least=9)
    for name, some in (("forgotten", made[:40]), ("fresh", made[40:])):
        frame = pd.DataFrame({"text": some, "patient": [f"{name}{row // 2}" for row in range(40)]})
        frame.to_json(place / f"{name}.jsonl", orient="records", lines=True)
    folders = {
        name: saved(place / name, "gpt2", seed=seed)
        for seed, name in enumerate(("before", "after", "retrained"))
    }
    files = {name: place / f"{name}.jsonl" for name in ("forgotten", "fresh")}
    return {**folders, **files}


def asked(given, *more):
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return ["unlearning", *options, *more]


@pytest.fixture
def files(classifiers, tmp_path):  # noqa: F811
    for name, frame in classifiers.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


def test_predictions_of_a_classifier_are_audited_and_gated(files, tmp_path, capsys):
    given = {
        "before": files / "before.csv",
        "after": files / "ascent.csv",
        "retrained": files / "retrained.csv",
    }
    out = tmp_path / "out"
    done = run_inside(
        asked(given, "--out", str(out), "--fail-above", "forgotten-auc.low=0.51"), capsys
    )
    assert done.returncode == 3, done.stderr
    found = json.loads((out / "report.json").read_text())
    assert found["kind"] == "unlearning"
    assert found["state"] == "known to be forgotten"
    assert found["provenance"]["before"]
    assert len(pd.read_parquet(out / "records.parquet")) == found["n_forgotten"] + found["n_fresh"]
    assert not (out / "run").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"before": "before.csv", "after": "none.csv"}, "none.csv does not exist"),
        ({"before": "before.csv", "after": "before.csv", "forgotten": "before.csv"}, "give both"),
        (
            {
                "before": "before.csv",
                "after": "before.csv",
                "forgotten": "before.csv",
                "fresh": "before.csv",
                "unit": "id",
            },
            "--unit goes with prediction files",
        ),
        ({"before": "before.csv", "after": "before.csv", "unit": "who"}, "no column 'who'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(files, capsys, given, told):
    paths = {name: files / value if "." in value else value for name, value in given.items()}
    one_line(run_inside(asked(paths), capsys), told)


@pytest.mark.torch
def test_texts_are_asked_of_three_models_and_never_shown(texts, tmp_path, capsys):
    out = tmp_path / "out"
    done = run_inside(asked(texts, "--out", str(out)), capsys)
    assert done.returncode == 0, done.stderr
    found = json.loads((out / "report.json").read_text())
    assert found["state"] == "cannot be told"  # weights are random: nobody knew anything
    assert found["before"]["n"] == 40  # people
    assert set(found["provenance"]) >= {"before", "after", "retrained"}
    page = (out / "report.html").read_text()
    words = json.loads(texts["forgotten"].read_text().splitlines()[0])["text"]
    assert words not in page


@pytest.mark.torch
@pytest.mark.slow
def test_a_finished_audit_is_written_again_and_asks_nobody(texts, tmp_path, capsys, monkeypatch):
    given = asked(texts, "--out", str(tmp_path / "out"))
    assert run_inside((*given, "--quiet"), capsys).returncode == 0
    from privacygauge.language import store

    monkeypatch.setattr(store, "pass_groups", None)
    for verb in ("resume", "report"):
        again = (verb, tmp_path / "out", "--quiet", "--out", tmp_path / verb)
        done = run_inside(again, capsys)
        assert done.returncode == 0, done.stderr
        for name in ("report.json", "report.html", "records.parquet"):
            assert (tmp_path / verb / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


@pytest.mark.torch
def test_the_retrained_model_is_another_one(texts, capsys):
    same = {**texts, "retrained": texts["after"]}
    one_line(run_inside(asked(same), capsys), "after and retrained are the same model")
    folders = {name: texts[name] for name in ("before", "after")}
    one_line(run_inside(asked(folders), capsys), "give the forgotten and the fresh texts too")
