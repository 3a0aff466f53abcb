"""Clusters on the command line: the folders of a run are the same byte for byte."""

import pytest

from privacygauge.errors import InputError
from privacygauge.runs.backends import backend
from tests.classifier.test_shadows import content
from tests.cli.test_main import privacygauge, run_inside

MODEL = """
from sklearn.naive_bayes import GaussianNB

def make(random_state):
    return GaussianNB()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("cluster")
    (place / "mine.py").write_text(MODEL)
    rows = "".join(f"{i % 7},{i % 5},{i % 2}\n" for i in range(60))
    (place / "data.csv").write_text("a,b,label\n" + rows)
    return place


OPTIONS = ("classifier", "--model", "mine.py:make", "--data", "data.csv", "--shadows", 5, "--quiet")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dask", "ray"])
def test_a_cluster_trains_the_same_bytes(name, folder, capsys, monkeypatch):
    pytest.importorskip({"dask": "distributed"}.get(name, name))
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    command = (*OPTIONS, "--backend", name, "--jobs", 2, "--out", folder / name)
    done = privacygauge(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    alone = run_inside((*OPTIONS, "--jobs", 1, "--out", folder / "alone"), capsys)
    assert alone.returncode == 0, alone.stderr
    assert content(folder / name / "run") == content(folder / "alone" / "run")


@pytest.mark.parametrize("name", ["spark", "loky=here", ""])
def test_other_backends_are_refused(name):
    with pytest.raises(InputError, match=r"--backend must be loky, threading, dask\[=ADDRESS\]"):
        backend(name).__enter__()
