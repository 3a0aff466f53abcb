"""The headline about a group names the number that shows it."""

from __future__ import annotations

from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.group_ranks import RankedGroup
from privacygauge.evaluate.slices import Slice
from privacygauge.report.attacks.verdict import _told_apart


def test_guesses_no_better_than_chance_do_not_stand_for_a_ranking() -> None:
    """The joint interval of a ranking may hold chance where its test does not."""
    accuracy = Estimate(value=0.499, low=0.42, high=0.58, level=0.95, n=90, method="exact")
    area = Estimate(value=0.706, low=0.5, high=0.87, level=0.95, n=90, method="exact")
    found = Slice(
        column="class",
        group="8",
        n_in=45,
        n_out=45,
        accuracy=accuracy,
        excess=0.1,
        p_value=0.01,
        announced=True,
        least=0.42,
        shown=True,
        ranked=RankedGroup("class", "8", "confidence", area, 0.001),
    )
    assert (
        _told_apart(found) == "70.6% of the pairs of a member and a non-member are ranked correctly"
    )
