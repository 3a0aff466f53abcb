"""The page on differential training privacy: one HTML file, no network, no script."""

from __future__ import annotations

from functools import partial

import numpy as np

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.report.dtp import plots, rows, views
from privacygauge.report.dtp.verdict import GRADES, measured, verdict
from privacygauge.report.dtp.words import factor, nats, records
from privacygauge.report.html import environment
from privacygauge.report.numbers import count, plain
from privacygauge.report.svg import Picture, picture


def render_html(f: DtpFindings) -> str:
    """Return the report as one self-contained HTML page.

    Parameters
    ----------
    f : DtpFindings

    Returns
    -------
    str
        Everything from the user's data is escaped; characters that steer a page are replaced.
        The page asks for nothing from outside and runs no script.
    """
    found = verdict(f)
    template = environment().get_template("dtp.html.j2")
    return template.render(
        f=f,
        verdict=found,
        grades=GRADES,
        severity=GRADES.index(found.grade),
        measured=measured(f),
        cards=views.cards(f),
        riskiest=rows.riskiest(f),
        indirect=rows.indirect(f),
        indirect_count=int(np.count_nonzero(f.indirect)),
        known=views.known(f),
        classes=rows.classes(f),
        steps=rows.steps(f),
        groups=rows.groups(f),
        n_groups=0 if f.removal is None else len(f.removal.groups),
        removal_order="" if f.removal is None else views.order(f.removal),
        varied=rows.varied(f),
        averages=views.averages(f),
        by_average=rows.by_average(f),
        methods=views.methods(f),
        bins=views.bins(f),
        pictures=pictures(f),
        factors=[(f"{x:g}", factor(x)) for x in (0.1, 0.5, 1.0, 2.0, 4.0)],
    )


def pictures(f: DtpFindings) -> dict[str, Picture]:
    """Return every plot of the page by its name."""
    found = [_ranks(f), *_sawtooth(f)]
    for i, (v, words) in enumerate(zip(f.variation, rows.varied(f), strict=True)):
        found.append(
            picture(
                f"variation-{i}",
                f"Record {plain(words.record)}",
                "The gap between the two upright lines is the record's own effect. Where it is "
                "narrower than the histograms, it drowns in them.",
                f"With the record {words.with_it}, without {words.without}. Random states alone: "
                f"{words.initialisation}; other training sets: {words.sampling} "
                f"({words.n} models each).",
                partial(plots.plot_variation, v),
            )
        )
    return {x.name: x for x in found}


def _ranks(f: DtpFindings) -> Picture:
    infinite = f" {count(f.n_infinite)} are infinite." if f.n_infinite else ""
    return picture(
        "ranks",
        "All measured records, the riskiest first",
        "How far each record moves the model's answer about itself (PDTP), and at least, or at "
        "most, its answer to any query (DTP). Above the dotted line the rule says: do not publish.",
        f"The largest PDTP is {nats(f.highest)}; {count(f.n_above)} of "
        f"{records(len(f.rows))} above 1.{infinite}",
        lambda: plots.plot_pdtp(f),
    )


def _sawtooth(f: DtpFindings) -> list[Picture]:
    path = f.removal
    if path is None:
        return []
    first, lowest, last = (nats(float(path.highest[i])) for i in (0, path.best, -1))
    return [
        picture(
            "sawtooth",
            f"Largest {path.measure} while records are removed",
            "It falls when a risky record goes, and rises again where that record had shielded "
            "another one. The diamond is the best point to stop.",
            f"{first} before any removal, {lowest} after {path.best}, {last} after all "
            f"{count(len(path.removed))}.",
            lambda: plots.plot_removal(f),
        )
    ]
