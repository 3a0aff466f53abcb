"""What the page shows of a privacy claim: cards and rows, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.report.claim.findings import ClaimFindings
from privacygauge.report.claim.words import NAMES, claimed, exact, sample
from privacygauge.report.numbers import Shown, at_least, count, percent, rate, rounded_down
from privacygauge.report.views import Card

_TOLD = 5
"""So many points of the curve are told in words, or a few more."""


@dataclass(frozen=True)
class BoundRow:
    """A bound as a row of a table."""

    name: str
    """What it is called."""
    assumption: str
    """What it takes for granted."""
    bound: str
    """Epsilon is at least so much."""
    largest: str
    """The largest bound that there could be."""
    answer: str
    """What follows for the claim."""
    method: str
    """How it was made, with level and n."""


@dataclass(frozen=True)
class GuessRow:
    """Right guesses at one number of guesses."""

    guesses: str
    """How many."""
    right: str
    """How many of them are right."""
    share: str
    """The same as a share; half are right by chance."""


def cards(f: ClaimFindings) -> tuple[Card, ...]:
    """Return the numbers that come first."""
    together = f"All bounds hold together with {rate(f.level)} confidence."
    first = Card(
        "Claimed epsilon",
        Shown(exact(f.claim.epsilon)),
        f"At delta {exact(f.claim.delta)}. {sample(f)}.",
    )
    return (
        first,
        *(
            Card(
                f"Epsilon at least ({NAMES[bound.name]})",
                Shown(rounded_down(bound.estimate.low)),
                f"Certifiable at most: {rounded_down(bound.largest)}. {together}",
            )
            for bound in f.bounds
        ),
    )


def bound_rows(f: ClaimFindings) -> tuple[BoundRow, ...]:
    """Return every bound with what it says of the claim."""
    return tuple(
        BoundRow(
            NAMES[bound.name].capitalize().replace("gaussian", "Gaussian"),
            bound.assumption or "nothing",
            at_least(bound.estimate),
            rounded_down(bound.largest),
            _answer(f, bound),
            f"{bound.estimate.method}, {rate(bound.estimate.level)} together, "
            f"n = {count(bound.estimate.n)}",
        )
        for bound in f.bounds
    )


def guess_rows(f: ClaimFindings) -> tuple[GuessRow, ...]:
    """Return the right guesses at each number of guesses; none for many runs."""
    if f.guessed is None:
        return ()
    pairs = zip(f.guessed.n_guesses.tolist(), f.guessed.n_right.tolist(), strict=True)
    return tuple(GuessRow(count(r), count(v), percent(v / r)) for r, v in pairs)


def curve_words(f: ClaimFindings) -> str:
    """Return what there is to see in the curve."""
    columns = (f.curve.n_guesses.tolist(), f.curve.low.tolist(), f.curve.largest.tolist())
    # From the end, so that the largest number is among them.
    points = list(zip(*columns, strict=True))[:: -max(1, len(columns[0]) // _TOLD)]
    told = "; ".join(
        f"{rounded_down(low)} of {rounded_down(largest)} for {count(r)} guesses"
        for r, low, largest in points
    )
    return f"The claim is {claimed(f.claim)}. Bound, of what a perfect attack would reach: {told}."


def _answer(f: ClaimFindings, bound: PrivacyBound) -> str:
    if bound.refutes(f.claim):
        return "refutes the claim" if not bound.assumption else "refutes it, if that holds"
    return "does not refute it" if bound.could_refute(f.claim) else "could not have told"
