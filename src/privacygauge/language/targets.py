"""Several language models trained on coin flips: attacks on worlds, by text and by person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.lira import LiraOffline, LiraOnline
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.game import Attack, Round
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.playing import audit, played_of

if TYPE_CHECKING:
    import pandas as pd


from privacygauge.core import checks, units
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.game import rounds_of_models
from privacygauge.errors import InputError

LOG_LIKELIHOOD = "log-likelihood"
"""Name of the signal by which models are compared."""


def rounds_of_texts(
    log_likelihood: ArrayLike,
    inside: ArrayLike,
    patient: ArrayLike | None = None,
    *,
    n_worlds: int | None = None,
) -> tuple[Round, ...]:
    """Return rounds of k models on n texts, for LiRA, RMIA and BaVarIA.

    Half of the models are the adversary's own, and each of the others is the target of one round.

    Parameters
    ----------
    log_likelihood : array_like, shape (k, n)
        Log-likelihood of each text under each model, in nats: minus the energy. RMIA treats it as
        the logarithm of a probability, which log-likelihoods of whole texts are; its offline form
        needs ``a=1``, because any other slope is meant for probabilities near 1.
    inside : array_like of bool, shape (k, n)
        True where the model was trained on the text; drawn by `coin_flips`.
    patient : array_like, shape (n,), optional
        Person of each text: the unit of every interval. By default each text is its own unit.
    n_worlds : int, optional
        Number of models, the first ones, that are the adversary's own; the others are targets. By
        default half of them.

    Returns
    -------
    tuple of Round

    Raises
    ------
    InputError
        If shapes do not fit, or as in `rounds_of_models`.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.evaluate.playing import audit
    >>> from privacygauge.core.attacks.lira import LiraOnline
    >>> from privacygauge.core.release import coin_flips
    >>> rng = np.random.default_rng(0)
    >>> inside = coin_flips(16, 300, rng)
    >>> likelihood = rng.normal(-90, 30, 300) + rng.normal(size=(16, 300)) + 3 * inside
    >>> _, found = audit(rounds_of_texts(likelihood, inside), [LiraOnline()])[0]
    >>> found.auc.value > 0.9
    True
    """
    signal, coins = _check_targets(log_likelihood, inside)
    if patient is None:
        return rounds_of_models(LOG_LIKELIHOOD, signal, coins, n_worlds=n_worlds)
    unit = units.number_units(patient, "patient", length=signal.shape[1])
    return rounds_of_models(LOG_LIKELIHOOD, signal, coins, n_worlds=n_worlds, unit=unit)


def rounds_of_patients(
    log_likelihood: ArrayLike,
    inside: ArrayLike,
    patient: ArrayLike,
    *,
    n_worlds: int | None = None,
) -> tuple[Round, ...]:
    """Return rounds of k models on patients, by the mean over each patient's texts.

    A patient is compared with the same patient in other models, which have as many of their texts,
    so unequal numbers of texts do not bias the result.

    Parameters
    ----------
    log_likelihood, inside, patient, n_worlds
        As in `rounds_of_texts`. One coin decides about all texts of a patient.

    Returns
    -------
    tuple of Round
        Rounds with patients as targets, numbered in the order of first appearance.

    Raises
    ------
    InputError
        As in `rounds_of_texts`, or if a model was trained on only some texts of a patient.
    """
    signal, coins = _check_targets(log_likelihood, inside)
    # Numbers in the order of first appearance, as the targets are numbered.
    owner = units.number_units(patient, "patient", length=signal.shape[1])
    size = np.bincount(owner)
    # Share of each patient's texts in each model: 0 or 1 where patients were dealt whole.
    share = np.array([np.bincount(owner, weights=row) for row in coins]) / size
    parted = np.argwhere((share > 0) & (share < 1))
    if len(parted):
        model, number = parted[0]
        raise InputError(
            f"model {model} was trained on some texts of patient "
            f"{np.asarray(patient)[np.argmax(owner == number)]} and not on others: give "
            "coin_flips the patients as units, or compare texts (rounds_of_texts)"
        )
    means = np.array([np.bincount(owner, weights=row) for row in signal]) / size
    return rounds_of_models(LOG_LIKELIHOOD, means, share > 0, n_worlds=n_worlds)


def _check_targets(log_likelihood: ArrayLike, inside: ArrayLike) -> tuple[Floats, Bools]:
    signal = np.asarray(log_likelihood)
    coins = np.asarray(inside)
    for name, array in (("log_likelihood", signal), ("inside", coins)):
        if array.ndim != 2 or not array.size:
            raise InputError(f"{name} must have the shape (k, n), got {array.shape}")
    if coins.shape != signal.shape:
        raise InputError(f"inside must have the shape {signal.shape}, got {coins.shape}")
    rows = zip(signal, coins, strict=True)
    checked = [
        (checks.floats(row, f"log_likelihood of model {j}"), checks.bools(side, "inside"))
        for j, (row, side) in enumerate(rows)
    ]
    return np.array([row for row, _ in checked]), np.array([side for _, side in checked])


ATTACKS: tuple[Attack, ...] = (
    LiraOnline(),
    LiraOffline(),
    CalibratedOnline(),
    RmiaOnline(),
    RmiaOffline(a=1.0),
    Bavaria(),
)
"""Attacks played; any other slope of offline RMIA is meant for probabilities near 1."""


@dataclass(frozen=True)
class SeveralModels:
    """Results of attacks that compare several language models, some trained on each text."""

    n_worlds: int
    """Number of the adversary's own models."""
    n_targets: int
    """Number of attacked models."""
    texts: tuple[Evaluation, ...]
    """Evaluations by text, one per attack; intervals count patients."""
    patients: tuple[Evaluation, ...]
    """Evaluations by patient, one per attack; empty if everyone has one text."""

    def to_frame(self) -> pd.DataFrame:
        """Return one row per attack on texts and on patients, with intervals."""
        import pandas as pd

        rows = []
        for unit, found in (("text", self.texts), ("patient", self.patients)):
            for e in found:
                low_rate = next(x.estimate for x in e.tpr_at_fpr if x.fpr == 0.01)
                row: dict[str, object] = {"unit": unit, "attack": e.title}
                for name, estimate in (("auc", e.auc), ("tpr@0.01", low_rate)):
                    row[name] = estimate.value
                    row[f"{name}.low"] = estimate.low
                    row[f"{name}.high"] = estimate.high
                rows.append(row)
        return pd.DataFrame(rows)

    def summary(self) -> str:
        """Return the table as text."""
        table = self.to_frame().to_string(index=False, float_format="{:.3f}".format)
        return f"{self.n_targets} targets, {self.n_worlds} models of the adversary's own\n{table}"


def audit_targets(
    log_likelihood: ArrayLike,
    inside: ArrayLike,
    patient: ArrayLike | None = None,
    *,
    n_worlds: int | None = None,
    attacks: Sequence[Attack] = ATTACKS,
    seed: int = 0,
    level: float = 0.95,
) -> SeveralModels:
    """Play LiRA, RMIA, BaVarIA and others on k language models, by text and by patient.

    Parameters
    ----------
    log_likelihood, inside, patient, n_worlds
        As in `rounds_of_texts`; for `redealt` texts, with the models trained on them. One coin
        decides about all texts of a patient.
    attacks : sequence of Attack
        Attacks to play, by default `ATTACKS`.
    seed : int
        Seed of all random draws.
    level : float
        Level of each interval, in (0, 1).

    Returns
    -------
    SeveralModels

    Raises
    ------
    InputError
        As in `rounds_of_texts` and `rounds_of_patients`.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.language.targets import audit_targets
    >>> from privacygauge.core.release import coin_flips
    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(100), 3)
    >>> inside = coin_flips(16, 300, rng, unit=patient)
    >>> likelihood = rng.normal(-90, 30, 300) + rng.normal(size=(16, 300)) + inside
    >>> found = audit_targets(likelihood, inside, patient)
    >>> found.patients[0].auc.value > found.texts[0].auc.value > 0.6
    True
    """
    rounds = rounds_of_texts(log_likelihood, inside, patient, n_worlds=n_worlds)
    levels = [rounds]
    # With one text per patient both levels would be the same.
    if patient is not None and len(np.unique(patient)) < np.size(patient):
        levels.append(rounds_of_patients(log_likelihood, inside, patient, n_worlds=n_worlds))
    found = []
    for of_level in levels:
        results = audit(of_level, attacks, seed=seed, level=level)
        found.append(tuple(e for _, e in played_of(results, "give more models")))
    patients = found[1] if len(found) > 1 else ()
    return SeveralModels(len(np.asarray(inside)) - len(rounds), len(rounds), found[0], patients)
