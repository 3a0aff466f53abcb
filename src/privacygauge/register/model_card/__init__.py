"""An audit as a snippet of a model card: metadata that model hubs read, and a section."""

from __future__ import annotations

from privacygauge.register.model_card.markdown import render, section
from privacygauge.register.model_card.metadata import metadata
from privacygauge.register.model_card.yaml import block

__all__ = ["block", "metadata", "render", "section"]
