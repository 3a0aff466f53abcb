from __future__ import annotations

import itertools
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate.defences import quantile
from privacygauge.evaluate.playing import headline
from privacygauge.evaluate.rates import clopper_pearson, excess
from privacygauge.report.attacks.verdict import TOO_FEW
from privacygauge.report.grades import GRADES, LARGE, NONE, UNTOLD
from privacygauge.tables.generators.generator import BayNet
from privacygauge.tables.released.copies import copied_beyond, find_copies
from privacygauge.tables.released.hits import (
    Attempts,
    Hits,
    correlation_of,
    release_risk,
    risk_beyond_control,
)
from privacygauge.tables.released.membership import cross_fitted, membership_played
from privacygauge.tables.released.shared_rare_values import FORMS as IN_COMMON
from privacygauge.tables.released.singling_out import Predicate, isolated_rows, singling_out
from privacygauge.tables.released.suite import STEPS, tries
from privacygauge.tables.released_audit.audit import audit_released
from privacygauge.tables.released_audit.verdict import grades, verdict
from privacygauge.tables.table import Table
from tests.tables.released.made_released import people, released, without_holdout
from tests.thorough import THOROUGH, quarter, times


def of(successes, n):
    return np.arange(n) < successes


@pytest.fixture(scope="module")
def tables():
    return released(np.random.default_rng(0), 120)


# Two columns are guessed, one of categories and one of numbers: each takes a forest of its own.
ASKED = {"attempts": 100, "label": "sex", "secrets": ["sex", "pay"]}


@pytest.fixture(scope="module")
def leaky(tables):
    return audit_released(tables.real, tables.synthetic, tables.holdout, **ASKED)


@pytest.fixture(scope="module")
def alone(tables):
    return audit_released(tables.real, tables.synthetic, **ASKED)


def test_every_step_is_told_and_the_last_one_is_the_last(tables):
    told = []
    audit_released(tables.real, tables.synthetic, **ASKED, progress=lambda *at: told.append(at))
    done, all_steps = zip(*told, strict=True)
    assert list(done) == sorted(done)
    assert len(set(done)) == len(ASKED["secrets"]) + 3 + STEPS
    assert set(all_steps) == {done[-1]}


# -- the risk


def test_the_risk_is_the_share_of_what_the_control_leaves_open():
    found = excess(of(60, 100), of(20, 100))
    assert found.value == pytest.approx((0.6 - 0.2) / (1 - 0.2), abs=1e-12)
    assert excess(of(100, 100), of(20, 100)).value == 1.0
    assert excess(of(20, 100), of(20, 100)).value == 0.0


def test_a_control_that_always_succeeds_leaves_nothing_open():
    both = excess(of(50, 50), of(50, 50))
    assert (both.value, both.low, both.high) == (0.0, -1.0, 1.0)
    worse = excess(of(49, 50), of(50, 50))
    assert worse.value == worse.low == -1.0
    hits = Hits("inference", "x", of(50, 50), of(50, 50), of(9, 50), "a guess")
    assert "no attack can go beyond" in release_risk(hits, 0.95).notes[-1]


@settings(max_examples=times(60), deadline=None)
@given(
    st.integers(2, 60),
    st.integers(2, 60),
    st.data(),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
    st.sampled_from([0.0, -0.3, -1.0]),
)
def test_the_interval_holds_the_ratios_between_the_limits_of_the_difference(
    n, m, data, level, correlation
):
    x = data.draw(st.integers(1, n - 1))
    y = data.draw(st.integers(1, m - 1))
    found = excess(of(x, n), of(y, m), level, correlation=correlation)
    p = 1 - x / n
    q = 1 - y / m
    p_low, p_high = clopper_pearson(n - x, n, level)
    q_low, q_high = clopper_pearson(m - y, m, level)

    def limit(ratio, sign):
        ours, others = (p - p_low, q_high - q) if sign < 0 else (p_high - p, q - q_low)
        square = ours**2 + (ratio * others) ** 2 - 2 * correlation * ratio * ours * others
        return p - ratio * q + sign * np.sqrt(max(square, 0.0))

    least = brentq(lambda r: limit(r, -1), 0, p / q)
    # The upper limit falls from above 0 at p / q; it may stay above 0 for ever.
    most = brentq(lambda r: limit(r, 1), p / q, 1e9) if limit(1e9, 1) < 0 else np.inf
    assert found.high == pytest.approx(max(-1.0, 1 - least), abs=1e-6)
    assert found.low == pytest.approx(max(-1.0, 1 - most), abs=1e-6)


@pytest.mark.parametrize("level", [0.95, 0.998])
@pytest.mark.parametrize(("n", "m"), [(40, 40), (60, 30)])
def test_the_interval_covers_at_least_its_level_whatever_the_shares(n, m, level):
    # Every outcome, weighed by its probability: no simulation.
    ends = {
        (x, y): excess(of(x, n), of(y, m), level)
        for x, y in itertools.product(range(n + 1), range(m + 1))
    }
    low, high = (
        np.array([[getattr(ends[x, y], end) for y in range(m + 1)] for x in range(n + 1)])
        for end in ("low", "high")
    )
    for a, c in itertools.product([0.01, 0.1, 0.5, 0.9, 0.99], repeat=2):
        truth = max(-1.0, (a - c) / (1 - c))
        weight = np.outer(binom.pmf(np.arange(n + 1), n, a), binom.pmf(np.arange(m + 1), m, c))
        inside = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
        # At 99.8% one pair of shares in a hundred falls short by a tenth of a percent point.
        assert float(weight[inside].sum()) >= level - 0.0015


def test_attempts_that_exclude_each_other_are_allowed_for():
    """Half of the attempts succeed on one side alone: as independent they would fall short."""
    rng = np.random.default_rng(0)
    n = 200
    missed = [0, 0]
    truth = (0.7 - 0.2) / (1 - 0.2)
    for _ in range(times(600)):
        kind = rng.random(n) < 0.5
        attack = np.where(kind, rng.random(n) < 1.0, rng.random(n) < 0.4)
        control = np.where(kind, False, rng.random(n) < 0.4)
        hits = Hits("singling-out", "x", attack, control, attack, "a try", paired=True)
        assert correlation_of(hits) < 0
        for i, found in enumerate((risk_beyond_control(hits, 0.9), excess(attack, control, 0.9))):
            missed[i] += found.excludes(truth)
    # Three standard errors of a share of 10%.
    assert missed[0] <= 0.1 * times(600) + 3 * np.sqrt(0.09 * times(600))
    assert missed[0] < missed[1]


def test_attempts_that_agree_are_taken_for_independent():
    hit = of(30, 100)
    assert correlation_of(Hits("x", "", hit, hit, hit, "m", paired=True)) == 0.0
    assert correlation_of(Hits("x", "", hit, ~hit, hit, "m", paired=True)) == -1.0
    assert correlation_of(Hits("x", "", hit, ~hit, hit, "m")) == 0.0


def test_attempts_of_one_unit_are_worth_less():
    hit = of(40, 100)
    control = of(20, 100)
    unit = np.repeat(np.arange(20), 5)
    apart = excess(hit, control)
    together = excess(hit, control, units=(unit, unit))
    assert together.value == apart.value
    assert together.low < apart.low
    assert together.high > apart.high
    assert together.n == 20


def test_bad_numbers_are_refused():
    with pytest.raises(InputError, match="attempts on both sides"):
        excess(of(0, 0), of(1, 3))
    with pytest.raises(InputError, match="correlation must be in"):
        excess(of(1, 3), of(1, 3), correlation=2.0)
    with pytest.raises(InputError, match="level must be in"):
        excess(of(1, 3), of(1, 3), 1.0)


def test_the_record_that_a_predicate_isolates(tables):
    made = tables.real
    everybody = Predicate((0,), (-np.inf,), (np.inf,))
    row = int(np.argmax(made.values[:, 2]))
    highest = Predicate((2,), (float(made.values[row, 2]),), (np.inf,))
    assert isolated_rows([everybody, highest, everybody], made).tolist() == [
        len(made), row, len(made) + 2,
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["values", "tails"])
def test_the_units_of_singling_out_are_those_of_its_attempts(tables, form):
    for found in (tables, without_holdout(tables)):
        hits = singling_out(found, np.random.default_rng(3), form=form, attempts=Attempts(60, 60))
        assert np.array_equal(hits.attack_unit < len(tables.real), hits.attack)
        if found.holdout is not None:
            held = hits.control_unit < len(tables.holdout)
            assert np.array_equal(held, hits.control)


# -- facts


def test_the_interval_of_a_quantile_covers():
    rng = np.random.default_rng(1)
    n = 40
    q = 0.25
    inside = sum(
        not quantile(rng.exponential(size=n), q, 0.9).excludes(-np.log(1 - q))
        for _ in range(times(800))
    )
    # Four standard errors of a share of 90%.
    assert inside / times(800) >= 0.9 - 4 * np.sqrt(0.09 / times(800))
    assert quantile(np.ones(5), 0.5, 0.95).value == 1.0


def test_the_blind_attack_is_judged_as_on_half_of_the_records():
    found = cross_fitted(Estimate(0.6, 0.5, 0.7, 0.95, 100, "DeLong"))
    assert found.low < 0.5 < 0.7 < found.high
    odds = [np.log(x / (1 - x)) for x in (found.low, found.value, found.high)]
    assert odds[1] - odds[0] == pytest.approx(np.sqrt(2) * np.log(1.5), rel=1e-12)
    edge = Estimate(1.0, 0.9, 1.0, 0.95, 100, "pairs")
    assert cross_fitted(edge) == edge


# -- the audit


@pytest.mark.slow
def test_a_table_of_copies_is_grave(leaky):
    assert verdict(leaky).grade == GRADES[-1]
    # Few people who stand out are a moderate leak at most: the average says the rest.
    found = grades(leaky)
    assert GRADES.index(found.pop("few")) == GRADES.index(GRADES[-1]) - 1
    assert found.pop("order") == NONE
    assert found.pop("filtered") == NONE
    assert found.pop("crowds") == NONE
    assert set(found.values()) == {GRADES[-1]}
    assert leaky.headline.accuracy.low > 0.9
    assert leaky.corrected.copies.low > 0.9
    assert any("stand in the synthetic table as they are" in w for w in leaky.warnings)
    assert len(leaky.records.member) == 120 + 120
    assert repr(leaky).startswith("<ReleasedAudit: Large leak")


@pytest.mark.slow
def test_every_risk_has_an_interval_of_its_own_and_a_wider_one_for_the_verdict(leaky):
    assert {risk.name for risk in leaky.risks} == {"singling-out", "linkability", "inference"}
    assert len(leaky.risks) == len(leaky.corrected.risks) == 2 + 1 + 3 + 2 + 3
    assert leaky.corrected.looks == 16
    for risk, together in zip(leaky.risks, leaky.corrected.risks, strict=True):
        assert risk.risk.level == 0.95
        assert together.level == pytest.approx(1 - 0.05 / 16)
        assert together.low <= risk.risk.low
        assert risk.risk.value == pytest.approx(
            (risk.attack.value - risk.control.value) / (1 - risk.control.value)
        )


@pytest.mark.slow
def test_people_that_nothing_was_learnt_from_are_not_given_away():
    """Null law: two samples beside a table that was made from a third one."""
    held = 0
    looked = 0
    grave = 0
    n = quarter(20)
    for seed in range(n):
        tables = released(np.random.default_rng(seed), 60, BayNet(), of="others")
        tried = tries(tables, None, Attempts(100, 100), seed).hits
        risks = [risk_beyond_control(x, 0.95) for x in tried]
        held += sum(not risk.excludes(0.0) for risk in risks)
        looked += len(risks)
        together = 1 - 0.05 / (len(tried) + 1)
        looks = [risk_beyond_control(x, together) for x in tried]
        looks.append(copied_beyond(find_copies(tables, np.random.default_rng(seed)), together))
        grave += any(look.low > 0 for look in looks)
    # Intervals of one table hang together: three standard errors as if four of nine did not.
    assert held / looked >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / (looked * 4 / 9))
    # Two in a hundred are wanted at most; more of so many are rarer than 1 in 100 then.
    assert grave <= binom.ppf(0.99, n, 0.02)


def null_verdict(seed, n=150):
    """Return the verdict on a release of the population: real records and holdout are nobody's."""
    tables = released(np.random.default_rng([seed, 23]), n, of="others")
    found = audit_released(
        *(tables.real, tables.synthetic, tables.holdout),
        attempts=n,
        label="sex",
        secrets=["sex"],
        seed=seed,
    )
    return verdict(found)


@pytest.mark.slow
def test_releases_of_the_population_are_no_more_often_leaks_than_the_level_allows():
    n = 200 if THOROUGH else 10
    found = [null_verdict(seed) for seed in range(n)]
    most = binom.ppf(0.999, n, 0.05)
    assert sum(one.grade not in (NONE, UNTOLD) for one in found) <= most
    # So few records could not have shown a moderate leak, which is said in its own words.
    assert sum(one.headline != TOO_FEW for one in found) <= most


@pytest.mark.slow
def test_a_holdout_of_other_people_is_noticed_and_accuses_nobody():
    rng = np.random.default_rng(3)
    real = people(rng, 150)
    other = people(rng, 150)
    asked = {"attempts": 50, "label": "sex", "secrets": ["sex"]}
    younger = other.assign(age=lambda x: x["age"] // 3 + 18)
    found = audit_released(real, people(rng, 150), younger, **asked)
    assert found.drifted == ("age",)
    told = verdict(found)
    assert told.grade == UNTOLD
    assert "'age'" in told.headline
    # Each column is as in the real table, and they depend on each other otherwise.
    against = other.assign(pay=other["pay"].sort_values(ascending=False).to_numpy())
    against["age"] = np.sort(other["age"])
    found = audit_released(real, people(rng, 150), against, **asked)
    assert found.drifted == ()
    assert found.blind.auc.low > 0.5
    assert "not from the same source" in " ".join(found.warnings)
    assert verdict(found).grade == UNTOLD


@pytest.mark.slow
def test_without_a_holdout_nothing_is_called_safe(alone, tables):
    assert isinstance(alone.game, Skipped)
    assert alone.evaluations == ()
    assert (alone.headline, alone.blind, alone.records) == (None, None, None)
    assert all(risk.control is None and risk.risk is None for risk in alone.risks)
    assert verdict(alone).grade == LARGE  # of copies alone, which need no holdout
    assert len(alone.copies) == 2
    far = tables.synthetic.values.copy()
    far[:, 2] = far[::-1, 2]  # no copies any more
    asked = {"attempts": 50, "label": "sex", "secrets": ["sex"]}
    quiet = audit_released(tables.real, Table(tables.schema, far), **asked)
    assert verdict(quiet).grade == UNTOLD
    assert "not a verdict of safety" in verdict(quiet).unsaid


@pytest.mark.slow
def test_a_seed_fixes_everything_and_a_secret_changes_no_other_number(tables, leaky):
    given = (tables.real, tables.synthetic, tables.holdout)
    again = audit_released(*given, **ASKED)
    assert again.to_json() == leaky.to_json()
    fewer = audit_released(*given, **ASKED | {"secrets": ["sex"]})
    assert [e.auc for e in fewer.evaluations] == [e.auc for e in leaky.evaluations]
    assert fewer.risks[:3] == leaky.risks[:3]
    assert fewer.corrected.looks == 15
    other = audit_released(*given, **ASKED | {"secrets": ["sex"]}, seed=1)
    assert other.to_json() != fewer.to_json()


@pytest.mark.slow
def test_the_attacks_see_the_same_records_and_thresholds_of_others(leaky):
    rules = {e.rule for e in (*leaky.evaluations, leaky.blind)}
    assert rules == {"cross-fitted threshold"}
    assert {(e.n_in, e.n_out) for e in (*leaky.evaluations, leaky.blind)} == {(120, 120)}
    assert leaky.headline.accuracy.method.endswith("simultaneous over attacks")


def test_guesses_and_ranking_share_the_error_of_the_attacks(tables):
    found = membership_played(tables, 0, 0.95)
    whole, half = (headline(found.played, share=share) for share in (1.0, 0.5))
    # Half of the error is that of the same intervals at a stricter level.
    assert half.each == headline(found.played, level=0.975).each > whole.each
    by_audit = found.headline
    assert by_audit.accuracy.level == 0.95
    assert (by_audit.accuracy.low, by_audit.auc.high) == (half.accuracy.low, half.auc.high)
    assert whole.accuracy.high - whole.accuracy.low < half.accuracy.high - half.accuracy.low


@pytest.mark.slow
def test_names_and_contents_only_where_they_were_asked_for(tables):
    given = (tables.real, tables.synthetic, tables.holdout)
    asked = {"attempts": 20, "secrets": ["sex"], "label": "sex"}
    named = audit_released(*given, ids=[f"p{i}" for i in range(120)], **asked)
    assert named.records.ids[:2].tolist() == ["p0", "p1"]
    assert named.records.ids[-1].startswith("holdout row ")
    assert not named.records.contents
    found = audit_released(*given, show=["town"], **asked)
    assert list(found.records.contents) == ["town"]
    town = tables.real.to_frame()["town"].to_numpy()
    assert found.records.contents["town"][:120].tolist() == town.tolist()
    rows = found.records.ids[120:]
    others = tables.holdout.to_frame()["town"].to_numpy()
    assert found.records.contents["town"][120:].tolist() == others[rows].tolist()


@pytest.mark.slow
def test_frames_a_schema_and_a_single_column():
    rng = np.random.default_rng(5)
    frames = [people(rng, 60)[["job"]] for _ in range(3)]
    found = audit_released(*frames, attempts=20)
    assert {s.name for s in found.skipped} >= {"linkability", "inference"}
    assert json.loads(found.to_json())["skipped"]
    two = [people(rng, 60)[["job", "sex"]] for _ in range(3)]
    schema = audit_tables_schema(two)
    given = audit_released(*two, attempts=20, schema=schema, label="sex")
    assert given.to_json() == audit_released(*two, attempts=20, label="sex").to_json()
    with pytest.raises(InputError, match="synthetic: "):
        audit_released(two[0], two[1].assign(job="zz"), two[2], schema=schema)


def audit_tables_schema(frames):
    from privacygauge.tables.released.tables import read_together

    return read_together(*frames).schema


@pytest.mark.slow
def test_a_small_holdout_and_columns_of_names_are_told():
    rng = np.random.default_rng(7)
    real = people(rng, 120)
    made = people(rng, 120)
    held = people(rng, 20)
    real, made, held = (x.assign(file=np.arange(len(x))) for x in (real, made, held))
    found = audit_released(real, made, held, attempts=20, secrets=["sex"], label="sex")
    text = " ".join(found.warnings)
    assert "the holdout has 20 records beside 120 real ones" in text
    assert "column 'file' numbers the records: it is left out" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.5}, "level must be in"),
        ({"seed": -1}, "seed must be"),
        ({"attempts": 0}, "attempts must be at least 1, got 0"),
        ({"secrets": ["colour"]}, "secrets names 'colour'"),
        ({"secrets": "sex"}, "secrets must be a list of columns"),
        ({"show": ["colour"]}, "show names 'colour'"),
        ({"parts": {"visits": ["colour"]}}, "part 'visits' names 'colour'"),
        ({"label": "colour"}, "label names 'colour'"),
        ({"label": "age"}, "label must be a categorical column"),
        ({"ids": [1, 2]}, "ids must have 120 rows, got 2"),
        ({"drop": ["sex"], "secrets": ["sex"]}, "secrets names 'sex'"),
    ],
)
def test_what_cannot_be_done_is_said_before_any_work(tables, options, message):
    frames = (x.to_frame() for x in (tables.real, tables.synthetic, tables.holdout))
    with pytest.raises(InputError, match=message):
        audit_released(*frames, **options)


def test_messages_about_tables_pass_through(tables):
    real = tables.real.to_frame()
    with pytest.raises(InputError, match=r"synthetic: .* no column 'sex'"):
        audit_released(real, real.drop(columns="sex"))
    with pytest.raises(InputError, match="holdout must have at least 10 records"):
        audit_released(real, real, real.head(5))
    with pytest.raises(InputError):
        audit_released(real, pd.DataFrame())


@pytest.mark.parametrize(
    ("low", "grade"), [(-0.2, 0), (0.0, 0), (0.05, 1), (0.1, 2), (0.29, 2), (0.3, 3)]
)
def test_a_risk_is_graded_by_its_corrected_lower_end(leaky, low, grade):
    one = Estimate(0.5, low, 0.9, 0.95, 10, "made up")
    less = Estimate(0.6, low - 0.1, 0.9, 0.95, 10, "made up")
    leaky = replace(leaky, placebo=None)
    of = (less, one, *(None,) * (len(leaky.risks) - 2))
    corrected = replace(leaky.corrected, risks=of, points=of, copies=None)
    assert grades(replace(leaky, corrected=corrected))["risks"] == GRADES[grade]
    none = replace(leaky.corrected, risks=(None,) * len(leaky.risks), copies=None)
    assert grades(replace(leaky, corrected=none))["risks"] == NONE


@pytest.mark.slow
def test_people_of_a_released_table_are_told_apart_from_records():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(60), 3)
    x = rng.normal(size=(60, 3))[people] + 0.01 * rng.normal(size=(180, 3))
    frame = pd.DataFrame(x, columns=list("abc"))
    made = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
    parts = {"real": frame[:90], "synthetic": made, "holdout": frame[90:]}
    named = audit_released(
        **parts, unit=people[:90], holdout_unit=people[90:], attempts=30, secrets=["a"]
    )
    assert named.headline.accuracy.n == 30 + 30
    assert any("180 rows belong to 60 units" in line for line in named.warnings)
    assert {r.attack.n for r in named.risks if r.name in ("linkability", "inference")} <= {
        *range(1, 31)
    }
    with pytest.raises(InputError, match="give unit for the real records too"):
        audit_released(**parts, holdout_unit=people[90:])


@pytest.mark.slow
@pytest.mark.parametrize("copied", [("age", "pay"), ("rows", "cost")])
def test_copies_of_what_one_table_says_are_found_where_the_rest_is_made_up(copied):
    rng = np.random.default_rng(5)

    def people(n):
        return pd.DataFrame(
            {
                "age": rng.integers(18, 90, n),
                "pay": rng.gamma(4.0, 800.0, n).round(),
                "rows": rng.integers(1, 9, n),
                "cost": rng.gamma(2.0, 300.0, n).round(1),
            }
        )

    real, holdout, made = (people(200) for _ in range(3))
    parts = {"people": ("age", "pay"), "visits": ("rows", "cost")}
    asked = {"secrets": ["rows"], "attempts": 50, "parts": parts}
    silent = audit_released(real, made, holdout, **asked).report().verdict
    made.loc[:14, list(copied)] = real.loc[:14, list(copied)]
    found = audit_released(real, made, holdout, **asked)
    assert silent.headline == TOO_FEW
    assert found.report().verdict.grade != NONE
    part = f"copied part: {'people' if copied[0] == 'age' else 'visits'}"
    told = {
        risk.variant: (x, risk) for x, risk in zip(found.corrected.risks, found.risks, strict=True)
    }
    beyond, risk = told[part]
    assert beyond.low > 0
    assert risk.control.value < 0.02 <= risk.attack.value
    assert {x for x, (one, _) in told.items() if one.low > 0} <= {part, *IN_COMMON}
