"""Distances between records of a table."""

from __future__ import annotations

from privacygauge.tables.distance import Cosine, Minkowski

__all__ = ["Cosine", "Minkowski"]
