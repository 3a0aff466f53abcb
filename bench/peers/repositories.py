"""OpenUnlearning, LLM-PBE and PrivacyGuard: attacks on a causal language model, as their public
code defines them.

OPEN_UNLEARNING, LLM_PBE and PRIVACY_GUARD name folders with their repositories, which run with the
packages that PrivacyGauge has. What they import for other work is replaced by empty modules, and
the GPU that LLM-PBE asks for by the processor.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def package(name: str, folder: Path) -> None:
    """Let the modules of a package be imported without what the package itself imports."""
    sys.modules[name] = ModuleType(name)
    sys.modules[name].__path__ = [str(folder)]


def replaced(name: str, **values: Any) -> None:
    """Replace a module by one that has a few values."""
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(values)


def loaded(folder: str) -> tuple[Any, Any]:
    """Return a model and its tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return (
        AutoModelForCausalLM.from_pretrained(folder).eval(),
        AutoTokenizer.from_pretrained(folder),
    )


def open_unlearning(model: str, reference: str, texts: str) -> Callable:
    """Return a call that gives every attack's scores, (n,) each: LOWER for members.

    No label on the first token, as OpenUnlearning wants it. It leaves the last token out of min-k,
    which stands for the end of a text in its own data: here one is put there.
    """
    source = Path(os.environ["OPEN_UNLEARNING"]) / "src"
    for name in ("evals", "evals.metrics", "evals.metrics.mia"):
        package(name, source / name.replace(".", "/"))
    replaced("rouge_score", rouge_scorer=None)
    replaced("omegaconf", OmegaConf=None)
    replaced("data")
    replaced("data.utils", IGNORE_INDEX=-100)
    import torch

    def attack_of(file: str, name: str) -> type:
        return getattr(import_module(f"evals.metrics.mia.{file}"), name)

    torch.set_num_threads(1)
    target, tokenizer = loaded(model)
    asked = [tokenizer(text)["input_ids"] for text in json.loads(Path(texts).read_text())]

    def collated(rows: list[tuple[int, list[int]]]) -> dict[str, Any]:
        """Return texts of one batch, filled up on the right."""
        width = max(len(ids) for _, ids in rows)
        ids = torch.tensor([[*ids, *[0] * (width - len(ids))] for _, ids in rows])
        mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for _, ids in rows])
        labels = torch.where(mask > 0, ids, -100)
        labels[:, 0] = -100
        index = torch.tensor([row for row, _ in rows])
        return {"input_ids": ids, "attention_mask": mask, "labels": labels, "index": index}

    def scores(attack: type, ends: list[int], **more: Any) -> list[float]:
        rows = [(row, [*ids, *ends]) for row, ids in enumerate(asked)]
        found = attack(target, rows, collated, 4, **more).attack()["value_by_index"]
        return [found[str(row)]["score"] for row in range(len(rows))]

    other, _ = loaded(reference)
    return lambda: {
        "loss": scores(attack_of("loss", "LOSSAttack"), []),
        "zlib": scores(attack_of("zlib", "ZLIBAttack"), [], tokenizer=tokenizer),
        "min-k": scores(attack_of("min_k", "MinKProbAttack"), [0]),
        "min-k++": scores(attack_of("min_k_plus_plus", "MinKPlusPlusAttack"), [0]),
        "likelihood-ratio": scores(
            attack_of("reference", "ReferenceAttack"), [], reference_model=other
        ),
    }


def llm_pbe(model: str, reference: str, texts: str) -> Callable:
    """Return a call that gives every attack's scores, (n,) each: LOWER for members."""
    import torch

    source, moved = Path(os.environ["LLM_PBE"]), torch.Tensor.to
    for name in ("attacks", "attacks.MIA", "models"):
        package(name, source / name.replace(".", "/"))
    torch.Tensor.to = lambda self, *a, **k: moved(
        self, *("cpu" if x == "cuda" else x for x in a), **k
    )
    torch.Tensor.cuda = lambda self: self
    mia, whole = import_module("attacks.MIA.member_inference"), import_module("models.ft_clm")

    class Local(whole.FinetunedCasualLM):
        def load_local_model(self, model_path: str | None = None) -> None:
            self._lm, self._tokenizer = loaded(self.model_path)

    torch.set_num_threads(1)
    target, other = Local(model), Local(reference)
    asked = json.loads(Path(texts).read_text())
    names = {
        "loss": mia.MIAMetric.LOSS,
        "zlib": mia.MIAMetric.ZLIB,
        "min-k": mia.MIAMetric.MIN_K_PROB,
        "likelihood-ratio": mia.MIAMetric.LIRA,
    }
    attacks = {name: mia.MemberInferenceAttack(metric, other) for name, metric in names.items()}
    return lambda: {
        name: [float(attack._get_score(target, text)) for text in asked]
        for name, attack in attacks.items()
    }


def privacy_guard(
    model: str,
    texts: str,
    prefix: int,
    suffix: int,
    temperature: float,
    top_k: int,
    tries: list[int],
) -> Callable:
    """Return a call that gives how likely words come after the first ones, (n,) each."""
    sys.path.insert(0, os.environ["PRIVACY_GUARD"])
    import pandas as pd
    import torch

    extraction = "privacy_guard.attacks.extraction"
    predictor = import_module(f"{extraction}.predictors.huggingface_predictor")
    node = import_module(
        "privacy_guard.analysis.extraction.probabilistic_memorization_analysis_node"
    )
    torch.set_num_threads(1)
    words = [text.split() for text in json.loads(Path(texts).read_text())]
    cut = Path(texts).with_name("cut.jsonl")
    parts = {
        "prompt": [" ".join(each[:prefix]) for each in words],
        "target": [" " + " ".join(each[prefix : prefix + suffix]) for each in words],
    }
    pd.DataFrame(parts).to_json(cut, orient="records", lines=True)
    attack = import_module(f"{extraction}.logprobs_attack").LogprobsAttack(
        str(cut),
        None,
        predictor.HuggingFacePredictor(model, "cpu"),
        output_format=None,
        n_values=tries,
        temperature=temperature,
        top_k=top_k,
    )

    def measure() -> dict[str, list[float]]:
        found = node.ProbabilisticMemorizationAnalysisNode(attack.run_attack()).run_analysis()
        shares = {f"within {n}": [float(row[n]) for row in found.n_probabilities] for n in tries}
        return {"probability": found.model_probability.tolist(), **shares}

    return measure
