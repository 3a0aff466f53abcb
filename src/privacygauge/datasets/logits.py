"""Logits of ResNet-20 models on the test sets of CIFAR-10 and CIFAR-100, with the labels."""

from __future__ import annotations

import io

import numpy as np

from privacygauge.core import checks
from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.files import read_own
from privacygauge.errors import InputError

LICENCE = "MIT"

_SHA256 = {
    10: "e28c3eb88337675748dfee4a2705d528739a155a83ce600f52f713b901a905f5",
    100: "7f52f3b4202395e149864e4fb8979ba8268de28d238639efaf969ea7a8bdd15d",
}


def cifar_logits(n_classes: int) -> tuple[Floats, Ints]:
    """Return a ResNet-20's logits on the 10,000 test images of CIFAR, and the labels.

    Parameters
    ----------
    n_classes : int
        10 for CIFAR-10, 100 for CIFAR-100.

    Returns
    -------
    tuple of ndarray, shapes (10000, n_classes) and (10000,)
        Logits, and labels in 0..n_classes-1. The two models' rows are in different orders.

    Raises
    ------
    InputError
        If the file is not in the folder that PRIVACYGAUGE_DATA names, or is another one.
    """
    if n_classes not in _SHA256:
        raise InputError(f"n_classes must be one of {checks.listed(_SHA256)}, got {n_classes}")
    name = f"logits_cifar{n_classes}_resnet-20.npz"
    absent = "it has no official source to be fetched from: save it there"
    content = read_own(name, _SHA256[n_classes], absent)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return archive["logits"].astype(np.float64), archive["labels"].astype(np.int64)
