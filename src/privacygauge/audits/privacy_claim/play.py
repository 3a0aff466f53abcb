"""The audit of a claimed (epsilon, delta) by canaries."""

from __future__ import annotations

from collections.abc import Mapping

from privacygauge.audits.privacy_claim.found import ClaimAudit
from privacygauge.audits.running import Running
from privacygauge.core.transcript import Transcript, tied
from privacygauge.datasets.canary_scores import (
    CanariesLike,
    as_canaries,
    by_unit,
    checked_coins,
    warnings_about,
)
from privacygauge.errors import InputError
from privacygauge.evaluate import claim_designs as designs
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.report import direction


def audit_privacy_claim(
    canaries: CanariesLike,
    epsilon: float,
    delta: float = 0.0,
    *,
    design: designs.Design = designs.ONE_RUN,
    unit: str = "unit",
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_privacy_claim",
    provenance: Mapping[str, str] | None = None,
) -> ClaimAudit:
    """Compare a claimed (epsilon, delta) with what is guessed about canaries.

    Parameters
    ----------
    canaries : path, mapping of arrays, or data frame
        ``score``, higher for members, ``member``, 0 or 1, and optionally ``id``; see
        `as_canaries`. A score may use all that the adversary sees, but not the bits.
    epsilon : float
        Claimed, at least 0; of adding or removing one record.
    delta : float
        Claimed, in [0, 1).
    design : OneRun, ManyRuns or Sequential
        Whether all rows come from one training, or each from its own; and whether they may be
        looked at while trainings go on.
    unit : str
        The column that names the person behind each canary, where there is one; in one run equal
        ids are one person otherwise. A person's canaries share one coin and are guessed together,
        by their mean score.
    seed : int
        Orders equal scores, and draws the rows that choose thresholds.
    level : float
        Of all bounds together, in (0, 1).
    command, provenance
        As in `audit_model`.

    Returns
    -------
    ClaimAudit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out; also where the bits of one run cannot be fair
        coins, since nothing would hold.

    Notes
    -----
    One run: `one_run_bounds`. Many runs: `rates_bounds`, or `sequential_bounds`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> member = rng.random(1000) < 0.5
    >>> noisy = rng.normal(size=1000) + 3 * member
    >>> audit_privacy_claim({"score": noisy, "member": member}, 1.0, 1e-5)
    <ClaimAudit: The claim is refuted: epsilon is at least ...>
    """
    running = Running(command, seed, level, provenance)
    claim = PrivacyClaim(epsilon, delta)
    rows = by_unit(as_canaries(canaries, unit=unit), equal_ids=isinstance(design, designs.OneRun))
    if tied(rows.score):
        raise InputError(
            "canaries: every score is the same, which ranks nothing and can refute no claim: give "
            "the scores of an attack"
        )
    transcript = Transcript(rows.score, rows.member)
    p_value = 1.0 if isinstance(design, designs.ManyRuns) else checked_coins(rows)
    found = designs.bounds_by(design, transcript, claim, seed, level)
    refuted = any(bound.refutes(claim) for bound in found.bounds)
    turned = () if refuted else designs.inverted_by(design, transcript, claim, seed, level)
    warnings = (*warnings_about(rows, p_value), *direction.warnings(turned))
    origin = running.origin("pandas", skipped=found.skipped, warnings=warnings)
    return ClaimAudit(
        origin,
        claim,
        design=found.name,
        bounds=found.bounds,
        guessed=found.guessed,
        rates=found.rates,
        curve=found.curve,
        canaries=rows,
        inverted=turned,
    )
