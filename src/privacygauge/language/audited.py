"""What the energies of texts give away about a language model's training data, as a value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privacygauge.core import checks
from privacygauge.core.checks import Floats
from privacygauge.core.estimate import Skipped
from privacygauge.core.transcript import Transcript
from privacygauge.core.units import sums
from privacygauge.errors import InputError
from privacygauge.evaluate.claim import PrivacyBound
from privacygauge.evaluate.claim_bounds import bound_of
from privacygauge.evaluate.direction import Inverted
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.evaluate.headline import Headline
from privacygauge.evaluate.played import Records
from privacygauge.language.attacks import signal
from privacygauge.language.coins import Coins
from privacygauge.language.controls import Controls, controls_of
from privacygauge.language.scores import TextScores
from privacygauge.language.texts import Texts
from privacygauge.language.units import (
    Asked,
    LengthFindings,
    PatientRows,
    Results,
    UnitFindings,
    best_signal,
    lengths_of,
    patients_of,
    suite_of,
    unit_findings,
)


def bound_by_person(scores: TextScores, coins: Coins, seed: int, level: float) -> PrivacyBound:
    """Return the lower bound on epsilon of one person that a single training shows.

    Parameters
    ----------
    coins : Coins
        That dealt the members and the non-members.
    seed : int
        Draws which coins choose the number of guesses.
    level : float
        In (0, 1).

    Raises
    ------
    InputError
        If somebody is not on the side that the coins dealt.

    Notes
    -----
    The guess about a coin is the mean of the signal over all texts that it decided about: the
    likelihood ratio, or the loss without a reference. Steinke, Nasr & Jagielski (2023), theorem
    5.2, at delta 0: of adding or removing all texts of a coin.
    """
    rows = np.flatnonzero(scores.judged)
    names = scores.group or scores.sample
    member = scores.member[rows]
    number = coins.numbers([names[row] for row in rows.tolist()], member)
    _, first, size = np.unique(number, return_index=True, return_counts=True)
    mean = sums(number, signal(scores, best_signal(scores))[rows]) / size
    return bound_of(Transcript(mean, member[first]), seed, level)


SHOWN = ("text", "length")
"""What may be printed beside the samples most at risk."""


@dataclass(frozen=True, eq=False)
class JudgedEnergies:
    """What the scores of the judged samples were made of."""

    target: Floats
    """(n,) Energy under the audited model; lower means more likely."""
    reference: Floats | None
    """(n,) Energy under the reference model."""
    group: Texts | None = field(repr=False)
    """(n,) The patient of each sample."""
    signal: str
    """Which signal the score of a record is: ``likelihood-ratio``, or ``loss`` without a
    reference model."""
    score: Floats
    """(n,) That signal; higher means more likely a member."""


@dataclass(frozen=True, eq=False)
class Audited:
    """What attacks and controls found between members and non-members."""

    samples: UnitFindings
    """Sample by sample."""
    patients: UnitFindings | Skipped
    """Patient by patient."""
    lengths: tuple[LengthFindings, ...]
    """Short and long samples apart."""
    controls: Controls
    """Whether members and non-members differ in more than membership."""
    records: Records
    """One row for every judged sample."""
    energies: JudgedEnergies
    """Of the same rows."""
    rows: PatientRows | None
    """One row for every judged patient; None without a patient level."""
    one_run: PrivacyBound | None
    """Lower bound on epsilon of one person; None where no coins were dealt before training."""

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The attacks, sample by sample."""
        return self.samples.evaluations

    @property
    def headline(self) -> Headline:
        """What to speak of, sample by sample."""
        return self.samples.headline

    @property
    def units(self) -> tuple[UnitFindings, ...]:
        """What was played: samples, and patients where there are some."""
        return (self.samples, *(() if isinstance(self.patients, Skipped) else (self.patients,)))

    @property
    def turned(self) -> list[Inverted]:
        """The attacks that take members for non-members, and go further than all others."""
        best = max(unit.headline.auc.low for unit in self.units)
        inverted = (x for unit in self.units for x in unit.headline.inverted)
        return [x for x in inverted if 1 - x.auc.high > max(best, 0.5)]


def audited(
    scores: TextScores, asked: Asked, show: Sequence[str] = (), coins: Coins | None = None
) -> tuple[Audited, tuple[Skipped, ...]]:
    """Return what attacks and controls found, and which of them could not be played.

    Parameters
    ----------
    scores : TextScores
    asked : Asked
    show : sequence of str
        Of `SHOWN`: the contents of the records.
    coins : Coins, optional
        Those that dealt members and non-members before the training.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    one_run = None if coins is None else bound_by_person(scores, coins, asked.seed, asked.level)
    contents = _contents(scores, show)
    suite = suite_of(scores, asked)
    played, samples = unit_findings(scores, suite, "sample", asked)
    patients = patients_of(scores, asked)
    lengths, no_lengths = lengths_of(scores, asked)
    controls = controls_of(scores, asked.seed, asked.level)
    of_texts = (controls.reference, controls.blind, controls.matched, controls.sizes)
    not_played = tuple(x for x in (patients, *of_texts) if isinstance(x, Skipped))
    unit, rows = (patients, None) if isinstance(patients, Skipped) else patients
    found = Audited(
        samples,
        unit,
        lengths,
        controls,
        _records(scores, played, contents),
        _energies(scores),
        rows,
        one_run,
    )
    return found, (*suite.skipped, *not_played, *no_lengths)


def _contents(scores: TextScores, show: Sequence[str]) -> dict[str, NDArray[np.object_]]:
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


def _records(
    scores: TextScores, played: Results, contents: dict[str, NDArray[np.object_]]
) -> Records:
    rows = np.flatnonzero(scores.judged)
    return Records(
        _objects([scores.sample[row] for row in rows.tolist()]),
        scores.member[rows],
        {evaluation.title: play.transcript.score for play, evaluation in played},
        {evaluation.title: play.decisions.guess for play, evaluation in played},
        None,
        contents,
    )


def _energies(scores: TextScores) -> JudgedEnergies:
    rows, name = scores.judged, best_signal(scores)
    group = scores.group
    return JudgedEnergies(
        scores.energy_target[rows],
        None if scores.energy_reference is None else scores.energy_reference[rows],
        None if group is None else tuple(group[row] for row in np.flatnonzero(rows).tolist()),
        name,
        signal(scores, name)[rows],
    )


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    found = np.empty(len(values), np.object_)
    found[:] = values
    return found
