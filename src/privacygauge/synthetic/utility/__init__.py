"""Utility of a synthetic table."""

from privacygauge.synthetic.utility.summary import Utility, utility

__all__ = ["Utility", "utility"]
