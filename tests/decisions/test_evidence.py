"""Evidence repeats what reports say: no number of its own, no verdict of law, nothing as markup."""

from __future__ import annotations

import json
import re
import sys
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privacygauge.decisions.check import check_release
from privacygauge.decisions.evidence import RESISTANCE, evidence
from privacygauge.errors import InputError
from tests.decisions.releases import ATTRIBUTES, MEMBERSHIP, POLICY, made, signed
from tests.releases.documents import HOSTILE, changed, document, estimate, number
from tests.report.test_html import Page
from tests.thorough import times

FORMS = ("opinion", "checker", "model-card")
CITED = re.compile(
    r"Opinion 28/2024|paras?\. \d+(?:\(\w+\))?(?: (?:and|to) \d+)?"
    r"|Articles? [\d(), ]+(?: and \d+)?(?= GDPR)|sha256(?:sum)?"
)
"""What a document cites; no number of it is a finding."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
HASH = re.compile(r"\b[0-9a-f]{12,64}\b")


def numbers(text: str) -> set[str]:
    return {x.replace(",", "").strip(".") for x in NUMBER.findall(text)}


def known(folder) -> set[str]:
    """Return every number that a release holds, and each in percent."""
    found = check_release(folder)
    texts = [p.read_text() for p in folder.rglob("*") if p.suffix in (".json", ".toml", ".jsonl")]
    texts += [found.origin.made, found.origin.version]
    texts += [
        str(found.policy.days),
        str([y.value for x in found.policy.limits.values() for y in x]),
    ]
    texts += [str(found.release.artefact.size), str(found.release.artefact.n_files)]
    every = numbers(HASH.sub("", " ".join(texts)))
    plain = {x for x in every if re.fullmatch(r"\d+(?:\.\d+)?", x)}
    return every | {f"{float(x):.4g}" for x in plain} | {f"{100 * float(x):g}" for x in plain}


def said(folder, form) -> str:
    return CITED.sub("", HASH.sub("", evidence(check_release(folder), form).to_markdown()))


@pytest.mark.parametrize("form", FORMS)
@given(
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.integers(10, 10**6),
    st.sampled_from(["grave", "small", "cannot be told"]),
)
@settings(max_examples=times(30), deadline=None)
def test_every_number_of_a_document_stands_in_a_report(tmp_path_factory, form, found, n, severity):
    shares = sorted(round(x, 3) for x in found)
    low, value, high, *others = shares
    accuracy = number(
        "accuracy",
        estimate(value, low, high, n=n),
        f"{100 * value:.1f}%; {100 * low:.1f} to {100 * high:.1f}",
    )
    copies = number("copies", others[0], f"{100 * others[0]:.1f}%", level=None)
    of = document("classifier", severity, accuracy, copies, seed=n, headline=f"Leak of {others[1]}")
    folder = made(tmp_path_factory.mktemp("r") / "triage", members=of)
    signed(folder, decision="hold")
    told = said(folder, form)
    assert not numbers(told) - known(folder)
    assert numbers(f"{told} 0.31415") - known(folder) == {"0.31415"}


@pytest.mark.parametrize("form", FORMS)
def test_each_number_has_the_id_of_its_report_and_measure(tmp_path, form):
    folder = made(tmp_path / "triage")
    found = check_release(folder)
    document = evidence(found, form).to_markdown()
    for audit in found.audits:
        digest = audit.line.sha256
        assert f"{digest[:12]}:{audit.line.number.name}" in document
        assert digest in document
        report = json.loads(found.release.reports[audit.name])
        named = re.findall(rf"{digest[:12]}:([\w@.-]+)", document)
        assert set(named) <= {x["name"] for x in report["numbers"]}


@pytest.mark.parametrize("form", FORMS)
def test_no_document_says_what_law_makes_of_it(tmp_path, form):
    folder = made(tmp_path / "triage")
    signed(folder)
    found = evidence(check_release(folder), form)
    assert "anonym" not in (found.to_markdown() + found.to_html()).lower()


def test_what_was_not_tested_is_said_of_each_attack(tmp_path):
    folder = made(tmp_path / "triage", members=MEMBERSHIP)
    text = evidence(check_release(folder)).to_markdown()
    for attack in RESISTANCE:
        after = text.split(f"### {attack.title} ({attack.paragraph})")[1].split("\n###")[0]
        tested = attack.title == "Membership inference"
        assert ("**Not tested.**" not in after) is tested
    places = [text.index(f"### {x.title}") for x in RESISTANCE]
    assert places == sorted(places)


def test_an_audit_that_could_not_tell_is_no_pass_in_any_form(tmp_path):
    untold = changed(MEMBERSHIP, "verdict", "severity", to="cannot be told")
    folder = made(tmp_path / "triage", members=untold)
    for form in FORMS:
        assert (
            "could not tell: What was found. It is no pass."
            in evidence(check_release(folder), form).to_markdown()
        )


def test_what_could_have_been_found_stands_beside_nothing_found(tmp_path):
    folder = made(tmp_path / "triage")
    for form in FORMS:
        text = evidence(check_release(folder), form).to_markdown()
        assert "members: The detectable: 55.0%, 80% of the time." in text
        assert "values: its report does not say." in text


def test_the_owners_statements_are_told_as_such(tmp_path):
    policy = f'{POLICY}\n[release-check.statements]\nsources = "The cohort of 2019."\n'
    text = evidence(check_release(made(tmp_path / "triage", policy))).to_markdown()
    assert "Stated by the owner, not measured: The cohort of 2019." in text
    assert "The owner states nothing about methods" in text


def test_who_signed_and_how_is_said(tmp_path):
    folder = made(tmp_path / "triage")
    assert "Nobody has signed a decision" in evidence(check_release(folder)).to_markdown()
    signed(folder, decision="conditions", because="ten queries a day")
    for form in FORMS:
        text = evidence(check_release(folder), form).to_markdown()
        assert "| conditions | A. Berg (head of data) |" in text
        assert "| ten queries a day | no key |" in text


def hostile(folder):
    bad = changed(changed(MEMBERSHIP, "verdict", "headline", to=HOSTILE), "warnings", to=[HOSTILE])
    bad = changed(bad, "provenance", f"data{HOSTILE}", to=f"{HOSTILE} sha256:00ff")
    policy = f"{POLICY}\n[release-check]\ntitle = {json.dumps(HOSTILE)}\n"
    return made(folder, policy, **{"members": bad, "<b>": changed(ATTRIBUTES, "seed", to=3)})


@pytest.mark.parametrize("form", FORMS)
def test_nothing_from_a_release_is_markup(tmp_path, form):
    folder = hostile(tmp_path / "triage")
    signed(folder, decision="hold", by="<b>A", because="| `x` <script>")
    found = evidence(check_release(folder), form)
    page = found.to_html()
    Page(page)
    assert "<script>" not in page
    assert "\x1b" not in page + found.to_markdown()
    markdown = found.to_markdown().partition("---\n\n")[2] or found.to_markdown()
    assert not re.search(r"(?<!\\)<(?:script|b|/td)", markdown)


def test_a_model_card_has_the_metadata_of_all_audits(tmp_path):
    yaml = pytest.importorskip("yaml")
    card = evidence(check_release(made(tmp_path / "triage")), "model-card")
    front = card.to_markdown().split("---\n")[1]
    (model,) = yaml.safe_load(front)["model-index"]
    tasks = [x["task"]["type"] for x in model["results"]]
    assert sorted(tasks) == ["attribute-inference", "membership-inference"]
    assert card.to_markdown().count("## Privacy audit") == 2
    with pytest.raises(InputError, match="--format of model-card must be one of md, got 'html'"):
        card.write(tmp_path / "out", ["html"])


def test_documents_are_written_whole_and_replace_nothing_of_others(tmp_path):
    found = evidence(check_release(made(tmp_path / "triage")))
    names = [x.name for x in found.write(tmp_path / "out")]
    assert names == ["opinion.html", "opinion.md"]
    found.write(tmp_path / "out")
    (tmp_path / "out" / "opinion.md").write_text("mine")
    with pytest.raises(OSError, match="has changed since PrivacyGauge wrote it"):
        found.write(tmp_path / "out")
    with pytest.raises(InputError, match="--format of opinion must be one of html, md, docx, pdf"):
        found.write(tmp_path / "out", ["odt"])
    with pytest.raises(InputError, match="--form must be one of opinion, checker, model-card"):
        evidence(check_release(tmp_path / "triage"), "letter")


@pytest.mark.parametrize(("form", "package"), [("docx", "python-docx"), ("pdf", "WeasyPrint")])
def test_a_missing_library_is_one_line(tmp_path, monkeypatch, form, package):
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    found = evidence(check_release(made(tmp_path / "triage")))
    with pytest.raises(InputError) as told:
        found.write(tmp_path / "out", [form])
    assert str(told.value) == (
        f"this format needs {package}, which is not installed: pip install 'privacygauge[evidence]'"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_docx_holds_what_the_markdown_does(tmp_path):
    docx = pytest.importorskip("docx")
    folder = hostile(tmp_path / "triage")
    found = evidence(check_release(folder))
    read = docx.Document(BytesIO(found.to_docx()))
    cells = {cell.text for table in read.tables for row in table.rows for cell in row.cells}
    assert {x.line.number.shown.value for x in check_release(folder).audits} <= {
        x.split(" (")[0] for x in cells
    }
    heads = [x.text for x in read.paragraphs if x.style.name == "Heading 1"]
    assert heads == [x.title for x in found.sections]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_pdf_is_made_without_loading_anything(tmp_path):
    pytest.importorskip("weasyprint")
    content = evidence(check_release(hostile(tmp_path / "triage"))).to_pdf()
    assert content.startswith(b"%PDF")


def test_an_inspection_answers_for_the_file_and_for_people_per_answer(tmp_path):
    group = number("smallest-group", 3.0, "3 people", level=None)
    rows = number("stored-rows", 0.25, "25.0%", level=None)
    inspected = changed(
        document("inspect", "grave", rows, group), "about", "task", to="model-inspection"
    )
    folder = made(tmp_path / "triage", file=inspected)
    found = check_release(folder)
    (contents,) = [x for x in found.answers if x.question.name == "contents"]
    assert contents.state == "tested"
    text = evidence(found, "checker").to_markdown()
    people = text.split("## People per answer")[1].split("\n## ")[0]
    assert "3 people" in people
    assert f"{found.audits[0].line.sha256[:12]}:smallest-group" in people
    assert "**Not tested: no attack was played.**" in text
    opinion = evidence(found).to_markdown()
    assert "25.0%" in opinion.split("## Analysis of the file")[1].split("\n## ")[0]
    for attack in ("Exfiltration", "Reconstruction"):
        assert "25.0%" in opinion.split(f"### {attack}")[1].split("\n###")[0]


def test_the_policy_stands_beside_met_and_the_verdict_beside_its_number_alone(tmp_path):
    policy = f"[release-check]\nseverity = 2\nroles = ['owner']\nsigned = true\n{POLICY}"
    folder = made(tmp_path / "triage", policy)
    found = check_release(folder)
    for form in FORMS:
        told = evidence(found, form).to_markdown()
        for asked in (
            "no verdict graver than moderate", "accuracy.low at most 0.5", "at most 365 days",
            "signatures as owner", "signed with a key",
        ):  # fmt: skip
            assert asked in told.replace("\\", "")
    lines = [x for x in evidence(found, "opinion").to_markdown().splitlines() if "The " in x]
    verdict = found.audits[-1].severity.value
    assert all(f"| {verdict} |" not in x for x in lines if ":detectable" in x)
    assert any(f"| {verdict} |" in x for x in lines if ":accuracy" in x)
