"""What `privacygauge language train-reference` was asked, and doing it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import cast

from privacygauge.cli.progress import bar
from privacygauge.language.precision import Precision
from privacygauge.language.text_files import Columns, load_texts
from privacygauge.language.training import TrainedModel, train_reference


@dataclass(frozen=True)
class ReferenceRequest:
    """What `privacygauge language train-reference` was asked."""

    texts: str
    """File of texts; none of them judged later, nor of the population."""
    out: str
    """Folder for the model."""
    text: str = "text"
    """Column of the texts."""
    layers: int = 2
    """Layers of the model."""
    hidden: int = 128
    """Numbers that stand for a token inside of it."""
    vocabulary: int = 4096
    """The most tokens."""
    epochs: int = 40
    """How often every text is seen."""
    device: str = "cpu"
    """Where it is trained."""
    precision: str = "float32"
    """What it computes in."""
    seed: int = 0
    """All random draws derive from it."""


def reference_of_request(request: ReferenceRequest, *, quiet: bool) -> TrainedModel:
    """Return the reference model that was asked for, going on where it was stopped."""
    texts = load_texts(request.texts, Columns(request.text)).text
    try:
        with bar("Training", quiet) as progress:
            return train_reference(
                texts,
                request.out,
                layers=request.layers,
                hidden=request.hidden,
                vocabulary=request.vocabulary,
                epochs=request.epochs,
                device=request.device,
                precision=cast(Precision, request.precision),
                seed=request.seed,
                progress=progress,
            )
    except KeyboardInterrupt:
        print("\nprivacygauge: go on with the same command", file=sys.stderr)
        raise
