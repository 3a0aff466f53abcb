"""Attacks on single records read a run in blocks: what they say is the same, bit by bit."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from privacygauge.core.attacks import groups
from privacygauge.core.game import Attack, Observation, Scores
from privacygauge.core.release import Worlds, coin_flips
from privacygauge.errors import InputError
from privacygauge.runs.execute import complete
from privacygauge.runs.plan import ArraySpec, Plan, Task
from privacygauge.runs.store import Run, open_run
from tests.laws.catalogue import ON_WORLDS, label

K = 9
N = 43


def kept(path: Path, values: np.ndarray) -> Run:
    spec = ArraySpec(("model", "record"), values.shape, values.dtype.name, chunks=(20,))
    run = open_run(path, Plan("logits", 0, len(values), "model", 2, {"logit": spec}))

    def rows(task: Task) -> dict[str, np.ndarray]:
        return {"logit": values[task.start : task.stop]}

    complete(run, rows)
    return run


def scores(attack: Attack, signal: np.ndarray, worlds: object, inside: np.ndarray) -> bytes:
    seen = Observation({}, np.zeros(N), worlds=Worlds(signal, worlds, inside))
    found = attack.score(seen, np.random.default_rng(0))
    assert isinstance(found, Scores)
    return found.value.tobytes() + np.float64(found.rule.threshold).tobytes()


@cache
def made(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, bytes]]:
    """Return coins, a target's signal, the models' values, and what every attack says of them."""
    rng = np.random.default_rng(0)
    inside = coin_flips(K, N, rng)
    signal = rng.normal(size=N)
    values = (rng.normal(size=(K, N)) + inside).astype(dtype)
    return inside, signal, values, {label(a): scores(a, signal, values, inside) for a in ON_WORLDS}


# The long tests have all pairs.
CASES = [
    pytest.param(dtype, block, marks=[] if (i, j) == (1, 0) else pytest.mark.slow)
    for i, dtype in enumerate(("float32", "float64"))
    for j, block in enumerate((1, 9 * 25, 1 << 18))
]


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "block"), CASES)
def test_a_run_gives_the_same_bytes_as_its_array(
    dtype: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, signal, values, expected = made(dtype)
    stored = kept(tmp_path, values).array("logit")
    monkeypatch.setattr(groups, "BLOCK", block)
    assert {label(a): scores(a, signal, stored, inside) for a in ON_WORLDS} == expected


def test_a_block_reads_no_chunk_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    run = kept(tmp_path, rng.normal(size=(K, N)))
    read: list[str] = []
    get = type(run.folder).get
    monkeypatch.setattr(
        type(run.folder), "get", lambda self, key: (read.append(key), get(self, key))[1]
    )
    worlds = Worlds(rng.normal(size=N), run.array("logit"), coin_flips(K, N, rng))
    read.clear()
    monkeypatch.setattr(groups, "BLOCK", 1)
    groups.world_groups(worlds)
    assert len(read) == len(set(read)) == 5 * 3


def test_models_that_are_not_there_yet_are_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(K, N))
    values[3, 7] = np.nan
    worlds = Worlds(values[0], kept(tmp_path, values).array("logit"), coin_flips(K, N, rng))
    with pytest.raises(InputError, match="worlds must be finite"):
        groups.world_groups(worlds)
