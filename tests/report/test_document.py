from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.evaluate.findings import Findings
from privacygauge.report import document
from tests.report.example import example

ESTIMATE = {"value", "low", "high", "level", "n", "method"}


@pytest.fixture(scope="module")
def findings() -> Findings:
    return example()


def strict(text: str) -> dict:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_the_contract_of_the_interface(findings: Findings) -> None:
    found = strict(document.to_json(findings))
    assert found["schema"] == "privacygauge/1"
    assert list(found) == [
        "schema", "command", "version", "seed", "level", "game", "verdict", "headline", "attacks",
        "risk", "slices", "facts", "skipped", "warnings", "provenance",
    ]  # fmt: skip
    assert set(found["headline"]) >= {"accuracy", "epsilon", "epsilon_attack", "epsilon_limit"}
    assert set(found["skipped"][0]) == {"name", "reason"}
    assert len(found["attacks"]) == 9


def test_every_attack_has_every_number(findings: Findings) -> None:
    for attack in document.to_dict(findings)["attacks"]:
        assert set(attack) == {
            "name", "variant", "thresholds", "rule", "accuracy", "advantage", "best_accuracy",
            "auc", "tpr_at_fpr", "precision", "recall", "false_positive_rate", "ppv", "epsilon",
            "true_positives", "false_positives", "n_in", "n_out", "notes",
        }  # fmt: skip
        for key in ("accuracy", "advantage", "best_accuracy", "auc", "recall", "epsilon"):
            assert set(attack[key]) == ESTIMATE
        assert list(attack["tpr_at_fpr"]) == ["0.1", "0.01", "0.001", "0.0001"]
        for rate in attack["tpr_at_fpr"].values():
            assert set(rate) == ESTIMATE | {"resolved", "at_threshold", "realised_fpr"}
        assert list(attack["ppv"]) == ["0.01", "0.1", "0.5"]


def test_numbers_are_those_of_the_findings(findings: Findings) -> None:
    e, attack = findings.evaluations[6], document.to_dict(findings)["attacks"][6]
    assert attack["accuracy"]["value"] == e.accuracy.value
    assert attack["tpr_at_fpr"]["0.001"]["low"] == e.tpr_at_fpr[2].estimate.low
    assert attack["true_positives"] == e.true_positives
    risk = document.to_dict(findings)["risk"]
    assert set(risk) == {
        "estimator", "mean", "rmse", "rmse_of_bins", "noise", "bins", "cuts", "excess", "classes",
        "correlation", "notes",
    }  # fmt: skip
    assert risk["noise"] == findings.risk.reliability.noise
    assert [row["cut"] for row in risk["cuts"]] == [1.0, 0.9, 0.8, 0.7, 0.6, 0.5]


def test_infinity_is_null_and_skipped_is_a_reason(findings: Findings) -> None:
    assert document.to_dict(findings)["headline"]["epsilon"]["high"] is None
    assert document.estimate_dict(Skipped("risk", "no shadow")) == {"skipped": "no shadow"}
    endless = Estimate(np.inf, 0.0, np.inf, 0.95, 3, "x")
    assert document.estimate_dict(endless)["value"] is None
    none = replace(findings, risk=Skipped("risk", "a"), slices=Skipped("slices", "b"))
    found = strict(document.to_json(none))
    assert found["risk"] == {"skipped": "a"}
    assert found["slices"] == {"skipped": "b"}


def test_equal_findings_give_equal_bytes() -> None:
    first, second = example(), example()
    second = replace(second, provenance=dict(reversed(second.provenance.items())))
    assert document.to_json(first) == document.to_json(second)


def test_undecodable_names_are_written(findings: Findings) -> None:
    odd = replace(findings, command="privacygauge \udcff.npz \x00", warnings=("\ud800",))
    text = document.to_json(odd)
    assert text.isascii()
    assert strict(text)["command"] == odd.command


def test_no_record_is_in_the_document(findings: Findings) -> None:
    assert "patient-" not in document.to_json(findings)
