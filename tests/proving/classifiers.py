"""Worlds of classifiers: predictions, shadow models, pools, models that are asked or trained."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta, hypergeom, mannwhitneyu, norm

from tests.proving import classifier_models, classifier_rows
from tests.proving.classifier_files import write
from tests.proving.classifier_rows import TAIL, Rows, answered, softmax, visible
from tests.proving.played import Oracle, Played, Truth, call, command
from tests.proving.world import Factor, Grammar, Relation, World

_FILES = ("alone", "shadow", "pool")
_TRAINED = (
    "tree",
    "forest",
    "boosting",
    "logistic",
    "weighted",
    "bayes",
    "neighbours",
    "stacking",
    "calibrated",
)
_GROUPS = ("class", "group")
_WRITTEN = frozenset(
    {
        "missing",
        "codes",
        "text",
        "dates",
        "extra",
        "format",
        "scores",
        "precision",
        "percent",
        "layout",
        "names",
        "named_columns",
        "separator",
        "encoding",
        "line_ends",
        "index",
        "columns",
        "rows",
        "ids",
        "ids_tell",
        "member_written",
        "person_id",
    }
)
"""Factors of files of predictions."""

FACTORS = (
    Factor(
        "ask",
        (*_FILES, "fitted", "model", "label-only", "attribute", "white-box"),
        "alone",
        chance=0.45,
        weights=(10, 8, 1.5, 1.5, 0.6, 3, 1),
        about="what the user gives: predictions alone, with a shadow model or a pool, or a model",
    ),
    Factor(
        "source",
        ("simulated", *_TRAINED),
        "simulated",
        chance=0.3,
        about="whose answers they are: drawn from a model of answers, or of a trained one",
    ),
    Factor("data", ("made-up", "adult", "digits"), "made-up", chance=0.3, about="trained on"),
    Factor(
        "release",
        (
            "none",
            "everybody",
            "few",
            "few5",
            "mislabelled",
            "class",
            "group",
            "level",
            "neighbour",
            "top",
            "temperature",
            "inverse",
            "copies",
            "queries",
        ),
        "none",
        chance=0.5,
        weights=(5, 2, 2, 1, 2, 2, 2, 2, 1, 1, 1, 1, 4),
        about="what leaks, and of whom",
    ),
    Factor("strength", ("usual", "weak", "strong"), "usual", chance=0.4, about="how much leaks"),
    Factor(
        "n",
        ("1000", "12", "40", "100", "250", "400", "600", "2000", "5000"),
        "1000",
        chance=0.5,
        weights=(1, 1, 1, 2, 2, 3, 6, 0.7),
        about="people on both sides together: the usual number lets a moderate leak be seen",
    ),
    Factor(
        "share",
        ("half", "fifth", "tenth", "most", "few-members", "few-others"),
        "half",
        chance=0.25,
        about="the members' share",
    ),
    Factor(
        "classes",
        ("4", "2", "3", "10", "50", "200"),
        "4",
        chance=0.6,
        weights=(5, 3, 4, 2, 1),
        about="how many classes",
    ),
    Factor("balance", ("even", "skewed", "rare"), "even", chance=0.2, about="sizes of classes"),
    Factor("class_shares", ("same", "differ", "one-sided"), "same", about="classes of both sides"),
    Factor("competence", ("usual", "weak", "saturated"), "usual", about="how sure the model is"),
    Factor(
        "repeats",
        (
            "none",
            "some",
            "unequal",
            "five",
            "appended",
            "views",
            "members",
            "oversampled",
            "smote",
            "recording",
        ),
        "none",
        chance=0.3,
        about="rows per person: equal, unequal, copies, noisy views, of members only; smote: rows "
        "made between two others, features in the file; recording: neighbours are alike, blocks of "
        "25 rows are on one side",
    ),
    Factor(
        "person_id",
        ("unit", "id", "column", "none"),
        "unit",
        chance=0.5,
        about="how the file says whose rows they are: not at all with none",
    ),
    Factor(
        "pairs", ("no", "matched"), "no", chance=0.04, about="each member has its match outside"
    ),
    Factor(
        "drift",
        ("none", "year", "length", "site", "date", "german-date", "eras", "hidden"),
        "none",
        chance=0.15,
        about="members differ in a column that is in the file, or in none",
    ),
    Factor("drift_size", ("usual", "small", "apart"), "usual", chance=0.4, about="by how much"),
    Factor("minority", ("none", "column", "two"), "none", about="small groups in columns"),
    Factor(
        "group_as",
        ("text", "number", "gaps", "missing"),
        "text",
        chance=0.4,
        about="the small group: a text, a code stored as a float, the same with gaps, or no value",
    ),
    Factor("missing", ("none", "even", "by-side"), "none", about="a column with missing values"),
    Factor("codes", ("none", "many", "unique"), "none", about="a column of codes"),
    Factor("text", ("none", "words", "formulas"), "none", about="a column of free text"),
    Factor("dates", ("none", "iso", "german"), "none", about="a column of dates"),
    Factor(
        "extra",
        ("none", "constant", "number", "huge", "flag", "three"),
        "none",
        chance=0.2,
        weights=(1, 3, 1, 1, 1),
        about="further columns that say nothing",
    ),
    Factor(
        "format",
        ("npz", "npz-compressed", "csv", "csv.gz", "parquet", "jsonl", "jsonl.gz"),
        "npz",
        chance=0.6,
        weights=(1, 5, 0.3, 3, 1, 0.5),
        about="the kind of file",
    ),
    Factor(
        "scores",
        ("logits", "probs", "log-probs"),
        "logits",
        chance=0.6,
        weights=(5, 1),
        about="what the model answers with",
    ),
    Factor(
        "precision",
        ("full", "float32", "float16", "digits6", "digits4", "digits3", "digits2", "votes"),
        "full",
        chance=0.4,
        about="how exactly answers are written",
    ),
    Factor("percent", ("no", "numbers", "signs"), "no", chance=0.05, about="probabilities in %"),
    Factor(
        "layout",
        ("columns", "list", "one", "top3"),
        "columns",
        about="a column per class, a list, one of two, the three largest only",
    ),
    Factor(
        "names",
        ("numbers", "from1", "words", "ordered", "minus-one", "float", "one-hot", "na-words"),
        "numbers",
        chance=0.3,
        about="what classes are called",
    ),
    Factor("named_columns", ("yes", "no"), "yes", about="whether columns carry those names"),
    Factor("separator", ("comma", "semicolon", "tab", "german"), "comma", about="of csv fields"),
    Factor("encoding", ("utf8", "bom", "latin1", "utf16"), "utf8", chance=0.06, about="of csv"),
    Factor("line_ends", ("unix", "dos"), "unix", about="of csv"),
    Factor("index", ("no", "yes"), "no", about="a column that only numbers the rows"),
    Factor("columns", ("usual", "reversed", "label-first"), "usual", about="their order"),
    Factor(
        "rows",
        (
            "drawn",
            "shuffled",
            "members-first",
            "members-last",
            "by-class",
            "by-confidence",
            "by-person",
        ),
        "drawn",
        chance=0.4,
        about="their order",
    ),
    Factor(
        "ids",
        ("none", "numbers", "zeros", "texts", "hashes", "floats", "exponents"),
        "none",
        chance=0.4,
        about="what records are called",
    ),
    Factor("ids_tell", ("no", "members-first"), "no", about="whether ids are by side"),
    Factor(
        "member_written",
        ("bool", "int", "float", "split", "in-out", "yes-no"),
        "bool",
        chance=0.3,
        about="how the file says who is a member",
    ),
    Factor("queries", ("one", "five"), "one", chance=0.12, about="answers per record"),
    Factor(
        "mistake",
        (
            "none",
            "swapped-sides",
            "other-model",
            "refit-on-all",
            "shuffled-scores",
            "rolled-columns",
            "duplicates",
            "duplicates-many",
            "coarse-unit",
            "predicted-labels",
            "cross-validated",
            "rounded-members",
            "probs-as-logits",
            "logits-as-probs",
            "rescaled",
        ),
        "none",
        chance=0.15,
        about="what went wrong for the user",
    ),
    Factor(
        "shadow_is",
        ("fair", "overlap", "same-split", "other-settings", "tiny", "less-classes", "rescaled"),
        "fair",
        chance=0.3,
        about="how the shadow model was made",
    ),
    Factor(
        "pool_is",
        ("fair", "members-only", "coins82", "balanced", "other-settings", "overfitted-less"),
        "fair",
        chance=0.3,
        about="how the pool was made",
    ),
    Factor("pool_size", ("16", "2", "6", "40"), "16", chance=0.3, about="models in the pool"),
    Factor(
        "option",
        ("none", "histogram", "level99", "feature", "show", "slice"),
        "none",
        chance=0.15,
        about="an option of the command",
    ),
    Factor(
        "gate",
        ("none", "loose", "strict", "percent"),
        "none",
        about="a limit of the release pipeline: 0.99, 0.5, or 60 where 60% is meant",
    ),
    Factor(
        "place",
        ("apart", "records", "roc"),
        "apart",
        chance=0.06,
        about="results beside the input, whose name is that of a result",
    ),
    Factor(
        "library",
        ("none", "large"),
        "none",
        chance=0.15,
        about="packages on the path, outside of those installed, that the model's module imports",
    ),
    Factor(
        "sensitive",
        ("mixed", "implied", "dummies", "unrelated"),
        "mixed",
        chance=0.6,
        about="what other columns say of the attribute that is guessed",
    ),
    Factor("audit_seed", ("0", "1", "12345"), "0", about="the seed of the audit"),
    Factor("title", ("none", "markup", "words"), "none", chance=0.05, about="of the report"),
)

_TEXTUAL = ("csv", "csv.gz", "jsonl", "jsonl.gz", "parquet")
_TABLE = {"format": ("csv", "parquet")}
_EXACT = {
    "precision": ("",),
    "layout": ("",),
    "percent": ("",),
    "text": ("",),
    "missing": ("",),
    "index": ("",),
}
RELATIONS = (
    Relation("the audit once more", {}, "everything"),
    Relation("rows in another order", {"rows": "shuffled"}, "grade"),
    Relation("ids of another kind", {"ids": "hashes"}, "grade"),
    Relation(
        "classes renamed",
        {"names": "words"},
        "grade",
        {"layout": ("",), "named_columns": ("",), "ask": ("", "shadow")},
    ),
    Relation(
        "classes whose order is not that of the alphabet, beside columns that count them",
        {"names": "ordered", "named_columns": "no"},
        "everything or refused",
        {"layout": ("",), "names": ("",), "ask": ("",), "format": ("csv", "parquet")},
    ),
    Relation("an irrelevant column", {"extra": "number"}, "grade"),
    Relation("a further attack", {"option": "feature"}, "leak"),
    Relation("another seed of the audit", {"audit_seed": "1"}, "grade"),
    Relation("another file format", {"format": "parquet"}, "everything", {**_TABLE, **_EXACT}),
    Relation("columns reversed", {"columns": "reversed"}, "everything", _TABLE),
    Relation("members as a split", {"member_written": "split"}, "everything"),
    Relation("another separator", {"separator": "tab"}, "everything", {"format": ("csv",)}),
    Relation("a byte order mark", {"encoding": "bom"}, "everything", {"format": ("csv",)}),
)


class Classifiers(Grammar):
    """What `privacygauge classifier` and its kin say of models whose leaks are known."""

    name = "classifiers"
    factors = FACTORS
    relations = RELATIONS
    core = ("ask", "source")

    def idle(self, chosen: Mapping[str, str]) -> Collection[str]:
        """Return the factors that have no effect beside the other choices."""
        c = chosen
        files = c["ask"] in _FILES
        table = not c["format"].startswith("npz")
        named = c["names"] in ("words", "ordered", "na-words", "from1")
        idle = {
            "data": c["source"] == "simulated",
            "classes": c["source"] != "simulated" and c["data"] == "digits",
            "strength": c["release"] == "none" or c["source"] != "simulated",
            "drift_size": c["drift"] == "none",
            "person_id": c["repeats"] == "none",
            "ids_tell": c["ids"] == "none",
            "percent": c["scores"] != "probs",
            "layout": not table and c["layout"] == "list",
            "named_columns": not named or (not table and c["names"] == "from1"),
            "separator": not c["format"].startswith("csv"),
            "encoding": not c["format"].startswith("csv"),
            "line_ends": not c["format"].startswith("csv"),
            "index": c["format"] not in ("csv", "csv.gz", "parquet"),
            "columns": not table,
            "shadow_is": c["ask"] != "shadow",
            "pool_is": c["ask"] != "pool",
            "pool_size": c["ask"] != "pool",
            "library": c["ask"] not in ("fitted", "model", "label-only"),
            "sensitive": c["ask"] != "attribute",
            "group_as": c["minority"] != "column" and c["release"] != "group",
            "place": not files or c["format"] not in ("parquet", "csv"),
        }
        if c["layout"] == "top3":
            idle["layout"] = int(c["classes"]) < 4 or c["scores"] != "probs" or not table
        if c["layout"] == "one":
            idle["layout"] = c["classes"] != "2" or c["scores"] != "probs"
        if c["option"] == "slice":
            idle["option"] = c["minority"] == "none" or c["source"] != "simulated"
        if c["option"] == "show":
            idle["option"] = c["extra"] != "number"
        found = {name for name, silent in idle.items() if silent}
        if c["source"] != "simulated":
            found |= {"balance", "competence", "minority", "group_as"}
        if not files:
            found |= _WRITTEN | {"option"}
        return found

    def sensible(self, world: World) -> bool:
        """Whether the choices go together."""
        c = self.chosen(world)
        if c["ask"] == "white-box" and importlib.util.find_spec("torch") is None:
            return False
        cells = int(c["n"]) * int(c["classes"]) * (5 if c["queries"] == "five" else 1)
        if c["ask"] == "pool":
            cells *= int(c["pool_size"]) + 1
        asked = c["ask"] not in _FILES
        real = asked or c["source"] != "simulated"
        wrong = (
            cells > (3_000_000 if c["ask"] == "pool" else 600_000),
            asked and c["source"] == "simulated",
            asked and c["mistake"] not in ("none", "swapped-sides"),
            asked and c["repeats"] != "none",
            real and c["release"] not in ("none", "everybody"),
            real and c["drift"] != "none",
            real and c["class_shares"] != "same",
            real and c["queries"] != "one",
            real and c["pairs"] != "no",
            real and c["repeats"] not in ("none", "five", "appended"),
            real and c["share"] in ("few-members", "few-others"),
            real and int(c["n"]) not in (250, 400, 600, 1000, 2000),
            real and int(c["classes"]) > 10,
            c["mistake"] in ("refit-on-all", "other-model") and c["release"] == "none",
            c["source"] == "neighbours" and asked,
            c["drift"] == "hidden" and c["ask"] != "pool",
            c["repeats"] == "recording" and (c["rows"] != "drawn" or c["pairs"] != "no"),
            c["repeats"] == "recording" and c["ask"] == "shadow",
            c["ask"] == "pool" and c["repeats"] != "none",
            c["ask"] == "pool" and c["mistake"] not in ("none", "swapped-sides"),
            c["ask"] == "pool" and c["rows"] != "drawn",
            c["ask"] == "pool" and c["option"] == "feature",
            c["ask"] == "pool" and c["index"] == "yes" and c["format"] == "parquet",
            c["ask"] == "pool" and c["mistake"] == "swapped-sides" and c["release"] == "none",
            c["pool_is"] != "fair" and c["ask"] != "pool",
            c["shadow_is"] != "fair" and c["ask"] != "shadow",
            c["shadow_is"] in ("overlap", "same-split") and c["repeats"] != "none",
            c["names"] == "minus-one" and c["classes"] != "2",
            c["names"] == "one-hot" and not c["format"].startswith("npz"),
            c["queries"] == "five" and not c["format"].startswith("npz"),
            c["release"] == "queries" and c["queries"] != "five",
            c["release"] == "level" and c["scores"] != "logits",
            c["release"] == "mislabelled" and c["ask"] != "pool",
            c["pairs"] == "matched" and c["share"] != "half",
            c["pairs"] == "matched" and c["release"] in ("class", "group"),
            c["mistake"] == "logits-as-probs" and c["scores"] != "logits",
            c["mistake"] == "probs-as-logits" and c["scores"] != "probs",
            c["precision"] == "votes" and c["scores"] != "probs",
            c["class_shares"] == "one-sided" and c["classes"] == "2",
        )
        return not any(wrong)

    def truth(self, world: World) -> Truth:
        """Return whether it leaks, whether that can be told, and who could."""
        c = self.chosen(world)
        n = classifier_rows.people(c)
        least = min(n * s for s in _sides(c, n))
        fair = (
            c["mistake"] in ("none", "duplicates", "probs-as-logits", "rescaled")
            and least >= 150
            and c["drift"] not in ("hidden", "eras")
            and not (c["drift"] != "none" and c["drift_size"] == "apart")
            and c["class_shares"] != "one-sided"
            and c["repeats"] not in ("smote", "recording")
            and not (c["repeats"] == "views" and c["person_id"] == "none")
            and c["shadow_is"] in ("fair", "tiny")
            and c["pool_is"] in ("fair", "balanced")
        )
        unnamed = c["names"] in ("words", "ordered", "na-words") and c["named_columns"] == "no"
        npz = c["format"].startswith("npz")
        may_refuse = (
            unnamed
            or (c["layout"] == "list" and c["names"] in ("words", "ordered", "na-words"))
            or (c["encoding"] in ("latin1", "utf16") and c["format"].startswith("csv"))
            or c["mistake"] in ("logits-as-probs", "coarse-unit")
            or c["shadow_is"] in ("less-classes", "same-split")
            or (npz and c["layout"] == "one" and c["names"] in ("words", "ordered", "na-words"))
            or int(c["n"]) < 60
            or c["gate"] == "percent"
            or c["place"] != "apart"
            or (c["ask"] == "pool" and c["pool_size"] == "2")
            or (c["ask"] == "shadow" and (int(c["classes"]) > 4 or c["balance"] != "even"))
            or (c["ask"] == "pool" and c["names"] in ("words", "ordered", "na-words"))
        )
        leak = c["release"] != "none"
        if c["ask"] == "attribute" and c["sensitive"] in ("implied", "dummies"):
            leak = False  # the release adds nothing to what the other columns say
        if c["ask"] in ("model", "label-only"):
            # The command trains on the records itself: each of these learns some by heart.
            return Truth(True, fair, None, may_refuse)
        if c["mistake"] == "rounded-members":
            return Truth(True, False, None, may_refuse)
        if not leak:
            return Truth(False, fair, None, may_refuse)
        if c["mistake"] == "refit-on-all" and c["ask"] == "shadow" and c["shadow_is"] == "fair":
            whole = c["release"] in ("everybody", "neighbour")
            return Truth(True, False, partial(self._refit, world) if whole else None, may_refuse)
        knows = c["mistake"] in ("none", "duplicates", "swapped-sides", "probs-as-logits")
        if c["ask"] not in _FILES or not knows:
            return Truth(True, fair, None, may_refuse)
        if c["repeats"] == "recording":  # rows are fewer than they seem, to the oracle too
            return Truth(True, False, None, may_refuse)
        if c["mistake"] == "swapped-sides" and c["release"] in TAIL:
            return Truth(True, False, None, may_refuse)
        return Truth(True, fair, partial(self._oracle, world), may_refuse)

    def play(self, world: World, folder: Path) -> Played:
        """Write the files of the world, and audit them."""
        c = self.chosen(world)
        if c["ask"] == "white-box":
            return _white_box(world, c, folder)
        if c["ask"] not in _FILES:
            return command([*_asked(world, c, folder), *_options(c)], folder)
        target = _rows(world, c)
        wrong, written = _mistaken(world, c, target)
        path = write(world, written, wrong, folder)
        if c["place"] != "apart":  # the user works in the folder of results
            (folder / "out").mkdir()
            path = path.rename(folder / "out" / f"{c['place']}{path.suffix}")
        before = path.read_bytes()
        given: list[str] = ["classifier", str(path), *_options(c)]
        if c["person_id"] == "column" and c["repeats"] != "none":
            given += ["--unit", "patient"]
        if c["mistake"] == "coarse-unit":
            given += ["--unit", "ward"]
        if c["ask"] == "shadow":
            shadow, how = _shadow(world, c, target)
            given += ["--shadow", str(write(world, how, shadow, folder, "shadow"))]
            if c["shadow_is"] == "less-classes":
                given.append("--allow-missing-classes")
        elif c["ask"] == "pool":
            given += ["--pool", str(_pool(world, c, target, folder))]
        played = command(given, folder)
        broken = [*_misranked(c, target, played)] if c["ask"] == "pool" else []
        if path.read_bytes() != before:
            broken.append(f"the input {path.name} was replaced by a result")
        if c["gate"] == "percent" and played.report is not None:
            over = (played.report["measures"].get("accuracy") or 0) > 0.6
            if over and played.exit_code != 3:
                broken.append("a limit of accuracy=60 did not fire above 60%")
        return replace(played, broken=(*played.broken, *broken))

    def contradictions(self, report: Mapping[str, Any]) -> Sequence[str]:
        """Return where the grade and the measures of a classifier's report disagree."""
        found = []
        severity = report["verdict"]["severity"]
        measures = report["measures"]
        low = measures.get("accuracy.low")
        if low is not None and severity == "nothing found" and low > 0.5:
            found.append(f"nothing found, but accuracy.low is {low}")
        game = report.get("game", {})
        if severity == "nothing found" and min(game.get("n_in", 99), game.get("n_out", 99)) <= 6:
            found.append(f"nothing found on {game['n_in']} members and {game['n_out']} others")
        return found

    def _refit(self, world: World, folder: Path) -> Oracle:
        """Return how surely the target's others are told from the shadow model's, by the plant.

        Both are said to be non-members; where they differ the target has seen its own.
        """
        c = self.chosen(world)
        target, _ = _mistaken(world, c, _rows(world, c))
        shadow, _ = _shadow(world, c, target)
        ours = _by_person(target.taken(np.flatnonzero(~target.member))).signal
        theirs = _by_person(shadow.taken(np.flatnonzero(~shadow.member))).signal
        right = {**c, "mistake": "none"}
        others = [world.but(seed=world.seed + 10_007 * i) for i in (1, 2, 3)]
        fresh = [_by_person(_rows(other, right)) for other in others]
        learnt = np.concatenate([one.signal for one in fresh])
        cut = _best_cut(learnt, np.concatenate([one.member for one in fresh]))
        inside = np.arange(len(ours) + len(theirs)) < len(ours)
        return balanced(np.concatenate([ours, theirs]) > cut, inside)

    def _oracle(self, world: World, folder: Path) -> Oracle:
        """Return what an attacker who knows the plant reaches on the records of the audit."""
        c = self.chosen(world)
        target = _by_person(_rows(world, c))
        fresh = [_by_person(_rows(world.but(seed=world.seed + 10_007 * i), c)) for i in (1, 2, 3)]
        if c["release"] in TAIL:
            return _tail(target, fresh)
        if c["release"] in _GROUPS:
            return _group(target)
        learnt = np.concatenate([one.signal for one in fresh])
        bits = np.concatenate([one.member for one in fresh])
        cut = _best_cut(learnt, bits)
        return balanced(target.signal > cut, target.member)


def _sides(c: Mapping[str, str], n: int) -> tuple[float, float]:
    few = min(20, n // 2) / n
    share = {**classifier_rows.SHARE, "few-members": few, "few-others": 1 - few}[c["share"]]
    return share, 1 - share


def _rows(world: World, c: Mapping[str, str]) -> Rows:
    if c["source"] != "simulated":
        return classifier_models.rows(world, c)
    return classifier_rows.rows(world, c)


def _options(c: Mapping[str, str]) -> list[str]:
    found = ["--seed", c["audit_seed"], "--quiet"] if c["title"] == "words" else []
    if not found:
        found = ["--seed", c["audit_seed"]]
    if c["title"] == "markup":
        found += ["--title", "<b>5 & 6</b>", "--note", 'a "note"\n\nof two lines']
    if c["title"] == "words":
        found += ["--title", "Größe 模型"]
    files = c["ask"] in _FILES
    if c["option"] == "histogram" and files:
        found += ["--risk", "histogram"]
    if c["option"] == "level99":
        found += ["--level", "0.99"]
    if c["option"] == "feature" and c["ask"] in ("alone", "shadow"):
        found += ["--feature", "e0", "--feature", "e1"]
    if c["option"] == "slice" and files and c["minority"] != "none" and c["source"] == "simulated":
        found += ["--slice", "site"]
    if c["option"] == "show" and files and c["extra"] == "number":
        found += ["--show", "weight"]
    metric = "attribute-rate" if c["ask"] == "attribute" else "accuracy.low"
    if c["gate"] == "percent":
        found += ["--fail-above", "attribute-rate=60" if c["ask"] == "attribute" else "accuracy=60"]
    elif c["gate"] != "none":
        found += ["--fail-above", f"{metric}={'0.5' if c['gate'] == 'strict' else '0.99'}"]
    return found


def _mistaken(world: World, c: Mapping[str, str], target: Rows) -> tuple[Rows, Mapping[str, str]]:
    """Return the rows after what went wrong for the user, and the choices of how to write them."""
    rng = world.rng("mistake")
    kind = c["mistake"]
    n = len(target.labels)
    if c["source"] != "simulated" and kind in ("refit-on-all", "other-model", "cross-validated"):
        return target, c  # such a model was trained
    if kind == "swapped-sides":
        return replace(target, member=~target.member), c
    if kind == "other-model":
        return replace(target, member=rng.permutation(target.member)), c
    if kind == "refit-on-all":
        inside = np.ones(n, bool)
        return answered(world, {**c, "repeats": "none"}, "target", target, inside), c
    if kind == "cross-validated":
        return answered(world, c, "target", target, np.zeros(n, bool)), c
    if kind == "shuffled-scores":
        return replace(target, logits=target.logits[rng.permutation(n)]), c
    if kind == "rolled-columns":
        return replace(target, logits=np.roll(target.logits, 1, axis=-1)), c
    if kind.startswith("duplicates"):
        share = 0.1 if kind == "duplicates" else 0.6
        out = np.flatnonzero(~target.member)
        into = np.flatnonzero(target.member)
        some = out[rng.random(len(out)) < share]
        copies = np.arange(n)
        copies[some] = rng.choice(into, len(some))
        doubled = target.taken(copies)
        return replace(doubled, member=target.member), c
    if kind == "coarse-unit":
        ward = np.char.add("w", (target.person % 7).astype(str))
        return replace(target, columns={**target.columns, "ward": ward}), c
    if kind == "predicted-labels":
        first = target.logits if target.logits.ndim == 2 else target.logits[:, 0]
        return replace(target, labels=first.argmax(axis=1)), c
    if kind == "rounded-members":
        seen = visible({**c, "precision": "full"}, target.logits).astype(float)
        inside = target.member.reshape(-1, *(1,) * (seen.ndim - 1))
        seen = np.where(inside, np.round(seen, 3), seen)
        logits = np.log(np.maximum(seen, 1e-12)) if c["scores"] == "probs" else seen
        return replace(target, logits=logits), c
    if kind == "probs-as-logits":
        return replace(target, logits=softmax(target.logits)), {**c, "scores": "logits"}
    if kind == "rescaled":
        return replace(target, logits=target.logits / 7), c
    return target, c


def _shadow(world: World, c: Mapping[str, str], target: Rows) -> tuple[Rows, Mapping[str, str]]:
    """Return the rows of the shadow model's file, and the choices of how to write them."""
    kind = c["shadow_is"]
    if c["source"] != "simulated":
        own = {**c, "repeats": "none"}
        if kind == "tiny":
            own["n"] = "250"
        of = "target" if kind in ("overlap", "same-split") else None
        split = "target" if kind == "same-split" else None
        return classifier_models.rows(world, own, "shadow", of=of, split=split), c
    if kind in ("overlap", "same-split"):
        member = target.member
        if kind == "overlap":
            member = world.rng("shadow bits").random(len(member)) < 0.5
        return answered(world, c, "shadow", replace(target, member=member)), c
    own = dict(c)
    if kind == "other-settings":
        own |= {"competence": "weak" if c["competence"] == "usual" else "usual"}
        own |= {"strength": "strong" if c["strength"] != "strong" else "weak"}
    elif kind == "tiny":
        own["n"] = "100"
    found = classifier_rows.rows(world, own, "shadow")
    if kind == "less-classes":
        found = found.taken(np.flatnonzero(found.labels != 1))
    if kind == "rescaled":
        found = replace(found, logits=found.logits / 5)
    return found, c


def _pool(world: World, c: Mapping[str, str], target: Rows, folder: Path) -> Path:
    """Write the pool: models that fair coins put the target's records in, or others."""
    k = int(c["pool_size"])
    n = len(target.labels)
    rng = world.rng("pool coins")
    inside: NDArray[np.bool_] = rng.random((k, n)) < 0.5
    if c["pool_is"] == "members-only":
        inside &= target.member
    elif c["pool_is"] == "coins82":
        inside = world.rng("pool coins").random((k, n)) < np.where(target.member, 0.8, 0.2)
    elif c["pool_is"] == "balanced":  # each record in half of all models, the target one of them
        inside = rng.random((k, n)).argsort(axis=0).argsort(axis=0) < (k + 1) // 2 - target.member
    own = dict(c)
    if c["pool_is"] == "other-settings":
        own["competence"] = "weak" if c["competence"] == "usual" else "usual"
    elif c["pool_is"] == "overfitted-less":
        own["strength"] = "weak"
    if c["source"] != "simulated":
        logits = classifier_models.pool(world, c, inside)
    else:
        logits = np.array(
            [
                answered(world, own, f"pool{j}", replace(target, logits=target.base), bits).logits
                for j, bits in enumerate(inside)
            ]
        )
    key = "probs" if c["scores"] == "probs" else "logits"
    labels = target.labels + 1 if c["names"] == "from1" else target.labels
    path = folder / "pool.npz"
    np.savez(path, **{key: visible(c, logits)}, labels=labels, member=inside)
    return path


def _misranked(c: Mapping[str, str], target: Rows, played: Played) -> Iterator[str]:
    """Yield what is wrong with the list of the riskiest records where few are wholly exposed."""
    hit = target.member & target.exposed
    known = c["ids"] == "none" and c["pool_is"] == "fair" and int(c["pool_size"]) >= 16
    if played.report is None or not known or c["release"] not in TAIL or hit.sum() < 10:
        return
    listed = [int(name) for name in played.report["worst"]["ids"]]
    found = int(hit[listed].sum())
    if len(listed) >= 10 and found < 0.3 * len(listed):
        yield (
            f"{found} of the {len(listed)} riskiest records are among the {hit.sum()} members "
            "that are wholly exposed"
        )


_LIBRARY = 1_500
"""Modules of a package outside of those installed, as on a cluster."""


def _library(folder: Path) -> Path:
    """Write a large package that is on the path but is nobody's own code, and return its folder."""
    home = folder / "site"
    package = home / f"cluster_{abs(hash(str(folder))) % 10**9}"
    package.mkdir(parents=True, exist_ok=True)
    body = "\n".join(f"def f{i}(x):\n    return x + {i}\n" for i in range(60))
    for i in range(_LIBRARY):
        (package / f"part{i}.py").write_text(body)
    inside = "".join(f"from . import part{i}\n" for i in range(_LIBRARY))
    (package / "__init__.py").write_text(inside)
    return package


_CODE = """
import pandas as pd
from tests.proving.classifier_models import MODELS


def made(state):
    return MODELS[{source!r}](state)


def model():
    people = pd.read_csv({path!r})
    features = [name for name in people if name.startswith("f")]
    return MODELS[{source!r}](0).fit(people[features].to_numpy(), people["label"].to_numpy())
"""


def _asked(world: World, c: Mapping[str, str], folder: Path) -> list[str]:
    """Write records and a module with the model, and return what is asked of them."""
    x, y = classifier_models.records(world, c, "target", int(c["n"]))
    member = world.rng("target bits").random(len(y)) < classifier_rows.SHARE[c["share"]]
    seen = classifier_models.frame(x[member], y[member])
    if c["release"] == "none":
        seen = classifier_models.frame(*classifier_models.records(world, c, "other", len(y)))
    people = classifier_models.frame(x, y)
    if c["ask"] == "attribute":
        for role, table in (("seen", seen), ("people", people)):
            _sensitive(table, c["sensitive"], world.rng(f"{role} attribute"))
    seen.to_csv(folder / "seen.csv", index=False)
    if c["ask"] != "model" and c["ask"] != "label-only":
        people["trained"] = (member ^ (c["mistake"] == "swapped-sides")).astype(int)
    people.to_csv(folder / "people.csv", index=False)
    source = c["source"]
    # A module of its own name: this process imports those of many worlds.
    code = folder / f"made_{folder.parent.name.replace('-', '_')}_{folder.name}.py"
    text = _CODE.format(source=source, path=str(folder / "seen.csv"))
    if c["library"] == "large":
        package = _library(folder)
        path = f"import sys\nsys.path.insert(0, {str(package.parent)!r})\n"
        text = f"{path}import {package.name}\n{text}"
    code.write_text(text)
    data = ["--data", str(folder / "people.csv"), "--label", "label"]
    one = ["--jobs", "1"]
    if c["ask"] == "attribute":
        given = ["--fitted", f"{code}:model", "--member", "trained", "--sensitive", "f4"]
        return ["attribute", *data, *given]
    if c["ask"] == "fitted":
        given = ["--fitted", f"{code}:model", "--member", "trained", "--shadows", "4"]
        return ["classifier", "--model", f"{code}:made", *data, *given, *one]
    more = ["--label-only"] if c["ask"] == "label-only" else []
    return ["classifier", "--model", f"{code}:made", *data, "--shadows", "4", *more, *one]


def _sensitive(table: pd.DataFrame, kind: str, rng: np.random.Generator) -> None:
    """Make a column of three values out of f4, that other columns imply or say nothing of."""
    value = np.digitize(table["f4"], [-0.5, 0.5])
    if kind == "unrelated":
        value = rng.integers(3, size=len(table))
    table["f4"] = value
    if kind == "implied":  # but for one in fifty, as education and its number
        wrong = rng.random(len(table)) < 0.02
        table["f5"] = np.where(wrong, rng.integers(3, size=len(table)), value) * 4 + 1
    elif kind == "dummies":
        for i in range(3):
            table[f"f4_{i}"] = (value == i).astype(int)


def _white_box(world: World, c: Mapping[str, str], folder: Path) -> Played:
    """Return what the audit says of a small network whose weights are known."""
    import torch

    from privacygauge.classifiers.white_box import audit_white_box

    x, y = classifier_models.records(world, c, "target", int(c["n"]))
    member = world.rng("target bits").random(len(y)) < classifier_rows.SHARE[c["share"]]
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-9)
    seen = (x[member], y[member])
    if c["release"] == "none":
        other, classes = classifier_models.records(world, c, "other", len(y))
        seen = ((other - other.mean(axis=0)) / (other.std(axis=0) + 1e-9), classes)
    k = 10 if c["data"] == "digits" else min(int(c["classes"]), 10)
    torch.manual_seed(world.seed % 2**31)
    net = torch.nn.Sequential(
        torch.nn.Linear(x.shape[1], 64), torch.nn.ReLU(), torch.nn.Linear(64, k)
    )
    rule = torch.optim.Adam(net.parameters(), lr=0.01)
    inputs = torch.as_tensor(seen[0]).float()
    classes = torch.as_tensor(seen[1])
    for _ in range(150):
        rule.zero_grad()
        torch.nn.functional.cross_entropy(net(inputs), classes).backward()
        rule.step()
    audit: Callable[[], Any] = partial(
        audit_white_box, net, x, y, member, seed=int(c["audit_seed"])
    )
    return call(audit, folder)


def _by_person(given: Rows) -> Rows:
    """Return one row per person: the first, with the mean of the person's signals."""
    people, first, place = np.unique(given.person, return_index=True, return_inverse=True)
    total = np.bincount(place, given.signal) / np.bincount(place)
    return replace(given.taken(first), signal=total) if len(people) < len(given.labels) else given


def _best_cut(signal: NDArray[np.float64], member: NDArray[np.bool_]) -> float:
    """Return the threshold above which guesses of membership are most often right, balanced."""
    order = np.argsort(signal)
    gained = np.cumsum((~member[order]) / (~member).sum() - member[order] / member.sum())
    best = int(np.argmax(gained))
    return float(signal[order][best])


def balanced(guess: NDArray[np.bool_], member: NDArray[np.bool_], level: float = 0.95) -> Oracle:
    """Return the balanced accuracy of guesses that know nothing of these records.

    The ends add those of two Clopper-Pearson intervals, each of twice the confidence.
    """
    right = [int((guess & member).sum()), int((~guess & ~member).sum())]
    sides = [int(member.sum()), int((~member).sum())]
    tail = (1 - level) / 4
    lows = [
        float(beta.ppf(tail, r, n - r + 1)) if r else 0.0 for r, n in zip(right, sides, strict=True)
    ]
    highs = [
        float(beta.ppf(1 - tail, r + 1, n - r)) if r < n else 1.0
        for r, n in zip(right, sides, strict=True)
    ]
    value = (right[0] / sides[0] + right[1] / sides[1]) / 2
    return Oracle(sum(lows) / 2, sum(highs) / 2, value)


def _tail(target: Rows, fresh: Sequence[Rows]) -> Oracle:
    """Return the share of the records above every non-member of other draws of the world."""
    cut = max(float(np.max(one.signal[~one.member])) for one in fresh)
    over = target.signal > cut
    found = int((over & target.member).sum())
    n = len(target.member)
    sure = hypergeom.sf(found - 1, n, int(target.member.sum()), int(over.sum())) if found else 1.0
    share = found / n
    return Oracle(share, share, share, "tail", float(sure))


def _group(target: Rows) -> Oracle:
    """Return the size of a wholly known group that would stand out as the one that leaks does.

    A page says how large a group it would have found if all its members were known. Of a group
    that leaks a little, the size is that of the smaller one which is as unlikely by chance.
    """
    group = target.exposed
    inside = target.signal[group & target.member]
    outside = target.signal[group & ~target.member]
    if min(len(inside), len(outside)) < 2:
        return Oracle(0.0, 0.0, 0.0, "groups", 1.0)
    p = float(mannwhitneyu(inside, outside, alternative="greater", method="asymptotic").pvalue)
    half = np.arange(1, min(len(inside), len(outside)) + 1)
    known = norm.sf(half / 2 / np.sqrt((2 * half + 1) / 12))
    size = 2.0 * np.count_nonzero(known >= p)
    return Oracle(size, size, size, "groups", p)


DOMAIN = Classifiers()
"""The grammar that the machine plays."""
