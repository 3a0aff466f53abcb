"""An audit in a run of Weights & Biases, by the real package, offline."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.hooks.measures import tracked_numbers

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(0)
    member = rng.random(200) < 0.5
    labels = rng.integers(3, size=200)
    logits = rng.normal(size=(200, 3))
    logits[np.arange(200), labels] += 1 + 2 * member
    return pg.audit_classifier({"logits": logits, "labels": labels, "member": member})


@pytest.mark.slow
@pytest.mark.parametrize("active", [True, False])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_numbers_and_the_page_are_in_the_run(audit, tmp_path, monkeypatch, active):
    wandb = pytest.importorskip("wandb")
    monkeypatch.chdir(tmp_path)
    for name, value in (("WANDB_MODE", "offline"), ("WANDB_SILENT", "true")):
        monkeypatch.setenv(name, value)
    for name in ("WANDB_DATA_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    wandb.teardown()  # it keeps the folder of an earlier run
    begun = wandb.init(project="made-up") if active else None
    run_id = pg.hooks.log_to_wandb(audit)
    if begun is not None:
        assert run_id == begun.id
        numbers = tracked_numbers(audit.report(), "privacy")
        assert {name: begun.summary[name] for name in numbers} == numbers
        assert begun.summary["privacy/classifier/verdict"] == audit.report().verdict.headline
        begun.finish()
    assert wandb.run is None
    assert [*tmp_path.glob(f"wandb/offline-run-*-{run_id}/*.wandb")]
    assert [*tmp_path.rglob("*.html")]


def test_numbers_have_names_that_trackers_take(audit):
    found = tracked_numbers(audit.report(), "leak")
    assert "leak/tpr_at_0.01" in found
    assert found["leak/auc.low"] < found["leak/auc"] < found["leak/auc.high"]
    assert np.isfinite([*found.values()]).all()
    assert "leak/epsilon.high" not in found  # no attack bounds it from above


def test_without_the_package_it_says_how_to_install_it(audit, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(InputError, match=r"privacygauge\[wandb\]"):
        pg.hooks.log_to_wandb(audit)
