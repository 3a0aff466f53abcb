"""An audit of attribute inference: silent without a leak, loud with one, and the rules between."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.core.estimate import Skipped
from privacygauge.report.values import Severity
from tests.audits.example_attribute import SENSITIVE, audited, population, simple
from tests.thorough import THOROUGH, crossed, quarter

SAFE, UNTOLD = Severity.NOTHING, Severity.UNTOLD
NULLS = {
    "columns that tell little": {},
    "columns that tell nearly all": {"tied": 0.95},
    "few members": {"share": 0.2},
    "several rows of a person": {"rows": 3},
    "an unknown class": {"knows_label": False},
}


def deep_tree(x, y):
    return DecisionTreeClassifier(random_state=0).fit(x, y)


def nearest(x, y):
    return KNeighborsClassifier(1).fit(x, y)


def by_heart(x, y):
    """Return a model that is sure of its own records and knows nothing of others."""
    known = {tuple(row): int(label) for row, label in zip(x.tolist(), y.tolist(), strict=True)}

    def ask(asked):
        found = np.full((len(asked), 2), 0.5)
        for i, row in enumerate(asked.tolist()):
            if tuple(row) in known:
                found[i] = 0.1
                found[i, known[tuple(row)]] = 0.9
        return found

    return ask


def severity(found: pg.AttributeAudit) -> Severity:
    return found.report().verdict.grade.severity


@pytest.mark.slow
@pytest.mark.parametrize("given", NULLS.values(), ids=NULLS)
def test_what_columns_say_of_each_other_is_no_leak(given):
    # Taken for independent, rows of a person fire the controls in a third of the audits: ten do not
    # tell. What columns say of each other, taken for a leak, is one in nearly all of them.
    games = quarter(200) if "rows" in given else 200 if THOROUGH else 10
    asked = {"leak": False, "train": deep_tree, "n": 300, **given}
    grades = [severity(audited(seed, **asked)) for seed in range(games)]
    loud = sum(grade not in (SAFE, UNTOLD) for grade in grades)
    assert loud <= stats.binom.isf(1e-4, games, 0.025)
    # The controls fire in 5% of audits, attacks are the wrong way round in 2.5%.
    assert grades.count(UNTOLD) <= stats.binom.isf(1e-4, games, 0.075)


@pytest.mark.slow
def test_a_model_that_remembers_nobody_is_silent():
    games = 100 if THOROUGH else 8
    loud = sum(severity(simple(seed)) not in (SAFE, UNTOLD) for seed in range(games))
    assert loud <= stats.binom.isf(1e-4, games, 0.025)


@pytest.mark.slow
@pytest.mark.parametrize(("tied", "train"), crossed([0.5, 0.9], [deep_tree, nearest, by_heart]))
def test_a_planted_leak_is_found(train, tied):
    games = quarter(20)
    given = {"train": train, "tied": tied, "n": 300 if train is by_heart else 2000}
    found = [audited(seed, **given) for seed in range(games)]
    # The controls are wrong in one of twenty audits, and then nothing can be told.
    assert sum(audit.best.difference.low > 0 for audit in found) >= 0.9 * games
    assert sum(severity(audit) is not SAFE for audit in found) >= 0.9 * games
    assert sum(severity(audit) is UNTOLD for audit in found) <= 0.2 * games


@pytest.mark.slow
def test_a_leak_stands_beside_what_imputation_knows():
    found = audited(0)
    assert found.best.difference.low > 0
    assert found.imputation.difference.low < 0 < found.imputation.difference.high
    assert found.exposed.size
    assert found.member[found.exposed].all()
    gain = (found.guesses.with_model - found.guesses.without)[found.exposed]
    assert (np.diff(gain) <= 0).all()


def test_swapped_sides_are_no_safety():
    found = audited(0, swapped=True)
    verdict = found.report().verdict
    assert verdict.grade.severity is UNTOLD
    assert verdict.headline.startswith("Cannot be told")
    assert any("higher for non-members" in text for text in found.warnings)


@pytest.mark.slow
def test_sides_of_two_populations_cannot_be_told_apart_by_a_leak():
    rng = np.random.default_rng(0)
    x, y, _ = population(600, rng)
    member = rng.random(600) < np.where(x[:, SENSITIVE] == 1, 0.7, 0.3)
    model = deep_tree(x[member], y[member])
    found = pg.audit_attribute(model, x, y, sensitive=SENSITIVE, member=member)
    assert found.fired
    assert severity(found) is UNTOLD


def test_without_imputation_no_leak_is_excluded():
    found = audited(1, leak=False, n=60, share=0.9)
    assert isinstance(found.imputation, Skipped)
    assert severity(found) is UNTOLD
    assert "needs at least 10 people" in found.summary()
    assert [attack.name for attack in found.attacks] == ["confidence"]


@pytest.mark.slow
def test_an_audit_of_names_of_classes_is_that_of_numbers():
    rng = np.random.default_rng(0)
    x, y, _ = population(200, rng)
    member = rng.random(200) < 0.5
    named = np.array(["no", "yes"])[y]
    asked = {"sensitive": SENSITIVE, "member": member}
    numbers = pg.audit_attribute(deep_tree(x[member], y[member]), x, y, **asked)
    texts = pg.audit_attribute(deep_tree(x[member], named[member]), x, named, **asked)
    assert numbers.attacks == texts.attacks


def test_bad_input_is_one_line():
    rng = np.random.default_rng(0)
    x, y, _ = population(50, rng)
    model = deep_tree(x, y)
    with pytest.raises(pg.InputError, match="no non-members"):
        pg.audit_attribute(model, x, y, sensitive=SENSITIVE, member=np.ones(50, bool))
    x[:, SENSITIVE] = 1
    with pytest.raises(pg.InputError, match="got 1 different values"):
        pg.audit_attribute(model, x, y, sensitive=SENSITIVE, member=np.arange(50) < 25)
