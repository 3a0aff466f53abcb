"""All numbers of a result, for comparing two results exactly."""

from __future__ import annotations

from dataclasses import fields, is_dataclass

import numpy as np

from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Play, Scores


def numbers(value: object) -> list[float]:
    """Return every number in a value, its fields and its items, in order."""
    if isinstance(value, np.ndarray):
        return value.astype(float).ravel().tolist()
    if isinstance(value, bool | int | float):
        return [float(value)]
    if isinstance(value, tuple | list):
        return [number for item in value for number in numbers(item)]
    if is_dataclass(value):
        return [x for field in fields(value) for x in numbers(getattr(value, field.name))]
    return []


def of_scores(result: Scores | Skipped) -> Scores:
    assert isinstance(result, Scores)
    return result


def of_play(result: Play | Skipped) -> Play:
    assert isinstance(result, Play)
    return result
