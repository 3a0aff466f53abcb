"""Some attacks of the suite, by name: their numbers alone, and the page says what was left out."""

import json

import numpy as np
import pytest

from privacygauge.classifiers.audit.models import audit_pool
from privacygauge.classifiers.audit.predictions import audit_classifier
from privacygauge.classifiers.files import save_predictions
from privacygauge.classifiers.suite import chosen_attacks, pool_attacks
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.errors import InputError
from privacygauge.report.render import files
from tests.classifiers.made import logits_labels_member, made_up


@pytest.fixture(scope="module")
def sides():
    logits, labels, member = logits_labels_member(n=200, k=3)
    rng = np.random.default_rng(1)
    target = {"logits": logits, "labels": labels, "member": member}
    inside = rng.integers(0, 2, (8, 200)).astype(bool)
    answers = rng.normal(size=(8, 200, 3)) + inside[..., None] * np.eye(3)[labels]
    return target, {"logits": answers, "labels": labels, "member": inside}


def test_names_choose_their_variants_and_attacks_go_through():
    suite = pool_attacks(logits=True)
    assert chosen_attacks(None, suite) == (suite, ())
    found, left = chosen_attacks(["lira", "entropy"], suite)
    assert {attack.name for attack in found} == {"lira-online", "lira-offline", "entropy"}
    assert {one.name for one in left} | {one.name for one in found} == {one.name for one in suite}
    assert chosen_attacks([LiraOnline()], suite) == ([LiraOnline()], ())


def test_chosen_attacks_have_the_numbers_of_the_whole_suite(sides, undrawn):
    whole = audit_pool(*sides)
    found = audit_pool(*sides, attacks=["lira"])
    of_lira = [e for e in whole.evaluations if e.name.startswith("lira")]
    assert [e.name for e in found.evaluations] == [e.name for e in of_lira]
    assert [e.auc for e in found.evaluations] == [e.auc for e in of_lira]
    page = files(found.report())["report.html"].decode()
    assert "other attacks were chosen" in page
    assert "bavaria" in page


@pytest.mark.parametrize("attacks", [["lirax"], ["l"], [""]])
def test_an_unknown_name_is_one_line_with_all_names(sides, attacks):
    for call in (audit_classifier, audit_pool):
        given = sides if call is audit_pool else sides[:1]
        with pytest.raises(InputError, match=r"attacks must be among correctness, .* got") as found:
            call(*given, attacks=attacks)
        assert "\n" not in str(found.value)


def test_the_command_line_takes_names(tmp_path, capsys, monkeypatch, undrawn):
    from tests.cli.test_main import run_inside

    save_predictions(made_up(n=200), tmp_path / "t.npz")
    monkeypatch.chdir(tmp_path)
    done = run_inside(
        ["classifier", "t.npz", "--attacks", "confidence,learned", "--json", "-", "-q"], capsys
    )
    assert done.returncode == 0, done.stderr
    names = {one["name"] for one in json.loads(done.stdout)["attacks"]}
    assert names == {"confidence", "learned"}
    done = run_inside(["classifier", "t.npz", "--attacks", "lira"], capsys)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
