from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.core.attacks.posterior import (
    _SHRINKAGES,
    Estimator,
    Histogram,
    Isotonic,
    RiskScore,
    Step,
    _folds,
)
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import GaussianGame
from privacygauge.core.game import Observation, Scores, Shadow
from privacygauge.errors import InputError
from tests.laws.catalogue import ESTIMATORS, label
from tests.laws.draws import SEEDS, shadows
from tests.thorough import times

ANY = np.random.default_rng(0)
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=label)


def learn(estimator: Estimator, shadow: Shadow, n_classes: int = 4):
    return estimator.learn(shadow.signals["s"], shadow.member, shadow.stratum, n_classes)


def gaussian(n: int, effect: float, rng: np.random.Generator, share: float = 0.5):
    member = rng.random(n) < share
    return rng.normal(size=n) + effect * member, member


def error(estimator: Estimator, n: int, rng: np.random.Generator, share: float = 0.5) -> float:
    """Return the distance to the exact posterior, on fresh signals."""
    signal, member = gaussian(n, 1.5, rng, share)
    asked = gaussian(2000, 1.5, rng)[0]
    one_class = np.zeros(n, np.int64)
    if isinstance(estimator, Histogram):
        learnt = estimator.learn(-np.exp(-signal), member, one_class, 1)
        found = learnt.of(-np.exp(-asked), np.zeros(2000, np.int64))
    else:
        found = estimator.learn(signal, member, one_class, 1).of(asked, np.zeros(2000, np.int64))
    return float(np.sqrt(np.mean((found - GaussianGame(2, 1.5).posterior(asked)) ** 2)))


@every_estimator
@given(shadow=shadows(), seed=SEEDS)
def test_a_posterior_is_a_probability(estimator: Estimator, shadow: Shadow, seed: int) -> None:
    rng = np.random.default_rng(seed)
    asked = -(10.0 ** rng.uniform(-12, 4, 50))
    found = learn(estimator, shadow).of(asked, rng.integers(4, size=50))
    assert found.min() >= 0
    assert found.max() <= 1


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if isinstance(e, Isotonic)], ids=label)
@given(shadow=shadows())
def test_isotonic_rises_with_the_signal_in_every_class(estimator: Isotonic, shadow: Shadow) -> None:
    learnt = learn(estimator, shadow)
    asked = np.linspace(-150, 1, 500)
    for c in range(4):
        assert (np.diff(learnt.of(asked, np.full(500, c))) >= -1e-12).all()


@every_estimator
@given(shadow=shadows(), seed=SEEDS)
def test_the_order_of_the_shadow_rows_changes_nothing(
    estimator: Estimator, shadow: Shadow, seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(shadow.member))
    other = Shadow({"s": shadow.signals["s"][order]}, shadow.member[order], shadow.stratum[order])
    asked = np.linspace(-150, -140, 60)
    classes = np.arange(60) % 4
    found = [learn(estimator, x).of(asked, classes) for x in (shadow, other)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


@pytest.mark.parametrize("estimator", [Isotonic(), Histogram(bins=20)], ids=label)
def test_the_exact_posterior_is_approached_as_shadow_records_grow(estimator: Estimator) -> None:
    rng = np.random.default_rng(0)
    few = np.mean([error(estimator, 200, rng) for _ in range(10)])
    many = np.mean([error(estimator, 20_000, rng) for _ in range(3)])
    assert many < 0.5 * few
    assert many < 0.05


@pytest.mark.parametrize("estimator", [Isotonic(), Histogram(bins=20)], ids=label)
def test_the_posterior_is_for_even_odds_whatever_the_shadows_share_of_members(
    estimator: Estimator,
) -> None:
    assert error(estimator, 20_000, np.random.default_rng(0), share=0.9) < 0.04


@given(shadow=shadows(n_classes=3), shrinkage=st.floats(0, 1000))
def test_a_class_of_n_records_weighs_n_against_the_shrinkage(
    shadow: Shadow, shrinkage: float
) -> None:
    asked = np.linspace(-150, -140, 60)
    classes = np.arange(60) % 3
    own, overall, mixed = (
        learn(Isotonic(s), shadow).of(asked, classes) for s in (0.0, np.inf, shrinkage)
    )
    count = np.bincount(shadow.stratum, minlength=3)[classes]
    weight = count / np.maximum(count + shrinkage, 1e-300)
    np.testing.assert_allclose(mixed, overall + weight * (own - overall), atol=1e-12)


def test_with_infinite_shrinkage_all_classes_share_one_posterior() -> None:
    rng = np.random.default_rng(0)
    signal, member = gaussian(300, 1.0, rng)
    pooled = Isotonic(0.0).learn(signal, member, np.zeros(300, np.int64), 1)
    shrunk = Isotonic(np.inf).learn(signal, member, rng.integers(5, size=300), 5)
    asked = np.linspace(-3, 3, 50)
    for c in range(5):
        assert (shrunk.of(asked, np.full(50, c)) == pooled.of(asked, np.zeros(50, np.int64))).all()


def errors_with_classes(shift: float, n: int, k: int) -> dict[float | None, float]:
    """Return the error of each shrinkage where class c's signals are moved by shift * c."""
    rng = np.random.default_rng(3)
    found: dict[float | None, list[float]] = {}
    for _ in range(5):
        stratum = rng.integers(k, size=n)
        signal, member = gaussian(n, 1.5, rng)
        asked_class = rng.integers(k, size=2000)
        asked = gaussian(2000, 1.5, rng)[0]
        truth = GaussianGame(2, 1.5).posterior(asked)
        for shrinkage in (None, 0.0, np.inf):
            learnt = Isotonic(shrinkage).learn(signal + shift * stratum, member, stratum, k)
            wrong = learnt.of(asked + shift * asked_class, asked_class) - truth
            found.setdefault(shrinkage, []).append(float(np.sqrt(np.mean(wrong**2))))
    return {s: float(np.mean(values)) for s, values in found.items()}


def test_small_classes_that_are_alike_lean_on_each_other() -> None:
    rmse = errors_with_classes(shift=0.0, n=600, k=20)
    assert rmse[None] < 0.7 * rmse[0.0]
    assert rmse[None] == pytest.approx(rmse[np.inf], rel=0.25)


def test_large_classes_that_differ_do_not() -> None:
    rmse = errors_with_classes(shift=5.0, n=4000, k=4)
    assert rmse[None] < 0.6 * rmse[np.inf]
    assert rmse[None] == pytest.approx(rmse[0.0], rel=0.2)


def test_a_pure_block_is_no_certainty() -> None:
    signal = np.arange(20.0)
    member = np.arange(20) >= 10
    found = (
        Isotonic()
        .learn(signal, member, np.zeros(20, np.int64), 1)
        .of(np.array([-100.0, 100.0]), np.zeros(2, np.int64))
    )
    assert 0 < found[0] < 0.1
    assert 0.9 < found[1] < 1


def of_the_paper(values, member, asked: float, bins: int = 5) -> float:
    """The authors' procedure for one class, on entropies (not negated), value by value."""
    values = [max(v, 1e-10) for v in values]
    low = min(values)
    high = max(values)
    if low == high:
        high = low * np.e
    edges = np.geomspace(low, high, bins + 1)

    def place(v: float) -> int:
        # On the edges' own scale: the logarithm.
        inner = sum(1 for edge in edges[1:-1] if np.log(v) >= np.log(edge) - 1e-12)
        return inner

    inside = [0.0] * bins
    outside = [0.0] * bins
    for v, m in zip(values, member, strict=True):
        if m:
            inside[place(v)] += 1 / sum(member)
        else:
            outside[place(v)] += 1 / (len(member) - sum(member))
    at = place(max(asked, 1e-10))
    for step in range(bins):
        for b in (at - step, at + step):
            if 0 <= b < bins and inside[b] + outside[b] > 0:
                return inside[b] / (inside[b] + outside[b])
    raise AssertionError


@given(SEEDS, st.integers(1, 8))
def test_the_histogram_is_the_papers_procedure(seed: int, bins: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    k = 3
    values = 10.0 ** rng.uniform(-12, 1, n)
    stratum = rng.integers(k, size=n)
    member = rng.permutation(np.arange(n) < rng.integers(1, n))
    asked = 10.0 ** rng.uniform(-13, 2, 30)
    classes = rng.integers(k, size=30)
    learnt = Histogram(bins).learn(-values, member, stratum, k)
    for value, c, found in zip(asked, classes, learnt.of(-asked, classes), strict=True):
        own = stratum == c
        rows = own if member[own].any() and not member[own].all() else np.ones(n, bool)
        expected = of_the_paper(values[rows].tolist(), member[rows].tolist(), value, bins)
        assert found == pytest.approx(expected)


def test_in_an_empty_bin_the_nearest_filled_one_counts_and_the_lower_of_two() -> None:
    # Five bins of a decade each; the middle one, and the one above, are empty.
    values = np.array([1.5, 1.5, 1.5, 15, 1e5, 15, 15, 1.5, 1e5, 1e5])
    member = np.arange(10) < 5
    learnt = Histogram(5).learn(-values, member, np.zeros(10, np.int64), 1)
    edges = np.geomspace(1.5, 1e5, 6)
    middles = np.sqrt(edges[1:] * edges[:-1])
    found = learnt.of(-middles, np.zeros(5, np.int64))
    assert found[4] == pytest.approx(1 / 3)
    assert found[3] == found[4]
    one = found[0]
    two = found[1]
    assert (one, two) == (pytest.approx(0.75), pytest.approx(1 / 3))
    assert found[2] == two


def test_the_risk_score_guesses_at_even_odds() -> None:
    shadow = Shadow({"s": -np.arange(1.0, 9)}, np.arange(8) < 4, np.zeros(8))
    seen = Observation({"s": np.array([-1.0, -8.0])}, np.zeros(2), shadow)
    result = RiskScore("s").score(seen, ANY)
    assert isinstance(result, Scores)
    assert result.value[0] > 0.5 > result.value[1]
    assert result.rule.threshold == 0.5


def test_the_risk_score_names_its_estimator() -> None:
    assert RiskScore().chosen == Isotonic()
    assert RiskScore().variant == "isotonic"
    attack = RiskScore(estimator=Histogram())
    assert (attack.name, attack.variant, attack.thresholds) == (
        "privacy-risk-score",
        "histogram",
        "none",
    )


def test_a_target_of_a_class_without_shadow_records_has_the_posterior_of_all() -> None:
    shadow = Shadow({"s": -np.arange(1.0, 9)}, np.arange(8) < 4, np.zeros(8))
    for estimator in ESTIMATORS:
        result = RiskScore("s", estimator).score(
            Observation({"s": np.array([-2.0, -2.0])}, np.array([0, 7]), shadow), ANY
        )
        assert result.value[0] == pytest.approx(result.value[1])


def test_the_risk_score_is_skipped_without_shadow_records() -> None:
    found = RiskScore("s").score(Observation({"s": np.zeros(2)}, np.zeros(2)), ANY)
    assert found == Skipped("privacy-risk-score", "needs shadow records with known membership")


@pytest.mark.parametrize(("ours", "theirs"), [("s", "t"), ("t", "s")])
def test_the_risk_score_is_skipped_where_either_side_lacks_the_signal(
    ours: str, theirs: str
) -> None:
    shadow = Shadow({theirs: np.zeros(2)}, np.array([True, False]), np.zeros(2))
    found = RiskScore("s").score(Observation({ours: np.zeros(2)}, np.zeros(2), shadow), ANY)
    assert found == Skipped("privacy-risk-score", "the observation has no signal 's'")


def test_impossible_estimators_are_refused() -> None:
    with pytest.raises(InputError, match="bins must be at least 1, got 0"):
        Histogram(0)
    with pytest.raises(InputError, match=r"floor must be positive, got 0\.0"):
        Histogram(floor=0.0)
    with pytest.raises(InputError, match=r"shrinkage must be at least 0, got -1\.0"):
        Isotonic(-1.0)
    with pytest.raises(InputError, match="the histogram needs a signal of at most 0"):
        Histogram().learn(np.array([-1.0, 0.1]), np.array([True, False]), np.zeros(2, np.int64), 1)


def test_classes_that_differ_in_their_share_of_members_only_show_no_risk() -> None:
    # The signal tells the class, and the class tells who is likely to be a member: the fit of all
    # classes together would be right more often, and still say nothing about any record.
    rng = np.random.default_rng(0)
    stratum = np.repeat([0, 1], 1500)
    member = rng.random(3000) < np.where(stratum == 1, 0.9, 0.1)
    signal = rng.normal(size=3000) + 8.0 * stratum
    posterior = Isotonic().learn(signal, member, stratum, 2)
    for c in (0, 1):
        risk = posterior.of(signal[stratum == c], np.full(1500, c))
        assert risk.mean() == pytest.approx(0.5, abs=0.05)


SHRINKAGES = (0.0, 5.0, 20.0, 80.0, 320.0, np.inf)


def naive_shrinkage(signal, member, stratum) -> float:
    """Return the strongest shrinkage within one standard error of the best, fold by fold."""
    folds = _folds(signal, member, stratum)
    errors = np.zeros((len(SHRINKAGES), len(signal)))
    # Members and non-members of every class count alike.
    alike = [np.sum((stratum == c) & (member == side))
             for c, side in zip(stratum, member, strict=True)]  # fmt: skip
    weight = np.array([np.sum(stratum == c) for c in stratum]) / (2 * np.array(alike))
    for judged in range(5):
        kept = folds != judged
        if len(set(member[kept].tolist())) < 2:
            continue
        for i, shrinkage in enumerate(SHRINKAGES):
            fit = Isotonic(shrinkage).learn(signal[kept], member[kept], stratum[kept], 4)
            guess = fit.of(signal[~kept], stratum[~kept])
            errors[i, ~kept] = weight[~kept] * (guess - member[~kept]) ** 2
    best = int(np.argmin(errors.mean(axis=1)))
    worse = errors - errors[best]
    allowed = worse.std(axis=1) / np.sqrt(len(signal))
    return SHRINKAGES[int(np.flatnonzero(worse.mean(axis=1) <= allowed)[-1])]


@given(st.integers(0, 10**6), st.sampled_from([30, 80]), st.sampled_from([0.0, 1.0, 3.0]))
@settings(max_examples=times(20))
def test_the_shrinkage_is_the_strongest_that_predicts_as_well_as_the_best(
    seed: int, n: int, differ: float
) -> None:
    rng = np.random.default_rng(seed)
    stratum = rng.integers(3, size=n)
    member = rng.random(n) < np.array([0.2, 0.5, 0.8])[stratum]
    member[:2] = [True, False]
    signal = rng.normal(size=n) + 2.0 * member + differ * stratum
    expected = Isotonic(naive_shrinkage(signal, member, stratum))
    found = Isotonic().learn(signal, member, stratum, 4)
    rows = rng.normal(size=50) * 3 + 2, rng.integers(4, size=50)
    assert found.of(*rows).tolist() == expected.learn(signal, member, stratum, 4).of(*rows).tolist()


def test_of_one_kind_alone_every_bin_is_full_or_empty() -> None:
    signal = -np.arange(1.0, 6.0)
    zeros = np.zeros(5, np.int64)
    for member in (np.ones(5, bool), np.zeros(5, bool)):
        found = Histogram().learn(signal, member, zeros, 1).of(signal, zeros)
        assert found.tolist() == member.tolist()


def test_a_class_is_shrunk_by_nothing_up_to_everything():
    # A class of n records weighs n / (n + shrinkage), which is a weight for none below 0.
    assert list(_SHRINKAGES) == sorted(set(_SHRINKAGES))
    assert (_SHRINKAGES[0], _SHRINKAGES[-1]) == (0.0, np.inf)


def test_a_step_between_the_nearest_numbers_is_a_number():
    """The slope between them overflows."""
    knots = np.array([-1e-320, -1e-320, 0.0, 0.0])
    found = Step(knots, np.array([0.2, 0.3, 0.6, 0.7])).at(np.array([-1.0, -5e-321, 0.0, 1.0]))
    assert found.tolist() == [0.2, 0.3, 0.7, 0.7]
