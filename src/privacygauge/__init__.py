"""PrivacyGauge: what a released model, table or leaderboard gives away about the data behind it.

>>> import privacygauge as pg
>>> result = pg.audit_classifier("target.npz", "shadow.npz")  # doctest: +SKIP
>>> print(result.summary())  # doctest: +SKIP
"""

import lazy_loader

_attribute, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    if name == "__version__":
        from privacygauge.core.versions import own_version

        return own_version()
    return _attribute(name)
