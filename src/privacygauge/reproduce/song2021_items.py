"""The tables and figures of Song & Mittal (2021), and what became of them."""

from __future__ import annotations

from privacygauge.reproduce.item import Status, items
from privacygauge.reproduce.song2021_claims import JUDGEMENTS

__all__ = ["ITEMS", "JUDGEMENTS", "PAPER"]

PAPER = "Song & Mittal (2021)"

_LOCATION = "Purchase100 and Texas100 cannot be fetched; Location30 stands in"

ITEMS = items(
    PAPER, "song",
    ("table1", "defences benchmarked", Status.PARTLY,
     "its row of Location30 with MemGuard; Purchase100 and Texas100 cannot be fetched",
     "song-table4-defences"),
    ("table2", "early stopping", Status.STAND_IN, _LOCATION),
    ("table3", "thresholds", Status.STAND_IN, _LOCATION),
    ("table4", "MemGuard: undefended", Status.PARTLY,
     "its row of Location30, on the paper's records; Texas100 cannot be fetched"),
    ("table4-defences", "MemGuard: defended", Status.PARTLY,
     "its row of Location30, on the authors' predictions; Texas100 cannot be fetched"),
    ("table5", "white box", Status.STAND_IN, _LOCATION),
    ("table6", "risk thresholds", Status.STAND_IN, _LOCATION),
    ("table7", "image data", Status.NOT_POSSIBLE,
     "CH-MNIST, Car196 and the pretrained ResNet-50 are not available, and nothing like them"),
    ("fig1", "risk scores of three data sets", Status.PARTLY,
     "its curve of Location30, on the authors' predictions; Purchase100 cannot be fetched, and "
     "the network for CIFAR-100 is not available",
     "song-fig6"),
    ("fig2", "accuracy by epoch", Status.STAND_IN, _LOCATION),
    ("fig3", "calibration by defence", Status.STAND_IN, _LOCATION),
    ("fig4", "calibration by architecture", Status.STAND_IN,
     f"{_LOCATION}; the convolutional networks on CIFAR-100 are left out"),
    ("fig5", "risk scores by defence", Status.STAND_IN, _LOCATION),
    ("fig6", "risk scores with MemGuard", Status.STAND_IN, _LOCATION),
    ("fig7", "influence", Status.STAND_IN, _LOCATION),
    ("fig8", "by class", Status.STAND_IN, _LOCATION),
    ("fig9", "features by class", Status.STAND_IN, _LOCATION),
    ("fig10", "priors", Status.STAND_IN, _LOCATION),
    ("fig11", "calibration, MemGuard", Status.STAND_IN, _LOCATION),
    ("fig12", "calibration by architecture, defended", Status.NOT_POSSIBLE,
     "the defended classifiers of Purchase100 and Texas100 cannot be made without the data; on "
     "Location30 the undefended ones of Figure 4 are made"),
)  # fmt: skip
"""All that the paper prints."""
