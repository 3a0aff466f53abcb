"""Reports as the audits write them are read, and the made-up ones of other tests resemble them."""

from __future__ import annotations

import importlib
import json

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.register.reports import read_line, risk_register
from privacygauge.report.writing import write_report
from tests.report.register.documents import EVERY

pytestmark = pytest.mark.slow


def classifier(folder):
    from tests.report.example import example

    example(400).write(folder)


def dtp(folder):
    from tests.report.example_dtp import example

    return _write("privacygauge.report.dtp", example(200, measured=100), folder)


def vulnerable(folder):
    import pandas as pd

    from privacygauge.cli.vulnerable import _write as write

    folder.mkdir()
    values = np.random.default_rng(0).normal(size=(30, 3))
    write(pg.vulnerable_records(pd.DataFrame(values, columns=list("abc"))), folder, 10)
    return None


def synthetic(folder):
    from tests.report.synthetic.example import example

    return _write("privacygauge.report.synthetic", example(), folder)


def released(folder):
    from tests.report.synthetic.released.test_report import audited

    return _write("privacygauge.report.synthetic.released", audited(), folder)


def language(folder):
    from privacygauge.audits.language.play import audit_language
    from tests.report.language.test_language_report import scores

    return _write("privacygauge.report.language", audit_language(scores()), folder)


def claim(folder):
    from tests.audits.test_privacy_claim_report import example

    example().write(folder)


def defences(folder):
    from tests.report.example_defences import example

    return _write("privacygauge.report.defences", example(), folder)


def worst_case(folder):
    from tests.report.example_worst_case import EARLY, NONE, compared

    return _write("privacygauge.report.worst_case", compared(NONE, EARLY), folder)


def bound(folder):
    found = pg.holdout_bounds(10_000, 2, 100, accounts=20)
    return _write("privacygauge.report.holdout.bound", found, folder)


def attack(folder):
    labels = np.random.default_rng(0).integers(0, 2, 200)
    found = pg.attack_holdout(labels, 80, attacks=["nb"], trials=3)
    return _write("privacygauge.report.holdout.attack", found, folder)


def history(folder):
    from privacygauge.audits.leaderboard.play import audit_leaderboard
    from tests.report.leaderboard.test_report import history as made

    return _write("privacygauge.report.leaderboard", audit_leaderboard(made()), folder)


MAKERS = {
    "classifier": classifier,
    "differential training privacy": dtp,
    "vulnerable records": vulnerable,
    "synthetic tables": synthetic,
    "released table": released,
    "language model": language,
    "privacy claim": claim,
    "defences": defences,
    "worst-case records": worst_case,
    "bounds on a test set": bound,
    "attacks on a test set": attack,
    "leaderboard history": history,
}


def _write(package, findings, folder):
    report = importlib.import_module(package)
    write_report(report, findings, folder)
    return report, findings


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("real")
    return {kind: (root / kind, make(root / kind)) for kind, make in MAKERS.items()}


def missing(fake, real, way=""):
    """Return the keys of the made-up document that the real one does not have."""
    found = []
    for key, value in fake.items():
        if key not in real:
            found.append(f"{way}{key}")
        elif isinstance(value, dict) and isinstance(real[key], dict) and key != "provenance":
            found += missing(value, real[key], f"{way}{key}.")
        elif isinstance(value, list) and value and isinstance(value[-1], dict):
            found += missing(value[-1], real[key][0], f"{way}{key}.")
    return found


@pytest.mark.parametrize("kind", EVERY)
def test_reports_are_read_and_say_what_their_verdict_says(made, kind):
    folder, written = made[kind]
    found = read_line(folder)
    assert found.kind.name == kind
    if written is not None:
        report, findings = written
        told = importlib.import_module(f"{report.__name__}.verdict").verdict(findings)
        assert found.told.judged.headline == told.headline
        assert found.told.judged.grade == told.grade
        assert found.told.judged.advice == tuple(told.advice)


@pytest.mark.parametrize("kind", EVERY)
def test_made_up_reports_resemble_the_real_ones(made, kind):
    real = json.loads((made[kind][0] / "report.json").read_text(encoding="utf-8"))
    gone = [key for key in missing(EVERY[kind], real) if "query-based" not in key]
    assert not gone


def test_the_worst_ids_are_those_of_the_page(made):
    from privacygauge.report import views
    from privacygauge.report.language.views import worst as patients
    from privacygauge.report.numbers import plain
    from privacygauge.report.synthetic.released.views import riskiest as members
    from privacygauge.report.synthetic.rows import riskiest as targets

    def shown(kind):
        return read_line(made[kind][0]).told.worst.ids

    def first(names):
        return tuple(views.shortened(plain(x)) for x in list(names)[:10])

    _, (_, findings) = made["released table"]
    assert shown("released table") == first(r.id for r in members(findings).records)
    _, (_, findings) = made["synthetic tables"]
    assert shown("synthetic tables") == first(r.id for r in targets(findings))
    _, (_, findings) = made["language model"]
    assert shown("language model") == first(r.id for r in patients(findings))


def test_all_of_them_make_one_register(made, tmp_path):
    found = risk_register([folder for folder, _ in made.values()])
    assert len(found.lines) == len(EVERY)
    assert len(found.write(tmp_path)) == 3
    # A classifier, its synthetic twin and a text encoder: three games, three scales.
    assert found.together.level == pytest.approx(
        1 - sum(line.told.number.risked for line in found.lines)
    )
