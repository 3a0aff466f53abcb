"""Defences by name: each is what its class makes, and a wrong name says what there is."""

from __future__ import annotations

import pytest

from privacygauge.claims.defences.defence import Binning, LabelOnly, Rounding, Temperature, TopK
from privacygauge.claims.defences.memguard import MemGuard
from privacygauge.claims.defences.named import DEFENCES, defence_named
from privacygauge.errors import InputError


@pytest.mark.parametrize(
    ("text", "defence"),
    [
        ("memguard:0.1", MemGuard(0.1)),
        ("binning:0.05", Binning(0.05)),
        ("rounding:1", Rounding(1)),
        ("top-k:2", TopK(2)),
        ("temperature:5.5", Temperature(5.5)),
        ("label-only", LabelOnly()),
    ],
)
def test_a_name_gives_what_its_class_does(text, defence):
    assert defence_named(text) == defence


@pytest.mark.parametrize("text", DEFENCES.split(", "))
def test_the_listed_numbers_are_the_defaults(text):
    assert defence_named(text) == defence_named(text.partition(":")[0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("noise", r"defence must be one of memguard:1, .* label-only, got 'noise'"),
        ("", "defence must be one of"),
        ("label-only:1", "defence must be one of"),
        ("rounding:1.5", "defence must be one of"),
        ("rounding:", "defence must be one of"),
        ("memguard:3", r"budget must be in \[0, 2\]"),
        ("memguard:nan", r"budget must be in \[0, 2\]"),
        ("top-k:0", "k must be at least 1, got 0"),
        ("temperature:-1", "t must be finite and above 0"),
        ("binning:nan", "bin must be 1 over a whole number"),
        ("binning:0.3", "bin must be 1 over a whole number"),
    ],
)
def test_what_is_no_defence_is_refused_in_one_line(text, message):
    with pytest.raises(InputError, match=message) as refused:
        defence_named(text)
    assert "\n" not in str(refused.value)
