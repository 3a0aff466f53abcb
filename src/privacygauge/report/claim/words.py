"""Words and numbers that all views of a privacy claim share."""

from __future__ import annotations

from privacygauge.evaluate.claim import PrivacyBound, PrivacyClaim
from privacygauge.report.claim.findings import ClaimFindings
from privacygauge.report.numbers import at_least, count, rounded_down

NAMES = {
    "one-run": "one run, no assumption",
    "one-run-gaussian": "one run, if Gaussian",
    "rates": "rates, no assumption",
    "rates-gaussian": "rates, if Gaussian",
}
"""What the bounds are called where people read them."""


def exact(value: float) -> str:
    """Return a number that somebody claimed, with all of its digits and no more.

    Examples
    --------
    >>> exact(2.0), exact(1e-05), exact(0.125)
    ('2', '1e-05', '0.125')
    """
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)


def claimed(claim: PrivacyClaim) -> str:
    """Return the claim, such as ``epsilon 2 at delta 1e-05``."""
    return f"epsilon {exact(claim.epsilon)} at delta {exact(claim.delta)}"


def shown_bound(bound: PrivacyBound) -> str:
    """Return the bound and the largest that there could have been."""
    return f"{at_least(bound.estimate)} (certifiable: {rounded_down(bound.largest)})"


def sample(f: ClaimFindings) -> str:
    """Return how many canaries, or runs, there were."""
    what = "canaries in one run" if f.design == "one-run" else "training runs"
    return f"{count(f.n_in + f.n_out)} {what}: {count(f.n_in)} in, {count(f.n_out)} out"


def so_many(f: ClaimFindings) -> str:
    """Return the sample's size with its unit, such as ``1,000 canaries``."""
    unit = "canaries" if f.design == "one-run" else "training runs"
    return f"{count(f.n_in + f.n_out)} {unit}"
