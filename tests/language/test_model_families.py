"""Models as people keep them: each runs, or names in one line why it does not."""

import warnings

import pytest

from privacygauge.errors import InputError
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.loading import model_kind
from privacygauge.language.model import load_causal
from tests.language.tiny_models import byte_pairs, made_texts, quiet, saved

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

VOCABULARY = len(byte_pairs())
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}
GROUPED = {"num_key_value_heads": 1, "max_position_embeddings": 64, "pad_token_id": 1}
GEMMA = {**SIZES, **GROUPED, "head_dim": 16, "query_pre_attn_scalar": 16}
SEEN = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 16,
    "patch_size": 8,
}
ROTARY = {"type": "mrope", "rope_type": "default", "mrope_section": [2, 3, 3]}
ENDS = {"bos_token_id": 0, "eos_token_id": 2}

CAUSAL = {
    "Llama": ("ForCausalLM", {**SIZES, **GROUPED}),
    "Gemma2": ("ForCausalLM", {**GEMMA, "final_logit_softcapping": 5.0}),
    "Cohere": ("ForCausalLM", {**SIZES, **GROUPED, "logit_scale": 0.25}),
    "Granite": ("ForCausalLM", {**SIZES, **GROUPED, "logits_scaling": 3.0}),
    "Mamba": ("ForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2}),
    "Gemma3": (
        "ForConditionalGeneration",
        {
            "text_config": GEMMA,
            "vision_config": SEEN,
            "image_token_index": 5,
            "mm_tokens_per_image": 4,
        },
    ),
    "Llava": (
        "ForConditionalGeneration",
        {
            "text_config": {"model_type": "llama", **SIZES, **GROUPED},
            "vision_config": {"model_type": "clip_vision_model", **SEEN},
            "image_token_index": 5,
        },
    ),
    "Qwen2VL": (
        "ForConditionalGeneration",
        {
            "text_config": {**SIZES, **GROUPED, **ENDS, "rope_scaling": ROTARY},
            "vision_config": {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2},
            **dict(zip(("image_token_id", "video_token_id"), (5, 6), strict=True)),
            **dict(zip(("vision_start_token_id", "vision_end_token_id"), (7, 8), strict=True)),
        },
    ),
}


def kept(folder, name, head, options):
    """Save a model of a family with random weights, and return it."""
    quiet()
    config = getattr(transformers, f"{name}Config")(**options)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        built = getattr(transformers, name + head)(config).eval()
        for weights in built.parameters():
            if weights.ndim == 2:
                torch.nn.init.normal_(weights, std=0.3)
    built.save_pretrained(folder)
    byte_pairs().save_pretrained(folder)
    return built


def loop(built, text):
    """Return the mean loss of a text's tokens, by a plain loop over all logits."""
    ids = byte_pairs()(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logs = built(input_ids=ids).logits[0].float().log_softmax(-1)
    return -float(logs[:-2].gather(1, ids[0, 1:-1, None]).mean())


@pytest.mark.parametrize("name", CAUSAL)
def test_each_family_answers_as_a_plain_loop_does(tmp_path, name):
    built = kept(tmp_path, name, *CAUSAL[name])
    texts = made_texts(4, 2, least=3)
    assert model_kind(tmp_path) == "causal"
    model = load_causal(tmp_path)
    assert model.head is not None, "logits of a few tokens at a time need the head by itself"
    found = token_log_probabilities(model, texts).mean()
    assert found[0] == pytest.approx(loop(built, texts[0]), abs=2e-6)


@pytest.mark.parametrize(
    ("name", "head", "options"),
    [
        ("Bert", "LMHeadModel", SIZES),
        (
            "XLNet",
            "LMHeadModel",
            {"vocab_size": VOCABULARY, "d_model": 32, "n_layer": 2, "n_head": 2},
        ),
    ],
)
def test_a_model_that_reads_both_ways_is_no_causal_one(tmp_path, name, head, options):
    kept(tmp_path, name, head, options)
    with pytest.raises(InputError, match="must read from left to right"):
        load_causal(tmp_path)


def test_a_classifier_of_texts_is_sent_to_its_command(tmp_path):
    kept(tmp_path, "Bert", "ForSequenceClassification", SIZES)
    with pytest.raises(InputError, match=r"got a classifier of texts .*privacygauge classifier"):
        model_kind(tmp_path)


def test_a_padding_token_without_a_row_of_the_weights_is_left_out(tmp_path):
    from transformers import PreTrainedTokenizerFast

    texts = made_texts(6, 3, least=3)
    before = token_log_probabilities(
        load_causal(saved(tmp_path / "a", "gpt2", tokenizer=byte_pairs(framed=False))), texts
    )
    folder = saved(tmp_path / "b", "gpt2", tokenizer=byte_pairs(framed=False))
    grown = PreTrainedTokenizerFast.from_pretrained(folder)
    grown.add_special_tokens({"pad_token": "[PAD]"})
    grown.save_pretrained(folder)
    after = token_log_probabilities(load_causal(folder), texts)
    assert (before.mean() == after.mean()).all()


def test_an_adapter_with_tokens_of_its_own_answers_as_the_trained_model_does(tmp_path):
    peft = pytest.importorskip("peft")
    from transformers import AutoModelForCausalLM, AutoTokenizer

    base = saved(tmp_path / "base", "gpt2", tokenizer=byte_pairs(framed=False))
    tokenizer = AutoTokenizer.from_pretrained(base)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|note|>"]})
    grown = AutoModelForCausalLM.from_pretrained(base)
    grown.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    how = peft.LoraConfig(
        r=2, target_modules=["c_attn"], modules_to_save=["wte", "lm_head"], fan_in_fan_out=True
    )
    with warnings.catch_warnings(), torch.no_grad():  # peft warns of tied weights
        warnings.simplefilter("ignore")
        trained = peft.get_peft_model(grown, how).eval()
        for name, weights in trained.named_parameters():
            if "lora_B" in name:
                weights.normal_()
        trained.save_pretrained(tmp_path / "adapter")
    tokenizer.save_pretrained(tmp_path / "adapter")
    text = "<|note|> the patient was seen today"
    model = load_causal(tmp_path / "adapter", base=base)
    found = token_log_probabilities(model, [text]).mean()[0]
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logs = trained(input_ids=ids).logits[0].log_softmax(-1)
    assert found == pytest.approx(-float(logs[:-1].gather(1, ids[0, 1:, None]).mean()), rel=3e-6)


def test_peak_of_logits_does_not_grow_with_the_text(tmp_path, monkeypatch):
    from privacygauge.language import model as models

    options = {**SIZES, **GROUPED, "max_position_embeddings": 4096}
    kept(tmp_path, "Llama", "ForCausalLM", options)
    model = load_causal(tmp_path)
    sizes = []
    before = models._moments
    monkeypatch.setattr(
        models, "_moments", lambda logits, token: sizes.append(len(logits)) or before(logits, token)
    )
    monkeypatch.setattr(
        type(model.module), "forward", lambda *_, **__: pytest.fail("all logits were computed")
    )
    token_log_probabilities(model, [" ".join(made_texts(60, 7))])
    assert sum(sizes) > 500
    assert max(sizes) <= models._ROWS_OF_MOMENTS
