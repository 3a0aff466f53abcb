"""Tables 4 and 5 of Song & Mittal (2021): defences of answers, and white-box attacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.claims.defence_audit.audit import audit_defences, audit_defended
from privacygauge.claims.defences.defence import (
    Binning,
    Defence,
    LabelOnly,
    Rounding,
    Temperature,
    TopK,
)
from privacygauge.claims.defences.memguard import MemGuard, NeuralJia
from privacygauge.classifiers.learned import Learned
from privacygauge.classifiers.networks import SONG_MITTAL_2021_RELU, Networks
from privacygauge.classifiers.neural import NeuralNasr
from privacygauge.classifiers.predictions import Predictions, predictions
from privacygauge.classifiers.shadows import cohort_of, train_all
from privacygauge.classifiers.suite import METRICS
from privacygauge.classifiers.white_box import (
    GRADIENT_NORM,
    PARTS,
    WhiteBox,
    WhiteBoxGame,
    WhiteBoxSide,
    white_box_signals,
)
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Play
from privacygauge.datasets.archives import read_npz
from privacygauge.datasets.local_copies import VARIABLE, own_file
from privacygauge.errors import InputError
from privacygauge.evaluate.defences import AttackedDefence, JudgedDefence, accuracy_lost
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.playing import audit
from privacygauge.evaluate.rates import mean, proportion
from privacygauge.papers.song2021 import (
    EPOCHS,
    LEVEL,
    LOCATION,
    PURCHASE,
    TABLE_4,
    TABLE_4_DEFENDED,
    TABLE_5,
    TEXAS,
    Side,
    available,
    own_note,
    printed_rows,
    setting,
)
from privacygauge.papers.table import Cell, Effort, Row, Table
from privacygauge.runs.folder import kept_or_scratch

MEMGUARD = {
    "correctness": 0.687,
    "confidence": 0.691,
    "entropy": 0.521,
    "modified-entropy": 0.688,
}
"""Printed accuracies of adaptive adversaries against MemGuard, with a threshold per class."""

NEURAL = {"undefended": 0.811, "non-adaptive": 0.501}
"""Printed accuracy of the best of six networks of Jia et al. (2019), as Table 4 quotes it."""

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

_DEFENCE_NOTES = (
    "The undefended predictions, and those of the authors' MemGuard, are Song & Mittal's own; all "
    "other defences are PrivacyGauge's, on the same undefended predictions.",
    "Non-adaptive: thresholds and networks are learnt on undefended shadow predictions. Adaptive: "
    "the shadow model is defended as the target is. The paper's attacks by thresholds are "
    "adaptive; its neural ones are the best of six, four that are not and two that know that noise "
    "is added, where here there is one.",
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
    """Return Table 4 for the defended classifier, with further defences of the answers.

    The quick form has MemGuard and two cheap defences with one fit, the full one all defences with
    five.
    """
    target, shadow = authors_predictions("tc_output")
    answers, own = authors_predictions("defense_output")
    n = 1 if effort.quick else 5
    chosen = (MemGuard(), Rounding(), LabelOnly()) if effort.quick else DEFENCES
    # Fits by defences; transposed below to one list of fits per defence.
    audits: list[list[JudgedDefence]] = []
    for fit in range(n):
        seed = effort.seed + fit
        theirs = audit_defended(
            target, shadow, answers, own, name=AUTHORS, attacks=ATTACKS, seed=seed, level=LEVEL
        )
        ours = audit_defences(target, shadow, chosen, attacks=ATTACKS, seed=seed, level=LEVEL)
        audits.append([*theirs.defences, *ours.defences])
        effort.told(fit + 1, n)
    rows = [row for fits in zip(*audits, strict=True) for row in _defence_rows(fits)]
    rows += printed_rows(TABLE_4_DEFENDED)
    return Table(
        "song-table4-defences",
        "Song & Mittal (2021), Table 4, Location30 with defences",
        tuple(rows),
        _DEFENCE_NOTES,
    )


def over_fits(estimates: Sequence[Estimate], most: float = 1.0) -> Estimate:
    """Return the mean over fits on the same records, its interval widened by their spread.

    Parameters
    ----------
    estimates : sequence of Estimate
        One estimate per fit, all of the same level.
    most : float
        Upper end of the estimated number's range, [0, most].

    Returns
    -------
    Estimate
        Mean of the fits. On either side the half-width is the root of the sum of squares of two
        terms: the mean distance of the fits' own limits, for the records, and Student's half-width
        over the fits. `n` is the number of records.
    """
    values = np.array([estimate.value for estimate in estimates])
    # Zero for a single fit, and for fits that agree.
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


def _defence_rows(fits: Sequence[JudgedDefence]) -> list[Row]:
    title = fits[0].title
    # The paper prints one MemGuard: the authors', and ours with its parameters.
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
        # Every defence has the same undefended predictions: the paper's numbers stand at the first.
        known = TABLE_4.get(name, NEURAL[adversary] if name == "neural-jia" else None)
        return known if title == AUTHORS else None
    if not of_memguard:
        return None
    if adversary == "adaptive":
        return MEMGUARD.get(name)
    return NEURAL[adversary] if name == "neural-jia" else None


def authors_predictions(key: str) -> tuple[Predictions, Predictions]:
    """Return the authors' predictions of the target and of the shadow model, by array name."""
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


# Table 5 of Song & Mittal (2021): the gain of white-box attacks over predictions.

NETWORKS = Networks(
    SONG_MITTAL_2021_RELU,
    epochs=EPOCHS,
    batch_size=64,
    optimiser="sgd",
    learning_rate=0.01,
)
"""Networks of `song-table4`."""

WHITE_BOX_ATTACKS: tuple[Attack, ...] = (
    *(Threshold(name) for name in METRICS),
    NeuralNasr(),
    Threshold(GRADIENT_NORM),
    WhiteBox(),
    WhiteBox(PARTS),
)
"""Attacks on predictions, then on gradients."""

PAIRS = 5
"""Pairs of a target and a shadow model in the full form; the quick form has one."""

COMPARED = (*METRICS, "neural-nasr", GRADIENT_NORM)
"""Attacks with which the white-box attack is compared: on predictions, and by a gradient's norm."""

_GAMES = ("half known", "shadow model")
_Played = Mapping[str, tuple[Play, Evaluation]]

_WHITE_BOX_NOTES = (
    "The paper's numbers are on Purchase100, Texas100 and CIFAR-100, which are not available; on "
    "Location30 it prints none. It takes those of networks, from outside and white-box, from Nasr "
    "et al. (2019).",
    "Models and records are those of song-table4. Half known: the adversary knows the membership "
    "of one half of the 2,000 judged records and is judged on the other, both ways, as in Nasr et "
    "al. Shadow model: it knows none of them and learns on the gradients of a model of its own, "
    "trained in the same way on other records.",
    "white-box: one hidden layer on the logarithms of each layer's gradient norm, the gradient by "
    "the logits, the loss and the class. With activations: the last layer's inputs too, so that "
    "the network has all of the last layer's gradient. Nasr et al. use convolutions and more "
    "layers. What the network is fed was chosen on a shadow model's records. Hidden units of two "
    "networks have no common order, so that activations of a shadow model teach nothing.",
    "Mean over pairs of models that differ in initial weights and order of batches; the intervals "
    "allow for the records and for the pairs. Differences compare guesses on the same records.",
)


def song_table5(effort: Effort) -> Table:
    """Return Table 5: attacks on gradients beside attacks on predictions.

    The quick form has one pair of a target and a shadow model, the full one five.
    """
    data = available(PURCHASE, TEXAS)
    pairs = trained_sides(effort, 1 if effort.quick else PAIRS, data)
    found: dict[str, list[_Played]] = {name: [] for name in _GAMES}
    for name, (number, (target, shadow)) in product(_GAMES, enumerate(pairs)):
        # "half known" is the game without a shadow model.
        game = WhiteBoxGame(target, None if name == _GAMES[0] else shadow)
        # Each pair has halves and attack networks of its own: with common draws the spread over
        # pairs would leave both out.
        seed = effort.seed + number
        rounds = game.deal(1, seeds.stream(seed, "deal"))
        fit: dict[str, tuple[Play, Evaluation]] = {}
        for result in audit(rounds, WHITE_BOX_ATTACKS, seed=seed, level=LEVEL):
            assert not isinstance(result, Skipped)  # the game gives all that these attacks need
            attack = result[1].name
            fit[f"{attack} with activations" if result[1].variant else attack] = result
        found[name].append(fit)
    rows = [_accuracy("train accuracy", pairs, inside=True)]
    rows.append(_accuracy("test accuracy", pairs, inside=False))
    rows += [_attack(title, found) for title in found[_GAMES[0]][0]]
    best = WhiteBox().name
    for other in COMPARED:
        cells = {}
        for label, fits in found.items():
            # Guesses on the same records: `accuracy_lost` compares them record by record.
            both = [(fit[best][0].decisions, fit[other][0].decisions) for fit in fits]
            cells[label] = Cell(None, over_pairs([accuracy_lost(*pair, LEVEL) for pair in both]))
        rows.append(Row(f"{best} less {other}", cells))
    rows += printed_rows(TABLE_5)
    title = f"Song & Mittal (2021), Table 5, on {data}"
    return Table("song-table5", title, tuple(rows), (*own_note(data), *_WHITE_BOX_NOTES))


def trained_sides(
    effort: Effort, n: int, data: str = LOCATION
) -> list[tuple[WhiteBoxSide, WhiteBoxSide]]:
    """Return n targets with white-box signals, each with a shadow model trained like it.

    The models of ``DIR/runs/full/song-table5`` lie beside it and serve every table with the same n.
    """
    kept = effort.shared(f"song-models-{data}-{n}-seed-{effort.seed}")
    chosen = setting(data, effort.seed)
    networks = NETWORKS
    # The reader's data have the activation of the paper; Location30 has relu, as in Table 4.
    if data != LOCATION:
        make = replace(SONG_MITTAL_2021_RELU, activation=chosen.activation)
        networks = replace(networks, make=make)
    asked = np.arange(chosen.n_asked)
    return seen_inside(
        networks,
        chosen.sides,
        x=chosen.x,
        y=chosen.y,
        n=n,
        effort=effort,
        kept=kept,
        asked=asked,
    )


def seen_inside(
    networks: Networks,
    sides: tuple[Side, Side],
    x: NDArray[Any],
    y: Ints,
    n: int,
    effort: Effort,
    kept: Path | None,
    asked: Ints | None = None,
) -> list[tuple[WhiteBoxSide, WhiteBoxSide]]:
    """Train n pairs of models; return their white-box signals on members and non-members.

    Parameters
    ----------
    networks : Networks
        Settings of the training.
    sides : pair of Side
        Records of the target, then of the shadow model.
    x, y : ndarray, shapes (r, d) and (r,)
    n : int
        Number of pairs, at least 1.
    effort : Effort
        Seed, number of processes and progress.
    kept : Path or None
        Folder of the run and of the weights; None keeps neither.
    asked : ndarray of int, optional
        Records with predictions kept in the run; all by default.
    """
    # Models 0 to n - 1 are targets, n to 2 n - 1 shadow models.
    inside = np.repeat([side.inside(len(y)) for side in sides], n, axis=0)
    with kept_or_scratch(kept) as folder:
        weights = Path(folder).absolute() / "weights"
        weights.mkdir(parents=True, exist_ok=True)
        train_all(
            networks,
            cohort_of(x, y, inside, effort.seed, asked=asked),
            seed=effort.seed,
            run=Path(folder) / "models",
            weights=weights,
            n_jobs=effort.n_jobs,
            progress=effort.progress,
        )
        targets, shadows = (
            [
                _side(networks, side, x=x, y=y, weights=weights, number=i + role * n)
                for i in range(n)
            ]
            for role, side in enumerate(sides)
        )
    return list(zip(targets, shadows, strict=True))


def _side(
    networks: Networks, side: Side, x: NDArray[Any], y: Ints, weights: Path, number: int
) -> WhiteBoxSide:
    from safetensors.torch import load_file

    path = weights / f"model-{number:06}.safetensors"
    if not path.exists():
        raise InputError(
            f"{path.name} is not among the weights of the run, although its predictions are: give "
            "another folder for the run, where both are made"
        )
    model = networks.make(x.shape[1], int(y.max()) + 1)
    model.load_state_dict(load_file(path))
    signals = white_box_signals(model, x[side.rows], y[side.rows])
    return WhiteBoxSide(signals, side.inside(len(y))[side.rows])


def _attack(title: str, found: Mapping[str, Sequence[_Played]]) -> Row:
    cells = {}
    for game, fits in found.items():
        cells[game] = Cell(None, over_fits([fit[title][1].accuracy for fit in fits]))
        cells[f"{game}, AUC"] = Cell(None, over_fits([fit[title][1].auc for fit in fits]))
    return Row(title, cells)


def _accuracy(
    label: str, pairs: Sequence[tuple[WhiteBoxSide, WhiteBoxSide]], *, inside: bool
) -> Row:
    shares = []
    for target, _ in pairs:
        seen = target.signals
        rows = target.member == inside
        right = seen.logits[rows].argmax(axis=1) == seen.labels[rows]
        shares.append(proportion(right, level=LEVEL))
    return Row(label, {"accuracy": Cell(None, over_fits(shares))})


def over_pairs(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of numbers of either sign over pairs of models on the same records.

    The interval is that of `over_fits`, but not clipped. A single pair keeps its own.
    """
    if len(estimates) == 1:
        return estimates[0]
    spread = mean(np.array([one.value for one in estimates]), LEVEL, unit="pairs")
    down = np.mean([one.value - one.low for one in estimates])
    up = np.mean([one.high - one.value for one in estimates])
    half = spread.high - spread.value
    value = spread.value
    low = value - float(np.hypot(down, half))
    high = value + float(np.hypot(up, half))
    method = f"{estimates[0].method}; {spread.method}"
    return Estimate(value=value, low=low, high=high, level=LEVEL, n=estimates[0].n, method=method)
