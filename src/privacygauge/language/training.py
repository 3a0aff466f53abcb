"""Training of language models: a small reference of one's own, and a target for a test."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privacygauge.core.versions import own_version, versions
from privacygauge.errors import InputError
from privacygauge.language.first_weights import Shape, check_context
from privacygauge.language.loading import (
    Kind,
    checked_folder,
    model_kind,
    model_settings,
    most_tokens,
    quiet_transformers,
    read_module,
    weights_sha256,
)
from privacygauge.language.model import fitting
from privacygauge.language.precision import Precision
from privacygauge.language.tokenizer import Tokenizer, read_tokenizer
from privacygauge.language.tokens import Tokens, tokens_of
from privacygauge.language.training_steps import (
    DONE,
    UNFINISHED,
    Checkpoints,
    Course,
    Learner,
    Vocabulary,
    learn_epoch,
    learner_of,
    losses_of,
    require_own,
)
from privacygauge.runs.atomic import check_writable, write_all
from privacygauge.runs.execute import Progress
from privacygauge.runs.threads import one_thread

_READ_AS: Mapping[Kind, str] = {
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
}


@dataclass(frozen=True)
class TrainedModel:
    """A trained model, and the course of its training."""

    path: Path
    """Folder: config, weights as safetensors, tokenizer."""
    losses: tuple[float, ...]
    """Mean loss of every epoch, in nats per predicted token."""
    n_texts: int
    """Number of training texts."""
    n_tokens: int
    """Number of tokens in these texts, without their frames."""
    n_truncated: int
    """Number of tokens cut off because they do not fit into the model's context."""

    def summary(self) -> str:
        """Return one sentence: the folder, the number of texts and tokens, and the loss."""
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
    kind: Kind = "masked",
    layers: int = 2,
    hidden: int = 128,
    vocabulary: int = 4096,
    context: int = 128,
    epochs: int = 40,
    batch: int = 32,
    rate: float = 1e-3,
    seed: int = 0,
    precision: Precision = "float32",
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedModel:
    """Train a small BERT or GPT-2 from scratch on `texts` alone, tokenizer included.

    Parameters
    ----------
    texts : sequence of str
        None of them a member, a non-member or of the population of the audit to come.
    out : str or pathlib.Path
        A folder that is empty or does not exist; or one where the same training was stopped,
        which goes on from its last whole epoch.
    kind : "masked" or "causal"
        A BERT with word pieces in lower case, or a GPT-2 with pieces of bytes.
    layers, hidden : int
        Its size; one attention head per 64 hidden units, at least one.
    vocabulary : int
        The most tokens.
    context : int
        The most tokens that it reads at once, at least 4; longer texts are cut off.
    epochs, batch : int
        Passes over the texts, and texts per step.
    rate : float
        The largest learning rate.
    seed : int
        First weights, order and masks derive from it.
    precision : "float32" or "bfloat16"
        Precision of the computation in training; the weights stay float32.
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
        If a text or a number is invalid, or the folder has other files.

    Notes
    -----
    The objective of a masked model is that of Devlin et al. (2019), section 3.1: 15% of the tokens
    are predicted, 80% of them hidden, 10% replaced. A causal one predicts every token from those
    to its left (Radford et al. 2019, section 2). Adam with decoupled weight decay 0.01 (Loshchilov
    & Hutter 2019), gradients of length 1 at most, the learning rate up for 6% of the steps and
    down to 0. No dropout. One thread, so that sums do not depend on the machine's load.
    """
    course = Course(
        epochs=epochs, batch=batch, rate=rate, seed=seed, precision=precision, device=device
    )
    shape = Shape(kind=kind, layers=layers, hidden=hidden, vocabulary=vocabulary, context=context)
    tokenizer = shape.tokenizer(texts)
    start = _Start(
        kind,
        tokenizer,
        lambda: shape.module(tokenizer, course.seed),
        {"layers": layers, "hidden": hidden, "vocabulary": vocabulary, "start": "none"},
    )
    return _train(start, texts, out=Path(out), course=course, progress=progress)


def train_further(
    path: str | Path,
    texts: Sequence[str],
    out: str | Path,
    *,
    context: int | None = None,
    epochs: int = 3,
    batch: int = 32,
    rate: float = 5e-5,
    seed: int = 0,
    precision: Precision = "float32",
    device: str = "cpu",
    progress: Progress | None = None,
) -> TrainedModel:
    """Train a language model further on `texts`, with its own tokenizer.

    Parameters
    ----------
    path : str or pathlib.Path
        The folder of the model to begin with, masked or causal, which is left as it is.
    texts : sequence of str
        Training texts, such as the members of a test.
    context : int, optional
        The most tokens that it reads at once in training; by default as many as it can.
    out, epochs, batch, rate, seed, precision, device, progress
        As in `train_reference`; a small model needs a larger rate, such as 1e-3.

    Returns
    -------
    TrainedModel

    Raises
    ------
    InputError
        As `train_reference`, and as `load_masked` or `load_causal` for the model.
    """
    course = Course(
        epochs=epochs, batch=batch, rate=rate, seed=seed, precision=precision, device=device
    )
    folder = checked_folder(path)
    if folder.resolve() == Path(out).resolve():
        raise InputError(f"out must be another folder than the model's, got {folder} for both")
    kind = model_kind(folder)
    if model_settings(folder).get("is_encoder_decoder") is True:
        raise InputError(f"{folder} must hold a masked or a causal model, got an encoder-decoder")
    if kind == "masked" and read_tokenizer(folder).mask_id is None:
        raise InputError(f"the tokenizer in {folder} must have a mask token, got none")
    with quiet_transformers():
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    start = _Start(
        kind=kind,
        tokenizer=tokenizer,
        begin=lambda: read_module(folder, _READ_AS[kind]).float(),
        said={"start": weights_sha256(folder)},
        context=context,
    )
    return _train(start, texts, out=Path(out), course=course, progress=progress)


@dataclass(frozen=True, eq=False)
class _Start:
    """The starting point of a training."""

    kind: Kind
    tokenizer: Any
    begin: Callable[[], Any]
    said: Mapping[str, int | str]
    context: int | None = None


def _train(
    start: _Start,
    texts: Sequence[str],
    out: Path,
    course: Course,
    progress: Progress | None,
) -> TrainedModel:
    require_own(out)
    with quiet_transformers(), one_thread():
        # Through a folder, as every audit will read it.
        with tempfile.TemporaryDirectory(prefix="privacygauge-") as folder:
            start.tokenizer.save_pretrained(folder)
            own = read_tokenizer(Path(folder))
        module = start.begin()
        own = fitting(own, module, out)
        limit = _limit(module, own, start.context)
        tokens = tokens_of(texts, [own], [limit], "token")[0][0]
        if start.kind == "causal" and int(tokens.lengths.max()) < 2:
            raise InputError("texts must have at least two tokens for a causal model, got one each")
        settings = _settings(start, limit, tokens=tokens, tokenizer=own, course=course)
        if (out / DONE).is_file():
            return _result(out, losses_of(out, settings), tokens)
        check_writable(out)
        kept = Checkpoints(out / UNFINISHED, settings)
        mask_id = own.mask_id if start.kind == "masked" else None
        learner = learner_of(module, Vocabulary(own.n_tokens, mask_id, own.pad_id), course)
        losses = _learn(learner, tokens, kept, progress)
        start.tokenizer.save_pretrained(out)
        module.to("cpu").save_pretrained(out)
    # Written last: without it the training is one that was stopped.
    write_all(out, {DONE: json.dumps({"settings": settings, "losses": losses}).encode()})
    kept.remove()
    return _result(out, losses, tokens)


def _limit(module: Any, tokenizer: Tokenizer, context: int | None) -> int:
    """Return the most tokens that are read at once."""
    most = most_tokens(module, tokenizer.limit)
    if context is None:
        return most
    check_context(context)
    if context > most:
        raise InputError(f"context must be at most the {most:,} tokens of the model, got {context}")
    return context


def _learn(
    learner: Learner, tokens: Tokens, kept: Checkpoints, progress: Progress | None
) -> tuple[float, ...]:
    epochs = learner.course.epochs
    losses = kept.take_up(learner)
    while True:
        if progress is not None:
            progress(len(losses), epochs)
        if len(losses) == epochs:
            return losses
        losses = (*losses, learn_epoch(learner, tokens, len(losses)))
        kept.keep(learner, losses)


def _settings(
    start: _Start, limit: int, tokens: Tokens, tokenizer: Tokenizer, course: Course
) -> str:
    return json.dumps(
        {
            **start.said,
            "kind": start.kind,
            "context": limit,
            **asdict(course),
            "texts": tokens.sha256,
            "tokenizer": tokenizer.sha256,
            "privacygauge": own_version(),
            **{name: versions(name)[name] for name in ("torch", "transformers")},
        },
        sort_keys=True,
    )


def _result(out: Path, losses: tuple[float, ...], tokens: Tokens) -> TrainedModel:
    n_tokens = int(tokens.n_units.sum())
    return TrainedModel(
        path=out,
        losses=losses,
        n_texts=len(tokens),
        n_tokens=n_tokens,
        n_truncated=int(tokens.n_truncated.sum()),
    )
