"""Generators of synthetic tables."""

from __future__ import annotations

from privacygauge.errors import suggest_names
from privacygauge.tables.generators.adapters import Command
from privacygauge.tables.generators.generator import BayNet, PrivBayes, SynthPop
from privacygauge.tables.table import Schema

__all__ = ["BayNet", "Command", "PrivBayes", "Schema", "SynthPop"]

suggest_names(__name__)
