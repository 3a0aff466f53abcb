"""What is advised about defences follows from the joint comparison, and from nothing else."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from privacygauge.claims.defence_audit.audit import audit_defences
from privacygauge.claims.defence_audit.verdict import verdict
from privacygauge.classifiers.suite import prediction_attacks
from privacygauge.defences import LabelOnly, Rounding, Temperature
from privacygauge.report.attacks.verdict import TOO_FEW
from privacygauge.report.grades import NONE, grade_of
from tests.thorough import times

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("undrawn")]


def answers(rng: np.random.Generator, n: int, leak: float) -> dict[str, np.ndarray]:
    """Answers of a model that is surer of its members by `leak` in the logit."""
    member = np.arange(n) < n // 2
    labels = rng.integers(0, 3, n)
    logits = rng.normal(size=(n, 3))
    logits[np.arange(n), labels] += 1 + leak * member
    return {"probs": np.exp(log_softmax(logits, axis=1)), "labels": labels, "member": member}


@pytest.mark.parametrize("leak", [0.0, 0.35, 0.7, 1.2])
@pytest.mark.parametrize("n", [150, 600])
def test_a_model_that_leaks_is_not_released_because_a_defence_looks_good(n, leak):
    defences = [Temperature(5.0), LabelOnly(), Rounding(1)]
    for seed in range(times(2)):
        rng = np.random.default_rng(seed)
        found = audit_defences(answers(rng, n, leak), answers(rng, n, leak), defences)
        said = verdict(found)
        helps = found.helps(found.best)
        leaks = found.none.reached.accuracy.low > 0.5
        if leaks and not helps:
            assert said.grade is not NONE
            assert not any("Release" in line for line in said.advice)
        assert helps == any(line.startswith("Of these") for line in said.advice)


@pytest.mark.parametrize(
    ("n", "seed", "leak"),
    [
        *((n, seed, None) for n in (150, 600, 1500) for seed in range(times(2))),
        # The comparison alone shows nothing here, and an audit of the undefended model does.
        (150, 45, 1.0),
        (600, 129, 0.35),
        # An attack that guesses the same of every record hides one that does not.
        (600, 7007, 0.35),
        (1500, 7016, 0.35),
    ],
)
def test_the_undefended_model_is_judged_as_by_itself_where_nothing_helps(n, seed, leak):
    """Planted games: what an audit of the model alone finds, no comparison with defences hides."""
    rng = np.random.default_rng([n, seed])
    drawn = float(rng.choice([0, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4]))
    assert leak in (None, drawn)
    target = answers(rng, n, drawn)
    shadow = answers(rng, n, drawn)
    defences = [Temperature(5.0), LabelOnly(), Rounding(1)]
    found = audit_defences(target, shadow, defences, attacks=prediction_attacks())
    said = verdict(found)
    low = max(found.none.reached.accuracy.low, found.undefended.reached.accuracy.low)
    if low > 0.5:
        assert said.grade is not NONE
        assert "No leak found" not in said.headline
        assert not any("Release without" in line for line in said.advice)
    if found.helps(found.best):
        return
    if said.headline == TOO_FEW:
        assert low <= 0.5
        return
    assert said.grade is grade_of(low)
    assert (said.grade is NONE) == (low <= 0.5)
    assert any("Release without" in line for line in said.advice) == (low <= 0.5)
    assert ("No leak found" in said.headline) == (low <= 0.5)
    assert said.gauge is not None
    assert low <= 0.5 or said.gauge.low == pytest.approx(low)
