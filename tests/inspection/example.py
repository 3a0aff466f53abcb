"""Inspections with each verdict, of a table with a hostile column."""

from __future__ import annotations

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import privacygauge as pg
from tests.inspection import holders

MODELS = {
    "neighbours": KNeighborsClassifier,
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "logistic": LogisticRegression,
}


def example(model: str, bad: str, *, n: int = 60, table: bool = True) -> pg.Inspection:
    """Return the inspection of a model; a column, and a text of one person, are called `bad`."""
    frame = holders.people(n=n).rename(columns={"town": bad})
    if n > 2 and model != "logistic":
        frame.loc[1, bad] = f"{bad} {bad}"
    encoder = make_column_transformer((StandardScaler(), holders.NUMBERS), (OneHotEncoder(), [bad]))
    fitted = make_pipeline(encoder, MODELS[model]()).fit(frame.drop(columns="sick"), frame["sick"])
    fitted.note_ = f"/home/{bad}/cohort.csv" if model == "tree" else ""
    if not table:
        return pg.inspect_model(fitted)
    given = pd.DataFrame(frame)
    return pg.inspect_model(fitted, given, "sick", show_texts=True, refit=model == "tree")
