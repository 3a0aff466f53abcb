"""Options of `privacygauge holdout attack`, and its run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from privacygauge.audits.asking import HelpGroup, Request, Role, asks, option, shares, with_low
from privacygauge.audits.command import Command
from privacygauge.holdout import names
from privacygauge.holdout.names import ATTACKS, GUARDS

if TYPE_CHECKING:
    from privacygauge.audits.holdout_attack.audit import HoldoutAudit
    from privacygauge.audits.work import Work
    from privacygauge.holdout.priors import Prior

METRICS = with_low(*shares("bias", "accuracy"))
"""Metrics that a test set can be held to."""


_NAME = "holdout attack"
_KNOWLEDGE = "What the attacker knows"
_knowledge_option = partial(asks, panel=_KNOWLEDGE)

_HELP = """Attack your own label file through the scores of submissions; nothing is submitted.

Example: privacygauge holdout attack --labels labels.npy --queries 2000

Example: privacygauge holdout attack --labels labels.npy --queries 2000 --attack nb,designed
--guard exact,round:2,ladder
"""


@dataclass(frozen=True, kw_only=True)
class AttackRequest(Request):
    """Options of an audit by attacks on a test set."""

    labels: str = asks(
        "FILE",
        "Hidden labels: integers from 0, or numbers with a metric of them, in .npy, .npz (no "
        "pickle), or .csv or .parquet with one column.",
    )
    queries: int = asks("N", "Number of submissions that each attack may make.")
    attacks: tuple[str, ...] = option(
        "--attack",
        "ATTACK",
        "Attacks to play: nb (naive Bayes), majority, majority-blum-hardt, scan, message-passing, "
        "linear-programming (small test sets), designed or reconstruction (of 40 labels; needs "
        "the extra solver); several as a,b. Default: nb.",
        default=("nb",),
        offers=ATTACKS,
    )
    guards: tuple[str, ...] = option(
        "--guard",
        "GUARD",
        "Guard that answers submissions: exact, round:2 (whole percent), noise:0.005, "
        "laplace:0.005, ladder, ladder:0.01 or thresholdout:0.04; several as a,b. Default: exact.",
        default=("exact",),
        offers=GUARDS,
    )
    metric: str = asks(
        "METRIC",
        "How submissions are scored, such as auc, top:5 or rmse:0:100, or FILE.py:NAME of your "
        "own. All but accuracy are attacked by nb alone, which knows how frequent each hidden "
        "value is.",
        default="accuracy",
        offers=names.METRICS,
        role=Role.CODE,
    )
    trials: int = asks("T", "Number of plays of each attack against each guard.", default=10)
    classes: int | None = asks(
        "M",
        "Number of classes. Default: the number of columns of --logits, or one more than the "
        "largest label.",
    )
    logits: str | None = _knowledge_option(
        "FILE", "A base model's logits for the examples, (n, m): .npy or .npz."
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
    prior: str = _knowledge_option(
        "uniform|classes",
        "Without --logits, what the attacker knows: uniform (nothing) or classes (how frequent "
        "each class is).",
        default="uniform",
        offers=("uniform", "classes"),
    )


def play(asked: AttackRequest, work: Work) -> HoldoutAudit:
    """Run the requested audit, playing the trials that the run does not hold yet."""
    from privacygauge.audits.holdout_attack.audit import audit_of
    from privacygauge.holdout.contest import contest_of
    from privacygauge.holdout.priors import Having

    prior = cast("Prior", asked.prior)
    having = Having(
        logits=asked.logits,
        top=asked.top,
        least_confident=asked.least_confident,
        temperature=asked.temperature,
        prior=prior,
    )
    with work.resumable(asked), work.bar("Playing attacks") as progress:
        running = work.running(_NAME, asked, progress)
        contest = contest_of(
            asked.labels,
            asked.queries,
            attacks=asked.attacks,
            guards=asked.guards,
            having=having,
            trials=asked.trials,
            classes=asked.classes,
            metric=asked.metric,
            seed=asked.seed,
        )
        return audit_of(contest, having, running)


COMMAND = Command(
    _NAME,
    group=HelpGroup.TEST_SET,
    request=AttackRequest,
    play=play,
    help=_HELP,
    metrics=METRICS,
    limits=(
        "Exit with code 3 if METRIC is above VALUE: bias or accuracy of the strongest attack; add "
        ".low for the lower end of the interval."
    ),
    trains=True,
    jobs=1,
    keeps=True,
)
