"""Audits of every kind on a leak of known size, forwards and the wrong way round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import privacygauge as pg
from privacygauge.claims.claim_audit.audit import audit_privacy_claim
from privacygauge.claims.defence_audit.audit import audit_defended
from privacygauge.claims.defences.training import OtherTraining
from privacygauge.claims.worst_case_audit.audit import compare_worst_cases
from privacygauge.core.attacks.lira import LiraOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack, Observation, Scores
from privacygauge.core.rules import Split
from privacygauge.evaluate.claim_designs import ManyRuns
from privacygauge.language.extraction_audit.audit import ExtractionAudit
from privacygauge.report.reported import Reported
from privacygauge.report.values import Verdict
from privacygauge.tables.attacks.attack import Answer, TableAttack, View
from privacygauge.tables.attacks.density import ClosestDistance
from privacygauge.tables.generator_audit.audit import audit_synthetic
from privacygauge.tables.generators.generator import Identity, Silence
from privacygauge.tables.released_audit.audit import audit_released
from tests.audits import example_attribute, example_extraction
from tests.audits.test_worst_case import Known, clear_records
from tests.classifiers.made import made_pool_game, made_up
from tests.language.made_scores import made_scores
from tests.tables.made_tables import frame_of
from tests.tables.released.made_released import released

METRICS = tuple(Threshold(x) for x in ("correctness", "confidence", "modified-entropy"))
FORWARDS, SCORES, SIDES = TURNS = ("forwards", "scores", "sides")
"""How an audit is played: as it should be, with reversed scores, with swapped sides."""


@dataclass(frozen=True)
class Reversed:
    """An attack whose scores have the wrong sign."""

    attack: Attack
    thresholds: str = "none"

    @property
    def name(self) -> str:
        return self.attack.name

    @property
    def variant(self) -> str:
        return self.attack.variant

    def score(self, observation: Observation, rng: np.random.Generator) -> Scores | Skipped:
        found = self.attack.score(observation, rng)
        return found if isinstance(found, Skipped) else Scores(-found.value, Split())


@dataclass(frozen=True)
class ReversedTable:
    """An attack on tables whose scores have the wrong sign."""

    attack: TableAttack
    name: str = "closest"
    variant: str = "reversed"

    def score(self, view: View, rng: np.random.Generator) -> Answer | Skipped:
        found = self.attack.score(view, rng)
        return (
            found
            if isinstance(found, Skipped)
            else replace(found, own=-found.own, released=-found.released)
        )


def suite(turn: str, attacks: tuple[Attack, ...] = METRICS) -> tuple[Attack, ...]:
    """Return the attacks, reversed where scores are."""
    return tuple(map(Reversed, attacks)) if turn == SCORES else attacks


def predictions(turn: str, leak: float, seed: int, *, shadow: bool = True) -> Any:
    """Audit predictions, with a shadow model's or without."""
    target = made_up(300, leak=leak, seed=2 * seed)
    own = made_up(300, leak=leak, seed=2 * seed + 1) if shadow else None
    if turn == SIDES:
        target = replace(target, member=~target.member)
    return pg.audit_classifier(target, own, attacks=suite(turn))


def pool(turn: str, leak: float, seed: int) -> Any:
    """Audit against a pool of shadow models."""
    game = made_pool_game(300, 8, leak=leak, seed=seed, logits=True)
    target = replace(game.target, member=~game.target.member) if turn == SIDES else game.target
    return pg.audit_pool(target, game.pool, attacks=suite(turn, (LiraOnline(), METRICS[1])))


def defended(turn: str, leak: float, seed: int) -> Any:
    """Audit a defence that takes a little off every leak."""
    sides = [made_up(300, leak=leak, seed=2 * seed + i) for i in (0, 1)]
    if turn == SIDES:
        sides[0] = replace(sides[0], member=~sides[0].member)
    behind = [replace(x, answers=0.9 * x.values + 0.1 / x.values.shape[1]) for x in sides]
    return audit_defended(*sides, *behind, attacks=suite(turn))


def worst_case(turn: str, leak: float, seed: int) -> Any:
    """Audit a training with and without a defence that does nothing."""
    way = Known("private", -2 * leak if turn == SIDES else 2 * leak)
    few = {"n_canaries": 40, "n_ordinary": 40, "n_models": 8, "fprs": (0.1,), "seed": seed}
    attacks = suite(turn, METRICS[1:2])
    return compare_worst_cases(
        way, *clear_records(), (OtherTraining(way, "idle"),), attacks=attacks, **few
    )


def claim(turn: str, leak: float, seed: int, **more: Any) -> Any:
    """Audit a claim of almost perfect privacy."""
    rng = np.random.default_rng(seed)
    member = rng.random(800) < 0.5
    score = rng.normal(size=800) + leak * member
    sign = -1 if turn == SCORES else 1
    canaries = {"score": sign * score, "member": member ^ (turn == SIDES)}
    # The attack finds what is broken.
    bits = rng.random(800) < 0.5
    control = {"score": rng.normal(size=800) + 9.0 * bits, "member": bits}
    return audit_privacy_claim(canaries, 0.1, 1e-5, control=control, **more)


def generator(turn: str, leak: float, seed: int) -> Any:
    """Audit a generator that copies records, or one that says nothing."""
    people = frame_of(np.random.default_rng(seed), 200, 3, 2)
    attacks = (ReversedTable(ClosestDistance()),) if turn == SCORES else (ClosestDistance(),)
    made = Identity() if leak else Silence()
    few = {"targets": 2, "shadows": 20, "tests": 40, "size": 40, "seed": seed}
    return audit_synthetic(made, people, attacks=attacks, **few)


def table(turn: str, leak: float, seed: int) -> Any:
    """Audit a table that holds the real records, or one of other people."""
    of = released(np.random.default_rng(seed), 120, of="real" if leak else "others")
    sides = (of.holdout, of.real) if turn == SIDES else (of.real, of.holdout)
    return audit_released(sides[0], of.synthetic, sides[1], attempts=50, label="sex")


def language(turn: str, leak: float, seed: int) -> Any:
    """Audit energies of texts by patient."""
    made = made_scores(np.random.default_rng(seed), patients=(50, 50, 0), sizes=(1, 4), leak=leak)
    sign = -1 if turn == SCORES else 1
    return pg.audit_language(
        {
            "sample": made.sample,
            "group": made.group,
            "energy_target": 9 + sign * (made.energy_target - 9),
            "energy_reference": 9 + sign * (made.energy_reference - 9),
            "member": made.member ^ (turn == SIDES),
        }
    )


def signals(turn: str, leak: float, seed: int) -> Any:
    """Audit texts of which one further signal alone tells something."""
    rng = np.random.default_rng(seed)
    member = np.arange(300) % 2 == 0
    sign = -1 if turn == SCORES else 1
    return pg.audit_language(
        {
            "sample": range(300),
            "energy_target": rng.uniform(1, 3, 300),
            "member": member ^ (turn == SIDES),
            "signal_own": sign * (rng.normal(size=300) + leak * member),
            # Without any control nothing is called a leak.
            "energy_reference": rng.uniform(1, 3, 300),
        }
    )


def attribute(turn: str, leak: float, seed: int) -> pg.AttributeAudit:
    return example_attribute.audited(seed, leak=leak > 0, swapped=turn == SIDES)


def extraction(turn: str, leak: float, seed: int) -> ExtractionAudit:
    return example_extraction.example(seed, 300, leak=min(leak, 0.8), swapped=turn == SIDES)


KINDS: Mapping[str, Callable[[str, float, int], Any]] = {
    "predictions with a shadow model": predictions,
    "predictions alone": lambda *asked: predictions(*asked, shadow=False),
    "a pool of shadow models": pool,
    "defences": defended,
    "worst-case records": worst_case,
    "a privacy claim, one run": claim,
    "a privacy claim, many runs": lambda *asked: claim(*asked, design=ManyRuns()),
    "a generator": generator,
    "a released table": table,
    "a sensitive column": attribute,
    "energies of texts": language,
    "extraction of texts": extraction,
    "further signals of texts": signals,
}
"""From how it is played, the leak and a seed to the audit."""

IMPOSSIBLE = {
    ("a generator", SIDES),
    ("a released table", SCORES),
    ("a sensitive column", SCORES),
    ("extraction of texts", SCORES),
}
"""A generator's sides are dealt by the audit; the scores of a released table, the guesses of a
column and the probabilities of texts are made by it."""


def verdict_of(audit: Reported) -> Verdict:
    """Return the verdict of an audit."""
    return audit.report().verdict
