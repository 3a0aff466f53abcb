"""What surrounds the attacks on a language model: controls, records, what may mislead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from privacygauge.audits.language.found import ControlFinding, Controls, Energies
from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.errors import InputError
from privacygauge.evaluate import roc
from privacygauge.evaluate.played import GameDescription, Records
from privacygauge.language.controls import (
    Control,
    blind_control,
    control_level,
    matched_control,
    reference_control,
    sizes_control,
)
from privacygauge.language.scores import TextScores
from privacygauge.language.statistic import signal
from privacygauge.language.units import Results, ThresholdFinding, UnitFindings, best_signal
from privacygauge.language.unlearnt import unlearnt
from privacygauge.report.numbers import count, percent_estimate, rate, several

SHOWN = ("text", "length")
"""What may be printed beside the samples most at risk."""

_ORIGINS = {
    "population": "on samples of a population, none of which is judged",
    "oracle": "on the judged non-members themselves, which no attacker has (oracle)",
    "mean-train": "at the mean of the judged members, which the model's makers may publish",
}
_DRAWN = (
    "drawn by a fair coin for every person before the model was trained: members and non-members "
    "differ in nothing else"
)
_GIVEN = (
    "came with the data: no coins were drawn, so members and non-members may also differ in other "
    "ways than membership; the controls look for that"
)
_ORACLE = (
    "no population was given: thresholds are taken from the judged non-members themselves (an "
    "oracle), so their false-positive rate is right by construction and an attacker's would not be"
)
_UNCHECKED = (
    "no control of the texts could be played, so nothing says whether members and non-members "
    "differ in more than membership: give a column energy_reference, or text"
)


def controls_of(scores: TextScores, seed: int, level: float) -> Controls:
    """Return the four controls; their intervals hold together at `level`."""
    each = control_level(level)
    blind = blind_control(scores, seeds.stream(seed, "language", "blind control"))
    return Controls(
        _control(reference_control(scores), each),
        _control(blind, each),
        matched_control(scores, best_signal(scores), each),
        _control(sizes_control(scores), each),
    )


def description(scores: TextScores, samples: UnitFindings, drawn: bool) -> GameDescription:
    """Return the game in words; `drawn` where fair coins dealt the sides."""
    kinds = dict.fromkeys(threshold.kind for threshold in samples.thresholds)
    sees = "Sees how likely a text is under the audited model (its energy)"
    if scores.energy_reference is not None:
        sees += ", and under a reference model that did not learn from it"
    if scores.further:
        sees += f"; further signals of the audited model: {checks.listed(scores.further)}"
    return GameDescription(
        "membership inference from energies",
        "Was this text in the language model's training data?",
        sees,
        _DRAWN if drawn else _GIVEN,
        "; ".join(_ORIGINS[kind] for kind in kinds),
        samples.n_in,
        samples.n_out,
    )


def contents_of(scores: TextScores, show: Sequence[str]) -> dict[str, NDArray[np.object_]]:
    """Return what the report may print of the judged samples."""
    columns = {"text": scores.text, "length": scores.length}
    found: dict[str, NDArray[np.object_]] = {}
    for name in show:
        column = columns.get(name)
        if name not in SHOWN or column is None:
            have = [known for known in SHOWN if columns[known] is not None]
            raise InputError(
                f"show must name columns that there are, got {name!r}; there are: "
                f"{checks.listed(have) or 'none to show'}"
            )
        found[name] = _objects([column[row] for row in np.flatnonzero(scores.judged).tolist()])
    return found


def records_of(
    scores: TextScores, played: Results, contents: dict[str, NDArray[np.object_]]
) -> Records:
    """Return one row for every judged sample."""
    rows = np.flatnonzero(scores.judged)
    return Records(
        _objects([scores.sample[row] for row in rows.tolist()]),
        scores.member[rows],
        {evaluation.title: play.transcript.score for play, evaluation in played},
        {evaluation.title: play.decisions.guess for play, evaluation in played},
        None,
        contents,
    )


def energies_of(scores: TextScores) -> Energies:
    """Return what the scores of the judged samples were made of."""
    rows, name = scores.judged, best_signal(scores)
    group = scores.group
    return Energies(
        scores.energy_target[rows],
        None if scores.energy_reference is None else scores.energy_reference[rows],
        None if group is None else tuple(group[row] for row in np.flatnonzero(rows).tolist()),
        name,
        signal(scores, name)[rows],
    )


def warnings_of(
    scores: TextScores, samples: UnitFindings, controls: Controls, level: float
) -> Iterator[str]:
    """Yield what may mislead the reader, the gravest first."""
    if not controls.played:
        yield _UNCHECKED
    yield from scores.notes
    if "sizes" in controls.fired:
        assert not isinstance(controls.sizes, Skipped)
        yield f"control sizes: {controls.sizes.meaning}"
    kinds = {threshold.kind for threshold in samples.thresholds}
    if "oracle" in kinds and not scores.population.any():
        yield _ORACLE
    if scores.energy_reference is not None:
        inside = scores.member
        told = unlearnt(-scores.energy_target[inside], -scores.energy_reference[inside], level)
        yield from () if told is None else (told,)
    yield from _missed([x for x in samples.thresholds if not x.kept])
    yield from _unresolved(scores, samples)


def _control(found: Control | Skipped, level: float) -> ControlFinding | Skipped:
    if isinstance(found, Skipped):
        return found
    area = roc.auc(found.transcript, level)
    return ControlFinding(found.name, area, found.fires(area), found.meaning)


def _missed(thresholds: Sequence[ThresholdFinding]) -> Iterator[str]:
    """Yield a sentence for each false-positive rate that was missed, about all its thresholds."""
    for asked in dict.fromkeys(x.asked for x in thresholds):
        first, *further = (x for x in thresholds if x.asked == asked)
        more = len(further)
        others = f"; so do those of {several(more, 'further attack')}" if more else ""
        yield (
            f"{first.attack}: the threshold for {rate(asked or 0.0)} false positives, taken "
            f"from {count(first.n)} population samples, gives "
            f"{percent_estimate(first.realised)} on the judged non-members{others}: the population "
            "is unlike them, and precision and recall hold for the realised rate"
        )


def _unresolved(scores: TextScores, samples: UnitFindings) -> Iterator[str]:
    asked = {x.asked for x in samples.thresholds if x.asked is not None}
    independent = len(np.unique(scores.unit[scores.nonmember]))
    rates = sorted((x for x in asked if x * samples.n_out < 10), reverse=True)
    if rates:
        of = "" if scores.group is None else f" of {count(independent)} patients"
        yield (
            f"{count(samples.n_out)} non-members{of} cannot resolve a false-positive rate of "
            f"{', '.join(rate(x) for x in rates)}: fewer than 10 false positives are expected "
            "there, and the intervals are wide"
        )


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    found = np.empty(len(values), np.object_)
    found[:] = values
    return found
