"""Results of an extraction: members' texts that a model reproduces, against unseen people's."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path

import numpy as np

from privacygauge.core.checks import Bools, Ints
from privacygauge.core.estimate import Estimate
from privacygauge.errors import InputError
from privacygauge.evaluate.rates import BothSides, both_sides, proportion
from privacygauge.language.energies import Unit
from privacygauge.language.extraction import (
    LEAST,
    Nearness,
    SuffixLikelihoods,
    kept_nearness,
    kept_written,
    long_enough,
    suffixes_of,
    written_unprompted,
)
from privacygauge.language.filling import KINDS, Span, by_identifier, hidden, identifiers
from privacygauge.language.model import CausalModel, MaskedModel, Model
from privacygauge.language.model_options import Tries, Writing
from privacygauge.language.patients import even_sizes, whole_patients, with_dealt_units
from privacygauge.language.scores import TextScores
from privacygauge.language.store import AnswerStore
from privacygauge.language.text_files import Side, scores_of
from privacygauge.language.texts import ScoredText, Texts, plain_texts, strings_of
from privacygauge.runs.execute import Progress

SAMPLED = "sampled"
"""Way of extraction: at least once in a number of samples."""
VERBATIM = "verbatim"
"""Way of extraction: by greedy decoding, token by token."""
NEAR = "near verbatim"
"""Way of extraction: by greedy decoding, up to a few token edits."""
UNPROMPTED = "unprompted"
"""Way of extraction: a stretch of the text stands in what a model writes without a prompt."""

COPIES = ((1, 1), (2, 4), (5, 19), (20, None))
"""Ranges of the number of equal texts in the training, both ends included."""

_GRID = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Numbers of tries reported besides the requested one."""


@dataclass(frozen=True, eq=False)
class JudgedTexts:
    """Texts of members and non-members, and their people."""

    sample: Texts = field(repr=False)
    """(n,) Ids."""
    text: Texts = field(repr=False)
    """(n,) The texts."""
    member: Bools
    """(n,) True where the target was trained on the text."""
    person: Texts = field(repr=False)
    """(n,) Person of each text; its own id if unknown."""
    unit: Ints
    """(n,) Number of the person, from 0."""
    compared: Bools
    """(n,) True for the texts on which the sides are compared: as many per member as per
    non-member."""
    notes: tuple[str, ...] = ()
    """Notes for the reader of the numbers, one sentence each."""
    identifier: Ints | None = None
    """(n, 2) Start and stop, in characters, of the identifier that a masked model fills in; a text
    appears once per identifier. None for causal models, which continue a prefix."""
    trained: tuple[ScoredText, ...] | None = field(default=None, repr=False)
    """(n,) Texts with their trained parts; None if all of each text was trained."""
    own: re.Pattern[str] | None = None
    """Pattern of further identifiers, named by the user."""
    copies: Ints | None = None
    """(n,) Number of equal texts on the same side, itself included; None for identifiers."""

    @cached_property
    def inside(self) -> Bools:
        """(p,) True for people who are members."""
        # A person is a member if any of their texts is.
        found: Bools = np.bincount(self.unit, self.member) > 0
        return found

    def people(self, hit: Bools) -> Bools:
        """Return a mask (p,) of people with a text that is True in `hit` (n,)."""
        found: Bools = np.bincount(self.unit, hit, len(self.inside)) > 0
        return found


@dataclass(frozen=True, eq=False)
class Extracted:
    """Extraction of n texts from a target, and from a reference that never saw them."""

    judged: JudgedTexts
    """Texts of members and non-members."""
    how: Writing
    """Settings for cutting texts and sampling tokens."""
    asked: Tries
    """Criterion for a text to count as extracted."""
    unit: Unit
    """Unit in which prefixes and suffixes are counted."""
    n_suffix: Ints
    """(n,) Units of each suffix."""
    spans: Ints
    """(n, 2) Start and stop of each suffix in its text, in characters."""
    target: SuffixLikelihoods
    """Likelihoods under the audited model."""
    reference: SuffixLikelihoods | None = None
    """Likelihoods under a model that was not trained on the texts; None without one."""
    target_near: Nearness | None = None
    """How near greedy decoding of the target comes to each suffix; None if not requested."""
    reference_near: Nearness | None = None
    """The same of the reference."""
    unprompted: Bools | None = None
    """(n,) True for texts of which the target wrote a stretch without a prompt, and the reference
    did not; None if not requested."""

    def by(self, model: SuffixLikelihoods | None, tries: float) -> Bools:
        """Return a mask (n,) of texts that a model gives within some tries; False without one."""
        if model is None:
            return np.zeros(len(self.judged.text), np.bool_)
        # The number of tries at which the model gives the text with the requested probability.
        found: Bools = model.tries(self.asked.chance) <= tries
        return found

    def within(self, tries: float) -> Bools:
        """Return a mask of texts that the target gives within some tries, but not the reference."""
        return self.by(self.target, tries) & ~self.by(self.reference, tries)

    @cached_property
    def hits(self) -> Mapping[str, Bools]:
        """Masks (n,) of texts given by the target but not the reference, by way of extraction."""
        model = self.target
        other = self.reference
        found = {SAMPLED: self.within(self.asked.tries), VERBATIM: model.verbatim.copy()}
        if other is not None:
            found[VERBATIM] &= ~other.verbatim
        if self.target_near is not None:
            # Near-verbatim text counts only if greedy decoding of the reference is farther away.
            found[NEAR] = self.target_near.edits <= self.asked.edits
            if self.reference_near is not None:
                found[NEAR] &= self.reference_near.edits > self.asked.edits
        if self.unprompted is not None:
            found[UNPROMPTED] = self.unprompted
        return found

    def share(self, hit: Bools, level: float, *, members: bool = True) -> Estimate:
        """Return the share of the people of one side with a text in `hit`, with its interval."""
        people = self.judged.people(hit)
        side = self.judged.inside if members else ~self.judged.inside
        return proportion(people[side], None, level)

    def rates(self, hit: Bools, level: float) -> BothSides:
        """Return both sides' shares and their difference, on equally many texts per person."""
        people = self.judged.people(hit & self.judged.compared)
        [found] = both_sides({"": people}, self.judged.inside, np.arange(len(people)), level)
        return found

    def by_copies(self, level: float) -> list[CopiedShares]:
        """Return the members' shares by the number of equal texts in the training.

        Empty if no text occurs twice, or if identifiers are judged.
        """
        copies = self.judged.copies
        member = self.judged.member
        if copies is None or copies[member].max() < 2:
            return []
        found = []
        for least, most in COPIES:
            rows = member & (copies >= least) & (copies <= (most or np.inf))
            people = self.judged.people(rows)
            if people.any():
                # Equal texts are one unit: each counts once.
                shares = {
                    way: proportion(self.judged.people(rows & self.hits[way])[people], None, level)
                    for way in (SAMPLED, VERBATIM)
                }
                found.append(CopiedShares(least, most, shares[SAMPLED], shares[VERBATIM]))
        return found

    @property
    def grid(self) -> tuple[int, ...]:
        """Numbers of tries to report, including the requested one."""
        return tuple(sorted({*_GRID, self.asked.tries}))

    @cached_property
    def first(self) -> Ints:
        """Rows of the members' extracted texts, fewest tries needed first."""
        rows = np.flatnonzero(self.hits[SAMPLED] & self.judged.member)
        return rows[np.argsort(-self.target.log_probability[rows], kind="stable")]

    def suffix(self, row: int) -> str:
        """Return the suffix of a text."""
        start, stop = self.spans[row].tolist()
        return self.judged.text[row][start:stop]

    def found_in(self, row: int) -> tuple[Span, ...]:
        """Return the identifiers in the suffix of a text that its prefix does not contain."""
        text = self.judged.text[row]
        start, stop = self.spans[row].tolist()
        inside = (
            s for s in identifiers(text, self.judged.own) if start <= s.start and s.stop <= stop
        )
        # Text that the prefix already shows proves no extraction.
        return tuple(s for s in inside if text[s.start : s.stop] not in text[:start])

    @cached_property
    def contents(self) -> tuple[Content, ...]:
        """Counts of each kind of identifier in the members' extracted texts."""
        rows = self.first.tolist()
        each = {row: self.found_in(row) for row in rows}
        # At least 1, so that nothing extracted gives a share of 0.
        n = max(1, sum(len(self.suffix(row)) for row in rows))
        return tuple(
            Content(
                kind,
                sum(span.kind == kind for found in each.values() for span in found),
                len(
                    {
                        int(self.judged.unit[row])
                        for row, found in each.items()
                        if any(span.kind == kind for span in found)
                    }
                ),
                sum(s.stop - s.start for found in each.values() for s in found if s.kind == kind)
                / n,
            )
            for kind in KINDS
        )


@dataclass(frozen=True)
class CopiedShares:
    """Extraction shares of the people whose texts occur equally often in the training."""

    least: int
    """Fewest equal texts."""
    most: int | None
    """Most equal texts; None without a bound."""
    sampled: Estimate
    """Share of these people with a text that can be extracted."""
    verbatim: Estimate
    """Share of these people with a text that greedy decoding gives."""


@dataclass(frozen=True)
class Content:
    """Amount of one kind of identifier among the extracted texts."""

    kind: str
    """One of `KINDS`."""
    spans: int
    """Number of identifiers, without those that the prefix already contains."""
    people: int
    """Number of people whose texts contain them."""
    share: float
    """Share of the extracted characters, in [0, 1]."""


def judged_texts(
    sides: Sequence[Side],
    models: Sequence[Model],
    rng: np.random.Generator,
    own: re.Pattern[str] | None = None,
) -> JudgedTexts:
    """Return the texts of members and non-members that can be judged.

    Parameters
    ----------
    sides : sequence of Side
        Members, then non-members.
    models : sequence of CausalModel, or of MaskedModel
        Models, whose tokenizers decide which texts are long enough, or which identifiers can be
        masked.
    rng : numpy.random.Generator
        Draws the texts that are compared if people have unequal numbers of texts.
    own : re.Pattern, optional
        Pattern of further identifiers, from `own_pattern`.

    Raises
    ------
    InputError
        If a side has no text that can be judged.
    """
    # By id: `scores_of` may leave texts out.
    scored = {
        name: text
        for side in sides
        for name, text in zip(side.sample, side.records.scored, strict=True)
    }
    # Energies are not known yet: zeros stand in, so that only ids and copies are checked.
    found = scores_of(sides, np.zeros(len(scored)))
    found = replace(found, text=tuple(strings_of([scored[name] for name in found.sample])))
    places: dict[str, tuple[int, int]] = {}
    masked = [model for model in models if isinstance(model, MaskedModel)]
    causal = [model for model in models if isinstance(model, CausalModel)]
    if masked:
        found, places = by_identifier(found, masked, own)
    else:
        found = _without_common_ends(found, scored)
        long = long_enough([scored[name] for name in found.sample], causal)
        for side, which in ((found.member, "member"), (~found.member, "non-member")):
            if not np.any(long & side):
                raise InputError(
                    f"texts must have at least {LEAST} tokens to be cut in two, got no such "
                    f"{which}: give longer texts"
                )
        if not long.all():
            n_short = np.count_nonzero(~long)
            found = found.take(
                long, f"{n_short:,} text(s) of fewer than {LEAST} tokens were left out."
            )
        # What stands in a text is asked for; an identifier is also in a patient's other texts.
        found = with_dealt_units(found)
    if found.group is not None:
        found = whole_patients(found)
    what = "identifiers" if masked else "texts"
    # Many texts are many chances: patients are compared on equally many.
    even = found if found.group is None else even_sizes(found, rng, what=what)
    kept = set(even.sample)
    assert found.text is not None
    # Equal texts are counted by side: those across the sides were left out.
    by_side = zip(found.member, plain_texts(found.text), strict=True)
    keys = np.array([f"{member} {text}" for member, text in by_side], np.object_)
    _, place, size = np.unique(keys, return_inverse=True, return_counts=True)
    return JudgedTexts(
        sample=found.sample,
        text=found.text,
        member=found.member,
        person=found.group or found.sample,
        unit=found.unit,
        compared=np.array([name in kept for name in found.sample]),
        notes=even.notes,
        identifier=np.array([places[name] for name in found.sample]) if places else None,
        trained=None if masked else tuple(scored[name] for name in found.sample),
        own=own,
        copies=None if masked else np.asarray(size[place], np.int64),
    )


CLOSING = 5
"""Fewest words at the end of a text that count as a closing, if another person's text has them."""


def common_ends(text: Sequence[str], person: Ints) -> Ints:
    """Return the number of characters of each text before an end that it shares, (n,).

    An end of at least `CLOSING` words that somebody else's text has too, such as "With kind
    regards, the team of ward four". Whoever knows that form can write it, so that it is no memory
    of the text. Equal texts stay as they are.
    """
    words = [list(re.finditer(r"\S+", one)) for one in text]
    backwards = [tuple(word[0] for word in reversed(found)) for found in words]
    order = sorted(range(len(text)), key=backwards.__getitem__)
    shared = np.zeros(len(text), np.int64)
    # In this order the texts with the longest ends in common are neighbours.
    for rows in (order, order[::-1]):
        before: list[int] = []  # the last rows of two different people
        for row in rows:
            for other in before:
                if person[other] != person[row]:
                    pairs = zip(backwards[row], backwards[other], strict=False)
                    n = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
                    shared[row] = max(shared[row], n)
            before = [row, *(other for other in before if person[other] != person[row])][:2]
    n_words = np.array([len(found) for found in words])
    closing = (shared >= CLOSING) & (shared < n_words)
    return np.array(
        [
            found[-n - 1].end() if cut else len(one)
            for one, found, n, cut in zip(text, words, shared.tolist(), closing, strict=True)
        ],
        np.int64,
    )


def _without_common_ends(found: TextScores, scored: dict[str, ScoredText]) -> TextScores:
    """Return the texts without ends that they share with others', also in `scored`, by id."""
    assert found.text is not None
    plain = plain_texts(found.text)
    kept = common_ends(plain, found.unit)
    # Of a prompt and its answer, the answer is what was trained.
    cut = [
        isinstance(scored[name], str) and n < len(text)
        for name, text, n in zip(found.sample, plain, kept.tolist(), strict=True)
    ]
    if not any(cut):
        return found
    for name, text, n, shorter in zip(found.sample, plain, kept.tolist(), cut, strict=True):
        if shorter:
            scored[name] = text[:n]
    texts = tuple(strings_of([scored[name] for name in found.sample]))
    note = (
        f"{sum(cut):,} text(s) end as somebody else's does, by {CLOSING} words or more: the common "
        "end was left out, since whoever knows the form can write it."
    )
    return replace(found, text=texts, notes=(*found.notes, note))


def measure_extraction(
    target: Model,
    reference: Model | None,
    judged: JudgedTexts,
    how: Writing,
    asked: Tries,
    *,
    seed: int = 0,
    run: str | Path | None = None,
    progress: Progress | None = None,
) -> Extracted:
    """Measure how well texts can be extracted from a target and from a reference.

    Parameters
    ----------
    target, reference : CausalModel or MaskedModel
        Two models of one kind. The reference may be None: then memorised text cannot be
        distinguished from common text.
    judged : JudgedTexts
        Texts, selected with models of this kind.
    asked : Tries
        Criterion. With `edits`, causal models also decode greedily, and with `unprompted` they
        write texts of their own, which takes far longer.
    seed : int
        Seed of the texts that are written without a prompt.
    run : str or pathlib.Path, optional
        Folder that stores the models' answers, about these and other texts, so that an interrupted
        run resumes there. By default nothing is stored.
    progress : callable, optional
        Called with the number of texts done and their total, model by model.
    """
    models = [target] if reference is None else [target, reference]
    masked = [model for model in models if isinstance(model, MaskedModel)]
    causal = [model for model in models if isinstance(model, CausalModel)]
    # A masked model fills in tokens, by its own tokenizer.
    unit: Unit = "token"
    if judged.identifier is None:
        suffixes, unit = suffixes_of(judged.trained or judged.text, causal, how)
    else:
        suffixes = hidden(judged.text, judged.identifier, masked)
    pairs = list(zip(models, suffixes, strict=True))
    kept = AnswerStore(run, progress=progress)
    # Twice as many parts if texts are also written greedily.
    n = len(pairs) * (2 if asked.edits else 1)
    answers = [kept_written(*pair, how, kept.part(k, n)) for k, pair in enumerate(pairs)]
    near: list[Nearness | None] = [None] * len(pairs)
    if asked.edits:
        near = [
            kept_nearness(*pair, kept.part(k, n))
            for k, pair in enumerate(zip(causal, suffixes, strict=True), start=len(pairs))
        ]
    unprompted: Bools | None = None
    if asked.unprompted:
        read = judged.trained or judged.text
        told = [
            written_unprompted(model, read, how, asked.unprompted, seed=seed, kept=kept)
            for model in causal
        ]
        # What the reference writes by itself is common text.
        unprompted = told[0] & ~told[1] if len(told) > 1 else told[0]
    # An unknown token stands for many words: writing it is not writing the word.
    unknown = target.tokenizer.unknown_id
    n_never = sum(
        bool((suffixes[0].of(row)[1] == unknown).any()) for row in range(len(suffixes[0]))
    )
    if n_never:
        masked_model = isinstance(target, MaskedModel)
        what, done = ("identifier", "filled in") if masked_model else ("text", "written")
        never = (
            f"{n_never:,} {what}(s) can never be {done} by the target, whose vocabulary lacks some "
            "of what is asked for: nothing is said about them."
        )
        judged = replace(judged, notes=(*judged.notes, never))
    spans = judged.identifier
    # Masked models have spans already; others get them from the first model's tokens.
    if spans is None:
        encoded = target.tokenizer.encoded(judged.trained or judged.text)
        ends = zip(encoded, suffixes[0].start, suffixes[0].stop, strict=True)
        spans = np.array([(one.spans[i][0], one.spans[j - 1][1]) for one, i, j in ends])
    return Extracted(
        judged=judged,
        how=how,
        asked=asked,
        unit=unit,
        n_suffix=suffixes[0].n_suffix,
        spans=spans,
        target=answers[0],
        reference=answers[1] if len(models) > 1 else None,
        target_near=near[0],
        reference_near=near[1] if len(models) > 1 else None,
        unprompted=unprompted,
    )
