"""All calls from Python: mistakes cost one line, generators are seeds, bars are quiet."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.core.seeds import drawn_seed
from privacygauge.kinds import progress
from privacygauge.kinds.progress import shown_progress
from privacygauge.leaderboards.history.made import honest_history
from tests.classifiers.made import made_up
from tests.names import at_the_top

AUDITS = {
    name: call
    for name, call in sorted(at_the_top().items())
    if name.startswith("audit_")
    or name in {"attack_holdout", "holdout_bounds", "inspect_model"}
    or name in {"predictions", "vulnerable_records", "compare_worst_cases"}
}
TABLES = ("audit_classifier", "audit_defences", "audit_pool", "predictions")
SCORES = ("audit_privacy_claim", "audit_scores")


def line_of(call: Callable[..., object], *given: object, **named: object) -> str:
    with pytest.raises(pg.PrivacyGaugeError) as caught:
        call(*given, **named)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_the_list_of_calls_is_the_package_s_own():
    assert len(AUDITS) > 25


@pytest.mark.parametrize("name", AUDITS)
def test_arrays_given_one_by_one_cost_one_line_with_the_mend(name):
    values = np.linspace(0.1, 0.9, 40)
    line = line_of(AUDITS[name], *[values] * 12)
    assert line.startswith(f"{name}() takes ")
    assert "by their names" in line or "arrays go together, as" in line


@pytest.mark.parametrize("name", TABLES + SCORES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_arrays_in_the_place_of_a_table_are_told_where_they_belong(name, n):
    line = line_of(AUDITS[name], *[np.linspace(0.1, 0.9, 40)] * n)
    mend = "pg.predictions(" if name in TABLES else '{"score": '
    assert any(text in line for text in (mend, f"{name}() needs ", "epsilon must be a number"))


@pytest.mark.parametrize("name", sorted({*AUDITS} - {"predictions"}))
def test_a_call_without_its_data_names_it(name):
    needed = [
        p.name
        for p in inspect.signature(AUDITS[name]).parameters.values()
        if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD
    ]
    assert f"{name}() needs {' and '.join(needed)}" in line_of(AUDITS[name])


def test_a_value_given_twice_is_named():
    line = line_of(pg.audit_classifier, "t.npz", target="t.npz")
    assert line == "audit_classifier() got target by position and by its name: give it once"


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_a_seed_wherever_a_seed_is(make):
    assert drawn_seed(make(3)) == drawn_seed(make(3))
    one = make(3)
    assert drawn_seed(one) != drawn_seed(one)
    session = pg.options.Session(seed=make(3))
    assert session.seed == drawn_seed(make(3))
    target = made_up(60)
    audits = [pg.audit_classifier(target, seed=make(3)) for _ in range(2)]
    again = pg.audit_classifier(target, seed=drawn_seed(make(3)))
    assert audits[0].to_json() == audits[1].to_json() == again.to_json()
    history = honest_history(np.random.default_rng(1), n=100, teams=2, submissions=4)
    found = pg.audit_leaderboard(history, seed=make(3))
    assert found.origin.seed == drawn_seed(make(3))
    told = pg.audit_mechanism(
        lambda data, rng: sum(data) + rng.laplace(), [([1], [0])], 1.0, runs=100, search=100,
        seed=make(3),
    )  # fmt: skip
    assert told.origin.seed == drawn_seed(make(3))


@pytest.mark.parametrize("seed", [-1, 1.5, True, "0", None, np.arange(3)])
def test_anything_else_is_no_seed(seed):
    assert "seed must be an integer" in line_of(pg.audit_classifier, made_up(60), seed=seed)


def test_outside_a_notebook_no_bar_is_drawn_unless_asked_for(monkeypatch, capsys):
    def own(done: int, total: int) -> None:
        pass

    assert shown_progress("a") is None
    assert shown_progress("a", False) is None
    assert shown_progress("a", own) is own
    monkeypatch.setattr(progress, "WAIT", 0.0)
    monkeypatch.setattr(progress, "APART", 0.0)
    bar = shown_progress("an audit", True)
    for done in range(4):
        bar(done, 3)
    err = capsys.readouterr().err
    assert err.endswith("\n")
    assert "an audit" in err
    assert "3 of 3" in err


def test_a_short_audit_shows_no_bar(capsys):
    bar = shown_progress("an audit", True)
    bar(1, 2)
    bar(2, 2)
    assert capsys.readouterr().err == ""


def test_in_a_notebook_a_bar_is_shown_and_changed(monkeypatch):
    shown = []

    class Handle:
        def update(self, html):
            shown.append(html)

    class Shell:
        kernel = True

    def display(html, display_id):
        assert display_id
        shown.append(html)
        return Handle()

    # As much of IPython as a bar needs, which no dependency brings along.
    notebook = type(inspect)("IPython")
    notebook.get_ipython = Shell
    drawing = type(inspect)("IPython.display")
    drawing.HTML = str
    drawing.display = display
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", drawing)
    monkeypatch.setattr(progress, "WAIT", 0.0)
    monkeypatch.setattr(progress, "APART", 0.0)
    bar = shown_progress("<audit>")
    for done in range(3):
        bar(done, 2)
    assert [text.count("<progress") for text in shown] == [1, 1, 1]
    assert 'value="2" max="2"' in shown[-1]
    assert "&lt;audit&gt;" in shown[0]
    assert shown_progress("audit", False) is None
