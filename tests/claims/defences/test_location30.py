"""MemGuard on real predictions: every class kept, every row a distribution, within the budget."""

import numpy as np
import pytest

from privacygauge.claims.defences.defence import defend_predictions
from privacygauge.claims.defences.memguard import MemGuard
from privacygauge.papers.song2021_tables import authors_predictions
from tests.thorough import THOROUGH


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3 if THOROUGH else 1))
def test_what_memguard_promises_holds_for_every_record(data_folder, seed):
    target, _ = authors_predictions("tc_output")
    target = target[slice(None, None, None if THOROUGH else 4)]
    p = target.values.astype(np.float64)
    answers = defend_predictions(MemGuard(), target, np.random.default_rng(seed)).values
    assert np.array_equal(answers.argmax(axis=1), p.argmax(axis=1))
    assert (answers >= 0).all()
    assert np.abs(answers.sum(axis=1) - 1).max() < 1e-6
    assert (answers != p).any(axis=1).mean() > 0.9
    fitted = MemGuard(0.1).fit(p, target.member, np.random.default_rng(seed))
    noisy = fitted.noisy(p)
    assert (noisy.distance * noisy.probability <= 0.1 + 1e-12).all()
    # The mean over the records of a hundred draws.
    rng = np.random.default_rng(seed)
    released = (rng.random((100, len(p))) < noisy.probability) * noisy.distance
    assert released.mean() <= 0.1
    before, after = (np.abs(fitted.classifier.log_odds(x)) for x in (p, noisy.p))
    assert np.median(after) < 0.5 < np.median(before)
