"""Distances between records of a table."""

from __future__ import annotations

from privacygauge.errors import suggest_names
from privacygauge.tables.distance import Cosine, Minkowski

__all__ = ["Cosine", "Minkowski"]

suggest_names(__name__)
