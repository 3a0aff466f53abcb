"""A release of Adult by the real CTGAN: PrivacyGauge's risks beside Anonymeter's.

    python bench/ctgan_release.py FOLDER    print a row for each risk

FOLDER keeps the three tables: what is there is not made again. CTGAN learns from 5,000 complete
records, with its own settings but for the number of epochs; as many others are the holdout.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _duel import Side, one_core, started

import privacygauge as pg
from privacygauge.datasets.public import CATEGORICAL, adult

SECRETS = ("age", "education", "income")
"""Columns to infer."""
RECORDS, EPOCHS, ATTEMPTS = 5_000, 60, 500


def release(folder: Path) -> dict[str, str]:
    """Return the files of the real, the synthetic and the holdout records; make what is missing."""
    files = {name: folder / f"{name}.csv" for name in ("real", "synthetic", "holdout")}
    if not all(file.exists() for file in files.values()):
        from ctgan import CTGAN

        folder.mkdir(parents=True, exist_ok=True)
        frame = adult()
        frame = frame[~(frame == "?").any(axis=1)].reset_index(drop=True)
        rows = np.random.default_rng(0).permutation(len(frame))
        real, holdout = (frame.iloc[rows[i * RECORDS : (i + 1) * RECORDS]] for i in (0, 1))
        model = CTGAN(epochs=EPOCHS, enable_gpu=False)
        model.set_random_state(0)
        model.fit(real, [*CATEGORICAL, "income"])
        parts = {"real": real, "synthetic": model.sample(RECORDS), "holdout": holdout}
        for name, part in parts.items():
            part.to_csv(files[name], index=False)
    return {name: str(file) for name, file in files.items()}


def ours(files: dict[str, str]) -> dict[str, Any]:
    """Return rates, risk and seconds of the whole audit, with its own number of attempts."""
    began = time.perf_counter()
    tables = {name: pd.read_csv(file) for name, file in files.items()}
    found = pg.audit_released(**tables, categorical=["income"], label="income", secrets=SECRETS)
    seconds = time.perf_counter() - began
    told: dict[str, Any] = {"seconds": seconds, "said": found.report().verdict.sentences}
    for x in found.risks:
        rates = [x.attack.value, x.control.value, x.baseline.value]
        told[x.title] = {"rates": rates, "risk": [x.risk.value, x.risk.low, x.risk.high]}
    return told


def row(title: str, told: dict[str, Any]) -> str:
    """Return a row of the table."""
    rates = " | ".join(f"{100 * x:.1f}" for x in told["rates"])
    value, low, high = (100 * x for x in told["risk"])
    return f"| {title} | {rates} | {value:.1f} ({low:.1f} to {high:.1f}) |"


def main() -> None:
    """Print all rows of both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--made", action="store_true", help="make the tables, and nothing else")
    options = parser.parse_args()
    one_core()
    files = release(options.folder)
    if options.made:
        return
    arguments = {**files, "attempts": ATTEMPTS, "secrets": SECRETS}
    side = Side("anonymeter", "peers/anonymeter.py", "published", arguments, "anonymeter")
    with started(side) as process:
        process.answer()
        theirs = process.turn()["value"]
    for name, found in (("privacygauge", ours(files)), ("anonymeter", theirs)):
        print(name, {k: v for k, v in found.items() if not isinstance(v, dict)})
        for title, told in found.items():
            if isinstance(told, dict):
                print(row(title, told), flush=True)


if __name__ == "__main__":
    main()
