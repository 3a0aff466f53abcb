"""Rows of Song & Mittal (2021) about data that are not available: what the paper prints, alone."""

from __future__ import annotations

from collections.abc import Mapping

from privacygauge.core.estimate import Skipped
from privacygauge.reproduce.table import Cell, Row

_ACCURACIES = ("train accuracy", "test accuracy")
_METRICS = ("correctness", "confidence", "entropy", "modified-entropy")
_NETWORK = "network"

TABLE_2 = (
    (*_ACCURACIES, *_METRICS, _NETWORK),
    {
        "Purchase100, no defence": (0.998, 0.809, 0.595, 0.671, 0.657, 0.671, 0.676),
        "Purchase100, adversarial regularisation": (
            0.927,
            0.766,
            0.581,
            0.594,
            0.558,
            0.595,
            0.516,
        ),
        "Purchase100, early stopping": (0.929, 0.764, 0.582, 0.592, 0.559, 0.591, None),
        "Texas100, no defence": (0.810, 0.523, 0.644, 0.678, 0.602, 0.677, 0.630),
        "Texas100, adversarial regularisation": (0.566, 0.464, 0.551, 0.586, 0.535, 0.586, 0.510),
        "Texas100, early stopping": (0.593, 0.479, 0.557, 0.594, 0.540, 0.595, None),
    },
)
"""Columns, and rows in their order; the network is that of Nasr et al. (2018)."""

TABLE_3 = (
    ("no defence", "adversarial regularisation", "early stopping"),
    {
        "Texas100: confidence, one threshold": (0.647, 0.555, 0.558),
        "Texas100: confidence, one for each class": (0.678, 0.586, 0.594),
        "Texas100: entropy, one threshold": (0.583, 0.529, 0.532),
        "Texas100: entropy, one for each class": (0.602, 0.535, 0.540),
        "Texas100: modified-entropy, one threshold": (0.648, 0.554, 0.559),
        "Texas100: modified-entropy, one for each class": (0.677, 0.586, 0.595),
    },
)
"""As above."""

TABLE_4 = (
    (*_ACCURACIES, *_METRICS, _NETWORK),
    {
        "Texas100, no defence": (0.9995, 0.5177, 0.742, 0.790, 0.666, 0.794, 0.740),
    },
)
"""The undefended row; the network is the best of those of Jia et al. (2019)."""

TABLE_4_DEFENDED = (
    (*_ACCURACIES, *_METRICS, _NETWORK),
    {
        "Texas100, MemGuard": (0.9995, 0.5177, 0.742, 0.741, 0.546, 0.740, 0.503),
    },
)
"""The defended row."""

TABLE_5 = (
    (*_ACCURACIES, *_METRICS, _NETWORK, "white-box"),
    {
        "Purchase100": (0.998, 0.809, 0.595, 0.671, 0.657, 0.671, 0.676, 0.734),
        "Texas100": (0.810, 0.523, 0.644, 0.678, 0.602, 0.677, 0.630, 0.683),
        "CIFAR-100": (1.0, 0.83, 0.585, 0.737, 0.733, 0.736, 0.677, 0.743),
    },
)
"""The networks are those of Nasr et al. (2019)."""

_Printed = tuple[tuple[str, ...], Mapping[str, tuple[float | None, ...]]]


def printed_rows(printed: _Printed) -> list[Row]:
    """Return rows of the paper beside which nothing is measured."""
    columns, rows = printed
    missing = Skipped("ours", "the data of the paper's other rows are not available")
    return [
        Row(
            label,
            {
                column: Cell(value, missing)
                for column, value in zip(columns, values, strict=True)
                if value is not None
            },
        )
        for label, values in rows.items()
    ]
