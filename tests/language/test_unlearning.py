"""Unlearning of a tiny language model, by ascent, by training further and by retraining."""

import pytest

from privacygauge.language.unlearning_audit.audit import audit_unlearning
from tests.language.tiny_models import byte_pairs, made_texts, module, taught

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

TEXTS = made_texts(240, 31, least=8, most=14)
REST = TEXTS[:80]
GONE = TEXTS[80:160]
FRESH = TEXTS[160:]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Return the folders of a model before, after each way of forgetting, and retrained."""
    place = tmp_path_factory.mktemp("models")
    found = {
        "before": taught(place / "before", [*REST, *GONE], epochs=15),
        "retrained": taught(place / "retrained", REST, epochs=15),
        "again": taught(place / "again", REST[::-1], epochs=15),
    }
    tokenizer = byte_pairs(framed=False)
    made = type(module("gpt2")).from_pretrained(found["before"])
    learn = torch.optim.AdamW(made.parameters(), 3e-4)
    for some in range(0, len(GONE), 16):
        learn.zero_grad()
        for text in GONE[some : some + 16]:
            ids = torch.tensor([tokenizer(text)["input_ids"]])
            (-made(input_ids=ids, labels=ids).loss / 16).backward()
        learn.step()
    made.eval().save_pretrained(place / "ascent")
    tokenizer.save_pretrained(place / "ascent")
    return {**found, "ascent": place / "ascent"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("before", {"still known"}),
        ("ascent", {"still known"}),
        ("again", {"nothing found", "cannot be told"}),
    ],
)
def test_retraining_is_quiet_and_the_others_are_told(models, name, expected):
    found = audit_unlearning(
        models["before"], models[name], GONE, FRESH, retrained=models["retrained"]
    )
    assert found.state in expected, found.summary()


def test_copies_across_the_sides_are_left_out(folders):
    folder = folders("gpt2", tokenizer=byte_pairs(framed=False))
    copied = [f"{text} as before" for text in GONE[:20]]
    found = audit_unlearning(folder, folder, GONE, [*copied, *FRESH])
    assert found.found.before.n == len(GONE) - 20 + len(FRESH)
    assert found.state == "cannot be told"
