"""Anonymeter's three risks of a released table, through its public interface as its guide shows."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


def read(real: str, synthetic: str, holdout: str) -> dict[str, pd.DataFrame]:
    """Return the tables as its evaluators name them."""
    files = {"ori": real, "syn": synthetic, "control": holdout}
    return {name: pd.read_csv(file) for name, file in files.items()}


def risks(real: str, synthetic: str, holdout: str, attempts: int, secret: str) -> Callable:
    """Return a call that measures singling out, linkability and one secret's inference."""
    from anonymeter.evaluators import (
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    tables = read(real, synthetic, holdout)
    names = list(tables["ori"])
    halves = names[::2], names[1::2]
    others = [name for name in names if name != secret]

    def measure() -> list[float]:
        single = SinglingOutEvaluator(**tables, n_attacks=attempts, n_cols=3)
        link = LinkabilityEvaluator(**tables, n_attacks=attempts, aux_cols=halves, n_neighbors=10)
        infer = InferenceEvaluator(**tables, n_attacks=attempts, aux_cols=others, secret=secret)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            single.evaluate(mode="multivariate")
            link.evaluate(n_jobs=1)
            infer.evaluate(n_jobs=1)
            return [float(found.risk().value) for found in (single, link, infer)]

    return measure


def audit(real: str, synthetic: str, holdout: str, attempts: int) -> Callable:
    """Return a call that measures every risk of every column, and writes what it found."""

    def measure() -> list[float]:
        from anonymeter.evaluators import (
            InferenceEvaluator,
            LinkabilityEvaluator,
            SinglingOutEvaluator,
        )

        tables = read(real, synthetic, holdout)
        names, given = list(tables["ori"]), {**tables, "n_attacks": attempts}
        halves = names[::2], names[1::2]
        told = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for mode in ("univariate", "multivariate"):
                found = SinglingOutEvaluator(**given, n_cols=3).evaluate(mode=mode)
                told[f"singling out, {mode}"] = of(found)
            link = LinkabilityEvaluator(**given, aux_cols=halves, n_neighbors=10)
            told["linkability"] = of(link.evaluate(n_jobs=1))
            for secret in names:
                others = [name for name in names if name != secret]
                found = InferenceEvaluator(**given, aux_cols=others, secret=secret)
                told[f"inference of {secret}"] = of(found.evaluate(n_jobs=1))
        Path("report.json").write_text(json.dumps(told))
        return [float(len(told))]

    return measure


def of(evaluator) -> dict[str, list[float]]:
    """Return its rates, its risk and their intervals."""
    results, risk = evaluator.results(), evaluator.risk(confidence_level=0.95)
    return {
        "attack": [float(results.attack_rate.value), float(results.attack_rate.error)],
        "control": [float(results.control_rate.value), float(results.control_rate.error)],
        "risk": [float(risk.value), *map(float, risk.ci)],
    }


def rates(real: str, synthetic: str, holdout: str, attempts: int, secret: str) -> Callable:
    """Return a call that gives version, and the rates and risks of linkability and inference."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator

    tables = read(real, synthetic, holdout)
    names = list(tables["ori"])
    others = [name for name in names if name != secret]

    def measure() -> dict:
        np.random.seed(0)  # noqa: NPY002 - it draws from the global generator
        made = {
            "linkability": LinkabilityEvaluator(
                **tables, n_attacks=attempts, aux_cols=(names[::2], names[1::2]), n_neighbors=1
            ),
            "inference": InferenceEvaluator(
                **tables, n_attacks=attempts, aux_cols=others, secret=secret
            ),
        }
        told = {"version": version("anonymeter")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, evaluator in made.items():
                evaluator.evaluate(n_jobs=1)
                told[name] = of(evaluator)
        return told

    return measure


def published(
    real: str, synthetic: str, holdout: str, attempts: int, secrets: list[str]
) -> Callable:
    """Return a call that gives rates and risks of all three, inference of each of some secrets."""
    from anonymeter.evaluators import (
        InferenceEvaluator,
        LinkabilityEvaluator,
        SinglingOutEvaluator,
    )

    tables = read(real, synthetic, holdout)
    names = list(tables["ori"])

    def told(evaluator: Any, **options: Any) -> dict:
        began = time.perf_counter()
        evaluator.evaluate(**options)
        results, risk = evaluator.results(), evaluator.risk(confidence_level=0.95)
        rates = (results.attack_rate, results.control_rate, results.baseline_rate)
        return {
            "rates": [rate.value for rate in rates],
            "risk": [risk.value, *risk.ci],
            "seconds": time.perf_counter() - began,
        }

    def measure() -> dict:
        np.random.seed(0)  # noqa: NPY002 - it draws from the global generator
        found = {"version": version("anonymeter")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for mode in ("univariate", "multivariate"):
                single = SinglingOutEvaluator(**tables, n_attacks=attempts, n_cols=3)
                found[f"singling-out ({mode})"] = told(single, mode=mode)
            link = LinkabilityEvaluator(
                **tables, n_attacks=attempts, aux_cols=(names[::2], names[1::2]), n_neighbors=10
            )
            found["linkability"] = told(link, n_jobs=1)
            for secret in secrets:
                others = [name for name in names if name != secret]
                regression = bool(tables["ori"][secret].nunique() > 20)
                infer = InferenceEvaluator(
                    **tables,
                    n_attacks=attempts,
                    aux_cols=others,
                    secret=secret,
                    regression=regression,
                )
                found[f"inference ({secret})"] = told(infer, n_jobs=1)
        return found

    return measure
