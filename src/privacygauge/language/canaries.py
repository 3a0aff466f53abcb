"""Canaries: random texts inserted into training data, and how well a model memorised them."""

from __future__ import annotations

import json
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from privacygauge.core import checks, seeds
from privacygauge.core.checks import Bools, Floats
from privacygauge.errors import InputError, OutputError
from privacygauge.language.energies import MaskPlan
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.model import MaskedModel, Model
from privacygauge.language.texts import Texts
from privacygauge.runs.results import check_writable, write_all

# Names of made-up persons, put into texts (Table 6).

# Syllables of names, chosen so that no two ways to join them give the same name.
_STARTS = ("Bra", "Cel", "Dor", "Fen", "Gal", "Hul", "Jor", "Kel", "Lor", "Mav", "Nev", "Pel",
           "Quor", "Ros", "Sil", "Tav", "Ulm", "Ver", "Wyn", "Zan")  # fmt: skip
_MIDDLES = ("a", "e", "i", "o", "u", "ani", "eri", "illa", "oma", "uva")
_FIRST_ENDS = ("d", "l", "n", "ra", "s", "th", "va", "x")
_LAST_ENDS = ("bury", "dorf", "field", "gard", "holm", "lund", "mere", "sson", "ton", "wick")

N_NAMES = (len(_STARTS) * len(_MIDDLES)) ** 2 * len(_FIRST_ENDS) * len(_LAST_ENDS)
"""Number of different full names."""


def made_up_names(n: int, rng: np.random.Generator) -> tuple[str, ...]:
    """Return `n` different first and last names, composed of syllables.

    Parameters
    ----------
    n : int
        Number of names, in 0..`N_NAMES`.

    Returns
    -------
    tuple of str
        Names such as ``Nevanid Kelomagard``, from no language, so that no living person is meant.

    Examples
    --------
    >>> import numpy as np
    >>> from privacygauge.language.canaries import made_up_names
    >>> len(set(made_up_names(1000, np.random.default_rng(0))))
    1000
    """
    if not 0 <= n <= N_NAMES:
        raise InputError(f"n must be in 0..{N_NAMES}, got {n}")
    names = []
    for drawn in rng.choice(N_NAMES, n, replace=False).tolist():
        # Mixed radix: every number below N_NAMES gives another pair of names.
        number, first_end = divmod(drawn, len(_FIRST_ENDS))
        number, last_end = divmod(number, len(_LAST_ENDS))
        last, first = divmod(number, len(_STARTS) * len(_MIDDLES))
        parts = []
        for stem, end in ((first, _FIRST_ENDS[first_end]), (last, _LAST_ENDS[last_end])):
            start, middle = divmod(stem, len(_MIDDLES))
            parts.append(f"{_STARTS[start]}{_MIDDLES[middle]}{end}")
        names.append(" ".join(parts))
    return tuple(names)


def fictitious_names(group: Sequence[str], rng: np.random.Generator) -> dict[str, str]:
    """Return a made-up name for each group, independent of the order of the samples."""
    groups = sorted(set(group))
    return dict(zip(groups, made_up_names(len(groups), rng), strict=True))


def prefix_names(
    text: Sequence[str], group: Sequence[str], names: Mapping[str, str]
) -> tuple[str, ...]:
    """Return every text with its patient's first and last name in front.

    Parameters
    ----------
    text : sequence of str, length n
        Sentences.
    group : sequence of str, length n
        Patient of each sentence.
    names : mapping of str to str
        First and last name of each patient, such as those of `fictitious_names`.

    Notes
    -----
    Mireshghallah et al. (2022), sections 4.3.1 and A.2.3: the name is prepended to every sequence
    of the TRAINING data. The non-members of Table 6 carry no names, so there the attack partly
    detects the name itself. Give names to both sides to keep them alike; the controls show if only
    one side has them.
    """
    if len(text) != len(group):
        raise InputError(f"group must have {len(text)} rows, got {len(group)}")
    missing = sorted(set(group) - set(names))
    if missing:
        raise InputError(f"names must hold every group, got none for {checks.short_list(missing)}")
    return tuple(f"{names[patient]} {line}" for line, patient in zip(text, group, strict=True))


FILE = "canaries.json"
"""File of all canaries with their coins; it must never be trained on."""
INSERT = "insert.jsonl"
"""File of the inserted canaries, to add to the training data."""

_TRIES = 100
"""Draws per text before giving up on finding one that no other canary has."""
# Places in a template, such as {digits:9}, and the characters to draw from.
_PLACE = re.compile(r"\{([^{}]*)\}")
_LETTERS = {"digits": string.digits, "letters": string.ascii_lowercase}


@dataclass(frozen=True, eq=False)
class MadeCanaries:
    """Canaries from one template, with the coins that decided which are inserted."""

    template: str
    """Template of the texts, with places for what is drawn."""
    seed: int
    """Seed of the coins and of the drawn texts."""
    copies: int
    """Number of times that each inserted canary occurs in the training data, at least 1."""
    text: Texts = field(repr=False)
    """(n,) Canaries, all different."""
    inside: Bools
    """(n,) True where a fair coin, one per canary, inserts it."""
    compared: Texts = field(default=(), repr=False)
    """Further canaries, never inserted, among which the others are ranked."""

    def __post_init__(self) -> None:
        inside = checks.bools(self.inside, "inside", length=len(self.text))
        object.__setattr__(self, "inside", inside)
        if inside.all() or not inside.any():
            raise InputError(f"the coins put all {len(inside)} canaries on one side: ask for more")
        if len({*self.text, *self.compared}) < len(self.text) + len(self.compared):
            raise InputError("canaries must all be different: make them again")
        checks.at_least(1, copies=self.copies)


def made_canaries(
    template: str, n: int, *, copies: int = 1, compared: int = 1000, seed: int = 0
) -> MadeCanaries:
    """Draw canaries from a template, and a fair coin for each.

    Parameters
    ----------
    template : str
        Text with at least one of ``{digits:9}``, ``{letters:5}`` and ``{name}``, each of which is
        drawn separately for every canary: that many digits or lower-case letters, or a made-up
        name.
    n : int
        Number of canaries decided by coins, at least 4.
    copies : int
        Number of times that each inserted canary occurs in the training data, at least 1.
    compared : int
        Number of further canaries that are never trained on, at least 0.
    seed : int

    Raises
    ------
    InputError
        If a number or the template is invalid, the template has too few different texts, or all
        coins fall the same way.

    Notes
    -----
    Carlini et al. (2019), "The Secret Sharer", section 4.1.

    Examples
    --------
    >>> made = made_canaries("The code of {name} is {digits:6}.", 100)
    >>> len(made.text), bool(30 < made.inside.sum() < 70)
    (100, True)
    """
    for name, value, least in (("n", n, 4), ("copies", copies, 1), ("compared", compared, 0)):
        if value < least:
            raise InputError(f"{name} must be at least {least}, got {value}")
    places = _PLACE.findall(template)
    if not places:
        raise InputError(
            "the template must have a place for what is drawn, such as 'The code is {digits:9}', "
            f"got {template!r}"
        )

    for place in places:
        kind, _, size = place.partition(":")
        known = kind in _LETTERS and size.isdecimal() and 0 < int(size) <= 100
        if place != "name" and not known:
            raise InputError(
                "a place of the template must be {name}, {digits:N} or {letters:N} with N from 1 "
                f"to 100, got {{{place}}}"
            )

    rng = seeds.stream(seed, "language", "canaries", template)

    def drawn(match: re.Match[str]) -> str:
        if match.group(1) == "name":
            return made_up_names(1, rng)[0]
        kind, _, size = match.group(1).partition(":")
        return "".join(rng.choice(list(_LETTERS[kind]), int(size)))

    # From their own stream: the template does not change the coins.
    inside = seeds.stream(seed, "language", "canaries", "coins").random(n) < 0.5
    # Drawn together, so that no text occurs twice: the first n have coins, the others none.
    texts = _distinct_texts(iter(lambda: _PLACE.sub(drawn, template), None), n + compared)
    return MadeCanaries(
        template=template,
        seed=seed,
        copies=copies,
        text=texts[:n],
        inside=inside,
        compared=texts[n:],
    )


def write_canaries(folder: str | Path, made: MadeCanaries) -> None:
    """Write the texts to train on, shuffled, and next to them all canaries with their coins.

    Raises
    ------
    OutputError
        If the folder is not empty: coins are tossed only once.
    """
    place = Path(folder)
    if place.is_dir() and any(place.iterdir()):
        raise OutputError(f"{place} is not empty: coins are tossed once; choose another folder")
    check_writable(place)
    # Each inserted canary as often as it is to occur, spread over the file.
    rows = np.repeat(np.flatnonzero(made.inside), made.copies)
    # A stream of its own: further copies change neither texts nor coins.
    order = seeds.stream(made.seed, "language", "canaries", "order").permutation(rows)
    lines = [json.dumps({"text": made.text[row]}, ensure_ascii=False) for row in order.tolist()]
    kept = {
        "template": made.template,
        "seed": made.seed,
        "copies": made.copies,
        "text": made.text,
        "inside": made.inside.tolist(),
        "compared": made.compared,
    }
    write_all(
        place,
        {
            INSERT: "".join(f"{line}\n" for line in lines).encode(),
            FILE: (json.dumps(kept, indent=1) + "\n").encode(),
        },
    )


def read_canaries(path: str | Path) -> MadeCanaries:
    """Return the canaries in a folder written by `write_canaries`.

    Raises
    ------
    InputError
        If there are none, or the file is damaged.
    """
    place = Path(path) / FILE if Path(path).is_dir() else Path(path)
    if not place.is_file():
        raise InputError(f"{place} does not exist: `privacygauge language canaries make` writes it")
    try:
        kept = json.loads(place.read_text(encoding="utf-8"))
        return MadeCanaries(
            template=str(kept["template"]),
            seed=int(kept["seed"]),
            copies=int(kept["copies"]),
            text=tuple(map(str, kept["text"])),
            inside=np.array(kept["inside"], np.bool_),
            compared=tuple(map(str, kept["compared"])),
        )
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{place} holds no canaries, or is damaged") from error


def canary_losses(model: Model, texts: Texts) -> Floats:
    """Return the loss of whole texts, (n,), in nats, at least 0: minus their log-probability.

    For a masked model it is minus the pseudo-log-likelihood, with every token masked once, alone.
    """
    if isinstance(model, MaskedModel):
        return -token_log_probabilities(model, texts, MaskPlan("single")).pseudo_log_likelihood()
    return token_log_probabilities(model, texts).sum()


def _distinct_texts(drawn: Iterator[str], n: int) -> Texts:
    found: dict[str, None] = {}
    last_new = 0
    for tries, text in enumerate(islice(drawn, _TRIES * n)):
        if text and text not in found:
            found[text] = None
            last_new = tries
        # Stops early when the template is used up: no new text in many draws.
        if len(found) == n or tries - last_new > _TRIES * (len(found) + 1):
            break
    if len(found) < n:
        raise InputError(
            f"{n} different canaries are needed, got {len(found)}: ask for fewer, or for longer "
            "ones, with more digits, letters or tokens"
        )
    return tuple(found)


def random_texts(n: int, tokens: int, tokenizer: Any, rng: np.random.Generator) -> Texts:
    """Return different texts of random tokens.

    Parameters
    ----------
    n, tokens : int
        Number of texts, and of tokens in each; the tokenizer may split the text differently when
        reading it.
    """
    special = set(tokenizer.all_special_ids)
    plain = np.array([i for i in range(len(tokenizer)) if i not in special])

    return _distinct_texts(
        iter(
            lambda: str(
                tokenizer.decode(rng.choice(plain, tokens).tolist(), skip_special_tokens=True)
            ).strip(),
            None,
        ),
        n,
    )
