"""Models in memory, such as a model just trained."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from privacygauge.errors import InputError
from privacygauge.language.forward_pass import causal_head, head_of
from privacygauge.language.loading import Precision, kind_of, stored_as
from privacygauge.language.model import (
    CausalModel,
    MaskedModel,
    Model,
    Source,
    empty_source,
    fitting,
    limit_of,
)
from privacygauge.language.tokens import tokenizer_of
from privacygauge.language.windows import WHOLE, Windows

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


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
    name = type(module).__name__
    encoder = bool(getattr(module.config, "is_encoder_decoder", False))
    kind = "causal" if encoder else kind_of([name])
    if kind is None:
        raise InputError(f"the module must be a masked or a causal language model, got {name}")
    if module.training:
        raise InputError(f"the {name} must be in evaluation mode: call its eval() first")
    own = replace(tokenizer_of(tokenizer, "the tokenizer"), literal=windows.literal)
    own = fitting(own, module, name)
    source = Source(
        path=name,
        device=str(module.device),
        precision=cast(Precision, stored_as(module)),
        weights=_sha256(module),
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


def _sha256(module: PreTrainedModel) -> str:
    """Return the SHA-256 of the current weights and the settings, in hexadecimal."""
    import torch

    settings = json.dumps(module.config.to_dict(), sort_keys=True, default=str)
    digest = hashlib.sha256(settings.encode())
    for name, weights in sorted(module.state_dict().items()):
        digest.update(f"\n{name} {weights.dtype} {tuple(weights.shape)}\n".encode())
        # As bytes, since numpy has no bfloat16.
        flat = weights.detach().cpu().contiguous().reshape(-1)
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()
