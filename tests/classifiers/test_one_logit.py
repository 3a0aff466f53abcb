"""A run of one logit for each model and record says what whole vectors say, to the last bit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from privacygauge.classifiers import shadowed
from privacygauge.classifiers.audit.models import Fitted, audit_model
from privacygauge.classifiers.game import PoolGame
from privacygauge.classifiers.predictions import LogitPool
from privacygauge.classifiers.shadowed import train_logits
from privacygauge.classifiers.shadows import Execution, train_shadows
from privacygauge.core.attacks import groups
from privacygauge.core.game import Scores
from privacygauge.errors import InputError
from privacygauge.runs.sharing import sharing
from privacygauge.runs.store import read_run
from tests.classifiers.trainers import Counted, Noisy, records
from tests.laws.catalogue import ON_WORLDS, label
from tests.runs.sample import contents

X, Y = records(n=90, k=3)


@dataclass(frozen=True)
class Viewed(Noisy):
    """Is asked about each record twice, and may fail: of the models of some seeds all is NaN."""

    queries: int = 2
    fails: tuple[int, ...] = ()
    trained: list[int] = field(default_factory=list, compare=False)
    stop_after: int | None = field(default=None, compare=False)
    dtype: str = "float32"

    def train(self, cohort):
        found = np.stack([super().train(cohort)] * self.queries, axis=2)
        found += np.arange(self.queries)[:, None] * np.linspace(-1, 1, cohort.n_classes)
        for model, seed in zip(found, cohort.seeds, strict=True):
            if self.stop_after is not None and len(self.trained) >= self.stop_after:
                raise KeyboardInterrupt
            self.trained.append(seed)
            model[:] = np.nan if seed in self.fails else model
        found = found.astype(self.dtype)
        return found if self.queries > 1 else found[:, :, 0]


def scores(trained):
    """Return what attacks on single records say, bit by bit."""
    [dealt] = PoolGame(trained.target, trained.pool).deal(1, np.random.default_rng(0))
    found = {}
    for attack in ON_WORLDS:
        said = attack.score(dealt.observation, np.random.default_rng(0))
        assert isinstance(said, Scores)
        found[label(attack)] = said.value.tobytes() + np.float64(said.rule.threshold).tobytes()
    return found


@pytest.mark.parametrize(
    ("kept", "queries", "block", "dtype"),
    [
        (False, 2, 999, "float64"),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in (
                (True, 1, 1, "float32"),
                (False, 1, 1, "float32"),
                (True, 2, 999, "float64"),
            )
        ),
    ],
)
def test_attacks_on_single_records_say_the_same(kept, queries, block, dtype, tmp_path, monkeypatch):
    x = X[:30]
    y = Y[:30]
    trainer = Viewed(leak=1.0, queries=queries, dtype=dtype)
    states = train_shadows(trainer, x, y, n_shadows=7, seed=1) and trainer.trained
    trainer = replace(trainer, fails=(states[2], states[5]))
    expected = train_shadows(trainer, x, y, n_shadows=7, seed=1)
    monkeypatch.setattr(groups, "BLOCK", block)
    of_vectors = scores(expected)
    for whole, chunk in ((1, 20), (20_000, 10_000)):
        monkeypatch.setattr(shadowed, "LEAST_WHOLE_ROWS", whole)
        monkeypatch.setattr(shadowed, "RECORDS_A_CHUNK", chunk)
        run = tmp_path / str(whole) if kept else None
        found = train_logits(trainer, x, y, n_shadows=7, seed=1, execution=Execution(run=run))
        assert found.failed.tolist() == expected.failed.tolist() == [1, 4]
        assert found.target.answers.tobytes() == expected.target.answers.tobytes()
        assert isinstance(found.pool.worlds, np.ndarray) != kept
        assert scores(found) == of_vectors


@pytest.mark.slow
def test_the_audit_has_the_same_numbers_and_names_what_is_left_out(tmp_path):
    found, more = (
        audit_model(Noisy(leak=1.0), X, Y, n_shadows=16, seed=2, run=tmp_path / name, **options)
        for name, options in (("whole", {}), ("one", {"one_logit": True}))
    )
    titles = {e.title: e for e in more.evaluations}
    skipped = {e.title for e in found.evaluations} - set(titles)
    assert skipped == {"distance (shared)", "frequency (shared)"}
    told = {s.name: s.reason for s in more.origin.skipped}
    for name in ("distance", "frequency"):
        assert "only one logit for each record: to keep the vectors, start another" in told[name]
    assert sum(title.startswith(("lira", "rmia", "bavaria", "calib")) for title in titles) == 7
    for title in titles:
        # The vectors of 223 models would be kept of so few records: thresholds are the same too.
        assert found.records.scores[title].tobytes() == more.records.scores[title].tobytes()
        assert np.array_equal(found.records.guesses[title], more.records.guesses[title])
    assert found.more_models == more.more_models != ()
    assert any("holds one logit for each shadow model" in x for x in more.origin.warnings)


@pytest.mark.slow
def test_a_run_grows_and_resumes_to_the_same_bytes(tmp_path):
    once = Viewed()
    train_logits(once, X, Y, n_shadows=6, execution=Execution(run=tmp_path / "once"))
    for n in (2, 4):
        train_logits(Viewed(), X, Y, n_shadows=n, execution=Execution(run=tmp_path / "grown"))
    with pytest.raises(KeyboardInterrupt):
        train_logits(
            Viewed(stop_after=1), X, Y, n_shadows=6, execution=Execution(run=tmp_path / "grown")
        )
    rest = Viewed()
    found = train_logits(rest, X, Y, n_shadows=6, execution=Execution(run=tmp_path / "grown"))
    assert rest.trained == once.trained[-1:]
    assert len(found.pool) == 6
    assert contents(tmp_path / "grown") == contents(tmp_path / "once")
    with sharing():
        train_logits(Viewed(), X, Y, n_shadows=6, execution=Execution(run=tmp_path / "shared"))
    assert contents(tmp_path / "shared") == contents(tmp_path / "once")


def test_the_run_says_which_form_it_has_and_none_is_taken_for_the_other(tmp_path):
    whole = tmp_path / "whole"
    one = tmp_path / "one"
    train_shadows(Noisy(), X, Y, n_shadows=3, execution=Execution(run=whole))
    train_logits(Noisy(), X, Y, n_shadows=3, execution=Execution(run=one))
    assert "keeps" not in read_run(whole).plan.settings
    assert read_run(one).plan.settings["keeps"].startswith("one logit, and whole vectors of the ")
    with pytest.raises(InputError, match=r"keeps is one logit, and whole vectors.* there and not"):
        train_shadows(Noisy(), X, Y, n_shadows=3, execution=Execution(run=one))
    with pytest.raises(InputError, match="keeps is not set there and one logit"):
        train_logits(Noisy(), X, Y, n_shadows=3, execution=Execution(run=whole))


@pytest.mark.parametrize("unit", [None, np.arange(len(Y)) // 3])
@pytest.mark.parametrize("with_target", [True, False])
def test_coins_are_those_of_a_run_of_vectors(unit, with_target, tmp_path):
    options = {"n_shadows": 3, "seed": 4, "unit": unit, "with_target": with_target}
    whole = train_shadows(Noisy(), X, Y, execution=Execution(run=tmp_path / "whole"), **options)
    found = train_logits(Noisy(), X, Y, execution=Execution(run=tmp_path / "one"), **options)
    assert found.pool.inside[:].tolist() == whole.pool.inside.tolist()
    one, other = (read_run(tmp_path / name) for name in ("one", "whole"))
    assert one.array("member")[:].tolist() == other.array("member")[:].tolist()
    files = [contents(tmp_path / x / "observations.zarr" / "member") for x in ("one", "whole")]
    assert files[0] == files[1]


def test_vectors_are_kept_of_the_first_models_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(shadowed, "LEAST_WHOLE_ROWS", 100)  # two shadow models of 90 records
    found = train_logits(Noisy(), X, Y, n_shadows=5, execution=Execution(run=tmp_path))
    assert len(found.pool.first) == 2
    stored = read_run(tmp_path).array("prediction")[:]
    assert np.isfinite(stored[:3]).all()
    assert np.isnan(stored[3:]).all()


def test_what_answers_with_probabilities_is_refused():
    with pytest.raises(InputError, match=r"one_logit \(--one-logit\) needs models that answer"):
        train_logits(Counted(), X, Y, n_shadows=3)
    said = np.full((len(Y), 3), 1 / 3)
    fitted = Fitted(lambda x: said[: len(x)], np.arange(len(Y)) % 2 == 0)
    with pytest.raises(InputError, match="the audited model answers with probabilities: leave it"):
        audit_model(Noisy(), X, Y, n_shadows=3, fitted=fitted, one_logit=True)
    with pytest.raises(InputError, match="one_logit does not go with half_width or label_only"):
        audit_model(Noisy(), X, Y, n_shadows=3, half_width=0.1, one_logit=True)
    with pytest.raises(InputError, match="n_shadows must be at least 1, got 0"):
        train_logits(Noisy(), X, Y, n_shadows=0)


def test_where_no_vector_is_sound_the_audit_ends_in_one_line(monkeypatch):
    monkeypatch.setattr(shadowed, "LEAST_WHOLE_ROWS", 1)
    trainer = Viewed(queries=1)
    train_shadows(trainer, X, Y, n_shadows=3)
    for fails, message in ((1, "training failed for all 1 shadow models"), (0, "the target fail")):
        with pytest.raises(InputError, match=message):
            train_logits(replace(trainer, fails=(trainer.trained[fails],)), X, Y, n_shadows=3)


def test_a_pool_that_does_not_fit_is_named():
    pool = train_logits(Noisy(), X, Y, n_shadows=3).pool
    with pytest.raises(InputError, match=r"worlds must have the shape \(3, 90\) and inside \(3, 9"):
        LogitPool(pool.worlds[:, :5], pool.inside, pool.first)
    with pytest.raises(InputError, match="must answer with logits"):
        LogitPool(pool.worlds, pool.inside, replace(pool.first, logits=False))
