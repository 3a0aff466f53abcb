"""A fuzzer that knows the OpenAPI description: no failure, and no label in any answer or line."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest

from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.accounts import add_account
from privacygauge.leaderboards.server.request_parsing import CSV, NPY
from privacygauge.leaderboards.server.running import JsonLines
from privacygauge.leaderboards.server.web import Rates, application
from tests.leaderboards.server.serving import bearer
from tests.thorough import quarter

# Labels that no counter, length or digest is likely to hold.
SECRET = [918_273_645, 564_738_291, 192_837_465]


@pytest.fixture
def watched(tmp_path):
    board = open_board(tmp_path / "b.sqlite", SECRET, n_classes=10**9, guard="exact")
    token = add_account(board.engine, "ann")
    yield application(board, Rates(10**9, 10**9)), token
    board.close()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
@pytest.mark.parametrize("signed", ["with a token", "without"])
def test_fuzzed(watched, signed, mode, caplog):
    import schemathesis
    from hypothesis import HealthCheck, given, settings
    from hypothesis.errors import Unsatisfiable
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

    app, token = watched
    schema = schemathesis.openapi.from_asgi("/openapi.json", app)
    head = bearer(token) if signed == "with a token" else {}
    statuses = []
    examples = quarter(60)

    def fuzz(case):
        answer = case.call(headers=head)
        statuses.append(answer.status_code)
        told = answer.text + str(dict(answer.headers))
        assert not any(str(label) in told for label in SECRET)
        # What is added to an address or a head is ignored, and any bytes are no npy file.
        excluded = [negative_data_rejection]
        # Nor does any text have every id, or any number belong to a submission.
        if case.media_type in (NPY, CSV) or case.path == "/account/finals":
            excluded.append(positive_data_acceptance)
        case.validate_response(answer, headers=head, excluded_checks=excluded)

    with caplog.at_level(logging.DEBUG):
        for operation in schema.get_all_operations():
            cases = operation.ok().as_strategy(generation_mode=GenerationMode[mode])
            check = settings(max_examples=examples, suppress_health_check=list(HealthCheck))
            with suppress(Unsatisfiable):  # where nothing is sent nothing can be wrong
                check(given(cases)(fuzz))()
    lines = "".join(JsonLines().format(record) for record in caplog.records)
    assert not any(str(label) in lines for label in SECRET)
    assert token.partition(".")[2] not in lines
    assert len(statuses) > examples * 5 / 3
    assert max(statuses) < 500
