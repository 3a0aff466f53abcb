"""A Trainer with coins: who is held back is never seen, what is learnt by heart is found."""

import json
import sys

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.hooks import Canaries, audit_trainer
from privacygauge.language.model import load_causal
from privacygauge.language.splitting import read_coins
from privacygauge.report.grades import NONE
from tests.language.tiny_models import byte_pairs, made_texts, module, saved, word_pieces

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
pytestmark = [pytest.mark.torch, pytest.mark.usefixtures("undrawn")]

TEXTS = made_texts(120, 7, least=6, most=12)


class Seen:
    """A collator that notes the texts of every batch that is trained on."""

    def __init__(self, inner, tokenizer):
        self.inner = inner
        self.tokenizer = tokenizer
        self.texts = []

    def __call__(self, rows):
        ids = [np.asarray(row["input_ids"]).tolist() for row in rows]
        self.texts += [self.tokenizer.decode(one, skip_special_tokens=True) for one in ids]
        return self.inner(rows)


def language_trainer(
    place, kind="gpt2", epochs=1.0, texts=TEXTS, callbacks=(), model=None, **options
):
    tokenizer = byte_pairs(framed=False) if kind == "gpt2" else word_pieces()
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    masked = kind != "gpt2"
    rows = [
        {"input_ids": tokenizer(text)["input_ids"], "text": text, "who": f"p{i // 2}"}
        for i, text in enumerate(texts)
    ]
    inner = transformers.DataCollatorForLanguageModeling(tokenizer, mlm=masked)
    if model is None:
        made = module(kind, vocab=len(tokenizer))
        torch.manual_seed(0)
        model = type(made)(made.config)  # first weights as they are for a training
    return transformers.Trainer(
        model=model,
        args=arguments(place, epochs, **options),
        train_dataset=rows,
        data_collator=Seen(inner, tokenizer),
        processing_class=tokenizer,
        callbacks=list(callbacks),
    )


def arguments(place, epochs, **options):
    return transformers.TrainingArguments(
        output_dir=str(place / "training"),
        num_train_epochs=epochs,
        per_device_train_batch_size=16,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        logging_strategy="no",
        **{"save_strategy": "no", "learning_rate": 3e-3, **options},
    )


def classifier_trainer(place, epochs=1.0, n=300, noise=True):
    rng = np.random.default_rng(0)
    tokenizer = word_pieces()
    labels = rng.integers(3, size=n) if noise else np.zeros(n, int)
    rows = [
        {**tokenizer(text, padding="max_length", max_length=40, truncation=True), "labels": int(y)}
        for text, y in zip(made_texts(n, 8, least=4, most=12), labels, strict=True)
    ]
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=64, num_labels=3,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config)
    return transformers.Trainer(
        model=model, args=arguments(place, epochs), train_dataset=rows, processing_class=tokenizer
    )


@pytest.mark.slow
def test_nobody_who_is_held_back_is_seen(tmp_path):
    trainer = language_trainer(tmp_path)
    watch = audit_trainer(
        trainer, tmp_path / "out", unit="who", canaries=Canaries(10, 2, compared=5)
    )
    trainer.train()
    seen = trainer.data_collator.texts
    plain = [trainer.processing_class.decode(row["input_ids"]) for row in watch.given]
    held = {plain[i] for i in np.flatnonzero(~watch.inside)}
    assert 20 < len(held) < 60
    assert not held & set(seen)
    assert {plain[i] for i in np.flatnonzero(watch.inside)} <= set(seen)
    for person in range(60):
        assert len(set(watch.inside[2 * person : 2 * person + 2].tolist())) == 1
    made = [trainer.processing_class.decode(row["input_ids"]) for row in watch.canary_rows]
    for text, inside in zip(made, watch.in_training, strict=True):
        assert seen.count(text) == 2 * inside
    n_in = int(watch.inside.sum()) + 2 * int(watch.in_training.sum())
    assert len(seen) == n_in == len(watch.training_set)
    assert watch.audit.samples.n_in == int(watch.audit.records.member.sum())
    judged = set(watch.audit.records.ids[watch.audit.records.member])
    assert judged <= {f"row-{i}" for i in np.flatnonzero(watch.inside & watch.tested)}


@pytest.mark.slow
def test_a_language_model_that_learns_by_heart_is_found_out(tmp_path):
    trainer = language_trainer(tmp_path, epochs=25)
    watch = audit_trainer(trainer, tmp_path / "out", tested=1.0, canaries=Canaries(40, 4))
    trainer.train()
    audit = watch.audit
    best = max(audit.evaluations, key=lambda e: e.auc.low)
    assert best.auc.low > 0.75
    assert audit.one_run.estimate.low > 0.3
    assert "fair coin for every person" in audit.game.secret
    assert audit.report().verdict.grade != NONE
    assert np.median(watch.canaries.exposure) > 4  # 1 bit where nothing is memorised
    assert watch.canaries.epsilon.estimate.low > 0.5
    kept = json.loads((tmp_path / "out" / "report.json").read_text())
    assert "median exposure" in kept["provenance"]["canaries"]
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"coins.json", "members.jsonl", "nonmembers.jsonl", "model", "reference"} <= names


@pytest.mark.slow
def test_a_model_that_trains_on_other_texts_gives_nothing_away(tmp_path):
    trainer = language_trainer(tmp_path, epochs=10)
    watch = audit_trainer(trainer, tmp_path / "out", tested=1.0, canaries=Canaries(40))
    trainer.train_dataset = language_trainer(tmp_path, texts=made_texts(90, 11)).train_dataset
    trainer.train()
    for signal in watch.audit.samples.signals:
        assert signal.auc.low < 0.5 < signal.auc.high
    assert watch.audit.one_run.estimate.low == 0.0
    assert watch.canaries.epsilon.estimate.low == 0.0
    assert np.mean(watch.canaries.exposure) < 2.5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
@pytest.mark.parametrize("own_reference", [False, True])
def test_an_adapter_is_audited_beside_the_model_without_it(tmp_path, own_reference):
    peft = pytest.importorskip("peft")
    trainer = language_trainer(tmp_path)
    start = tmp_path / "start"
    trainer.save_model(str(start))
    lora = peft.LoraConfig(r=8, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True)
    trainer = language_trainer(
        tmp_path, epochs=40, texts=TEXTS[:40], learning_rate=3e-2,
        model=peft.get_peft_model(trainer.model, lora),
    )  # fmt: skip
    given = {"reference": start} if own_reference else {}
    watch = audit_trainer(trainer, tmp_path / "out", tested=1.0, **given)
    trainer.train()
    loss, ratio = (
        next(e for e in watch.audit.evaluations if e.name == name)
        for name in ("loss", "likelihood-ratio")
    )
    assert ratio.auc.low > 0.6
    assert loss.auc.value > 0.6
    kept = {path.name for path in (tmp_path / "out" / "model").glob("*.safetensors")}
    assert kept == {"adapter_model.safetensors"}
    base, began = (
        load_causal(path).module.state_dict() for path in (tmp_path / "out" / "reference", start)
    )
    assert base.keys() == began.keys()
    assert all(torch.equal(base[name], began[name]) for name in base)


@pytest.mark.slow
def test_a_masked_model_and_a_reference_of_ones_own(tmp_path):
    start = language_trainer(tmp_path, "bert")
    start.save_model(str(tmp_path / "reference"))
    trainer = language_trainer(tmp_path, "bert", epochs=30, texts=TEXTS[:40], learning_rate=1e-2)
    watch = audit_trainer(
        trainer, tmp_path / "out", tested=1.0, reference=tmp_path / "reference",
        canaries=Canaries(10, compared=8),
    )  # fmt: skip
    trainer.train()
    ratio = next(e for e in watch.audit.evaluations if e.name == "likelihood-ratio")
    assert ratio.auc.low > 0.55
    assert not (tmp_path / "out" / "reference").exists()
    assert len(watch.canaries.loss) == 10


@pytest.mark.slow
def test_a_killed_training_leaves_its_coins_and_goes_on_with_them(tmp_path):
    class Killed(transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **_):
            if state.global_step == 7:
                raise KeyboardInterrupt

    options = {"save_strategy": "steps", "save_steps": 5}
    trainer = language_trainer(tmp_path, epochs=2, callbacks=[Killed()], **options)
    first = audit_trainer(trainer, tmp_path / "out", unit="who")
    trainer.model.save_pretrained(tmp_path / "before")
    coins = (tmp_path / "out" / "coins.json").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        trainer.train()
    assert first.audit is None
    start = (tmp_path / "out" / "reference" / "model.safetensors").read_bytes()
    assert start == (tmp_path / "before" / "model.safetensors").read_bytes()
    again = language_trainer(tmp_path, epochs=2, **options)
    watch = audit_trainer(again, tmp_path / "out", unit="who")
    again.train(resume_from_checkpoint=True)
    assert (tmp_path / "out" / "coins.json").read_bytes() == coins
    assert (tmp_path / "out" / "reference" / "model.safetensors").read_bytes() == start
    assert np.array_equal(watch.inside, first.inside)
    held = {TEXTS[i] for i in np.flatnonzero(~watch.inside)}
    assert not held & set(again.data_collator.texts)
    assert watch.audit is not None
    # Begun once more, the start would have seen the members.
    with pytest.raises(InputError, match="must begin with the model in"):
        again.train()


def test_the_tokens_that_were_trained_are_scored_and_no_others(tmp_path):
    from privacygauge.language.likelihoods import token_log_probabilities
    from privacygauge.language.texts import tokens_of_training

    model = load_causal(saved(tmp_path, "gpt2", tokenizer=byte_pairs(framed=False)))
    ids = byte_pairs(framed=False)(TEXTS[0])["input_ids"]
    labels = [-100] * 4 + ids[4:]
    padded = {
        "input_ids": [*ids, 2, 2],
        "labels": [*labels, -100, -100],
        "attention_mask": [1] * len(ids) + [0, 0],
    }
    one = tokens_of_training(padded, "any text")
    assert list(one.ids) == ids
    with torch.inference_mode():
        given = {"input_ids": torch.tensor([ids]), "labels": torch.tensor([labels])}
        loss = float(model.module(**given).loss)
    found = token_log_probabilities(model, [one])
    assert found.mean()[0] == pytest.approx(loss, abs=1e-5)
    assert found.lengths[0] == len(ids) - 4


def test_the_padding_of_a_canary_is_not_trained_on(tmp_path):
    trainer = language_trainer(tmp_path)
    tokenizer = trainer.processing_class
    rows = []
    for text in TEXTS:
        row = dict(tokenizer(text, padding="max_length", max_length=40, truncation=True))
        pairs = zip(row["input_ids"], row["attention_mask"], strict=True)
        row["labels"] = [token if kept else -100 for token, kept in pairs]
        rows.append(row)
    trainer.train_dataset = rows
    watch = audit_trainer(trainer, tmp_path / "out", canaries=Canaries(8))
    for row in watch.canary_rows:
        assert len(row["labels"]) == len(row["input_ids"]) == 40
        assert 0 < sum(row["attention_mask"]) < 40
        for token, label, kept in zip(
            row["input_ids"], row["labels"], row["attention_mask"], strict=True
        ):
            assert label == (token if kept else -100)


@pytest.mark.slow
def test_coins_of_another_training_are_refused(tmp_path):
    audit_trainer(language_trainer(tmp_path), tmp_path / "out")
    audit_trainer(language_trainer(tmp_path), tmp_path / "out")
    for given in ({"seed": 1}, {"tested": 0.4}, {"unit": "who"}, {"canaries": Canaries(20)}):
        with pytest.raises(InputError, match="coins of another training"):
            audit_trainer(language_trainer(tmp_path), tmp_path / "out", **given)
    others = language_trainer(tmp_path, texts=made_texts(120, 9))
    with pytest.raises(InputError, match="coins of another training"):
        audit_trainer(others, tmp_path / "out")
    coins = read_coins(tmp_path / "out")
    sides = [side for side, _ in coins.people.values()]
    assert sides.count("trained") == 60
    assert min(sides.count("member"), sides.count("nonmember")) > 15


@pytest.mark.slow
def test_a_classifier_that_learns_random_classes_is_found_out(tmp_path):
    trainer = classifier_trainer(tmp_path, epochs=15, n=200)
    watch = audit_trainer(trainer, tmp_path / "out", canaries=Canaries(40, copies=4))
    trainer.train()
    assert watch.audit.headline.auc.low > 0.55
    assert "drawn by a fair coin" in watch.audit.game.secret
    assert watch.canaries.epsilon.estimate.low > 0.3
    assert (tmp_path / "out" / "report.html").is_file()
    assert not (tmp_path / "out" / "members.jsonl").exists()


@pytest.mark.slow
def test_canaries_of_a_classifier_have_a_wrong_class_and_are_no_other_record(tmp_path):
    trainer = classifier_trainer(tmp_path)
    watch = audit_trainer(trainer, tmp_path / "out", canaries=Canaries(50))
    ids = {str(row["input_ids"]): row["labels"] for row in watch.given}
    for row in watch.canary_rows:
        assert row["labels"] != ids[str(row["input_ids"])]
        assert 0 <= row["labels"] < 3
    trained = [watch.training_set[i] for i in range(len(watch.training_set))]
    held = [
        str(r["input_ids"])
        for r, x in zip(watch.canary_rows, watch.in_training, strict=True)
        if not x
    ]
    assert not set(held) & {str(row["input_ids"]) for row in trained}
    assert len(trained) == int(watch.inside.sum()) + int(watch.in_training.sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"unit": "nobody"}, "no column 'nobody'"),
        ({"unit": [1, 2]}, "unit must have 120 rows"),
        ({"tested": 0.0}, "tested must be in"),
    ],
)
def test_what_is_wrong_is_said_before_training(tmp_path, change, told):
    with pytest.raises(InputError, match=told):
        audit_trainer(language_trainer(tmp_path), tmp_path / "out", **change)
    assert not (tmp_path / "out" / "coins.json").exists()


def coins_of_canaries(place, seed, **given):
    """Return who of the canaries is put in, None where all or none are."""
    try:
        trainer = language_trainer(place)
        return audit_trainer(trainer, place / f"{seed}", seed=seed, **given).in_training
    except InputError:
        return None


def test_what_cannot_be_audited(tmp_path, monkeypatch):
    trainer = classifier_trainer(tmp_path)
    with pytest.raises(InputError, match="50 canaries are made of records"):
        audit_trainer(trainer, tmp_path / "a", tested=0.9, canaries=Canaries(50))
    trainer.train_dataset = None
    with pytest.raises(InputError, match="train_dataset of known length"):
        audit_trainer(trainer, tmp_path / "b")
    trainer = language_trainer(tmp_path)
    trainer.model = torch.nn.Linear(2, 2)
    with pytest.raises(InputError, match="or a classifier, got Linear"):
        audit_trainer(trainer, tmp_path / "c")
    with pytest.raises(InputError, match="copies must be at least 1"):
        Canaries(10, copies=0)
    few = {"canaries": Canaries(4, compared=0)}
    unlucky = next(s for s in range(99) if coins_of_canaries(tmp_path, s, **few) is None)
    with pytest.raises(InputError, match="all 4 canaries on one side"):
        audit_trainer(language_trainer(tmp_path), tmp_path / "d", seed=unlucky, **few)
    monkeypatch.setitem(sys.modules, "accelerate", None)
    with pytest.raises(InputError, match=r"needs accelerate.*privacygauge\[huggingface\]"):
        audit_trainer(trainer, tmp_path / "d")
