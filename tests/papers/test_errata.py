"""What the papers print and what is so: each erratum that can be reckoned, reckoned here."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import multinomial, poisson
from scipy.stats import t as student

from privacygauge.claims.dtp.naive_bayes import NaiveBayes
from privacygauge.classifiers.signals import bin_numbers
from privacygauge.datasets.public import CATEGORICAL, CONTINUOUS
from privacygauge.evaluate.risk import CUTS
from privacygauge.papers import (
    feldman2019,
    long2017,
    meeus2023,
    mireshghallah2022,
    song2021,
    song2021_risk,
)
from tests.test_docs import ROOT

F1 = {
    "untargeted": 0.7294,
    "frequency": 0.7174,
    "distance": 0.8768,
    "NB-Purchase": 0.5107,
    "LR-Purchase": 0.8144,
    "NN-Adult": 0.4356,
    "NB-Adult": 0.1748,
    "LR-Adult": 0.4378,
}
"""As Tables 1 and 2 of Long et al. print them; the distance-based attack stands in both."""


def printed_rates():
    """Yield accuracy, precision and recall of each row of Tables 1 and 2 of Long et al."""
    for name, (accuracy, precision, recall, _) in long2017.TABLE_1.items():
        yield name, (accuracy, precision, recall)
    for name, row in long2017.TABLE_2.items():
        if name != "NN-Purchase":
            yield name, (row.accuracy, row.precision, row.recall)


def test_two_of_eight_printed_f1_scores_do_not_follow_from_precision_and_recall():
    off = {
        name: 2 * precision * recall / (precision + recall)
        for name, (_, precision, recall) in printed_rates()
        if abs(2 * precision * recall / (precision + recall) - F1[name]) > 2e-4
    }
    assert set(off) == {"frequency", "NN-Adult"}
    assert off["frequency"] == pytest.approx(0.6903, abs=1e-4)
    assert off["NN-Adult"] == pytest.approx(0.4814, abs=1e-4)


def test_no_printed_accuracy_follows_from_precision_and_recall_at_even_odds():
    """Every record is inside as often as outside (section 5.4), so accuracy follows from both."""
    for name, (accuracy, precision, recall) in printed_rates():
        fpr = recall * (1 - precision) / precision
        assert abs((recall + 1 - fpr) / 2 - accuracy) > 0.0015, name


P_VALUES = {
    "untargeted": 2.89e-7,
    "frequency": 8.29e-8,
    "distance": 1.85e-20,
    "NB-Purchase": 1.16e-42,
    "LR-Purchase": 7.78e-25,
    "NN-Adult": 1.57e-6,
    "NB-Adult": 3.76e-8,
    "LR-Adult": 0.9343,
}
"""P-values of the correlations in Tables 1 and 2 of Long et al."""


def test_one_of_eight_printed_p_values_does_not_follow_from_its_correlation():
    printed = {name: row[3] for name, row in long2017.TABLE_1.items()}
    printed |= {
        name: row.correlation for name, row in long2017.TABLE_2.items() if name != "NN-Purchase"
    }
    reckoned = {
        name: 2 * student.sf(abs(r) * math.sqrt((long2017.TARGETS - 2) / (1 - r * r)), 98)
        for name, r in printed.items()
    }
    off = {name for name, p in P_VALUES.items() if abs(reckoned[name] / p - 1) > 0.04}
    assert off == {"LR-Adult"}
    assert reckoned["LR-Adult"] == pytest.approx(0.9937, abs=1e-4)


def test_the_better_of_two_attacks_of_long_et_al_has_the_lower_correlation():
    untargeted = long2017.TABLE_1["untargeted"]
    frequency = long2017.TABLE_1["frequency"]
    assert untargeted[0] > frequency[0]
    assert untargeted[3] < frequency[3]


def test_a_dtp_above_4_ln_2_takes_bins_or_a_class_of_two():
    """Naive Bayes with smoothing 1 and four attributes: where the 2.77 of the erratum holds."""
    most = 4 * math.log(2)
    sizes = (100, 5, 9, 2)

    def largest(n_own):
        """Return the largest log ratio at a record's own query; its class has so many records."""
        rare = np.array([[1, 1, 1, 1]])
        usual = np.zeros((n_own - 1, 4), int)
        # The other class has the record's values so often that its own is unlikely there.
        others = np.ones((100_000, 4), int)
        x = np.vstack([rare, usual, others])
        y = np.append(np.ones(n_own, int), np.zeros(len(others), int))
        fitted = NaiveBayes(sizes, 1.0).fit(x, y, n_classes=2)
        with_it = fitted.log_p(rare)[0]
        without = fitted.log_p_without(np.array([0]))[0]
        return np.abs(with_it - without).max()

    # Smoothing raises what is left in a small class, more than the prior takes from it.
    assert largest(2) > most > 2.77
    assert largest(3) < most
    assert largest(1_000) < most
    # With the paper's bins the same factor of 16 in the odds can be one of 27.
    odds = 0.00999 / (1 - 0.00999)
    ends = np.array([odds / (1 + odds), 16 * odds / (1 + 16 * odds)])
    below, above = (bin_numbers(ends, 0.01) + 0.5) * 0.01
    assert math.log(above / below) > 3.09 > most


def test_lemma_a2_of_feldman_et_al_has_a_wrong_sign():
    """Printed e^(-(l + x) ln(1 + x/l) - x): the x is added, and the next lines say so."""
    for lam, x in product((1, 2, 5, 10, 20), (1, 2, 3, 5, 8)):
        tail = poisson.sf(lam + x - 1, lam)
        exponent = -(lam + x) * math.log1p(x / lam)
        assert math.exp(exponent - x) < tail <= math.exp(exponent + x)
        # The weaker form that the lemma derives is that of the right sign.
        assert tail <= math.exp(exponent + x) <= math.exp(-(x**2) / (2 * (lam + x)))
    assert poisson.sf(1, 1) == pytest.approx(0.264, abs=5e-4)
    assert math.exp(-2 * math.log(2) - 1) == pytest.approx(0.092, abs=5e-4)


def test_fact_a1_of_feldman_et_al():
    """A multinomial of Poisson many draws is independent Poisson counts: no factor is lost."""
    p = np.array([0.2, 0.3, 0.5])
    lam = 4.0
    for counts in product(range(5), repeat=3):
        n = sum(counts)
        drawn = poisson.pmf(n, lam) * multinomial.pmf(counts, n, p)
        assert drawn == pytest.approx(poisson.pmf(counts, lam * p).prod(), rel=1e-9)


def test_lemma_a3_of_feldman_et_al_holds_for_its_density_with_the_right_sign():
    """Its first line has the same slip above the mean: with it, it is weaker than what is shown."""
    for lam, t in product((0.5, 1.0, 3.0, 10.0, 40.0), range(1, 80)):
        x = abs(t - lam)
        density = poisson.pmf(t, lam)
        exponent = -t * math.log(t / lam) + (x if t >= lam else -x)
        assert density >= math.exp(exponent) / (math.e * math.sqrt(t)) * (1 - 1e-9)
        tail = poisson.sf(t - 1, lam) if t >= lam else poisson.cdf(t, lam)
        assert density >= tail / (math.e * math.sqrt(t)) * (1 - 1e-9)


def test_lemma_4_3_of_feldman_et_al_on_exact_poisson_counts():
    """The gain over a guess is of the order that the lemma (again as A.4) states."""
    for m in (2, 3, 10):
        lam = 2 * m * math.log(4 * m)
        for share in (0.25, 1.0):
            gamma = share / (8 * math.sqrt(lam * m))
            gain = plurality(m, lam, gamma) - 1 / m
            # The constants of the proof: 1/4 of a half of 1/(32 e).
            assert gain >= gamma * math.sqrt(lam / m) / (8 * 32 * math.e)
            assert gain <= 3 * gamma * math.sqrt(lam / m) * math.sqrt(math.log(4 * m))


def plurality(m, lam, gamma):
    """Return how likely the favoured label is the most frequent one; ties are broken evenly."""
    counts = np.arange(int(lam + 12 * math.sqrt(lam) + 20))
    own = poisson.pmf(counts, lam * (1 / m + gamma))
    each = lam * (1 / m - gamma / (m - 1))
    equal = poisson.pmf(counts, each)
    fewer = poisson.cdf(counts - 1, each)
    won = sum(math.comb(m - 1, j) * equal**j * fewer ** (m - 1 - j) / (j + 1) for j in range(m))
    return float((own * won).sum())


def equal_accuracies(w, m):
    """Return p_w of Theorem 4.5: w terms of 1, -1 (1/m each) or 0 that add up to 0; exact."""
    angle = 2 * np.pi * np.arange(2 * w + 1) / (2 * w + 1)
    return float(np.mean((1 - 2 / m + 2 / m * np.cos(angle)) ** w))


def test_three_steps_in_the_proof_of_theorem_4_5_of_feldman_et_al():
    for m in (3, 5, 10, 50):
        few, many = range(1, 2 * m), range(6 * m, 40 * m)
        # Claimed by way of e^(-2w/m) <= 1 - w/m, which fails from about .8 m on.
        assert all(math.exp(-2 * w / m) > 1 - w / m for w in few if w > 0.8 * m)
        # The chain breaks from about 1.23 m on; what it should show holds.
        assert any(0.5 + 0.5 * math.exp(-2 * w / m) > math.exp(-w / (2 * m)) for w in few)
        assert all(equal_accuracies(w, m) <= math.exp(-w / (2 * m)) for w in few)
        # Equation 4 never gives the sqrt(m / 4w) that is taken from it; that holds as well.
        assert all(math.exp(-w / (6 * m)) + math.sqrt(m / w) > math.sqrt(m / (4 * w)) for w in many)
        assert all(equal_accuracies(w, m) <= math.sqrt(m / (4 * w)) for w in many)
    # But not for two classes, where an even number of terms is 0 more often.
    assert all(equal_accuracies(w, 2) > math.sqrt(2 / (4 * w)) for w in range(12, 80, 2))


def test_the_last_bound_of_that_proof_is_upside_down():
    """(n / 4m)^(k/2) is above 1 and bounds nothing; (4m / n)^(k/2) was never below it."""
    n = 10_000
    m = 10
    k = 5 * n * math.log(m) / math.log(n / (4 * m))
    printed = 2 * n * math.log(m) + k / 2 * math.log(n / (4 * m))
    meant = 2 * n * math.log(m) + k / 2 * math.log(m / (4 * n))
    assert printed > 0
    assert meant < -math.log(2 * n**2)


def test_the_upper_quantile_in_lemma_a4_of_feldman_et_al_is_printed_as_a_lower_one():
    """v must be above the median u: Pr[V >= v] >= 1/(4m), and not 1 - 1/(4m)."""

    def largest(lam, share):
        t = np.arange(int(10 * lam + 100))
        return int(t[poisson.sf(t - 1, lam) >= share].max())

    for m, lam in product((2, 3, 10, 100), (5.5, 20.0, 80.0)):
        u = largest(lam, 0.5)
        assert largest(lam, 1 - 1 / (4 * m)) < u
        v = largest(lam, 1 / (4 * m))
        assert v > u
        # The union bound that is drawn from it, and the bound on v.
        assert (m - 1) * poisson.sf(v, lam) < 1 / 4
        if lam >= math.log(4 * m):
            assert v <= 4 * lam


def test_equation_3_of_feldman_et_al_is_an_equality_of_one_draw_and_more():
    for m, w in product((3, 5, 50), (1, 2, 10, 20)):
        p = 2 / m
        none = (1 - p) ** w
        one = w * p * (1 - p) ** (w - 1)
        right = 0.5 + 0.5 * none
        assert none + 0.5 * (1 - none) == pytest.approx(right)
        assert none + 0.5 * (1 - none - one) < right


SIZES_4_5 = ((1_000, 3), (10_000, 3), (10_000, 10), (50_000, 1_000), (100_000, 100))
"""Points and classes at which the union bound of Theorem 4.5 is put in numbers."""


@pytest.mark.parametrize(("n", "m"), SIZES_4_5)
def test_the_union_bound_of_that_proof_is_largest_at_its_first_term(n, m):
    k = max(5 * n * math.log(m) / math.log(n / (4 * m)), 20 * m * math.log(n * m))

    def bound(w):
        ways = math.lgamma(n + 1) - math.lgamma(w + 1) - math.lgamma(n - w + 1)
        return ways + 2 * w * math.log(m) + k / 2 * math.log(m / (4 * w))

    found = {w: bound(w) for w in (*range(6 * m, n, max(1, n // 1_000)), n)}
    assert max(found, key=lambda w: found[w]) == 6 * m
    assert found[n] < found[6 * m] < -math.log(2 * n**2)
    if (n, m) == (1_000, 3):
        assert (round(k), round(found[n]), round(found[18])) == (1_242, -2_271, -1_846)
    # And of the terms before it at their last.
    assert 6 * m * math.log(n * m) < 6 * m * math.log(math.e * n * m / 2)


@pytest.mark.slow
def test_queries_of_feldman_et_al_grow_more_slowly_than_the_classes_between_some():
    def power(bias, few, many):
        ends = (feldman2019.first_attained(bias, feldman2019.POINTS, m) for m in (few, many))
        first, last = ends
        return math.log(last / first) / math.log(many / few)

    assert power(0.01, 100, 1_000) == pytest.approx(0.92, abs=0.005)
    assert power(0.01, 300, 1_000) == pytest.approx(0.78, abs=0.005)
    assert power(0.005, 300, 1_000) == pytest.approx(0.98, abs=0.005)
    assert power(0.002, 2, 10) == pytest.approx(1, abs=1e-9)
    assert power(0.01, 2, 100) > 1.2


def test_the_parts_of_meeus_et_al_are_no_partition():
    for known, test, whole in ((10_000, 5_000, 48_842), (50_000, 25_000, 569_741)):
        assert known + test < whole / 3


def test_meeus_et_al_cannot_draw_100_000_queries_on_adult():
    assert 2 ** (len(CATEGORICAL) + 1 + len(CONTINUOUS)) == 32_768 < 100_000


def test_the_most_of_mireshghallah_et_al_is_55_times_not_51():
    """Recalls of 60.4% and 1.1% in Table 10: what their rounding allows."""
    row = mireshghallah2022.TABLE_10[0].published
    loss = row[6]
    ratio = row[7]
    assert (loss, ratio) == (0.011, 0.604)
    assert ratio / loss == pytest.approx(54.9, abs=0.05)
    assert (ratio - 0.0005) / (loss + 0.0005) > 51


def test_song_and_mittals_classes_gain_from_half_a_point_on():
    """ "1% - 4%" in the text of section 3.3.2: two of the nine gains are below a point."""
    rows = song2021.TABLE_3[1]
    gains = [
        rows[f"Texas100: {name}, one for each class"][i]
        - rows[f"Texas100: {name}, one threshold"][i]
        for name in ("confidence", "entropy", "modified-entropy")
        for i in range(3)
    ]
    assert sum(gain < 0.01 - 1e-9 for gain in gains) == 2
    assert min(gains) == pytest.approx(0.006, abs=1e-9)
    assert max(gains) == pytest.approx(0.036, abs=1e-9)


def test_one_correctness_attack_of_song_and_mittal_does_not_follow_from_its_accuracies():
    """Half of the members that are right and of the others that are wrong."""
    off = {}
    for columns, rows in (song2021.TABLE_2, song2021.TABLE_4_UNDEFENDED, song2021.TABLE_5):
        for name, row in rows.items():
            printed = dict(zip(columns, row, strict=True))
            reckoned = (printed["train accuracy"] + 1 - printed["test accuracy"]) / 2
            # Three printed numbers, each rounded to a tenth of a point.
            if abs(printed["correctness"] - reckoned) > 0.001 + 1e-9:
                off[name] = printed["correctness"] - reckoned
    assert set(off) == {"Texas100, no defence"}
    assert off["Texas100, no defence"] == pytest.approx(0.0011, abs=1e-4)


def test_modified_entropy_is_hardly_ahead_on_texas100():
    """ "Significantly higher" in footnote 6 of Song & Mittal, by 0.4 points."""
    columns, rows = song2021.TABLE_4_UNDEFENDED
    texas = dict(zip(columns, rows["Texas100, no defence"], strict=True))
    lead = texas["modified-entropy"] - texas["confidence"]
    assert lead == pytest.approx(0.004, abs=1e-9)
    # As independent shares of 20,000 records each.
    assert lead < 1.96 * math.sqrt(2 * 0.79 * 0.21 / 20_000)
    location = song2021.TABLE_4
    assert location["modified-entropy"] - location["confidence"] == pytest.approx(0.018)


def test_recall_of_mireshghallah_et_al_is_higher_in_three_of_four_columns():
    """Table 2: samples and patients, non-members of MIMIC and of i2b2."""
    loss = (15.6, 39.0, 49.5, 100.0)
    ratio = (79.2, 69.9, 100.0, 100.0)
    assert [other > one for one, other in zip(loss, ratio, strict=True)] == [True] * 3 + [False]


def test_no_printed_rate_finds_as_many_samples_as_mireshghallah_et_al_label():
    labelled = (2_519 / 5_505, 3_283 / 7_461)
    assert labelled == pytest.approx((0.458, 0.440), abs=5e-4)
    # Long and short samples at 10% (Tables 2 and 9), then at 1% (Table 10).
    recalls = ((0.792, 0.682), (0.604, 0.430))
    assert mireshghallah2022.TABLE_10[0].published[7] == recalls[1][0]
    assert all(abs(share - recall) > 0.009 for share in labelled for recall in sum(recalls, ()))
    assert max(labelled) < min(recalls[0])


TABLE_9 = (
    (0.662, 0.656, 0.679, 0.700, 0.561, 0.516, 0.513, 0.509, 0.536, 0.391),
    (0.900, 0.894, 0.904, 0.905, 0.960, 0.830, 0.827, 0.835, 0.843, 0.912),
)
TABLE_11 = (
    (0.685, 0.675, 0.686, 0.714, 0.547, 0.487, 0.482, 0.476, 0.522, 0.329),
    (0.916, 0.910, 0.917, 0.924, 0.972, 0.871, 0.869, 0.873, 0.881, 0.950),
)
"""AUC of the loss and of the likelihood ratio in the ten columns of Mireshghallah et al."""


def test_the_normalised_energy_is_no_better_loss_overall():
    lower = [
        sum(new < old for new, old in zip(after, before, strict=True))
        for before, after in zip(TABLE_9, TABLE_11, strict=True)
    ]
    assert lower == [6, 0]


def test_one_metric_of_mireshghallah_et_al_falls_from_samples_to_patients():
    samples, patients = (line.published for line in mireshghallah2022.TABLE_2)
    fallen = [
        column
        for column, one, other in zip(mireshghallah2022.COLUMNS, samples, patients, strict=True)
        if other < one
    ]
    assert fallen == ["recall, loss, mean-train"]


def test_recall_behind_memguard_is_larger_at_one_of_six_thresholds():
    """Of Table 6 of Song & Mittal, at equal thresholds of the risk score."""
    pairs = zip(song2021_risk.TABLE_6["authors"], song2021_risk.TABLE_6["MemGuard"], strict=True)
    larger = [cut for cut, (one, other) in zip(CUTS, pairs, strict=True) if other[1] > one[1]]
    assert larger == [0.5]


def test_the_gap_at_a_lower_rate_grows_as_a_ratio_and_shrinks_as_a_difference():
    """Of Tables 2 and 10 of Mireshghallah et al., samples."""
    gaps = []
    for row in (mireshghallah2022.TABLE_2[0], mireshghallah2022.TABLE_10[0]):
        of = dict(zip(mireshghallah2022.COLUMNS, row.published, strict=True))
        recalls = of["recall, LR, population"], of["recall, loss, population"]
        precision = of["precision, LR, population"] - of["precision, loss, population"]
        gaps.append((recalls[0] / recalls[1], recalls[0] - recalls[1], precision))
    assert gaps[0] == pytest.approx((5.08, 0.636, 0.277), abs=0.005)
    assert gaps[1] == pytest.approx((54.9, 0.593, 0.448), abs=0.05)
    assert gaps[1][1] < gaps[0][1]


def test_the_deviations_of_meeus_et_al_are_halved_beside_one_way_and_one_attack_alone():
    def factors(table, way):
        place = list(meeus2023.METHODS).index(way)
        return [
            table["UK census", by][place][1] / table["UK census", by][-1][1]
            for by in ("SynthPop", "BayNet")
        ]

    assert factors(meeus2023.TABLE_2, "log-likelihood") == pytest.approx([1.95, 2.25], abs=0.01)
    assert factors(meeus2023.TABLE_2, "random") == pytest.approx([2.19, 1.375], abs=0.01)
    assert factors(meeus2023.TABLE_3, "log-likelihood") == pytest.approx([1.12, 0.72], abs=0.01)


@pytest.mark.slow
def test_our_ten_records_by_distance_are_those_of_the_authors():
    """Rows of Adult without missing values, as the notebook of the authors' code names them."""
    authors = {16525, 5918, 27566, 39435, 35988, 36838, 1678, 43082, 16249, 6066}
    table = meeus2023.DATA["Adult"]()
    found = meeus2023.METHODS["distance"](table, 10, np.random.default_rng(0))
    assert set(found.rows.tolist()) == authors


def test_every_test_that_the_errata_name_is_there():
    page = ROOT / "docs" / "reproduction" / "errata.md"
    for part in page.read_text(encoding="utf-8").split("](")[1:]:
        target = part.split(")")[0].split("#")[0]
        assert (page.parent / target).exists(), target
