"""A short part of the proving ground: worlds of one seed in each domain, and what they show."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from tests.proving import judge
from tests.proving.games import DOMAINS, Arena, domain
from tests.proving.rates import rate
from tests.proving.search import ALLOWED, drawn
from tests.thorough import quarter

HERE = Path(__file__).parent
SEED = 36
WORLDS = 160
"""In the thorough suite; about a second each."""
NEVER = (judge.TRACEBACK, judge.HANG, judge.CONTRADICTION)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DOMAINS if (HERE / f"{name}.py").exists()])
def test_verdicts_on_worlds_of_known_truth_are_right(name):
    grammar = domain(name)
    worlds = islice(drawn(grammar, SEED), quarter(WORLDS))
    outcomes = list(Arena().games(worlds))
    lines = [f"{one.world}  {found}" for one in outcomes for found in one.findings]
    assert not [line for line in lines if any(f"  {kind}:" in line for kind in NEVER)]
    for kind in (judge.FALSE_ALARM, judge.MISSED, judge.UNTOLD):
        low, _ = rate(outcomes, kind).interval()
        assert low <= ALLOWED, "\n".join(line for line in lines if f"  {kind}:" in line)
