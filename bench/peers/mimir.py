"""mimir: attacks on a causal language model, as its public code defines them.

mimir is on no index: MIMIR names a folder with its repository. What it imports for other work
(data sets, remote models) is replaced by empty modules.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

UNUSED = ("hf_olmo", "openai", "datasets", "nltk", "nltk.tokenize")


def loaded(model: str, reference: str) -> tuple:
    """Return the target, and its attacks by our names."""
    sys.path.insert(0, os.environ["MIMIR"])
    os.environ |= {"MIMIR_CACHE_PATH": "unused", "MIMIR_DATA_SOURCE": "unused"}
    for name in UNUSED:
        sys.modules[name] = ModuleType(name)
        sys.modules[name].__spec__ = ModuleSpec(name, None)
    sys.modules["nltk.tokenize"].WhitespaceTokenizer = None
    import torch
    from mimir.attacks.loss import LOSSAttack
    from mimir.attacks.min_k import MinKProbAttack
    from mimir.attacks.min_k_plus_plus import MinKPlusPlusAttack
    from mimir.attacks.recall import ReCaLLAttack
    from mimir.attacks.reference import ReferenceAttack
    from mimir.attacks.zlib import ZLIBAttack
    from mimir.models import LanguageModel, ReferenceModel

    torch.set_num_threads(1)
    place = dict.fromkeys(("device", "device_aux"), "cpu")
    device = SimpleNamespace(cache_dir=None, device_map=None, compile=False, **place)
    config = SimpleNamespace(
        env_config=device,
        openai_config=None,
        revision=None,
        base_model=model,
        dataset_member="",
        dataset_nonmember="",
        pretokenized=False,
    )
    target, other = LanguageModel(config), ReferenceModel(config, reference)
    return target, {
        "loss": LOSSAttack(config, target),
        "zlib": ZLIBAttack(config, target),
        "min-k": MinKProbAttack(config, target),
        "min-k++": MinKPlusPlusAttack(config, target),
        "likelihood-ratio": ReferenceAttack(config, target, other),
        "recall": ReCaLLAttack(config, target),
    }


def scored(target, attacks: dict, texts: list[str], recall: dict) -> dict[str, list[float]]:
    """Return every attack's scores, (n,) each: LOWER for members."""
    import numpy as np

    found: dict[str, list[float]] = {name: [] for name in attacks}
    for text in texts:
        probs, everything = target.get_probabilities(text, return_all_probs=True)
        for name, attack in attacks.items():
            own = None if name == "likelihood-ratio" else np.array(probs)
            score = attack.attack(text, own, all_probs=everything, recall_dict=recall)
            found[name].append(float(score))
    return found


def signals(model: str, reference: str, texts: str, prefix: str) -> Callable:
    """Return a call that gives every attack's scores, (n,) each: LOWER for members."""
    target, attacks = loaded(model, reference)
    asked, put = (json.loads(Path(file).read_text()) for file in (texts, prefix))
    recall = {"prefix": put, "num_shots": len(put), "avg_length": 1}
    return lambda: scored(target, attacks, asked, recall)


def audit(target: str, reference: str, members: str, nonmembers: str) -> Callable:
    """Return a call that plays all attacks but ReCaLL, and writes their metrics."""

    def measure() -> list[float]:
        loaded_target, attacks = loaded(target, reference)
        del attacks["recall"]
        from mimir.attacks.attack_utils import get_precision_recall_metrics, get_roc_metrics

        inside, outside = (
            scored(loaded_target, attacks, Path(file).read_text().splitlines(), {})
            for file in (members, nonmembers)
        )
        told = {}
        for name in attacks:
            both = {"preds_member": inside[name], "preds_nonmember": outside[name]}
            fpr, tpr, area, interval = get_roc_metrics(**both, perform_bootstrap=True)
            ends = interval.confidence_interval
            _, _, area_of_precision = get_precision_recall_metrics(**both)
            told[name] = {
                "auc": [float(area), float(ends.low), float(ends.high)],
                "pr_auc": float(area_of_precision),
                "curve": [list(map(float, fpr)), list(map(float, tpr))],
                "scores": [inside[name], outside[name]],
            }
        Path("report.json").write_text(json.dumps(told))
        return [float(len(told))]

    return measure
