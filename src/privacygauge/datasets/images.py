"""Images from one folder per class, and the handwritten digits of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Floats, Ints
from privacygauge.datasets.archives import check_size
from privacygauge.errors import InputError


def image_files(folder: Path) -> list[Path]:
    """Return the image files in the subfolders of a folder, by subfolder and then by name.

    Raises
    ------
    InputError
        If there are no images in subfolders.
    """
    from PIL import Image

    known = Image.registered_extensions()
    classes = sorted(path for path in folder.iterdir() if path.is_dir())
    found = [
        path
        for each in classes
        for path in sorted(each.rglob("*"))
        if path.is_file() and path.suffix.lower() in known
    ]
    if not found:
        raise InputError(
            f"{folder} holds no images in a folder for each class, such as {folder}/cat/1.png"
        )
    return found


def read_images(files: Sequence[Path]) -> NDArray[np.uint8]:
    """Return images of one size, (n, c, h, w), with c = 1 if all are grey, else 3.

    Raises
    ------
    InputError
        One line: the image, the fault, and the way out.
    """
    # Twice over the files: opening reads only the head, so that sizes and memory are checked before
    # any pixels are unpacked.
    from PIL import Image, UnidentifiedImageError

    sizes = []
    grey = True
    for path in files:
        try:
            with Image.open(path) as image:
                sizes.append(image.size)
                grey = grey and image.mode in ("1", "L")
        except UnidentifiedImageError as error:
            raise InputError(f"{path} is damaged or no image") from error
    other = next((i for i, size in enumerate(sizes) if size != sizes[0]), None)
    if other is not None:
        width, height = sizes[0]
        w, h = sizes[other]
        raise InputError(
            f"images must be of one size: {files[0]} is {width} x {height}, {files[other]} is "
            f"{w} x {h}; resize them, or read them in functions of your own (Training)"
        )
    width, height = sizes[0]
    channels = 1 if grey else 3
    there = sum(path.stat().st_size for path in files)
    check_size(files[0].parent.parent, there, len(files) * channels * height * width)
    result = np.empty((len(files), height, width, channels), np.uint8)
    for place, path in zip(result, files, strict=True):
        try:
            with Image.open(path) as image:
                pixels = np.asarray(image.convert("L" if grey else "RGB"))
        except OSError as error:
            raise InputError(f"{path} is damaged or no image") from error
        place[:] = pixels.reshape(place.shape)
    # From (n, h, w, c), as Pillow has it, to channels first, as networks take it.
    return np.ascontiguousarray(result.transpose(0, 3, 1, 2))


LICENCE = "CC BY 4.0 (E. Alpaydin, C. Kaynak; UCI Machine Learning Repository)"


def digits() -> tuple[Floats, Ints]:
    """Return 1,797 images of 8 x 8 handwritten digits, and their digits.

    Returns
    -------
    tuple of ndarray, shapes (1797, 64) and (1797,)
        Grey values in [0, 1]; digits in 0..9.
    """
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return np.asarray(x, np.float64) / 16.0, np.asarray(y, np.int64)
