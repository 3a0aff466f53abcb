"""The page on a generator of synthetic tables: one HTML file, no network, no script."""

from __future__ import annotations

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.report.html import environment
from privacygauge.report.numbers import count, decimal_estimate, fixed
from privacygauge.report.svg import Picture, picture
from privacygauge.report.synthetic import plots, rows, views
from privacygauge.report.synthetic.findings import SyntheticFindings
from privacygauge.report.synthetic.verdict import verdict
from privacygauge.report.synthetic.words import several
from privacygauge.report.verdict import scale_of
from privacygauge.synthetic.utility.summary import Utility


def render_html(f: SyntheticFindings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : SyntheticFindings

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script. Of many targets 50 are named,
        and all are in the plots.
    """
    found = verdict(f)
    template = environment().get_template("synthetic.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=scale_of(found.grade),
        severity=scale_of(found.grade).index(found.grade),
        cards=views.cards(f),
        game=views.game(f),
        attacks=rows.attacks(f),
        riskiest=rows.riskiest(f),
        groups=rows.groups(f),
        all_groups=rows.all_groups(f),
        use=rows.use(f.utility),
        utility=f.utility if isinstance(f.utility, Utility) else None,
        unresolved=views.unresolved(f),
        methods=views.methods(f),
        pictures=pictures(f),
        targets=several(len(f.targets), "record"),
    )


def pictures(f: SyntheticFindings) -> dict[str, Picture]:
    """Return every plot of the page by its name; of a single target there is none."""
    if len(f.targets) == 1:
        return {}
    return {x.name: x for x in (_aucs(f), _foreseen(f))}


def _aucs(f: SyntheticFindings) -> Picture:
    values = np.sort(f.best.aucs)[::-1]
    told, n = int(np.count_nonzero(f.best.told)), len(values)
    return picture(
        "aucs",
        "Every attacked record",
        "How often each record is told, with its interval. On the dotted line there is nothing "
        "but guessing; where a whole interval lies above it, the record is given away.",
        f"The AUC is {fixed(float(values[0]), 3)} for the first record, "
        f"{fixed(float(values[n // 2]), 3)} in the middle, {fixed(float(values[-1]), 3)} for the "
        f"last; {count(told)} of {count(n)} records are told beyond luck.",
        lambda: plots.plot_auc(f),
    )


def _foreseen(f: SyntheticFindings) -> Picture:
    words = "The rank correlation was not computed."
    if not isinstance(f.foreseen, Skipped):
        words = f"The rank correlation is {decimal_estimate(f.foreseen, 2)}."
    return picture(
        "vulnerability",
        "Was the risk foreseen?",
        "The vulnerability score is how far a record is from those most like it: it needs neither "
        "a generator nor an attack. If points rise to the right, the score finds the records at "
        "risk beforehand.",
        f"{several(len(f.targets), 'record')} by score and AUC. {words}",
        lambda: plots.plot_vulnerability(f),
    )
