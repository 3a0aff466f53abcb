"""Predictions as people write them: one file, in every way that we have seen."""

from __future__ import annotations

import gzip
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tests.proving.classifier_rows import Rows, softmax, visible
from tests.proving.world import World

_TEXTS = (
    "plain words",
    'she said "no"',
    "a, b; c\td",
    "two\nlines",
    "Zoë Ångström 北京 😀",
    "<b>&amp;",
)
_NAMES = ("benign", "malignant", "unclear")
_ORDERED = ("low", "mid", "high", "extreme")
_NA_WORDS = ("NA", "None", "NO")
_WORDED = ("words", "ordered", "na-words")


def write(
    world: World, chosen: Mapping[str, str], given: Rows, folder: Path, role: str = "target"
) -> Path:
    """Write the rows as the world's user does, and return the file."""
    given = given.taken(_order(world, chosen, given, role))
    answers = visible(chosen, given.logits)
    form = chosen["format"]
    columns = _columns(world, chosen, given, role)
    if form.startswith("npz"):
        path = folder / f"{role}.npz"
        arrays = _arrays(chosen, given, answers) | columns
        (np.savez_compressed if form == "npz-compressed" else np.savez)(path, **arrays)
        return path
    frame = _frame(chosen, given, answers, columns)
    return _written(world, chosen, frame, folder, role)


def _order(world: World, chosen: Mapping[str, str], given: Rows, role: str) -> Any:
    rng = world.rng(f"{role} order")
    n = len(given.labels)
    kind = chosen["rows"]
    if kind == "shuffled":
        return rng.permutation(n)
    if kind == "members-first":
        return np.argsort(~given.member, kind="stable")
    if kind == "members-last":
        return np.argsort(given.member, kind="stable")
    if kind == "by-class":
        return np.argsort(given.labels, kind="stable")
    if kind == "by-confidence":
        first = given.logits if given.logits.ndim == 2 else given.logits[:, 0]
        return np.argsort(softmax(first).max(axis=1), kind="stable")
    if kind == "by-person":
        return np.argsort(given.person, kind="stable")
    return np.arange(n)


def _are_called_probs(chosen: Mapping[str, str]) -> bool:
    return chosen["scores"] == "probs" or chosen["mistake"] == "logits-as-probs"


def _labels(chosen: Mapping[str, str], given: Rows) -> Any:
    names = chosen["names"]
    k = given.logits.shape[-1]
    if names == "from1":
        return given.labels + 1
    if names == "minus-one":
        return 2 * given.labels - 1
    if names == "float":
        return given.labels.astype(float)
    if names in _WORDED:
        return np.array(class_names(chosen, k))[given.labels]
    return given.labels


def class_names(chosen: Mapping[str, str], k: int) -> list[str]:
    """Return the words that stand for the classes."""
    known = {"ordered": _ORDERED, "na-words": _NA_WORDS}.get(chosen["names"], _NAMES)
    return [*known, *(f"class {i}" for i in range(len(known), k))][:k]


def _member(chosen: Mapping[str, str], given: Rows) -> tuple[str, Any]:
    kind = chosen["member_written"]
    if kind == "split":
        return "split", np.where(given.member, "train", "test")
    if kind == "in-out":
        return "member", np.where(given.member, "in", "out")
    if kind == "yes-no":
        return "member", np.where(given.member, "Yes", "No")
    if kind == "int":
        return "member", given.member.astype(int)
    if kind == "float":
        return "member", given.member.astype(float)
    return "member", given.member


def _columns(
    world: World, chosen: Mapping[str, str], given: Rows, role: str
) -> dict[str, np.ndarray[Any, Any]]:
    """Return ids, the person, and whatever else stands in the file."""
    rng = world.rng(f"{role} columns")
    n = len(given.labels)
    found: dict[str, np.ndarray[Any, Any]] = {}
    people = given.person
    if chosen["ids_tell"] == "members-first":  # people of the first waves were trained on
        known, first = np.unique(people, return_index=True)
        place = np.argsort(np.argsort(~given.member[first], kind="stable"))
        people = place[np.searchsorted(known, people)]
    kind = chosen["ids"]
    if chosen["repeats"] != "none" and chosen["person_id"] == "id":
        kind = "numbers" if kind == "none" else kind
    elif chosen["repeats"] != "none":
        people = np.arange(n)  # ids that number the rows
    number = _numbers(kind, people, rng)
    if number is not None:
        found["ids" if chosen["format"].startswith("npz") else "id"] = number
    people = given.person
    if chosen["person_id"] == "unit" and chosen["repeats"] != "none":
        found["unit"] = people
    if chosen["person_id"] == "column" and chosen["repeats"] != "none":
        found["patient"] = np.char.add("P", people.astype(str))
    found |= {name: np.asarray(values) for name, values in given.columns.items()}
    if chosen["missing"] != "none":
        blood = rng.normal(5, 1, n).round(2)
        rate = np.where(given.member, 0.3, 0.02) if chosen["missing"] == "by-side" else 0.1
        blood[rng.random(n) < rate] = np.nan
        found["blood"] = blood
    if chosen["codes"] == "many":
        found["zip"] = np.char.zfill(rng.integers(300, size=n).astype(str), 5)
    elif chosen["codes"] == "unique":
        found["case"] = np.char.add("K-", rng.permutation(n).astype(str))
    if chosen["text"] == "words":
        found["remark"] = np.array(_TEXTS)[rng.integers(len(_TEXTS), size=n)]
    elif chosen["text"] == "formulas":
        found["remark"] = np.array(["=1+1", "@cmd", "-", "NA", "None", "nan"])[
            rng.integers(6, size=n)
        ]
    if chosen["dates"] != "none":
        days = np.datetime64("2019-01-01") + rng.integers(1_500, size=n)
        texts = days.astype(str)
        if chosen["dates"] == "german":
            texts = np.array([f"{d[8:]}.{d[5:7]}.{d[:4]}" for d in texts])
        found["admitted"] = texts
    extra = chosen["extra"]
    if extra == "constant":
        found["version"] = np.full(n, 3)
    elif extra == "number":
        found["weight"] = rng.normal(70, 10, n)
    elif extra == "huge":
        found["serial"] = rng.integers(1 << 60, size=n)
    elif extra == "flag":
        found["urgent"] = rng.random(n) < 0.5
    elif extra == "three":
        found |= {f"extra{i}": rng.normal(size=n) for i in range(3)}
    if chosen["option"] == "feature":
        # An embedding, from which the model's answers can be foretold in part.
        # Copies of a row are equal in it.
        own = rng.normal(size=(int(people.max()) + 1, 2))[people]
        found |= {"e0": given.base.mean(axis=1) + 0.3 * own[:, 0], "e1": own[:, 1]}
    return found


def _numbers(kind: str, people: Any, rng: np.random.Generator) -> Any:
    if kind == "none":
        return None
    if kind == "zeros":
        return np.char.zfill(people.astype(str), 3)
    if kind == "exponents":  # as of plates: 1E1 is not 10E0
        ten = 1 + people // 2
        tens = np.char.add(ten.astype(str), "E1")
        return np.where(people % 2, np.char.add((10 * ten).astype(str), "E0"), tens)
    if kind == "texts":
        return np.char.add("patient ", people.astype(str))
    if kind == "hashes":
        codes = rng.integers(1 << 62, size=int(people.max()) + 1)
        return np.array([f"{code:016x}" for code in codes.tolist()])[people]
    if kind == "floats":
        return people.astype(float)
    return people


def _arrays(chosen: Mapping[str, str], given: Rows, answers: Any) -> dict[str, Any]:
    k = answers.shape[-1]
    key = "probs" if _are_called_probs(chosen) else "logits"
    if chosen["percent"] != "no" and key == "probs":
        answers = answers * 100
    if chosen["layout"] == "one" and k == 2 and key == "probs" and answers.ndim == 2:
        answers = answers[:, 1]
    labels = _labels(chosen, given)
    if chosen["names"] == "one-hot":
        labels = np.eye(k, dtype=int)[given.labels]
    name, member = _member(chosen, given)
    found = {key: answers, "labels": labels, name: member}
    if chosen["names"] in _WORDED and chosen["named_columns"] == "yes":
        found["classes"] = np.array(class_names(chosen, k))
    return found


def _frame(
    chosen: Mapping[str, str], given: Rows, answers: Any, columns: Mapping[str, Any]
) -> pd.DataFrame:
    k = answers.shape[-1]
    probs = _are_called_probs(chosen)
    stem = "p" if probs else "z"
    name, member = _member(chosen, given)
    scores: dict[str, Any] = {}
    percent = probs and chosen["percent"] != "no"
    values = answers * 100 if percent else answers
    if chosen["layout"] == "list":
        scores["probs" if probs else "logits"] = list(values)
    else:
        named = chosen["names"] in _WORDED and chosen["named_columns"] == "yes"
        ends = class_names(chosen, k) if named else [str(i) for i in range(k)]
        if chosen["names"] == "from1" and chosen["named_columns"] == "yes":
            ends = [str(i + 1) for i in range(k)]
        kept = [1] if chosen["layout"] == "one" and k == 2 and probs else range(k)
        if chosen["layout"] == "top3" and probs:  # the service answers with three classes only
            values = np.where(values >= np.sort(values, axis=1)[:, -3:-2], values, 0.0)
        for i in kept:
            column = values[:, i]
            if percent and chosen["percent"] == "signs":
                column = [f"{value:.6g}%" for value in column.tolist()]
            scores[f"{stem}_{ends[i]}"] = column
    found = {**columns, **scores, "label": _labels(chosen, given), name: member}
    if chosen["columns"] == "reversed":
        found = dict(reversed(found.items()))
    elif chosen["columns"] == "label-first":
        found = {"label": found.pop("label"), name: found.pop(name), **found}
    return pd.DataFrame(found)


def _written(
    world: World, chosen: Mapping[str, str], frame: pd.DataFrame, folder: Path, role: str
) -> Path:
    form = chosen["format"]
    if form == "parquet":
        path = folder / f"{role}.parquet"
        if chosen["index"] == "yes":
            frame = frame.sample(frac=1.0, random_state=world.seed % 2**31)
        frame.to_parquet(path)
        return path
    if form.startswith("jsonl"):
        path = folder / f"{role}.{form}"
        text = frame.to_json(orient="records", lines=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if form.endswith("gz") else data)
        return path
    path = folder / f"{role}.{form}"
    separator = {"semicolon": ";", "tab": "\t", "german": ";"}.get(chosen["separator"], ",")
    decimal = "," if chosen["separator"] == "german" else "."
    frame = frame.copy()
    for name, column in frame.items():
        if column.dtype == object and len(column) and isinstance(column.iloc[0], np.ndarray):
            frame[name] = [str(row.tolist()) for row in column]
    buffer = io.StringIO()
    ends = "\r\n" if chosen["line_ends"] == "dos" else "\n"
    frame.to_csv(
        buffer,
        index=chosen["index"] == "yes",
        sep=separator,
        decimal=decimal,
        lineterminator=ends,
    )
    codec = {"bom": "utf-8-sig", "latin1": "latin-1", "utf16": "utf-16"}
    data = buffer.getvalue().encode(codec.get(chosen["encoding"], "utf-8"), errors="replace")
    path.write_bytes(gzip.compress(data) if form.endswith("gz") else data)
    return path
