"""Numbers per record against Privacy Meter and LeakPro: shares of use, ranges, time series.

    python bench/numbers_per_record.py shares --model tree --games 200
    python bench/numbers_per_record.py ranges --games 30
    python bench/numbers_per_record.py series --games 30

PRIVACY_METER and LEAKPRO name folders with their repositories, whose code runs as it is, on the
numbers of the same models; without them the table is ours alone. Models are of scikit-learn, and
data its handwritten digits.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from peers.repositories import LEAKPRO_SIGNALS, duci, lira_of_signals, ranges
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPRegressor
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.core.estimate import Estimate
from privacygauge.scores.share import share_of_losses

SHARES = (0.0, 0.1, 0.5, 1.0)
SHADOWS = 24
MINE, PLACEBO, POPULATION, OTHERS = 300, 100, 300, 600
"""Records of the owner, some that surely were not used, others' for RMIA, and in each model."""
SAMPLES, TRIM, UNKNOWN = 12, 0.75, 24
"""Draws from a range, the share that is left out, and pixels that are not known, of 64."""
SERIES, WINDOW, HORIZON = 200, 36, 12
LEAST = 1e-6
"""Smallest probability: a tree's leaf may say 0."""


def model_of(kind: str, seed: int) -> Any:
    """Return a classifier."""
    if kind == "tree":
        return DecisionTreeClassifier(random_state=seed)
    return RandomForestClassifier(10, random_state=seed)


def probabilities(model: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the probabilities of the true classes, (n,)."""
    said = np.zeros((len(x), 10))
    said[:, model.classes_] = model.predict_proba(x)
    return np.maximum(said[np.arange(len(x)), y], LEAST)


def models_of_a_game(kind: str, seed: int) -> dict[str, np.ndarray]:
    """Return probabilities by all models of a game on shares, and who was in each, by name.

    The last records are those of others, whom no model knows.
    """
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng([seed, 7])
    n = MINE + PLACEBO
    rows = rng.permutation(len(x))
    asked, pool = np.split(rows, [n + POPULATION])
    # Ours: shares of use spread evenly. Theirs: pairs, each record in one of the two.
    coins = (np.arange(SHADOWS) + 0.5) / SHADOWS
    spread = (rng.random((SHADOWS, n)) < coins[:, None]) & (np.arange(n) < MINE)
    half = rng.random((SHADOWS // 2 + 1, n)).argsort(axis=1) < n // 2
    targets = np.stack(
        [np.isin(np.arange(n), rng.permutation(MINE)[: round(MINE * share)]) for share in SHARES]
    )
    inside = {
        "target": targets,
        "spread": spread,
        "pairs": np.stack([half, ~half], axis=1).reshape(-1, n),
    }

    def said(used: np.ndarray) -> np.ndarray:
        chosen = np.concatenate([rng.choice(pool, OTHERS, replace=False), asked[:n][used]])
        model = model_of(kind, int(rng.integers(2**31))).fit(x[chosen], y[chosen])
        return probabilities(model, x[asked], y[asked])

    numbers = {name: np.array([said(used) for used in each]) for name, each in inside.items()}
    return numbers | {f"in {name}": each for name, each in inside.items()}


def shares_of_a_game(
    made: dict[str, np.ndarray], seed: int
) -> Iterator[tuple[float, dict[str, Any]]]:
    """Return each true share with what is said of it."""
    n = MINE + PLACEBO
    for row, share in enumerate(SHARES):
        target = made["target"][row]
        found = share_of_losses(
            1 - target[:n],
            1 - made["spread"][:, :n],
            made["in spread"],
            np.arange(n) >= MINE,
            seed=seed,
        )
        told: dict[str, Any] = {"PrivacyGauge": found.share}
        if "PRIVACY_METER" in os.environ:
            # The first reference model tunes a constant of theirs, and is no reference.
            for name, tuning in (("pairs", 1), ("spread", 0)):
                models, inside = made[name][tuning:], made[f"in {name}"][tuning:]
                if not tuning:
                    models = np.r_[made["pairs"][1:2], models]
                    inside = np.r_[made["in pairs"][1:2], inside]
                signals = np.r_[target[None], models].T
                members = np.r_[made["in target"][row][None], inside].T[:MINE]
                told[f"DUCI, {name}"] = duci(signals[:MINE], signals[n:], members)
        yield share, told


def areas_of_ranges(kind: str, seed: int) -> dict[str, float]:
    """Return areas of attacks on records some of whose values are not known, by name."""
    x, y = load_digits(return_X_y=True)
    rng = np.random.default_rng([seed, 8])
    mine, population, pool = np.split(rng.permutation(len(x)), [MINE, MINE + POPULATION])
    taught: list[tuple[Any, np.ndarray]] = []

    def train(used: np.ndarray, state: int) -> Any:
        model = model_of(kind, state).fit(x[mine[used]], y[mine[used]])
        taught.append((model, np.isin(np.arange(MINE), used)))
        return model

    def loss(model: Any, records: np.ndarray) -> np.ndarray:
        return -np.log(probabilities(model, records, y[mine]))

    unknown = np.arange(UNKNOWN)
    point = x[mine].copy()
    point[:, unknown] = x[pool][:, unknown].mean(axis=0)
    drawn = pg.signals.unknown_values(x[mine], unknown=unknown, pool=x[pool])
    plays = {
        "point": (lambda rng: point, 1, 0.0),
        "range": (drawn, SAMPLES, 0.0),
        "range, trimmed": (drawn, SAMPLES, TRIM),
    }
    areas = {}
    for name, (sample, samples, trim) in plays.items():
        taught.clear()
        asked = pg.signals.over_range(loss, sample, samples=samples, trim=trim, seed=seed)
        # One model more, with which Privacy Meter tunes.
        found = pg.audit_training(
            train, asked, MINE, n_shadows=SHADOWS + 1, seed=seed, attacks=("loss", "lira", "rmia")
        )
        areas |= {f"{name}: PrivacyGauge, {x.title}": x.auc.value for x in found.evaluations}
        if "PRIVACY_METER" not in os.environ:
            continue
        draws = np.random.default_rng(seed)
        records = np.stack([sample(draws) for _ in range(samples)], axis=1)
        signals, others = (
            np.stack([probabilities(model, z, labels) for model, _ in taught], axis=1)
            for z, labels in (
                (records.reshape(-1, x.shape[1]), np.repeat(y[mine], samples)),
                (x[population], y[population]),
            )
        )
        members = np.stack([used for _, used in taught], axis=1)
        scores = ranges(signals, others, members, samples, trim)
        areas[f"{name}: Privacy Meter, RMIA"] = float(roc_auc_score(members[:, 0], scores))
    return areas


def areas_of_series(seed: int) -> dict[str, float]:
    """Return areas of attacks on a forecaster of made-up series, by name."""
    rng = np.random.default_rng([seed, 9])
    time = np.arange(WINDOW + HORIZON)
    noise = rng.normal(size=(SERIES, len(time)))
    for step in time[1:]:
        noise[:, step] += 0.7 * noise[:, step - 1]
    phase, height = rng.random((SERIES, 1)), rng.gamma(4, 0.25, (SERIES, 1))
    series = 3 + height * np.sin(2 * np.pi * (time / 12 + phase)) + 0.5 * noise
    before, after = series[:, :WINDOW], series[:, WINDOW:]
    taught: list[tuple[Any, np.ndarray]] = []

    def train(used: np.ndarray, state: int) -> Any:
        model = MLPRegressor(hidden_layer_sizes=(64,), max_iter=300, random_state=state)
        taught.append((model.fit(before[used], after[used]), np.isin(np.arange(SERIES), used)))
        return model

    def loss(model: Any, rows: np.ndarray) -> dict[str, np.ndarray]:
        return pg.signals.series(after[rows], model.predict(before[rows]))

    found = pg.audit_training(
        train,
        loss,
        SERIES,
        n_shadows=SHADOWS,
        lower=("mse", "mae", "smape", "trend"),
        seed=seed,
        attacks=("mse", "lira"),
    )
    areas = {f"PrivacyGauge, {one.title}": one.auc.value for one in found.evaluations}
    if "LEAKPRO" in os.environ:
        members = np.stack([used for _, used in taught], axis=1)
        said = np.stack([model.predict(before) for model, _ in taught])[..., None]
        for signals in (["MSE"], ["MSE", "MAE", "SMAPE", "Trend"], [*LEAKPRO_SIGNALS]):
            scores, _ = lira_of_signals(said, after[..., None], members, signals)
            name = f"LeakPro, LiRA of {', '.join(signals)}"
            areas[name] = float(roc_auc_score(members[:, 0], scores))
    return areas


def told_of_shares(kind: str, games: int) -> None:
    """Print errors of estimated shares, and how many intervals hold the truth."""
    errors: dict[tuple[str, float], list[float]] = {}
    intervals: dict[float, list[tuple[float, float]]] = {share: [] for share in SHARES}
    for seed in range(games):
        for share, told in shares_of_a_game(models_of_a_game(kind, seed), seed):
            for name, found in told.items():
                value = found.value if isinstance(found, Estimate) else found
                errors.setdefault((name, share), []).append(min(max(value, 0.0), 1.0) - share)
                if isinstance(found, Estimate):
                    intervals[share].append((found.low, found.high))
    for (name, share), each in sorted(errors.items()):
        e = np.array(each)
        print(
            f"{share:.1f}  {name:24}  mean {e.mean():+.3f}  sd {e.std(ddof=1):.3f}"
            f"  absolute {np.abs(e).mean():.3f}  n {len(e)}"
        )
    for share, each in intervals.items():
        low, high = np.array(each).T
        held = int(np.count_nonzero((low <= share + 1e-9) & (share <= high + 1e-9)))
        print(
            f"{share:.1f}  {held} of {len(each)} intervals hold it, width {np.mean(high - low):.3f}"
        )


def main() -> None:
    """Play the games and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["shares", "ranges", "series"])
    parser.add_argument("--model", choices=["tree", "forest"], default="tree")
    parser.add_argument("--games", type=int, default=30)
    options = parser.parse_args()
    # Networks that are stopped before they converge, and divisions by 0 in other people's code.
    warnings.simplefilter("ignore")
    if options.what == "shares":
        told_of_shares(options.model, options.games)
        return
    games = [
        areas_of_series(seed) if options.what == "series" else areas_of_ranges(options.model, seed)
        for seed in range(options.games)
    ]
    for name in games[0]:
        area = np.array([game[name] for game in games])
        error = area.std(ddof=1) / np.sqrt(len(area))
        print(f"{area.mean():.3f} (standard error {error:.3f})  {name}")


if __name__ == "__main__":
    main()
