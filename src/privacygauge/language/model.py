"""Language models as values: their source, their tokenizer, and their token log-probabilities."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from privacygauge.errors import InputError
from privacygauge.language.forward_pass import Batch, Head, causal_head, head_of
from privacygauge.language.loading import (
    BITS,
    Asked,
    Precision,
    add_adapter,
    check_precision,
    faster_precision,
    has_language_model_inside,
    kind_of,
    model_settings,
    most_tokens,
    move_to_device,
    parts_of,
    read_module,
    sha256_of,
    stored_as,
)
from privacygauge.language.tokens import Tokenizer, read_tokenizer, tokenizer_of
from privacygauge.language.windows import WHOLE, Windows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

Floats32 = NDArray[np.float32]

# Rows of logits (rows, vocabulary) at a time, few enough to stay near the processor.
_ROWS_AT_ONCE = 128
# Fewer rows for moments: several arrays of this size stay in the processor's caches.
_ROWS_OF_MOMENTS = 32


@dataclass(frozen=True)
class Source:
    """Source of a model and how to run it: enough to load it again in another process."""

    path: str
    """Folder of the model."""
    device: str
    """Torch device, such as ``"cpu"`` or ``"cuda:0"``."""
    precision: Precision
    """Precision of the computation; log-probabilities are computed from its logits in float32."""
    weights: str
    """SHA-256 of the weights and the settings, in hexadecimal."""
    windows: Windows = WHOLE
    """Windows in which it reads texts."""
    stored: str = "float32"
    """Precision in which the weights were saved."""
    base: str | None = None
    """Folder of the base model, if `path` holds a PEFT adapter."""
    in_memory: bool = False
    """True for a model passed as an object; `path` is then the name of its class."""


@dataclass(frozen=True, eq=False)
class MaskedModel:
    """A masked language model, ready to score masked tokens."""

    source: Source
    """Source of the model."""
    tokenizer: Tokenizer
    """Tokenizer of the model, with a mask token."""
    limit: int
    """Most tokens read at once, including the frame."""
    module: Any
    """Torch module."""
    head: Head | None
    """Output head, for logits at selected positions only; None if the whole model must run."""

    answers = ("log_probability",)
    """Names of the values returned for each token."""

    @property
    def mask_id(self) -> int | None:
        """Id of the mask token."""
        return self.tokenizer.mask_id

    def __reduce__(self) -> tuple[Any, ...]:
        return _reload_in_worker, (load_masked, _in_a_folder(self.source))

    def ask(self, batch: Batch) -> dict[str, Floats32]:
        """Return the log-probability (m,) in nats of every token that `batch` masks.

        Parameters
        ----------
        batch : Batch
            Tokens of one pass.

        Returns
        -------
        dict of arrays
            ``"log_probability"``: at most 0, up to rounding.
        """
        import torch

        with torch.inference_mode():
            inputs, row, position, token = _on_device(batch, self.module.device)
            if self.head is None:
                hidden = self.module(**inputs).logits[row, position]
            else:
                hidden = self.module.base_model(**inputs).last_hidden_state[row, position]
            head = self.head or Head(())
            found = torch.empty(len(token), device=hidden.device)
            # A few rows at a time, into one array: logits over the vocabulary take the most memory.
            pieces = (x.split(_ROWS_AT_ONCE) for x in (found, hidden, token))
            for own, some, which in zip(*pieces, strict=True):
                logits = head(some).float()
                chosen = logits.gather(1, which[:, None])[:, 0]
                own.copy_(chosen - logits.logsumexp(1))
            return {"log_probability": found.cpu().numpy()}


@dataclass(frozen=True, eq=False)
class CausalModel:
    """A language model that reads from left to right, ready to score every next token.

    An encoder-decoder is represented by its decoder, which continues an empty source.
    """

    source: Source
    """Source of the model."""
    tokenizer: Tokenizer
    """Tokenizer of the model."""
    limit: int
    """Most tokens read at once."""
    module: Any
    """Torch module."""
    head: Head | None
    """Output head, for logits at scored positions only; None if the whole model must run."""
    empty_source: tuple[int, ...] = ()
    """Token ids that the encoder reads; () for a model without an encoder."""

    answers = ("log_probability", "mean", "sd", "highest")
    """Names of the values returned for each token."""
    mask_id = None
    """None: nothing is masked."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _reload_in_worker, (load_causal, _in_a_folder(self.source))

    def ask(self, batch: Batch) -> dict[str, Floats32]:
        """Score every token of `batch` given all tokens to its left.

        Parameters
        ----------
        batch : Batch
            Tokens of one pass; no scored position is the first, unless there is an `empty_source`.

        Returns
        -------
        dict of arrays
            ``"log_probability"`` (m,) in nats, ``"mean"`` and ``"sd"`` (m,) of the log-probability
            over the vocabulary, weighted by the probabilities themselves, and ``"highest"`` (m,),
            the log-probability of the likeliest token.
        """
        import torch

        with torch.inference_mode():
            inputs, row, position, token = _on_device(batch, self.module.device)
            if self.empty_source:
                ids = inputs["input_ids"]
                source = ids.new_tensor(self.empty_source).expand(len(ids), -1)
                start = ids.new_full((len(ids), 1), self.module.config.decoder_start_token_id)
                # Padding is to the right of all scored positions, where no decoder looks.
                read = torch.cat([start, ids[:, :-1]], 1)
                inputs = {"input_ids": source, "decoder_input_ids": read}
                # The decoder's start token moves every position by one.
                position = position + 1
            if self.head is None:
                values = self.module(**inputs, use_cache=False).logits
            else:
                values = self.module.base_model(**inputs, use_cache=False).last_hidden_state
            head = self.head or Head(())
            # Logits of a few tokens at a time, so that memory does not grow with tokens times
            # vocabulary. Their numbers go into one array: small ones kept between large ones that
            # are freed would leave gaps, which grow with the tokens.
            found = torch.empty(len(token), len(self.answers), device=values.device)
            pieces = (x.split(_ROWS_AT_ONCE) for x in (found, row, position, token))
            for own, rows, places, which in zip(*pieces, strict=True):
                # Logits at position i predict token i + 1.
                logits = head(values[rows, places - 1]).float()
                few = (x.split(_ROWS_OF_MOMENTS) for x in (own, logits, which))
                for these, *one in zip(*few, strict=True):
                    these.copy_(torch.stack(_moments(*one), 1))
            return dict(zip(self.answers, found.T.cpu().numpy(), strict=True))


Model = MaskedModel | CausalModel


def load_masked(
    path: str | Path,
    *,
    device: str = "cpu",
    precision: Asked = "float32",
    windows: Windows = WHOLE,
    base: str | Path | None = None,
) -> MaskedModel:
    """Load the masked language model in a local folder.

    Parameters
    ----------
    path : str or pathlib.Path
        Folder with config.json, a fast tokenizer and weights as safetensors; or with a PEFT adapter
        for such a model.
    device : str
        Torch device, by default ``"cpu"``; ``"auto"`` spreads a model over all devices
        (transformers' `device_map`, which needs accelerate).
    precision : "float32", "bfloat16", "float16", "own", "int8", "int4" or "faster"
        Precision of the computation. "own" is that of the saved weights, which takes the least
        memory; on a CPU float16 is computed in float32, and the report says so. "int8" and "int4"
        need bitsandbytes and a GPU. "faster" tries float32 and bfloat16 for about a second if the
        device supports both, and may choose differently another time: a run to be resumed needs one
        of the two by name. In bfloat16 a token's log-probability is off by about 0.003 nats and an
        energy by about 0.001 (a model of two layers on 1,000 sentences).
    windows : Windows
        How to read texts longer than the model's context.
    base : str or pathlib.Path, optional
        Folder of an adapter's base; by default the one that it names.

    Raises
    ------
    InputError
        If there is no such folder, the weights are pickled, incomplete or of another kind of model,
        or the tokenizer has no mask token. Nothing is ever fetched from a network.
    """
    parts = parts_of(path, base)
    folder = parts[0]
    tokenizer = replace(read_tokenizer(_with_tokenizer(*parts)), literal=windows.literal)
    if tokenizer.mask_id is None:
        raise InputError(
            f"the tokenizer in {folder} must have a mask token, got none: if the model is "
            "causal, load it as such (load_causal, --kind causal)"
        )
    module, stored = _read_weights(parts, "AutoModelForMaskedLM", precision, device)
    tokenizer = fitting(tokenizer, module, folder)
    head = head_of(module)
    source = _place_module(
        module, parts, device=device, precision=precision, windows=windows, stored=stored
    )
    return MaskedModel(
        source=source,
        tokenizer=tokenizer,
        limit=limit_of(module, tokenizer, windows),
        module=module,
        head=head,
    )


def load_causal(
    path: str | Path,
    *,
    device: str = "cpu",
    precision: Asked = "float32",
    windows: Windows = WHOLE,
    base: str | Path | None = None,
) -> CausalModel:
    """Load the causal or encoder-decoder language model in a local folder.

    Raises
    ------
    InputError
        As in `load_masked`, or if the folder holds a masked language model.
    """
    parts = parts_of(path, base)
    folder = parts[0]
    tokenizer = replace(read_tokenizer(_with_tokenizer(*parts)), literal=windows.literal)
    settings = model_settings(folder)
    read_as = "AutoModelForCausalLM"
    if settings.get("is_encoder_decoder") is True:
        read_as = "AutoModelForSeq2SeqLM"
    elif has_language_model_inside(settings):
        read_as = "AutoModelForImageTextToText"
    module, stored = _read_weights(parts, read_as, precision, device)
    saved_as = getattr(module.config, "architectures", None) or []
    if any(name.endswith("MaskedLM") for name in saved_as):
        raise InputError(
            f"{folder} must hold a causal language model, got {saved_as[0]}: use load_masked"
        )
    tokenizer = fitting(tokenizer, module, folder)
    head = causal_head(module)
    source = _place_module(
        module, parts, device=device, precision=precision, windows=windows, stored=stored
    )
    limit = limit_of(module, tokenizer, windows)
    return CausalModel(
        source=source,
        tokenizer=tokenizer,
        limit=limit,
        module=module,
        head=head,
        empty_source=empty_source(tokenizer, module),
    )


def tokenizer_for(target: str | Path | Model, base: str | Path | None = None) -> Tokenizer:
    """Return the tokenizer of a model, or the one in its folder."""
    if isinstance(target, str | Path):
        return read_tokenizer(_with_tokenizer(*parts_of(target, base)))
    return target.tokenizer


def _with_tokenizer(folder: Path, adapter: Path | None) -> Path:
    """Return the folder of the tokenizer: the adapter's own if it has one."""
    own = adapter is not None and (adapter / "tokenizer.json").is_file()
    return adapter if adapter is not None and own else folder


def _read_weights(
    parts: tuple[Path, Path | None], auto_class: str, precision: Asked, device: str
) -> tuple[Any, str]:
    """Return a module, and the precision in which its weights were saved."""
    # Before the weights are read, which may take minutes.
    check_precision(precision, device)
    if device == "auto" and find_spec("accelerate") is None:
        raise InputError(
            "device auto needs accelerate, which is not installed: "
            "pip install 'privacygauge[huggingface]'"
        )
    folder, adapter = parts
    # No weight is loaded wider than it was saved.
    options: dict[str, Any] = {"torch_dtype": "auto"}
    if precision in BITS:
        from transformers import BitsAndBytesConfig

        quantised: Any = BitsAndBytesConfig
        options["quantization_config"] = quantised(**{BITS[precision]: True})
        options["device_map"] = {"": device}
    if device == "auto":
        options["device_map"] = "auto"
    module = read_module(folder, auto_class, **options)
    # The precision of a module's saved weights; widen them to float32 if requested.
    stored = stored_as(module)
    on_processor = device == "cpu" or (device == "auto" and module.device.type == "cpu")
    if precision in ("float32", "faster") or (
        precision == "own" and stored == "float16" and on_processor
    ):
        module.float()
    return module if adapter is None else add_adapter(module, adapter), stored


def empty_source(tokenizer: Tokenizer, module: Any) -> tuple[int, ...]:
    """Return the frame around an empty text as input of an encoder; () without an encoder."""
    if not getattr(module.config, "is_encoder_decoder", False):
        return ()
    return tuple(tokenizer.encoded([""])[0].ids.tolist()) or (module.config.eos_token_id,)


def limit_of(module: Any, tokenizer: Tokenizer, windows: Windows) -> int:
    """Return the most tokens read at once."""
    most = most_tokens(module, tokenizer.limit)
    return most if windows.context is None else min(most, windows.context)


def fitting(tokenizer: Tokenizer, module: Any, folder: str | Path) -> Tokenizer:
    """Return a tokenizer without tokens that were added to it but never to the model.

    A padding token is often added without a row of weights; nothing was ever trained on it.

    Raises
    ------
    InputError
        If the model lacks other tokens of the tokenizer.
    """
    size = int(module.config.get_text_config(decoder=True).vocab_size)
    found = tokenizer
    if tokenizer.n_tokens > size:
        state = json.loads(tokenizer.state)
        state["added_tokens"] = [x for x in state.get("added_tokens", ()) if x["id"] < size]
        pad = tokenizer.pad_id if tokenizer.pad_id < size else 0
        found = replace(tokenizer, state=json.dumps(state, ensure_ascii=False), pad_id=pad)
    if found.n_tokens > size:
        raise InputError(
            f"the tokenizer in {folder} must belong to the model, got {tokenizer.n_tokens:,} "
            f"tokens for a vocabulary of {size:,}: save both together"
        )
    return found


def model_of(
    module: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, *, windows: Windows = WHOLE
) -> Model:
    """Return a transformers model in memory as a model that can be audited.

    Parameters
    ----------
    module : transformers.PreTrainedModel
        Masked, causal or encoder-decoder model, in evaluation mode. It is neither changed, moved
        nor copied; adapters in it take part.
    tokenizer : transformers.PreTrainedTokenizerFast
        Tokenizer of the model.
    windows : Windows
        How to read texts longer than the model's context.

    Returns
    -------
    MaskedModel or CausalModel
        Model for `audit_masked` or `audit_causal`, in this process.

    Raises
    ------
    InputError
        If the module is of another kind or in training mode, or the tokenizer is not its own.
    """
    import torch

    name = type(module).__name__
    encoder = bool(getattr(module.config, "is_encoder_decoder", False))
    kind = "causal" if encoder else kind_of([name])
    if kind is None:
        raise InputError(f"the module must be a masked or a causal language model, got {name}")
    if module.training:
        raise InputError(f"the {name} must be in evaluation mode: call its eval() first")
    own = replace(tokenizer_of(tokenizer, "the tokenizer"), literal=windows.literal)
    own = fitting(own, module, name)
    # The current weights and the settings are the model's identity.
    settings = json.dumps(module.config.to_dict(), sort_keys=True, default=str)
    digest = hashlib.sha256(settings.encode())
    # By name, so that the order in which layers were built does not count.
    for part, weights in sorted(module.state_dict().items()):
        digest.update(f"\n{part} {weights.dtype} {tuple(weights.shape)}\n".encode())
        # As bytes, since numpy has no bfloat16.
        flat = weights.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    source = Source(
        path=name,
        device=str(module.device),
        precision=cast(Precision, stored_as(module)),
        weights=digest.hexdigest(),
        windows=windows,
        stored=stored_as(module),
        in_memory=True,
    )
    limit = limit_of(module, own, windows)
    if kind == "masked":
        if own.mask_id is None:
            raise InputError("the tokenizer of a masked language model must have a mask token")
        return MaskedModel(
            source=source, tokenizer=own, limit=limit, module=module, head=head_of(module)
        )
    return CausalModel(
        source=source,
        tokenizer=own,
        limit=limit,
        module=module,
        head=causal_head(module),
        empty_source=empty_source(own, module),
    )


def _in_a_folder(source: Source) -> Source:
    """Return a source from which another process can load the model."""
    if source.in_memory:
        raise InputError(
            "a model that is in memory is asked in this process alone: leave n_jobs out, or save "
            "the model and name its folder"
        )
    return source


@functools.lru_cache(maxsize=2)
def _reload_in_worker(load: Callable[..., Model], source: Source) -> Model:
    """Load a model in a worker, once per process, instead of sending it with every task."""
    how = {name: getattr(source, name) for name in ("device", "precision", "windows", "base")}
    model = load(source.path, **how)
    if model.source.weights != source.weights:
        raise InputError(f"the model in {source.path} has changed since it was loaded: start again")
    return model


def _place_module(
    module: Any,
    parts: tuple[Path, Path | None],
    device: str,
    precision: Asked,
    windows: Windows,
    stored: str,
) -> Source:
    """Move `module` to its device; return its source, with precision and device."""
    import torch

    # Spread or quantised models were placed when they were loaded.
    if device != "auto" and precision not in BITS:
        move_to_device(module, device)
    # The precision in which the module runs, after its weights are converted to it.
    saved = stored_as(module)
    taken = saved if precision == "own" else precision
    if precision == "faster":
        plain = not module.config.is_encoder_decoder and device != "auto"
        taken = "float32"
        if plain:
            taken = faster_precision(module, device, most_tokens(module, 48))
    if taken not in BITS and taken != saved:
        module.to(getattr(torch, taken))
    folder, adapter = parts
    base = None if adapter is None else str(folder.resolve())
    path = str((adapter or folder).resolve())
    return Source(
        path=path,
        device=device,
        precision=cast(Precision, taken),
        weights=sha256_of(folder, adapter),
        windows=windows,
        stored=stored,
        base=base,
    )


def _on_device(batch: Batch, device: Any) -> tuple[Mapping[str, Any], Any, Any, Any]:
    """Return the model's inputs, and row, position and token id of the scored tokens."""
    import torch

    to = functools.partial(torch.as_tensor, device=device)
    inputs = {"input_ids": to(batch.ids)}
    width = batch.ids.shape[1]
    # Without padding no mask is needed.
    if (batch.lengths < width).any():
        inside = np.arange(width) < batch.lengths[:, None]
        inputs["attention_mask"] = to(inside.astype(np.int64))
    return inputs, to(batch.row), to(batch.position), to(batch.token)


def _moments(logits: Any, token: Any) -> tuple[Any, Any, Any, Any]:
    logs = logits.log_softmax(1)
    weights = logs.exp()
    # Probability 0 contributes nothing, but 0 times minus infinity is NaN.
    mean = (weights * logs).nan_to_num(0.0).sum(1)
    variance = (weights * (logs - mean[:, None]) ** 2).nan_to_num(0.0).sum(1)
    return logs.gather(1, token[:, None])[:, 0], mean, variance.sqrt(), logs.amax(1)
