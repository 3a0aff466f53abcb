"""The audit of attribute inference against a trained model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from privacygauge.audits.attribute.says import AttributeResult, report
from privacygauge.audits.running import Running
from privacygauge.classifier.attributes_judged import judged_guesses
from privacygauge.core import checks
from privacygauge.report.numbers import percent_estimate, plain
from privacygauge.report.values import Report

if TYPE_CHECKING:
    import pandas as pd


class AttributeAudit(AttributeResult):
    """Findings on a sensitive column that a model gives away, with its report, tables and plots."""

    def report(self) -> Report:
        """Return the report, as plain values."""
        return report(self)


def audit_attribute(
    model: object,
    x: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    sensitive: str | int | Sequence[str] | Sequence[int],
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

    The adversary knows all other columns, queries the model at every value, and guesses. The leak
    is the gain over imputation from the other columns, which does not use the model: what columns
    tell about each other is no leak. From the members' gain that of people of the same population
    outside the training set is subtracted: what the model knows of everybody is no leak either.
    Besides the average, the audit counts members with values that the surest guesses give away.

    Parameters
    ----------
    model : object
        An object with ``predict_proba``, a PyTorch module, or a function from features to
        probabilities.
    x : array_like, shape (n, d), or data frame
        Inputs of the model.
    y : array_like of int or str, shape (n,)
        Classes in 0..k-1, or their names.
    sensitive : str, int or sequence of either
        The sensitive column of a frame or of an array. Several columns are guessed as one: one-hot
        columns of its values, or its other notations, such as a code. Numbers with more than 12
        distinct values are cut into 5 bins.
    member : array_like of bool, shape (n,)
        True where the model was trained on the record; both must occur.
    knows_label : bool
        Whether the adversary knows the class of each record.
    name : str, optional
        Name of the column in the report.
    values : sequence of str
        Names of the values if `sensitive` is several columns.
    classes : sequence of str
        Names of the model's classes 0..k-1.
    ids, unit : array_like, shape (n,), optional
        Names of the records, and the person behind each; intervals and splits count people.
        Default: equal rows of one class and side are one person.
    seed : int
    level : float
        Level of every interval, in (0, 1); the intervals of all attacks hold jointly.
    command, provenance
        As in `audit_model`.

    Raises
    ------
    InputError
        If an argument is invalid: the problem and the way out, in one line.

    Notes
    -----
    Yeom et al. (2018), definition 5, with people outside the training set as the control;
    Jayaraman & Evans (2022) for the imputation. The attacks are in `guesses`, their gain in
    `GainOverImputation`, and the surest guesses in `surest`.
    """
    running = Running(command, seed, level, provenance)
    found = judged_guesses(
        model,
        x,
        y=y,
        member=member,
        sensitive=sensitive,
        names=(classes, values),
        people=(unit, ids),
        knows_label=knows_label,
        seed=seed,
        level=level,
    )
    inverted = (
        f"The success of {plain(attack.name)} is higher for non-members than for members "
        f"(difference {percent_estimate(attack.difference)}): were the sides swapped?"
        for attack in found.inverted
    )
    origin = running.origin(
        skipped=found.guesses.skipped,
        warnings=(*found.said, *inverted),
        about={"class": "known" if knows_label else "unknown"},
    )
    if name is None:
        secret = found.guesses.secret
        own = secret.columns
        name = ", ".join(map(str, own)) if isinstance(own[0], str) else f"column {[*own]}"
    n = len(found.member)
    rows = np.arange(n) if ids is None else checks.vector(ids, "ids", length=n)
    return AttributeAudit(**vars(found), origin=origin, column=name, ids=rows)
