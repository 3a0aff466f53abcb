"""What commands ask about a language model and its reference: the same options for all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from privacygauge.audits.asking import Request, Role, option

if TYPE_CHECKING:
    from privacygauge.language.precision import Precision


@dataclass(frozen=True, kw_only=True)
class ModelsRequest(Request):
    """Which models are asked, and how."""

    target: str = option(
        "--target",
        "DIR",
        "Model to audit: a folder of this machine with safetensors and tokenizer.",
        role=Role.FILE,
    )
    reference: str | None = option(
        "--reference",
        "DIR",
        "Model of the same kind that saw none of the texts, such as the one that the training "
        "started from.",
        default=None,
        role=Role.FILE,
    )
    device: str = option("--device", "NAME", "Where models run, such as cuda.", default="cpu")
    precision: str = option(
        "--precision",
        "NAME",
        "Precision of models: float32 or bfloat16.",
        default="float32",
        offers=("float32", "bfloat16"),
    )

    @property
    def computed_in(self) -> Precision:
        """What models compute in."""
        return cast("Precision", self.precision)
