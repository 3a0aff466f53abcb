"""Fits and samples by other libraries, in an interpreter of their own; imports nothing of ours.

`python _peer_generators.py NAME ADULT.csv` reads the records, writes "ready", and then for every
line that it reads makes a synthetic table once and writes how many seconds that took.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd


def data_synthesizer(file: str, epsilon: float) -> Callable[[], int]:
    """Return DataSynthesizer's correlated attribute mode with one parent a column."""
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator

    frame = pd.read_csv(file)
    texts = {name: not pd.api.types.is_numeric_dtype(frame[name]) for name in frame}
    described = str(Path(file).with_name("description.json"))

    def make() -> int:
        learnt = DataDescriber(histogram_bins=10)
        learnt.describe_dataset_in_correlated_attribute_mode(
            file,
            k=1,
            epsilon=epsilon,
            attribute_to_is_categorical=texts,
            attribute_to_is_candidate_key=dict.fromkeys(texts, False),
        )
        learnt.save_dataset_description_to_file(described)
        drawn = DataGenerator()
        drawn.generate_dataset_in_correlated_attribute_mode(len(frame), described)
        return len(drawn.synthetic_dataset)

    return make


def data_synthesizer_in_one_process(file: str, epsilon: float) -> Callable[[], int]:
    """Return the same without the processes that it starts for every column."""
    from DataSynthesizer.lib import PrivBayes

    PrivBayes.Pool = InThisProcess
    return data_synthesizer(file, epsilon)


class InThisProcess:
    """Has as much of a pool as is used."""

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, call: Callable, tasks: list) -> list:
        return [call(task) for task in tasks]


def synthpop(file: str) -> Callable[[], int]:
    """Return python-synthpop whole: encoding, one tree a column, decoding."""
    from synthpop.method import CARTMethod
    from synthpop.processor.data_processor import DataProcessor

    frame = pd.read_csv(file)
    kinds = kinds_of(frame)

    def make() -> int:
        coding = DataProcessor(kinds)
        trees = CARTMethod(kinds, minibucket=5, random_state=0)
        trees.fit(coding.preprocess(frame))
        return len(coding.postprocess(trees.sample(len(frame))))

    return make


def synthpop_trees(file: str) -> Callable[[], int]:
    """Return its trees alone, on codes."""
    from synthpop.method import CARTMethod

    frame = pd.read_csv(file)
    kinds = kinds_of(frame)
    codes = frame.copy()
    for name, kind in kinds.items():
        if kind == "categorical":
            codes[name] = np.unique(frame[name].astype(str), return_inverse=True)[1]

    def make() -> int:
        trees = CARTMethod(kinds, minibucket=5, random_state=0)
        trees.fit(codes)
        return len(trees.sample(len(codes)))

    return make


def kinds_of(frame: pd.DataFrame) -> dict[str, str]:
    number = pd.api.types.is_numeric_dtype
    return {name: "numerical" if number(frame[name]) else "categorical" for name in frame}


def adversarial_forest(file: str) -> Callable[[], int]:
    """Return arfpy's forest."""
    from arfpy import arf

    frame = pd.read_csv(file)

    def make() -> int:
        forest = arf.arf(x=frame, verbose=False, n_jobs=1)
        forest.forde()
        return len(forest.forge(n=len(frame)))

    return make


PEERS = {
    "DataSynthesizer epsilon=0": lambda file: data_synthesizer(file, 0),
    "DataSynthesizer epsilon=1": lambda file: data_synthesizer(file, 1),
    "DataSynthesizer epsilon=0, one process": lambda f: data_synthesizer_in_one_process(f, 0),
    "DataSynthesizer epsilon=1, one process": lambda f: data_synthesizer_in_one_process(f, 1),
    "python-synthpop": synthpop,
    "python-synthpop, trees on codes": synthpop_trees,
    "arfpy": adversarial_forest,
}


def main() -> None:
    """Answer until there are no more lines."""
    name, file = sys.argv[1:]
    answers = sys.stdout
    # What a library prints is no answer.
    with contextlib.redirect_stdout(sys.stderr):
        make = PEERS[name](file)
        print("ready", file=answers, flush=True)
        for _ in sys.stdin:
            began = time.perf_counter()
            make()
            print(time.perf_counter() - began, file=answers, flush=True)


if __name__ == "__main__":
    main()
