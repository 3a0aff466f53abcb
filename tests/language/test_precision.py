"""Models in the precision of their weights, in shards, on several devices, in few bits."""

import json
import pickle
from importlib.util import find_spec

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.audit.audit import audit_causal
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.model import load_causal, load_masked
from tests.language.tiny_models import byte_pairs, made_texts, quiet, saved

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch
CLOSE = 2e-5


def dtypes(model):
    return {weights.dtype for weights in model.module.parameters()}


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    """Return a function that saves a model in fewer bits, and returns its folder."""

    def folder(kind, dtype):
        place = tmp_path_factory.mktemp("half")
        saved(place, kind, tokenizer=byte_pairs(framed=False) if kind == "gpt2" else None)
        quiet()
        (load_causal if kind == "gpt2" else load_masked)(place).module.to(dtype).save_pretrained(
            place
        )
        return place

    return folder


@pytest.mark.parametrize("kind", [pytest.param("bert", marks=pytest.mark.slow), "gpt2"])
def test_weights_are_asked_as_they_were_saved(half, kind, texts, monkeypatch):
    texts = [text for text in texts if " " in text][:8]
    load = load_causal if kind == "gpt2" else load_masked
    place = half(kind, torch.bfloat16)
    full = token_log_probabilities(load(place), texts).mean()
    # Not for a moment may they be wider: that is what does not fit into the memory.
    monkeypatch.setattr(torch.nn.Module, "float", None)
    for precision in ("own", "bfloat16"):
        model = load(place, precision=precision)
        assert dtypes(model) == {torch.bfloat16}
        assert (model.source.precision, model.source.stored) == ("bfloat16", "bfloat16")
        found = token_log_probabilities(model, texts).mean()
        assert 0 < np.abs(found - full).max() < 0.2
    if kind == "bert":
        assert model.head is not None
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert token_log_probabilities(again, texts).mean().tolist() == found.tolist()


def test_float16_is_computed_in_float32_on_a_processor_and_that_is_said(half):
    place = half("gpt2", torch.float16)
    model = load_causal(place, precision="own")
    assert dtypes(model) == {torch.float32}
    assert (model.source.precision, model.source.stored) == ("float32", "float16")
    sides = made_texts(6, 3, 3), made_texts(6, 4, 3)
    found = audit_causal(model, None, *sides)
    told = found.origin.provenance["computed in"]
    assert told == "float32 on cpu, weights saved in float16"
    with pytest.raises(InputError, match=r"precision float16 needs a GPU .*take own or float32"):
        load_causal(place, precision="float16")


def test_the_sharded_folder_gives_what_the_whole_one_gives(folders, tmp_path, texts):
    whole = load_masked(folders())
    quiet()
    whole.tokenizer._backend.save(str(tmp_path / "tokenizer.json"))
    for path in (folders()).glob("*token*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    whole.module.save_pretrained(tmp_path, max_shard_size="40KB")
    shards = sorted(tmp_path.glob("model-*.safetensors"))
    assert len(shards) > 2
    found = token_log_probabilities(load_masked(tmp_path), texts[:4])
    assert found.mean().tolist() == token_log_probabilities(whole, texts[:4]).mean().tolist()
    shards[1].unlink()
    with pytest.raises(InputError, match="must hold a masked language model that transformers can"):
        load_masked(tmp_path)


def test_a_model_spread_by_accelerate_gives_the_same(folders, texts):
    pytest.importorskip("accelerate")
    spread = load_masked(folders(), device="auto")
    assert spread.source.device == "auto"
    found = token_log_probabilities(spread, texts[:4])
    alone = token_log_probabilities(load_masked(folders()), texts[:4])
    # Where there is a GPU, sums are made in another order.
    assert found.log_probability == pytest.approx(alone.log_probability, abs=1e-3)


def test_few_bits_need_a_package_and_a_gpu(folders, monkeypatch):
    have = lambda name: find_spec("json") if name == "bitsandbytes" else find_spec(name)  # noqa: E731
    for bits in ("int8", "int4"):
        monkeypatch.setattr("privacygauge.language.loading.find_spec", lambda name: None)
        with pytest.raises(InputError, match=f"precision {bits} needs bitsandbytes, which is not"):
            load_masked(folders(), precision=bits)
        monkeypatch.setattr("privacygauge.language.loading.find_spec", have)
        with pytest.raises(InputError, match=f"precision {bits} needs a GPU"):
            load_masked(folders(), precision=bits)


@pytest.mark.skipif(find_spec("bitsandbytes") is not None, reason="bitsandbytes is installed")
def test_a_folder_of_few_bits_without_the_package_is_one_line(tmp_path):
    place = saved(tmp_path, "gpt2", tokenizer=byte_pairs(framed=False))
    settings = json.loads((place / "config.json").read_text())
    settings["quantization_config"] = {"quant_method": "bitsandbytes", "load_in_8bit": True}
    (place / "config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"that transformers can read, but: .*bitsandbytes|.*GPU"):
        load_causal(place)
