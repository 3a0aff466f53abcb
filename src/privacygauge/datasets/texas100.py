"""Texas100: hospital stays of 67,330 patients, by which of 100 procedures they had."""

from __future__ import annotations

from pathlib import Path

from privacygauge.core.checks import Ints
from privacygauge.datasets.local_copies import (
    Bytes,
    content_of_copy,
    from_one,
    numbers,
    require_binary,
)
from privacygauge.errors import InputError

LICENCE = "of the Texas Department of State Health Services: never redistributed, never fetched"


def texas100(
    features: str | Path,
    labels: str | Path,
    *,
    features_sha256: str | None = None,
    labels_sha256: str | None = None,
) -> tuple[Bytes, Ints]:
    """Return binary attributes of hospital stays, and which of 100 procedures each was for.

    Parameters
    ----------
    features : str or Path
        The file ``feats`` of Shokri et al. (2017), unpacked: a line a stay, zeros and ones parted
        by commas (more than 6,000).
    labels : str or Path
        The file ``labels`` beside it: a line a stay, the procedure (1 to 100).
    features_sha256, labels_sha256 : str, optional
        The checksums that the files must have.

    Returns
    -------
    tuple of ndarray, shapes (n, d) and (n,)
        Features of 0 and 1, and classes in 0..99, in the order of the files.

    Raises
    ------
    InputError
        If a file is missing, another one, or not of this form, or if the two do not match.
    """
    names = Path(features).name, Path(labels).name
    known = numbers(content_of_copy(labels, labels_sha256), names[1])
    if known.shape[1] != 1:
        raise InputError(f"{names[1]} must have one column, got {known.shape[1]}")
    x = numbers(content_of_copy(features, features_sha256), names[0])
    if len(x) != len(known):
        raise InputError(
            f"{names[0]} and {names[1]} must have as many lines, got {len(x)} and {len(known)}"
        )
    return require_binary(x, names[0]), from_one(known[:, 0], 100, names[1])
