"""Figures 3 and 5 and half of Table 6 of Song & Mittal (2021): risk scores by defence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import ks_2samp

from privacygauge.claims.defences.adversarial_regularisation import (
    AdversarialRegularisation,
    ReferenceRows,
)
from privacygauge.claims.defences.early_stopping import EarlyStopping, first_epoch
from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.neural import Network, NeuralNasr
from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.shadows import cohort_of
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import Histogram, Isotonic, RiskScore
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Play, play
from privacygauge.core.rules import halves
from privacygauge.evaluate.rates import mean, proportion
from privacygauge.evaluate.risk import Reliability, reliability
from privacygauge.papers.song2021 import LEVEL, PURCHASE, DataSetting, setting, states
from privacygauge.papers.song2021_tables import over_fits, over_pairs
from privacygauge.papers.song2021_training import (
    NETWORKS,
    SHOWN,
    SMALL,
    EpochWork,
    Trained,
    models_by_epoch,
)
from privacygauge.papers.table import Cell, Effort, Row, Table, part_of
from privacygauge.report.axes import DASHES, INK, OTHER, SERIES, SIZE, legend, style_axes
from privacygauge.runs.folder import kept_or_scratch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# The three classifiers of Figures 3 and 5 of Song & Mittal (2021), and their members' scores.

UNDEFENDED = "no defence"
REGULARISED = "adversarial regularisation"
STOPPED = "early stopping"

CLASSIFIERS = (UNDEFENDED, REGULARISED, STOPPED)
"""Classifiers in the paper's order."""

PAIRS = 3
"""Pairs of a target and a shadow model in the full form; the quick form has one."""

QUICK = 6
"""Training epochs of the quick form."""

EARLY = tuple(range(1, 6))
"""Epochs after which training may stop early."""

LONG = NeuralNasr(Network(epochs=500))
"""Attack network trained for ten times as many epochs as the library's."""

ATTACKS: Mapping[str, Attack] = {
    "risk score": RiskScore(estimator=Histogram()),
    "risk score, isotonic": RiskScore(estimator=Isotonic()),
    "network": NeuralNasr(),
    "network, trained long": LONG,
}
"""Estimators of the probability of membership that learn on a shadow model."""

TAUGHT = "network on the target"
"""The paper's attack network, which learns on the target's own answers: here on those to one half
of its records, to be judged on the other."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Predictions of a target and of a shadow model trained alike."""

    target: Predictions
    """Predictions of the target on its members and as many non-members."""
    shadow: Predictions
    """Predictions of the shadow model on its own members and non-members."""


@dataclass(frozen=True, eq=False)
class MemberScores:
    """Membership scores of one target's n records, learnt on its shadow model."""

    member: Bools
    """(n,) True for a member."""
    by_name: Mapping[str, Floats]
    """Name of `ATTACKS` to the probability of membership, (n,) in [0, 1]."""


def classifiers(setting: DataSetting, effort: Effort) -> Mapping[str, list[Pair] | Skipped]:
    """Return pairs of models without a defence, regularised, and stopped early.

    The undefended model stops after the first epoch whose accuracy is not below the regularised
    model's, on records on which no attack is judged. Figures 3 and 5 share the folder of models.
    """
    n = effort.some(PAIRS, 1)
    kept = effort.shared(
        f"song-classifiers-{setting.name}-{n}-seed-{effort.seed}" + "-quick" * effort.quick
    )
    with kept_or_scratch(kept) as folder:
        plain, regularised = (
            [
                _logits(setting, kind, role=role, n=n, effort=effort, folder=Path(folder))
                for role in range(2)
            ]
            for kind in range(2)
        )
    # plain and regularised: logits by role, each (n, e, a, k): models, epochs, records, classes.
    ends = [_epoch(setting, plain[0][i], regularised[0][i]) for i in range(n)]
    missing = next((end for end in ends if isinstance(end, Skipped)), None)
    early = [EARLY.index(end) for end in ends if not isinstance(end, Skipped)]
    return {
        UNDEFENDED: _pairs(setting, plain, [-1] * n),
        REGULARISED: _pairs(setting, regularised, [-1] * n),
        STOPPED: _pairs(setting, plain, early) if missing is None else missing,
    }


def score_pairs(pairs: Sequence[Pair], seed: int, names: Sequence[str]) -> list[MemberScores]:
    """Return the probabilities of membership by these of `ATTACKS`, or by `TAUGHT`."""
    scored = []
    for number, pair in enumerate(pairs):
        rounds = PredictionGame(pair.target, pair.shadow).deal(1, seeds.stream(seed, "deal"))
        found = {}
        for name in names:
            if name == TAUGHT:
                found[name] = taught_on_target(ATTACKS["network"], pair.target, seed + number)
                continue
            played = play(ATTACKS[name], rounds, [seeds.stream(seed, name, number)])
            assert isinstance(played, Play)  # predictions with a shadow give all that these need
            # A network's score is its log-odds.
            score = played.transcript.score
            found[name] = expit(score) if name.startswith("network") else score
        scored.append(MemberScores(pair.target.member, found))
    return scored


def taught_on_target(network: Attack, target: Predictions, seed: int) -> Floats:
    """Return the probabilities of membership that a network learns on the target itself, (n,).

    It learns from one half of the records, whose membership is known, and is asked about the
    other, both ways: asked about what it learnt, it would repeat it.

    Parameters
    ----------
    network : Attack
        Attack whose scores are log-odds.
    target : Predictions
        Predictions for n records.
    seed : int
    """
    first = halves(target.units, target.member, seed=seed)
    found = np.empty(len(target))
    for number, asked in enumerate((first, ~first)):
        judged, known = (
            replace(
                target,
                answers=target.answers[rows],
                labels=target.labels[rows],
                member=target.member[rows],
                ids=target.ids[rows],
            )
            for rows in (asked, ~asked)
        )
        rounds = PredictionGame(judged, known).deal(1, seeds.stream(seed, "deal"))
        played = play(network, rounds, [seeds.stream(seed, TAUGHT, number)])
        assert isinstance(played, Play)  # predictions with a shadow give all that it needs
        found[asked] = expit(played.transcript.score)
    return found


def _logits(
    setting: DataSetting, kind: int, role: int, n: int, effort: Effort, folder: Path
) -> NDArray[Any]:
    """Return the logits of n models after each epoch, (n, e, a, k).

    Kind 0 is undefended and 1 regularised; role 0 is a target and 1 a shadow model.
    """
    networks = replace(NETWORKS, epochs=QUICK) if effort.quick else NETWORKS
    side = setting.sides[role]
    last = networks.epochs
    trainer: Trained = EarlyStopping(networks)
    if kind:
        reference = ReferenceRows(tuple(side.reference))
        trainer = AdversarialRegularisation(networks, SHOWN, reference, SMALL)
    inside = np.repeat([side.inside(len(setting.y))], n, axis=0)
    # By role and not by kind: a regularised model starts from the weights of its
    # undefended counterpart.
    own = states(effort.seed, role, n)
    rows = np.arange(setting.n_asked)
    cohort = cohort_of(setting.x, setting.y, inside, effort.seed, asked=rows, states=own)
    work = EpochWork(trainer, cohort, (last,) if kind else (*EARLY, last))
    run = folder / f"kind-{kind}-role-{role}"
    told = part_of(effort, 2 * kind + role, 4)
    found = models_by_epoch(work, run, seed=effort.seed, n_jobs=effort.n_jobs, progress=told)
    return np.concatenate([one.logits for one in found])


def _epoch(setting: DataSetting, plain: NDArray[Any], regularised: NDArray[Any]) -> int | Skipped:
    """Return the epoch after which training stops, chosen on the shadow model's records."""
    # The target never saw these records, and no attack on it is judged on them. The last epoch of
    # `plain` is the end of its training, not a candidate.
    rows = setting.sides[1].rows
    right = plain[:-1, rows].argmax(axis=2) == setting.y[rows]
    wanted = regularised[-1, rows].argmax(axis=1) == setting.y[rows]
    return first_epoch(EARLY, right.mean(axis=1), float(wanted.mean()))


def _pairs(
    setting: DataSetting, logits: Sequence[NDArray[Any]], epochs: Sequence[int]
) -> list[Pair]:
    target, shadow = setting.sides
    return [
        Pair(
            target.predictions(logits[0][i, epoch], setting.y),
            shadow.predictions(logits[1][i, epoch], setting.y),
        )
        for i, epoch in enumerate(epochs)
    ]


BINS = 10
"""Number of equal bins of [0, 1]."""

LEAST = 10
"""Fewest records of every target in a bin that counts."""


def bin_label(name: str, number: int) -> str:
    """Return the label of a bin's row; `number` counts from 0."""
    low = number / BINS
    high = (number + 1) / BINS
    return f"{name}: score in [{low:g}, {high:g}{']' if number == BINS - 1 else ')'}"


def bin_rows(name: str, found: Sequence[MemberScores], scores: Sequence[str]) -> list[Row]:
    """Return one row per bin: share of all members in it, share of members there, mean score."""
    return [
        Row(
            bin_label(name, number),
            {key: cell for score in scores for key, cell in _bin(found, score, number).items()},
        )
        for number in range(BINS)
    ]


def calibrations(
    found: Sequence[MemberScores], score: str, seed: int, level: float
) -> list[Reliability]:
    """Return each target's reliability: the distance of scores from the real share of members."""
    rngs = [seeds.stream(seed, "bootstrap", score, i) for i in range(len(found))]
    return [
        reliability(one.by_name[score], one.member, rng, n_bins=BINS, level=level)
        for one, rng in zip(found, rngs, strict=True)
    ]


def over_models(
    values: Sequence[float], name: str, *, least: float = -np.inf
) -> Estimate | Skipped:
    """Return the mean over pairs of models, never below `least`; skipped for a single pair."""
    if len(values) < 2:
        return Skipped(name, "one pair of models shows no spread: make the full form")
    return mean(np.array(values), LEVEL, unit="pairs", least=least)


def plot_bins(ax: Axes, table: Table, name: str, score: str, number: int, label: str) -> None:
    """Draw the real share of members against the mean score of each bin."""
    labels = [bin_label(name, i) for i in range(BINS)]
    x = measured_by_place(cells(table, labels, f"{score}: mean score"))
    y = measured_by_place(cells(table, labels, f"{score}: share of members"))
    colour = SERIES[number % len(SERIES)]
    places = sorted(set(x) & set(y))
    if not places:
        return
    at = [x[i].value for i in places]
    ax.vlines(at, [y[i].low for i in places], [y[i].high for i in places], color=colour, lw=1.0)
    ax.plot(
        at,
        [y[i].value for i in places],
        color=colour,
        ls=DASHES[number] if number < len(DASHES) else (0, (2, 4)),
        lw=1.4,
        marker="o",
        ms=3,
        label=label,
    )


def panels(rows: int, columns: int) -> tuple[Figure, list[Axes]]:
    """Return a figure and its panels, row by row."""
    # Not by pyplot, which would keep the figure and may open a window.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(SIZE[0] * columns, SIZE[1] * rows), layout="constrained")
    return figure, [style_axes(ax) for ax in figure.subplots(rows, columns, squeeze=False).flat]


def title_panel(ax: Axes, title: str, x: str, y: str) -> None:
    """Set the title of a panel and the labels of its axes."""
    ax.set_title(title, fontsize=9, loc="left", color=INK)
    ax.set(xlabel=x, ylabel=y)


def diagonal(ax: Axes) -> None:
    """Draw the diagonal, on which a calibrated score lies."""
    ax.plot([0, 1], [0, 1], color=OTHER, lw=0.9, ls=(0, (1, 2)), zorder=1, label="ideal")
    ax.set(xlim=(0, 1), ylim=(0, 1))


def cells(table: Table, labels: Sequence[str], column: str) -> list[Cell | None]:
    """Return the cells of a column in these rows; None for a missing cell."""
    rows = {row.label: row.cells for row in table.rows}
    return [rows.get(label, {}).get(column) for label in labels]


def measured_by_place(given: Sequence[Cell | None]) -> dict[int, Estimate]:
    """Return place to estimate, for the cells with a measurement."""
    found = [None if cell is None else cell.ours for cell in given]
    return {place: ours for place, ours in enumerate(found) if isinstance(ours, Estimate)}


def _bin(found: Sequence[MemberScores], score: str, number: int) -> dict[str, Cell]:
    # The bins of `reliability`; a score of 1 is in the last one.
    held = [
        np.clip((one.by_name[score] * BINS).astype(np.int64), 0, BINS - 1) == number
        for one in found
    ]
    pairs = list(zip(found, held, strict=True))
    here = over_fits([proportion(rows[one.member], level=LEVEL) for one, rows in pairs])
    # A bin counts only if it has enough records of every target, so that all pairs are in the mean.
    fewest = min(int(np.count_nonzero(rows)) for rows in held)
    share: Estimate | Skipped = Skipped(
        f"{score}, bin {number + 1}", f"{fewest} records, and at least {LEAST} are needed"
    )
    middle = share
    if fewest >= LEAST:
        share = over_fits([proportion(one.member[rows], level=LEVEL) for one, rows in pairs])
        values = [one.by_name[score][rows] for one, rows in pairs]
        middle = over_pairs([mean(some, LEVEL, unit="records") for some in values])
    return {
        f"{score}: of the members": Cell(None, here),
        f"{score}: share of members": Cell(None, share),
        f"{score}: mean score": Cell(None, middle),
    }


RMSE: Mapping[str, Mapping[str, float]] = {
    UNDEFENDED: {"risk score": 0.05, TAUGHT: 0.26},
    REGULARISED: {"risk score": 0.09, TAUGHT: 0.26},
    STOPPED: {"risk score": 0.06, TAUGHT: 0.25},
}
"""Printed root-mean-square errors on Purchase100, by classifier and score."""

ACCURACY: Mapping[str, tuple[float, float]] = {
    UNDEFENDED: (0.998, 0.809),
    REGULARISED: (0.927, 0.766),
    STOPPED: (0.929, 0.764),
}
"""Classifier to its printed accuracy on members and on others, on Purchase100 (Table 2)."""

DRAWN = ("risk score", "network")
"""Scores drawn in the figure."""

COPY = (
    "The paper's numbers are of Purchase100. With a copy of its own (dataset_purchase in the "
    "folder that PRIVACYGAUGE_DATA names) these are, too; without one they are of Location30, and "
    "only the claims can be compared."
)

_NOTES_3 = (
    COPY,
    "1024-512-256-128 tanh, Adam at 3e-4, 40 epochs. Regularised: weight 1. Early stopping: the "
    "undefended model after the first epoch that is as accurate as the regularised one, on "
    "records that nothing is judged on. Shadow models are trained alike on other records.",
    "RMSE: bins weigh as many as they hold. Bins alike: each weighs the same. Of a calibrated "
    "score: what luck alone would give on so many records.",
    "Risk score: the paper's histogram; isotonic: PrivacyGauge's default. Network: as Nasr et al. "
    "(2018) feed it, one hidden layer of 64 units, 50 epochs, on the shadow model. Trained long: "
    "500 epochs, without regard to records that it did not see. Network on the target: as in the "
    "paper it learns on the target's own answers, here to half of its records, and is judged on "
    "the other half, both ways.",
    "Over pairs of a target and a shadow model; the intervals allow for records and pairs.",
)


def song_fig3(effort: Effort) -> Table:
    """Return Figure 3: risk scores and a network's outputs against the real share of members.

    The quick form has one pair of models and six epochs, the full one three and forty.
    """
    data = setting(PURCHASE, effort.seed)
    names = (
        *(name for name in ATTACKS if not (effort.quick and name.endswith("long"))),
        TAUGHT,
    )
    rows: list[Row] = []
    for kind, pairs in classifiers(data, effort).items():
        if isinstance(pairs, Skipped):
            rows.append(Row(f"{kind}: RMSE", {"risk score": Cell(None, pairs)}))
            continue
        found = score_pairs(pairs, effort.seed, names)
        rows.append(accuracy_row(kind, pairs, ACCURACY[kind]))
        rows += _errors(kind, found, names, effort.seed)
        rows += bin_rows(kind, found, DRAWN)
    return Table(
        "song-fig3", f"Song & Mittal (2021), Figure 3, on {data.name}", tuple(rows), _NOTES_3
    )


def draw_fig3(table: Table) -> Figure:
    """Return the figure: members by score, and the real share of members, for both scores."""
    # One row of panels per score: a histogram for each classifier, then the calibration of all.
    figure, axes = panels(len(DRAWN), len(CLASSIFIERS) + 1)
    for row, score in enumerate(DRAWN):
        own = axes[row * (len(CLASSIFIERS) + 1) : (row + 1) * (len(CLASSIFIERS) + 1)]
        for number, kind in enumerate(CLASSIFIERS):
            ax = own[number]
            labels = [bin_label(kind, i) for i in range(BINS)]
            share = measured_by_place(cells(table, labels, f"{score}: of the members"))
            at = [(place + 0.5) / BINS for place in share]
            color = SERIES[number]
            ax.bar(at, [100 * one.value for one in share.values()], 0.9 / BINS, color=color)
            ax.set(xlim=(0, 1))
            title_panel(ax, kind, score[0].upper() + score[1:], "Members, %")
            plot_bins(own[-1], table, name=kind, score=score, number=number, label=kind)
        diagonal(own[-1])
        title_panel(own[-1], score, "Mean score", "Real share of members")
        legend(own[-1], loc="upper left")
    return figure


def accuracy_row(
    name: str, pairs: Sequence[Pair], published: tuple[float, float] | None = None
) -> Row:
    """Return the row of the targets' accuracies on their members and on others."""
    cells = {}
    for place, (column, inside) in enumerate((("on members", True), ("on others", False))):
        right = []
        for pair in pairs:
            rows = pair.target.member == inside
            guess = pair.target.values[rows].argmax(axis=1)
            right.append(proportion(guess == pair.target.labels[rows], level=LEVEL))
        paper = None if published is None else published[place]
        cells[column] = Cell(paper, over_fits(right))
    return Row(f"{name}: accuracy", cells)


def _errors(kind: str, found: Sequence[MemberScores], names: Sequence[str], seed: int) -> list[Row]:
    """Return the rows of a classifier's errors by score, and of the networks' excess error."""
    paper = RMSE[kind]
    by_name = {name: calibrations(found, name, seed, LEVEL) for name in names}
    own = [one.rmse.value for one in by_name["risk score"]]
    titles = ("RMSE", "RMSE, bins alike", "RMSE of a calibrated score", "RMSE less the score's")
    rows: list[dict[str, Cell]] = [{}, {}, {}, {}]
    for name, some in by_name.items():
        rows[0][name] = Cell(paper.get(name), over_fits([one.rmse for one in some]))
        alike = [one.rmse_of_bins for one in some]
        noise = [one.noise for one in some]
        rows[1][name] = Cell(None, over_models(alike, titles[1], least=0.0))
        rows[2][name] = Cell(None, over_models(noise, titles[2], least=0.0))
        if name.startswith("network"):
            # Paired by model; the paper prints rounded errors, so that the gap has two decimals.
            gap = round(paper[TAUGHT] - paper["risk score"], 2) if name == TAUGHT else None
            worse = [one.rmse.value - less for one, less in zip(some, own, strict=True)]
            rows[3][name] = Cell(gap, over_models(worse, titles[3]))
    return [Row(f"{kind}: {title}", row) for title, row in zip(titles, rows, strict=True)]


CUTS = tuple(round(0.05 * step, 2) for step in range(1, 21))
"""Scores at which the distribution is evaluated, 0.05 to 1."""

RECALL: Mapping[str, Mapping[float, float]] = {
    UNDEFENDED: {1.0: 0.0, 0.9: 0.0, 0.8: 0.0, 0.7: 0.078, 0.6: 0.551, 0.5: 0.909},
    REGULARISED: {1.0: 0.002, 0.9: 0.002, 0.8: 0.005, 0.7: 0.017, 0.6: 0.246, 0.5: 0.763},
    STOPPED: {1.0: 0.0, 0.9: 0.0, 0.8: 0.0, 0.7: 0.013, 0.6: 0.202, 0.5: 0.752},
}
"""Printed shares of members with at least a score, on Purchase100: the recall of Table 6."""

PRECISION: Mapping[str, Mapping[float, float]] = {
    UNDEFENDED: {0.7: 0.634, 0.6: 0.626, 0.5: 0.616},
    REGULARISED: {1.0: 0.833, 0.9: 0.833, 0.8: 0.659, 0.7: 0.639, 0.6: 0.589, 0.5: 0.565},
    STOPPED: {0.7: 0.604, 0.6: 0.571, 0.5: 0.566},
}
"""Printed shares of members among the records with at least a score, on Purchase100 (Table 6); none
where no record has it."""

MEAN = 0.6
"""Printed mean score of undefended members: 0.1 above the prior of 0.5 (appendix B)."""

HIGH = 0.8
"""Score that no undefended member reaches in the paper."""

_NOTES_5 = (
    COPY,
    "The paper draws the distribution; the shares that it prints are the recalls of its Table 6. "
    "The classifiers are those of song-fig3, the scores the paper's histogram.",
    "Differences are between two models' scores of the same members. Largest distance: the largest "
    "difference of two distribution functions (Kolmogorov and Smirnov's statistic), 0 for equal "
    "ones.",
    "Over pairs of a target and a shadow model; the intervals allow for records and pairs.",
)


def song_fig5(effort: Effort) -> Table:
    """Return Figure 5: share of members with at least a score, by classifier.

    The quick form has one pair of models and six epochs, the full one three and forty.
    """
    data = setting(PURCHASE, effort.seed)
    found: dict[str, list[Floats] | Skipped] = {}
    for kind, pairs in classifiers(data, effort).items():
        if isinstance(pairs, Skipped):
            found[kind] = pairs
            continue
        of_all = score_pairs(pairs, effort.seed, DRAWN[:1])
        found[kind] = [one.by_name[DRAWN[0]][one.member] for one in of_all]
    rows = [
        Row(
            cut_label(cut),
            {
                kind: Cell(
                    RECALL[kind].get(cut),
                    scores
                    if isinstance(scores, Skipped)
                    else over_fits([proportion(some >= cut, level=LEVEL) for some in scores]),
                )
                for kind, scores in found.items()
            },
        )
        for cut in CUTS
    ]
    means = {
        kind: Cell(
            MEAN if kind == UNDEFENDED else None,
            scores
            if isinstance(scores, Skipped)
            else over_fits([mean(some, LEVEL, unit="members") for some in scores]),
        )
        for kind, scores in found.items()
    }
    rows.append(Row("mean score", means))
    rows += _claims(found)
    return Table(
        "song-fig5", f"Song & Mittal (2021), Figure 5, on {data.name}", tuple(rows), _NOTES_5
    )


def threshold_rows(data: DataSetting, effort: Effort) -> list[Row]:
    """Return the half of Table 6 on Purchase100: precision and recall of the three classifiers.

    Guessed is "member" at or above a risk score. The classifiers are those of Figures 3 and 5.
    """
    rows = []
    for kind, pairs in classifiers(data, effort).items():
        found = pairs if isinstance(pairs, Skipped) else score_pairs(pairs, effort.seed, DRAWN[:1])
        for cut, published in RECALL[kind].items():
            if isinstance(found, Skipped):
                precision: Estimate | Skipped = found
                recall: Estimate | Skipped = found
            else:
                scored = [(one.by_name[DRAWN[0]] >= cut, one.member) for one in found]
                recall = over_fits(
                    [proportion(reached[member], level=LEVEL) for reached, member in scored]
                )
                precision = Skipped(
                    "precision", "no record of one of the models has so high a score"
                )
                if all(reached.any() for reached, _ in scored):
                    precision = over_fits(
                        [proportion(member[reached], level=LEVEL) for reached, member in scored]
                    )
            cells = {
                "histogram: precision": Cell(PRECISION[kind].get(cut), precision),
                "histogram: recall": Cell(published, recall),
            }
            rows.append(Row(f"{kind}: {cut_label(cut)}", cells))
    return rows


def draw_fig5(table: Table) -> Figure:
    """Return the figure: share of members with a lower score, by classifier."""
    figure, (ax,) = panels(1, 1)
    for number, kind in enumerate(CLASSIFIERS):
        found = measured_by_place(cells(table, [cut_label(cut) for cut in CUTS], kind))
        x = [0.0, *(CUTS[place] for place in found)]
        y = [0.0, *(100 * (1 - one.value) for one in found.values())]
        ax.plot(x, y, color=SERIES[number], ls=DASHES[number], lw=1.6, label=kind)
    ax.set(xlim=(0, 1), ylim=(0, 101))
    title_panel(ax, table.title, "Privacy risk score", "Members with a lower score, %")
    legend(ax, loc="upper left")
    return figure


def cut_label(cut: float) -> str:
    """Return the label of a score's row."""
    return f"score of at least {cut:g}"


def _claims(found: Mapping[str, list[Floats] | Skipped]) -> list[Row]:
    """Return the paper's claims about the three distributions, as rows of differences."""
    rows = []
    for one, other in ((REGULARISED, UNDEFENDED), (STOPPED, REGULARISED)):
        first = found[one]
        second = found[other]
        label = f"{one} less {other}"
        if isinstance(first, Skipped) or isinstance(second, Skipped):
            absent = first if isinstance(first, Skipped) else second
            assert isinstance(absent, Skipped)
            rows.append(Row(label, {"mean score": Cell(None, absent)}))
            continue
        # Same members in the same order, (n,) each: differences are paired by member.
        both = list(zip(first, second, strict=True))
        means = [mean(a - b, LEVEL, unit="members") for a, b in both]
        shares = [
            mean((a >= HIGH).astype(np.float64) - (b >= HIGH), LEVEL, unit="members")
            for a, b in both
        ]
        apart = [float(ks_2samp(a, b, method="asymp").statistic) for a, b in both]
        cells = {
            "mean score": Cell(None, over_pairs(means)),
            f"share from {HIGH:g} on": Cell(
                RECALL[one][HIGH] - RECALL[other][HIGH], over_pairs(shares)
            ),
            "largest distance": Cell(None, over_models(apart, "largest distance", least=0.0)),
        }
        rows.append(Row(label, cells))
    return rows
