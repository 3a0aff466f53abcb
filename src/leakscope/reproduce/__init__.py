"""The papers' tables beside ours: one file a paper's experiment."""

from leakscope.reproduce.catalogue import REPRODUCTIONS, reproduction
from leakscope.reproduce.table import Cell, Effort, Reproduction, Row, Table

__all__ = ["REPRODUCTIONS", "Cell", "Effort", "Reproduction", "Row", "Table", "reproduction"]
