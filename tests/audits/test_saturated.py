"""Predictions whose digits do not suffice are said to be."""

import re

import numpy as np
import pytest

import privacygauge as pg
from privacygauge.classifiers.predictions import Pool
from tests.classifiers.made import softmax

ATTACKS = [pg.attacks.Threshold("modified-entropy")]


def case(k=3, n=600, confident=18.0):
    """Return logits of three models, labels and who was inside each."""
    rng = np.random.default_rng(0)
    labels = rng.integers(k, size=n)
    inside = rng.random((3, n)) < 0.5
    z = rng.normal(size=(3, n, k))
    z[:, np.arange(n), labels] += rng.uniform(0, confident, (3, n))
    return z, labels, inside


def told(audit):
    return [line for line in audit.warnings if "saturated" in line]


def given(values, labels, member, key="probs"):
    return {key: values, "labels": labels, "member": member}


def audits(values, labels, inside, key="probs"):
    target, shadow = (given(values[i], labels, inside[i], key) for i in (0, 1))
    pool = Pool(values[1:], key == "logits", inside[1:], labels)
    return (
        pg.audit_classifier(target, attacks=ATTACKS),
        pg.audit_classifier(target, shadow, attacks=ATTACKS),
        pg.audit_pool(target, pool, attacks=ATTACKS),
    )


def probs(z, form):
    return form(np.stack([softmax(model) for model in z]))


@pytest.mark.parametrize(
    ("form", "bound"),
    [(lambda p: np.round(p, 6), "14.5"), (lambda p: p.astype(np.float16), "17.3")],
)
def test_the_share_is_named_with_the_way_out(form, bound):
    z, labels, inside = case()
    p = probs(z, form)
    rest = 1 - p.astype(np.float64)[:, np.arange(len(labels)), labels]
    if bound == "17.3":
        rest = np.sort(p, axis=2)[..., :2].astype(np.float64).sum(axis=2)
    shares = [f"{100 * share:.2g}%" for share in ((rest[0] == 0).mean(), (rest[1:] == 0).mean())]
    alone, beside, against = audits(p, labels, inside)
    for audit, whose in ((alone, 1), (beside, 2), (against, 2)):
        (line,) = told(audit)
        assert line.startswith(f"{shares[0]} of the target's")
        assert len(re.findall("%", line)) == whose
        assert f"at {bound}," in line
        assert line.endswith("save logits where the model has them")
    assert f"{shares[1]} of the shadow models' predictions" in told(against)[0]


@pytest.mark.slow
def test_what_is_resolved_is_not_warned_of():
    z, labels, inside = case()
    for p, key in ((z, "logits"), (probs(z, np.float64), "probs"), (probs(z, np.float32), "probs")):
        for audit in audits(p, labels, inside, key):
            assert not told(audit)
