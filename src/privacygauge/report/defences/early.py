"""Defences at training beside early stopping: in words, for tables and for the plot."""

from __future__ import annotations

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.claim import PrivacyClaim
from privacygauge.report.defences.findings import AfterEpoch, ComparedDefence, ComparedDefences
from privacygauge.report.numbers import DASH, Shown, percent, percent_estimate, plain, rounded_up


def at_training(f: ComparedDefences) -> tuple[ComparedDefence, ...]:
    """Return the defences that trained a model anew."""
    return tuple(c for c in f.compared if c.at_training)


def stopped_shown(c: ComparedDefence) -> Shown:
    """Return what early stopping at the same accuracy leaves; a dash where there is no such."""
    if isinstance(c.stopped, AfterEpoch):
        return percent_estimate(c.stopped.best.accuracy, 1)
    return Shown(DASH)


def epoch_shown(c: ComparedDefence) -> str:
    """Return after which epoch that is, or why there is none."""
    if isinstance(c.stopped, AfterEpoch):
        accuracy = percent(c.stopped.accuracy.value)
        return f"after epoch {c.stopped.epoch}, model right {accuracy}"
    return "no epoch is as accurate" if isinstance(c.stopped, Skipped) else ""


def epoch_named(c: ComparedDefence) -> str:
    """Return the epoch alone, or that there is none."""
    if isinstance(c.stopped, AfterEpoch):
        return f"epoch {c.stopped.epoch}"
    return "none is as accurate" if isinstance(c.stopped, Skipped) else ""


def claim_shown(claim: PrivacyClaim) -> str:
    """Return what an accountant says, the epsilon rounded up."""
    return f"epsilon {rounded_up(claim.epsilon)} at delta {claim.delta:.1e}"


def worth(c: ComparedDefence) -> str:
    """Return whether a defence leaves ``less`` than early stopping, ``more``, or ``alike``.

    Beyond doubt, by the intervals that hold together; empty where there is nothing to compare.
    """
    if not isinstance(c.stopped, AfterEpoch):
        return ""
    early = c.stopped.best.accuracy
    if c.left.accuracy.high < early.low:
        return "less"
    return "more" if c.left.accuracy.low > early.high else "alike"


def early_sentences(f: ComparedDefences) -> tuple[str, ...]:
    """Return how the best defence compares with early stopping, and which others do better."""
    return (*_of_best(f), *_others(f))


def _of_best(f: ComparedDefences) -> tuple[str, ...]:
    best = f.best
    if isinstance(best.stopped, Skipped):
        return (
            f"No recorded epoch of the undefended training is as accurate as {plain(best.title)}: "
            "stopping early is no way to the same.",
        )
    if best.stopped is None:
        return ()
    told = {
        "less": "more than the defence does, beyond doubt",
        "more": "less than the defence does, beyond doubt: it pays for nothing",
        "alike": "which this audit cannot tell from what the defence leaves",
    }
    return (
        f"Stopping the undefended training after epoch {best.stopped.epoch}, the first that is as "
        f"accurate, leaves {percent(best.stopped.best.accuracy.value)}, {told[worth(best)]}.",
    )


def _others(f: ComparedDefences) -> tuple[str, ...]:
    judged = [c for c in at_training(f) if worth(c)]
    if len(judged) < 2:
        return ()
    better = [plain(c.title) for c in judged if worth(c) == "less"]
    named = ", ".join(better) if better else "none"
    return (
        f"Of the {len(judged)} defences at training that an epoch is as accurate as, those that "
        f"leave less than it beyond doubt: {named}.",
    )


def curve_lines(f: ComparedDefences) -> list[dict[str, object]]:
    """Return one mapping for every recorded epoch of the undefended training."""
    found = []
    for point in f.curve:
        line: dict[str, object] = {"epoch": point.epoch, "attack": point.best.attack}
        for name, estimate in (
            ("train_accuracy", point.train_accuracy),
            ("model_accuracy", point.accuracy),
            ("accuracy", point.best.accuracy),
            ("auc", point.best.auc),
        ):
            line |= {name: estimate.value, f"{name}_low": estimate.low}
            line[f"{name}_high"] = estimate.high
        found.append(line)
    return found
