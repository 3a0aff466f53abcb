"""The audit of unlearning, of language models and of classifiers, and its report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from privacygauge.core import checks, seeds, units
from privacygauge.core.checks import Bools, Floats
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.datasets.reading import FrameLike
from privacygauge.errors import InputError
from privacygauge.evaluate import roc
from privacygauge.evaluate.detectable import POWER
from privacygauge.evaluate.unlearning import TOLERATED, State, Unlearning, measure_unlearning
from privacygauge.kinds.one_line import by_position
from privacygauge.kinds.session import Session
from privacygauge.report import grades
from privacygauge.report.attacks.verdict import grade_of_few
from privacygauge.report.numbers import (
    count,
    decimal,
    decimal_estimate,
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
    Measure,
    Origin,
    Report,
    Section,
    Verdict,
    Worst,
    note,
    table,
    text,
    values_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from privacygauge.classifiers.predictions import Predictions
    from privacygauge.language.model import Model
    from privacygauge.language.text_files import Columns, TextRecordsLike

    Answers = str | Path | Model | Predictions | Mapping[str, ArrayLike] | FrameLike
    """A model: a folder or a loaded one, or what a classifier answers."""

CUTS = (0.6, 0.7)
"""Smallest AUC of a moderate and of a large leak, as for generators: near .57 and .71, the AUC of
Gaussian scores at balanced accuracies of 55% and 65%."""

_LISTED = 50
"""Number of records listed."""
_AT_ONCE = 10
"""Records shown before a fold, and named in a register."""

ALONE = (
    "No model was given that was trained without the forgotten records: how likely a record is "
    "without training on it is unknown, so that far less is found."
)
_UNCONTROLLED = (
    "Forgotten and fresh records are told apart, but nothing says whether they differ in more than "
    "training: give a model that saw neither (--retrained)."
)
_APART = {
    "copies": "Most of the texts of one kind have a copy, or nearly, among the other: what is left "
    "cannot speak for them.",
    "lengths": "Forgotten and fresh texts are unequally long, and too few are equally long to be "
    "compared.",
    "words": "The words alone, without any model, tell forgotten from fresh texts: they differ in "
    "more than training.",
    "form": "How the texts are written tells forgotten from fresh ones without any model: they "
    "differ in more than training.",
    "strings": "A word or a short string of characters is in far more texts of one kind than "
    "chance puts there: they differ in more than training.",
}


@dataclass(frozen=True, eq=False)
class ForgottenRecords:
    """Log-probabilities of forgotten and fresh records under each model."""

    sample: NDArray[np.object_]
    """(n,) Ids."""
    forgotten: Bools
    """(n,) True for records that the model was made to forget."""
    unit: NDArray[np.int64]
    """(n,) Person behind each record."""
    before: Floats
    """(n,) Log-probability under the model before it was made to forget."""
    after: Floats
    """(n,) Under the model that was made to forget."""
    retrained: Floats | None = None
    """(n,) Under a model that saw neither kind of records; None if none was given."""
    apart: tuple[str, ...] = ()
    """Reasons why the kinds cannot be compared: keys of `_APART`."""
    controlled: bool = False
    """Whether a control that sees neither model could be played."""
    notes: tuple[str, ...] = ()
    """Notes for the reader, one sentence each."""
    about: Mapping[str, str] = field(default_factory=dict)
    """Names and hashes of the models, by label."""
    thing: str = "record"
    """Noun for a record: ``text`` of a language model."""

    @property
    def score(self) -> Floats:
        """(n,) Log-probability under `after`, less that under `retrained` where there is one."""
        return self.after if self.retrained is None else self.after - self.retrained


@dataclass(frozen=True, eq=False, repr=False)
class UnlearningAudit(Reported):
    """Findings on records that a model was made to forget, with their report and tables."""

    origin: Origin
    """Origin of the findings: command, seed, level and inputs."""
    records: ForgottenRecords
    """Records with their log-probabilities."""
    found: Unlearning
    """AUCs, and tests of a few records."""

    @property
    def thing(self) -> str:
        """Noun for a record."""
        return self.records.thing

    @property
    def state(self) -> State:
        """Outcome: still known, known to be forgotten, nothing found, or cannot be told."""
        # A difference needs a control, or training need not explain it; no difference needs none.
        told = self.found.state in ("still known", "known to be forgotten")
        uncontrolled = told and not self.records.controlled
        return "cannot be told" if self.records.apart or uncontrolled else self.found.state

    def report(self) -> Report:
        """Return the report, as plain values."""
        f = self.found
        n_in = int(self.records.forgotten.sum())
        rows: list[dict[str, Content]] = [
            {"Model": "Before", "AUC": decimal_estimate(f.before), "Units": count(f.before.n)},
            {"Model": "After", "AUC": decimal_estimate(f.after), "Units": count(f.after.n)},
        ]
        if f.placebo is not None:
            rows.append(
                {
                    "Model": "Retrained alone",
                    "AUC": decimal_estimate(f.placebo),
                    "Units": count(f.placebo.n),
                }
            )
        relative = (
            "Before and after are relative to the retrained model, whose own AUC must hold 0.5."
            if f.placebo is not None
            else ""
        )
        models = table(
            "models",
            "AUC of forgotten against fresh",
            rows,
            relative,
            prose=("Model",),
            best=[row["Model"] == "After" for row in rows],
        )
        # Forgotten records that stand out, the most first; none unless they are shown to.
        sign = 1.0 if self.state == "still known" else -1.0
        standing_out: list[int] = []
        if self.state in ("still known", "known to be forgotten"):
            forgotten = np.flatnonzero(self.records.forgotten)
            order = np.argsort(-sign * self.records.score[forgotten], kind="stable")
            standing_out = forgotten[order][:_LISTED].tolist()
        names = (str(self.records.sample[row]) for row in standing_out[:_AT_ONCE])
        worst = tuple(plain(shorten(name)) for name in names)
        measures: list[Measure] = []
        auc = _told_apart(f.after)
        few = _exposed_share(self)
        measures.append(
            Measure(
                "forgotten-auc",
                "Forgotten told from fresh",
                auc,
                decimal_estimate(auc),
                note="AUC after, on either side of 1/2",
                text="How well the model that was made to forget gives away what it was made to "
                "forget, because it still knows it or because it avoids it.",
                guessing="no leak: 0.5",
            )
        )
        measures.append(
            Measure(
                "forgotten-exposed",
                f"Forgotten {self.thing}s that stand out",
                few,
                percent_estimate(few),
                note="at least, one by one",
                text="Found at either end of the ranking, where an average shows nothing.",
                guessing="no leak: 0%",
            )
        )
        measures.append(
            Measure(
                "before-auc",
                "The same before",
                f.before,
                decimal_estimate(f.before),
                note="AUC before",
                text="How well the first model knew them.",
                guessing="never known: 0.5",
                gate=False,
            )
        )
        caveats: list[str] = []
        if f.knew and f.before.low > 0.5:
            caveats.append(
                f"{percent(f.remaining)} of the AUC above 1/2 are left; below 0 the model "
                "knows forgotten records less than fresh ones."
            )
        caveats.append(
            f"The interval after is one of {rate(f.after.level)}: it shares the error of the "
            "verdict with the tests of a few records."
        )
        return Report(
            kind="unlearning",
            title="Audit of unlearning",
            about=About(
                "A model that was made to forget",
                f"Whoever has the model guesses which {self.thing}s it was made to forget.",
                f"the {self.thing}s, and how likely the model finds them",
                "unlearning",
            ),
            intro=f"{several(n_in, f'forgotten {self.thing}')} and "
            f"{several(len(self.records.forgotten) - n_in, f'fresh {self.thing}')}, which no model "
            "was trained on, were looked at.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(measures),
            sections=(
                Section(
                    "models",
                    "How well each model tells them apart",
                    (models, note(*caveats)),
                    "Models",
                ),
                Section(
                    "records",
                    f"Which {self.thing}s stand out",
                    (_people(self, standing_out, sign),),
                    "Records",
                ),
            ),
            terms={
                "AUC": f"Share of the pairs of a forgotten and a fresh {self.thing} in which the "
                "forgotten one is more likely to the model. 0.5: nothing tells them apart.",
                "Before": "The model that was trained on what it was to forget.",
                "After": "The same model after it was made to forget, by whatever method.",
                "Retrained": "A model that saw neither kind, best one that was trained like the "
                f"first on all other {self.thing}s: what it finds is no memory.",
                "Fresh": f"A {self.thing} of the same kind that no model was trained on.",
            },
            worst=Worst(f"{self.thing}s", worst, "" if worst else "none is shown to stand out"),
            data={
                "state": self.state,
                "before": values_of(f.before),
                "after": values_of(f.after),
                "retrained": None if f.placebo is None else values_of(f.placebo),
                "remaining": None if np.isnan(f.remaining) else f.remaining,
                "exposed": f.exposed,
                "detectable_auc": f.detectable,
                "n_forgotten": n_in,
                "n_fresh": len(self.records.forgotten) - n_in,
            },
            frames={"records.parquet": lambda: _frame(self)},
            overview=(models,),
            sources="Shi et al. (2025, MUSE); Hayes et al. (2024, U-LiRA); Maini et al. (2024).",
        )


@by_position()
def audit_unlearning(
    before: Answers,
    after: Answers,
    forgotten: TextRecordsLike | None = None,
    fresh: TextRecordsLike | None = None,
    *,
    retrained: Answers | None = None,
    columns: Columns | None = None,
    unit: str | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> UnlearningAudit:
    """Audit whether a model still distinguishes records that it was made to forget.

    Parameters
    ----------
    before, after : path, model, or predictions
        Language models before and after forgetting: folders, or models from `load_causal` or
        `load_masked`. Of a classifier, predictions for forgotten and fresh records as in
        `audit_classifier`, in the same order in all files, where `member` is True for the records
        to forget.
    forgotten, fresh : path, sequence of str, mapping of lists, or data frame, optional
        Texts that the language model was made to forget, and similar texts that it never saw; see
        `load_texts`. Not with predictions.
    retrained : path, model, or predictions, optional
        Model that saw neither, ideally one trained like the first without the forgotten records:
        log-probabilities are taken relative to it, and what it finds alone is the placebo.
    columns : Columns, optional
        Columns of files and frames of texts, if they have other names.
    unit : str, optional
        Column of the predictions that holds the person behind each record.
    seed : int
        Seed of the permutations, and of the choice of texts of equal lengths.
    level : float
        Level in (0, 1); a model that is like a retrained one is told at most as often as
        ``1 - level``.

    Returns
    -------
    UnlearningAudit
        Texts of one person, and near copies, are one unit. Near copies across the sides are left
        out, since forgetting one means forgetting the other.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    See `measure_unlearning`, which accepts scores of any model. Without a retrained model, only a
    classifier of the words says whether the texts differ in more than training; where that cannot
    be played, what is told apart "cannot be told".
    """
    from privacygauge.language.text_energies import load_either

    models = {"before": before, "after": after, "retrained": retrained}
    # Without texts the models are predictions of a classifier.
    running = Session("audit_unlearning", seed, level)
    if forgotten is None and fresh is None:
        return audit_of(records_of_predictions(models, unit), running)
    if forgotten is None or fresh is None:
        raise InputError(
            "give both the forgotten and the fresh texts, or neither for predictions of a "
            "classifier"
        )
    if unit is not None:
        raise InputError("unit goes with predictions: name the people of texts by their column")
    return audit_of(
        records_of_texts(models, forgotten, fresh, columns, load=load_either, running=running),
        running,
    )


def audit_of(records: ForgottenRecords, running: Session) -> UnlearningAudit:
    """Return the audit of some records."""
    found = measure_unlearning(
        records.before,
        records.after,
        records.forgotten,
        retrained=records.retrained,
        unit=records.unit,
        seed=running.seed,
        level=running.level,
    )
    alone = (ALONE,) if records.retrained is None else ()
    packages = ("torch", "transformers") if records.thing == "text" else ()
    warnings = (*alone, *records.notes)
    origin = running.origin(*packages, warnings=warnings, about=records.about)
    return UnlearningAudit(origin, records, found)


def records_of_predictions(
    given: Mapping[str, Answers | None], unit: str | None = None
) -> ForgottenRecords:
    """Return the records of a classifier, from the predictions of each of its models.

    Parameters
    ----------
    given : mapping of str to predictions
        Predictions by name: ``before``, ``after`` and ``retrained``, which may be None.
    unit : str, optional
        Column of the person behind each record.

    Raises
    ------
    InputError
        If the predictions are not of the same records.
    """
    from privacygauge.classifiers.files import as_predictions
    from privacygauge.classifiers.signals import resolution, signals
    from privacygauge.language.model import CausalModel, MaskedModel

    read: dict[str, Predictions] = {}
    for name, answers in given.items():
        if answers is None:
            continue
        folder = isinstance(answers, str | Path) and Path(answers).is_dir()
        if folder or isinstance(answers, CausalModel | MaskedModel):
            raise InputError(
                f"{name} must be predictions of a classifier, got {answers}: with language models "
                "give the forgotten and the fresh texts too"
            )
        read[name] = as_predictions(answers, name, unit=unit)
    first = read["before"]
    for name, other in read.items():
        for what in ("ids", "labels", "member"):
            if not np.array_equal(getattr(first, what), getattr(other, what)):
                raise InputError(
                    f"before and {name} must hold the same records in the same order, but their "
                    f"{what} differ"
                )
    # One resolution for all: a probability rounded to 0 must not look like forgetting.
    resolved = resolution(*read.values())
    likely = {name: signals(one, resolved)["loss"] for name, one in read.items()}
    # Equal ids are one person where nothing else names people.
    people = first.unit if first.unit is not None else units.number_units(first.ids)
    return ForgottenRecords(
        sample=np.asarray(first.ids, np.object_),
        forgotten=first.member,
        unit=np.asarray(people, np.int64),
        before=likely["before"],
        after=likely["after"],
        retrained=likely.get("retrained"),
        controlled="retrained" in likely,
        notes=tuple(dict.fromkeys(x for one in read.values() for x in one.notes)),
    )


def records_of_texts(
    given: Mapping[str, Answers | None],
    forgotten: TextRecordsLike,
    fresh: TextRecordsLike,
    columns: Columns | None,
    *,
    load: Callable[[str | Path], Model],
    running: Session,
    started: Callable[[], None] | None = None,
) -> ForgottenRecords:
    """Return the texts with their log-probabilities under language models.

    Parameters
    ----------
    given : mapping of str to path or model
        Models by name: ``before``, ``after`` and ``retrained``, which may be None.
    forgotten, fresh, columns
        As in `audit_unlearning`.
    load : callable
        Returns the model in a folder.
    running : Session
        Seed, level, folder of the answers, and callback of the texts done.
    started : callable, optional
        Called once all arguments are checked, before a model is queried.

    Raises
    ------
    InputError
        As in `audit_unlearning`.
    """
    from privacygauge.language.controls import blind_control, form_control, uneven_strings
    from privacygauge.language.model import CausalModel, MaskedModel
    from privacygauge.language.patients import comparable, with_dealt_units
    from privacygauge.language.text_energies import BEFORE, energies_of_forgotten, with_chat
    from privacygauge.language.text_files import Columns, sides_of

    checks.kind(columns, "columns", Columns, "a Columns()")
    asked: dict[str, str | Path | Model] = {}
    for name, model in given.items():
        if isinstance(model, str | Path | CausalModel | MaskedModel):
            asked[name] = model
        elif model is not None:
            raise InputError(
                f"{name} must be the folder of a language model or a loaded one, got "
                f"{type(model).__name__}: leave the texts out for predictions of a classifier"
            )
    sides = sides_of(forgotten, fresh, columns=with_chat(columns, asked["before"], None))
    models = {
        name: load(model) if isinstance(model, str | Path) else model
        for name, model in asked.items()
    }
    if started is not None:
        started()
    scores = energies_of_forgotten(
        models["before"],
        models["after"],
        models.get("retrained"),
        sides,
        run=running.run,
        progress=running.progress,
    )
    rng = seeds.stream(running.seed, "unlearning", "equal lengths")
    scores, apart = comparable(with_dealt_units(scores), rng)
    # The words, their form, and strings of one side alone share the level.
    each = 1 - (1 - running.level) / 3
    for name, control in (("words", blind_control), ("form", form_control)):
        blind = control(scores, seeds.stream(running.seed, "unlearning", f"{name} control"))
        if not isinstance(blind, Skipped) and blind.fires(roc.auc(blind.transcript, each)):
            apart = (*apart, name)
    if uneven_strings(scores, 1 - each) is not None:
        apart = (*apart, "strings")
    # Notes on members and non-members speak of forgotten and fresh texts here.
    notes = scores.notes
    for old, new in (
        ("Members and non-members", "Forgotten and fresh texts"),
        ("non-member", "fresh text"),
        ("member", "forgotten text"),
    ):
        notes = tuple(sentence.replace(old, new) for sentence in notes)
    reference = scores.energy_reference
    return ForgottenRecords(
        sample=np.array(scores.sample, np.object_),
        forgotten=scores.member,
        unit=scores.unit,
        before=scores.further[BEFORE],
        after=-scores.energy_target,
        retrained=None if reference is None else -reference,
        apart=apart,
        # `blind` is the last control of the loop; both need as many people, so one stands for both.
        controlled=reference is not None or not isinstance(blind, Skipped),
        notes=notes,
        about={
            name: f"{Path(model.source.path).name} sha256:{model.source.weights}"
            for name, model in models.items()
        },
        thing="text",
    )


def verdict(a: UnlearningAudit) -> Verdict:
    """Return the verdict on a model that was made to forget."""
    f = a.found
    state = a.state
    if state == "cannot be told":
        return _verdict_untold(a)
    # The graver of two grades: by the AUC on either side of 1/2, which counts by the end of its
    # interval that is nearer to 1/2, and by a few records.
    found = grades.NONE
    if state != "nothing found":
        average = grades.grade_of(max(f.after.low, 1 - f.after.high), CUTS)
        # Records that stand out are graded at both ends: known, and avoided.
        few = (grade_of_few(x) for x in (f.few_known, f.few_avoided) if x is not None)
        found = grades.gravest((average, *few))
    # The average is within chance: only single records leak.
    by_few = state != "nothing found" and f.after.low <= 0.5 <= f.after.high
    some = (
        f"at least {several(f.exposed, f'forgotten {a.thing}')}"
        if by_few
        else f"{a.thing}s that it was made to forget"
    )
    headline = {
        "still known": f"{found.word.capitalize()} leak: the model still knows {some}",
        "known to be forgotten": f"{found.word.capitalize()} leak: the model gives away {some}, "
        "since it avoids them",
        "nothing found": f"Nothing left was found: the model takes forgotten {a.thing}s for fresh "
        "ones",
    }[state]
    before, after = (
        f"{decimal(x.value, 3)} ({decimal(x.low, 3)} to {decimal(x.high, 3)})"
        for x in (f.before, f.after)
    )
    sentences = [
        f"Before, the AUC of forgotten against fresh {a.thing}s was {before}, and it is {after} "
        "after.",
    ]
    if state == "nothing found":
        assert f.detectable is not None
        sentences.append(
            "What it could have found: with a probability of "
            f"{rate(POWER)} it shows an AUC of {decimal(f.detectable, 2)} or more."
        )
    elif by_few:
        sentences.append(
            f"On average they are alike, but at one end of the ranking stand more forgotten "
            f"{a.thing}s than chance puts there."
        )
    advice = {
        "still known": (
            "Go on unlearning, or train again without them, and audit again.",
            f"Look first at the {a.thing}s that stand out.",
        ),
        "known to be forgotten": (
            "Stop earlier or take another method: what a model avoids tells that it was trained on "
            "it.",
        ),
        "nothing found": (
            f"Audit other {a.thing}s that were forgotten together, and what the model writes, too.",
        ),
    }[state]
    if by_few:
        share = _exposed_share(a)
        # Half of the people or more would show in the average: no picture needs a zone for them.
        gauge = grades.gauge(
            f"Forgotten {a.thing}s that stand out",
            share,
            (-0.01, 0.0, 0.01, 0.5, 1.0),
            ("0%", "1%", "50%"),
            rule="The grade follows from the lower end of the interval.",
        )
    else:
        auc = _told_apart(f.after)
        ticks = ("0.5", f"{CUTS[0]:g}", f"{CUTS[1]:g}")
        gauge = grades.gauge(
            f"AUC, forgotten {a.thing}s {'likelier' if f.after.value >= 0.5 else 'less likely'}",
            auc,
            (0.3, 0.5, *CUTS, 1.0),
            ticks,
            shown=decimal_estimate(auc),
            rule=grades.BY_ONE_NUMBER,
        )
    return Verdict(
        grade=found,
        scale=grades.GRADES,
        headline=headline,
        sentences=tuple(sentences),
        unsaid=(
            "One attack was played, on how likely the model finds each record. Other attacks, many "
            "retrained models or further training may bring back more."
        ),
        advice=advice,
        gauge=gauge,
    )


def _verdict_untold(a: UnlearningAudit) -> Verdict:
    f = a.found
    told = f.state in ("still known", "known to be forgotten")
    headline = f"Cannot be told: forgotten and fresh {a.thing}s differ in more than training"
    advice = f"Draw forgotten and fresh {a.thing}s at random from the same source, and audit again."
    sentences: tuple[str, ...] = tuple(_APART[name] for name in a.records.apart if name in _APART)
    if not sentences and told:
        headline = "Cannot be told: no control says whether both kinds are alike"
        sentences = (_UNCONTROLLED,)
        advice = "Train a model like the first on all other records, and give it as --retrained."
    elif not sentences:
        sentences = (f.reason,)
        # A model cannot forget records that it never knew.
        if not f.unlike and not f.knew:
            headline = "Cannot be told: the model before does not show that it knew them"
            advice = f"Give {a.thing}s that it was trained on, more of them, or its own retraining."
        elif not f.unlike:
            headline = f"Cannot be told: too few {a.thing}s"
            advice = (
                f"Give more of both: an AUC of {TOLERATED:g} has to be found in {rate(POWER)} of "
                "such audits."
            )
    return grades.untold_verdict(headline, sentences, advice=(advice,))


def _told_apart(found: Estimate) -> Estimate:
    """Return an AUC that is at least 1/2: that of the reversed scores if theirs is below."""
    if found.value >= 0.5:
        return found
    return replace(found, value=1 - found.value, low=1 - found.high, high=1 - found.low)


def _exposed_share(a: UnlearningAudit) -> Estimate:
    """Return the share of the forgotten people that stand out, at least."""
    n = len(np.unique(a.records.unit[a.records.forgotten]))
    share = a.found.exposed / n
    return Estimate(value=share, low=share, high=1.0, level=a.level, n=n, method="exact")


def _people(a: UnlearningAudit, listed: list[int], sign: float) -> Block:
    if not listed:
        return text("None is shown to stand out.")
    r = a.records
    fresh = np.sort(sign * r.score[~r.forgotten])
    return table(
        "records",
        f"Forgotten {a.thing}s that stand out most",
        [
            {
                "Id": plain(shorten(str(r.sample[row]))),
                "Before": decimal(float(r.before[row]), 3),
                "After": decimal(float(r.after[row]), 3),
                **(
                    {}
                    if r.retrained is None
                    else {"Retrained": decimal(float(r.retrained[row]), 3)}
                ),
                "Fresh ones beyond": count(
                    len(fresh) - int(np.searchsorted(fresh, sign * r.score[row]))
                ),
            }
            for row in listed
        ],
        "Log-probabilities, in nats; ids only.",
        prose=("Id",),
        at_once=_AT_ONCE,
    )


def _frame(a: UnlearningAudit) -> pd.DataFrame:
    import pandas as pd

    r = a.records
    retrained = {} if r.retrained is None else {"retrained": r.retrained}
    return pd.DataFrame(
        {
            "sample": r.sample.astype(str),
            "unit": r.unit,
            "forgotten": r.forgotten,
            "before": r.before,
            "after": r.after,
            **retrained,
            "score": r.score,
        }
    )
