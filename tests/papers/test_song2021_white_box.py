import numpy as np
import pytest

from privacygauge.classifiers.neural import Network
from privacygauge.classifiers.white_box import (
    GRADIENT_NORM,
    PARTS,
    WhiteBox,
    WhiteBoxSide,
    WhiteBoxSignals,
)
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.papers import Effort, song2021_tables
from privacygauge.papers.song2021_tables import over_pairs, song_table5, trained_sides
from tests.classifiers.made import logits_labels_member
from tests.papers.made_tables import measured
from tests.thorough import only_thorough

TINY = Network(hidden=8, epochs=15, learning_rate=0.03)
ATTACKS = (
    Threshold("modified-entropy"),
    Threshold(GRADIENT_NORM),
    WhiteBox(network=TINY),
    WhiteBox(PARTS, TINY),
)


def made_side(seed, hidden=3.0, n=160):
    logits, labels, member = logits_labels_member(n, 3, 0.0, seed)
    rng = np.random.default_rng([seed, 2])
    norms = np.exp(rng.normal(size=(n, 2)) - hidden * member[:, None])
    signals = WhiteBoxSignals(("a", "b"), norms, logits, labels, np.ones((n, 1)), "loop")
    return WhiteBoxSide(signals, member)


def test_what_the_gradients_add_is_a_difference_on_the_same_records(monkeypatch):
    monkeypatch.setattr(song2021_tables, "WHITE_BOX_ATTACKS", ATTACKS)
    monkeypatch.setattr(song2021_tables, "COMPARED", ("modified-entropy", GRADIENT_NORM))
    asked = []

    def made(effort, n, data):
        asked.append(n)
        return [(made_side(i), made_side(10 + i)) for i in range(n)]

    monkeypatch.setattr(song2021_tables, "trained_sides", made)
    rows = measured(song_table5(Effort(quick=True)))
    assert asked == [1]
    for game in ("half known", "shadow model"):
        found = [rows[name][game].ours for name in ("white-box", "modified-entropy")]
        assert found[0].low > 0.75
        assert not found[1].excludes(0.5)
        less = rows["white-box less modified-entropy"][game].ours
        assert less.value == pytest.approx(found[0].value - found[1].value)
        assert less.value > 0.3
        assert not rows[f"white-box less {GRADIENT_NORM}"][game].ours.excludes(0.0)
        assert rows["white-box with activations"][f"{game}, AUC"].ours.low > 0.75
    assert all(cell.published is None for cells in rows.values() for cell in cells.values())
    assert not isinstance(rows["train accuracy"]["accuracy"].ours, Skipped)


def test_every_pair_has_draws_of_its_own(monkeypatch):
    """With the same halves and attack networks the spread over pairs would leave both out."""
    monkeypatch.setattr(song2021_tables, "WHITE_BOX_ATTACKS", ATTACKS)
    monkeypatch.setattr(song2021_tables, "COMPARED", ("modified-entropy", GRADIENT_NORM))
    monkeypatch.setattr(
        song2021_tables,
        "trained_sides",
        # Equal models, so that the attackers' own draws alone can differ.
        lambda effort, n, data: [(made_side(0, hidden=0.7), made_side(10)) for _ in range(n)],
    )
    summed = []
    over_fits = song2021_tables.over_fits
    monkeypatch.setattr(
        song2021_tables,
        "over_fits",
        lambda fits: summed.append({fit.value for fit in fits}) or over_fits(fits),
    )
    song_table5(Effort(n_jobs=1))
    assert max(map(len, summed)) > 1


def test_pairs_of_models_that_differ_widen_the_interval():
    def one(value):
        return Estimate(value, value - 0.03, value + 0.04, 0.95, 100, "exact")

    assert over_pairs([one(-0.2)]) == one(-0.2)
    found = over_pairs([one(-0.02), one(0.0), one(0.02)])
    half = 4.302652729749464 * 0.02 / 3**0.5
    assert found.value == pytest.approx(0.0)
    assert found.low == pytest.approx(-np.hypot(0.03, half))
    assert found.high == pytest.approx(np.hypot(0.04, half))
    assert found.n == 100


@pytest.mark.slow
@pytest.mark.torch
def test_sides_are_the_members_and_non_members_of_their_models(monkeypatch, data_folder, tmp_path):
    """Small networks, trained for one epoch; a run is resumed, unless its weights are gone."""
    pytest.importorskip("torch")
    from dataclasses import replace

    from privacygauge.classifiers.networks import MLP

    small = MLP((8,), "relu")
    networks = replace(song2021_tables.NETWORKS, make=small, epochs=1)
    monkeypatch.setattr(song2021_tables, "NETWORKS", networks)
    monkeypatch.setattr(song2021_tables, "SONG_MITTAL_2021_RELU", small)
    effort = Effort(run=tmp_path / "song-table5")
    ((target, shadow),) = trained_sides(effort, 1)
    assert len(target.signals) == len(shadow.signals) == 2000
    assert target.member.sum() == shadow.member.sum() == 1000
    assert target.signals.engine == "dense"
    again = trained_sides(effort, 1)[0][1]
    np.testing.assert_array_equal(again.signals.norms, shadow.signals.norms)
    (weights,) = tmp_path.glob("song-models-*/weights")
    (weights / "model-000001.safetensors").unlink()
    with pytest.raises(InputError, match="is not among the weights of the run"):
        trained_sides(effort, 1)


@only_thorough
@pytest.mark.slow
@pytest.mark.torch
def test_the_weights_add_little_as_in_the_paper(data_folder):
    """Table 5's pattern: the advantage over predictions is there, and below six points."""
    pytest.importorskip("torch")
    rows = {row.label: row.cells for row in song_table5(Effort(quick=True, n_jobs=1)).rows}
    for game in ("half known", "shadow model"):
        assert rows["white-box"][game].ours.low > 0.8
        assert rows["modified-entropy"][game].ours.low > 0.8
        for other in ("modified-entropy", "neural-nasr"):
            assert -0.01 < rows[f"white-box less {other}"][game].ours.value < 0.06
