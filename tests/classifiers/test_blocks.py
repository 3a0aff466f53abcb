"""Stretches of rows that were dealt to the sides whole, such as blocks of a recording."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import lfilter

import privacygauge as pg
from privacygauge.classifiers.neighbours import blocks_in_order
from privacygauge.report.values import Severity
from tests.thorough import times

LEAKS = (Severity.SMALL, Severity.MODERATE, Severity.GRAVE)


def recording(rng, n=1200, block=50, depends=0.9, gain=0.0):
    """Return logits, labels and sides of a recording whose blocks were dealt to the sides."""
    noise = rng.normal(size=(n + 200, 3))
    logits = lfilter([np.sqrt(1 - depends**2)], [1, -depends], noise, axis=0)[200:]
    labels = np.repeat(rng.integers(0, 3, n // 10 + 1), 10)[:n]
    number = np.arange(n) // block
    side = np.zeros(number.max() + 1, bool)
    side[rng.permutation(len(side))[: len(side) // 2]] = True
    member = side[number]
    logits[np.arange(n), labels] += 1.5 + gain * member * rng.gamma(1, 1, n)
    return logits, labels, member


def blocks(logits, labels, member):
    return blocks_in_order(logits, labels, member, np.arange(len(member)))


@pytest.mark.parametrize("block", [20, 30, 50])
def test_blocks_of_a_recording_are_the_units(block):
    for seed in range(times(20)):
        logits, labels, member = recording(np.random.default_rng(seed), block=block)
        found = blocks(logits, labels, member)
        assert len(np.unique(found)) < 1200 / 10
        for number in np.unique(found):
            assert len(set(member[found == number].tolist())) == 1
            rows = np.flatnonzero(found == number)
            assert np.ptp(rows) == len(rows) - 1


@given(
    st.integers(0, 2**31),
    st.sampled_from(["drawn", "members", "class", "confidence", "class and confidence"]),
    st.sampled_from([0.0, 2.0]),
)
def test_single_rows_are_no_blocks_however_a_file_is_sorted(seed, order, gain):
    rng = np.random.default_rng(seed)
    logits, labels, _ = recording(rng, n=600, depends=0.0)
    member = rng.random(600) < 0.5
    logits[np.arange(600), labels] += gain * member
    largest = logits.max(axis=1)
    keys = {
        "drawn": (np.arange(600),),
        "members": (~member,),
        "class": (~member, labels),
        "confidence": (largest,),
        "class and confidence": (largest, ~member, labels),
    }
    place = np.lexsort(keys[order])
    assert blocks(logits[place], labels[place], member[place]) is None


@pytest.mark.parametrize("n_rows", [3, 8])
def test_rows_of_one_person_side_by_side_are_blocks(n_rows):
    """They are answered unlike each other, but less unlike than those of others."""
    rng = np.random.default_rng(n_rows)
    person = np.repeat(np.arange(1200 // n_rows), n_rows)
    member = (rng.random(person.max() + 1) < 0.5)[person]
    labels = rng.integers(0, 3, len(person))
    logits = rng.normal(size=(len(person), 3)) + rng.normal(0, 0.8, (person.max() + 1, 3))[person]
    found = blocks(logits, labels, member)
    assert len(np.unique(found)) <= person.max() + 1


@pytest.mark.slow
def test_a_recording_that_leaks_nothing_is_no_leak_and_one_that_leaks_is_found():
    said = {0.0: [], 1.0: []}
    for seed in range(times(20)):
        for gain, found in said.items():
            logits, labels, member = recording(np.random.default_rng(seed), gain=gain)
            audit = pg.audit_classifier({"logits": logits, "labels": labels, "member": member})
            found.append(audit.report().verdict.grade.severity in LEAKS)
            assert any(
                "blocks of such rows count as units" in text for text in audit.origin.warnings
            )
    assert np.mean(said[0.0]) <= 0.1 + 1 / len(said[0.0])
    assert np.mean(said[1.0]) >= 0.6
