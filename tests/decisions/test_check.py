"""Each question about a release has one honest answer, and a policy is one schema with limits."""

from __future__ import annotations

import json
from importlib.resources import files
from shutil import rmtree

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.cli.commands import COMMANDS
from privacygauge.decisions.check import (
    COMMAND_OF,
    RELEASED,
    State,
    check_release,
    due,
    played_now,
    read_audit,
    read_policy,
    start_policy,
)
from privacygauge.decisions.command import POLICIES
from privacygauge.decisions.evidence import evidence
from privacygauge.errors import InputError
from privacygauge.report import render
from privacygauge.report.values import Severity
from privacygauge.runs.results import file_hashes
from tests.decisions.releases import ATTRIBUTES, LATER, MEMBERSHIP, POLICY, made, rewritten, signed
from tests.releases.documents import HOSTILE, changed, document, estimate, number
from tests.report.test_html import Page
from tests.thorough import times


def states(folder):
    return {x.question.name: x.state for x in check_release(folder).answers}


def of_task(task, severity="nothing found", kind="classifier"):
    found = document(kind, severity, number("accuracy", estimate(0.5, 0.4, 0.6), "50%; 40 to 60"))
    return changed(found, "about", "task", to=task)


def test_a_question_is_untested_until_it_is_tested_or_said_to_be_no_question(tmp_path):
    folder = made(tmp_path / "triage", None)
    assert states(folder) == {
        "membership": State.TESTED,
        "attributes": State.TESTED,
        "extraction": State.UNTESTED,
        "contents": State.UNTESTED,
        "claims": State.UNTESTED,
    }
    (folder / "policy.toml").write_text(POLICY)
    assert states(folder)["claims"] is State.STATED
    assert check_release(folder).failures == ("Nobody has signed a decision",)


@given(st.lists(st.sampled_from(list(Severity)), min_size=1, max_size=4))
@settings(max_examples=times(40), deadline=None)
def test_no_pass_where_an_audit_could_not_tell_or_found_too_much(tmp_path_factory, found):
    reports = {
        f"r{i}": changed(of_task("membership-inference", str(x)), "seed", to=i)
        for i, x in enumerate(found)
    }
    policy = POLICY.replace("applicable]", 'applicable]\nattributes = "It has none."')
    policy = policy.partition("50%")[2].partition("\n")[2]
    folder = made(tmp_path_factory.mktemp("r") / "triage", policy, **reports)
    result = check_release(folder)
    (membership, *_) = result.answers
    judged = {*found} - {Severity.UNJUDGED}
    passes = bool(judged) and judged <= {Severity.NOTHING, Severity.SMALL}
    assert (result.failures == ("Nobody has signed a decision",)) is passes
    if Severity.UNTOLD in judged:
        assert membership.state is State.UNTOLD
        assert any("could not have told" in x for x in result.failures)
    elif not judged:
        assert membership.state is State.UNTESTED


def test_a_reason_hides_no_finding(tmp_path):
    folder = made(tmp_path / "triage", leak=of_task("training-data-extraction", "grave"))
    (extraction,) = [x for x in check_release(folder).answers if x.question.name == "extraction"]
    assert extraction.state is State.TESTED
    assert "leak: grave, above the policy's small" in "\n".join(check_release(folder).failures)


def test_nothing_found_is_told_with_what_could_have_been_found(tmp_path):
    folder = made(tmp_path / "triage")
    told = check_release(folder).to_html()
    assert "The detectable: 55.0%, 80% of the time" in told
    assert "values: its report does not say" in told


def test_a_limit_of_a_policy_is_that_of_the_command(tmp_path):
    held = '[classifier]\n"accuracy.low" = "45%"\ndetectable = 0.5\nauc = 0.9\n'
    folder = made(tmp_path / "triage", held)
    told = check_release(folder).failures
    assert "members: accuracy.low is 0.49, above the limit of 0.45" in told
    assert "members: detectable is 0.55, above the limit of 0.5" in told
    assert "auc was not computed by any audit that [classifier] holds to a limit" in told


def test_a_limit_holds_the_kinds_that_have_the_measure(tmp_path):
    """One command makes reports of several kinds; a number that was skipped keeps no limit."""
    copies = document("released-table", "small", number("copies", 0.5, "50%"))
    skipped = number("copies", {"value": None, "skipped": "no holdout"}, "-")
    skipped["estimate"] = {"skipped": "no holdout"}
    bare = document("released-table", "small", number("beyond", 0.1, "10%"), skipped, seed=9)
    other = document("generator", "small", number("auc", 0.5, "0.5"))
    folder = made(tmp_path / "t", "[synthetic]\ncopies = 0.1\n", a=copies, b=bare, c=other)
    told = [x for x in check_release(folder).failures if "copies" in x]
    assert (
        told
        == [
            "Extraction and copies: untested",
            "a: copies is 0.5, above the limit of 0.1",
            "b: copies was not computed, so its limit cannot be checked",
        ][1:]
    )


@pytest.mark.parametrize("kind", sorted(COMMAND_OF))
def test_kinds_have_the_limits_of_their_commands(tmp_path, kind):
    command = COMMAND_OF[kind]
    (metric,) = {x.metrics[0] for x in COMMANDS if x.name.replace(" ", "-") == command}
    found = document(kind, "small", number(str(metric), estimate(0.5, 0.4, 0.6), "0.5; 0.4 to 0.6"))
    folder = made(tmp_path / "triage", f'[{command}]\n"{metric}" = 0.3\n', x=found)
    assert f"x: {metric} is 0.5, above the limit of 0.3" in check_release(folder).failures


@pytest.mark.slow
def test_every_report_of_the_house_can_be_read_and_has_a_command():
    from tests.laws.test_reports import REPORTS, of

    commands = {x.name.replace(" ", "-") for x in COMMANDS}
    for name in REPORTS:
        # Candidates are audited from Python alone.
        if of(name).kind not in ("register", "release", "candidates"):
            found = read_audit("x", render.as_json(of(name)).encode(), None, "x")
            assert found.names & commands, (name, found.names)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("[clasifier]\naccuracy = 0.6\n", "has no 'clasifier': did you mean classifier?"),
        ("classifier = 3\n", "classifier must be a table [classifier] of limits, got 3"),
        ("[classifier]\naccuracy = 60\n", "did you mean 0.6?"),
        ("[classifier]\nacuracy = 0.6\n", "no metric 'acuracy'"),
        ("[release-check]\nsevrity = 1\n", "has no 'sevrity': did you mean severity?"),
        (
            "[release-check]\nseverity = 4\n",
            "severity must be a number from 0 (nothing found) to 3",
        ),
        ("[release-check]\nseverity = true\n", "severity must be a number from 0"),
        ("[release-check]\nsigned = 1\n", "signed must be true or false, got 1"),
        ("[release-check]\ndays = 0\n", "days must be a number of days, at least 1, got 0"),
        ("[release-check]\nroles = 'x'\n", "roles must be a list of names"),
        ("[release-check]\nkinds = ['inspct']\n", "did you mean inspect?"),
        ("[release-check]\nnot-applicable = ['claims']\n", "must be a table that says why"),
        ("[release-check.not-applicable]\nclaims = ''\n", "must be a table that says why"),
        (
            "[release-check.not-applicable]\nclaims = ' '\n",
            "in words (at least 10 characters each)",
        ),
        (
            "[release-check.not-applicable]\nclaims = '.........1.'\n",
            "must be a table that says why",
        ),
        ("[release-check.not-applicable]\nclaims = 'a          '\n", "must be a table that says"),
        ("[release-check.not-applicable]\nclaim = 'No claim at all'\n", "did you mean claims?"),
        ("release-check = 1\n", "must be a table [release-check], got 1"),
        ("[classifier\n", "is not TOML"),
    ],
)
def test_a_policy_that_says_something_else_is_refused_in_one_line(tmp_path, policy, told):
    folder = made(tmp_path / "triage", policy)
    with pytest.raises(InputError) as found:
        check_release(folder)
    assert told in str(found.value)
    assert "\n" not in str(found.value)


def test_what_shells_offer_is_what_is_shipped():
    shipped = files("privacygauge.decisions").joinpath("policies").iterdir()
    assert sorted(x.name for x in shipped) == [f"{name}.toml" for name in POLICIES]


@pytest.mark.parametrize("name", POLICIES)
def test_shipped_policies_are_read(tmp_path, name):
    folder = made(tmp_path / "triage", None)
    start_policy(folder, name)
    assert read_policy(folder / "policy.toml", ()).limits
    start_policy(folder, name)
    with (folder / "policy.toml").open("a") as policy:
        policy.write("# ours\n")
    with pytest.raises(InputError, match="is there already"):
        start_policy(folder, name)


def test_roles_and_kinds_that_are_missing_are_named(tmp_path):
    policy = f'{POLICY}\n[release-check]\nroles = ["ethics"]\nkinds = ["inspect"]\n'
    folder = made(tmp_path / "triage", policy)
    assert "No audit of the kind inspect is there" in check_release(folder).failures
    with pytest.raises(InputError, match="No audit of the kind inspect is there"):
        signed(folder)
    signed(folder, decision="conditions")
    assert check_release(folder).failures[0] == "Nobody has signed as ethics"


NO_QUESTION = """
[release-check]
kinds = ["compare"]
severity = 0
[release-check.not-applicable]
membership = "Nobody is in it."
attributes = "It has no columns."
extraction = "It writes no texts."
contents = "The file stays here."
claims = "Nothing is claimed."
"""


@pytest.mark.parametrize("kind", ["comparison", "holdout-bound"])
def test_an_audit_that_could_not_tell_never_passes_whatever_it_asks(tmp_path, kind):
    untold = of_task("comparison", "cannot be told", kind)
    policy = NO_QUESTION if kind == "comparison" else NO_QUESTION.replace('"compare"', "")
    folder = made(tmp_path / "triage", policy, c=untold)
    assert "c could not have told: What was found" in check_release(folder).failures
    with pytest.raises(InputError, match="c could not have told: What was found"):
        signed(folder)


@pytest.mark.parametrize("severity", ["nothing found", "not judged"])
def test_a_release_that_nothing_attacked_is_never_cleared(tmp_path, severity):
    compared = of_task("comparison", severity, "comparison")
    folder = made(tmp_path / "triage", NO_QUESTION, c=compared)
    for _ in range(2):
        signed(folder, decision="conditions")
        assert "No audit is there: nothing was attacked" in check_release(folder).failures
        with pytest.raises(InputError, match="nothing was attacked"):
            signed(folder)
        rmtree(folder / "reports" / "c", ignore_errors=True)


def test_conditions_are_told_first(tmp_path):
    folder = made(tmp_path / "triage")
    signed(folder, decision="conditions", because="no more than ten queries a day")
    found = check_release(folder)
    assert found.failures == ()
    assert found.report().verdict.headline == (
        f"Cleared on conditions until {LATER}: the policy is met"
    )
    assert "no more than ten queries a day" in found.summary() + found.to_html()


def test_an_unfinished_audit_is_named(tmp_path):
    folder = made(tmp_path / "triage")
    (folder / "reports" / "begun").mkdir()
    (told,) = [x for x in check_release(folder).failures if "begun" in x]
    assert told == "reports/begun has no report.json: the audit is not finished"


def name_files(folder, role, file):
    """Let the audits of a release name a file, or the folder, of its artefact."""
    told = file_hashes({role: folder / "artefact" / file})[role]
    for name, found in {"members": MEMBERSHIP, "values": ATTRIBUTES}.items():
        rewritten(folder, name, changed(found, "provenance", role, to=told))


LINKED = f"{POLICY}\n[release-check]\nlinked = true\n"


@pytest.mark.parametrize("role", RELEASED)
def test_audits_of_the_very_files_are_linked_to_them(tmp_path, role):
    folder = made(tmp_path / "triage", LINKED)
    assert "members does not show that it is about artefact" in check_release(folder).failures
    name_files(folder, role, ".")
    found = check_release(folder)
    assert found.failures == ("Nobody has signed a decision",)
    assert "about the artefact: all of artefact, by hash" in evidence(found).to_markdown()


def test_a_file_that_no_audit_of_a_question_names_is_not_linked(tmp_path):
    policy = LINKED.replace("linked", 'kinds = ["classifier"]\nlinked')
    folder = made(tmp_path / "triage", policy)
    name_files(folder, "model", "weights.bin")
    (folder / "artefact" / "leaky.npz").write_bytes(b"rows of people")
    found = check_release(folder)
    other = "no audit names {} of artefact as what it audited"
    assert found.failures == (
        "Nobody has signed a decision",
        *(
            f"{of}: {other.format(name)}"
            for of in ("Membership", "Attributes", "classifier")
            for name in ("leaky.npz", "notes.txt")
        ),
    )
    told = evidence(found).to_markdown()
    assert "about the artefact: a part of artefact, by hash: weights.bin" in told
    assert "all of artefact" not in told + found.to_html()


def test_data_in_the_artefact_link_no_model_to_it(tmp_path):
    folder = made(tmp_path / "triage", LINKED)
    name_files(folder, "data", ".")
    found = check_release(folder)
    assert "members does not show that it is about artefact" in found.failures
    assert "about the artefact: not shown" in evidence(found).to_markdown()


def test_a_folder_is_hashed_as_audits_hash_it(tmp_path):
    folder = made(tmp_path / "triage")
    (folder / "artefact" / "a").mkdir()
    (folder / "artefact" / "a" / "b").write_text("1")
    (folder / "artefact" / "a.b").write_text("2")
    digest = file_hashes({"model": folder / "artefact"})["model"].rpartition(":")[2]
    assert digest == check_release(folder).release.artefact.listed


def test_the_report_keeps_the_schema_and_its_page_is_sound(tmp_path):
    schema = json.loads(files("privacygauge.report").joinpath("schema.json").read_text())
    hostile = changed(MEMBERSHIP, "verdict", "headline", to=HOSTILE)
    folder = made(tmp_path / "triage", members=hostile)
    for decision in ("conditions", "hold"):
        signed(folder, decision=decision, by="<b>A", because="a | b <script>")
        found = check_release(folder)
        jsonschema.validate(json.loads(found.to_json()), schema)
        Page(found.to_html())
        assert "<script>" not in found.to_html()
        assert "\x1b" not in found.to_html() + found.summary()


def test_a_damaged_report_of_a_signed_release_is_a_failure_and_not_bad_input(tmp_path):
    folder = made(tmp_path / "triage")
    signed(folder)
    (folder / "reports" / "members" / "report.json").write_text("{")
    (folder / "policy.toml").write_text("[")
    told = "\n".join(check_release(folder).failures)
    assert "reports/members/report.json has changed since A. Berg" in told
    assert "members is damaged or not JSON" in told
    assert "is not TOML" in told


# What is due


def test_nothing_is_due_at_first_and_everything_later(tmp_path):
    folder = made(tmp_path / "triage")
    for name, found in {"members": MEMBERSHIP, "values": ATTRIBUTES}.items():
        rewritten(folder, name, changed(found, "version", to=_version()))
    signed(folder, until="2998-01-01")
    early = {x.what: x.why for x in due(folder, on="2026-02-01")}
    assert early == {}
    late = {(x.what, x.why) for x in due(folder, on="2998-01-02")}
    assert ("decision", "The decision of A. Berg (head of data) expired on 2998-01-01") in late
    assert {what for what, _ in late} == {"decision", "members", "values"}


def _version():
    from privacygauge.core.versions import own_version

    return own_version()


@pytest.mark.parametrize(
    ("made_", "told"),
    [
        ("9999-12-31", "made on 9999-12-31, which is in the future: nothing says how old it is"),
        ("2099-01-01", "made on 2099-01-01, which is in the future: nothing says how old it is"),
        ("yesterday", "the day on which it was made must be a day such as 2027-01-31, got "),
        ("2026-1-31", "the day on which it was made must be a day such as 2027-01-31, got "),
        ("", "the day on which it was made must be a day such as 2027-01-31, got "),
    ],
)
def test_an_audit_of_no_day_or_of_the_future_is_named(tmp_path, made_, told):
    folder = made(tmp_path / "triage", members=MEMBERSHIP, values={**ATTRIBUTES, "made": made_})
    (failure, _) = sorted(check_release(folder).failures, reverse=True)
    assert failure.startswith(f"values: {told}")
    with pytest.raises(InputError, match="values: "):
        signed(folder)
    for on in ("2026-02-01", "9999-12-31"):
        assert any(x.what == "values" and x.why.startswith(told) for x in due(folder, on=on))


def test_a_changed_artefact_and_changed_data_are_due(tmp_path):
    folder = made(tmp_path / "triage")
    signed(folder)
    (folder / "artefact" / "notes.txt").write_text("version 4\n")
    (tmp_path / "people.csv").write_text("age\n31\n")
    told = [x.why for x in due(folder, on="2026-02-01", data=[tmp_path / "people.csv"])]
    assert any(x.startswith("artefact has changed since A. Berg") for x in told)
    assert "people.csv has changed since it was audited" in told
    with pytest.raises(InputError, match="--data must be a file"):
        due(folder, data=["nothing.csv"])


def test_attacks_that_an_older_version_did_not_play_are_named(tmp_path):
    attacks = [{"name": "confidence"}, {"name": "correctness"}]
    old = {**MEMBERSHIP, "attacks": attacks}
    folder = made(tmp_path / "triage", members=old)
    (told,) = [x.why for x in due(folder, on="2026-02-01") if x.what == "members"]
    assert told.startswith("made by 0.1.0; this is ")
    assert "entropy" in told
    assert "confidence," not in told
    assert "lira-online" not in told  # of pools: this audit had none


def test_attacks_of_a_pool_are_named_where_one_was_attacked(tmp_path):
    content = json.dumps({**MEMBERSHIP, "attacks": [{"name": "rmia"}]}).encode()
    assert "lira-online" in played_now(read_audit("x", content, None, "x"))


def test_what_is_held_back_is_not_due(tmp_path):
    folder = made(tmp_path / "triage")
    signed(folder, decision="hold", because="not yet")
    assert [x for x in due(folder, on="2026-02-01") if x.what == "decision"] == []


def test_what_could_have_been_found_is_said_of_the_number_that_it_is_about(tmp_path):
    """The report of a table says it of membership, not of copies or of inference."""
    table = document(
        "released-table",
        "nothing found",
        number("beyond", 0.01, "1%"),
        number("accuracy", estimate(0.51, 0.49, 0.53), "51%; 49 to 53"),
        number("detectable", 0.6, "60%", level=None),
        number("copies", 0.0, "0%"),
        number("inference", 0.0, "0%"),
    )
    found = check_release(made(tmp_path / "triage", twin=table))
    power = {
        x.question.name: x.audits[0].could_have_found(x.question.numbers(x.audits[0]))
        for x in found.answers
        if x.audits
    }
    assert power == {
        "membership": "The detectable: 60%",
        "attributes": "its report does not say it of this number",
        "extraction": "its report does not say it of this number",
    }
    (membership, *_) = found.answers
    shown = [x.name for x in membership.question.numbers(membership.audits[0])]
    assert shown == ["beyond", "accuracy"]


def test_a_check_is_no_audit(tmp_path):
    folder = made(tmp_path / "triage")
    check_release(folder).write(folder / "reports" / "check")
    with pytest.raises(InputError, match="is itself the check of a release"):
        check_release(folder)


def test_signing_where_nothing_is_ends_in_one_line(tmp_path):
    for place in (tmp_path / "nothing", tmp_path / "file"):
        (tmp_path / "file").write_text("")
        with pytest.raises((InputError, OSError)) as told:
            signed(place)
        assert "\n" not in str(told.value)
