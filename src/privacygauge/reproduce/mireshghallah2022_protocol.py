"""The settings that Mireshghallah et al. (2022) state, beside ours."""

from __future__ import annotations

from privacygauge.language.features import FEATURES
from privacygauge.language.masks import MaskPlan
from privacygauge.language.scores import LONG, SHORT
from privacygauge.reproduce.mireshghallah2022 import FPR, LOW_FPR
from privacygauge.reproduce.mireshghallah2022_setting import RATE, Scale
from privacygauge.reproduce.protocol import Entry
from privacygauge.reproduce.table import Effort

_ALL = "mireshghallah-*"
_FULL = Scale.of(Effort())
_NOT_PASSED_ON = "MIMIC-III and i2b2 may not be passed on, nor models trained on them"
_SMALL = "BERT on a processor would take days; what can be compared is the order, not the numbers"
_ONE_SOURCE = "there is no second source of notes; members and others differ by chance alone"
_MASKS = (
    "every token is masked equally often, so that fewer masks tell as much; the authors' code "
    "takes 20 random ones"
)

ENTRIES = (
    Entry(
        _ALL, "A.2.2", "notes", paper="MIMIC-III", ours="medical transcriptions", why=_NOT_PASSED_ON
    ),
    Entry(
        _ALL, "A.2.2", "unit beside the sample", paper="patient", ours="note", why=_NOT_PASSED_ON
    ),
    Entry(
        _ALL,
        "A.2.2",
        "patients of the members",
        paper=99,
        ours=_FULL.notes,
        why="of the notes that there are three draws without a common note can be made",
    ),
    Entry(
        _ALL,
        "A.2.2",
        "patients of the non-members",
        paper=89,
        ours=_FULL.notes,
        why="of the notes that there are three draws without a common note can be made",
    ),
    Entry(
        _ALL,
        "A.2.2",
        "draws of the members",
        paper=10,
        ours=_FULL.draws,
        why=(
            "each draw trains a target of its own, where the paper draws ten times from one model's"
        ),
    ),
    Entry(
        _ALL,
        "A.2.2",
        "samples of each side",
        paper=4_072,
        ours="as many as the notes hold",
        why=_NOT_PASSED_ON,
    ),
    Entry(
        "mireshghallah-table2 mireshghallah-table3",
        "3",
        "second non-members",
        paper="i2b2",
        ours=("none"),
        why=_ONE_SOURCE,
    ),
    Entry(
        _ALL,
        "A.2.2",
        "population for the threshold",
        paper="99 patients of i2b2",
        ours=f"{_FULL.notes} further notes",
        why=_ONE_SOURCE,
    ),
    Entry(_ALL, "A.2.3", "target, layers", paper=12, ours=_FULL.shape("base")[0], why=_SMALL),
    Entry(
        _ALL, "A.2.3", "target, hidden units", paper=768, ours=_FULL.shape("base")[1], why=_SMALL
    ),
    Entry(
        "mireshghallah-table4 mireshghallah-table9 mireshghallah-claims",
        "A.2.3",
        "sizes of the target, layers",
        paper=(12, 24),
        ours=tuple(one[0] for one in _FULL.sizes),
        why=_SMALL,
    ),
    Entry(
        _ALL,
        "A.2.3",
        "target, training",
        paper="300k and 100k iterations",
        ours=f"{_FULL.epochs} epochs",
        why=_SMALL,
    ),
    Entry(
        _ALL,
        "A.2.3",
        "target, learning rate",
        paper=None,
        ours=RATE,
        why=("the paper trains no model itself"),
    ),
    Entry(
        _ALL,
        "3",
        "reference",
        paper="PubMed-BERT",
        ours="the model that the target begins with",
        why=(
            "no model of another training of the same domain is available; this one has an "
            "advantage beside its domain"
        ),
    ),
    Entry(
        "mireshghallah-table5 mireshghallah-claims",
        "4.2",
        "far reference",
        paper="BERT-base",
        ours=f"{_FULL.far_sentences:,} sentences on Python",
        why="farther than the paper's, and small",
    ),
    Entry(
        _ALL, "A.3.3", "short samples, tokens", paper="10 to 20", ours=f"{SHORT[0]} to {SHORT[1]}"
    ),
    Entry(
        _ALL,
        "4.2",
        "long samples, tokens",
        paper="20 to 60",
        ours=f"{LONG[0]} to {LONG[1]}",
        why="more than 20 by A.3.3, so that no sample is both",
    ),
    Entry(
        "mireshghallah-table2 mireshghallah-table[4-9] mireshghallah-table1? mireshghallah-fig* "
        "mireshghallah-claims",
        "A.3.3",
        "samples, tokens",
        paper="more than 20",
        ours=f"{SHORT[0]} to {LONG[1]}",
        why="too few long samples for the draws; Table 3 parts them",
    ),
    Entry(_ALL, "A.3.2", "masked share of the tokens", paper=0.15, ours=MaskPlan().fraction),
    Entry(_ALL, "A.3.2", "masks", paper=10, ours=MaskPlan().n_masks),
    Entry(_ALL, "A.3.2", "kind of masks", paper="random", ours=MaskPlan().pattern, why=_MASKS),
    Entry(
        _ALL,
        "2.3",
        "energy",
        paper="sum over masked tokens",
        ours="mean over masked tokens",
        why="as the authors' code and tables have it: the sum ranks by length",
    ),
    Entry(
        "mireshghallah-table[2-6] mireshghallah-table9 mireshghallah-table11 mireshghallah-claims",
        "4.1",
        "false-positive rate",
        paper=0.1,
        ours=FPR,
    ),
    Entry(
        "mireshghallah-table10 mireshghallah-claims",
        "A.3.1",
        "low false-positive rate",
        paper=(0.01),
        ours=LOW_FPR,
    ),
    Entry(
        "mireshghallah-table7",
        "4.5",
        "false-positive rate at which members are found",
        paper=(0.1),
        ours=LOW_FPR,
        why="about as many are then found as in the paper; at its rate nearly all are",
    ),
    Entry(
        "mireshghallah-table7",
        "4.5",
        "rarest tokens of a sample",
        paper=3,
        ours=len(FEATURES["rarest tokens"]),
    ),
    Entry(
        "mireshghallah-table7",
        "4.5",
        "samples that the features learn from",
        paper=2_519,
        ours="half of the notes",
        why=_NOT_PASSED_ON,
    ),
    Entry(
        _ALL,
        "2.4",
        "threshold of precision and recall",
        paper="from a population",
        ours="from a population; the oracle beside it",
        why="the printed values turn out to be those of the judged non-members",
    ),
    Entry(
        "mireshghallah-table6 mireshghallah-table9 mireshghallah-table10 mireshghallah-claims",
        "4.4",
        "names",
        paper="surrogate names of the patients",
        ours="syllables, one a note",
        why=_NOT_PASSED_ON,
    ),
    Entry(
        "mireshghallah-table5 mireshghallah-table10 mireshghallah-table11",
        "A.3",
        "columns",
        paper="all models",
        ours="Base, and with names where the rate is low",
        why="the other columns vary size and time alone, as Tables 4 and 9 do",
    ),
)
"""All that the paper states of its experiments."""
