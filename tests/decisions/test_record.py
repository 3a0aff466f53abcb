"""A release is bound to its bytes: whatever is changed after a signature is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.decisions import record
from privacygauge.decisions.check import check_release, sign_release
from privacygauge.decisions.record import (
    LOG,
    Decision,
    read_folder,
    read_log,
    without_a_person,
)
from privacygauge.errors import InputError, OutputError
from tests.decisions.releases import LATER, POLICY, made, signed
from tests.thorough import times

BOUND = (
    "artefact/weights.bin",
    "artefact/notes.txt",
    "reports/members/report.json",
    "reports/values/report.json",
    "policy.toml",
)

tampering = settings(max_examples=times(120), deadline=None)


@contextmanager
def changed(folder: Path, file: str, content: bytes):
    """Change a file of a release, and put it back."""
    before = (folder / file).read_bytes()
    (folder / file).write_bytes(content)
    try:
        yield check_release(folder).failures
    finally:
        (folder / file).write_bytes(before)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A release that three people signed, and whose check finds nothing wrong."""
    folder = made(tmp_path_factory.mktemp("releases") / "triage")
    signed(folder)
    signed(folder, by="B. Roy", role="data protection officer")
    signed(folder, decision="conditions", because="only within the network")
    assert check_release(folder).failures == ()
    return folder


@pytest.fixture
def copy(whole, tmp_path):
    """A copy of it that a test may change."""
    return shutil.copytree(whole, tmp_path / "triage")


def name_of(file: str) -> str:
    return "artefact" if file.startswith("artefact/") else file


def flipped(content: bytes, place: float, by: int) -> bytes:
    found = bytearray(content)
    found[int(place * len(found))] ^= by
    return bytes(found)


@tampering
@given(st.sampled_from(BOUND), st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_every_changed_byte_of_what_was_decided_about_is_named(whole, file, place, by):
    with changed(whole, file, flipped((whole / file).read_bytes(), place, by)) as told:
        assert sum(x.startswith(f"{name_of(file)} has changed since") for x in told) == 2
        assert sum(x.startswith(f"{name_of(file)} has changed since A. Berg") for x in told) == 1


@tampering
@given(st.sampled_from(BOUND), st.binary(max_size=300))
def test_other_contents_are_named_whatever_they_are(whole, file, content):
    with changed(whole, file, content) as told:
        assert any(x.startswith(f"{name_of(file)} has changed since A. Berg") for x in told)


@tampering
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 255))
def test_every_changed_byte_of_the_log_is_noticed(whole, place, by):
    with changed(whole, LOG, flipped((whole / LOG).read_bytes(), place, by)) as told:
        assert any(x.startswith(LOG) for x in told)
        with pytest.raises(InputError, match="nothing is signed on top of it"):
            signed(whole)


@tampering
@given(st.data())
def test_removed_moved_and_repeated_lines_of_the_log_are_noticed(whole, data):
    lines = (whole / LOG).read_bytes().splitlines(keepends=True)
    places = st.lists(st.integers(0, len(lines) - 1), max_size=len(lines) + 1)
    kept = data.draw(places.filter(lambda x: x != list(range(len(lines)))), "lines")
    with changed(whole, LOG, b"".join(lines[i] for i in kept)) as told:
        assert any(x.startswith(LOG) for x in told)


def test_a_log_that_was_taken_away_leaves_nobody_who_signed(copy):
    folder = copy
    (folder / LOG).unlink()
    assert check_release(folder).failures == ("Nobody has signed a decision",)


@pytest.mark.parametrize("file", [*BOUND, "artefact"])
def test_what_is_gone_is_named(copy, file):
    folder = copy
    if (folder / file).is_dir():
        shutil.rmtree(folder / file)
    else:
        (folder / file).unlink()
    told = "\n".join(check_release(folder).failures)
    how = "has changed" if file.startswith("artefact/") else "is gone"
    assert f"{name_of(file)} {how} since B. Roy (data protection officer) signed on" in told


@pytest.mark.parametrize("file", ["artefact/more.bin", "reports/late/report.json"])
def test_what_was_added_is_named(copy, file):
    folder = copy
    (folder / file).parent.mkdir(exist_ok=True)
    shutil.copy(folder / "reports/members/report.json", folder / file)
    told = "\n".join(check_release(folder).failures)
    how = "has changed" if file.startswith("artefact/") else "was added"
    assert f"{name_of(file)} {how} since" in told


def test_a_renamed_file_of_the_artefact_is_another_artefact(copy):
    folder = copy
    (folder / "artefact" / "notes.txt").rename(folder / "artefact" / "notes2.txt")
    assert "artefact has changed" in check_release(folder).failures[0]


def test_names_of_files_cannot_look_like_further_files(tmp_path):
    one = made(tmp_path / "one")
    digest = record.sha256(b"version 3\n")
    (one / "artefact" / f'a": "{digest}", "b').write_bytes(b"version 3\n")
    other = made(tmp_path / "other")
    (other / "artefact" / "a").write_bytes(b"version 3\n")
    (other / "artefact" / "b").write_bytes(b"version 3\n")
    assert read_folder(one).bound["artefact"] != read_folder(other).bound["artefact"]


def test_what_a_page_says_is_bound_too(tmp_path):
    folder = made(tmp_path / "triage")
    page = folder / "reports" / "members" / "report.html"
    page.write_text("<h1>What was found</h1><p>51.0% 49.0 to 53.0 55.0%</p>")
    signed(folder)
    page.write_text("<h1>What was found</h1><p>50.0%</p>")
    assert (
        "reports/members/report.html has changed since A. Berg" in check_release(folder).failures[0]
    )


@pytest.mark.parametrize(
    "file", ["reports/members/records.parquet", "reports/members/a/b.npz", "reports/notes.txt"]
)
def test_every_file_among_the_reports_is_bound(tmp_path, file):
    folder = made(tmp_path / "triage")
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_bytes(b"PAR1")
    signed(folder)
    assert check_release(folder).failures == ()
    (folder / file).write_bytes(b"PAR2")
    assert f"{file} has changed since A. Berg" in check_release(folder).failures[0]
    (folder / file).unlink()
    assert f"{file} is gone since A. Berg" in check_release(folder).failures[0]


def test_the_last_decision_of_each_person_in_each_role_counts(tmp_path):
    folder = made(tmp_path / "triage")
    signed(folder, decision="hold", because="not yet")
    assert check_release(folder).failures == ("A. Berg (head of data) holds it back: not yet",)
    signed(folder)
    assert check_release(folder).failures == ()
    signed(folder, role="ethics", decision="hold", because="not for us")
    assert check_release(folder).failures == ("A. Berg (ethics) holds it back: not for us",)


def test_a_decision_expires_after_its_last_day(tmp_path):
    folder = made(tmp_path / "triage", f"[release-check]\ndays = 99999\n{POLICY}")
    signed(folder, until="2198-05-31")
    assert check_release(folder, on="2198-05-31").failures == ()
    told = check_release(folder, on="2198-06-01").failures
    assert told == ("The decision of A. Berg (head of data) expired on 2198-05-31",)


def test_an_audit_older_than_the_policy_says_clears_nothing(tmp_path):
    folder = made(tmp_path / "triage", f"[release-check]\ndays = 30\n{POLICY}")
    told = check_release(folder, on="2026-03-03").failures
    assert "members: 31 days old, above 30" in told
    assert "values: 31 days old, above 30" in told
    assert check_release(folder, on="2026-03-02").failures == ("Nobody has signed a decision",)
    with pytest.raises(InputError, match="days old, above 30"):
        signed(folder)


def test_a_decision_of_the_future_clears_nothing(tmp_path):
    folder = made(tmp_path / "triage")
    log = record.read_log(folder)
    now = signed(folder)
    record.append(folder, log, replace(now, on="2931-01-01"))
    assert check_release(folder).failures == (
        "The decision of A. Berg (head of data) says that it was signed on 2931-01-01, which is in "
        "the future",
    )


def test_a_decision_for_many_years_is_warned_of(tmp_path):
    folder = made(tmp_path / "triage")
    signed(folder)
    (told,) = (x for x in check_release(folder).origin.warnings if "holds until" in x)
    assert told.endswith("holds until 2999-12-31, more than 5 years after it was signed")
    (folder / "policy.toml").write_text(f"[release-check]\nyears = 999\n{POLICY}")
    signed(folder)
    assert not any("holds until" in x for x in check_release(folder).origin.warnings)


def test_the_ending_of_a_file_is_bound(tmp_path):
    folder = made(tmp_path / "triage")
    shutil.rmtree(folder / "artefact")
    (folder / "artefact.json").write_text("{}")
    signed(folder)
    assert check_release(folder).failures == ()
    (folder / "artefact.json").rename(folder / "artefact.pkl")
    told = "\n".join(check_release(folder).failures)
    assert "artefact.json is gone since A. Berg" in told
    assert "artefact.pkl was added since A. Berg" in told


def test_files_that_no_decision_covers_are_named(tmp_path):
    folder = made(tmp_path / "triage")
    (folder / "artefact-full.pkl").write_bytes(b"x")
    (folder / "check").mkdir()
    told = [x for x in check_release(folder).origin.warnings if "covers" in x]
    assert told == ["no decision covers what else is in the folder: artefact-full.pkl"]


def test_the_log_is_read_as_lines_of_json(whole):
    *entries, seal = map(json.loads, (whole / LOG).read_text().splitlines())
    assert [x["n"] for x in entries] == [1, 2, 3]
    assert entries[1]["before"] == record.sha256((whole / LOG).read_bytes().split(b"\n")[0])
    assert seal["entries"] == 3
    assert entries[0]["bound"] == read_folder(whole).bound


@pytest.mark.parametrize(
    ("given_", "told"),
    [
        ({"decision": "publish"}, "--decision must be one of release, conditions, hold"),
        ({"by": "  "}, "--by must be a text on one line"),
        ({"role": "a\nb"}, "--role must be a text on one line"),
        ({"because": ""}, "--because must be a text on one line"),
        ({"until": "31.1.2027"}, "--until must be a day such as 2027-01-31, got '31.1.2027'"),
        ({"until": "29990101"}, "--until must be a day such as 2027-01-31, got '29990101'"),
        ({"until": "2001-01-01"}, "--until must not be in the past"),
        ({"key": "nothing"}, "nothing does not exist: --key must be a file with an SSH key"),
    ],
)
def test_what_cannot_be_signed_is_refused_and_nothing_is_written(tmp_path, given_, told):
    folder = made(tmp_path / "triage")
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        signed(folder, **given_)
    assert not (folder / LOG).exists()


@pytest.mark.slow
def test_several_processes_that_sign_at_once_lose_nothing(tmp_path):
    folder = made(tmp_path / "triage")
    code = (
        "import sys; from privacygauge.decisions.check import sign_release; "
        "from privacygauge.errors import OutputError\n"
        "for i in range(5):\n"
        "    while True:\n"
        "        try:\n"
        "            sign_release(sys.argv[1], decision='conditions', by=f'{sys.argv[2]} {i}',"
        f" role='x', until='{LATER}', because='y')\n"
        "            break\n"
        "        except OutputError:\n"
        "            pass\n"
    )

    def run(name: str) -> int:
        return subprocess.run([sys.executable, "-c", code, str(folder), name]).returncode

    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(run, "abc")) == {0}
    log = read_log(folder)
    assert log.faults == ()
    assert {x.by for x in log.decisions} == {f"{name} {i}" for name in "abc" for i in range(5)}


def test_whoever_signs_while_another_does_is_told_after_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr("privacygauge.runs.folder._PATIENCE", 0.1)
    folder = made(tmp_path / "triage")
    with (
        record.exclusive_log(folder),
        pytest.raises(OutputError, match="another process is working on"),
    ):
        signed(folder)


def test_an_interruption_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    folder = made(tmp_path / "triage")
    signed(folder)
    before = (folder / LOG).read_bytes()

    def stopped(*_given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stopped)
        with pytest.raises(KeyboardInterrupt):
            signed(folder, by="B")
    assert (folder / LOG).read_bytes() == before
    assert not [x for x in folder.iterdir() if x.suffix == ".tmp"]
    signed(folder, by="B")
    assert len(read_log(folder).decisions) == 2


# Hostile folders


def test_links_and_special_files_are_refused_in_one_line(tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text("{}")
    places = {
        "artefact/link": lambda x: x.symlink_to(secret),
        "artefact/pipe": os.mkfifo,
        "artefact/up": lambda x: x.symlink_to("..", target_is_directory=True),
        "reports/members/report.json": lambda x: x.symlink_to(secret),
        "reports/members/pipe": os.mkfifo,
        "reports/members/link": lambda x: x.symlink_to(secret),
        "reports/other": lambda x: x.symlink_to(tmp_path, target_is_directory=True),
        "policy.toml": lambda x: x.symlink_to(secret),
        LOG: lambda x: x.symlink_to(secret),
    }
    for i, (place, make) in enumerate(places.items()):
        folder = made(tmp_path / str(i))
        (folder / place).unlink(missing_ok=True)
        make(folder / place)
        with pytest.raises(InputError) as told:
            check_release(folder)
        assert "is a link" in str(told.value) or "is not a plain file" in str(told.value)
        assert "\n" not in str(told.value)


def test_a_report_that_is_too_large_to_be_one_is_not_read(tmp_path):
    folder = made(tmp_path / "triage")
    with (folder / "reports/members/report.json").open("r+b") as file:
        file.truncate(record.LARGEST + 1)
    with pytest.raises(InputError, match="is larger than 64 MiB"):
        check_release(folder)


@pytest.mark.parametrize("name", ["..", "a\nb", "\x1b[31m", "<script>", "a\udcffb", "x" * 200])
def test_names_of_audits_stay_names(tmp_path, name):
    folder = made(tmp_path / "triage", None)
    shutil.copytree(folder / "reports" / "members", folder / "reports" / f"{name}-")
    found = check_release(folder)
    assert found.to_html().isprintable() or "\x1b" not in found.to_html()
    assert "<script>" not in found.to_html()
    assert "\x1b" not in found.summary()
    signed(folder, decision="hold")
    assert len(check_release(folder).failures) == 4


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda x: shutil.rmtree(x), "is not a folder"),
        (lambda x: shutil.rmtree(x / "artefact"), "has no artefact"),
        (lambda x: [p.unlink() for p in (x / "artefact").iterdir()], "is empty"),
        (lambda x: (x / "artefact.bin").write_text("2"), "has artefact and artefact.bin"),
        (lambda x: (x / "reports/members.json").write_text("2"), "has two audits called 'members'"),
        (lambda x: (x / "reports/a.json").write_bytes(b"\xff"), "is not UTF-8"),
        (lambda x: (x / "reports/a.json").write_text("[" * 10**5), "is damaged or not JSON"),
        (lambda x: (x / "reports/a.json").write_text("{}"), "is not a report of PrivacyGauge"),
    ],
)
def test_what_is_no_release_is_refused_in_one_line(tmp_path, make, told):
    folder = made(tmp_path / "triage")
    make(folder)
    with pytest.raises(InputError, match=told) as found:
        check_release(folder)
    assert "\n" not in str(found.value)


# Signatures with keys


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """Keys of two people, and a file that allows the first."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("needs ssh-keygen")
    place = tmp_path_factory.mktemp("keys")
    for name in "ab":
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / name)]
        subprocess.run(made, check=True)
    public = (place / "a.pub").read_text()
    (place / "signers").write_text(f'a@clinic.org namespaces="{record.NAMESPACE}" {public}')
    return place


KEYED = "[release-check]\nsigned = true\n"
REASONS = 'extraction = "no texts at all"\ncontents = "it stays here"\nclaims = "none is made"\n'


def test_a_signature_is_checked_against_the_allowed_signers(tmp_path, keys):
    folder = made(tmp_path / "triage", f"{KEYED}[release-check.not-applicable]\n{REASONS}")
    signed(folder, by="A. Berg <a@clinic.org>", key=keys / "a")
    assert check_release(folder, signers=keys / "signers").failures == ()
    (told,) = check_release(folder).failures
    assert "has a signature, which only --signers FILE can check" in told


@pytest.mark.parametrize(
    ("by", "key", "told"),
    [
        ("A. Berg <a@clinic.org>", "b", "is not that of A. Berg"),
        ("B. Roy <b@clinic.org>", "a", "is not that of B. Roy"),
        ("A. Berg", "a", "is not that of A. Berg"),
        ("--help <-n>", "a", "is not that of --help"),
    ],
)
def test_a_key_signs_for_nobody_else(tmp_path, keys, by, key, told):
    folder = made(tmp_path / "triage")
    signed(folder, by=by, key=keys / key)
    assert told in check_release(folder, signers=keys / "signers").failures[0]


@pytest.mark.parametrize(
    ("by", "key"),
    [
        ("A. Berg <a@clinic.org>", "a"),
        ("Dr. C. Board <a@clinic.org>", "a"),
        ("a.  berg", "b"),
        ("C. Board", "a"),
    ],
)
def test_one_person_or_key_is_not_two_roles(tmp_path, keys, by, key):
    policy = '[release-check]\nroles = ["head of data", "ethics"]\n'
    folder = made(tmp_path / "triage", f"{policy}[release-check.not-applicable]\n{REASONS}")
    signed(folder, by="A. Berg <a@clinic.org>", key=keys / "a")
    signed(folder, by=by, role="ethics", key=keys / key)
    told = f"Nobody but {by}, who signed in another role too, has signed as ethics"
    assert check_release(folder).failures[0] == told
    signed(folder, by="E. Lund", role="ethics")
    assert not any("signed as ethics" in x for x in check_release(folder).failures)


def test_roles_are_shared_out_as_well_as_they_can_be():
    def of(by, role):
        entry = {"decision": "hold", "until": LATER, "because": "x", "bound": {}, "unmet": ()}
        return Decision(1, by=by, role=role, on=LATER, version="", before="", **entry)

    both = [of("A", "x"), of("A", "y"), of("B", "x")]
    for roles in (("x", "y"), ("y", "x")):
        assert without_a_person(roles, both) == ()
    assert without_a_person(("x", "y", "z"), both) == ("z",)
    assert without_a_person(("x", "y"), both[:2]) == ("y",)


def test_for_whom_a_signature_was_checked_is_said(tmp_path, keys):
    folder = made(tmp_path / "triage")
    signed(folder, by="Dr. C. Board <a@clinic.org>", key=keys / "a")
    found = check_release(folder, signers=keys / "signers")
    assert found.signature(found.log.decisions[0]) == "signature checked: a@clinic.org"


def test_a_log_that_was_forged_as_a_whole_has_no_good_signature(tmp_path, keys):
    """Whoever can write to the folder can write another log, but not sign it."""
    folder = made(tmp_path / "triage")
    signed(folder, by="A. Berg <a@clinic.org>", key=keys / "a", decision="hold")
    (old,) = read_log(folder).decisions
    (folder / LOG).unlink()
    forged = record.replace(old, decision="release")
    with record.exclusive_log(folder) as log:
        record.append(folder, log, forged)
    assert check_release(folder).failures == ()
    assert "is not that of A. Berg" in check_release(folder, signers=keys / "signers").failures[0]


def test_a_missing_signature_is_named(tmp_path, keys):
    folder = made(tmp_path / "triage")
    signed(folder)
    (told,) = check_release(folder, signers=keys / "signers").failures
    assert "The decision of A. Berg (head of data) of" in told
    assert "is not signed with a key" in told
    with (folder / "policy.toml").open("a") as policy:
        policy.write(KEYED)
    with pytest.raises(InputError, match="asks for a signature: give --key FILE"):
        signed(folder)


def test_a_file_that_is_no_key_is_refused_in_one_line(tmp_path):
    folder = made(tmp_path / "triage")
    (tmp_path / "key").write_text("no key\n")
    with pytest.raises(InputError, match="cannot sign: ") as told:
        signed(folder, key=tmp_path / "key")
    assert "\n" not in str(told.value)


def test_without_ssh_keygen_it_is_said(tmp_path, monkeypatch):
    folder = made(tmp_path / "triage")
    (tmp_path / "key").write_text("no key\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="ssh-keygen is not there"):
        signed(folder, key=tmp_path / "key")


def test_public_form_returns_the_entry(tmp_path):
    found = sign_release(
        made(tmp_path / "triage"),
        decision="conditions",
        by="A",
        role="B",
        until=LATER,
        because="C",
    )
    assert (found.n, found.decision, found.unmet) == (1, "conditions", ())
