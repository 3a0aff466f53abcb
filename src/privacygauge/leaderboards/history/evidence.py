"""Evidence for a pattern in a history: p-values, accounts, and tail bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy
from scipy.special import gammaln

from privacygauge.core.checks import Bools, Ints

_FULL = 8
"""Largest group of accounts tried at every size; larger ones are tried at powers of two."""
_LOOKED_INTO = math.log(0.05)
"""Log p-value below which a group is reduced to the accounts that add to it."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """One test of one detector on one account, or on a group of them."""

    detector: Detector
    """The test, with its null hypothesis."""
    accounts: tuple[str, ...]
    """Accounts under suspicion; empty if no group stands out."""
    p_value: float
    """Upper bound on the probability of such submissions under the detector's null."""
    says: str
    """Counts behind the test, in a sentence."""
    rows: Ints = field(repr=False, default_factory=lambda: np.empty(0, np.int64))
    """Submissions behind the test, numbered in time from 0."""


def longest_run(flags: Bools) -> tuple[int, int]:
    """Return start and stop of the longest run of True; the first of equally long ones."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    starts = np.flatnonzero(edges == 1)
    stops = np.flatnonzero(edges == -1)
    if not len(starts):
        return 0, 0
    best = int(np.argmax(stops - starts))
    return int(starts[best]), int(stops[best])


def log_run_tail(run: int, trials: int, rate: float) -> float:
    """Return the log of a bound on the probability of a run of `run` successes.

    A run begins at the first trial or after a failure. By Boole's inequality, the bound is rate^run
    (1 + (trials - run)(1 - rate)) for independent trials that succeed with at most `rate`.
    """
    if run == 0:
        return 0.0
    return min(0.0, run * math.log(rate) + math.log1p((trials - run) * (1 - rate)))


def log_excess(flags: Bools, rate: float) -> float:
    """Return the log p-value of "each flag is True with probability at most `rate`".

    It is twice the smaller of the binomial tail and the tail of the longest run: the first detects
    flags spread over an account, the second a stretch within much else.
    """
    count = int(np.count_nonzero(flags))
    trials = len(flags)
    if count == 0:
        return 0.0
    start, stop = longest_run(flags)
    tails = (
        float(scipy.stats.binom.logsf(count - 1, trials, rate)),
        log_run_tail(stop - start, trials, rate),
    )
    return min(0.0, math.log(2) + min(tails))


def log_many(flags: Bools, rate: float) -> float:
    """Return the log binomial tail of "each flag is True with probability at most `rate`"."""
    count = int(np.count_nonzero(flags))
    return float(scipy.stats.binom.logsf(count - 1, len(flags), rate)) if count else 0.0


def probability(log_p: float) -> float:
    """Return exp of a log p-value, at most 1 and never so small that it is 0."""
    return min(1.0, max(math.exp(log_p), 1e-300))


def best_group(
    ranked: Sequence[int], log_p: Callable[[Sequence[int]], float], total: int
) -> tuple[Sequence[int], float]:
    """Return the group of two or more accounts that stands out most, and its log p-value.

    Parameters
    ----------
    ranked : sequence of int
        Accounts, the most suspicious first, ranked by the data; groups are its beginnings. If there
        are many, only some lengths are tried.
    log_p : callable
        Maps a group chosen beforehand to the log of its p-value.
    total : int
        Number of accounts to choose from.

    Notes
    -----
    The Bonferroni correction covers every group of the same size, C(total, g) of them, and all
    sizes. So the data may rank the accounts, and some may be taken out again.
    """

    def corrected(group: Sequence[int]) -> float:
        return math.log(total) + _log_choose(total, len(group)) + log_p(group)

    most = len(ranked)
    sizes = [g for g in range(2, most + 1) if g <= _FULL or g & (g - 1) == 0 or g == most]
    if not sizes:
        return (), 0.0
    group = min((tuple(ranked[:g]) for g in sizes), key=corrected)
    # Drop accounts that do not lower the p-value, so that bystanders are not accused.
    for code in group if corrected(group) < _LOOKED_INTO else ():
        without = tuple(other for other in group if other != code)
        if len(without) > 1 and log_p(without) <= log_p(group):
            group = without
    return group, min(0.0, corrected(group))


def _log_choose(total: int, some: int) -> float:
    return float(gammaln(total + 1) - gammaln(some + 1) - gammaln(total - some + 1))


@dataclass(frozen=True)
class Detector:
    """A test of a history, in words."""

    name: str
    """Name in the results."""
    title: str
    """Title for a heading."""
    needs: str
    """Data that the history must hold besides times, accounts and scores; empty if none."""
    null: str
    """Null hypothesis of honest play; the p-value is valid under it and anything further away."""
    limits: str
    """Other causes of a finding, and cheating that escapes the test."""


SCORE_SCAN = Detector(
    "score-scan",
    "Scores that move by single points",
    needs="exact scores",
    null=(
        "Where a submission changes the score of the one before it, of the best of the account's "
        "last sixteen or of all its earlier ones, or of a fixed base, which need not be "
        "submitted, it does so by exactly one right answer at most 78 times in 100: as where one "
        "answer turns right or wrong on average (Skellam). Steps of zero are left out. The score "
        "must change seven times in the run, rise no more often than blind changes do, and no step "
        "may repeat the one before more often than in a random order. From the one before the rate "
        "is that of steps of which as many are zero (Skellam)."
    ),
    limits=(
        "Runs of tuning in which less than one answer turns right or wrong each time look the "
        "same, and so do two files, two right answers apart, that are sent again and again in no "
        "order. Left out where answers are available: they show the changes themselves."
    ),
)
CHANCE_SCORES = Detector(
    "chance-scores",
    "Scores as of random labels",
    needs="the number of classes",
    null=(
        "At most half of an account's submissions score within 3.3 standard deviations of 1/m (of "
        "areas under the curve, 1/2), or where at least five accounts exceed that and send other "
        "submissions too, the share that three in four of them keep to, up to two thirds. One file "
        "for each class counts for nothing. Their mean must be at 1/m and their spread binomial, "
        "no wider and no narrower, and no score may follow from those before: the scores of one "
        "weak model lie closer together, or rise, so that a hard task is not taken for an attack. "
        "Where answers are kept, files that agree with others beyond chance are not at chance. "
        "Where they are not, files that have a third of their answers in common beyond chance, "
        "each with the one before or all with one another, are not random either: about a "
        "hundred scores at chance, or more, exclude it."
    ),
    limits=(
        "A broken pipeline that submits again and again scores like this too, and so does a team "
        "whose models know nothing yet and hardly agree: scores alone cannot tell them from random "
        "labels."
    ),
)
SCAN = Detector(
    "one-label-scan",
    "One label changed at a time",
    needs="answers",
    null=(
        "At most three quarters of the submissions differ from the nearest earlier one in just "
        "one or two labels, as where tuning moves 1.6 labels on average, or in the number of "
        "labels that is the account's most frequent one. Resubmissions are left out."
    ),
    limits=(
        "Tuning that moves a single label each time, or always as many, thirty times in a row, "
        "looks the same, and tells as much about the labels. Blocks of unequal size are not found."
    ),
)
RANDOM = Detector(
    "random-answers",
    "Random answers",
    needs="answers and the number of classes",
    null=(
        "At most a tenth of the submissions score within 3.3 standard deviations of 1/m and agree "
        "with the others that do, and with the majority of other accounts' models, in no more than "
        "1/m of the points; or half of them where labels are drawn by their own frequencies, as "
        "baselines do. Where at least five accounts exceed that, and send other submissions too, "
        "they follow a custom: the share that three in four of them keep to, up to two thirds. "
        "Their mean and spread must be those of random labels, and all of the account's files near "
        "chance together must be right, and agree with others' models, no more often than those."
    ),
    limits=(
        "Whoever submits random files for no purpose is found as well. Many accounts that each "
        "send no more of them than a custom could not have been seen, but for an answer that "
        "follows their scores."
    ),
)
COINS = Detector(
    "random-changes",
    "Random changes of a common base",
    needs="answers",
    null=(
        "At most a quarter of the submissions are as unpredictable as coin flips: on the points "
        "where the twelve submissions of the account around it disagree, the most frequent answer "
        "of those is right about it no more often than a guess among theirs. Honest models "
        "disagree at some points far more than at others, which makes them predictable. Points on "
        "which three in four of the other accounts waver likewise are ties of the task, and "
        "accuse nobody. Where an account's files know nothing of the other points, such as one "
        "label everywhere but on a few, as many of them are judged together as have fifty of these "
        "points. Files that are right more often than chance, and agree at some points more than "
        "at others beyond what draws would, are weak models."
    ),
    limits="A model that breaks many ties at random does the same where no others do.",
)
FLIPS = Detector(
    "random-flips",
    "Random flips of a model",
    needs="answers and labels",
    null=(
        "At most a quarter of the submissions change the majority of the account's others around "
        "them as chance would: no more often where those change it too, and no more often where "
        "it is wrong. Honest models waver on hard points, and there the majority is wrong more "
        "often. Ties that most other accounts break at random too accuse nobody."
    ),
    limits=(
        "Noise that is added to a model's labels, as some privacy defences do, is the same. Flips "
        "of more than a third of the points hide the base: they are random changes."
    ),
)
VOTE = Detector(
    "vote",
    "An answer that follows the scores of random queries",
    needs="answers",
    null=(
        "An answer that owes nothing to the scores of random queries agrees with each of them by "
        "as much more as it scores more, at most: slope 1, or (m a - 1)/(m - 1) for queries that "
        "are random throughout and an answer of accuracy a."
    ),
    limits="It looks only at an account's ten best answers, after twenty or more random queries.",
)
OTHERS_VOTE = Detector(
    "vote-of-others",
    "An answer that follows the scores of other accounts' random queries",
    needs="answers",
    null="As for the vote, with the queries of other accounts alone.",
    limits="The strongest sign that accounts share what they learn; it does not say who they are.",
)
SETTLED = Detector(
    "settled-points",
    "An answer that is best where the account kept changing its mind",
    needs="answers and labels",
    null=(
        "On points where at least a quarter of an account's earlier submissions contradict the "
        "others, its best answer is right no more often than where all of them agree, or than "
        "their majority, or than the best of them: what models disagree on is hard. An answer "
        "that changes more than one in fifty of the points where all agree is another model, and "
        "left out; so are earlier files three times as far from the majority as usual. Where all "
        "agree and the answer knows nothing, but four in five of the contested points, it may be "
        "no better than the best of them. Other "
        "accounts' files that are as near to it as the account's own count with them."
    ),
    limits="Contested points that get easy at once, after a mended mistake, may look the same.",
)
LINEAGE = Detector(
    "shared-lineage",
    "Two accounts that continue each other's work",
    needs="answers",
    null=(
        "Of either account, at most half of the submissions are less than half as far from an "
        "earlier one of the other account as from every earlier one of their own. Equal files do "
        "not count, and both directions are needed: who copies a public baseline is not copied "
        "back."
    ),
    limits="Colleagues who share one code base look the same.",
)
FINAL_GAP = Detector(
    "final-gap",
    "A public score that rose away from the private one",
    needs="private scores and the sizes of both parts",
    null=(
        "A team's k submissions were not made from scores: beside the other teams, for whom the "
        "private part may be as much harder, the one that is judged scores higher in public by "
        "luck, and because it was chosen among k, which differ at most as their private scores "
        "do; and a tenth of the submissions do by luck alone. By losses, areas and other scores "
        "whose variance is only bounded, luck is what sets the other teams' gaps apart, and their "
        "gaps from what is usual for each. Or the private part is harder for "
        "this team: then the gap is the same from one submission on, and does not grow all along."
    ),
    limits=(
        "Climbing on the public score is found, whatever it was meant for; not where most teams "
        "do it, nor in fewer than forty submissions. A team that relies more and more on what did "
        "not last looks the same: unless both parts were drawn at random, ask what it added before "
        "you believe in a climb."
    ),
)
WIDE_GAP = Detector(
    "wide-gap",
    "A public score that the private one does not bear out",
    needs="private scores and the sizes of both parts",
    null=(
        "The gap of the submission that a team is judged by is as the other teams', but for luck "
        "and for what choosing among its submissions gains. By losses, areas and other scores "
        "whose variance is only bounded, luck is what sets the other teams' gaps apart."
    ),
    limits=(
        "A private part that is harder for some teams than for others, such as a later month in "
        "which a feature of theirs means something else, looks like this, and so does whoever "
        "made the last submission from the scores of others. If both parts were drawn at random, "
        "only the second is left."
    ),
)
PRIVATE_LEAD = Detector(
    "private-lead",
    "A private score that the public one does not bear out",
    needs="private scores and the sizes of both parts",
    null=(
        "The private score of the submission that a team is judged by is above the public one as "
        "the other teams' are, but for luck."
    ),
    limits=(
        "Whoever knows private labels looks like this, and so does a method that suits the private "
        "part, such as a later month, better than the others do."
    ),
)
NEAR_PERFECT = Detector(
    "near-perfect",
    "Far fewer errors than anybody else",
    needs="",
    null=(
        "The errors of the accounts' best submissions fall off like a power: each step from one "
        "account to the next better one, times its place, is then as large as any other on average "
        "(Renyi); and the board improves at once by no more than others improve by their own best. "
        "Or a new method leaves more than a fifteenth of the errors, or is wrong on more than two "
        "points in a thousand, or on 0.65% as far as counting tells (on fewer than 460 points "
        "nothing excludes it); of losses it leaves more than a thirtieth."
    ),
    limits=(
        "Labels that got out look like this; so does a true breakthrough to hardly any error, or "
        "data that others did not have."
    ),
)
LEAP = Detector(
    "leap",
    "A leap far beyond all others",
    needs="",
    null=(
        "The errors of the accounts' best submissions fall off like a power, and the board "
        "improves at once by no more than others improve by their own best; or at least half "
        "of the next account's errors are left, of squared ones too, or by the last of j accounts "
        "two thirds, or by the best of them one in 2 j (up to ten accounts); or by more than ten "
        "accounts on average more than two answers in a thousand, or by the last of them a "
        "fifteenth (of losses a thirtieth); or so few errors are luck, as far as counting tells."
    ),
    limits=(
        "A new method, or better data, leaps like this, and so does whoever knows most of the "
        "labels, alone or with others: nothing on the board tells which. Where many leap together, "
        "ask first whether the labels, or what gives them away, went round. Ask how the submission "
        "was made, and score it on points that were never on the board."
    ),
)
AT_CHANCE = Detector(
    "at-chance",
    "Scores that spread as chance would",
    needs="the number of classes",
    null=(
        "At most half of an account's submissions score as random labels do, with their mean and "
        "spread, and no score that clearly follows from those before; or what accounts that send "
        "other submissions too have for a custom. Where answers are kept, the null is that of "
        "random answers, for accounts whose files near chance know something together."
    ),
    limits=(
        "Files of a model that has learnt nothing score like this as random labels do, and the "
        "scores are too few to tell them apart: look whether these files are random."
    ),
)
ONE_LEVEL = Detector(
    "one-level",
    "Scores that spread around one level as draws would",
    needs="the number of classes",
    null=(
        "At most half of an account's submissions score around one level, other than 1/m, spread "
        "as independent draws of labels do, and do not follow from those before; or they have a "
        "third of their answers in common, or more. Where the labels are known, the level says "
        "with which frequencies they would have been drawn, and so how far they spread. Where not, "
        "a hundred files or more, below all other accounts, have half of their answers in common."
    ),
    limits=(
        "Labels that are drawn at random by the frequencies of the classes look like this, and so "
        "do many weak models that hardly agree, such as a random search that finds nothing: look "
        "whether these files are random."
    ),
)
BLIND_LOSSES = Detector(
    "blind-losses",
    "Losses as of random files",
    needs="log-losses or Brier scores with the number of classes, or errors of a known range",
    null=(
        "At most half of an account's submissions lose as much as files of random probabilities, "
        "drawn uniformly, do on average; or as uniform numbers, where the hidden ones are at the "
        "ends of the range. Their losses spread as those of such files do, no wider and no "
        "narrower, and none follows from those before."
    ),
    limits=(
        "A model that knows nothing, is too sure of itself and is drawn again each time looks like "
        "this. Random files that are drawn otherwise are not seen."
    ),
)
BLOCK_SCAN = Detector(
    "block-scan",
    "Scores that move in steps of one parity",
    needs="exact scores of two classes",
    null=(
        "Where an account's score moves by at most a few answers, it moves by an even number from "
        "the one before, or by an odd number of at least three from the best so far, at most six "
        "times in ten. Where blocks of one size are changed in a fixed base, it always does."
    ),
    limits=(
        "Answers with a fixed number of positives, and points that stand in the test set twice, "
        "move like this too: scores alone cannot tell which. With answers the changes are seen."
    ),
)
SINGLE_CHANGES = Detector(
    "single-changes",
    "One label of a file changed at a time, never the same twice",
    needs="answers",
    null=(
        "An account's changes of one label of one file fall on independent points: some point "
        "comes up again as often as in draws with equal probability, or more often."
    ),
    limits=(
        "A scan of the labels looks like this, also between other submissions; so does whoever "
        "checks doubtful answers one after the other."
    ),
)
BLIND_CHANGES = Detector(
    "blind-changes",
    "Small changes of the best file that do not know where it is wrong",
    needs="answers and labels",
    null=(
        "Of the labels that an account's submissions change in its best one before them, up to a "
        "tenth of the points at a time, more are wrong than among all of its labels: a third of "
        "the way to a half. What is doubtful to a model is wrong about as often as right. Each "
        "point counts once."
    ),
    limits=(
        "Climbing by random changes looks like this, and so do noise that is added to a model's "
        "labels, and trials of one group of points after the other, such as an ablation."
    ),
)
WALK = Detector(
    "random-walk",
    "Files at chance that follow from each other",
    needs="answers and the number of classes",
    null=(
        "At most half of an account's submissions, or what accounts that send other submissions "
        "too have for a custom, are right, and agree with others' models, as often as random "
        "labels; or twenty or more are so, and better on average by half a standard deviation."
    ),
    limits=(
        "Random labels of which each file redraws some look like this, and so does one model that "
        "has learnt nothing and is sent again and again."
    ),
)
TIES = Detector(
    "random-ties",
    "Random flips of labels that others waver on too",
    needs="answers and labels",
    null=(
        "As for random flips of a model, where most other accounts waver on the same points, but "
        "not at random: at most half of all accounts change their models as chance would."
    ),
    limits=(
        "Groups of doubtful labels that are flipped to learn from the scores look like this, and "
        "so does a model that breaks its ties at random."
    ),
)
ALL = (
    SCORE_SCAN,
    CHANCE_SCORES,
    SCAN,
    RANDOM,
    COINS,
    FLIPS,
    VOTE,
    OTHERS_VOTE,
    SETTLED,
    LINEAGE,
    FINAL_GAP,
    NEAR_PERFECT,
)
"""All detectors, in the order of the report."""
UNDECIDED = (
    LEAP,
    AT_CHANCE,
    ONE_LEVEL,
    BLIND_LOSSES,
    BLOCK_SCAN,
    WIDE_GAP,
    PRIVATE_LEAD,
    SINGLE_CHANGES,
    BLIND_CHANGES,
    WALK,
    TIES,
)
"""Detectors whose evidence has an honest cause as likely as a cheat: worth a look, no finding."""
