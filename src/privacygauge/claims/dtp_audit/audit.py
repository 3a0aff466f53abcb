"""The audit of differential training privacy, the effect of each record; and its report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.claims.dtp.design import DtpDesign
from privacygauge.claims.dtp.findings import (
    checked_records,
    draw_people_rows,
    measurement,
    units_note,
)
from privacygauge.claims.dtp.measure import LIMIT, RemovalPath, TrainingSet
from privacygauge.claims.dtp.named import (
    learner_on_categories,
    learner_on_numbers,
    many_categories,
)
from privacygauge.claims.dtp_audit import sections
from privacygauge.claims.dtp_audit.options import NAME, DtpRequest
from privacygauge.claims.dtp_audit.sections import plot_pdtp
from privacygauge.claims.dtp_audit.verdict import (
    FACTOR,
    MOST,
    DtpResult,
    between,
    factor,
    lone_classes_text,
    measured_records_text,
    nats,
    records_frame,
    removal_frame,
    verdict,
)
from privacygauge.classifiers import estimators
from privacygauge.classifiers.forms import NUMBERS, on_records_made_up, standardise_columns
from privacygauge.classifiers.held import Held
from privacygauge.classifiers.learner import Learner, LearnerTrainer
from privacygauge.classifiers.named import NETWORKS, trainer_named
from privacygauge.classifiers.names import ON_CATEGORIES
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.probe_training import bill_without_each
from privacygauge.classifiers.shadows import Progress
from privacygauge.classifiers.tables import CategoricalTable, Records, load_categories
from privacygauge.classifiers.trainer import Trainer
from privacygauge.classifiers.training_options import load_labelled_records
from privacygauge.core.checks import Ints
from privacygauge.core.units import owners
from privacygauge.kinds.one_line import one_line
from privacygauge.kinds.session import Session, Work
from privacygauge.report.numbers import (
    Shown,
    count,
    decimal_estimate,
    percent,
    percent_estimate,
    plain,
    rate,
    several,
)
from privacygauge.report.values import (
    About,
    Axes,
    Json,
    Measure,
    Report,
    Worst,
    estimate_dict,
    finite,
    names_of,
    pick_values,
)
from privacygauge.runs.store import plan_in


class DtpAudit(DtpResult):
    """Effect of each training record on the classifier, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        path = self.removal
        shown = self.order[:MOST]
        removal = {} if path is None else {"removal.csv": lambda: removal_frame(path)}
        # Only samples have intervals: of training sets, or of records.
        small = f" Small figures are {rate(self.level)} intervals." if self.averages else ""
        if not self.complete:
            small = f" Small figures are {rate(self.level)} intervals."
        return Report(
            "dtp",
            f"Differential training privacy of {plain(self.model)}",
            about=About(
                f"A classifier: {self.model}",
                "A record is left out of the training data, and the model's answers with and "
                "without it are compared: how much does a single person's record change them?",
                "may ask the model anything, and knows all other records",
                "differential-training-privacy",
            ),
            intro=f"{measured_records_text(self)} training records were measured.{small} A number "
            "without an interval "
            "was computed, not estimated: it is exact for this training set, these settings and "
            "these random draws.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=tuple(sections.all_sections(self)),
            terms=_terms(self),
            worst=Worst("records", tuple(str(x) for x in names_of(self.ids[shown]).tolist())),
            data=_data(self),
            frames={"records.parquet": lambda: records_frame(self), **removal},
            nothing_left_out="Nothing: everything that was asked for was measured.",
            overview=sections.overview(self),
            sources="The measure: Long, Bindschaedler and Gunter, Towards Measuring Membership "
            "Privacy (2017).",
        )

    def plot_pdtp(self, ax: Axes | None = None) -> Axes:
        """Plot the records' PDTP, largest first."""
        return plot_pdtp(self, ax)


@dataclass(frozen=True, kw_only=True)
class DtpOptions(DtpDesign):
    """A measurement of the effect of each training record on a classifier."""

    def run(
        self,
        model: object,
        x: object,
        y: ArrayLike,
        *,
        rows: ArrayLike | None = None,
        ids: ArrayLike | None = None,
        unit: ArrayLike | None = None,
        class_names: tuple[str, ...] | None = None,
        session: Session = Session("dtp"),
    ) -> DtpAudit:
        """Measure the effect of each record of a training set on the classifier.

        Parameters
        ----------
        model : Learner, estimator, callable or Trainer
            Training of the classifier. A learner leaves records out without training. So do
            scikit-learn's naive Bayes, discriminant analysis and nearest neighbours, if refits of
            the riskiest records and of some at random agree. Anything else is trained once more for
            each record, as given: it keeps its own random state.
        x : array_like, shape (n, d), data frame of pandas or polars, or list of n texts
            The training set; models are trained on it, and queried, in this form.
        y : array_like of int, shape (n,)
            Classes in 0..k-1, at least two of them.
        rows : array_like of int, shape (r,), optional
            The records to measure; default: all. All records of a person are measured together.
        ids, unit : array_like, shape (n,), optional
            Names of the records in the report, and the people behind them; default: equal ids are
            one person. All records of a person are left out together, by training once more with
            any model; a person's result is that of the riskiest record.
        class_names : tuple of str, optional
            Names of the classes.
        session : Session, optional
            Seed, level, run folder and workers.

        Returns
        -------
        DtpAudit

        Raises
        ------
        InputError
            If an argument is invalid: the problem and the way out, in one line.

        Notes
        -----
        Long et al. (2017): PDTP is definition 4.3, DTP definition 4.2, the limit of 1 section 5,
        the average over training sets section 5.4, removal section 7.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.naive_bayes import GaussianNB
        >>> x = np.array([[0.0], [0.1], [0.3], [0.9], [1.0], [1.2]])
        >>> found = audit_dtp(GaussianNB(), x, [0, 0, 0, 1, 1, 1], bin_width=0)
        >>> found.decision
        'do not publish'
        """
        features, labels = checked_records(model, x, y, self.remove)
        owner = owners(unit, ids, len(labels))
        names = class_names or estimators.class_names(y)
        task = TrainingSet(
            model,
            features,
            y=labels,
            width=self.bin_width,
            n_queries=self.queries,
            seed=session.seed,
            unit=owner,
            run=session.run,
            n_jobs=session.n_jobs,
            progress=session.progress,
            invocation=session.invocation,
            class_names=names,
        )
        done = measurement(
            task, self, rows=rows, ids=ids, class_names=names or None, level=session.level
        )
        told = (*units_note(features, labels, owner), *done.warnings)
        origin = session.origin(skipped=done.skipped, warnings=told, about={"model": task.name})
        return DtpAudit(**vars(done.found), origin=origin)


audit_dtp = one_line(DtpOptions, DtpOptions.run, "audit_dtp")


def audit_training_set(asked: DtpRequest, work: Work) -> DtpAudit:
    """Run the requested audit, training the models that the run does not hold yet."""
    # Before any of the user's code is imported: the run may have been made with other code.
    session = work.running(NAME, asked) if asked.keeps else Session(**asked.told(NAME))
    records, x, model, warnings = _load_records(asked, work)
    showing = work.bar("Training models") if asked.keeps else nullcontext(None)
    with work.resumable(asked), showing as shown:
        progress = (
            None
            if shown is None
            else _announce_cost(asked, work, x=x, y=records.y, model=model, progress=shown)
        )
        return asked.part(DtpOptions).run(
            model,
            x,
            records.y,
            rows=draw_people_rows(asked.measure, records, asked.data, asked.seed),
            ids=records.ids,
            unit=records.unit,
            class_names=records.names,
            session=replace(session, progress=progress, warnings=warnings),
        )


def _load_records(
    asked: DtpRequest, work: Work
) -> tuple[Records | CategoricalTable, Held, Learner | Trainer, tuple[str, ...]]:
    """Return the records, the training inputs, the model, and warnings about columns."""
    if asked.model in ON_CATEGORIES:
        table = load_categories(
            asked.data,
            asked.label,
            continuous=asked.continuous,
            ids=asked.ids,
            unit=asked.unit,
            drop=asked.drop,
            separator=asked.separator,
            missing=asked.missing,
        )
        learner = learner_on_categories(asked.model, table, asked.alpha, asked.seed)
        return table, table.x, learner, many_categories(table)
    trainer = trainer_named(asked.model, work.read) if asked.keeps else None
    form = NUMBERS if trainer is None else on_records_made_up(trainer)
    records = load_labelled_records(asked, form, unit=asked.unit)
    x = records.x
    if asked.model in NETWORKS and isinstance(trainer, Networks):
        # In float64 first; then each network has the scale of what it is trained on.
        x = standardise_columns(x)
        trainer = replace(trainer, own_scale=True)
    if trainer is None:
        return records, x, learner_on_numbers(asked.model, asked.l2, asked.neighbours), ()
    if isinstance(trainer, LearnerTrainer):  # it leaves records out without training
        return records, x, trainer.learner, ()
    return records, x, trainer, ()


def _announce_cost(
    asked: DtpRequest,
    work: Work,
    x: Held,
    y: Ints,
    model: Learner | Trainer,
    progress: Progress,
) -> Progress:
    """Return a progress callback that announces the cost of training before its first call.

    Progress begins after every check that may refuse, so that an error is a single line.
    """
    if isinstance(model, Learner) or work.quiet:
        return progress
    # A resumed run has announced it already.
    if work.run is not None and plan_in(work.run) is not None:
        return progress
    said = False

    def tell(done: int, total: int) -> None:
        nonlocal said
        if not said:
            said = True
            n = asked.measure or len(y)
            work.say(
                bill_without_each(
                    model, x, y=y, n_models=n, training_sets=asked.training_sets, n_jobs=work.jobs
                )
            )
        progress(done, total)

    return tell


def _measures(f: DtpResult) -> Iterator[Measure]:
    n = len(f.rows)
    # The largest lower and the largest upper end: both bound the largest DTP.
    low = float(f.dtp.low.max())
    high = float(f.dtp.high.max())
    guessing = f"0 where no record changes anything; the limit is 1, a factor of {FACTOR}"
    label = "Largest log ratio over all queries (DTP)"
    precision = "exact"
    told = "The largest change that any query shows."
    if f.reach.unknown:
        precision = "no upper bound is known"
        told = "The largest change that some query shows."
    elif f.reach.bounded:
        precision = "certified bounds"
        told = "Some query shows the first number; none shows more than the second."
    yield Measure(
        name="dtp",
        label=label,
        found=low,
        shown=Shown(between(low, high)),
        note=precision,
        text=told,
        guessing=guessing,
    )
    upper = Shown(nats(high))
    yield Measure("dtp-upper", "Log ratio that no query exceeds", high, upper, card=False)
    told = f"The riskiest record changes a probability by a factor of {factor(f.highest)}, at its "
    exactly = f"Of {several(n, 'record')} measured; others may be above it."
    if f.complete:
        exactly = "Computed for every record, not estimated."
    told = f"{told}own query. {exactly}"
    shown = Shown(nats(f.highest))
    yield Measure(
        name="pdtp",
        label="Largest PDTP",
        found=f.highest,
        shown=shown,
        note="the limit is 1",
        text=told,
    )
    infinite = f" {count(f.n_infinite)} of them {'is' if f.n_infinite == 1 else 'are'} infinite."
    told = f"By PDTP.{infinite if f.n_infinite else ''}"
    if alone := f.n_by_lone_classes:
        told += f" {count(alone)} of them only in the probability of {lone_classes_text(f)}."
    above = f.share_above
    shown = Shown(f"{count(f.n_above)} of {count(n)}")
    note = f"of the whole training set {percent_estimate(above)}, {rate(f.level)} interval, if "
    note += "these are a random sample"
    if f.complete:
        note = f"{percent(above.value)} of the training set, counted"
    yield Measure(
        name="share", label="Records above 1", found=above, shown=shown, note=note, text=told
    )
    shown = Shown(nats(f.mean.value)) if f.complete else decimal_estimate(f.mean)
    note = "" if f.complete else f"{rate(f.level)} interval"
    told = f"Estimated for the training set from {several(f.mean.n, 'record')}."
    if f.complete:
        told = "Over every record of the training set, not estimated."
    # One infinite value makes every mean infinite.
    if np.isinf(f.mean.value):
        told = "Infinite, because some record's PDTP is."
    yield Measure(name="mean", label="Mean PDTP", found=f.mean, shown=shown, note=note, text=told)
    told = "Records with a PDTP of at most 1 for which some other query shows more than 1."
    yield _count_measure(
        "indirect", "Given away by other queries alone", n=f.n_indirect, note="", text=told
    )
    if f.removal is not None:
        yield _of_removal(f.removal)
    if f.averages:
        over = f.averages[0]
        n = f.n_above_on_average
        told = f"Records whose mean is above 1; for {count(f.n_surely_above)} the whole "
        told += f"{rate(over.level)} interval is."
        note = f"over {several(over.n, 'training set')}"
        yield _count_measure("above-on-average", "Above 1 on average", n=n, note=note, text=told)


def _count_measure(name: str, label: str, n: int, note: str, text: str) -> Measure:
    return Measure(
        name=name,
        label=label,
        found=float(n),
        shown=Shown(count(n)),
        note=note,
        text=text,
        gate=False,
    )


def _of_removal(path: RemovalPath) -> Measure:
    first = float(path.highest[0])
    best = path.best
    n = count(len(path.removed))
    lowest = first
    note = ""
    if first <= LIMIT:
        label = "Largest value before removals"
        text = "At most 1 before any removal: none is needed for it."
    elif not best:
        label = "Largest value, whatever is removed"
        text = f"No removal out of {n} brought it below this."
    else:
        lowest = float(path.highest[best])
        label = f"Largest value after {several(best, 'removal')}"
        note = f"before: {nats(first)}"
        text = f"The best point to stop within {n}."
    shown = Shown(nats(lowest))
    return Measure(
        name="after-removal",
        label=label,
        found=lowest,
        shown=shown,
        note=note,
        text=text,
        gate=False,
    )


def _terms(f: DtpResult) -> dict[str, str]:
    return {
        "Record, class": "A row of the training data, usually about one person, and what the model "
        "is to predict for it.",
        "Query": "What the model is asked about: the attributes of some record, real or made up. "
        "It answers with a probability for every class.",
        "Factor, log ratio": "The larger of two probabilities divided by the smaller one, and the "
        "natural logarithm of that. A factor of 1 is a log ratio of 0: no difference.",
        "PDTP": "Pointwise differential training privacy: the largest log ratio over all classes "
        "between the model with and without a record, asked about that record. A lower bound "
        "of DTP.",
        "DTP": "Differential training privacy: the same, over every query that can be asked.",
        "DTP-1": "The rule that a model with a DTP above 1 should not be published. It comes from "
        "experiments with membership attacks.",
        "Direct, indirect": "A direct attack asks about the record itself, an indirect one about "
        "something else.",
        "Exact, certified, unknown": "Exact: the number is the largest over all queries. "
        "Certified: it is proved that no query shows more than the upper number. Unknown: only the "
        "largest of the queries that were tried is known.",
        "Infinite, \N{INFINITY}": "A probability is 0 with the record and not without it, or the "
        "other way round; or without it the model has no answer.",
        "Bins": "Probabilities rounded to steps before they are published. It hides small "
        "differences and keeps every log ratio finite.",
        "Interval": f"The range that the true number lies in, in {rate(f.level)} of audits like "
        "this one. Only what was estimated has one.",
        "Shield": "A record shields another one where removing it makes the other's influence "
        "grow: records that resemble each other share their influence.",
        "Differential privacy": "A guarantee that the way of training gives, for any data. "
        "Differential training privacy measures one training set and guarantees nothing.",
    }


def _data(f: DtpResult) -> dict[str, Json]:
    """Return the keys of ``report.json`` that only this kind has; at most 50 records, by id."""
    numbers = {"pdtp": f.pdtp, "dtp_lower": f.dtp.low, "dtp_upper": f.dtp.high}
    return {
        **pick_values(f, "model", "method", "n_train", "decision", "certified", bin="width"),
        "refits": pick_values(f.checked, "agree", compared="n", largest_difference="largest")
        if f.checked
        else None,
        "n_measured": len(f.rows),
        "pdtp": {
            **pick_values(f, max="highest", above_1="n_above", infinite="n_infinite"),
            **({"above_1_by_single_record_classes": f.n_by_lone_classes} if f.lone_classes else {}),
            **pick_values(f, mean_estimate="mean", share_above_1="share_above"),
            "mean": finite(f.mean.value),
            "riskiest": [
                {**_record_json(f, i), **{name: finite(x[i]) for name, x in numbers.items()}}
                for i in f.order[:MOST].tolist()
            ],
        },
        "dtp": {
            "lower": finite(f.dtp.low.max()),
            "upper": finite(f.dtp.high.max()),
            "method": f.dtp.method,
            "above_1": int(np.count_nonzero(f.dtp.low > LIMIT)),
            "indirect": {
                "count": f.n_indirect,
                "rows": f.rows[f.by_other_queries[:MOST]].tolist(),
            },
        },
        "removal": pick_values(
            f.removal, "removed", "highest", "best", "groups", "order", "measure"
        )
        if f.removal
        else None,
        "variation": [pick_values(v, *_VARIED) for v in f.variation],
        "repeated": {
            "training_sets": int(f.averages[0].n),
            **pick_values(f, above_1="n_above_on_average", surely_above_1="n_surely_above"),
            "riskiest": [
                {**_record_json(f, i), "mean": estimate_dict(f.averages[i])}
                for i in f.by_average[:MOST].tolist()
            ],
        }
        if f.averages
        else None,
    }


_VARIED = ("row", "label", "initialisation", "sampling", "with_it", "without", "own", "stands_out")


def _record_json(f: DtpResult, i: int) -> dict[str, Json]:
    return {
        "row": int(f.rows[i]),
        "id": names_of(f.ids[i : i + 1]).tolist()[0],
        "label": f.class_names[int(f.labels[i])],
    }
