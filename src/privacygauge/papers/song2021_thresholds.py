"""Table 3 of Song & Mittal (2021): one threshold for all classes, or one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.suite import METRICS
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Play
from privacygauge.evaluate.defences import accuracy_lost
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.playing import audit
from privacygauge.papers.song2021 import (
    LEVEL,
    LOCATION,
    TABLE_3,
    TEXAS,
    available,
    own_note,
    printed_rows,
    setting,
)
from privacygauge.papers.song2021_calibration import CLASSIFIERS, classifiers
from privacygauge.papers.song2021_tables import authors_predictions, over_fits, over_pairs
from privacygauge.papers.table import Cell, Effort, Row, Table

SIGNALS = tuple(signal for signal in METRICS if signal != "correctness")
"""Signals with a learnt threshold; correctness needs none."""

AUTHORS = ("authors", "MemGuard")
"""Views of the predictions that come with the paper's code; its Table 3 does not have them."""

_NOTES = (
    "The paper's numbers are on Texas100, which is not available. There thresholds for each class "
    "gain 1 to 4 points.",
    f"{', '.join(CLASSIFIERS)}: the classifiers of song-fig3, which are trained as those of "
    "song-table2 (1024-512-256-128 tanh), with a shadow model that is trained as the target is. "
    "Authors and MemGuard: the predictions on Location30 that come with the paper's code, without "
    "a defence and with MemGuard; thresholds from their shadow model, defended as the target is.",
    "Gain: of the same records' guesses, paired. Of the classifiers trained here: mean over pairs "
    "of models; the intervals allow for the records and for the pairs.",
)

_Played = Mapping[tuple[str, bool], tuple[Play, Evaluation]]


def song_table3(effort: Effort) -> Table:
    """Return Table 3: accuracy with one threshold, with one per class, and the difference.

    The quick form has one pair of models and six epochs, the full one three and forty.
    """
    data = available(TEXAS)
    views: dict[str, list[tuple[Predictions, Predictions]] | Skipped] = {}
    if data == LOCATION:
        for name, key in zip(AUTHORS, ("tc_output", "defense_output"), strict=True):
            views[name] = [authors_predictions(key)]
    for kind, pairs in classifiers(setting(data, effort.seed), effort).items():
        views[kind] = (
            pairs if isinstance(pairs, Skipped) else [(pair.target, pair.shadow) for pair in pairs]
        )
    found = {
        name: sides
        if isinstance(sides, Skipped)
        else [_play(target, shadow, effort.seed) for target, shadow in sides]
        for name, sides in views.items()
    }
    rows = [row for signal in SIGNALS for row in _rows(signal, found, data)]
    rows += printed_rows(TABLE_3)
    title = f"Song & Mittal (2021), Table 3, on {data}"
    return Table("song-table3", title, tuple(rows), (*own_note(data), *_NOTES))


def _play(target: Predictions, shadow: Predictions, seed: int) -> _Played:
    """Return (signal, threshold per class or not) to guesses and evaluation of the attack."""
    rounds = PredictionGame(target, shadow).deal(1, seeds.stream(seed, "deal"))
    attacks = {
        (signal, per_class): Threshold(signal, per_class)
        for signal in SIGNALS
        for per_class in (False, True)
    }
    played = {}
    results = audit(rounds, list(attacks.values()), seed=seed, level=LEVEL)
    for key, result in zip(attacks, results, strict=True):
        assert not isinstance(result, Skipped)  # predictions have these signals
        played[key] = result
    return played


def _rows(signal: str, found: Mapping[str, Sequence[_Played] | Skipped], data: str) -> list[Row]:
    labels = (f"{signal}, one threshold", f"{signal}, one for each class", f"{signal}, gain")
    rows: dict[str, dict[str, Cell]] = {label: {} for label in labels}
    columns, printed = TABLE_3
    for name, fits in found.items():
        for per_class, label in enumerate(labels[:2]):
            # On the stand-in no row of the paper has this label.
            known = dict(zip(columns, printed.get(f"{data}: {label}", ()), strict=False))
            ours = (
                fits
                if isinstance(fits, Skipped)
                else over_fits([fit[signal, bool(per_class)][1].accuracy for fit in fits])
            )
            rows[label][name] = Cell(known.get(name), ours)
        if isinstance(fits, Skipped):
            rows[labels[2]][name] = Cell(None, fits)
            continue
        # Guesses on the same records: `accuracy_lost` compares them record by record.
        guesses = [
            (fit[signal, True][0].decisions, fit[signal, False][0].decisions) for fit in fits
        ]
        gains = over_pairs([accuracy_lost(*pair, LEVEL) for pair in guesses])
        rows[labels[2]][name] = Cell(None, gains)
    return [Row(label, cells) for label, cells in rows.items()]
