"""What a synthetic table is good for, beside what it gives away."""

from privacygauge.synthetic.utility.summary import Utility, utility

__all__ = ["Utility", "utility"]
