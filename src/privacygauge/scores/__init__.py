"""Audits of any model that gives a number per record, and of regressors."""

from __future__ import annotations

from dataclasses import dataclass

from privacygauge.classifiers.audit.options import ReleaseOptions
from privacygauge.errors import InputError
from privacygauge.runs.options import asks, option

NAME = "scores"
"""Name of the command."""


@dataclass(frozen=True, kw_only=True)
class ScoreDesign(ReleaseOptions):
    """The columns of scores, their direction, and columns of groups and features."""

    scores: tuple[str, ...] = option(
        "--score",
        "COLUMN",
        "Column of numbers to attack, the most telling first. Default: the columns loss and "
        "those that begin with score, or the only column of numbers. May be given several times.",
        split=False,
    )
    lower: tuple[str, ...] = asks(
        "COLUMN",
        "Score that is lower for members, such as a loss. Default: learnt on other records than "
        "those judged. May be given several times.",
        split=False,
    )
    higher: tuple[str, ...] = asks(
        "COLUMN",
        "Score that is higher for members, such as a likelihood. May be given several times.",
        split=False,
    )
    group: str | None = asks(
        "COLUMN",
        "Column of groups, such as classes, with thresholds of their own. Default: a column "
        "called group, if there is one.",
    )
    features: tuple[str, ...] = option(
        "--feature",
        "COLUMN",
        "Column with a number that describes the records, for quantile regression. May be given "
        "several times.",
        split=False,
    )

    def __post_init__(self) -> None:
        for name in ("scores", "lower", "higher", "features"):
            given = getattr(self, name)
            if isinstance(given, str):  # a tuple of one, which its letters would not be
                object.__setattr__(self, name, (given,))
            elif len(set(given)) < len(given):
                twice = next(x for x in given if list(given).count(x) > 1)
                raise InputError(f"{name}: {twice!r} is named twice: name each column once")
        super().__post_init__()
        both = set(self.lower) & set(self.higher)
        if both:
            raise InputError(f"{sorted(both)[0]!r} is said to be lower and higher: keep one")
