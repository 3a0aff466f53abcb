"""Releases whose truth is known, as PrivacyGauge, Anonymeter and SDMetrics see them.

    python bench/release_verdicts.py FOLDER --games 10 --peers 2

Adult, 1,000 records a side; the peers are those of `python bench/peers/make.py
anonymeter sdmetrics`, each called as its guide shows, on the first games of each release. FOLDER
keeps the tables and a JSON line for each game; what is there is not played again. The table at the
end is that of the documentation.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _duel import Side, one_core, started

import privacygauge as pg
from privacygauge.datasets.public import adult

N, ATTEMPTS = 1_000, 200
SECRETS = ("age", "education", "income")

Frame = pd.DataFrame


def copied(share: float) -> Callable[..., Frame]:
    """Return a plant: a share of the rows are real records as they are."""

    def plant(real: Frame, others: Frame, holdout: Frame, rng: np.random.Generator) -> Frame:
        n = round(share * N)
        return pd.concat([real[:n], others[n:]], ignore_index=True)

    return plant


def interpolated(real: Frame, others: Frame, holdout: Frame, rng: np.random.Generator) -> Frame:
    """Return rows between a real record and one of its five nearest, as SMOTE's."""
    numbers = list(real.select_dtypes("number"))
    scaled = ((real[numbers] - real[numbers].mean()) / real[numbers].std()).to_numpy()
    codes = real.drop(columns=numbers).apply(lambda column: pd.factorize(column)[0]).to_numpy()
    away = ((scaled[:, None] - scaled) ** 2).sum(axis=2)
    away += (codes[:, None] != codes).sum(axis=2)
    np.fill_diagonal(away, np.inf)
    near = np.argsort(away, axis=1)[:, :5]
    one = rng.integers(N, size=N)
    other = near[one, rng.integers(5, size=N)]
    made = real.iloc[one].reset_index(drop=True)
    for name in numbers:
        start, end = (real[name].to_numpy()[rows] for rows in (one, other))
        made[name] = (start + rng.random(N) * (end - start)).round().astype(int)
    return made


def binned(real: Frame, others: Frame, holdout: Frame, rng: np.random.Generator) -> Frame:
    """Return a release in coarse steps, a tenth of whose rows are real records."""
    made = copied(0.1)(real, others, holdout, rng)
    steps = {"age": 5, "hours-per-week": 10, "capital-gain": 1000, "fnlwgt": 10_000}
    return made.assign(**{name: made[name] // step * step for name, step in steps.items()})


def noisy(real: Frame, others: Frame, holdout: Frame, rng: np.random.Generator) -> Frame:
    """Return a release, a tenth of whose rows are real records with numbers moved by .1 sd."""
    made = copied(0.1)(real, others, holdout, rng)
    n = N // 10
    for name in real.select_dtypes("number"):
        moved = made[name].to_numpy(float)
        moved[:n] += rng.normal(0, 0.1 * real[name].std(), n)
        made[name] = moved.round().clip(real[name].min(), real[name].max()).astype(int)
    return made


def before_the_split(real: Frame, others: Frame, holdout: Frame, rng: np.random.Generator) -> Frame:
    """Return a release of real and holdout records: it was made before these were set aside."""
    n = N // 2
    return pd.concat([real[:n], holdout[:n]], ignore_index=True)


CELLS: dict[str, Callable[..., Frame]] = {
    "other people (no leak)": copied(0.0),
    "0.5% verbatim": copied(0.005),
    "2% verbatim": copied(0.02),
    "100% verbatim": copied(1.0),
    "SMOTE": interpolated,
    "bins, 10% copies": binned,
    "noise of .1 sd, 10% copies": noisy,
    "real and holdout rows, half each": before_the_split,
}


def released(folder: Path, cell: str, game: int) -> dict[str, str]:
    """Return the files of a release, its real records and the holdout; make them."""
    frame = adult()
    rng = np.random.default_rng([game, list(CELLS).index(cell)])
    rows = np.random.default_rng(game).permutation(len(frame))
    real, others, holdout = (
        frame.iloc[rows[i * N : (i + 1) * N]].reset_index(drop=True) for i in range(3)
    )
    made = CELLS[cell](real, others, holdout, rng).sample(frac=1, random_state=game)
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.csv" for name in ("real", "synthetic", "holdout")}
    for name, part in (("real", real), ("synthetic", made), ("holdout", holdout)):
        part.to_csv(files[name], index=False)
    return {name: str(file) for name, file in files.items()}


def asked(side: Side) -> dict[str, Any]:
    """Return what a peer answers."""
    with started(side) as process:
        process.answer()
        return process.turn("once")["value"]


def ours(folder: Path, cell: str, game: int) -> dict[str, Any]:
    """Return what PrivacyGauge says about a release."""
    frames = {name: pd.read_csv(file) for name, file in released(folder, cell, game).items()}
    said = pg.audit_released(**frames, categorical=["income"], label="income")
    return {
        "cell": cell,
        "game": game,
        "ours": said.report().verdict.grade.word,
        "headline": said.summary().splitlines()[0],
    }


def theirs(folder: Path, cell: str, game: int) -> dict[str, Any]:
    """Return what the peers say about a release."""
    files = released(folder, cell, game)
    given = {**files, "attempts": ATTEMPTS, "secrets": SECRETS}
    risks = asked(Side("anonymeter", "peers/anonymeter.py", "published", given, "anonymeter"))
    given = {**files, "secret": "income"}
    scores = asked(Side("sdmetrics", "peers/sdmetrics.py", "scores", given, "sdmetrics"))
    return {
        "cell": cell,
        "game": game,
        "anonymeter": {name: one["risk"] for name, one in risks.items() if name != "version"},
        "sdmetrics": {name: one for name, one in scores.items() if name != "version"},
    }


def table(lines: list[dict[str, Any]]) -> str:
    """Return the rows of the documentation: grades, risks above 0, and the means of the scores."""
    metrics = ("NewRowSynthesis", "DCRBaselineProtection", "DCROverfittingProtection")
    rows = []
    for cell in CELLS:
        words = [line["ours"] for line in lines if line["cell"] == cell and "ours" in line]
        grades = ", ".join(f"{word} {words.count(word)}" for word in dict.fromkeys(words))
        of = [line for line in lines if line["cell"] == cell and "anonymeter" in line]
        if not of:
            rows.append(f"| {cell} | {grades} | | | | | |")
            continue
        above = sum(any(low > 0 for _, low, _ in one["anonymeter"].values()) for one in of)
        most = np.mean([max(low for _, low, _ in one["anonymeter"].values()) for one in of])
        means = " | ".join(
            f"{np.mean([line['sdmetrics'][name] for line in of]):.3f}"
            for name in (*metrics, "DisclosureProtection")
        )
        rows.append(f"| {cell} | {grades} | {above} of {len(of)} ({most:.2f}) | {means} |")
    return "\n".join(rows)


def main() -> None:
    """Play all releases, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--games", type=int, default=10, help="of PrivacyGauge, for each release")
    parser.add_argument("--peers", type=int, default=2, help="games of these that the peers play")
    options = parser.parse_args()
    one_core()
    options.folder.mkdir(parents=True, exist_ok=True)
    log = options.folder / "releases.jsonl"
    lines = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    known = {(line["cell"], line["game"], "ours" in line) for line in lines}
    for game in range(options.games):
        for cell in CELLS:
            for play in (ours, theirs)[: 1 + (game < options.peers)]:
                if (cell, game, play is ours) in known:
                    continue
                lines.append(play(options.folder / "tables", cell, game))
                with log.open("a") as file:
                    file.write(json.dumps(lines[-1]) + "\n")
                print(cell, game, lines[-1].get("headline", "peers"), flush=True)
    print(table(lines))


if __name__ == "__main__":
    main()
