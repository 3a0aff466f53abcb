"""What `privacygauge dtp` was asked, and doing it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from privacygauge.audits.asking import absolute
from privacygauge.audits.dtp.found import DtpAudit
from privacygauge.audits.dtp.play import audit_dtp
from privacygauge.audits.provenance import file_hashes
from privacygauge.audits.user_code import compared_code
from privacygauge.classifier.cost import measure, span
from privacygauge.classifier.dtp.learner import Learner
from privacygauge.classifier.dtp.removal import Order
from privacygauge.classifier.tables import CategoricalTable, Records, load_categories, load_records
from privacygauge.cli.progress import bar
from privacygauge.cli.training import (
    invocation_of,
    standardised,
    told_how_to_go_on,
    trainer_named,
)
from privacygauge.core import checks, seeds
from privacygauge.errors import InputError
from privacygauge.runs.store import plan_in

ON_CATEGORIES = ("naive-bayes", "bayes-inference", "random-trees")
"""Models whose attributes are categories, but for some numbers."""

ON_NUMBERS = ("logistic", "lda", "qda", "least-squares", "nearest")
"""Models that leave records out without training; texts become columns of 0 and 1."""


QDA_SHRINKAGE = 0.01
"""Of covariances towards the identity: columns of 0 and 1 have no inverse without it."""

MANY = 50
"""An attribute with more categories than these, and than a quarter of the records, is named."""


@dataclass(frozen=True)
class DtpRequest:
    """What `privacygauge dtp` was asked: kept with the run, to go on with it."""

    model: str
    """A built-in name, FILE.py:NAME or MODULE:NAME."""
    data: str
    """File of the training set."""
    label: str = "label"
    """Column of the classes."""
    continuous: tuple[str, ...] = ()
    """Columns of numbers, for models on categories."""
    alpha: float = 1.0
    """Laplace smoothing."""
    l2: float = 1.0
    """Weight of the squared coefficients."""
    neighbours: int = 5
    """Of the nearest neighbours."""
    bin_width: float = 0.01
    """Of the bins of published probabilities."""
    measure: int | None = None
    """How many records to measure."""
    queries: int = 500
    """Records to ask about beside the one left out."""
    training_sets: int = 0
    """Further pairs of halves."""
    remove: int = 0
    """Records to remove."""
    order: str = "recomputed"
    """Of removal."""
    vary: int = 0
    """Models for each variation."""
    ids: str | None = None
    """Column of the records' names."""
    drop: tuple[str, ...] = ()
    """Columns that are no features."""
    seed: int = 0
    """All random draws derive from it."""
    level: float = 0.95
    """Of every interval."""

    def settled(self) -> Mapping[str, Any]:
        """Return the request as JSON values, with whole paths."""
        return {
            **asdict(self),
            "data": str(Path(self.data).absolute()),
            "model": absolute(self.model),
        }


def dtp_request_in(options: Mapping[str, Any]) -> DtpRequest:
    """Return the request that a run was started with."""
    lists = {name: tuple(options.get(name, ())) for name in ("continuous", "drop")}
    return DtpRequest(**{**options, **lists})


def dtp_of_request(
    request: DtpRequest, run: Path | None, *, jobs: int, quiet: bool, recorded: bool = False
) -> DtpAudit:
    """Return the audit that was asked for, training what `run` does not hold yet.

    Where it is `recorded`, the run is finished, and what stands there is read in place of code.
    """
    code = {} if recorded else compared_code(asdict(request), run)
    if request.model in ON_CATEGORIES:
        table = load_categories(
            request.data,
            request.label,
            continuous=request.continuous,
            ids=request.ids,
            drop=request.drop,
        )
        return _audited(
            request, _on_categories(request, table), table.x, table, None, 1, quiet, None
        )
    if request.continuous:
        raise InputError(
            f"--continuous goes with {', '.join(ON_CATEGORIES)}; for {request.model} numbers are "
            "numbers, and texts are categories"
        )
    records = load_records(request.data, request.label, ids=request.ids, drop=request.drop)
    if request.model in ON_NUMBERS:
        x = standardised(records.x)
        return _audited(request, _on_numbers(request), x, records, None, 1, quiet, None)
    model = trainer_named(request.model, run if recorded else None)
    x = standardised(records.x) if request.model.startswith("network") else records.x
    if not quiet:
        _tell_cost(request, model, x, records, run, jobs)
    start = invocation_of("dtp", request.settled(), code, recorded)
    return _audited(request, model, x, records, run, jobs, quiet, start)


def _on_categories(request: DtpRequest, table: CategoricalTable) -> Learner:
    from privacygauge.classifier.dtp.bayes_inference import BayesInference
    from privacygauge.classifier.dtp.naive_bayes import NaiveBayes
    from privacygauge.classifier.dtp.random_trees import RandomDecisionTrees

    if request.model == "naive-bayes":
        return NaiveBayes(table.categories, request.alpha)
    numbers = [n for n, size in zip(table.columns, table.categories, strict=True) if size is None]
    if numbers:
        raise InputError(
            f"--model {request.model} takes categories only, not the numbers of {numbers[0]!r}"
        )
    if request.model == "bayes-inference":
        return BayesInference(request.alpha)
    return RandomDecisionTrees(table.categories, seed=request.seed, alpha=request.alpha)


def _on_numbers(request: DtpRequest) -> Learner:
    from privacygauge.classifier.dtp.discriminant import LinearDiscriminant
    from privacygauge.classifier.dtp.least_squares import LeastSquares
    from privacygauge.classifier.dtp.logistic import Logistic
    from privacygauge.classifier.dtp.nearest import NearestNeighbours
    from privacygauge.classifier.dtp.quadratic import QuadraticDiscriminant

    known: dict[str, Learner] = {
        "logistic": Logistic(request.l2),
        "lda": LinearDiscriminant(),
        "qda": QuadraticDiscriminant(QDA_SHRINKAGE),
        "least-squares": LeastSquares(request.l2),
        "nearest": NearestNeighbours(request.neighbours),
    }
    return known[request.model]


def _audited(
    request: DtpRequest,
    model: object,
    x: NDArray[Any],
    records: Records | CategoricalTable,
    run: Path | None,
    jobs: int,
    quiet: bool,
    invocation: Mapping[str, Any] | None,
) -> DtpAudit:
    with (
        told_how_to_go_on(run, asdict(request)),
        bar("Training models", quiet or run is None) as progress,
    ):
        return audit_dtp(
            model,
            x,
            records.y,
            rows=_chosen(request, len(records)),
            bin_width=request.bin_width,
            queries=request.queries,
            training_sets=request.training_sets,
            remove=request.remove,
            order=cast(Order, request.order),
            vary=request.vary,
            ids=records.ids,
            class_names=records.names,
            warnings=_many(records) if isinstance(records, CategoricalTable) else (),
            run=run,
            n_jobs=jobs,
            progress=progress,
            seed=request.seed,
            level=request.level,
            command="dtp",
            provenance=file_hashes({"data": Path(request.data)}),
            invocation=invocation,
        )


def _many(table: CategoricalTable) -> tuple[str, ...]:
    """Return a warning that names attributes with a category for nearly every record."""
    many = [
        f"{name!r} ({size:,} categories)"
        for name, size in zip(table.columns, table.categories, strict=True)
        if size is not None and size > max(MANY, len(table) // 4)
    ]
    if not many:
        return ()
    return (
        f"{checks.listed(many)}: nearly every one of the {len(table):,} records has a category of "
        "its own, which gives it away; if these are numbers, name them with --continuous, if they "
        "are names, --drop them",
    )


def _chosen(request: DtpRequest, n: int) -> NDArray[np.int64] | None:
    if request.measure is None or request.measure == n:
        return None
    if not 1 <= request.measure <= n:
        raise InputError(
            f"--measure must be in 1..{n:,}, the number of records in {request.data}, got "
            f"{request.measure:,}"
        )
    rng = seeds.stream(request.seed, "dtp", "measured")
    return np.sort(rng.choice(n, request.measure, replace=False))


def _tell_cost(
    request: DtpRequest, model: Any, x: NDArray[Any], records: Records, run: Path | None, jobs: int
) -> None:
    """Say what training once more for each record will cost."""
    if run is not None and plan_in(run) is not None:
        return
    n_models = request.measure or len(records)
    cost = measure(model, x, records.y, n_models=n_models, n_jobs=jobs, seed=request.seed)
    # The trial trains on half of the records.
    seconds = 2 * cost.seconds(n_models) * (1 + request.training_sets / 2)
    print(
        f"Training {model.name} without each of {n_models:,} records, {cost.n_jobs} at a time: "
        f"about {span(seconds)}. --measure N takes fewer records.",
        file=sys.stderr,
    )
