"""Location30: visits of 5,010 people to 446 places, in 30 groups (Foursquare check-ins)."""

from __future__ import annotations

import numpy as np

from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.arrays import read_npz
from privacygauge.datasets.files import VARIABLE, own_file
from privacygauge.errors import InputError

LICENCE = "none stated: for tests and reproductions only, never redistributed"


def location30() -> tuple[Floats, Ints]:
    """Return 446 binary attributes of 5,010 people, and which of 30 groups each is in.

    In the order in which the authors of MemGuard (Jia et al. 2019) shuffled them.

    Returns
    -------
    tuple of ndarray, shapes (5010, 446) and (5010,)

    Raises
    ------
    InputError
        If ``location30.npz`` is not in the folder that PRIVACYGAUGE_DATA names: the data carry no
        licence, so they are never fetched.
    """
    path = own_file("location30.npz")
    if path is None:
        raise InputError(
            f"location30.npz is not in the folder that {VARIABLE} names; the data carry no "
            "licence, so they are not fetched for you"
        )
    archive = read_npz(path)
    x = np.unpackbits(archive["x_packed"], axis=1)[:, :446]
    order = archive["shuffle_index"]
    return x[order].astype(np.float64), archive["y"][order].astype(np.int64)
