"""The three classifiers of Figures 3 and 5 of Song & Mittal (2021), and their members' scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from privacygauge.classifier.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    ReferenceRows,
)
from privacygauge.classifier.defences.early_stopping import EarlyStopping, first_epoch
from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.neural import Network, NeuralNasr
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.shadows import cohort_of
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import Histogram, Isotonic, RiskScore
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Play, play
from privacygauge.reproduce.song2021_settings import DataSetting, states
from privacygauge.reproduce.song2021_training import (
    NETWORKS,
    SHOWN,
    SMALL,
    EpochWork,
    Trained,
    models_by_epoch,
)
from privacygauge.reproduce.table import Effort, part_of
from privacygauge.runs.folder import kept_or_scratch

UNDEFENDED = "no defence"
REGULARISED = "adversarial regularisation"
STOPPED = "early stopping"

CLASSIFIERS = (UNDEFENDED, REGULARISED, STOPPED)
"""In the paper's order."""

PAIRS = 3
"""Pairs of a target and a shadow model in the full form; the quick form has one."""

QUICK = 6
"""Epochs of the quick form."""

EARLY = tuple(range(1, 6))
"""The epochs after which training may stop early."""

LONG = NeuralNasr(Network(epochs=500))
"""The attack network, trained for ten times as long as the library's."""

ATTACKS: Mapping[str, Attack] = {
    "risk score": RiskScore(estimator=Histogram()),
    "risk score, isotonic": RiskScore(estimator=Isotonic()),
    "network": NeuralNasr(),
    "network, trained long": LONG,
}
"""What estimates the probability of being a member: the paper's two, and a variant of each."""


@dataclass(frozen=True, eq=False)
class Pair:
    """A target and a shadow model that was trained alike."""

    target: Predictions
    """On its members and as many non-members."""
    shadow: Predictions
    """On records of its own."""


@dataclass(frozen=True, eq=False)
class MemberScores:
    """What one target's records look like to those who learnt on its shadow model."""

    member: Bools
    """(n,) True for a member."""
    by_name: Mapping[str, Floats]
    """Probabilities of being a member, (n,) in [0, 1], by what estimates them."""


def classifiers(setting: DataSetting, effort: Effort) -> Mapping[str, list[Pair] | Skipped]:
    """Return pairs of models without a defence, with adversarial regularisation, stopped early.

    The undefended model stops after the first epoch whose accuracy is not below the regularised
    model's, on records that no attack is judged on. Figures that need them share the folder.
    """
    n = effort.some(PAIRS, 1)
    kept = effort.shared(
        f"song-classifiers-{setting.name}-{n}-seed-{effort.seed}" + "-quick" * effort.quick
    )
    with kept_or_scratch(kept) as folder:
        plain, regularised = (
            [
                _logits(setting, kind, role=role, n=n, effort=effort, folder=Path(folder))
                for role in range(2)
            ]
            for kind in range(2)
        )
    ends = [_epoch(setting, plain[0][i], regularised[0][i]) for i in range(n)]
    missing = next((end for end in ends if isinstance(end, Skipped)), None)
    early = [EARLY.index(end) for end in ends if not isinstance(end, Skipped)]
    return {
        UNDEFENDED: _pairs(setting, plain, [-1] * n),
        REGULARISED: _pairs(setting, regularised, [-1] * n),
        STOPPED: _pairs(setting, plain, early) if missing is None else missing,
    }


def score_pairs(pairs: Sequence[Pair], seed: int, names: Sequence[str]) -> list[MemberScores]:
    """Return the probabilities of being a member that these of `ATTACKS` learn on the shadows."""
    return [_score_pair(pair, seed, number, names) for number, pair in enumerate(pairs)]


def _score_pair(pair: Pair, seed: int, number: int, names: Sequence[str]) -> MemberScores:
    rounds = PredictionGame(pair.target, pair.shadow).deal(1, seeds.stream(seed, "deal"))
    found = {}
    for name in names:
        played = play(ATTACKS[name], rounds, [seeds.stream(seed, name, number)])
        assert isinstance(played, Play)  # predictions with a shadow give all that these need
        score = played.transcript.score
        found[name] = expit(score) if name.startswith("network") else score
    return MemberScores(pair.target.member, found)


def _logits(
    setting: DataSetting, kind: int, role: int, n: int, effort: Effort, folder: Path
) -> NDArray[Any]:
    """Return what n models of a kind and a role say after the epochs, (n, e, a, k)."""
    networks = replace(NETWORKS, epochs=QUICK) if effort.quick else NETWORKS
    side = setting.sides[role]
    last = networks.epochs
    trainer: Trained = EarlyStopping(networks)
    if kind:
        reference = ReferenceRows(tuple(side.reference))
        trainer = AdversarialRegularisation(networks, SHOWN, reference, SMALL)
    inside = np.repeat([side.inside(len(setting.y))], n, axis=0)
    # A model of a kind starts from the same weights as its counterpart of the other.
    own = states(effort.seed, role, n)
    rows = np.arange(setting.n_asked)
    cohort = cohort_of(setting.x, setting.y, inside, effort.seed, asked=rows, states=own)
    work = EpochWork(trainer, cohort, (last,) if kind else (*EARLY, last))
    run = folder / f"kind-{kind}-role-{role}"
    told = part_of(effort, 2 * kind + role, 4)
    found = models_by_epoch(work, run, seed=effort.seed, n_jobs=effort.n_jobs, progress=told)
    return np.concatenate([one.logits for one in found])


def _epoch(setting: DataSetting, plain: NDArray[Any], regularised: NDArray[Any]) -> int | Skipped:
    """Return after which epoch training stops, by the records of the shadow model."""
    rows = setting.sides[1].rows
    right = plain[:-1, rows].argmax(axis=2) == setting.y[rows]
    wanted = regularised[-1, rows].argmax(axis=1) == setting.y[rows]
    return first_epoch(EARLY, right.mean(axis=1), float(wanted.mean()))


def _pairs(
    setting: DataSetting, logits: Sequence[NDArray[Any]], epochs: Sequence[int]
) -> list[Pair]:
    target, shadow = setting.sides
    return [
        Pair(
            target.predictions(logits[0][i, epoch], setting.y),
            shadow.predictions(logits[1][i, epoch], setting.y),
        )
        for i, epoch in enumerate(epochs)
    ]
