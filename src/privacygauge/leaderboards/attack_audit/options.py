"""Options of the audit of a test set by attacks on its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from privacygauge.kinds.request import Request
from privacygauge.leaderboards import names
from privacygauge.leaderboards.names import ATTACKS, GUARDS
from privacygauge.runs.options import Options, Role, asks, option

if TYPE_CHECKING:
    from privacygauge.leaderboards.mechanism import Guard
    from privacygauge.leaderboards.metrics import Metric

_knowledge_option = partial(asks, panel="What the attacker knows")


@dataclass(frozen=True, kw_only=True)
class AttackDesign(Options):
    """Attacks, guards, repetitions, and the knowledge of the attacker."""

    attacks: Sequence[str] = option(
        "--attack",
        "ATTACK",
        "Attacks to play: nb (naive Bayes), majority, majority-blum-hardt, scan, hill-climbing, "
        "message-passing, linear-programming (small test sets), designed or reconstruction (of 40 "
        "labels; needs the extra solver); several as a,b. Default: nb.",
        default=("nb",),
        offers=ATTACKS,
    )
    guards: Sequence[Guard | str] = option(
        "--guard",
        "GUARD",
        "Guard that answers submissions: exact, round:2 (whole percent), noise:0.005, "
        "laplace:0.005, ladder, ladder:0.01 or thresholdout:0.04; several as a,b. Default: exact.",
        default=("exact",),
        offers=GUARDS,
    )
    metric: str | Metric = asks(
        "METRIC",
        "How submissions are scored, such as auc, top:5 or rmse:0:100, or FILE.py:NAME of your "
        "own. All but accuracy are attacked by nb, which knows how frequent each hidden value is, "
        "and F1, balanced accuracy and kappa of two classes by bisection too.",
        default="accuracy",
        offers=names.METRICS,
        role=Role.CODE,
    )
    trials: int = asks(
        "T",
        "Number of plays of each attack against each guard; intervals need at least 2.",
        default=10,
    )
    classes: int | None = asks(
        "M",
        "Number of classes. Default: the number of columns of --logits, or one more than the "
        "largest label.",
    )
    top: int | None = _knowledge_option(
        "N", "Try only the N labels of each example that the model finds likeliest."
    )
    least_confident: int | None = _knowledge_option(
        "N", "Attack only the N examples of which the model is least sure."
    )
    temperature: float = _knowledge_option(
        "T", "Divisor of the logits: above 1 for an overconfident model.", default=1.0
    )
    prior: str | None = _knowledge_option(
        "uniform|classes",
        "Without --logits, what the attacker knows: uniform (nothing) or classes (how frequent "
        "each class is). Default: classes, unless all are equally frequent.",
        offers=("uniform", "classes"),
    )


@dataclass(frozen=True, kw_only=True)
class AttackRequest(AttackDesign, Request):
    """Options of an audit by attacks on a test set."""

    labels: str = asks(
        "FILE",
        "Hidden labels: integers from 0, or numbers with a metric of them, in .npy, .npz (no "
        "pickle), or .csv or .parquet with one column, perhaps beside id. Texts in a table are "
        "numbered in alphabetical order.",
    )
    queries: int = asks("N", "Number of submissions that each attack may make.")
    logits: str | None = _knowledge_option(
        "FILE", "A base model's logits for the examples, (n, m): .npy or .npz."
    )
