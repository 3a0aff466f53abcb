"""Unlearning: whether a model that was made to forget records still shows that it knew them.

Records that a model was made to forget are compared with fresh ones, which it never saw. A model
retrained without the forgotten records does not separate the two; nor should the model that forgot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, seeds, units
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Estimate
from privacygauge.core.transcript import Transcript
from privacygauge.errors import InputError
from privacygauge.evaluate import roc
from privacygauge.evaluate.detectable import SHARE, smallest_auc
from privacygauge.evaluate.tail import Tail, tail

State = Literal["nothing found", "still known", "known to be forgotten", "cannot be told"]
"""Outcome of a test of unlearning."""

TOLERATED = 0.6
"""Largest AUC that may go unnoticed, in four of five tests, for "nothing found"."""


@dataclass(frozen=True)
class Unlearning:
    """Separation of forgotten from fresh records, by the scores of each model."""

    before: Estimate
    """AUC by the model before it was made to forget; above 1/2 if it knew the records."""
    after: Estimate
    """AUC by the model that was made to forget: 1/2 if it is like a model that never knew the
    records, below if they stand out because they were forgotten."""
    placebo: Estimate | None
    """AUC by the model that saw neither; away from 1/2 if the records differ in more than
    training."""
    detectable: float | None
    """Smallest AUC that four of five such tests would find; None if no AUC would be found."""
    few_before: Tail | None = None
    """Test of a few records that the model before knew; None if there are too few records."""
    few_known: Tail | None = None
    """The same for the model that was made to forget: records that it still knows."""
    few_avoided: Tail | None = None
    """Test of a few forgotten records that it finds less likely than all fresh ones."""

    @property
    def unlike(self) -> bool:
        """Whether a model that saw neither tells forgotten from fresh records."""
        return self.placebo is not None and not self.placebo.low <= 0.5 <= self.placebo.high

    @property
    def knew(self) -> bool:
        """Whether the model before shows that it knew the records, or a few of them."""
        return self.before.low > 0.5 or _n_exposed(self.few_before) > 0

    @property
    def state(self) -> State:
        """Outcome; an AUC above 1/2 is "still known", below it "known to be forgotten"."""
        # A placebo away from 1/2, or records that the model never knew, make the comparison void.
        if self.unlike or not self.knew:
            return "cannot be told"
        if self.after.low > 0.5 or _n_exposed(self.few_known):
            return "still known"
        if self.after.high < 0.5 or _n_exposed(self.few_avoided):
            return "known to be forgotten"
        # A test that would miss an AUC of 0.6 cannot report that nothing was found.
        few = self.detectable is None or self.detectable > TOLERATED
        return "cannot be told" if few else "nothing found"

    @property
    def exposed(self) -> int:
        """Lower bound on the number of forgotten units that stand out; 0 if none is shown to."""
        return _n_exposed(self.few_known) or _n_exposed(self.few_avoided)

    @property
    def remaining(self) -> float:
        """Share of the knowledge that is left, ``(after - 1/2) / (before - 1/2)``.

        Below 0 if the model knows the records less than fresh ones; NaN if it never knew them.
        """
        known = self.before.value - 0.5
        return (self.after.value - 0.5) / known if known > 0 else float("nan")

    @property
    def reason(self) -> str:
        """Sentence with the reason for the outcome."""
        after = f"AUC {self.after.value:.3f} ({self.after.low:.3f} to {self.after.high:.3f})"
        if self.state == "still known":
            if self.after.low > 0.5:
                return f"Forgotten records are told from fresh ones: {after}."
            return (
                f"At least {_n_exposed(self.few_known):,} forgotten records are still known: more "
                "of them stand out than chance explains."
            )
        if self.state == "known to be forgotten":
            if self.after.high < 0.5:
                return f"Forgotten records stand out, since the model avoids them: {after}."
            return (
                f"At least {_n_exposed(self.few_avoided):,} forgotten records stand out, since the "
                "model avoids them."
            )
        if self.state == "nothing found":
            return f"Nothing tells forgotten records from fresh ones: {after}."
        if self.unlike:
            return (
                "A model that saw neither tells forgotten records from fresh ones: they differ in "
                "more than training. Draw both from the same records."
            )
        if not self.knew:
            return (
                "The model before does not show that it knew the records, so forgetting them "
                "cannot be shown: give the records that it was trained on, or more of them."
            )
        return f"Too few records: {after}. Give more of both."

    def summary(self) -> str:
        """Return the outcome and the AUC of each model with its interval, as text."""
        models = {"before": self.before, "after": self.after, "placebo": self.placebo}
        lines = [
            f"{name}: AUC {x.value:.3f} ({x.low:.3f} to {x.high:.3f}), {x.n:,} units"
            for name, x in models.items()
            if x is not None
        ]
        return "\n".join([f"{self.state}: {self.reason}", *lines])


def _n_exposed(found: Tail | None) -> int:
    return 0 if found is None else found.exposed


def measure_unlearning(
    before: ArrayLike,
    after: ArrayLike,
    forgotten: ArrayLike,
    *,
    retrained: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> Unlearning:
    """Measure how well a model separates forgotten from fresh records, before and after forgetting.

    Parameters
    ----------
    before, after : array_like of float, shape (n,)
        Log-probability of each record under the model before and after it was made to forget: for a
        classifier that of the record's class, for a language model the mean over a text's tokens.
    forgotten : array_like of bool, shape (n,)
        True for records that the model was made to forget, False for fresh ones, which it never
        saw.
    retrained : array_like of float, shape (n,), optional
        The same under a model that saw neither; preferably one trained like the first on all
        but the forgotten records. Log-probabilities are then taken relative to it, which finds far
        more, and it serves as the placebo.
    unit : array_like, shape (n,), optional
        Person behind each record; intervals count people.
    seed : int
        Seed of the permutations in the tests of a few records.
    level : float
        Level of the intervals of the first model and of the placebo, in (0, 1). Three tests decide
        on the second model, and all of them together err with at most ``1 - level``: half of it is
        the AUC's, whose interval is that much wider, and a quarter each of a few records that are
        still known, and of a few that are avoided.

    Raises
    ------
    InputError
        If lengths differ, values are not finite, or either kind of records is missing.

    Notes
    -----
    The AUC of `after` minus `retrained`, tested on both sides of 1/2: gradient ascent overshoots,
    and a record that a model avoids gives itself away too. MUSE (Shi et al. 2025) calls the
    deviation privacy leakage; U-LiRA (Hayes et al. 2024) compares with many retrained models, this
    test with one. An average hides a few records that were not forgotten: they are looked for at
    both ends of the ranking, by `tail`. It does not bound what stronger attacks find.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> forgotten = np.arange(1000) < 500
    >>> hard = rng.normal(-2, 1, 1000)
    >>> before = hard + 0.5 * forgotten + rng.normal(0, 0.3, 1000)
    >>> again = hard + rng.normal(0, 0.3, 1000)
    >>> measure_unlearning(before, before, forgotten, retrained=again).state
    'still known'
    """
    secret = checks.bools(forgotten, "forgotten")
    values: dict[str, Floats] = {}
    for name, given in (("before", before), ("after", after), ("retrained", retrained)):
        if given is not None:
            found = np.asarray(given, np.float64)
            if found.shape != secret.shape or not np.isfinite(found).all():
                raise InputError(
                    f"{name} must hold a finite number for each of the {len(secret)} records"
                )
            values[name] = found
    owner = np.arange(len(secret)) if unit is None else units.number_units(unit, length=len(secret))
    # Relative to the retrained model, which knows how likely a record is without training on it.
    other = values.get("retrained", np.zeros(len(secret)))

    def played(score: Floats) -> Transcript:
        return Transcript(score, secret, unit=owner)

    def few(score: Floats, role: str) -> Tail | None:
        rng = seeds.stream(seed, "unlearning", role)
        return tail([(role, played(score))], rng, 1 - SHARE * (1 - level))

    first = values["before"] - other
    second = values["after"] - other
    # The AUC's two sides and the two tests of a few records share the error.
    each = 1 - (1 - 2 * SHARE) * (1 - level)
    n_in = units.worth(owner[secret])
    n_out = units.worth(owner[~secret])
    return Unlearning(
        before=roc.auc(played(first), level),
        after=roc.auc(played(second), each),
        placebo=roc.auc(played(other), level) if "retrained" in values else None,
        detectable=smallest_auc(n_in, n_out, each),
        few_before=few(first, "before"),
        few_known=few(second, "known"),
        few_avoided=few(-second, "avoided"),
    )
