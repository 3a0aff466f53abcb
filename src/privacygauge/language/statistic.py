"""From energies to signals: the likelihood ratio, the target's loss, the reference alone."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Floats
from privacygauge.core.game import Observation, Round
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.language.scores import LIKELIHOOD_RATIO, LOSS, REFERENCE, TextScores


def statistic(energy_target: Floats, energy_reference: Floats) -> Floats:
    """Return the likelihood-ratio statistic L, (n,): LOWER means more likely a member.

    Parameters
    ----------
    energy_target, energy_reference : ndarray of float, shape (n,)
        Energies of the same samples under the audited and the reference model, by the same masks.

    Returns
    -------
    ndarray of float, shape (n,)
        ``energy_target - energy_reference``. The models' normalising constants add the same
        number to every sample and are left out, so that 0 means nothing in particular.

    Notes
    -----
    Mireshghallah et al. (2022), section 2.3, after equation 1. The attack's score is -L.
    """
    return energy_target - energy_reference


def signals(scores: TextScores) -> dict[str, Floats]:
    """Return every signal by name, (n,) values each: higher means more likely a member.

    Returns
    -------
    dict of str to ndarray
        ``loss`` always; ``likelihood-ratio`` and ``reference`` where the reference model's
        energies are known; and the further signals of the scores.
    """
    found = {LOSS: -scores.energy_target, **scores.further}
    if scores.energy_reference is not None:
        found[LIKELIHOOD_RATIO] = -statistic(scores.energy_target, scores.energy_reference)
        found[REFERENCE] = -scores.energy_reference
    return found


def signal(scores: TextScores, name: str) -> Floats:
    """Return one signal, (n,): higher means more likely a member.

    Raises
    ------
    InputError
        If there is no signal of that name, or it needs energies of a reference model.
    """
    found = signals(scores)
    if name in found:
        return found[name]
    if name in (LIKELIHOOD_RATIO, REFERENCE):
        raise InputError(f"{name} needs the reference model: give a column energy_reference")
    names = (LOSS, LIKELIHOOD_RATIO, REFERENCE, *scores.further)
    raise InputError(f"signal must be {', '.join(names[:-1])} or {names[-1]}, got {name!r}")


def energy_round(scores: TextScores) -> Round:
    """Return the judged samples as a round of the game: what an attack sees, and the secret.

    The target of each row is its group, so that every interval counts groups, not samples.
    """
    rows = scores.judged
    shown = {name: values[rows] for name, values in signals(scores).items()}
    stratum = np.zeros(int(np.count_nonzero(rows)), np.int64)
    return Round(Observation(shown, stratum), scores.member[rows], scores.unit[rows])


def energy_transcript(scores: TextScores, name: str) -> Transcript:
    """Return the judged samples' values of one signal beside their secrets, by group."""
    rows = scores.judged
    return Transcript(signal(scores, name)[rows], scores.member[rows], scores.unit[rows])
