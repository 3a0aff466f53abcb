"""What further shadow models would buy, foretold from parts of those there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks
from privacygauge.core.checks import Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Observation, Round
from privacygauge.core.release import Worlds
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.evaluation import title
from privacygauge.evaluate.roc import placements, roc

SPLITS = 6
"""So many times the models are cut into random halves."""

FEWEST = 16
"""With fewer, half of the models leave many records on one side only: no law of averages yet."""

FORMS_CHANGE = 64
"""From so many models on LiRA has variances for each record: no half foretells across."""

LAWS = (0.5, 1.0, 2.0)
"""What is lost for want of models falls with this power of their number: the slowest, the one of
averages, and the fastest that the interval allows for."""


@dataclass(frozen=True)
class Foretold:
    """What an attack would reach with further shadow models."""

    title: str
    """The attack."""
    now: float
    """Its AUC with the models there are."""
    half: float
    """Its mean AUC with half of them."""
    auc: Estimate
    """Its AUC with further ones, on the same target and records; `n` counts the models there
    are."""
    n_models: int
    """The models that there would be."""


def foretold(
    attack: Attack,
    dealt: Round,
    n_models: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Foretold | Skipped:
    """Return the AUC that an attack would have on the same records with more shadow models.

    Parameters
    ----------
    attack : Attack
        One that compares the target with the adversary's models record by record.
    dealt : Round
        With the k models there are.
    n_models : int
        So many models in all, more than k.
    rng : numpy.random.Generator
        Cuts the models in halves.
    level : float
        In (0, 1).

    Returns
    -------
    Foretold or Skipped
        Skipped where the attack is, with fewer than 16 models, or where half of the models and all
        of the further ones are on different sides of 64, where LiRA changes its form.

    Notes
    -----
    With k models an average over them errs by 1 / k, and so does the area of an attack that uses
    averages: ``AUC(k) = A - B / k`` to first order, so that the step from k / 2 to k models tells
    that from k to more. The interval allows for powers of k from 1/2 to 2, for the luck of which
    models are added, as halves of the models differ, and for that of the halves. It is about this
    target and these records alone: they stay.
    """
    checks.level(level)
    name = title(attack.name, attack.variant, attack.thresholds)
    worlds = dealt.observation.worlds
    k = 0 if worlds is None else len(worlds)
    if worlds is None or k < FEWEST:
        return Skipped(name, f"at least {FEWEST} shadow models are needed to foretell more")
    if k // 2 < FORMS_CHANGE <= n_models:
        return Skipped(name, f"attacks change their form at {FORMS_CHANGE} shadow models")
    now = _area(attack, dealt, worlds, np.arange(k))
    pairs = []
    for _ in range(SPLITS):
        order = rng.permutation(k)
        pairs.append([_area(attack, dealt, worlds, part) for part in np.array_split(order, 2)])
    halves = np.array(pairs, dtype=np.float64)
    if now is None or not np.isfinite(halves).all():
        return Skipped(name, "it cannot be played with half of the models")
    half = float(halves.mean())
    steps = [_step(k, n_models, law) for law in LAWS]
    ends = [now + step * (now - half) for step in steps]
    # Halves differ from all as all will from more, or by twice that variance where scores are sums.
    luck = float(halves.var(ddof=1))
    of_halves = float(halves.mean(axis=1).var(ddof=1)) * steps[1] ** 2
    reach = float(stdtrit(SPLITS - 1, 0.5 + level / 2)) * np.sqrt(luck + of_halves)
    low, high = (float(np.clip(x, 0, 1)) for x in (min(ends) - reach, max(ends) + reach))
    value = float(np.clip(ends[1], 0, 1))
    auc = Estimate(
        value=value, low=low, high=high, level=level, n=k, method="from halves of the shadow models"
    )
    return Foretold(name, now=now, half=half, auc=auc, n_models=n_models)


def _step(k: int, n_models: int, law: float) -> float:
    """Return the step from k to more models over that from k / 2 to k."""
    lost = [float(n) ** -law for n in (k / 2, k, n_models)]
    return float((lost[1] - lost[2]) / (lost[0] - lost[1]))


def _area(attack: Attack, dealt: Round, worlds: Worlds, part: Ints) -> float | None:
    """Return the area with some of the models; None where the attack is skipped."""
    seen = dealt.observation
    found = attack.score(
        Observation(seen.signals, seen.stratum, worlds=worlds.some(part)), np.random.default_rng(0)
    )
    if isinstance(found, Skipped):
        return None
    return float(placements(roc(Transcript(found.value, dealt.secret)))[0].mean())


def what_more_buy(
    attacks: Sequence[Attack], dealt: Round, rng: np.random.Generator, level: float = 0.95
) -> list[Foretold | Skipped]:
    """Return what each attack would reach with twice as many models, or just below 64.

    Parameters
    ----------
    attacks : sequence of Attack
    dealt : Round
    rng : numpy.random.Generator
    level : float
    """
    worlds = dealt.observation.worlds
    k = 0 if worlds is None else len(worlds)
    below = k < FORMS_CHANGE - 1
    n_models = min(2 * k, FORMS_CHANGE - 1) if below else 2 * k
    return [foretold(attack, dealt, n_models=n_models, rng=rng, level=level) for attack in attacks]
