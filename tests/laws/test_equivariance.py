"""Classes are names: other names for them change nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from privacygauge.core.game import Attack
from tests.laws.catalogue import ATTACKS, deal, label
from tests.laws.numbers import of_scores


@pytest.mark.parametrize("attack", ATTACKS, ids=label)
def test_relabelled_classes_change_no_score(attack: Attack) -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        seen = deal(60, rng, effect=1.0, n_shadow=150, n_classes=5).observation
        assert seen.shadow is not None
        # More names than classes: some stay unused.
        name = rng.permutation(8)
        renamed = replace(
            seen,
            stratum=name[seen.stratum],
            shadow=replace(seen.shadow, stratum=name[seen.shadow.stratum]),
        )
        one, other = (of_scores(attack.score(o, np.random.default_rng(1))) for o in (seen, renamed))
        np.testing.assert_allclose(one.value, other.value, rtol=1e-12, err_msg=f"seed {seed}")
