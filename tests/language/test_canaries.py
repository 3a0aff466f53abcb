"""Canaries of a form: drawn by coins, written once, read again, and known by who saw them."""

import json
import re

import numpy as np
import pytest

from privacygauge.errors import InputError, OutputError
from privacygauge.language.canaries import (
    FILE,
    INSERT,
    _distinct_texts,
    canary_losses,
    made_canaries,
    random_texts,
    read_canaries,
    write_canaries,
)
from privacygauge.language.canary_audit import canary_audit
from tests.language.tiny_models import word_pieces

FORM = "The code of {name} is {digits:6}, {letters:3}."


def test_canaries_have_the_form_and_differ():
    made = made_canaries(FORM, 60, compared=40)
    texts = (*made.text, *made.compared)
    assert len(set(texts)) == 100
    for text in texts:
        assert re.fullmatch(r"The code of [A-Z]\w+ [A-Z]\w+ is \d{6}, [a-z]{3}\.", text)
    again = made_canaries(FORM, 60, compared=10)
    # Those that are compared change neither the canaries nor their coins.
    assert again.text == made.text
    assert again.inside.tolist() == made.inside.tolist()
    assert made_canaries(FORM, 60, seed=1).text != made.text


def test_coins_are_fair():
    shares = [made_canaries("{digits:9}", 50, compared=0, seed=s).inside.mean() for s in range(40)]
    assert abs(np.mean(shares) - 0.5) < 4 * 0.5 / np.sqrt(50 * 40)
    assert np.std(shares) > 0.03


def test_what_is_put_in_is_written_so_often_and_nothing_else(tmp_path):
    made = made_canaries(FORM, 30, copies=3, compared=20)
    write_canaries(tmp_path / "made", made)
    lines = (tmp_path / "made" / INSERT).read_text().splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    for text, inside in zip(made.text, made.inside, strict=True):
        assert texts.count(text) == 3 * inside
    assert len(texts) == 3 * made.inside.sum()
    kept = read_canaries(tmp_path / "made")
    assert (kept.text, kept.compared, kept.copies) == (made.text, made.compared, 3)
    assert kept.inside.tolist() == made.inside.tolist()
    with pytest.raises(OutputError, match="coins are tossed once"):
        write_canaries(tmp_path / "made", made)


@pytest.mark.parametrize(
    ("form", "n", "told"),
    [
        ("no place", 10, "must have a place for what is drawn"),
        ("{digit:3}", 10, "must be {name}, {digits:N} or {letters:N}"),
        ("{digits:0}", 10, "with N from 1 to 100, got {digits:0}"),
        ("{digits:1}", 10, "1010 different canaries are needed, got 10"),
        ("{digits:9}", 3, "n must be at least 4, got 3"),
    ],
)
def test_what_is_wrong_is_said(form, n, told):
    with pytest.raises(InputError, match=re.escape(told)):
        made_canaries(form, n)


def test_coins_on_one_side_and_damaged_files_are_refused(tmp_path):
    def all_alike(seed):
        try:
            made_canaries("{digits:9}", 4, compared=0, seed=seed)
        except InputError as error:
            return "all 4 canaries on one side" in str(error)
        return False

    assert 0 < sum(all_alike(seed) for seed in range(100)) < 40
    with pytest.raises(InputError, match="does not exist"):
        read_canaries(tmp_path)
    for content in ("{", "{}", "[]", '{"text": 3}'):
        (tmp_path / FILE).write_text(content)
        with pytest.raises(InputError, match="holds no canaries"):
            read_canaries(tmp_path)
    write_canaries(tmp_path / "made", made_canaries("{digits:9}", 20, compared=2))
    kept = json.loads((tmp_path / "made" / FILE).read_text())
    (tmp_path / "made" / FILE).write_text(json.dumps({**kept, "inside": kept["inside"][1:]}))
    with pytest.raises(InputError, match="inside must have 20 rows"):
        read_canaries(tmp_path / "made")


@pytest.mark.slow
@pytest.mark.torch
def test_losses_are_those_of_whole_texts(gpt, bert, texts):
    import torch

    for row in (0, 5):
        [encoded] = gpt.tokenizer.encoded([texts[row]])
        with torch.inference_mode():
            logs = gpt.module(input_ids=torch.tensor(encoded.ids[None])).logits[0].log_softmax(1)
        first = int(gpt.tokenizer.encoded([texts[row]])[0].framing[0])
        expected = -sum(
            float(logs[i - 1, encoded.ids[i]]) for i in range(1 + first, len(encoded.ids))
        )
        assert canary_losses(gpt, texts)[row] == pytest.approx(expected, abs=1e-3)
        [encoded] = bert.tokenizer.encoded([texts[row]])
        total = 0.0
        for i in np.flatnonzero(~encoded.framing):
            hidden = torch.tensor(encoded.ids[None])
            hidden[0, i] = bert.mask_id
            with torch.inference_mode():
                logs = bert.module(input_ids=hidden).logits[0, i].log_softmax(0)
            total -= float(logs[encoded.ids[i]])
        assert canary_losses(bert, texts)[row] == pytest.approx(total, abs=1e-3)


@pytest.mark.torch
def test_canaries_that_are_told_apart_are_a_leak_whatever_epsilon_they_show():
    made = made_canaries("The code is {digits:9}.", 60)
    unseen = 0
    for seed in range(40):
        loss = np.random.default_rng(seed).normal(size=60 + len(made.compared))
        loss[:60] -= 0.7 * made.inside
        found = canary_audit(made, -loss[:60], loss)
        epsilon = found.claim.free.estimate.low
        unseen += found.area.low > 0.5 and epsilon == 0
        leak = max(epsilon, found.area.low - 0.5, found.findings.known.low - 0.5) > 0
        assert found.report().verdict.grade.word == ("leak" if leak else "no leak found")
    assert unseen


@pytest.mark.slow
@pytest.mark.torch
def test_a_reference_that_saw_the_canaries_hides_no_leak():
    """What the target knows shows in its own losses, whatever it is compared with."""
    made = made_canaries("The code is {digits:9}.", 60)
    silent = {0.0: 0, 5.0: 0}
    for seed in range(40):
        for lift in silent:
            rng = np.random.default_rng(seed)
            loss = rng.normal(size=60 + len(made.compared))
            loss[:60] -= lift * made.inside
            audit = canary_audit(made, rng.normal(size=60), loss)
            silent[lift] += audit.report().verdict.grade.word == "no leak found"
    assert silent[5.0] == 0
    assert silent[0.0] >= 34


def test_draws_end_where_nothing_new_comes():
    drawn = []

    def one() -> str:
        drawn.append("the same")
        return drawn[-1]

    with pytest.raises(InputError, match="1000 different canaries are needed, got 1"):
        _distinct_texts(iter(one, None), 1_000)
    assert len(drawn) < 1_000


@pytest.mark.slow
def test_random_texts_are_different_or_refused():
    pytest.importorskip("transformers")
    rng = np.random.default_rng(0)
    assert len(set(random_texts(50, 4, word_pieces(), rng))) == 50
    with pytest.raises(InputError, match="different canaries are needed"):
        random_texts(500, 1, word_pieces(), rng)
