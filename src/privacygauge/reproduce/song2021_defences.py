"""Table 4 of Song & Mittal (2021), Location30 with defences, by adversaries of both kinds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from privacygauge.audits.defences.play import audit_defences, audit_defended
from privacygauge.classifier.defences.defence import (
    Binning,
    Defence,
    LabelOnly,
    Rounding,
    Temperature,
    TopK,
)
from privacygauge.classifier.defences.memguard import MemGuard, NeuralJia
from privacygauge.classifier.learned import Learned
from privacygauge.classifier.predictions import Predictions, predictions
from privacygauge.classifier.suite import METRICS
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate
from privacygauge.core.game import Attack
from privacygauge.datasets.arrays import read_npz
from privacygauge.datasets.local_copies import VARIABLE, own_file
from privacygauge.errors import InputError
from privacygauge.evaluate.defences import AttackedDefence, JudgedDefence
from privacygauge.evaluate.rates import mean
from privacygauge.reproduce.song2021 import LEVEL, TABLE_4
from privacygauge.reproduce.song2021_printed import TABLE_4_DEFENDED, printed_rows
from privacygauge.reproduce.table import Cell, Effort, Row, Table

MEMGUARD = {
    "correctness": 0.687,
    "confidence": 0.691,
    "entropy": 0.521,
    "modified-entropy": 0.688,
}
"""With MemGuard: accuracies of prepared adversaries, a threshold for each class."""

NEURAL = {"undefended": 0.811, "non-adaptive": 0.501}
"""The best of six neural networks of Jia et al. (2019), as Table 4 quotes it."""

ATTACKS: tuple[Attack, ...] = (*(Threshold(name) for name in METRICS), NeuralJia(), Learned())

DEFENCES: tuple[Defence, ...] = (
    MemGuard(),
    MemGuard(0.1),
    Binning(),
    Rounding(),
    TopK(1),
    TopK(3),
    Temperature(),
    LabelOnly(),
)

AUTHORS = "memguard (authors' answers)"

_NOTES = (
    "The undefended predictions, and those of the authors' MemGuard, are Song & Mittal's own; all "
    "other defences are PrivacyGauge's, on the same undefended predictions.",
    "Non-adaptive: thresholds and networks are learnt on undefended shadow predictions. Adaptive: "
    "the shadow model is defended as the target is. The paper's attacks by thresholds are "
    "adaptive; its neural ones are not, and are the best of six, where here there is one.",
    "Adaptive, AUC: how well the same scores rank, whatever threshold the shadow model suggests. "
    "It stays high where target and shadow are defended alike but not equally.",
    "MemGuard's attack network is fitted on all members and, in turn, on either half of the "
    "non-members, to answer the other half: the owner's own non-members are not among the "
    "published predictions.",
    "Mean over fits that differ in all that is drawn; the interval allows for the records and for "
    "the fits.",
    "A temperature can be undone by whoever guesses it, whatever these thresholds achieve.",
)


def song_table4_defences(effort: Effort) -> Table:
    """Return Table 4 for the defended classifier, and the same for other defences on answers.

    The quick form takes MemGuard and two cheap defences with one fit, the full one all of them
    with five.
    """
    target, shadow = authors_predictions("tc_output")
    answers, own = authors_predictions("defense_output")
    n = 1 if effort.quick else 5
    chosen = (MemGuard(), Rounding(), LabelOnly()) if effort.quick else DEFENCES
    audits: list[list[JudgedDefence]] = []
    for fit in range(n):
        seed = effort.seed + fit
        theirs = audit_defended(
            target, shadow, answers, own, name=AUTHORS, attacks=ATTACKS, seed=seed, level=LEVEL
        )
        ours = audit_defences(target, shadow, chosen, attacks=ATTACKS, seed=seed, level=LEVEL)
        audits.append([*theirs.defences, *ours.defences])
        effort.told(fit + 1, n)
    rows = [row for fits in zip(*audits, strict=True) for row in _rows(fits)]
    rows += printed_rows(TABLE_4_DEFENDED)
    return Table(
        "song-table4-defences",
        "Song & Mittal (2021), Table 4, Location30 with defences",
        tuple(rows),
        _NOTES,
    )


def over_fits(estimates: Sequence[Estimate], most: float = 1.0) -> Estimate:
    """Return the mean over fits on the same records, its interval widened by their spread.

    Parameters
    ----------
    estimates : sequence of Estimate
        One a fit, of one level.
    most : float
        The estimated number is in [0, most].

    Returns
    -------
    Estimate
        On either side the mean distance of the fits' own limits, and Student's half-width over
        the fits, as the root of the sum of squares. `n` is that of the records.
    """
    values = np.array([estimate.value for estimate in estimates])
    spread = 0.0
    if np.ptp(values) > 0:
        spread = float(mean(values, estimates[0].level, unit="fits").high - values.mean())
    down = np.mean([estimate.value - estimate.low for estimate in estimates])
    up = np.mean([estimate.high - estimate.value for estimate in estimates])
    value = float(values.mean())
    first = estimates[0]
    method = f"{first.method}; t over {len(estimates)} fits"
    low = max(0.0, value - float(np.hypot(down, spread)))
    high = min(most, value + float(np.hypot(up, spread)))
    return Estimate(
        value=value,
        low=min(low, value),
        high=max(high, value),
        level=first.level,
        n=first.n,
        method=method,
    )


def _rows(fits: Sequence[JudgedDefence]) -> list[Row]:
    title = fits[0].title
    of_memguard = title in (AUTHORS, "memguard (budget 1)")  # with the paper's parameters
    rows = []
    for number, first in enumerate(fits[0].attacks):
        same = [fit.attacks[number] for fit in fits]
        cells = {
            adversary: Cell(
                _paper(first, adversary, title, of_memguard),
                over_fits([attacked.by_adversary[adversary].accuracy for attacked in same]),
            )
            for adversary in first.by_adversary
        }
        ranking = over_fits([attacked.adaptive.auc for attacked in same])
        cells["adaptive, AUC"] = Cell(None, ranking)
        rows.append(Row(f"{title}: {first.adaptive.name}", cells))
    distances = over_fits([fit.distance for fit in fits], most=2.0)
    return [*rows, Row(f"{title}: mean L1 distance", {"adaptive": Cell(None, distances)})]


def _paper(
    attacked: AttackedDefence, adversary: str, title: str, of_memguard: bool
) -> float | None:
    name = attacked.adaptive.name
    if adversary == "undefended":
        # The same predictions in every row: the paper's numbers stand beside the first.
        known = TABLE_4.get(name, NEURAL[adversary] if name == "neural-jia" else None)
        return known if title == AUTHORS else None
    if not of_memguard:
        return None
    if adversary == "adaptive":
        return MEMGUARD.get(name)
    return NEURAL[adversary] if name == "neural-jia" else None


def authors_predictions(key: str) -> tuple[Predictions, Predictions]:
    """Return the authors' predictions of the target and of the shadow model."""
    known = _read_own_file("location_labels_membership.npz")
    target, shadow = (
        predictions(
            probs=_read_own_file(f"location_{side}_predictions.npz")[key],
            labels=known[f"y_{side}"],
            member=known[f"member_{side}"],
            name=f"location_{side}_predictions.npz",
        )
        for side in ("target", "shadow")
    )
    return target, shadow


def _read_own_file(name: str) -> dict[str, Floats]:
    path = own_file(name)
    if path is None:
        raise InputError(
            f"{name} is not in the folder that {VARIABLE} names: make it of the predictions that "
            "come with the code of Song & Mittal (2021)"
        )
    return dict(read_npz(path))
