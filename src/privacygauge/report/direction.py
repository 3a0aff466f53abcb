"""Texts on inverted attacks, which rank non-members above members."""

from __future__ import annotations

from collections.abc import Sequence

from privacygauge.evaluate.direction import InvertedAttack
from privacygauge.report.grades import UNTOLD
from privacygauge.report.numbers import count, decimal_estimate, plain
from privacygauge.report.values import Grade, Verdict

HEADLINE = "Cannot be told: attacks tell members and non-members apart, but take one for the other"
"""Headline of the verdict."""

LIKELY = (
    "Most likely the scores have the wrong sign, or members and non-members were swapped; or the "
    "two sides differ in more than membership."
)
"""Most likely cause."""

OPEN = (
    "Until that is settled, the numbers of this audit say neither that something leaks nor that "
    "nothing does."
)
"""Limits of the result."""

ADVICE = (
    "Check that members and non-members were not swapped: 1 or True means a member.",
    "Check the sign of the scores: higher means more likely a member. Energies, losses and "
    "distances are the other way round, and log-likelihoods given for energies have to be negated.",
    "If both are right, members and non-members differ in more than membership: draw both at "
    "random from the same records.",
    "Audit again: this audit supports no decision about a release.",
)
"""Advice, the most urgent first."""


def verdict(sentences: tuple[str, ...], grade: Grade = UNTOLD) -> Verdict:
    """Return the verdict if no leak was found but attacks are inverted.

    `sentences` give the reason. The scale holds only the grade itself.
    """
    return Verdict(
        grade=grade,
        scale=(grade,),
        headline=HEADLINE,
        sentences=sentences,
        unsaid=OPEN,
        advice=ADVICE,
    )


def sentences(found: Sequence[InvertedAttack]) -> tuple[str, ...]:
    """Return sentences with the reason why the grade is `UNTOLD`, and the most likely cause."""
    # The attack that is surest to be inverted speaks for the others.
    first = min(found, key=lambda attack: attack.auc.high)
    others = len(found) - 1
    more = f". So are those of {count(others)} further attacks" if others > 1 else ""
    more = ". So are those of one further attack" if others == 1 else more
    return (
        f"{_inverted_text(first)}{more}. Whoever reverses them does better than guessing: this is "
        "no evidence of safety.",
        LIKELY,
    )


def warnings(found: Sequence[InvertedAttack], where: str = "") -> tuple[str, ...]:
    """Return one warning that names the inverted attacks; empty if there are none.

    `where` is the name of the game if there are several, such as the name of a defence.
    """
    if not found:
        return ()
    begin = f"{plain(where)}: " if where else ""
    # The attack that is surest to be reversed.
    first = min(found, key=lambda attack: attack.auc.high)
    names = [plain(attack.attack) for attack in found if attack is not first]
    more = [f"{count(len(names) - _NAMED)} more"] if len(names) > _NAMED else []
    others = ", ".join([*names[:_NAMED], *more])
    also = f"; so are those of {others}" if names else ""
    return (
        f"{begin}{_inverted_text(first)}{also}. Check the sign of the scores, and whether the "
        "sides were swapped or differ in more than membership",
    )


_NAMED = 3
"""Most further attacks that a warning names."""


def _inverted_text(found: InvertedAttack) -> str:
    where = "" if found.auc.high < 0.5 else " at one end"
    return (
        f"The scores of {plain(found.attack)} are higher for non-members than for members{where} "
        f"(AUC {decimal_estimate(found.auc)}; guessing gives 0.5)"
    )
