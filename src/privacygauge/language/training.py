"""Training of language models: a small reference, and a target for tests."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, TypedDict, Unpack, get_args

from privacygauge.core.checks import short_list
from privacygauge.core.seeds import stream
from privacygauge.core.versions import own_version, versions
from privacygauge.errors import InputError
from privacygauge.language.loading import (
    Kind,
    Precision,
    checked_folder,
    model_kind,
    model_settings,
    most_tokens,
    quiet_transformers,
    read_module,
    weights_sha256,
)
from privacygauge.language.model import fitting
from privacygauge.language.tokens import checked_keys, read_tokenizer, tokens_of
from privacygauge.language.training_steps import (
    DONE,
    UNFINISHED,
    Checkpoints,
    Course,
    Vocabulary,
    learn_epoch,
    learner_of,
    require_same,
)
from privacygauge.runs.execute import Progress
from privacygauge.runs.folder import scratch
from privacygauge.runs.results import check_writable, write_all
from privacygauge.runs.threads import one_thread

# Untrained language models: shape, tokenizer and initial weights.

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
"""Special tokens, in the order of their ids."""
ENDS = ("<s>", "</s>")
"""Special tokens of a causal model, before and after every text."""

_UNKNOWN = "[UNK]"
# Letters kept, as in the usual trainers: rarer ones are read as unknown.
_MOST_LETTERS = 1000


def trained_word_pieces(texts: Sequence[str], vocabulary: int, limit: int) -> Any:
    """Return a lower-case WordPiece tokenizer with a vocabulary learnt only from `texts`.

    Parameters
    ----------
    texts : sequence of str
        Training texts, at least one.
    vocabulary : int
        Most tokens, including special ones; fewer if the texts do not hold as many different
        pieces.
    limit : int
        Most tokens of a text, including the frame.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        Tokenizer, the same for the same texts in every process.

    Raises
    ------
    InputError
        If the letters alone do not fit into the vocabulary.

    Notes
    -----
    Wu et al. (2016), section 4.1, as used by BERT (Devlin et al. 2019): pieces that continue a word
    begin with ``##``.
    """
    from tokenizers import decoders, models, processors, trainers
    from transformers import PreTrainedTokenizerFast

    fast: Any = PreTrainedTokenizerFast
    checked_keys(texts)
    learning = _empty(models.WordPiece(unk_token=_UNKNOWN))
    # Letters that begin a word, and letters inside a word, marked by ##.
    counts: Counter[str] = Counter()
    for text in texts:
        plain = learning.normalizer.normalize_str(text)
        for word, _ in learning.pre_tokenizer.pre_tokenize_str(plain):
            counts.update([word[0], *(f"##{letter}" for letter in word[1:])])
    letters = sorted(counts, key=lambda letter: (-counts[letter], letter))[:_MOST_LETTERS]
    first = [*SPECIAL, *sorted(letters)]
    if len(first) > vocabulary:
        raise InputError(
            f"vocabulary must be at least {len(first)} for the letters of these texts, got "
            f"{vocabulary}"
        )
    # The trainer numbers letters in an order that differs between processes, and breaks ties by
    # these numbers. Special tokens keep the order in which they are given, so letters are given as
    # such.
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocabulary, special_tokens=first, show_progress=False
    )
    learning.train_from_iterator(texts, trainer)
    learnt = learning.get_vocab()
    framed = _empty(models.WordPiece(learnt, unk_token=_UNKNOWN))
    framed.add_special_tokens(list(SPECIAL))
    framed.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, learnt[name]) for name in ("[CLS]", "[SEP]")],
    )
    framed.decoder = decoders.WordPiece()
    return fast(
        tokenizer_object=framed,
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        unk_token=_UNKNOWN,
        mask_token="[MASK]",
        model_max_length=limit,
    )


def trained_byte_pairs(texts: Sequence[str], vocabulary: int, limit: int) -> Any:
    """Return a byte-pair tokenizer with a vocabulary learnt only from `texts`.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        Tokenizer, the same for the same texts in every process. It holds every byte, so no text is
        unknown to it, and its frame gives a text's first token a context.

    Raises
    ------
    InputError
        If the bytes do not fit into the vocabulary.

    Notes
    -----
    Radford et al. (2019), section 2.2: pairs are merged within words, which are stretches of
    letters, of digits or of other signs, each with the preceding blank.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    fast: Any = PreTrainedTokenizerFast
    checked_keys(texts)
    # All bytes are in the vocabulary, so that any text can be written.
    first = [*ENDS, *sorted(pre_tokenizers.ByteLevel.alphabet())]
    if len(first) > vocabulary:
        raise InputError(
            f"vocabulary must be at least {len(first)} for the bytes that a causal model reads, "
            f"got {vocabulary}"
        )
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(ENDS),
        initial_alphabet=first[len(ENDS) :],
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    front, behind = ENDS
    made.post_processor = processors.TemplateProcessing(
        single=f"{front} $A {behind}", special_tokens=[(name, i) for i, name in enumerate(ENDS)]
    )
    made.decoder = decoders.ByteLevel()
    return fast(tokenizer_object=made, bos_token=front, eos_token=behind, model_max_length=limit)


def _empty(model: Any) -> Any:
    from tokenizers import Tokenizer, normalizers, pre_tokenizers

    made = Tokenizer(model)
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return made


_TOKENS_A_HEAD = 64
# The frame of two tokens, and two tokens of a text.
_SHORTEST = 4


@dataclass(frozen=True)
class Shape:
    """Architecture of a model that is trained from scratch."""

    kind: Kind = "masked"
    """Kind: a BERT with lower-case word pieces, or a GPT-2 with byte pairs."""
    layers: int = 2
    """Number of layers, at least 1."""
    hidden: int = 128
    """Hidden width, at least 1; one attention head per 64 units, at least one."""
    vocabulary: int = 4096
    """Most tokens in the vocabulary, including special ones."""
    context: int = 128
    """Most tokens read at once, at least 4, including the frame."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise InputError(f"kind must be masked or causal, got {self.kind!r}")
        for name in ("layers", "hidden"):
            value = getattr(self, name)
            if isinstance(value, bool) or value < 1:
                raise InputError(f"{name} must be at least 1, got {value}")
        check_context(self.context)
        if self.hidden % self.heads:
            raise InputError(
                f"hidden must be divisible by its {self.heads} attention heads (one for each "
                f"{_TOKENS_A_HEAD}), got {self.hidden}: take a multiple of {_TOKENS_A_HEAD}"
            )

    @property
    def heads(self) -> int:
        """Number of attention heads."""
        return max(1, self.hidden // _TOKENS_A_HEAD)

    def tokenizer(self, texts: Sequence[str]) -> Any:
        """Return a transformers tokenizer with a vocabulary learnt only from `texts`."""
        trained = trained_word_pieces if self.kind == "masked" else trained_byte_pairs
        return trained(texts, self.vocabulary, self.context)

    def module(self, tokenizer: Any, seed: int) -> Any:
        """Return the torch module; its weights depend only on the seed."""
        import torch
        import transformers

        # No dropout: the model is trained as it is later evaluated.
        config: Any
        if self.kind == "masked":
            build: Any = transformers.BertForMaskedLM
            config = transformers.BertConfig(
                vocab_size=len(tokenizer),
                hidden_size=self.hidden,
                num_hidden_layers=self.layers,
                num_attention_heads=self.heads,
                intermediate_size=4 * self.hidden,
                max_position_embeddings=self.context,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                pad_token_id=tokenizer.pad_token_id,
            )
        else:
            build = transformers.GPT2LMHeadModel
            config = transformers.GPT2Config(
                vocab_size=len(tokenizer),
                n_positions=self.context,
                n_embd=self.hidden,
                n_layer=self.layers,
                n_head=self.heads,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
            )
        # fork_rng restores the caller's random state afterwards.
        with torch.random.fork_rng(devices=[]):
            first = stream(seed, "language training", "weights")
            torch.default_generator.manual_seed(int(first.integers(2**63)))
            return build(config)


def check_context(context: int) -> None:
    """Raise if a model would read too few tokens at once to learn from them."""
    if isinstance(context, bool) or context < _SHORTEST:
        raise InputError(f"context must be at least {_SHORTEST} tokens, got {context}")


_READ_AS: Mapping[Kind, str] = {
    "masked": "AutoModelForMaskedLM",
    "causal": "AutoModelForCausalLM",
}


@dataclass(frozen=True)
class TrainedModel:
    """A trained model, and the course of its training."""

    path: Path
    """Folder with config, weights as safetensors, and tokenizer."""
    losses: tuple[float, ...]
    """Mean loss of each epoch, in nats per predicted token."""
    n_texts: int
    """Number of training texts."""
    n_tokens: int
    """Number of tokens in these texts, without their frames."""
    n_truncated: int
    """Number of tokens cut off because they do not fit into the model's context."""

    def summary(self) -> str:
        """Return one sentence: the folder, the numbers of texts and tokens, and the loss."""
        cut = f", {self.n_truncated:,} more cut off" if self.n_truncated else ""
        return (
            f"{self.path}: {self.n_texts:,} texts of {self.n_tokens:,} tokens{cut}, "
            f"{len(self.losses)} epochs, loss {self.losses[0]:.3f} in the first and "
            f"{self.losses[-1]:.3f} nats a token in the last."
        )


class TrainingSettings(TypedDict, total=False):
    """Keywords for the fields of `Course`."""

    epochs: int
    batch: int
    rate: float
    seed: int
    precision: Precision
    device: str


class ReferenceSettings(TrainingSettings, total=False):
    """Keywords for the fields of `Shape` and `Course`."""

    kind: Kind
    layers: int
    hidden: int
    vocabulary: int
    context: int


def train_reference(
    texts: Sequence[str],
    out: str | Path,
    *,
    progress: Progress | None = None,
    **settings: Unpack[ReferenceSettings],
) -> TrainedModel:
    """Train a small BERT or GPT-2 from scratch on `texts` alone, tokenizer included.

    Parameters
    ----------
    texts : sequence of str
        Training texts: no member, non-member or population text of the audit to come.
    out : str or pathlib.Path
        Empty or new folder, or one in which the same training was interrupted, which continues
        after its last complete epoch.
    progress : callable, optional
        Called with the number of epochs done and their total.
    **settings
        The other parameters.

    Other Parameters
    ----------------
    kind : "masked" or "causal"
        BERT with lower-case word pieces, or GPT-2 with byte pairs; by default masked.
    layers, hidden : int
        Size of the model, by default 2 layers of 128 units; one attention head per 64 hidden units,
        at least one.
    vocabulary : int
        Most tokens in the vocabulary, by default 4096.
    context : int
        Most tokens read at once, at least 4, by default 128; longer texts are cut off.
    epochs, batch : int
        Passes over the texts, by default 40, and texts per step, by default 32.
    rate : float
        Largest learning rate, by default 1e-3.
    seed : int
        Seed from which initial weights, order and masks are derived, by default 0.
    precision : "float32" or "bfloat16"
        Precision of the computation in training, by default float32; the weights stay float32.
    device : str
        Torch device, by default the processor ("cpu").

    Returns
    -------
    TrainedModel
        The same weights for the same arguments on the same machine, however often interrupted.

    Raises
    ------
    InputError
        If a text or a number is invalid, or the folder holds other files.

    Notes
    -----
    The objective of a masked model is that of Devlin et al. (2019), section 3.1: 15% of the tokens
    are predicted, 80% of these masked and 10% replaced. A causal model predicts every token from
    those to its left (Radford et al. 2019, section 2). AdamW with weight decay 0.01 (Loshchilov &
    Hutter 2019), gradient norms clipped at 1, learning rate warmed up over 6% of the steps and
    decayed to 0. No dropout. One thread, so that sums do not depend on the machine's load.
    """
    left: dict[str, Any] = {**settings}
    of_shape = {one.name: left.pop(one.name) for one in fields(Shape) if one.name in left}
    # All that is left belongs to the course, which rejects an unknown keyword.
    course = Course(**left)
    shape = Shape(**of_shape)
    tokenizer = shape.tokenizer(texts)
    start = _Start(
        shape.kind,
        tokenizer,
        lambda: shape.module(tokenizer, course.seed),
        {
            "layers": shape.layers,
            "hidden": shape.hidden,
            "vocabulary": shape.vocabulary,
            "start": "none",
        },
    )
    return _train(start, texts, out=Path(out), course=course, progress=progress)


def train_further(
    path: str | Path,
    texts: Sequence[str],
    out: str | Path,
    *,
    context: int | None = None,
    progress: Progress | None = None,
    **settings: Unpack[TrainingSettings],
) -> TrainedModel:
    """Train a language model further on `texts`, with its own tokenizer.

    Parameters
    ----------
    path : str or pathlib.Path
        Folder of the initial model, masked or causal, which is left unchanged.
    texts : sequence of str
        Training texts, such as the members of a test.
    out, progress
        As in `train_reference`.
    context : int, optional
        Most tokens read at once in training; by default the model's context.
    **settings
        The other parameters.

    Other Parameters
    ----------------
    epochs : int
        Passes over the texts, by default 3.
    rate : float
        Largest learning rate, by default 5e-5; a small model needs a larger one, such as 1e-3.
    batch, seed, precision, device
        As in `train_reference`.

    Returns
    -------
    TrainedModel

    Raises
    ------
    InputError
        As in `train_reference`, and as in `load_masked` or `load_causal` for the model.
    """
    chosen: TrainingSettings = {"epochs": 3, "rate": 5e-5, **settings}
    course = Course(**chosen)
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
    # First: a folder of other files is refused before minutes of training, and nothing in it is
    # overwritten.
    try:
        names = sorted(path.name for path in out.iterdir())
    except FileNotFoundError:
        names = []
    except NotADirectoryError as error:
        raise InputError(f"{out} is a file, not a directory: choose another folder") from error
    if names and not {DONE, UNFINISHED} & set(names):
        raise InputError(
            f"{out} holds something else than a training ({short_list(names, 3)}): choose another "
            "folder"
        )
    with quiet_transformers(), one_thread():
        # Saved and read again, as every audit will read it.
        with scratch() as folder:
            start.tokenizer.save_pretrained(folder)
            own = read_tokenizer(Path(folder))
        module = start.begin()
        own = fitting(own, module, out)
        limit = most = most_tokens(module, own.limit)
        if start.context is not None:
            check_context(start.context)
            if start.context > most:
                raise InputError(
                    f"context must be at most the {most:,} tokens of the model, got {start.context}"
                )
            limit = start.context
        tokens = tokens_of(texts, [own], [limit], "token")[0][0]
        if start.kind == "causal" and int(tokens.lengths.max()) < 2:
            raise InputError("texts must have at least two tokens for a causal model, got one each")
        # All that affects the weights: a checkpoint of any other training is refused.
        settings = json.dumps(
            {
                **start.said,
                "kind": start.kind,
                "context": limit,
                **asdict(course),
                "texts": tokens.sha256,
                "tokenizer": own.sha256,
                "privacygauge": own_version(),
                **{name: versions(name)[name] for name in ("torch", "transformers")},
            },
            sort_keys=True,
        )
        result = partial(
            TrainedModel,
            path=out,
            n_texts=len(tokens),
            n_tokens=int(tokens.n_units.sum()),
            n_truncated=int(tokens.n_truncated.sum()),
        )
        # Finished earlier, which must have been with the same settings.
        if (out / DONE).is_file():
            try:
                there = json.loads((out / DONE).read_text(encoding="utf-8"))
                require_same(there["settings"], settings, out)
                return result(losses=tuple(there["losses"]))
            except (
                KeyError,
                TypeError,
                json.JSONDecodeError,
                UnicodeError,
                RecursionError,
            ) as error:
                raise InputError(f"{out / DONE} is damaged: choose another folder") from error
        check_writable(out)
        kept = Checkpoints(out / UNFINISHED, settings)
        mask_id = own.mask_id if start.kind == "masked" else None
        learner = learner_of(module, Vocabulary(own.n_tokens, mask_id, own.pad_id), course)
        losses = kept.take_up(learner)
        while True:
            if progress is not None:
                progress(len(losses), course.epochs)
            if len(losses) == course.epochs:
                break
            losses = (*losses, learn_epoch(learner, tokens, len(losses)))
            kept.keep(learner, losses)
        start.tokenizer.save_pretrained(out)
        module.to("cpu").save_pretrained(out)
    # Written last: a folder without it holds an interrupted training.
    write_all(out, {DONE: json.dumps({"settings": settings, "losses": losses}).encode()})
    kept.remove()
    return result(losses=losses)
