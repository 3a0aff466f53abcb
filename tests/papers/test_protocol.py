"""Every setting that a paper states stands beside ours, which comes from the code."""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

import privacygauge.papers
from privacygauge.datasets.local_copies import LOCATION30, location30
from privacygauge.datasets.public import RECORDS, adult
from privacygauge.errors import InputError
from privacygauge.papers import ITEMS, REPRODUCTIONS, meeus2023, page
from privacygauge.papers.catalogue import PROTOCOLS, deviations_of
from privacygauge.papers.table import Entry
from tests.test_docs import ROOT

MODULES = [
    path
    for path in sorted(Path(privacygauge.papers.__file__).parent.glob("*.py"))
    if re.search(r"^ +Entry\($", path.read_text(encoding="utf-8"), re.MULTILINE)
]
MADE = {known.name for known in REPRODUCTIONS}


def entries():
    return [one for some in PROTOCOLS.values() for one in some]


def ours_in(path):
    """Yield the expression of every entry's own value, and where it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Entry":
            named = {keyword.arg: keyword.value for keyword in node.keywords}
            ours = named["ours"] if "ours" in named else node.args[4]
            yield ours, f"{path.name}:{node.lineno}"


def typed_numbers(expression):
    """Return the numbers that an expression has of its own, and not from a name."""
    if isinstance(expression, ast.Constant):
        return re.findall(r"\d+", str(expression.value))
    if isinstance(expression, ast.Tuple):
        return [x for part in expression.elts for x in typed_numbers(part)]
    if isinstance(expression, ast.JoinedStr):
        return [x for part in expression.values for x in typed_numbers(part)]
    return []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_our_values_are_the_codes_own(path):
    """A number that is typed in the table could be untrue the day after."""
    found = {place: typed_numbers(expression) for expression, place in ours_in(path)}
    assert found
    assert not {place: numbers for place, numbers in found.items() if numbers}


def test_a_typed_number_is_seen():
    """The check above would find one."""
    for text in ("30", "'30 epochs'", "f'{n} of 30'", "(n, 30)"):
        assert typed_numbers(ast.parse(text, mode="eval").body), text
    assert not typed_numbers(ast.parse("f'{n} epochs'", mode="eval").body)


def test_every_paper_has_its_settings_and_every_reproduction_is_among_them():
    assert set(PROTOCOLS) == {item.paper for item in ITEMS}
    # Of a bound that is searched for on made-up records the paper states no setting.
    unnamed = {name for name in MADE if not any(one.about(name) for one in entries())}
    assert unnamed == {"long-table3"}
    for one in entries():
        for pattern in one.names.split():
            assert any(fnmatchcase(name, pattern) for name in MADE), (one.what, pattern)


def test_what_differs_says_why_and_what_does_not_needs_no_word():
    with pytest.raises(InputError, match="why must say why epochs is not the paper's"):
        Entry("x", "1", "epochs", 30, 20)
    with pytest.raises(InputError, match="why must say why epochs is not the paper's"):
        Entry("x", "1", "epochs", None, 20)
    with pytest.raises(InputError, match="why must be empty where epochs is the paper's"):
        Entry("x", "1", "epochs", 20, 20, "because")
    assert Entry("x", "1", "epochs", None, 20, "usual").same == "open"


def test_a_changed_constant_changes_the_table(monkeypatch):
    """The same entry tells another story as soon as the value is another one."""
    same = Entry("x", "5.5", "tables", 4_000, meeus2023.SHADOWS)
    monkeypatch.setattr(meeus2023, "SHADOWS", 400)
    other = Entry("x", "5.5", "tables", 4_000, meeus2023.SHADOWS, "fewer")
    assert (same.same, other.same) == ("yes", "no")
    assert other.deviation == "tables: 4,000 in the paper, 400 here: fewer"


def test_a_reproduction_tells_its_own_deviations_alone():
    found = deviations_of("long-fig7")
    assert not any("purchases" in text for text in found)
    assert any(text.startswith("purchases, binary attributes: 836") for text in
               deviations_of("long-table1"))  # fmt: skip


@pytest.mark.parametrize("paper", PROTOCOLS)
def test_the_table_of_a_paper_is_in_its_page(paper):
    marks = [
        path
        for path in (ROOT / "docs" / "reproduction").glob("*.md")
        if f"<!-- settings: {paper} -->" in path.read_text(encoding="utf-8")
    ]
    assert len(marks) == 1
    rows = page.protocol(paper).splitlines()[2:]
    assert len(rows) == len(PROTOCOLS[paper])


@pytest.mark.slow
def test_the_sizes_of_the_data_are_as_said():
    assert len(adult()) == RECORDS
    x, y = location30()
    assert (*x.shape, len(set(y.tolist()))) == LOCATION30
    assert len(meeus2023.DATA["Adult"]()) == meeus2023.COMPLETE
    census = meeus2023.DATA["UK census"]()
    assert (len(census), census.codes.shape[1]) == (
        meeus2023.CENSUS_ROWS,
        meeus2023.CENSUS_COLUMNS,
    )
