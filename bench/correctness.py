"""The same inputs through PrivacyGauge's rivals: what they answer is kept for the tests.

    python bench/correctness.py            print what each answers, in short
    python bench/correctness.py --write    and write tests/reference/peers.json

The inputs are those of tests/reference/made_inputs.py; tests/reference/test_peers.py computes the
truth by brute force and holds PrivacyGauge, and what is recorded here, against it.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from _duel import HERE, Side, SideError, started

REFERENCE = HERE.parent / "tests" / "reference"
DIGITS = 10


def inputs() -> ModuleType:
    """Return the inputs' module."""
    spec = importlib.util.spec_from_file_location("inputs", REFERENCE / "made_inputs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(peer: str, make: str, **arguments: Any) -> Side:
    """Return a function of a peer's script, in its environment."""
    return Side(peer, f"peers/{peer}.py", make, arguments, peer)


def here(make: str, **arguments: Any) -> Side:
    """Return a function for a repository that runs with PrivacyGauge's own packages."""
    return Side(make, "peers/repositories.py", make, arguments)


def sides(folder: Path, made: ModuleType) -> Iterator[tuple[str, Side]]:
    """Write every input, and return who is asked what about it."""

    def saved(name: str, **arrays: Any) -> str:
        np.savez(folder / f"{name}.npz", **arrays)
        return str(folder / f"{name}.npz")

    cases = dict(made.rankings())
    if (published := made.location30()) is not None:
        cases["location30"] = published
    rankings = saved("rankings", **{k: np.stack(v) for k, v in cases.items()})
    percents = [100 * fpr for fpr in made.FPRS]
    yield "rankings by tensorflow-privacy", asked("tensorflow-privacy", "metrics", file=rankings)
    yield "rankings by art", asked("art", "tprs", file=rankings, fprs=list(made.FPRS))
    yield "rankings by sacroml", asked("sacroml", "metrics", file=rankings, percents=percents)
    scores, members = made.noise()
    noise = saved("noise", scores=scores, members=members)
    yield "noise by tensorflow-privacy", asked("tensorflow-privacy", "epsilons", file=noise)
    games = made.canaries().items()
    parts = ("scores", "members", "delta")
    kept = {f"{k}/{part}": x for k, game in games for part, x in zip(parts, game[:3], strict=True)}
    yield "one run by jax-privacy", asked("jax-privacy", "bounds", file=saved("canaries", **kept))
    counts = {"counts": made.GUESSES, "delta": made.GUESSES_DELTA}
    yield "right guesses by jax-privacy", asked("jax-privacy", "bounds_of_counts", **counts)
    yield "right guesses by PrivacyGuard", asked("privacyguard", "bounds", file=noise, **counts)
    probs, labels = made.predictions()
    shifted = made.shifted(probs)
    entropy = saved("entropy", labels=labels, probs=probs, logits=np.log(probs), shifted=shifted)
    yield "entropy by tensorflow-privacy", asked("tensorflow-privacy", "entropies", file=entropy)
    probs, labels, member = made.two_classes()
    gap = saved("gap", probs=probs, labels=labels, member=member)
    yield "gap by art", asked("art", "gap", file=gap)
    x, y = made.records()
    records = saved("records", x=x, y=y, sizes=np.array(made.SIZES))
    yield "PDTP by art", asked("art", "pdtp_of_naive_bayes", file=records)
    logits, inside, target = made.worlds()
    worlds = saved("worlds", logits=logits, inside=inside, target=target)
    yield "LiRA by sacroml", asked("sacroml", "lira_scores", file=worlds)
    files = {}
    for name, values in made.tables().items():
        files[name] = str(folder / f"{name}.csv")
        head = ",".join(f"x{j}" for j in range(values.shape[1]))
        np.savetxt(files[name], values, delimiter=",", header=head, comments="")
    asked_rates = {**files, "attempts": 100, "secret": "x5"}
    yield "released by anonymeter", asked("anonymeter", "rates", **asked_rates)
    use = saved("usage", **made.usage())
    yield "use by Privacy Meter", here("privacy_meter", file=use, trims=list(made.TRIMS))
    yield "series by LeakPro", here("leakpro", file=saved("forecasts", **made.forecasts()))
    model = folder / "model"
    model.mkdir()
    made.save_model(model)
    texts = folder / "texts.json"
    texts.write_text(json.dumps(made.texts()))
    given = {"model": str(model), "texts": str(texts), "batch": 4}
    yield "energies by minicons", asked("minicons", "named_scores", **given)
    yield from of_causal_models(folder, made)


def of_causal_models(folder: Path, made: ModuleType) -> Iterator[tuple[str, Side]]:
    """Write two causal models and texts, and return who is asked what about them."""
    causal = {"target": folder / "target", "reference": folder / "other"}
    for seed, place in enumerate(causal.values()):
        place.mkdir()
        made.save_causal(place, seed)
    texts = folder / "long.json"
    texts.write_text(json.dumps(made.long_texts()))
    prefix = folder / "prefix.json"
    prefix.write_text(json.dumps(made.prefix()))
    given = {"model": str(causal["target"]), "texts": str(texts)}
    yield "next tokens by minicons", asked("minicons", "next_token_scores", **given)
    given |= {"reference": str(causal["reference"]), "prefix": str(prefix)}
    yield "signals by mimir", asked("mimir", "signals", **given)
    del given["prefix"]
    yield "signals by OpenUnlearning", here("open_unlearning", **given)
    yield "signals by LLM-PBE", here("llm_pbe", **given)
    del given["reference"]
    yield "extraction by PrivacyGuard", here("privacy_guard", **given, **made.WRITING)


def answer(side: Side) -> Any:
    """Return what a peer answers, or why it does not."""
    try:
        with started(side) as process:
            process.answer()
            return rounded(process.turn()["value"])
    except SideError as error:
        return {"error": str(error)}


def rounded(value: Any) -> Any:
    """Return numbers with as many digits as are kept."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(part) for key, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value


def main() -> None:
    """Ask all of them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="write tests/reference/peers.json")
    parser.add_argument("--only", default="", help="questions that hold this word")
    options = parser.parse_args()
    kept = REFERENCE / "peers.json"
    found = json.loads(kept.read_text()) if kept.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        for name, side in sides(Path(folder), inputs()):
            if options.only in name:
                found[name] = answer(side)
                print(f"{name}: {json.dumps(found[name])[:300]}", flush=True)
    if options.write:
        kept.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
