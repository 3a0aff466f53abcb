"""Controls: tests that distinguish members from non-members without the audited model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

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
"""Fewest members, and fewest non-members, for matching, counted in groups."""
MOST_BINS = 100
"""Most bins; more would not visibly change an interval."""


@dataclass(frozen=True, eq=False)
class MatchedAttack:
    """Area under an attack's ROC curve before and after matching on reference energy."""

    transcript: Transcript
    """Scores of the attack, without matching."""
    weight: Floats
    """(m,) Weight of each row after matching; 0 in a bin with one side only."""
    before: float
    """AUC without weights."""
    after: Estimate
    """AUC with the weights: the attack's AUC among samples of equal difficulty to a model that saw
    none of them."""
    fall: Estimate
    """AUC before minus AUC after matching: the part due to a shift between members and non-members,
    near 0 if there is none."""
    n_bins: int
    """Number of bins of reference energy."""
    kept: float
    """Share of the rows that are in bins with both sides."""

    @property
    def fires(self) -> bool:
        """True if matching changes the AUC significantly, in either direction."""
        return self.fall.excludes(0.0)


def matched_attack(
    transcript: Transcript, reference: Floats, level: float = 0.95
) -> MatchedAttack | Skipped:
    """Evaluate the attack among members and non-members of similar reference energy.

    Parameters
    ----------
    transcript : Transcript
        Scores of the attack with the secrets, by group.
    reference : ndarray of float, shape (m,)
        Energy of the same rows under the reference model.
    level : float
        Level of both intervals, in (0, 1).

    Returns
    -------
    MatchedAttack or Skipped
        Skipped with fewer than 20 groups of members or of non-members, or if no bin holds both.

    Notes
    -----
    Rows fall into bins with equal shares of all rows, one bin per five groups of the smaller side
    and at most 100; equal energies share a bin. In a bin with a members and b non-members, a member
    weighs b / (a + b) and a non-member a / (a + b) (the overlap weights of Li, Morgan & Zaslavsky
    2018), so both sides have the same weight in every bin and nothing is drawn. Intervals: the
    infinitesimal jackknife over groups, including the weights, with Student's quantile; for `after`
    on the logit scale.

    Assumes that within a bin, members and non-members differ only in membership. A difference that
    the reference energy does not show (a topic that both models find equally hard) remains:
    matching can only remove a difference, and if it finds none, that proves nothing.
    """
    checks.level(level)
    reference = checks.floats(reference, "reference", length=len(transcript))
    secret = transcript.secret
    sides = (secret, ~secret)
    smaller = min(checks.n_distinct(transcript.unit[side]) for side in sides)
    if smaller < SMALLEST:
        return Skipped(
            "matched attack",
            f"needs {SMALLEST} groups of members and of non-members, got {smaller}",
        )
    # Inner quantiles only, so that no row lies outside the bins.
    cuts = np.linspace(0, 1, min(MOST_BINS, smaller // 5) + 1)[1:-1]
    bins: Ints = np.searchsorted(np.quantile(reference, cuts), reference, side="right")
    n_bins = int(bins.max()) + 1
    inside, outside = (np.bincount(bins[side], minlength=n_bins).astype(float) for side in sides)
    # Empty bins divide by 1; nothing refers to them.
    total = np.maximum(inside + outside, 1.0)
    # A row weighs the other side's share of its bin: b / (a + b) for a member.
    weight = np.where(secret, (outside / total)[bins], (inside / total)[bins])
    if not weight.any():
        return Skipped("matched attack", "no range of reference energies holds both sides")
    # Both AUCs come with their influences, so that the difference has an interval of its own.
    flat = _area(transcript, np.ones(len(transcript)))
    matched = _area(transcript, weight)
    # The AUC depends on a row directly, and through the weights that the row gives its bin: one
    # more member takes b / (a + b)^2 from the weight of every member of the bin, and adds as much
    # to every non-member; one more non-member does the reverse, with a in place of b. `signed` is
    # the sum of the gaps in each bin, by which the AUC moves if the weights of the sides shift.
    signed = np.bincount(
        bins, weights=np.where(secret, matched.gap, -matched.gap), minlength=n_bins
    )
    up = (inside / total**2 * signed)[bins]
    down = (outside / total**2 * signed)[bins]
    bent = matched.influence + np.where(secret, -down, up)
    unit = transcript.unit
    n = transcript.n_units
    student = float(stdtrit(n - 1, 0.5 + level / 2))
    error = student * rates.standard_error_of_units(bent, unit)
    # The AUCs share the rows, so their difference needs its own influence.
    of_gain = student * rates.standard_error_of_units(flat.influence - bent, unit)
    method = "infinitesimal jackknife"
    value = min(max(matched.value, 0.0), 1.0)
    if error <= 0 or value in (0.0, 1.0):
        # A perfect separation has no spread to estimate: the exact interval for pairs replaces it.
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
        n_bins=int(np.count_nonzero(inside + outside)),
        kept=float(np.mean(weight > 0)),
    )


@dataclass(frozen=True, eq=False)
class _Area:
    """A weighted AUC, and the influence of every row on it."""

    value: float
    gap: Floats
    """(m,) Placement of the row minus the area, divided by the weight of its side."""
    influence: Floats
    """(m,) `gap` times the row's own weight."""


def _area(transcript: Transcript, weight: Floats) -> _Area:
    score = transcript.score
    secret = transcript.secret
    placement = np.empty(len(score))
    # (m,): share of the other side's weight that lies on the right side of the row's score.
    placement[secret] = _share_below(score[secret], score[~secret], weight[~secret])
    placement[~secret] = 1 - _share_below(score[~secret], score[secret], weight[secret])
    value = float(np.average(placement[secret], weights=weight[secret]))
    side = np.where(secret, weight[secret].sum(), weight[~secret].sum())
    gap = (placement - value) / side
    return _Area(value, gap, weight * gap)


def _share_below(score: Floats, others: Floats, weight: Floats) -> Floats:
    """Return the weighted share of the others below each score, ties as halves."""
    order = np.argsort(others)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    # Ties count half: the mean of the weight below and the weight up to each score.
    below, upto = (np.searchsorted(others[order], score, side=side) for side in ("left", "right"))
    shares: Floats = (total[below] + total[upto]) / (2 * total[-1])
    return shares


N_CONTROLS = 7
"""Number of controls: reference energy and its spread, blind classifiers of the words and of the
form, strings that one side alone has, matched attack, and numbers of texts."""
FAR_BELOW = 0.45
"""AUC of the blind classifier below which texts of one side have near copies on the other."""
FEWEST_GROUPS = 20
"""Fewest groups of members, and of non-members, for the blind classifier."""
N_FOLDS = 5
"""Folds of the groups: each is scored by a model of the folds before it."""
N_WORDS = 1 << 14
"""Columns of the bag of words, shared by words with the same hash."""
N_FORMS = 1 << 17
"""Columns of the bag of short strings of characters, and of that of pairs of words."""
FORM_LENGTH = 4_000
"""Characters at the beginning and at the end of a text that the control of the form reads."""


@dataclass(frozen=True, eq=False)
class Control:
    """Scores without access to the audited model: their AUC is 1/2 if the test is sound."""

    name: str
    """``reference``, ``spread``, ``blind``, ``form`` or ``sizes``."""
    transcript: Transcript
    """Scores with the secrets, by group."""
    meaning: str
    """Interpretation if the control fires, in one sentence."""
    sides: Literal["both", "above"] = "both"
    """``both`` if an AUC below 1/2 is a difference too; ``above`` if it must be below `FAR_BELOW`,
    as for a classifier that is slightly worse than chance on people it has not seen."""

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
    """Result of a control: how well it distinguishes members from non-members."""

    name: str
    """``reference``, ``spread``, ``blind``, ``form`` or ``sizes``."""
    auc: Estimate
    """AUC; the intervals of all controls hold jointly."""
    fires: bool
    """True if it distinguishes members from non-members significantly."""
    meaning: str
    """Interpretation if the control fires, in one sentence."""


@dataclass(frozen=True, eq=False)
class Controls:
    """Controls of an audit; none of them sees the audited model."""

    reference: ControlFinding | Skipped
    """AUC of the energy under the reference model alone, which saw no member."""
    blind: ControlFinding | Skipped
    """AUC of a classifier of the words, without any model."""
    form: ControlFinding | Skipped
    """AUC of a classifier of the form: letters in their case, digits, punctuation, white space, the
    order of words, and how texts begin and end."""
    matched: MatchedAttack | Skipped
    """The attack after members and non-members are matched on reference energy."""
    sizes: ControlFinding | Skipped
    """AUC of the number of a patient's texts alone."""
    spread: ControlFinding | Skipped
    """AUC of the distance of the reference energy from its median."""
    apart: tuple[str, ...] = ()
    """Reasons, found without a test, why the sides cannot be compared: ``lengths`` if too few texts
    are equally long, ``units`` if energies of one side are sums and of the other means, ``copies``
    if most texts of a side have a copy or near copy on the other, ``ends`` if members are also in
    excess at the bottom of the strongest attack's ranking, ``strings`` if a word or a short string
    is in far more texts of one side, too few for the AUC of a classifier."""

    @property
    def fired(self) -> tuple[str, ...]:
        """Names of all controls that distinguish members from non-members."""
        unequal = not isinstance(self.sizes, Skipped) and self.sizes.fires
        return (*self.void, *(("sizes",) if unequal else ()))

    @property
    def void(self) -> tuple[str, ...]:
        """Names of the fired controls that invalidate all numbers: all but ``sizes``.

        The attack on patients compares equally many texts, and the intervals of samples count
        patients, so unequal numbers of texts are accounted for.
        """
        return (*(name for name, found in self.played if found.fires), *self.apart)

    @property
    def played(self) -> tuple[tuple[str, ControlFinding | MatchedAttack], ...]:
        """Controls played on the texts themselves, by name."""
        every = (
            ("reference", self.reference),
            ("spread", self.spread),
            ("blind", self.blind),
            ("form", self.form),
            ("matched", self.matched),
        )
        return tuple((name, x) for name, x in every if not isinstance(x, Skipped))


def control_level(level: float = 0.95) -> float:
    """Return the level of each control's interval at which all of them hold jointly at `level`.

    Bonferroni: a test without any shift fires some control with probability at most ``1 - level``,
    however the controls depend on each other.
    """
    return 1 - (1 - checks.level(level)) / N_CONTROLS


def controls_of(
    scores: TextScores, seed: int, level: float, apart: tuple[str, ...] = ()
) -> Controls:
    """Play all controls; their intervals hold jointly at `level`."""
    each = control_level(level)
    blind = blind_control(scores, seeds.stream(seed, "language", "blind control"))
    form = form_control(scores, seeds.stream(seed, "language", "form control"))
    if uneven_strings(scores, 1 - each) is not None:
        apart = (*apart, "strings")
    return Controls(
        reference=_control(reference_control(scores), each),
        blind=_control(blind, each),
        form=_control(form, each),
        matched=matched_control(scores, best_signal(scores), each),
        sizes=_control(sizes_control(scores), each),
        spread=_control(spread_control(scores), each),
        apart=apart,
    )


def spread_control(scores: TextScores) -> Control | Skipped:
    """Return the distances of the judged samples' reference energies from their median, as scores.

    Energies of short texts are means over few tokens and vary more: unequal lengths show here even
    if lengths are unknown.
    """
    if scores.energy_reference is None:
        return Skipped("spread control", "needs energies of a reference model")
    found = energy_transcript(scores, REFERENCE)
    fewest = min(checks.n_distinct(found.unit[side]) for side in (found.secret, ~found.secret))
    if fewest < FEWEST_GROUPS:
        reason = f"needs {FEWEST_GROUPS} groups of members and of non-members, got {fewest}"
        return Skipped("spread control", reason)
    # The side further from the middle scores higher, in either direction.
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
        Assigns the groups to folds.

    Returns
    -------
    Control or Skipped
        Scores of the samples outside the first fold, by models that did not learn from their group.
        Skipped without texts, or with fewer than 20 groups of members or of non-members.
    """
    return _text_control(
        "blind",
        scores,
        rng,
        features=words_of,
        meaning="The words alone tell members from non-members, or far below chance take one for "
        "the other, as between texts with twins across the sides: they differ in more than "
        "membership.",
    )


def form_control(scores: TextScores, rng: np.random.Generator) -> Control | Skipped:
    """Return the scores of a classifier of the texts' form, without any model.

    A model that was tuned on texts of one clinic, export or version of a template finds other texts
    in the same form likelier, whose words may be the same. Arguments and results are those of
    `blind_control`.
    """
    return _text_control(
        "form",
        scores,
        rng,
        features=forms_of,
        meaning="How texts are written (letters and their case, digits, punctuation, white space, "
        "order of words, beginnings and ends) tells members from non-members: they differ in more "
        "than membership.",
    )


def uneven_strings(scores: TextScores, allowed: float) -> tuple[int, int] | None:
    """Return the numbers of members and non-members whose texts have the most uneven string.

    A few texts with a sign of their own, such as a dash that only one clinic's program writes,
    hardly move the AUC of a classifier of all texts, but make up the whole of what stands out to a
    model that knows that sign.

    Parameters
    ----------
    scores : TextScores
    allowed : float
        Probability, in (0, 1), of a finding where both sides are of one population.

    Returns
    -------
    (int, int) or None
        People of each side; None without texts, with fewer than 20 people on a side, and where no
        word or string is that uneven.

    Notes
    -----
    Exact two-sided hypergeometric test of each word and string that enough people have to reach
    the level, with Bonferroni's correction for their number.
    """
    from scipy.sparse import csr_matrix, hstack
    from scipy.stats import hypergeom

    if scores.text is None:
        return None
    judged = np.flatnonzero(scores.judged)
    text = [scores.text[row] for row in judged.tolist()]
    # A person counts once on a side, however many texts have the string.
    sides = 2 * scores.unit[judged] + scores.member[judged]
    people, person = np.unique(sides, return_inverse=True)
    member = people % 2 == 1
    if min(np.count_nonzero(member), np.count_nonzero(~member)) < FEWEST_GROUPS:
        return None
    of_person = csr_matrix(
        (np.ones(len(judged)), (person, np.arange(len(judged)))), shape=(len(people), len(judged))
    )
    has = (of_person @ hstack([words_of(text), forms_of(text)], format="csr")).sign()
    inside, outside = (np.asarray(has[side].sum(axis=0)).ravel() for side in (member, ~member))
    both = inside + outside
    n_in = int(member.sum())
    n = len(people)
    # Fewer people could not reach the level, even if all of them were on the smaller side.
    least = np.log(allowed) / np.log(min(n_in, n - n_in) / n)
    tested = (both >= least) & (both <= n - least)
    if not tested.any():
        return None
    drawn = hypergeom(n, n_in, both[tested])
    above = drawn.sf(inside[tested] - 1)
    below = drawn.cdf(inside[tested])
    p = 2 * np.minimum(above, below) * np.count_nonzero(tested)
    most = int(np.argmin(p))
    if p[most] > allowed:
        return None
    return int(inside[tested][most]), int(outside[tested][most])


def _text_control(
    name: str,
    scores: TextScores,
    rng: np.random.Generator,
    *,
    features: Callable[[Sequence[str]], Any],
    meaning: str,
) -> Control | Skipped:
    if scores.text is None:
        return Skipped(f"{name} control", "needs the texts: give a column text")
    judged = np.flatnonzero(scores.judged)
    text = [scores.text[row] for row in judged.tolist()]
    secret = scores.member[judged]
    unit = scores.unit[judged]
    fewest = min(len(np.unique(unit[side])) for side in (secret, ~secret))
    if fewest < FEWEST_GROUPS:
        reason = f"needs {FEWEST_GROUPS} groups of members and of non-members, got {fewest}"
        return Skipped(f"{name} control", reason)
    fold = folds_of(unit, secret, N_FOLDS, rng)
    # Scores are learnt on earlier folds, and fold 0 has none.
    shown = fold > 0
    score = blind_scores(text, secret, fold, features)[shown]
    return Control(name, Transcript(score, secret[shown], unit[shown]), meaning, "above")


def words_of(text: Sequence[str]) -> Any:
    """Return the words of each text, a sparse matrix (m, N_WORDS) with rows of norm 1."""
    from sklearn.feature_extraction.text import HashingVectorizer

    words = HashingVectorizer(n_features=N_WORDS, binary=True, alternate_sign=False)
    return words.transform(text)


def forms_of(text: Sequence[str]) -> Any:
    """Return the form of each text, a sparse matrix (m, 2 N_FORMS) of two halves of norm 1.

    Its strings of 1 to 4 characters, with marks for the beginning and the end, and its pairs of
    neighbouring words with their punctuation.
    """
    from scipy.sparse import hstack
    from sklearn.feature_extraction.text import HashingVectorizer

    counted = {"n_features": N_FORMS, "binary": True, "alternate_sign": False, "lowercase": False}
    strings = HashingVectorizer(analyzer="char", ngram_range=(1, 4), **counted)
    pairs = HashingVectorizer(token_pattern=r"\S+", ngram_range=(2, 2), **counted)
    marked = []
    for one in text:
        # Of a long text only the beginning and the end are looked at.
        ends = one
        if len(one) > 2 * FORM_LENGTH:
            ends = f"{one[:FORM_LENGTH]} {one[-FORM_LENGTH:]}"
        # The vectorizer takes runs of white space for one blank: each becomes a sign of its own.
        marked.append(f"\x02{ends}\x03".translate(_WHITE_SPACE))
    return hstack([strings.transform(marked), pairs.transform(text)], format="csr")


_WHITE_SPACE = str.maketrans(
    {" ": "\u2420", "\t": "\u2409", "\n": "\u240a", "\r": "\u240d", "\u00a0": "\u237d"}
)


def blind_scores(
    text: Sequence[str],
    secret: Bools,
    fold: Ints,
    features: Callable[[Sequence[str]], Any] = words_of,
) -> Floats:
    """Return how much each text resembles a member's, by a model of the texts in earlier folds.

    Parameters
    ----------
    text : sequence of str, length m
    secret : ndarray of bool, shape (m,)
    fold : ndarray of int, shape (m,)
        Fold in 0..k-1, with both sides in every fold and all texts of a group in one fold.
    features : callable
        Maps texts to a sparse matrix: `words_of` or `forms_of`.

    Returns
    -------
    ndarray of float, shape (m,)
        Share of the texts in the same fold that resemble a member's less, in (0, 1): each fold has
        its own model, so only the order within a fold is meaningful. 1/2 in fold 0, which has no
        earlier fold and is only learnt from.

    Notes
    -----
    Logistic regression on which words or strings occur (hashed), with equal weights of both sides.
    Every fold is scored by a model of the folds BEFORE it. Ordinary cross-validation learns from
    each pair of groups in both directions, which makes their scores right or wrong together: in 100
    simulated tests without any shift, 8 of its 98.3% intervals missed 1/2. In one direction, given
    the earlier folds, the scores of a fold are those of a fixed model, and intervals hold.
    """
    from sklearn.linear_model import LogisticRegression

    matrix = features(text)
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
    """Return an attack's AUC before and after matching on reference energy.

    Parameters
    ----------
    name : str
        Signal of the attack.
    level : float
        Level of the intervals; `control_level` for all controls to hold jointly.
    """
    if scores.energy_reference is None:
        return Skipped("matched attack", "needs energies of a reference model")
    transcript = energy_transcript(scores, name)
    return matched_attack(transcript, scores.energy_reference[scores.judged], level)


def sizes_control(scores: TextScores) -> Control | Skipped:
    """Return a control that scores each patient by the number of judged texts alone.

    Patients with both members and non-members among their texts are left out.
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
    # Patients with texts on both sides are neither members nor non-members.
    patient = np.flatnonzero((inside > 0) ^ (outside > 0))
    secret = inside[patient] > 0
    if secret.all() or not secret.any():
        return Skipped(name, "needs patients whose texts are all on one side, on either side")
    of_members, of_others = (f"{np.median(x[x > 0]):g}" for x in (inside, outside))
    return Control(
        "sizes",
        Transcript((inside + outside)[patient].astype(np.float64), secret, patient),
        f"The number of texts alone tells members ({of_members} a patient in the median) "
        f"from non-members ({of_others}): they were not drawn alike. Patient by patient "
        "they are compared on equally many texts.",
    )


def _control(found: Control | Skipped, level: float) -> ControlFinding | Skipped:
    if isinstance(found, Skipped):
        return found
    area = roc.auc(found.transcript, level)
    return ControlFinding(found.name, area, found.fires(area), found.meaning)


def ranks(values: Floats) -> Floats:
    """Return the share of the values below each value, in (0, 1), ties as halves."""
    from scipy.stats import rankdata

    shares: Floats = (rankdata(values) - 0.5) / len(values)
    return shares


_FEWEST = 10


def unlearnt(target: Floats, reference: Floats, level: float) -> str | None:
    """Return a warning if most members are likelier under the reference, which saw none of them.

    Parameters
    ----------
    target, reference : ndarray of float, shape (n,)
        Likelihood of the members' texts under both models, higher for likelier; ties are ignored.
    level : float
        Level of the interval of the share, in (0, 1).

    Returns
    -------
    str or None
        None with fewer than 10 texts, or unless significantly fewer than half of them are likelier
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
