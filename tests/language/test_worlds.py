"""Several language models by coins: attacks on worlds find what is planted, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.lira import LiraOffline, LiraOnline
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.game import rounds_of_models
from privacygauge.core.release import coin_flips
from privacygauge.errors import InputError
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.playing import audit
from privacygauge.language.targets import (
    ATTACKS,
    audit_targets,
    rounds_of_patients,
    rounds_of_texts,
)
from tests.thorough import crossed, times

CORE = (LiraOnline(), LiraOffline(), RmiaOnline(), RmiaOffline(a=1.0), Bavaria())
LEVELS = ("texts", "patients")


def named(value: object) -> str:
    return value if isinstance(value, str) else f"{value.name} {value.variant}"


def made(
    rng: np.random.Generator, effect: float, *, models: int = 16, patients: int = 80
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return log-likelihoods of texts, coins and patients.

    Texts differ by far more than membership does; a model's noise is in part the same for all
    texts of a patient, and all texts of a model are a little likelier than those of another.
    """
    patient = np.repeat(np.arange(patients), rng.integers(1, 8, patients))
    inside = coin_flips(models, len(patient), rng, patient)
    noise = (
        rng.normal(size=(models, len(patient))) + rng.normal(size=(models, patients))[:, patient]
    )
    of_models = rng.normal(size=(models, 1))
    return rng.normal(-90, 30, len(patient)) + of_models + noise + effect * inside, inside, patient


def played(attack: LiraOnline, level: str, data: tuple[np.ndarray, ...]) -> Evaluation:
    rounds = rounds_of_texts(*data) if level == "texts" else rounds_of_patients(*data)
    found = audit(rounds, [attack])[0]
    assert isinstance(found, tuple)
    return found[1]


@pytest.mark.parametrize("attack", CORE, ids=named)
@pytest.mark.parametrize("level", LEVELS)
def test_what_was_planted_is_found(attack: LiraOnline, level: str) -> None:
    found = played(attack, level, made(np.random.default_rng(0), 4.0))
    assert found.auc.low > 0.8
    assert found.accuracy.low > 0.7


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "level"), crossed(CORE, LEVELS), ids=named)
def test_without_a_leak_intervals_hold_chance(attack: LiraOnline, level: str) -> None:
    games = times(30)
    rng = np.random.default_rng(0)
    found = [played(attack, level, made(rng, 0.0, patients=40)) for _ in range(games)]
    least = stats.binom.ppf(1e-4, games, 0.95)
    assert sum(not e.auc.excludes(0.5) for e in found) >= least
    assert sum(not e.accuracy.excludes(0.5) for e in found) >= least
    assert sum(e.epsilon.low == 0 for e in found) >= least
    values = np.array([e.auc.value for e in found])
    assert abs(values.mean() - 0.5) < 4.5 * values.std(ddof=1) / np.sqrt(games)


def test_the_slope_of_offline_rmia_is_for_probabilities_near_one() -> None:
    """Beside texts whose probability is e^-90 the rest, 1 - a, is all that counts."""
    data = made(np.random.default_rng(0), 4.0)
    assert played(RmiaOffline(a=0.3), "texts", data).auc.high < 0.6
    assert played(RmiaOffline(a=1.0), "texts", data).auc.low > 0.8


def test_rounds_are_of_texts_or_of_patients() -> None:
    likelihood, inside, patient = made(np.random.default_rng(0), 1.0)
    texts = rounds_of_texts(likelihood, inside, patient)
    patients = rounds_of_patients(likelihood, inside, patient)
    assert len(texts) == len(patients) == 8
    np.testing.assert_array_equal(texts[3].secret, inside[11])
    np.testing.assert_array_equal(texts[3].unit, patient)
    worlds = texts[3].observation.worlds
    assert worlds is not None
    np.testing.assert_array_equal(worlds.signal, likelihood[11])
    np.testing.assert_array_equal(worlds.worlds, likelihood[:8])
    np.testing.assert_array_equal(worlds.inside, inside[:8])
    assert len(patients[3].secret) == 80
    seen = patients[3].observation.signals["log-likelihood"]
    np.testing.assert_allclose(seen[5], likelihood[11, patient == 5].mean())
    assert len(set(rounds_of_texts(likelihood, inside)[0].unit.tolist())) == len(patient)
    assert len(rounds_of_texts(likelihood, inside, n_worlds=15)) == 1


def test_halves_of_every_record_are_refused() -> None:
    rng = np.random.default_rng(0)
    half = rng.permuted(np.arange(4)[:, None] < np.full(20, 2), axis=0)
    half[0, :2], half[1, :2] = (True, False), (False, True)
    half[2:, :2] = (True, True), (False, False)
    with pytest.raises(InputError, match=r"exactly 2 of the 4 models.*draw fair coins"):
        rounds_of_models("a", rng.normal(size=(4, 20)), half)
    # Of few records equal counts may well be an accident.
    assert len(rounds_of_models("a", rng.normal(size=(4, 6)), half[:, :6])) == 2


def test_what_cannot_be_played_is_said() -> None:
    likelihood, inside, patient = made(np.random.default_rng(0), 1.0)
    with pytest.raises(InputError, match="got 0 worlds and 1 targets"):
        rounds_of_texts(likelihood[:1], inside[:1])
    with pytest.raises(InputError, match="got 16 worlds and 0 targets"):
        rounds_of_patients(likelihood, inside, patient, n_worlds=16)
    with pytest.raises(InputError, match=r"inside must have the shape \(16, "):
        rounds_of_texts(likelihood, inside[:3])
    with pytest.raises(
        InputError, match=r"log_likelihood must have the shape \(k, n\), got \(3,\)"
    ):
        rounds_of_texts(likelihood[0, :3], inside)
    with pytest.raises(InputError, match=r"log_likelihood of model 2 must be finite"):
        rounds_of_texts(np.where(np.arange(16)[:, None] == 2, np.nan, likelihood), inside)
    everybody = inside.copy()
    everybody[12] = True
    with pytest.raises(
        InputError, match="model 12 was trained on all of the records: leave it out"
    ):
        rounds_of_texts(likelihood, everybody)
    some = inside.copy()
    text = int(np.argmax(np.bincount(patient)[patient] > 1))
    some[0, text] = ~some[0, text]
    message = f"model 0 was trained on some texts of patient {patient[text]} and not on others"
    with pytest.raises(InputError, match=message):
        rounds_of_patients(likelihood, some, patient)


@pytest.mark.slow
def test_all_attacks_are_played_by_text_and_by_patient() -> None:
    likelihood, inside, patient = made(np.random.default_rng(0), 4.0)
    found = audit_targets(likelihood, inside, patient)
    assert (found.n_worlds, found.n_targets) == (8, 8)
    for unit, rounds in (
        (found.texts, rounds_of_texts(likelihood, inside, patient)),
        (found.patients, rounds_of_patients(likelihood, inside, patient)),
    ):
        alone = [audit(rounds, [attack])[0][1] for attack in ATTACKS]
        assert [e.auc for e in unit] == [e.auc for e in alone]
    frame = found.to_frame()
    assert len(frame) == 2 * len(ATTACKS)
    assert (frame["auc.low"] > 0.8).all()
    assert "8 targets, 8 models of the adversary's own" in found.summary()
    assert not audit_targets(likelihood, inside).patients
    assert not audit_targets(likelihood, inside, np.arange(len(patient))).patients
