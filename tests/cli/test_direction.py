"""What is the wrong way round passes no gate, and is refused where it can be known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.claims.claim_audit.command import METRICS as METRICS_OF_CLAIM
from privacygauge.cli.output import Limit, exceeded_limits
from privacygauge.language.audit.command import METRICS as METRICS_OF_LANGUAGE
from tests.classifiers.made import made_up
from tests.cli.test_main import one_line, run_inside
from tests.language.made_scores import made_scores

GENEROUS = 1000.0
"""No metric is above it."""


@pytest.fixture(scope="module")
def energies():
    made = made_scores(np.random.default_rng(0), patients=(60, 60, 0), leak=2.0)
    return pd.DataFrame(
        {
            "sample": made.sample,
            "group": made.group,
            "energy_target": made.energy_target,
            "energy_reference": made.energy_reference,
            "member": made.member.astype(int),
        }
    )


@pytest.mark.slow
def test_no_metric_of_a_swapped_audit_passes(energies, tmp_path, capsys):
    path = tmp_path / "energies.csv"
    report = tmp_path / "report"
    swapped = energies.assign(member=1 - energies["member"])
    swapped.to_csv(path, index=False)
    given = ("language", "--scores", path, "--out", report, "--fail-above", "auc=1")
    done = run_inside(given, capsys)
    assert done.returncode == 3
    assert "one for the other: no limit can be checked" in done.stderr
    assert json.loads((report / "report.json").read_text())["verdict"]["grade"] == "cannot be told"
    found = pg.audit_language(swapped).report()
    for metric in METRICS_OF_LANGUAGE:
        assert exceeded_limits(found, (Limit(metric, GENEROUS),))
    assert not exceeded_limits(found, ())
    given = ("register", report, "--json", "-", "--fail-above", "accuracy=1")
    done = run_inside(given, capsys)
    assert done.returncode == 3
    assert json.loads(done.stdout)["lines"][0]["severity"] == "cannot be told"
    assert "so the limit of accuracy cannot be checked" in done.stderr
    done = run_inside(("report", report, "--model-card"), capsys)
    assert "cannot be told" in done.stdout


@pytest.mark.slow
def test_a_reversed_score_passes_no_privacy_claim(tmp_path, capsys):
    rng = np.random.default_rng(0)
    member = rng.random(600) < 0.5
    path = tmp_path / "canaries.csv"
    score = -(rng.normal(size=600) + 2 * member)
    pd.DataFrame({"score": score, "member": member.astype(int)}).to_csv(path, index=False)
    given = ("dp-audit", path, "--epsilon", "0.5", "--delta", "1e-5", "--json", "-")
    limits = [f"--fail-above={metric}={GENEROUS}" for metric in METRICS_OF_CLAIM]
    for limit in limits:
        done = run_inside((*given, limit), capsys)
        assert done.returncode == 3
        assert json.loads(done.stdout)["verdict"]["grade"] == "cannot be told"


@pytest.mark.slow
def test_swapped_members_of_predictions_pass_no_gate(tmp_path, capsys):
    target = made_up(300, leak=2.0)
    pg.save_predictions(replace(target, member=~target.member), tmp_path / "target.npz")
    pg.save_predictions(made_up(300, leak=2.0, seed=1), tmp_path / "shadow.npz")
    files = (tmp_path / "target.npz", "--shadow", tmp_path / "shadow.npz")
    given = ("classifier", *files, "--out", tmp_path / "r", "--fail-above", "tpr@0.01=1")
    done = run_inside(given, capsys)
    assert done.returncode == 3
    assert "no limit can be checked" in done.stderr
    assert "Cannot be told" in (tmp_path / "r" / "report.html").read_text()


def test_log_likelihoods_are_no_energies(energies, tmp_path, capsys):
    path = tmp_path / "energies.csv"
    for column in ("energy_target", "energy_reference"):
        energies.assign(**{column: -energies[column]}).to_csv(path, index=False)
        done = run_inside(("language", "--scores", path), capsys)
        one_line(done, f"{column} must be at least 0, got -")
        one_line(done, "these look like log-likelihoods, negate them")
    # Further signals may have any sign.
    free = energies.assign(signal_own=-energies["energy_target"])
    assert pg.audit_language(free).records.member.any()


def test_the_reference_is_another_model(energies, tmp_path, capsys):
    path = tmp_path / "energies.csv"
    energies.assign(energy_reference=energies["energy_target"]).to_csv(path, index=False)
    done = run_inside(("language", "--scores", path), capsys)
    one_line(done, "energy_target and energy_reference are equal in every row")
