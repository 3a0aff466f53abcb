"""The audit of differential training privacy, the effect of each record; and its report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.claims.dtp.findings import (
    checked_records,
    measurement,
)
from privacygauge.claims.dtp.measure import LIMIT, TrainingSet
from privacygauge.claims.dtp.naive_bayes import BayesInference, NaiveBayes
from privacygauge.claims.dtp.named import (
    MANY,
    learner_on_numbers,
)
from privacygauge.claims.dtp.random_trees import RandomDecisionTrees
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
from privacygauge.claims.options import DtpDesign
from privacygauge.classifiers import estimators
from privacygauge.classifiers.held import NUMBERS, Held, keys, standardise_columns
from privacygauge.classifiers.learner import Learner, LearnerTrainer
from privacygauge.classifiers.named import NETWORKS, trainer_named
from privacygauge.classifiers.networks import Networks
from privacygauge.classifiers.probe_training import bill_without_each
from privacygauge.classifiers.shadows import Progress
from privacygauge.classifiers.tables import CategoricalTable, Records, load_categories
from privacygauge.classifiers.trainer import Trainer, on_records_made_up
from privacygauge.classifiers.training_options import ON_CATEGORIES, load_labelled_records
from privacygauge.core import checks, seeds
from privacygauge.core.checks import Ints
from privacygauge.core.units import WAY_OUT, equal_rows, owners, repeated_rows
from privacygauge.errors import InputError
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
        # Keys of ``report.json`` that only this kind has; at most 50 records, by id.
        numbers = {"pdtp": self.pdtp, "dtp_lower": self.dtp.low, "dtp_upper": self.dtp.high}
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
            "without an interval is exact for this training set, these settings and these random "
            "draws.",
            origin=self.origin,
            verdict=verdict(self),
            measures=tuple(_measures(self)),
            sections=tuple(sections.all_sections(self)),
            terms={
                "Record, class": "A row of the training data, usually about one person, and what "
                "the model is to predict for it.",
                "Query": "What the model is asked about: the attributes of some record, real or "
                "made up. It answers with a probability for every class.",
                "Factor, log ratio": "The larger of two probabilities divided by the smaller "
                "one, and the natural logarithm of that. A factor of 1 is a log ratio of 0: no "
                "difference.",
                "PDTP": "Pointwise differential training privacy: the largest log ratio over all "
                "classes between the model with and without a record, asked about that "
                "record. A lower bound of DTP.",
                "DTP": "Differential training privacy: the same, over every query that can be "
                "asked.",
                "DTP-1": "The rule that a model with a DTP above 1 should not be published. It "
                "comes from experiments with membership attacks.",
                "Direct, indirect": "A direct attack asks about the record itself, an indirect "
                "one about something else.",
                "Exact, certified, unknown": "Exact: the number is the largest over all queries. "
                "Certified: it is proved that no query shows more than the upper number. "
                "Unknown: only the largest of the queries that were tried is known.",
                "Infinite, \N{INFINITY}": "A probability is 0 with the record and not without "
                "it, or the other way round; or without it the model has no answer.",
                "Bins": "Probabilities rounded to steps before they are published. It hides small "
                "differences and keeps every log ratio finite.",
                "Interval": f"The range that the true number lies in, in {rate(self.level)} of "
                "audits like this one. Only what was estimated has one.",
                "Shield": "A record shields another one where removing it makes the other's "
                "influence grow: records that resemble each other share their influence.",
                "Differential privacy": "A guarantee that the way of training gives, for any data. "
                "Differential training privacy measures one training set and guarantees nothing.",
            },
            worst=Worst("records", tuple(str(x) for x in names_of(self.ids[shown]).tolist())),
            data={
                **pick_values(
                    self, "model", "method", "n_train", "decision", "certified", bin="width"
                ),
                "refits": pick_values(
                    self.checked, "agree", compared="n", largest_difference="largest"
                )
                if self.checked
                else None,
                "n_measured": len(self.rows),
                "pdtp": {
                    **pick_values(self, max="highest", above_1="n_above", infinite="n_infinite"),
                    **(
                        {"above_1_by_single_record_classes": self.n_by_lone_classes}
                        if self.lone_classes
                        else {}
                    ),
                    **pick_values(self, mean_estimate="mean", share_above_1="share_above"),
                    "mean": finite(self.mean.value),
                    "riskiest": [
                        {
                            **_record_json(self, i),
                            **{name: finite(x[i]) for name, x in numbers.items()},
                        }
                        for i in self.order[:MOST].tolist()
                    ],
                },
                "dtp": {
                    "lower": finite(self.dtp.low.max()),
                    "upper": finite(self.dtp.high.max()),
                    "method": self.dtp.method,
                    "above_1": int(np.count_nonzero(self.dtp.low > LIMIT)),
                    "indirect": {
                        "count": self.n_indirect,
                        "rows": self.rows[self.by_other_queries[:MOST]].tolist(),
                    },
                },
                "removal": pick_values(
                    self.removal, "removed", "highest", "best", "groups", "order", "measure"
                )
                if self.removal
                else None,
                "variation": [pick_values(v, *_VARIED) for v in self.variation],
                "repeated": {
                    "training_sets": int(self.averages[0].n),
                    **pick_values(
                        self, above_1="n_above_on_average", surely_above_1="n_surely_above"
                    ),
                    "riskiest": [
                        {**_record_json(self, i), "mean": estimate_dict(self.averages[i])}
                        for i in self.by_average[:MOST].tolist()
                    ],
                }
                if self.averages
                else None,
            },
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
        if owner is None:
            equal_unit, _ = equal_rows(keys(features), labels, np.ones(len(labels), np.bool_))
            if equal_unit is None:
                notes = []
            else:
                several = int(np.count_nonzero(repeated_rows(equal_unit)))
                notes = [
                    f"{several:,} of {len(labels):,} records equal another one in features and "
                    "class: if these are records of one person, the others stay when one is left "
                    f"out, and the person moves the classifier more than was measured; {WAY_OUT}"
                ]
        else:
            notes = [
                f"{len(labels):,} records belong to {checks.n_distinct(owner):,} people: all "
                "records of a person are left out together, and what is counted and ranked are "
                "people, each by its riskiest record"
            ]
        told = (*notes, *done.warnings)
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
        owner = owners(records.unit, records.ids, len(records))
        # A person is drawn through the first of their records; `measurement` adds the others.
        first = np.arange(len(records)) if owner is None else np.unique(owner, return_index=True)[1]
        n = len(first)
        what = "records" if owner is None else "people"
        if asked.measure is None or asked.measure == n:
            drawn = None
        else:
            if not 1 <= asked.measure <= n:
                raise InputError(
                    f"--measure must be in 1..{n:,}, the number of {what} in {asked.data}, got "
                    f"{asked.measure:,}"
                )
            rng = seeds.stream(asked.seed, "dtp", "measured")
            drawn = first[np.sort(rng.choice(n, asked.measure, replace=False))]
        return asked.part(DtpOptions).run(
            model,
            x,
            records.y,
            rows=drawn,
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
        learner: Learner
        if asked.model == "naive-bayes":
            learner = NaiveBayes(table.categories, asked.alpha)
        else:
            numbers = [
                n for n, size in zip(table.columns, table.categories, strict=True) if size is None
            ]
            if numbers:
                raise InputError(
                    f"--model {asked.model} takes categories only, not the numbers of "
                    f"{numbers[0]!r}"
                )
            if asked.model == "bayes-inference":
                learner = BayesInference(asked.alpha)
            else:
                learner = RandomDecisionTrees(table.categories, seed=asked.seed, alpha=asked.alpha)
        many = [
            f"{name!r} ({size:,} categories)"
            for name, size in zip(table.columns, table.categories, strict=True)
            if size is not None and size > max(MANY, len(table) // 4)
        ]
        told = (
            f"{checks.short_list(many)}: nearly every one of the {len(table):,} records has a "
            "category of its own, which gives it away; if these are numbers, name them with "
            "--continuous, if they are names, --drop them"
        )
        return table, table.x, learner, ((told,) if many else ())
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
        before = float(f.removal.highest[0])
        best = f.removal.best
        removals = count(len(f.removal.removed))
        lowest = before
        earlier = ""
        if before <= LIMIT:
            label = "Largest value before removals"
            why = "At most 1 before any removal: none is needed for it."
        elif not best:
            label = "Largest value, whatever is removed"
            why = f"No removal out of {removals} brought it below this."
        else:
            lowest = float(f.removal.highest[best])
            label = f"Largest value after {several(best, 'removal')}"
            earlier = f"before: {nats(before)}"
            why = f"The best point to stop within {removals}."
        lowest_text = Shown(nats(lowest))
        yield Measure(
            name="after-removal",
            label=label,
            found=lowest,
            shown=lowest_text,
            note=earlier,
            text=why,
            gate=False,
        )
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


_VARIED = ("row", "label", "initialisation", "sampling", "with_it", "without", "own", "stands_out")


def _record_json(f: DtpResult, i: int) -> dict[str, Json]:
    return {
        "row": int(f.rows[i]),
        "id": names_of(f.ids[i : i + 1]).tolist()[0],
        "label": f.class_names[int(f.labels[i])],
    }
