"""Generators of the user's: good ones equal direct calls, bad ones are named in one line."""

from __future__ import annotations

import functools
import json
import os
import pickle
import random
import subprocess
import sys
import threading
import types
import uuid

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed

from privacygauge.errors import InputError
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.tables.generators.adapters import Call, FitSample
from privacygauge.tables.generators.foreign import code_origin, require_sendable, table_from
from privacygauge.tables.generators.named import as_generator
from privacygauge.tables.table import Column, Schema, Table

SCHEMA = Schema(
    (
        Column("age", "integer", 18, 24),
        Column("town", "categorical", categories=("A", "B", "Zoë, «x»"), missing=True),
        Column("income", "continuous", 0.1, 95.0, missing=True),
        Column("score", "continuous", -5.0, 5.0),
    )
)
N = 12


def records(n: int = 40, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    income = np.where(rng.random(n) < 0.2, np.nan, rng.uniform(0.1, 95, n))
    columns = [rng.integers(18, 25, n), rng.integers(0, 4, n), income, rng.uniform(-5, 5, n)]
    return Table(SCHEMA, np.column_stack(columns).astype(float))


def made(generator, seed=1, n=N):
    return generator.generate(records(), n, np.random.default_rng(seed))


def same(one, two):
    return np.array_equal(one.values, two.values, equal_nan=True)


def seeded(frame, n, seed):
    return frame.sample(n, replace=True, random_state=seed)


def of_global_numpy(frame, n):
    return frame.iloc[np.random.randint(0, len(frame), n)]  # noqa: NPY002


def of_global_python(frame, n, *, sort=False):
    return frame.iloc[random.choices(range(len(frame)), k=n)]


class Rows:
    """The least that is a synthesizer."""

    def fit(self, frame):
        self.frame = frame

    def sample(self, n):
        return of_global_numpy(self.frame, n)


class LikeSdv(Rows):
    def sample(self, num_rows, max_tries_per_batch=100, batch_size=None):
        return of_global_numpy(self.frame, num_rows)


class LikeSdv2(Rows):
    """Learns from a dictionary of one table, and returns one."""

    def fit(self, data):
        ((self.table, self.frame),) = data.items()

    def sample(self, num_rows, main_table_name=None, max_tries_per_batch=100):
        assert main_table_name == self.table
        return {self.table: of_global_numpy(self.frame, num_rows)}


class Loader:
    def __init__(self, frame):
        self.frame = frame

    def dataframe(self):
        return self.frame


class LikeSynthcity:
    """Fits to a new object, and hands out loaders."""

    def __init__(self, random_state=0):
        self.random_state = random_state

    def name(self):
        return "like"

    def fit(self, X, *args, **kwargs):
        self.frame = X
        return self

    def generate(self, count=None, constraints=None, random_state=None, **kwargs):
        assert self.random_state == random_state
        return Loader(seeded(self.frame, count, random_state))


def make_with_seed(seed):
    return LikeSynthcity(seed)


class Estimator:
    """As scikit-learn's: copied by its parameters, whatever it was fitted to."""

    def __init__(self, random_state=None, share=1.0):
        self.random_state = random_state
        self.share = share

    def get_params(self, deep=True):
        return {"random_state": self.random_state, "share": self.share}

    def set_params(self, **parameters):
        vars(self).update(parameters)
        return self

    def fit(self, frame):
        assert not hasattr(self, "frame")
        self.frame = frame

    def sample(self, n):
        return seeded(self.frame, n, self.random_state)


FITTED = Rows()
FITTED.fit(pd.DataFrame({"other": [1, 2]}))
GOOD = {
    "seed": Call(seeded),
    "seed-by-place": Call(lambda frame, n, s: seeded(frame, n, s)),
    "global-numpy": Call(of_global_numpy),
    "global-python": Call(of_global_python),
    "partial": Call(functools.partial(of_global_python, sort=True)),
    "class": FitSample(Rows),
    "sdv": FitSample(LikeSdv),
    "sdv-2": FitSample(LikeSdv2),
    "synthcity": FitSample(LikeSynthcity),
    "factory": FitSample(lambda: Rows()),
    "factory-of-a-seed": FitSample(make_with_seed),
    "prototype": FitSample(FITTED),
    "estimator": FitSample(Estimator()),
}
every = pytest.mark.parametrize("generator", GOOD.values(), ids=list(GOOD))


@every
def test_equal_seeds_give_equal_tables_and_others_do_not(generator):
    table = records()
    kept = records().values
    one, two, three = (generator.generate(table, 30, np.random.default_rng(s)) for s in (3, 3, 4))
    assert same(one, two)
    assert not same(one, three)
    assert np.array_equal(table.values, kept, equal_nan=True)
    assert one.schema == SCHEMA
    # All three copy records of the table.
    assert {*map(str, one.values)} <= {*map(str, kept)}


@every
def test_it_survives_a_pickle_of_joblib_and_describes_itself_in_json(generator):
    require_sendable(generator, generator.name)
    described = json.dumps(generator.describe(), allow_nan=False)
    assert described == json.dumps(generator.describe())


def test_it_equals_the_call_itself():
    seed = int(np.random.default_rng(8).integers(2**31))
    direct = table_from(seeded(records().to_frame(), N, seed), SCHEMA, N, "direct")
    assert same(made(Call(seeded), seed=8), direct)
    assert same(made(FitSample(LikeSynthcity), seed=8), direct)
    assert same(made(FitSample(Estimator()), seed=8), direct)


def test_global_random_states_are_as_before():
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    expected = np.random.random(), random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    made(GOOD["global-numpy"])
    with pytest.raises(InputError):
        made(Call(lambda frame, n: np.random.seed(1)))  # noqa: NPY002
    assert (np.random.random(), random.random()) == expected  # noqa: NPY002


@pytest.mark.torch
def test_torch_is_seeded_and_restored():
    torch = pytest.importorskip("torch")
    generator = Call(lambda frame, n: frame.iloc[torch.randint(0, len(frame), (n,)).numpy()])
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    assert same(made(generator, 1), made(generator, 1))
    assert not same(made(generator, 1), made(generator, 2))
    assert torch.equal(torch.rand(3), expected)


def test_threads_wait_for_each_other():
    tables = [made(GOOD["global-numpy"], seed) for seed in range(8)]
    found = [None] * 8

    def work(seed):
        found[seed] = made(GOOD["global-numpy"], seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(map(same, tables, found))


@pytest.mark.slow
def test_it_works_in_processes():
    generators = [GOOD[name] for name in ("seed-by-place", "global-numpy", "factory", "prototype")]
    with Parallel(n_jobs=2) as pool:
        found = pool(delayed(made)(generator, seed) for seed, generator in enumerate(generators))
        assert all(map(same, found, map(made, generators, range(len(generators)))))
        with pytest.raises(InputError, match="generator 'broken' failed with ValueError: one two"):
            pool(delayed(made)(Call(broken)) for _ in range(2))


def test_what_it_prints_does_not_spoil_results(capsys):
    def talks(frame, n):
        sys.stdout.write("epoch 1\n")
        return frame.head(n)

    made(Call(talks))
    assert capsys.readouterr() == ("", "epoch 1\n")


def test_columns_in_another_order_and_other_types_are_the_same():
    table = records(N)
    frame = table.to_frame()
    other = frame[["score", "town", "age", "income"]].astype({"age": float, "town": "category"})
    other.index = range(50, 50 + N)
    assert same(table_from(other, SCHEMA, N, "mine"), table)


class Polars:
    def __init__(self, frame):
        self.frame = frame

    def to_pandas(self):
        return self.frame


def test_polars_frames_are_taken():
    assert same(table_from(Polars(records(N).to_frame()), SCHEMA, N, "mine"), records(N))


def with_column(**columns):
    return lambda frame, n: frame.head(n).assign(**columns)


def with_value(column, value, row=3):
    def change(frame, n):
        frame = frame.head(n).astype({column: object})
        frame.loc[row, column] = value
        return frame.infer_objects()

    return change


@pytest.mark.parametrize(
    ("column", "given", "found"),
    [
        ("score", 5.0 + 4e-9, 5.0),
        ("score", -5.0 - 4e-9, -5.0),
        ("age", 24.0 - 1e-9, 24.0),
        ("age", 24.0 + 1e-9, 24.0),
        ("age", 21.0, 21.0),
    ],
)
def test_rounding_is_put_right(column, given, found):
    table = made(Call(with_value(column, given)))
    assert table.values[3, SCHEMA.names.index(column)] == found


def test_single_precision_is_put_right():
    frame = records(N).to_frame().assign(income=np.full(N, 0.1, np.float32))
    frame["score"] = np.full(N, 4.9, np.float32)
    table = table_from(frame, SCHEMA, N, "mine")
    assert (table.values[:, 2] == np.float32(0.1)).all()  # which lies above 0.1
    below = frame.assign(income=np.full(N, np.nextafter(np.float32(0.1), np.float32(0))))
    assert (table_from(below, SCHEMA, N, "mine").values[:, 2] == 0.1).all()
    assert (table.values[:, 3] == np.float32(4.9)).all()
    beyond = frame.assign(income=np.full(N, 0.0999, np.float32))
    assert (table.clipped, table_from(beyond, SCHEMA, N, "mine").clipped) == (0, N)


def test_large_whole_numbers_are_not_rounded_to_their_neighbours():
    schema = Schema((Column("id", "integer", 0, 2**40),))
    assert table_from(pd.DataFrame({"id": [2.0**40 + 1]}), schema, 1, "mine").clipped == 1
    with pytest.raises(InputError, match="must return whole numbers"):
        table_from(pd.DataFrame({"id": [2.0**40 + 0.02]}), schema, 1, "mine")


@pytest.mark.parametrize("seed", range(20))
def test_numbers_beyond_the_range_are_clipped_and_counted(seed):
    rng = np.random.default_rng(seed)
    frame = records(200, seed).to_frame()
    moved = frame.assign(
        age=frame["age"] + rng.integers(-3, 4, 200), score=frame["score"] * rng.uniform(0.5, 2, 200)
    )
    ends = {"age": (18, 24), "score": (-5.0, 5.0)}
    clipped = moved.assign(**{name: moved[name].clip(*ends[name]) for name in ends})
    beyond = sum(int((moved[name] != clipped[name]).sum()) for name in ends)
    found, expected = (table_from(f, SCHEMA, 200, "mine") for f in (moved, clipped))
    assert same(found, expected)
    assert (found.clipped, expected.clipped) == (beyond, 0)
    assert beyond > 0


def broken(frame, n):
    raise ValueError("one\n two " + "é" * 300)


def leaves(frame, n):
    sys.exit(0)


def stops(frame, n):
    raise StopIteration


def asserts(frame, n):
    raise AssertionError


WRONG = {
    "fewer": (lambda f, n: f.head(n - 1), r"as many records as it is asked for, 12, got 11: let"),
    "more": (lambda f, n: f.head(n + 1), r"asked for, 12, got 13"),
    "none": (lambda f, n: f.head(0), r"asked for, 12, got 0"),
    "None": (lambda f, n: None, r"must return a pandas or polars frame, got NoneType: return a"),
    "array": (lambda f, n: f.to_numpy(), r"frame, got ndarray"),
    "list": (lambda f, n: f.to_dict("records"), r"frame, got list"),
    "lacks": (lambda f, n: f.head(n).drop(columns="age"), r"returned lacks 'age': return each"),
    "besides": (
        lambda f, n: f.head(n).reset_index().rename(columns={"town": "Town\n"}),
        r"lacks 'town' and has besides 'index', 'Town': return",
    ),
    "twice": (lambda f, n: pd.concat([f, f["age"]], axis=1).head(n), r"has twice 'age'"),
    "numbers-as-names": (lambda f, n: f.head(n).set_axis(range(4), axis=1), r"lacks 'age', 'town'"),
    "missing": (with_value("score", np.nan), r"'score' must not be missing.* got nan in row 3"),
    "missing-age": (with_value("age", None), r"'age' must not be missing.* got nan in row 3"),
    "infinite": (with_value("score", np.inf), r"'score' must hold finite numbers, got inf in row"),
    "beyond-and-a-half": (with_value("age", 25.5), r"whole numbers in column 'age', got 25.5 in"),
    "halves": (
        with_value("age", 19.5),
        r"whole numbers in column 'age', got 19.5 in row 3: round them, or make the column cont",
    ),
    "text": (with_value("score", "high"), r"'score' must hold finite numbers, got 'high' in row 3"),
    "unknown": (with_value("town", "C"), r"category of the schema, got 'C' in row 3: add it"),
    "complex": (with_column(score=1j), r"real numbers in column 'score', got complex128: take"),
    "lists": (with_column(score=[[1.0]] * N), r"'score' must hold finite numbers"),
    "dates": (with_column(score=pd.Timestamp("2020-01-01")), r"'score'"),
    "raises": (broken, r"failed with ValueError: one two é+\.\.\.: call it by itself to see"),
    "exits": (leaves, r"failed with SystemExit: 0"),
    "stops": (stops, r"failed with StopIteration: call"),
    "asserts": (asserts, r"failed with AssertionError: call"),
}


@pytest.mark.parametrize(("function", "message"), WRONG.values(), ids=list(WRONG))
def test_what_comes_back_wrong_is_named_in_one_line(function, message):
    with pytest.raises(InputError, match=message) as found:
        made(Call(function, "mine"))
    assert str(found.value).startswith("generator 'mine' ")
    assert len(str(found.value).splitlines()) == 1


def test_the_cause_is_kept_and_interruptions_come_through():
    with pytest.raises(InputError) as found:
        made(Call(broken))
    assert isinstance(found.value.__cause__, ValueError)
    for kind in (KeyboardInterrupt, MemoryError):
        with pytest.raises(kind):
            made(Call(functools.partial(_raises, kind)))


def _raises(kind, frame, n):
    raise kind


class NoSample:
    def fit(self, frame):
        """Learn nothing."""


class Needs(Rows):
    def __init__(self, metadata):
        self.metadata = metadata


class NoFit:
    def sample(self, n):
        return n


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FitSample(NoSample), "must have fit.* NoSample has no sample or generate: give"),
        (lambda: FitSample(NoFit), "NoFit has no fit"),
        (lambda: FitSample(lambda: None), "NoneType has no fit"),
        (lambda: FitSample(Needs), "'Needs' failed with TypeError: .*missing 1 .* 'metadata'"),
        (lambda: FitSample(lambda: FITTED), "must be a new object for every table"),
        (lambda: Call(3), "must be callable, got int"),
        (lambda: Call(lambda frame: frame), r"must take a frame.* got \(frame\): bind what"),
        (lambda: Call(lambda frame, n, seed, eps: frame), r"got \(frame, n, seed, eps\)"),
        (lambda: Call(lambda frame, n, *, eps: frame), r"got \(frame, n, \*, eps\)"),
        (lambda: Call(max, "mine"), "generator 'mine' must take"),
    ],
)
def test_what_cannot_work_is_refused_before_any_work(make, message):
    with pytest.raises(InputError, match=message) as found:
        make()
    assert len(str(found.value).splitlines()) == 1


def test_what_cannot_be_sent_is_named():
    lock = threading.Lock()
    generator = Call(lambda frame, n: lock)
    with pytest.raises(InputError, match=r"'mine' cannot be sent .*lock.*: give"):
        require_sendable(generator, "mine")


def test_plain_pickles_work_where_the_code_can_be_imported():
    for name in ("seed", "class", "prototype", "estimator"):
        generator = GOOD[name]
        assert same(made(pickle.loads(pickle.dumps(generator))), made(generator))  # noqa: S301


def times(factor):
    return lambda frame, n: frame.head(n * factor)


def test_the_origin_names_code_and_its_version():
    assert code_origin(seeded)["name"].endswith("test_adapters.seeded")
    assert set(code_origin(seeded)) == {"name"}
    assert code_origin(pd.DataFrame)["version"] == f"pandas {pd.__version__}"
    assert code_origin(functools.partial(seeded)) == code_origin(seeded)


def test_the_code_behind_a_generator_counts_with_its_values():
    def behind(function):
        return code_of(Call(function)).digests

    assert behind(lambda frame, n: frame) != behind(lambda frame, n: frame.head(n))
    assert behind(times(1)) != behind(times(2))
    assert behind(times(2)) == behind(times(2))
    of_two = (functools.partial(of_three, k=k) for k in (1, 2))
    assert len({str(behind(function)) for function in of_two}) == 2
    shares = (Estimator(share=0.5), Estimator(share=0.5), Estimator())
    one, again, other = (code_of(FitSample(made)).digests for made in shares)
    assert one == again
    assert one != other


def of_three(frame, n, k):
    return frame.head(n * k)


@pytest.mark.slow
def test_code_is_the_same_in_every_process():
    script = (
        "from tests.tables.generators.test_adapters import *\n"
        "values = {'b': {'x', 'y', 'zz'}, 'a': np.arange(3)}\n"
        "sort = [values, frozenset('pqr')]\n"
        "things = [*GOOD.values(), Call(functools.partial(of_global_python, sort=sort))]\n"
        "print([thing.describe() for thing in things], code_of(*things, Estimator(values)))"
    )
    one, two = (
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    )
    assert one == two


class KnowsNoDates(Rows):
    def fit(self, frame, discrete_columns=()):
        assert [kind.kind for kind in frame.dtypes] == ["i", "f"]
        super().fit(frame)


def test_packages_that_know_no_dates_learn_from_days(monkeypatch):
    days = Column("day", "integer", 0, 20_000, date=True)
    some = Table(Schema((days, Column("x", "continuous", 0.0, 2.0))), np.ones((20, 2)))
    with pytest.raises(InputError, match="AssertionError"):
        FitSample(KnowsNoDates).generate(some, N, np.random.default_rng(0))
    monkeypatch.setattr(KnowsNoDates, "__module__", "ctgan.synthesizers")
    found = FitSample(functools.partial(KnowsNoDates)).generate(some, N, np.random.default_rng(0))
    assert (found.values == 1.0).all()


class NamesItself(Rows):
    """As SDV's synthesizers, which carry an id of their own."""

    def __init__(self, share=1.0):
        self.share = share
        self.id = uuid.uuid4().hex


def test_objects_with_an_id_of_their_own_are_the_same_code():
    makes = [NamesItself, NamesItself, functools.partial(NamesItself, share=0.5)]
    one, again, other = (code_of(FitSample(make)).digests for make in makes)
    assert one == again
    assert one != other


class NamesCategories(Rows):
    """As CTGAN, which cannot learn from texts unless they are named."""

    def fit(self, train_data, discrete_columns=()):
        assert list(discrete_columns) == ["town"]
        super().fit(train_data)


def test_columns_of_categories_are_named_where_fit_asks_for_them():
    assert len(made(FitSample(NamesCategories))) == N


@pytest.mark.slow
@pytest.mark.torch
def test_ctgan_is_a_generator():
    """The package itself, for a moment."""
    ctgan = pytest.importorskip("ctgan")
    some = records(60)
    whole = Table(
        Schema((SCHEMA.columns[0], SCHEMA.columns[1], SCHEMA.columns[3])), some.values[:, [0, 1, 3]]
    )
    least = functools.partial(ctgan.CTGAN, epochs=1, batch_size=20, enable_gpu=False)
    one, again = (
        as_generator(least).generate(whole, N, np.random.default_rng(3)) for _ in range(2)
    )
    assert len(one) == N
    assert one.schema == whole.schema
    assert same(one, again)
    with pytest.raises(InputError, match="generator 'CTGAN' failed with"):
        as_generator(least).generate(some, N, np.random.default_rng(3))  # incomes are missing


class AsksForMetadata(LikeSdv):
    """As the synthesizers of SDV, which want to know the kinds of the columns."""

    def __init__(self, metadata, epochs=300):
        self.metadata = metadata
        self.epochs = epochs

    def fit(self, frame):
        columns = self.metadata["tables"]["table"]["columns"]
        assert {name: kind["sdtype"] for name, kind in columns.items()} == {
            **dict.fromkeys(frame.columns, "numerical"),
            "town": "categorical",
        }
        super().fit(frame)


@pytest.mark.parametrize(
    "make", [AsksForMetadata, functools.partial(AsksForMetadata, epochs=1)], ids=["class", "few"]
)
def test_a_synthesizer_of_sdv_gets_the_kinds_of_the_columns(make, monkeypatch):
    """A stand-in for `sdv.metadata`, whose own code is in the test below."""
    stand_in = types.ModuleType("sdv.metadata")
    stand_in.Metadata = types.SimpleNamespace(load_from_dict=lambda found: found)
    monkeypatch.setitem(sys.modules, "sdv", types.ModuleType("sdv"))
    monkeypatch.setitem(sys.modules, "sdv.metadata", stand_in)
    monkeypatch.setattr(AsksForMetadata, "__module__", "sdv.single_table")
    generator = as_generator(make)
    assert isinstance(generator, FitSample)
    assert same(made(generator), made(generator))


def make(metadata):
    return AsksForMetadata(metadata, epochs=1)


def make_of_a_seed(metadata, seed):
    assert seed >= 0
    return AsksForMetadata(metadata, epochs=1)


@pytest.mark.parametrize("function", [make, make_of_a_seed, functools.partial(make)])
def test_a_function_of_metadata_gets_them(function, monkeypatch):
    stand_in = types.ModuleType("sdv.metadata")
    stand_in.Metadata = types.SimpleNamespace(load_from_dict=lambda found: found)
    monkeypatch.setitem(sys.modules, "sdv", types.ModuleType("sdv"))
    monkeypatch.setitem(sys.modules, "sdv.metadata", stand_in)
    generator = as_generator(function)
    assert isinstance(generator, FitSample)
    assert same(made(generator), made(generator))


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", ["GaussianCopula", "CTGAN", "TVAE", "CopulaGAN"])
def test_sdv_is_a_generator(name):
    """The package itself."""
    single_table = pytest.importorskip("sdv.single_table", reason="sdv is not installed")
    kind = getattr(single_table, f"{name}Synthesizer")
    few = functools.partial(kind, epochs=1, batch_size=20)
    make = kind if name == "GaussianCopula" else few
    one, again = (made(as_generator(make)) for _ in range(2))
    assert len(one) == N
    assert same(one, again)


@pytest.mark.slow
def test_synthcity_is_a_generator():
    """The package itself."""
    plugins = pytest.importorskip("synthcity.plugins", reason="synthcity is not installed")

    def network(seed):
        return plugins.Plugins().get("bayesian_network", random_state=seed)

    assert len(made(as_generator(network))) == N


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_copulas_is_a_generator():
    """The package itself, which learns from numbers alone."""
    multivariate = pytest.importorskip("copulas.multivariate", reason="copulas is not installed")
    rng = np.random.default_rng(0)
    columns = (Column("x", "continuous", 0.0, 1.0), Column("y", "continuous", 0.0, 1.0))
    table = Table(Schema(columns), rng.random((60, 2)))
    copula = as_generator(multivariate.GaussianMultivariate)
    one, again = (copula.generate(table, N, np.random.default_rng(3)) for _ in range(2))
    assert len(one) == N
    assert same(one, again)


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_arfpy_is_a_generator():
    """The package itself."""
    arf = pytest.importorskip("arfpy.arf", reason="arfpy is not installed: it needs pandas below 3")

    def forest(frame, n, seed):
        learnt = arf.arf(x=frame, random_state=seed)
        learnt.forde()
        # It returns fractions for whole numbers.
        whole = frame.select_dtypes("integer").columns
        return learnt.forge(n=n).round(dict.fromkeys(whole, 0))

    assert len(made(as_generator(forest))) == N


def complete(n: int = 60) -> Table:
    """Return records of two columns without a missing value, written in one to six characters."""
    rng = np.random.default_rng(0)
    columns = (
        Column("age", "integer", 5, 24),
        Column("town", "categorical", categories=("A", "Bern")),
    )
    return Table(
        Schema(columns), np.column_stack([rng.integers(5, 25, n), rng.integers(2, size=n)])
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_realtabformer_is_a_generator(tmp_path, monkeypatch):
    """The package itself, with a model of one layer that it trains from the beginning."""
    package = pytest.importorskip("realtabformer", reason="realtabformer is not installed")
    config = pytest.importorskip("transformers").GPT2Config(n_layer=1, n_head=2, n_embd=16)
    # It writes checkpoints into the folder that it is started in.
    monkeypatch.chdir(tmp_path)

    def transformer(frame, n, seed):
        learnt = package.REaLTabFormer(
            "tabular",
            tabular_config=config,
            epochs=2,
            random_state=seed,
            report_to="none",
            use_cpu=True,
        )
        learnt.fit(frame, device="cpu", n_critic=0)
        return learnt.sample(n, device="cpu")

    made = as_generator(transformer).generate(complete(), N, np.random.default_rng(3))
    assert len(made) == N


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_great_is_a_generator(tmp_path, monkeypatch):
    """The package itself, with a model of random weights and a tokenizer of bytes in a folder."""
    package = pytest.importorskip("be_great", reason="be-great is not installed")
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    monkeypatch.chdir(tmp_path)
    level = tokenizers.pre_tokenizers.ByteLevel
    words = {text: code for code, text in enumerate(["<end>", *sorted(level.alphabet())])}
    bytewise = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=words, merges=[]))
    bytewise.pre_tokenizer = level(add_prefix_space=False)
    bytewise.decoder = tokenizers.decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=bytewise, eos_token="<end>", unk_token="<end>"
    ).save_pretrained("tiny")
    config = transformers.GPT2Config(
        len(words), n_positions=128, n_embd=32, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
    )
    transformers.GPT2LMHeadModel(config).save_pretrained("tiny")

    def great(frame, n, seed):
        learnt = package.GReaT(
            "tiny", epochs=200, batch_size=20, learning_rate=5e-3, use_cpu=True, seed=seed
        )
        learnt.fit(frame)
        many = learnt.sample(20 * n, device="cpu", temperature=0.1, guided_sampling=True)
        # Texts that are no record are left out.
        return many.dropna()[many["town"].isin(frame["town"])].head(n)

    made = as_generator(great).generate(complete(), 3, np.random.default_rng(3))
    assert len(made) == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_smartnoise_is_a_generator():
    """The package itself: MST, under differential privacy."""
    package = pytest.importorskip("snsynth", reason="smartnoise-synth is not installed")

    def mst(frame, n):
        learnt = package.Synthesizer.create("mst", epsilon=3.0)
        learnt.fit(frame, preprocessor_eps=0.5)
        return learnt.sample(n)

    made = as_generator(mst).generate(complete(), N, np.random.default_rng(3))
    assert len(made) == N
