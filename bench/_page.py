"""What came of the benchmarks: a line, JSON that is kept, and the tables and the figure of it."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from _duel import Duel, Outcome, Runs, Side, peers_folder

RESULTS = Path(__file__).resolve().parent / "results.json"


def line(outcome: Outcome) -> str:
    """Return what came of a duel, for the terminal."""
    duel = outcome.duel
    name = f"{duel.path}, {duel.size:,} {duel.unit}: {duel.theirs.name} / {duel.ours.name}"
    if outcome.error:
        return f"{name}: not run: {outcome.error}"
    row = numbers(outcome)
    goal = f", goal {duel.goal:g}" if duel.goal else ""
    off = "" if row["difference"] is None else f", differ by {row['difference']:.1e}"
    return (
        f"{name}: {spread(row['ratio'])}{goal} (processor {row['processor_ratio'][1]:.3g}; "
        f"{row['theirs']['seconds']:.3g} s / {row['ours']['seconds']:.3g} s; "
        f"{row['theirs']['peak']:.0f} MiB / {row['ours']['peak']:.0f} MiB{off})"
    )


def numbers(outcome: Outcome) -> dict[str, Any]:
    """Return what came of a duel, as JSON values."""
    duel = outcome.duel
    row = {
        "path": duel.path,
        "size": duel.size,
        "unit": duel.unit,
        "goal": duel.goal,
        "note": duel.note,
        "turns": duel.turns,
        "error": outcome.error,
        "version": version("privacygauge"),
        "system": system(),
        "ours": {"name": duel.ours.name},
        "theirs": {"name": named(duel.theirs)},
    }
    if outcome.ours is None or outcome.theirs is None:
        return row
    row["ours"] |= summary(outcome.ours)
    row["theirs"] |= summary(outcome.theirs)
    row["ratio"] = ends(outcome.ratios())
    row["processor_ratio"] = ends(outcome.ratios("cpu"))
    row["difference"], row["tolerance"] = outcome.difference(), duel.tolerance
    return row


def named(side: Side) -> str:
    """Return a side's name, with the version of a library."""
    if not side.peer:
        return side.name
    stamp = peers_folder() / side.peer / "installed.txt"
    project = next((name for name in PROJECTS if side.name.startswith(name)), None)
    if project is None or not stamp.exists():
        return side.name
    spelt = project.replace("-", "[-_]")
    found = re.search(
        rf"^{spelt}(?:-platform)?==(\S+)$", stamp.read_text(), re.MULTILINE | re.IGNORECASE
    )
    return side.name.replace(project, f"{project} {found[1]}", 1) if found else side.name


PROJECTS = (
    "adversarial-robustness-toolbox",
    "anonymeter",
    "PrivacyGuard",
    "DataSynthesizer",
    "minicons",
    "python-synthpop",
    "sacroml",
    "tensorflow-privacy",
)


def summary(runs: Runs) -> dict[str, float]:
    """Return the medians of one side."""
    return {
        "seconds": float(np.median(runs.seconds)),
        "processor": float(np.median(runs.cpu)),
        "peak": runs.peak,
        "rise": runs.rise,
    }


def ends(ratios: np.ndarray) -> list[float]:
    """Return the least, the median and the largest."""
    return [float(value) for value in np.quantile(ratios, (0.0, 0.5, 1.0))]


def spread(ratio: Sequence[float]) -> str:
    """Return the median ratio with the extremes."""
    low, middle, high = (f"{value:,.3g}" if value < 1000 else f"{value:,.0f}" for value in ratio)
    return f"{middle} ({low} to {high})"


def as_json(found: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return all of them as JSON values."""
    return [numbers(outcome) for outcome in found]


Rival: TypeAlias = tuple[str, int, str]
"""A path, a size, and the name of the other side without its version."""


def merged(rows: Sequence[dict[str, Any]], offered: Sequence[Rival]) -> list[dict[str, Any]]:
    """Return the rows that are offered, in that order, a row a version, the oldest first.

    What was measured again with the same version is replaced.
    """
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    found = {(key(row), row["version"]): row for row in [*kept, *rows]}
    paths = list(dict.fromkeys(path for path, _, _ in offered))
    ordered = sorted(dict.fromkeys(offered), key=lambda rival: (paths.index(rival[0]), rival[1]))
    return [
        row
        for rival in ordered
        for row in sorted(found.values(), key=lambda row: numbered(row["version"]))
        if key(row) == rival
    ]


def numbered(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def newest(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last row of each duel, which is the newest version's."""
    return list({key(row): row for row in rows}.values())


def key(row: dict[str, Any]) -> Rival:
    """Return what a row is about."""
    return row["path"], row["size"], unversioned(row["theirs"]["name"])


def rivals(duels: Iterable[Duel]) -> list[Rival]:
    """Return what the lines of duels are about."""
    return [(duel.path, duel.size, unversioned(duel.theirs.name)) for duel in duels]


def unversioned(name: str) -> str:
    return re.sub(r" \d[\d.]*", "", name)


def history(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the ratios of each duel that several versions were held to, a column a version."""
    versions = sorted({row["version"] for row in rows}, key=numbered)
    ratios: dict[Rival, dict[str, str]] = {}
    for row in rows:
        if not row["error"]:
            ratios.setdefault(key(row), {})[row["version"]] = spread(row["ratio"])
    lines = [
        f"| {path} | {size:,} | {theirs} | "
        + " | ".join(by_version.get(one, "") for one in versions)
        + " |"
        for (path, size, theirs), by_version in ratios.items()
        if len(by_version) > 1
    ]
    head = ["path", "size", "theirs", *versions]
    return [f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines] if lines else []


def keep(new: Sequence[dict[str, Any]], offered: Sequence[Rival]) -> None:
    """Write bench/results.json."""
    RESULTS.write_text(json.dumps(merged(new, offered), indent=1) + "\n", encoding="utf-8")


def page(rows: Sequence[dict[str, Any]], figure: str) -> str:
    """Return the tables, as Markdown with a link to the figure."""
    versions = history(rows)
    rows = newest(rows)
    systems = dict.fromkeys(row["system"] for row in rows)
    run = [row for row in rows if not row["error"]]
    losing = [row for row in run if row["ratio"][1] < 1]
    short = [row for row in run if row["goal"] and 1 <= row["ratio"][1] < row["goal"]]
    failed = [row for row in rows if row["error"]]
    larger = [row for row in run if row["ours"]["peak"] > 1.1 * row["theirs"]["peak"]]
    differing = [row for row in run if row["difference"] is not None]
    off = [row for row in differing if row["difference"] > row["tolerance"]]
    return "\n".join(
        [
            f"{len(run)} lines, measured on {'; '.join(systems)}. On the median side wall times "
            f"are {waiting(run):.2f} times those of the processor.\n",
            "## The table\n",
            *table(run),
            "\n## Where PrivacyGauge loses\n",
            *(listed(losing) or ["Nowhere in this run.\n"]),
            "\n## Where PrivacyGauge takes more memory\n",
            "More than a tenth more than the other side:\n",
            *([f"- {told(row)}: {memory(row)}" for row in larger] or ["Nowhere in this run."]),
            "\n## Goals that were not reached\n",
            *(listed(short) or ["None in this run.\n"]),
            "\n## What could not be run\n",
            *(f"- {told(row)}: {row['error']}" for row in failed),
            "- python-synthpop as a whole: its own encoding fails on columns of ten or more "
            "categories (KeyError), so its trees are given codes.",
            "- Privacy Meter: the version on the index, 1.0.1 of 2023, imports TensorFlow, PyTorch "
            "and opacus at once and lacks the templates of its report.",
            "- LeakPro: it is not on the index, where an empty package has its name.\n",
            "\n## How cost grows\n",
            GROWTH.format(figure=figure),
            *growth(run),
            "\n## From version to version\n",
            "Ratios of the lines that were measured with several versions; the other side may have "
            "become faster too.\n",
            *(versions or ["No line was measured with two versions yet."]),
            "\n## The same answers\n",
            f"In {len(differing)} of the {len(run)} lines both sides compute the same numbers, "
            f"which were compared; in {len(off)} they differ by more than its script allows (0 for "
            "counts, 1e-12 for rates, 1e-6 for refits that stop early, 1e-4 for energies in "
            "float32). Where a library computes something else, [correctness](correctness.md) says "
            "what, and which is right.\n",
            *(f"- {told(row)}: {row['difference']:.1e}" for row in off),
        ]
    )


GROWTH = """![Time against size, for each path and both sides]({figure})

The exponent of the best power of the size, over all sizes of the table (1: twice the work takes
twice the time); two or three sizes say little more than that.
"""


def waiting(rows: Sequence[dict[str, Any]]) -> float:
    """Return how many times the processor's the wall times are, on the median side."""
    sides = [row[side] for row in rows for side in ("ours", "theirs")]
    return float(np.median([side["seconds"] / side["processor"] for side in sides]))


def told(row: dict[str, Any]) -> str:
    return f"{row['path']}, {row['size']:,} {row['unit']}, against {row['theirs']['name']}"


def memory(row: dict[str, Any]) -> str:
    return f"{row['ours']['peak']:,.0f} MiB against {row['theirs']['peak']:,.0f}"


def listed(rows: Sequence[dict[str, Any]]) -> list[str]:
    found = []
    for row in rows:
        goal = f", goal {row['goal']:g}" if row["goal"] else ""
        found.append(f"- {told(row)}: {spread(row['ratio'])}{goal}")
    return [*found, ""] if found else []


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table, a line a duel."""
    head = "| path | size | theirs | ratio | processor | ours | theirs | peak MiB, ours / theirs |"
    lines = [head, "|---|---|---|---|---|---|---|---|"]
    notes: dict[str, int] = {}
    for row in rows:
        mark = ""
        if row["note"]:
            mark = f" [{notes.setdefault(row['note'], len(notes) + 1)}]"
        goal = f"; goal {row['goal']:g}" if row["goal"] else ""
        ours, theirs = row["ours"], row["theirs"]
        lines.append(
            f"| {row['path']} | {row['size']:,} {row['unit']} | {theirs['name']}{mark} "
            f"| **{spread(row['ratio'])}**{goal} | {row['processor_ratio'][1]:,.3g} "
            f"| {spent(ours)} | {spent(theirs)} "
            f"| {ours['peak']:,.0f} / {theirs['peak']:,.0f} |"
        )
    return [*lines, "", *(f"[{number}] {note}.\n" for note, number in notes.items())]


def spent(side: dict[str, Any]) -> str:
    """Return the wall time, and the processor's where others' work made it far longer."""
    wall, own = side["seconds"], side["processor"]
    return time(wall) if wall < 1.5 * own else f"{time(wall)} (processor {time(own)})"


def time(seconds: float) -> str:
    """Return seconds or milliseconds."""
    if seconds >= 1:
        return f"{seconds:,.3g} s" if seconds < 1000 else f"{seconds:,.0f} s"
    return f"{1e3 * seconds:.3g} ms"


def curves(rows: Sequence[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the lines of each path and rival that there are at several sizes, by size."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["path"], row["theirs"]["name"]), []).append(row)
    return {
        key: sorted(several, key=lambda row: row["size"])
        for key, several in found.items()
        if len({row["size"] for row in several}) > 1
    }


def growth(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the exponents."""
    lines = ["| path | theirs | sizes | ours | theirs |", "|---|---|---|---|---|"]
    for (path, rival), several in curves(rows).items():
        sizes = [row["size"] for row in several]
        slopes = (
            np.polyfit(np.log(sizes), np.log([row[side]["seconds"] for row in several]), 1)[0]
            for side in ("ours", "theirs")
        )
        shown = ", ".join(f"{size:,}" for size in sizes)
        lines.append(
            f"| {path} | {rival} | {shown} | " + " | ".join(f"{s:.2f}" for s in slopes) + " |"
        )
    return lines


def draw(rows: Sequence[dict[str, Any]], to: Path) -> None:
    """Write the figure: time against size on logarithmic scales, a panel a path."""
    from matplotlib.figure import Figure

    found = curves([row for row in newest(rows) if not row["error"]])
    paths = list(dict.fromkeys(path for path, _ in found))
    columns = min(3, len(paths))
    if not columns:
        return
    height = -(-len(paths) // columns)
    figure = Figure(figsize=(3.6 * columns, 2.9 * height), layout="constrained")
    panels = np.atleast_1d(figure.subplots(height, columns, squeeze=False)).ravel()
    for panel, path in zip(panels, paths, strict=False):
        rivals = [(rival, several) for (own, rival), several in found.items() if own == path]
        first = rivals[0][1]
        panel.loglog(
            *points(first, "ours"), "o-", color="black", label="PrivacyGauge", markersize=3
        )
        for style, (rival, several) in zip(("s--", "^:", "v-.", "d--"), rivals, strict=False):
            label = re.split(r"[,(]", rival)[0].strip()
            panel.loglog(*points(several, "theirs"), style, label=label, markersize=3)
        panel.set_title(path, fontsize=9)
        panel.set_xlabel(first[0]["unit"].split(", ")[0], fontsize=8)
        panel.set_ylabel("seconds", fontsize=8)
        panel.tick_params(which="both", labelsize=7)
        panel.legend(fontsize=6, frameon=False)
    for panel in panels[len(paths) :]:
        panel.remove()
    figure.savefig(to, metadata={"Date": None})


def points(rows: Sequence[dict[str, Any]], side: str) -> tuple[list[int], list[float]]:
    return [row["size"] for row in rows], [row[side]["seconds"] for row in rows]


def system() -> str:
    """Return the machine and the versions in a few words."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "torch"))
    return (
        f"one core ({platform.machine()}, {platform.system()}), Python "
        f"{platform.python_version()}, {libraries}"
    )
