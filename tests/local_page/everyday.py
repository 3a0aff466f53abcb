"""Files as people have them: ten drops that reach a page, and five that are broken."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

Files = Mapping[str, bytes]
Answers = Mapping[str, str | list[str]]

rng = np.random.default_rng(0)
N = 400
TRUTH = rng.integers(0, 3, N)
MEMBER = rng.random(N) < 0.5
LOGITS = rng.normal(size=(N, 3)) + (1 + 2 * MEMBER)[:, None] * np.eye(3)[TRUTH]
PROBS = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=1, keepdims=True)
PEOPLE = pd.DataFrame(
    {
        "age": rng.integers(20, 90, N),
        "city": rng.choice([*"abcd"], N),
        "income": rng.integers(10, 90, N) * 1000,
        "sick": rng.choice(["yes", "no"], N),
    }
)


def predictions(**renamed: str) -> pd.DataFrame:
    frame = pd.DataFrame(PROBS.round(4), columns=["p_0", "p_1", "p_2"])
    return frame.assign(label=TRUTH, member=MEMBER.astype(int)).rename(columns=renamed)


def csv(frame: pd.DataFrame, **how) -> bytes:
    return frame.to_csv(index=False, **how).encode()


def parquet(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def npy(values, **how) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, values, **how)
    return buffer.getvalue()


def history() -> bytes:
    times = pd.date_range("2026-01-01", periods=40, freq="h")
    score = rng.integers(60, 80, 40) / 100
    return csv(pd.DataFrame({"team": [*"ab"] * 20, "time": times, "score": score}))


def losses() -> pd.DataFrame:
    return pd.DataFrame({"loss": rng.gamma(2, 1, N) - 0.5 * MEMBER, "member": MEMBER.astype(int)})


def in_german() -> pd.DataFrame:
    return predictions(label="Diagnose", member="im Training").assign(Person=np.arange(N) // 2)


EVERYDAY: Mapping[str, tuple[Callable[[], Files], Answers, str]] = {
    "predictions as csv": (lambda: {"target.csv": csv(predictions())}, {}, "classifier"),
    "predictions as parquet": (lambda: {"t.parquet": parquet(predictions())}, {}, "classifier"),
    "predictions and a shadow model's as npz": (
        lambda: {
            "a.npz": npz(probs=PROBS, labels=TRUTH, member=MEMBER),
            "b.npz": npz(probs=PROBS[::-1], labels=TRUTH[::-1], member=MEMBER[::-1]),
        },
        {"target": "a.npz"},
        "classifier",
    ),
    "predictions with columns of one's own": (
        lambda: {"Vorhersagen (März).csv": csv(in_german(), sep=";", decimal=",")},
        {"label": "Diagnose", "member": "im Training", "unit": "Person"},
        "classifier",
    ),
    "predictions in a file of training and one of test data": (
        lambda: {
            f"{side}_predictions.csv": csv(predictions()[inside == MEMBER].drop(columns="member"))
            for side, inside in (("train", True), ("test", False))
        },
        {},
        "classifier",
    ),
    "a model that predicts numbers": (
        lambda: {"regression.csv": csv(pd.DataFrame(
            {"y_true": (truth := rng.normal(size=N)), "member": MEMBER.astype(int),
             "y_pred": truth + rng.normal(size=N) * np.where(MEMBER, 0.3, 1)}
        ))},
        {"score": ["|y_true - y_pred|"], "side": "lower"},
        "scores",
    ),
    "a table with its synthetic twin": (
        lambda: {
            "people.csv": csv(PEOPLE),
            "synthetic.csv": csv(PEOPLE.sample(frac=1, replace=True, random_state=0)),
        },
        {"real": "people.csv", "made": "synthetic.csv"},
        "synthetic",
    ),
    "a table, its twin and a holdout": (
        lambda: {
            "people.csv": csv(PEOPLE[:200]),
            "released.csv": csv(PEOPLE[:200].sample(frac=1, replace=True, random_state=0)),
            "others.csv": csv(PEOPLE[200:]),
        },
        {"real": "people.csv", "made": "released.csv", "holdout": "others.csv"},
        "synthetic",
    ),
    "a table alone": (lambda: {"people.csv": csv(PEOPLE)}, {}, "vulnerable"),
    "a leaderboard's history": (
        lambda: {"history.csv": history()},
        {"n": "100", "classes": "10", "metric": "accuracy"},
        "holdout log",
    ),
    "a loss per record": (
        lambda: {"losses.csv": csv(losses())},
        {"score": ["loss"], "side": "lower"},
        "scores",
    ),
    "scores in a column of one's own": (
        lambda: {"distances.jsonl": losses()
                 .rename(columns={"loss": "distance"})
                 .to_json(orient="records", lines=True).encode()},
        {"score": ["distance"], "side": "learn it from the data"},
        "scores",
    ),
}  # fmt: skip
"""Name of a drop to its files, the answers of their owner, and the command that audits them."""

BROKEN: Mapping[str, tuple[Files, str]] = {
    "an empty file": ({"predictions.csv": b""}, "predictions.csv is empty"),
    "half of a parquet file": (
        {"t.parquet": parquet(predictions())[:2000]},
        "t.parquet is damaged or no parquet file",
    ),
    "an archive of Python objects": (
        {"t.npz": npz(probs=np.array([{"a": 1}], object), labels=TRUTH)},
        "t.npz is damaged or no npz file of plain arrays (it holds Python objects)",
    ),
    "a spreadsheet": ({"t.xlsx": b"PK\x03\x04" + bytes(100)}, "t.xlsx is a spreadsheet: save it"),
    "a report of another program": (
        {"report.json": json.dumps({"schema": "other/1"}).encode()},
        "report.json is not a report of PrivacyGauge",
    ),
}
"""Name of a drop to its files and the beginning of the line that says what is wrong."""

BROKEN_LATER: Mapping[str, tuple[Files, Answers, str]] = {
    "members alone": (
        {"t.csv": csv(predictions().assign(member=1))},
        {},
        "t.csv: no non-members",
    ),
    "a text among probabilities": (
        {"t.csv": csv(predictions().astype({"p_0": object}).assign(p_0=["x"] * N))},
        {},
        "t.csv: ",
    ),
}
"""Files that begin well, and are refused by the audit."""
