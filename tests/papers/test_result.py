import json

import pytest

from privacygauge.errors import InputError
from privacygauge.papers import Judgement
from privacygauge.papers.verdict import ReproductionResult, above, read_result, stated_in
from tests.papers.made_tables import table

JUDGEMENT = Judgement(
    ("first", "second"), stated_in("4.2", (above("it is there", ("first", "x")),))
)


def test_a_result_is_read_as_it_was_written(tmp_path):
    result = ReproductionResult(table(), "full", 3, 12.25, "0.1.0")
    path = tmp_path / "made-up.json"
    path.write_text(result.to_json(JUDGEMENT))
    again = read_result(path)
    assert again.table == result.table
    assert (again.form, again.seed, again.version) == ("full", 3, "0.1.0")
    assert again.to_json(JUDGEMENT) == path.read_text()


def test_the_verdict_is_written_and_judged_anew_when_it_is_read(tmp_path):
    plain = json.loads(ReproductionResult(table(), "full", 0, 1.0, "1").to_json(JUDGEMENT))
    assert plain["verdict"] == "in part"
    assert [line.get("verdict") for line in plain["cells"]] == [
        "open", None, "differs", "not measured", None
    ]  # fmt: skip
    (claim,) = plain["claims"]
    assert (claim["claim"], claim["section"]) == ("it is there", "4.2")
    assert claim["verdict"] == "holds"
    assert claim["low"] == pytest.approx(0.4)
    path = tmp_path / "made-up.json"
    path.write_text(json.dumps({**plain, "verdict": "agrees"}))
    assert JUDGEMENT.of(read_result(path).table).word == "in part"


@pytest.mark.parametrize("text", ["{}", "[]", "not JSON", '{"cells": [{"row": "a"}]}'])
def test_a_file_that_is_no_result_is_named(tmp_path, text):
    path = tmp_path / "made-up.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"made-up.json is not a result of .* make it again"):
        read_result(path)
