"""Pools in which each record is in exactly half of all models, the target among them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privacygauge.classifiers.audit.models import audit_pool
from privacygauge.classifiers.game import with_equal_counts
from privacygauge.classifiers.predictions import Pool
from tests.thorough import times


def balanced(rng, k, n, share=0.5, gain=0.0):
    """Return a target and a pool whose models are dealt as in LiRA's published experiments."""
    place = rng.random((k, n)).argsort(axis=0).argsort(axis=0)
    inside = place < round(share * k)
    labels = rng.integers(3, size=n)
    logits = rng.normal(0, 0.5, (k, n, 3)) + rng.normal(size=(n, 3))
    logits[:, np.arange(n), labels] += rng.normal(1.5, 1.5, n) + gain * inside
    target = {"logits": logits[0], "labels": labels, "member": inside[0]}
    return target, {"logits": logits[1:], "labels": labels, "member": inside[1:]}


@given(st.integers(0, 2**31), st.integers(4, 12), st.sampled_from([0.3, 0.5, 0.7]))
def test_all_records_are_in_equally_many_models(seed, k, share):
    rng = np.random.default_rng(seed)
    target, pool = balanced(rng, k, 40, share)
    member = target["member"]
    given_pool = Pool(pool["logits"], True, pool["member"], pool["labels"])
    found = with_equal_counts(given_pool, member, rng)
    n_in = round(share * k)
    if not 2 <= n_in < k - 1:
        assert found is None
        return
    assert len(found) == k - 2
    assert (found.inside.sum(axis=0) == n_in - 1).all()
    # Each answer is one of the record's own, none of them twice.
    for i in range(40):
        before = {
            (tuple(x), y) for x, y in zip(pool["logits"][:, i], pool["member"][:, i], strict=True)
        }
        after = {(tuple(x), y) for x, y in zip(found.values[:, i], found.inside[:, i], strict=True)}
        assert len(after) == k - 2
        [(_, bit)] = before - after
        assert bit != member[i]


def test_coins_are_left_as_they_are():
    rng = np.random.default_rng(0)
    target, pool = balanced(rng, 8, 40)
    inside = rng.random((7, 40)) < 0.5
    assert (
        with_equal_counts(Pool(pool["logits"], True, inside, pool["labels"]), target["member"], rng)
        is None
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [8, 16])
def test_a_leak_is_found_and_nothing_is_not(k):
    said = {0.0: [], 0.8: []}
    for seed in range(times(10)):
        for gain, found in said.items():
            audit = audit_pool(*balanced(np.random.default_rng(seed), k, 600, gain=gain))
            verdict = audit.report().verdict
            is_small = "too few records" in verdict.headline
            found.append("nothing found" if is_small else str(verdict.grade.severity))
    n = len(said[0.0])
    assert sum(x in ("small", "moderate", "grave") for x in said[0.8]) >= 0.9 * n
    assert sum(x in ("small", "moderate", "grave") for x in said[0.0]) <= 1 + 0.1 * n
    assert sum(x == "cannot be told" for x in said[0.0]) <= 0.2 * n


def test_a_pool_that_holds_the_answer_loses_no_leak_that_is_there_without_it():
    """A pool of members only tells nothing about the others."""
    rng = np.random.default_rng(1)
    target, pool = balanced(rng, 8, 600, gain=1.5)
    pool["member"] = pool["member"] & target["member"]
    audit = audit_pool(target, pool)
    assert audit.report().verdict.grade.severity in ("small", "moderate", "grave")
    assert any("The pool of shadow models was left out" in text for text in audit.origin.warnings)
    assert any("pool" in one.name for one in audit.origin.skipped)
