"""The audit of extraction from a language model."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from privacygauge.audits.extraction.says import ExtractionResult, report
from privacygauge.audits.running import Running
from privacygauge.core import checks, seeds
from privacygauge.errors import InputError
from privacygauge.language.extracted import (
    SAMPLED,
    Extracted,
    Tries,
    judged_texts,
    measure_extraction,
)
from privacygauge.language.extraction import Writing
from privacygauge.language.loading import Precision
from privacygauge.language.model import MaskedModel, Model
from privacygauge.language.text_energies import (
    check_one_kind,
    compared_models,
    load_either,
    with_chat,
)
from privacygauge.language.text_files import Columns, TextRecordsLike, sides_of
from privacygauge.report.numbers import percent_estimate
from privacygauge.report.values import Report
from privacygauge.runs.execute import Progress

ALONE = (
    "No reference model was given: a text that any model would write counts as extracted too. "
    "Judge by the difference between members and non-members alone."
)


class ExtractionAudit(ExtractionResult):
    """Findings on texts extracted from a language model, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)


def audit_extraction(
    target: str | Path | Model,
    reference: str | Path | Model | None,
    members: TextRecordsLike,
    nonmembers: TextRecordsLike,
    *,
    writing: Writing | None = None,
    asked: Tries | None = None,
    show_texts: bool = False,
    columns: Columns | None = None,
    own: re.Pattern[str] | None = None,
    device: str = "cpu",
    precision: Precision = "float32",
    base: str | Path | None = None,
    run: str | Path | None = None,
    progress: Progress | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_extraction",
    provenance: Mapping[str, str] | None = None,
    before: Callable[[], None] | None = None,
) -> ExtractionAudit:
    """Audit a language model for training texts that it can be made to write.

    Each text is cut in two: an attacker who knows the prefix lets the model continue it. The
    probability of the suffix follows from a single pass. A masked model fills in the identifiers of
    a text, one hidden at a time. Text that a reference writes as readily is common and does not
    count. People whom the target never saw show how much is found by chance.

    Parameters
    ----------
    target, reference : path, CausalModel or MaskedModel
        Local folders, or models from `load_causal` or `load_masked`, both of one kind. The
        reference was not trained on the texts; None takes the base of a PEFT adapter, or no
        reference.
    members, nonmembers : path, sequence of str, mapping of lists, or data frame
        Texts that the target was trained on, and others like them; see `audit_masked`.
    writing : Writing, optional
        Lengths of prefix and suffix, temperature and top-k; default: 50 tokens each,
        temperature 1, the 40 likeliest tokens. Masked models know all but the identifier.
    asked : Tries, optional
        n, p and the edits of near verbatim extraction; default: 1,000 tries, a chance of one half
        and no edits, for which the models would have to write. Masked models allow no edits.
    show_texts : bool
        Whether the page shows the extracted texts.
    columns : Columns, optional
        Columns of files and frames, if they have other names.
    own : re.Pattern, optional
        Further identifiers to look for, from `own_pattern` of `privacygauge.language.filling`.
    device, precision
        As in `load_causal`.
    base : str or pathlib.Path, optional
        Folder of the base, if the target is a PEFT adapter that does not name it.
    run : str or pathlib.Path, optional
        Folder that keeps the models' answers: an interrupted audit resumes there, and the audit of
        another target finds the answers of the same reference.
    progress : callable, optional
        Called with the texts done and their total.
    seed : int
        Seed of the choice of compared texts, if people have unequal numbers of them.
    level : float
        Level of every interval, in (0, 1).
    command, provenance
        As in `audit_model`.
    before : callable, optional
        Called once all arguments are checked, before a model is queried.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Hayes et al. (2024), definition 3.3, for (n, p)-discoverable extraction; Zhang et al. (2023)
    for the reference as a counterfactual; Carlini et al. (2023) for verbatim extraction.
    """
    running = Running(command, seed, level, provenance, progress=progress)
    checks.kind(writing, "writing", Writing, "a Writing()")
    checks.kind(asked, "asked", Tries, "a Tries()")
    checks.kind(columns, "columns", Columns, "a Columns()")
    columns = with_chat(columns, target, base)
    sides = sides_of(members, nonmembers, columns=columns)
    load = functools.partial(load_either, device=device, precision=precision)
    models: list[Model] = compared_models(target, reference, load, base)
    check_one_kind(models)
    for model in models:
        if getattr(model.module.config, "is_encoder_decoder", False):
            raise InputError(
                f"{model.source.path} must hold a causal or a masked language model, got an "
                "encoder-decoder, which does not write on: audit it with privacygauge language"
            )
    how = writing or Writing()
    tries = asked or Tries()
    if tries.edits and isinstance(models[0], MaskedModel):
        raise InputError(
            f"edits must be 0 for a masked model, which does not write on, got {tries.edits}"
        )
    judged = judged_texts(sides, models, seeds.stream(seed, "extraction"), own)
    other = models[1] if len(models) > 1 else None
    if before is not None:
        before()
    found = measure_extraction(
        models[0], other, judged=judged, how=how, asked=tries, run=run, progress=progress
    )
    about = {"sampling": how.describe(), "target": models[0].source.weights}
    return audit_of(found, running, about, show_texts=show_texts)


def audit_of(
    found: Extracted, running: Running, about: Mapping[str, str], *, show_texts: bool = False
) -> ExtractionAudit:
    """Return the audit of extraction results, with its warnings."""
    beyond = found.rates(found.hits[SAMPLED], running.level).difference
    turned = (
        "The share of people with an extracted text is higher for non-members than for members "
        f"(difference {percent_estimate(beyond)}): were the sides swapped?"
    )
    unlearnt = found.unlearnt(running.level)
    warnings = (
        *(() if found.reference else (ALONE,)),
        *found.judged.notes,
        *(() if unlearnt is None else (unlearnt,)),
        *((turned,) if beyond.high < 0 else ()),
    )
    origin = running.origin("torch", "transformers", warnings=warnings, about=about)
    return ExtractionAudit(origin, found, show_texts)
