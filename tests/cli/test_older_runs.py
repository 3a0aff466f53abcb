"""What runs keep that were started before their command had one request: it is still read."""

from __future__ import annotations

import pytest

from privacygauge.cli.commands import COMMANDS
from privacygauge.errors import InputError

TRAINING = {
    "data": "/data/t.csv",
    "model": "/data/models.py:tree",
    "label": "sick",
    "ids": "name",
    "drop": ["trained"],
    "seed": 3,
    "level": 0.9,
}
SAMPLED = {**TRAINING, "records": 30, "unit": "ward"}
KEPT = {
    "classifier": {
        **SAMPLED,
        "member": "trained",
        "fitted": "/data/models.py:known",
        "shadows": 8,
        "budget": None,
        "risk": "histogram",
    },
    "defend": {**SAMPLED, "defences": ["label-only", "dp-sgd:8"], "shadows": 4, "delta": 1e-5},
    "worst-case": {
        **SAMPLED,
        "defences": [],
        "canaries": 8,
        "ordinary": None,
        "models": 4,
        "wrong_label": "least-likely",
        "fprs": [0.2, 0.1],
        "delta": None,
    },
    "dtp": {
        **TRAINING,
        "continuous": [],
        "alpha": 1.0,
        "l2": 1.0,
        "neighbours": 5,
        "bin_width": 0.01,
        "measure": 3,
        "queries": 500,
        "training_sets": 0,
        "remove": 0,
        "order": "recomputed",
        "vary": 0,
    },
    "synthetic": {
        "generator": "/data/mine.py:Sampler",
        "data": "/data/t.csv",
        "targets": "17,",
        "select": ["distance", "random"],
        "game": None,
        "knowledge": "auxiliary",
        "shadows": 16,
        "tests": None,
        "half_width": 0.1,
        "size": 30,
        "made": None,
        "label": "sick",
        "schema": "/data/schema.json",
        "continuous": [],
        "categorical": ["sick"],
        "drop": ["name"],
        "ids": "id",
        "show": [],
        "seed": 3,
        "level": 0.9,
        "unit": "who",
    },
}
OF_LANGUAGE = {
    "target": "/data/model",
    "members": "/data/in.jsonl",
    "nonmembers": "/data/out.jsonl",
    "reference": None,
    "population": None,
    "kind": "masked",
    "masks": 2,
    "pattern": "balanced",
    "form": "mean",
    "text": "text",
    "ids": None,
    "group": "patient",
    "threshold": [],
    "fpr": [0.2, 0.1],
    "show": [],
    "answers": None,
    "device": "cpu",
    "precision": "float32",
    "seed": 3,
    "level": 0.9,
}
BY_NAME = {command.name: command for command in COMMANDS}


@pytest.mark.parametrize("name", KEPT)
def test_every_option_of_an_older_run_is_read(name):
    asked = BY_NAME[name].request.kept(KEPT[name])
    asked.check(1)
    assert asked.keeps
    settled = asked.settled()
    # Options that the call in Python knows by another name have the one of their flag in older
    # runs.
    by_flag = {spec.flag[2:].replace("-", "_"): f.name for f, spec in asked.asked()}
    for option, value in KEPT[name].items():
        found = settled[option if option in settled else by_flag[option]]
        assert found == (tuple(value) if isinstance(value, list) else value)


def test_rates_are_numbers_whether_read_from_a_run_or_from_a_command_line():
    worst_case = BY_NAME["worst-case"].request
    assert worst_case.kept(KEPT["worst-case"]).fprs == (0.2, 0.1)
    assert worst_case(data="t.csv", fprs=("0.2", "0.1")).fprs == (0.2, 0.1)
    assert worst_case(data="t.csv").fprs == (0.1, 0.01, 0.001)


def test_an_older_run_of_a_language_model_is_read():
    asked = BY_NAME["language"].request.kept(OF_LANGUAGE)
    asked.check(-1)
    assert asked.keeps
    assert asked.rates == (0.2, 0.1)
    assert (asked.plan.n_masks, asked.group, asked.threshold) == (2, "patient", ())


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("synthetic", {"holdout": "o.csv"}, "--holdout goes with --synthetic, a table"),
        ("synthetic", {"generator": None}, "give either --generator"),
        ("classifier", {"risk": "best"}, "--risk must be isotonic or histogram"),
        ("worst-case", {"wrong_label": "any"}, "--wrong-label must be one of"),
        ("worst-case", {"fprs": ["low"]}, "--fpr must be numbers"),
        ("defend", {"defences": []}, "at least one defence is needed"),
    ],
)
def test_a_run_that_was_changed_by_hand_is_refused_in_one_line(name, changed, message):
    with pytest.raises(InputError, match=message):
        BY_NAME[name].request.kept({**KEPT[name], **changed}).check(1)
