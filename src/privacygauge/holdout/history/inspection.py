"""Everything that is looked for in a history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.holdout.history import answers as by_answers
from privacygauge.holdout.history import votes
from privacygauge.holdout.history.detectors import ALL, SCORE_SCAN
from privacygauge.holdout.history.evidence import Evidence
from privacygauge.holdout.history.flips import random_flips
from privacygauge.holdout.history.nearness import Nearness, nearness
from privacygauge.holdout.history.overfitting import final_gaps
from privacygauge.holdout.history.record import History
from privacygauge.holdout.history.scores import chance_scores, score_scan


@dataclass(frozen=True, eq=False)
class Inspection:
    """What every detector says, uncorrected, and what could not be looked for."""

    evidence: tuple[Evidence, ...]
    """One a test; p-values are not yet corrected for their number."""
    skipped: tuple[Skipped, ...]
    """Detectors that the history holds too little for."""
    near: Nearness | None
    """What the answers have in common; None where there are none."""


def inspect(history: History, rng: np.random.Generator) -> Inspection:
    """Return the evidence of every detector that the history holds enough for.

    Parameters
    ----------
    history : History
    rng : numpy.random.Generator
        Draws the points on which all submissions are compared, where there are many.
    """
    if history.answers is None:
        parts = [score_scan(history), chance_scores(history), final_gaps(history)]
        absent = [Skipped(d.title, by_answers.NO_ANSWERS) for d in ALL if "answers" in d.needs]
        return _gathered([*parts, *absent], None)
    near = nearness(history, rng)
    flips = by_answers.coins(history, near)
    throughout = np.zeros(len(history), np.bool_)
    if history.n_classes is not None and history.counted:
        throughout = by_answers.random_rows(history, near)
    return _gathered(
        [
            Skipped(SCORE_SCAN.title, "the answers show more: one label changed at a time"),
            chance_scores(history),
            final_gaps(history),
            by_answers.one_label_scan(history, near),
            by_answers.random_answers(history, near),
            by_answers.random_changes(history, near, flips),
            random_flips(history, near),
            votes.votes(history, near, throughout | flips.flags, throughout),
            votes.settled_points(history, near),
            by_answers.shared_lineage(history, near),
        ],
        near,
    )


def _gathered(parts: list[tuple[Evidence, ...] | Skipped], near: Nearness | None) -> Inspection:
    skipped = tuple(part for part in parts if isinstance(part, Skipped))
    found = tuple(x for part in parts if not isinstance(part, Skipped) for x in part)
    return Inspection(found, skipped, near)
