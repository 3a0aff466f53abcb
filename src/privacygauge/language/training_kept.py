"""What is kept of a training: one file while it lasts, and how it went once it has ended."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from privacygauge.core.checks import listed
from privacygauge.errors import InputError
from privacygauge.language.training_steps import Learner
from privacygauge.runs.atomic import check_writable, write_all

DONE = "training.json"
"""How a training went; written last."""
UNFINISHED = "unfinished"
"""Folder of what is kept until then."""


@dataclass(frozen=True)
class Checkpoints:
    """What is kept of a training that has not ended: one file, replaced after every epoch."""

    folder: Path
    """Where the file lies; removed at the end."""
    settings: str
    """All that the result depends on, as JSON."""

    @property
    def _path(self) -> Path:
        return self.folder / "epoch.safetensors"

    def keep(self, learner: Learner, losses: tuple[float, ...]) -> None:
        """Write the weights and the optimiser's state after the last of `losses`."""
        from safetensors.torch import save

        tensors = {f"weights.{name}": x.data for name, x in learner.module.named_parameters()}
        for number, state in learner.optimiser.state_dict()["state"].items():
            tensors |= {f"state.{number}.{name}": value for name, value in state.items()}
        plain = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
        said = {"settings": self.settings, "losses": json.dumps(losses)}
        check_writable(self.folder)
        write_all(self.folder, {self._path.name: save(plain, said)})

    def take_up(self, learner: Learner) -> tuple[float, ...]:
        """Bring the learner to where it was, and return the losses of the epochs that are done.

        Raises
        ------
        InputError
            If what lies there was trained otherwise, or is damaged.
        """
        if not self._path.is_file():
            return ()
        said, tensors = self._read()
        require_same(said["settings"], self.settings, self.folder.parent)
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in tensors.items():
            if name.startswith("state."):
                _, number, key = name.split(".")
                state.setdefault(int(number), {})[key] = tensor
        for name, weights in learner.module.named_parameters():
            weights.data.copy_(tensors[f"weights.{name}"])
        given = learner.optimiser.state_dict()
        learner.optimiser.load_state_dict({**given, "state": state})
        return tuple(json.loads(said["losses"]))

    def remove(self) -> None:
        """Remove what is kept: the training has ended."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _read(self) -> tuple[dict[str, str], dict[str, Any]]:
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(self._path, "pt") as file:
                return file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, cast(type[Exception], SafetensorError)) as error:
            raise InputError(f"{self._path} is damaged: remove it to start again") from error


def require_same(there: str, here: str, place: Path) -> None:
    """Raise where two trainings differ, naming the first setting that does."""
    old, new = json.loads(there), json.loads(here)
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            raise InputError(
                f"{place} holds a model trained otherwise: {name} is {old.get(name)!r} there and "
                f"{new.get(name)!r} here; choose another folder, or the same settings"
            )


def require_own(out: Path) -> None:
    """Raise where the folder holds something that is not from here: nothing is written over."""
    try:
        names = sorted(path.name for path in out.iterdir())
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise InputError(f"{out} is a file, not a directory: choose another folder") from error
    if names and not {DONE, UNFINISHED} & set(names):
        raise InputError(
            f"{out} holds something else than a training ({listed(names, 3)}): choose another "
            "folder"
        )


def losses_of(out: Path, settings: str) -> tuple[float, ...]:
    """Return the losses of a training that has ended.

    Raises
    ------
    InputError
        If it was trained otherwise, or what says so is damaged.
    """
    try:
        there = json.loads((out / DONE).read_text(encoding="utf-8"))
        require_same(there["settings"], settings, out)
        return tuple(there["losses"])
    except (KeyError, TypeError, json.JSONDecodeError, UnicodeError, RecursionError) as error:
        raise InputError(f"{out / DONE} is damaged: choose another folder") from error
