"""Runs on disk: what is computed once, and what is left of a run that was killed."""

from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import pair_log_probabilities, token_log_probabilities
from privacygauge.language.model import MaskedModel, load_masked
from privacygauge.runs.store import read_run
from tests.language.tiny_models import made_texts

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture
def asked(monkeypatch):
    """Count the passes of every model, by its folder."""
    counts = {}
    ask = MaskedModel.ask

    def counted(self, batch):
        counts[self.source.path] = counts.get(self.source.path, 0) + 1
        return ask(self, batch)

    monkeypatch.setattr(MaskedModel, "ask", counted)
    return counts


def contents(folder):
    """Return every file of a folder but the notes of who holds it."""
    return {
        path.relative_to(folder): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_two_targets_ask_their_reference_once(folders, bert, texts, tmp_path, asked):
    reference = load_masked(folders(seed=1))
    first = pair_log_probabilities(bert, reference, texts, run=tmp_path)
    n_passes = asked[reference.source.path]
    other = load_masked(folders("distilbert"))
    second = pair_log_probabilities(other, reference, texts, run=tmp_path)
    assert asked[reference.source.path] == n_passes > 0
    assert np.array_equal(first.reference.mean(), second.reference.mean())
    assert len([*tmp_path.iterdir()]) == 3


def test_what_is_stored_is_read_again(bert, texts, tmp_path, asked):
    first = token_log_probabilities(bert, texts, run=tmp_path)
    n_passes = sum(asked.values())
    again = token_log_probabilities(bert, [*texts[::-1], texts[0]], run=tmp_path)
    assert sum(asked.values()) == n_passes > 0
    assert np.array_equal(again.mean()[-2::-1], first.mean())


@pytest.mark.parametrize(
    "other",
    [
        {"plan": MaskPlan(seed=1)},
        pytest.param({"plan": MaskPlan(n_masks=9)}, marks=pytest.mark.slow),
        pytest.param({"plan": MaskPlan("random")}, marks=pytest.mark.slow),
        pytest.param({"plan": MaskPlan(unit="word")}, marks=pytest.mark.slow),
        {"seed": 1},
        {"more": ["fever"]},
    ],
    ids=lambda value: next(iter(value)),
)
def test_nothing_is_taken_for_something_else(folders, bert, texts, tmp_path, asked, other):
    token_log_probabilities(bert, texts, run=tmp_path)
    model = load_masked(folders(seed=other.get("seed", 0)))
    texts = [*texts, *other.get("more", [])]
    kept = token_log_probabilities(model, texts, other.get("plan"), run=tmp_path)
    alone = token_log_probabilities(model, texts, other.get("plan"))
    assert np.array_equal(kept.mean(), alone.mean())
    assert len([*tmp_path.iterdir()]) == 2


def test_damage_is_repaired(bert, texts, tmp_path):
    first = token_log_probabilities(bert, texts, run=tmp_path)
    before = contents(tmp_path)
    chunk = next(path for path in before if "log_probability/c/" in str(path))
    (tmp_path / chunk).write_bytes(b"nothing")
    again = token_log_probabilities(bert, texts, run=tmp_path)
    assert np.array_equal(first.mean(), again.mean())
    assert contents(tmp_path) == before


def test_a_folder_of_something_else_is_left_alone(bert, texts, tmp_path):
    token_log_probabilities(bert, texts, run=tmp_path)
    place = next(tmp_path.iterdir())
    plan = read_run(place).plan
    assert plan.name == "language"
    assert plan.settings["weights"] == bert.source.weights
    for path in sorted(place.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="holds something else than a run"):
        token_log_probabilities(bert, texts, run=tmp_path)


@pytest.mark.slow
def test_a_stopped_run_goes_on_and_ends_the_same(bert, tmp_path, asked, monkeypatch):
    texts = made_texts(80, 5)
    stopped = tmp_path / "stopped"
    whole = tmp_path / "whole"
    again = token_log_probabilities(bert, texts, run=whole)
    n_whole = sum(asked.values())
    ask = MaskedModel.ask
    asked.clear()

    def until_the_last(self, batch):
        if sum(asked.values()) == n_whole - 1:
            raise KeyboardInterrupt
        return ask(self, batch)

    with monkeypatch.context() as patch:
        patch.setattr(MaskedModel, "ask", until_the_last)
        with pytest.raises(KeyboardInterrupt):
            token_log_probabilities(bert, texts, run=stopped)
    n_done = read_run(next(stopped.iterdir())).n_done()
    assert 0 < n_done < 80
    asked.clear()
    told = []
    first = token_log_probabilities(
        bert, texts, run=stopped, progress=lambda *counts: told.append(counts)
    )
    assert told[0] == (n_done, 80)
    assert 0 < sum(asked.values()) < n_whole
    assert np.array_equal(first.log_probability, again.log_probability)
    assert contents(stopped) == contents(whole)


@pytest.mark.slow
def test_workers_give_the_same_bytes(bert, tmp_path):
    texts = made_texts(70, 5)
    token_log_probabilities(bert, texts, run=tmp_path / "one")
    token_log_probabilities(bert, texts, run=tmp_path / "two", n_jobs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
