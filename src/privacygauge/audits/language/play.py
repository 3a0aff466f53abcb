"""The audit of a language model: the leak of its training texts through its energies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from privacygauge.audits.language.result import LanguageResult
from privacygauge.audits.language.says import report
from privacygauge.audits.running import Running
from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.played import GameDescription
from privacygauge.language.attacks import FPRS
from privacygauge.language.audited import EnergyFindings, audit_energies
from privacygauge.language.controls import unlearnt
from privacygauge.language.patients import comparable
from privacygauge.language.scores import TextScores, TextScoresLike, as_text_scores
from privacygauge.language.splitting import Coins, read_coins
from privacygauge.language.units import ThresholdFinding, ThresholdOptions, UnitFindings, asked_for
from privacygauge.report import direction
from privacygauge.report.numbers import count, percent_estimate, rate, several
from privacygauge.report.values import Report

if TYPE_CHECKING:
    pass


class LanguageAudit(LanguageResult):
    """Findings of an audit of a language model, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)


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


def audit_language(
    scores: TextScoresLike,
    *,
    threshold: str | Sequence[str] | None = None,
    fpr: float | Sequence[float] = FPRS,
    show: Sequence[str] = (),
    coins: Coins | str | Path | None = None,
    warnings: Sequence[str] = (),
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_language",
    provenance: Mapping[str, str] | None = None,
) -> LanguageAudit:
    """Measure how far the energies of texts give away a language model's training data.

    Parameters
    ----------
    scores : TextScores, path, mapping of arrays, or data frame
        Energies beside what is known of each sample; see `load_text_scores` for the columns.
    threshold : {"population", "oracle", "mean-train"} or a sequence of them, optional
        Where thresholds come from. By default the population, or the oracle without
        one; the loss is then also played with the mean training loss.
    fpr : float or sequence of float
        The false-positive rates that thresholds are chosen for, each in (0, 1).
    show : sequence of str
        Columns printed next to the samples most at risk: ``text`` or ``length``; nothing otherwise.
    coins : Coins or path, optional
        Those that dealt members and non-members before the training, such as `split_texts` tosses:
        then the test is honest by construction, and there is a bound on epsilon, person by person.
    warnings : sequence of str
        Warnings for the reader of the report.
    seed : int
        Seed of all random draws.
    level : float
        Level of every interval, in (0, 1); those of the controls hold together at this level.
    command : str
        Name of the command or call, as the report prints it.
    provenance : mapping of str to str, optional
        Further lines for the report.

    Returns
    -------
    LanguageAudit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Mireshghallah et al. (2022): the likelihood ratio is section 2.3, thresholds from a population
    section 2.4, the patient level Table 2, the lengths section 4.2. The controls are ours.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> member = np.repeat([1, 0], 100)
    >>> reference = rng.normal(9.0, 0.5, 200)
    >>> target = reference - 0.5 * member + rng.normal(0, 0.5, 200)
    >>> found = audit_language(
    ...     {
    ...         "sample": range(200),
    ...         "member": member,
    ...         "energy_target": target,
    ...         "energy_reference": reference,
    ...     }
    ... )
    >>> found.controls.fired
    ()
    >>> found.headline.attack.name
    'likelihood-ratio'
    """
    asked = asked_for(threshold, fpr, seed, level)
    given = as_text_scores(scores)
    dealt = read_coins(coins) if isinstance(coins, str | Path) else coins
    running = Running(command, seed, level, provenance)
    return audit_of(given, asked, show=show, coins=dealt, warnings=warnings, running=running)


def audit_of(
    scores: TextScores,
    asked: ThresholdOptions,
    show: Sequence[str],
    coins: Coins | None,
    warnings: Sequence[str],
    running: Running,
    about: Mapping[str, str] | None = None,
) -> LanguageAudit:
    """Run the audit of `audit_language`; `about` are lines before those of `running`."""
    apart: tuple[str, ...] = ()
    if coins is None:
        # Coins that were dealt before the training make every difference one of chance.
        drawn = seeds.stream(asked.seed, "language", "equal lengths")
        scores, apart = comparable(scores, drawn)
    found, skipped = audit_energies(scores, asked, show=show, coins=coins, apart=apart)
    told = (*warnings, *_warnings(scores, found, asked.level))
    origin = running.origin(skipped=skipped, warnings=told, about=about)
    game = _description(scores, found.samples, coins is not None)
    return LanguageAudit(**vars(found), origin=origin, game=game)


def _description(scores: TextScores, samples: UnitFindings, drawn: bool) -> GameDescription:
    """Describe the game; `drawn` if fair coins dealt the sides."""
    kinds = dict.fromkeys(threshold.kind for threshold in samples.thresholds)
    sees = "Sees how likely a text is under the audited model (its energy)"
    if scores.energy_reference is not None:
        sees += ", and under a reference model that did not learn from it"
    if scores.further:
        sees += f"; further signals of the audited model: {checks.short_list(scores.further)}"
    return GameDescription(
        "membership inference from energies",
        question="Was this text in the language model's training data?",
        adversary=sees,
        secret=_DRAWN if drawn else _GIVEN,
        thresholds="; ".join(_ORIGINS[kind] for kind in kinds),
        n_in=samples.n_in,
        n_out=samples.n_out,
    )


def _warnings(scores: TextScores, found: EnergyFindings, level: float) -> Iterator[str]:
    """Yield warnings about easily misread results, the gravest first."""
    samples = found.samples
    controls = found.controls
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
    yield from _missed_rate_warnings([x for x in samples.thresholds if not x.kept])
    yield from _resolution_warnings(scores, samples)
    for unit, where in zip(found.units, ("", "Patient by patient: "), strict=False):
        if unit.headline.inverted:
            first, _ = direction.sentences(unit.headline.inverted)
            yield f"{where}{first}"


def _missed_rate_warnings(thresholds: Sequence[ThresholdFinding]) -> Iterator[str]:
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


def _resolution_warnings(scores: TextScores, samples: UnitFindings) -> Iterator[str]:
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
