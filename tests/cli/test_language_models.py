"""What `leakscope language` does with models: it goes on after a stop, and keeps its energies."""

import json

import pytest

from leakscope.audit.language import audit_language
from leakscope.cli.language_models import (
    LanguageModelRequest,
    ReferenceRequest,
    language_model_request_in,
    language_models_of_request,
    reference_of_request,
)
from leakscope.errors import InputError
from leakscope.language.model import MaskedModel, load_masked
from leakscope.runs.store import read_run
from tests.language.tiny_models import made_texts, saved

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Return a request with two models of random weights, and three files."""
    place = tmp_path_factory.mktemp("asked")
    texts = made_texts(30, 2)
    files = {}
    for name, some in (
        ("members", texts[:10]),
        ("nonmembers", texts[10:20]),
        ("population", texts[20:]),
    ):
        path = place / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in some))
        files[name] = str(path)
    models = {"target": str(saved(place / "a")), "reference": str(saved(place / "b", seed=1))}
    return LanguageModelRequest(**models, **files, masks=2)


@pytest.fixture(scope="module")
def done(asked, tmp_path_factory):
    """Return the audit that was asked for, and the folder of its run."""
    run = tmp_path_factory.mktemp("done") / "run"
    return language_models_of_request(asked, run, jobs=1, quiet=True), run


def test_a_stopped_audit_goes_on(asked, done, tmp_path, monkeypatch, capsys):
    run, whole = tmp_path / "out" / "run", done[0]
    ask, n_asked = MaskedModel.ask, []

    def counted(model, batch):
        n_asked.append(model.source.weights)
        if len(n_asked) == 3:
            raise KeyboardInterrupt
        return ask(model, batch)

    monkeypatch.setattr(MaskedModel, "ask", counted)
    with pytest.raises(KeyboardInterrupt):
        language_models_of_request(asked, run, jobs=1, quiet=True)
    assert capsys.readouterr().err == f"\nleakscope: go on with: leakscope resume {run.parent}\n"
    kept = read_run(run)
    assert (kept.n_done(), kept.invocation["command"]) == (0, "language")
    again = language_model_request_in(kept.invocation["options"])
    assert (again.masks, again.kind, again.fpr) == (2, "masked", (0.1, 0.01))
    found = language_models_of_request(again, run, jobs=1, quiet=True)
    # Six sides and models in one pass each, and the one that was stopped once more.
    assert len(n_asked) == 7
    assert read_run(run).missing() == []
    assert found.energies.target.tolist() == whole.energies.target.tolist()
    language_models_of_request(again, run, jobs=1, quiet=True)
    assert len(n_asked) == 7


def test_the_energies_are_kept_beside_the_run(done):
    found, run = done
    again = audit_language(run.parent / "energies.parquet")
    assert [x.auc for x in again.evaluations] == [x.auc for x in found.evaluations]
    assert found.provenance["members"].startswith("members.jsonl sha256:")
    assert found.command == "language"


def test_without_a_folder_nothing_is_kept(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    language_models_of_request(asked, None, jobs=1, quiet=True)
    assert list(tmp_path.iterdir()) == []


def test_other_settings_in_the_same_run(asked, done):
    options = dict(asked.settled())
    wider = language_model_request_in({**options, "fpr": [0.2], "level": 0.9})
    found = language_models_of_request(wider, done[1], jobs=1, quiet=True)
    assert {x.asked for x in found.samples.thresholds} == {0.2, None}
    other = language_model_request_in({**options, "masks": 3})
    with pytest.raises(InputError, match="holds another run: masks is 2 there and 3 here"):
        language_models_of_request(other, done[1], jobs=1, quiet=True)


def test_causal_models_are_told_by_their_config(asked, tmp_path):
    models = {"target": str(saved(tmp_path / "g", "gpt2")), "reference": None}
    request = language_model_request_in({**asked.settled(), **models, "kind": None})
    found = language_models_of_request(request, None, jobs=1, quiet=True)
    assert request.settled()["kind"] == "causal"
    assert {x.name for x in found.evaluations} == {"loss"}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "other"}, "--kind must be one of masked, causal, got 'other'"),
        ({"precision": "int4"}, "--precision must be one of float32, bfloat16, got 'int4'"),
        ({"pattern": "stripes"}, "pattern must be one of balanced, random, single, exhaustive"),
        ({"masks": 0}, "n_masks must be an integer of at least 1, got 0"),
        ({"members": "nowhere.jsonl"}, "nowhere.jsonl does not exist"),
        ({"text": "note"}, "there is no column 'note' of texts; it has text"),
        ({"target": "nowhere"}, "must be a folder of this machine"),
    ],
)
def test_one_line_for_what_is_wrong(asked, tmp_path, change, told):
    with pytest.raises(InputError) as error:
        language_models_of_request(
            language_model_request_in({**asked.settled(), **change}),
            tmp_path / "run",
            jobs=1,
            quiet=True,
        )
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_a_reference_is_trained(asked, tmp_path):
    out = str(tmp_path / "reference")
    request = ReferenceRequest(asked.population, out, layers=1, hidden=8, vocabulary=90, epochs=2)
    found = reference_of_request(request, quiet=True)
    assert len(found.losses) == 2
    assert load_masked(out).source.weights
    assert found.summary().startswith(f"{out}: 10 texts of ")
