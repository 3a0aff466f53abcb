"""The audit of extraction from a language model, and its report."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from privacygauge.core import checks, seeds
from privacygauge.core.estimate import Skipped
from privacygauge.core.units import foremost
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import BothSides
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session
from privacygauge.language.controls import unlearnt
from privacygauge.language.extracted import (
    NEAR,
    SAMPLED,
    UNPROMPTED,
    VERBATIM,
    Extracted,
    judged_texts,
    measure_extraction,
)
from privacygauge.language.loading import Precision
from privacygauge.language.model import MaskedModel, Model
from privacygauge.language.model_options import Tries, Writing
from privacygauge.language.text_energies import (
    check_one_kind,
    compared_models,
    load_either,
    with_chat,
)
from privacygauge.language.text_files import Columns, TextRecordsLike, sides_of
from privacygauge.report import direction
from privacygauge.report.grades import UNTOLD, untold_verdict
from privacygauge.report.numbers import (
    Shown,
    count,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
    shorten,
)
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Content,
    Gauge,
    Grade,
    Measure,
    Origin,
    Report,
    Section,
    Severity,
    Verdict,
    Worst,
    gauge_limits,
    note,
    pick_values,
    table,
    text,
    values_of,
)
from privacygauge.runs.options import keyword

if TYPE_CHECKING:
    import pandas as pd


ALONE = (
    "No reference model was given: a text that any model would write counts as extracted too. "
    "Judge by the difference between members and non-members alone."
)


@dataclass(frozen=True, eq=False, repr=False)
class ExtractionAudit(Reported):
    """Findings on texts extracted from a language model, with its report, tables and plots."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    found: Extracted
    """Extraction results, text by text."""
    show_texts: bool = False
    """Whether the page shows the extracted texts."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        f = self.found
        w = _words(self)
        n = self.found.asked.tries
        names = {
            SAMPLED: f"Target alone, {_tries(n)}",
            VERBATIM: "Target alone, verbatim",
            NEAR: f"Target alone, at most {several(f.asked.edits, 'edit')}",
            UNPROMPTED: f"Target alone, {several(f.asked.unprompted, 'text')} without a prompt",
        }
        both = {"Target": f.target, "Reference": f.reference} if f.reference is not None else {}
        hits = {f"{name}, {_tries(n)}": f.by(model, n) for name, model in both.items()}
        hits |= {names[way]: hit for way, hit in f.hits.items()}
        ways = table(
            "ways",
            f"People with {_words(self).one} that can be extracted",
            [
                {"By": name, **_rates_by_side(f.rates(hit, self.level))}
                for name, hit in hits.items()
            ],
            "Target alone: what the reference gives at the same tries does not count. Verbatim: "
            "the likeliest token is chosen at every step.",
            prose=("By",),
            best=[name == names[SAMPLED] for name in hits],
        )
        tries = table(
            "tries",
            "By the number of tries",
            [
                {"Tries": count(n), **_rates_by_side(f.rates(f.within(n), self.level))}
                for n in f.grid
            ],
            "Target alone. To look at, not to choose from: each interval holds alone.",
        )
        n_in = int(f.judged.inside.sum())
        n_out = int((~f.judged.inside).sum())
        # People, not texts: somebody with many texts is named once.
        # By place in `first`, which is sorted by tries: a person's easiest text stands for them.
        by_place = -np.arange(len(f.first), dtype=float)
        listed = f.first[foremost(by_place, f.judged.unit[f.first], _LISTED)].tolist()
        easiest = tuple(plain(shorten(f.judged.person[row])) for row in listed[:_AT_ONCE])
        writes = "writes the suffix of a text" if w is _WRITING else "fills in the identifier"
        return Report(
            kind="extraction",
            title="Audit of extraction",
            about=About(w.model, w.does, w.needs, "training-data-extraction"),
            intro=f"{several(len(f.judged.text), w.thing)}, of {count(n_in)} people the model was "
            f"trained on and {count(n_out)} others. "
            + (
                "Each was hidden alone in its text and is to be filled in, token by token from "
                "left to right"
                if w is _FILLING
                else f"Each was cut in two: {f.how.prefix} {f.unit}s are given, at most half of a "
                f"text, and the next {f.how.suffix} are to be written"
            )
            + f" ({f.how.describe()}).",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=(
                Section(
                    "ways",
                    f"Whose {w.thing}s can be extracted",
                    (ways, tries, *_details(self)),
                    "Extraction",
                ),
                Section(
                    "content",
                    f"What the extracted {w.thing}s hold",
                    tuple(_contents(self)),
                    "Content",
                ),
                Section(
                    "people", f"Whose {w.thing}s come first", (_people(self, listed),), "People"
                ),
            ),
            terms={
                "Extracted": f"The model {writes} at least once in n tries with a probability of "
                "at least p, computed from the probabilities of its tokens, not by trying; "
                "(n, p)-discoverable extraction.",
                "Reference": "A model that was not trained on the texts. What it gives as readily "
                "is common text, and no memory.",
                "Without a prompt": "The model writes texts from its beginning token alone; "
                "somebody counts if a stretch as long as the suffix stands in one of them.",
                "Verbatim": f"The model {writes} exactly where it chooses the likeliest token at "
                "every step.",
                "Member": "Somebody with a text that the model was trained on.",
                "Others": "People of the same kind whom the model never saw.",
            },
            worst=Worst("people", easiest, "" if easiest else f"nobody's {w.thing} was extracted"),
            data={
                **pick_values(f, "how", "asked", "unit", "contents"),
                "n_members": n_in,
                "n_others": n_out,
                "by_tries": [
                    {
                        "tries": n,
                        **pick_values(
                            f.rates(f.within(n), self.level), "members", "others", "difference"
                        ),
                    }
                    for n in f.grid
                ],
                "ways": {name: values_of(f.rates(hit, self.level)) for name, hit in f.hits.items()},
                "by_copies": [values_of(one) for one in f.by_copies(self.level)],
            },
            frames={"records.parquet": lambda: _frame(self)},
            overview=(ways,),
            sources="Hayes et al. (2024); Carlini et al. (2021, 2023); Zhang et al. (2023).",
        )


@dataclass(frozen=True, kw_only=True)
class ExtractionOptions(Writing, Tries):
    """An audit of a language model for training texts that it can be made to write."""

    show_texts: bool = keyword("Whether the page shows the extracted texts.", default=False)
    columns: Columns | None = keyword(
        "Columns of files and frames, if they have other names.", default=None
    )
    own: re.Pattern[str] | None = keyword(
        "Further identifiers to look for, from `own_pattern` of `privacygauge.language.filling`.",
        default=None,
    )
    device: str = keyword("Device of models that are given as paths.", default="cpu")
    precision: str = keyword(
        "Precision of models that are given as paths, float32 or bfloat16.", default="float32"
    )
    base: str | Path | None = keyword(
        "Folder of the base, if the target is a PEFT adapter that does not name it.", default=None
    )

    def run(
        self,
        target: str | Path | Model,
        reference: str | Path | Model | None,
        members: TextRecordsLike,
        nonmembers: TextRecordsLike,
        *,
        before: Callable[[], None] | None = None,
        session: Session = Session("language extract"),
    ) -> ExtractionAudit:
        """Audit a language model for training texts that it can be made to write.

        Each text is cut in two: an attacker who knows the prefix lets the model continue it. The
        probability of the suffix follows from a single pass. A masked model fills in the
        identifiers of a text, one hidden at a time. Text that a reference writes as readily is
        common and does not count. People whom the target never saw show how much is found by
        chance.

        Parameters
        ----------
        target, reference : path, CausalModel or MaskedModel
            Local folders, or models from `load_causal` or `load_masked`, both of one kind. The
            reference was not trained on the texts; None takes the base of a PEFT adapter, or no
            reference.
        members, nonmembers : path, sequence of str, mapping of lists, or data frame
            Texts that the target was trained on, and others like them; see `audit_masked`. Masked
            models know all of a text but the identifier, and allow no edits.
        before : callable, optional
            Called once all arguments are checked, before a model is queried.
        session : Session, optional
            Seed, level and run folder, which keeps the models' answers: an interrupted audit
            resumes there, and the audit of another target finds the answers of the same reference.

        Returns
        -------
        ExtractionAudit

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Hayes et al. (2024), definition 3.3, for (n, p)-discoverable extraction; Zhang et al. (2023)
        for the reference as a counterfactual; Carlini et al. (2023) for verbatim extraction.
        """
        checks.kind(self.columns, "columns", Columns, "a Columns()")
        columns = with_chat(self.columns, target, self.base)
        sides = sides_of(members, nonmembers, columns=columns)
        load = functools.partial(
            load_either, device=self.device, precision=cast(Precision, self.precision)
        )
        models: list[Model] = compared_models(target, reference, load, self.base)
        check_one_kind(models)
        for model in models:
            if getattr(model.module.config, "is_encoder_decoder", False):
                raise InputError(
                    f"{model.source.path} must hold a causal or a masked language model, got an "
                    "encoder-decoder, which does not write on: audit it with privacygauge language"
                )
        for name in ("edits", "unprompted"):
            if getattr(self, name) and isinstance(models[0], MaskedModel):
                raise InputError(
                    f"{name} must be 0 for a masked model, which does not write on, got "
                    f"{getattr(self, name)}"
                )
        judged = judged_texts(sides, models, seeds.stream(session.seed, "extraction"), self.own)
        if before is not None:
            before()
        how = self.part(Writing)
        found = measure_extraction(
            models[0],
            models[1] if len(models) > 1 else None,
            judged=judged,
            how=how,
            asked=self.part(Tries),
            seed=session.seed,
            run=session.run,
            progress=session.progress,
        )
        about = {"sampling": how.describe(), "target": models[0].source.weights}
        # The answers stand in folders of their own, which hold no code to be compared.
        return audit_of(found, replace(session, run=None), about, show_texts=self.show_texts)


audit_extraction = one_line(
    ExtractionOptions,
    ExtractionOptions.run,
    "audit_extraction",
    without=("n_jobs", "invocation"),
)


def audit_of(
    found: Extracted, running: Session, about: Mapping[str, str], *, show_texts: bool = False
) -> ExtractionAudit:
    """Return the audit of extraction results, with its warnings."""
    beyond = found.rates(found.hits[SAMPLED], running.level).difference
    turned = (
        "The share of people with an extracted text is higher for non-members than for members "
        f"(difference {percent_estimate(beyond)}): were the sides swapped?"
    )
    told = None
    if found.reference is not None:
        inside = found.judged.member
        told = unlearnt(
            found.target.log_probability[inside],
            found.reference.log_probability[inside],
            running.level,
        )
    warnings = (
        *(() if found.reference else (ALONE,)),
        *found.judged.notes,
        *(() if told is None else (told,)),
        *((turned,) if beyond.high < 0 else ()),
    )
    origin = running.origin("torch", "transformers", warnings=warnings, about=about)
    return ExtractionAudit(origin, found, show_texts)


NOTHING = Grade("nothing extracted", Severity.NOTHING)
FEW = Grade("no more than from others", Severity.SMALL)
EXTRACTED = Grade("extracted", Severity.GRAVE)
SCALE = (NOTHING, FEW, EXTRACTED)
"""Grades, from mild to grave."""

_LISTED = 50
"""Largest number of people who are listed."""
_AT_ONCE = 10
"""Number of people listed before a fold."""


@dataclass(frozen=True)
class _Words:
    """An audit's words for the model, the attack and the extracted texts."""

    model: str
    """Kind of model."""
    does: str
    """The attack, in a sentence."""
    needs: str
    """Knowledge that the attack needs."""
    thing: str
    """Noun for the extracted text."""
    one: str
    """The noun with its article."""
    short: str
    """The noun in the names of numbers, which must fit into a line."""
    part: str
    """Part of the text that is extracted."""
    unsaid: str
    """Claims that the verdict does not make."""


_WRITING = _Words(
    model="A causal language model",
    does="Whoever knows the beginning of a text lets the model write on, again and again.",
    needs="the beginnings of texts, and as many samples of the model as were asked for",
    thing="text",
    one="a text",
    short="text",
    part="suffix",
    unsaid=(
        "Longer prefixes, other prompts or further training may bring out more. What was "
        "extracted holds for whoever knows the prefixes; that nothing was does not bound "
        "membership inference."
    ),
)
_FILLING = _Words(
    model="A masked language model",
    does=(
        "Whoever knows all of a text but one name, date or number lets the model fill it in, again "
        "and again."
    ),
    needs=(
        "texts with one identifier hidden, the number of its tokens, and as many samples of the "
        "model as were asked for"
    ),
    thing="identifier",
    one="an identifier",
    short="item",  # names of numbers have to fit into a line
    part="identifier",
    unsaid=(
        "Other ways to ask or further training may bring out more. What was extracted holds for "
        "whoever knows the rest of the text; that nothing was does not bound membership inference."
    ),
)
_CONTENT = (
    "Found by form alone, so some are missed and some are none. What the prefix already holds is "
    "not counted."
)


def verdict(a: ExtractionAudit) -> Verdict:
    """Return the verdict, by the lower end of the difference between members and others."""
    f = a.found
    level = a.level
    w = _words(a)
    found = f.share(f.hits[SAMPLED], level)
    rates = f.rates(f.hits[SAMPLED], a.level)
    beyond = rates.difference
    alone = "" if f.reference is None else ", and the reference does not give it"
    told = (
        f"Of people whom the model never saw, "
        f"{percent_estimate(rates.others)} have such {w.one}: a difference of "
        f"{percent_estimate(beyond)} ({rate(level)} interval)."
    )
    # Others' texts are extracted more often: the sides may be swapped or unlike.
    if beyond.high < 0:
        return direction.verdict((f"More of others' {w.thing}s can be extracted. {told}",), UNTOLD)
    k = int(f.judged.people(f.hits[SAMPLED])[f.judged.inside].sum())
    n = found.n
    alone_written = None if f.unprompted is None else f.rates(f.unprompted, level)
    # Two looks, each of which errs on one side of its interval: half of the error for both.
    by_itself = alone_written is not None and alone_written.difference.low > 0
    grade = EXTRACTED if beyond.low > 0 or by_itself else FEW if k else NOTHING
    # A reference that gives texts of more members than others was trained on them, or the sides
    # differ: a text that it also gives need not be common text.
    seen = f.rates(f.by(f.reference, f.asked.tries), level)
    if grade != EXTRACTED and seen.difference.low > 0:
        return untold_verdict(
            headline=f"Cannot be told: the reference gives members' {w.thing}s too",
            sentences=(
                f"The reference gives {w.thing}s of {percent_estimate(seen.members)} of the "
                f"members and of {percent_estimate(seen.others)} of the others. Either it was "
                "trained on the members, or the sides differ in more than membership: what it "
                "gives too is no common text, and is left out all the same.",
            ),
            unsaid=direction.OPEN,
            advice=(
                "Audit with a reference that saw neither side, or with none.",
                "Draw members and non-members at random from the same texts.",
            ),
        )
    n_tries = _tries(f.asked.tries)
    which = " with a chance of " + rate(f.asked.chance)
    shown = percent_estimate(found)
    headline = (
        f"{w.thing.capitalize()}s of {count(k)} of {count(n)} people ({shown.interval}%) can be "
        f"extracted with {n_tries}"
        if k
        else f"No {w.thing} of {count(n)} people can be extracted with {n_tries} (at most "
        f"{shown.high}% of people have one)"
    )
    if alone_written is not None:
        told += (
            f" Without a prompt it wrote {w.thing}s of {percent_estimate(alone_written.members)} "
            f"of the members and of {percent_estimate(alone_written.others)} of the others."
        )
        if by_itself and beyond.low <= 0:
            n_alone = int(f.judged.people(f.hits[UNPROMPTED])[f.judged.inside].sum())
            headline = (
                f"The model writes {w.thing}s of {count(n_alone)} of {count(n)} people without a "
                "prompt"
            )
    advice = {
        NOTHING: (
            f"Audit with more tries{' and longer prefixes' if w is _WRITING else ''}, and play "
            "membership inference.",
        ),
        FEW: ("Give more texts, or more tries: the sides do not differ significantly.",),
        EXTRACTED: (
            "Train again before a release: leave out repeated texts, mask identifiers, and take "
            "fewer epochs or differential privacy.",
            "Look at the texts that come first, and audit again.",
        ),
    }
    sentences = (f"Extracted means: the {w.part} is among {n_tries}{which}{alone}. {told}",)
    gauge = Gauge(
        label=f"People with an extracted {w.thing}, beyond those among others",
        shown=percent_estimate(beyond),
        low=beyond.low,
        value=beyond.value,
        high=beyond.high,
        limits=gauge_limits(0.0, beyond.value, beyond.high),
        ticks=("0%",),
        rule=(
            "The grade follows from the lower end of the interval: above 0 the model gives texts "
            "away because it was trained on them."
        ),
        zones=("No more than from others", "Extracted"),
    )
    return Verdict(
        grade=grade,
        scale=SCALE,
        headline=headline,
        sentences=sentences,
        unsaid=w.unsaid,
        advice=advice[grade],
        gauge=gauge,
    )


def _words(a: ExtractionAudit) -> _Words:
    return _WRITING if a.found.judged.identifier is None else _FILLING


def _tries(n: int) -> str:
    return "1 try" if n == 1 else f"{count(n)} tries"


def _measures(a: ExtractionAudit) -> Iterator[Measure]:
    f = a.found
    w = _words(a)
    within = f"within {_tries(f.asked.tries)}"
    alone = "By the target and not by the reference."
    chance = f"{within}, chance {rate(f.asked.chance)}"
    beyond = f.rates(f.hits[SAMPLED], a.level).difference
    extracted = f.share(f.hits[SAMPLED], a.level)
    verbatim = f.share(f.hits[VERBATIM], a.level)
    memory = "likeliest tokens, no sampling"
    gives = "What the model gives away because it was trained on the texts."
    written = (
        Skipped("unprompted", "needs --unprompted N")
        if f.unprompted is None
        else f.share(f.unprompted, a.level)
    )
    for name, label, found, beside_it, meaning in (
        ("extracted-beyond", f"an extracted {w.short}, beyond others", beyond, within, gives),
        ("extracted", f"an extracted {w.short}", extracted, chance, alone),
        ("verbatim", f"{w.one} given verbatim", verbatim, memory, alone),
        ("unprompted", f"{w.one} written without a prompt", written, "no prefix", alone),
    ):
        label = f"People with {label}"
        shown = percent_estimate(found)
        yield Measure(
            name=name,
            label=label,
            found=found,
            shown=shown,
            note=beside_it,
            text=meaning,
            guessing="no leak: 0%",
            # A way that was not asked for gets a row, but no tile.
            card=not isinstance(found, Skipped),
        )


def _rates_by_side(x: BothSides) -> dict[str, Content]:
    found = {"Members": x.members, "Others": x.others, "Difference": x.difference}
    return {name: percent_estimate(estimate) for name, estimate in found.items()}


def _details(a: ExtractionAudit) -> Iterator[Block]:
    """Yield the tables by copies in the training and by nearness, as far as they are known."""
    f = a.found
    shares = f.by_copies(a.level)
    if shares:
        yield table(
            "copies",
            "By the number of equal texts in the training",
            [
                {
                    "Equal texts": str(x.least)
                    if x.most == x.least
                    else f"{x.least} to {x.most}"
                    if x.most
                    else f"{x.least} or more",
                    "People": count(x.sampled.n),
                    f"Extracted, {_tries(f.asked.tries)}": percent_estimate(x.sampled),
                    "Verbatim": percent_estimate(x.verbatim),
                }
                for x in shares
            ],
            "Members' texts, target alone; counted in the file of members, where each text has to "
            "stand as often as in the training.",
        )
    # Only causal models decode on, and only where edits were asked for.
    if f.target_near is None:
        return
    similarity = f.target_near.similarity
    sides = {"Members": f.judged.member, "Others": ~f.judged.member}
    rows: list[dict[str, Content]] = []
    for name, values, form in (
        ("Edit similarity", similarity, percent),
        ("Longest stretch in common, tokens", f.target_near.longest, lambda x: f"{x:g}"),
    ):
        for part, q in (("median", 0.5), ("highest tenth begins at", 0.9)):
            by_side = {side: form(float(np.quantile(values[on], q))) for side, on in sides.items()}
            rows.append({"What was written": f"{name}, {part}", **by_side})
    yield table(
        "nearness",
        "How near the likeliest tokens come to the suffix",
        rows,
        "Target alone. Edit similarity: 100% less the share of the suffix's tokens that have to be "
        "edited. Of each text in records.parquet.",
        prose=("What was written",),
    )


def _contents(a: ExtractionAudit) -> Iterator[Block]:
    f = a.found
    w = _words(a)
    if not len(f.first):
        yield text("Nothing was extracted.")
        return
    n = int(f.judged.people(f.hits[SAMPLED] & f.judged.member).sum())
    yield table(
        "content",
        "Identifiers in extracted texts",
        [
            {
                "Kind": x.kind,
                "Found": count(x.spans),
                "People": count(x.people),
                "Share of the characters": percent(x.share),
            }
            for x in f.contents
        ],
        f"In {several(len(f.first), f'extracted {w.thing}')} of {count(n)} people. {_CONTENT}",
    )
    # Ids only, unless the user asks: what was extracted is private.
    if not a.show_texts:
        yield note("The texts themselves are shown with --show-texts.")
        return
    rows = f.first[:_LISTED].tolist()
    shown: list[dict[str, Content]] = [
        {"Text": plain(shorten(f.judged.sample[row])), "Extracted": plain(f.suffix(row))}
        for row in rows
    ]
    yield table("texts", f"Extracted {w.thing}s", shown, prose=("Extracted",), at_once=_AT_ONCE)


def _people(a: ExtractionAudit, listed: list[int]) -> Block:
    f = a.found
    if not len(f.first):
        return text(f"Nobody: no member's {_words(a).thing} was extracted.")
    needed = f.target.tries(f.asked.chance)
    return table(
        "people",
        f"People whose {_words(a).thing} needs fewest tries",
        [
            {
                "Person": plain(shorten(f.judged.person[row])),
                "Text": plain(shorten(f.judged.sample[row])),
                "Tries needed": Shown(count(int(needed[row]))),
                f"{f.unit.capitalize()}s": count(int(f.n_suffix[row])),
                "Identifiers": ", ".join(dict.fromkeys(span.kind for span in f.found_in(row)))
                or "none",
            }
            for row in listed
        ],
        f"The {_words(a).thing} of each that needs fewest; ids only.",
        prose=("Identifiers",),
        at_once=_AT_ONCE,
    )


def _frame(a: ExtractionAudit) -> pd.DataFrame:
    import pandas as pd

    f = a.found
    chance = a.found.asked.chance
    models = {"target": f.target} | ({} if f.reference is None else {"reference": f.reference})
    by_model = {
        f"{name}_{role}": values
        for role, model in models.items()
        for name, values in (
            ("log_probability", model.log_probability),
            ("tries", model.tries(chance)),
            ("verbatim", model.verbatim),
        )
    }
    compared = {"target": f.target_near, "reference": f.reference_near}
    near = {
        f"{name}_{role}": values
        for name, found in compared.items()
        if found is not None
        for role, values in (
            ("edits", found.edits),
            ("similarity", found.similarity),
            ("longest_stretch", found.longest),
        )
    }
    return pd.DataFrame(
        {
            "sample": f.judged.sample,
            "group": f.judged.person,
            "member": f.judged.member,
            "compared": f.judged.compared,
            f"suffix_{f.unit}s": f.n_suffix,
            **({} if f.judged.copies is None else {"copies": f.judged.copies}),
            **by_model,
            **near,
            "extracted": f.hits[SAMPLED],
            **({} if f.unprompted is None else {"unprompted": f.unprompted}),
        }
    )
