"""Table 5 of Song & Mittal (2021) on Location30: what the weights add to the predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.classifier.defences.defence import defend_predictions
from privacygauge.classifier.defences.memguard import MemGuard
from privacygauge.classifier.networks import SONG_MITTAL_2021_RELU, Networks
from privacygauge.classifier.neural import NeuralNasr
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.shadows import cohort_of, train_all
from privacygauge.classifier.suite import METRICS
from privacygauge.classifier.white_box import (
    GRADIENT_NORM,
    PARTS,
    WhiteBox,
    WhiteBoxGame,
    WhiteBoxSide,
    white_box_signals,
)
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Play
from privacygauge.errors import InputError
from privacygauge.evaluate.defences import accuracy_lost
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.playing import audit
from privacygauge.evaluate.rates import mean, proportion
from privacygauge.reproduce.song2021 import EPOCHS, LEVEL
from privacygauge.reproduce.song2021_defences import authors_predictions, over_fits
from privacygauge.reproduce.song2021_printed import TABLE_5, printed_rows
from privacygauge.reproduce.song2021_settings import (
    LOCATION,
    PURCHASE,
    TEXAS,
    Side,
    available,
    own_note,
    setting,
)
from privacygauge.reproduce.table import Cell, Effort, Row, Table
from privacygauge.runs.folder import kept_or_scratch

NETWORKS = Networks(
    SONG_MITTAL_2021_RELU,
    epochs=EPOCHS,
    batch_size=64,
    optimiser="sgd",
    learning_rate=0.01,
)
"""The networks of `song-table4`."""

ATTACKS: tuple[Attack, ...] = (
    *(Threshold(name) for name in METRICS),
    NeuralNasr(),
    Threshold(GRADIENT_NORM),
    WhiteBox(),
    WhiteBox(PARTS),
)
"""From outside, then from inside."""

PAIRS = 5
"""Pairs of a target and a shadow model in the full form; the quick form has one."""

COMPARED = ("modified-entropy", "neural-nasr", GRADIENT_NORM)
"""What the white-box attack is set against."""

_GAMES = ("half known", "shadow model")
_Played = Mapping[str, tuple[Play, Evaluation]]

_NOTES = (
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
    """Return Table 5 on Location30: attacks that see gradients beside those that do not.

    The quick form has one pair of a target and a shadow model, the full one five.
    """
    data = available(PURCHASE, TEXAS)
    pairs = trained_sides(effort, 1 if effort.quick else PAIRS, data)
    found = {name: [_play_white_box(*pair, name, effort.seed) for pair in pairs] for name in _GAMES}
    rows = [_accuracy("train accuracy", pairs, inside=True)]
    rows.append(_accuracy("test accuracy", pairs, inside=False))
    rows += [_attack(title, found) for title in found[_GAMES[0]][0]]
    rows += [_difference(WhiteBox().name, other, found) for other in COMPARED]
    rows += printed_rows(TABLE_5)
    title = f"Song & Mittal (2021), Table 5, on {data}"
    return Table("song-table5", title, tuple(rows), (*own_note(data), *_NOTES))


def trained_sides(
    effort: Effort, n: int, data: str = LOCATION
) -> list[tuple[WhiteBoxSide, WhiteBoxSide]]:
    """Return n targets seen from inside, each with a shadow model that is trained like it.

    The models of ``DIR/runs/full/song-table3`` lie beside it and serve every table that asks for as
    many.
    """
    kept = effort.shared(f"song-models-{data}-{n}-seed-{effort.seed}")
    chosen = setting(data, effort.seed)
    networks = NETWORKS
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


def white_box_pairs(
    effort: Effort, data: str = LOCATION
) -> dict[str, list[tuple[Predictions, Predictions]]]:
    """Return pairs of a target's and a shadow model's predictions: the authors', and ours.

    On the reader's own data there are none of the authors, and MemGuard is PrivacyGauge's.
    """
    trained = trained_sides(effort, 1 if effort.quick else PAIRS, data)
    alike = [(target.predictions, shadow.predictions) for target, shadow in trained]
    if data == LOCATION:
        return {
            "authors": [authors_predictions("tc_output")],
            "MemGuard": [authors_predictions("defense_output")],
            "alike": alike,
        }
    defended = [
        (
            defend_predictions(MemGuard(), target, seeds.stream(effort.seed, "memguard", i, 0)),
            defend_predictions(MemGuard(), shadow, seeds.stream(effort.seed, "memguard", i, 1)),
        )
        for i, (target, shadow) in enumerate(alike)
    ]
    return {"MemGuard": defended, "alike": alike}


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
    """Return n pairs of models on their members and as many non-members, from their weights.

    Parameters
    ----------
    networks : Networks
        How they are trained.
    sides : pair of Side
        Who trains a target, and who a shadow model.
    x, y : ndarray, shapes (r, d) and (r,)
    n : int
    effort : Effort
    kept : Path or None
        Folder of the run and of the weights.
    asked : ndarray of int, optional
        The records whose predictions the run keeps; all by default.
    """
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


def _play_white_box(target: WhiteBoxSide, shadow: WhiteBoxSide, game: str, seed: int) -> _Played:
    """Return every attack's guesses and their evaluation, by the attack's title."""
    dealt = WhiteBoxGame(target, None if game == _GAMES[0] else shadow)
    rounds = dealt.deal(1, seeds.stream(seed, "deal"))
    played = {}
    for result in audit(rounds, ATTACKS, seed=seed, level=LEVEL):
        assert not isinstance(result, Skipped)  # the game gives all that these attacks need
        variant = result[1].variant
        played[f"{result[1].name} with activations" if variant else result[1].name] = result
    return played


def _attack(title: str, found: Mapping[str, Sequence[_Played]]) -> Row:
    cells = {}
    for game, fits in found.items():
        cells[game] = Cell(None, over_fits([fit[title][1].accuracy for fit in fits]))
        cells[f"{game}, AUC"] = Cell(None, over_fits([fit[title][1].auc for fit in fits]))
    return Row(title, cells)


def _difference(one: str, other: str, found: Mapping[str, Sequence[_Played]]) -> Row:
    cells = {}
    for game, fits in found.items():
        pairs = [(fit[one][0].decisions, fit[other][0].decisions) for fit in fits]
        cells[game] = Cell(None, over_pairs([accuracy_lost(*pair, LEVEL) for pair in pairs]))
    return Row(f"{one} less {other}", cells)


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

    On either side of it the mean distance of the estimates' own limits, and Student's half-width
    over the pairs, as the root of the sum of squares.
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
