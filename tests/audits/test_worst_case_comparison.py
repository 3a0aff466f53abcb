"""Trainings with the same canaries and coins, on learners whose leak is known."""

from __future__ import annotations

import json
from functools import cache

import pytest
from scipy.stats import binom

from privacygauge.claims.canaries import LeastLikelyLabel
from privacygauge.claims.defences.adversarial_regularisation import HeldBack
from privacygauge.claims.defences.training import OtherTraining, Private
from privacygauge.claims.worst_case_audit.audit import audit_worst_case, compare_worst_cases
from privacygauge.claims.worst_case_audit.verdict import grade_of_training
from privacygauge.classifiers.networks import MLP, Networks
from privacygauge.errors import InputError
from privacygauge.report.grades import NONE
from privacygauge.runs.store import read_run
from tests.audits.test_worst_case import FEW, Known, clear_records
from tests.classifiers.trainers import Counted
from tests.thorough import quarter

BASE = FEW | {"n_models": 12}
QUIET = OtherTraining(Known("knows exceptions by heart"), "quiet")
DEAF = OtherTraining(Known("ignores labels"), "deaf")


@cache
def found_of(*defences, **more):
    return compare_worst_cases(
        Known("private", 1.2), *clear_records(), defences, **{**BASE, **more}
    )


@pytest.mark.slow
def test_each_training_is_judged_as_if_it_were_alone():
    found = found_of(QUIET, DEAF)
    alone = audit_worst_case(QUIET.by, *clear_records(), **BASE)
    compared = found.trainings[1].found
    for ours, its in zip(compared.groups, alone.groups, strict=True):
        for a, b in zip(ours.attacks, its.attacks, strict=True):
            assert (a.rates, a.auc) == (b.rates, b.auc)
    assert compared.test_accuracy == alone.test_accuracy
    assert (found.targets.y == alone.targets.y).all()
    assert (found.targets.canaries == alone.targets.canaries).all()


@pytest.mark.slow
def test_a_further_defence_changes_nothing_but_the_corrected_ends():
    few = found_of(QUIET)
    many = found_of(QUIET, DEAF)
    assert (few.n_together, many.n_together) == (2 * 2 * 2 * 2, 2 * 3 * 2 * 2)
    for a, b in zip(few.trainings, many.trainings[:2], strict=True):
        for one, other in zip(a.found.groups, b.found.groups, strict=True):
            for x, y in zip(one.attacks, other.attacks, strict=True):
                assert (x.rates, x.auc) == (y.rates, y.auc)
                for p, q in zip(x.corrected, y.corrected, strict=True):
                    assert q.estimate.low <= p.estimate.low <= p.estimate.value
                    assert q.estimate.high >= p.estimate.high
                assert y.corrected_auc.low <= x.corrected_auc.low <= x.auc.low


@pytest.mark.slow
def test_corrected_intervals_are_those_of_their_share_of_the_error():
    found = found_of(QUIET, DEAF)
    level = 1 - 0.05 / found.n_together
    for group in found.trainings[2].found.groups:
        assert group.highest(0.1)[1].estimate.level == pytest.approx(level)
        assert group.highest_auc.level == pytest.approx(level)
        assert group.attacks[0].auc.level == 0.95


def test_an_order_that_the_worst_case_turns_round_is_seen():
    # Who knows exceptions by heart looks better than a noisy learner on average, and is worse.
    found = found_of(QUIET, DEAF)
    assert [(a.title, b.title) for a, b in found.changed_places] == [("quiet", "no defence")]
    assert found.worse_for_canaries(found.trainings[1])
    assert not found.worse_for_canaries(found.none)
    assert found.best.title == "deaf"


def test_without_a_defence_the_training_stands_alone():
    found = found_of(n_models=4)
    assert [t.title for t in found.trainings] == ["no defence"]
    assert found.best is found.none
    assert found.changed_places == ()
    assert not found.helps(found.none)


@pytest.mark.slow
def test_the_rate_of_the_verdict_is_the_lowest_that_records_tell_of():
    found = found_of(QUIET, DEAF, fprs=(0.5, 0.001, 0.3))
    told = [f for f in (0.5, 0.3, 0.001) if all(
        t.canaries(f).resolved and t.ordinary(f).resolved for t in found.trainings)]  # fmt: skip
    assert found.fpr == min(told) == 0.3
    assert found.warnings[-1].startswith("too few records to tell at a false-positive rate of 0.1%")
    assert found_of(fprs=(0.001, 0.002)).fpr == 0.002


@pytest.mark.slow
def test_what_fails_with_a_defence_is_left_out_and_named():
    x, y = clear_records()
    everything = tuple(range(len(y) + 1))
    failing = OtherTraining(Counted(bad=everything), "failing")
    more = FEW | {"n_models": 4}
    found = compare_worst_cases(Known("private", 1.0), x, y, [failing, QUIET], **more)
    assert [t.title for t in found.trainings] == ["no defence", "quiet"]
    assert found.skipped[0].name == "failing"
    assert "training failed for 4 of 4 models" in found.skipped[0].reason
    with pytest.raises(InputError, match="without a defence training failed for 4 of 4 models"):
        compare_worst_cases(Counted(bad=everything), x, y, [QUIET], **more)


def test_many_canaries_are_warned_of():
    assert "40 of 160 records are canaries" in found_of(QUIET, DEAF).warnings[0]
    few = found_of(n_canaries=10, n_ordinary=40, n_models=4)
    assert not any("are canaries" in text for text in few.warnings)


def test_an_interruption_loses_nothing(tmp_path):
    x, y = clear_records()
    more = FEW | {"n_models": 4}
    whole = compare_worst_cases(Counted(), x, y, [OtherTraining(Counted(), "again")], **more)
    told = []

    def resumed(stop_after):
        first = Counted(stop_after=stop_after)
        second = Counted()
        found = compare_worst_cases(
            first, x, y, [OtherTraining(second, "again")], run=tmp_path / "run",
            before=lambda trainings, cohort: told.append((len(trainings.trainers), len(cohort))),
            **more,
        )  # fmt: skip
        return found, first.trained + second.trained

    with pytest.raises(KeyboardInterrupt):
        resumed(2)
    assert read_run(tmp_path / "run").n_done() == 2
    found, trained = resumed(None)
    assert len(trained) == 4  # two models, each in both ways
    assert found.to_json() == whole.to_json()
    assert resumed(None)[1] == []
    assert told == [(2, 4)]


@pytest.mark.slow
def test_wrong_labels_that_a_model_chose_are_kept_with_the_run(tmp_path):
    x, y = clear_records()
    chooser = Counted()
    more = FEW | {"n_models": 4, "run": tmp_path / "run", "label": LeastLikelyLabel(chooser)}
    first, again = (compare_worst_cases(Counted(), x, y, **more) for _ in range(2))
    assert len(chooser.trained) == 2
    assert first.to_json() == again.to_json()
    assert (first.targets.y == again.targets.y).all()
    with pytest.raises(InputError, match="wrong label"):
        compare_worst_cases(Counted(), x, y, **(more | {"label": None}))


class StopError(Exception):
    """Before anything is trained."""


def trainings_of(*defences, **more):
    """Return what would be trained; nothing is."""
    seen = []

    def stop(trainings, cohort):
        seen.append((trainings, cohort))
        raise StopError

    networks = Networks(MLP((4,)), epochs=6, batch_size=20)
    with pytest.raises(StopError):
        compare_worst_cases(
            networks, *clear_records(), defences, before=stop, **{**FEW, **more}
        )  # fmt: skip
    return seen[0]


def test_references_of_adversarial_regularisation_are_members_held_back():
    trainings, cohort = trainings_of("adversarial-regularisation:2", "early-stopping:3")
    assert trainings.defended[0].weight == 2
    assert trainings.defended[0].reference == HeldBack(0.2)
    assert trainings.defended[1].networks.epochs == 3
    assert trainings.epochs == (6,)
    assert len(cohort.asked) == 120


@pytest.mark.slow
def test_dp_sgd_is_told_how_many_records_train_a_model_and_no_more():
    # 40 records are always in, and half of the other 120.
    trainings, _ = trainings_of("dp-sgd:8", Private(2.0))
    for trainer in trainings.defended:
        assert trainer.sampling_rate == pytest.approx(20 / 100)
    n = len(clear_records()[1])
    assert trainings.defended[0].epsilon(1 / n) == pytest.approx(8.0, rel=1e-2)
    assert trainings.defended[1].epsilon(1 / n) == pytest.approx(2.0, rel=1e-2)
    looser, _ = trainings_of("dp-sgd:8", delta=0.01)
    assert looser.defended[0].epsilon(0.01) == pytest.approx(8.0, rel=1e-2)


@pytest.mark.parametrize(
    ("defences", "more", "message"),
    [
        (["label-only"], {}, "label-only changes a model's answers and not its training"),
        (["noise"], {}, "defence must be one of early-stopping:10"),
        (["l2:0.1"], {}, "l2 changes how networks are trained, got a model of another kind"),
        ([QUIET, QUIET], {}, "two defences are called"),
        ([], {"fprs": (0.1, 0.1)}, "fprs must all be different, got 0.1 more than once"),
        ([], {"fprs": (1.5,)}, r"fpr must be in \(0, 1\), got 1.5"),
        ([], {"attacks": ()}, "attacks and fprs must have at least one entry each"),
        ([], {"n_models": 3}, "n_models must be at least 4, got 3"),
        ([], {"n_canaries": 160, "n_ordinary": None}, "n_canaries must be at least 1 and"),
        ([], {"level": 1.0}, r"level must be in \(0, 1\), got 1.0"),
    ],
)
def test_what_cannot_be_is_refused(defences, more, message):
    with pytest.raises(InputError, match=message):
        compare_worst_cases(Known("private"), *clear_records(), defences, **{**FEW, **more})


def test_what_is_told_holds_every_training():
    found = found_of(QUIET, DEAF)
    told = json.loads(found.to_json())
    assert told["kind"] == "worst-case"
    assert [t["title"] for t in told["trainings"]] == ["no defence", "quiet", "deaf"]
    frame = found.to_frame()
    assert len(frame) == 3 * 2 * 2
    assert set(frame["training"]) == {"no defence", "quiet", "deaf"}
    assert repr(found).startswith("<WorstCaseComparison: ")


@pytest.mark.slow
def test_of_learners_that_leak_nothing_hardly_a_verdict_says_otherwise():
    # At a level of 80%, so that the law has something to say in few games.
    n = quarter(40)
    wrong = 0
    for game in range(n):
        found = compare_worst_cases(
            Known("private"), *clear_records(), [OtherTraining(Known("private", 1e-9), "other")],
            **{**FEW, "seed": game, "level": 0.8},
        )  # fmt: skip
        leaks = [grade_of_training(t) != NONE for t in found.trainings]
        wrong += any(leaks) or bool(found.changed_places)
    assert wrong <= binom.ppf(0.999, n, 0.2)
