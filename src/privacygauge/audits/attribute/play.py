"""The audit of attribute inference against a trained model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.attribute.found import AttributeAudit
from privacygauge.audits.running import Running
from privacygauge.classifier.attributes import guesses
from privacygauge.classifier.estimators import class_names
from privacygauge.core import checks, seeds
from privacygauge.core.equal_rows import said_of_units
from privacygauge.core.units import owners
from privacygauge.errors import InputError
from privacygauge.report.numbers import percent_estimate, plain

if TYPE_CHECKING:
    import pandas as pd


def audit_attribute(
    model: object,
    x: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    sensitive: str | int | Sequence[int],
    member: ArrayLike,
    knows_label: bool = True,
    name: str | None = None,
    values: Sequence[str] = (),
    classes: Sequence[str] = (),
    ids: ArrayLike | None = None,
    unit: ArrayLike | None = None,
    seed: int = 0,
    level: float = 0.95,
    command: str = "audit_attribute",
    provenance: Mapping[str, str] | None = None,
) -> AttributeAudit:
    """Audit whether a trained model gives away a sensitive column of its training people.

    The adversary knows all other columns, asks the model about every value, and guesses. What
    the model gives away is how much more often that succeeds for members than for people of the
    same population outside of the training set. What imputation achieves without the model
    stands beside it: what columns tell about each other is no leak.

    Parameters
    ----------
    model : object
        With ``predict_proba``, a PyTorch module, or a function from features to probabilities.
    x : array_like, shape (n, d), or data frame
        What the model is asked about.
    y : array_like of int or str, shape (n,)
        Classes in 0..k-1, or their names.
    sensitive : str, int or sequence of int
        The sensitive column of a frame, or of an array; several columns of an array where they
        are 1 for one value each and 0 otherwise. Numbers of more than 12 different values are
        cut into 5 bins.
    member : array_like of bool, shape (n,)
        True where the model was trained on the record; both must occur.
    knows_label : bool
        Whether the adversary knows the class of each record.
    name : str, optional
        What the report calls the column.
    values : sequence of str
        Names of the values where `sensitive` is several columns.
    classes : sequence of str
        What the model calls the classes 0..k-1.
    ids, unit : array_like, shape (n,), optional
        Names of the records, and the person behind each; intervals and parts go by person.
    seed : int
    level : float
        Of every interval, in (0, 1); of all attacks together.
    command, provenance
        As in `audit_model`.

    Raises
    ------
    InputError
        One line: what is wrong, and the way out.

    Notes
    -----
    Yeom et al. (2018), definition 5, with people outside of the training set for the control;
    Jayaraman & Evans (2022) for the imputation. The attacks: `guesses`.
    """
    running = Running(command, seed, level, provenance)
    table = cast("pd.DataFrame", x) if hasattr(x, "columns") else np.asarray(x)
    labels, side = np.asarray(y), checks.bools(member, "member", length=len(table))
    names = class_names(labels)
    coded = np.searchsorted(names, labels.astype(np.str_)) if names else labels
    if side.all() or not side.any():
        missing = "non-members" if side.all() else "members"
        raise InputError(f"member must be true for some records and false for others: no {missing}")
    at = sensitive if isinstance(sensitive, str) else np.atleast_1d(sensitive).tolist()
    owner = owners(unit, ids, len(table))
    people = np.arange(len(table)) if owner is None else owner
    y, rng = checks.classes(coded, "y", length=len(table)), seeds.stream(seed, "attribute")
    named = tuple(classes) or names
    found = guesses(model, table, y, side, people, at, rng, classes=named, knows_label=knows_label)
    if len(values) == len(found.secret):
        # One of several columns is 1: the value is named by the place of that column.
        called = tuple(values[int(place)] for place in found.secret.names)
        found = replace(found, secret=replace(found.secret, names=called))
    about = {"class": "known" if knows_label else "unknown"}
    said = said_of_units(people, side)
    origin = running.origin(skipped=found.skipped, warnings=said, about=about)
    shown = name if name is not None else at if isinstance(at, str) else f"column {at}"
    rows = np.arange(len(table)) if ids is None else checks.vector(ids, "ids", length=len(table))
    audit = AttributeAudit(origin, shown, found, side, people, rows)
    told = tuple(
        f"The success of {plain(attack.name)} is higher for non-members than for members "
        f"(difference {percent_estimate(attack.difference)}): were the sides swapped?"
        for attack in audit.inverted
    )
    return replace(audit, origin=replace(origin, warnings=(*origin.warnings, *told)))
