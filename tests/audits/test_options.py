"""What is given for an option and is not what it has to be is refused in one clear line."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.errors import InputError
from privacygauge.runs.options import Options, keyword

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
MEMBER = np.arange(60) % 2 == 0
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
TARGET = {
    "probs": TREE.fit(X[MEMBER], Y[MEMBER]).predict_proba(X),
    "labels": Y,
    "member": MEMBER,
}
FRAME = pd.DataFrame(X.round(1), columns=list("abc"))


def audit_model(**given):
    return pg.audit_model(TREE, X, Y, n_shadows=4, **given)


CALLS = {
    ("audit_model", "label_only"): audit_model,
    ("audit_model", "fitted"): audit_model,
    ("audit_model", "estimator"): audit_model,
    ("audit_model", "attacks"): audit_model,
    ("audit_model", "slices"): audit_model,
    ("audit_model", "level"): audit_model,
    ("audit_classifier", "estimator"): lambda **given: pg.audit_classifier(TARGET, **given),
    ("audit_classifier", "attacks"): lambda **given: pg.audit_classifier(TARGET, **given),
    ("audit_pool", "pool"): lambda pool: pg.audit_pool(TARGET, pool),
    ("audit_defences", "defences"): lambda defences: pg.audit_defences(TARGET, TARGET, defences),
    ("audit_worst_case", "label"): lambda **given: pg.audit_worst_case(TREE, X, Y, **given),
    ("audit_worst_case", "attacks"): lambda **given: pg.audit_worst_case(TREE, X, Y, **given),
    ("vulnerable_records", "schema"): lambda **given: pg.vulnerable_records(FRAME, **given),
    ("vulnerable_records", "distance"): lambda **given: pg.vulnerable_records(FRAME, **given),
    ("audit_released", "schema"): lambda **given: pg.audit_released(FRAME, FRAME, **given),
}


@pytest.mark.parametrize("wrong", [3, TREE, pg.attacks.Isotonic], ids=["3", "model", "class"])
@pytest.mark.parametrize("call", CALLS, ids=".".join)
def test_options_of_another_kind_are_refused(call, wrong):
    _, option = call
    with pytest.raises(InputError, match=rf"{option}.* must be") as caught:
        CALLS[call](**{option: wrong})
    assert "\n" not in str(caught.value)


def test_none_is_no_attack():
    with pytest.raises(InputError, match=r"attacks\[0\] must be .*, got None"):
        audit_model(attacks=[None])


def test_label_only_may_be_true_or_false():
    usual, asked, not_asked = (
        audit_model(label_only=given) for given in (pg.attacks.LabelOnlyQueries(), True, False)
    )
    assert asked.origin.provenance == usual.origin.provenance
    assert asked.headline.auc == usual.headline.auc
    assert "queries per record" not in not_asked.origin.provenance


@dataclass(frozen=True, kw_only=True)
class Shared(Options):
    k: int = keyword("Neighbours.", default=1)
    label: str = keyword("Column.", default="a")


@dataclass(frozen=True, kw_only=True)
class Inner(Options):
    k: int = keyword("Neighbours.", default=1)
    label: str = keyword("Column.", default="a")
    drawn: bool = keyword("Whether members were drawn.", default=True)


def test_an_audit_within_an_audit_has_the_options_of_both():
    """A field that is added to both classes reaches the inner audit without a further line."""
    assert Shared(k=5, label="b").shared(Inner) == Inner(k=5, label="b")
    assert Shared(k=5).shared(Inner, label="c", drawn=False) == Inner(k=5, label="c", drawn=False)
