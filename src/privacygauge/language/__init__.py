"""Language models: the likelihood of texts under a model, and membership inference from it."""

import lazy_loader

from privacygauge.errors import suggest_names

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
suggest_names(__name__)
