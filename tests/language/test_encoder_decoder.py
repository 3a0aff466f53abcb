"""Encoder-decoders: the decoder's tokens, behind an empty source."""

import pickle

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.audit.audit import audit_causal
from privacygauge.language.likelihoods import pair_log_probabilities, token_log_probabilities
from privacygauge.language.loading import model_kind
from privacygauge.language.model import load_causal, load_masked
from privacygauge.language.windows import Windows
from tests.language.tiny_models import byte_pairs, made_texts, quiet, saved

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch
CLOSE = 2e-5


def made(place, kind, seed=0):
    """Save a small model with random weights to a folder, which is returned."""
    tokenizer = byte_pairs(framed=kind == "bart")
    shared = {"vocab_size": len(tokenizer), "d_model": 32, "pad_token_id": 1, "eos_token_id": 2}
    if kind == "t5":
        config = transformers.T5Config(
            **shared, d_kv=16, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=1
        )
        one = transformers.T5ForConditionalGeneration
    else:
        each = {"layers": 2, "attention_heads": 2, "ffn_dim": 64}
        sizes = {f"{part}_{name}": each[name] for part in ("encoder", "decoder") for name in each}
        config = transformers.BartConfig(
            **shared, **sizes, max_position_embeddings=64, bos_token_id=0, decoder_start_token_id=2
        )
        one = transformers.BartForConditionalGeneration
    quiet()
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        built = one(config)
        for weights in built.parameters():
            if weights.ndim > 1:
                torch.nn.init.normal_(weights, std=0.2)
    built.save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="module", params=[pytest.param("t5", marks=pytest.mark.slow), "bart"])
def folder(request, tmp_path_factory):
    return made(tmp_path_factory.mktemp("model"), request.param)


@pytest.mark.slow
def test_every_token_has_the_probability_that_transformers_gives_it(folder, texts):
    texts = texts[:8]
    assert model_kind(folder) == "causal"
    model = load_causal(folder)
    found = token_log_probabilities(model, texts)
    source = torch.as_tensor(model.empty_source)[None]
    for i, text in enumerate(texts):
        encoded = model.tokenizer.encoded([text])[0]
        labels = torch.as_tensor(encoded.ids)[None]
        with torch.inference_mode():
            logs = model.module(input_ids=source, labels=labels).logits[0].log_softmax(-1)
        content = np.flatnonzero(~encoded.framing)
        expected = logs[content, labels[0, content]].numpy()
        assert found.log_probability[found.rows(i)] == pytest.approx(expected, abs=CLOSE)
        assert found.position[found.rows(i)].tolist() == content.tolist()
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert token_log_probabilities(again, texts).mean().tolist() == found.mean().tolist()


def test_a_long_text_is_read_in_windows(folder):
    text = " ".join(made_texts(12, 9))
    model = load_causal(folder, windows=Windows(20, 9))
    found = token_log_probabilities(model, [text])
    encoded = model.tokenizer.encoded([text])[0]
    content = encoded.ids[~encoded.framing]
    assert found.unit.tolist() == list(range(len(content)))
    framing = np.flatnonzero(encoded.framing)
    front = int(np.count_nonzero(framing < 1))
    room = 20 - len(framing)
    done = 0
    for begin in range(0, len(content), 9):
        window = np.r_[encoded.ids[:front], content[begin : begin + room]]
        ids = torch.as_tensor(window)[None]
        source = torch.as_tensor(model.empty_source)[None]
        with torch.inference_mode():
            logs = model.module(input_ids=source, labels=ids).logits[0].log_softmax(-1)
        for place in range(done, min(begin + room, len(content))):
            at = front + place - begin
            expected = float(logs[at, ids[0, at]])
            assert found.log_probability[place] == pytest.approx(expected, abs=CLOSE)
        done = begin + room


@pytest.mark.slow
def test_it_is_audited_beside_a_causal_reference(folder, tmp_path, gpt):
    sides = made_texts(8, 3, 3), made_texts(8, 4, 3)
    found = audit_causal(folder, gpt, *sides)
    assert {x.name for x in found.evaluations} >= {"loss", "likelihood-ratio", "min-k"}
    assert found.origin.provenance["source of the encoder"] == "empty"
    pair = pair_log_probabilities(load_causal(folder), gpt, sides[0])
    assert set(pair.target.unit.tolist()) == set(pair.reference.unit.tolist())
    # The causal one has nothing to begin with.
    assert 0 not in pair.target.unit


def test_other_loaders_refuse_it(folder, tmp_path):
    with pytest.raises(InputError, match=r"must have a mask token|must hold a masked language mod"):
        load_masked(folder)
    assert load_causal(folder, precision="faster").source.precision == "float32"
    whole = saved(tmp_path / "plain", "gpt2", tokenizer=byte_pairs(framed=False))
    assert load_causal(whole).empty_source == ()
