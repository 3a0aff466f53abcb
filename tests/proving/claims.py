"""Worlds of claims: canaries of mechanisms whose epsilon is known, leave-one-out, defences.

The scores of canaries come from mechanisms whose privacy is known in closed form, the predictions
behind a defence from a model with a planted leak, and the tables of leave-one-out audits are small
enough to be counted by hand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from privacygauge.evaluate.sampled_steps import gaussian_epsilon
from tests.proving.judge import STEPS
from tests.proving.played import Oracle, Played, Truth, command
from tests.proving.world import Factor, Grammar, Relation, World

Floats = NDArray[np.float64]

_OF_CANARIES = (
    Factor("n", ("400", "30", "100", "1000", "3000"), "400", 0.6, about="canaries, or trainings"),
    Factor(
        "mechanism",
        ("gaussian", "laplace", "response", "geometric", "staircase"),
        "gaussian",
        0.6,
        about="that hides a canary",
    ),
    Factor("epsilon", ("1", "0", "0.3", "2", "4", "8"), "1", 0.6, about="that holds"),
    Factor("claim", ("true", "double", "half", "fifth"), "true", 0.5, about="of what holds"),
    Factor("delta", ("1e-5", "0", "1e-2", "0.1"), "1e-5", 0.4, about="claimed"),
    Factor("attack", ("best", "blind", "weak"), "best", 0.3, about="that scores"),
    Factor("control", ("none", "strong", "blind"), "none", 0.5, about="without the mechanism"),
    Factor("runs", ("one", "many", "sequential"), "one", 0.4, about="as asked"),
    Factor("guesses", ("auto", "all", "split", "20"), "auto", 0.2, about="as asked"),
    Factor("steps", ("none", "1", "100"), "none", 0.3, about="as asked"),
    Factor("rate", ("1", "0.1"), "1", 0.3, about="of sampling as asked"),
    Factor("coin", ("0.5", "0.3"), "0.5", 0.06, about="of each canary"),
    Factor("rows", ("one", "two", "unequal"), "one", 0.15, about="a person"),
    Factor("unit", ("given", "id"), "given", 0.3, about="how persons are told"),
    Factor("reversed", ("no", "yes"), "no", 0.06, about="scores"),
    Factor("scale", ("plain", "exp", "tiny", "huge"), "plain", 0.2, about="of the scores"),
    Factor("rounded", ("full", "2", "0", "constant"), "full", 0.2, about="scores"),
    Factor("level", ("0.95", "0.8", "0.99"), "0.95", 0.15, about="as asked"),
)
_OF_FILES = (
    Factor("format", ("csv", "jsonl", "npz", "parquet"), "csv", 0.3, about="of canaries"),
    Factor("ids", ("none", "number", "padded"), "none", 0.3, about="of the canaries"),
    Factor("order", ("drawn", "sorted"), "drawn", 0.15, about="of the rows"),
    Factor("columns", ("usual", "reversed", "further"), "usual", 0.15, about="of the file"),
    Factor("member", ("number", "true", "float"), "number", 0.15, about="how bits are written"),
    Factor("missing", ("none", "some"), "none", 0.03, about="scores"),
)
_OF_TABLES = (
    Factor("records", ("60", "12", "200"), "60", 0.5, about="of the table"),
    Factor("attributes", ("3", "1", "6"), "3", 0.4, about="columns"),
    Factor("levels", ("3", "2", "12"), "3", 0.4, about="of each column"),
    Factor("alpha", ("1", "0.1", "0"), "1", 0.3, about="smoothing"),
    Factor("bin", ("0", "0.01"), "0", 0.3, about="width of answers"),
    Factor("label", ("label", "class-name"), "label", 0.2, about="name of the column of classes"),
    Factor("classes", ("2", "4"), "2", 0.3, about="of the table"),
    Factor("gap", ("none", "some"), "none", 0.1, about="empty cells"),
    Factor("repeats", ("none", "all"), "none", 0.1, about="equal rows"),
    Factor(
        "model",
        ("naive-bayes", "logistic", "pipeline", "one-hot", "unseeded"),
        "naive-bayes",
        0.15,
        about="logistic on numbers of unlike size, or scikit-learn's of the user's own",
    ),
)
_OF_DEFENCES = (
    Factor("judged", ("300", "150", "700"), "300", 0.5, about="members, and as many others"),
    Factor("leak", ("none", "slight", "clear"), "none", 0.6, about="of the undefended model"),
    Factor(
        "defence",
        ("rounding", "label-only", "temperature", "three"),
        "rounding",
        0.6,
        about="compared",
    ),
    Factor("sides", ("alike", "swapped"), "alike", 0.06, about="of the predictions"),
)
_AUDIT = Factor(
    "audit", ("canaries", "dtp", "defend"), "canaries", 0.4, (0.6, 0.4), "which command"
)
_BELONGS = {
    "canaries": {factor.name for factor in (*_OF_CANARIES, *_OF_FILES)},
    "dtp": {factor.name for factor in _OF_TABLES},
    "defend": {factor.name for factor in _OF_DEFENCES},
}


class Claims(Grammar):
    """Canary scores for ``dp-audit``, tables for ``dtp``, predictions for ``defend``."""

    name = "claims"
    factors = (_AUDIT, *_OF_CANARIES, *_OF_FILES, *_OF_TABLES, *_OF_DEFENCES)
    relations = (
        Relation("the audit once more", {}, "everything or refused", {"model": ("unseeded",)}),
        Relation("another format", {"format": "parquet"}, "everything"),
        Relation("other columns", {"columns": "further"}, "everything"),
        Relation("bits as words", {"member": "true"}, "everything"),
        Relation("ids", {"ids": "number"}, "grade"),
    )

    def draw(self, rng: np.random.Generator, **pinned: str) -> World:
        """Return a world whose choices are those of its command."""
        audit = pinned.get("audit") or _AUDIT.draw(rng)
        plain = {
            factor.name: factor.plain
            for factor in self.factors
            if factor.name != "audit" and factor.name not in _BELONGS[audit]
        }
        return super().draw(rng, **{**plain, **pinned, "audit": audit})

    def sensible(self, world: World) -> bool:
        """Whether the choices belong to the command, and go together."""
        c = self.chosen(world)
        if any(name not in _BELONGS[c["audit"]] for name in world.choices if name != "audit"):
            return False
        if c["steps"] != "none" and c["runs"] != "many":
            return False
        if c["rate"] != "1" and c["steps"] == "none":
            return False
        if c["guesses"] != "auto" and c["runs"] != "one":
            return False
        if c["rows"] != "one" and (c["runs"] != "one" or c["n"] == "30"):
            return False
        if c["unit"] == "id" and (c["rows"] == "one" or c["ids"] != "none"):
            return False
        if c["order"] == "sorted" and c["runs"] == "sequential":
            return False
        if c["epsilon"] == "0" and c["claim"] in ("half", "fifth"):
            return False
        own = ("alpha", "levels", "gap", "repeats")
        if c["model"] != "naive-bayes" and any(name in world.choices for name in own):
            return False
        return not (c["steps"] != "none" and c["delta"] == "0")

    def play(self, world: World, folder: object) -> Played:
        """Write the files, and audit them."""
        c = self.chosen(world)
        place = Path(str(folder))
        if c["audit"] == "dtp":
            return _play_table(world, c, place)
        if c["audit"] == "defend":
            return _play_defences(world, c, place)
        return _play_canaries(world, c, place)

    def truth(self, world: World) -> Truth:
        """Return whether the claim is false, or a model gives members away."""
        c = self.chosen(world)
        if c["audit"] == "dtp":
            # The numbers are compared in `contradictions`; the rule has no placebo.
            refuses = c["gap"] == "some" or c["alpha"] == "0" or c["model"] == "unseeded"
            return Truth(True, False, None, refuses)
        if c["audit"] == "defend":
            return Truth(c["leak"] != "none", c["sides"] == "alike")
        false = c["claim"] in ("half", "fifth")
        refuses = c["missing"] == "some" or c["rounded"] == "constant" or c["n"] == "30"
        refuses |= c["coin"] != "0.5" or c["guesses"] == "20"
        # Tiny scores that are rounded are all zero.
        refuses |= c["scale"] == "tiny" and c["rounded"] != "full"
        oracle = None
        if false and c["reversed"] == "no" and c["attack"] == "best" and c["rounded"] == "full":
            oracle = lambda folder: _oracle(world, c)  # noqa: E731
        # Without a control, and with a true claim, nothing can be told: that is the answer.
        return Truth(false, False, oracle, refuses)

    def contradictions(self, report: Mapping[str, object]) -> list[str]:
        """Return where a claim is cleared by nothing, or a number is not that of a count."""
        return list(_contradictions(report))


def _contradictions(report: Mapping[str, Any]) -> Iterator[str]:
    verdict = report["verdict"]
    words = " ".join([verdict["headline"], *verdict["sentences"], *verdict["advice"]])
    if report["kind"] == "privacy-claim":
        power = report.get("power")
        if "The claim stands" in words and (power is None or power["detectable"] <= 0):
            yield "the claim stands, but nothing shows that the attack finds anything"
        if "could have been caught" in words and power is None:
            yield "it says what could have been caught, and nothing was measured"
    if report["kind"] == "dtp" and "proving" in report:
        counted = report["proving"]["pdtp"]
        said = report["pdtp"]["max"]
        if said is not None and abs(said - counted) > report["proving"].get("within", 1e-6):
            yield f"PDTP is {said}, and {counted} by a count"
        if said is not None and (counted > 1) != (verdict["severity"] == "grave") and counted > 1:
            yield f"PDTP is {counted}, and the verdict {verdict['grade']}"
    if report["kind"] == "defences":
        low = report["undefended"]["accuracy"]["low"]
        if low > 0.5 and "Release without" in words:
            yield f"release is advised, though the undefended model's accuracy is at least {low}"
        if low > 0.5 and verdict["severity"] == "nothing found" and "did not help" in words:
            yield f"nothing is found, though nothing helps and the model is at {low} at least"
        due = STEPS[sum(low > cut for cut in (0.5, 0.55, 0.65))]
        milder = verdict["severity"] in STEPS[: STEPS.index(due)]
        if milder and ("not help significantly" in words or "None of the defences" in words):
            yield f"nothing helps, and the grade is {verdict['severity']} where {due} is without"


# -- canaries


def _true_epsilon(c: dict[str, str]) -> float:
    return float(c["epsilon"])


def _scores(world: World, c: dict[str, str], role: str, n: int) -> tuple[Floats, Floats]:
    """Return bits and scores of a mechanism that is epsilon-private, record by record."""
    draw = world.rng(role)
    member = draw.random(n) < float(c["coin"])
    epsilon = _true_epsilon(c)
    if c["attack"] == "blind" or epsilon == 0:
        return member, draw.standard_normal(n)
    if c["mechanism"] == "gaussian":
        noise = draw.standard_normal(n)
        return member, _mu(epsilon, float(c["delta"])) * member + noise
    if c["mechanism"] == "laplace":
        score = member + draw.laplace(0.0, 1 / epsilon, n)
    elif c["mechanism"] == "geometric":
        q = 1 - np.exp(-epsilon)
        score = member + draw.geometric(q, n) - draw.geometric(q, n) + 0.0
    elif c["mechanism"] == "staircase":
        sure = draw.random(n) < 0.2
        told = draw.random(n) < 1 / (1 + np.exp(-epsilon))
        score = np.where(sure, np.where(told, member, ~member) * 2.0 - 1, 0.0)
    else:
        told = draw.random(n) < 1 / (1 + np.exp(-epsilon))
        score = np.where(told, member, ~member) * 2.0 - 1
    if c["attack"] == "weak":
        score = score + 4 * score.std() * draw.standard_normal(n)
    return member, score.astype(float)


def _mu(epsilon: float, delta: float) -> float:
    """Return how far apart the normals are of a Gaussian mechanism with this epsilon at delta."""
    delta = delta or 1e-12
    low = 0.0
    high = 20.0
    for _ in range(60):
        middle = (low + high) / 2
        if gaussian_epsilon(middle, delta) < epsilon:
            low = middle
        else:
            high = middle
    return low


def _play_canaries(world: World, c: dict[str, str], place: Path) -> Played:
    n = int(c["n"])
    member, score = _scores(world, c, "canaries", n)
    frame = _frame(world, c, member, score)
    path = place / f"canaries.{c['format']}"
    _write(frame, path)
    factor = {"true": 1.0, "double": 2.0, "half": 0.5, "fifth": 0.2}[c["claim"]]
    epsilon = factor * _true_epsilon(c) or (0.5 if c["claim"] == "double" else 0.0)
    asked = ["--epsilon", f"{epsilon:.6g}", "--delta", c["delta"], "--runs", c["runs"]]
    asked += ["--level", c["level"], "--seed", "1"]
    if c["guesses"] != "auto":
        asked += ["--guesses", c["guesses"]]
    if c["steps"] != "none":
        asked += ["--steps", c["steps"], "--sampling-rate", c["rate"]]
    if c["control"] != "none":
        draw = world.rng("control")
        bits = draw.random(n) < 0.5
        strength = 8.0 if c["control"] == "strong" else 0.0
        known = {"score": draw.standard_normal(n) + strength * bits, "member": bits.astype(int)}
        control = place / "control.csv"
        pd.DataFrame(known).to_csv(control, index=False)
        asked += ["--control", str(control)]
    return command(["dp-audit", str(path), *asked], place)


def _frame(world: World, c: dict[str, str], member: Floats, score: Floats) -> pd.DataFrame:
    n = len(score)
    unit = np.arange(n)
    if c["rows"] != "one":
        # A person has one coin; each row is private by itself.
        size = np.full(n, 2)
        if c["rows"] == "unequal":
            size = world.rng("rows").integers(1, 4, n)
        unit = np.repeat(np.arange(n), size)[:n]
        first = np.unique(unit, return_index=True)[1]
        told = world.rng("person").random(n) < float(c["coin"])
        other = told[first][unit]
        score = np.where(other == member, score, -score + score.mean() * 2)
        if c["mechanism"] in ("gaussian", "laplace", "geometric"):
            shift = _mu(_true_epsilon(c), float(c["delta"])) if c["mechanism"] == "gaussian" else 1
            plain = _scores(world, c, "canaries", n)[1] - shift * member
            score = plain + shift * other
        member = other
    if c["reversed"] == "yes":
        score = -score
    if c["scale"] == "exp":
        score = np.exp(np.clip(score, -50, 50))
    elif c["scale"] != "plain":
        score = score * {"tiny": 1e-9, "huge": 1e9}[c["scale"]]
    if c["rounded"] == "constant":
        score = np.zeros(n)
    elif c["rounded"] != "full":
        score = np.round(score, int(c["rounded"]))
    if c["missing"] == "some":
        score = score.copy()
        score[::7] = np.nan
    bits = {"number": member.astype(int), "true": member.astype(bool), "float": member + 0.0}
    columns: dict[str, object] = {"score": score, "member": bits[c["member"]]}
    if c["ids"] == "padded":
        columns["id"] = [f"{i:06d}" for i in range(n)]
    elif c["ids"] == "number":
        columns["id"] = np.arange(n)
    if c["rows"] != "one":
        columns["unit" if c["unit"] == "given" else "id"] = unit
    if c["columns"] == "further":
        columns = {"remark": ["x"] * n, **columns}
    frame = pd.DataFrame(columns)
    if c["columns"] == "reversed":
        frame = frame[list(frame.columns)[::-1]]
    return frame.sort_values("score") if c["order"] == "sorted" else frame


def _write(frame: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".npz":
        arrays = {str(name): frame[name].to_numpy() for name in frame}
        plain = {name: x.astype(str) if x.dtype == object else x for name, x in arrays.items()}
        np.savez(path, **plain)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
        path.write_text(lines, encoding="utf-8")


def _oracle(world: World, c: dict[str, str]) -> Oracle:
    """Return whether guesses by the best threshold refute the claim, in so many canaries."""
    n = int(c["n"])
    if c["rows"] != "one":
        return Oracle(0.5, 1.0, 0.5)
    member, score = _scores(world, c, "canaries", n)
    middle = 0.5 if c["mechanism"] in ("laplace", "geometric") else 0.0
    if c["mechanism"] == "gaussian":
        middle = _mu(_true_epsilon(c), float(c["delta"])) / 2
    right = int(((score > middle) == member).sum())
    found = scipy.stats.binomtest(right, n).proportion_ci(0.999, method="exact")
    factor = {"half": 0.5, "fifth": 0.2}[c["claim"]]
    most = 1 / (1 + np.exp(-factor * _true_epsilon(c))) + float(c["delta"])
    # An audit looks at many things, and sets some canaries aside: it may need a bit more.
    beyond = float(found.low) > most + 0.06 and c["runs"] == "one" and n >= 400
    return Oracle(1.0 if beyond else 0.5, 1.0, right / n)


# -- leave-one-out


def _play_table(world: World, c: dict[str, str], place: Path) -> Played:
    if c["model"] != "naive-bayes":
        return _play_numbers(world, c, place)
    n = int(c["records"])
    draw = world.rng("table")
    m = int(c["attributes"])
    x = draw.integers(0, int(c["levels"]), (n, m))
    y = (x[:, 0] + draw.integers(0, 2, n)) % int(c["classes"])
    if c["repeats"] == "all":
        x[n // 2 :] = x[: n - n // 2]
        y[n // 2 :] = y[: n - n // 2]
    frame = pd.DataFrame({f"a{j}": [f"v{value}" for value in x[:, j]] for j in range(m)})
    name = "label" if c["label"] == "label" else "the class"
    frame[name] = [f"c{value}" for value in y]
    if c["gap"] == "some":
        frame.loc[::9, "a0"] = None
    path = place / "table.csv"
    frame.to_csv(path, index=False)
    asked = ["dtp", "--data", str(path), "--label", name, "--model", "naive-bayes"]
    asked += ["--alpha", c["alpha"], "--bin", c["bin"], "--seed", "1"]
    played = command(asked, place)
    if played.report is None or c["gap"] == "some" or c["bin"] != "0" or c["alpha"] == "0":
        return played
    counted = {"pdtp": _pdtp(x, y, float(c["alpha"]))}
    return replace(played, report={**played.report, "proving": counted})


_CODE = """
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


class Unseeded(GaussianNB):
    def fit(self, x, y):
        some = np.random.default_rng().permutation(len(y))[: 9 * len(y) // 10]
        return super().fit(x[some], y[some])


def made(state):
    return {made}
"""
_MADE = {
    "pipeline": "make_pipeline(StandardScaler(), LogisticRegression(tol=1e-10, max_iter=10_000))",
    "one-hot": "make_pipeline(OneHotEncoder(), LogisticRegression(tol=1e-10, max_iter=10_000))",
    "unseeded": "Unseeded()",
}
"""Without a state of its own, since what is left open is drawn once for all models."""


def _play_numbers(world: World, c: dict[str, str], place: Path) -> Played:
    """Audit logistic regression, or a model of the user's own, on a table of numbers."""
    n = int(c["records"])
    m = int(c["attributes"])
    draw = world.rng("numbers")
    x = np.exp(2 * draw.standard_normal((n, m))).round(2).clip(0.01)
    if c["model"] == "one-hot":
        x = draw.integers(1, 4, (n, m)) * 10.0
    y = (draw.random(n) < scipy.special.expit(np.log(x[:, 0] / np.median(x[:, 0])))).astype(int)
    y[:4] = (0, 1, 0, 1)
    name = "label" if c["label"] == "label" else "the class"
    frame = pd.DataFrame({f"a{j}": x[:, j] for j in range(m)}).assign(**{name: y})
    path = place / "table.csv"
    frame.to_csv(path, index=False)
    model = c["model"]
    if model in _MADE:
        code = place / f"own_{place.parent.name.replace('-', '_')}_{place.name}.py"
        code.write_text(_CODE.format(made=_MADE[model]))
        model = f"{code}:made"
    asked = ["dtp", "--data", str(path), "--label", name, "--model", model]
    played = command([*asked, "--bin", c["bin"], "--seed", "1"], place)
    known = c["model"] != "unseeded" and c["bin"] == "0"
    # A category of one record alone is gone without it: there is no answer to count.
    alone = c["model"] == "one-hot" and any(
        (np.unique(column, return_counts=True)[1] == 1).any() for column in x.T
    )
    if played.report is None or not known or alone:
        return played
    counted = {"pdtp": _refitted(x, y, one_hot=c["model"] == "one-hot"), "within": 1e-4}
    return replace(played, report={**played.report, "proving": counted})


def _refitted(x: Floats, y: NDArray[np.int64], *, one_hot: bool) -> float:
    """Return the largest PDTP of scaling, or encoding, and logistic regression, fitted again."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    first = OneHotEncoder() if one_hot else StandardScaler()
    model = make_pipeline(first, LogisticRegression(tol=1e-10, max_iter=10_000))
    ours = model.fit(x, y).decision_function(x)
    others = np.array(
        [
            model.fit(np.delete(x, i, 0), np.delete(y, i)).decision_function(x[i : i + 1])[0]
            for i in range(len(y))
        ]
    )
    # Probabilities may round to 0, their logarithms do not.
    log = scipy.special.log_expit
    return float(max(np.abs(log(sign * ours) - log(sign * others)).max() for sign in (-1, 1)))


def _pdtp(x: NDArray[np.int64], y: NDArray[np.int64], alpha: float) -> float:
    """Return the largest PDTP of naive Bayes by training once more without each record."""
    classes = np.unique(y)
    levels = [np.unique(column) for column in x.T]

    def log_posterior(rows: NDArray[np.int64], query: NDArray[np.int64]) -> Floats:
        logs = []
        for label in classes:
            of = rows[y[rows] == label]
            log = np.log(len(of)) if len(of) else -np.inf
            for j, values in enumerate(levels):
                same = np.count_nonzero(x[of, j] == query[j])
                log += np.log(same + alpha) - np.log(len(of) + alpha * len(values))
            logs.append(log)
        found = np.array(logs)
        return found - scipy.special.logsumexp(found)

    everybody = np.arange(len(y))
    most = 0.0
    for i in everybody:
        ours = log_posterior(everybody, x[i])
        others = log_posterior(np.delete(everybody, i), x[i])
        with np.errstate(invalid="ignore"):
            away = np.abs(ours - others)
        most = max(most, float(np.nanmax(away)))
    return most


# -- defences


def _play_defences(world: World, c: dict[str, str], place: Path) -> Played:
    paths = []
    for role in ("target", "shadow"):
        draw = world.rng(role)
        n = int(c["judged"])
        member = np.arange(2 * n) < n
        labels = draw.integers(0, 3, 2 * n)
        logits = draw.standard_normal((2 * n, 3))
        strength = {"none": 0.0, "slight": 0.35, "clear": 1.2}[c["leak"]]
        logits[np.arange(2 * n), labels] += 1.0 + strength * member
        probs = np.exp(logits - scipy.special.logsumexp(logits, axis=1, keepdims=True))
        if c["sides"] == "swapped" and role == "target":
            member = ~member
        path = place / f"{role}.npz"
        np.savez(path, probs=probs, labels=labels, member=member)
        paths.append(str(path))
    named = {"rounding": "rounding:1", "label-only": "label-only", "temperature": "temperature:5"}
    chosen = named.get(c["defence"], ",".join(named.values()))
    asked = ["defend", paths[0], "--shadow", paths[1], "--defence", chosen, "--seed", "1"]
    return command(asked, place)


DOMAIN = Claims()
