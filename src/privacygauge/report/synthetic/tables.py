"""Findings on a generator as a table and as plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.by_target import AttackEvaluation
from privacygauge.report.numbers import at_least, count, decimal_estimate, fixed, key, plain, rate
from privacygauge.report.synthetic.findings import SyntheticFindings
from privacygauge.report.synthetic.verdict import verdict
from privacygauge.report.synthetic.views import settings
from privacygauge.report.synthetic.words import called, several
from privacygauge.report.tables import as_summary, names_of, parquet

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def records_frame(f: SyntheticFindings) -> pd.DataFrame:
    """Return one row for every target.

    Parameters
    ----------
    f : SyntheticFindings

    Returns
    -------
    pandas.DataFrame
        Columns: ``row`` of the data, ``id``, ``vulnerability``, ``rank``; and for each attack
        ``auc:TITLE``, ``auc_low:TITLE``, ``auc_high:TITLE``, ``accuracy:TITLE``,
        ``tpr_at_0.1:TITLE``, ``tpr_at_0.01:TITLE``, ``epsilon_low:TITLE``,
        ``epsilon_limit:TITLE``.
    """
    import pandas as pd

    columns: dict[str, NDArray[Any]] = {
        "row": f.targets.rows,
        "id": names_of(f.targets.ids),
        "vulnerability": f.targets.scores,
        "rank": f.targets.ranks,
    }
    for attack in f.attacks:
        columns |= {f"{name}:{attack.title}": x for name, x in _numbers(attack).items()}
    return pd.DataFrame(columns)


def records_parquet(f: SyntheticFindings) -> bytes:
    """Return `records_frame` as a Parquet file."""
    return parquet(records_frame(f))


def summary(f: SyntheticFindings) -> str:
    """Return the verdict and the main numbers as plain text."""
    return as_summary(verdict(f), lines(f), f.warnings, f.skipped)


def lines(f: SyntheticFindings) -> tuple[tuple[str, str], ...]:
    """Return the main numbers, each with its name."""
    worst, n = f.headline.worst, len(f.targets)
    told = int(np.count_nonzero(f.best.told))
    sure = f"{rate(f.level)} interval"
    return (
        ("Attack", plain(f.best.title)),
        ("Mean AUC" if n > 1 else "AUC", f"{decimal_estimate(f.headline.auc)}, {sure}"),
        *(
            ((f"AUC of {called(f, f.headline.target)}", f"{decimal_estimate(worst.auc)}"),)
            * (n > 1)
        ),
        ("Records told", f"{count(told)} of {several(n, 'record')}"),
        ("Epsilon", f"{at_least(worst.epsilon)} (largest to show {fixed(worst.epsilon_limit, 2)})"),
        *_foreseen(f),
        ("Game", f"{plain(f.game.name)}, {several(f.n_tables, 'synthetic table')}"),
        ("Generator", f"{plain(f.generator)}; {settings(f)}"),
    )


def _numbers(attack: AttackEvaluation) -> dict[str, NDArray[Any]]:
    targets = attack.targets
    fprs = [fpr for fpr, _ in attack.tpr_at_fpr]
    rates = np.array([[r.estimate.value for r in target.tpr_at_fpr] for target in targets])
    return {
        "auc": attack.aucs,
        "auc_low": np.array([target.auc.low for target in targets]),
        "auc_high": np.array([target.auc.high for target in targets]),
        "accuracy": np.array([target.accuracy.value for target in targets]),
        **{f"tpr_at_{key(fpr)}": rates[:, place] for place, fpr in enumerate(fprs)},
        "epsilon_low": np.array([target.epsilon.low for target in targets]),
        "epsilon_limit": np.array([target.epsilon_limit for target in targets]),
    }


def _foreseen(f: SyntheticFindings) -> tuple[tuple[str, str], ...]:
    if isinstance(f.foreseen, Skipped):
        return ()
    return (("Vulnerability against AUC", f"rank correlation {decimal_estimate(f.foreseen, 2)}"),)
