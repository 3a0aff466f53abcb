"""Made-up token log-probabilities of two causal models, with a leak that is planted or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privacygauge.language.energies import Energies
from privacygauge.language.likelihoods import RECALL, recall_signal
from privacygauge.language.scores import TextScores, text_scores
from privacygauge.language.token_signals import SideTokens, token_signals

VOCABULARY = 200


@dataclass(frozen=True)
class Made:
    """Texts of three sides."""

    sides: tuple[SideTokens, SideTokens, SideTokens]
    conditional: tuple[Energies, Energies, Energies]
    """Of each side, by the target after a prefix of non-members."""
    patient: np.ndarray
    """(n,) Side by side."""


def energies(
    log_probability: np.ndarray, size: np.ndarray, token: np.ndarray, more: dict[str, np.ndarray]
) -> Energies:
    """Return energies of one pass over texts of so many tokens."""
    place = np.concatenate([np.arange(1, n + 1) for n in size])
    none = np.zeros(len(size), int)
    return Energies(
        log_probability,
        np.repeat(np.arange(len(size)), size),
        np.zeros(len(place), int),
        place,
        place,
        size,
        none,
        none,
        further=more,
        token=token,
    )


def made(
    rng: np.random.Generator, lift: float = 0.0, patients: tuple[int, int, int] = (40, 40, 40)
) -> Made:
    """Return texts whose members' tokens are likelier to the target by `lift` nats, at most 0.

    Tokens are frequent or rare; how hard a token is, a text and a patient are, both models share.
    A prefix takes away half of what was lifted.
    """
    sides = []
    after = []
    owner = []
    first = 0
    for kind, n in enumerate(patients):
        patient = np.repeat(np.arange(n), rng.integers(1, 4, n))
        size = rng.integers(3, 40, len(patient))
        text = np.repeat(np.arange(len(size)), size)
        token = np.minimum(rng.zipf(1.5, len(text)) - 1, VOCABULARY - 1)
        hard = rng.normal(size=n)[patient] + rng.normal(size=len(size))
        base = np.log(0.2 + token / 10) + 0.3 * hard[text] + rng.normal(size=len(text))
        told = [
            np.minimum(-base - 5 + 0.5 * rng.normal(size=len(text)) + gift, -0.01)
            for gift in (lift * (kind == 0), 0.0)
        ]
        changed = told[0] - lift / 2 * (kind == 0) + 0.3 * rng.normal(size=len(text))
        after.append(energies(np.minimum(changed, -0.01), size, token, {}))
        more = {
            "mean": np.full(len(text), -6.0) + 0.1 * rng.normal(size=len(text)),
            "sd": 1 + rng.random(len(text)),
            "highest": np.maximum(told[0], -rng.exponential(4.0, len(text))),
        }
        texts = ["".join(chr(97 + x % 26) for x in token[text == i]) for i in range(len(size))]
        sides.append(
            SideTokens(
                texts, energies(told[0], size, token, more), energies(told[1], size, token, {})
            )
        )
        owner.append(first + patient)
        first += n
    return Made(
        (sides[0], sides[1], sides[2]), (after[0], after[1], after[2]), np.concatenate(owner)
    )


def scores_of(found: Made, seed: int = 0, *, recall: bool = True) -> TextScores:
    """Return all signals of the texts, as an audit judges them; ReCaLL only where asked for."""
    further, _ = token_signals(found.sides, found.patient, VOCABULARY, np.random.default_rng(seed))
    after = [
        recall_signal(side.target, its)
        for side, its in zip(found.sides, found.conditional, strict=True)
        if recall
    ]
    kind = np.repeat(np.arange(3), [len(side.texts) for side in found.sides])
    target, reference = (
        np.concatenate([getattr(side, name).mean() for side in found.sides])
        for name in ("target", "reference")
    )
    return text_scores(
        np.arange(len(kind)),
        target,
        kind == 0,
        energy_reference=reference,
        group=[f"p{number}" for number in found.patient],
        population=kind == 2,
        further={**further, **({RECALL: np.concatenate(after)} if recall else {})},
    )
