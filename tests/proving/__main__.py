"""The proving ground: ``python -m tests.proving --domain classifiers --minutes 5 --seed 7``.

It draws worlds whose truth is known, audits each by the public command, judges what was said,
searches for what fails and prints the smallest failing worlds, each with the command that replays
it. The exit code is 1 where something fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from tests.proving.cells import cell, details, row
from tests.proving.games import DOMAINS, Arena, Outcome, domain, replay
from tests.proving.judge import KINDS, Finding, told
from tests.proving.rates import table
from tests.proving.search import drawn, search
from tests.proving.shrink import shrink
from tests.proving.world import Grammar, parse


def main(arguments: list[str] | None = None) -> int:
    """Run what was asked for; return 1 where something fails."""
    reader = argparse.ArgumentParser(prog="python -m tests.proving", description=__doc__)
    reader.add_argument("--domain", action="append", choices=DOMAINS, help="default: all there are")
    reader.add_argument("--minutes", type=float, default=20.0, help="of all domains together")
    reader.add_argument("--seed", type=int, default=7, help="of the worlds that are drawn")
    reader.add_argument("--worlds", type=int, help="play so many and print the table of rates")
    reader.add_argument("--pin", default="", help="choices of all worlds: FACTOR=VALUE,...")
    reader.add_argument("--world", help="replay the world of this text")
    reader.add_argument("--games", type=int, help="of --world: as many seeds, and their rates")
    reader.add_argument("--shrink", metavar="KIND", help="shrink --world, which fails in this way")
    reader.add_argument("--folder", type=Path, help="where --world leaves its files")
    reader.add_argument("--processes", type=int, default=1, help="that play worlds")
    reader.add_argument("--log", type=Path, help="append one JSON line per world to this file")
    reader.add_argument("--grammar", action="store_true", help="print the factors as a table")
    reader.add_argument("--table", type=Path, nargs="+", help="print the rates of such files")
    asked = reader.parse_args(arguments)
    if asked.table is not None:
        print("\n".join(_tables(asked.table)))
        return 0
    if asked.world is not None:
        if asked.shrink:
            return _shrink(asked.world, asked.shrink)
        if asked.games is not None:
            return _cell(asked.world, asked.games, asked.processes)
        return _replay(asked.world, asked.folder)
    names = asked.domain or [name for name in DOMAINS if _is_there(name)]
    grammars = [domain(name) for name in names]
    if asked.grammar:
        print("\n".join(line for grammar in grammars for line in _factors(grammar)))
        return 0
    heard = _logged(asked.log)
    pinned = parse(f"pinned:0:{asked.pin}").choices
    failed = False
    with Arena(asked.processes) as arena:
        for grammar in grammars:
            if asked.worlds is not None:
                played = []
                for outcome in arena.games(
                    islice(drawn(grammar, asked.seed, pinned), asked.worlds)
                ):
                    heard(outcome)
                    played.append(outcome)
                print("\n".join(table(played, KINDS, grammar)))
                continue
            found = search(
                grammar,
                seed=asked.seed,
                minutes=asked.minutes / len(grammars),
                arena=arena,
                pinned=pinned,
                heard=heard,
                say=lambda line: print(line, flush=True),
            )
            print("\n".join(table(found.outcomes, KINDS, grammar)))
            for smallest in found.smallest:
                number = found.first(smallest)
                print(f"{smallest.kind}, {smallest.rate}, first in world {number}:")
                print(f"    {smallest.command()}")
            failed |= bool(found.smallest)
    return int(failed)


def _is_there(name: str) -> bool:
    return (Path(__file__).parent / f"{name}.py").exists()


def _logged(path: Path | None) -> Callable[[Outcome], None]:
    """Return what hears of every outcome: it prints failures, and keeps all in the file."""

    def hear(outcome: Outcome) -> None:
        for finding in outcome.findings:
            print(f"{outcome.world}\n    {finding}", flush=True)
        if path is None:
            return
        line = {
            "world": str(outcome.world),
            "leak": outcome.leak,
            "fair": outcome.fair,
            "severity": outcome.severity,
            "exit_code": outcome.exit_code,
            "seconds": round(outcome.seconds, 2),
            "findings": [[finding.kind, finding.detail] for finding in outcome.findings],
        }
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    return hear


def _tables(logs: list[Path]) -> list[str]:
    """Return the tables of rates of worlds that were logged, by domain."""
    played: dict[str, list[Outcome]] = {}
    for line in (line for log in logs for line in log.read_text(encoding="utf-8").splitlines()):
        kept = json.loads(line)
        world = parse(kept["world"])
        findings = tuple(Finding(*found) for found in kept["findings"])
        outcome = Outcome(
            world,
            kept["leak"],
            kept["fair"],
            kept["severity"],
            kept["exit_code"],
            findings,
            kept["seconds"],
        )
        played.setdefault(world.domain, []).append(outcome)
    return [line for name, found in played.items() for line in table(found, KINDS, domain(name))]


def _replay(text: str, folder: Path | None) -> int:
    world = parse(text)
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="proving-") as made:
            return _replay(text, Path(made))
    folder.mkdir(parents=True, exist_ok=True)
    found = replay(world, folder)
    print(found.outcome.world)
    print(f"truth: {'it leaks' if found.truth.leak else 'nothing leaks'}, ", end="")
    print("the comparison is fair" if found.truth.fair else "something went wrong for the user")
    if found.oracle is not None:
        print(f"oracle: {told(found.oracle)}")
    print(f"exit code {found.played.exit_code} after {found.outcome.seconds:.1f} CPU seconds")
    if found.played.report is not None:
        verdict = found.played.report["verdict"]
        print(f"verdict: {verdict['severity']}, {verdict['headline']}")
        print("\n".join(f"  {sentence}" for sentence in verdict["sentences"]))
        print("\n".join(f"  warning: {text}" for text in found.played.report["warnings"]))
    if found.played.stderr:
        print(found.played.stderr.rstrip())
    for finding in found.outcome.findings:
        print(f"WRONG {finding}")
    if not found.outcome.findings:
        print("nothing is wrong with that")
    return int(bool(found.outcome.findings))


def _cell(text: str, n_games: int, processes: int) -> int:
    world = parse(text)
    with Arena(processes) as arena:
        games = cell(world, n_games, arena)
    print("\n".join([row(world, games), *details(games)]), flush=True)
    return 0


def _shrink(text: str, kind: str) -> int:
    world = parse(text)
    found = shrink(world, kind, sensible=domain(world.domain).sensible)
    print(f"{kind}, {found.rate}, {found.games} games{', by chance' * found.by_chance}:")
    print(f"    {found.command()}")
    return int(not found.by_chance)


def _factors(grammar: Grammar) -> list[str]:
    lines = [f"{grammar.name}: {len(grammar.factors)} factors", ""]
    lines += ["| factor | plain | other values | chance | what differs |", "|---|---|---|---|---|"]
    for f in grammar.factors:
        others = ", ".join(f.others)
        lines.append(f"| {f.name} | {f.plain} | {others} | {f.chance:g} | {f.about} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
