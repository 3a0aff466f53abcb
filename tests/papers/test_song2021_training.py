from dataclasses import replace

import numpy as np
import pytest

from privacygauge.claims.defences.early_stopping import Trajectories
from privacygauge.core.estimate import Skipped
from privacygauge.papers import song2021_training
from privacygauge.papers.song2021_training import song_fig2, song_table2
from privacygauge.papers.table import Effort
from tests.papers.made_tables import measured
from tests.thorough import only_thorough

RECORDED = (2, 40)
DEFENDED = "adversarial regularisation, weight 1"


def remembered(trained):
    """Models that learn their members by heart, a little more after each epoch."""

    def made(trainer, cohort, recorded):
        trained.append((trainer, cohort.inside[0]))
        asked = cohort.asked
        logits = np.zeros((1, len(recorded), len(asked), 30), np.float32)
        # Of all classes but the true one: later epochs get more records right, and stay so.
        easy = np.arange(len(asked)) % 16
        for place in range(len(recorded)):
            known = cohort.inside[0, asked]
            right = known | (easy <= place)
            logits[0, place, np.arange(len(asked)), cohort.y[asked]] = np.where(right, 1.0, -1.0)
            logits[0, place, np.arange(len(asked)), cohort.y[asked]] += 0.5 * place * known
        return Trajectories(np.array(recorded), logits)

    return made


@pytest.fixture
def trained(monkeypatch, data_folder):
    found = []
    monkeypatch.setattr(song2021_training, "trajectories", remembered(found))
    monkeypatch.setattr(song2021_training, "RECORDED", RECORDED)
    return found


@pytest.mark.slow
def test_a_defence_stands_beside_the_epoch_of_equal_accuracy(trained):
    told = []
    table = song_table2(Effort(quick=True, progress=lambda *done: told.append(done)))
    assert told[-1] == (8, 8)
    rows = measured(table)
    assert list(rows) == [
        "no defence",
        DEFENDED,
        f"{DEFENDED}: early stopping (nearest)",
        f"{DEFENDED} less nearest",
        f"{DEFENDED}: early stopping (first)",
        f"{DEFENDED} less first",
    ]
    # Here both train alike, so the equal epoch is the last one and nothing differs.
    assert rows[f"{DEFENDED}: early stopping (first)"]["epoch"].ours.value == RECORDED[-1]
    for name in ("test accuracy", "highest"):
        assert rows[f"{DEFENDED} less first"][name].ours.value == 0.0
    assert rows["no defence"]["confidence"].ours.value > 0.99
    assert rows["no defence"]["train accuracy"].ours.value == 1.0
    assert all(cell.published is None for row in rows.values() for cell in row.values())


@pytest.mark.slow
def test_the_figure_takes_the_models_of_the_table(trained, tmp_path):
    table = song_table2(Effort(quick=True, run=tmp_path / "song-table2"))
    assert len(trained) == 8
    again = song_table2(Effort(quick=True, run=tmp_path / "song-table2"))
    assert again == table
    last = song_fig2(Effort(quick=True, run=tmp_path / "song-fig2")).rows[-1]
    assert len(trained) == 8
    undefended = table.rows[0].cells["test accuracy"].ours
    assert last.cells["no defence: test accuracy"].ours == undefended


@pytest.mark.slow
def test_nobody_is_judged_on_what_another_learnt_from(trained):
    song_table2(Effort(quick=True))
    for number, (trainer, inside) in enumerate(trained):
        # Of each kind two targets, then two shadow models.
        shadow = number // 2 % 2 == 1
        own = slice(2000, 3000) if shadow else slice(0, 1000)
        assert inside[own].all()
        assert inside.sum() == 1000
        if hasattr(trainer, "reference"):
            references = np.array(trainer.reference.index)
            assert references.min() >= (4505 if shadow else 4000)
            assert references.max() < (5010 if shadow else 4505)


@pytest.mark.slow
def test_the_figure_has_every_epoch(trained):
    table = song_fig2(Effort(quick=True))
    assert [row.label for row in table.rows] == [f"epoch {epoch}" for epoch in RECORDED]
    reached = [row.cells["no defence: test accuracy"].ours.value for row in table.rows]
    assert reached == sorted(reached)
    assert set(table.rows[0].cells) == {
        f"{name}: {what}"
        for name in ("no defence", DEFENDED)
        for what in ("test accuracy", "highest attack")
    }


@pytest.mark.slow
def test_where_no_epoch_is_as_accurate_the_row_says_so(trained, monkeypatch):
    def never(epochs, accuracy, wanted):
        return Skipped("early stopping", "no recorded epoch is as accurate")

    monkeypatch.setattr(song2021_training, "first_epoch", never)
    rows = {row.label: row.cells for row in song_table2(Effort(quick=True)).rows}
    assert isinstance(rows[f"{DEFENDED}: early stopping (first)"]["highest"].ours, Skipped)
    assert f"{DEFENDED} less first" not in rows


@only_thorough
@pytest.mark.slow
@pytest.mark.torch
def test_a_short_form_can_be_made(monkeypatch, data_folder):
    pytest.importorskip("torch")
    monkeypatch.setattr(song2021_training, "RECORDED", (1, 4))
    short = replace(song2021_training.NETWORKS, epochs=4)
    monkeypatch.setattr(song2021_training, "NETWORKS", short)
    rows = {row.label: row.cells for row in song_table2(Effort(quick=True)).rows}
    # After four epochs members are known far better than others, by both trainings.
    for name in ("no defence", DEFENDED):
        cells = rows[name]
        assert cells["train accuracy"].ours.value > cells["test accuracy"].ours.value + 0.2
        assert cells["highest"].ours.low > 0.5
