"""Figures 4 and 12 of Song & Mittal (2021): calibration of the risk score by architecture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.claims.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    ReferenceRows,
)
from privacygauge.claims.defences.defence import defend_predictions
from privacygauge.claims.defences.memguard import MemGuard
from privacygauge.classifiers.networks import MLP, SONG_MITTAL_2021
from privacygauge.classifiers.shadows import cohort_of, train_all
from privacygauge.core import seeds
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.papers.song2021 import LEVEL, PURCHASE, TEXAS, DataSetting, setting, states
from privacygauge.papers.song2021_calibration import (
    QUICK,
    MemberScores,
    Pair,
    accuracy_row,
    bin_rows,
    calibrations,
    diagonal,
    over_models,
    panels,
    plot_bins,
    score_pairs,
    title_panel,
)
from privacygauge.papers.song2021_tables import over_fits
from privacygauge.papers.song2021_training import NETWORKS, SHOWN, SMALL
from privacygauge.papers.table import Cell, Effort, Row, Table, part_of
from privacygauge.report.axes import legend
from privacygauge.runs.folder import kept_or_scratch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST = 0.09
"""Upper bound of the paper's root-mean-square errors without a defence."""

LARGEST_DEFENDED = 0.10
"""Upper bound of the paper's root-mean-square errors with a defence."""

REGULARISED = "adversarial regularisation"
NOISY = "MemGuard"
"""The defences of Figure 12."""

SCORE = "risk score"

PAIRS = 3
"""Pairs of a target and a shadow model per architecture; the quick form has one."""

EPOCHS = 20
"""Training epochs: enough for a network that learns at all to fit its members. The quick form has
`QUICK`."""

LEARNT = 0.5
"""Lowest accuracy on members of a network that counts as trained; others get no score."""

_NOTES = (
    "The paper's figure is of Purchase100, Texas100 and CIFAR-100. Of the first two it takes the "
    "user's copies (dataset_purchase, or feats and labels, in the folder that PRIVACYGAUGE_DATA "
    "names); without one Location30 stands in, and only the claim can be compared. The image "
    "networks of CIFAR-100 are not made.",
    "An architecture is (activation, width, depth): width 0.5 and 2 halve and double the hidden "
    "units of 1024-512-256-128, depth 3 leaves out the last hidden layer and depth 5 puts one of "
    "2048 units before the first. Adam at 3e-4, 20 epochs, target and shadow model alike.",
    "The paper prints one number: all errors are below 0.09. It stands beside the largest of ours, "
    "whose interval is corrected for its being the largest.",
    "A network that gets less than half of its members right is left out, as the paper leaves out "
    "the sigmoid network on Texas100 (4% accuracy).",
    "RMSE: bins weigh as many as they hold; bins alike: each weighs the same. Over pairs of a "
    "target and a shadow model; the intervals allow for records and pairs.",
)


_NOTES_12 = (
    "The paper's figure is of Purchase100 networks with adversarial regularisation and of Texas100 "
    "networks behind MemGuard. With copies of the user's (dataset_purchase, or feats and labels, "
    "in the folder that PRIVACYGAUGE_DATA names) so is this; without, Location30 stands in for "
    "both, and only the claim can be compared.",
    *_NOTES[1:2],
    f"Regularised: weight {SHOWN:g}, the shadow model with reference records of its own. MemGuard: "
    "of either model its own, fitted on all its members and half of its others, to answer the "
    "other half.",
    "The paper prints one number: all errors are below 0.10. It stands beside the largest of ours, "
    "whose interval is corrected for its being the largest.",
    *_NOTES[3:],
)


@dataclass(frozen=True)
class Architecture:
    """A network architecture of the figure's legend."""

    activation: str
    """`tanh`, `relu` or `sigmoid`."""
    width: float = 1.0
    """Factor on the number of units of every hidden layer."""
    depth: int = 4
    """Number of hidden layers: 3, 4 or 5."""

    @property
    def label(self) -> str:
        """Name in the paper's legend: (activation, width, depth)."""
        return f"({self.activation}, {self.width:g}, {self.depth})"

    @property
    def network(self) -> MLP:
        """Maker of the network."""
        # Depth 5 puts 2048 units first; depth 3 leaves out the last hidden layer.
        units = (2048, *SONG_MITTAL_2021.hidden)[5 - max(self.depth, 4) :][: self.depth]
        hidden = tuple(int(self.width * n) for n in units)
        return replace(SONG_MITTAL_2021, hidden=hidden, activation=self.activation)


def architectures(activation: str) -> tuple[Architecture, ...]:
    """Return the paper's seven architectures: its network of these data, and six single changes."""
    others = [name for name in ("relu", "tanh", "sigmoid") if name != activation]
    return (
        Architecture(activation),
        Architecture(activation, width=0.5),
        *(Architecture(name) for name in others),
        Architecture(activation, width=2.0),
        Architecture(activation, depth=3),
        Architecture(activation, depth=5),
    )


def song_fig4(effort: Effort) -> Table:
    """Return Figure 4: risk scores against the real share of members, by architecture.

    The quick form has two architectures, one pair of models each and six epochs, the full one
    seven, three and twenty.
    """
    # Without a copy both are Location30: a single entry.
    data = {one.name: one for one in (setting(name, effort.seed) for name in (PURCHASE, TEXAS))}
    parts = [
        (one, shape)
        for one in data.values()
        for shape in architectures(one.activation)[: 2 if effort.quick else None]
    ]
    trained = (
        (
            f"{one.name} {shape.label}",
            _pairs(one, shape, effort, number=number, parts=len(parts)),
        )
        for number, (one, shape) in enumerate(parts)
    )
    title = f"Song & Mittal (2021), Figure 4, on {' and '.join(data)}"
    return Table("song-fig4", title, _rows(trained, LARGEST, effort.seed), _NOTES)


def song_fig12(effort: Effort) -> Table:
    """Return Figure 12: Figure 4 for networks with adversarial regularisation or MemGuard.

    The quick form has two architectures for each, one pair of models each and six epochs, the
    full one seven, three and twenty.
    """
    most = 2 if effort.quick else None
    parts = [
        (setting(wanted, effort.seed), defence, shape)
        for wanted, defence, activation in ((PURCHASE, REGULARISED, "tanh"), (TEXAS, NOISY, "relu"))
        for shape in architectures(activation)[:most]
    ]
    trained = (
        (
            f"{one.name}, {defence} {shape.label}",
            (_regularised_pairs if defence == REGULARISED else _noisy)(
                one, shape, effort, number=number, parts=len(parts)
            ),
        )
        for number, (one, defence, shape) in enumerate(parts)
    )
    data = dict.fromkeys(one.name for one, _, _ in parts)
    title = f"Song & Mittal (2021), Figure 12, on {' and '.join(data)}"
    rows = _rows(trained, LARGEST_DEFENDED, effort.seed)
    return Table("song-fig12", title, rows, _NOTES_12)


def _rows(trained: Iterable[tuple[str, Sequence[Pair]]], most: float, seed: int) -> tuple[Row, ...]:
    """Return the rows of a figure: accuracies and errors by architecture, largest error, bins."""
    summary = []
    bins = []
    widest: list[tuple[Sequence[MemberScores], str]] = []
    for name, pairs in trained:
        summary.append(accuracy_row(name, pairs))
        right = [
            x.values.argmax(axis=1)[x.member] == x.labels[x.member]
            for x in (p.target for p in pairs)
        ]
        # A network that did not learn its own members gives nothing to be attacked.
        if any(float(np.mean(hits)) < LEARNT for hits in right):
            summary.append(Row(f"{name}: RMSE", {SCORE: Cell(None, _NOTHING)}))
            continue
        found = score_pairs(pairs, seed, (SCORE,))
        widest.append((found, name))
        some = calibrations(found, SCORE, seed, LEVEL)
        alike = over_models([one.rmse_of_bins for one in some], "bins alike", least=0.0)
        summary.append(
            Row(
                f"{name}: RMSE",
                {
                    SCORE: Cell(None, over_fits([one.rmse for one in some])),
                    f"{SCORE}, bins alike": Cell(None, alike),
                },
            )
        )
        bins += bin_rows(name, found, (SCORE,))
    summary.append(Row("largest RMSE", {SCORE: Cell(most, _largest(widest, seed))}))
    return (*summary, *bins)


def draw_fig4(table: Table) -> Figure:
    """Return the figure: one panel per data set, one curve per architecture."""
    names = [row.label.removesuffix(": RMSE") for row in table.rows if row.label.endswith(": RMSE")]
    data = list(dict.fromkeys(name.split(" (", 1)[0] for name in names))
    figure, axes = panels(1, len(data))
    for ax, title in zip(axes, data, strict=True):
        own = [name for name in names if name.startswith(f"{title} (")]
        for number, name in enumerate(own):
            plot_bins(
                ax,
                table,
                name=name,
                score=SCORE,
                number=number,
                label=name.removeprefix(f"{title} "),
            )
        diagonal(ax)
        title_panel(ax, title, "Mean privacy risk score", "Real share of members")
        legend(ax, loc="upper left")
    return figure


_NOTHING = Skipped(SCORE, "the network has not learnt its members")


def _pairs(
    data: DataSetting, shape: Architecture, effort: Effort, number: int, parts: int
) -> list[Pair]:
    n = effort.some(PAIRS, 1)
    networks = replace(NETWORKS, make=shape.network, epochs=QUICK if effort.quick else EPOCHS)
    # Rows: n targets, then n shadow models; the logits have the same order.
    inside = np.repeat([side.inside(len(data.y)) for side in data.sides], n, axis=0)
    own = states(effort.seed, 0, n) + states(effort.seed, 1, n)
    with kept_or_scratch(effort.run) as folder:
        values = train_all(
            networks,
            cohort_of(
                data.x, data.y, inside, effort.seed, asked=np.arange(data.n_asked), states=own
            ),
            seed=effort.seed,
            run=Path(folder) / f"{data.name}-{number}",
            n_jobs=effort.n_jobs,
            progress=part_of(effort, number, parts),
        )
    target, shadow = data.sides
    return [
        Pair(target.predictions(values[i], data.y), shadow.predictions(values[n + i], data.y))
        for i in range(n)
    ]


def _regularised_pairs(
    data: DataSetting, shape: Architecture, effort: Effort, number: int, parts: int
) -> list[Pair]:
    """Return pairs of regularised models; target and shadow have reference records of their own."""
    n = effort.some(PAIRS, 1)
    networks = replace(NETWORKS, make=shape.network, epochs=QUICK if effort.quick else EPOCHS)
    sides = []
    with kept_or_scratch(effort.run) as folder:
        for role, side in enumerate(data.sides):
            reference = ReferenceRows(tuple(side.reference))
            values = train_all(
                AdversarialRegularisation(networks, SHOWN, reference, SMALL),
                cohort_of(
                    data.x,
                    data.y,
                    np.repeat([side.inside(len(data.y))], n, axis=0),
                    effort.seed,
                    asked=np.arange(data.n_asked),
                    states=states(effort.seed, role, n),
                ),
                seed=effort.seed,
                run=Path(folder) / f"{data.name}-{number}-{role}",
                n_jobs=effort.n_jobs,
                progress=part_of(effort, 2 * number + role, 2 * parts),
            )
            sides.append([side.predictions(one, data.y) for one in values])
    return [Pair(target, shadow) for target, shadow in zip(*sides, strict=True)]


def _noisy(
    data: DataSetting, shape: Architecture, effort: Effort, number: int, parts: int
) -> list[Pair]:
    """Return pairs of undefended models behind MemGuard, a separate one for each model."""
    found = []
    for i, pair in enumerate(_pairs(data, shape, effort, number=number, parts=parts)):
        rngs = [seeds.stream(effort.seed, "memguard", number, i, role) for role in range(2)]
        target = defend_predictions(MemGuard(), pair.target, rngs[0])
        found.append(Pair(target, defend_predictions(MemGuard(), pair.shadow, rngs[1])))
    return found


def _largest(found: Sequence[tuple[Sequence[MemberScores], str]], seed: int) -> Estimate | Skipped:
    """Return the largest error, with an interval that holds for all architectures at once."""
    if not found:
        return _NOTHING
    # Bonferroni: all intervals together miss with probability 1 - LEVEL at most, so that the
    # largest of the true errors is between the largest of the lower and of the upper limits.
    level = 1 - (1 - LEVEL) / len(found)
    errors = [
        over_fits([one.rmse for one in calibrations(some, SCORE, seed, level)]) for some, _ in found
    ]
    most = max(errors, key=lambda one: one.value)
    # The largest lower limit may be another architecture's, above the largest estimate.
    low = max(one.low for one in errors)
    high = max(one.high for one in errors)
    method = f"{most.method}; Bonferroni over {len(errors)} architectures"
    return Estimate(
        value=most.value, low=min(low, most.value), high=high, level=LEVEL, n=most.n, method=method
    )
