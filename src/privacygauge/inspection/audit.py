"""The inspection of a fitted model: its options, its run, its result and the report of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import proportion
from privacygauge.inspection import InspectDesign, findings
from privacygauge.inspection.contents import Contents, contents_of, read_model, traces
from privacygauge.inspection.findings import (
    OrderFinding,
    RowFinding,
    Structure,
    StructureFinding,
    TrainingTable,
    ValueFinding,
)  # fmt: skip
from privacygauge.kinds.one_line import KEEPING, one_line
from privacygauge.kinds.session import Session
from privacygauge.report.grades import (
    GRADES,
    LARGE,
    MODERATE,
    NONE,
    SMALL,
    UNTOLD,
    gravest,
    untold_verdict,
)  # fmt: skip
from privacygauge.report.numbers import (
    DASH,
    Shown,
    count,
    first_names,
    percent,
    percent_estimate,
    plain,
    several,
    shorten,
)  # fmt: skip
from privacygauge.report.reported import Reported
from privacygauge.report.values import (
    About,
    Block,
    Cell,
    Content,
    Gauge,
    Measure,
    Origin,
    Report,
    Section,
    Verdict,
    Worst,
    estimate_dict,
    frame,
    gauge_limits,
    names_of,
    note,
    pairs,
    table,
    text,
    values_of,
)  # fmt: skip
from privacygauge.runs.named import import_object, names_code

if TYPE_CHECKING:
    import pandas as pd

MOST = 50
"""Most ids, places and texts that a report lists."""

ENOUGH = 0.5
"""Least share of records that can be recognised, for "nothing found" to be said."""


@dataclass(frozen=True)
class Refit:
    """A model fitted again in another way, and its effect."""

    what: str
    """What was changed."""
    accuracy: Estimate | Skipped
    """Share of right predictions in cross-validation."""
    stored_rows: int
    """Number of records whose row stands in it."""
    stored_values: int
    """Number of single values that stand in it."""
    smallest: int | None
    """Number of people behind its smallest group; None if it gives no answers."""
    small_groups: float | None
    """Share of the records whose group is below the minimum; None if it has no groups."""


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Reported):
    """Rows, values, groups and notes that stand in a fitted model, with report and tables."""

    origin: Origin
    """Origin of the findings."""
    form: str
    """Kind of the object, or format of the file, in words."""
    n_arrays: int
    """Number of arrays that were looked at."""
    n_numbers: int
    """Number of numbers in them."""
    n_texts: int
    """Number of texts that were looked at."""
    coarse: tuple[str, ...]
    """Arrays that may hold rows in so low a precision that they are not seen."""
    has_contents: bool
    """Whether an array of numbers or a list of texts was read."""
    ids: np.ndarray[Any, Any] | None
    """(n,) Ids of the training records; None without the table."""
    n_people: int | None
    """Number of people behind the records; None without the table."""
    recognisable: int
    """Number of records that chance would hardly give, which are those that can be found."""
    rows: tuple[RowFinding, ...]
    """Rows of the table that stand in the model."""
    stored: Bools | None
    """(n,) Which records stand in the model as a row; None without the table."""
    stored_people: int
    """Number of people behind these records."""
    by_structure: tuple[StructureFinding, ...]
    """Arrays that hold rows by their names and shapes."""
    values: tuple[ValueFinding, ...]
    """Single values of one person each, or texts that look like those of people."""
    entries: tuple[OrderFinding, ...]
    """Arrays with an entry for each record."""
    structure: Structure | Skipped
    """Groups behind the answers."""
    smallest_leaf: tuple[str, int] | None
    """Place and number of records of the smallest leaf that the model itself counts."""
    traces: tuple[tuple[str, str, str], ...]
    """Kind, place and text of notes, paths, hosts and addresses."""
    refits: tuple[Refit, ...]
    """The model as it is and models fitted in other ways; empty unless asked."""
    minimum: int
    """Fewest people that an answer may stand on."""
    show_texts: bool
    """Whether a report shows texts of the model."""

    @property
    def n_rows(self) -> int | None:
        """Number of training rows in the model; None if that cannot be told."""
        # Rows that nobody would recognise, or of another table, are rows of somebody all the same.
        by_form = max((x.n for x in self.by_structure), default=0)
        return max(self.n_recognised, by_form) or (None if self.stored is None else 0)

    @property
    def n_recognised(self) -> int:
        """Number of records of the table that were found as a row of the model."""
        return 0 if self.stored is None else int(self.stored.sum())

    @property
    def n_values(self) -> int | None:
        """Number of single values in the model; None if that cannot be told."""
        if self.ids is None and not self.values:
            return None
        return sum(x.count for x in self.values)

    @property
    def smallest(self) -> int | None:
        """Number of people in the smallest group or leaf; None if that cannot be told."""
        if isinstance(self.structure, Structure):
            return self.structure.smallest
        return None if self.smallest_leaf is None else self.smallest_leaf[1]

    @property
    def small_groups(self) -> float | None:
        """Share of the records in regions below the minimum; None without such regions."""
        if isinstance(self.structure, Structure) and self.has_regions:
            return float(self.structure.in_small_groups.mean())
        return None

    @property
    def has_regions(self) -> bool:
        """Whether an answer stands on the records of its group, as that of a leaf does.

        A mean over trees stands on the records of many leaves, whose own sizes count.
        """
        s = self.structure
        return isinstance(s, Structure) and (
            s.by_leaf or (s.constant and self.smallest_leaf is None)
        )

    @property
    def disclosed(self) -> float | None:
        """Share of the records whose answer rules out a class; None without probabilities."""
        if isinstance(self.structure, Structure) and self.structure.probs is not None:
            return float(self.structure.disclosing[self.structure.group].mean())
        return None

    def report(self) -> Report:
        """Return the report, as plain values."""
        sections = [x for x in _sections(self) if x.blocks]
        return Report(
            "inspection",
            "Inspection of a model",
            about=About(
                f"A model: {self.form}",
                "No game was played: the model itself was searched for rows, values and notes of "
                "the people whose records it was fitted on.",
                "holds the file, and needs no attack",
                "model-inspection",
            ),
            intro=_intro(self),
            origin=self.origin,
            verdict=_verdict(self),
            measures=tuple(_measures(self)),
            sections=tuple(sections),
            terms=_TERMS,
            worst=_worst(self),
            data={
                "form": self.form,
                "n": None if self.ids is None else len(self.ids),
                "n_people": self.n_people,
                "recognisable": self.recognisable,
                "minimum": self.minimum,
                "rows": [
                    {"place": x.place, "owner": x.owner, "form": x.how, "rows": int(x.rows.sum())}
                    for x in self.rows
                ],
                "rows_by_structure": [values_of(x) for x in self.by_structure],
                "values": [
                    {"column": x.column, "kind": x.kind, "places": list(x.places),
                     "count": x.count, "by_chance": x.by_chance}
                    for x in self.values
                ],
                "entries": [values_of(x) for x in self.entries],
                "structure": _structure_json(self),
                "traces": {k: int(n) for k, n in Counter(x[0] for x in self.traces).items()},
                "refits": [
                    {**{name: values_of(getattr(x, name)) for name in (
                        "what", "stored_rows", "stored_values", "smallest", "small_groups")},
                     "accuracy": estimate_dict(x.accuracy)}
                    for x in self.refits
                ],
            },
            frames={"records.parquet": lambda: _records(self)} if self.ids is not None else {},
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class InspectOptions(InspectDesign):
    """How a model is inspected, and the inspection."""

    def run(
        self,
        model: object | str | Path,
        data: pd.DataFrame | ArrayLike | None = None,
        label: ArrayLike | str | None = None,
        *,
        unit: ArrayLike | str | None = None,
        ids: ArrayLike | str | None = None,
        drop: Sequence[str] = (),
        session: Session = Session("inspect"),
    ) -> Inspection:
        """Return the rows, values, groups and notes that a fitted model carries.

        Parameters
        ----------
        model : object, str or Path
            The fitted model, or its file: skops, ONNX, safetensors, XGBoost (.json, .ubj),
            LightGBM (.txt), CatBoost (.cbm, .json), Keras (.keras, .h5), PyTorch (.pt, weights
            only), NumPy (.npz); or FILE.py:NAME, which runs that code. No pickle is loaded.
        data : pandas.DataFrame or array_like, shape (n, d), optional
            The table that it was fitted on, as the model takes it. Without one, rows and names are
            found only by their place and form, and their absence cannot be told.
        label : array_like or str, optional
            Labels of the records, or the column of `data` that holds them.
        unit : array_like or str, optional
            The person behind each record, or the column that says so; default: each record is a
            person.
        ids : array_like or str, optional
            Names of the records, or the column that holds them; default: their numbers from 0.
        drop : sequence of str
            Columns of `data` that the model does not take.
        session : Session, optional
            Seed of the placebos, and level of the intervals of accuracies.

        Returns
        -------
        Inspection

        Raises
        ------
        InputError
            If a file cannot be read, or an argument is invalid: in one line.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.neighbors import KNeighborsClassifier
        >>> x = np.random.default_rng(0).normal(size=(50, 3))
        >>> inspect_model(KNeighborsClassifier().fit(x, x[:, 0] > 0), x).n_rows
        50
        """
        contents, fitted = _contents_and_model(model)
        known = None
        names = None
        if data is not None:
            known, names = _training_table(data, fitted, label, unit=unit, ids=ids, drop=drop)
        elif not all(x is None for x in (label, unit, ids)) or drop:
            raise InputError("label, unit, ids and drop go with data: give the training table too")
        rng = seeds.stream(session.seed, "placebos")
        skipped = list(contents.skipped)
        rows: list[RowFinding] = []
        values: list[ValueFinding] = findings.personal_texts(contents)
        entries: list[OrderFinding] = []
        structure: Structure | Skipped = Skipped(
            "groups behind an answer",
            "needs the training table"
            if known is None
            else "a file is not asked: name the model as FILE.py:NAME",
        )
        recognisable = 0
        if known is not None:
            views = findings.views_of(contents, known)
            written = findings.written_tables(contents, known)
            rows, left_out = findings.stored_rows(contents, known, rng, written=written)
            skipped += left_out
            beside = frozenset(x.place for x in rows)
            values = findings.stored_values(
                contents, known, views, rng, written=written, beside=beside
            )
            entries = findings.entries_in_order(contents, known, beside)
            if views:
                recognisable = int(max(view.recognisable().sum() for view in views))
            if fitted is not None:
                structure = findings.structure_of(fitted, known, self.minimum)
        if isinstance(structure, Skipped):
            skipped.append(structure)
        stored = None
        if known is not None:
            stored = np.logical_or.reduce([np.zeros(len(known), bool), *(x.rows for x in rows)])
        refits: tuple[Refit, ...] = ()
        if self.refit:
            try:
                found = _refits(self, fitted, known, session)
            except findings.TRANSFORMS as error:
                found = Skipped("fitting again", f"it ended in a {type(error).__name__}")
            if isinstance(found, Skipped):
                skipped.append(found)
            else:
                refits = found
        counted = [(place, int(x.min())) for place, x in contents.leaves if len(x)]
        return Inspection(
            session.origin("scikit-learn", skipped=skipped),
            form=contents.form,
            n_arrays=len(contents.numbers),
            n_numbers=sum(x.values.size for x in contents.numbers),
            n_texts=sum(len(x.values) for x in contents.texts),
            coarse=()
            if known is None
            else tuple(findings.coarse_arrays(contents, known, frozenset(x.place for x in rows))),
            has_contents=any(x.values.size > 1 for x in contents.numbers)
            or any(len(x.values) > 1 for x in contents.texts),
            ids=names,
            n_people=None if known is None else known.people(np.ones(len(known), bool)),
            recognisable=recognisable,
            rows=tuple(rows),
            stored=stored,
            stored_people=0 if known is None or stored is None else known.people(stored),
            by_structure=tuple(findings.rows_by_structure(contents)),
            values=tuple(values),
            entries=tuple(entries),
            structure=structure,
            smallest_leaf=min(counted, key=lambda x: x[1], default=None),
            traces=tuple(traces(contents)),
            refits=refits,
            minimum=self.minimum,
            show_texts=self.show_texts,
        )


inspect_model = one_line(
    InspectOptions, InspectOptions.run, "inspect_model", command="inspect", without=KEEPING
)


def _contents_and_model(model: object | str | Path) -> tuple[Contents, object]:
    """Return the contents of a model, and the model itself if it is an object."""
    if isinstance(model, str) and names_code(model):
        named = model
        model = import_object(named)
        # A function without parameters is a loader of the user's own.
        if callable(model) and not hasattr(model, "predict") and not isinstance(model, type):
            model = _model_of_loader(model, named)
    elif isinstance(model, str | Path):
        return read_model(Path(model)), None
    if model is None or isinstance(model, bool | int | float | bytes):
        raise InputError(f"model must be a fitted model or a file, got {type(model).__name__}")
    return contents_of(model), model


def _model_of_loader(loader: Any, named: str) -> object:
    """Return the model that a user's function makes, without the words of its errors."""
    try:
        signature(loader).bind()
    except TypeError:
        raise InputError(
            f"{named} takes an argument: name the model, or a function without any that returns it"
        ) from None
    except ValueError:
        pass  # a compiled function, which does not say what it takes
    try:
        return loader()
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001  # it may raise anything
        # Its words may hold values of the data.
        raise InputError(f"{named} ended in a {type(error).__name__}") from None


def _training_table(
    data: object,
    model: object,
    label: ArrayLike | str | None,
    *,
    unit: ArrayLike | str | None,
    ids: ArrayLike | str | None,
    drop: Sequence[str],
) -> tuple[TrainingTable, np.ndarray[Any, Any]]:
    """Return the training table in the form that the model takes, and the ids of its records."""
    import pandas as pd

    given: Any = data.to_pandas() if hasattr(data, "to_pandas") else data
    is_frame = isinstance(given, pd.DataFrame)
    if is_frame:
        features = given
    else:
        rows = np.asarray(given.toarray() if hasattr(given, "toarray") else given)
        if rows.ndim < 2:
            raise InputError(f"data must be a table of rows and columns, got shape {rows.shape}")
        features = pd.DataFrame(rows.reshape(len(rows), -1))
    n = len(features)
    if n < 2:
        raise InputError(f"the training table must have at least 2 records, got {n}")
    used = list(drop)
    columns: dict[str, np.ndarray[Any, Any] | None] = {}
    for name, asked in (("label", label), ("unit", unit), ("ids", ids)):
        columns[name] = None
        if isinstance(asked, str):
            if asked not in features:
                have = checks.short_list(str(x) for x in features)
                raise InputError(f"no column {asked!r} in the training table; it has {have}")
            columns[name] = features[asked].to_numpy()
            used.append(asked)
        elif asked is not None:
            columns[name] = checks.vector(asked, name, length=n)
    missing = [x for x in drop if x not in features]
    if missing:
        raise InputError(f"drop names {missing[0]!r}, which is not a column")
    features = features.drop(columns=list(dict.fromkeys(used)))
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None and set(wanted) <= set(features):
        features = features[list(wanted)]
    if not features.shape[1]:
        raise InputError("the training table must have a column beside label, unit and ids")
    numeric = features.select_dtypes(["number", "bool"]).shape[1] == features.shape[1]
    if columns["label"] is not None and columns["label"].dtype.kind not in "biuf":
        columns["label"] = columns["label"].astype(str)
    known = TrainingTable(
        features,
        columns["label"],
        owners(columns["unit"], None, n),
        as_array=not is_frame or (wanted is None and numeric),
    )
    return known, np.arange(n) if columns["ids"] is None else columns["ids"]


# Fitting again.


def _refits(
    asked: InspectDesign, model: Any, known: TrainingTable | None, session: Session
) -> tuple[Refit, ...] | Skipped:
    """Return the model as it is and in ways that hold less, each with its effect."""
    what = "fitting again"
    if known is None or known.label is None:
        return Skipped(what, "needs the training table and its label")
    if model is None or not hasattr(model, "get_params") or not hasattr(model, "fit"):
        return Skipped(what, "needs an estimator with get_params and fit, as scikit-learn has them")
    from sklearn.base import clone, is_classifier
    from sklearn.pipeline import make_pipeline
    from sklearn.tree import DecisionTreeClassifier

    changes: dict[str, object] = {}
    for name, value in model.get_params().items():
        last = name.rpartition("__")[2]
        if last in ("min_samples_leaf", "min_child_samples") and isinstance(value, int):
            if value < asked.minimum:
                changes[name] = asked.minimum
        elif last == "min_df" and value == 1:
            changes[name] = asked.minimum
    found = [_refit_effect("as it is", lambda: clone(model), asked, known, session=session)]
    if changes:
        told = ", ".join(f"{name}={value}" for name, value in changes.items())
        found.append(
            _refit_effect(
                told, lambda: clone(model).set_params(**changes), asked, known, session=session
            )
        )
    if is_classifier(model) and found[0].stored_rows:
        steps = [clone(x) for _, x in model.steps[:-1]] if hasattr(model, "steps") else []
        student = DecisionTreeClassifier(min_samples_leaf=asked.minimum, random_state=session.seed)

        def distilled() -> _Distilled:
            return _Distilled(
                clone(model), make_pipeline(*(clone(x) for x in steps), clone(student))
            )

        told = f"its predictions learnt by a tree with min_samples_leaf={asked.minimum}"
        found.append(_refit_effect(told, distilled, asked, known, session=session))
    return tuple(found)


class _Distilled:
    """A model that learns the predictions of another one, which is then dropped."""

    def __init__(self, teacher: Any, student: Any) -> None:
        self.teacher = teacher
        self.student = student

    def fit(self, x: Any, y: Any) -> Any:
        """Return the student, fitted on the predictions of the teacher."""
        return self.student.fit(x, self.teacher.fit(x, y).predict(x))


def _refit_effect(
    what: str, make: Any, asked: InspectDesign, known: TrainingTable, *, session: Session
) -> Refit:
    """Return the effect of a way of fitting: on the whole table, and in cross-validation."""
    x = known.given()
    fitted = make().fit(x, known.label)
    contents = contents_of(fitted)
    rng = seeds.stream(session.seed, "placebos", what)
    written = findings.written_tables(contents, known)
    rows, _ = findings.stored_rows(contents, known, rng, written=written)
    views = findings.views_of(contents, known)
    beside = frozenset(x.place for x in rows)
    values = findings.stored_values(contents, known, views, rng, written=written, beside=beside)
    structure = findings.structure_of(fitted, known, asked.minimum)
    groups = structure if isinstance(structure, Structure) else None
    regions = groups is not None and (groups.by_leaf or (groups.constant and not contents.leaves))
    return Refit(
        what,
        _accuracy(make, fitted, known, session),
        stored_rows=int(
            np.logical_or.reduce([np.zeros(len(known), bool), *(r.rows for r in rows)]).sum()
        ),
        stored_values=sum(v.count for v in values),
        smallest=None if groups is None else groups.smallest,
        small_groups=float(groups.in_small_groups.mean()) if regions and groups else None,
    )


def _accuracy(make: Any, fitted: Any, known: TrainingTable, session: Session) -> Estimate | Skipped:
    """Return the share of right predictions in cross-validation of five parts."""
    from sklearn.base import is_classifier
    from sklearn.model_selection import GroupKFold, KFold

    what = "accuracy"
    if not is_classifier(fitted) or known.label is None:
        return Skipped(what, "only of classifiers")
    x = known.given()
    right = np.zeros(len(known), bool)
    folds: Any = KFold(5, shuffle=True, random_state=session.seed)
    if known.unit is not None:
        folds = GroupKFold(5)
    try:
        for train, test in folds.split(np.zeros((len(known), 1)), groups=known.unit):
            parts = [x[i] if known.as_array else x.iloc[i] for i in (train, test)]
            trained = make().fit(parts[0], known.label[train])
            right[test] = np.asarray(trained.predict(parts[1])) == known.label[test]
    except findings.TRANSFORMS as error:
        # Its words may hold values of the table, such as a category that was not known.
        return Skipped(what, f"cross-validation ended in a {type(error).__name__}")
    return proportion(right, known.unit, session.level)


# The report.


def _intro(f: Inspection) -> str:
    looked = (
        f"{f.form[0].upper()}{f.form[1:]} was searched: {several(f.n_numbers, 'number')} in "
        f"{several(f.n_arrays, 'array')}, and {several(f.n_texts, 'text')}."
    )
    if f.ids is None:
        return f"{plain(looked)} Without the training table only what shows by its form was found."
    people = "" if f.n_people == len(f.ids) else f" of {count(f.n_people or 0)} people"
    return (
        f"{plain(looked)} The training table has {several(len(f.ids), 'record')}{people}; "
        f"{count(f.recognisable)} of them would be recognised: other people would hardly have "
        "the same values."
    )


def _grades(f: Inspection) -> Iterator[tuple[Any, str, int, str]]:
    """Yield grade, label, number and headline of each finding."""
    if f.n_rows:
        if f.ids is None or f.n_rows > f.n_recognised:
            told = f"By its structure the file holds {several(f.n_rows, 'training row')}"
            if f.ids is not None:
                n = f.n_recognised
                found = (
                    "none of them was"
                    if not n
                    else f"{count(n)} of them {'was' if n == 1 else 'were'}"
                )
                told += f"; {found} found in the table"
        else:
            told = f"{count(f.n_rows)} of {count(len(f.ids))} training rows stand in the file"
            if f.stored_people != f.n_rows:
                told += f", of {count(f.stored_people)} people"
            if f.n_values:
                told += f"; {several(f.n_values, 'value')} of single people too"
        yield LARGE, "Training rows in the file", f.n_rows, told
    labels = [x for x in f.entries if x.what == "labels"]
    if f.n_values:
        kinds = " and ".join(dict.fromkeys(x.kind for x in f.values))
        who = "of one person each stand" if f.ids is not None else "of people, by their form, stand"
        told = f"No training row, but {count(f.n_values)} {kinds} {who} in the file"
        if f.ids is None:
            told = told.removeprefix("No training row, but ")
        yield MODERATE, "Single values in the file", f.n_values, told
    if labels and f.ids is not None:
        told = (
            f"The labels of all {several(len(f.ids), 'record')} stand in the file, in their order"
        )
        yield MODERATE, "Labels in the file", len(f.ids), told
    s = f.structure
    if isinstance(s, Structure) and f.has_regions and s.smallest < f.minimum:
        n = int(s.in_small_groups.sum())
        closed = bool((s.disclosing & (s.sizes < f.minimum)).any())
        told = f"Answers about {several(n, 'record')} stand on fewer than {f.minimum} people"
        told += ", and some of them rule out a class" if closed else ""
        yield MODERATE if closed else SMALL, "Records in small groups", n, told
    elif not f.has_regions and f.smallest_leaf and f.smallest_leaf[1] < f.minimum:
        n = f.smallest_leaf[1]
        yield (
            SMALL,
            "Records short of the minimum",
            f.minimum - n,
            (f"A leaf of the model stands on {several(n, 'record')}"),
        )
    named = [x for x in f.traces if x[0] in ("path", "host", "e-mail address")]
    if named:
        told = f"{several(len(named), 'path')}, hosts and addresses stand in the file"
        yield (
            SMALL,
            "Paths, hosts and addresses",
            len(named),
            told.replace("path,", "of the paths,"),
        )


def _verdict(f: Inspection) -> Verdict:
    graded = list(_grades(f))
    why = _untold(f)
    grade = gravest([*(x[0] for x in graded), UNTOLD if why else NONE])
    unsaid = (
        "It says what stands in the model, not what can be found by asking it: audits of "
        "membership, of attributes and of extraction measure that."
    )
    if not f.form.startswith("an object"):
        unsaid += (
            " The steps of a file are not run, so that rows behind one that is not linear are not "
            "seen: name the model as FILE.py:NAME where that matters."
        )
    sentences = tuple(_sentences(f))
    advice = tuple(_advice(f))
    if grade == UNTOLD:
        return untold_verdict(
            f"No training row was found by its form: {why}"
            if f.ids is None
            else f"No training row was found, but {why}",
            sentences or ("Nothing that shows by its form was found.",),
            advice=advice,
        )
    chosen = next((x for x in graded if x[0] == grade), None)
    if chosen is None:
        assert f.ids is not None  # nothing is found only with the table
        told = (
            f"None of {several(len(f.ids), 'training row')} and no single value stands in the file"
        )
        chosen = (NONE, "Training rows in the file", 0, told)
    _, label, n, told = chosen
    shown = Shown(count(n))
    return Verdict(
        grade=grade,
        scale=GRADES,
        headline=told,
        sentences=sentences,
        unsaid=unsaid,
        advice=advice,
        gauge=Gauge(
            label, shown, low=float(n), value=float(n), high=float(n),
            limits=gauge_limits(0.0, float(n)), ticks=("0",), zones=("None", "Some"),
            rule="A training row in the file is grave, whatever an attack would find. A single "
            "value, or an answer on few people that rules out a class, is moderate; other small "
            "groups, paths and hosts are small. Counted, not estimated.",
        ),
    )  # fmt: skip


def _untold(f: Inspection) -> str:
    """Return why it cannot be told that no more stands in the model; empty if it can."""
    if f.ids is None:
        return "without the training table nothing more can be told"
    if not f.has_contents:
        return "no array or list of it could be read"
    if f.recognisable < ENOUGH * len(f.ids):
        return f"only {count(f.recognisable)} of {count(len(f.ids))} could be recognised"
    if not f.n_rows and any(x.width > 1 for x in f.entries):
        return "an array has several numbers for each record, which may be a form of its row"
    if _unread(f):
        return "a part of it could not be read"
    if f.coarse and not f.rows:
        return f"{shorten(plain(f.coarse[0]))} is rounded, and may hold rows that are not seen"
    return ""


def _unread(f: Inspection) -> bool:
    return any(x.name not in ("groups behind an answer", "fitting again") for x in f.origin.skipped)


def _sentences(f: Inspection) -> Iterator[str]:
    for x in f.rows[:3]:
        yield (
            f"{several(int(x.rows.sum()), 'row')} in {shorten(plain(x.place))}"
            f"{f' of {plain(x.owner)}' if x.owner else ''}, {x.how}."
        )
    if f.n_rows and f.n_rows > f.n_recognised:
        for y in f.by_structure[:3]:
            owner = f" of {plain(y.owner)}" if y.owner else ""
            yield f"{several(y.n, 'row')} in {shorten(plain(y.place))}{owner}, by name and shape."
    for z in f.values[:3]:
        where = f" of {shorten(plain(z.column))}" if z.column else ""
        found = several(z.count, z.kind.removesuffix("s"))
        yield f"{found}{where} in {shorten(plain(z.places[0]))}."
    s = f.structure
    if isinstance(s, Structure):
        what = "leaf" if s.by_leaf else "group of equal answers"
        people = "1 person" if s.smallest == 1 else f"{count(s.smallest)} people"
        yield f"The smallest {what} has {people}."
        if not s.constant:
            yield (
                "Its answers change with every small change of a record, so that a group of one is "
                "not a finding."
            )
        elif not f.has_regions:
            yield "Its answers are sums over trees, so that the sizes of single leaves count."
        if s.memorises:
            yield "Its hyperparameters are among the fifth with the most successful attacks."
    if f.smallest_leaf is not None and not f.has_regions:
        place, n = f.smallest_leaf
        yield f"The smallest leaf has {several(n, 'record')} ({shorten(plain(place))})."
    if f.n_rows == 0 and not f.rows and f.ids is not None and not f.values:
        yield "Rows were looked for as they are, transformed, scaled and projected."


def _advice(f: Inspection) -> Iterator[str]:
    if f.n_rows:
        yield (
            "Whoever has this file has the rows. Replace the model by one that "
            "keeps none, such as a tree with at least "
            f"{f.minimum} records per leaf that learnt its predictions, or release answers alone."
        )
    if any(x.kind in ("texts", "words") for x in f.values):
        yield (
            "Fold categories of few people into one before fitting (an encoder's min_frequency "
            "keeps their names in the file), and leave words of few people out with min_df."
        )
    if any(x.kind == "numbers" for x in f.values):
        yield "Round the numbers before fitting, or use fewer bins than there are people."
    counted = f.small_groups is not None or f.smallest_leaf is not None
    if counted and f.smallest is not None and f.smallest < f.minimum:
        yield (
            f"Fit again with at least {f.minimum} records per answer (min_samples_leaf, "
            "min_child_samples), or prune the trees."
        )
    if any(x[0] in ("path", "host", "e-mail address", "note") for x in f.traces):
        yield "Remove notes, paths and names from the file before it leaves."
    if f.refits:
        yield "The effect of fitting again stands below."
    elif f.n_rows or f.n_values or f.small_groups:
        yield "See the effect of fitting again: --refit (refit=True)."
    if f.ids is None:
        yield "Inspect it again with the training table: --data FILE --label COLUMN."
    yield (
        "Then measure what its answers give away: privacygauge classifier. A model trained with "
        "differential privacy bounds both (privacygauge dp-audit tests the claim)."
    )


def _measures(f: Inspection) -> Iterator[Measure]:
    n = None if f.ids is None else len(f.ids)
    of = "by name and shape" if n is None else f"of {several(n, 'training record')}"
    # Where it cannot be told, none found is no number that a limit could be met by.
    unknown = Skipped("stored rows", _untold(f))
    rows = None if f.n_rows == 0 and unknown.reason else f.n_rows
    yield Measure(
        "stored-rows",
        "Training rows in the file",
        unknown if rows is None else float(rows),
        Shown(DASH if rows is None else count(rows)),
        note=of,
        text="Counted, so it has no interval. Rows that chance could give are not counted.",
        guessing="0",
    )
    values = None if f.n_values == 0 and unknown.reason else f.n_values
    yield Measure(
        "stored-values",
        "Values of one person each in the file",
        unknown if values is None else float(values),
        Shown(DASH if values is None else count(values)),
        note="beyond those that coincide by chance",
        text="Names, other texts, words and numbers of at least "
        f"{findings.RESOLUTION} digits that one person has alone.",
        guessing="0",
    )
    why = f.structure if isinstance(f.structure, Skipped) else None
    none = why or Skipped("groups behind an answer", "not defined for this model")
    yield Measure(
        "smallest-group",
        "People behind the smallest group of answers",
        none if f.smallest is None else float(f.smallest),
        Shown(DASH if f.smallest is None else count(f.smallest)),
        note=""
        if isinstance(f.structure, Structure) or f.smallest is None
        else "records of a leaf",
        text="A leaf of a single tree, or all training records with the same answer.",
        guessing=f"at least {f.minimum} is asked for",
        gate=False,
    )
    for name, label, x, meaning in (
        ("small-groups", f"Records whose answer stands on fewer than {f.minimum} people",
         f.small_groups, "Only of models whose answers stand on a region, such as a tree's leaf."),
        ("disclosed", "Records whose answer rules out a class", f.disclosed,
         "The model gives some class a probability of 0."),
    ):  # fmt: skip
        yield Measure(
            name,
            label,
            none if x is None else x,
            Shown(DASH if x is None else percent(x)),
            note=of if x is not None else "",
            text=meaning,
            guessing="0%",
        )


def _sections(f: Inspection) -> Iterator[Section]:
    rows = [
        {"Place": shorten(plain(x.place)), "Held by": plain(x.owner) or DASH, "Form": x.how,
         "Rows": count(int(x.rows.sum()))}
        for x in f.rows
    ] or [
        {"Place": shorten(plain(x.place)), "Held by": plain(x.owner) or DASH,
         "Form": "by name and shape", "Rows": count(x.n)}
        for x in f.by_structure
    ]  # fmt: skip
    blocks: list[Block] = []
    if rows:
        blocks.append(
            table(
                "rows",
                "Arrays with training rows",
                rows,
                prose=("Place", "Held by", "Form"),
                at_once=10,
            )
        )
    if f.values:
        found = [
            {"Column": shorten(plain(x.column)) or DASH, "Kind": x.kind, "Values": count(x.count),
             "By chance": f"{x.by_chance:.2f}", "Place": shorten(plain(x.places[0]))}
            for x in f.values
        ]  # fmt: skip
        told = "Values that one person has alone. By chance: how many placebo columns would give."
        blocks.append(
            table(
                "values",
                "Single values",
                found,
                told,
                prose=("Column", "Kind", "Place"),
                at_once=20,
            )
        )
        if f.show_texts:
            for i, x in enumerate(f.values):
                shown = first_names([shorten(plain(v)) for v in x.values], MOST)
                blocks.append(note(f"{i + 1}. {shorten(plain(x.column)) or x.kind}: {shown}"))
    if f.entries:
        kept = [
            {"Place": shorten(plain(x.place)), "Held by": plain(x.owner) or DASH, "Entries": x.what}
            for x in f.entries
        ]
        told = (
            "As many entries as the table has records: predictions, weights or groups of single "
            "records, or a coincidence of sizes. Labels were compared with those of the table."
        )
        blocks.append(
            table(
                "entries",
                "Arrays with an entry per record",
                kept,
                told,
                prose=("Place", "Held by", "Entries"),
                at_once=10,
            )
        )
    if not blocks:
        blocks.append(text("No array was found to hold rows, values or entries of single records."))
    yield Section("contents", "What stands in the model", tuple(blocks), "Contents", open=True)
    yield Section("groups", "The people behind an answer", tuple(_group_blocks(f)), "Groups")
    if f.traces:
        kinds = Counter((x[0], x[1]) for x in f.traces)
        if f.show_texts:
            lines = [
                {"Kind": kind, "Place": shorten(plain(place)), "Text": shorten(plain(words))}
                for kind, place, words in f.traces[:MOST]
            ]
        else:
            lines = [
                {"Kind": kind, "Place": shorten(plain(place)), "Number": count(n)}
                for (kind, place), n in sorted(kinds.items())[:MOST]
            ]
        told = "" if f.show_texts else "The texts are shown with --show-texts."
        yield Section(
            "notes",
            "Notes, paths and hosts",
            (
                table(
                    "notes",
                    "Texts about the training",
                    lines,
                    told,
                    prose=("Kind", "Place", "Text"),
                    at_once=20,
                ),
            ),
            "Notes",
        )
    if f.refits:
        effects: list[dict[str, Content]] = [
            {
                "Fitted": plain(x.what),
                "Accuracy": DASH
                if isinstance(x.accuracy, Skipped)
                else percent_estimate(x.accuracy),
                "Rows": count(x.stored_rows),
                "Values": count(x.stored_values),
                "Smallest group": DASH if x.smallest is None else count(x.smallest),
                "In small groups": DASH if x.small_groups is None else percent(x.small_groups),
            }
            for x in f.refits
        ]
        told = "Accuracy in cross-validation of five parts, people kept together."
        yield Section(
            "refits",
            "Fitted again",
            (table("refits", "The effect of fitting again", effects, told, prose=("Fitted",)),),
            "Fitted again",
        )


def _group_blocks(f: Inspection) -> Iterator[Block]:
    s = f.structure
    if isinstance(s, Skipped):
        if f.smallest_leaf is not None:
            place, n = f.smallest_leaf
            yield text(
                f"The smallest leaf that the model itself counts has {several(n, 'record')} "
                f"({shorten(plain(place))})."
            )
        return
    freedom = s.degrees_of_freedom
    told = {None: DASH, True: "yes", False: "no"}
    form = "leaves of a tree" if s.by_leaf else "by equal answers"
    shown: dict[str, str | Shown | Cell] = {
        "Groups": f"{count(len(s.sizes))}, {form}",
        "Smallest group": count(s.smallest),
        f"Groups of fewer than {f.minimum}": count(int((s.sizes < f.minimum).sum())),
        "Groups that rule out a class": count(int(s.disclosing.sum())),
        f"Groups with fewer than {f.minimum} people of a class, but some": count(
            int(s.small_counts.sum())
        ),
        "Fitted parameters": DASH if s.parameters is None else count(s.parameters),
        "Residual degrees of freedom": DASH if freedom is None else count(freedom),
        "Hyperparameters among the fifth that memorises most": told[s.memorises],
        "Answers constant around a record": "yes" if s.constant else "no",
    }
    yield pairs(shown)
    yield note(
        "The indicators of SACRO-ML's structural attack, by its definitions. A dash: there is no "
        "definition for this kind of model."
    )


def _structure_json(f: Inspection) -> dict[str, Any]:
    s = f.structure
    if isinstance(s, Skipped):
        return {"skipped": s.reason}
    return {
        "groups": len(s.sizes),
        "by_leaf": s.by_leaf,
        "constant": s.constant,
        "smallest": s.smallest,
        "small_groups": int((s.sizes < f.minimum).sum()),
        "disclosing_groups": int(s.disclosing.sum()),
        "small_counts": int(s.small_counts.sum()),
        "parameters": s.parameters,
        "degrees_of_freedom": s.degrees_of_freedom,
        "memorises": s.memorises,
    }


def _worst(f: Inspection) -> Worst:
    if f.ids is None:
        return Worst(reason="the training table was not given")
    names = names_of(f.ids)
    if f.stored is not None and f.stored.any():
        chosen = np.flatnonzero(f.stored)
    elif isinstance(f.structure, Structure) and f.has_regions:
        sizes = f.structure.sizes[f.structure.group]
        order: Ints = np.argsort(sizes, kind="stable")
        chosen = order[sizes[order] < f.minimum]
    else:
        chosen = np.empty(0, int)
    ids = tuple(str(x) for x in names[chosen[:MOST]].tolist())
    return Worst("records", ids, "" if ids else "no record stands in the model")


def _records(f: Inspection) -> pd.DataFrame:
    assert f.ids is not None
    assert f.stored is not None
    columns: dict[str, Any] = {
        "row": np.arange(len(f.ids)), "id": names_of(f.ids), "stored": f.stored,
    }  # fmt: skip
    if isinstance(f.structure, Structure):
        columns["group_size"] = f.structure.sizes[f.structure.group]
        columns["disclosed"] = f.structure.disclosing[f.structure.group]
    return frame(columns)


_TERMS = {
    "Stored row": "A record of the training table that stands in an array of the model: as it is, "
    "after the model's own transformers, scaled, or as a linear projection. It counts only if "
    "other records of the same kind would hardly match it.",
    "Single value": "A value of the table that one person has alone, such as a name, and that "
    "stands in the model.",
    "Group": "The training records that a model gives one answer: those of a leaf of a single "
    "tree, or those with the same predicted probabilities.",
    "Rules out a class": "A probability of 0 for some class: whoever knows that a person is in the "
    "group knows what they are not.",
    "Residual degrees of freedom": "The number of records less the number of fitted parameters. A "
    "model with few of them left can keep its records.",
    "Placebo": "A made-up column that is like a real one and whose values stand in the model only "
    "by chance.",
}
