import numpy as np
import pytest

from privacygauge.claims.defences.early_stopping import Trajectories
from privacygauge.classifiers.neural import Network, NeuralNasr
from privacygauge.core.estimate import Skipped
from privacygauge.papers import Effort, song2021_calibration, song2021_training
from privacygauge.papers.song2021 import LOCATION, DataSetting, Side
from privacygauge.papers.song2021_calibration import (
    ATTACKS,
    CLASSIFIERS,
    EARLY,
    REGULARISED,
    STOPPED,
    UNDEFENDED,
    Pair,
    classifiers,
    score_pairs,
)
from tests.classifiers.made import made_up

N = 40


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    sides = Side(0, N, range(4 * N, 5 * N)), Side(2 * N, N, range(5 * N, 6 * N))
    y = rng.integers(3, size=6 * N)
    return DataSetting(LOCATION, np.zeros((6 * N, 2)), y, sides, "tanh")


def learning(asked, regularised_as):
    """Models that know their members; others a little better after each epoch.

    A regularised model knows as many others as the undefended one after an epoch.
    """

    def made(trainer, cohort, recorded):
        asked.append((trainer, cohort, recorded))
        rows = cohort.asked
        known = [regularised_as] if len(recorded) == 1 else recorded
        logits = np.zeros((len(cohort), len(recorded), len(rows), 3), np.float32)
        for model, inside in enumerate(cohort.inside[:, rows]):
            for place, epoch in enumerate(known):
                right = inside | (np.arange(len(rows)) % 10 < epoch)
                at = np.where(right, cohort.y[rows], (cohort.y[rows] + 1) % 3)
                logits[model, place, np.arange(len(rows)), at] = 1.0 + epoch
        return Trajectories(np.array(recorded), logits)

    return made


def test_training_stops_where_it_is_as_accurate_as_the_regularised_model(data, monkeypatch):
    asked = []
    told = []
    monkeypatch.setattr(song2021_training, "trajectories", learning(asked, 3))
    found = classifiers(data, Effort(quick=True, progress=lambda *done: told.append(done)))
    assert tuple(found) == CLASSIFIERS
    assert told[-1] == (4, 4)
    assert [len(pairs) for pairs in found.values()] == [1, 1, 1]
    levels = {kind: pairs[0].target.values.max() for kind, pairs in found.items()}
    assert levels == {UNDEFENDED: 1.0 + song2021_calibration.QUICK, REGULARISED: 4.0, STOPPED: 4.0}
    for pairs in found.values():
        assert pairs[0].shadow.n_in == N
        right = pairs[0].shadow.values.argmax(axis=1) == pairs[0].shadow.labels
        assert right[pairs[0].shadow.member].all()
    assert asked[0][2] == (*EARLY, song2021_calibration.QUICK)
    # A regularised model starts where the undefended one does, and learns the same records.
    assert asked[0][1].seeds == asked[2][1].seeds != asked[1][1].seeds
    for number, (trainer, cohort, _) in enumerate(asked):
        np.testing.assert_array_equal(cohort.inside[0], data.sides[number % 2].inside(6 * N))
        if number > 1:
            assert trainer.reference.index == tuple(data.sides[number % 2].reference)


def test_what_was_trained_is_not_trained_again_by_another_figure(data, monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(song2021_training, "trajectories", learning(asked, 2))
    first = classifiers(data, Effort(quick=True, run=tmp_path / "song-fig3"))
    assert len(asked) == 4
    again = classifiers(data, Effort(quick=True, run=tmp_path / "song-fig5"))
    assert len(asked) == 4
    for kind in CLASSIFIERS:
        np.testing.assert_array_equal(
            first[kind][0].target.values, again[kind][0].target.values, err_msg=kind
        )


def test_where_no_epoch_is_as_accurate_nothing_stopped_early(data, monkeypatch):
    monkeypatch.setattr(song2021_training, "trajectories", learning([], 9))
    found = classifiers(data, Effort(quick=True))
    assert isinstance(found[STOPPED], Skipped)
    assert "no recorded epoch is as accurate" in found[STOPPED].reason


def test_scores_are_probabilities_of_the_records_as_they_come(monkeypatch):
    quick = {**ATTACKS, "network": NeuralNasr(Network(8, 30, learning_rate=0.03, batch=50))}
    monkeypatch.setattr(song2021_calibration, "ATTACKS", quick)
    pair = Pair(made_up(n=200, leak=2.0), made_up(n=200, leak=2.0, seed=1))
    names = [name for name in ATTACKS if not name.endswith("long")]
    (found,) = score_pairs([pair], 0, names)
    np.testing.assert_array_equal(found.member, pair.target.member)
    assert list(found.by_name) == names
    for name, score in found.by_name.items():
        assert (score.min() >= 0) & (score.max() <= 1), name
        assert score[found.member].mean() > score[~found.member].mean() + 0.1, name
    alone = score_pairs([pair], 0, names[:1])[0].by_name[names[0]]
    np.testing.assert_array_equal(alone, found.by_name[names[0]])
