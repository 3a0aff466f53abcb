"""Published tables and figures, remade and set beside the papers' numbers."""

import lazy_loader

from privacygauge.errors import suggest_names

# The command line imports `papers.command`, and none of what reproductions need.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
suggest_names(__name__)
