"""Findings on defences as tables and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privacygauge.core.estimate import Estimate
from privacygauge.report import tables
from privacygauge.report.defences.early import claim_shown, stopped_shown, worth
from privacygauge.report.defences.findings import AfterEpoch, ComparedDefence, ComparedDefences
from privacygauge.report.defences.verdict import verdict
from privacygauge.report.numbers import decimal_estimate, percent_estimate, plain

if TYPE_CHECKING:
    import pandas as pd

NO_DEFENCE = "none"
"""What the undefended model is called among the defences."""


def records_frame(f: ComparedDefences) -> pd.DataFrame:
    """Return one row for every defence, attack and adversary, each interval for itself alone."""
    import pandas as pd

    return pd.DataFrame(f.lines())


def defences_frame(f: ComparedDefences) -> pd.DataFrame:
    """Return one row for every defence: what it costs, and what the best attack still reaches.

    Parameters
    ----------
    f : ComparedDefences

    Returns
    -------
    pandas.DataFrame
        Columns: ``defence``, ``can_be_undone``, ``attack`` and ``attack_non_adaptive``; of
        ``model_accuracy_before`` and ``_after`` (on non-members), ``distance``, ``accuracy`` and
        ``auc`` (adaptive), ``accuracy_non_adaptive``, ``auc_non_adaptive``, and for each quantile
        of the members' risk score ``risk_0.5_before`` and ``_after``: the value, ``_low`` and
        ``_high``. Where models were trained also ``at_training``, ``epsilon`` and ``delta`` of an
        accountant, and of early stopping at the same accuracy ``stopped_epoch``,
        ``stopped_model_accuracy`` and ``stopped_accuracy`` (what the best attack reaches).
    """
    import pandas as pd

    rows = [{**_row(c), **(_trained_row(c) if f.n_shadows else {})} for c in f.compared]
    return pd.DataFrame(rows)


def as_csv(frame: pd.DataFrame) -> bytes:
    """Return a frame as text with commas; every number has all of its digits."""
    return frame.to_csv(index=False, lineterminator="\n").encode("utf-8", "replace")


def summary(f: ComparedDefences) -> str:
    """Return the verdict and one line for every defence as plain text."""
    return tables.as_summary(verdict(f), _lines(f), f.warnings, f.skipped)


def grid(f: ComparedDefences) -> tuple[tuple[str, ...], ...]:
    """Return defence, adaptive and non-adaptive accuracy, cost, model's accuracy, by row.

    The cost is the distance or, where models were trained, what early stopping leaves.
    """
    first, none = f.compared[0].before, "" if f.curve else "0"
    rows = [(NO_DEFENCE, _percent(f.none.accuracy), "", none, percent_estimate(first).value)]
    for c in f.compared:
        surprised = percent_estimate(c.non_adaptive.accuracy).value
        distance = _beside(f, c)
        model = percent_estimate(c.after).value
        rows.append((marked(c), _percent(c.adaptive.accuracy), surprised, distance, model))
    return tuple(rows)


def _beside(f: ComparedDefences, c: ComparedDefence) -> str:
    return stopped_shown(c).value if f.curve else decimal_estimate(c.judged.distance, 2).value


def short_grid(f: ComparedDefences) -> tuple[tuple[str, ...], ...]:
    """Return defence, adaptive and non-adaptive accuracy without intervals."""
    return (
        (NO_DEFENCE, percent_estimate(f.none.accuracy).value, ""),
        *(
            (
                marked(c),
                percent_estimate(c.adaptive.accuracy).value,
                percent_estimate(c.non_adaptive.accuracy).value,
            )
            for c in f.compared
        ),
    )


def marked(c: ComparedDefence) -> str:
    """Return a defence's name, with a dagger where it can be undone."""
    return c.title + (" \N{DAGGER}" if c.undone else "")


def _lines(f: ComparedDefences) -> tuple[tuple[str, str], ...]:
    return (
        ("No defence", _percent(f.none.accuracy)),
        *((plain(c.title), _line(c)) for c in f.compared),
    )


def _line(c: ComparedDefence) -> str:
    undone = ", but it can be undone" if c.undone else ""
    if c.at_training:
        return _trained_line(c)
    return (
        f"{_percent(c.adaptive.accuracy)}{undone}; non-adaptive "
        f"{percent_estimate(c.non_adaptive.accuracy).value}; answers moved by "
        f"{decimal_estimate(c.judged.distance, 2).value}; model's accuracy "
        f"{percent_estimate(c.before).value} to {percent_estimate(c.after).value}"
    )


def _trained_line(c: ComparedDefence) -> str:
    early = ""
    if isinstance(c.stopped, AfterEpoch):
        early = (
            f"; early stopping as accurate (epoch {c.stopped.epoch}) leaves "
            f"{stopped_shown(c).value}"
        )
    claim = "" if c.claim is None else f"; {claim_shown(c.claim)}"
    return (
        f"{_percent(c.adaptive.accuracy)}; non-adaptive "
        f"{percent_estimate(c.non_adaptive.accuracy).value}; model's accuracy "
        f"{percent_estimate(c.before).value} to {percent_estimate(c.after).value}{early}{claim}"
    )


def _percent(estimate: Estimate) -> str:
    return str(percent_estimate(estimate, 1))


def _row(c: ComparedDefence) -> dict[str, object]:
    named = {
        "model_accuracy_before": c.before,
        "model_accuracy_after": c.after,
        "distance": c.judged.distance,
        "accuracy": c.adaptive.accuracy,
        "auc": c.adaptive.auc,
        "accuracy_non_adaptive": c.non_adaptive.accuracy,
        "auc_non_adaptive": c.non_adaptive.auc,
    }
    for q in c.judged.quantiles:
        named |= {f"risk_{q.share:g}_before": q.undefended, f"risk_{q.share:g}_after": q.defended}
    row: dict[str, object] = {
        "defence": c.title,
        "can_be_undone": c.undone,
        "attack": c.adaptive.attack,
        "attack_non_adaptive": c.non_adaptive.attack,
    }
    for name, found in named.items():
        row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
    return row


def _trained_row(c: ComparedDefence) -> dict[str, object]:
    claim, early = c.claim, c.stopped if isinstance(c.stopped, AfterEpoch) else None
    row: dict[str, object] = {
        "at_training": c.at_training,
        "epsilon": None if claim is None else claim.epsilon,
        "delta": None if claim is None else claim.delta,
        "against_early_stopping": worth(c) or None,
        "stopped_epoch": None if early is None else early.epoch,
    }
    for name, found in (
        ("stopped_model_accuracy", None if early is None else early.accuracy),
        ("stopped_accuracy", None if early is None else early.best.accuracy),
    ):
        ends = (None,) * 3 if found is None else (found.value, found.low, found.high)
        row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
    return row
