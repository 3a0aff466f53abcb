"""Training of small models: what is masked, what follows from the seed, going on after a stop."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binomtest

from privacygauge.errors import InputError
from privacygauge.language.loading import model_kind
from privacygauge.language.model import load_causal, load_masked
from privacygauge.language.tokens import tokenizer_of
from privacygauge.language.training import (
    SPECIAL,
    train_further,
    train_reference,
    trained_byte_pairs,
    trained_word_pieces,
)
from privacygauge.language.training_steps import (
    NOT_SCORED,
    Course,
    Vocabulary,
    mask_tokens,
    next_tokens,
    step_rows,
)
from tests.language.notes import NotesDesign, made_up_notes
from tests.language.tiny_models import saved
from tests.thorough import times

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = pytest.mark.torch

NOTES = made_up_notes(NotesDesign((6, 6, 0, 6), (1, 1), (6, 8)), np.random.default_rng(0))
TINY = {"layers": 1, "hidden": 16, "vocabulary": 400}
LOADED = {"masked": load_masked, "causal": load_causal}
TRAINED = {"masked": trained_word_pieces, "causal": trained_byte_pairs}


def of(role):
    return [text for text, mine in zip(NOTES.text, NOTES.of(role), strict=True) if mine]


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module", params=LOADED)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def reference(kind, tmp_path_factory):
    place = tmp_path_factory.mktemp("trained") / "reference"
    return train_reference(of("reference"), place, **TINY, kind=kind, epochs=3, batch=16)


@pytest.mark.slow
def test_a_target_learns_its_members(kind, reference, tmp_path):
    before = weights(reference.path)
    load = LOADED[kind]
    target = train_further(
        reference.path, of("member")[:16], tmp_path / "target", epochs=20, batch=8, rate=5e-3
    )
    assert len(target.losses) == 20
    assert target.losses[-1] < target.losses[0] - 0.3
    assert weights(reference.path) == before
    assert load(target.path).tokenizer.sha256 == load(reference.path).tokenizer.sha256


@pytest.mark.slow
@pytest.mark.parametrize("further", [False, True])
def test_the_seed_decides_the_weights_however_often_training_stops(
    kind, reference, tmp_path, further
):
    texts = of("member")[:12]

    def trained(name, **options):
        given = {"epochs": 3, "batch": 4, **options}
        if further:
            return train_further(reference.path, texts, tmp_path / name, **given)
        return train_reference(texts, tmp_path / name, **TINY, kind=kind, **given)

    whole = trained("whole")

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained("part", progress=stop)
    # Torch's own random numbers have no part in it.
    torch.manual_seed(int(np.random.default_rng().integers(2**31)))
    before = torch.get_rng_state()
    told = []
    part = trained("part", progress=lambda *x: told.append(x))
    assert told == [(2, 3), (3, 3)]
    assert torch.equal(before, torch.get_rng_state())
    assert part.losses == whole.losses
    assert weights(part.path) == weights(whole.path)
    assert not (part.path / "unfinished").exists()
    other = trained("other", seed=1)
    assert weights(other.path) != weights(whole.path)


@pytest.mark.slow
def test_a_finished_training_is_not_done_again(kind, reference):
    before = weights(reference.path)
    size = {**TINY, "kind": kind, "epochs": 3, "batch": 16}
    again = train_reference(of("reference"), reference.path, **size, progress=lambda *_: 1 / 0)
    assert again == reference
    assert weights(again.path) == before
    assert "3 epochs, loss" in again.summary()


@pytest.mark.slow
def test_what_was_trained_otherwise_is_not_written_over(kind, reference):
    before = {path.name: path.read_bytes() for path in reference.path.iterdir()}
    for texts, options, name in (
        (of("reference"), {"epochs": 4}, "epochs is 3 there and 4 here"),
        (of("reference"), {"epochs": 3, "seed": 9}, "seed is 0 there and 9 here"),
        (of("reference"), {"epochs": 3, "context": 64}, "context is 128 there and 64 here"),
        (of("member"), {"epochs": 3}, "texts is "),
    ):
        with pytest.raises(InputError, match=f"holds a model trained otherwise: {name}"):
            train_reference(texts, reference.path, **TINY, kind=kind, batch=16, **options)
    assert {path.name: path.read_bytes() for path in reference.path.iterdir()} == before


def test_the_vocabulary_comes_from_the_texts_alone(kind, reference):
    model = LOADED[kind](reference.path)
    vocabulary = json.loads(model.tokenizer.state)["model"]["vocab"]
    assert len(vocabulary) <= 400
    seen = " ".join(of("reference"))
    if kind == "masked":
        assert tuple(sorted(vocabulary, key=vocabulary.get)[:5]) == SPECIAL
        pieces = {piece.removeprefix("##") for piece in vocabulary if piece not in SPECIAL}
        assert all(piece in seen.lower() for piece in pieces)
    else:
        # All bytes are known to it, and stand behind the two ends.
        longer = [piece for piece, number in vocabulary.items() if number >= 2 + 256]
        assert longer
        assert all(piece.replace("\u0120", " ") in seen for piece in longer)
    assert (model.tokenizer.limit, model.limit) == (128, 128)
    assert reference.n_texts == len(of("reference"))


@pytest.mark.parametrize("text", ["Caf\u00e9 \U0001f9b4  at\n[MASK] <s>", "\u0000\ufffd", " ", "a"])
def test_no_text_is_unknown_to_pairs_of_bytes(text):
    made = trained_byte_pairs(of("reference"), 300, 128)
    ids = made(text)["input_ids"]
    assert (ids[0], ids[-1]) == (made.bos_token_id, made.eos_token_id)
    found = tokenizer_of(made, "made").encoded([text])[0]
    assert found.framing.tolist() == [True, *[False] * (len(found.ids) - 2), True]
    assert made.decode(found.ids[1:-1]) == text


def test_the_vocabulary_depends_on_nothing_but_the_texts(kind):
    texts = of("reference")
    first, again, turned = (
        TRAINED[kind](some, 300, 128).get_vocab() for some in (texts, texts, texts[::-1])
    )
    assert first == again == turned
    assert len(first) == 300


@pytest.mark.slow
def test_the_vocabulary_is_the_same_in_every_process():
    """The trainer's own order of letters follows random numbers of the process."""
    script = (
        "import sys, json\n"
        "from privacygauge.language import training\n"
        "texts, names = json.load(sys.stdin)\n"
        "trained = [getattr(training, name)(texts, 300, 128) for name in names]\n"
        "print(json.dumps([one.get_vocab() for one in trained]))"
    )
    texts = of("reference")
    trainers = [*TRAINED.values()]
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps([texts, [trainer.__name__ for trainer in trainers]]),
        capture_output=True,
        text=True,
        check=True,
    )
    here = [trainer(texts, 300, 128).get_vocab() for trainer in trainers]
    assert json.loads(done.stdout) == here


def test_what_is_masked():
    rng = np.random.default_rng(1)
    vocabulary = Vocabulary(1000, 4, 0)
    ids = rng.integers(5, 1000, (times(400), 50))
    content = np.zeros(ids.shape, bool)
    content[:, 1:-4] = True
    content[0] = False
    content[0, 7] = True
    shown, asked = mask_tokens(ids, content, vocabulary, rng)
    assert not (asked & ~content).any()
    assert asked.any(axis=1).all()
    assert asked[0, 7]
    assert np.array_equal(shown[~asked], ids[~asked])
    n = int(asked[1:].sum())
    hidden = (shown == 4) & asked
    replaced = (shown != ids) & asked & ~hidden
    # One in 2,000 rows of 45 tokens would have none; a random token is the same in 1 of 1,000.
    assert binomtest(n, int(content[1:].sum()), 0.15).pvalue > 0.001
    assert binomtest(int(hidden[1:].sum()), n, 0.8).pvalue > 0.001
    assert binomtest(int(replaced[1:].sum()), n, 0.1).pvalue > 0.001


def test_every_token_is_followed_by_the_next_one_of_its_row(rng):
    for _ in range(times(40)):
        lengths = rng.integers(1, 9, int(rng.integers(1, 6)))
        ids = rng.integers(0, 50, (len(lengths), int(lengths.max())))
        labels = next_tokens(ids, np.arange(ids.shape[1]) < lengths[:, None])
        for row, label, n in zip(ids.tolist(), labels.tolist(), lengths, strict=True):
            assert label == [*row[1:n], *[NOT_SCORED] * (len(row) - n + 1)]


def test_the_loss_of_a_causal_model_is_that_of_transformers(tmp_path):
    """A rate so small that nothing is learnt: the loss is that of the model as it is saved."""
    found = train_reference(
        of("member"), tmp_path, **TINY, kind="causal", epochs=1, batch=5, rate=1e-12
    )
    model = load_causal(tmp_path)
    total = n_predicted = 0
    for encoded in model.tokenizer.encoded(of("member")):
        ids = torch.as_tensor(encoded.ids)[None]
        with torch.inference_mode():
            total += float(model.module(input_ids=ids, labels=ids).loss) * (ids.shape[1] - 1)
        n_predicted += ids.shape[1] - 1
    assert found.losses[0] == pytest.approx(total / n_predicted, rel=1e-5)


@pytest.mark.slow
def test_longer_texts_are_cut_off_at_the_context(kind, reference, tmp_path):
    size = {"epochs": 1, "batch": 16, "context": 16}
    new = train_reference(of("member"), tmp_path / "new", **TINY, kind=kind, **size)
    assert LOADED[kind](new.path).limit == 16
    further = train_further(reference.path, of("member"), tmp_path / "further", **size)
    assert LOADED[kind](further.path).limit == 128
    for found in (new, further):
        assert found.n_truncated > 0
        assert found.n_tokens <= found.n_texts * 14
        assert "more cut off" in found.summary()


@pytest.mark.parametrize(
    ("context", "told"),
    [(3, "context must be at least 4 tokens, got 3"), (129, "context must be at most the 128")],
)
def test_contexts_that_a_model_does_not_have(reference, tmp_path, context, told):
    with pytest.raises(InputError, match=told):
        train_further(reference.path, ["pain"], tmp_path / "out", context=context)


def test_every_text_once_an_epoch():
    lengths = np.random.default_rng(2).integers(3, 60, 101)
    epochs = [np.concatenate(list(step_rows(lengths, 8, epoch, 0))) for epoch in range(3)]
    assert all(np.array_equal(np.sort(rows), np.arange(101)) for rows in epochs)
    assert not np.array_equal(epochs[0], epochs[1])
    assert np.array_equal(epochs[2], np.concatenate(list(step_rows(lengths, 8, 2, 0))))
    assert max(len(rows) for rows in step_rows(lengths, 8, 0, 0)) == 8


def test_the_rate_goes_up_and_down():
    course = Course(1, 1, 0.5, 0, "float32", "cpu")
    rates = np.array([course.step_rate(step, 200) for step in range(200)])
    assert np.argmax(rates) in (11, 12)
    assert rates.max() == 0.5
    assert (np.diff(rates[:12]) > 0).all()
    assert (np.diff(rates[12:]) < 0).all()
    assert 0 < rates[-1] < 0.01
    assert [course.step_rate(0, 1)] == [0.5]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"epochs": 0}, "epochs must be an integer of at least 1, got 0"),
        ({"batch": 2.5}, "batch must be an integer of at least 1, got 2.5"),
        ({"rate": 0.0}, "rate must be above 0 and finite, got 0.0"),
        ({"rate": float("nan")}, "rate must be above 0 and finite, got nan"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
        ({"precision": "int8"}, "precision must be float32 or bfloat16, got 'int8'"),
        ({"layers": 0}, "layers must be at least 1, got 0"),
        ({"hidden": 0}, "hidden must be at least 1, got 0"),
        ({"hidden": 130 * 2 + 1, "layers": 1}, "hidden must be divisible by"),
        ({"vocabulary": 20}, "vocabulary must be at least"),
        ({"vocabulary": 257, "kind": "causal"}, "vocabulary must be at least 258 for the bytes"),
        ({"kind": "other"}, "kind must be masked or causal, got 'other'"),
        ({"context": 3}, "context must be at least 4 tokens, got 3"),
        ({"device": "tape"}, "device must be one that torch can use, got 'tape'"),
    ],
)
def test_numbers_that_break_a_rule(tmp_path, options, told):
    with pytest.raises(InputError, match=told):
        train_reference(of("reference")[:4], tmp_path / "out", **{**TINY, **options})
    assert not list(tmp_path.rglob("*.safetensors"))


def test_a_misspelt_setting_is_an_error(reference, tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        train_reference(["pain"], tmp_path / "out", **TINY, epoch=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'layers'"):
        train_further(reference.path, ["pain"], tmp_path / "out", layers=1)


def test_texts_and_folders_that_break_a_rule(reference, tmp_path):
    with pytest.raises(InputError, match="texts must be a sequence of at least one text"):
        train_reference([], tmp_path / "out", **TINY)
    with pytest.raises(InputError, match="text 1 must be a str, got int"):
        train_reference(["pain", 7], tmp_path / "out", **TINY)
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds something else than a training \(mine.txt\)"):
        train_reference(["pain"], tmp_path, **TINY)
    with pytest.raises(InputError, match="is a file, not a directory"):
        train_reference(["pain"], tmp_path / "mine.txt", **TINY)
    with pytest.raises(InputError, match="out must be another folder than the model's"):
        train_further(reference.path, ["pain"], reference.path)
    with pytest.raises(InputError, match="the model must be a folder of this machine"):
        train_further(tmp_path / "nothing", ["pain"], tmp_path / "out")


def test_a_damaged_checkpoint_is_named(tmp_path):
    folder = tmp_path / "out" / "unfinished"
    folder.mkdir(parents=True)
    (folder / "epoch.safetensors").write_bytes(b"cut off")
    with pytest.raises(InputError, match=r"epoch.safetensors is damaged: remove it to start again"):
        train_reference(["pain and fever"], tmp_path / "out", **TINY, epochs=1)


@pytest.mark.parametrize("name", [pytest.param("roberta", marks=pytest.mark.slow), "gpt2"])
def test_another_kind_of_model_learns_too_and_stays_as_it_was(name, tmp_path):
    folder = saved(tmp_path / name, name)
    before = weights(folder)
    load = LOADED[model_kind(folder)]
    found = train_further(folder, of("member")[:8], tmp_path / "out", epochs=4, rate=1e-2)
    assert found.losses[-1] < found.losses[0]
    assert weights(folder) == before
    assert load(found.path).tokenizer.sha256 == load(folder).tokenizer.sha256


def test_a_token_alone_teaches_a_causal_model_nothing(tmp_path):
    """Its tokenizer puts nothing before a text."""
    folder = saved(tmp_path / "gpt2", "gpt2")
    with pytest.raises(InputError, match="at least two tokens for a causal model, got one each"):
        train_further(folder, ["a", "b"], tmp_path / "out")
    mixed = train_further(folder, ["a", "pain in left knee"], tmp_path / "mixed", batch=1, epochs=1)
    assert np.isfinite(mixed.losses).all()


def test_an_encoder_decoder_is_not_trained(tmp_path):
    folder = saved(tmp_path / "bert")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "is_encoder_decoder": True}))
    with pytest.raises(InputError, match="masked or a causal model, got an encoder-decoder"):
        train_further(folder, ["pain"], tmp_path / "out")
