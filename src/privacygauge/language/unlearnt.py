"""Texts that a target does not seem to have learnt: another model, or another form of them."""

from __future__ import annotations

from privacygauge.core.checks import Floats
from privacygauge.evaluate.rates import proportion

_FEWEST = 10


def unlearnt(target: Floats, reference: Floats, level: float) -> str | None:
    """Return a warning where the reference, which saw no member, expects most of them better.

    Parameters
    ----------
    target, reference : ndarray of float, shape (n,)
        How likely both models find the members' texts; higher means likelier. Ties do not count.
    level : float
        Of the interval of the share, in (0, 1).

    Returns
    -------
    str or None
        None where less than half of the texts is not significantly what the target expects better,
        or there are fewer than 10.
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
