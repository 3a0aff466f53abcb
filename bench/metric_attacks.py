"""Metric attacks on a million predictions of 100 classes, against the published procedure.

Both run in this process, one after the other, on the same arrays: half of them the target's
predictions, half the shadow model's. The published procedure tries every value seen as the
threshold of each class, for three signals; ours does four signals with a threshold for each
class AND one for all classes (which the loop could not finish in a day), and the ROC curves,
areas, rates and intervals of all eight attacks.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from _duel import Duel, Side
from _measure import peak_ratio, ratio_row, show, timed

from privacygauge.classifiers.predictions import Predictions, predictions
from privacygauge.classifiers.signals import signals
from privacygauge.classifiers.suite import METRICS
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.game import Observation, Round, Shadow
from privacygauge.core.rules import best_threshold, learn_thresholds
from privacygauge.evaluate.playing import audit


def made_up(n: int, k: int, seed: int) -> Predictions:
    """Return softmax outputs that are more confident on members."""
    rng = np.random.default_rng(seed)
    labels, member = rng.integers(k, size=n), rng.random(n) < 0.5
    probs = rng.standard_normal((n, k))
    probs[np.arange(n), labels] += np.where(member, 6.0, 4.0)
    np.exp(probs, out=probs)
    probs /= probs.sum(axis=1, keepdims=True)
    return predictions(probs=probs, labels=labels, member=member)


def ours(target: Predictions, shadow: Predictions) -> list[float]:
    """Return the accuracies of all attacks, after computing everything else about them."""
    seen, known = signals(target), signals(shadow)
    observation = Observation(seen, target.labels, Shadow(known, shadow.member, shadow.labels))
    dealt = [Round(observation, target.member, np.arange(len(target)))]
    attacks = [Threshold(name, per_class) for per_class in (True, False) for name in METRICS]
    return [evaluation.accuracy.value for _, evaluation in audit(dealt, attacks)]


def published(target: Predictions, shadow: Predictions) -> list[float]:
    """Return the per-class accuracies by a loop over all candidate thresholds."""
    of_target, of_shadow = whole_array_signals(target), whole_array_signals(shadow)
    accuracies = []
    for name, values in of_target.items():
        hits = rejected = 0
        for c in range(target.n_classes):
            mine, theirs = target.labels == c, shadow.labels == c
            inside = of_shadow[name][theirs & shadow.member]
            outside = of_shadow[name][theirs & ~shadow.member]
            cut, best = 0.0, 0.0
            for value in np.concatenate([inside, outside]):
                accuracy = 0.5 * (
                    np.sum(inside >= value) / len(inside) + np.sum(outside < value) / len(outside)
                )
                if accuracy > best:
                    cut, best = value, accuracy
            hits += np.sum(values[mine & target.member] >= cut)
            rejected += np.sum(values[mine & ~target.member] < cut)
        accuracies.append(0.5 * (hits / target.n_in + rejected / target.n_out))
    return accuracies


def whole_array_signals(given: Predictions) -> dict[str, np.ndarray]:
    """Return three signals, computed on the whole matrix at once."""
    p, rows = given.values, np.arange(len(given))
    logs, rest_logs = (np.log(np.maximum(x, 1e-30)) for x in (p, 1 - p))
    entropy = np.sum(p * logs, axis=1)
    weights = p.copy()
    weights[rows, given.labels] = 1 - p[rows, given.labels]
    rest_logs[rows, given.labels] = logs[rows, given.labels]
    return {
        "confidence": p[rows, given.labels],
        "entropy": entropy,
        "modified-entropy": np.sum(weights * rest_logs, axis=1),
    }


def work(n: int, classes: int) -> Callable[[], list[float]]:
    """Return a call that gives the accuracies of all attacks."""
    target, shadow = made_up(n // 2, classes, 0), made_up(n // 2, classes, 1)
    return lambda: ours(target, shadow)


def save(file: Path, n: int, classes: int) -> None:
    """Write the predictions of a target."""
    made = made_up(n, classes, 0)
    np.savez(file, probs=made.values, labels=made.labels, member=made.member)


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000):
        file = folder / f"predictions-{n}.npz"
        yield Duel(
            "metric attacks",
            n,
            "predictions",
            Side("all eight attacks", __file__, "work", {"n": n, "classes": 100}),
            Side(
                "tensorflow-privacy, two threshold attacks, each class",
                "peers/tensorflow-privacy.py",
                "attacks",
                {"file": str(file)},
                "tensorflow-privacy",
            ),
            prepare=partial(save, file, n // 2, 100),
            note="theirs needs no shadow model: its thresholds see the rows that it judges",
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_000_000, help="predictions in all")
    parser.add_argument("--classes", type=int, default=100)
    options = parser.parse_args()
    n, k = options.n // 2, options.classes
    target, shadow = made_up(n, k, 0), made_up(n, k, 1)
    rows = [f"{options.n:,} predictions x {k} classes"]

    fast = timed(lambda: ours(target, shadow), repeat=5)
    slow = timed(lambda: published(target, shadow), repeat=1)
    agree = np.abs(np.array(fast.value[1:4]) - np.array(slow.value)).max()
    rows.append(ratio_row("whole audit against the published loop", slow, fast, "goal >= 12"))
    rows.append(f"  largest difference of the three accuracies: {agree:.1e}")

    values, member = signals(shadow)["modified-entropy"], shadow.member
    sort = timed(lambda: np.sort(values), repeat=9)
    by_class = timed(lambda: learn_thresholds(values, member, shadow.labels, k), repeat=9)
    overall = timed(lambda: best_threshold(values[member], values[~member]), repeat=9)
    rows.append(ratio_row("thresholds, every class and global, per sort", by_class, sort, "<= 3"))
    rows.append(ratio_row("threshold, global only, per sort", overall, sort, "goal <= 3"))

    size = target.values.nbytes + shadow.values.nbytes
    peak = peak_ratio(lambda: ours(target, shadow), size)
    rows.append(f"peak memory, input included: {peak:.2f} times the input (goal <= 2)")
    show(rows)


if __name__ == "__main__":
    main()
