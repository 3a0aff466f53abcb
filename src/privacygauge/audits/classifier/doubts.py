"""Why predictions may not be what they are said to be: then finding no leak shows nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.signals import gains
from privacygauge.core.game import Round, Shadow
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate.rates import mean
from privacygauge.evaluate.roc import auc
from privacygauge.report import direction
from privacygauge.report.grades import UNTOLD
from privacygauge.report.numbers import decimal_estimate, fixed
from privacygauge.report.values import Verdict

HEADLINE = "Cannot be told: no leak was found, but the predictions may not be what they should be"
"""The verdict in one line."""

ADVICE = (
    "Check that predictions, labels and membership are in one order of records, and that the "
    "predictions' columns are in the order of the classes.",
    "Check that the membership is that of this very model, and that shadow models are trained and "
    "asked exactly as it is, with its defence if it has one.",
    "Audit again: this audit supports no decision about a release.",
)
"""What to do next, the most urgent first."""

_COMPARED = "confidence"
"""The signal by which the target is compared with shadow models: it needs no threshold."""


def verdict(doubts: tuple[str, ...]) -> Verdict:
    """Return the verdict where no leak was found, but there are doubts."""
    return Verdict(UNTOLD, (UNTOLD,), HEADLINE, doubts, direction.OPEN, ADVICE)


def doubts(
    rounds: Sequence[Round], target: Predictions, level: float, *, has_shadow: bool
) -> Iterator[str]:
    """Yield what speaks against the predictions, in sentences."""
    yield from of_classes(target, level)
    shadow = rounds[0].observation.shadow
    if has_shadow and shadow is not None:
        yield from _of_shadows(rounds, shadow, level)


def of_classes(target: Predictions, level: float) -> Iterator[str]:
    """Yield what speaks against the order of the records or of the predictions' columns."""
    if (target.labels == target.labels[0]).all():
        return
    gain, claimed = gains(target)
    found = mean(gain, level, unit="records", owner=target.unit)
    if found.low <= 0 and found.high < claimed / 4:
        yield (
            "The target does not know its classes: it gives a record's class a probability that is "
            f"{decimal_estimate(found)} above the mean over all records, where its own certainty "
            f"claims {fixed(claimed, 3)}. Most likely labels and predictions are of different "
            "records, or the predictions' columns are in another order than the classes"
        )


def _of_shadows(rounds: Sequence[Round], shadow: Shadow, level: float) -> Iterator[str]:
    known = [shadow.signals, *(r.observation.signals for r in rounds)]
    if not all(_COMPARED in signals for signals in known):
        return
    seen = np.concatenate([signals[_COMPARED] for signals in known[1:]])
    secret, unit = (np.concatenate([getattr(r, x) for r in rounds]) for x in ("secret", "unit"))
    ours = auc(Transcript(seen, secret, unit=unit), level)
    theirs = auc(Transcript(shadow.signals[_COMPARED], shadow.member, unit=shadow.unit), level)
    if theirs.low > max(0.5, ours.high):
        yield (
            "Shadow models give their members away, the target does not: the area under the ROC "
            f"curve of the {_COMPARED} is {decimal_estimate(theirs)} for them and "
            f"{decimal_estimate(ours)} for it. Most likely the membership is that of another "
            "model, or the target was trained or asked in another way than they were"
        )
