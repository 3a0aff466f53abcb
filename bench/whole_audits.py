"""Whole audits, from files to a report: what a user waits for, by us and by other libraries.

Every turn is a process of its own, timed from its start, imports included. Ours is the command
line with all attacks that it plays by default, every interval and the page; theirs is what the
library's own guide does: attacks, numbers, and the report where it writes one. One job each.

- From records: made up, 20 features and 5 classes, half of them the target's members; the target
  and 16 shadow models are trained. sacroml: LiRA and its worst-case attack (10 repetitions), each
  with its report in PDF and JSON. PrivacyGuard: LiRA on shadow models that its user trains, and
  its analysis with 1,000 bootstrap samples, in JSON.
- From predictions of 10 classes, of the target alone. sacroml: the worst-case attack with its
  report. tensorflow-privacy: the threshold attacks on losses and entropies and a trained one, on
  everything and each class; its summary, the best attack's ROC curve, and its results saved.
- From a released table, the records behind it and others: Adult, and a table that BayNet made, 500
  attempts of each kind. anonymeter: singling out by one and by several columns, linkability, and
  every column's inference, as JSON; it writes no page.
- From a causal language model of 4 layers of 256, another as reference, and texts of 64 tokens,
  half of them members. mimir: five of its attacks, its ROC metrics with 1,000 bootstrap samples,
  as JSON; it writes no page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from _duel import Duel, Side, table_alone

CLASSIFIER, MODELS, CLASSES = "whole audit of a classifier", 16, 10
ATTEMPTS = 500
OUT = "out"
WHOLE = "from files to a report, start-up and imports included; ours plays every attack it can and"
NOTES = {
    ("sacroml", "audit_of_records"): f"{WHOLE} writes a page, theirs LiRA and its worst-case "
    "attack, with a report in PDF of each",
    ("privacyguard", "audit_of_records"): f"{WHOLE} writes a page, theirs LiRA alone, its analysis "
    "with 1,000 bootstrap samples as JSON",
    ("tensorflow-privacy", "audit_of_predictions"): f"{WHOLE} writes a page, theirs three attacks "
    "on everything and each class, a summary in text and the best attack's ROC curve",
    ("sacroml", "audit_of_predictions"): f"{WHOLE} writes a page, theirs its worst-case attack, "
    "with a report in PDF",
    ("anonymeter", "audit"): f"{WHOLE} writes a page, theirs singling out, linkability and the "
    "inference of every column, as JSON",
    ("mimir", "audit"): f"{WHOLE} writes a page, theirs five attacks, their metrics with 1,000 "
    "bootstrap samples as JSON",
}
"""What a reader has to know about each side."""


def work(arguments: Sequence[str]) -> Callable[[], list[float]]:
    """Return a call that plays a command as a user starts it, down to the page."""

    def command() -> list[float]:
        from privacygauge.cli.main import run

        sys.argv = ["privacygauge", *arguments, "--jobs", "1", "--quiet", "--out", OUT]
        code = run()
        if code:
            sys.exit(code)
        return [float((Path(OUT) / "report.html").stat().st_size)]

    return command


def save_records(folder: Path, n: int) -> None:
    """Write n records as a table."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=n)
    x = rng.normal(size=(n, 20)) + rng.normal(size=(5, 20))[y]
    head = ",".join([*(f"x{i}" for i in range(20)), "label"])
    rows = np.column_stack([x, y])
    form = ["%.9g"] * 20 + ["%d"]
    np.savetxt(folder / f"records-{n}.csv", rows, form, ",", header=head, comments="")


def save_predictions(folder: Path, n: int) -> None:
    """Write a target's predictions."""
    from metric_attacks import made_up

    made = made_up(n, CLASSES, 0)
    file = folder / f"predictions-of-{CLASSES}-{n}.npz"
    np.savez(file, probs=made.values, labels=made.labels, member=made.member)


def save_models(folder: Path, n: int) -> None:
    """Write two causal models and n texts, half of them members."""
    from extraction import save

    for seed, name in enumerate(("target", "reference")):
        place = folder / f"causal-{name}"
        save(place, n, seed)
        # The class has another name in the version of transformers that mimir needs.
        file = place / "tokenizer_config.json"
        told = json.loads(file.read_text()) | {"tokenizer_class": "PreTrainedTokenizerFast"}
        file.write_text(json.dumps(told))
    texts = json.loads((folder / f"extraction-{n}.json").read_text())
    for name, part in (("members", texts[: n // 2]), ("nonmembers", texts[n // 2 :])):
        (folder / f"{name}-{n}.txt").write_text("\n".join(part) + "\n")


def classifiers(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of classifiers."""
    trained = ((1_000, "logistic"),)
    if not quick:
        trained += ((4_000, "logistic"), (1_000, "random-forest"))
    for n, model in trained:
        file = str(folder / f"records-{n}.csv")
        asked = ("--data", file, "--model", model, "--shadows", str(MODELS))
        given = {"file": file, "models": MODELS, "model": model}
        for peer, name in (("sacroml", "sacroml"), ("privacyguard", "PrivacyGuard")):
            yield audit(
                f"{CLASSIFIER}, {model}",
                (n, f"records, {MODELS} shadow models"),
                ("classifier", *asked),
                Side(name, f"peers/{peer}.py", "audit_of_records", given, peer),
                partial(save_records, folder, n),
            )
    for n in (5_000,) if quick else (5_000, 50_000):
        file = str(folder / f"predictions-of-{CLASSES}-{n}.npz")
        for peer in ("tensorflow-privacy", "sacroml"):
            yield audit(
                f"{CLASSIFIER}, from predictions",
                (n, f"predictions of {CLASSES} classes"),
                ("classifier", file),
                Side(peer, f"peers/{peer}.py", "audit_of_predictions", {"file": file}, peer),
                partial(save_predictions, folder, n),
            )


def tables(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of released tables."""
    from released_tables import SECRET, save

    for n in (1_000,) if quick else (1_000, 5_000):
        files = {x: str(folder / f"{x}-{n}.csv") for x in ("real", "synthetic", "holdout")}
        options = ("--synthetic", files["synthetic"], "--holdout", files["holdout"])
        options += ("--categorical", SECRET, "--attempts", str(ATTEMPTS))
        given = {**files, "attempts": ATTEMPTS}
        yield audit(
            "whole audit of a released table",
            (n, f"records of Adult a table, {ATTEMPTS} attempts"),
            ("synthetic", files["real"], *options),
            Side("anonymeter", "peers/anonymeter.py", "audit", given, "anonymeter"),
            partial(save, files, n),
        )


def language_models(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of language models."""
    for n in (40,) if quick else (40, 100):
        files = {x: str(folder / f"{x}-{n}.txt") for x in ("members", "nonmembers")}
        given = files | {x: str(folder / f"causal-{x}") for x in ("target", "reference")}
        asked = [text for name, value in given.items() for text in (f"--{name}", value)]
        yield audit(
            "whole audit of a language model",
            (n, "texts of 64 tokens"),
            ("language", *asked),
            Side("mimir", "peers/mimir.py", "audit", given, "mimir"),
            partial(save_models, folder, n),
        )


def audit(
    path: str,
    size: tuple[int, str],
    asked: Sequence[str],
    theirs: Side,
    prepare: Callable[[], object],
) -> Duel:
    """Return a line of two whole audits."""
    ours = Side(f"privacygauge {asked[0]}", __file__, "work", {"arguments": list(asked)})
    note = NOTES[theirs.peer, theirs.make]
    return Duel(path, *size, ours, theirs, turns=2, prepare=prepare, whole=True, note=note)


def duels(folder: Path, quick: bool) -> Iterator[Duel]:
    """Return the lines of the common table."""
    for part in (classifiers, tables, language_models):
        yield from part(folder, quick)


if __name__ == "__main__":
    table_alone(__doc__.splitlines()[0], duels)
