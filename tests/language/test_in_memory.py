"""Models in memory: the same numbers as from their folders."""

import pickle

import pytest

from privacygauge.errors import InputError
from privacygauge.language.audit.audit import audit_causal, audit_masked
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.model import load_causal, load_masked, model_of
from privacygauge.language.windows import Windows
from tests.language.tiny_models import byte_pairs, made_texts, module, word_pieces

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.mark.parametrize("kind", [pytest.param("bert", marks=pytest.mark.slow), "gpt2"])
def test_the_same_numbers_as_from_a_folder(folders, kind, texts, tmp_path):
    texts = [text for text in texts if " " in text]
    tokenizer = byte_pairs(framed=False) if kind == "gpt2" else word_pieces()
    load, audit = (load_causal, audit_causal) if kind == "gpt2" else (load_masked, audit_masked)
    kept = load(folders(kind, tokenizer=tokenizer), windows=Windows(9, 4))
    before = {name: part.clone() for name, part in kept.module.state_dict().items()}
    held = model_of(kept.module, tokenizer, windows=Windows(9, 4))
    assert type(held) is type(kept)
    assert held.module is kept.module
    found, expected = (token_log_probabilities(model, texts) for model in (held, kept))
    assert found.log_probability.tolist() == expected.log_probability.tolist()
    assert found.n_windows.tolist() == expected.n_windows.tolist()
    for name, part in kept.module.state_dict().items():
        assert torch.equal(part, before[name])
    other = model_of(module(kind, 1, len(tokenizer)), tokenizer)
    assert other.source.weights != held.source.weights
    sides = made_texts(6, 3, 3), made_texts(6, 4, 3)
    report = audit(held, other, *sides, run=tmp_path)
    assert report.energies.target.tolist() == audit(kept, other, *sides).energies.target.tolist()
    assert report.origin.provenance["target"].startswith(type(kept.module).__name__)
    with pytest.raises(InputError, match="target and reference are the same model"):
        audit(held, model_of(kept.module, tokenizer), *sides)


def test_weights_are_known_by_what_they_are(bert):
    first = model_of(bert.module, word_pieces())
    assert model_of(bert.module, word_pieces()).source == first.source
    changed = module()
    with torch.no_grad():
        next(changed.parameters())[0, 0] += 1e-3
    assert model_of(changed, word_pieces()).source.weights != first.source.weights


def test_what_cannot_be_asked(bert, gpt):
    held = model_of(bert.module, word_pieces())
    with pytest.raises(InputError, match="in this process alone: leave n_jobs out, or save"):
        pickle.dumps(held)
    with pytest.raises(InputError, match="must be in evaluation mode: call its eval"):
        model_of(module().train(), word_pieces())
    with pytest.raises(InputError, match="must be a masked or a causal language model, got BertMo"):
        model_of(bert.module.bert, word_pieces())
    with pytest.raises(InputError, match="the tokenizer must be a fast one"):
        model_of(bert.module, object())
    with pytest.raises(InputError, match="must belong to the model, got 360 tokens for a voc"):
        model_of(bert.module, byte_pairs())
    with pytest.raises(InputError, match="must have a mask token"):
        model_of(module(vocab=400), byte_pairs(framed=False))
