"""Several language models that were trained by coins: attacks on worlds, by text and by person."""

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
from privacygauge.language.worlds import rounds_of_patients, rounds_of_texts

if TYPE_CHECKING:
    import pandas as pd

ATTACKS: tuple[Attack, ...] = (
    LiraOnline(),
    LiraOffline(),
    CalibratedOnline(),
    RmiaOnline(),
    RmiaOffline(a=1.0),
    Bavaria(),
)
"""What is played; any other slope of offline RMIA is for probabilities near 1."""


@dataclass(frozen=True)
class SeveralModels:
    """What attacks on worlds did on several language models."""

    n_worlds: int
    """Models of the adversary's own."""
    n_targets: int
    """Models that were attacked."""
    texts: tuple[Evaluation, ...]
    """Text by text, one an attack; intervals count patients."""
    patients: tuple[Evaluation, ...]
    """Patient by patient; empty where nobody has more than one text."""

    def to_frame(self) -> pd.DataFrame:
        """Return a row for every attack on texts and on patients, with intervals."""
        import pandas as pd

        rows = []
        for unit, found in (("text", self.texts), ("patient", self.patients)):
            for e in found:
                low_rate = next(x.estimate for x in e.tpr_at_fpr if x.fpr == 0.01)
                rows.append(
                    {
                        "unit": unit,
                        "attack": e.title,
                        **_columns("auc", e.auc.value, e.auc.low, e.auc.high),
                        **_columns("tpr@0.01", low_rate.value, low_rate.low, low_rate.high),
                    }
                )
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
    """Return what LiRA, RMIA, BaVarIA and others find in k language models, by text and by patient.

    Parameters
    ----------
    log_likelihood, inside, patient, n_worlds
        As in `rounds_of_texts`; of `redealt` texts with the models that were trained on them. One
        coin puts all texts of a patient into a model.
    attacks : sequence of Attack
        `ATTACKS` by default.
    seed : int
        All random draws derive from it.
    level : float
        Of every interval, in (0, 1).

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

    def played(rounds: Sequence[Round]) -> tuple[Evaluation, ...]:
        results = audit(rounds, attacks, seed=seed, level=level)
        return tuple(e for _, e in played_of(results, "give more models"))

    rounds = rounds_of_texts(log_likelihood, inside, patient, n_worlds=n_worlds)
    texts = played(rounds)
    patients: tuple[Evaluation, ...] = ()
    if patient is not None and len(np.unique(patient)) < np.size(patient):
        of_patients = rounds_of_patients(log_likelihood, inside, patient, n_worlds=n_worlds)
        patients = played(of_patients)
    return SeveralModels(len(np.asarray(inside)) - len(rounds), len(rounds), texts, patients)


def _columns(name: str, value: float, low: float, high: float) -> dict[str, float]:
    return {name: value, f"{name}.low": low, f"{name}.high": high}
