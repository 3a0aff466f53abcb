"""Bytes of every kind of report and of a run, to be compared before and after a change of shape.

``python -m tests.corpus write FOLDER`` makes them in about a minute, and ``python -m tests.corpus
compare OLD NEW`` names each file that differs, with its first line that does.
"""

from __future__ import annotations

import re
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import privacygauge as pg

ROOT = Path(__file__).parents[1]
_DATE = re.compile(rb"\d{4}-\d\d-\d\d")
_MADE_AT = re.compile(rb'"(?:started|finished|seconds)": ?[^,}\n]*')
"""Facts of a run folder that differ between two equal calls."""


def gallery() -> ModuleType:
    """Return the script that makes a report of each kind."""
    found = util.spec_from_file_location("make_gallery", ROOT / "docs" / "make_gallery.py")
    assert found is not None
    assert found.loader is not None
    module = util.module_from_spec(found)
    # Its dataclass looks for the module by name.
    sys.modules[found.name] = module
    found.loader.exec_module(module)
    return module


def write(folder: Path) -> None:
    """Write the reports of all kinds, their summaries, and a run that trained models."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.naive_bayes import GaussianNB

    for report in gallery().REPORTS:
        found = report.make(folder)
        found.write(folder / report.name)
        (folder / report.name / "summary.txt").write_text(found.summary(), encoding="utf-8")
    x, y = load_breast_cancer(return_X_y=True)
    found = pg.audit_model(GaussianNB(), x, y, n_shadows=4, run=folder / "run")
    found.write(folder / "model")


def stable(content: bytes) -> bytes:
    """Return a file's content without its dates and times."""
    return _MADE_AT.sub(b"", _DATE.sub(b"", content))


def differences(old: Path, new: Path) -> list[str]:
    """Return a line for each file that is in one folder only, or differs."""
    sides = [{p.relative_to(x) for p in x.rglob("*") if p.is_file()} for x in (old, new)]
    found = [f"{name}: in {old if name in sides[0] else new} only" for name in sides[0] ^ sides[1]]
    for name in sides[0] & sides[1]:
        before, after = (stable((x / name).read_bytes()) for x in (old, new))
        if before == after:
            continue
        if name.suffix in {".parquet", ".npy", ".npz"}:
            found.append(f"{name}: {len(before):,} and {len(after):,} bytes differ")
            continue
        pairs = zip(before.split(b"\n"), after.split(b"\n"), strict=False)
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), -1)
        found.append(f"{name}: line {at + 1} differs")
    return sorted(found)


def main(task: str, *folders: str) -> int:
    """Write or compare; return 1 if something differs."""
    if task == "write":
        write(Path(folders[0]))
        return 0
    found = differences(Path(folders[0]), Path(folders[1]))
    sys.stdout.write("".join(f"{line}\n" for line in found) or "No difference.\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
