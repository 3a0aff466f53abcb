"""Figures 3, 4 and 5 of Song & Mittal (2021), on made-up models."""

import numpy as np
import pytest

from privacygauge.classifiers.neural import Network, NeuralNasr
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.papers import Effort, song2021_architectures, song2021_calibration
from privacygauge.papers.song2021 import LOCATION, DataSetting, Side
from privacygauge.papers.song2021_architectures import (
    LARGEST,
    Architecture,
    architectures,
    draw_fig4,
    song_fig4,
    song_fig12,
)
from privacygauge.papers.song2021_calibration import (
    BINS,
    CLASSIFIERS,
    CUTS,
    REGULARISED,
    STOPPED,
    UNDEFENDED,
    MemberScores,
    Pair,
    bin_label,
    bin_rows,
    cut_label,
    draw_fig3,
    draw_fig5,
    over_models,
    song_fig3,
    song_fig5,
)
from tests.classifiers.made import made_up
from tests.thorough import THOROUGH

LEAKS = {UNDEFENDED: 2.5, REGULARISED: 1.0, STOPPED: 1.0}


def made_pair(seed, leak):
    return Pair(*(made_up(n=300, leak=leak, seed=2 * seed + role) for role in range(2)))


def made_classifiers(data, effort):
    return {kind: [made_pair(i, leak) for i in range(2)] for kind, leak in LEAKS.items()}


@pytest.fixture
def models(monkeypatch):
    sides = Side(0, 5, range(20, 25)), Side(10, 5, range(25, 30))
    data = DataSetting(LOCATION, np.zeros((30, 1)), np.arange(30) % 3, sides, "tanh")
    for module in (song2021_calibration, song2021_architectures):
        monkeypatch.setattr(module, "setting", lambda wanted, seed: data)
    monkeypatch.setattr(song2021_calibration, "classifiers", made_classifiers)
    monkeypatch.setattr(song2021_calibration, "classifiers", made_classifiers)
    attacks = {**song2021_calibration.ATTACKS, "network": NeuralNasr(Network(4, 3))}
    monkeypatch.setattr(song2021_calibration, "ATTACKS", attacks)


def by_label(table):
    return {row.label: row.cells for row in table.rows}


def test_bins_hold_what_a_loop_finds_in_them():
    rng = np.random.default_rng(0)
    # Edges of bins, and a score of 1, which belongs to the last.
    values = [np.round(rng.random(400), 1), rng.random(400) ** 0.2]
    found = [MemberScores(rng.permutation(400) < 200, {"score": score}) for score in values]
    rows = bin_rows("models", found, ("score",))
    assert [row.label for row in rows] == [bin_label("models", i) for i in range(BINS)]
    total = 0.0
    for number, row in enumerate(rows):
        shares = []
        realised = []
        fewest = 400
        for one in found:
            held = [
                int(m)
                for s, m in zip(one.by_name["score"], one.member, strict=True)
                if number <= s * BINS < number + 1 or (number == BINS - 1 and s == 1)
            ]
            shares.append(sum(held) / 200)
            realised.append(sum(held) / max(len(held), 1))
            fewest = min(fewest, len(held))
        assert row.cells["score: of the members"].ours.value == pytest.approx(np.mean(shares))
        total += row.cells["score: of the members"].ours.value
        share = row.cells["score: share of members"].ours
        if fewest < 10:
            assert f"{fewest} records, and at least 10 are needed" in share.reason
            continue
        assert share.value == pytest.approx(np.mean(realised))
        middle = row.cells["score: mean score"].ours.value
        assert number / BINS <= middle <= (number + 1) / BINS
    assert total == pytest.approx(1.0)
    assert any(isinstance(row.cells["score: share of members"].ours, Skipped) for row in rows)


def test_one_pair_of_models_shows_no_spread():
    assert isinstance(over_models([0.1], "RMSE"), Skipped)
    found = over_models([0.1, 0.3], "RMSE")
    assert (found.value, found.n) == (pytest.approx(0.2), 2)
    assert found.low < 0
    assert over_models([0.1, 0.3], "RMSE", least=0.0).low == 0.0


@pytest.mark.slow
def test_figure_3_sets_errors_beside_the_papers(models):
    table = song_fig3(Effort(quick=True))
    rows = by_label(table)
    assert {c.published for c in rows["no defence: RMSE"].values()} == {0.05, None, 0.26}
    assert rows["early stopping: accuracy"]["on others"].published == 0.764
    for kind in CLASSIFIERS:
        # Shadow models that are drawn as their targets are teach calibrated scores.
        own = rows[f"{kind}: RMSE"]["risk score, isotonic"].ours
        assert 0 <= own.value < 0.12
        less = rows[f"{kind}: RMSE less the score's"]["network"]
        gap = rows[f"{kind}: RMSE"]["network"].ours.value
        gap -= rows[f"{kind}: RMSE"]["risk score"].ours.value
        assert less.ours.value == pytest.approx(gap)
        assert bin_label(kind, BINS - 1) in rows
    figure = draw_fig3(table)
    assert len(figure.axes) == 2 * 4
    assert [ax.get_title(loc="left") for ax in figure.axes[:4]] == [*CLASSIFIERS, "risk score"]
    # Three curves and the ideal.
    assert len(figure.axes[3].get_lines()) == len(figure.axes[7].get_lines()) == 4
    heights = [bar.get_height() for bar in figure.axes[0].patches]
    assert sum(heights) == pytest.approx(100)


def test_figure_5_is_a_distribution_and_its_claims_are_differences(models):
    table = song_fig5(Effort(quick=True))
    rows = by_label(table)
    for kind in CLASSIFIERS:
        shares = [rows[cut_label(cut)][kind].ours.value for cut in CUTS]
        assert shares == sorted(shares, reverse=True)
    assert rows[cut_label(0.6)][REGULARISED].published == 0.246
    assert rows[cut_label(0.55)][REGULARISED].published is None
    less = rows[f"{REGULARISED} less {UNDEFENDED}"]
    means = rows["mean score"]
    assert less["mean score"].ours.value == pytest.approx(
        means[REGULARISED].ours.value - means[UNDEFENDED].ours.value
    )
    assert less["mean score"].ours.high < 0
    assert less["share from 0.8 on"].published == 0.005
    same = rows[f"{STOPPED} less {REGULARISED}"]
    assert same["largest distance"].ours.value == same["mean score"].ours.value == 0.0
    (ax,) = draw_fig5(table).axes
    for line in ax.get_lines():
        assert np.all(np.diff(line.get_ydata()) >= 0)


def test_figure_5_without_an_early_epoch_says_so(models, monkeypatch):
    def made(data, effort):
        return {**made_classifiers(data, effort), STOPPED: Skipped("early stopping", "too late")}

    monkeypatch.setattr(song2021_calibration, "classifiers", made)
    rows = by_label(song_fig5(Effort(quick=True)))
    assert rows[cut_label(0.5)][STOPPED].ours.reason == "too late"
    assert rows[f"{STOPPED} less {REGULARISED}"]["mean score"].ours.reason == "too late"
    absent = {STOPPED: Skipped("early stopping", "too late")}
    monkeypatch.setattr(song2021_calibration, "classifiers", lambda data, effort: absent)
    table = song_fig3(Effort(quick=True))
    assert by_label(table)[f"{STOPPED}: RMSE"]["risk score"].ours.reason == "too late"
    assert len(draw_fig3(table).axes) == 8


def test_architectures_are_the_papers():
    units = {shape.label: shape.network.hidden for shape in architectures("tanh")}
    assert units == {
        "(tanh, 1, 4)": (1024, 512, 256, 128),
        "(tanh, 0.5, 4)": (512, 256, 128, 64),
        "(tanh, 2, 4)": (2048, 1024, 512, 256),
        "(relu, 1, 4)": (1024, 512, 256, 128),
        "(sigmoid, 1, 4)": (1024, 512, 256, 128),
        "(tanh, 1, 3)": (1024, 512, 256),
        "(tanh, 1, 5)": (2048, 1024, 512, 256, 128),
    }
    assert {shape.network.activation for shape in architectures("relu")} == {
        "relu",
        "tanh",
        "sigmoid",
    }


def test_figure_4_names_the_largest_error_and_leaves_out_what_learnt_nothing(models, monkeypatch):
    def made(data, shape, effort, number, parts):
        if shape.activation == "sigmoid":
            dull = made_up(n=300, seed=9)
            dull = type(dull)(-dull.values, True, dull.labels, dull.member, dull.ids)
            return [Pair(dull, dull)]
        return [made_pair(10 * number + i, 2.0) for i in range(2)]

    monkeypatch.setattr(song2021_architectures, "_pairs", made)
    table = song_fig4(Effort())
    rows = by_label(table)
    assert table.title.endswith("Figure 4, on Location30")
    labels = [shape.label for shape in architectures("tanh")]
    errors = {label: rows[f"{LOCATION} {label}: RMSE"]["risk score"].ours for label in labels}
    assert isinstance(errors.pop("(sigmoid, 1, 4)"), Skipped)
    largest = rows["largest RMSE"]["risk score"]
    assert largest.published == LARGEST
    assert largest.ours.value == max(one.value for one in errors.values())
    assert largest.ours.high > max(one.high for one in errors.values())
    assert isinstance(rows[f"{LOCATION} (tanh, 1, 4): accuracy"]["on others"].ours, Estimate)
    (ax,) = draw_fig4(table).axes
    drawn = [line.get_label() for line in ax.get_lines()]
    assert drawn == [label for label in labels if "sigmoid" not in label] + ["ideal"]


def test_models_of_figure_4_are_asked_about_both_sides(models, monkeypatch):
    asked = {}

    def remembered(trainer, models, **options):
        asked.update(states=models.seeds, asked=models.asked)
        asked.update(inside=models.inside, make=trainer.make)
        return np.zeros((len(models), len(models.asked), 3))

    monkeypatch.setattr(song2021_architectures, "train_all", remembered)
    data = song2021_architectures.setting("Purchase100", 0)
    shape = Architecture("relu", depth=5)
    pairs = song2021_architectures._pairs(data, shape, Effort(), 0, 1)
    assert len(pairs) == song2021_architectures.PAIRS
    assert len(set(asked["states"])) == 2 * len(pairs)
    np.testing.assert_array_equal(asked["inside"].sum(axis=1), 5)
    np.testing.assert_array_equal(asked["asked"], np.arange(20))
    assert asked["make"].hidden == (2048, 1024, 512, 256, 128)
    np.testing.assert_array_equal(pairs[0].shadow.labels, data.y[10:20])


def test_figure_12_has_both_defences_and_its_own_bound(models, monkeypatch):
    def made(data, shape, effort, number, parts):
        return [made_pair(10 * number + i, 2.0) for i in range(2)]

    for name in ("_regularised_pairs", "_noisy"):
        monkeypatch.setattr(song2021_architectures, name, made)
    table = song_fig12(Effort())
    rows = by_label(table)
    assert rows["largest RMSE"]["risk score"].published == 0.10
    for defence, activation in (("adversarial regularisation", "tanh"), ("MemGuard", "relu")):
        for shape in architectures(activation):
            assert f"{LOCATION}, {defence} {shape.label}: RMSE" in rows
    first, second = draw_fig4(table).axes
    assert first.get_title(loc="left") == f"{LOCATION}, adversarial regularisation"
    assert second.get_title(loc="left") == f"{LOCATION}, MemGuard"
    assert len(first.get_lines()) == len(second.get_lines()) == 8


def test_regularised_models_of_figure_12_have_reference_records_of_their_own(models, monkeypatch):
    asked = []

    def remembered(trainer, models, **options):
        asked.append((trainer, models))
        return np.zeros((len(models), len(models.asked), 3))

    monkeypatch.setattr(song2021_architectures, "train_all", remembered)
    data = song2021_architectures.setting("Purchase100", 0)
    pairs = song2021_architectures._regularised_pairs(data, Architecture("tanh"), Effort(), 0, 1)
    assert len(pairs) == song2021_architectures.PAIRS
    (target, own), (shadow, other) = asked
    assert target.weight == shadow.weight == song2021_architectures.SHOWN
    assert not set(target.reference.index) & set(shadow.reference.index)
    assert not (own.inside[0] & other.inside[0]).any()
    assert not set(own.seeds) & set(other.seeds)
    for trainer, cohort in asked:
        assert not cohort.inside[0][list(trainer.reference.index)].any()


def test_models_behind_memguard_keep_their_classes(models, monkeypatch):
    pair = made_pair(0, 2.0)
    monkeypatch.setattr(song2021_architectures, "_pairs", lambda *_, **__: [pair])
    data = song2021_architectures.setting("Texas100", 0)
    (found,) = song2021_architectures._noisy(data, Architecture("relu"), Effort(), 0, 1)
    for before, after in ((pair.target, found.target), (pair.shadow, found.shadow)):
        np.testing.assert_array_equal(before.values.argmax(axis=1), after.values.argmax(axis=1))
        assert not np.allclose(before.values, after.values)


@pytest.mark.slow
@pytest.mark.torch
def test_the_quick_form_of_figure_3_can_be_made(data_folder, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    if not THOROUGH:
        monkeypatch.setattr(song2021_calibration, "QUICK", 4)
        monkeypatch.setattr(song2021_calibration, "EARLY", (1, 2, 3))
    rows = by_label(song_fig3(Effort(quick=True, run=tmp_path / "song-fig3")))
    right = rows["no defence: accuracy"]
    assert right["on members"].ours.low > right["on others"].ours.high + 0.2
    assert rows["no defence: RMSE"]["risk score"].ours.value < 0.2


def test_the_half_of_table_6_on_purchase100_is_of_the_classifiers_of_figure_5(models):
    """Its recalls are those that Figure 5 has, and its precisions are counted here again."""
    data = song2021_calibration.setting("Purchase100", 0)
    effort = Effort(quick=True)
    rows = {row.label: row.cells for row in song2021_calibration.threshold_rows(data, effort)}
    assert len(rows) == 3 * 6
    shares = by_label(song_fig5(effort))
    for kind in CLASSIFIERS:
        scored = song2021_calibration.score_pairs(
            made_classifiers(None, None)[kind], 0, ("risk score",)
        )
        for cut in (1.0, 0.9, 0.8, 0.7, 0.6, 0.5):
            cells = rows[f"{kind}: {cut_label(cut)}"]
            own = shares[cut_label(cut)][kind]
            assert cells["histogram: recall"].published == own.published
            assert cells["histogram: recall"].ours.value == pytest.approx(own.ours.value)
            over = [one.by_name["risk score"] >= cut for one in scored]
            ours = cells["histogram: precision"].ours
            if not all(reached.any() for reached in over):
                assert "no record of one of the models has so high a score" in ours.reason
                continue
            expected = np.mean(
                [one.member[reached].mean() for one, reached in zip(scored, over, strict=True)]
            )
            assert ours.value == pytest.approx(expected)
    # Nobody in the paper has that score: no precision is printed.
    assert rows["no defence: score of at least 0.8"]["histogram: precision"].published is None
    best = rows["adversarial regularisation: score of at least 0.9"]["histogram: precision"]
    assert best.published == 0.833


def test_a_network_that_learns_on_the_target_is_not_asked_about_what_it_learnt():
    """On a target that leaks nothing it tells nothing, although it may know one half by heart."""
    apart = {}
    for leak in (0.0, 2.5):
        target = made_up(n=300, leak=leak)
        network = NeuralNasr(Network(16, epochs=200))
        found = song2021_calibration.taught_on_target(network, target, 0)
        assert found.shape == (len(target),)
        assert ((found >= 0) & (found <= 1)).all()
        apart[leak] = found[target.member].mean() - found[~target.member].mean()
    assert abs(apart[0.0]) < 0.1
    assert apart[2.5] > 0.2
