"""Log-probabilities and energies, against the obvious loop over texts, masks and tokens."""

import dataclasses
import hashlib
import itertools
import json
import math
import pickle
from copy import deepcopy

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import pair_log_probabilities, token_log_probabilities
from privacygauge.language.model import load_causal, load_masked
from privacygauge.language.tokens import tokenizer_of
from privacygauge.language.windows import Windows
from tests.language.tiny_models import byte_pairs, made_texts, word_pieces
from tests.thorough import times

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

# Sums of float32 in another order; the log-probabilities here are about -7.
CLOSE = 1e-5
FAMILIES = (
    *("roberta", "distilbert", "deberta-new"),
    *(
        pytest.param(kind, marks=pytest.mark.slow)
        for kind in ("electra", "deberta", "deberta-v2", "modernbert", "albert", "mpnet")
    ),
)


def log_probabilities(model, text, hidden):
    """Return log p of the content tokens of one text where those in `hidden` are masked."""
    encoded = model.tokenizer.encoded([text])[0]
    ids = torch.as_tensor(encoded.ids)[None]
    content = np.flatnonzero(~encoded.framing)
    shown = ids.clone()
    shown[0, content[list(hidden)]] = model.tokenizer.mask_id
    with torch.inference_mode():
        logits = model.module(input_ids=shown).logits[0]
    return logits.log_softmax(-1).gather(1, ids[0, :, None])[content, 0].numpy()


def energy(model, text, masks):
    """Return the mean form of the energy, one mask and one token at a time."""
    means = []
    for mask in masks:
        logs = log_probabilities(model, text, mask)
        means.append(-sum(float(logs[i]) for i in mask) / len(mask))
    return sum(means) / len(means)


def short_texts(model, n, most=8):
    """Return `n` texts of at most `most` tokens, with their lengths."""
    found = {}
    for text in made_texts(400, 3, most=5):
        length = int((~model.tokenizer.encoded([text])[0].framing).sum())
        if length <= most:
            found[text] = length
    return dict(itertools.islice(found.items(), n))


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.15, 0.5])
def test_exhaustive_energies_are_the_whole_sum(bert, fraction):
    texts = short_texts(bert, times(8))
    found = token_log_probabilities(bert, [*texts], MaskPlan("exhaustive", 70, fraction))
    for i, (text, n) in enumerate(texts.items()):
        size = math.ceil(fraction * n)
        whole = energy(bert, text, list(itertools.combinations(range(n), size)))
        assert found.mean()[i] == pytest.approx(whole, abs=CLOSE)
        assert found.sum()[i] == pytest.approx(whole * size, abs=CLOSE * size)
    assert found.lengths.tolist() == [*texts.values()]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["balanced", "random"])
def test_few_masks_give_the_whole_sum_on_average(bert, pattern):
    text, n = next((text, n) for text, n in short_texts(bert, 200).items() if n == 8)
    subsets = itertools.combinations(range(n), 4)
    table = {mask: energy(bert, text, [mask]) for mask in subsets}
    few = np.array(
        [
            np.mean([table[tuple(m)] for m in MaskPlan(pattern, 10, 0.5, seed).masks("a", n)])
            for seed in range(times(800))
        ]
    )
    assert abs(few.mean() - np.mean([*table.values()])) < 4 * few.std() / math.sqrt(len(few))
    assert few.std() > 0.01
    # And a run takes its masks from the plan, with the text's checksum as the key.
    plan = MaskPlan(pattern, 10, 0.5)
    key = hashlib.sha256(text.encode()).hexdigest()
    expected = np.mean([table[tuple(mask)] for mask in plan.masks(key, n)])
    assert token_log_probabilities(bert, [text], plan).mean()[0] == pytest.approx(
        expected, abs=CLOSE
    )


@pytest.mark.slow
def test_every_row_is_what_a_single_pass_says(bert, texts):
    plan = MaskPlan(seed=4)
    found = token_log_probabilities(bert, texts, plan)
    for i, text in enumerate(texts[:6]):
        rows = found.rows(i)
        for copy in np.unique(found.copy[rows]):
            mine = np.arange(rows.start, rows.stop)[found.copy[rows] == copy]
            logs = log_probabilities(bert, text, found.unit[mine])
            assert found.log_probability[mine] == pytest.approx(logs[found.unit[mine]], abs=CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAMILIES)
def test_every_family_agrees_with_the_loop(folders, kind):
    model = load_masked(folders(kind))
    assert (model.head is None) == (kind == "deberta-new")
    texts = [*short_texts(model, 3)]
    found = token_log_probabilities(model, texts, MaskPlan("exhaustive", 70))
    for i, text in enumerate(texts):
        n = int(found.lengths[i])
        masks = list(itertools.combinations(range(n), math.ceil(0.15 * n)))
        assert found.mean()[i] == pytest.approx(energy(model, text, masks), abs=CLOSE)


def test_a_text_alone_is_the_same_text_in_any_company(bert, texts, together):
    for i in np.argsort(together.lengths)[[0, len(texts) // 2, -1]]:
        alone = token_log_probabilities(bert, [texts[i]])
        assert np.array_equal(alone.position, together.position[together.rows(i)])
        difference = alone.log_probability - together.log_probability[together.rows(i)]
        assert np.abs(difference).max() <= CLOSE


def test_order_and_repetition_change_nothing(bert, texts, together, rng):
    order = rng.permutation(len(texts))
    first = together.mean()
    again = token_log_probabilities(bert, [texts[i] for i in [*order, order[0]]]).mean()
    assert np.array_equal(again, first[[*order, order[0]]])


def test_the_head_alone_gives_what_the_whole_model_gives(bert, texts, together):
    assert bert.head is not None
    whole = token_log_probabilities(dataclasses.replace(bert, head=None), texts)
    assert np.abs(whole.log_probability - together.log_probability).max() <= CLOSE


def test_the_frame_is_never_scored_and_written_marks_may_be_letters(bert):
    text = "the [MASK] was [SEP] seen [CLS] today"
    literal = dataclasses.replace(bert.tokenizer, literal=True)
    assert literal.sha256 != bert.tokenizer.sha256
    assert deepcopy(literal).literal
    bert = dataclasses.replace(bert, tokenizer=literal)
    found = token_log_probabilities(bert, [text], MaskPlan("single"))
    encoded = bert.tokenizer.encoded([text])[0]
    assert found.position.tolist() == np.flatnonzero(~encoded.framing).tolist()
    assert not {bert.mask_id, *encoded.ids[encoded.framing]} & set(encoded.ids[~encoded.framing])
    assert found.n_unknown[0] == np.count_nonzero(encoded.ids == bert.tokenizer.unknown_id) > 0


CHAT = "<|im_start|>user\nwhat is it?<|im_end|> </s><|im_start|>assistant\nno fever<|im_end|>"


@pytest.mark.parametrize("kind", ["byte pairs", "byte pairs in a frame", "word pieces"])
def test_written_special_tokens_are_read_as_the_tokenizer_reads_them(kind):
    own = word_pieces() if kind == "word pieces" else byte_pairs(framed="frame" in kind)
    own.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    text = CHAT + " the [SEP] was <mask> seen"
    ours = tokenizer_of(own, "own")
    [found] = ours.encoded([text])
    assert found.ids.tolist() == own(text)["input_ids"]
    assert np.isin(own.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"]), found.ids).all()
    inside = own(text, add_special_tokens=False)["input_ids"]
    assert found.ids[~found.framing].tolist() == inside
    [letters] = dataclasses.replace(ours, literal=True).encoded([text])
    assert len(letters.ids) > len(found.ids)
    assert not set(own.all_special_ids) & set(letters.ids[~letters.framing]) - {own.unk_token_id}


def test_special_tokens_are_letters_where_asked(folders):
    path = folders("gpt2", tokenizer=byte_pairs(framed=False))
    text = "seen today</s> no fever"
    trusted, literal = (
        token_log_probabilities(load_causal(path, windows=Windows(literal=x)), [text])
        for x in (False, True)
    )
    assert trusted.lengths[0] < literal.lengths[0]


@pytest.mark.slow
def test_single_masks_make_the_pseudo_log_likelihood(bert, texts):
    found = token_log_probabilities(bert, texts[:4], MaskPlan("single"))
    for i, text in enumerate(texts[:4]):
        n = int(found.lengths[i])
        each = [float(log_probabilities(bert, text, [j])[j]) for j in range(n)]
        assert found.pseudo_log_likelihood()[i] == pytest.approx(sum(each), abs=CLOSE * n)
        assert found.mean()[i] == pytest.approx(-sum(each) / n, abs=CLOSE)
    with pytest.raises(InputError, match=r"every unit must be masked once .*: use the pattern sin"):
        token_log_probabilities(
            bert, ["the patient was seen today with pain"]
        ).pseudo_log_likelihood()


def test_a_word_hides_all_of_its_tokens(bert):
    text = "pressure is stable, aspirin daily"
    found = token_log_probabilities(bert, [text], MaskPlan("single", unit="word"))
    encoded = bert.tokenizer.encoded([text])[0]
    assert found.lengths[0] == 6
    assert len(found.text) == int((~encoded.framing).sum()) > 6
    for word in range(6):
        hidden = found.position[found.unit == word] - 1
        expected = log_probabilities(bert, text, hidden)[hidden]
        assert found.log_probability[found.unit == word] == pytest.approx(expected, abs=CLOSE)
    assert found.of_unit()[2].sum() == pytest.approx(found.pseudo_log_likelihood()[0])


def test_of_unit_averages_over_copies(bert, texts):
    found = token_log_probabilities(bert, texts[:3])
    text, unit, logs = found.of_unit()
    for a, b, value in zip(text, unit, logs, strict=True):
        mine = (found.text == a) & (found.unit == b)
        assert value == pytest.approx(found.log_probability[mine].mean())


@pytest.mark.slow
def test_two_models_share_masks(folders, bert, texts, together):
    other = load_masked(folders(seed=1))
    found = pair_log_probabilities(bert, other, texts)
    for name in ("text", "copy", "unit", "position", "lengths"):
        assert np.array_equal(getattr(found.target, name), getattr(found.reference, name))
    assert not np.allclose(found.target.mean(), found.reference.mean())
    assert found.target.units == "token"
    assert np.array_equal(found.target.mean(), together.mean())


def test_different_tokenizers_share_words(folders, bert):
    other = load_masked(folders("roberta"))
    texts = ["The patient's knee, seen  today!", "he denies fever\nor chills"]
    found = pair_log_probabilities(bert, other, texts)
    assert found.target.units == found.reference.units == "word"
    assert np.array_equal(found.target.lengths, found.reference.lengths)
    pairs = [set(zip(e.text, e.copy, e.unit, strict=True)) for e in (found.target, found.reference)]
    assert pairs[0] == pairs[1]
    assert len(found.target.text) != len(found.reference.text)
    assert any("words are masked" in note for note in found.notes)
    assert any("Only the reference tells upper case" in note for note in found.notes)


def test_texts_too_long_are_cut_at_the_same_place(folders, bert):
    source = dataclasses.replace(bert.source, windows=Windows(stride=0))
    bert = dataclasses.replace(bert, source=source)
    short = load_masked(folders(max_position_embeddings=20))
    text = " ".join(["the patient was seen"] * 30)
    found = pair_log_probabilities(bert, short, [text, "the patient"])
    assert bert.limit == 64
    assert short.limit == 20
    assert found.target.lengths.tolist() == found.reference.lengths.tolist()
    n = int((~bert.tokenizer.encoded([text])[0].framing).sum())
    assert found.target.lengths[0] == 18
    assert found.target.n_truncated.tolist() == [n - 18, 0]
    (note,) = found.notes
    n_short = found.target.lengths[1]
    assert note == (
        "1 of 2 texts are longer than the model reads at once: their beginning is read, "
        f"{(18 + n_short) / (n + n_short):.1%} of the tokens of all texts."
    )
    # RoBERTa counts positions from the one after its filling, so it reads two fewer.
    other = load_masked(folders("roberta"))
    assert other.limit == 64
    words = pair_log_probabilities(bert, other, [text])
    assert words.target.lengths[0] == words.reference.lengths[0] > 10
    assert (words.target.n_truncated > 0).all()


def test_causal_models_say_what_a_loop_says(gpt):
    texts = ["the patient was seen", "pain in left knee after fall and chills"]
    found = token_log_probabilities(gpt, texts)
    for i, text in enumerate(texts):
        ids = torch.as_tensor(gpt.tokenizer.encoded([text])[0].ids)
        with torch.inference_mode():
            logs = gpt.module(input_ids=ids[None]).logits[0].log_softmax(-1).double()
        rows = found.rows(i)
        each = [float(logs[t - 1, ids[t]]) for t in range(1, len(ids))]
        mean = [float((logs[t - 1].exp() * logs[t - 1]).sum()) for t in range(1, len(ids))]
        square = [float((logs[t - 1].exp() * logs[t - 1] ** 2).sum()) for t in range(1, len(ids))]
        sd = np.sqrt(np.array(square) - np.array(mean) ** 2)
        assert found.log_probability[rows] == pytest.approx(each, abs=CLOSE)
        assert found.further["mean"][rows] == pytest.approx(mean, abs=CLOSE)
        assert found.further["sd"][rows] == pytest.approx(sd, abs=1e-4)
        assert found.mean()[i] == pytest.approx(-np.mean(each), abs=CLOSE)
        assert found.sum()[i] == pytest.approx(-np.sum(each), abs=CLOSE * len(each))
        assert found.position[rows].tolist() == [*range(1, len(ids))]


def test_causal_models_with_a_frame_score_the_same_words(folders, gpt):
    framed = load_causal(folders("gpt2", seed=1, tokenizer=byte_pairs()))
    alone = token_log_probabilities(framed, ["the patient was seen"])
    assert alone.position[0] == 1
    assert alone.unit[0] == 0
    pair = pair_log_probabilities(gpt, framed, ["the patient was seen"])
    assert set(pair.target.unit) == set(pair.reference.unit)
    assert 0 not in pair.reference.unit


def test_bfloat16_is_close(folders, texts, together):
    half = token_log_probabilities(load_masked(folders(), precision="bfloat16"), texts)
    assert 0 < np.abs(half.mean() - together.mean()).max() < 0.2


@pytest.mark.slow
def test_the_faster_precision_is_one_of_the_two(folders, bert):
    assert load_masked(folders(), precision="faster").source.precision in ("float32", "bfloat16")
    assert {weights.dtype for weights in bert.module.parameters()} == {torch.float32}


def test_without_instructions_for_it_bfloat16_is_not_tried(folders, monkeypatch):
    monkeypatch.setattr("privacygauge.language.loading.supports_bfloat16", lambda device: False)
    assert load_masked(folders(), precision="faster").source.precision == "float32"


def test_a_model_is_sent_as_its_folder(bert, texts, together):
    sent = pickle.dumps(bert)
    assert len(sent) < 1000
    # A worker unpickles it with every task, and reads it once.
    assert pickle.loads(sent) is pickle.loads(sent)  # noqa: S301
    again = token_log_probabilities(pickle.loads(sent), texts)  # noqa: S301
    assert np.array_equal(again.mean(), together.mean())


def test_progress_counts_the_texts_of_both(bert, texts):
    told = []
    pair_log_probabilities(bert, bert, texts, progress=lambda *counts: told.append(counts))
    assert told[0] == (0, 48)
    assert told[-1] == (48, 48)
    assert all(a <= b for a, b in itertools.pairwise(told))


def test_bad_texts(bert, gpt):
    for texts, message in (
        ([], "texts must be a sequence of at least one text"),
        ("the patient", "texts must be a sequence of at least one text"),
        (["the", ""], "every text must have at least one token to score, got none in text 1"),
        (["the", b"x"], "text 1 must be a str, got bytes: decode it first"),
        (["a\ud800"], "text 0 must be valid Unicode, got a lone surrogate at character 1"),
    ):
        with pytest.raises(InputError, match=message):
            token_log_probabilities(bert, texts)
    with pytest.raises(InputError, match="must both be masked, both causal or both behind"):
        pair_log_probabilities(bert, gpt, ["the"])
    with pytest.raises(InputError, match="at least two units where a causal model"):
        token_log_probabilities(gpt, ["the patient", "x"])


def test_tokenizers_know_their_case():
    from privacygauge.language.tokens import Tokenizer

    for made, cased in ((word_pieces(), False), (word_pieces(False), True), (byte_pairs(), True)):
        found = Tokenizer(made.backend_tokenizer.to_str(), made.mask_token_id, 0, None, 512)
        assert found.is_cased is cased
        assert not found.loses_case
        assert pickle.loads(pickle.dumps(found)).sha256 == found.sha256  # noqa: S301


def test_a_cased_vocabulary_read_in_lower_case_is_told():
    from privacygauge.language.tokens import Tokenizer

    state = json.loads(word_pieces(False).backend_tokenizer.to_str())
    state["normalizer"]["lowercase"] = True
    # Too few words of these have a capital of their own.
    state["model"]["vocab"] |= {f"Word{letter}": 120 + i for i, letter in enumerate("abcdef")}
    found = Tokenizer(json.dumps(state), 4, 0, 1, 512)
    assert found.loses_case
    assert not found.is_cased
