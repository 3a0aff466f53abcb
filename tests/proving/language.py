"""Worlds of language audits: files of energies with a known truth.

An energy is the mean over a text's tokens of how unlikely each is. Under both models it is made of
the person, the text and its tokens, and what is planted is taken off the audited model's energy of
members alone. So without a plant members and non-members are exchangeable given what is known of a
text without any model: its length, its person, its words.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from tests.proving.played import Oracle, Played, Truth, command
from tests.proving.world import Factor, Grammar, Relation, World

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FACTORS = (
    Factor("n", ("120", "30", "60", "400", "1200"), "120", 0.5, about="member texts"),
    Factor("others", ("1", "0.3", "3"), "1", 0.3, about="non-members per member"),
    Factor("people", ("none", "one", "five", "mixed", "few"), "none", 0.5, about="texts a person"),
    Factor("person", ("0.25", "0", "1"), "0.25", 0.2, about="spread between people, nats"),
    Factor(
        "ratio",
        ("1", "0.2", "0.5", "0.8", "1.25", "2", "5", "mixed"),
        "1",
        0.25,
        about="of lengths; mixed: half of the members' texts at a fifth, half at five times",
    ),
    Factor("spread", ("0.4", "0", "1"), "0.4", 0.2, about="of log lengths"),
    Factor("length", ("given", "absent"), "given", 0.3, about="column of lengths"),
    Factor("easier", ("0.1", "0", "0.5"), "0.1", 0.2, about="long texts, nats per log token"),
    Factor("population", ("same", "none", "small", "unlike"), "same", 0.4, about="for thresholds"),
    Factor("reference", ("given", "none", "far"), "given", 0.25, about="model"),
    Factor("saw", ("none", "half", "all", "others"), "none", 0.08, about="by the reference"),
    Factor("leak", ("none", "all", "few", "half", "long", "copies"), "none", 0.5, about="plant"),
    Factor("nats", ("0.5", "0.1", "0.2", "1"), "0.5", 0.4, about="of the plant"),
    Factor(
        "drift", ("none", "slight", "clear"), "none", 0.1, about="members easier to both models"
    ),
    Factor("text", ("none", "notes", "templates", "short", "letters"), "none", 0.4, about="column"),
    Factor("era", ("none", "dates"), "none", 0.06, about="words of one side alone"),
    Factor(
        "house",
        ("none", "blank", "date", "order", "sign", "capitals"),
        "none",
        0.08,
        about="members are written as the target's other texts, the words are the same: a blank at "
        "the end, the order of a date or of last words; a dash or capitals in a third",
    ),
    Factor(
        "copies", ("none", "five", "members", "few"), "none", 0.12, about="equal texts in a side"
    ),
    Factor("twins", ("none", "some", "most"), "none", 0.08, about="non-members, a word changed"),
    Factor("across", ("none", "few"), "none", 0.08, about="texts on both sides"),
    Factor("tails", ("normal", "heavy"), "normal", 0.2, about="of the energies"),
    Factor("rounded", ("full", "3", "1", "half"), "full", 0.2, about="precision of the energies"),
    Factor("unit", ("nats", "bits", "sum"), "nats", 0.15, about="of the energies"),
    Factor(
        "unlike",
        ("none", "members", "others", "target", "reference"),
        "none",
        0.06,
        about="energies that are sums beside means",
    ),
    Factor("signal", ("none", "noise", "length", "constant", "copy"), "none", 0.2, about="further"),
    Factor("threshold", ("default", "oracle", "mean-train"), "default", 0.15, about="asked for"),
    Factor("format", ("csv", "jsonl", "jsonl.gz", "parquet"), "csv", 0.4, about="of the file"),
    Factor("ids", ("number", "padded", "named", "odd"), "number", 0.2, about="of the samples"),
    Factor("rows", ("members-first", "shuffled", "sorted"), "members-first", 0.3, about="order"),
    Factor("columns", ("usual", "reversed", "further"), "usual", 0.15, about="order of columns"),
    Factor(
        "member",
        ("number", "true", "float", "yes", "train"),
        "number",
        0.25,
        about="how bits are written",
    ),
    Factor("swapped", ("no", "yes"), "no", 0.05, about="sides"),
    Factor("shuffled", ("no", "yes"), "no", 0.04, about="energies among the rows"),
    Factor("sign", ("energy", "likelihood"), "energy", 0.04, about="of the energies"),
    Factor("missing", ("none", "some"), "none", 0.04, about="energies"),
    Factor("mixed", ("no", "yes"), "no", 0.06, about="people with texts on both sides"),
)

_LENGTHS = {"none": 1, "one": 1, "five": 5, "mixed": 4, "few": 30}
_WORDS = tuple(
    "".join(parts)
    for a in ("ka", "re", "mi", "to", "su", "ne", "la", "bo")
    for b in ("den", "lor", "vin", "tas", "pel", "gar", "mon", "sik")
    for parts in ((a, b), (b, a), (a, b, "a"), (b, a, "s"))
)
_TEMPLATE = "patient {0} was seen on the {1} of {2} for {3} {4} and {5} was given with {6} {7}"


@dataclass(frozen=True)
class Made:
    """A world's rows before they are written: members, non-members, population."""

    side: Ints
    """(n,) 0 member, 1 non-member, 2 population."""
    person: Ints
    """(n,) Who, over all sides."""
    length: Ints
    """(n,) Tokens."""
    target: Floats
    """(n,) Energies under the audited model."""
    reference: Floats
    """(n,) Under the other one."""
    clean: Floats
    """(n,) What the audited model would say had it seen nothing."""
    plant: Floats
    """(n,) Nats taken off."""
    text: tuple[str, ...]
    """(n,) The texts."""
    fresh: NDArray[np.bool_]
    """(n,) False for what is on the other side too, equal or nearly."""


class Language(Grammar):
    """Files of energies, audited by ``privacygauge language --scores``."""

    name = "language"
    factors = _FACTORS
    relations = (
        Relation("shuffled rows", {"rows": "shuffled"}, "grade"),
        Relation("other ids", {"ids": "named"}, "grade"),
        Relation("another format", {"format": "parquet"}, "everything"),
        Relation("other columns", {"columns": "further"}, "everything"),
        Relation("bits as words", {"member": "true"}, "everything"),
        Relation("a further attack", {"signal": "noise"}, "leak"),
    )

    def sensible(self, world: World) -> bool:
        """Whether something can be seen in it, and no choice makes another one void."""
        c = self.chosen(world)
        if c["text"] == "none" and (c["era"], c["twins"], c["house"]) != ("none",) * 3:
            return False
        if c["people"] == "none" and c["mixed"] != "no":
            return False
        if c["people"] == "few" and c["n"] in ("30", "60"):
            return False
        if c["saw"] != "none" and c["reference"] == "none":
            return False
        if c["n"] == "30" and c["others"] == "0.3":
            return False
        if c["unlike"] != "none" and (c["unit"] != "nats" or c["rounded"] != "full"):
            return False
        if c["unlike"] == "reference" and c["reference"] == "none":
            return False
        return c["nats"] == "0.5" or c["leak"] != "none"

    def made(self, world: World) -> Made:
        """Return the rows of a world."""
        return _made(world, self.chosen(world))

    def play(self, world: World, folder: object) -> Played:
        """Write the file and audit it."""
        c = self.chosen(world)
        place = Path(str(folder))
        path = place / f"scores.{c['format']}"
        _write(_frame(world, self.made(world), c), path)
        asked = [] if c["threshold"] == "default" else ["--threshold", c["threshold"]]
        return command(["language", "--scores", str(path), "--seed", "1", *asked], place)

    def truth(self, world: World) -> Truth:
        """Return whether members were memorised, and whether the file can tell."""
        c = self.chosen(world)
        blind = (
            c["drift"] != "none"
            or c["era"] != "none"
            or c["house"] != "none"
            or c["saw"] != "none"
            or c["swapped"] == "yes"
            or c["shuffled"] == "yes"
            or c["twins"] != "none"
            or c["unlike"] != "none"
            or c["ratio"] in ("0.2", "5", "0.5", "2", "mixed")
            or (c["length"] == "absent" and c["ratio"] != "1" and c["text"] == "none")
            or (c["ratio"] != "1" and c["spread"] == "0")
            or c["rounded"] == "1"
        )
        leak = c["leak"] != "none" and c["shuffled"] == "no"
        # Nothing in such a file says that the sides differ in membership alone.
        blind = blind or (leak and c["reference"] == "none" and c["text"] == "none")
        oracle = None
        unlike = c["ratio"] != "1" or c["drift"] != "none"
        if leak and not unlike and c["leak"] != "copies":
            oracle = lambda folder: self.oracle(world)  # noqa: E731
        refuses = c["sign"] == "likelihood" or c["missing"] == "some"
        if c["across"] != "none" and c["n"] == "30":
            refuses = True
        return Truth(leak, not blind and not refuses, oracle, refuses)

    def oracle(self, world: World) -> Oracle:
        """Return what somebody reaches who knows what was planted, and where."""
        c = self.chosen(world)
        made = self.made(world)
        given = c["reference"] == "given" and c["saw"] == "none"
        beside = made.reference if given else _typical(made)
        score = beside - made.target
        inside = made.side == 0
        outside = (made.side == 1) & made.fresh
        if c["leak"] == "few":
            judged = np.flatnonzero(inside | outside)
            top = judged[np.argsort(-score[judged])][: max(1, int((made.plant > 0).sum()))]
            found = int(inside[top].sum())
            n = len(judged)
            m = int(inside.sum())
            p = float(scipy.stats.hypergeom.sf(found - 1, n, m, len(top)))
            share = found / len(judged)
            return Oracle(share, share, share, "tail", p)
        level = float(np.median(score[outside])) if outside.any() else 0.0
        middle = level + made.plant[inside].mean() / 2
        ends = []
        for rows, above in ((inside, True), (outside, False)):
            # Rows of a person share what the person is like: a person counts once.
            first = np.flatnonzero(rows)[np.unique(made.person[rows], return_index=True)[1]]
            right = int(((score[first] > middle) == above).sum())
            ends.append((*_exact(right, len(first)), right / max(1, len(first))))
        low, high, value = (float(np.mean([end[i] for end in ends])) for i in range(3))
        return Oracle(low, high, value)


def _exact(right: int, n: int) -> tuple[float, float]:
    if n == 0:
        return 0.0, 1.0
    found = scipy.stats.binomtest(right, n).proportion_ci(0.975, method="exact")
    return float(found.low), float(found.high)


def _typical(made: Made) -> Floats:
    return np.full(len(made.side), float(np.median(made.clean)))


def _made(world: World, c: dict[str, str]) -> Made:
    n_in = int(c["n"])
    n_out = max(8, round(n_in * float(c["others"])))
    n_more = {"same": n_in, "none": 0, "small": 20, "unlike": n_in}[c["population"]]
    side = np.repeat([0, 1, 2], [n_in, n_out, n_more])
    n = len(side)
    person = _people(world, side, c)
    length = _lengths(world, side, c)
    draw = world.rng("energies")
    base = 3.0 + float(c["person"]) * world.rng("people").standard_normal(n)[person]
    base -= float(c["easier"]) * np.log(length / 30)
    width = 1 / np.sqrt(length)
    text_noise = _noise(draw, n, c) * 1.2 * width + 0.15 * draw.standard_normal(n)
    shared = base + text_noise
    reference = shared + _noise(draw, n, c) * 0.5 * width
    clean = 0.1 + shared + _noise(draw, n, c) * 0.5 * width
    if c["reference"] == "far":
        reference += 0.5 * draw.standard_normal(n)
    plant = _plant(world, side, length, c)
    texts, at_home = _at_home(world, side, _texts(world, side, length, c), c)
    clean = clean - 0.6 * at_home
    fresh = np.ones(n, bool)
    shift = {"none": 0.0, "slight": 0.1, "clear": 0.4}[c["drift"]] * (side == 0)
    if c["population"] == "unlike":
        shift = shift - 0.3 * (side == 2)
    reference = reference - shift
    clean = clean - shift
    saw = {"none": 0.0, "half": 0.5, "all": 1.0, "others": 1.0}[c["saw"]]
    reader = side == (1 if c["saw"] == "others" else 0)
    reference = reference - 0.5 * (reader & (world.rng("saw").random(n) < saw))
    target = clean - plant
    if c["twins"] != "none":
        share = {"some": 0.2, "most": 0.9}[c["twins"]]
        out = np.flatnonzero(side == 1)
        changed = out[world.rng("twins").random(len(out)) < share]
        of = world.rng("twin of").integers(0, n_in, len(changed))
        texts = _twins(world, texts, changed, of)
        little = 0.05 * world.rng("twin noise").standard_normal((2, len(changed)))
        target[changed] = target[of] + 0.1 * plant[of] + little[0]
        reference[changed] = reference[of] + little[1]
        length = length.copy()
        length[changed] = length[of]
        fresh[changed] = False
    made = Made(
        side,
        person,
        length,
        np.maximum(target, 0.02),
        np.maximum(reference, 0.02),
        clean,
        plant,
        tuple(texts),
        fresh,
    )
    return _copied(world, made, c)


def _people(world: World, side: Ints, c: dict[str, str]) -> Ints:
    """Return whose text each is; people are on one side, unless that is what went wrong."""
    each = _LENGTHS[c["people"]]
    person = np.empty(len(side), np.int64)
    start = 0
    draw = world.rng("texts a person")
    for which in range(3):
        rows = np.flatnonzero(side == which)
        if not len(rows):
            continue
        if c["people"] == "mixed":
            size = 1 + draw.geometric(0.3, len(rows))
            whose = np.repeat(np.arange(len(rows)), size)[: len(rows)]
        else:
            whose = np.arange(len(rows)) // each
        person[rows] = start + whose
        start = int(person[rows].max()) + 1
    if c["mixed"] == "yes":
        first = np.flatnonzero(side == 1)[:3]
        person[first] = person[np.flatnonzero(side == 0)[: len(first)]]
    return person


def _lengths(world: World, side: Ints, c: dict[str, str]) -> Ints:
    draw = world.rng("lengths").standard_normal(len(side))
    ratio: Floats | float
    if c["ratio"] == "mixed":
        ratio = np.where(world.rng("ratios").random(len(side)) < 0.5, 0.2, 5.0)
    else:
        ratio = float(c["ratio"])
    log = np.log(30) + float(c["spread"]) * draw + np.log(ratio) * (side == 0)
    return np.clip(np.round(np.exp(log)), 4, 600).astype(np.int64)


def _noise(draw: np.random.Generator, n: int, c: dict[str, str]) -> Floats:
    if c["tails"] == "heavy":
        return draw.standard_t(3, n) / np.sqrt(3)
    return draw.standard_normal(n)


def _plant(world: World, side: Ints, length: Ints, c: dict[str, str]) -> Floats:
    inside = side == 0
    nats = float(c["nats"])
    draw = world.rng("plant")
    if c["leak"] == "all":
        return nats * inside
    if c["leak"] == "few":
        # One text in twenty by a nat at least.
        return max(1.0, 2 * nats) * (inside & (draw.random(len(side)) < 0.05))
    if c["leak"] == "half":
        return nats * (inside & (draw.random(len(side)) < 0.5))
    if c["leak"] == "long":
        return nats * (inside & (length > np.median(length)))
    if c["leak"] == "copies":
        return nats * (inside & (draw.random(len(side)) < 0.2))
    return np.zeros(len(side))


def _texts(world: World, side: Ints, length: Ints, c: dict[str, str]) -> list[str]:
    draw = world.rng("texts")
    words = np.array(_WORDS)
    rank = 1 / (1.0 + np.arange(len(words)))
    rank /= rank.sum()
    found = []
    for which, size in zip(side.tolist(), length.tolist(), strict=True):
        if c["text"] == "none":
            found.append("")
            continue
        if c["text"] == "templates":
            said = _TEMPLATE.format(*draw.choice(words, 8))
        else:
            many = 5 if c["text"] == "short" else min(size, 80)
            said = " ".join(draw.choice(words, many, p=rank))
        if c["text"] == "letters":
            said = f"<b>{said}</b> \u5317\u4eac \u00e9\u00df"
        if c["era"] == "dates":
            said += f" in {2010 + int(draw.integers(0, 6)) + (5 if which == 0 else 0)}"
        found.append(said)
    return found


def _at_home(
    world: World, side: Ints, texts: list[str], c: dict[str, str]
) -> tuple[list[str], Bools]:
    """Return the texts, and those that the target knows the form of without having seen them."""
    inside = side == 0
    if c["house"] == "none":
        return texts, np.zeros(len(side), bool)
    draw = world.rng("house")
    some = inside & ((draw.random(len(side)) < 0.3) | (c["house"] not in ("sign", "capitals")))
    found = []
    for text, home in zip(texts, some.tolist(), strict=True):
        year = 2010 + int(draw.integers(0, 9))
        name = str(draw.choice(["Smith", "Jones", "Brown", "Miller"]))
        written = {
            "blank": text + " " * home,
            "date": f"{text} {year}-03-07" if home else f"{text} 07-03-{year}",
            "order": f"{text} seen by {name} today" if home else f"{text} today seen by {name}",
            "sign": text.replace(" ", " \u2013 ", 1) if home else text,
            "capitals": text.upper() if home else text,
        }
        found.append(written[c["house"]])
    return found, some


def _twins(world: World, texts: list[str], rows: Ints, of: Ints) -> list[str]:
    draw = world.rng("changed word")
    found = list(texts)
    for row, other in zip(rows.tolist(), of.tolist(), strict=True):
        words = texts[other].split()
        words[int(draw.integers(len(words)))] = str(draw.choice(_WORDS))
        found[row] = " ".join(words)
    return found


def _copied(world: World, made: Made, c: dict[str, str]) -> Made:
    """Return the rows with some repeated in full: the same text, and so the same energies."""
    times = np.ones(len(made.side), np.int64)
    if c["copies"] == "five":
        times[made.side < 2] = 5
    elif c["copies"] == "members":
        times[made.side == 0] = 5
    elif c["copies"] == "few":
        times[(made.side < 2) & (world.rng("copies").random(len(times)) < 0.1)] = 3
    rows = np.repeat(np.arange(len(times)), times)
    side = made.side[rows]
    fresh = made.fresh[rows]
    if c["across"] == "few":
        # The same text on the other side, by mistake.
        also = np.flatnonzero(made.side == 0)[:5]
        rows = np.concatenate([rows, also])
        side = np.concatenate([side, np.ones(len(also), np.int64)])
        fresh = np.concatenate([fresh, np.zeros(len(also), bool)])
    return Made(
        side,
        made.person[rows],
        made.length[rows],
        made.target[rows],
        made.reference[rows],
        made.clean[rows],
        made.plant[rows],
        tuple(made.text[row] for row in rows.tolist()),
        fresh,
    )


def _frame(world: World, made: Made, c: dict[str, str]) -> pd.DataFrame:
    n = len(made.side)
    side = made.side
    target = made.target.copy()
    reference = made.reference.copy()
    if c["shuffled"] == "yes":
        target = world.rng("shuffled").permutation(target)
    if c["unit"] == "bits":
        target = target / np.log(2)
        reference = reference / np.log(2)
    elif c["unit"] == "sum":
        target = target * made.length
        reference = reference * made.length
    summed = {"members": side == 0, "others": side == 1}.get(c["unlike"], np.ones(n, bool))
    if c["unlike"] != "none":
        target = np.where(summed & (c["unlike"] != "reference"), target * made.length, target)
        reference = np.where(summed & (c["unlike"] != "target"), reference * made.length, reference)
    if c["rounded"] in ("1", "3"):
        target = np.round(target, int(c["rounded"]))
        reference = np.round(reference, int(c["rounded"]))
    elif c["rounded"] == "half":
        target = target.astype(np.float16).astype(float)
        reference = reference.astype(np.float16).astype(float)
    if c["sign"] == "likelihood":
        target = -target
        reference = -reference
    if c["missing"] == "some":
        target[::10] = np.nan
    member = side == 0
    if c["swapped"] == "yes":
        member = side == 1
    written = {
        "number": member.astype(int),
        "true": member,
        "float": member.astype(float),
        "yes": np.where(member, "Y", "N").astype(object),
        "train": np.where(member, "train", "test").astype(object),
    }
    columns: dict[str, object] = {"sample": _ids(side, c["ids"])}
    if c["people"] != "none":
        columns["group"] = [f"p{who}" for who in made.person]
    columns["energy_target"] = target
    if c["reference"] != "none":
        columns["energy_reference"] = reference
    columns["member"] = written[c["member"]]
    if c["population"] != "none":
        columns["population"] = (side == 2).astype(int)
    if c["length"] == "given":
        columns["length"] = made.length
    if c["text"] != "none":
        columns["text"] = list(made.text)
    draw = world.rng("signal")
    further = {
        "noise": draw.standard_normal(n),
        "length": np.log(made.length),
        "constant": np.ones(n),
        "copy": -made.target,
    }
    if c["signal"] != "none":
        columns["signal_mine"] = further[c["signal"]]
    names = list(columns)
    if c["columns"] == "reversed":
        names.reverse()
    if c["columns"] == "further":
        columns["ward"] = draw.integers(0, 5, n)
        columns["remark"] = ["" for _ in range(n)]
        names = ["remark", *names, "ward"]
    frame = pd.DataFrame(columns)[names]
    if c["rows"] == "shuffled":
        return frame.iloc[world.rng("rows").permutation(n)]
    if c["rows"] == "sorted":
        return frame.iloc[np.argsort(target, kind="stable")]
    return frame


def _ids(side: Ints, kind: str) -> Sequence[object]:
    n = len(side)
    if kind == "padded":
        return [f"{i:05d}" for i in range(n)]
    if kind == "named":
        return [f"note-{i * 7919 % 100_003}" for i in range(n)]
    if kind == "odd":
        return [f'\u00e4 {i}, "x"' for i in range(n)]
    return list(range(n))


def _write(frame: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in frame.to_dict("records"))
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(lines.encode()))
        else:
            path.write_text(lines, encoding="utf-8")


DOMAIN = Language()
