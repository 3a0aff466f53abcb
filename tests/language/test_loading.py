"""Models from folders: what is taken, and what is refused."""

import json
import shutil

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.loading import most_tokens, weights_sha256
from privacygauge.language.model import load_causal, load_masked
from tests.language.tiny_models import byte_pairs, module, quiet

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch


@pytest.fixture
def copied(folders, tmp_path):
    """Return a model's folder that a test may spoil."""

    def folder(*kind, **options):
        return shutil.copytree(folders(*kind, **options), tmp_path / "model")

    return folder


@pytest.mark.parametrize("name", ["bert-base-uncased", "someone/model", "/nowhere/at/all"])
def test_names_of_a_hub_fail_at_once(name):
    with pytest.raises(InputError, match=f"a folder of this machine, got '{name}': download it"):
        load_masked(name)


def test_pickled_weights_are_never_read(copied):
    folder = copied()
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"must hold weights, but has no \*\.safetensors"):
        load_masked(folder)
    # No pickle at all: reading it would fail in another way.
    (folder / "pytorch_model.bin").write_text("boo")
    with pytest.raises(
        InputError, match=r"got the pickle pytorch_model\.bin, which could run code"
    ):
        load_masked(folder)


def test_a_head_without_weights_is_refused(copied):
    folder = copied()
    quiet()
    module().bert.save_pretrained(folder)
    with pytest.raises(InputError, match=r"must be complete, got \d+ missing .*cls\.predictions"):
        load_masked(folder)


def test_weights_of_another_shape_are_refused(copied):
    folder = copied()
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "num_hidden_layers": 3}))
    with pytest.raises(InputError, match=r"must be complete, got \d+ missing"):
        load_masked(folder)
    (folder / "config.json").write_text(json.dumps({**settings, "intermediate_size": 48}))
    with pytest.raises(
        InputError, match=r"must hold a masked language model that|must be complete"
    ):
        load_masked(folder)


def test_a_model_that_tells_nothing_apart_is_refused(copied):
    folder = copied()
    quiet()
    flat = module()
    with torch.no_grad():
        flat.cls.predictions.decoder.weight.zero_()
        flat.cls.predictions.bias.zero_()
    flat.save_pretrained(folder)
    with pytest.raises(InputError, match="must tell words apart, but gives each the same"):
        load_masked(folder)


def test_damaged_files_are_refused(copied):
    folder = copied()
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:100])
    with pytest.raises(InputError, match="must hold a masked language model that transformers can"):
        load_masked(folder)
    weights.write_bytes(whole)
    (folder / "config.json").write_text("{")
    with pytest.raises(InputError, match="must hold"):
        load_masked(folder)
    (folder / "config.json").unlink()
    with pytest.raises(InputError, match=r"has no config\.json: name a folder made by"):
        load_masked(folder)


@pytest.mark.slow
def test_kinds_are_not_mixed_up(folders, gpt):
    with pytest.raises(InputError, match=r"must have a mask token, got none"):
        load_masked(gpt.source.path)
    with pytest.raises(InputError, match="must hold a causal language model"):
        load_causal(folders())
    with pytest.raises(InputError, match="must hold a masked language model"):
        load_masked(folders("gpt2", tokenizer=byte_pairs()))


def test_a_folder_without_a_tokenizer_is_refused(copied):
    folder = copied()
    for path in folder.glob("*token*"):
        path.unlink()
    with pytest.raises(InputError, match=r"must hold a tokenizer, but has none of tokenizer\.json"):
        load_masked(folder)


def test_a_tokenizer_of_another_model_is_refused(copied):
    folder = copied()
    byte_pairs().save_pretrained(folder)
    with pytest.raises(InputError, match="must belong to the model, got 360 tokens for a vocab"):
        load_masked(folder)


def test_bad_options(folders):
    with pytest.raises(InputError, match=r"precision must be .*, int4 or faster, got 'half'"):
        load_masked(folders(), precision="half")
    with pytest.raises(InputError, match="device must be one that torch can use, got 'nothing'"):
        load_masked(folders(), device="nothing")


def test_the_checksum_follows_what_is_computed(copied):
    folder = copied()
    first = weights_sha256(folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**settings, "transformers_version": "0"}))
    assert weights_sha256(folder) == first
    (folder / "config.json").write_text(json.dumps({**settings, "layer_norm_eps": 0.1}))
    assert weights_sha256(folder) != first
    (folder / "config.json").write_text(json.dumps(settings))
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert weights_sha256(folder) != first


@pytest.mark.slow
def test_a_model_that_changed_under_a_run_is_refused(copied):
    import pickle

    folder = copied()
    sent = pickle.dumps(load_masked(folder))
    quiet()
    module(seed=9).save_pretrained(folder)
    with pytest.raises(InputError, match="has changed since it was loaded: start again"):
        pickle.loads(sent)  # noqa: S301


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet", "distilbert", "gpt2"])
def test_the_longest_text_can_be_read_and_no_longer(kind):
    made = module(kind)
    most = most_tokens(made, 10**30)
    assert most == 64
    with torch.inference_mode():
        made(input_ids=torch.full((1, most), 7))
        with pytest.raises((IndexError, RuntimeError)):
            made(input_ids=torch.full((1, most + 1), 7))
    assert most_tokens(made, 12) == 12


def test_half_precision_weights_are_asked_in_full(copied):
    folder = copied()
    quiet()
    module().half().save_pretrained(folder)
    assert {weights.dtype for weights in load_masked(folder).module.parameters()} == {torch.float32}


def test_nothing_is_looked_for_in_a_network(folders, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", refuse)
    monkeypatch.setattr("socket.getaddrinfo", refuse)
    load_masked(folders())
    load_causal(folders("gpt2", tokenizer=byte_pairs(framed=False)))
    with pytest.raises(InputError):
        load_masked("bert-base-uncased")


def test_loading_prints_nothing(folders, capfd):
    load_masked(folders())
    assert capfd.readouterr() == ("", "")


def test_loading_leaves_torch_as_it_is(folders):
    state = torch.random.get_rng_state()
    numpy_state = np.random.get_state()[1].copy()  # noqa: NPY002
    load_masked(folders())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert np.array_equal(np.random.get_state()[1], numpy_state)  # noqa: NPY002
