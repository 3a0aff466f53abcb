"""What to do next, in a few short lines."""

from __future__ import annotations

from privacygauge.evaluate.findings import Findings

_LESS_OVERFITTING = (
    "Reduce overfitting: stop the training earlier, regularise more (weight decay, dropout), "
    "or train on more data."
)


def advice(findings: Findings, severity: int) -> tuple[str, ...]:
    """Return what to do next.

    Parameters
    ----------
    findings : Findings
    severity : int
        0 for no leak found, up to 3 for a large one.

    Returns
    -------
    tuple of str
        The most urgent first.
    """
    return (
        *(_mend(severity) if severity else ()),
        *_look_closer(findings),
        "Repeat the audit whenever the data, the training or the release changes, and keep this "
        "report with the release.",
    )


def _mend(severity: int) -> tuple[str, ...]:
    hold = "Hold the release back, or limit who may query it, until the leak is smaller."
    riskiest = (
        "Look up the riskiest records in the table below. Removing them helps them, not always "
        "the others: audit again afterwards."
    )
    private = (
        "Train with differential privacy (DP-SGD) where the release has to be public: no other "
        "defence comes with a guarantee."
    )
    return (
        *((hold,) if severity == 3 else ()),
        _LESS_OVERFITTING,
        riskiest,
        *((private,) if severity > 1 else ()),
    )


def _look_closer(findings: Findings) -> tuple[str, ...]:
    if any(r.fpr == 0.001 and r.resolved for e in findings.evaluations for r in e.tpr_at_fpr):
        return ()
    return (
        "Audit on at least 10,000 non-members, if there are so many: fewer cannot show whether a "
        "handful of records is badly exposed.",
    )
