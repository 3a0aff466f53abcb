"""The tables and figures of Song & Mittal (2021), and what became of them."""

from __future__ import annotations

from privacygauge.reproduce.item import Item, Status
from privacygauge.reproduce.song2021_claims import JUDGEMENTS

__all__ = ["ITEMS", "JUDGEMENTS", "PAPER"]

PAPER = "Song & Mittal (2021)"

_LOCATION = "Purchase100 and Texas100 cannot be fetched; Location30 stands in"

ITEMS = (
    Item(
        "song-table1",
        PAPER,
        "Table 1",
        "defences benchmarked",
        Status.PARTLY,
        "its row of Location30 with MemGuard; Purchase100 and Texas100 cannot be fetched",
        ("song-table4-defences",),
    ),
    Item("song-table2", PAPER, "Table 2", "early stopping", Status.STAND_IN, _LOCATION),
    Item("song-table3", PAPER, "Table 3", "thresholds", Status.STAND_IN, _LOCATION),
    Item(
        "song-table4",
        PAPER,
        "Table 4",
        "MemGuard: undefended",
        Status.PARTLY,
        "its row of Location30, on the paper's records; Texas100 cannot be fetched",
    ),
    Item(
        "song-table4-defences",
        PAPER,
        "Table 4",
        "MemGuard: defended",
        Status.PARTLY,
        "its row of Location30, on the authors' predictions; Texas100 cannot be fetched",
    ),
    Item("song-table5", PAPER, "Table 5", "white box", Status.STAND_IN, _LOCATION),
    Item("song-table6", PAPER, "Table 6", "risk thresholds", Status.STAND_IN, _LOCATION),
    Item(
        "song-table7",
        PAPER,
        "Table 7",
        "image data",
        Status.NOT_POSSIBLE,
        "CH-MNIST, Car196 and the pretrained ResNet-50 are not available, and nothing like them",
    ),
    Item(
        "song-fig1",
        PAPER,
        "Figure 1",
        "risk scores of three data sets",
        Status.PARTLY,
        "its curve of Location30, on the authors' predictions; Purchase100 cannot be fetched, and "
        "the network for CIFAR-100 is not available",
        ("song-fig6",),
    ),
    Item("song-fig2", PAPER, "Figure 2", "accuracy by epoch", Status.STAND_IN, _LOCATION),
    Item("song-fig3", PAPER, "Figure 3", "calibration by defence", Status.STAND_IN, _LOCATION),
    Item(
        "song-fig4",
        PAPER,
        "Figure 4",
        "calibration by architecture",
        Status.STAND_IN,
        f"{_LOCATION}; the convolutional networks on CIFAR-100 are left out",
    ),
    Item("song-fig5", PAPER, "Figure 5", "risk scores by defence", Status.STAND_IN, _LOCATION),
    Item("song-fig6", PAPER, "Figure 6", "risk scores with MemGuard", Status.STAND_IN, _LOCATION),
    Item("song-fig7", PAPER, "Figure 7", "influence", Status.STAND_IN, _LOCATION),
    Item("song-fig8", PAPER, "Figure 8", "by class", Status.STAND_IN, _LOCATION),
    Item("song-fig9", PAPER, "Figure 9", "features by class", Status.STAND_IN, _LOCATION),
    Item("song-fig10", PAPER, "Figure 10", "priors", Status.STAND_IN, _LOCATION),
    Item("song-fig11", PAPER, "Figure 11", "calibration, MemGuard", Status.STAND_IN, _LOCATION),
    Item(
        "song-fig12",
        PAPER,
        "Figure 12",
        "calibration by architecture, defended",
        Status.NOT_POSSIBLE,
        "the defended classifiers of Purchase100 and Texas100 cannot be made without the data; on "
        "Location30 the undefended ones of Figure 4 are made",
    ),
)
"""All that the paper prints."""
