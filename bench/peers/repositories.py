"""OpenUnlearning, LLM-PBE and PrivacyGuard: attacks on a causal language model, as their public
code defines them. Privacy Meter and LeakPro: attacks on numbers per record.

OPEN_UNLEARNING, LLM_PBE, PRIVACY_GUARD, PRIVACY_METER and LEAKPRO name folders with their
repositories, which run with the packages that PrivacyGauge has. What they import for other work is
replaced by empty modules, and the GPU that LLM-PBE asks for by the processor.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
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


def from_privacy_meter(name: str) -> ModuleType:
    """Return a module of Privacy Meter."""
    if os.environ["PRIVACY_METER"] not in sys.path:
        sys.path.insert(0, os.environ["PRIVACY_METER"])
    logging.getLogger("privacy-meter").disabled = True
    return import_module(name)


def duci(signals: Any, population: Any, members: Any) -> float:
    """Return Privacy Meter's estimate of the share of records in the first model.

    Probabilities of true classes, (n, k) and of other people's records, (m, k), and who was in,
    (n, k). The second model tunes RMIA's constant, and all after it are its references.
    """
    logger = logging.getLogger("privacy-meter")
    mia = from_privacy_meter("modules.mia").MIA(logger)
    given = {"attack": "RMIA", "dataset": "any", "model": "any", "offline_a": None}
    found, _, _ = (
        from_privacy_meter("modules.duci")
        .DUCI(mia, logger, given)
        .pred_proportions([0], [list(range(2, signals.shape[1]))], signals, population, members)
    )
    return float(found[0])


def ranges(signals: Any, population: Any, members: Any, samples: int, trim: float) -> Any:
    """Return Privacy Meter's scores of ranges by RMIA, (n,): higher for members.

    Probabilities as for `duci`, (n * samples, k), those of one range side by side.
    """
    import numpy as np

    attacks = from_privacy_meter("attacks")
    inside = np.repeat(members, samples, axis=0)
    logger = logging.getLogger("privacy-meter")
    constant, _, _ = attacks.tune_offline_a(0, signals, population, inside, logger)
    half = (signals.shape[1] - 2) // 2
    scores = attacks.run_rmia(0, signals, population, inside, half, constant)
    return trimmed(scores.reshape(-1, samples), trim)


def trimmed(scores: Any, trim: float) -> Any:
    """Return Privacy Meter's mean of the highest scores of each range, (n,)."""
    return from_privacy_meter("modules.ramia.ramia_scores").trim_mia_scores(scores, trim, "bottom")


def privacy_meter(file: str, trims: list[float]) -> Callable:
    """Return a call that estimates the shares of use of some games, and trims scores of ranges."""
    import numpy as np

    with np.load(file) as archive:
        given = dict(archive)
    games = zip(given["signals"], given["population"], given["members"], strict=True)
    sides = [[part.T for part in game] for game in games]

    def measure() -> dict[str, Any]:
        means = [trimmed(given["scores"], trim).tolist() for trim in trims]
        return {"shares": [duci(*game) for game in sides], "trimmed": means}

    return measure


LEAKPRO_SIGNALS = ("MSE", "MAE", "SMAPE", "Trend", "Seasonality")


def lira_of_signals(
    said: Any, true: Any, members: Any, names: Sequence[str]
) -> tuple[Any, dict[str, Any]]:
    """Return LeakPro's likelihood ratio of several signals, (n,), and the first model's signals.

    Forecasts of all models, (k, n, t, c), what came, (n, t, c), and who was in, (n, k): the first
    model is the target.
    """
    import numpy as np
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    if "leakpro" not in sys.modules:
        package("leakpro", Path(os.environ["LEAKPRO"]) / "leakpro")
        os.environ["TQDM_DISABLE"] = "1"
        # What trains models, plots and keeps files.
        replaced("ts2vec", TS2Vec=None)
        replaced("leakpro.attacks.mia_attacks.abstract_mia", AbstractMIA=object)
        replaced("leakpro.attacks.utils.shadow_model_handler", ShadowModelHandler=None)
        replaced("leakpro.input_handler.mia_handler", MIAHandler=None)
        replaced("leakpro.input_handler.abstract_input_handler", AbstractInputHandler=None)
        replaced("leakpro.signals.signal_extractor", Model=None)
        result = SimpleNamespace(from_full_scores=lambda signal_values, **_: signal_values[:, 0])
        replaced("leakpro.reporting.mia_result", MIAResult=result)
    rule = import_module("leakpro.attacks.mia_attacks.multi_signal_lira").AttackMSLiRA
    # Whoever asks a model gives numbers of records.
    data = TensorDataset(torch.arange(len(true)), torch.tensor(true))
    data.targets = true
    handler = SimpleNamespace(get_dataloader=lambda rows, shuffle: DataLoader(data, 64))
    models = [SimpleNamespace(get_logits=lambda rows, x=x: x[rows.numpy()]) for x in said]
    made = import_module("leakpro.signals.signal").create_signal_instance
    signals = np.stack([made(name)(models, handler, None).T for name in names], axis=-1)
    attack = object.__new__(rule)
    attack.configs = rule.AttackConfig(
        signal_names=list(names), num_shadow_models=len(said) - 1, online=True
    )
    vars(attack).update(attack.configs.model_dump(), fix_var_threshold=32)
    attack.shadow_models_signals = signals[:, 1:]
    attack.target_model_signals = signals[:, 0]
    attack.in_indices_masks = members[:, 1:]
    attack.in_members = np.flatnonzero(members[:, 0])
    attack.out_members = np.flatnonzero(~members[:, 0])
    scores = np.empty(len(true))
    scores[np.r_[attack.in_members, attack.out_members]] = attack.run_attack()
    return scores, {name: signals[:, 0, i] for i, name in enumerate(names)}


def leakpro(file: str) -> Callable:
    """Return a call that gives signals of a forecaster, and their likelihood ratio, (n,) each."""
    import numpy as np

    with np.load(file) as archive:
        given = dict(archive)

    def measure() -> dict[str, list[float]]:
        asked = given["said"], given["true"], given["members"]
        _, signals = lira_of_signals(*asked, LEAKPRO_SIGNALS)
        ratio, _ = lira_of_signals(*asked, ["MSE"])
        return {name: x.tolist() for name, x in {**signals, "LiRA": ratio}.items()}

    return measure
