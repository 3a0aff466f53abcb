"""Generators by name, with options, and of whatever a user has."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.tables.generators.adapters import Call, Command, FitSample
from privacygauge.tables.generators.generator import (
    BayNet,
    Identity,
    Marginals,
    PrivBayes,
    Silence,
    SynthPop,
)
from privacygauge.tables.generators.named import (
    GENERATORS,
    as_generator,
    generator_named,
    is_named,
)
from tests.tables.made_tables import table_of


@pytest.mark.parametrize(
    ("text", "generator"),
    [
        ("baynet", BayNet()),
        ("baynet:degree=2", BayNet(degree=2)),
        ("baynet: degree = 2 , bins = 5", BayNet(2, 5)),
        ("privbayes:epsilon=1", PrivBayes(1.0)),
        ("privbayes:epsilon=1e-3,bins=4,degree=3", PrivBayes(0.001, 3, 4)),
        ("synthpop", SynthPop()),
        ("synthpop:least=10", SynthPop(10)),
        ("synthpop:order=b+a,least=2", SynthPop(2, ("b", "a"))),
        ("independent", Marginals()),
        ("identity", Identity()),
        ("silence", Silence()),
    ],
)
def test_texts_name_generators(text, generator):
    assert generator_named(text) == generator
    assert as_generator(text) == generator
    assert is_named(text)


def test_options_may_come_apart_from_the_text():
    assert generator_named("privbayes", epsilon=1, degree=2) == PrivBayes(1, 2)
    assert generator_named("privbayes:degree=2", epsilon=3.0, bins=4) == PrivBayes(3.0, 2, 4)
    assert generator_named("synthpop", least=3, order=["x"]) == SynthPop(3, ("x",))
    assert hash(generator_named("synthpop", order=["x"]))


def test_every_name_makes_a_generator_that_works():
    table = table_of(np.random.default_rng(0), 30, 2, 2)
    for name in GENERATORS:
        generator = generator_named(name, epsilon=1.0 if name == "privbayes" else None)
        assert len(generator.generate(table, 9, np.random.default_rng(0))) == 9


def test_every_option_of_every_generator_can_be_given():
    values = {"epsilon": "2", "degree": "2", "bins": "3", "least": "4", "order": "a+b"}
    for name, kind in GENERATORS.items():
        for field in dataclasses.fields(kind):
            needed = ",epsilon=1" if name == "privbayes" and field.name != "epsilon" else ""
            made = generator_named(f"{name}:{field.name}={values[field.name]}{needed}")
            default = None if field.default is dataclasses.MISSING else field.default
            assert getattr(made, field.name) != default


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            "gan",
            {},
            "one of baynet, privbayes, synthpop, independent, identity, silence, got 'gan'",
        ),
        ("", {}, "must be one of .* got ''"),
        ("pkg.module:make", {}, r"must be one of .*, got 'pkg\.module'"),
        ("privbayes", {}, "needs the epsilon .*: privbayes:epsilon=1"),
        ("baynet:", {}, "must be written like baynet:degree=2,bins=5, got '' in 'baynet:'"),
        ("baynet:degree", {}, "written like .*, got 'degree'"),
        ("baynet:degree=", {}, "written like .*, got 'degree='"),
        ("baynet:degree=2,", {}, "written like .*, got ''"),
        ("baynet:degree=2,degree=3", {}, "degree is given twice in"),
        ("baynet:degree=2", {"degree": 2}, "degree of baynet is given twice, got 2 and '2'"),
        ("baynet:degree=two", {}, "degree of baynet must be a whole number, got 'two'"),
        ("baynet:degree=1.5", {}, "degree of baynet must be a whole number, got '1.5'"),
        ("baynet:degree=0", {}, "degree of baynet must be at least 1, got 0"),
        ("baynet", {"bins": -1}, "bins of baynet must be at least 1, got -1"),
        ("baynet:epsilon=1", {}, "baynet has no option 'epsilon'; it has degree, bins: leave it"),
        ("baynet", {"epsilon": 1.0}, "baynet has no option 'epsilon'"),
        ("identity:degree=1", {}, "identity has no option 'degree'; it has none"),
        ("privbayes:epsilon=much", {}, "epsilon of privbayes must be a number, got 'much'"),
        ("privbayes:epsilon=nan", {}, "epsilon of privbayes must be a finite number, got nan"),
        ("privbayes:epsilon=inf", {}, "epsilon of privbayes must be a finite number, got inf"),
        ("privbayes:epsilon=0", {}, "epsilon must be above 0, got 0.0"),
        ("privbayes:epsilon=-1", {}, "epsilon must be above 0, got -1.0"),
        ("synthpop:name=x", {}, "synthpop has no option 'name'"),
    ],
)
def test_bad_names_and_options_are_refused(text, options, message):
    with pytest.raises(InputError, match=message) as found:
        generator_named(text, **options)
    assert len(str(found.value).splitlines()) == 1


class Rows:
    def fit(self, frame):
        self.frame = frame

    def sample(self, n):
        return self.frame.sample(n, replace=True)


def make():
    return Rows()


def make_with(random_state):
    return Rows()


def make_by_default(epochs=3, width=4):
    return Rows()


def call(frame, n, seed):
    return frame.sample(n, replace=True, random_state=seed)


def short(frame, n):
    return frame.sample(n, replace=True)


def test_whatever_makes_tables_is_a_generator():
    table = table_of(np.random.default_rng(0), 30, 2, 2)
    for thing, kind in [
        (BayNet(), BayNet),
        ("silence", Silence),
        (Command("cat"), Command),
        (Rows, FitSample),
        (Rows(), FitSample),
        (make, FitSample),
        (make_with, FitSample),
        (make_by_default, FitSample),
        (call, Call),
        (short, Call),
    ]:
        generator = as_generator(thing)
        assert type(generator) is kind
        assert as_generator(generator) is generator
        assert len(generator.generate(table, 30, np.random.default_rng(0))) == 30


def test_names_of_ones_own():
    assert as_generator(call).name == "call"
    assert as_generator(call, "mine.py:call").name == "mine.py:call"
    assert as_generator(Rows, "mine").name == "mine"
    assert as_generator(Rows()).name == "Rows"
    assert as_generator(BayNet(), "mine").name == "BayNet"


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (BayNet, r"give an instance, BayNet\(\.\.\.\), not the class itself"),
        (3, r"or a Command, got int"),
        (None, r"or a Command, got NoneType"),
        (["cat"], r"or a Command, got list"),
        (lambda frame: frame, "must take a frame, a number of records and a seed"),
        (dict, "dict has no fit"),
        (lambda: 3, "int has no fit"),
    ],
)
def test_what_makes_no_tables_is_refused(thing, message):
    with pytest.raises(InputError, match=message):
        as_generator(thing)
