"""The reports of the gallery, one of each kind, made from small data in under a minute.

``python docs/make_gallery.py FOLDER`` makes them; building the site does so too.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import privacygauge as pg

WINDOW = (900, 1125)
"""Width and height of what a picture shows, in pixels of the page."""
SCALE = 0.5
"""Of the pictures."""


@dataclass(frozen=True)
class Report:
    """A report of the gallery."""

    name: str
    """Of its folder."""
    title: str
    """What is audited."""
    about: str
    """The data, in a sentence."""
    command: str
    """The command that writes such a report."""
    make: Callable[[Path], Any]
    """Returns the findings, which can write the report; gets the folder of the reports so far."""
    file: str = "report.html"
    """The page among the files that are written."""


def digits(seed: int) -> tuple[pg.Predictions, pg.Predictions]:
    """Return a forest's predictions on handwritten digits, and those of a shadow model."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier

    x, y = load_digits(return_X_y=True)
    quarters = np.array_split(np.random.default_rng(seed).permutation(len(y)), 4)
    made = []
    for inside, outside in (quarters[:2], quarters[2:]):
        model = RandomForestClassifier(random_state=seed).fit(x[inside], y[inside])
        rows = np.concatenate([inside, outside])
        member = np.isin(rows, inside)
        probs = model.predict_proba(x[rows])
        made.append(pg.predictions(probs=probs, labels=y[rows], member=member, ids=rows))
    return made[0], made[1]


def people() -> Any:
    """Return age, sex, body mass index, blood pressure and disease of 442 diabetes patients."""
    from sklearn.datasets import load_diabetes

    frame = load_diabetes(as_frame=True, scaled=False).frame
    frame["sex"] = frame["sex"].map({1.0: "1", 2.0: "2"})
    return frame[["age", "sex", "bmi", "bp", "target"]]


def classifier(_made: Path) -> Any:
    """Return the audit of a forest."""
    return pg.audit_classifier(*digits(0), command="classifier")


def defences(_made: Path) -> Any:
    """Return the audit of four defences of that forest."""
    from privacygauge.defences import LabelOnly, Rounding, Temperature, TopK

    tried = [LabelOnly(), Rounding(1), TopK(2), Temperature(5)]
    return pg.audit_defences(*digits(0), tried, command="defend")


def worst_case(_made: Path) -> Any:
    """Return what nearest neighbours give away of mislabelled digits, few and many of them."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import KNeighborsClassifier

    from privacygauge.classifiers.estimators import as_trainer

    x, y = (values[:1000] for values in load_digits(return_X_y=True))
    many = [(f"{k} neighbours", as_trainer(KNeighborsClassifier(k))) for k in (10, 50)]
    return pg.compare_worst_cases(
        KNeighborsClassifier(2),
        x,
        y,
        [pg.defences.OtherTraining(trainer, name) for name, trainer in many],
        n_canaries=100,
        n_models=24,
        fprs=(0.1, 0.01),
        command="worst-case",
    )


def dtp(_made: Path) -> Any:
    """Return how far each tumour moves a linear discriminant."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return pg.audit_dtp(pg.learners.LinearDiscriminant(), x[:, :10], y, command="dtp")


def attribute(_made: Path) -> Any:
    """Return whether a tree of the disease tells the sex of its patients."""
    from sklearn.tree import DecisionTreeClassifier

    x = people().astype(float)
    worse = (x.pop("target") > 140).astype(int)
    member = np.random.default_rng(0).random(len(x)) < 0.5
    tree = DecisionTreeClassifier(random_state=0).fit(x[member], worse[member])
    return pg.audit_attribute(
        tree, x, worse, sensitive="sex", member=member, name="sex", command="attribute"
    )


def claim(_made: Path) -> Any:
    """Return the audit of a claim that is false."""
    rng = np.random.default_rng(0)
    member = rng.random(1000) < 0.5
    canaries = {"score": 2.0 * member + rng.normal(size=1000), "member": member}
    return pg.audit_privacy_claim(canaries, epsilon=2.0, delta=1e-5, command="dp-audit")


def generator(_made: Path) -> Any:
    """Return the audit of SynthPop on the patients."""
    return pg.audit_synthetic(
        "synthpop", people(), targets=3, shadows=60, tests=40, size=100, command="synthetic"
    )


def released(_made: Path) -> Any:
    """Return the audit of a table that holds real records."""
    shuffled = people().sample(frac=1, random_state=0)
    real, holdout = shuffled[:221], shuffled[221:]
    out = real.sample(200, random_state=0)  # the worst synthetic table: real records
    return pg.audit_released(real, out, holdout, command="synthetic")


def language(_made: Path) -> Any:
    """Return the audit of energies of made-up texts."""
    import pandas as pd

    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(120), 10)
    role = who % 3  # a third members, a third not, a third population
    hard = rng.normal(2.0, 0.5, len(who))
    energies = {
        "sample": [f"text {i}" for i in range(len(who))],
        "group": [f"patient {i}" for i in who],
        "energy_reference": hard + rng.normal(0, 0.1, len(who)),
        "energy_target": hard + rng.normal(0, 0.1, len(who)) - 0.1 * (role == 0),
        "member": (role == 0).astype(int),
        "population": (role == 2).astype(int),
    }
    return pg.audit_language(pd.DataFrame(energies), command="language")


def extraction(_made: Path) -> Any:
    """Return the audit of made-up probabilities that a model writes the end of a note."""
    from privacygauge.kinds.session import Session
    from privacygauge.language.canaries import made_up_names
    from privacygauge.language.extracted import Extracted, JudgedTexts
    from privacygauge.language.extraction import SuffixLikelihoods
    from privacygauge.language.extraction_audit.audit import audit_of
    from privacygauge.language.model_options import Tries, Writing

    rng = np.random.default_rng(0)
    n, begins = 400, "The patient was seen again today, is well, and asked to "
    texts = tuple(
        f"{begins}call {name} on {day} May 2021."
        for name, day in zip(made_up_names(n, rng), rng.integers(1, 31, n), strict=True)
    )
    member = rng.random(n) < 0.5
    target, reference = -rng.exponential(40, n) - rng.exponential(2, (2, n))
    known = member & (rng.random(n) < 0.1)
    target[known], reference[known] = -rng.exponential(2, known.sum()), -200
    people, rows = tuple(f"patient {i}" for i in range(n)), np.arange(n)
    found = Extracted(
        JudgedTexts(people, texts, member, people, rows, np.ones(n, bool)),
        Writing(),
        Tries(),
        "token",
        np.full(n, 12),
        np.array([(len(begins), len(text)) for text in texts]),
        SuffixLikelihoods(target, target > -0.5),
        SuffixLikelihoods(reference, reference > -0.5),
    )
    return audit_of(found, Session("language extract"), {})


def canaries(_made: Path) -> Any:
    """Return what made-up losses say of canaries in a training."""
    from privacygauge.language.canaries import made_canaries
    from privacygauge.language.canary_audit import canary_audit

    made = made_canaries("The code of {name} is {digits:9}.", 200, copies=4)
    loss = np.random.default_rng(0).normal(30, 3, len(made.text) + len(made.compared))
    loss[: len(made.text)][made.inside] -= 6
    return canary_audit(made, -loss[: len(made.text)], loss)


def submissions(_made: Path) -> Any:
    """Return what submissions to a large test set can buy."""
    return pg.holdout_bounds(50_000, 1_000, 100, accounts=52, command="holdout bound")


def attacked(_made: Path) -> Any:
    """Return what two attacks make of the digits' labels."""
    from sklearn.datasets import load_digits

    labels = load_digits(return_X_y=True)[1][-900:]
    guards = ["exact", "round:2", "ladder"]
    return pg.attack_holdout(
        labels, 400, attacks=["nb", "scan"], guards=guards, trials=5, command="holdout attack"
    )


def history(_made: Path) -> Any:
    """Return the audit of a made-up log with one attacker."""
    from privacygauge.leaderboards.history.made import attacked_history

    made = attacked_history(np.random.default_rng(0), "nb", n=400, m=2, queries=60)
    return pg.audit_leaderboard(made, command="holdout log")


def register(made: Path) -> Any:
    """Return four of the reports side by side."""
    chosen = ("classifier", "generator", "language", "attacked")
    return pg.risk_register({name: made / name for name in chosen}, title="A made-up release")


REPORTS = (
    Report(
        "classifier",
        "A classifier",
        "A random forest trained on a quarter of 1,797 handwritten digits.",
        "privacygauge classifier",
        classifier,
    ),
    Report(
        "defences",
        "Defences of a classifier",
        "Four defences on the answers of that forest, attacked by those who know them.",
        "privacygauge defend",
        defences,
    ),
    Report(
        "worst_case",
        "Worst-case records of a classifier",
        "A hundred of 1,000 handwritten digits get a wrong label and are looked for.",
        "privacygauge worst-case",
        worst_case,
    ),
    Report(
        "dtp",
        "Differential training privacy",
        "How far each of 569 tumours moves a linear discriminant of breast cancer.",
        "privacygauge dtp",
        dtp,
    ),
    Report(
        "attribute",
        "Attribute inference",
        "Does a decision tree of diabetes tell the sex of the patients it was trained on?",
        "privacygauge attribute",
        attribute,
    ),
    Report(
        "claim",
        "A claim of differential privacy",
        "A made-up training that claims epsilon 2 and gives away more of 1,000 canaries.",
        "privacygauge dp-audit",
        claim,
    ),
    Report(
        "generator",
        "A generator of synthetic tables",
        "SynthPop on 442 diabetes patients; the three records most at risk.",
        "privacygauge synthetic --generator",
        generator,
    ),
    Report(
        "released",
        "A table that is out already",
        "A bad one: 200 of the patients themselves, beside a holdout.",
        "privacygauge synthetic --synthetic",
        released,
    ),
    Report(
        "language",
        "A language model",
        "Made-up energies of 1,200 texts of 120 patients.",
        "privacygauge language",
        language,
    ),
    Report(
        "extraction",
        "What a language model can be made to write",
        "Made-up probabilities of the ends of 400 notes, a few of which the model knows.",
        "privacygauge language extract",
        extraction,
    ),
    Report(
        "canaries",
        "Canaries in a language model",
        "Made-up losses of 200 canaries, half of them in the training four times.",
        "privacygauge language canaries measure",
        canaries,
    ),
    Report(
        "submissions",
        "What submissions can buy",
        "A test set of 50,000 images in 1,000 classes, and 5,200 submissions.",
        "privacygauge holdout bound",
        submissions,
    ),
    Report(
        "attacked",
        "Attacks on a test set",
        "The labels of 900 handwritten digits behind three guards, 400 submissions.",
        "privacygauge holdout attack",
        attacked,
    ),
    Report(
        "history",
        "A leaderboard's history",
        "A made-up log of eight honest teams and one attacker.",
        "privacygauge holdout log",
        history,
    ),
    Report(
        "register",
        "Several audits side by side",
        "Four of these reports in one risk register.",
        "privacygauge register",
        register,
        "register.html",
    ),
)
"""In the order of the page."""


def make(folder: Path, *, newer_than: float = 0.0) -> Iterator[Report]:
    """Write the reports that are not in `folder`, or too old, and yield each once it is there."""
    for report in REPORTS:
        page, picture = folder / report.name / report.file, folder / f"{report.name}.png"
        if changed(page) <= newer_than:
            report.make(folder).write(page.parent)
        if changed(picture) <= changed(page):
            photograph(page, picture)
        yield report


def changed(file: Path) -> float:
    """Return when a file was changed; 0 where there is none."""
    return file.stat().st_mtime if file.exists() else 0.0


def photograph(page: Path, picture: Path) -> None:
    """Take a picture of the top of a page, if there is a browser to take it."""
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if browser is None:
        return
    with tempfile.TemporaryDirectory() as profile:
        asked = [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--hide-scrollbars",
            f"--user-data-dir={profile}",
            f"--window-size={WINDOW[0]},{WINDOW[1]}",
            f"--force-device-scale-factor={SCALE}",
            f"--screenshot={picture}",
            page.resolve().as_uri(),
        ]
        subprocess.run(asked, check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    for done in make(Path(sys.argv[1])):
        sys.stdout.write(f"{done.title}\n")
