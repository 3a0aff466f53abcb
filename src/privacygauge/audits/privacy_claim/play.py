"""The audit of a claimed (epsilon, delta) by canaries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.running import Running
from privacygauge.classifier.defences.dp_sgd import PrivateTraining, losses_of_canaries
from privacygauge.core.transcript import Transcript, tied
from privacygauge.datasets.canary_scores import (
    CanariesLike,
    CanaryScores,
    as_canaries,
    by_unit,
    checked_coins,
    warnings_about,
)
from privacygauge.errors import InputError
from privacygauge.evaluate import claim_designs as designs
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.evaluate.claim_designs import BoundsOfDesign
from privacygauge.evaluate.direction import Inverted
from privacygauge.report import direction
from privacygauge.report.axes import Axes
from privacygauge.report.reported import Reported
from privacygauge.report.values import Origin, Report


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ClaimAudit(BoundsOfDesign, Reported):
    """What an audit of a claimed (epsilon, delta) found, with ways to look at it."""

    origin: Origin
    """Where it comes from; its level is that of all bounds together."""
    claim: PrivacyClaim
    """What is said of the training."""
    canaries: CanaryScores
    """The scores."""
    inverted: tuple[Inverted, ...] = ()
    """The scores, where they are higher for canaries that were left out; or would refute the claim
    if they were reversed."""

    @property
    def n_in(self) -> int:
        """The number of rows whose canary was put in."""
        return int(self.canaries.member.sum())

    @property
    def n_out(self) -> int:
        """The number of rows whose canary was left out."""
        return len(self.canaries.member) - self.n_in

    def report(self) -> Report:
        """Return everything that the audit says, as plain values."""
        from privacygauge.audits.privacy_claim.says import report

        return report(self)

    def plot_curve(self, ax: Axes | None = None) -> Axes:
        """Return axes with the bound by the number of guesses."""
        from privacygauge.audits.privacy_claim.says import plot_curve

        return plot_curve(self, ax)


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
    origin = running.origin("pandas", skipped=found.left_out, warnings=warnings)
    return ClaimAudit(**vars(found), origin=origin, claim=claim, canaries=rows, inverted=turned)


def audit_dp_sgd(
    defence: PrivateTraining,
    x: ArrayLike,
    y: ArrayLike,
    *,
    canary: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    claimed: float | None = None,
    delta: float = 1e-5,
    seed: int = 0,
    level: float = 0.95,
) -> ClaimAudit:
    """Return what one training gives away of its canaries, beside the epsilon that is claimed.

    Parameters
    ----------
    defence : DpSgd or OpacusDpSgd
    x : array_like of float, shape (n, d)
    y : array_like of int, shape (n,)
        Classes in 0..k-1.
    canary : array_like of bool, shape (n,), optional
        Records that fair coins put in or leave out; default: all. The others are
        always in. Records that the model can only know by heart show the most.
    unit : array_like, shape (n,), optional
        The person behind each record: one coin puts all of a person's canaries in, which are
        guessed together.
    claimed : float, optional
        The epsilon to be tested; default: the accountant's.
    delta : float
        In (0, 1).
    seed : int
        Of the coins and of the training.
    level : float
        In (0, 1).

    Returns
    -------
    ClaimAudit
        Scores are the losses on the canaries' labels. Its bound exceeds the true epsilon with
        probability ``1 - level`` at most; how far it stays below depends on the canaries.

    Raises
    ------
    InputError
        If training failed numerically, or without noise where nothing is claimed.
    """
    epsilon = defence.epsilon(delta) if claimed is None else claimed
    if not np.isfinite(epsilon):
        raise InputError(f"claimed must be given where there is no noise, got {epsilon}")
    canaries = losses_of_canaries(defence, x, y, canary, unit, seed)
    found = audit_privacy_claim(canaries, epsilon, delta, seed=seed, level=level)
    by = defence.accountant(delta) if claimed is None else ""
    return replace(found, claim=replace(found.claim, accountant=by))
