"""Audits from the predictions of many shadow models, trained elsewhere."""

import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import privacygauge as pg
from privacygauge.classifiers.estimators import as_trainer
from privacygauge.classifiers.files import as_pool
from privacygauge.classifiers.shadows import train_shadows
from privacygauge.cli.main import app
from tests.classifiers.trainers import records

X, Y = records()


@pytest.fixture(scope="module")
def trained():
    return train_shadows(as_trainer(DecisionTreeClassifier()), X, Y, n_shadows=6)


@pytest.fixture(scope="module")
def files(trained, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pool")
    pg.save_predictions(trained.target, folder / "target.npz")
    pool = trained.pool
    np.savez(folder / "pool.npz", probs=pool.values, labels=pool.labels, member=pool.inside)
    return folder


@pytest.mark.slow
def test_files_arrays_and_the_audit_that_trains_find_the_same(trained, files):
    whole = pg.audit_model(DecisionTreeClassifier(), X, Y, n_shadows=6)
    from_files = pg.audit_pool(files / "target.npz", files / "pool.npz", features=X, drawn=True)
    from_values = pg.audit_pool(trained.target, trained.pool, features=X, drawn=True)
    for other in (from_files, from_values):
        assert other.headline == pytest.approx(other.headline)
        parts = (json.loads(audit.to_json()) for audit in (whole, other))
        one, two = ({k: v for k, v in p.items() if k not in _OWN} for p in parts)
        assert one == two


_OWN = ("command", "provenance")


@pytest.mark.slow
def test_the_command_takes_a_pool_and_no_shadow_beside(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the page is written
    given = ("classifier", files / "target.npz", "--pool", files / "pool.npz")

    def invoked(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)))

    done = invoked(*given, "--json", "-")
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert {"lira-online", "rmia", "distance"} <= {a["name"] for a in report["attacks"]}
    assert [s["name"] for s in report["skipped"] if s["name"] == "untargeted"]
    assert "pool.npz sha256:" in report["provenance"]["pool"]
    wrong = invoked(*given, "--shadow", files / "target.npz")
    assert isinstance(wrong.exception, pg.InputError)
    assert "give either --shadow or --pool, not both" in str(wrong.exception)


@pytest.mark.slow
def test_logits_beside_probabilities_are_compared_as_probabilities(trained):
    logits = np.log(np.maximum(trained.target.values, 1e-9))
    target = pg.predictions(
        logits=logits, labels=trained.target.labels, member=trained.target.member
    )
    found = pg.audit_pool(target, trained.pool)
    assert "scaled-logit" not in {e.name for e in found.evaluations}


def test_bad_pools_are_named(trained, files, tmp_path):
    pool = trained.pool
    good = {"probs": pool.values, "labels": pool.labels, "member": pool.inside}

    def fails(message, **changes):
        with pytest.raises(pg.InputError, match=message) as raised:
            as_pool({**good, **changes})
        assert "\n" not in str(raised.value)

    fails(
        r"probs must have the shape \(k, n, c\) or \(k, n, q, c\) and member \(k, n\)",
        member=pool.inside[:2],
    )
    fails(r"must have the shape \(k, n, c\)", probs=pool.values[0])
    fails("labels must have 40 rows, got 39", labels=pool.labels[:-1])
    fails("probs must sum to 1", probs=pool.values / 2)
    fails("must be true or false", member=pool.inside * 3)
    with pytest.raises(pg.InputError, match="missing probs; it has"):
        as_pool({"labels": pool.labels, "member": pool.inside})
    table = tmp_path / "pool.csv"
    table.write_text("a\n1\n")
    with pytest.raises(pg.InputError, match=r"must be in an \.npz file"):
        as_pool(table)
    with pytest.raises(pg.InputError, match="the pool predicts"):
        pg.audit_pool(trained.target[:20], pool)
