"""Training of small models: what is masked, what follows from the seed, going on after a stop."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binomtest

from privacygauge.errors import InputError
from privacygauge.language.model import load_masked
from privacygauge.language.tokenizer_training import SPECIAL, trained_word_pieces
from privacygauge.language.training import train_further, train_reference
from privacygauge.language.training_steps import Course, Vocabulary, batches, masked
from tests.language.notes import NotesDesign, made_up_notes
from tests.language.tiny_models import saved
from tests.thorough import times

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = pytest.mark.torch

NOTES = made_up_notes(NotesDesign((6, 6, 0, 6), (1, 1), (6, 8)), np.random.default_rng(0))
TINY = {"layers": 1, "hidden": 16, "vocabulary": 400}


def of(role):
    return [text for text, mine in zip(NOTES.text, NOTES.of(role), strict=True) if mine]


def weights(folder):
    return (folder / "model.safetensors").read_bytes()


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    place = tmp_path_factory.mktemp("trained") / "reference"
    return train_reference(of("reference"), place, **TINY, epochs=3, batch=16)


@pytest.mark.slow
def test_a_target_learns_its_members(reference, tmp_path):
    before = weights(reference.path)
    target = train_further(
        reference.path, of("member")[:16], tmp_path / "target", epochs=20, batch=8, rate=5e-3
    )
    assert len(target.losses) == 20
    assert target.losses[-1] < target.losses[0] - 0.3
    assert weights(reference.path) == before
    assert load_masked(target.path).tokenizer.sha256 == load_masked(reference.path).tokenizer.sha256


@pytest.mark.slow
def test_the_seed_decides_the_weights_however_often_training_stops(tmp_path):
    texts = of("reference")[:12]
    whole = train_reference(texts, tmp_path / "whole", **TINY, epochs=3, batch=4)

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_reference(texts, tmp_path / "part", **TINY, epochs=3, batch=4, progress=stop)
    # Torch's own random numbers have no part in it.
    torch.manual_seed(int(np.random.default_rng().integers(2**31)))
    before = torch.get_rng_state()
    told = []
    part = train_reference(
        texts, tmp_path / "part", **TINY, epochs=3, batch=4, progress=lambda *x: told.append(x)
    )
    assert told == [(2, 3), (3, 3)]
    assert torch.equal(before, torch.get_rng_state())
    assert part.losses == whole.losses
    assert weights(part.path) == weights(whole.path)
    assert not (part.path / "unfinished").exists()
    other = train_reference(texts, tmp_path / "other", **TINY, epochs=3, batch=4, seed=1)
    assert weights(other.path) != weights(whole.path)


def test_a_finished_training_is_not_done_again(reference):
    before = weights(reference.path)
    again = train_reference(
        of("reference"), reference.path, **TINY, epochs=3, batch=16, progress=lambda *_: 1 / 0
    )
    assert again == reference
    assert weights(again.path) == before
    assert "3 epochs, loss" in again.summary()


def test_what_was_trained_otherwise_is_not_written_over(reference):
    before = {path.name: path.read_bytes() for path in reference.path.iterdir()}
    for texts, options, name in (
        (of("reference"), {"epochs": 4}, "epochs is 3 there and 4 here"),
        (of("reference"), {"epochs": 3, "seed": 9}, "seed is 0 there and 9 here"),
        (of("member"), {"epochs": 3}, "texts is "),
    ):
        with pytest.raises(InputError, match=f"holds a model trained otherwise: {name}"):
            train_reference(texts, reference.path, **TINY, batch=16, **options)
    assert {path.name: path.read_bytes() for path in reference.path.iterdir()} == before


def test_the_vocabulary_comes_from_the_texts_alone(reference):
    model = load_masked(reference.path)
    vocabulary = json.loads(model.tokenizer.state)["model"]["vocab"]
    assert tuple(sorted(vocabulary, key=vocabulary.get)[:5]) == SPECIAL
    assert len(vocabulary) <= 400
    seen = " ".join(of("reference")).lower()
    assert all(piece.removeprefix("##") in seen for piece in vocabulary if piece not in SPECIAL)
    assert model.tokenizer.limit == 128
    assert reference.n_texts == len(of("reference"))


def test_the_vocabulary_depends_on_nothing_but_the_texts():
    texts = of("reference")
    first, again, turned = (
        trained_word_pieces(some, 300, 128).get_vocab() for some in (texts, texts, texts[::-1])
    )
    assert first == again == turned
    assert len(first) == 300


@pytest.mark.slow
def test_the_vocabulary_is_the_same_in_every_process():
    """The trainer's own order of letters follows random numbers of the process."""
    script = (
        "import sys, json\n"
        "from privacygauge.language.tokenizer_training import trained_word_pieces\n"
        "texts = json.load(sys.stdin)\n"
        "print(json.dumps(sorted(trained_word_pieces(texts, 300, 128).get_vocab().items())))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", script],
            input=json.dumps(of("reference")),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(3)
    }
    assert len(found) == 1


def test_what_is_masked():
    rng = np.random.default_rng(1)
    vocabulary = Vocabulary(1000, 4, 0)
    ids = rng.integers(5, 1000, (times(400), 50))
    content = np.zeros(ids.shape, bool)
    content[:, 1:-4] = True
    content[0] = False
    content[0, 7] = True
    shown, asked = masked(ids, content, vocabulary, rng)
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


def test_every_text_once_an_epoch():
    lengths = np.random.default_rng(2).integers(3, 60, 101)
    epochs = [np.concatenate(list(batches(lengths, 8, epoch, 0))) for epoch in range(3)]
    assert all(np.array_equal(np.sort(rows), np.arange(101)) for rows in epochs)
    assert not np.array_equal(epochs[0], epochs[1])
    assert np.array_equal(epochs[2], np.concatenate(list(batches(lengths, 8, 2, 0))))
    assert max(len(rows) for rows in batches(lengths, 8, 0, 0)) == 8


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
        ({"device": "tape"}, "device must be one that torch can use, got 'tape'"),
    ],
)
def test_numbers_that_break_a_rule(tmp_path, options, told):
    with pytest.raises(InputError, match=told):
        train_reference(of("reference")[:4], tmp_path / "out", **{**TINY, **options})
    assert not list(tmp_path.rglob("*.safetensors"))


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


def test_another_kind_of_model_learns_too_and_stays_as_it_was(tmp_path):
    folder = saved(tmp_path / "roberta", "roberta")
    before = weights(folder)
    found = train_further(folder, of("member")[:8], tmp_path / "out", epochs=4, rate=1e-2)
    assert found.losses[-1] < found.losses[0]
    assert weights(folder) == before
    assert load_masked(found.path).tokenizer.sha256 == load_masked(folder).tokenizer.sha256
