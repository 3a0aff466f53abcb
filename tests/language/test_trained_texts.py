"""Texts as a training read them: conversations, prompts with completions, datasets in folders."""

import copy
import json

import numpy as np
import pytest

from privacygauge.errors import InputError
from privacygauge.language.text_files import ChatForm, Columns, TrainingForm, as_texts, load_texts
from tests.language.tiny_models import byte_pairs, made_texts

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.torch

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] "
    "+ '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


@pytest.fixture(scope="module")
def chatty():
    """Return a tokenizer with a chat template and its special tokens."""
    from transformers import PreTrainedTokenizerFast

    made = PreTrainedTokenizerFast(
        tokenizer_object=copy.deepcopy(byte_pairs().backend_tokenizer),
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
    )
    made.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    made.chat_template = TEMPLATE
    return made


def conversation(question, answer, more=()):
    messages = [
        {"role": "system", "content": "You help the ward."},
        {"role": "user", "content": question},
        {"role": "assistant", "content": answer},
    ]
    return [*messages, *more]


def columns_for(tokenizer, trained="answers"):
    from privacygauge.language.tokens import tokenizer_of

    own = tokenizer_of(tokenizer, "it")
    return Columns(training=TrainingForm(ChatForm(read=lambda: own), trained))


def test_ids_of_a_conversation_are_those_of_transformers(chatty):
    from privacygauge.language.tokens import tokenizer_of

    texts = made_texts(6, 3)
    rows = [conversation(a, b) for a, b in zip(texts[:3], texts[3:], strict=True)]
    found = as_texts({"messages": rows}, columns_for(chatty))
    encoded = tokenizer_of(chatty, "it").encoded(found.scored)
    for row, one in zip(rows, encoded, strict=True):
        theirs = chatty.apply_chat_template(row, tokenize=True, return_dict=False)
        assert one.ids.tolist() == list(theirs)


def test_only_answers_are_scored(chatty):
    more = [
        {"role": "user", "content": "and at night"},
        {"role": "assistant", "content": "none was seen"},
    ]
    rows = [conversation("was there pain", "pain in the left knee", more)]
    [one] = as_texts({"messages": rows}, columns_for(chatty)).scored
    said = [one.text[start:stop] for start, stop in one.trained]
    assert said == ["pain in the left knee<|im_end|>\n", "none was seen<|im_end|>\n"]
    [whole] = as_texts({"messages": rows}, columns_for(chatty, "all")).scored
    assert whole.trained == ((0, len(whole.text)),)


def test_energies_of_completions_are_those_of_a_plain_loop(gpt):
    import torch

    from privacygauge.language.likelihoods import token_log_probabilities

    texts = made_texts(12, 9, least=4)
    rows = {"prompt": [f"{x} " for x in texts[:6]], "completion": texts[6:]}
    found = as_texts(rows)
    energies = token_log_probabilities(gpt, found.scored)
    tokenizer = byte_pairs(framed=False)
    for row, (prompt, completion) in enumerate(zip(*rows.values(), strict=True)):
        given = tokenizer(prompt + completion, return_offsets_mapping=True)
        ids = torch.tensor([given["input_ids"]])
        with torch.inference_mode():
            logs = gpt.module(ids).logits[0].log_softmax(-1)
        trained = [
            i for i, (_, stop) in enumerate(given["offset_mapping"]) if stop > len(prompt) and i
        ]
        loss = -np.mean([float(logs[i - 1, ids[0, i]]) for i in trained])
        assert energies.mean()[row] == pytest.approx(loss, abs=2e-6)
        assert energies.lengths[row] == len(trained)


def test_one_text_trained_in_two_ways_is_asked_twice(gpt):
    from privacygauge.language.likelihoods import token_log_probabilities

    text = "the patient was seen today with pain"
    rows = as_texts({"prompt": [text[:12], text[:20]], "completion": [text[12:], text[20:]]})
    first, second = token_log_probabilities(gpt, rows.scored).mean()
    assert first != second


def test_whole_texts_and_all_trained_tokens_are_the_same(gpt):
    from privacygauge.language.likelihoods import token_log_probabilities

    texts = made_texts(6, 4, least=3)
    everything = Columns(training=TrainingForm(trained="all"))
    rows = as_texts({"prompt": texts, "completion": ["today"] * 6}, everything)
    ours = token_log_probabilities(gpt, rows.scored).mean()
    assert np.array_equal(ours, token_log_probabilities(gpt, rows.text).mean())


@pytest.mark.parametrize("ending", [".json", ".jsonl", ".parquet", ""])
def test_training_files(tmp_path, ending):
    import pandas as pd
    import pyarrow as pa

    rows = [
        {"instruction": f"Name drug {i}", "input": "" if i else "a list", "output": f"drug {i}"}
        for i in range(3)
    ]
    path = tmp_path / f"rows{ending}"
    if ending == ".json":
        path.write_text(json.dumps(rows))
    elif ending == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif ending == ".parquet":
        pd.DataFrame(rows).to_parquet(path)
    else:  # as save_to_disk of the library datasets writes it
        path.mkdir()
        table = pa.Table.from_pylist(rows)
        name = "data-00000-of-00001.arrow"
        with pa.ipc.new_stream(str(path / name), table.schema) as stream:
            stream.write_table(table)
        (path / "state.json").write_text(json.dumps({"_data_files": [{"filename": name}]}))
    found = load_texts(path)
    assert [one.own for one in found.scored] == ["drug 0", "drug 1", "drug 2"]
    assert "### Input:\na list\n" in found.text[0]
    assert "### Input:" not in found.text[1]


def test_messages_in_parquet_are_read(tmp_path, chatty):
    import pandas as pd

    path = tmp_path / "rows.parquet"
    pd.DataFrame({"messages": [conversation("who", "me")]}).to_parquet(path)
    [one] = load_texts(path, columns_for(chatty)).scored
    assert one.own == "me<|im_end|>\n"


def test_what_sharegpt_calls_messages_is_read(chatty):
    said = [{"from": "human", "value": "who"}, {"from": "gpt", "value": "me"}]
    [one] = as_texts({"conversations": [said]}, columns_for(chatty)).scored
    assert one.own == "me<|im_end|>\n"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"messages": [[{"role": "user", "content": "x"}]]}, "must hold an answer"),
        ({"messages": ["no list"]}, "must be a list"),
        ({"messages": [[{"text": "x"}]]}, "keys role and content"),
        ({"prompt": ["a"], "completion": [3]}, "completion must be a text"),
        ({"prompt": ["a"], "completion": [" "]}, "completion must not be empty"),
    ],
)
def test_bad_rows_are_refused_in_a_line(chatty, rows, message):
    with pytest.raises(InputError, match=message) as error:
        as_texts(rows, columns_for(chatty))
    assert "\n" not in str(error.value)


def test_a_tokenizer_without_a_template_is_refused():
    with pytest.raises(InputError, match="no chat template to write messages with"):
        as_texts({"messages": [conversation("a", "b")]}, columns_for(byte_pairs()))


def test_a_template_that_changes_earlier_turns_finds_the_answers(tmp_path, chatty):
    changing = TEMPLATE.replace("message['content']", "message['content'] + '~' * loop.length")
    path = tmp_path / "chat.jinja"
    path.write_text(changing)
    columns = columns_for(chatty)
    form = ChatForm(columns.training.chat.read, path)
    more = conversation("why", "because")[1:]
    rows = {"messages": [conversation("who", "me and you", more)]}
    [one] = as_texts(rows, Columns(training=TrainingForm(form))).scored
    assert [one.text[a:b].rstrip("~") for a, b in one.trained] == [
        "me and you",
        "because",
    ]
