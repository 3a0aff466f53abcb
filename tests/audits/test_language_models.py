"""From models and texts to an audit: a planted leak, shared answers, what is wrong in one line."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.language.audit.audit import audit_causal, audit_language, audit_masked
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.loading import model_kind
from privacygauge.language.model import MaskedModel, load_causal, load_masked
from privacygauge.language.scores import (
    energies_frame,
    load_text_scores,
    text_scores,
    write_energies,
)
from privacygauge.language.text_energies import NO_REFERENCE, text_energies
from privacygauge.language.text_files import TextRecords
from privacygauge.language.token_signals import SideTokens, signals_alone
from privacygauge.language.training import train_further, train_reference
from privacygauge.runs.store import runs_in
from tests.language.notes import NotesDesign, made_up_notes
from tests.language.tiny_models import byte_pairs, made_texts, saved, word_pieces

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

NOTES = made_up_notes(NotesDesign((20, 20, 20, 8), (1, 1), (2, 2)), np.random.default_rng(0))


def of(role):
    rows = np.flatnonzero(NOTES.of(role))
    columns = (NOTES.text, NOTES.sample, NOTES.group)
    return TextRecords(*(tuple(column[row] for row in rows) for column in columns))


SIDES = tuple(map(of, ("member", "nonmember", "population")))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Return the folders of a target, trained for 30 epochs on 40 sentences, and its reference."""
    place = tmp_path_factory.mktemp("pair")
    size = {"layers": 1, "hidden": 32, "vocabulary": 500}
    reference = train_reference(of("reference").text, place / "reference", **size, epochs=3)
    target = train_further(
        reference.path, SIDES[0].text, place / "target", epochs=30, batch=10, rate=1e-2
    )
    return target.path, reference.path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return the folders of two models with random weights."""
    place = tmp_path_factory.mktemp("models")
    return saved(place / "a"), saved(place / "b", seed=1)


@pytest.fixture(scope="module")
def texts():
    made = made_texts(36, 4)
    return made[:14], made[14:26], made[26:]


@pytest.fixture(scope="module")
def audited(models, texts, tmp_path_factory):
    """Return an audit, the folder with its run and its file of energies, and its progress."""
    place = tmp_path_factory.mktemp("audited")
    told = []
    audit = audit_masked(
        *models,
        *texts,
        run=place / "run",
        energies=place / "energies.parquet",
        progress=lambda *counts: told.append(counts),
    )
    return audit, place, told


def attack(audit, name):
    return next(found for found in audit.evaluations if found.name == name)


@pytest.mark.slow
def test_a_planted_leak_is_found_and_no_control_fires(pair):
    audit = audit_masked(*pair, *SIDES)
    assert attack(audit, "likelihood-ratio").auc.low > 0.7
    reference = audit.controls.reference
    assert audit.controls.fired == ()
    assert reference.auc.low < 0.5 < reference.auc.high
    assert attack(audit, "likelihood-ratio").auc.low > reference.auc.high
    assert not isinstance(audit.controls.blind, Skipped)
    assert audit.origin.provenance["target"].startswith("target sha256:")
    assert json.loads(audit.origin.provenance["masks"])["pattern"] == "balanced"


@pytest.mark.slow
def test_the_same_audit_from_the_file_of_energies(audited):
    audit, place, _ = audited
    frame = pd.read_parquet(place / "energies.parquet")
    assert "text" not in frame.columns
    assert frame["sample"].tolist()[:2] == ["member-0", "member-1"]
    assert frame["member"].sum() == 14
    assert frame["population"].sum() == 10
    again = audit_language(place / "energies.parquet")
    for name in ("loss", "likelihood-ratio"):
        assert attack(again, name).auc == attack(audit, name).auc


def test_energies_as_csv(tmp_path):
    scores = text_scores(["a", "b"], [0.1, 0.2 / 3], [1, 0], length=[3, 4])
    write_energies(scores, tmp_path / "new" / "energies.csv")
    found = load_text_scores(tmp_path / "new" / "energies.csv")
    assert found.sample == scores.sample
    assert found.energy_target.tolist() == scores.energy_target.tolist()
    assert found.length.tolist() == [3, 4]
    assert found.energy_reference is None


@pytest.mark.slow
def test_a_second_target_finds_the_answers_of_its_reference(audited, models, texts, monkeypatch):
    audit, place, _ = audited
    assert len(runs_in(place / "run")) == 6
    asked = []
    ask = MaskedModel.ask
    monkeypatch.setattr(
        MaskedModel, "ask", lambda model, batch: asked.append(model.source) or ask(model, batch)
    )
    target = load_masked(models[0])
    turned = audit_masked(models[1], target, *texts, run=place / "run")
    assert not asked
    assert turned.energies.target.tolist() == audit.energies.reference.tolist()
    # Other members: the target is asked about them, and about nobody else.
    others = made_texts(8, 11, 5)
    audit_masked(target, None, others, *texts[1:], run=place / "run")
    n_asked = len(asked)
    token_log_probabilities(target, others)
    assert len(asked) == 2 * n_asked > 0


@pytest.mark.slow
def test_progress_counts_texts_once_a_model(audited):
    told = audited[2]
    assert told[0] == (0, 72)
    assert told[-1] == (72, 72)
    assert told == sorted(told)


@pytest.mark.slow
def test_without_a_reference(audited, models, texts):
    audit = audit_masked(models[0], None, *texts, run=audited[1] / "run")
    assert {found.name for found in audit.evaluations} == {"loss"}
    assert NO_REFERENCE in audit.warnings
    assert isinstance(audit.controls.reference, Skipped)
    assert isinstance(audit.controls.matched, Skipped)
    assert attack(audit, "loss").auc == attack(audited[0], "loss").auc
    assert NO_REFERENCE not in audited[0].warnings


@pytest.mark.slow
def test_the_sum_is_so_many_times_the_mean(models, texts):
    target = load_masked(models[0])
    plan = MaskPlan(n_masks=2)
    mean, total = (
        text_energies(target, None, texts, plan=plan, form=form) for form in ("mean", "sum")
    )
    n_masked = [plan.n_masked(length) for length in mean.length]
    # Both add up the same numbers.
    assert total.energy_target == pytest.approx(mean.energy_target * n_masked, rel=1e-12)


@pytest.mark.slow
def test_one_unit_for_all_sides(tmp_path, models):
    """Only the population holds a capital letter, at which the two tokenizers part."""
    cased = saved(tmp_path / "cased", tokenizer=word_pieces(lowercase=False))
    target = load_masked(models[0])
    sides = (["pain in knee", "after fall"], ["left knee", "two days"], ["Left pain daily"])
    found = text_energies(target, load_masked(cased), sides)
    assert found.length.tolist() == [3, 2, 2, 2, 3]
    assert any("words are masked instead of tokens" in note for note in found.notes)


@pytest.mark.slow
def test_texts_that_are_too_short_are_left_out_and_counted(tmp_path, models):
    causal = load_causal(saved(tmp_path, "gpt2", tokenizer=byte_pairs(framed=False)))
    some = made_texts(5, 3, 5)
    others = made_texts(5, 4, 5)
    sides = ([some[0], "x", *some[1:], "3"], others)
    found = text_energies(causal, None, sides)
    assert found.sample[:5] == ("member-0", "member-2", "member-3", "member-4", "member-5")
    assert any(note.startswith("2 member texts were left out: too short") for note in found.notes)
    alone = text_energies(causal, None, (some, others))
    assert found.energy_target.tolist() == alone.energy_target.tolist()
    assert not any("left out: too short" in note for note in alone.notes)
    # A masked model hides the only token there is.
    masked = text_energies(load_masked(models[0]), None, sides)
    assert len(masked.sample) == 12
    with pytest.raises(InputError, match="every text must have at least two units"):
        text_energies(causal, None, (["x", some[0]], others))


def test_notes_say_which_side(models):
    long = " ".join(made_texts(12, 3, 10, 14))
    found = text_energies(load_masked(models[0]), None, [["pain", long], ["fever", "chills"]])
    assert any(note.startswith("Of the member texts: 1 of 2 texts") for note in found.notes)
    assert energies_frame(found)["length"].max() > 62


@pytest.mark.slow
def test_causal_models_too(tmp_path, texts):
    target, reference = (saved(tmp_path / str(seed), "gpt2", seed) for seed in (0, 1))
    assert [model_kind(path) for path in (target, saved(tmp_path / "b"))] == ["causal", "masked"]
    audit = audit_causal(target, reference, *texts, energies=tmp_path / "energies.csv")
    further = ["zlib", "min-k", "min-k++"]
    compared = ["ez-mia", "wbc"]
    names = {"loss", "likelihood-ratio", *further, *compared}
    assert {found.name for found in audit.evaluations} == names
    assert any("attack learned was not played: it needs 20 people" in w for w in audit.warnings)
    model = load_causal(target)
    alone = signals_alone(SideTokens(texts[2], token_log_probabilities(model, texts[2])))
    again = load_text_scores(tmp_path / "energies.csv")
    for name in further:
        found = again.further[name][again.population]
        # Beside other texts, float32 numbers may differ in the last digits.
        assert found == pytest.approx(alone[name], rel=1e-4)
    assert [x.auc for x in audit_language(again).evaluations] == [x.auc for x in audit.evaluations]
    with pytest.raises(InputError, match="must have a mask token, got none"):
        audit_masked(target, reference, *texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"members": []}, "members: there are no texts in it"),
        ({"nonmembers": [" "]}, "nonmembers: text must not be empty, got an empty one in row 0"),
        ({"members": ["pain", "\u200b"]}, "member texts: every text must have at least one token"),
        (
            {"members": {"text": ["pain"], "group": ["a"]}},
            "groups must be given for all texts or for none, got none for the nonmember texts",
        ),
        (
            {"members": {"text": ["a"], "id": [1]}, "nonmembers": {"text": ["b"], "id": [1]}},
            "an id must be of one text, got '1' for two: a member text and a nonmember text",
        ),
        ({"form": "median"}, "form must be mean or sum, got 'median'"),
        (
            {"energies": "energies.txt"},
            "energies must be a .parquet or .csv file, got energies.txt",
        ),
        (
            {"members": ["pain", "knee"], "nonmembers": ["Pain", " knee"]},
            "every member text is on both sides",
        ),
        ({"members": ["pain"]}, "needs at least two texts among the members and two among the"),
        (
            {
                "members": {"text": ["a", "b"], "note": [1, 1]},
                "nonmembers": {"text": ["c"], "note": [2]},
            },
            "at least two patients among the members and two among the non-members, got 1 and 1",
        ),
        ({"threshold": "population"}, "needs texts of the population, got none: give them, or"),
        ({"show": ["note"]}, "show must be some of text, length, got 'note'"),
        ({"fpr": 2.0}, "fpr must be in (0, 1), got 2.0"),
        ({"reference": "nowhere"}, "the model must be a folder of this machine, got 'nowhere'"),
        ({"target": "nowhere"}, "the model must be a folder of this machine, got 'nowhere'"),
    ],
)
def test_one_line_for_what_is_wrong(models, change, told):
    given = {
        "target": models[0],
        "reference": models[1],
        "members": ["pain", "knee"],
        "nonmembers": ["fever", "chills"],
        **change,
    }
    with pytest.raises(InputError) as error:
        audit_masked(**given)
    assert told in str(error.value)
    assert "\n" not in str(error.value)


def test_the_reference_is_another_model(models, tmp_path):
    sides = ["pain", "knee"], ["fever", "chills"]
    twin = shutil.copytree(models[0], tmp_path / "twin")
    loaded = load_masked(models[0])
    for target, reference in ((models[0], models[0]), (models[0], twin), (loaded, loaded)):
        with pytest.raises(InputError, match=r"^target and reference are the same model: give a"):
            audit_masked(target, reference, *sides)


def test_a_folder_of_neither_kind(tmp_path, models):
    for said, told in (
        ({"architectures": ["BertModel"]}, "got BertModel: save it with its language-model head"),
        ({}, "got no architecture"),
        ([], "config.json is damaged"),
    ):
        folder = tmp_path / str(len(told))
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(said))
        (folder / "model.safetensors").write_bytes(b"")
        with pytest.raises(InputError, match=told):
            model_kind(folder)
