"""The audit of a language model: the leak of its training texts through its energies."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privacygauge.audits.language.report import report
from privacygauge.audits.language.verdict import LanguageResult
from privacygauge.audits.work import Running
from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.evaluate.played import GameDescription
from privacygauge.language.attacks import FPRS
from privacygauge.language.audited import EnergyFindings, audit_energies
from privacygauge.language.controls import unlearnt
from privacygauge.language.endpoints import AnyModel, EndpointModel
from privacygauge.language.energies import MaskPlan
from privacygauge.language.loading import Asked as AskedPrecision
from privacygauge.language.model import CausalModel, MaskedModel, load_causal, load_masked
from privacygauge.language.patients import comparable, with_dealt_units
from privacygauge.language.scores import TextScores, TextScoresLike, as_text_scores, write_energies
from privacygauge.language.splitting import Coins, read_coins
from privacygauge.language.text_energies import (
    Form,
    check_asked,
    compared_models,
    judged_texts,
    origin_of,
    text_energies,
    with_chat,
)
from privacygauge.language.text_files import Columns, TextRecords, TextRecordsLike
from privacygauge.language.units import ThresholdFinding, ThresholdOptions, UnitFindings, asked_for
from privacygauge.language.windows import WHOLE, Windows
from privacygauge.report import direction
from privacygauge.report.numbers import count, percent_estimate, rate, several
from privacygauge.report.values import Report
from privacygauge.runs.execute import Progress

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
        scores, apart = comparable(with_dealt_units(scores), drawn)
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


# The audit of a language model from the model itself: its energies of texts, then the attacks.


def audit_masked(
    target: str | Path | MaskedModel,
    reference: str | Path | MaskedModel | None,
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None = None,
    *,
    plan: MaskPlan | None = None,
    form: Form = "mean",
    columns: Columns | None = None,
    threshold: str | Sequence[str] | None = None,
    fpr: float | Sequence[float] = FPRS,
    show: Sequence[str] = (),
    coins: Coins | str | Path | None = None,
    warnings: Sequence[str] = (),
    device: str = "cpu",
    precision: AskedPrecision = "float32",
    windows: Windows = WHOLE,
    base: str | Path | None = None,
    energies: str | Path | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_masked",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
    before: Callable[[Sequence[AnyModel]], None] | None = None,
) -> LanguageAudit:
    """Measure how far a masked language model gives away the texts it was trained on.

    Parameters
    ----------
    target, reference : path or MaskedModel
        Folders of this machine, or models from `load_masked`. Without a reference (None) that of
        a PEFT adapter is its base; else only the loss attack is played, and two of the controls
        are missing.
    members, nonmembers, population : path, sequence of str, mapping of lists, or data frame
        Texts that the target was trained on; texts like them that it was not trained on; further
        ones of that kind, which thresholds are taken from. See `load_texts` for files.
    plan : MaskPlan, optional
        How texts are masked; by default 10 balanced masks of 15%, drawn by `seed`. The pattern
        ``single`` gives the normalised energy.
    form : "mean" or "sum"
        Form of the energy; the sum grows with a text's length.
    columns : Columns, optional
        Where texts, ids and groups have other names than the usual ones.
    threshold, fpr, show, warnings, level, command
        As in `audit_language`.
    coins : Coins or path, optional
        As in `audit_language`; the texts must be those that they dealt.
    device, precision, windows
        As in `load_masked`, where paths are given.
    base : str or pathlib.Path, optional
        The folder of the target's base, where the target is a PEFT adapter that does not name it.
    energies : str or pathlib.Path, optional
        A ``.parquet`` or ``.csv`` file to keep the energies in, for `audit_language`.
    run : str or pathlib.Path, optional
        A folder that keeps what the models answered: a stopped audit goes on there, and one of a
        second target finds the answers of its reference.
    n_jobs, progress, invocation
        As in `token_log_probabilities`; the progress counts texts, once a model.
    seed : int
        Seed of all random draws.
    provenance : mapping of str to str, optional
        Further lines for the report.
    before : callable, optional
        Called with the models when all that was given is checked, before they are asked.

    Returns
    -------
    LanguageAudit

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Mireshghallah et al. (2022), section 2.
    """
    asked = asked_for(threshold, fpr, seed, level)
    check_asked(asked, show, energies, population is not None)
    checks.kind(plan, "plan", MaskPlan, "a MaskPlan()")
    checks.kind(windows, "windows", Windows, "a Windows()")
    checks.kind(columns, "columns", Columns, "a Columns()")
    columns = with_chat(columns, target, base)
    texts, dealt = judged_texts(
        members, nonmembers, population=population, columns=columns, coins=coins
    )
    load = functools.partial(load_masked, device=device, precision=precision, windows=windows)
    models = compared_models(target, reference, load, base)
    running = Running(
        command=command,
        seed=seed,
        level=level,
        provenance=provenance,
        run=run,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
    )
    plan = plan or MaskPlan(seed=seed)
    scores = _scores(
        models,
        texts,
        plan=plan,
        form=form,
        recall=None,
        energies=energies,
        before=before,
        running=running,
    )
    masks = {"masks": json.dumps(plan.describe()), "energy": f"{form} form"}
    about = {**origin_of(models), **masks}
    return audit_of(
        scores, asked, show=show, coins=dealt, warnings=warnings, running=running, about=about
    )


def audit_causal(
    target: str | Path | CausalModel | EndpointModel,
    reference: str | Path | CausalModel | EndpointModel | None,
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    population: TextRecordsLike | None = None,
    *,
    form: Form = "mean",
    recall: int | None = None,
    columns: Columns | None = None,
    threshold: str | Sequence[str] | None = None,
    fpr: float | Sequence[float] = FPRS,
    show: Sequence[str] = (),
    coins: Coins | str | Path | None = None,
    warnings: Sequence[str] = (),
    device: str = "cpu",
    precision: AskedPrecision = "float32",
    windows: Windows = WHOLE,
    base: str | Path | None = None,
    energies: str | Path | None = None,
    run: str | Path | None = None,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_causal",
    provenance: Mapping[str, str] | None = None,
    invocation: Mapping[str, Any] | None = None,
    before: Callable[[Sequence[AnyModel]], None] | None = None,
) -> LanguageAudit:
    """Measure how far a causal language model gives away the texts it was trained on.

    Parameters
    ----------
    target, reference : path, CausalModel or EndpointModel
        Folders of this machine, models from `load_causal`, or both behind servers.
    members, nonmembers, population, form, columns, threshold, fpr, show, coins, warnings
        As in `audit_masked`. The energy is minus the log-likelihood.
    recall : int, optional
        Also play ReCaLL: each text is read once more after at most this many texts of the
        population, whose people are left out of it; see `prefix_apart`.
    device, precision, windows, base, energies, run, n_jobs, progress, seed, level, command
        As in `audit_masked`.
    provenance, invocation, before
        As in `audit_masked`.

    Returns
    -------
    LanguageAudit
        Findings for the loss, for the likelihood ratio if there is a reference, and for the signals
        of `token_signals`.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.
    """
    asked = asked_for(threshold, fpr, seed, level)
    check_asked(asked, show, energies, population is not None)
    checks.kind(windows, "windows", Windows, "a Windows()")
    checks.kind(columns, "columns", Columns, "a Columns()")
    columns = with_chat(columns, target, base)
    texts, dealt = judged_texts(
        members, nonmembers, population=population, columns=columns, coins=coins
    )
    load = functools.partial(load_causal, device=device, precision=precision, windows=windows)
    models = compared_models(target, reference, load, base)
    running = Running(
        command=command,
        seed=seed,
        level=level,
        provenance=provenance,
        run=run,
        invocation=invocation,
        n_jobs=n_jobs,
        progress=progress,
    )
    plan = MaskPlan(seed=seed)
    scores = _scores(
        models,
        texts,
        plan=plan,
        form=form,
        recall=recall,
        energies=energies,
        before=before,
        running=running,
    )
    about = {**origin_of(models), "energy": f"{form} form"}
    return audit_of(
        scores, asked, show=show, coins=dealt, warnings=warnings, running=running, about=about
    )


def _scores(
    models: Sequence[AnyModel],
    texts: Sequence[TextRecords],
    plan: MaskPlan,
    form: Form,
    recall: int | None,
    energies: str | Path | None,
    before: Callable[[Sequence[AnyModel]], None] | None,
    running: Running,
) -> TextScores:
    """Return the energies of the texts, and write them if requested."""
    scores = text_energies(
        models[0],
        models[1] if len(models) > 1 else None,
        texts,
        plan=plan,
        form=form,
        recall=recall,
        run=running.run,
        n_jobs=running.n_jobs,
        progress=running.progress,
        invocation=running.invocation,
        before=None if before is None else lambda: before(models),
    )
    if energies is not None:
        write_energies(scores, energies)
    return scores
