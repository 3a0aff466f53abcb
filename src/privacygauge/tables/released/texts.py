"""Free text and names, examined alone: texts copied in full or in part."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.transcript import Transcript
from privacygauge.tables.released.hits import Hits
from privacygauge.tables.released.named import Texts
from privacygauge.tables.released.shared_rare_values import wanted_first
from privacygauge.tables.released.tables import ReleasedTables

_WORD = re.compile(r"\w+")
_LENGTH = 3
"""Words per run in the weighted comparison."""
_RUN = 4
"""Words per short run; longer runs are chains of these."""
_WHOLE = 6
"""Fewest words of a text that is searched for within others."""
_RARE = 0.01
"""Largest share of the synthetic texts, or three texts if that is more, in which a single word may
occur and still count."""
_BLOCK = 512
"""Texts compared with all synthetic texts at once."""


def texts_copied(
    released: ReleasedTables, rng: np.random.Generator
) -> tuple[list[Hits], list[tuple[str, Transcript]]]:
    """Find texts and names of the real records in the synthetic table; return rankings as well.

    Whole texts are looked up in every column. In free text, real and holdout records are also
    ranked together, as in `most_in_common`, by the rarest words and runs of three words that they
    share with one synthetic text.

    Parameters
    ----------
    released : ReleasedTables
    rng : numpy.random.Generator
        Draws the baseline.

    Returns
    -------
    tuple of two lists
        The attempts; and titles and scores of real and holdout records, in which a few partly
        copied texts may stand out: two rankings per column of free text.
    """
    found: list[Hits] = []
    rankings: list[tuple[str, Transcript]] = []
    units = released.units
    for column in released.texts:
        known = {text for text in column.synthetic if text}
        n = len(column.real)
        texts = column.real
        if column.holdout is not None:
            texts = np.concatenate([texts, column.holdout])
        whole = np.array([text in known for text in texts], np.bool_)
        if column.is_free:
            whole |= stands_within(texts, column.synthetic)
        found.append(
            Hits(
                "linkability",
                variant=f"copied {'text' if column.is_free else 'name'}: {column.name}",
                attack=whole[:n],
                control=None if column.holdout is None else whole[n:],
                baseline=np.zeros(n, np.bool_),
                meaning=(
                    f"the text of a record in {column.name} is looked for, and found where a "
                    "synthetic record has it as it is"
                    + (", alone or among other words" if column.is_free else "")
                ),
                attack_unit=units[0],
                control_unit=None if column.holdout is None else units[1],
                baseline_unit=units[0],
                notes=released.notes,
            )
        )
        if not column.is_free or column.holdout is None:
            continue
        score = column.in_common(texts, most_words_in_common)
        forms = ("rarest words", "rare words")
        for wanted, variant in zip(wanted_first(len(score)), forms, strict=True):
            least = np.sort(score)[-wanted]
            # Ties with the last record are included, but never records without any weight.
            first = (score >= least) & (score > 0)
            found.append(
                Hits(
                    "linkability",
                    variant=f"{variant}: {column.name}",
                    attack=first[:n],
                    control=first[n:],
                    baseline=rng.permutation(first)[:n],
                    meaning=(
                        f"the texts of real and holdout records in {column.name} are ranked "
                        f"together by the rare words, and the runs of {_LENGTH} words, that each "
                        f"has in common with one synthetic text; the first {wanted:,} of "
                        f"{len(score):,} are found"
                    ),
                    attack_unit=units[0],
                    control_unit=units[1],
                    baseline_unit=units[0],
                    notes=released.notes,
                )
            )
        secret = np.arange(len(score)) < n
        unit = np.concatenate(units)
        runs = column.in_common(texts, longest_run_in_common)
        rankings += [
            (
                f"the ranking by {what} in common in {column.name}",
                Transcript(one, secret, unit=unit),
            )
            for what, one in (("rare words", score), ("the longest run of words", runs))
        ]
    return found, rankings


def stands_within(texts: Texts, others: Texts, owners: tuple[Ints, Ints] | None = None) -> Bools:
    """Return (n,) True where another text contains the text word for word, in one piece.

    Texts of fewer words than `_WHOLE` are left out: short texts occur within many others.

    Parameters
    ----------
    texts : ndarray of str, shape (n,)
    others : ndarray of str, shape (m,)
    owners : tuple of ndarray of int, shapes (n,) and (m,), optional
        People behind both; if given, only texts of other people are searched.
    """
    # Spaces around each text, so that a match begins and ends at a word.
    words = [_WORD.findall(text or "") for text in others]
    whole = [f" {' '.join(some)} " for some in words]
    places: dict[tuple[str, ...], list[int]] = {}
    for place, text in enumerate(others):
        for run in dict.fromkeys(_runs_of(text)):
            places.setdefault(run, []).append(place)
    found = np.zeros(len(texts), np.bool_)
    for row, text in enumerate(texts):
        runs = _runs_of(text)
        # A text of w words has w - _RUN + 1 runs: this keeps those with at least _WHOLE words.
        if len(runs) > _WHOLE - _RUN:
            piece = f" {' '.join(_WORD.findall(text))} "
            # A text that contains the piece contains its rarest run of words too.
            rarest = min((places.get(run, []) for run in runs), key=len)
            found[row] = any(
                piece in whole[place]
                for place in rarest
                if owners is None or owners[0][row] != owners[1][place]
            )
    return found


def most_words_in_common(asked: Texts, made: Texts) -> Floats:
    """Return (n,) the largest weight of words that a text shares with one synthetic text.

    The weight is the sum of -log(share of the synthetic texts that have it) over the rare words and
    the runs of three words that are in both.
    """
    from scipy.sparse import csr_matrix

    parts = [_parts_of(text) for text in made]
    number: dict[str, int] = {}
    places = [[number.setdefault(part, len(number)) for part in some] for some in parts]
    count = np.bincount([place for some in places for place in some], minlength=len(number))
    weight = np.log(max(len(made), 2) / np.maximum(count, 1))
    # Runs contain a space, single words do not; only single words must be rare to count.
    one_word = np.array([" " not in part for part in number], np.bool_)
    weight[one_word & (count > max(3, _RARE * len(made)))] = 0.0

    def matrix(rows: list[list[int]], weights: Floats | None) -> csr_matrix:
        end = np.cumsum([0, *map(len, rows)])
        index: Ints = np.array([place for some in rows for place in some], np.int64)
        entries: NDArray[np.float64] = np.ones(len(index)) if weights is None else weights[index]
        return csr_matrix((entries, index, end), shape=(len(rows), max(1, len(number))))

    # (parts, synthetic texts): times the weighted texts it gives the weight in common of every
    # pair.
    there = matrix(places, None).T.tocsr()
    found = np.zeros(len(asked))
    for begin in range(0, len(asked), _BLOCK):
        block = asked[begin : begin + _BLOCK]
        known = [[number[part] for part in _parts_of(text) if part in number] for text in block]
        kept = [[place for place in some if weight[place] > 0] for some in known]
        common = matrix(kept, weight) @ there
        if common.shape[1]:
            found[begin : begin + len(block)] = common.max(axis=1).toarray()[:, 0]
    return found


def longest_run_in_common(asked: Texts, made: Texts) -> Floats:
    """Return (n,) the improbability of the longest run of words shared with synthetic texts.

    A run continues while the last four words occur in a row in some synthetic text. Its weight is
    the sum of -log(share of the synthetic texts that have them) over its runs of four words, so
    that common phrases weigh little.
    """
    runs = [_runs_of(text) for text in made]
    count = Counter(run for some in runs for run in set(some))
    found = np.zeros(len(asked))
    most = np.log(max(len(made), 2))
    for row, text in enumerate(asked):
        best = worth = 0.0
        for run in _runs_of(text):
            worth = worth + most - np.log(count[run]) if run in count else 0.0
            best = max(best, worth)
        found[row] = best
    return found


def whole_text_in_common(asked: Texts, made: Texts) -> Floats:
    """Return (n,) the improbability of a text within a synthetic text; 0 if it is in none.

    A text that is contained has the weight of its run of words in `longest_run_in_common`.
    """
    found = np.zeros(len(asked))
    whole = stands_within(asked, made)
    if whole.any():
        found[whole] = longest_run_in_common(asked[whole], made)
    return found


def _runs_of(text: str | None) -> list[tuple[str, ...]]:
    """Return the runs of four words of a text, in order."""
    words = _WORD.findall(text or "")
    return list(zip(*(words[i:] for i in range(_RUN)), strict=False))


def _parts_of(text: str | None) -> set[str]:
    """Return the words of a text and its runs of three words."""
    words = _WORD.findall(text or "")
    runs = zip(*(words[i:] for i in range(_LENGTH)), strict=False)
    return {*words, *map(" ".join, runs)}
