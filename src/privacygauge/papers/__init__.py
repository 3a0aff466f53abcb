"""Published tables and figures, remade and set beside the papers' numbers."""

from privacygauge.papers.catalogue import ITEMS, REPRODUCTIONS, reproduction
from privacygauge.papers.table import Cell, Effort, Item, Reproduction, Row, Status, Table
from privacygauge.papers.verdict import Claim, Judgement, Verdict

__all__ = [
    "ITEMS",
    "REPRODUCTIONS",
    "Cell",
    "Claim",
    "Effort",
    "Item",
    "Judgement",
    "Reproduction",
    "Row",
    "Status",
    "Table",
    "Verdict",
    "reproduction",
]
