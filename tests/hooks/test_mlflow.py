"""An audit in a run of MLflow, by the real package and a store of files."""

import importlib
import json
import math
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(0)
    member = rng.random(200) < 0.5
    labels = rng.integers(3, size=200)
    logits = rng.normal(size=(200, 3))
    logits[np.arange(200), labels] += 1 + 2 * member
    return pg.audit_classifier({"logits": logits, "labels": labels, "member": member})


@pytest.fixture
def mlflow(tmp_path, monkeypatch):
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    found = importlib.import_module("mlflow")
    found.set_tracking_uri(f"file://{tmp_path}/runs")
    return found


@pytest.mark.slow
def test_every_measure_and_the_page_are_in_the_run(mlflow, audit, tmp_path):
    run_id = pg.hooks.log_to_mlflow(audit)
    assert mlflow.active_run() is None
    run = mlflow.get_run(run_id)
    assert run.info.status == "FINISHED"
    logged = run.data.metrics
    for measure in audit.report().measures:
        name = f"privacy/{measure.name.replace('@', '_at_')}"
        if isinstance(measure.found, Estimate):
            for end, key in (("value", ""), ("low", ".low"), ("high", ".high")):
                expected = getattr(measure.found, end)
                assert logged.get(name + key, math.inf) == expected, name + key
        else:
            assert (name in logged) == isinstance(measure.found, float)
    assert logged["privacy/auc.low"] > 0.5
    assert "privacy/tpr_at_0.01" in logged
    assert run.data.tags["privacy.classifier.verdict"] == audit.report().verdict.headline
    kept = f"runs:/{run_id}/privacy/classifier"
    path = mlflow.artifacts.download_artifacts(kept, dst_path=str(tmp_path))
    assert audit.report().verdict.headline in (Path(path) / "report.html").read_text(
        encoding="utf-8"
    )
    kept = json.loads((Path(path) / "report.json").read_bytes())
    assert kept == json.loads(audit.to_json())


@pytest.mark.slow
def test_an_active_run_is_used_and_stays_open(mlflow, audit):
    with mlflow.start_run() as run:
        mlflow.log_metric("accuracy", 0.9)
        assert pg.hooks.log_to_mlflow(audit, prefix="leak") == run.info.run_id
        assert mlflow.active_run().info.run_id == run.info.run_id
    logged = mlflow.get_run(run.info.run_id).data.metrics
    assert logged["accuracy"] == 0.9
    assert "leak/epsilon.low" in logged
    assert "leak/epsilon.high" not in logged  # no attack bounds it from above


def test_without_the_package_it_says_how_to_install_it(audit, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(InputError, match=r"privacygauge\[mlflow\]"):
        pg.hooks.log_to_mlflow(audit)


@pytest.mark.slow
def test_a_second_audit_in_a_run_replaces_nothing_of_the_first(mlflow, audit):
    numbers = np.random.default_rng(1).normal(size=100)
    scores = pg.audit_scores({"score": numbers, "member": np.arange(100) < 50})
    with mlflow.start_run() as run:
        pg.hooks.log_to_mlflow(audit)
        pg.hooks.log_to_mlflow(audit)  # once more
        with pytest.raises(InputError, match=r"privacy/.* from another audit .*prefix='second'"):
            pg.hooks.log_to_mlflow(scores)
        pg.hooks.log_to_mlflow(scores, prefix="second")
    tags = mlflow.get_run(run.info.run_id).data.tags
    assert {"privacy.classifier.verdict", "second.scores.verdict"} <= {*tags}


@pytest.mark.parametrize("error", ["module", "store"])
def test_a_store_that_cannot_be_used_is_a_line_with_the_way_out(audit, monkeypatch, error):
    class StoreError(Exception):
        pass

    def start_run():
        raise (
            ModuleNotFoundError("No module named 'alembic'")
            if error == "module"
            else (StoreError("The filesystem backend is\n in maintenance mode"))
        )

    fake = SimpleNamespace(
        active_run=lambda: None,
        start_run=start_run,
        get_tracking_uri=lambda: "sqlite:///mlflow.db",
        exceptions=SimpleNamespace(MlflowException=StoreError),
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    with pytest.raises(InputError, match=r"sqlite:///mlflow.db .*MLFLOW_TRACKING_URI") as found:
        pg.hooks.log_to_mlflow(audit)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("audit", [3, None, pg.Audit])
def test_what_is_no_audit_is_refused_in_one_line(monkeypatch, audit):
    for name in ("mlflow", "wandb"):
        monkeypatch.setitem(sys.modules, name, SimpleNamespace())
    for log in (pg.hooks.log_to_mlflow, pg.hooks.log_to_wandb):
        with pytest.raises(InputError, match="audit must be the result of an audit, got"):
            log(audit)
