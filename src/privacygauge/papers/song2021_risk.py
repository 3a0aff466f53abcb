"""Table 6 and Figures 6 to 8, 10 and 11 of Song & Mittal (2021): the risk score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from privacygauge.claims.defences.defence import defend_predictions
from privacygauge.claims.defences.memguard import MemGuard
from privacygauge.classifiers.game import PredictionGame
from privacygauge.classifiers.neural import NeuralNasr
from privacygauge.classifiers.predictions import Predictions
from privacygauge.classifiers.shadows import cohort_of, train_all
from privacygauge.classifiers.signals import signals
from privacygauge.core import seeds
from privacygauge.core.attacks.posterior import Estimator, Histogram, Isotonic, RiskScore
from privacygauge.core.checks import Floats, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Play, Round, Scores, play
from privacygauge.evaluate.defences import quantile
from privacygauge.evaluate.rates import mean, proportion, rank_correlation
from privacygauge.evaluate.risk import CUTS, PRIORS, Risk, assess_risk, reliability
from privacygauge.papers.song2021 import (
    LEVEL,
    LOCATION,
    PURCHASE,
    TEXAS,
    DataSetting,
    Side,
    available,
    own_note,
    setting,
)
from privacygauge.papers.song2021_calibration import TAUGHT, taught_on_target, threshold_rows
from privacygauge.papers.song2021_tables import (
    NETWORKS,
    PAIRS,
    authors_predictions,
    over_pairs,
    trained_sides,
)
from privacygauge.papers.table import Cell, Effort, Row, Table
from privacygauge.runs.folder import kept_or_scratch

ESTIMATORS: Mapping[str, Estimator] = {"histogram": Histogram(), "isotonic": Isotonic()}
"""Estimators of the risk score: the paper's, and PrivacyGauge's default."""

GRID = (0.3, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Risk scores at which the distribution over members is evaluated."""

TABLE_6: Mapping[str, Sequence[tuple[float, float]]] = {
    "authors": (
        (0.854, 0.212),
        (0.834, 0.291),
        (0.812, 0.453),
        (0.770, 0.661),
        (0.728, 0.854),
        (0.706, 0.943),
    ),
    "MemGuard": (
        (0.882, 0.014),
        (0.845, 0.076),
        (0.826, 0.187),
        (0.770, 0.437),
        (0.713, 0.705),
        (0.660, 0.999),
    ),
}
"""Printed (precision, recall) at `CUTS` on Texas100: undefended, and behind MemGuard."""

_FIG6 = {"at most 0.6": {"MemGuard": 0.3}}
"""Printed share of members of Texas100 with at most 0.6: Section 4.2.2 says that 70% are above."""

_FIG8 = 0.94
"""Printed Pearson's correlation on Texas100, undefended."""

_FIG10 = (0.05, 0.09, 0.1, 0.07, 0.02)
"""Printed distances from the prior at `PRIORS` (Appendix B), on Purchase100, undefended."""

ABOVE = "share of the members above the prior, the same at every prior"
"""Row of Figure 10, in all of whose panels the paper sees most members above the prior."""

ON_TARGET = "output of a network taught on the target"
"""Row of Figure 11 with the attack network of the paper."""

_EVEN = 0.5
"""Prior at which scores are learnt."""

_FIG11 = {
    "score": {"authors": 0.08, "MemGuard": 0.05},
    "network": {"authors": 0.13, "MemGuard": 0.21},
}
"""Printed root-mean-square errors on Texas100."""

_NOTES = (
    "The paper's numbers on the risk score are on other data, Texas100 (Table 6, Figures 6, 8 and "
    "11) and Purchase100 (Figure 10), undefended and behind MemGuard: they stand beside those on "
    "the authors' predictions for Location30, and are not expected to agree.",
    "Authors and MemGuard: the predictions that come with the paper's code, without a defence and "
    "with MemGuard, the score learnt on their shadow model, defended as the target is. That model "
    "had half of the target's records and is less certain of its members. Alike: models trained "
    "here, as in song-table4, with a shadow model that is trained as the target is.",
    "Histogram: the paper's estimator. Isotonic: PrivacyGauge's default.",
    "Alike: mean over pairs of models; the intervals allow for the records and for the pairs.",
)


_CLASSIFIERS = (
    "No defence, adversarial regularisation and early stopping: the classifiers of song-fig3 and "
    "song-fig5 (tanh, three pairs), beside the paper's of Purchase100. Precision is not measured "
    "where no record of one of the models has so high a score."
)


def song_table6(effort: Effort) -> Table:
    """Return Table 6: precision and recall of guessing "member" at or above a risk score.

    The half on Texas100 is of the models of Figures 6, 8 and 11, the half on Purchase100 of the
    classifiers of Figures 3 and 5. Of a reader with copies only the halves that they are of are
    made.
    """
    data = available(TEXAS)
    purchases = available(PURCHASE)
    own = [name for name in (data, purchases) if name != LOCATION]
    rows = []
    for view in _views(effort, data) if data in own or not own else ():
        for number, cut in enumerate(CUTS):
            cells = {}
            printed = TABLE_6[view.paper][number] if view.paper in TABLE_6 else (None, None)
            for name in ESTIMATORS:
                found = [fit.risk[name].cuts[number] for fit in view.fits]
                paper = printed if name == "histogram" else (None, None)
                cells[f"{name}: precision"] = _cell([row.precision for row in found], paper[0])
                cells[f"{name}: recall"] = _cell([row.recall for row in found], paper[1])
            rows.append(Row(f"{view.name}: score of at least {cut:g}", cells))
    if purchases in own or not own:
        rows += threshold_rows(setting(purchases, effort.seed), effort)
    made = _table("song-table6", "Table 6", rows, " and ".join(own) or LOCATION)
    return replace(made, notes=(*made.notes, _CLASSIFIERS))


def song_fig6(effort: Effort) -> Table:
    """Return Figure 6: the distribution function of members' risk scores."""
    data = available(TEXAS)
    views = _views(effort, data)
    rows = []
    for most in GRID:
        label = f"at most {most:g}"
        rows.append(
            _row(
                label,
                views,
                [
                    [
                        proportion(fit.risk["histogram"].member_scores <= most, level=LEVEL)
                        for fit in view.fits
                    ]
                    for view in views
                ],
                _FIG6.get(label),
            )
        )
    means = [[fit.risk["histogram"].mean for fit in view.fits] for view in views]
    rows.append(_row("mean", views, means))
    return _table("song-fig6", "Figure 6", rows, data)


def song_fig8(effort: Effort) -> Table:
    """Return Figure 8: members' mean risk by the generalisation error of their class."""
    data = available(TEXAS)
    views = _views(effort, data)
    rows = []
    for name in ESTIMATORS:
        printed = {"authors": _FIG8} if name == "histogram" else None
        correlations = [[fit.risk[name].correlation for fit in view.fits] for view in views]
        rows.append(_row(f"Pearson's correlation, {name}", views, correlations, printed))
    for third, label in enumerate(("smallest", "middle", "largest")):
        title = f"mean score, third of the classes with the {label} error"
        means = [
            [mean(fit.of_third(third), LEVEL, unit="members") for fit in view.fits]
            for view in views
        ]
        rows.append(_row(title, views, means))
    return _table("song-fig8", "Figure 8", rows, data)


def song_fig10(effort: Effort) -> Table:
    """Return Figure 10: members' mean risk score less the prior, for several priors."""
    data = available(PURCHASE)
    views = _views(effort, data)
    rows = [
        _row(
            f"prior {prior:g}",
            views,
            [[fit.risk["histogram"].excess[number][1] for fit in view.fits] for view in views],
            {"authors": _FIG10[number]},
        )
        for number, prior in enumerate(PRIORS)
    ]
    # By Bayes' theorem a score is above the prior where it is above 0.5 at even odds.
    over = [
        [proportion(fit.risk["histogram"].member_scores > _EVEN, level=LEVEL) for fit in view.fits]
        for view in views
    ]
    rows.append(_row(ABOVE, views, over))
    return _table("song-fig10", "Figure 10", rows, data)


def song_fig11(effort: Effort) -> Table:
    """Return Figure 11: root-mean-square error of scores against the real share of members."""
    data = available(TEXAS)
    views = _views(effort, data)
    rows = []
    for name in ESTIMATORS:
        printed = _FIG11["score"] if name == "histogram" else None
        errors = [[fit.risk[name].reliability.rmse for fit in view.fits] for view in views]
        rows.append(_row(f"risk score, {name}", views, errors, printed))
    errors = [[fit.network for fit in view.fits] for view in views]
    rows.append(_row("network's output", views, errors))
    errors = [[fit.on_target for fit in view.fits] for view in views]
    rows.append(_row(ON_TARGET, views, errors, _FIG11["network"]))
    return _table("song-fig11", "Figure 11", rows, data)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Risk scores of one target, learnt on one shadow model."""

    risk: Mapping[str, Risk]
    """Estimator to the assessed risk."""
    scores: Floats
    """(n,) Scores by the histogram."""
    target: Predictions
    """Predictions of the target on the n records."""
    network: Estimate
    """Root-mean-square error of an attack network's output (Nasr et al. 2018)."""
    on_target: Estimate
    """The same of a network that learns on the target's own answers, as the paper's does."""

    def of_third(self, third: int) -> Floats:
        """Return members' scores in a third, 0 to 2, of the classes by generalisation error."""
        rows = sorted(self.risk["histogram"].classes, key=lambda row: row.generalisation_error)
        labels = [row.label for row in np.array_split(np.array(rows, object), 3)[third]]
        return self.scores[self.target.member & np.isin(self.target.labels, labels)]


@dataclass(frozen=True, eq=False)
class _View:
    """Fits that differ only in the random draws of training."""

    name: str
    fits: tuple[_Fit, ...]
    paper: str
    """Key of the paper's model with comparable numbers."""


def _views(effort: Effort, data: str) -> tuple[_View, ...]:
    """Return the fits on the authors' predictions and on models trained here."""
    # Pairs of a target's and a shadow model's predictions, by view. Views are `authors`, `MemGuard`
    # and `alike` (trained here) on Location30. On the reader's own data there are no predictions of
    # the authors, and MemGuard is PrivacyGauge's.
    found: dict[str, list[tuple[Predictions, Predictions]]]
    trained = trained_sides(effort, 1 if effort.quick else PAIRS, data)
    alike = [(target.predictions, shadow.predictions) for target, shadow in trained]
    if data == LOCATION:
        found = {
            "authors": [authors_predictions("tc_output")],
            "MemGuard": [authors_predictions("defense_output")],
            "alike": alike,
        }
    else:
        # MemGuard is fitted for each model by itself, with draws of its own.
        defended = [
            (
                defend_predictions(MemGuard(), target, seeds.stream(effort.seed, "memguard", i, 0)),
                defend_predictions(MemGuard(), shadow, seeds.stream(effort.seed, "memguard", i, 1)),
            )
            for i, (target, shadow) in enumerate(alike)
        ]
        found = {"MemGuard": defended, "alike": alike}
    # On the paper's own data there are no predictions of the authors: ours are the undefended ones.
    undefended = "authors" if "authors" in found else "alike"
    return tuple(
        _View(
            name,
            # Attack networks are drawn for each pair by itself, as its models are.
            tuple(_fit(*pair, effort.seed + number) for number, pair in enumerate(pairs)),
            "authors" if name == undefended else name,
        )
        for name, pairs in found.items()
    )


def _fit(target: Predictions, shadow: Predictions, seed: int) -> _Fit:
    rounds = PredictionGame(target, shadow).deal(1, seeds.stream(seed, "deal"))
    risk = {}
    scores = {}
    for name, estimator in ESTIMATORS.items():
        transcript = _play(RiskScore(estimator=estimator), rounds, seed, name).transcript
        # Right predictions, for the generalisation error by class.
        right = rounds[0].observation.signals["correctness"] == 1.0
        rng = seeds.stream(seed, "risk", name)
        risk[name] = assess_risk(
            transcript, name, stratum=target.labels, correct=right, rng=rng, level=LEVEL
        )
        scores[name] = transcript.score
    answers = _play(NeuralNasr(), rounds, seed, "network").transcript
    rng = seeds.stream(seed, "network", "bootstrap")
    # The network's score is its log-odds.
    rmse = reliability(expit(answers.score), answers.secret, rng, level=LEVEL).rmse
    taught = taught_on_target(NeuralNasr(), target, seed)
    rng = seeds.stream(seed, TAUGHT, "bootstrap")
    on_target = reliability(taught, target.member, rng, level=LEVEL).rmse
    return _Fit(risk, scores["histogram"], target, network=rmse, on_target=on_target)


def _play(attack: Attack, rounds: Sequence[Round], seed: int, role: str) -> Play:
    played = play(attack, rounds, [seeds.stream(seed, role)])
    assert isinstance(played, Play)  # predictions with a shadow give all that these attacks need
    return played


def _row(
    label: str,
    views: Sequence[_View],
    measured: Sequence[Sequence[Estimate | Skipped]],
    published: Mapping[str, float] | None = None,
) -> Row:
    """Return a row with a cell per view; `measured` holds the numbers of each view's fits."""
    printed = published or {}
    cells = {
        view.name: _cell(found, printed.get(view.paper))
        for view, found in zip(views, measured, strict=True)
    }
    return Row(label, cells)


def _cell(found: Sequence[Estimate | Skipped], published: float | None = None) -> Cell:
    for one in found:
        if isinstance(one, Skipped):
            return Cell(published, one)
    return Cell(published, over_pairs([one for one in found if isinstance(one, Estimate)]))


def _table(name: str, number: str, rows: Sequence[Row], data: str) -> Table:
    title = f"Song & Mittal (2021), {number}, on {data}"
    return Table(name, title, tuple(rows), (*own_note(data), *_NOTES))


EDGES = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Ends of the bins of risk scores."""

QUICK = 60
"""Epochs of the quick form: members are fitted, if less surely than after all 200."""

PARTS = 10
"""Number of parts of the members, each removed as a whole."""

LEAST = 20
"""Fewest members in a bin that counts."""

_FLOOR = Histogram().floor
_NOTES_7 = (
    "The paper removes one record at a time and trains again (Texas100; it draws a figure and "
    "prints no numbers). Here the 1,000 members are cut into parts at random, and each part is "
    "removed at once, from equal initial weights: a tenth of them (a quarter in the quick form, "
    "whose networks are trained for 60 epochs).",
    "Removed: the logarithm of the modified entropy after a member's part was removed over that "
    "before. Another removed: the mean of the same over the parts without the member. Net: the "
    "first less the second, which is the member's own influence.",
    "Another removed is the control: the same answer of the full model is in the score and in the "
    "ratio, so that its luck alone could tie the two together, whoever is removed.",
    "Risk scores: the paper's histogram on a shadow model that is trained as the target is. The "
    "intervals are over the members, for the models as they are.",
)


def song_fig7(effort: Effort) -> Table:
    """Return Figure 7: change of the model's answers for removed members, by their risk score.

    The quick form removes four parts of the members from networks of 60 epochs, the full one ten
    from networks of 200.
    """
    data = setting(available(TEXAS), effort.seed)
    folds = _folds(4 if effort.quick else PARTS, data.sides[0], effort.seed)
    values = _train_logits(effort, data, folds)
    side, other = data.sides
    target = side.predictions(values[0], data.y)
    shadow = other.predictions(values[1], data.y)
    # (1 + parts, n) Modified entropy of the members under the target and without each part: the
    # negative signal, since a higher signal means more likely a member.
    entropy = [
        -signals(seen)["modified-entropy"][seen.member]
        for seen in (target, *(side.predictions(v, data.y) for v in values[2:]))
    ]
    whole, *reduced = np.log(np.maximum(entropy, _FLOOR))
    # (parts, n) Change of each member's log entropy by removed part.
    changes = np.array(reduced) - whole
    # fold[i] is the part of member i.
    fold = np.empty(side.n_train, np.int64)
    for number, members in enumerate(folds):
        fold[members - side.first] = number
    own = changes[fold, np.arange(len(fold))]
    others = (changes.sum(axis=0) - own) / (len(folds) - 1)
    (dealt,) = PredictionGame(target, shadow).deal(1, seeds.stream(effort.seed, "deal"))
    scores = RiskScore(estimator=Histogram()).score(
        dealt.observation, seeds.stream(effort.seed, "score")
    )
    assert isinstance(scores, Scores)  # predictions with a shadow give all that it needs
    found = _Sensitivity(scores.value[target.member], own, others)
    rows = [_bin(found, low, high) for low, high in pairwise(EDGES)]
    correlations = {
        name: Cell(None, rank_correlation(found.score, values, LEVEL))
        for name, values in found.columns.items()
    }
    rows.append(Row("rank correlation with the score", correlations))
    title = f"Song & Mittal (2021), Figure 7, on {data.name}"
    return Table("song-fig7", title, tuple(rows), (*own_note(data.name), *_NOTES_7))


@dataclass(frozen=True, eq=False)
class _Sensitivity:
    """Changes of each member's log modified entropy when members are removed."""

    score: Floats
    """(n,) Risk scores in [0, 1]."""
    removed: Floats
    """(n,) Change when the member's own part is removed."""
    another: Floats
    """(n,) Mean change when one of the other parts is removed."""

    @property
    def columns(self) -> Mapping[str, Floats]:
        """Name to the change, (n,)."""
        net = self.removed - self.another
        return {"removed": self.removed, "another removed": self.another, "net": net}


def _folds(n: int, target: Side, seed: int) -> list[Ints]:
    # Random parts of nearly equal size.
    members = np.flatnonzero(target.inside(target.first + target.n_train))
    return np.array_split(seeds.stream(seed, "folds").permutation(members), n)


def _train_logits(effort: Effort, data: DataSetting, folds: list[Ints]) -> NDArray[Any]:
    """Return logits, (m, a, k), of the target, a shadow model, and the target without each part."""
    target, shadow = data.sides
    inside = np.repeat([target.inside(len(data.y))], 2 + len(folds), axis=0)
    inside[1] = shadow.inside(len(data.y))
    # Model 0 is the target, 1 the shadow model, 2 and on the target without a part.
    for number, fold in enumerate(folds, start=2):
        inside[number, fold] = False
    # One random state for all: models differ in their training records only.
    state = int(seeds.stream(effort.seed, "model", 0).integers(2**31))
    networks = replace(NETWORKS, epochs=QUICK) if effort.quick else NETWORKS
    with kept_or_scratch(effort.run) as folder:
        return train_all(
            networks,
            cohort_of(
                data.x,
                data.y,
                inside,
                effort.seed,
                asked=np.arange(data.n_asked),
                states=(state,) * len(inside),
            ),
            seed=effort.seed,
            run=Path(folder),
            n_jobs=effort.n_jobs,
            progress=effort.progress,
        )


def _bin(found: _Sensitivity, low: float, high: float) -> Row:
    label = f"score in [{low:g}, {high:g}{']' if high == 1 else ')'}"
    inside = (found.score >= low) & ((found.score < high) | (high == 1))
    n = int(np.count_nonzero(inside))
    if n < LEAST:
        reason = f"{n} members, and at least {LEAST} are needed"
        return Row(label, {name: Cell(None, Skipped(label, reason)) for name in found.columns})
    cells = {
        name: Cell(None, mean(values[inside], LEVEL, unit="members"))
        for name, values in found.columns.items()
    }
    for share in (0.25, 0.75):
        ordered = quantile(found.removed[inside], share, LEVEL)
        cells[f"removed, quantile {share:g}"] = Cell(None, ordered)
    return Row(label, cells)
