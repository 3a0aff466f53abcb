"""PEFT adapters: audited as what they are, and never as their base."""

import json
import pickle
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.kinds.session import Work
from privacygauge.language import canary_audit as canaries
from privacygauge.language.audit.audit import audit_causal
from privacygauge.language.canaries import made_canaries, write_canaries
from privacygauge.language.extraction_audit.audit import audit_extraction
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.loading import model_kind
from privacygauge.language.model import load_causal, load_masked
from tests.cli.test_main import one_line, run_inside
from tests.language.tiny_models import byte_pairs, made_texts, saved

torch = pytest.importorskip("torch")
# Peft takes seconds to import: not where tests are only collected.
pytestmark = [
    pytest.mark.torch,
    pytest.mark.usefixtures("undrawn"),
    pytest.mark.skipif(find_spec("peft") is None, reason="peft is not installed"),
    # What peft asks transformers.
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
]
CLOSE = 2e-5
KINDS = pytest.mark.parametrize("kind", ["gpt2", pytest.param("bert", marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """Return the folders of a base, of an adapter on it with random weights, and of both merged."""
    import peft

    made = {}

    def folders(kind):
        if kind not in made:
            place = tmp_path_factory.mktemp(kind)
            tokenizer = byte_pairs(framed=False) if kind == "gpt2" else None
            base = saved(place / "base", kind, tokenizer=tokenizer)
            module = load(kind)(base).module
            targets = ["c_attn"] if kind == "gpt2" else ["query", "dense"]
            lora = peft.LoraConfig(
                r=2, target_modules=targets, init_lora_weights=False, fan_in_fan_out=kind == "gpt2"
            )
            with torch.random.fork_rng():
                torch.manual_seed(0)
                with_adapter = peft.get_peft_model(module, lora)
            with_adapter.peft_config["default"].base_model_name_or_path = str(base)
            with_adapter.save_pretrained(place / "adapter", save_embedding_layers=False)
            shutil.copytree(base, place / "merged")
            with_adapter.merge_and_unload().save_pretrained(place / "merged")
            made[kind] = base, place / "adapter", place / "merged"
        return made[kind]

    return folders


def load(kind):
    return load_causal if kind == "gpt2" else load_masked


@pytest.fixture
def adapter(kept, tmp_path):
    """Return the folder of an adapter that a test may spoil, and its base."""
    base, adapter, _ = kept("gpt2")
    return Path(shutil.copytree(adapter, tmp_path / "adapter")), base


@pytest.mark.slow
@KINDS
def test_an_adapter_gives_what_the_merged_model_gives(kept, kind, texts):
    base, adapter, merged = kept(kind)
    texts = [text for text in texts if " " in text]
    assert model_kind(adapter) == ("causal" if kind == "gpt2" else "masked")
    models = [load(kind)(path) for path in (adapter, merged, base)]
    ours, theirs, without = (token_log_probabilities(model, texts) for model in models)
    assert ours.log_probability == pytest.approx(theirs.log_probability, abs=CLOSE)
    assert np.abs(ours.mean() - without.mean()).mean() > 100 * CLOSE
    assert len({model.source.weights for model in models}) == 3
    again = pickle.loads(pickle.dumps(models[0]))  # noqa: S301
    assert again.source == models[0].source
    assert token_log_probabilities(again, texts).mean().tolist() == ours.mean().tolist()


@pytest.mark.slow
def test_the_base_is_the_reference_where_none_is_given(kept):
    base, adapter, _ = kept("gpt2")
    sides = made_texts(8, 3, 3), made_texts(8, 4, 3)
    found, named = (audit_causal(adapter, reference, *sides) for reference in (None, base))
    assert found.energies.reference.tolist() == named.energies.reference.tolist()
    assert found.energies.target.tolist() != found.energies.reference.tolist()
    assert found.origin.provenance["base of the target"] == "base"
    with pytest.raises(InputError, match="target and reference are the same model"):
        audit_causal(adapter, adapter, *sides)


@pytest.mark.slow
@KINDS
def test_extraction_and_canaries_take_the_base_too(kept, kind, tmp_path, monkeypatch):
    """Named by the adapter, as the reference, or by an option, where the adapter names none."""
    base, adapter, _ = kept(kind)
    nameless = renamed(shutil.copytree(adapter, tmp_path / "nameless"), None)
    asked = [(adapter, None, None), (adapter, base, None), (nameless, None, base)]
    sides = [[f"{text} on 3 May" for text in made_texts(4, seed, 6)] for seed in (3, 4)]
    found = [
        audit_extraction(target, reference, *sides, top_k=0, base=its).found
        for target, reference, its in asked
    ]
    for x in found:
        assert x.reference.log_probability.tolist() == found[0].reference.log_probability.tolist()
        assert x.target.log_probability.tolist() == found[0].target.log_probability.tolist()
    assert found[0].reference.log_probability.tolist() != found[0].target.log_probability.tolist()
    write_canaries(tmp_path / "made", made_canaries("{name} has pain {letters:5}", 8, compared=4))
    scores = []
    monkeypatch.setattr(
        canaries, "canary_audit", lambda made, score, *_, **__: scores.append(score)
    )
    for target, reference, its in asked:
        given = {"target": target, "reference": reference, "base": its}
        given = {name: value and str(value) for name, value in given.items()}
        canaries.audit_canaries(
            canaries.MeasureRequest(canaries=str(tmp_path / "made"), **given), Work()
        )
    assert scores[0].tolist() == scores[1].tolist() == scores[2].tolist()
    assert np.abs(scores[0]).min() > CLOSE


def renamed(folder, base):
    """Return the folder of an adapter, which names this base from now on."""
    settings = json.loads((folder / "adapter_config.json").read_text())
    settings["base_model_name_or_path"] = base
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.slow
def test_commands_take_the_base(kept, tmp_path, capsys):
    base, adapter, _ = kept("gpt2")
    nameless = renamed(shutil.copytree(adapter, tmp_path / "nameless"), None)
    write_canaries(tmp_path / "made", made_canaries("pain {letters:5}", 20, compared=10))
    for side, seed in (("members", 3), ("nonmembers", 4)):
        (tmp_path / f"{side}.txt").write_text("\n".join(made_texts(8, seed, 9)))
    sides = [f"--{x}={tmp_path}/{x}.txt" for x in ("members", "nonmembers")]
    for command in (["extract", *sides], ["canaries", "measure", str(tmp_path / "made")]):
        asked = ["language", *command, "--target", str(nameless)]
        one_line(run_inside(asked, capsys), "name the folder with --base")
        one_line(
            run_inside([*asked, "--reference", str(nameless), f"--base={base}"], capsys),
            "target and reference are the same model",
        )
        whole = [*asked[:-1], str(base), f"--base={base}"]
        one_line(run_inside(whole, capsys), "a base goes with a PEFT adapter")
        out = tmp_path / command[0]
        done = run_inside([*asked, f"--base={base}", f"--out={out}", "--quiet"], capsys)
        assert done.returncode == 0, done.stderr
        assert "No reference model was given" not in (out / "report.html").read_text()
    (tmp_path / "extract" / "report.json").unlink()
    resumed = run_inside(["resume", str(tmp_path / "extract"), "--quiet"], capsys)
    assert resumed.returncode == 0, resumed.stderr
    assert (tmp_path / "extract" / "report.json").is_file()


@pytest.mark.slow
def test_a_base_goes_with_a_folder(kept, gpt):
    base, *_ = kept("gpt2")
    sides = made_texts(8, 3, 9), made_texts(8, 4, 9)
    for audit in (audit_extraction, audit_causal):
        with pytest.raises(InputError, match="a base goes with the folder of a PEFT adapter"):
            audit(gpt, None, *sides, base=base)


def test_where_a_base_is_looked_for(adapter, tmp_path):
    folder, base = adapter
    settings = json.loads((folder / "adapter_config.json").read_text())

    def name(value):
        text = json.dumps({**settings, "base_model_name_or_path": value})
        (folder / "adapter_config.json").write_text(text)

    first = load_causal(folder).source.weights
    for elsewhere in ("someone/model", None, ""):
        name(elsewhere)
        with pytest.raises(InputError, match=r"whose base must be a folder .*--base \(base=\)"):
            load_causal(folder)
        assert load_causal(folder, base=base).source.weights == first
    shutil.copytree(base, folder / "mine")
    name("mine")
    assert load_causal(folder).source.weights == first
    with pytest.raises(InputError, match="a base goes with a PEFT adapter, but"):
        load_causal(base, base=base)
    with pytest.raises(InputError, match="must be a folder of this machine, got 'nowhere'"):
        load_causal(folder, base="nowhere")


def test_an_adapter_beside_its_base_is_refused_by_name(adapter):
    folder, base = adapter
    shutil.copytree(base, folder, dirs_exist_ok=True)
    text = json.loads((folder / "adapter_config.json").read_text())
    for named in (str(folder), "someone/model"):
        settings = json.dumps({**text, "base_model_name_or_path": named})
        (folder / "adapter_config.json").write_text(settings)
        with pytest.raises(InputError, match="got a PEFT adapter: where the weights of its base"):
            load_causal(folder)


def test_adapters_that_cannot_be_used(adapter, kept, monkeypatch):
    folder, _ = adapter
    with pytest.raises(InputError, match="must hold an adapter of its base, but: "):
        load_masked(folder, base=kept("bert")[0])
    weights = folder / "adapter_model.safetensors"
    import safetensors.torch

    tensors = safetensors.torch.load_file(weights)
    safetensors.torch.save_file(dict(list(tensors.items())[1:]), weights)
    with pytest.raises(InputError, match="must hold all weights of its adapter, got some missing"):
        load_causal(folder)
    weights.write_bytes(b"x")
    with pytest.raises(InputError, match="must hold an adapter of its base, but: "):
        load_causal(folder)
    weights.unlink()
    (folder / "adapter_model.bin").write_text("boo")
    with pytest.raises(InputError, match=r"as adapter_model\.safetensors, which is not there"):
        load_causal(folder)
    weights.write_bytes(b"x")
    found = importlib_without("peft")
    monkeypatch.setattr("privacygauge.language.loading.find_spec", found)
    with pytest.raises(InputError, match=r"pip install 'privacygauge\[peft\]'"):
        load_causal(folder)
    for text, told in (
        ("{", "adapter_config.json is damaged"),
        ("[]", "adapter_config.json is damaged"),
        (
            '{"num_virtual_tokens": 4, "peft_type": "PROMPT_TUNING"}',
            "got PROMPT_TUNING, which",
        ),
    ):
        (folder / "adapter_config.json").write_text(text)
        with pytest.raises(InputError, match=told):
            load_causal(folder)


def importlib_without(name):
    from importlib.util import find_spec

    return lambda wanted: None if wanted == name else find_spec(wanted)
