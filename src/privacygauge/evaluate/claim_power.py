"""What an attack on canaries would have shown of a training that keeps no promise at all.

Beside it what has to hold before a claim is compared: whose privacy it is about, and whether scores
look like those of the mechanism that is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from privacygauge.core import seeds
from privacygauge.core.checks import Floats
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.claim_bounds import (
    held_out,
    one_run_bounds,
    rates_bounds,
    sequential_bounds,
)
from privacygauge.evaluate.claim_designs import Design, ManyRuns, OneRun, Sequential, guessed_by

OFTEN = 0.8
"""How often what is called detectable is shown."""
DRAWS = 20
"""Audits of the control that are drawn."""


NOT_NORMAL = 0.05
"""Scores are called not normal at this p-value: an assumption that may be wrong is not made."""
_FEWEST = 20


def looks_gaussian(transcript: Transcript, *, sampled: bool = False) -> bool:
    """Return whether the scores of either side may be those of a Gaussian mechanism.

    Parameters
    ----------
    transcript : Transcript
    sampled : bool
        Whether a record takes part in some steps alone: then only the scores of what was left out
        are normal.

    Notes
    -----
    The test of D'Agostino & Pearson (1973) of skewness and kurtosis, of what was put in and of what
    was left out, added up. Scores may be a function of what a Gaussian mechanism gives, and not
    normal; then nothing is known of it, and nothing is assumed. Nor is it of fewer than 20 scores
    on a side, which show nothing.
    """
    score = transcript.score
    secret = transcript.secret
    if min(np.count_nonzero(secret), np.count_nonzero(~secret)) < _FEWEST:
        return False
    views = [score]
    if score.max() < 0:
        # Log-probabilities, as the losses of a classifier are: normal is what lies before them.
        views.append(score - np.log(-np.expm1(score)))
    sides = (~secret,) if sampled else (secret, ~secret)
    return any(_normal([view[side] for side in sides]) for view in views)


def _normal(sides: Sequence[Floats]) -> bool:
    from scipy.stats import chi2, normaltest

    if any(side.std() == 0 for side in sides):
        return False
    # Scaled, so that scores of any size keep their fourth powers.
    found = [normaltest((side - side.mean()) / side.std()).statistic for side in sides]
    return bool(chi2.sf(sum(found), 2 * len(found)) >= NOT_NORMAL)


def claim_of_group(claim: PrivacyClaim, k: int) -> PrivacyClaim:
    """Return what a claim about one record says of k records that come or go together.

    Notes
    -----
    Group privacy: ``k epsilon``, at a delta of ``delta (e^(k epsilon) - 1) / (e^epsilon - 1)``
    (Dwork & Roth 2014, theorem 2.2; Vadhan 2017, lemma 2.2), below 1.

    Examples
    --------
    >>> claim_of_group(PrivacyClaim(1.0, 0.0), 3).epsilon
    3.0
    """
    if k == 1:
        return claim
    together = k * claim.epsilon
    times = k if claim.epsilon == 0 else np.expm1(min(together, 700.0)) / np.expm1(claim.epsilon)
    delta = min(float(claim.delta * times), 1 - 1e-9)
    return PrivacyClaim(together, delta, claim.accountant)


@dataclass(frozen=True)
class Power:
    """What the same attack shows of a control: a training whose guarantee is switched off."""

    control: str
    """What was switched off."""
    n: int
    """Canaries, or trainings, of the control."""
    bound: float
    """The bound that assumes nothing, of the control's own scores."""
    detectable: float
    """The bound that four in five audits of the control exceed: of claims below, this attack would
    have told that the control breaks them."""

    def would_refute(self, claim: PrivacyClaim) -> bool:
        """Return whether the control is refuted in at least four of five audits."""
        return self.detectable > claim.epsilon


def power_of(
    control: Transcript,
    name: str,
    design: Design,
    claim: PrivacyClaim,
    n: int,
    seed: int,
    level: float,
) -> Power:
    """Return what audits of `n` canaries show of a control.

    Parameters
    ----------
    control : Transcript
        The same attack's scores where the guarantee is switched off; a row a canary, or a training.
    name : str
        What was switched off.
    design, claim, level
        As in `bounds_by`.
    n : int
        Canaries, or trainings, of the audit that is asked about.
    seed : int
        Draws the audits.

    Notes
    -----
    Another control of the same training is drawn from the control's rows with replacement, and an
    audit from those (the bootstrap twice): what is known of the control is itself one draw. Coins
    are those of the design. Rows of a sequential audit keep their order. A row that is drawn twice
    may choose a threshold and be judged by it, which flatters the bounds: by how much, is seen from
    audits as large as the control, whose bound is known, and is taken off.
    """
    own = _free(design, control, claim=claim, seed=seed, level=level)
    bounds = _simulate_bounds(control, design, claim=claim, n=n, seed=seed, level=level)
    alike = (
        bounds
        if n == len(control)
        else _simulate_bounds(control, design, claim=claim, n=len(control), seed=seed, level=level)
    )
    flattered = max(0.0, float(np.median(alike)) - own)
    shown = float(np.quantile(bounds, 1 - OFTEN, method="lower"))
    return Power(name, len(control), own, max(0.0, shown - flattered))


def _simulate_bounds(
    control: Transcript, design: Design, claim: PrivacyClaim, n: int, seed: int, level: float
) -> Floats:
    """Return the bounds of audits of n rows, each drawn from a draw of the control, ascending."""
    bounds = np.zeros(DRAWS)
    sides = [np.flatnonzero(control.secret), np.flatnonzero(~control.secret)]
    fair = isinstance(design, OneRun | Sequential)
    share = 0.5 if fair else len(sides[0]) / len(control)
    for draw in range(DRAWS):
        rng = seeds.stream(seed, "control", draw)
        n_in = int(rng.binomial(n, share))
        if not 0 < n_in < n or not min(map(len, sides)):
            continue  # one side alone shows nothing
        known = [rng.choice(side, len(side)) for side in sides]
        rows = np.concatenate([rng.choice(known[0], n_in), rng.choice(known[1], n - n_in)])
        rows = np.sort(rows) if isinstance(design, Sequential) else rng.permutation(rows)
        member = control.secret[rows]
        played = Transcript(control.score[rows], member)
        bounds[draw] = _free(design, played, claim=claim, seed=seed, level=level)
    return np.sort(bounds)


def _free(
    design: Design, played: Transcript, claim: PrivacyClaim, seed: int, level: float
) -> float:
    """Return the bound that assumes nothing, as `bounds_by` has it, without its curve."""
    if isinstance(design, Sequential):
        return sequential_bounds(played, claim.delta, level)[0].estimate.low
    if isinstance(design, ManyRuns):
        parts = held_out(played, claim.delta, level, seed)
        return rates_bounds(parts, claim.delta, level, design.mechanism)[0][0].estimate.low
    found = guessed_by(played, design, claim=claim, seed=seed, level=level)
    return one_run_bounds(found, claim.delta, level)[0][0].estimate.low
