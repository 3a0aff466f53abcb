"""Language models: the likelihood of texts under a model, and membership inference from it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
