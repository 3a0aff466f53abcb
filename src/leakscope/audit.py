"""Audits: deal, score and evaluate in a row, and what was found."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import Parallel, cpu_count, delayed
from numpy.typing import ArrayLike, NDArray

import leakscope
from leakscope.classifier.files import load_predictions
from leakscope.classifier.game import PredictionGame
from leakscope.classifier.predictions import Predictions
from leakscope.classifier.signals import top_probability
from leakscope.classifier.suite import prediction_attacks
from leakscope.core import checks, seeds
from leakscope.core.attacks.posterior import Estimator, RiskScore
from leakscope.core.attacks.threshold import Threshold
from leakscope.core.checks import Bools, Floats
from leakscope.core.estimate import Estimate, Skipped
from leakscope.core.game import Attack, Play, Round, play
from leakscope.errors import InputError
from leakscope.evaluate.calibration import Risk, assess_risk
from leakscope.evaluate.decision import balanced_accuracy
from leakscope.evaluate.epsilon import audit_epsilon, largest_certifiable_epsilon
from leakscope.evaluate.evaluation import Evaluation, evaluate
from leakscope.evaluate.findings import Fact, Findings, GameDescription, Headline, Records
from leakscope.evaluate.rates import difference, proportion
from leakscope.evaluate.slices import SliceTable, deciles, find_slices

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

MOST_GROUPS = 200
"""A column with more distinct values is cut into deciles (numbers) or not sliced by (texts)."""


@dataclass(frozen=True, eq=False)
class Audit(Findings):
    """What an audit found, with ways to look at it."""

    def summary(self) -> str:
        """Return the verdict and the main numbers as plain text."""
        from leakscope import report

        return report.summary(self)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for every record: id, member, scores, guesses, risk."""
        from leakscope import report

        return report.records_frame(self)

    def to_json(self) -> str:
        """Return the text of ``report.json``."""
        from leakscope import report

        return report.to_json(self)

    def to_html(self) -> str:
        """Return the text of ``report.html``."""
        from leakscope import report

        return report.render_html(self)

    def plot_roc(self, ax: Axes | None = None, *, log: bool = False) -> Axes:
        """Return axes with the ROC curve of every attack, log-log where asked for."""
        from leakscope.report.plots import plot_roc

        return plot_roc(self, ax, log=log)

    def write(self, directory: str | Path) -> list[Path]:
        """Write report.html, report.json, records.parquet and roc.csv; return their paths."""
        from leakscope import report

        return report.write_report(self, Path(directory))


def audit(
    rounds: Sequence[Round],
    attacks: Sequence[Attack],
    *,
    seed: int = 0,
    level: float = 0.95,
) -> list[tuple[Play, Evaluation] | Skipped]:
    """Return what every attack did in rounds that were dealt already.

    Parameters
    ----------
    rounds : sequence of Round
        From a game's `deal`; dealing is the only step that trains anything.
    attacks : sequence of Attack
    seed : int
        Every attack draws from a generator of its own, so that a further attack changes no
        other's numbers.
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    list of (Play, Evaluation) or Skipped
        In the order of `attacks`.
    """
    # Threads: scores are numpy's work, which lets go of the interpreter, on shared arrays.
    n_jobs = min(cpu_count(), len(attacks)) if rounds and len(rounds[0].secret) > 20_000 else 1
    return list(
        Parallel(n_jobs, backend="threading")(
            delayed(_audit_one)(attack, rounds, seed, level) for attack in attacks
        )
    )


def _audit_one(
    attack: Attack, rounds: Sequence[Round], seed: int, level: float
) -> tuple[Play, Evaluation] | Skipped:
    role = ("attack", attack.name, attack.variant, attack.thresholds)
    played = play(attack, rounds, [seeds.stream(seed, *role, i) for i in range(len(rounds))])
    if isinstance(played, Skipped):
        return played
    evaluation = evaluate(
        attack.name,
        played.transcript,
        played.decisions,
        level,
        variant=attack.variant,
        thresholds=attack.thresholds,
        notes=played.notes,
    )
    return played, evaluation


def audit_classifier(
    target: Predictions | str | Path,
    shadow: Predictions | str | Path | None = None,
    *,
    attacks: Sequence[Attack] | None = None,
    estimator: Estimator | None = None,
    slices: Mapping[str, ArrayLike] | Sequence[str] | None = None,
    allow_missing_classes: bool = False,
    show_columns: Sequence[str] = (),
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_classifier",
    provenance: Mapping[str, str] | None = None,
) -> Audit:
    """Audit a classifier from its predictions alone.

    Parameters
    ----------
    target : Predictions, str or pathlib.Path
        Predictions of the audited model on known members and known non-members, or their file.
    shadow : Predictions, str or pathlib.Path, optional
        Predictions of a model that the adversary trained itself, on records of its own. Without
        it thresholds are cross-fitted: learnt on one half of the targets, used on the other.
    attacks : sequence of Attack, optional
        The suite of `prediction_attacks` where nothing is given.
    estimator : Estimator, optional
        Of the privacy risk score; isotonic regression where nothing is given.
    slices : mapping of str to array_like (n,), or sequence of str, optional
        Groups to look at beside the classes and the deciles of confidence: columns, or names of
        columns of the file; all columns of the file where nothing is given.
    allow_missing_classes : bool
        Whether classes without any shadow record may fall back to the global threshold.
    show_columns : sequence of str
        Columns of the target whose contents the report may show beside the riskiest records.
    seed : int
        All random draws derive from it.
    level : float
        Of every interval, in (0, 1).
    command : str
        What the report names as its origin.
    provenance : mapping of str to str, optional
        Further lines for the report, such as hashes of the inputs.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Song & Mittal (2021), sections 3 and 4.
    """
    checks.level(level)
    seeds.non_negative(seed)
    target = target if isinstance(target, Predictions) else load_predictions(target)
    if shadow is not None and not isinstance(shadow, Predictions):
        shadow = load_predictions(shadow)
    columns = _columns(target, slices)
    contents = _contents(target, show_columns)
    game = PredictionGame(target, shadow)
    warnings = _missing_classes(target, shadow, allow_missing_classes)
    rounds = game.deal(1, seeds.stream(seed, "deal"))
    suite = prediction_attacks(logits=target.logits) if attacks is None else attacks
    results = audit(rounds, suite, seed=seed, level=level)
    played = [result for result in results if not isinstance(result, Skipped)]
    if not played:
        raise InputError("no attack could be played: give at least one that fits predictions")
    skipped = [result for result in results if isinstance(result, Skipped)]
    if attacks is None and not target.logits:
        skipped.append(
            Skipped("scaled-logit", "orders records as confidence does unless logits are given")
        )
    risk, risk_scores = _risk(rounds, estimator, target, seed, level)
    table = _slices(rounds, target, columns, seed, level)
    skipped += table.skipped
    facts, differ = _facts(target, shadow, level)
    warnings += [*_sizes(target, played), *differ, *_calibration(risk)]
    return Audit(
        command,
        leakscope.__version__,
        seed,
        level,
        _game_description(target, shadow),
        tuple(evaluation for _, evaluation in played),
        _headline(played, target, seed, level),
        risk,
        table,
        _records(target, played, risk_scores, contents),
        facts,
        tuple(skipped),
        tuple(dict.fromkeys([*warnings, *(n for p, _ in played for n in p.notes)])),
        {**versions(), **(provenance or {})},
    )


def versions() -> dict[str, str]:
    """Return the versions that a result depends on."""
    packages = ("numpy", "scipy", "scikit-learn")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _headline(
    played: Sequence[tuple[Play, Evaluation]], target: Predictions, seed: int, level: float
) -> Headline:
    # Bonferroni: the interval of the best of m attacks must hold for all m.
    each = 1 - (1 - level) / len(played)
    together = [balanced_accuracy(p.decisions, each) for p, _ in played]
    best = int(np.argmax([accuracy.low for accuracy in together]))
    corrected = together[best]
    accuracy = Estimate(
        corrected.value,
        corrected.low,
        corrected.high,
        level,
        corrected.n,
        f"{corrected.method}, Bonferroni over {len(played)} attacks",
    )
    bound, chosen = audit_epsilon([p.transcript for p, _ in played], level=level, seed=seed)
    limit = largest_certifiable_epsilon(target.n_in // 2, target.n_out // 2, level)
    return Headline(played[best][1], accuracy, bound, played[chosen][1].title, limit)


def _risk(
    rounds: Sequence[Round],
    estimator: Estimator | None,
    target: Predictions,
    seed: int,
    level: float,
) -> tuple[Risk, Floats]:
    attack = RiskScore(estimator=estimator)
    rngs = [seeds.stream(seed, "risk", number) for number in range(len(rounds))]
    played = play(attack, rounds, rngs)
    assert isinstance(played, Play)  # predictions always have the signal and a shadow
    order = played.transcript.target
    correct = np.concatenate([r.observation.signals["correctness"] for r in rounds]) == 1.0
    risk = assess_risk(
        played.transcript,
        attack.variant,
        target.labels[order],
        correct,
        seeds.stream(seed, "risk", "bootstrap"),
        level,
    )
    return risk, _in_file_order(played.transcript.score, order)


def _slices(
    rounds: Sequence[Round],
    target: Predictions,
    columns: Mapping[str, NDArray[Any]],
    seed: int,
    level: float,
) -> SliceTable:
    # The attack is named here, before anything was measured.
    attack = Threshold("modified-entropy", per_class=True)
    rngs = [seeds.stream(seed, "slices", number) for number in range(len(rounds))]
    played = play(attack, rounds, rngs)
    assert isinstance(played, Play)
    order = played.transcript.target
    groups = {
        "class": target.labels,
        "confidence": deciles(top_probability(target)),
        **columns,
    }
    in_order = {name: values[order] for name, values in groups.items()}
    return find_slices(played.decisions, in_order, "modified-entropy (per-class)", level)


def _columns(
    target: Predictions, slices: Mapping[str, ArrayLike] | Sequence[str] | None
) -> dict[str, NDArray[Any]]:
    if isinstance(slices, Mapping):
        chosen = {
            name: checks.vector(values, f"slice {name!r}", length=len(target))
            for name, values in slices.items()
        }
    else:
        names = target.columns if slices is None else slices
        missing = [name for name in names if name not in target.columns]
        if missing:
            have = ", ".join(target.columns) or "none"
            raise InputError(f"no column {missing[0]!r} to slice by; the columns are: {have}")
        chosen = {name: target.columns[name] for name in names}
    groups = {name: _groups(values) for name, values in chosen.items()}
    too_many = [name for name, values in groups.items() if values is None]
    if too_many and slices is not None:
        raise InputError(
            f"slice {too_many[0]!r} has more than {MOST_GROUPS} different texts: merge some"
        )
    return {name: values for name, values in groups.items() if values is not None}


def _groups(values: NDArray[Any]) -> NDArray[Any] | None:
    if len(np.unique(values)) <= MOST_GROUPS and values.dtype.kind != "f":
        return values
    if values.dtype.kind in "iuf":
        return deciles(values.astype(np.float64))
    return None


def _contents(target: Predictions, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    missing = [name for name in names if name not in target.columns]
    if missing:
        have = ", ".join(target.columns) or "none"
        raise InputError(f"no column {missing[0]!r} to show; the columns are: {have}")
    return {name: target.columns[name] for name in names}


def _missing_classes(target: Predictions, shadow: Predictions | None, allowed: bool) -> list[str]:
    if shadow is None:
        return []
    missing = np.setdiff1d(target.labels, shadow.labels)
    if not len(missing):
        return []
    shown = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
    if not allowed:
        raise InputError(
            f"class(es) {shown} of the target have no shadow records, so they have no thresholds "
            "of their own: add shadow predictions for them, or allow missing classes to use the "
            "global threshold there (--allow-missing-classes)"
        )
    return [f"class(es) {shown} have no shadow records and use the global threshold"]


def _facts(
    target: Predictions, shadow: Predictions | None, level: float
) -> tuple[tuple[Fact, ...], list[str]]:
    from leakscope.classifier.signals import correct

    facts, warnings = [], []
    hits = {"target": correct(target)}
    models = {"target": target}
    if shadow is not None:
        hits["shadow"], models["shadow"] = correct(shadow), shadow
    for name, model in models.items():
        for side, rows in (("members", model.member), ("non-members", ~model.member)):
            estimate = proportion(hits[name][rows], level=level)
            facts.append(Fact(f"accuracy of the {name} model on {side}", estimate))
    if shadow is not None:
        for side, ours, theirs in (
            ("members", target.member, shadow.member),
            ("non-members", ~target.member, ~shadow.member),
        ):
            gap = difference(hits["target"][ours], hits["shadow"][theirs], level)
            if gap.excludes(0.0) and abs(gap.value) > 0.02:
                warnings.append(
                    f"the target's accuracy on {side} differs from the shadow model's by "
                    f"{100 * gap.value:+.1f} points ({100 * gap.low:+.1f} to "
                    f"{100 * gap.high:+.1f}): thresholds and risk scores learnt on the shadow may "
                    "not fit the target; see the risk score's calibration"
                )
    return tuple(facts), warnings


def _sizes(target: Predictions, played: Sequence[tuple[Play, Evaluation]]) -> list[str]:
    warnings = []
    unresolved = [r.fpr for r in played[0][1].tpr_at_fpr if not r.resolved]
    if unresolved:
        rates = ", ".join(f"{100 * fpr:g}%" for fpr in unresolved)
        warnings.append(
            f"{target.n_out} non-members cannot resolve a false-positive rate of {rates}: fewer "
            "than 10 false positives are expected there, and the intervals are wide"
        )
    if len(np.unique(target.ids)) < len(target):
        warnings.append("some ids occur more than once: rows are told apart by their position")
    return warnings


def _calibration(risk: Risk) -> list[str]:
    rmse, noise = risk.reliability.rmse, risk.reliability.noise
    if rmse.low <= noise + 0.05:
        return []
    return [
        f"the privacy risk score is off by {rmse.value:.2f} on average ({rmse.low:.2f} to "
        f"{rmse.high:.2f}; chance alone gives {noise:.2f}): read it as a ranking of the records, "
        "not as a probability"
    ]


def _game_description(target: Predictions, shadow: Predictions | None) -> GameDescription:
    if shadow is None:
        has = "and knows the membership of half of the records, to learn thresholds on"
        learnt = "on the other half of the target's own records, both ways (cross-fitting)"
    else:
        has = f"and has a shadow model of its own, with {shadow.n_in:,} members and "
        has += f"{shadow.n_out:,} non-members"
        learnt = "on the shadow model's records only"
    return GameDescription(
        "membership inference from predictions",
        "Was this record in the model's training set?",
        "Sees the model's full prediction and the true class of a record (black box), " + has,
        "came with the data: no coins were drawn, so members and non-members may also differ in "
        "other ways than membership, and this audit cannot tell the two apart",
        learnt,
        target.n_in,
        target.n_out,
    )


def _records(
    target: Predictions,
    played: Sequence[tuple[Play, Evaluation]],
    risk: Floats,
    contents: Mapping[str, NDArray[Any]],
) -> Records:
    scores: dict[str, Floats] = {}
    guesses: dict[str, Bools] = {}
    for result, evaluation in played:
        order = result.transcript.target
        scores[evaluation.title] = _in_file_order(result.transcript.score, order)
        guesses[evaluation.title] = _in_file_order(result.decisions.guess, order)
    return Records(target.ids, target.member, scores, guesses, risk, contents)


def _in_file_order(values: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    result = np.empty_like(values)
    result[order] = values
    return checks.frozen(result)
