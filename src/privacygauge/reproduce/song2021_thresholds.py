"""Table 3 of Song & Mittal (2021): one threshold, or one for each class, on Location30."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from privacygauge.classifier.game import PredictionGame
from privacygauge.classifier.predictions import Predictions
from privacygauge.classifier.suite import METRICS
from privacygauge.core import seeds
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Play
from privacygauge.evaluate.defences import accuracy_lost
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.playing import audit
from privacygauge.reproduce.song2021 import LEVEL
from privacygauge.reproduce.song2021_defences import over_fits
from privacygauge.reproduce.song2021_printed import TABLE_3, printed_rows
from privacygauge.reproduce.song2021_settings import TEXAS, available, own_note
from privacygauge.reproduce.song2021_white_box import over_pairs, white_box_pairs
from privacygauge.reproduce.table import Cell, Effort, Row, Table

SIGNALS = tuple(signal for signal in METRICS if signal != "correctness")
"""Whose threshold is learnt: right or wrong needs none."""

_NOTES = (
    "The paper's numbers are on Texas100, which is not available. There thresholds for each class "
    "gain 1 to 4 points.",
    "Authors and MemGuard: the predictions that come with the paper's code, without a defence and "
    "with MemGuard; thresholds from their shadow model, defended as the target is. Alike: models "
    "trained here, as in song-table4, with a shadow model that is trained as the target is.",
    "Gain: of the same records' guesses, paired. Alike: mean over pairs of models; the intervals "
    "allow for the records and for the pairs.",
)

_Played = Mapping[tuple[str, bool], tuple[Play, Evaluation]]


def song_table3(effort: Effort) -> Table:
    """Return Table 3: accuracy with one threshold, with one for each class, and the difference."""
    data = available(TEXAS)
    found = {
        name: [_play_thresholds(target, shadow, effort.seed) for target, shadow in sides]
        for name, sides in white_box_pairs(effort, data).items()
    }
    rows = [row for signal in SIGNALS for row in _rows(signal, found, data)]
    rows += printed_rows(TABLE_3)
    title = f"Song & Mittal (2021), Table 3, on {data}"
    return Table("song-table3", title, tuple(rows), (*own_note(data), *_NOTES))


def _play_thresholds(target: Predictions, shadow: Predictions, seed: int) -> _Played:
    """Return every attack's guesses and evaluation, by signal and whether classes differ."""
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


def _rows(signal: str, found: Mapping[str, Sequence[_Played]], data: str) -> list[Row]:
    one = f"{signal}, one threshold"
    several = f"{signal}, one for each class"

    def accuracies(label: str, per_class: bool) -> dict[str, Cell]:
        # The first column of the paper is its undefended model, as ours is.
        printed = TABLE_3[1].get(f"{data}: {label}", (None,))[0]
        return {
            name: Cell(
                printed if name == "alike" else None,
                over_fits([fit[signal, per_class][1].accuracy for fit in fits]),
            )
            for name, fits in found.items()
        }

    gains = {
        name: Cell(None, over_pairs([_gain(signal, fit) for fit in fits]))
        for name, fits in found.items()
    }
    return [
        Row(one, accuracies(one, False)),
        Row(several, accuracies(several, True)),
        Row(f"{signal}, gain", gains),
    ]


def _gain(signal: str, fit: _Played) -> Estimate:
    return accuracy_lost(fit[signal, True][0].decisions, fit[signal, False][0].decisions, LEVEL)
