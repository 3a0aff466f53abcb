"""Default attacks of an audit."""

from __future__ import annotations

from privacygauge.tables.attacks.attack import TableAttack
from privacygauge.tables.attacks.density import ClosestDistance, DensityRatio, MarginalRatio
from privacygauge.tables.attacks.meta import Screened
from privacygauge.tables.attacks.query_based import QueryBased
from privacygauge.tables.attacks.summaries import Groundhog


def suite_for_few() -> tuple[TableAttack, ...]:
    """Return the attacks for a few targets, which may take seconds each.

    The paper's attack comes first; no two have the same name and variant.
    """
    return (
        QueryBased(),
        QueryBased(("equal",)),
        *suite_for_many(),
        Groundhog(),
        ClosestDistance(),
    )


def suite_for_many() -> tuple[TableAttack, ...]:
    """Return the attacks for hundreds of targets: about one second per target for all of them.

    They use small marginals only, and linear meta-classifiers on the few most separating ones.
    """
    return (
        QueryBased(("equal", "same bin"), Screened(), most=3),
        MarginalRatio(),
        DensityRatio(),
    )
