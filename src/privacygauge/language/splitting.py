"""Random split of people into the sides of a test, before a model is trained."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Ints, short_list
from privacygauge.core.release import coin_flips
from privacygauge.core.seeds import stream
from privacygauge.errors import InputError
from privacygauge.language.text_files import TextRecords, TextRecordsLike, as_texts
from privacygauge.language.texts import Texts, number_names, plain_texts
from privacygauge.runs.results import check_writable, write_results

# The coins of a test on disk: each person's side, so that a later audit can trust the sides.

FILE = "coins.json"
"""Name of the file, next to the texts of the sides."""

NAMES = {
    "member": "members.jsonl",
    "nonmember": "nonmembers.jsonl",
    "population": "population.jsonl",
    "reference": "reference.jsonl",
}
"""File name of the texts of each side."""


@dataclass(frozen=True)
class Coins:
    """Fair coins tossed before a model was trained, and the sides that they assigned."""

    seed: int
    """Seed of the coins."""
    source: str
    """SHA-256 of all texts and people before the split."""
    sides: Mapping[str, str]
    """SHA-256 of each side's texts and people, independent of order and format."""
    people: Mapping[str, tuple[str, int]] = field(repr=False)
    """Side and coin number of each person (or text, if people are unknown); people with nearly the
    same texts share a coin."""

    def numbers(self, names: Sequence[str], member: Bools) -> Ints:
        """Return the coin number of each judged row, (n,).

        Parameters
        ----------
        names : sequence of str, length n
            Person of each row.
        member : ndarray of bool, shape (n,)

        Raises
        ------
        InputError
            If a person is not on the side that the coins assigned.
        """
        for name, inside in zip(names, member.tolist(), strict=True):
            side = self.people.get(name, ("nobody",))[0]
            if side != ("member" if inside else "nonmember"):
                asked = "a member" if inside else "a non-member"
                raise InputError(
                    f"{name[:60]!r} must be {asked} by the coins, got {side}: give what they dealt"
                )
        return np.array([self.people[name][1] for name in names], np.int64)

    def require(self, given: Mapping[str, TextRecords]) -> None:
        """Raise unless the coins assigned these texts to their sides.

        Parameters
        ----------
        given : mapping of str to TextRecords
            Sides of an audit: ``member``, ``nonmember`` and optionally ``population``.

        Raises
        ------
        InputError
            If a side is not as the coins assigned it: the side and the way out, in one line.
        """
        for side, records in given.items():
            if digest(records) != self.sides.get(side):
                raise InputError(
                    f"the {side} texts must be those that the coins dealt: give {NAMES[side]} as "
                    "it was written, or audit without coins"
                )


def digest(records: TextRecords) -> str:
    """Return the SHA-256 of texts and their people, independent of their order."""
    rows = zip(records.group or [""] * len(records), records.text, strict=True)
    # Sorted, so that the digest does not depend on the order of the texts.
    lines = sorted(json.dumps(row) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def people_of(records: TextRecords) -> Texts:
    """Return the person of each text: its group, or the text itself."""
    return records.group or records.sample or tuple(f"text-{row}" for row in range(len(records)))


def write_sides(
    folder: str | Path,
    sides: Mapping[str, TextRecords],
    coins: Coins,
    targets: Mapping[str, TextRecords] | None = None,
) -> None:
    """Write a file of texts per side, and last the coins, whose file marks the folder complete.

    Parameters
    ----------
    targets : mapping of str to TextRecords, optional
        Texts of further models, by file name.

    Raises
    ------
    OutputError
        If a file cannot be written.
    """
    place = Path(folder)
    check_writable(place)
    named = {NAMES[side]: records for side, records in sides.items()} | dict(targets or {})
    files: dict[str, bytes] = {}
    for name, records in named.items():
        columns = {"sample": records.sample, "patient": records.group, "text": records.text}
        known = {key: values for key, values in columns.items() if values is not None}
        rows = (dict(zip(known, row, strict=True)) for row in zip(*known.values(), strict=True))
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        files[name] = lines.encode()
    write_results(place, {**files, FILE: (json.dumps(asdict(coins), indent=1) + "\n").encode()})


def read_coins(path: str | Path) -> Coins:
    """Return the coins in a file or in a folder.

    Raises
    ------
    InputError
        If there are none, or the file is damaged.
    """
    place = Path(path) / FILE if Path(path).is_dir() else Path(path)
    if not place.is_file():
        raise InputError(f"{place} does not exist: `privacygauge language split` writes one")
    try:
        kept = json.loads(place.read_text(encoding="utf-8"))
        people = {
            str(name): (str(side), int(coin)) for name, (side, coin) in kept["people"].items()
        }
        found = Coins(int(kept["seed"]), str(kept["source"]), dict(kept["sides"]), people)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{place} holds no coins, or is damaged: deal the texts again") from error
    unknown = set(found.sides) - set(NAMES)
    if unknown or not {"member", "nonmember"} <= set(found.sides):
        raise InputError(
            f"{place} must hold the sides {short_list(NAMES)}, got {short_list(found.sides)}"
        )
    return found


SIMILAR = 0.5
"""Share of common shingles from which texts are near duplicates."""

_WORDS = 3
"""Consecutive words per shingle."""

# 40 bands of 3 min-hashes: texts that share half of their shingles agree in some band, and are
# compared, with probability 1 - (1 - 0.5^3)^40 = 0.995.
_BANDS = 40
_ROWS = 3

_MOST = 32
"""Largest bucket in which all pairs are compared; in a larger bucket, each text is compared with
the first."""


def near_duplicates(texts: Sequence[str], similarity: float = SIMILAR) -> Ints:
    """Return the group of each text, the same for near duplicates.

    Parameters
    ----------
    texts : sequence of str, length n
        Texts, compared without case and white space.
    similarity : float
        Jaccard similarity, in (0, 1], of the sets of three consecutive words from which two texts
        belong to one group; texts of fewer words must be equal.

    Returns
    -------
    ndarray of int, shape (n,)
        Numbers from 0 in the order of first appearance. Groups are transitive: two texts with a
        common near duplicate are in one. Numbers depend only on the texts.

    Notes
    -----
    Broder (1997), "On the resemblance and containment of documents"; candidates by banding as in
    Leskovec, Rajaraman & Ullman, "Mining of Massive Datasets", section 3.4. Every candidate is
    compared exactly, so that no dissimilar text is grouped.

    Examples
    --------
    >>> near_duplicates(["no fever today at all", "No  fever today at all", "cough"]).tolist()
    [0, 0, 1]
    """
    plain = plain_texts(texts)
    same = number_names(plain)
    # Each different text once: equal texts are in one group already.
    once = [plain[row] for row in np.unique(same, return_index=True)[1].tolist()]
    shingles = []
    for text in once:
        words = text.split()
        # A text of fewer words is one shingle, so it must be equal to be similar.
        starts = range(max(1, len(words) - _WORDS + 1))
        parts = (" ".join(words[i : i + _WORDS]) for i in starts)
        shingles.append(frozenset(crc32(part.encode()) for part in parts))
    found = DisjointSet(range(len(once)))
    for a, b in _candidates(shingles):
        if found[a] == found[b]:
            continue
        common = len(shingles[a] & shingles[b])
        # Jaccard similarity: common shingles over those of both, without dividing.
        if common >= similarity * (len(shingles[a]) + len(shingles[b]) - common):
            found.merge(a, b)
    root = np.array([found[i] for i in range(len(once))], np.int64)
    return number_names([str(number) for number in root[same].tolist()])


def _candidates(shingles: Sequence[frozenset[int]]) -> Iterator[tuple[int, int]]:
    """Yield pairs of texts with equal minimum hashes in some band."""
    flat = np.array([hashed for one in shingles for hashed in one], np.uint64)
    starts = np.cumsum([0, *(len(one) for one in shingles[:-1])])
    # Fixed hashes: groups must not depend on a seed.
    drawn = stream(0, "near duplicates").integers(2**63, size=(_BANDS, _ROWS, 2), dtype=np.uint64)
    for band in drawn:
        # An odd multiplier and the upper half of 64 bits: multiply-shift hashing.
        smallest = [
            np.minimum.reduceat((flat * (a * 2 + 1) + b) >> np.uint64(32), starts) for a, b in band
        ]
        # Texts with equal hashes in all rows of the band are in one bucket.
        _, found = np.unique(np.stack(smallest, axis=1), axis=0, return_inverse=True)
        bucket = found.reshape(-1)
        order = np.argsort(bucket, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(bucket[order])) + 1):
            if len(rows) <= _MOST:
                yield from combinations(rows.tolist(), 2)
            else:
                yield from ((int(rows[0]), row) for row in rows[1:].tolist())


SIDES = tuple(NAMES)
"""Names of the sides, in the order of the files."""

BOILERPLATE = 10
"""Most people who may share a text, or nearly, for it to join them into one group."""

_BLOCK = 10
"""People per block, with similar numbers of texts; within a block parts are assigned in
proportion."""


@dataclass(frozen=True, eq=False)
class Split:
    """Texts, split into sides by person."""

    sides: Mapping[str, TextRecords]
    """Texts by side; an empty side is absent."""
    coins: Coins
    """Coins, to keep with the texts."""
    notes: tuple[str, ...]
    """Notes for the reader, one sentence each."""

    def summary(self) -> str:
        """Return the numbers of texts and people by side, in a few lines."""
        lines = [
            f"{side}: {len(set(people_of(records))):,} people, {len(records):,} texts"
            for side, records in self.sides.items()
        ]
        return "\n".join((*lines, *self.notes))


def split_texts(
    texts: TextRecordsLike, *, population: float = 0.2, reference: float = 0.3, seed: int = 0
) -> Split:
    """Split texts into members, non-members, population and reference, by person.

    Parameters
    ----------
    texts : TextRecords, path, sequence, mapping or data frame
        Texts, as in `as_texts`. A text without a known person counts as a person of its own.
    population, reference : float
        Shares of the people from whose texts thresholds are taken, and on whose texts a reference
        model is trained; each in [0, 1), with a sum below 1. For everyone else a fair coin decides
        between member and non-member.
    seed : int
        Seed of all random draws.

    Returns
    -------
    Split

    Raises
    ------
    InputError
        If texts or shares are invalid, or fewer than two people are members or non-members.

    Notes
    -----
    People who share a text, or nearly (`near_duplicates`), are assigned together. Population and
    reference are assigned in proportion among people with similar numbers of texts. Each judged
    person has an independent coin, so sides are balanced only on average: lower bounds on epsilon
    from one training require independent coins, and do not hold for sides of equal size.
    """
    seeds.non_negative(seed)
    for name, share in (("population", population), ("reference", reference)):
        if not 0.0 <= share < 1.0:
            raise InputError(f"{name} must be in [0, 1), got {share}")
    if population + reference >= 1.0:
        raise InputError(
            f"population and reference must be below 1 together, got {population} and {reference}: "
            "leave some people to be judged"
        )
    records = as_texts(texts)
    if records.sample is None:
        names = tuple(f"text-{row}" for row in range(len(records)))
        records = dataclasses.replace(records, sample=names)
    bound, notes = _bound(records)
    size = np.bincount(bound)
    # The part of each person, in 0..k-1, in proportion among people of similar size.
    shares = (1 - population - reference, population, reference)
    rng = seeds.stream(seed, "language", "split", "parts")
    n = len(size)
    order = rng.permutation(n)
    order = order[np.argsort(size[order], kind="stable")]
    given = np.zeros(len(shares))
    turn = np.empty(n, np.int64)
    # Each place goes to the part that is furthest behind its share.
    for place in range(n):
        turn[place] = int(np.argmax((place + 1) * np.array(shares) - given))
        given[turn[place]] += 1
    part = np.empty(n, np.int64)
    # Shuffled within blocks, so that the part of a person is random, but not its size.
    for start in range(0, n, _BLOCK):
        part[order[start : start + _BLOCK]] = rng.permutation(turn[start : start + _BLOCK])
    # Coins have a stream of their own: other shares leave them as they are.
    coin = seeds.stream(seed, "language", "split", "coins").random(len(size)) < 0.5
    # Judged people by their coins: 0 member, 1 non-member; then 2 population, 3 reference.
    side = np.where(part == 0, np.where(coin, 0, 1), part + 1)
    n_in, n_out = (int(np.count_nonzero(side == which)) for which in (0, 1))
    if min(n_in, n_out) < 2:
        raise InputError(
            f"at least 2 people must be members and 2 non-members, got {n_in} and {n_out} of "
            f"{len(size)}: give texts of more people"
        )
    sides = {
        name: records.rows(np.flatnonzero(side[bound] == number))
        for number, name in enumerate(SIDES)
        if (side == number).any()
    }
    where = zip(people_of(records), bound.tolist(), strict=True)
    dealt = {name: (SIDES[side[coin]], coin) for name, coin in where}
    kept = {name: digest(one) for name, one in sides.items()}
    return Split(sides, Coins(seed, digest(records), kept, dealt), notes)


@dataclass(frozen=True, eq=False)
class Redealt:
    """Judged texts of a split, with new coins for each of several models."""

    texts: TextRecords
    """(n,) Texts of all judged people, members first."""
    inside: Bools
    """(k, n) True where a model is to be trained on the text."""


def redealt(found: Split, n_models: int, seed: int = 0) -> Redealt:
    """Toss fair coins for each of several models over the judged people of a split.

    Parameters
    ----------
    found : Split
        Split; its population and reference stay as they are: no model is trained on them.
    n_models : int
        k, the number of models to train, at least 2.
    seed : int
        Seed of all random draws.

    Returns
    -------
    Redealt
        As `rounds_of_texts` and `rounds_of_patients` need it: independent coins, one for all texts
        of people in one group.
    """
    if n_models < 2:
        raise InputError(f"n_models must be at least 2, got {n_models}: one is dealt already")
    sides = [found.sides[name] for name in SIDES[:2]]
    people = [name for records in sides for name in people_of(records)]
    # The number of the coin: people who share texts share it in every model.
    coin = np.array([found.coins.people[name][1] for name in people])
    rng = seeds.stream(seed, "language", "split", "models")
    texts = TextRecords(
        tuple(text for records in sides for text in records.text),
        tuple(name for records in sides for name in records.sample or ()),
        tuple(name for records in sides for name in records.group or ()) or None,
    )
    return Redealt(texts, coin_flips(n_models, len(coin), rng, coin))


def _bound(records: TextRecords) -> tuple[Ints, tuple[str, ...]]:
    """Return one number per group of people who share a text or a near copy, with notes."""
    people = people_of(records)
    owners: dict[int, list[str]] = defaultdict(list)
    for person, group in zip(people, near_duplicates(records.text).tolist(), strict=True):
        owners[group].append(person)
    shared = [list(dict.fromkeys(names)) for names in owners.values()]
    found = DisjointSet(dict.fromkeys(people))
    for names in shared:
        # A text that many share, such as a form, does not say whose it is.
        if len(names) <= BOILERPLATE:
            for name in names[1:]:
                found.merge(names[0], name)
    n_people = len(set(people))
    n_bound = found.n_subsets
    common = sum(len(names) > BOILERPLATE for names in shared)
    notes = []
    if records.group is None:
        notes.append(
            "Nobody says whose a text is: each was dealt as a person of its own. Where people have "
            "several texts, name their column (--group), or somebody is on both sides."
        )
    if n_bound < n_people:
        notes.append(
            f"{n_people - n_bound:,} of {n_people:,} people share a text with others, or nearly: "
            "they are dealt together."
        )
    if common:
        notes.append(
            f"{common:,} text(s) that more than {BOILERPLATE} people share, such as forms, bind "
            "nobody."
        )
    return number_names([found[name] for name in people]), tuple(notes)
