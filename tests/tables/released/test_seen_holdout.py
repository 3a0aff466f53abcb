"""A generator that saw the holdout is found by copies with noise, and one that did not is not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from privacygauge.report.grades import UNTOLD
from privacygauge.tables.generators.generator import SynthPop
from privacygauge.tables.released.shared_rare_values import (
    FOREMOST,
    SURE,
    nearest_in_common,
    nearest_of_each,
    seen_nearly,
)
from privacygauge.tables.released.tables import stack_tables, tables_of
from privacygauge.tables.released_audit.audit import audit_released
from tests.tables.released.planted import WIDE, population

N = 200


def noisy(rng, rows):
    """Return rows whose numbers were moved by a tenth of their spread."""
    found = rows.copy()
    for name in found.select_dtypes("number"):
        moved = found[name] + rng.normal(0, 0.1 * found[name].std(), len(found))
        found[name] = moved.round().astype(rows[name].dtype)
    return found


def sides(seed, n=N):
    rng = np.random.default_rng(seed)
    everybody = population(rng, 3 * n)[WIDE]
    return rng, *(everybody[i * n : (i + 1) * n].reset_index(drop=True) for i in range(3))


def tables(real, made, holdout):
    return tables_of(real, made, holdout, None, ((), (), ()), ())


def seen(real, made, holdout):
    return seen_nearly(tables(real, made, holdout), np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(3))
def test_noisy_copies_of_the_holdout_are_found(seed):
    rng, real, holdout, _ = sides(seed)
    made = noisy(rng, pd.concat([real, holdout]).sample(N, random_state=seed))
    assert len(seen(real, made.reset_index(drop=True), holdout))


@pytest.mark.parametrize("seed", range(3))
def test_a_tenth_of_noisy_copies_is_found(seed):
    rng, *frames = sides(seed, 400)
    real, holdout, others = (
        frame.assign(**{f"lab{i}": rng.normal(100, 20, 400).round() for i in range(3)})
        for frame in frames
    )
    copies = noisy(rng, pd.concat([real, holdout]).sample(40, random_state=seed))
    made = pd.concat([copies, others[40:]], ignore_index=True)
    found = seen(real, made, holdout)
    assert 9 <= len(found) <= 30
    assert not len(seen(real, pd.concat([noisy(rng, real[:40]), others[40:]]), holdout))


@pytest.mark.parametrize("seed", range(3))
def test_other_people_and_copies_of_the_real_records_say_nothing_of_the_holdout(seed):
    rng, real, holdout, others = sides(seed)
    assert not len(seen(real, others, holdout))
    assert not len(seen(real, noisy(rng, real), holdout))


@pytest.mark.slow
def test_columns_of_few_numbers_say_nothing_of_the_holdout():
    """Codes such as answers of a questionnaire have many equal numbers, on both sides alike."""
    loads = np.random.default_rng(1).normal(size=(2, 15))
    found = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        level = rng.normal(size=(1800, 2)) @ loads + 0.5 * rng.normal(size=(1800, 15))
        codes = pd.DataFrame(np.digitize(level, [-2.5, -1, 0, 1, 2.5])).add_prefix("q")
        parts = (codes[600 * i : 600 * (i + 1)].reset_index(drop=True) for i in range(3))
        found += len(seen(*parts)) > 0
    # One in 2,000 for each of three looks: two of 40 are seen once in 1,000 runs.
    assert found <= 1


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_makes_rare_values_frequent_says_nothing_of_the_holdout(seed):
    rng, *frames = sides(seed, 600)
    frequent = [(0.6, 40), (0.2, 20), (0.2, 50)]  # hours of work, as people tell them
    share, hours = zip(*frequent, strict=True)
    real, holdout, _ = (frame.assign(hours=rng.choice(hours, 600, p=share)) for frame in frames)
    for frame in (real, holdout):
        others = rng.random(600) < 0.2
        frame.loc[others, "hours"] = rng.integers(1, 80, int(others.sum()))
    made = real.assign(hours=real["hours"] + rng.integers(-2, 3, 600))
    assert not len(seen(real, made, holdout))
    copies = holdout.assign(hours=holdout["hours"] + rng.integers(-2, 3, 600))
    assert len(seen(real, copies, holdout))


def test_chance_reaches_far_no_more_often_than_the_level_allows():
    for size, few in FOREMOST:
        assert binom.cdf(few, size, 0.5) <= 1 - SURE < binom.cdf(few, size - 1, 0.5)


def test_tables_without_a_holdout_or_with_few_columns_are_not_asked():
    _, real, holdout, others = sides(0)
    assert not len(seen(real, others, None))
    assert not len(seen(real[WIDE[:2]], holdout[WIDE[:2]], holdout[WIDE[:2]]))


def test_the_nearest_of_all_tables_is_the_nearest_of_one_table_of_them_all():
    found = tables(*sides(0)[1:])
    several, _ = nearest_of_each(found.holdout, (found.synthetic, found.real))
    whole = nearest_in_common(found.holdout, stack_tables(found.synthetic, found.real))
    np.testing.assert_array_equal(several.max(axis=0), whole)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_generator_of_the_real_records_saw_no_holdout(seed):
    rng, real, holdout, _ = sides(seed, 1000)
    found = tables(real, real, holdout)
    made = SynthPop().generate(found.real, 1000, rng)
    assert not len(seen(real, made.to_frame().astype(real.dtypes), holdout))


@pytest.mark.slow
def test_a_holdout_that_the_generator_nearly_copied_is_no_control():
    rng, real, holdout, _ = sides(0, 400)
    made = noisy(rng, pd.concat([real, holdout]).sample(400, random_state=0))
    audit = audit_released(real, made.reset_index(drop=True), holdout)
    verdict = audit.report().verdict
    assert verdict.grade == UNTOLD
    assert "nearly holds holdout records" in verdict.headline
    assert any("more in common with a synthetic row" in text for text in audit.origin.warnings)
