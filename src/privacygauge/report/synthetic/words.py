"""What an audit of a generator speaks of, in words: records, promises, what to do next."""

from __future__ import annotations

from numbers import Real

from privacygauge.report.numbers import count, plain
from privacygauge.report.synthetic.findings import SyntheticFindings
from privacygauge.report.verdict import LARGE, NONE
from privacygauge.report.views import shortened


def several(n: int, what: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> several(1, "record"), several(2000, "synthetic table")
    ('1 record', '2,000 synthetic tables')
    """
    return f"{count(n)} {what}{'' if n == 1 else 's'}"


def name_of(f: SyntheticFindings, i: int) -> tuple[str, str]:
    """Return a target's id, and its row where that is something else, else an empty text."""
    name, row = shortened(plain(f.targets.ids[i])), str(int(f.targets.rows[i]))
    return name, "" if name == row else row


def called(f: SyntheticFindings, i: int) -> str:
    """Return what a target is called in a sentence."""
    name, row = name_of(f, i)
    return f"record {name} (row {row})" if row else f"row {name}"


def kept(text: object) -> str:
    """Return a setting of the generator on one line; the middle of a very long one is left out."""
    return shortened(plain(text))


def promised(f: SyntheticFindings) -> float | None:
    """Return the epsilon that the generator was set to; None without one, or with a delta."""
    found = f.settings.get("epsilon")
    if not isinstance(found, Real) or isinstance(found, bool) or f.settings.get("delta"):
        return None
    return float(found)


def broken_promise(f: SyntheticFindings) -> bool:
    """Return whether more was shown than the epsilon that the generator was set to."""
    epsilon = promised(f)
    return epsilon is not None and f.headline.worst.epsilon.low > epsilon


def advice(f: SyntheticFindings, grade: str) -> tuple[str, ...]:
    """Return what to do next, the most urgent first."""
    return (
        *(_mend(f, grade) if grade != NONE else ()),
        "Do not rely on distances to the closest record: a table can keep them large and still "
        "give people away.",
        *_look_closer(f),
        "Repeat the audit whenever the data, the generator or its settings change, and keep this "
        "report with the release.",
    )


def _mend(f: SyntheticFindings, grade: str) -> tuple[str, ...]:
    hold = "Hold the synthetic table back, or release it only to people who are bound by contract."
    repair = (
        "Have the generator repaired: it leaks more than its epsilon allows. Look first at ranges "
        "and categories that are read from the data.",
    )
    private = (
        "Use a generator under differential privacy, such as PrivBayes, with ranges and "
        "categories that are public: nothing else comes with a guarantee."
    )
    if promised(f) is not None:
        private = "Set a smaller epsilon, with ranges and categories that are public."
    return (
        *((hold,) if grade == LARGE else ()),
        *(repair if broken_promise(f) else ()),
        "Remove or generalise the riskiest records, listed below, before the generator learns. "
        "Then audit again: others may take their place.",
        "Coarsen the data: round numbers or put them in ranges, merge rare categories, drop "
        "columns that nobody needs.",
        private,
    )


def _look_closer(f: SyntheticFindings) -> tuple[str, ...]:
    ranked = "the one" if len(f.targets) == 1 else f"the {count(len(f.targets))}"
    if not (f.targets.ranks == 1).any():
        return (
            "Attack the most vulnerable records too: the one of the highest score was not among "
            f"{ranked} attacked.",
        )
    if len(f.targets) < f.n_records:
        return (
            "Audit more records, or all of them in one shared game: what holds for "
            f"{ranked} attacked need not hold for the others.",
        )
    return ()
