"""The audit of a generator by canaries in a few fits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from tests.tables.made_tables import frame_of


@pytest.fixture(scope="module")
def people():
    return frame_of(np.random.default_rng(4), 300, 2, 3)


@pytest.mark.parametrize("fits", [1, 3])
def test_no_table_is_made_but_those_that_are_judged(people, fits, tmp_path):
    log = str(tmp_path / "log")
    said = []

    def copied(frame, n, seed):
        with open(log, "a") as stream:
            stream.write(f"{len(frame)} ")
        return frame.sample(n, random_state=seed, replace=True)

    options = {"canaries": 60, "fits": fits, "run": tmp_path / "run"}
    found = pg.audit_few_fits(copied, people, before=said.append, **options)
    assert Path(log).read_text().split() == ["240"] * fits
    assert len(said) == 1
    assert found.sizes.records == 240
    assert len(found.guessed.canary) == 48
    assert len(found.claim.canaries.member) == 48 * fits
    assert found.guessed.accuracy.value > 0.7
    again = pg.audit_few_fits(copied, people, **options)
    assert Path(log).read_text().split() == ["240"] * fits
    assert again.guessed.accuracy == found.guessed.accuracy


def test_copies_are_told_and_silence_is_not(people):
    told = pg.audit_few_fits("identity", people, canaries=100)
    assert told.claim.free.estimate.low > 1.5
    assert told.report().verdict.grade.word == "leak"
    silent = pg.audit_few_fits("silence", people, canaries=130)
    assert silent.claim.free.estimate.low == 0.0
    assert silent.report().verdict.grade.word == "no leak found"
    assert not silent.guessed.accuracy.excludes(0.5)
    assert [m.name for m in silent.report().measures] == ["accuracy", "auc", "epsilon"]
    # Guesses that are right more often than by chance are a leak, whatever epsilon they show.
    for name in ("accuracy", "auc"):
        beyond = Estimate(0.58, 0.53, 0.63, 0.95, 80, "example")
        some = replace(silent, guessed=replace(silent.guessed, **{name: beyond}))
        assert some.report().verdict.grade.word == "leak"
    # A promise of epsilon is held against what was shown.
    broken = pg.audit_few_fits("identity", people, canaries=100, epsilon=0.5)
    assert broken.report().verdict.grade.word == "refuted"


def test_the_records_of_a_person_share_a_coin_and_copies_are_one_canary(people):
    unit = np.arange(300)
    unit[150:] = np.arange(150)
    found = pg.audit_few_fits("identity", people, canaries=range(0, 60), unit=unit)
    assert len(found.guessed.canary) == 48
    assert found.sizes.records == 180
    rows = [*range(40), *range(150, 160)]  # the last ten are of people who are there already
    found = pg.audit_few_fits("identity", people, canaries=rows, unit=unit)
    assert len(found.guessed.canary) == 32


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"canaries": 10}, "at least 20 canaries are needed"),
        ({"canaries": "all"}, "the game needs 2 records beside the canaries, and there are 0"),
        ({"fits": 0}, "fits must be at least 1, got 0"),
        ({"size": 290}, "the game needs 290 records beside the canaries"),
        ({"epsilon": -1.0}, "epsilon must be at least 0"),
        ({"attacks": ()}, "attacks must be at least one"),
    ],
)
def test_bad_input_is_one_line(people, options, message):
    with pytest.raises(InputError, match=message):
        pg.audit_few_fits("identity", people, **options)
