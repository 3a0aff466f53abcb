"""DataSynthesizer, correlated attribute mode with one parent a column."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd


def draw(file: str, epsilon: float) -> Callable:
    """Return a call that learns a table and draws as many records.

    It reads a CSV file, takes the ranges from it, and writes its network as JSON. It does without
    the pool of processes that it starts for every column, which costs more than it saves.
    """
    from DataSynthesizer.DataDescriber import DataDescriber
    from DataSynthesizer.DataGenerator import DataGenerator
    from DataSynthesizer.lib import PrivBayes

    PrivBayes.Pool = InThisProcess
    frame = pd.read_csv(file)
    texts = {name: not pd.api.types.is_numeric_dtype(frame[name]) for name in frame}

    def make() -> None:
        described = str(Path("description.json").resolve())
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

    return make


class InThisProcess:
    """Has as much of a pool as is used."""

    def __enter__(self) -> InThisProcess:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def map(self, call: Callable, tasks: list) -> list:
        return [call(task) for task in tasks]
