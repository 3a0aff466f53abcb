"""Figures of Feldman et al.: what their numbers are, on small games and made-up logits."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import less
from privacygauge.leaderboards.analysts import play
from privacygauge.leaderboards.bounds import nb_bias, poisson_bias, queries_for_bias
from privacygauge.leaderboards.naive_bayes import NaiveBayes
from privacygauge.leaderboards.oracle import Budget, Holdout
from privacygauge.leaderboards.priors import from_logits
from privacygauge.leaderboards.sequential import LinearScan
from privacygauge.papers import Effort, feldman2019, feldman2019_logits
from privacygauge.papers.feldman2019 import (
    GivenTestSet,
    Series,
    Uniform,
    feldman_fig3,
    feldman_fig4,
    feldman_fig5,
    first_attained,
    plays,
    point,
    queries_from,
    slope,
    theory,
)
from privacygauge.papers.feldman2019_logits import (
    feldman_fig1,
    feldman_fig2,
    random_scan_gain,
    scan_gain,
)
from tests.thorough import only_thorough

QUICK = Effort(quick=True, n_jobs=1)
RNG = np.random.default_rng


def estimate(value, half=0.1):
    return Estimate(value, value - half, value + half, 0.95, 10, "made up")


def cells(table):
    """Every row's estimates, and that the table can be written."""
    json.loads(table.to_json())
    return {row.label: {name: cell.ours for name, cell in row.cells.items()} for row in table.rows}


# Plays.


def test_a_further_series_changes_no_other(tmp_path):
    few = Series("few", NaiveBayes(), Uniform(60, 3), 20, 3)
    many = Series("many", NaiveBayes(), Uniform(60, 3), 40, 5)
    told = []
    effort = Effort(run=tmp_path / "run", n_jobs=1, progress=lambda *n: told.append(n))
    both = plays([many, few], effort)
    assert told[-1] == (8, 8)
    alone = plays([few], QUICK)["few"]
    assert both["few"].accuracies.tolist() == alone.accuracies.tolist()
    assert len(both["many"].accuracies) == 5
    assert both["few"].baselines.tolist() == [1 / 3] * 3
    # The same call takes what was kept.
    assert (
        plays([many, few], effort)["many"].accuracies.tolist() == both["many"].accuracies.tolist()
    )
    with pytest.raises(InputError, match=r"^labels of series must differ, got few, few"):
        plays([few, few], QUICK)


def test_a_difference_has_the_half_widths_of_both():
    found = less(estimate(0.5, 0.03), estimate(0.2, 0.04))
    assert_allclose((found.value, found.low, found.high), (0.3, 0.25, 0.35))
    certain = less(estimate(0.5, 0.03), point(0.2, "formula"))
    assert_allclose((certain.low, certain.high, certain.n), (0.27, 0.33, 10))


# Figures 3 and 5.


def test_theory_is_poisson_where_labels_are_seldom_drawn():
    assert theory(10_000, 10, 1_000) == (nb_bias(10_000, 10, 1_000), "closed form")
    assert theory(1_000, 2, 10) == (nb_bias(1_000, 2, 10), "closed form")
    assert theory(10_000, 100, 200) == (poisson_bias(10_000, 100, 200), "Poisson label counts")


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(feldman2019, "SIZES", (400, 800))
    monkeypatch.setattr(feldman2019, "CLASSES", (2, 20))
    monkeypatch.setattr(feldman2019, "QUERIES", (40, 300))


@pytest.mark.slow
def test_figure_3_has_simulation_theory_and_one_point(small):
    found = cells(feldman_fig3(QUICK))
    shares = found.pop("share of 95% intervals that agree")
    assert len(found) == 8
    for row in found.values():
        assert row["simulation"].n == 3
        apart = row["simulation"].value - row["one point"].value
        assert row["simulation less one point"].value == pytest.approx(apart)
    held = [not row["one point"].excludes(row["theory"].value) for row in found.values()]
    assert shares["one point holds theory"].value == np.mean(held)
    # More classes and more points give less, more queries more.
    expected = {label: row["theory"].value for label, row in found.items()}
    assert expected["n 400, m 2, k 300"] > expected["n 800, m 2, k 300"]
    assert expected["n 800, m 2, k 300"] > expected["n 800, m 20, k 300"]
    assert expected["n 800, m 20, k 300"] > expected["n 800, m 20, k 40"]


def test_intervals_that_miss_are_not_counted():
    def row(label, apart):
        return feldman2019.Row(
            label,
            {
                "simulation": feldman2019.Cell(None, estimate(0.5)),
                "one point": feldman2019.Cell(None, estimate(0.5 + apart)),
                "theory": feldman2019.Cell(None, point(0.5, "formula")),
                "simulation less one point": feldman2019.Cell(None, estimate(apart)),
            },
        )

    shares = feldman2019._agreement([row("near", 0.05), row("far", 0.2)]).cells
    assert shares["simulation holds theory"].ours.value == 1.0
    assert shares["one point holds theory"].ours.value == 0.5
    assert shares["simulation and one point agree"].ours.value == 0.5


@pytest.mark.slow
def test_figure_5_sets_naive_bayes_against_majorities(small):
    found = cells(feldman_fig5(QUICK))
    assert len(found) == 4
    for row in found.values():
        names = ("NB, closed form", "majority, closed form", "dropping, closed form")
        nb, majority, dropping = (row[name].value for name in names)
        assert nb > majority > dropping
        assert row["NB less majority, closed form"].value == pytest.approx(nb - majority)
        assert row["NB less majority"].value == row["NB"].value - row["majority"].value
    assert found["n 400, k 300"]["NB"].value > 0.25


# Figure 4.


@pytest.mark.slow
@pytest.mark.parametrize(("bias", "m"), [(0.01, 2), (0.05, 5), (0.005, 10)])
def test_the_first_attained_is_the_fewest(bias, m):
    k = first_attained(bias, 100_000, m)
    assert feldman2019.theoretical_bias(100_000, m, k) >= bias
    assert feldman2019.theoretical_bias(100_000, m, k - 1) < bias
    if m < 10:
        assert k == math.ceil(queries_for_bias(bias, 100_000, m))


def test_a_bias_that_is_missed_takes_more_queries():
    # Of two classes a small bias grows as the root of the queries.
    k = first_attained(0.01, feldman2019.POINTS, 2)
    found = queries_from(0.01, 2, k, Estimate(0.008, 0.005, 0.01, 0.95, 10, "made up"))
    assert found.value == pytest.approx(k * 1.25**2, rel=0.01)
    assert found.low == pytest.approx(k, rel=0.01)
    assert found.high == pytest.approx(k * 4, rel=0.02)
    assert isinstance(queries_from(0.01, 2, k, estimate(0.01)), Skipped)


def test_a_slope_is_between_ends_on_logarithmic_axes():
    few = Estimate(10, 5, 20, 0.95, 10, "made up")
    many = Estimate(1_000, 500, 2_000, 0.95, 9, "")
    found = slope(few, many, 100)
    assert found.value == pytest.approx(1)
    half = math.sqrt(2) * math.log(2) / math.log(100)
    assert_allclose((found.low, found.high, found.n), (1 - half, 1 + half, 9))


@pytest.mark.slow
def test_figure_4_needs_as_many_queries_as_theory_says(monkeypatch):
    monkeypatch.setattr(feldman2019, "POINTS", 2_000)
    monkeypatch.setattr(feldman2019, "BIASES", (0.1,))
    monkeypatch.setattr(feldman2019, "CLASSES_4", (2, 8))
    monkeypatch.setattr(feldman2019, "MORE_CLASSES", 9)
    monkeypatch.setattr(feldman2019, "_trials", lambda k, effort: 12)
    table = feldman_fig4(Effort(n_jobs=1))
    found = cells(table)
    ends = found["bias 0.1, m 2"], found["bias 0.1, m 8"]
    for row in ends:
        # Within a quarter: five standard errors of 12 trials.
        assert row["simulation"].value == pytest.approx(row["theory"].value, rel=0.25)
    expected = math.log(ends[1]["theory"].value / ends[0]["theory"].value) / math.log(4)
    slopes = found["bias 0.1, slope"]
    assert slopes["m 2 to 8, theory"].value == pytest.approx(expected)
    assert slopes["m 2 to 8, simulation"].value == pytest.approx(expected, abs=0.15)
    # The paper's slopes are of curves whose classes it does not name.
    assert all(cell.published is None for cell in table.rows[-1].cells.values())


# Figures 1 and 2.


def made_up_logits(n=300, m=10, seed=0):
    rng = RNG(seed)
    labels = rng.integers(0, m, n)
    logits = rng.normal(size=(n, m))
    logits[np.arange(n), labels] += rng.normal(1.0, 1.5, n)
    return logits, labels


@pytest.fixture
def made_up(monkeypatch):
    """Made-up logits of 10 and of 4 classes in place of the models'."""
    monkeypatch.setattr(feldman2019_logits, "DATA_SETS", {12: "many", 10: "few"})
    monkeypatch.setattr(feldman2019_logits, "cifar_logits", lambda m: made_up_logits(m=m))
    monkeypatch.setattr(feldman2019_logits, "LEAST_CONFIDENT", 100)
    monkeypatch.setattr(
        feldman2019_logits, "PUBLISHED", {(None, None): 0.1, (100, None): 0.2, (100, 2): 0.4}
    )
    monkeypatch.setattr(feldman2019_logits, "QUERIES", (50, 200))
    monkeypatch.setattr(feldman2019_logits, "RELATIVE", 50)
    monkeypatch.setattr(feldman2019_logits, "n_trials", lambda effort: 2)


@pytest.mark.slow
def test_figure_1_has_every_restriction_and_what_each_adds(made_up):
    table = feldman_fig1(Effort(n_jobs=1))
    found = cells(table)
    published = {r.label: r.cells["k 50"].published for r in table.rows}
    # 4 and 3 labels on all and on some points, a joint decoder, two attacks without a prior and
    # two comparisons a data set.
    assert len(found) == 2 * (4 + 3) + 2 + 4 + 4
    # A guess among two classes gains more than one among twelve, whoever knows nothing.
    alone = found["many, without a prior"]["k 200"]
    assert found["many, two classes without a prior"]["k 200"].value > alone.value > 0
    assert published["many, all points, all labels"] == 0.1
    assert published["few, 100 least confident, R = 2"] == 0.4
    assert published["few, 100 least confident, R = 2, message-passing"] is None
    assert published["many, 100 least confident, R = 4"] is None
    more = "many, 100 least confident, R = 2: more than without it"
    assert published[more] == pytest.approx(0.2)
    without = found["many, 100 least confident, all labels"]["k 200"].value
    with_it = found["many, 100 least confident, R = 2"]["k 200"].value
    assert found[more]["k 200"].value == pytest.approx(with_it - without)
    # 200 queries about 100 points of two labels give them away.
    logits, labels = made_up_logits(m=12)
    known = from_logits(logits, top=2, least_confident=100)
    right = (known.candidates == labels[known.points, None]).any(axis=1)
    most = (right & (known.base[known.points] != labels[known.points])).sum() / 300
    assert found["many, 100 least confident, R = 2, message-passing"]["k 200"].low > 0.9 * most
    assert with_it <= most + 1e-12


@pytest.mark.slow
def test_the_quick_form_has_the_papers_three_restrictions(made_up):
    assert len(cells(feldman_fig1(QUICK))) == 3 + 1 + 2 + 2
    assert len(cells(feldman_fig2(QUICK))) == 3


def test_figure_2_has_a_scan_beside_naive_bayes(made_up, monkeypatch):
    monkeypatch.setattr(feldman2019_logits, "DATA_SETS", {12: "many"})
    found = cells(feldman_fig2(QUICK))
    row = found["many, 100 least confident, R = 2, k 50"]
    for scan in ("scan from a random query", "scan from the model's labels"):
        less = row["NB"].value - row[scan].value
        name = "NB less the " + scan
        assert row[name].value == pytest.approx(less)
    logits, labels = made_up_logits(m=12)
    known = from_logits(logits, top=2, least_confident=100)
    # 49 points, the least confident first, get the better of two labels.
    order = np.argsort(known.log_prior.max(axis=1), kind="stable")[:49]
    gains = (known.candidates[order, 1] == labels[known.points[order]]).sum() / 300
    assert row["scan, least confident first"].value == pytest.approx(gains)


@pytest.mark.parametrize(("m", "top"), [(5, None), (5, 3), (5, 2), (2, None)])
def test_the_expected_scan_is_the_mean_over_orders_of_points(m, top):
    logits, labels = made_up_logits(m=m, n=80)
    holdout = Holdout(labels, m)
    rng = RNG(1)
    gains = []
    known = from_logits(logits, top=top)
    for _ in range(100):
        order = rng.permutation(80)
        mixed = replace(
            known,
            base=known.base[order],
            candidates=known.candidates[order],
            # Equally confident of all points: they come in the order of their numbers.
            log_prior=np.full(known.log_prior.shape, -math.log(m)),
        )
        gains.append(play(LinearScan(mixed), Holdout(labels[order], m), 30, rng).bias)
    half = 4 * np.std(gains) / 10
    # One point's gain at the end is not in the formula.
    assert abs(np.mean(gains) - scan_gain(holdout, known, 30)) < half + 1 / 80
    everything = LinearScan(known).answer(holdout.open(rng, budget=Budget(400)), rng)
    gain = holdout.score(everything) - holdout.score(known.base)
    assert scan_gain(holdout, known, 400) == pytest.approx(gain)


@pytest.mark.parametrize(("m", "top"), [(5, None), (5, 3), (5, 2), (2, None)])
def test_the_papers_scan_begins_with_a_random_query(m, top):
    """Played point by point: the expected gain is the mean over queries and orders of points."""
    logits, labels = made_up_logits(m=m, n=80)
    known = from_logits(logits, top=top, least_confident=60)
    others = np.setdiff1d(np.arange(80), known.points)
    kept = (known.base[others] == labels[others]).sum()
    base = (known.base == labels).mean()
    rng = RNG(2)
    gains = {k: [] for k in (1, 30, 1_000)}
    for _ in range(400):
        order = rng.permutation(60)
        tried = rng.permuted(known.candidates, axis=1)
        right = tried[:, 0] == labels[known.points]
        spent = 1
        left = dict.fromkeys(gains)
        for p in order:
            for k in gains:
                left[k] = left[k] if left[k] is not None or spent < k else int(right.sum())
            for place in range(1, tried.shape[1]):
                # The last of all classes needs no query where there are more than two.
                spent += not (place == m - 1 and m > 2)
                if right[p]:
                    break  # the accuracy fell: the first was right
                right[p] = tried[p, place] == labels[known.points[p]]
                if right[p]:
                    break
        for k, found in gains.items():
            n_right = int(right.sum()) if left[k] is None else left[k]
            found.append((n_right + kept) / 80 - base)
    holdout = Holdout(labels, m)
    for k, found in gains.items():
        half = 4 * np.std(found) / 20
        # One point's gain at the end is not in the formula.
        assert abs(np.mean(found) - random_scan_gain(holdout, known, k)) < half + 1 / 80, k


def test_a_given_test_set_is_dealt_every_time():
    holdout = Holdout([0, 1, 2], 3)
    assert GivenTestSet(holdout)(RNG(0)) is holdout


@pytest.mark.slow
def test_the_papers_gains_on_real_logits(data_folder):
    found = cells(feldman_fig1(QUICK))
    for label in (
        "CIFAR-100, 2,000 least confident, all labels: more than without it",
        "CIFAR-100, 2,000 least confident, R = 2: more than without it",
    ):
        assert found[label]["k 1,040"].low > 0
    nb = found["CIFAR-100, 2,000 least confident, R = 2"]["k 1,040"]
    joint = found["CIFAR-100, 2,000 least confident, R = 2, message-passing"]["k 1,040"]
    assert 0.015 < nb.high < joint.low


@only_thorough
@pytest.mark.slow
def test_the_quick_forms_can_be_made():
    shares = cells(feldman_fig3(QUICK))["share of 95% intervals that agree"]
    assert min(share.high for share in shares.values()) > 0.95
    slopes = cells(feldman_fig4(QUICK))["bias 0.01, slope"]
    assert not slopes["m 2 to 30, simulation"].excludes(slopes["m 2 to 30, theory"].value)
    for row in cells(feldman_fig5(QUICK)).values():
        assert row["NB"].value > row["dropping"].value
