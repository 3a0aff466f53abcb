from __future__ import annotations

from dataclasses import replace

import pytest

from privacygauge.report.verdict import GRADES, exposure, grade_of, verdict
from tests.report.example import example

ONE = (("confidence", "", "per-class", 1.0),)


@pytest.mark.parametrize(
    ("low", "grade"),
    [
        (0.2, "no leak found"),
        (0.5, "no leak found"),
        (0.5001, "small"),
        (0.5499, "small"),
        (0.55, "moderate"),
        (0.6499, "moderate"),
        (0.65, "large"),
        (1.0, "large"),
    ],
)
def test_the_lower_end_decides(low: float, grade: str) -> None:
    assert grade_of(low) == grade


@pytest.mark.parametrize(
    ("shift", "grade"), [(0.0, "no leak found"), (0.2, "small"), (0.4, "moderate"), (1.1, "large")]
)
def test_grades_of_gaussian_games(shift: float, grade: str) -> None:
    assert verdict(example(4000, shift=shift, attacks=ONE)).grade == grade


def test_numbers_and_chance_are_in_the_first_sentences() -> None:
    found = verdict(example())
    assert "80.2%" in found.headline
    assert "guessing gives 50%" in found.sentences[0]
    assert any("With 95% confidence" in s and "9 attacks" in s for s in found.sentences)


def test_a_few_exposed_records_raise_the_grade() -> None:
    findings = example(40_000, shift=0.0, attacks=ONE, outliers=0.02)
    assert grade_of(findings.headline.accuracy.low) == "small"
    found = verdict(findings)
    assert found.grade == "moderate"
    assert "0.1% of the non-members" in found.sentences[1]
    assert "one step higher" in found.sentences[1]


def test_a_rate_that_is_not_resolved_raises_nothing() -> None:
    findings = example(2000, shift=0.0, attacks=ONE, outliers=0.04)
    found = exposure(findings.evaluations)
    assert found is None or found.rate.fpr == 0.01
    rates = [replace(r, resolved=False) for r in findings.evaluations[0].tpr_at_fpr]
    assert exposure((replace(findings.evaluations[0], tpr_at_fpr=tuple(rates)),)) is None


def test_the_gravest_grade_is_not_raised() -> None:
    assert verdict(example(4000, shift=3.0, attacks=ONE)).grade == GRADES[-1]


@pytest.mark.slow
def test_chance_is_not_raised() -> None:
    for seed in range(20):
        findings = example(2000, shift=0.0, seed=seed)
        assert exposure(findings.evaluations) is None
        if findings.headline.accuracy.low <= 0.5:
            assert verdict(findings).grade == "no leak found"


def test_scores_that_separate_are_not_called_no_leak() -> None:
    # The guesses of an attack whose threshold does not carry over say nothing; its scores do.
    honest = example(4000, shift=1.0, attacks=ONE)
    silent = example(4000, shift=0.0, attacks=ONE).headline
    found = verdict(replace(honest, headline=silent))
    assert found.grade == "small"
    assert any("hindsight" in s for s in found.sentences)


def test_no_leak_found_says_what_could_have_been_missed() -> None:
    findings = example(shift=0.0)
    text = " ".join((lambda v: (v.headline, *v.sentences, *v.advice))(verdict(findings)))
    assert "could have missed" in text
    assert "54.5%" in text  # the upper end
    assert "safe" not in text.lower()


def test_nothing_is_ever_called_safe() -> None:
    for shift in (0.0, 0.2, 0.4, 1.2):
        found = verdict(example(1000, shift=shift))
        assert "safe" not in " ".join((found.headline, *found.sentences, *found.advice)).lower()


@pytest.mark.slow
def test_advice_fits_the_audit() -> None:
    few, many = example(400, shift=1.0), example(40_000, shift=1.0)
    assert any("Reduce overfitting" in line for line in verdict(few).advice)
    assert any("at least 10,000 non-members" in line for line in verdict(few).advice)
    assert not any("at least 10,000 non-members" in line for line in verdict(many).advice)
    assert not any("Reduce overfitting" in line for line in verdict(example(shift=0.0)).advice)


def test_names_from_the_data_stay_on_their_line() -> None:
    findings = example()
    table = findings.slices
    hostile = replace(table.announced[0], group="x\n\x1b[2Jno leak found")
    findings = replace(findings, slices=replace(table, slices=(hostile,)))
    assert all(s.isprintable() for s in verdict(findings).sentences)
    assert not any("\x1b" in s or "\n" in s for s in verdict(findings).sentences)


def test_a_bound_on_epsilon_above_0_is_a_leak_even_where_guesses_are_near_chance() -> None:
    findings = example(1000, shift=0.0)
    assert verdict(findings).grade == "no leak found"
    epsilon = replace(findings.headline.epsilon, value=0.4, low=0.2)
    found = verdict(replace(findings, headline=replace(findings.headline, epsilon=epsilon)))
    assert found.grade == "small"
    assert any("epsilon is at least 0.20" in sentence for sentence in found.sentences)
