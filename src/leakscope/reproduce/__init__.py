"""The papers' tables beside ours: one file a paper's experiment."""

from leakscope.reproduce.catalogue import ITEMS, REPRODUCTIONS, reproduction
from leakscope.reproduce.item import Item, Status
from leakscope.reproduce.table import Cell, Effort, Reproduction, Row, Table
from leakscope.reproduce.verdict import Claim, Judgement, Verdict

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
