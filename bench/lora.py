"""What LoRA gives away beside full fine-tuning: one small GPT-2, the same notes, several draws.

The base learns from the reference part of MTSamples, is trained further on 100 notes of the member
part, all of it or by LoRA, and is the reference of both audits. Each draw has member notes of its
own; the 400 notes of the other side are the same in all. Of a note, the first 6 sentences count.

    python bench/lora.py             the table of docs/causal-models.md: some four minutes
    python bench/lora.py --quick     the same from few notes
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from peft import LoraConfig, get_peft_model

import privacygauge as pg
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.seeds import stream
from privacygauge.datasets.public import Sentences, mtsamples
from privacygauge.evaluate.evaluation import Evaluation
from privacygauge.language.audit.audit import LanguageAudit
from privacygauge.language.loading import quiet_transformers
from privacygauge.language.model import load_causal
from privacygauge.language.tokens import tokens_of
from privacygauge.language.training import train_further, train_reference
from privacygauge.language.training_steps import Course, Vocabulary, learn_epoch, learner_of
from privacygauge.language.units import UnitFindings

FPR, SENTENCES = 0.01, 6
RANK = 8
"""Of the adapter, on the matrix that makes queries, keys and values."""


@dataclass(frozen=True)
class Setting:
    """One way to train further."""

    name: str
    epochs: int
    rate: float
    lora: bool


SETTINGS = (
    Setting("all weights, 1 pass", 1, 1e-3, False),
    Setting("all weights, 3 passes", 3, 1e-3, False),
    Setting("LoRA, 3 passes", 3, 1e-2, True),
    Setting("LoRA, 12 passes", 12, 1e-2, True),
)


def texts_of(part: Sentences, notes: np.ndarray) -> dict[str, list[str]]:
    """Return the sentences of some notes, and whose they are."""
    nth = np.arange(len(part)) - np.searchsorted(part.note, part.note)
    rows = np.flatnonzero(np.isin(part.note, notes) & (nth < SENTENCES))
    return {
        "text": [part.text[row] for row in rows],
        "patient": [f"note {part.note[row]}" for row in rows],
    }


def tuned(base: Path, texts: list[str], setting: Setting, seed: int, out: Path) -> int:
    """Train the base further into a folder, and return how many weights were trained."""
    if not setting.lora:
        train_further(base, texts, out, epochs=setting.epochs, rate=setting.rate, seed=seed)
        return sum(part.numel() for part in load_causal(out).module.parameters())
    start = load_causal(base)
    torch.manual_seed(seed)
    asked = LoraConfig(
        r=RANK, lora_alpha=2 * RANK, target_modules=["c_attn"], fan_in_fan_out=True,
        base_model_name_or_path=str(base), task_type="CAUSAL_LM",
    )  # fmt: skip
    with quiet_transformers():
        whole = get_peft_model(start.module, asked)
    own = start.tokenizer
    tokens = tokens_of(texts, [own], [start.limit], "token")[0][0]
    course = Course(setting.epochs, 32, setting.rate, seed, "float32", "cpu")
    vocabulary = Vocabulary(own.n_tokens, None, own.pad_id)
    learner = learner_of(whole.get_base_model(), vocabulary, course)
    for epoch in range(setting.epochs):
        learn_epoch(learner, tokens, epoch)
    whole.save_pretrained(out, save_embedding_layers=False)
    return sum(part.numel() for part in whole.parameters() if part.requires_grad)


def ratio_of(found: UnitFindings | Skipped) -> Evaluation:
    """Return the likelihood ratio among the attacks."""
    assert not isinstance(found, Skipped)
    return next(each for each in found.signals if each.name == "likelihood-ratio")


def rate_of(found: UnitFindings | Skipped) -> Estimate:
    """Return the likelihood ratio's TPR at 1% FPR."""
    return next(x.estimate for x in ratio_of(found).tpr_at_fpr if x.fpr == FPR)


def losses(audit: LanguageAudit) -> list[float]:
    """Return the losses of target and base on members, then on others, in nats a token."""
    inside, energies = audit.records.member, audit.energies
    assert energies.reference is not None
    both = (energies.target, energies.reference)
    return [float(x[side].mean()) for side in (inside, ~inside) for x in both]


def shown(found: list[Estimate]) -> str:
    """Return the mean over the draws, with the lowest and the highest end of their intervals."""
    low, high = min(x.low for x in found), max(x.high for x in found)
    return f"{np.mean([x.value for x in found]):.3f} ({low:.3f} to {high:.3f})"


def rows(folder: Path, quick: bool, draws: int) -> Iterator[str]:
    """Yield the lines of the table, draw by draw of one setting."""
    n_in, n_out, n_base, n_draws = (8, 20, 12, 2) if quick else (100, 400, 220, draws)
    parts = {name: mtsamples(name) for name in ("member", "nonmember", "reference", "population")}
    notes = {
        name: stream(0, "lora", name).permutation(np.unique(part.note))
        for name, part in parts.items()
    }
    some = texts_of(parts["reference"], notes["reference"][:n_base])["text"]
    base = folder / "base"
    told = train_reference(
        some, base, kind="causal", hidden=96, vocabulary=2048, context=96, epochs=5
    )
    yield told.summary()
    others = texts_of(parts["nonmember"], notes["nonmember"][:n_out])
    population = texts_of(parts["population"], notes["population"][: n_out // 4])
    for setting in SETTINGS:
        audits, size = [], 0
        for draw in range(n_draws):
            members = texts_of(parts["member"], notes["member"][draw * n_in : (draw + 1) * n_in])
            out = folder / f"{setting.name}-{draw}"
            size = tuned(base, members["text"], setting, draw, out)
            audits.append(
                pg.audit_causal(
                    out,
                    None if setting.lora else base,  # an adapter names its base
                    members,
                    others,
                    population,
                    run=folder / "answers",
                    seed=draw,
                )
            )
        means = np.mean([losses(audit) for audit in audits], axis=0)
        yield " | ".join(
            [
                setting.name,
                f"{size:,}",
                f"{means[0]:.3f} (base {means[1]:.3f})",
                f"{means[2]:.3f} (base {means[3]:.3f})",
                shown([rate_of(audit.samples) for audit in audits]),
                shown([rate_of(audit.patients) for audit in audits]),
                shown([ratio_of(audit.samples).auc for audit in audits]),
                shown([ratio_of(audit.patients).auc for audit in audits]),
                f"sentences {audits[0].samples.n_in} and {audits[0].samples.n_out}",
                str([audit.controls.fired for audit in audits]),
            ]
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few notes")
    parser.add_argument("--draws", type=int, default=3, help="of member notes")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    # What peft asks transformers.
    warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(Path(folder), asked.quick, asked.draws):
            print("|", row, "|", flush=True)


if __name__ == "__main__":
    main()
