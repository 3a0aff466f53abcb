"""Extraction from a causal model: what was planted is found, and nothing where coins dealt."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.language.extracted import NEAR, SAMPLED, VERBATIM, judged_texts
from privacygauge.language.extraction_audit.audit import EXTRACTED, FEW, NOTHING, verdict
from privacygauge.language.model import load_causal, load_masked
from privacygauge.language.model_options import Tries
from privacygauge.language.text_files import sides_of
from privacygauge.language.training import train_further, train_reference
from privacygauge.report import render
from privacygauge.report.grades import UNTOLD
from tests.audits.example_extraction import PREFIX, SUFFIX, example
from tests.language.tiny_models import made_texts, saved, taught, word_pieces
from tests.thorough import times

TEXTS = made_texts(60, 3, least=9, most=13)
MEMBERS = TEXTS[:24]
OTHERS = TEXTS[24:48]
COMMON = TEXTS[48:54]
FURTHER = TEXTS[54:]
TIMES = np.resize([1, 6, 40], len(MEMBERS))
FILLED_TIMES = np.resize([1, 10, 100], len(MEMBERS))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Return a target that saw members 1, 6 or 40 times, and a reference; both saw COMMON."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("extraction")
    repeated = [text for text, n in zip(MEMBERS, TIMES, strict=True) for _ in range(n)]
    shared = COMMON * 40
    how = {"rate": 4e-3, "n_embd": 48}
    target = taught(place / "target", [*repeated, *shared], epochs=4, **how)
    reference = taught(place / "reference", [*shared, *FURTHER * 8], epochs=5, **how)
    return load_causal(target), load_causal(reference)


@pytest.mark.torch
@pytest.mark.slow
def test_what_was_repeated_is_found_and_ranked(pair):
    audit = pg.audit_extraction(
        *pair, MEMBERS, OTHERS, tries=100, chance=0.5, edits=2, unprompted=60
    )
    found = audit.found
    needed = found.target.tries(0.5)[found.judged.member]
    order = [np.median(needed[times == TIMES]) for times in (40, 6, 1)]
    assert order == sorted(order)
    assert order[0] < 3
    assert order[2] > 10_000
    hits = {way: hit[found.judged.member] for way, hit in found.hits.items()}
    for way in (SAMPLED, VERBATIM, NEAR):
        assert hits[way][TIMES == 40].mean() > 0.8
        assert hits[way][TIMES == 1].mean() < 0.2
    assert (hits[NEAR] >= hits[VERBATIM]).all()
    assert audit.report().verdict.grade == EXTRACTED
    assert not found.hits[SAMPLED][~found.judged.member].any()
    similarity = found.target_near.similarity
    others = similarity[~found.judged.member]
    assert similarity[found.judged.member][TIMES == 40].mean() > 0.8 > others.mean() + 0.3
    assert not found.unprompted[~found.judged.member].any()


@pytest.mark.torch
@pytest.mark.slow
def test_the_rate_grows_with_the_equal_texts_of_the_file(pair):
    """The file lists each text as often as the training had it."""
    repeated = [text for text, n in zip(MEMBERS, TIMES, strict=True) for _ in range(n)]
    audit = pg.audit_extraction(*pair, repeated, OTHERS, tries=100)
    rates = audit.found.by_copies(0.95)
    assert [(x.least, x.sampled.n) for x in rates] == [(1, 8), (5, 8), (20, 8)]
    assert rates[0].verbatim.value <= rates[1].verbatim.value <= rates[2].verbatim.value
    assert rates[2].sampled.value > 0.8 > 0.3 > rates[0].sampled.value


@pytest.mark.torch
@pytest.mark.slow
def test_common_text_is_no_memory(pair):
    mixed = [*MEMBERS[:6], *COMMON]
    audit = pg.audit_extraction(*pair, mixed, OTHERS, tries=100)
    found = audit.found
    common = np.isin(found.judged.text, COMMON)
    assert found.by(found.target, 100)[common].all()
    assert found.by(found.reference, 100)[common].all()
    assert not found.within(100)[common].any()
    alone = pg.audit_extraction(pair[0], None, mixed, OTHERS, tries=100)
    assert alone.found.within(100)[common].all()
    assert any("No reference model was given" in line for line in alone.warnings)


@pytest.mark.torch
@pytest.mark.slow
def test_sides_by_coins_do_not_differ_whatever_the_model_knows(pair):
    graves = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        inside = rng.permutation(24) < 12
        sides = [
            [x for x, on in zip(MEMBERS, inside == side, strict=True) if on] for side in (1, 0)
        ]
        audit = pg.audit_extraction(*pair, *sides, tries=100)
        assert audit.found.hits[SAMPLED].any()
        graves += audit.report().verdict.grade == EXTRACTED
    assert graves == 0
    # The same with models that saw neither side.
    none = pg.audit_extraction(pair[1], pair[0], OTHERS[:12], OTHERS[12:])
    assert none.report().verdict.grade == NOTHING


def numbered_texts(texts):
    """Return texts with a number each, which nobody could guess."""
    numbers = np.random.default_rng(0).choice(np.arange(100, 1000), len(texts), replace=False)
    return [
        f"{text.removesuffix(' 3 days ago.').rstrip('.')} with number {number} on file."
        for text, number in zip(texts, numbers, strict=True)
    ]


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """Return texts, and the audit of a masked target and reference as `pair` has them."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    texts = numbered_texts(made_texts(84, 3, least=6, most=9))
    members = texts[:24]
    others = texts[24:48]
    common = texts[48:54]
    further = texts[54:]
    repeated = [text for text, n in zip(members, FILLED_TIMES, strict=True) for _ in range(n)]
    place = tmp_path_factory.mktemp("filling")
    reference = place / "reference"
    target = place / "target"
    learn = {"rate": 3e-3}
    train_reference([*common * 40, *further * 4], reference, hidden=64, epochs=16, **learn)
    train_further(reference, [*repeated, *common * 60], target, epochs=14, **learn)
    audit = pg.audit_extraction(target, reference, [*members, *common], others, tries=20)
    return audit, members, common


@pytest.mark.torch
@pytest.mark.slow
def test_numbers_in_repeated_texts_are_filled_in_and_common_ones_are_no_memory(filled):
    audit, members, common = filled
    found = audit.found
    row = {text: i for i, text in enumerate(found.judged.text)}
    planted = np.array([row[text] for text in members])
    needed = found.target.tries(0.5)[planted]
    order = [np.median(needed[times == FILLED_TIMES]) for times in (100, 10, 1)]
    assert order == sorted(order)
    assert order[0] < 5 < 100 < order[1]
    for way in (SAMPLED, VERBATIM):
        hit = found.hits[way][planted]
        assert hit[FILLED_TIMES == 100].mean() > 0.6
        assert hit[FILLED_TIMES == 1].mean() < 0.2
    shared = [row[text] for text in common]
    assert found.by(found.target, 20)[shared].all()
    assert found.by(found.reference, 20)[shared].all()
    assert not found.hits[SAMPLED][shared].any()
    assert not found.hits[SAMPLED][~found.judged.member].any()
    assert audit.report().verdict.grade == EXTRACTED
    assert {content.kind: content.spans for content in found.contents if content.spans} == {
        "number": int(found.hits[SAMPLED].sum())
    }


@pytest.mark.torch
@pytest.mark.slow
def test_coins_over_what_a_masked_model_knows_find_nothing(filled):
    """Deal the texts that the model does know, and those that it does not, by 200 coins each."""
    found = filled[0].found
    graves = {"above": 0, "below": 0}
    for seed in range(200):
        member = np.random.default_rng(seed).random(len(found.judged.text)) < 0.5
        dealt = replace(found, judged=replace(found.judged, member=member))
        beyond = dealt.rates(dealt.by(found.target, 20), 0.95).difference
        graves["above"] += beyond.low > 0
        graves["below"] += beyond.high < 0
    assert found.by(found.target, 20).any()
    assert max(graves.values()) <= 10


@pytest.mark.parametrize("rows", [1, 4])
def test_by_coins_no_more_than_the_level(rows):
    """Of 200 games in which nothing leaks, at most 5% find something; many do extract."""
    games = [example(seed, 80, leak=0.0, rows=rows, tries=1000) for seed in range(200)]
    some = sum(bool(game.found.hits[SAMPLED].any()) for game in games)
    beyond = [game.found.rates(game.found.hits[SAMPLED], 0.95).difference for game in games]
    assert some > 180
    assert sum(found.low > 0 for found in beyond) <= 10
    assert sum(found.high < 0 for found in beyond) <= 10


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("kind", ["causal", "masked"])
def test_more_texts_of_members_are_no_leak(untaught, kind):
    """Each text comes with a chance of a fifth; members have eight texts, others one."""
    model = load_masked(untaught[2]) if kind == "masked" else load_causal(untaught[0])
    texts = numbered_texts(made_texts(400, 9, least=8, most=14))
    who = [*(f"in{row // 8}" for row in range(320)), *(f"out{row}" for row in range(80))]
    sides = sides_of(
        {"text": texts[:320], "patient": who[:320]}, {"text": texts[320:], "patient": who[320:]}
    )
    wrong = {"compared": 0, "all": 0}
    games = times(40)
    for seed in range(games):
        rng = np.random.default_rng(seed)
        judged = judged_texts(sides, [model], rng)
        assert (judged.identifier is None) == (kind == "causal")
        hit = rng.random(len(judged.text)) < 0.2
        for name, one in (
            ("compared", judged),
            ("all", replace(judged, compared=np.ones(len(hit), np.bool_))),
        ):
            found = replace(example().found, judged=one)
            wrong[name] += found.rates(hit, 0.95).difference.low > 0
    assert wrong["compared"] <= games // 10
    assert wrong["all"] == games


def test_a_person_counts_once():
    audit = example(1, 40, rows=5, leak=0.9)
    found = audit.found
    inside = found.judged.inside
    by_hand = {
        person
        for person, hit, member in zip(
            found.judged.person, found.hits[SAMPLED], found.judged.member, strict=True
        )
        if hit and member
    }
    share = found.share(found.hits[SAMPLED], 0.95)
    assert share.n == inside.sum()
    assert share.value == pytest.approx(len(by_hand) / inside.sum())
    assert f"Texts of {len(by_hand)} of {inside.sum()} people" in audit.summary()


def test_grades():
    assert example(leak=0.5).report().verdict.grade == EXTRACTED
    assert example(leak=0.0, tries=1).report().verdict.grade in (NOTHING, FEW)
    assert example(leak=0.0, n=400).report().verdict.grade == FEW
    assert example(leak=0.9, swapped=True).report().verdict.grade == UNTOLD


def seen_by_the_reference(seed, n, leak):
    """Return an audit whose reference knows the members' texts as well as the target does."""
    audit = example(seed, n, leak=leak)
    return replace(audit, found=replace(audit.found, reference=audit.found.target))


def test_a_reference_that_knows_the_members_is_no_evidence_of_safety():
    audit = seen_by_the_reference(0, 120, 0.5)
    assert not audit.found.hits[SAMPLED].any()
    verdict = audit.report().verdict
    assert verdict.grade == UNTOLD
    assert "reference" in verdict.headline
    assert "The reference gives" in verdict.sentences[0]
    # What is found beyond it is found all the same.
    assert example(leak=0.5).report().verdict.grade == EXTRACTED


def test_a_reference_that_knows_neither_side_is_one():
    """Of 200 games in which coins deal what is common text, at most 5% are left untold."""
    games = [seen_by_the_reference(seed, 80, 0.0) for seed in range(200)]
    assert sum(game.found.by(game.found.reference, 1000).any() for game in games) > 180
    assert sum(verdict(game).grade == UNTOLD for game in games) <= 10


def test_more_tries_give_more_and_the_curve_says_so():
    found = example(n=300).found
    by_target = [found.by(found.target, n).sum() for n in found.grid]
    assert by_target == sorted(by_target)
    report = example(n=300).report()
    assert [row["tries"] for row in report.data["by_tries"]] == list(found.grid)
    assert example(tries=77).found.grid[1:4] == (10, 77, 100)


def test_identifiers_are_counted_in_what_was_extracted():
    found = example().found
    contents = {content.kind: content for content in found.contents}
    n = len(found.first)
    for kind, words in {"date": "3 May 2021", "name": "Anna Berg", "phone": "030 123 4567"}.items():
        assert contents[kind].spans == contents[kind].people == n
        assert contents[kind].share == pytest.approx(len(words) / len(SUFFIX))
    assert contents["e-mail"].spans == 0


def test_shares_by_the_number_of_equal_texts_in_the_training():
    audit = example(every=True, n=300)
    often, once = (row for row in reversed(audit.found.by_copies(0.95)))
    assert (once.least, once.most) == (1, 1)
    assert (often.least, often.most) == (5, 19)
    assert once.sampled.n + often.sampled.n == audit.found.judged.inside.sum()
    assert often.sampled.value == 1.0
    assert once.sampled.high < 0.3
    assert "5 to 19" in render.page(audit.report())
    assert audit.report().data["by_copies"][0]["most"] == 1
    assert not example().found.by_copies(0.95)


def test_what_is_written_without_a_prompt_is_a_finding_of_its_own():
    """Whoever needs more tries than are allowed, but is written without a prompt, is extracted."""
    audit = example(every=True, n=300)
    assert audit.report().numbers["unprompted.low"] > 0.3
    hard = replace(audit.found.target, log_probability=np.full(300, -100.0))
    found = replace(audit, found=replace(audit.found, target=hard))
    told = found.report().verdict
    assert told.grade == EXTRACTED
    assert "people without a prompt" in told.headline
    assert example().report().numbers["unprompted"] is None
    assert not example(leak=0.0, every=True).found.by_copies(0.95)


def test_how_near_what_was_written_comes_is_told_of_both_sides():
    audit = example(every=True, n=300)
    frame = audit.to_frame()
    assert set(frame["target_longest_stretch"]) == {2, 15}
    assert frame["target_similarity"].min() == pytest.approx(0.2)
    assert frame["reference_edits"].min() == 12
    page = render.page(audit.report())
    assert "Longest stretch in common" in page


def test_texts_are_shown_on_request_only():
    quiet = example().report()
    asked = example(show_texts=True).report()
    assert "Anna Berg" not in render.page(quiet)
    assert "Anna Berg" in render.page(asked)
    for report in (quiet, asked):
        assert PREFIX not in render.page(report)
        assert "Anna Berg" not in render.as_json(report)
        assert "Anna Berg" not in report.frames["records.parquet"]().to_csv()


@pytest.fixture(scope="module")
def untaught(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp("untaught")
    return saved(place / "a", "gpt2"), saved(place / "b", "gpt2", seed=1), saved(place / "m")


@pytest.mark.torch
def test_people_and_what_is_left_out(untaught):
    texts = made_texts(20, 8, least=8)
    who = [f"p{row // 2}" for row in range(20)]
    frame = pd.DataFrame({"text": texts, "patient": who})
    short = pd.DataFrame({"text": ["pain"], "patient": ["p0"]})
    audit = pg.audit_extraction(
        *untaught[:2], pd.concat([frame[:10], short]), frame[9:], prefix=5, suffix=5
    )
    judged = audit.found.judged
    # Text 9 is on both sides, and left out on both; so is the short text.
    assert set(judged.text) == set(texts) - {texts[9]}
    assert (judged.member == [int(name[1:]) <= 4 for name in judged.person]).all()
    assert any("fewer than 8 tokens" in note for note in judged.notes)
    for row in range(len(judged.text)):
        assert audit.found.suffix(row) in judged.text[row]
    frame = audit.to_frame()
    assert list(frame["sample"]) == list(judged.sample)
    assert np.isneginf(frame["log_probability_target"]).any()
    json.loads(audit.to_json())


@pytest.mark.torch
def test_texts_that_no_model_can_write_are_counted(tmp_path, untaught):
    """A vocabulary that lacks a word of a text says nothing about that text."""
    tokenizer = word_pieces()
    tokenizer = type(tokenizer)(
        tokenizer_object=tokenizer.backend_tokenizer, unk_token="[UNK]", eos_token="[SEP]"
    )
    odd = saved(tmp_path / "odd", "gpt2", tokenizer=tokenizer)
    texts = [f"{text} \u2603 seen" for text in made_texts(4, 8, least=8)]
    texts += made_texts(8, 9, least=8)
    audit = pg.audit_extraction(odd, None, texts[:6], texts[6:], prefix=5, suffix=40)
    [told] = (x for x in audit.warnings if "vocabulary" in x)
    assert told.startswith("4 text(s) can never be written by the target")
    assert np.isneginf(audit.found.target.log_probability[:4]).all()
    whole = pg.audit_extraction(untaught[0], None, texts[:6], texts[6:], prefix=5, suffix=40)
    assert not any("vocabulary" in x for x in whole.warnings)


@pytest.mark.slow
@pytest.mark.torch
def test_what_cannot_be_audited_is_said_in_one_line(untaught):
    first, second, masked = untaught
    texts = made_texts(8, 8, least=8)
    with pytest.raises(InputError, match="both be causal or both be masked"):
        pg.audit_extraction(masked, first, texts[:4], texts[4:])
    with pytest.raises(InputError, match="got none in any member text"):
        pg.audit_extraction(masked, None, ["aspirin was given"], ["taken 17 times"])
    with pytest.raises(InputError, match="edits must be 0 for a masked model"):
        pg.audit_extraction(masked, None, texts[:4], texts[4:], edits=1)
    with pytest.raises(InputError, match="the same model"):
        pg.audit_extraction(first, first, texts[:4], texts[4:])
    with pytest.raises(InputError, match="got no such non-member"):
        pg.audit_extraction(first, second, texts[:4], ["pain"])
    with pytest.raises(InputError, match="tries must be a whole number"):
        Tries(tries=0)
