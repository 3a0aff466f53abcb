"""Trains masked language models: a small reference of one's own, and a target for a test."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privacygauge.core.seeds import non_negative, stream
from privacygauge.core.versions import own_version, versions
from privacygauge.errors import InputError
from privacygauge.language.loading import checked_folder, most_tokens, read_module, weights_sha256
from privacygauge.language.model import check_vocabulary
from privacygauge.language.precision import Precision
from privacygauge.language.quiet import quiet_transformers
from privacygauge.language.tokenizer import Tokenizer, read_tokenizer
from privacygauge.language.tokenizer_training import trained_word_pieces
from privacygauge.language.tokens import Tokens, tokens_of
from privacygauge.language.training_kept import (
    DONE,
    UNFINISHED,
    Checkpoints,
    losses_of,
    require_own,
)
from privacygauge.language.training_steps import (
    Course,
    Vocabulary,
    learn_epoch,
    learner_of,
)
from privacygauge.runs.atomic import check_writable, write_all
from privacygauge.runs.execute import Progress
from privacygauge.runs.threads import one_thread

LIMIT = 128
"""The most tokens that a model made here reads, its frame included."""

_TOKENS_A_HEAD = 64


@dataclass(frozen=True)
class TrainedModel:
    """A model that was trained, and how that went."""

    path: Path
    """Its folder: config, weights as safetensors, tokenizer."""
    losses: tuple[float, ...]
    """Mean loss of every epoch, in nats a predicted token."""
    n_texts: int
    """Texts it was trained on."""
    n_tokens: int
    """Tokens in these texts, without their frames."""
    n_truncated: int
    """Tokens that were cut off because the model cannot read that many."""

    def summary(self) -> str:
        """Return a sentence: where it is, what it saw, and its loss."""
        cut = f", {self.n_truncated:,} more cut off" if self.n_truncated else ""
        return (
            f"{self.path}: {self.n_texts:,} texts of {self.n_tokens:,} tokens{cut}, "
            f"{len(self.losses)} epochs, loss {self.losses[0]:.3f} in the first and "
            f"{self.losses[-1]:.3f} nats a token in the last."
        )


def train_reference(
    texts: Sequence[str],
    out: str | Path,
    *,
    layers: int = 2,
    hidden: int = 128,
    vocabulary: int = 4096,
    epochs: int = 40,
    batch: int = 32,
    rate: float = 1e-3,
    seed: int = 0,
    precision: Precision = "float32",
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedModel:
    """Return a small BERT trained from scratch on `texts` alone, tokenizer included.

    Parameters
    ----------
    texts : sequence of str
        None of them a member, a non-member or of the population of the audit to come.
    out : str or pathlib.Path
        A folder that is empty or does not exist; or one where the same training was stopped,
        which goes on from its last whole epoch.
    layers, hidden : int
        Its size; 64 numbers a head of attention, one head for less.
    vocabulary : int
        The most tokens.
    epochs, batch : int
        How often every text is seen, and texts in a step.
    rate : float
        The largest learning rate.
    seed : int
        First weights, order and masks derive from it.
    precision : "float32" or "bfloat16"
        What it computes in while training; the weights stay float32.
    device : str
        A torch device.
    progress : callable, optional
        Called with the epochs done and their total.

    Returns
    -------
    TrainedModel
        The same weights for the same arguments on the same machine, however often it was stopped.

    Raises
    ------
    InputError
        If a text or a number breaks its rule, or the folder holds something else.

    Notes
    -----
    The objective of Devlin et al. (2019), section 3.1: 15% of the tokens are predicted, 80% of
    them hidden, 10% replaced. Adam with decoupled weight decay 0.01 (Loshchilov & Hutter 2019),
    gradients of length 1 at most, the learning rate up for 6% of the steps and down to 0. No
    dropout. One thread, so that sums do not depend on the machine's load.
    """
    course = _course(epochs, batch, rate, seed, precision, device)
    heads = _heads(layers, hidden)
    tokenizer = trained_word_pieces(texts, vocabulary, LIMIT)
    size = {"layers": layers, "hidden": hidden, "vocabulary": vocabulary, "start": "none"}

    def begin() -> Any:
        import torch
        from transformers import BertConfig, BertForMaskedLM

        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=hidden,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            intermediate_size=4 * hidden,
            max_position_embeddings=LIMIT,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=tokenizer.pad_token_id,
        )
        with torch.random.fork_rng(devices=[]):
            first = stream(course.seed, "language training", "weights")
            torch.default_generator.manual_seed(int(first.integers(2**63)))
            return BertForMaskedLM(config)

    return _trained(texts, Path(out), begin, tokenizer, size, course, progress)


def train_further(
    path: str | Path,
    texts: Sequence[str],
    out: str | Path,
    *,
    epochs: int = 3,
    batch: int = 32,
    rate: float = 5e-5,
    seed: int = 0,
    precision: Precision = "float32",
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedModel:
    """Return a masked language model trained further on `texts`, with the tokenizer it has.

    Parameters
    ----------
    path : str or pathlib.Path
        The folder of the model to begin with, which is left as it is.
    texts : sequence of str
        What it is to learn, such as the members of a test.
    out, epochs, batch, rate, seed, precision, device, progress
        As in `train_reference`; a small model needs a larger rate, such as 1e-3.

    Returns
    -------
    TrainedModel

    Raises
    ------
    InputError
        As `train_reference`, and as `load_masked` for the model.
    """
    course = _course(epochs, batch, rate, seed, precision, device)
    folder = checked_folder(path)
    if folder.resolve() == Path(out).resolve():
        raise InputError(f"out must be another folder than the model's, got {folder} for both")
    if read_tokenizer(folder).mask_id is None:
        raise InputError(f"the tokenizer in {folder} must have a mask token, got none")
    with quiet_transformers():
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    begun = {"start": weights_sha256(folder)}
    return _trained(
        texts,
        Path(out),
        lambda: read_module(folder, "AutoModelForMaskedLM").float(),
        tokenizer,
        begun,
        course,
        progress,
    )


def _course(
    epochs: int, batch: int, rate: float, seed: int, precision: Precision, device: str
) -> Course:
    return Course(epochs, batch, rate, non_negative(seed), precision, device)


def _heads(layers: int, hidden: int) -> int:
    for name, value in (("layers", layers), ("hidden", hidden)):
        if isinstance(value, bool) or value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")
    heads = max(1, hidden // _TOKENS_A_HEAD)
    if hidden % heads:
        raise InputError(
            f"hidden must be divisible by its {heads} attention heads (one for each "
            f"{_TOKENS_A_HEAD}), got {hidden}: take a multiple of {_TOKENS_A_HEAD}"
        )
    return heads


def _trained(
    texts: Sequence[str],
    out: Path,
    begin: Callable[[], Any],
    tokenizer: Any,
    begun: dict[str, Any],
    course: Course,
    progress: Progress | None,
) -> TrainedModel:
    require_own(out)
    with quiet_transformers(), one_thread():
        own = _read(tokenizer)
        module = begin()
        check_vocabulary(module, own, out)
        tokens = tokens_of(texts, [own], [most_tokens(module, own.limit)], "token")[0][0]
        settings = _settings(begun, tokens, own, course)
        if (out / DONE).is_file():
            return _result(out, losses_of(out, settings), tokens)
        check_writable(out)
        kept = Checkpoints(out / UNFINISHED, settings)
        losses = _learnt(module, own, tokens, course, kept, progress)
        tokenizer.save_pretrained(out)
        module.to("cpu").save_pretrained(out)
    # Written last: without it the training is one that was stopped.
    write_all(out, {DONE: json.dumps({"settings": settings, "losses": losses}).encode()})
    kept.remove()
    return _result(out, losses, tokens)


def _learnt(
    module: Any,
    tokenizer: Tokenizer,
    tokens: Tokens,
    course: Course,
    kept: Checkpoints,
    progress: Progress | None,
) -> tuple[float, ...]:
    assert tokenizer.mask_id is not None
    vocabulary = Vocabulary(tokenizer.n_tokens, tokenizer.mask_id, tokenizer.pad_id)
    learner = learner_of(module, vocabulary, course)
    losses = kept.take_up(learner)
    while True:
        if progress is not None:
            progress(len(losses), course.epochs)
        if len(losses) == course.epochs:
            return losses
        losses = (*losses, learn_epoch(learner, tokens, len(losses)))
        kept.keep(learner, losses)


def _settings(begun: dict[str, Any], tokens: Tokens, tokenizer: Tokenizer, course: Course) -> str:
    return json.dumps(
        {
            **begun,
            **asdict(course),
            "texts": tokens.sha256,
            "tokenizer": tokenizer.sha256,
            "privacygauge": own_version(),
            **{name: versions(name)[name] for name in ("torch", "transformers")},
        },
        sort_keys=True,
    )


def _read(tokenizer: Any) -> Tokenizer:
    with tempfile.TemporaryDirectory(prefix="privacygauge-") as folder:
        tokenizer.save_pretrained(folder)
        return read_tokenizer(Path(folder))


def _result(out: Path, losses: tuple[float, ...], tokens: Tokens) -> TrainedModel:
    n_tokens = int(tokens.n_units.sum())
    return TrainedModel(out, losses, len(tokens), n_tokens, int(tokens.n_truncated.sum()))
