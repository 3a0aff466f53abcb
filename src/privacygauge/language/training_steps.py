"""Training steps of a language model, and its checkpoints on disk."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from privacygauge.core.checks import Bools, Ints
from privacygauge.core.seeds import non_negative, stream
from privacygauge.errors import InputError
from privacygauge.language.forward_pass import Head, head_of
from privacygauge.language.loading import Precision, move_to_device
from privacygauge.language.tokens import Tokens
from privacygauge.runs.results import check_writable, write_all

MASKED = 0.15
"""Share of the tokens chosen for prediction (Devlin et al. 2019, section 3.1)."""
HIDDEN = 0.8
"""Share of the chosen tokens replaced by [MASK]."""
REPLACED = 0.1
"""Share of the chosen tokens replaced by a random token; the rest stay unchanged."""
NOT_SCORED = -100
"""Label of a token that is not predicted."""

# Rows of similar length share a batch; sorting in parts keeps batches different in every epoch.
_BATCHES_SORTED_TOGETHER = 32
# Share of the steps in which the learning rate rises to its peak.
_WARM = 0.06
_DECAY = 0.01
_LARGEST_GRADIENT = 1.0


@dataclass(frozen=True)
class Course:
    """Settings of a training; the defaults are those of a model trained from scratch."""

    epochs: int = 40
    """Passes over the texts, at least 1."""
    batch: int = 32
    """Texts per step, at least 1."""
    rate: float = 1e-3
    """Peak learning rate, above 0: reached after 6% of the steps, decaying to 0 at the end."""
    seed: int = 0
    """Seed of order, masks and initial weights, non-negative."""
    precision: Precision = "float32"
    """Precision of the computation; the weights stay float32."""
    device: str = "cpu"
    """Torch device."""

    def __post_init__(self) -> None:
        for name in ("epochs", "batch"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
                raise InputError(f"{name} must be an integer of at least 1, got {value!r}")
        if not 0.0 < self.rate < np.inf:
            raise InputError(f"rate must be above 0 and finite, got {self.rate}")
        if self.precision not in ("float32", "bfloat16"):
            raise InputError(f"precision must be float32 or bfloat16, got {self.precision!r}")
        non_negative(self.seed)

    def step_rate(self, step: int, n_steps: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        # Linear up, then linear down; the 1.0 caps both at the peak.
        warm = max(1, round(_WARM * n_steps))
        return self.rate * min((step + 1) / warm, (n_steps - step) / max(1, n_steps - warm), 1.0)


@dataclass(frozen=True)
class Vocabulary:
    """Properties of a tokenizer that training needs."""

    n_tokens: int
    """Number of token ids from which a random token is drawn."""
    mask_id: int | None
    """Id of the mask token; None if every token is predicted from those to its left."""
    pad_id: int
    """Id of the padding token."""


@dataclass(frozen=True, eq=False)
class Learner:
    """A model in training: a handle on torch objects that change with every step."""

    module: Any
    """Torch module."""
    head: Head | None
    """Output head, for logits at selected positions only."""
    optimiser: Any
    """AdamW: Adam with decoupled weight decay (Loshchilov & Hutter 2019)."""
    course: Course
    """Settings of the training."""
    vocabulary: Vocabulary
    """Properties of the tokenizer."""


def learner_of(module: Any, vocabulary: Vocabulary, course: Course) -> Learner:
    """Prepare a module for training, without dropout: it trains as it is later evaluated."""
    import torch

    module.eval()
    head = head_of(module)
    move_to_device(module, course.device)
    # No weight decay on biases and normalisations, which have one dimension.
    weights = list(module.parameters())
    groups = [
        {"params": [part for part in weights if part.ndim > 1], "weight_decay": _DECAY},
        {"params": [part for part in weights if part.ndim <= 1], "weight_decay": 0.0},
    ]
    return Learner(
        module=module,
        head=head,
        optimiser=torch.optim.AdamW(groups, lr=course.rate),
        course=course,
        vocabulary=vocabulary,
    )


def learn_epoch(learner: Learner, tokens: Tokens, epoch: int) -> float:
    """Train for one epoch; return the mean loss in nats per predicted token."""
    course = learner.course
    # One stream per epoch, so that a resumed training masks as an uninterrupted one.
    masks = stream(course.seed, "language training", "masks", epoch)
    n_steps = -(-len(tokens) // course.batch)
    total = 0.0
    n_scored = 0
    for number, rows in enumerate(step_rows(tokens.lengths, course.batch, epoch, course.seed)):
        rate = course.step_rate(epoch * n_steps + number, course.epochs * n_steps)
        # The texts of a step as rows (b, t), padded on the right; `content` is neither padding nor
        # frame.
        width = int(tokens.lengths[rows].max())
        ids = np.full((len(rows), width), learner.vocabulary.pad_id, np.int64)
        content = np.zeros(ids.shape, np.bool_)
        for at, row in enumerate(rows):
            its, units = tokens.of(int(row))
            ids[at, : len(its)] = its
            content[at, : len(its)] = units >= 0
        inside = np.arange(width) < tokens.lengths[rows][:, None]
        if learner.vocabulary.mask_id is None:
            shown = ids
            labels = next_tokens(ids, inside)
        else:
            shown, asked = mask_tokens(ids, content, learner.vocabulary, masks)
            labels = np.where(asked, ids, NOT_SCORED)
        if n_asked := int(np.count_nonzero(labels != NOT_SCORED)):
            # Weighted by the number of predicted tokens, as a step's loss is their mean.
            total += _step(learner, shown, inside=inside, labels=labels, rate=rate) * n_asked
            n_scored += n_asked
    return total / n_scored


def step_rows(lengths: Ints, batch: int, epoch: int, seed: int) -> Iterator[Ints]:
    """Yield the rows of every step of an epoch, each row once, in an order for this epoch."""
    # One stream per epoch, as for the masks.
    rng = stream(seed, "language training", "order", epoch)
    order = rng.permutation(len(lengths))
    parts: list[Ints] = []
    for start in range(0, len(order), batch * _BATCHES_SORTED_TOGETHER):
        some = order[start : start + batch * _BATCHES_SORTED_TOGETHER]
        some = some[np.argsort(lengths[some], kind="stable")]
        parts += [some[at : at + batch] for at in range(0, len(some), batch)]
    for number in rng.permutation(len(parts)):
        yield parts[number]


def mask_tokens(
    ids: Ints, content: Bools, vocabulary: Vocabulary, rng: np.random.Generator
) -> tuple[Ints, Bools]:
    """Return the masked rows, and a mask of the tokens to predict.

    Parameters
    ----------
    ids : array of int, shape (b, t)
    content : array of bool, shape (b, t)
        True for tokens that may be predicted, at least one per row.

    Returns
    -------
    shown : array of int, shape (b, t)
    asked : array of bool, shape (b, t)
        True for tokens to predict: each with probability 15%, and at least one per row.

    Notes
    -----
    Devlin et al. (2019), section 3.1: of the tokens to predict, 80% are masked, 10% replaced by a
    random token and 10% left unchanged.
    """
    assert vocabulary.mask_id is not None
    # The smallest draw of a row is always chosen: no row is without a token to predict.
    drawn = np.where(content, rng.random(ids.shape), np.inf)
    asked = (drawn < MASKED) | (drawn == drawn.min(axis=1, keepdims=True))
    fate = rng.random(ids.shape)
    shown = np.where(asked & (fate < HIDDEN), vocabulary.mask_id, ids)
    random = rng.integers(0, vocabulary.n_tokens, ids.shape)
    shown = np.where(asked & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED), random, shown)
    return shown, asked


def next_tokens(ids: Ints, inside: Bools) -> Ints:
    """Return the token after each token of the rows, (b, t); `NOT_SCORED` after the last one.

    Parameters
    ----------
    ids : array of int, shape (b, t)
    inside : array of bool, shape (b, t)
        True where there is no padding.

    Notes
    -----
    Radford et al. (2019), section 2: the probability of a text is the product of those of its
    tokens, each given all tokens to its left.
    """
    labels = np.full(ids.shape, NOT_SCORED, np.int64)
    labels[:, :-1] = np.where(inside[:, 1:], ids[:, 1:], NOT_SCORED)
    return labels


def _step(learner: Learner, shown: Ints, inside: Bools, labels: Ints, rate: float) -> float:
    import torch

    device = torch.device(learner.course.device)
    half = learner.course.precision == "bfloat16"
    inputs = {
        "input_ids": torch.as_tensor(shown, device=device),
        "attention_mask": torch.as_tensor(inside.astype(np.int64), device=device),
        # A causal model would otherwise keep its cache for generation.
        **({"use_cache": False} if learner.vocabulary.mask_id is None else {}),
    }
    wanted = torch.as_tensor(labels, device=device)
    asked = wanted != NOT_SCORED
    for group in learner.optimiser.param_groups:
        group["lr"] = rate
    learner.optimiser.zero_grad(set_to_none=True)
    # Only the pass is in bfloat16: small updates would be rounded away in its 8 bits.
    with torch.autocast(device.type, torch.bfloat16, enabled=half):
        if learner.head is None:
            logits = learner.module(**inputs).logits[asked]
        else:
            logits = learner.head(learner.module.base_model(**inputs).last_hidden_state[asked])
    loss: Any = torch.nn.functional.cross_entropy(logits.float(), wanted[asked])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(learner.module.parameters(), _LARGEST_GRADIENT)
    learner.optimiser.step()
    found = float(loss.detach())
    # Every later weight would be NaN, which nobody would see before the audit.
    if not np.isfinite(found):
        raise InputError(f"the loss must stay finite, got {found}: take a smaller rate")
    return found


DONE = "training.json"
"""File with the course of a finished training, written last."""
UNFINISHED = "unfinished"
"""Folder of the checkpoints until the training ends."""
_EPOCH = "epoch.safetensors"


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoint of an unfinished training: one file, replaced after every epoch."""

    folder: Path
    """Folder of the file, removed at the end."""
    settings: str
    """All settings that affect the result, as JSON."""

    def keep(self, learner: Learner, losses: tuple[float, ...]) -> None:
        """Write the weights and the optimiser's state after the last of `losses`."""
        from safetensors.torch import save

        tensors = {f"weights.{name}": x.data for name, x in learner.module.named_parameters()}
        for number, state in learner.optimiser.state_dict()["state"].items():
            tensors |= {f"state.{number}.{name}": value for name, value in state.items()}
        plain = {name: tensor.contiguous().cpu() for name, tensor in tensors.items()}
        said = {"settings": self.settings, "losses": json.dumps(losses)}
        check_writable(self.folder)
        write_all(self.folder, {_EPOCH: save(plain, said)})

    def take_up(self, learner: Learner) -> tuple[float, ...]:
        """Restore the learner; return the losses of the completed epochs.

        Raises
        ------
        InputError
            If the checkpoint belongs to another training, or is damaged.
        """
        path = self.folder / _EPOCH
        if not path.is_file():
            return ()
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, "pt") as file:
                said = file.metadata()
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (OSError, cast(type[Exception], SafetensorError)) as error:
            raise InputError(f"{path} is damaged: remove it to start again") from error
        require_same(said["settings"], self.settings, self.folder.parent)
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in tensors.items():
            if name.startswith("state."):
                _, number, key = name.split(".")
                state.setdefault(int(number), {})[key] = tensor
        for name, weights in learner.module.named_parameters():
            weights.data.copy_(tensors[f"weights.{name}"])
        # The groups of weights, with their decay, are those of this training: only the moments of
        # Adam were stored.
        groups = learner.optimiser.state_dict()
        learner.optimiser.load_state_dict({**groups, "state": state})
        return tuple(json.loads(said["losses"]))

    def remove(self) -> None:
        """Remove the checkpoints of a finished training."""
        shutil.rmtree(self.folder, ignore_errors=True)


def require_same(there: str, here: str, place: Path) -> None:
    """Raise if two trainings differ, naming the first setting that differs."""
    old = json.loads(there)
    new = json.loads(here)
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            raise InputError(
                f"{place} holds a model trained otherwise: {name} is {old.get(name)!r} there and "
                f"{new.get(name)!r} here; choose another folder, or the same settings"
            )
