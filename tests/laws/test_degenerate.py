"""What tells nothing is said: scores that are all the same, one side, one unit a side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

import privacygauge as pg
from privacygauge.claims.defences.defence import LabelOnly
from privacygauge.claims.worst_case_audit.audit import audit_worst_case
from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.predictions import predictions
from privacygauge.classifiers.suite import METRICS
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.exact import SIGNAL
from privacygauge.core.game import Scores
from privacygauge.core.rules import Cut
from privacygauge.core.transcript import TIED
from privacygauge.evaluate.claim_designs import ManyRuns
from privacygauge.evaluate.playing import audit, played_of, telling
from privacygauge.language.scores import text_scores
from privacygauge.leaderboards.attack_audit.audit import attack_holdout
from privacygauge.tables.attacks.density import ClosestDistance
from privacygauge.tables.generators.generator import Silence
from tests.audits.test_worst_case import FEW, Known, clear_records
from tests.classifiers.made import logits_labels_member, made_up, softmax
from tests.laws.catalogue import deal
from tests.tables.made_tables import frame_of

N = 40
K = 3
HALF = np.arange(N) % 2 == 0
NOBODY = np.zeros(N, np.bool_)
ONE = np.arange(N) == 3


def predicted(member: Any = HALF, *, tied: bool = False, seed: int = 0) -> dict[str, Any]:
    """Return predictions of N records."""
    logits, labels, _ = logits_labels_member(N, K, 1.0, seed)
    return {"probs": softmax(logits * (not tied)), "labels": labels, "member": member}


def pool(*, tied: bool = False) -> dict[str, Any]:
    """Return eight shadow models on the same records."""
    rng = np.random.default_rng(1)
    inside = rng.random((8, N)) < 0.5
    values = rng.normal(size=(8, N, K)) * (not tied)
    flat = softmax(values.reshape(-1, K))
    return {"probs": flat.reshape(values.shape), "labels": predicted()["labels"], "member": inside}


def texts(member: Any = HALF, *, tied: bool = False) -> Any:
    """Return energies of N texts."""
    rng = np.random.default_rng(0)
    energy, reference = np.array([[9.0], [8.0]]) + rng.normal(size=(2, N)) * (not tied)
    return text_scores(
        [f"s{i}" for i in range(N)], energy - (0 if tied else member), member,
        energy_reference=reference, group=[f"g{i}" for i in range(N)],
    )  # fmt: skip


def canaries(member: Any = HALF, *, tied: bool = False) -> dict[str, Any]:
    """Return the scores of N canaries."""
    return {"score": np.random.default_rng(0).normal(size=N) * (not tied), "member": member}


SAME = pd.DataFrame({"a": np.ones(N), "b": np.ones(N)})
MIXED = pd.DataFrame({"a": np.arange(N) % 7, "b": np.arange(N) % 5})
X = np.arange(2 * N).reshape(N, 2) % 3
OTHER = predicted(seed=1)

Play = Callable[[], object]
TIES: Mapping[str, Play] = {
    "classifier": lambda: pg.audit_classifier(predicted(tied=True)),
    "classifier with a shadow": lambda: pg.audit_classifier(predicted(tied=True), OTHER),
    "pool": lambda: pg.audit_pool(predicted(tied=True), pool(tied=True)),
    "language": lambda: pg.audit_language(texts(tied=True)),
    "released": lambda: pg.audit_released(SAME, SAME[:20], SAME[:20]),
    "defences": lambda: pg.audit_defences(predicted(tied=True), OTHER, [LabelOnly()]),
    "claim": lambda: pg.audit_privacy_claim(canaries(tied=True), 1.0),
    "claim, many runs": lambda: pg.audit_privacy_claim(canaries(tied=True), 1.0, design=ManyRuns()),
    "holdout": lambda: attack_holdout(np.ones(N, int), 5, trials=2),
}
SIDES: Mapping[str, Callable[[Any], object]] = {
    "classifier": lambda member: pg.audit_classifier(predicted(member)),
    "classifier with a shadow": lambda member: pg.audit_classifier(predicted(member), OTHER),
    "its shadow": lambda member: pg.audit_classifier(OTHER, predicted(member)),
    "pool": lambda member: pg.audit_pool(predicted(member), pool()),
    "language": lambda member: pg.audit_language(texts(member)),
    "defences": lambda member: pg.audit_defences(predicted(member), OTHER, [LabelOnly()]),
    "claim": lambda member: pg.audit_privacy_claim(canaries(member), 1.0),
    "claim, many runs": lambda member: pg.audit_privacy_claim(
        canaries(member), 1.0, design=ManyRuns()
    ),
    "released": lambda member: pg.audit_released(MIXED, MIXED, MIXED[: int(member.sum())]),
    "dtp": lambda member: pg.audit_dtp("naive-bayes", X, member.astype(int)[: member.sum() or N]),
    "holdout": lambda member: attack_holdout(np.arange(member.sum()), 5, trials=2),
}


def told(play: Play) -> str:
    """Return the one line that an audit ends with."""
    with pytest.raises(pg.InputError) as caught:
        play()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("kind", TIES)
def test_scores_that_are_all_the_same_are_no_result(kind):
    assert "same" in told(TIES[kind])


MEMBERS = {"none": NOBODY, "all": ~NOBODY, "one": ONE, "all but one": ~ONE}
ONE_SIDED = ("released", "dtp", "holdout")
"""Their records are not of two kinds: only too few of them are too few."""


@pytest.mark.parametrize(
    ("kind", "which"),
    [
        (kind, which)
        for kind in SIDES
        for which in MEMBERS
        if kind not in ONE_SIDED or which in ("none", "one")
    ],
)
def test_one_side_or_one_unit_of_a_side_is_no_audit(kind, which):
    assert told(lambda: SIDES[kind](MEMBERS[which]))


@pytest.mark.parametrize("side", [True, False])
@pytest.mark.parametrize("rows", [1, 5])
def test_one_unit_of_a_side_has_no_variance_whatever_its_rows(side, rows):
    """The other side has many; rows of one person are one."""
    dealt = deal(60, np.random.default_rng(0))
    lonely = np.arange(60) < rows
    unit = np.where(lonely, 0, np.arange(60))
    few = replace(dealt, secret=lonely == side, unit=unit)
    counts = "1 and 2" if side else "2 and 1"
    with pytest.raises(pg.InputError, match=f"2 non-members are needed, got {counts}"):
        audit([few], [Threshold(SIGNAL)])


def test_an_attack_without_a_ranking_is_skipped_and_changes_no_other():
    # The model is always right: only how sure it is tells something.
    rng = np.random.default_rng(0)
    labels = rng.integers(K, size=N)
    probs = np.full((N, K), 0.1)
    probs[np.arange(N), labels] = rng.uniform(0.5, 1.0, N) + 0.3 * HALF
    target = predictions(probs=probs / probs.sum(axis=1, keepdims=True), labels=labels, member=HALF)
    found = pg.audit_classifier(target, attacks=[Threshold(x, per_class=False) for x in METRICS])
    assert [(s.name, s.reason) for s in found.skipped if s.reason == TIED] == [
        ("correctness (global)", TIED)
    ]
    alone = pg.audit_classifier(
        target, attacks=[Threshold(x, per_class=False) for x in METRICS if x != "correctness"]
    )
    assert [e.auc for e in found.evaluations] == [e.auc for e in alone.evaluations]
    assert found.headline.accuracy == alone.headline.accuracy


def test_a_signal_without_a_ranking_is_skipped_in_a_language_model():
    scores = texts()
    flat = {name: getattr(scores, name) for name in ("sample", "member", "group")}
    whole = np.rint(scores.energy_target)  # exact, so that the difference is the same everywhere
    found = pg.audit_language({**flat, "energy_target": whole, "energy_reference": whole + 1})
    assert "likelihood-ratio" in {s.name for s in found.skipped if s.reason == TIED}
    assert {e.name for e in found.samples.evaluations} == {"loss"}


class AboveAll(Threshold):
    """An attack whose threshold lies above all scores."""

    def score(self, observation, rng):
        found = super().score(observation, rng)
        return Scores(found.value, Cut(1e9))


def test_guesses_that_are_all_the_same_are_noted():
    rounds = PredictionGame(made_up(n=80), made_up(n=80, seed=1)).deal(1, seeds.stream(0, "deal"))
    [(_, found)] = played_of(audit(rounds, [AboveAll("confidence", per_class=False)]))
    assert "calls every record a non-member" in found.notes[-1]
    [(_, found)] = played_of(audit(rounds, [Threshold("confidence", per_class=False)]))
    assert found.notes == ()


def test_results_without_a_ranking_say_so_beside_a_defence():
    target = made_up(n=80, leak=1.0)
    shadow = made_up(n=80, leak=1.0, seed=1)
    flat = predictions(probs=np.full((80, 5), 0.2), labels=target.labels, member=target.member)
    rounds = PredictionGame(flat, shadow).deal(1, seeds.stream(0, "deal"))
    results = audit(rounds, [Threshold("entropy", per_class=False)])
    [(_, found)] = played_of(results)
    assert TIED in found.notes[-1]
    assert telling(results) == [Skipped("entropy (global)", TIED)]


class Fixed(Silence):
    """A generator that gives the same table to everybody."""

    name = "fixed"

    def generate(self, table, n, rng):
        return super().generate(table, n, np.random.default_rng(0))


class Mute(Known):
    """A learner whose models all say the same."""

    def sureness(self, right, inside, noise):
        return np.zeros(len(right))


@pytest.mark.slow
def test_a_generator_that_gives_everybody_the_same_table_is_not_judged():
    frame = frame_of(np.random.default_rng(4), 200, 3, 2)
    assert "same score" in told(
        lambda: pg.audit_synthetic(
            Fixed(), frame, targets=2, shadows=20, tests=20, attacks=[ClosestDistance()]
        )
    )


@pytest.mark.slow
def test_models_that_all_say_the_same_are_not_judged_in_the_worst_case():
    play = partial(audit_worst_case, Mute("ignores labels", 0.0), *clear_records(), **FEW)
    assert "same score" in told(play)
