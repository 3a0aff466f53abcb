"""Published tables and figures, remade and set beside the papers' numbers."""

from privacygauge.reproduce.catalogue import ITEMS, REPRODUCTIONS, reproduction
from privacygauge.reproduce.item import Item, Status
from privacygauge.reproduce.table import Cell, Effort, Reproduction, Row, Table
from privacygauge.reproduce.verdict import Claim, Judgement, Verdict

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
