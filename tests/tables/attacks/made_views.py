"""What an adversary sees of generators that copy their records, or ignore the target."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privacygauge.tables.attacks.attack import View
from privacygauge.tables.table import Table
from tests.tables.made_tables import table_of


def view_of(
    rng, *, n_cat=3, n_cont=2, shadows=60, released=40, n=50, leak=True, missing=0.0, levels=None
):
    """Return a view, and who was inside of the released tables.

    Each table is drawn from other records; with `leak` one of its rows is the target where the
    target is inside.
    """
    table = table_of(rng, 300, n_cat, n_cont, missing=missing, levels=levels)
    values = table.values[1:]
    target = table.values[0]
    values = values[~np.array([np.array_equal(row, target, equal_nan=True) for row in values])]
    inside = rng.permutation(np.arange(shadows) % 2 == 0)
    secret = rng.permutation(np.arange(released) % 2 == 0)

    def tables(members):
        drawn = values[rng.integers(len(values), size=(len(members), n))]
        if leak:
            drawn[members, rng.integers(n, size=len(members))[members]] = target
        return drawn

    known = Table(table.schema, values)
    return View(table.schema, target, tables(inside), inside, tables(secret), known), secret


def auc(scores, inside):
    """Return the share of pairs in the right order, ties half, by comparing all."""
    gaps = np.asarray(scores)[inside][:, None] - np.asarray(scores)[~inside]
    return float(np.mean((gaps > 0) + 0.5 * (gaps == 0)))


def with_tables(view, change):
    """Return the view with its tables changed."""
    return replace(view, shadows=change(view.shadows), released=change(view.released))
