"""The notes: four parts without a note in common."""

import gzip

import numpy as np
import pytest

from privacygauge.datasets.local_copies import VARIABLE
from privacygauge.datasets.public import PARTS, mtsamples
from privacygauge.errors import InputError


@pytest.mark.slow
def test_no_note_and_no_sentence_is_in_two_parts(data_folder):
    parts = {part: mtsamples(part) for part in PARTS}
    assert [len(part) for part in parts.values()] == [14_501, 14_939, 10_750, 5_656]
    notes = [np.unique(part.note) for part in parts.values()]
    assert [len(part) for part in notes] == [601, 608, 441, 254]
    assert len(np.unique(np.concatenate(notes))) == sum(map(len, notes))
    texts = [text for part in parts.values() for text in part.text]
    assert len(set(texts)) == len(texts)


def test_some_notes_come_whole_and_in_order(data_folder):
    every = mtsamples("population")
    wanted = np.unique(every.note)[[5, 2]]
    found = every.of_notes(wanted)
    assert set(found.note) == set(wanted)
    rows = [row for row, note in enumerate(every.note) if note in wanted]
    assert found.text == tuple(every.text[row] for row in rows)
    assert np.array_equal(found.place, every.place[rows])


def test_what_is_missing_or_changed_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=r"part must be one of member, .*, got 'train'"):
        mtsamples("train")
    with pytest.raises(InputError, match=r"mtsamples_member\.jsonl is not in the folder"):
        mtsamples("member")
    (tmp_path / "mtsamples_member.jsonl.gz").write_bytes(gzip.compress(b"{}\n"))
    with pytest.raises(InputError, match="its checksum differs"):
        mtsamples("member")
