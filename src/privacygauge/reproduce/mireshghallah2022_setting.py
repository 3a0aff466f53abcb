"""What all tables of Mireshghallah et al. (2022) share: notes, models and their energies.

Models and energies lie in one folder, named by how they were made, so that ten tables train and
ask a model once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from privacygauge.core import seeds
from privacygauge.datasets.mtsamples import PARTS, Sentences, mtsamples
from privacygauge.language.canaries import fictitious_names, prefix_names
from privacygauge.language.energies import MaskPlan
from privacygauge.language.model import load_masked
from privacygauge.language.scores import TextScores
from privacygauge.language.text_energies import text_energies
from privacygauge.language.text_files import TextRecords
from privacygauge.language.training import train_further, train_reference
from privacygauge.language.training_steps import DONE
from privacygauge.reproduce.table import Effort
from privacygauge.runs.folder import kept_or_scratch

FOLDER = "mireshghallah-models"
"""Lies beside the folders of the single tables."""
SIDES = ("member", "nonmember", "population")
"""The parts of the notes that are asked about."""
RATE = 1e-3
"""The largest learning rate of every model."""
WORDS = (10, 60)
"""Words of a sentence of the far reference."""

Size = Literal["small", "base"]
"""Of a model."""
Domain = Literal["near", "far"]
"""Of a reference model's texts."""

_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+")


@dataclass(frozen=True)
class Scale:
    """How much is trained and asked."""

    draws: int
    """How often notes are drawn and targets trained on them."""
    notes: int
    """Notes of members, of non-members and of the population in each draw."""
    reference_notes: int
    """Notes that the reference models learn from."""
    far_sentences: int
    """Sentences that the far reference learns from, at most."""
    epochs: int
    """Of a target."""
    reference_epochs: int
    """Of a model that nothing came before."""
    sizes: tuple[tuple[int, int], tuple[int, int]]
    """Layers and hidden units of the small and of the base models."""
    vocabulary: int = 4096
    """Tokens, at most."""

    @classmethod
    def of(cls, effort: Effort) -> Scale:
        """Return what the full form trains, or the quick one."""
        if effort.quick:
            return cls(
                1,
                8,
                reference_notes=15,
                far_sentences=150,
                epochs=10,
                reference_epochs=4,
                sizes=((1, 32), (1, 64)),
                vocabulary=512,
            )
        return cls(
            draws=3,
            notes=30,
            reference_notes=441,
            far_sentences=1_500,
            epochs=4,
            reference_epochs=16,
            sizes=((1, 64), (2, 128)),
        )

    def shape(self, size: Size) -> tuple[int, int]:
        """Return layers and hidden units."""
        return self.sizes[0] if size == "small" else self.sizes[1]


@dataclass(frozen=True)
class Target:
    """How a target is trained: what Tables 4 and 6 vary."""

    size: Size = "base"
    """Its size, and that of the model it begins with."""
    times: int = 1
    """How many times the usual number of epochs."""
    named: bool = False
    """Whether every member sentence begins with the made-up name of its note."""


@dataclass(frozen=True)
class ModelPairOptions:
    """What is asked of a target and a reference."""

    target: Target = field(default_factory=Target)
    """The audited model."""
    plan: MaskPlan = field(default_factory=MaskPlan)
    """How texts are masked."""
    domain: Domain = "near"
    """Whose texts the reference model learnt from."""
    named: tuple[str, ...] = ()
    """The sides whose sentences begin with the name of their note."""


@dataclass(frozen=True)
class ModelSetting:
    """Notes, models and energies of one effort; everything is made when it is first asked for."""

    scale: Scale
    """How much there is."""
    seed: int
    """All random draws derive from it."""
    folder: Path
    """Where models and energies are kept."""
    n_jobs: int | None = None
    """Workers that ask models."""

    def scores(self, asked: ModelPairOptions) -> tuple[TextScores, ...]:
        """Return the energies of every draw, each with its own notes and its own target."""
        return tuple(self._scores(asked, draw) for draw in range(self.scale.draws))

    def members(self, draw: int) -> TextRecords:
        """Return the sentences that the targets of a draw were trained on, without names."""
        return _records(self._notes("member", draw))

    def target(self, target: Target, draw: int) -> Path:
        """Return the folder of a target, trained on the members of a draw."""
        texts = self._side("member", draw, ("member",) if target.named else ()).text
        begun = self.reference("near", target.size)
        epochs = self.scale.epochs * target.times
        seed = int(seeds.stream(self.seed, "reproduce", "target", draw).integers(2**31))
        out = self._place(f"target-{target.size}", texts, begun.name, epochs, seed)
        if (out / DONE).is_file():
            return out
        return train_further(begun, texts, out, epochs=epochs, rate=RATE, seed=seed).path

    def reference(self, domain: Domain, size: Size = "base") -> Path:
        """Return the folder of a reference model, which has seen none of the three sides."""
        texts = self._reference_texts if domain == "near" else self._far_texts
        layers, hidden = self.scale.shape(size)
        epochs = self.scale.reference_epochs
        how = (layers, hidden, self.scale.vocabulary, epochs, self.seed)
        out = self._place(f"reference-{domain}-{size}", texts, *how)
        if (out / DONE).is_file():
            return out
        return train_reference(
            texts,
            out,
            layers=layers,
            hidden=hidden,
            vocabulary=self.scale.vocabulary,
            epochs=epochs,
            rate=RATE,
            seed=self.seed,
        ).path

    def _scores(self, asked: ModelPairOptions, draw: int) -> TextScores:
        target = self.target(asked.target, draw)
        reference = self.reference(asked.domain)
        sides = [self._side(name, draw, asked.named) for name in SIDES]
        return text_energies(
            load_masked(target),
            load_masked(reference),
            sides,
            plan=asked.plan,
            run=self.folder / "energies",
            n_jobs=self.n_jobs,
        )

    def _side(self, name: str, draw: int, named: tuple[str, ...]) -> TextRecords:
        found = _records(self._notes(name, draw))
        if name not in named:
            return found
        assert found.group is not None
        # A generator for each side: a name belongs to one note of one side.
        rng = seeds.stream(self.seed, "reproduce", "names", name, draw)
        return replace(
            found, text=prefix_names(found.text, found.group, fictitious_names(found.group, rng))
        )

    def _notes(self, name: str, draw: int) -> Sentences:
        start = draw * self.scale.notes
        return self._shuffled(name, slice(start, start + self.scale.notes))

    def _shuffled(self, name: str, some: slice) -> Sentences:
        """Return some notes of a part in an order that the seed draws: draws share no note."""
        part = self._parts[name]
        rng = seeds.stream(self.seed, "reproduce", "notes", name)
        return part.of_notes(rng.permutation(np.unique(part.note))[some])

    @cached_property
    def _parts(self) -> dict[str, Sentences]:
        return {part: mtsamples(part) for part in PARTS}

    @cached_property
    def _reference_texts(self) -> tuple[str, ...]:
        return self._shuffled("reference", slice(self.scale.reference_notes)).text

    @cached_property
    def _far_texts(self) -> tuple[str, ...]:
        return far_texts(self.scale.far_sentences)

    def _place(self, label: str, texts: tuple[str, ...], *how: object) -> Path:
        recipe = json.dumps([hashlib.sha256("\n".join(texts).encode()).hexdigest(), *how])
        digest = hashlib.sha256(recipe.encode()).hexdigest()[:12]
        return self.folder / "models" / f"{label}-{digest}"


@contextlib.contextmanager
def model_setting(effort: Effort) -> Iterator[ModelSetting]:
    """Yield the setting of an effort; without a folder of its own, models are removed at the end.

    The models of ``DIR/runs/full/mireshghallah-table2`` lie beside it, in `FOLDER`.
    """
    with kept_or_scratch(effort.shared(FOLDER)) as place:
        yield ModelSetting(Scale.of(effort), effort.seed, Path(place), effort.n_jobs)


def far_texts(most: int) -> tuple[str, ...]:
    """Return sentences of another domain: the chapters of Python's reference that ship with it.

    Parameters
    ----------
    most : int
        Sentences at most. Those of fewer than 10 or more than 60 words are left out.
    """
    from pydoc_data.topics import topics

    found: dict[str, None] = {}
    for _, chapter in sorted(topics.items()):
        for sentence in _SENTENCE_END.split(" ".join(chapter.split())):
            if WORDS[0] <= len(sentence.split()) <= WORDS[1]:
                found.setdefault(sentence)
    return tuple(found)[:most]


def _records(notes: Sentences) -> TextRecords:
    ids = [f"{n}/{p}" for n, p in zip(notes.note.tolist(), notes.place.tolist(), strict=True)]
    return TextRecords(notes.text, tuple(ids), tuple(str(n) for n in notes.note.tolist()))
