"""The notebooks of the documentation run from top to bottom, as small as they are kept."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.axes import Axes

from privacygauge.report.reported import Reported

NOTEBOOKS = sorted((Path(__file__).parents[1] / "docs" / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path, kind: str) -> list[str]:
    return [
        "".join(cell["source"])
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if cell["cell_type"] == kind
    ]


def last_value(code: str, names: dict[str, object]) -> object:
    """Run a cell, and return what a notebook would show below it."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


@every_notebook
def test_a_notebook_runs_in_an_empty_folder(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    shown = [last_value(code, names) for code in cells(path, "code")]
    plt.close("all")
    kinds = [type(x) for x in shown]
    assert sum(issubclass(kind, Reported) for kind in kinds) == 1
    assert any(issubclass(kind, Axes) for kind in kinds)
    frames = [x for x in shown if isinstance(x, pd.DataFrame)]
    assert frames
    assert all(len(frame) for frame in frames)


@every_notebook
def test_a_notebook_is_small_and_kept_without_results(path):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert (document["nbformat"], document["nbformat_minor"]) == (4, 5)
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert len({cell["id"] for cell in document["cells"]}) == len(document["cells"])
    assert len("\n".join(cells(path, "code")).splitlines()) <= 60
    assert len(" ".join(cells(path, "markdown")).split()) <= 200


def test_there_is_one_for_a_classifier_a_table_and_a_language_model():
    assert [path.stem for path in NOTEBOOKS] == ["classifier", "language-model", "table"]
