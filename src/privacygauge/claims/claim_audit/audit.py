"""The audit of a claimed (epsilon, delta) by canaries."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.claims.canaries import CanaryGame, Scorer
from privacygauge.claims.claim_audit.report import NO_CONTROL, ClaimResult, plot_curve, report
from privacygauge.claims.defences.dp_sgd import PrivateTraining
from privacygauge.claims.options import ClaimTerms
from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript, tied
from privacygauge.datasets.canary_scores import (
    ARRAYS,
    CanariesLike,
    as_canaries,
    by_unit,
    canary_warnings,
    checked_coins,
    order_warnings,
    with_units,
)
from privacygauge.errors import InputError
from privacygauge.evaluate import claim_designs as designs
from privacygauge.evaluate.claim import Adjacency, LeftOut, PrivacyClaim, claim_unit
from privacygauge.evaluate.claim_designs import (
    Power,
    claim_of_group,
    half_noise,
    looks_gaussian,
    power_of,
)
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.report import direction
from privacygauge.report.values import Axes, Report
from privacygauge.runs.options import Options, keyword


class ClaimAudit(ClaimResult):
    """Findings of an audit of a claimed (epsilon, delta), with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)

    def plot_curve(self, ax: Axes | None = None) -> Axes:
        """Plot the bound by the number of guesses."""
        return plot_curve(self, ax)


@dataclass(frozen=True, kw_only=True)
class ClaimOptions(ClaimTerms):
    """An audit of a claimed (epsilon, delta) by canaries."""

    design: designs.Design = keyword(
        "Whether all rows come from one training (`OneRun`) or each from its own (`ManyRuns`), and "
        "whether they may be looked at between trainings (`Sequential`).",
        default=designs.ONE_RUN,
    )

    def run(
        self,
        canaries: CanariesLike,
        epsilon: float,
        delta: float = 0.0,
        *,
        unit: str | ArrayLike = "unit",
        control: CanariesLike | None = None,
        session: Session = Session("dp-audit"),
    ) -> ClaimAudit:
        """Compare a claimed (epsilon, delta) with guesses about canaries.

        Parameters
        ----------
        canaries : path, mapping of arrays, or data frame
            ``score``, higher for members, ``member``, 0 or 1, and optionally ``id``; see
            `as_canaries`. A score may use all that the adversary sees, but not the bits.
        epsilon : float
            Claimed epsilon, at least 0, of the unit `claim_of` under `adjacency`.
        delta : float
            Claimed delta, in [0, 1).
        unit : str or array_like, shape (n,)
            The column of the person behind each canary, used if it exists, or the persons
            themselves. Without either, in one run, rows with equal ids are one person, as are rows
            with scores that repeat each other. A person's canaries share one coin and are guessed
            together, by their mean score.
        control : path, mapping of arrays, or data frame, optional
            A positive control: scores of the same attack on canaries of the same training with its
            guarantee switched off, such as without noise. Without one, an audit that refutes
            nothing could not have told.
        session : Session, optional
            Seed of the order of equal scores, and of the rows that choose thresholds; level of all
            bounds jointly.

        Returns
        -------
        ClaimAudit

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line. Also if the bits of
            one run cannot be fair coins, since no bound would hold then.

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
        claim = PrivacyClaim(epsilon, delta)
        left_out = cast(LeftOut, self.left_out)
        of = claim_unit(self.claim_of, cast(Adjacency, self.adjacency))
        of.steps(1, left_out)  # refused before any work
        in_one_run = isinstance(self.design, designs.OneRun)
        given, repeats = with_units(as_canaries(canaries, unit=unit), equal_ids=in_one_run)
        rows = by_unit(given)
        told: tuple[str, ...] = (repeats,) if repeats else ()
        # Largest number of canaries that share a coin.
        most = 1 if given.unit is None else int(np.bincount(given.unit).max())
        # Rows that repeat each other are one canary, or one training, that was recorded twice, or
        # have equal scores by rounding: only units that were given say that records share a coin.
        apart = of.steps(1 if repeats else most, left_out)
        if apart > 1:
            claim = claim_of_group(claim, apart)
            # Several units change together: the claim is stretched to all of them.
            several = most > 1 and of.records is not None and most > of.records
            swapped = of.adjacency == "add-remove" and left_out == "replaced"
            why = [
                f"a person has up to {most} canaries, which come and go together"
                if several
                else "",
                "canaries that are left out are replaced, which is a removal and an addition"
                if swapped
                else "",
            ]
            hint = " If it is of persons, say so (--claim-of person)." if several else ""
            told += (
                f"The claim is of {of.text}, epsilon {epsilon:g}, and "
                f"{'; '.join(filter(None, why))}: it promises "
                f"{'a person' if several else 'a canary'} epsilon {claim.epsilon:g} at delta "
                f"{claim.delta:.2g}, and that is compared.{hint}",
            )
        if tied(rows.score):
            raise InputError(
                "canaries: every score is the same, which ranks nothing and can refute no claim: "
                "give the scores of an attack"
            )
        transcript = Transcript(rows.score, rows.member)
        # Only the other designs rest on fair coins.
        p_value = 1.0 if isinstance(self.design, designs.ManyRuns) else checked_coins(rows)
        if isinstance(self.design, designs.Sequential):
            told += order_warnings(rows)
        found = designs.bounds_by(
            self.design, transcript, claim=claim, seed=session.seed, level=session.level
        )
        if self.assume not in ("gaussian", "nothing"):
            raise InputError(f"assume must be gaussian or nothing, got {self.assume!r}")
        mechanism = self.design.mechanism if isinstance(self.design, designs.ManyRuns) else None
        # Scores that contradict the assumed mechanism leave only the bound without assumptions.
        if mechanism is not None and mechanism.contradicted(transcript, session.level):
            untrue = Skipped(
                "DP-SGD bound",
                f"the design is refuted: no attack on {mechanism.steps:,} steps at a sampling "
                f"rate of {mechanism.sampling_rate:g} ranks canaries as well as these scores do, "
                "whatever the noise",
            )
        elif not looks_gaussian(transcript, sampled=mechanism is not None):
            untrue = Skipped(
                "Gaussian bound",
                "takes a Gaussian mechanism for granted, and the scores do not look normal, or "
                "are too few to tell normal noise from noise with heavier tails",
            )
        else:
            untrue = None
        if self.assume == "nothing":
            untrue = Skipped("Gaussian bound", "nothing is to be assumed")
        if found.gaussian is not None and untrue is not None:
            # Only the bound that assumes nothing remains.
            found = replace(found, bounds=found.bounds[:1], left_out=(*found.left_out, untrue))
        power: Power | Skipped = NO_CONTROL
        if control is not None:
            column = unit if isinstance(unit, str) else "unit"
            known = by_unit(
                with_units(as_canaries(control, name="control", unit=column), equal_ids=in_one_run)[
                    0
                ]
            )
            if tied(known.score):
                raise InputError(
                    "control: every score is the same: give the scores of the same attack"
                )
            broken = Transcript(known.score, known.member)
            n = len(transcript)
            power = power_of(
                broken,
                "the guarantee switched off",
                design=self.design,
                claim=claim,
                n=n,
                seed=session.seed,
                level=session.level,
            )
        # A refuted claim needs neither further controls nor a look for reversed scores.
        refuted = any(bound.refutes(claim) for bound in found.bounds)
        simulated = (
            ()
            if refuted or isinstance(power, Skipped) or not found.free.could_refute(claim)
            else (
                half_noise(
                    self.design, claim, n=len(transcript), seed=session.seed, level=session.level
                ),
            )
        )
        turned = (
            ()
            if refuted
            else designs.inverted_by(
                self.design, transcript, claim=claim, seed=session.seed, level=session.level
            )
        )
        if untrue is not None and untrue.name == "DP-SGD bound":
            told += (f"{untrue.reason[:1].upper()}{untrue.reason[1:]}.",)
        if isinstance(self.design, designs.OneRun) and len(self.design.n_guesses) == 1:
            curve = found.curve
            n_guesses = self.design.n_guesses[0]
            # At the curve's highest point, the number may have been read from the curve.
            if curve.low.max() > 0 and n_guesses == curve.n_guesses[int(np.argmax(curve.low))]:
                told += (
                    f"{n_guesses} guesses are where the curve of these scores is highest. If the "
                    "number was read from it, the bound holds at no level: let other canaries "
                    "choose it (--guesses split).",
                )
        warnings = (*told, *canary_warnings(rows, p_value), *direction.warnings(turned))
        origin = session.origin("pandas", skipped=found.left_out, warnings=warnings)
        return ClaimAudit(
            **vars(found),
            origin=origin,
            claim=claim,
            of=of,
            apart=apart,
            canaries=rows,
            inverted=turned,
            power=power,
            controls=simulated,
        )


audit_privacy_claim = one_line(
    ClaimOptions, ClaimOptions.run, "audit_privacy_claim", without=KEEPING, arrays=ARRAYS
)


@dataclass(frozen=True, kw_only=True)
class TrainingClaimOptions(Options):
    """An audit of a training against its claimed epsilon, by canaries."""

    epsilon: float | None = keyword(
        "The claimed epsilon; default: that of the accountant of `DpSgd` or `OpacusDpSgd`.",
        default=None,
    )
    claimed: float | None = keyword("Another name of `epsilon`.", default=None)
    delta: float = keyword("Claimed delta, in (0, 1).", default=1e-5)
    runs: int = keyword(
        "Number of trainings, at least 1. With several, one coin in each puts all canaries in or "
        "leaves them out, and runs are compared; take a single canary, or those of one person.",
        default=1,
    )

    def run(
        self,
        training: PrivateTraining | object,
        x: ArrayLike,
        y: ArrayLike,
        *,
        canary: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        control: object | None = None,
        score: Scorer | None = None,
        session: Session = Session("dp-audit"),
    ) -> ClaimAudit:
        """Audit a training against its claimed epsilon, by canaries.

        Parameters
        ----------
        training : DpSgd, OpacusDpSgd, or what `audit_model` takes
            For example, a function of records, classes and a random state that trains with noise
            and returns the model, or a function from records to probabilities or logits. If it also
            takes ``noise``, a factor of its noise with the default 1, and optionally ``clip``, a
            factor of its clipping norm, it is its own control.
        x : array_like of float, shape (n, d)
        y : array_like of int, shape (n,)
            Classes in 0..k-1.
        canary : array_like of bool, shape (n,), optional
            Records that fair coins put in or leave out; default: all. The others are always in.
            Records that the model can only know by heart show the most: see `make_canaries`.
        unit : array_like, shape (n,), optional
            The person behind each record: one coin decides for all of a person's canaries, which
            are guessed together.
        control : what `training` may be, or a mapping of names to such, optional
            The same training with its noise switched off: a positive control of the attack; or
            several trainings that are broken in different ways, the first of them without noise.
            Default: those of `DpSgd`, `OpacusDpSgd` or a function that takes ``noise``. Other
            trainings have none, and an audit that refutes nothing could not have told.
        score : callable, optional
            An attack with more access: ``score(returned, x, y)`` gets the training function's
            result, such as its steps or gradients, and the records and classes of the canaries, and
            returns a score for each, higher for those that were put in. Default: the loss on a
            canary's class.
        session : Session, optional
            Seed of the coins and of the training; level of all bounds jointly.

        Returns
        -------
        ClaimAudit
            Its bound exceeds the true epsilon with probability at most ``1 - level``; its distance
            below depends on the canaries. Trainings that allow it are run three times more as
            positive controls of the attack: without noise, with half of it, and without clipping.

        Raises
        ------
        InputError
            If training failed numerically, or no epsilon is given and no accountant states one.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(300, 2)), rng.integers(2, size=300)
        >>> def train(x, y, random_state):
        ...     return KNeighborsClassifier(1).fit(x, y)
        >>> audit_dp_sgd(train, x, y, epsilon=1.0)
        <ClaimAudit: The claim is refuted: epsilon is at least ...>
        """
        if None not in (self.claimed, self.epsilon) and self.claimed != self.epsilon:
            raise InputError(
                f"claimed is another name of epsilon, got {self.claimed} and {self.epsilon}"
            )
        claim = given = self.claimed if self.epsilon is None else self.epsilon
        private = training if isinstance(training, PrivateTraining) else None
        if claim is None and private is None:
            raise InputError("epsilon must be given: what is claimed of this training")
        if claim is None and private is not None:
            claim = private.epsilon(self.delta)
        if claim is None or not np.isfinite(claim):
            raise InputError(f"claimed must be given where there is no noise, got {claim}")
        game = CanaryGame(
            x, y, canary=canary, unit=unit, runs=self.runs, score=score, seed=session.seed
        )
        design: designs.Design = designs.ONE_RUN if self.runs == 1 else designs.ManyRuns()
        broken = _broken_trainings(training, control)
        first = None if not broken else game.scores(next(iter(broken.values())))
        found = ClaimOptions(design=design).run(
            game.scores(training),
            claim,
            self.delta,
            control=first,
            session=session,
        )
        n = len(found.canaries.score)
        controls = []
        # The first control was judged with the claim; these only need their power.
        for name, one in list(broken.items())[1:]:
            canaries, _ = with_units(as_canaries(game.scores(one)), equal_ids=self.runs == 1)
            rows = by_unit(canaries)
            control_power = power_of(
                Transcript(rows.score, rows.member),
                name,
                design=design,
                claim=found.claim,
                n=n,
                seed=session.seed,
                level=session.level,
            )
            controls.append(control_power)
        by = private.accountant(self.delta) if private is not None and given is None else ""
        return replace(
            found,
            claim=replace(found.claim, accountant=by),
            controls=(*controls, *found.controls),
        )


audit_dp_sgd = one_line(
    TrainingClaimOptions, TrainingClaimOptions.run, "audit_dp_sgd", without=KEEPING
)


_NO_CLIP = 1e6
"""Multiple of the claimed clipping norm that no gradient reaches."""


def _broken_trainings(training: Any, control: object | None) -> dict[str, object]:
    """Return the same training broken on purpose, by name; the first is without noise."""
    if isinstance(control, Mapping):
        return dict(control)
    off = "the guarantee switched off"
    half = "half of the noise"
    unclipped = "no clipping"
    if isinstance(training, PrivateTraining):
        noise = training.noise_multiplier
        return {
            off: replace(training, noise_multiplier=0.0) if control is None else control,
            half: replace(training, noise_multiplier=noise / 2),
            unclipped: replace(
                training, clip=_NO_CLIP * training.clip, noise_multiplier=noise / _NO_CLIP
            ),
        }
    takes = inspect.signature(training).parameters if callable(training) else {}
    found: dict[str, object] = {} if control is None else {off: control}
    if "noise" in takes:
        found.setdefault(off, partial(training, noise=0.0))
        found[half] = partial(training, noise=0.5)
        if "clip" in takes:
            # The noise of a training is in units of its clipping norm, and stays as it was.
            found[unclipped] = partial(training, clip=_NO_CLIP, noise=1 / _NO_CLIP)
    return found
