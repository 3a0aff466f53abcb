"""Generators of synthetic tables."""

from __future__ import annotations

from privacygauge.synthetic.generators.adapters import Command
from privacygauge.synthetic.generators.generator import BayNet, PrivBayes, SynthPop
from privacygauge.synthetic.table import Schema

__all__ = ["BayNet", "Command", "PrivBayes", "Schema", "SynthPop"]
