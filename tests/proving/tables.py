"""Worlds of released synthetic tables: a made-up hospital, what was released of it, and how.

The columns `post`, `day` and `cost` are drawn independently of each other and of all others,
whatever else is chosen: so the oracle bounds the chance of a copy by a product of three shares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binomtest, hypergeom

from tests.proving.played import Oracle, Played, Truth, command
from tests.proving.world import Factor, Grammar, Relation, World

LEAST = 10
"""The least number of rows that the command takes."""
FAIR_HOLDOUT = 100
"""A comparison with fewer holdout rows may say that it cannot tell."""
N_FRESH = 4_000
"""Rows of the same source that the oracle compares real rows with."""

COPIES = (
    *("verbatim", "repeated", "rarest", "lost", "noise", "binned"),
    *("swapped", "shifted", "smote", "interpolated", "edited", "notes", "framed", "names"),
)
GENERATORS = ("independent", "bootstrap-columns", "copula", "synthpop", "baynet")
IN_ORDER = ("ordered", "faint")
"""Rows in the order of the real ones, of which three or one in ten values are left."""
PLANTED = (*GENERATORS, *COPIES, *IN_ORDER)
FILTERED = "filtered"
"""Rows of other people without the half that equals a real one or is nearest to one."""
MOVED = "moved"
"""Whole histories of people, the dates of each moved by as many days."""
INDEPENDENT = ("post", "day", "cost")

_WORDS = """
reports pain in the left right knee shoulder since last winter no fever mild cough
allergic to penicillin lives alone retired teacher walks daily sleeps badly referred by
doctor wound clean dressing changed plan review in two weeks continues ramipril
metformin aspirin denies smoking former smoker family history of stroke diabetes asthma
blood pressure stable weight loss appetite good anxious about surgery daughter visits
fell at home dizzy after standing
""".split()  # noqa: SIM905


def _f(name: str, values: str, about: str, chance: float = 0.1, *, by_name: str = "") -> Factor:
    """Return a factor whose first value is the plain one.

    Values of `by_name` are played and not drawn, so that the worlds of a seed stay as they are.
    """
    drawn = tuple(values.split())
    named = tuple(by_name.split())
    weights = (*(1.0 for _ in drawn[1:]), *(0.0 for _ in named))
    return Factor(name, (*drawn, *named), drawn[0], chance, weights=weights, about=about)


FACTORS = (
    _f("n", "300 5 12 40 120 600 1200", "rows of the real table", 0.5,
       by_name="500 1000 1500 2000 3000 5000"),
    _f("n-release", "1 0.02 0.1 0.3 3", "rows of the release per real row", 0.25),
    _f("n-holdout", "1 none 10-rows 20-rows 0.3 2", "rows of the holdout per real row", 0.35),
    _f("codes", "30 2 300 2000", "levels of the diagnosis", 0.4, by_name="50"),
    _f("code-tail", "even steep", "whether few codes are frequent and many rare", 0.3),
    _f("post", "100 10 1000", "levels of the postcode", 0.2),
    _f("days", "1000 30 100", "days over which admissions are spread", 0.15),
    _f("day-form", "iso german time none", "how the day is written, if at all", 0.2),
    _f("cost", "cents whole heaped none", "decimals of the cost", 0.3),
    _f("labs", "2 0 1 6", "further numbers, which depend on each other", 0.3),
    _f("tails", "light heavy", "of the further numbers", 0.15),
    _f("signs", "positive negative", "of the further numbers", 0.1),
    _f("notes", "none short long template", "a column of free text", 0.25),
    _f("id", "none serial padded hash", "a column that names the record", 0.2),
    _f("id-said", "no drop id", "whether the id column is left out or named", 0.3),
    _f("missing", "none some many one-column", "values that are missing", 0.25),
    _f("minority", "none two-percent one", "a group with an age and codes of its own", 0.2),
    _f("depends", "some none strong", "of stay and ward on code and age", 0.25),
    _f("function", "none age-band total", "a column that others determine", 0.2),
    _f("constant", "none site", "a column with one value", 0.1),
    _f("sparse", "none flag amount", "a column that is nearly always zero", 0.15),
    _f("class", "none yes-no bool", "a column of two values", 0.15),
    _f("twins", "none some", "one person in twenty has an equal row of somebody else", 0.1),
    _f("visits", "1 3 uneven", "rows per person", 0.2),
    _f("unit-said", "yes no wrong absent", "whether the person's column is named, or there", 0.35),
    _f("rows-order", "random by-day by-age", "of all tables alike", 0.15),
    _f("wide", "no ten thirty", "irrelevant further columns", 0.1),
    _f("panel", "no five-hundred", "as many irrelevant columns: a survey", 0.02),
    _f("country", "no NA", "a column with a category that is called NA", 0.1),
    _f("release", " ".join(("null", *PLANTED)), "what was released", 0.7,
       by_name=f"{FILTERED} {MOVED}"),
    _f("share", "0.1 one 0.005 0.02 0.3 1", "share of the release that was planted", 0.6,
       by_name="0.01"),
    _f("background", "others independent", "the other rows of the release", 0.2),
    _f("made-order", "shuffled as-real sorted", "order of the released rows", 0.2),
    _f("made-decimals", "same fewer", "decimals of the released numbers", 0.1),
    _f("format", "csv semicolon tab pipe decimal-comma parquet gzip upper-suffix", "of files", 0.2),
    _f("encoding", "utf-8 bom latin-1", "of text files", 0.1),
    _f("lines", "unix dos quoted", "ends of lines, and quotes", 0.1),
    _f("mark", "empty NA question-mark dash", "how a missing value is written", 0.15),
    _f("header", "plain spaces umlauts", "names of columns", 0.1),
    _f("column-order", "same other", "of the release", 0.15),
    _f("made-case", "same upper lower", "letters of the release's texts", 0.1),
    _f("made-bool", "same other-words", "yes and no in the release are 1 and 0", 0.1),
    _f("made-index", "no yes", "a column of row numbers in the release alone", 0.07),
    _f("floats", "short long", "digits of written numbers, all files alike", 0.1),
    _f("mishap", "none contaminated made-of-holdout swapped-files shared-rows holdout-is-real "
       "other-year metres translated masked banded other-source",
       "what went wrong for the user", 0.25),
    _f("drawn-again", "no yes", "the planted rows were drawn with repetition", 0.1),
    _f("attempts", "asked many", "the attempts at each risk", 0.1),
    _f("level", "0.95 0.9 0.99", "of the intervals", 0.1),
    _f("seed", "0 1 2", "of the audit", 0.2),
    _f("related", "no yes", "half of the columns come in a second file, by key", 0.07),
)  # fmt: skip


class Tables(Grammar):
    """Audits of a released table by the public command."""

    name = "tables"
    factors = FACTORS
    relations = (
        Relation("another file format", {"format": "parquet"}, "everything",
                 {"encoding": ("",), "lines": ("",), "mark": ("",), "day-form": ("", "none"),
                  "id": ("", "serial"), "missing": ("",), "class": ("", "yes-no")}),
        Relation("another separator", {"format": "pipe"}, "everything"),
        Relation("columns of the release in another order", {"column-order": "other"}, "leak"),
        Relation("an irrelevant column", {"wide": "ten"}, "leak"),
        Relation("a constant column", {"constant": "site"}, "leak"),
        Relation("a larger holdout", {"n-holdout": "2"}, "leak", {"n-holdout": ("", "0.3")}),
        Relation("names with spaces", {"header": "spaces"}, "everything"),
        Relation("released rows in another order", {"made-order": "sorted"}, "leak"),
        Relation("another seed of the audit", {"seed": "1"}, "leak"),
        Relation("more attempts", {"attempts": "many"}, "leak"),
    )  # fmt: skip

    def sensible(self, world: World) -> bool:
        """Whether the choices go together."""
        has = self.chosen(world)
        texts = has["format"] != "parquet"
        return not (
            (has["unit-said"] != "yes" and has["visits"] == "1")
            or (has["id-said"] != "no" and has["id"] == "none")
            or (not texts and (has["encoding"], has["lines"], has["mark"]) != _PLAIN_TEXT)
            or (has["mishap"] in _OF_HOLDOUT and has["n-holdout"] == "none")
            or (has["related"] == "yes" and (has["visits"] != "1" or has["id"] == "none"))
            or (has["made-bool"] != "same" and has["class"] == "none")
            or (has["share"] != "0.1" and has["release"] not in (*COPIES, MOVED))
            or (has["release"] in ("shifted", MOVED) and has["day-form"] == "none")
            or (has["release"] == MOVED and has["visits"] == "1")
            or (has["release"] in ("notes", "framed") and has["notes"] not in ("short", "long"))
            or (has["release"] == "names" and (has["id"], has["id-said"]) != ("hash", "no"))
            or (has["release"] == "names" and has["related"] == "yes")
            or (has["panel"] != "no" and has["n"] == "1200")
            or (has["mishap"] == "holdout-is-real" and has["n-holdout"] != "1")
            or (has["n"] == "1200" and (has["wide"] == "thirty" or has["n-release"] == "3"))
        )

    def play(self, world: World, folder: object) -> Played:
        """Write the files of the world and audit the release by the command."""
        home = Path(str(folder))
        has = self.chosen(world)
        tables = _tables(self, world)
        arguments = ["synthetic", _written(world, has, tables, "real", home)]
        arguments += ["--synthetic", _written(world, has, tables, "made", home)]
        if "holdout" in tables:
            arguments += ["--holdout", _written(world, has, tables, "holdout", home)]
        names = _headers(has)
        if has["related"] == "yes":
            arguments += ["--related", ",".join(_related(has, tables, home))]
            arguments += ["--key", names("id")]
        elif has["id-said"] == "drop":
            arguments += ["--drop", names("id")]
        elif has["id-said"] == "id":
            arguments += ["--id", names("id")]
        if has["visits"] != "1":
            said = {"yes": ["--unit", names("person")], "wrong": ["--unit", names("ward")]}
            arguments += said.get(has["unit-said"], [])
        if has["attempts"] == "many":
            arguments += ["--attempts", "400"]
        if has["level"] != "0.95":
            arguments += ["--level", has["level"]]
        if has["seed"] != "0":
            arguments += ["--seed", has["seed"]]
        return command(arguments, home)

    def truth(self, world: World) -> Truth:
        """Return what is known by construction."""
        has = self.chosen(world)
        mishap = has["mishap"]
        about_others = mishap in ("made-of-holdout", "swapped-files", "other-source")
        leak = has["release"] != "null" and not about_others
        n_holdout = _sizes(has)[2]
        fair = (
            mishap in ("none", "other-source")
            and n_holdout >= FAIR_HOLDOUT
            and (has["visits"] == "1" or has["unit-said"] == "yes")
            and not _may_refuse(has)
        )
        known = leak and has["release"] in COPIES and mishap not in _UNREADABLE
        known |= has["release"] in (*IN_ORDER, FILTERED) and mishap == "none"
        known = known and has["made-decimals"] == "same"

        def oracle(folder: Path) -> Oracle:
            return _oracle(self, world)

        # Whoever is released is a person, and nobody else is.
        wholly = has["release"] == "verbatim" and has["share"] == "1" and mishap == "none"
        return Truth(
            leak,
            fair,
            oracle if known else None,
            may_refuse=_may_refuse(has),
            least="grave" if wholly and has["made-decimals"] == "same" else None,
        )


_PLAIN_TEXT = ("utf-8", "unix", "empty")
_OF_HOLDOUT = (
    "contaminated",
    "made-of-holdout",
    "swapped-files",
    "shared-rows",
    "holdout-is-real",
    "other-year",
)
_UNREADABLE = ("metres", "translated", "masked", "banded")


def _may_refuse(has: Mapping[str, str]) -> bool:
    """Whether to refuse the files in one line is an answer."""
    return (
        min(size for size in _sizes(has) if size) < LEAST
        or has["mishap"] in (*_UNREADABLE, "other-source")
        or has["encoding"] == "latin-1"
        or has["made-index"] == "yes"
        or has["format"] in ("gzip", "decimal-comma")
        or has["made-bool"] != "same"
        or has["made-case"] != "same"
        or has["unit-said"] == "wrong"
        or has["related"] == "yes"
        or (has["missing"] != "none" and has["mark"] in ("question-mark", "dash"))
        or (has["visits"] != "1" and has["release"] in GENERATORS)
    )


def _sizes(has: Mapping[str, str]) -> tuple[int, int, int]:
    """Return the rows of the real table, of the release and of the holdout, 0 for none."""
    n = int(has["n"])
    made = max(1, round(float(has["n-release"]) * n))
    asked = has["n-holdout"]
    if asked == "none":
        return n, made, 0
    holdout = int(asked[:2]) if asked.endswith("-rows") else max(1, round(float(asked) * n))
    return n, made, holdout


# ---------------------------------------------------------------------------------- the people


def _people(world: World, has: Mapping[str, str], role: str, n: int) -> pd.DataFrame:
    """Return n rows of the hospital's population, each column by a generator of its own."""

    def rng(column: str) -> np.random.Generator:
        return world.rng(f"{role} {column}")

    if not n:
        return _people(world, has, role, 1).iloc[:0]
    person = _persons(has, rng("person"), n)
    of_person = int(person.max()) + 1
    rare = rng("minority").random(of_person) < (0.02 if has["minority"] == "two-percent" else 0)
    if has["minority"] == "one" and role == "real":
        rare[0] = True
    born = np.where(rare, rng("age").integers(96, 104, of_person),
                    rng("age").integers(18, 95, of_person))  # fmt: skip
    code = np.where(rare, 0, _codes(has, rng("code"), of_person))
    sex = rng("sex").integers(2, size=of_person)
    post = rng("post").integers(int(has["post"]), size=of_person)
    strength = {"none": 0.0, "some": 0.5, "strong": 1.0}[has["depends"]]
    age = born[person]
    code = code[person]
    sex = sex[person]
    post = post[person]
    tied = rng("tied").random(n) < strength
    ward = np.where(tied, (code + age // 20) % 6, rng("ward").integers(6, size=n))
    stay = rng("stay").geometric(0.2, n) + np.where(tied, code % 7, 0)
    found: dict[str, object] = {
        "age": age,
        "sex": np.array(["female", "male"])[sex],
        "code": np.array([f"D{i:04}" for i in range(int(has["codes"]) + 1)])[code],
        "post": np.array([f"P{i:03}" for i in range(int(has["post"]))])[post],
        "ward": np.array(["surgery", "medicine", "eye", "heart", "child", "skin"])[ward],
        "stay": stay,
    }
    if has["day-form"] != "none":
        days = rng("day").integers(int(has["days"]), size=n)
        found["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")
    if has["cost"] != "none":
        cost = rng("cost").gamma(2.0, 1500.0, n)
        heaped = np.where(rng("heaped").random(n) < 0.5, np.round(cost, -2), np.round(cost, 2))
        found["cost"] = {"cents": cost.round(2), "whole": cost.round(), "heaped": heaped}[
            has["cost"]
        ]
    shared = rng("labs").normal(size=n)
    for i in range(int(has["labs"])):
        own = rng(f"lab {i}")
        value = 0.7 * shared + 0.7 * (
            own.standard_t(2, n) if has["tails"] == "heavy" else own.normal(size=n)
        )
        found[f"lab{i}"] = (value - 1 if has["signs"] == "negative" else value + 20).round(1)
    if has["function"] == "age-band":
        found["band"] = np.array([f"from {low}" for low in range(0, 110, 10)])[age // 10]
    elif has["function"] == "total":
        found["total"] = stay * 450 + age
    if has["constant"] == "site":
        found["site"] = "north"
    if has["sparse"] == "flag":
        found["flag"] = (rng("flag").random(n) < 0.01).astype(int)
    elif has["sparse"] == "amount":
        amount = rng("amount").lognormal(6, 1, n).round()
        found["amount"] = np.where(rng("flag").random(n) < 0.08, amount, 0.0)
    if has["class"] != "none":
        yes = rng("class").random(n) < 0.3
        found["smoker"] = (
            np.array(["no", "yes"])[yes.astype(int)] if has["class"] == "yes-no" else yes
        )
    if has["country"] == "NA":
        found["country"] = np.array(["NA", "NO", "NZ"])[rng("country").integers(3, size=n)]
    for i in range({"no": 0, "ten": 10, "thirty": 30}[has["wide"]]):
        found[f"extra{i}"] = rng(f"extra {i}").integers(5, size=n)
    if has["panel"] == "five-hundred":
        asked = rng("panel").integers(1, 6, size=(n, 500))
        found |= {f"question{i}": asked[:, i] for i in range(500)}
    if has["notes"] != "none":
        found["note"] = _notes(has["notes"], rng("note"), n)
    frame = pd.DataFrame(found)
    if has["twins"] == "some":
        twin = np.flatnonzero(rng("twins").random(n) < 0.05)
        frame.iloc[twin] = frame.iloc[(twin + 1) % n].to_numpy()
    frame = _with_gaps(has, frame, rng("missing")).copy()  # of many columns, in one piece
    by = {"by-day": "day", "by-age": "age"}.get(has["rows-order"])
    if by in frame:
        order = np.argsort(frame[by].to_numpy(), kind="stable")
        frame = frame.iloc[order].reset_index(drop=True)
        person = person[order]
    if has["visits"] != "1":
        frame["person"] = [f"{role[0]}{i}" for i in person]
    if has["id"] != "none":
        frame["id"] = _ids(has["id"], role, rng("id"), n)
    return frame


def _persons(has: Mapping[str, str], rng: np.random.Generator, n: int) -> np.ndarray:
    if has["visits"] == "1":
        return np.arange(n)
    if has["visits"] == "3":
        return np.arange(n) // 3
    return np.repeat(np.arange(n), rng.geometric(0.4, n))[:n]


def _codes(has: Mapping[str, str], rng: np.random.Generator, n: int) -> np.ndarray:
    """Return codes from 1; 0 is the minority's."""
    levels = int(has["codes"])
    if has["code-tail"] == "even":
        return 1 + rng.integers(levels, size=n)
    return 1 + np.minimum(rng.geometric(min(0.5, 5 / levels), n) - 1, levels - 1)


def _notes(kind: str, rng: np.random.Generator, n: int) -> list[str]:
    if kind == "template":
        return [f"seen on ward {rng.integers(4)}, plan {rng.integers(5)}" for _ in range(n)]
    length = rng.integers(4, 8, n) if kind == "short" else rng.integers(15, 40, n)
    return [" ".join(rng.choice(_WORDS, k)) for k in length]


def _ids(kind: str, role: str, rng: np.random.Generator, n: int) -> list[object]:
    """Return names of records, other ones in each table."""
    first = {"real": 0, "holdout": 100_000}.get(role, 200_000)
    number = first + rng.permutation(n)
    if kind == "serial":
        return list(number)
    if kind == "padded":
        return [f"{i:07}" for i in number]
    return [f"{(int(i) * 2_654_435_761) % 2**32:08x}" for i in number]


def _with_gaps(
    has: Mapping[str, str], frame: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    rate = {"none": 0.0, "some": 0.05, "many": 0.3, "one-column": 0.5}[has["missing"]]
    gaps = rng.random(frame.shape) < rate
    if has["missing"] == "one-column":
        gaps &= np.array([name == "stay" for name in frame.columns])
    return frame.mask(gaps) if gaps.any() else frame


# --------------------------------------------------------------------------------- the release


@lru_cache(maxsize=4)
def _made(text: str) -> dict[str, pd.DataFrame]:
    from tests.proving.world import parse

    world = parse(text)
    has = DOMAIN.chosen(world)
    n, n_made, n_holdout = _sizes(has)
    real = _people(world, has, "real", n)
    holdout = _people(world, has, "holdout", n_holdout)
    # A filter chooses among more rows than are released.
    others = _people(world, has, "others", n_made * (4 if has["release"] == FILTERED else 1))
    mishap = has["mishap"]
    if mishap == "other-year":
        holdout = _later(holdout)
    if mishap == "other-source":
        others = _later(others)
    source = {
        "contaminated": lambda: _mixed(real, holdout, world.rng("contaminated")),
        "made-of-holdout": lambda: holdout,
        "other-source": lambda: _later(_people(world, has, "elsewhere", n)),
    }.get(mishap, lambda: real)()
    made = _release(world, has, source, others)
    if mishap == "metres":
        made["stay"] = made["stay"] / 7
    elif mishap == "translated":
        made["sex"] = made["sex"].replace({"female": "weiblich", "male": "maennlich"})
    elif mishap == "masked":
        made["code"] = made["code"].str[:3]
    elif mishap == "banded":
        low = made["age"] // 5 * 5
        known = low.notna()
        made["age"] = made["age"].astype(object)
        made.loc[known, "age"] = [f"{int(x)}-{int(x) + 4}" for x in low[known]]
    if has["made-decimals"] == "fewer":
        for name in made.select_dtypes("float").columns:
            made[name] = made[name].round(0)
    if mishap == "swapped-files":
        real, holdout = holdout, real
    elif mishap == "shared-rows":
        some = world.rng("shared").choice(len(real), max(1, len(holdout) // 10))
        rest = holdout.iloc[len(some) :]
        holdout = pd.concat([real.iloc[some], rest]).iloc[:n_holdout].reset_index(drop=True)
    elif mishap == "holdout-is-real":
        holdout = real
    made = _in_order(world, has, made)
    return {"real": real, "made": made, **({"holdout": holdout} if n_holdout else {})}


def _tables(grammar: Grammar, world: World) -> dict[str, pd.DataFrame]:
    kept = grammar.world(world.seed, world.choices)
    return {name: frame.copy() for name, frame in _made(str(kept)).items()}


def _later(frame: pd.DataFrame) -> pd.DataFrame:
    shift = {"age": 8, "stay": 2, "day": pd.Timedelta(400, "D")}
    return frame.assign(**{k: frame[k] + by for k, by in shift.items() if k in frame})


def _mixed(real: pd.DataFrame, holdout: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    both = pd.concat([real, holdout], ignore_index=True)
    return both.iloc[rng.permutation(len(both))].reset_index(drop=True)


def _in_order(world: World, has: Mapping[str, str], made: pd.DataFrame) -> pd.DataFrame:
    if has["release"] in IN_ORDER or has["made-order"] == "as-real":
        return made.reset_index(drop=True)
    if has["made-order"] == "sorted":
        return made.sort_values("stay", kind="stable").reset_index(drop=True)
    order = world.rng("made order").permutation(len(made))
    return made.iloc[order].reset_index(drop=True)


def _release(
    world: World, has: Mapping[str, str], source: pd.DataFrame, others: pd.DataFrame
) -> pd.DataFrame:
    """Return the released rows: of a generator, or planted ones among those of other people."""
    kind = has["release"]
    rng = world.rng("release")
    if kind in GENERATORS:
        return _generated(kind, source, others, rng)
    if has["background"] == "independent":
        shuffled = {c: rng.permutation(others[c].to_numpy()) for c in others}
        others = pd.DataFrame(shuffled).astype(others.dtypes)
    if kind == "null":
        return others
    if kind == FILTERED:
        away = _nearest(others, source, source)
        kept = others[away > np.median(away)]
        return kept.iloc[: _sizes(has)[1]].reset_index(drop=True)
    if kind == MOVED:
        n_rows = max(1, round(float(has["share"]) * len(others)))
        people = rng.permutation(source["person"].unique())
        days = dict(zip(people, rng.integers(-200, 201, len(people)), strict=True))
        of_people = source.set_index("person").loc[people].reset_index().iloc[:n_rows]
        copies = of_people.assign(
            day=of_people["day"] + pd.to_timedelta(of_people["person"].map(days), "D"),
            person=[f"m{name}" for name in of_people["person"]],
        )
        return pd.concat([copies[list(others)], others.iloc[n_rows:]], ignore_index=True)
    if kind in IN_ORDER:
        drawn = others.iloc[: len(source)].reset_index(drop=True)
        kept = source.iloc[: len(drawn)].reset_index(drop=True)
        again = rng.random(drawn.shape) < (0.7 if kind == "ordered" else 0.9)
        return _typed(kept.where(~again, drawn), drawn)
    rows, planted = _planted(world, has, source, others, rng)
    rest = others.iloc[len(rows) :]
    return pd.concat([_typed(planted, rest), rest], ignore_index=True)


def _nearest(asked: pd.DataFrame, among: pd.DataFrame, real: pd.DataFrame) -> np.ndarray:
    """Return squared distances to the nearest row: numbers in standard deviations of the real."""
    from scipy.spatial.distance import cdist

    columns = [c for c in real if c not in ("id", "person")]
    numbers = [c for c in columns if real[c].dtype.kind in "iufM"]
    points = []
    for frame in (asked, among):
        scaled = pd.DataFrame(index=frame.index)
        for name in numbers:
            ours, all_of = (
                (x[name] - pd.Timestamp("2020-01-01")).dt.days if x[name].dtype.kind == "M"
                else x[name].astype(float) for x in (frame, real)
            )  # fmt: skip
            scaled[name] = (ours - all_of.mean()) / (all_of.std() or 1.0)
            scaled[f"{name} missing"] = ours.isna().astype(float)
        points.append(scaled.fillna(0.0).to_numpy(float))
    away = cdist(*points, "sqeuclidean")
    for name in columns:
        if name not in numbers:
            codes, _ = pd.factorize(pd.concat([asked[name], among[name]]).astype(str))
            away += codes[: len(asked), None] != codes[None, len(asked) :]
    return np.asarray(away.min(axis=1))


def _typed(frame: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Return columns of the types of another frame, but for whole numbers with missing values."""
    gaps = {name for name in frame if frame[name].isna().any()}
    types = {name: kind for name, kind in like.dtypes.items() if not (name in gaps and kind != "O")}
    return frame.astype(types)


def _planted_rows(
    has: Mapping[str, str], source: pd.DataFrame, n_made: int, rng: np.random.Generator
) -> np.ndarray:
    """Return the rows of the source that are planted, one for each planted row."""
    asked = has["share"]
    k = 1 if asked == "one" else max(1, round(float(asked) * n_made))
    k = min(k, n_made)
    if has["release"] == "repeated":
        return np.tile(rng.choice(len(source), max(1, k // 3), replace=k // 3 > len(source)), 3)[:k]
    if has["release"] == "rarest":
        return _rarest(source)[: min(k, len(source))]
    again = has["drawn-again"] == "yes" or k > len(source)
    return rng.choice(len(source), k, replace=again)


def _rarest(source: pd.DataFrame) -> np.ndarray:
    """Return all rows, those with the rarest codes and ages first."""
    share = np.zeros(len(source))
    for name in ("code", "age", "ward"):
        share += np.log(source[name].map(source[name].value_counts(dropna=False)).fillna(1))
    return np.argsort(share.to_numpy() if hasattr(share, "to_numpy") else share, kind="stable")


def _planted(
    world: World,
    has: Mapping[str, str],
    source: pd.DataFrame,
    others: pd.DataFrame,
    rng: np.random.Generator,
) -> tuple[np.ndarray, pd.DataFrame]:
    """Return the rows that are planted, and what is released of each."""
    kind = has["release"]
    rows = _planted_rows(has, source, len(others), rng)
    kept = source.iloc[rows].reset_index(drop=True)
    numbers = [c for c in kept.select_dtypes("number").columns if c != "id"]
    drawn = others.iloc[rng.integers(len(others), size=len(kept))].reset_index(drop=True)
    if kind == "noise":
        for name in numbers:
            wide = float(source[name].std()) if len(source) > 1 else 0.0
            noisy = kept[name] + rng.normal(0, 0.1 * (wide or 1.0), len(kept))
            kept[name] = _like(noisy, source[name])
    elif kind == "binned":
        for name in numbers:
            width = float(source[name].quantile(0.9) - source[name].quantile(0.1)) / 20 or 1.0
            kept[name] = _like((kept[name] / width).round() * width, source[name])
    elif kind == "shifted":
        kept["day"] += pd.to_timedelta(rng.integers(-14, 15, len(kept)), "D")
    elif kind == "swapped":
        for name in rng.choice(kept.columns, 2, replace=False):
            kept[name] = drawn[name].to_numpy()
    elif kind == "lost":
        again = rng.random(kept.shape) < 2 / len(kept.columns)
        kept = _typed(kept.where(~again, drawn), source)
    elif kind == "notes":
        kept = drawn.assign(note=kept["note"])
    elif kind == "framed":
        kept = drawn.assign(note="letter of today " + kept["note"] + " with kind regards")
    elif kind == "names":
        drawn = drawn.assign(id=kept["id"])
        kept = drawn.copy()
    elif kind == "edited" and "note" in kept:
        kept["note"] = [_edited(text, rng) for text in kept["note"]]
    elif kind in ("smote", "interpolated"):
        kept = _between(kept, source, numbers, rng, near=kind == "smote")
    if "id" in kept:
        kept["id"] = drawn["id"].to_numpy()
    if "person" in kept:
        kept["person"] = [f"m{i}" for i in range(len(kept))]
    return rows, kept


def _edited(text: object, rng: np.random.Generator) -> object:
    if not isinstance(text, str):
        return text
    words = text.split()
    words[int(rng.integers(len(words)))] = str(rng.choice(_WORDS))
    return " ".join(words)


def _like(values: pd.Series, source: pd.Series) -> pd.Series:
    """Return numbers with the decimals and the type of a column."""
    if source.dtype.kind in "iu":
        return values.round().astype(source.dtype)
    decimals = next(
        (d for d in range(3) if np.allclose(source.dropna().round(d), source.dropna())), 3
    )
    return values.round(decimals)


def _between(
    kept: pd.DataFrame,
    source: pd.DataFrame,
    numbers: list[str],
    rng: np.random.Generator,
    *,
    near: bool,
) -> pd.DataFrame:
    """Return rows between a row and another one of the source, with the first one's texts."""
    spread = source[numbers].std().replace(0, 1).fillna(1)
    points = (source[numbers] / spread).fillna(0).to_numpy(float)
    mine = (kept[numbers] / spread).fillna(0).to_numpy(float)
    other = np.empty(len(kept), np.int64)
    for place in range(len(kept)):
        away = np.abs(points - mine[place]).sum(axis=1)
        away += 0 if near else rng.random(len(away)) * 1e6
        other[place] = np.argsort(away)[min(1 + int(rng.integers(3)), len(away) - 1)]
    part = rng.uniform(0, 0.5 if near else 0.3, len(kept))
    for name in numbers:
        theirs = source[name].to_numpy(float)[other]
        both = kept[name].to_numpy(float) * (1 - part) + theirs * part
        kept[name] = _like(pd.Series(both), source[name])
    return kept


def _generated(
    kind: str, source: pd.DataFrame, others: pd.DataFrame, rng: np.random.Generator
) -> pd.DataFrame:
    """Return rows of a generator that was fitted to the source, with names of its own."""
    n = len(others)
    named = [c for c in ("id", "person") if c in source]
    data = source.drop(columns=named)
    if kind in ("synthpop", "baynet"):
        made = _by_product(kind, data, n, rng)
    elif kind == "copula":
        made = _copula(data, n, rng)
    elif kind == "independent":
        made = pd.DataFrame({c: rng.choice(data[c].to_numpy(), n) for c in data})
        for name in data.select_dtypes("number").columns:
            noisy = made[name] + rng.normal(0, float(data[name].std() or 1) * 0.3 + 1e-9, n)
            made[name] = _like(noisy, data[name])
    else:
        made = pd.DataFrame({c: rng.choice(data[c].to_numpy(), n) for c in data})
    made = made.astype(data.dtypes)
    return made.assign(**{name: others[name].to_numpy() for name in named})[list(source.columns)]


def _by_product(kind: str, data: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    from privacygauge.tables.frames import read_table
    from privacygauge.tables.generators.generator import BayNet, SynthPop

    table = read_table(data)
    made = (BayNet(degree=1) if kind == "baynet" else SynthPop()).generate(table, n, rng).to_frame()
    for name in data:
        if data[name].dtype == bool:
            made[name] = made[name] == "True"
        elif data[name].dtype.kind in "iuf":
            made[name] = pd.to_numeric(made[name])
    return made


def _copula(data: pd.DataFrame, n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Return rows of a Gaussian copula over ranks, whose values are those of the source."""
    from scipy.stats import norm

    ranks = data.apply(lambda c: c.astype(str) if c.dtype == object else c).rank(pct=True)
    scores = norm.ppf(ranks.fillna(0.5).clip(0.01, 0.99))
    width = scores.shape[1]
    covariance = np.cov(scores.T).reshape(width, width) + 1e-6 * np.eye(width)
    drawn = norm.cdf(rng.multivariate_normal(np.zeros(width), covariance, n))
    made = {}
    for j, name in enumerate(data):
        text = data[name].dtype == object
        ordered = data[name].sort_values(key=(lambda c: c.astype(str)) if text else None)
        place = np.minimum((drawn[:, j] * len(ordered)).astype(int), len(ordered) - 1)
        made[name] = ordered.to_numpy()[place]
    return pd.DataFrame(made)


# ----------------------------------------------------------------------------------- the files


def _headers(has: Mapping[str, str]) -> Callable[[str], str]:
    forms = {"plain": "{}", "spaces": "the {} of it", "umlauts": "{} für Müller"}
    return forms[has["header"]].format


def _written(
    world: World, has: Mapping[str, str], tables: Mapping[str, pd.DataFrame], name: str, home: Path
) -> str:
    """Return the path of a table as its user wrote it."""
    frame = tables[name].drop(columns=["person"] * (has["unit-said"] == "absent"))
    if has["related"] == "yes":
        frame = frame[["id", *[c for c in frame if c != "id"][::2]]]
    if name == "made":
        frame = _as_released(world, has, frame)
    return _file(has, frame, name, home)


def _related(has: Mapping[str, str], tables: Mapping[str, pd.DataFrame], home: Path) -> list[str]:
    paths = []
    for name, frame in tables.items():
        rest = frame[["id", *[c for c in frame if c != "id"][1::2]]]
        paths.append(_file(has, rest, f"{name}-more", home))
    return paths


def _as_released(world: World, has: Mapping[str, str], frame: pd.DataFrame) -> pd.DataFrame:
    if has["made-case"] != "same":
        change = str.upper if has["made-case"] == "upper" else str.lower
        for name in [c for c in frame if frame[c].dtype.kind == "O"]:  # str is, in all pandas
            frame[name] = frame[name].map(lambda x: change(x) if isinstance(x, str) else x)
    if has["made-bool"] != "same" and "smoker" in frame:
        yes = {"yes": 1, "no": 0, True: 1, False: 0}
        frame["smoker"] = frame["smoker"].map(yes)
    if has["column-order"] == "other":
        frame = frame[list(world.rng("columns").permutation(frame.columns))]
    if has["made-index"] == "yes":
        frame.insert(0, "row", np.arange(len(frame)))
    return frame


def _file(has: Mapping[str, str], frame: pd.DataFrame, name: str, home: Path) -> str:
    frame = frame.rename(columns=_headers(has))
    kind = has["format"]
    day = _headers(has)("day")
    if kind == "parquet":
        path = home / f"{name}.parquet"
        frame.to_parquet(path, index=False)
        return str(path)
    if day in frame:
        form = {"iso": "%Y-%m-%d", "german": "%d.%m.%Y", "time": "%Y-%m-%d 08:30:00"}
        frame[day] = pd.to_datetime(frame[day]).dt.strftime(form[has["day-form"]])
    if has["floats"] == "long":
        for column in frame.select_dtypes("float").columns:
            frame[column] = [f"{x:.6f}" if x == x else None for x in frame[column]]
    suffix = {"tab": ".tsv", "gzip": ".csv.gz", "upper-suffix": ".CSV"}.get(kind, ".csv")
    separator = {"semicolon": ";", "decimal-comma": ";", "tab": "\t", "pipe": "|"}.get(kind, ",")
    path = home / f"{name}{suffix}"
    mark = {"empty": "", "NA": "NA", "question-mark": "?", "dash": "-"}[has["mark"]]
    coding = {"bom": "utf-8-sig", "utf-8": "utf-8", "latin-1": "latin-1"}[has["encoding"]]
    frame.to_csv(
        path,
        index=False,
        sep=separator,
        decimal="," if kind == "decimal-comma" else ".",
        na_rep=mark,
        encoding=coding,
        lineterminator="\r\n" if has["lines"] == "dos" else "\n",
        quoting=1 if has["lines"] == "quoted" else 0,
        compression="gzip" if kind == "gzip" else None,
    )
    return str(path)


# ---------------------------------------------------------------------------------- the oracle


def _oracle(grammar: Grammar, world: World) -> Oracle:
    """Return how many real rows are exposed to somebody who knows how rows were planted.

    A real row is exposed where a released row agrees with it as a planted one would. How many of
    as many fresh rows are says what chance does; one copy is also judged by the product of the
    shares of three independent columns, each counted once more than it was seen.
    """
    has = grammar.chosen(world)
    tables = _tables(grammar, world)
    real = tables["real"]
    made = tables["made"]
    if has["release"] in IN_ORDER:
        return _by_place(real, made, _people(world, has, "fresh", len(real)))
    if has["release"] == FILTERED:
        return _by_absence(real, made, _people(world, has, "fresh", N_FRESH))
    fresh = _people(world, has, "fresh", N_FRESH)
    hit = _exposed(has, real, made, real)
    chance = _exposed(has, fresh, made, real)
    k = int(hit.sum())
    p = float(hypergeom.sf(k - 1, len(hit) + len(chance), k + int(chance.sum()), len(hit)))
    if k and has["release"] in ("verbatim", "repeated", "rarest") and has["twins"] == "none":
        p = min(p, _of_one(real[hit], fresh, len(made)) * len(real))
    share = k / len(hit)
    return Oracle(share, share, share, "tail", p)


def _by_place(real: pd.DataFrame, made: pd.DataFrame, fresh: pd.DataFrame) -> Oracle:
    """Return how surely the released row in a person's place is told from that of a stranger.

    A guess is that of a member where an independent column agrees.
    """
    n = min(len(real), len(made))
    columns = [name for name in INDEPENDENT if name in real]
    ends = []
    for table, inside in ((real, True), (fresh, False)):
        agrees = np.zeros(n, bool)
        for name in columns:
            agrees |= table[name].to_numpy()[:n] == made[name].to_numpy()[:n]
        right = int((agrees == inside).sum())
        found = binomtest(right, n).proportion_ci(0.975, method="exact")
        ends.append((right / n, float(found.low), float(found.high)))
    value, low, high = np.mean(ends, axis=0).tolist()
    return Oracle(low, high, value)


def _by_absence(real: pd.DataFrame, made: pd.DataFrame, fresh: pd.DataFrame) -> Oracle:
    """Return how surely members are told by having no released row nearer than the filter let."""
    # Both ways to the same numbers, but for the order of sums.
    least = float(_nearest(made, real, real).min()) * (1 - 1e-9)
    ends = []
    for table, inside in ((real, True), (fresh, False)):
        right = int(((_nearest(table, made, real) >= least) == inside).sum())
        found = binomtest(right, len(table)).proportion_ci(0.975, method="exact")
        ends.append((right / len(table), float(found.low), float(found.high)))
    value, low, high = np.mean(ends, axis=0).tolist()
    return Oracle(low, high, value)


def _exposed(
    has: Mapping[str, str], asked: pd.DataFrame, made: pd.DataFrame, real: pd.DataFrame
) -> np.ndarray:
    """Return which rows agree with a released row as a planted one would."""
    kind = has["release"]
    columns = [c for c in asked if c not in ("id", "person")]
    columns = {"notes": ["note"], "framed": ["note"], "names": ["id"]}.get(kind, columns)
    free = {"swapped": 2, "lost": 4}.get(kind, 0)
    off = np.zeros((len(asked), len(made)), np.int16)
    for name in columns:
        ours = asked[name].to_numpy()[:, None]
        theirs = made[name].to_numpy()[None, :]
        number = real[name].dtype.kind in "iuf"
        if number and kind in ("noise", "binned", "smote", "interpolated"):
            spread = float(real[name].std() or 1.0)
            wide = {"noise": 0.35, "binned": 0.2, "smote": 0.8, "interpolated": 1.2}[kind]
            agrees = np.abs(ours - theirs) <= wide * spread + 0.5
        elif name == "day" and kind == "shifted":
            agrees = np.abs(ours - theirs) <= np.timedelta64(14, "D")
        elif name == "note" and kind == "edited":
            continue
        elif kind == "framed":
            inner = [text.removeprefix("letter of today ") for text in made[name].astype(str)]
            inner = [text.removesuffix(" with kind regards") for text in inner]
            agrees = ours == np.array(inner, dtype=object)[None, :]
        else:
            agrees = ours == theirs
        agrees = agrees | (pd.isna(ours) & pd.isna(theirs))
        off += ~agrees
    return (off <= free).any(axis=1)


def _of_one(copied: pd.DataFrame, fresh: pd.DataFrame, n_made: int) -> float:
    """Return a bound of the chance that the least likely copy is met in the release."""
    chance = np.full(len(copied), float(n_made))
    for name in INDEPENDENT:
        if name in copied:
            counts = copied[name].map(fresh[name].value_counts(dropna=False)).fillna(0)
            chance *= (counts.to_numpy(float) + 1) / (len(fresh) + 1)
    return float(min(1.0, chance.min()))


DOMAIN = Tables()
