"""A realistic `Audit`, made by playing Gaussian scores through `privacygauge.evaluate`."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from privacygauge.classifiers.audit.result import Audit
from privacygauge.core.estimate import Skipped
from privacygauge.core.rules import Cut, Split
from privacygauge.core.seeds import stream
from privacygauge.core.transcript import Transcript
from privacygauge.evaluate import decision, epsilon
from privacygauge.evaluate.evaluation import evaluate
from privacygauge.evaluate.fairness import compare
from privacygauge.evaluate.headline import Fact, Headline
from privacygauge.evaluate.played import GameDescription, Records, answer_questions
from privacygauge.evaluate.rates import proportion
from privacygauge.evaluate.risk import Risk, assess_risk
from privacygauge.evaluate.roc import auc
from privacygauge.evaluate.slices import find_slices
from privacygauge.report.values import Origin

HOSTILE = (
    "<script>alert('id')</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "</td></tr></table>",
    "\u202egnp.exe\x1b[31m",
    "a" * 300,
)
"""Ids that an attacker of the reader would choose."""

ATTACKS = (  # name, variant, thresholds, shift of the members' scores
    ("correctness", "", "global", 0.25),
    ("confidence", "", "per-class", 1.0),
    ("confidence", "", "global", 0.8),
    ("entropy", "", "per-class", 0.55),
    ("modified-entropy", "", "per-class", 1.1),
    ("modified-entropy", "", "global", 0.9),
    ("lira-online", "fixed variance", "none", 1.6),
    ("lira-offline", "fixed variance", "none", 1.2),
    ("rmia", "online", "none", 1.5),
)


def example(
    n: int = 2000,
    *,
    shift: float = 1.0,
    attacks: tuple[tuple[str, str, str, float], ...] = ATTACKS,
    seed: int = 0,
    outliers: float = 0.0,
) -> Audit:
    """Return findings about `n` targets, half of them members.

    The scores of the members are N(`shift` times the attack's own shift, 1), those of the others
    N(0, 1); a share `outliers` of the members scores 8 more.
    """
    rng = stream(seed, "example")
    secret = rng.permutation(n) < n // 2
    hardness = rng.normal(size=n)
    exposed = secret & (rng.random(n) < outliers)
    evaluations = []
    scores = {}
    guesses = {}
    transcripts = []
    for name, variant, thresholds, mu in attacks:
        own = stream(seed, name, variant, thresholds).normal(size=n)
        score = 0.8 * hardness + 0.6 * own + mu * shift * secret + 8 * exposed
        if name == "correctness":
            score = (score > 0.5).astype(float)
        transcript = Transcript(score, secret)
        rule = Split(0.5, 1) if thresholds == "none" else Cut(mu / 2, "learnt on shadow records")
        decisions = rule.decide(transcript)
        notes = ("3 class(es) lack shadow members: 1, 2, 7",) if name == "entropy" else ()
        found = evaluate(
            name, transcript, decisions, variant=variant, thresholds=thresholds, notes=notes
        )
        evaluations.append(found)
        scores[found.title], guesses[found.title] = score, decisions.guess
        transcripts.append(transcript)
        last = decisions
    best = max(evaluations, key=lambda e: e.accuracy.low)
    bound, index = epsilon.audit_epsilon(transcripts)
    each = 1 - 0.05 / len(evaluations)
    headline = Headline(
        best,
        decision.balanced_accuracy(type(last)(guesses[best.title], secret), each),
        auc(Transcript(scores[best.title], secret), each),
        bound,
        evaluations[index].title,
        epsilon.largest_certifiable_epsilon(n // 4, n // 4),
        each,
    )
    risk, label, right = _risk(secret, hardness, shift, rng)
    age = np.array(["18-29", "30-44", "45-64", "65+"])[rng.integers(4, size=n)]
    site = np.array([f"clinic {i:02d}" for i in range(30)])[rng.integers(30, size=n)]
    site = site.astype(object)
    site[: n // 20] = '<b>rare</b> & "odd"'
    columns = {"age": age, "<i>site</i>": site.astype(str), "class": label}
    slices = find_slices(last, columns, evaluations[-1].title)
    known = {"class": label, "<i>site</i>": site.astype(str)}
    titles = [found.title for found in evaluations]
    return Audit(
        origin=Origin(
            "privacygauge classifier target.npz --shadow shadow.npz --seed 0",
            "0.1.0",
            seed,
            0.95,
            "2026-01-31",
            (
                Skipped("target-attention", "needs a generator: this audit is of a classifier"),
                Skipped("distance", "needs pairs of shadow models with and without each target"),
            ),
            (
                "Membership was given with the data, not drawn by coins: if members and "
                "non-members differ in other ways, attacks may find that difference <instead>.",
            ),
            {
                "python": "3.11.7",
                "numpy": "2.4.6",
                "target.npz sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f0"
                "0a08",
            },
        ),
        game=GameDescription(
            "fixed-split membership",
            "Was this record in the model's training data?",
            "The model's predicted probabilities for the record and its true label; one shadow "
            "model on records from the same population.",
            "Given with the data: the owner's own split into training and test records.",
            "On shadow records only; none of the judged rows was seen.",
            n // 2,
            n - n // 2,
        ),
        evaluations=tuple(evaluations),
        headline=headline,
        risk=risk,
        slices=slices,
        comparison=compare(known, secret, np.arange(n), stream(seed, "blind attacker")),
        questions=answer_questions(
            list(zip(titles, transcripts, strict=True)),
            slices,
            stream(seed, "few records"),
            headline.each,
        ),
        records=Records(_ids(n), secret, scores, guesses, _score(secret, hardness, shift)),
        facts=(
            Fact("Accuracy of the model on members", proportion(right[secret])),
            Fact("Accuracy of the model on non-members", proportion(right[~secret])),
        ),
    )


def _ids(n: int) -> np.ndarray:
    ids = np.array([f"patient-{i:05d}" for i in range(n)], dtype=object)
    ids[: len(HOSTILE)] = HOSTILE
    return ids


def _score(secret: np.ndarray, hardness: np.ndarray, shift: float) -> np.ndarray:
    # The posterior of N(shift, 1) against N(0, 1); the first ids get a certain place in the list.
    score = expit(shift * (hardness + shift * secret) - shift**2 / 2)
    score[: len(HOSTILE)] = 1.0
    return score


def _risk(
    secret: np.ndarray, hardness: np.ndarray, shift: float, rng: np.random.Generator
) -> tuple[Risk, np.ndarray, np.ndarray]:
    label = np.clip(np.round(hardness * 3 + 10 + rng.normal(size=len(secret)) * 2), 0, 19)
    label = label.astype(int)
    right = rng.random(len(secret)) < np.where(secret, 0.99, 0.85 - 0.02 * label)
    transcript = Transcript(_score(secret, hardness, shift), secret)
    risk = assess_risk(transcript, "isotonic", label, right, rng, notes=("shrinkage chosen: 20",))
    return risk, label, right
