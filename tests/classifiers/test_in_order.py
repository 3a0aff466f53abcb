"""Neighbours in a file that are answered alike are one person; sorted rows are different ones."""

from collections import Counter

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from privacygauge.classifiers.neighbours import people_in_order
from privacygauge.report.values import Severity

CHANCE = (Severity.NOTHING, Severity.UNTOLD)


def of_people(seed, noise, leak=0.0):
    """Return answers about people with 1 to 5 rows each, classes, sides and whose the rows are."""
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(500), rng.integers(1, 6, 500))
    labels = rng.integers(2, size=500)[who]
    member = (rng.random(500) < 0.5)[who]
    margin = rng.normal(size=500)[who] + noise * rng.normal(size=len(who)) + 1 + leak * member
    z = np.column_stack([-margin, margin]) / 2
    return np.where(labels[:, None] == 1, z, -z), labels, member, who


def verdict(z, labels, member, **given):
    audit = pg.audit_classifier({"logits": z, "labels": labels, "member": member, **given})
    return audit.report().verdict.grade.severity, " ".join(audit.warnings)


def test_people_are_told_by_the_order_and_it_is_said():
    z, labels, member, who = of_people(0, 0.03)
    people = people_in_order(z, labels, member)
    same = who[1:] == who[:-1]
    linked = people[1:] == people[:-1]
    assert linked[same].mean() > 0.7
    assert linked[~same].mean() < 0.1
    severity, said = verdict(z, labels, member)
    assert severity in CHANCE
    assert "stand next to others of their class and side" in said
    assert "--unit" in said
    shuffled = np.random.default_rng(0).permutation(len(who))
    assert people_in_order(z[shuffled], labels[shuffled], member[shuffled]) is None


def test_people_are_told_by_answers_in_steps_too():
    """The votes of a forest of 60 trees: most of the nearest answers are equal."""
    z, labels, member, who = of_people(0, 0.1)
    votes = np.round(60 / (1 + np.exp(-z[:, 1])))
    p = np.clip(votes / 60, 1e-4, 1 - 1e-4)
    stepped = np.column_stack([np.log(1 - p), np.log(p)])
    people = people_in_order(stepped - stepped.mean(axis=1, keepdims=True), labels, member)
    assert people is not None
    same = who[1:] == who[:-1]
    linked = people[1:] == people[:-1]
    assert linked[same].mean() > 0.6
    assert linked[~same].mean() < 0.15


def test_people_drawn_row_by_row_need_no_unit():
    z, labels, _, who = of_people(0, 0.03)
    coins = np.random.default_rng(1).random(len(who)) < 0.5
    assert people_in_order(z, labels, coins) is None


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.03, 0.1])
def test_no_leak_is_claimed_among_people_and_a_strong_one_is_found(noise):
    found = [verdict(*of_people(seed, noise)[:3])[0] for seed in range(20)]
    # At 0.1 a fifth of the rows stays unlinked; as rows of different people 17 of 20 were a leak.
    assert sum(severity not in CHANCE for severity in found) <= 4
    for seed in range(3):
        assert verdict(*of_people(seed, noise, leak=2.0)[:3])[0] not in CHANCE


MODELS = {
    "forest": RandomForestClassifier(20, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "logistic": LogisticRegression(),
    "isotonic": CalibratedClassifierCV(GaussianNB(), method="isotonic", cv=3),
}


def orders(x, y, p, member, rng):
    """Return orders in which files of different people come."""
    own = p[np.arange(len(y)), y]
    n = len(y)
    inside = np.flatnonzero(member)
    outside = np.flatnonzero(~member)
    return {
        "random": rng.permutation(n),
        "members first": np.argsort(~member, kind="stable"),
        "confidence": np.argsort(p.max(axis=1)),
        "true class": np.argsort(own),
        "score": np.argsort(p[:, -1]),
        "class, confidence": np.lexsort((p.max(axis=1), y)),
        "side, true class": np.lexsort((own, member)),
        "rounded": np.argsort(p.max(axis=1).round(1), kind="stable"),
        "feature": np.argsort(x[:, 0]),
        "time": np.argsort(x[:, 0] + x[:, 1] + 0.5 * rng.normal(size=n)),
        "blocks": np.concatenate(
            [np.r_[inside[i : i + 15], outside[i : i + 15]] for i in range(0, n // 2, 15)]
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_different_people_are_not_linked_in_whatever_order(model, classes):
    linked = Counter()
    member = np.arange(2_400) < 1_200
    for seed in range(20):
        x, y = make_classification(
            2_400, 10, n_informative=6, n_classes=classes, flip_y=0.1, random_state=seed
        )
        p = MODELS[model].fit(x[member], y[member]).predict_proba(x)
        z = np.log(np.maximum(p, 1e-4))
        z -= z.mean(axis=1, keepdims=True)
        for name, rows in orders(x, y, p, member, np.random.default_rng(seed)).items():
            linked[name] += people_in_order(z[rows], y[rows], member[rows]) is not None
    assert sum(linked.values()) == 0, linked


@pytest.mark.parametrize("order", ["random", "confidence", "true class", "class, confidence"])
def test_a_strong_leak_is_found_in_whatever_order(order):
    x, y = make_classification(2_400, 10, n_informative=6, flip_y=0.1, random_state=0)
    member = np.arange(2_400) < 1_200
    p = MODELS["forest"].fit(x[member], y[member]).predict_proba(x)
    rows = orders(x, y, p, member, np.random.default_rng(0))[order]
    audit = pg.audit_classifier({"probs": p[rows], "labels": y[rows], "member": member[rows]})
    assert audit.report().verdict.grade.severity not in CHANCE
    assert not any("stand next to others" in text for text in audit.warnings)
