"""The snippet of a model card: metadata that parsers and hubs read, and Markdown that is inert."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import privacygauge as pg
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.errors import InputError
from privacygauge.releases.audit import (
    card_metadata,
    card_of,
    card_section,
    escape_markdown,
    yaml_block,
)
from privacygauge.releases.line import line_of
from privacygauge.report.numbers import plain
from privacygauge.report.render import as_json
from tests.releases.documents import CLASSIFIER, ENDLESS, EVERY, HOSTILE, changed, written
from tests.report.example import example

yaml = pytest.importorskip("yaml")

SCALARS = st.one_of(
    st.text(), st.booleans(), st.integers(-(10**9), 10**9), st.floats(allow_nan=False)
)
KEYS = st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True).filter(
    lambda key: key not in ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


def line(document, name="model"):
    return line_of(json.dumps(document), name)


def meant(value):
    """Return what a parser has to find."""
    if isinstance(value, dict):
        return {key: meant(x) for key, x in value.items()}
    if isinstance(value, list):
        return [meant(x) for x in value]
    if isinstance(value, float) and math.isinf(value):
        return "infinite"
    return plain(value) if isinstance(value, str) else value


@given(st.dictionaries(KEYS, VALUES, min_size=1, max_size=3))
def test_a_parser_reads_what_was_written(value):
    found = yaml.safe_load(yaml_block(value))
    assert found == meant(value)
    assert str(found) == str(meant(value))  # 1, 1.0 and true are equal in Python


def front_matter(card):
    begin, data, body = card.split("---\n", 2)
    assert begin == ""
    return yaml.safe_load(data), body


@pytest.mark.parametrize("kind", EVERY)
def test_every_kind_has_the_keys_that_hubs_read(kind):
    data, body = front_matter(card_of(line(EVERY[kind], HOSTILE), HOSTILE))
    (model,) = data["model-index"]
    (result,) = model["results"]
    assert set(data) == {"model-index"}
    assert model["name"] == plain(HOSTILE)
    assert set(result) == {"task", "dataset", "metrics"}
    assert set(result["task"]) == {"type", "name"}
    assert result["dataset"] == {"type": "private", "name": plain(HOSTILE)}
    for metric in result["metrics"]:
        assert set(metric) == {"type", "name", "value", "args", "verified"}
        assert {"made", "version", "seed", "method"} <= set(metric["args"])
        assert metric["verified"] is False
        # Nobody shall take an attack's success for the model's.
        assert metric["type"].startswith(result["task"]["type"])
    assert body.lstrip().startswith("## Privacy audit")


def test_the_numbers_are_those_of_the_report():
    data, body = front_matter(card_of(line(CLASSIFIER), "people"))
    (result,) = data["model-index"][0]["results"]
    assert [(x["type"], x["value"]) for x in result["metrics"]][:3] == [
        ("membership-inference-accuracy", 0.7),
        ("membership-inference-accuracy-low", 0.66),
        ("membership-inference-accuracy-high", 0.74),
    ]
    assert result["metrics"][0]["args"] == {
        "level": 0.95, "n": 100, "method": "Wilson", "made": "2026-01-31", "version": "0.1.0",
        "seed": 7,
    }  # fmt: skip
    for words in (
        "70.0%, 66.0 to 74.0",
        "95% interval, n = 100",
        "50%",
        "seed 7",
        "0.1.0",
        "2026-01-31",
    ):
        assert words in body
    for words in (CLASSIFIER["about"]["knowledge"], "It does not say more", "mind this"):
        assert words in body


def test_every_number_that_a_release_is_held_to_is_on_the_card():
    report = example(500, shift=1.0).report()
    found = line_of(as_json(report), "model")
    data, body = front_matter(card_of(found, "people"))
    metrics = {x["type"]: x["value"] for x in data["model-index"][0]["results"][0]["metrics"]}
    held = {x.name: x for x in report.measures if x.gate and not isinstance(x.found, Skipped)}
    assert len(held) > 3
    for name, measure in held.items():
        assert metrics[f"membership-inference-{name}"] == measure.numbers[name]
        assert (
            f"{escape_markdown(plain(measure.label))} | {escape_markdown(measure.shown.value)}"
            in body
        )
        if isinstance(measure.found, Estimate):
            assert metrics[f"membership-inference-{name}-low"] == measure.found.low


def test_a_number_without_an_interval_stands_alone():
    data, _ = front_matter(card_of(line(ENDLESS), "people"))
    (metric,) = data["model-index"][0]["results"][0]["metrics"]
    assert metric["value"] == "infinite"


def test_a_hub_reads_the_metadata():
    hub = pytest.importorskip("huggingface_hub.repocard_data")
    data = card_metadata(line(CLASSIFIER), "people")
    name, results = hub.model_index_to_eval_results(yaml.safe_load(yaml_block(data))["model-index"])
    assert name == "model"
    assert [x.metric_value for x in results][:3] == [0.7, 0.66, 0.74]
    assert results[0].metric_args["n"] == 100
    assert {x.dataset_name for x in results} == {"people"}
    assert not any(x.verified for x in results)


def rendered(text):
    markdown = pytest.importorskip("markdown_it")
    reader = markdown.MarkdownIt("commonmark").enable(["table", "strikethrough"])
    return reader.parse(text)


def kinds(tokens):
    return [x.type for x in tokens] + [
        y.type for x in tokens for y in x.children or () if y.type not in ("text", "text_special")
    ]


@given(st.text(st.sampled_from("|`*_[]()<>#!~\\&;:/.-+=1@w \n\tab\u202e"), max_size=30))
def test_markdown_finds_nothing_in_the_users_texts(text):
    hostile, calm = (
        changed(CLASSIFIER, "verdict", "headline", to=words)
        | {"warnings": [words], "about": CLASSIFIER["about"] | {"game": words, "knowledge": words}}
        for words in (f"A{text}z", "Az")
    )
    assert kinds(rendered(card_section(line(hostile)))) == kinds(rendered(card_section(line(calm))))


@given(st.text(max_size=20))
def test_an_escaped_text_is_read_as_it_was(text):
    (_, inline, _) = rendered(f"A{escape_markdown(f'{text}z')}")
    assert inline.content
    assert "".join(x.content for x in inline.children) == f"A{plain(f'{text}z')}"


@pytest.mark.parametrize("text", ["- a", "+ a", "= a", "1. a", "12) a", "# a", "> a"])
def test_no_list_begins_in_a_text(text):
    assert kinds(rendered(escape_markdown(text))) == kinds(rendered("a"))


def test_no_id_is_in_a_card(tmp_path):
    folder = written(tmp_path / "audit", changed(CLASSIFIER, "worst", "ids", to=["patient-7"]))
    assert "patient-7" in pg.risk_register([folder]).to_json()
    card = pg.model_card(folder)
    assert "patient-7" not in card
    (model,) = front_matter(card)[0]["model-index"]
    assert model["name"] == "audit"
    assert model["results"][0]["dataset"]["name"] == "people.csv"
    assert "triage" in pg.model_card(folder / "report.json", name="triage", dataset="x")
    with pytest.raises(InputError, match="does not exist"):
        pg.model_card(tmp_path / "nowhere")
