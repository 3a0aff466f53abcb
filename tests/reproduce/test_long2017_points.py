"""Figures 1, 4 and 5 of Long et al. (2017): a point a record, and what is said of bands of PDTP."""

from types import SimpleNamespace

import numpy as np
import pytest

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import PerTarget
from privacygauge.reproduce import Effort, long2017_figures
from privacygauge.reproduce.catalogue import judgement
from privacygauge.reproduce.long2017_figures import FOUND, HIGHEST, LOWEST, RIGHT, draw_points

PDTP = np.array([0.1, 0.2, 0.3, 0.7, 1.5, 1.6, 4.5, 5.0, 6.0])
RIGHT_GUESSES = np.array([50, 52, 54, 60, 75, 77, 94, 97, 99])


@pytest.fixture
def table(monkeypatch):
    """Figure 4 of nine records whose attacks and PDTP are known, the same for every model."""
    n = len(PDTP)
    found = SimpleNamespace(
        evaluations=[SimpleNamespace(title="distance", name="distance")],
        per_target={"distance": PerTarget(np.arange(n), RIGHT_GUESSES, np.full(n, 100))},
        measured=np.array([PDTP - 0.05, PDTP + 0.05]),
        targets=np.arange(10, 10 + n),
    )
    monkeypatch.setattr(long2017_figures, "play_distance_attack", lambda *_: found)
    monkeypatch.setattr(long2017_figures, "notes_of", lambda *_: ())
    return long2017_figures.long_fig4(Effort())


def test_bands_count_each_record_once(table):
    bands = [row for row in table.rows if row.label.startswith("NB-Purchase, PDTP") and
             "records" in row.cells]  # fmt: skip
    assert [row.cells["records"].ours.value for row in bands] == [3, 1, 2, 0, 3]
    assert table.cell(f"NB-Purchase, {LOWEST}", RIGHT).ours.value == pytest.approx(0.52)
    assert table.cell(f"NB-Purchase, {HIGHEST}", FOUND).ours.value == 1
    # Of a single record nothing is said, nor of none.
    for band in ("0.5 to 1", "2 to 4"):
        assert isinstance(table.cell(f"NB-Purchase, PDTP {band}", RIGHT).ours, Skipped)
    expected = np.corrcoef(PDTP, RIGHT_GUESSES)[0, 1]
    assert table.cell("NB-Purchase", "correlation").ours.value == pytest.approx(expected)


def test_every_record_is_a_point(table):
    points = [row for row in table.rows if row.label.startswith("record ")]
    assert [row.label for row in points] == [f"record {i}" for i in range(10, 19)]
    assert [row.cells["LR-Purchase: PDTP"].ours.value for row in points] == pytest.approx(PDTP)
    figure = draw_points(table)
    drawn = [ax.collections[0].get_offsets() for ax in figure.axes]
    assert len(drawn) == 3
    np.testing.assert_allclose(drawn[0], np.column_stack([PDTP, RIGHT_GUESSES / 100]))


def test_the_claims_of_the_abstract_are_judged_on_the_bands(table):
    words = {one.claim: one.word for one in judgement("long-fig4").of(table).claims}
    assert words["NN-Purchase: right in 66.5% at most, PDTP below 0.5"] == "holds"
    assert words["NN-Purchase: right in more than 90%, PDTP above 4"] == "holds"
    assert words["NN-Purchase: some records have a PDTP above 1"] == "holds"
    # Three records of three are too few to speak of most.
    assert words["NN-Purchase: so for most records, PDTP above 4"] == "open"
