"""Playing attacks on rounds that were dealt, and picking the result to speak of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from joblib import Parallel, cpu_count, delayed

from privacygauge.core import seeds
from privacygauge.core.estimate import Estimate, Skipped
from privacygauge.core.game import Attack, Play, Round, play
from privacygauge.errors import InputError
from privacygauge.evaluate.decision import balanced_accuracy
from privacygauge.evaluate.epsilon import audit_epsilon, largest_certifiable_epsilon
from privacygauge.evaluate.evaluation import Evaluation, evaluate, title
from privacygauge.evaluate.findings import Headline


def audit(
    rounds: Sequence[Round],
    attacks: Sequence[Attack],
    *,
    seed: int = 0,
    level: float = 0.95,
) -> list[tuple[Play, Evaluation] | Skipped]:
    """Return what every attack did in rounds that were dealt already.

    Parameters
    ----------
    rounds : sequence of Round
        From a game's `deal`; dealing is the only step that trains anything.
    attacks : sequence of Attack
    seed : int
        Every attack draws from a generator of its own, so that a further attack changes no
        other's numbers.
    level : float
        Of every interval, in (0, 1).

    Returns
    -------
    list of (Play, Evaluation) or Skipped
        In the order of `attacks`.
    """
    titles = [title(attack.name, attack.variant, attack.thresholds) for attack in attacks]
    twice = next((name for name in titles if titles.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two attacks are called {twice!r}: give one of them a variant")
    # Threads: scores are numpy's work, which lets go of the interpreter, on shared arrays.
    n_jobs = min(cpu_count(), len(attacks)) if rounds and len(rounds[0].secret) > 20_000 else 1
    return list(
        Parallel(n_jobs, backend="threading")(
            delayed(_audit_one)(attack, rounds, seed, level) for attack in attacks
        )
    )


def _audit_one(
    attack: Attack, rounds: Sequence[Round], seed: int, level: float
) -> tuple[Play, Evaluation] | Skipped:
    role = ("attack", attack.name, attack.variant, attack.thresholds)
    played = play(attack, rounds, [seeds.stream(seed, *role, i) for i in range(len(rounds))])
    if isinstance(played, Skipped):
        return played
    evaluation = evaluate(
        attack.name,
        played.transcript,
        played.decisions,
        level,
        variant=attack.variant,
        thresholds=attack.thresholds,
        notes=played.notes,
    )
    return played, evaluation


def headline(
    played: Sequence[tuple[Play, Evaluation]], *, seed: int = 0, level: float = 0.95
) -> Headline:
    """Return the result that the verdict speaks of.

    Parameters
    ----------
    played : sequence of (Play, Evaluation)
        All attacks that were played, on the same rounds.
    seed : int
        Fixes on which records the attack behind epsilon is chosen.
    level : float
        In (0, 1).

    Returns
    -------
    Headline
        The attack with the highest lower end, its interval corrected for the choice; epsilon
        from attack and threshold that were chosen on other records.
    """
    # Bonferroni: the interval of the best of m attacks must hold for all m.
    each = 1 - (1 - level) / len(played)
    together = [balanced_accuracy(p.decisions, each) for p, _ in played]
    best = int(np.argmax([accuracy.low for accuracy in together]))
    corrected = together[best]
    accuracy = Estimate(
        corrected.value,
        corrected.low,
        corrected.high,
        level,
        corrected.n,
        f"{corrected.method}, Bonferroni over {len(played)} attacks",
    )
    bound, chosen = audit_epsilon([p.transcript for p, _ in played], level=level, seed=seed)
    decisions = played[0][0].decisions
    n_in, n_out = decisions.independent
    limit = largest_certifiable_epsilon(n_in // 2, n_out // 2, level)
    return Headline(played[best][1], accuracy, bound, played[chosen][1].title, limit)
