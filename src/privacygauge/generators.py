"""Generators of synthetic tables."""

from __future__ import annotations

from privacygauge.synthetic.generators.command import Command
from privacygauge.synthetic.generators.generator import BayNet, PrivBayes, SynthPop
from privacygauge.synthetic.schema import Schema

__all__ = ["BayNet", "Command", "PrivBayes", "Schema", "SynthPop"]
