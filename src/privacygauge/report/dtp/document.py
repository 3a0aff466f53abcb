"""Findings on differential training privacy as `report.json`, the schema ``privacygauge/1``."""

from __future__ import annotations

from typing import Any

import numpy as np

from privacygauge.classifier.dtp.findings import DtpFindings
from privacygauge.classifier.dtp.removal import LIMIT, RemovalPath
from privacygauge.classifier.dtp.variation import Variation
from privacygauge.core.checks import Floats
from privacygauge.report.document import SCHEMA, Json, as_text, estimate_dict, finite, left_out
from privacygauge.report.dtp.verdict import verdict
from privacygauge.report.tables import names_of
from privacygauge.report.views import RECORDS


def to_dict(f: DtpFindings) -> Json:
    """Return the findings as plain values: dicts, lists, strings, numbers, None.

    Parameters
    ----------
    f : DtpFindings

    Returns
    -------
    dict
        As for an audit of attacks, an estimate is a dict of value, low, high, level, n and
        method, and infinity is None. Of the records the 50 riskiest are in it, by row and id,
        without their contents; all of them are in ``records.parquet``.
    """
    found = verdict(f)
    return {
        "schema": SCHEMA,
        "command": f.command,
        "version": f.version,
        "seed": f.seed,
        "level": float(f.level),
        "model": f.model,
        "method": f.method,
        "bin": float(f.width),
        "n_train": int(f.n_train),
        "n_measured": len(f.rows),
        "pdtp": _pdtp(f),
        "dtp": _dtp(f),
        "verdict": f.decision,
        "certified": f.certified,
        "sentences": [found.headline, *found.sentences],
        "advice": list(found.advice),
        "removal": _removal(f.removal),
        "variation": [_variation(v) for v in f.variation],
        "repeated": _repeated(f),
        "skipped": left_out(f.skipped),
        "warnings": list(f.warnings),
        "provenance": dict(sorted(f.provenance.items())),
    }


def to_json(f: DtpFindings) -> str:
    """Return `to_dict` as strict JSON in ASCII: equal findings give equal text."""
    return as_text(to_dict(f))


def _pdtp(f: DtpFindings) -> Json:
    return {
        "max": finite(f.highest),
        "mean": finite(f.mean.value),
        "above_1": f.n_above,
        "infinite": f.n_infinite,
        "mean_estimate": estimate_dict(f.mean),
        "share_above_1": estimate_dict(f.share_above),
        "riskiest": [_record(f, int(i)) for i in f.order[:RECORDS]],
    }


def _dtp(f: DtpFindings) -> Json:
    indirect = np.flatnonzero(f.indirect)
    by_low = indirect[np.argsort(-f.dtp.low[indirect], kind="stable")]
    return {
        "lower": finite(f.dtp.low.max()),
        "upper": finite(f.dtp.high.max()),
        "method": f.dtp.method,
        "above_1": int(np.count_nonzero(f.dtp.low > LIMIT)),
        "indirect": {"count": len(indirect), "rows": f.rows[by_low[:RECORDS]].tolist()},
    }


def _named(f: DtpFindings, i: int) -> Json:
    return {
        "row": int(f.rows[i]),
        "id": names_of(f.ids[i : i + 1]).tolist()[0],
        "label": f.class_names[int(f.labels[i])],
    }


def _record(f: DtpFindings, i: int) -> Json:
    return {
        **_named(f, i),
        "pdtp": finite(f.pdtp[i]),
        "dtp_lower": finite(f.dtp.low[i]),
        "dtp_upper": finite(f.dtp.high[i]),
    }


def _removal(path: RemovalPath | None) -> Json | None:
    if path is None:
        return None
    return {
        "removed": path.removed.tolist(),
        "highest": _numbers(path.highest),
        "best": path.best,
        "groups": [group.tolist() for group in path.groups],
        "order": path.order,
        "measure": path.measure,
    }


def _variation(v: Variation) -> Json:
    return {
        "row": int(v.row),
        "label": int(v.label),
        "initialisation": _numbers(v.initialisation),
        "sampling": _numbers(v.sampling),
        "with_it": finite(v.with_it),
        "without": finite(v.without),
        "own": finite(v.own),
        "stands_out": finite(v.stands_out),
    }


def _repeated(f: DtpFindings) -> Json | None:
    if not f.averages:
        return None
    order = np.argsort([-x.value for x in f.averages], kind="stable")
    return {
        "training_sets": int(f.averages[0].n),
        "above_1": sum(x.value > LIMIT for x in f.averages),
        "surely_above_1": sum(x.low > LIMIT for x in f.averages),
        "riskiest": [
            {**_named(f, int(i)), "mean": estimate_dict(f.averages[i])} for i in order[:RECORDS]
        ],
    }


def _numbers(values: Floats) -> list[Any]:
    return [finite(x) for x in values.tolist()]
