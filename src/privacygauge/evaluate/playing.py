"""Play attacks on dealt rounds and choose the headline result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from numpy.typing import NDArray
from scipy.stats import norm

from privacygauge.core import checks, seeds, units
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Play, Round, play
from privacygauge.core.transcript import TIED, tied
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.direction import inverted_at_one_end, inverted_attacks
from privacygauge.evaluate.epsilon import audit_epsilon, largest_certifiable_epsilon
from privacygauge.evaluate.evaluation import Evaluation, evaluate, title
from privacygauge.evaluate.headline import Headline, best_supported
from privacygauge.evaluate.risk import Risk, assess_risk
from privacygauge.evaluate.roc import Roc, auc

Result = tuple[Play, Evaluation] | Skipped
"""Scores of an attack with their evaluation, or the reason why it was skipped."""


def audit(
    rounds: Sequence[Round],
    attacks: Sequence[Attack],
    *,
    compared: Bools | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> list[Result]:
    """Play and evaluate attacks on rounds that were already dealt.

    Parameters
    ----------
    rounds : sequence of Round
        From a game's `deal`; dealing is the only step that trains anything.
    attacks : sequence of Attack
    compared : ndarray of bool, shape (n,), optional
        True for the targets to evaluate on; default: all.
    seed : int
        Each attack draws from a generator of its own, so that adding one changes no other result.
    level : float
        Level of every interval, in (0, 1).

    Returns
    -------
    list of (Play, Evaluation) or Skipped
        In the order of `attacks`.

    Raises
    ------
    InputError
        If two attacks share a title, or there are fewer than two members or non-members.
    """
    # A single target on a side would show no variance.
    secret = np.concatenate([dealt.secret for dealt in rounds])
    unit = np.concatenate([dealt.unit for dealt in rounds])
    # Counted up to 2 only: no sorting is needed to see a second unit.
    n_in, n_out = (
        min(len(own), 1) + int(len(own) > 1 and bool((own != own[0]).any()))
        for own in (unit[secret], unit[~secret])
    )
    if min(n_in, n_out) < 2:
        raise InputError(
            f"at least 2 members and 2 non-members are needed, got {n_in} and {n_out}: give more"
        )
    titles = [title(attack.name, attack.variant, attack.thresholds) for attack in attacks]
    twice = next((name for name in titles if titles.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two attacks are called {twice!r}: give one of them a variant")
    # Threads: scores are computed by numpy, which releases the interpreter lock, on shared arrays.
    # Small games are faster without them.
    n_jobs = min(cpu_count(), len(attacks)) if rounds and len(rounds[0].secret) > 20_000 else 1
    return list(
        Parallel(n_jobs, backend="threading")(
            delayed(_audit_one)(attack, rounds, compared, seed=seed, level=level)
            for attack in attacks
        )
    )


def _audit_one(
    attack: Attack, rounds: Sequence[Round], compared: Bools | None, seed: int, level: float
) -> Result:
    # The stream goes by the attack's name, so that a further attack changes no other's numbers.
    role = ("attack", attack.name, attack.variant, attack.thresholds)
    played = play(attack, rounds, [seeds.stream(seed, *role, i) for i in range(len(rounds))])
    if isinstance(played, Skipped):
        return played
    if compared is not None:
        played = played.on(compared)
    # Equal scores or equal guesses are evaluated all the same, with a note.
    notes = played.notes
    guess = played.decisions.guess
    if tied(played.transcript.score):
        notes = (*notes, f"It {TIED}.")
    elif guess.all() or not guess.any():
        side = "a member" if guess[0] else "a non-member"
        notes = (*notes, f"Its threshold calls every record {side}, so the guesses tell nothing.")
    evaluation = evaluate(
        attack.name,
        played.transcript,
        played.decisions,
        level,
        variant=attack.variant,
        thresholds=attack.thresholds,
        notes=notes,
    )
    return played, evaluation


def telling(results: Sequence[Result]) -> list[Result]:
    """Replace results whose scores are all equal by `Skipped`.

    Audits of a defence keep such results, with a note: the defence may be what makes scores equal.
    """
    return [
        Skipped(result[1].title, TIED)
        if not isinstance(result, Skipped) and tied(result[0].transcript.score)
        else result
        for result in results
    ]


def played_of(
    results: Sequence[Result], way_out: str = "give at least one that fits predictions"
) -> list[tuple[Play, Evaluation]]:
    """Return the results of the attacks that were not skipped.

    Raises
    ------
    InputError
        If there are none; the message gives the first reason.
    """
    found = [result for result in results if not isinstance(result, Skipped)]
    if not found:
        reasons = [f" ({r.name} {r.reason})" for r in results if isinstance(r, Skipped)]
        raise InputError(f"no attack could be played{''.join(reasons[:1])}: {way_out}")
    return found


def risk_of(
    rounds: Sequence[Round],
    attack: Attack,
    labels: Ints,
    seed: int,
    level: float,
    *,
    compared: Bools | None = None,
) -> tuple[Risk, Floats]:
    """Return the assessment of the privacy risk score, and the score of each target, (n,).

    The assessment is on the `compared` targets, as in `audit`. Classes are described if the rounds
    have a signal ``correctness``.
    """
    rngs = [seeds.stream(seed, "risk", number) for number in range(len(rounds))]
    whole = play(attack, rounds, rngs)
    assert isinstance(whole, Play)  # the signal and the shadow are there
    played = whole if compared is None else whole.on(compared)
    # Rounds may ask about targets in any order: the labels are in that of the file.
    order = whole.transcript.target
    judged = played.transcript.target
    correct = None
    if "correctness" in rounds[0].observation.signals:
        right = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
        correct = in_file_order(right, order)[judged]
    found = assess_risk(
        played.transcript,
        attack.variant,
        stratum=labels[judged],
        correct=correct,
        rng=seeds.stream(seed, "risk", "bootstrap"),
        level=level,
    )
    return found, in_file_order(whole.transcript.score, order)


def in_file_order(values: NDArray[Any], order: Ints) -> NDArray[Any]:
    """Return values in the order of the file, from values of targets in the order `order`."""
    result = np.empty_like(values)
    result[order] = values
    return checks.frozen(result)


def furthest_attack(
    played: Sequence[tuple[Play, Evaluation]], level: float, each: float
) -> tuple[Evaluation, Estimate, Estimate]:
    """Return the strongest attack, with its accuracy and AUC corrected for the choice.

    By its guesses, unless a ranking supports a higher accuracy (`best_supported`). Intervals at the
    level `each` are jointly valid at `level`.
    """
    together = [balanced_accuracy(p.decisions, each) for p, _ in played]
    best = int(np.argmax([accuracy.low for accuracy in together]))
    areas = {best: auc(played[best][0].transcript, each, curve=played[best][1].roc)}
    furthest = together[best].low
    for i, (scored, evaluation) in enumerate(played):
        # The uncorrected interval is narrower: where even its ranking is not better supported, the
        # costly corrected AUC is not needed.
        if best_supported(together[best], evaluation.auc).by_ranking:
            areas[i] = auc(scored.transcript, each, curve=evaluation.roc)
            found = best_supported(together[i], areas[i])
            if found.by_ranking and found.accuracy.low > furthest:
                best = i
                furthest = found.accuracy.low
    accuracy, area = (
        replace(x, level=level, method=f"{x.method}, simultaneous over attacks")
        for x in (together[best], areas[best])
    )
    return played[best][1], accuracy, area


def headline(
    played: Sequence[tuple[Play, Evaluation]],
    *,
    seed: int = 0,
    level: float = 0.95,
    share: float = 1.0,
    among: Sequence[tuple[Play, Evaluation]] | None = None,
) -> Headline:
    """Return the headline result, on which the verdict is based.

    Parameters
    ----------
    played : sequence of (Play, Evaluation)
        All attacks that were played, on the same rounds.
    seed : int
        Draws the records on which the attack behind epsilon is chosen.
    level : float
        In (0, 1).
    share : float
        Share of the error ``1 - level`` spent on these intervals, in (0, 1].
    among : sequence of (Play, Evaluation), optional
        All attacks, if `played` were chosen from them.

    Returns
    -------
    Headline
        The strongest attack, its intervals corrected for the choice (`simultaneous_level`); epsilon
        from an attack and threshold chosen on other records; the inverted attacks.
    """
    everything = played if among is None else among
    each = simultaneous_level([(p, e.roc) for p, e in everything], 1 - (1 - level) * share)
    best, accuracy, area = furthest_attack(played, level, each)
    # Another attack may have the better ranking. Intervals of each alone are narrower, so that few
    # of the costly corrected ones are needed.
    furthest = area.low
    for own, evaluation in sorted(played, key=lambda one: -one[1].auc.low):
        if evaluation.auc.low <= furthest:
            break
        furthest = max(furthest, auc(own.transcript, each, curve=evaluation.roc).low)
    bound, chosen = audit_epsilon([p.transcript for p, _ in played], level=level, seed=seed)
    decisions = played[0][0].decisions
    n_in, n_out = decisions.independent
    # Only half of the units are judged.
    limit = largest_certifiable_epsilon(n_in // 2, n_out // 2, level)
    scored = [(e.title, p.transcript) for p, e in played]
    turned = inverted_attacks(
        [x for x, (_, e) in zip(scored, played, strict=True) if e.auc.high < 0.5],
        level,
        looks=math.ceil(len(everything) / share),
    )
    # Looked for only if nothing else shows a leak: a leak needs no further evidence.
    if not turned and max(accuracy.low, area.low) <= 0.5 and bound.low <= 0:
        turned = inverted_at_one_end(scored, level, seed=seed)
    return Headline(
        attack=best,
        accuracy=accuracy,
        auc=area,
        epsilon=bound,
        epsilon_attack=played[chosen][1].title,
        epsilon_limit=limit,
        each=each,
        inverted=turned,
        auc_low=furthest,
    )


# Jointly valid intervals for the guesses and rankings of several attacks on the same records.


DRAWS = 50_000
"""Draws of the largest deviation; its 95% quantile is then accurate to 0.006 standard errors."""

_MOST_UNITS = 20_000
"""Most units from which correlations are estimated, a random sample if there are more; their error
is then at most 0.007."""

_FEWEST_UNITS = 20
"""Fewest units per side from which correlations are estimated; with fewer, Bonferroni is used."""


def simultaneous_level(played: Sequence[tuple[Play, Roc]], level: float = 0.95) -> float:
    """Return the level of each interval at which all accuracies and AUCs are jointly valid.

    Parameters
    ----------
    played : sequence of (Play, Roc)
        Attacks on the same rows, each with its ROC curve.
    level : float
        Joint level of the ``2 * len(played)`` intervals, in (0, 1).

    Returns
    -------
    float
        In [level, 1), at most Bonferroni's ``1 - (1 - level) / (2 * len(played))``.

    Notes
    -----
    Attacks on one model are strongly correlated, so Bonferroni's inequality is far too cautious. An
    accuracy is a mean over units, and so is an AUC in the limit of many units (with the placements
    of DeLong et al. 1988 as terms): together they are normal, with the correlations of these terms.
    The quantile of the largest deviation, in standard errors, replaces the quantile of a single one
    (the sup-t band of Montiel Olea & Plagborg-Moller 2019). Rows of one unit are summed first.
    """
    checks.level(level)
    n_results = 2 * len(played)
    apart = 1 - (1 - level) / n_results
    decisions = played[0][0].decisions
    unit = np.unique(decisions.unit, return_inverse=True)[1]
    secret = decisions.secret
    if min(checks.n_distinct(unit[side]) for side in (secret, ~secret)) < _FEWEST_UNITS:
        return apart
    # A fixed seed: the level is a property of the data, not of the audit's seed.
    rng = np.random.default_rng(0)
    n_units = int(unit.max()) + 1
    rows = np.arange(len(unit))
    if n_units > _MOST_UNITS:
        drawn = np.zeros(n_units, np.bool_)
        drawn[rng.choice(n_units, _MOST_UNITS, replace=False)] = True
        rows = np.flatnonzero(drawn[unit])
    terms = [term for one in played for term in _terms(*one, rows)]
    own = np.unique(unit[rows], return_inverse=True)[1]
    summed = np.column_stack([units.sums(own, term) for term in terms])
    scale = np.sqrt((summed**2).sum(axis=0))
    # A result without variance between units, such as a perfect ranking, has no correlations.
    varied = scale > 1e-9 * max(float(scale.max()), 1e-300)
    if not varied.any():
        return apart
    standard = summed[:, varied] / scale[varied]
    # Draws from the normal with this correlation matrix by its eigenvectors: unlike Cholesky's,
    # they exist for a singular matrix, as that of identical attacks.
    values, vectors = np.linalg.eigh(standard.T @ standard)
    draws = rng.standard_normal((DRAWS, len(values))) * np.sqrt(np.maximum(values, 0.0))
    largest = np.abs(draws @ vectors.T).max(axis=1)
    # Two-sided level of a single interval that is as wide as the quantile of the largest.
    together = 2 * float(norm.cdf(np.quantile(largest, level))) - 1
    constant = int(np.count_nonzero(~varied))
    # Results without variance take their Bonferroni share of the error.
    return float(np.clip(together - (1 - level) * constant / n_results, level, apart))


def _terms(play: Play, curve: Roc, rows: Ints) -> tuple[Floats, Floats]:
    """Return the influence of each row on an attack's accuracy and on its AUC, (r,) each."""
    guess = play.decisions.guess
    secret = play.decisions.secret
    score = play.transcript.score
    right = (guess == secret).astype(np.float64)[rows]
    score = score[rows]
    inside = secret[rows]
    # DeLong's placements: the share of the other side below a member, or, negated, below a
    # non-member, so that both raise the AUC.
    below = np.empty(len(rows))
    for side, others, sign in ((inside, curve.nonmembers, 1), (~inside, curve.members, -1)):
        places = [np.searchsorted(others, score[side], which) for which in ("left", "right")]
        below[side] = sign * (places[0] + places[1]) / (2 * len(others))
    # Centred within sides and scaled, so that sums over rows are errors of the estimates.
    for term in (right, below):
        for side in (inside, ~inside):
            term[side] = (term[side] - term[side].mean()) / np.count_nonzero(side)
    return right, below
