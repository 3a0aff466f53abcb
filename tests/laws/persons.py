"""Releases that ignore their data, asked about people who have several rows each."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.special import expit

import privacygauge as pg
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.candidates import SharedDesign
from privacygauge.core.attacks.calibrated import CalibratedOnline
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.release import coin_flips
from privacygauge.report.grades import GRADES
from privacygauge.tables.frames import read_table
from privacygauge.tables.released.membership import membership_played
from privacygauge.tables.released.people import with_people
from privacygauge.tables.released.tables import ReleasedTables

Rng = np.random.Generator
Sizes = Callable[[Rng, bool], np.ndarray]

SIZES: Mapping[str, Sizes] = {
    "2 rows each": lambda rng, member: np.full(100, 2),
    "8 rows each": lambda rng, member: np.full(60, 8),
    "1 to 16 rows": lambda rng, member: rng.integers(1, 17, 60),
    "members 8, others 1": lambda rng, member: np.full(40, 8) if member else np.full(200, 1),
}
"""Rows of each person, members and non-members apart."""

METRICS = tuple(Threshold(name) for name in ("confidence", "entropy", "modified-entropy"))
ON_WORLDS = (LiraOnline(), CalibratedOnline(), Threshold("confidence", per_class=False))


def people(sizes: str, rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Return the person behind each row, in random order, and whether it is a member."""
    inside, outside = (SIZES[sizes](rng, member) for member in (True, False))
    unit = np.repeat(np.arange(len(inside) + len(outside)), np.concatenate([inside, outside]))
    unit = rng.permutation(unit)
    return unit, unit < len(inside)


def alike(unit: np.ndarray, rng: Rng, d: int = 1, share: float = 0.8) -> np.ndarray:
    """Return normal values (n, d), of which a share is the same for all rows of a person."""
    own = rng.normal(size=(int(unit.max()) + 1, d))[unit]
    return np.sqrt(share) * own + np.sqrt(1 - share) * rng.normal(size=(len(unit), d))


def answers(unit: np.ndarray, rng: Rng, share: float = 0.8) -> dict[str, np.ndarray]:
    """Return predictions of two classes that tell nothing of membership."""
    labels = unit % 2
    right = expit(1.0 + alike(unit, rng, share=share)[:, 0])
    probs = np.where(labels[:, None] == [0, 1], right[:, None], 1 - right[:, None])
    return {"probs": probs, "labels": labels}


def found(audit: Audit) -> bool:
    """Return whether the verdict says that there is a leak."""
    return audit.report().verdict.grade in GRADES[1:]


def of_predictions(sizes: str, rng: Rng, seed: int) -> bool:
    unit, member = people(sizes, rng)
    given = {**answers(unit, rng), "member": member, "unit": unit}
    return found(pg.audit_classifier(given, attacks=METRICS, seed=seed))


def of_shadow(sizes: str, rng: Rng, seed: int) -> bool:
    unit, member = people(sizes, rng)
    other, known = people(sizes, rng)
    given = {**answers(unit, rng), "member": member, "ids": unit}
    shadow = {**answers(other, rng), "member": known, "ids": other}
    return found(pg.audit_classifier(given, shadow, attacks=METRICS, seed=seed))


def of_defences(sizes: str, rng: Rng, seed: int) -> bool:
    unit, member = people(sizes, rng)
    other, known = people(sizes, rng)
    given = {**answers(unit, rng), "member": member, "unit": unit}
    shadow = {**answers(other, rng), "member": known}
    audit = pg.audit_defences(
        given, shadow, [pg.defences.LabelOnly()], attacks=METRICS[:1], seed=seed
    )
    assert audit.report().verdict.grade
    lost = [attacked.lost for judged in audit.defences for attacked in judged.attacks]
    return audit.undefended.accuracy.low > 0.5 or any(e.low > 0.5 for e in lost)


def of_pool(sizes: str, rng: Rng, seed: int) -> bool:
    """Coins put whole people into the pool's models, and into the target."""
    unit, _ = people(sizes, rng)
    inside = coin_flips(9, len(unit), rng, unit)
    probs = np.stack([answers(unit, rng)["probs"] for _ in inside])
    given = {"probs": probs[0], "labels": unit % 2, "member": inside[0], "unit": unit}
    pool = {"probs": probs[1:], "labels": unit % 2, "member": inside[1:]}
    return found(pg.audit_pool(given, pool, attacks=ON_WORLDS, seed=seed))


class Blind:
    """A model that never looks at its data: weights drawn at random."""

    def __init__(self, state: int) -> None:
        self.rng = np.random.default_rng(state)

    def fit(self, x: np.ndarray, y: np.ndarray) -> Blind:
        self.weights, self.classes_ = self.rng.normal(size=x.shape[1]), np.unique(y)
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        p = expit(x @ self.weights)
        return np.column_stack([p, 1 - p])


def blind(state: int) -> Blind:
    """Return an untrained model."""
    return Blind(state)


def of_model(sizes: str, rng: Rng, seed: int) -> bool:
    unit, _ = people(sizes, rng)
    audit = pg.audit_model(
        blind, alike(unit, rng, 4), unit % 2, unit=unit, n_shadows=8, attacks=ON_WORLDS, seed=seed
    )
    return found(audit)


def of_candidates(sizes: str, rng: Rng, seed: int) -> bool:
    unit, _ = people(sizes, rng)
    audit = pg.audit_candidates(
        blind, alike(unit, rng, 4), unit % 2, unit=unit, iterations=2, n_targets=100,
        design=SharedDesign(8), attacks=ON_WORLDS[:1], seed=seed,
    )  # fmt: skip
    return audit.evaluations[0].accuracy.low > 0.5 or audit.evaluations[0].auc.low > 0.5


def of_worst_case(sizes: str, rng: Rng, seed: int) -> bool:
    unit, _ = people(sizes, rng)
    audit = pg.audit_worst_case(
        blind, alike(unit, rng, 4), unit % 2, n_canaries=50, unit=unit, n_models=6,
        attacks=ON_WORLDS[:1], fprs=(0.1,), seed=seed,
    )  # fmt: skip
    return any(group.highest_auc.low > 0.5 for group in audit.groups)


def of_claim(sizes: str, rng: Rng, seed: int) -> bool:
    """All canaries of a person share a coin; the training is as private as can be."""
    unit, _ = people(sizes, rng)
    member = coin_flips(1, len(unit), rng, unit)[0]
    canaries = {"score": alike(unit, rng)[:, 0], "member": member, "unit": unit}
    audit = pg.audit_privacy_claim(canaries, 0.0, seed=seed)
    return any(bound.refutes(audit.claim) for bound in audit.bounds)


def of_released(sizes: str, rng: Rng, seed: int) -> bool:
    unit, member = people(sizes, rng)
    import pandas as pd

    columns = ["a", "b", "c"]
    x = alike(unit, rng, 3, share=0.95)
    frames = [pd.DataFrame(part, columns=columns) for part in (x[member], x[~member])]
    made = pd.DataFrame(rng.normal(size=(100, 3)), columns=columns)
    whole = read_table(pd.concat([*frames, made]))
    ends = np.cumsum([len(frame) for frame in frames])
    real = whole[np.arange(ends[0])]
    holdout = whole[np.arange(ends[0], ends[1])]
    tables = ReleasedTables(real, whole[np.arange(ends[1], len(whole))], holdout)
    tables, _ = with_people(tables, unit[member], unit[~member])
    played = membership_played(tables, seed, 0.95)
    return played.headline.accuracy.low > 0.5 or played.headline.epsilon.low > 0


DOMAINS = {
    "predictions": of_predictions,
    "predictions and a shadow model": of_shadow,
    "defences": of_defences,
    "pool": of_pool,
    "model": of_model,
    "candidates": of_candidates,
    "worst case": of_worst_case,
    "claim": of_claim,
    "released table": of_released,
}
"""Whether one game without any leak is called one, by the kind of audit."""
