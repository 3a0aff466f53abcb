import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

from privacygauge.classifiers.probe_training import (
    DESIGNS,
    Cost,
    measure_cost,
    measure_ways,
    seconds_of,
    span,
)
from privacygauge.classifiers.trainer import Cohort
from privacygauge.errors import InputError
from tests.classifiers.test_shadows import Together
from tests.classifiers.trainers import Counted, records


@pytest.mark.parametrize(
    ("cost", "n_models", "seconds"),
    [
        (Cost(2.0, 1, 1), 5, 10.0),
        (Cost(2.0, 2, 1), 5, 6.0),
        (Cost(2.0, 4, 1), 3, 2.0),
        (Cost(2.0, 2, 3), 6, 6.0),
        (Cost(2.0, 2, 3), 7, 12.0),
        (Cost(2.0, 2, 8), 3, 6.0),  # a single task that is not full
    ],
)
def test_the_time_of_all_is_that_of_the_busiest_worker(cost, n_models, seconds):
    assert cost.seconds(n_models) == seconds


def test_the_estimate_is_never_below_the_longest_schedule_and_grows():
    for jobs in (1, 2, 3):
        for together in (1, 3, 8):
            cost = Cost(1.0, jobs, together)
            times = [cost.seconds(n) for n in range(1, 40)]
            assert times == sorted(times)
            assert all(t >= n / jobs for n, t in enumerate(times, start=1))


def test_the_largest_design_within_the_budget_is_chosen():
    cost = Cost(1.0, 1, 1)
    assert cost.largest(5.0) == 4
    assert cost.largest(8.9) == 4
    assert cost.largest(9.0) == 8
    assert cost.largest(1e9) == max(DESIGNS)
    with pytest.raises(InputError, match="even 4 shadow models would take about 5 s, more than"):
        cost.largest(4.9)


@dataclass(frozen=True)
class Slow(Counted):
    pause: float = 0.05

    def train(self, cohort):
        time.sleep(self.pause * len(cohort))
        return super().train(cohort)


@dataclass(frozen=True)
class SlowTogether(Together):
    epochs: int = 20

    def train(self, cohort):
        time.sleep(0.02 * self.epochs)
        return super().train(cohort)


def test_one_estimator_is_trained_to_know_what_all_cost():
    x, y = records()
    trainer = Slow()
    cost = measure_cost(trainer, x, y, n_models=17, n_jobs=1)
    assert len(trainer.trained) == 1
    assert 0.05 <= cost.seconds_a_model < 0.5
    assert (cost.n_jobs, cost.models_a_task) == (1, 1)


def test_a_stack_of_networks_is_trained_for_two_epochs_and_counted_for_all():
    x, y = records()
    trainer = SlowTogether(fit=4)
    cost = measure_cost(trainer, x, y, n_models=64, n_jobs=1)
    assert len(trainer.trained) == cost.models_a_task == 4
    # 20 epochs of 0.02 s for four models at once, from a trial of two.
    assert 0.1 <= cost.seconds_a_model < 1.0
    short = replace(SlowTogether(fit=4), epochs=2)
    assert measure_cost(short, x, y, n_models=64, n_jobs=1).seconds_a_model < cost.seconds_a_model


def test_the_number_of_processes_is_never_below_one(monkeypatch):
    monkeypatch.setattr("privacygauge.classifiers.probe_training.cpu_count", lambda: 4)
    x, y = records()
    found = [measure_cost(Counted(), x, y, n_models=5, n_jobs=n).n_jobs for n in (-1, -2, -9, 3)]
    assert found == [4, 3, 1, 3]
    with pytest.raises(InputError, match="n_jobs must be at least 1, or -1"):
        measure_cost(Counted(), x, y, n_models=5, n_jobs=0)


def test_times_are_read_and_written_as_people_do():
    assert [seconds_of(t) for t in ("90", "90s", "1.5m", "2h", "1d")] == [90, 90, 90, 7200, 86400]
    for text in ("", "m", "ten", "-5m", "0", "nan", "inf", "1e999h", "5 minutes"):
        with pytest.raises(InputError, match="--budget must be a time such as 90s, 10m or 2h"):
            seconds_of(text)
    shown = [span(s) for s in (0.2, 45, 89, 90, 720, 5399, 12600)]
    assert shown == ["1 s", "45 s", "89 s", "2 min", "12 min", "90 min", "3.5 h"]
    assert np.isfinite(seconds_of("1e3"))


@dataclass(frozen=True)
class Defended:
    """A defence of networks that hands its settings on."""

    networks: SlowTogether

    def train(self, cohort):
        return self.networks.train(cohort)


@pytest.mark.slow
def test_models_trained_in_several_ways_cost_the_sum_of_them():
    x, y = records()
    inside = np.ones((6, len(y)), bool)
    cohort = Cohort(x, y, inside, range(6), 2, np.arange(len(y)))
    plain = Slow()
    defended = Defended(SlowTogether(fit=4))
    cost = measure_ways((plain, defended), cohort, n_jobs=2)
    # Once to load what it needs, once for the time; 0.05 s, and 20 epochs of 0.02 s from two.
    assert plain.trained == [0, 0]
    assert defended.networks.trained == [0]
    assert 0.45 <= cost.seconds_a_model < 1.5
    assert (cost.n_jobs, cost.models_a_task) == (2, 1)
    with pytest.raises(InputError, match="n_jobs must be at least 1, or -1"):
        measure_ways((plain,), cohort, n_jobs=0)
