"""Controls: tests that tell members from non-members without the audited model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import rates, roc
from privacygauge.evaluate.fairness import folds_of
from privacygauge.evaluate.rates import proportion
from privacygauge.language.attacks import energy_transcript
from privacygauge.language.patients import BY_TEXT
from privacygauge.language.scores import LIKELIHOOD_RATIO, REFERENCE, TextScores
from privacygauge.language.units import best_signal

# The attack after members and non-members are matched on reference energy.

SMALLEST = 20
"""Fewest members, and fewest non-members, that matching needs; groups are counted."""
MOST_BINS = 100
"""Most bins; more would not visibly change an interval."""


@dataclass(frozen=True, eq=False)
class MatchedAttack:
    """The area under an attack's ROC curve before and after matching on reference energy."""

    transcript: Transcript
    """Scores of the attack, without matching."""
    weight: Floats
    """(m,) Weight of each row after matching; 0 in a bin with one side only."""
    before: float
    """AUC without weights."""
    after: Estimate
    """AUC with the weights: that of the attack among samples of equal difficulty to a model that
    saw none of them."""
    fall: Estimate
    """AUC before minus AUC after matching: the part due to a shift between members and non-members;
    near 0 without one."""
    n_bins: int
    """Number of bins of reference energy."""
    kept: float
    """Share of the rows in bins with both sides."""

    @property
    def fires(self) -> bool:
        """True where matching changes the AUC significantly, in either direction."""
        return self.fall.excludes(0.0)


def matched_attack(
    transcript: Transcript, reference: Floats, level: float = 0.95
) -> MatchedAttack | Skipped:
    """Evaluate the attack among members and non-members that are alike in reference energy.

    Parameters
    ----------
    transcript : Transcript
        The attack's scores beside the secrets, by group.
    reference : ndarray of float, shape (m,)
        The reference model's energy of the same rows.
    level : float
        Level of both intervals, in (0, 1).

    Returns
    -------
    MatchedAttack or Skipped
        Skipped with fewer than 20 groups of members or of non-members, or where no bin holds both.

    Notes
    -----
    Rows fall in bins with equal shares of all rows, a bin for every five groups of the smaller
    side and 100 at most; equal energies share a bin. In a bin with a members and b non-members, a
    member weighs b / (a + b) and a non-member a / (a + b) (the overlap weights of Li, Morgan &
    Zaslavsky 2018), so that both sides have the same weight in every bin and no draw is needed.
    Intervals: the infinitesimal jackknife over groups, weights included, with Student's quantile;
    that of `after` on the logit scale.

    Assumes that within a bin, members and non-members differ only in membership. A difference that
    the reference energy does not show (a topic that both models find equally hard) remains:
    matching can only remove a difference, and its silence proves nothing.
    """
    checks.level(level)
    reference = checks.floats(reference, "reference", length=len(transcript))
    sides = (transcript.secret, ~transcript.secret)
    smaller = min(checks.n_distinct(transcript.unit[side]) for side in sides)
    if smaller < SMALLEST:
        return Skipped(
            "matched attack",
            f"needs {SMALLEST} groups of members and of non-members, got {smaller}",
        )
    cuts = np.linspace(0, 1, min(MOST_BINS, smaller // 5) + 1)[1:-1]
    bins: Ints = np.searchsorted(np.quantile(reference, cuts), reference, side="right")
    shares = _Shares.of(bins, transcript.secret)
    weight = shares.weight(transcript.secret)
    if not weight.any():
        return Skipped("matched attack", "no range of reference energies holds both sides")
    flat = _area(transcript, np.ones(len(transcript)))
    matched = _area(transcript, weight)
    bent = matched.influence + shares.influence(transcript.secret, matched.gap)
    unit = transcript.unit
    n = transcript.n_units
    student = float(stdtrit(n - 1, 0.5 + level / 2))
    error = student * rates.standard_error_of_units(bent, unit)
    of_gain = student * rates.standard_error_of_units(flat.influence - bent, unit)
    method = "infinitesimal jackknife"
    value = min(max(matched.value, 0.0), 1.0)
    if error <= 0 or value in (0.0, 1.0):
        # A separation without a single wrong pair has no spread to estimate.
        after = rates.on_pairs(value, smaller, level, n)
    else:
        after = rates.on_logit_scale(value, error, level=level, n=n, method=method)
    fall = flat.value - matched.value
    return MatchedAttack(
        transcript=transcript,
        weight=checks.frozen(weight),
        before=flat.value,
        after=after,
        fall=Estimate(
            value=fall, low=fall - of_gain, high=fall + of_gain, level=level, n=n, method=method
        ),
        n_bins=shares.n_bins,
        kept=float(np.mean(weight > 0)),
    )


@dataclass(frozen=True, eq=False)
class _Shares:
    """Number of rows of each side in every bin."""

    bins: Ints
    inside: Floats
    outside: Floats

    @classmethod
    def of(cls, bins: Ints, secret: Bools) -> _Shares:
        n = int(bins.max()) + 1
        counts = (np.bincount(bins[side], minlength=n).astype(float) for side in (secret, ~secret))
        return cls(bins, *counts)

    @property
    def n_bins(self) -> int:
        return int(np.count_nonzero(self.inside + self.outside))

    def weight(self, secret: Bools) -> Floats:
        """Return the other side's share of the row's bin, (m,)."""
        total = np.maximum(self.inside + self.outside, 1.0)
        return np.where(secret, (self.outside / total)[self.bins], (self.inside / total)[self.bins])

    def influence(self, secret: Bools, gap: Floats) -> Floats:
        """Return each row's influence through the weights of its bin, (m,).

        One more member takes b / (a + b)^2 from the weight of every member of the bin, and gives
        as much to every non-member; one more non-member does the reverse, with a in place of b.
        """
        signed = np.bincount(
            self.bins, weights=np.where(secret, gap, -gap), minlength=len(self.inside)
        )
        square = np.maximum(self.inside + self.outside, 1.0) ** 2
        up = (self.inside / square * signed)[self.bins]
        down = (self.outside / square * signed)[self.bins]
        bent: Floats = np.where(secret, -down, up)
        return bent


@dataclass(frozen=True, eq=False)
class _Area:
    """A weighted AUC, and the influence of every row on it."""

    value: float
    gap: Floats
    """(m,) The row's placement less the area, over the weight of its side."""
    influence: Floats
    """(m,) The gap times the row's own weight."""


def _area(transcript: Transcript, weight: Floats) -> _Area:
    score = transcript.score
    secret = transcript.secret
    placement = np.empty(len(score))
    placement[secret] = _share_below(score[secret], score[~secret], weight[~secret])
    placement[~secret] = 1 - _share_below(score[~secret], score[secret], weight[secret])
    value = float(np.average(placement[secret], weights=weight[secret]))
    side = np.where(secret, weight[secret].sum(), weight[~secret].sum())
    gap = (placement - value) / side
    return _Area(value, gap, weight * gap)


def _share_below(score: Floats, others: Floats, weight: Floats) -> Floats:
    """Return the share of the others' weight below each score, ties as halves."""
    order = np.argsort(others)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    below, upto = (np.searchsorted(others[order], score, side=side) for side in ("left", "right"))
    shares: Floats = (total[below] + total[upto]) / (2 * total[-1])
    return shares


N_CONTROLS = 5
"""Number of controls: reference energy and its spread, blind classifier, matched attack, numbers of
texts."""
FAR_BELOW = 0.45
"""AUC of the blind classifier below which texts of one side have near copies on the other."""
FEWEST_GROUPS = 20
"""Fewest groups of members, and of non-members, for the blind classifier."""
N_FOLDS = 5
"""Folds of the groups: each is scored by a model of those before it."""
N_WORDS = 1 << 14
"""Columns of the bag of words, which words share by their hash."""


@dataclass(frozen=True, eq=False)
class Control:
    """Scores without access to the audited model: their AUC is 1/2 if the test is honest."""

    name: str
    """``reference``, ``spread``, ``blind`` or ``sizes``."""
    transcript: Transcript
    """The scores beside the secrets, by group."""
    meaning: str
    """Interpretation if the control fires, one sentence."""
    sides: Literal["both", "above"] = "both"
    """``both`` where an area below 1/2 is a difference as well; ``above`` where it has to be below
    `FAR_BELOW`, as of a classifier that is a little worse than chance on people it has not seen."""

    def fires(self, auc: Estimate) -> bool:
        """Return whether members and non-members differ significantly.

        Parameters
        ----------
        auc : Estimate
            AUC of the transcript, at `control_level`.
        """
        if self.sides == "above":
            return auc.low > 0.5 or auc.high < FAR_BELOW
        return auc.excludes(0.5)


@dataclass(frozen=True)
class ControlFinding:
    """Result of a control: how well it tells members from non-members."""

    name: str
    """``reference``, ``spread``, ``blind`` or ``sizes``."""
    auc: Estimate
    """AUC; the intervals of all controls hold jointly."""
    fires: bool
    """True where it tells members from non-members significantly."""
    meaning: str
    """Interpretation if the control fires, one sentence."""


@dataclass(frozen=True, eq=False)
class Controls:
    """Controls of an audit; none of them sees the audited model."""

    reference: ControlFinding | Skipped
    """AUC of the reference model's energy alone; that model saw no member."""
    blind: ControlFinding | Skipped
    """Classifier of the words, without any model."""
    matched: MatchedAttack | Skipped
    """The attack after members and non-members were made alike in reference energy."""
    sizes: ControlFinding | Skipped
    """AUC of the number of a patient's texts alone."""
    spread: ControlFinding | Skipped
    """AUC of the reference energy's distance from the median."""
    apart: tuple[str, ...] = ()
    """Reasons, found without a test, why the sides cannot be compared: ``lengths`` where too few
    texts are equally long, ``copies`` where most texts of a side have a copy or near copy on the
    other, ``ends`` where members are also in excess at the bottom of the strongest attack's
    ranking."""

    @property
    def fired(self) -> tuple[str, ...]:
        """Names of all controls that tell members from non-members."""
        unequal = not isinstance(self.sizes, Skipped) and self.sizes.fires
        return (*self.void, *(("sizes",) if unequal else ()))

    @property
    def void(self) -> tuple[str, ...]:
        """Names of the fired controls that invalidate all numbers: all but ``sizes``.

        The attack on patients compares equally many texts, and the intervals of samples count
        patients, so that unequal numbers of texts are allowed for.
        """
        return (*(name for name, found in self.played if found.fires), *self.apart)

    @property
    def played(self) -> tuple[tuple[str, ControlFinding | MatchedAttack], ...]:
        """Controls played on the texts themselves, by name."""
        every = (
            ("reference", self.reference),
            ("spread", self.spread),
            ("blind", self.blind),
            ("matched", self.matched),
        )
        return tuple((name, x) for name, x in every if not isinstance(x, Skipped))


def control_level(level: float = 0.95) -> float:
    """Return the level of each control's interval at which all of them hold jointly at `level`.

    Bonferroni's: a test without any shift fires some control with probability at most
    ``1 - level``, however the controls depend on each other.
    """
    return 1 - (1 - checks.level(level)) / N_CONTROLS


def controls_of(
    scores: TextScores, seed: int, level: float, apart: tuple[str, ...] = ()
) -> Controls:
    """Play all controls; their intervals hold jointly at `level`."""
    each = control_level(level)
    blind = blind_control(scores, seeds.stream(seed, "language", "blind control"))
    return Controls(
        reference=_control(reference_control(scores), each),
        blind=_control(blind, each),
        matched=matched_control(scores, best_signal(scores), each),
        sizes=_control(sizes_control(scores), each),
        spread=_control(spread_control(scores), each),
        apart=apart,
    )


def spread_control(scores: TextScores) -> Control | Skipped:
    """Return the distances of the judged samples' reference energies from their median, as scores.

    Short texts have means over few tokens, which lie further out: unequal lengths show here even
    where no length is known.
    """
    if scores.energy_reference is None:
        return Skipped("spread control", "needs energies of a reference model")
    found = energy_transcript(scores, REFERENCE)
    fewest = min(checks.n_distinct(found.unit[side]) for side in (found.secret, ~found.secret))
    if fewest < FEWEST_GROUPS:
        reason = f"needs {FEWEST_GROUPS} groups of members and of non-members, got {fewest}"
        return Skipped("spread control", reason)
    away = np.abs(found.score - np.median(found.score))
    return Control(
        "spread",
        Transcript(away, found.secret, found.target),
        "Under a model that saw none of the samples, those of one side lie further from the "
        "middle: they differ in more than membership, such as in length.",
    )


def reference_control(scores: TextScores) -> Control | Skipped:
    """Return the judged samples' reference energies as scores; the reference saw no member."""
    if scores.energy_reference is None:
        return Skipped("reference control", "needs energies of a reference model")
    return Control(
        REFERENCE,
        energy_transcript(scores, REFERENCE),
        "A model that saw none of the samples tells members from non-members: they differ in more "
        "than membership.",
    )


def blind_control(scores: TextScores, rng: np.random.Generator) -> Control | Skipped:
    """Return the scores of a classifier of the words, without any model.

    Parameters
    ----------
    scores : TextScores
        Scores with texts.
    rng : numpy.random.Generator
        Deals the groups into folds.

    Returns
    -------
    Control or Skipped
        Scores of the samples outside of the first fold, by models that did not learn from their
        group. Skipped without texts, or with fewer
        than 20 groups of members or of non-members.
    """
    if scores.text is None:
        return Skipped("blind control", "needs the texts: give a column text")
    judged = np.flatnonzero(scores.judged)
    text = [scores.text[row] for row in judged.tolist()]
    secret = scores.member[judged]
    unit = scores.unit[judged]
    fewest = min(len(np.unique(unit[side])) for side in (secret, ~secret))
    if fewest < FEWEST_GROUPS:
        reason = f"needs {FEWEST_GROUPS} groups of members and of non-members, got {fewest}"
        return Skipped("blind control", reason)
    fold = folds_of(unit, secret, N_FOLDS, rng)
    shown = fold > 0
    return Control(
        "blind",
        Transcript(blind_scores(text, secret, fold)[shown], secret[shown], unit[shown]),
        "The words alone tell members from non-members, or far below chance take one for the "
        "other, as between texts with twins across the sides: they differ in more than membership.",
        "above",
    )


def blind_scores(text: Sequence[str], secret: Bools, fold: Ints) -> Floats:
    """Return how much each text looks like a member's, by a model of the words in earlier folds.

    Parameters
    ----------
    text : sequence of str, length m
    secret : ndarray of bool, shape (m,)
    fold : ndarray of int, shape (m,)
        Fold in 0..k-1, both sides in every fold; all texts of a group in one fold.

    Returns
    -------
    ndarray of float, shape (m,)
        The share of the texts in the same fold that look less like a member's, in (0, 1): each
        fold has its own model, and only the order within a fold is meaningful. 1/2 in fold 0,
        which has no earlier fold and is only learnt from.

    Notes
    -----
    Logistic regression on which words occur (hashed, rows of length 1), both sides weighted
    alike. Every fold is scored by a model of the folds BEFORE it. Common cross-validation learns
    from each pair of groups in both directions, which makes their scores right or wrong together:
    in 100 made-up tests without any shift, 8 of its intervals of 98.3% missed 1/2. In one
    direction, given the earlier folds, the scores of a fold are those of a fixed model, and
    intervals hold.
    """
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import LogisticRegression

    words = HashingVectorizer(n_features=N_WORDS, binary=True, alternate_sign=False)
    matrix = words.transform(text)
    result = np.full(len(secret), 0.5)
    for part in range(1, int(fold.max()) + 1):
        before = fold < part
        held = fold == part
        model = LogisticRegression(class_weight="balanced", max_iter=1000)
        model.fit(matrix[before], secret[before])
        result[held] = ranks(model.decision_function(matrix[held]))
    return result


def matched_control(
    scores: TextScores, name: str = LIKELIHOOD_RATIO, level: float = 0.95
) -> MatchedAttack | Skipped:
    """Return an attack's area before and after matching on reference energy.

    Parameters
    ----------
    name : str
        The attack's signal.
    level : float
        Level of the intervals; `control_level` where all controls are to hold together.
    """
    if scores.energy_reference is None:
        return Skipped("matched attack", "needs energies of a reference model")
    transcript = energy_transcript(scores, name)
    return matched_attack(transcript, scores.energy_reference[scores.judged], level)


def sizes_control(scores: TextScores) -> Control | Skipped:
    """Return a control that scores each patient by the number of judged texts alone.

    Patients with members and non-members among their texts are left out.
    """
    name = "sizes control"
    if scores.author is not None:
        return Skipped(name, BY_TEXT)
    if scores.group is None:
        return Skipped(name, "needs groups: give a column group with the patient")
    n = int(scores.unit.max()) + 1
    inside, outside = (
        np.bincount(scores.unit[side], minlength=n) for side in (scores.member, scores.nonmember)
    )
    patient = np.flatnonzero((inside > 0) ^ (outside > 0))
    secret = inside[patient] > 0
    if secret.all() or not secret.any():
        return Skipped(name, "needs patients whose texts are all on one side, on either side")
    return Control(
        "sizes",
        Transcript((inside + outside)[patient].astype(np.float64), secret, patient),
        f"The number of texts alone tells members ({_typical(inside)} a patient in the median) "
        f"from non-members ({_typical(outside)}): they were not drawn alike. Patient by patient "
        "they are compared on equally many texts.",
    )


def _control(found: Control | Skipped, level: float) -> ControlFinding | Skipped:
    if isinstance(found, Skipped):
        return found
    area = roc.auc(found.transcript, level)
    return ControlFinding(found.name, area, found.fires(area), found.meaning)


def _typical(size: Ints) -> str:
    return f"{np.median(size[size > 0]):g}"


def ranks(values: Floats) -> Floats:
    """Return the share of the values below each value, in (0, 1), ties as halves."""
    from scipy.stats import rankdata

    shares: Floats = (rankdata(values) - 0.5) / len(values)
    return shares


_FEWEST = 10


def unlearnt(target: Floats, reference: Floats, level: float) -> str | None:
    """Return a warning where most members are likelier under the reference, which saw none of them.

    Parameters
    ----------
    target, reference : ndarray of float, shape (n,)
        Likelihood of the members' texts under both models, higher for likelier. Ties do not count.
    level : float
        Level of the interval of the share, in (0, 1).

    Returns
    -------
    str or None
        None with fewer than 10 texts, or unless significantly less than half of them are likelier
        under the target.
    """
    different = target != reference
    likelier = target[different] > reference[different]
    if len(likelier) < _FEWEST or proportion(likelier, None, level).high >= 0.5:
        return None
    return (
        f"The target expects only {likelier.mean():.0%} of the members' texts better than the "
        "reference does. Unless the reference is the better model: check that the target was "
        "trained on these texts, and that they are in the form in which it read them (letters, "
        "white space, what stands around them). Otherwise this audit finds nothing, whatever leaks."
    )
