"""The headline about a group names the number that shows it."""

from __future__ import annotations

import numpy as np

import privacygauge as pg
from privacygauge.core.estimate import Estimate
from privacygauge.evaluate.group_ranks import RankedGroup
from privacygauge.evaluate.slices import Slice
from privacygauge.report.attacks.verdict import _told_apart, grade_attacks
from privacygauge.report.grades import NONE, grade_of, gravest


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


def test_a_group_as_grave_as_the_few_who_stand_out_is_named() -> None:
    """One in thirty is of a group whose members the model knows by heart."""
    named = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        member = rng.random(1_000) < 0.5
        rare = rng.random(1_000) < 0.035
        loss = np.where(rare & member, -8.0, 0.0) + rng.normal(size=1_000)
        site = np.where(rare, "rare", "rest")
        others = {f"x{j}": rng.integers(20, size=1_000) for j in range(3)}
        table = {"loss": loss, "member": member, "site": site, **others}
        audit = pg.audit_scores(table, lower=("loss",), seed=seed)
        assert audit.questions is not None
        graded = grade_attacks(audit.attacks)
        of_group = gravest(
            (NONE, *(grade_of(g.reached.accuracy.low) for g in audit.questions.groups))
        )
        if of_group == graded.grade and graded.question != "average":
            named += 1
            assert "among records with site = rare" in graded.headline
            assert audit.report().verdict.headline == graded.headline
    assert named
