"""The audit of a language model from the model itself: its energies of texts, then the attacks."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from privacygauge.audits.language.play import LanguageAudit, audit_of
from privacygauge.audits.running import Running
from privacygauge.core import checks
from privacygauge.language.attacks import FPRS
from privacygauge.language.endpoints import AnyModel, EndpointModel
from privacygauge.language.energies import MaskPlan
from privacygauge.language.loading import Asked as AskedPrecision
from privacygauge.language.model import CausalModel, MaskedModel, load_causal, load_masked
from privacygauge.language.scores import TextScores, write_energies
from privacygauge.language.splitting import Coins
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
from privacygauge.language.units import asked_for
from privacygauge.language.windows import WHOLE, Windows
from privacygauge.runs.execute import Progress


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
