"""The detectors by name: what each tests, against which null, and what it cannot tell."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Detector:
    """A test of a history, in words."""

    name: str
    """As in the results."""
    title: str
    """For a heading."""
    needs: str
    """What the history has to hold beside times, accounts and scores; empty for nothing."""
    null: str
    """What is taken for honest: the p-value holds for it and for all that is further away."""
    limits: str
    """What a finding may come from besides, and what escapes."""


SCORE_SCAN = Detector(
    "score-scan",
    "Scores that move by single points",
    "exact scores",
    "Where a submission changes the score of the one before it, of the best of the account's last "
    "sixteen, or of a fixed base, it does so by exactly one right answer at most 78 times in 100: "
    "as where one answer turns right or wrong on average (Skellam). Steps of zero are left out.",
    "Runs of tuning in which less than one answer turns right or wrong each time look the same. "
    "Left out where answers are available: they show the changes themselves.",
)
CHANCE_SCORES = Detector(
    "chance-scores",
    "Scores as of random labels",
    "the number of classes",
    "At most half of an account's submissions score within 3.3 standard deviations of 1/m. Their "
    "spread must be no wider than binomial; and unless most accounts are far above 1/m, their mean "
    "must be at 1/m as well, so that a hard task is not taken for an attack.",
    "A broken pipeline that submits again and again scores like this too.",
)
SCAN = Detector(
    "one-label-scan",
    "One label changed at a time",
    "answers",
    "At most three quarters of the submissions differ from the nearest earlier one in just one or "
    "two labels: so does tuning that moves 1.6 labels on average. Resubmissions are left out.",
    "Tuning that moves a single label each time, thirty times in a row, looks the same, and "
    "tells as much about the labels.",
)
RANDOM = Detector(
    "random-answers",
    "Random answers",
    "answers and the number of classes",
    "At most a tenth of the submissions score within 3.3 standard deviations of 1/m and agree "
    "with the others that do in no more than 1/m of the points. Their mean and spread must "
    "be those of random labels, as for the scores.",
    "Whoever submits random files for no purpose is found as well.",
)
COINS = Detector(
    "random-changes",
    "Random changes of a common base",
    "answers",
    "At most a quarter of the submissions are as unpredictable as coin flips: on the points where "
    "the twelve submissions of the account around it disagree, the most frequent answer of those "
    "is right about it no more often than a guess among theirs. Honest models disagree at "
    "some points far more than at others, which makes them predictable.",
    "A model that breaks many ties at random does the same.",
)
FLIPS = Detector(
    "random-flips",
    "Random flips of a model",
    "answers and labels",
    "At most a quarter of the submissions change the majority of the account's others around them "
    "as chance would: no more often where those change it too, and no more often where it is "
    "wrong. Honest models waver on hard points, and there the majority is wrong more often.",
    "Noise that is added to a model's labels, as some privacy defences do, is the same. Flips of "
    "more than a third of the points hide the base: they are random changes.",
)
VOTE = Detector(
    "vote",
    "An answer that follows the scores of random queries",
    "answers",
    "An answer that owes nothing to the scores of random queries agrees with each of them by as "
    "much more as it scores more, at most: slope 1, or (m a - 1)/(m - 1) for queries that are "
    "random throughout and an answer of accuracy a.",
    "It looks only at an account's ten best answers, after twenty or more random queries.",
)
OTHERS_VOTE = Detector(
    "vote-of-others",
    "An answer that follows the scores of other accounts' random queries",
    "answers",
    "As for the vote, with the queries of other accounts alone.",
    "The strongest sign that accounts share what they learn; it does not say who they are.",
)
SETTLED = Detector(
    "settled-points",
    "An answer that is best where the account kept changing its mind",
    "answers and labels",
    "On points where at least a quarter of an account's earlier submissions contradict the others, "
    "its best answer is right no more often than where all of them agree, or than their majority, "
    "or than the best of them: what models disagree on is hard. An answer that changes more than "
    "one in fifty of the points where all agree is another model, and left out; so are earlier "
    "files three times as far from the majority as usual. Other accounts' files that are as near "
    "to it as the account's own count with them.",
    "Contested points that get easy at once, after a mended mistake, may look the same.",
)
LINEAGE = Detector(
    "shared-lineage",
    "Two accounts that continue each other's work",
    "answers",
    "Of either account, at most half of the submissions are less than half as far from an earlier "
    "one of the other account as from every earlier one of their own. Equal files do not count, "
    "and both directions are needed: who copies a public baseline is not copied back.",
    "Colleagues who share one code base look the same.",
)
FINAL_GAP = Detector(
    "final-gap",
    "A public score that the private one does not bear out",
    "private scores and the sizes of both parts",
    "The points were split at random, and a team's k submissions were not made from scores: the "
    "one that is judged scores higher in public by luck, and because it was chosen among k.",
    "Climbing on the public score is found, whatever it was meant for. So is a part of points "
    "that was not drawn at random, such as a later month: then most teams have such a gap.",
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
)
"""In the order of the report."""
