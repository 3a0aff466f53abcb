import pytest

from privacygauge.claims.defences.memguard import AttackClassifier, MemGuard, NeuralJia
from privacygauge.classifiers.suite import METRICS
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.papers import Effort, song2021_tables
from privacygauge.papers.song2021 import TABLE_4
from privacygauge.papers.song2021_tables import (
    AUTHORS,
    MEMGUARD,
    over_fits,
    song_table4_defences,
)
from tests.claims.defences.catalogue import TINY
from tests.classifiers.made import made_up
from tests.papers.made_tables import measured
from tests.thorough import THOROUGH


def estimate(value, low, high):
    return Estimate(value, low, high, 0.95, 100, "exact")


def test_equal_fits_keep_their_interval():
    one = estimate(0.6, 0.5, 0.8)
    found = over_fits([one] * 3)
    assert (found.value, found.low, found.high, found.n) == pytest.approx((0.6, 0.5, 0.8, 100))


def test_fits_that_differ_widen_it_by_students_interval():
    found = over_fits([estimate(x, x - 0.03, x + 0.04) for x in (0.6, 0.62, 0.64)])
    half = 4.302652729749464 * 0.02 / 3**0.5
    assert found.low == pytest.approx(0.62 - (0.03**2 + half**2) ** 0.5)
    assert found.high == pytest.approx(0.62 + (0.04**2 + half**2) ** 0.5)
    assert over_fits([estimate(x, 0.0, 1.0) for x in (0.1, 0.9)]).high == 1.0


@pytest.mark.slow
def test_every_defence_has_a_row_for_every_attack_and_the_papers_numbers_where_it_has_any(
    monkeypatch,
):
    """Made-up predictions in place of the authors', attacks without networks."""
    given = {
        "tc_output": (made_up(n=60, leak=2.0), made_up(n=60, leak=2.0, seed=1)),
        "defense_output": (made_up(n=60, leak=1.0), made_up(n=60, leak=1.0, seed=1)),
    }
    monkeypatch.setattr(song2021_tables, "authors_predictions", given.get)
    monkeypatch.setattr(song2021_tables, "ATTACKS", tuple(Threshold(x) for x in METRICS))
    monkeypatch.setattr(song2021_tables, "MemGuard", lambda: MemGuard(network=TINY, steps=5))
    rows = measured(song_table4_defences(Effort(quick=True)))
    assert len(rows) == 4 * (len(METRICS) + 1)
    for name in METRICS:
        for defence in (AUTHORS, "memguard (budget 1)", "rounding (2 digits)", "label-only"):
            cells = rows[f"{defence}: {name}"]
            undefended = TABLE_4[name] if defence == AUTHORS else None
            assert cells["undefended"].published == undefended
            paper = MEMGUARD[name] if "memguard" in defence else None
            assert cells["adaptive"].published == paper
            assert cells["non-adaptive"].published is None
    correct = rows["label-only: correctness"]["adaptive"].ours
    assert rows["label-only: confidence"]["adaptive"].ours.value == correct.value
    assert rows["rounding (2 digits): mean L1 distance"]["adaptive"].ours.high < 0.03


def test_without_the_authors_predictions_it_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("PRIVACYGAUGE_DATA", raising=False)
    with pytest.raises(InputError, match="location_labels_membership"):
        song_table4_defences(Effort(quick=True))


@pytest.mark.slow
def test_memguard_fools_the_network_it_knows_and_not_who_knows_it(data_folder, monkeypatch):
    """Table 4's pattern, for the authors' MemGuard and for ours."""
    if not THOROUGH:  # a smaller network on both sides, and no attack that learns all signals
        network = AttackClassifier(hidden=(64, 32), epochs=30, learning_rate=1e-3)
        attacks = (*(Threshold(x) for x in METRICS), NeuralJia(network))
        monkeypatch.setattr(song2021_tables, "ATTACKS", attacks)
        monkeypatch.setattr(song2021_tables, "MemGuard", lambda: MemGuard(network=network))
    rows = {row.label: row.cells for row in song_table4_defences(Effort(quick=True)).rows}
    for name in METRICS:
        # The paper rounds to a tenth of a percent.
        found = rows[f"{AUTHORS}: {name}"]["adaptive"]
        assert found.ours.value == pytest.approx(found.published, abs=0.00051)
    for defence in (AUTHORS, "memguard (budget 1)"):
        network = rows[f"{defence}: neural-jia"]
        assert network["undefended"].ours.low > 0.65
        assert network["non-adaptive"].ours.high < 0.55
        for name in ("correctness", "confidence", "modified-entropy"):
            cell = rows[f"{defence}: {name}"]["adaptive"]
            assert cell.ours.low > 0.65
            assert cell.ours.low <= cell.published <= cell.ours.high
        assert rows[f"{defence}: mean L1 distance"]["adaptive"].ours.high < 0.5
