import numpy as np
import pytest

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.risk import at_prior
from privacygauge.papers import Effort, song2021_risk
from privacygauge.papers.catalogue import judgement
from privacygauge.papers.song2021 import LOCATION
from privacygauge.papers.song2021_risk import (
    song_fig6,
    song_fig8,
    song_fig10,
    song_fig11,
    song_table6,
)
from tests.classifiers.made import made_up

CUTS = song2021_risk.CUTS


class Side:
    """What stands in for a trained model: its predictions alone."""

    def __init__(self, seed, leak):
        self.predictions = made_up(n=300, leak=leak, seed=seed)


@pytest.fixture(scope="module")
def views():
    """The authors' model leaks, MemGuard hides all of it, and ours leaks more."""
    given = {
        "tc_output": (made_up(n=300, leak=1.0), made_up(n=300, leak=1.0, seed=1)),
        "defense_output": (made_up(n=300, seed=2), made_up(n=300, seed=3)),
    }
    pairs = [(Side(4, 2.5), Side(5, 2.5)), (Side(6, 2.5), Side(7, 2.5))]
    with pytest.MonkeyPatch.context() as patch:
        # The half on Purchase100 has models of its own.
        patch.setattr(song2021_risk, "threshold_rows", lambda *_: [])
        patch.setattr(song2021_risk, "setting", lambda *_: None)
        patch.setattr(song2021_risk, "authors_predictions", given.get)
        patch.setattr(song2021_risk, "trained_sides", lambda *_: pairs)
        made = song2021_risk._views(Effort(), LOCATION)
        patch.setattr(song2021_risk, "_views", lambda *_: made)
        yield {view.name: view for view in made}


def cells(table):
    return {row.label: {name: cell.ours for name, cell in row.cells.items()} for row in table.rows}


@pytest.mark.slow
def test_every_table_and_figure_of_the_risk_score_is_read_off_the_same_scores(views):
    assert {name: len(view.fits) for name, view in views.items()} == {
        "authors": 1,
        "MemGuard": 1,
        "alike": 2,
    }
    precision = cells(song_table6(Effort()))
    recalls = [
        precision[f"alike: score of at least {c:g}"]["histogram: recall"].value for c in CUTS
    ]
    assert recalls == sorted(recalls)
    half = precision["alike: score of at least 0.5"]["isotonic: precision"]
    assert isinstance(half, Estimate)
    assert half.value > 0.7

    shares = cells(song_fig6(Effort()))
    scores = views["authors"].fits[0].risk["histogram"].member_scores
    assert shares["at most 0.7"]["authors"].value == pytest.approx(np.mean(scores <= 0.7))
    assert shares["mean"]["alike"].value > shares["mean"]["MemGuard"].high
    assert not shares["mean"]["MemGuard"].excludes(0.5)

    excess = cells(song_fig10(Effort()))
    assert excess["prior 0.5"]["authors"].value == pytest.approx(scores.mean() - 0.5)
    # By Bayes' theorem the same members are above their prior at every prior.
    over = excess.pop(song2021_risk.ABOVE)
    assert over["authors"].value == pytest.approx(np.mean(scores > 0.5))
    for prior in song2021_risk.PRIORS:
        assert np.mean(at_prior(scores, prior) > prior) == pytest.approx(np.mean(scores > 0.5))
    for name, found in excess.items():
        assert found["alike"].value > found["MemGuard"].value, name
        assert not found["MemGuard"].excludes(0.0)

    # Target and shadow are drawn from one distribution: scores mean what they say.
    distance = cells(song_fig11(Effort()))
    assert distance["risk score, isotonic"]["authors"].value < 0.15
    assert set(distance["network's output"]) == set(views)


@pytest.mark.slow
def test_the_papers_numbers_stand_beside_the_model_that_is_most_alike(views):
    made = [make(Effort()) for make in (song_table6, song_fig6, song_fig8, song_fig10, song_fig11)]
    printed = {
        (table.name, row.label, name): cell.published
        for table in made
        for row in table.rows
        for name, cell in row.cells.items()
        if cell.published is not None
    }
    assert len(printed) == 24 + 1 + 1 + 5 + 4
    assert printed["song-table6", "MemGuard: score of at least 0.6", "histogram: recall"] == 0.705
    assert printed["song-fig10", "prior 0.9", "authors"] == 0.02
    assert printed["song-fig11", song2021_risk.ON_TARGET, "MemGuard"] == 0.21
    # None is on Location30, so that none can agree or differ.
    for table in made:
        assert "agree" not in judgement(table.name).of(table).counts


def test_thirds_of_the_classes_hold_all_members(views):
    fit = views["alike"].fits[0]
    thirds = [fit.of_third(third) for third in range(3)]
    assert sum(len(scores) for scores in thirds) == fit.target.n_in
    everyone = np.sort(np.concatenate(thirds))
    np.testing.assert_array_equal(everyone, fit.risk["histogram"].member_scores)
    errors = {row.label: row.generalisation_error for row in fit.risk["histogram"].classes}
    smallest = min(errors, key=errors.get)
    members = fit.target.member & (fit.target.labels == smallest)
    assert np.isin(fit.scores[members], thirds[0]).all()
    found = cells(song_fig8(Effort()))
    assert "mean score, third of the classes with the largest error" in found
    assert {"authors", "alike"} <= set(found["Pearson's correlation, histogram"])
