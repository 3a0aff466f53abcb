"""Audits of privacy claims: the verdict follows from the bounds; a broken training is caught."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binom, binomtest

from privacygauge.claims.claim_audit.audit import audit_privacy_claim
from privacygauge.claims.claim_audit.report import IF_GAUSSIAN, REFUTED, STANDS, UNKNOWN, verdict
from privacygauge.claims.defences.dp_sgd import SubsampledGaussian
from privacygauge.core.transcript import Transcript
from privacygauge.datasets.canary_scores import as_canaries, order_warnings
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import GuessCounts, PrivacyClaim, bonferroni_level
from privacygauge.evaluate.claim_bounds import held_out, log_spaced_counts
from privacygauge.evaluate.claim_designs import (
    ManyRuns,
    OneRun,
    Sequential,
    claim_of_group,
    looks_gaussian,
)
from privacygauge.evaluate.sampled_steps import SampledSteps, gaussian_epsilon, gaussian_mu
from privacygauge.report.values import Severity
from tests.thorough import quarter, times

pytestmark = pytest.mark.usefixtures("undrawn")


def drawn(n: int, mu: float, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    member = rng.random(n) < 0.5
    return {"score": rng.normal(size=n) + mu * member, "member": member}


def trained_with_noise(sigma: float, n_steps: int, seed: int) -> dict[str, np.ndarray]:
    """Canaries' margins after noisy gradient descent on a logistic regression.

    Every step adds up gradients clipped to a norm of 1 and adds noise of deviation sigma, so the
    training is Gaussian with mu = sqrt(n_steps) / sigma. A canary is large in one coordinate of
    its own, so that its gradient is clipped, and shares others with 200 ordinary records.
    """
    rng = np.random.default_rng(seed)
    n_canaries = 400
    n_ordinary = 200
    n_shared = 5
    member = rng.random(n_canaries) < 0.5
    canaries = np.hstack([100 * np.eye(n_canaries), rng.normal(size=(n_canaries, n_shared))])
    ordinary = np.hstack(
        [np.zeros((n_ordinary, n_canaries)), rng.normal(size=(n_ordinary, n_shared))]
    )
    x = np.vstack([canaries[member], ordinary])
    weights = np.zeros(x.shape[1])
    for _ in range(n_steps):
        each = -x / (1 + np.exp(np.clip(x @ weights, -50, 50)))[:, None]
        norms = np.linalg.norm(each, axis=1, keepdims=True)
        total = (each / np.maximum(norms, 1.0)).sum(axis=0)
        weights -= 0.004 * (total + sigma * rng.normal(size=len(weights)))
    return {"score": canaries @ weights, "member": member}


@pytest.mark.parametrize("trainings", [1, pytest.param(times(60), marks=pytest.mark.slow)])
def test_the_audit_stays_below_the_accountant_in_95_of_100_trainings(trainings):
    epsilon = 4.0
    delta = 1e-5
    n_steps = 10
    sigma = np.sqrt(n_steps) / gaussian_mu(epsilon, delta)
    above = 0
    found = []
    for seed in range(trainings):
        audit = audit_privacy_claim(trained_with_noise(sigma, n_steps, seed), epsilon, delta)
        low = max(bound.estimate.low for bound in audit.bounds)
        above += low > epsilon
        found.append(low)
        assert (low > epsilon) == (verdict(audit).grade in (REFUTED, IF_GAUSSIAN))
    assert above <= 0.05 * trainings
    assert np.mean(found) > 0.5


def test_a_training_with_the_noise_switched_off_is_caught():
    audit = audit_privacy_claim(trained_with_noise(0.0, 10, 0), 4.0, 1e-5)
    assert verdict(audit).grade == REFUTED
    assert audit.free.estimate.low == pytest.approx(audit.free.largest)


@pytest.mark.parametrize(
    ("n", "mu", "epsilon", "delta", "design", "grade"),
    [
        (500, 3.0, 2.0, 1e-5, OneRun(), REFUTED),
        (500, 1.0, 1.0, 0.0, OneRun(), STANDS),
        # Half of the claimed noise would not have shown either.
        (500, 1.0, 4.0, 1e-5, OneRun(), UNKNOWN),
        (20, 3.0, 5.0, 1e-5, OneRun(), UNKNOWN),
        (1000, 3.0, 5.0, 1e-5, OneRun(), IF_GAUSSIAN),
        (1000, 3.0, 1.0, 0.0, OneRun(), REFUTED),
        (2000, 1.5, 3.0, 1e-5, ManyRuns(), IF_GAUSSIAN),
        (2000, 1.5, 1.0, 1e-5, ManyRuns(), REFUTED),
        (2000, 0.1, 1.0, 0.0, ManyRuns(), STANDS),
        (2000, 0.5, 2.0, 1e-5, ManyRuns(), UNKNOWN),
        (20, 0.5, 2.0, 0.0, ManyRuns(), UNKNOWN),
    ],
)
def test_the_verdict_follows_from_the_bounds(n, mu, epsilon, delta, design, grade):
    audit = audit_privacy_claim(drawn(n, mu), epsilon, delta, design=design)
    # Without a control nothing shows that the attack would have found anything.
    assert verdict(audit).grade == (UNKNOWN if grade == STANDS else grade)
    known = audit_privacy_claim(
        drawn(n, mu), epsilon, delta, design=design, control=drawn(n, 20.0, seed=1)
    )
    assert verdict(known).grade == grade
    assert all(0 <= b.estimate.low <= b.largest + 1e-9 for b in audit.bounds)
    # Of so few scores nobody knows whether they are normal.
    assumed = delta > 0 and n > 20
    assert len(audit.bounds) == (2 if assumed else 1)
    assert len(audit.skipped) == (0 if assumed else 1)
    assert np.all(audit.curve.low <= audit.curve.largest + 1e-9)


def test_a_claim_refuted_on_an_assumption_is_not_to_be_withdrawn_for_it():
    advised = verdict(audit_privacy_claim(drawn(1000, 3.0), 5.0, 1e-5)).advice
    assert "Find out whether the mechanism is Gaussian" in advised[0]
    assert not any("withdraw" in line for line in advised)
    proven = verdict(audit_privacy_claim(drawn(500, 3.0), 2.0, 1e-5)).advice
    assert "withdraw the claim" in proven[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "design", "numbers", "judged"),
    [
        (100, OneRun(), [3, 10, 25, 50, 90], 100),
        (100, OneRun(choosing=0.5), None, 50),
        (200, OneRun(choosing=0.2), None, 160),
        (600, OneRun(), None, 480),
        (200, OneRun(choosing=0), [6, 20, 50, 100, 180], 200),
        (200, OneRun((40,)), [40], 200),
    ],
)
def test_who_chooses_the_number_of_guesses(n, design, numbers, judged):
    audit = audit_privacy_claim(drawn(n, 2.0), 1.0, 1e-5, design=design)
    assert audit.guessed.n_canaries == audit.free.estimate.n == judged
    assert audit.guessed.n_choosing == n - judged
    if numbers is None:
        assert len(audit.guessed.n_guesses) == 1
        assert f"chosen by {n - judged} other canaries" in audit.to_html()
    else:
        assert audit.guessed.n_guesses.tolist() == numbers
    assert json.loads(audit.to_json())["n_choosing"] == n - judged


def test_an_audit_that_stops_when_it_refutes_the_claim():
    rows = drawn(400, 4.0)
    first = {name: column[:100] for name, column in rows.items()}
    few, many = (audit_privacy_claim(x, 0.5, design=Sequential()) for x in (first, rows))
    assert 0.5 < few.free.estimate.low <= many.free.estimate.low
    assert verdict(few).grade == REFUTED
    assert few.design == "sequential"
    # The last training cannot change what was known before it.
    np.testing.assert_array_equal(few.curve.low[:4], many.curve.low[:4])
    assert "with a fair coin before each" in " ".join(verdict(few).sentences)
    assert json.loads(few.to_json())["curve"]["descriptive"] is False
    with pytest.raises(InputError, match="member must come from fair coins"):
        audit_privacy_claim(
            {"score": np.arange(200), "member": np.arange(200) < 180}, 1.0, design=Sequential()
        )


def test_equal_audits_give_equal_documents_and_another_seed_other_ties():
    rng = np.random.default_rng(3)
    tied = {"score": rng.integers(0, 3, 300), "member": rng.random(300) < 0.5}
    first, again, other = (
        audit_privacy_claim(tied, 1.0, design=OneRun((100,)), seed=seed) for seed in (0, 0, 1)
    )
    assert first.to_json() == again.to_json()
    assert first.guessed.n_right != other.guessed.n_right


def test_the_order_of_the_rows_is_no_score():
    # Sorted by the bit, and almost no score tells anything: nothing is shown.
    ends = np.isin(np.arange(1000), (0, 999))
    rows = {"score": ends, "member": np.arange(1000) < 500}
    assert audit_privacy_claim(rows, 1.0).free.estimate.low == 0.0


def test_numbers_of_guesses_can_be_fixed():
    audit = audit_privacy_claim(drawn(500, 2.0), 1.0, design=OneRun((50, 20)))
    assert audit.guessed.n_guesses.tolist() == [20, 50]
    assert json.loads(audit.to_json())["guesses"][1]["n_guesses"] == 50


def test_thresholds_of_many_runs_come_from_other_rows():
    rows = as_canaries(drawn(1000, 1.0))
    found = held_out(Transcript(rows.score, rows.member), 1e-5)
    assert len(found.for_epsilon) == len(found.score) == 800


@pytest.mark.parametrize("form", ["csv", "parquet", "npz", "jsonl", "mapping", "frame"])
def test_whatever_holds_canaries_gives_the_same(form, tmp_path):
    rows = {**drawn(60, 1.0), "id": np.array([f"c{i}" for i in range(60)])}
    rows["member"] = rows["member"].astype(int)
    frame = pd.DataFrame(rows)
    path = tmp_path / f"canaries.{form}"
    given = {"mapping": rows, "frame": frame}.get(form, path)
    if form == "csv":
        frame.to_csv(path, index=False)
    elif form == "parquet":
        frame.to_parquet(path)
    elif form == "npz":
        np.savez(path, **rows)
    elif form == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    found = as_canaries(given)
    assert found.score == pytest.approx(rows["score"], abs=1e-12)
    assert found.member.tolist() == (rows["member"] == 1).tolist()
    assert list(found.ids) == list(rows["id"])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"member": [0, 1]}, "canaries: missing score; it has member"),
        ({"score": [1.0, np.nan], "member": [0, 1]}, "score must be finite, got nan in row 1"),
        ({"score": [1.0, 2.0], "member": [0, 2]}, "member must be true or false"),
        ({"score": [1.0, 2.0], "member": [1, 1]}, "got none that was left out"),
        ({"score": [1.0, 2.0, 3.0], "member": [0, 1]}, "member must have 3 rows, got 2"),
        ({"score": ["1", "b"], "member": [0, 1]}, "score must hold numbers, got 'b' in row 1"),
        (
            {"score": [1, 2], "member": ["yes", "no"]},
            "member must be .* got 'yes' in row 0",
        ),
        ({"score": [], "member": []}, "canaries has no rows; one for every canary is needed"),
        (3, "canaries must be a path, a mapping of arrays or a data frame, got int"),
    ],
)
def test_bad_canaries_are_refused_in_one_line(rows, message):
    with pytest.raises(InputError, match=message) as caught:
        as_canaries(rows)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.txt",
            "score,member\n1,0\n",
            "must end in .npz, .parquet, .csv, .tsv, .csv.gz, .tsv.gz,",
        ),
        ("a.csv", "score,member\n1,0\n,1\n", "column score must have a value .* none in row 1"),
        ("a.csv", "score,member\n,0\n,1\n", "column score is empty; it must have a value"),
        ("a.csv", "score,member\n1,\n2,\n", "column member is empty; it must have a value"),
        ("a.csv", "score,member\n1,0\nx,1\n", "score must hold numbers, got 'x' in row 1"),
        ("a.csv", "score,member\n1,no\n2,yes\n", "member must be .* got 'no' in row 0"),
        ("a.csv", "score,member\n", "a.csv has no rows; one for every canary is needed"),
        ("a.jsonl", '{"score": 1, "member": 0}\n{"score": 2}\n', "line 2 has no member"),
        ("a.jsonl", '{"score": "x", "member": 0}\n', "line 1: score must be a number"),
        ("a.jsonl", "\n", "is empty"),
    ],
)
def test_bad_files_are_refused_in_one_line(name, text, message, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        as_canaries(path)


def test_one_run_needs_fair_coins():
    rows = drawn(200, 1.0)
    rows["member"] = np.arange(200) < 180
    with pytest.raises(InputError, match=r"fair coins, got 180 of 200 put in.*many runs"):
        audit_privacy_claim(rows, 1.0)
    assert audit_privacy_claim(rows, 1.0, design=ManyRuns()).design == "many-runs"
    rows["member"] = np.arange(200) < 122
    assert "122 of 200 canaries were put in" in audit_privacy_claim(rows, 1.0).warnings[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PrivacyClaim(-1.0, 0.0), "epsilon must be at least 0 and finite, got -1.0"),
        (lambda: PrivacyClaim(1.0, 1.0), r"delta must be in \[0, 1\), got 1.0"),
        (lambda: OneRun(choosing=1.0), r"choosing must be in \[0, 1\), got 1.0"),
        (lambda: OneRun((5,), choosing=0.2), "choosing must not be given where n_guesses are"),
        (lambda: OneRun((0,)), "n_guesses must be at least 1, got 0"),
        (lambda: GuessCounts(10, [5, 11], [1, 1]), r"at most 10 \(the canaries\), got 11"),
        (lambda: GuessCounts(10, [5, 5], [1, 1]), "must be ascending and at least 1"),
        (lambda: bonferroni_level(0.95, 0), "looks must be at least 1, got 0"),
        (lambda: log_spaced_counts(0), "largest must be at least 1, got 0"),
        (
            lambda: audit_privacy_claim(drawn(50, 1.0), 1.0, design=OneRun((60,))),
            r"n_guesses must be at most 50 \(the canaries\), got 60",
        ),
        (
            lambda: audit_privacy_claim(
                {"score": [1.0, 2.0, 3.0], "member": [0, 1, 1]}, 1.0, design=ManyRuns()
            ),
            "too few rows: both parts need members and non-members",
        ),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_true_epsilon_of_a_gaussian_mechanism_is_not_refuted():
    """Nor does it stand: half of the noise would not have been refuted by so few canaries."""
    broken = drawn(2000, 9.0, seed=1)
    claimed = gaussian_epsilon(1.0, 1e-5)
    audit = audit_privacy_claim(drawn(2000, 1.0), claimed, 1e-5, control=broken)
    assert verdict(audit).grade == UNKNOWN
    assert "of a training with half of the claimed noise even a perfect" in verdict(audit).headline
    assert audit.controls[0].simulated


def test_canaries_of_one_unit_are_guessed_together():
    rng = np.random.default_rng(0)
    unit = np.arange(400) // 4
    member = np.repeat(rng.random(100) < 0.5, 4)
    rows = {"score": rng.normal(size=400) + member, "member": member}
    found = audit_privacy_claim({**rows, "unit": unit}, 1.0)
    assert len(found.canaries.score) == 100
    assert found.canaries.score[0] == pytest.approx(rows["score"][:4].mean())
    by_id = audit_privacy_claim({**rows, "id": [f"p{i}" for i in unit]}, 1.0)
    by_column = audit_privacy_claim({**rows, "who": unit}, 1.0, unit="who")
    assert found.free == by_id.free == by_column.free
    # Of many runs a name may come back: every row is a training of its own.
    many = audit_privacy_claim({**rows, "id": unit}, 1.0, design=ManyRuns())
    assert len(many.canaries.score) == 400


def test_canaries_of_one_unit_must_share_their_coin():
    rows = {"score": np.arange(8.0), "member": [0, 1] * 4, "id": [0, 0, 1, 1, 2, 2, 3, 3]}
    with pytest.raises(InputError, match="of a unit must be put in or left out together"):
        audit_privacy_claim(rows, 1.0)
    with pytest.raises(InputError, match="no column 'who' of units"):
        audit_privacy_claim(rows, 1.0, unit="who")


@pytest.mark.parametrize("design", [OneRun(), ManyRuns(), Sequential()])
def test_random_scores_clear_no_claim(design):
    """An attack that would not find a broken training could not have told."""
    for control in (None, drawn(300, 0.0, seed=1)):
        audit = audit_privacy_claim(drawn(300, 0.0), 2.0, 1e-5, design=design, control=control)
        told = verdict(audit)
        assert told.grade == UNKNOWN
        assert "stands" not in told.headline
        assert "could have been caught" not in " ".join(told.sentences)


def test_the_control_says_what_the_attack_would_have_shown():
    audit = audit_privacy_claim(drawn(400, 1.0), 2.0, 1e-5, control=drawn(400, 2.0, seed=1))
    assert 0 < audit.power.detectable <= audit.power.bound + 1.0
    assert audit.power.would_refute(PrivacyClaim(audit.power.detectable / 2, 1e-5))
    assert not audit.power.would_refute(PrivacyClaim(audit.power.detectable * 2, 1e-5))
    measured = {x.name: x.found for x in audit.report().measures}
    assert measured["detectable-epsilon"] == audit.power.detectable


@pytest.mark.parametrize("order", ["sorted", "in turn"])
def test_trainings_in_an_order_that_no_coins_give_are_refused(order):
    """Random scores: whoever knows the next coin wins every bet."""
    rows = drawn(300, 0.0)
    member = np.sort(rows["member"]) if order == "sorted" else np.arange(300) % 2 == 0
    with pytest.raises(InputError, match="give the rows in the order of the trainings"):
        audit_privacy_claim({**rows, "member": member}, 0.5, design=Sequential())
    # Of the other designs the order of the rows says nothing.
    for design in (OneRun(), ManyRuns()):
        audit = audit_privacy_claim({**rows, "member": member}, 0.5, design=design)
        assert verdict(audit).grade is not REFUTED


def test_fair_coins_in_their_order_are_rarely_doubted():
    told = [
        "half of the time" in " ".join(order_warnings(as_canaries(drawn(200, 0.0, seed=seed))))
        for seed in range(400)
    ]
    assert np.count_nonzero(told) <= binom.isf(0.001, 400, 0.01)


@pytest.mark.parametrize("design", [OneRun(), ManyRuns()])
def test_a_claim_at_delta_0_is_cleared_where_one_at_a_small_delta_could_not_be(design):
    """Randomised response of epsilon 1: the advice says so, and holds."""
    rng = np.random.default_rng(0)

    def responses(epsilon):
        member = rng.random(200) < 0.5
        honest = rng.random(200) < expit(epsilon)
        return {"score": np.where(honest, member, ~member) * 1.0, "member": member}

    scores = responses(1.0)
    off = responses(30.0)
    small = verdict(audit_privacy_claim(scores, 1.0, 1e-5, design=design, control=off))
    assert small.grade == UNKNOWN
    assert "--delta 0" in small.advice[0]
    assert "too rare to be seen in 200" in small.advice[0]
    assert not any("Attack harder" in line for line in small.advice)
    pure = verdict(audit_privacy_claim(scores, 1.0, 0.0, design=design, control=off))
    assert pure.grade == STANDS
    # Claims that are false by a factor of two are refuted there, and a weak attack clears none.
    false = responses(2.0)
    assert audit_privacy_claim(false, 1.0, 0.0, design=design).free.refutes(PrivacyClaim(1.0, 0.0))
    weak = verdict(audit_privacy_claim(scores, 1.0, 0.0, design=design, control=responses(0.1)))
    assert weak.grade == UNKNOWN
    assert "Attack harder" in weak.advice[0]


def test_an_assumption_alone_is_never_grave():
    assert IF_GAUSSIAN.severity is Severity.SMALL


@pytest.mark.slow
def test_true_claims_of_other_mechanisms_are_not_refuted_on_an_assumption():
    """Laplace noise and randomised response are not Gaussian, and their scores show it."""
    games = times(20)
    refuted = 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        member = rng.random(1000) < 0.5
        told = rng.random(1000) < 1 / (1 + np.exp(-1.0))
        response = np.where(told, member, ~member).astype(float)
        for score in (member + rng.laplace(0, 1.0, 1000), response):
            audit = audit_privacy_claim({"score": score, "member": member}, 1.0, 1e-5)
            refuted += verdict(audit).grade in (REFUTED, IF_GAUSSIAN)
    assert refuted <= max(2, 0.05 * 2 * games)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 100, 200, 400])
@pytest.mark.parametrize("noise", ["laplace", "logistic", "sum of Laplace"])
def test_noise_whose_tails_are_heavier_is_not_taken_for_gaussian(noise, n):
    """A claim of pure privacy that holds, on so few trainings that other noise may look normal."""
    games = quarter(200)
    refuted = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, n])
        member = rng.random(n) < 0.5
        drawn_noise = {
            "laplace": rng.laplace(0, 0.25, n),
            "logistic": rng.logistic(0, 0.25, n),
            "sum of Laplace": rng.laplace(0, 0.75, (n, 3)).mean(axis=1),
        }[noise]
        canaries = {"score": member + drawn_noise, "member": member}
        found = audit_privacy_claim(canaries, 4.0, 1e-5, design=ManyRuns())
        refuted += verdict(found).grade in (REFUTED, IF_GAUSSIAN)
    assert binomtest(refuted, games, 0.05, alternative="greater").pvalue > 0.01, refuted


@pytest.mark.slow
@pytest.mark.parametrize(("n", "share"), [(200, 0.5), (400, 0.75), (1000, 0.9)])
def test_normal_noise_is_told_from_other_noise_the_better_the_more_scores(n, share):
    games = quarter(200)
    assumed = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, n])
        member = rng.random(n) < 0.5
        assumed += looks_gaussian(Transcript(member + rng.normal(size=n), member))
    assert assumed >= binom.ppf(1e-3, games, share)


def of_persons(n, rows, epsilon, seed=0):
    """Randomised response, record by record, of persons with so many records and one coin."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n), rows)
    member = (rng.random(n) < 0.5)[unit]
    told = rng.random(n * rows) < 1 / (1 + np.exp(-epsilon))
    return {"score": np.where(told, member, ~member) + 0.0, "member": member, "unit": unit}


def test_a_claim_of_a_record_is_compared_with_records():
    """What a person's rows show together is k times what a record is promised."""
    canaries = of_persons(500, 5, 1.0)
    found = audit_privacy_claim(canaries, 1.0)
    assert found.claim.epsilon == 5.0
    assert verdict(found).grade not in (REFUTED, IF_GAUSSIAN)
    assert any("is of one record" in text for text in found.origin.warnings)
    assert verdict(audit_privacy_claim(canaries, 1.0, claim_of="person")).grade == REFUTED


def test_a_false_claim_of_a_record_is_refuted_by_persons():
    assert verdict(audit_privacy_claim(of_persons(1000, 3, 2.0), 0.2)).grade == REFUTED


def test_units_may_be_given_as_an_array():
    canaries = of_persons(100, 4, 1.0)
    unit = canaries.pop("unit")
    names = np.array([f"p{number}" for number in unit])
    by_column = audit_privacy_claim({**canaries, "unit": unit}, 1.0)
    for given in (unit, names, unit.tolist(), pd.Series(names)):
        assert audit_privacy_claim(canaries, 1.0, unit=given).free == by_column.free
    with pytest.raises(InputError, match="unit must have 400 rows, got 7"):
        audit_privacy_claim(canaries, 1.0, unit=unit[:7])


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 1e-6])
@pytest.mark.parametrize("copies", [2, 5])
@pytest.mark.parametrize("design", [OneRun(), ManyRuns()])
def test_canaries_that_repeat_without_an_id_are_one(design, copies, noise):
    """The true claim of Laplace noise is refuted in 5% of audits, however often a row is given."""
    games = times(20)
    refuted = 0
    for seed in range(games):
        rng = np.random.default_rng(seed)
        member = rng.random(200) < 0.5
        score = member + rng.laplace(0, 1.0, 200)
        rows = rng.permutation(np.repeat(np.arange(200), copies))
        again = {"score": score[rows] + noise * rng.normal(size=len(rows)), "member": member[rows]}
        audit = audit_privacy_claim(again, 1.0, 1e-5, design=design)
        assert len(audit.canaries.score) <= 215
        assert any("repeat each other" in text for text in audit.warnings)
        refuted += verdict(audit).grade in (REFUTED, IF_GAUSSIAN)
    assert refuted <= max(2, 0.05 * games)


@pytest.mark.parametrize("claim_of", ["record", "person"])
def test_rows_that_repeat_each_other_stretch_no_claim(claim_of):
    """They are one canary, not a person with several: the claim is compared as it was given."""
    rng = np.random.default_rng(0)
    member = rng.random(200) < 0.5
    score = member + rng.laplace(0, 1.0, 200)
    once = {"score": score, "member": member}
    twice = {name: np.repeat(values, 2) for name, values in once.items()}
    found = [
        audit_privacy_claim(given, 1.0, 1e-5, claim_of=claim_of).claim for given in (once, twice)
    ]
    assert found[0] == found[1]
    assert found[0].epsilon == 1.0


def test_a_broken_training_whose_scores_tie_is_refuted_still():
    rng = np.random.default_rng(0)
    member = rng.random(400) < 0.5
    saturated = np.where(member, 0.0, rng.normal(size=400) - 5)
    for score in (saturated, np.round(rng.normal(size=400) + 9 * member, 1), 1.0 * member):
        audit = audit_privacy_claim({"score": score, "member": member}, 2.0, 1e-5)
        assert verdict(audit).grade == REFUTED


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_one_step_is_audited_as_any_number_is(rate):
    design = ManyRuns(SampledSteps(rate, 1))
    found = audit_privacy_claim(drawn(1000, 0.3), 2.0, 1e-5, design=design)
    assert found.gaussian is not None
    assert np.isfinite(found.gaussian.largest)


def test_scores_that_no_such_steps_could_give_refute_the_design_and_no_claim():
    design = ManyRuns(SampledSteps(0.5, 1))
    found = audit_privacy_claim(drawn(1000, 3.0), 4.0, 1e-5, design=design)
    assert found.gaussian is None
    assert any("The design is refuted" in text for text in found.warnings)
    # Of a record that takes part with probability 1/2 no noise at all shows three in four pairs.
    rng = np.random.default_rng(0)
    refuted = 0
    for _ in range(100):
        member = rng.random(400) < 0.5
        took_part = member & (rng.random(400) < 0.5)
        played = Transcript(rng.normal(size=400) + 20 * took_part, member)
        refuted += SampledSteps(0.5, 1).contradicted(played)
    assert refuted <= 12


@pytest.mark.parametrize(
    ("claim_of", "adjacency", "left_out", "apart"),
    [
        ("record", "add-remove", "removed", 5),
        ("record", "add-remove", "replaced", 10),
        ("record", "replace", "replaced", 5),
        ("person", "add-remove", "removed", 1),
        ("person", "add-remove", "replaced", 2),
        ("person", "replace", "replaced", 1),
        (2, "add-remove", "removed", 3),
        ("5", "add-remove", "replaced", 2),
        (7, "replace", "replaced", 1),
    ],
)
def test_the_claim_is_that_of_all_that_changes_with_a_coin(claim_of, adjacency, left_out, apart):
    canaries = of_persons(60, 5, 1.0)
    asked = {"claim_of": claim_of, "adjacency": adjacency, "left_out": left_out}
    found = audit_privacy_claim(canaries, 0.5, 1e-6, **asked)
    assert found.claim == claim_of_group(PrivacyClaim(0.5, 1e-6), apart)
    assert found.apart == apart
    report = json.loads(found.to_json())
    assert report["together"] == apart
    assert report["claim_of"] == found.of.text
    assert found.of.text in found.report().intro
    assert any(found.of.text in text for text in found.origin.warnings) == (apart > 1)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"adjacency": "replace"}, "promises nothing of records that are added or removed"),
        ({"adjacency": "swap"}, "adjacency must be add-remove or replace"),
        ({"left_out": "gone"}, "left_out must be removed or replaced"),
        ({"claim_of": "group"}, "claim_of must be record, person or a number of records"),
        ({"claim_of": 0}, "claim_of must be record, person or a number of records"),
    ],
)
def test_what_a_claim_does_not_speak_of_is_refused(asked, message):
    with pytest.raises(InputError, match=message):
        audit_privacy_claim(of_persons(30, 1, 1.0), 1.0, **asked)


def test_replaced_canaries_are_a_removal_and_an_addition():
    """A true claim of adding or removing, of canaries whose stand-ins move the score away."""
    rng = np.random.default_rng(0)
    member = rng.random(2000) < 0.5
    sums = np.where(member, 1.0, -1.0) + rng.laplace(0, 1.0, 2000)  # each record moves it by 1
    canaries = {"score": sums, "member": member}
    assert verdict(audit_privacy_claim(canaries, 1.0)).grade == REFUTED
    assert verdict(audit_privacy_claim(canaries, 1.0, left_out="replaced")).grade == UNKNOWN


def of_mechanism(name, size, rng):
    """Canaries of people with so many rows each, with the true epsilon and delta of one record."""
    unit = np.repeat(np.arange(len(size)), size)
    member = (rng.random(len(size)) < 0.5)[unit]
    n = len(unit)
    if name == "laplace":
        return {"score": member + rng.laplace(0, 1.0, n), "member": member, "unit": unit}, 1.0, 0.0
    if name == "response":
        told = rng.random(n) < 1 / (1 + np.exp(-1.0))
        score = np.where(told, member, ~member) + 0.0
        return {"score": score, "member": member, "unit": unit}, 1.0, 0.0
    if name == "gaussian":
        score = member + rng.normal(size=n)
        epsilon = gaussian_epsilon(1.0, 1e-5)
        return {"score": score, "member": member, "unit": unit}, epsilon, 1e-5
    rate = 0.2
    noise = 1.0
    steps_made = 10
    taken = (rng.random((steps_made, n)) < rate) & member
    seen = rng.normal(size=taken.shape) * noise + taken
    score = np.log1p(rate * np.expm1((2 * seen - 1) / (2 * noise**2))).sum(axis=0)
    epsilon = SubsampledGaussian(noise, rate, steps_made).epsilon(1e-5)
    return {"score": score, "member": member, "unit": unit}, epsilon, 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2, 20])
@pytest.mark.parametrize("name", ["laplace", "response", "gaussian", "dp-sgd"])
def test_true_claims_of_records_are_kept_by_people_with_many_rows(name, rows):
    games = times(8)
    refuted = 0
    for seed in range(games):
        rng = np.random.default_rng([seed, rows])
        size = rng.integers(min(2, rows), rows + 1, 100)
        canaries, epsilon, delta = of_mechanism(name, size, rng)
        found = audit_privacy_claim(canaries, epsilon, delta, seed=seed)
        refuted += verdict(found).grade in (REFUTED, IF_GAUSSIAN)
    assert binomtest(refuted, games, 0.05, alternative="greater").pvalue > 0.01, refuted


def test_the_assumption_can_be_switched_off():
    scores = drawn(1000, 3.0)
    assumed = audit_privacy_claim(scores, 5.0, 1e-5)
    alone = audit_privacy_claim(scores, 5.0, 1e-5, assume="nothing")
    assert verdict(assumed).grade == IF_GAUSSIAN
    assert verdict(alone).grade == UNKNOWN
    assert alone.gaussian is None
    assert alone.free.estimate.low == assumed.free.estimate.low
    with pytest.raises(InputError, match="assume must be gaussian or nothing"):
        audit_privacy_claim(scores, 5.0, assume="much")  # type: ignore[arg-type]


def test_guesses_from_the_highest_point_of_the_curve_are_named():
    scores = drawn(600, 2.0)
    curve = audit_privacy_claim(scores, 2.0, 1e-5, design=OneRun((600,))).curve
    best = int(curve.n_guesses[np.argmax(curve.low)])
    for number in (best, best + 1):
        audit = audit_privacy_claim(scores, 2.0, 1e-5, design=OneRun((number,)))
        named = any("curve of these scores is highest" in line for line in audit.warnings)
        assert named == (number == best)


@pytest.mark.parametrize("ids", [False, True])
def test_equal_rounded_scores_of_a_broken_training_are_no_group(ids):
    """Noise off: members' scores are 5 standard deviations higher, and have three decimals."""
    refuted = 0
    for seed in range(times(8)):
        rng = np.random.default_rng(seed)
        member = rng.random(1000) < 0.5
        canaries = {"score": np.round(5 * member + rng.normal(size=1000), 3), "member": member}
        if ids:
            canaries["id"] = np.arange(1000)
        refuted += audit_privacy_claim(canaries, 2.0).free.estimate.low > 2.0
    assert refuted >= 0.9 * times(8)
