"""The audit of a language model's energies, against counts by hand and made-up truths."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privacygauge as pg
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.language.attacks import cut_at_share
from privacygauge.language.audit.audit import audit_language
from privacygauge.language.audit.verdict import verdict
from privacygauge.language.controls import controls_of
from privacygauge.language.scores import LONG, SHORT, text_scores
from privacygauge.language.units import thresholds_named
from privacygauge.report.attacks.verdict import TOO_FEW
from privacygauge.report.grades import GRADES, LARGE, NONE, UNTOLD
from tests.language.made_scores import few_scores, made_scores, sized_scores
from tests.report.test_document import strict
from tests.thorough import quarter

LR10 = "likelihood-ratio (population, FPR 10%, global)"


def made(seed=2, **options):
    sizes = {"patients": (40, 40, 40), "sizes": (1, 8)} | options
    return made_scores(np.random.default_rng(seed), **sizes)


@pytest.fixture(scope="module")
def leaking():
    return made(leak=1.0)


@pytest.fixture(scope="module")
def found(leaking):
    return audit_language(leaking)


def row_of(unit, title):
    return next(e for e in unit.evaluations if e.title == title)


# -- the numbers are those of a count by hand


def test_samples_are_counted_by_hand(leaking, found):
    score = leaking.energy_reference - leaking.energy_target
    cut = cut_at_share(score[leaking.population], 0.1)
    row = row_of(found.samples, LR10)
    assert row.true_positives == np.count_nonzero(score[leaking.member] >= cut)
    assert row.false_positives == np.count_nonzero(score[leaking.nonmember] >= cut)
    inside = score[leaking.member]
    outside = score[leaking.nonmember]
    pairs = (inside[:, None] > outside).mean() + (inside[:, None] == outside).mean() / 2
    assert row.auc.value == pytest.approx(pairs, abs=1e-12)
    assert row.auc.n == 80


def test_a_further_signal_is_one_more_attack_and_changes_no_other(leaking, found):
    own = leaking.energy_reference - 2 * leaking.energy_target
    wider = audit_language(replace(leaking, further={"own": own}))
    cut = cut_at_share(own[leaking.population], 0.1)
    row = row_of(wider.samples, "own (population, FPR 10%, global)")
    assert row.true_positives == np.count_nonzero(own[leaking.member] >= cut)
    assert row.false_positives == np.count_nonzero(own[leaking.nonmember] >= cut)
    titles = [x.attack for x in wider.patients.thresholds if x.attack.startswith("own")]
    assert titles == [f"own (population, FPR {rate}%, global)" for rate in (10, 1)]
    for unit in ("samples", "patients"):
        before = getattr(found, unit)
        after = getattr(wider, unit)
        for old in before.evaluations:
            assert row_of(after, old.title).auc == old.auc
    assert strict(wider.to_json())["attacks"][-1]["name"] == "own"


def test_patients_are_the_means_of_their_samples(leaking, found):
    scores = defaultdict(list)
    score = leaking.energy_reference - leaking.energy_target
    for name, value in zip(leaking.group, score, strict=True):
        scores[name].append(value)
    mean = {name: np.mean(values) for name, values in scores.items()}
    member = dict(zip(leaking.group, leaking.member, strict=True))
    apart = dict(zip(leaking.group, leaking.population, strict=True))
    inside = np.array([mean[name] for name in mean if member[name]])
    outside = np.array([mean[name] for name in mean if not member[name] and not apart[name]])
    row = row_of(found.patients, LR10)
    assert row.auc.value == pytest.approx((inside[:, None] > outside).mean(), abs=1e-12)
    rows = found.rows
    assert {rows.names[i] for i in rows.order} == {n for n in mean if member[n]}
    first = rows.names[rows.order[0]]
    assert mean[first] == pytest.approx(inside.max(), abs=1e-12)
    assert rows.samples[rows.order[0]] == len(scores[first])


def test_lengths_are_audits_of_a_part(leaking, found):
    for part, (fewest, most) in zip(found.lengths, (SHORT, LONG), strict=True):
        rows = (leaking.length >= fewest) & (leaking.length <= most)
        alone = audit_language(leaking.take(rows))
        assert (part.n_in, part.n_out) == (alone.samples.n_in, alone.samples.n_out)
        for mine, other in zip(part.evaluations, alone.evaluations, strict=True):
            assert (mine.title, mine.auc, mine.accuracy) == (
                other.title,
                other.auc,
                other.accuracy,
            )


def test_a_threshold_shows_what_it_was_asked_for_and_what_it_gives(leaking, found):
    assert [x.asked for x in found.samples.thresholds] == [0.1, 0.01, 0.1, 0.01, None]
    for threshold, row in zip(found.samples.thresholds, found.evaluations, strict=True):
        assert threshold.attack == row.title
        assert threshold.realised == row.false_positive_rate
        assert threshold.kept
    first = found.samples.thresholds[0]
    last = found.samples.thresholds[-1]
    assert first.n == np.count_nonzero(leaking.population)
    assert (last.kind, last.n) == ("mean-train", np.count_nonzero(leaking.member))


def test_an_oracle_keeps_its_rate_and_says_what_it_is(leaking):
    judged = leaking.take(leaking.judged)
    oracle = audit_language(judged)
    assert {x.kind for x in oracle.samples.thresholds} == {"oracle", "mean-train"}
    for threshold in oracle.samples.thresholds[:-1]:
        assert threshold.realised.value <= threshold.asked
    assert any("an oracle" in line for line in oracle.warnings)
    chosen = audit_language(leaking, threshold=("population", "oracle"), fpr=0.05)
    assert [x.kind for x in chosen.samples.thresholds] == ["population", "oracle"] * 2
    assert not any("an oracle" in line for line in chosen.warnings)


def test_a_population_unlike_the_non_members_is_named(leaking):
    moved = np.where(leaking.population, leaking.energy_target + 0.6, leaking.energy_target)
    unlike = audit_language(replace(leaking, energy_target=moved))
    first = unlike.samples.thresholds[0]
    assert not first.kept
    assert first.realised.low > 0.1
    told = [line for line in unlike.warnings if "unlike" in line]
    assert told[0].startswith(LR10)
    # One line a rate, however many attacks it is about.
    missed = {x.asked: 0 for x in unlike.samples.thresholds if not x.kept}
    assert len(told) == len(missed)
    assert "; so do those of 1 further attack:" in told[0]


def test_attacks_that_take_the_sides_for_each_other_are_one_line(leaking):
    turned = audit_language(replace(leaking, member=leaking.nonmember))
    told = [line for line in turned.warnings if "higher for non-members" in line]
    assert len(turned.samples.headline.inverted) > 1
    assert len(told) == 2
    assert told[1].startswith("Patient by patient: The scores of")


# -- made-up truths


def test_without_leak_and_shift_nothing_is_found():
    found = audit_language(made(3, leak=0.0, patients=(500, 500, 60), sizes=(1, 2)))
    assert found.controls.fired == ()
    assert verdict(found).grade == NONE
    assert found.headline.epsilon.low == 0.0


@pytest.mark.slow
def test_without_leak_and_shift_nothing_is_found_almost_always():
    # The verdict looks at two units and four controls, each at a level of 95%: in 10% of all
    # audits either may err. Measured: 3 of 200. The limit is missed by luck once in 10^4.
    n = quarter(200)
    told = [verdict(audit_language(made(seed, leak=0.0))) for seed in range(n)]
    quiet = [x.grade == NONE or x.headline == TOO_FEW for x in told]
    assert n - sum(quiet) <= 0.1 * n + 3.8 * np.sqrt(0.09 * n)


def test_a_planted_leak_is_found(found):
    assert found.controls.fired == ()
    assert verdict(found).grade == LARGE
    assert found.headline.attack.name == "likelihood-ratio"
    assert found.headline.epsilon.low > 0
    assert found.patients.headline.accuracy.value > found.headline.accuracy.value


@pytest.mark.parametrize("leak", [0.0, 1.0])
def test_a_planted_shift_makes_the_test_dishonest(leak):
    found = audit_language(made(leak=leak, shift=0.7))
    assert {"reference"} <= set(found.controls.fired)
    told = verdict(found)
    assert told.grade == UNTOLD
    assert "not honest" in told.headline
    assert all(name in told.headline for name in found.controls.void)
    assert told.sentences[0].startswith("The reference model, which saw none of the samples")
    assert "not honest" in repr(found)
    assert ("still tells them apart" in " ".join(told.sentences)) == (leak > 0)


@pytest.mark.slow
def test_words_that_give_members_away_fire_the_blind_control(leaking):
    words = np.where(leaking.member, "seen in the morning clinic", "seen on the evening ward")
    texts = tuple(f"{word} {row}" for row, word in enumerate(words))
    found = audit_language(replace(leaking, text=texts))
    assert found.controls.fired == ("blind", "form", "strings")
    assert verdict(found).grade == UNTOLD
    alike = tuple(f"note {row % 7}" for row in range(len(leaking)))
    controls = controls_of(replace(leaking, text=alike), 0, 0.95)
    assert not isinstance(controls.blind, Skipped)
    assert controls.fired == ()


def test_unequal_numbers_of_texts_are_said_and_allowed_for():
    leaking = sized_scores(np.random.default_rng(0), (2, 20, 5), patients=(60, 60, 60), leak=1.5)
    found = audit_language(leaking)
    assert found.controls.fired == ("sizes",)
    assert found.controls.void == ()
    assert "not honest" not in repr(found)
    told = verdict(found)
    assert told.grade == LARGE
    assert "beside membership and their numbers of texts" in " ".join(told.sentences)
    assert any("2 a patient in the median) from non-members (20)" in x for x in found.warnings)
    assert any("compared on equally many, drawn at random" in x for x in found.patients.notes)
    assert set(found.rows.samples.tolist()) == {2}
    document = strict(found.to_json())
    assert document["controls"]["sizes"]["fires"]
    assert document["controls"]["honest"]
    (line,) = [x for x in found.summary().splitlines() if x.startswith("Number of texts alone")]
    assert line.endswith("Says FIRES")
    # The numbers stand: only the other controls void them.
    assert "A control fired" not in found.report().intro


def test_the_seed_draws_the_texts_and_nothing_else_changes():
    scores = sized_scores(np.random.default_rng(0), (2, 20, 0), patients=(30, 30, 0))
    first, again, other = (audit_language(scores, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.rows.score, again.rows.score)
    members = first.rows.member
    assert np.array_equal(first.rows.score[members], other.rows.score[members])
    assert not np.array_equal(first.rows.score[~members], other.rows.score[~members])
    assert first.evaluations[0].auc == other.evaluations[0].auc
    assert first.controls.sizes == other.controls.sizes


# -- laws


def test_equal_calls_give_equal_text(leaking, found):
    assert audit_language(leaking).to_json() == found.to_json()


def test_a_further_threshold_changes_no_other_number(leaking, found):
    more = audit_language(leaking, threshold=("population", "oracle", "mean-train"))
    for row in found.evaluations:
        other = row_of(more.samples, row.title)
        assert (row.auc, row.accuracy, row.recall) == (other.auc, other.accuracy, other.recall)
    assert more.controls.reference == found.controls.reference


def test_the_order_of_rows_changes_nothing(leaking, found):
    order = np.random.default_rng(0).permutation(len(leaking))
    shuffled = audit_language(_reordered(leaking, order))
    for row, other in zip(found.evaluations, shuffled.evaluations, strict=True):
        assert row.auc.value == pytest.approx(other.auc.value, abs=1e-12)
        assert row.accuracy.low == pytest.approx(other.accuracy.low, abs=1e-9)
    assert found.patients.n_in == shuffled.patients.n_in


def _reordered(scores, order):
    def picked(texts):
        return [texts[i] for i in order]

    return text_scores(
        picked(scores.sample),
        scores.energy_target[order],
        scores.member[order],
        energy_reference=scores.energy_reference[order],
        group=picked(scores.group),
        length=scores.length[order],
        population=scores.population[order],
    )


@pytest.mark.slow
@settings(max_examples=quarter(24))
@given(few_scores(), st.sampled_from([None, "oracle", "population", "mean-train"]))
def test_any_scores_give_a_report_or_one_line(scores, threshold):
    refused = ""
    try:
        found = audit_language(scores, threshold=threshold)
    except InputError as error:
        refused = str(error)
    if refused:
        assert len(refused.splitlines()) == 1
        return
    strict(found.to_json())
    assert found.summary().startswith(verdict(found).headline)
    for threshold_found, row in zip(found.samples.thresholds, found.evaluations, strict=True):
        if threshold_found.kind == "oracle":
            assert threshold_found.realised.value <= threshold_found.asked
        assert row.n_in + row.n_out == len(found.records.member)


# -- what may be missing


def test_without_a_reference_the_loss_is_all(leaking):
    found = audit_language(replace(leaking, energy_reference=None))
    assert {e.name for e in found.evaluations} == {"loss"}
    names = {s.name for s in found.skipped}
    assert names >= {"likelihood-ratio", "reference control", "matched attack", "blind control"}
    assert found.energies.signal == "loss"
    assert "no control of the texts" in found.warnings[0]
    assert "was not checked" in " ".join(verdict(found).sentences)


def test_without_groups_and_lengths_there_are_fewer_tables(leaking):
    bare = replace(leaking, group=None, length=None)
    found = audit_language(bare)
    assert isinstance(found.patients, Skipped)
    assert found.rows is None
    assert found.lengths == ()
    assert {"patient level", "short and long samples"} <= {s.name for s in found.skipped}
    single = replace(leaking, group=leaking.sample)
    assert "one sample" in audit_language(single).patients.reason


def test_patients_of_both_sides_are_counted(leaking):
    group = list(leaking.group)
    inside, outside = (int(np.flatnonzero(x)[0]) for x in (leaking.member, leaking.nonmember))
    group[inside] = group[outside] = "both"
    found = audit_language(replace(leaking, group=tuple(group)))
    assert any(note.startswith("1 patient(s) with both") for note in found.patients.notes)
    assert "both" not in found.rows.names


def test_samples_on_both_sides_are_left_out_and_counted(leaking):
    twice = np.append(np.arange(len(leaking)), int(np.flatnonzero(leaking.member)[0]))
    member = np.append(leaking.member, False)
    found = audit_language(
        {
            "sample": [leaking.sample[row] for row in twice],
            "energy_target": leaking.energy_target[twice],
            "member": member,
            "population": np.append(leaking.population, False),
        }
    )
    assert found.samples.n_in == np.count_nonzero(leaking.member) - 1
    assert any(
        x.startswith("1 member(s) and 1 non-member(s) with the same id") for x in found.warnings
    )


def test_one_patient_a_side_is_too_few(leaking):
    group = tuple("m" if x else "n" for x in leaking.member)
    with pytest.raises(InputError, match="at least two patients among the members"):
        audit_language(replace(leaking, group=group))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level must be in"),
        ({"seed": -1}, "seed must be"),
        ({"threshold": "best"}, "threshold must be some of population, oracle, mean-train"),
        ({"threshold": ()}, "got none"),
        ({"fpr": ()}, "fpr must name at least one"),
        ({"fpr": 1.5}, "fpr must be in"),
        ({"show": ["text"]}, "got 'text'; there are: length"),
        ({"show": ["ward"]}, "got 'ward'"),
    ],
)
def test_bad_options_are_one_line(leaking, options, message):
    with pytest.raises(InputError, match=message) as error:
        audit_language(leaking, **options)
    assert "\n" not in str(error.value)


def test_bad_scores_are_one_line(leaking):
    with pytest.raises(InputError, match="needs samples of the population"):
        audit_language(leaking.take(leaking.judged), threshold="population")
    with pytest.raises(InputError, match="at least two samples"):
        audit_language({"sample": [1, 2], "member": [1, 0], "energy_target": [1.0, 2.0]})
    with pytest.raises(InputError, match="finite, got nan in row 1"):
        audit_language({"sample": [1, 2], "member": [1, 0], "energy_target": [1.0, np.nan]})


def test_names_of_thresholds():
    assert [x.label for x in thresholds_named(None, (0.1, 0.1), True)] == ["population, FPR 10%"]
    assert [x.label for x in thresholds_named(("mean-train",), (0.1, 0.01), False)] == [
        "mean-train"
    ]


def test_the_public_name():
    assert pg.audit_language is audit_language
    assert set(GRADES).isdisjoint({UNTOLD})
