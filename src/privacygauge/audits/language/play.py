"""The audit of a language model: what its energies give away about the texts it learnt from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from privacygauge.audits.language.facts import (
    contents_of,
    controls_of,
    description,
    energies_of,
    records_of,
    warnings_of,
)
from privacygauge.audits.language.found import LanguageAudit
from privacygauge.core.estimate import Skipped
from privacygauge.core.versions import own_version, today, versions
from privacygauge.language.coins import Coins, read_coins
from privacygauge.language.drawn import bound_by_person
from privacygauge.language.score_files import TextScoresLike, as_text_scores
from privacygauge.language.thresholds import FPRS
from privacygauge.language.units import (
    UnitFindings,
    asked_for,
    lengths_of,
    patients_of,
    suite_of,
    unit_findings,
)
from privacygauge.report import direction
from privacygauge.report.values import Origin


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
    """Return what the energies of texts give away about a language model's training data.

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
        What to print beside the samples most at risk: ``text`` or ``length``; nothing otherwise.
    coins : Coins or path, optional
        Those that dealt members and non-members before the training, such as `split_texts` tosses:
        then the test is honest by construction, and there is a bound on epsilon, person by person.
    warnings : sequence of str
        What the reader has to know beside.
    seed : int
        All random draws derive from it.
    level : float
        Of every interval, in (0, 1); those of the four controls hold together at this level.
    command : str
        What the report names as its origin.
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
    one_run = None if dealt is None else bound_by_person(given, dealt, seed, level)
    contents = contents_of(given, show)
    suite = suite_of(given, asked)
    played, samples = unit_findings(given, suite, "sample", asked)
    patients = patients_of(given, asked)
    lengths, no_lengths = lengths_of(given, asked)
    controls = controls_of(given, seed, level)
    of_texts = (controls.reference, controls.blind, controls.matched, controls.sizes)
    not_played = tuple(x for x in (patients, *of_texts) if isinstance(x, Skipped))
    unit, rows = (patients, None) if isinstance(patients, Skipped) else patients
    origin = Origin(
        command,
        own_version(),
        seed=seed,
        level=level,
        made=today(),
        skipped=(*suite.skipped, *not_played, *no_lengths),
        warnings=(
            *warnings,
            *warnings_of(given, samples, controls, level),
            *_inverted(samples, unit),
        ),
        provenance={**versions(), **(provenance or {})},
    )
    return LanguageAudit(
        origin,
        description(given, samples, dealt is not None),
        samples=samples,
        patients=unit,
        lengths=lengths,
        controls=controls,
        records=records_of(given, played, contents),
        energies=energies_of(given),
        rows=rows,
        one_run=one_run,
    )


def _inverted(samples: UnitFindings, patients: UnitFindings | Skipped) -> Iterator[str]:
    """Yield a sentence on samples, and one on patients, where attacks confuse the sides."""
    units = [samples] if isinstance(patients, Skipped) else [samples, patients]
    for unit, where in zip(units, ("", "Patient by patient: "), strict=False):
        if unit.headline.inverted:
            first, _ = direction.sentences(unit.headline.inverted)
            yield f"{where}{first}"
