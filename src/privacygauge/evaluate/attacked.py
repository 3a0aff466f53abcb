"""Attacks played on dealt rounds, with the answers to all questions that a verdict weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Play, Round, play
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.detectable import AVERAGE_SHARE, SHARE
from privacygauge.evaluate.evaluation import Evaluation, title
from privacygauge.evaluate.fairness import FEWEST, Comparison
from privacygauge.evaluate.group_ranks import ranked_groups
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.over_targets import Foretold, SeveralTargets
from privacygauge.evaluate.played import Questions, answer_questions
from privacygauge.evaluate.playing import (
    audit,
    headline,
    in_file_order,
    played_of,
    risk_of,
    telling,
)
from privacygauge.evaluate.risk import Risk
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.slices import SliceTable, find_slices
from privacygauge.evaluate.tail import Tail, tail
from privacygauge.evaluate.vulnerability import Vulnerability, vulnerability

HANDICAP = 8.0
"""Factor on the p-values about few records and groups, for attacks that learn per class or more
than a threshold: chance effects in their training hide a few exposed records."""


@dataclass(frozen=True, eq=False, repr=False)
class AttackFindings:
    """Results of all attacks on one classifier."""

    evaluations: tuple[Evaluation, ...]
    """One per attack, in the order of the suite."""
    headline: Headline
    """The result that the verdict is about."""
    risk: Risk
    """The privacy risk score."""
    slices: SliceTable
    """Exposure of groups of records."""
    facts: tuple[Fact, ...]
    """Facts about the release."""
    targets: SeveralTargets | None = None
    """The same attacks on further targets, if a half-width was asked for."""
    more_models: tuple[Foretold, ...] = ()
    """Predicted results of attacks with more shadow models, where the present ones allow it."""
    comparison: Comparison | None = None
    """The records on which members and non-members were compared; None without a comparison."""
    questions: Questions | None = None
    """The answers about few records and about groups, with the power to detect them; None where
    only the average was asked for."""
    unmatched: Headline | None = None
    """Headline on all records, if some were left out because of a column that may have been made
    from the answers; otherwise None."""
    alike: AttackFindings | None = None
    """Findings on the records that are alike in the columns that may explain the answers
    (`Comparison.suspects`); None without any."""
    alone_auc: Estimate | None = None
    """AUC of the attack that best tells members whom no non-member is like from all non-members, if
    they score higher for certain; otherwise None."""
    unmatched_few: Tail | None = None
    """The few members that stand out among all records, if most of them were left out because no
    non-member is like them; otherwise None."""


@dataclass(frozen=True, eq=False)
class PlayedAttacks:
    """Results over all records, and scores record by record."""

    found: AttackFindings
    """Results over all records."""
    scores: Mapping[str, Floats]
    """Attack title to (n,) scores, in the order of the file; higher = more likely a member."""
    guesses: Mapping[str, Bools]
    """Attack title to (n,) guesses, in the order of the file."""
    risk: Floats
    """(n,) Privacy risk scores, in [0, 1]."""
    vulnerability: Vulnerability | None
    """Comparison of models with and without each record; None where there were none."""
    skipped: tuple[Skipped, ...]
    """Attacks that were skipped, with reasons."""
    warnings: tuple[str, ...]
    """Caveats for the reader."""


@dataclass(frozen=True, eq=False)
class Suite:
    """The attacks of an audit, all chosen before anything is measured."""

    attacks: Sequence[Attack]
    """Attacks to play."""
    sliced: Attack
    """Attack whose guesses are counted in each group; it must be playable."""
    risk: Attack
    """Privacy risk score of single records, such as `RiskScore`; it must be playable."""
    taught: tuple[str, ...] = ()
    """Names of the attacks that learn more than a threshold from known membership."""
    share: float = AVERAGE_SHARE
    """Share of the verdict's error spent on the average, as in `headline`."""
    way_out: str = "give at least one that fits predictions"
    """Advice where no attack can be played."""


def attack_rounds(
    rounds: Sequence[Round],
    suite: Suite,
    groups: Mapping[str, NDArray[Any]],
    strata: Ints,
    comparison: Comparison,
    seed: int,
    level: float,
    *,
    facts: tuple[Fact, ...] = (),
) -> PlayedAttacks:
    """Return the results of a suite of attacks on rounds that are already dealt.

    Parameters
    ----------
    rounds : sequence of Round
        Together they hold each target once.
    suite : Suite
    groups : mapping of str to ndarray, shape (n,)
        Columns of groups to evaluate.
    strata : ndarray of int, shape (n,)
        Class of each target, in which risk scores are described.
    comparison : Comparison
        The records on which members and non-members are compared; all records get scores.
    seed : int
    level : float
        In (0, 1).
    facts : tuple of Fact
        Facts about the release.
    """
    attacks = suite.attacks
    compared = comparison.compared
    results = telling(audit(rounds, attacks, compared=compared, seed=seed, level=level))
    played = played_of(results, suite.way_out)
    risk, risks = risk_of(
        rounds, suite.risk, labels=strata, seed=seed, level=level, compared=compared
    )
    best = headline(played, seed=seed, level=level, share=suite.share)
    # A doubtful column may have been made from the answers: matching on it would remove the leak.
    unmatched = None
    if comparison.doubtful:
        unmatched = headline(
            played_of(telling(audit(rounds, attacks, seed=seed, level=level)), suite.way_out),
            seed=seed,
            level=level,
            share=suite.share,
        )
    # What a suspect column "explains" may be the leak itself, or no leak: both are measured.
    alike = None
    if comparison.told and comparison.alike is not None:
        on_these = replace(
            comparison, compared=comparison.alike, doubtful=(), suspects=(), alike=None
        )
        alike = attack_rounds(
            rounds, suite, groups, strata=strata, comparison=on_these, seed=seed, level=level
        ).found
    transcripts = [(evaluation.title, result.transcript) for result, evaluation in played]
    handicaps = {
        one.title: HANDICAP
        for _, one in played
        if one.thresholds == "per-class" or one.name in suite.taught
    }
    rngs = [seeds.stream(seed, "slices", number) for number in range(len(rounds))]
    whole = play(suite.sliced, rounds, rngs)
    assert isinstance(whole, Play)
    sliced = whole.on(compared)
    # Groups in the row order of this attack's decisions, and in that of the other transcripts.
    judged, ranked = (
        {name: values[order] for name, values in groups.items()}
        for order in (sliced.transcript.target, transcripts[0][1].target)
    )
    rng = seeds.stream(seed, "group ranks")
    # Groups get a quarter of the verdict's error rate.
    rankings = ranked_groups(
        transcripts,
        ranked,
        rng,
        1 - SHARE * (1 - level),
        handicaps=handicaps,
        fixed=[
            one.title
            for _, one in played
            if one.thresholds == "global" and one.name not in suite.taught
        ],
    )
    of_slices = title(suite.sliced.name, suite.sliced.variant, suite.sliced.thresholds)
    table = find_slices(sliced.decisions, judged, attack=of_slices, level=level, ranked=rankings)
    questions = answer_questions(
        transcripts,
        table,
        rng=seeds.stream(seed, "few records"),
        each=best.each,
        level=level,
        handicaps=handicaps,
    )
    scores = {}
    guesses = {}
    for result, evaluation in played:
        # All records get a score, also those that the comparison leaves out.
        everything = result.everything
        order = everything.transcript.target
        scores[evaluation.title] = in_file_order(everything.transcript.score, order)
        guesses[evaluation.title] = in_file_order(everything.decisions.guess, order)
    left_out = (result for result in results if isinstance(result, Skipped))
    rmse = risk.reliability.rmse
    noise = risk.reliability.noise
    # Even a calibrated score of finitely many records is off by the noise.
    uncalibrated = []
    if rmse.low > noise + 0.05:
        uncalibrated = [
            f"the privacy risk score is off by {rmse.value:.2f} on average ({rmse.low:.2f} to "
            f"{rmse.high:.2f}; chance alone gives {noise:.2f}): read it as a ranking of the "
            "records, not as a probability"
        ]
    # A few members that stand out among all records count if most of them resemble no non-member.
    few = None
    if comparison.alone is not None and comparison.alone.any():
        standing = tail(
            [(one.title, result.everything.transcript) for result, one in played],
            seeds.stream(seed, "few of all records"),
            1 - SHARE * (1 - level),
            handicaps=handicaps,
        )
        if standing is not None and standing.shown:
            first = np.argsort(-scores[standing.attack], kind="stable")[: standing.top]
            few = standing if np.mean(comparison.alone[first]) >= 0.5 else None
    # Others than the few that stand out may be known, too, and are compared with nobody.
    alone_auc = None
    if comparison.alone is not None and np.count_nonzero(comparison.alone) >= FEWEST:
        areas = []
        for result, _ in played:
            everybody = result.everything.transcript
            rows = comparison.alone[everybody.target] | ~everybody.secret
            seen = Transcript(
                everybody.score[rows], everybody.secret[rows], unit=everybody.unit[rows]
            )
            share = SHARE * (1 - level) / len(played)
            if comparison.alone_beyond_trend(everybody, 1 - share):
                areas.append(auc(seen, 1 - share))
        highest = max(areas, key=lambda area: area.low, default=None)
        alone_auc = highest if highest is not None and highest.low > 0.5 else None
    leading = played[0][1]
    rates = ", ".join(f"{100 * r.fpr:g}%" for r in leading.tpr_at_fpr if not r.resolved)
    told = (
        f"{leading.n_out:,} non-members cannot resolve a false-positive rate of {rates}: fewer "
        "than 10 false positives are expected there, and the intervals are wide"
    )
    return PlayedAttacks(
        found=AttackFindings(
            evaluations=tuple(evaluation for _, evaluation in played),
            headline=best,
            risk=risk,
            slices=table,
            facts=facts,
            comparison=comparison,
            questions=questions,
            unmatched=unmatched,
            alike=alike,
            alone_auc=alone_auc,
            unmatched_few=few,
        ),
        scores=scores,
        guesses=guesses,
        risk=risks,
        vulnerability=vulnerability(rounds, attacks, seeds.stream(seed, "vulnerability"), level),
        skipped=tuple(left_out),
        warnings=(
            *([told] if rates else []),
            *uncalibrated,
        ),
    )
