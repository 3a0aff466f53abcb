"""The command line as a user meets it: in a process of its own."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from privacygauge.classifiers.files import save_predictions
from privacygauge.runs.folder import kept_or_scratch
from privacygauge.runs.results import LIST
from tests.classifiers.made import logits_labels_member, made_up, softmax
from tests.thorough import THOROUGH

FILES = ["records.parquet", "report.html", "report.json", "roc.csv"]
COMMAND = [sys.executable, "-m", "privacygauge"]


def privacygauge(*arguments, cwd=None, **more):
    texts = [str(argument) for argument in arguments]
    return subprocess.run(
        [*COMMAND, *texts],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        check=False,
        **more,
    )


def begun(*arguments, **more):
    """Return a process that an interruption reaches."""
    # A suite in the background of a shell ignores interruptions, and so would what it starts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **more,
    )
    signal.signal(signal.SIGINT, before)
    return process


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    save_predictions(made_up(leak=2.0, seed=1), folder / "target.npz")
    save_predictions(made_up(leak=2.0, seed=2), folder / "shadow.npz")
    return folder


def test_the_main_job(files, tmp_path):
    out = tmp_path / "deep" / "out"
    done = privacygauge(
        "classifier", files / "target.npz", "--shadow", files / "shadow.npz", "--out", out
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert str(out / "report.html") in done.stdout
    assert sorted(p.name for p in out.iterdir()) == [LIST, *FILES]
    report = json.loads((out / "report.json").read_text())
    assert report["schema"] == "privacygauge/2"
    assert report["command"] == "classifier"
    names = {(a["name"], a["thresholds"]) for a in report["attacks"]}
    for name in ("correctness", "confidence", "entropy", "modified-entropy"):
        assert {(name, "per-class"), (name, "global")} <= names
    assert ("learned", "none") in names
    assert pq.read_table(out / "records.parquet").num_rows == 400


@pytest.mark.slow
def test_json_on_the_standard_output_is_all_there_is(files, tmp_path, capsys):
    arguments = ("classifier", files / "target.npz", "--shadow", files / "shadow.npz")
    done = privacygauge(*arguments, "--json", "-", "--seed", 0, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["seed"] == 0
    assert list(tmp_path.iterdir()) == []
    to = ("--json", tmp_path / "sub" / "r.json", "--quiet")
    again = run_inside((*arguments, *to), capsys)
    assert again.returncode == 0
    assert again.stdout == ""
    assert json.loads((tmp_path / "sub" / "r.json").read_text()) == json.loads(done.stdout)


@pytest.mark.slow
def test_without_a_shadow_thresholds_are_cross_fitted(files, capsys):
    done = run_inside(("classifier", files / "target.npz", "--json", "-"), capsys)
    assert "cross-fitting" in json.loads(done.stdout)["game"]["thresholds"]


def bad_files(folder):
    """Yield (name, file, what the message must say)."""
    logits, labels, member = logits_labels_member(n=60, k=3)
    good = {"probs": softmax(logits), "labels": labels, "member": member}
    nan = good["probs"].copy()
    infinite = good["probs"].copy()
    nan[4, 1], infinite[5, 2] = np.nan, np.inf
    changes = {
        "keys": ({"probs": None}, "no key probs or logits"),
        "shape": ({"probs": good["probs"][:, 0]}, "labels must be in 0..1 for 2 classes"),
        "rows": ({"labels": labels[:-1]}, "must have 60 rows, got 59"),
        "range": ({"labels": labels + 2}, "must be in 0..2 for 3 classes"),
        "fractions": ({"labels": labels + 0.5}, "must be classes, got"),
        "nan": ({"probs": nan}, "finite, got nan in row 4"),
        "infinite": ({"probs": infinite}, "finite, got inf in row 5"),
        "sum": ({"probs": good["probs"] * 0.8}, "must sum to 1"),
        "logits": ({"probs": logits}, "look like logits"),
        "members": ({"member": np.zeros(60, bool)}, "no members"),
        "object": ({"labels": labels.astype(object)}, "object array"),
    }
    for name, (change, message) in changes.items():
        arrays = {k: v for k, v in {**good, **change}.items() if v is not None}
        np.savez(folder / f"{name}.npz", **arrays)
        yield name, folder / f"{name}.npz", message
    np.savez(folder / "good.npz", **good)
    whole = (folder / "good.npz").read_bytes()
    (folder / "cut.npz").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.npz").touch()
    yield "truncated", folder / "cut.npz", "damaged"
    yield "empty", folder / "empty.npz", "is empty"
    yield "directory", folder, "is a directory"
    yield "absent", folder / "absent.npz", "does not exist"


def one_line(done, message):
    assert done.returncode == 2, (done.returncode, done.stderr)
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("privacygauge: error: ")
    assert message in lines[0]


def run_inside(arguments, capsys):
    """Return what a call in this process did: starting one costs seconds."""
    from privacygauge.cli import main

    # A file of the user's is a module of this process from then on, and its folder on the path.
    places = [*sys.path]
    known = {*sys.modules}
    before, sys.argv = sys.argv, ["privacygauge", *map(str, arguments)]
    try:
        code = main.run()
    finally:
        sys.argv = before
        sys.path[:] = places
        kept = (sys.prefix, sys.base_prefix, str(Path(__file__).parents[2]))
        for name in {*sys.modules} - known:
            file = getattr(sys.modules[name], "__file__", None)
            if file and not file.startswith(kept):
                del sys.modules[name]
    text = capsys.readouterr()
    return subprocess.CompletedProcess(arguments, code, text.out, text.err)


def test_bad_input_gets_one_line_code_2_and_no_file(files, tmp_path, capsys):
    out = tmp_path / "out"
    for _, path, message in bad_files(tmp_path):
        one_line(run_inside(("classifier", path, "--out", out), capsys), message)
        as_shadow = ("classifier", files / "target.npz", "--shadow", path, "--out", out)
        one_line(run_inside(as_shadow, capsys), message)
        assert not out.exists() or list(out.iterdir()) == []


@pytest.mark.slow
def test_a_class_without_shadows_stops_unless_allowed(files, tmp_path, capsys):
    logits, labels, member = logits_labels_member(k=5)
    kept = labels != 3
    probs = softmax(logits)[kept]
    np.savez(tmp_path / "shadow.npz", probs=probs, labels=labels[kept], member=member[kept])
    arguments = ("classifier", files / "target.npz", "--shadow", tmp_path / "shadow.npz")
    one_line(run_inside((*arguments, "--json", "-"), capsys), "class(es) 3 of the target have no")
    done = run_inside((*arguments, "--json", "-", "--allow-missing-classes"), capsys)
    assert done.returncode == 0
    assert any("class(es) 3 have no" in line for line in json.loads(done.stdout)["warnings"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("classifier",), "TARGET"),
        (("classifier", "x.npz", "--level", "1.5"), "level must be in (0, 1), got 1.5"),
        (("classifier", "x.npz", "--seed", "-1"), "seed must be an integer of at least 0"),
        (("classifier", "x.npz", "--seed", "many"), "--seed"),
        (("classifier", "x.npz", "--risk", "magic"), "--risk must be isotonic or histogram"),
        (("classifier", "x.npz", "--fail-above", "speed=1"), "no metric 'speed'"),
        (("classifier", "x.npz", "--fail-above", "auc=high"), "METRIC=VALUE"),
        (("classifier", "x.npz", "--fail-above", "auc=nan"), "got nan"),
        (("classifier", "x.npz", "--slice", "ward"), "does not exist"),
        (
            ("classifier", "x.npz", "--shadow", "a.npz", "--shadow", "b.npz"),
            "--shadow takes one file, and is given 2 of them",
        ),
        (("classify",), "No such command"),
        (("demo", "--fast"), "No such option"),
    ],
)
def test_bad_arguments_get_one_line(tmp_path, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    one_line(run_inside(arguments, capsys), message)


@pytest.mark.slow
def test_places_that_cannot_be_written_are_found_before_any_work(files, tmp_path, capsys):
    (tmp_path / "file").write_text("mine")
    target = files / "target.npz"
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        one_line(run_inside(("classifier", target, "--out", out), capsys), str(tmp_path / "file"))
    one_line(
        run_inside(("classifier", target, "--json", tmp_path / "file" / "r.json"), capsys),
        str(tmp_path / "file"),
    )
    one_line(run_inside(("classifier", target, "--json", tmp_path), capsys), "directory")
    for to in (("--out", "nosuch://bucket/x"), ("--json", "nosuch://bucket/r.json")):
        one_line(
            run_inside(("classifier", target, *to), capsys),
            "cannot be used (Protocol not known: nosuch)",
        )
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder nobody may write to")
def test_no_write_permission(files, capsys):
    arguments = ("classifier", files / "target.npz", "--out", "/proc/privacygauge")
    one_line(run_inside(arguments, capsys), "/proc/privacygauge")


@pytest.mark.slow
def test_a_limit_that_is_exceeded_gives_code_3_and_the_report(files, tmp_path, capsys):
    arguments = ("classifier", files / "target.npz", "--shadow", files / "shadow.npz", "--quiet")
    out = ("--out", tmp_path / "out")
    done = run_inside((*arguments, *out, "--fail-above", "accuracy.low=0.55"), capsys)
    assert done.returncode == 3
    assert "accuracy.low is 0." in done.stderr
    assert (tmp_path / "out" / "report.html").exists()
    passed = run_inside((*arguments, *out, "--fail-above", "auc=0.999"), capsys)
    assert passed.returncode == 0
    assert passed.stderr == ""


@pytest.mark.slow
def test_accuracy_is_that_of_any_attack_and_its_lower_end_that_of_the_headline(files):
    from privacygauge.classifiers.audit.predictions import audit_classifier

    audit = audit_classifier(files / "target.npz", files / "shadow.npz")
    highest = max(e.accuracy.value for e in audit.evaluations)
    numbers = audit.report().numbers
    assert numbers["accuracy"] == highest
    assert numbers["accuracy.low"] == audit.headline.accuracy.low
    assert numbers["epsilon"] == audit.headline.epsilon.low


def test_alone_it_prints_its_help(capsys):
    done = run_inside((), capsys)
    assert done.returncode == 0
    assert "classifier" in done.stdout
    assert done.stderr == ""


def test_every_command_has_help_with_an_example(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for command in ("demo", "classifier"):
        text = run_inside((command, "--help"), capsys).stdout
        assert f"Example: privacygauge {command}" in " ".join(text.split())
        for option in ("--out", "--seed", "--json", "--quiet"):
            assert option in text
    assert privacygauge("--version").stdout.startswith("privacygauge ")


@pytest.mark.slow
def test_an_interruption_leaves_no_report(tmp_path):
    save_predictions(made_up(n=60_000, k=40), tmp_path / "target.npz")
    out = tmp_path / "out"
    for pause in (0.3, 1.5, 3.0) if THOROUGH else (0.3, 1.5):
        running = begun("classifier", tmp_path / "target.npz", "--out", out)
        time.sleep(pause)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        assert running.returncode in (0, 130, -signal.SIGINT), errors
        assert len(errors.splitlines()) <= 1
        # An interruption may come when all is written; a part of a file never stays.
        for path in out.iterdir() if out.exists() else ():
            assert path.name in [LIST, *FILES]
            whole = path.read_bytes()
            assert path.name != "report.html" or whole.rstrip().endswith(b"</html>")
            assert path.name != "report.json" or json.loads(whole)


WAITING = """
import sys, time
import privacygauge.cli.main
from privacygauge.__main__ import main
from privacygauge.runs.folder import kept_or_scratch

def run():
    with kept_or_scratch(None) as folder:
        open(folder + "/copy.csv", "w").write("x" * 1000)
        print(folder, flush=True)
        time.sleep(60)

privacygauge.cli.main.run = run
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch, number):
    shared = {**os.environ, "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(
        [sys.executable, "-c", WAITING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=shared,
    )
    folder = Path(running.stdout.readline().strip())
    assert folder.is_relative_to(tmp_path)
    assert (folder / "copy.csv").exists()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    os.utime(folder.parent / ".held", (0, 0))
    with kept_or_scratch(None):
        assert (folder / "copy.csv").exists()  # whoever made it is alive
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    if number == signal.SIGTERM:
        assert running.returncode == 143
        assert errors.splitlines() == [
            "privacygauge: terminated: every file is whole or was not written"
        ]
    else:
        with kept_or_scratch(None):
            assert not folder.exists()
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_reported_before_anything_large_is_imported(tmp_path):
    every = [
        ("classifier", "absent.npz"),
        ("classifier", "--model", "absent.py:tree", "--data", "absent.csv"),
    ]
    code = (
        "import sys; from privacygauge.cli.main import run\n"
        f"for arguments in {every!r}:\n"
        "    sys.argv = ['privacygauge', *arguments]; assert run() == 2\n"
        "    assert not {'numpy', 'pandas', 'sklearn'} & set(sys.modules), arguments"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("does not exist") == 2


def test_a_reader_who_has_read_enough_is_no_error(tmp_path):
    """As `head` does: it takes a line and goes."""
    np.savez(tmp_path / "model.npz", w=np.arange(12.0))
    asked = [sys.executable, "-m", "privacygauge", "inspect", str(tmp_path / "model.npz")]
    with subprocess.Popen(
        [*asked, "--out", str(tmp_path / "out")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        process.stdout.close()
        told = process.stderr.read()
    assert "Broken pipe" not in told
    assert "Traceback" not in told
    assert process.returncode in (0, 1)
