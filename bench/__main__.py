"""Every hot path against what a user would use today: one run, one table.

    python bench                     the whole table and the curves (about half an hour)
    python bench --quick             small sizes (a few minutes)
    python bench --only energies     the paths whose names hold a word
    python bench --write             keep the numbers, which the site's page shows

Lines that are measured again replace those of the same version in bench/results.json; others stay,
those of older versions as a history, but for those that no script measures any more.

Peers are run where `python bench/peers/make.py` has installed them; without it their lines say so.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from _duel import Duel, Outcome, held, one_core
from _page import as_json, keep, line, rivals

SCRIPTS = (
    "whole_audits",
    "metric_attacks",
    "intervals",
    "pool_attacks",
    "stacked_training",
    "leave_one_out",
    "differential_training_privacy",
    "counting_queries",
    "generators",
    "released_tables",
    "vulnerability",
    "masked_energies",
    "causal_energies",
    "extraction",
    "test_set_reuse",
)
"""Each offers ``duels(folder, quick)``."""


def listed(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return all duels."""
    for script in SCRIPTS:
        yield from import_module(script).duels(folder, quick)


def outcomes(folder: Path, quick: bool, words: list[str]) -> Iterator[Outcome]:
    """Return what came of each duel whose path holds one of the words; of all without words."""
    for duel in listed(folder, quick):
        if not words or any(word in duel.path for word in words):
            yield held(duel)


def main() -> None:
    """Print the table, and write it where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="paths to run")
    parser.add_argument("--write", action="store_true", help="keep the numbers")
    options = parser.parse_args()
    one_core()
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        offered = rivals([*listed(folder, False), *listed(folder, True)])
        for outcome in outcomes(folder, options.quick, options.only):
            found.append(outcome)
            print(line(outcome), flush=True)
            if options.write:
                keep(as_json(found), offered)


if __name__ == "__main__":
    main()
