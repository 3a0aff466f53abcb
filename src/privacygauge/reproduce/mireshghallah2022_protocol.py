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
    Entry(_ALL, "A.2.2", "notes", "MIMIC-III", "medical transcriptions", _NOT_PASSED_ON),
    Entry(_ALL, "A.2.2", "unit beside the sample", "patient", "note", _NOT_PASSED_ON),
    Entry(_ALL, "A.2.2", "patients of the members", 99, _FULL.notes,
          "of the notes that there are three draws without a common note can be made"),
    Entry(_ALL, "A.2.2", "patients of the non-members", 89, _FULL.notes,
          "of the notes that there are three draws without a common note can be made"),
    Entry(_ALL, "A.2.2", "draws of the members", 10, _FULL.draws,
          "each draw trains a target of its own, where the paper draws ten times from one model's"),
    Entry(_ALL, "A.2.2", "samples of each side", 4_072, "as many as the notes hold",
          _NOT_PASSED_ON),
    Entry("mireshghallah-table2 mireshghallah-table3", "3", "second non-members", "i2b2", "none",
          _ONE_SOURCE),
    Entry(_ALL, "A.2.2", "population for the threshold", "99 patients of i2b2",
          f"{_FULL.notes} further notes", _ONE_SOURCE),
    Entry(_ALL, "A.2.3", "target, layers", 12, _FULL.shape("base")[0], _SMALL),
    Entry(_ALL, "A.2.3", "target, hidden units", 768, _FULL.shape("base")[1], _SMALL),
    Entry("mireshghallah-table4 mireshghallah-table9 mireshghallah-claims", "A.2.3",
          "sizes of the target, layers", (12, 24), tuple(one[0] for one in _FULL.sizes), _SMALL),
    Entry(_ALL, "A.2.3", "target, training", "300k and 100k iterations",
          f"{_FULL.epochs} epochs", _SMALL),
    Entry(_ALL, "A.2.3", "target, learning rate", None, RATE, "the paper trains no model itself"),
    Entry(_ALL, "3", "reference", "PubMed-BERT", "the model that the target begins with",
          "no model of another training of the same domain is available; this one has an advantage "
          "beside its domain"),
    Entry("mireshghallah-table5 mireshghallah-claims", "4.2", "far reference",
          "BERT-base", f"{_FULL.far_sentences:,} sentences on Python",
          "farther than the paper's, and small"),
    Entry(_ALL, "A.3.3", "short samples, tokens", "10 to 20", f"{SHORT[0]} to {SHORT[1]}"),
    Entry(_ALL, "4.2", "long samples, tokens", "20 to 60", f"{LONG[0]} to {LONG[1]}",
          "more than 20 by A.3.3, so that no sample is both"),
    Entry("mireshghallah-table2 mireshghallah-table[4-9] mireshghallah-table1? mireshghallah-fig* "
          "mireshghallah-claims", "A.3.3", "samples, tokens", "more than 20",
          f"{SHORT[0]} to {LONG[1]}",
          "too few long samples for the draws; Table 3 parts them"),
    Entry(_ALL, "A.3.2", "masked share of the tokens", 0.15, MaskPlan().fraction),
    Entry(_ALL, "A.3.2", "masks", 10, MaskPlan().n_masks),
    Entry(_ALL, "A.3.2", "kind of masks", "random", MaskPlan().pattern, _MASKS),
    Entry(_ALL, "2.3", "energy", "sum over masked tokens", "mean over masked tokens",
          "as the authors' code and tables have it: the sum ranks by length"),
    Entry("mireshghallah-table[2-6] mireshghallah-table9 mireshghallah-table11 "
          "mireshghallah-claims", "4.1", "false-positive rate", 0.1, FPR),
    Entry("mireshghallah-table10 mireshghallah-claims", "A.3.1", "low false-positive rate", 0.01,
          LOW_FPR),
    Entry("mireshghallah-table7", "4.5", "false-positive rate at which members are found", 0.1,
          LOW_FPR, "about as many are then found as in the paper; at its rate nearly all are"),
    Entry("mireshghallah-table7", "4.5", "rarest tokens of a sample", 3,
          len(FEATURES["rarest tokens"])),
    Entry("mireshghallah-table7", "4.5", "samples that the features learn from", 2_519,
          "half of the notes", _NOT_PASSED_ON),
    Entry(_ALL, "2.4", "threshold of precision and recall", "from a population",
          "from a population; the oracle beside it",
          "the printed values turn out to be those of the judged non-members"),
    Entry("mireshghallah-table6 mireshghallah-table9 mireshghallah-table10 mireshghallah-claims",
          "4.4", "names", "surrogate names of the patients", "syllables, one a note",
          _NOT_PASSED_ON),
    Entry("mireshghallah-table5 mireshghallah-table10 mireshghallah-table11", "A.3",
          "columns", "all models", "Base, and with names where the rate is low",
          "the other columns vary size and time alone, as Tables 4 and 9 do"),
)  # fmt: skip
"""All that the paper states of its experiments."""
