"""Worlds of leaderboards: histories of honest and cheating teams, bounds and attacks on labels."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tests.proving.played import Oracle, Played, Truth, command
from tests.proving.world import Factor, Grammar, Relation, World

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_OF_ALL = (
    Factor("n", ("1000", "200", "4000"), "1000", 0.4, about="public points"),
    Factor("classes", ("2", "5", "20"), "2", 0.4, about="of the labels"),
    Factor("frequent", ("even", "two", "one"), "even", 0.3, about="classes"),
    Factor("queries", ("20", "100"), "20", 0.3, about="of bounds, attacks and cheats"),
)
_OF_HISTORIES = (
    Factor("teams", ("10", "1", "4", "6", "30"), "10", 0.5, about="that submit"),
    Factor("each", ("12", "2", "40"), "12", 0.4, about="submissions of a team"),
    Factor("skill", ("0.75", "0.52", "0.6", "0.95", "0.99"), "0.75", 0.5, about="of the field"),
    Factor("field", ("0.3", "0.05", "0.8"), "0.3", 0.3, about="spread of the log errors"),
    Factor("growth", ("some", "none", "much"), "some", 0.3, about="of a team over time"),
    Factor("steps", ("few", "one", "retrained"), "few", 0.3, about="labels that a change moves"),
    Factor(
        "cheat",
        ("none", "labels", "nearly", "votes", "ring", "scan", "scan-base", "climb"),
        "none",
        0.4,
        about="of one team or of five accounts",
    ),
    Factor("late", ("last", "first", "middle"), "last", 0.2, about="when the labels are used"),
    Factor("ties", ("none", "random"), "none", 0.1, about="broken anew in each submission"),
    Factor("breakthrough", ("no", "half", "third"), "no", 0.15, about="errors of an honest winner"),
    Factor("evidence", ("scores", "answers", "labels"), "scores", 0.5, about="beside the scores"),
    Factor("private", ("none", "alike", "harder", "easier", "uneven"), "none", 0.4, about="part"),
    Factor("shift", ("0.03", "0.02", "0.05"), "0.03", 0.3, about="of the private part"),
    Factor("climbs", ("no", "yes"), "no", 0.1, about="a team on its public score"),
    Factor("metric", ("accuracy", "auc", "logloss", "rmse"), "accuracy", 0.25, about="scored"),
    Factor("shown", ("exact", "4", "2"), "exact", 0.3, about="decimals of the scores"),
    Factor("copies", ("none", "baseline", "team"), "none", 0.2, about="of answers"),
    Factor("format", ("csv", "jsonl", "parquet", "kaggle"), "csv", 0.4, about="of the history"),
    Factor(
        "written",
        ("share", "count", "percent", "signs", "comma"),
        "share",
        0.12,
        about="scores; of 100, with or without a sign, or with a decimal comma",
    ),
    Factor("times", ("iso", "number", "days", "am-pm", "none"), "iso", 0.3, about="of submissions"),
    Factor("failed", ("none", "some"), "none", 0.06, about="submissions without a score"),
    Factor("order", ("time", "shuffled", "team"), "time", 0.2, about="of the rows"),
    Factor("names", ("plain", "odd"), "plain", 0.15, about="of the accounts"),
    Factor("columns", ("usual", "further", "capitals"), "usual", 0.15, about="of the file"),
)
_OF_ATTACKS = (
    Factor("attack", ("nb", "majority", "scan"), "nb", 0.4, about="played"),
    Factor("guard", ("exact", "round", "ladder"), "exact", 0.4, about="of bounds and attacks"),
    Factor("prior", ("uniform", "classes"), "uniform", 0.4, about="of the attacker"),
)
_AUDIT = Factor("audit", ("log", "bound", "attack"), "log", 0.3, (0.4, 0.6), "which command")
_BELONGS = {
    "log": {factor.name for factor in (*_OF_ALL, *_OF_HISTORIES)},
    "bound": {factor.name for factor in (*_OF_ALL, *_OF_ATTACKS)} - {"attack", "prior", "frequent"},
    "attack": {factor.name for factor in (*_OF_ALL, *_OF_ATTACKS)},
}
_TO_THE_SECOND = {"times": ("", "number", "am-pm")}
_RING = 5
_METRICS = {"auc": "auc", "logloss": "logloss:15", "rmse": "rmse:0:1"}


@dataclass(frozen=True)
class Board:
    """A history before it is written, in the order of time."""

    team: Ints
    """(k,) Who."""
    answers: Ints
    """(k, n + n_private) What was submitted."""
    labels: Ints
    """(n + n_private,) The hidden labels."""
    n: int
    """Points that scores are about."""
    cheats: tuple[int, ...]
    """Teams that cheat."""


class Leaderboards(Grammar):
    """Histories for ``holdout log``, sizes for ``holdout bound``, labels for ``holdout attack``."""

    name = "leaderboards"
    factors = (_AUDIT, *_OF_ALL, *_OF_HISTORIES, *_OF_ATTACKS)
    relations = (
        # Within a day the order of rows is all that tells which submission came first.
        Relation("shuffled rows", {"order": "shuffled"}, "everything", _TO_THE_SECOND),
        Relation("other names", {"names": "odd"}, "grade"),
        Relation("another format", {"format": "parquet"}, "everything"),
        Relation("other columns", {"columns": "further"}, "everything"),
        Relation("times as numbers", {"times": "number"}, "everything", _TO_THE_SECOND),
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
        if c["skill"] == "0.52" and (c["classes"] != "2" or c["frequent"] != "even"):
            return False
        if c["frequent"] == "two" and c["classes"] == "2":
            return False
        if c["climbs"] == "yes" and c["private"] == "none":
            return False
        if c["cheat"] == "climb" and c["private"] == "none":
            return False
        if c["shift"] != "0.03" and c["private"] in ("none", "alike"):
            return False
        if c["late"] != "last" and c["cheat"] not in ("labels", "nearly"):
            return False
        if c["metric"] != "accuracy" and (
            c["written"] != "share" or c["evidence"] != "scores" or c["skill"] == "0.52"
        ):
            return False
        if c["shown"] != "exact" and c["written"] in ("count", "signs"):
            return False
        if c["failed"] != "none" and c["evidence"] != "scores":
            return False
        if c["times"] == "none" and c["order"] != "time":
            return False
        if c["columns"] == "capitals" and c["format"] == "kaggle":
            return False
        if c["evidence"] != "scores" and c["private"] != "none":
            return False
        if c["format"] != "kaggle":
            return True
        # There losses are written, which are rounded otherwise than the shares elsewhere.
        rounded_losses = c["metric"] in ("logloss", "rmse") and c["shown"] != "exact"
        return c["written"] == "share" and c["order"] != "team" and not rounded_losses

    def play(self, world: World, folder: object) -> Played:
        """Write the files, and audit them."""
        c = self.chosen(world)
        place = Path(str(folder))
        if c["audit"] == "bound":
            asked = ["--n", c["n"], "--classes", c["classes"], "--queries", c["queries"]]
            return command(["holdout", "bound", *asked, "--guard", _guard(c)], place)
        if c["audit"] == "attack":
            np.save(place / "labels.npy", _labels(world, c, int(c["n"])))
            asked = ["--labels", str(place / "labels.npy"), "--queries", c["queries"]]
            asked += ["--attack", c["attack"], "--guard", _guard(c), "--trials", "3"]
            asked += ["--prior", c["prior"], "--seed", "1", "--classes", c["classes"]]
            return command(["holdout", "attack", *asked], place)
        return _play_history(world, c, place)

    def truth(self, world: World) -> Truth:
        """Return whether somebody cheats, or labels can be guessed by their scores."""
        c = self.chosen(world)
        if c["audit"] != "log":
            # The promises are compared in `contradictions`.
            return Truth(True, False)
        leak = c["cheat"] != "none" or c["climbs"] == "yes"
        oracle = None
        if leak:
            oracle = lambda folder: _oracle(world, c)  # noqa: E731
        # A number up to 100 may be the error itself.
        refuses = c["written"] == "percent" and c["metric"] in ("logloss", "rmse")
        refuses |= c["written"] == "count" and c["private"] != "none"
        refuses |= c["times"] == "days"
        few = c["teams"] in ("1", "4") or c["each"] == "2"
        # An honest leap is worth a look, and no finding.
        most = "nothing found" if c["breakthrough"] == "no" else "small"
        return Truth(leak, not few and not refuses, oracle, refuses, most=most)

    def contradictions(self, report: Mapping[str, object]) -> list[str]:
        """Return where bounds are out of order, or a play exceeds what it was promised."""
        return list(_contradictions(report))


def _contradictions(report: Mapping[str, Any]) -> Iterator[str]:
    if report["kind"] == "holdout-bound":
        # Attacks are means, the guarantee is exceeded in one play of twenty.
        for name in ("nb", "majority", "linear_scan"):
            value = report[name]
            if report["guard"] == "exact" and value > report["kl"] + 1e-9:
                yield f"{name} gains {value}, and no attack more than {report['kl']}"
        if report["kl"] > report["theorem_3_1"] + 1e-9 and report["guard"] == "exact":
            yield f"the exact tail allows {report['kl']}, the simpler one {report['theorem_3_1']}"
    if report["kind"] == "holdout-attack":
        chance = 1 - report["most"]
        for found in report["attacks"]:
            promised = next(
                (g["kl"] for g in report.get("guards", ()) if g["name"] == found["guard"]), None
            )
            reached = found["accuracy"]["value"] - chance
            if promised is not None and reached > promised + 1e-9:
                yield f"{found['name']} has {reached} above chance, and {promised} was promised"


def _oracle(world: World, c: dict[str, str]) -> Oracle:
    """Return whether who knows the cheat can surely tell it from the files."""
    teams = int(c["teams"])
    if c["cheat"] in ("labels", "nearly"):
        board = _board(world, c)
        right = (board.answers[:, : board.n] == board.labels[: board.n]).mean(axis=1)
        best = [right[board.team == t].max() for t in np.unique(board.team)]
        cheat = max(best[t] for t in board.cheats)
        others = max(x for t, x in enumerate(best) if t not in board.cheats) if teams > 1 else 1.0
        # Far ahead: a tenth of the errors, and others enough to say what is far.
        told = teams >= 6 and (1 - others) > 10 * (1 - cheat) + 5 / board.n
        coarse = c["shown"] == "2" or c["metric"] != "accuracy"
        return Oracle(1.0 if told and not coarse else 0.5, 1.0, float(cheat))
    known = c["evidence"] != "scores" and c["queries"] == "100" and c["cheat"] in ("votes", "scan")
    # Where hardly any label is wrong, the scores of a scan hardly ever rise.
    risen = c["skill"] not in ("0.95", "0.99") and c["metric"] == "accuracy"
    known |= c["cheat"] == "scan-base" and c["queries"] == "100" and risen
    sizes = c["n"] != "200" and c["frequent"] == "even"
    told = known and sizes and c["classes"] == "2" and c["shown"] == "exact"
    return Oracle(1.0 if told else 0.5, 1.0, 1.0)


def _guard(c: dict[str, str]) -> str:
    return "round:2" if c["guard"] == "round" else c["guard"]


def _labels(world: World, c: dict[str, str], n: int) -> Ints:
    m = int(c["classes"])
    share = np.ones(m) / m
    if c["frequent"] == "two":
        share = np.array([0.45, 0.45, *np.full(m - 2, 0.1 / (m - 2))])
    elif c["frequent"] == "one":
        share = np.array([0.8, *np.full(m - 1, 0.2 / (m - 1))])
    labels = world.rng("labels").choice(m, n, p=share)
    # Two classes at least, whatever was drawn.
    labels[:2] = (0, 1)
    return labels.astype(np.int64)


def _changed(draw: np.random.Generator, labels: Ints, wrong: NDArray[np.bool_], m: int) -> Ints:
    other = (labels + draw.integers(1, m, labels.shape)) % m
    return np.where(wrong, other, labels)


def _board(world: World, c: dict[str, str]) -> Board:
    n = int(c["n"])
    more = 0 if c["private"] == "none" else 2 * n
    labels = _labels(world, c, n + more)
    m = int(c["classes"])
    teams = int(c["teams"])
    each = int(c["each"])
    draw = world.rng("teams")
    # What is hard is hard for all: each point has a threshold, shared in part by all models.
    shared = draw.random(n + more)
    shift = np.zeros(n + more)
    if c["private"] in ("harder", "easier", "uneven"):
        shift[n:] = float(c["shift"]) * (-1 if c["private"] == "easier" else 1)
    field = 1 - float(c["skill"])
    # Honest models are no worse than the best constant answer.
    constant = 1 - np.bincount(labels[:n]).max() / n
    rows = []
    team = []
    for t in range(teams):
        error = min(0.9, field * np.exp(float(c["field"]) * draw.standard_normal()))
        if t == 0 and c["breakthrough"] != "no":
            error = 0.8 * field * {"half": 0.5, "third": 0.33}[c["breakthrough"]]
        own = draw.random(n + more)
        uneven = draw.uniform(0.5, 1.5) if c["private"] == "uneven" else 1.0
        growth = {"none": 0.0, "some": 0.2, "much": 0.8}[c["growth"]]
        last: Ints | None = None
        for i in range(each):
            now = min(constant, error * (1 + growth * (1 - i / max(1, each - 1))))
            level = np.clip(now + uneven * shift, 0.0, 0.95)
            fresh = draw.random(n + more)
            mixed = 0.5 * shared + 0.4 * own + 0.1 * fresh
            if c["steps"] == "retrained":  # from other initial weights each time
                mixed = 0.5 * shared + 0.1 * own + 0.4 * fresh
            wrong = mixed < np.quantile(mixed[:n], np.clip(level[:1], 0, 1))
            if more:
                wrong[n:] = mixed[n:] < np.quantile(mixed[:n], np.clip(level[-1], 0, 1))
            made = _changed(world.rng(f"others {t}"), labels, wrong, m)
            if last is not None and c["steps"] == "one":
                # One label in a thousand changes, for the better or the worse.
                flips = draw.choice(n + more, max(1, (n + more) // 1000), replace=False)
                one = last.copy()
                one[flips] = made[flips]
                made = one
            if c["ties"] == "random":
                tied = shared < 0.1
                other = _changed(world.rng("tied"), labels, tied, m)
                coin = world.rng(f"coin {t} {i}").random(n + more) < 0.5
                made = np.where(tied, np.where(coin, labels, other), made)
            rows.append(made)
            team.append(t)
            last = made
    if c["copies"] == "baseline":
        for t in range(0, teams, 2):
            rows[t * each] = rows[0]
    elif c["copies"] == "team" and teams > 2:
        rows[each] = rows[each - 1]
    # Teams take turns: the i-th submissions of all come about together.
    when = np.array([i % each + draw.random() for i in range(len(rows))])
    cheats: tuple[int, ...] = ()
    if c["cheat"] in ("labels", "nearly"):
        place = {"last": each - 1, "first": 0, "middle": each // 2}[c["late"]]
        wrong = draw.random(n + more) < (0.005 if c["cheat"] == "nearly" else 0.0)
        rows[place] = _changed(draw, labels, wrong, m)
        cheats = (0,)
    elif c["cheat"] != "none":
        found, who = _cheated(world, c, labels, rows[0], n, m)
        accounts = _RING if who else 1
        cheats = tuple(range(teams, teams + accounts))
        rows += list(found)
        team += [teams + (i % accounts) for i in range(len(found))]
        when = np.concatenate([when, np.linspace(0.2 * each, each, len(found))])
    if c["climbs"] == "yes":
        # Right on a tenth of the public points more than it knows.
        known = np.arange(n + more) < n
        helped = known & (draw.random(n + more) < 0.5)
        rows[each - 1] = np.where(helped, labels, rows[each - 1])
        cheats = (*cheats, 0)
    order = np.argsort(when, kind="stable")
    return Board(np.array(team)[order], np.stack(rows)[order], labels, n, cheats)


def _cheated(
    world: World, c: dict[str, str], labels: Ints, base: Ints, n: int, m: int
) -> tuple[Ints, bool]:
    """Return what a cheating team submits, its answer last, and whether five accounts share it."""
    draw = world.rng("cheat")
    k = int(c["queries"])
    if c["cheat"] == "scan":
        rows = np.tile(base, (k + 1, 1))
        now = base.copy()
        for i in range(k):
            tried = now.copy()
            tried[i % n] = (tried[i % n] + 1) % m
            rows[i] = tried
            if (tried[:n] == labels[:n]).sum() > (now[:n] == labels[:n]).sum():
                now = tried
        rows[k] = now
        return rows, False
    if c["cheat"] == "scan-base":
        # The base is never submitted; the answer is what its single changes taught.
        rows = np.tile(base, (k + 1, 1))
        places = draw.permutation(n)[np.arange(k) % n]
        rows[np.arange(k), places] = (base[places] + 1) % m
        for i, place in enumerate(places):
            if rows[i, place] == labels[place]:
                rows[k, place] = labels[place]
        return rows, False
    if c["cheat"] == "climb":
        # Of two likely labels the other one at uncertain points; kept where the score rises.
        wrong = base != labels
        doubted = wrong | (draw.random(len(labels)) < wrong.mean() / (1 - wrong.mean()))
        other = np.where(wrong, labels, (labels + 1) % m)
        now = base.copy()
        rows = np.tile(base, (k + 1, 1))
        for i in range(k):
            changed = doubted & (draw.random(len(labels)) < 20 / (1000 * doubted.mean()))
            rows[i] = np.where(changed, np.where(now == base, other, base), now)
            if (rows[i, :n] == labels[:n]).sum() > (now[:n] == labels[:n]).sum():
                now = rows[i]
        rows[k] = now
        return rows, False
    queries = draw.integers(0, m, (k, len(labels)))
    right = (queries[:, :n] == labels[:n]).mean(axis=1)
    votes = np.stack([(right - right.mean()) @ (queries == label) for label in range(m)], axis=1)
    return np.concatenate([queries, votes.argmax(axis=1)[None]]), c["cheat"] == "ring"


def _play_history(world: World, c: dict[str, str], place: Path) -> Played:
    board = _board(world, c)
    n = board.n
    k = len(board.team)
    right = board.answers == board.labels
    public = right[:, :n].mean(axis=1)
    private = right[:, n:].mean(axis=1) if c["private"] != "none" else None
    names = [f"team {t}" for t in board.team]
    if c["names"] == "odd":
        names = [f'\u00c4 <{t}>; "x"' for t in board.team]
    times = [f"2026-03-01T00:{i // 60 % 60:02d}:{i % 60:02d}" for i in range(k)]
    stamps: list[object] = list(times)
    if c["times"] == "number":
        stamps = list(range(k))
    elif c["times"] == "am-pm":
        stamps = [f"3/{1 + i // 720}/2026 {i // 60 % 12 or 12}:{i % 60:02d} AM" for i in range(k)]
    elif c["times"] == "days":
        stamps = [f"03/{1 + i * 27 // k:02d}/2026" for i in range(k)]
    columns: dict[str, object] = {
        "time": stamps,
        "account": names,
        "score": _written(world, c, public, n),
    }
    if private is not None:
        columns["private"] = _written(world, c, private, n)
    if c["times"] == "none":
        del columns["time"]
    if c["format"] == "kaggle":
        renamed = {
            "time": "SubmissionDate",
            "account": "TeamId",
            "score": "PublicScoreFullPrecision",
            "private": "PrivateScoreFullPrecision",
        }
        columns = {renamed[name]: x for name, x in columns.items()}
    elif c["columns"] == "capitals":
        columns = {name.capitalize(): x for name, x in columns.items()}
    if c["columns"] == "further":
        columns["remark"] = ["" for _ in range(k)]
    frame = pd.DataFrame(columns)
    if c["failed"] == "some":
        without = world.rng("failed").random(k) < 0.1
        scores = [name for name in frame if "score" in name.lower() or name.lower() == "private"]
        frame.loc[without, scores] = None
    rows = np.arange(k)
    if c["order"] == "shuffled":
        rows = world.rng("rows").permutation(k)
    elif c["order"] == "team":
        rows = np.argsort(board.team, kind="stable")
    frame = frame.iloc[rows]
    ending = "csv" if c["format"] == "kaggle" else c["format"]
    path = place / f"history.{ending}"
    if ending == "csv":
        frame.to_csv(path, index=False)
    elif ending == "parquet":
        frame.to_parquet(path, index=False)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
        path.write_text(lines, encoding="utf-8")
    asked = ["holdout", "log", str(path), "--n", str(n), "--seed", "1"]
    if c["metric"] == "accuracy":
        asked += ["--classes", c["classes"]]
    else:
        asked += ["--metric", _METRICS[c["metric"]]]
    if private is not None:
        asked += ["--n-private", str(len(board.labels) - n)]
    if c["evidence"] != "scores":
        np.save(place / "answers.npy", board.answers[rows][:, :n])
        asked += ["--predictions", str(place / "answers.npy")]
    if c["evidence"] == "labels":
        np.save(place / "labels.npy", board.labels[:n])
        asked += ["--labels", str(place / "labels.npy")]
    return command(asked, place)


def _written(world: World, c: dict[str, str], score: Floats, n: int) -> NDArray[Any]:
    if c["metric"] != "accuracy":
        # A finer score than right answers, which goes along with them.
        noise = 0.1 * world.rng("metric").standard_normal(len(score)) / np.sqrt(n)
        score = np.clip(score + noise * (score < 1) * np.sqrt(1 - score), 0, 1)
        if c["format"] == "kaggle" and c["metric"] != "auc":
            worst = {"logloss": 15.0, "rmse": 1.0}[c["metric"]]
            score = worst * (1 - score)
    if c["written"] == "count":
        return np.round(score * n).astype(np.int64)
    if c["written"] == "percent":
        return np.round(100 * score, 2)
    if c["written"] == "signs":
        return np.array([f"{100 * x:.2f}%" for x in score])
    if c["written"] == "comma":
        digits = 6 if c["shown"] == "exact" else int(c["shown"])
        return np.array([f"{x:.{digits}f}".replace(".", ",") for x in score])
    return score if c["shown"] == "exact" else np.round(score, int(c["shown"]))


DOMAIN = Leaderboards()
