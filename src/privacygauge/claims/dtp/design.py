"""Options of a measurement of differential training privacy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from privacygauge.classifiers.names import REMOVAL_ORDERS
from privacygauge.errors import InputError
from privacygauge.runs.options import Options, asks, option

FURTHER = "Further measurements"
"""Heading of the options that ask for several values per record."""

_further_option = partial(asks, panel=FURTHER)


@dataclass(frozen=True, kw_only=True)
class DtpDesign(Options):
    """Bins, queries, and further measurements of the riskiest records."""

    bin_width: float = option(
        "--bin", "W", "Width of the bins of published probabilities; 0 for none.", default=0.01
    )
    queries: int = asks(
        "N",
        "Number of records to ask about beside the one left out, in search of a larger change, "
        "where the largest is not known.",
        default=500,
    )
    training_sets: int = _further_option(
        "N",
        "Measure again in both halves of the data, split this many times; 10 in the paper.",
        default=0,
    )
    remove: int = _further_option(
        "N", "Number of the riskiest records to remove, one at a time.", default=0
    )
    order: str = _further_option(
        "NAME",
        "Order of removal: recomputed (the riskiest of those left) or initial.",
        default="recomputed",
        offers=REMOVAL_ORDERS,
    )
    vary: int = _further_option(
        "N",
        "Number of models to train with other initial weights, and on other records, to see "
        "whether the two riskiest records are exceptional.",
        default=0,
    )

    def __post_init__(self) -> None:
        # Before any work: some numbers are needed only after hours of training.
        super().__post_init__()
        if self.bin_width:
            from privacygauge.classifiers.resolution import n_bins  # with numpy

            n_bins(self.bin_width)
        for name in ("queries", "training_sets", "remove"):
            if (number := getattr(self, name)) < 0:
                raise InputError(f"{name} must be at least 0, got {number}")
        if self.vary != 0 and self.vary < 2:
            raise InputError(
                f"vary must be 0 or at least 2, got {self.vary}: one model does not vary"
            )
        check_order(self.order)


def check_order(order: str) -> None:
    """Raise unless the order is one of `REMOVAL_ORDERS`."""
    if order not in REMOVAL_ORDERS:
        known = " or ".join(map(repr, REMOVAL_ORDERS))
        raise InputError(f"order must be {known}, got {order!r}")
