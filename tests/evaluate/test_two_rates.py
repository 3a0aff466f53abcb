"""Two counts tested together: against full enumeration, and against two separate limits."""

from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from privacygauge.core.transcript import Decisions
from privacygauge.errors import InputError
from privacygauge.evaluate.epsilon import epsilon_lower_bound
from privacygauge.evaluate.rates import clopper_pearson
from privacygauge.evaluate.two_rates import (
    Counts,
    Line,
    epsilon_cut,
    exact_epsilon,
    exact_mu,
    mu_line,
)
from tests.thorough import times

counted = st.tuples(st.integers(1, 25), st.integers(1, 25)).flatmap(
    lambda n: st.builds(
        Counts, st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1])
    )
)
lines = st.builds(Line, st.floats(0.3, 8.0), st.floats(0.0, 0.3))
deltas = st.sampled_from([0.0, 1e-3, 0.05])


def curve(epsilon, delta, fpr):
    """The largest true-positive rate that (epsilon, delta) allows."""
    e = np.exp(epsilon)
    return np.minimum(np.minimum(e * fpr + delta, 1 - (1 - delta - fpr) / e), 1.0)


def naive_p_value(c, line, most, level, points, corner=0.0):
    """Every pair of counts that lies as far above the line, summed; at the worst rate."""
    x, y = np.meshgrid(np.arange(c.n_in + 1), np.arange(c.n_out + 1), indexing="ij")

    def above(hits, false):
        tpr = hits / c.n_in
        variance = tpr * (1 - tpr) / c.n_in + line.slope**2 * (false + 1) / c.n_out**2
        return (tpr - line.offset - line.slope * false / c.n_out) / np.sqrt(variance)

    if above(c.hits, c.false) <= -2:
        return 1.0
    far = above(x, y) >= above(c.hits, c.false) - 1e-9
    spent = (1 - level) / 50
    low, high = clopper_pearson(c.false, c.n_out, 1 - spent)
    rates = np.linspace(np.sqrt(low), np.sqrt(high), points) ** 2
    if low < corner < high:
        rates = np.append(rates, corner)
    return spent + max(
        float((binom.pmf(x, c.n_in, most(p)) * binom.pmf(y, c.n_out, p))[far].sum()) for p in rates
    )


@settings(max_examples=times(16), deadline=None)
@given(counted, lines, deltas, st.sampled_from([0.8, 0.95]))
@example(Counts(36, 60, 0, 60), Line(1.0, 0.7), 0.0, 0.95)  # 1.5 deviations below the line
@example(Counts(2, 3, 6, 24), Line(8.0, 0.0), 0.0, 0.2)  # the lowest rate is the worst
@example(Counts(9, 22, 1, 26), Line(1.0, 0.0), 0.05, 0.2)  # the corner is near the highest rate
@example(Counts(0, 2, 0, 5), Line(8.0, 0.0), 0.0, 0.2)  # any number of hits is as many
def test_it_is_where_full_enumeration_stops_to_refute(c, line, delta, level):
    require_the_last_refuted(c, line, delta, level)


@pytest.mark.slow
@settings(max_examples=times(40), deadline=None)
@given(counted, lines, deltas, st.sampled_from([0.8, 0.95]))
def test_so_it_is_whatever_the_counts(c, line, delta, level):
    require_the_last_refuted(c, line, delta, level)


def require_the_last_refuted(c, line, delta, level):
    bound = exact_epsilon(c, line, delta, level)

    def p_value(epsilon):
        corner = (1 - delta) / (1 + np.exp(epsilon))
        return naive_p_value(c, line, lambda p: curve(epsilon, delta, p), level, 65, corner)

    assert p_value(bound + 1e-4) > 1 - level or bound >= 40
    if bound > 1e-3:
        assert p_value(bound - 1e-3) <= 1 - level + 1e-9


@settings(max_examples=times(20), deadline=None)
@given(counted, lines)
def test_mu_is_where_full_enumeration_stops_to_refute(c, line):
    bound = exact_mu(c, line)

    def p_value(mu):
        return naive_p_value(c, line, lambda p: ndtr(ndtri(p) + mu), 0.95, 65)

    assert p_value(bound + 1e-4) > 0.05 or bound >= 20
    if bound > 1e-3:
        assert p_value(bound - 1e-3) <= 0.05 + 1e-9


@pytest.mark.slow
def test_65_rates_and_the_corner_are_as_good_as_many():
    rng = np.random.default_rng(2)
    for n_in, n_out in rng.integers(5, 25, (times(16), 2)):
        delta = rng.choice([0.0, 1e-3, 0.05])
        c = Counts(
            int(rng.integers(n_in // 2, n_in + 1)), n_in, int(rng.integers(n_out // 3)), n_out
        )
        bound = exact_epsilon(c, Line(3.0, delta), delta)
        if bound > 0:
            most = partial(curve, bound, delta)
            # A hundredth of the error at most is missed between the rates.
            assert naive_p_value(c, Line(3.0, delta), most, 0.95, 513) <= 0.05 + 5e-4


def error_of(epsilon, delta, fpr, n_in, n_out, line):
    """How often the bound is above the truth, by enumeration: it rises with the hits."""
    tpr = float(curve(epsilon, delta, fpr))
    wrong = 0.0
    for false in range(n_out + 1):
        chance = binom.pmf(false, n_out, fpr)
        if chance < 1e-7:
            continue
        first = 0
        last = n_in + 1
        while first < last:
            middle = (first + last) // 2
            high = exact_epsilon(Counts(middle, n_in, false, n_out), line, delta) > epsilon
            first, last = (first, middle) if high else (middle + 1, last)
        wrong += chance * binom.sf(first - 1, n_in, tpr)
    return wrong


@pytest.mark.parametrize(
    ("epsilon", "delta", "fpr", "n_in", "n_out", "slope"),
    [
        (1.0, 0.0, 0.1, 25, 25, 2.0),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in [
                (0.5, 0.1, 0.3, 20, 30, 1.5),
                (1.0, 0.05, 0.05, 40, 20, 2.0),
                (2.0, 0.0, 0.03, 60, 60, 5.0),
                (2.0, 0.0, 0.1, 60, 60, 1.0),
                (0.1, 0.0, 0.5, 50, 30, 1.1),
                (3.0, 0.01, 0.02, 30, 90, 30.0),
            ]
        ),
    ],
)
def test_it_errs_no_more_often_than_it_says(epsilon, delta, fpr, n_in, n_out, slope):
    assert error_of(epsilon, delta, fpr, n_in, n_out, Line(slope, delta)) <= 0.05


@pytest.mark.parametrize(
    ("hits", "n_in", "false", "n_out", "delta", "slope"),
    [
        (90, 100, 10, 100, 0.0, 4.0),
        (100, 100, 0, 100, 0.0, 20.0),
        (40, 1000, 3, 1000, 0.0, 5.0),
        (4000, 50_000, 300, 50_000, 1e-3, 10.0),
        (400, 500_000, 30, 500_000, 1e-5, 8.0),
    ],
)
def test_it_is_tighter_than_two_limits(hits, n_in, false, n_out, delta, slope):
    guess = np.concatenate([np.arange(n_in) < hits, np.arange(n_out) < false])
    secret = np.arange(n_in + n_out) < n_in
    apart = epsilon_lower_bound(Decisions(guess, secret), delta)
    together = exact_epsilon(Counts(hits, n_in, false, n_out), Line(slope, delta), delta)
    with np.errstate(divide="ignore"):
        found = np.log(np.divide(hits / n_in - delta, false / n_out))
    assert apart.low < together < found


def test_a_perfect_attack_has_the_bound_of_as_many_right_guesses():
    # At delta = 0 the worst curve makes each of 200 guesses right with q = e^eps / (1 + e^eps).
    q = (0.05 * 0.98) ** (1 / 200)
    found = exact_epsilon(Counts(100, 100, 0, 100), Line(20.0, 0.0))
    assert found == pytest.approx(np.log(q / (1 - q)), abs=1e-4)


@settings(max_examples=times(40), deadline=None)
@given(counted, lines, deltas)
def test_more_hits_never_show_less_and_nothing_shows_more_than_the_rates(c, line, delta):
    bound = exact_epsilon(c, line, delta)
    if c.hits < c.n_in:
        more = Counts(c.hits + 1, c.n_in, c.false, c.n_out)
        assert exact_epsilon(more, line, delta) >= bound - 2e-6
    if bound > 0:
        assert c.hits / c.n_in > curve(bound, delta, c.false / c.n_out)


def test_guesses_at_chance_level_show_nothing():
    for false in (0, 3, 10):
        chance = Counts(false, 10, false, 10)
        assert exact_epsilon(chance, Line(1.05, 0.0)) == exact_mu(chance, Line(1.0, 0.0)) == 0.0


def test_what_shows_in_who_was_left_out_is_found_there():
    # Who is in never scores -9, who is out does so in a tenth of the cases: no threshold for
    # members has a high ratio.
    rng = np.random.default_rng(0)
    secret = np.arange(4000) < 2000
    score = rng.normal(size=4000)
    score[(rng.random(4000) < 0.1) & ~secret] = -9.0
    found = epsilon_cut(score, secret, 0.0)
    assert found.turned
    counts = Counts.of(Decisions(score >= found.cut, secret)).turned
    assert exact_epsilon(counts, found.line) > 2
    assert not epsilon_cut(-score, ~secret, 0.0).turned


@pytest.mark.parametrize("mu", [0.0, 0.7, 3.0])
def test_the_line_for_mu_is_a_tangent_of_its_curve(mu):
    rng = np.random.default_rng(1)
    score = rng.normal(size=500)
    secret = np.arange(500) < 250
    line = mu_line(score, secret, 0.4, mu)
    rates = np.linspace(0.001, 0.999, 999)
    gap = line.offset + line.slope * rates - ndtr(ndtri(rates) + mu)
    assert gap.min() == pytest.approx(0.0, abs=1e-4)
    assert rates[gap.argmin()] == pytest.approx((score[~secret] >= 0.4).mean(), abs=0.01) or mu == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Counts(3, 2, 0, 1), "hits must be in 0..n_in, got 3 of 2"),
        (lambda: Counts(0, 0, 0, 1), "hits must be in 0..n_in, got 0 of 0"),
        (lambda: Counts(0, 1, 2, 1), "false must be in 0..n_out, got 2 of 1"),
        (lambda: Counts(-1, 2, 0, 1), "hits must be in 0..n_in, got -1 of 2"),
        (lambda: Counts(0, 1, -1, 2), "false must be in 0..n_out, got -1 of 2"),
        (lambda: Counts(0, 1, 0, 0), "false must be in 0..n_out, got 0 of 0"),
        (lambda: Line(np.inf, 0.0), "a line must rise and be finite"),
        (lambda: Line(1.0, np.nan), "a line must rise and be finite"),
        (lambda: exact_epsilon(Counts(1, 1, 0, 1), Line(1.0, 0.0), -0.1), r"delta must be in"),
        (lambda: Line(0.0, 0.0), "a line must rise and be finite"),
        (lambda: exact_epsilon(Counts(1, 1, 0, 1), Line(1.0, 0.0), 1.0), r"delta must be in"),
        (lambda: exact_mu(Counts(1, 1, 0, 1), Line(1.0, 0.0), 0.0), r"level must be in"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
