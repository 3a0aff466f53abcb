"""What a shell offers for a value: known names, metrics, folders of audits. Imports nothing heavy.

The names are written down here a second time, so that a shell need not wait for the packages that
use them; `tests/cli/test_completion.py` compares both.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import typer

from privacygauge.cli.commands import COMMANDS

MODELS = (
    "random-forest",
    "gradient-boosting",
    "logistic",
    "naive-bayes",
    "nearest",
    "network",
    "network-large",
)
"""Of ``classifier --model``."""

DTP_MODELS = (
    "naive-bayes",
    "bayes-inference",
    "random-trees",
    "logistic",
    "lda",
    "qda",
    "least-squares",
    "nearest",
    "random-forest",
    "gradient-boosting",
    "network",
    "network-large",
)
"""Of ``dtp --model``."""

HOLDOUT_ATTACKS = (
    "nb",
    "majority",
    "majority-blum-hardt",
    "scan",
    "message-passing",
    "linear-programming",
    "designed",
    "reconstruction",
)
"""Of ``holdout attack --attack``."""

GUARDS = (
    "exact",
    "round:2",
    "noise:0.005",
    "laplace:0.005",
    "ladder",
    "ladder:0.01",
    "thresholdout:0.04",
)
"""Of ``holdout --guard``."""

TRAINING_DEFENCES = (
    "early-stopping:10",
    "l2:0.01",
    "dropout:0.5",
    "adversarial-regularisation:1",
    "dp-sgd:8",
    "dp-sgd-opacus:8",
    "removal:0.05",
)
"""Of ``worst-case --defence``."""

DEFENCES = (
    "memguard:1",
    "binning:0.01",
    "rounding:2",
    "top-k:3",
    "temperature:5",
    "label-only",
    *TRAINING_DEFENCES,
)
"""Of ``defend --defence``."""

WRONG_LABELS = ("uniform", "least-likely")
"""Of ``worst-case --wrong-label``."""

RISKS = ("isotonic", "histogram")
"""Of ``classifier --risk``."""

BACKENDS = ("loky", "threading", "dask", "ray")
"""Of ``--backend``."""

_ATTACKS = ("accuracy", "advantage", "auc", "epsilon", "risk", "tpr@0.1", "tpr@0.01", "tpr@0.001")


def _with_low(*names: str) -> tuple[str, ...]:
    return tuple(name for metric in names for name in (metric, f"{metric}.low"))


METRICS: dict[str, tuple[str, ...]] = {
    "demo": _with_low(*_ATTACKS),
    "classifier": _with_low(*_ATTACKS),
    "defend": _with_low("accuracy", "auc", "accuracy-left", "auc-left"),
    "worst-case": _with_low(
        "tpr", "tpr@0.1", "tpr@0.01", "tpr@0.001", "auc", "tpr-left", "auc-left"
    ),
    "dtp": ("pdtp", "mean", "dtp", "dtp-upper", "share"),
    "attack": _with_low("bias", "accuracy"),
    "bound": ("bias", "honest", "nb", "majority", "scan", "kl", "theorem-3-1"),
    "log": ("findings", "suspects", "explained"),
    "dp-audit": ("epsilon", "epsilon-gaussian"),
    "register": (
        "severity",
        *_with_low("accuracy", "auc", "worst", "beyond", "bias", "tpr"),
        *_with_low("accuracy-left", "tpr-left", "auc-left", "patient-accuracy", "patient-auc"),
        *("epsilon", "dtp", "dtp-upper", "pdtp", "honest", "findings", "suspects"),
    ),
}
"""What ``--fail-above`` takes, by the last word of the command."""

_RESUMABLE = ("classifier", "defend", "dtp", "attack", "worst-case")


def names(*known: str) -> Callable[[str], list[str]]:
    """Return what completes a value that is one of the names, or several with commas."""

    def complete(incomplete: str) -> list[str]:
        begun, comma, last = incomplete.rpartition(",")
        return [f"{begun}{comma}{name}" for name in known if name.startswith(last)]

    return complete


def metrics(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the metrics of ``--fail-above`` for the command at hand."""
    command = ctx.info_name or ""
    # What a run may be held to depends on the command that started it.
    commands = (command,) if command in METRICS else _RESUMABLE
    lists = [METRICS[name] for name in commands]
    if command not in METRICS:
        lists += [found.metrics for found in COMMANDS if found.keeps]
    known = dict.fromkeys(name for names in lists for name in names)
    return [f"{name}=" for name in known if name.startswith(incomplete)]


def reproductions(incomplete: str) -> list[str]:
    """Return the names of ``reproduce``, as its catalogue lists them, and ``all``."""
    catalogue = Path(__file__).parents[1] / "reproduce" / "catalogue.py"
    try:
        text = catalogue.read_text(encoding="utf-8")
    except OSError:
        return []
    # Read and not imported: the catalogue imports every domain.
    known = re.findall(r'\bReproduction\(\s*"([\w-]+)"', text)
    return [name for name in (*known, "all") if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """Return folders that hold a run, or else folders to look in."""
    return _folders(incomplete, ("run.json", "run/run.json"))


def reports(incomplete: str) -> list[str]:
    """Return folders that hold a report, or else folders to look in."""
    return _folders(incomplete, ("report.json",))


def reports_and_runs(incomplete: str) -> list[str]:
    """Return folders that hold a run or a report, or else folders to look in."""
    return _folders(incomplete, ("report.json", "run.json", "run/run.json"))


def _folders(incomplete: str, marks: tuple[str, ...]) -> list[str]:
    """Return the folders that hold one of the files, then the others with a slash to go on."""
    head, slash, start = incomplete.rpartition("/")
    try:
        found = sorted(
            path.name
            for path in Path(head + slash or ".").iterdir()
            if path.name.startswith(start) and path.is_dir() and not path.name.startswith(".")
        )
    except OSError:
        return []
    place = Path(head + slash)
    marked = [name for name in found if any((place / name / mark).exists() for mark in marks)]
    others = [f"{name}/" for name in found if name not in marked]
    return [f"{head}{slash}{name}" for name in (*marked, *others)]
