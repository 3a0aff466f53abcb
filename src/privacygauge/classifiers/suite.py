"""The default attacks of a classifier audit."""

from __future__ import annotations

from collections.abc import Sequence

from privacygauge.classifiers.learned import Learned, WholeAnswer
from privacygauge.classifiers.neural import NeuralNasr, NeuralShokri, Untargeted
from privacygauge.classifiers.quantiles import QuantileRegression
from privacygauge.classifiers.targeted import Design, Distance, Frequency
from privacygauge.core import checks
from privacygauge.core.attacks.bavaria import Bavaria
from privacygauge.core.attacks.calibrated import CalibratedOffline, CalibratedOnline
from privacygauge.core.attacks.lira import LiraOffline, LiraOnline
from privacygauge.core.attacks.rmia import RmiaOffline, RmiaOnline
from privacygauge.core.attacks.threshold import Threshold
from privacygauge.core.estimate import Skipped
from privacygauge.core.game import Attack
from privacygauge.errors import InputError

METRICS = ("correctness", "confidence", "entropy", "modified-entropy")
"""The metric attacks of Song & Mittal (2021)."""


def prediction_attacks(*, logits: bool = False, features: bool = False) -> tuple[Attack, ...]:
    """Return the suite for predictions: metric attacks, per class and global, and learned attacks.

    Parameters
    ----------
    logits : bool
        Whether logits are available. Only then does the scaled logit rank records differently from
        the confidence, and is included.
    features : bool
        Whether the records themselves are known: then quantile regression is included.
    """
    metrics = (*METRICS, "scaled-logit") if logits else METRICS
    per_class = tuple(Threshold(name, per_class=True) for name in metrics)
    overall = tuple(Threshold(name, per_class=False) for name in metrics)
    learnt = (Learned(), WholeAnswer())
    return (*per_class, *overall, *learnt, *((QuantileRegression(),) if features else ()))


def pool_attacks(*, logits: bool = False) -> tuple[Attack, ...]:
    """Return the suite for a pool of shadow models: all of `prediction_attacks`, and more.

    Neural attacks learn on the rows of all the pool's models; the others compare the target with
    the models that hold a record and those that do not.

    Parameters
    ----------
    logits : bool
        Whether logits are available.
    """
    return (
        *prediction_attacks(logits=logits, features=True),
        NeuralShokri(),
        NeuralNasr(),
        Untargeted(),
        *single_record_attacks("shared"),
    )


def chosen_attacks(
    chosen: Sequence[Attack | str] | None, suite: Sequence[Attack]
) -> tuple[Sequence[Attack], tuple[Skipped, ...]]:
    """Return the attacks to play, and the others of the suite as skipped; see `audit_classifier`.

    Parameters
    ----------
    chosen : sequence of Attack or str, optional
        Attacks, or names of attacks of the suite, also without what follows a hyphen: ``lira`` for
        ``lira-online`` and ``lira-offline``. Default: all of the suite.
    suite : sequence of Attack

    Raises
    ------
    InputError
        If no attack of the suite has one of the names, or something is neither.
    """
    if chosen is None:
        return suite, ()
    is_sequence = isinstance(chosen, Sequence) and not isinstance(chosen, str)
    by_object = [one for one in chosen if not isinstance(one, str)] if is_sequence else chosen
    checks.kinds(by_object, "attacks", "score", "pg.attacks.Threshold(...)")
    known = tuple(dict.fromkeys(attack.name for attack in suite))
    names: dict[str, None] = {}
    for name in chosen:
        if isinstance(name, str):
            found = [one for one in known if one == name or one.startswith(f"{name}-")]
            if not found:
                raise InputError(
                    f"attacks must be among {checks.short_list(known, len(known))}, got {name!r}"
                )
            names |= dict.fromkeys(found)
    attacks = [attack for attack in suite if attack.name in names]
    attacks += [attack for attack in chosen if not isinstance(attack, str)]
    left = (name for name in known if names and name not in names)
    return attacks, tuple(Skipped(name, _OTHERS) for name in left)


_OTHERS = "other attacks were chosen"


def single_record_attacks(design: Design) -> tuple[Attack, ...]:
    """Return the attacks that compare models with and without each record."""
    return (
        Distance(design=design),
        Frequency(design=design),
        LiraOnline(),
        LiraOffline(),
        CalibratedOnline(),
        CalibratedOffline(),
        RmiaOnline(),
        RmiaOffline(a=None),
        Bavaria(),
    )


def candidate_attacks(design: Design) -> tuple[Attack, ...]:
    """Return the attacks of Long et al. (2017), and later attacks on single records."""
    return (Untargeted(), *single_record_attacks(design))


FORETOLD = (LiraOnline(), CalibratedOnline())
"""Attacks for which an audit predicts the results with more shadow models."""
