"""What to do next about a released table, in a few short lines."""

from __future__ import annotations

from privacygauge.report.synthetic.released_findings import ReleasedFindings

_AGAIN = (
    "Repeat the audit whenever the data, the generator or its settings change, and keep this "
    "report with the table."
)
_GENERATOR = (
    "Audit the generator too (privacygauge synthetic): an attacker who can run it sees more than "
    "this audit."
)


def advice(f: ReleasedFindings, severity: int | None) -> tuple[str, ...]:
    """Return what to do next.

    Parameters
    ----------
    f : ReleasedFindings
    severity : int or None
        0 for no leak found, up to 3 for a large one; None where it cannot be told.

    Returns
    -------
    tuple of str
        The most urgent first.
    """
    if severity is None:
        return (
            "Do not publish on the strength of this report: it says neither yes nor no.",
            "Keep a random part of the records back from the generator (a third, say), generate "
            "anew, and audit with that part as the holdout.",
            _GENERATOR,
        )
    return (*(_mend(f, severity) if severity else ()), *_larger(f), _GENERATOR, _AGAIN)


def _mend(f: ReleasedFindings, severity: int) -> tuple[str, ...]:
    hold = "Hold the table back, or limit who gets it: what was released cannot be recalled."
    copied = f.corrected.copies is not None and f.corrected.copies.low > 0
    remove = (
        "Do not merely delete the copied rows: that they are missing tells as much, and near "
        "copies stay. Change the generator so that it learns less by heart."
    )
    return (
        *((hold,) if severity > 1 else ()),
        *((remove,) if copied else ()),
        "Give single records less influence: coarsen rare values and exact numbers, leave out "
        "columns that nobody needs, smooth the generator, learn from more records.",
        "Generate with differential privacy where the table has to be public: nothing else comes "
        "with a guarantee.",
    )


def _larger(f: ReleasedFindings) -> tuple[str, ...]:
    if f.n_holdout >= min(f.n_real, 2000):
        return ()
    return (
        "Use a larger holdout, if there is one: with so few records a small leak goes unnoticed.",
    )
