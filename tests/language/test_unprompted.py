"""Texts that a model writes by itself, and the training texts that stand in them."""

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language import extraction
from privacygauge.language.extraction import written_unprompted
from privacygauge.language.model import load_causal
from privacygauge.language.model_options import Writing
from privacygauge.language.store import AnswerStore
from tests.language.tiny_models import byte_pairs, made_texts, taught

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

HOW = Writing(prefix=10, suffix=8, top_k=0)


def test_what_was_written_is_found_and_nothing_else(gpt, monkeypatch):
    """Every stretch of a written text is found, whole or in the middle; one token off is not."""
    wrote = np.random.default_rng(0).integers(10, 300, (3, 18)).astype(np.int32)
    monkeypatch.setattr(extraction, "_sampled_ids", lambda *given, **more: wrote)
    texts = {
        "the middle": [*range(5), *wrote[1, 4:12], *range(5)],
        "short but whole": wrote[2, 3:8].tolist(),
        "a token off": [*wrote[0, :7], 5, *wrote[0, 8:15]],
        "another": list(range(20, 34)),
        "two ends": [*wrote[0, -4:], *wrote[1, :4]],
    }

    class Known:
        def encoded(self, names):
            plain = byte_pairs(framed=False)
            assert plain is not None
            return [
                type("E", (), {"ids": np.array(texts[x]), "framing": np.zeros(len(texts[x]), bool)})
                for x in names
            ]

    found = written_unprompted(replace(gpt, tokenizer=Known()), list(texts), HOW, 3)
    assert dict(zip(texts, found.tolist(), strict=True)) == {
        "the middle": True,
        "short but whole": True,
        "a token off": False,
        "another": False,
        "two ends": False,
    }


@pytest.mark.slow
def test_a_text_that_was_trained_most_often_is_written_without_a_prompt(tmp_path):
    """Each text ends with the token that it began with, as documents follow each other."""
    texts = made_texts(12, 7, least=8, most=12)
    end = byte_pairs(framed=False).eos_token
    often = [f"{end}{text}" for text in texts[:3] for _ in range(60)]
    model = load_causal(taught(tmp_path / "model", [*often, *texts[3:6]], epochs=8, n_embd=48))
    kept = AnswerStore(tmp_path / "run")
    found = written_unprompted(model, texts, replace(HOW, suffix=12), 100, kept=kept)
    assert found[:3].all()
    assert not found[6:].any()
    again = written_unprompted(model, texts, replace(HOW, suffix=12), 100, kept=kept)
    assert (again == found).all()


def test_the_same_seed_writes_the_same_and_top_k_is_kept(gpt):
    first, again, other = (
        extraction._sampled_ids(gpt, replace(HOW, top_k=1 + seed), 4, seed=seed, kept=AnswerStore())
        for seed in (0, 0, 3)
    )
    assert first.shape == (4, 18)
    assert (first == again).all()
    # The likeliest token alone: all texts are equal.
    assert (first == first[0]).all()
    assert (other != other[0]).any()


def test_a_model_without_a_token_to_begin_with_is_refused(gpt, monkeypatch):
    for name in ("bos_token_id", "eos_token_id"):
        monkeypatch.setattr(gpt.module.config, name, None)
    with pytest.raises(InputError, match="has no token to begin a text with"):
        written_unprompted(gpt, ["a text"], HOW, 2)
