import numpy as np
import pytest
from scipy.stats import binom

from privacygauge.classifiers.neural import Network
from privacygauge.classifiers.white_box import (
    GRADIENT_NORM,
    ShadowModule,
    WhiteBox,
    audit_white_box,
)
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.errors import InputError
from privacygauge.report.attacks.verdict import TOO_FEW
from privacygauge.report.values import Severity
from tests.thorough import THOROUGH

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

ATTACKS = (
    Threshold("modified-entropy"),
    Threshold(GRADIENT_NORM),
    WhiteBox(network=Network(hidden=8, epochs=10)),
)


def learnt_by_heart(seed):
    """Return records, and a network that was fitted to random classes of the first half."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(120, 20))
    y = rng.integers(2, size=120)
    member = np.arange(120) < 60
    model = torch.nn.Sequential(torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
    rule = torch.optim.Adam(model.parameters(), lr=0.02)
    seen = torch.as_tensor(x[member]).float()
    classes = torch.as_tensor(y[member])
    for _ in range(60):
        rule.zero_grad()
        torch.nn.functional.cross_entropy(model(seen), classes).backward()
        rule.step()
    return model, x, y, member


@pytest.mark.slow
def test_a_network_that_learnt_by_heart_is_found_out_from_inside_and_from_outside():
    target = learnt_by_heart(0)
    shadow = ShadowModule(*learnt_by_heart(1))
    alone = audit_white_box(*target, attacks=ATTACKS)
    helped = audit_white_box(*target, shadow=shadow, attacks=ATTACKS, ids=np.arange(120) + 7)
    for found in (alone, helped):
        assert [one.name for one in found.evaluations] == [
            "modified-entropy",
            GRADIENT_NORM,
            "white-box",
        ]
        assert all(one.accuracy.low > 0.6 for one in found.evaluations)
        assert found.game.name == "membership inference with the weights"
        assert "Holds the model's weights" in found.game.adversary
        assert "black box" not in found.game.adversary
        assert found.origin.provenance["gradients"] == "dense"
    assert helped.records.ids[0] == 7
    assert "some of the records" in alone.game.adversary
    assert "shadow predictions of its own" in helped.game.adversary


def test_the_targets_own_records_are_no_shadow():
    target = learnt_by_heart(0)
    with pytest.raises(InputError, match="target and shadow hold the same predictions"):
        audit_white_box(*target, shadow=ShadowModule(*target), attacks=ATTACKS)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2])
def test_on_weights_that_learnt_nothing_the_level_holds(rows):
    games = 400 if THOROUGH else 40
    leaks = 0
    untold = 0
    for seed in range(games):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        person = np.repeat(np.arange(120 // rows), rows)
        x = rng.normal(size=(len(person), 20))
        y = rng.integers(2, size=len(person))
        member = (rng.permutation(120 // rows) < 60 // rows)[person]
        # a person's rows are alike
        x = x[person]
        y = y[person]
        model = torch.nn.Sequential(
            torch.nn.Linear(20, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2)
        )
        found = audit_white_box(model, x, y, member, attacks=ATTACKS, unit=person, seed=seed)
        verdict = found.report().verdict
        severity = verdict.grade.severity
        # 120 records could not have shown a moderate leak, which is said of all of them.
        untold += severity is Severity.UNTOLD and verdict.headline != TOO_FEW
        leaks += severity not in (Severity.NOTHING, Severity.UNTOLD)
    # More than this is seen in one run of the tests of a thousand.
    assert leaks <= binom.ppf(0.999, games, 0.05)
    assert untold <= binom.ppf(0.999, games, 0.05)
