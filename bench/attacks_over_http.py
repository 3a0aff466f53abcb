"""Attacks through HTTP on a scoring server behind every guard, beside what none can exceed.

A server of the project listens at 127.0.0.1, as its owner starts it, with a board of its own for
each guard. Attackers without a model have 1 or 5 accounts of 20 submissions each, which take turns,
and play each attack up to three times, from new accounts. An end above the bound ends the run with
an error.

    python bench/attacks_over_http.py                 the table of docs/guards.md
    python bench/attacks_over_http.py --seconds 0     the same from one play each: four minutes
    python bench/attacks_over_http.py --only auc      boards whose metric or guard has this word
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from privacygauge.core.seeds import stream  # noqa: E402
from privacygauge.leaderboards.analysts import ATTACKS, Analyst  # noqa: E402
from privacygauge.leaderboards.bounds import guarantee, transcript_nats  # noqa: E402
from privacygauge.leaderboards.metrics import ACCURACY, metric_bias  # noqa: E402
from privacygauge.leaderboards.naive_bayes import LinearBayes  # noqa: E402
from privacygauge.leaderboards.server import open_board  # noqa: E402
from privacygauge.leaderboards.server.accounts import add_account  # noqa: E402
from privacygauge.leaderboards.server.board import Board  # noqa: E402
from privacygauge.leaderboards.server.standings import standings  # noqa: E402
from tests.leaderboards.server.serving import OverHttp, npy, post, served  # noqa: E402

N, EACH, ACCOUNTS, PLAYS = 2_000, 20, (1, 5), 3
BOARDS: tuple[tuple[str, str | None], ...] = (
    ("accuracy", "exact"),
    ("accuracy", "round:2"),
    ("accuracy", "calibrated"),
    ("accuracy", "noise:0.005"),
    ("accuracy", "laplace:0.005"),
    ("accuracy", "thresholdout:0.04"),
    ("accuracy", "ladder"),
    ("accuracy", None),
    ("auc", "exact"),
    ("auc", "calibrated"),
    ("auc", None),
    ("brier", "exact"),
    ("brier", None),
)
"""Metrics, and guards; None for the default."""


def attackers(board: Board) -> dict[str, Analyst]:
    """Return the attacks on a board, by their names."""
    if board.holdout.metric != ACCURACY:
        return {"nb": LinearBayes.told(board.holdout)}
    return {name: ATTACKS[name].make(None) for name in ("nb", "scan", "designed")}


def bound(board: Board, accounts: int) -> float:
    """Return what no attack gains from so many accounts, with a probability of 95%."""
    hidden, k = board.holdout, EACH * accounts
    if hidden.metric == ACCURACY:
        return guarantee(board.guard, N, 2, k, accounts=accounts)
    nats = transcript_nats(board.guard, k, N, 2, accounts=accounts)
    return metric_bias(hidden.metric, hidden.labels, nats)


def gains(
    board: Board, url: str, name: str, attack: Analyst, accounts: int, ends: float
) -> Iterator[float]:
    """Return what each play of an attack gains, until there are enough or time is over."""
    hidden = board.holdout
    chance = 0.5 if hidden.metric == ACCURACY else hidden.metric.chance(hidden.labels)
    for play in range(PLAYS):
        if play and time.monotonic() > ends:
            return
        tokens = [
            add_account(board.engine, f"{name} {accounts} {play} {i}") for i in range(accounts)
        ]
        oracle = OverHttp(partial(post, url), tokens, EACH, hidden, board.guard)
        rng = stream(0, "http", board.guard.name, name, accounts, play)
        yield hidden.score(attack.answer(oracle, rng)) - chance
        assert oracle.used <= EACH * accounts


def row(folder: Path, metric: str, guard: str | None, seconds: float) -> list[str]:
    """Return the strongest attack's mean gain for each number of accounts, beside the bound."""
    ends, place = time.monotonic() + seconds, folder / "board.sqlite"
    truth = stream(0, "http", metric, guard or "").integers(0, 2, N)
    (folder / "labels.npy").write_bytes(npy(truth))
    board = open_board(place, truth, guard=guard, metric=metric)
    cells = [f"`{metric}`", f"`{board.guard.name}`" + ("" if guard else " (default)")]
    options = ("--labels", str(folder / "labels.npy"), "--database", str(place))
    with served(*options, "--rate", "1000000", "--address-rate", "1000000") as server:
        for accounts in ACCOUNTS:
            most = bound(board, accounts)
            found = {
                name: list(gains(board, server.url, name, attack, accounts, ends))
                for name, attack in attackers(board).items()
            }
            best = max(found, key=lambda name: float(np.mean(found[name])))
            highest = max(max(each) for each in found.values())
            assert highest <= most, f"{metric} {guard}: {highest} is above the bound, {most}"
            cells.append(
                f"{100 * np.mean(found[best]):.1f} ({best}), highest {100 * highest:.1f}, "
                f"at most {100 * most:.1f}"
            )
    asked = standings(board).used
    board.close()
    return [*cells, f"{asked:,}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="for each board, about")
    parser.add_argument("--only", default="", help="part of a metric and guard")
    asked = parser.parse_args()
    for metric, guard in BOARDS:
        if asked.only not in f"{metric} {guard or 'default'}":
            continue
        with tempfile.TemporaryDirectory() as folder:
            print("|", " | ".join(row(Path(folder), metric, guard, asked.seconds)), "|", flush=True)


if __name__ == "__main__":
    main()
