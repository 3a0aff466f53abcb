import numpy as np
import pytest

from privacygauge.classifiers.networks import MLP, Networks, trainer
from privacygauge.classifiers.networks.engines import ENGINES
from privacygauge.errors import InputError
from tests.classifiers.networks import made

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def wide(m=24):
    return made.cohort(n=300, d=60, m=m, least=100)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dense", "vmap", "loop"])
def test_the_peak_of_a_real_run_stays_below_the_budget(engine):
    cohort = wide(24 if engine != "loop" else 6)
    budget = 6 * 2**20
    networks = Networks(MLP((300,)), 2, 50, engine=engine, memory=budget)
    size = networks.stack_size(cohort)
    assert size.budget == budget
    assert 1 <= size.models < 16 or engine == "loop"
    task = networks.task(cohort)
    with trainer.peak_memory(torch.device("cpu")) as peak:
        trainer.train_stacks(task, ENGINES[engine], size.models)
    assert peak.bytes <= budget
    # And the budget is used: one model more would not have fitted.
    if engine != "loop":
        assert size.fixed + (size.models + 1) * size.per_model > budget
        assert peak.bytes > 0.6 * budget


def test_the_peak_counts_what_lives_at_the_same_time():
    with trainer.peak_memory(torch.device("cpu")) as peak:
        for _ in range(3):
            a = torch.zeros(1000)
            b = a + 1
            del a, b
        c = torch.zeros(500)
        c[:10].add_(1)
    assert peak.bytes == 8000


def test_more_memory_means_larger_stacks_up_to_what_the_cache_holds():
    sizes = [
        Networks(MLP((300,)), memory=budget * 2**20).stack_size(wide()).models
        for budget in (1, 3, 6, 1000)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]
    assert Networks(MLP((2,))).stack_size(wide()).models == trainer.MOST_ON_CPU


def test_a_budget_too_small_for_one_model_is_refused():
    with pytest.raises(
        InputError, match=r"memory must be enough for one model, which takes .* bytes"
    ):
        Networks(MLP((300,)), memory=1000).train(wide())


class Refusing:
    """An engine that runs out of memory for more than so many models."""

    def __init__(self, most, error):
        self.most = most
        self.error = error
        self.tried = []

    def __call__(self, task, models):
        self.tried.append(len(models))
        if len(models) > self.most:
            raise self.error
        return ENGINES["dense"](task, models)


ERRORS = [
    torch.cuda.OutOfMemoryError("CUDA out of memory."),
    RuntimeError("[enforce fail] DefaultCPUAllocator: not enough memory: you tried to allocate"),
    RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
    MemoryError(),
]


def test_out_of_memory_halves_the_stack_and_training_goes_on():
    networks = Networks(MLP((4,)), 2, dtype="float64")
    cohort = wide(m=10)
    task = networks.task(cohort)
    whole = networks.train(cohort)
    for error in ERRORS:
        engine = Refusing(3, error)
        found = trainer.train_stacks(task, engine, 10)
        assert engine.tried == [10, 5, 3, 3, 3, 1]
        np.testing.assert_allclose(found.logits, whole, atol=1e-9)
        with pytest.raises(InputError, match="the memory must be enough to train one model"):
            trainer.train_stacks(task, Refusing(0, error), 4)


def test_other_errors_of_torch_are_not_swallowed():
    task = Networks(MLP((4,))).task(wide(m=2))
    with pytest.raises(RuntimeError, match="shapes"):
        trainer.train_stacks(task, Refusing(1, RuntimeError("shapes differ")), 2)


def test_default_memory_is_divided_among_workers(monkeypatch):
    monkeypatch.setattr(trainer, "memory_on", lambda device: 2**30)
    budgets = [
        Networks(MLP((2,)), workers=workers).stack_size(wide(m=2)).budget for workers in (1, 4)
    ]
    assert budgets == [2**28, 2**26]


def test_available_memory_is_a_number_of_bytes():
    assert trainer.memory_on(torch.device("cpu")) > 2**20


@pytest.mark.parametrize(("most", "models"), [(1, 1), (0, None)])
def test_trials_that_run_out_of_memory(most, models):
    task = Networks(MLP((4,))).task(wide(m=5))
    engine = Refusing(most, ERRORS[0])
    if models is None:
        with pytest.raises(InputError, match="the memory must be enough to train one model"):
            trainer.stack_size(task, engine, 2**30)
    else:
        assert trainer.stack_size(task, engine, 2**30).models == models
