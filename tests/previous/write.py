"""Small files of every kind that a version writes and later ones must read.

``python -m tests.previous.write`` writes them into a folder named after the version. It is run
once, with the last commit before the version is raised; afterwards the files stay as they are.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd

import privacygauge as pg
from privacygauge.core.versions import own_version
from privacygauge.leaderboards.server import open_board
from privacygauge.leaderboards.server.standings import standings
from privacygauge.tables.frames import read_table
from tests.names import at_the_top

HERE = Path(__file__).parent
N_PEOPLE = 40
N_POINTS = 30
LEFT_OUT = ("*.html", "*.parquet", "roc.csv", "register.csv", "*.sqlite", ".privacygauge-files")
"""Files that no command reads, or that are packed."""


def _people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, N_PEOPLE)
    region = rng.choice(["north", "south"], N_PEOPLE)
    sick = np.where(rng.random(N_PEOPLE) < age / 100, "yes", "no")
    return pd.DataFrame({"age": age, "region": region, "sick": sick})


def _predictions(seed: int) -> pg.Predictions:
    rng = np.random.default_rng(seed)
    member = np.arange(60) % 2 == 0
    labels = rng.integers(0, 2, 60)
    right = rng.beta(2 + 2 * member, 2)
    probabilities = np.where(np.arange(2) == labels[:, None], right[:, None], 1 - right[:, None])
    return pg.predictions(probs=probabilities, labels=labels, member=member)


def public_names() -> dict[str, object]:
    """Return the public names, and the fields of each class of options."""
    return {
        "names": sorted(at_the_top()),
        "options": {
            name: [field.name for field in fields(getattr(pg.options, name))]
            for name in pg.options.__all__
        },
    }


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "privacygauge", *arguments, "--quiet"], check=True)


def _leaderboard() -> None:
    labels = np.random.default_rng(1).integers(0, 3, N_POINTS)
    np.save("labels.npy", labels)
    with_errors = np.where(np.arange(N_POINTS) % 3 == 0, (labels + 1) % 3, labels)
    board = open_board("leaderboard.sqlite", labels, guard="ladder:0.01", public=0.5, keep=True)
    for name, sent in (("ann", labels), ("bob", with_errors)):
        board.admit(name)
        board.submit(name, sent)
    places = [[place.account, place.score] for place in standings(board).places]
    Path("standings.json").write_text(json.dumps(places) + "\n", encoding="utf-8")
    board.close()
    # Most of the pages of so small a database are empty.
    with gzip.open("leaderboard.sqlite.gz", "wb") as packed:
        packed.write(Path("leaderboard.sqlite").read_bytes())


def write() -> None:
    """Write all files into the working directory."""
    _people().to_csv("people.csv", index=False)
    schema = read_table("people.csv").schema.to_json()
    Path("schema.json").write_text(schema, encoding="utf-8")
    pg.save_predictions(_predictions(0), "target.npz")
    pg.save_predictions(_predictions(1), "shadow.csv")
    attacks = ("--attacks", "confidence,entropy")
    _run("classifier", "target.npz", "--shadow", "shadow.csv", *attacks, "--out", "predictions")
    common = ("people.csv", "--label", "sick", "--seed", "3", "--out")
    _run("classifier", "--model", "nearest", "--shadows", "4", "--data", *common, "model")
    sizes = ("--targets", "2", "--shadows", "4", "--tests", "4")
    _run("synthetic", "people.csv", "--generator", "independent", *sizes, "--out", "generator")
    # Of its long report only the numbers are kept.
    found = json.loads(Path("model/report.json").read_text(encoding="utf-8"))
    measures = json.dumps(found["measures"], indent=1) + "\n"
    Path("model/measures.json").write_text(measures, encoding="utf-8")
    _run("register", "predictions", "generator", "--out", "register")
    _leaderboard()
    names = json.dumps(public_names(), indent=1) + "\n"
    Path("names.json").write_text(names, encoding="utf-8")


def main() -> None:
    """Write the files of this version beside those of earlier ones."""
    # A neutral place: a run keeps where its data were.
    scratch = Path(tempfile.gettempdir()) / f"privacygauge-{own_version()}"
    scratch.mkdir()
    os.chdir(scratch)
    write()
    kept = HERE / own_version()
    shutil.copytree(scratch, kept, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (kept / "model" / "report.json").unlink()


if __name__ == "__main__":
    main()
